//! The ladders of Faure 1999, Tables 1 and 2: iterations and time of every solver, and how they grow.

use super::tools::{Bench, Found, exponent, largest, series, table};
use super::verdict::Case;
use crate::failure::Failure;
use crate::plot::Chart;
use crate::report::figure;
use linkwork::graph::Graph;
use linkwork::math::Random;
use linkwork::rows::{Masses, Rows};
use linkwork::solve::{LinearSolver, Problem, Work};
use linkwork::{AssembleConfig, JointId, Mechanism, State, assemble, generate, scene};
use serde::Deserialize;
use std::time::Instant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Parameters {
    ladder: Vec<Ladder>,
    heavy: f64,
    poses: Vec<String>,
    solvers: Vec<String>,
    /// The paper's own.
    method: String,
    /// Relative to the largest entry of the right side.
    tolerance: f64,
    dt: f64,
    /// Dense matrices of more rows are left out.
    dense: usize,
    /// Seconds of repeats per solve.
    repeats: f64,
}

/// Bars per pattern, patterns, and the paper's milliseconds per solver, as far as printed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Ladder {
    bars: usize,
    patterns: usize,
    paper_ms: std::collections::BTreeMap<String, f64>,
}

pub fn run(bench: &Bench) -> Result<Found, Failure> {
    let p: Parameters = bench.parameters()?;
    let mut found = Found::default();
    let mut rows = Vec::new();
    for pose in &p.poses {
        for side in ["swing", "random"] {
            // Per solver: loop rows, all rows, iterations, seconds, per ladder.
            let mut seen: Vec<Vec<[f64; 4]>> = vec![Vec::new(); p.solvers.len()];
            for ladder in &p.ladder {
                let name = format!("({},{})", ladder.bars, ladder.patterns);
                if bench.out_of_time() {
                    found.notes.push(format!("{name} {pose}, {side}: left out by the time limit."));
                    continue;
                }
                bench.at(format!("{name} {pose}, {side}"));
                let m = mechanism(bench, ladder, p.heavy)?;
                let (graph, mut state) = (Graph::new(&m), State::new(&m));
                if pose == "crumpled" {
                    crumple(&m, &mut state);
                }
                let (mut r, mut masses) = (Rows::default(), Masses::default());
                let joints = (0..m.joints().len() as u32).map(JointId);
                r.fill(&m, &state, state.time, joints, |j| graph.default_rank(j));
                masses.update(&m, &state);
                let b = if side == "random" { random(&r, &masses) } else { swing(&r, &masses, p.dt) };
                let tolerance = p.tolerance * largest(b.iter().map(|x| x.abs()));
                for (k, solver) in p.solvers.iter().enumerate() {
                    let too_large = match solver.as_str() {
                        "full-dense" => r.len() > p.dense,
                        "structured-dense" => graph.loops > p.dense,
                        _ => false,
                    };
                    if too_large {
                        continue;
                    }
                    let (iterations, seconds, left) =
                        measure(bench.linear_solver(solver)?, &r, &masses, &b, tolerance, p.repeats);
                    seen[k].push([graph.loops as f64, r.len() as f64, iterations as f64, seconds]);
                    rows.push(vec![
                        pose.clone(),
                        side.to_owned(),
                        name.clone(),
                        format!("{}, {}", graph.acyclic, graph.loops),
                        solver.clone(),
                        iterations.to_string(),
                        figure(1e3 * seconds),
                        ladder.paper_ms.get(solver).map_or("–".into(), |ms| figure(*ms)),
                        format!(
                            "{}{}",
                            figure(left),
                            if left <= 1.01 * tolerance { "" } else { " (missed)" }
                        ),
                    ]);
                }
            }
            let Some(own) = p.solvers.iter().position(|s| *s == p.method) else {
                return Err(bench.bad("`method` is one of `solvers`"));
            };
            if seen[own].len() < 2 {
                continue;
            }
            let mut case = Case::new("", format!("{pose} ladder, {side} right side"));
            let points = |k: usize, x: usize, y: usize| -> Vec<(f64, f64)> {
                seen[k].iter().map(|s| (s[x], s[y].max(1e-9))).collect()
            };
            // At least one iteration, or a logarithm would make nothing of it.
            let counted: Vec<(f64, f64)> = seen[own].iter().map(|s| (s[1], s[2].max(1.0))).collect();
            case.add("growth of iterations", exponent(&counted));
            case.add("growth of time", exponent(&points(own, 1, 3)));
            case.add("most iterations", largest(seen[own].iter().map(|s| s[2])));
            for (k, solver) in p.solvers.iter().enumerate().filter(|(k, _)| *k != own) {
                let faster = seen[k].iter().map(|s| {
                    let same = seen[own].iter().find(|o| o[0] == s[0] && o[1] == s[1]);
                    same.map_or(0.0, |o| s[3] / o[3])
                });
                case.add(format!("faster than {solver}"), largest(faster));
                let last = seen[k].last().zip(seen[own].last());
                case.add(
                    format!("faster than {solver} on its largest"),
                    last.map_or(0.0, |(s, _)| {
                        let same = seen[own].iter().find(|o| o[0] == s[0] && o[1] == s[1]);
                        same.map_or(0.0, |o| s[3] / o[3])
                    }),
                );
            }
            found.cases.push(case);
            if side == "random" {
                let chart = |title: &str, y: &str, column: usize| Chart {
                    title: format!("{title}, {pose}, {side} right side"),
                    x_label: "scalar constraints".into(),
                    y_label: y.into(),
                    log_x: true,
                    log_y: true,
                    series: (0..p.solvers.len())
                        .map(|k| {
                            let scale = if column == 3 { 1e3 } else { 1.0 };
                            let line = points(k, 1, column).iter().map(|q| (q.0, scale * q.1)).collect();
                            series(p.solvers[k].clone(), line)
                        })
                        .filter(|s| column == 3 || !(s.name.ends_with("dense") || s.name.ends_with("direct")))
                        .collect(),
                    ..Chart::default()
                };
                found.charts.push(chart("Time to factor and solve", "ms", 3));
                found.charts.push(chart("Iterations", "from a zero guess", 2));
            }
        }
    }
    let head = [
        "pose",
        "right side",
        "ladder",
        "a, l",
        "solver",
        "iterations",
        "ms",
        "paper's ms",
        "largest residual",
    ];
    found.tables.push((
        format!(
            "Factor and solve once, from a zero guess, to {:e} of the largest entry of the right side; the fastest of \
             repeats, one thread. The paper's times are of a 180 MHz R5000. `swing`: the gaps that a frame of {} s of \
             free fall opens, from rest. `random`: b = A x of a random x. Iterations of direct solvers are refinements.",
            p.tolerance, figure(p.dt)
        ),
        table(&head, rows),
    ));
    Ok(found)
}

