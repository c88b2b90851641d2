//! Everything that acts, under every method: bounds, motors, springs, soft joints, trajectories, time intervals, abilities
//! to move; every solver; redundant and singular mechanisms.

use crate::motion::*;
use linkwork::math::exp;
use linkwork::measure::Meter;
use linkwork::solve::SolverKind;
use linkwork::step::{Integrator, Relaxation, StepConfig};
use linkwork::trajectory::{Key, Trajectory};
use linkwork::{
    Direction, Drive, DriveAim, Frame, Joint, Kernel, Mechanism, Method, Mobility, Rotation, Solid, SolidId,
    Spring, State, TrajectoryId, Vector, Workspace, step,
};

/// The methods that these tests ask: all but Euler's explicit scheme, which gains energy by itself.
fn asked() -> Vec<(&'static str, Method)> {
    methods()
        .into_iter()
        .filter(|(n, m)| !n.ends_with(" Euler") && *m != Method::Relaxation(Relaxation::Second))
        .collect()
}

fn config(method: Method, dt: f64) -> StepConfig<'static> {
    let iterations = if matches!(method, Method::Relaxation(_)) { 300 } else { 20 };
    StepConfig { method, dt, iterations, tolerance: 1e-9, ..Default::default() }
}

/// Steps until `time`, calling `see` after each.
fn watch(m: &Mechanism, c: &StepConfig, time: f64, mut see: impl FnMut(&State)) -> State {
    let (mut s, mut w) = (State::new(m), Workspace::new());
    while s.time < time - 0.5 * c.dt {
        let report = step(m, &mut s, &mut w, c);
        assert!(report.rejected.is_none() && s.is_finite(), "{:?} {report:?}", c.method);
        see(&s);
    }
    s
}

/// One bar on a pin along y at the origin, along x at rest.
fn pinned(change: impl FnOnce(&mut Joint)) -> Mechanism {
    let mut m = Mechanism::new();
    m.gravity = Vector::new(0.0, 0.0, -G);
    let id = m.add_solid(bar("arm", Vector::ZERO, Vector::X, 1.0)).unwrap();
    let mut pin = Joint::pin(
        Frame::axis(SolidId::WORLD, Vector::ZERO, Vector::Y),
        Frame::axis(id, Vector::ZERO, Vector::Y),
    );
    change(&mut pin);
    m.add_joint(pin).unwrap();
    m
}

/// The arm's angle about y: positive is downwards.
fn angle(s: &State) -> f64 {
    let x = s.rotations[1] * Vector::X;
    (-x.z).atan2(x.x)
}

#[test]
fn bounds_hold() {
    let m = pinned(|j| *j = j.clone().with_limit(Direction::R1, -0.3, 0.5));
    for (name, method) in asked() {
        let mut most = 0.0_f64;
        let s = watch(&m, &config(method, 1.0 / 240.0), 2.0, |s| most = most.max(angle(s)));
        assert!(most < 0.53, "{name} went to {most}");
        assert!((angle(&s) - 0.5).abs() < 0.02 && s.spins[1].length() < 0.3, "{name} rests at {}", angle(&s));
    }
}

#[test]
fn motors_reach_their_speed_and_keep_to_their_force() {
    let drive = |max_force| Drive { direction: Direction::R1, aim: DriveAim::Speed(2.0), max_force };
    let mut strong = pinned(|j| j.drives.push(drive(f64::INFINITY)));
    let mut weak = pinned(|j| j.drives.push(drive(0.5)));
    strong.gravity = Vector::ZERO;
    weak.gravity = Vector::ZERO;
    let inertia = 1.0 / 12.0 + 0.0005 + 0.25;
    for (name, method) in asked() {
        let c = config(method, 1.0 / 240.0);
        let s = watch(&strong, &c, 0.5, |_| ());
        assert!((s.spins[1].y - 2.0).abs() < 0.02, "{name}: {}", s.spins[1].y);
        let s = watch(&weak, &c, 0.5, |_| ());
        let due = 0.5 * 0.5 / inertia;
        assert!((s.spins[1].y - due).abs() < 0.02 * due, "{name}: {} instead of {due}", s.spins[1].y);
        let mut most = 0.0_f64;
        let s = watch(&weak, &c, 3.0, |s| most = most.max(s.spins[1].y));
        assert!((s.spins[1].y - 2.0).abs() < 0.02 && most < 2.05, "{name}: {} {most}", s.spins[1].y);
    }
}

