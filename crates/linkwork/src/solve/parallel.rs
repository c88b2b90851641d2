//! Islands, and tasks of one island, side by side. Each is worked on by one thread with its own storage, so results do not depend on how many
//! threads there are.

/// Runs `f` on every item: in parallel when there are several and they are worth a thread's while.
pub(super) fn each<T: Send>(items: &mut [T], cost: impl Fn(&T) -> f64, f: impl Fn(&mut T) + Sync + Send) {
    /// Multiplications below which handing work over costs more than doing it.
    const WORTH: f64 = 1e5;
    let total: f64 = items.iter().map(&cost).sum();
    if items.len() > 1 && total > WORTH && rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        let least = items.len().div_ceil(64);
        items.par_iter_mut().with_min_len(least).for_each(f);
    } else {
        items.iter_mut().for_each(f);
    }
}

/// Runs `f` on every pair: in parallel when that is worth a thread's while and there is more than one thread.
pub(super) fn pairs<A: Sync, B: Send>(worth: bool, a: &[A], b: &mut [B], f: impl Fn(&A, &mut B) + Sync) {
    if worth && rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        a.par_iter().zip(b).for_each(|(a, b)| f(a, b));
    } else {
        a.iter().zip(b).for_each(|(a, b)| f(a, b));
    }
}

/// True if `f` is of all pairs: in parallel when there are many.
pub(super) fn all_pairs<A: Sync, B: Sync>(a: &[A], b: &[B], f: impl Fn(&A, &B) -> bool + Sync) -> bool {
    /// Pairs below which handing work over costs more than looking at them.
    const MANY: usize = 10_000;
    if a.len() > MANY && rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        a.par_iter().zip(b).with_min_len(MANY / 8).all(|(a, b)| f(a, b))
    } else {
        a.iter().zip(b).all(|(a, b)| f(a, b))
    }
}
