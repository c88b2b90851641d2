//! A scripted solid shakes what hangs on it, each frame corrected within a budget (Faure 1998, Figure 6).
//!
//! With time and gravity as they are, only the size of things decides: `g dt^2 / L`. A scene that is `k` times as large moves
//! like the same scene in a `k`-th of the gravity and of the hand's way: so sizes are scanned, and gaps are told in lengths
//! of a bar.

use super::printed;
use super::tools::{Bench, Budget, Corrector, Found, Walked, apart, counts, median, series, table};
use super::verdict::{Case, number};
use crate::failure::Failure;
use crate::plot::Chart;
use crate::report::figure;
use linkwork::{Mechanism, State, StepConfig, TrajectoryId, Vector};
use serde::Deserialize;
use std::time::Instant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Parameters {
    scene: String,
    /// Length of a bar in the scene, metres.
    bar: f64,
    /// Lengths that it shall have, a group each.
    bars: Vec<f64>,
    /// `conjugate-gradients` runs the printed step, all others the library's `displacement`.
    solver: String,
    /// The same budget with other solvers, for the table.
    rivals: Vec<String>,
    /// Per frame.
    iterations: usize,
    solver_iterations: usize,
    /// Frames per second, a case each.
    rates: Vec<f64>,
    seconds: f64,
    /// The solid whose path is drawn, at this length of a bar.
    follow: String,
    draw: f64,
}

/// One run.
struct Track {
    gaps: Vec<f64>,
    ms: Vec<f64>,
    states: Vec<State>,
    done: bool,
}

impl Track {
    fn worst(&self) -> f64 {
        if self.done { self.gaps.iter().copied().fold(0.0, f64::max) } else { f64::INFINITY }
    }
}

/// Gives all trajectories these places, times a factor.
fn scale_ways(bench: &Bench, m: &mut Mechanism, ways: &[Vec<Vector>], by: f64) -> Result<(), Failure> {
    for (t, way) in ways.iter().enumerate() {
        m.edit_trajectory(TrajectoryId(t as u32), |t| {
            t.keys.iter_mut().zip(way).for_each(|(k, at)| k.position = *at * by);
        })
        .map_err(|e| bench.bad(e))?;
    }
    Ok(())
}

pub fn run(bench: &Bench) -> Result<Found, Failure> {
    let p: Parameters = bench.parameters()?;
    let mut m = bench.mechanism(&p.scene)?;
    let gravity = m.gravity;
    let ways: Vec<Vec<Vector>> =
        m.trajectories().iter().map(|t| t.keys.iter().map(|k| k.position).collect()).collect();
    let follow = bench.solid(&m, &p.follow)?;
    let mut found = Found::default();
    found.notes.push(format!(
        "{}; {} geometric iteration(s) of {} solver iterations a frame, for {} s. `conjugate-gradients` is the step as \
         printed; the others are the library's `displacement` with the same budget. The hand's way is the same for \
         every size.",
        counts(&m),
        p.iterations,
        p.solver_iterations,
        p.seconds
    ));
    let mut rows = Vec::new();
    for bar in &p.bars {
        // Lengths of the world, gravity and the hand's way, in those of the scene.
        m.gravity = gravity * (p.bar / bar);
        scale_ways(bench, &mut m, &ways, p.bar / bar)?;
        for rate in &p.rates {
            let steps = (p.seconds * rate).round() as usize;
            bench.at(format!("bars of {bar} m at {rate} Hz"));
            let exact = library(bench, &m, "auto", (50, 1000), 1e-9, 1.0 / rate, steps)?;
            for solver in [&p.solver].into_iter().chain(&p.rivals) {
                let budget = (p.iterations, p.solver_iterations);
                let t = match solver.as_str() {
                    "conjugate-gradients" => letter(bench, &m, solver, budget, 1.0 / rate, steps)?,
                    _ => library(bench, &m, solver, budget, 0.0, 1.0 / rate, steps)?,
                };
                if bench.out_of_time() {
                    found
                        .notes
                        .push(format!("{solver}, {bar} m, {rate} Hz: not finished within the time limit."));
                    continue;
                }
                let off: Vec<f64> =
                    t.states.iter().zip(&exact.states).map(|(a, b)| apart(&m, a, b) / p.bar).collect();
                let (gap, typical) = (t.worst() / p.bar, median(&t.gaps) / p.bar);
                if *solver == p.solver {
                    let mut case = Case::of(format!("bars of {} m", number(*bar)), *rate);
                    case.add("gap", gap);
                    case.add("median gap", typical);
                    case.add("apart", median(&off));
                    case.add("part of the frame", median(&t.ms) * rate / 1e3);
                    found.cases.push(case);
                }
                rows.push(vec![
                    number(*bar),
                    number(*rate),
                    solver.clone(),
                    figure(gap),
                    figure(typical),
                    figure(median(&off)),
                    figure(exact.worst() / p.bar),
                    figure(median(&t.ms)),
                ]);
                if *solver == p.solver
                    && *bar == p.draw
                    && (*rate == p.rates[0] || Some(rate) == p.rates.last())
                {
                    draw(&mut found, &p, &m, follow, *rate, &t, &exact, &off);
                }
            }
        }
    }
    let head = [
        "bars, m",
        "frames a second",
        "solver",
        "largest gap",
        "median gap",
        "from exact",
        "gap of the exact run",
        "ms a step",
    ];
    found.tables.push(("Gaps and distances in lengths of a bar.".into(), table(&head, rows)));
    Ok(found)
}

