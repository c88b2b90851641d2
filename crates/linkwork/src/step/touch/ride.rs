//! How two solids have moved past each other where they touch, when both have turned.

use super::Contact;
use crate::math::{Rotation, Vector, exp, log};
use crate::state::State;

impl Contact {
    /// Change along the frame as both solids have gone from `start` to where they are in `s`.
    ///
    /// The arms are those in the middle of the turn that both have in common: what rides on a turntable goes round with it,
    /// and not straight on; what rolls keeps its point of contact below it.
    pub fn moved(&self, s: &State, start: &[(Vector, Rotation)]) -> [f64; 3] {
        let way =
            self.solids.map(|i| (s.centers[i] - start[i].0, log(s.rotations[i] * start[i].1.inverse())));
        let common = turn_in_common(way[0].1, way[1].1);
        let arms = if common == Vector::ZERO {
            self.arms
        } else {
            let half = exp(0.5 * common);
            self.arms.map(|arm| half * arm)
        };
        let [one, two] = way;
        let relative = two.0 + two.1.cross(arms[1]) - one.0 - one.1.cross(arms[0]);
        self.frame.map(|d| d.dot(relative))
    }
}

/// What two rotation vectors have in common: all where they are equal, nothing where one is zero or they are opposite.
fn turn_in_common(a: Vector, b: Vector) -> Vector {
    let along = a.dot(b);
    if along > 0.0 { (a + b) * (along / (a.length_squared() + b.length_squared())) } else { Vector::ZERO }
}
