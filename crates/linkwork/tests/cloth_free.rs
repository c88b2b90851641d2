//! Solids thrown at sheets that nothing holds: momenta are kept to rounding, no energy is made, and nobody stops dead.

use crate::common::{Faults, read};
use linkwork::math::Random;
use linkwork::measure::Meter;
use linkwork::{Mechanism, State, StepConfig, Workspace, step};

/// Momenta may be off by this share of what there was, in a whole run.
const KEPT: f64 = 1e-10;
/// A run may have this share of its energy more than at its start.
const MADE: f64 = 1e-2;

fn between(r: &mut Random, a: f64, b: f64) -> f64 {
    a + (b - a) * 0.5 * (r.signed() + 1.0)
}

/// A scene, and the length of its steps: something of 0.05 to 5 kg that spins comes at 0.5 to 10 m/s at one sheet or two.
fn thrown(seed: u64, sheets: usize) -> (Mechanism, f64) {
    let r = &mut Random::new(seed);
    let n = if sheets > 1 { 7 } else { 7 + 2 * (seed % 4) };
    let mass = 0.05 * 100_f64.powf(between(r, 0.0, 1.0));
    let speed = between(r, 0.5, 10.0);
    let friction = [0.0, 0.3, 0.8][(seed / 3 % 3) as usize];
    let shape = ["sphere 0.1", "box 0.2 0.2 0.2", "capsule 0.06 0.2"][(seed % 3) as usize];
    let (spin, side, turn) = (r.ball() * 8.0, r.ball() * (0.3 * speed), r.ball());
    let width = 0.1 * (n - 1) as f64;
    let at = [0, 1].map(|_| width * between(r, 0.25, 0.75));
    let dt = [1.0 / 60.0, 1.0 / 240.0][(seed / 2 % 2) as usize];
    let cloth: String = (0..sheets)
        .map(|k| {
            format!(
                "cloth c{k}: grid {n} {n} spacing 0.1; at 0 0 {}; mass 0.3; stretch 300 0.1; shear 100 0.1;
                bend 0.1; material m; end\n",
                0.05 * k as f64
            )
        })
        .collect();
    let text = format!(
        "scene gravity 0 0 0; end material m: friction {friction}; end {cloth}
        solid b: mass {mass}; shape {shape}; at {} {} {}; turn 1 {} 0 {} deg; velocity {} {} {speed};
        spin {} {} {}; material m; end",
        at[0],
        at[1],
        -0.18 - speed * dt,
        turn.x,
        60.0 * turn.y,
        side.x,
        side.y,
        spin.x,
        spin.y,
        spin.z
    );
    (read(&text), dt)
}

/// What came of a run, by its start: errors of the momenta, energy made, least speed of what was thrown by that of everything together.
struct Ran {
    linear: f64,
    angular: f64,
    made: f64,
    least: f64,
    touched: bool,
}

fn run(m: &Mechanism, dt: f64, steps: usize) -> Ran {
    let (mut s, mut w, mut meter) = (State::new(m), Workspace::default(), Meter::default());
    let c = StepConfig { dt, sleep: false, ..StepConfig::default() };
    let (p0, e0) = (meter.momentum(m, &s), meter.energy(m, &s).total());
    let b = m.find("b").unwrap();
    let mass: f64 = m.solids().iter().filter(|s| !s.is_fixed()).map(|s| s.mass.mass).sum();
    let common = p0.linear.length() / mass;
    let mut ran = Ran { linear: 0.0, angular: 0.0, made: 0.0, least: f64::INFINITY, touched: false };
    for k in 0..steps {
        let r = step(m, &mut s, &mut w, &c);
        assert!(r.rejected.is_none(), "step {k}: {r:?}");
        let (p, e) = (meter.momentum(m, &s), meter.energy(m, &s).total());
        ran.linear = ran.linear.max((p.linear - p0.linear).length() / p0.linear_size);
        ran.angular = ran.angular.max((p.angular - p0.angular).length() / p0.angular_size);
        ran.made = ran.made.max((e - e0) / e0);
        ran.least = ran.least.min(s.velocities[b.index()].length() / common);
        ran.touched |= r.soft.contacts > 0;
    }
    // What is light may well be thrown back, and stand still on its way.
    if m.solid(b).mass.mass < 0.3 {
        ran.least = f64::INFINITY;
    }
    ran
}

fn population(seeds: std::ops::Range<u64>, sheets: usize, steps: usize) {
    let (mut faults, mut touched) = (Faults::new(), 0);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let (m, dt) = thrown(seed, sheets);
        let ran = run(&m, dt, steps);
        touched += u64::from(ran.touched);
        faults.check(ran.linear < KEPT, || format!("{seed}: momentum is off by {}", ran.linear));
        faults.check(ran.angular < KEPT, || format!("{seed}: angular momentum is off by {}", ran.angular));
        faults.check(ran.made < MADE, || format!("{seed}: {} of the energy was made", ran.made));
        faults.check(ran.least > 0.5, || format!("{seed}: stopped to {} of the common speed", ran.least));
    }
    assert!(touched * 10 > count * 7, "{touched} of {count} touched something");
    faults.done(4 * count as usize);
}

/// In every second of these throws everything stood still after some step, with all momentum gone.
#[test]
fn nothing_stops_dead_at_a_sheet() {
    population(0..88, 1, 9);
}

/// The same with a second sheet behind the first one.
#[test]
fn nor_at_two_sheets() {
    population(100..112, 2, 8);
}