#[test]
fn motors_to_a_place() {
    let to = |stiffness, damping, max_force| Drive {
        direction: Direction::R1,
        aim: DriveAim::To { target: -0.4, stiffness, damping },
        max_force,
    };
    // A spring of 200 N m/rad holds the arm's 4.9 N m a little below its aim.
    let soft = pinned(|j| j.drives.push(to(200.0, 30.0, f64::INFINITY)));
    let limited = pinned(|j| j.drives.push(to(0.0, 0.0, 20.0)));
    for (name, method) in asked() {
        let c = config(method, 1.0 / 240.0);
        let s = watch(&soft, &c, 3.0, |_| ());
        let due = -0.4 + 0.5 * G * 0.383_f64.cos() / 200.0;
        assert!((angle(&s) - due).abs() < 3e-3, "{name}: {} instead of {due}", angle(&s));
        let s = watch(&limited, &c, 3.0, |_| ());
        assert!((angle(&s) + 0.4).abs() < 5e-3, "{name}: {}", angle(&s));
    }
}

#[test]
fn springs_and_soft_joints_carry_weight() {
    let mut m = Mechanism::new();
    m.gravity = Vector::new(0.0, 0.0, -G);
    let mut p = Solid::particle("p", 0.5);
    p.pose.translation = Vector::new(0.0, 0.0, -1.0);
    let p = m.add_solid(p).unwrap();
    m.add_spring(Spring {
        name: String::new(),
        solids: [SolidId::WORLD, p],
        points: [Vector::ZERO; 2],
        length: 1.0,
        stiffness: 100.0,
        damping: 5.0,
        during: None,
    })
    .unwrap();
    let ball = m.add_solid(Solid::new("ball").at(3.0, 0.0, 0.0)).unwrap();
    let mut soft =
        Joint::weld(Frame::point(SolidId::WORLD, Vector::X * 3.0), Frame::point(ball, Vector::ZERO));
    (soft.compliance, soft.damping) = (1e-2, 10.0);
    m.add_joint(soft).unwrap();
    for (name, method) in asked() {
        let s = watch(&m, &config(method, 1.0 / 240.0), 4.0, |_| ());
        let (spring, joint) = (-1.0 - 0.5 * G / 100.0, -G * 1e-2);
        assert!((s.centers[1].z - spring).abs() < 2e-3, "{name}: spring at {}", s.centers[1].z);
        assert!((s.centers[2].z - joint).abs() < 2e-3, "{name}: soft joint at {}", s.centers[2].z);
    }
}

#[test]
fn trajectories_drag_what_hangs_on_them() {
    let mut m = Mechanism::new();
    m.gravity = Vector::new(0.0, 0.0, -G);
    let keys = (0..=40)
        .map(|k| {
            let t = 0.05 * f64::from(k);
            Key {
                time: t,
                position: Vector::new(0.3 * (1.0 - (2.0 * t).cos()), 0.0, 0.0),
                rotation: Rotation::IDENTITY,
            }
        })
        .collect();
    m.add_trajectory(Trajectory { name: "shake".into(), keys, looped: false }).unwrap();
    let hand =
        m.add_solid(Solid { kernel: Kernel::Scripted(TrajectoryId(0)), ..Solid::new("hand") }).unwrap();
    let id = m.add_solid(bar("arm", Vector::ZERO, Vector::Z * -1.0, 1.0)).unwrap();
    m.add_joint(Joint::ball(Frame::point(hand, Vector::ZERO), Frame::point(id, Vector::ZERO))).unwrap();
    let fine = watch(&m, &config(Method::Variational, 1.0 / 1920.0), 1.5, |_| ());
    for (name, method) in asked() {
        let mut gap = 0.0_f64;
        let s = watch(&m, &config(method, 1.0 / 240.0), 1.5, |s| {
            gap = gap.max((s.pose(&m, id).translation - s.centers[1]).length());
        });
        assert!((s.centers[1].x - m.trajectories()[0].pose(1.5).translation.x).abs() < 1e-12, "{name}");
        let slack = if method.name() == "baumgarte" || method.name() == "implicit" { 3e-2 } else { 1e-6 };
        assert!(gap < slack, "{name}: {gap}");
        assert!((s.centers[2] - fine.centers[2]).length() < 0.05, "{name}: {}", s.centers[2]);
    }
}

