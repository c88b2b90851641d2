//! The energy guard: does anything explain what a step did to the energy of an island?
//!
//! Gravity, forces, springs and soft joints are accounted for, and so are motors: those with a stiffness are springs, the
//! work of the others is measured (`motors.rs`). Given motions are only held to what could not be their doing. What is left
//! over is an error of the method, and methods have errors: a second-order one of about `(w h)^2` of the kinetic energy, `w` the fastest turn, and `m (a h)^2` where forces act; motion within the
//! tolerance is not seen at all. A step that gains
//! more, or loses more where nothing can take energy away, is not to be believed: next to singular poses and among rows
//! that depend on each other Newton's method finds motions that meet every constraint and have nothing to do with the
//! mechanism.

use super::{Method, Piece, StepConfig, work::IslandWork};
use crate::force::Force;
use crate::mechanism::Mechanism;
use crate::rows::{Law, Source, twist};
use crate::solid::Kernel;
use crate::state::State;

/// What a step did to the energy that nothing explains, joules; summed over the islands that it can be told of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyReport {
    /// Gained (positive) or lost (negative) without an explanation.
    pub change: f64,
    /// Size of what the method's own error may be in this step.
    pub allowed: f64,
    /// Kinetic energy at the end of the step.
    pub kinetic: f64,
    /// Fastest turn over a substep, radians: errors of second order go with its square.
    pub turn: f64,
    /// All that islands gained or lost so far without an explanation, those apart whose motion is given.
    pub drift: f64,
    /// Islands that gained, or lost, more than the method documents: in this step, though everything was tried, or in all.
    pub unexplained: usize,
    /// Islands whose gain was taken out of their speed in the end.
    pub clamped: usize,
    /// Taken away by joints that began to hold in this step: the speeds that they forbid.
    pub caught: f64,
}

impl EnergyReport {
    pub(super) fn add(&mut self, other: &EnergyReport) {
        self.change += other.change;
        self.allowed += other.allowed;
        self.kinetic += other.kinetic;
        self.drift += other.drift;
        self.turn = self.turn.max(other.turn);
        self.unexplained += other.unexplained;
        self.clamped += other.clamped;
        self.caught += other.caught;
    }
}

/// The energy of an island at the start of a substep.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ledger {
    kinetic: f64,
    /// In gravity and springs.
    stored: f64,
    springs: f64,
}

impl Ledger {
    /// Kinetic energy.
    pub fn kinetic(&self) -> f64 {
        self.kinetic
    }

    /// Nothing moves.
    pub fn is_still(&self) -> bool {
        self.kinetic == 0.0
    }
}

/// What brings energy in or takes it away, and what the method documents about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Balance {
    /// Given motions drive it, or its masses are none: gains are no errors, unless they are absurd.
    given: bool,
    /// Motors act that can bring energy in. Their work is measured.
    motors: bool,
    /// Not all of them are springs.
    push: bool,
    /// Motors act that only take energy out: those that hold a joint still.
    brakes: bool,
    /// Share of what motors could have done at most that their work is not known by.
    unsure: f64,
    /// Dampers, contacts or the method itself take energy away.
    loses: bool,
    /// In this step something may: a bound is reached, or a spring swings faster than the step can show.
    may_lose: bool,
    /// Error of the method, per square of the turn.
    order: f64,
    /// Share of the largest kinetic energy that a passive island may have gained in all.
    documented: f64,
    /// A step that cannot be believed is tried again. Explicit methods are what they are: their errors are reported.
    retries: bool,
    /// The method closes gaps to the tolerance.
    closes: bool,
    /// Joints begin to hold: a blow takes the speeds that they forbid, and their energy.
    catches: bool,
    /// There are soft bodies.
    soft: bool,
}

