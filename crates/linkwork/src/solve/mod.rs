//! Solving `J M^-1 J^T lambda = b`: one trait, one solver a file.
//!
//! A solver sees rows and masses, never a joint. `A = J M^-1 J^T` is only positive *semi*definite (redundant
//! constraints) and `b` may be out of reach (conflicting ones): every solver here then gives the mass-weighted
//! least-squares displacement `dq = M^-1 J^T lambda`, the one Tikhonov's `(A + eps)^-1 b` tends to.

mod block_jacobi;
mod bounds;
mod cholesky;
mod cones;
mod full_dense;
mod full_iterative;
mod heap;
mod kind;
mod krylov;
mod lower;
mod parallel;
mod projected;
mod ranks;
pub(crate) mod sparse;
mod sparse_direct;
mod structured_dense;
mod structured_iterative;
#[cfg(test)]
mod tests;
mod tree;
mod upper;

pub use bounds::{Bounded, BoundedReport};
pub(crate) use cones::{ConeProblem, ConeReport, Cones, contact_residual, elimination_cost, within};
pub use full_dense::FullDense;
pub use full_iterative::FullIterative;
pub(crate) use heap::{Heap, HeapBody, HeapPoint};
pub use kind::SolverKind;
pub use lower::{FreeSolids, Held, Jointed, JointedScratch, Lower};
pub use projected::Projected;
pub use ranks::{Ranked, RankedReport};
pub use sparse_direct::SparseDirect;
pub use structured_dense::StructuredDense;
pub use structured_iterative::StructuredIterative;
pub use upper::{Upper, UpperReport, UpperRows, UpperWork, Way, shortfall, solve_upper};

use crate::rows::{HalfRow, Masses, Rows, dot6};

/// How much a solve may cost.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// Most iterations of an iterative solver, or refinements of a direct one.
    pub iterations: usize,
    /// Good enough: largest `|A lambda - b|`.
    pub tolerance: f64,
    /// Asked often: true ends the solve. The library has no clock of its own.
    pub out_of_time: Option<&'a dyn Fn() -> bool>,
}

impl Default for Work<'_> {
    fn default() -> Self {
        Self { iterations: 1000, tolerance: 1e-12, out_of_time: None }
    }
}

impl Work<'_> {
    pub(crate) fn is_over(&self) -> bool {
        self.out_of_time.is_some_and(|f| f())
    }
}

/// Which limit ended a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The tolerance was met.
    Tolerance,
    /// No better answer exists: what remains is the conflict itself.
    LeastSquares,
    /// The iteration limit.
    Iterations,
    /// The caller's clock.
    Time,
}

/// The receipt of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolveReport {
    /// Largest `|A lambda - b|` that was left.
    pub residual: f64,
    /// Iterations or refinements spent.
    pub iterations: usize,
    /// What ended it.
    pub stop: Stop,
}

/// The numbers of one linear system.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// Jacobian.
    pub rows: &'a Rows,
    /// Inverse masses.
    pub masses: &'a Masses,
    /// Rows that take part; the others get `lambda = 0`. Empty: all.
    pub active: &'a [bool],
    /// `None`: as exact as can be (a tiny regularisation that refinement takes out again). `Some(mu)`: solve with
    /// `A + mu * diag(J M^-1 J^T)`, the Levenberg-Marquardt step in Marquardt's form. Every row is damped by its own
    /// diagonal, so the answer does not depend on units, nor on how heavy or large anything else in the system is.
    pub damping: Option<f64>,
}

impl Problem<'_> {
    /// Does the row take part?
    pub fn is_active(&self, row: usize) -> bool {
        self.active.is_empty() || self.active[row]
    }
}

