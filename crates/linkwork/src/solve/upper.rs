//! The upper level: rows that may act or not, or whose force has a limit, over the response of what is below.
//!
//! Below is whatever holds always and can say how it moves when pushed ([`Lower`]): free solids, joints factored once,
//! something scripted. Above are ranges, motors with a largest force, hands, contacts. With `R` the response and
//! `W = J R J^T`, multipliers are sought so that each row of `y = (W + give) lambda` and its multiplier lie on the row's
//! staircase (`curve.rs`). Whatever the multipliers turn out to be, the motion `R J^T lambda` keeps the lower rows.
//!
//! Three ways, chosen by predicted cost and told in the report:
//!
//! - **exact** (`pivot.rs`): `W` is formed by a response per row (`columns.rs`) and pivoted on. For few rows, to rounding;
//! - **sweeps** (`sweep.rs`): projected Gauss-Seidel where a push moves its own solid only;
//! - **gradient** (`gradient.rs`): accelerated projected gradient, one response per iteration, for everything else.
//!
//! Friction cones fit in as blocks of rows: iterations need the proximal map of a block instead of a row's, pivoting a
//! Newton step on it.

mod columns;
mod curve;
mod dense;
mod gradient;
#[cfg(test)]
mod level_tests;
mod pivot;
mod sweep;
#[cfg(test)]
mod tests;

use super::{Lower, Work, larger};
use crate::rows::{Ask, HalfRow, dot6};
use curve::Curve;

/// The Jacobian of the upper rows: any number of ends each.
#[derive(Clone, Debug, Default)]
pub struct UpperRows {
    ends: Vec<(usize, HalfRow)>,
    /// Per row: where its ends end.
    last: Vec<usize>,
    /// Per row: what it is known by.
    names: Vec<usize>,
    /// Names mean something beyond this set of rows.
    named: bool,
}

impl UpperRows {
    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.last.clear();
        self.names.clear();
        self.named = false;
    }

    /// One more row: how its value answers to the motion of each of these solids.
    pub fn push(&mut self, ends: &[(usize, HalfRow)]) {
        self.push_named(self.last.len(), ends);
        self.named = false;
    }

    /// The same for a row that is known by a name, of which there is one: what the lower level answers to it is kept until
    /// [`Upper::forget`]. All rows have a name, or none has.
    pub fn push_named(&mut self, name: usize, ends: &[(usize, HalfRow)]) {
        self.named = self.named || self.last.is_empty();
        self.names.push(name);
        self.ends.extend_from_slice(ends);
        self.last.push(self.ends.len());
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.last.len()
    }

    /// No rows.
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// The ends of a row.
    pub fn ends(&self, row: usize) -> &[(usize, HalfRow)] {
        let first = if row == 0 { 0 } else { self.last[row - 1] };
        &self.ends[first..self.last[row]]
    }

    /// `J x` of one row.
    pub fn change(&self, row: usize, motion: &[[f64; 6]]) -> f64 {
        self.ends(row).iter().map(|(solid, j)| dot6(j, &motion[*solid])).sum()
    }

    /// `push += J^T lambda` of one row.
    pub fn add(&self, row: usize, lambda: f64, push: &mut [[f64; 6]]) {
        for (solid, j) in self.ends(row) {
            for (f, j) in push[*solid].iter_mut().zip(j) {
                *f += j * lambda;
            }
        }
    }
}

/// Which way the multipliers are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// The cheapest by predicted cost.
    #[default]
    Auto,
    /// Pivoting on the small matrix.
    Exact,
    /// Sweeps or gradient steps.
    Iterative,
}

/// How much an upper solve may cost, and how it treats dependent rows.
#[derive(Clone, Copy)]
pub struct UpperWork<'a> {
    /// Iterations of the iterative ways, tolerance of the complementarity residual, clock.
    pub work: Work<'a>,
    /// Regularisation of dependent rows, as a part of each row's own diagonal. Rows that agree do not notice it; what is
    /// nearer to dependent than this counts as dependent.
    pub regularisation: f64,
    /// Which way.
    pub way: Way,
}

impl Default for UpperWork<'_> {
    fn default() -> Self {
        Self { work: Work::default(), regularisation: 1e-8, way: Way::Auto }
    }
}