#[test]
fn joints_come_and_go() {
    let mut m = Mechanism::new();
    m.gravity = Vector::new(0.0, 0.0, -G);
    let id = m.add_solid(bar("arm", Vector::ZERO, Vector::X, 1.0)).unwrap();
    let ball = |at: Vector, x: f64, during| Joint {
        during: Some(during),
        ..Joint::ball(Frame::point(SolidId::WORLD, at), Frame::point(id, Vector::X * x))
    };
    m.add_joint(ball(Vector::ZERO, 0.0, (0.0, 0.4))).unwrap();
    // Holds what has fallen by then, a little off from where it will be.
    m.add_joint(ball(Vector::new(0.2, 0.0, -1.5), 0.5, (0.6, 9.0))).unwrap();
    for (name, method) in asked() {
        let mut free_fall = 0.0;
        let mut meter = Meter::default();
        let mut most = 0.0_f64;
        let s = watch(&m, &config(method, 1.0 / 240.0), 2.0, |s| {
            if (s.time - 0.55).abs() < 1e-3 {
                free_fall = s.velocities[1].z;
            }
            if (s.time - 0.45).abs() < 1e-3 {
                free_fall -= s.velocities[1].z;
            }
            most = most.max(meter.energy(&m, s).kinetic);
        });
        assert!(free_fall < 0.0 && most.is_finite(), "{name}");
        let end = s.pose(&m, id).transform_point(Vector::X * 0.5);
        let gap = (end - Vector::new(0.2, 0.0, -1.5)).length();
        assert!(gap < 0.02, "{name}: {gap}");
        // Those that close a gap through positions alone add no speed; the others are what the papers made them.
        if !matches!(method.name(), "baumgarte" | "implicit") {
            assert!(most < 40.0, "{name}: {most}");
        }
    }
}

#[test]
fn abilities_replace_masses() {
    let mut m = Mechanism::new();
    m.gravity = Vector::ZERO;
    let mut ids = Vec::new();
    for (k, translate) in [1.0, 3.0].into_iter().enumerate() {
        let mut solid = Solid::new(format!("s{k}")).at(k as f64, 0.0, 0.0);
        solid.mobility = Some(Mobility { translate, rotate: 1.0 });
        ids.push(m.add_solid(solid).unwrap());
    }
    let joint = |mu| Joint {
        mu,
        ..Joint::ball(Frame::point(ids[0], Vector::ZERO), Frame::point(ids[1], Vector::ZERO))
    };
    m.add_joint(joint(None)).unwrap();
    for (name, method) in asked().into_iter().filter(|(_, m)| m.name() != "baumgarte") {
        let s = watch(&m, &config(method, 0.01), 0.01, |_| ());
        assert!((s.centers[1].x - 0.25).abs() < 1e-6, "{name}: {}", s.centers[1].x);
    }
    m.edit_joint(linkwork::JointId(0), |j| j.mu = Some(0.6)).unwrap();
    for scheme in [Relaxation::First, Relaxation::Second, Relaxation::EffectiveMass] {
        let s = watch(&m, &config(Method::Relaxation(scheme), 0.01), 0.01, |_| ());
        assert!((s.centers[1].x - 0.6).abs() < 1e-6, "{scheme:?}: {}", s.centers[1].x);
    }
    // A step length of its own: a quarter of what would close the gap at once, so that some of it is left.
    m.edit_joint(linkwork::JointId(0), |j| (j.mu, j.alpha) = (None, Some(0.25 * 0.25))).unwrap();
    for scheme in [Relaxation::First, Relaxation::EffectiveMass] {
        let c = StepConfig { iterations: 1, ..config(Method::Relaxation(scheme), 0.01) };
        let s = watch(&m, &c, 0.01, |_| ());
        // One pass to close what is new, one in the step: 3/4 of 3/4 is left.
        let gap = (s.centers[2] - s.centers[1]).length();
        assert!((gap - 0.5625).abs() < 1e-9, "{scheme:?}: {gap}");
    }
}

