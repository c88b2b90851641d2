//! The loop under `run` and `compare`: what to simulate with, steps, and what is measured on the way. Writes nothing.

use crate::contacts::PairLog;
use crate::failure::Failure;
use crate::interrupt;
use crate::numbers;
use crate::report;
use crate::scene::Loaded;
use crate::terminal::{self, Watch};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use linkwork::contact::ContactReport;
use linkwork::measure::{Energy, Meter, Momentum};
use linkwork::record::Sample;
use linkwork::rows::Gaps;
use linkwork::scene::{OnMiss, Parameters, SCHEMES, Scheme};
use linkwork::solve::SolverKind;
use linkwork::step::{Reaction, Rejected, Stages};
use linkwork::{
    AssembleConfig, AssembleReport, JointId, Mechanism, Method, State, StepConfig, StepReport, Workspace,
    assemble, step,
};
use std::borrow::Cow;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Options of everything that simulates, besides method and solver.
#[derive(clap::Args)]
pub struct Options {
    /// Length of a step in seconds [default: the scene's `step`, or 1/60]
    #[arg(long, value_name = "S", value_parser = numbers::seconds, allow_negative_numbers = true)]
    pub step: Option<f64>,
    /// Split every step into this many equal substeps: more accurate, and slower by about the same factor
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub substeps: u32,
    /// Largest gap that counts as closed, in metres and radians [default: the scene's `tolerance`, or 1e-6]
    #[arg(long, value_name = "E", value_parser = numbers::positive, allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Maximum number of geometric iterations per step [default: the scene's `iterations`, or 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub iterations: Option<u32>,
    /// Maximum number of iterations of an iterative solver, per linear system [default: the scene's `solver-iterations`, or 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub solver_iterations: Option<u32>,
    /// Stop iterating on a step after this many milliseconds, once the state is usable, and on the initial assembly
    /// after 500 times as many; runs that are cut short like this are not repeatable [default: the scene's `budget`, or none]
    #[arg(long, value_name = "B", value_parser = numbers::milliseconds, allow_negative_numbers = true)]
    pub budget_ms: Option<f64>,
    /// Maximum number of threads; it does not affect the result [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Random seed for restarts, if the start has to be assembled
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// What to do when a step ends with gaps beyond the tolerance [default: the scene's `on-miss`, or warn]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub on_miss: Option<Miss>,
    /// Distance joints keep |d|^2 - L^2 at zero instead of |d| - L, the other formulation of Hong's arms (2005)
    #[arg(long)]
    pub squared_distances: bool,
    #[command(flatten)]
    pub variants: Variants,
}

/// Parameters of methods that have some.
#[derive(clap::Args)]
pub struct Variants {
    /// How `baumgarte` and `post-stabilization` integrate accelerations [default: the scene's
    /// `integrator`, or semi-implicit]
    #[arg(long, value_name = "NAME", value_parser = schemes())]
    integrator: Option<Scheme>,
    /// Damping of gaps in 1/s, for `baumgarte` [default: the scene's `alpha`, or 10]
    #[arg(long, value_name = "A", value_parser = numbers::not_negative, allow_negative_numbers = true)]
    alpha: Option<f64>,
    /// Stiffness of gaps in 1/s, for `baumgarte` [default: the scene's `beta`, or 10]
    #[arg(long, value_name = "B", value_parser = numbers::not_negative, allow_negative_numbers = true)]
    beta: Option<f64>,
    /// Make `post-stabilization` project velocities as well as positions
    #[arg(long)]
    project_velocities: bool,
}

impl Variants {
    /// The scene's parameters with these in front of them. Whoever compares several methods gives them to those that
    /// know them.
    fn over(&self, scene: Parameters) -> Parameters {
        Parameters {
            integrator: self.integrator.or(scene.integrator),
            alpha: self.alpha.or(scene.alpha),
            beta: self.beta.or(scene.beta),
            project_velocities: self.project_velocities || scene.project_velocities,
            squared_distances: scene.squared_distances,
        }
    }

