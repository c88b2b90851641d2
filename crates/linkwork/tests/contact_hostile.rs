//! Hostile geometry: whatever the shapes, sizes, masses and overlaps, a step ends, nothing is thrown, and who still overlaps
//! is named. Populations with fixed seeds.

use linkwork::math::Random;
use linkwork::{
    Mechanism, Mesh, PlacedShape, Pose, Rotation, Solid, State, StepConfig, Vector, Workspace, step,
};
use std::sync::Arc;

fn ground() -> Mechanism {
    let mut m = Mechanism::new();
    m.add_solid(Solid { shapes: vec![PlacedShape::plane(Vector::Y)], ..Solid::fixed("floor") }).unwrap();
    m
}

/// Steps, and looks: everything is finite, nothing is faster than `fastest`, and what is deep has a name.
fn run(m: &Mechanism, steps: usize, fastest: f64, what: &str) -> State {
    let (mut s, mut w) = (State::new(m), Workspace::new());
    for k in 0..steps {
        let r = step(m, &mut s, &mut w, &StepConfig { dt: 1.0 / 60.0, ..StepConfig::default() });
        assert_eq!(r.rejected, None, "{what}, step {k}");
        assert!(s.is_finite(), "{what}, step {k}");
        let speed = s.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
        assert!(speed <= fastest, "{what}, step {k}: {speed} m/s, {r:?}");
        assert!(r.contacts.penetration <= 1e-6 || r.contacts.deepest.is_some(), "{what}, step {k}: {r:?}");
    }
    s
}

fn mesh(vertices: Vec<Vector>, triangles: Vec<[u32; 3]>) -> PlacedShape {
    PlacedShape::mesh(Arc::new(Mesh { name: "mesh".into(), vertices, triangles }))
}

/// Meshes with slits, folds, needles, doubled and flat triangles, as ground and as what falls on it.
fn broken_meshes(r: &mut Random) -> Vec<(&'static str, PlacedShape)> {
    let v = Vector::new;
    let soup = (0..24).map(|_| r.cube() * 0.3).collect();
    vec![
        (
            "one triangle",
            mesh(vec![v(-1.0, 0.0, -1.0), v(1.0, 0.0, -1.0), v(0.0, 0.0, 1.0)], vec![[0, 1, 2]]),
        ),
        ("a line", mesh(vec![v(-1.0, 0.0, 0.0), v(0.0, 0.0, 0.0), v(1.0, 0.0, 0.0)], vec![[0, 1, 2]])),
        ("a point", mesh(vec![v(0.1, 0.0, 0.0); 3], vec![[0, 1, 2]])),
        (
            "both sides",
            mesh(
                vec![v(-1.0, 0.0, -1.0), v(1.0, 0.0, -1.0), v(0.0, 0.0, 1.0)],
                vec![[0, 1, 2], [0, 2, 1], [0, 1, 2]],
            ),
        ),
        (
            "a repeated corner",
            mesh(vec![v(-1.0, 0.0, -1.0), v(1.0, 0.0, -1.0), v(0.0, 0.0, 1.0)], vec![[0, 1, 2], [0, 0, 1]]),
        ),
        ("a needle", mesh(vec![v(-1.0, 0.0, 0.0), v(1.0, 0.0, 1e-12), v(1.0, 0.0, 0.0)], vec![[0, 1, 2]])),
        ("soup", mesh(soup, (0..8).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect())),
    ]
}

#[test]
fn broken_meshes_do_no_harm() {
    let mut r = Random::new(5);
    for (name, shape) in broken_meshes(&mut r) {
        for (j, other) in [
            PlacedShape::sphere(0.2),
            PlacedShape::cuboid(0.3, 0.2, 0.4),
            PlacedShape::capsule(0.1, 0.3, Vector::X),
            PlacedShape::cylinder(0.2, 0.2, Vector::Y),
            shape.clone(),
        ]
        .into_iter()
        .enumerate()
        {
            let mut m = ground();
            let lies = Solid { shapes: vec![shape.clone()], ..Solid::fixed("lies") };
            m.add_solid(lies.at(0.0, 0.5, 0.0)).unwrap();
            let mut falls = Solid::new("falls").at(0.02, 0.9, 0.01);
            falls.shapes = vec![other];
            falls.mass.mass = 1.0;
            falls.mass.inertia = linkwork::Matrix::from_diagonal(Vector::splat(0.01));
            falls.spin = Vector::new(1.0, 2.0, 0.5);
            m.add_solid(falls).unwrap();
            run(&m, 90, 20.0, &format!("{name}, shape {j}"));
        }
    }
}

