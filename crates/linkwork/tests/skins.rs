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
        m.edit_solid(*id, |s| s.pose = Pose::IDENTITY).unwrap();
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
        m.edit_solid(*id, |s| s.pose = Pose::from_translation(Vector::X * (0.3 * i as f64))).unwrap();
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
    let (m, ids) = bars(&[0.4; 3], &[Vector::ZERO, Vector::Z * 3.1, Vector::Z * -std::f64::consts::PI], 0.05);
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
    m.edit_solid(ids[1], |s| s.shapes.push(fin)).unwrap();
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

/// A `.glb` read back: its document and its numbers.
struct Glb {
    json: serde_json::Value,
    bytes: Vec<u8>,
}

impl Glb {
    fn read(file: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!((&file[..4], word(8)), (&b"glTF"[..], file.len()));
        let length = word(12);
        let json: serde_json::Value = serde_json::from_slice(&file[20..20 + length]).unwrap();
        let bytes = file[28 + length..].to_vec();
        assert_eq!(json["buffers"][0]["byteLength"], bytes.len());
        Self { json, bytes }
    }

    fn list(&self, name: &str) -> &[serde_json::Value] {
        self.json[name].as_array().map_or(&[], Vec::as_slice)
    }

    /// The numbers of an accessor, by element; the lengths must agree.
    fn numbers(&self, accessor: &serde_json::Value) -> Vec<Vec<f64>> {
        let a = &self.list("accessors")[accessor.as_u64().unwrap() as usize];
        let view = &self.list("bufferViews")[a["bufferView"].as_u64().unwrap() as usize];
        let width = match a["type"].as_str().unwrap() {
            "SCALAR" => 1,
            "VEC3" => 3,
            "VEC4" => 4,
            "MAT4" => 16,
            other => panic!("{other}"),
        };
        let size = match a["componentType"].as_u64().unwrap() {
            5123 => 2,
            5125 | 5126 => 4,
            other => panic!("{other}"),
        };
        let (start, length) =
            (view["byteOffset"].as_u64().unwrap() as usize, view["byteLength"].as_u64().unwrap() as usize);
        assert_eq!(length, size * width * a["count"].as_u64().unwrap() as usize);
        assert_eq!(start % 4, 0, "aligned");
        let one = |b: &[u8]| match a["componentType"].as_u64() {
            Some(5123) => f64::from(u16::from_le_bytes(b.try_into().unwrap())),
            Some(5125) => f64::from(u32::from_le_bytes(b.try_into().unwrap())),
            _ => f64::from(f32::from_le_bytes(b.try_into().unwrap())),
        };
        let all: Vec<f64> = self.bytes[start..start + length].chunks(size).map(one).collect();
        all.chunks(width).map(<[f64]>::to_vec).collect()
    }

    /// Where the nodes are at a key of the animation.
    fn poses(&self, key: Option<usize>) -> Vec<Pose> {
        let numbers = |v: &serde_json::Value, n: usize| -> Option<Vec<f64>> {
            Some(v.as_array()?.iter().map(|x| x.as_f64().unwrap()).take(n).collect())
        };
        let mut parts: Vec<(Vec<f64>, Vec<f64>)> = self
            .list("nodes")
            .iter()
            .map(|n| {
                let place = numbers(&n["translation"], 3).unwrap_or_else(|| vec![0.0; 3]);
                (place, numbers(&n["rotation"], 4).unwrap_or_else(|| vec![0.0, 0.0, 0.0, 1.0]))
            })
            .collect();
        if let Some(key) = key {
            let motion = &self.list("animations")[0];
            for channel in motion["channels"].as_array().unwrap() {
                let sampler = &motion["samplers"][channel["sampler"].as_u64().unwrap() as usize];
                let value = self.numbers(&sampler["output"])[key].clone();
                let part = &mut parts[channel["target"]["node"].as_u64().unwrap() as usize];
                if channel["target"]["path"] == "rotation" { part.1 = value } else { part.0 = value }
            }
        }
        let pose = |(t, q): (Vec<f64>, Vec<f64>)| {
            let turn = linkwork::Rotation::from_xyzw(q[0], q[1], q[2], q[3]).normalize();
            Pose::from_parts(Vector::new(t[0], t[1], t[2]), turn)
        };
        parts.into_iter().map(pose).collect()
    }

    /// Corners of a skinned mesh as the specification moves them, in the coordinates of the root's children.
    fn skinned(&self, node: usize, key: Option<usize>) -> Vec<Vector> {
        let node = &self.list("nodes")[node];
        let skin = &self.list("skins")[node["skin"].as_u64().unwrap() as usize];
        let attributes =
            &self.list("meshes")[node["mesh"].as_u64().unwrap() as usize]["primitives"][0]["attributes"];
        let poses = self.poses(key);
        let inverse = self.numbers(&skin["inverseBindMatrices"]);
        let joints: Vec<usize> =
            skin["joints"].as_array().unwrap().iter().map(|j| j.as_u64().unwrap() as usize).collect();
        assert_eq!(joints.len(), inverse.len());
        let [at, bones, weights] =
            ["POSITION", "JOINTS_0", "WEIGHTS_0"].map(|a| self.numbers(&attributes[a]));
        let corner = |k: usize| {
            assert!((weights[k].iter().sum::<f64>() - 1.0).abs() < 1e-6);
            let mut sum = Vector::ZERO;
            for (bone, weight) in bones[k].iter().zip(&weights[k]) {
                let (m, p) = (&inverse[*bone as usize], &at[k]);
                let row = |i: usize| m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i];
                let local = Vector::new(row(0), row(1), row(2));
                sum += poses[joints[*bone as usize]].transform_point(local) * *weight;
            }
            sum
        };
        (0..at.len()).map(corner).collect()
    }
}

