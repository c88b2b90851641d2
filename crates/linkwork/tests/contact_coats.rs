//! Soft coats: closed forms at 1/60 s that get better with the step, and calm at any stiffness.

use linkwork::measure::{energy, momentum};
use linkwork::{
    Frame, Joint, Material, MaterialId, Mechanism, PlacedShape, Solid, SolidId, State, StepConfig,
    StepReport, Vector, Workspace, step,
};

const G: f64 = 9.81;
const DT: f64 = 1.0 / 60.0;

fn coat(name: &str, stiffness: f64, damping: f64) -> Material {
    Material { name: name.into(), stiffness: Some(stiffness), damping, ..Material::default() }
}

/// A rigid floor without a material, and these.
fn ground(materials: &[Material]) -> Mechanism {
    let mut m = Mechanism::new();
    m.materials.extend_from_slice(materials);
    m.add_solid(Solid { shapes: vec![PlacedShape::plane(Vector::Y)], ..Solid::fixed("floor") }).unwrap();
    m
}

fn add(m: &mut Mechanism, shape: PlacedShape, mass: f64, at: [f64; 3], material: u32) -> SolidId {
    let name = format!("s{}", m.solid_count());
    let solid = Solid::new(name).with_shape(shape, mass).at(at[0], at[1], at[2]);
    m.add_solid(Solid { material: Some(MaterialId(material)), ..solid }).unwrap()
}

/// Steps, and the most that the energy, dents included, was above its start.
struct Run {
    state: State,
    work: Workspace,
    start: f64,
    gained: f64,
    last: StepReport,
    sleeps: bool,
}

impl Run {
    fn new(m: &Mechanism) -> Self {
        let state = State::new(m);
        let start = energy(m, &state).total();
        Self { state, work: Workspace::new(), start, gained: 0.0, last: StepReport::default(), sleeps: false }
    }

    fn step(&mut self, m: &Mechanism, dt: f64) -> StepReport {
        let c = StepConfig { dt, sleep: self.sleeps, ..StepConfig::default() };
        self.last = step(m, &mut self.state, &mut self.work, &c);
        assert_eq!(self.last.rejected, None);
        self.gained = self.gained.max(energy(m, &self.state).total() - self.start);
        self.last
    }

    fn go(&mut self, m: &Mechanism, seconds: f64, dt: f64) -> &mut Self {
        for _ in 0..(seconds / dt).round() as usize {
            self.step(m, dt);
        }
        self
    }

    fn height(&self, id: SolidId) -> f64 {
        self.state.centers[id.index()].y
    }
}

fn near(value: f64, right: f64, part: f64, what: &str) {
    assert!((value - right).abs() <= part * right.abs(), "{what}: {value} instead of {right}");
}

#[test]
fn dents_are_force_over_stiffness() {
    let (k, mass) = (2000.0, 3.0);
    let c = 0.7 * 2.0 * f64::sqrt(k * mass);
    // A ball; a box, which every corner carries; a ball on a floor with a coat of its own, half as stiff.
    let ball = || PlacedShape::sphere(0.2);
    let block = || PlacedShape::cuboid(0.6, 0.4, 0.5);
    for (shape, on, share, what) in
        [(ball(), None, 1.0, "ball"), (block(), None, 0.25, "box"), (ball(), Some(1), 3.0, "two coats")]
    {
        let mut m = ground(&[coat("a", k, c), coat("b", 0.5 * k, 0.5 * c)]);
        m.edit_solid(SolidId(1), |floor| floor.material = on.map(MaterialId));
        let id = add(&mut m, shape, mass, [0.0, 0.2, 0.0], 0);
        let mut run = Run::new(&m);
        run.go(&m, 3.0, DT);
        let dent = share * mass * G / k;
        near(0.2 - run.height(id), dent, 1e-6, what);
        near(run.last.contacts.dent, dent, 1e-6, what);
        assert!(run.last.contacts.penetration == 0.0, "{what}: {:?}", run.last.contacts);
        assert!(run.gained < 1e-9, "{what}: {}", run.gained);
        let force: f64 = run.work.contact_points(&run.state).iter().map(|p| p.pressure()).sum();
        near(force, mass * G, 1e-6, what);
    }
}

/// The largest distance from the closed form of a mass that swings within its coat, over two seconds.
fn off_closed_form(k: f64, ratio: f64, dt: f64) -> f64 {
    let mass = 2.0;
    let w = f64::sqrt(k / mass);
    let c = 2.0 * ratio * w * mass;
    let (dent, swing) = (mass * G / k, 0.5 * mass * G / k);
    let mut m = ground(&[coat("a", k, c)]);
    let id = add(&mut m, PlacedShape::sphere(0.3), mass, [0.0, 0.3 - dent + swing, 0.0], 0);
    let mut run = Run::new(&m);
    let (slow, damped) = (ratio * w, w * (1.0 - ratio * ratio).sqrt());
    let mut off = 0.0_f64;
    for _ in 0..(2.0 / dt).round() as usize {
        run.step(&m, dt);
        let t = run.state.time;
        let right = (-slow * t).exp() * ((damped * t).cos() + slow / damped * (damped * t).sin());
        off = off.max(((run.height(id) - 0.3 + dent) / swing - right).abs());
    }
    off
}

