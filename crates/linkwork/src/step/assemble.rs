//! Assembly: from wherever the solids are to where the constraints hold.
//!
//! The loop is Faure's `correction` (1998, section 3.4): linearise, solve, turn no solid by more than `max_rotation`,
//! repeat. It is Newton's method in the mass metric, so it moves as little mass as it can and stays near the start.
//! Beyond the paper, in this order and only as far as needed:
//!
//! 1. **Newton** with the rotation truncation. While gaps are wide solids are made harder to turn (`STIFFENING`): slender
//!    parts would otherwise spin instead of coming near. Closes nearly everything.
//! 2. **Gently** once more from the same start: stiffer still, until no rotation needs truncation. Closes long chains.
//! 3. **Levenberg-Marquardt** from the best pose seen: the same system with `A + mu`, each step accepted only if the sum
//!    of squared gaps falls. Ends in a pose that no small motion improves.
//! 4. **Along the valley** where hardly anything is left: a linkage that moves only because its lengths agree closes, once
//!    one length is a little off, somewhere else on the way it used to go (see `valley`).
//! 5. **Restarts**: the solids at the open joints are kicked, more of them each time, and 1-3 start over.
//! 6. If gaps remain everywhere, the constraints **conflict**: the best least-squares pose is kept, and refined by rank:
//!    primary constraints exactly, secondary ones sharing what is left (see `compromise`).
//!
//! Islands are assembled one by one.

mod compromise;
#[cfg(test)]
mod tests;
mod valley;

use crate::graph::{Graph, Island};
use crate::joint::{JointId, Rank};
use crate::math::{Matrix, Random, Vector};
use crate::mechanism::{Mechanism, Part};
use crate::rows::{Gaps, HalfRow, Masses, Rows, dot6};
use crate::solve::{Bounded, LinearSolver, SolverKind, Work};
use crate::state::State;

/// How hard to try, and what is good enough.
#[derive(Clone, Copy)]
pub struct AssembleConfig<'a> {
    /// Largest gap that counts as closed, in metres and radians.
    pub tolerance: f64,
    /// Most geometric iterations per island. `None`: as many as make sense, restarts included. A number also rules out
    /// restarts: the paper's budgeted correction.
    pub iterations: Option<usize>,
    /// Most iterations of an iterative solver per linear system.
    pub solver_iterations: usize,
    /// Which solver.
    pub solver: SolverKind,
    /// No solid turns further in one iteration; 0.8 rad in the paper.
    pub max_rotation: f64,
    /// Most restarts per island.
    pub restarts: usize,
    /// Start of the restart kicks.
    pub seed: u64,
    /// Asked once per iteration and inside long solves; true ends the work.
    pub out_of_time: Option<&'a dyn Fn() -> bool>,
    /// Told after every iteration.
    pub progress: Option<&'a dyn Fn(&Progress)>,
}

impl Default for AssembleConfig<'_> {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            iterations: None,
            solver_iterations: 2000,
            solver: SolverKind::Auto,
            max_rotation: 0.8,
            restarts: 12,
            seed: 1,
            out_of_time: None,
            progress: None,
        }
    }
}

/// How far an assembly has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Island being assembled, from 1.
    pub island: usize,
    /// Number of islands.
    pub islands: usize,
    /// Geometric iterations on it so far.
    pub iterations: usize,
    /// Its largest gap now.
    pub gap: f64,
}

/// How an assembly ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Every gap is within the tolerance.
    Ok,
    /// A limit ended it while it was still improving.
    Budget,
    /// The constraints contradict each other: the pose is a least-squares compromise.
    Conflict,
    /// Numbers left the range of arithmetic; the last finite pose stays.
    Diverged,
}

impl Outcome {
    /// The word reports use.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Budget => "budget",
            Outcome::Conflict => "conflict",
            Outcome::Diverged => "diverged",
        }
    }
}

/// A joint and how far it is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointGap {
    /// Which.
    pub joint: JointId,
    /// Distance and angle.
    pub gaps: Gaps,
}

/// What an assembly did.
#[derive(Clone, Debug, PartialEq)]
pub struct AssembleReport {
    /// How it ended; the worst over the islands.
    pub outcome: Outcome,
    /// Largest gaps left.
    pub gaps: Gaps,
    /// Geometric iterations: the largest number any island needed.
    pub iterations: usize,
    /// Iterations inside the linear solver, all together.
    pub solver_iterations: usize,
    /// Restarts, all together.
    pub restarts: usize,
    /// The most open joints beyond the tolerance, worst first, at most ten.
    pub worst: Vec<JointGap>,
    /// The solver that did the work (of the largest island).
    pub solver: &'static str,
}

