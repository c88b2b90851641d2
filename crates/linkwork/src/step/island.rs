//! One island of a mechanism: the unit of a step. Substeps, care, fallback, budget, convergence and sleep are its own;
//! it never notices that another one exists.

use super::energy::{Balance, EnergyReport, Ledger, RETRY};
use super::{
    Advanced, IslandWork, Method, Piece, Reaction, Rejected, StepConfig, StepReport, method, rigid_gaps,
};
use crate::contact::ContactReport;
use crate::joint::{Joint, JointId};
use crate::math::Vector;
use crate::mechanism::{Mechanism, Part};
use crate::rows::Gaps;
use crate::state::{IslandMemory, State};

/// Steps for which care is taken before a step is solved exactly again.
const CARE: u32 = 16;

/// A gap of so many tolerances at the start of a step is none that a step left by chance.
const CONTRADICTION: f64 = 10.0;
/// Gaps that stood open may grow by so much in a step before it is tried again.
const GROWTH: f64 = 1.02;
/// A step that is fine but for its gaps is cut into so many times more substeps at most.
const GAP_PIECES: usize = 64;
/// Contacts and limits that are off their laws by more than so many tolerances are worth another try: where loops are stretched the
/// response of joints loses its digits, and a little before or after it has them.
const OFF_LAW: f64 = 100.0;
/// That many times more substeps are tried for it.
const OFF_LAW_PIECES: usize = 2;
/// Things that are much deeper in each other than before (`Touch::sank`) are worth so many times more substeps.
const SUNK_PIECES: usize = 16;
/// Gaps of this share of the island's size are no error of any length: what contradicts itself so much jams.
const JAM: f64 = 0.01;
/// What is left of the allowance of a single step in the account of the whole run: starts from rest need some.
const FIRST: f64 = 1e-3;
/// It does not move: less than this share of the tolerance in a step.
const REST: f64 = 0.01;
/// A heap that sweeps keep up rests below this speed, m/s and rad/s, and overlaps by less than this, metres: they leave some
/// of both.
const HEAP_REST: (f64, f64) = (0.01, 1e-3);

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
    /// Its longest lever, metres.
    size: f64,
    /// The last step was one of `variational`, whose impulses are no forces.
    by_impulses: bool,
    /// The assemblies that it is made of, and the scripted solids that it touches (see `workspace.rs`).
    pub members: Vec<u32>,
    pub touched: Vec<crate::solid::SolidId>,
    /// The lowest solid that moves: by it the island is known.
    pub solid: u32,
    /// What it is made of, as a number: see [`IslandMemory::made_of`].
    pub made_of: u64,
    /// What explains energy, and of which mechanism and method.
    balance: Option<(u64, Method, [bool; 2], Balance)>,
    /// The energy of `state`, as the last step found it, and under which gravity.
    ledger: Option<(Vector, Ledger)>,
}

impl Island {
    pub fn new(part: Part) -> Self {
        let m = &part.mechanism;
        let restless = m.solids().iter().any(|s| matches!(s.kernel, crate::solid::Kernel::Scripted(_)))
            || m.joints().iter().any(|j| !j.drives.is_empty() || j.during.is_some())
            || m.springs.iter().any(|s| s.during.is_some())
            || m.forces.iter().any(|f| f.during.is_some());
        let levers = m.joints().iter().flat_map(|j| {
            let lever = |f: &crate::Frame| (f.pose.translation - m.solid(f.solid).mass.center).length();
            let moving = j.frames.iter().filter(|f| !m.solid(f.solid).is_fixed()).map(lever);
            moving.chain(j.distance).collect::<Vec<_>>()
        });
        let size = levers.fold(0.0, f64::max);
        let first = (0..m.solids().len()).find(|i| !m.solids()[*i].is_fixed());
        let solid = first.map_or(0, |i| part.solids[i].0);
        let made_of = made_of(&part);
        Self { part, restless, size, solid, made_of, ..Self::default() }
    }

    /// Something is driven, scripted or acts only for a while: it never sleeps.
    pub fn is_restless(&self) -> bool {
        self.restless
    }

    /// What its joints pull with at the end of the last step.
    pub fn reactions(&mut self) -> Option<Vec<(JointId, Reaction)>> {
        let m = &self.part.mechanism;
        if self.by_impulses {
            return Some(self.work.exact_reactions(m, &self.state));
        }
        self.work.reactions(m, &self.state)
    }

