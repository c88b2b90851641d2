//! `structured-dense`: the tree in linear time, then a dense system on the loop rows (Baraff's and Featherstone's class
//! in Faure 1999, Table 1): `O(a + a l + l^3)` time, `O(a + l + l^2)` memory. Good while loops are few.

use super::cholesky::Cholesky;
use super::structured_iterative::Response;
use super::{LinearSolver, Problem, SolveReport, Stop, TINY, Work, largest};
use crate::rows::{Masses, Rows};
use faer::Mat;

/// See the module.
pub struct StructuredDense {
    op: Response,
    /// The reduced matrix, and its factor, lightly regularised.
    a: Mat<f64>,
    factor: Cholesky,
    exact: bool,
    unit: Vec<f64>,
    column: Vec<f64>,
    reduced: Vec<f64>,
    loops: Vec<f64>,
    full: Vec<f64>,
}

impl Default for StructuredDense {
    fn default() -> Self {
        Self::new()
    }
}

impl StructuredDense {
    /// Not analysed yet.
    pub fn new() -> Self {
        Self {
            op: Response::default(),
            a: Mat::new(),
            factor: Cholesky::new(),
            exact: true,
            unit: Vec::new(),
            column: Vec::new(),
            reduced: Vec::new(),
            loops: Vec::new(),
            full: Vec::new(),
        }
    }

    fn loop_pivots(&self) -> (f64, usize) {
        let w = &self.op.w;
        // What the regularisation alone holds up is a row that depends on others.
        let whole = |i: usize| w.diagonal[self.op.rows[i]] + w.softness[self.op.rows[i]];
        self.factor.least_pivot(2.0 * TINY, whole)
    }
}

impl LinearSolver for StructuredDense {
    fn analyse(&mut self, rows: &Rows, masses: &Masses) {
        self.op.tree.analyse(rows, masses);
    }

    fn factor(&mut self, p: &Problem) {
        self.op.factor(p);
        self.exact = p.damping.is_none();
        let n = self.op.rows.len();
        if self.a.nrows() != n {
            self.a = Mat::zeros(n, n);
        }
        self.unit.clear();
        self.unit.resize(n, 0.0);
        self.column.resize(n, 0.0);
        // One response a column.
        for j in 0..n {
            self.unit[j] = 1.0;
            self.op.respond(&self.unit, &mut self.column);
            self.unit[j] = 0.0;
            for i in j..n {
                self.a[(i, j)] = self.column[i];
            }
        }
        let (rows, w) = (&self.op.rows, &self.op.w);
        self.factor.factor(&self.a, TINY, |i| w.pivot_scale(rows[i]));
    }

    fn solve(&mut self, b: &[f64], lambda: &mut [f64], work: &Work) -> SolveReport {
        self.op.reduce(b, &mut self.reduced);
        let n = self.reduced.len();
        // A warm start of the loops, if it is better than none.
        self.loops.clear();
        self.loops.extend(self.op.rows.iter().map(|r| if self.op.w.active[*r] { lambda[*r] } else { 0.0 }));
        let mut left = self.reduced.clone();
        if self.loops.iter().any(|l| *l != 0.0) {
            self.op.respond(&self.loops, &mut self.column);
            let warm: Vec<f64> = left.iter().zip(&self.column).map(|(b, c)| b - c).collect();
            if largest(&warm) < 0.999 * largest(&left) { left = warm } else { self.loops.fill(0.0) }
        }
        let mut report = SolveReport { residual: f64::INFINITY, iterations: 0, stop: Stop::LeastSquares };
        // Refinement takes the regularisation out again; it ends where it no longer helps.
        let mut best = largest(&left);
        for _ in 0..if self.exact { work.iterations.clamp(1, 5) } else { 3 } {
            if n == 0 || best <= work.tolerance || work.is_over() {
                break;
            }
            self.unit.copy_from_slice(&left);
            self.factor.solve(&mut self.unit);
            self.loops.iter_mut().zip(&self.unit).for_each(|(l, s)| *l += s);
            report.iterations += 1;
            self.op.respond(&self.loops, &mut self.column);
            left.iter_mut().zip(&self.reduced).zip(&self.column).for_each(|((l, b), c)| *l = b - c);
            let now = largest(&left);
            if !(now < 0.5 * best) && report.iterations > 1 {
                break;
            }
            best = now;
        }
        report.residual = self.op.complete(b, &self.loops, lambda, &mut self.full, 2);
        if report.residual <= work.tolerance {
            report.stop = Stop::Tolerance;
        } else if work.is_over() {
            report.stop = Stop::Time;
        }
        report
    }

    /// Of the tree's rows and of the loops'.
    fn least_pivot(&self) -> f64 {
        self.op.tree.least_pivot.min(self.loop_pivots().0)
    }

    fn left_out(&self) -> usize {
        self.op.tree.vanished + self.loop_pivots().1
    }

    fn name(&self) -> &'static str {
        "structured-dense"
    }
}