/// Moves the solids so that the constraints hold, as near to the start as it finds.
///
/// ```
/// use linkwork::{assemble, AssembleConfig, Frame, Joint, Mechanism, Outcome, Solid, SolidId, State, Vector};
/// let mut m = Mechanism::new();
/// let arm = m.add_solid(Solid::new("arm").at(3.0, 1.0, 0.0))?;
/// m.add_joint(Joint::ball(
///     Frame::point(SolidId::WORLD, Vector::ZERO),
///     Frame::point(arm, Vector::new(-1.0, 0.0, 0.0)),
/// ))?;
/// let mut state = State::new(&m);
/// let report = assemble(&m, &mut state, &AssembleConfig::default());
/// assert_eq!(report.outcome, Outcome::Ok);
/// assert!(report.gaps.position < 1e-6);
/// # Ok::<(), linkwork::ModelError>(())
/// ```
pub fn assemble(m: &Mechanism, state: &mut State, config: &AssembleConfig) -> AssembleReport {
    let graph = Graph::new(m);
    let mut report = AssembleReport {
        outcome: Outcome::Ok,
        gaps: Gaps::default(),
        iterations: 0,
        solver_iterations: 0,
        restarts: 0,
        worst: Vec::new(),
        solver: config.solver.resolve().name(),
    };
    let mut largest = 0;
    for (k, island) in graph.islands.iter().enumerate() {
        // Each island by itself: the cost of one must not grow with the number of the others.
        let part = Part::new(m, island);
        let mut own = part.state(m, state);
        let own_graph = Graph::new(&part.mechanism);
        let [own_island] = &own_graph.islands[..] else { continue };
        let numbers = (k + 1, graph.islands.len());
        let mut work = Assembler::new(&part.mechanism, &own_graph, own_island, config, numbers);
        let outcome = work.run(&mut own);
        part.put_back(m, &own, state);
        report.outcome = report.outcome.max(outcome);
        report.gaps = report.gaps.max(work.rows.gaps());
        report.iterations = report.iterations.max(work.iterations);
        report.solver_iterations += work.solver_iterations;
        report.restarts += work.restarts;
        if work.rows.len() >= largest {
            largest = work.rows.len();
            report.solver = work.solver.name();
        }
        report.worst.extend(
            work.rows
                .groups
                .iter()
                .map(|g| JointGap { joint: part.joints[g.joint.index()], gaps: work.rows.group_gaps(g) })
                .filter(|g| !(g.gaps.worst() <= config.tolerance)),
        );
    }
    report.worst.sort_by(|a, b| b.gaps.worst().total_cmp(&a.gaps.worst()).then(a.joint.cmp(&b.joint)));
    report.worst.truncate(10);
    report
}

/// How one search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    Closed,
    /// No small motion helps.
    Stuck,
    /// Iterations or time ran out.
    Limit,
    /// Not finite any more.
    Broken,
}

/// The work on one island.
struct Assembler<'a> {
    m: &'a Mechanism,
    graph: &'a Graph,
    island: &'a Island,
    config: &'a AssembleConfig<'a>,
    /// Which island of how many, from 1.
    numbers: (usize, usize),
    /// Mean reach of its solids.
    size: f64,
    rows: Rows,
    masses: Masses,
    bounded: Bounded,
    solver: Box<dyn LinearSolver>,
    iterations: usize,
    solver_iterations: usize,
    restarts: usize,
    /// Rank no longer counts, only weight: rank 1 contradicts itself.
    shared: bool,
}

/// Iterations after which a free search gives up: Newton, then Levenberg-Marquardt. Measured needs are far below (see
/// docs/assembly.md).
const NEWTON: usize = 60;
const MARQUARDT: usize = 200;
/// A damped solve is not asked for the exact answer of rows that depend on each other.
const BARELY: f64 = 1e-14;

/// While gaps are wide, solids turn as if their mass were spread this many gaps wide: a linearised turn is only good for
/// motions much smaller than its lever, and slender or light parts would spin instead of coming near. The effect
/// vanishes with the square of the gap, so that the last steps are those of the true masses.
const STIFFENING: f64 = 10.0;
/// Gaps up to this share of the typical size are closed by the true masses alone, as in the paper.
const WIDE: f64 = 0.02;
/// What stays open by less than this share of the typical size is left for another compromise only if that leaves less than
/// this share of the sum of its squares: nobody wants a linkage thrown over for a micrometre that it does not win.
const SLIGHT: (f64, f64) = (1e-3, 1e-2);
/// Where a nut winds, as many times more starts are tried: each only tells of one turn or two.
const WINDING: usize = 5;

