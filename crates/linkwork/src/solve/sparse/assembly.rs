//! What goes into a front before its pivots are eliminated: products of scaled rows, and what its children left.

use super::lanes::{Lane, Quad};
use super::numbers::Numbers;
use super::units::{Child, NONE, Node, Step, Unit};
use crate::solve::VANISHES;

/// Dot product of two half rows: once three columns for a particle, twice for anything else.
#[inline(always)]
pub(super) fn dot<V: Lane, const T: usize>(a: &[[V; 3]; T], b: &[[V; 3]; T]) -> V {
    let three = |c: usize| a[c][0] * b[c][0] + a[c][1] * b[c][1] + a[c][2] * b[c][2];
    let mut sum = three(0);
    for c in 1..T {
        sum += three(c);
    }
    sum
}

/// The columns of one side of a node, and how many threes a row has.
#[inline(always)]
pub(super) fn columns<'a, V>(u: &Unit, node: &Node, w: &'a [[V; 3]], side: usize) -> (&'a [[V; 3]], bool) {
    let seat = &u.seats[node.solids[side] as usize];
    let at = node.columns[side] as usize;
    (&w[at..at + node.count as usize * seat.threes()], seat.turns)
}

/// The diagonal block of one node, damped and with unit pivots, the least that its pivots may be, and what they are
/// compared to: each row's own diagonal, zero where there is nothing to compare.
#[inline(always)]
pub(super) fn diagonal<V: Lane>(
    u: &Unit,
    i: usize,
    s: &Step,
    w: &[[V; 3]],
    ball: &[bool],
    active: &[bool],
    softness: &[f64],
    damping: f64,
    panel: &mut [V],
    least: &mut [V],
    whole: &mut [V],
) {
    let node = &u.nodes[i];
    let (n, k, count) = (s.size(), (node.at - s.first) as usize, node.count as usize);
    let (least, wholes) = (&mut least[k..k + count], &mut whole[k..k + count]);
    if node.hub {
        for j in 0..count {
            panel[(k + j) * n + k + j] = V::from_fn(|_| -1.0);
            (least[j], wholes[j]) = (V::from_fn(|_| -1.0), V::default());
        }
        return;
    }
    if let (3, 1..) = (count, node.own) {
        // Ball joints, by far the most common: all six entries at once, so that every number is loaded once.
        let mut sums = [V::default(); 6];
        for side in 0..2 {
            if node.own & 1 << side == 0 {
                continue;
            }
            let ball = ball[node.columns[side] as usize];
            match columns(u, node, w, side) {
                (w, true) => three_rows(&mut sums, w.as_chunks::<2>().0, ball),
                (w, false) => three_rows(&mut sums, w.as_chunks::<1>().0, ball),
            }
        }
        let at = k * n + k;
        panel[at..at + 3].copy_from_slice(&sums[..3]);
        panel[at + n + 1..at + n + 3].copy_from_slice(&sums[3..5]);
        panel[at + 2 * n + 2] = sums[5];
    } else {
        let at = k * n + k;
        for side in 0..2 {
            if node.own & 1 << side == 0 {
                continue;
            }
            match columns(u, node, w, side) {
                (w, true) => lower_square(panel, n, at, w.as_chunks::<2>().0),
                (w, false) => lower_square(panel, n, at, w.as_chunks::<1>().0),
            }
        }
    }
    for j in 0..count {
        let x = &mut panel[(k + j) * n + k + j];
        // Hubs count for the size of a row, though they have no place in its diagonal.
        let whole = if node.own == 3 { *x } else { square(u, node, w, j) };
        wholes[j] = whole;
        if damping == 0.0 {
            least[j] = whole.map(|x| VANISHES * x);
        } else {
            least[j] = V::from_fn(|_| -1.0);
            *x += whole.map(|x| damping * x);
        }
        if !softness.is_empty() {
            let rows = &u.rows[i * V::WIDTH..];
            let give = V::from_fn(|l| softness[rows[l] as usize + j]);
            *x += give;
            wholes[j] += give;
        }
        if !active.is_empty() {
            let rows = &u.rows[i * V::WIDTH..];
            *x += V::from_fn(|l| if active[rows[l] as usize + j] { 0.0 } else { 1.0 });
        }
    }
}

/// Adds `w w^T` of three rows: its lower triangle. Of a `ball` the linear part is a multiple of the unit matrix.
#[inline(always)]
fn three_rows<V: Lane, const T: usize>(sums: &mut [V; 6], w: &[[[V; 3]; T]], ball: bool) {
    let [a, b, c] = w else { return };
    if ball {
        let x = a[0][0] * a[0][0];
        (sums[0], sums[3], sums[5]) = (sums[0] + x, sums[3] + x, sums[5] + x);
    }
    for t in usize::from(ball)..T {
        for k in 0..3 {
            let (a, b, c) = (a[t][k], b[t][k], c[t][k]);
            sums[0] += a * a;
            sums[1] += b * a;
            sums[2] += c * a;
            sums[3] += b * b;
            sums[4] += c * b;
            sums[5] += c * c;
        }
    }
}

