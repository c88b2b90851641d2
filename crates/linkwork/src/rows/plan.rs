//! Rows of the same joints again: while neither the mechanism nor the set of acting joints changes, groups and units stay
//! and a step only writes numbers. Ball joints, by far the most common, have a kernel of their own.

use super::arms::Ball;
use super::fill::count;
use super::{BallRows, Rows, half};
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
    /// Rigid joints that lock three translations and nothing else.
    pub balls: Vec<Ball>,
    anchors: Vec<Anchors>,
    /// From the centres of mass to the second anchor, as of the last full writing.
    pub arms: Vec<[Vector; 2]>,
    /// Ball joint per first row.
    pub ball_at: Vec<u32>,
    /// Groups of all other joints.
    pub others: Vec<u32>,
    /// Groups and rows of joints; motors and springs follow.
    pub groups: usize,
    rows: usize,
    /// Rotation matrices of the solids.
    turned: Vec<Matrix>,
}

/// Where a ball joint is on its solids.
#[derive(Clone, Copy, Debug)]
struct Anchors {
    /// From the centre of mass to the anchor, in the axes of the solid.
    levers: [Vector; 2],
    /// Axes of frame 1 in those of its solid.
    axes: Matrix,
}

fn is_ball(j: &Joint) -> bool {
    j.lock == Mask::POINT && count(j) == 3 && j.counted_ranges().next().is_none() && j.compliance == 0.0
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
        self.anchors.clear();
        self.others.clear();
        self.ball_at.clear();
        self.ball_at.resize(rows.len(), u32::MAX);
        (self.groups, self.rows) = (rows.groups.len(), rows.len());
        for (k, g) in rows.groups.iter().enumerate() {
            let j = m.joint(g.joint);
            if !is_ball(j) {
                self.others.push(k as u32);
                continue;
            }
            self.ball_at[g.first] = self.balls.len() as u32;
            let solids = g.solids.map(|s| s as u32);
            self.balls.push(Ball { solids, first: g.first as u32, group: k as u32 });
            self.anchors.push(Anchors {
                levers: j.frames.map(|f| f.pose.translation - m.solid(f.solid).mass.center),
                axes: Matrix::from_quat(j.frames[0].pose.rotation),
            });
        }
        self.arms.clear();
        self.arms.resize(self.balls.len(), [Vector::ZERO; 2]);
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
        let Plan { balls, anchors, arms, turned, .. } = &mut plan;
        for ((b, at), arms) in balls.iter().zip(&*anchors).zip(arms) {
            self.rewrite_ball(b, at, s, turned, gaps_only, arms);
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

    /// As `fill_locks` does it: `t . (P2 - P1)` along the axes of frame 1, both velocities at `P2`; or along those of the
    /// world (see `arms.rs`).
    #[inline(always)]
    fn rewrite_ball(
        &mut self,
        b: &Ball,
        at: &Anchors,
        s: &State,
        turned: &[Matrix],
        gaps_only: bool,
        arms: &mut [Vector; 2],
    ) {
        let [i, j] = b.solids.map(|s| s as usize);
        let (r1, r2) = (turned[i] * at.levers[0], turned[j] * at.levers[1]);
        let (p1, p2) = (s.centers[i] + r1, s.centers[j] + r2);
        let d = p2 - p1;
        let first = b.first as usize;
        let (low, high) = (&mut self.low[first..first + 3], &mut self.high[first..first + 3]);
        let t = if self.balls == BallRows::Frame {
            let axes = turned[i] * at.axes;
            let t = [axes.x_axis, axes.y_axis, axes.z_axis];
            for k in 0..3 {
                low[k] = -t[k].dot(d);
            }
            t
        } else {
            low.copy_from_slice(&[-d.x, -d.y, -d.z]);
            Vector::AXES
        };
        high.copy_from_slice(low);
        if gaps_only {
            return;
        }
        if self.balls == BallRows::Arms {
            *arms = [p2 - s.centers[i], r2];
            return;
        }
        let arm = p2 - s.centers[i];
        let jacobian = &mut self.jacobian[first..first + 3];
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
