//! Two levels in every stage of every method: below what always holds, factored once; above what may let go.
//!
//! A stage derives what it asks of each row (`rows/ask.rs`). Equalities that may take any force, soft ones included, are the
//! lower level: one factorisation, whatever the rest does. One-sided rows and limited forces are the upper one, solved over
//! the response of the lower (`solve/upper.rs`). Of the one-sided rows only those take part that are crossed, or that push
//! already; more come in as the motion turns out to cross them.

use super::soft::SoftLower;
use super::{IslandWork, StepConfig};
use crate::rows::{Ask, HalfRow, Rows, Seen, Stage, ask};
use crate::solve::{Jointed, JointedScratch, Lower, Problem, Upper, UpperReport, UpperRows, UpperWork, Work};
use crate::solve::{larger, solve_upper};

/// Scratch of the two levels.
#[derive(Default)]
pub(crate) struct Levels {
    /// Rows above, by number.
    above: Vec<usize>,
    rows: UpperRows,
    asks: Vec<Ask>,
    force: Vec<f64>,
    upper: Upper,
    jointed: JointedScratch,
    /// What the multipliers above did before, and how the lower rows answered.
    before: Vec<[f64; 6]>,
    reaction: Vec<f64>,
    /// The rows above are those of the last solve, or more.
    kept: bool,
    /// What the last solve of the upper level tells.
    pub report: UpperReport,
}

/// What came of the rows that may let go: limits, motors with a largest force, hands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitsReport {
    /// Most of them that took part at once.
    pub rows: usize,
    /// Complementarity: the largest distance of one from its law, in metres or radians over the substep. A limit is crossed,
    /// or pushes though it is not reached; a motor falls short of its aim though it has force left. Where solids touch, the
    /// speeds of all of these are in the contacts' own residual.
    pub residual: f64,
}

impl LimitsReport {
    /// The worse of both.
    pub fn worse(&self, other: &Self) -> Self {
        Self { rows: self.rows.max(other.rows), residual: larger(self.residual, other.residual) }
    }

    pub(super) fn add(&mut self, other: &Self) {
        *self = Self { rows: self.rows + other.rows, ..self.worse(other) };
    }
}

impl IslandWork {
    /// Takes the last solve of the upper level into the receipt; `unit` makes metres or radians over the substep of what it
    /// was solved for.
    pub fn note_limits(&mut self, unit: f64) {
        let report = &self.levels.report;
        let now = LimitsReport { rows: report.rows, residual: unit * report.residual };
        self.limits = self.limits.worse(&now);
    }

    /// Takes into the receipt how far rows above are from what they may be, by what is in `b`.
    pub fn note_open_limits(&mut self) {
        let above = self.b.iter().zip(&self.below).filter(|(_, below)| !**below);
        let residual = above.fold(0.0, |most, (b, _)| larger(most, b.abs()));
        self.limits = self.limits.worse(&LimitsReport { rows: 0, residual });
    }

    /// Derives what all rows ask in this stage.
    pub fn ask(&mut self, stage: &Stage, seen: impl Fn(&Rows, usize, usize) -> Seen) {
        self.asks.clear();
        for (k, g) in self.rows.groups.iter().enumerate() {
            self.asks.extend(g.range().map(|r| {
                let mut seen = seen(&self.rows, k, r);
                if g.most_force.is_finite() {
                    seen.mobility = super::work::mobility(&self.rows, &self.masses, g, r);
                }
                ask(g, &seen, stage)
            }));
        }
    }

    /// Factors the rows that hold in any case, by what is asked. Whatever is let go or taken on later changes nothing.
    pub fn factor_lower(&mut self, c: &StepConfig) {
        let clock = self.start(c);
        self.below.clear();
        self.below.extend(self.asks.iter().map(Ask::always_holds));
        self.levels.forget_factor();
        let all = self.below.iter().all(|x| *x);
        self.rows.softness.clear();
        if self.asks.iter().any(|a| a.give > 0.0 && a.always_holds()) || !self.shift.is_empty() {
            let give = |a: &Ask| if a.always_holds() { a.give } else { 0.0 };
            self.rows.softness.extend(self.asks.iter().map(give));
            super::work::add_shift(&mut self.rows, &self.shift);
        }
        let Some((_, solver)) = &mut self.solver else { return };
        let active: &[bool] = if all { &[] } else { &self.below };
        solver.factor(&Problem { rows: &self.rows, masses: &self.masses, active, damping: None });
        self.forget();
        self.stop(c, clock, |s| &mut s.factor);
    }

