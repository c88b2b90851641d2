//! Hong's two-link arm of particles, its accumulated constraint error and its path, over a scan of lengths (Hong 2005,
//! Figures 1 to 3). Only `g dt^2 / L` matters, and the paper does not tell `L`.

use super::tools::{Bench, Found, Walked, largest, series, table};
use super::verdict::{Case, number};
use crate::failure::Failure;
use crate::plot::Chart;
use crate::report::figure;
use linkwork::{Frame, Joint, Mechanism, Method, Solid, SolidId, State, StepConfig, Vector};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Parameters {
    /// Metres, a case each.
    lengths: Vec<f64>,
    gravity: f64,
    dt: f64,
    steps: usize,
    /// With so many pieces per step.
    reference: String,
    reference_pieces: usize,
    implicit: String,
    /// Readings of the integrator that the rivals use, a group each.
    integrators: Vec<String>,
    /// Baumgarte's alpha and beta, 1/s.
    alpha: f64,
    beta: f64,
    /// Both forms of the constraint, `|d| - L` and `|d|^2 - L^2`, or one.
    squared: Vec<bool>,
    /// The lengths whose curves are drawn, and what is drawn: `arm`, `error`, `height`.
    draw: Vec<f64>,
    plots: Vec<String>,
    /// Where "early" ends for the paper's "deviates early", seconds.
    early: f64,
}

/// Positions of both nodes and the summed error, step by step.
#[derive(Clone, Default)]
struct Trace {
    nodes: Vec<[Vector; 2]>,
    error: Vec<f64>,
    /// It could not be carried on to the end.
    broke: Option<usize>,
}

/// In lengths of a link: whoever is there has blown up.
const FAR: f64 = 10.0;

const NAMES: [&str; 3] = ["implicit", "post-stabilization", "Baumgarte"];

