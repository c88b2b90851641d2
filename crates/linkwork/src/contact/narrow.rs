//! Narrow phase: the points at which two colliders touch, or would within a margin.
//!
//! Boxes by separating axes, round shapes by projection, the rest by GJK on cores with a rounding, all of them parry's;
//! planes in closed form (`plane.rs`). Meshes are taken triangle by triangle; normals that belong to a neighbour are left to
//! it, so that nothing stumbles over an edge inside of a flat face.

use super::collider::{Collider, Geometry};
use crate::math::{Pose, Vector};
use parry3d_f64::bounding_volume::BoundingVolume;
use parry3d_f64::query::details::{
    NormalConstraints, contact_manifold_capsule_capsule, contact_manifold_convex_ball,
    contact_manifold_cuboid_cuboid, contact_manifold_pfm_pfm,
};
use parry3d_f64::query::{
    ClosestPoints, ContactManifold, DefaultQueryDispatcher, PersistentQueryDispatcher, PointQuery,
    ShapeCastOptions, TrackedContact, cast_shapes, closest_points,
};
use parry3d_f64::shape::{PackedFeatureId, PolygonalFeatureMap, Shape, TriMesh, Triangle};

/// A point of contact between two colliders.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    /// Half way between the two surfaces, world.
    pub at: Vector,
    /// From the first to the second, world.
    pub normal: Vector,
    /// Distance along it; negative where they overlap.
    pub gap: f64,
    /// The part of a soft coat's stiffness that it lacks: so that coats do not notice when others take over.
    pub faint: f64,
    /// The features that meet.
    pub feature: u32,
}

/// Scratch of the narrow phase.
#[derive(Default)]
pub(crate) struct Narrow {
    manifold: ContactManifold<(), ()>,
    corners: Vec<Point>,
    /// Points on the way of what is fast.
    found: Vec<Point>,
}

/// The part of its size by which a mesh that meets a mesh counts as thick while directions are found: triangles that
/// touch have none.
const THICK: f64 = 1e-4;
/// Triangles of a mesh that one pair looks at, most.
const MOST_TRIANGLES: usize = 4096;

impl Narrow {
    /// Appends the points of `a` and `b` that are not farther apart than `margin`. Poses are those of the solids' centres.
    pub fn points(
        &mut self,
        a: &Collider,
        at_a: &Pose,
        b: &Collider,
        at_b: &Pose,
        margin: f64,
        out: &mut Vec<Point>,
    ) {
        let (pa, pb) = (*at_a * a.local, *at_b * b.local);
        let first = out.len();
        match (&a.geometry, &b.geometry) {
            (Geometry::Plane, Geometry::Plane) => {}
            (Geometry::Plane, other) => {
                super::plane::points(pa.translation, pa.rotation * Vector::Y, other, &pb, margin, out);
            }
            (other, Geometry::Plane) => {
                super::plane::points(pb.translation, pb.rotation * Vector::Y, other, &pa, margin, out);
                out[first..].iter_mut().for_each(|p| p.normal = -p.normal);
            }
            (Geometry::Mesh(one), Geometry::Mesh(two)) => self.meshes(one, &pa, two, &pb, margin, out),
            (Geometry::Mesh(mesh), other) => {
                self.mesh(mesh, a.closed, &pa, b, other, &pb, margin, out);
            }
            (other, Geometry::Mesh(mesh)) => {
                self.mesh(mesh, b.closed, &pb, a, other, &pa, margin, out);
                out[first..].iter_mut().for_each(|p| p.normal = -p.normal);
            }
            (one, two) => {
                self.convex(one, two, &pa.inv_mul(&pb), margin);
                self.take(&pa, margin, 1e-9 * (a.size + b.size), 0, out);
            }
        }
        let sound = |p: &Point| p.at.is_finite() && p.normal.is_finite() && p.gap.is_finite();
        let mut at = first;
        while at < out.len() {
            if sound(&out[at]) {
                at += 1;
            } else {
                out.remove(at);
            }
        }
    }

