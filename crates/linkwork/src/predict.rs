//! What each solver would cost on an island, and what `auto` makes of it.

use crate::graph::{Graph, Island, elimination_order};
use crate::mechanism::Mechanism;
use crate::rows::row_count;
use crate::solve::SolverKind;

/// Work and memory of one factorisation and solve, predicted from the topology alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Which solver.
    pub solver: SolverKind,
    /// Multiplications. For iterative solvers to about 1e-3, with a guess at the number of iterations: poses change it
    /// by an order of magnitude.
    pub multiplications: f64,
    /// Numbers stored.
    pub entries: f64,
}

/// What `auto` picks for an island, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The pick.
    pub picked: SolverKind,
    /// In words.
    pub reason: String,
    /// Everything it was picked from.
    pub predictions: Vec<Prediction>,
}

/// A factor with more entries than this does not fit in the memory of ordinary machines (3.2 GB).
const MOST_ENTRIES: f64 = 4e8;

/// Predicts all solvers on one island and picks: the sparse factorisation if it fits in memory (a dense one only saves
/// on islands so small that it does not matter), or else the cheapest that fits.
pub fn predict(m: &Mechanism, graph: &Graph, island: &Island) -> Choice {
    let rows = |closing: bool| -> f64 {
        let own = island.joints.iter().filter(|j| graph.closes_loop(**j) == closing);
        own.map(|j| row_count(m.joint(*j)) as f64).sum()
    };
    let (a, l) = (rows(false), rows(true));
    let n = a + l;
    let elimination = elimination_order(m, island);
    // Blocks of A: six products an entry, for every pair of joints at a solid.
    let mut at = vec![(0.0, 0.0); island.solids.len()];
    for j in &island.joints {
        let r = row_count(m.joint(*j)) as f64;
        for k in m.joint(*j).frames.iter().filter_map(|f| island.place(f.solid)) {
            at[k].0 += r;
            at[k].1 += r * r;
        }
    }
    let blocks: f64 = at.iter().map(|(r, rr)| 3.0 * (r * r + rr)).sum();
    // Counted from the code: a walk over the tree costs about 60 multiplications a row, eliminating it about 130.
    let (walk, tree) = (60.0 * n, 130.0 * a);
    let full_iterations = 4.0 * n.sqrt();
    let loop_iterations = if l > 0.0 { 4.0 + l.sqrt() } else { 0.0 };
    let prediction = |solver, multiplications, entries| Prediction { solver, multiplications, entries };
    let predictions = vec![
        prediction(SolverKind::FullDense, blocks + n * n * n / 6.0 + n * n, 2.0 * n * n),
        prediction(SolverKind::FullIterative, full_iterations * 34.0 * n, 60.0 * n),
        prediction(SolverKind::StructuredDense, tree + (l + 3.0) * walk + l * l * l / 6.0, 80.0 * n + l * l),
        prediction(SolverKind::StructuredIterative, tree + (loop_iterations + 3.0) * walk, 80.0 * n),
        prediction(
            SolverKind::SparseDirect,
            blocks + elimination.flops + 2.0 * elimination.fill,
            40.0 * n + 2.0 * elimination.fill,
        ),
    ];
    let cheapest = |exact: bool| {
        let fits = |p: &&Prediction| p.solver.is_exact() == exact && p.entries <= MOST_ENTRIES;
        predictions.iter().filter(fits).min_by(|x, y| x.multiplications.total_cmp(&y.multiplications))
    };
    let sparse =
        predictions.iter().find(|p| p.solver == SolverKind::SparseDirect && p.entries <= MOST_ENTRIES);
    let (picked, reason) = match (sparse.or(cheapest(true)), cheapest(false)) {
        (Some(p), _) => (p.solver, format!("exact, {:.1e} multiplications", p.multiplications)),
        (None, Some(p)) => (p.solver, format!("no exact factor of {n} rows fits in memory")),
        (None, None) => (SolverKind::FullIterative, "nothing fits in memory; it needs least".to_owned()),
    };
    Choice { picked, reason, predictions }
}

/// What a choice of solver means for an island. Predictions cost a symbolic factorisation, so `auto` only makes them
/// where the pick could be another: on islands large enough to outgrow the memory.
pub fn resolve(kind: SolverKind, m: &Mechanism, graph: &Graph, island: &Island) -> SolverKind {
    const COULD_OUTGROW: usize = 20_000;
    if kind == SolverKind::Auto && island.joints.len() > COULD_OUTGROW {
        return predict(m, graph, island).picked;
    }
    kind.resolve()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(text: &str) -> Choice {
        let m = crate::scene::load(text, &mut |_| Err(String::new())).0.unwrap().mechanism;
        let graph = Graph::new(&m);
        predict(&m, &graph, &graph.islands[0])
    }

    #[test]
    fn the_sparse_factor_is_picked_and_says_what_it_costs() {
        let c = choice(&crate::generate::ladder(6, 16, 1.0).unwrap());
        assert_eq!(c.picked, SolverKind::SparseDirect);
        assert!(c.reason.contains("exact"), "{}", c.reason);
        assert_eq!(c.predictions.len(), SolverKind::ALL.len() - 1);
        let of = |k| c.predictions.iter().find(|p| p.solver == k).unwrap().multiplications;
        assert!(of(SolverKind::SparseDirect) < of(SolverKind::StructuredIterative));
        assert!(of(SolverKind::StructuredIterative) < of(SolverKind::FullIterative));
        assert!(of(SolverKind::FullIterative) < of(SolverKind::FullDense));
    }

    /// The predicted factorisation is the one that is carried out.
    #[test]
    fn predictions_are_of_the_factorisation_itself() {
        let text = crate::generate::net(6, 6).unwrap();
        let m = crate::scene::load(&text, &mut |_| Err(String::new())).0.unwrap().mechanism;
        let graph = Graph::new(&m);
        let state = crate::State::new(&m);
        let mut rows = crate::rows::Rows::default();
        rows.fill(&m, &state, state.time, graph.islands[0].joints.iter().copied(), |j| graph.default_rank(j));
        let mut solver = crate::solve::SparseDirect::new();
        crate::solve::LinearSolver::analyse(&mut solver, &rows, &crate::rows::Masses::new(&m, &state));
        let elimination = elimination_order(&m, &graph.islands[0]);
        assert_eq!(solver.predicted(), (elimination.flops, elimination.fill));
    }
}
