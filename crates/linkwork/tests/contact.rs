//! Solids that touch: closed forms at 1/60 s, and better with shorter steps.

use crate::ground::{add, floor};
use linkwork::{
    Frame, Joint, Material, MaterialId, Mechanism, Mesh, PlacedShape, Pose, Rotation, Solid, SolidId, State,
    StepConfig, StepReport, Vector, Workspace, step,
};
use std::sync::Arc;

const G: f64 = 9.81;

struct Run {
    state: State,
    work: Workspace,
    worst: StepReport,
    /// The most that the energy was above its start.
    gained: f64,
    start: f64,
}

fn energy(m: &Mechanism, s: &State) -> f64 {
    let mut sum = 0.0;
    for (i, solid) in m.solids().iter().enumerate().filter(|(_, x)| !x.is_fixed()) {
        let spin = s.rotations[i].inverse() * s.spins[i];
        sum += 0.5 * solid.mass.mass * s.velocities[i].length_squared();
        sum += 0.5 * spin.dot(solid.mass.inertia * spin) - solid.mass.mass * m.gravity.dot(s.centers[i]);
    }
    sum
}

impl Run {
    fn new(m: &Mechanism) -> Self {
        let state = State::new(m);
        let start = energy(m, &state);
        Self { state, work: Workspace::new(), worst: StepReport::default(), gained: 0.0, start }
    }

    fn go(&mut self, m: &Mechanism, seconds: f64, dt: f64) -> &mut Self {
        let n = (seconds / dt).round() as usize;
        for _ in 0..n {
            self.step(m, dt);
        }
        self
    }

    fn step(&mut self, m: &Mechanism, dt: f64) -> StepReport {
        let c = StepConfig { dt, ..StepConfig::default() };
        let r = step(m, &mut self.state, &mut self.work, &c);
        assert_eq!(r.rejected, None);
        let w = &mut self.worst;
        w.gaps = w.gaps.max(r.gaps);
        w.contacts.penetration = w.contacts.penetration.max(r.contacts.penetration);
        w.contacts.residual = w.contacts.residual.max(r.contacts.residual);
        w.contacts.cone_violation = w.contacts.cone_violation.max(r.contacts.cone_violation);
        w.substeps = w.substeps.max(r.substeps);
        w.energy.unexplained += r.energy.unexplained;
        self.gained = self.gained.max(energy(m, &self.state) - self.start);
        r
    }

    fn at(&self, m: &Mechanism, id: SolidId) -> Vector {
        self.state.pose(m, id).translation
    }
}

fn near(value: f64, right: f64, part: f64, what: &str) {
    assert!((value - right).abs() <= part * right.abs().max(1e-12), "{what}: {value} instead of {right}");
}

fn tilted(friction: f64, angle: f64) -> Mechanism {
    let mut m = floor(friction, 0.0);
    m.gravity = Vector::new(G * angle.sin(), -G * angle.cos(), 0.0);
    m
}

#[test]
fn boxes_stick_below_the_angle_of_friction_and_slide_above() {
    let limit = 0.5_f64.atan();
    for (degrees, slides) in [(20.0_f64, false), (26.5, false), (27.0, true), (40.0, true)] {
        let angle = degrees.to_radians();
        assert_eq!(angle > limit, slides);
        let mut m = tilted(0.5, angle);
        let b = add(&mut m, "box", PlacedShape::cuboid(1.0, 0.2, 1.0), 3.0, [0.0, 0.1, 0.0]);
        let mut run = Run::new(&m);
        run.go(&m, 1.0, 1.0 / 60.0);
        let moved = run.at(&m, b);
        if slides {
            let a = G * (angle.sin() - 0.5 * angle.cos());
            near(moved.x, 0.5 * a, 1e-4, &format!("slides at {degrees} degrees"));
        } else {
            assert!(moved.x.abs() < 1e-6, "{degrees} degrees: creeps by {}", moved.x);
        }
        assert!((moved.y - 0.1).abs() < 1e-6 && moved.z.abs() < 1e-6, "{moved:?}");
        assert!(run.worst.contacts.cone_violation < 1e-6, "{:?}", run.worst);
        assert!(run.gained < 1e-9, "{}", run.gained);
    }
}

