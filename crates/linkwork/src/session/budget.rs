//! What a step may cost: milliseconds become counts, by what iterations cost so far on the caller's clock. The counts are
//! logged, the milliseconds are not needed again.
//!
//! Counts cover everything that takes time: geometric iterations with the rows and the factorisation of each, iterations
//! of an iterative solver, rounds after a hand, pieces of a step. Where not even one factorisation fits, the step is a
//! rough one ([`super::rough`]): conjugate gradient iterations, a pass over the rows each. Below that there is nothing.

use super::Session;
use super::attempt::SUBSTEPS;
use super::command::Policy;
use super::grip::Grip;
use super::report::Effort;
use super::tick::Done;
use crate::joint::Joint;
use crate::step::Workspace;
use std::cell::Cell;

/// Real seconds after which a hand that did not move counts as still.
const STILL: f64 = 0.1;
/// Iterations while a hand moves: "three are generally enough for high precision" (Faure 1998, section 4.3).
const COARSE_ITERATIONS: u32 = 2;
const COARSE_SOLVER_ITERATIONS: u32 = 15;
/// How much looser.
const COARSE_TOLERANCE: f64 = 10.0;
/// Pieces of one step under a budget.
const BUDGET_SUBSTEPS: u32 = 4;

/// A step that goes wrong may cost this many times its share of the budget, and ask so often whatever that is.
const OVERDRAFT: f64 = 4.0;
const LEAST_ASKS: f64 = 100.0;

/// What a step without a budget may ask, in joints times questions. A question is an iteration of a solver or a
/// factorisation, a fraction of a microsecond per joint either way; a step that goes well asks some hundred times. Joints
/// that contradict each other under an iterative solver, in pieces of pieces, held a step of `walker` for six seconds.
const PATIENCE: usize = 1_000_000;
const LEAST_PATIENCE: usize = 2000;
/// A vertex of a soft body weighs as much as so many joints: a question is a round of its Newton's method.
const SOFT_WEIGHT: usize = 10;
const LEAST_SOFT_PATIENCE: usize = 200;
const MOST_PATIENCE: usize = 20_000;

/// Iterations that an iterative solver gets at the least: "2 geometrical iterations each of them involving 5 conjugate
/// gradient iterations allow us to drag the structure interactively" (Faure 1998, section 4.3).
const LEAST_SOLVER_ITERATIONS: f64 = 5.0;

/// Geometric iterations that following a hand takes at the least: the step's own, one towards the hand, one that closes
/// what it opened. Each has a factorisation.
const LEAST_FOLLOWING: f64 = 3.0;
/// Without one: below it joints open for all to see.
const LEAST_ITERATIONS: f64 = 2.0;
/// What a geometric iteration is thought to cost per joint before one was measured, seconds.
const GUESS: f64 = 1e-6;
/// How far below its last measurement an exact iteration is thought to cost after a while, since the machine may have been
/// busy then; and how fast.
const LEAST_HOPE: f64 = 0.1;
const HOPE: f64 = 0.99;
/// A budget that pays for this share of a factorisation's time is overdrawn, and the receipt says so: passes over the rows
/// open joints for all to see, and are for budgets that could never pay for one.
const BEYOND: f64 = 4.0;
/// Measurements of exact steps before they are thought too dear: the first ones may have met a busy machine.
const TRIALS: u32 = 3;
/// Conjugate gradient iterations of a rough step before one was measured.
const FIRST_ROUGH: f64 = 10.0;
/// Most of them: beyond it a factorisation is cheaper.
const MOST_ROUGH: f64 = 640.0;

/// Is a step at the end of its effort? Counted instead of timed, so that a replay decides alike.
pub(super) fn is_over(asked: &Cell<u32>, effort: &Effort) -> bool {
    asked.set(asked.get().saturating_add(1));
    effort.asks > 0 && asked.get() > effort.asks
}