fn shapes(size: f64) -> [PlacedShape; 4] {
    [
        PlacedShape::sphere(0.5 * size),
        PlacedShape::cuboid(size, 0.8 * size, 1.1 * size),
        PlacedShape::capsule(0.3 * size, 0.6 * size, Vector::X),
        PlacedShape::cylinder(0.5 * size, 0.7 * size, Vector::Y),
    ]
}

/// Solids in the same place and in the same pose: they come apart, without a jump.
#[test]
fn coincident_solids_come_apart() {
    for one in 0..4 {
        for two in 0..4 {
            for n in [2, 5] {
                let mut m = ground();
                m.gravity = Vector::ZERO;
                for k in 0..n {
                    let shape = shapes(0.4)[if k % 2 == 0 { one } else { two }].clone();
                    let solid = Solid::new(format!("s{k}")).with_shape(shape, 1.0);
                    m.add_solid(solid.at(0.0, 3.0, 0.0)).unwrap();
                }
                run(&m, 120, 1.0, &format!("{n} of shapes {one} and {two}"));
            }
        }
    }
}

#[test]
fn deep_overlaps_end_calmly() {
    let mut r = Random::new(9);
    for round in 0..40 {
        let mut m = ground();
        for k in 0..6 {
            let shape = shapes(0.3 + 0.2 * r.signed().abs())[k % 4].clone();
            let turn = Rotation::from_scaled_axis(r.cube() * 2.0);
            let mut solid = Solid::new(format!("s{k}")).with_shape(shape, 1.0 + 3.0 * r.signed().abs());
            solid.pose = Pose::from_parts(Vector::Y * 0.3 + r.cube() * 0.15, turn);
            m.add_solid(solid).unwrap();
        }
        run(&m, 240, 6.0, &format!("round {round}"));
    }
}

/// From a millimetre to ten kilometres, and both in one scene.
#[test]
fn sizes_from_a_millimetre_to_ten_kilometres() {
    for power in -3..=4 {
        let size = 10.0_f64.powi(power);
        for k in 0..4 {
            let mut m = ground();
            let shape = shapes(size)[k].clone();
            let solid = Solid::new("falls").with_shape(shape, (1000.0 * size.powi(3)).max(1e-9));
            m.add_solid(solid.at(0.0, 0.6 * size + 0.01, 0.0)).unwrap();
            run(&m, 60, 30.0, &format!("{size} m, shape {k}"));
            let mut m = ground();
            let big = Solid { shapes: vec![PlacedShape::cuboid(1e4, 1e4, 1e4)], ..Solid::fixed("big") };
            m.add_solid(big.at(0.0, -5e3, 0.0)).unwrap();
            let solid = Solid::new("small").with_shape(shapes(size.min(1.0))[k].clone(), 1.0);
            m.add_solid(solid.at(10.0, 0.7, 3.0)).unwrap();
            run(&m, 60, 30.0, &format!("{size} m on 10 km, shape {k}"));
        }
    }
}

#[test]
fn masses_of_a_million_to_one() {
    for (low, high) in [(1.0, 1e6), (1e6, 1.0), (1e-3, 1e3)] {
        for k in [0, 1, 3] {
            let mut m = ground();
            for (j, mass) in [low, high].into_iter().enumerate() {
                let solid = Solid::new(format!("s{j}")).with_shape(shapes(0.5)[k].clone(), mass);
                m.add_solid(solid.at(0.01 * j as f64, 0.3 + 0.55 * j as f64, 0.0)).unwrap();
            }
            run(&m, 180, 10.0, &format!("{low} below {high}, shape {k}"));
        }
    }
}

/// A thousand solids in one point: every step ends soon, and they spread.
#[test]
fn a_thousand_solids_in_one_point() {
    let mut m = ground();
    m.gravity = Vector::ZERO;
    for k in 0..1000 {
        let solid = Solid::new(format!("s{k}")).with_shape(shapes(0.2)[k % 2].clone(), 1.0);
        m.add_solid(solid.at(0.0, 2.0, 0.0)).unwrap();
    }
    let start = std::time::Instant::now();
    let s = run(&m, 5, 5.0, "a thousand");
    let spread = s.centers[2..].iter().map(|c| (*c - Vector::Y * 2.0).length()).fold(0.0, f64::max);
    // Half a million pairs: about a second a step where nothing else runs, a few in a debug build.
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
    assert!(spread > 0.01, "{spread}");
}