/// The library's `displacement`.
fn library(
    bench: &Bench,
    m: &Mechanism,
    solver: &str,
    (iterations, solver_iterations): (usize, usize),
    tolerance: f64,
    dt: f64,
    steps: usize,
) -> Result<Track, Failure> {
    let c = StepConfig {
        method: bench.method("displacement")?,
        solver: bench.solver(solver)?,
        dt,
        // Zero: always the whole budget.
        tolerance,
        iterations,
        solver_iterations,
        ..StepConfig::default()
    };
    let mut t = Track { gaps: Vec::new(), ms: Vec::new(), states: Vec::new(), done: false };
    let walked = bench.walk(m, &mut State::new(m), &c, steps, &mut |_, s, r, seconds| {
        t.gaps.push(r.gaps.worst());
        t.ms.push(1e3 * seconds);
        t.states.push(s.clone());
    });
    t.done = walked == Walked::Done;
    Ok(t)
}

/// The step to the letter.
fn letter(
    bench: &Bench,
    m: &Mechanism,
    solver: &str,
    (iterations, solver_iterations): (usize, usize),
    dt: f64,
    steps: usize,
) -> Result<Track, Failure> {
    let mut t = Track { gaps: Vec::new(), ms: Vec::new(), states: Vec::new(), done: true };
    let mut s = State::new(m);
    let mut corrector = Corrector::new(m, bench.linear_solver(solver)?);
    let late = || bench.out_of_time();
    let budget = Budget { iterations, solver_iterations, tolerance: 0.0, out_of_time: Some(&late) };
    for _ in 0..steps {
        let start = Instant::now();
        let gap = printed::step(m, &mut s, &mut corrector, &budget, dt);
        t.ms.push(1e3 * start.elapsed().as_secs_f64());
        if late() || !s.is_finite() {
            t.done = false;
            break;
        }
        t.gaps.push(gap);
        t.states.push(s.clone());
    }
    Ok(t)
}

fn draw(
    found: &mut Found,
    p: &Parameters,
    m: &Mechanism,
    follow: linkwork::SolidId,
    rate: f64,
    t: &Track,
    exact: &Track,
    off: &[f64],
) {
    let time = |k: usize| (k + 1) as f64 / rate;
    let line = |y: &[f64], by: f64| y.iter().enumerate().map(|(k, y)| (time(k), y / by)).collect();
    found.charts.push(Chart {
        title: format!("Gaps and distance from the exact run, bars of {} m, {rate} Hz", number(p.draw)),
        x_label: "time, s".into(),
        y_label: "lengths of a bar".into(),
        log_y: true,
        series: vec![
            series("largest gap", line(&t.gaps, p.bar)),
            series("from the exact run, root mean square", line(off, 1.0)),
        ],
        ..Chart::default()
    });
    let across = |t: &Track| -> Vec<(f64, f64)> {
        t.states.iter().enumerate().map(|(k, s)| (time(k), s.pose(m, follow).translation.x / p.bar)).collect()
    };
    found.charts.push(Chart {
        title: format!("Where `{}` swings, bars of {} m, {rate} Hz", p.follow, number(p.draw)),
        x_label: "time, s".into(),
        y_label: "x, lengths of a bar".into(),
        series: vec![series("within the budget", across(t)), series("exact", across(exact))],
        ..Chart::default()
    });
}