/// The receipt of an upper solve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UpperReport {
    /// Upper rows.
    pub rows: usize,
    /// Faces that were solved for, or iterations.
    pub rounds: usize,
    /// Complementarity: the largest distance of a row from what it may be, in its own units. Where rows contradict each
    /// other it is what they lack.
    pub residual: f64,
    /// By pivoting, not by iterations.
    pub exact: bool,
    /// Rows that no push can move, because what is below holds them.
    pub stuck: usize,
    /// Questions to the lower level.
    pub responses: usize,
}

/// Scratch of upper solves, and what the last one moved.
#[derive(Clone, Debug, Default)]
pub struct Upper {
    /// The lower level's answer to the multipliers, per solid.
    pub motion: Vec<[f64; 6]>,
    /// `J x` per upper row.
    pub change: Vec<f64>,
    /// What happened inside of the lower level, see [`Lower::inner`].
    pub inner: Vec<f64>,
    push: Vec<[f64; 6]>,
    columns: columns::Columns,
    /// Per row: response of the row to itself, give included; an upper bound where only that is known.
    diagonal: Vec<f64>,
    /// Per row: an upper bound of the same, or zero.
    bound: Vec<f64>,
    stuck: Vec<bool>,
    /// `W` as it was formed, and of which rows by name.
    formed: Vec<f64>,
    formed_of: Vec<usize>,
    pivot: pivot::Pivot,
    sweep: sweep::Sweep,
    gradient: gradient::Gradient,
}

/// Entries of columns that are kept at most: 64 MB.
const MOST_ENTRIES: usize = 1 << 23;
/// A row that moves less than this part of what it would without the lower rows does not move: rounding of a projection.
const STUCK: f64 = 1e-12;
/// Iterations that the iterative ways are expected to need.
const EXPECTED: f64 = 300.0;
/// More rows are never pivoted on unless asked for: memory and the cube of their number.
const MOST_EXACT: usize = 512;

/// Finds multipliers for `rows` over `lower`: see the module. `force` comes in as the warm start (zeros: none) and goes out
/// as the answer, within what each [`crate::rows::Push`] allows. `scratch.motion` is what it moves.
pub fn solve_upper(
    lower: &mut dyn Lower,
    rows: &UpperRows,
    asks: &[Ask],
    force: &mut [f64],
    scratch: &mut Upper,
    work: &UpperWork,
) -> UpperReport {
    let n = rows.len().min(asks.len()).min(force.len());
    let mut report = UpperReport { rows: n, ..UpperReport::default() };
    scratch.resize(n, lower);
    force.iter_mut().filter(|f| !f.is_finite()).for_each(|f| *f = 0.0);
    if n > 0 {
        report.exact = is_exact(lower, n, work);
        scratch.bounds(lower, rows, asks, n);
        if report.exact {
            scratch.form(lower, rows, n, &mut report);
            scratch.pivot(asks, &mut force[..n], work, &mut report);
        } else if scratch.is_local(lower, rows, n) {
            let s = &mut *scratch;
            report.rounds = s.sweep.solve(lower, rows, asks, &mut force[..n], &mut s.motion, &work.work);
            report.stuck = s.sweep.stuck();
        } else {
            scratch.iterate(lower, rows, asks, &mut force[..n], work, &mut report);
        }
    }
    scratch.finish(lower, rows, asks, &mut force[..n], &mut report);
    report
}

fn is_exact(lower: &dyn Lower, n: usize, work: &UpperWork) -> bool {
    let fits = n * (6 * lower.solids() + lower.inner().len()) <= MOST_ENTRIES;
    match work.way {
        Way::Exact => true,
        Way::Iterative => false,
        Way::Auto => n <= MOST_EXACT && fits && exact_is_cheaper(n, lower.cost(), &work.work),
    }
}

/// By predicted multiplications: a response per row and some factorisations, against iterations.
fn exact_is_cheaper(n: usize, response: f64, work: &Work) -> bool {
    const FACES: f64 = 6.0;
    let (n, iterations) = (n as f64, EXPECTED.min(work.iterations as f64));
    n * response + 24.0 * n * n + FACES * n * n * n / 6.0 <= iterations * (response + 48.0 * n)
}

/// How far a row with this multiplier and change is from what is asked of it, in the row's units; `response` is what its
/// multiplier does to itself.
pub fn shortfall(ask: &Ask, force: f64, change: f64, response: f64) -> f64 {
    Curve::new(ask, 1.0).residual(force, change + ask.give * force, response + ask.give)
}

