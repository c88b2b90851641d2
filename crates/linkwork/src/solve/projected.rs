//! One-sided rows by projected Gauss-Seidel: the iterative alternative to the active set.
//!
//! Row by row, the multiplier is moved to where the row is met and cut where it would pull (`lambda > 0` only at the low
//! end of the interval, `< 0` only at the high end). Never needs a matrix, can stop any time, keeps momentum, and
//! converges linearly: slow on long chains, good for many contacts and small budgets.

use super::{BoundedReport, SolveReport, Stop, Work};
use crate::rows::{Masses, Rows, dot6};

/// Scratch and answer of a projected solve.
#[derive(Clone, Debug, Default)]
pub struct Projected {
    /// Multipliers; the next warm start.
    pub lambda: Vec<f64>,
    /// Displacement per solid.
    pub dq: Vec<[f64; 6]>,
    /// Per row and side: `M^-1 J^T`.
    answer: Vec<[[f64; 6]; 2]>,
    inverse: Vec<f64>,
}

impl Projected {
    /// Sweeps until the complementarity residual is below the tolerance. `warm`: start from the last multipliers.
    pub fn solve(
        &mut self,
        rows: &Rows,
        masses: &Masses,
        solids: usize,
        warm: bool,
        work: &Work,
    ) -> BoundedReport {
        let n = rows.len();
        self.answer.clear();
        self.inverse.clear();
        for g in &rows.groups {
            for r in g.range() {
                let j = &rows.row(r);
                let a = [masses.accelerate(g.solids[0], &j[0]), masses.accelerate(g.solids[1], &j[1])];
                let d = dot6(&a[0], &j[0]) + dot6(&a[1], &j[1]);
                self.inverse.push(if d > 0.0 { 1.0 / d } else { 0.0 });
                self.answer.push(a);
            }
        }
        self.lambda.resize(n, 0.0);
        if !warm {
            self.lambda.fill(0.0);
        }
        self.dq.clear();
        self.dq.resize(solids, [0.0; 6]);
        rows.apply_transposed(&self.lambda, masses, &mut self.dq);
        let mut report = BoundedReport {
            solve: SolveReport { residual: f64::INFINITY, iterations: 0, stop: Stop::Iterations },
            rounds: 0,
            complementarity: f64::INFINITY,
        };
        while report.solve.iterations < work.iterations {
            if work.is_over() {
                report.solve.stop = Stop::Time;
                break;
            }
            let mut worst = 0.0_f64;
            for g in &rows.groups {
                let [a, b] = g.solids;
                for r in g.range() {
                    let change = rows.along(r, [&self.dq[a], &self.dq[b]]);
                    let at = |end: f64| self.lambda[r] + (end - change) * self.inverse[r];
                    let (low, high) = (at(rows.low[r]), at(rows.high[r]));
                    let next = if rows.is_equality(r) || low > 0.0 {
                        low
                    } else if high < 0.0 {
                        high
                    } else {
                        0.0
                    };
                    let step = if self.inverse[r] > 0.0 { next - self.lambda[r] } else { 0.0 };
                    if self.inverse[r] > 0.0 {
                        worst = worst.max((step / self.inverse[r]).abs());
                    }
                    self.lambda[r] += step;
                    for (solid, side) in [(a, 0), (b, 1)] {
                        for (q, x) in self.dq[solid].iter_mut().zip(&self.answer[r][side]) {
                            *q += x * step;
                        }
                    }
                }
            }
            report.solve.iterations += 1;
            // The step of a row, in its own units, is exactly what its complementarity condition lacked.
            report.complementarity = worst;
            report.solve.residual = worst;
            if worst <= work.tolerance {
                report.solve.stop = Stop::Tolerance;
                break;
            }
        }
        report.rounds = report.solve.iterations;
        report
    }
}
