//! The work of a tick: how many steps are due, what each may cost, and whether its result can be shown.
//!
//! Milliseconds become counts here, by what iterations cost so far on the caller's clock. The counts are logged, the
//! milliseconds are not needed again.

use super::command::{Mode, Policy};
use super::grip::Grip;
use super::log::Entry;
use super::report::*;
use super::{Session, hex};
use crate::joint::JointId;
use crate::math::{Vector, log};
use crate::rows::{Gaps, Rows};
use crate::solve::SolverKind;
use crate::state::State;
use crate::step::{Follow, Method, StepConfig, follow, step};
use std::cell::Cell;

/// Real seconds after which a hand that did not move counts as still.
const STILL: f64 = 0.1;
/// Iterations while a hand moves: "three are generally enough for high precision" (Faure 1998, section 4.3).
const COARSE_ITERATIONS: u32 = 2;
const COARSE_SOLVER_ITERATIONS: u32 = 15;
/// How much looser.
const COARSE_TOLERANCE: f64 = 10.0;
/// Pieces of one step: a budget does not go with sixty-four of them.
const SUBSTEPS: u32 = 64;
const BUDGET_SUBSTEPS: u32 = 4;
/// Iterations of the second try at a step that went wrong.
const CAREFUL: u32 = 20;
/// A gap that anybody sees, in halves of a typical solid: coarse iterations may leave gaps, but not such.
const VISIBLE: f64 = 0.02;

/// A step that goes wrong may cost this many times its share of the budget, and ask so often whatever that is.
const OVERDRAFT: f64 = 4.0;
const LEAST_ASKS: f64 = 100.0;

/// What a step without a budget may ask, in joints times questions. A question is an iteration of a solver or a
/// factorisation, a fraction of a microsecond per joint either way; a step that goes well asks some hundred times. Joints
/// that contradict each other under an iterative solver, in pieces of pieces, held a step of `walker` for six seconds.
const PATIENCE: usize = 1_000_000;
const LEAST_PATIENCE: usize = 2000;
const MOST_PATIENCE: usize = 20_000;

const FLIP: &str = "a joint would jump by more than a quarter of a turn";

/// Iterations that an iterative solver gets at the least: "2 geometrical iterations each of them involving 5 conjugate
/// gradient iterations allow us to drag the structure interactively" (Faure 1998, section 4.3).
const LEAST_SOLVER_ITERATIONS: f64 = 5.0;

/// Is a step at the end of its effort? Counted instead of timed, so that a replay decides alike.
fn is_over(asked: &Cell<u32>, effort: &Effort) -> bool {
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
}

impl Cost {
    fn learn(&mut self, seconds: f64, done: &Done) {
        if !(seconds >= 0.0 && seconds.is_finite()) {
            return;
        }
        let blend = |known: &mut f64, iterations: u32| {
            let each = seconds / f64::from(iterations.max(1));
            *known = if *known > 0.0 { 0.8 * *known + 0.2 * each } else { each };
        };
        blend(&mut self.iteration, done.iterations);
        blend(&mut self.solver_iteration, done.solver_iterations);
        blend(&mut self.ask, done.asks);
    }
}

/// What one step did.
#[derive(Clone, Copy, Default)]
pub(super) struct Done {
    iterations: u32,
    solver_iterations: u32,
    /// Questions whether the time is up.
    pub asks: u32,
    missed: bool,
    pub rejected: Option<&'static str>,
    /// Something is different from before.
    pub changed: bool,
}

