//! The relaxation of 1994: how many passes it takes, and what it does to momentum.

use super::tools::{Bench, Found, Walked, counts, largest, median, series, table};
use super::verdict::{Case, number};
use crate::failure::Failure;
use crate::plot::Chart;
use crate::report::figure;
use linkwork::math::{Random, log};
use linkwork::rows::Masses;
use linkwork::{
    Force, Frame, Joint, Mechanism, SolidId, State, StepConfig, StepReport, Vector, Workspace, step,
};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Passes {
    /// The scene whose frames are counted, at these tolerances, by these methods.
    scene: String,
    /// This solid stands in for the floor's contact: its centre runs along a line, and a torque turns it.
    rolls: String,
    along: [f64; 3],
    torque: [f64; 3],
    /// The scheme of the claim, and others for the table.
    method: String,
    rivals: Vec<String>,
    tolerances: Vec<f64>,
    /// Seconds per frame, a group each; the last one is that of the chains.
    frames: Vec<f64>,
    seconds: f64,
    /// The paper's number of iterations.
    few: usize,
    most: usize,
    /// Chains for the table: one step of their fall, to `chain-tolerance`.
    chains: Vec<usize>,
    chain_tolerance: f64,
    chain_most: usize,
    newton: String,
}

/// The monocycle as the paper drives it: its wheel on a rail, turned by friction.
fn on_a_rail(bench: &Bench, p: &Passes) -> Result<Mechanism, Failure> {
    let mut m = bench.mechanism(&p.scene)?;
    let wheel = bench.solid(&m, &p.rolls)?;
    let at = m.solid(wheel).pose.translation;
    let rail = Joint::point_on_line(
        Frame::axis(SolidId::WORLD, at, Vector::from_array(p.along)),
        Frame::point(wheel, Vector::ZERO),
    );
    m.add_joint(rail.named("rail")).map_err(|e| bench.bad(e))?;
    m.add_force(Force {
        name: "friction".into(),
        solid: wheel,
        at: None,
        value: Vector::ZERO,
        torque: Vector::from_array(p.torque),
        follows_solid: false,
        during: None,
    })
    .map_err(|e| bench.bad(e))?;
    Ok(m)
}

/// Passes per frame of the monocycle, and passes of chains beside Newton's method.
pub fn passes(bench: &Bench) -> Result<Found, Failure> {
    let p: Passes = bench.parameters()?;
    let mut found = Found::default();
    let m = on_a_rail(bench, &p)?;
    let mut rows = Vec::new();
    let mut chart = Chart {
        title: "Passes per frame".into(),
        x_label: "time, s".into(),
        y_label: "passes".into(),
        log_y: true,
        ..Chart::default()
    };
    let methods: Vec<String> = [p.method.clone()].into_iter().chain(p.rivals.clone()).collect();
    let mut tried = Vec::new();
    for name in &methods {
        for dt in &p.frames {
            tried.extend(p.tolerances.iter().map(|t| (name, *dt, t)));
        }
    }
    for (method_name, dt, tolerance) in tried {
        bench.at(format!("{method_name} to {tolerance:e}"));
        let c = StepConfig {
            method: bench.method(method_name)?,
            dt,
            tolerance: *tolerance,
            iterations: p.most,
            ..StepConfig::default()
        };
        let mut s = State::new(&m);
        let (mut counted, mut gaps) = (Vec::new(), Vec::new());
        let mut points = Vec::new();
        let steps = (p.seconds / dt).round() as usize;
        let walked = bench.walk(&m, &mut s, &c, steps, &mut |k, s, r: &StepReport, _| {
            // The first step also closes what the scene's poses leave open.
            if k > 1 {
                counted.push(r.iterations as f64);
                points.push((s.time, r.iterations as f64));
            }
            gaps.push(r.gaps.worst());
        });
        if walked == Walked::OutOfTime {
            found.notes.push(format!("{method_name} to {tolerance:e}: not finished within the time limit."));
            continue;
        }
        let below = counted.iter().filter(|n| **n < p.few as f64).count() as f64;
        let part = below / counted.len().max(1) as f64;
        if *method_name == p.method {
            let mut case = Case::of(format!("frames of {} s", number(dt)), *tolerance);
            case.add("part of the frames", if walked == Walked::Done { part } else { 0.0 });
            case.add("median passes", median(&counted));
            found.cases.push(case);
            chart.series.push(series(format!("{} s, {} m", number(dt), number(*tolerance)), points));
        }
        rows.push(vec![
            method_name.clone(),
            number(dt),
            number(*tolerance),
            figure(median(&counted)),
            figure(largest(counted.iter().copied())),
            format!("{:.0} %", 100.0 * part),
            figure(largest(gaps.iter().copied())),
        ]);
    }
    let below = format!("frames with fewer than {}", p.few);
    let head =
        ["method", "frame, s", "tolerance, m", "median passes", "most", below.as_str(), "largest gap, m"];
    found.tables.push((
        format!("The monocycle ({}), {} s, at most {} passes a frame.", counts(&m), p.seconds, p.most),
        table(&head, rows),
    ));
    found.charts.push(chart);
    chains(bench, &p, &methods, &mut found)?;
    Ok(found)
}