    /// The first touch of two colliders that move along straight lines for a time of at most `most`: when, and the point,
    /// with the gap that they close until then along its normal.
    pub fn cast(
        &mut self,
        a: &Collider,
        at_a: &Pose,
        va: Vector,
        b: &Collider,
        at_b: &Pose,
        vb: Vector,
        most: f64,
    ) -> Option<(f64, Point)> {
        let (pa, pb) = (*at_a * a.local, *at_b * b.local);
        let ((one, r1), (two, r2)) = (whole(&a.geometry)?, whole(&b.geometry)?);
        let options = ShapeCastOptions {
            max_time_of_impact: most,
            target_distance: r1 + r2,
            stop_at_penetration: false,
            compute_impact_geometry_on_penetration: true,
        };
        if let Some(hit) = cast_shapes(&pa, va, one, &pb, vb, two, options).ok().flatten() {
            let (t, normal) = (hit.time_of_impact, pa.rotation * hit.normal1);
            let gap = -(vb - va).dot(normal) * t;
            let at = pa.transform_point(hit.witness1) + va * t + normal * r1;
            if at.is_finite() && normal.is_finite() && gap > 0.0 {
                return Some((t, Point { at, normal, gap, feature: 0, faint: 0.0 }));
            }
        }
        self.search(a, at_a, va, b, at_b, vb, most)
    }

    /// The same where casting finds nothing, or nonsense, which now and then it does though they meet: do they overlap where
    /// they are nearest? Then the first touch lies between.
    fn search(
        &mut self,
        a: &Collider,
        at_a: &Pose,
        va: Vector,
        b: &Collider,
        at_b: &Pose,
        vb: Vector,
        most: f64,
    ) -> Option<(f64, Point)> {
        let way = vb - va;
        let between = at_b.transform_point(b.local.translation) - at_a.transform_point(a.local.translation);
        let nearest = (-between.dot(way) / way.length_squared()).max(0.0).min(most);
        if !((between + way * nearest).length() < a.size + b.size) {
            return None;
        }
        let mut found = std::mem::take(&mut self.found);
        let mut overlap = |t: f64| {
            let (mut pa, mut pb) = (*at_a, *at_b);
            pa.translation += va * t;
            pb.translation += vb * t;
            found.clear();
            self.points(a, &pa, b, &pb, 0.0, &mut found);
            found.iter().copied().min_by(|p, q| p.gap.total_cmp(&q.gap))
        };
        let (mut free, mut meets, mut point) = (0.0, nearest, overlap(nearest));
        for _ in 0..if point.is_some() { 40 } else { 0 } {
            let middle = 0.5 * (free + meets);
            match overlap(middle) {
                Some(p) => (meets, point) = (middle, Some(p)),
                None => free = middle,
            }
        }
        self.found = found;
        let point = point?;
        let gap = -way.dot(point.normal) * meets;
        (gap >= 0.0).then_some((meets, Point { gap, ..point }))
    }

    /// Starts from nothing: what a manifold was before must not show in what it becomes.
    fn reset(&mut self) {
        self.manifold.points.clear();
        (self.manifold.local_n1, self.manifold.local_n2) = (Vector::ZERO, Vector::ZERO);
    }

    fn convex(&mut self, a: &Geometry, b: &Geometry, to: &Pose, margin: f64) {
        self.reset();
        let m = &mut self.manifold;
        match (a, b) {
            (Geometry::Ball(one), Geometry::Ball(two)) => {
                ball_ball(to, one.radius, two.radius, margin, m);
            }
            (Geometry::Box(one), Geometry::Box(two)) => {
                contact_manifold_cuboid_cuboid(to, one, two, margin, m);
            }
            (Geometry::Capsule(one), Geometry::Capsule(two)) => {
                contact_manifold_capsule_capsule(to, one, two, margin, m);
            }
            (other, Geometry::Ball(ball)) => {
                if let Some((shape, round)) = shape(other) {
                    contact_manifold_convex_ball(to, shape, ball, None, None, margin + round, m, false);
                    thicken(m, round, 0.0);
                }
            }
            (Geometry::Ball(ball), other) => {
                if let Some((shape, round)) = shape(other) {
                    let back = to.inverse();
                    contact_manifold_convex_ball(&back, shape, ball, None, None, margin + round, m, true);
                    thicken(m, 0.0, round);
                }
            }
            _ => {
                if let (Some((one, r1)), Some((two, r2))) = (features(a), features(b)) {
                    contact_manifold_pfm_pfm(to, one, r1, None, two, r2, None, margin, m);
                }
            }
        }
    }

