//! Vertices that are pinned to something that no sheet moves: a scripted pole, a fixed post. They go where it takes them, and
//! what holds them there follows from what the sheet does. Asked for round by round, like other joints, a pin beside a fold
//! never came to an end: the sheet answers a push by folding otherwise, and no matrix knows that.

use super::Soft;
use crate::joint::JointId;
use crate::math::Vector;
use crate::mechanism::Mechanism;
use crate::rows::{Ends, Masses, Rows, Source, is_ball};
use crate::state::State;

/// A vertex that is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pin {
    node: usize,
    /// Who holds it, the first of its three rows, and the side of them on which the vertex is.
    joint: JointId,
    first: usize,
    side: usize,
    to: usize,
    /// Where it has to be.
    target: Vector,
    /// What it has without the pin: mass, way, and push.
    mass: f64,
    free: Vector,
    other: Vector,
    /// Impulse after the middle of the step.
    late: Vector,
}

/// How much heavier than itself a held vertex is for Newton's method.
const HEAVY: f64 = 1e8;

impl Soft {
    /// Finds the vertices that these rows hold by something that does not move for them.
    pub fn find_pins(&mut self, m: &Mechanism, rows: &Rows, masses: &Masses) {
        self.pins.clear();
        self.forget_hosts();
        let balls = rows.groups.iter().filter(|g| g.source == Source::Joint && is_ball(m.joint(g.joint)));
        for g in balls.filter(|g| g.is_primary()) {
            let Some(side) = (0..2).find(|k| self.has(g.solids[*k])) else { continue };
            let (to, node) = (g.solids[1 - side], self.nodes[g.solids[side]] as usize);
            // Whoever is held twice is held by two that may disagree: the first one counts, the other is asked for.
            if self.is_pinned(node) {
                continue;
            }
            if masses.moves(to) {
                // What is touched, too, has a place in the solve already.
                let is_other = !self.has(to) && self.contacts.guests.iter().all(|g| g.solid != to);
                if is_other {
                    self.add_host_pin(g.joint, g.first, side, node, to, masses);
                }
                continue;
            }
            let (mass, none) = (self.masses[node], Vector::ZERO);
            let (joint, first) = (g.joint, g.first);
            let (target, free, other, late) = (none, none, none, none);
            self.pins.push(Pin { node, joint, first, side, to, target, mass, free, other, late });
        }
    }

    /// Held vertices are where they have to be at the end of the step. `outer` has all pushes, those of their pins included.
    pub(super) fn hold_pins(&mut self, m: &Mechanism, held: &State, rows: &Rows, lambda: &[f64]) {
        for pin in &mut self.pins {
            let n = pin.node;
            let ends = Ends::new(m, held, m.joint(pin.joint));
            let lever = ends.p[pin.side] - ends.c[pin.side];
            pin.target = ends.p[1 - pin.side] - lever;
            let own: Vector = pin.rows(rows).map(|(r, along)| along * lambda[r]).sum();
            (pin.free, pin.other) = (self.free[n], self.outer[n] - own);
            (self.masses[n], self.free[n], self.outer[n]) = (HEAVY * pin.mass, pin.target, Vector::ZERO);
        }
        self.seat_pins();
    }

    /// Places of held vertices.
    pub(super) fn seat_pins(&mut self) {
        for p in &self.pins {
            self.x[p.node] = p.target;
        }
    }

    /// They are as they were, and what holds them is told.
    pub(super) fn let_pins_go(&mut self, rows: &Rows, lambda: &mut [f64]) {
        self.seat_pins();
        for p in &self.pins {
            let n = p.node;
            (self.masses[n], self.free[n]) = (p.mass, p.free);
            self.outer[n] = (self.x[n] - p.free) * (p.mass / self.h) - self.inner[n] - self.touching[n];
            let own = self.outer[n] - p.other;
            p.rows(rows).for_each(|(r, along)| lambda[r] = along.dot(own));
        }
    }

    /// Held vertices move as what holds them, while the speeds of the others are seen to.
    pub fn hold_pin_speeds(&mut self, s: &mut State) {
        for k in 0..self.pins.len() {
            let pin = &mut self.pins[k];
            let i = self.solids[pin.node] as usize;
            self.masses[pin.node] = HEAVY * pin.mass;
            pin.late = (pin.speed(s) - s.velocities[i]) * pin.mass;
            s.velocities[i] = pin.speed(s);
        }
    }

    /// The others are seen to.
    pub fn let_pin_speeds_go(&mut self, s: &mut State) {
        for pin in &self.pins {
            self.masses[pin.node] = pin.mass;
            s.velocities[self.solids[pin.node] as usize] = pin.speed(s);
        }
    }

    /// Adds what pins pushed with after the middle of the step, row by row.
    pub fn add_late_pushes(&self, rows: &Rows, out: &mut [f64]) {
        for pin in &self.pins {
            pin.rows(rows).for_each(|(r, along)| out[r] += along.dot(pin.late));
        }
    }
}

impl Pin {
    /// Where it has to be.
    pub fn target(&self) -> Vector {
        self.target
    }

    /// What the vertex weighs.
    pub fn mass(&self) -> f64 {
        self.mass
    }

    /// The vertex.
    pub fn node(&self) -> usize {
        self.node
    }

    /// The speed of where it is held.
    fn speed(&self, s: &State) -> Vector {
        s.velocities[self.to] + s.spins[self.to].cross(self.target - s.centers[self.to])
    }

    /// Its rows, and where they push the vertex: three directions at right angles.
    fn rows(&self, rows: &Rows) -> impl Iterator<Item = (usize, Vector)> {
        let (first, side) = (self.first, self.side);
        (first..first + 3).map(move |r| (r, Vector::from_slice(&rows.row(r)[side][..3])))
    }
}
