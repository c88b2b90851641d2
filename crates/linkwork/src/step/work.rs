//! Scratch of one island's step: everything that may be thrown away without changing the future.

use super::free::Wrench;
use super::lanes::Lanes;
use super::{Piece, Stages, StepConfig};
use crate::graph::Graph;
use crate::joint::JointId;
use crate::math::{Matrix, Rotation, Vector};
use crate::mechanism::Mechanism;
use crate::nodes::Turning;
use crate::rows::{Ask, Gaps, Group, Law, Masses, Rows, Source, dot6};
use crate::solve::{Bounded, LinearSolver, Problem, Ranked, SolveReport, SolverKind, Work, larger};
use crate::state::State;

/// Rows, masses, solver and vectors of an island's step.
#[derive(Default)]
pub(crate) struct IslandWork {
    pub graph: Graph,
    pub rows: Rows,
    /// Rows at the end of the step while it is being found.
    pub next: Rows,
    pub masses: Masses,
    pub(super) solver: Option<(SolverKind, Box<dyn LinearSolver>)>,
    pub(super) exact: bool,
    /// Where the rows were filled.
    at: Option<Place>,
    place: Place,
    /// What the factor in the solver belongs to.
    factored: bool,
    /// Some joint, motor or spring acts only for a while.
    timed: bool,
    /// Springs, soft joints or motors with a stiffness store energy.
    pub(super) springy: bool,
    /// Some row is one-sided or limited in force.
    pub bounded: bool,
    epoch: Option<u64>,
    pub stages: Stages,
    pub wrenches: Vec<Wrench>,
    pub impulses: Vec<Wrench>,
    pub(super) lanes: Lanes,
    /// `I (I + beta h^2 K)^-1` of the solids whose inertia `tension.rs` raised: what is left of an angular impulse.
    pub raised: Vec<(usize, Matrix)>,
    pub tension: Vec<[f64; 6]>,
    pub pull: Vec<f64>,
    pub active: Vec<bool>,
    pub lambda: Vec<f64>,
    pub delta: Vec<f64>,
    pub b: Vec<f64>,
    /// Per row with a law of its own: its speed when the stage began.
    pub start_speed: Vec<f64>,
    /// Per block: damping of its soft rows, numerical damping included.
    pub soft_damping: Vec<f64>,
    pub(super) springs: super::springs::Springs,
    /// Per row: the give of soft rows over the step. Empty: all rows are rigid.
    pub give: Vec<f64>,
    /// Per row: what care adds to the diagonal of the matrix (see `care.rs`). Empty: solved as exactly as can be.
    pub shift: Vec<f64>,
    pub probe: Rows,
    pub moved: State,
    pub best: Vec<f64>,
    pub given: Vec<f64>,
    /// The state after joints that began to act were closed, before anything moved in time.
    pub closed: State,
    pub before: State,
    /// Nothing but gravity and forces brings energy in: no motors, springs, soft joints or trajectories.
    pub undriven: bool,
    pub start: State,
    pub correction: Bounded,
    /// Some solid follows a trajectory.
    pub scripted: bool,
    pub reduced: super::reduced::Scratch,
    pub push: Vec<[f64; 6]>,
    pub(super) explicit: super::accelerate::Scratch,
    pub(super) relaxed: super::relaxation::Scratch,
    pub ranked: Ranked,
    /// Restitution at bounds in this substep.
    pub(super) bounce: super::bounce::Bounce,
    /// What the stage asks of each row.
    pub asks: Vec<Ask>,
    /// Rows that hold in any case: the lower level.
    pub below: Vec<bool>,
    /// The motion that gives what is asked.
    pub dq: Vec<[f64; 6]>,
    /// How it changes the rows.
    changed: Vec<f64>,
    pub(super) levels: super::levels::Levels,
    /// What came of the rows above in this attempt.
    pub limits: super::LimitsReport,
    /// Motors that are no springs.
    pub(super) motors: super::motors::Motors,
    /// Soft bodies.
    pub(super) soft: super::soft::Soft,
    /// Contacts.
    pub(super) touch: super::touch::Touch,
}

/// A pose of everything, to recognise it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Place {
    step: f64,
    centers: Vec<Vector>,
    rotations: Turning<Rotation>,
}

/// What a joint pulls with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reaction {
    /// Force on the second solid, at its anchor; the first solid feels the opposite.
    pub force: Vector,
    /// Torque on the second solid about its anchor.
    pub torque: Vector,
}