/// Solids and particles, a loop, a spring and a bound.
fn mixed() -> Mechanism {
    let mut m = pinned(|j| *j = j.clone().with_limit(Direction::R1, -1.0, 2.0));
    let two = m.add_solid(bar("two", Vector::X, Vector::new(1.8, 0.0, 0.6), 0.7)).unwrap();
    m.add_joint(Joint::ball(Frame::point(SolidId(1), Vector::X), Frame::point(two, Vector::ZERO))).unwrap();
    let mut p = Solid::particle("p", 0.4);
    p.pose.translation = Vector::new(1.8, 0.5, 0.6);
    p.velocity = Vector::X;
    let p = m.add_solid(p).unwrap();
    m.add_joint(Joint::distance(Frame::point(two, Vector::X), Frame::point(p, Vector::ZERO), 0.5)).unwrap();
    let anchor = Vector::new(1.0, 1.0, 1.0);
    let length = (anchor - Vector::new(1.8, 0.5, 0.6)).length();
    m.add_joint(Joint::distance(Frame::point(SolidId::WORLD, anchor), Frame::point(p, Vector::ZERO), length))
        .unwrap();
    m.add_spring(Spring {
        name: String::new(),
        solids: [SolidId(1), p],
        points: [Vector::X * 0.5, Vector::ZERO],
        length: 1.0,
        stiffness: 50.0,
        damping: 1.0,
        during: None,
    })
    .unwrap();
    m
}

#[test]
fn every_solver_gives_the_same_motion() {
    let m = mixed();
    let fine = watch(&m, &config(Method::Variational, 1.0 / 7680.0), 0.5, |_| ());
    for (name, method) in asked() {
        let mut first: Option<State> = None;
        for solver in SolverKind::ALL {
            let c = StepConfig { solver, ..config(method, 1.0 / 240.0) };
            let s = watch(&m, &c, 0.5, |_| ());
            let off = |a: &State| {
                s.centers.iter().zip(&a.centers).map(|(a, b)| (*a - *b).length()).fold(0.0, f64::max)
            };
            assert!(off(&fine) < 0.12, "{name} {}: off by {}", solver.name(), off(&fine));
            match &first {
                None => first = Some(s),
                Some(f) => assert!(off(f) < 1e-6, "{name} {}: {:e}", solver.name(), off(f)),
            }
        }
    }
}

#[test]
fn redundant_and_singular_mechanisms_run_through() {
    // Bricard's six-bar: one row of thirty is redundant at every pose.
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/bricard.lw")).unwrap();
    let mut m = linkwork::scene::load(&text, &mut |_| Err(String::new())).0.unwrap().mechanism;
    m.gravity = Vector::new(0.4, -9.81, 0.3);
    let c = StepConfig { tolerance: 1e-9, iterations: 40, ..Default::default() };
    gaps_over(&m, &c, 10.0, "Bricard", 0.1);
    // A parallelogram spun up so that it goes through its flat poses.
    let m = four_bar(0.5, 1.0, 0.5, 1.0, 1.2, 9.0);
    gaps_over(&m, &c, 10.0, "parallelogram", 3.0);
}

