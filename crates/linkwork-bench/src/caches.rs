//! Warm and cold caches, one thread and two: what the other benchmarks, which repeat one thing on one
//! thread until it is as fast as it can be, do not tell.

use crate::scenes::{DT, Scene, largest};
use crate::steps::LADDERS;
use crate::table::{Table, int, ms, number, text};
use linkwork::rows::{Masses, Rows};
use linkwork::solve::{LinearSolver, Problem, SparseDirect, Work};
use linkwork::{State, StepConfig, Workspace, step};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::hint::black_box;
use std::time::Instant;

/// Bytes that are written between two measurements: more than any last-level cache holds.
const SWEEP: usize = 256 << 20;

/// Pushes everything else out of the caches.
pub struct Sweeper(Vec<u64>);

impl Sweeper {
    fn new() -> Self {
        Self(vec![1; SWEEP / 8])
    }
    fn sweep(&mut self) {
        // One number a cache line.
        self.0.iter_mut().step_by(8).for_each(|x| *x = x.wrapping_mul(3) + 1);
        black_box(&mut self.0);
    }
}

/// The least and the median, in seconds.
#[derive(Clone, Copy)]
pub struct Times {
    /// The fastest.
    pub least: f64,
    /// Half are faster.
    pub median: f64,
}

impl Times {
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        Self { least: seconds[0], median: seconds[seconds.len() / 2] }
    }
}

/// So many threads.
pub fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("threads")
}

/// Runs `f` often enough for a median, the caches swept before each if there is a sweeper.
fn repeat(mut sweeper: Option<&mut Sweeper>, mut f: impl FnMut() -> f64) -> Times {
    const SECONDS: f64 = 1.0;
    const MOST: usize = 400;
    f();
    let (start, mut seconds) = (Instant::now(), Vec::new());
    while seconds.len() < 9 || (seconds.len() < MOST && start.elapsed().as_secs_f64() < SECONDS) {
        if let Some(s) = sweeper.as_mut() {
            s.sweep();
        }
        seconds.push(f());
    }
    Times::of(seconds)
}

/// Factor + solve of a random right side to 1e-8.
fn linear(scene: &Scene, pool: &ThreadPool, sweeper: Option<&mut Sweeper>) -> Times {
    let (mut rows, mut masses) = (Rows::default(), Masses::default());
    scene.fill(&mut rows, &mut masses);
    let b = scene.random(&rows, &masses);
    let (mut solver, mut lambda) = (SparseDirect::new(), vec![0.0; b.len()]);
    solver.analyse(&rows, &masses);
    pool.install(|| {
        let work = Work { tolerance: 1e-8 * largest(&b), ..Work::default() };
        repeat(sweeper, || {
            let start = Instant::now();
            solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
            lambda.fill(0.0);
            let report = solver.solve(&b, &mut lambda, &work);
            let seconds = start.elapsed().as_secs_f64();
            assert!(report.residual <= 10.0 * work.tolerance, "{}: {report:?}", scene.name);
            seconds
        })
    })
}

/// Whole steps of the default method at the default tolerance: the first second of the motion, again and again.
pub fn steps(scene: &Scene, pool: &ThreadPool, sweeper: Option<&mut Sweeper>) -> Times {
    const FRAMES: usize = 60;
    pool.install(|| {
        let config = StepConfig { dt: DT, tolerance: 1e-6, ..Default::default() };
        let (mut state, mut w, mut left): (State, Workspace, usize) =
            (scene.state.clone(), Workspace::new(), 0);
        repeat(sweeper, || {
            if left == 0 {
                (state, w, left) = (scene.state.clone(), Workspace::new(), FRAMES);
                // The first step also analyses the topology.
                step(&scene.m, &mut state, &mut w, &config);
            }
            left -= 1;
            let start = Instant::now();
            step(&scene.m, &mut state, &mut w, &config);
            start.elapsed().as_secs_f64()
        })
    })
}

/// Warm against cold.
fn temperatures(one: &ThreadPool, sweeper: &mut Sweeper) -> Table {
    let mut t = Table::new(
        "Warm and cold caches: milliseconds (median; least for warm) of factor + solve and of whole steps at the default \
         tolerance, one thread. Cold: 256 MB are written between two measurements, as if other programs had run.",
        &[
            "scene",
            "rows",
            "factor + solve, least",
            "factor + solve, warm",
            "factor + solve, cold",
            "cold by warm@linear ratio",
            "step, least",
            "step, warm",
            "step, cold",
            "cold by warm@step ratio",
        ],
    );
    for (bars, patterns) in LADDERS.into_iter().chain([(6, 1536)]) {
        let scene = Scene::ladder(bars, patterns, 3.0);
        let rows = scene.graph.acyclic + scene.graph.loops;
        let (a, b) = (linear(&scene, one, None), linear(&scene, one, Some(&mut *sweeper)));
        let (c, d) = (steps(&scene, one, None), steps(&scene, one, Some(&mut *sweeper)));
        t.push(vec![
            text(&*scene.name),
            int(rows),
            ms(a.least),
            ms(a.median),
            ms(b.median),
            number(b.median / a.median),
            ms(c.least),
            ms(c.median),
            ms(d.median),
            number(d.median / c.median),
        ]);
    }
    t
}

/// One thread against two.
fn threads(one: &ThreadPool) -> Table {
    let two = pool(2);
    let mut t = Table::new(
        "One thread and two, one island: milliseconds (least) of factor + solve and of whole steps, and how many times as \
         fast two are. The bits are the same; a machine that does something else beside it has no second core to give.",
        &[
            "scene",
            "rows",
            "factor + solve, one",
            "two@factor + solve, two",
            "times@factor + solve, times",
            "step, one",
            "two@step, two",
            "times@step, times",
        ],
    );
    let ladders = [(6, 96), (6, 384), (6, 1536), (6, 6144)].map(|(a, b)| Scene::ladder(a, b, 3.0));
    for scene in ladders.into_iter().chain([Scene::net(40, 40)]) {
        let (a, b) = (linear(&scene, one, None).least, linear(&scene, &two, None).least);
        let (c, d) = (steps(&scene, one, None).least, steps(&scene, &two, None).least);
        t.push(vec![
            text(&*scene.name),
            int(scene.graph.acyclic + scene.graph.loops),
            ms(a),
            ms(b),
            number(a / b),
            ms(c),
            ms(d),
            number(c / d),
        ]);
    }
    t
}

/// The tables.
pub fn run() -> Vec<Table> {
    let (one, mut sweeper) = (pool(1), Sweeper::new());
    vec![temperatures(&one, &mut sweeper), threads(&one)]
}