impl IslandWork {
    /// Gets ready for a step: graph and solver of this mechanism. True when it is another one than before.
    pub fn begin(&mut self, m: &Mechanism, c: &StepConfig) -> bool {
        self.stages = Stages::default();
        if self.rows.squared != c.squared_distances {
            (self.rows.squared, self.next.squared) = (c.squared_distances, c.squared_distances);
            (self.probe.squared, self.rows.squared) = (c.squared_distances, c.squared_distances);
            self.forget();
        }
        let other = self.epoch != Some(m.epoch());
        if other {
            self.epoch = Some(m.epoch());
            self.graph.update(m);
            self.at = None;
            self.factored = false;
            self.scripted = m.solids().iter().any(|s| matches!(s.kernel, crate::solid::Kernel::Scripted(_)));
            self.undriven = m.springs.is_empty()
                && m.softs().is_empty()
                && m.joints().iter().all(|j| j.drives.is_empty() && j.compliance == 0.0)
                && !self.scripted;
            self.springy = !m.springs.is_empty()
                || m.joints().iter().any(|j| j.compliance > 0.0 || j.drives.iter().any(|d| d.is_soft()));
            self.motors.acts = m.joints().iter().any(|j| j.drives.iter().any(|d| !d.is_soft()));
            self.timed =
                m.joints().iter().any(|j| j.during.is_some()) || m.springs.iter().any(|s| s.during.is_some());
        }
        self.soft.update(m, c.dt);
        if self.solver.as_ref().is_none_or(|(kind, _)| *kind != c.solver) {
            let largest = self.graph.islands.iter().max_by_key(|i| i.joints.len());
            let kind =
                largest.map_or(c.solver.resolve(), |i| crate::predict::resolve(c.solver, m, &self.graph, i));
            self.exact = kind.is_exact();
            self.solver = Some((c.solver, kind.make()));
            self.factored = false;
        }
        other
    }

    pub fn start(&self, c: &StepConfig) -> f64 {
        c.clock.map_or(0.0, |clock| clock())
    }

    pub fn stop(&mut self, c: &StepConfig, since: f64, stage: impl Fn(&mut Stages) -> &mut f64) {
        if let Some(clock) = c.clock {
            *stage(&mut self.stages) += clock() - since;
        }
    }

    pub fn is_over(&self, c: &StepConfig) -> bool {
        c.out_of_time.is_some_and(|f| f())
    }

    /// Makes rows and masses those of `s`, with what acts at the end of the piece. True when they were already there, so
    /// that a factor of them is still good.
    pub fn linearise(&mut self, piece: &Piece, s: &State) -> bool {
        let Piece { m, c, h, end, .. } = *piece;
        let known = !self.timed
            && self
                .at
                .as_ref()
                .is_some_and(|p| p.step == h && p.centers == *s.centers && p.rotations == *s.rotations);
        if known {
            return self.factored;
        }
        let clock = self.start(c);
        let graph = &self.graph;
        self.rows.fill_motion(m, s, end, |j| graph.default_rank(j));
        self.stop(c, clock, |s| &mut s.rows);
        self.settle(m, s, h);
        false
    }

    /// Rows are filled at `s`: everything that goes with them.
    pub fn settle(&mut self, m: &Mechanism, s: &State, h: f64) {
        self.masses.update(m, s);
        self.find_below();
        self.soften(h);
        self.factored = false;
        self.place.step = h;
        self.place.centers.clone_from(&s.centers);
        self.place.rotations.clone_from(&s.rotations);
        self.at = Some(std::mem::take(&mut self.place));
    }

    /// Rows that hold in any case, whatever the midpoint stages ask of them.
    fn find_below(&mut self) {
        let rows = &self.rows;
        self.below.clear();
        self.below.resize(rows.len(), true);
        self.bounded = false;
        for g in rows.others() {
            for r in g.range().filter(|r| g.most_force.is_finite() || !rows.is_equality(*r)) {
                (self.below[r], self.bounded) = (false, true);
            }
        }
        self.lift_soft_rows();
    }

    /// Rows are no longer those of any known pose.
    pub fn forget(&mut self) {
        if let Some(place) = self.at.take() {
            self.place = place;
        }
        self.factored = false;
    }

    /// Factors the rows that hold in any case.
    pub fn factor(&mut self, c: &StepConfig) {
        let clock = self.start(c);
        let Some((_, solver)) = &mut self.solver else { return };
        let active: &[bool] = if self.bounded { &self.below } else { &[] };
        self.rows.softness.clone_from(&self.give);
        add_shift(&mut self.rows, &self.shift);
        solver.factor(&Problem { rows: &self.rows, masses: &self.masses, active, damping: None });
        self.factored = self.shift.is_empty();
        self.levels.forget_factor();
        self.touch.forget();
        self.stop(c, clock, |s| &mut s.factor);
    }

