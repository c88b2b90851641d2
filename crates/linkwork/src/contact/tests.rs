//! Gaps, normals and keys of every pair of shapes, against closed forms.

use super::*;
use crate::math::{Pose, Random, exp};
use crate::mechanism::Mechanism;
use crate::shape::{Mesh, PlacedShape};
use crate::solid::{Collide, Solid};
use std::sync::Arc;

fn cube(size: f64) -> PlacedShape {
    let h = 0.5 * size;
    let vertices = (0..8_u32)
        .map(|k| Vector::from_array([1, 2, 4].map(|bit| if k & bit == 0 { -h } else { h })))
        .collect();
    let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = quads.iter().flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]).collect();
    PlacedShape::mesh(Arc::new(Mesh { name: "cube".into(), vertices, triangles }))
}

/// Shapes that reach 0.5 up and down, and the points on which they stand on something flat.
fn shapes() -> Vec<(&'static str, PlacedShape, usize)> {
    vec![
        ("sphere", PlacedShape::sphere(0.5), 1),
        ("box", PlacedShape::cuboid(1.0, 1.0, 1.0), 4),
        ("lying cylinder", PlacedShape::cylinder(0.5, 0.8, Vector::X), 2),
        ("standing cylinder", PlacedShape::cylinder(0.4, 1.0, Vector::Y), 4),
        ("lying capsule", PlacedShape::capsule(0.5, 0.6, Vector::X), 2),
        ("standing capsule", PlacedShape::capsule(0.2, 0.6, Vector::Y), 1),
        ("mesh", cube(1.0), 4),
    ]
}

fn two(a: PlacedShape, b: PlacedShape) -> Colliders {
    let mut m = Mechanism::new();
    m.add_solid(Solid { shapes: vec![a], ..Solid::new("a") }).unwrap();
    m.add_solid(Solid { shapes: vec![b], ..Solid::new("b") }).unwrap();
    Colliders::new(&m)
}

fn points(c: &Colliders, a: &Pose, b: &Pose, margin: f64) -> Vec<Point> {
    let (mut narrow, mut out) = (Narrow::default(), Vec::new());
    narrow.points(&c.all[0], a, &c.all[1], b, margin, &mut out);
    out
}

#[test]
fn every_pair_of_shapes_knows_its_gap() {
    let mut below = shapes();
    below.push(("plane", PlacedShape::plane(Vector::Y).moved(Pose::translation(0.0, 0.5, 0.0)), 9));
    let mut r = Random::new(5);
    for (one, a, _) in &below {
        for (two_name, b, stands) in shapes() {
            let c = two(a.clone(), b.clone());
            for gap in [-0.003, -1e-7, 0.0, 1e-7, 0.02] {
                // Anywhere in the world, and both ways round.
                let world = Pose::from_parts(r.cube() * 3.0, exp(r.ball() * 2.0));
                let up = world.rotation * Vector::Y;
                let (pa, pb) = (world, world * Pose::translation(0.01, 1.0 + gap, -0.02));
                let found = points(&c, &pa, &pb, 0.05);
                let least = found.iter().map(|p| p.gap).fold(f64::INFINITY, f64::min);
                let what = format!("{one} below {two_name}, gap {gap}: {found:?}");
                // Round on round: the pole is off the axis by the shift.
                let flat = ["plane", "box", "mesh"].contains(one) || ["box", "mesh"].contains(&two_name);
                let off = if flat { 1e-9 } else { 2e-3 };
                assert!((least - gap).abs() < off, "{what}");
                let deepest = found.iter().find(|p| p.gap == least).unwrap();
                assert!(deepest.normal.dot(up) > if flat { 1.0 - 1e-9 } else { 0.99 }, "{what}");
                if *one == "plane" || *one == "box" {
                    let near = found.iter().filter(|p| p.gap < gap + 1e-6).count();
                    assert!(near >= stands, "{what}");
                }
                let c = two(b.clone(), a.clone());
                let back = points(&c, &pb, &pa, 0.05);
                let least = back.iter().map(|p| p.gap).fold(f64::INFINITY, f64::min);
                assert!((least - gap).abs() < off, "{two_name} above {one}: {back:?}");
                assert!(back.iter().any(|p| p.normal.dot(up) < -0.99), "{two_name} above {one}: {back:?}");
            }
            let far = points(&c, &Pose::IDENTITY, &Pose::translation(0.0, 1.3, 0.0), 0.05);
            assert!(far.is_empty(), "{one} far below {two_name}: {far:?}");
        }
    }
}

