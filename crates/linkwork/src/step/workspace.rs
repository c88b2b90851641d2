//! Scratch of a step: everything that may be thrown away without changing the future.

use super::free::Wrench;
use super::lanes::Lanes;
use super::{Method, Stages, StepConfig};
use crate::graph::Graph;
use crate::joint::JointId;
use crate::math::{Matrix, Rotation, Vector};
use crate::mechanism::Mechanism;
use crate::rows::{BallRows, Gaps, Group, Law, Masses, Rows, Source};
use crate::solve::{Bounded, LinearSolver, Problem, Ranked, SolveReport, SolverKind, Work};
use crate::state::State;

/// Rows, masses, solver and vectors of a step.
#[derive(Default)]
pub struct Workspace {
    pub(super) graph: Graph,
    pub(super) rows: Rows,
    /// Rows at the end of the step while it is being found.
    pub(super) next: Rows,
    pub(super) masses: Masses,
    solver: Option<(SolverKind, Box<dyn LinearSolver>)>,
    exact: bool,
    /// The solver takes ball joints by their arms.
    knows_arms: bool,
    /// The state that a step works on; becomes the real one only if all went well.
    pub(super) trial: State,
    /// Where the rows were filled.
    at: Option<Place>,
    place: Place,
    /// What the factor in the solver belongs to.
    factored: bool,
    /// Some joint, motor or spring acts only for a while.
    timed: bool,
    /// `next` has its Jacobians.
    pub(super) complete: bool,
    /// Some row is one-sided or limited in force.
    pub(super) bounded: bool,
    epoch: Option<u64>,
    pub(super) stages: Stages,
    pub(super) wrenches: Vec<Wrench>,
    pub(super) impulses: Vec<Wrench>,
    pub(super) lanes: Lanes,
    /// Per solid that tension makes harder to turn: what is left of an angular impulse.
    pub(super) dulls: Vec<(usize, Matrix)>,
    pub(super) tension: Vec<[f64; 6]>,
    pub(super) active: Vec<bool>,
    pub(super) at_high: Vec<bool>,
    pub(super) lambda: Vec<f64>,
    pub(super) delta: Vec<f64>,
    pub(super) b: Vec<f64>,
    pub(super) target: Vec<f64>,
    pub(super) start: State,
    pub(super) saturated: Vec<bool>,
    pub(super) correction: Bounded,
    /// Nothing but gravity and forces brings energy in: no motors, springs, soft joints or trajectories.
    pub(super) undriven: bool,
    /// Some solid follows a trajectory.
    pub(super) scripted: bool,
    /// There will be no shorter pieces: what is too long must be taken all the same.
    pub(super) last_try: bool,
    pub(super) reduced: super::reduced::Scratch,
    pub(super) fixed: Vec<f64>,
    pub(super) push: Vec<[f64; 6]>,
    pub(super) explicit: super::accelerate::Scratch,
    pub(super) relaxed: super::relaxation::Scratch,
    pub(super) ranked: Ranked,
}

/// A pose of everything, to recognise it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Place {
    step: f64,
    centers: Vec<Vector>,
    rotations: Vec<Rotation>,
}

/// What a joint pulls with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reaction {
    /// Force on the second solid, at its anchor; the first solid feels the opposite.
    pub force: Vector,
    /// Torque on the second solid about its anchor.
    pub torque: Vector,
}

impl Workspace {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gets ready for a step: graph and solver of this mechanism.
    pub(super) fn begin(&mut self, m: &Mechanism, c: &StepConfig) {
        self.stages = Stages::default();
        if self.rows.squared != c.squared_distances {
            (self.rows.squared, self.next.squared) = (c.squared_distances, c.squared_distances);
            self.forget();
        }
        if self.epoch != Some(m.epoch()) {
            self.epoch = Some(m.epoch());
            self.graph.update(m);
            self.at = None;
            self.factored = false;
            self.scripted = m.solids().iter().any(|s| matches!(s.kernel, crate::solid::Kernel::Scripted(_)));
            self.undriven = m.springs.is_empty()
                && m.joints().iter().all(|j| j.drives.is_empty() && j.compliance == 0.0)
                && !self.scripted;
            self.timed =
                m.joints().iter().any(|j| j.during.is_some()) || m.springs.iter().any(|s| s.during.is_some());
        }
        if self.solver.as_ref().is_none_or(|(kind, _)| *kind != c.solver) {
            let largest = self.graph.islands.iter().max_by_key(|i| i.joints.len());
            let kind =
                largest.map_or(c.solver.resolve(), |i| crate::predict::resolve(c.solver, m, &self.graph, i));
            self.exact = kind.is_exact();
            self.knows_arms = kind == SolverKind::SparseDirect;
            self.solver = Some((c.solver, kind.make()));
            self.factored = false;
        }
        self.write_balls(match c.method {
            Method::Variational if self.knows_arms => BallRows::Arms,
            Method::Variational => BallRows::World,
            _ => BallRows::Frame,
        });
    }

