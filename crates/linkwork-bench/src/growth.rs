//! How time and memory grow with the scene.

use crate::allocation;
use crate::machine::fastest;
use crate::scenes::{Scene, largest};
use crate::solvers::{kinds, measure, too_large};
use crate::table::{Table, int, ms, none, number, sci, text};
use linkwork::rows::{Masses, Rows};
use linkwork::solve::{LinearSolver, Problem, SolverKind, SparseDirect, Work};
use std::hint::black_box;
use std::time::Instant;

/// Seconds beyond which a solver is not tried on the next larger scene.
const LONG: f64 = 5.0;

/// Slope of `log y` over `log x` by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let (mx, my) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum::<f64>()
        / logs.iter().map(|(x, _)| (x - mx) * (x - mx)).sum::<f64>()
}

/// Seconds to add up as many bytes as the solver holds: where memory, not arithmetic, makes a larger scene slower.
fn read(bytes: usize) -> f64 {
    let v = vec![1.0_f64; bytes / 8];
    fastest(0.02, 3, || {
        // Four sums, so that additions do not wait for each other.
        let mut sums = [0.0; 4];
        for c in black_box(&v).as_chunks::<4>().0 {
            (0..4).for_each(|k| sums[k] += c[k]);
        }
        black_box(sums);
    })
}

/// One solver through a series of scenes.
struct Curve {
    kind: SolverKind,
    time: Vec<(f64, f64)>,
    bytes: Vec<(f64, f64)>,
    given_up: bool,
}

const HEAD: [&str; 16] = [
    "scene",
    "rows",
    "loop rows",
    "solver",
    "analyse",
    "factor",
    "solve",
    "factor + solve",
    "us a row",
    "iterations",
    "residual",
    "bytes held",
    "bytes a row",
    "read once",
    "allocations",
    "entries of L",
];

/// Adds a scene's lines.
fn scene_lines(t: &mut Table, scene: &Scene, curves: &mut [Curve]) {
    let (mut rows, mut masses) = (Rows::default(), Masses::default());
    scene.fill(&mut rows, &mut masses);
    let b = scene.random(&rows, &masses);
    for c in curves.iter_mut().filter(|c| !c.given_up && !too_large(c.kind, scene)) {
        let direct = !c.kind.name().ends_with("iterative");
        let tolerance = if direct { 1e-8 } else { 1e-3 } * largest(&b);
        // Large scenes leave the caches, and what else runs there disturbs them: they get more repeats.
        let budget = if rows.len() > 30_000 { 1.5 } else { 0.3 };
        let mut lambda = vec![0.0; b.len()];
        let before = allocation::live();
        let mut solver = c.kind.make();
        let start = Instant::now();
        solver.analyse(&rows, &masses);
        let analyse = start.elapsed().as_secs_f64();
        let timing = measure(solver.as_mut(), &rows, &masses, &b, tolerance, budget);
        let held = allocation::live() - before;
        // Once more, only to count what it asks of the allocator when it has seen the pattern before.
        let calls = if timing.seconds() < 1.0 {
            let calls = allocation::calls();
            solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
            solver.solve(&b, &mut lambda, &Work { iterations: 50_000, tolerance, out_of_time: None });
            Some(allocation::calls() - calls)
        } else {
            None
        };
        let fill = (c.kind == SolverKind::SparseDirect).then(|| {
            let mut s = SparseDirect::new();
            s.analyse(&rows, &masses);
            s.predicted().1
        });
        let n = rows.len() as f64;
        c.time.push((n, timing.seconds()));
        c.bytes.push((n, held as f64));
        c.given_up = timing.seconds() > LONG || !timing.reached;
        t.push(vec![
            text(&*scene.name),
            int(rows.len()),
            int(scene.graph.loops),
            text(c.kind.name()),
            ms(analyse),
            ms(timing.factor),
            ms(timing.solve),
            ms(timing.seconds()),
            number(1e6 * timing.seconds() / n),
            int(timing.report.iterations),
            sci(timing.residual).marked(!timing.reached),
            int(held),
            number(held as f64 / n),
            ms(read(held)),
            calls.map_or_else(none, int),
            fill.map_or_else(none, sci),
        ]);
    }
}

fn curves() -> Vec<Curve> {
    kinds().map(|kind| Curve { kind, time: Vec::new(), bytes: Vec::new(), given_up: false }).collect()
}

fn slopes(title: &str, t: &mut Table, curves: &[Curve]) {
    for c in curves.iter().filter(|c| c.time.len() > 2) {
        let small: Vec<(f64, f64)> = c.time.iter().copied().filter(|p| p.0 < 33e3).collect();
        let worst = c.time.windows(2).map(slope).fold(f64::NEG_INFINITY, f64::max);
        t.push(vec![
            text(title),
            text(c.kind.name()),
            int(c.time[0].0 as usize),
            int(c.time[c.time.len() - 1].0 as usize),
            number(slope(&c.time)),
            if small.len() > 2 { number(slope(&small)) } else { none() },
            number(worst),
            number(slope(&c.bytes)),
        ]);
    }
}

/// The tables.
pub fn run() -> Vec<Table> {
    let how = "Milliseconds (minimum over repeats, one thread), a random right side, straight: direct solvers to 1e-8, \
               iterative ones to 1e-3. `bytes held`: what the solver keeps after analyse, factor and solve; \
               `read once`: milliseconds to \
               add up that many bytes; `allocations`: requests for memory in one more factor and solve. A solver leaves the series when it \
               needs more than 5 s, misses its tolerance, or would need a dense matrix of more than 2500 rows.";
    let mut ladders = Table::new(format!("Ladders (6,n), second string three times as heavy. {how}"), &HEAD);
    let mut c = curves();
    for k in 0..9 {
        scene_lines(&mut ladders, &Scene::ladder(6, 24 << k, 3.0), &mut c);
    }
    let mut s = Table::new(
        "Log-log slopes by least squares over the series above: time of factor + solve and bytes held, against rows. \
         `steepest`: between two neighbours.",
        &["series", "solver", "from rows", "to rows", "time", "time up to 33,000 rows", "steepest", "bytes"],
    );
    slopes("ladders (6,n)", &mut s, &c);
    let mut nets = Table::new(format!("Nets, flat. {how}"), &HEAD);
    let mut c = curves();
    for n in [11, 20, 40, 70, 100] {
        scene_lines(&mut nets, &Scene::net(n, n), &mut c);
    }
    slopes("nets n x n", &mut s, &c);
    let mut others = Table::new(format!("Hubs and islands. {how}"), &HEAD);
    for scene in [Scene::star(1000, false), Scene::star(1000, true), Scene::islands(1000, 6)] {
        scene_lines(&mut others, &scene, &mut curves());
    }
    vec![ladders, nets, others, s]
}
