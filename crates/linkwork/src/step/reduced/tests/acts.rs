//! Everything that acts: springs, motors, scripts, bounds, timed forces, mobilities.

use super::*;

#[test]
fn springs_and_dampers_follow_their_closed_forms() {
    for damping in [0.0, 1.5] {
        let mut m = Mechanism::new();
        m.gravity = Vector::ZERO;
        let p = m.add_solid(Solid::particle("p", 2.0).at(1.3, 0.0, 0.0)).unwrap();
        m.springs.push(Spring {
            name: String::new(),
            solids: [WORLD, p],
            points: [Vector::ZERO; 2],
            length: 1.0,
            stiffness: 50.0,
            damping,
            during: None,
        });
        let mut s = State::new(&m);
        run(&m, &mut s, 2e-3, 1000);
        let (decay, time) = (damping / 4.0, 2.0);
        let w = (25.0_f64 - decay * decay).sqrt();
        let x = 0.3 * (-decay * time).exp() * ((w * time).cos() + decay / w * (w * time).sin());
        assert!((s.centers[1].x - 1.0 - x).abs() < 1e-9, "{} {x}", s.centers[1].x - 1.0);
        // Far too stiff for an explicit scheme: cut into pieces, or refused; never nonsense.
        m.springs[0].stiffness = 1e6;
        let (mut s, mut w, mut meter) = (State::new(&m), Workspace::new(), Meter::default());
        let e = meter.energy(&m, &s).total();
        for _ in 0..100 {
            assert!(step(&m, &mut s, &mut w, &config(0.01)).rejected.is_none());
        }
        assert!(meter.energy(&m, &s).total() <= 1.001 * e);
        m.springs[0].stiffness = 1e12;
        let before = s.hash();
        let r = step(&m, &mut s, &mut w, &config(0.01));
        assert_eq!((r.rejected, s.hash()), (Some(Rejected::Unsupported), before));
    }
}

#[test]
fn a_soft_joint_gives_by_its_compliance() {
    let mut m = Mechanism::new();
    let ball = m.add_solid(Solid::new("ball")).unwrap();
    let at = |s| Frame::point(s, Vector::ZERO);
    m.add_joint(Joint { compliance: 1e-3, damping: 20.0, ..Joint::weld(at(WORLD), at(ball)) }).unwrap();
    let mut s = State::new(&m);
    run(&m, &mut s, 0.01, 500);
    assert!((s.centers[1].y + 9.81e-3).abs() < 1e-9 && s.velocities[1].length() < 1e-9, "{}", s.centers[1]);
}

fn spinner(aim: DriveAim, max_force: f64) -> (Mechanism, f64) {
    let mut m = Mechanism::new();
    m.gravity = Vector::ZERO;
    let rotor = m.add_solid(Solid::new("rotor").with_shape(bar(), 1.0)).unwrap();
    let mass = m.solid(rotor).mass;
    let mut joint =
        Joint::pin(Frame::axis(WORLD, Vector::ZERO, Vector::Z), Frame::axis(rotor, mass.center, Vector::Z));
    joint.drives.push(Drive { direction: Direction::R1, aim, max_force });
    m.add_joint(joint).unwrap();
    (m, mass.inertia.z_axis.z)
}

#[test]
fn motors_hold_a_rate_and_respect_their_limit() {
    let (m, inertia) = spinner(DriveAim::Speed(2.0), f64::INFINITY);
    let mut s = State::new(&m);
    run(&m, &mut s, 0.01, 100);
    let off = [log(s.rotations[1]).z - 2.0, s.spins[1].z - 2.0];
    assert!(off.iter().all(|x| x.abs() < 1e-12), "{off:?}");
    // Spun up evenly for `2 I / torque` seconds, then held.
    let torque = 4.0 * inertia;
    let (m, _) = spinner(DriveAim::Speed(2.0), torque);
    let mut s = State::new(&m);
    run(&m, &mut s, 0.01, 49);
    assert!((s.spins[1].z - 4.0 * 0.49).abs() < 1e-9, "{}", s.spins[1]);
    run(&m, &mut s, 0.01, 51);
    assert!((s.spins[1].z - 2.0).abs() < 1e-12 && (log(s.rotations[1]).z - 1.5).abs() < 1e-9);
    // More load than torque: the motor gives way, evenly.
    let mut m = m;
    m.forces.push(Force {
        name: String::new(),
        solid: SolidId(1),
        at: None,
        value: Vector::ZERO,
        torque: Vector::Z * (-1.5 * torque),
        follows_solid: false,
        during: None,
    });
    run(&m, &mut s, 0.01, 50);
    assert!((s.spins[1].z - (2.0 - 0.5 * 2.0)).abs() < 1e-9, "{}", s.spins[1]);
}

