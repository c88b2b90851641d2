//! Hands: each holds a solid through a joint to a hidden tracker of infinite mass (Faure 1998, section 4.1).
//!
//! The tracker is a scripted solid behind the last one of the scene, its joint stands behind the scene's, so ids of the
//! scene never change. Mechanisms are edited when a hand takes hold or lets go, not when it moves. Where a hand goes is
//! never differentiated: before each step the tracker's script is a straight line from where it is to where it should be,
//! and its velocity is the displacement of that step, as for every scripted solid.
//!
//! A pin is a secondary joint of `step::follow`, after each step: it gives way where anything else would have to break. A
//! pull is a soft joint with a limited force, and takes part in the step itself: a spring to where the hand is, and a
//! damper to where it stands. A damper to the moving tracker would differentiate it, and shoot an eighth past the hand.
//! Both are on a short leash from the grabbed point, so that a hand far away asks for no more than a step can do.
//!
//! A vertex of a soft body is pinned within the step, too, by a joint that is stiff and has a limited force: moved after the
//! step it would leave its neighbours behind, and whatever limits their springs.

use super::command::GripMode;
use super::heft::effective_mass;
use super::history::Moment;
use super::report::{Gap, GrabReport};
use crate::graph::Graph;
use crate::joint::{Frame, Joint, JointId, Rank};
use crate::math::{Pose, Rotation, Vector, exp, log};
use crate::mechanism::{Mechanism, ModelError, TrajectoryId};
use crate::solid::{Kernel, Solid, SolidId};
use crate::state::State;
use crate::step::{Workspace, grip_force};
use crate::trajectory::{Key, Trajectory};

/// Most hands at once.
pub const MOST_HANDS: usize = 16;
/// The tracker covers the way to the hand with this time constant, seconds: hand tremor and late events do not become
/// jolts, and the last step before a release tells the speed of the throw.
const LAG: f64 = 0.012;
/// Of its solid's size, how far ahead of the grabbed point a tracker may be: no further than the solid can turn after it
/// in one step without looking like another pose.
const LEASH: f64 = 0.4;
/// Radians, likewise.
const TURN_LEASH: f64 = 0.4;
/// Of its solid's size, how much of the way to a hand counts as a reason for motion in one step.
const MOST_REACH: f64 = 0.2;
/// A pull's spring, rad/s of the effective mass alone. What moves with the hand trails it by two parts in this of a second.
const PULL: f64 = 20.0;
/// The same for a pinned vertex of a soft body, of the mass of the whole body.
const PIN: f64 = 120.0;
/// The largest pull, in weights of the effective mass and of all that hangs on it.
const PULL_FORCE: f64 = 15.0;
const PULL_LOAD: f64 = 4.0;
/// The speed of a throw is that of the hand over this time, seconds: events of a pointer come unevenly, and the last step
/// alone would tell anything between rest and twice the speed.
const THROW: f64 = 0.15;
/// A hand that was not heard of for so long rests, seconds.
const RESTS: f64 = 0.11;
/// Where the hand was lately, most.
const PATH: usize = 32;
/// Weight counts in forces even where nothing falls.
const LEAST_GRAVITY: f64 = 9.81;

/// One hand's hold.
#[derive(Clone)]
pub(super) struct Grip {
    pub hand: u32,
    pub solid: SolidId,
    /// In the solid's frame.
    pub point: Vector,
    pub mode: GripMode,
    /// In the live mechanism.
    tracker: SolidId,
    /// Of the mechanism that follows the hands.
    joint: JointId,
    /// Of the live mechanism, if it is a pull.
    pull: JointId,
    script: TrajectoryId,
    /// Where the tracker was when the mechanism was last rebuilt.
    resume: Pose,
    /// Where the grabbed point should be, and how the solid should be turned.
    pub target: Pose,
    /// From the hand's turn to the solid's.
    pub grasp: Rotation,
    /// Where the hand was lately: time, place, turn.
    path: Vec<(f64, Pose)>,
    /// Effective mass of the grabbed point, for a pull.
    mass: f64,
    /// Mass of everything that hangs together with it.
    load: f64,
    /// It is a vertex of a soft body.
    soft: bool,
    /// Metres.
    leash: f64,
    /// Share of the leash in use; shrinks when steps are rejected.
    slack: f64,
    most_force: f64,
    /// Before the hand took hold.
    pub before: Moment,
    pub gesture: u64,
}

