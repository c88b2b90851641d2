//! Assembly from scattered starts: how often it closes, and in how many iterations.

use crate::table::{Table, int, ms, number, text};
use std::time::Instant;

#[path = "../../linkwork/tests/scatter/table.rs"]
mod scatter;

/// The success table.
pub fn run() -> Vec<Table> {
    const TRIALS: usize = 200;
    let mut t = Table::new(
        "Assembly from scattered starts. Every solid is moved within a ball of `scatter` units and turned by a rotation \
         vector within a ball of `scatter` radians; closed means every gap <= 1e-6. Iterations are geometric ones, \
         restarts included, of the starts that closed.",
        &[
            "mechanism",
            "scatter",
            "starts",
            "closed",
            "without restart",
            "median iterations",
            "most iterations",
            "ms a start",
        ],
    );
    for scatter in [1.0, 3.0] {
        for (name, m) in scatter::mechanisms() {
            let start = Instant::now();
            let l = scatter::run(name, &m, scatter, TRIALS);
            t.push(vec![
                text(l.name),
                number(l.scatter),
                int(l.trials),
                int(l.closed),
                int(l.at_once),
                int(l.median_iterations),
                int(l.most_iterations),
                ms(start.elapsed().as_secs_f64() / l.trials as f64),
            ]);
        }
    }
    vec![t]
}
