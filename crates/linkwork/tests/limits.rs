//! Limits: what meets one stops there, or is thrown back; no energy comes of it, and nothing is pulled.

use crate::common::{Faults, read, run_watched, start};
use linkwork::math::Random;
use linkwork::measure::energy;
use linkwork::{
    Direction, Frame, Joint, Mechanism, Method, PlacedShape, Solid, SolidId, State, StepConfig, Vector,
    Workspace, step,
};

/// A bar of 1 m and 1 kg on a pin along z, that may turn up to 0.3 rad either way.
fn bar(restitution: f64, gravity: f64) -> Mechanism {
    let mut m = Mechanism::new();
    m.gravity = Vector::new(0.0, -gravity, 0.0);
    let shape = PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X);
    let bar = m.add_solid(Solid::new("bar").with_shape(shape, 1.0)).unwrap();
    let pin = |solid| Frame::axis(solid, Vector::ZERO, Vector::Z);
    let pin = Joint::pin(pin(SolidId::WORLD), pin(bar));
    m.add_joint(pin.with_limit(Direction::R1, -0.3, 0.3).with_restitution(restitution)).unwrap();
    m
}

fn spinning(m: &Mechanism, speed: f64) -> State {
    let mut s = State::new(m);
    s.spins[1] = Vector::Z * speed;
    s.velocities[1] = Vector::Y * (0.5 * speed);
    s
}

#[test]
fn restitution_throws_back_a_part_of_the_speed() {
    for (restitution, expected) in [(0.0, 0.0), (0.5, -1.0), (0.8, -1.6), (1.0, -2.0)] {
        let m = bar(restitution, 0.0);
        let (mut s, mut w) = (spinning(&m, 2.0), Workspace::new());
        let config = StepConfig { dt: 0.01, ..Default::default() };
        for _ in 0..20 {
            let report = step(&m, &mut s, &mut w, &config);
            assert!(report.rejected.is_none() && !report.missed, "{report:?}");
        }
        let spin = s.spins[1].z;
        assert!((spin - expected).abs() < 1e-3, "restitution {restitution}: {spin} instead of {expected}");
    }
}

/// Bouncing to and fro between two stops: nothing is lost at 1, and nothing gained.
#[test]
fn a_perfect_bounce_keeps_the_energy_and_none_makes_any() {
    for (restitution, gravity) in [(1.0, 0.0), (1.0, 9.81), (0.7, 9.81), (0.3, 9.81)] {
        let m = bar(restitution, gravity);
        let (mut s, mut w) = (spinning(&m, 2.0), Workspace::new());
        let config = StepConfig { dt: 1e-3, ..Default::default() };
        let total = |s: &State| energy(&m, s).total();
        let start = total(&s);
        let (mut most, mut bounces) = (start, 0);
        for _ in 0..3000 {
            let before = s.spins[1].z;
            step(&m, &mut s, &mut w, &config);
            most = most.max(total(&s));
            bounces += usize::from(before * s.spins[1].z < 0.0);
        }
        assert!(bounces > 2, "{restitution}: {bounces}");
        // The method itself oscillates by the square of the turn.
        assert!(most - start < 1e-4 * (1.0 + start.abs()), "{restitution}, {gravity}: {start} became {most}");
        if restitution == 1.0 && gravity == 0.0 {
            assert!((total(&s) / start - 1.0).abs() < 1e-6, "{start} became {}", total(&s));
        }
        if restitution < 0.9 {
            assert!(energy(&m, &s).kinetic < 1e-4, "comes to rest: {} J", energy(&m, &s).kinetic);
        }
    }
}

#[test]
fn other_methods_stop_at_a_limit() {
    for method in Method::ALL.into_iter().filter(|m| *m != Method::Variational) {
        let m = bar(0.8, 0.0);
        let (mut s, mut w) = (spinning(&m, 2.0), Workspace::new());
        for _ in 0..60 {
            step(&m, &mut s, &mut w, &StepConfig { method, dt: 0.01, ..Default::default() });
        }
        let spin = s.spins[1].z;
        assert!(spin.abs() < 0.3, "{}: {spin}", method.name());
    }
}

