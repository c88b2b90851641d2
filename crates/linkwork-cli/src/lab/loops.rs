//! Mechanisms with few loops: how many iterations over them a frame needs (Faure 1999, Figures 4 and 5).

use super::tools::{Bench, Corrector, Found, Walked, counts, largest, median, series, table};
use super::verdict::{Case, number};
use crate::failure::Failure;
use crate::plot::Chart;
use crate::report::figure;
use linkwork::graph::Graph;
use linkwork::math::exp;
use linkwork::solve::Work;
use linkwork::{AssembleConfig, Frame, Joint, Mechanism, Outcome, State, StepConfig, Vector, assemble};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Parameters {
    variants: Vec<Variant>,
    /// Frames per second, a case each.
    rates: Vec<f64>,
    seconds: f64,
    solver: String,
    /// What else is timed.
    rivals: Vec<String>,
    /// Of the largest gap that a frame of free motion opens, a group each.
    tolerances: Vec<f64>,
    /// Solver iterations per frame when the budget is tried out, by this method.
    budget: usize,
    method: String,
    /// How many times as large as the scene it is, for the budget: the same scene in weaker gravity.
    size: f64,
}

/// A scene, with two of its solids bound to each other if wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Variant {
    name: String,
    scene: String,
    #[serde(default)]
    bind: Vec<String>,
}

pub fn run(bench: &Bench) -> Result<Found, Failure> {
    let p: Parameters = bench.parameters()?;
    let mut found = Found::default();
    let mut rows = Vec::new();
    let kinds: Vec<String> = [p.solver.clone()].into_iter().chain(p.rivals.clone()).collect();
    let mut made = Vec::new();
    for variant in &p.variants {
        let (m, start) = variant.make(bench, p.size)?;
        found.notes.push(format!("{}: {}.", variant.name, counts(&m)));
        made.push((variant.name.as_str(), m, start));
    }
    for tolerance in &p.tolerances {
        let mut charts: Vec<Chart> = p
            .variants
            .iter()
            .map(|v| Chart {
                title: format!("Iterations to {} per frame: {}", number(*tolerance), v.name),
                x_label: "time, s".into(),
                y_label: "iterations".into(),
                ..Chart::default()
            })
            .collect();
        for rate in &p.rates {
            let mut case = Case::of(format!("the precision is {} of the gap", number(*tolerance)), *rate);
            for ((name, m, start), chart) in made.iter().zip(&mut charts) {
                bench.at(format!("{name} at {rate} Hz to {tolerance}"));
                let mut along = Vec::new();
                for kind in &kinds {
                    along.push(frames(bench, &p, m, start, kind, 1.0 / rate, *tolerance)?);
                }
                let (gap, ms) = budgeted(bench, &p, m, start, 1.0 / rate)?;
                let iterations: Vec<f64> = along[0].0.iter().map(|q| q.1).collect();
                case.add(format!("{name}: iterations"), median(&iterations));
                case.add(format!("{name}: most iterations"), largest(iterations.iter().copied()));
                case.add(format!("{name}: gap"), gap);
                case.add(format!("{name}: ms a step"), ms);
                case.add(format!("{name}: loop rows"), Graph::new(m).loops as f64);
                for (kind, (_, seconds)) in kinds.iter().zip(&along) {
                    case.add(format!("{name}: {kind} ms"), 1e3 * median(seconds));
                }
                let mut row = vec![
                    number(*tolerance),
                    (*name).to_owned(),
                    number(*rate),
                    figure(median(&iterations)),
                    figure(largest(iterations.iter().copied())),
                    figure(gap),
                    figure(ms),
                ];
                row.extend(along.iter().map(|a| figure(1e3 * median(&a.1))));
                rows.push(row);
                chart.series.push(series(format!("{rate} Hz"), along[0].0.clone()));
            }
            if bench.out_of_time() {
                found.notes.push(format!("To {tolerance} at {rate} Hz: not finished within the time limit."));
            } else {
                found.cases.push(case);
            }
        }
        if Some(tolerance) == p.tolerances.last() {
            found.charts.extend(charts);
        }
    }
    let budget = format!("largest gap with {} a frame", p.budget);
    let mut head = vec![
        "to",
        "mechanism",
        "frames a second",
        "median iterations",
        "most",
        budget.as_str(),
        "ms a step so",
    ];
    let named: Vec<String> = kinds.iter().map(|k| format!("{k}, ms a solve")).collect();
    head.extend(named.iter().map(String::as_str));
    found.tables.push((
        format!(
            "Along {} s of exact motion: iterations of `{}` over the loops, from a zero guess, to a part of the largest gap \
             that a frame of free motion opens. Then the same motion by `{}` with one geometric iteration a frame and at \
             most {} over the loops: the largest gap in metres of the scene. {}",
            p.seconds,
            p.solver,
            p.method,
            p.budget,
            if p.size == 1.0 {
                String::new()
            } else {
                format!("All of it {} times as large as the scene: the same one in weaker gravity.", number(p.size))
            }
        ),
        table(&head, rows),
    ));
    Ok(found)
}

