//! Contacts with friction over the response of what is below, together with bounds and limited forces.
//!
//! The first rows are scalar ones, each on its staircase (`upper/curve.rs`); then come blocks of three, a normal and two
//! tangents, with `y = W lambda`, `W = J R J^T`, and per block (Signorini and Coulomb, a nonlinear complementarity problem
//! with the true cone; De Saxce's form is the same thing):
//! ```text
//!     0 <= l_n  _|_  y_n - low >= 0,      |l_t| <= mu l_n,      y_t - target = -s l_t,  s >= 0,  s > 0 only on the cone
//! ```
//! A proximal Newton method (`proximal.rs`) solves them to rounding: over the motions of the solids where nothing joins
//! them or where many points touch a linkage (`bodies.rs`), else over the matrix `W` (`matrix.rs`). Redundant corners, mass ratios and chains, on which sweeps
//! crawl, cost it nothing. Where so many linkages touch each other that this would take seconds, block Gauss-Seidel over
//! a matrix per linkage (`parts.rs`). Where nothing is small, block Gauss-Seidel, each block solved exactly (`block.rs`): any sweep
//! may be the last, and whatever comes out lies in the cones and, since the response keeps the joints, moves no joint.

mod block;
mod bodies;
mod factor;
mod matrix;
mod parts;
mod proximal;
#[cfg(test)]
mod tests;

use super::upper::UpperRows;
use super::upper::curve::Curve;
use super::{FreeSolids, Lower, Work, larger};
use crate::rows::{Ask, HalfRow, dot6};
use block::Block;
#[cfg(test)]
use block::solve_block;
pub(crate) use block::{contact_residual, within};
pub(crate) use factor::elimination_cost;

/// What is asked: scalar rows first, then three rows per contact.
pub(crate) struct ConeProblem<'a> {
    pub rows: &'a UpperRows,
    /// Per row. Of a contact: at least `low` along the normal, `low` along the tangents.
    pub asks: &'a [Ask],
    /// Rows before the first contact.
    pub scalars: usize,
    /// Per contact.
    pub friction: &'a [f64],
    /// Resistances to turning, three rows each after those of all contacts: limits of the spin and of the turn across.
    pub resistance: &'a [[f64; 2]],
    /// Multipliers that act already: asks and the motion that is told count from there. Empty: none. Over a matrix per
    /// linkage alone.
    pub acting: &'a [f64],
}

impl ConeProblem<'_> {
    /// Blocks of three rows.
    fn blocks(&self) -> usize {
        self.friction.len() + self.resistance.len()
    }

    /// What acts already along a row.
    fn acts(&self, r: usize) -> f64 {
        self.acting.get(r).copied().unwrap_or(0.0)
    }
}

/// The receipt.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ConeReport {
    /// The largest distance from the laws, in the units of the rows.
    pub residual: f64,
    /// The largest friction beyond the cone, as a part of the largest force.
    pub cone_violation: f64,
    pub rounds: usize,
    pub responses: usize,
}

/// Scratch, and what the last answer moved.
#[derive(Default)]
pub(crate) struct Cones {
    /// The lower level's answer to the multipliers, per solid.
    pub motion: Vec<[f64; 6]>,
    push: Vec<[f64; 6]>,
    pushes: Vec<[f64; 6]>,
    motions: Vec<[f64; 6]>,
    /// `W`, formed; empty where it is not.
    w: Vec<f64>,
    y: Vec<f64>,
    curves: Vec<Curve>,
    /// Per row: what a unit of its multiplier does to itself at most.
    bound: Vec<f64>,
    blocks: Vec<Block>,
    /// Per end of each row: what a unit push along it moves.
    moved: Vec<HalfRow>,
    first: Vec<usize>,
    proximal: proximal::Proximal,
    bodies: bodies::Bodies,
    matrix: matrix::Scratch,
    parts: parts::Parts,
    /// Rows whose matrices by linkage are there.
    formed: usize,
    own: Vec<f64>,
    inner: Vec<f64>,
    /// The last answer was found over the motions of a linkage, whose matrix is there.
    linkage: bool,
    /// Contacts are to be swept over a matrix per linkage.
    pub by_linkage: bool,
}

