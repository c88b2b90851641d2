//! Where joints stand open: the lines a drawing shows in red.

use crate::joint::{Joint, JointId, Region};
use crate::math::{Pose, Vector, unit};
use crate::mechanism::Mechanism;
use crate::state::State;

/// An open joint: the point of one solid and the place where it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Which joint.
    pub joint: JointId,
    /// Where the point should be, world.
    pub from: Vector,
    /// Where it is, world.
    pub to: Vector,
}

impl Gap {
    /// How far apart.
    pub fn length(&self) -> f64 {
        (self.to - self.from).length()
    }
}

/// Every joint whose points are farther than `tolerance` from where they may be, in joint order.
///
/// Only distances: a joint that is merely turned the wrong way has no line to draw.
pub fn open_gaps(m: &Mechanism, s: &State, tolerance: f64) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for (i, joint) in m.joints().iter().enumerate().filter(|(_, j)| j.holds_at(s.time)) {
        let poses = joint.frames.map(|f| s.pose(m, f.solid));
        let id = JointId(i as u32);
        let found = displacements(joint, poses).map(|(from, to)| Gap { joint: id, from, to });
        gaps.extend(found.filter(|g| g.length() > tolerance));
    }
    gaps
}

/// Pairs of (nearest allowed place, actual place), one per part of the joint that speaks of points.
fn displacements(joint: &Joint, poses: [Pose; 2]) -> impl Iterator<Item = (Vector, Vector)> {
    let [p1, p2] = [0, 1].map(|k| poses[k].transform_point(joint.frames[k].pose.translation));
    // Only the locked directions of frame 1 count.
    let axes = poses[0].rotation * joint.frames[0].pose.rotation;
    let mut offset = axes.inverse() * (p2 - p1);
    for k in 0..3 {
        if joint.lock.0 >> k & 1 == 0 {
            offset[k] = 0.0;
        }
    }
    let locked = (p2 - axes * offset, p2);
    let rod = joint.distance.map(|d| (p1 + unit(p2 - p1).unwrap_or(Vector::Y) * d, p2));
    let at2 = joint.frames[1].pose.translation;
    let local = poses[1].inverse_transform_point(p1);
    let regions: Vec<_> =
        joint.regions.iter().map(|r| (poses[1].transform_point(nearest(r, at2, local)), p1)).collect();
    std::iter::once(locked).chain(rod).chain(regions)
}

/// The point of a region about `center` nearest to `p`, all in the second solid's frame.
fn nearest(region: &Region, center: Vector, p: Vector) -> Vector {
    let d = p - center;
    match region {
        Region::Segment { axis, range } => center + *axis * d.dot(*axis).max(range.min).min(range.max),
        Region::Ring { normal, range } => {
            let flat = d - *normal * d.dot(*normal);
            let r = flat.length().max(range.min).min(range.max);
            let out = unit(flat).unwrap_or_else(|| crate::math::perpendicular(*normal));
            center + out * r
        }
        Region::Curve(curve) => curve.nearest(p).position,
        Region::Sphere(r) => center + unit(d).unwrap_or(Vector::Y) * *r,
        Region::Within(r) => center + d * (r / d.length().max(*r).max(1e-300)).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::{Frame, Range};
    use crate::solid::{Solid, SolidId};

    #[test]
    fn only_locked_directions_and_distances_count() {
        let mut m = Mechanism::new();
        let a = m.add_solid(Solid::new("a").at(3.0, 4.0, 0.0)).unwrap();
        let [w, f] = [SolidId::WORLD, a].map(|s| Frame::point(s, Vector::ZERO));
        m.add_joint(Joint::ball(w, f)).unwrap();
        m.add_joint(Joint::point_on_line(w, f)).unwrap();
        m.add_joint(Joint::distance(w, f, 5.0)).unwrap();
        m.add_joint(Joint::distance(w, f, 2.0)).unwrap();
        let region = |r: Region| Joint { regions: vec![r], ..Joint::lock(f, w, crate::joint::Mask::NONE) };
        m.add_joint(region(Region::Segment { axis: Vector::X, range: Range::new(0.0, 1.0) })).unwrap();
        m.add_joint(region(Region::Ring { normal: Vector::Z, range: Range::new(0.0, 4.0) })).unwrap();
        m.add_joint(region(Region::Sphere(1.0))).unwrap();
        m.add_joint(region(Region::Within(6.0))).unwrap();
        let gaps = open_gaps(&m, &State::new(&m), 1e-9);
        let found: Vec<(u32, f64)> = gaps.iter().map(|g| (g.joint.0, g.length())).collect();
        let expected = [(0, 5.0), (1, 4.0), (3, 3.0), (4, 20f64.sqrt()), (5, 1.0), (6, 4.0)];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (f, e) in found.iter().zip(expected) {
            assert!(f.0 == e.0 && (f.1 - e.1).abs() < 1e-12, "{found:?}");
        }
    }
}
