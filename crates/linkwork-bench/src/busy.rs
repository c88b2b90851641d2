//! Time that a thread has computed: where a machine is shared, the clock on the wall also counts what others computed meanwhile, and
//! of what takes longer than a slice of the scheduler it always does.

use std::time::Instant;

/// Seconds that the calling thread has been running, to a few milliseconds. `None` where the system does not tell.
fn seconds() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(1e-9 * told.split(' ').next()?.parse::<f64>().ok()?)
}

/// Seconds of one of `times` that `f` does, on the clock of the thread, or on the wall where there is no other. Do them for
/// some seconds: the clock is coarse.
pub fn each(times: usize, f: impl FnOnce()) -> f64 {
    let (before, start) = (seconds(), Instant::now());
    f();
    let spent = match (before, seconds()) {
        (Some(before), Some(after)) => after - before,
        _ => start.elapsed().as_secs_f64(),
    };
    spent / times as f64
}
