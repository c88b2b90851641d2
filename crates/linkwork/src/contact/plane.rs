//! Points of a shape near a plane, in closed form: what most scenes stand on.

use super::collider::Geometry;
use super::narrow::Point;
use crate::math::{Pose, Vector};

/// A mesh gives at most so many points.
const MOST: usize = 16;
/// A cylinder that leans by less, as a sine, stands on its rim.
const UPRIGHT: f64 = 0.5;

/// Points of `shape` at `pose` not farther than `margin` above the plane through `origin`. Normals point away from it.
pub(super) fn points(
    origin: Vector,
    normal: Vector,
    shape: &Geometry,
    pose: &Pose,
    margin: f64,
    out: &mut Vec<Point>,
) {
    let mut place = |at: Vector, feature: u32, faint: f64| {
        let gap = (at - origin).dot(normal);
        if gap <= margin {
            out.push(Point { at: at - normal * (0.5 * gap), normal, gap, feature, faint });
        }
    };
    let mut put = |at: Vector, feature: u32| place(at, feature, 0.0);
    match shape {
        Geometry::Ball(b) => put(pose.translation - normal * b.radius, 0),
        Geometry::Box(b) => {
            let h = b.half_extents;
            for k in 0..8_u32 {
                let sign = |bit: u32| if k & bit == 0 { 1.0 } else { -1.0 };
                put(pose.transform_point(h * Vector::new(sign(1), sign(2), sign(4))), k);
            }
        }
        Geometry::Capsule(c) => {
            put(pose.transform_point(c.segment.a) - normal * c.radius, 0);
            put(pose.transform_point(c.segment.b) - normal * c.radius, 1);
        }
        Geometry::Cylinder { core, round } => {
            let (half, radius) = (core.half_height + round, core.radius + round);
            let down = pose.rotation.inverse() * -normal;
            let across = Vector::new(down.x, 0.0, down.z);
            let flat = across.length();
            let leans = (flat / UPRIGHT).min(1.0);
            for cap in 0..2_u32 {
                let center = Vector::new(0.0, if cap == 0 { half } else { -half }, 0.0);
                // The lowest point of the rim; where it stands flat there is none, and four of the rim do.
                if flat > 1e-9 {
                    place(pose.transform_point(center + across * (radius / flat)), cap, 1.0 - leans);
                }
                if flat < UPRIGHT {
                    for (k, d) in [Vector::X, Vector::Z, -Vector::X, -Vector::Z].into_iter().enumerate() {
                        place(pose.transform_point(center + d * radius), 2 + 4 * cap + k as u32, leans);
                    }
                }
            }
        }
        Geometry::Mesh(mesh) => {
            for (k, v) in mesh.vertices().iter().enumerate() {
                put(pose.transform_point(*v), k as u32);
            }
            thin_out(normal, out);
        }
        Geometry::Plane => {}
    }
}

/// Keeps the deepest point and the outermost ones in twelve directions. Vertices that files repeat are one.
fn thin_out(normal: Vector, points: &mut Vec<Point>) {
    points.sort_by(|a, b| a.gap.total_cmp(&b.gap).then(a.feature.cmp(&b.feature)));
    points.dedup_by(|b, a| a.at.distance(b.at) < 1e-12);
    if points.len() <= MOST {
        return;
    }
    let side = normal.any_orthonormal_vector();
    let other = normal.cross(side);
    let mut kept = 1;
    for k in 0..12 {
        let angle = f64::from(k) * std::f64::consts::TAU / 12.0;
        let along = side * crate::math::trig::cos(angle) + other * crate::math::trig::sin(angle);
        // Low ones count more: what stands on a foot is held there, not at its edge above.
        let low = points[0].gap;
        let merit = |p: &Point| p.at.dot(along) - 10.0 * (p.gap - low);
        let best = (kept..points.len())
            .max_by(|a, b| merit(&points[*a]).total_cmp(&merit(&points[*b])).then(b.cmp(a)));
        let outer = (0..kept).map(|i| merit(&points[i])).fold(f64::NEG_INFINITY, f64::max);
        if let Some(best) = best.filter(|b| merit(&points[*b]) > outer) {
            points.swap(kept, best);
            kept += 1;
        }
    }
    points.truncate(kept);
}