    /// Takes its share of the whole's state; it is the one at place `k` of those that the whole remembers.
    pub fn gather(&mut self, m: &Mechanism, whole: &State, k: usize) {
        self.part.refresh(m);
        // Usually it is where the last step left it. Looking costs less than copying, and much is known of it then.
        if self.ledger.is_none() || !self.part.is_share(m, whole, &self.state) {
            self.part.gather(m, whole, &mut self.state);
            self.ledger = None;
        }
        let (own, remembered) = (self.state.memory.own_mut(), &whole.memory.islands[k]);
        if *own != *remembered {
            own.clone_from(remembered);
        }
    }

    /// What explains its energy.
    fn balance(&mut self, method: Method) -> Balance {
        let (m, touch) = (&self.part.mechanism, &self.work.touch);
        let contact = [!touch.is_empty(), touch.among_coats];
        match self.balance {
            Some((epoch, of, with, balance)) if (epoch, of, with) == (m.epoch(), method, contact) => balance,
            _ => {
                let balance = Balance::new(m, method, contact[0], contact[1]);
                self.balance = Some((m.epoch(), method, contact, balance));
                balance
            }
        }
    }

    /// Do joints begin to hold in this step? It is the first one, somebody changed what holds, or their time has come.
    fn catches(&self, c: &StepConfig) -> bool {
        let memory = self.state.memory.own();
        let (begin, end) = (self.state.time, c.end(self.state.time));
        let begins = |j: &Joint| j.during.is_some() && j.holds_at(end) && !j.holds_at(begin);
        memory.substep == 0.0
            || memory.made_of != self.made_of
            || self.part.mechanism.joints().iter().any(begins)
    }

    /// One step of the island's state: by the plain method, with care, in substeps, in that order, until the energy and
    /// the gaps say that it can be believed. The report tells what came of it.
    pub fn step(&mut self, c: &StepConfig) {
        self.by_impulses = c.method == Method::Variational;
        let balance = self.balance(c.method);
        let of = if self.catches(c) { balance.with_a_catch() } else { balance };
        let (m, w) = (&self.part.mechanism, &mut self.work);
        let epoch = w.begin(m, c);
        let open = w.final_gaps(m, &self.state).worst();
        let of = of.with_losses(w.may_lose(&self.state, c));
        let known = self.ledger.take().filter(|(gravity, _)| !epoch && *gravity == m.gravity);
        let ledger = known.map_or_else(|| w.ledger(m, &self.state, self.state.time), |(_, known)| known);
        let start = Start { of, open, ledger };
        let jam = start.jams_beyond(self.size, c);
        let IslandMemory { care, substep, .. } = *self.state.memory.own();
        // What was never stepped is closed first, if it can be.
        if substep > 0.0 && open > jam {
            return self.rest_in_compromise(c);
        }
        let mut attempt = Attempt {
            pieces: method::least_pieces(m, &w.masses, &self.state, c),
            careful: care > 0 && c.iterations >= 4,
            last_try: false,
            contradict: open > CONTRADICTION * c.tolerance,
        };
        let most = if attempt.contradict { 2 } else { GAP_PIECES } * attempt.pieces;
        let (most_off_law, most_sunk) = (OFF_LAW_PIECES * attempt.pieces, SUNK_PIECES * attempt.pieces);
        // Few iterations are a budget: there is none for a second try at what is there.
        let retries = start.of.retries() && c.iterations >= 4;
        let mut best: Option<Outcome> = None;
        let mut spent = (0, 0);
        let mut tries = 0;
        let end = loop {
            tries += 1;
            attempt.last_try = 2 * attempt.pieces > c.most_substeps || w.is_over(c);
            self.trial.clone_from(&self.state);
            let mut outcome = attempt.run(m, &self.state, &mut self.trial, w, c, &start);
            spent = (spent.0 + outcome.done.iterations, spent.1 + outcome.done.solver_iterations);
            (outcome.done.iterations, outcome.done.solver_iterations) = spent;
            if best.is_none_or(|b| outcome.is_better_than(&b)) {
                std::mem::swap(&mut self.best, &mut self.trial);
                w.touch.tally.keep();
                best = Some(outcome);
            }
            let good = outcome.is_good() || (outcome.rejected.is_none() && !retries);
            let enough = |b: Outcome| {
                let pieces = match b.gape <= 1.0 {
                    true if b.sunk <= 1.0 => most_off_law,
                    true => most_sunk,
                    false => most,
                };
                b.is_ordinary() && attempt.pieces >= pieces
            };
            let only_open = best.is_some_and(enough);
            if good || only_open || !attempt.go_on(care > 0, retries, c, w) {
                break best.unwrap_or(outcome);
            }
        };
        if substep == 0.0 && end.gap > jam {
            return self.rest_in_compromise(c);
        }
        self.finish(end, care, tries == 1, c);
    }