/// One step of hanging chains: passes by every method, and Newton's iterations.
fn chains(bench: &Bench, p: &Passes, methods: &[String], found: &mut Found) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let mut lines: Vec<Vec<(f64, f64)>> = vec![Vec::new(); methods.len() + 1];
    let dt = p.frames.last().copied().unwrap_or(0.01);
    for n in &p.chains {
        let mut m = bench.mechanism(&format!("generate chain {n}"))?;
        // Along the bars: it hangs, and every pass carries the pull one bar further.
        m.gravity = Vector::X * m.gravity.length();
        let mut row = vec![n.to_string()];
        for (k, method) in methods.iter().chain([&p.newton]).enumerate() {
            if bench.out_of_time() {
                row.push("–".into());
                continue;
            }
            bench.at(format!("chain of {n}, {method}"));
            let late = || bench.out_of_time();
            let c = StepConfig {
                method: bench.method(method)?,
                dt,
                tolerance: p.chain_tolerance,
                iterations: p.chain_most,
                out_of_time: Some(&late),
                ..StepConfig::default()
            };
            let mut s = State::new(&m);
            let r = step(&m, &mut s, &mut Workspace::new(), &c);
            let closed = r.gaps.worst() <= p.chain_tolerance && r.rejected.is_none();
            row.push(match closed {
                true => r.iterations.to_string(),
                false => format!("{} left after {}", figure(r.gaps.worst()), r.iterations),
            });
            if closed {
                lines[k].push((*n as f64, r.iterations as f64));
            }
        }
        rows.push(row);
    }
    let head: Vec<&str> =
        ["bars"].into_iter().chain(methods.iter().map(String::as_str)).chain([p.newton.as_str()]).collect();
    found.tables.push((
        format!(
            "Chains that hang, one step of {} s from rest: passes until every gap is below {:e} m, and \
             Newton's iterations (`{}`).",
            figure(dt),
            p.chain_tolerance,
            p.newton
        ),
        table(&head, rows),
    ));
    found.charts.push(Chart {
        title: "Passes for one step of a chain".into(),
        x_label: "bars".into(),
        y_label: "passes or iterations".into(),
        log_x: true,
        log_y: true,
        series: methods
            .iter()
            .chain([&p.newton])
            .zip(lines)
            .map(|(name, points)| series(name.clone(), points))
            .collect(),
        ..Chart::default()
    });
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Momentum {
    bodies: Vec<String>,
    methods: Vec<String>,
    /// How far solids are displaced and turned at first, metres and radians, times a random vector of length at most 1.
    scatter: f64,
    seed: u64,
    passes: usize,
}

