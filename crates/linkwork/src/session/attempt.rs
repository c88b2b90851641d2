//! One step in time, or one correction without it: tried, judged by [`super::guard`], tried again where it went wrong, and
//! what is still wrong is taken back, island by island.

use super::Session;
use super::budget::is_over;
use super::command::Mode;
use super::grip::Grip;
use super::guard::{Cause, LEVER};
use super::obstacles::Obstacles;
use super::report::{Effort, Event};
use super::tick::Done;
use crate::contact::ContactEventKind;
use crate::math::Vector;
use crate::mechanism::Mechanism;
use crate::rows::Gaps;
use crate::solve::SolverKind;
use crate::state::State;
use crate::step::{
    Follow, FollowReport, Method, Rejected, StepConfig, StepReport, Workspace, follow, lead, step,
};
use std::cell::Cell;

/// Pieces of one step: a budget does not go with sixty-four of them.
pub(super) const SUBSTEPS: u32 = 64;
/// Iterations of the second try at a step that went wrong.
const CAREFUL: u32 = 20;
/// A gap that anybody sees, in halves of a typical solid: coarse iterations may leave gaps, but not such.
const VISIBLE: f64 = 0.02;
/// Shares of the way to the hands that are tried, until one leads nowhere else. What is left of the way is for the next
/// step, which starts from a pose that is nearer.
const SHARES: [f64; 3] = [1.0, 0.25, 0.0625];
/// What is loaded so much that it would jump in one step (springs that were stretched while no time passed) is let off in
/// parts: shares of the stiffness that are tried for that step.
const LET_OFF: [f64; 3] = [1.0 / 16.0, 1.0 / 256.0, 1.0 / 65536.0];
/// How much more carefully each time.
const MORE_DAMPING: f64 = 100.0;
/// What an island keeps of its motion when its step is taken back: with all of it the next step would go wrong alike,
/// without any it would stop dead.
const KEPT: f64 = 0.5;
/// Pieces that the second try may take at the least.
const LEAST_PIECES: u32 = 4;
/// A gap in halves of a typical solid that a rough step may leave: what it is for is to be seen, but the mechanism must
/// not come apart.
const ROUGH: f64 = 0.03;
/// Most islands that are stepped one by one in a second try.
const MOST_ALONE: usize = 32;

/// Events that wait for a report.
const MOST_EVENTS: usize = 100;

const FLIP: &str = "a joint would jump by more than a quarter of a turn";
const JUMP: &str = "a solid would jump farther than hands and motion explain";
const TEAR: &str = "the step would tear the mechanism apart";
const RANGE: &str = "numbers overflowed";

