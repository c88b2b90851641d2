//! What soft bodies touch with: rows between vertices, faces and edges of theirs and solids, themselves and each other.
//!
//! A row is a point of a soft body, or the difference of two, as a weighted sum of up to four vertices; it keeps to one side of a
//! plane, that of a solid's surface (`surface.rs`) or one between two layers (`layers.rs`). Normal forces are multipliers as
//! those of limits are; friction is a tangential one within Coulomb's cone, whose size is that of the round before. Solids that
//! move are part of the solve (`guests.rs`).

use super::factor;
use super::guests::Guest;
use super::layers::weighted;
use super::{NONE, Soft, StepConfig};
use crate::contact::Collider;
use crate::math::{Pose, Vector};
use crate::rows::Masses;
use crate::state::State;
use std::sync::Arc;

/// So many times stiffer than springs and masses are surfaces; the rest is left to the multipliers.
const STIFFER: f64 = 20.0;
/// The same for large sheets: what is less stiff takes fewer rounds.
const LESS_STIFF: f64 = 5.0;
/// A row gives way by no less than this share of what its guest does.
const LEAST_GIVE: f64 = 1e-2;
/// What sticks is less stiff than what keeps apart.
const STICKIER: f64 = 0.5;
/// How much stiffer a surface gets that multipliers do not hold, and how much at most.
const TIGHTER: f64 = 4.0;
const TIGHTEST: f64 = 64.0;
/// What begins nearer than this share of the distance to be kept touches.
const CLOSE: f64 = 0.05;
/// In so many rounds planes, and the sizes of friction's cones, are those of the round; later ones keep to them.
const LOOKS: usize = 12;
/// By this share the sizes of friction's cones follow what large sheets are pushed with: what is pushed harder sticks, and is
/// pushed less for it, so that cones that follow at once never come to rest.
const FOLLOWS: f64 = 0.3;
/// How much of the distance to be kept a sheet may give way.
const GIVE: f64 = 0.05;
/// The same where Newton's method ran out of rounds.
const BEARABLE: f64 = 0.3;
/// And by so many tolerances, which are all that a sheet without thickness has.
pub(super) const UNSEEN: f64 = 10.0;
/// Sweeps over the velocities.
const SWEEPS: usize = 10;
/// What begins inside comes out by this share of its depth in a step, and no faster than this, metres per second.
const OUT: f64 = 0.2;
const OUT_SPEED: f64 = 0.5;

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

/// What touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A vertex, or a point of a face, and a solid.
    Vertex,
    Face,
    /// A vertex and a face, or two edges, of soft bodies.
    Corner,
    Edges,
}

/// Two things near each other, of which one at least is soft.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    pub kind: Kind,
    /// Vertices by solids and by nodes, `NONE` for those that are not there or held; and their weights.
    pub ends: [u32; 4],
    pub nodes: [u32; 4],
    pub weights: [f64; 4],
    /// The solid that is touched, if one is, and whether it is part of the solve.
    pub obstacle: u32,
    pub guest: u32,
    /// Where the point began, in the shape's frame, and whether that was outside.
    pub p0: Vector,
    pub outside: bool,
    /// How far apart they began.
    pub d0: f64,
    /// Distance to be kept, and how much less is allowed at the end: what begins inside comes out in time.
    pub keep: f64,
    allowed: f64,
    friction: f64,
    /// The plane that it keeps to: normal and a point, in the shape's frame if there is one. None: it is nowhere near.
    plane: Option<(Vector, Vector)>,
    /// At the end: normal, a point of the surface, distance beyond what is to be kept.
    pub normal: Vector,
    pub arm: Vector,
    gap: f64,
    /// Way along the surface, relative to it.
    slip: Vector,
    /// How stiff it is held, and how much more than others.
    stiff: f64,
    stiffer: f64,
    /// How far its vertices can go from where it was looked at before it can matter.
    slack: f64,
    multiplier: f64,
    drag: Vector,
    /// Normal force that friction goes by.
    pressed: f64,
    /// Force on the point: along the normal and along the surface.
    pub push: f64,
    rub: Vector,
    /// How large its friction would be if it stuck.
    wants: f64,
    /// In the matrix: it acts, it sticks, its stiffness, and by what weights.
    pub acts: bool,
    sticks: bool,
    /// Its ways crossed, and were cut short.
    pub crossed: bool,
    pub block: factor::Block,
    pub by: [f64; 4],
    /// Impulse that it gave while fast modes were damped (`calm.rs`).
    pub calmed: Vector,
}