impl Upper {
    /// Rows of any name, or the lower level, are others from now on.
    pub fn forget(&mut self) {
        self.columns.forget();
        self.formed_of.clear();
    }

    /// What the lower level answers to these multipliers: `motion` and `inner`. By the columns that are known already where
    /// `work` would have them, otherwise by asking.
    pub fn respond(
        &mut self,
        lower: &mut dyn Lower,
        rows: &UpperRows,
        force: &[f64],
        work: &UpperWork,
    ) -> usize {
        let n = rows.len().min(force.len());
        self.resize(n, lower);
        let exact = is_exact(lower, n, work);
        let asked = if exact { self.columns.update(lower, rows, n) } else { 0 };
        asked + self.answer(lower, rows, &force[..n], exact)
    }

    /// What the multipliers move, by adding up columns (`exact`: there are some) or by one more question. Tells whether one
    /// was asked.
    fn answer(&mut self, lower: &mut dyn Lower, rows: &UpperRows, force: &[f64], exact: bool) -> usize {
        if exact && self.columns.cost(force.len()) <= lower.cost() {
            self.columns.add_up(force, &mut self.motion, &mut self.inner);
            return 0;
        }
        self.push.clear();
        self.push.resize(lower.solids(), [0.0; 6]);
        for (r, f) in force.iter().enumerate() {
            rows.add(r, *f, &mut self.push);
        }
        lower.respond(&self.push, &mut self.motion);
        self.inner.copy_from_slice(lower.inner());
        1
    }

    fn resize(&mut self, rows: usize, lower: &dyn Lower) {
        for v in [&mut self.motion, &mut self.push] {
            v.clear();
            v.resize(lower.solids(), [0.0; 6]);
        }
        self.inner.clear();
        self.inner.resize(lower.inner().len(), 0.0);
        for v in [&mut self.change, &mut self.diagonal, &mut self.bound] {
            v.clear();
            v.resize(rows, 0.0);
        }
        self.stuck.clear();
        self.stuck.resize(rows, false);
    }

    /// Bounds of the diagonal, where the lower level knows them.
    fn bounds(&mut self, lower: &dyn Lower, rows: &UpperRows, asks: &[Ask], n: usize) {
        for r in 0..n {
            let ends = rows.ends(r);
            // Ends on one solid may add up.
            let same = (1..ends.len()).any(|k| ends[..k].iter().any(|e| e.0 == ends[k].0));
            let most = if same { ends.len() as f64 } else { 1.0 };
            let sum: Option<f64> = ends.iter().map(|(solid, j)| lower.most_response(*solid, j)).sum();
            self.bound[r] = sum.map_or(0.0, |s| most * s);
            self.diagonal[r] = self.bound[r] + asks[r].give;
        }
    }

    /// Every end's push moves its own solid only.
    fn is_local(&self, lower: &dyn Lower, rows: &UpperRows, n: usize) -> bool {
        (0..n).all(|r| rows.ends(r).iter().all(|(solid, j)| lower.respond_alone(*solid, j).is_some()))
    }

    /// `W` into `formed`, unless it is there already.
    fn form(&mut self, lower: &mut dyn Lower, rows: &UpperRows, n: usize, report: &mut UpperReport) {
        report.responses += self.columns.update(lower, rows, n);
        if rows.named && self.formed_of == rows.names[..n] {
            return;
        }
        self.formed.clear();
        for r in 0..n {
            let motion = self.columns.motion(r);
            self.formed.extend((0..n).map(|s| rows.change(s, motion)));
        }
        self.formed_of.clear();
        self.formed_of.extend_from_slice(&rows.names[..n]);
    }

