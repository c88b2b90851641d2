//! `sparse-direct`: block-sparse `L D L^T`, exact, linear in the size of chains and ladders. The default of `auto`.
//!
//! Islands are independent systems and are factored side by side; the answer does not depend on how many threads do it,
//! because no sum crosses an island.

use super::sparse::{Diagonal, Numeric, Pivots, Shape, Symbolic};
use super::{LinearSolver, Problem, SolveReport, Stop, TINY, Work, larger};
use crate::graph::Sets;
use crate::rows::{Group, Masses, Rows};

/// See the module.
#[derive(Clone, Default)]
pub struct SparseDirect {
    parts: Vec<Part>,
    /// The pattern that was analysed.
    pattern: Vec<Pattern>,
    moves: Vec<bool>,
    /// Rows that take part. Empty: all.
    active: Vec<bool>,
    /// What soft rows add to the diagonal, zero where they do not take part. Empty: no row is soft.
    softness: Vec<f64>,
    /// No damping was asked for.
    exact: bool,
    /// Dependent rows that the factorisation left out, and the smallest pivot of the others.
    pivots: Pivots,
    /// A conflict replaced the exact factor by a regularised one.
    regularised: bool,
}

/// What the analysis knows of a block: its solids, which of them turn, first row and row count.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pattern {
    solids: [u32; 2],
    first: u32,
    count: u16,
    turns: [bool; 2],
}

impl Pattern {
    fn of(g: &Group) -> Self {
        let solids = g.solids.map(|s| s as u32);
        Self { solids, first: g.first as u32, count: g.count as u16, turns: g.turns }
    }
}

/// One island.
#[derive(Clone, Default)]
struct Part {
    groups: Vec<Group>,
    symbolic: Symbolic,
    numeric: Numeric,
    pivots: Pivots,
}

impl SparseDirect {
    /// Not analysed yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Predicted multiplications of one factorisation, and entries of the factor.
    pub fn predicted(&self) -> (f64, f64) {
        self.parts.iter().fold((0.0, 0.0), |(f, n), p| (f + p.symbolic.flops, n + p.symbolic.fill))
    }

    fn is_current(&self, rows: &Rows, masses: &Masses) -> bool {
        self.pattern.len() == rows.groups.len()
            && self.moves.len() == masses.len()
            && super::parallel::all_pairs(&rows.groups, &self.pattern, |g, p| Pattern::of(g) == *p)
            && self.moves.iter().enumerate().all(|(i, m)| *m == masses.moves(i))
    }

    /// A factor answers by itself where no row depends on others, or where what it is asked is within reach of the rows.
    fn can_substitute(&self, consistent: bool) -> bool {
        self.exact && (consistent || !(self.regularised || self.pivots.vanished > 0))
    }

    /// With new rows, or with those of the last time.
    fn refactor(&mut self, p: Option<&Problem>, damping: f64) {
        let d = &Diagonal { active: &self.active, softness: &self.softness, damping };
        let p = p.map(|p| Problem { active: d.active, ..*p });
        super::parallel::each(
            &mut self.parts,
            |part| part.symbolic.flops,
            |part| part.pivots = part.numeric.factor(&part.symbolic, p.as_ref(), d),
        );
        self.pivots = self.parts.iter().fold(Pivots::default(), |all, p| all.and(p.pivots));
        self.regularised = self.exact && damping != 0.0;
    }

    /// Corrects the answer by solves for what is left, as long as that helps. The residual is current before and after.
    fn refine(&mut self, rounds: usize, work: &Work, report: &mut SolveReport) {
        for round in 0..rounds {
            if report.residual <= work.tolerance {
                break;
            }
            if work.is_over() {
                report.stop = Stop::Time;
                return;
            }
            let d = &Diagonal { active: &self.active, softness: &self.softness, damping: 0.0 };
            self.parts.iter_mut().for_each(|p| p.numeric.correct(&p.symbolic, d));
            let left = self.residual();
            report.iterations += 1;
            if !(left < report.residual) && (round > 0 || !left.is_finite()) {
                // No better: what is left is out of reach, or rounding.
                self.parts.iter_mut().for_each(|p| p.numeric.undo(&p.symbolic));
                report.residual = self.residual();
                report.stop = Stop::LeastSquares;
                return;
            }
            let stalled = left > 0.5 * report.residual && round > 0;
            report.residual = left;
            if stalled {
                report.stop = Stop::LeastSquares;
                return;
            }
        }
        if report.residual <= work.tolerance {
            report.stop = Stop::Tolerance;
        }
    }

    /// Brings the residual `b - A lambda` up to date. Tells its largest entry.
    fn residual(&mut self) -> f64 {
        let d = &Diagonal { active: &self.active, softness: &self.softness, damping: 0.0 };
        self.parts.iter_mut().fold(0.0, |m, p| larger(m, p.numeric.measure(&p.symbolic, d)))
    }
}

