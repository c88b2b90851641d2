//! Two constraint ranks (Faure 1999, section 3.4): primary rows exactly, secondary rows as well as those leave free.
//!
//! With `P = 1 - M^-1 J1^T A11^-1 J1` the displacements that keep rank 1, the secondary rows solve
//! `min |J2 (x1 + P x) - b2|` in the mass metric: LSMR on `B = S J2 P C`, each product one solve with the primary
//! system by whatever solver it has. The reduced matrix of the paper's Eq. 13 is `B B^T`; where it is small (a few hands)
//! and the primary system has an exact factor, it is formed and solved instead. Conflicting secondary rows share the
//! error, by their visual weight `S^2`; the displacement stays bounded at any iteration count.

use super::krylov::{Rectangular, Scratch, lsmr};
use super::{LinearSolver, Problem, Scaled, SolveReport, Stop, Work, largest};
use crate::rows::{Masses, Rows};

/// Up to so many secondary rows the reduced matrix is formed: three for a hand that pins a point.
const FEW: usize = 24;

/// Scratch of a two-rank solve.
#[derive(Clone, Default)]
pub struct Ranked {
    /// Displacement per solid.
    pub dq: Vec<[f64; 6]>,
    /// What pushes along each secondary row; zero for the others.
    pub push: Vec<f64>,
    primary: Vec<bool>,
    secondary: Vec<usize>,
    w: Scaled,
    scratch: Scratch,
}

/// What a two-rank solve left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedReport {
    /// Largest primary `|J1 dq - b1|`.
    pub primary: f64,
    /// Largest secondary `|J2 dq - b2|`.
    pub secondary: f64,
    /// Receipt of the secondary iteration.
    pub solve: SolveReport,
}

struct Reduced<'a> {
    solver: &'a mut dyn LinearSolver,
    w: &'a Scaled,
    primary: &'a [bool],
    secondary: &'a [usize],
    root_weight: &'a [f64],
    full: Vec<f64>,
    along: Vec<f64>,
    lambda: Vec<f64>,
    y: Vec<[f64; 6]>,
    inner: Work<'a>,
}

impl Reduced<'_> {
    /// `y -= W1^T A11^-1 W1 y`: takes out what would break rank 1. Twice, because one projection of a vector that is
    /// nearly all broken leaves its rounding behind.
    fn project(&mut self) {
        for _ in 0..2 {
            self.w.scatter(&self.y, &mut self.along);
            for (a, p) in self.along.iter_mut().zip(self.primary) {
                *a = if *p { -*a } else { 0.0 };
            }
            // Within reach: it is a motion along the rows.
            primary(self.solver, &self.along, &mut self.lambda, true, &self.inner);
            self.w.gather(&self.lambda, &mut self.y);
        }
    }

    /// The primary system has an exact factor.
    fn is_exact(&mut self) -> bool {
        self.along.fill(0.0);
        self.solver.substitute(&self.along, &mut self.lambda, true)
    }

    /// Forces on the secondary rows by the reduced matrix itself: `(B B^T + damp^2) mu = left`, directions that nothing
    /// can move left out. `None` when it has no spectrum.
    fn direct(&mut self, left: &[f64], damp: f64) -> Option<Vec<f64>> {
        let (k, width) = (left.len(), 6 * self.w.width);
        let mut b = faer::Mat::<f64>::zeros(width, k);
        let (mut unit, mut y) = (vec![0.0; k], vec![0.0; width]);
        for i in 0..k {
            unit[i] = 1.0;
            self.transpose(&unit, &mut y);
            unit[i] = 0.0;
            b.col_mut(i).iter_mut().zip(&y).for_each(|(b, y)| *b = *y);
        }
        let spectrum = (b.transpose() * &b).self_adjoint_eigen(faer::Side::Lower).ok()?;
        let (s, u) = (spectrum.S().column_vector(), spectrum.U());
        let most = (0..k).fold(0.0, |m: f64, j| m.max(s[j]));
        let least = (1e-14 * most).max(1e-18 * self.w.mean_diagonal);
        let mut mu = vec![0.0; k];
        for j in (0..k).filter(|j| s[*j] > least) {
            let along: f64 = (0..k).map(|i| u[(i, j)] * left[i]).sum();
            let by = along / (s[j] + damp * damp);
            mu.iter_mut().enumerate().for_each(|(i, m)| *m += u[(i, j)] * by);
        }
        mu.iter().all(|m| m.is_finite()).then_some(mu)
    }
}

/// `lambda = A11^-1 b`, by the factor alone where there is an exact one: what that leaves is looked at in the end.
fn primary(solver: &mut dyn LinearSolver, b: &[f64], lambda: &mut [f64], consistent: bool, inner: &Work) {
    lambda.fill(0.0);
    if !solver.substitute(b, lambda, consistent) {
        solver.solve(b, lambda, inner);
    }
}

impl Rectangular for Reduced<'_> {
    fn transpose(&mut self, u: &[f64], y: &mut [f64]) {
        self.full.fill(0.0);
        for ((r, s), u) in self.secondary.iter().zip(self.root_weight).zip(u) {
            self.full[*r] = s * u;
        }
        self.y.fill([0.0; 6]);
        self.w.gather(&self.full, &mut self.y);
        self.project();
        y.copy_from_slice(self.y.as_flattened());
    }
    fn forward(&mut self, y: &[f64], out: &mut [f64]) {
        // `y` comes from `transpose`, so it is projected already; P is symmetric and idempotent.
        self.w.scatter(y.as_chunks::<6>().0, &mut self.along);
        for ((o, r), s) in out.iter_mut().zip(self.secondary).zip(self.root_weight) {
            *o = s * self.along[*r];
        }
    }
    fn width(&self) -> usize {
        6 * self.w.width
    }
    fn noise(&self) -> f64 {
        1e-11 * self.w.mean_diagonal.sqrt()
    }
}