/// Adds the lower triangle of `w w^T` to a panel.
#[inline(always)]
fn lower_square<V: Lane, const T: usize>(panel: &mut [V], n: usize, at: usize, w: &[[[V; 3]; T]]) {
    for (j, b) in w.iter().enumerate() {
        let column = &mut panel[at + j * (n + 1)..][..w.len() - j];
        for (x, a) in column.iter_mut().zip(&w[j..]) {
            *x += dot(a, b);
        }
    }
}

/// The square of one row of a node, hubs included.
#[inline(always)]
fn square<V: Lane>(u: &Unit, node: &Node, w: &[[V; 3]], row: usize) -> V {
    let mut sum = V::default();
    for side in 0..2 {
        if node.solids[side] == NONE {
            continue;
        }
        sum += match columns(u, node, w, side) {
            (w, true) => dot(&w.as_chunks::<2>().0[row], &w.as_chunks::<2>().0[row]),
            (w, false) => dot(&[w[row]], &[w[row]]),
        };
    }
    sum
}

/// Adds `W_a W_b^T` to a panel. Of two `balls` the linear parts are multiples of the unit matrix.
#[inline(always)]
pub(super) fn multiply<V: Lane, const T: usize>(
    panel: &mut [V],
    n: usize,
    start: usize,
    a: &[[[V; 3]; T]],
    b: &[[[V; 3]; T]],
    balls: bool,
) {
    if let ([a0, a1, a2], [b0, b1, b2]) = (a, b) {
        // Ball joints again: nine entries at once.
        let (a, b) = ([a0, a1, a2], [b0, b1, b2]);
        let mut sums = [[V::default(); 3]; 3];
        for t in usize::from(balls)..T {
            for k in 0..3 {
                let a = a.map(|a| a[t][k]);
                for j in 0..3 {
                    let b = b[j][t][k];
                    for i in 0..3 {
                        sums[j][i] += a[i] * b;
                    }
                }
            }
        }
        if balls {
            let both = a[0][0][0] * b[0][0][0];
            (0..3).for_each(|j| sums[j][j] += both);
        }
        for (j, sums) in sums.iter().enumerate() {
            let x = &mut panel[start + j * n..start + j * n + 3];
            for i in 0..3 {
                x[i] += sums[i];
            }
        }
        return;
    }
    for (j, b) in b.iter().enumerate() {
        for (x, a) in panel[start + j * n..start + j * n + a.len()].iter_mut().zip(a) {
            *x += dot(a, b);
        }
    }
}

/// Adds a child's update to the panel and the update of its parent.
#[inline(always)]
pub(super) fn extend_add<V: Lane>(
    panel: &mut [V],
    pool: &mut [V],
    packed: &[Numbers<Quad>],
    n: usize,
    p: usize,
    s: &Step,
    c: &Child,
    map: &[u32],
) {
    let (m, below) = (map.len(), n - p);
    let (from, to) = (c.update as usize, s.update as usize);
    if c.lane != NONE {
        // Of a pack: one lane of it.
        let source = &packed[c.task as usize].updates[from..from + m * m];
        let target = &mut pool[to..to + below * below];
        let lane = c.lane as usize;
        return add_columns(panel, target, n, p, map, |i| V::from_fn(|_| source[i].0[lane]));
    }
    // Both updates live in one pool: split it around the one that is written.
    let (source, target): (&[V], &mut [V]) = if from < to {
        let (a, b) = pool.split_at_mut(to);
        (&a[from..from + m * m], &mut b[..below * below])
    } else {
        let (a, b) = pool.split_at_mut(from);
        (&b[..m * m], &mut a[to..to + below * below])
    };
    add_columns(panel, target, n, p, map, |i| source[i]);
}

#[inline(always)]
fn add_columns<V: Lane>(
    panel: &mut [V],
    target: &mut [V],
    n: usize,
    p: usize,
    map: &[u32],
    source: impl Fn(usize) -> V,
) {
    let (m, below) = (map.len(), n - p);
    for j in 0..m {
        let col = map[j] as usize;
        if col < p {
            let column = &mut panel[col * n..(col + 1) * n];
            for (i, row) in map.iter().enumerate().skip(j) {
                column[*row as usize] += source(j * m + i);
            }
        } else {
            let column = &mut target[(col - p) * below..(col - p + 1) * below];
            for (i, row) in map.iter().enumerate().skip(j) {
                column[*row as usize - p] += source(j * m + i);
            }
        }
    }
}
