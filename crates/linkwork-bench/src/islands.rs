//! Many islands: what one costs beside others, beside others that sleep, and what a constraint costs that is added while
//! everything runs.

use crate::busy;
use crate::caches::pool;
use crate::scenes::{DT, Scene};
use crate::table::{Table, int, ms, number, text};
use linkwork::rows::{Masses, Rows};
use linkwork::solve::{LinearSolver, Problem, SparseDirect};
use linkwork::{Frame, Joint, Mechanism, SolidId, State, StepConfig, Vector, Workspace, step};
use rayon::ThreadPool;
use std::time::Instant;

/// Many islands against one.
fn many(one: &ThreadPool) -> Table {
    let mut t = Table::new(
        "Independent four-bars of pins, swinging: microseconds a step and a four-bar that the thread computes (mean of the same \
         frames), and that by what one alone takes.",
        &["four-bars", "us a step", "us each", "times one alone"],
    );
    let mut alone = f64::NAN;
    for n in [1, 10, 100, 1000, 10_000] {
        let seconds = one.install(|| swinging(&Scene::four_bars(n)));
        let each = seconds / n as f64;
        if n == 1 {
            alone = each;
        }
        t.push(vec![int(n), number(1e6 * seconds), number(1e6 * each), number(each / alone)]);
    }
    t
}

/// What a step takes, of the same frames of the motion again and again for some seconds.
fn swinging(scene: &Scene) -> f64 {
    const FRAMES: usize = 20;
    const SECONDS: f64 = 2.0;
    let mut w = Workspace::new();
    let mut run = || {
        let mut s = scene.state.clone();
        (0..FRAMES).map(|_| timed_step(&scene.m, &mut s, &mut w)).sum::<f64>()
    };
    run();
    let runs = (SECONDS / run()).ceil() as usize;
    busy::each(runs * FRAMES, || (0..runs).for_each(|_| _ = run()))
}

/// Ten that swing without gravity beside others that rest.
fn asleep(one: &ThreadPool) -> Table {
    const AWAKE: usize = 10;
    let mut t = Table::new(
        "Ten four-bars that turn without gravity, beside others that sleep: microseconds a step (median), and that by what the ten take alone.",
        &["four-bars", "asleep", "us a step", "times the ten alone"],
    );
    let mut alone = f64::NAN;
    for n in [AWAKE, 1000, 10_000] {
        let mut scene = Scene::four_bars(n);
        scene.m.gravity = Vector::ZERO;
        let (mut s, mut w) = (State::new(&scene.m), Workspace::new());
        // Crank, coupler and rocker of each: joints take away what they forbid.
        (0..AWAKE).for_each(|k| s.spins[3 * k + 1] = Vector::new(0.0, 0.0, 3.0));
        let seconds = one.install(|| {
            let mut seconds: Vec<f64> = (0..400).map(|_| timed_step(&scene.m, &mut s, &mut w)).collect();
            seconds.drain(..100);
            seconds.sort_by(f64::total_cmp);
            seconds[seconds.len() / 2]
        });
        if n == AWAKE {
            alone = seconds;
        }
        t.push(vec![int(n), int(w.islands().1), number(1e6 * seconds), number(seconds / alone)]);
    }
    t
}

fn timed_step(m: &Mechanism, s: &mut State, w: &mut Workspace) -> f64 {
    let config = StepConfig { dt: DT, ..Default::default() };
    let start = Instant::now();
    let report = step(m, s, w, &config);
    let seconds = start.elapsed().as_secs_f64();
    assert!(report.rejected.is_none());
    seconds
}

/// The fastest of some factorisations, and an analysis.
fn linear(scene: &Scene) -> (f64, f64) {
    let (mut rows, mut masses) = (Rows::default(), Masses::default());
    scene.fill(&mut rows, &mut masses);
    let mut least = (f64::INFINITY, f64::INFINITY);
    for _ in 0..20 {
        let mut solver = SparseDirect::new();
        let start = Instant::now();
        solver.analyse(&rows, &masses);
        least.0 = least.0.min(start.elapsed().as_secs_f64());
        for _ in 0..10 {
            let start = Instant::now();
            solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
            least.1 = least.1.min(start.elapsed().as_secs_f64());
        }
    }
    least
}

/// A ball joint between two solids where they are now, which closes a loop.
fn tie(m: &Mechanism, s: &State, a: SolidId, b: SolidId) -> Joint {
    let at = s.centers[a.index()];
    let [a, b] = [a, b].map(|id| Frame::point(id, s.pose(m, id).inverse().transform_point(at)));
    Joint::ball(a, b)
}

/// What the step after an edit takes beyond an ordinary one.
fn added(one: &ThreadPool) -> Table {
    let mut t = Table::new(
        "A ball joint added while everything runs, between the first solid and its second neighbour: milliseconds (least of ten) of an ordinary step, of the \
         step after the edit, and the difference, beside one analysis and one factorisation of the island that it is added to.",
        &[
            "scene",
            "ordinary step",
            "step after",
            "difference",
            "analysis",
            "factorisation",
            "difference by factorisation",
        ],
    );
    let ladders = [(6, 24), (6, 96), (6, 384)].map(|(a, b)| Scene::ladder(a, b, 3.0));
    for scene in ladders.into_iter().chain([1, 1000, 10_000].map(Scene::four_bars)) {
        let single = scene.name.ends_with("four-bars").then(|| Scene::four_bars(1));
        let (analysis, factor) = linear(single.as_ref().unwrap_or(&scene));
        let mut least = (f64::INFINITY, f64::INFINITY);
        one.install(|| {
            for _ in 0..10 {
                let (mut s, mut w) = (scene.state.clone(), Workspace::new());
                for k in 0..5 {
                    let seconds = timed_step(&scene.m, &mut s, &mut w);
                    least.0 = if k > 1 { least.0.min(seconds) } else { least.0 };
                }
                let mut m = scene.m.clone();
                m.add_joint(tie(&m, &s, SolidId(1), SolidId(3))).expect("a joint");
                least.1 = least.1.min(timed_step(&m, &mut s, &mut w));
            }
        });
        let more = least.1 - least.0;
        t.push(vec![
            text(&*scene.name),
            ms(least.0),
            ms(least.1),
            ms(more),
            ms(analysis),
            ms(factor),
            number(more / factor),
        ]);
    }
    t
}

/// The tables.
pub fn run() -> Vec<Table> {
    let one = pool(1);
    // One table alone, for who profiles it: `LINKWORK_ISLANDS=asleep`.
    let wanted = std::env::var("LINKWORK_ISLANDS").unwrap_or_default();
    type Make = fn(&ThreadPool) -> Table;
    let tables: [(&str, Make); 3] = [("many", many), ("asleep", asleep), ("added", added)];
    let chosen = tables.into_iter().filter(|(name, _)| wanted.is_empty() || *name == wanted);
    chosen.map(|(_, table)| table(&one)).collect()
}
