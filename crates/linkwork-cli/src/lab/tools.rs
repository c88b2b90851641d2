//! What experiments share: parameters, scenes, methods by name, the clock, steps, and the correction as it is printed.

use super::data::{Experiment, Source};
use super::printed::ConjugateGradients;
use super::verdict::Case;
use crate::failure::Failure;
use crate::plot::{Chart, Series, Table};
use indicatif::{ProgressBar, ProgressStyle};
use linkwork::graph::Graph;
use linkwork::rows::{Masses, Rows};
use linkwork::solve::{LinearSolver, Problem, SolveReport, SolverKind, Work};
use linkwork::step::{Integrator, Rejected, Relaxation};
use linkwork::{
    JointId, Mechanism, Method, State, StepConfig, StepReport, Vector, Workspace, generate, scene, step,
};
use serde::de::DeserializeOwned;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// What an experiment found.
#[derive(Default)]
pub struct Found {
    /// The settings it was run in.
    pub cases: Vec<Case>,
    /// Tables with a line above each.
    pub tables: Vec<(String, Table)>,
    /// Plots.
    pub charts: Vec<Chart>,
    /// Sentences: what was run, what was left out.
    pub notes: Vec<String>,
}

/// The place of one experiment: what it is given, and how long it may take.
pub struct Bench<'a> {
    experiment: &'a Experiment,
    source: &'a Source,
    parameters: toml::Table,
    begin: Instant,
    limit: Duration,
    bar: Option<ProgressBar>,
}