    /// How ball joints are written from here on. Tells how it was.
    pub(super) fn write_balls(&mut self, balls: BallRows) -> BallRows {
        let before = self.rows.balls;
        if before != balls {
            (self.rows.balls, self.next.balls) = (balls, balls);
            self.forget();
        }
        before
    }

    pub(super) fn start(&self, c: &StepConfig) -> f64 {
        c.clock.map_or(0.0, |clock| clock())
    }

    pub(super) fn stop(&mut self, c: &StepConfig, since: f64, stage: impl Fn(&mut Stages) -> &mut f64) {
        if let Some(clock) = c.clock {
            *stage(&mut self.stages) += clock() - since;
        }
    }

    pub(super) fn is_over(&self, c: &StepConfig) -> bool {
        c.out_of_time.is_some_and(|f| f())
    }

    /// Makes rows and masses those of `s` (with the joints that act at its time), for a step of length `h`. True when
    /// they were already there, so that a factor of them is still good.
    pub(super) fn linearise(&mut self, m: &Mechanism, s: &State, c: &StepConfig, h: f64) -> bool {
        let known = !self.timed
            && self
                .at
                .as_ref()
                .is_some_and(|p| p.step == h && p.centers == s.centers && p.rotations == s.rotations);
        if known {
            return self.factored;
        }
        let clock = self.start(c);
        let graph = &self.graph;
        self.rows.fill_motion(m, s, |j| graph.default_rank(j));
        self.stop(c, clock, |s| &mut s.rows);
        self.settle(m, s, h);
        false
    }

    /// Rows are filled at `s`: everything that goes with them.
    pub(super) fn settle(&mut self, m: &Mechanism, s: &State, h: f64) {
        self.masses.update(m, s);
        let bound = |g: &Group| g.most_force.is_finite() || g.range().any(|r| !self.rows.is_equality(r));
        self.bounded = self.rows.others().any(bound);
        calm(&mut self.rows, &self.masses, h);
        soften(&mut self.rows, h);
        self.factored = false;
        self.place.step = h;
        self.place.centers.clone_from(&s.centers);
        self.place.rotations.clone_from(&s.rotations);
        self.at = Some(std::mem::take(&mut self.place));
    }

    /// Rows are no longer those of any known pose.
    pub(super) fn forget(&mut self) {
        if let Some(place) = self.at.take() {
            self.place = place;
        }
        self.factored = false;
    }

    /// Factors the rows, those that are active if `masked`.
    pub(super) fn factor(&mut self, c: &StepConfig, masked: bool) {
        let clock = self.start(c);
        let Some((_, solver)) = &mut self.solver else { return };
        let active: &[bool] = if masked { &self.active } else { &[] };
        solver.factor(&Problem { rows: &self.rows, masses: &self.masses, active, damping: None });
        self.factored = !masked;
        self.stop(c, clock, |s| &mut s.factor);
    }

    /// `delta = A^-1 b` as an exact factor gives it, unchecked: for who looks at what comes of it. False when there is none.
    pub(super) fn substitute(&mut self, c: &StepConfig) -> bool {
        let clock = self.start(c);
        self.delta.resize(self.rows.len(), 0.0);
        let Some((_, solver)) = &mut self.solver else { return false };
        let done = solver.substitute(&self.b, &mut self.delta, false);
        self.stop(c, clock, |s| &mut s.solve);
        done
    }

    /// `delta = A^-1 b`, to `tolerance`.
    pub(super) fn solve(&mut self, c: &StepConfig, tolerance: f64) -> SolveReport {
        let clock = self.start(c);
        let none = SolveReport { residual: 0.0, iterations: 0, stop: crate::solve::Stop::Tolerance };
        self.delta.clear();
        self.delta.resize(self.rows.len(), 0.0);
        let Some((_, solver)) = &mut self.solver else { return none };
        // A direct solver's first answer is good to rounding; more rounds are for dependent rows, and it asks for them.
        let iterations = if self.exact { 2 } else { c.solver_iterations };
        let work = Work { iterations, tolerance, out_of_time: c.out_of_time };
        let report = solver.solve(&self.b, &mut self.delta, &work);
        // The next step starts with the factor that a fresh workspace would make.
        self.factored &= !solver.has_changed();
        self.stop(c, clock, |s| &mut s.solve);
        report
    }

