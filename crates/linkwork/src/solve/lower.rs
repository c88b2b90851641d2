//! The lower level: anything that can say how it moves when it is pushed (Faure 1999, "any reacting object").
//!
//! The upper level ([`super::solve_upper`]) never looks inside. It hands a wrench per solid to [`Lower::respond`] and gets
//! the motion of every solid, which must be linear in the push, symmetric and passive: `f . respond(f) >= 0`. Two answers
//! are here:
//!
//! - [`FreeSolids`]: `x = M^-1 f`, a solid at a time;
//! - [`Jointed`]: `x = (1 - M^-1 J^T (A + S)^-1 J) M^-1 f` with `A = J M^-1 J^T`, by any solver that has factored the rows
//!   of the joints. `S` is the give of soft rows; where all are rigid, whatever comes out keeps `J x = 0`.
//!
//! A third may be anything, cloth or something scripted:
//!
//! ```
//! use linkwork::rows::{Ask, Push};
//! use linkwork::solve::{Lower, Upper, UpperRows, UpperWork, solve_upper};
//!
//! /// Solid 0 is a pendulum in closed form: a point of this mass at this arm from a pivot, free to turn about z alone.
//! struct Pendulum { mass: f64, arm: [f64; 2] }
//!
//! impl Lower for Pendulum {
//!     fn solids(&self) -> usize { 1 }
//!     fn respond(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]]) {
//!         let ([x, y], [fx, fy, _, _, _, tz]) = (self.arm, push[0]);
//!         let turn = (x * fy - y * fx + tz) / (self.mass * (x * x + y * y));
//!         out[0] = [-y * turn, x * turn, 0.0, 0.0, 0.0, turn];
//!     }
//! }
//!
//! // It hangs down and swings along +x. A wall asks that its x changes by -0.2 at least, and may only push.
//! let mut pendulum = Pendulum { mass: 2.0, arm: [0.0, -1.5] };
//! let mut rows = UpperRows::default();
//! rows.push(&[(0, [-1.0, 0.0, 0.0, 0.0, 0.0, 0.0])]);
//! let asks = [Ask { low: 0.2, high: f64::INFINITY, give: 0.0, push: Push::Positive }];
//! let (mut force, mut upper) = ([0.0], Upper::default());
//! let report = solve_upper(&mut pendulum, &rows, &asks, &mut force, &mut upper, &UpperWork::default());
//! assert!(report.exact && report.residual < 1e-12);
//! assert!((force[0] - 0.4).abs() < 1e-12); // the mass is 2, and the push is along its way
//! assert!((upper.motion[0][5] + 0.2 / 1.5).abs() < 1e-12);
//! ```

use super::{LinearSolver, Work, larger};
use crate::math::four::{Four, wide};
use crate::rows::{HalfRow, Masses, Rows, dot6};

/// What responds to a push. Linear, symmetric, and never moving against the push.
pub trait Lower {
    /// Number of solids: the length of every slice of wrenches and motions.
    fn solids(&self) -> usize;

    /// `out = R push`: a wrench (force, torque about the centre) per solid in, a motion per solid out.
    fn respond(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]]);

    /// Numbers behind the last answer that whoever pushed may want to know, added up as pushes are: the multipliers of
    /// joints, for example. As many in every answer.
    fn inner(&self) -> &[f64] {
        &[]
    }

    /// Several pushes one after the other in one slice, for answers that cost less together; `inner` takes what
    /// [`inner`](Self::inner) would tell after each. The bits of an answer must not depend on what was asked beside it.
    fn respond_many(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]], inner: &mut [f64]) {
        let (n, own) = (self.solids().max(1), self.inner().len());
        for (k, (push, out)) in push.chunks_exact(n).zip(out.chunks_exact_mut(n)).enumerate() {
            self.respond(push, out);
            inner[k * own..(k + 1) * own].copy_from_slice(self.inner());
        }
    }

    /// The motion of `solid`, if a push on it moves nothing else: lets the upper level sweep over its rows one by one.
    fn respond_alone(&self, _solid: usize, _push: &HalfRow) -> Option<HalfRow> {
        None
    }

    /// Masses and the rows that hold them, where there is nothing else to it: whoever looks for motions instead of forces
    /// sets up a matrix of them.
    fn held(&self) -> Option<Held<'_>> {
        None
    }

    /// Solids of different parts never move each other. Cheap to ask; one part for all where that is not known.
    fn part(&self, _solid: usize) -> usize {
        0
    }

    /// At least `push . R push` for a push on this solid alone, if that is cheap to know: rounding is told from motion by
    /// it, and iterations are scaled by it.
    fn most_response(&self, _solid: usize, _push: &HalfRow) -> Option<f64> {
        None
    }

    /// Roughly the multiplications of one response: what the choice between exact and iterative counts with.
    fn cost(&self) -> f64 {
        36.0 * self.solids() as f64
    }
}

