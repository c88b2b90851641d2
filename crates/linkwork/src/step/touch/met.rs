//! How fast two things meet that do not touch yet when a substep begins.
//!
//! The velocity stage knows the speeds at the end of a substep, with all of its gravity in them; a ball is thrown back by
//! the speed with which it comes down, which has only that of the time before. Whoever took the end's speed would make energy
//! at every bounce; whoever took the start's would miss what joints, turns and other blows made of it meanwhile. So it is the
//! end's less what gravity gave after the touch.

use super::Contact;
use crate::math::Vector;
use crate::state::State;
use crate::step::Piece;

/// A point as the substep found it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::step) struct Met {
    normal: Vector,
    arms: [Vector; 2],
    gap: f64,
    /// Speed of approach, and what gravity alone would add to it in the substep.
    speed: f64,
    fall: f64,
    /// What gravity gave after the touch.
    pub later: f64,
}

impl Contact {
    /// Notes how the point is approached. It is met at the speed of free flight as far as its gap; what would come back
    /// within the substep rests.
    pub(super) fn approaches(&mut self, piece: &Piece, s: &State) {
        (self.impact, self.met) = (0.0, Met::default());
        if self.restitution == 0.0 {
            return;
        }
        let moves = self.solids.map(|i| !piece.m.solids()[i].is_fixed());
        let weight = |k: usize| if moves[k] { piece.m.gravity } else { Vector::ZERO };
        let pull = self.frame[0].dot(weight(0) - weight(1));
        let speed = -self.change(|i| (s.velocities[i], s.spins[i]))[0];
        let gap = self.gap.max(0.0);
        let fall = pull * piece.h;
        self.met = Met { normal: self.frame[0], arms: self.arms, gap, speed, fall, later: 0.0 };
        let impact = after(speed, pull, gap);
        if speed > 0.0 && impact > 0.5 * fall.abs() {
            self.impact = impact;
        }
    }

    /// What pushes though it seemed to go away came round: corners do, and what is far off is met elsewhere than where it is
    /// nearest. It came with the speed that its way took at the least.
    pub(super) fn has_come(&mut self, h: f64) {
        let speed = self.gap / h;
        if self.restitution > 0.0
            && self.impact == 0.0
            && self.applied[0] > 0.0
            && speed > 0.5 * self.met.fall.abs()
        {
            self.impact = speed;
        }
    }

    /// What gravity gave after the touch, `of` being the velocities with all of it. Joints may keep its solids from falling:
    /// only what came is counted.
    pub(super) fn fell_on(&self, h: f64, of: impl Fn(usize) -> (Vector, Vector)) -> f64 {
        let m = &self.met;
        if m.fall == 0.0 || self.impact == 0.0 {
            return 0.0;
        }
        let [one, two] = self.solids.map(of);
        let relative = two.0 + two.1.cross(m.arms[1]) - one.0 - one.1.cross(m.arms[0]);
        let end = -m.normal.dot(relative);
        let gain = ((end - m.speed) / m.fall).clamp(0.0, 1.0) * m.fall;
        m.speed + gain - after(m.speed, gain / h, m.gap)
    }
}

/// The speed after a way.
fn after(speed: f64, pull: f64, way: f64) -> f64 {
    (speed * speed + 2.0 * pull * way).max(0.0).sqrt()
}