impl Variant {
    fn make(&self, bench: &Bench, size: f64) -> Result<(Mechanism, State), Failure> {
        let mut m = bench.mechanism(&self.scene)?;
        m.gravity /= size;
        match self.bind.as_slice() {
            [] => {}
            [a, b] => {
                let [a, b] = [bench.solid(&m, a)?, bench.solid(&m, b)?];
                let bond = Joint::ball(Frame::point(a, Vector::ZERO), Frame::point(b, Vector::ZERO));
                m.add_joint(bond.named("bond")).map_err(|e| bench.bad(e))?;
            }
            _ => return Err(bench.bad("`bind` names two solids")),
        }
        let mut s = State::new(&m);
        let report = assemble(&m, &mut s, &AssembleConfig { tolerance: 1e-9, ..AssembleConfig::default() });
        if report.outcome != Outcome::Ok {
            return Err(bench.bad(format!("`{}` cannot be assembled: {}", self.name, report.outcome.word())));
        }
        Ok((m, s))
    }
}

/// Per frame of the exact motion: time and iterations of one solve, and its seconds.
type Frames = (Vec<(f64, f64)>, Vec<f64>);

fn frames(
    bench: &Bench,
    p: &Parameters,
    m: &Mechanism,
    start: &State,
    solver: &str,
    dt: f64,
    tolerance: f64,
) -> Result<Frames, Failure> {
    let mut corrector = Corrector::new(m, bench.linear_solver(solver)?);
    let mut found: Frames = Default::default();
    let mut s = start.clone();
    let c = StepConfig { dt, tolerance: 1e-9, ..StepConfig::default() };
    let steps = (p.seconds / dt).round() as usize;
    let solids = m.solids().len();
    bench.walk(m, &mut s, &c, steps, &mut |_, s, _, _| {
        // Free motion for a frame, as Störmer's scheme has it; what that opens is what the solver is asked to close.
        let mut ahead = s.clone();
        for i in (0..solids).filter(|i| !m.solids()[*i].is_fixed()) {
            ahead.centers[i] += s.velocities[i] * dt + m.gravity * (dt * dt);
            ahead.rotations[i] = (exp(s.spins[i] * dt) * ahead.rotations[i]).normalize();
        }
        let gap = corrector.fill(m, &ahead);
        let work = Work { iterations: 10_000, tolerance: tolerance * gap, out_of_time: None };
        let (iterations, seconds) = corrector.solve_once(&work);
        found.0.push((s.time, iterations as f64));
        found.1.push(seconds);
    });
    Ok(found)
}

/// The largest gap of a run with the paper's budget, and milliseconds per step.
fn budgeted(
    bench: &Bench,
    p: &Parameters,
    m: &Mechanism,
    start: &State,
    dt: f64,
) -> Result<(f64, f64), Failure> {
    let c = StepConfig {
        method: bench.method(&p.method)?,
        solver: bench.solver(&p.solver)?,
        dt,
        tolerance: 0.0,
        iterations: 1,
        solver_iterations: p.budget,
        ..StepConfig::default()
    };
    let mut s = start.clone();
    let (mut gap, mut ms) = (0.0_f64, Vec::new());
    let walked = bench.walk(m, &mut s, &c, (p.seconds / dt).round() as usize, &mut |_, _, r, seconds| {
        gap = gap.max(r.gaps.worst());
        ms.push(1e3 * seconds);
    });
    Ok((if walked == Walked::Done { gap } else { f64::NAN }, median(&ms)))
}
