//! What touches is one whole: pieces of soft bodies and the solids that touch them and are free to answer. Where nothing from outside
//! holds or pushes a whole, its momenta are those that everything else gave it, whatever was found within.
//!
//! Newton's method leaves something open, contacts push where things come to be and not where they were, and what damps fast
//! modes does not know that. All that is small, and is taken back as a motion of the whole. And where no places are found that are
//! good, things are held back towards that motion of the whole which has its momenta: nothing comes nearer to anything in it.

use super::calm::turned_by;
use super::contact::Near;
use super::guests::Guest;
use super::momentum::Piece;
use super::{NONE, Soft};
use crate::math::{Matrix, Rotation, Vector, exp};
use crate::rows::Masses;
use crate::state::State;

/// Vertices and guests that touch each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    /// Something outside holds it or pushes it.
    pub is_held: bool,
    /// Some of it touches another part of it.
    touches: bool,
    mass: f64,
    /// Its centre when the step began, and where the vertices are.
    began: Vector,
    center: Vector,
    /// How it goes where nothing in it moves: way of its centre, and turn.
    way: Vector,
    turn: Rotation,
    /// Momenta to be kept, or what they lack, the second one about the centre.
    push: Vector,
    twist: Vector,
    /// Inertia as it was, as it is, or between the two.
    inertia: Matrix,
}

impl Whole {
    const NOTHING: Whole = Whole {
        is_held: false,
        touches: false,
        mass: 0.0,
        began: Vector::ZERO,
        center: Vector::ZERO,
        way: Vector::ZERO,
        turn: Rotation::IDENTITY,
        push: Vector::ZERO,
        twist: Vector::ZERO,
        inertia: Matrix::ZERO,
    };

    /// Its momenta are known, and not kept by what keeps those of pieces that touch nothing.
    fn is_closed(&self) -> bool {
        !self.is_held && self.touches
    }

    /// Where something goes that was there and goes along.
    fn carries(&self, from: Vector) -> Vector {
        self.began + self.way + self.turn * (from - self.began)
    }
}

/// The wholes of a step.
#[derive(Default)]
pub(super) struct Wholes {
    /// Of each node, and then each guest.
    of: Vec<u32>,
    pub all: Vec<Whole>,
    /// While they are looked for.
    roots: Vec<u32>,
}

impl Wholes {
    fn root(&mut self, mut k: u32) -> u32 {
        while self.roots[k as usize] != k {
            self.roots[k as usize] = self.roots[self.roots[k as usize] as usize];
            k = self.roots[k as usize];
        }
        k
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.roots[a.max(b) as usize] = a.min(b);
    }

    fn of(&mut self, k: usize) -> &mut Whole {
        &mut self.all[self.of[k] as usize]
    }
}

/// What adds to an inertia: a mass that was at `r` and is at `x`.
pub(super) fn lever(m: f64, r: Vector, x: Vector) -> Matrix {
    let outer = Matrix::from_cols(x * r.x, x * r.y, x * r.z);
    (Matrix::from_diagonal(Vector::splat(r.dot(x))) - outer) * m
}

impl Soft {
    /// Finds the wholes: what springs hold together, and what pushes each other or was kept from passing through each other.
    pub(super) fn find_wholes(&mut self) {
        let mut w = std::mem::take(&mut self.wholes);
        let (nodes, guests) = (self.solids.len(), self.contacts.guests.len());
        w.roots.clear();
        w.roots.extend(0..(nodes + guests) as u32);
        for piece in &self.pieces {
            piece.nodes.iter().for_each(|n| w.join(piece.nodes[0] as u32, *n as u32));
        }
        let acts = |n: &&Near| n.push > 0.0 || n.acts || n.crossed;
        for near in self.contacts.near.iter().filter(acts) {
            let guest = (near.guest != NONE).then(|| nodes as u32 + near.guest);
            let mut ends = near.moving().map(|(n, _)| n as u32).chain(guest);
            if let Some(first) = ends.next() {
                ends.for_each(|e| w.join(first, e));
            }
        }
        w.all.clear();
        w.of.clear();
        for k in 0..(nodes + guests) as u32 {
            let root = w.root(k);
            let own = if root == k { w.all.len() as u32 } else { w.of[root as usize] };
            if root == k {
                // A guest that nothing touches goes where it would go.
                w.all.push(Whole { touches: k as usize >= nodes, ..Whole::NOTHING });
            }
            w.of.push(own);
        }
        for near in self.contacts.near.iter().filter(acts) {
            // A held vertex may carry its share of a face, and all of it.
            let held = near.ends.iter().zip(near.nodes).any(|(i, n)| *i != NONE && n == NONE);
            let outside = held || (!near.is_layer() && near.guest == NONE);
            let guest = (near.guest != NONE).then(|| nodes + near.guest as usize);
            for k in near.moving().map(|(n, _)| n).chain(guest) {
                let own = w.of(k);
                (own.touches, own.is_held) = (true, own.is_held || outside);
            }
        }
        for line in self.lines.iter().filter(|l| l.nodes.contains(&NONE)) {
            line.nodes.iter().filter(|n| **n != NONE).for_each(|n| w.of(*n as usize).is_held = true);
        }
        self.pins.iter().for_each(|p| w.of(p.node()).is_held = true);
        self.host_nodes().for_each(|n| w.of(n).is_held = true);
        if self.is_blown() {
            w.all.iter_mut().for_each(|w| w.is_held = true);
        }
        self.wholes = w;
    }

