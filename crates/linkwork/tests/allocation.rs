//! What a solve may allocate: nothing the second time for `sparse-direct`, and memory in proportion to the scene for the
//! solvers that promise it.

// A counting allocator is the only way to see allocations, and implementing one is unsafe by nature.
#![allow(unsafe_code)]

use linkwork::graph::Graph;
use linkwork::rows::{Masses, Rows};
use linkwork::solve::{Bounded, Problem, SolverKind, Work};
use linkwork::{Frame, Joint, JointId, Mechanism, Method, PlacedShape, Solid, SolidId, State};
use linkwork::{StepConfig, Vector, Workspace, step};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = CALLS.try_with(|c| c.set(c.get() + 1));
        let _ = LIVE.try_with(|l| l.set(l.get() + layout.size() as isize));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let _ = LIVE.try_with(|l| l.set(l.get() - layout.size() as isize));
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn ladder(bars: usize, patterns: usize) -> Mechanism {
    let text = linkwork::generate::ladder(bars, patterns, 3.0).unwrap();
    linkwork::scene::load(&text, &mut |_| Err(String::new())).0.unwrap().mechanism
}

#[test]
fn refilling_refactoring_and_solving_allocate_nothing() {
    let m = ladder(6, 12);
    let graph = Graph::new(&m);
    let mut state = State::new(&m);
    let (mut rows, mut masses, mut bounded) = (Rows::default(), Masses::default(), Bounded::default());
    let mut solver = SolverKind::SparseDirect.make();
    let b: Vec<f64> = (0..m.scalar_constraints()).map(|i| 1e-3 * (i as f64).sin()).collect();
    let mut lambda = vec![0.0; b.len()];
    let work = Work { tolerance: 1e-13, ..Work::default() };
    let mut calls = Vec::new();
    for round in 0..4 {
        let before = CALLS.get();
        state.displace(3, &[1e-3 * f64::from(round), 0.0, 0.0, 0.0, 1e-2, 0.0]);
        rows.fill(&m, &state, state.time, (0..m.joints().len() as u32).map(JointId), |j| {
            graph.default_rank(j)
        });
        masses.update(&m, &state);
        solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
        let report = solver.solve(&b, &mut lambda, &work);
        assert!(report.residual < 1e-10, "{report:?}");
        bounded.solve(solver.as_mut(), &rows, &masses, m.solids().len(), None, &work);
        calls.push(CALLS.get() - before);
    }
    assert!(calls[0] > 0);
    assert_eq!(calls[1..], [0, 0, 0], "{calls:?}");
}

/// Steps of the reference method: on trees by the recursion, on loops by the solver.
#[test]
fn steps_by_articulated_bodies_allocate_nothing() {
    for (m, trees) in [(chain(20), true), (ladder(2, 4), false)] {
        let (mut state, mut workspace) = (State::new(&m), Workspace::new());
        let config = StepConfig { method: Method::Reduced, dt: 1e-3, ..StepConfig::default() };
        let mut calls = Vec::new();
        for _ in 0..8 {
            let before = CALLS.get();
            let report = step(&m, &mut state, &mut workspace, &config);
            calls.push(CALLS.get() - before);
            assert!(report.rejected.is_none() && (report.solver_iterations == 0) == trees, "{report:?}");
        }
        assert!(calls[0] > 0);
        // Three states take turns: what is kept, what is tried, the best so far.
        assert_eq!(calls[4..], [0; 4], "{calls:?}");
    }
}

fn chain(links: usize) -> Mechanism {
    let mut m = Mechanism::new();
    let bar = PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X);
    for i in 0..links {
        let solid = Solid::new(format!("b{i}")).with_shape(bar.clone(), 1.0).at(i as f64, 0.0, 0.0);
        let id = m.add_solid(solid).unwrap();
        let last = SolidId(id.0 - 1);
        let end = if i == 0 { Vector::ZERO } else { Vector::X };
        m.add_joint(Joint::pin(Frame::axis(last, end, Vector::Z), Frame::axis(id, Vector::ZERO, Vector::Z)))
            .unwrap();
    }
    m
}

