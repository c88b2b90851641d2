//! Mechanisms with few loops: how many iterations over them a frame needs (Faure 1999, Figures 4 and 5).

use super::tools::{Bench, Corrector, Found, Walked, counts, largest, median, series, table};
use super::verdict::Case;
use crate::failure::Failure;
use crate::plot::Chart;
use crate::report::figure;
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
    /// Of the largest gap that a frame of free motion opens.
    tolerance: f64,
    /// Solver iterations per frame when the budget is tried out.
    budget: usize,
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
    let mut cases: Vec<Case> = p.rates.iter().map(|r| Case::of("", *r)).collect();
    let mut complete = true;
    for variant in &p.variants {
        let (m, start) = variant.make(bench)?;
        found.notes.push(format!("{}: {}.", variant.name, counts(&m)));
        let mut chart = Chart {
            title: format!("Iterations to {:e} per frame: {}", p.tolerance, variant.name),
            x_label: "time, s".into(),
            y_label: "iterations".into(),
            ..Chart::default()
        };
        for (rate, case) in p.rates.iter().zip(&mut cases) {
            bench.at(format!("{} at {rate} Hz", variant.name));
            let kinds: Vec<String> = [p.solver.clone()].into_iter().chain(p.rivals.clone()).collect();
            let mut along = Vec::new();
            for kind in &kinds {
                along.push(frames(bench, &p, &m, &start, kind, 1.0 / rate)?);
            }
            let (gap, ms) = budgeted(bench, &p, &m, &start, 1.0 / rate)?;
            complete &= !bench.out_of_time();
            let (points, _) = &along[0];
            let iterations: Vec<f64> = points.iter().map(|q| q.1).collect();
            case.add(format!("{}: iterations", variant.name), median(&iterations));
            case.add(format!("{}: most iterations", variant.name), largest(iterations.iter().copied()));
            case.add(format!("{}: gap", variant.name), gap);
            case.add(format!("{}: ms a step", variant.name), ms);
            case.add(format!("{}: loop rows", variant.name), linkwork::graph::Graph::new(&m).loops as f64);
            for (kind, (_, seconds)) in kinds.iter().zip(&along) {
                case.add(format!("{}: {kind} ms", variant.name), 1e3 * median(seconds));
            }
            let mut row = vec![
                variant.name.clone(),
                format!("{rate}"),
                figure(median(&iterations)),
                figure(largest(iterations.iter().copied())),
                figure(gap),
                figure(ms),
            ];
            row.extend(along.iter().map(|a| figure(1e3 * median(&a.1))));
            rows.push(row);
            chart.series.push(series(format!("{rate} Hz"), points.clone()));
        }
        found.charts.push(chart);
    }
    if complete {
        found.cases = cases;
    } else {
        found.notes.push("The time limit was reached before all cases were run.".into());
    }
    let budget = format!("largest gap with {} a frame, m", p.budget);
    let mut head = vec![
        "mechanism",
        "frames a second",
        "median iterations",
        "most",
        budget.as_str(),
        "ms a step so",
    ];
    let named: Vec<String> =
        [&p.solver].into_iter().chain(&p.rivals).map(|k| format!("{k}, ms a solve")).collect();
    head.extend(named.iter().map(String::as_str));
    found.tables.push((
        format!(
            "Along {} s of exact motion: iterations of `{}` over the loops, from a zero guess, to {:e} of the largest gap \
             that a frame of free motion opens. Then the same motion by `displacement` with one geometric iteration a frame \
             and at most {} over the loops.",
            p.seconds, p.solver, p.tolerance, p.budget
        ),
        table(&head, rows),
    ));
    Ok(found)
}

impl Variant {
    fn make(&self, bench: &Bench) -> Result<(Mechanism, State), Failure> {
        let mut m = bench.mechanism(&self.scene)?;
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
) -> Result<Frames, Failure> {
    let mut corrector = Corrector::new(m, bench.solver(solver)?);
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
        let work = Work { iterations: 10_000, tolerance: p.tolerance * gap, out_of_time: None };
        let (iterations, seconds) = corrector.solve_once(solids, &work);
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
        method: bench.method("displacement")?,
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