    /// The whole of a node, and of a guest.
    pub(super) fn whole_of(&self, node: usize) -> &Whole {
        &self.wholes.all[self.wholes.of[node] as usize]
    }

    /// The momenta of a piece are those of the whole.
    pub(super) fn is_whole(&self, piece: &Piece) -> bool {
        piece.nodes.first().is_some_and(|n| self.whole_of(*n).is_closed())
    }

    fn whole_of_guest(&self, guest: usize) -> &Whole {
        self.whole_of(self.solids.len() + guest)
    }

    /// How wholes move that keep their momenta and in which nothing moves. What is held stands still.
    pub(super) fn find_common_ways(&mut self) {
        let mut w = std::mem::take(&mut self.wholes);
        let (h, nodes) = (self.h, self.solids.len());
        w.all.iter_mut().for_each(|w| (w.mass, w.began, w.inertia) = (0.0, Vector::ZERO, Matrix::ZERO));
        w.all.iter_mut().for_each(|w| (w.push, w.twist) = (Vector::ZERO, Vector::ZERO));
        let went = |n: usize| self.free[n] - self.start[n] + self.outer[n] * (h / self.masses[n]);
        let mut add = |k: usize, mass: f64, from: Vector, way: Vector| {
            let own = w.of(k);
            own.mass += mass;
            own.began += from * mass;
            own.push += way * mass;
        };
        (0..nodes).for_each(|n| add(n, self.masses[n], self.start[n], went(n)));
        for (k, g) in self.contacts.guests.iter().enumerate() {
            add(nodes + k, g.mass(), g.began(), g.way()[0]);
        }
        w.all.iter_mut().for_each(|w| w.began /= w.mass);
        let mut turn = |k: usize, mass: f64, from: Vector, way: Vector, own: Option<&Guest>| {
            let whole = w.of(k);
            let r = from - whole.began;
            whole.twist += r.cross(way * mass) + own.map_or(Vector::ZERO, |g| g.inertia() * g.way()[1]);
            whole.inertia += lever(mass, r, r) + own.map_or(Matrix::ZERO, Guest::inertia);
        };
        (0..nodes).for_each(|n| turn(n, self.masses[n], self.start[n], went(n), None));
        for (k, g) in self.contacts.guests.iter().enumerate() {
            turn(nodes + k, g.mass(), g.began(), g.way()[0], Some(g));
        }
        for w in w.all.iter_mut() {
            let moves = !w.is_held && w.mass > 0.0;
            (w.way, w.turn) = match moves {
                true => (w.push / w.mass, exp(turned_by(w.inertia, w.twist))),
                false => (Vector::ZERO, Rotation::IDENTITY),
            };
        }
        self.wholes = w;
    }

    /// Where a vertex goes that goes with its whole.
    pub(super) fn goes_along(&self, node: usize) -> Vector {
        self.whole_of(node).carries(self.start[node])
    }

    /// Everything goes this share of the way that was remembered, and the rest with its whole.
    pub(super) fn go_along(&mut self, share: f64) {
        for n in 0..self.x.len() {
            let along = self.goes_along(n);
            self.x[n] = along + (self.before[n] - along) * share;
        }
        for k in 0..self.contacts.guests.len() {
            let whole = *self.whole_of_guest(k);
            let g = &mut self.contacts.guests[k];
            let to = whole.carries(g.began());
            g.hold_back(to, crate::math::log(whole.turn), share);
        }
    }

