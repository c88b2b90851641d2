//! `implicit`: Hong 2005, Eqs. 11-16. Constraints at the end of the step, linearised at its start: one linear system.
//!
//! ```text
//!     v_{n+1} = v_n + h M^-1 (F - Phi_q^T l)                                                   (11)
//!     q_{n+1} = q_n + h v_{n+1}                                                                (12)
//!     Phi + Phi_q (q_{n+1} - q_n) + Phi_t h = 0                                                (14)
//!     Phi_q M^-1 Phi_q^T l = Phi / h^2 + Phi_t / h + Phi_q (v_n / h + M^-1 F)                  (16)
//! ```
//! First order, and damped: the curvature of a constraint is met a step late, so a particle on a circle runs outside of
//! it by `theta^2 / 2` of the radius per step of angle `theta`, and comes back. This is one Newton step of `variational`
//! without its velocities. A start that does not meet the constraints is pulled in within a step or two, and its gap
//! turns into speed for as long.
//!
//! The paper has particles. For solids the gyroscopic torque is taken at the end of the step (`rotation::spin_ahead`):
//! explicitly it would feed energy into every tumbling solid. Soft rows are implicit as well:
//! `F = -k (g + h J v_{n+1}) - c J v_{n+1}`.

use super::free::{applied, move_scripted, moving};
use super::rotation::spin_ahead;
use super::{Advanced, IslandWork, Piece, Rejected};
use crate::math::{Vector, exp};
use crate::rows::{Seen, Stage};
use crate::state::State;

pub(super) fn advance(piece: &Piece, s: &mut State, w: &mut IslandWork) -> Result<Advanced, Rejected> {
    let Piece { m, c, h, end, .. } = *piece;
    let mut done = Advanced { iterations: 1, ..Advanced::default() };
    let solids = s.centers.len();
    w.masses.update(m, s);
    let clock = w.start(c);
    applied(piece, s, &w.masses, &mut w.wrenches);
    s.time = end;
    w.stop(c, clock, |t| &mut t.motion);
    // What acts at the end of the step is what must hold there.
    w.relinearise(piece, s, end);
    let clock = w.start(c);
    free_velocities(s, w, h);
    // Phi_t h: what the motion of solids with a trajectory does to the rows.
    move_scripted(m, s, h, end);
    w.push.clear();
    w.push.extend((0..solids).map(|i| moving(m, s, i).map(|x| x * h)));
    // The rows as the free motion would leave them.
    w.delta.clear();
    w.delta.resize(w.rows.len(), 0.0);
    w.rows.apply(&w.push, &mut w.delta);
    let free = std::mem::take(&mut w.delta);
    w.ask(&Stage::Positions { h }, |rows, _, r| Seen {
        low: rows.low[r] - free[r],
        high: rows.high[r] - free[r],
        moved: free[r],
        ..Seen::default()
    });
    w.delta = free;
    w.lambda.clear();
    w.lambda.resize(w.rows.len(), 0.0);
    w.stop(c, clock, |t| &mut t.motion);
    w.factor_lower(c);
    done.solver_iterations += w.solve_asks(c, 1e-3 * c.tolerance);
    w.note_limits(1.0);
    for i in (0..solids).filter(|i| w.masses.moves(*i)) {
        let d = w.dq[i].map(|x| x / h);
        s.velocities[i] += Vector::new(d[0], d[1], d[2]);
        s.spins[i] += Vector::new(d[3], d[4], d[5]);
        s.centers[i] += s.velocities[i] * h;
        s.rotations[i] = (exp(s.spins[i] * h) * s.rotations[i]).normalize();
    }
    w.motors.push(&w.lambda, 1.0 / h);
    s.memory.own_mut().remember(h, &w.rows.keys, w.lambda.iter().map(|l| l / (h * h)));
    w.relinearise(piece, s, end);
    for a in &w.rows.angles {
        s.angles[a.slot] = a.value;
    }
    Ok(done)
}

/// `v_n + h M^-1 F`, gyroscopic torque included.
pub(super) fn free_velocities(s: &mut State, w: &IslandWork, h: f64) {
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        let (q, f) = (s.rotations[i], w.wrenches[i]);
        s.velocities[i] += f.linear * (w.masses.inverse_mass(i) * h);
        if w.masses.turns(i) {
            let back = q.inverse();
            s.spins[i] = q * spin_ahead(w.masses.inertia(i), back * s.spins[i], back * f.angular, h);
        }
    }
}