impl Ranked {
    /// Solves with `solver` for the primary rows. `active` and `b` as an active set left them; `damping` holds the
    /// secondary motion back as in [`Problem`].
    #[allow(clippy::too_many_arguments)]
    pub fn solve(
        &mut self,
        solver: &mut dyn LinearSolver,
        rows: &Rows,
        masses: &Masses,
        solids: usize,
        active: &[bool],
        b: &[f64],
        damping: Option<f64>,
        work: &Work,
    ) -> RankedReport {
        let n = rows.len();
        let on = |r: usize| active.is_empty() || active[r];
        self.primary.clear();
        self.primary.resize(n, false);
        self.secondary.clear();
        let mut root_weight = Vec::new();
        for g in &rows.groups {
            for r in g.range().filter(|r| on(*r)) {
                if g.is_primary() {
                    self.primary[r] = true;
                } else {
                    self.secondary.push(r);
                    root_weight.push(g.weight.sqrt());
                }
            }
        }
        self.w.fill(&Problem { rows, masses, active, damping: None });
        self.dq.clear();
        self.dq.resize(solids, [0.0; 6]);
        self.push.clear();
        self.push.resize(n, 0.0);
        let mut lambda = vec![0.0; n];
        solver.factor(&Problem { rows, masses, active: &self.primary, damping: None });
        let inner = Work { iterations: 1000, tolerance: 1e-15, out_of_time: work.out_of_time };
        // Rank 1 first.
        let b1: Vec<f64> = (0..n).map(|r| if self.primary[r] { b[r] } else { 0.0 }).collect();
        primary(solver, &b1, &mut lambda, false, &inner);
        if solver.has_changed() {
            // A conflict within rank 1; from here on right sides are within reach.
            solver.factor(&Problem { rows, masses, active: &self.primary, damping: None });
        }
        rows.apply_transposed(&lambda, masses, &mut self.dq);
        let mut change = vec![0.0; n];
        rows.apply(&self.dq, &mut change);
        // Then what it left of rank 2.
        let left: Vec<f64> =
            self.secondary.iter().zip(&root_weight).map(|(r, s)| s * (b[*r] - change[*r])).collect();
        let mut solve = SolveReport { residual: largest(&left), iterations: 0, stop: Stop::Tolerance };
        if !left.is_empty() {
            let mut reduced = Reduced {
                solver: &mut *solver,
                w: &self.w,
                primary: &self.primary,
                secondary: &self.secondary,
                root_weight: &root_weight,
                full: vec![0.0; n],
                along: vec![0.0; n],
                lambda: vec![0.0; n],
                y: vec![[0.0; 6]; self.w.width],
                inner,
            };
            let over = || work.is_over();
            let damp = (damping.unwrap_or(0.0) * self.w.mean_diagonal).sqrt();
            let few = left.len() <= FEW && reduced.is_exact();
            let mu = match few.then(|| reduced.direct(&left, damp)).flatten() {
                Some(mu) => {
                    solve.iterations = left.len();
                    mu
                }
                None => {
                    let mut mu = vec![0.0; left.len()];
                    let most = work.iterations.min(4 * left.len() + 20);
                    let (iterations, ended) = lsmr(
                        &mut reduced,
                        &left,
                        &mut mu,
                        damp,
                        most,
                        work.tolerance,
                        over,
                        &mut self.scratch,
                    );
                    solve.iterations = iterations;
                    solve.stop = ended.into();
                    mu
                }
            };
            // Forces on rank 2, and the reaction of rank 1 to them.
            reduced.full.fill(0.0);
            for ((r, s), m) in self.secondary.iter().zip(&root_weight).zip(&mu) {
                reduced.full[*r] = s * m;
            }
            let full = std::mem::take(&mut reduced.full);
            self.push.copy_from_slice(&full);
            let mut push = vec![[0.0; 6]; solids];
            rows.apply_transposed(&full, masses, &mut push);
            rows.apply(&push, &mut change);
            let reaction: Vec<f64> = (0..n).map(|r| if self.primary[r] { -change[r] } else { 0.0 }).collect();
            primary(reduced.solver, &reaction, &mut lambda, true, &inner);
            rows.apply_transposed(&lambda, masses, &mut push);
            for (q, p) in self.dq.iter_mut().zip(&push) {
                q.iter_mut().zip(p).for_each(|(q, p)| *q += p);
            }
        }
        // Rank 1 to rounding: what the two parts together left of it, solved for again.
        for _ in 0..3 {
            rows.apply(&self.dq, &mut change);
            let left: Vec<f64> =
                (0..n).map(|r| if self.primary[r] { b[r] - change[r] } else { 0.0 }).collect();
            if !(largest(&left) > 1e-15 * largest(b)) {
                break;
            }
            primary(solver, &left, &mut lambda, false, &inner);
            rows.apply_transposed(&lambda, masses, &mut self.dq);
        }
        rows.apply(&self.dq, &mut change);
        let worst = |which: &dyn Fn(usize) -> bool| {
            (0..n).filter(|r| on(*r) && which(*r)).fold(0.0, |m: f64, r| m.max((b[r] - change[r]).abs()))
        };
        let secondary = worst(&|r| !self.primary[r]);
        solve.residual = secondary;
        if solve.stop == Stop::Tolerance && !(secondary <= work.tolerance) {
            solve.stop = Stop::LeastSquares;
        }
        RankedReport { primary: worst(&|r| self.primary[r]), secondary, solve }
    }
}