/// Ten seconds with gaps of at most 1e-8, and motion to speak of.
fn gaps_over(m: &Mechanism, c: &StepConfig, time: f64, what: &str, least: f64) {
    let (mut s, mut w, mut meter) = (State::new(m), Workspace::new(), Meter::default());
    let (mut worst, mut travel, mut fallbacks) = (0.0_f64, 0.0_f64, 0);
    let e0 = meter.energy(m, &s).total();
    let mut drift = 0.0_f64;
    for _ in 0..(time / c.dt).round() as usize {
        let report = step(m, &mut s, &mut w, c);
        assert!(report.rejected.is_none(), "{what} {report:?}");
        worst = worst.max(report.gaps.worst());
        fallbacks += report.fallbacks;
        travel += s.velocities.iter().map(|v| v.length()).fold(0.0, f64::max) * c.dt;
        drift = drift.max((meter.energy(m, &s).total() - e0).abs());
    }
    println!("{what}: gap {worst:.1e}, travel {travel:.1}, fallbacks {fallbacks}, energy off by {drift:.1e}");
    assert!(worst <= 1e-8, "{what}: {worst:e}");
    assert!(travel > least, "{what} hardly moved: {travel}");
}

#[test]
fn both_forms_of_a_distance() {
    let known = two_link_arm();
    for (name, method) in asked() {
        let c = StepConfig { squared_distances: true, ..config(method, 0.0025) };
        let mut worst = 0.0_f64;
        let s = watch(&known.mechanism, &c, known.time, |s| {
            worst = worst
                .max((s.centers[1].length() - 1.0).abs())
                .max(((s.centers[2] - s.centers[1]).length() - 1.0).abs());
        });
        assert!(known.error(&s) < 0.03, "{name}: {}", known.error(&s));
        // Gaps are reported in metres whatever the form.
        let (mut s, mut w) = (State::new(&known.mechanism), Workspace::new());
        let report = step(&known.mechanism, &mut s, &mut w, &c);
        let gap =
            (s.centers[1].length() - 1.0).abs().max(((s.centers[2] - s.centers[1]).length() - 1.0).abs());
        assert!((report.gaps.position - gap).abs() < 1e-12, "{name}: {} {gap}", report.gaps.position);
        if method.name() == "implicit" {
            // The forms differ where the constraint is met a step late.
            let plain = watch(&known.mechanism, &config(method, 0.0025), known.time, |_| ());
            assert!(
                (plain.centers[2] - watch(&known.mechanism, &c, known.time, |_| ()).centers[2]).length()
                    > 1e-12
            );
        }
    }
}

#[test]
fn relaxation_keeps_linear_momentum() {
    // Two bars joined at their ends, thrown and twisted, away from everything.
    let mut m = Mechanism::new();
    m.gravity = Vector::ZERO;
    let mut one = bar("one", Vector::ZERO, Vector::X, 1.0);
    (one.velocity, one.spin) = (Vector::Y * 0.5, Vector::new(0.0, 0.5, 2.0));
    let mut two = bar("two", Vector::X, Vector::X * 2.0, 2.0);
    two.velocity = Vector::new(0.0, -0.3, 0.2);
    let ids = [m.add_solid(one).unwrap(), m.add_solid(two).unwrap()];
    m.add_joint(Joint::ball(Frame::point(ids[0], Vector::X), Frame::point(ids[1], Vector::ZERO))).unwrap();
    let mut meter = Meter::default();
    let p0 = meter.momentum(&m, &State::new(&m));
    for scheme in [Relaxation::First, Relaxation::EffectiveMass] {
        let c = StepConfig {
            method: Method::Relaxation(scheme),
            dt: 0.01,
            iterations: 100,
            ..Default::default()
        };
        let s = watch(&m, &c, 1.0, |_| ());
        let p = meter.momentum(&m, &s);
        assert!((p.linear - p0.linear).length() < 1e-12, "{scheme:?}: {} {}", p.linear, p0.linear);
    }
}