    /// An option that a method does not know, if there is one: `--alpha` for `variational` would change nothing.
    pub fn foreign_to(&self, method: Method) -> Option<String> {
        self.over(Parameters::default()).foreign_to(method).map(|word| format!("--{word}"))
    }
}

/// Their words, which help and completions list.
fn schemes() -> impl TypedValueParser<Value = Scheme> {
    PossibleValuesParser::new(SCHEMES).try_map(|word| Scheme::from_name(&word).ok_or("unknown"))
}

/// `warn` or `stop`.
#[derive(Clone, Copy, ValueEnum)]
pub enum Miss {
    /// Continue, and count such steps
    Warn,
    /// Stop, list the worst constraints and save the state
    Stop,
}

/// The assembly at the start may take as long as this many steps, where steps have a budget.
const START_BUDGETS: u32 = 500;

/// With what to simulate: options, then the scene's settings, then defaults.
#[derive(Clone, Copy)]
pub struct Setup {
    pub method: Method,
    pub solver: SolverKind,
    /// Seconds per step.
    pub dt: f64,
    /// Whole steps to take.
    pub steps: u64,
    substeps: u32,
    pub tolerance: f64,
    iterations: usize,
    solver_iterations: usize,
    max_rotation: f64,
    budget: Option<Duration>,
    stop: bool,
    seed: u64,
    squared_distances: bool,
    /// Every moment tells the reactions of joints.
    pub wants_reactions: bool,
}

/// The names of all methods.
pub fn method_names() -> Vec<&'static str> {
    Method::ALL.iter().map(|m| m.name()).collect()
}

/// The names of all solvers.
pub fn solver_names() -> Vec<&'static str> {
    SolverKind::ALL.iter().map(|k| k.name()).collect()
}

/// What is to be said of a method by which solids that could touch do not.
pub fn without_contact(method: Method, m: &Mechanism) -> Option<String> {
    let ignored = !method.knows_contact() && linkwork::contact::is_possible(m);
    ignored.then(|| {
        let name = method.name();
        format!("`{name}` does not handle contact: solids pass through each other. `variational` handles it")
    })
}

impl Setup {
    /// Tells where solids could touch and the method does not know of it.
    pub fn tell_of_contact(&self, m: &Mechanism) {
        if let Some(note) = without_contact(self.method, m) {
            terminal::note(&note);
        }
    }

    /// Puts it together. A scene may name a method that this version does not have: that is told.
    pub fn new(
        options: &Options,
        loaded: &Loaded,
        method: Option<&str>,
        solver: Option<&str>,
        seconds: f64,
    ) -> Result<Self, Failure> {
        let settings = &loaded.scene.settings;
        let defaults = StepConfig::default();
        let wanted = method.or(settings.method.as_deref());
        let known = wanted.map(|name| (name, Method::from_name(name)));
        if let Some((name, None)) = known {
            let taken = defaults.method.name();
            terminal::note(&format!("there is no method `{name}` yet: using `{taken}`"));
        }
        let dt = options.step.or(settings.step).unwrap_or(defaults.dt);
        // Whole steps, so that a run is the same whether it is made at once or in parts.
        let steps = (seconds / dt).round().max(1.0);
        if !(steps <= 1e15) {
            let message = format!("{seconds} s in steps of {dt} s are too many steps");
            return Err(Failure::input("", message));
        }
        if let Some(threads) = options.threads {
            // Fails only when a pool exists already, which then does.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
        }
        let on_miss = options.on_miss.map(|m| matches!(m, Miss::Stop));
        let method = known.and_then(|k| k.1).unwrap_or(defaults.method);
        Ok(Self {
            method: options.variants.over(settings.parameters).of(method),
            solver: solver
                .or(settings.solver.as_deref())
                .and_then(SolverKind::from_name)
                .unwrap_or(defaults.solver),
            dt,
            steps: steps as u64,
            substeps: options.substeps,
            tolerance: options.tolerance.or(settings.tolerance).unwrap_or(defaults.tolerance),
            iterations: options
                .iterations
                .or(settings.iterations)
                .map_or(defaults.iterations, |n| n as usize),
            solver_iterations: options
                .solver_iterations
                .or(settings.solver_iterations)
                .map_or(defaults.solver_iterations, |n| n as usize),
            max_rotation: settings.max_rotation.unwrap_or(defaults.max_rotation),
            budget: options
                .budget_ms
                .map(|ms| ms / 1e3)
                .or(settings.budget)
                .and_then(|s| Duration::try_from_secs_f64(s).ok()),
            stop: on_miss.unwrap_or(settings.on_miss == Some(OnMiss::Stop)),
            seed: options.seed,
            squared_distances: options.squared_distances || settings.parameters.squared_distances,
            wants_reactions: false,
        })
    }