/// An island and what is wrong with its step.
type Wrong = (usize, &'static str);

impl Session {
    pub(super) fn config<'a>(&self, effort: &Effort) -> StepConfig<'a> {
        StepConfig {
            method: self.settings.parameters.of(Method::from_name(&self.settings.method).unwrap_or_default()),
            solver: self.solver(),
            dt: self.settings.step,
            tolerance: effort.tolerance,
            iterations: effort.iterations as usize,
            solver_iterations: effort.solver_iterations as usize,
            max_rotation: self.settings.max_rotation,
            most_substeps: effort.substeps.max(1) as usize,
            squared_distances: self.settings.parameters.squared_distances,
            sleep: self.settings.sleep,
            friction: self.settings.friction,
            restitution: self.settings.bounce,
            ..StepConfig::default()
        }
    }

    /// Grips are met a little better than they have to be: trackers snap to their hands within a share of the tolerance.
    /// Two ranks ask for dozens of solves with one matrix, each to rounding: it is factorised once, whatever solver the
    /// steps use. By iteration a hand on the walking beast took half a second, and no budget could cut that.
    fn follow_config<'a>(&self, effort: &Effort) -> StepConfig<'a> {
        let config = self.config(effort);
        let solver = if config.solver.is_exact() { config.solver } else { SolverKind::SparseDirect };
        StepConfig { tolerance: 0.5 * config.tolerance, solver, ..config }
    }

    /// One step in time, and where hands pin something the correction that brings it there. An island whose step cannot
    /// be shown is tried once more with all the care there is, and then taken back: its poses stay, half of its motion is
    /// left, and the reason is kept. The others go on.
    pub(super) fn step_once(&mut self, effort: &Effort) -> Done {
        self.history.branch();
        self.settled = false;
        let (h, tolerance) = (self.settings.step, self.settings.tolerance);
        for grip in &self.grips {
            grip.aim_step(&mut self.live, &mut self.state, h, tolerance);
            grip.switch(&mut self.reach, true);
            self.workspace.wake(&mut self.state, grip.solid);
        }
        let before = self.state.clone();
        let report = if effort.rough { self.rough_step(effort) } else { self.plain_step(effort) };
        let mut done = report.1;
        let mut gaps = report.0.gaps;
        let wrong = match report.0.rejected {
            // No care helps.
            Some(why @ (Rejected::Unsupported | Rejected::BadStep)) => {
                done.rejected = Some(why.words());
                return self.end(gaps, done);
            }
            Some(why) => (0..self.guard.isles.len()).map(|k| (k, why.words())).collect(),
            None => self.judge(&before, gaps, effort.rough),
        };
        if wrong.is_empty() {
            self.note_contacts(effort.rough);
        } else {
            let stepped = report.0.rejected.is_none();
            let rejected = self.second_try(effort, &before, wrong, stepped, &mut done);
            done.rejected = rejected.first().map(|(_, why)| *why);
            gaps = self.gaps_now();
        }
        let pinned = self.grips.iter().any(Grip::is_pin);
        // A pull needs it only where coarse iterations left something open.
        let open = !(gaps.worst() <= effort.tolerance);
        if done.rejected.is_none() && !effort.rough && (pinned || (open && !self.grips.is_empty())) {
            gaps = self.follow_hands(effort, gaps, &mut done);
        }
        self.curb(&before, &mut done);
        done.missed = !(gaps.worst() <= effort.tolerance);
        self.end(gaps, done)
    }

    /// Notes who met and who parted in the step.
    fn note_contacts(&mut self, rough: bool) {
        let rough = self.rough.as_ref().filter(|_| rough).map(|r| r.workspace());
        let told = self.touching.after_step(rough.unwrap_or(&self.workspace), &self.state);
        let room = MOST_EVENTS.saturating_sub(self.events.len());
        self.events.extend(told.iter().take(room).map(|e| Event {
            begin: e.kind == ContactEventKind::Begin,
            time: e.time,
            since: e.since,
            solids: e.solids.map(|s| s.0),
            impulse: e.impulse.to_array(),
        }));
    }

    /// The step by the method that is set.
    fn plain_step(&mut self, effort: &Effort) -> (StepReport, Done) {
        let asked = Cell::new(0);
        let over = || is_over(&asked, effort);
        let config = StepConfig { out_of_time: Some(&over), ..self.config(effort) };
        let report = step(&self.live, &mut self.state, &mut self.workspace, &config);
        (report, Done::of(&report, asked.get()))
    }

    /// Causes of the motion of every island between two states, hands included.
    fn causes(&self, before: &State) -> Vec<Cause> {
        let script = self.guard.script(before, &self.state);
        let speeds = self.guard.speeds(before).into_iter();
        let cause = |speed| Cause { speed, script, gap: self.gap, ..Cause::default() };
        let mut causes: Vec<Cause> = speeds.map(cause).collect();
        for grip in &self.grips {
            let Some(k) = self.guard.isle_of(grip.solid.index()) else { continue };
            // From where it was held to where its tracker is now.
            let reach = grip.reach(&self.live, before, &self.state);
            causes[k].reach = causes[k].reach.max(reach);
            causes[k].held = true;
        }
        causes
    }

    /// Islands whose step cannot be shown.
    fn judge(&mut self, before: &State, gaps: Gaps, rough: bool) -> Vec<Wrong> {
        let mut wrong = Vec::new();
        if !self.state.is_finite() || gaps.worst().is_nan() {
            return (0..self.guard.isles.len()).map(|k| (k, RANGE)).collect();
        }
        let torn = (3.0 * self.left).max(self.torn);
        // Gaps that were there before are not this step's doing.
        let visible = (3.0 * self.gap).max(VISIBLE * self.torn);
        // A rough step is followed by another one: what each adds to the gaps would add up.
        let most = if rough { self.gap.max(ROUGH * self.torn) } else { visible }.min(torn);
        let open = if gaps.worst() > most { self.gaps_of_isles() } else { Vec::new() };
        let (gravity, h) = (self.base.gravity.length(), self.settings.step);
        for (k, cause) in self.causes(before).iter().enumerate() {
            let gap = open.get(k).copied().unwrap_or(0.0);
            if !(gap <= most) {
                wrong.push((k, TEAR));
            } else if cause.held
                && self.guard.jumps(k, self.guard.travel(k, before, &self.state), cause, gravity, h)
            {
                wrong.push((k, JUMP));
            } else if !rough && self.excess(before, k, cause) > 0.0 {
                wrong.push((k, FLIP));
            }
        }
        wrong
    }

    /// Energy that is too much in an island where a joint turned far in one step. Light limbs whip round, and may; a
    /// jump makes energy out of nothing.
    fn excess(&mut self, before: &State, isle: usize, cause: &Cause) -> f64 {
        if !self.guard.flips(&self.base, isle, before, &self.state) {
            return 0.0;
        }
        self.plain_excess(before, isle, cause)
    }

    fn plain_excess(&mut self, before: &State, isle: usize, cause: &Cause) -> f64 {
        let mut springs = 0.0;
        if self.guard.has_springs {
            springs = self.meter.energy(&self.base, before).spring;
            springs -= self.meter.energy(&self.base, &self.state).spring;
        }
        let states = [before, &self.state];
        self.guard.excess(&self.base, isle, states, cause, springs, self.settings.step)
    }

    /// The worst gap in each island.
    fn gaps_of_isles(&mut self) -> Vec<f64> {
        let mut open = vec![0.0; self.guard.isles.len()];
        self.rows.fill_motion(&self.live, &self.state, self.state.time, |_| crate::joint::Rank::Primary);
        for g in &self.rows.groups {
            let own = g.joint.index() < self.base.joints().len();
            if !own || g.compliance > 0.0 || g.source != crate::rows::Source::Joint {
                continue;
            }
            let gap = self.rows.group_gaps(g).worst();
            for k in g.solids.iter().filter_map(|i| self.guard.isle_of(*i)) {
                if gap > open[k] || gap.is_nan() {
                    open[k] = gap;
                }
            }
        }
        open
    }

    /// Islands that went wrong once more, by themselves and with more iterations and pieces. What is left of them is taken
    /// back. `stepped`: the first try left something for the others.
    fn second_try(
        &mut self,
        effort: &Effort,
        before: &State,
        wrong: Vec<Wrong>,
        stepped: bool,
        done: &mut Done,
    ) -> Vec<Wrong> {
        // Where a budget counts and a hand waits, the second try may not take hundreds of milliseconds. Nobody waits for
        // what is left alone, and what a rough step got wrong takes a factorisation whatever that costs.
        let free = self.grips.is_empty();
        let substeps = if free { SUBSTEPS } else { SUBSTEPS.min(2 * effort.substeps.max(LEAST_PIECES)) };
        let asks = if free || effort.rough { self.full_effort().asks } else { effort.asks };
        let iterations = effort.iterations.max(CAREFUL);
        let careful = Effort { iterations, substeps, asks, rough: false, ..*effort };
        let isles: Vec<usize> = wrong.iter().map(|(k, _)| *k).collect();
        let first = std::mem::replace(&mut self.state, before.clone());
        self.workspace = Workspace::default();
        let (mut failed, mut second): (Vec<usize>, Option<State>) = Default::default();
        if isles.len() <= MOST_ALONE {
            // One by one: what one cannot do the others still can, and its numbers spoil nobody else's solution.
            for k in &isles {
                self.state.clone_from(before);
                if self.step_only(&careful, &[*k], done).rejected.is_some() {
                    failed.push(*k);
                } else if let Some(all) = &mut second {
                    self.guard.copy(&self.base, *k, &self.state, all);
                } else {
                    second = Some(self.state.clone());
                }
            }
        } else if self.step_only(&careful, &isles, done).rejected.is_none() {
            second = Some(self.state.clone());
        }
        let Some(second) = second else {
            self.state = if stepped { first } else { before.clone() };
            self.take_back(before, &wrong, stepped);
            return wrong;
        };
        self.state.clone_from(&second);
        let gaps = self.gaps_now();
        let again: Vec<Wrong> =
            self.judge(before, gaps, false).into_iter().filter(|(k, _)| isles.contains(k)).collect();
        let open = self.gaps_of_isles();
        if stepped {
            self.state = first;
        }
        let was_open = if stepped { self.gaps_of_isles() } else { vec![f64::INFINITY; open.len()] };
        let torn = (3.0 * self.left).max(self.torn);
        let mut rejected = Vec::new();
        for (k, why) in wrong {
            let still = again.iter().find(|(other, _)| *other == k).map(|(_, why)| *why);
            match (why, still) {
                _ if failed.contains(&k) => rejected.push((k, why)),
                (_, None) => self.guard.copy(&self.base, k, &second, &mut self.state),
                // Visible and not more: the better one will do.
                (_, Some(TEAR)) if open[k] <= torn && !(was_open[k] < open[k]) => {
                    self.guard.copy(&self.base, k, &second, &mut self.state);
                }
                (JUMP, _) | (_, Some(JUMP)) if self.let_off(&careful, before, k, done) => done.braked = true,
                (TEAR, _) if was_open[k] <= torn => {}
                (FLIP, _) if self.slow_down(before, k) => done.braked = true,
                _ => rejected.push((k, why)),
            }
        }
        self.take_back(before, &rejected, true);
        rejected
    }

    /// A step of an island whose springs would throw it farther than anything explains, with weaker ones. False: that is not
    /// the reason.
    fn let_off(&mut self, effort: &Effort, before: &State, isle: usize, done: &mut Done) -> bool {
        let others = self.state.clone();
        for share in LET_OFF {
            self.state.clone_from(before);
            let part = self.guard.with_weaker_springs(&self.live, isle, share);
            if self.step_part(&part, effort, done).rejected.is_some() {
                continue;
            }
            let gaps = self.gaps_now();
            if !self.judge(before, gaps, false).iter().any(|(k, _)| *k == isle) {
                let eased = std::mem::replace(&mut self.state, others);
                self.guard.copy(&self.base, isle, &eased, &mut self.state);
                return true;
            }
        }
        self.state = others;
        false
    }

    /// A step of these islands alone. The state's time is that of the step's end afterwards, its memory is empty.
    fn step_only(&mut self, effort: &Effort, isles: &[usize], done: &mut Done) -> StepReport {
        if isles.len() < self.guard.isles.len() {
            return self.step_part(&self.guard.only(&self.live, isles), effort, done);
        }
        let live = std::mem::take(&mut self.live);
        let report = self.step_part(&live, effort, done);
        self.live = live;
        report
    }

    fn step_part(&mut self, mechanism: &Mechanism, effort: &Effort, done: &mut Done) -> StepReport {
        let asked = Cell::new(0);
        let over = || is_over(&asked, effort);
        let config = StepConfig { out_of_time: Some(&over), ..self.config(effort) };
        self.state.memory = Default::default();
        let report = step(mechanism, &mut self.state, &mut Workspace::default(), &config);
        self.state.memory = Default::default();
        done.add(&Done::of(&report, asked.get()));
        report
    }

    /// Takes the energy out of an island that nothing explains. False if its motion does not have as much.
    fn slow_down(&mut self, before: &State, isle: usize) -> bool {
        let cause = self.causes(before)[isle];
        let excess = self.plain_excess(before, isle, &cause);
        let (kinetic, _) = self.guard.energy(&self.base, isle, &self.state);
        if excess > 0.0 && !(excess < kinetic) {
            return false;
        }
        if excess > 0.0 {
            self.guard.scale(isle, &mut self.state, (1.0 - excess / kinetic).sqrt());
        }
        true
    }

    /// These islands are where they were, with half of their motion. If nothing moved at all, no time passed either.
    fn take_back(&mut self, before: &State, wrong: &[Wrong], stepped: bool) {
        if wrong.is_empty() {
            return;
        }
        if !stepped || wrong.len() == self.guard.isles.len() {
            self.state = before.clone();
        }
        for (k, _) in wrong {
            self.guard.copy(&self.base, *k, before, &mut self.state);
            self.guard.scale(*k, &mut self.state, KEPT);
        }
        self.state.memory = Default::default();
        self.workspace = Workspace::default();
    }

    /// Brings what is pinned to its hands after a step. A correction that would move something farther than the hands are
    /// away, with the lever of a linkage, is tried again for a part of the way, and then left out: the hands miss this step.
    fn follow_hands(&mut self, effort: &Effort, gaps: Gaps, done: &mut Done) -> Gaps {
        let stepped = self.state.clone();
        for share in SHARES {
            for grip in &self.grips {
                grip.hold_back(&self.live, &mut self.state, share);
            }
            let aimed = self.state.clone();
            let (after, sank) = self.follow_among(effort, Some(self.settings.step), done);
            if !sank && self.is_led(&aimed, gaps.worst(), after.gaps) {
                return after.gaps;
            }
            self.state = stepped.clone();
            self.damping = self.damping.max(1e-3) * MORE_DAMPING;
        }
        done.left_out = true;
        gaps
    }

    /// [`follow_once`](Self::follow_once), up to whatever stands in the way. The second is true where something sank into
    /// something else all the same. In time that is a matter of the method: by others than `variational` nothing touches.
    fn follow_among(&mut self, effort: &Effort, over: Option<f64>, done: &mut Done) -> (FollowReport, bool) {
        let stops = match over {
            Some(_) => self.config(effort).method.knows_contact(),
            None => self.settings.obstacles,
        };
        if self.bound {
            // It belongs to a mechanism with other joints.
            (self.reach_workspace, self.bound) = (Workspace::default(), false);
        }
        let mut obstacles = self.obstacles.take().unwrap_or_else(|| Box::new(Obstacles::new(&self.base)));
        let mut held: Vec<usize> =
            self.grips.iter().filter_map(|g| self.guard.isle_of(g.solid.index())).collect();
        held.sort_unstable();
        held.dedup();
        let far = self.grips.iter().map(|g| g.reach(&self.live, &self.state, &self.state));
        let margin = LEVER * far.fold(0.0, f64::max);
        let report = if stops && obstacles.look(&self.guard, &self.state, &held, margin) {
            let among = obstacles.bound(&self.reach, &self.state);
            let reach = std::mem::replace(&mut self.reach, among);
            (self.reach_workspace, self.bound) = (Workspace::default(), true);
            let report = self.follow_once(effort, over, done);
            self.reach = reach;
            (report, obstacles.sinks(&self.state))
        } else {
            (self.follow_once(effort, over, done), false)
        };
        self.obstacles = Some(obstacles);
        report
    }

    fn follow_once(&mut self, effort: &Effort, over: Option<f64>, done: &mut Done) -> FollowReport {
        let asked = Cell::new(0);
        let stop = || is_over(&asked, effort);
        let config = StepConfig { out_of_time: Some(&stop), ..self.follow_config(effort) };
        let how = Follow { over, damping: self.damping };
        let after = follow(&self.reach, &mut self.state, &mut self.reach_workspace, &config, how);
        self.damping = after.damping;
        done.iterations += after.iterations as u32;
        done.solver_iterations += after.solver_iterations as u32;
        done.asks += asked.get();
        after
    }

    /// Did a correction go no farther than its hands explain?
    fn is_led(&self, before: &State, had: f64, gaps: Gaps) -> bool {
        let open = (3.0 * had).max(VISIBLE * self.torn).max(3.0 * self.left);
        if !self.state.is_finite() || !(gaps.worst() <= open) {
            return false;
        }
        let reaches = self.grips.iter().map(|g| g.reach(&self.live, before, before));
        let farthest = reaches.fold(0.0, f64::max);
        (0..self.guard.isles.len()).all(|k| {
            let held = self.grips.iter().filter(|g| self.guard.isle_of(g.solid.index()) == Some(k));
            let reach = held.map(|g| g.reach(&self.live, before, before)).fold(-1.0, f64::max);
            let travel = self.guard.travel(k, before, &self.state);
            // Without a hand it only closes gaps, or is pushed by what hands move.
            let reach = if reach < 0.0 && self.bound { farthest } else { reach };
            let led = reach < 0.0 || travel <= self.guard.allowed_correction(k, reach, had);
            led && !self.guard.flips(&self.base, k, before, &self.state)
        })
    }

    /// Nothing that is held becomes faster than hands and motion explain. At a singular pose the velocities that keep all
    /// joints closed are not unique, and some of them are thousands of metres per second: then what the step did is the
    /// motion. Energy from nowhere is taken out.
    fn curb(&mut self, before: &State, done: &mut Done) {
        if self.grips.is_empty() || !(self.state.time > before.time) {
            return;
        }
        let (gravity, h) = (self.base.gravity.length(), self.settings.step);
        let speeds = self.guard.speeds(&self.state);
        for (k, cause) in self.causes(before).iter().enumerate().filter(|(_, c)| c.held) {
            if self.guard.jumps(k, h * speeds[k], cause, gravity, h) {
                self.guard.motion_from_travel(k, before, &mut self.state, h);
                self.state.memory = Default::default();
                done.braked = true;
            }
            if self.plain_excess(before, k, cause) > 0.0 && !self.slow_down(before, k) {
                self.guard.scale(k, &mut self.state, KEPT);
            }
        }
    }

    /// What a hand lets go of flies on as fast as the hand was, with all that hangs on it. A pull has given its push.
    pub(super) fn throw(&mut self, hand: u32) {
        let timed =
            self.settings.mode == Mode::Dynamic && self.settings.running && !self.history.is_scrubbed();
        let Some(grip) = self.grips.iter().find(|g| g.hand == hand && g.is_pin()).filter(|_| timed) else {
            return;
        };
        let Some(speed) = grip.hand_speed(&self.live, &self.state) else { return };
        let Some(isle) = self.guard.isle_of(grip.solid.index()) else { return };
        let before = self.state.clone();
        grip.speed_up(&mut self.state, speed);
        self.grips.iter().for_each(|g| g.switch(&mut self.reach, true));
        let config = self.follow_config(&self.full_effort());
        // The last one may belong to a mechanism with obstacles in it.
        (self.reach_workspace, self.bound) = (Workspace::default(), false);
        lead(&self.reach, &mut self.state, &mut self.reach_workspace, &config);
        let (gravity, h) = (self.base.gravity.length(), self.settings.step);
        let cause = Cause {
            speed: self.guard.speeds(&before)[isle],
            reach: h * (speed.0.length() + speed.1.length() * self.base.solid(grip.solid).extent()),
            held: true,
            ..Cause::default()
        };
        let speeds = self.guard.speeds(&self.state);
        if !self.state.is_finite() || self.guard.jumps(isle, h * speeds[isle], &cause, gravity, h) {
            self.state = before;
        }
    }

    /// One correction without time.
    pub(super) fn pose_once(&mut self, effort: &Effort) -> Done {
        self.history.branch();
        let before = self.state.clone();
        let tolerance = self.settings.tolerance;
        // Hands open nothing, so this is what the last step or edit left.
        let had = self.gap;
        let mut done = Done::default();
        let mut after = None;
        for share in if effort.rough { &SHARES[..1] } else { &SHARES[..] } {
            for grip in &self.grips {
                grip.aim_pose(&self.live, &mut self.state, tolerance);
                grip.hold_back(&self.live, &mut self.state, *share);
                grip.switch(&mut self.reach, false);
            }
            let aimed = self.state.clone();
            let (tried, sank) = match effort.rough {
                true => (self.rough_pose(effort, &mut done), false),
                false => self.follow_among(effort, None, &mut done),
            };
            let most = (3.0 * self.left).max(self.torn);
            let shown =
                if effort.rough { self.state.is_finite() && tried.gaps.worst() <= most } else { false };
            if shown || (!sank && self.is_led(&aimed, had, tried.gaps)) {
                after = Some(tried);
                break;
            }
            self.state = before.clone();
            self.damping = self.damping.max(1e-3) * MORE_DAMPING;
        }
        if self.settings.mode == Mode::Kinematic {
            self.stop_motion();
        }
        let there = || self.grips.iter().all(|g| g.is_there(&self.live, &self.state, tolerance));
        let still = after.is_some_and(|a| a.ended && a.moved <= 1e-3 * tolerance) && there();
        // A coarse rest is not the end: the exact one follows when the hand is still.
        self.settled = still && !effort.coarse && !effort.rough;
        let gaps = after.map_or(Gaps { position: had, angle: 0.0 }, |a| a.gaps);
        done.missed = !(gaps.worst() <= effort.tolerance);
        done.changed = after.is_some() && !still;
        done.left_out = after.is_none() && !self.grips.is_empty();
        if after.is_none() && self.grips.is_empty() {
            done.rejected = Some(if self.state.is_finite() { FLIP } else { RANGE });
        }
        let done = self.end(gaps, done);
        self.forces_known = false;
        done
    }

    /// Keeps what a step came to.
    fn end(&mut self, gaps: Gaps, mut done: Done) -> Done {
        let good = done.rejected.is_none();
        if gaps.worst().is_finite() && good {
            self.gap = gaps.worst();
        }
        if good && done.changed {
            let snapshot = self.scene_state();
            self.history.push(snapshot);
        }
        if !good {
            self.settled = false;
            done.missed = true;
            done.changed = false;
        }
        self.forces_known = good && !done.rough;
        let followed = good && !done.left_out;
        self.grips.iter_mut().for_each(|g| g.adapt(followed));
        self.rejected = done.rejected;
        if good && self.state.torn != self.base.torn() {
            self.remember_trackers();
            self.rebuild();
        }
        done
    }

    /// Nothing moves any more; the poses stay.
    pub(super) fn stop_motion(&mut self) {
        self.state.velocities.fill(Vector::ZERO);
        self.state.spins.fill(Vector::ZERO);
        self.state.memory = Default::default();
    }
}
