//! A mechanism in somebody's hands: grab, drag, release, run, pause, look back, edit, undo; recorded and repeatable.
//!
//! Everything a user does is a [`Command`], logged before it acts; everything that time does is a [`Session::tick`].
//!
//! ```
//! use linkwork::session::{Command, GripMode, Session, replay};
//! let text = "solid arm: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; end joint ball; object2 arm; end";
//! let mut session = Session::open(text, &mut |_| Err("no files here".into())).unwrap();
//! session.apply(Command::Grab {
//!     hand: 1, solid: "arm".into(), point: [1.0, 0.0, 0.0], mode: GripMode::Pin, rotation: None,
//! })?;
//! session.apply(Command::Drag { hand: 1, position: [0.6, 0.8, 0.0], rotation: None })?;
//! session.apply(Command::Run { on: true })?;
//! let no_clock = || 0.0;
//! let mut report = session.look();
//! for _ in 0..60 {
//!     report = session.tick(1.0 / 60.0, &no_clock);
//! }
//! assert!(report.grabs[0].met && report.gaps.position < 1e-6, "{report:?}");
//! session.apply(Command::Undo)?;
//! // The log repeats it, bit for bit.
//! assert_eq!(replay(&session.log()).unwrap().hash(), session.hash());
//! # Ok::<(), linkwork::session::SessionError>(())
//! ```

mod act;
mod attempt;
mod budget;
mod check;
mod command;
mod document;
mod edit;
mod forces;
mod fork;
mod grip;
mod guard;
mod heft;
mod history;
mod log;
mod obstacles;
mod report;
mod rough;
mod tick;

pub use command::{Applied, Command, Complaint, GripMode, Mode, Past, Policy, SessionError, Which};
pub use document::Files;
pub use grip::MOST_HANDS;
pub use log::{Entry, Log, ReplayError, VERSION, replay, replay_with};
pub use report::{
    Contacts, Effort, Energies, Event, Gap, GrabReport, Islands, Limit, Momenta, Receipt, Settings,
    TickReport, Timeline, WorstJoint,
};

use crate::math::{Pose, Rotation, Vector};
use crate::measure::Meter;
use crate::mechanism::Mechanism;
use crate::rows::Rows;
use crate::scene::{self, Scene};
use crate::solid::SolidId;
use crate::solve::SolverKind;
use crate::state::State;
use crate::step::{Pace, Workspace};
use check::{check_finite, quaternion, settings_of};
use document::{Document, find_solid};
use edit::Occasion;
use grip::Grip;
use guard::Guard;
use history::{Edits, Moment, Ring};
use rough::Rough;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Steps that one command may ask for.
const MOST_STEPS: u32 = 1000;
/// What all of them may ask, in units of what a single one may.
const MOST_WORK: u64 = 5;

/// A scene that is being handled.
pub struct Session {
    document: Arc<Document>,
    /// What the scene says, with switched joints and gravity as set: what users see.
    base: Mechanism,
    /// The same and the trackers of hands, with their pulls: what steps see.
    live: Mechanism,
    /// The same and the trackers, with all grips as secondary joints: what follows the hands.
    reach: Mechanism,
    state: State,
    workspace: Workspace,
    reach_workspace: Workspace,
    meter: Meter,
    /// Scratch for measuring gaps.
    rows: Rows,
    settings: Settings,
    grips: Vec<Grip>,
    gestures: u64,
    history: Ring,
    edits: Edits,
    pace: Pace,
    /// What exact iterations cost, and rough ones.
    cost: budget::Cost,
    rough_cost: budget::Cost,
    /// The next step analyses the pattern of the matrix before it can begin.
    fresh: bool,
    /// Islands of the scene, and what their steps may do.
    guard: Guard,
    /// What hands stop at; made when a hand is first followed.
    obstacles: Option<Box<obstacles::Obstacles>>,
    /// Hands were followed with obstacles among the joints: `reach_workspace` belongs to those.
    bound: bool,
    /// For steps that cannot afford a factorisation; made when the first one is due.
    rough: Option<Box<Rough>>,
    /// Real seconds since a hand last moved.
    since_drag: f64,
    /// Nothing is left to do without time.
    settled: bool,
    /// The workspace holds the forces of the state.
    forces_known: bool,
    /// Who touches whom, and what happened since the last report.
    touching: crate::contact::ContactEvents,
    events: Vec<Event>,
    /// How carefully hands are followed just now.
    damping: f64,
    /// Largest gap as last measured, and the gap that no step may open.
    gap: f64,
    torn: f64,
    /// The gap that the last edit left: where constraints contradict each other, steps may open no more than a few times it.
    left: f64,
    rejected: Option<&'static str>,
    log: Log,
    files: BTreeMap<String, Vec<u8>>,
    /// Lints of the text, and what assembly could not close.
    warnings: Vec<Complaint>,
}