/// Whole turns of the first nut by start: 1, -1, 2, -2 and so on to ten, and over again.
fn turns_of(round: usize) -> f64 {
    let k = round % 20 + 1;
    (k / 2) as f64 * if k.is_multiple_of(2) { 1.0 } else { -1.0 }
}

impl<'a> Assembler<'a> {
    fn new(
        m: &'a Mechanism,
        graph: &'a Graph,
        island: &'a Island,
        config: &'a AssembleConfig<'a>,
        numbers: (usize, usize),
    ) -> Self {
        let reach: f64 = island.solids.iter().map(|s| m.solid(*s).extent()).sum();
        let size = reach / island.solids.len().max(1) as f64;
        Self {
            m,
            graph,
            island,
            config,
            numbers,
            size,
            rows: Rows::default(),
            masses: Masses::default(),
            bounded: Bounded::default(),
            solver: crate::predict::resolve(config.solver, m, graph, island).make(),
            iterations: 0,
            solver_iterations: 0,
            restarts: 0,
            shared: false,
        }
    }

    /// The whole chain; leaves `rows` filled at the final pose.
    fn run(&mut self, state: &mut State) -> Outcome {
        let start = state.clone();
        let mut search = self.search_widely(state);
        let mut best = (self.rows.merit(), state.clone());
        let worth = if self.rows.gaps().worst() <= SLIGHT.0 * self.size { SLIGHT.1 } else { 0.9 };
        let tries = if self.config.iterations.is_some() { 0 } else { self.affordable_restarts() };
        let mut random = Random::new(self.config.seed ^ (self.numbers.0 as u64) << 32);
        while matches!(search, Search::Stuck | Search::Limit) && !self.limit() && self.restarts < tries {
            self.restarts += 1;
            self.kick(state, &start, &best.1, &mut random);
            let again = self.search(state);
            let merit = self.rows.merit();
            match again {
                Search::Closed => {
                    search = again;
                    best = (merit, state.clone());
                }
                // Another compromise must be clearly better to be worth leaving the one nearest to the start.
                _ if merit < worth * best.0 => best = (merit, state.clone()),
                _ => {}
            }
        }
        if search == Search::Stuck && self.out_of_time() {
            search = Search::Limit;
        }
        *state = best.1;
        self.fill(state);
        let outcome = match search {
            Search::Closed => Outcome::Ok,
            Search::Limit => Outcome::Budget,
            Search::Broken => Outcome::Diverged,
            Search::Stuck => self.compromise(state),
        };
        for a in &self.rows.angles {
            state.angles[a.slot] = a.value;
        }
        outcome
    }

    /// A search, and where it ends nearly closed, along the valley it ended in.
    fn search_widely(&mut self, state: &mut State) -> Search {
        let found = self.search(state);
        let open = matches!(found, Search::Stuck | Search::Limit);
        if open && self.config.iterations.is_none() && !self.limit() && self.walk(state) {
            return Search::Closed;
        }
        found
    }

    /// Restarts cost whole searches: fewer of them on large islands, where conflicts are reported rather than fought.
    fn affordable_restarts(&self) -> usize {
        let winds = self.rows.angles.iter().any(|a| a.winds);
        match self.rows.len() {
            0..=300 if winds => WINDING * self.config.restarts,
            0..=300 => self.config.restarts,
            301..=1000 => self.config.restarts.min(6),
            _ => self.config.restarts.min(2),
        }
    }

    fn out_of_time(&self) -> bool {
        self.config.out_of_time.is_some_and(|f| f())
    }

    fn limit(&self) -> bool {
        self.config.iterations.is_some_and(|n| self.iterations >= n) || self.out_of_time()
    }

    /// Linearises at a pose. Angles that wind are counted on; the others keep the turn nearest to their range.
    fn fill(&mut self, state: &mut State) -> f64 {
        let graph = self.graph;
        self.rows
            .fill(self.m, state, state.time, self.island.joints.iter().copied(), |j| graph.default_rank(j));
        for a in self.rows.angles.iter().filter(|a| a.winds) {
            state.angles[a.slot] = a.value;
        }
        if self.shared {
            self.rows.groups.iter_mut().for_each(|g| g.rank = Rank::Secondary);
        }
        self.rows.gaps().worst()
    }