/// Solids and the rows between them that are never let go.
#[derive(Clone, Copy)]
pub struct Held<'a> {
    /// Inverse masses.
    pub masses: &'a Masses,
    /// The rows, which of them take part (empty: all) and what they give way (empty: nothing).
    pub rows: &'a Rows,
    /// See `rows`.
    pub active: &'a [bool],
    /// See `rows`.
    pub softness: &'a [f64],
}

impl Held<'_> {
    /// Does the row take part?
    pub fn takes_part(&self, row: usize) -> bool {
        self.active.is_empty() || self.active[row]
    }
}

/// Solids that nothing holds: `x = M^-1 f`.
#[derive(Clone, Copy)]
pub struct FreeSolids<'a> {
    /// Inverse masses.
    pub masses: &'a Masses,
}

impl Lower for FreeSolids<'_> {
    fn solids(&self) -> usize {
        self.masses.len()
    }

    fn respond(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]]) {
        for (solid, (f, x)) in push.iter().zip(out).enumerate() {
            *x = accelerate(self.masses, solid, f);
        }
    }

    fn respond_alone(&self, solid: usize, push: &HalfRow) -> Option<HalfRow> {
        Some(accelerate(self.masses, solid, push))
    }

    fn part(&self, solid: usize) -> usize {
        solid
    }

    fn most_response(&self, solid: usize, push: &HalfRow) -> Option<f64> {
        Some(dot6(push, &accelerate(self.masses, solid, push)))
    }

    fn cost(&self) -> f64 {
        12.0 * self.masses.len() as f64
    }
}

/// `M^-1 f`; nothing moves what may not move, whatever the inertia says.
fn accelerate(masses: &Masses, solid: usize, f: &HalfRow) -> HalfRow {
    if masses.moves(solid) { masses.accelerate(solid, f) } else { [0.0; 6] }
}

/// Vectors that [`Jointed`] works in. Keep it between steps: then nothing is allocated twice.
#[derive(Clone, Debug, Default)]
pub struct JointedScratch {
    /// Per lower row: how far it is from being met, and then what is pushed against that.
    left: Vec<f64>,
    /// Multipliers of one correction, and all of them.
    change: Vec<f64>,
    /// Per lower row: its multipliers in answer to the last push.
    reaction: Vec<f64>,
    /// The same for four pushes at once, and per solid their pushes and motions.
    lefts: Vec<[f64; 4]>,
    changes: Vec<[f64; 4]>,
    reactions: Vec<[f64; 4]>,
    pulls: Vec<[Four; 6]>,
    motions: Vec<[Four; 6]>,
}

/// Solids held by rows that are never let go: the response of a linkage.
pub struct Jointed<'a> {
    solver: &'a mut dyn LinearSolver,
    rows: &'a Rows,
    masses: &'a Masses,
    active: &'a [bool],
    softness: &'a [f64],
    cost: f64,
    corrections: usize,
    scratch: &'a mut JointedScratch,
}

/// One correction of a solution by a factor with eight good digits leaves rounding; one more for what cancels: a push that
/// is nearly all held leaves its rounding behind.
const CORRECTIONS: usize = 3;
/// The same of a factor that a solve replaced by a regularised one: each correction takes away the more, the less rows depend
/// on others.
const REGULARISED: usize = 12;
/// What an answer may leave of the rows, as a share of what they would have moved without each other: rounding.
const ENOUGH: f64 = 1e-15;

impl<'a> Jointed<'a> {
    /// `solver` has factored these rows with this `active` mask (empty: all) and this softness (empty: all rigid). `cost`
    /// is what one solve takes, in multiplications.
    pub fn new(
        solver: &'a mut dyn LinearSolver,
        rows: &'a Rows,
        masses: &'a Masses,
        active: &'a [bool],
        softness: &'a [f64],
        cost: f64,
        scratch: &'a mut JointedScratch,
    ) -> Self {
        let n = rows.len();
        for v in [&mut scratch.left, &mut scratch.change, &mut scratch.reaction] {
            v.clear();
            v.resize(n, 0.0);
        }
        let corrections = if solver.has_changed() { REGULARISED } else { CORRECTIONS };
        Self { solver, rows, masses, active, softness, cost, corrections, scratch }
    }

