//! Two levels in every stage of every method: below what always holds, factored once; above what may let go.
//!
//! A stage derives what it asks of each row (`rows/ask.rs`). Equalities that may take any force, soft ones included, are the
//! lower level: one factorisation, whatever the rest does. One-sided rows and limited forces are the upper one, solved over
//! the response of the lower (`solve/upper.rs`). Of the one-sided rows only those take part that are crossed, or that push
//! already; more come in as the motion turns out to cross them.

use super::{IslandWork, StepConfig};
use crate::rows::{Ask, HalfRow, Rows, Seen, Stage, ask, dot6};
use crate::solve::solve_upper;
use crate::solve::{Jointed, JointedScratch, Lower, Problem, Upper, UpperReport, UpperRows, UpperWork, Work};

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
    push: Vec<[f64; 6]>,
    reaction: Vec<f64>,
    /// The matrix of the upper rows belongs to these rows and this factor.
    known: bool,
    /// What the last solve of the upper level tells.
    pub report: UpperReport,
}

impl IslandWork {
    /// Derives what all rows ask in this stage.
    pub fn ask(&mut self, stage: &Stage, seen: impl Fn(&Rows, usize, usize) -> Seen) {
        self.asks.clear();
        for (k, g) in self.rows.groups.iter().enumerate() {
            self.asks.extend(g.range().map(|r| ask(g, &seen(&self.rows, k, r), stage)));
        }
    }

    /// Factors the rows that hold in any case, by what is asked. Whatever is let go or taken on later changes nothing.
    pub fn factor_lower(&mut self, c: &StepConfig) {
        let clock = self.start(c);
        self.below.clear();
        self.below.extend(self.asks.iter().map(Ask::always_holds));
        self.levels.known = false;
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
        self.levels.report = UpperReport::default();
        if self.below.iter().any(|b| !b) {
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

    /// Adds the rows above to an answer of those below: `delta` holds that, in the units of `lambda` as it stands.
    pub fn add_above(&mut self, c: &StepConfig, tolerance: f64) -> usize {
        let clock = self.start(c);
        self.dq.clear();
        self.dq.resize(self.masses.len(), [0.0; 6]);
        self.rows.apply_transposed(&self.delta, &self.masses, &mut self.dq);
        self.lambda.iter_mut().zip(&self.delta).for_each(|(l, d)| *l += d);
        self.levels.report = UpperReport::default();
        self.solve_above(c, tolerance);
        self.stop(c, clock, |s| &mut s.solve);
        self.levels.report.responses
    }

    /// The rows above, over the response of those below.
    fn solve_above(&mut self, c: &StepConfig, tolerance: f64) {
        let Some((_, solver)) = &mut self.solver else { return };
        let (rows, l) = (&self.rows, &mut self.levels);
        l.choose(&self.below, &self.asks, &self.lambda);
        if l.above.is_empty() {
            return;
        }
        let cost = 50.0 * rows.len() as f64;
        let mut jointed = std::mem::take(&mut l.jointed);
        let mut lower = Jointed::new(
            solver.as_mut(),
            rows,
            &self.masses,
            &self.below,
            &rows.softness,
            cost,
            &mut jointed,
        );
        let work = UpperWork {
            work: Work { iterations: c.solver_iterations, tolerance, out_of_time: c.out_of_time },
            ..UpperWork::default()
        };
        l.react_to_before(&mut lower, rows, &self.below, &self.lambda);
        loop {
            l.lay(rows, &self.asks, &self.lambda, &self.dq);
            let work = UpperWork { known: l.known, ..work };
            l.report = solve_upper(&mut lower, &l.rows, &l.asks, &mut l.force, &mut l.upper, &work);
            l.known = true;
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
        for (r, (now, before)) in lower.reaction().iter().zip(&l.reaction).enumerate() {
            self.lambda[r] += now - before;
        }
        for (r, f) in l.above.iter().zip(&l.force) {
            self.lambda[*r] = *f;
        }
        l.jointed = jointed;
    }
}

impl Levels {
    /// Rows or factor are others.
    pub fn forget(&mut self) {
        self.known = false;
    }

    /// Rows above that take part: limited forces, and bounds that are crossed or push.
    fn choose(&mut self, below: &[bool], asks: &[Ask], lambda: &[f64]) {
        let before = self.above.len();
        if !self.known {
            self.above.clear();
        }
        for (r, a) in asks.iter().enumerate() {
            let acts = a.low == a.high || lambda[r] != 0.0 || a.low > 0.0 || a.high < 0.0;
            if !below[r] && !a.is_nothing() && acts && self.above.binary_search(&r).is_err() {
                self.above.push(r);
                // In order, so that the numbers do not depend on who came first.
                self.above.sort_unstable();
            }
        }
        self.known &= self.above.len() == before;
    }

    /// What the multipliers above do already: the upper level is solved for all of them, not for a correction.
    fn react_to_before(&mut self, lower: &mut Jointed, rows: &Rows, below: &[bool], lambda: &[f64]) {
        for v in [&mut self.before, &mut self.push] {
            v.clear();
            v.resize(lower.solids(), [0.0; 6]);
        }
        self.reaction.clear();
        self.reaction.resize(rows.len(), 0.0);
        let mut any = false;
        for (r, l) in lambda.iter().enumerate().filter(|(r, l)| **l != 0.0 && !below[*r]) {
            any = true;
            for (solid, half) in ends(rows, r) {
                self.push[solid].iter_mut().zip(&half).for_each(|(f, j)| *f += j * l);
            }
        }
        if any {
            lower.respond(&self.push, &mut self.before);
            self.reaction.copy_from_slice(lower.reaction());
        }
    }

    /// Writes the upper problem.
    fn lay(&mut self, rows: &Rows, asks: &[Ask], lambda: &[f64], dq: &[[f64; 6]]) {
        self.rows.clear();
        self.asks.clear();
        self.force.clear();
        for &r in &self.above {
            let ends = ends(rows, r);
            let had: f64 = ends.iter().map(|(s, j)| dot6(j, &dq[*s]) - dot6(j, &self.before[*s])).sum();
            self.asks.push(Ask { low: asks[r].low - had, high: asks[r].high - had, ..asks[r] });
            self.force.push(lambda[r]);
            self.rows.push(&ends);
        }
    }

    /// Bounds that the motion would cross take part from here on. True when there are any.
    fn take_on_crossed(&mut self, rows: &Rows, below: &[bool], asks: &[Ask], dq: &[[f64; 6]]) -> bool {
        let had = self.above.len();
        for (r, a) in asks.iter().enumerate() {
            if below[r] || a.is_nothing() || self.above[..had].binary_search(&r).is_ok() {
                continue;
            }
            let x: f64 = ends(rows, r)
                .iter()
                .map(|(s, j)| dot6(j, &dq[*s]) + dot6(j, &self.upper.motion[*s]) - dot6(j, &self.before[*s]))
                .sum();
            let slack = 1e-9 * (1.0 + a.low.abs().min(a.high.abs()));
            if x < a.low - slack || x > a.high + slack {
                self.above.push(r);
            }
        }
        self.above.sort_unstable();
        self.known &= self.above.len() == had;
        self.above.len() != had
    }
}

/// The two ends of a row.
fn ends(rows: &Rows, r: usize) -> [(usize, HalfRow); 2] {
    let [a, b] = rows.row(r);
    let [i, j] = rows.solids(r);
    [(i, a), (j, b)]
}
