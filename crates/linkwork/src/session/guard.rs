//! What one step may do, island by island: nothing that is held goes farther than hands, motors and the motion it had
//! explain, and nothing gets energy from nowhere.
//!
//! Near a singular pose, and after coarse iterations, a solver can close every loop on another branch, or find
//! velocities that close them but belong to nothing: a held leg of Jansen's went 1.42 m in 1/60 s that way, with gaps of
//! 1e-12 m. Gaps do not show it, so travel and energy are compared with their causes. An island is what joints and
//! springs connect; the trouble of one is no reason to touch another.

use crate::graph::Sets;
use crate::joint::{DriveAim, JointId};
use crate::math::log;
use crate::mechanism::Mechanism;
use crate::solid::{Kernel, SolidId};
use crate::state::State;

/// How much farther than the hand that leads it something in a linkage may go. Legs and lifts have levers of two to
/// three. Where it is more (a crank held near its axle, a knee almost straight) the hand is followed in smaller steps.
pub(super) const LEVER: f64 = 4.0;
/// How much faster than the fastest part was before the step one may become in it: motion that goes over from a heavy
/// part to a light one.
const SWING: f64 = 2.0;
/// Of the size of the largest solid, what needs no reason: iterations that end at a tolerance, centres that are not the
/// points that were measured.
const SLIP: f64 = 0.02;
/// Of the size of a soft body, likewise.
const SLACK: f64 = 0.25;
/// Of its kinetic energy, what a step of a rough method may make.
const SLOPPY: f64 = 0.1;
const QUARTER: f64 = std::f64::consts::FRAC_PI_2;
const NONE: usize = usize::MAX;

/// What joints and springs connect.
pub(super) struct Isle {
    pub solids: Vec<usize>,
    pub joints: Vec<JointId>,
    /// The largest extent of its solids.
    size: f64,
    mass: f64,
    /// What its motors ask for, m/s at the far end of what they turn.
    motor: f64,
    /// Something in it may jump by itself: a joint that begins to act, a motor that holds a position rigidly.
    sudden: bool,
    /// What needs no reason in a soft body: springs that were stretched throw a light vertex farther than any hand was away.
    slack: f64,
}

/// All islands of a scene.
#[derive(Default)]
pub(super) struct Guard {
    pub isles: Vec<Isle>,
    /// Per solid, [`NONE`] for what nothing moves.
    of: Vec<usize>,
    /// Per solid.
    extents: Vec<f64>,
    scripted: Vec<usize>,
    /// Something in the scene stores energy besides motion and height.
    pub has_springs: bool,
}

/// Why an island moved as it did.
#[derive(Clone, Copy, Default)]
pub(super) struct Cause {
    /// The fastest of its solids before the step, m/s.
    pub speed: f64,
    /// How far its hands are away, or moved: metres, the farthest.
    pub reach: f64,
    /// How far scripted solids of the scene went in the step.
    pub script: f64,
    /// The gap that was to be closed.
    pub gap: f64,
    pub held: bool,
}