#[test]
fn hongs_sawtooth_ends_in_an_explosion() {
    // Figure 4: ten links between two fixed ends, dt 0.001, Euler with one projection per step.
    for length in [0.08, 0.12, 0.15] {
        let mut m = Mechanism::new();
        m.gravity = Vector::new(0.0, 0.0, -G);
        let rise = exp(Vector::Y * -0.5) * Vector::X * length;
        let (up, down) = (rise, Vector::new(rise.x, 0.0, -rise.z));
        let mut at = Vector::ZERO;
        let mut before = (SolidId::WORLD, Vector::ZERO);
        for k in 0..10 {
            at += if k % 2 == 0 { up } else { down };
            let joint = |to: SolidId, p: Vector| {
                Joint::distance(Frame::point(before.0, before.1), Frame::point(to, p), length)
            };
            if k == 9 {
                m.add_joint(joint(SolidId::WORLD, at)).unwrap();
            } else {
                let mut p = Solid::particle(format!("p{k}"), 1.0);
                p.pose.translation = at;
                let id = m.add_solid(p).unwrap();
                m.add_joint(joint(id, Vector::ZERO)).unwrap();
                before = (id, Vector::ZERO);
            }
        }
        for (integrator, explodes) in [(Integrator::Euler, true), (Integrator::Rk4, false)] {
            let method = Method::PostStabilization { integrator, velocities: false };
            let c = StepConfig { method, dt: 0.001, iterations: 1, tolerance: 0.0, ..Default::default() };
            let (mut s, mut w) = (State::new(&m), Workspace::new());
            let end = (0..4000).find(|_| {
                let r = step(&m, &mut s, &mut w, &c);
                !(r.gaps.position < 1.0) || r.rejected.is_some()
            });
            println!("links of {length}, {integrator:?}: explodes at {end:?}");
            assert_eq!(end.is_some_and(|k| k > 500), explodes, "{length} {integrator:?} {end:?}");
        }
    }
}

/// Five bars in a row, or as many particles on rods, thrown and twisted, away from everything.
fn isolated(particles: bool) -> Mechanism {
    let mut m = Mechanism::new();
    m.gravity = Vector::ZERO;
    for i in 0..5 {
        let at = Vector::X * f64::from(i);
        let mut solid = if particles {
            let mut p = Solid::particle(format!("p{i}"), 1.0);
            p.pose.translation = at;
            p
        } else {
            let mut b = bar(&format!("b{i}"), at, at + Vector::X, 1.0);
            b.spin = Vector::new(0.7, 0.0, 2.0);
            b
        };
        solid.velocity = Vector::new(0.3, (f64::from(i) - 2.0) * 2.0, 0.1);
        let id = m.add_solid(solid).unwrap();
        if i > 0 {
            let before = SolidId(id.0 - 1);
            m.add_joint(if particles {
                Joint::distance(Frame::point(before, Vector::ZERO), Frame::point(id, Vector::ZERO), 1.0)
            } else {
                Joint::ball(Frame::point(before, Vector::X), Frame::point(id, Vector::ZERO))
            })
            .unwrap();
        }
    }
    m
}

#[test]
fn what_each_method_conserves() {
    for particles in [false, true] {
        let m = isolated(particles);
        println!("{}", if particles { "five particles on rods" } else { "five bars" });
        for (name, method) in
            methods().into_iter().filter(|(_, m)| *m != Method::Relaxation(Relaxation::Second))
        {
            let (mut s, mut w, mut meter) = (State::new(&m), Workspace::new(), Meter::default());
            let c = StepConfig { tolerance: 1e-10, ..config(method, 0.01) };
            let (p0, e0) = (meter.momentum(&m, &s), meter.energy(&m, &s).kinetic);
            for _ in 0..1000 {
                step(&m, &mut s, &mut w, &c);
            }
            let (p, e) = (meter.momentum(&m, &s), meter.energy(&m, &s).kinetic);
            let linear = (p.linear - p0.linear).length() / p0.linear.length();
            let angular = (p.angular - p0.angular).length() / p0.angular.length();
            println!("| {name} | {:+.1e} | {linear:.1e} | {angular:.1e} |", e / e0 - 1.0);
            assert!(linear < 1e-8 || e > 2.0 * e0, "{name}: {linear:e}");
            if method == Method::Variational {
                assert!(
                    linear < 1e-12 && angular < 1e-12 && (e / e0 - 1.0).abs() < 0.01,
                    "{name}: {angular:e} {e} {e0}"
                );
            }
        }
    }
}