/// What iterations cost here, seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// Of geometry, with all that is solved in it.
    iteration: f64,
    /// Of the solver, with its share of everything else.
    solver_iteration: f64,
    /// Between two questions whether the time is up.
    ask: f64,
    /// Of a whole step.
    step: f64,
    /// Share of `iteration` that one is thought to cost by now.
    hope: f64,
    /// Steps that were measured.
    trials: u32,
}

impl Cost {
    fn learn(&mut self, seconds: f64, done: &Done) {
        if !(seconds >= 0.0 && seconds.is_finite()) {
            return;
        }
        self.trials = self.trials.saturating_add(1);
        // Whatever else runs on the machine only makes a step longer: what is shorter is believed at once, what is longer
        // by and by.
        let blend = |known: &mut f64, iterations: u32| {
            let each = seconds / f64::from(iterations.max(1));
            *known = if *known > 0.0 { each.min(0.8 * *known + 0.2 * each.min(3.0 * *known)) } else { each };
        };
        blend(&mut self.iteration, done.iterations);
        blend(&mut self.solver_iteration, done.solver_iterations);
        blend(&mut self.ask, done.asks);
        blend(&mut self.step, 1);
    }
}

/// What a tick's steps may cost.
pub(super) struct Plan {
    pub effort: Effort,
    /// Less than the policy wants.
    pub squeezed: bool,
    /// As little as there is.
    pub least: bool,
}

impl Session {
    /// What each of so many steps may cost.
    pub(super) fn plan(&self, due: u32, posing: bool) -> Plan {
        let s = &self.settings;
        let moves = !self.grips.is_empty() && self.since_drag < STILL;
        // Springs as stiff as those of cloth are solved or they explode, and then a step costs thousands of times as much:
        // time goes slower instead.
        let soft = !self.base.softs().is_empty();
        let coarse = s.policy == Policy::CoarseWhileDragging && moves && !soft;
        let mut effort = Effort {
            coarse,
            substeps: if s.budget_ms.is_some() && !soft { BUDGET_SUBSTEPS } else { SUBSTEPS },
            ..self.full_effort()
        };
        if coarse {
            effort.iterations = effort.iterations.min(COARSE_ITERATIONS);
            effort.solver_iterations = effort.solver_iterations.min(COARSE_SOLVER_ITERATIONS);
            effort.tolerance *= COARSE_TOLERANCE;
        }
        match s.budget_ms {
            Some(ms) if due > 0 => {
                let share = 1e-3 * ms / f64::from(due);
                let follows = posing || self.grips.iter().any(Grip::is_pin);
                let most = if follows { LEAST_FOLLOWING } else { 1.0 };
                let beyond = BEYOND * share < most * self.hoped_iteration();
                match (soft, beyond) {
                    (true, least) => Plan { effort, squeezed: false, least },
                    (_, true) if self.may_be_rough() => self.plan_rough(effort, share),
                    (_, least) => Plan { least, ..self.plan_exact(effort, share, follows) },
                }
            }
            _ => Plan { effort, squeezed: false, least: false },
        }
    }

    /// What an exact iteration costs, as far as is known.
    fn hoped_iteration(&self) -> f64 {
        if self.cost.trials >= TRIALS {
            self.cost.iteration * self.cost.hope
        } else {
            GUESS * self.base.joints().len() as f64
        }
    }

    /// Do passes over the rows cost less than a factorisation? Limits and contacts ask for the response of all joints to
    /// each of theirs, which takes passes without end: a rough step of `acrobats` took 500 ms, an exact one 2.
    fn may_be_rough(&self) -> bool {
        let bounds = |j: &Joint| {
            j.limits.iter().any(|l| !l.range.is_point())
                || j.twist.is_some_and(|t| !t.range.is_point())
                || j.drives.iter().any(|d| d.max_force.is_finite())
        };
        Workspace::contact_count(&self.state) == 0
            && !self.base.joints().iter().any(bounds)
            && !(self.rough_cost.step > self.cost.step)
    }

