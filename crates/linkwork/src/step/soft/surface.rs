//! Where the surface of a solid is: for a vertex, and for a face of a soft body between its vertices.
//!
//! A vertex keeps to the plane where it ends up or, if its way through the step (in the solid's own frame, so that moving solids
//! count) would lead through the surface, where it would enter: nothing tunnels, however fast. A face does the same by
//! conservative advancement; it is looked at where the solid is sharp or small beside it.

use super::contact::{Kind, Near, Obstacle};
use super::guests::Guest;
use super::layers::advance;
use super::tree::Bounds;
use super::{NONE, Soft, StepConfig};
use crate::contact::{Collider, Geometry};
use crate::math::{Pose, Vector};
use crate::rows::Masses;
use crate::state::State;
use parry3d_f64::query::{PointQuery, PointQueryWithLocation, Ray, RayCast, contact};
use parry3d_f64::shape::{Shape, Triangle};

/// A solid that bulges less than this share of the distance to be kept within a face is met by vertices alone.
const FLAT: f64 = 0.2;
/// A face whose nearest point is this near to one of its vertices leaves it to the vertex.
const CORNER: f64 = 0.99;

/// A way that leads less than this share of a solid's half width below its surface has not gone through it.
const GRAZES: f64 = 0.25;

/// Distance of a point from a surface: along which normal, and the nearest point; in the shape's frame. With the place it
/// came from, where that way leads through the surface: from where it entered.
fn probe(g: &Geometry, p0: Option<Vector>, p1: Vector) -> Option<(Vector, Vector, f64)> {
    match g {
        Geometry::Plane => Some((Vector::Y, Vector::new(p1.x, 0.0, p1.z), p1.y)),
        Geometry::Ball(b) => either(b, GRAZES * b.radius, p0, p1),
        Geometry::Box(b) => either(b, GRAZES * b.half_extents.min_element(), p0, p1),
        Geometry::Capsule(c) => either(c, GRAZES * c.radius, p0, p1),
        Geometry::Cylinder { core, round } => {
            let width = GRAZES * core.radius.min(core.half_height);
            either(core, width, p0, p1).map(|(n, at, d)| (n, at + n * *round, d - round))
        }
        // A mesh has no inside: whatever goes through its surface has entered.
        Geometry::Mesh(m) => either(m.as_ref(), -1.0, p0, p1),
    }
}

/// The surface where a way entered, if it led deeper than `grazes`, or the nearest one. A shape with a negative depth has no
/// inside.
fn either<S: RayCast + PointQuery>(
    shape: &S,
    grazes: f64,
    p0: Option<Vector>,
    p1: Vector,
) -> Option<(Vector, Vector, f64)> {
    let oriented = grazes >= 0.0;
    let depth = |p: Vector| {
        let to = shape.project_local_point(p, false);
        if to.is_inside && oriented { p.distance(to.point) } else { 0.0 }
    };
    let hit = |from: Vector, to: Vector| {
        let ray = Ray::new(from, to - from);
        shape
            .cast_local_ray_and_get_normal(&ray, 1.0, false)
            .map(|hit| (hit, from + (to - from) * hit.time_of_impact))
    };
    let entered = p0.and_then(|p0| {
        let (there, at) = hit(p0, p1)?;
        let leaves = hit(p1, p0).map_or(p1, |(_, at)| at);
        let deep = !oriented || depth(p1) > grazes || depth((at + leaves) * 0.5) > grazes;
        let n = if there.normal.dot(p1 - p0) > 0.0 { -there.normal } else { there.normal };
        deep.then(|| (n, at, n.dot(p1 - at)))
    });
    entered.or_else(|| {
        let to = shape.project_local_point(p1, false);
        let (d, inside) = (p1 - to.point, to.is_inside && oriented);
        let n = (if inside { -d } else { d }).try_normalize()?;
        Some((n, to.point, if inside { -d.length() } else { d.length() }))
    })
}

/// The surface that a vertex at `x` meets on its way, or is nearest to.
fn look(near: &Near, g: &Geometry, at: &Pose, x: Vector) -> Option<(Vector, Vector, f64)> {
    let p1 = at.inverse().transform_point(x);
    let way = near.outside.then_some(near.p0).filter(|p0| p0.distance(p1) > 1e-12);
    probe(g, way, p1)
}

/// What was found: normal and point of the surface in the shape's frame, weights of the vertices, distance.
pub(super) type Found = (Vector, Vector, [f64; 4], f64);

