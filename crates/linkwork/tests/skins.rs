//! What a skin promises, on chains of every sort: closed, outside out, smooth, faithful, near its solids.

use linkwork::math::{Random, exp, unit};
use linkwork::skin::{Ring, SkinError, Surface};
use linkwork::{Frame, Joint, Mechanism, PlacedShape, Pose, Solid, SolidId, State, Vector};
use std::collections::BTreeMap;

/// Bars from their origin along x, jointed end to origin, each turned by a rotation vector against the one before.
fn bars(lengths: &[f64], turns: &[Vector], radius: f64) -> (Mechanism, Vec<SolidId>) {
    let mut m = Mechanism::new();
    let mut pose = Pose::IDENTITY;
    let mut ids: Vec<SolidId> = Vec::new();
    for (i, length) in lengths.iter().enumerate() {
        let shape = PlacedShape::capsule_between(radius, Vector::ZERO, Vector::X * *length);
        let mut solid = Solid::new(format!("b{i}")).with_shape(shape, 1.0);
        pose.rotation *= exp(turns[i]);
        solid.pose = pose;
        let id = m.add_solid(solid).unwrap();
        if let Some(last) = ids.last() {
            let joint = Vector::X * lengths[i - 1];
            m.add_joint(Joint::ball(Frame::point(*last, joint), Frame::point(id, Vector::ZERO))).unwrap();
        }
        ids.push(id);
        pose.translation = pose.transform_point(Vector::X * *length);
    }
    (m, ids)
}

fn straight(n: usize) -> (Mechanism, Vec<SolidId>) {
    bars(&vec![0.4; n], &vec![Vector::ZERO; n], 0.1)
}

/// Poses of such a chain with other turns.
fn bent(lengths: &[f64], turns: &[Vector]) -> Vec<Pose> {
    let mut pose = Pose::IDENTITY;
    let mut list = vec![Pose::IDENTITY];
    for (length, turn) in lengths.iter().zip(turns) {
        pose.rotation *= exp(*turn);
        list.push(pose);
        pose.translation = pose.transform_point(Vector::X * *length);
    }
    list
}

fn volume(positions: &[Vector], triangles: &[[u32; 3]]) -> f64 {
    let corner = |i: u32| positions[i as usize];
    triangles.iter().map(|t| corner(t[0]).dot(corner(t[1]).cross(corner(t[2]))) / 6.0).sum()
}

/// Every edge twice, once each way; no corner left over; weights and normals of unit size; volume positive.
fn check(s: &Surface) {
    let mut edges: BTreeMap<(u32, u32), i32> = BTreeMap::new();
    let mut seen = vec![false; s.positions.len()];
    for t in &s.triangles {
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            assert_ne!(a, b);
            seen[a as usize] = true;
            assert!(edges.insert((a, b), 1).is_none(), "edge {a} {b} twice the same way");
        }
    }
    assert!(edges.keys().all(|(a, b)| edges.contains_key(&(*b, *a))), "an open edge");
    assert!(seen.iter().all(|x| *x), "a corner of no triangle");
    // A sphere as far as topology goes: corners - edges + faces = 2.
    assert_eq!(s.positions.len() + s.triangles.len() - edges.len() / 2, 2);
    assert_eq!(s.positions.len(), 2 + (s.rings.len() - 2) * s.around);
    assert_eq!((s.ring_of(0), s.ring_of(s.positions.len() - 1)), (0, s.rings.len() - 1));
    assert_eq!((s.ring_of(1), s.ring_of(s.around), s.ring_of(s.around + 1)), (1, 1, 2));
    for r in &s.rings {
        assert!((r.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14, "{r:?}");
        assert!(r.weights.iter().all(|w| *w >= 0.0));
        for (b, w) in r.bones.iter().zip(r.weights) {
            assert!(usize::from(*b) < s.bones.len());
            assert!(w > 0.0 || *b == 0, "glTF wants unused bones to be 0");
        }
    }
    assert!(s.positions.iter().chain(&s.normals).all(|v| v.is_finite()));
    assert!(s.normals.iter().all(|n| (n.length() - 1.0).abs() < 1e-9));
    assert!(volume(&s.positions, &s.triangles) > 0.0);
}