#[test]
fn memory_grows_with_the_scene() {
    let kinds = [SolverKind::FullIterative, SolverKind::StructuredIterative, SolverKind::SparseDirect];
    for kind in kinds {
        let bytes: Vec<f64> = [32, 64, 128]
            .iter()
            .map(|patterns| {
                let m = ladder(6, *patterns);
                let graph = Graph::new(&m);
                let state = State::new(&m);
                let mut rows = Rows::default();
                rows.fill(&m, &state, state.time, (0..m.joints().len() as u32).map(JointId), |j| {
                    graph.default_rank(j)
                });
                let masses = Masses::new(&m, &state);
                let b: Vec<f64> = (0..rows.len()).map(|i| (i as f64).sin()).collect();
                let mut lambda = vec![0.0; b.len()];
                let before = LIVE.get();
                let mut solver = kind.make();
                solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
                solver.solve(&b, &mut lambda, &Work { iterations: 30, ..Work::default() });
                (LIVE.get() - before) as f64
            })
            .collect();
        assert!(bytes[1] < 2.2 * bytes[0] && bytes[2] < 2.2 * bytes[1], "{}: {bytes:?}", kind.name());
    }
}

/// Both levels: forming the small matrix, pivoting on it, sweeping and iterating.
#[test]
fn solving_the_upper_level_allocates_nothing() {
    use linkwork::rows::{Ask, Push};
    use linkwork::solve::{
        FreeSolids, Jointed, JointedScratch, Upper, UpperRows, UpperWork, Way, solve_upper,
    };
    let m = ladder(6, 4);
    let (state, graph) = (State::new(&m), Graph::new(&m));
    let mut rows = Rows::default();
    rows.fill(&m, &state, 0.0, (0..m.joints().len() as u32).map(JointId), |j| graph.default_rank(j));
    let masses = Masses::new(&m, &state);
    let mut solver = SolverKind::SparseDirect.make();
    solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
    let (mut upper, mut upper_rows, mut scratch) =
        (Upper::default(), UpperRows::default(), JointedScratch::default());
    let asks: Vec<Ask> = (0..12)
        .map(|k| match k % 3 {
            0 => Ask::at_least(0.1),
            1 => Ask { push: Push::Within(0.05), ..Ask::equal(-0.2) },
            _ => Ask { low: -0.01, high: 0.01, give: 1e-3, push: Push::Any },
        })
        .collect();
    let mut force = vec![0.0; asks.len()];
    for way in [Way::Exact, Way::Iterative] {
        for jointed in [true, false] {
            let mut calls = Vec::new();
            for round in 0..4 {
                let before = CALLS.get();
                upper_rows.clear();
                for k in 0..asks.len() {
                    let x = (k + round) as f64;
                    let half = [x.sin(), x.cos(), (2.0 * x).sin(), 0.1, 0.2 * x.cos(), 0.3];
                    upper_rows.push(&[(1 + k, half), (20 - k, half.map(|h| -h))]);
                }
                let work = UpperWork { way, ..UpperWork::default() };
                if jointed {
                    let mut lower =
                        Jointed::new(solver.as_mut(), &rows, &masses, &[], &[], 1e3, &mut scratch);
                    solve_upper(&mut lower, &upper_rows, &asks, &mut force, &mut upper, &work);
                } else {
                    let mut lower = FreeSolids { masses: &masses };
                    solve_upper(&mut lower, &upper_rows, &asks, &mut force, &mut upper, &work);
                }
                calls.push(CALLS.get() - before);
            }
            assert_eq!(calls[1..], [0, 0, 0], "{way:?}, jointed {jointed}: {calls:?}");
        }
    }
}