#[test]
fn a_glb_has_the_skin_and_moves_it_as_we_do() {
    use linkwork::formats::{animated_glb, animated_glb_with_skins, glb_with_skins};
    let lengths = [0.4, 0.3, 0.5, 0.4];
    let (mut m, ids) = bars(&lengths, &[Vector::ZERO, Vector::Z * 0.5, Vector::ZERO, Vector::Y * 0.4], 0.08);
    let fin = PlacedShape::cuboid(0.1, 0.9, 0.02).moved(Pose::from_translation(Vector::X * 0.2));
    m.edit_solid(ids[1], |s| s.shapes.push(fin)).unwrap();
    let skin = Surface { name: "snake".into(), ..Surface::new(&m, &ids, &[0.09]).unwrap() };
    let turns =
        |k: f64| [Vector::Y * k, Vector::Z * (1.3 * k), Vector::X * k, Vector::new(0.3, -1.0, 0.2) * k];
    let frames: Vec<linkwork::record::Frame> = (0..9)
        .map(|k| {
            let mut s = State { time: f64::from(k) / 60.0, ..State::new(&m) };
            for (id, pose) in ids.iter().zip(bent(&lengths, &turns(f64::from(k) / 8.0)).into_iter().skip(1)) {
                s.set_pose(&m, *id, pose);
            }
            linkwork::record::Frame::new(&m, &s, Default::default())
        })
        .collect();
    let file = Glb::read(&animated_glb_with_skins(&m, &frames, std::slice::from_ref(&skin)));
    let nodes = file.list("nodes");
    let worn = nodes.iter().position(|n| n.get("skin").is_some()).expect("a node with a skin");
    assert_eq!(nodes[worn]["name"], "snake");
    // Solids first, by name, as joints; only the fin is drawn of them.
    let names: Vec<&str> = nodes.iter().take(4).map(|n| n["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["b0", "b1", "b2", "b3"]);
    assert_eq!(nodes.iter().filter(|n| n.get("mesh").is_some() && n.get("skin").is_none()).count(), 1);
    assert!(nodes[1].get("mesh").is_some());
    let joints = file.list("skins")[0]["joints"].as_array().unwrap();
    assert_eq!((joints.len(), &joints[0], &joints[4]), (13, &0.into(), &1.into()));
    // The skinned mesh stands in the scene itself; every joint hangs on the root.
    let roots = file.json["scenes"][0]["nodes"].as_array().unwrap();
    assert!(roots.contains(&worn.into()) && roots.contains(&(nodes.len() - 1).into()));
    let children = nodes[nodes.len() - 1]["children"].as_array().unwrap();
    assert!(joints.iter().all(|j| children.contains(j)) && !children.contains(&worn.into()));
    for (k, frame) in frames.iter().enumerate() {
        let theirs = file.skinned(worn, Some(k));
        let ours = skin.moved(|id| frame.poses[id.index()]).0;
        let worst = theirs.iter().zip(&ours).map(|(a, b)| (*a - *b).length()).fold(0.0, f64::max);
        assert!(worst < 1e-6, "frame {k}: {worst}");
    }
    // At rest, and in another colour: a colour of its own instead of the corners'.
    let primitive = |g: &Glb| g.list("meshes").last().unwrap()["primitives"][0].clone();
    assert!(primitive(&file)["attributes"].get("COLOR_0").is_some());
    let green = Surface { color: Some([0.0, 1.0, 0.0]), ..skin.clone() };
    let still = Glb::read(&glb_with_skins(&m, &State::new(&m), std::slice::from_ref(&green)));
    assert!(primitive(&still)["attributes"].get("COLOR_0").is_none());
    let material = primitive(&still)["material"].as_u64().unwrap() as usize;
    let color = &still.list("materials")[material]["pbrMetallicRoughness"]["baseColorFactor"];
    assert_eq!((&color[0], &color[1]), (&0.0.into(), &1.0.into()));
    let theirs = still.skinned(worn, None);
    assert!(theirs.iter().zip(&green.positions).all(|(a, b)| (*a - *b).length() < 1e-6));
    // Without skins nothing is different from what it was.
    assert_eq!(animated_glb(&m, &frames), animated_glb_with_skins(&m, &frames, &[]));
}

#[test]
fn the_scenes_with_skins_have_good_ones() {
    for (name, text) in [
        ("snake", include_str!("../../../scenes/snake.lw")),
        ("otary", include_str!("../../../scenes/otary.lw")),
        ("everything", include_str!("fixtures/everything.lw")),
    ] {
        let (scene, report) = linkwork::scene::load(text, &mut |_| Err("none".into()));
        let Some(scene) = scene else {
            assert_eq!(name, "everything", "{:?}", report.diagnostics);
            continue; // it names mesh files
        };
        for skin in scene.surfaces() {
            let skin = skin.unwrap();
            check(&skin);
            assert_eq!(crossings(&skin, &skin.positions), 0, "{name}");
        }
        if name == "otary" {
            // Flippers stick out, the rest is beneath.
            let skin = scene.surfaces().remove(0).unwrap();
            let find = |n: &str| scene.mechanism.find(n).unwrap();
            assert_eq!(
                skin.covered,
                [(find("tail"), 0), (find("body"), 0), (find("head"), 0), (find("head"), 1)]
            );
        }
    }
}