/// Friction has no preferred direction.
#[test]
fn a_puck_stops_where_it_should_whatever_its_direction() {
    for degrees in [0.0_f64, 17.0, 45.0, 80.0] {
        let mut m = floor(0.3, 0.0);
        let (s, c) = degrees.to_radians().sin_cos();
        let puck = add(&mut m, "puck", PlacedShape::cylinder(0.1, 0.02, Vector::Y), 1.0, [0.0, 0.01, 0.0]);
        m.edit_solid(puck, |p| p.velocity = Vector::new(2.0 * c, 0.0, 2.0 * s)).unwrap();
        let mut run = Run::new(&m);
        run.go(&m, 2.0, 1.0 / 60.0);
        let at = run.at(&m, puck);
        near((at.x * at.x + at.z * at.z).sqrt(), 4.0 / (2.0 * 0.3 * G), 0.01, "distance");
        assert!((at.x * s - at.z * c).abs() < 1e-3, "{degrees}: off its line, {at:?}");
        assert!(run.state.velocities[puck.index()].length() < 1e-6);
        assert!(run.gained < 1e-9, "{}", run.gained);
    }
}

#[test]
fn a_ball_that_skids_ends_up_rolling_with_five_sevenths() {
    for dt in [1.0 / 60.0, 1.0 / 240.0] {
        let mut m = floor(0.2, 0.0);
        let ball = add(&mut m, "ball", PlacedShape::sphere(0.3), 2.0, [0.0, 0.3, 0.0]);
        m.edit_solid(ball, |b| b.velocity = Vector::new(3.0, 0.0, 0.0)).unwrap();
        let mut run = Run::new(&m);
        // Rolls from 2 v / (7 mu g) on.
        let time = 2.0 * 3.0 / (7.0 * 0.2 * G);
        run.go(&m, (0.6 * time / dt).round() * dt, dt);
        let t = run.state.time;
        near(run.state.velocities[ball.index()].x, 3.0 - 0.2 * G * t, 1e-6, "skids");
        run.go(&m, 2.0 - run.state.time, dt);
        let i = ball.index();
        near(run.state.velocities[i].x, 3.0 * 5.0 / 7.0, 1e-6, "rolls");
        near(-run.state.spins[i].z * 0.3, 3.0 * 5.0 / 7.0, 1e-6, "turns");
        assert!((run.at(&m, ball).y - 0.3).abs() < 1e-6);
        assert!(run.gained < 1e-9, "{}", run.gained);
    }
}

#[test]
fn rolling_down_an_incline() {
    let angle = 20.0_f64.to_radians();
    let shapes = [(PlacedShape::sphere(0.2), 0.4), (PlacedShape::cylinder(0.2, 0.5, Vector::Z), 0.5)];
    for (shape, k) in shapes {
        let mut m = tilted(0.6, angle);
        let x = add(&mut m, "x", shape, 2.0, [0.0, 0.2, 0.0]);
        let mut run = Run::new(&m);
        run.go(&m, 1.0, 1.0 / 60.0);
        near(run.at(&m, x).x, 0.5 * G * angle.sin() / (1.0 + k), 1e-3, "rolls down");
        assert!(run.at(&m, x).z.abs() < 1e-6);
        near(-run.state.spins[x.index()].z * 0.2, run.state.velocities[x.index()].x, 1e-6, "without slip");
        assert!(run.gained < 1e-9, "{}", run.gained);
    }
}

#[test]
fn bounces_are_as_high_as_restitution_says() {
    for e in [0.3, 0.7, 0.9, 1.0] {
        let mut m = floor(0.4, e);
        let ball = add(&mut m, "ball", PlacedShape::sphere(0.1), 1.0, [0.0, 1.1, 0.0]);
        let mut run = Run::new(&m);
        let (mut top, mut tops, mut rising) = (0.0_f64, Vec::new(), false);
        for _ in 0..240 {
            run.step(&m, 1.0 / 60.0);
            let (y, v) = (run.at(&m, ball).y - 0.1, run.state.velocities[ball.index()].y);
            if v > 0.0 {
                (rising, top) = (true, y + 0.5 * v * v / G);
            } else if rising {
                (rising, tops) = (false, [tops, vec![top]].concat());
            }
        }
        let expected = |k: usize| e.powi(2 * (k as i32 + 1));
        for (k, top) in tops.iter().take(3).enumerate().filter(|(k, _)| expected(*k) > 0.02) {
            near(*top, expected(k), 0.03, &format!("bounce {k} of restitution {e}"));
        }
        assert!(!tops.is_empty());
        assert!(run.gained < 1e-9, "{e}: {}", run.gained);
        assert!(run.worst.contacts.penetration < 1e-6);
    }
}