    /// What begins and ends between two steps never acts. The scene's own step is the lint's concern.
    pub fn tell_of_times(&self, m: &Mechanism, own: Option<f64>) {
        let lint = own.unwrap_or(StepConfig::default().dt);
        let known = m.between_steps(lint);
        for (name, during) in m.between_steps(self.dt).iter().filter(|one| !known.contains(one)) {
            terminal::note(&format!(
                "`{name}` acts from {} to {} s, between two steps of {}: it never acts",
                during.from,
                during.to,
                report::time(self.dt)
            ));
        }
    }

    /// Closes the gaps of a start that is not assembled; says so, and what became of it.
    pub fn assemble_start(&self, m: &Mechanism, state: &mut State) -> Option<(Gaps, AssembleReport)> {
        let mut meter = Meter::default();
        let before = meter.gaps(m, state);
        if before.worst() <= self.tolerance {
            return None;
        }
        // Without a budget nothing bounds it: how far it comes must not depend on the machine unless somebody asks for that.
        let watch = Watch::start(self.budget.map(|b| b * START_BUDGETS));
        let made = assemble(
            m,
            state,
            &AssembleConfig {
                tolerance: self.tolerance,
                solver: self.solver,
                seed: self.seed,
                max_rotation: self.max_rotation,
                out_of_time: Some(&|| watch.out_of_time()),
                progress: Some(&|p| watch.progress(p)),
                ..AssembleConfig::default()
            },
        );
        drop(watch);
        let (was, left) = (report::gaps(before), meter.gaps(m, state));
        terminal::note(&if left.worst() <= self.tolerance {
            format!("gaps of up to {was} at the start: assembled first, {} left", report::gaps(left))
        } else {
            format!(
                "gaps of up to {was} at the start cannot all be closed: {} left ({}); see `linkwork assemble`",
                report::gaps(left),
                made.outcome.word()
            )
        });
        Some((before, made))
    }
}

/// One state of a run, the first one included.
pub struct Moment<'a> {
    pub state: &'a State,
    pub sample: Sample,
    /// Seconds the step took; zero at the start.
    pub took: f64,
    /// Steps so far.
    pub done: u64,
    /// Rows of the table of contacts, if one is wanted.
    pub contacts: String,
    /// What joints did to their second solids, where somebody wants to know and the method knows.
    pub reactions: Option<Vec<(JointId, Reaction)>>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All steps were taken.
    Done,
    /// A step missed the tolerance and the user wants to stop then.
    Stopped,
    /// Somebody pressed Ctrl+C.
    Interrupted,
    /// A step could not be taken.
    Rejected(Rejected),
}

