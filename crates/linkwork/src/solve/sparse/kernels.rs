//! Elimination of the pivots of one dense front: alone, or four in step.

use super::lanes::{LANES, Lane, Quad};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};

/// Fronts with more pivots than this are eliminated in slices, the bulk by matrix products.
const SLICE: usize = 32;
/// Updates of at least this many rows by as many pivots go through faer's product.
const LARGE: usize = 48;

/// What eliminating needs besides the front itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch<V> {
    /// Pivots of the front at hand.
    pub pivots: Vec<V>,
    /// Below this a pivot has vanished; negative where none may.
    pub least: Vec<V>,
    /// Each row's own diagonal, softness included; zero for hubs.
    pub whole: Vec<V>,
    pub row: Vec<V>,
    pub scaled: Vec<V>,
}

/// Numbers that a front can be made of.
pub(crate) trait Kernel: Lane {
    /// `L D L^T` of the `p` pivots of a front of `n` rows: `panel` becomes `L`, `inverse` the inverse pivots, and
    /// `update -= L D L^T` below; `fresh` if `update` holds nothing yet, not even zeros. Tells how many pivots vanished.
    fn eliminate(
        panel: &mut [Self],
        update: &mut [Self],
        n: usize,
        p: usize,
        inverse: &mut [Self],
        scratch: &mut Scratch<Self>,
        fresh: bool,
    ) -> Self;
}

impl Kernel for f64 {
    #[inline(always)]
    fn eliminate(
        panel: &mut [f64],
        update: &mut [f64],
        n: usize,
        p: usize,
        inverse: &mut [f64],
        scratch: &mut Scratch<f64>,
        fresh: bool,
    ) -> f64 {
        if fresh {
            update.fill(0.0);
        }
        let Scratch { pivots, least, row, scaled, .. } = scratch;
        let (pivots, least) = (&mut pivots[..p], &least[..p]);
        let vanished = match p {
            1 => eliminate_few::<1>(panel, update, n, pivots, inverse, least),
            2 => eliminate_few::<2>(panel, update, n, pivots, inverse, least),
            3 => eliminate_few::<3>(panel, update, n, pivots, inverse, least),
            4 => eliminate_few::<4>(panel, update, n, pivots, inverse, least),
            5 => eliminate_few::<5>(panel, update, n, pivots, inverse, least),
            6 => eliminate_few::<6>(panel, update, n, pivots, inverse, least),
            _ => eliminate(panel, update, n, p, pivots, inverse, least, row, scaled),
        };
        vanished as f64
    }
}

impl Kernel for Quad {
    #[inline(always)]
    fn eliminate(
        panel: &mut [Quad],
        update: &mut [Quad],
        n: usize,
        p: usize,
        inverse: &mut [Quad],
        scratch: &mut Scratch<Quad>,
        fresh: bool,
    ) -> Quad {
        let Scratch { pivots, least, row, .. } = scratch;
        let (pivots, least) = (&mut pivots[..p], &least[..p]);
        match (p, fresh) {
            (1, _) => in_step::<1>(panel, update, n, inverse, least, fresh),
            (2, _) => in_step::<2>(panel, update, n, inverse, least, fresh),
            (3, _) => in_step::<3>(panel, update, n, inverse, least, fresh),
            (5, _) => in_step::<5>(panel, update, n, inverse, least, fresh),
            (6, _) => in_step::<6>(panel, update, n, inverse, least, fresh),
            _ => {
                if fresh {
                    update.fill(Quad::default());
                }
                in_step_many(panel, update, n, p, pivots, inverse, least, row)
            }
        }
    }
}

/// A pivot that has vanished counts and has no inverse: its row depends on earlier ones and is left out.
#[inline(always)]
fn invert(pivot: Quad, least: Quad, vanished: &mut Quad) -> (Quad, Quad) {
    let mut gone = [0.0; LANES];
    for l in 0..LANES {
        let (p, least) = (pivot.0[l], least.0[l]);
        gone[l] = if (p <= least) & (least >= 0.0) | (p == 0.0) { 1.0 } else { 0.0 };
    }
    let gone = Quad(gone);
    *vanished += gone;
    let d = pivot.zip(gone, |p, g| if g == 1.0 { 0.0 } else { p });
    let inverse = pivot.map(|p| 1.0 / p).zip(gone, |i, g| if g == 1.0 { 0.0 } else { i });
    (d, inverse)
}