/// Solves the constraint system. Object-safe; symbolic work in `analyse`, numbers in `factor`, right sides in `solve`.
pub trait LinearSolver: Send {
    /// Symbolic work for a pattern of rows. `factor` calls it when the pattern is not the one it knows, so calling it
    /// is only a matter of when the time is spent.
    fn analyse(&mut self, rows: &Rows, masses: &Masses);
    /// Poses or active rows changed.
    fn factor(&mut self, problem: &Problem);
    /// One right side. `lambda` comes in as a guess and goes out as the answer.
    fn solve(&mut self, b: &[f64], lambda: &mut [f64], work: &Work) -> SolveReport;
    /// `lambda = A^-1 b` from the factor alone, unchecked: for callers who look at what comes of it. Where rows depend on
    /// each other that is right only if `b` is known to be within reach (`consistent`). False when the solver has nothing
    /// exact to offer; `lambda` is then as it was.
    fn substitute(&mut self, _b: &[f64], _lambda: &mut [f64], _consistent: bool) -> bool {
        false
    }
    /// [`substitute`](Self::substitute) of four right sides at once, row by row beside each other. The bits of an answer do
    /// not depend on what stands beside it.
    fn substitute_four(&mut self, _b: &[[f64; 4]], _lambda: &mut [[f64; 4]], _consistent: bool) -> bool {
        false
    }
    /// A solve replaced what `factor` made, because the rows contradict each other: later answers are as good, but the same
    /// problem factored anew may answer with other bits.
    fn has_changed(&self) -> bool {
        false
    }
    /// The smallest pivot that the last factorisation kept, as a share of its row's own diagonal of `A` (softness
    /// counted, damping not): how near the rows are to depending on each other. Rows that were found to depend on
    /// others and left out do not count here, see [`left_out`](Self::left_out). One when the solver has no pivots.
    fn least_pivot(&self) -> f64 {
        1.0
    }
    /// Rows that the last factorisation left out because they depend on others. Zero when the solver does not know.
    fn left_out(&self) -> usize {
        0
    }
    /// Its name on the command line.
    fn name(&self) -> &'static str;
}

/// Regularisation relative to each row's own diagonal: small enough for eight digits at once, large enough to pivot on.
const TINY: f64 = 1e-8;
/// A pivot below this share of its row's own diagonal is rounding: the row depends on rows before it. Long chains get down
/// to the inverse square of their number of links, which stays above for a hundred thousand.
const VANISHES: f64 = 1e-11;

/// The rows scaled by a factor of the inverse mass, `W = J C` with `C C^T = M^-1`, so that `A = W W^T`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scaled {
    /// Per row and side.
    w: Vec<[[f64; 6]; 2]>,
    solids: Vec<[usize; 2]>,
    active: Vec<bool>,
    /// Number of solids.
    width: usize,
    mean_diagonal: f64,
    /// Diagonal of `W W^T`.
    diagonal: Vec<f64>,
    /// Per row: what softness adds to the diagonal.
    softness: Vec<f64>,
    /// Damping, in units of each row's diagonal.
    damping: f64,
    /// Some row is soft.
    is_soft: bool,
    /// Per solid: factor of the inverse mass.
    roots: Vec<(f64, [f64; 6])>,
}

impl Scaled {
    fn fill(&mut self, p: &Problem) {
        let rows = p.rows.len();
        self.w.resize(rows, [[0.0; 6]; 2]);
        self.solids.resize(rows, [0; 2]);
        self.active.resize(rows, true);
        self.diagonal.resize(rows, 0.0);
        self.width = p.masses.len();
        self.damping = p.damping.unwrap_or(0.0);
        self.softness.clear();
        self.softness.extend_from_slice(&p.rows.softness);
        self.softness.resize(rows, 0.0);
        self.is_soft = !p.rows.softness.is_empty();
        self.roots.clear();
        self.roots.extend((0..self.width).map(|s| factor_inverse_mass(p.masses, s)));
        let (mut trace, mut n) = (0.0, 0);
        for g in &p.rows.groups {
            let [(s0, c0), (s1, c1)] = g.solids.map(|s| &self.roots[s]);
            for r in g.range() {
                let active = p.is_active(r);
                let [j0, j1] = &p.rows.row(r);
                let w =
                    if active { [scale_half(j0, *s0, c0), scale_half(j1, *s1, c1)] } else { [[0.0; 6]; 2] };
                let diagonal = dot6(&w[0], &w[0]) + dot6(&w[1], &w[1]);
                if !active {
                    self.softness[r] = 0.0;
                }
                trace += diagonal;
                n += i32::from(active);
                self.diagonal[r] = diagonal;
                self.w[r] = w;
                self.solids[r] = g.solids;
                self.active[r] = active;
            }
        }
        self.mean_diagonal = if n > 0 && trace > 0.0 { trace / f64::from(n) } else { 1.0 };
    }