    /// Fills rows and masses at `s`; whatever was factored is gone.
    pub(super) fn relinearise(&mut self, m: &Mechanism, s: &State, c: &StepConfig) {
        let clock = self.start(c);
        let graph = &self.graph;
        self.rows.fill_motion(m, s, |j| graph.default_rank(j));
        self.masses.update(m, s);
        self.forget();
        self.stop(c, clock, |s| &mut s.rows);
    }

    /// Fills `next` with the rows at the start of the step, as far as something is measured against them.
    pub(super) fn measure_start(&mut self, m: &Mechanism, end: f64) {
        self.next.clear();
        let drives = m.joints().iter().any(|j| !j.drives.is_empty() || j.compliance > 0.0);
        if drives || !m.springs.is_empty() {
            self.start.time = end;
            let graph = &self.graph;
            self.next.fill_motion(m, &self.start, |j| graph.default_rank(j));
        }
    }

    /// One correction of the rows as they are, one-sided ones included; the answer is in `correction`.
    pub(super) fn solve_bounded(&mut self, c: &StepConfig, solids: usize) -> usize {
        let clock = self.start(c);
        let Some((_, solver)) = &mut self.solver else { return 0 };
        let work = Work {
            iterations: c.solver_iterations,
            tolerance: 1e-3 * c.tolerance,
            out_of_time: c.out_of_time,
        };
        let report = self.correction.solve(solver.as_mut(), &self.rows, &self.masses, solids, None, &work);
        self.factored = false;
        self.stop(c, clock, |s| &mut s.solve);
        report.solve.iterations
    }

    /// The rows as they are, whatever their intervals stand for, to the last digits that the solver has; the answer is
    /// in `correction`.
    pub(super) fn solve_exactly(&mut self, c: &StepConfig, solids: usize) -> usize {
        let clock = self.start(c);
        let Some((_, solver)) = &mut self.solver else { return 0 };
        let most = (0..self.rows.len()).fold(0.0, |m: f64, r| m.max(self.rows.wanted(r).abs()));
        let iterations = if self.exact { 3 } else { c.solver_iterations };
        let work = Work { iterations, tolerance: 1e-14 * most, out_of_time: c.out_of_time };
        let report = self.correction.solve(solver.as_mut(), &self.rows, &self.masses, solids, None, &work);
        self.factored = false;
        self.stop(c, clock, |s| &mut s.solve);
        report.solve.iterations
    }

    /// One correction by rank: primary rows exactly, secondary ones as well as those leave free; the answer is in
    /// `ranked`. What `b` and `active` hold is what is solved for.
    pub(super) fn solve_ranked(&mut self, c: &StepConfig, solids: usize, damping: f64) -> usize {
        let Some((_, solver)) = &mut self.solver else { return 0 };
        let work = Work { iterations: 60, tolerance: 1e-3 * c.tolerance, out_of_time: c.out_of_time };
        let report = self.ranked.solve(
            solver.as_mut(),
            &self.rows,
            &self.masses,
            solids,
            &self.active,
            &self.b,
            Some(damping),
            &work,
        );
        self.factored = false;
        report.solve.iterations
    }

    /// The gaps of everything rigid at the end of a step.
    pub(super) fn final_gaps(&mut self, m: &Mechanism, s: &State) -> Gaps {
        let known = self.at.as_ref().is_some_and(|p| p.centers == s.centers && p.rotations == s.rotations);
        if !known {
            let graph = &self.graph;
            self.rows.fill_motion(m, s, |j| graph.default_rank(j));
            self.forget();
        }
        rigid_gaps(&self.rows)
    }

    /// Gaps of rigid joints at the state that the last step ended with.
    pub fn joint_gaps(&self) -> impl Iterator<Item = (JointId, Gaps)> {
        let rigid = |g: &&Group| g.source == Source::Joint && g.law == Law::Hold;
        self.rows.groups.iter().filter(rigid).map(|g| (g.joint, self.rows.group_gaps(g)))
    }

