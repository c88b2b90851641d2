//! Impacts: pairs that meet throw each other back, one pair after the other, the fastest first.
//!
//! Newton's law for all points at once is wrong where several solids touch: the last ball of a cradle leaves because the
//! blow goes through the row, pair by pair. The points of one pair are solved together, with friction; joints answer within
//! each blow. Rounds end when nothing approaches any more. Then everything that touches is held, without restitution.
//!
//! Friction may turn a rebound into more energy than there was. Then only as much of all rebounds is kept as leaves what
//! the substep began with.

use super::{Contact, Touch};
use crate::math::Vector;
use crate::solid::Kernel;
use crate::state::State;
use crate::step::variational::hold_velocities;
use crate::step::{Advanced, IslandWork, Piece};

/// Blows in one substep, at most; per pair.
const BLOWS: usize = 20;
/// Two blows on the same pair slower than this part of the first are rest.
const REST: f64 = 1e-3;

impl Contact {
    /// The speed at which it is to be left, at least.
    pub fn rebound(&self) -> f64 {
        if self.taken && self.impact > 0.0 && self.active { self.restitution * self.impact } else { 0.0 }
    }
}

impl IslandWork {
    /// Velocities that keep to joints, bounds and contacts; `pushed` are the multipliers of the first half.
    pub(in crate::step) fn hold_touching(
        &mut self,
        piece: &Piece,
        s: &mut State,
        pushed: &[f64],
        done: &mut Advanced,
    ) {
        self.hold_and_throw(piece, s, pushed, done);
        if self.touch.withdrawn && self.undriven && piece.m.forces.is_empty() {
            self.take_gain_back(piece, s);
        }
    }