/// All that is known about a run.
pub struct Totals {
    pub ended: Ended,
    pub steps: u64,
    pub wall: f64,
    pub solver: &'static str,
    pub times: Times,
    pub gaps_end: Gaps,
    pub gaps_max: Gaps,
    pub energy_start: Energy,
    pub energy_end: Energy,
    /// What energies are rounded to, joules.
    rounding: f64,
    /// Largest |E(t) - E(0)| and largest kinetic energy.
    energy_off: f64,
    kinetic_max: f64,
    momentum_start: Momentum,
    linear_off: f64,
    angular_off: f64,
    linear_max: f64,
    angular_max: f64,
    pub iterations: u64,
    pub solver_iterations: u64,
    pub missed: u64,
    /// Steps in which limits of soft bodies gave way; those in a row, up to now and at most, in which soft bodies were held back.
    pub gave_way: u64,
    held_row: u64,
    pub held_long: u64,
    /// Steps that gained or lost more energy than the method documents, in themselves or in all.
    pub unexplained: u64,
    /// Largest gain of passive islands so far, and largest loss in a step, joules.
    pub gained: f64,
    pub lost_in_a_step: f64,
    /// Taken away by joints that began to hold, speeds at the start that joints forbid included.
    pub caught: f64,
    /// Contacts: of all steps the most and the worst of each, and those of the last.
    pub soft: linkwork::step::SoftReport,
    pub contacts_max: ContactReport,
    /// Limits and motors with a largest force: the worst of all steps.
    pub limits: linkwork::step::LimitsReport,
    /// Most springs that swung faster than a step could show.
    pub unresolved: usize,
    pub contacts_end: ContactReport,
    /// Islands, and how many of them sleep at the end.
    pub islands: (usize, usize),
    pub substeps: u64,
    pub fallbacks: u64,
    pub stages: Stages,
    /// Per joint: largest gap of all steps.
    joints: Vec<Gaps>,
}

/// The rest of a finished run.
pub struct Finished {
    pub totals: Totals,
    /// Rows and forces of the last step, for the reactions.
    pub workspace: Workspace,
}

/// Takes the steps. `see` is shown the start and every state that a step ended with, all of them finite.
pub fn simulate(
    m: &Mechanism,
    state: &mut State,
    setup: &Setup,
    pairs: &mut PairLog,
    see: &mut dyn FnMut(&Moment) -> Result<(), Failure>,
) -> Result<Finished, Failure> {
    let (mut w, mut meter) = (Workspace::new(), Meter::default());
    let first = meter.sample(m, state);
    let mut t = Totals::new(m, first);
    let begin = Instant::now();
    see(&Moment { state, sample: first, took: 0.0, done: 0, contacts: String::new(), reactions: None })?;
    let step_begin = Cell::new(begin);
    let clock = || begin.elapsed().as_secs_f64();
    let over = || setup.budget.is_some_and(|b| step_begin.get().elapsed() >= b);
    let config = StepConfig {
        method: setup.method,
        solver: setup.solver,
        dt: setup.dt / f64::from(setup.substeps),
        tolerance: setup.tolerance,
        iterations: setup.iterations,
        solver_iterations: setup.solver_iterations,
        max_rotation: setup.max_rotation,
        squared_distances: setup.squared_distances,
        out_of_time: setup.budget.is_some().then_some(&over as &dyn Fn() -> bool),
        clock: Some(&clock),
        ..StepConfig::default()
    };
    // What tears is gone for whoever measures, too.
    let mut worn = Cow::Borrowed(m);
    for done in 1..=setup.steps {
        if interrupt::asked() {
            t.ended = Ended::Interrupted;
            break;
        }
        step_begin.set(Instant::now());
        let (mut missed, mut looked) = (false, Duration::ZERO);
        for _ in 0..setup.substeps {
            if state.torn != worn.torn() {
                worn.to_mut().wear(&state.torn);
            }
            let m = &*worn;
            let r = step(m, state, &mut w, &config);
            t.stages = sum(t.stages, r.stages);
            if let Some(why) = r.rejected {
                t.ended = Ended::Rejected(why);
                break;
            }
            missed |= r.missed;
            t.count(&r);
            let look = Instant::now();
            pairs.after_step(m, &w, state, config.dt);
            looked += look.elapsed();
            if missed && setup.stop {
                t.ended = Ended::Stopped;
                break;
            }
        }
        let took = step_begin.get().elapsed().saturating_sub(looked).as_secs_f64();
        let m = &*worn;
        if let Ended::Rejected(_) = t.ended {
            break;
        }
        t.steps = done;
        t.times.add(1e3 * took);
        t.missed += u64::from(missed);
        t.worst_joints(&w);
        t.islands = w.islands();
        let sample =
            Sample { gaps: t.gaps_end, energy: meter.energy(m, state), momentum: meter.momentum(m, state) };
        t.measure(sample);
        let reactions = if setup.wants_reactions { w.reactions(m) } else { None };
        see(&Moment { state, sample, took, done, contacts: pairs.take_rows(), reactions })?;
        if t.ended != Ended::Done {
            break;
        }
    }
    t.wall = begin.elapsed().as_secs_f64();
    t.solver = w.solver_name();
    Ok(Finished { totals: t, workspace: w })
}