    /// The solver's name.
    pub fn solver_name(&self) -> &'static str {
        self.solver.as_ref().map_or("none", |(_, s)| s.name())
    }

    /// What a joint (its limits included, its motors not) pulled with at the end of the last step.
    pub fn reaction(&self, m: &Mechanism, s: &State, joint: JointId) -> Reaction {
        let mut sum = Wrench::default();
        let forces = &s.memory.forces;
        let own = |g: &&Group| g.joint == joint && g.source == Source::Joint;
        for g in self.rows.groups.iter().filter(own).filter(|g| g.range().end <= forces.len()) {
            let pull = self.rows.pull(g, 1, forces);
            sum.linear += pull.linear;
            sum.angular += pull.angular;
        }
        at_anchor(m, s, joint, sum)
    }

    /// [`reaction`](Self::reaction) of every joint that acted, in joint order; `None` when the method leaves no forces.
    pub fn reactions(&self, m: &Mechanism, s: &State) -> Option<Vec<(JointId, Reaction)>> {
        let forces = &s.memory.forces;
        if forces.len() != self.rows.len() || forces.is_empty() {
            return None;
        }
        let mut all = Vec::new();
        for g in self.rows.groups.iter().filter(|g| g.source == Source::Joint) {
            let sum = self.rows.pull(g, 1, forces);
            all.push((g.joint, at_anchor(m, s, g.joint, sum)));
        }
        Some(all)
    }
}

/// Rows act about the centre of mass of the second solid; a reaction is told at its anchor.
fn at_anchor(m: &Mechanism, s: &State, joint: JointId, sum: Wrench) -> Reaction {
    let frame = m.joint(joint).frames[1];
    let anchor = s.pose(m, frame.solid).transform_point(frame.pose.translation);
    let arm = anchor - s.centers[frame.solid.index()];
    Reaction { force: sum.linear, torque: sum.angular - arm.cross(sum.linear) }
}

/// The largest gaps over what is rigid: soft constraints and motors with a rate are not errors.
pub(crate) fn rigid_gaps(rows: &Rows) -> Gaps {
    let mut worst = rows.ball_gaps();
    for g in rows.others().filter(|g| g.law == Law::Hold && g.most_force == f64::INFINITY) {
        let gap = rows.group_gaps(g);
        if gap.position.is_nan() || gap.angle.is_nan() {
            return Gaps { position: f64::NAN, angle: f64::NAN };
        }
        worst = worst.max(gap);
    }
    worst
}

/// How far into a step the soft force is taken: at least 1/4 for stability at any stiffness; a little more keeps away
/// from the limit, where stiff rows would ring at the step's own frequency.
pub(super) const AHEAD: f64 = 0.3;

/// Damps soft rows that swing faster than the step can show, by `k h/2 y^2 / (1 + y^2)` with `y = w^2 h^2 / 4` and `w` the
/// row's own frequency: nothing to speak of below `w h = 1/2` (a part in ten thousand per radian), half of the swing in a
/// step far above. Such a swing is not motion but a stretch of about `v h` that turns about with every step, with `w^2 h^2`
/// times the energy that made it: harmless as long as all steps are equal, thrown at the solids when a step is cut.
fn calm(rows: &mut Rows, masses: &Masses, h: f64) {
    if !rows.others().any(|g| matches!(g.law, Law::Soft { .. })) {
        return;
    }
    for k in 0..rows.groups.len() {
        let g = rows.groups[k];
        let Law::Soft { stiffness, damping } = g.law else { continue };
        let give = g.range().fold(0.0_f64, |most, r| {
            let of = |side: usize| {
                let j = &rows.jacobian[r][side];
                crate::rows::dot6(&masses.accelerate(g.solids[side], j), j)
            };
            most.max(of(0) + of(1))
        });
        let y = 0.25 * stiffness * give * h * h;
        if y > 0.0 {
            let damping = damping + 0.5 * stiffness * h / (1.0 + (1.0 / y).powi(2));
            rows.groups[k].law = Law::Soft { stiffness, damping };
        }
    }
}

/// The give of soft rows over a step of length `h`: `2 / (2 beta k h^2 + c h)` (see `variational.rs`).
pub(super) fn soften(rows: &mut Rows, h: f64) {
    rows.softness.clear();
    if !rows.others().any(|g| matches!(g.law, Law::Soft { .. })) {
        return;
    }
    rows.softness.resize(rows.len(), 0.0);
    for g in &rows.groups {
        if let Law::Soft { stiffness, damping } = g.law {
            let hold = 2.0 * AHEAD * stiffness * h * h + damping * h;
            // Neither spring nor damper: no force at all, as a very large give.
            let give = if hold > 0.0 { (2.0 / hold).min(1e30) } else { 1e30 };
            rows.softness[g.first..g.first + g.count].fill(give);
        }
    }
}
