//! Vertices of soft bodies against solids: who is near, where the surface is, and what keeps them apart.
//!
//! A vertex keeps half of the sheet's thickness from a solid's surface, along the normal where it ends up or, if its way
//! through the step (in the solid's own frame, so that moving solids count) would lead through the surface, along the normal
//! where it would enter: nothing tunnels, however fast. Normal forces are multipliers as those of limits are, friction is a
//! tangential one within Coulomb's cone. Solids that move are part of the solve: each is a border of six unknowns around the
//! matrix, since a heavy ball on a light sheet that takes turns with it never comes to an end.

use super::factor;
use super::{NONE, Soft, StepConfig};
use crate::contact::{Collider, Geometry};
use crate::math::{Matrix, Pose, Vector, exp};
use crate::rows::Masses;
use crate::state::State;
use parry3d_f64::query::{PointQuery, Ray, RayCast};
use std::sync::Arc;

/// So many times stiffer than springs and masses are surfaces; the rest is left to the multipliers.
const STIFFER: f64 = 1e4;
/// Sweeps over the velocities.
const SWEEPS: usize = 10;

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
    node: u32,
    obstacle: u32,
    guest: u32,
    /// Where the vertex began, in the shape's frame, and whether that was outside.
    p0: Vector,
    outside: bool,
    /// The plane that it keeps to, in the shape's frame: normal, and a point.
    plane: (Vector, Vector),
    /// At the end: normal, a point of the surface, distance beyond what is to be kept.
    normal: Vector,
    arm: Vector,
    gap: f64,
    /// Way along the surface, relative to it.
    slip: Vector,
    active: bool,
    /// It was let go of early once; the next time that is not enough.
    released: bool,
    sticks: bool,
    multiplier: f64,
    drag: Vector,
    /// Force on the vertex: along the normal and along the surface.
    push: f64,
    rub: Vector,
}

/// A solid that is free to answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guest {
    solid: usize,
    mass: f64,
    inertia: Matrix,
    center: Vector,
    rotation: crate::math::Rotation,
    /// Displacement from where it would be, and what it is pushed with.
    move_by: Vector,
    turn_by: Vector,
    pub push: Vector,
    pub twist: Vector,
}

/// Obstacles and what they do.
#[derive(Default)]
pub(crate) struct Contacts {
    pub colliders: Arc<Vec<Collider>>,
    pub obstacles: Vec<Obstacle>,
    near: Vec<Near>,
    guests: Vec<Guest>,
    /// `A^-1 C` and the factor of the border.
    border: Vec<f64>,
    dense: Vec<f64>,
    small: Vec<f64>,
    /// Displacements of guests at the best places seen.
    best: Vec<[Vector; 2]>,
    /// Per obstacle: its solid's centre, and where its shape is.
    poses: Vec<(Vector, Pose)>,
}

impl Contacts {
    /// Solids take part that are free to answer.
    pub fn has_guests(&self) -> bool {
        !self.guests.is_empty()
    }
}

/// Distance of a point from a surface: along which normal, and the nearest point; in the shape's frame.
fn probe(g: &Geometry, p0: Option<Vector>, p1: Vector) -> Option<(Vector, Vector, f64)> {
    if let Geometry::Plane = g {
        return Some((Vector::Y, Vector::new(p1.x, 0.0, p1.z), p1.y));
    }
    let cast = |shape: &dyn RayCast, from: Vector| {
        let ray = Ray::new(from, p1 - from);
        let hit = shape.cast_local_ray_and_get_normal(&ray, 1.0, false)?;
        let at = from + (p1 - from) * hit.time_of_impact;
        let n = if hit.normal.dot(p1 - from) > 0.0 { -hit.normal } else { hit.normal };
        Some((n, at, n.dot(p1 - at)))
    };
    let project = |shape: &dyn PointQuery, oriented: bool| {
        let to = shape.project_local_point(p1, false);
        let (d, inside) = (p1 - to.point, to.is_inside && oriented);
        let n = (if inside { -d } else { d }).try_normalize()?;
        Some((n, to.point, if inside { -d.length() } else { d.length() }))
    };
    let both = |rays: &dyn RayCast, points: &dyn PointQuery, oriented: bool| {
        p0.and_then(|p0| cast(rays, p0)).or_else(|| project(points, oriented))
    };
    match g {
        Geometry::Ball(b) => {
            // Where a ball's vertex turned inside out it has no nearest point; its way in has one.
            both(b, b, true)
        }
        Geometry::Box(b) => both(b, b, true),
        Geometry::Capsule(c) => both(c, c, true),
        Geometry::Cylinder { core, round } => {
            both(core, core, true).map(|(n, at, d)| (n, at + n * *round, d - round))
        }
        Geometry::Mesh(m) => both(m.as_ref(), m.as_ref(), false),
        Geometry::Plane => None,
    }
}