    /// `delta = A^-1 b` as an exact factor gives it, for who looks at what comes of it, and the most that it leaves of what
    /// was asked. Rows that depend on others are left out by the factor: they may miss by `enough`. None where there is no
    /// such answer.
    pub fn substitute(&mut self, c: &StepConfig, enough: f64) -> Option<f64> {
        let clock = self.start(c);
        self.delta.resize(self.rows.len(), 0.0);
        let (_, solver) = self.solver.as_mut()?;
        let mut left = solver.substitute(&self.b, &mut self.delta, false).then_some(0.0);
        if left.is_none() && solver.substitute(&self.b, &mut self.delta, true) {
            left = Some(self.left_of_asked()).filter(|left| *left <= enough);
        }
        self.stop(c, clock, |s| &mut s.solve);
        left
    }

    /// The largest entry of `b - A delta`, of rows that were factored.
    fn left_of_asked(&mut self) -> f64 {
        self.dq.clear();
        self.dq.resize(self.masses.len(), [0.0; 6]);
        self.rows.apply_transposed(&self.delta, &self.masses, &mut self.dq);
        self.changed.resize(self.rows.len(), 0.0);
        self.rows.apply(&self.dq, &mut self.changed);
        let gives = |r: usize| self.rows.softness.get(r).map_or(0.0, |give| give * self.delta[r]);
        let counts = |r: &usize| !self.bounded || self.below[*r];
        let left = |r: usize| (self.b[r] - self.changed[r] - gives(r)).abs();
        (0..self.rows.len()).filter(counts).map(left).fold(0.0, larger)
    }

