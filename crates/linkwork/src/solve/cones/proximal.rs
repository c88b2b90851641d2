//! The laws of contact by a proximal point method: Newton's method on soft ground that is made harder and harder.
//!
//! A point's force follows from its motion and a guess `c` (augmented Lagrangian; Alart and Curnier 1991):
//! ```text
//!     l_n = max(0, c_n - rho v_n),    l_t = c_t - rho v_t, shortened to mu l_n,    v = J u - low
//! ```
//! and scalar rows have the proximal map of their staircase. `u = R J^T l(u)` is solved by Newton's method, then `c` becomes
//! `l`. Where corners are redundant this keeps to the force nearest to the guess, and no matrix is ever singular. Small
//! `rho` is soft ground, on which Newton's method hardly fails.
//!
//! Coulomb's law is not the slope of anything, and Newton's method may circle on it. With the limit of friction *lagged*,
//! that of the guess, the motion is where a convex function is least, and is always found; so friction is lagged where
//! the true law leads astray, until it does not.
//!
//! What `u` is, is the space's affair: motions of solids (`bodies.rs`) or forces over a formed matrix (`matrix.rs`).

use super::block::{Block, length, within};
use super::{ConeProblem, Curve, larger};
use crate::solve::Work;

/// Where Newton's method takes place.
pub(super) trait Space {
    /// The unknowns that belong to forces: what these move.
    fn place(&mut self, force: &[f64], x: &mut Vec<f64>);
    /// What the rows have of it.
    fn rows(&self, x: &[f64], y: &mut Vec<f64>);
    /// The metric, in which the problem with lagged friction is convex, times `x`.
    fn weigh(&self, x: &[f64], out: &mut Vec<f64>);
    /// Both at once.
    fn rows_and_weigh(&self, x: &[f64], y: &mut Vec<f64>, weighed: &mut Vec<f64>) {
        self.weigh(x, weighed);
        self.rows(x, y);
    }
    /// A round costs more than the digits that hard ground takes from the answer are worth.
    fn is_dear(&self) -> bool {
        true
    }
    /// Newton's step for what is missed; false where there is none.
    fn step(&mut self, slopes: &Slopes, off: &[f64], weighed: &[f64], step: &mut Vec<f64>) -> bool;
}

/// By how much forces fall when rows move on: per scalar row, and per point.
#[derive(Default)]
pub(super) struct Slopes {
    pub scalars: Vec<f64>,
    pub points: Vec<[[f64; 3]; 3]>,
}

/// The rows that are to be met.
pub(super) struct Laws<'a> {
    pub p: &'a ConeProblem<'a>,
    pub curves: &'a [Curve],
    pub blocks: &'a [Block],
    /// Per scalar row: its response to itself.
    pub own: &'a [f64],
}

impl Laws<'_> {
    /// How far forces are from the laws if the rows have `y` of them; in the units of the rows.
    pub fn residual(&self, force: &[f64], y: &[f64]) -> f64 {
        let p = self.p;
        let mut worst = 0.0;
        for (r, curve) in self.curves.iter().enumerate() {
            let give = p.asks[r].give;
            let d = self.own[r].max(f64::MIN_POSITIVE) + give;
            worst = larger(worst, curve.residual(force[r], y[r] + give * force[r], d));
        }
        for (k, b) in self.blocks.iter().enumerate() {
            let r = p.scalars + 3 * k;
            let low = std::array::from_fn(|i| p.asks[r + i].low);
            let with = [y[r] + p.asks[r].give * force[r], y[r + 1], y[r + 2]];
            worst = larger(worst, b.residual(&with, &low, &force[r..r + 3]));
        }
        worst
    }
}

/// How it ended.
pub(super) struct Found {
    /// Newton steps.
    pub rounds: usize,
    /// The distance from the laws that is left.
    pub residual: f64,
}

/// Scratch.
#[derive(Default)]
pub(super) struct Proximal {
    x: Vec<f64>,
    base: Vec<f64>,
    start: Vec<f64>,
    step: Vec<f64>,
    /// What `x` misses, and that by the metric.
    off: Vec<f64>,
    weighed: Vec<f64>,
    placed: Vec<f64>,
    y: Vec<f64>,
    center: Vec<f64>,
    force: Vec<f64>,
    best: Vec<f64>,
    slopes: Slopes,
    ways: Vec<Way>,
}