    /// Takes the manifold over; `tag` tells triangles of a mesh apart.
    fn take(&self, at: &Pose, margin: f64, slack: f64, tag: u32, out: &mut Vec<Point>) {
        let m = &self.manifold;
        let (normal, first) = (at.rotation * m.local_n1, out.len());
        for p in m.points.iter().filter(|p| p.dist <= margin) {
            let unknown = p.fid1 == PackedFeatureId::UNKNOWN && p.fid2 == PackedFeatureId::UNKNOWN;
            // GJK's own point stands between those of the features, if there are any.
            let others = out.len() - first;
            if unknown && others > 1 && out[first..].iter().any(|q| q.gap <= p.dist + slack) {
                continue;
            }
            let at = at.transform_point(p.local_p1) + normal * (0.5 * p.dist);
            if out[first..].iter().any(|q| q.at.distance_squared(at) < slack * slack) {
                continue;
            }
            let feature = fold(fold(tag, p.fid1.0), p.fid2.0);
            out.push(Point { at, normal, gap: p.dist, feature, faint: 0.0 });
        }
        if out.len() - first > 4 {
            reduce(out, first);
        }
    }

    fn mesh(
        &mut self,
        mesh: &TriMesh,
        closed: bool,
        at: &Pose,
        other: &Collider,
        geometry: &Geometry,
        pose: &Pose,
        margin: f64,
        out: &mut Vec<Point>,
    ) {
        let to = at.inv_mul(pose);
        let Some(bounds) = other.bounds else { return };
        let reach = bounds.transform_by(&to).loosened(margin);
        let slack = 1e-6 * other.size;
        let first = out.len();
        let inside = closed && mesh.contains_local_point(to.translation);
        for k in mesh.bvh().intersect_aabb(&reach).take(MOST_TRIANGLES) {
            let (triangle, limits) = (mesh.triangle(k), mesh.triangle_normal_constraints(k));
            let limits = limits.as_ref().map(|l| l as &dyn NormalConstraints);
            self.reset();
            self.triangle(&triangle, geometry, &to, margin);
            let own = out.len();
            if is_own(&self.manifold, limits) {
                self.take(at, margin, slack, k + 1, out);
            } else if let Some(side) = side_of(&triangle, to.translation, closed, inside) {
                // Corners above the face itself are its own, whatever the shortest way between the two is.
                self.corners.clear();
                above_face(&triangle, side, geometry, &to, margin, &mut self.corners);
                if closed {
                    // Below a face, beside an edge sharper than a right angle, may be outside of the mesh, beyond its neighbour.
                    self.corners
                        .retain(|p| p.gap > -slack || mesh.contains_local_point(p.at + side * (0.5 * p.gap)));
                }
                out.extend(self.corners.iter().map(|p| Point {
                    at: at.transform_point(p.at),
                    normal: at.rotation * p.normal,
                    gap: p.gap,
                    feature: fold(k + 1, p.feature),
                    faint: p.faint,
                }));
            }
            // Neighbours meet at edges: one point there is enough.
            let mut i = own;
            while i < out.len() {
                let p = out[i];
                let same = |q: &Point| {
                    q.at.distance_squared(p.at) < slack * slack && q.normal.dot(p.normal) > 0.999_999
                };
                if out[first..own].iter().any(same) {
                    out.remove(i);
                } else {
                    i += 1;
                }
            }
        }
        // In the order of triangles, not in that of the tree that found them.
        out[first..].sort_by_key(|p| p.feature);
    }

    fn triangle(&mut self, triangle: &Triangle, other: &Geometry, to: &Pose, margin: f64) {
        let m = &mut self.manifold;
        match other {
            Geometry::Ball(ball) => {
                contact_manifold_convex_ball(to, triangle, ball, None, None, margin, m, false);
            }
            Geometry::Box(b) => {
                // Never unsupported: parry has this pair.
                let _ = DefaultQueryDispatcher
                    .contact_manifold_convex_convex(to, triangle, b, None, None, margin, m);
            }
            _ => {
                if let Some((pfm, round)) = features(other) {
                    contact_manifold_pfm_pfm(to, triangle, 0.0, None, pfm, round, None, margin, m);
                }
            }
        }
    }

