//! Restitution at bounds: what meets one is thrown back with a part of its speed (Newton's law of impact).
//!
//! A bound that is met in a substep, and did not push in the one before, is left with `e` times the speed at which it was
//! approached; one that pushes already is at rest there. Velocities are found without restitution first and then with it.
//! Between the two the energy is a parabola: of the rebound as much is taken as leaves no more energy than the substep
//! began with and what is driven brought in, so that impacts never make any.
//!
//! The speed of approach is that at the start of the substep. What weight adds to it on the way to the bound is in the energy:
//! a little more than the rebound is taken where stopping lost more than the speed at the start tells of.

use super::motors::is_motor;
use super::{IslandWork, Piece};
use crate::math::Vector;
use crate::nodes::Turning;
use crate::rows::Law;
use crate::solid::Kernel;
use crate::state::State;

/// Scratch of the bounces of one substep.
#[derive(Default)]
pub(crate) struct Bounce {
    /// Per row with restitution that was free: row, and the speed at which it is left if it is met.
    rebound: Vec<(usize, f64)>,
    /// Energy when the substep began, and of its weight.
    energy: f64,
    weight: f64,
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
        if !bounce.rebound.is_empty() {
            (bounce.energy, bounce.weight) = (self.energy(piece, s), self.weight(piece, s));
        }
        self.bounce = bounce;
    }

    /// Velocities and multipliers without restitution.
    pub(super) fn keep_stopped(&mut self, s: &State) {
        self.bounce.velocities.clone_from(&s.velocities);
        self.bounce.spins.clone_from(&s.spins);
        self.bounce.lambda.clone_from(&self.lambda);
    }

    /// Takes back as much of the rebound as would make energy. `pushed`: multipliers of the first half.
    pub(super) fn limit_rebound(&mut self, piece: &Piece, s: &mut State, pushed: &[f64]) {
        let (mut slope, mut bend) = (0.0, 0.0);
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
            let v = self.bounce.velocities[i];
            let (dv, back) = (s.velocities[i] - v, s.rotations[i].inverse());
            let (spin, turn) = (back * self.bounce.spins[i], back * (s.spins[i] - self.bounce.spins[i]));
            let momentum = *self.masses.inertia(i) * turn;
            slope += self.masses.mass(i) * v.dot(dv) + spin.dot(momentum);
            bend += 0.5 * (self.masses.mass(i) * dv.length_squared() + turn.dot(momentum));
        }
        let lost = self.bounce.energy - (self.energy(piece, s) - slope - bend);
        // What is driven does work, more of it the harder it is met.
        let first = self.work_of_drives(piece, s, pushed);
        let stopped = self.work_of_drives(piece, s, &self.bounce.lambda);
        slope -= self.work_of_drives(piece, s, &self.lambda) - stopped;
        let spare = lost + first + stopped;
        let most = self.farthest_rebound(pushed, self.bounce.weight - self.weight(piece, s), spare, bend);
        // The largest share x with slope x + bend x^2 <= spare.
        let share = if most * (slope + bend * most) <= spare {
            most
        } else if !(spare > 0.0) || !(bend > 0.0) {
            0.0
        } else {
            ((-slope + (slope * slope + 4.0 * bend * spare).sqrt()) / (2.0 * bend)).clamp(0.0, most)
        };
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
            s.velocities[i] = self.bounce.velocities[i].lerp(s.velocities[i], share);
            s.spins[i] = self.bounce.spins[i].lerp(s.spins[i], share);
        }
        for (l, stopped) in self.lambda.iter_mut().zip(&self.bounce.lambda) {
            *l = stopped + share * (*l - stopped);
        }
    }

    /// By how much the rebound may be larger than the speed at the start gives it: by what `fallen`, the energy of the weight
    /// on the way, adds to its square, and never by more than stopping lost. `bend` is the energy of the rebound.
    fn farthest_rebound(&self, pushed: &[f64], fallen: f64, lost: f64, bend: f64) -> f64 {
        let acts = |(r, speed): &&(usize, f64)| *speed > 0.0 && pushed[*r] != 0.0;
        let restitution = |r: usize| self.rows.bounces.iter().find(|b| b.0 == r).map_or(0.0, |b| b.1);
        let met = self.bounce.rebound.iter().filter(acts);
        let e = met.map(|(r, _)| restitution(*r)).fold(f64::INFINITY, f64::min);
        if !(bend > 0.0 && fallen > 0.0 && lost > 0.0 && e.is_finite()) {
            return 1.0;
        }
        let square = (1.0 + e * e * fallen / bend).min(e * e * lost / bend);
        square.sqrt().max(1.0)
    }

    /// Work of scripted solids, which go their way whatever it takes, and of motors, through rows with these impulses.
    pub(super) fn work_of_drives(&self, piece: &Piece, s: &State, lambda: &[f64]) -> f64 {
        let solids = piece.m.solids();
        let scripted = |i: usize| matches!(solids[i].kernel, Kernel::Scripted(_));
        let mut sum = 0.0;
        for g in &self.rows.groups {
            let drives = is_motor(g);
            for (k, r) in g.range().enumerate() {
                if drives {
                    sum += lambda[r] * self.rows.speed(r, s);
                }
                for side in (0..2).filter(|side| scripted(g.solids[*side])) {
                    sum -= lambda[r] * self.rows.side_speed(g, k, side, s);
                }
            }
        }
        sum
    }

    /// Energy of the weight of what moves.
    fn weight(&self, piece: &Piece, s: &State) -> f64 {
        let moves = (0..s.centers.len()).filter(|i| self.masses.moves(*i));
        -moves.map(|i| self.masses.mass(i) * piece.m.gravity.dot(s.centers[i])).sum::<f64>()
    }

    /// Kinetic energy, weight and soft rows at `s`, at which the rows are.
    pub(super) fn energy(&self, piece: &Piece, s: &State) -> f64 {
        let mut sum = 0.0;
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
            let spin = s.rotations[i].inverse() * s.spins[i];
            let mass = self.masses.mass(i);
            sum += 0.5 * (mass * s.velocities[i].length_squared() + spin.dot(*self.masses.inertia(i) * spin));
        }
        sum += self.weight(piece, s);
        for g in self.rows.others() {
            if let Law::Soft { stiffness, .. } = g.law {
                sum += 0.5 * stiffness * g.range().map(|r| self.rows.wanted(r).powi(2)).sum::<f64>();
            }
        }
        sum
    }
}