#[test]
fn everything_lands_on_a_plane_and_stays() {
    let cube = {
        let vertices = (0..8_u32)
            .map(|k| Vector::from_array([1, 2, 4].map(|b| if k & b == 0 { -0.25 } else { 0.25 })))
            .collect();
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles = quads.iter().flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect();
        PlacedShape::mesh(Arc::new(Mesh { name: "cube".into(), vertices, triangles }))
    };
    let shapes = [
        ("sphere", PlacedShape::sphere(0.25), 0.25),
        ("box", PlacedShape::cuboid(0.5, 0.5, 0.5), 0.25),
        ("standing cylinder", PlacedShape::cylinder(0.25, 0.5, Vector::Y), 0.25),
        ("lying cylinder", PlacedShape::cylinder(0.25, 0.5, Vector::X), 0.25),
        ("capsule", PlacedShape::capsule(0.25, 0.5, Vector::X), 0.25),
        ("mesh", cube, 0.25),
    ];
    // On the plane, and on a slab.
    for slab in [false, true] {
        for (name, shape, height) in &shapes {
            let mut m = floor(0.5, 0.0);
            let mut top = 0.0;
            if slab {
                let b = Solid { shapes: vec![PlacedShape::cuboid(4.0, 1.0, 4.0)], ..Solid::fixed("slab") };
                m.add_solid(b.at(0.0, 0.5, 0.0)).unwrap();
                top = 1.0;
            }
            let x = add(&mut m, "x", shape.clone(), 1.0, [0.0, top + height + 0.5, 0.0]);
            let mut run = Run::new(&m);
            run.go(&m, 2.0, 1.0 / 60.0);
            let y = run.at(&m, x).y;
            assert!((y - top - height).abs() < 1e-5, "{name}, slab {slab}: {y}");
            let i = x.index();
            // What may roll, rolls a little where normals are found by iteration.
            let rolls = if slab && *name == "lying cylinder" { 10.0 } else { 1.0 };
            let (v, w) = (run.state.velocities[i], run.state.spins[i]);
            assert!(v.length() < 1e-6 * rolls, "{name}, {slab}: {v:?}");
            assert!(w.length() < 1e-5 * rolls, "{name}, {slab}: {w:?}");
            assert!(run.gained < 1e-6, "{name}: {}", run.gained);
            assert!(run.worst.contacts.penetration < 1e-5, "{name}, {slab}: {:?}", run.worst.contacts);
        }
    }
}

#[test]
fn nothing_tunnels() {
    // A bullet against a thin plate, at 100 m/s, straight and slanting; and on the floor.
    for (dy, shape) in [
        (0.0, PlacedShape::sphere(0.01)),
        (30.0, PlacedShape::sphere(0.01)),
        (0.0, PlacedShape::capsule(0.005, 0.02, Vector::X)),
        (0.0, PlacedShape::cuboid(0.02, 0.02, 0.02)),
        (0.0, PlacedShape::cylinder(0.01, 0.02, Vector::X)),
    ] {
        let mut m = floor(0.3, 0.0);
        m.gravity = Vector::ZERO;
        let plate = Solid { shapes: vec![PlacedShape::cuboid(0.002, 2.0, 2.0)], ..Solid::fixed("plate") };
        m.add_solid(plate.at(3.0, 1.0, 0.0)).unwrap();
        let bullet = add(&mut m, "bullet", shape, 0.01, [0.123, 1.0 - 0.01 * dy, 0.0]);
        m.edit_solid(bullet, |b| b.velocity = Vector::new(100.0, dy, 0.0)).unwrap();
        let mut run = Run::new(&m);
        run.go(&m, 0.2, 1.0 / 60.0);
        let at = run.at(&m, bullet);
        assert!(at.x < 3.0, "{at:?}");
        assert!(at.x > 2.9 || run.state.velocities[bullet.index()].x < 0.0, "{at:?} stopped too early");
        assert!(run.gained < 1e-9);
    }
    let mut m = floor(0.3, 0.5);
    let stone = add(&mut m, "stone", PlacedShape::cuboid(0.1, 0.05, 0.2), 1.0, [0.0, 5.0, 0.0]);
    m.edit_solid(stone, |b| {
        (b.velocity, b.spin) = (Vector::new(3.0, -100.0, 0.0), Vector::new(20.0, 5.0, 3.0))
    })
    .unwrap();
    let mut run = Run::new(&m);
    for _ in 0..120 {
        run.step(&m, 1.0 / 60.0);
        assert!(run.at(&m, stone).y > 0.0);
    }
    assert!(run.gained < 1e-6 * run.start, "{}", run.gained);
}

