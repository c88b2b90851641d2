//! `structured-iterative`: Faure's method (1999). The tree in linear time, the loops by conjugate gradients on the
//! reduced system `A^ lambda_l = b^` (Eq. 13), `O(a + l)` memory.
//!
//! `acyclic_response` is one walk over the tree: the motion that loop forces cause while the tree's joints hold. (Print
//! computes it as a difference; its last line needs `x_l -= J_l x_0`, see the errata. Solving with forces instead of
//! right sides gives it at once.) Whenever it stops, the tree's rows are met: a truncated answer opens loops only.

use super::block_jacobi::BlockJacobi;
use super::krylov::{Ended, Rectangular, Scratch, Symmetric, conjugate_gradients, lsmr};
use super::tree::Tree;
use super::{LinearSolver, Problem, Scaled, SolveReport, Stop, Work, largest};
use crate::rows::{Masses, Rows, dot6};

/// See the module.
#[derive(Clone, Default)]
pub struct StructuredIterative {
    op: Response,
    scratch: Scratch,
    reduced: Vec<f64>,
    step: Vec<f64>,
    full: Vec<f64>,
}

/// The reduced matrix as a product.
#[derive(Clone, Default)]
pub(super) struct Response {
    pub w: Scaled,
    pub tree: Tree,
    /// Rows of the loop closures.
    pub rows: Vec<usize>,
    pub x: Vec<[f64; 6]>,
    pub lambda: Vec<f64>,
    /// `x` and `lambda` are those of the tree without its loops.
    reduced: bool,
    /// Diagonal blocks of `A_ll`: the response of loose solids, an upper bound of the tree's.
    blocks: BlockJacobi,
}

impl Response {
    pub fn factor(&mut self, p: &Problem) {
        self.reduced = false;
        self.w.fill(p);
        self.tree.prepare(p, &self.w);
        self.rows.clear();
        self.rows.extend(self.tree.closing(p.rows).flat_map(|g| g.range()));
        self.x.resize(self.w.width, [0.0; 6]);
        self.lambda.resize(p.rows.len(), 0.0);
    }

    /// `x = W_l^T f_l`.
    fn push(&mut self, f: &[f64]) {
        self.reduced = false;
        self.x.fill([0.0; 6]);
        for (r, f) in self.rows.iter().zip(f) {
            for side in 0..2 {
                let x = &mut self.x[self.w.solids[*r][side]];
                let w = &self.w.w[*r][side];
                (0..6).for_each(|c| x[c] += w[c] * f);
            }
        }
    }

    /// Motion along the loop rows.
    fn along(&self, x: &[[f64; 6]], out: &mut [f64]) {
        for (o, r) in out.iter_mut().zip(&self.rows) {
            let [a, b] = self.w.solids[*r];
            *o = dot6(&self.w.w[*r][0], &x[a]) + dot6(&self.w.w[*r][1], &x[b]);
        }
    }

    /// `acyclic_response` of section 3.3: motions under loop forces while the tree holds.
    pub fn respond(&mut self, f: &[f64], out: &mut [f64]) {
        self.push(f);
        self.tree.solve(&self.w, &mut self.x, None, &mut self.lambda);
        let x = std::mem::take(&mut self.x);
        self.along(&x, out);
        self.x = x;
        for ((o, f), r) in out.iter_mut().zip(f).zip(&self.rows) {
            *o += self.w.give(*r) * f;
        }
    }

    /// `b^ = b_l - A_la A_aa^-1 b_a`: what the loops ask for once the tree is served.
    pub fn reduce(&mut self, b: &[f64], out: &mut Vec<f64>) {
        self.x.fill([0.0; 6]);
        self.lambda.fill(0.0);
        self.tree.solve(&self.w, &mut self.x, Some(b), &mut self.lambda);
        self.reduced = true;
        out.clear();
        out.resize(self.rows.len(), 0.0);
        let x = std::mem::take(&mut self.x);
        self.along(&x, out);
        self.x = x;
        for (o, r) in out.iter_mut().zip(&self.rows) {
            *o = if self.w.active[*r] { b[*r] - *o } else { 0.0 };
        }
    }