impl Session {
    /// Runs what is due after so many real seconds, within the budget. `clock` tells seconds; it is only read.
    pub fn tick(&mut self, elapsed: f64, clock: &dyn Fn() -> f64) -> TickReport {
        let start = clock();
        let elapsed = if elapsed.is_finite() { elapsed.max(0.0) } else { 0.0 };
        self.since_drag += elapsed;
        let timed = self.settings.mode == Mode::Dynamic && self.settings.running;
        let due = if timed { self.pace.due(elapsed * self.settings.speed) as u32 } else { 0 };
        if timed && self.history.is_scrubbed() {
            if due > 0 {
                self.play(due);
            }
            return self.look();
        }
        let posing = !timed && self.wants_pose();
        let due = if posing { 1 } else { due };
        let (effort, squeezed) = self.plan(due);
        let allowed = self.settings.budget_ms.map(|ms| 1e-3 * ms);
        let mut sum = Done::default();
        let (mut taken, mut limit, mut last) = (0, Limit::Idle, start);
        for k in 0..due {
            let spent = last - start;
            if k > 0 && allowed.is_some_and(|a| spent + spent / f64::from(k) > a) {
                limit = Limit::Budget;
                break;
            }
            // Before it acts.
            let work =
                |count| if posing { Entry::Poses { count, effort } } else { Entry::Steps { count, effort } };
            self.log.push(work(1));
            let done = if posing { self.pose_once(&effort) } else { self.step_once(&effort) };
            let now = clock();
            self.cost.learn(now - last, &done);
            last = now;
            taken += 1;
            sum.iterations += done.iterations;
            sum.solver_iterations += done.solver_iterations;
            sum.changed |= done.changed;
            limit = match done {
                Done { rejected: Some(_), .. } => Limit::Rejected,
                Done { missed: false, .. } => Limit::Tolerance,
                _ if squeezed => Limit::Budget,
                _ => Limit::Iterations,
            };
            if done.rejected.is_some() {
                break;
            }
        }
        let receipt = Receipt {
            allowed_ms: self.settings.budget_ms,
            used_ms: 1e3 * (last - start).max(0.0),
            limit,
            coarse: due > 0 && effort.coarse,
            iterations: effort.iterations,
            tolerance: effort.tolerance,
            due,
            dropped: self.pace.dropped,
        };
        self.report(taken, sum, receipt)
    }

    /// Time passes where the future is known: it is shown, not made again, until it ends.
    pub(super) fn play(&mut self, count: u32) {
        self.log.push(Entry::Shown { count });
        if let Some(state) = self.history.go(i64::from(count)).0.cloned() {
            self.state = state;
            self.rebuild();
        }
    }

    /// A report on how things are, without doing anything.
    pub fn look(&mut self) -> TickReport {
        let (effort, _) = self.plan(0);
        let receipt = Receipt {
            allowed_ms: self.settings.budget_ms,
            used_ms: 0.0,
            limit: Limit::Idle,
            coarse: false,
            iterations: effort.iterations,
            tolerance: effort.tolerance,
            due: 0,
            dropped: self.pace.dropped,
        };
        self.report(0, Done::default(), receipt)
    }

    /// Work without time: hands that hold something and are not there yet, or constraints that stand open.
    fn wants_pose(&self) -> bool {
        let kinematic = self.settings.mode == Mode::Kinematic;
        // Who looks at the past without a hand on it wants to see it, not to start another future from there.
        !self.settled && (!self.grips.is_empty() || (kinematic && !self.history.is_scrubbed()))
    }

    /// What each of so many steps may cost, and whether the budget made it less than the policy wants.
    fn plan(&self, due: u32) -> (Effort, bool) {
        let s = &self.settings;
        let moves = !self.grips.is_empty() && self.since_drag < STILL;
        let coarse = s.policy == Policy::CoarseWhileDragging && moves;
        let mut effort = Effort {
            iterations: s.iterations,
            solver_iterations: s.solver_iterations,
            tolerance: s.tolerance,
            substeps: if s.budget_ms.is_some() { BUDGET_SUBSTEPS } else { SUBSTEPS },
            coarse,
            asks: self.patience(),
        };
        if coarse {
            effort.iterations = effort.iterations.min(COARSE_ITERATIONS);
            effort.solver_iterations = effort.solver_iterations.min(COARSE_SOLVER_ITERATIONS);
            effort.tolerance *= COARSE_TOLERANCE;
        }
        let mut squeezed = false;
        if s.budget_ms.is_some() && !(self.cost.iteration > 0.0) {
            // What it costs is not known yet: carefully.
            squeezed = effort.iterations > COARSE_ITERATIONS;
            effort.iterations = effort.iterations.min(COARSE_ITERATIONS);
            effort.solver_iterations = effort.solver_iterations.min(COARSE_SOLVER_ITERATIONS);
        } else if let Some(ms) = s.budget_ms
            && due > 0
        {
            let share = 1e-3 * ms / f64::from(due);
            let affordable = (share / self.cost.iteration).floor().clamp(1.0, 1e5) as u32;
            squeezed = affordable < effort.iterations;
            effort.iterations = effort.iterations.min(affordable);
            // An iterative solver is cut short as well; a factorisation has nothing to cut.
            if !self.solver().is_exact() && self.cost.solver_iteration > 0.0 {
                let each = share / (f64::from(effort.iterations) * self.cost.solver_iteration);
                let affordable = each.floor().clamp(LEAST_SOLVER_ITERATIONS, 1e6) as u32;
                squeezed |= affordable < effort.solver_iterations;
                effort.solver_iterations = effort.solver_iterations.min(affordable);
            }
        }
        if let Some(ms) = s.budget_ms
            && due > 0
        {
            // The last resort, for the step that goes wrong in pieces of pieces: a few times what it may cost.
            let share = 1e-3 * ms / f64::from(due);
            let affordable = if self.cost.ask > 0.0 { OVERDRAFT * share / self.cost.ask } else { 0.0 };
            // In powers of two: the log counts equal efforts together.
            let asks = affordable.floor().clamp(LEAST_ASKS, 1e6) as u32;
            effort.asks = 1 << asks.ilog2();
        }
        (effort, squeezed)
    }