#[test]
fn a_box_tips_over_where_statics_says() {
    // Width 0.4, height 1: tips beyond atan(0.4), if friction holds it.
    let limit = 0.4_f64.atan();
    for (angle, tips) in [(limit - 0.02, false), (limit + 0.02, true)] {
        let mut m = tilted(1.0, angle);
        let b = add(&mut m, "box", PlacedShape::cuboid(0.4, 1.0, 0.4), 1.0, [0.0, 0.5, 0.0]);
        for dt in [1.0 / 60.0, 1.0 / 240.0] {
            let mut run = Run::new(&m);
            run.go(&m, 1.5, dt);
            let up = run.state.rotations[b.index()] * Vector::Y;
            assert_eq!(up.y < 0.9, tips, "{up:?}");
            if !tips {
                assert!(run.at(&m, b).x.abs() < 1e-6);
            }
            // It turns about its edge: the energy of what turns oscillates, and less so with shorter steps.
            assert!(run.gained < 0.07 * dt, "{}", run.gained);
        }
    }
}

#[test]
fn stacks_stand() {
    for n in [3, 10] {
        let mut m = floor(0.5, 0.0);
        let top = (0..n)
            .map(|k| {
                add(
                    &mut m,
                    &format!("{k}"),
                    PlacedShape::cuboid(1.0, 1.0, 1.0),
                    1.0,
                    [0.0, 0.5 + k as f64, 0.0],
                )
            })
            .last()
            .unwrap();
        let mut run = Run::new(&m);
        run.go(&m, 10.0, 1.0 / 60.0);
        let at = run.at(&m, top);
        assert!((at - Vector::new(0.0, n as f64 - 0.5, 0.0)).length() < 1e-4, "{n}: {at:?}");
        assert!(run.worst.contacts.penetration < 1e-4, "{:?}", run.worst.contacts);
        assert!(run.gained < 1e-4, "{}", run.gained);
    }
}

#[test]
fn heavy_on_light() {
    for heavy in [100.0, 10_000.0] {
        let mut m = floor(0.5, 0.0);
        add(&mut m, "light", PlacedShape::cuboid(1.0, 1.0, 1.0), 1.0, [0.0, 0.5, 0.0]);
        let top = add(&mut m, "heavy", PlacedShape::cuboid(1.0, 1.0, 1.0), heavy, [0.0, 1.5, 0.0]);
        let mut run = Run::new(&m);
        run.go(&m, 5.0, 1.0 / 60.0);
        assert!((run.at(&m, top) - Vector::new(0.0, 1.5, 0.0)).length() < 1e-4, "{:?}", run.at(&m, top));
        assert!(run.worst.contacts.penetration < 1e-4, "{:?}", run.worst.contacts);
    }
}

fn cradle(e: f64) -> (Mechanism, Vec<SolidId>) {
    let mut m = floor(0.0, e);
    let mut balls = Vec::new();
    for k in 0..5 {
        let x = 0.2 * f64::from(k);
        let ball = add(&mut m, &format!("{k}"), PlacedShape::sphere(0.1), 1.0, [x, 2.0, 0.0]);
        let frame = |s, at: Vector| Frame { solid: s, pose: Pose::from_parts(at, Rotation::IDENTITY) };
        let turn = linkwork::math::rotation_between(Vector::X, Vector::Z);
        let mut one = frame(SolidId::WORLD, Vector::new(x, 3.0, 0.0));
        let mut two = frame(ball, Vector::new(0.0, 1.0, 0.0));
        (one.pose.rotation, two.pose.rotation) = (turn, turn);
        m.add_joint(Joint::pin(one, two)).unwrap();
        balls.push(ball);
    }
    // The first one is lifted by 40 degrees.
    let angle = -40.0_f64.to_radians();
    let turn = Rotation::from_rotation_z(angle);
    m.edit_solid(balls[0], |b| {
        b.pose = Pose::from_parts(Vector::new(0.0, 3.0, 0.0) + turn * -Vector::Y, turn);
    })
    .unwrap();
    (m, balls)
}

#[test]
fn newtons_cradle() {
    let (m, balls) = cradle(1.0);
    let mut run = Run::new(&m);
    let mut most = [0.0_f64; 5];
    for k in 0..85 {
        run.step(&m, 1.0 / 60.0);
        for (b, most) in balls.iter().zip(&mut most) {
            let hang = run.state.rotations[b.index()] * -Vector::Y;
            let angle = hang.x.atan2(-hang.y).to_degrees();
            if k > 45 {
                *most = most.max(angle.abs());
            }
        }
        assert!(run.worst.gaps.position < 1e-6, "joints open: {:?}", run.worst.gaps);
    }
    assert!(most[4] > 39.0 && most[4] < 40.2, "{most:?}");
    assert!(most[..4].iter().all(|a| *a < 1.0), "{most:?}");
    assert!(run.gained < 1e-3, "{}", run.gained);
}