/// Where a triangle is nearest to a shape. None: they overlap, or nothing can be told.
fn nearest(g: &Geometry, p: &[Vector; 3]) -> Option<Found> {
    let t = Triangle::new(p[0], p[1], p[2]);
    let (n, point, d) = match g {
        Geometry::Plane => return None,
        Geometry::Ball(b) => {
            let to = t.project_local_point(Vector::ZERO, false).point;
            let n = to.try_normalize()?;
            (n, n * b.radius, to.length() - b.radius)
        }
        Geometry::Box(b) => between(b, 0.0, &t)?,
        Geometry::Capsule(c) => between(&c.segment, c.radius, &t)?,
        Geometry::Cylinder { core, round } => between(core, *round, &t)?,
        Geometry::Mesh(m) => between(m.as_ref(), 0.0, &t)?,
    };
    let (_, place) = t.project_local_point_and_get_location(point, false);
    let [a, b, c] = place.barycentric_coordinates()?;
    Some((n, point, [a, b, c, 0.0], d))
}

/// The nearest points of a shape, rounded by `round`, and a triangle that does not overlap it.
fn between(shape: &dyn Shape, round: f64, t: &Triangle) -> Option<(Vector, Vector, f64)> {
    let found = contact(&Pose::IDENTITY, shape, &Pose::IDENTITY, t, f64::MAX).ok()??;
    (found.dist > 0.0).then(|| (found.normal1, found.point1 + found.normal1 * round, found.dist - round))
}

/// How large a face may be beside this shape before it is looked at between its vertices.
fn spans(g: &Geometry, keep: f64) -> f64 {
    match g {
        Geometry::Plane => f64::INFINITY,
        Geometry::Ball(b) => (8.0 * FLAT * keep * b.radius).sqrt(),
        Geometry::Capsule(c) => (8.0 * FLAT * keep * c.radius).sqrt(),
        _ => 0.0,
    }
}

impl Soft {
    /// Looks for vertices and faces that may touch something within the step. Solids are where the step begins.
    pub(super) fn find_near(&mut self, s: &State, masses: &Masses, gravity: f64, config: &StepConfig) {
        self.contacts.near.clear();
        self.contacts.guests.clear();
        self.contacts.starts.clear();
        self.contacts.bordered = false;
        let obstacles = std::mem::take(&mut self.contacts.obstacles);
        let colliders = self.contacts.colliders.clone();
        for (k, o) in obstacles.iter().enumerate() {
            let collider = &colliders[o.collider as usize];
            let solid = o.pose.unwrap_or_else(|| Pose::from_parts(s.centers[o.solid], s.rotations[o.solid]));
            let at = solid * collider.local;
            self.contacts.starts.push(at);
            let (speed, spin) = match o.pose {
                Some(_) => (Vector::ZERO, 0.0),
                None => (s.velocities[o.solid], s.spins[o.solid].length() * collider.reach),
            };
            let ways =
                Ways { at, speed, spin, falls: 4.0 * self.h * self.h * gravity, tolerance: config.tolerance };
            let mut guest = NONE;
            let moves = o.pose.is_none() && masses.moves(o.solid);
            let mut invite = |guests: &mut Vec<Guest>| {
                if moves && guest == NONE {
                    guest = Guest::of(guests, o.solid, s, masses);
                }
                guest
            };
            self.find_vertices(k, o, collider, &ways, s, &mut invite);
            self.find_faces(k, o, collider, &ways, s, &mut invite);
        }
        self.contacts.obstacles = obstacles;
    }

    fn find_vertices(
        &mut self,
        k: usize,
        o: &Obstacle,
        collider: &Collider,
        ways: &Ways,
        s: &State,
        invite: &mut impl FnMut(&mut Vec<Guest>) -> u32,
    ) {
        let (back, keep) = (ways.at.inverse(), 0.5 * o.thickness);
        for i in o.vertices.clone().filter(|i| self.nodes[*i] != NONE) {
            let p0 = back.transform_point(s.centers[i]);
            let Some((_, _, d)) = probe(&collider.geometry, None, p0) else { continue };
            let reach = 2.0 * self.h * ((s.velocities[i] - ways.speed).length() + ways.spin) + ways.falls;
            if d - keep > reach + self.reach {
                continue;
            }
            let ends = [i as u32, NONE, NONE, NONE];
            let nodes = [self.nodes[i], NONE, NONE, NONE];
            let near = Near::new(Kind::Vertex, ends, nodes, [1.0, 0.0, 0.0, 0.0], keep, o.friction);
            let mut near = near.coming_out(d, super::contact::UNSEEN * ways.tolerance, self.h);
            (near.obstacle, near.guest) = (k as u32, invite(&mut self.contacts.guests));
            (near.p0, near.outside, near.d0) = (p0, d > 0.0, d);
            self.contacts.near.push(near);
        }
    }

