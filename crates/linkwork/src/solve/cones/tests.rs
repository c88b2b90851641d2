//! Points of contact by themselves and together: the laws hold, whatever the matrix.

use super::*;
use crate::joint::{JointId, Rank};
use crate::math::{Matrix, Random, Vector};
use crate::rows::{Masses, Rows};
use crate::solve::{FreeSolids, Jointed, JointedScratch, Problem, SolverKind};
use crate::{Frame, Joint, Mechanism, PlacedShape, Solid, SolidId, State};

#[test]
fn one_point_meets_the_laws_for_any_response() {
    let mut r = Random::new(3);
    let mut kinds = [0; 3];
    for round in 0..20_000 {
        let a = Matrix::from_cols(r.cube(), r.cube(), r.cube());
        let w = a * a.transpose() + Matrix::from_diagonal(Vector::splat(1e-3));
        let d: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| w.col(j)[i]));
        let mu = if round % 7 == 0 { 0.0 } else { r.signed().abs() * 1.5 };
        let b = Block::new(d, mu, false);
        let q = (r.cube() * 3.0).to_array();
        let l = solve_block(&b, &q);
        let v: Vec<f64> = (0..3).map(|i| q[i] + (0..3).map(|j| d[i][j] * l[j]).sum::<f64>()).collect();
        let size = 1e-9 * (1.0 + q.iter().map(|x| x.abs()).sum::<f64>());
        assert!(l[0] >= 0.0 && v[0] >= -size, "{q:?} {l:?} {v:?}");
        let (friction, slip) = (l[1].hypot(l[2]), v[1].hypot(v[2]));
        if l[0] == 0.0 {
            kinds[0] += 1;
            continue;
        }
        assert!(v[0].abs() < size, "{q:?} {l:?} {v:?}");
        assert!(friction <= mu * l[0] * (1.0 + 1e-12) + 1e-300);
        if slip > 1e3 * size {
            kinds[2] += 1;
            assert!((friction - mu * l[0]).abs() < 1e-7 * (1.0 + l[0]), "{q:?} {l:?} {v:?} {mu}");
            let along = (l[1] * v[1] + l[2] * v[2]) + friction * slip;
            assert!(along.abs() < 1e-6 * (friction * slip + 1e-9), "{q:?} {l:?} {v:?} {mu}");
        } else {
            kinds[1] += 1;
        }
    }
    assert!(kinds.iter().all(|k| *k > 1000), "{kinds:?}");
}

/// A wall of boxes, light and heavy ones: rows between solids at random points, redundant ones among them.
fn pile(
    solids: usize,
    contacts: usize,
    heavy: f64,
    r: &mut Random,
) -> (Masses, UpperRows, Vec<Ask>, Vec<f64>) {
    let mut m = Mechanism::new();
    for k in 0..solids {
        let mass = if k % 3 == 0 { heavy } else { 1.0 };
        m.add_solid(Solid::new(format!("{k}")).with_shape(PlacedShape::cuboid(1.0, 1.0, 1.0), mass)).unwrap();
    }
    let masses = Masses::new(&m, &State::new(&m));
    let (mut rows, mut asks, mut friction) = (UpperRows::default(), Vec::new(), Vec::new());
    // A motion that is to be stopped: then there always is an answer.
    let mut motion: Vec<[f64; 6]> = (0..=solids).map(|_| std::array::from_fn(|_| r.signed())).collect();
    motion[0] = [0.0; 6];
    for k in 0..contacts {
        let (a, b) = (k % solids, k % solids + 1);
        let n = (Vector::Y + r.cube() * 0.3).normalize();
        let t = n.any_orthonormal_vector();
        let at = Vector::new(r.signed().abs() - 0.5, 0.5, r.signed().abs() - 0.5);
        for (i, d) in [n, t, n.cross(t)].into_iter().enumerate() {
            let half = |arm: Vector, d: Vector| {
                let x = arm.cross(d);
                [d.x, d.y, d.z, x.x, x.y, x.z]
            };
            rows.push(&[(a, half(at, -d)), (b, half(at - Vector::Y, d))]);
            let low = -rows.change(3 * k + i, &motion);
            asks.push(if i == 0 { Ask::at_least(low) } else { Ask::equal(low) });
        }
        friction.push(r.signed().abs());
    }
    (masses, rows, asks, friction)
}