impl Grip {
    /// A hold on a solid where it is.
    pub fn new(
        m: &Mechanism,
        s: &State,
        (hand, solid, point, mode): (u32, SolidId, Vector, GripMode),
        turned: Rotation,
        before: Moment,
        gesture: u64,
    ) -> Self {
        let pose = s.pose(m, solid);
        let at = Pose::from_parts(pose.transform_point(point), pose.rotation);
        let graph = Graph::new(m);
        let island = graph.islands.iter().find(|i| i.place(solid).is_some());
        let weight = |id: &SolidId| m.solid(*id).mass.mass;
        let body = m.soft_of(solid).map(|k| body_mass(m, k));
        let load =
            body.unwrap_or_else(|| island.map_or(weight(&solid), |i| i.solids.iter().map(weight).sum()));
        let mode = if m.solid(solid).particle && mode == GripMode::PinPose { GripMode::Pin } else { mode };
        Self {
            hand,
            solid,
            point,
            mode,
            tracker: SolidId::WORLD,
            joint: JointId(0),
            pull: JointId(0),
            script: TrajectoryId(0),
            resume: at,
            target: at,
            grasp: turned.inverse() * pose.rotation,
            path: Vec::new(),
            mass: match mode {
                _ if body.is_some() => load,
                GripMode::Pull => effective_mass(m, s, island, solid, at.translation),
                _ => weight(&solid),
            },
            load,
            soft: body.is_some(),
            leash: LEASH * m.solid(solid).extent(),
            slack: 1.0,
            most_force: f64::INFINITY,
            before,
            gesture,
        }
    }

    /// Adds the tracker to what steps see (`live`) and to what follows the hands (`reach`), with the joint: there, and for
    /// a pull in both.
    pub fn attach(&mut self, live: &mut Mechanism, reach: &mut Mechanism) -> Result<(), ModelError> {
        let gravity = live.gravity.length().max(LEAST_GRAVITY);
        self.script = TrajectoryId(live.trajectories.len() as u32);
        // No name of a scene has a bracket or a space.
        let mut tracker = Solid::fixed(format!("(hand {})", self.hand));
        tracker.kernel = Kernel::Scripted(self.script);
        tracker.pose = self.resume;
        for m in [&mut *live, &mut *reach] {
            m.trajectories.push(Trajectory::default());
            self.tracker = m.add_solid(tracker.clone())?;
        }
        self.script(live, 0.0, self.resume, 0.0, self.resume);
        self.script(reach, 0.0, self.resume, 0.0, self.resume);
        let frames = (Frame::point(self.tracker, Vector::ZERO), Frame::point(self.solid, self.point));
        let hold = if self.mode == GripMode::PinPose { Joint::weld } else { Joint::ball };
        let mut joint = hold(frames.0, frames.1).with_rank(Rank::Secondary);
        self.most_force = gravity * (PULL_FORCE * self.mass + PULL_LOAD * self.load);
        // A joint's limit holds for each of its three rows: together they stay below the one that is told. For a pin it is
        // any finite force: it yields.
        joint.most_force = self.most_force / 3.0_f64.sqrt();
        self.joint = reach.add_joint(joint.clone())?;
        if !self.is_pin() {
            joint.compliance = 1.0 / self.stiffness();
            joint.damping = 2.0 * self.mass * self.rate();
            self.pull = live.add_joint(joint)?;
        }
        Ok(())
    }

    /// Adds the tracker with a spring in place of the joint, whatever the mode: for steps that cannot afford to follow a
    /// hand exactly. Between the effective mass of a solid alone, which could not move what hangs on it, and that of
    /// everything, which a few iterations cannot move.
    pub fn attach_spring(&self, m: &mut Mechanism) -> Result<(), ModelError> {
        let mut tracker = Solid::fixed(format!("(hand {})", self.hand));
        tracker.kernel = Kernel::Scripted(self.script);
        tracker.pose = self.resume;
        m.trajectories.push(Trajectory::default());
        self.script(m, 0.0, self.resume, 0.0, self.resume);
        let id = m.add_solid(tracker)?;
        let frames = (Frame::point(id, Vector::ZERO), Frame::point(self.solid, self.point));
        let hold = if self.mode == GripMode::PinPose { Joint::weld } else { Joint::ball };
        let mut joint = hold(frames.0, frames.1).with_rank(Rank::Secondary);
        joint.most_force = self.most_force / 3.0_f64.sqrt();
        let mass = if self.is_pin() { (self.mass * self.load).sqrt() } else { self.mass };
        let rate = self.rate();
        joint.compliance = 1.0 / (mass * rate * rate);
        joint.damping = 2.0 * mass * rate;
        m.add_joint(joint)?;
        Ok(())
    }

    /// Sends the tracker of [`Grip::attach_spring`] where that of the live mechanism goes.
    pub fn aim_spring(&self, m: &mut Mechanism, live: &Mechanism) {
        let k = self.script.0 as usize;
        m.trajectories[k].keys.clone_from(&live.trajectories[k].keys);
    }

