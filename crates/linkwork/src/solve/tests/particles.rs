//! Nodes of three freedoms in every solver, and rows with four ends over them.

use super::*;
use crate::rows::{Ask, Push};

/// As [`random`], every other node a particle: joints hold their points only.
fn mixed(edges: &[(u32, u32)], seed: u64) -> (Mechanism, State) {
    let mut r = Random::new(seed + 50);
    let (bars, _) = random(edges, seed);
    let mut m = Mechanism::new();
    for (i, bar) in bars.solids().iter().enumerate().skip(1) {
        let at = bar.pose.translation;
        let particle = Solid::particle(bar.name.clone(), bar.mass.mass).at(at.x, at.y, at.z);
        m.add_solid(if i % 2 == 1 { particle } else { bar.clone() }).unwrap();
    }
    for (k, (a, b)) in edges.iter().enumerate() {
        let mut f = |s: u32| {
            let point = if m.solid(SolidId(s)).particle { Vector::ZERO } else { r.cube() * 0.5 };
            Frame { solid: SolidId(s), pose: Pose::from_parts(point, exp(r.ball())) }
        };
        let (x, y) = (f(*a), f(*b));
        m.add_joint(match k % 4 {
            0 => Joint::ball(x, y),
            1 => Joint::point_on_line(x, y),
            2 => Joint::point_on_plane(x, y),
            _ => Joint::distance(x, y, 0.5),
        })
        .unwrap();
    }
    let s = State::new(&m);
    (m, s)
}

/// A crumpled net of particles on `distance` joints, its corners on a solid.
fn net(n: u32, seed: u64) -> (Mechanism, State) {
    let mut r = Random::new(seed);
    let mut m = Mechanism::new();
    let plate = m.add_solid(Solid::new("plate").with_shape(PlacedShape::cuboid(2.0, 0.1, 1.0), 3.0)).unwrap();
    for i in 0..n * n {
        let p = Vector::new(f64::from(i % n), 0.0, f64::from(i / n)) * 0.1 + r.cube() * 0.02;
        m.add_solid(Solid::particle(format!("p{i}"), 0.1 + 0.05 * r.signed()).at(p.x, p.y, p.z)).unwrap();
    }
    let at = |i: u32| Frame::point(SolidId(i + 2), Vector::ZERO);
    for i in 0..n * n {
        if i % n > 0 {
            m.add_joint(Joint::distance(at(i - 1), at(i), 0.1)).unwrap();
        }
        if i >= n {
            m.add_joint(Joint::distance(at(i - n), at(i), 0.1)).unwrap();
        }
    }
    for i in [0, n - 1] {
        m.add_joint(Joint::ball(Frame::point(plate, r.cube()), at(i))).unwrap();
    }
    let s = State::new(&m);
    (m, s)
}

/// Motion of a dense solve and of all other solvers, rows that are soft, left out or damped included.
#[test]
fn every_solver_agrees_with_dense_on_particles() {
    let cases = graphs().into_iter().flat_map(|(name, e)| [3, 4].map(|seed| (name, mixed(&e, seed))));
    for (name, (m, s)) in cases.chain([("net", net(5, 1))]) {
        let (mut rows, masses) = rows_of(&m, &s);
        if rows.is_empty() {
            continue;
        }
        let (w, n) = (dense_w(&rows, &masses), rows.len());
        let mut r = Random::new(7);
        for soft in [false, true] {
            if soft {
                rows.softness =
                    (0..n).map(|k| if k % 3 == 0 { 0.1 + r.signed().abs() } else { 0.0 }).collect();
            }
            // In the range of A, so that an exact answer exists.
            let lambda: Vec<f64> = (0..n).map(|_| r.signed()).collect();
            let y = scaled_answer(&w, &lambda);
            let mut b: Vec<f64> = (0..n).map(|k| (0..y.len()).map(|i| w[(k, i)] * y[i]).sum()).collect();
            b.iter_mut().zip(&rows.softness).zip(&lambda).for_each(|((b, s), l)| *b += s * l);
            for solver in &mut solvers() {
                solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
                let mut found = vec![0.0; n];
                let work = Work { iterations: 20_000, tolerance: 1e-11, out_of_time: None };
                let report = solver.solve(&b, &mut found, &work);
                let off = distance(&scaled_answer(&w, &found), &y);
                assert!(off < 1e-5, "{name}, soft {soft}, {}: {off:e}, {report:?}", solver.name());
            }
        }
    }
}

/// Large enough for fronts to go in step, four at a time; hubs of three unknowns among them.
#[test]
fn fronts_of_particles_give_the_dense_answer() {
    let star: Vec<_> = (0..30).flat_map(|i| [(1, i + 2), (i + 2, i + 40)]).collect();
    let chain: Vec<_> = (0..70).map(|i| (i, i + 1)).collect();
    let cases = [("net", net(12, 2)), ("star", mixed(&star, 5)), ("chain", mixed(&chain, 6))];
    for (name, (m, s)) in cases {
        agrees_with_dense(name, &m, &s);
    }
}

/// A row with four ends, a particle against a triangle of three, over a net whose joints hold: it is met by pushing alone,
/// the joints stay as they are, and no momentum is made.
#[test]
fn a_particle_against_a_triangle_is_a_row_with_four_ends() {
    let (mut m, _) = net(6, 3);
    let free = m.add_solid(Solid::particle("free", 0.2).at(0.25, 0.05, 0.22)).unwrap();
    let s = State::new(&m);
    let (rows, masses) = rows_of(&m, &s);
    let mut solver = SparseDirect::new();
    solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
    let (below, mut scratch) = (vec![true; rows.len()], JointedScratch::default());
    let mut lower = Jointed::new(&mut solver, &rows, &masses, &below, &[], 1.0, &mut scratch);
    let share = [0.2, 0.5, 0.3];
    let triangle = [2, 3, 8].map(|i: usize| i + 2 + 12);
    let corner = triangle.map(|i| s.centers[i]);
    let normal = (corner[1] - corner[0]).cross(corner[2] - corner[0]).normalize();
    let half = |t: Vector| [t.x, t.y, t.z, 0.0, 0.0, 0.0];
    let mut ends = vec![(free.index(), half(normal))];
    ends.extend((0..3).map(|k| (triangle[k], half(normal * -share[k]))));
    let mut upper_rows = UpperRows::default();
    upper_rows.push(&ends);
    let (mut force, mut upper) = ([0.0], Upper::default());
    for (low, acts) in [(0.01, true), (-0.01, false)] {
        let asks = [Ask { low, high: f64::INFINITY, give: 0.0, push: Push::Positive }];
        force[0] = 0.0;
        let report =
            solve_upper(&mut lower, &upper_rows, &asks, &mut force, &mut upper, &UpperWork::default());
        assert!(report.residual < 1e-10, "{report:?}");
        assert_eq!(force[0] > 0.0, acts, "{force:?}");
        let change: f64 = upper_rows.change(0, &upper.motion);
        assert!((change - if acts { low } else { 0.0 }).abs() < 1e-9, "{change}");
        let mut held = vec![0.0; rows.len()];
        rows.apply(&upper.motion, &mut held);
        assert!(largest(&held) < 1e-9, "{}", largest(&held));
        // Nothing holds the net: what the particle gets, the rest gives.
        let momentum = (1..m.solids().len()).fold(Vector::ZERO, |p, i| {
            let v = &upper.motion[i];
            p + Vector::new(v[0], v[1], v[2]) * masses.mass(i)
        });
        assert!(momentum.length() < 1e-9, "{momentum}");
    }
}