/// How many times neighbouring rings cross: a corner of the later one lies behind the earlier one's plane.
fn crossings(s: &Surface, positions: &[Vector]) -> usize {
    let ring = |k: usize| &positions[1 + (k - 1) * s.around..1 + k * s.around];
    let middle = |k: usize| ring(k).iter().copied().sum::<Vector>() / s.around as f64;
    let mut count = 0;
    for k in 1..s.rings.len() - 2 {
        let (a, b) = (ring(k), ring(k + 1));
        let quarter = s.around / 4;
        let normal = (a[0] - middle(k)).cross(a[quarter] - middle(k));
        count += a.iter().zip(b).filter(|(p, q)| normal.dot(**q - **p) <= 0.0).count();
    }
    count
}

/// How far a point is from a chain's axes.
fn from_axes(p: Vector, lengths: &[f64], poses: &[Pose]) -> f64 {
    let one = |(length, pose): (&f64, &Pose)| {
        let local = pose.inverse().transform_point(p);
        (local - Vector::X * local.x.clamp(0.0, *length)).length()
    };
    lengths.iter().zip(&poses[1..]).map(one).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_straight_chain_is_a_capsule() {
    let (m, ids) = straight(4);
    let s = Surface::new(&m, &ids, &[0.1]).unwrap();
    check(&s);
    assert_eq!(crossings(&s, &s.positions), 0);
    let exact = std::f64::consts::PI * (0.01 * 1.6 + 4.0 / 3.0 * 0.001);
    let v = volume(&s.positions, &s.triangles);
    assert!(v < exact && v > 0.98 * exact, "{v} of {exact}");
    let (low, high) = s.positions.iter().fold((0.0_f64, 0.0_f64), |(l, h), p| (l.min(p.x), h.max(p.x)));
    assert!((low + 0.1).abs() < 1e-12 && (high - 1.7).abs() < 1e-12, "{low} {high}");
    for (p, n) in s.positions.iter().zip(&s.normals) {
        let axis = Vector::X * p.x.clamp(0.0, 1.6);
        assert!(((*p - axis).length() - 0.1).abs() < 1e-12);
        assert!(n.dot((*p - axis) / 0.1) > 0.995, "{p} {n}");
    }
    assert_eq!(s.covered.len(), 4, "every bar is beneath");
    assert_eq!(s.bones.len(), 4 + 3 * 3);
}

#[test]
fn random_chains_are_closed_and_near_their_solids() {
    let mut random = Random::new(5);
    for round in 0..60 {
        let n = 1 + round % 9;
        let lengths: Vec<f64> = (0..n).map(|_| 0.425 + 0.175 * random.signed()).collect();
        let turns: Vec<Vector> = (0..n).map(|_| random.ball() * 1.4).collect();
        let radii: Vec<f64> = (0..n).map(|_| 0.06 + 0.03 * random.signed()).collect();
        let (m, ids) = bars(&lengths, &turns, 0.05);
        let s = Surface::new(&m, &ids, &radii).unwrap();
        check(&s);
        assert_eq!(crossings(&s, &s.positions), 0, "round {round}");
        let largest = radii.iter().copied().fold(0.0, f64::max);
        let longest = lengths.iter().copied().fold(0.0, f64::max);
        let poses = bent(&lengths, &turns);
        let far = s.positions.iter().map(|p| from_axes(*p, &lengths, &poses)).fold(0.0, f64::max);
        // What docs/language.md promises: its radius, and a sixth of the longest solid where the curve rounds a bend.
        assert!(far <= largest + longest / 6.0, "round {round}: {far} beyond {largest} and {longest}");
    }
}

#[test]
fn rigid_motions_are_followed_exactly() {
    let turns = [Vector::ZERO, Vector::Z * 0.7, Vector::Y * -0.9, Vector::new(0.3, 0.2, 0.5)];
    let (m, ids) = bars(&[0.4, 0.3, 0.5, 0.4], &turns, 0.07);
    let s = Surface::new(&m, &ids, &[0.08]).unwrap();
    let state = State::new(&m);
    let same = s.moved(|id| state.pose(&m, id)).0;
    let worst =
        |a: &[Vector], b: &[Vector]| a.iter().zip(b).map(|(p, q)| (*p - *q).length()).fold(0.0, f64::max);
    assert!(worst(&same, &s.positions) < 1e-14);
    let motion = Pose::from_parts(Vector::new(3.0, -2.0, 5.0), exp(Vector::new(1.0, 2.0, -0.5)));
    let (moved, normals) = s.moved(|id| motion * state.pose(&m, id));
    let carried: Vec<Vector> = s.positions.iter().map(|p| motion.transform_point(*p)).collect();
    assert!(worst(&moved, &carried) < 1e-13, "{}", worst(&moved, &carried));
    let turned: Vec<Vector> = s.normals.iter().map(|n| motion.rotation * *n).collect();
    assert!(worst(&normals, &turned) < 1e-13);
}

#[test]
fn elbows_of_ninety_degrees_neither_fold_nor_collapse() {
    let lengths = [0.4; 5];
    let (m, ids) = bars(&lengths, &[Vector::ZERO; 5], 0.1);
    let s = Surface::new(&m, &ids, &[0.1]).unwrap();
    let right = std::f64::consts::FRAC_PI_2;
    for (name, axis) in [("zigzag", Vector::Z), ("twist", Vector::X)] {
        let sign = |i: i32| if i % 2 == 0 { 1.0 } else { -1.0 };
        let turns: Vec<Vector> =
            (0..5).map(|i| if i == 0 { Vector::ZERO } else { axis * (right * sign(i)) }).collect();
        let poses = bent(&lengths, &turns);
        let (positions, normals) = s.moved(|id| poses[id.index()]);
        let kept = volume(&positions, &s.triangles) / volume(&s.positions, &s.triangles);
        // The way round an elbow is shorter than through its corner; a twist changes nothing.
        let least = if name == "twist" { 0.95 } else { 0.8 };
        assert!(kept > least && kept < 1.02, "{name}: {kept} of the volume is left");
        assert_eq!(crossings(&s, &positions), 0, "{name}");
        // No ring is squeezed: its corners keep their distance from its middle.
        let mut least: f64 = 1.0;
        for (k, r) in s.rings.iter().enumerate().filter(|(_, r)| r.radius > 0.0) {
            let ring = &positions[1 + (k - 1) * s.around..1 + k * s.around];
            let middle = ring.iter().copied().sum::<Vector>() / s.around as f64;
            least = ring.iter().map(|p| (*p - middle).length() / r.radius).fold(least, f64::min);
        }
        assert!(least > 0.93, "{name}: squeezed to {least}");
        // Shading: the normals agree with the triangles.
        for t in &s.triangles {
            let p = t.map(|i| positions[i as usize]);
            let Some(face) = unit((p[1] - p[0]).cross(p[2] - p[0])) else { continue };
            assert!(t.iter().all(|i| normals[*i as usize].dot(face) > 0.6), "{name}: {t:?}");
        }
    }
    // A whole half turn about its axis is what linear blending of two solids would collapse to nothing.
    let turns: Vec<Vector> = (0..5).map(|i| if i == 2 { Vector::X * 3.1 } else { Vector::ZERO }).collect();
    let poses = bent(&lengths, &turns);
    let (positions, _) = s.moved(|id| poses[id.index()]);
    let kept = volume(&positions, &s.triangles) / volume(&s.positions, &s.triangles);
    assert!(kept > 0.9, "{kept}");
}

#[test]
fn there_is_no_crease() {
    // Bent by 60 degrees at each joint, the middle line turns gradually: no ring by more than a few degrees.
    let lengths = [0.4; 4];
    let (m, ids) = bars(&lengths, &[Vector::ZERO; 4], 0.08);
    let s = Surface::new(&m, &ids, &[0.08]).unwrap();
    let turns = [Vector::ZERO, Vector::Z, Vector::Y, Vector::Z * -1.0];
    let poses = bent(&lengths, &turns);
    let (positions, _) = s.moved(|id| poses[id.index()]);
    let full = s.rings.iter().enumerate().filter(|(_, r)| r.radius > 0.0795).map(|(k, _)| k);
    let line: Vec<Vector> = full
        .map(|k| positions[1 + (k - 1) * s.around..1 + k * s.around].iter().sum::<Vector>() / s.around as f64)
        .collect();
    for w in line.windows(3) {
        let (a, b) = (w[1] - w[0], w[2] - w[1]);
        let turn = a.cross(b).length().atan2(a.dot(b));
        assert!(turn < 0.25, "{turn} at {}", w[1]);
    }
}

#[test]
fn away_from_joints_the_skin_follows_its_solid() {
    let lengths = [1.5; 3];
    let (m, ids) = bars(&lengths, &[Vector::ZERO; 3], 0.1);
    let s = Surface::new(&m, &ids, &[0.1]).unwrap();
    let alone: Vec<&Ring> = s.rings.iter().filter(|r| r.weights[0] == 1.0).collect();
    for id in &ids {
        assert!(alone.iter().filter(|r| r.solid == *id).count() >= 2, "{id:?}");
    }
    // Owners come in the chain's order, and the joints are where they change.
    let mut order: Vec<SolidId> = s.rings.iter().map(|r| r.solid).collect();
    order.dedup();
    assert_eq!(order, ids);
    for r in &s.rings {
        assert_eq!(r.solid, ids[(r.center.x / 1.5 - 1e-9).clamp(0.0, 2.0) as usize], "{r:?}");
    }
}

#[test]
fn solids_that_do_not_fit_yet_are_brought_together() {
    // All of them lie at the origin as they are written.
    let (mut m, ids) = straight(3);
    for id in &ids {
        m.edit_solid(*id, |s| s.pose = Pose::IDENTITY);
    }
    let s = Surface::new(&m, &ids, &[0.1]).unwrap();
    check(&s);
    let high = s.positions.iter().map(|p| p.x).fold(0.0, f64::max);
    assert!((high - 1.3).abs() < 1e-9, "{high}");
    // And hinges turn them: the second bar's own axis is along y.
    let mut m = Mechanism::new();
    let a = m.add_solid(Solid::new("a").with_shape(PlacedShape::sphere(0.1), 1.0)).unwrap();
    let b = m.add_solid(Solid::new("b").with_shape(PlacedShape::sphere(0.1), 1.0)).unwrap();
    let pin = |solid, axis| Frame::axis(solid, Vector::X * 0.3, axis);
    m.add_joint(Joint::pin(pin(a, Vector::Z), pin(b, Vector::Y))).unwrap();
    let s = Surface::new(&m, &[a, b], &[0.1]).unwrap();
    check(&s);
    let z = s.bones.iter().filter(|b| b.is_solid()).map(|b| b.rest.rotation);
    let z: Vec<Vector> = z.zip([Vector::Z, Vector::Y]).map(|(r, v)| r * v).collect();
    assert!((z[0] - z[1]).length() < 1e-5, "{z:?}");
}

#[test]
fn odd_chains_have_sane_surfaces() {
    // One solid, without a shape, in one point: a ball.
    let mut m = Mechanism::new();
    let bare = m.add_solid(Solid::new("bare").at(1.0, 2.0, 3.0)).unwrap();
    let ball = Surface::new(&m, &[bare], &[0.2]).unwrap();
    check(&ball);
    for p in &ball.positions {
        assert!(((*p - Vector::new(1.0, 2.0, 3.0)).length() - 0.2).abs() < 1e-12);
    }
    // One bar.
    let (m, ids) = straight(1);
    let bar = Surface::new(&m, &ids, &[0.1]).unwrap();
    check(&bar);
    assert_eq!(bar.bones.len(), 1);
    // Coincident solids that nothing joins.
    let mut m = Mechanism::new();
    let ids: Vec<SolidId> = (0..3)
        .map(|i| m.add_solid(Solid::new(format!("c{i}")).with_shape(PlacedShape::sphere(0.1), 1.0)).unwrap())
        .collect();
    check(&Surface::new(&m, &ids, &[0.1, 0.2, 0.3]).unwrap());
    // Beads in a row that nothing joins.
    for (i, id) in ids.iter().enumerate() {
        m.edit_solid(*id, |s| s.pose = Pose::from_translation(Vector::X * (0.3 * i as f64)));
    }
    let beads = Surface::new(&m, &ids, &[0.1]).unwrap();
    check(&beads);
    assert_eq!(crossings(&beads, &beads.positions), 0);
    // A cross piece without length between two bars is passed over.
    let (mut m, ids) = straight(2);
    let cross = m
        .add_solid(Solid::new("cross").with_shape(PlacedShape::sphere(0.05), 1.0).at(0.4, 0.0, 0.0))
        .unwrap();
    let at = |solid, x: f64| Frame::point(solid, Vector::X * x);
    m.add_joint(Joint::ball(at(ids[0], 0.4), at(cross, 0.0))).unwrap();
    m.add_joint(Joint::ball(at(cross, 0.0), at(ids[1], 0.0))).unwrap();
    let crossed = Surface::new(&m, &[ids[0], cross, ids[1]], &[0.1]).unwrap();
    check(&crossed);
    assert!(crossed.bones.iter().all(|b| !b.solids.contains(&cross)));
    assert!(crossed.covered.contains(&(cross, 0)));
    // A ring of bars that closes, a hairpin, and radii larger than everything else.
    let turn = Vector::Z * (std::f64::consts::TAU / 8.0);
    let (m, ids) = bars(&[0.4; 8], &[turn; 8], 0.05);
    check(&Surface::new(&m, &ids, &[0.05]).unwrap());
    let (m, ids) = bars(&[0.4; 3], &[Vector::ZERO, Vector::Z * 3.1, Vector::Z * -3.14159], 0.05);
    check(&Surface::new(&m, &ids, &[0.05]).unwrap());
    let (m, ids) = bars(&[0.4; 3], &[Vector::Z * 1.5; 3], 0.05);
    check(&Surface::new(&m, &ids, &[5.0]).unwrap());
    // Long ones stay within what 16 bits can number.
    let n = 2000;
    let (m, ids) = bars(&vec![0.1; n], &vec![Vector::Z * 0.01; n], 0.02);
    let long = Surface::new(&m, &ids, &[0.02]).unwrap();
    check(&long);
    assert!(long.bones.len() < 65_536 && long.positions.len() < 200_000, "{}", long.positions.len());
}

#[test]
fn what_sticks_out_is_not_covered() {
    let (mut m, ids) = straight(2);
    let fin = PlacedShape::cuboid(0.1, 0.9, 0.02).moved(Pose::from_translation(Vector::X * 0.2));
    m.edit_solid(ids[1], |s| s.shapes.push(fin));
    let s = Surface::new(&m, &ids, &[0.1]).unwrap();
    assert_eq!(s.covered, [(ids[0], 0), (ids[1], 0)]);
}

#[test]
fn what_has_no_skin_is_said() {
    let (mut m, ids) = straight(3);
    let p = m.add_solid(Solid::particle("p", 1.0)).unwrap();
    let skin = |over: &[SolidId], radius: &[f64]| Surface::new(&m, over, radius).unwrap_err();
    assert_eq!(skin(&[], &[1.0]), SkinError::Length(0));
    assert_eq!(skin(&ids, &[1.0, 1.0]), SkinError::Radii(2, 3));
    assert_eq!(skin(&ids, &[1.0; 4]), SkinError::Radii(4, 3));
    assert_eq!(skin(&ids, &[]), SkinError::Radii(0, 3));
    assert_eq!(skin(&ids, &[-1.0]), SkinError::Radius(-1.0));
    assert!(matches!(skin(&ids, &[f64::NAN]), SkinError::Radius(_)));
    assert_eq!(skin(&[p], &[1.0]), SkinError::Solid(p));
    assert_eq!(skin(&[SolidId(99)], &[1.0]), SkinError::Solid(SolidId(99)));
    assert_eq!(skin(&[ids[0], ids[0]], &[1.0]), SkinError::Place);
    assert!(skin(&ids, &[1.0, 1.0]).to_string().contains("2 radii for 3 solids"));
}

#[test]
fn the_same_scene_has_the_same_skin() {
    let (m, ids) = bars(&[0.4, 0.3, 0.5], &[Vector::ZERO, Vector::Z * 0.8, Vector::Y], 0.05);
    let twice = [0, 1].map(|_| Surface::new(&m, &ids, &[0.06]).unwrap());
    assert_eq!(twice[0], twice[1]);
}