    /// Constraints that contradict each other by far leave no motion to compute: the island rests, and its gaps are made
    /// as small as they get. No speed comes of it.
    fn rest_in_compromise(&mut self, c: &StepConfig) {
        const ROUNDS: usize = 4;
        let (m, w) = (&self.part.mechanism, &mut self.work);
        let once = StepConfig { iterations: 1, ..*c };
        let (begin, end) = (self.state.time, c.end(self.state.time));
        let piece =
            Piece { m, c: &once, h: c.dt, begin, end, last_try: true, careful: true, contradict: true };
        let s = &mut self.state;
        s.time = end;
        s.velocities.fill(Vector::ZERO);
        s.spins.fill(Vector::ZERO);
        super::free::move_scripted(m, s, c.dt, end);
        let mut done = Advanced::default();
        for _ in 0..ROUNDS {
            w.relinearise(&piece, s, end);
            let merit = w.rigid_merit();
            self.trial.clone_from(s);
            super::displacement::correct(&piece, s, w, false, &mut done);
            if !(w.rigid_merit() < 0.999 * merit) || !s.is_finite() {
                s.clone_from(&self.trial);
                break;
            }
        }
        w.relinearise(&piece, s, end);
        for a in &w.rows.angles {
            s.angles[a.slot] = a.value;
        }
        s.memory.own_mut().remember(c.dt, &w.rows.keys, w.rows.low.iter().map(|_| 0.0));
        let gaps = rigid_gaps(&w.rows);
        self.report = StepReport {
            gaps,
            iterations: done.iterations,
            solver_iterations: done.solver_iterations,
            substeps: 1,
            careful: true,
            jammed: 1,
            missed: !(gaps.worst() <= c.tolerance),
            stages: w.stages,
            ..StepReport::default()
        };
    }

    /// `current`: rows are those of the outcome.
    fn finish(&mut self, end: Outcome, care: u32, current: bool, c: &StepConfig) {
        let (part, w) = (&self.part.mechanism, &mut self.work);
        let mut report = StepReport { rejected: end.rejected, ..StepReport::default() };
        report.iterations = end.done.iterations;
        report.solver_iterations = end.done.solver_iterations;
        report.substeps = end.attempt.pieces;
        report.fallbacks = end.fallbacks;
        report.careful = end.attempt.careful;
        report.projected = end.done.projected;
        report.energy = end.energy;
        report.contacts = end.contacts;
        report.soft = end.soft;
        report.limits = end.limits;
        report.unresolved = w.springs.unresolved;
        if end.rejected.is_none() {
            std::mem::swap(&mut self.state, &mut self.best);
            let needed = end.attempt.careful && (care == 0 || !end.is_good());
            let memory = self.state.memory.own_mut();
            memory.care = if needed { CARE } else { care.saturating_sub(1) };
            let (change, kinetic) = (end.energy.change, end.energy.kinetic);
            let (unexplained, caught) = end.of.split(change, RETRY * end.energy.allowed);
            memory.drift = if end.of.is_given() { 0.0 } else { end.of.carry(memory.drift, unexplained) };
            report.energy.caught = caught;
            if !w.touch.is_empty() || end.of.is_braked() {
                // What touches, or is driven, loses energy as it should: gains count from the least that there was.
                memory.drift = memory.drift.max(0.0);
            }
            // What moves when joints begin to hold was given, as far as they let it go on.
            let given = if end.of.is_a_start() { kinetic.min(end.kinetic_before) } else { 0.0 };
            let trusted = memory.peak.max(given);
            let believed = match end.of.has_motors() {
                // They give what they give, and at once.
                true => kinetic,
                false => kinetic.min(4.0 * trusted + end.energy.allowed),
            };
            memory.peak = trusted.max(believed);
            report.energy.drift = memory.drift;
            // What is within the tolerance of its place may be anywhere there, whatever pulls at it. Next to singular poses
            // joints pull as hard as they like, and that is no excuse.
            let weight = (0..w.masses.len()).map(|i| w.masses.mass(i)).sum::<f64>() * part.gravity.length();
            let pulls = memory.forces.iter().map(|f| f.abs()).sum::<f64>().min(10.0 * weight);
            // And the work of motors may belong to the step before or after, where motors and motions are solved for together.
            let work = if end.of.retries() { end.effort } else { 0.0 };
            // The energy of a spring that no step can show is low at the end of one and back at that of the next.
            let unseen = if end.of.has_motors() { end.unseen } else { 0.0 };
            let rounding = FIRST * end.energy.allowed + c.tolerance * pulls + work + unseen;
            let off = end.of.is_off(memory.drift, memory.peak, rounding);
            report.energy.unexplained = usize::from(off || !end.energy_is_explained);
            self.ledger = Some((part.gravity, end.ledger));
            let made = !end.energy_is_explained && end.energy.change > 0.0;
            if made && !end.of.is_given() && end.of.retries() {
                clamp(&mut self.state, w, &mut report.energy);
                self.ledger = None;
            }
            let clock = w.start(c);
            report.gaps = if current { end.gaps } else { w.final_gaps(part, &self.state) };
            w.stop(c, clock, |s| &mut s.rows);
            report.missed = !(report.gaps.worst() <= c.tolerance) || report.soft.gave_way > 0;
            self.rest(c, end.contacts.penetration, end.done.swept);
        }
        report.stages = self.work.stages;
        self.report = report;
    }