    /// Impulses were withdrawn that had turned solids: the same momenta, at other poses, are another energy. What that makes is
    /// taken out of the spins of those that were met; where joints would be torn by that, out of all speeds.
    fn take_gain_back(&self, piece: &Piece, s: &mut State) {
        let free = self.rows.is_empty();
        let met = |i: usize| !free || self.touch.pushed.iter().any(|c| c.solids.contains(&i));
        let (mut kinetic, mut moves) = (0.0, 0.0);
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
            let spin = s.rotations[i].inverse() * s.spins[i];
            let turn = 0.5 * spin.dot(*self.masses.inertia(i) * spin);
            let way = 0.5 * self.masses.mass(i) * s.velocities[i].length_squared();
            kinetic += way + turn;
            moves += if free { 0.0 } else { way } + if met(i) { turn } else { 0.0 };
        }
        let gain = self.energy(piece, s) - self.touch.energy;
        if !(gain > 1e-12 * kinetic) {
            return;
        }
        let keep = (1.0 - gain / moves).max(0.0).sqrt();
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i) && met(*i)) {
            s.velocities[i] *= if free { 1.0 } else { keep };
            s.spins[i] *= keep;
        }
    }

    fn hold_and_throw(&mut self, piece: &Piece, s: &mut State, pushed: &[f64], done: &mut Advanced) {
        keep(&mut self.touch.velocities, s);
        let throws = self.throw(piece, s, pushed, done);
        self.rest(piece, s, pushed, done);
        if !throws {
            return;
        }
        let given = self.work_of_touched(piece, s, pushed);
        if !(self.energy(piece, s) > self.touch.energy + given) {
            return;
        }
        // Again without restitution, and a mixture of both.
        let mut stopped = std::mem::take(&mut self.touch.stopped);
        keep(&mut stopped, s);
        let lambda = self.lambda.clone();
        let total: Vec<[f64; 3]> = self.touch.contacts.iter().map(|c| c.total).collect();
        for (i, (v, w)) in self.touch.velocities.iter().enumerate() {
            (s.velocities[i], s.spins[i]) = (*v, *w);
        }
        self.lambda.fill(0.0);
        self.touch.contacts.iter_mut().for_each(|c| c.total = [0.0; 3]);
        self.rest(piece, s, pushed, done);
        let without = self.work_of_touched(piece, s, pushed);
        let share = self.share(piece, s, &stopped, without, given - without);
        for (i, (v, w)) in stopped.iter().enumerate() {
            s.velocities[i] = s.velocities[i].lerp(*v, share);
            s.spins[i] = s.spins[i].lerp(*w, share);
        }
        for (l, thrown) in self.lambda.iter_mut().zip(&lambda) {
            *l += share * (thrown - *l);
        }
        for (c, thrown) in self.touch.contacts.iter_mut().zip(&total) {
            for k in 0..3 {
                c.total[k] += share * (thrown[k] - c.total[k]);
            }
        }
        self.touch.stopped = stopped;
    }

    /// Work of what is driven in this substep: a bat swings on whatever it meets.
    fn work_of_touched(&self, piece: &Piece, s: &State, pushed: &[f64]) -> f64 {
        let rows = self.work_of_drives(piece, s, &self.lambda) + self.work_of_drives(piece, s, pushed);
        let solids = piece.m.solids();
        let scripted = |i: usize| match solids[i].kernel {
            Kernel::Scripted(_) => (s.velocities[i], s.spins[i]),
            _ => (Vector::ZERO, Vector::ZERO),
        };
        let work = |c: &Contact, force: &[f64; 3]| {
            -c.change(scripted).iter().zip(force).map(|(way, f)| way * f).sum::<f64>()
        };
        let t = &self.touch;
        let first = t.pushed.iter().filter(|_| !t.withdrawn).map(|c| work(c, &c.applied)).sum::<f64>();
        rows + first + t.contacts.iter().map(|c| work(c, &c.total)).sum::<f64>()
    }

    /// The largest part of the way from `s` to `thrown` that makes no energy. `given`: what drives brought in at `s`, and what
    /// they bring in on that way.
    pub(super) fn share(
        &self,
        piece: &Piece,
        s: &State,
        thrown: &[(Vector, Vector)],
        given: f64,
        on_the_way: f64,
    ) -> f64 {
        let (mut slope, mut bend) = (-on_the_way, 0.0);
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
            let (dv, back) = (thrown[i].0 - s.velocities[i], s.rotations[i].inverse());
            let (spin, turn) = (back * s.spins[i], back * (thrown[i].1 - s.spins[i]));
            let momentum = *self.masses.inertia(i) * turn;
            slope += self.masses.mass(i) * s.velocities[i].dot(dv) + spin.dot(momentum);
            bend += 0.5 * (self.masses.mass(i) * dv.length_squared() + turn.dot(momentum));
        }
        let spare = self.touch.energy + given - self.energy(piece, s);
        if !(spare > 0.0) || !(bend > 0.0) {
            return 0.0;
        }
        ((-slope + (slope * slope + 4.0 * bend * spare).sqrt()) / (2.0 * bend)).clamp(0.0, 1.0)
    }

    /// Blow after blow. True when there was one.
    fn throw(&mut self, piece: &Piece, s: &mut State, pushed: &[f64], done: &mut Advanced) -> bool {
        if !self.touch.contacts.iter().any(|c| c.restitution > 0.0) {
            return false;
        }
        let g = piece.m.gravity.length() * piece.h;
        let (mut any, mut first) = (false, 0.0_f64);
        // Joints first: what they leave of the speed is what meets.
        self.touch.contacts.iter_mut().for_each(|c| (c.active, c.taken) = (false, false));
        hold_velocities(piece, s, self, pushed, false, done);
        for c in &mut self.touch.contacts {
            c.met.later = c.fell_on(piece.h, |i| (s.velocities[i], s.spins[i]));
        }
        if self.touch.crowd.swept {
            let any = self.touch.throw_at_once(|i| (s.velocities[i], s.spins[i]));
            if any {
                hold_velocities(piece, s, self, pushed, false, done);
                self.touch.contacts.iter_mut().for_each(Contact::take_over);
            }
            return any;
        }
        for _ in 0..BLOWS * self.touch.pairs.len().min(50) {
            let mut fastest: Option<(usize, f64)> = None;
            for c in self.touch.contacts.iter().filter(|c| c.restitution > 0.0) {
                let speed = -c.change(|i| (s.velocities[i], s.spins[i]))[0];
                // What rests is pushed by a step of gravity; it is not thrown.
                let met = if c.impact > 0.0 { c.impact.max(speed) } else { speed - 1.5 * g };
                if speed > 0.0 && met > REST * first && met > 0.0 && fastest.is_none_or(|f| speed > f.1) {
                    fastest = Some((c.pair, speed));
                }
            }
            let Some((pair, speed)) = fastest else { break };
            (any, first) = (true, first.max(speed));
            for c in &mut self.touch.contacts {
                c.active = c.pair == pair;
                c.taken = c.active;
                (c.force, c.applied) = ([0.0; 3], [0.0; 3]);
                c.resist.cool();
                let speed = -c.change(|i| (s.velocities[i], s.spins[i]))[0];
                if c.active {
                    // Met for the first time: without what gravity gave since.
                    c.impact = (speed - if c.impact > 0.0 { c.met.later } else { 0.0 }).max(0.0);
                }
            }
            self.touch.forget();
            hold_velocities(piece, s, self, pushed, false, done);
            for c in self.touch.contacts.iter_mut().filter(|c| c.active) {
                c.take_over();
                c.impact = 0.0;
            }
            if self.is_over(piece.c) {
                break;
            }
        }
        any
    }

    /// Everything that touches, at once, without restitution.
    fn rest(&mut self, piece: &Piece, s: &mut State, pushed: &[f64], done: &mut Advanced) {
        for c in &mut self.touch.contacts {
            (c.active, c.taken, c.impact) = (true, false, 0.0);
            c.applied = [0.0; 3];
            c.resist.cool();
            if c.total != [0.0; 3] {
                c.force = [0.0; 3];
            }
        }
        self.touch.forget();
        if !self.touch.withdrawn {
            self.touch.foresee(pushed);
        }
        hold_velocities(piece, s, self, pushed, false, done);
        self.touch.contacts.iter_mut().for_each(Contact::take_over);
    }
}

impl Contact {
    /// What was found belongs to the whole.
    fn take_over(&mut self) {
        for k in 0..3 {
            self.total[k] += self.applied[k];
        }
        (self.force, self.applied) = ([0.0; 3], [0.0; 3]);
        self.resist.cool();
    }
}

fn keep(to: &mut Vec<(Vector, Vector)>, s: &State) {
    to.clear();
    to.extend(s.velocities.iter().zip(s.spins.iter()).map(|(v, w)| (*v, *w)));
}

impl Touch {
    /// What was found in a round acts.
    pub(in crate::step) fn apply(&mut self) {
        for c in self.contacts.iter_mut().filter(|c| c.taken) {
            c.applied = c.force;
            c.resist.applied = c.resist.force;
        }
    }
}
