//! One-sided rows around any solver: an active set.
//!
//! A row asks for `low <= J dq <= high`. Equalities are always active. A bound becomes active when the step would cross
//! it, and is released when its multiplier would pull. All wrong rows change at once as long as they get fewer; when that
//! goes in circles, one at a time (block principal pivoting with Murty's rule as the way out: finite unless rows depend
//! on each other). Each round costs a factorisation; their number is bounded, and what is left of complementarity is
//! reported.

use super::{LinearSolver, Problem, SolveReport, Stop, Work};
use crate::rows::{Masses, Rows};

/// Scratch of the active-set loop.
#[derive(Clone, Debug, Default)]
pub struct Bounded {
    /// Which rows act now; kept as the next warm start.
    pub active: Vec<bool>,
    /// Right sides of the active rows.
    pub b: Vec<f64>,
    /// Multipliers.
    pub lambda: Vec<f64>,
    /// Displacement per solid.
    pub dq: Vec<[f64; 6]>,
    /// Start from the rows that were active last time (same rows assumed) instead of the violated ones.
    pub warm: bool,
    /// Which end an active bound sits at.
    at_high: Vec<bool>,
    change: Vec<f64>,
    wrong: Vec<usize>,
}

/// What an active-set solve did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedReport {
    /// The last linear solve.
    pub solve: SolveReport,
    /// Linear solves spent.
    pub rounds: usize,
    /// Largest violation of a bound by the step, or pulling multiplier's share: zero when the set is right.
    pub complementarity: f64,
}

impl Bounded {
    /// Solves for `lambda` and `dq`. `damping` as in [`Problem`].
    pub fn solve(
        &mut self,
        solver: &mut dyn LinearSolver,
        rows: &Rows,
        masses: &Masses,
        solids: usize,
        damping: Option<f64>,
        work: &Work,
    ) -> BoundedReport {
        // Most linear solves, and how many rounds in a row may fail to lower the number of wrong rows.
        const ROUNDS: usize = 100;
        const PATIENCE: usize = 3;
        let (mut fewest, mut patience) = (usize::MAX, PATIENCE);
        let n = rows.len();
        let known = self.warm && self.active.len() == n;
        if !known {
            self.active.clear();
            self.active.resize(n, false);
            self.at_high.clear();
            self.at_high.resize(n, false);
        }
        for r in 0..n {
            if rows.is_equality(r) || rows.wanted(r) != 0.0 {
                self.active[r] = true;
                self.at_high[r] = rows.wanted(r) < 0.0;
            }
        }
        self.lambda.clear();
        self.lambda.resize(n, 0.0);
        let bounds = (0..n).any(|r| !rows.is_equality(r));
        let mut report = BoundedReport {
            solve: SolveReport { residual: 0.0, iterations: 0, stop: Stop::Tolerance },
            rounds: 0,
            complementarity: 0.0,
        };
        let end = |r: usize, high: bool| if high { rows.high[r] } else { rows.low[r] };
        self.change.clear();
        self.change.resize(n, 0.0);
        self.b.clear();
        self.b.extend((0..n).map(|r| if self.active[r] { end(r, self.at_high[r]) } else { 0.0 }));
        for round in 1..=ROUNDS {
            solver.factor(&Problem { rows, masses, active: &self.active, damping });
            let mut solve = solver.solve(&self.b, &mut self.lambda, work);
            solve.iterations += report.solve.iterations;
            report.solve = solve;
            report.rounds = round;
            self.dq.clear();
            self.dq.resize(solids, [0.0; 6]);
            rows.apply_transposed(&self.lambda, masses, &mut self.dq);
            if !bounds {
                break;
            }
            rows.apply(&self.dq, &mut self.change);
            let scale = self.lambda.iter().fold(0.0, |m: f64, l| m.max(l.abs()));
            report.complementarity = 0.0;
            self.wrong.clear();
            for r in (0..n).filter(|r| !rows.is_equality(*r)) {
                let (low, high, x) = (rows.low[r], rows.high[r], self.change[r]);
                let wrong = if self.active[r] {
                    // At the low end the row may only push up, at the high end only down.
                    let pull = if self.at_high[r] { self.lambda[r] } else { -self.lambda[r] };
                    if pull > 1e-9 * scale { pull / scale.max(f64::MIN_POSITIVE) } else { 0.0 }
                } else {
                    let cross = (low - x).max(x - high);
                    let slack = 1e-9 * (1.0 + low.abs().min(high.abs()));
                    if cross > slack { cross } else { 0.0 }
                };
                if wrong > 0.0 {
                    report.complementarity = report.complementarity.max(wrong);
                    self.wrong.push(r);
                }
            }
            if self.wrong.len() < fewest {
                (fewest, patience) = (self.wrong.len(), PATIENCE);
            } else if patience > 0 {
                patience -= 1;
            } else {
                // Changing all at once goes in circles: only the last one now.
                self.wrong.drain(..self.wrong.len().saturating_sub(1));
            }
            let changed = !self.wrong.is_empty();
            for &r in &self.wrong {
                let high = self.change[r] > rows.high[r];
                self.active[r] = !self.active[r];
                self.at_high[r] = high;
                self.b[r] = if self.active[r] { end(r, high) } else { 0.0 };
            }
            if !changed || work.is_over() {
                break;
            }
        }
        report
    }
}
