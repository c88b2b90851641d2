//! `sparse-direct`: block-sparse `L D L^T`, exact, linear in the size of chains and ladders. The default of `auto`.
//!
//! Islands are independent systems and are factored side by side; the answer does not depend on how many threads do it,
//! because no sum crosses an island.

use super::sparse::{Numeric, Shape, Symbolic};
use super::{LinearSolver, Problem, Scaled, SolveReport, Stop, TINY, Work, largest};
use crate::graph::Sets;
use crate::rows::{Group, Masses, Rows};

/// See the module.
#[derive(Clone, Default)]
pub struct SparseDirect {
    w: Scaled,
    parts: Vec<Part>,
    /// The pattern that was analysed: per group the solids, first row and row count.
    pattern: Vec<([usize; 2], usize, usize)>,
    moves: Vec<bool>,
    /// No damping was asked for.
    exact: bool,
    /// Dependent rows that the factorisation left out.
    vanished: usize,
    residual: Vec<f64>,
    step: Vec<f64>,
    y: Vec<[f64; 6]>,
}

/// One island.
#[derive(Clone, Default)]
struct Part {
    groups: Vec<Group>,
    symbolic: Symbolic,
    numeric: Numeric,
    vanished: usize,
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
            && rows.groups.iter().zip(&self.pattern).all(|(g, p)| (g.solids, g.first, g.count) == *p)
            && self.moves.iter().enumerate().all(|(i, m)| *m == masses.moves(i))
    }

    fn refactor(&mut self, shift: f64) {
        let w = &self.w;
        super::parallel::each(
            &mut self.parts,
            |part| part.symbolic.flops,
            |part| part.vanished = part.numeric.factor(&part.symbolic, w, &part.groups, shift),
        );
        self.vanished = self.parts.iter().map(|p| p.vanished).sum();
    }

    /// Corrects `lambda` by solves for what is left, as long as that helps. `residual` is current before and after.
    fn refine(
        &mut self,
        b: &[f64],
        lambda: &mut [f64],
        rounds: usize,
        work: &Work,
        report: &mut SolveReport,
    ) {
        for round in 0..rounds {
            if report.residual <= work.tolerance {
                break;
            }
            if work.is_over() {
                report.stop = Stop::Time;
                return;
            }
            let mut step = std::mem::take(&mut self.step);
            for part in &mut self.parts {
                part.numeric.solve(&part.symbolic, &part.groups, &self.residual, &mut step);
            }
            lambda.iter_mut().zip(&step).for_each(|(l, s)| *l += s);
            let left = self.residual(b, lambda);
            report.iterations += 1;
            if !(left < report.residual) && (round > 0 || !left.is_finite()) {
                // No better: what is left is out of reach, or rounding.
                lambda.iter_mut().zip(&step).for_each(|(l, s)| *l -= s);
                self.step = step;
                report.residual = self.residual(b, lambda);
                report.stop = Stop::LeastSquares;
                return;
            }
            self.step = step;
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

    /// `residual = b - A lambda`, on active rows.
    fn residual(&mut self, b: &[f64], lambda: &[f64]) -> f64 {
        self.y.fill([0.0; 6]);
        self.w.gather(lambda, &mut self.y);
        self.w.scatter(&self.y, &mut self.residual);
        self.w.soften(lambda, &mut self.residual);
        for ((r, b), active) in self.residual.iter_mut().zip(b).zip(&self.w.active) {
            *r = if *active { b - *r } else { 0.0 };
        }
        largest(&self.residual)
    }
}

impl LinearSolver for SparseDirect {
    fn analyse(&mut self, rows: &Rows, masses: &Masses) {
        if self.is_current(rows, masses) {
            return;
        }
        self.pattern = rows.groups.iter().map(|g| (g.solids, g.first, g.count)).collect();
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
                self.parts.push(Part::default());
            }
            self.parts[part_of[root]].groups.push(*g);
        }
        for part in &mut self.parts {
            part.symbolic = Symbolic::new(&Shape { groups: &part.groups, moves: &self.moves });
            part.numeric.resize(&part.symbolic);
        }
        let n = rows.len();
        self.residual.resize(n, 0.0);
        self.step.resize(n, 0.0);
    }

    fn factor(&mut self, p: &Problem) {
        self.analyse(p.rows, p.masses);
        self.w.fill(p);
        self.y.resize(self.w.width, [0.0; 6]);
        self.exact = p.damping.is_none();
        self.refactor(p.damping.unwrap_or(0.0) * self.w.mean_diagonal);
    }

    /// First with the exact factorisation, in which dependent rows are left out: as good as it gets when the rows are
    /// consistent. If they are not, once more with the regularised matrix, whose refinement tends to least squares.
    fn solve(&mut self, b: &[f64], lambda: &mut [f64], work: &Work) -> SolveReport {
        for (l, active) in lambda.iter_mut().zip(&self.w.active) {
            if !*active || !self.exact {
                *l = 0.0;
            }
        }
        // A warm start is trusted only if it is better than nothing.
        let cold =
            b.iter().zip(&self.w.active).fold(0.0, |m: f64, (b, a)| if *a { m.max(b.abs()) } else { m });
        let warm = if lambda.iter().all(|l| *l == 0.0) { f64::INFINITY } else { self.residual(b, lambda) };
        if !(warm < 0.999 * cold) {
            lambda.fill(0.0);
            for ((r, b), a) in self.residual.iter_mut().zip(b).zip(&self.w.active) {
                *r = if *a { *b } else { 0.0 };
            }
        }
        let mut report =
            SolveReport { residual: largest(&self.residual), iterations: 0, stop: Stop::Iterations };
        let rounds = if self.exact { work.iterations.clamp(1, 4) } else { 1 };
        self.refine(b, lambda, rounds, work, &mut report);
        let conflict = report.residual > 1e-9 * cold && report.residual > work.tolerance;
        if self.exact && self.vanished > 0 && conflict && report.stop != Stop::Time && work.iterations > 1 {
            self.refactor(TINY * self.w.mean_diagonal);
            lambda.fill(0.0);
            report.residual = self.residual(b, lambda);
            self.refine(b, lambda, 4, work, &mut report);
            if report.stop == Stop::Iterations {
                report.stop = Stop::LeastSquares;
            }
        }
        report
    }

    fn name(&self) -> &'static str {
        "sparse-direct"
    }
}
