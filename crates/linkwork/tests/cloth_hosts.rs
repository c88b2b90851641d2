//! Sheets and ropes pinned to solids that can move, light ones and heavy ones, alone and in linkages: limits and joints hold together,
//! and nothing is gained.

use crate::common::{Faults, read};
use linkwork::measure::Meter;
use linkwork::{Mechanism, State, StepConfig, Workspace, step};

/// What carries the body.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Carrier {
    /// A bar that swings on a pin.
    Bar,
    /// A bar that is thrown and spins.
    Thrown,
    /// The second of two bars that swing.
    Chain,
    /// The coupler of a parallelogram that is pushed.
    Coupler,
}

const ALL: [Carrier; 4] = [Carrier::Bar, Carrier::Thrown, Carrier::Chain, Carrier::Coupler];
const LENGTH: f64 = 0.6;

fn bar(name: &str, mass: f64, length: f64, at: &str, more: &str) -> String {
    format!(
        "solid {name}: mass {mass}; shape capsule 0.02 from 0 0 0 to {length} 0 0; at {at}; collide none; {more} end\n"
    )
}

/// `columns` by `rows` vertices, of which these are pinned to the bar `b` that lies along them.
fn scene(carrier: Carrier, columns: usize, rows: usize, pinned: &[usize], mass: f64, size: f64) -> Mechanism {
    let b = |more: &str| bar("b", mass, LENGTH * size, &format!("0 {size} 0"), more);
    let upright = |name: &str, x: f64| {
        bar(name, mass, 0.4 * size, &format!("{x} {} 0", 1.4 * size), "turn 0 0 1 -90 deg;")
    };
    let (end, g) = (LENGTH * size, 9.81 * size);
    let solids = match carrier {
        Carrier::Bar => b("") + &format!("joint h: pin; object2 b; at 0 {size} 0 axis 0 0 1; end\n"),
        Carrier::Thrown => b(&format!("velocity {size} {} 0; spin 0 3 5;", 2.0 * size)),
        Carrier::Chain => {
            let first = bar("a", mass, end, &format!("-{end} {size} 0"), "");
            format!(
                "{first}{}joint h: pin; object2 a; at -{end} {size} 0 axis 0 0 1; end
                joint g: ball; object1 a; object2 b; at 0 {size} 0; end\n",
                b("")
            )
        }
        Carrier::Coupler => format!(
            "{}{}{}joint h: pin; object2 a; at 0 {top} 0 axis 0 0 1; end joint i: pin; object2 c; at {end} {top} 0 axis 0 0 1; end
            joint j: pin; object1 a; object2 b; at 0 {size} 0 axis 0 0 1; end
            joint k: pin; object1 c; object2 b; at {end} {size} 0 axis 0 0 1; end\n",
            upright("a", 0.0),
            upright("c", end),
            b(""),
            top = 1.4 * size
        ),
    };
    let spacing = end / (columns - 1) as f64;
    let pins: String =
        pinned.iter().map(|c| format!("pin {c} 0 to b {} 0 0; ", *c as f64 * spacing)).collect();
    let gravity = if carrier == Carrier::Thrown { 0.0 } else { -g };
    read(&format!(
        "scene gravity 0 {gravity} 0; end {solids} cloth s: grid {columns} {rows} spacing {spacing}; at 0 {size} 0; turn 1 0 0 90 deg;
        mass 0.2; stretch 300 0.5; shear 100 0.2; bend 0.3 0.02; collide none; {pins} end"
    ))
}

fn run(faults: &mut Faults, name: &str, m: &Mechanism, size: f64, steps: usize, free: bool) {
    let (mut s, mut w, mut meter) = (State::new(m), Workspace::default(), Meter::default());
    let tolerance = 1e-6 * size;
    let c = StepConfig { sleep: false, tolerance, ..StepConfig::default() };
    let (p0, e0) = (meter.momentum(m, &s), meter.energy(m, &s).total());
    let (mut excess, mut gap, mut made, mut least, mut moved) = (0.0_f64, 0.0_f64, 0.0_f64, e0, [0.0_f64; 2]);
    let mut kinetic = 0.0_f64;
    for k in 0..steps {
        let r = step(m, &mut s, &mut w, &c);
        faults.check(r.rejected.is_none(), || format!("{name}, step {k}: {:?}", r.rejected));
        (excess, gap) = (excess.max(r.soft.excess), gap.max(r.gaps.position));
        let (p, e) = (meter.momentum(m, &s), meter.energy(m, &s));
        (least, made) = (least.min(e.total()), made.max(e.total() - least));
        kinetic = kinetic.max(e.kinetic);
        let off = [
            (p.linear - p0.linear).length() / p0.linear_size,
            (p.angular - p0.angular).length() / p0.angular_size,
        ];
        moved = [0, 1].map(|i| moved[i].max(off[i]));
    }
    faults.check(excess <= 1e-4, || format!("{name}: {excess} beyond the limit"));
    faults.check(gap <= tolerance, || format!("{name}: a gap of {gap}"));
    faults.check(made <= 2e-2 * kinetic, || format!("{name}: made {made} J of {kinetic}"));
    faults
        .check(!free || moved.iter().all(|x| *x < 1e-9), || format!("{name}: momenta are off by {moved:?}"));
}

fn population(columns: usize, rows: usize, pinned: &[&[usize]], steps: usize) {
    let mut faults = Faults::new();
    for carrier in ALL {
        for mass in [0.01, 0.1, 1.0, 10.0, 100.0] {
            for pins in pinned {
                let m = scene(carrier, columns, rows, pins, mass, 1.0);
                let name = format!("{carrier:?}, {mass} kg, pins {pins:?}");
                run(&mut faults, &name, &m, 1.0, steps, carrier == Carrier::Thrown);
            }
        }
    }
    faults.done(4 * ALL.len() * 5 * pinned.len());
}

/// Asked for like other joints, pins let springs be stretched by 33 % where 10 % is the limit, and made a tenth of the energy.
#[test]
fn sheets_keep_their_limits_on_what_can_move() {
    population(5, 5, &[&[0], &[0, 4], &[0, 1, 2, 3, 4]], 60);
}

#[test]
fn so_do_finer_ones() {
    population(9, 7, &[&[0, 8], &[0, 2, 5, 8]], 40);
}

#[test]
fn so_do_ropes() {
    population(10, 1, &[&[0], &[0, 9]], 60);
}