    /// Counts the steps at whose end nothing moved; after some the island sleeps, and its speed is zero. What overlaps is
    /// still on its way apart, though without speed.
    fn rest(&mut self, c: &StepConfig, penetration: f64, swept: bool) {
        let s = &mut self.state;
        let (speed, depth) = if swept { HEAP_REST } else { (REST * c.tolerance / c.dt, c.tolerance) };
        let (most, overlaps) = (speed * speed, penetration > depth);
        let moves = |i: usize| s.velocities[i].length_squared() > most || s.spins[i].length_squared() > most;
        let still = !overlaps && !(0..s.centers.len()).any(moves);
        let memory = s.memory.own_mut();
        memory.gravity = self.part.mechanism.gravity.to_array();
        memory.made_of = self.made_of;
        memory.still = if still { (memory.still + 1).min(IslandMemory::STILL) } else { 0 };
        if c.sleep && !self.restless && memory.still >= IslandMemory::STILL {
            self.ledger = None;
            s.velocities.fill(Vector::ZERO);
            s.spins.fill(Vector::ZERO);
        }
    }
}

/// A number for what acts in an island: which joints hold, which springs and forces there are.
fn made_of(part: &Part) -> u64 {
    let joints = part.joints.iter().zip(part.mechanism.joints());
    // Counted from the first one: what comes and goes elsewhere in the mechanism must not matter.
    let first = part.joints.first().map_or(0, |id| id.0);
    let holding = joints.filter(|(_, j)| j.enabled).map(|(id, _)| u64::from(id.0 - first));
    let rest = [part.mechanism.springs.len() as u64, part.mechanism.forces.len() as u64];
    let air = part.mechanism.air().map(|a| [a.wind.x, a.wind.y, a.wind.z, a.density].map(f64::to_bits));
    // FNV-1a, word by word.
    holding
        .chain(rest)
        .chain(air.into_iter().flatten())
        .fold(0xcbf2_9ce4_8422_2325, |h, x| (h ^ x).wrapping_mul(0x100_0000_01b3))
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
    /// Gaps stood open when the step began.
    contradict: bool,
}

/// The island as the step finds it.
struct Start {
    of: Balance,
    ledger: Ledger,
    /// Its widest gap.
    open: f64,
}

impl Start {
    /// The gap beyond which an island contradicts itself and rests. Few iterations, no tolerance at all, or a budget
    /// where something is driven are meant to leave gaps; and where the method itself leaves some, only what rests already stays so.
    fn jams_beyond(&self, size: f64, c: &StepConfig) -> f64 {
        let budget = c.out_of_time.is_some() && self.of.is_driven();
        let judged = c.iterations >= 4 && c.tolerance > 0.0 && !budget;
        match self.of.closes() {
            true if judged => (JAM * size).max(CONTRADICTION * c.tolerance),
            false if judged && self.ledger.is_still() => (5.0 * JAM * size).max(CONTRADICTION * c.tolerance),
            _ => f64::INFINITY,
        }
    }
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    attempt: Attempt,
    done: Advanced,
    fallbacks: usize,
    energy: EnergyReport,
    energy_is_explained: bool,
    /// Kinetic energy when the step began.
    kinetic_before: f64,
    of: Balance,
    /// Energy that nothing explains, and the widest gap, both in units of what an ordinary step has at most.
    excess: f64,
    gape: f64,
    /// How far contacts and limits are off their laws, likewise. Heaps are swept as far as they are.
    off_law: f64,
    /// How much deeper things are in each other, likewise.
    sunk: f64,
    gap: f64,
    contacts: ContactReport,
    soft: super::SoftReport,
    limits: super::LimitsReport,
    gaps: Gaps,
    /// The energy at the end, and what motors could have done at most.
    ledger: Ledger,
    effort: f64,
    /// The part of the kinetic energy of springs that the end of the step does not tell of.
    unseen: f64,
    rejected: Option<Rejected>,
}