    /// One correction from the rows as filled: solve, truncate rotations, move. A `gentle` one stiffens until nothing is
    /// left to truncate and turns are small: the step then is what the linearised rows promised, mostly translation.
    fn correct(&mut self, state: &mut State, damping: Option<f64>, gentle: bool) {
        const STIFFER: f64 = 4.0;
        /// A turn of this size bends a link's end by one per cent of its length beyond the linear promise.
        const GENTLE: f64 = 0.15;
        let gap = self.rows.gaps().worst();
        let mut radius = if gap > WIDE * self.size { STIFFENING * gap } else { 0.0 };
        let work = Work {
            iterations: self.config.solver_iterations,
            // An inexact step needs no more digits than it removes.
            tolerance: 1e-3 * self.config.tolerance,
            out_of_time: self.config.out_of_time,
        };
        let solids = self.m.solids().len();
        for _ in 0..10 {
            self.masses.update(self.m, state);
            if radius > 0.0 {
                self.masses.stiffen(radius);
            }
            let barely = damping.map(|mu| {
                self.soften(mu);
                BARELY
            });
            let report =
                self.bounded.solve(self.solver.as_mut(), &self.rows, &self.masses, solids, barely, &work);
            self.solver_iterations += report.solve.iterations;
            if !gentle || self.largest_turn() <= GENTLE.min(self.config.max_rotation) || self.out_of_time() {
                break;
            }
            radius = STIFFER * radius.max(gap);
        }
        self.displace(state);
        self.iterations += 1;
    }

    /// Levenberg's damping: every row gives way alike, by `mu` of the mean row's answer. What the step then descends is
    /// the sum of squared gaps itself; damping each row by its own answer would descend another sum, and a pose where
    /// that one is flat would be taken for a conflict.
    fn soften(&mut self, mu: f64) {
        let Self { rows, masses, .. } = self;
        let answer = |i: usize, j: HalfRow| {
            if masses.moves(i) { dot6(&j, &masses.accelerate(i, &j)) } else { 0.0 }
        };
        let mut sum = 0.0;
        for g in &rows.groups {
            for r in g.range() {
                let [a, b] = rows.row(r);
                sum += answer(g.solids[0], a) + answer(g.solids[1], b);
            }
        }
        let n = rows.len();
        let mean = sum / n.max(1) as f64;
        rows.softness.clear();
        rows.softness.resize(n, mu * mean);
    }

    /// The largest rotation that `bounded.dq` asks of a solid.
    fn largest_turn(&self) -> f64 {
        let turn = |dq: &[f64; 6]| Vector::new(dq[3], dq[4], dq[5]).length();
        self.island.solids.iter().map(|s| turn(&self.bounded.dq[s.index()])).fold(0.0, f64::max)
    }

    /// Applies `bounded.dq`, no solid turning by more than `max_rotation`. Each solid is truncated by itself: scaling
    /// the whole step when one solid turns too far is as bad as not truncating at all.
    fn displace(&self, state: &mut State) {
        for &id in &self.island.solids {
            let mut dq = self.bounded.dq[id.index()];
            let angle = Vector::new(dq[3], dq[4], dq[5]).length();
            if angle > self.config.max_rotation {
                dq[3..].iter_mut().for_each(|x| *x *= self.config.max_rotation / angle);
            }
            state.displace(id.index(), &dq);
        }
    }

    fn tell(&self, gap: f64) {
        if let Some(f) = self.config.progress {
            f(&Progress {
                island: self.numbers.0,
                islands: self.numbers.1,
                iterations: self.iterations,
                gap,
            });
        }
    }

    /// Newton; if that does not settle it gently from the same start; then Levenberg-Marquardt from the best pose of the
    /// two.
    fn search(&mut self, state: &mut State) -> Search {
        let start = state.clone();
        let found = self.newton(state, false);
        if found != Search::Stuck {
            return found;
        }
        let first = (self.rows.merit(), state.clone());
        *state = start;
        let found = self.newton(state, true);
        if found != Search::Stuck {
            return found;
        }
        if self.rows.merit() > first.0 {
            *state = first.1;
        }
        let found = self.marquardt(state);
        if found != Search::Limit || self.limit() {
            return found;
        }
        // Still gaining, but slowly: from so much nearer Newton may do.
        let near = state.clone();
        let last = self.newton(state, true);
        if last == Search::Stuck {
            *state = near;
            self.fill(state);
            return Search::Limit;
        }
        last
    }

