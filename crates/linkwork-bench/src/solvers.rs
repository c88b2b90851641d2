//! Every solver on Faure's ladders and the mesh: time, iterations, residual, beside the paper's Table 2.

use crate::machine::{fastest, flops_per_second};
use crate::scenes::{Scene, largest, residual};
use crate::table::{Table, int, ms, none, number, sci, text};
use linkwork::rows::{Masses, Rows};
use linkwork::solve::{LinearSolver, Problem, SolveReport, SolverKind, SparseDirect, Stop, Work};
use std::time::Instant;

/// Rows beyond which a dense matrix is not tried.
const DENSE: usize = 2500;
/// Seconds after which a solve is ended.
const PATIENCE: f64 = 20.0;

/// Every solver but `auto`, which is one of the others.
pub fn kinds() -> impl Iterator<Item = SolverKind> {
    SolverKind::ALL.into_iter().filter(|k| *k != SolverKind::Auto)
}

/// Would the solver's dense part be too large?
pub fn too_large(kind: SolverKind, scene: &Scene) -> bool {
    match kind.name() {
        "full-dense" => scene.graph.acyclic + scene.graph.loops > DENSE,
        "structured-dense" => scene.graph.loops > DENSE,
        _ => false,
    }
}

/// One right side solved to one tolerance.
pub struct Timing {
    /// Seconds.
    pub factor: f64,
    /// Seconds.
    pub solve: f64,
    /// As the solver tells it.
    pub report: SolveReport,
    /// As the rows tell it.
    pub residual: f64,
    /// The tolerance was met.
    pub reached: bool,
}

impl Timing {
    /// Both.
    pub fn seconds(&self) -> f64 {
        self.factor + self.solve
    }
}

/// Factors and solves from a zero guess, again and again for `budget` seconds, and keeps the fastest of each.
pub fn measure(
    solver: &mut dyn LinearSolver,
    rows: &Rows,
    masses: &Masses,
    b: &[f64],
    tolerance: f64,
    budget: f64,
) -> Timing {
    let problem = Problem { rows, masses, active: &[], damping: None };
    let mut lambda = vec![0.0; b.len()];
    let (mut factor, mut solve) = (f64::INFINITY, f64::INFINITY);
    let (start, mut n, mut report) = (Instant::now(), 0, None);
    // Three times at least, unless once is already long.
    while n < 1 || start.elapsed().as_secs_f64() < if n < 3 { 10.0 * budget } else { budget } {
        let t = Instant::now();
        solver.factor(&problem);
        factor = factor.min(t.elapsed().as_secs_f64());
        lambda.fill(0.0);
        let t = Instant::now();
        let late = || t.elapsed().as_secs_f64() > PATIENCE;
        let work = Work { iterations: 50_000, tolerance, out_of_time: Some(&late) };
        report = Some(solver.solve(b, &mut lambda, &work));
        solve = solve.min(t.elapsed().as_secs_f64());
        n += 1;
    }
    let report = report.expect("at least one solve");
    let left = residual(rows, masses, &lambda, b);
    // The two residuals are sums in different orders: rounding may put them on different sides of the tolerance.
    let reached = left <= tolerance * 1.01 + 1e-14 * largest(b);
    if report.stop == Stop::Tolerance && !reached {
        eprintln!("{}: reports {:.2e}, measured {left:.2e}", solver.name(), report.residual);
    }
    Timing { factor, solve, report, residual: left, reached }
}

/// The paper's ladders and its Table 2: milliseconds of full dense, full iterative, structured dense, "our method".
const LADDERS: [(usize, usize, [Option<f64>; 4]); 5] = [
    (12, 1, [Some(16.0), Some(4.4), Some(3.1), Some(4.5)]),
    (12, 4, [Some(405.0), Some(50.0), Some(21.0), Some(15.0)]),
    (1, 48, [Some(1733.0), Some(121.0), Some(323.0), Some(35.0)]),
    (1, 96, [Some(13034.0), Some(370.0), Some(1350.0), Some(68.0)]),
    (6, 96, [None, Some(2501.0), Some(4612.0), Some(208.0)]),
];
const METHODS: [&str; 4] = ["full-dense", "full-iterative", "structured-dense", "structured-iterative"];