    /// How far the grabbed point was from where its tracker is now, turns at the solid's far end included: what this hand
    /// explains of a step. A hand at the other end of the room explains no more than one on a short arm.
    pub fn reach(&self, live: &Mechanism, before: &State, now: &State) -> f64 {
        let (held, tracker) = (self.held(live, before), now.pose(live, self.tracker));
        let mut away = held.translation.distance(tracker.translation);
        if self.mode == GripMode::PinPose {
            away +=
                log(tracker.rotation * held.rotation.inverse()).length() * live.solid(self.solid).extent();
        }
        away.min(MOST_REACH * live.solid(self.solid).extent())
    }

    /// Puts the tracker at a share of the way from the grabbed point to where it is.
    pub fn hold_back(&self, live: &Mechanism, s: &mut State, share: f64) {
        if share >= 1.0 {
            return;
        }
        let (held, tracker) = (self.held(live, s), s.pose(live, self.tracker));
        let at = held.translation + (tracker.translation - held.translation) * share;
        let turn = log(tracker.rotation * held.rotation.inverse());
        let rotation = exp(turn * share) * held.rotation;
        s.set_pose(live, self.tracker, Pose::from_parts(at, rotation.normalize()));
        s.velocities[self.tracker.index()] *= share;
        s.spins[self.tracker.index()] *= share;
    }

    /// Of the spring of a hand that acts within steps.
    fn rate(&self) -> f64 {
        if self.soft && self.mode != GripMode::Pull { PIN } else { PULL }
    }

    fn stiffness(&self) -> f64 {
        self.mass * self.rate() * self.rate()
    }

    /// How far a pinned vertex may be from its hand and is there all the same: its spring pulls with a part of what it can.
    fn give(&self) -> f64 {
        let pinned = self.soft && self.mode != GripMode::Pull;
        if pinned { 0.25 * self.most_force / (3.0_f64.sqrt() * self.stiffness()) } else { 0.0 }
    }

    /// A pull has no part in what follows the hands while time passes. A vertex never has: its neighbours would stay.
    pub fn switch(&self, reach: &mut Mechanism, timed: bool) {
        let on = !(self.soft || (timed && self.mode == GripMode::Pull));
        if reach.joint(self.joint).enabled != on {
            reach.alter_joint(self.joint, |j| j.enabled = on);
        }
    }

    /// It holds by a pin: `step::follow` has to see to it while time passes.
    pub fn is_pin(&self) -> bool {
        self.mode != GripMode::Pull && !self.soft
    }

    /// Puts the tracker into a state that has room for it.
    pub fn enter(&self, live: &Mechanism, s: &mut State) {
        s.set_pose(live, self.tracker, self.resume);
        s.velocities[self.tracker.index()] = Vector::ZERO;
        s.spins[self.tracker.index()] = Vector::ZERO;
    }

    /// Remembers where the tracker is, for when the mechanism is rebuilt.
    pub fn remember(&mut self, live: &Mechanism, s: &State) {
        self.resume = s.pose(live, self.tracker);
    }

    /// The tracker starts again from the grabbed point, wherever that is now.
    pub fn regrip(&mut self, m: &Mechanism, s: &State) {
        self.resume = self.held(m, s);
    }

    /// Notes where the hand is now.
    pub fn note(&mut self, time: f64) {
        // Who goes back in time begins anew.
        self.path.retain(|(t, _)| *t <= time && time - *t <= 2.0 * THROW);
        if self.path.len() >= PATH {
            self.path.remove(0);
        }
        self.path.push((time, self.target));
    }

    /// How fast the hand is, and how fast it turns; none where it rests, is out of reach, or was just there.
    pub fn hand_speed(&self, m: &Mechanism, s: &State) -> Option<(Vector, Vector)> {
        let (last, to) = self.path.last()?;
        let first = self.path.iter().find(|(t, _)| last - t <= THROW)?;
        let time = last - first.0;
        if !(time > 0.0) || s.time - last > RESTS {
            return None;
        }
        let speed = (to.translation - first.1.translation) / time;
        let turn = log(to.rotation * first.1.rotation.inverse()) / time;
        let away = self.held(m, s).translation.distance(self.target.translation);
        (away <= speed.length() * (THROW + LAG)).then_some((speed, turn))
    }

    /// The tracker goes as the hand does.
    pub fn speed_up(&self, s: &mut State, (speed, turn): (Vector, Vector)) {
        s.velocities[self.tracker.index()] = speed;
        s.spins[self.tracker.index()] = turn;
    }

    /// Where the grabbed point is, and how the solid is turned.
    pub fn held(&self, m: &Mechanism, s: &State) -> Pose {
        let pose = s.pose(m, self.solid);
        Pose::from_parts(pose.transform_point(self.point), pose.rotation)
    }