/// What the corrections of one pass after another add up to, as momentum.
pub fn momentum(bench: &Bench) -> Result<Found, Failure> {
    let p: Momentum = bench.parameters()?;
    let mut found = Found::default();
    let mut rows = Vec::new();
    let mut chart = Chart {
        title: "Angular momentum that a pass creates".into(),
        x_label: "pass".into(),
        y_label: "of the solids' own".into(),
        log_y: true,
        ..Chart::default()
    };
    for body in &p.bodies {
        for method in &p.methods {
            bench.at(format!("{method}, {body}"));
            let mut m = bench.mechanism(body)?;
            m.gravity = Vector::ZERO;
            let mut s = State::new(&m);
            let mut random = Random::new(p.seed);
            for i in (1..s.centers.len()).filter(|i| !m.solids()[*i].is_fixed()) {
                let (t, q) = (random.ball() * p.scatter, random.ball() * p.scatter);
                s.displace(i, &[t.x, t.y, t.z, q.x, q.y, q.z]);
            }
            let c = StepConfig {
                method: bench.method(method)?,
                dt: 1.0,
                tolerance: 0.0,
                iterations: 1,
                ..StepConfig::default()
            };
            let mut worst = [0.0_f64; 2];
            let (mut points, mut gap) = (Vec::new(), Vec::new());
            let mut w = Workspace::new();
            // What a step leaves behind, with which every joint counts as known.
            let mut moved = s.clone();
            step(&m, &mut moved, &mut w, &c);
            let moved = moved.memory;
            for pass in 1..=p.passes {
                // At rest, and as if it had moved before: open joints are then corrected in one pass, not closed first.
                s.velocities.fill(Vector::ZERO);
                s.spins.fill(Vector::ZERO);
                s.memory.clone_from(&moved);
                let before = s.clone();
                let r = step(&m, &mut s, &mut w, &c);
                if r.rejected.is_some() || bench.out_of_time() {
                    break;
                }
                let made = created(&m, &before, &s);
                worst = [worst[0].max(made[0]), worst[1].max(made[1])];
                points.push((pass as f64, made[1].max(1e-20)));
                gap.push(r.gaps.worst());
            }
            let name = body.trim_start_matches("generate ").to_owned();
            let mut case = Case::new(name.clone(), method.clone());
            case.add("linear momentum", if points.is_empty() { f64::NAN } else { worst[0] });
            case.add("angular momentum", if points.is_empty() { f64::NAN } else { worst[1] });
            found.cases.push(case);
            rows.push(vec![
                name.clone(),
                method.clone(),
                figure(worst[0]),
                figure(worst[1]),
                figure(gap.first().copied().unwrap_or(f64::NAN)),
                figure(gap.last().copied().unwrap_or(f64::NAN)),
            ]);
            chart.series.push(series(format!("{method}, {name}"), points));
        }
    }
    let last = format!("gap after {}", p.passes);
    let head = ["body", "method", "linear momentum", "angular momentum", "gap after 1", last.as_str()];
    found.tables.push((
        format!(
            "Bodies that nothing holds, at rest, with joints opened by up to {} m and rad: the momentum that the \
             displacements of a pass amount to, by the sum of the solids' own; the largest of {} passes.",
            p.scatter, p.passes
        ),
        table(&head, rows),
    ));
    found.charts.push(chart);
    Ok(found)
}

/// Linear and angular momentum of a displacement, relative to the sum of the sizes.
fn created(m: &Mechanism, a: &State, b: &State) -> [f64; 2] {
    let mut masses = Masses::default();
    masses.update(m, a);
    let (mut p, mut l, mut sizes) = (Vector::ZERO, Vector::ZERO, [0.0; 2]);
    for i in (0..a.centers.len()).filter(|i| masses.moves(*i)) {
        let dx = (b.centers[i] - a.centers[i]) * masses.mass(i);
        let q = a.rotations[i];
        let turn = log(b.rotations[i] * q.inverse());
        let dl = a.centers[i].cross(dx) + q * (*masses.inertia(i) * (q.inverse() * turn));
        p += dx;
        l += dl;
        sizes[0] += dx.length();
        sizes[1] += dl.length();
    }
    [p.length() / sizes[0].max(f64::MIN_POSITIVE), l.length() / sizes[1].max(f64::MIN_POSITIVE)]
}