/// Where the multipliers are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Newton's method over the formed matrix.
    Matrix,
    /// Newton's method over the motions of free solids.
    Bodies,
    /// Newton's method over the motions of solids that joints hold.
    Linkage,
    /// Block Gauss-Seidel over a matrix per linkage.
    Parts,
    /// Block Gauss-Seidel.
    Sweeps,
}

/// Rounds that Newton's method is expected to take.
const ROUNDS: f64 = 12.0;
/// Multiplications that a matrix may take which is formed because nothing else helped.
const MOST_FORMED: f64 = 1e7;
/// Multiplications of an exact solve that takes too long.
const MOST_EXACT: f64 = 1e9;
/// Rows over joints that are solved over the matrix in any case.
const FEW: usize = 45;
/// Free solids: more rows than this are swept, not factored.
const MOST_DENSE: usize = 240;
/// A row that moves less than this part of what it would if nothing held its solids does not move.
const STUCK: f64 = 1e-10;
/// Sweeps after Newton's method has failed, at most.
const SWEEPS: usize = 200;
/// Columns of `W` that are asked for together.
const COLUMNS: usize = 8;

impl Cones {
    /// `force` comes in as the warm start and goes out as the answer. `known`: rows and lower level are those of the last
    /// call.
    pub fn solve(
        &mut self,
        lower: &mut dyn Lower,
        p: &ConeProblem,
        force: &mut [f64],
        work: &Work,
        known: bool,
    ) -> ConeReport {
        let n = force.len();
        let mut report = ConeReport::default();
        for v in [&mut self.motion, &mut self.push] {
            v.clear();
            v.resize(lower.solids(), [0.0; 6]);
        }
        force.iter_mut().filter(|f| !f.is_finite()).for_each(|f| *f = 0.0);
        if n == 0 {
            return report;
        }
        self.bounds(lower, p, n);
        let way = self.choose(lower, p, n, known);
        self.linkage = way == Way::Linkage;
        if way == Way::Matrix && !(known && self.w.len() == n * n) {
            self.form(lower, p, n, &mut report);
        }
        if way == Way::Parts && self.formed != n {
            if let Some(held) = lower.held() {
                self.parts.form(p, &held);
            }
            self.formed = n;
        }
        if !matches!(way, Way::Matrix | Way::Parts) {
            self.w.clear();
            self.prepare_sweeps(lower, p, n);
        }
        self.prepare_blocks(p, n, way);
        self.curves.clear();
        self.curves.extend(p.asks[..p.scalars].iter().map(|a| Curve::new(a, 1.0)));
        self.clamp(p, force);
        let newton = !matches!(way, Way::Sweeps | Way::Parts);
        let solved = newton && self.by_newton(lower, p, force, work, way, &mut report);
        if !solved {
            self.solve_otherwise(lower, p, force, work, way, &mut report);
        }
        self.finish(lower, p, force, &mut report);
        report
    }

    fn bounds(&mut self, lower: &dyn Lower, p: &ConeProblem, n: usize) {
        self.bound.clear();
        for r in 0..n {
            let ends = p.rows.ends(r);
            let sum: Option<f64> = ends.iter().map(|(s, j)| lower.most_response(*s, j)).sum();
            self.bound.push(sum.unwrap_or(0.0));
        }
    }