#[test]
fn motors_turn_to_a_position() {
    let soft = DriveAim::To { target: 0.7, stiffness: 30.0, damping: 10.0 };
    let rigid = DriveAim::To { target: 0.7, stiffness: 0.0, damping: 0.0 };
    for (aim, most) in [(soft, f64::INFINITY), (rigid, f64::INFINITY), (soft, 1.0), (rigid, 0.4)] {
        let (m, _) = spinner(aim, most);
        let mut s = State::new(&m);
        let mut w = Workspace::new();
        for _ in 0..1500 {
            assert!(step(&m, &mut s, &mut w, &config(0.01)).rejected.is_none());
        }
        let angle = log(s.rotations[1]).z;
        // A limited rigid motor brakes late, so that it swings about the target; but less and less.
        let within = if aim == rigid && most < 1.0 { 0.6 } else { 1e-6 };
        assert!((angle - 0.7).abs() < within, "{aim:?} {most}: {angle}");
    }
}

fn scripted(m: &mut Mechanism, keys: &[(f64, Vector, f64)]) -> SolidId {
    let key = |&(time, position, angle): &(f64, Vector, f64)| Key {
        time,
        position,
        rotation: exp(Vector::Z * angle),
    };
    m.trajectories.push(Trajectory { name: "t".into(), keys: keys.iter().map(key).collect(), looped: false });
    let kernel = Kernel::Scripted(TrajectoryId(0));
    // Its centre of mass is not where its origin is, and that must not matter.
    let shape = PlacedShape::sphere(0.1).moved(Pose::from_translation(Vector::new(0.2, 0.3, 0.0)));
    m.add_solid(Solid { kernel, ..Solid::new("guide").with_shape(shape, 1.0) }).unwrap()
}

#[test]
fn a_bead_on_a_turning_rod_runs_away_as_a_hyperbolic_cosine() {
    let mut m = Mechanism::new();
    m.gravity = Vector::ZERO;
    let rod = scripted(&mut m, &[(0.0, Vector::ZERO, 0.0), (1.0, Vector::ZERO, 3.0)]);
    let mut solid = Solid::new("bead").at(0.2, 0.0, 0.0);
    solid.velocity = Vector::Y * 0.6;
    solid.spin = Vector::Z * 3.0;
    let bead = m.add_solid(solid).unwrap();
    m.add_joint(Joint::slider(Frame::point(rod, Vector::ZERO), Frame::point(bead, Vector::ZERO))).unwrap();
    let mut s = State::new(&m);
    let gap = run(&m, &mut s, 2e-3, 500);
    let r = 0.2 * 3.0_f64.cosh();
    let expected = exp(Vector::Z * 3.0) * (Vector::X * r);
    let error = (s.centers[2] - expected).length();
    assert!(gap < 1e-12 && error < 1e-8, "{gap:e} {error:e}");
}

#[test]
fn a_pendulum_on_an_even_cart_does_not_notice_it() {
    let swing = |speed: f64| {
        let mut m = Mechanism::new();
        let cart = scripted(&mut m, &[(0.0, Vector::ZERO, 0.0), (2.0, Vector::X * (2.0 * speed), 0.0)]);
        let mut arm = Solid::new("arm").with_shape(bar(), 1.0);
        arm.velocity = Vector::X * speed;
        let arm = m.add_solid(arm).unwrap();
        m.add_joint(Joint::ball(Frame::point(cart, Vector::ZERO), Frame::point(arm, Vector::ZERO))).unwrap();
        let mut s = State::new(&m);
        run(&m, &mut s, 2e-3, 500);
        s.centers[2] - Vector::X * speed
    };
    let difference = (swing(3.0) - swing(0.0)).length();
    assert!(difference < 1e-9, "{difference:e}");
}