pub fn run(bench: &Bench) -> Result<Found, Failure> {
    let p: Parameters = bench.parameters()?;
    let mut found = Found::default();
    found.notes.push(format!(
        "Two equal particles, each at distance L from the one before, held out level; g = {} m/s², {} steps of {} s. \
         Reference: `{}` with {} pieces a step. Baumgarte's alpha is {} /s, beta {} /s. Blown up (∞): farther \
         away than ten links.",
        p.gravity, p.steps, p.dt, p.reference, p.reference_pieces, p.alpha, p.beta
    ));
    let reference = bench.method(&p.reference)?;
    let mut settings = Vec::new();
    for integrator in &p.integrators {
        settings.extend(p.squared.iter().map(|squared| (integrator, squared)));
    }
    let mut rows = Vec::new();
    let mut scan: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    let mut self_apart = Vec::new();
    // The reference knows neither form nor rivals: once per length.
    let mut known: Vec<(f64, Trace, Trace)> = Vec::new();
    for (setting, (integrator, squared)) in settings.into_iter().enumerate() {
        let methods = [
            bench.method(&p.implicit)?,
            bench.method(&format!("post-stabilization {integrator}"))?,
            bench.method(&format!("baumgarte {} {} {integrator}", p.alpha, p.beta))?,
        ];
        let form = if *squared { "|d|² − L²" } else { "|d| − L" };
        let group = format!("{form}, rivals by {integrator}");
        scan.push((format!("implicit, {form}"), Vec::new()));
        scan.push((format!("post-stabilization by {integrator}, {form}"), Vec::new()));
        for length in &p.lengths {
            if bench.out_of_time() {
                found.notes.push(format!("{group}, {length} m and longer: left out by the time limit."));
                break;
            }
            bench.at(format!("{group}, L = {} m", number(*length)));
            let m = arm(*length, p.gravity).map_err(|e| bench.bad(e))?;
            let trace = |method, pieces| simulate(bench, &m, &p, method, pieces, *squared, *length);
            if !known.iter().any(|k| k.0 == *length) {
                let exact = trace(reference, p.reference_pieces)?;
                let coarse = trace(reference, p.reference_pieces.div_ceil(2))?;
                known.push((*length, exact, coarse));
            }
            let Some((_, exact, coarse)) = known.iter().find(|k| k.0 == *length) else { continue };
            if bench.out_of_time() {
                continue;
            }
            if exact.broke.is_some() {
                return Err(bench.bad(format!("the reference `{}` cannot run the arm", p.reference)));
            }
            let runs: Vec<Trace> =
                methods.iter().map(|method| trace(*method, 1)).collect::<Result<_, _>>()?;
            let mut case = Case::of(group.clone(), *length);
            // The reference against itself with longer pieces: beyond where these part nothing can be compared.
            let chaos = off(coarse, exact, 1, p.steps, *length);
            let mut row = vec![form.to_owned(), integrator.clone(), number(*length)];
            for (k, run) in runs.iter().enumerate() {
                let name = NAMES[k];
                let (middle, tip) =
                    (off_y(run, exact, 0, p.steps, *length), off_y(run, exact, 1, p.steps, *length));
                let last = end_apart(run, exact, p.steps, *length);
                let error =
                    if run.broke.is_some() { f64::INFINITY } else { largest(run.error.iter().copied()) };
                case.add(format!("{name}: middle"), middle);
                case.add(format!("{name}: tip"), tip);
                case.add(format!("{name}: at the end"), last);
                case.add(format!("{name}: error"), error / length);
                let quarter = p.steps / 4;
                let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
                let (begin, end) = match run.error.len() >= p.steps {
                    true => (mean(&run.error[..quarter]), mean(&run.error[p.steps - quarter..])),
                    false => (mean(&run.error[..quarter.min(run.error.len())]), f64::INFINITY),
                };
                case.add(format!("{name}: error at the end"), end / length);
                case.add(format!("{name}: growth"), end / begin.max(1e-300));
                let early = (p.early / p.dt).round() as usize;
                case.add(format!("{name}: early"), off_y(run, exact, 1, early, *length));
                row.extend([
                    figure(middle),
                    figure(tip),
                    figure(last),
                    figure(error / length),
                    figure(end / length),
                ]);
                if k < 2 {
                    scan[2 * setting + k].1.push((*length, tip));
                }
            }
            case.add("reference: tip", chaos);
            row.push(figure(chaos));
            rows.push(row);
            if setting == 0 {
                self_apart.push((*length, chaos.max(1e-12)));
            }
            if setting == 0 && p.draw.contains(length) {
                draw(&mut found, &p, exact, &runs, *length);
            }
            found.cases.push(case);
        }
    }
    let mut lines: Vec<crate::plot::Series> = Vec::new();
    for (name, points) in scan {
        // The implicit method is the same beside every rival.
        if lines.iter().all(|l| l.name != name) {
            lines.push(series(name, points));
        }
    }
    lines.push(series("reference, with pieces twice as long", self_apart));
    found.charts.insert(
        0,
        Chart {
            title: "Largest error of the tip's height over the whole run".into(),
            x_label: "length of a link, m".into(),
            y_label: "lengths of a link".into(),
            log_x: true,
            log_y: true,
            note: "What is missing blew up.".into(),
            series: lines,
            ..Chart::default()
        },
    );
    let mut head = vec!["Phi", "rivals", "L, m"];
    head.extend([
        "implicit: y middle",
        "y tip",
        "tip at the end",
        "error",
        "at the end",
        "post-st.: y middle",
        "y tip",
        "tip at the end",
        "error",
        "at the end",
        "Baumgarte: y middle",
        "y tip",
        "tip at the end",
        "error",
        "at the end",
        "reference itself",
    ]);
    found.tables.push((
        "Largest difference of height from the reference (middle node, tip), distance of the tip at the end, and the \
         summed constraint error (largest, and mean of the last quarter); all in lengths of a link."
            .into(),
        table(&head, rows),
    ));
    Ok(found)
}

/// The fixed point and two particles, level.
fn arm(length: f64, gravity: f64) -> Result<Mechanism, linkwork::ModelError> {
    let mut m = Mechanism::new();
    m.gravity = Vector::new(0.0, -gravity, 0.0);
    let mut before = SolidId::WORLD;
    for (k, name) in ["middle", "tip"].into_iter().enumerate() {
        let next = m.add_solid(Solid::particle(name, 1.0).at((k + 1) as f64 * length, 0.0, 0.0))?;
        m.add_joint(Joint::distance(
            Frame::point(before, Vector::ZERO),
            Frame::point(next, Vector::ZERO),
            length,
        ))?;
        before = next;
    }
    Ok(m)
}

