//! `full-dense`: the whole matrix, Cholesky by faer. `O((a + l)^3)` time, `O((a + l)^2)` memory (Faure 1999, Table 1).
//! The reference that every other solver is compared to.

use super::cholesky::Cholesky;
use super::{LinearSolver, Problem, Scaled, SolveReport, Stop, TINY, VANISHES, Work, largest};
use crate::rows::{Masses, Rows, dot6};
use faer::Mat;

/// Regularisation of consistent systems, relative to each row's own diagonal: just above rounding.
const BARELY: f64 = 1e-14;

/// See the module.
pub struct FullDense {
    w: Scaled,
    /// `A`, for residuals; inactive rows are zero.
    a: Mat<f64>,
    factor: Cholesky,
    refine: bool,
    /// The factor is the one for conflicting rows.
    regularised: bool,
    residual: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
}

impl Default for FullDense {
    fn default() -> Self {
        Self::new()
    }
}

impl FullDense {
    /// Not factored yet.
    pub fn new() -> Self {
        Self {
            w: Scaled::default(),
            a: Mat::new(),
            factor: Cholesky::new(),
            refine: true,
            regularised: false,
            residual: Vec::new(),
            step: Vec::new(),
            trial: Vec::new(),
        }
    }

    /// `A = W W^T`, through the rows that meet at each solid.
    fn assemble(&mut self) {
        let n = self.w.w.len();
        if self.a.nrows() != n {
            self.a = Mat::zeros(n, n);
        } else {
            self.a.fill(0.0);
        }
        let mut at: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.w.width];
        for (r, s) in self.w.solids.iter().enumerate().filter(|(r, _)| self.w.active[*r]) {
            at[s[0]].push((r, 0));
            at[s[1]].push((r, 1));
        }
        for rows in &at {
            for &(i, si) in rows {
                let wi = &self.w.w[i][si];
                if wi.iter().all(|x| *x == 0.0) {
                    continue;
                }
                for &(j, sj) in rows {
                    self.a[(i, j)] += dot6(wi, &self.w.w[j][sj]);
                }
            }
        }
        for r in 0..n {
            self.a[(r, r)] += self.w.softness[r];
        }
    }

    /// `residual = b - A lambda` on active rows.
    fn residual(&mut self, b: &[f64], lambda: &[f64]) -> f64 {
        let n = b.len();
        self.residual.clear();
        self.residual.extend((0..n).map(|i| if self.w.active[i] { b[i] } else { 0.0 }));
        for (j, l) in lambda.iter().enumerate().filter(|(_, l)| **l != 0.0) {
            let col = self.a.col_as_slice(j);
            for (r, a) in self.residual.iter_mut().zip(col) {
                *r -= a * l;
            }
        }
        largest(&self.residual)
    }
}

impl LinearSolver for FullDense {
    fn analyse(&mut self, _: &Rows, _: &Masses) {}

    fn factor(&mut self, p: &Problem) {
        self.w.fill(p);
        self.assemble();
        self.refine = p.damping.is_none();
        self.regularised = false;
        self.refactor(p.damping.unwrap_or(BARELY));
    }

    /// First with next to no regularisation, refined: exact where the rows are consistent. If something is left, once
    /// more with enough of it to tend to least squares.
    fn solve(&mut self, b: &[f64], lambda: &mut [f64], work: &Work) -> SolveReport {
        let report = self.solve_once(b, lambda, work);
        let cold = (0..b.len()).filter(|i| self.w.active[*i]).fold(0.0, |m: f64, i| m.max(b[i].abs()));
        let conflict = !(report.residual <= work.tolerance.max(1e-9 * cold));
        if !(self.refine && conflict) || self.regularised || report.stop == Stop::Time || work.iterations < 2
        {
            return report;
        }
        self.regularised = true;
        self.refactor(TINY);
        lambda.fill(0.0);
        let again = self.solve_once(b, lambda, work);
        SolveReport { iterations: report.iterations + again.iterations, ..again }
    }

    fn least_pivot(&self) -> f64 {
        self.pivots().0
    }

    fn left_out(&self) -> usize {
        self.pivots().1
    }

    fn name(&self) -> &'static str {
        "full-dense"
    }
}

impl FullDense {
    fn refactor(&mut self, damping: f64) {
        let w = &self.w;
        self.factor.factor(&self.a, damping, |i| w.pivot_scale(i));
    }

    fn pivots(&self) -> (f64, usize) {
        self.factor.least_pivot(VANISHES, |i| self.w.diagonal[i] + self.w.softness[i])
    }

    fn solve_once(&mut self, b: &[f64], lambda: &mut [f64], work: &Work) -> SolveReport {
        let n = b.len();
        lambda
            .iter_mut()
            .zip(&self.w.active)
            .for_each(|(l, a)| *l = if *a && self.refine { *l } else { 0.0 });
        // A warm start is trusted only if it is better than nothing.
        let mut best = self.residual(b, lambda);
        let cold = (0..n).filter(|i| self.w.active[*i]).fold(0.0, |m: f64, i| m.max(b[i].abs()));
        if !(best < 0.999 * cold) {
            lambda.fill(0.0);
            best = self.residual(b, lambda);
        }
        let rounds = if self.refine { work.iterations.clamp(1, 4) } else { 1 };
        let mut report = SolveReport { residual: best, iterations: 0, stop: Stop::Iterations };
        for _ in 0..rounds {
            if best <= work.tolerance {
                report.stop = Stop::Tolerance;
                break;
            }
            if work.is_over() {
                report.stop = Stop::Time;
                break;
            }
            self.step.clear();
            self.step.extend_from_slice(&self.residual);
            self.factor.solve(&mut self.step);
            // A row that acts on nothing has no multiplier.
            let w = &self.w;
            for (r, s) in self.step.iter_mut().enumerate() {
                *s = if w.pivot_scale(r).is_some() { *s } else { 0.0 };
            }
            self.trial.clear();
            self.trial.extend(lambda.iter().zip(&self.step).map(|(l, s)| l + s));
            let trial = std::mem::take(&mut self.trial);
            let left = self.residual(b, &trial);
            report.iterations += 1;
            // Refinement ends when it no longer helps: what is left is the part of `b` out of reach.
            if left.is_finite() && (left < best || report.iterations == 1) {
                lambda.copy_from_slice(&trial);
                let stalled = left > 0.5 * best;
                best = left;
                self.trial = trial;
                if stalled && self.refine && report.iterations > 1 {
                    report.stop = Stop::LeastSquares;
                    break;
                }
            } else {
                self.trial = trial;
                report.stop = Stop::LeastSquares;
                break;
            }
        }
        report.residual = best;
        if best <= work.tolerance {
            report.stop = Stop::Tolerance;
        }
        report
    }
}