    /// The log's counts, again.
    pub(super) fn repeat(&mut self, timed: bool, count: u32, effort: &Effort) {
        for _ in 0..count {
            let entry = if timed {
                Entry::Steps { count: 1, effort: *effort }
            } else {
                Entry::Poses { count: 1, effort: *effort }
            };
            self.log.push(entry);
            if timed {
                self.step_once(effort);
            } else {
                self.pose_once(effort);
            }
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
            asks: self.patience(),
        }
    }

    fn patience(&self) -> u32 {
        (PATIENCE / self.base.joints().len().max(1)).clamp(LEAST_PATIENCE, MOST_PATIENCE) as u32
    }

    fn config<'a>(&self, effort: &Effort) -> StepConfig<'a> {
        StepConfig {
            method: Method::from_name(&self.settings.method).unwrap_or_default(),
            solver: self.solver(),
            dt: self.settings.step,
            tolerance: effort.tolerance,
            iterations: effort.iterations as usize,
            solver_iterations: effort.solver_iterations as usize,
            max_rotation: self.settings.max_rotation,
            most_substeps: effort.substeps.max(1) as usize,
            ..StepConfig::default()
        }
    }

    /// One step in time, and where hands pin something the correction that brings it there. What cannot be shown is tried
    /// once more with all the care there is, and then taken back: poses stay, the motion stops, and the reason is kept.
    pub(super) fn step_once(&mut self, effort: &Effort) -> Done {
        self.history.branch();
        self.settled = false;
        let before = self.state.clone();
        let (mut gaps, mut done) = self.try_step(effort);
        // Gaps that were there before are not this step's doing.
        let gapes = gaps.worst() > (3.0 * self.gap).max(VISIBLE * self.torn);
        if done.rejected.is_some() || gapes {
            let (rough, first_gaps) = (self.state.clone(), gaps);
            self.state = before.clone();
            self.workspace = Default::default();
            // Where a budget counts, the second try may not take hundreds of milliseconds.
            let substeps = SUBSTEPS.min(2 * effort.substeps);
            let careful = Effort { iterations: effort.iterations.max(CAREFUL), substeps, ..*effort };
            let first = done;
            (gaps, done) = self.try_step(&careful);
            let better = done.rejected.is_none() && gaps.worst() < first_gaps.worst();
            if first.rejected.is_none() && !better {
                self.state = rough;
                (gaps, done) = (first_gaps, Done { iterations: done.iterations, ..first });
            }
            done.iterations += first.iterations;
            done.solver_iterations += first.solver_iterations;
            done.asks += first.asks;
        }
        self.end(before, gaps, done)
    }

