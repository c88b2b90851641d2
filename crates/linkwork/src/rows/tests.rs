//! Every kernel against finite differences at random poses, and momentum of every row.

use super::{HalfRow, Kind, Masses, Rows, Wrench, dot6, half, twist};
use crate::joint::{AngleRange, Curve, Direction, Frame, Joint, Mask, Range, Rank, Region, TwistRange};
use crate::math::{Pose, Random, Vector, exp};
use crate::{JointId, Mechanism, PlacedShape, Solid, SolidId, State};

fn frame(solid: u32, r: &mut Random) -> Frame {
    Frame { solid: SolidId(solid), pose: Pose::from_parts(r.cube(), exp(r.ball() * 3.0)) }
}

/// Every kind of joint there is, with random frames. A new kind enters this table or is not done.
pub(crate) fn every_joint(a: u32, b: u32, r: &mut Random) -> Vec<(&'static str, Joint)> {
    let mut f = || (frame(a, r), frame(b, r));
    let free = Range::FREE;
    let mut out = Vec::new();
    type Maker = fn(Frame, Frame) -> Joint;
    let makers: [(&str, Maker); 9] = [
        ("ball", Joint::ball),
        ("pin", Joint::pin),
        ("cylindrical", Joint::cylindrical),
        ("slider", Joint::slider),
        ("point-on-line", Joint::point_on_line),
        ("point-on-plane", Joint::point_on_plane),
        ("planar", Joint::planar),
        ("weld", Joint::weld),
        ("cardan", Joint::cardan),
    ];
    for (name, make) in makers {
        let (x, y) = f();
        out.push((name, make(x, y)));
    }
    for bits in 1..64 {
        let (x, y) = f();
        out.push(("lock", Joint::lock(x, y, Mask(bits))));
    }
    let (x, y) = f();
    out.push(("screw", Joint::screw(x, y, 0.7)));
    out.push(("distance", Joint::distance(x, y, 0.4)));
    out.push(("distance 0", Joint::distance(x, y, 0.0)));
    let none = || Joint::lock(x, y, Mask::NONE);
    let axis = Vector::new(0.6, 0.0, 0.8);
    let range = Range::new(-0.2, 0.3);
    for region in [
        Region::Segment { axis, range },
        Region::Segment { axis, range: free },
        Region::Ring { normal: axis, range: Range::new(0.5, 2.0) },
        Region::Ring { normal: axis, range: Range::new(0.0, 1.0) },
        Region::Ring { normal: axis, range: Range::new(0.5, 0.5) },
        Region::Ring { normal: axis, range: Range::new(0.0, 0.0) },
        Region::Sphere(0.5),
        Region::Within(0.5),
    ] {
        out.push(("region", Joint { regions: vec![region], ..none() }));
    }
    let (a1, a2) = (Vector::new(0.0, 0.6, 0.8), axis);
    for range in [Range::new(0.0, 0.0), Range::new(0.4, 0.4), Range::new(0.2, 0.9), Range::new(4.0, 4.0)] {
        out.push(("angle", Joint { angle: Some(AngleRange { a1, a2, range }), ..none() }));
    }
    for range in [Range::new(-0.2, 0.2), Range::new(0.1, 0.1), Range::new(-9.0, 0.0)] {
        let twist = TwistRange { a1, a2, b1: Vector::X, b2: Vector::Y, range };
        out.push(("twist", Joint { twist: Some(twist), ..none() }));
    }
    for direction in Direction::ALL {
        out.push(("limit", none().with_limit(direction, -0.1, 0.2)));
        out.push(("limit", none().with_limit(direction, 0.2, 0.2)));
    }
    out
}

/// Two bars with centres of mass away from their origins.
pub(crate) fn two_solids(r: &mut Random) -> Mechanism {
    two_nodes(r, [false; 2])
}

/// Two bars or particles.
fn two_nodes(r: &mut Random, particles: [bool; 2]) -> Mechanism {
    let mut m = Mechanism::new();
    for (name, particle) in ["a", "b"].into_iter().zip(particles) {
        if particle {
            let p = r.cube();
            m.add_solid(Solid::particle(name, 0.7).at(p.x, p.y, p.z)).unwrap();
            continue;
        }
        let shape = PlacedShape::cuboid(0.3, 0.5, 0.9).moved(Pose::from_translation(r.cube()));
        let solid = Solid::new(name).with_shape(shape, 1.5).turned(exp(r.ball() * 3.0));
        let p = r.cube();
        m.add_solid(solid.at(p.x, p.y, p.z)).unwrap();
    }
    m
}

/// Row values up to constants: the finite end of each interval with its sign turned.
fn values(m: &Mechanism, s: &State) -> (Rows, Vec<f64>) {
    let mut rows = Rows::default();
    rows.fill(m, s, s.time, (0..m.joints().len() as u32).map(JointId), |_| Rank::Primary);
    let mut v: Vec<f64> =
        (0..rows.len()).map(|r| if rows.low[r].is_finite() { -rows.low[r] } else { -rows.high[r] }).collect();
    // Ball joints have their gap along the world's axes and its derivative as seen from the first solid.
    let start = State::new(m);
    for g in rows.groups.iter().filter(|g| matches!(g.kind, Kind::Ball { .. })) {
        let seen = start.rotations[g.solids[0]] * s.rotations[g.solids[0]].inverse();
        let d = seen * Vector::from_slice(&v[g.range()]);
        v[g.range()].copy_from_slice(&d.to_array());
    }
    (rows, v)
}