    fn find_faces(
        &mut self,
        k: usize,
        o: &Obstacle,
        collider: &Collider,
        ways: &Ways,
        s: &State,
        invite: &mut impl FnMut(&mut Vec<Guest>) -> u32,
    ) {
        let keep = 0.5 * o.thickness;
        let spans = spans(&collider.geometry, keep);
        let Some(bounds) = collider.bounds.filter(|_| spans.is_finite()) else { return };
        let mut surfaces = std::mem::take(&mut self.surfaces);
        if let Some(own) = surfaces.iter_mut().find(|own| own.solids == o.vertices) {
            let back = ways.at.inverse();
            own.fit_moving(self, &back, |i| (s.velocities[i] - ways.speed) * self.h, keep + self.reach);
            let mut found = std::mem::take(&mut self.faces);
            found.clear();
            own.tree.near(&Bounds { low: bounds.mins, high: bounds.maxs }, |f| found.push(f));
            for f in found.iter().map(|f| own.faces[*f as usize]).filter(|f| f[2] != NONE) {
                let p = f.map(|i| back.transform_point(self.origin[i as usize]));
                let longest =
                    [0, 1, 2].map(|k| p[k].distance(p[(k + 1) % 3])).into_iter().fold(0.0, f64::max);
                let nodes = f.map(|i| self.nodes[i as usize]);
                if longest <= spans || nodes == [NONE; 3] {
                    continue;
                }
                let Some((_, _, weights, d0)) = nearest(&collider.geometry, &p).filter(|x| x.3 > 0.0) else {
                    continue;
                };
                let fast = f
                    .map(|i| (s.velocities[i as usize] - ways.speed).length())
                    .into_iter()
                    .fold(0.0, f64::max);
                if d0 - keep > 2.0 * self.h * (fast + ways.spin) + ways.falls + self.reach {
                    continue;
                }
                let ends = [f[0], f[1], f[2], NONE];
                let nodes = [nodes[0], nodes[1], nodes[2], NONE];
                let near = Near::new(Kind::Face, ends, nodes, weights, keep, o.friction);
                let mut near = near.coming_out(d0, 0.0, self.h);
                (near.obstacle, near.guest) = (k as u32, invite(&mut self.contacts.guests));
                near.d0 = d0;
                self.contacts.near.push(near);
            }
            self.faces = found;
        }
        self.surfaces = surfaces;
    }

    /// The surface that a vertex or a face meets on its way, or is nearest to.
    pub(super) fn look_at_surface(&self, near: &Near) -> Option<Found> {
        let c = &self.contacts;
        let k = near.obstacle as usize;
        let geometry = &c.colliders[c.obstacles[k].collider as usize].geometry;
        let at = &c.poses[k].1;
        if near.kind == Kind::Vertex {
            let (n, p, d) = look(near, geometry, at, self.at(near.ends[0]))?;
            return Some((n, p, [1.0, 0.0, 0.0, 0.0], d));
        }
        let (then, now) = (c.starts[k].inverse(), at.inverse());
        let own = [near.ends[0], near.ends[1], near.ends[2]];
        let p0 = own.map(|i| then.transform_point(self.origin[i as usize]));
        let p1 = own.map(|i| now.transform_point(self.at(i)));
        let by = [0, 1, 2].map(|k| p1[k] - p0[k]);
        let fast = by.iter().map(|d| d.length()).fold(0.0, f64::max);
        let on = |t: f64| [0, 1, 2].map(|k| p0[k] + by[k] * t);
        let t = match fast > 0.9 * near.d0 {
            true => advance(near.d0, near.keep, fast, |t| nearest(geometry, &on(t)).map_or(0.0, |x| x.3)),
            false => 1.0,
        };
        let (n, p, w, _) = nearest(geometry, &on(t))?;
        if w.iter().any(|w| *w > CORNER) {
            return None;
        }
        Some((n, p, w, n.dot(p1[0] * w[0] + p1[1] * w[1] + p1[2] * w[2] - p)))
    }
}

/// How a shape moves, and what moves towards it.
struct Ways {
    at: Pose,
    speed: Vector,
    spin: f64,
    falls: f64,
    tolerance: f64,
}