    fn script(&self, live: &mut Mechanism, from: f64, a: Pose, to: f64, b: Pose) {
        let key = |time, p: Pose| Key { time, position: p.translation, rotation: p.rotation };
        let keys = &mut live.trajectories[self.script.0 as usize].keys;
        keys.clear();
        keys.push(key(from, a));
        if to > from {
            keys.push(key(to, b));
        }
    }

    /// Where the tracker goes next: a share of the way to the hand, on its leash.
    fn next(&self, live: &Mechanism, s: &State, share: f64, tolerance: f64) -> Pose {
        let (now, held) = (s.pose(live, self.tracker), self.held(live, s));
        let to = self.target.translation - now.translation;
        let mut at =
            if to.length() <= tolerance { self.target.translation } else { now.translation + to * share };
        let ahead = at - held.translation;
        let leash = match self.is_pin() {
            // A pull is a force: the leash is where the spring has the largest one.
            false => self.most_force / (3.0_f64.sqrt() * self.stiffness()),
            true => self.leash * self.slack,
        };
        if ahead.length() > leash {
            at = held.translation + ahead * (leash / ahead.length());
        }
        let turn = log(self.target.rotation * now.rotation.inverse());
        let mut rotation =
            if turn.length() <= tolerance { self.target.rotation } else { exp(turn * share) * now.rotation };
        let ahead = log(rotation * held.rotation.inverse());
        let leash = TURN_LEASH * self.slack;
        if ahead.length() > leash {
            rotation = exp(ahead * (leash / ahead.length())) * held.rotation;
        }
        Pose::from_parts(at, rotation.normalize())
    }

    /// Scripts the tracker for the next step of length `h`. That of a pull is there at once and stands.
    pub fn aim_step(&self, live: &mut Mechanism, s: &mut State, h: f64, tolerance: f64) {
        let next = self.next(live, s, h / (h + LAG), 0.1 * tolerance);
        if !self.is_pin() {
            s.set_pose(live, self.tracker, next);
        }
        self.script(live, s.time, s.pose(live, self.tracker), s.time + h, next);
    }

    /// Moves the tracker for a correction without time.
    pub fn aim_pose(&self, live: &Mechanism, s: &mut State, tolerance: f64) {
        let next = self.next(live, s, 0.7, 0.1 * tolerance);
        s.set_pose(live, self.tracker, next);
    }

    /// The tracker is where the hand is, or as near as its leash allows.
    pub fn is_there(&self, live: &Mechanism, s: &State, tolerance: f64) -> bool {
        let now = s.pose(live, self.tracker);
        let next = self.next(live, s, 0.7, 0.1 * tolerance);
        now.translation.distance(next.translation) <= tolerance
            && (self.mode != GripMode::PinPose
                || log(next.rotation * now.rotation.inverse()).length() <= tolerance)
    }

    /// A rejected step shortens the leash, good ones let it out again.
    pub fn adapt(&mut self, good: bool) {
        self.slack = if good { (1.2 * self.slack).min(1.0) } else { (0.3 * self.slack).max(1e-3) };
    }

    /// What the user gets to see.
    pub fn report(
        &self,
        live: &Mechanism,
        s: &State,
        forces: Option<(&Workspace, &Workspace)>,
        tolerance: f64,
    ) -> GrabReport {
        let held = self.held(live, s);
        let angle = match self.mode {
            GripMode::PinPose => log(self.target.rotation * held.rotation.inverse()).length(),
            _ => 0.0,
        };
        let gap = Gap { position: held.translation.distance(self.target.translation), angle };
        let force = forces.map_or(Vector::ZERO, |(stepped, followed)| match self.is_pin() {
            false => stepped.remembered_reaction(self.pull).force,
            true => grip_force(followed, self.joint),
        });
        GrabReport {
            hand: self.hand,
            solid: self.solid.0,
            mode: self.mode,
            point: held.translation.to_array(),
            target: self.target.translation.to_array(),
            met: gap.position <= tolerance.max(self.give()) && gap.angle <= tolerance,
            gap,
            force: if force.is_finite() { force.to_array() } else { [0.0; 3] },
            most_force: (!self.is_pin()).then_some(self.most_force),
        }
    }
}

/// Mass of a soft body and of the solids that it is pinned to.
fn body_mass(m: &Mechanism, body: usize) -> f64 {
    let own: f64 = m.softs()[body].mesh.masses.iter().sum();
    let pinned = m.joints().iter().filter(|j| j.enabled).filter_map(|j| {
        let [a, b] = j.frames.map(|f| f.solid);
        let of = |id: SolidId| m.soft_of(id) == Some(body);
        [(a, b), (b, a)].into_iter().find(|(v, _)| of(*v)).map(|(_, other)| other)
    });
    let solid = |id: SolidId| if m.solid(id).is_fixed() { 0.0 } else { m.solid(id).mass.mass };
    own + pinned.map(solid).sum::<f64>()
}
