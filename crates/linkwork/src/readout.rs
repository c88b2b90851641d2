//! What can be read off a joint: where it stands along and about its free directions, and how fast that changes.
//!
//! The numbers are those that `limit` and `drive` mean: `t1 t2 t3` is how far the second frame's point lies along the axes
//! of the first frame, `r1 r2 r3` how far the second frame is turned about them. Both are zero where the two frames
//! coincide, and positive where the second solid goes along the axis, or turns about it by the right-hand rule.
//!
//! ```
//! use linkwork::readout::{Coordinate, read};
//! use linkwork::{Frame, Joint, Mechanism, Solid, SolidId, State, Vector, math::exp};
//! let mut m = Mechanism::new();
//! let mut door = Solid::new("door");
//! door.spin = Vector::new(0.0, 2.0, 0.0);
//! let door = m.add_solid(door.turned(exp(Vector::Y * 0.5))).unwrap();
//! let pin = [SolidId::WORLD, door].map(|s| Frame::axis(s, Vector::ZERO, Vector::Y));
//! let hinge = m.add_joint(Joint::pin(pin[0], pin[1])).unwrap();
//! let all: Vec<Coordinate> = read(&m, &State::new(&m), hinge).collect();
//! assert_eq!(all[0].name, "r1");
//! assert!((all[0].value - 0.5).abs() < 1e-12 && (all[0].rate - 2.0).abs() < 1e-12);
//! ```

use crate::joint::{Direction, Joint, JointId};
use crate::math::{Vector, unit};
use crate::mechanism::Mechanism;
use crate::rows::{Ends, frame_twist};
use crate::state::State;

/// One number of a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coordinate {
    /// `t1` to `r3`; `length` of a distance joint.
    pub name: &'static str,
    /// An angle: radians, and between -pi and pi. Otherwise metres.
    pub is_angle: bool,
    /// Where it stands.
    pub value: f64,
    /// How fast that changes, per second.
    pub rate: f64,
}

/// The names of what [`read`] tells of a joint, in order.
pub fn names(joint: &Joint) -> impl Iterator<Item = &'static str> + '_ {
    free(joint).map(|d| d.map_or("length", Direction::word))
}

/// All free directions of a joint; of a distance joint its length.
pub fn read<'a>(m: &'a Mechanism, s: &State, joint: JointId) -> impl Iterator<Item = Coordinate> + 'a {
    let j = m.joint(joint);
    let ends = Ends::new(m, s, j);
    let [a, b] = j.frames.map(|f| f.solid.index());
    let spins = [s.spins[a], s.spins[b]];
    let speed = |k: usize, i: usize| s.velocities[i] + spins[k].cross(ends.p[k] - ends.c[k]);
    let (way, closing) = (ends.p[1] - ends.p[0], speed(1, b) - speed(0, a));
    free(j).map(move |direction| match direction {
        None => {
            let rate = unit(way).map_or(0.0, |n| n.dot(closing));
            Coordinate { name: "length", is_angle: false, value: way.length(), rate }
        }
        Some(d) if d.is_rotation() => {
            let (value, row) = frame_twist(&ends, d.axis());
            Coordinate { name: d.word(), is_angle: true, value, rate: row.dot(spins[1] - spins[0]) }
        }
        Some(d) => {
            let axis: Vector = ends.axis(0, d.axis());
            let rate = axis.dot(closing) + way.dot(spins[0].cross(axis));
            Coordinate { name: d.word(), is_angle: false, value: axis.dot(way), rate }
        }
    })
}

/// The directions that a joint leaves free; `None` stands for the length of a distance joint.
fn free(j: &Joint) -> impl Iterator<Item = Option<Direction>> + '_ {
    let length = j.distance.map(|_| None);
    let directions = Direction::ALL.into_iter().filter(|d| j.distance.is_none() && !j.lock.has(*d)).map(Some);
    length.into_iter().chain(directions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::{Frame, Mask};
    use crate::math::exp;
    use crate::{Solid, SolidId};

    /// Two solids at odd poses with odd motions, and the joint between odd frames.
    fn odd(joint: impl FnOnce(Frame, Frame) -> Joint) -> (Mechanism, JointId) {
        let mut m = Mechanism::new();
        let solid = |name: &str, k: f64| {
            let mut s =
                Solid::new(name).at(0.3 * k, -0.2, 0.7 - k).turned(exp(Vector::new(0.4 * k, 0.2, -0.3)));
            (s.velocity, s.spin) = (Vector::new(k, 0.5, -0.2), Vector::new(0.3, -k, 0.8));
            s.mass.center = Vector::new(0.1, 0.05 * k, 0.0);
            s
        };
        let a = m.add_solid(solid("a", 1.0)).unwrap();
        let b = m.add_solid(solid("b", -0.6)).unwrap();
        let frame = |s: SolidId, k: f64| Frame::axis(s, Vector::new(k, 0.3, -0.1), Vector::new(1.0, k, 0.5));
        let id = m.add_joint(joint(frame(a, 0.2), frame(b, -0.4))).unwrap();
        (m, id)
    }

    #[test]
    fn rates_are_the_changes_of_values() {
        let free: fn(Frame, Frame) -> Joint = |a, b| Joint::lock(a, b, Mask::of(&[]));
        let kinds: [fn(Frame, Frame) -> Joint; 4] =
            [free, |a, b| Joint::distance(a, b, 1.0), Joint::pin, Joint::slider];
        for kind in kinds {
            let (m, id) = odd(kind);
            let s = State::new(&m);
            let h = 1e-6;
            let moved = |h: f64| {
                let mut t = s.clone();
                for i in 1..3 {
                    let (v, w) = (s.velocities[i] * h, s.spins[i] * h);
                    t.displace(i, &[v.x, v.y, v.z, w.x, w.y, w.z]);
                }
                read(&m, &t, id).map(|c| c.value).collect::<Vec<_>>()
            };
            let (before, after) = (moved(-h), moved(h));
            let now: Vec<Coordinate> = read(&m, &s, id).collect();
            assert_eq!(
                now.iter().map(|c| c.name).collect::<Vec<_>>(),
                names(m.joint(id)).collect::<Vec<_>>()
            );
            assert!(!now.is_empty());
            for (k, c) in now.iter().enumerate() {
                let slope = (after[k] - before[k]) / (2.0 * h);
                assert!((slope - c.rate).abs() < 1e-7, "{}: {slope} and {}", c.name, c.rate);
            }
        }
    }
}
