//! Conflicting constraints: primary ones exactly, secondary ones in least squares within what those leave free.

use super::{Assembler, Outcome};
use crate::solve::{Ranked, Work};
use crate::state::State;

impl Assembler<'_> {
    /// From a least-squares pose of all rows to the best pose by rank and weight. Each step is a damped two-rank solve, then
    /// the primary rows are closed again; accepted only if the weighted secondary gaps fall, so it cannot run away.
    pub(super) fn compromise(&mut self, state: &mut State) -> Outcome {
        let any = |primary: bool| self.rows.groups.iter().any(|g| g.is_primary() == primary);
        let weight = self.rows.groups.first().map_or(1.0, |g| g.weight);
        let alike = self.rows.groups.iter().all(|g| g.weight == weight);
        let ranked = any(true) && any(false);
        let before = state.clone();
        if !(ranked && self.close_primary(state)) {
            // One rank, or primary constraints that conflict among themselves: everybody shares, and where all weigh the
            // same the plain least squares are the answer already.
            *state = before;
            self.shared = !alike;
            self.fill(state);
            if alike {
                return Outcome::Conflict;
            }
        }
        let mut ranked = Ranked::default();
        let mut merit = self.secondary_merit();
        let (mut damping, mut flat) = (1e-3, 0);
        for _ in 0..300 {
            if self.out_of_time() || flat >= 5 || damping > 1e8 || merit == 0.0 {
                break;
            }
            let before = state.clone();
            self.masses.update(self.m, state);
            let work = Work { iterations: 200, tolerance: 1e-14, out_of_time: self.config.out_of_time };
            let b: Vec<f64> = (0..self.rows.len()).map(|r| self.rows.wanted(r)).collect();
            let active: Vec<bool> = (0..self.rows.len())
                .map(|r| self.rows.is_equality(r) || self.rows.wanted(r) != 0.0)
                .collect();
            let solids = self.m.solids().len();
            let solver = self.solver.as_mut();
            let report =
                ranked.solve(solver, &self.rows, &self.masses, solids, &active, &b, Some(damping), &work);
            self.solver_iterations += report.solve.iterations;
            std::mem::swap(&mut self.bounded.dq, &mut ranked.dq);
            self.displace(state);
            self.iterations += 1;
            self.fill(state);
            let next = if self.close_primary(state) { self.secondary_merit() } else { f64::INFINITY };
            self.tell(self.rows.gaps().worst());
            if next < merit {
                flat = if next > merit * (1.0 - 1e-10) { flat + 1 } else { 0 };
                merit = next;
                damping = (damping * 0.3_f64).max(1e-8);
            } else {
                *state = before;
                self.fill(state);
                damping *= 4.0;
            }
        }
        // Exact primaries may have opened a way that least squares over all rows did not see.
        if self.rows.gaps().worst() <= self.config.tolerance { Outcome::Ok } else { Outcome::Conflict }
    }

    /// Newton on the primary rows alone, to rounding. False when they do not close.
    fn close_primary(&mut self, state: &mut State) -> bool {
        let mut last = f64::INFINITY;
        for _ in 0..40 {
            let gap = self.primary_gap();
            // A few more rounds after the tolerance: Newton doubles the digits for next to nothing.
            if gap <= 1e-13 || (gap <= 1e-9 && gap > 0.25 * last) {
                return true;
            }
            if !gap.is_finite() || self.out_of_time() {
                return false;
            }
            last = gap;
            self.masses.update(self.m, state);
            self.mute_secondary();
            let work =
                Work { iterations: self.config.solver_iterations, tolerance: 1e-15, out_of_time: None };
            let solids = self.m.solids().len();
            self.bounded.solve(self.solver.as_mut(), &self.rows, &self.masses, solids, None, &work);
            self.displace(state);
            self.fill(state);
        }
        self.primary_gap() <= self.config.tolerance
    }

    /// Opens the intervals of all secondary rows, so that they ask for nothing until the next fill.
    fn mute_secondary(&mut self) {
        for g in self.rows.groups.iter().filter(|g| !g.is_primary()) {
            for r in g.range() {
                self.rows.low[r] = f64::NEG_INFINITY;
                self.rows.high[r] = f64::INFINITY;
            }
        }
    }

    fn primary_gap(&self) -> f64 {
        self.rows.groups.iter().filter(|g| g.is_primary()).map(|g| self.rows.group_gaps(g).worst()).fold(
            0.0,
            |m: f64, g| {
                if g.is_nan() { f64::NAN } else { m.max(g) }
            },
        )
    }

    /// Weighted sum of squared secondary gaps.
    fn secondary_merit(&self) -> f64 {
        let sum = |g: &crate::rows::Group| g.range().map(|r| self.rows.wanted(r).powi(2)).sum::<f64>();
        self.rows.groups.iter().filter(|g| !g.is_primary()).map(|g| g.weight * sum(g)).sum()
    }
}
