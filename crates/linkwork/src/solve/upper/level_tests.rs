//! Both levels together: joints that hold whatever pushes, free solids, soft rows below.

use super::tests::{assert_allowed, pick, random_ask};
use super::*;
use crate::joint::{Frame, JointId, Rank};
use crate::math::{Pose, Random, exp};
use crate::rows::{Masses, Rows};
use crate::solve::{FreeSolids, Jointed, JointedScratch, Problem, SolverKind};
use crate::{Joint, Mechanism, PlacedShape, Solid, SolidId, State};

/// A chain of bars, a loop and a free bar; node 0 is the world.
fn linkage() -> (Mechanism, State) {
    let mut random = Random::new(2);
    let mut m = Mechanism::new();
    for i in 1..=6 {
        let p = random.cube() * 2.0;
        let mass = 1.0 + 0.5 * random.signed();
        let bar = Solid::new(format!("s{i}")).with_shape(PlacedShape::cuboid(1.0, 0.3, 0.2), mass);
        m.add_solid(bar.at(p.x, p.y, p.z).turned(exp(random.ball() * 3.0))).unwrap();
    }
    for (k, (a, b)) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 1)].into_iter().enumerate() {
        let mut frame = |s: u32| Frame {
            solid: SolidId(s),
            pose: Pose::from_parts(random.cube() * 0.5, exp(random.ball())),
        };
        let (x, y) = (frame(a), frame(b));
        m.add_joint(if k % 2 == 0 { Joint::ball(x, y) } else { Joint::pin(x, y) }).unwrap();
    }
    let state = State::new(&m);
    (m, state)
}

fn rows_of(m: &Mechanism, s: &State) -> (Rows, Masses) {
    let mut rows = Rows::default();
    rows.fill(m, s, 0.0, (0..m.joints().len() as u32).map(JointId), |_| Rank::Primary);
    (rows, Masses::new(m, s))
}

/// Rows between random pairs of solids, along random directions.
fn random_rows(random: &mut Random, n: usize, solids: usize) -> UpperRows {
    let mut rows = UpperRows::default();
    for _ in 0..n {
        let mut half = || {
            let (a, b) = (random.cube(), random.cube());
            [a.x, a.y, a.z, b.x, b.y, b.z]
        };
        let ends = [half(), half()];
        let a = pick(random, solids);
        let b = (a + 1 + pick(random, solids - 1)) % solids;
        rows.push(&[(a, ends[0]), (b, ends[1])]);
    }
    rows
}

#[test]
fn joints_below_hold_whatever_pushes() {
    let (m, s) = linkage();
    let (rows, masses) = rows_of(&m, &s);
    let mut random = Random::new(4);
    for kind in SolverKind::ALL {
        let (mut solver, mut scratch) = (kind.make(), JointedScratch::default());
        solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
        let mut lower = Jointed::new(solver.as_mut(), &rows, &masses, &[], &[], 1e3, &mut scratch);
        for k in 0..20 {
            let upper_rows = random_rows(&mut random, 5, masses.len());
            let (mut push, mut motion) = (vec![[0.0; 6]; masses.len()], vec![[0.0; 6]; masses.len()]);
            for r in 0..5 {
                upper_rows.add(r, random.signed() * 10.0_f64.powi(k - 10), &mut push);
            }
            let mut free = motion.clone();
            FreeSolids { masses: &masses }.respond(&push, &mut free);
            lower.respond(&push, &mut motion);
            let (mut before, mut after) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
            rows.apply(&free, &mut before);
            rows.apply(&motion, &mut after);
            let (before, after) = (crate::solve::largest(&before), crate::solve::largest(&after));
            let good = if kind.is_exact() { 1e-13 } else { 1e-10 };
            assert!(after <= good * before, "{}: {after} of {before}", kind.name());
            // Symmetric and passive.
            let power: f64 = push.iter().zip(&motion).map(|(f, x)| dot6(f, x)).sum();
            assert!(power > 0.0);
        }
    }
}

#[test]
fn soft_rows_below_answer_as_springs() {
    // One bar on a soft ball joint: (M + J^T S^-1 J)^-1 f against the formula by rows.
    let (m, s) = linkage();
    let (mut rows, masses) = rows_of(&m, &s);
    rows.softness = (0..rows.len()).map(|r| 0.1 + 0.01 * r as f64).collect();
    let softness = rows.softness.clone();
    let (mut solver, mut scratch) = (SolverKind::SparseDirect.make(), JointedScratch::default());
    solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
    let mut lower = Jointed::new(solver.as_mut(), &rows, &masses, &[], &softness, 1e3, &mut scratch);
    let mut push = vec![[0.0; 6]; masses.len()];
    push[3] = [1.0, 2.0, 3.0, 0.1, 0.2, 0.3];
    let mut x = push.clone();
    lower.respond(&push, &mut x);
    // M x + J^T S^-1 J x = f: checked as x = M^-1 (f - J^T S^-1 J x).
    let mut stretch = vec![0.0; rows.len()];
    rows.apply(&x, &mut stretch);
    stretch.iter_mut().zip(&softness).for_each(|(y, s)| *y /= -s);
    let mut other = push.clone();
    FreeSolids { masses: &masses }.respond(&push, &mut other);
    rows.apply_transposed(&stretch, &masses, &mut other);
    for (a, b) in x.as_flattened().iter().zip(other.as_flattened()) {
        assert!((a - b).abs() < 1e-11, "{a} {b}");
    }
}

