//! Assembly as it is printed: how fast it converges (Faure 1998, Figure 2) and what a budget buys (Figure 3).

use super::tools::{Bench, Budget, Corrector, Found, counts, series, table};
use super::verdict::Case;
use crate::failure::Failure;
use crate::plot::Chart;
use crate::report::figure;
use linkwork::math::exp;
use linkwork::measure::Meter;
use linkwork::{AssembleConfig, State, Vector, assemble};
use serde::Deserialize;
use std::time::Instant;

fn gap_chart(title: &str) -> Chart {
    Chart {
        title: title.into(),
        x_label: "geometric iteration".into(),
        y_label: "largest gap, m or rad".into(),
        log_y: true,
        ..Chart::default()
    }
}

fn curve(gaps: &[f64]) -> Vec<(f64, f64)> {
    // Below rounding there is nothing to see.
    gaps.iter().enumerate().map(|(k, g)| (k as f64, g.max(1e-16))).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Convergence {
    scene: String,
    /// Turned about the z axis, degrees from where the scene has it.
    turned: String,
    degrees: Vec<f64>,
    solver: String,
    iterations: usize,
    /// What counts as closed, metres.
    closed: f64,
}

/// Figure 2: gaps per iteration from several starts.
pub fn convergence(bench: &Bench) -> Result<Found, Failure> {
    let p: Convergence = bench.parameters()?;
    let m = bench.mechanism(&p.scene)?;
    let solid = bench.solid(&m, &p.turned)?;
    let mut found = Found::default();
    let mut chart = gap_chart("The largest gap per iteration");
    let mut rows = Vec::new();
    for degrees in &p.degrees {
        let mut s = State::new(&m);
        s.rotations[solid.index()] = exp(Vector::Z * degrees.to_radians()) * s.rotations[solid.index()];
        let mut corrector = Corrector::new(&m, bench.linear_solver(&p.solver)?);
        let budget = Budget {
            iterations: p.iterations,
            solver_iterations: 1000,
            tolerance: 1e-14,
            out_of_time: Some(&|| bench.out_of_time()),
        };
        let gaps = corrector.correct(&m, &mut s, &budget);
        let needed = gaps.iter().position(|g| *g <= p.closed).map_or(f64::INFINITY, |k| k as f64);
        // The order: how many times more digits an iteration brings than the one before, where there are digits to bring.
        let digits: Vec<f64> = gaps.iter().take_while(|g| **g > 1e-12).map(|g| g.ln()).collect();
        let order = match digits.as_slice() {
            [.., a, b, c] if b < a => (c - b) / (b - a),
            _ => f64::NAN,
        };
        let last = gaps.last().copied().unwrap_or(f64::NAN);
        let mut case = Case::of("", *degrees);
        case.add("iterations", needed);
        case.add("gap at the end", last);
        found.cases.push(case);
        chart.series.push(series(format!("turned by {degrees}°"), curve(&gaps)));
        let mut row = vec![format!("{degrees}°")];
        row.extend((0..6).map(|k| gaps.get(k).map_or("–".into(), |g| figure(*g))));
        row.push(if needed.is_finite() { figure(needed) } else { "never".into() });
        row.push(if order.is_finite() { figure(order) } else { "–".into() });
        rows.push(row);
    }
    let head = ["start", "0", "1", "2", "3", "4", "5", "iterations needed", "order at the end"];
    found.tables.push((
        format!(
            "{}: the largest gap (m) after each iteration; iterations until it is below {:e} m.",
            counts(&m),
            p.closed
        ),
        table(&head, rows),
    ));
    found.charts.push(chart);
    Ok(found)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Budgeted {
    scene: String,
    /// `printed`: the loop of section 3.4. `ours`: `assemble`, which makes solids harder to turn while gaps are wide.
    corrections: Vec<String>,
    solvers: Vec<String>,
    iterations: usize,
    solver_iterations: usize,
    /// More budgets per linear system, for the plot.
    sweep: Vec<usize>,
    sweep_solver: String,
}

/// Figure 3: what a budget of iterations leaves open.
pub fn budget(bench: &Bench) -> Result<Found, Failure> {
    let p: Budgeted = bench.parameters()?;
    let m = bench.mechanism(&p.scene)?;
    let mut found = Found::default();
    let mut chart = gap_chart(&format!("{} iterations of at most {}", p.iterations, p.solver_iterations));
    let mut rows = Vec::new();
    let attempt = |how: &str, solver: &str, inner: usize| -> Result<(Vec<f64>, usize, f64), Failure> {
        let mut best = f64::INFINITY;
        let mut kept = (Vec::new(), 0);
        // The time is the best of a few; the gaps are the same each time.
        for _ in 0..3 {
            let mut s = State::new(&m);
            let start = Instant::now();
            if how == "ours" {
                let seen = std::cell::RefCell::new(vec![Meter::default().gaps(&m, &s).worst()]);
                let config = AssembleConfig {
                    tolerance: 1e-12,
                    iterations: Some(p.iterations),
                    solver_iterations: inner,
                    solver: bench.solver(solver)?,
                    progress: Some(&|now| seen.borrow_mut().push(now.gap)),
                    ..AssembleConfig::default()
                };
                let report = assemble(&m, &mut s, &config);
                best = best.min(start.elapsed().as_secs_f64());
                let mut gaps = seen.into_inner();
                gaps.truncate(p.iterations);
                gaps.push(report.gaps.worst());
                kept = (gaps, report.solver_iterations);
                continue;
            }
            let mut corrector = Corrector::new(&m, bench.linear_solver(solver)?);
            let budget = Budget {
                iterations: p.iterations,
                solver_iterations: inner,
                tolerance: 1e-12,
                out_of_time: Some(&|| bench.out_of_time()),
            };
            let gaps = corrector.correct(&m, &mut s, &budget);
            best = best.min(start.elapsed().as_secs_f64());
            kept = (gaps, corrector.solver_iterations);
        }
        Ok((kept.0, kept.1, best))
    };
    let mut tried = Vec::new();
    for how in &p.corrections {
        tried.extend(p.solvers.iter().map(|solver| (how, solver)));
    }
    for (how, solver) in tried {
        if how == "ours" && solver == "conjugate-gradients" {
            continue;
        }
        bench.at(format!("{how}, {solver}"));
        let (gaps, spent, seconds) = attempt(how, solver, p.solver_iterations)?;
        let last = gaps.last().copied().unwrap_or(f64::NAN);
        let mut case = Case::new(
            match how.as_str() {
                "ours" => "our correction is used, not the printed one".to_owned(),
                _ => format!("the {how} correction is used"),
            },
            solver.clone(),
        );
        case.add("gap", last);
        case.add("start gap", gaps[0]);
        case.add("seconds", seconds);
        found.cases.push(case);
        chart.series.push(series(format!("{how}, {solver}"), curve(&gaps)));
        rows.push(vec![
            how.clone(),
            solver.clone(),
            (gaps.len() - 1).to_string(),
            spent.to_string(),
            figure(gaps[0]),
            figure(last),
            figure(1e3 * seconds),
        ]);
    }
    let head = [
        "correction",
        "solver",
        "geometric iterations",
        "solver iterations",
        "gap before",
        "gap after",
        "ms",
    ];
    found.tables.push((format!("{}, from the poses of the scene.", counts(&m)), table(&head, rows)));
    found.charts.push(chart);
    let mut points = vec![Vec::new(); p.corrections.len()];
    for inner in &p.sweep {
        bench.at(format!("{} x {inner}", p.iterations));
        for (how, points) in p.corrections.iter().zip(&mut points) {
            let (gaps, _, _) = attempt(how, &p.sweep_solver, *inner)?;
            points.push((*inner as f64, gaps.last().copied().unwrap_or(f64::NAN).max(1e-16)));
        }
    }
    found.charts.push(Chart {
        title: format!("{} geometric iterations with {}", p.iterations, p.sweep_solver),
        x_label: "solver iterations in each".into(),
        y_label: "largest gap left, m or rad".into(),
        log_y: true,
        series: p.corrections.iter().zip(points).map(|(how, points)| series(how.clone(), points)).collect(),
        ..Chart::default()
    });
    Ok(found)
}