    /// Scales what was formed, pivots on it, and takes the multipliers back to the rows' units.
    fn pivot(&mut self, asks: &[Ask], force: &mut [f64], work: &UpperWork, report: &mut UpperReport) {
        let (n, p, w) = (force.len(), &mut self.pivot, &self.formed);
        p.resize(n);
        for r in 0..n {
            let own = w[r * n + r];
            let moves = own > STUCK * self.bound[r] && own.is_finite();
            let give = if asks[r].give.is_finite() { asks[r].give.max(0.0) } else { 0.0 };
            self.stuck[r] = !moves && give == 0.0;
            self.diagonal[r] = if moves { own + give } else { give };
            if self.stuck[r] {
                self.diagonal[r] = if self.bound[r] > 0.0 { self.bound[r] } else { 1.0 };
            }
            p.root[r] = self.diagonal[r].sqrt();
        }
        report.stuck = self.stuck.iter().filter(|s| **s).count();
        for r in 0..n {
            for s in 0..r {
                // Symmetric up to the rounding of the response.
                let both = 0.5 * (w[r * n + s] + w[s * n + r]) / (p.root[r] * p.root[s]);
                let both = if self.stuck[r] || self.stuck[s] { 0.0 } else { both };
                (p.a[r * n + s], p.a[s * n + r]) = (both, both);
            }
            p.a[r * n + r] = 1.0;
            p.curves[r] = Curve::new(&asks[r], p.root[r]);
            p.lambda[r] = force[r] * p.root[r];
            if self.stuck[r] {
                let stalled = stall(&p.curves[r]);
                p.curves[r] = Curve { least: stalled, most: stalled, ..p.curves[r] };
            }
        }
        let diagonal = &self.diagonal;
        p.solve(work.regularisation, |r| asks[r].give / diagonal[r], &work.work);
        report.rounds = p.rounds;
        for r in 0..n {
            let (least, most) = asks[r].push.range();
            force[r] = (p.lambda[r] / p.root[r]).min(most).max(least);
        }
    }

    /// By gradient steps; the diagonal is asked for where no bound of it is known.
    fn iterate(
        &mut self,
        lower: &mut dyn Lower,
        rows: &UpperRows,
        asks: &[Ask],
        force: &mut [f64],
        work: &UpperWork,
        report: &mut UpperReport,
    ) {
        for r in 0..force.len() {
            if self.bound[r] == 0.0 {
                self.push.fill([0.0; 6]);
                rows.add(r, 1.0, &mut self.push);
                lower.respond(&self.push, &mut self.motion);
                report.responses += 1;
                self.diagonal[r] = rows.change(r, &self.motion).max(0.0) + asks[r].give;
            }
            self.stuck[r] = !(self.diagonal[r] > 0.0);
            if self.stuck[r] {
                self.diagonal[r] = 1.0;
                force[r] = stall(&Curve::new(&asks[r], 1.0));
            }
        }
        report.stuck = self.stuck.iter().filter(|s| **s).count();
        let (push, motion) = (&mut self.push, &mut self.motion);
        let mut respond = |lambda: &[f64], y: &mut [f64]| {
            push.fill([0.0; 6]);
            for r in 0..lambda.len() {
                rows.add(r, lambda[r], push);
            }
            lower.respond(push, motion);
            for r in 0..lambda.len() {
                y[r] = rows.change(r, motion) + asks[r].give * lambda[r];
            }
        };
        self.gradient.solve(&mut respond, asks, &self.diagonal, &self.stuck, force, &work.work);
        report.rounds = self.gradient.iterations;
        report.responses += self.gradient.responses;
    }

    /// What the multipliers move, and how far that is from what was asked.
    fn finish(
        &mut self,
        lower: &mut dyn Lower,
        rows: &UpperRows,
        asks: &[Ask],
        force: &mut [f64],
        report: &mut UpperReport,
    ) {
        if force.is_empty() {
            return;
        }
        report.responses += self.answer(lower, rows, force, report.exact);
        let finite =
            force.iter().all(|f| f.is_finite()) && self.motion.as_flattened().iter().all(|x| x.is_finite());
        if !finite {
            // Something below or above is not a number: nothing is pushed, and the residual says so.
            force.fill(0.0);
            self.motion.fill([0.0; 6]);
            self.inner.fill(0.0);
            self.change.fill(0.0);
            report.residual = f64::NAN;
            return;
        }
        for r in 0..force.len() {
            self.change[r] = rows.change(r, &self.motion);
            let d = if self.diagonal[r] > 0.0 { self.diagonal[r] } else { 1.0 };
            let y = self.change[r] + asks[r].give * force[r];
            report.residual = larger(report.residual, Curve::new(&asks[r], 1.0).residual(force[r], y, d));
        }
    }
}

/// The multiplier of a row that cannot be moved: all it has, if that is limited, towards where it should be.
fn stall(curve: &Curve) -> f64 {
    let push = if curve.low > 0.0 {
        curve.most
    } else if curve.high < 0.0 {
        curve.least
    } else {
        0.0
    };
    if push.is_finite() { push } else { 0.0 }
}