/// Speeds that joints forbid, joints and springs that begin or let go, forces that come and end: all of it explains energy.
/// Every scene of a feature ends without a complaint, but for those that are about contradictions.
#[test]
fn energy_is_explained_in_every_scene_of_a_feature() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/features");
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    names.retain(|p| p.extension().is_some_and(|e| e == "lw"));
    names.sort();
    assert!(names.len() > 30);
    for path in names {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let (scene, report) = linkwork::scene::load(&text, &mut |f| {
            std::fs::read(path.with_file_name(f)).map_err(|e| e.to_string())
        });
        let m = scene.unwrap_or_else(|| panic!("{name}: {report:?}")).mechanism;
        let config = StepConfig::default();
        let (mut s, mut w) = (State::new(&m), Workspace::new());
        linkwork::assemble(&m, &mut s, &linkwork::AssembleConfig::default());
        for k in 0..120 {
            let report = step(&m, &mut s, &mut w, &config);
            let contradicts = name.starts_with("contradiction") || name == "nearly-redundant";
            assert!(contradicts || report.energy.unexplained == 0, "{name}, step {k}: {:?}", report.energy);
        }
    }
}

/// What joints take away at the start is told, and is what a projection of the speeds takes.
#[test]
fn speeds_that_joints_forbid_are_told_as_caught() {
    let mut m = pinned(|_| {});
    m.gravity = Vector::ZERO;
    // Along the bar all of it is forbidden. Across, the pin leaves the turn: of inertias about centre and pin, a part is taken.
    let inertia = 1.0 / 12.0 + 0.0005;
    for (velocity, caught) in [(Vector::X, 0.5), (Vector::Z, 0.5 * inertia / (inertia + 0.25))] {
        m.edit_solid(SolidId(1), |s| s.velocity = velocity).unwrap();
        let (mut s, mut w) = (State::new(&m), Workspace::new());
        let first = step(&m, &mut s, &mut w, &StepConfig::default());
        assert!((first.energy.caught - caught).abs() < 1e-6, "{:?}", first.energy);
        assert_eq!(first.energy.unexplained, 0);
        let second = step(&m, &mut s, &mut w, &StepConfig::default());
        assert_eq!((second.energy.caught, second.energy.unexplained), (0.0, 0));
    }
}

/// A force acts as long as it was told to, whatever the step and the method: it acted a step too long, and for no time at all
/// where it was shorter than one.
#[test]
fn forces_last_as_long_as_they_should() {
    use linkwork::{Force, Interval};
    // Not from the start: the first step of `displacement` is half a one (erratum 3).
    let times = [(0.5, 1.0), (0.1, 0.2), (0.51, 0.513), (0.1234, 0.77), (0.2, 5.0)];
    for (name, method) in asked() {
        for dt in [1.0 / 30.0, 1.0 / 60.0, 1.0 / 240.0, 0.013] {
            for (from, to) in times {
                let mut m = Mechanism::new();
                m.gravity = Vector::ZERO;
                let id = m.add_solid(bar("free", Vector::ZERO, Vector::X, 1.0)).unwrap();
                m.add_force(Force {
                    name: "push".into(),
                    solid: id,
                    at: None,
                    value: Vector::X * 10.0,
                    torque: Vector::ZERO,
                    follows_solid: false,
                    during: Some(Interval { from, to }),
                })
                .unwrap();
                let s = watch(&m, &config(method, dt), 1.2, |_| ());
                let lasts = f64::min(to, s.time) - from;
                let want = 10.0 * lasts / m.solids()[id.index()].mass.mass;
                let off = (s.velocities[id.index()].x - want).abs();
                assert!(off < 1e-6 * want.max(1.0), "{name}, {dt}, {from} to {to}: {off} of {want}");
            }
        }
    }
}