impl Attempt {
    /// The step in equal substeps, unless time runs out; the last one ends exactly at `t + dt`.
    fn run(
        self,
        m: &Mechanism,
        from: &State,
        s: &mut State,
        w: &mut IslandWork,
        c: &StepConfig,
        start: &Start,
    ) -> Outcome {
        let mut outcome = Outcome {
            attempt: self,
            done: Advanced::default(),
            fallbacks: 0,
            energy: EnergyReport::default(),
            energy_is_explained: true,
            kinetic_before: start.ledger.kinetic(),
            of: start.of,
            excess: 0.0,
            gape: f64::INFINITY,
            off_law: 0.0,
            sunk: 0.0,
            gap: f64::INFINITY,
            contacts: ContactReport::default(),
            soft: super::SoftReport::default(),
            limits: super::LimitsReport::default(),
            gaps: Gaps::default(),
            ledger: start.ledger,
            effort: 0.0,
            unseen: 0.0,
            rejected: None,
        };
        let mut piece = Piece {
            m,
            c,
            h: c.dt / self.pieces as f64,
            begin: from.time,
            end: from.time,
            last_try: self.last_try,
            careful: self.careful,
            contradict: self.contradict,
        };
        w.touch.begin_attempt();
        w.motors.begin_attempt();
        w.soft.begin_wind_work();
        w.limits = super::LimitsReport::default();
        let (mut k, mut blows) = (0, 0);
        while k < self.pieces && outcome.rejected.is_none() {
            k += 1;
            if k > 1 && w.is_over(c) {
                // Out of time: what is left is taken in one piece, as well as can be.
                piece.h *= (self.pieces - k + 1) as f64;
                (k, piece.last_try) = (self.pieces, true);
            }
            piece.begin = s.time;
            piece.end = match self.pieces - k {
                0 => c.end(from.time),
                _ => from.time + c.dt * (k as f64 / self.pieces as f64),
            };
            self.advance(&piece, s, w, &mut blows, &mut outcome);
        }
        outcome.limits = w.limits;
        if outcome.rejected.is_none() {
            let whole = Piece { h: c.dt, begin: from.time, ..piece };
            outcome.weigh(&whole, start, from, s, w);
        }
        outcome
    }

    /// One piece, cut where something fast is met.
    fn advance(
        self,
        whole: &Piece,
        s: &mut State,
        w: &mut IslandWork,
        blows: &mut usize,
        outcome: &mut Outcome,
    ) {
        // The parts of a cut step are taken as well as any other, or the cut was for nothing: the clock is looked at between steps.
        let unhurried = StepConfig { out_of_time: None, ..*whole.c };
        let (mut piece, mut left) = (*whole, true);
        while left && outcome.rejected.is_none() {
            // Few iterations are a budget.
            let rough = whole.c.out_of_time.is_some() && whole.c.iterations < 4;
            let cuts = whole.c.method.knows_contact() && !rough && *blows < super::touch::MOST_BLOWS;
            let met = if cuts { w.first_blow(&piece, s) } else { None };
            let c = if met.is_some() { &unhurried } else { piece.c };
            let part = met.map_or(piece, |h| Piece { c, h, end: s.time + h, ..piece });
            *blows += usize::from(met.is_some());
            left = met.is_some();
            w.begin_motors(&part, s);
            match whole.c.method.advance(&part, s, w) {
                Ok(_) if !s.is_finite() => outcome.rejected = Some(Rejected::NotFinite),
                Ok(done) => {
                    w.end_motors(s);
                    outcome.add(done);
                    // As it is at the end, but off the laws by the worst of the way.
                    let off = crate::solve::larger(outcome.contacts.residual, w.touch.report.residual);
                    outcome.contacts = ContactReport { residual: off, ..w.touch.report };
                    outcome.soft = w.soft.report.after(&outcome.soft);
                }
                Err(why) => outcome.rejected = Some(why),
            }
            piece = Piece { c, h: whole.end - s.time, begin: s.time, ..piece };
        }
    }

