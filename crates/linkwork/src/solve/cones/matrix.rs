//! Contacts over a formed matrix: the space of forces.
//!
//! Whatever is below, joints or free solids, `W = J R J^T` says how the rows answer to forces. The unknowns are forces `a`
//! of which `l(W a)` are to be the same; Newton's matrix is `1 + B W`, of which only the rows that act matter.

use super::proximal::{Slopes, Space};
use super::{ConeProblem, larger};

/// Scratch.
#[derive(Default)]
pub(super) struct Scratch {
    /// Rows that act: their forces change with what they have.
    part: Vec<usize>,
    matrix: Vec<f64>,
    right: Vec<f64>,
    row: Vec<f64>,
}

/// The space itself.
pub(super) struct Forces<'a> {
    pub p: &'a ConeProblem<'a>,
    /// `W`, all of it.
    pub w: &'a [f64],
    pub scratch: &'a mut Scratch,
}

impl Forces<'_> {
    fn times(&self, x: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.resize(x.len(), 0.0);
        pulp::Arch::new().dispatch(Times { w: self.w, x, out });
    }

    /// Row `r` of `B W`.
    fn row(&self, slopes: &Slopes, r: usize, n: usize, out: &mut Vec<f64>) -> bool {
        out.clear();
        out.resize(n, 0.0);
        let mut add = |slope: f64, row: usize| {
            if slope != 0.0 {
                let from = &self.w[row * n..(row + 1) * n];
                out.iter_mut().zip(from).for_each(|(o, w)| *o += slope * w);
            }
            slope != 0.0
        };
        if r < self.p.scalars {
            return add(slopes.scalars[r], r);
        }
        let (k, i) = ((r - self.p.scalars) / 3, (r - self.p.scalars) % 3);
        let mut any = false;
        for j in 0..3 {
            any |= add(slopes.points[k][i][j], self.p.scalars + 3 * k + j);
        }
        any
    }
}

impl Space for Forces<'_> {
    fn place(&mut self, force: &[f64], x: &mut Vec<f64>) {
        x.clear();
        x.extend_from_slice(force);
    }

    fn rows(&self, x: &[f64], y: &mut Vec<f64>) {
        self.times(x, y);
    }

    fn weigh(&self, x: &[f64], out: &mut Vec<f64>) {
        self.times(x, out);
    }

    fn rows_and_weigh(&self, x: &[f64], y: &mut Vec<f64>, weighed: &mut Vec<f64>) {
        self.times(x, y);
        weighed.clone_from(y);
    }

    fn step(&mut self, slopes: &Slopes, off: &[f64], _: &[f64], step: &mut Vec<f64>) -> bool {
        let n = off.len();
        let mut s = std::mem::take(self.scratch);
        step.clear();
        step.extend_from_slice(off);
        s.part.clear();
        s.part.extend((0..n).filter(|r| self.row(slopes, *r, n, &mut s.row)));
        let size = s.part.len();
        s.matrix.clear();
        s.right.clear();
        for (i, r) in s.part.iter().enumerate() {
            self.row(slopes, *r, n, &mut s.row);
            s.matrix.extend(s.part.iter().map(|c| s.row[*c]));
            s.matrix[i * size + i] += 1.0;
            // What does not act is known.
            s.part.iter().for_each(|c| s.row[*c] = 0.0);
            let known: f64 = s.row.iter().zip(off).map(|(w, x)| w * x).sum();
            s.right.push(off[*r] - known);
        }
        let sound = pulp::Arch::new().dispatch(Eliminate { a: &mut s.matrix, b: &mut s.right, n: size });
        for (r, x) in s.part.iter().zip(&s.right) {
            step[*r] = *x;
        }
        *self.scratch = s;
        sound
    }
}

/// `out = W x`, column by column: sums of a row by itself would wait for each other. The widest registers that there are,
/// and the same bits in all of them.
struct Times<'a> {
    w: &'a [f64],
    x: &'a [f64],
    out: &'a mut [f64],
}

impl pulp::WithSimd for Times<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { w, x, out } = self;
        // `W` is symmetric.
        for (column, x) in w.chunks_exact(x.len().max(1)).zip(x) {
            out.iter_mut().zip(column).for_each(|(o, w)| *o += w * x);
        }
    }
}

/// [`eliminate`] in the widest registers.
struct Eliminate<'a> {
    a: &'a mut [f64],
    b: &'a mut [f64],
    n: usize,
}

impl pulp::WithSimd for Eliminate<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
        eliminate(self.a, self.b, self.n)
    }
}

/// Gauss with partial pivoting; `b` becomes the answer. False where a pivot is not a number.
#[inline(always)]
fn eliminate(a: &mut [f64], b: &mut [f64], n: usize) -> bool {
    for k in 0..n {
        let best = (k..n).fold(k, |m, i| if a[i * n + k].abs() > a[m * n + k].abs() { i } else { m });
        let pivot = a[best * n + k];
        if !(pivot.abs() > 0.0 && pivot.is_finite()) {
            return false;
        }
        if best != k {
            let (x, y) = a.split_at_mut(best * n);
            x[k * n..(k + 1) * n].swap_with_slice(&mut y[..n]);
            b.swap(k, best);
        }
        let (done, rest) = a.split_at_mut((k + 1) * n);
        let row = &done[k * n + k..(k + 1) * n];
        let bk = b[k];
        for (i, other) in rest.chunks_exact_mut(n).enumerate() {
            let factor = other[k] / pivot;
            if factor != 0.0 {
                for (x, y) in other[k..].iter_mut().zip(row) {
                    *x -= factor * y;
                }
                b[k + 1 + i] -= factor * bk;
            }
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = a[k * n + k + 1..(k + 1) * n].iter().zip(&b[k + 1..]).map(|(a, b)| a * b).sum();
        b[k] = (b[k] - sum) / a[k * n + k];
    }
    b.iter().fold(0.0, |m, x| larger(m, x.abs())).is_finite()
}