    /// Newton's method with truncated rotations. Gives up (`Stuck`, at the best pose it saw) where it stops gaining.
    fn newton(&mut self, state: &mut State, gentle: bool) -> Search {
        // Newton may climb a little on its way; near singular poses it explodes, and damping is the cure.
        const RISE: f64 = 4.0;
        const PATIENCE: usize = 8;
        let mut gap = self.fill(state);
        let mut best = (self.rows.merit(), state.clone());
        let mut since = 0;
        let end = self.iterations + NEWTON;
        loop {
            if gap <= self.config.tolerance {
                return Search::Closed;
            }
            if !gap.is_finite()
                || since >= PATIENCE
                || self.iterations >= end
                || self.rows.merit() > RISE * best.0
            {
                break;
            }
            if self.limit() {
                // Out of budget: the best pose seen is worth more than the last.
                if self.rows.merit() > best.0 {
                    *state = best.1;
                    self.fill(state);
                }
                return Search::Limit;
            }
            self.correct(state, None, gentle);
            gap = self.fill(state);
            self.tell(gap);
            let merit = self.rows.merit();
            since = if merit < 0.8 * best.0 { 0 } else { since + 1 };
            if merit < best.0 {
                best = (merit, state.clone());
            }
        }
        if !best.0.is_finite() {
            *state = best.1;
            self.fill(state);
            return Search::Broken;
        }
        *state = best.1;
        self.fill(state);
        Search::Stuck
    }

    /// Levenberg-Marquardt: the merit falls with every accepted step, so it ends in a closed or a stuck pose.
    fn marquardt(&mut self, state: &mut State) -> Search {
        let mut gap = self.fill(state);
        let mut merit = self.rows.merit();
        let (mut mu, mut flat) = (1e-2, 0);
        for _ in 0..MARQUARDT {
            if gap <= self.config.tolerance {
                return Search::Closed;
            }
            if self.limit() {
                return Search::Limit;
            }
            let before = state.clone();
            self.correct(state, Some(mu), false);
            let next_gap = self.fill(state);
            let next = self.rows.merit();
            self.tell(next_gap.min(gap));
            if next < merit {
                flat = if next > merit * (1.0 - 1e-9) { flat + 1 } else { 0 };
                (merit, gap) = (next, next_gap);
                mu = (mu * 0.3_f64).max(1e-13);
            } else {
                *state = before;
                self.fill(state);
                mu *= 4.0;
            }
            // Either the gains are rounding, or only vanishing steps still gain.
            if flat >= 3 || mu > 1e8 {
                return Search::Stuck;
            }
        }
        // Out of steps, not of gains: nothing is known about the constraints.
        Search::Limit
    }

    /// Random poses for the solids at open joints: the first kicks from the stuck pose and around the worst joints
    /// only, later ones reach further and every third starts over from the original pose.
    fn kick(&mut self, state: &mut State, start: &State, stuck: &State, random: &mut Random) {
        let round = self.restarts;
        *state = if round.is_multiple_of(3) { start.clone() } else { stuck.clone() };
        let gap = self.fill(state);
        self.masses.update(self.m, state);
        let share = (0.5 / round as f64).min(0.5);
        let reach = 0.5 * round as f64;
        let mut moved = vec![false; self.m.solids().len()];
        for g in &self.rows.groups {
            if !(self.rows.group_gaps(g).worst() < share * gap) {
                g.solids.iter().for_each(|s| moved[*s] = true);
            }
        }
        for &id in self.island.solids.iter().filter(|s| moved[s.index()]) {
            let size = self.m.solid(id).extent() * reach.min(2.0);
            let (mut t, mut q) = (random.ball() * size, random.ball() * (reach * 2.0).min(3.0));
            // What no correction may move (a mobility of zero, the rotation of a particle) no kick may move either.
            if !self.masses.moves(id.index()) {
                t = Vector::ZERO;
            }
            if self.masses.inverse_inertia(id.index()) == Matrix::ZERO {
                q = Vector::ZERO;
            }
            state.displace(id.index(), &[t.x, t.y, t.z, q.x, q.y, q.z]);
        }
        // A nut may belong some turns away from where it is, one way or the other.
        for (k, a) in self.rows.angles.iter().filter(|a| a.winds).enumerate() {
            let turns =
                if k == 0 { turns_of(round) } else { (2.0 * reach.min(4.0) * random.signed()).round() };
            state.angles[a.slot] = start.angles[a.slot] + std::f64::consts::TAU * turns;
        }
    }
}