impl Balance {
    /// `touches`: there are contacts; `coats`: some of them with soft coats.
    pub fn new(m: &Mechanism, method: Method, touches: bool, coats: bool) -> Self {
        let unphysical =
            m.solids().iter().any(|s| matches!(s.kernel, Kernel::Scripted(_)) || s.mobility.is_some());
        let motors = m.joints().iter().any(|j| j.drives.iter().any(|d| !d.is_brake()));
        let brakes = m.joints().iter().any(|j| j.drives.iter().any(|d| d.is_brake()));
        let push = m.joints().iter().any(|j| j.drives.iter().any(|d| !d.is_brake() && !d.is_soft()));
        let soft = m.joints().iter().any(|j| j.compliance > 0.0 || j.most_force.is_finite());
        let damped =
            m.joints().iter().any(|j| j.most_force.is_finite() || (j.compliance > 0.0 && j.damping > 0.0))
                || m.springs.iter().any(|s| s.damping > 0.0);
        let conserves = matches!(method, Method::Variational | Method::Reduced);
        let explicit = matches!(method, Method::Baumgarte { .. } | Method::PostStabilization { .. });
        Self {
            given: unphysical,
            motors,
            push,
            brakes,
            unsure: if conserves { MOTOR_WORK.0 } else { MOTOR_WORK.1 },
            loses: motors || brakes || touches || damped || !m.softs().is_empty() || !conserves,
            may_lose: false,
            catches: false,
            soft: !m.softs().is_empty(),
            // Methods of first order err by the same power of the turn, and by more of it.
            order: if conserves { 1.0 } else { 4.0 },
            // In order: see there; an integrator's own; bounces in a coat, gains from the least of each; springs that swing once in a dozen steps, whose energy comes and goes by
            // (w h)^2 / 4 of itself; the default tolerance over a minute; speeds that are half a step old.
            documented: if push || (motors && method != Method::Variational) {
                MOTORS
            } else if explicit || coats {
                0.2
            } else if soft || motors || !m.springs.is_empty() || !m.softs().is_empty() {
                0.1
            } else if conserves {
                0.03
            } else {
                0.05
            },
            retries: !explicit,
            closes: conserves,
        }
    }

    /// The same for a step in which joints begin to hold.
    pub fn with_a_catch(self) -> Self {
        Self { loses: true, catches: true, ..self }
    }

    /// The same for a step in which something may take energy away.
    pub fn with_losses(self, may_lose: bool) -> Self {
        Self { may_lose: self.may_lose || may_lose, ..self }
    }

    /// Something may have taken energy away in this step.
    fn excuses_losses(self) -> bool {
        self.loses || self.may_lose
    }

    /// What was gained or lost without an explanation in all, after a step that did this. What may be the work of a bound
    /// takes back what was gained, but is no loss.
    pub fn carry(self, drift: f64, change: f64) -> f64 {
        let sum = drift + change;
        if self.may_lose && !self.loses { sum.max(drift.min(0.0)) } else { sum }
    }

    /// Joints begin to hold: what moves then was given, and nothing of it was made.
    pub fn is_a_start(self) -> bool {
        self.catches
    }

    /// Of a change that nothing explains, what counts as drift, and what joints that began to hold took away: a loss beyond
    /// the `ordinary` error of a step.
    pub fn split(self, change: f64, ordinary: f64) -> (f64, f64) {
        if self.catches && change < -ordinary { (0.0, -change) } else { (change, 0.0) }
    }

    /// Motors or given motions act.
    pub fn is_driven(self) -> bool {
        self.given || self.motors || self.brakes
    }

    /// What drives it may bring in what it likes in a single step: motions are given, or the work of motors is measured under a
    /// method that knows their speeds only half a step late.
    fn is_unmeasured(self) -> bool {
        self.given || (self.motors && !self.retries)
    }

    /// Motions are given: nothing tells what they bring.
    pub fn is_given(self) -> bool {
        self.given
    }

    /// Motors act that can bring energy in, springs among them.
    pub fn has_motors(self) -> bool {
        self.motors
    }

    /// Motors of any kind act, which may take any energy away.
    pub fn is_braked(self) -> bool {
        self.motors || self.brakes
    }

    /// A step that cannot be believed is tried again.
    pub fn retries(self) -> bool {
        self.retries
    }

    /// The method closes gaps to the tolerance.
    pub fn closes(self) -> bool {
        self.closes
    }

    /// Has the island gained, or lost where nothing takes energy away, more in all than its method documents?
    pub fn is_off(self, drift: f64, peak: f64, rounding: f64) -> bool {
        let most = self.documented * peak + rounding;
        !self.given && (drift > most || (!self.loses && drift < -most))
    }
}