impl Near {
    pub fn new(
        kind: Kind,
        ends: [u32; 4],
        nodes: [u32; 4],
        weights: [f64; 4],
        keep: f64,
        friction: f64,
    ) -> Self {
        let zero = Vector::ZERO;
        let (p0, normal, arm, slip, drag, rub) = (zero, Vector::Y, zero, zero, zero, zero);
        let (obstacle, guest, outside, plane) = (NONE, NONE, true, None);
        let (d0, allowed, gap, stiff) = (f64::INFINITY, 0.0, f64::INFINITY, 0.0);
        let (stiffer, slack) = (1.0, 0.0);
        let (multiplier, pressed, push, wants) = (0.0, 0.0, 0.0, 0.0);
        let (acts, sticks) = (false, false);
        Self {
            kind,
            ends,
            nodes,
            weights,
            obstacle,
            guest,
            p0,
            outside,
            d0,
            keep,
            allowed,
            friction,
            plane,
            normal,
            arm,
            gap,
            slip,
            stiff,
            stiffer,
            slack,
            multiplier,
            drag,
            pressed,
            push,
            rub,
            wants,
            acts,
            sticks,
            crossed: false,
            block: [0.0; 6],
            by: weights,
            calmed: zero,
        }
    }

    /// Nothing pushes it, and it is at this distance from what stays where it is.
    fn rest(&mut self, d: f64) {
        let still = self.guest == NONE && self.multiplier == 0.0 && self.plane.is_some();
        self.slack = if still && d.is_finite() { d - self.keep - self.allowed.min(0.0) } else { 0.0 };
        if self.slack > 0.0 {
            (self.push, self.rub, self.pressed, self.gap) = (0.0, Vector::ZERO, 0.0, self.slack);
        }
    }

    /// The same, beginning at this distance: less than what is to be kept is made good in time.
    pub fn coming_out(self, d: f64, tolerance: f64, h: f64) -> Self {
        let lacks = d - self.keep;
        let way = (-OUT * lacks).min(OUT_SPEED * h);
        Self { allowed: if lacks < -tolerance { lacks + way } else { 0.0 }, ..self }
    }

    /// What pushing it out takes: its force times how much farther out it has to be than it began.
    pub fn lifts(&self) -> f64 {
        self.push * (self.allowed + self.keep - self.d0).max(0.0)
    }

    pub fn begins_close(&self) -> bool {
        self.d0 < (1.0 + CLOSE) * self.keep
    }

    /// It is too far away to matter, even if its vertices go this far.
    fn is_idle(&self, strays: f64) -> bool {
        self.slack > strays
    }

    pub fn is_layer(&self) -> bool {
        self.obstacle == NONE
    }

    pub fn force(&self) -> Vector {
        self.normal * self.push + self.rub
    }

    /// Nodes that move, with their weights.
    pub fn moving(&self) -> impl Iterator<Item = (usize, f64)> + use<> {
        self.nodes_by(self.weights)
    }

    /// The same, with the weights that they have in the matrix.
    pub fn in_matrix(&self) -> impl Iterator<Item = (usize, f64)> + use<> {
        self.nodes_by(self.by)
    }

    fn nodes_by(&self, weights: [f64; 4]) -> impl Iterator<Item = (usize, f64)> + use<> {
        let both = self.nodes.into_iter().zip(weights);
        both.filter(|(n, w)| *n != NONE && *w != 0.0).map(|(n, w)| (n as usize, w))
    }

