//! Steps that cost next to nothing, for budgets that do not pay for a factorisation: "2 geometrical iterations each of
//! them involving 5 conjugate gradient iterations allow us to drag the structure interactively" (Faure 1998, section
//! 4.3). Systems are solved by a few conjugate gradient iterations, each one pass over the rows, and what they leave open
//! is seen and told. Pins are springs here, since following a hand exactly takes factorisations of its own.

use super::Session;
use super::budget::is_over;
use super::report::Effort;
use super::tick::Done;
use crate::joint::{DriveAim, JointId};
use crate::math::Vector;
use crate::mechanism::Mechanism;
use crate::solid::{Kernel, SolidId};
use crate::solve::SolverKind;
use crate::step::{FollowReport, StepConfig, StepReport, Workspace, step};
use std::cell::Cell;

/// How much time a correction without time may take: long enough for the springs of the hands to get somewhere.
const POSE_STEP: f64 = 0.1;

/// Mechanisms in which hands are springs.
pub(super) struct Rough {
    timed: Mechanism,
    /// Without gravity, springs, motors and scripts.
    still: Mechanism,
    workspace: Workspace,
    still_workspace: Workspace,
}

impl Rough {
    /// Of the last step.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    fn new(session: &Session) -> Self {
        let mut timed = session.base.clone();
        for grip in &session.grips {
            // Nothing about a tracker can be refused; if it were, the hand would pull at nothing.
            let _ = grip.attach_spring(&mut timed);
        }
        let mut still = timed.clone();
        still.gravity = Vector::ZERO;
        // Nothing about no air can be refused.
        let _ = still.set_air(None);
        still.springs.clear();
        still.forces.clear();
        for i in 1..still.solids().len() as u32 {
            if matches!(still.solid(SolidId(i)).kernel, Kernel::Scripted(_)) {
                still.alter_solid(SolidId(i), |s| s.kernel = Kernel::Fixed);
            }
        }
        for k in session.base.joints().len() as u32..still.joints().len() as u32 {
            // From rest there is nothing to brake.
            still.alter_joint(JointId(k), |j| j.damping = 0.0);
        }
        for k in 0..still.joints().len() as u32 {
            if !still.joint(JointId(k)).drives.is_empty() {
                // A motor that is off: its counted turns stay.
                still.alter_joint(JointId(k), |j| {
                    for d in &mut j.drives {
                        d.aim = DriveAim::Speed(0.0);
                        d.max_force = f64::MIN_POSITIVE;
                    }
                });
            }
        }
        Self { timed, still, workspace: Workspace::default(), still_workspace: Workspace::default() }
    }
}

impl Session {
    fn rough_config<'a>(&self, effort: &Effort) -> StepConfig<'a> {
        StepConfig { solver: SolverKind::FullIterative, most_substeps: 1, ..self.config(effort) }
    }

    /// A step in time, cheaply.
    pub(super) fn rough_step(&mut self, effort: &Effort) -> (StepReport, Done) {
        let mut rough = self.rough.take().unwrap_or_else(|| Box::new(Rough::new(self)));
        for grip in &self.grips {
            grip.aim_spring(&mut rough.timed, &self.live);
        }
        let asked = Cell::new(0);
        let over = || is_over(&asked, effort);
        let config = StepConfig { out_of_time: Some(&over), ..self.rough_config(effort) };
        let report = step(&rough.timed, &mut self.state, &mut rough.workspace, &config);
        self.rough = Some(rough);
        (report, Done { rough: true, ..Done::of(&report, asked.get()) })
    }

    /// A correction without time, cheaply: a step from rest in which nothing pulls but hands and joints.
    pub(super) fn rough_pose(&mut self, effort: &Effort, done: &mut Done) -> FollowReport {
        let mut rough = self.rough.take().unwrap_or_else(|| Box::new(Rough::new(self)));
        let before = self.state.clone();
        self.stop_motion();
        let asked = Cell::new(0);
        let over = || is_over(&asked, effort);
        let config = StepConfig { out_of_time: Some(&over), dt: POSE_STEP, ..self.rough_config(effort) };
        let report = step(&rough.still, &mut self.state, &mut rough.still_workspace, &config);
        // Poses only: no time passed.
        let stepped = std::mem::replace(&mut self.state, before.clone());
        self.state.centers = stepped.centers;
        self.state.rotations = stepped.rotations;
        self.state.angles = stepped.angles;
        self.state.memory = Default::default();
        self.rough = Some(rough);
        done.add(&Done { rough: true, ..Done::of(&report, asked.get()) });
        done.rough = true;
        let moved = self.state.centers.iter().zip(&before.centers).map(|(a, b)| a.distance(*b));
        let moved = moved.fold(0.0, f64::max);
        FollowReport {
            // Those of the hands are not among them.
            gaps: self.gaps_now(),
            iterations: report.iterations,
            solver_iterations: report.solver_iterations,
            moved,
            damping: self.damping,
            ended: !report.missed,
            ..FollowReport::default()
        }
    }
}
