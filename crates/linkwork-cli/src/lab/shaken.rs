//! A scripted solid shakes what hangs on it, each frame corrected within a budget (Faure 1998, Figure 6).

use super::tools::{Bench, Found, Walked, apart, counts, median, series, table};
use super::verdict::Case;
use crate::failure::Failure;
use crate::plot::Chart;
use crate::report::figure;
use linkwork::{State, StepConfig};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Parameters {
    scene: String,
    method: String,
    solvers: Vec<String>,
    /// Per frame.
    iterations: usize,
    solver_iterations: usize,
    /// Frames per second, a case each.
    rates: Vec<f64>,
    seconds: f64,
    /// The solid whose path is drawn.
    follow: String,
}

pub fn run(bench: &Bench) -> Result<Found, Failure> {
    let p: Parameters = bench.parameters()?;
    let m = bench.mechanism(&p.scene)?;
    let method = bench.method(&p.method)?;
    let follow = bench.solid(&m, &p.follow)?;
    let mut found = Found::default();
    found.notes.push(format!(
        "{}; `{}`, {} geometric iteration(s) of {} solver iterations a frame, for {} s.",
        counts(&m),
        p.method,
        p.iterations,
        p.solver_iterations,
        p.seconds
    ));
    let mut rows = Vec::new();
    for solver_name in &p.solvers {
        for rate in &p.rates {
            bench.at(format!("{solver_name} at {rate} Hz"));
            let dt = 1.0 / rate;
            let steps = (p.seconds * rate).round() as usize;
            let exact = StepConfig { method, dt, tolerance: 1e-9, iterations: 50, ..StepConfig::default() };
            let mut reference = State::new(&m);
            let mut states = Vec::new();
            let walked = bench.walk(&m, &mut reference, &exact, steps, &mut |_, s, _, _| states.push(s.clone()));
            let c = StepConfig {
                method,
                solver: bench.solver(solver_name)?,
                dt,
                // Zero: always the whole budget.
                tolerance: 0.0,
                iterations: p.iterations,
                solver_iterations: p.solver_iterations,
                ..StepConfig::default()
            };
            let mut s = State::new(&m);
            let (mut gaps, mut ms, mut off, mut path) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            let budgeted = bench.walk(&m, &mut s, &c, steps, &mut |k, s, r, seconds| {
                gaps.push(r.gaps.worst());
                ms.push(1e3 * seconds);
                if let Some(r) = states.get(k - 1) {
                    off.push(apart(&m, s, r));
                }
                path.push((s.time, s.pose(&m, follow).translation.y));
            });
            if [walked, budgeted].contains(&Walked::OutOfTime) {
                found.notes.push(format!("{solver_name} at {rate} Hz was not finished within the time limit."));
                continue;
            }
            let worst = if budgeted == Walked::Done { gaps.iter().copied().fold(0.0, f64::max) } else { f64::NAN };
            let mut case = Case::of(solver_name.clone(), *rate);
            case.add("gap", worst);
            case.add("median gap", median(&gaps));
            case.add("apart", median(&off));
            case.add("ms", median(&ms));
            case.add("part of the frame", median(&ms) / (1e3 * dt));
            found.cases.push(case);
            rows.push(vec![
                solver_name.clone(),
                format!("{rate}"),
                figure(worst),
                figure(median(&gaps)),
                figure(median(&off)),
                figure(median(&ms)),
                figure(1e3 / median(&ms)),
            ]);
            if *solver_name == p.solvers[0] && (*rate == p.rates[0] || Some(rate) == p.rates.last()) {
                let line = |y: &[f64]| y.iter().enumerate().map(|(k, y)| ((k + 1) as f64 * dt, *y)).collect();
                found.charts.push(Chart {
                    title: format!("Gaps and distance from the exact run, {rate} Hz"),
                    x_label: "time, s".into(),
                    y_label: "m".into(),
                    log_y: true,
                    series: vec![
                        series("largest gap", line(&gaps)),
                        series("from the exact run, root mean square", line(&off)),
                    ],
                    ..Chart::default()
                });
                let exact: Vec<(f64, f64)> =
                    states.iter().map(|s| (s.time, s.pose(&m, follow).translation.y)).collect();
                found.charts.push(Chart {
                    title: format!("Height of `{}`, {rate} Hz", p.follow),
                    x_label: "time, s".into(),
                    y_label: "y, m".into(),
                    series: vec![series("within the budget", path), series("exact", exact)],
                    ..Chart::default()
                });
            }
        }
    }
    let head = [
        "solver",
        "frames a second",
        "largest gap, m",
        "median gap, m",
        "from exact, m",
        "ms a step",
        "steps a second",
    ];
    found.tables.push(("Each rate from the same start.".into(), table(&head, rows)));
    Ok(found)
}