impl<'a> Bench<'a> {
    /// Ready to run. `prefix` opens the progress line.
    pub fn new(experiment: &'a Experiment, source: &'a Source, full: bool, prefix: &str) -> Self {
        let mut parameters = experiment.parameters.clone();
        let mut limit = experiment.limit;
        if full {
            parameters.extend(experiment.full.clone());
            limit *= 20.0;
        }
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}  {msg}  {elapsed}") {
                bar.set_style(style);
            }
            bar.set_prefix(format!("{prefix} {}", experiment.id));
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self {
            experiment,
            source,
            parameters,
            begin: Instant::now(),
            limit: Duration::from_secs_f64(limit),
            bar,
        }
    }

    /// The parameters as the kind wants them.
    pub fn parameters<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let made = T::deserialize(toml::Value::Table(self.parameters.clone()));
        made.map_err(|e| self.bad(format!("its parameters: {}", e.to_string().trim_end())))
    }

    /// What is wrong with the data.
    pub fn bad(&self, message: impl std::fmt::Display) -> Failure {
        Failure::input("", format!("experiment `{}`: {message}", self.experiment.id))
    }

    /// Tells how far it has come.
    pub fn at(&self, what: impl Into<String>) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.into());
        }
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// The time limit is reached.
    pub fn out_of_time(&self) -> bool {
        self.begin.elapsed() >= self.limit
    }

    /// A mechanism: the name of a scene, `generate KIND SIZES…`, or `free chain N`, which nothing holds.
    pub fn mechanism(&self, name: &str) -> Result<Mechanism, Failure> {
        let words: Vec<&str> = name.split_whitespace().collect();
        let text = match words.as_slice() {
            ["generate", kind, sizes @ ..] => {
                let sizes: Result<Vec<usize>, _> = sizes.iter().map(|s| s.parse()).collect();
                let sizes = sizes.map_err(|_| self.bad(format!("sizes are whole numbers: `{name}`")))?;
                generate::generate(kind, &sizes, 1.0).map_err(|e| self.bad(e))?
            }
            ["free", "chain", n] => {
                let n = n.parse().map_err(|_| self.bad(format!("a whole number of bars: `{name}`")))?;
                let text = generate::chain(n).map_err(|e| self.bad(e))?;
                text.lines().filter(|l| !l.starts_with("joint anchor")).collect::<Vec<_>>().join("\n")
            }
            _ => self.source.scene(name)?,
        };
        self.mechanism_of(&text)
    }

    /// A mechanism of this text.
    pub fn mechanism_of(&self, text: &str) -> Result<Mechanism, Failure> {
        let (made, report) = scene::load(text, &mut |_: &str| Err("experiments have no mesh files".into()));
        let made = made.ok_or_else(|| self.bad(report.render("the scene", text, false)))?;
        Ok(made.mechanism)
    }

    /// A method by its name and parameters: `relaxation second`, `baumgarte 5 5 rk4`, `post-stabilization rk4 velocities`.
    pub fn method(&self, text: &str) -> Result<Method, Failure> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let integrator = |word: &str| match word {
            "semi-implicit" => Some(Integrator::SemiImplicit),
            "forward-euler" => Some(Integrator::Euler),
            "rk4" => Some(Integrator::Rk4),
            _ => None,
        };
        let made =
            match words.as_slice() {
                [name] => Method::from_name(name),
                ["relaxation", "first"] => Some(Method::Relaxation(Relaxation::First)),
                ["relaxation", "second"] => Some(Method::Relaxation(Relaxation::Second)),
                ["relaxation", "effective-mass"] => Some(Method::Relaxation(Relaxation::EffectiveMass)),
                ["baumgarte", a, b, how] => match (a.parse(), b.parse(), integrator(how)) {
                    (Ok(alpha), Ok(beta), Some(integrator)) => {
                        Some(Method::Baumgarte { alpha, beta, integrator })
                    }
                    _ => None,
                },
                ["post-stabilization", how] => integrator(how)
                    .map(|integrator| Method::PostStabilization { integrator, velocities: false }),
                ["post-stabilization", how, "velocities"] => integrator(how)
                    .map(|integrator| Method::PostStabilization { integrator, velocities: true }),
                _ => None,
            };
        made.ok_or_else(|| self.bad(format!("there is no method `{text}`")))
    }

    /// A solver by its name.
    pub fn solver(&self, name: &str) -> Result<SolverKind, Failure> {
        SolverKind::from_name(name).ok_or_else(|| self.bad(format!("there is no solver `{name}`")))
    }

    /// A solver by its name; `conjugate-gradients` is the papers' own (see `printed`).
    pub fn linear_solver(&self, name: &str) -> Result<Box<dyn LinearSolver>, Failure> {
        match name {
            "conjugate-gradients" => Ok(Box::new(ConjugateGradients::default())),
            _ => self.solver(name).map(SolverKind::make),
        }
    }

    /// A solid by its name.
    pub fn solid(&self, m: &Mechanism, name: &str) -> Result<linkwork::SolidId, Failure> {
        m.find(name).ok_or_else(|| self.bad(format!("there is no solid `{name}`")))
    }

    /// Takes `steps` steps; `see` is shown each with the seconds it took. Ends early when a step is rejected or time is up.
    pub fn walk(
        &self,
        m: &Mechanism,
        state: &mut State,
        c: &StepConfig,
        steps: usize,
        see: &mut dyn FnMut(usize, &State, &StepReport, f64),
    ) -> Walked {
        let mut w = Workspace::new();
        for k in 1..=steps {
            if k % 64 == 0 && self.out_of_time() {
                return Walked::OutOfTime;
            }
            let start = Instant::now();
            let r = step(m, state, &mut w, c);
            if let Some(why) = r.rejected {
                return Walked::Rejected(k, why);
            }
            see(k, state, &r, start.elapsed().as_secs_f64());
        }
        Walked::Done
    }
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    /// All steps were taken.
    Done,
    /// This step could not be.
    Rejected(usize, Rejected),
    /// The experiment's time is up.
    OutOfTime,
}

/// The correction of Faure 1998, section 3.4, as it is printed: linearise, solve, truncate rotations, move, repeat.
pub struct Corrector {
    /// Rows at the last pose.
    pub rows: Rows,
    masses: Masses,
    graph: Graph,
    b: Vec<f64>,
    dq: Vec<[f64; 6]>,
    solver: Box<dyn LinearSolver>,
    /// Iterations of the solver, summed.
    pub solver_iterations: usize,
}

/// How long a correction may go on.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// Geometric iterations.
    pub iterations: usize,
    /// Solver iterations in each.
    pub solver_iterations: usize,
    /// Good enough, metres and radians.
    pub tolerance: f64,
    /// Asked often.
    pub out_of_time: Option<&'a dyn Fn() -> bool>,
}

/// Faure 1998, section 3.4: "Empirically, 0.8 radians seems a good value".
const MAX_ROTATION: f64 = 0.8;

impl Corrector {
    /// With this solver.
    pub fn new(m: &Mechanism, solver: Box<dyn LinearSolver>) -> Self {
        Self {
            rows: Rows::default(),
            masses: Masses::default(),
            graph: Graph::new(m),
            b: Vec::new(),
            dq: Vec::new(),
            solver,
            solver_iterations: 0,
        }
    }