    fn try_step(&mut self, effort: &Effort) -> (Gaps, Done) {
        let (before, h) = (self.state.clone(), self.settings.step);
        for grip in &self.grips {
            grip.aim_step(&mut self.live, &mut self.state, h, self.settings.tolerance);
            grip.switch(&mut self.reach, true);
        }
        let asked = Cell::new(0);
        let over = || is_over(&asked, effort);
        let config = StepConfig { out_of_time: Some(&over), ..self.config(effort) };
        let report = step(&self.live, &mut self.state, &mut self.workspace, &config);
        let mut done = Done {
            iterations: report.iterations as u32,
            solver_iterations: report.solver_iterations as u32,
            asks: 0,
            missed: report.missed,
            rejected: report.rejected.map(|r| r.words()),
            changed: true,
        };
        let mut gaps = report.gaps;
        if done.rejected.is_none() {
            done.rejected = self.flips_in_time(&before).then_some(FLIP);
        }
        // A pull needs it only where coarse iterations left something open.
        let pinned = self.grips.iter().any(Grip::is_pin);
        if done.rejected.is_none() && (pinned || (done.missed && !self.grips.is_empty())) {
            let config = StepConfig { out_of_time: Some(&over), ..self.follow_config(effort) };
            let stepped = self.state.clone();
            let how = Follow { over: Some(h), damping: self.damping };
            let after = follow(&self.reach, &mut self.state, &mut self.reach_workspace, &config, how);
            self.damping = after.damping;
            done.iterations += after.iterations as u32;
            done.solver_iterations += after.solver_iterations as u32;
            if self.flips(&stepped) || !self.state.is_finite() {
                // The hands miss this step, and are followed more carefully from now on.
                self.state = stepped;
                self.damping = self.damping.max(1e-3) * 100.0;
            } else {
                gaps = after.gaps;
            }
            done.missed = !(gaps.worst() <= effort.tolerance);
        }
        if done.rejected.is_none() {
            done.rejected = self.fault(gaps);
        }
        done.asks = asked.get();
        (gaps, done)
    }

    /// One correction without time.
    pub(super) fn pose_once(&mut self, effort: &Effort) -> Done {
        self.history.branch();
        let before = self.state.clone();
        let tolerance = self.settings.tolerance;
        for grip in &self.grips {
            grip.aim_pose(&self.live, &mut self.state, tolerance);
            grip.switch(&mut self.reach, false);
        }
        let asked = Cell::new(0);
        let over = || is_over(&asked, effort);
        let config = StepConfig { out_of_time: Some(&over), ..self.follow_config(effort) };
        let how = Follow { over: None, damping: self.damping };
        let report = follow(&self.reach, &mut self.state, &mut self.reach_workspace, &config, how);
        self.damping = report.damping;
        let still = report.ended
            && report.moved <= 1e-3 * tolerance
            && self.grips.iter().all(|g| g.is_there(&self.live, &self.state, tolerance));
        // A coarse rest is not the end: the exact one follows when the hand is still.
        self.settled = still && !effort.coarse;
        if self.settings.mode == Mode::Kinematic {
            self.stop_motion();
        }
        let done = Done {
            iterations: report.iterations as u32,
            solver_iterations: report.solver_iterations as u32,
            asks: asked.get(),
            missed: !(report.gaps.worst() <= effort.tolerance),
            rejected: self.fault(report.gaps).or(self.flips(&before).then_some(FLIP)),
            changed: !still,
        };
        let done = self.end(before, report.gaps, done);
        self.forces_known = false;
        done
    }

    /// Keeps a new pose, or goes back to the old one.
    fn end(&mut self, before: State, gaps: Gaps, mut done: Done) -> Done {
        let good = done.rejected.is_none();
        if good {
            self.gap = gaps.worst();
            if done.changed {
                let snapshot = self.scene_state();
                self.history.push(snapshot);
            }
        } else {
            self.state = before;
            self.stop_motion();
            self.workspace = Default::default();
            self.settled = false;
            done.missed = true;
            done.changed = false;
        }
        self.forces_known = good;
        self.grips.iter_mut().for_each(|g| g.adapt(good));
        self.rejected = done.rejected;
        done
    }

    /// Grips are met a little better than they have to be: trackers snap to their hands within a share of the tolerance.
    /// Two ranks ask for dozens of solves with one matrix, each to rounding: it is factorised once, whatever solver the
    /// steps use. By iteration a hand on the walking beast took half a second, and no budget could cut that.
    fn follow_config<'a>(&self, effort: &Effort) -> StepConfig<'a> {
        let config = self.config(effort);
        let solver = if config.solver.is_exact() { config.solver } else { SolverKind::SparseDirect };
        StepConfig { tolerance: 0.5 * config.tolerance, solver, ..config }
    }

    /// Nothing moves any more; the poses stay.
    pub(super) fn stop_motion(&mut self) {
        self.state.velocities.fill(Vector::ZERO);
        self.state.spins.fill(Vector::ZERO);
        self.state.memory = Default::default();
    }