    fn meshes(
        &mut self,
        a: &TriMesh,
        at_a: &Pose,
        b: &TriMesh,
        at_b: &Pose,
        margin: f64,
        out: &mut Vec<Point>,
    ) {
        let to = at_a.inv_mul(at_b);
        let size = b.local_aabb().half_extents().length();
        let (thick, slack) = (THICK * size, 1e-6 * size);
        let reach = b.local_aabb().transform_by(&to).loosened(margin);
        let (first, mut looked) = (out.len(), 0);
        for i in a.bvh().intersect_aabb(&reach) {
            let (one, limits) = (a.triangle(i), a.triangle_normal_constraints(i));
            let limits = limits.as_ref().map(|l| l as &dyn NormalConstraints);
            let near = one.compute_aabb(&to.inverse()).loosened(margin + thick);
            for j in b.bvh().intersect_aabb(&near) {
                looked += 1;
                if looked > MOST_TRIANGLES {
                    break;
                }
                let two = b.triangle(j);
                self.reset();
                let m = &mut self.manifold;
                contact_manifold_pfm_pfm(&to, &one, thick, None, &two, 0.0, None, margin, m);
                thicken(m, -thick, 0.0);
                if !is_own(&self.manifold, limits) {
                    continue;
                }
                self.take(at_a, margin, slack, fold(i + 1, j + 1), out);
            }
        }
        out[first..].sort_by_key(|p| p.feature);
        let mut kept = first;
        for k in first..out.len() {
            let p = out[k];
            if !out[first..kept].iter().any(|q| q.at.distance_squared(p.at) < slack * slack) {
                out[kept] = p;
                kept += 1;
            }
        }
        out.truncate(kept);
    }
}

/// Parry's shape of a geometry, and the rounding that it leaves out.
fn shape(g: &Geometry) -> Option<(&dyn Shape, f64)> {
    match g {
        Geometry::Ball(b) => Some((b, 0.0)),
        Geometry::Box(b) => Some((b, 0.0)),
        Geometry::Capsule(c) => Some((c, 0.0)),
        Geometry::Cylinder { core, round } => Some((core, *round)),
        Geometry::Plane | Geometry::Mesh(_) => None,
    }
}

/// The same for meshes, too.
fn whole(g: &Geometry) -> Option<(&dyn Shape, f64)> {
    match g {
        Geometry::Mesh(m) => Some((m.as_ref(), 0.0)),
        other => shape(other),
    }
}

/// How far two colliders are apart, and the way from the first to the second; infinitely far beyond `most`. `None`: they touch,
/// are planes, or nobody can tell. Poses are those of the solids' centres.
pub(crate) fn separation(
    a: &Collider,
    at_a: &Pose,
    b: &Collider,
    at_b: &Pose,
    most: f64,
) -> Option<(f64, Vector)> {
    let ((one, r1), (two, r2)) = (whole(&a.geometry)?, whole(&b.geometry)?);
    let most = (most + r1 + r2) * (1.0 + 1e-9);
    match closest_points(&(*at_a * a.local), one, &(*at_b * b.local), two, most).ok()? {
        ClosestPoints::Intersecting => None,
        ClosestPoints::Disjoint => Some((f64::INFINITY, Vector::ZERO)),
        ClosestPoints::WithinMargin(from, to) => {
            let way = to - from;
            let gap = way.length() - r1 - r2;
            (gap > 0.0).then(|| (gap, way.normalize()))
        }
    }
}

/// Its corners and edges, and the rounding about them.
fn features(g: &Geometry) -> Option<(&dyn PolygonalFeatureMap, f64)> {
    match g {
        Geometry::Box(b) => Some((b, 0.0)),
        Geometry::Capsule(c) => Some((&c.segment, c.radius)),
        Geometry::Cylinder { core, round } => Some((core, *round)),
        Geometry::Ball(_) | Geometry::Plane | Geometry::Mesh(_) => None,
    }
}

