//! Rows seen through their structure: ball joints, by far the most common, are two arms and nothing else.
//!
//! In world axes the rows of a ball joint are `J = [-1, [a1]; 1, -[a2]]` with `a` the arms from the two centres of mass to
//! the second anchor. Both forces act at that one point, so that angular momentum is kept while the joint is open; where it
//! is open the rows are the derivative of the gap up to a part in the size of the gap, which a method with one matrix per
//! step does not notice. Six numbers instead of thirty-six: in long mechanisms reading rows is what takes the time.

use super::{BallRows, Gaps, Group, HalfRow, Rows, dot6};
use crate::math::{Matrix, Vector};
use crate::state::State;

/// A force and a torque about the centre of mass, or an impulse and an angular impulse.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wrench {
    pub linear: Vector,
    pub angular: Vector,
}

/// Place of a ball joint in the rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ball {
    pub solids: [u32; 2],
    pub first: u32,
    pub group: u32,
}

/// `x` of the three rows of a ball joint, as a vector.
fn three(x: &[f64], first: u32) -> Vector {
    let at = first as usize;
    Vector::new(x[at], x[at + 1], x[at + 2])
}

impl Rows {
    /// Ball joints are known by their arms alone.
    pub(crate) fn by_arms(&self) -> bool {
        self.balls == BallRows::Arms
    }

    /// Ball joints with their arms, if they are known by them.
    fn armed(&self) -> impl Iterator<Item = (&Ball, &[Vector; 2])> {
        let arms: &[[Vector; 2]] = if self.by_arms() { &self.plan.arms } else { &[] };
        self.plan.balls.iter().zip(arms)
    }

    /// Groups whose Jacobians are written out.
    fn written(&self) -> impl Iterator<Item = &Group> {
        let by_arms = self.by_arms();
        let all: &[Group] = if by_arms { &[] } else { &self.groups };
        all.iter().chain(self.others().filter(move |_| by_arms))
    }

    /// Groups that are anything but a plain ball joint: whatever is soft, driven or one-sided is among them.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Group> {
        let groups = &self.groups;
        self.plan
            .others
            .iter()
            .map(|k| &groups[*k as usize])
            .chain(&groups[self.plan.groups.min(groups.len())..])
    }

    /// Arms of the ball joint whose first row this is, if it is known by them.
    #[inline(always)]
    pub(crate) fn arms(&self, first: usize) -> Option<&[Vector; 2]> {
        if !self.by_arms() {
            return None;
        }
        self.plan.ball_at.get(first).and_then(|k| self.plan.arms.get(*k as usize))
    }

    /// Half of a row, whether it is written out or not.
    pub(crate) fn half_row(&self, first: usize, k: usize, side: usize) -> HalfRow {
        let Some(arms) = self.arms(first) else { return self.jacobian[first + k][side] };
        let t = Vector::AXES[k];
        if side == 0 { super::half(-t, t.cross(arms[0])) } else { super::half(t, arms[1].cross(t)) }
    }

    /// `J^T lambda` per solid.
    pub(crate) fn collect(&self, lambda: &[f64], out: &mut [Wrench]) {
        out.fill(Wrench::default());
        for (b, arms) in self.armed() {
            let f = three(lambda, b.first);
            let [i, j] = b.solids.map(|i| i as usize);
            out[i].linear -= f;
            out[i].angular -= arms[0].cross(f);
            out[j].linear += f;
            out[j].angular += arms[1].cross(f);
        }
        for g in self.written() {
            for side in 0..2 {
                let w = self.pull(g, side, lambda);
                out[g.solids[side]].linear += w.linear;
                out[g.solids[side]].angular += w.angular;
            }
        }
    }

    /// `J^T lambda` of one group on one of its solids.
    pub(crate) fn pull(&self, g: &Group, side: usize, lambda: &[f64]) -> Wrench {
        let mut sum = [0.0; 6];
        for k in 0..g.count {
            let j = self.half_row(g.first, k, side);
            let l = lambda[g.first + k];
            for (s, j) in sum.iter_mut().zip(&j) {
                *s += j * l;
            }
        }
        Wrench { linear: Vector::new(sum[0], sum[1], sum[2]), angular: Vector::new(sum[3], sum[4], sum[5]) }
    }

    /// `out[row] = J v`.
    pub(crate) fn speeds(&self, s: &State, out: &mut Vec<f64>) {
        out.resize(self.len(), 0.0);
        for (b, arms) in self.armed() {
            let [i, j] = b.solids.map(|i| i as usize);
            let v = s.velocities[j] - s.velocities[i] + s.spins[j].cross(arms[1]) - s.spins[i].cross(arms[0]);
            let at = b.first as usize;
            out[at..at + 3].copy_from_slice(&[v.x, v.y, v.z]);
        }
        for g in self.written() {
            let [a, b] = g.solids.map(|i| {
                let (v, w) = (s.velocities[i], s.spins[i]);
                [v.x, v.y, v.z, w.x, w.y, w.z]
            });
            for r in g.range() {
                out[r] = dot6(&self.jacobian[r][0], &a) + dot6(&self.jacobian[r][1], &b);
            }
        }
    }

    /// The largest gaps of plain ball joints.
    pub(crate) fn ball_gaps(&self) -> Gaps {
        let mut most = 0.0_f64;
        for b in &self.plan.balls {
            let gap = three(&self.low, b.first).length_squared();
            // A gap that is not a number is the largest of all.
            if !(gap <= most) {
                most = gap;
                if gap.is_nan() {
                    return Gaps { position: f64::NAN, angle: f64::NAN };
                }
            }
        }
        Gaps { position: most.sqrt(), angle: 0.0 }
    }

    /// The stiffness `(F.r) 1 - sym(r F^T)` of all solids under these forces: its upper triangle (see `step/tension.rs`).
    pub(crate) fn tension(&self, s: &State, forces: &[f64], out: &mut [[f64; 6]]) {
        out.fill([0.0; 6]);
        let mut add = |solid: usize, r: Vector, f: Vector| {
            let (x, y, z) = (f.x * r.x, f.y * r.y, f.z * r.z);
            let k = &mut out[solid];
            k[0] += y + z;
            k[1] -= 0.5 * (r.x * f.y + f.x * r.y);
            k[2] -= 0.5 * (r.x * f.z + f.x * r.z);
            k[3] += x + z;
            k[4] -= 0.5 * (r.y * f.z + f.y * r.z);
            k[5] += x + y;
        };
        for (b, arms) in self.armed() {
            let f = three(forces, b.first);
            add(b.solids[0] as usize, arms[0], -f);
            add(b.solids[1] as usize, arms[1], f);
        }
        for g in self.written() {
            let f = self.pull(g, 1, forces).linear;
            for (side, f) in [(0, -f), (1, f)] {
                add(g.solids[side], g.points[side] - s.centers[g.solids[side]], f);
            }
        }
    }
}

/// A symmetric matrix from its upper triangle.
pub(super) fn symmetric(k: &[f64; 6]) -> Matrix {
    Matrix::from_cols(
        Vector::new(k[0], k[1], k[2]),
        Vector::new(k[1], k[3], k[4]),
        Vector::new(k[2], k[4], k[5]),
    )
}