    /// `delta = A^-1 b`, to `tolerance`.
    pub fn solve(&mut self, c: &StepConfig, tolerance: f64) -> SolveReport {
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
    pub fn relinearise(&mut self, piece: &Piece, s: &State, at: f64) {
        let clock = self.start(piece.c);
        let graph = &self.graph;
        self.rows.fill_motion(piece.m, s, at, |j| graph.default_rank(j));
        self.masses.update(piece.m, s);
        self.forget();
        self.stop(piece.c, clock, |s| &mut s.rows);
        self.take_care(piece, s, at);
    }

    /// A rigid block of rows that begins to act has a gap beyond the tolerance: it is to be closed before it moves anything.
    pub fn has_new_gaps(&self, s: &State, tolerance: f64) -> bool {
        let memory = s.memory.own();
        let rows = &self.rows;
        if memory.substep > 0.0 && memory.keys == rows.keys {
            return false;
        }
        rows.groups.iter().zip(&rows.keys).any(|(g, key)| {
            let rigid = g.law == Law::Hold && g.most_force == f64::INFINITY;
            rigid && !memory.knows(*key) && !(rows.group_gaps(g).worst() <= tolerance.max(1e-9))
        })
    }

    /// Fills `next` with the rows at the start of the step, as far as something is measured against them.
    pub fn measure_start(&mut self, piece: &Piece) {
        let m = piece.m;
        self.next.clear();
        let drives = m.joints().iter().any(|j| !j.drives.is_empty() || j.compliance > 0.0);
        if drives || !m.springs.is_empty() {
            let graph = &self.graph;
            self.next.fill_motion(m, &self.start, piece.end, |j| graph.default_rank(j));
        }
    }

    /// One correction of the rows as they are, one-sided ones included; the answer is in `correction`.
    pub fn solve_bounded(&mut self, c: &StepConfig, solids: usize) -> usize {
        let clock = self.start(c);
        let Some((_, solver)) = &mut self.solver else { return 0 };
        let work = Work {
            iterations: c.solver_iterations,
            tolerance: 1e-3 * c.tolerance,
            out_of_time: c.out_of_time,
        };
        add_shift(&mut self.rows, &self.shift);
        let report = self.correction.solve(solver.as_mut(), &self.rows, &self.masses, solids, None, &work);
        take_shift(&mut self.rows, &self.shift);
        self.factored = false;
        self.stop(c, clock, |s| &mut s.solve);
        report.solve.iterations
    }

    /// The rows as they are, whatever their intervals stand for, to the last digits that the solver has; the answer is
    /// in `correction`.
    pub fn solve_exactly(&mut self, c: &StepConfig, solids: usize) -> usize {
        let clock = self.start(c);
        let Some((_, solver)) = &mut self.solver else { return 0 };
        let most = (0..self.rows.len()).fold(0.0, |m: f64, r| m.max(self.rows.wanted(r).abs()));
        let iterations = if self.exact { 3 } else { c.solver_iterations };
        let work = Work { iterations, tolerance: 1e-14 * most, out_of_time: c.out_of_time };
        add_shift(&mut self.rows, &self.shift);
        let report = self.correction.solve(solver.as_mut(), &self.rows, &self.masses, solids, None, &work);
        take_shift(&mut self.rows, &self.shift);
        self.factored = false;
        self.stop(c, clock, |s| &mut s.solve);
        report.solve.iterations
    }

    /// One correction by rank: primary rows exactly, secondary ones as well as those leave free; the answer is in
    /// `ranked`. What `b` and `active` hold is what is solved for.
    pub fn solve_ranked(&mut self, c: &StepConfig, solids: usize, damping: f64) -> usize {
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

    /// Rows are known to be those of `s`.
    pub(super) fn is_filled_at(&self, s: &State) -> bool {
        self.at.as_ref().is_some_and(|p| p.centers == *s.centers && p.rotations == *s.rotations)
    }

    /// Something acts only for a while.
    pub(super) fn is_timed(&self) -> bool {
        self.timed
    }

    /// The gaps of everything rigid at the end of a step.
    pub fn final_gaps(&mut self, m: &Mechanism, s: &State) -> Gaps {
        if !self.is_filled_at(s) {
            let graph = &self.graph;
            self.rows.fill_motion(m, s, s.time, |j| graph.default_rank(j));
            self.forget();
        }
        rigid_gaps(&self.rows)
    }

    /// Sum of the squares of what rigid rows ask for.
    pub fn rigid_merit(&self) -> f64 {
        let rigid = |g: &&Group| g.law == Law::Hold && g.most_force == f64::INFINITY;
        let rows = self.rows.groups.iter().filter(rigid).flat_map(|g| g.range());
        rows.map(|r| self.rows.wanted(r).powi(2)).sum()
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

    /// What each joint that acted pulled with, in joint order, by the forces in the state's memory.
    pub fn reactions(&self, m: &Mechanism, s: &State) -> Option<Vec<(JointId, Reaction)>> {
        let memory = s.memory.own();
        (memory.keys == self.rows.keys).then(|| self.reactions_of(m, s, &memory.forces))
    }

    /// The same by the accelerations at the state itself. The impulses of `variational` hold positions and velocities to
    /// second order, each for itself only to first: half of them belongs to the next step.
    pub fn exact_reactions(&mut self, m: &Mechanism, s: &State) -> Vec<(JointId, Reaction)> {
        let c = StepConfig { tolerance: 1e-9, ..StepConfig::default() };
        let h = s.memory.own().substep.max(f64::MIN_POSITIVE);
        let (begin, end) = (s.time, s.time);
        let piece = Piece { m, c: &c, h, begin, end, last_try: true, careful: false, contradict: false };
        let forces = super::accelerate::forces(&piece, &mut s.clone(), self);
        self.reactions_of(m, s, &forces)
    }

    fn reactions_of(&self, m: &Mechanism, s: &State, forces: &[f64]) -> Vec<(JointId, Reaction)> {
        let joints = self.rows.groups.iter().filter(|g| g.source == Source::Joint);
        let known = joints.filter(|g| g.range().end <= forces.len());
        known.map(|g| (g.joint, at_anchor(m, s, g.joint, self.rows.pull(g, 1, forces)))).collect()
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

/// `J M^-1 J^T` of one row.
pub(super) fn mobility(rows: &Rows, masses: &Masses, g: &Group, r: usize) -> f64 {
    (0..2)
        .map(|side| {
            let j = rows.half_row(g, r - g.first, side);
            dot6(&masses.accelerate(g.solids[side], &j), &j)
        })
        .sum()
}

/// Care is part of what solvers see, and of nothing else.
pub(super) fn add_shift(rows: &mut Rows, shift: &[f64]) {
    if shift.len() == rows.len() && !shift.is_empty() {
        rows.softness.resize(shift.len(), 0.0);
        rows.softness.iter_mut().zip(shift).for_each(|(s, x)| *s += x);
    }
}

fn take_shift(rows: &mut Rows, shift: &[f64]) {
    if shift.len() == rows.len() && !shift.is_empty() {
        rows.softness.iter_mut().zip(shift).for_each(|(s, x)| *s -= x);
    }
}