impl IslandWork {
    /// The energy at `s`.
    pub(super) fn ledger(&mut self, m: &Mechanism, s: &State, at: f64) -> Ledger {
        // Only what does not depend on the pose is read: inertias in world axes may have been raised (`tension.rs`).
        if self.masses.len() != s.centers.len() {
            self.masses.update(m, s);
        }
        let mut sum = Ledger::default();
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
            let mass = self.masses.mass(i);
            sum.kinetic += 0.5 * mass * s.velocities[i].length_squared();
            sum.stored -= mass * m.gravity.dot(s.centers[i]);
            if s.spins[i] != crate::math::Vector::ZERO {
                let spin = s.rotations[i].inverse() * s.spins[i];
                sum.kinetic += 0.5 * spin.dot(*self.masses.inertia(i) * spin);
            }
        }
        if self.springy {
            self.probe.fill_motion(m, s, at, |_| crate::joint::Rank::Primary);
            for g in &self.probe.groups {
                if let Law::Soft { stiffness, .. } = g.law {
                    let gaps = g.range().map(|r| self.probe.wanted(r).abs());
                    if stiffness > 0.0 && g.most_force.is_finite() {
                        // Beyond its largest force it does not pull harder.
                        let reach = g.most_force / stiffness;
                        let excess = |x: f64| (x - reach).max(0.0);
                        sum.springs += gaps
                            .map(|x| 0.5 * stiffness * x.min(reach).powi(2) + g.most_force * excess(x))
                            .sum::<f64>();
                    } else {
                        sum.springs += 0.5 * stiffness * gaps.map(|x| x.powi(2)).sum::<f64>();
                    }
                }
            }
            sum.stored += sum.springs;
        }
        let dents = self.coat_energy(s);
        sum.springs += dents;
        sum.stored += dents + super::soft::stored(m, s);
        sum
    }

    /// May a bound be reached within a step that begins, or ended, at `s`? Or is a spring damped, which the step cannot show?
    /// Rows are those of `s`.
    pub(super) fn may_lose(&self, s: &State, c: &StepConfig) -> bool {
        let rows = &self.rows;
        let bounds = rows.others().filter(|g| !matches!(g.law, Law::Rate(_)));
        let mut bounds = bounds.flat_map(|g| g.range()).filter(|r| !rows.is_equality(*r));
        self.springs.unresolved > 0
            || bounds.any(|r| {
                let reach = NEAR.0 * c.dt * rows.speed(r, s).abs() + NEAR.1 * c.tolerance;
                rows.low[r] > -reach || rows.high[r] < reach
            })
    }

    /// How the energy changed over a substep that began with `before` at `start`, beside what is allowed; and what it is now.
    pub(super) fn balance(
        &mut self,
        piece: &Piece,
        of: Balance,
        before: Ledger,
        start: &State,
        s: &State,
    ) -> (EnergyReport, Ledger) {
        let Piece { m, h, .. } = *piece;
        // A spring that begins or lets go within the step brings or takes what is stored in it.
        let before =
            if self.springy && piece.changes_springs() { self.ledger(m, start, piece.end) } else { before };
        let after = self.ledger(m, s, piece.end);
        let (mut turn, mut kick, mut work, mut blur) = (0.0_f64, 0.0, 0.0, 0.0);
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
            let w = self.masses.inverse_mass(i);
            kick += m.gravity.length_squared() * h * h / w + (piece.c.tolerance / h).powi(2) / w;
            if self.masses.turns(i) {
                turn = turn.max(h * start.spins[i].length()).max(h * s.spins[i].length());
            }
        }
        for g in self.rows.others() {
            // Where nothing turns it is the line between the solids that does; so it is where a distance is kept.
            let [a, b] = g.solids;
            let rod = g.source == Source::Joint && m.joint(g.joint).distance.is_some();
            if rod || !(self.masses.turns(a) && self.masses.turns(b)) {
                let distance = s.centers[a].distance(s.centers[b]);
                let speed = s.velocities[a]
                    .distance(s.velocities[b])
                    .max(start.velocities[a].distance(start.velocities[b]));
                if distance > 0.0 {
                    turn = turn.max(h * speed / distance);
                }
            }
        }
        let share = |f: &Force| f.during.map_or(1.0, |d| d.share(piece.begin, piece.end));
        for (f, share) in m.forces.iter().map(|f| (f, share(f))).filter(|(_, share)| *share > 0.0) {
            let i = f.solid.index();
            let power = |s: &State| {
                let q = s.rotations[i];
                let (force, torque) =
                    if f.follows_solid { (q * f.value, q * f.torque) } else { (f.value, f.torque) };
                let arm = f.at.map_or(crate::math::Vector::ZERO, |at| q * (at - m.solids()[i].mass.center));
                let v = twist(s, i);
                let spin = crate::math::Vector::new(v[3], v[4], v[5]);
                force.dot(s.velocities[i]) + (torque + arm.cross(force)).dot(spin)
            };
            // Half of a step's push is that of its begin, and half that of its end.
            let [a, b] = [start, s].map(|s| share * power(s));
            work += 0.5 * h * (a + b);
            let (w, power) = (self.masses.inverse_mass(i), a.abs().max(b.abs()));
            // A force that begins or ends within the substep acts for some of it.
            let unsure = f.value.length_squared() * h * h * w + 2.0 * h * power;
            kick += unsure;
            if share < 1.0 {
                blur += unsure;
            }
        }
        let (wind, gusts) = self.soft.wind_work(m, [start, s], h);
        work += self.touch.lifted + wind + self.motors.work;
        kick += gusts;
        blur += of.unsure * self.motors.effort + self.motors.jolt;
        let change = (after.kinetic + after.stored) - (before.kinetic + before.stored) - work;
        // For how much of it is not known.
        let change = change - change.clamp(-blur, blur);
        let kinetic = before.kinetic.max(after.kinetic.min(4.0 * before.kinetic + kick));
        let rounding = 1e-12 * (before.stored.abs() + after.stored.abs() + after.kinetic);
        let allowed = of.order * (turn.min(1.0).powi(2) * kinetic + kick)
            + 0.5 * (before.springs + after.springs)
            + self.unseen_energy(s, h)
            + if m.softs().is_empty() { 0.0 } else { SOFT * kinetic }
            + rounding;
        (EnergyReport { change, allowed, kinetic: after.kinetic, turn, ..EnergyReport::default() }, after)
    }
}