/// Is the normal one that this triangle may have? Where neighbours are flat, or own the edge, it is theirs to tell of.
fn is_own(m: &ContactManifold<(), ()>, limits: Option<&dyn NormalConstraints>) -> bool {
    let Some(limits) = limits else { return true };
    let mut normal = m.local_n1;
    !m.points.is_empty()
        && limits.project_local_normal_mut(&mut normal)
        && normal.dot(m.local_n1) > 1.0 - 1e-10
}

/// To which side a face pushes a shape whose centre is there. A face of an open mesh has two sides; behind one of a closed
/// mesh is either its inside, from which the face pushes out, or a place beyond some other face, which tells of it there.
fn side_of(triangle: &Triangle, center: Vector, closed: bool, inside: bool) -> Option<Vector> {
    let normal = triangle.normal()?;
    let before = (center - triangle.a).dot(normal) >= 0.0;
    match (before, closed) {
        (true, _) => Some(normal),
        (false, false) => Some(-normal),
        (false, true) => inside.then_some(normal),
    }
}

/// Corners of a shape on that side of a triangle whose foot lies within it; all in the triangle's frame.
fn above_face(
    triangle: &Triangle,
    side: Vector,
    shape: &Geometry,
    pose: &Pose,
    margin: f64,
    out: &mut Vec<Point>,
) {
    let Some(normal) = triangle.normal() else { return };
    super::plane::points(triangle.a, side, shape, pose, margin, out);
    let edges = [(triangle.a, triangle.b), (triangle.b, triangle.c), (triangle.c, triangle.a)];
    let within = |p: &Point| {
        let foot = p.at - side * (0.5 * p.gap);
        edges.iter().all(|(from, to)| (*to - *from).cross(foot - *from).dot(normal) >= 0.0)
    };
    // What is deeper than it is wide came from the other side.
    let depth = triangle.scaled_normal().length().sqrt();
    out.retain(|p| within(p) && p.gap > -depth);
}

/// Adds what the shapes were smaller by.
fn thicken(m: &mut ContactManifold<(), ()>, one: f64, two: f64) {
    let (n1, n2) = (m.local_n1, m.local_n2);
    for p in &mut m.points {
        p.local_p1 += n1 * one;
        p.local_p2 += n2 * two;
        p.dist -= one + two;
    }
}

fn ball_ball(to: &Pose, one: f64, two: f64, margin: f64, m: &mut ContactManifold<(), ()>) {
    let d = to.translation;
    let length = d.length();
    if length - one - two > margin {
        return;
    }
    // Balls at the same place part along x: any direction will do, if it is always the same.
    let normal = if length > 0.0 { d / length } else { Vector::X };
    let back = to.rotation.inverse() * -normal;
    (m.local_n1, m.local_n2) = (normal, back);
    let face = PackedFeatureId::face(0);
    m.points.push(TrackedContact::new(normal * one, back * two, face, face, length - one - two));
}

/// Four points hold a pair as well as eight: the deepest, the farthest from it, and the two that span most.
fn reduce(points: &mut Vec<Point>, first: usize) {
    let own = &mut points[first..];
    let n = own.len();
    let normal = own[0].normal;
    let best = |from: usize, own: &[Point], merit: &dyn Fn(&Point) -> f64| {
        (from..n).fold(from, |b, k| if merit(&own[k]) > merit(&own[b]) { k } else { b })
    };
    let k = best(0, own, &|p| -p.gap);
    own.swap(0, k);
    let a = own[0].at;
    let k = best(1, own, &|p| p.at.distance_squared(a));
    own.swap(1, k);
    let across = normal.cross(own[1].at - a);
    let k = best(2, own, &|p| (p.at - a).dot(across));
    own.swap(2, k);
    let k = best(3, own, &|p| -(p.at - a).dot(across));
    own.swap(3, k);
    points.truncate(first + 4);
    points[first..].sort_by_key(|p| p.feature);
}

/// Two numbers as one, so that other numbers rarely give the same.
fn fold(a: u32, b: u32) -> u32 {
    let mixed = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32 ^ mixed as u32
}
