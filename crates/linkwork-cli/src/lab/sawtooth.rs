//! Hong's ten links between two fixed points, in a saw tooth at first (Hong 2005, Figure 4): who blows up, and when.

use super::tools::{Bench, Found, Walked, series, table};
use super::verdict::{Case, number};
use crate::failure::Failure;
use crate::plot::Chart;
use crate::report::figure;
use linkwork::{Frame, Joint, Mechanism, Solid, SolidId, State, StepConfig, Vector};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Parameters {
    links: usize,
    /// Metres, a case each.
    lengths: Vec<f64>,
    /// Of the teeth, degrees from level.
    angle: f64,
    gravity: f64,
    dt: f64,
    steps: usize,
    squared: Vec<bool>,
    /// Readings of the rival, a group each.
    rivals: Vec<String>,
    implicit: String,
    /// Summed error, in lengths of a link, from which on it counts as broken.
    broken: f64,
    draw: f64,
}

struct Trace {
    error: Vec<f64>,
    /// Step at which it broke; infinite if it did not.
    broke: f64,
}

pub fn run(bench: &Bench) -> Result<Found, Failure> {
    let p: Parameters = bench.parameters()?;
    let mut found = Found::default();
    found.notes.push(format!(
        "{} links between two fixed points, teeth of {}°, equal particles, g = {} m/s², {} steps of {} s; broken: summed \
         error above {} lengths of a link, or numbers that are none.",
        p.links, p.angle, p.gravity, p.steps, p.dt, p.broken
    ));
    let mut rows = Vec::new();
    let mut drawn = Vec::new();
    // The implicit method is the same beside every rival.
    let mut implicit: Vec<(bool, f64, Trace)> = Vec::new();
    for rival in &p.rivals {
        for squared in &p.squared {
            let form = if *squared { "|d|² − L²" } else { "|d| − L" };
            for length in &p.lengths {
                if bench.out_of_time() {
                    found.notes.push(format!("{rival}, {form}, {length} m: left out by the time limit."));
                    continue;
                }
                bench.at(format!("{rival}, {form}, {length} m"));
                let m = saw(&p, *length).map_err(|e| bench.bad(e))?;
                let post = simulate(bench, &m, &p, rival, *squared, *length)?;
                if !implicit.iter().any(|i| i.0 == *squared && i.1 == *length) {
                    let t = simulate(bench, &m, &p, &p.implicit, *squared, *length)?;
                    implicit.push((*squared, *length, t));
                }
                let Some((_, _, ours)) = implicit.iter().find(|i| i.0 == *squared && i.1 == *length) else {
                    continue;
                };
                let mut case = Case::of(format!("{rival}, {form}"), *length);
                let worst = |t: &Trace| t.error.iter().copied().fold(0.0, f64::max) / length;
                // The late error against the early one: the paper has it decrease.
                let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
                let part = (ours.error.len() / 3).max(1);
                let fall = mean(&ours.error[ours.error.len() - part..]) / mean(&ours.error[..part]);
                // How small the rival's error was before it broke.
                let calm = post.error.get(post.error.len() / 2).copied().unwrap_or(f64::NAN) / length;
                case.add("rival: broke at", post.broke);
                case.add("rival: error half-way", calm);
                case.add("implicit: broke at", ours.broke);
                case.add("implicit: error", worst(ours));
                case.add("implicit: late by early error", fall);
                found.cases.push(case);
                let step = |t: &Trace| match t.broke.is_finite() {
                    true => format!("{:.0}", t.broke),
                    false => "never".into(),
                };
                rows.push(vec![
                    rival.clone(),
                    form.into(),
                    number(*length),
                    step(&post),
                    figure(calm),
                    step(ours),
                    figure(worst(ours)),
                    figure(fall),
                ]);
                if *length == p.draw && !squared {
                    let line = |t: &Trace| -> Vec<(f64, f64)> {
                        t.error
                            .iter()
                            .enumerate()
                            .map(|(k, e)| ((k + 1) as f64, (e / length).max(1e-17)))
                            .collect()
                    };
                    if drawn.is_empty() {
                        drawn.push(series("implicit", line(ours)));
                    }
                    drawn.push(series(rival.clone(), line(&post)));
                }
            }
        }
    }
    found.charts.push(Chart {
        title: format!("Accumulated constraint error, L = {} m, |d| − L", number(p.draw)),
        x_label: "step".into(),
        y_label: "sum of the errors / L".into(),
        log_y: true,
        y_range: Some((1e-17, 1e3)),
        series: drawn,
        ..Chart::default()
    });
    let head = [
        "rival",
        "Phi",
        "L, m",
        "rival broke at step",
        "its error half-way",
        "implicit broke at step",
        "implicit: largest error",
        "late by early error",
    ];
    found.tables.push(("Errors in lengths of a link.".into(), table(&head, rows)));
    Ok(found)
}

/// Particles up and down between two fixed points.
fn saw(p: &Parameters, length: f64) -> Result<Mechanism, linkwork::ModelError> {
    let mut m = Mechanism::new();
    m.gravity = Vector::new(0.0, -p.gravity, 0.0);
    let (across, up) = (length * p.angle.to_radians().cos(), length * p.angle.to_radians().sin());
    let place = |k: usize| Vector::new(k as f64 * across, if k % 2 == 1 { up } else { 0.0 }, 0.0);
    let mut before = (SolidId::WORLD, Vector::ZERO);
    for k in 1..p.links {
        let at = place(k);
        let next = m.add_solid(Solid::particle(format!("node-{k}"), 1.0).at(at.x, at.y, at.z))?;
        m.add_joint(Joint::distance(
            Frame::point(before.0, before.1),
            Frame::point(next, Vector::ZERO),
            length,
        ))?;
        before = (next, Vector::ZERO);
    }
    let end = Frame::point(SolidId::WORLD, place(p.links));
    m.add_joint(Joint::distance(Frame::point(before.0, before.1), end, length))?;
    Ok(m)
}

fn simulate(
    bench: &Bench,
    m: &Mechanism,
    p: &Parameters,
    method: &str,
    squared: bool,
    length: f64,
) -> Result<Trace, Failure> {
    let c = StepConfig {
        method: bench.method(method)?,
        dt: p.dt,
        iterations: 1,
        tolerance: 0.0,
        squared_distances: squared,
        most_substeps: 1,
        ..StepConfig::default()
    };
    let mut s = State::new(m);
    let mut t = Trace { error: Vec::new(), broke: f64::INFINITY };
    let walked = bench.walk(m, &mut s, &c, p.steps, &mut |k, s, _, _| {
        if t.broke.is_finite() {
            return;
        }
        let error: f64 = m
            .joints()
            .iter()
            .map(|j| {
                let [a, b] = j.frames.map(|f| s.pose(m, f.solid).transform_point(f.pose.translation));
                ((b - a).length() - length).abs()
            })
            .sum();
        t.error.push(error);
        if !(error <= p.broken * length) {
            t.broke = k as f64;
        }
    });
    if let Walked::Rejected(k, _) = walked {
        t.broke = t.broke.min(k as f64);
    }
    Ok(t)
}
