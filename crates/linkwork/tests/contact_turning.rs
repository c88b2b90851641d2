//! Resistance to rolling and spinning: closed forms, and what stops stays.

use linkwork::{
    Material, MaterialId, Mechanism, PlacedShape, Solid, SolidId, State, StepConfig, Vector, Workspace, step,
};

const G: f64 = 9.81;

fn ground(rolling: f64, spinning: f64) -> Mechanism {
    let mut m = Mechanism::new();
    m.add_material(Material { name: "all".into(), rolling, spinning, ..Material::default() }).unwrap();
    m.add_solid(Solid { shapes: vec![PlacedShape::plane(Vector::Y)], ..Solid::fixed("floor") }).unwrap();
    m
}

fn ball(m: &mut Mechanism, radius: f64, velocity: Vector, spin: Vector) -> SolidId {
    let solid = Solid::new(format!("b{}", m.solid_count()));
    let solid = solid.with_shape(PlacedShape::sphere(radius), 2.0).at(0.0, radius, 0.0);
    m.add_solid(Solid { material: Some(MaterialId(0)), velocity, spin, ..solid }).unwrap()
}

fn kinetic(m: &Mechanism, s: &State) -> f64 {
    linkwork::measure::energy(m, s).kinetic
}

/// `5/7 g L / r`, in any direction, and in the end it stands.
#[test]
fn a_rolling_ball_slows_down_and_stands() {
    let (radius, lever, speed) = (0.2, 0.004, 1.0);
    let slows = 5.0 / 7.0 * G * lever / radius;
    for (degrees, dt) in [(0.0_f64, 1.0 / 60.0), (31.0, 1.0 / 60.0), (45.0, 1.0 / 240.0)] {
        let mut m = ground(lever, 0.0);
        let (s, c) = degrees.to_radians().sin_cos();
        let along = Vector::new(c, 0.0, s);
        let id = ball(&mut m, radius, along * speed, Vector::Y.cross(along) * (speed / radius));
        let (mut state, mut work) = (State::new(&m), Workspace::new());
        let config = StepConfig { dt, ..StepConfig::default() };
        let mut before = kinetic(&m, &state);
        while state.time < 1.2 * speed / slows {
            let r = step(&m, &mut state, &mut work, &config);
            assert!(r.contacts.cone_violation < 1e-6);
            let now = kinetic(&m, &state);
            assert!(now <= before * (1.0 + 1e-9) + 1e-15, "{now} after {before}");
            before = now;
            let v = state.velocities[id.index()];
            let right = (speed - slows * state.time).max(0.0);
            assert!((v - along * right).length() < 2e-3 * speed, "{degrees}, {}: {v:?}, {right}", state.time);
            assert!(v.dot(along) >= -1e-9, "turned back: {v:?}");
        }
        assert!(state.velocities[id.index()].length() < 1e-9);
        let way = state.centers[id.index()].dot(along);
        assert!((way - 0.5 * speed * speed / slows).abs() < 5e-3 * way, "{degrees}: {way}");
    }
}

/// `I w / (L m g)` until it stops.
#[test]
fn a_spinning_ball_stops_in_time() {
    let (radius, lever, spin) = (0.2, 0.003, 8.0);
    let mut m = ground(0.0, lever);
    let id = ball(&mut m, radius, Vector::ZERO, Vector::Y * spin);
    let slows = lever * G / (0.4 * radius * radius);
    let (mut state, mut work) = (State::new(&m), Workspace::new());
    let config = StepConfig { dt: 1.0 / 60.0, ..StepConfig::default() };
    while state.time < 1.2 * spin / slows {
        step(&m, &mut state, &mut work, &config);
        let right = (spin - slows * state.time).max(0.0);
        let now = state.spins[id.index()];
        assert!((now - Vector::Y * right).length() < 1e-3 * spin, "{}: {now:?}, {right}", state.time);
        assert!(now.y >= -1e-9);
    }
    assert!(state.spins[id.index()].length() < 1e-9);
}

/// On a slope of `tan a` below `L / r` a ball stays where it is, above it rolls by what is left.
#[test]
fn a_ball_stays_on_a_slope_that_its_lever_holds() {
    let (radius, lever) = (0.25, 0.01);
    for (part, rolls) in [(0.97, false), (1.5, true)] {
        let slope: f64 = part * lever / radius;
        let (s, c) = slope.atan().sin_cos();
        let mut m = ground(lever, 0.0);
        m.gravity = Vector::new(G * s, -G * c, 0.0);
        let id = ball(&mut m, radius, Vector::ZERO, Vector::ZERO);
        let (mut state, mut work) = (State::new(&m), Workspace::new());
        for _ in 0..120 {
            step(&m, &mut state, &mut work, &StepConfig { dt: 1.0 / 60.0, ..StepConfig::default() });
        }
        let way = state.centers[id.index()].x;
        if rolls {
            let right = 0.5 * 4.0 * 5.0 / 7.0 * G * (s - c * lever / radius);
            assert!((way - right).abs() < 2e-3 * right, "{way} instead of {right}");
        } else {
            assert!(way.abs() < 1e-6, "creeps by {way}");
        }
    }
}

/// Resistance is between two solids: it takes from one what it gives to the other.
#[test]
fn it_keeps_angular_momentum() {
    let mut m = ground(0.01, 0.02);
    m.gravity = Vector::ZERO;
    for (x, v, spin) in [(-1.0, 2.0, Vector::new(3.0, 5.0, 1.0)), (1.0, -2.0, Vector::new(-1.0, 2.0, 0.0))] {
        let id = ball(&mut m, 0.3, Vector::new(v, 0.0, 0.0), spin);
        m.edit_solid(id, |s| s.pose.translation = Vector::new(x, 3.0 + 0.05 * x, 0.0)).unwrap();
    }
    let (mut state, mut work) = (State::new(&m), Workspace::new());
    let before = linkwork::measure::momentum(&m, &state);
    let had = kinetic(&m, &state);
    for _ in 0..120 {
        step(&m, &mut state, &mut work, &StepConfig { dt: 1.0 / 60.0, ..StepConfig::default() });
    }
    let after = linkwork::measure::momentum(&m, &state);
    assert!((after.linear - before.linear).length() < 1e-10);
    assert!((after.angular - before.angular).length() < 1e-9, "{:?}", after.angular - before.angular);
    assert!(kinetic(&m, &state) < had);
}
