//! One island of a mechanism: the unit of a step. Substeps, care, fallback, budget, convergence and sleep are its own;
//! it never notices that another one exists.

use super::energy::{Balance, EnergyReport, Ledger};
use super::{Advanced, IslandWork, Piece, Rejected, StepConfig, StepReport, method};
use crate::mechanism::{Mechanism, Part};
use crate::rows::Gaps;
use crate::state::{IslandMemory, State};

/// Steps for which care is taken before a step is solved exactly again.
const CARE: u32 = 16;
/// Steps without motion after which an island sleeps.
const STILL: u32 = 30;
/// It does not move: less than this share of the tolerance in a step.
const REST: f64 = 0.01;

/// An island as a mechanism of its own, with its state and scratch.
#[derive(Default)]
pub(crate) struct Island {
    pub part: Part,
    /// Its share of the whole's state, at the end of the last step.
    pub state: State,
    /// Where it tries things.
    trial: State,
    /// The best of them.
    best: State,
    pub work: IslandWork,
    pub report: StepReport,
    /// Something is driven, scripted or acts only for a while: it may move though it rests.
    restless: bool,
}

impl Island {
    pub fn new(part: Part) -> Self {
        let m = &part.mechanism;
        let restless = m.solids().iter().any(|s| matches!(s.kernel, crate::solid::Kernel::Scripted(_)))
            || m.joints().iter().any(|j| !j.drives.is_empty() || j.during.is_some())
            || m.springs.iter().any(|s| s.during.is_some())
            || m.forces.iter().any(|f| f.during.is_some());
        Self { part, restless, ..Self::default() }
    }

    /// The lowest solid that moves: by it the island is known.
    pub fn solid(&self) -> u32 {
        let m = &self.part.mechanism;
        let first = (0..m.solids().len()).find(|i| !m.solids()[*i].is_fixed());
        first.map_or(0, |i| self.part.solids[i].0)
    }

    pub fn is_asleep(&self, m: &Mechanism, memory: &IslandMemory, c: &StepConfig) -> bool {
        c.sleep && !self.restless && memory.still >= STILL && memory.gravity == m.gravity.to_array()
    }

    /// Takes its share of the whole's state; `memory` is what the whole remembers of it.
    pub fn gather(&mut self, m: &Mechanism, whole: &State, memory: IslandMemory) {
        self.part.refresh(m);
        self.part.gather(m, whole, &mut self.state);
        self.state.memory.islands.clear();
        self.state.memory.islands.push(memory);
    }

    /// One step of the island's state: by the plain method, with care, in substeps, in that order, until the energy and
    /// the gaps say that it can be believed. The report tells what came of it.
    pub fn step(&mut self, c: &StepConfig) {
        let (part, w) = (&self.part.mechanism, &mut self.work);
        w.begin(part, c);
        let of = Balance::new(part, c.method);
        let before = w.final_gaps(part, &self.state).worst();
        let care = self.state.memory.own().care;
        let mut attempt =
            Attempt { pieces: method::least_pieces(part, &self.state, c), careful: care > 0, last_try: false };
        let mut best: Option<Outcome> = None;
        let mut spent = (0, 0);
        let end = loop {
            attempt.last_try = 2 * attempt.pieces > c.most_substeps || w.is_over(c);
            self.trial.clone_from(&self.state);
            let mut outcome = attempt.run(part, &mut self.trial, w, c, of);
            spent = (spent.0 + outcome.done.iterations, spent.1 + outcome.done.solver_iterations);
            outcome.done.iterations = spent.0;
            outcome.done.solver_iterations = spent.1;
            let good = outcome.is_good(before, c);
            if outcome.is_better_than(best.as_ref()) {
                std::mem::swap(&mut self.best, &mut self.trial);
                best = Some(outcome);
            }
            if good || !attempt.go_on(care > 0, c, w) {
                break best.unwrap_or(outcome);
            }
        };
        self.finish(end, care, c);
    }

    fn finish(&mut self, end: Outcome, care: u32, c: &StepConfig) {
        let (part, w) = (&self.part.mechanism, &mut self.work);
        let mut report = StepReport { rejected: end.rejected, ..StepReport::default() };
        report.iterations = end.done.iterations;
        report.solver_iterations = end.done.solver_iterations;
        report.substeps = end.attempt.pieces;
        report.fallbacks = end.fallbacks;
        report.careful = end.attempt.careful;
        report.projected = end.done.projected;
        report.energy = end.energy;
        if end.rejected.is_none() {
            std::mem::swap(&mut self.state, &mut self.best);
            let needed = end.attempt.careful && (care == 0 || !end.is_good(0.0, c));
            let memory = self.state.memory.own_mut();
            memory.care = if needed { CARE } else { care.saturating_sub(1) };
            if !end.explained {
                report.energy.unexplained = 1;
                if end.energy.change > 0.0 && !end.driven {
                    clamp(&mut self.state, w, &mut report.energy);
                }
            }
            let clock = w.start(c);
            report.gaps = w.final_gaps(part, &self.state);
            w.stop(c, clock, |s| &mut s.rows);
            report.missed = !(report.gaps.worst() <= c.tolerance);
            self.rest(c);
        }
        report.stages = self.work.stages;
        self.report = report;
    }