fn scenes() -> Vec<Scene> {
    let mut all = Vec::new();
    for (bars, patterns, _) in LADDERS {
        for heavy in [1.0, 3.0] {
            all.push(Scene::ladder(bars, patterns, heavy));
            all.push(Scene::ladder(bars, patterns, heavy).crumpled());
        }
    }
    all.push(Scene::net(11, 11));
    all.push(Scene::net(11, 11).crumpled());
    all
}

/// Multiply-adds that make `A = J M^-1 J^T` from the rows: scaling them by a factor of the inverse masses, then every
/// pair of rows that meet at a movable solid, once.
fn forming(rows: &Rows, masses: &Masses) -> f64 {
    let mut at = vec![0.0; masses.len()];
    for g in &rows.groups {
        g.solids.iter().filter(|s| masses.moves(**s)).for_each(|s| at[*s] += g.count as f64);
    }
    at.iter().map(|n| 9.0 * n + 6.0 * n * (n + 1.0) / 2.0).sum()
}

/// The tables.
pub fn run() -> Vec<Table> {
    let mut all = Table::new(
        "All solvers: milliseconds (minimum over repeats, one thread, caches warm) and iterations from a zero guess; \
         refinements for the direct ones. `fall`: the gaps that one frame of free fall opens (largest 2.7 mm), to 1e-3 m, \
         to 1e-3 of the largest, and to 1e-8 m. `random`: b = A x, largest entry 1, to 1e-3 and 1e-8. Residuals are \
         measured by the rows, not by the solver; `!` marks a tolerance that was not met.",
        &[
            "scene",
            "pose",
            "heavy",
            "rows",
            "solver",
            "factor",
            "fall 1e-3 m",
            "it@fall 1e-3 m iterations",
            "fall 1e-3 rel",
            "it@fall 1e-3 rel iterations",
            "fall 1e-8 m",
            "it@fall 1e-8 m iterations",
            "residual@fall residual",
            "random 1e-3",
            "it@random 1e-3 iterations",
            "random 1e-8",
            "it@random 1e-8 iterations",
            "residual@random residual",
        ],
    );
    let mut paper = Table::new(
        "Beside the paper: Table 2 of Faure 1999 (180 MHz R5000, to 1e-3) and the same ladders here (straight, \
         factor + solve, milliseconds). `ratio` is to the paper's method, `structured-iterative`, in the same column.",
        &[
            "ladder",
            "method",
            "paper ms",
            "ratio@paper ratio",
            "fall 1e-3 rel, heavy 1",
            "ratio@fall ratio",
            "random 1e-3, heavy 1",
            "ratio@random ratio",
            "random 1e-3, heavy 3",
            "ratio@random heavy 3 ratio",
        ],
    );
    // Per ladder and solver: the three columns of the last table.
    let mut here: Vec<(String, &str, [f64; 3])> = Vec::new();
    let mut speed = 0.0_f64;
    let mut against = Vec::new();
    for scene in scenes() {
        let (mut rows, mut masses) = (Rows::default(), Masses::default());
        let fill = fastest(0.03, 10, || scene.fill(&mut rows, &mut masses));
        let (fall, random) = (scene.free_fall(&rows, &masses), scene.random(&rows, &masses));
        let relative = 1e-3 * largest(&fall);
        for kind in kinds().filter(|k| !too_large(*k, &scene)) {
            let mut solver = kind.make();
            let mut timing =
                |b: &[f64], tolerance| measure(solver.as_mut(), &rows, &masses, b, tolerance, 0.04);
            let [a, r, b, c, d] =
                [(&fall, 1e-3), (&fall, relative), (&fall, 1e-8), (&random, 1e-3), (&random, 1e-8)]
                    .map(|(b, tolerance)| timing(b, tolerance));
            let factor = [&a, &r, &b, &c, &d].iter().map(|t| t.factor).fold(f64::INFINITY, f64::min);
            all.push(vec![
                text(&*scene.name),
                text(scene.pose),
                number(scene.heavy),
                int(rows.len()),
                text(kind.name()),
                ms(factor),
                ms(a.solve).marked(!a.reached),
                int(a.report.iterations),
                ms(r.solve).marked(!r.reached),
                int(r.report.iterations),
                ms(b.solve).marked(!b.reached),
                int(b.report.iterations),
                sci(b.residual),
                ms(c.solve).marked(!c.reached),
                int(c.report.iterations),
                ms(d.solve).marked(!d.reached),
                int(d.report.iterations),
                sci(d.residual),
            ]);
            if scene.pose == "straight" && scene.held.is_empty() {
                if scene.heavy == 1.0 {
                    here.push((scene.name.clone(), kind.name(), [r.seconds(), c.seconds(), f64::NAN]));
                } else if let Some(h) = here.iter_mut().find(|h| h.0 == scene.name && h.1 == kind.name()) {
                    h.2[2] = c.seconds();
                }
            }
        }
        speed = speed.max(flops_per_second());
        let mut solver = SparseDirect::new();
        let start = Instant::now();
        solver.analyse(&rows, &masses);
        let analyse = start.elapsed().as_secs_f64();
        let (eliminate, entries) = solver.predicted();
        let t = measure(&mut solver, &rows, &masses, &random, 1e-10, 0.3);
        // Forming the matrix; the two triangles; and the product that checks the answer.
        let form = forming(&rows, &masses);
        let check = 2.0 * entries + 24.0 * rows.len() as f64;
        against.push((scene, rows.len(), [fill, analyse], t, [form, eliminate, check]));
    }
    let mut limit = Table::new(
        format!(
            "`sparse-direct` against the machine: milliseconds to fill rows and masses, to analyse (once per topology), \
             to factor and to solve a random right side to 1e-10. Predicted multiply-adds: to form the matrix from the \
             rows, to eliminate, and to solve and check. The limit is their sum at the speed of plain 3 x 3 block \
             products in cache, measured between the scenes of this run: {:.1} GFlop/s at best.",
            speed / 1e9
        ),
        &[
            "scene",
            "pose",
            "heavy",
            "rows",
            "fill rows",
            "analyse",
            "factor",
            "solve",
            "factor + solve",
            "residual",
            "refinements",
            "form",
            "eliminate",
            "solve and check",
            "limit",
            "times the limit",
        ],
    );
    for (scene, rows, [fill, analyse], t, products) in against {
        let least = 2.0 * products.iter().sum::<f64>() / speed;
        limit.push(vec![
            text(&*scene.name),
            text(scene.pose),
            number(scene.heavy),
            int(rows),
            ms(fill),
            ms(analyse),
            ms(t.factor),
            ms(t.solve),
            ms(t.seconds()),
            sci(t.residual),
            int(t.report.iterations),
            sci(products[0]),
            sci(products[1]),
            sci(products[2]),
            ms(least),
            number(t.seconds() / least),
        ]);
    }
    for (bars, patterns, times) in LADDERS {
        let name = format!("({bars},{patterns})");
        let ours = |method: &str| here.iter().find(|h| h.0 == name && h.1 == method).map(|h| h.2);
        let base = ours("structured-iterative");
        for (k, method) in METHODS.into_iter().chain(["sparse-direct"]).enumerate() {
            let printed = times.get(k).copied().flatten();
            let mut row = vec![text(&*name), text(method)];
            row.push(printed.map_or_else(none, number));
            row.push(printed.zip(times[3]).map_or_else(none, |(t, b)| number(t / b)));
            for column in 0..3 {
                row.push(ours(method).map_or_else(none, |t| ms(t[column])));
                row.push(ours(method).zip(base).map_or_else(none, |(t, b)| number(t[column] / b[column])));
            }
            paper.push(row);
        }
    }
    vec![all, limit, paper]
}
