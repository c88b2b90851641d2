//! Rows of the same joints again: while neither the mechanism nor the set of acting joints changes, groups and units stay
//! and a step only writes numbers. Ball joints, by far the most common, have a kernel of their own.

use super::fill::count;
use super::{Rows, half};
use crate::joint::{Joint, JointId, Mask};
use crate::math::{Matrix, Vector};
use crate::mechanism::Mechanism;
use crate::state::State;

/// What is constant about the rows of joints.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    epoch: Option<u64>,
    /// Joints that acted when it was made, if that depends on time.
    acting: Vec<bool>,
    balls: Vec<Ball>,
    /// Groups of all other joints.
    others: Vec<u32>,
    /// Groups and rows of joints; motors and springs follow.
    groups: usize,
    rows: usize,
    /// Rotation matrices of the solids.
    turned: Vec<Matrix>,
}

/// A joint that locks three translations and nothing else.
#[derive(Clone, Copy, Debug)]
struct Ball {
    solids: [u32; 2],
    group: u32,
    first: u32,
    /// From the centre of mass to the anchor, in the axes of the solid.
    levers: [Vector; 2],
    /// Axes of frame 1 in those of its solid; `None` when they are the same.
    axes: Option<Matrix>,
}

fn is_ball(j: &Joint) -> bool {
    j.lock == Mask::POINT && count(j) == 3 && j.counted_ranges().next().is_none()
}

impl Plan {
    /// Do the rows of this mechanism at this time have the layout that the plan knows?
    pub fn holds(&self, m: &Mechanism, time: f64) -> bool {
        self.epoch == Some(m.epoch())
            && (self.acting.is_empty()
                || m.joints().iter().zip(&self.acting).all(|(j, a)| j.holds_at(time) == *a))
    }

    /// Makes the plan of rows that were just filled with all joints.
    pub fn make(&mut self, m: &Mechanism, time: f64, rows: &Rows) {
        self.epoch = Some(m.epoch());
        self.acting.clear();
        if m.joints().iter().any(|j| j.during.is_some()) {
            self.acting.extend(m.joints().iter().map(|j| j.holds_at(time)));
        }
        self.balls.clear();
        self.others.clear();
        (self.groups, self.rows) = (rows.groups.len(), rows.len());
        for (k, g) in rows.groups.iter().enumerate() {
            let j = m.joint(g.joint);
            if !is_ball(j) {
                self.others.push(k as u32);
                continue;
            }
            let axes = Matrix::from_quat(j.frames[0].pose.rotation);
            self.balls.push(Ball {
                solids: g.solids.map(|s| s as u32),
                group: k as u32,
                first: g.first as u32,
                levers: j.frames.map(|f| f.pose.translation - m.solid(f.solid).mass.center),
                axes: (axes != Matrix::IDENTITY).then_some(axes),
            });
        }
    }
}

impl Rows {
    /// Rows of joints at another state, same layout. With `gaps_only` Jacobians are left as they were.
    pub(super) fn rewrite(&mut self, m: &Mechanism, s: &State, gaps_only: bool) {
        let mut plan = std::mem::take(&mut self.plan);
        self.groups.truncate(plan.groups);
        self.jacobian.truncate(plan.rows);
        self.low.truncate(plan.rows);
        self.high.truncate(plan.rows);
        self.unit.truncate(plan.rows);
        self.angles.clear();
        self.softness.clear();
        self.squares.clear();
        plan.turned.clear();
        plan.turned.extend(s.rotations.iter().map(|q| Matrix::from_quat(*q)));
        for b in &plan.balls {
            self.rewrite_ball(b, s, &plan.turned, gaps_only);
        }
        for &k in &plan.others {
            let g = self.groups[k as usize];
            self.cursor = Some(g.first);
            let points = self.fill_joint(m, s, g.joint, m.joint(g.joint));
            self.cursor = None;
            self.groups[k as usize].points = points;
        }
        self.plan = plan;
    }

    /// As `fill_locks` does it: `t . (P2 - P1)` along the axes of frame 1, both velocities at `P2`.
    fn rewrite_ball(&mut self, b: &Ball, s: &State, turned: &[Matrix], gaps_only: bool) {
        let [i, j] = b.solids.map(|s| s as usize);
        let (r1, r2) = (turned[i] * b.levers[0], turned[j] * b.levers[1]);
        let (p1, p2) = (s.centers[i] + r1, s.centers[j] + r2);
        let d = p2 - p1;
        let axes = match &b.axes {
            Some(a) => turned[i] * *a,
            None => turned[i],
        };
        let at = b.first as usize;
        let (low, high) = (&mut self.low[at..at + 3], &mut self.high[at..at + 3]);
        let t = [axes.x_axis, axes.y_axis, axes.z_axis];
        for k in 0..3 {
            let v = -t[k].dot(d);
            low[k] = v;
            high[k] = v;
        }
        if gaps_only {
            return;
        }
        let arm = p2 - s.centers[i];
        let jacobian = &mut self.jacobian[at..at + 3];
        for k in 0..3 {
            jacobian[k] = [half(-t[k], t[k].cross(arm)), half(t[k], r2.cross(t[k]))];
        }
        self.groups[b.group as usize].points = [p1, p2];
    }
}

/// All joints of a mechanism.
pub(super) fn all_joints(m: &Mechanism) -> impl Iterator<Item = JointId> {
    (0..m.joints().len() as u32).map(JointId)
}