/// Hardness of the ground without a guess, with one, and at last, in units of a row's own response; its growth.
const SOFT: f64 = 30.0;
const WARM: f64 = 1e3;
const HARD: f64 = 1e6;
const GROWTH: f64 = 10.0;
/// Guesses, Newton steps per guess, and halvings of a step.
const GUESSES: usize = 60;
const NEWTON: usize = 12;
const HALVINGS: usize = 4;
/// Guesses that do not halve what is left, next to the tolerance (in units of it): that is rounding, and no guess will.
const STALLED: usize = 4;
pub(super) const NEAR: f64 = 5.0;

impl Proximal {
    /// Improves `force`, keeping the best.
    pub fn solve(&mut self, laws: &Laws, space: &mut dyn Space, force: &mut [f64], work: &Work) -> Found {
        let mut spent = 0;
        let warm = force.iter().any(|f| *f != 0.0);
        let mut rho = if warm { WARM } else { SOFT };
        for v in [&mut self.center, &mut self.best] {
            v.clear();
            v.extend_from_slice(force);
        }
        space.place(force, &mut self.x);
        space.rows(&self.x, &mut self.y);
        let mut best = laws.residual(force, &self.y);
        let (mut bold, mut before, mut stalled) = (warm, best, 0);
        for _ in 0..GUESSES {
            let rounding = stalled >= STALLED && best <= NEAR * work.tolerance;
            if !(best > work.tolerance) || rounding || work.is_over() {
                break;
            }
            if bold {
                self.start.clone_from(&self.x);
            }
            let law = if bold { Law::Coulomb } else { Law::Lagged };
            // Forces that are a guess still need no more.
            let aim = (0.03 * best).max(0.1 * work.tolerance);
            let had = spent;
            let found = self.newton(laws, space, Ground { rho, law }, aim, work, &mut spent);
            // One step did it: who pushes and who slides is settled, and only the softness of the ground is in the way.
            let settled = space.is_dear() && spent <= had + 1;
            space.place(&self.force, &mut self.placed);
            space.rows(&self.placed, &mut self.y);
            let residual = laws.residual(&self.force, &self.y);
            let better = residual < best;
            // Hard ground is for what soft ground hardly improves: contacts that carry each other over long ways.
            let slow = !(residual < 0.1 * before);
            before = residual;
            stalled = if residual < 0.5 * best { 0 } else { stalled + 1 };
            if better {
                self.best.copy_from_slice(&self.force);
                best = residual;
            }
            if bold && !better && !found {
                // Back, and on with lagged friction.
                self.x.clone_from(&self.start);
                bold = false;
            } else {
                self.center.copy_from_slice(&self.force);
                rho = match found {
                    true if slow || settled => (rho * GROWTH).min(HARD),
                    true => rho,
                    false => (rho / GROWTH).max(SOFT),
                };
                bold = found;
            }
        }
        force.copy_from_slice(&self.best);
        Found { rounds: spent, residual: best }
    }

    /// Newton's method from `x` as it is, with the guess as it is. True: nothing is missed beyond the tolerance.
    fn newton(
        &mut self,
        laws: &Laws,
        space: &mut dyn Space,
        ground: Ground,
        tolerance: f64,
        work: &Work,
        spent: &mut usize,
    ) -> bool {
        self.ways.clear();
        self.ways.resize(laws.blocks.len(), Way::default());
        let mut miss = self.evaluate(laws, space, ground);
        let tolerance = tolerance.max(1e-13 * miss);
        for _ in 0..NEWTON {
            if !(miss > tolerance) {
                return true;
            }
            *spent += 1;
            if work.is_over() || !space.step(&self.slopes, &self.off, &self.weighed, &mut self.step) {
                return false;
            }
            self.base.clone_from(&self.x);
            miss = match ground.law {
                Law::Lagged => self.descend(laws, space, ground),
                Law::Coulomb => self.shorten(laws, space, ground, miss),
            };
        }
        !(miss > tolerance)
    }