    /// The next thing to try: with care, then in shorter substeps. False: there is nothing left.
    fn go_on(&mut self, care_first: bool, retries: bool, c: &StepConfig, w: &IslandWork) -> bool {
        if w.is_over(c) && self.last_try {
            return false;
        }
        // Care is about rows: without any, only shorter substeps are another try. Crowds take as long for care as for two
        // pieces, and it is the length of the step that troubles them.
        let useful = care_first || !(w.rows.is_empty() || w.touch.crowd.swept);
        if self.careful == care_first && retries && useful {
            self.careful = !care_first;
            return true;
        }
        (self.careful, self.pieces) = (care_first, 2 * self.pieces);
        self.pieces <= c.most_substeps
    }
}

impl Outcome {
    fn add(&mut self, done: Advanced) {
        self.done.iterations += done.iterations;
        self.done.solver_iterations += done.solver_iterations;
        self.done.projected |= done.projected;
        self.done.closed |= done.closed;
        self.done.swept |= done.swept;
        self.fallbacks += usize::from(done.fallback);
    }

    /// Looks at the energy and the gaps of the whole step.
    fn weigh(&mut self, whole: &Piece, start: &Start, from: &State, s: &State, w: &mut IslandWork) {
        self.gaps = w.final_gaps(whole.m, s);
        let gap = self.gaps.worst();
        self.gap = gap;
        // Few iterations are a budget, and leave what they leave.
        let few = whole.c.iterations < 4 || whole.c.tolerance == 0.0 || !start.of.closes();
        self.gape = if few { 0.0 } else { gap / whole.c.tolerance.max(GROWTH * start.open) };
        // Limits that are crossed, or push where they are not reached, are laws like those of contact. How far off they are is
        // not held against a gap: they are closed at the end of the step all the same.
        const OFF_LIMITS: f64 = 2.0;
        let off = |residual: f64| residual / (OFF_LAW * whole.c.tolerance);
        let limits = off(self.limits.residual).min(OFF_LIMITS);
        let off_law = crate::solve::larger(off(self.contacts.residual), limits);
        self.off_law = if few || self.contacts.heaps > 0 { 0.0 } else { off_law };
        let heap = self.contacts.heaps > 0 && !w.touch.crowd.swept;
        self.sunk = if few || heap { 0.0 } else { w.touch.sank() };
        // Joints that were closed before the step moved solids without time: it counts from there.
        let closed = std::mem::take(&mut w.closed);
        let (from, ledger) = if self.done.closed {
            (&closed, w.ledger(whole.m, &closed, whole.begin))
        } else {
            (from, start.ledger)
        };
        self.of = start.of.with_losses(w.may_lose(s, whole.c));
        (self.energy, self.ledger) = w.balance(whole, self.of, ledger, from, s);
        (self.effort, self.unseen) = (w.motors.giving, w.unseen_energy(s, whole.h));
        self.excess = self.energy.excess(self.of, ledger);
        self.energy_is_explained = self.energy.is_explained(self.of, ledger);
        if self.done.swept {
            // Sweeps leave what they leave: a gain is taken out of the speed.
            self.excess = 0.0;
        }
        w.closed = closed;
    }

    fn is_ordinary(&self) -> bool {
        self.rejected.is_none() && self.fallbacks == 0 && self.excess <= 1.0
    }

    /// It can be believed: taken, explained, no more open than before, and contacts keep to their laws.
    fn is_good(&self) -> bool {
        self.is_ordinary() && self.gape <= 1.0 && self.off_law <= 1.0 && self.sunk <= 1.0
    }

    fn is_better_than(&self, other: &Outcome) -> bool {
        // What can be believed ends the search: it must not lose to what is hardly worse, and cannot. What touches is
        // judged by all of its laws at once, and goes by the smallest excess.
        let rank = |o: &Outcome| {
            (
                o.contacts.points == 0 && o.is_good(),
                o.rejected.is_none(),
                o.energy_is_explained,
                o.fallbacks == 0,
            )
        };
        let merit = |o: &Outcome| o.excess.max(o.gape).max(o.off_law).max(o.sunk);
        rank(self) > rank(other) || (rank(self) == rank(other) && merit(self) < 0.7 * merit(other))
    }
}
