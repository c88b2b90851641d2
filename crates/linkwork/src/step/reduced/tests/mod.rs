//! Against closed forms, equations written by hand, and other methods.

mod acts;

use crate::joint::{Curve, Direction, Drive, DriveAim, Frame, Joint, Mask, Region};
use crate::math::{Matrix, Pose, Random, Vector, exp, log};
use crate::measure::Meter;
use crate::mechanism::TrajectoryId;
use crate::rows::tests::{every_joint, two_solids};
use crate::solid::Kernel;
use crate::step::{Method, Rejected, StepConfig, StepReport, Workspace, step};
use crate::{
    AssembleConfig, Force, Interval, Key, Mechanism, Mobility, Outcome, PlacedShape, Solid, SolidId,
};
use crate::{Spring, State, Trajectory, assemble};

const WORLD: SolidId = SolidId::WORLD;

fn config(dt: f64) -> StepConfig<'static> {
    StepConfig { method: Method::Reduced, dt, ..Default::default() }
}

/// `count` steps; none of them may be refused or miss. The widest gap that was seen.
fn run(m: &Mechanism, s: &mut State, dt: f64, count: usize) -> f64 {
    let mut w = Workspace::new();
    let mut widest = 0.0_f64;
    for k in 0..count {
        let r = step(m, s, &mut w, &config(dt));
        assert!(r.rejected.is_none() && !r.missed, "step {k}: {r:?}");
        widest = widest.max(r.gaps.worst());
    }
    widest
}

fn bar() -> PlacedShape {
    PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X)
}

/// A chain of bars hanging from the world (or in the air), turned by different angles.
fn chain(n: usize, hangs: bool, make: fn(Frame, Frame) -> Joint) -> Mechanism {
    let mut m = Mechanism::new();
    let (mut at, mut last) = (Vector::ZERO, WORLD);
    for i in 0..n {
        let q = exp(Vector::new(0.0, 0.1 * (i as f64).sin(), 0.5 * (1.7 * i as f64).sin()));
        let id = m
            .add_solid(Solid::new(format!("b{i}")).with_shape(bar(), 1.0).at(at.x, at.y, at.z).turned(q))
            .unwrap();
        if hangs || i > 0 {
            let here = m.solids()[last.index()].pose.inverse_transform_point(at);
            // The same axes on both sides, so that every kind of joint starts closed.
            let turn = m.solids()[last.index()].pose.rotation.inverse();
            let one = Frame { solid: last, pose: Pose::from_parts(here, turn) };
            let two = Frame { solid: id, pose: Pose::from_parts(Vector::ZERO, q.inverse()) };
            m.add_joint(make(one, two)).unwrap();
        }
        at += q * Vector::X;
        last = id;
    }
    m
}