#[test]
fn many_points_meet_the_laws_together() {
    let mut r = Random::new(9);
    let sizes = [(1, 1, 1.0), (1, 4, 1.0), (3, 9, 1.0), (5, 20, 1e4), (10, 40, 100.0), (30, 200, 1.0)];
    let mut poor = 0;
    for round in 0..60 {
        let (solids, contacts, heavy) = sizes[round % sizes.len()];
        let (masses, rows, asks, friction) = pile(solids, contacts, heavy, &mut r);
        let mut lower = FreeSolids { masses: &masses };
        let p = ConeProblem {
            rows: &rows,
            asks: &asks,
            scalars: 0,
            friction: &friction,
            resistance: &[],
            acting: &[],
        };
        let mut force = vec![0.0; asks.len()];
        let work = Work { iterations: 20_000, tolerance: 1e-9, out_of_time: None };
        let mut cones = Cones::default();
        let report = cones.solve(&mut lower, &p, &mut force, &work, false);
        poor += usize::from(!(report.residual < 2e-9));
        println!("{solids} solids, {contacts} points: {report:?}");
        assert!(report.residual < 1e-3, "{solids} solids, {contacts} points: {report:?}");
        assert!(report.cone_violation < 1e-12, "{report:?}");
        // Twice the same: warm, and to the bit from cold.
        let again = cones.solve(&mut lower, &p, &mut force.clone(), &work, true);
        assert!(report.residual > 2e-9 || again.rounds <= 2, "{again:?}");
        let mut cold = vec![0.0; asks.len()];
        Cones::default().solve(&mut lower, &p, &mut cold, &work, false);
        assert_eq!(cold, force);
    }
    // Random normals with friction up to one are hard: a few are left to sweeps.
    assert!(poor <= 6, "{poor} of 60");
}

/// What responds, but says nothing of how: over the formed matrix the same answers are found as over the motions.
struct Veiled<T: Lower>(T);

impl<T: Lower> Lower for Veiled<T> {
    fn solids(&self) -> usize {
        self.0.solids()
    }
    fn respond(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]]) {
        self.0.respond(push, out);
    }
    fn part(&self, solid: usize) -> usize {
        self.0.part(solid)
    }
    fn cost(&self) -> f64 {
        self.0.cost()
    }
}

#[test]
fn forces_and_motions_are_two_spaces_of_one_answer() {
    let mut r = Random::new(5);
    for round in 0..30 {
        let (masses, rows, asks, mut friction) = pile(1 + round % 5, 2 + round % 11, 10.0, &mut r);
        // Small friction: then there is one answer.
        friction.iter_mut().for_each(|f| *f *= 0.3);
        let p = ConeProblem {
            rows: &rows,
            asks: &asks,
            scalars: 0,
            friction: &friction,
            resistance: &[],
            acting: &[],
        };
        let work = Work { iterations: 20_000, tolerance: 1e-10, out_of_time: None };
        let (mut one, mut two) = (Cones::default(), Cones::default());
        let mut force = vec![0.0; asks.len()];
        let a = one.solve(&mut FreeSolids { masses: &masses }, &p, &mut force.clone(), &work, false);
        let b = two.solve(&mut Veiled(FreeSolids { masses: &masses }), &p, &mut force, &work, false);
        assert!(a.residual < 1e-9 && b.residual < 1e-9, "{a:?} {b:?}");
        for (x, y) in one.motion.as_flattened().iter().zip(two.motion.as_flattened()) {
            assert!((x - y).abs() < 1e-6, "{round}: {x} {y}");
        }
    }
}

/// Several chains of boxes, each hung up by its first one, with points between them and limits on them.
fn chains(count: usize, long: usize) -> (Mechanism, Rows, Masses) {
    let mut m = Mechanism::new();
    for k in 0..count {
        let mut last = SolidId::WORLD;
        for i in 0..long {
            let solid = Solid::new(format!("{k}-{i}")).with_shape(PlacedShape::cuboid(1.0, 0.3, 0.2), 1.0);
            let id = m.add_solid(solid.at(i as f64, 0.0, k as f64)).unwrap();
            let near = if i == 0 { Vector::new(-0.5, 0.0, k as f64) } else { Vector::X * 0.5 };
            let ends = (Frame::point(last, near), Frame::point(id, Vector::X * -0.5));
            m.add_joint(Joint::ball(ends.0, ends.1)).unwrap();
            last = id;
        }
    }
    let s = State::new(&m);
    let mut rows = Rows::default();
    rows.fill(&m, &s, 0.0, (0..m.joints().len() as u32).map(JointId), |_| Rank::Primary);
    let masses = Masses::new(&m, &s);
    (m, rows, masses)
}