    /// Rows and masses at a pose.
    pub fn fill(&mut self, m: &Mechanism, s: &State) -> f64 {
        let joints = (0..m.joints().len() as u32).map(JointId);
        self.rows.fill(m, s, s.time, joints, |j| self.graph.default_rank(j));
        self.masses.update(m, s);
        self.rows.gaps().worst()
    }

    /// The largest gap before the first and after each iteration.
    pub fn correct(&mut self, m: &Mechanism, s: &mut State, budget: &Budget) -> Vec<f64> {
        let solids = m.solids().len();
        let mut gaps = vec![self.fill(m, s)];
        for _ in 0..budget.iterations {
            if gaps.last().is_some_and(|g| *g <= budget.tolerance) || budget.out_of_time.is_some_and(|f| f())
            {
                break;
            }
            let work = Work {
                iterations: budget.solver_iterations,
                tolerance: 0.1 * budget.tolerance,
                out_of_time: budget.out_of_time,
            };
            self.solver_iterations += self.solve(&work).iterations;
            for i in (0..solids).filter(|i| self.masses.moves(*i)) {
                let mut dq = self.dq[i];
                let angle = Vector::new(dq[3], dq[4], dq[5]).length();
                if angle > MAX_ROTATION {
                    dq[3..].iter_mut().for_each(|x| *x *= MAX_ROTATION / angle);
                }
                s.displace(i, &dq);
            }
            gaps.push(self.fill(m, s));
            for a in &self.rows.angles {
                s.angles[a.slot] = a.value;
            }
        }
        gaps
    }

    /// One linear system at the pose of the last `fill`, from a zero guess. Bounds that are crossed count as equalities,
    /// others not at all: the papers know no active sets, and a budget is the budget of one solve.
    fn solve(&mut self, work: &Work) -> SolveReport {
        let n = self.rows.len();
        self.b.clear();
        self.b.extend((0..n).map(|r| self.rows.wanted(r)));
        let active: Vec<bool> = (0..n).map(|r| self.rows.is_equality(r) || self.b[r] != 0.0).collect();
        let problem = Problem { rows: &self.rows, masses: &self.masses, active: &active, damping: None };
        self.solver.factor(&problem);
        let mut lambda = vec![0.0; n];
        let report = self.solver.solve(&self.b, &mut lambda, work);
        self.dq.clear();
        self.dq.resize(self.masses.len(), [0.0; 6]);
        self.rows.apply_transposed(&lambda, &self.masses, &mut self.dq);
        report
    }

    /// The same for a table: iterations and seconds.
    pub fn solve_once(&mut self, work: &Work) -> (usize, f64) {
        let start = Instant::now();
        let report = self.solve(work);
        (report.iterations, start.elapsed().as_secs_f64())
    }
}

/// Middle value; zero without any.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// Largest value; what is not a number stays that.
pub fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, |m: f64, x| if x.is_nan() { x } else { m.max(x) })
}

/// Slope of `ln y` over `ln x` by least squares: the exponent of growth.
pub fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (mx, my) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum::<f64>()
        / logs.iter().map(|(x, _)| (x - mx) * (x - mx)).sum::<f64>()
}

/// A line of a chart.
pub fn series(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.into(), points }
}

/// A table from words.
pub fn table(columns: &[&str], rows: Vec<Vec<String>>) -> Table {
    Table { columns: columns.iter().map(|c| (*c).to_owned()).collect(), rows }
}

/// `12 solids, 33 scalar constraints (27 acyclic, 6 loop)`.
pub fn counts(m: &Mechanism) -> String {
    let graph = Graph::new(m);
    format!(
        "{}, {}",
        crate::report::count(m.solid_count(), "solid"),
        crate::report::constraints_text(&graph, "scalar constraints")
    )
}

/// Root mean square distance of the centres of everything that moves.
pub fn apart(m: &Mechanism, a: &State, b: &State) -> f64 {
    let moving: Vec<usize> = (0..m.solids().len()).filter(|i| !m.solids()[*i].is_fixed()).collect();
    let sum: f64 = moving.iter().map(|i| (a.centers[*i] - b.centers[*i]).length_squared()).sum();
    (sum / moving.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_lists() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert!(largest([1.0, f64::NAN]).is_nan());
        let square: Vec<(f64, f64)> = (1..9).map(|k| (f64::from(k), f64::from(3 * k * k))).collect();
        assert!((exponent(&square) - 2.0).abs() < 1e-12);
    }
}