    /// Where Newton's method is cheapest, by predicted operations.
    fn choose(&mut self, lower: &dyn Lower, p: &ConeProblem, n: usize, known: bool) -> Way {
        let alone = |r: usize| p.rows.ends(r).iter().all(|(s, j)| lower.respond_alone(*s, j).is_some());
        let Some(held) = lower.held() else {
            if !(0..n).all(alone) {
                return Way::Matrix;
            }
            let fits = p.scalars == 0 && self.bodies.prepare(p, lower);
            return match fits {
                true => Way::Bodies,
                false if n <= MOST_DENSE => Way::Matrix,
                false => Way::Sweeps,
            };
        };
        self.formed = if known { self.formed } else { 0 };
        if self.by_linkage && (self.formed == n || self.parts.prepare(p, &held).is_finite()) {
            return Way::Parts;
        }
        // Few rows cost as little either way, and over the matrix their own responses are known.
        if n <= FEW {
            return Way::Matrix;
        }
        let (rows, response) = (n as f64, lower.cost());
        let matrix = rows * response + ROUNDS * rows * rows * rows / 3.0;
        let prepared = known && self.linkage || self.bodies.prepare(p, lower);
        let motions = ROUNDS * (self.bodies.cost() as f64 + response);
        let least = if prepared { matrix.min(motions) } else { matrix };
        // What would take seconds is swept, exactly or not.
        if least > MOST_EXACT && (self.formed == n || self.parts.prepare(p, &held) <= least) {
            return Way::Parts;
        }
        if motions < matrix && prepared { Way::Linkage } else { Way::Matrix }
    }

    /// What Newton's method could not decide.
    fn solve_otherwise(
        &mut self,
        lower: &mut dyn Lower,
        p: &ConeProblem,
        force: &mut [f64],
        work: &Work,
        way: Way,
        report: &mut ConeReport,
    ) {
        let n = force.len();
        match way {
            Way::Matrix => self.by_matrix(p, force, work, report),
            // The same over the matrix, where that is small enough; else what was found is the answer.
            Way::Linkage if n <= MOST_DENSE && n as f64 * lower.cost() < MOST_FORMED => {
                self.form(lower, p, n, report);
                self.prepare_blocks(p, n, Way::Matrix);
                self.clamp(p, force);
                if !self.by_newton(lower, p, force, work, Way::Matrix, report) {
                    self.by_matrix(p, force, work, report);
                }
            }
            Way::Linkage => {}
            Way::Parts => self.by_parts(p, force, work, report),
            Way::Bodies | Way::Sweeps => self.by_sweeps(p, force, work, report),
        }
    }

    /// `W`, some columns at a time.
    fn form(&mut self, lower: &mut dyn Lower, p: &ConeProblem, n: usize, report: &mut ConeReport) {
        let solids = lower.solids();
        self.w.clear();
        self.w.resize(n * n, 0.0);
        for v in [&mut self.pushes, &mut self.motions] {
            v.clear();
            v.resize(COLUMNS.min(n) * solids, [0.0; 6]);
        }
        for first in (0..n).step_by(COLUMNS) {
            let count = COLUMNS.min(n - first);
            for k in 0..count {
                p.rows.add(first + k, 1.0, &mut self.pushes[k * solids..][..solids]);
            }
            let own = lower.inner().len();
            self.inner.resize(COLUMNS * own, 0.0);
            let (pushes, motions) = (&self.pushes[..count * solids], &mut self.motions[..count * solids]);
            lower.respond_many(pushes, motions, &mut self.inner[..count * own]);
            report.responses += count;
            for k in 0..count {
                let (r, motion) = (first + k, &self.motions[k * solids..][..solids]);
                for s in 0..n {
                    self.w[r * n + s] = p.rows.change(s, motion);
                }
                for (solid, _) in p.rows.ends(r) {
                    self.pushes[k * solids + solid] = [0.0; 6];
                }
            }
        }
        for r in 0..n {
            for s in 0..r {
                // Symmetric up to the rounding of the response.
                let both = 0.5 * (self.w[r * n + s] + self.w[s * n + r]);
                (self.w[r * n + s], self.w[s * n + r]) = (both, both);
            }
        }
    }