#[test]
fn features_are_known_again_and_nothing_depends_on_what_was_before() {
    for (_, a, _) in shapes() {
        for (_, b, _) in shapes() {
            let c = two(a.clone(), b);
            let (mut used, mut fresh) = (Narrow::default(), Vec::new());
            let mut known: Vec<Point> = Vec::new();
            for k in 0..20 {
                let pose = Pose::from_parts(
                    Vector::new(0.011, 0.999, 1e-5 * f64::from(k) + 0.02),
                    exp(Vector::new(1e-4, 1e-5 * f64::from(k), 2e-4)),
                );
                known.clear();
                used.points(&c.all[0], &Pose::IDENTITY, &c.all[1], &pose, 0.05, &mut known);
                fresh.clear();
                Narrow::default().points(&c.all[0], &Pose::IDENTITY, &c.all[1], &pose, 0.05, &mut fresh);
                assert_eq!(known, fresh);
            }
        }
    }
    let c = two(PlacedShape::cuboid(1.0, 1.0, 1.0), PlacedShape::cuboid(1.0, 1.0, 1.0));
    let features = |x: f64| {
        let pose = Pose::translation(x, 0.9999, 0.1);
        let mut f: Vec<u32> = points(&c, &Pose::IDENTITY, &pose, 0.01).iter().map(|p| p.feature).collect();
        f.sort_unstable();
        f.dedup();
        f
    };
    assert_eq!(features(0.1).len(), 4);
    assert_eq!(features(0.1), features(0.101));
}

#[test]
fn who_touches_whom() {
    let mut m = Mechanism::new();
    let ball = |name: &str, x: f64, collide: Collide| Solid {
        collide,
        ..Solid::new(name).with_shape(PlacedShape::sphere(0.5), 1.0).at(x, 0.0, 0.0)
    };
    let a = m.add_solid(ball("a", 0.0, Collide::All)).unwrap();
    let b = m.add_solid(ball("b", 0.1, Collide::All)).unwrap();
    let none = m.add_solid(ball("none", 0.2, Collide::None)).unwrap();
    let picky = m.add_solid(ball("picky", 0.3, Collide::With(vec![a]))).unwrap();
    let joined = m.add_solid(ball("joined", 0.4, Collide::All)).unwrap();
    let apart = m.add_solid(ball("apart", 0.5, Collide::All)).unwrap();
    let f = |s| crate::Frame::point(s, Vector::ZERO);
    m.add_joint(crate::Joint::ball(f(a), f(joined))).unwrap();
    m.add_joint(crate::Joint::ball(f(a), f(picky))).unwrap();
    m.ignores.push([apart, b]);
    let c = Colliders::new(&m);
    let pose = |s: crate::SolidId| m.solid(s).pose;
    let mut broad = Broad::default();
    let pairs = broad.pairs(&c, pose, |_| 0.0);
    let of = |x: crate::SolidId, y: crate::SolidId| {
        pairs.iter().any(|p| {
            let s = p.map(|k| c.all[k as usize].solid);
            s == [x, y] || s == [y, x]
        })
    };
    assert!(of(a, b) && of(a, apart) && of(joined, apart) && of(joined, b));
    assert!(of(a, picky), "joined, but named");
    assert!(!of(b, picky) && !of(joined, picky));
    assert!(!of(a, joined) && !of(apart, b));
    assert!(c.all.iter().all(|x| x.solid != none));
}

/// Linkages are drawn with bars that run through each other: those are no contacts, unless somebody says so.
#[test]
fn what_joints_connect_does_not_touch_itself() {
    let mut m = Mechanism::new();
    let bar = |name: &str, y: f64| {
        Solid::new(name).with_shape(PlacedShape::capsule(0.05, 1.0, Vector::X), 1.0).at(0.0, y, 0.0)
    };
    let ids: Vec<_> =
        [0.0, 0.02, 0.04].iter().map(|y| m.add_solid(bar(&format!("{y}"), *y)).unwrap()).collect();
    let stranger = m.add_solid(bar("stranger", 0.06)).unwrap();
    let f = |s| crate::Frame::point(s, Vector::ZERO);
    m.add_joint(crate::Joint::ball(f(ids[0]), f(ids[1]))).unwrap();
    m.add_joint(crate::Joint::ball(f(ids[1]), f(ids[2]))).unwrap();
    m.add_joint(crate::Joint::ball(f(crate::SolidId::WORLD), f(stranger))).unwrap();
    let touch = |m: &Mechanism, a: crate::SolidId, b: crate::SolidId| {
        let c = Colliders::new(m);
        let of = |s: crate::SolidId| c.all.iter().find(|x| x.solid == s).unwrap();
        c.may_touch(of(a), of(b))
    };
    assert!(!touch(&m, ids[0], ids[2]));
    assert!(touch(&m, ids[0], stranger));
    m.alter_solid(ids[0], |s| s.collide = Collide::With(vec![ids[2], stranger]));
    assert!(touch(&m, ids[0], ids[2]) && touch(&m, ids[0], stranger));
    assert!(!touch(&m, ids[0], ids[1]) && !touch(&m, ids[1], ids[2]));
}

