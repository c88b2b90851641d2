//! Rows that only motion knows: motors and springs, after those of the joints.

use super::fill::{Ends, Writer, frame_twist, turn};
use super::{CountedAngle, Law, Unit, linear};
use crate::force::Spring;
use crate::joint::{Drive, DriveAim, JointId};
use crate::math::{Vector, unwrap_angle};
use crate::mechanism::Mechanism;
use crate::state::State;

impl Writer<'_> {
    /// The row of one motor; tells where its joint's anchors are.
    pub fn drive(&mut self, e: &Ends, m: &Mechanism, s: &State, id: JointId, k: u32) -> [Vector; 2] {
        let j = m.joint(id);
        let Some(drive) = j.drives.get(k as usize) else { return e.p };
        let axis = drive.direction.axis();
        let (mut value, unit, row) = if drive.direction.is_rotation() {
            let (v, a) = frame_twist(e, axis);
            (v, Unit::Angle, turn(a))
        } else {
            let (v, row) = e.in_first(e.axis(0, axis));
            (v, Unit::Length, row)
        };
        if drive.counts_turns() {
            // Slots of motors are the last ones of their joint.
            let later = j.drives[k as usize..].iter().filter(|d| d.counts_turns()).count();
            let slot = m.counter(id) + j.counted_ranges().count() - later;
            value = unwrap_angle(value, s.angles[slot]);
            self.angles.push(CountedAngle { slot, value, winds: true });
        }
        let target = law_of(drive).0;
        self.push(unit, row, target - value, target - value);
        e.p
    }

    /// The rows of a spring; tells where it pulls. As a vector its value is `d - L d / |d|`: with `d` the vector between its
    /// ends, the force `-k` times that is the spring's own, and smooth where the ends pass through each other.
    pub fn spring(&mut self, m: &Mechanism, s: &State, spring: &Spring, as_vector: bool) -> [Vector; 2] {
        let c = spring.solids.map(|i| s.centers[i.index()]);
        let p = [0, 1].map(|side| s.pose(m, spring.solids[side]).transform_point(spring.points[side]));
        let (length, row) = linear::distance(p[0], p[1], c[0], c[1]);
        if !as_vector {
            self.push(Unit::Length, row, spring.length - length, spring.length - length);
            return p;
        }
        let n = Vector::new(row[1][0], row[1][1], row[1][2]);
        let d = n * (spring.length - length);
        for (t, wanted) in Vector::AXES.into_iter().zip(d.to_array()) {
            // Both at one point, so that angular momentum is kept whatever the force.
            let (base, other) = linear::fixed_direction(t, p[1], c[0], c[1]);
            self.push(Unit::Length, [base, other], wanted, wanted);
        }
        p
    }
}

/// Where a motor wants its value to be, and by what law it gets there.
pub(super) fn law_of(drive: &Drive) -> (f64, Law) {
    match drive.aim {
        // From zero, so that the row tells its value: methods compare it with the one at the start of the step.
        DriveAim::Speed(rate) => (0.0, Law::Rate(rate)),
        DriveAim::To { target, stiffness: 0.0, damping: 0.0 } => (target, Law::Hold),
        DriveAim::To { target, stiffness, damping } => (target, Law::Soft { stiffness, damping }),
    }
}