    /// What rows move by themselves, as if nothing held their solids.
    fn prepare_sweeps(&mut self, lower: &dyn Lower, p: &ConeProblem, n: usize) {
        self.moved.clear();
        self.first.clear();
        let free = lower.held().map(|held| FreeSolids { masses: held.masses });
        let lower = free.as_ref().map_or(lower, |free| free);
        for r in 0..n {
            self.first.push(self.moved.len());
            let ends = p.rows.ends(r);
            self.moved.extend(ends.iter().map(|(s, j)| lower.respond_alone(*s, j).unwrap_or_default()));
        }
    }

    /// `W` of rows `r` and `s`.
    fn entry(&self, p: &ConeProblem, n: usize, dense: bool, r: usize, s: usize) -> f64 {
        if dense {
            return self.w[r * n + s];
        }
        let mut sum = 0.0;
        for (k, (solid, _)) in p.rows.ends(r).iter().enumerate() {
            for (other, j) in p.rows.ends(s) {
                if other == solid {
                    sum += dot6(j, &self.moved[self.first[r] + k]);
                }
            }
        }
        sum
    }

    fn prepare_blocks(&mut self, p: &ConeProblem, n: usize, way: Way) {
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.clear();
        for k in 0..p.blocks() {
            let r = p.scalars + 3 * k;
            let mut d = [[0.0; 3]; 3];
            for i in 0..3 {
                for j in 0..3 {
                    d[i][j] = match way {
                        Way::Parts => self.parts.entry(p.scalars + k, i, j),
                        _ => self.entry(p, n, way == Way::Matrix, r + i, r + j),
                    };
                }
            }
            let give = p.asks[r].give;
            let most = self.bound[r..r + 3].iter().fold(0.0, |m: f64, b| m.max(*b));
            for (i, row) in d.iter_mut().enumerate() {
                row[i] += 1e-12 * most;
            }
            let stuck = !(d[0][0] > STUCK * self.bound[r].max(1e-300));
            d[0][0] += give;
            blocks.push(match p.friction.get(k) {
                Some(friction) => Block::new(d, *friction, stuck).coated(give),
                None => Block::resistance(d, p.resistance[k - p.friction.len()], stuck),
            });
        }
        self.blocks = blocks;
    }

    /// Brings a warm start into what is allowed.
    fn clamp(&self, p: &ConeProblem, force: &mut [f64]) {
        for (f, c) in force.iter_mut().zip(&self.curves) {
            *f = f.min(c.most).max(c.least);
        }
        for (k, b) in self.blocks.iter().enumerate() {
            let r = p.scalars + 3 * k;
            b.project(&mut force[r..r + 3]);
        }
    }

    /// Newton's method. True: there is nothing left to do.
    fn by_newton(
        &mut self,
        lower: &mut dyn Lower,
        p: &ConeProblem,
        force: &mut [f64],
        work: &Work,
        way: Way,
        report: &mut ConeReport,
    ) -> bool {
        let n = force.len();
        let dense = way == Way::Matrix;
        self.own.clear();
        self.own.extend((0..p.scalars).map(|r| if dense { self.w[r * n + r] } else { self.bound[r] }));
        let laws = proximal::Laws { p, curves: &self.curves, blocks: &self.blocks, own: &self.own };
        let Self { bodies, proximal, moved, first, w, matrix, push, motion, .. } = self;
        let found = match way {
            Way::Matrix => proximal.solve(&laws, &mut matrix::Forces { p, w, scratch: matrix }, force, work),
            Way::Linkage => {
                let space = &mut bodies::Linkage { bodies, p, lower, push, motion };
                proximal.solve(&laws, space, force, work)
            }
            _ => proximal.solve(&laws, &mut bodies::Motions { bodies, p, moved, first }, force, work),
        };
        report.rounds += found.rounds;
        !(found.residual > proximal::NEAR * work.tolerance) || work.is_over()
    }

