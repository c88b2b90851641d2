//! Momenta to rounding: what Newton's method left open is taken back as a motion of the whole body.

use super::calm::turned_by;
use super::contact::Near;
use super::{NONE, Soft};
use crate::math::Vector;

impl Soft {
    /// Adds to the impulses after the middle of the step what cancels the sum and the torque of forces from nowhere: those
    /// that Newton's method left, and those of springs that collapsed.
    pub(super) fn keep_momentum(&self, half: &mut [Vector]) {
        for body in &self.bodies {
            let (mass, center, inertia) = self.whole(body);
            if !(mass > 0.0) {
                continue;
            }
            let (mut push, mut twist) = (Vector::ZERO, self.unbalanced(body));
            // Beside surfaces, which take momentum, what they push with is known no better than what is left open.
            let touches = self.contacts.near.iter().any(|n| n.push > 0.0 && self.is_pushed(n, body));
            for n in body.clone().filter(|_| !touches) {
                let had = (self.x[n] - self.free[n]) * (self.masses[n] / self.h);
                let left = had - self.outer[n] - self.inner[n];
                push += left;
                twist += (self.start[n] - center).cross(left);
            }
            let spin = turned_by(inertia, twist);
            if !push.is_finite() {
                continue;
            }
            for n in body.clone() {
                half[n] -= (push / mass + spin.cross(self.x[n] - center)) * self.masses[n];
            }
        }
    }

    /// Does this row push a body from outside? Its own layers push each other.
    pub(super) fn is_pushed(&self, near: &Near, body: &std::ops::Range<usize>) -> bool {
        let inside = |(n, _): (usize, f64)| body.contains(&n);
        near.moving().any(inside) && (!near.is_layer() || !near.moving().all(inside))
    }

    /// Torque of the two halves of springs that do not cancel.
    fn unbalanced(&self, body: &std::ops::Range<usize>) -> Vector {
        let own = |n: u32| n != NONE && body.contains(&(n as usize));
        let pairs = self.lines.iter().zip(&self.pulls).filter(|(l, _)| own(l.nodes[0]) && own(l.nodes[1]));
        let torque = pairs.map(|(_, p)| -(p.d0.cross(p.first) + p.d1.cross(p.second)));
        torque.sum()
    }
}