    /// Each two of its nodes.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let nodes = self.nodes;
        (0..3)
            .flat_map(move |i| (i + 1..4).map(move |j| (nodes[i], nodes[j])))
            .filter(|(a, b)| *a != NONE && *b != NONE)
    }

    /// It acts, or may soon.
    pub fn is_close(&self) -> bool {
        self.push > 0.0 || self.gap < 0.5 * self.keep
    }

    /// There is friction.
    pub fn rubs(&self) -> bool {
        self.friction > 0.0
    }

    /// How much of its distance it lacks, as far as that is known.
    pub fn lacks_now(&self) -> f64 {
        -self.gap
    }

    /// The weighted sum of what nodes have, as the matrix has it.
    pub fn of(&self, v: &[Vector]) -> Vector {
        self.in_matrix().map(|(n, w)| v[n] * w).sum()
    }

    fn most(&self) -> f64 {
        self.friction * self.pressed
    }

    fn sticks_now(&self) -> bool {
        self.wants <= self.most()
    }

    /// The stiffness that it adds, `half` being half of the step's square.
    fn stiffness(&self, half: f64) -> factor::Block {
        let stiff = half * self.stiff;
        let along = if self.push > 0.0 { stiff } else { 0.0 };
        // What slides is as stiff as its friction over how far it wants to go.
        let stiff = stiff * STICKIER;
        let most = self.most();
        let across = if self.wants > most { stiff * (most / self.wants) } else { stiff };
        factor::stiffness(self.normal, along, if most > 0.0 { across } else { 0.0 })
    }
}

/// Obstacles and what they do.
#[derive(Default)]
pub(crate) struct Contacts {
    pub colliders: Arc<Vec<Collider>>,
    pub obstacles: Vec<Obstacle>,
    pub(super) near: Vec<Near>,
    pub(super) guests: Vec<Guest>,
    /// Half of `A^-1 C`, what guests do to vertices, and the factor of the border.
    pub(super) border: Vec<f64>,
    pub(super) answer: Vec<f64>,
    pub(super) dense: Vec<f64>,
    /// What touches makes of it, before it is factored.
    pub(super) stiff: Vec<f64>,
    /// The border belongs to this step.
    pub(super) bordered: bool,
    pub(super) small: Vec<f64>,
    /// Per obstacle: its solid's centre, and where its shape is; and where that was when the step began.
    pub(super) poses: Vec<(Vector, Pose)>,
    pub(super) starts: Vec<Pose>,
}

impl Contacts {
    /// Vertices went this far since surfaces were looked at.
    pub(super) fn strayed(&mut self, by: f64) {
        self.near.iter_mut().for_each(|n| n.slack -= by);
    }

    /// Every row is looked at anew.
    pub(super) fn forget(&mut self) {
        self.near.iter_mut().for_each(|n| n.slack = 0.0);
    }
}