impl Session {
    /// Reads a scene and assembles it if it stands open. It starts paused. `mesh` hands out mesh files.
    pub fn open(text: &str, mesh: &mut Files<'_>) -> Result<Session, scene::Report> {
        let mut files = BTreeMap::new();
        let (document, report) = Document::read(text, &mut |name| {
            let bytes = mesh(name)?;
            files.insert(name.to_owned(), bytes.clone());
            Ok(bytes)
        });
        let Some(document) = document else { return Err(report) };
        let settings = settings_of(&document.scene, None);
        let mut log = Log::new(text);
        log.files.clone_from(&files);
        let base = document.scene.mechanism.clone();
        let state = State::new(&base);
        let warnings = Complaint::list(&report, text);
        let mut session = Session {
            document: Arc::new(document),
            live: base.clone(),
            reach: base.clone(),
            base,
            state,
            workspace: Workspace::default(),
            reach_workspace: Workspace::default(),
            meter: Meter::default(),
            rows: Rows::default(),
            pace: pace(&settings),
            settings,
            grips: Vec::new(),
            gestures: 0,
            history: Ring::default(),
            edits: Edits::default(),
            cost: budget::Cost::default(),
            rough_cost: budget::Cost::default(),
            fresh: true,
            guard: Guard::default(),
            obstacles: None,
            bound: false,
            rough: None,
            since_drag: f64::INFINITY,
            settled: false,
            forces_known: false,
            touching: Default::default(),
            events: Vec::new(),
            damping: 0.0,
            gap: 0.0,
            torn: 0.0,
            left: 0.0,
            rejected: None,
            log,
            files,
            warnings,
        };
        session.size_up();
        session.guard = Guard::new(&session.base);
        let open = session.assemble_if_open(Occasion::Load);
        session.warnings.extend(open);
        let start = session.scene_state();
        session.history.restart(start);
        Ok(session)
    }