/// A bound is near that is reached at this many times the speed at an end of the step, or that is as many tolerances away.
const NEAR: (f64, f64) = (2.0, 10.0);

/// What the work of motors may be wrong by, as a share of what they could have done at most: under methods of second order
/// and beyond, and under those of first order.
const MOTOR_WORK: (f64, f64) = (0.1, 0.3);

/// Share of the largest kinetic energy that an island with motors may have gained: soft ones are stiff as springs go.
const MOTORS: f64 = 0.5;

/// Springs of soft bodies turn and buckle within a step: energy comes and goes by some hundredths of the kinetic one.
const SOFT: f64 = 0.4;

/// A step that errs by more than this share of what is allowed is tried again: ordinary ones err by one or two hundredths.
pub(super) const RETRY: f64 = 0.05;

impl EnergyReport {
    /// Within what the method documents?
    pub(super) fn is_explained(&self, of: Balance, before: Ledger) -> bool {
        self.is_within(1.0, of, before)
    }

    /// The error in units of what an ordinary step has at most: above one, the step is worth another try.
    pub(super) fn excess(&self, of: Balance, before: Ledger) -> f64 {
        if of.is_unmeasured() {
            return if self.is_within(1.0, of, before) { 0.0 } else { f64::INFINITY };
        }
        let error = if of.excuses_losses() { self.change.max(0.0) } else { self.change.abs() };
        // What buckles and touches errs by more than an ordinary step, and no shorter one is a cure.
        let share = if of.soft { 1.0 } else { RETRY };
        error / (share * self.allowed + f64::MIN_POSITIVE)
    }

    fn is_within(&self, share: f64, of: Balance, before: Ledger) -> bool {
        if of.is_unmeasured() {
            // A motor that begins gives speed to what stood still; nothing makes it give so much.
            return before.kinetic == 0.0 || self.change <= 100.0 * (before.kinetic + self.allowed);
        }
        let lost = !of.excuses_losses() && self.change < -share * self.allowed;
        self.change <= share * self.allowed && !lost
    }
}