impl Guard {
    pub fn new(m: &Mechanism) -> Self {
        let n = m.solids().len();
        let moves = |i: usize| !m.solids()[i].is_fixed();
        let mut sets = Sets::new(n);
        let joints = m.joints().iter().filter(|j| j.enabled).map(|j| j.frames.map(|f| f.solid.index()));
        let springs = m.springs.iter().map(|s| s.solids.map(SolidId::index));
        for [a, b] in joints.chain(springs) {
            if moves(a) && moves(b) {
                sets.join(a, b);
            }
        }
        for soft in m.softs() {
            let vertices: Vec<usize> = soft.range().filter(|i| moves(*i)).collect();
            for pair in vertices.windows(2) {
                sets.join(pair[0], pair[1]);
            }
        }
        let mut guard = Self { of: vec![NONE; n], ..Self::default() };
        guard.extents = m.solids().iter().map(|s| s.extent()).collect();
        guard.scripted = (0..n).filter(|i| matches!(m.solids()[*i].kernel, Kernel::Scripted(_))).collect();
        let soft = |j: &crate::joint::Joint| j.compliance > 0.0 || !j.drives.is_empty();
        guard.has_springs = !m.springs.is_empty() || !m.softs().is_empty() || m.joints().iter().any(soft);
        for i in (0..n).filter(|i| moves(*i)) {
            // The root of a set is its smallest member, so it was met before.
            let root = sets.find(i);
            if root == i {
                guard.of[i] = guard.isles.len();
                guard.isles.push(Isle::default());
            }
            guard.of[i] = guard.of[root];
            let isle = &mut guard.isles[guard.of[i]];
            isle.solids.push(i);
            isle.size = isle.size.max(guard.extents[i]);
            isle.mass += m.solids()[i].mass.mass;
        }
        for soft in m.softs() {
            let places = || soft.range().map(|i| m.solids()[i].pose.translation);
            let first = m.solid(soft.first).pose.translation;
            let (low, high) = places().fold((first, first), |(low, high), p| (low.min(p), high.max(p)));
            for i in soft.range().filter(|i| guard.of[*i] != NONE) {
                let isle = &mut guard.isles[guard.of[i]];
                isle.slack = isle.slack.max(SLACK * high.distance(low));
                isle.motor = isle.motor.max(m.air().map_or(0.0, |a| a.wind.length()));
            }
        }
        for (k, j) in m.joints().iter().enumerate() {
            let ends = j.frames.map(|f| f.solid.index());
            let Some(isle) = ends.iter().map(|i| guard.of[*i]).find(|k| *k != NONE) else { continue };
            let driven = ends.iter().filter(|i| moves(**i)).map(|i| guard.extents[*i]).fold(0.0, f64::max);
            let isle = &mut guard.isles[isle];
            isle.joints.push(JointId(k as u32));
            isle.sudden |= j.during.is_some();
            for d in &j.drives {
                match d.aim {
                    DriveAim::Speed(rate) if d.direction.is_rotation() => {
                        isle.motor = isle.motor.max(rate.abs() * driven);
                    }
                    DriveAim::Speed(rate) => isle.motor = isle.motor.max(rate.abs()),
                    DriveAim::To { stiffness, damping, .. } if stiffness == 0.0 && damping == 0.0 => {
                        isle.sudden = true;
                    }
                    // A spring, and no reason to be in another place in a step.
                    DriveAim::To { .. } => {}
                }
            }
        }
        guard
    }

    /// The island of a solid, if it moves.
    pub fn isle_of(&self, solid: usize) -> Option<usize> {
        self.of.get(solid).copied().filter(|k| *k != NONE)
    }

    /// The fastest point of each island, about.
    pub fn speeds(&self, s: &State) -> Vec<f64> {
        let fast = |i: usize| s.velocities[i].length() + s.spins[i].length() * self.extents[i];
        self.isles.iter().map(|isle| isle.solids.iter().map(|i| fast(*i)).fold(0.0, f64::max)).collect()
    }

    fn travel_of(&self, i: usize, a: &State, b: &State) -> f64 {
        let turn = log(b.rotations[i] * a.rotations[i].inverse()).length();
        b.centers[i].distance(a.centers[i]) + turn * self.extents[i]
    }

    /// How far the farthest point of an island went, about. Not a number if a pose is none.
    pub fn travel(&self, isle: usize, a: &State, b: &State) -> f64 {
        let far = self.isles[isle].solids.iter().map(|i| self.travel_of(*i, a, b));
        far.fold(0.0, |most, t| if t > most || t.is_nan() { t } else { most })
    }

    /// How far scripted solids went.
    pub fn script(&self, a: &State, b: &State) -> f64 {
        self.scripted.iter().map(|i| self.travel_of(*i, a, b)).fold(0.0, f64::max)
    }

    /// How far anything of an island may go in a step of length `h`.
    pub fn explained(&self, isle: usize, c: &Cause, gravity: f64, h: f64) -> f64 {
        let i = &self.isles[isle];
        let own = h * (SWING * c.speed + 2.0 * gravity * h + LEVER * i.motor);
        own + i.slack + self.allowed_correction(isle, c.reach + c.script, c.gap)
    }

    /// How far a correction that leads to a hand at this distance may move anything. Gaps that are closed add up from joint
    /// to joint.
    pub fn allowed_correction(&self, isle: usize, reach: f64, gap: f64) -> f64 {
        let i = &self.isles[isle];
        LEVER * (reach + gap * i.joints.len() as f64) + SLIP * i.size
    }

    /// Something held goes farther in a step than anything explains.
    pub fn jumps(&self, isle: usize, travel: f64, c: &Cause, gravity: f64, h: f64) -> bool {
        !self.isles[isle].sudden && !(travel <= self.explained(isle, c, gravity, h))
    }

    /// A joint turns by more than a quarter of a turn.
    pub fn flips(&self, m: &Mechanism, isle: usize, a: &State, b: &State) -> bool {
        // Joints turn by no more than their two solids do together: mostly that settles it.
        let still = |i: &usize| b.rotations[*i].dot(a.rotations[*i]).abs() >= f64::cos(0.25 * QUARTER);
        let scripts = self.scripted.iter().all(still);
        if scripts && self.isles[isle].solids.iter().all(still) {
            return false;
        }
        let joints = self.isles[isle].joints.iter().map(|j| m.joint(*j));
        joints.filter(|j| j.enabled).any(|j| {
            let ends = j.frames.map(|f| f.solid.index());
            let angle = |s: &State| s.rotations[ends[0]].inverse() * s.rotations[ends[1]];
            let turned = log(angle(b) * angle(a).inverse()).length();
            turned.is_nan() || turned > QUARTER
        })
    }