/// Classical Runge-Kutta on a handful of numbers, for references.
fn integrate<const N: usize>(
    mut y: [f64; N],
    time: f64,
    steps: usize,
    slope: impl Fn(&[f64; N]) -> [f64; N],
) -> [f64; N] {
    let h = time / steps as f64;
    let plus = |y: &[f64; N], k: &[f64; N], h: f64| std::array::from_fn(|i| y[i] + h * k[i]);
    for _ in 0..steps {
        let k1 = slope(&y);
        let k2 = slope(&plus(&y, &k1, 0.5 * h));
        let k3 = slope(&plus(&y, &k2, 0.5 * h));
        let k4 = slope(&plus(&y, &k3, h));
        for i in 0..N {
            y[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
        }
    }
    y
}

#[test]
fn a_physical_pendulum_swings_as_its_equation_says() {
    let mut m = Mechanism::new();
    let arm = m.add_solid(Solid::new("arm").with_shape(bar(), 2.0)).unwrap();
    m.add_joint(Joint::pin(
        Frame::axis(WORLD, Vector::ZERO, Vector::Z),
        Frame::axis(arm, Vector::ZERO, Vector::Z),
    ))
    .unwrap();
    let mass = m.solid(arm).mass;
    let about_pin = mass.inertia.z_axis.z + mass.mass * mass.center.length_squared();
    let pull = mass.mass * 9.81 * mass.center.x / about_pin;
    let [angle, rate] = integrate([0.0, 0.0], 2.0, 200_000, |y| [y[1], -pull * y[0].cos()]);
    let mut s = State::new(&m);
    let gap = run(&m, &mut s, 1e-3, 2000);
    assert!(gap < 1e-14, "{gap:e}");
    let error = log(s.rotations[1] * exp(Vector::Z * -angle)).length();
    assert!(error < 1e-10, "{error:e}");
    assert!((s.spins[1].z - rate).abs() < 1e-9);
}

#[test]
fn a_heavy_top_precesses_steadily() {
    // Steady precession at the tilt b: I1 W^2 cos b - I3 n W + m g l = 0, with n the spin about the axis.
    let (i1, i3, mass, l, tilt, spin) = (0.05, 0.02, 1.5, 0.3, 0.6_f64, 120.0);
    let i1_tip = i1 + mass * l * l;
    let (a, b, c): (f64, f64, f64) = (i1_tip * tilt.cos(), -i3 * spin, mass * 9.81 * l);
    let rate = (-b - (b * b - 4.0 * a * c).sqrt()) / (2.0 * a);
    let mut m = Mechanism::new();
    let q = exp(Vector::Z * -tilt);
    let mut top = Solid::new("top").turned(q);
    top.mass.mass = mass;
    top.mass.center = Vector::Y * l;
    top.mass.inertia = Matrix::from_diagonal(Vector::new(i1, i3, i1));
    let axis = q * Vector::Y;
    // `spin` is the component along the axis, precession included.
    let along = spin - rate * tilt.cos();
    top.spin = Vector::Y * rate + axis * along;
    top.velocity = top.spin.cross(axis * l);
    m.add_solid(top).unwrap();
    m.add_joint(Joint::ball(Frame::point(WORLD, Vector::ZERO), Frame::point(SolidId(1), Vector::ZERO)))
        .unwrap();
    let expected = exp(Vector::Y * rate) * axis;
    let error = |count: usize| {
        let mut s = State::new(&m);
        run(&m, &mut s, 1.0 / count as f64, count);
        (s.rotations[1] * Vector::Y - expected).length()
    };
    let (coarse, fine) = (error(2000), error(4000));
    assert!(rate > 2.0 && fine < 2e-8 && coarse > 12.0 * fine, "{rate} {coarse:e} {fine:e}");
}

#[test]
fn a_free_body_keeps_energy_and_angular_momentum() {
    let mut m = Mechanism::new();
    m.gravity = Vector::ZERO;
    let mut solid = Solid::new("box").with_shape(PlacedShape::cuboid(0.4, 0.9, 0.2), 1.0);
    solid.spin = Vector::new(5.0, 0.01, 0.02);
    m.add_solid(solid).unwrap();
    let (mut s, mut meter) = (State::new(&m), Meter::default());
    let (e, l) = (meter.energy(&m, &s).total(), meter.momentum(&m, &s).angular);
    run(&m, &mut s, 1e-3, 10_000);
    let (e1, l1) = (meter.energy(&m, &s).total(), meter.momentum(&m, &s).angular);
    assert!((e1 / e - 1.0).abs() < 1e-9 && (l1 - l).length() < 1e-9 * l.length(), "{e} {e1} {l} {l1}");
}

/// Two point masses on rods, in angles from the vertical.
fn double_pendulum(y: &[f64; 4]) -> [f64; 4] {
    let (m1, m2, l1, l2, g) = (1.0, 0.7, 1.0, 0.8, 9.81);
    let [a, b, u, v] = *y;
    let (sin, cos) = ((a - b).sin(), (a - b).cos());
    let den = m1 + m2 * sin * sin;
    let up = (-m2 * l1 * u * u * sin * cos + m2 * g * b.sin() * cos
        - m2 * l2 * v * v * sin
        - (m1 + m2) * g * a.sin())
        / (l1 * den);
    let vp = (m2 * l2 * v * v * sin * cos + (m1 + m2) * g * a.sin() * cos + (m1 + m2) * l1 * u * u * sin
        - (m1 + m2) * g * b.sin())
        / (l2 * den);
    [u, v, up, vp]
}

#[test]
fn two_particles_on_rods_are_the_textbook_double_pendulum() {
    let (a, b) = (1.1_f64, -0.4_f64);
    let mut m = Mechanism::new();
    let p = Vector::new(a.sin(), -a.cos(), 0.0);
    let q = p + Vector::new(b.sin(), -b.cos(), 0.0) * 0.8;
    let one = m.add_solid(Solid::particle("one", 1.0).at(p.x, p.y, p.z)).unwrap();
    let two = m.add_solid(Solid::particle("two", 0.7).at(q.x, q.y, q.z)).unwrap();
    let at = |s| Frame::point(s, Vector::ZERO);
    m.add_joint(Joint::distance(at(WORLD), at(one), 1.0)).unwrap();
    m.add_joint(Joint::distance(at(one), at(two), 0.8)).unwrap();
    let [a, b, ..] = integrate([a, b, 0.0, 0.0], 2.0, 20_000, double_pendulum);
    let mut s = State::new(&m);
    let gap = run(&m, &mut s, 1e-3, 2000);
    let p = Vector::new(a.sin(), -a.cos(), 0.0);
    let q = p + Vector::new(b.sin(), -b.cos(), 0.0) * 0.8;
    let error = (s.centers[1] - p).length().max((s.centers[2] - q).length());
    assert!(gap < 1e-14 && error < 1e-9, "{gap:e} {error:e}");
}

/// Largest distance between the centres, and angle between the orientations.
fn apart(a: &State, b: &State) -> f64 {
    let centers = a.centers.iter().zip(&b.centers).map(|(x, y)| (*x - *y).length());
    let turns = a.rotations.iter().zip(b.rotations.iter()).map(|(x, y)| log(*x * y.inverse()).length());
    centers.chain(turns).fold(0.0, f64::max)
}

#[test]
fn halving_the_step_divides_the_error_by_sixteen() {
    for make in [Joint::ball as fn(Frame, Frame) -> Joint, Joint::pin, Joint::cardan, Joint::cylindrical] {
        let m = chain(3, true, make);
        let at = |count: usize| {
            let mut s = State::new(&m);
            run(&m, &mut s, 0.5 / count as f64, count);
            s
        };
        let exact = at(1600);
        let (coarse, fine) = (apart(&at(50), &exact), apart(&at(100), &exact));
        let ratio = coarse / fine;
        assert!((12.0..22.0).contains(&ratio) && fine < 1e-5, "{coarse:e} {fine:e} {ratio}");
    }
}

#[test]
fn energy_stays_over_ten_seconds() {
    let m = chain(3, true, Joint::ball);
    let (mut s, mut meter) = (State::new(&m), Meter::default());
    let e = meter.energy(&m, &s).total();
    let (mut w, mut most, mut worst) = (Workspace::new(), 0.0_f64, 0.0_f64);
    for _ in 0..5000 {
        let r = step(&m, &mut s, &mut w, &config(0.002));
        assert!(r.rejected.is_none() && !r.missed, "{r:?}");
        let now = meter.energy(&m, &s);
        most = most.max(now.kinetic);
        worst = worst.max((now.total() - e).abs());
    }
    assert!(worst < 1e-6 * most, "{worst:e} of {most}");
}

#[test]
fn what_hangs_in_the_air_keeps_its_momentum() {
    let mut m = chain(6, false, Joint::ball);
    m.gravity = Vector::ZERO;
    let mut s = State::new(&m);
    for i in 1..7 {
        s.velocities[i] = Vector::new(0.3, 2.0 * (i as f64 - 3.5), 0.1);
        s.spins[i] = Vector::new(0.7, 0.0, 2.0);
    }
    let mut meter = Meter::default();
    // Velocities that do not fit the joints are made to, by impulses within the chain.
    let p = meter.momentum(&m, &s);
    run(&m, &mut s, 1e-3, 1);
    let e = meter.energy(&m, &s).kinetic;
    run(&m, &mut s, 1e-3, 3000);
    let (p1, e1) = (meter.momentum(&m, &s), meter.energy(&m, &s).kinetic);
    let drift = (p1.linear - p.linear).length().max((p1.angular - p.angular).length());
    assert!(drift < 1e-9 * p.angular.length(), "{drift:e} {p:?}");
    assert!((e1 / e - 1.0).abs() < 1e-9, "{e} {e1}");
}

/// A velocity that keeps to the constraints, and no memory: both methods start alike.
fn consistent(m: &Mechanism, s: &mut State) {
    let time = s.time;
    run(m, s, 1e-9, 1);
    s.time = time;
    s.memory = Default::default();
}

#[test]
fn every_joint_moves_as_the_variational_method_moves_it() {
    let mut random = Random::new(7);
    let mut checked = 0;
    for (name, joint) in every_joint(1, 2, &mut random) {
        // Bounds stop things at times that depend on the step.
        if crate::rows::row_count(&joint) != joint.equalities() {
            continue;
        }
        let mut m = two_solids(&mut random);
        m.add_joint(Joint::ball(Frame::point(WORLD, Vector::ZERO), Frame::point(SolidId(1), Vector::X)))
            .unwrap();
        m.add_joint(joint.clone()).unwrap();
        let mut s = State::new(&m);
        let close = AssembleConfig { tolerance: 1e-12, ..Default::default() };
        assert_eq!(assemble(&m, &mut s, &close).outcome, Outcome::Ok, "{name}");
        for i in 1..3 {
            s.velocities[i] = random.cube();
            s.spins[i] = random.cube() * 2.0;
        }
        consistent(&m, &mut s);
        let mut end = s.clone();
        let gap = run(&m, &mut end, 2e-3, 50);
        let by_other = |dt: f64, count| {
            let (mut t, mut w) = (s.clone(), Workspace::new());
            let c = StepConfig { dt, tolerance: 1e-10, ..Default::default() };
            for _ in 0..count {
                assert!(step(&m, &mut t, &mut w, &c).rejected.is_none());
            }
            t
        };
        let (coarse, fine) = (by_other(1e-3, 100), by_other(5e-4, 200));
        // The other method is of second order: its own error is about a third of the difference.
        let (error, own) = (apart(&end, &fine), apart(&coarse, &fine));
        assert!(
            error < 0.5 * own + 1e-8 && own < 1e-3 && gap < 1e-12,
            "{name}: {error:e} {own:e} {gap:e} {joint:?}"
        );
        checked += 1;
    }
    assert!(checked > 80, "{checked}");
}

#[test]
fn a_bead_on_a_curve_keeps_its_energy_where_the_normals_are_chosen_anew() {
    let ring: Vec<Vector> = (0..12)
        .map(|i| i as f64 * std::f64::consts::TAU / 12.0)
        .map(|a| Vector::new(a.cos(), a.sin(), 0.3 * (2.0 * a).sin()))
        .collect();
    let curve = Curve::through(ring, true).unwrap();
    let mut m = Mechanism::new();
    let bead = m.add_solid(Solid::particle("bead", 1.0).at(1.0, 0.0, 0.0)).unwrap();
    let joint = Joint::lock(Frame::point(bead, Vector::ZERO), Frame::point(WORLD, Vector::ZERO), Mask::NONE);
    m.add_joint(Joint { regions: vec![Region::Curve(curve)], ..joint }).unwrap();
    let mut s = State::new(&m);
    s.velocities[1] = Vector::new(0.0, 7.0, 0.0);
    consistent(&m, &mut s);
    let mut meter = Meter::default();
    let e = meter.energy(&m, &s).total();
    let gap = run(&m, &mut s, 1e-3, 3000);
    let e1 = meter.energy(&m, &s).total();
    assert!(gap < 1e-12 && (e1 - e).abs() < 1e-5 * e, "{gap:e} {e} {e1}");
}

/// Crank and rocker with a coupler, all bars.
fn four_bar() -> Mechanism {
    let mut m = Mechanism::new();
    let corners =
        [Vector::ZERO, Vector::new(0.3, 0.4, 0.0), Vector::new(1.3, 0.9, 0.0), Vector::new(1.2, 0.0, 0.0)];
    let mut ids = vec![WORLD];
    for k in 0..3 {
        let d = corners[k + 1] - corners[k];
        let shape = PlacedShape::capsule_between(0.03, Vector::ZERO, d);
        let p = corners[k];
        ids.push(m.add_solid(Solid::new(format!("b{k}")).with_shape(shape, 1.0).at(p.x, p.y, p.z)).unwrap());
    }
    ids.push(WORLD);
    for k in 0..4 {
        let at = |s: SolidId| Frame::axis(s, corners[k] - m.solid(s).pose.translation, Vector::Z);
        let joint = Joint::pin(at(ids[k]), at(ids[k + 1]));
        m.add_joint(joint).unwrap();
    }
    m
}

#[test]
fn a_four_bar_closes_and_keeps_its_energy() {
    let m = four_bar();
    let (mut s, mut meter) = (State::new(&m), Meter::default());
    let e = meter.energy(&m, &s).total();
    let gap = run(&m, &mut s, 1e-3, 2000);
    let drift = (meter.energy(&m, &s).total() - e).abs();
    assert!(gap < 1e-10 && drift < 1e-7, "{gap:e} {drift:e}");
    // Fourth order through the loop as well.
    let at = |count: usize| {
        let mut s = State::new(&m);
        run(&m, &mut s, 0.5 / count as f64, count);
        s
    };
    let exact = at(1600);
    let ratio = apart(&at(50), &exact) / apart(&at(100), &exact);
    assert!((12.0..22.0).contains(&ratio), "{ratio}");
}

#[test]
fn trees_are_not_given_to_the_solver() {
    let tree = chain(5, true, Joint::pin);
    let (mut s, mut w) = (State::new(&tree), Workspace::new());
    let r: StepReport = step(&tree, &mut s, &mut w, &config(0.01));
    assert_eq!(r.solver_iterations, 0);
    let m = four_bar();
    let (mut s, mut w) = (State::new(&m), Workspace::new());
    assert!(step(&m, &mut s, &mut w, &config(0.01)).solver_iterations > 0);
    // Constraints between the same two solids are one joint: a hinge made of two points is no loop.
    let mut m = Mechanism::new();
    let door = m.add_solid(Solid::new("door").with_shape(bar(), 1.0)).unwrap();
    for z in [0.0, 1.0] {
        let at = |s| Frame::point(s, Vector::Z * z);
        m.add_joint(Joint::ball(at(WORLD), at(door))).unwrap();
    }
    let (mut s, mut w) = (State::new(&m), Workspace::new());
    let r = step(&m, &mut s, &mut w, &config(0.01));
    assert!(r.solver_iterations == 0 && !r.missed && s.spins[1].z < -0.1, "{r:?} {}", s.spins[1]);
}

#[test]
fn a_point_mass_that_shall_not_turn_stops_what_is_welded_to_it() {
    let mut m = Mechanism::new();
    m.gravity = Vector::ZERO;
    let mut solid = Solid::new("bar").with_shape(bar(), 1.0);
    solid.spin = Vector::Z;
    let b = m.add_solid(solid).unwrap();
    let p = m.add_solid(Solid::particle("p", 1.0).at(1.0, 0.0, 0.0)).unwrap();
    m.add_joint(Joint::weld(Frame::point(b, Vector::X), Frame::point(p, Vector::ZERO))).unwrap();
    let mut s = State::new(&m);
    run(&m, &mut s, 0.01, 10);
    assert!(s.spins[1].length() < 1e-12, "{}", s.spins[1]);
}

#[test]
fn fast_spins_and_long_steps_stay_finite_and_closed() {
    for (dt, speed) in [(0.1, 3.0), (0.02, 100.0), (1.0 / 240.0, 400.0)] {
        let m = chain(4, true, Joint::ball);
        let (mut s, mut w) = (State::new(&m), Workspace::new());
        s.spins[1] = Vector::new(speed, 0.5 * speed, speed);
        for _ in 0..100 {
            let r = step(&m, &mut s, &mut w, &config(dt));
            assert!(r.rejected.is_none() && s.is_finite(), "{dt} {speed} {r:?}");
            assert!(r.gaps.worst() < 1e-6, "{dt} {speed} {r:?}");
        }
    }
}

#[test]
fn the_same_start_has_the_same_future() {
    let m = four_bar();
    let end = |throw_away: bool| {
        let (mut s, mut w) = (State::new(&m), Workspace::new());
        for _ in 0..50 {
            if throw_away {
                w = Workspace::new();
            }
            step(&m, &mut s, &mut w, &config(0.01));
        }
        s.hash()
    };
    assert_eq!(end(false), end(true));
}

/// Measures time, so it only runs when asked for: `cargo test --release -- --ignored twice_the_links`.
#[test]
#[ignore = "measures time"]
fn twice_the_links_take_twice_the_time() {
    let seconds = |links: usize| {
        let m = chain(links, true, Joint::pin);
        let (mut s, mut w) = (State::new(&m), Workspace::new());
        step(&m, &mut s, &mut w, &config(1e-3));
        let start = std::time::Instant::now();
        for _ in 0..10 {
            let r = step(&m, &mut s, &mut w, &config(1e-3));
            assert!(r.rejected.is_none() && !r.missed && r.solver_iterations == 0, "{r:?}");
        }
        start.elapsed().as_secs_f64() / 10.0
    };
    let (one, two) = (seconds(1000), seconds(2000));
    println!("1000 links: {:.2} ms a step, 2000 links: {:.2} ms", 1e3 * one, 1e3 * two);
    assert!(two < 3.0 * one, "{one} {two}");
}