/// A step that was held back now and then does no harm; so many in a row are a motion that did not happen.
const HELD_LONG: u64 = 10;

impl Totals {
    fn new(m: &Mechanism, first: Sample) -> Self {
        Self {
            ended: Ended::Done,
            steps: 0,
            wall: 0.0,
            solver: "none",
            times: Times::default(),
            gaps_end: first.gaps,
            gaps_max: Gaps::default(),
            energy_start: first.energy,
            energy_end: first.energy,
            rounding: 1e-13 * (first.energy.kinetic + weights(m)),
            energy_off: 0.0,
            kinetic_max: first.energy.kinetic,
            momentum_start: first.momentum,
            linear_off: 0.0,
            angular_off: 0.0,
            linear_max: first.momentum.linear_size,
            angular_max: first.momentum.angular_size,
            iterations: 0,
            solver_iterations: 0,
            missed: 0,
            gave_way: 0,
            held_row: 0,
            held_long: 0,
            unexplained: 0,
            gained: 0.0,
            lost_in_a_step: 0.0,
            caught: 0.0,
            soft: Default::default(),
            contacts_max: ContactReport::default(),
            limits: Default::default(),
            unresolved: 0,
            contacts_end: ContactReport::default(),
            islands: (0, 0),
            substeps: 0,
            fallbacks: 0,
            stages: Stages::default(),
            joints: vec![Gaps::default(); m.joints().len()],
        }
    }

    fn count(&mut self, r: &StepReport) {
        self.iterations += r.iterations as u64;
        self.solver_iterations += r.solver_iterations as u64;
        self.substeps += r.substeps as u64;
        self.fallbacks += r.fallbacks as u64;
        self.unexplained += u64::from(r.energy.unexplained > 0);
        self.gained = self.gained.max(r.energy.drift);
        self.lost_in_a_step = self.lost_in_a_step.max(-r.energy.change);
        self.caught += r.energy.caught;
        self.soft = self.soft.worse(&r.soft);
        self.gave_way += u64::from(r.soft.gave_way > 0);
        self.held_row = if r.soft.held_back > 0 { self.held_row + 1 } else { 0 };
        self.held_long = self.held_long.max(self.held_row);
        self.limits = self.limits.worse(&r.limits);
        self.unresolved = self.unresolved.max(r.unresolved);
        self.contacts_end = r.contacts;
        self.contacts_max = self.contacts_max.worse(&r.contacts);
        self.gaps_end = r.gaps;
        self.gaps_max = self.gaps_max.max(r.gaps);
    }

    fn worst_joints(&mut self, w: &Workspace) {
        for (joint, gaps) in w.joint_gaps() {
            let seen = &mut self.joints[joint.index()];
            *seen = seen.max(gaps);
        }
    }

    fn measure(&mut self, s: Sample) {
        self.energy_end = s.energy;
        self.energy_off = self.energy_off.max((s.energy.total() - self.energy_start.total()).abs());
        self.kinetic_max = self.kinetic_max.max(s.energy.kinetic);
        let (p, q) = (s.momentum, self.momentum_start);
        self.linear_off = self.linear_off.max((p.linear - q.linear).length());
        self.angular_off = self.angular_off.max((p.angular - q.angular).length());
        self.linear_max = self.linear_max.max(p.linear_size);
        self.angular_max = self.angular_max.max(p.angular_size);
    }

    /// Largest |E(t) - E(0)| by the largest kinetic energy seen.
    pub fn energy_drift(&self) -> f64 {
        // Rounding next to something that rests is no drift.
        if self.energy_off <= self.rounding { 0.0 } else { ratio(self.energy_off, self.kinetic_max) }
    }