/// Four fronts in step, the number of pivots known to the compiler. Nothing in one lane waits for another, and the
/// update is written two columns at a time, so that every entry of `L` is loaded once for both.
#[inline(always)]
fn in_step<const P: usize>(
    panel: &mut [Quad],
    update: &mut [Quad],
    n: usize,
    inverse: &mut [Quad],
    least: &[Quad],
    fresh: bool,
) -> Quad {
    let mut columns = panel.chunks_exact_mut(n);
    let mut columns: [&mut [Quad]; P] = std::array::from_fn(|_| columns.next().unwrap_or_default());
    let mut d = [Quad::default(); P];
    let mut vanished = Quad::default();
    for k in 0..P {
        let (left, right) = columns.split_at_mut(k);
        let column = &mut right[0][..n];
        let c: [Quad; P] = std::array::from_fn(|j| if j < k { left[j][k] * d[j] } else { Quad::default() });
        for i in k..n {
            let mut x = column[i];
            for j in 0..k {
                x -= c[j] * left[j][i];
            }
            column[i] = x;
        }
        (d[k], inverse[k]) = invert(column[k], least[k], &mut vanished);
        let inverse = inverse[k];
        for x in &mut column[k + 1..] {
            *x = *x * inverse;
        }
    }
    let below = n - P;
    let tails: [&[Quad]; P] = std::array::from_fn(|k| &columns[k][P..n]);
    let mut columns = update.chunks_exact_mut(below.max(1));
    let mut j = 0;
    while let Some(left) = columns.next() {
        let zero = Quad::default();
        let c: [Quad; P] = std::array::from_fn(|k| tails[k][j] * d[k]);
        let mut x = if fresh { zero } else { left[j] };
        for k in 0..P {
            x -= c[k] * tails[k][j];
        }
        left[j] = x;
        let Some(right) = columns.next() else { break };
        let e: [Quad; P] = std::array::from_fn(|k| tails[k][j + 1] * d[k]);
        let (left, right) = (&mut left[j + 1..], &mut right[j + 1..]);
        let rows: [&[Quad]; P] = std::array::from_fn(|k| &tails[k][j + 1..][..left.len()]);
        for (i, (x, y)) in left.iter_mut().zip(right).enumerate() {
            let (mut a, mut b) = if fresh { (zero, zero) } else { (*x, *y) };
            for k in 0..P {
                let l = rows[k][i];
                a -= c[k] * l;
                b -= e[k] * l;
            }
            (*x, *y) = (a, b);
        }
        j += 2;
    }
    vanished
}

/// [`in_step`] with any number of pivots.
#[inline(always)]
fn in_step_many(
    panel: &mut [Quad],
    update: &mut [Quad],
    n: usize,
    p: usize,
    pivots: &mut [Quad],
    inverse: &mut [Quad],
    least: &[Quad],
    row: &mut [Quad],
) -> Quad {
    let mut vanished = Quad::default();
    for k in 0..p {
        let (left, right) = panel.split_at_mut(k * n);
        let column = &mut right[..n];
        for (j, l) in left.chunks_exact(n).enumerate() {
            let c = l[k] * pivots[j];
            for (x, l) in column[k..].iter_mut().zip(&l[k..]) {
                *x -= c * *l;
            }
        }
        (pivots[k], inverse[k]) = invert(column[k], least[k], &mut vanished);
        let inverse = inverse[k];
        for x in &mut column[k + 1..] {
            *x = *x * inverse;
        }
    }
    let below = n - p;
    for j in 0..below {
        for k in 0..p {
            row[k] = panel[k * n + p + j] * pivots[k];
        }
        let target = &mut update[j * below + j..(j + 1) * below];
        for (l, c) in panel.chunks_exact(n).zip(row.iter()) {
            for (x, l) in target.iter_mut().zip(&l[p + j..]) {
                *x -= *c * *l;
            }
        }
    }
    vanished
}

