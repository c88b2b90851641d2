//! Particles: three numbers each, and the same motion as solids that are held at their centres; beads on a string against
//! the zeros of Laguerre's polynomials.

use linkwork::formats::snapshot;
use linkwork::{Frame, Joint, Mechanism, Method, Solid, SolidId, State, StepConfig, Vector, Workspace, step};

const G: f64 = 9.81;
/// Between two beads, metres.
const LINK: f64 = 0.1;

/// A hanging net of `columns` strings of `beads` beads each, particles or solids, the strings `LINK` apart.
fn net(columns: usize, beads: usize, particles: bool) -> Mechanism {
    let mut m = Mechanism::new();
    m.gravity = Vector::new(0.0, -G, 0.0);
    let mut ids = Vec::new();
    for k in 0..columns * beads {
        let (column, depth) = (k % columns, k / columns + 1);
        let node = if particles {
            Solid::particle(format!("p{k}"), 0.05)
        } else {
            let mut solid = Solid::new(format!("p{k}"));
            solid.mass = linkwork::MassProperties::ball(0.05, 0.1);
            solid
        };
        let id = m.add_solid(node.at(column as f64 * LINK, -(depth as f64) * LINK, 0.0)).unwrap();
        let here = Frame::point(id, Vector::ZERO);
        let above = match depth {
            1 => Frame::point(SolidId::WORLD, Vector::X * (column as f64 * LINK)),
            _ => Frame::point(ids[k - columns], Vector::ZERO),
        };
        m.add_joint(Joint::distance(above, here, LINK)).unwrap();
        if column > 0 {
            m.add_joint(Joint::distance(Frame::point(ids[k - 1], Vector::ZERO), here, LINK)).unwrap();
        }
        ids.push(id);
    }
    m
}

/// `L_k(x)` by its recurrence.
fn laguerre(k: usize, x: f64) -> f64 {
    let (mut before, mut now) = (1.0, 1.0 - x);
    if k == 0 {
        return before;
    }
    for n in 1..k {
        let n = n as f64;
        (before, now) = (now, ((2.0 * n + 1.0 - x) * now - n * before) / (n + 1.0));
    }
    now
}