    /// All multipliers from the loops' (Eq. 11), and the residual of everything. `rounds`: how often what rounding left of
    /// the tree is solved for again.
    pub fn complete(
        &mut self,
        b: &[f64],
        loops: &[f64],
        lambda: &mut [f64],
        full: &mut Vec<f64>,
        rounds: usize,
    ) -> f64 {
        lambda.fill(0.0);
        if self.reduced && loops.iter().all(|l| *l == 0.0) {
            // The tree alone was solved for last.
            lambda.copy_from_slice(&self.lambda);
        } else {
            self.push(loops);
            self.tree.solve(&self.w, &mut self.x, Some(b), lambda);
        }
        for (r, l) in self.rows.iter().zip(loops) {
            lambda[*r] = *l;
        }
        for (l, a) in lambda.iter_mut().zip(&self.w.active) {
            if !*a {
                *l = 0.0;
            }
        }
        if rounds == 0 {
            // The tree's rows are met to rounding; what is left is in the loops.
            full.resize(b.len(), 0.0);
            let mut left = vec![0.0; loops.len()];
            self.along(&self.x, &mut left);
            for ((x, r), l) in left.iter_mut().zip(&self.rows).zip(loops) {
                let own = self.w.give(*r) * l;
                *x = if self.w.active[*r] { b[*r] - *x - own } else { 0.0 };
            }
            return largest(&left);
        }
        let mut worst = self.residual(b, lambda, full);
        // Rounding of the walk, refined: the tree's share of what is left, solved for again.
        for _ in 0..rounds {
            let tree_worst = self.tree_residual(full);
            if tree_worst <= 1e-15 * largest(b) || !tree_worst.is_finite() {
                break;
            }
            self.x.fill([0.0; 6]);
            let mut more = std::mem::take(&mut self.lambda);
            more.fill(0.0);
            self.tree.solve(&self.w, &mut self.x, Some(full), &mut more);
            for r in &self.rows {
                more[*r] = 0.0;
            }
            lambda.iter_mut().zip(&more).for_each(|(l, m)| *l += m);
            let next = self.residual(b, lambda, full);
            if !(next <= worst) {
                lambda.iter_mut().zip(&more).for_each(|(l, m)| *l -= m);
                self.lambda = more;
                return self.residual(b, lambda, full);
            }
            self.lambda = more;
            worst = next;
        }
        worst
    }

    /// Where loops contradict the tree, what is left of them is a set of forces that move nothing. Damped solvers answer
    /// with a large multiple of it, and its signs tell an active set which bound to let go; least squares by iteration
    /// has none of it, so it is added here. Tells the residual, which stays what it was up to rounding.
    fn point_at_conflict(&mut self, b: &[f64], lambda: &mut [f64], full: &mut Vec<f64>) -> f64 {
        /// Times the multipliers: enough to decide every sign, little enough for the rounding that it brings.
        const LARGE: f64 = 1e3;
        let left: Vec<f64> = self.rows.iter().map(|r| full[*r]).collect();
        self.push(&left);
        let mut forces = std::mem::take(&mut self.lambda);
        forces.fill(0.0);
        self.tree.solve(&self.w, &mut self.x, None, &mut forces);
        for (r, f) in self.rows.iter().zip(&left) {
            forces[*r] = *f;
        }
        let (size, most) = (largest(lambda), largest(&forces));
        if most > 0.0 && most.is_finite() {
            let times = if size > 0.0 { LARGE * size / most } else { 1.0 };
            lambda.iter_mut().zip(&forces).for_each(|(l, f)| *l += times * f);
        }
        self.lambda = forces;
        self.residual(b, lambda, full)
    }

    /// `full = b - A lambda` on active rows, and its largest entry.
    fn residual(&mut self, b: &[f64], lambda: &[f64], full: &mut Vec<f64>) -> f64 {
        self.reduced = false;
        full.resize(b.len(), 0.0);
        self.x.fill([0.0; 6]);
        self.w.gather(lambda, &mut self.x);
        self.w.scatter(&self.x, full);
        self.w.soften(lambda, full);
        for i in 0..b.len() {
            full[i] = if self.w.active[i] { b[i] - full[i] } else { 0.0 };
        }
        largest(full)
    }

    /// The largest entry of a residual on the tree's rows.
    fn tree_residual(&self, full: &[f64]) -> f64 {
        let mut of_tree = full.to_vec();
        self.rows.iter().for_each(|r| of_tree[*r] = 0.0);
        largest(&of_tree)
    }
}

impl Symmetric for Response {
    fn multiply(&mut self, v: &[f64], out: &mut [f64]) {
        self.respond(v, out);
    }

    fn precondition(&self, v: &[f64], out: &mut [f64]) {
        self.blocks.apply(v, out);
    }
}

