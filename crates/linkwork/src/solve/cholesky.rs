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

    /// Factors `a + shift` (lower triangle); rows that are not active get a unit pivot. Where rounding makes the shifted
    /// matrix indefinite (huge mass ratios) the shift grows; ten tries cover all of f64, so this ends.
    pub fn factor(&mut self, a: &Mat<f64>, mut shift: f64, active: impl Fn(usize) -> bool) {
        let n = a.nrows();
        if self.l.nrows() != n {
            self.l = Mat::zeros(n, n);
        }
        let need = llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default());
        let scratch = self.scratch.insert(MemBuffer::new(need));
        for _ in 0..10 {
            self.l.copy_from(a);
            for i in 0..n {
                self.l[(i, i)] += if active(i) { shift } else { 1.0 };
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
            shift = (shift * 100.0).max(f64::MIN_POSITIVE);
        }
        // Not a number somewhere: an identity keeps the answer harmless, and the caller sees the residual.
        self.l.fill(0.0);
        (0..n).for_each(|i| self.l[(i, i)] = 1.0);
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
