//! What `variational` keeps over many steps, at any budget.

use linkwork::measure::Meter;
use linkwork::solve::SolverKind;
use linkwork::{Frame, Joint, Mechanism, PlacedShape, Solid, State, StepConfig, Vector, Workspace, step};

/// An isolated mechanism, thrown and twisted: a chain of bars, or a closed ring of them.
fn isolated(bars: usize, ring: bool) -> (Mechanism, State) {
    let mut m = Mechanism::new();
    m.gravity = Vector::ZERO;
    let turn = std::f64::consts::TAU / bars as f64;
    let mut ids = Vec::new();
    let mut at = Vector::ZERO;
    for i in 0..bars {
        let angle = if ring { turn * i as f64 } else { 0.0 };
        let along = Vector::new(angle.cos(), angle.sin(), 0.0);
        let bar = PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X);
        let mut solid = Solid::new(format!("b{i}")).with_shape(bar, 1.0 + i as f64 / bars as f64);
        solid = solid.at(at.x, at.y, at.z).turned(linkwork::math::exp(Vector::Z * angle));
        // A spin of the whole, and something across for the joints to do.
        let center = at + along * 0.5;
        let spin = Vector::new(0.2, 0.3, 1.0);
        solid.spin = spin;
        solid.velocity = spin.cross(center) + Vector::new(0.3, 0.0, if i % 2 == 0 { 0.4 } else { -0.4 });
        ids.push(m.add_solid(solid).unwrap());
        at += along;
    }
    let ball = |a, b| Joint::ball(Frame::point(a, Vector::X), Frame::point(b, Vector::ZERO));
    for pair in ids.windows(2) {
        m.add_joint(ball(pair[0], pair[1])).unwrap();
    }
    if ring {
        m.add_joint(ball(ids[bars - 1], ids[0])).unwrap();
    }
    let s = State::new(&m);
    (m, s)
}

/// Linear and angular momentum to 1e-12 over 10,000 steps, also when neither iteration may come to its end.
#[test]
fn momentum_stays_at_any_budget() {
    let budgets = [
        ("exact", SolverKind::Auto, 10, 1000),
        ("one iteration", SolverKind::Auto, 1, 1000),
        ("one by three", SolverKind::FullIterative, 1, 3),
        ("two by five", SolverKind::StructuredIterative, 2, 5),
    ];
    for ring in [false, true] {
        let (m, start) = isolated(5, ring);
        for (name, solver, iterations, solver_iterations) in budgets {
            let (mut s, mut w, mut meter) = (start.clone(), Workspace::new(), Meter::default());
            let c = StepConfig { dt: 0.005, solver, iterations, solver_iterations, ..Default::default() };
            step(&m, &mut s, &mut w, &c);
            let before = meter.momentum(&m, &s);
            let (mut linear, mut angular, mut fallbacks) = (0.0_f64, 0.0_f64, 0);
            for _ in 0..10_000 {
                let report = step(&m, &mut s, &mut w, &c);
                assert_eq!(report.rejected, None, "{name}");
                fallbacks += report.fallbacks;
                let now = meter.momentum(&m, &s);
                linear = linear.max((now.linear - before.linear).length());
                angular = angular.max((now.angular - before.angular).length());
            }
            let (linear, angular) = (linear / before.linear.length(), angular / before.angular.length());
            println!("ring {ring}, {name}: linear {linear:.1e}, angular {angular:.1e}, {fallbacks} fallbacks");
            assert!(linear <= 1e-12 && angular <= 1e-12, "ring {ring}, {name}: {linear:e} {angular:e}");
        }
    }
}

/// The energy error falls four times per halved step, and has no trend over 100,000 steps.
#[test]
fn energy_oscillates_and_does_not_drift() {
    let (m, start) = isolated(3, false);
    let error = |dt: f64, steps: usize| -> (f64, f64, f64) {
        let (mut s, mut w, mut meter) = (start.clone(), Workspace::new(), Meter::default());
        let c = StepConfig { dt, tolerance: 1e-10, ..Default::default() };
        step(&m, &mut s, &mut w, &c);
        let e0 = meter.energy(&m, &s).kinetic;
        let (mut worst, mut sums) = (0.0_f64, [0.0; 2]);
        for k in 0..steps {
            step(&m, &mut s, &mut w, &c);
            let off = meter.energy(&m, &s).kinetic / e0 - 1.0;
            worst = worst.max(off.abs());
            sums[2 * k / steps] += off;
        }
        (worst, sums[0] * 2.0 / steps as f64, sums[1] * 2.0 / steps as f64)
    };
    let (coarse, ..) = error(0.02, 2_000);
    let (fine, ..) = error(0.01, 4_000);
    println!("largest error {coarse:.2e} at 0.02 s, {fine:.2e} at 0.01 s");
    let ratio = coarse / fine;
    assert!((3.0..5.5).contains(&ratio), "{coarse:e} {fine:e}: {ratio}");
    let (worst, first, second) = error(0.02, 100_000);
    println!("100,000 steps: largest {worst:.2e}, mean of the halves {first:.2e} and {second:.2e}");
    assert!(worst < 4.0 * coarse && (first - second).abs() < 0.5 * worst, "{worst:e} {first:e} {second:e}");
}