/// A pendulum hits a wall, and a linkage of two bars falls on the floor: joints stay closed through every blow.
#[test]
fn joints_stay_closed_while_things_hit() {
    for e in [0.0, 0.6] {
        let mut m = floor(0.5, e);
        let bar = |name: &str| Solid::new(name).with_shape(PlacedShape::capsule(0.05, 1.0, Vector::X), 1.0);
        let with = |s: Solid| Solid { material: Some(MaterialId(0)), ..s };
        let a = m.add_solid(with(bar("a").at(0.0, 2.0, 0.0))).unwrap();
        let b = m.add_solid(with(bar("b").at(1.0, 2.0, 0.0))).unwrap();
        let c = m.add_solid(with(bar("c").at(2.0, 2.0, 0.0))).unwrap();
        let end = |s, x: f64| Frame::point(s, Vector::new(x, 0.0, 0.0));
        m.add_joint(Joint::ball(end(a, 0.5), end(b, -0.5))).unwrap();
        m.add_joint(Joint::ball(end(b, 0.5), end(c, -0.5))).unwrap();
        m.edit_solid(a, |s| s.velocity = Vector::new(0.0, -5.0, 1.0)).unwrap();
        m.edit_solid(b, |s| s.velocity = Vector::new(0.0, -5.0, 1.0)).unwrap();
        m.edit_solid(c, |s| s.velocity = Vector::new(0.0, -5.0, 1.0)).unwrap();
        m.edit_solid(b, |s| s.pose.translation.y += 0.0).unwrap();
        let mut run = Run::new(&m);
        for _ in 0..240 {
            let r = run.step(&m, 1.0 / 60.0);
            assert!(r.gaps.position <= 1e-6, "{:?}", r.gaps);
        }
        assert!(run.worst.contacts.penetration < 2e-3, "{:?}", run.worst.contacts);
        assert!(run.gained < 1e-2, "{}", run.gained);
    }
}

/// Momentum of two free bodies that hit each other is kept to rounding. With restitution that is true of the linear one;
/// the angular one is off by what the position stage moved them apart in the step of the blow.
#[test]
fn blows_keep_momentum() {
    for (e, angular) in [(0.0, 1e-10), (0.5, 0.02)] {
        keeps_momentum(e, angular);
    }
}

fn keeps_momentum(e: f64, angular: f64) {
    let mut m = floor(0.7, e);
    m.gravity = Vector::ZERO;
    let a = add(&mut m, "a", PlacedShape::cuboid(0.5, 0.3, 0.2), 2.0, [-1.0, 5.0, 0.0]);
    let b = add(&mut m, "b", PlacedShape::cuboid(0.4, 0.4, 0.6), 3.0, [1.0, 5.1, 0.1]);
    m.edit_solid(a, |s| (s.velocity, s.spin) = (Vector::new(3.0, 0.0, 0.1), Vector::new(1.0, 2.0, -1.0)))
        .unwrap();
    m.edit_solid(b, |s| s.velocity = Vector::new(-2.0, 0.1, 0.0)).unwrap();
    let momenta = |s: &State| {
        let (mut p, mut l) = (Vector::ZERO, Vector::ZERO);
        for i in [a.index(), b.index()] {
            let body = m.solids()[i].mass;
            let spin = s.rotations[i].inverse() * s.spins[i];
            p += s.velocities[i] * body.mass;
            l += s.centers[i].cross(s.velocities[i]) * body.mass + s.rotations[i] * (body.inertia * spin);
        }
        (p, l)
    };
    let mut run = Run::new(&m);
    let before = momenta(&run.state);
    run.go(&m, 1.5, 1.0 / 60.0);
    let after = momenta(&run.state);
    assert!(run.state.velocities[a.index()].x < 2.0, "they did not meet");
    assert!((after.0 - before.0).length() < 1e-11, "{:?}", after.0 - before.0);
    assert!((after.1 - before.1).length() < angular, "{:?}", after.1 - before.1);
    assert!(run.gained < 1e-9, "{}", run.gained);
}