#[test]
fn the_broad_phase_finds_what_all_against_all_finds() {
    let mut r = Random::new(11);
    let mut m = Mechanism::new();
    for k in 0..120 {
        let size = Vector::new(0.3, 0.5, 0.4) + r.cube() * 0.2;
        let shape = PlacedShape::cuboid(size.x, size.y, size.z);
        let at = r.cube() * Vector::new(3.0, 2.0, 2.5);
        let s = Solid::new(format!("{k}")).with_shape(shape, 1.0).at(at.x, at.y, at.z);
        m.add_solid(s.turned(exp(r.ball()))).unwrap();
    }
    m.add_solid(Solid {
        shapes: vec![PlacedShape::plane(Vector::new(0.1, 1.0, 0.0))],
        ..Solid::fixed("floor")
    })
    .unwrap();
    let c = Colliders::new(&m);
    let pose = |s: crate::SolidId| m.solid(s).pose;
    let mut broad = Broad::default();
    let found = broad.pairs(&c, pose, |_| 0.01).to_vec();
    let (mut narrow, mut out, mut touching) = (Narrow::default(), Vec::new(), 0);
    for i in 0..c.all.len() {
        for j in i + 1..c.all.len() {
            let (a, b) = (&c.all[i], &c.all[j]);
            out.clear();
            narrow.points(a, &pose(a.solid), b, &pose(b.solid), 0.01, &mut out);
            if !out.is_empty() {
                touching += 1;
                assert!(found.contains(&[i as u32, j as u32]), "{i} {j}");
            }
        }
    }
    assert!(touching > 50 && found.is_sorted(), "{touching}");
}

/// Corners of one shape lie below faces of another without being in it, beside edges that are sharp or beyond which it goes
/// round: nothing overlaps that is apart.
#[test]
fn what_is_apart_does_not_overlap() {
    let plate = |corners: &[[f64; 2]], thick: f64| PlacedShape::plate(thick, corners).unwrap();
    let mut r = Random::new(23);
    let mut near = 0;
    for round in 0..60 {
        let s = |r: &mut Random| 0.1 + 0.4 * r.signed().abs();
        let shapes = [
            PlacedShape::cuboid(s(&mut r), s(&mut r), s(&mut r)),
            PlacedShape::cylinder(s(&mut r), s(&mut r), Vector::Y),
            PlacedShape::capsule(0.3 * s(&mut r), s(&mut r), Vector::Y),
            cube(s(&mut r)),
            // A wedge, and any convex quadrilateral.
            plate(&[[0.0, 0.0], [0.6, 0.05 + 0.2 * s(&mut r)], [0.6, -0.1]], s(&mut r)),
            plate(&[[-s(&mut r), 0.0], [0.0, -s(&mut r)], [s(&mut r), 0.0], [0.0, s(&mut r)]], s(&mut r)),
        ];
        for a in &shapes {
            for b in &shapes {
                let c = two(a.clone(), b.clone());
                let world = Pose::from_parts(r.cube(), exp(r.ball() * 3.0));
                let (turn, way) = (exp(r.ball() * 3.0), r.cube().normalize());
                let placed = |far: f64| Pose::from_parts(world.translation + way * far, turn);
                let apart = |far: f64| separation(&c.all[0], &world, &c.all[1], &placed(far), 10.0);
                let (mut inside, mut outside) = (0.0, 3.0);
                for _ in 0..30 {
                    let middle = 0.5 * (inside + outside);
                    let gap = apart(middle).map_or(0.0, |(gap, _)| gap);
                    if gap > 2e-4 { outside = middle } else { inside = middle }
                }
                let Some((gap, _)) = apart(outside) else { continue };
                if gap > 3e-4 {
                    continue;
                }
                near += 1;
                let found = points(&c, &world, &placed(outside), 0.02);
                let least = found.iter().map(|p| p.gap).fold(f64::INFINITY, f64::min);
                assert!(least > -1e-5, "{round}: {gap:e} apart, {least:e} told: {a:?} {b:?}");
            }
        }
    }
    assert!(near > 1500, "{near}");
}