    /// Answers as the factor gives them, unrefined: for who measures what comes of them and asks again.
    pub fn unrefined(self) -> Self {
        Self { corrections: 1, ..self }
    }

    /// `left = -(J x + S lambda)` of the rows that take part. Tells its largest entry.
    fn measure(&mut self, x: &[[f64; 6]]) -> f64 {
        let s = &mut *self.scratch;
        self.rows.apply(x, &mut s.left);
        let mut most = 0.0;
        for r in 0..s.left.len() {
            let takes_part = self.active.is_empty() || self.active[r];
            let give = self.softness.get(r).map_or(0.0, |give| give * s.reaction[r]);
            s.left[r] = if takes_part { -(s.left[r] + give) } else { 0.0 };
            most = larger(most, s.left[r].abs());
        }
        most
    }

    /// Answers at most four pushes. False: the solver takes them one by one only.
    fn respond_four(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]], inner: &mut [f64]) -> bool {
        let (n, rows) = (self.masses.len(), self.rows.len());
        let lanes = push.len() / n;
        let s = &mut *self.scratch;
        for v in [&mut s.lefts, &mut s.changes, &mut s.reactions] {
            v.clear();
            v.resize(rows, [0.0; 4]);
        }
        s.pulls.resize(n, [Four::default(); 6]);
        s.motions.resize(n, [Four::default(); 6]);
        for (i, pull) in s.pulls.iter_mut().enumerate() {
            let of = |l: usize, k: usize| if l < lanes { push[l * n + i][k] } else { 0.0 };
            *pull = std::array::from_fn(|k| Four(std::array::from_fn(|l| of(l, k))));
        }
        s.motions.fill([Four::default(); 6]);
        accelerate_four(self.masses, &s.pulls, [true; 4], &mut s.motions);
        let first =
            measure_four(self.rows, self.active, self.softness, &s.reactions, &s.motions, &mut s.lefts);
        let (mut before, mut goes) = (first, first.map(|m| m != 0.0));
        for _ in 0..self.corrections {
            if !goes.contains(&true) {
                break;
            }
            // Within reach: it is a motion along the rows.
            if !self.solver.substitute_four(&s.lefts, &mut s.changes, true) {
                return false;
            }
            for (sum, c) in s.reactions.iter_mut().zip(&s.changes) {
                (0..4).filter(|l| goes[*l]).for_each(|l| sum[l] += c[l]);
            }
            pull_four(self.rows, self.masses, &s.changes, &mut s.pulls);
            accelerate_four(self.masses, &s.pulls, goes, &mut s.motions);
            let left =
                measure_four(self.rows, self.active, self.softness, &s.reactions, &s.motions, &mut s.lefts);
            for l in 0..4 {
                goes[l] &= left[l] > ENOUGH * first[l] && left[l] < 0.5 * before[l];
            }
            before = left;
        }
        for l in 0..lanes {
            for (x, four) in out[l * n..(l + 1) * n].iter_mut().zip(&s.motions) {
                *x = four.map(|x| x.0[l]);
            }
            let reactions = inner[l * rows..(l + 1) * rows].iter_mut().zip(&s.reactions);
            reactions.for_each(|(r, four)| *r = four[l]);
        }
        true
    }
}

wide! {
    /// `left = -(J x + S lambda)` of the rows that take part, four motions at once. Tells the largest entry of each.
    fn measure_four(
        rows: &Rows,
        active: &[bool],
        softness: &[f64],
        reaction: &[[f64; 4]],
        x: &[[Four; 6]],
        left: &mut [[f64; 4]],
    ) -> [f64; 4] {
        let mut most = [0.0; 4];
        for g in &rows.groups {
            let [a, b] = g.solids.map(|i| &x[i]);
            for k in 0..g.count {
                let r = g.first + k;
                if !(active.is_empty() || active[r]) {
                    left[r] = [0.0; 4];
                    continue;
                }
                let (one, two) = (rows.half_row(g, k, 0), rows.half_row(g, k, 1));
                let mut sum = Four::default();
                for k in 0..6 {
                    sum += Four::all(one[k]) * a[k];
                    sum += Four::all(two[k]) * b[k];
                }
                if let Some(give) = softness.get(r) {
                    sum += Four::all(*give) * Four(reaction[r]);
                }
                left[r] = (-sum).0;
                for l in 0..4 {
                    most[l] = larger(most[l], left[r][l].abs());
                }
            }
        }
        most
    }
}

