//! The only place that orders time: one step of any method, and the correction that all of them are built on.
//!
//! ```
//! use linkwork::{Frame, Joint, Mechanism, PlacedShape, Solid, SolidId, State, StepConfig, Vector, Workspace, step};
//! let mut m = Mechanism::new();
//! let bar = PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X);
//! let arm = m.add_solid(Solid::new("arm").with_shape(bar, 1.0))?;
//! m.add_joint(Joint::ball(Frame::point(SolidId::WORLD, Vector::ZERO), Frame::point(arm, Vector::ZERO)))?;
//! let (mut state, mut workspace) = (State::new(&m), Workspace::default());
//! for _ in 0..60 {
//!     let report = step(&m, &mut state, &mut workspace, &StepConfig::default());
//!     assert!(report.gaps.position < 1e-6);
//! }
//! assert!((state.time - 1.0).abs() < 1e-12);
//! # Ok::<(), linkwork::ModelError>(())
//! ```

mod accelerate;
pub mod assemble;
mod baumgarte;
mod bounce;
mod care;
mod contacts;
mod displacement;
mod energy;
mod follow;
mod free;
mod implicit;
mod island;
mod lanes;
mod levels;
pub mod method;
mod motors;
mod near;
mod pace;
mod post_stabilization;
mod reduced;
mod relaxation;
mod rotation;
mod soft;
mod springs;
mod tension;
#[cfg(test)]
mod tests;
mod touch;
mod variational;
mod work;
mod workspace;

pub use energy::EnergyReport;
pub use follow::{Follow, FollowReport, follow};
pub(crate) use follow::{grip_force, lead};
pub use levels::LimitsReport;
pub use method::{Integrator, Method, Relaxation};
pub use pace::Pace;
pub use soft::SoftReport;
pub(crate) use soft::stored;
pub use work::Reaction;
pub(crate) use work::{IslandWork, rigid_gaps};
pub use workspace::Workspace;

use crate::contact::ContactReport;
use crate::mechanism::Mechanism;
use crate::rows::Gaps;
use crate::solve::SolverKind;
use crate::state::State;

/// How to take a step.
#[derive(Clone, Copy)]
pub struct StepConfig<'a> {
    /// By which method.
    pub method: Method,
    /// With which solver.
    pub solver: SolverKind,
    /// Length of the step, seconds.
    pub dt: f64,
    /// Largest gap that counts as met, metres and radians.
    pub tolerance: f64,
    /// Most geometric iterations.
    pub iterations: usize,
    /// Most iterations of an iterative solver per linear system.
    pub solver_iterations: usize,
    /// No solid turns further in one piece, radians: a longer turn is made in several smaller steps, and corrections
    /// are cut there.
    pub max_rotation: f64,
    /// Most pieces that one step may be cut into.
    pub most_substeps: usize,
    /// Distance joints keep `|d|^2 - L^2` at zero instead of `|d| - L`: the other form of Hong's 2005 arms. Gaps are reported
    /// in metres all the same.
    pub squared_distances: bool,
    /// Islands at rest are not stepped until something wakes them: an edit, a hand, anything that begins to act.
    pub sleep: bool,
    /// Solids touch each other. Only `variational` knows how; by other methods they pass through each other.
    pub contacts: bool,
    /// Coulomb coefficient of all pairs, instead of what their materials say.
    pub friction: Option<f64>,
    /// Restitution of all pairs, likewise.
    pub restitution: Option<f64>,
    /// True ends the work as soon as the state is usable.
    pub out_of_time: Option<&'a dyn Fn() -> bool>,
    /// Seconds, for the stage timings in the report. The library has no clock of its own.
    pub clock: Option<&'a dyn Fn() -> f64>,
}

impl Default for StepConfig<'_> {
    fn default() -> Self {
        Self {
            method: Method::default(),
            solver: SolverKind::Auto,
            dt: 1.0 / 60.0,
            tolerance: 1e-6,
            iterations: 10,
            solver_iterations: 1000,
            max_rotation: 0.8,
            most_substeps: 64,
            squared_distances: false,
            sleep: true,
            contacts: true,
            friction: None,
            restitution: None,
            out_of_time: None,
            clock: None,
        }
    }
}

/// Why a step was not taken. The state is what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// Numbers left the range of arithmetic, however short the pieces.
    NotFinite,
    /// The step is too long for the method. Pieces help; the shortest are taken as well as can be.
    TooLong,
    /// The length of the step is not a positive finite number.
    BadStep,
    /// Springs or dampers are so stiff that the explicit scheme of `reduced` would need more pieces than it may take.
    Unsupported,
}