    /// Largest change of linear and of angular momentum, by the largest sum of the solids' own momenta seen. Zero for a
    /// mechanism that nothing pushes; of the order of one where ground or gravity push.
    pub fn momentum_drift(&self) -> (f64, f64) {
        (ratio(self.linear_off, self.linear_max), ratio(self.angular_off, self.angular_max))
    }

    /// The joints with the largest gaps of all steps, the worst first.
    pub fn worst(&self, most: usize) -> Vec<(JointId, Gaps)> {
        let mut all: Vec<(JointId, Gaps)> =
            self.joints.iter().enumerate().map(|(i, g)| (JointId(i as u32), *g)).collect();
        // Stable, so that equal ones stay in the order of the file.
        all.sort_by(|a, b| b.1.worst().total_cmp(&a.1.worst()));
        all.truncate(most);
        all
    }

    /// The word for it.
    pub fn outcome(&self) -> &'static str {
        match self.ended {
            Ended::Rejected(_) => "rejected",
            Ended::Stopped | Ended::Interrupted => "stopped",
            Ended::Done if self.unexplained > 0 => "energy",
            Ended::Done if self.missed > 0 || self.is_held_long() => "missed",
            Ended::Done => "ok",
        }
    }

    /// Soft bodies were held back for so many steps in a row that they stood still where they should have moved.
    pub fn is_held_long(&self) -> bool {
        self.held_long >= HELD_LONG
    }

    /// Soft bodies are why it missed.
    pub fn fails_at_cloth(&self) -> bool {
        self.gave_way > 0 || (self.missed == 0 && self.is_held_long())
    }

    /// Geometric iterations per step, and solver iterations per geometric one.
    pub fn iteration_means(&self) -> (f64, f64) {
        (
            ratio(self.iterations as f64, self.steps as f64),
            ratio(self.solver_iterations as f64, self.iterations as f64),
        )
    }
}

/// How large potential energies get, joules: every weight times its distance and size.
fn weights(m: &Mechanism) -> f64 {
    let one = |s: &linkwork::Solid| s.mass.mass * (s.pose.translation.length() + s.extent());
    m.gravity.length() * m.solids().iter().filter(|s| !s.is_fixed()).map(one).sum::<f64>()
}

/// A fraction; nothing of nothing is nothing.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn sum(a: Stages, b: Stages) -> Stages {
    Stages {
        motion: a.motion + b.motion,
        rows: a.rows + b.rows,
        factor: a.factor + b.factor,
        solve: a.solve + b.solve,
    }
}

/// Milliseconds per step: extremes of all, percentiles of evenly spaced ones where there are very many.
#[derive(Default)]
pub struct Times {
    kept: Vec<f64>,
    seen: u64,
    stride: u64,
    pub min: f64,
    pub max: f64,
}

impl Times {
    const MOST: usize = 1 << 20;

    fn add(&mut self, ms: f64) {
        self.min = if self.seen == 0 { ms } else { self.min.min(ms) };
        self.max = self.max.max(ms);
        self.stride = self.stride.max(1);
        if self.seen.is_multiple_of(self.stride) {
            if self.kept.len() == Self::MOST {
                let mut odd = false;
                self.kept.retain(|_| {
                    odd = !odd;
                    odd
                });
                self.stride *= 2;
            }
            self.kept.push(ms);
        }
        self.seen += 1;
    }

    /// The time that this part of the steps stay below, nearest rank. Zero without steps.
    pub fn percentile(&self, part: f64) -> f64 {
        let mut sorted = self.kept.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (part * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_by_nearest_rank() {
        let mut times = Times::default();
        assert_eq!(times.percentile(0.5), 0.0);
        for ms in (1..=200).rev() {
            times.add(f64::from(ms));
        }
        assert_eq!((times.min, times.max), (1.0, 200.0));
        assert_eq!((times.percentile(0.5), times.percentile(0.99)), (100.0, 198.0));
        assert_eq!(times.percentile(1.0), 200.0);
    }
}