/// Things that fall on each other, joints and restitution among them.
fn heap() -> Mechanism {
    let mut m = floor(0.4, 0.3);
    let shapes = [
        PlacedShape::cuboid(0.5, 0.3, 0.4),
        PlacedShape::sphere(0.25),
        PlacedShape::capsule(0.15, 0.4, Vector::X),
        PlacedShape::cylinder(0.2, 0.4, Vector::Y),
    ];
    for k in 0..8_u32 {
        let shape = shapes[k as usize % 4].clone();
        let at = [0.1 * f64::from(k % 3), 0.5 + 0.6 * f64::from(k), 0.07 * f64::from(k % 2)];
        add(&mut m, &format!("{k}"), shape, 1.0 + f64::from(k % 3), at);
    }
    let a = add(&mut m, "far", PlacedShape::cuboid(0.4, 0.4, 0.4), 1.0, [5.0, 0.3, 0.0]);
    let b = add(&mut m, "off", PlacedShape::cuboid(0.4, 0.2, 0.2), 1.0, [5.4, 0.3, 0.0]);
    m.add_joint(Joint::ball(
        Frame::point(a, Vector::new(0.2, 0.0, 0.0)),
        Frame::point(b, Vector::new(-0.2, 0.0, 0.0)),
    ))
    .unwrap();
    m
}

#[test]
fn snapshots_and_threads_change_no_bit() {
    let m = heap();
    let c = StepConfig::default();
    let (mut kept, mut work) = (State::new(&m), Workspace::new());
    let mut cut = State::new(&m);
    let mut threaded = State::new(&m);
    let mut other = Workspace::new();
    let pool = |n: usize| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
    let (one, four) = (pool(1), pool(4));
    for k in 0..150 {
        one.install(|| step(&m, &mut kept, &mut work, &StepConfig::default()));
        four.install(|| step(&m, &mut threaded, &mut other, &StepConfig::default()));
        step(&m, &mut cut, &mut Workspace::new(), &c);
        let bytes = linkwork::formats::snapshot::save(&m, &cut);
        cut = linkwork::formats::snapshot::restore(&m, &bytes).unwrap();
        assert_eq!(kept.hash(), cut.hash(), "snapshots, step {k}");
        assert_eq!(kept.hash(), threaded.hash(), "threads, step {k}");
    }
}

#[test]
fn piles_sleep_and_wake_when_they_are_hit() {
    let mut m = floor(0.5, 0.0);
    let stack: Vec<_> = (0..3)
        .map(|k| {
            let at = [0.0, 0.25 + 0.5 * f64::from(k), 0.0];
            add(&mut m, &format!("{k}"), PlacedShape::cuboid(0.5, 0.5, 0.5), 1.0, at)
        })
        .collect();
    let far = add(&mut m, "far", PlacedShape::cuboid(0.5, 0.5, 0.5), 1.0, [9.0, 0.25, 0.0]);
    let ball = add(&mut m, "ball", PlacedShape::sphere(0.2), 2.0, [-12.0, 1.0, 0.0]);
    m.edit_solid(ball, |b| b.velocity = Vector::new(6.0, 9.81, 0.0)).unwrap();
    let mut run = Run::new(&m);
    run.go(&m, 1.5, 1.0 / 60.0);
    assert!(stack.iter().all(|s| run.work.is_asleep(*s)) && !run.work.is_asleep(ball));
    let before = run.at(&m, stack[2]);
    run.go(&m, 0.8, 1.0 / 60.0);
    let after = run.at(&m, stack[2]);
    assert!((after - before).length() > 0.05, "the ball did not hit: {:?}", run.at(&m, ball));
    assert!(run.work.is_asleep(far), "what nobody touched woke up");
}

/// Deep overlaps come apart entirely, calmly and without a gain, and only then sleep.
#[test]
fn overlaps_come_apart_before_they_sleep() {
    for (height, apart) in [(1.0, 1.0), (0.6, 1.0), (0.5, 1.0)] {
        let mut m = floor(0.5, 0.0);
        let a = add(&mut m, "a", PlacedShape::cuboid(1.0, 1.0, 1.0), 1.0, [0.0, 0.5, 0.0]);
        let b = add(&mut m, "b", PlacedShape::cuboid(1.0, 1.0, 1.0), 1.0, [0.0, height, 0.0]);
        let mut run = Run::new(&m);
        let (mut fastest, mut before) = (0.0_f64, run.at(&m, b));
        for _ in 0..360 {
            run.step(&m, 1.0 / 60.0);
            fastest = fastest.max(run.at(&m, b).distance(before) * 60.0);
            before = run.at(&m, b);
        }
        let away = (run.at(&m, b) - run.at(&m, a)).abs();
        assert!(away.max_element() > apart - 1e-5, "{height}: {away}");
        assert!(fastest < 4.0, "{height}: {fastest} m/s");
        assert_eq!(run.worst.energy.unexplained, 0, "{height}");
        assert!(run.work.is_asleep(a) && run.work.is_asleep(b), "{height}");
    }
}

