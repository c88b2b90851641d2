//! How well solvers keep a deadline, and what they have by then.

use crate::scenes::{Scene, residual};
use crate::solvers::{kinds, too_large};
use crate::table::{Table, int, ms, number, sci, text};
use linkwork::rows::{Masses, Rows};
use linkwork::solve::{Problem, Work};
use std::time::Instant;

/// Solves per line: an overrun is judged by its worst.
const SOLVES: usize = 50;
/// What a deadline may be overrun by, unless one factorisation takes longer.
const ALLOWED: f64 = 2e-4;

/// The table.
pub fn run() -> Vec<Table> {
    let mut t = Table::new(
        "Deadlines: a random right side to 1e-12, cold, with so many milliseconds to do it. Of 50 solves: the time beyond the \
         deadline that half, nine tenths and all of them keep to (zero when the answer came sooner; `!` where nine tenths do \
         not keep to 0.2 ms or one factorisation, whichever is longer; a worst far above the rest is another process), \
         what was left of the right side's largest entry, measured without the solver, and in how many the clock ended it.",
        &[
            "scene",
            "rows",
            "solver",
            "deadline",
            "one factorisation",
            "over, median",
            "over, 9 in 10",
            "over, worst",
            "left",
            "iterations",
            "ended by the clock",
        ],
    );
    for scene in [Scene::ladder(6, 96, 3.0), Scene::ladder(6, 1536, 3.0), Scene::net(40, 40)] {
        let (mut rows, mut masses) = (Rows::default(), Masses::default());
        scene.fill(&mut rows, &mut masses);
        let b = scene.random(&rows, &masses);
        for kind in kinds().filter(|k| !too_large(*k, &scene)) {
            let mut solver = kind.make();
            let problem = Problem { rows: &rows, masses: &masses, active: &[], damping: None };
            solver.factor(&problem);
            let start = Instant::now();
            solver.factor(&problem);
            let factor = start.elapsed().as_secs_f64();
            for deadline in [2e-4, 1e-3, 5e-3] {
                let (mut over, mut clock, mut last) = (Vec::new(), 0, None);
                let mut lambda = vec![0.0; b.len()];
                for _ in 0..SOLVES {
                    lambda.fill(0.0);
                    let start = Instant::now();
                    let late = || start.elapsed().as_secs_f64() > deadline;
                    let work = Work { iterations: 1_000_000, tolerance: 1e-12, out_of_time: Some(&late) };
                    let report = solver.solve(&b, &mut lambda, &work);
                    over.push((start.elapsed().as_secs_f64() - deadline).max(0.0));
                    clock += usize::from(report.stop == linkwork::solve::Stop::Time);
                    last = Some(report);
                }
                over.sort_by(f64::total_cmp);
                let most = over[SOLVES * 9 / 10];
                t.push(vec![
                    text(&*scene.name),
                    int(rows.len()),
                    text(kind.name()),
                    ms(deadline),
                    ms(factor),
                    ms(over[SOLVES / 2]),
                    ms(most).marked(most > ALLOWED.max(factor)),
                    ms(over[SOLVES - 1]),
                    sci(residual(&rows, &masses, &lambda, &b)),
                    number(last.map_or(0, |r| r.iterations) as f64),
                    int(clock),
                ]);
            }
        }
    }
    vec![t]
}