#[test]
fn a_pendulum_stops_at_its_limit_and_rests_there() {
    let mut m = Mechanism::new();
    let arm = m.add_solid(Solid::new("arm").with_shape(bar(), 1.0)).unwrap();
    let joint =
        Joint::pin(Frame::axis(WORLD, Vector::ZERO, Vector::Z), Frame::axis(arm, Vector::ZERO, Vector::Z))
            .with_limit(Direction::R1, -0.5, 3.0);
    let id = m.add_joint(joint).unwrap();
    let (mut s, mut w) = (State::new(&m), Workspace::new());
    for _ in 0..200 {
        let r = step(&m, &mut s, &mut w, &config(0.01));
        assert!(r.rejected.is_none() && r.gaps.worst() < 1e-10, "{r:?}");
    }
    assert!((log(s.rotations[1]).z + 0.5).abs() < 1e-12 && s.spins[1].length() < 1e-12);
    // The stop carries what gravity turns with.
    let mass = m.solid(arm).mass;
    let reaction = w.reaction(id);
    let torque = mass.mass * 9.81 * mass.center.x * 0.5_f64.cos();
    assert!((reaction.torque.z - torque).abs() < 1e-6, "{reaction:?} {torque}");
    assert!((reaction.force - Vector::Y * 9.81).length() < 1e-6, "{reaction:?}");
    // Gravity turned around: it leaves the stop.
    m.gravity = -m.gravity;
    run(&m, &mut s, 0.01, 20);
    assert!(log(s.rotations[1]).z > -0.4);
}

#[test]
fn a_taut_string_is_a_rod_and_a_slack_one_is_nothing() {
    let build = |string: bool| {
        let mut m = Mechanism::new();
        let p = m.add_solid(Solid::particle("p", 1.0).at(0.6, -0.8, 0.0)).unwrap();
        let at = |s| Frame::point(s, Vector::ZERO);
        let none = Joint::lock(at(p), at(WORLD), Mask::NONE);
        let region = if string { Region::Within(1.0) } else { Region::Sphere(1.0) };
        m.add_joint(Joint { regions: vec![region], ..none }).unwrap();
        let mut s = State::new(&m);
        run(&m, &mut s, 1e-3, 1000);
        let taut = s.centers[1];
        s.centers[1] = Vector::new(0.3, 0.0, 0.0);
        s.velocities[1] = Vector::ZERO;
        if string {
            run(&m, &mut s, 1e-3, 200);
            assert!((s.centers[1].y + 0.5 * 9.81 * 0.04).abs() < 1e-12, "{}", s.centers[1]);
        }
        taut
    };
    let difference = (build(true) - build(false)).length();
    // Only the first step, before the string is known to be taut, is not of the fourth order.
    assert!(difference < 1e-5, "{difference:e}");
}

#[test]
fn timed_forces_act_for_as_long_as_they_say() {
    let mut m = Mechanism::new();
    m.gravity = Vector::ZERO;
    let p = m.add_solid(Solid::particle("p", 2.0)).unwrap();
    m.forces.push(Force {
        name: String::new(),
        solid: p,
        at: None,
        value: Vector::X * 3.0,
        torque: Vector::ZERO,
        follows_solid: false,
        during: Some(Interval { from: 0.1, to: 0.3 }),
    });
    let mut s = State::new(&m);
    run(&m, &mut s, 0.01, 50);
    assert!((s.velocities[1].x - 0.3).abs() < 1e-12, "{}", s.velocities[1]);
}

#[test]
fn a_joint_may_come_and_go() {
    let mut m = Mechanism::new();
    let arm = m.add_solid(Solid::new("arm").with_shape(bar(), 1.0)).unwrap();
    let at = |s| Frame::point(s, Vector::ZERO);
    let held = Joint { during: Some((0.0, 0.5)), ..Joint::ball(at(WORLD), at(arm)) };
    m.add_joint(held).unwrap();
    let mut s = State::new(&m);
    run(&m, &mut s, 0.01, 49);
    let v = s.velocities[1];
    run(&m, &mut s, 0.01, 20);
    assert!((s.velocities[1] - v - Vector::Y * (-9.81 * 0.2)).length() < 0.5);
    assert!(s.pose(&m, arm).translation.length() > 0.05);
}

#[test]
fn mobilities_take_the_place_of_masses() {
    // Without rotation a bar on a pin cannot move; with the ability of its own inertia it swings as it did.
    let swing = |mobility: Option<Mobility>| {
        let mut m = Mechanism::new();
        let mut solid = Solid::new("ball").at(1.0, 0.0, 0.0);
        solid.mobility = mobility;
        let ball = m.add_solid(solid).unwrap();
        m.add_joint(Joint::ball(Frame::point(WORLD, Vector::ZERO), Frame::point(ball, -Vector::X))).unwrap();
        let mut s = State::new(&m);
        run(&m, &mut s, 0.005, 100);
        s.centers[1]
    };
    let of = |rotate| Some(Mobility { translate: 1.0, rotate });
    assert!((swing(of(250.0)) - swing(None)).length() < 1e-12);
    assert!((swing(of(0.0)) - Vector::X).length() < 1e-12);
    assert!((swing(Some(Mobility { translate: 0.0, rotate: 1.0 })) - Vector::X).length() < 1e-12);
}