    /// Fewer iterations.
    fn plan_exact(&self, mut effort: Effort, share: f64, follows: bool) -> Plan {
        let wanted = effort;
        if self.cost.iteration > 0.0 {
            let least = if follows { LEAST_FOLLOWING } else { LEAST_ITERATIONS };
            let affordable = (share / self.cost.iteration).floor().clamp(least, 1e5) as u32;
            effort.iterations = effort.iterations.min(affordable);
            // An iterative solver is cut short as well; a factorisation has nothing to cut.
            if !self.solver().is_exact() && self.cost.solver_iteration > 0.0 {
                let each = share / (f64::from(effort.iterations) * self.cost.solver_iteration);
                let affordable = each.floor().clamp(LEAST_SOLVER_ITERATIONS, 1e6) as u32;
                effort.solver_iterations = effort.solver_iterations.min(affordable);
            }
        } else {
            // What it costs is not known yet: carefully.
            effort.iterations = effort.iterations.min(COARSE_ITERATIONS);
            effort.solver_iterations = effort.solver_iterations.min(COARSE_SOLVER_ITERATIONS);
        }
        // The last resort, for the step that goes wrong in pieces of pieces: a few times what it may cost.
        let affordable = if self.cost.ask > 0.0 { OVERDRAFT * share / self.cost.ask } else { 0.0 };
        // In powers of two: the log counts equal efforts together.
        let asks = affordable.floor().clamp(LEAST_ASKS, 1e6) as u32;
        effort.asks = 1 << asks.ilog2();
        let fewer = effort.solver_iterations < wanted.solver_iterations && !self.solver().is_exact();
        Plan { effort, squeezed: fewer || effort.iterations < wanted.iterations, least: false }
    }

    /// Passes over the rows instead of factorisations, as many as there is time for.
    fn plan_rough(&self, mut effort: Effort, share: f64) -> Plan {
        let each = self.rough_cost.solver_iteration;
        let affordable = if each > 0.0 { share / each } else { FIRST_ROUGH };
        // In steps of two: the log counts equal efforts together.
        let doublings =
            (affordable.clamp(LEAST_SOLVER_ITERATIONS, MOST_ROUGH) / LEAST_SOLVER_ITERATIONS).log2();
        let passes = LEAST_SOLVER_ITERATIONS as u32 * (1 << doublings.floor() as u32);
        let least = passes == LEAST_SOLVER_ITERATIONS as u32;
        effort.iterations = if least { 1 } else { effort.iterations.clamp(1, COARSE_ITERATIONS) };
        effort.solver_iterations = (passes / effort.iterations).clamp(1, effort.solver_iterations.max(1));
        effort.substeps = 1;
        effort.rough = true;
        // Velocities have a system of their own.
        effort.asks = (4 * passes).next_power_of_two();
        Plan { effort, squeezed: true, least }
    }

    /// Remembers what a step took.
    pub(super) fn learn(&mut self, seconds: f64, done: &Done) {
        if done.rough {
            self.rough_cost.learn(seconds, done);
            self.cost.hope = (HOPE * self.cost.hope).max(LEAST_HOPE);
        } else if std::mem::take(&mut self.fresh) && self.cost.iteration > 0.0 {
            // The first step after a change analyses the pattern, which the others do not.
        } else {
            self.cost.learn(seconds, done);
            self.cost.hope = 1.0;
        }
    }

    /// All iterations: for steps that are asked for one by one.
    pub(super) fn full_effort(&self) -> Effort {
        Effort {
            iterations: self.settings.iterations,
            solver_iterations: self.settings.solver_iterations,
            tolerance: self.settings.tolerance,
            substeps: SUBSTEPS,
            coarse: false,
            rough: false,
            asks: self.patience(),
        }
    }

    fn patience(&self) -> u32 {
        let vertices: usize = self.base.softs().iter().map(|s| s.range().len()).sum();
        let least = if vertices > 0 { LEAST_SOFT_PATIENCE } else { LEAST_PATIENCE };
        let work = self.base.joints().len() + SOFT_WEIGHT * vertices;
        (PATIENCE / work.max(1)).clamp(least, MOST_PATIENCE) as u32
    }
}