impl Rejected {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Rejected::NotFinite => "numbers overflowed",
            Rejected::TooLong => "the step is too long for the method",
            Rejected::BadStep => "the length of the step is not a positive number",
            Rejected::Unsupported => {
                "springs or dampers are too stiff for this method: use a shorter step, or `variational`"
            }
        }
    }
}

/// Where the time of a step went, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stages {
    /// Forces, free motion, moving solids.
    pub motion: f64,
    /// Measuring gaps and filling rows.
    pub rows: f64,
    /// Factorisations.
    pub factor: f64,
    /// Solves.
    pub solve: f64,
}

impl Stages {
    fn add(&mut self, other: &Stages) {
        self.motion += other.motion;
        self.rows += other.rows;
        self.factor += other.factor;
        self.solve += other.solve;
    }
}

/// What one step did: the same for every caller.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Largest gaps at the end, of everything rigid.
    pub gaps: Gaps,
    /// Geometric iterations.
    pub iterations: usize,
    /// Iterations of the linear solver.
    pub solver_iterations: usize,
    /// Substeps that the step was cut into, of the island that needed most.
    pub substeps: usize,
    /// How many of them fell back to the 1998 projection.
    pub fallbacks: usize,
    /// Rows that depend on each other were solved with care, somewhere.
    pub careful: bool,
    /// Velocities that joints forbid were projected away before the first step.
    pub projected: bool,
    /// Islands whose constraints contradict each other so much that they rest in a compromise.
    pub jammed: usize,
    /// What happened to the energy without an explanation.
    pub energy: EnergyReport,
    /// What happened where solids touch.
    pub contacts: ContactReport,
    /// What happened to soft bodies.
    pub soft: SoftReport,
    /// What came of limits, and of motors with a largest force.
    pub limits: LimitsReport,
    /// Springs, soft joints and soft motors that swing faster than the step can show (`variational`): they are damped, and
    /// lose energy. A shorter step shows them.
    pub unresolved: usize,
    /// A gap is larger than the tolerance, or springs of soft bodies longer than their limit because that gave way.
    pub missed: bool,
    /// The step was not taken.
    pub rejected: Option<Rejected>,
    /// Where the time went, if a clock was given.
    pub stages: Stages,
}

impl StepConfig<'_> {
    /// When a step that begins at `time` ends. A time that is a whole number of steps stays one, so that a thousand steps of a
    /// millisecond are a second, and not a rounding error less.
    pub(crate) fn end(&self, time: f64) -> f64 {
        let steps = (time / self.dt).round();
        let counted = (time - steps * self.dt).abs() <= 4.0 * f64::EPSILON * time.abs();
        if counted { (steps + 1.0) * self.dt } else { time + self.dt }
    }
}

/// One step: from `state` at `t` to `state` at `t + dt`. Whatever happens the state stays finite: a step that cannot be
/// taken is cut into substeps, and if that does not help it is rejected and the state is what it was.
///
/// Islands are stepped one by one, each by itself, in parallel where no budget is given (stages are then not timed): the
/// numbers do not depend on it. The workspace is scratch. It may be thrown away at any time without changing the future.
pub fn step(m: &Mechanism, state: &mut State, w: &mut Workspace, c: &StepConfig) -> StepReport {
    let end = c.end(state.time);
    if !(c.dt > 0.0 && c.dt.is_finite() && end > state.time) {
        return StepReport { rejected: Some(Rejected::BadStep), ..StepReport::default() };
    }
    let worn = w.worn(m, &state.torn);
    let m = worn.as_deref().unwrap_or(m);
    w.update(m, state, c);
    w.sort_memory(m, &mut state.memory);
    w.step_islands(m, state, c);
    let mut report = w.summary(c);
    if report.rejected.is_some() {
        // A state that never moved remembers nothing, not even its islands.
        if state.memory.islands.iter().all(|i| i.substep == 0.0) {
            state.memory.islands.clear();
        }
        return report;
    }
    w.put_together(m, state);
    w.move_alone(m, state, c.dt, end);
    state.time = end;
    report.soft.torn = crate::soft::tear(m, state);
    w.leave(state);
    report
}

impl Workspace {
    /// Steps every island that is awake.
    fn step_islands(&mut self, m: &Mechanism, state: &State, c: &StepConfig) {
        self.find_asleep(m, &state.memory, c);
        if workspace::runs_in_parallel(self.awake.len(), c) {
            use rayon::prelude::*;
            let plain = Plain::new(c);
            let due = self.awake_mut();
            let least = due.len().div_ceil(64);
            due.into_par_iter().with_min_len(least).for_each(|(k, island)| {
                island.gather(m, state, k);
                island.step(&plain.config());
            });
        } else {
            for &k in &self.awake {
                self.islands[k].gather(m, state, k);
                self.islands[k].step(c);
            }
        }
        self.note_solver();
    }