    /// The multipliers that give what is asked, of all rows: `lambda` comes in as what acts already and goes out as what
    /// acts then; `dq` is the motion of the difference. The lower rows are factored. Returns iterations of the solver.
    pub fn solve_asks(&mut self, c: &StepConfig, tolerance: f64) -> usize {
        let clock = self.start(c);
        let solids = self.masses.len();
        self.dq.clear();
        self.dq.resize(solids, [0.0; 6]);
        let iterations = self.solve_lower(c, tolerance);
        if self.has_above() {
            self.solve_above(c, tolerance);
        }
        self.stop(c, clock, |s| &mut s.solve);
        iterations + self.levels.report.responses
    }

    /// The rows below alone.
    fn solve_lower(&mut self, c: &StepConfig, tolerance: f64) -> usize {
        let n = self.rows.len();
        self.b.clear();
        for r in 0..n {
            let (a, below) = (&self.asks[r], self.below[r]);
            self.b.push(if below { a.low - a.give * self.lambda[r] } else { 0.0 });
        }
        self.delta.clear();
        self.delta.resize(n, 0.0);
        let iterations = if self.exact { 3 } else { c.solver_iterations };
        let work = Work { iterations, tolerance, out_of_time: c.out_of_time };
        let Some((_, solver)) = &mut self.solver else { return 0 };
        let report = solver.solve(&self.b, &mut self.delta, &work);
        self.rows.apply_transposed(&self.delta, &self.masses, &mut self.dq);
        self.lambda.iter_mut().zip(&self.delta).for_each(|(l, d)| *l += d);
        report.iterations
    }

    /// Do rows above take part? Asks and multipliers are those of the stage.
    pub fn has_above(&mut self) -> bool {
        self.levels.report = UpperReport::default();
        self.levels.choose(&self.rows, &self.below, &self.asks, &self.lambda)
    }

    /// Adds the rows above, which take part, to an answer of those below: `delta` holds that, in the units of `lambda` as it
    /// stands.
    pub fn add_above(&mut self, c: &StepConfig, tolerance: f64) -> usize {
        let clock = self.start(c);
        self.dq.clear();
        self.dq.resize(self.masses.len(), [0.0; 6]);
        self.rows.apply_transposed(&self.delta, &self.masses, &mut self.dq);
        self.lambda.iter_mut().zip(&self.delta).for_each(|(l, d)| *l += d);
        self.solve_above(c, tolerance);
        self.stop(c, clock, |s| &mut s.solve);
        self.levels.report.responses
    }

    /// The rows above, over the response of those below.
    fn solve_above(&mut self, c: &StepConfig, tolerance: f64) {
        let Some((_, solver)) = &mut self.solver else { return };
        let (rows, l) = (&self.rows, &mut self.levels);
        let cost = 50.0 * rows.len() as f64;
        let mut jointed = std::mem::take(&mut l.jointed);
        let rest = Jointed::new(
            solver.as_mut(),
            rows,
            &self.masses,
            &self.below,
            &rows.softness,
            cost,
            &mut jointed,
        );
        let mut lower = SoftLower { rest, soft: &mut self.soft };
        let work = UpperWork {
            work: Work { iterations: c.solver_iterations, tolerance, out_of_time: c.out_of_time },
            ..UpperWork::default()
        };
        l.react_to_before(&mut lower, rows, &self.lambda, &work);
        loop {
            l.lay(rows, &self.asks, &self.lambda, &self.dq);
            let responses = l.report.responses;
            l.report = solve_upper(&mut lower, &l.rows, &l.asks, &mut l.force, &mut l.upper, &work);
            l.report.responses += responses;
            if !l.take_on_crossed(rows, &self.below, &self.asks, &self.dq)
                || c.out_of_time.is_some_and(|f| f())
            {
                break;
            }
        }
        for (q, (x, before)) in self.dq.iter_mut().zip(l.upper.motion.iter().zip(&l.before)) {
            for k in 0..6 {
                q[k] += x[k] - before[k];
            }
        }
        for (r, (now, before)) in l.upper.inner.iter().zip(&l.reaction).enumerate() {
            self.lambda[r] += now - before;
        }
        for (r, f) in l.above.iter().zip(&l.force) {
            self.lambda[*r] = *f;
        }
        l.jointed = jointed;
    }
}