/// Runs it. Every method gets exactly one solve of each kind a step, as in the paper.
fn simulate(
    bench: &Bench,
    m: &Mechanism,
    p: &Parameters,
    method: Method,
    pieces: usize,
    squared: bool,
    length: f64,
) -> Result<Trace, Failure> {
    let c = StepConfig {
        method,
        dt: p.dt / pieces as f64,
        iterations: 1,
        tolerance: 0.0,
        squared_distances: squared,
        ..StepConfig::default()
    };
    let mut s = State::new(m);
    let mut t = Trace::default();
    let walked = bench.walk(m, &mut s, &c, p.steps * pieces, &mut |k, s, _, _| {
        if k % pieces == 0 && t.broke.is_none() {
            let (a, b) = (s.centers[1], s.centers[2]);
            if !(a.length().max(b.length()) <= FAR * length) {
                t.broke = Some(t.nodes.len());
                return;
            }
            t.nodes.push([a, b]);
            t.error.push((a.length() - length).abs() + ((b - a).length() - length).abs());
        }
    });
    if walked != Walked::Done && t.broke.is_none() {
        t.broke = Some(t.nodes.len());
    }
    Ok(t)
}

/// Largest distance of a node from the reference in the first steps, in lengths.
fn off(run: &Trace, exact: &Trace, node: usize, steps: usize, length: f64) -> f64 {
    compare(run, exact, steps, |a, b| (a[node] - b[node]).length() / length)
}

/// The same of its height.
fn off_y(run: &Trace, exact: &Trace, node: usize, steps: usize, length: f64) -> f64 {
    compare(run, exact, steps, |a, b| (a[node].y - b[node].y).abs() / length)
}

fn compare(run: &Trace, exact: &Trace, steps: usize, far: impl Fn(&[Vector; 2], &[Vector; 2]) -> f64) -> f64 {
    if run.broke.is_some_and(|k| k < steps) {
        return f64::INFINITY;
    }
    largest(run.nodes.iter().zip(&exact.nodes).take(steps).map(|(a, b)| far(a, b)))
}

fn end_apart(run: &Trace, exact: &Trace, steps: usize, length: f64) -> f64 {
    match (run.nodes.get(steps - 1), exact.nodes.get(steps - 1)) {
        (Some(a), Some(b)) => (a[1] - b[1]).length() / length,
        _ => f64::INFINITY,
    }
}

fn draw(found: &mut Found, p: &Parameters, exact: &Trace, runs: &[Trace], length: f64) {
    let height = |t: &Trace, node: usize| -> Vec<(f64, f64)> {
        t.nodes.iter().enumerate().map(|(k, n)| ((k + 1) as f64 * p.dt, n[node].y / length)).collect()
    };
    let wanted = |plot: &str| p.plots.iter().any(|q| q == plot);
    let nodes: &[(usize, &str)] = if wanted("height") { &[(0, "middle node"), (1, "tip")] } else { &[] };
    for (node, name) in nodes {
        let mut lines = vec![series("reference", height(exact, *node))];
        lines.extend((0..2).map(|k| series(NAMES[k], height(&runs[k], *node))));
        found.charts.push(Chart {
            title: format!("Height of the {name}, L = {} m", number(length)),
            x_label: "time, s".into(),
            y_label: "y / L".into(),
            y_range: Some((-3.0, 3.0)),
            series: lines,
            ..Chart::default()
        });
    }
    if wanted("error") {
        found.charts.push(Chart {
            title: format!("Accumulated constraint error, L = {} m", number(length)),
            x_label: "step".into(),
            y_label: "sum of the errors / L".into(),
            log_y: true,
            y_range: Some((1e-17, 1e2)),
            series: runs
                .iter()
                .zip(NAMES)
                .map(|(t, name)| {
                    let points =
                        t.error.iter().enumerate().map(|(k, e)| ((k + 1) as f64, (e / length).max(1e-17)));
                    series(name, points.collect())
                })
                .collect(),
            ..Chart::default()
        });
    }
    if !wanted("arm") {
        return;
    }
    let last = |t: &Trace| -> Vec<(f64, f64)> {
        // Where it blew up there is no arm any more.
        let at = t.nodes.last().filter(|_| t.broke.is_none()).map(|n| [Vector::ZERO, n[0], n[1]]);
        at.iter().flatten().map(|v| (v.x / length, v.y / length)).collect()
    };
    let mut lines = vec![series("reference", last(exact))];
    lines.extend((0..2).map(|k| series(NAMES[k], last(&runs[k]))));
    found.charts.push(Chart {
        title: format!("The arm after {} s, L = {} m", number(p.steps as f64 * p.dt), number(length)),
        x_label: "x / L".into(),
        y_label: "y / L".into(),
        same_scale: true,
        series: lines,
        ..Chart::default()
    });
}