    /// The text of the scene, edits included.
    pub fn text(&self) -> &str {
        &self.document.text
    }
    /// What the text says. Its mechanism is as written; see [`Session::mechanism`].
    pub fn scene(&self) -> &Scene {
        &self.document.scene
    }
    /// Solids and joints with the switches as they are now; hands are not in it.
    pub fn mechanism(&self) -> &Mechanism {
        &self.base
    }
    /// Where everything is. Behind the solids of [`Session::mechanism`] it may hold trackers of hands.
    pub fn state(&self) -> &State {
        &self.state
    }
    /// The pose of a solid of the scene.
    pub fn pose(&self, id: SolidId) -> Pose {
        self.state.pose(&self.base, id)
    }
    /// Solids of the scene that slept through the last step.
    pub fn asleep(&self) -> Vec<SolidId> {
        let sleeps = self.settings.mode == Mode::Dynamic;
        let all = self.workspace.sleepers().filter(|s| sleeps && s.index() < self.base.solids().len());
        all.collect()
    }
    /// Where solids touch: the `most` points that push hardest, in the order of their shapes. After a [`Session::tick`] or
    /// [`Session::look`].
    pub fn contact_points(&self, most: usize) -> Vec<crate::contact::ContactPoint> {
        self.workspace.strongest_contacts(&self.state, most)
    }
    /// Poses of all solids of the scene, the world first.
    pub fn poses(&self) -> impl Iterator<Item = Pose> + '_ {
        (0..self.base.solids().len() as u32).map(|i| self.pose(SolidId(i)))
    }
    /// What is set.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
    /// Lints of the text, and gaps that assembly could not close.
    pub fn warnings(&self) -> &[Complaint] {
        &self.warnings
    }
    /// The recorded past.
    pub fn timeline(&self) -> Timeline {
        self.history.timeline()
    }
    /// How many edits can be taken back, and done again.
    pub fn edit_counts(&self) -> (usize, usize) {
        self.edits.counts()
    }
    /// The hash of every bit of the state; hands that hold something are a part of it.
    pub fn hash(&self) -> u64 {
        self.state.hash()
    }
    /// Everything that happened so far, with the hash that a replay must end with.
    pub fn log(&self) -> Log {
        Log { hash: Some(hex(self.hash())), ..self.log.clone() }
    }

    /// Does what a user wants. A refusal changes nothing. Mesh files are those the session has seen.
    pub fn apply(&mut self, command: Command) -> Result<Applied, SessionError> {
        self.apply_with(command, &mut |_| Err("this file was not there when the scene was opened".into()))
    }

    /// [`Session::apply`] with mesh files at hand, for texts that name some: new ones, and those that have changed.
    pub fn apply_with(&mut self, command: Command, mesh: &mut Files<'_>) -> Result<Applied, SessionError> {
        // What no log can hold must not happen.
        check_finite(&command)?;
        let logged = self.log.mark();
        self.log.push(Entry::Command(command.clone()));
        let mut applied = Applied::default();
        let done = self.act(&command, mesh, &mut applied);
        if let Err(why) = done {
            // It did not happen.
            self.log.back_to(logged);
            return Err(why);
        }
        // A hand on the move, or an edit: there may be something to do again.
        self.settled = false;
        // What is known of the future no longer holds under other rules.
        if command.changes_motion() {
            self.history.branch();
        }
        applied.hash = hex(self.hash());
        Ok(applied)
    }

    fn grip(&mut self, hand: u32) -> Result<&mut Grip, SessionError> {
        self.grips.iter_mut().find(|g| g.hand == hand).ok_or(SessionError::HandEmpty { hand })
    }

    fn grab(
        &mut self,
        hand: u32,
        solid: &Which,
        point: [f64; 3],
        mode: GripMode,
        rotation: Option<[f64; 4]>,
    ) -> Result<(), SessionError> {
        let id = find_solid(&self.base, solid)?;
        if self.grips.iter().any(|g| g.hand == hand) {
            return Err(SessionError::HandBusy { hand });
        }
        if self.grips.len() >= MOST_HANDS {
            return Err(SessionError::TooManyHands { most: MOST_HANDS });
        }
        let s = self.base.solid(id);
        if s.is_fixed() || s.mobility.is_some_and(|m| m.translate == 0.0) {
            return Err(SessionError::Fixed { solid: s.name.clone() });
        }
        let point = Vector::from_array(point);
        if !(point.length() < 1e6) {
            return Err(SessionError::BadValue { what: "the grabbed point is too far away".into() });
        }
        let turned = rotation.map(quaternion).transpose()?.unwrap_or(Rotation::IDENTITY);
        self.history.branch();
        self.gestures += 1;
        let before = self.moment(Some(self.gestures));
        self.edits.begin(before.clone(), self.grips.is_empty());
        let hold = (hand, id, point, mode);
        let grip = Grip::new(&self.base, &self.state, hold, turned, before, self.gestures);
        self.remember_trackers();
        self.grips.push(grip);
        self.rebuild();
        self.since_drag = f64::INFINITY;
        Ok(())
    }

    fn remember_trackers(&mut self) {
        self.grips.iter_mut().for_each(|g| g.remember(&self.live, &self.state));
    }

    /// These hands let go; what they held keeps its motion.
    fn release(&mut self, which: impl Fn(&Grip) -> bool) {
        self.remember_trackers();
        self.grips.retain(|g| !which(g));
        self.rebuild();
        self.snapshot();
    }

    /// A gesture that changed nothing needs no undo.
    fn end_gesture(&mut self) {
        if !self.grips.is_empty() {
            return;
        }
        if let Some(before) = self.edits.end(&self.state) {
            // With what the last step left for the next: the hand may have made it forget that.
            self.state = before;
        }
    }

    /// Everything where it was when the hand took hold; the other hands go on from there.
    fn cancel(&mut self, hand: u32, out: &mut Applied) {
        let Some(place) = self.grips.iter().position(|g| g.hand == hand) else { return };
        let grip = self.grips.remove(place);
        let mut others = std::mem::take(&mut self.grips);
        let reloaded = !Arc::ptr_eq(&self.document, &grip.before.document);
        self.restore(grip.before.clone());
        // What was done since then is gone, so it cannot be taken back either.
        self.edits.cancel(grip.gesture, others.is_empty() || reloaded);
        if reloaded {
            out.reloaded = true;
            out.released.extend(others.iter().map(|g| g.hand));
        } else {
            // A hand that came later now has its start where everything is again.
            for other in others.iter_mut().filter(|g| g.gesture > grip.gesture) {
                other.before = Moment { gesture: Some(other.gesture), ..grip.before.clone() };
                self.edits.begin(other.before.clone(), false);
            }
            self.grips = others;
            self.grips.iter_mut().for_each(|g| g.regrip(&self.base, &self.state));
            if !self.grips.is_empty() {
                self.rebuild();
            }
        }
        self.snapshot();
    }

    /// All hands let go.
    fn let_go(&mut self, out: &mut Applied) {
        if !self.grips.is_empty() {
            out.released.extend(self.grips.iter().map(|g| g.hand));
            self.release(|_| true);
        }
    }

    /// Back into the past, or on: what is known of the future first, then steps. A thousand steps of something that does not
    /// go well would take an hour, in which nobody could do anything: they end when they have asked too much.
    fn steps(&mut self, count: i32, out: &mut Applied) {
        self.settings.running = false;
        let (state, gone) = self.history.go(i64::from(count));
        if let Some(state) = state.cloned() {
            self.show(state, out);
        }
        let due = u64::from(count.max(0).unsigned_abs()) - gone.min(count.max(0) as u64);
        let mut asks = 0;
        for taken in 0..due {
            let effort = self.full_effort();
            if asks > MOST_WORK * u64::from(effort.asks) {
                let text = format!("{taken} of {due} steps were taken: all of them would take too long");
                out.warnings.push(Complaint::plain(text));
                return;
            }
            let dynamic = self.settings.mode == Mode::Dynamic;
            let done = if dynamic { self.step_once(&effort) } else { self.pose_once(&effort) };
            asks += u64::from(done.asks);
            if done.rejected.is_some() {
                return;
            }
        }
    }

    /// Shows a moment of the past.
    fn show(&mut self, state: State, out: &mut Applied) {
        self.settings.running = false;
        if !self.grips.is_empty() {
            out.released.extend(self.grips.drain(..).map(|g| g.hand));
        }
        self.state = state;
        self.touching.restart();
        self.rebuild();
    }

    /// The state without trackers.
    fn scene_state(&self) -> State {
        let mut state = self.state.clone();
        let solids = self.base.solids().len();
        if state.centers.len() > solids {
            state.centers.truncate(solids);
            state.rotations.truncate(solids);
            state.velocities.truncate(solids);
            state.spins.truncate(solids);
            // Pulls have rows of their own; pins have none in a step, unless they were springs in a rough one.
            if self.rough.is_some() || self.grips.iter().any(|g| !g.is_pin()) {
                state.memory = Default::default();
            }
        }
        state
    }

    fn snapshot(&mut self) {
        let state = self.scene_state();
        self.history.push(state);
    }

    /// The live mechanism again: the scene's and the hands'. Workspaces know mechanisms by their epoch, which starts
    /// over here, so they start over too.
    fn rebuild(&mut self) {
        self.state = self.scene_state();
        self.base.wear(&self.state.torn);
        self.live = self.base.clone();
        self.reach = self.base.clone();
        let mut kept = Vec::new();
        for mut grip in std::mem::take(&mut self.grips) {
            // Nothing about a tracker can be refused; if it were, the hand would be empty.
            if grip.attach(&mut self.live, &mut self.reach).is_ok() {
                kept.push(grip);
            }
        }
        self.grips = kept;
        if !self.grips.is_empty() {
            let solids = self.live.solids().len();
            self.state.centers.resize(solids, Vector::ZERO);
            self.state.rotations.resize(solids, Rotation::IDENTITY);
            self.state.velocities.resize(solids, Vector::ZERO);
            self.state.spins.resize(solids, Vector::ZERO);
            for grip in &self.grips {
                grip.enter(&self.live, &mut self.state);
            }
        }
        self.workspace = Workspace::default();
        self.reach_workspace = Workspace::default();
        self.meter = Meter::default();
        self.rows = Rows::default();
        self.guard = Guard::new(&self.base);
        self.obstacles = None;
        self.bound = false;
        self.rough = None;
        self.fresh = true;
        self.damping = 0.0;
        self.forces_known = false;
        self.rejected = None;
        self.measure();
    }

    /// No step may open a gap as wide as half of a typical solid.
    fn size_up(&mut self) {
        let movable = self.base.solids().iter().filter(|s| !s.is_fixed());
        let (sum, count) = movable.fold((0.0, 0), |(sum, n), s| (sum + s.extent(), n + 1));
        self.torn = if count > 0 { 0.5 * sum / f64::from(count) } else { 1.0 };
    }

    /// Another method or solver costs something else.
    fn forget_costs(&mut self) {
        self.cost = budget::Cost::default();
        self.rough_cost = budget::Cost::default();
    }

    fn solver(&self) -> SolverKind {
        SolverKind::from_name(&self.settings.solver).unwrap_or_default()
    }
}

/// Steps as they fall due: at most those of two ticks at sixty a second, but always some, so that a hiccup is caught up.
/// What a budget does not pay for is dropped anyway.
fn pace(settings: &Settings) -> Pace {
    const TICK: f64 = 1.0 / 60.0;
    const SOME: f64 = 8.0;
    const MOST: f64 = 2000.0;
    let two = (2.0 * TICK * settings.speed / settings.step).ceil();
    Pace::new(settings.step, two.clamp(SOME, MOST) as usize)
}

/// Sixteen hexadecimal digits.
pub(crate) fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}