/// Joints are stiff springs in Newton's matrix, and nothing of that is left in the answer.
#[test]
fn linkages_are_solved_over_motions_as_over_the_matrix() {
    let mut r = Random::new(21);
    for round in 0..6 {
        let (m, rows, masses) = chains(6, 3 + round);
        let solids = m.solids().len();
        let mut motion: Vec<[f64; 6]> = (0..solids).map(|_| std::array::from_fn(|_| r.signed())).collect();
        motion[0] = [0.0; 6];
        let (mut upper, mut asks, mut friction) = (UpperRows::default(), Vec::new(), Vec::new());
        let half = |arm: Vector, d: Vector| {
            let turn = arm.cross(d);
            [d.x, d.y, d.z, turn.x, turn.y, turn.z]
        };
        let scalars = 5;
        for k in 0..scalars {
            let d = r.cube();
            upper.push(&[(1 + k, half(Vector::ZERO, d)), (2 + k, half(Vector::ZERO, -d))]);
            asks.push(Ask::at_least(-upper.change(k, &motion)));
        }
        for k in 0..44 {
            let (a, n) = (1 + k % (solids - 1), (Vector::Y + r.cube() * 0.3).normalize());
            let (t, at) = (n.any_orthonormal_vector(), r.cube() * 0.2);
            for d in [n, t, n.cross(t)] {
                match k % 3 {
                    0 => upper.push(&[(a, half(at, d)), (1 + (a + 3) % (solids - 1), half(-at, -d))]),
                    _ => upper.push(&[(a, half(at, d))]),
                }
                let low = -upper.change(upper.len() - 1, &motion);
                asks.push(if d == n { Ask::at_least(low) } else { Ask::equal(low) });
            }
            friction.push(0.3 * r.signed().abs());
        }
        let p = ConeProblem {
            rows: &upper,
            asks: &asks,
            scalars,
            friction: &friction,
            resistance: &[],
            acting: &[],
        };
        parts_are_what_responds(&p, &rows, &masses);
        let work = Work { iterations: 20_000, tolerance: 1e-10, out_of_time: None };
        let solve = |veiled: bool| {
            let (mut solver, mut scratch) = (SolverKind::SparseDirect.make(), JointedScratch::default());
            solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
            let mut lower = Jointed::new(solver.as_mut(), &rows, &masses, &[], &[], 1e3, &mut scratch);
            let (mut cones, mut force) = (Cones::default(), vec![0.0; asks.len()]);
            let report = match veiled {
                true => cones.solve(&mut Veiled(lower), &p, &mut force, &work, false),
                false => cones.solve(&mut lower, &p, &mut force, &work, false),
            };
            assert!(report.residual < 1e-9, "{round}: {report:?}");
            assert_eq!(cones.linkage, !veiled);
            cones.motion
        };
        let (one, two) = (solve(false), solve(true));
        let mut moved = vec![0.0; rows.len()];
        rows.apply(&one, &mut moved);
        let open = moved.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        assert!(open < 1e-12, "{round}: joints open by {open}");
        for (x, y) in one.as_flattened().iter().zip(two.as_flattened()) {
            assert!((x - y).abs() < 1e-6, "{round}: {x} {y}");
        }
    }
}

/// A matrix per linkage makes of forces what the lower level makes of them, and sweeps over it come to the laws.
fn parts_are_what_responds(p: &ConeProblem, rows: &Rows, masses: &Masses) {
    let (mut solver, mut scratch) = (SolverKind::SparseDirect.make(), JointedScratch::default());
    solver.factor(&Problem { rows, masses, active: &[], damping: None });
    let mut lower = Jointed::new(solver.as_mut(), rows, masses, &[], &[], 1e3, &mut scratch);
    let n = p.rows.len();
    let mut parts = super::parts::Parts::default();
    assert!(parts.prepare(p, &lower.held().unwrap()).is_finite());
    parts.form(p, &lower.held().unwrap());
    let mut force: Vec<f64> = (0..n).map(|r| ((r * 7919) % 13) as f64 - 6.0).collect();
    let answer = |lower: &mut Jointed, force: &[f64]| {
        let mut push = vec![[0.0; 6]; masses.len()];
        force.iter().enumerate().for_each(|(r, f)| p.rows.add(r, *f, &mut push));
        let mut motion = push.clone();
        lower.respond(&push, &mut motion);
        motion
    };
    let motion = answer(&mut lower, &force);
    parts.start(|r| force[r]);
    for r in 0..n {
        let (one, two) = (p.rows.change(r, &motion), parts.moved(r));
        assert!((one - two).abs() < 1e-9 * one.abs().max(1.0), "{r}: {one} {two}");
    }
    let mut cones = Cones { parts, ..Cones::default() };
    force.fill(0.0);
    cones.bounds(&lower, p, n);
    cones.prepare_blocks(p, n, super::Way::Parts);
    cones.curves.extend(p.asks[..p.scalars].iter().map(|a| Curve::new(a, 1.0)));
    let work = Work { iterations: 200, tolerance: 1e-12, out_of_time: None };
    cones.by_parts(p, &mut force, &work, &mut ConeReport::default());
    let mut report = ConeReport::default();
    for v in [&mut cones.motion, &mut cones.push] {
        v.resize(masses.len(), [0.0; 6]);
    }
    cones.finish(&mut lower, p, &mut force, &mut report);
    assert!(report.residual < 1e-3 && report.cone_violation < 1e-12, "{report:?}");
}