    /// What softness and damping add to the diagonal of a row.
    fn give(&self, row: usize) -> f64 {
        self.softness[row] + self.damping * self.diagonal[row]
    }

    /// Some row gives way.
    fn gives(&self) -> bool {
        self.is_soft || self.damping != 0.0
    }

    /// Adds what softness and damping answer to `lambda`.
    fn soften(&self, lambda: &[f64], out: &mut [f64]) {
        if self.gives() {
            for (r, (o, l)) in out.iter_mut().zip(lambda).enumerate() {
                *o += self.give(r) * l;
            }
        }
    }

    /// What a Cholesky factor is regularised in units of: a row's own diagonal. `None` where there is nothing to pivot on:
    /// rows that are not active, or act on nothing and are not soft.
    fn pivot_scale(&self, row: usize) -> Option<f64> {
        (self.diagonal[row] + self.softness[row] > 0.0).then_some(self.diagonal[row])
    }

    /// `y = W^T lambda` (added to `y`, which the caller clears).
    fn gather(&self, lambda: &[f64], y: &mut [[f64; 6]]) {
        for (r, w) in self.w.iter().enumerate() {
            for side in 0..2 {
                let y = &mut y[self.solids[r][side]];
                for k in 0..6 {
                    y[k] += w[side][k] * lambda[r];
                }
            }
        }
    }

    /// `out = W y`.
    fn scatter(&self, y: &[[f64; 6]], out: &mut [f64]) {
        for (r, w) in self.w.iter().enumerate() {
            let [a, b] = self.solids[r];
            out[r] = dot6(&w[0], &y[a]) + dot6(&w[1], &y[b]);
        }
    }
}

/// `J C` of one solid: the root of the inverse mass, and the lower factor of the inverse inertia.
fn scale_half(j: &HalfRow, s: f64, c: &[f64; 6]) -> HalfRow {
    [
        j[0] * s,
        j[1] * s,
        j[2] * s,
        j[3] * c[0] + j[4] * c[1] + j[5] * c[3],
        j[4] * c[2] + j[5] * c[4],
        j[5] * c[5],
    ]
}

/// Square root of the inverse mass, and the lower Cholesky factor of the inverse inertia as `[l11, l21, l22, l31, l32, l33]`.
fn factor_inverse_mass(masses: &Masses, solid: usize) -> (f64, [f64; 6]) {
    let w = masses.inverse_mass(solid);
    if w == 0.0 {
        return (0.0, [0.0; 6]);
    }
    let m = masses.inverse_inertia(solid);
    let root = |x: f64| x.max(0.0).sqrt();
    let over = |x: f64, d: f64| if d > 0.0 { x / d } else { 0.0 };
    let l11 = root(m.x_axis.x);
    let (l21, l31) = (over(m.x_axis.y, l11), over(m.x_axis.z, l11));
    let l22 = root(m.y_axis.y - l21 * l21);
    let l32 = over(m.y_axis.z - l31 * l21, l22);
    (root(w), [l11, l21, l22, l31, l32, root(m.z_axis.z - l31 * l31 - l32 * l32)])
}

/// The larger of two sizes; a NaN never gets lost.
#[inline(always)]
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}

/// The largest absolute value; NaN if there is one.
pub(crate) fn largest(v: &[f64]) -> f64 {
    // Four at a time, so that the comparisons do not wait for each other. `max` drops NaNs; a sum keeps them.
    let (mut most, mut sum) = ([0.0_f64; 4], [0.0; 4]);
    let (fours, rest) = v.as_chunks::<4>();
    for x in fours {
        for k in 0..4 {
            most[k] = if x[k].abs() > most[k] { x[k].abs() } else { most[k] };
            sum[k] += x[k];
        }
    }
    let last = rest.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let sum = sum.iter().chain(rest).sum::<f64>();
    if sum.is_nan() { f64::NAN } else { most.into_iter().fold(last, f64::max) }
}
