//! Restitution at bounds: what meets one is thrown back with a part of its speed (Newton's law of impact).
//!
//! A bound that is met in a substep, and did not push in the one before, is left with `e` times the speed at which it was
//! approached; one that pushes already is at rest there. Velocities are found without restitution first and then with it.
//! Between the two the energy is a parabola: of the rebound as much is taken as leaves no more energy than the substep
//! began with, so that impacts never make any.

use super::{IslandWork, Piece};
use crate::math::Vector;
use crate::nodes::Turning;
use crate::rows::Law;
use crate::state::State;

/// Scratch of the bounces of one substep.
#[derive(Default)]
pub(crate) struct Bounce {
    /// Per row with restitution that was free: row, and the speed at which it is left if it is met.
    rebound: Vec<(usize, f64)>,
    /// Energy when the substep began.
    energy: f64,
    velocities: Vec<Vector>,
    spins: Turning<Vector>,
    lambda: Vec<f64>,
}

impl Bounce {
    /// The speed at which a row is left.
    pub fn of(&self, row: usize) -> f64 {
        self.rebound.iter().find(|(r, _)| *r == row).map_or(0.0, |(_, speed)| *speed)
    }

    /// Whether one of the rows that pushed throws back.
    pub fn acts(&self, pushed: &[f64]) -> bool {
        self.rebound.iter().any(|(r, speed)| *speed > 0.0 && pushed[*r] != 0.0)
    }
}

impl IslandWork {
    /// At the start of a substep: how fast bounds with restitution are approached. `lambda` is the warm start.
    pub(super) fn note_approach(&mut self, piece: &Piece, s: &State) {
        let mut bounce = std::mem::take(&mut self.bounce);
        bounce.rebound.clear();
        for &(r, restitution) in &self.rows.bounces {
            let speed = if self.lambda[r] == 0.0 { self.rows.speed(r, s) } else { 0.0 };
            bounce.rebound.push((r, restitution * speed.abs()));
        }
        bounce.energy = if bounce.rebound.is_empty() { 0.0 } else { self.energy(piece, s) };
        self.bounce = bounce;
    }

    /// Velocities and multipliers without restitution.
    pub(super) fn keep_stopped(&mut self, s: &State) {
        self.bounce.velocities.clone_from(&s.velocities);
        self.bounce.spins.clone_from(&s.spins);
        self.bounce.lambda.clone_from(&self.lambda);
    }

    /// Takes back as much of the rebound as would make energy.
    pub(super) fn limit_rebound(&mut self, piece: &Piece, s: &mut State) {
        let most = self.bounce.energy;
        let (mut slope, mut bend) = (0.0, 0.0);
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
            let v = self.bounce.velocities[i];
            let (dv, back) = (s.velocities[i] - v, s.rotations[i].inverse());
            let (spin, turn) = (back * self.bounce.spins[i], back * (s.spins[i] - self.bounce.spins[i]));
            let momentum = *self.masses.inertia(i) * turn;
            slope += self.masses.mass(i) * v.dot(dv) + spin.dot(momentum);
            bend += 0.5 * (self.masses.mass(i) * dv.length_squared() + turn.dot(momentum));
        }
        let all = self.energy(piece, s);
        let spare = most - (all - slope - bend);
        // The largest share x <= 1 with slope x + bend x^2 <= spare.
        let share = if all <= most {
            1.0
        } else if !(spare > 0.0) || !(bend > 0.0) {
            0.0
        } else {
            ((-slope + (slope * slope + 4.0 * bend * spare).sqrt()) / (2.0 * bend)).clamp(0.0, 1.0)
        };
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
            s.velocities[i] = self.bounce.velocities[i].lerp(s.velocities[i], share);
            s.spins[i] = self.bounce.spins[i].lerp(s.spins[i], share);
        }
        for (l, stopped) in self.lambda.iter_mut().zip(&self.bounce.lambda) {
            *l = stopped + share * (*l - stopped);
        }
    }

    /// Kinetic energy, weight and soft rows at `s`, at which the rows are.
    pub(super) fn energy(&self, piece: &Piece, s: &State) -> f64 {
        let mut sum = 0.0;
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
            let spin = s.rotations[i].inverse() * s.spins[i];
            let mass = self.masses.mass(i);
            sum += 0.5 * (mass * s.velocities[i].length_squared() + spin.dot(*self.masses.inertia(i) * spin));
            sum -= mass * piece.m.gravity.dot(s.centers[i]);
        }
        for g in self.rows.others() {
            if let Law::Soft { stiffness, .. } = g.law {
                sum += 0.5 * stiffness * g.range().map(|r| self.rows.wanted(r).powi(2)).sum::<f64>();
            }
        }
        sum
    }
}
