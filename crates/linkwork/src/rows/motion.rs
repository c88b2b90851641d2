//! Rows that only motion knows: motors and springs, after those of the joints.

use super::fill::{Ends, frame_twist, turn};
use super::{CountedAngle, Group, HalfRow, Law, Rows, Source, Unit, linear};
use crate::force::Spring;
use crate::joint::{Drive, DriveAim, Joint, JointId, Rank};
use crate::math::{Vector, unwrap_angle};
use crate::mechanism::Mechanism;
use crate::state::State;

impl Rows {
    /// Fills everything that acts at the state's time: joints, then their motors, then springs.
    pub fn fill_motion(&mut self, m: &Mechanism, s: &State, rank: impl Fn(JointId) -> Rank) {
        self.fill_with(m, s, rank, false);
    }

    /// As [`fill_motion`](Self::fill_motion), but Jacobians may be those of an earlier state: for looking at gaps.
    pub(crate) fn measure_motion(&mut self, m: &Mechanism, s: &State, rank: impl Fn(JointId) -> Rank) {
        self.fill_with(m, s, rank, true);
    }

    fn fill_with(&mut self, m: &Mechanism, s: &State, rank: impl Fn(JointId) -> Rank, gaps_only: bool) {
        if !self.plan.holds(m, s.time) {
            self.fill(m, s, super::plan::all_joints(m), rank);
            let mut plan = std::mem::take(&mut self.plan);
            plan.make(m, s.time, self);
            self.plan = plan;
        }
        // Also the first time: the plan's kernels round differently, and a restored state must have the same future.
        self.rewrite(m, s, gaps_only);
        for (k, j) in m.joints().iter().enumerate() {
            if !j.drives.is_empty() && j.holds_at(s.time) && !m.is_inert(j) {
                self.fill_drives(m, s, JointId(k as u32), j);
            }
        }
        for (k, spring) in m.springs.iter().enumerate() {
            let fixed = spring.solids.iter().all(|i| m.solid(*i).is_fixed());
            if !fixed && spring.during.is_none_or(|d| d.contains(s.time)) {
                self.fill_spring(m, s, k as u32, spring);
            }
        }
    }

    /// Refills with what one group of a former fill makes at another pose; tells which group that is.
    pub(crate) fn refill(&mut self, m: &Mechanism, s: &State, g: &Group) -> usize {
        match g.source {
            Source::Joint => {
                self.fill(m, s, [g.joint], |_| g.rank);
                0
            }
            Source::Drive(k) => {
                self.clear();
                self.fill_drives(m, s, g.joint, m.joint(g.joint));
                k as usize
            }
            Source::Spring(k) => {
                self.clear();
                self.fill_spring(m, s, k, &m.springs[k as usize]);
                0
            }
        }
    }

    fn fill_drives(&mut self, m: &Mechanism, s: &State, id: JointId, j: &Joint) {
        let e = Ends::new(m, s, j);
        let counted = j.drives.iter().filter(|d| d.counts_turns()).count();
        let mut slot = m.counter(id) + j.counted_ranges().count() - counted;
        for (k, drive) in j.drives.iter().enumerate() {
            let axis = drive.direction.axis();
            let (mut value, unit, row) = if drive.direction.is_rotation() {
                let (v, a) = frame_twist(&e, axis);
                (v, Unit::Angle, turn(a))
            } else {
                let (v, row) = e.in_first(e.axis(0, axis));
                (v, Unit::Length, row)
            };
            if drive.counts_turns() {
                value = unwrap_angle(value, s.angles[slot]);
                self.angles.push(CountedAngle { slot, value, winds: true });
                slot += 1;
            }
            let (target, law) = law_of(drive);
            self.push(unit, row, target - value, target - value);
            self.push_single(id, j.frames.map(|f| f.solid.index()), Source::Drive(k as u32), law, e.p);
            if let Some(g) = self.groups.last_mut() {
                g.most_force = drive.max_force;
                g.weight = j.weight;
            }
        }
    }

    fn fill_spring(&mut self, m: &Mechanism, s: &State, k: u32, spring: &Spring) {
        let solids = spring.solids.map(|i| i.index());
        let c = solids.map(|i| s.centers[i]);
        let p = [0, 1].map(|side| s.pose(m, spring.solids[side]).transform_point(spring.points[side]));
        let (length, row): (f64, [HalfRow; 2]) = linear::distance(p[0], p[1], c[0], c[1]);
        self.push(Unit::Length, row, spring.length - length, spring.length - length);
        let law = Law::Soft { stiffness: spring.stiffness, damping: spring.damping };
        self.push_single(JointId(u32::MAX), solids, Source::Spring(k), law, p);
    }

    /// The group of the one row that was pushed last.
    fn push_single(
        &mut self,
        joint: JointId,
        solids: [usize; 2],
        source: Source,
        law: Law,
        points: [Vector; 2],
    ) {
        self.groups.push(Group {
            joint,
            solids,
            first: self.len() - 1,
            count: 1,
            rank: Rank::Secondary,
            weight: 1.0,
            compliance: 0.0,
            source,
            law,
            most_force: f64::INFINITY,
            points,
        });
    }
}

/// Where a motor wants its value to be, and by what law it gets there.
fn law_of(drive: &Drive) -> (f64, Law) {
    match drive.aim {
        // From zero, so that the row tells its value: methods compare it with the one at the start of the step.
        DriveAim::Speed(rate) => (0.0, Law::Rate(rate)),
        DriveAim::To { target, stiffness: 0.0, damping: 0.0 } => (target, Law::Hold),
        DriveAim::To { target, stiffness, damping } => (target, Law::Soft { stiffness, damping }),
    }
}