impl Soft {
    /// Something is pushed.
    pub(super) fn touches(&self) -> bool {
        self.contacts.near.iter().any(|n| n.push > 0.0)
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

    /// The plane that a row keeps to, from where things are now. Tells the distance.
    fn look(&self, near: &mut Near) -> f64 {
        let found = if near.is_layer() {
            self.look_at_layer(near).map(|(n, w, d, _)| (n, Vector::ZERO, w, d))
        } else {
            self.look_at_surface(near)
        };
        let Some((n, p, w, d)) = found else {
            near.plane = None;
            return f64::INFINITY;
        };
        near.plane = Some((n, p));
        if near.kind != Kind::Vertex {
            near.weights = w;
        }
        if near.kind == Kind::Face {
            let began: Vector = (0..3).map(|k| self.origin[near.ends[k] as usize] * w[k]).sum();
            near.p0 = self.contacts.starts[near.obstacle as usize].inverse().transform_point(began);
        }
        // As stiff as its vertices together.
        let give =
            near.moving().map(|(n, w)| w * w / (self.around[n] + 2.0 * self.masses[n] / (self.h * self.h)));
        // Where held vertices alone carry the point, only a guest can give way.
        let give = give.sum::<f64>().max(LEAST_GIVE * self.guest_gives(near.guest));
        if !(give > 0.0) {
            near.plane = None;
            return f64::INFINITY;
        }
        let stiffer = if self.is_large() { LESS_STIFF } else { STIFFER };
        near.stiff = near.stiffer * stiffer / give;
        d
    }

    /// Finds the planes that rows keep to: what touches keeps to one of them while Newton's method takes a step. True when
    /// there are any.
    pub(super) fn look_at_surfaces(&mut self, look_no: usize) -> bool {
        if look_no >= LOOKS {
            return false;
        }
        let follows = if self.is_large() { FOLLOWS } else { 1.0 };
        for k in 0..self.contacts.near.len() {
            if self.contacts.near[k].is_idle(0.0) {
                continue;
            }
            let mut near = self.contacts.near[k];
            let d = self.look(&mut near);
            near.pressed += (near.push - near.pressed) * if look_no > 1 { follows } else { 1.0 };
            near.rest(d);
            self.contacts.near[k] = near;
        }
        !self.contacts.near.is_empty()
    }

    /// Gaps and forces with the vertices at `x`, and what they add to `Phi`, over half of the step's square.
    pub(super) fn touch(&mut self, s: &State) -> f64 {
        if self.contacts.near.is_empty() {
            return 0.0;
        }
        self.place_obstacles(s);
        let mut sum = 0.0;
        for k in 0..self.contacts.near.len() {
            if self.contacts.near[k].is_idle(self.strays) {
                continue;
            }
            let mut near = self.contacts.near[k];
            sum += self.press(&mut near);
            self.contacts.near[k] = near;
        }
        self.push_on_guests();
        sum
    }

    /// Gap and forces of a row, and its share of `Phi`.
    fn press(&self, near: &mut Near) -> f64 {
        let Some((normal, point)) = near.plane else {
            (near.gap, near.push, near.rub) = (f64::INFINITY, 0.0, Vector::ZERO);
            return 0.0;
        };
        let places = near.ends.map(|i| if i == NONE { Vector::ZERO } else { self.at(i) });
        let x = weighted(&near.weights, &places);
        let (d, slip) = if near.is_layer() {
            near.normal = normal;
            let began = near.ends.map(|i| self.origin[i as usize]);
            (normal.dot(x), x - weighted(&near.weights, &began))
        } else {
            let (center, at) = self.contacts.poses[near.obstacle as usize];
            near.normal = at.rotation * normal;
            let d = near.normal.dot(x - at.transform_point(point));
            near.arm = x - near.normal * d - center;
            (d, x - at.transform_point(near.p0))
        };
        near.gap = d - near.keep - near.allowed;
        near.slip = slip - near.normal * near.normal.dot(slip);
        near.push = (near.multiplier - near.stiff * near.gap).max(0.0);
        let mut sum = 0.5 * near.push * near.push / near.stiff;
        // Huber's function: stiff within the cone, straight outside.
        let most = near.most();
        let stiff = near.stiff * STICKIER;
        let stuck = near.drag - near.normal * near.normal.dot(near.drag) - near.slip * stiff;
        near.wants = stuck.length();
        near.rub = if near.wants > most { stuck * (most / near.wants) } else { stuck };
        let held = near.wants.min(most);
        sum += held * (near.wants - 0.5 * held) / stiff;
        sum
    }

    /// How much of its distance a row lacks, by its plane; its normal is that of now.
    pub(super) fn lacks(&mut self, k: usize) -> f64 {
        let mut near = self.contacts.near[k];
        self.press(&mut near);
        (self.contacts.near[k].normal, self.contacts.near[k].arm) = (near.normal, near.arm);
        -near.gap
    }

    /// Impulses of contacts on the vertices, of half a step.
    pub(super) fn collect_touch(&mut self) {
        self.touching.fill(Vector::ZERO);
        let half = 0.5 * self.h;
        for near in self.contacts.near.iter().filter(|n| !n.is_idle(0.0)) {
            let f = near.force() * half;
            near.moving().for_each(|(n, w)| self.touching[n] += f * w);
        }
    }

    /// Their share of the matrix. Pairs of vertices that have no place in it are outweighed on the diagonal.
    pub(super) fn linearise_touch(&mut self) {
        let half = 0.5 * self.h * self.h;
        for k in 0..self.contacts.near.len() {
            let near = &mut self.contacts.near[k];
            if near.is_idle(0.0) {
                near.acts = false;
                continue;
            }
            (near.acts, near.sticks) = (near.push > 0.0, near.sticks_now());
            (near.block, near.by) = (near.stiffness(half), near.weights);
            let (near, b) = (*near, near.block);
            let whole: f64 = near.moving().map(|(_, w)| w.abs()).sum();
            let exact = near.moving().count() < 2 || self.has_room(&near);
            for (n, w) in near.moving() {
                let share = if exact { w * w } else { w.abs() * whole };
                self.factor.add_diagonal(n, &b.map(|x| x * share));
            }
            if exact {
                self.couple(&near, &b);
            }
        }
    }

    fn couple(&mut self, near: &Near, b: &factor::Block) {
        for (i, (n, w)) in near.moving().enumerate() {
            for (m, v) in near.moving().skip(i + 1) {
                if let Some(place) = self.place_of(n as u32, m as u32) {
                    self.factor.couple(place, &b.map(|x| -x * w * v));
                }
            }
        }
    }

    pub(super) fn touches_differently(&self) -> bool {
        self.contacts.near.iter().any(|n| n.acts != (n.push > 0.0) || (n.acts && n.sticks != n.sticks_now()))
    }

    /// The same as limits do: what gave way is held by more. True when nothing did.
    pub(super) fn tighten_touch(&mut self, c: &StepConfig, strict: bool) -> bool {
        let coarse = self.is_coarse();
        let mut tight = true;
        (self.report.contacts, self.report.penetration) = (0, 0.0);
        if self.has_strayed() {
            // What is found only now counts if it lacks its distance, as everything else does.
            self.find_layers(c);
        }
        for k in 0..self.contacts.near.len() {
            let near = self.contacts.near[k];
            if near.is_idle(0.0) {
                continue;
            }
            let mut seen = near;
            // The surface where things are, which may bend away from the plane that they keep to.
            let gap = self.look(&mut seen) - near.keep - near.allowed;
            let (acts, give) = (near.push > 0.0, (0.5 * c.tolerance).max(GIVE * near.keep));
            if gap < -give || (strict && acts && gap > give) {
                tight = false;
                // Where heavy things hang from it, multipliers alone come to an end in dozens of rounds.
                let adapts = coarse || self.has_hosts();
                if adapts && near.multiplier > 0.0 && gap < -give && near.stiffer < TIGHTEST {
                    seen.stiffer *= TIGHTER;
                    seen.stiff *= TIGHTER;
                }
                (seen.multiplier, seen.drag) = (near.push, near.rub);
                if seen.plane.is_none() {
                    (seen.plane, seen.weights) = (near.plane, near.weights);
                }
                self.contacts.near[k] = seen;
            }
            self.contacts.near[k].gap = gap;
            self.report.contacts += usize::from(acts);
            self.report.penetration = self.report.penetration.max(-(gap + near.allowed));
        }
        tight
    }

    /// Nothing lacks more of its distance than what can be made good later.
    pub(super) fn is_touch_bearable(&mut self, c: &StepConfig) -> bool {
        let mut bearable = true;
        (self.report.contacts, self.report.penetration) = (0, 0.0);
        for k in 0..self.contacts.near.len() {
            let mut near = self.contacts.near[k];
            if near.is_idle(0.0) {
                continue;
            }
            let lacks = near.keep - self.look(&mut near);
            bearable &= lacks + near.allowed < (BEARABLE * near.keep).max(UNSEEN * c.tolerance);
            self.report.contacts += usize::from(near.push > 0.0);
            self.report.penetration = self.report.penetration.max(lacks);
        }
        bearable
    }

    /// No vertex and no face is nearer to a solid, or on its other side, than what can be made good later, or than it began.
    pub(super) fn keeps_out(&mut self, c: &StepConfig) -> bool {
        self.contacts.forget();
        for k in 0..self.contacts.near.len() {
            let mut near = self.contacts.near[k];
            // What a script moves comes nearer whatever the sheet does.
            if near.is_layer() || self.is_scripted(&near) {
                continue;
            }
            let d = self.look(&mut near);
            let bearable = (BEARABLE * near.keep).max(UNSEEN * c.tolerance);
            if d < near.d0.min(near.keep - bearable) {
                return false;
            }
        }
        true
    }

    /// The solid that it touches moves, and does not answer.
    pub(super) fn is_scripted(&self, near: &Near) -> bool {
        let o = self.contacts.obstacles.get(near.obstacle as usize);
        near.guest == NONE && o.is_some_and(|o| o.pose.is_none())
    }

    /// How fast the surface under a point moves.
    pub(super) fn carried(&self, near: &Near, s: &State) -> Vector {
        if near.is_layer() {
            return Vector::ZERO;
        }
        let o = &self.contacts.obstacles[near.obstacle as usize];
        if o.pose.is_some() { Vector::ZERO } else { s.velocities[o.solid] + s.spins[o.solid].cross(near.arm) }
    }

    /// What touches does not go on into what it touches, and rubs along it: impulse by impulse.
    pub fn settle_touch(&mut self, s: &mut State, masses: &Masses) {
        for sweep in 0..SWEEPS {
            for k in 0..self.contacts.near.len() {
                let near = self.contacts.near[k];
                if near.push > 0.0 {
                    self.settle(&near, s, masses, sweep == 0);
                }
            }
        }
    }

    fn settle(&self, near: &Near, s: &mut State, masses: &Masses, rubs: bool) {
        let solid = self.contacts.obstacles.get(near.obstacle as usize).filter(|o| o.pose.is_none());
        let free = solid.map(|o| o.solid).filter(|j| masses.moves(*j));
        let own: Vector = near.moving().map(|(n, w)| s.velocities[self.solids[n] as usize] * w).sum();
        let relative = own - self.carried(near, s);
        let n = near.normal;
        let along = n.dot(relative);
        let light: f64 = near.moving().map(|(n, w)| w * w / self.masses[n]).sum();
        let heavy = |d: Vector| {
            let turn = free.map_or(0.0, |j| {
                let a = near.arm.cross(d);
                masses.inverse_mass(j) + a.dot(masses.inverse_inertia(j) * a)
            });
            1.0 / (light + turn)
        };
        let p = (-along * heavy(n)).max(0.0);
        let slide = relative - n * along;
        // The normal impulse of the step's second half is p and what damping took before; so is friction's.
        let pressed = near.calmed.dot(n);
        let most = near.friction * (p + pressed.max(0.0)) - (near.calmed - n * pressed).length();
        let rub = slide.try_normalize().filter(|_| rubs).map_or(Vector::ZERO, |d| {
            let stop = slide.length() * heavy(d);
            -d * stop.min(most.max(0.0))
        });
        let push = n * p + rub;
        for (n, w) in near.moving() {
            s.velocities[self.solids[n] as usize] += push * (w / self.masses[n]);
        }
        if let Some(j) = free {
            s.velocities[j] -= push * masses.inverse_mass(j);
            s.spins[j] -= masses.inverse_inertia(j) * near.arm.cross(push);
        }
    }
}
