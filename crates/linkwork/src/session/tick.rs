//! The work of a tick: how many steps are due, whether there is time for the next one, and what is told in the end.

use super::budget::Plan;
use super::command::Mode;
use super::log::Entry;
use super::report::*;
use super::{Session, hex};
use crate::joint::JointId;
use crate::rows::{Gaps, Rows};
use crate::step::StepReport;

/// What one step did.
#[derive(Clone, Copy, Default)]
pub(super) struct Done {
    pub iterations: u32,
    pub solver_iterations: u32,
    /// Questions whether the time is up.
    pub asks: u32,
    pub missed: bool,
    pub rejected: Option<&'static str>,
    /// Something is different from before.
    pub changed: bool,
    /// Without a factorisation.
    pub rough: bool,
    /// Hands were not followed: it would have led somewhere else.
    pub left_out: bool,
    /// Motion that nothing explains was taken out.
    pub braked: bool,
}

impl Done {
    pub fn of(report: &StepReport, asks: u32) -> Self {
        Self {
            iterations: report.iterations as u32,
            solver_iterations: report.solver_iterations as u32,
            asks,
            missed: report.missed,
            changed: true,
            ..Self::default()
        }
    }

    /// The work of another one on top.
    pub fn add(&mut self, other: &Done) {
        self.iterations += other.iterations;
        self.solver_iterations += other.solver_iterations;
        self.asks += other.asks;
    }
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
        let Plan { effort, squeezed, least } = self.plan(due, posing);
        let allowed = self.settings.budget_ms.map(|ms| 1e-3 * ms);
        let mut sum = Done::default();
        let (mut taken, mut braked, mut limit, mut last) = (0, 0, Limit::Idle, start);
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
            self.learn(now - last, &done);
            last = now;
            taken += 1;
            sum.add(&done);
            braked += u32::from(done.braked);
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
            used_ms: 1e3 * (last - start).max(0.0),
            limit,
            coarse: due > 0 && effort.coarse,
            rough: due > 0 && effort.rough,
            least: due > 0 && least,
            due,
            ..self.receipt(&effort)
        };
        self.report(taken, braked, sum, receipt)
    }

    /// A receipt for nothing yet.
    fn receipt(&self, effort: &Effort) -> Receipt {
        Receipt {
            allowed_ms: self.settings.budget_ms,
            used_ms: 0.0,
            limit: Limit::Idle,
            coarse: false,
            rough: false,
            least: false,
            iterations: effort.iterations,
            tolerance: effort.tolerance,
            due: 0,
            dropped: self.pace.dropped,
        }
    }

    /// Time passes where the future is known: it is shown, not made again, until it ends.
    pub(super) fn play(&mut self, count: u32) {
        self.log.push(Entry::Shown { count });
        if let Some(state) = self.history.go(i64::from(count)).0.cloned() {
            self.state = state;
            self.touching.restart();
            self.rebuild();
        }
    }

    /// A report on how things are, without doing anything.
    pub fn look(&mut self) -> TickReport {
        let plan = self.plan(0, false);
        let receipt = self.receipt(&plan.effort);
        self.report(0, 0, Done::default(), receipt)
    }

    /// Work without time: hands that hold something and are not there yet, or constraints that stand open.
    fn wants_pose(&self) -> bool {
        let kinematic = self.settings.mode == Mode::Kinematic;
        // Who looks at the past without a hand on it wants to see it, not to start another future from there.
        !self.settled && (!self.grips.is_empty() || (kinematic && !self.history.is_scrubbed()))
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

    /// Measures the gaps as things are; for after edits.
    pub(super) fn measure(&mut self) -> f64 {
        self.gap = self.gaps_now().worst();
        self.left = self.gap;
        self.gap
    }

    /// Looking at the gaps must change nothing: replays do not look.
    pub(super) fn gaps_now(&mut self) -> Gaps {
        self.rows.fill_motion(&self.live, &self.state, self.state.time, |_| crate::joint::Rank::Primary);
        crate::step::rigid_gaps(&self.rows)
    }

    fn islands(&self) -> Islands {
        let (count, asleep) = match self.settings.mode {
            Mode::Dynamic => self.workspace.islands(),
            Mode::Kinematic => (0, 0),
        };
        Islands { count: count as u32, asleep: asleep as u32 }
    }

    fn report(&mut self, steps: u32, braked: u32, sum: Done, receipt: Receipt) -> TickReport {
        let gaps = self.gaps_now();
        let known = self.forces_known.then_some((&self.workspace, &self.reach_workspace));
        let tolerance = self.settings.tolerance;
        let grabs = self.grips.iter().map(|g| g.report(&self.live, &self.state, known, tolerance)).collect();
        let config = self.config(&self.full_effort());
        self.workspace.look(&self.live, &config);
        let contacts = Contacts {
            points: crate::step::Workspace::contact_count(&self.state) as u32,
            events: std::mem::take(&mut self.events),
        };
        let e = self.meter.energy(&self.base, &self.state);
        let p = self.meter.momentum(&self.base, &self.state);
        TickReport {
            time: self.state.time,
            steps,
            iterations: sum.iterations,
            solver_iterations: sum.solver_iterations,
            braked,
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
            islands: self.islands(),
            contacts,
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
