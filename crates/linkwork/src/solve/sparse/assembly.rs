//! What goes into a front before its pivots are eliminated: products of scaled rows, and what its children left.

use super::lanes::{Lane, Quad};
use super::numbers::Numbers;
use super::units::{Child, NONE, Step, Unit};
use crate::solve::VANISHES;

/// Dot product of two half rows.
#[inline(always)]
pub(super) fn dot<V: Lane>(a: &[V; 6], b: &[V; 6]) -> V {
    (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])
}

/// The diagonal block of one node, damped and with unit pivots, the least that its pivots may be, and what they are
/// compared to: each row's own diagonal, zero where there is nothing to compare.
#[inline(always)]
pub(super) fn diagonal<V: Lane>(
    u: &Unit,
    i: usize,
    s: &Step,
    w: &[[[V; 6]; 2]],
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
    let w = &w[node.at as usize..node.at as usize + count];
    if let ([a, b, c], 1..) = (w, node.own) {
        // Ball joints, by far the most common: all six entries at once, so that every number is loaded once.
        let mut sums = [V::default(); 6];
        for side in 0..2 {
            if node.own & 1 << side == 0 {
                continue;
            }
            let (a, b, c) = (&a[side], &b[side], &c[side]);
            let from = if ball[node.at as usize] {
                // The linear parts are a multiple of the unit matrix.
                let x = a[0] * a[0];
                (sums[0], sums[3], sums[5]) = (sums[0] + x, sums[3] + x, sums[5] + x);
                3
            } else {
                0
            };
            for k in from..6 {
                let (a, b, c) = (a[k], b[k], c[k]);
                sums[0] += a * a;
                sums[1] += b * a;
                sums[2] += c * a;
                sums[3] += b * b;
                sums[4] += c * b;
                sums[5] += c * c;
            }
        }
        let at = k * n + k;
        panel[at..at + 3].copy_from_slice(&sums[..3]);
        panel[at + n + 1..at + n + 3].copy_from_slice(&sums[3..5]);
        panel[at + 2 * n + 2] = sums[5];
    } else {
        for (j, b) in w.iter().enumerate() {
            let column = &mut panel[(k + j) * n + k + j..(k + j) * n + k + count];
            for (x, a) in column.iter_mut().zip(&w[j..]) {
                for side in (0..2).filter(|side| node.own & 1 << side != 0) {
                    *x += dot(&a[side], &b[side]);
                }
            }
        }
    }
    for (j, b) in w.iter().enumerate() {
        let x = &mut panel[(k + j) * n + k + j];
        // Hubs count for the size of a row, though they have no place in its diagonal.
        let whole = if node.own == 3 { *x } else { dot(&b[0], &b[0]) + dot(&b[1], &b[1]) };
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

/// Adds `W_a W_b^T` to a panel. Of two `balls` the linear parts are multiples of the unit matrix.
#[inline(always)]
pub(super) fn multiply<V: Lane>(
    panel: &mut [V],
    n: usize,
    start: usize,
    a: &[[[V; 6]; 2]],
    b: &[[[V; 6]; 2]],
    [sa, sb]: [usize; 2],
    balls: bool,
) {
    if let ([a0, a1, a2], [b0, b1, b2]) = (a, b) {
        // Ball joints again: nine entries at once.
        let (a, b) = ([&a0[sa], &a1[sa], &a2[sa]], [&b0[sb], &b1[sb], &b2[sb]]);
        let mut sums = [[V::default(); 3]; 3];
        for k in if balls { 3 } else { 0 }..6 {
            let a = a.map(|a| a[k]);
            for j in 0..3 {
                let b = b[j][k];
                for i in 0..3 {
                    sums[j][i] += a[i] * b;
                }
            }
        }
        if balls {
            let both = a[0][0] * b[0][0];
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
            *x += dot(&a[sa], &b[sb]);
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
