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
        // How many rounds in a row may fail to lower the number of wrong rows.
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
        self.wrong.clear();
        self.lambda.clear();
        self.lambda.resize(n, 0.0);
        let bounds = (0..n).filter(|r| !rows.is_equality(*r)).count();
        // Enough for every bound to be taken on and let go again once.
        let most_rounds = (8 + 2 * bounds).min(100);
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
        for round in 1..=most_rounds {
            solver.factor(&Problem { rows, masses, active: &self.active, damping });
            let mut solve = solver.solve(&self.b, &mut self.lambda, work);
            solve.iterations += report.solve.iterations;
            report.solve = solve;
            report.rounds = round;
            // Bounds taken on together may contradict the rest where one of them would do: then the most crossed one
            // alone, and the others one at a time.
            let most = self.b.iter().fold(0.0, |m: f64, b| m.max(b.abs()));
            let contradiction = damping.is_none() && !(solve.residual <= work.tolerance.max(1e-7 * most));
            self.wrong.retain(|r| self.active[*r]);
            if contradiction && self.wrong.len() > 1 && !work.is_over() {
                let crossed = |r: usize| (rows.low[r] - self.change[r]).max(self.change[r] - rows.high[r]);
                let keep = self.wrong.iter().copied().max_by(|a, b| crossed(*a).total_cmp(&crossed(*b)));
                for &r in self.wrong.iter().filter(|r| Some(**r) != keep) {
                    self.active[r] = false;
                    self.b[r] = 0.0;
                }
                self.wrong.clear();
                patience = 0;
                continue;
            }
            self.dq.clear();
            self.dq.resize(solids, [0.0; 6]);
            rows.apply_transposed(&self.lambda, masses, &mut self.dq);
            if bounds == 0 {
                break;
            }
            rows.apply(&self.dq, &mut self.change);
            let scale = self.lambda.iter().fold(0.0, |m: f64, l| m.max(l.abs()));
            report.complementarity = 0.0;
            self.wrong.clear();
            for r in (0..n).filter(|r| !rows.is_equality(*r)) {
                let (low, high, x) = (rows.low[r], rows.high[r], self.change[r]);
                let slack = 1e-9 * (1.0 + low.abs().min(high.abs()));
                let wrong = if self.active[r] {
                    // At the low end the row may only push up, at the high end only down. And where the active rows
                    // contradict each other, a bound that the compromise keeps short of is not needed.
                    let pull = if self.at_high[r] { self.lambda[r] } else { -self.lambda[r] };
                    let short = if self.at_high[r] { high - x } else { x - low };
                    if pull > 1e-9 * scale {
                        pull / scale.max(f64::MIN_POSITIVE)
                    } else if short > slack {
                        short
                    } else {
                        0.0
                    }
                } else {
                    let cross = (low - x).max(x - high);
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
