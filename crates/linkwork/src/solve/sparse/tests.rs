//! Tasks of one island: cut by the scene alone, and the same bits on any number of threads.

use super::{Shape, Symbolic};
use crate::graph::Graph;
use crate::joint::JointId;
use crate::rows::{Masses, Rows};
use crate::scene::generate;
use crate::solve::{LinearSolver, Problem, SparseDirect, Work};
use crate::{Mechanism, State};

fn load(text: &str) -> (Mechanism, Rows, Masses) {
    let (scene, report) = crate::scene::load(text, &mut |_: &str| Err("no files".into()));
    let m = scene.unwrap_or_else(|| panic!("{}", report.render("scene", text, false))).mechanism;
    let (s, graph) = (State::new(&m), Graph::new(&m));
    let (mut rows, mut masses) = (Rows::default(), Masses::default());
    masses.update(&m, &s);
    rows.fill(&m, &s, s.time, (0..m.joints().len() as u32).map(JointId), |j| graph.default_rank(j));
    (m, rows, masses)
}

/// Everything that a solver answers, bit by bit.
fn answers(rows: &Rows, masses: &Masses, threads: usize) -> Vec<u64> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let b: Vec<f64> = (0..rows.len()).map(|i| (0.37 * i as f64).sin()).collect();
    let some: Vec<bool> = (0..rows.len()).map(|r| r % 11 != 3).collect();
    pool.install(|| {
        let mut solver = SparseDirect::new();
        let mut out = Vec::new();
        for (active, damping) in [(&[][..], None), (&some, None), (&[], Some(1e-3))] {
            solver.factor(&Problem { rows, masses, active, damping });
            let mut lambda = vec![0.0; rows.len()];
            solver.substitute(&b, &mut lambda, true);
            out.extend(lambda.iter().map(|l| l.to_bits()));
            lambda.fill(0.0);
            let report = solver.solve(&b, &mut lambda, &Work { tolerance: 0.0, ..Work::default() });
            // The answer as a guess: the way through a warm start.
            solver.solve(&b, &mut lambda, &Work { tolerance: 0.0, ..Work::default() });
            out.extend(lambda.iter().map(|l| l.to_bits()));
            out.extend([report.residual.to_bits(), solver.least_pivot().to_bits(), solver.left_out() as u64]);
        }
        out
    })
}

#[test]
fn one_island_on_many_threads_gives_the_same_bits() {
    let ladders = [generate::ladder(6, 400, 3.0), generate::ladder(1, 900, 1.0)];
    for text in ladders.into_iter().chain([generate::net(30, 30)]) {
        let (m, rows, masses) = load(&text.unwrap());
        let one = answers(&rows, &masses, 1);
        for threads in [2, 4, 16] {
            assert!(
                answers(&rows, &masses, threads) == one,
                "{} solids, {threads} threads",
                m.solids().len()
            );
        }
    }
}

#[test]
fn tasks_are_cut_by_what_the_scene_costs() {
    for (patterns, worth) in [(4, false), (768, true), (1500, true)] {
        let (_, rows, masses) = load(&generate::ladder(6, patterns, 1.0).unwrap());
        let moves: Vec<bool> = (0..masses.len()).map(|i| masses.moves(i)).collect();
        let s = Symbolic::new(&Shape { groups: &rows.groups, moves: &moves });
        let sizes: Vec<usize> = s.units.tasks.iter().map(|t| t.packs.len()).collect();
        assert_eq!(s.units.worth_threads, worth, "{patterns}: {sizes:?}");
        assert!(sizes.len() <= 64 && sizes.iter().all(|n| *n > 0), "{patterns}: {sizes:?}");
        if worth {
            // Work enough for everybody, none much longer than the others.
            let rows: Vec<usize> = s.units.tasks.iter().map(|t| t.room.rows).collect();
            let (most, mean) = (rows.iter().max().unwrap(), rows.iter().sum::<usize>() / rows.len());
            assert!(sizes.len() >= 4 && *most < 2 * mean, "{patterns}: {rows:?}");
        }
    }
}