    /// The reports of all islands as one.
    fn summary(&self, c: &StepConfig) -> StepReport {
        let mut sum = StepReport { gaps: self.sleeping.0, ..StepReport::default() };
        for &k in &self.awake {
            let r = &self.islands[k].report;
            sum.gaps = sum.gaps.max(r.gaps);
            sum.iterations += r.iterations;
            sum.solver_iterations += r.solver_iterations;
            sum.substeps = sum.substeps.max(r.substeps);
            sum.fallbacks += r.fallbacks;
            sum.careful |= r.careful;
            sum.projected |= r.projected;
            sum.jammed += r.jammed;
            sum.energy.add(&r.energy);
            sum.contacts.add(&r.contacts);
            sum.soft.add(&r.soft);
            sum.limits.add(&r.limits);
            sum.unresolved += r.unresolved;
            sum.rejected = sum.rejected.or(r.rejected);
            sum.stages.add(&r.stages);
        }
        sum.contacts.penetration = sum.contacts.penetration.max(self.sleeping.1);
        sum.substeps = sum.substeps.max(1);
        sum.missed = !(sum.gaps.worst() <= c.tolerance) || sum.soft.gave_way > 0;
        sum
    }

    /// Puts what moved back into the whole's state.
    fn put_together(&mut self, m: &Mechanism, state: &mut State) {
        for &k in &self.awake {
            let island = &self.islands[k];
            island.part.scatter(m, &island.state, state);
            state.memory.islands[k].clone_from(island.state.memory.own());
        }
    }
}

/// What is asked of a step, without clock and deadline: several threads may look at it.
#[derive(Clone, Copy)]
struct Plain {
    method: Method,
    solver: SolverKind,
    lengths: [f64; 3],
    counts: [usize; 3],
    flags: [bool; 3],
}

impl Plain {
    fn new(c: &StepConfig) -> Self {
        Self {
            method: c.method,
            solver: c.solver,
            lengths: [c.dt, c.tolerance, c.max_rotation],
            counts: [c.iterations, c.solver_iterations, c.most_substeps],
            flags: [c.squared_distances, c.sleep, c.contacts],
        }
    }

    fn config(&self) -> StepConfig<'static> {
        let ([dt, tolerance, max_rotation], [squared_distances, sleep, contacts]) =
            (self.lengths, self.flags);
        let [iterations, solver_iterations, most_substeps] = self.counts;
        StepConfig {
            method: self.method,
            solver: self.solver,
            dt,
            tolerance,
            iterations,
            solver_iterations,
            max_rotation,
            most_substeps,
            squared_distances,
            sleep,
            contacts,
            // Pairs were handed out with them.
            friction: None,
            restitution: None,
            out_of_time: None,
            clock: None,
        }
    }
}

/// One substep of an island: what every method is given.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub m: &'a Mechanism,
    pub c: &'a StepConfig<'a>,
    /// Its length.
    pub h: f64,
    /// From when to when.
    pub begin: f64,
    pub end: f64,
    /// There will be no shorter ones: what is too long must be taken all the same.
    pub last_try: bool,
    /// Rows that depend on each other are solved with care (`care.rs`).
    pub careful: bool,
    /// Gaps stood open when the step began: rows contradict each other.
    pub contradict: bool,
}

impl Piece<'_> {
    /// A spring or a soft joint begins or lets go on the way.
    pub fn changes_springs(&self) -> bool {
        let springs = self
            .m
            .springs
            .iter()
            .filter_map(|s| s.during)
            .map(|d| [self.begin, self.end].map(|t| d.contains(t)));
        let stores = |j: &&crate::joint::Joint| j.compliance > 0.0 || j.drives.iter().any(|d| d.is_soft());
        let soft = self.m.joints().iter().filter(|j| j.during.is_some()).filter(stores);
        let joints = soft.map(|j| [self.begin, self.end].map(|t| j.holds_at(t)));
        springs.chain(joints).any(|[begin, end]| begin != end)
    }
}

/// What a method tells of one piece.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Advanced {
    pub iterations: usize,
    pub solver_iterations: usize,
    pub fallback: bool,
    /// Contacts were swept at a fixed cost: another try would be no better.
    pub swept: bool,
    /// Joints that began to act were closed first.
    pub closed: bool,
    /// A start velocity was projected.
    pub projected: bool,
}
