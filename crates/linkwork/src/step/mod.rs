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
mod displacement;
mod follow;
mod free;
mod implicit;
mod lanes;
mod limited;
pub mod method;
mod pace;
mod post_stabilization;
mod reduced;
mod relaxation;
mod rotation;
mod tension;
#[cfg(test)]
mod tests;
mod variational;
mod workspace;

pub(crate) use follow::grip_force;
pub use follow::{Follow, FollowReport, follow};
pub use method::{Integrator, Method, Relaxation};
pub use pace::Pace;
pub(crate) use workspace::rigid_gaps;
pub use workspace::{Reaction, Workspace};

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
    /// The method cannot treat this mechanism.
    Unsupported,
}

impl Rejected {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Rejected::NotFinite => "the numbers left the range of arithmetic",
            Rejected::TooLong => "the step is too long for the method",
            Rejected::BadStep => "the length of the step is not a positive number",
            Rejected::Unsupported => "the method cannot treat this mechanism",
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

/// What one step did: the same for every caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepReport {
    /// Largest gaps at the end, of everything rigid.
    pub gaps: Gaps,
    /// Geometric iterations.
    pub iterations: usize,
    /// Iterations of the linear solver.
    pub solver_iterations: usize,
    /// Pieces that the step was cut into.
    pub substeps: usize,
    /// How many of them fell back to the 1998 projection.
    pub fallbacks: usize,
    /// A gap is larger than the tolerance.
    pub missed: bool,
    /// The step was not taken.
    pub rejected: Option<Rejected>,
    /// Where the time went, if a clock was given.
    pub stages: Stages,
}

/// One step: from `state` at `t` to `state` at `t + dt`. Whatever happens the state stays finite: a step that cannot be
/// taken is cut into pieces, and if that does not help it is rejected and the state is what it was.
///
/// The workspace is scratch. It may be thrown away at any time without changing the future.
pub fn step(m: &Mechanism, state: &mut State, w: &mut Workspace, c: &StepConfig) -> StepReport {
    let mut report = StepReport {
        gaps: Gaps::default(),
        iterations: 0,
        solver_iterations: 0,
        substeps: 0,
        fallbacks: 0,
        missed: false,
        rejected: None,
        stages: Stages::default(),
    };
    if !(c.dt > 0.0 && c.dt.is_finite() && (state.time + c.dt) > state.time) {
        report.rejected = Some(Rejected::BadStep);
        return report;
    }
    w.begin(m, c);
    let mut pieces = method::least_pieces(m, state, c);
    loop {
        w.trial.clone_from(state);
        w.last_try = 2 * pieces > c.most_substeps || w.is_over(c);
        let done = run_pieces(m, w, c, pieces, &mut report);
        report.substeps = pieces;
        match done {
            Ok(()) => break,
            Err(Rejected::TooLong) if !w.last_try => pieces *= 2,
            Err(Rejected::NotFinite) if 2 * pieces <= c.most_substeps && !w.is_over(c) => pieces *= 2,
            Err(why) => {
                report.rejected = Some(why);
                return report;
            }
        }
    }
    std::mem::swap(state, &mut w.trial);
    let clock = w.start(c);
    report.gaps = w.final_gaps(m, state);
    w.stop(c, clock, |s| &mut s.rows);
    report.missed = !(report.gaps.worst() <= c.tolerance);
    report.stages = w.stages;
    report
}

/// The step in equal pieces, unless time runs out; the last one ends exactly at `t + dt`.
fn run_pieces(
    m: &Mechanism,
    w: &mut Workspace,
    c: &StepConfig,
    pieces: usize,
    report: &mut StepReport,
) -> Result<(), Rejected> {
    let start = w.trial.time;
    let mut k = 0;
    while k < pieces {
        k += 1;
        let mut h = c.dt / pieces as f64;
        if k > 1 && w.is_over(c) {
            // Out of time: what is left is taken in one piece, as well as can be.
            h *= (pieces - k + 1) as f64;
            k = pieces;
            w.last_try = true;
        }
        let end = start + c.dt * (k as f64 / pieces as f64);
        let mut state = std::mem::take(&mut w.trial);
        let done = c.method.advance(m, &mut state, w, c, h, end);
        w.trial = state;
        let done = done?;
        if !w.trial.is_finite() {
            return Err(Rejected::NotFinite);
        }
        report.iterations += done.iterations;
        report.solver_iterations += done.solver_iterations;
        report.fallbacks += usize::from(done.fallback);
    }
    Ok(())
}

/// What a method tells of one piece.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Advanced {
    pub iterations: usize,
    pub solver_iterations: usize,
    pub fallback: bool,
}