    /// The momenta that wholes have too much after the first half of the step are taken back by moving them. Springs have a torque then,
    /// in `inner`, which their second half takes back. True when there was something to do.
    pub(super) fn balance(&mut self) -> bool {
        self.find_wholes();
        if !self.wholes.all.iter().any(Whole::is_closed) {
            return false;
        }
        self.find_common_ways();
        let mut w = std::mem::take(&mut self.wholes);
        let (h, nodes) = (self.h, self.solids.len());
        w.all.iter_mut().for_each(|w| (w.center, w.inertia) = (Vector::ZERO, Matrix::ZERO));
        w.all.iter_mut().for_each(|w| (w.push, w.twist) = (Vector::ZERO, Vector::ZERO));
        (0..nodes).for_each(|n| w.of(n).center += self.x[n] * self.masses[n]);
        for (k, g) in self.contacts.guests.iter().enumerate() {
            w.of(nodes + k).center += g.pose().translation * g.mass();
        }
        w.all.iter_mut().for_each(|w| w.center /= w.mass);
        let mut add = |k: usize, mass: f64, from: Vector, to: Vector, by: Vector, own: Option<&Guest>| {
            let whole = w.of(k);
            let r = from - whole.began;
            whole.push += by;
            whole.twist += r.cross(by) + own.map_or(Vector::ZERO, |g| g.inertia() * g.moved()[1]);
            whole.inertia += lever(mass, r, to - whole.center) + own.map_or(Matrix::ZERO, Guest::inertia);
        };
        for n in 0..nodes {
            let springs = (self.outer[n] + self.inner[n]) * h;
            let by = (self.x[n] - self.free[n]) * self.masses[n] - springs;
            add(n, self.masses[n], self.start[n], self.x[n], by, None);
        }
        for (k, g) in self.contacts.guests.iter().enumerate() {
            add(nodes + k, g.mass(), g.began(), g.pose().translation, g.moved()[0] * g.mass(), Some(g));
        }
        self.wholes = w;
        self.take_back();
        true
    }

    fn take_back(&mut self) {
        let nodes = self.solids.len();
        for k in 0..nodes + self.contacts.guests.len() {
            let w = *self.whole_of(k);
            if !w.is_closed() {
                continue;
            }
            let (way, turn) = (w.push / w.mass, turned_by(w.inertia, w.twist));
            match k.checked_sub(nodes) {
                None => {
                    let x = self.x[k];
                    self.x[k] = x - way - turn.cross(x - w.center);
                }
                Some(g) => {
                    let g = &mut self.contacts.guests[g];
                    g.shift(-way - turn.cross(g.pose().translation - w.center), -turn);
                }
            }
        }
    }

    /// Remembers the momenta of wholes before the end of the step is seen to.
    pub fn note_momenta(&mut self, s: &State, masses: &Masses) {
        self.measure_momenta(s, masses, 1.0);
    }

    /// What they have lost or gained since is given back as a motion of the whole.
    pub fn restore_momenta(&mut self, s: &mut State, masses: &Masses) {
        self.measure_momenta(s, masses, -1.0);
        let nodes = self.solids.len();
        for k in 0..self.wholes.of.len() {
            let w = *self.whole_of(k);
            if !w.is_closed() {
                continue;
            }
            let (speed, spin) = (w.push / w.mass, turned_by(w.inertia, w.twist));
            match k.checked_sub(nodes) {
                None => {
                    let i = self.solids[k] as usize;
                    s.velocities[i] += speed + spin.cross(s.centers[i] - w.center);
                }
                Some(g) => {
                    let i = self.contacts.guests[g].solid;
                    s.velocities[i] += speed + spin.cross(s.centers[i] - w.center);
                    if masses.inverse_inertia(i).determinant() > 0.0 {
                        s.spins[i] += spin;
                    }
                }
            }
        }
    }

    /// Momenta of wholes: as they are, or what they lack of those that were remembered.
    fn measure_momenta(&mut self, s: &State, masses: &Masses, sign: f64) {
        let mut w = std::mem::take(&mut self.wholes);
        let (solids, guests) = (&self.solids, &self.contacts.guests);
        let solid = |k: usize| solids.get(k).map_or_else(|| guests[k - solids.len()].solid, |i| *i as usize);
        let mass = |k: usize| self.masses.get(k).map_or_else(|| guests[k - solids.len()].mass(), |m| *m);
        if sign > 0.0 {
            w.all.iter_mut().for_each(|w| (w.push, w.twist) = (Vector::ZERO, Vector::ZERO));
        }
        w.all.iter_mut().for_each(|w| (w.mass, w.center, w.inertia) = (0.0, Vector::ZERO, Matrix::ZERO));
        for k in 0..w.of.len() {
            let m = mass(k);
            w.of(k).mass += m;
            w.of(k).center += s.centers[solid(k)] * m;
        }
        w.all.iter_mut().for_each(|w| w.center /= w.mass);
        for k in 0..w.of.len() {
            let (i, m) = (solid(k), mass(k));
            let own = if k < solids.len() { Matrix::ZERO } else { heaviness(masses, i) };
            let whole = w.of(k);
            let (r, p) = (s.centers[i] - whole.center, s.velocities[i] * m);
            let spun = if k < solids.len() { Vector::ZERO } else { own * s.spins[i] };
            whole.push += p * sign;
            whole.twist += (r.cross(p) + spun) * sign;
            whole.inertia += lever(m, r, r) + own;
        }
        self.wholes = w;
    }
}

/// Inertia of a solid as it lies; what does not turn has none.
pub(super) fn heaviness(masses: &Masses, solid: usize) -> Matrix {
    let inverse = masses.inverse_inertia(solid);
    if inverse.determinant() > 0.0 { inverse.inverse() } else { Matrix::ZERO }
}