    /// Sweeps over the formed matrix; the best counts.
    fn by_matrix(&mut self, p: &ConeProblem, force: &mut [f64], work: &Work, report: &mut ConeReport) {
        let n = force.len();
        let most = work.iterations.min(SWEEPS).min(1 + 2_000_000 / (n * n).max(1));
        self.multiply(p, force);
        let first = self.residual(p, force);
        let mut best = std::mem::take(&mut self.inner);
        best.clear();
        best.extend_from_slice(force);
        for _ in 0..most {
            let worst = self.sweep_matrix(p, force);
            report.rounds += 1;
            if !(worst > work.tolerance) || work.is_over() {
                break;
            }
        }
        self.multiply(p, force);
        if !(self.residual(p, force) < first) {
            force.copy_from_slice(&best);
        }
        self.inner = best;
    }

    /// Sweeps over the matrices of the linkages.
    fn by_parts(&mut self, p: &ConeProblem, force: &mut [f64], work: &Work, report: &mut ConeReport) {
        self.parts.start(|r| force[r] - p.acts(r));
        let laws = parts::Laws { p, curves: &self.curves, blocks: &self.blocks, bound: &self.bound };
        for k in 0..work.iterations.min(SWEEPS) {
            report.rounds += 1;
            if !(self.parts.sweep(&laws, force, k % 2 == 0) > work.tolerance) || work.is_over() {
                break;
            }
        }
    }

    /// `y = W lambda` and the give of scalar rows.
    fn multiply(&mut self, p: &ConeProblem, force: &[f64]) {
        let n = force.len();
        self.y.clear();
        for r in 0..n {
            let row = &self.w[r * n..(r + 1) * n];
            let sum: f64 = row.iter().zip(force).map(|(w, f)| w * f).sum();
            self.y.push(sum + p.asks[r].give * force[r]);
        }
    }

    /// One sweep over the formed matrix; the largest step, in the units of the rows.
    fn sweep_matrix(&mut self, p: &ConeProblem, force: &mut [f64]) -> f64 {
        let (n, mut worst) = (force.len(), 0.0);
        for r in 0..p.scalars {
            let d = self.w[r * n + r] + p.asks[r].give;
            if !(d > STUCK * self.bound[r]) {
                continue;
            }
            let next = self.curves[r].nearest(force[r] - self.y[r] / d, d);
            let step = next - force[r];
            worst = larger(worst, step.abs() * d);
            force[r] = next;
            add(&mut self.y, &self.w[r * n..(r + 1) * n], step);
            self.y[r] += p.asks[r].give * step;
        }
        for k in 0..self.blocks.len() {
            let r = p.scalars + 3 * k;
            let low = [p.asks[r].low, p.asks[r + 1].low, p.asks[r + 2].low];
            let y = [self.y[r], self.y[r + 1], self.y[r + 2]];
            let had = [force[r], force[r + 1], force[r + 2]];
            let next = self.blocks[k].next(&y, &low, &had);
            for i in 0..3 {
                let step = next[i] - had[i];
                worst = larger(worst, step.abs() * self.blocks[k].own(i));
                if step != 0.0 {
                    force[r + i] = next[i];
                    add(&mut self.y, &self.w[(r + i) * n..(r + i + 1) * n], step);
                    self.y[r + i] += p.asks[r + i].give * step;
                }
            }
        }
        worst
    }

    /// The largest distance from the laws, by `y` as it stands.
    fn residual(&self, p: &ConeProblem, force: &[f64]) -> f64 {
        let mut worst = 0.0;
        for r in 0..p.scalars {
            let d = self.bound[r].max(f64::MIN_POSITIVE) + p.asks[r].give;
            worst = larger(worst, self.curves[r].residual(force[r], self.y[r], d));
        }
        for (k, b) in self.blocks.iter().enumerate() {
            let r = p.scalars + 3 * k;
            let low = [p.asks[r].low, p.asks[r + 1].low, p.asks[r + 2].low];
            worst = larger(worst, b.residual(&self.y[r..r + 3], &low, &force[r..r + 3]));
        }
        worst
    }