/// `L D L^T` of the pivots of a front: `panel` becomes `L`, `inverse` the inverse pivots, `update -= L D L^T` below.
#[inline(always)]
pub(super) fn eliminate(
    panel: &mut [f64],
    update: &mut [f64],
    n: usize,
    p: usize,
    pivots: &mut [f64],
    inverse: &mut [f64],
    least: &[f64],
    row: &mut [f64],
    scaled: &mut [f64],
) -> usize {
    let (mut done, mut vanished) = (0, 0);
    while done < p {
        let end = if p - done <= SLICE + SLICE / 2 { p } else { done + SLICE };
        // Within the slice: left-looking by columns.
        for k in done..end {
            let (left, right) = panel.split_at_mut(k * n);
            let column = &mut right[..n];
            for (c, j) in row.iter_mut().zip(done..k) {
                *c = left[j * n + k] * pivots[j];
            }
            subtract(&mut column[k..], &left[done * n..], n, k, &row[..k - done]);
            let pivot = column[k];
            if pivot <= least[k] && least[k] >= 0.0 || pivot == 0.0 {
                (pivots[k], inverse[k]) = (0.0, 0.0);
                vanished += 1;
            } else {
                (pivots[k], inverse[k]) = (pivot, 1.0 / pivot);
            }
            column[k + 1..].iter_mut().for_each(|x| *x *= inverse[k]);
        }
        if end < p {
            later_slices(panel, n, p, done..end, pivots, scaled);
        }
        done = end;
    }
    below_pivots(panel, update, n, p, pivots, row, scaled);
    vanished
}

/// What a slice of pivots takes from the columns of later slices.
#[inline(always)]
fn later_slices(
    panel: &mut [f64],
    n: usize,
    p: usize,
    slice: std::ops::Range<usize>,
    pivots: &[f64],
    scaled: &mut [f64],
) {
    let (done, end) = (slice.start, slice.end);
    let width = end - done;
    let (left, right) = panel.split_at_mut(end * n);
    for j in 0..width {
        let column = &left[(done + j) * n + end..(done + j) * n + n];
        let d = pivots[done + j];
        for (s, l) in scaled[j * (n - end)..(j + 1) * (n - end)].iter_mut().zip(column) {
            *s = l * d;
        }
    }
    let rest = n - end;
    let cols = p - end;
    let l = MatRef::from_column_major_slice_with_stride(&left[done * n + end..], rest, width, n);
    let s = MatRef::from_column_major_slice(&scaled[..rest * width], rest, width);
    let mut target = MatMut::from_column_major_slice_with_stride_mut(&mut right[end..], rest, cols, n);
    let (top_l, bottom_l) = (l.subrows(0, cols), l.subrows(cols, rest - cols));
    let top_s = s.subrows(0, cols);
    matmul(
        target.as_mut().subrows_mut(0, cols),
        BlockStructure::TriangularLower,
        Accum::Add,
        top_l,
        BlockStructure::Rectangular,
        top_s.transpose(),
        BlockStructure::Rectangular,
        -1.0,
        Par::Seq,
    );
    matmul(
        target.as_mut().subrows_mut(cols, rest - cols),
        BlockStructure::Rectangular,
        Accum::Add,
        bottom_l,
        BlockStructure::Rectangular,
        top_s.transpose(),
        BlockStructure::Rectangular,
        -1.0,
        Par::Seq,
    );
}

/// What all pivots take from the rows below: `update -= L D L^T`.
#[inline(always)]
fn below_pivots(
    panel: &[f64],
    update: &mut [f64],
    n: usize,
    p: usize,
    pivots: &[f64],
    row: &mut [f64],
    scaled: &mut [f64],
) {
    let below = n - p;
    if below >= LARGE && p >= 8 {
        for k in 0..p {
            let d = pivots[k];
            for (s, l) in scaled[k * below..(k + 1) * below].iter_mut().zip(&panel[k * n + p..(k + 1) * n]) {
                *s = l * d;
            }
        }
        let l = MatRef::from_column_major_slice_with_stride(&panel[p..], below, p, n);
        let s = MatRef::from_column_major_slice(&scaled[..below * p], below, p);
        matmul(
            MatMut::from_column_major_slice_mut(update, below, below),
            BlockStructure::TriangularLower,
            Accum::Add,
            l,
            BlockStructure::Rectangular,
            s.transpose(),
            BlockStructure::Rectangular,
            -1.0,
            Par::Seq,
        );
        return;
    }
    for j in 0..below {
        for k in 0..p {
            row[k] = panel[k * n + p + j] * pivots[k];
        }
        subtract(&mut update[j * below + j..(j + 1) * below], panel, n, p + j, &row[..p]);
    }
}