    /// A share of the step; what is missed there.
    fn go(&mut self, share: f64, laws: &Laws, space: &mut dyn Space, ground: Ground) -> f64 {
        for ((x, from), d) in self.x.iter_mut().zip(&self.base).zip(&self.step) {
            *x = from - share * d;
        }
        self.evaluate(laws, space, ground)
    }

    /// Along the step until less is missed.
    fn shorten(&mut self, laws: &Laws, space: &mut dyn Space, ground: Ground, had: f64) -> f64 {
        let mut share = 1.0;
        for _ in 0..HALVINGS {
            let miss = self.go(share, laws, space, ground);
            if miss < had {
                return miss;
            }
            share *= 0.5;
        }
        self.go(share, laws, space, ground)
    }

    /// Along the step to where the convex function is least: its slope grows along the way.
    fn descend(&mut self, laws: &Laws, space: &mut dyn Space, ground: Ground) -> f64 {
        let first = self.falls();
        let (mut low, mut high, mut share) = ((0.0, first), None, 1.0);
        let mut miss = f64::INFINITY;
        for _ in 0..8 {
            miss = self.go(share, laws, space, ground);
            let falls = self.falls();
            if falls.abs() <= 0.3 * first.abs() || (falls > 0.0 && share >= 1.0) {
                break;
            }
            if falls > 0.0 {
                low = (share, falls);
            } else {
                high = Some((share, falls));
            }
            let Some(end) = high else { break };
            let secant = low.0 + (end.0 - low.0) * low.1 / (low.1 - end.1);
            let (from, to) = (low.0 + 0.1 * (end.0 - low.0), low.0 + 0.9 * (end.0 - low.0));
            // Not `clamp`, which panics on NaN.
            share = secant.max(from).min(to);
        }
        miss
    }

    /// How fast the convex function falls along the step.
    fn falls(&self) -> f64 {
        self.weighed.iter().zip(&self.step).map(|(g, d)| g * d).sum()
    }

    /// Forces that follow from `x`, their slopes, and what `x` lacks; the most of it, as the rows see.
    fn evaluate(&mut self, laws: &Laws, space: &mut dyn Space, ground: Ground) -> f64 {
        let p = laws.p;
        space.rows(&self.x, &mut self.y);
        self.force.clear();
        self.slopes.scalars.clear();
        self.slopes.points.clear();
        for (r, curve) in laws.curves.iter().enumerate() {
            let d = self.softness(laws.own[r], ground) + p.asks[r].give;
            let z = (self.softness(laws.own[r], ground) * self.center[r] - self.y[r]) / d;
            let l = if d.is_finite() { curve.nearest(z, d) } else { 0.0 };
            let (up, down) = (z + curve.low / d, z + curve.high / d);
            let free = l == up || l == down;
            self.force.push(l);
            self.slopes.scalars.push(if free { 1.0 / d } else { 0.0 });
        }
        for (k, b) in laws.blocks.iter().enumerate() {
            let r = p.scalars + 3 * k;
            let soft = self.softness((b.own(0) + b.own(1) + b.own(2)) / 3.0, ground);
            let v = std::array::from_fn(|i| self.y[r + i] - p.asks[r + i].low);
            let point = Point { soft, give: p.asks[r].give, friction: b.friction(), law: ground.law };
            let center = &self.center[r..r + 3];
            let (l, mut slope, sliding) = match &b.limits {
                _ if b.is_stuck() => Default::default(),
                Some(limits) => resist(limits, soft, center, &v),
                None => point.force(center, &v),
            };
            self.ways[k].note(&l, &mut slope, sliding);
            self.force.extend(l);
            self.slopes.points.push(slope);
        }
        space.place(&self.force, &mut self.placed);
        self.off.clear();
        self.off.extend(self.x.iter().zip(&self.placed).map(|(x, l)| x - l));
        space.rows_and_weigh(&self.off, &mut self.y, &mut self.weighed);
        self.y.iter().fold(0.0, |m, y| larger(m, y.abs()))
    }