#[test]
fn a_mass_swings_in_its_coat_with_the_right_period_and_decay() {
    for ratio in [0.0, 0.05, 0.3] {
        let off = [1.0, 0.5, 0.25].map(|part| off_closed_form(200.0, ratio, part * DT));
        // Two seconds are three swings: a part in twenty of one is a percent of the period.
        assert!(off[0] < 0.06, "{ratio}: {off:?}");
        // Second order.
        assert!(off[1] < 0.3 * off[0] && off[2] < 0.3 * off[1], "{ratio}: {off:?}");
    }
}

#[test]
fn without_damping_a_ball_comes_back_to_where_it_was_let_go() {
    for (k, tolerance) in [(100.0, 1e-4), (400.0, 1e-3), (1500.0, 1e-2)] {
        let mut m = ground(&[coat("a", k, 0.0)]);
        let id = add(&mut m, PlacedShape::sphere(0.1), 1.0, [0.0, 0.6, 0.0], 0);
        let mut run = Run::new(&m);
        let (mut top, mut met) = (0.0_f64, false);
        for _ in 0..300 {
            run.step(&m, DT);
            met |= run.last.contacts.dent > 0.0;
            if met && run.state.velocities[id.index()].y.abs() < 0.5 * G * DT {
                top = top.max(run.height(id));
            }
        }
        near(top - 0.1, 0.5, tolerance + 1e-2, "height");
        near(energy(&m, &run.state).total(), run.start, tolerance, "energy");
        // Half a tolerance of way against the force of the dent, some dozen times.
        assert!(run.gained < 5e-5 * run.start, "{k}: {}", run.gained);
    }
}

/// Whatever the stiffness, the damping, the shape and the step: nothing is thrown, nothing is made, what is stiff is as good
/// as rigid, and what should rest rests.
#[test]
fn coats_of_any_stiffness_are_calm() {
    let shapes = [
        PlacedShape::sphere(0.2),
        PlacedShape::cuboid(0.4, 0.3, 0.5),
        PlacedShape::capsule(0.1, 0.4, Vector::X),
        PlacedShape::cylinder(0.2, 0.3, Vector::Y),
    ];
    for power in 0..=12 {
        let k = 10.0_f64.powi(power);
        for (j, shape) in shapes.iter().enumerate() {
            for (damping, dt) in [(0.0, DT), (0.3, DT), (3.0, DT), (0.0, 4.0 * DT), (100.0, 0.3 * DT)] {
                let mass = 1.5;
                let mut m = ground(&[coat("a", k, damping * f64::sqrt(k * mass))]);
                let id = add(&mut m, shape.clone(), mass, [0.0, 0.6, 0.0], 0);
                m.edit_solid(id, |s| (s.velocity, s.spin) = (Vector::X, Vector::new(0.3, 0.5, 1.0)));
                let mut run = Run::new(&m);
                let before = run.start.abs() + mass * G;
                for _ in 0..200 {
                    let r = run.step(&m, dt);
                    let what = format!("{k:e} N/m, shape {j}, damping {damping}, {dt} s: {r:?}");
                    assert!(run.state.velocities[id.index()].length() < 20.0, "{what}");
                    assert!(r.contacts.penetration == 0.0, "{what}");
                    // Below, things sink in by dozens of times their size, and store a hundred times what they had.
                    // Cylinders touch at other points as they lean: they do not keep the energy of deep dents.
                    if k < 100.0 || (j == 3 && k < 1e5) {
                        continue;
                    }
                    assert!(r.energy.clamped == 0 && r.energy.unexplained == 0, "{what}");
                    assert!(r.contacts.cone_violation < 1e-6, "{what}");
                    // Without any damping what tumbles keeps its energy to the second order of its turn.
                    let most = if damping == 0.0 { 2e-2 } else { 2e-3 };
                    assert!(run.gained < most * before, "{what}: made {}", run.gained);
                }
                if k >= 1e8 {
                    assert!(
                        run.last.contacts.dent < 1e-4,
                        "{k:e}, shape {j}, damping {damping}, {dt} s: {:?}",
                        run.last.contacts
                    );
                }
            }
        }
    }
}