    /// Sweeps over solids that only their own pushes move.
    fn by_sweeps(&mut self, p: &ConeProblem, force: &mut [f64], work: &Work, report: &mut ConeReport) {
        let n = force.len();
        // Warm from the step before, some dozens do; few points may take more.
        let most = work.iterations.min((600_000 / n).clamp(25, 5000));
        for r in 0..n {
            let f = force[r];
            self.move_by(p, r, f);
        }
        let (mut best, mut since) = (f64::INFINITY, 0);
        for _ in 0..most {
            report.rounds += 1;
            let worst = self.sweep_solids(p, force);
            since = if worst < 0.9 * best { 0 } else { since + 1 };
            best = best.min(worst);
            if !(worst > work.tolerance) || since > 400 || work.is_over() {
                break;
            }
        }
        self.y.clear();
        for r in 0..n {
            let y = p.rows.change(r, &self.motion) + p.asks[r].give * force[r];
            self.y.push(y);
        }
    }

    fn sweep_solids(&mut self, p: &ConeProblem, force: &mut [f64]) -> f64 {
        let mut worst = 0.0;
        for r in 0..p.scalars {
            let d = self.bound[r] + p.asks[r].give;
            if !(d > 0.0) {
                continue;
            }
            let y = p.rows.change(r, &self.motion) + p.asks[r].give * force[r];
            let next = self.curves[r].nearest(force[r] - y / d, d);
            let step = next - force[r];
            worst = larger(worst, step.abs() * d);
            force[r] = next;
            self.move_by(p, r, step);
        }
        for k in 0..self.blocks.len() {
            let r = p.scalars + 3 * k;
            let low = [p.asks[r].low, p.asks[r + 1].low, p.asks[r + 2].low];
            let had = [force[r], force[r + 1], force[r + 2]];
            let y = std::array::from_fn(|i| p.rows.change(r + i, &self.motion) + p.asks[r + i].give * had[i]);
            let next = self.blocks[k].next(&y, &low, &had);
            for i in 0..3 {
                let step = next[i] - had[i];
                if step != 0.0 {
                    worst = larger(worst, step.abs() * self.blocks[k].own(i));
                    force[r + i] = next[i];
                    self.move_by(p, r + i, step);
                }
            }
        }
        worst
    }

    fn move_by(&mut self, p: &ConeProblem, r: usize, step: f64) {
        let from = self.first[r];
        for (k, (solid, _)) in p.rows.ends(r).iter().enumerate() {
            for (x, m) in self.motion[*solid].iter_mut().zip(&self.moved[from + k]) {
                *x += m * step;
            }
        }
    }

    /// What the multipliers move, and how far that is from the laws.
    fn finish(&mut self, lower: &mut dyn Lower, p: &ConeProblem, force: &mut [f64], report: &mut ConeReport) {
        self.clamp(p, force);
        self.push.fill([0.0; 6]);
        for (r, f) in force.iter().enumerate() {
            p.rows.add(r, *f - p.acts(r), &mut self.push);
        }
        lower.respond(&self.push, &mut self.motion);
        report.responses += 1;
        let sound = self.motion.as_flattened().iter().all(|x| x.is_finite());
        if !sound || force.iter().any(|f| !f.is_finite()) {
            (0..force.len()).for_each(|r| force[r] = p.acts(r));
            self.motion.fill([0.0; 6]);
            report.residual = f64::NAN;
            return;
        }
        self.y.clear();
        for (r, f) in force.iter().enumerate() {
            let y = p.rows.change(r, &self.motion) + p.asks[r].give * f;
            self.y.push(y);
        }
        report.residual = self.residual(p, force);
        let blocks = &force[p.scalars..];
        let most = blocks.iter().fold(0.0_f64, |m, f| m.max(f.abs()));
        for (f, mu) in blocks.chunks_exact(3).zip(p.friction) {
            let over = (f[1] * f[1] + f[2] * f[2]).sqrt() - mu * f[0];
            if over > 0.0 {
                report.cone_violation = report.cone_violation.max(over / most);
            }
        }
    }
}

fn add(y: &mut [f64], column: &[f64], step: f64) {
    y.iter_mut().zip(column).for_each(|(y, w)| *y += w * step);
}
