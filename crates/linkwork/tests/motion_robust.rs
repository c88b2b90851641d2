//! Robustness: fast spins, uneven masses, stiff springs, long steps. What must never blow up does not, and what is known
//! to is listed by name.

use crate::motion::*;
use linkwork::measure::Meter;
use linkwork::step::{Relaxation, StepConfig};
use linkwork::{
    Frame, Joint, MassProperties, Matrix, Mechanism, Method, Solid, SolidId, Spring, State, Vector,
    Workspace, step,
};

/// Methods that may blow up, and the reason.
const MAY_BLOW_UP: [(&str, &str); 3] = [
    ("baumgarte", "explicit: stable only while step times feedback, spin and stiffness are small"),
    ("post-stabilization", "explicit, and velocities drift off the constraints"),
    ("implicit", "one linear solve: rows that bend much within a step throw solids about"),
];

/// Largest energy over a run, by the scale of the energies that come into play; infinite when a step fails.
fn growth(m: &Mechanism, method: Method, dt: f64, time: f64, scale: f64) -> f64 {
    let (mut s, mut w, mut meter) = (State::new(m), Workspace::new(), Meter::default());
    let c = StepConfig { method, dt, ..Default::default() };
    let start = meter.energy(m, &s).total();
    let mut most = 0.0_f64;
    for _ in 0..(time / dt).ceil() as usize {
        let report = step(m, &mut s, &mut w, &c);
        let e = meter.energy(m, &s).total();
        if report.rejected.is_some() || !s.is_finite() || !e.is_finite() {
            return f64::INFINITY;
        }
        most = most.max(e - start);
    }
    most / scale
}

/// Runs all methods, prints the growths, and holds all to `most` that are not listed above.
fn check(what: &str, m: &Mechanism, dt: f64, time: f64, scale: f64, most: f64) {
    let mut line = format!("{what}, dt {dt:.4}:");
    let mut faults = Vec::new();
    for (name, method) in methods() {
        if name.ends_with(" Euler")
            || matches!(method, Method::Relaxation(Relaxation::First | Relaxation::Second))
        {
            continue;
        }
        let g = growth(m, method, dt, time, scale);
        line += &format!("  {name} {g:.1e}");
        if !(g <= most) && !MAY_BLOW_UP.iter().any(|(n, _)| *n == method.name()) {
            faults.push(name);
        }
    }
    println!("{line}");
    assert!(faults.is_empty(), "{faults:?} blew up: {line}");
}

fn uneven(mass: f64) -> MassProperties {
    MassProperties {
        mass,
        center: Vector::new(0.3, 0.0, 0.0),
        inertia: Matrix::from_diagonal(Vector::new(0.02, 0.05, 0.06)) * mass,
    }
}

#[test]
fn fast_spins() {
    let dt = 1.0 / 60.0;
    for turn in [0.1, 0.3, 1.0, 2.0, 3.0] {
        for free in [true, false] {
            let mut m = Mechanism::new();
            let mut solid = Solid::new("spun");
            solid.mass = uneven(1.0);
            solid.spin = Vector::new(0.05, 1.0, 0.1).normalize() * (turn / dt);
            if !free {
                solid.velocity = solid.spin.cross(solid.mass.center);
            }
            let kinetic = 0.5 * solid.spin.dot(solid.mass.inertia * solid.spin)
                + 0.5 * solid.mass.mass * solid.velocity.length_squared();
            let id = m.add_solid(solid).unwrap();
            if !free {
                m.add_joint(Joint::ball(
                    Frame::point(SolidId::WORLD, Vector::ZERO),
                    Frame::point(id, Vector::ZERO),
                ))
                .unwrap();
            } else {
                m.gravity = Vector::ZERO;
            }
            let what = format!("spin {turn} per step, {}", if free { "free" } else { "on a ball joint" });
            check(&what, &m, dt, 3.0, kinetic + 9.81, 0.1);
        }
    }
}

/// Bars in a row, the last one of another mass.
fn chain(n: usize, last: f64) -> Mechanism {
    let mut m = Mechanism::new();
    m.gravity = Vector::new(0.0, 0.0, -G);
    let mut before = (SolidId::WORLD, Vector::ZERO);
    for i in 0..n {
        let at = Vector::X * i as f64;
        let mass = if i + 1 == n { last } else { 1.0 };
        let id = m.add_solid(bar(&format!("b{i}"), at, at + Vector::X, mass)).unwrap();
        m.add_joint(Joint::ball(Frame::point(before.0, before.1), Frame::point(id, Vector::ZERO))).unwrap();
        before = (id, Vector::X);
    }
    m
}

#[test]
fn mass_ratios() {
    for last in [1e-6, 1e-3, 1.0, 1e3, 1e6] {
        let m = chain(6, last);
        check(&format!("tip of mass {last:e} on six bars"), &m, 1.0 / 60.0, 3.0, (6.0 + last) * G * 6.0, 0.1);
    }
}

/// The same whip from twelve starts that differ in the last digits.
#[test]
fn mass_ratios_whatever_the_rounding() {
    for k in 0..12 {
        let mut m = chain(6, 1e3);
        m.gravity.x += 1e-13 * f64::from(k);
        let grown = growth(&m, Method::Variational, 1.0 / 60.0, 3.0, 1006.0 * G * 6.0);
        assert!(grown < 0.05, "start {k}: {grown:e}");
    }
}

#[test]
fn long_steps() {
    for dt in [1.0 / 240.0, 1.0 / 60.0, 1.0 / 30.0, 1.0 / 10.0] {
        check("ten bars falling", &chain(10, 1.0), dt, 4.0, 10.0 * G * 10.0, 0.1);
    }
}

#[test]
fn stiff_springs() {
    for stiffness in [1e2, 1e4, 1e6, 1e8] {
        for damping in [0.0, 10.0] {
            let mut m = chain(3, 1.0);
            m.add_spring(Spring {
                name: String::new(),
                solids: [SolidId::WORLD, SolidId(3)],
                points: [Vector::new(1.0, 0.0, 1.0), Vector::X],
                length: 5.0_f64.sqrt() - 0.05,
                stiffness,
                damping,
                during: None,
            })
            .unwrap();
            // A spring from a bar to a particle of its own, far stiffer than the step can follow.
            let mut p = Solid::particle("p", 0.1);
            p.pose.translation = Vector::new(1.0, 0.0, -0.5);
            let p = m.add_solid(p).unwrap();
            m.add_spring(Spring {
                name: String::new(),
                solids: [SolidId(1), p],
                points: [Vector::X, Vector::ZERO],
                length: 0.52,
                stiffness,
                damping,
                during: None,
            })
            .unwrap();
            let scale = 3.1 * G * 3.0 + 0.5 * stiffness * (0.05 * 0.05 + 0.02 * 0.02);
            check(&format!("springs of {stiffness:e}, damped {damping}"), &m, 1.0 / 60.0, 3.0, scale, 0.3);
        }
    }
}
