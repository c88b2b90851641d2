//! Dragging a structure by one point, each frame corrected within a budget (Faure 1998, Figure 5; Faure 1999, Figure 6).

use super::tools::{Bench, Budget, Corrector, Found, apart, counts, largest, median, series, table};
use super::verdict::{Case, number};
use crate::failure::Failure;
use crate::plot::Chart;
use crate::report::figure;
use linkwork::{Frame, Joint, Mechanism, SolidId, State, Vector};
use serde::Deserialize;
use std::time::Instant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Parameters {
    scene: String,
    /// The solid that is held, and where, in its own axes.
    solid: String,
    point: [f64; 3],
    /// The way of the hand.
    direction: [f64; 3],
    /// Frames per second.
    rate: f64,
    /// Seconds that the hand moves and then rests.
    drag: f64,
    rest: f64,
    /// Metres per second, a case each.
    speeds: Vec<f64>,
    /// A gap that nobody sees, metres.
    closed: f64,
    runs: Vec<Run>,
}

/// With what each frame is corrected.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Run {
    name: String,
    solver: String,
    #[serde(default = "many")]
    iterations: usize,
    #[serde(default = "many")]
    solver_iterations: usize,
}

fn many() -> usize {
    1_000_000
}

/// One run, frame by frame.
struct Track {
    gaps: Vec<f64>,
    ms: Vec<f64>,
    apart: Vec<f64>,
    /// Frames of rest until the gap is closed.
    recovered: f64,
    /// Where everything was.
    states: Vec<State>,
}

pub fn run(bench: &Bench) -> Result<Found, Failure> {
    let p: Parameters = bench.parameters()?;
    let mut found = Found::default();
    let m = bench.mechanism(&p.scene)?;
    found.notes.push(format!(
        "{}; the hand holds one point by a joint of three more constraints, moves for {} s and rests for {} s, {} frames a \
         second.",
        counts(&m), p.drag, p.rest, p.rate
    ));
    let mut rows = Vec::new();
    for (k, speed) in p.speeds.iter().enumerate() {
        if bench.out_of_time() {
            found.notes.push("The time limit left out the last cases.".into());
            break;
        }
        let mut case = Case::of("", *speed);
        bench.at(format!("{speed} m/s: exact"));
        let exact = Run {
            name: "exact".into(),
            solver: "sparse-direct".into(),
            iterations: 50,
            solver_iterations: 1000,
        };
        let reference = track(bench, &p, &m, &exact, *speed, None)?;
        let mut charts = [("Largest gap", "m"), ("Distance from the exact solution", "m, root mean square")]
            .map(|(title, y)| Chart {
                title: format!("{title}, {speed} m/s"),
                x_label: "frame".into(),
                y_label: y.into(),
                log_y: true,
                ..Chart::default()
            });
        for run in &p.runs {
            bench.at(format!("{speed} m/s: {}", run.name));
            let t = track(bench, &p, &m, run, *speed, Some(&reference))?;
            let dragged = (p.drag * p.rate).round() as usize;
            let moving = &t.gaps[..dragged.min(t.gaps.len())];
            case.add(format!("{}: gap", run.name), largest(moving.iter().copied()));
            case.add(format!("{}: median gap", run.name), median(moving));
            case.add(format!("{}: gap at rest", run.name), t.gaps.last().copied().unwrap_or(f64::NAN));
            case.add(format!("{}: frames to recover", run.name), t.recovered);
            let off = &t.apart[..dragged.min(t.apart.len())];
            case.add(format!("{}: apart", run.name), median(off));
            case.add(format!("{}: ms", run.name), median(&t.ms));
            rows.push(vec![
                format!("{speed} m/s"),
                run.name.clone(),
                figure(largest(moving.iter().copied())),
                figure(median(moving)),
                figure(median(off)),
                figure(t.gaps.last().copied().unwrap_or(f64::NAN)),
                if t.recovered.is_finite() { figure(t.recovered) } else { "never".into() },
                figure(median(&t.ms)),
            ]);
            let line =
                |y: &[f64]| y.iter().enumerate().map(|(k, y)| (k as f64 + 1.0, y.max(1e-12))).collect();
            charts[0].series.push(series(run.name.clone(), line(&t.gaps)));
            charts[1].series.push(series(run.name.clone(), line(&t.apart)));
        }
        if k == 0 || k + 1 == p.speeds.len() {
            found.charts.extend(charts);
        }
        found.cases.push(case);
    }
    let head = [
        "hand",
        "correction",
        "largest gap while dragged",
        "median gap",
        "from exact",
        "gap after the rest",
        "frames to recover",
        "ms a frame",
    ];
    found
        .tables
        .push((format!("Gaps in metres; recovered below {} m.", number(p.closed)), table(&head, rows)));
    Ok(found)
}

/// Frame by frame: the hand moves, the correction follows.
fn track(
    bench: &Bench,
    p: &Parameters,
    m: &Mechanism,
    run: &Run,
    speed: f64,
    reference: Option<&Track>,
) -> Result<Track, Failure> {
    let mut m = m.clone();
    let solid = bench.solid(&m, &p.solid)?;
    let mut s = State::new(&m);
    let point = Vector::from_array(p.point);
    let start = s.pose(&m, solid).transform_point(point);
    let hand = Joint::ball(Frame::point(SolidId::WORLD, start), Frame::point(solid, point)).named("hand");
    let hand = m.add_joint(hand).map_err(|e| bench.bad(e))?;
    let way = Vector::from_array(p.direction).normalize() * (speed / p.rate);
    let mut corrector = Corrector::new(&m, bench.linear_solver(&run.solver)?);
    let (dragged, frames) = ((p.drag * p.rate).round(), ((p.drag + p.rest) * p.rate).round());
    let mut t = Track {
        gaps: Vec::new(),
        ms: Vec::new(),
        apart: Vec::new(),
        recovered: f64::INFINITY,
        states: Vec::new(),
    };
    for frame in 1..=frames as usize {
        if bench.out_of_time() {
            break;
        }
        let at = start + way * (frame as f64).min(dragged);
        m.edit_joint(hand, |j| j.frames[0].pose.translation = at).map_err(|e| bench.bad(e))?;
        let begin = Instant::now();
        let late = || bench.out_of_time();
        let budget = Budget {
            iterations: run.iterations,
            solver_iterations: run.solver_iterations,
            tolerance: 1e-9,
            out_of_time: Some(&late),
        };
        let gaps = corrector.correct(&m, &mut s, &budget);
        t.ms.push(1e3 * begin.elapsed().as_secs_f64());
        let gap = gaps.last().copied().unwrap_or(f64::NAN);
        t.gaps.push(gap);
        if frame as f64 > dragged && gap <= p.closed {
            t.recovered = t.recovered.min(frame as f64 - dragged);
        }
        match reference {
            Some(r) => t.apart.push(r.states.get(frame - 1).map_or(f64::NAN, |r| apart(&m, &s, r))),
            None => t.states.push(s.clone()),
        }
    }
    Ok(t)
}
