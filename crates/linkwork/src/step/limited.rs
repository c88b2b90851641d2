//! Rows whose force has a limit, around the active set: motors that give what they have and no more.
//!
//! Solve; where a row would need more than it may, fix its force at the limit, take what that does out of the other
//! rows' right sides, and solve again without it. Motors are few, so a round or two does it.

use super::{StepConfig, IslandWork};

/// More rounds than this mean that motors work against each other; what then is left over is cut all the same.
const MOST_ROUNDS: usize = 4;

/// Solves the rows as they stand in `w.rows`, with `|lambda| <= most_force * unit` where a group has a limit. The answer
/// is in `w.correction`. Returns the iterations of the linear solver.
pub(super) fn solve(w: &mut IslandWork, c: &StepConfig, solids: usize, unit: f64) -> usize {
    let mut iterations = w.solve_bounded(c, solids);
    if w.rows.groups.iter().all(|g| g.most_force == f64::INFINITY) {
        return iterations;
    }
    let n = w.rows.len();
    w.fixed.clear();
    w.fixed.resize(n, 0.0);
    w.saturated.clear();
    w.saturated.resize(n, false);
    for round in 1..=MOST_ROUNDS {
        w.delta.clear();
        w.delta.resize(n, 0.0);
        let mut any = false;
        for g in w.rows.groups.iter().filter(|g| g.most_force.is_finite()) {
            let most = g.most_force * unit;
            for r in g.range() {
                if !w.saturated[r] && w.correction.lambda[r].abs() > most {
                    w.saturated[r] = true;
                    w.delta[r] = most.copysign(w.correction.lambda[r]);
                    w.fixed[r] = w.delta[r];
                    any = true;
                }
            }
        }
        if !any || round == MOST_ROUNDS {
            break;
        }
        w.push.clear();
        w.push.resize(solids, [0.0; 6]);
        w.rows.apply_transposed(&w.delta, &w.masses, &mut w.push);
        w.rows.apply(&w.push, &mut w.delta);
        for r in 0..n {
            if w.saturated[r] {
                (w.rows.low[r], w.rows.high[r]) = (f64::NEG_INFINITY, f64::INFINITY);
            } else {
                w.rows.low[r] -= w.delta[r];
                w.rows.high[r] -= w.delta[r];
            }
        }
        iterations += w.solve_bounded(c, solids);
    }
    for r in 0..n {
        if w.saturated[r] {
            w.correction.lambda[r] = w.fixed[r];
        }
    }
    w.correction.dq.iter_mut().for_each(|q| *q = [0.0; 6]);
    w.rows.apply_transposed(&w.correction.lambda, &w.masses, &mut w.correction.dq);
    iterations
}