#[test]
fn the_language_knows_restitution() {
    let read = |clause: &str| {
        let text = format!(
            "solid bar: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; end
             joint pin; object2 bar; at 0 0 0 axis 0 0 1; {clause} end"
        );
        linkwork::scene::load(&text, &mut |_| Err(String::new()))
    };
    let limits = |clause: &str| read(clause).0.map(|s| s.mechanism.joints()[0].limits.clone());
    assert_eq!(limits("limit r1 -90 deg 90 deg restitution 0.5;").unwrap()[0].restitution, 0.5);
    assert_eq!(limits("limit r1 -90 deg 90 deg;").unwrap()[0].restitution, 0.0);
    for wrong in ["restitution 1.5", "restitution -1", "restitution", "bounce 1"] {
        assert!(read(&format!("limit r1 -90 deg 90 deg {wrong};")).0.is_none(), "{wrong}");
    }
    let mut m = Mechanism::new();
    let id = m.add_solid(Solid::particle("p", 1.0)).unwrap();
    let (a, b) = (Frame::point(SolidId::WORLD, Vector::ZERO), Frame::point(id, Vector::ZERO));
    assert!(
        m.add_joint(Joint::pin(a, b).with_limit(Direction::R1, -1.0, 1.0).with_restitution(2.0)).is_err()
    );
}

/// A motor of 2 Nm turns the bar against its limit and stays there.
#[test]
fn a_motor_against_a_limit_gives_what_it_has() {
    let mut m = Mechanism::new();
    m.gravity = Vector::ZERO;
    let shape = PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X);
    let bar = m.add_solid(Solid::new("bar").with_shape(shape, 1.0)).unwrap();
    let pin = |solid| Frame::axis(solid, Vector::ZERO, Vector::Z);
    let mut joint = Joint::pin(pin(SolidId::WORLD), pin(bar)).with_limit(Direction::R1, -0.3, 0.3);
    joint.drives.push(linkwork::Drive {
        direction: Direction::R1,
        aim: linkwork::DriveAim::Speed(3.0),
        max_force: 2.0,
    });
    m.add_joint(joint).unwrap();
    for method in Method::ALL {
        let (mut s, mut w) = (State::new(&m), Workspace::new());
        for _ in 0..200 {
            step(&m, &mut s, &mut w, &StepConfig { method, dt: 0.01, ..Default::default() });
        }
        let angle = s.angles[0];
        assert!((angle - 0.3).abs() < 1e-3, "{}: stands at {angle}", method.name());
        assert!(s.spins[1].length() < 1e-2, "{}: {:?}", method.name(), s.spins[1]);
    }
}

/// Chains of light and heavy links with limits at most joints: where a step was carried on with care, limits pushed links that
/// were several degrees away from them, or were crossed within it and put back without a force, and the step was fine.
#[test]
fn limits_act_where_they_are() {
    let mut random = Random::new(88);
    let mut faults = Faults::new();
    let pick =
        |random: &mut Random, n: usize| ((0.5 * n as f64 * (1.0 + random.signed())) as usize).min(n - 1);
    for case in 0..16 {
        let mut scene = String::new();
        for k in 0..7 {
            let kind = ["pin", "cardan", "slider", "screw 0.2", "cylindrical"][pick(&mut random, 5)];
            let axis = ["1 0 0", "0 1 0", "0 0 1"][pick(&mut random, 3)];
            let (mass, restitution) =
                (["1", "1", "0.01"][pick(&mut random, 3)], ["0", "0.5", "1"][pick(&mut random, 3)]);
            let low = -0.3 + 0.25 * random.signed();
            let limit = match kind {
                "cardan" => String::new(),
                "slider" => format!("limit t1 {} .1 restitution {restitution};", 0.1 * low),
                _ => format!("limit r1 {low} {} restitution {restitution};", low + 0.8),
            };
            let spin: [f64; 3] = std::array::from_fn(|_| 2.0 * random.signed());
            let before = if k == 0 { String::new() } else { format!("object1 s{}; ", k - 1) };
            let x = 0.4 * k as f64;
            scene += &format!(
                "solid s{k}: shape box .3 .08 .05; mass {mass}; at {} 0 0; spin {} {} {}; collide none; end
                joint j{k}: {kind}; {before}object2 s{k}; at {x} 0 0 axis {axis}; {limit} end\n",
                x + 0.2,
                spin[0],
                spin[1],
                spin[2]
            );
        }
        let m = read(&scene);
        let mut worst = 0.0_f64;
        let c = StepConfig::default();
        let r = run_watched(&m, &start(&m), &c, 180, u64::MAX, |_, report, _| {
            worst = worst.max(report.limits.residual);
            true
        });
        faults.check(worst < 1e-3, || format!("{case}: off by {worst:.4}, {}", r.words()));
    }
    faults.done(16);
}