/// Near opposed axes slopes are cut on purpose (see `Swing` and `twist`): differences mean nothing there.
fn nearly_reversed(j: &Joint, s: &State) -> bool {
    let far = |a: Vector, b: Vector| a.angle_between(b) > 2.4;
    let axis =
        |side: usize, k: usize| s.rotations[side + 1] * (j.frames[side].pose.rotation * Vector::AXES[k]);
    let free = (0..3).filter(|k| !j.lock.has(Direction::ALL[3 + k])).collect::<Vec<_>>();
    let swings = free.len() == 1 && far(axis(0, free[0]), axis(1, free[0]));
    let twists = (0..3).any(|k| axis(0, k).angle_between(axis(1, k)) > 3.0);
    let angle = j.angle.map(|a| (a.a1, a.a2)).or(j.twist.map(|t| (t.a1, t.a2)));
    let aligned = angle.is_some_and(|(a1, a2)| {
        let (a, b) = (s.rotations[1] * a1, s.rotations[2] * a2);
        far(a, b) || far(a, -b)
    });
    swings || twists || aligned
}

/// Solids and particles, in all pairs.
const PAIRS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

#[test]
fn rows_match_finite_differences() {
    let mut r = Random::new(1);
    let mut checked = 0;
    for round in 0..36 {
        let base = two_nodes(&mut r, if round < 20 { [false; 2] } else { PAIRS[round % 4] });
        for (name, joint) in every_joint(1, 2, &mut r) {
            let mut m = base.clone();
            m.add_joint(joint.clone()).unwrap();
            let mut s = State::new(&m);
            s.angles.iter_mut().for_each(|a| *a = 0.1);
            let (rows, _) = values(&m, &s);
            rows.angles.iter().for_each(|a| s.angles[a.slot] = a.value);
            if nearly_reversed(&joint, &s) {
                continue;
            }
            for solid in 1..=2 {
                for k in 0..6 {
                    let h = 1e-6;
                    let at = |sign: f64| {
                        let mut t = s.clone();
                        let mut dq = [0.0; 6];
                        dq[k] = sign * h;
                        t.displace(solid, &dq);
                        values(&m, &t).1
                    };
                    let (plus, minus) = (at(1.0), at(-1.0));
                    for row in 0..rows.len() {
                        let slope = (plus[row] - minus[row]) / (2.0 * h);
                        let exact = rows.row(row)[solid - 1][k];
                        checked += 1;
                        assert!(
                            (slope - exact).abs() < 1e-6,
                            "{name} row {row} solid {solid} dq {k}: {slope} {exact} {joint:?}"
                        );
                    }
                }
            }
        }
    }
    assert!(checked > 50_000, "{checked}");
}

/// Every operator against the rows one by one, for solids and particles.
#[test]
fn operators_are_those_of_the_rows() {
    let mut r = Random::new(4);
    for particles in PAIRS {
        let base = two_nodes(&mut r, particles);
        for (name, joint) in every_joint(1, 2, &mut r) {
            let mut m = base.clone();
            m.add_joint(joint).unwrap();
            m.add_joint(Joint::distance(frame(2, &mut r), frame(0, &mut r), 0.3)).unwrap();
            let mut s = State::new(&m);
            for i in 1..3 {
                (s.velocities[i], s.spins[i]) = (r.cube(), r.cube());
            }
            let (rows, _) = values(&m, &s);
            let masses = Masses::new(&m, &s);
            let n = rows.len();
            let lambda: Vec<f64> = (0..n).map(|_| r.signed()).collect();
            let (mut speeds, mut applied) = (Vec::new(), vec![0.0; n]);
            rows.speeds(&s, &mut speeds);
            let twists: Vec<HalfRow> = (0..3).map(|i| twist(&s, i)).collect();
            rows.apply(&twists, &mut applied);
            let (mut wrenches, mut moved) = (vec![Wrench::default(); 3], vec![[0.0; 6]; 3]);
            rows.collect(&lambda, &mut wrenches);
            rows.apply_transposed(&lambda, &masses, &mut moved);
            let mut sums = [[0.0; 6]; 3];
            for row in 0..n {
                let (halves, solids) = (rows.row(row), rows.solids(row));
                let speed = dot6(&halves[0], &twists[solids[0]]) + dot6(&halves[1], &twists[solids[1]]);
                for x in [speeds[row], applied[row], rows.speed(row, &s)] {
                    assert!((x - speed).abs() < 1e-12, "{name} {particles:?} row {row}: {x} {speed}");
                }
                for side in 0..2 {
                    assert!(
                        masses.width(solids[side]) == 6 || halves[side][3..] == [0.0; 3],
                        "{name} {particles:?} row {row}: a particle is turned"
                    );
                    let sum = &mut sums[solids[side]];
                    sum.iter_mut().zip(&halves[side]).for_each(|(s, j)| *s += j * lambda[row]);
                }
            }
            for i in 1..3 {
                let w = wrenches[i];
                let same = |a: &HalfRow, b: &HalfRow| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
                let wrench = half(w.linear, if masses.width(i) == 6 { w.angular } else { Vector::ZERO });
                assert!(same(&wrench, &sums[i]), "{name} {particles:?}: {w:?} {:?}", sums[i]);
                assert!(same(&moved[i], &masses.accelerate(i, &sums[i])), "{name} {particles:?}");
            }
        }
    }
}

