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

use super::{LinearSolver, Work};
use crate::rows::{HalfRow, Masses, Rows, dot6};

/// What responds to a push. Linear, symmetric, and never moving against the push.
pub trait Lower {
    /// Number of solids: the length of every slice of wrenches and motions.
    fn solids(&self) -> usize;

    /// `out = R push`: a wrench (force, torque about the centre) per solid in, a motion per solid out.
    fn respond(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]]);

    /// Several pushes one after the other in one slice: for answers that cost less together.
    fn respond_many(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]]) {
        let n = self.solids().max(1);
        for (push, out) in push.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
            self.respond(push, out);
        }
    }

    /// The motion of `solid`, if a push on it moves nothing else: lets the upper level sweep over its rows one by one.
    fn respond_alone(&self, _solid: usize, _push: &HalfRow) -> Option<HalfRow> {
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
}

/// Solids held by rows that are never let go: the response of a linkage.
pub struct Jointed<'a> {
    solver: &'a mut dyn LinearSolver,
    rows: &'a Rows,
    masses: &'a Masses,
    active: &'a [bool],
    softness: &'a [f64],
    cost: f64,
    scratch: &'a mut JointedScratch,
}

/// One correction of a solution by a factor with eight good digits leaves rounding; one more for what cancels: a push that
/// is nearly all held leaves its rounding behind.
const CORRECTIONS: usize = 3;

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
        Self { solver, rows, masses, active, softness, cost, scratch }
    }

    /// Per lower row: its multipliers in answer to the last push.
    pub fn reaction(&self) -> &[f64] {
        &self.scratch.reaction
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
            most = super::larger(most, s.left[r].abs());
        }
        most
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
        let mut before = self.measure(out);
        for _ in 0..CORRECTIONS {
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
            let left = self.measure(out);
            if !(left < 0.5 * before) {
                break;
            }
            before = left;
        }
    }

    /// What joints leave of it is less.
    fn most_response(&self, solid: usize, push: &HalfRow) -> Option<f64> {
        FreeSolids { masses: self.masses }.most_response(solid, push)
    }

    fn cost(&self) -> f64 {
        2.0 * (self.cost + 24.0 * self.rows.len() as f64) + 12.0 * self.masses.len() as f64
    }
}