/// A motor of limited force that holds a position gets there and stays, under every method: most passed it at full speed, for
/// ever.
#[test]
fn weak_servos_get_there_and_stay() {
    let mut faults = crate::common::Faults::new();
    for (name, method) in asked() {
        for dt in [1.0 / 60.0, 1.0 / 240.0] {
            for (force, load, speed) in
                [(5.0, 0.0, 0.0), (2.0, 0.0, 0.7), (20.0, 0.0, -1.0), (20.0, -6.0, 0.0)]
            {
                let mut m = Mechanism::new();
                m.gravity = Vector::X * load;
                let mut sledge = bar("sledge", Vector::ZERO, Vector::X, 1.0);
                sledge.velocity = Vector::X * speed;
                let id = m.add_solid(sledge).unwrap();
                let at = |id| Frame::axis(id, Vector::ZERO, Vector::X);
                let mut slider = Joint::slider(at(SolidId::WORLD), at(id));
                slider.drives.push(Drive {
                    direction: Direction::T1,
                    aim: DriveAim::To { target: 1.0, stiffness: 0.0, damping: 0.0 },
                    max_force: force,
                });
                m.add_joint(slider).unwrap();
                let (mut late, mut energy) = (0.0_f64, f64::NAN);
                let start = State::new(&m).centers[id.index()].x;
                watch(&m, &config(method, dt), 8.0, |s| {
                    if s.time > 6.0 {
                        late = late.max((s.centers[id.index()].x - start - 1.0).abs());
                        energy = s.velocities[id.index()].length();
                    }
                });
                faults.check(late < 2e-3 && energy < 2e-3, || {
                    format!("{name}, dt {dt}, {force} N, load {load}, {speed} m/s: {late} off, {energy} m/s")
                });
            }
        }
    }
    faults.done(50);
}

/// Motors and screws that turn by more than half a turn in a step: the angle was taken for what is missing to a whole turn,
/// so that the motor never got to its speed and the nut ran backwards.
#[test]
fn fast_screws_and_motors_count_their_turns() {
    let mut faults = crate::common::Faults::new();
    let at = |id| Frame::axis(id, Vector::ZERO, Vector::X);
    for (name, method) in asked() {
        for speed in [20.0, 188.0, 250.0, -700.0, 1500.0] {
            let mut m = Mechanism::new();
            m.gravity = Vector::ZERO;
            let id = m.add_solid(bar("nut", Vector::ZERO, Vector::X, 1.0)).unwrap();
            let pitch = 0.01;
            let mut screw = Joint::screw(at(SolidId::WORLD), at(id), pitch);
            screw.drives.push(Drive {
                direction: Direction::R1,
                aim: DriveAim::Speed(speed),
                max_force: f64::INFINITY,
            });
            m.add_joint(screw).unwrap();
            let c = config(method, 1.0 / 60.0);
            let begin = State::new(&m).centers[id.index()].x;
            let s = watch(&m, &c, 1.0, |_| ());
            let spin = s.spins[id.index()].x;
            let way = s.centers[id.index()].x - begin;
            let want = speed * s.time * pitch / std::f64::consts::TAU;
            // The first step of some methods brings up the speed.
            faults.check((spin - speed).abs() < 1e-3 * speed.abs(), || {
                format!("{name} at {speed}: spin {spin}")
            });
            faults.check((way - want).abs() < 0.03 * want.abs(), || {
                format!("{name} at {speed}: went {way} of {want}")
            });
        }
    }
    faults.done(50);
}