    /// Why a new pose cannot be shown, if it cannot: not finite, or torn.
    fn fault(&self, gaps: Gaps) -> Option<&'static str> {
        if !self.state.is_finite() || !gaps.worst().is_finite() {
            return Some("the numbers left the range of arithmetic");
        }
        (gaps.worst() > (3.0 * self.left).max(self.torn)).then_some("the step would tear the mechanism apart")
    }

    /// Does a joint jump to another side in a correction?
    fn flips(&self, before: &State) -> bool {
        const QUARTER: f64 = std::f64::consts::FRAC_PI_2;
        self.base.joints().iter().filter(|j| j.enabled).any(|j| {
            let [a, b] = j.frames.map(|f| f.solid.index());
            let angle = |s: &State| s.rotations[a].inverse() * s.rotations[b];
            let turned = log(angle(&self.state) * angle(before).inverse()).length();
            turned.is_nan() || turned > QUARTER
        })
    }

    /// The same over a step in time, where light limbs may whip round: a true jump makes energy out of nothing.
    fn flips_in_time(&mut self, before: &State) -> bool {
        if !self.flips(before) {
            return false;
        }
        let was = self.meter.energy(&self.base, before);
        let is = self.meter.energy(&self.base, &self.state);
        let mass: f64 = self.base.solids().iter().filter(|s| !s.is_fixed()).map(|s| s.mass.mass).sum();
        // What gravity does to everything along half of a typical solid.
        let typical = mass * self.base.gravity.length().max(1.0) * self.torn;
        !(is.total() - was.total() <= 0.1 * was.kinetic + 0.1 * typical)
    }

    /// Measures the gaps as things are; for after edits.
    pub(super) fn measure(&mut self) -> f64 {
        self.gap = self.gaps_now().worst();
        self.left = self.gap;
        self.gap
    }

    /// Looking at the gaps must change nothing: replays do not look.
    fn gaps_now(&mut self) -> Gaps {
        self.rows.fill_motion(&self.live, &self.state, self.state.time, |_| crate::joint::Rank::Primary);
        crate::step::rigid_gaps(&self.rows)
    }

    fn report(&mut self, steps: u32, sum: Done, receipt: Receipt) -> TickReport {
        let gaps = self.gaps_now();
        let known = self.forces_known.then_some((&self.workspace, &self.reach_workspace));
        let tolerance = self.settings.tolerance;
        let grabs = self.grips.iter().map(|g| g.report(&self.live, &self.state, known, tolerance)).collect();
        let e = self.meter.energy(&self.base, &self.state);
        let p = self.meter.momentum(&self.base, &self.state);
        TickReport {
            time: self.state.time,
            steps,
            iterations: sum.iterations,
            solver_iterations: sum.solver_iterations,
            gaps: gap(gaps),
            worst: self.worst(),
            grabs,
            receipt,
            energy: Energies {
                kinetic: e.kinetic,
                potential: e.potential,
                spring: e.spring,
                total: e.total(),
            },
            momentum: Momenta { linear: p.linear.to_array(), angular: p.angular.to_array() },
            rejected: self.rejected.map(str::to_owned),
            timeline: self.history.timeline(),
            hash: hex(self.hash()),
        }
    }

    /// The most open joint of the scene, by the rows of the last measurement.
    fn worst(&self) -> Option<WorstJoint> {
        let own = |j: JointId| j.index() < self.base.joints().len();
        let rows: &Rows = &self.rows;
        let open = rows.groups.iter().filter(|g| own(g.joint) && g.compliance == 0.0);
        let (joint, gaps) = open
            .filter(|g| g.source == crate::rows::Source::Joint)
            .map(|g| (g.joint, rows.group_gaps(g)))
            .max_by(|a, b| a.1.worst().total_cmp(&b.1.worst()))?;
        (gaps.worst() > 0.0).then(|| WorstJoint {
            joint: joint.0,
            name: self.base.joint_name(joint),
            gap: gap(gaps),
        })
    }
}

fn gap(g: Gaps) -> Gap {
    // JSON has no NaN; the state itself never holds one.
    let finite = |x: f64| if x.is_finite() { x } else { f64::MAX };
    Gap { position: finite(g.position), angle: finite(g.angle) }
}
