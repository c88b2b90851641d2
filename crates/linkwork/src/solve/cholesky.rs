//! Dense Cholesky by faer of a matrix that is positive semidefinite up to rounding.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::{Mat, MatMut, Par};

/// The factor and its scratch.
pub(super) struct Cholesky {
    l: Mat<f64>,
    scratch: Option<MemBuffer>,
}

impl Cholesky {
    pub fn new() -> Self {
        Self { l: Mat::new(), scratch: None }
    }

    /// Factors `a + shift * scale` (lower triangle), `scale` being each row's own; rows that have none get a unit pivot.
    /// Where rounding makes the shifted matrix indefinite the shift grows; ten tries cover all of f64, so this ends.
    pub fn factor(&mut self, a: &Mat<f64>, mut shift: f64, scale: impl Fn(usize) -> Option<f64>) {
        let n = a.nrows();
        if self.l.nrows() != n {
            self.l = Mat::zeros(n, n);
        }
        let need = llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default());
        let scratch = self.scratch.insert(MemBuffer::new(need));
        for _ in 0..10 {
            self.l.copy_from(a);
            for i in 0..n {
                self.l[(i, i)] += scale(i).map_or(1.0, |own| shift * own);
            }
            let stack = MemStack::new(scratch);
            if llt::factor::cholesky_in_place(
                self.l.as_mut(),
                Default::default(),
                Par::Seq,
                stack,
                Default::default(),
            )
            .is_ok()
            {
                return;
            }
            shift = (shift * 100.0).max(f64::EPSILON);
        }
        // Not a number somewhere: an identity keeps the answer harmless, and the caller sees the residual.
        self.l.fill(0.0);
        (0..n).for_each(|i| self.l[(i, i)] = 1.0);
    }

    /// The smallest pivot above a share `vanishes` of `diagonal`, as such a share, and how many are not above it.
    pub fn least_pivot(&self, vanishes: f64, diagonal: impl Fn(usize) -> f64) -> (f64, usize) {
        let (mut least, mut vanished) = (1.0_f64, 0);
        for i in 0..self.l.nrows() {
            let (pivot, whole) = (self.l[(i, i)] * self.l[(i, i)], diagonal(i));
            if pivot > vanishes * whole {
                least = if whole > 0.0 { least.min(pivot / whole) } else { least };
            } else {
                vanished += 1;
            }
        }
        (least, vanished)
    }

    /// Solves in place.
    pub fn solve(&mut self, x: &mut [f64]) {
        let n = x.len();
        if let Some(scratch) = self.scratch.as_mut() {
            let rhs = MatMut::from_column_major_slice_mut(x, n, 1);
            llt::solve::solve_in_place(self.l.as_ref(), rhs, Par::Seq, MemStack::new(scratch));
        }
    }
}