    /// What the ground gives to a unit of force.
    fn softness(&self, own: f64, ground: Ground) -> f64 {
        if own > 0.0 { own / ground.rho } else { f64::INFINITY }
    }
}

#[derive(Clone, Copy)]
struct Ground {
    rho: f64,
    law: Law,
}

/// How friction follows the normal force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    /// Its limit is that of the guess: then the motions are where a convex function is least.
    Lagged,
    Coulomb,
}

/// Which way a point's friction acts. Where a step turned that round the secant of its law is taken instead of the
/// tangent, which knows nothing of what lies between.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    force: [f64; 2],
    turned: bool,
}

impl Way {
    fn note(&mut self, l: &[f64; 3], slope: &mut [[f64; 3]; 3], sliding: Option<f64>) {
        let along = self.force[0] * l[1] + self.force[1] * l[2];
        let sizes = length(self.force[0], self.force[1]) * length(l[1], l[2]);
        self.turned |= along < 0.5 * sizes;
        self.force = [l[1], l[2]];
        if let Some(secant) = sliding
            && self.turned
        {
            (slope[1], slope[2]) = ([0.0, secant, 0.0], [0.0, 0.0, secant]);
        }
    }
}

/// The torque of a resistance on soft ground: as [`Point::force`].
fn resist(
    limits: &[f64; 2],
    soft: f64,
    center: &[f64],
    v: &[f64; 3],
) -> ([f64; 3], [[f64; 3]; 3], Option<f64>) {
    let mut slope = [[0.0; 3]; 3];
    if !soft.is_finite() {
        return ([0.0; 3], slope, None);
    }
    let rho = 1.0 / soft;
    let z = [0, 1, 2].map(|i| center[i] - rho * v[i]);
    let l = within(limits, &z);
    slope[0][0] = if z[0] == l[0] { rho } else { 0.0 };
    let size = length(z[1], z[2]);
    if size <= limits[1] {
        (slope[1][1], slope[2][2]) = (rho, rho);
        return (l, slope, None);
    }
    let (dir, share) = ([z[1] / size, z[2] / size], limits[1] / size);
    for i in 0..2 {
        for j in 0..2 {
            slope[1 + i][1 + j] = rho * share * (f64::from(u8::from(i == j)) - dir[i] * dir[j]);
        }
    }
    (l, slope, (limits[1] > 0.0).then_some(rho * share))
}

/// A point on soft ground.
struct Point {
    soft: f64,
    /// What its own coat gives along the normal.
    give: f64,
    friction: f64,
    law: Law,
}

impl Point {
    /// The force for a guess and a motion beyond what is asked, minus its slope, and the secant where it slides.
    fn force(&self, center: &[f64], v: &[f64; 3]) -> ([f64; 3], [[f64; 3]; 3], Option<f64>) {
        let mut slope = [[0.0; 3]; 3];
        let lagged = self.law == Law::Lagged;
        let normal = 1.0 / (self.soft + self.give);
        let n = normal * (self.soft * center[0] - v[0]);
        if !self.soft.is_finite() || !(n > 0.0 || (lagged && center[0] > 0.0)) {
            return ([0.0; 3], slope, None);
        }
        slope[0][0] = if n > 0.0 { normal } else { 0.0 };
        let n = n.max(0.0);
        if self.friction == 0.0 {
            return ([n, 0.0, 0.0], slope, None);
        }
        let rho = 1.0 / self.soft;
        let z = [center[1] - rho * v[1], center[2] - rho * v[2]];
        let most = self.friction * if lagged { center[0].max(0.0) } else { n };
        let size = length(z[0], z[1]);
        if size <= most {
            (slope[1][1], slope[2][2]) = (rho, rho);
            return ([n, z[0], z[1]], slope, None);
        }
        let (dir, share) = ([z[0] / size, z[1] / size], most / size);
        for i in 0..2 {
            slope[1 + i][0] = if lagged { 0.0 } else { self.friction * slope[0][0] * dir[i] };
            for j in 0..2 {
                slope[1 + i][1 + j] = rho * share * (f64::from(u8::from(i == j)) - dir[i] * dir[j]);
            }
        }
        ([n, share * z[0], share * z[1]], slope, Some(rho * share))
    }
}
