//! The two triangles: one front's share of solving with the factor.

use super::lanes::Lane;

/// `x = L^-1 x`, and what that takes from the rows below. Number of pivots known to the compiler.
#[inline(always)]
pub(super) fn forward_few<V: Lane, const P: usize>(panel: &[V], x: &mut [V], first: usize, below: &[u32]) {
    let n = P + below.len();
    let mut columns = panel.chunks_exact(n);
    let columns: [&[V]; P] = std::array::from_fn(|_| columns.next().unwrap_or_default());
    let mut head: [V; P] = std::array::from_fn(|k| x[first + k]);
    for k in 0..P {
        for j in k + 1..P {
            head[j] -= columns[k][j] * head[k];
        }
    }
    x[first..first + P].copy_from_slice(&head);
    let tails: [&[V]; P] = std::array::from_fn(|k| &columns[k][P..][..below.len()]);
    for (i, b) in below.iter().enumerate() {
        let mut sum = tails[0][i] * head[0];
        for k in 1..P {
            sum += tails[k][i] * head[k];
        }
        x[*b as usize] -= sum;
    }
}

/// `x = L^-T D^-1 x` of the pivots, given the rows below.
#[inline(always)]
pub(super) fn backward_few<V: Lane, const P: usize>(
    panel: &[V],
    x: &mut [V],
    inverse: &[V],
    first: usize,
    below: &[u32],
) {
    let n = P + below.len();
    let mut columns = panel.chunks_exact(n);
    let columns: [&[V]; P] = std::array::from_fn(|_| columns.next().unwrap_or_default());
    let mut head: [V; P] = std::array::from_fn(|k| x[first + k] * inverse[first + k]);
    let tails: [&[V]; P] = std::array::from_fn(|k| &columns[k][P..][..below.len()]);
    for (i, b) in below.iter().enumerate() {
        let x = x[*b as usize];
        for k in 0..P {
            head[k] -= tails[k][i] * x;
        }
    }
    for k in (0..P).rev() {
        for j in k + 1..P {
            let h = head[j];
            head[k] -= columns[k][j] * h;
        }
    }
    x[first..first + P].copy_from_slice(&head);
}

/// [`forward_few`] with any number of pivots.
#[inline(always)]
pub(super) fn forward_many<V: Lane>(
    panel: &[V],
    x: &mut [V],
    first: usize,
    below: &[u32],
    head: &mut [V],
    tail: &mut [V],
) {
    let (p, n) = (head.len(), head.len() + tail.len());
    head.copy_from_slice(&x[first..first + p]);
    tail.fill(V::default());
    for k in 0..p {
        let xk = head[k];
        let column = &panel[k * n..(k + 1) * n];
        for (h, l) in head[k + 1..].iter_mut().zip(&column[k + 1..p]) {
            *h -= *l * xk;
        }
        for (t, l) in tail.iter_mut().zip(&column[p..]) {
            *t += *l * xk;
        }
    }
    x[first..first + p].copy_from_slice(head);
    for (b, t) in below.iter().zip(tail.iter()) {
        x[*b as usize] -= *t;
    }
}

/// [`backward_few`] with any number of pivots.
#[inline(always)]
pub(super) fn backward_many<V: Lane>(
    panel: &[V],
    x: &mut [V],
    inverse: &[V],
    first: usize,
    below: &[u32],
    head: &mut [V],
    tail: &mut [V],
) {
    let (p, n) = (head.len(), head.len() + tail.len());
    for k in 0..p {
        head[k] = x[first + k] * inverse[first + k];
    }
    for (b, t) in below.iter().zip(tail.iter_mut()) {
        *t = x[*b as usize];
    }
    for k in (0..p).rev() {
        let column = &panel[k * n..(k + 1) * n];
        let inner = head[k + 1..].iter().zip(&column[k + 1..p]).fold(V::default(), |s, (h, l)| s + *h * *l);
        let outer = tail.iter().zip(&column[p..]).fold(V::default(), |s, (t, l)| s + *t * *l);
        head[k] -= inner + outer;
    }
    x[first..first + p].copy_from_slice(head);
}

/// Right sides that go together.
pub(super) const COLUMNS: usize = 4;

/// `x -= l y`, right side by right side.
#[inline(always)]
fn subtract<V: Lane>(x: &mut [V; COLUMNS], l: V, y: &[V; COLUMNS]) {
    for c in 0..COLUMNS {
        x[c] -= l * y[c];
    }
}

/// [`forward_few`] of several right sides: the panel is read once for all of them.
#[inline(always)]
pub(super) fn forward_columns<V: Lane>(
    panel: &[V],
    x: &mut [[V; COLUMNS]],
    first: usize,
    pivots: usize,
    below: &[u32],
) {
    for (k, column) in panel.chunks_exact(pivots + below.len()).enumerate() {
        let head = x[first + k];
        for (x, l) in x[first + k + 1..first + pivots].iter_mut().zip(&column[k + 1..pivots]) {
            subtract(x, *l, &head);
        }
        for (b, l) in below.iter().zip(&column[pivots..]) {
            subtract(&mut x[*b as usize], *l, &head);
        }
    }
}

/// [`backward_few`] of several right sides.
#[inline(always)]
pub(super) fn backward_columns<V: Lane>(
    panel: &[V],
    x: &mut [[V; COLUMNS]],
    inverse: &[V],
    first: usize,
    pivots: usize,
    below: &[u32],
) {
    for (k, column) in panel.chunks_exact(pivots + below.len()).enumerate().rev() {
        let mut head = x[first + k].map(|x| x * inverse[first + k]);
        for (b, l) in below.iter().zip(&column[pivots..]) {
            subtract(&mut head, *l, &x[*b as usize]);
        }
        for (x, l) in x[first + k + 1..first + pivots].iter().zip(&column[k + 1..pivots]) {
            subtract(&mut head, *l, x);
        }
        x[first + k] = head;
    }
}