impl LinearSolver for SparseDirect {
    fn analyse(&mut self, rows: &Rows, masses: &Masses) {
        if self.is_current(rows, masses) {
            return;
        }
        self.pattern = rows.groups.iter().map(Pattern::of).collect();
        self.moves = (0..masses.len()).map(|i| masses.moves(i)).collect();
        let mut sets = Sets::new(masses.len());
        let ends = |g: &Group| g.solids.map(|s| masses.moves(s).then_some(s));
        for g in &rows.groups {
            if let [Some(a), Some(b)] = ends(g) {
                sets.join(a, b);
            }
        }
        let mut part_of = vec![usize::MAX; masses.len()];
        self.parts.clear();
        for g in &rows.groups {
            // Rows between solids that cannot move form a system of their own: a unit each.
            let root = ends(g).into_iter().flatten().next().map_or(0, |s| sets.find(s));
            if part_of[root] == usize::MAX {
                part_of[root] = self.parts.len();
                // Usually there is one.
                let room = if self.parts.is_empty() { rows.groups.len() } else { 0 };
                self.parts.push(Part { groups: Vec::with_capacity(room), ..Part::default() });
            }
            self.parts[part_of[root]].groups.push(*g);
        }
        for part in &mut self.parts {
            part.symbolic = Symbolic::new(&Shape { groups: &part.groups, moves: &self.moves });
            part.numeric.resize(&part.symbolic);
        }
        self.active.clear();
        self.active.reserve(rows.len());
    }

    fn factor(&mut self, p: &Problem) {
        self.analyse(p.rows, p.masses);
        self.active.clear();
        if p.active.iter().any(|a| !a) {
            self.active.extend_from_slice(p.active);
        }
        self.softness.clear();
        self.softness.extend_from_slice(&p.rows.softness);
        for (s, a) in self.softness.iter_mut().zip(&self.active) {
            *s = if *a { *s } else { 0.0 };
        }
        self.exact = p.damping.is_none();
        self.refactor(Some(p), p.damping.unwrap_or(0.0));
    }

    /// First with the exact factorisation, in which dependent rows are left out: as good as it gets when the rows are
    /// consistent. If they are not, once more with the regularised matrix, whose refinement tends to least squares.
    fn solve(&mut self, b: &[f64], lambda: &mut [f64], work: &Work) -> SolveReport {
        let active = &self.active;
        let cold = self.parts.iter_mut().fold(0.0, |m, p| larger(m, p.numeric.start(&p.symbolic, active, b)));
        // A warm start is trusted only if it is better than nothing.
        let mut report = SolveReport { residual: cold, iterations: 0, stop: Stop::Iterations };
        let mut warm = false;
        if self.exact && lambda.iter().any(|l| *l != 0.0) {
            self.parts.iter_mut().for_each(|p| p.numeric.guess(&p.symbolic, active, lambda));
            let left = self.residual();
            warm = left < 0.999 * cold;
            if warm {
                report.residual = left;
            }
        }
        if !warm {
            self.parts.iter_mut().for_each(|p| p.numeric.restart(&p.symbolic));
        }
        if !self.regularised {
            let rounds = if self.exact { work.iterations.clamp(1, 4) } else { 1 };
            self.refine(rounds, work, &mut report);
            let conflict = report.residual > 1e-9 * cold && report.residual > work.tolerance;
            let may =
                self.exact && self.pivots.vanished > 0 && report.stop != Stop::Time && work.iterations > 1;
            if may && conflict {
                self.refactor(None, TINY);
                self.parts.iter_mut().for_each(|p| p.numeric.restart(&p.symbolic));
                report.residual = cold;
            }
        }
        if self.regularised {
            self.refine(4, work, &mut report);
            if report.stop == Stop::Iterations {
                report.stop = Stop::LeastSquares;
            }
        }
        for p in &self.parts {
            p.numeric.answer(&p.symbolic, lambda);
        }
        report
    }

    fn substitute(&mut self, b: &[f64], lambda: &mut [f64], consistent: bool) -> bool {
        if !self.can_substitute(consistent) {
            return false;
        }
        for p in &mut self.parts {
            p.numeric.substitute(&p.symbolic, &self.active, b, lambda);
        }
        true
    }

    fn substitute_four(&mut self, b: &[[f64; 4]], lambda: &mut [[f64; 4]], consistent: bool) -> bool {
        if !self.can_substitute(consistent) {
            return false;
        }
        for p in &mut self.parts {
            p.numeric.substitute_columns(&p.symbolic, &self.active, b, lambda);
        }
        true
    }

    fn has_changed(&self) -> bool {
        self.regularised
    }

    fn least_pivot(&self) -> f64 {
        self.pivots.least
    }

    fn left_out(&self) -> usize {
        self.pivots.vanished
    }

    fn name(&self) -> &'static str {
        "sparse-direct"
    }
}