/// Boxes that fall together, one above the other: the lowest is stopped, and the next ones must see it.
#[test]
fn falling_together_they_close_up_without_overlap() {
    let mut m = floor(0.5, 0.0);
    for k in 0..6 {
        let at = [0.0, 0.51 + 1.01 * f64::from(k), 0.0];
        add(&mut m, &format!("b{k}"), PlacedShape::cuboid(1.0, 1.0, 1.0), 1.0, at);
    }
    let mut run = Run::new(&m);
    run.go(&m, 3.0, 1.0 / 60.0);
    assert!(run.worst.contacts.penetration < 1e-6, "{}", run.worst.contacts.penetration);
    assert_eq!(run.worst.energy.unexplained, 0);
    assert!(run.gained < 1e-6, "{}", run.gained);
}

/// A face at 100 m/s is stopped by its corners, and stays where it was stopped.
#[test]
fn a_fast_face_stops_where_it_hits() {
    for e in [0.0, 0.5] {
        let mut m = Mechanism::new();
        m.gravity = Vector::ZERO;
        m.add_material(Material { name: "all".into(), restitution: e, ..Material::default() }).unwrap();
        let wall = Solid { shapes: vec![PlacedShape::cuboid(0.02, 2.0, 2.0)], ..Solid::fixed("wall") };
        m.add_solid(Solid { material: Some(MaterialId(0)), ..wall }).unwrap();
        let b = add(&mut m, "b", PlacedShape::cuboid(0.04, 0.04, 0.04), 0.1, [-5.37, 0.1, 0.1]);
        m.edit_solid(b, |s| s.velocity = Vector::X * 100.0).unwrap();
        let mut run = Run::new(&m);
        run.go(&m, 0.2, 1.0 / 60.0);
        let (at, v) = (run.at(&m, b).x, run.state.velocities[b.index()]);
        assert!(run.worst.contacts.penetration < 1e-6);
        assert!((v.x + 100.0 * e).abs() < 1e-6 && v.y.abs() + v.z.abs() < 1e-9, "{e}: {v}");
        assert!(e > 0.0 || (at + 0.03).abs() < 1e-6, "{at}");
    }
}

/// A hinged flap closes on a wall whose edge is at the hinge: it stops there, whatever the last digits of the step.
#[test]
fn a_flap_closes_on_its_wall() {
    let text = "solid wall: kernel fixed; shape box 0.1 1 0.4 at 0 0.5 0; at 1 0 0; end
        solid flap: shape box 0.1 1 0.4 at 0 -0.5 0; mass 1; at 1.1 1 0; turn 0 0 1 60 deg; end
        joint pin; object2 flap; at 1.1 1 0 axis 0 0 1; end";
    let (scene, _) = linkwork::scene::load(text, &mut |_| Err("no files here".into()));
    let m = scene.unwrap().mechanism;
    let flap = m.find("flap").unwrap();
    for dt in [1.0 / 60.0, 0.016_666_666_7, 1.0 / 240.0, 0.004_166_666_7] {
        let mut run = Run::new(&m);
        run.go(&m, 1.5, dt);
        let x = run.state.pose(&m, flap).rotation * Vector::X;
        assert!(x.y > -1e-3, "{dt}: {x}");
        assert!(run.worst.contacts.penetration < 1e-4, "{dt}: {}", run.worst.contacts.penetration);
        assert!(run.worst.gaps.worst() <= 1e-6, "{dt}: {:?}", run.worst.gaps);
    }
}

/// A slope that ends in a flat floor, both of two triangles.
fn valley() -> PlacedShape {
    let v = Vector::new;
    let points = [(3.0, 2.0), (0.0, 0.0), (-30.0, 0.0)];
    let vertices: Vec<Vector> = points.iter().flat_map(|(x, y)| [v(*x, *y, -2.0), v(*x, *y, 2.0)]).collect();
    let triangles = vec![[0, 2, 1], [1, 2, 3], [2, 4, 3], [3, 4, 5]];
    PlacedShape::mesh(Arc::new(Mesh { name: "valley".into(), vertices, triangles }))
}

