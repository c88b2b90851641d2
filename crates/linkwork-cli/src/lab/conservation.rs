//! Isolated bodies: what becomes of energy and momentum (Faure 1998, section 4.2).

use super::tools::{Bench, Found, Walked, counts, series, table};
use super::verdict::Case;
use crate::failure::Failure;
use crate::plot::Chart;
use crate::report::figure;
use linkwork::math::Random;
use linkwork::measure::Meter;
use linkwork::{AssembleConfig, Mechanism, State, StepConfig, Vector, assemble};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Parameters {
    /// Nothing may hold them.
    bodies: Vec<String>,
    methods: Vec<String>,
    dt: f64,
    seconds: f64,
    tolerance: f64,
    /// Solids are displaced and turned by up to this (m, rad) with this seed, then assembled: bent bodies move less simply.
    scatter: f64,
    seed: u64,
    /// Initial motion: as one rigid whole.
    velocity: [f64; 3],
    spin: [f64; 3],
}

pub fn run(bench: &Bench) -> Result<Found, Failure> {
    let p: Parameters = bench.parameters()?;
    let mut found = Found::default();
    let chart = |title: &str, y: &str, log_y: bool| Chart {
        title: title.into(),
        x_label: "time, s".into(),
        y_label: y.into(),
        log_y,
        ..Chart::default()
    };
    let mut energy = chart("Energy", "E(t) / E(0)", false);
    let mut angular = chart("Angular momentum", "change, relative", true);
    let mut linear = chart("Linear momentum", "change, relative", true);
    let mut rows = Vec::new();
    for method_name in &p.methods {
        let method = bench.method(method_name)?;
        for body in &p.bodies {
            let mut m = bench.mechanism(body)?;
            m.gravity = Vector::ZERO;
            let mut s = bent(&m, p.scatter, p.seed);
            set_off(&m, &mut s, Vector::from_array(p.velocity), Vector::from_array(p.spin));
            bench.at(format!("{method_name}, {body}"));
            let mut meter = Meter::default();
            let (e0, p0) = (meter.energy(&m, &s).total(), meter.momentum(&m, &s));
            let c = StepConfig { method, dt: p.dt, tolerance: p.tolerance, ..StepConfig::default() };
            let (mut worst, mut end) = ([0.0_f64; 3], [0.0; 3]);
            let mut lines = [vec![(0.0, 1.0)], Vec::new(), Vec::new()];
            let (mut gap, mut fallbacks) = (0.0_f64, 0);
            let steps = (p.seconds / p.dt).round() as usize;
            let walked = bench.walk(&m, &mut s, &c, steps, &mut |_, s, r, _| {
                let (e, q) = (meter.energy(&m, s).total(), meter.momentum(&m, s));
                end = [
                    (e - e0) / e0,
                    (q.linear - p0.linear).length() / p0.linear_size,
                    (q.angular - p0.angular).length() / p0.angular_size,
                ];
                for k in 0..3 {
                    worst[k] = worst[k].max(end[k].abs());
                }
                lines[0].push((s.time, e / e0));
                lines[1].push((s.time, end[1]));
                lines[2].push((s.time, end[2]));
                gap = gap.max(r.gaps.worst());
                fallbacks += r.fallbacks;
            });
            if walked == Walked::OutOfTime {
                found
                    .notes
                    .push(format!("{method_name} with {body} was not finished within the time limit."));
                continue;
            }
            let name = body.trim_start_matches("generate ").to_owned();
            let mut case = Case::new(name.clone(), method_name.clone());
            case.add("energy", worst[0]);
            case.add("linear momentum", worst[1]);
            case.add("angular momentum", worst[2]);
            found.cases.push(case);
            let [e, l, a] = lines;
            let label = format!("{method_name}, {name}");
            energy.series.push(series(label.clone(), e));
            linear.series.push(series(label.clone(), l));
            angular.series.push(series(label, a));
            rows.push(vec![
                method_name.clone(),
                format!("{name} ({})", counts(&m)),
                match walked {
                    Walked::Rejected(k, why) => format!("step {k}: {}", why.words()),
                    _ => "ran through".into(),
                },
                figure(end[0]),
                figure(worst[0]),
                figure(worst[1]),
                figure(worst[2]),
                figure(gap),
                fallbacks.to_string(),
            ]);
        }
    }
    let head = [
        "method",
        "body",
        "outcome",
        "energy at the end",
        "energy, largest",
        "linear momentum",
        "angular momentum",
        "largest gap",
        "fallbacks",
    ];
    found.tables.push((
        format!(
            "Changes relative to the start (momenta: to the sum of the solids' own), {} s at {} s a step, joints solved \
             to {:e}.",
            p.seconds, p.dt, p.tolerance
        ),
        table(&head, rows),
    ));
    energy.y_range = Some((0.0, 1.5));
    found.charts = vec![energy, angular, linear];
    Ok(found)
}

/// A pose that is not straight, with its joints closed.
fn bent(m: &Mechanism, scatter: f64, seed: u64) -> State {
    let mut s = State::new(m);
    let mut random = Random::new(seed);
    for i in (1..s.centers.len()).filter(|i| !m.solids()[*i].is_fixed()) {
        let (t, q) = (random.ball() * scatter, random.ball() * scatter);
        s.displace(i, &[t.x, t.y, t.z, q.x, q.y, q.z]);
    }
    assemble(m, &mut s, &AssembleConfig { tolerance: 1e-13, ..AssembleConfig::default() });
    s
}

/// Velocities of one rigid motion about the common centre of mass: whatever the joints, they allow it.
fn set_off(m: &Mechanism, s: &mut State, velocity: Vector, spin: Vector) {
    let mass = |i: usize| if m.solids()[i].is_fixed() { 0.0 } else { m.solids()[i].mass.mass };
    let total: f64 = (0..s.centers.len()).map(mass).sum();
    let middle = (0..s.centers.len()).map(|i| s.centers[i] * mass(i)).sum::<Vector>() / total;
    for i in (0..s.centers.len()).filter(|i| !m.solids()[*i].is_fixed()) {
        s.velocities[i] = velocity + spin.cross(s.centers[i] - middle);
        s.spins[i] = spin;
    }
}