#[test]
fn curve_rows_follow_the_gap() {
    let mut r = Random::new(2);
    for closed in [false, true] {
        for _ in 0..20 {
            let mut m = two_solids(&mut r);
            let points =
                vec![r.cube(), r.cube() + Vector::X, r.cube() + Vector::Y * 2.0, r.cube() + Vector::Z];
            let curve = Curve::through(points, closed).unwrap();
            let joint = Joint {
                regions: vec![Region::Curve(curve.clone())],
                ..Joint::lock(frame(1, &mut r), frame(2, &mut r), Mask::NONE)
            };
            let p1 = joint.frames[0].pose.translation;
            m.add_joint(joint).unwrap();
            let s = State::new(&m);
            let (rows, v) = values(&m, &s);
            // The gap in solid 2's axes; the two normals stay put there while the foot point slides.
            let gap = |s: &State| {
                let (a, b) = (s.pose(&m, SolidId(1)), s.pose(&m, SolidId(2)));
                let p = b.inverse_transform_point(a.transform_point(p1));
                let near = curve.nearest(p);
                (p - near.position, near)
            };
            let (d, near) = gap(&s);
            let n = crate::math::perpendicular(near.tangent);
            let normals = [n, near.tangent.cross(n)];
            assert!((v[0] - normals[0].dot(d)).abs() < 1e-12 && (v[1] - normals[1].dot(d)).abs() < 1e-12);
            for solid in 1..=2 {
                for k in 0..6 {
                    let h = 1e-6;
                    let at = |sign: f64| {
                        let mut t = s.clone();
                        let mut dq = [0.0; 6];
                        dq[k] = sign * h;
                        t.displace(solid, &dq);
                        gap(&t).0
                    };
                    let (plus, minus) = (at(1.0), at(-1.0));
                    for row in 0..2 {
                        let slope = normals[row].dot(plus - minus) / (2.0 * h);
                        assert!((slope - rows.row(row)[solid - 1][k]).abs() < 1e-5);
                    }
                }
            }
        }
    }
}

/// A unit impulse along any row changes neither linear nor angular momentum, however open the joint is.
#[test]
fn every_row_keeps_momentum() {
    let mut r = Random::new(3);
    for _ in 0..20 {
        let base = two_solids(&mut r);
        for (name, joint) in every_joint(1, 2, &mut r) {
            // The coupled row of a screw is a wrench: its force line and torque are opposite on both sides too.
            let mut m = base.clone();
            m.add_joint(joint).unwrap();
            let s = State::new(&m);
            let (rows, _) = values(&m, &s);
            for row in (0..rows.len()).map(|r| rows.row(r)) {
                let (mut p, mut l) = (Vector::ZERO, Vector::ZERO);
                for side in 0..2 {
                    let h = row[side];
                    let force = Vector::new(h[0], h[1], h[2]);
                    p += force;
                    l += s.centers[side + 1].cross(force) + Vector::new(h[3], h[4], h[5]);
                }
                assert!(p.length() < 1e-12 && l.length() < 1e-12, "{name}: {p} {l}");
            }
        }
    }
}

#[test]
fn the_twist_is_right_at_any_swing_and_counts_turns() {
    let mut m = Mechanism::new();
    m.add_solid(Solid::new("a")).unwrap();
    let joint =
        Joint::ball(Frame::point(SolidId::WORLD, Vector::ZERO), Frame::point(SolidId(1), Vector::ZERO))
            .with_limit(Direction::R1, -7.0, 7.0);
    m.add_joint(joint).unwrap();
    let mut s = State::new(&m);
    let mut total = 0.0;
    for k in 0..400 {
        total = 0.05 * k as f64;
        let swing = exp(Vector::new(0.0, 1.0, 0.7) * (1.5 * (0.01 * k as f64).sin()));
        s.rotations[1] = swing * exp(Vector::X * total);
        let (rows, _) = values(&m, &s);
        assert!((rows.angles[0].value - total).abs() < 1e-9, "{k}: {} {total}", rows.angles[0].value);
        s.angles[0] = rows.angles[0].value;
    }
    let (rows, _) = values(&m, &s);
    assert!(total > 19.0 && (rows.wanted(3) - (7.0 - total)).abs() < 1e-9);
}