/// Over the bend of a mesh nothing sinks in, and over the edge inside of a flat face nothing is kicked.
#[test]
fn meshes_are_smooth_where_they_are_flat() {
    for (shape, across) in [(PlacedShape::sphere(0.2), 1e-9), (PlacedShape::cuboid(0.3, 0.3, 0.3), 1e-6)] {
        let mut m = Mechanism::new();
        m.add_material(Material { name: "all".into(), friction: 0.3, ..Material::default() }).unwrap();
        let ground = Solid { shapes: vec![valley()], ..Solid::fixed("valley") };
        m.add_solid(Solid { material: Some(MaterialId(0)), ..ground }).unwrap();
        let b = add(&mut m, "b", shape, 1.0, [1.5, 1.6, 0.3]);
        let mut run = Run::new(&m);
        let mut after = 0.0_f64;
        for _ in 0..120 {
            run.step(&m, 1.0 / 60.0);
            let at = run.at(&m, b);
            if at.x < -0.8 {
                after = after.max(run.state.velocities[b.index()].y.abs());
            }
        }
        assert!(run.worst.contacts.penetration < 1e-5, "{}", run.worst.contacts.penetration);
        assert!((run.at(&m, b).z - 0.3).abs() < across, "{}", run.at(&m, b));
        assert!(after < 1e-3, "{after}");
        assert!(run.gained < 1e-6 * run.start.abs(), "{}", run.gained);
    }
}

/// A pin that drives a slotted wheel, three degrees in a step and the wheel twice as fast: the walls of the slot turn away
/// under it, and it sinks into none of them.
#[test]
fn the_pin_of_a_fast_geneva_drive_stays_in_its_slot() {
    let text = include_str!("../../../scenes/geneva.lw").replace("speed 120 deg", "speed 180 deg");
    let (scene, _) = linkwork::scene::load(&text, &mut |_| Err("no files".into()));
    let m = scene.unwrap().mechanism;
    let wheel = m.find("wheel").unwrap();
    let (mut s, mut work) = (State::new(&m), Workspace::new());
    let (mut deepest, mut turned) = (0.0_f64, 0.0);
    for _ in 0..480 {
        let r = step(&m, &mut s, &mut work, &StepConfig { dt: 1.0 / 60.0, ..StepConfig::default() });
        assert!(!r.missed && r.fallbacks == 0, "{r:?}");
        deepest = deepest.max(r.contacts.penetration);
        turned += s.spins[wheel.index()].z / 60.0;
    }
    assert!(deepest < 1e-3, "{deepest} m deep");
    // A quarter each two seconds.
    near(turned.abs(), 4.0 * std::f64::consts::FRAC_PI_2, 0.05, "turned");
}

/// A plank falls over the edge of a fixed block and lies down on it: on a block of triangles as on one of six faces. Faces that
/// look away were taken for the side that the plank had come from, and lifted it by 4 J.
#[test]
fn a_plank_on_the_edge_of_a_mesh_gains_nothing() {
    let corner = |k: usize| Vector::new((k & 1) as f64, (k >> 1 & 1) as f64, (k >> 2) as f64);
    let corners: Vec<Vector> = (0..8).map(|k| (corner(k) - Vector::splat(0.5)) * 0.4).collect();
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = quads.iter().flat_map(|q: &[u32; 4]| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect();
    let mesh = PlacedShape::mesh(Arc::new(Mesh { name: "cube".into(), vertices: corners, triangles }));
    for (name, block) in [("mesh", mesh), ("box", PlacedShape::cuboid(0.4, 0.4, 0.4))] {
        for (tilt, x, length) in
            [(-40.0_f64, 0.1, 0.5), (-40.0, 0.15, 0.6), (-20.0, 0.1, 0.5), (-60.0, 0.0, 0.3)]
        {
            for dt in [1.0 / 60.0, 1.0 / 240.0] {
                let mut m = Mechanism::new();
                m.gravity = Vector::new(0.0, -G, 0.0);
                let mut fixed = Solid::fixed("block");
                fixed.shapes = vec![block.clone()];
                m.add_solid(fixed).unwrap();
                let mut plank = Solid::new("plank").with_shape(PlacedShape::cuboid(length, 0.04, 0.1), 500.0);
                plank.pose = Pose::from_parts(
                    Vector::new(x, 0.45, 0.0),
                    Rotation::from_axis_angle(Vector::Z, tilt.to_radians()),
                );
                m.add_solid(plank).unwrap();
                let mut run = Run::new(&m);
                run.go(&m, 2.0, dt);
                assert!(run.gained < 1e-3, "{name} {tilt} {x} {dt}: {} J made", run.gained);
                let deep = run.worst.contacts.penetration;
                assert!(deep < 5e-3, "{name} {tilt} {x} {dt}: {deep} deep");
            }
        }
    }
}