#[test]
fn blows_through_coats_keep_momentum() {
    for k in [50.0, 2e3, 1e5, 1e10] {
        let mut m = ground(&[coat("a", k, 1.0)]);
        m.gravity = Vector::ZERO;
        let a = add(&mut m, PlacedShape::cuboid(0.5, 0.3, 0.2), 2.0, [-1.0, 5.0, 0.0], 0);
        let b = add(&mut m, PlacedShape::cuboid(0.4, 0.4, 0.6), 3.0, [1.0, 5.1, 0.1], 0);
        m.edit_solid(a, |s| (s.velocity, s.spin) = (Vector::new(3.0, 0.0, 0.1), Vector::new(1.0, 2.0, -1.0)));
        m.edit_solid(b, |s| s.velocity = Vector::new(-2.0, 0.1, 0.0));
        let mut run = Run::new(&m);
        let before = momentum(&m, &run.state);
        run.go(&m, 1.5, DT);
        let after = momentum(&m, &run.state);
        assert!(run.state.velocities[a.index()].x < 2.0, "they did not meet");
        assert!((after.linear - before.linear).length() < 1e-10, "{k}: {:?}", after.linear - before.linear);
        assert!(
            (after.angular - before.angular).length() < 1e-8,
            "{k}: {:?}",
            after.angular - before.angular
        );
        assert!(run.gained < 1e-3 * run.start, "{k}: {}", run.gained);
    }
}

#[test]
fn joints_stay_closed_while_coats_are_hit() {
    for k in [300.0, 1e4, 1e7] {
        let mut m = ground(&[coat("a", k, 5.0)]);
        let bars: Vec<SolidId> = (0..3)
            .map(|j| {
                add(&mut m, PlacedShape::capsule(0.05, 1.0, Vector::X), 1.0, [f64::from(j), 1.0, 0.0], 0)
            })
            .collect();
        for pair in bars.windows(2) {
            let end = |s, x: f64| Frame::point(s, Vector::new(x, 0.0, 0.0));
            m.add_joint(Joint::ball(end(pair[0], 0.5), end(pair[1], -0.5))).unwrap();
        }
        bars.iter().for_each(|b| m.edit_solid(*b, |s| s.velocity = Vector::new(0.0, -5.0, 1.0)));
        let mut run = Run::new(&m);
        for _ in 0..240 {
            let r = run.step(&m, DT);
            assert!(r.gaps.position <= 1e-6, "{k}: {:?}", r.gaps);
        }
        assert!(run.gained < 1e-3 * run.start.abs(), "{k}: {}", run.gained);
    }
}

/// A coat hardly changes what friction does: below the angle a box stays, above it slides as it should.
#[test]
fn friction_holds_on_coats() {
    for (degrees, slides) in [(26.5_f64, false), (27.0, true), (40.0, true)] {
        let angle = degrees.to_radians();
        let k = 5000.0;
        let mut m = ground(&[coat("a", k, 300.0)]);
        m.gravity = Vector::new(G * angle.sin(), -G * angle.cos(), 0.0);
        let b = add(
            &mut m,
            PlacedShape::cuboid(1.0, 0.2, 1.0),
            3.0,
            [0.0, 0.1 - 3.0 * G * angle.cos() / (4.0 * k), 0.0],
            0,
        );
        let mut run = Run::new(&m);
        // Leans into the coat first.
        run.go(&m, 1.0, DT);
        let (from, speed) = (run.state.centers[b.index()].x, run.state.velocities[b.index()].x);
        run.go(&m, 1.0, DT);
        let way = run.state.centers[b.index()].x - from;
        if slides {
            near(way, speed + 0.5 * G * (angle.sin() - 0.5 * angle.cos()), 1e-3, &format!("{degrees}"));
        } else {
            assert!(way.abs() < 1e-6, "{degrees}: creeps by {way}");
        }
        assert!(run.last.contacts.cone_violation < 1e-6);
    }
}

/// What a coat stores is part of the state: a snapshot at any step changes no bit, and what rests in a coat sleeps.
#[test]
fn what_rests_in_a_coat_sleeps() {
    let mut m = ground(&[coat("a", 3000.0, 100.0)]);
    for k in 0..3 {
        add(&mut m, PlacedShape::cuboid(0.4, 0.4, 0.4), 2.0, [0.0, 0.2 + 0.4 * f64::from(k), 0.0], 0);
    }
    let mut run = Run::new(&m);
    run.sleeps = true;
    run.go(&m, 10.0, DT);
    assert!(run.state.velocities.iter().all(|v| *v == Vector::ZERO), "{:?}", run.state.velocities);
    // The lowest one carries all: coats of boxes lie one on the other, half as stiff.
    near(run.height(SolidId(2)), 0.2 - 6.0 * G / (4.0 * 3000.0), 1e-5, "lowest");
}
