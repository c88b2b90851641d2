//! Faure's ladders (1999, section 4.2): counts, agreement of all solvers, and iterations of the structured one.

use linkwork::graph::Graph;
use linkwork::rows::{Masses, Rows};
use linkwork::solve::{Problem, SolverKind, Work};
use linkwork::{JointId, Mechanism, State, Vector};

fn ladder(bars: usize, patterns: usize, heavy: f64) -> Mechanism {
    let text = linkwork::generate::ladder(bars, patterns, heavy).unwrap();
    linkwork::scene::load(&text, &mut |_| Err(String::new())).0.unwrap().mechanism
}

/// Rows, masses, and the kinematic error that a sixtieth of a second of free fall causes: `b = -J g dt`, velocities.
fn falling(m: &Mechanism) -> (Rows, Masses, Vec<f64>) {
    let (graph, state) = (Graph::new(m), State::new(m));
    let mut rows = Rows::default();
    rows.fill(m, &state, state.time, (0..m.joints().len() as u32).map(JointId), |j| graph.default_rank(j));
    let g: Vector = m.gravity / 60.0;
    let fall: Vec<[f64; 6]> = m
        .solids()
        .iter()
        .map(|s| if s.is_fixed() { [0.0; 6] } else { [g.x, g.y, g.z, 0.0, 0.0, 0.0] })
        .collect();
    let mut b = vec![0.0; rows.len()];
    rows.apply(&fall, &mut b);
    b.iter_mut().for_each(|b| *b = -*b);
    (rows, Masses::new(m, &state), b)
}

#[test]
fn the_five_ladders_of_table_2() {
    let table = [((12, 1), (75, 3)), ((12, 4), (300, 12)), ((1, 48), (432, 144)), ((1, 96), (864, 288))];
    for ((bars, patterns), counts) in table.into_iter().chain([((6, 96), (3744, 288))]) {
        for heavy in [1.0, 3.0] {
            let m = ladder(bars, patterns, heavy);
            let graph = Graph::new(&m);
            assert_eq!((graph.acyclic, graph.loops), counts, "({bars}, {patterns})");
            let (rows, masses, b) = falling(&m);
            let mut solver = SolverKind::StructuredIterative.make();
            solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
            let mut lambda = vec![0.0; b.len()];
            let report = solver.solve(&b, &mut lambda, &Work { tolerance: 1e-3, ..Work::default() });
            println!("({bars}, {patterns}) heavy {heavy}: {report:?}");
            assert!(report.residual <= 1e-3, "({bars}, {patterns}): {report:?}");
            assert!(report.iterations <= 10, "({bars}, {patterns}): {report:?}");
        }
    }
}

#[test]
fn all_solvers_agree_on_ladders() {
    for (bars, patterns) in [(12, 1), (12, 4), (1, 48)] {
        let m = ladder(bars, patterns, 3.0);
        let (rows, masses, b) = falling(&m);
        let mut reference: Option<Vec<f64>> = None;
        for kind in SolverKind::ALL {
            let mut solver = kind.make();
            solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
            let mut lambda = vec![0.0; b.len()];
            let work = Work { iterations: 20_000, tolerance: 1e-9, ..Work::default() };
            let report = solver.solve(&b, &mut lambda, &work);
            assert!(report.residual <= 1e-8, "{} on ({bars}, {patterns}): {report:?}", kind.name());
            let mut fall = vec![[0.0; 6]; m.solids().len()];
            rows.apply_transposed(&lambda, &masses, &mut fall);
            let fall: Vec<f64> = fall.into_iter().flatten().collect();
            let first = reference.get_or_insert_with(|| fall.clone());
            let off = fall.iter().zip(first.iter()).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(off < 1e-5, "{} on ({bars}, {patterns}): {off}", kind.name());
        }
    }
}
