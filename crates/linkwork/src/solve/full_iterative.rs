//! `full-iterative`: matrix-free, `O(a + l)` memory (Faure 1998, section 3.4; Gleicher's class in Faure 1999, Table 1).
//!
//! Conjugate gradients with a block-Jacobi preconditioner while the system is consistent. The papers use *bi*conjugate
//! gradients; on this symmetric matrix that is the same at twice the cost. On conflicting constraints CG diverges,
//! whatever the 1998 paper says: when it stalls, LSMR takes over and converges to the least-squares answer.

use super::block_jacobi::BlockJacobi;
use super::krylov::{Ended, Rectangular, Scratch, Symmetric, conjugate_gradients, lsmr};
use super::{LinearSolver, Problem, Scaled, SolveReport, Work, largest};
use crate::rows::{Masses, Rows};

/// See the module.
#[derive(Clone, Default)]
pub struct FullIterative {
    op: Operator,
    scratch: Scratch,
    residual: Vec<f64>,
    step: Vec<f64>,
    product: Vec<f64>,
}

#[derive(Clone, Default)]
struct Operator {
    w: Scaled,
    blocks: BlockJacobi,
    y: Vec<[f64; 6]>,
}

impl FullIterative {
    /// Not factored yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Symmetric for Operator {
    fn multiply(&mut self, v: &[f64], out: &mut [f64]) {
        self.y.clear();
        self.y.resize(self.w.width, [0.0; 6]);
        self.w.gather(v, &mut self.y);
        self.w.scatter(&self.y, out);
        self.w.soften(v, out);
    }

    fn precondition(&self, v: &[f64], out: &mut [f64]) {
        self.blocks.apply(v, out);
    }
}

impl Rectangular for Operator {
    // A soft or damped row is a rigid one with a freedom of its own: `A + s = [W, sqrt s] [W, sqrt s]^T`.
    fn transpose(&mut self, u: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        let (solids, give) = y.split_at_mut(6 * self.w.width);
        self.w.gather(u, solids.as_chunks_mut::<6>().0);
        for (r, (g, u)) in give.iter_mut().zip(u).enumerate() {
            *g = self.w.give(r).sqrt() * u;
        }
    }
    fn forward(&mut self, y: &[f64], out: &mut [f64]) {
        let (solids, give) = y.split_at(6 * self.w.width);
        self.w.scatter(solids.as_chunks::<6>().0, out);
        for (r, (o, g)) in out.iter_mut().zip(give).enumerate() {
            *o += self.w.give(r).sqrt() * g;
        }
    }
    fn width(&self) -> usize {
        6 * self.w.width + if self.w.gives() { self.w.softness.len() } else { 0 }
    }
    fn noise(&self) -> f64 {
        1e-15 * self.w.mean_diagonal.sqrt()
    }
}

impl LinearSolver for FullIterative {
    fn analyse(&mut self, _: &Rows, _: &Masses) {}

    fn factor(&mut self, p: &Problem) {
        self.op.w.fill(p);
        self.op.blocks.fill(p.rows.groups.iter(), &self.op.w);
    }

    fn solve(&mut self, b: &[f64], lambda: &mut [f64], work: &Work) -> SolveReport {
        let n = b.len();
        let active = |i: usize| self.op.w.active[i];
        let cold = (0..n).filter(|i| active(*i)).fold(0.0, |m: f64, i| m.max(b[i].abs()));
        for i in 0..n {
            if !active(i) {
                lambda[i] = 0.0;
            }
        }
        // Residual of the guess; a guess worse than nothing is dropped.
        self.step.clear();
        self.step.resize(n, 0.0);
        self.op.multiply(lambda, &mut self.step);
        self.residual.clear();
        self.residual.extend((0..n).map(|i| if self.op.w.active[i] { b[i] - self.step[i] } else { 0.0 }));
        let warm = largest(&self.residual);
        if !(warm < 0.999 * cold) {
            lambda.fill(0.0);
            for i in 0..n {
                self.residual[i] = if self.op.w.active[i] { b[i] } else { 0.0 };
            }
        }
        let over = || work.is_over();
        let (mut iterations, mut ended) = conjugate_gradients(
            &mut self.op,
            &mut self.residual,
            lambda,
            work.iterations,
            work.tolerance,
            over,
            &mut self.scratch,
        );
        if ended == Ended::Stalled {
            let left = work.iterations.saturating_sub(iterations);
            let target = self.residual.clone();
            self.product.resize(n, 0.0);
            let (more, end) = lsmr(
                &mut self.op,
                &target,
                &mut self.step,
                0.0,
                left,
                work.tolerance,
                over,
                &mut self.scratch,
            );
            iterations += more;
            let before = largest(&self.residual);
            lambda.iter_mut().zip(&self.step).for_each(|(l, s)| *l += s);
            let mut step = std::mem::take(&mut self.step);
            std::mem::swap(&mut self.product, &mut step);
            self.op.multiply(lambda, &mut step);
            for i in 0..n {
                self.residual[i] = if self.op.w.active[i] { b[i] - step[i] } else { 0.0 };
            }
            let left = largest(&self.residual);
            let cut_off = end != Ended::Stalled && end != Ended::Tolerance;
            // No least-squares answer is longer than nothing at all: where the rows are consistent and only rounding is
            // left to solve for, the iteration may find anything.
            let broke_down = !(left <= (n as f64).sqrt() * before);
            if broke_down || (cut_off && !(left <= before)) {
                // Cut off half way and not better yet, or nonsense: what conjugate gradients had stays.
                lambda.iter_mut().zip(&self.product).for_each(|(l, s)| *l -= s);
                self.residual = target;
            }
            self.step = step;
            ended = end;
        }
        SolveReport { residual: largest(&self.residual), iterations, stop: ended.into() }
    }

    fn name(&self) -> &'static str {
        "full-iterative"
    }
}