impl Rectangular for Response {
    fn transpose(&mut self, u: &[f64], y: &mut [f64]) {
        self.push(u);
        self.tree.solve(&self.w, &mut self.x, None, &mut self.lambda);
        // A soft or damped row is a rigid one with a freedom of its own, as in `full-iterative`.
        let (solids, give) = y.split_at_mut(6 * self.w.width);
        solids.copy_from_slice(self.x.as_flattened());
        for ((g, r), u) in give.iter_mut().zip(&self.rows).zip(u) {
            *g = self.w.give(*r).sqrt() * u;
        }
    }
    fn forward(&mut self, y: &[f64], out: &mut [f64]) {
        let (solids, give) = y.split_at(6 * self.w.width);
        self.along(solids.as_chunks::<6>().0, out);
        for ((o, r), g) in out.iter_mut().zip(&self.rows).zip(give) {
            *o += self.w.give(*r).sqrt() * g;
        }
    }
    fn width(&self) -> usize {
        6 * self.w.width + if self.w.gives() { self.rows.len() } else { 0 }
    }
    fn noise(&self) -> f64 {
        1e-11 * self.w.mean_diagonal.sqrt()
    }
}

impl StructuredIterative {
    /// Not analysed yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl LinearSolver for StructuredIterative {
    fn analyse(&mut self, rows: &Rows, masses: &Masses) {
        self.op.tree.analyse(rows, masses);
    }

    fn factor(&mut self, p: &Problem) {
        self.op.factor(p);
        self.op.blocks.fill(self.op.tree.closing(p.rows), &self.op.w);
    }

    fn solve(&mut self, b: &[f64], lambda: &mut [f64], work: &Work) -> SolveReport {
        let over = || work.is_over();
        self.op.reduce(b, &mut self.reduced);
        let n = self.reduced.len();
        // A warm start of the loops, if it is better than none.
        let mut loops: Vec<f64> =
            self.op.rows.iter().map(|r| if self.op.w.active[*r] { lambda[*r] } else { 0.0 }).collect();
        self.step.clear();
        self.step.resize(n, 0.0);
        let mut residual = self.reduced.clone();
        if loops.iter().any(|l| *l != 0.0) {
            self.op.respond(&loops, &mut self.step);
            let warm: Vec<f64> = self.reduced.iter().zip(&self.step).map(|(b, s)| b - s).collect();
            if largest(&warm) < 0.999 * largest(&residual) {
                residual = warm;
            } else {
                loops.fill(0.0);
            }
        }
        let mut report = SolveReport { residual: f64::INFINITY, iterations: 0, stop: Stop::Iterations };
        let mut ended = Ended::Tolerance;
        // Verify and restart (section 3.3): rounding makes the recurrence's residual drift from the true one.
        for _ in 0..3 {
            let left = work.iterations.saturating_sub(report.iterations);
            let (count, end) = conjugate_gradients(
                &mut self.op,
                &mut residual,
                &mut loops,
                left,
                work.tolerance,
                over,
                &mut self.scratch,
            );
            report.iterations += count;
            ended = end;
            if ended == Ended::Stalled {
                // Redundant or conflicting loops: least squares among what the tree leaves free.
                let left = work.iterations.saturating_sub(report.iterations);
                let (more, end) = lsmr(
                    &mut self.op,
                    &residual,
                    &mut self.step,
                    0.0,
                    left,
                    work.tolerance,
                    over,
                    &mut self.scratch,
                );
                report.iterations += more;
                ended = end;
                loops.iter_mut().zip(&self.step).for_each(|(l, s)| *l += s);
            }
            // Out of time: the last digits of the tree are not worth two more walks.
            let rounds = if ended == Ended::Time { 0 } else { 2 };
            report.residual = self.op.complete(b, &loops, lambda, &mut self.full, rounds);
            if report.residual <= work.tolerance || ended != Ended::Tolerance {
                break;
            }
            self.op.respond(&loops, &mut self.step);
            residual = self.reduced.iter().zip(&self.step).map(|(b, s)| b - s).collect();
            if largest(&residual) <= work.tolerance {
                break;
            }
        }
        if ended == Ended::Stalled && report.residual > work.tolerance && self.op.w.damping == 0.0 {
            report.residual = self.op.point_at_conflict(b, lambda, &mut self.full);
        }
        report.stop = match ended {
            _ if report.residual <= work.tolerance => Stop::Tolerance,
            Ended::Tolerance | Ended::Stalled => Stop::LeastSquares,
            Ended::Iterations => Stop::Iterations,
            Ended::Time => Stop::Time,
        };
        report
    }

    fn name(&self) -> &'static str {
        "structured-iterative"
    }
}