#[test]
fn both_levels_by_every_way() {
    let (m, s) = linkage();
    let (rows, masses) = rows_of(&m, &s);
    let mut random = Random::new(6);
    let mut solver = SolverKind::SparseDirect.make();
    solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
    for round in 0..40 {
        let n = 1 + round % 8;
        let upper_rows = random_rows(&mut random, n, masses.len());
        let asks: Vec<Ask> = (0..n).map(|_| random_ask(&mut random)).collect();
        let mut answers = Vec::new();
        for way in [Way::Exact, Way::Iterative] {
            let (mut scratch, mut upper, mut force) =
                (JointedScratch::default(), Upper::default(), vec![0.0; n]);
            let mut lower = Jointed::new(solver.as_mut(), &rows, &masses, &[], &[], 1e3, &mut scratch);
            let work = UpperWork {
                way,
                work: Work { iterations: 100_000, tolerance: 1e-10, ..Work::default() },
                ..UpperWork::default()
            };
            let report = solve_upper(&mut lower, &upper_rows, &asks, &mut force, &mut upper, &work);
            assert_allowed(&asks, &force, &upper.change);
            let mut gaps = vec![0.0; rows.len()];
            rows.apply(&upper.motion, &mut gaps);
            assert!(crate::solve::largest(&gaps) < 1e-10, "the loop stays closed");
            answers.push((upper, report));
        }
        let (a, b) = (&answers[0], &answers[1]);
        if a.1.stuck == 0 && a.1.residual < 1e-8 && b.1.residual < 1e-8 {
            for (x, y) in a.0.motion.as_flattened().iter().zip(b.0.motion.as_flattened()) {
                assert!((x - y).abs() < 1e-5, "{round}: {x} {y} {:?} {:?}", a.1, b.1);
            }
        }
    }
}

#[test]
fn free_solids_are_swept_over() {
    let (m, s) = linkage();
    let masses = Masses::new(&m, &s);
    let mut random = Random::new(7);
    let rows = random_rows(&mut random, 12, masses.len());
    let asks: Vec<Ask> = (0..12).map(|_| random_ask(&mut random)).collect();
    let mut lower = FreeSolids { masses: &masses };
    let mut answers = Vec::new();
    for way in [Way::Exact, Way::Iterative] {
        let (mut upper, mut force) = (Upper::default(), vec![0.0; 12]);
        let work = UpperWork {
            way,
            work: Work { iterations: 10_000, tolerance: 1e-12, ..Work::default() },
            ..UpperWork::default()
        };
        let report = solve_upper(&mut lower, &rows, &asks, &mut force, &mut upper, &work);
        assert_allowed(&asks, &force, &upper.change);
        assert!(report.residual < 1e-9, "{report:?}");
        assert_eq!(report.responses, if way == Way::Exact { 13 } else { 1 }, "sweeps ask for one answer");
        answers.push(upper.motion);
    }
    for (x, y) in answers[0].as_flattened().iter().zip(answers[1].as_flattened()) {
        assert!((x - y).abs() < 1e-8, "{x} {y}");
    }
}

/// Answers are kept by name and added up: they must not depend on who asked beside them, and must be those of a push alone.
#[test]
fn a_column_does_not_depend_on_its_neighbours() {
    let (m, s) = linkage();
    let (rows, masses) = rows_of(&m, &s);
    let mut random = Random::new(8);
    let n = masses.len();
    let upper_rows = random_rows(&mut random, 7, n);
    for kind in SolverKind::ALL {
        let (mut solver, mut scratch) = (kind.make(), JointedScratch::default());
        solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
        let mut lower = Jointed::new(solver.as_mut(), &rows, &masses, &[], &[], 1e3, &mut scratch);
        let mut answer = |asked: &[usize]| {
            let (mut push, mut motion) = (vec![[0.0; 6]; asked.len() * n], vec![[0.0; 6]; asked.len() * n]);
            for (k, r) in asked.iter().enumerate() {
                upper_rows.add(*r, 1.0, &mut push[k * n..(k + 1) * n]);
            }
            let mut inner = vec![0.0; asked.len() * rows.len()];
            lower.respond_many(&push, &mut motion, &mut inner);
            let mut alone = vec![[0.0; 6]; n];
            lower.respond(&push[..n], &mut alone);
            (motion, inner, alone)
        };
        let (all, inner, _) = answer(&[0, 1, 2, 3, 4, 5, 6]);
        for r in 0..7 {
            let (own, own_inner, alone) = answer(&[r, (r + 3) % 7]);
            if kind == SolverKind::SparseDirect {
                assert_eq!(own[..n], all[r * n..(r + 1) * n], "row {r}");
                assert_eq!(own_inner[..rows.len()], inner[r * rows.len()..(r + 1) * rows.len()], "row {r}");
            }
            for (a, b) in own[..n].as_flattened().iter().zip(alone.as_flattened()) {
                assert!((a - b).abs() < 1e-9, "{}: {a} {b}", kind.name());
            }
        }
    }
}