    /// Kinetic energy of an island, and that in the field of gravity.
    pub fn energy(&self, m: &Mechanism, isle: usize, s: &State) -> (f64, f64) {
        let of = |i: &usize| {
            let mass = &m.solids()[*i].mass;
            let spin = s.rotations[*i].inverse() * s.spins[*i];
            let kinetic = mass.mass * s.velocities[*i].length_squared() + spin.dot(mass.inertia * spin);
            (0.5 * kinetic, -mass.mass * m.gravity.dot(s.centers[*i]))
        };
        self.isles[isle].solids.iter().map(of).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// Energy that an island has too much after a step: more than the motion it had, its fall, what springs gave, and
    /// what hands, scripts and motors can have put into it.
    pub fn excess(
        &self,
        m: &Mechanism,
        isle: usize,
        [a, b]: [&State; 2],
        c: &Cause,
        springs: f64,
        h: f64,
    ) -> f64 {
        let i = &self.isles[isle];
        let (was, is) = (self.energy(m, isle, a), self.energy(m, isle, b));
        let driven = LEVER * ((c.reach + c.script) / h + i.motor);
        // What gravity does to all of it along a part of its size: no method is better than that in one step.
        let typical = i.mass * m.gravity.length().max(1.0) * 0.5 * i.size;
        let allowed = SLOPPY * (was.0 + typical) + 0.5 * i.mass * driven * driven + springs.max(0.0);
        is.0 + is.1 - was.0 - was.1 - allowed
    }

    /// Poses, motion and counted angles of an island, from another state.
    pub fn copy(&self, m: &Mechanism, isle: usize, from: &State, to: &mut State) {
        for i in &self.isles[isle].solids {
            to.centers[*i] = from.centers[*i];
            to.rotations[*i] = from.rotations[*i];
            to.velocities[*i] = from.velocities[*i];
            to.spins[*i] = from.spins[*i];
        }
        for j in &self.isles[isle].joints {
            let first = m.counter(*j);
            let slots = first..first + m.joint(*j).counted_ranges().count();
            to.angles[slots.clone()].copy_from_slice(&from.angles[slots]);
        }
    }

    /// Scales the motion of an island.
    pub fn scale(&self, isle: usize, s: &mut State, by: f64) {
        for i in &self.isles[isle].solids {
            s.velocities[*i] *= by;
            s.spins[*i] *= by;
        }
    }

    /// The motion of an island becomes what it did in a step.
    pub fn motion_from_travel(&self, isle: usize, a: &State, b: &mut State, h: f64) {
        for i in &self.isles[isle].solids {
            b.velocities[*i] = (b.centers[*i] - a.centers[*i]) / h;
            b.spins[*i] = log(b.rotations[*i] * a.rotations[*i].inverse()) / h;
        }
    }

    /// The mechanism with one island only, its springs, soft joints and soft motors so much weaker.
    pub fn with_weaker_springs(&self, m: &Mechanism, isle: usize, share: f64) -> Mechanism {
        let mut part = self.only(m, &[isle]);
        for s in &mut part.springs {
            if s.solids.iter().any(|i| self.isle_of(i.index()) == Some(isle)) {
                s.stiffness *= share;
            }
        }
        for id in &self.isles[isle].joints {
            part.alter_joint(*id, |j| {
                j.compliance /= share;
                for d in &mut j.drives {
                    if let DriveAim::To { stiffness, .. } = &mut d.aim {
                        *stiffness *= share;
                    }
                }
            });
        }
        part
    }

    /// The mechanism with these islands only: the others stand still, and nothing holds them.
    pub fn only(&self, m: &Mechanism, isles: &[usize]) -> Mechanism {
        let mut part = m.clone();
        for (_, isle) in self.isles.iter().enumerate().filter(|(k, _)| !isles.contains(k)) {
            for i in &isle.solids {
                part.alter_solid(SolidId(*i as u32), |s| s.kernel = Kernel::Fixed);
            }
            for j in &isle.joints {
                part.alter_joint(*j, |j| j.enabled = false);
            }
        }
        part
    }
}

impl Default for Isle {
    fn default() -> Self {
        Self {
            solids: Vec::new(),
            joints: Vec::new(),
            size: 0.0,
            mass: 0.0,
            motor: 0.0,
            sudden: false,
            slack: 0.0,
        }
    }
}