wide! {
    /// `J^T lambda` per solid, four times.
    fn pull_four(rows: &Rows, masses: &Masses, lambda: &[[f64; 4]], out: &mut [[Four; 6]]) {
        out.fill([Four::default(); 6]);
        for g in &rows.groups {
            for side in 0..2 {
                let solid = g.solids[side];
                if !masses.moves(solid) {
                    continue;
                }
                let mut sum = out[solid];
                for k in 0..g.count {
                    let (j, l) = (rows.half_row(g, k, side), Four(lambda[g.first + k]));
                    for k in 0..6 {
                        sum[k] += Four::all(j[k]) * l;
                    }
                }
                out[solid] = sum;
            }
        }
    }
}

wide! {
    /// `x += M^-1 f` of the lanes that go on.
    fn accelerate_four(masses: &Masses, f: &[[Four; 6]], goes: [bool; 4], x: &mut [[Four; 6]]) {
        for (i, (f, x)) in f.iter().zip(x).enumerate() {
            if !masses.moves(i) {
                continue;
            }
            let w = Four::all(masses.inverse_mass(i));
            let j = masses.upper_inverse_inertia(i).map(Four::all);
            let [fx, fy, fz, tx, ty, tz] = *f;
            let change = [
                fx * w,
                fy * w,
                fz * w,
                j[0] * tx + j[1] * ty + j[2] * tz,
                j[1] * tx + j[3] * ty + j[4] * tz,
                j[2] * tx + j[4] * ty + j[5] * tz,
            ];
            for k in 0..6 {
                let sum = x[k] + change[k];
                for l in 0..4 {
                    x[k].0[l] = if goes[l] { sum.0[l] } else { x[k].0[l] };
                }
            }
        }
    }
}

impl Lower for Jointed<'_> {
    fn solids(&self) -> usize {
        self.masses.len()
    }

    fn respond(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]]) {
        FreeSolids { masses: self.masses }.respond(push, out);
        self.scratch.reaction.fill(0.0);
        let inner = Work { iterations: 1000, tolerance: 0.0, out_of_time: None };
        let first = self.measure(out);
        let mut before = first;
        for round in 1..=self.corrections {
            if before == 0.0 {
                break;
            }
            let s = &mut *self.scratch;
            s.change.fill(0.0);
            // Within reach: it is a motion along the rows.
            if !self.solver.substitute(&s.left, &mut s.change, true) {
                self.solver.solve(&s.left, &mut s.change, &inner);
            }
            for (r, c) in s.reaction.iter_mut().zip(&s.change) {
                *r += c;
            }
            self.rows.apply_transposed(&self.scratch.change, self.masses, out);
            if round == self.corrections {
                break;
            }
            let left = self.measure(out);
            if !(left < 0.5 * before && left > ENOUGH * first) {
                break;
            }
            before = left;
        }
    }

    /// Per lower row: its multipliers in answer to the last push.
    fn inner(&self) -> &[f64] {
        &self.scratch.reaction
    }

    fn respond_many(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]], inner: &mut [f64]) {
        let (n, rows) = (self.masses.len().max(1), self.rows.len());
        let count = push.len() / n;
        let mut first = 0;
        while first < count {
            let last = count.min(first + 4);
            let (solids, own) = (first * n..last * n, first * rows..last * rows);
            if !self.respond_four(&push[solids.clone()], &mut out[solids], &mut inner[own]) {
                break;
            }
            first = last;
        }
        for k in first..count {
            self.respond(&push[k * n..(k + 1) * n], &mut out[k * n..(k + 1) * n]);
            inner[k * rows..(k + 1) * rows].copy_from_slice(&self.scratch.reaction);
        }
    }

    fn held(&self) -> Option<Held<'_>> {
        let Self { masses, rows, active, softness, .. } = *self;
        Some(Held { masses, rows, active, softness })
    }

    /// What joints leave of it is less.
    fn most_response(&self, solid: usize, push: &HalfRow) -> Option<f64> {
        FreeSolids { masses: self.masses }.most_response(solid, push)
    }

    fn cost(&self) -> f64 {
        2.0 * (self.cost + 24.0 * self.rows.len() as f64) + 12.0 * self.masses.len() as f64
    }
}
