//! Ball joints, by far the most common: a kind of rows of their own, two arms and nothing else.
//!
//! In world axes the rows of a ball joint are `J = [-1, [a1]; 1, -[a2]]` with `a` the arms from the two centres of mass to
//! the second anchor. Both forces act at that one point, so that angular momentum is kept while the joint is open. They
//! span what `t . (P2 - P1)` along the three axes of frame 1 spans, exactly and at any gap (turning a base that carries
//! the axes is what taking both velocities at `P2` means), so that a solve for all three gives the same motion. Six
//! numbers instead of thirty-six: in long mechanisms reading rows is what takes the time.

use super::{Gaps, HalfRow, Rows, Wrench, half};
use crate::joint::{Joint, Mask};
use crate::math::{Matrix, Vector};
use crate::state::State;

/// Place of a ball joint in the rows, and where it is on its solids.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ball {
    pub solids: [u32; 2],
    pub first: u32,
    /// From the centre of mass to the anchor, in the axes of the solid.
    pub levers: [Vector; 2],
}

/// Locks a point, rigidly and with any force, and nothing else.
pub(crate) fn is_ball(j: &Joint) -> bool {
    j.lock == Mask::POINT
        && super::fill::count(j) == 3
        && j.counted_ranges().next().is_none()
        && j.compliance == 0.0
        && j.most_force == f64::INFINITY
}

/// `x` of the three rows of a ball joint, as a vector.
fn three(x: &[f64], first: u32) -> Vector {
    let at = first as usize;
    Vector::new(x[at], x[at + 1], x[at + 2])
}

/// Half of row `k`.
pub(super) fn half_row(arms: &[Vector; 2], k: usize, side: usize, turns: bool) -> HalfRow {
    let t = Vector::AXES[k];
    let arm = if turns { arms[side] } else { Vector::ZERO };
    if side == 0 { half(-t, t.cross(arm)) } else { half(t, arm.cross(t)) }
}

/// Arms and gaps of all ball joints at a state.
pub(super) fn write(rows: &mut Rows, s: &State, turned: &[Matrix]) {
    let places = s.rotations.places();
    if places.is_all() {
        // By far the most common: nothing to look up.
        return write_with(rows, s, |node, lever| turned[node] * lever);
    }
    write_with(rows, s, |node, lever| places.of(node).map_or(lever, |at| turned[at] * lever));
}

#[inline(always)]
fn write_with(rows: &mut Rows, s: &State, arm: impl Fn(usize, Vector) -> Vector) {
    for (b, arms) in rows.layout.balls.iter().zip(&mut rows.arms) {
        let [i, j] = b.solids.map(|s| s as usize);
        let (r1, r2) = (arm(i, b.levers[0]), arm(j, b.levers[1]));
        let p2 = s.centers[j] + r2;
        let d = p2 - (s.centers[i] + r1);
        let first = b.first as usize;
        rows.low[first..first + 3].copy_from_slice(&[-d.x, -d.y, -d.z]);
        rows.high[first..first + 3].copy_from_slice(&[-d.x, -d.y, -d.z]);
        *arms = [p2 - s.centers[i], r2];
    }
}

/// Adds `J^T lambda` to the wrenches.
pub(super) fn collect(rows: &Rows, lambda: &[f64], out: &mut [Wrench]) {
    for (b, arms) in rows.layout.balls.iter().zip(&rows.arms) {
        let f = three(lambda, b.first);
        let [i, j] = b.solids.map(|i| i as usize);
        out[i].linear -= f;
        out[i].angular -= arms[0].cross(f);
        out[j].linear += f;
        out[j].angular += arms[1].cross(f);
    }
}

/// `out[row] = J v`.
pub(super) fn speeds(rows: &Rows, s: &State, out: &mut [f64]) {
    for (b, arms) in rows.layout.balls.iter().zip(&rows.arms) {
        let [i, j] = b.solids.map(|i| i as usize);
        let v = s.velocities[j] - s.velocities[i] + s.spins[j].cross(arms[1]) - s.spins[i].cross(arms[0]);
        let at = b.first as usize;
        out[at..at + 3].copy_from_slice(&[v.x, v.y, v.z]);
    }
}

/// The largest gaps of ball joints.
pub(super) fn gaps(rows: &Rows) -> Gaps {
    let mut most = 0.0_f64;
    for b in &rows.layout.balls {
        let gap = three(&rows.low, b.first).length_squared();
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

/// Adds what the forces along the rows do to the stiffness of solids (see [`Rows::tension`]).
#[inline(always)]
pub(super) fn tension(rows: &Rows, forces: &[f64], mut add: impl FnMut(usize, Vector, Vector)) {
    for (b, arms) in rows.layout.balls.iter().zip(&rows.arms) {
        let f = three(forces, b.first);
        add(b.solids[0] as usize, arms[0], -f);
        add(b.solids[1] as usize, arms[1], f);
    }
}
