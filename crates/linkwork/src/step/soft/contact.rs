//! Vertices of soft bodies against solids: who is near, where the surface is, and what keeps them apart.
//!
//! A vertex keeps half of the sheet's thickness from a solid's surface, along the normal where it ends up or, if its way
//! through the step (in the solid's own frame, so that moving solids count) would lead through the surface, along the normal
//! where it would enter: nothing tunnels, however fast. Normal forces are multipliers as those of limits are; friction is a
//! tangential one within Coulomb's cone, whose size is that of the round before. Solids that move are part of the solve
//! (`guests.rs`).

use super::factor;
use super::guests::Guest;
use super::{NONE, Soft, StepConfig};
use crate::contact::{Collider, Geometry};
use crate::math::{Pose, Vector};
use crate::rows::Masses;
use crate::state::State;
use parry3d_f64::query::{PointQuery, Ray, RayCast};
use std::sync::Arc;

/// So many times stiffer than springs and masses are surfaces, and what sticks to them; the rest is left to the multipliers.
const STIFFER: f64 = 300.0;
const STICKIER: f64 = 30.0;
/// In so many rounds planes, and the sizes of friction's cones, are those of the round; later ones keep to them.
const LOOKS: usize = 12;
const LAGS: usize = 3;
/// How much of its half thickness a sheet may give way.
const GIVE: f64 = 0.02;
/// Sweeps over the velocities.
const SWEEPS: usize = 10;
/// What begins inside comes out by this share of its depth in a step.
const OUT: f64 = 0.2;

/// A shape near the island's soft bodies.
#[derive(Clone, Debug)]
pub(crate) struct Obstacle {
    pub collider: u32,
    /// Solid of the island; what is fixed counts as the world.
    pub solid: usize,
    /// Where the fixed one is.
    pub pose: Option<Pose>,
    /// The island's soft body, and its thickness and vertices.
    pub thickness: f64,
    pub vertices: std::ops::Range<usize>,
    pub friction: f64,
}

/// A vertex near an obstacle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    pub node: u32,
    obstacle: u32,
    pub guest: u32,
    /// Where the vertex began, in the shape's frame, and whether that was outside.
    p0: Vector,
    outside: bool,
    /// The plane that it keeps to, in the shape's frame: normal, and a point. None: it is nowhere near.
    plane: Option<(Vector, Vector)>,
    /// How deep it may be at the end: what begins inside comes out in time.
    allowed: f64,
    /// At the end: normal, a point of the surface, distance beyond what is to be kept.
    pub normal: Vector,
    pub arm: Vector,
    gap: f64,
    /// Way along the surface, relative to it.
    slip: Vector,
    multiplier: f64,
    drag: Vector,
    /// Normal force that friction goes by.
    pressed: f64,
    /// Force on the vertex: along the normal and along the surface.
    pub push: f64,
    rub: Vector,
    /// How large its friction would be if it stuck.
    wants: f64,
    /// In the matrix: it acts, and it sticks.
    pub acts: bool,
    sticks: bool,
}

impl Near {
    fn new(node: u32, obstacle: u32, guest: u32, p0: Vector, outside: bool) -> Self {
        let zero = Vector::ZERO;
        let (plane, normal, arm, slip, drag, rub) = (None, Vector::Y, zero, zero, zero, zero);
        let (allowed, gap, multiplier, pressed, push, wants) = (0.0, f64::INFINITY, 0.0, 0.0, 0.0, 0.0);
        let (acts, sticks) = (false, false);
        Self {
            node,
            obstacle,
            guest,
            p0,
            outside,
            plane,
            allowed,
            normal,
            arm,
            gap,
            slip,
            multiplier,
            drag,
            pressed,
            push,
            rub,
            wants,
            acts,
            sticks,
        }
    }

    pub fn force(&self) -> Vector {
        self.normal * self.push + self.rub
    }
}

/// Obstacles and what they do.
#[derive(Default)]
pub(crate) struct Contacts {
    pub colliders: Arc<Vec<Collider>>,
    pub obstacles: Vec<Obstacle>,
    pub(super) near: Vec<Near>,
    pub(super) guests: Vec<Guest>,
    /// `A^-1 C` and the factor of the border.
    pub(super) border: Vec<f64>,
    pub(super) dense: Vec<f64>,
    pub(super) small: Vec<f64>,
    /// Per obstacle: its solid's centre, and where its shape is.
    poses: Vec<(Vector, Pose)>,
}

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