    /// Counts the steps at whose end nothing moved; after some the island sleeps, and its speed is zero.
    fn rest(&mut self, c: &StepConfig) {
        let s = &mut self.state;
        let most = (REST * c.tolerance / c.dt).powi(2);
        let moves = |i: usize| s.velocities[i].length_squared() > most || s.spins[i].length_squared() > most;
        let still = !(0..s.centers.len()).any(moves);
        let memory = s.memory.own_mut();
        memory.gravity = self.part.mechanism.gravity.to_array();
        memory.still = if still { (memory.still + 1).min(STILL) } else { 0 };
        if c.sleep && !self.restless && memory.still >= STILL {
            s.velocities.fill(crate::math::Vector::ZERO);
            s.spins.fill(crate::math::Vector::ZERO);
        }
    }
}

/// Takes a gain that nothing explains out of the speed: whatever went wrong, no energy is made.
fn clamp(s: &mut State, w: &IslandWork, energy: &mut EnergyReport) {
    if !(energy.kinetic > 0.0) {
        return;
    }
    let keep = ((energy.kinetic - energy.change).max(0.0) / energy.kinetic).sqrt();
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        s.velocities[i] *= keep;
        s.spins[i] *= keep;
    }
    energy.clamped = 1;
}

/// How a step is tried.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    pieces: usize,
    /// Rows that depend on each other are solved with care (`care.rs`).
    careful: bool,
    /// There will be no shorter substeps: what is too long must be taken all the same.
    last_try: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    attempt: Attempt,
    done: Advanced,
    fallbacks: usize,
    energy: EnergyReport,
    explained: bool,
    driven: bool,
    gaps: Gaps,
    rejected: Option<Rejected>,
}

impl Attempt {
    /// The step in equal substeps, unless time runs out; the last one ends exactly at `t + dt`.
    fn run(
        self,
        m: &Mechanism,
        s: &mut State,
        w: &mut IslandWork,
        c: &StepConfig,
        of: Balance,
    ) -> Outcome {
        let mut outcome = Outcome {
            attempt: self,
            done: Advanced::default(),
            fallbacks: 0,
            energy: EnergyReport::default(),
            explained: true,
            driven: of.is_driven(),
            gaps: Gaps { position: f64::INFINITY, angle: f64::INFINITY },
            rejected: None,
        };
        let start = s.time;
        let (mut k, mut last_try) = (0, self.last_try);
        let mut from = std::mem::take(&mut w.from);
        while k < self.pieces && outcome.rejected.is_none() {
            k += 1;
            let mut h = c.dt / self.pieces as f64;
            if k > 1 && w.is_over(c) {
                // Out of time: what is left is taken in one piece, as well as can be.
                h *= (self.pieces - k + 1) as f64;
                (k, last_try) = (self.pieces, true);
            }
            let end = start + c.dt * (k as f64 / self.pieces as f64);
            let piece = Piece { m, c, h, begin: s.time, end, last_try, careful: self.careful };
            from.clone_from(s);
            let ledger = w.ledger(m, s, end);
            match c.method.advance(&piece, s, w) {
                Ok(_) if !s.is_finite() => outcome.rejected = Some(Rejected::NotFinite),
                Ok(done) => outcome.add(&piece, done, of, ledger, &from, s, w),
                Err(why) => outcome.rejected = Some(why),
            }
        }
        w.from = from;
        if outcome.rejected.is_none() {
            outcome.gaps = w.final_gaps(m, s);
        }
        outcome
    }

    /// The next thing to try: with care, then in shorter substeps. False: there is nothing left.
    fn go_on(&mut self, care_first: bool, c: &StepConfig, w: &IslandWork) -> bool {
        if w.is_over(c) && self.last_try {
            return false;
        }
        if self.careful == care_first {
            self.careful = !care_first;
            return true;
        }
        (self.careful, self.pieces) = (care_first, 2 * self.pieces);
        self.pieces <= c.most_substeps
    }
}

impl Outcome {
    fn add(
        &mut self,
        piece: &Piece,
        done: Advanced,
        of: Balance,
        ledger: Ledger,
        from: &State,
        s: &State,
        w: &mut IslandWork,
    ) {
        self.done.iterations += done.iterations;
        self.done.solver_iterations += done.solver_iterations;
        self.done.projected |= done.projected;
        self.fallbacks += usize::from(done.fallback);
        let energy = w.balance(piece, of, ledger, from, s);
        // Joints that were closed before the step moved solids without time.
        if !done.closed && !done.projected {
            self.explained &= energy.is_explained(of, ledger);
            self.energy.add(&EnergyReport { kinetic: 0.0, ..energy });
        }
        self.energy.kinetic = energy.kinetic;
    }

    /// It can be believed: taken, explained, and no more open than before.
    fn is_good(&self, before: f64, c: &StepConfig) -> bool {
        let closed = self.gaps.worst() <= c.tolerance.max(1.5 * before) || !self.attempt.careful;
        self.rejected.is_none() && self.fallbacks == 0 && self.explained && closed
    }

    fn is_better_than(&self, other: Option<&Outcome>) -> bool {
        let Some(other) = other else { return true };
        let rank = |o: &Outcome| (o.rejected.is_none(), o.explained, o.fallbacks == 0);
        let (a, b) = (rank(self), rank(other));
        let excess = |o: &Outcome| o.energy.change.abs() / (o.energy.allowed + f64::MIN_POSITIVE);
        a > b || (a == b && a.1 && self.gaps.worst() < 0.5 * other.gaps.worst())
            || (a == b && !a.1 && excess(self) < 0.5 * excess(other))
    }
}