impl Levels {
    /// Which rows take part must not depend on what was solved before.
    pub fn forget(&mut self) {
        self.kept = false;
    }

    /// Rows or factor are others: the response to each row above is another one, too.
    pub fn forget_factor(&mut self) {
        self.kept = false;
        self.upper.forget();
    }

    /// Rows above that take part: limited forces, and bounds that are crossed or push. False: none does.
    fn choose(&mut self, rows: &Rows, below: &[bool], asks: &[Ask], lambda: &[f64]) -> bool {
        if !std::mem::replace(&mut self.kept, true) {
            self.above.clear();
        }
        let known = self.above.len();
        // Plain ball joints are below.
        for r in rows.others().flat_map(|g| g.range()) {
            let a = &asks[r];
            let acts =
                lambda[r] != 0.0 || (!a.is_nothing() && (a.low == a.high || a.low > 0.0 || a.high < 0.0));
            if !below[r] && acts && self.above[..known].binary_search(&r).is_err() {
                self.above.push(r);
            }
        }
        // In order, so that the numbers do not depend on who came first.
        self.above.sort_unstable();
        !self.above.is_empty()
    }

    /// What the multipliers above do already: the upper level is solved for all of them, not for a correction.
    fn react_to_before(&mut self, lower: &mut dyn Lower, rows: &Rows, lambda: &[f64], work: &UpperWork) {
        self.before.clear();
        self.reaction.clear();
        self.write_rows(rows, lambda);
        if self.force.iter().any(|f| *f != 0.0) {
            self.report.responses += self.upper.respond(lower, &self.rows, &self.force, work);
            self.before.extend_from_slice(&self.upper.motion);
            self.reaction.extend_from_slice(&self.upper.inner);
        } else {
            self.before.resize(lower.solids(), [0.0; 6]);
            self.reaction.resize(rows.len(), 0.0);
        }
    }

    /// The rows above and their multipliers.
    fn write_rows(&mut self, rows: &Rows, lambda: &[f64]) {
        self.rows.clear();
        self.force.clear();
        for &r in &self.above {
            self.force.push(lambda[r]);
            self.rows.push_named(r, &ends(rows, r));
        }
    }

    /// Writes the upper problem.
    fn lay(&mut self, rows: &Rows, asks: &[Ask], lambda: &[f64], dq: &[[f64; 6]]) {
        self.write_rows(rows, lambda);
        self.asks.clear();
        for (k, &r) in self.above.iter().enumerate() {
            let had = self.rows.change(k, dq) - self.rows.change(k, &self.before);
            self.asks.push(Ask { low: asks[r].low - had, high: asks[r].high - had, ..asks[r] });
        }
    }

    /// Bounds that the motion would cross take part from here on. True when there are any.
    fn take_on_crossed(&mut self, rows: &Rows, below: &[bool], asks: &[Ask], dq: &[[f64; 6]]) -> bool {
        let had = self.above.len();
        for r in rows.others().flat_map(|g| g.range()) {
            let a = &asks[r];
            if below[r] || a.is_nothing() || self.above[..had].binary_search(&r).is_ok() {
                continue;
            }
            let moved = |x: &[[f64; 6]]| {
                let [i, j] = rows.solids(r);
                rows.along(r, [&x[i], &x[j]])
            };
            let x = moved(dq) + moved(&self.upper.motion) - moved(&self.before);
            let slack = 1e-9 * (1.0 + a.low.abs().min(a.high.abs()));
            if x < a.low - slack || x > a.high + slack {
                self.above.push(r);
            }
        }
        self.above.sort_unstable();
        self.above.len() != had
    }
}

/// The two ends of a row.
fn ends(rows: &Rows, r: usize) -> [(usize, HalfRow); 2] {
    let [a, b] = rows.row(r);
    let [i, j] = rows.solids(r);
    [(i, a), (j, b)]
}