impl Soft {
    /// Looks for vertices that may touch something within the step. Solids are where the step begins.
    pub(super) fn find_near(&mut self, s: &State, masses: &Masses, gravity: f64, config: &StepConfig) {
        let h = self.h;
        let c = &mut self.contacts;
        c.near.clear();
        c.guests.clear();
        for (k, o) in c.obstacles.iter().enumerate() {
            let collider = &c.colliders[o.collider as usize];
            let at = o.pose.unwrap_or_else(|| Pose::from_parts(s.centers[o.solid], s.rotations[o.solid]));
            let at = at * collider.local;
            let moves = o.pose.is_none() && masses.moves(o.solid);
            let speed = if o.pose.is_some() { Vector::ZERO } else { s.velocities[o.solid] };
            let spin = if o.pose.is_some() { 0.0 } else { s.spins[o.solid].length() * collider.reach };
            let back = at.inverse();
            let r = 0.5 * o.thickness;
            let mut guest = NONE;
            for i in o.vertices.clone().filter(|i| self.nodes[*i] != NONE) {
                let node = self.nodes[i];
                let p0 = back.transform_point(s.centers[i]);
                let Some((_, _, d)) = probe(&collider.geometry, None, p0) else { continue };
                let reach = 2.0 * h * ((s.velocities[i] - speed).length() + spin) + 4.0 * h * h * gravity;
                if d - r > reach + self.reach {
                    continue;
                }
                if moves && guest == NONE {
                    guest = Guest::of(&mut c.guests, o.solid, s, masses);
                }
                let deep = d - r < -10.0 * config.tolerance;
                let allowed = if deep { (1.0 - OUT) * (d - r) } else { 0.0 };
                c.near.push(Near { allowed, ..Near::new(node, k as u32, guest, p0, d > 0.0) });
            }
        }
    }

    fn stiff(&self, node: u32) -> f64 {
        let n = node as usize;
        STIFFER * (self.around[n] + 2.0 * self.masses[n] / (self.h * self.h))
    }

    /// Where the shapes are, guests where they were moved to.
    pub(super) fn place_obstacles(&mut self, s: &State) {
        let c = &mut self.contacts;
        c.poses.clear();
        for o in &c.obstacles {
            let guest = c.guests.iter().find(|g| o.pose.is_none() && g.solid == o.solid);
            let solid = match (o.pose, guest) {
                (Some(pose), _) => pose,
                (None, Some(g)) => g.pose(),
                (None, None) => Pose::from_parts(s.centers[o.solid], s.rotations[o.solid]),
            };
            c.poses.push((solid.translation, solid * c.colliders[o.collider as usize].local));
        }
    }

    /// Finds the planes that vertices keep to: what touches keeps to one of them while Newton's method takes a step. True
    /// when there are any.
    pub(super) fn look_at_surfaces(&mut self, look_no: usize) -> bool {
        let c = &mut self.contacts;
        if look_no >= LOOKS {
            return false;
        }
        for near in &mut c.near {
            let o = &c.obstacles[near.obstacle as usize];
            let at = &c.poses[near.obstacle as usize].1;
            let geometry = &c.colliders[o.collider as usize].geometry;
            near.plane = look(near, geometry, at, self.x[near.node as usize]).map(|(n, p, _)| (n, p));
            if look_no < LAGS {
                near.pressed = near.push;
            }
        }
        !c.near.is_empty()
    }

    /// Gaps and forces with the vertices at `x`, and what they add to `Phi`, over half of the step's square.
    pub(super) fn touch(&mut self, s: &State) -> f64 {
        if self.contacts.near.is_empty() {
            return 0.0;
        }
        self.place_obstacles(s);
        let mut sum = 0.0;
        for k in 0..self.contacts.near.len() {
            let stiff = self.stiff(self.contacts.near[k].node);
            let c = &mut self.contacts;
            let near = &mut c.near[k];
            let o = &c.obstacles[near.obstacle as usize];
            let (center, at) = c.poses[near.obstacle as usize];
            let x = self.x[near.node as usize];
            let Some((normal, point)) = near.plane else {
                (near.gap, near.push, near.rub) = (f64::INFINITY, 0.0, Vector::ZERO);
                continue;
            };
            near.normal = at.rotation * normal;
            let d = near.normal.dot(x - at.transform_point(point));
            near.gap = d - 0.5 * o.thickness - near.allowed;
            near.arm = x - near.normal * d - center;
            let slip = x - at.transform_point(near.p0);
            near.slip = slip - near.normal * near.normal.dot(slip);
            near.push = (near.multiplier - stiff * near.gap).max(0.0);
            sum += 0.5 * near.push * near.push / stiff;
            // Huber's function: stiff within the cone, straight outside.
            let most = o.friction * near.pressed;
            let stiff = stiff * (STICKIER / STIFFER);
            let stuck = near.drag - near.normal * near.normal.dot(near.drag) - near.slip * stiff;
            let wants = stuck.length();
            near.wants = wants;
            near.rub = if wants > most { stuck * (most / wants) } else { stuck };
            let held = wants.min(most);
            sum += held * (wants - 0.5 * held) / stiff;
        }
        self.push_on_guests();
        sum
    }

    /// Impulses of contacts on the vertices, of half a step.
    pub(super) fn collect_touch(&mut self) {
        self.touching.fill(Vector::ZERO);
        let half = 0.5 * self.h;
        for near in &self.contacts.near {
            self.touching[near.node as usize] += near.force() * half;
        }
    }