/// The surface that a vertex at `x` meets on its way, or is nearest to.
fn look(near: &Near, g: &Geometry, at: &Pose, x: Vector) -> Option<(Vector, Vector, f64)> {
    let p1 = at.inverse().transform_point(x);
    let way = near.outside.then_some(near.p0).filter(|p0| p0.distance(p1) > 1e-12);
    probe(g, way, p1)
}

impl Soft {
    /// Looks for vertices that may touch something within the step. Solids are where the step begins.
    pub(super) fn find_near(&mut self, s: &State, masses: &Masses, gravity: f64) {
        let h = self.h;
        let c = &mut self.contacts;
        c.near.clear();
        c.guests.clear();
        c.best.clear();
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
            for i in o.vertices.clone() {
                let node = self.nodes[i];
                if node == NONE {
                    continue;
                }
                let p0 = back.transform_point(s.centers[i]);
                let Some((normal, _, d)) = probe(&collider.geometry, None, p0) else { continue };
                let reach = 2.0 * h * ((s.velocities[i] - speed).length() + spin) + 4.0 * h * h * gravity;
                if d - r > reach + self.reach {
                    continue;
                }
                if moves && guest == NONE {
                    let known = c.guests.iter().position(|g| g.solid == o.solid);
                    guest = known.unwrap_or(c.guests.len()) as u32;
                    if known.is_none() {
                        let inverse = masses.inverse_inertia(o.solid);
                        c.guests.push(Guest {
                            solid: o.solid,
                            mass: masses.mass(o.solid),
                            inertia: if inverse.determinant() > 0.0 {
                                inverse.inverse()
                            } else {
                                Matrix::IDENTITY * 1e30
                            },
                            center: s.centers[o.solid],
                            rotation: s.rotations[o.solid],
                            move_by: Vector::ZERO,
                            turn_by: Vector::ZERO,
                            push: Vector::ZERO,
                            twist: Vector::ZERO,
                        });
                    }
                }
                c.near.push(Near {
                    node,
                    obstacle: k as u32,
                    guest,
                    p0,
                    outside: d > 0.0,
                    plane: (Vector::Y, Vector::ZERO),
                    normal,
                    arm: Vector::ZERO,
                    gap: d,
                    slip: Vector::ZERO,
                    active: false,
                    released: false,
                    sticks: true,
                    multiplier: 0.0,
                    drag: Vector::ZERO,
                    push: 0.0,
                    rub: Vector::ZERO,
                });
            }
        }
    }

    /// Guests begin where everything else takes them.
    pub(super) fn place_guests(&mut self, s: &State) {
        for g in &mut self.contacts.guests {
            (g.center, g.rotation) = (s.centers[g.solid], s.rotations[g.solid]);
        }
    }

    fn stiff(&self, node: u32) -> f64 {
        let n = node as usize;
        STIFFER * (self.around[n] + 2.0 * self.masses[n] / (self.h * self.h))
    }

    /// Where the shapes are, guests where they were moved to.
    fn place_obstacles(&mut self, s: &[Vector], turns: impl Fn(usize) -> crate::math::Rotation) {
        let c = &mut self.contacts;
        c.poses.clear();
        for o in &c.obstacles {
            let guest = c.guests.iter().find(|g| o.pose.is_none() && g.solid == o.solid);
            let solid = match (o.pose, guest) {
                (Some(pose), _) => pose,
                (None, Some(g)) => {
                    Pose::from_parts(g.center + g.move_by, (exp(g.turn_by) * g.rotation).normalize())
                }
                (None, None) => Pose::from_parts(s[o.solid], turns(o.solid)),
            };
            c.poses.push((solid.translation, solid * c.colliders[o.collider as usize].local));
        }
    }

    /// Gaps and forces with the vertices at `x`. What touches keeps to the plane that it was found at, so that Newton's
    /// method sees one surface; `tighten_touch` looks where the surface is now.
    pub(super) fn touch(&mut self, s: &[Vector], turns: impl Fn(usize) -> crate::math::Rotation) {
        self.place_obstacles(s, turns);
        for k in 0..self.contacts.near.len() {
            let stiff = self.stiff(self.contacts.near[k].node);
            let c = &mut self.contacts;
            let near = &mut c.near[k];
            let o = &c.obstacles[near.obstacle as usize];
            let (center, at) = c.poses[near.obstacle as usize];
            let x = self.x[near.node as usize];
            if !near.active {
                let found = look(near, &c.colliders[o.collider as usize].geometry, &at, x);
                near.gap = found.map_or(f64::INFINITY, |(_, _, d)| d - 0.5 * o.thickness);
                (near.push, near.rub) = (0.0, Vector::ZERO);
                continue;
            }
            near.normal = at.rotation * near.plane.0;
            let d = near.normal.dot(x - at.transform_point(near.plane.1));
            near.gap = d - 0.5 * o.thickness;
            near.arm = x - near.normal * d - center;
            let slip = x - at.transform_point(near.p0);
            near.slip = slip - near.normal * near.normal.dot(slip);
            near.push = near.multiplier - stiff * near.gap;
            let most = o.friction * near.multiplier.max(0.0);
            let stuck = near.drag - near.normal * near.normal.dot(near.drag) - near.slip * stiff;
            near.rub = match near.sticks {
                true => stuck,
                false if most == 0.0 => Vector::ZERO,
                false => stuck.clamp_length_max(most),
            };
        }
        for g in &mut self.contacts.guests {
            (g.push, g.twist) = (Vector::ZERO, Vector::ZERO);
        }
        let half = 0.5 * self.h;
        for near in self.contacts.near.iter().filter(|n| n.active && n.guest != NONE) {
            let f = (near.normal * near.push + near.rub) * half;
            let g = &mut self.contacts.guests[near.guest as usize];
            g.push -= f;
            g.twist -= near.arm.cross(f);
        }
    }

    /// Impulses of contacts on the vertices, of half a step.
    pub(super) fn collect_touch(&mut self) {
        let half = 0.5 * self.h;
        for near in self.contacts.near.iter().filter(|n| n.active) {
            self.limits[near.node as usize] += (near.normal * near.push + near.rub) * half;
        }
    }

    /// Their share of the matrix.
    pub(super) fn linearise_touch(&mut self) {
        let half = 0.5 * self.h * self.h;
        for k in 0..self.contacts.near.len() {
            let near = self.contacts.near[k];
            if near.active {
                let stiff = half * self.stiff(near.node);
                let across = if near.sticks { stiff } else { 0.0 };
                let b = factor::stiffness(near.normal, stiff, across);
                self.factor.add_diagonal(near.node as usize, &b);
            }
        }
    }

    /// The border: `A^-1 C` and the factor of what is left of the guests.
    pub(super) fn linearise_guests(&mut self) {
        let (n, guests) = (3 * self.solids.len(), self.contacts.guests.len());
        let size = 6 * guests;
        self.contacts.border.clear();
        self.contacts.border.resize(n * size, 0.0);
        self.contacts.dense.clear();
        self.contacts.dense.resize(size * size, 0.0);
        self.contacts.small.resize(size, 0.0);
        for (k, g) in self.contacts.guests.iter().enumerate() {
            for i in 0..3 {
                self.contacts.dense[(6 * k + i) * size + 6 * k + i] = g.mass;
                for j in 0..3 {
                    self.contacts.dense[(6 * k + 3 + i) * size + 6 * k + 3 + j] = g.inertia.col(j)[i];
                }
            }
        }
        let half = 0.5 * self.h * self.h;
        let mut couplings: Vec<(usize, usize, [[f64; 6]; 3])> = std::mem::take(&mut self.couplings);
        couplings.clear();
        for near in self.contacts.near.iter().filter(|x| x.active && x.guest != NONE) {
            let stiff = half * self.stiff(near.node);
            let across = if near.sticks { stiff } else { 0.0 };
            let b = factor::stiffness(near.normal, stiff, across);
            let full = [[b[0], b[1], b[2]], [b[1], b[3], b[4]], [b[2], b[4], b[5]]];
            // The point of the solid moves by `move + turn x arm`.
            let a = near.arm;
            let point = [
                [1.0, 0.0, 0.0, 0.0, a.z, -a.y],
                [0.0, 1.0, 0.0, -a.z, 0.0, a.x],
                [0.0, 0.0, 1.0, a.y, -a.x, 0.0],
            ];
            let mut c = [[0.0; 6]; 3];
            for (i, row) in c.iter_mut().enumerate() {
                for (j, x) in row.iter_mut().enumerate() {
                    *x = (0..3).map(|k| full[i][k] * point[k][j]).sum();
                }
            }
            let g = 6 * near.guest as usize;
            for i in 0..6 {
                for j in 0..6 {
                    self.contacts.dense[(g + i) * size + g + j] +=
                        (0..3).map(|k| point[k][i] * c[k][j]).sum::<f64>();
                }
            }
            couplings.push((near.node as usize, g, c));
        }
        for (node, g, c) in &couplings {
            for (i, row) in c.iter().enumerate() {
                for (j, x) in row.iter().enumerate() {
                    self.contacts.border[(g + j) * n + 3 * node + i] += x;
                }
            }
        }
        for column in self.contacts.border.chunks_exact_mut(n.max(1)) {
            self.factor.solve(column);
        }
        for (node, g, c) in &couplings {
            for j in 0..size {
                let x = &self.contacts.border[j * n + 3 * node..j * n + 3 * node + 3];
                for i in 0..6 {
                    self.contacts.dense[(g + i) * size + j] -= (0..3).map(|k| c[k][i] * x[k]).sum::<f64>();
                }
            }
        }
        self.couplings = couplings;
        cholesky(&mut self.contacts.dense, size);
    }

    /// `right` is `A^-1` of what the vertices lack: adds what guests do to it, and moves them.
    pub(super) fn correct_guests(&mut self) {
        let (n, guests) = (3 * self.solids.len(), self.contacts.guests.len());
        if guests == 0 {
            return;
        }
        let (h, size) = (self.h, 6 * guests);
        let c = &mut self.contacts;
        for (k, g) in c.guests.iter().enumerate() {
            let lacks = g.push * h - g.move_by * g.mass;
            let turns = g.twist * h - g.inertia * g.turn_by;
            c.small[6 * k..6 * k + 3].copy_from_slice(&lacks.to_array());
            c.small[6 * k + 3..6 * k + 6].copy_from_slice(&turns.to_array());
        }
        for (node, g, block) in &self.couplings {
            let x = &self.right[3 * node..3 * node + 3];
            for i in 0..6 {
                c.small[g + i] += (0..3).map(|k| block[k][i] * x[k]).sum::<f64>();
            }
        }
        back(&c.dense, size, &mut c.small);
        for (j, z) in c.small.iter().enumerate() {
            let column = &c.border[j * n..(j + 1) * n];
            self.right.iter_mut().zip(column).for_each(|(r, b)| *r += b * z);
        }
    }

    /// Moves guests by this share of the last correction.
    pub(super) fn move_guests(&mut self, share: f64) {
        let c = &mut self.contacts;
        for (k, g) in c.guests.iter_mut().enumerate() {
            let z = &c.small[6 * k..6 * k + 6];
            g.move_by += Vector::new(z[0], z[1], z[2]) * share;
            g.turn_by += Vector::new(z[3], z[4], z[5]) * share;
        }
    }

    /// Remembers where everything is, or goes back there.
    pub(super) fn keep_best(&mut self) {
        self.best.clone_from(&self.x);
        self.contacts.best.clear();
        self.contacts.best.extend(self.contacts.guests.iter().map(|g| [g.move_by, g.turn_by]));
    }

    pub(super) fn go_back(&mut self) {
        self.x.clone_from(&self.best);
        for (g, at) in self.contacts.guests.iter_mut().zip(&self.contacts.best) {
            [g.move_by, g.turn_by] = *at;
        }
    }

    /// Lets go of what would have to pull, which is seen before the rest is settled. True when there is any.
    pub(super) fn release_pulling(&mut self) -> bool {
        let mut changed = false;
        for near in self.contacts.near.iter_mut().filter(|n| n.active && n.push < 0.0 && !n.released) {
            (near.active, near.released, near.sticks, changed) = (false, true, true, true);
            (near.multiplier, near.drag) = (0.0, Vector::ZERO);
        }
        changed
    }

    /// The same as limits do: lets go, takes on, tightens. Tells whether others touch now, and whether some gave way.
    pub(super) fn tighten_touch(&mut self, c: &StepConfig) -> (bool, bool) {
        let give = 0.5 * c.tolerance;
        let (mut changed, mut loose) = (false, false);
        (self.report.contacts, self.report.penetration) = (0, 0.0);
        let contacts = &mut self.contacts;
        for near in &mut contacts.near {
            let o = &contacts.obstacles[near.obstacle as usize];
            let (friction, geometry) = (o.friction, &contacts.colliders[o.collider as usize].geometry);
            let at = contacts.poses[near.obstacle as usize].1;
            let x = self.x[near.node as usize];
            let found = look(near, geometry, &at, x);
            let gap = found.map_or(f64::INFINITY, |(_, _, d)| d - 0.5 * o.thickness);
            if near.active {
                if near.push < 0.0 {
                    (near.active, near.sticks, changed) = (false, true, true);
                    (near.multiplier, near.drag) = (0.0, Vector::ZERO);
                    continue;
                }
                let most = friction * near.push;
                if near.sticks && near.rub.length() > most {
                    (near.sticks, changed) = (false, true);
                } else if near.sticks && near.slip.length() > give {
                    loose = true;
                }
                if let Some((n, point, _)) = found.filter(|_| (gap - near.gap).abs() > 0.5 * give) {
                    // The surface bends away from the plane: the next round has another one.
                    changed |= n.dot(near.plane.0) < 0.9998;
                    (near.plane, loose) = ((n, point), true);
                }
                // What slides is rubbed by what presses, which is known when that is.
                let off = (near.push - near.multiplier).abs() > 1e-3 * near.push;
                loose |= near.gap.abs() > give || (!near.sticks && off && friction > 0.0);
                (near.multiplier, near.drag) = (near.push, near.rub.clamp_length_max(most));
            } else if let Some((n, point, _)) = found.filter(|_| gap < -give) {
                (near.active, near.plane, changed) = (true, (n, point), true);
            }
            self.report.contacts += usize::from(near.active);
            self.report.penetration = self.report.penetration.max(-gap);
        }
        (changed, loose)
    }

    /// Hands what guests were pushed with to whom it concerns.
    pub(super) fn push_guests(&self, impulses: &mut [super::Wrench]) {
        for g in &self.contacts.guests {
            impulses[g.solid].linear += g.push;
            impulses[g.solid].angular += g.twist;
        }
    }

    /// Vertices that touch do not go on into what they touch, and rub along it: impulse by impulse.
    pub fn settle_touch(&mut self, s: &mut State, masses: &Masses) {
        for sweep in 0..SWEEPS {
            for k in 0..self.contacts.near.len() {
                let near = self.contacts.near[k];
                if !near.active || near.push <= 0.0 {
                    continue;
                }
                let o = &self.contacts.obstacles[near.obstacle as usize];
                let i = self.solids[near.node as usize] as usize;
                let solid = o.pose.is_none().then_some(o.solid);
                let free = solid.filter(|j| masses.moves(*j));
                let carried = solid.map_or(Vector::ZERO, |j| s.velocities[j] + s.spins[j].cross(near.arm));
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
                    -d * stop.min(o.friction * (p + 0.5 * self.h * near.push))
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

/// Cholesky of a small dense matrix by rows, in place; pivots that vanish are left out.
fn cholesky(a: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..=i {
            let mut sum = a[i * n + j];
            for k in 0..j {
                sum -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] = match (i == j, a[j * n + j]) {
                (true, _) => sum.max(0.0).sqrt(),
                (false, p) if p > 0.0 => sum / p,
                _ => 0.0,
            };
        }
    }
}

fn back(l: &[f64], n: usize, x: &mut [f64]) {
    let over = |x: f64, p: f64| if p > 0.0 { x / p } else { 0.0 };
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| l[i * n + k] * x[k]).sum();
        x[i] = over(x[i] - sum, l[i * n + i]);
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| l[k * n + i] * x[k]).sum();
        x[i] = over(x[i] - sum, l[i * n + i]);
    }
}