fn mechanism(bench: &Bench, l: &Ladder, heavy: f64) -> Result<Mechanism, Failure> {
    let text = generate::ladder(l.bars, l.patterns, heavy).map_err(|e| bench.bad(e))?;
    let (made, _) = scene::load(&text, &mut |_: &str| Err("no files".into()));
    made.map(|s| s.mechanism).ok_or_else(|| bench.bad("the ladder cannot be made"))
}

/// Scattered by up to 0.3 m and 0.5 rad with a fixed seed, then assembled.
fn crumple(m: &Mechanism, state: &mut State) {
    let mut random = Random::new(7);
    for i in (1..m.solids().len()).filter(|i| !m.solids()[*i].is_fixed()) {
        let (t, q) = (random.ball() * 0.3, random.ball() * 0.5);
        state.displace(i, &[t.x, t.y, t.z, q.x, q.y, q.z]);
    }
    assemble(m, state, &AssembleConfig { tolerance: 1e-10, ..AssembleConfig::default() });
}

/// `b = -J (g dt^2)`.
fn swing(rows: &Rows, masses: &Masses, dt: f64) -> Vec<f64> {
    let mut dq = vec![[0.0; 6]; masses.len()];
    for i in (0..masses.len()).filter(|i| masses.moves(*i)) {
        dq[i][1] = -9.81 * dt * dt;
    }
    let mut b = vec![0.0; rows.len()];
    rows.apply(&dq, &mut b);
    b.iter_mut().for_each(|b| *b = -*b);
    b
}

/// `b = A x`: within reach, with something in every row, and no larger than 1.
fn random(rows: &Rows, masses: &Masses) -> Vec<f64> {
    let mut random = Random::new(11);
    let x: Vec<f64> = (0..rows.len()).map(|_| random.signed()).collect();
    let mut b = multiply(rows, masses, &x);
    let scale = largest(b.iter().map(|b| b.abs())).max(f64::MIN_POSITIVE);
    b.iter_mut().for_each(|b| *b /= scale);
    b
}

/// `A x` by the rows themselves, which no solver has touched.
fn multiply(rows: &Rows, masses: &Masses, x: &[f64]) -> Vec<f64> {
    let mut dq = vec![[0.0; 6]; masses.len()];
    rows.apply_transposed(x, masses, &mut dq);
    let mut b = vec![0.0; rows.len()];
    rows.apply(&dq, &mut b);
    b
}

/// Iterations, the fastest seconds of factor and solve, and the residual by the rows.
fn measure(
    mut solver: Box<dyn LinearSolver>,
    rows: &Rows,
    masses: &Masses,
    b: &[f64],
    tolerance: f64,
    repeats: f64,
) -> (usize, f64, f64) {
    solver.analyse(rows, masses);
    let problem = Problem { rows, masses, active: &[], damping: None };
    let (mut best, mut iterations) = (f64::INFINITY, 0);
    let mut lambda = vec![0.0; b.len()];
    let begin = Instant::now();
    let mut n = 0;
    while n == 0 || (begin.elapsed().as_secs_f64() < repeats && n < 1000) {
        lambda.fill(0.0);
        let start = Instant::now();
        let late = || start.elapsed().as_secs_f64() > 10.0;
        solver.factor(&problem);
        let work = Work { iterations: 20_000, tolerance, out_of_time: Some(&late) };
        iterations = solver.solve(b, &mut lambda, &work).iterations;
        best = best.min(start.elapsed().as_secs_f64());
        n += 1;
    }
    let left = multiply(rows, masses, &lambda);
    (iterations, best, largest(left.iter().zip(b).map(|(a, b)| (a - b).abs())))
}