    /// The stiffness that a contact adds.
    pub(super) fn touch_block(&self, near: &Near) -> factor::Block {
        let stiff = 0.5 * self.h * self.h * self.stiff(near.node);
        let along = if near.push > 0.0 { stiff } else { 0.0 };
        let most = self.contacts.obstacles[near.obstacle as usize].friction * near.pressed;
        // What slides is as stiff as its friction over how far it wants to go.
        let stiff = stiff * (STICKIER / STIFFER);
        let across = if near.wants > most { stiff * (most / near.wants) } else { stiff };
        let across = if most > 0.0 { across } else { 0.0 };
        factor::stiffness(near.normal, along, across)
    }

    /// Their share of the matrix.
    pub(super) fn linearise_touch(&mut self) {
        for k in 0..self.contacts.near.len() {
            let near = self.contacts.near[k];
            let b = self.touch_block(&near);
            self.factor.add_diagonal(near.node as usize, &b);
            let sticks = self.sticks(&near);
            let near = &mut self.contacts.near[k];
            (near.acts, near.sticks) = (near.push > 0.0, sticks);
        }
    }

    fn sticks(&self, near: &Near) -> bool {
        let most = self.contacts.obstacles[near.obstacle as usize].friction * near.pressed;
        near.wants <= most
    }

    pub(super) fn touches_differently(&self) -> bool {
        self.contacts.near.iter().any(|n| n.acts != (n.push > 0.0) || (n.acts && n.sticks != self.sticks(n)))
    }

    /// The same as limits do: what gave way is held by more. True when nothing did.
    pub(super) fn tighten_touch(&mut self, c: &StepConfig, strict: bool) -> bool {
        let mut tight = true;
        (self.report.contacts, self.report.penetration) = (0, 0.0);
        let contacts = &mut self.contacts;
        for near in &mut contacts.near {
            let acts = near.push > 0.0;
            let o = &contacts.obstacles[near.obstacle as usize];
            let at = &contacts.poses[near.obstacle as usize].1;
            let found =
                look(near, &contacts.colliders[o.collider as usize].geometry, at, self.x[near.node as usize]);
            // The surface where the vertex is, which may bend away from the plane that it keeps to.
            near.gap = found.map_or(f64::INFINITY, |(_, _, d)| d - 0.5 * o.thickness - near.allowed);
            let give = (0.5 * c.tolerance).max(0.5 * GIVE * o.thickness);
            let loose = near.gap < -give || (strict && acts && near.gap > give);
            if loose {
                if let Some((n, point, _)) = found {
                    near.plane = Some((n, point));
                }
                tight = false;
                (near.multiplier, near.drag) = (near.push, near.rub);
            }
            self.report.contacts += usize::from(acts);
            self.report.penetration = self.report.penetration.max(-(near.gap + near.allowed));
        }
        tight
    }

    /// How fast the surface under a vertex moves.
    pub(super) fn carried(&self, near: &Near, s: &State) -> Vector {
        let o = &self.contacts.obstacles[near.obstacle as usize];
        if o.pose.is_some() { Vector::ZERO } else { s.velocities[o.solid] + s.spins[o.solid].cross(near.arm) }
    }

    /// Vertices that touch do not go on into what they touch, and rub along it: impulse by impulse.
    pub fn settle_touch(&mut self, s: &mut State, masses: &Masses) {
        for sweep in 0..SWEEPS {
            for k in 0..self.contacts.near.len() {
                let near = self.contacts.near[k];
                if near.push <= 0.0 {
                    continue;
                }
                let o = &self.contacts.obstacles[near.obstacle as usize];
                let i = self.solids[near.node as usize] as usize;
                let solid = o.pose.is_none().then_some(o.solid);
                let free = solid.filter(|j| masses.moves(*j));
                let carried = self.carried(&near, s);
                let relative = s.velocities[i] - carried;
                let n = near.normal;
                let along = n.dot(relative);
                let heavy = |d: Vector| {
                    let turn = free.map_or(0.0, |j| {
                        let a = near.arm.cross(d);
                        masses.inverse_mass(j) + a.dot(masses.inverse_inertia(j) * a)
                    });
                    1.0 / (1.0 / self.masses[near.node as usize] + turn)
                };
                let p = (-along * heavy(n)).max(0.0);
                let slide = relative - n * along;
                let rub = slide.try_normalize().filter(|_| sweep == 0).map_or(Vector::ZERO, |d| {
                    let stop = slide.length() * heavy(d);
                    -d * stop.min(o.friction * p)
                });
                let push = n * p + rub;
                s.velocities[i] += push / self.masses[near.node as usize];
                if let Some(j) = free {
                    s.velocities[j] -= push * masses.inverse_mass(j);
                    s.spins[j] -= masses.inverse_inertia(j) * near.arm.cross(push);
                }
            }
        }
    }
}