/// The zero of `L_n` between two places.
fn zero(n: usize, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if laguerre(n, middle) * laguerre(n, low) > 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Small swings of `N` equal beads at equal distances `l` have `L_N(w^2 l / g) = 0`, and the k-th bead from below moves by
/// `L_k(w^2 l / g)`: Bessel's hanging chain, with beads. A string alone, and a net of strings that swings out of its plane.
#[test]
fn beads_on_a_string_swing_as_laguerre_says() {
    const BEADS: usize = 5;
    // The two lowest zeros of L_5: 0.2636 and 1.4134.
    for (low, high) in [(0.2, 0.5), (1.2, 1.6)] {
        let x = zero(BEADS, low, high);
        let rate = (x * G / LINK).sqrt();
        for columns in [1, 4] {
            let m = net(columns, BEADS, true);
            let mut errors = Vec::new();
            for steps in [100, 200] {
                let mut s = State::new(&m);
                let amplitude = 1e-5;
                // From rest at the plumb line with the mode's velocities: after a quarter of a period, its shape.
                let shape = |k: usize| laguerre(BEADS - 1 - k / columns, x);
                for k in 0..columns * BEADS {
                    s.velocities[k + 1].z = amplitude * rate * shape(k);
                }
                let dt = 0.5 * std::f64::consts::PI / rate / steps as f64;
                let c = StepConfig { dt, tolerance: 1e-12, sleep: false, ..Default::default() };
                let mut w = Workspace::new();
                for _ in 0..steps {
                    let report = step(&m, &mut s, &mut w, &c);
                    assert_eq!(report.rejected, None);
                }
                let off = |k: usize| (s.centers[k + 1].z / amplitude - shape(k)).abs();
                errors.push((0..columns * BEADS).map(off).fold(0.0, f64::max));
            }
            println!("{columns} strings, {rate:.3} rad/s: {errors:?}");
            assert!(errors[1] < 1e-4, "{columns} strings, {rate} rad/s: {errors:?}");
            let order = (errors[0] / errors[1]).log2();
            assert!((1.7..2.3).contains(&order), "{columns} strings, {rate} rad/s: order {order:.2}");
        }
    }
}

/// Joints at their centres turn no solid: a net of solids moves as one of particles, to the bit, under every method.
#[test]
fn particles_move_as_solids_that_are_held_at_their_centres() {
    let (points, solids) = (net(4, 4, true), net(4, 4, false));
    for method in Method::ALL {
        let c = StepConfig { method, dt: 0.002, ..Default::default() };
        let run = |m: &Mechanism| {
            let (mut s, mut w) = (State::new(m), Workspace::new());
            for (i, v) in s.velocities.iter_mut().enumerate().skip(1) {
                *v = Vector::new(0.1, 0.0, 0.2) * ((i % 5) as f64 * 0.3);
            }
            for _ in 0..40 {
                step(m, &mut s, &mut w, &c);
            }
            s
        };
        let (a, b) = (run(&points), run(&solids));
        assert!(a.centers[16].z.abs() > 1e-4, "{}: nothing moves", method.name());
        let off = a.centers.iter().zip(&b.centers).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(a.centers == b.centers && a.velocities == b.velocities, "{}: {off:e} m apart", method.name());
    }
}

/// What a state keeps of a particle, and a snapshot of it: place and velocity, and a byte that says what it is.
#[test]
fn a_particle_is_six_numbers_in_a_snapshot() {
    let bytes = |particles, n| {
        let m = net(n, 10, particles);
        let s = State::new(&m);
        assert_eq!(s.rotations.values().len(), if particles { 1 } else { 10 * n + 1 });
        snapshot::save(&m, &s).len() as f64
    };
    let each = |particles| (bytes(particles, 20) - bytes(particles, 10)) / 100.0;
    assert!(
        (each(true) - 50.0).abs() < 0.1 && (each(false) - 104.0).abs() < 0.1,
        "{} {}",
        each(true),
        each(false)
    );
    let m = net(3, 3, true);
    let mut s = State::new(&m);
    step(&m, &mut s, &mut Workspace::new(), &StepConfig::default());
    assert_eq!(snapshot::restore(&m, &snapshot::save(&m, &s)).as_ref(), Ok(&s));
    // A particle that became a solid is another mechanism, and its state fits no longer.
    assert!(snapshot::restore(&net(3, 3, false), &snapshot::save(&m, &s)).is_err());
}

/// A point mass on a pin: a pin holds an orientation, which a particle has none of, and so holds it still. The lint names
/// the ring that is meant, and that swings like the pendulum of the text books.
#[test]
fn a_point_mass_on_a_pin_is_a_pendulum() {
    let bob = "particle bob: mass 1; at 0.17364818 -0.98480775 0; end\n";
    let pin = "joint pin; object2 bob; frame1 0 0 0 axis 0 0 1; end";
    let (_, report) = linkwork::scene::load(&format!("{bob}{pin}"), &mut crate::common::mesh_file);
    let hint = report.diagnostics.iter().find_map(|d| d.hint.clone()).expect("a hint");
    assert!(hint.contains("planar 0 0 1 min 1 max 1"), "{hint}");
    let (_, ring) = hint.split_once('`').and_then(|_| hint.split_once("away: `")).expect("a block");
    let m = crate::common::read(&format!("{bob}{}", ring.trim_end_matches('`')));
    let mut s = crate::common::start(&m);
    let found = linkwork::diagnose::diagnose(&m, &s, 100, 1e-6);
    assert_eq!(found.freedoms, 1);
    // A quarter of a swing, with the first term for its size.
    let theta = 10_f64.to_radians();
    let period = std::f64::consts::TAU / G.sqrt() * (1.0 + theta * theta / 16.0);
    let (mut w, c) = (Workspace::new(), StepConfig { dt: 1e-3, ..StepConfig::default() });
    let mut last = s.centers[1].x;
    let crossing = loop {
        step(&m, &mut s, &mut w, &c);
        let now = s.centers[1].x;
        if now <= 0.0 {
            break s.time - c.dt * now / (now - last);
        }
        last = now;
    };
    assert!((crossing - 0.25 * period).abs() < 1e-3, "{crossing} s, not {}", 0.25 * period);
    assert!((s.centers[1].length() - 1.0).abs() < 1e-6);
}