/// [`eliminate`] with the number of pivots known to the compiler: no calls, no inner loops over pivots.
#[inline(always)]
pub(super) fn eliminate_few<const P: usize>(
    panel: &mut [f64],
    update: &mut [f64],
    n: usize,
    pivots: &mut [f64],
    inverse: &mut [f64],
    least: &[f64],
) -> usize {
    let mut columns = panel.chunks_exact_mut(n);
    let mut columns: [&mut [f64]; P] = std::array::from_fn(|_| columns.next().unwrap_or_default());
    let mut d = [0.0; P];
    let mut vanished = 0;
    for k in 0..P {
        let (left, right) = columns.split_at_mut(k);
        let column = &mut *right[0];
        for (j, l) in left.iter().enumerate() {
            let c = l[k] * d[j];
            for (x, l) in column[k..].iter_mut().zip(&l[k..]) {
                *x -= c * l;
            }
        }
        let pivot = column[k];
        let gone = pivot <= least[k] && least[k] >= 0.0 || pivot == 0.0;
        vanished += usize::from(gone);
        d[k] = if gone { 0.0 } else { pivot };
        pivots[k] = d[k];
        inverse[k] = if gone { 0.0 } else { 1.0 / pivot };
        column[k + 1..].iter_mut().for_each(|x| *x *= inverse[k]);
    }
    let below = n - P;
    let tails: [&[f64]; P] = std::array::from_fn(|k| &columns[k][P..n]);
    if below > 0 && below.is_multiple_of(3) {
        // Blocks of three rows, the rule with ball joints: short columns without remainders. The upper half of diagonal
        // blocks is written too; nobody reads it.
        let tails: [&[[f64; 3]]; P] = std::array::from_fn(|k| tails[k].as_chunks().0);
        let blocks = below / 3;
        for (j, columns) in update.chunks_exact_mut(3 * below).enumerate() {
            let (c0, rest) = columns.split_at_mut(below);
            let (c1, c2) = rest.split_at_mut(below);
            let targets = [c0.as_chunks_mut::<3>().0, c1.as_chunks_mut::<3>().0, c2.as_chunks_mut::<3>().0];
            let scaled: [[f64; 3]; P] = std::array::from_fn(|k| tails[k][j].map(|x| x * d[k]));
            let below: [&[[f64; 3]]; P] = std::array::from_fn(|k| &tails[k][j..blocks]);
            let [c0, c1, c2] = targets.map(|t| &mut t[j..blocks]);
            for (i, ((x0, x1), x2)) in c0.iter_mut().zip(c1).zip(c2).enumerate() {
                for k in 0..P {
                    let (l, s) = (below[k][i], scaled[k]);
                    for r in 0..3 {
                        x0[r] -= s[0] * l[r];
                        x1[r] -= s[1] * l[r];
                        x2[r] -= s[2] * l[r];
                    }
                }
            }
        }
        return vanished;
    }
    for j in 0..below {
        let target = &mut update[j * below + j..(j + 1) * below];
        let len = target.len();
        let rows: [&[f64]; P] = std::array::from_fn(|k| &tails[k][j..j + len]);
        let c: [f64; P] = std::array::from_fn(|k| rows[k][0] * d[k]);
        for (i, x) in target.iter_mut().enumerate() {
            let mut sum = 0.0;
            for k in 0..P {
                sum += c[k] * rows[k][i];
            }
            *x -= sum;
        }
    }
    vanished
}

/// `target -= sum_k c[k] * column_k[from..]`, columns of length `n`, four at a time so that the target is loaded once.
#[inline(always)]
fn subtract(target: &mut [f64], columns: &[f64], n: usize, from: usize, c: &[f64]) {
    let len = target.len();
    let column = |k: usize| &columns[k * n + from..k * n + from + len];
    let mut k = 0;
    while k + 4 <= c.len() {
        let (a, b, d, e) = (column(k), column(k + 1), column(k + 2), column(k + 3));
        let (ca, cb, cd, ce) = (c[k], c[k + 1], c[k + 2], c[k + 3]);
        for i in 0..len {
            target[i] -= ca * a[i] + cb * b[i] + (cd * d[i] + ce * e[i]);
        }
        k += 4;
    }
    match c.len() - k {
        3 => {
            let (a, b, d) = (column(k), column(k + 1), column(k + 2));
            let (ca, cb, cd) = (c[k], c[k + 1], c[k + 2]);
            for i in 0..len {
                target[i] -= ca * a[i] + cb * b[i] + cd * d[i];
            }
        }
        2 => {
            let (a, b) = (column(k), column(k + 1));
            let (ca, cb) = (c[k], c[k + 1]);
            for i in 0..len {
                target[i] -= ca * a[i] + cb * b[i];
            }
        }
        1 => {
            let a = column(k);
            for i in 0..len {
                target[i] -= c[k] * a[i];
            }
        }
        _ => {}
    }
}
