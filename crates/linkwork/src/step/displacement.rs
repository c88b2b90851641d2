//! `displacement`: Faure 1998, sections 4.2 and 3.4. Störmer's free motion, then the correction.
//!
//! ```text
//!     D += M^-1 f dt^2;   q += D;   d = correction(q);   q += d;   D += d
//! ```
//! No velocities: the displacement `D` of the last step takes their place, kept in the state as `D / dt`. The start is
//! `D(0) = q' dt - 1/2 q'' dt^2` and a change of step scales by `dt1 / dt0` *and* takes `q'' dt1 (dt0 + dt1) / 2` (see
//! the errata; print has neither).
//!
//! The printed form is kept, and with it what it does: the correction acts along the rows at the *predicted* pose, which
//! makes it a brake. A particle on a circle that advances by the angle `a` per step has `E/E0 = 1 / (1 + 2 n a^2)` after
//! `n` steps, and angular momentum drifts; linear momentum stays. It is very robust in return: it has an answer for any
//! length of the step, and that is why it is what `variational` falls back to. Rotations, on which the paper is silent,
//! go on by the turn of the last step under their gyroscopic torque (`rotation::spin_ahead`); without it a tumbling solid
//! would keep its axis, whatever its inertia, and lose two thirds of its angular momentum within seconds.

use super::free::{applied, move_scripted};
use super::rotation::spin_ahead;
use super::work::rigid_gaps;
use super::{Advanced, IslandWork, Piece, Rejected};
use crate::math::{Vector, exp, log, unwrap_angle};
use crate::rows::{Rows, Seen, Stage, Unit};
use crate::state::State;

pub(super) fn advance(piece: &Piece, s: &mut State, w: &mut IslandWork) -> Result<Advanced, Rejected> {
    let Piece { m, h, end, .. } = *piece;
    let mut done = Advanced::default();
    close_new(piece, s, w, &mut done);
    w.masses.update(m, s);
    applied(piece, s, &w.masses, &mut w.wrenches);
    // Erratum 4: with steps of h0 and h, the acceleration acts over h (h0 + h) / 2; erratum 3: half a step at first.
    let over = 0.5 * (s.memory.own().substep + h);
    s.time = end;
    w.start.clone_from(s);
    for i in 0..s.centers.len() {
        if !w.masses.moves(i) {
            continue;
        }
        let f = w.wrenches[i];
        s.velocities[i] += f.linear * (w.masses.inverse_mass(i) * over);
        if w.masses.turns(i) {
            let q = s.rotations[i];
            let back = q.inverse();
            s.spins[i] = q * spin_ahead(w.masses.inertia(i), back * s.spins[i], back * f.angular, over);
        }
        s.centers[i] += s.velocities[i] * h;
        s.rotations[i] = (exp(s.spins[i] * h) * s.rotations[i]).normalize();
    }
    w.measure_start(piece);
    move_scripted(m, s, h, end);
    w.relinearise(piece, s, end);
    correct(piece, s, w, true, &mut done);
    for i in 0..s.centers.len() {
        if w.masses.moves(i) {
            s.velocities[i] = (s.centers[i] - w.start.centers[i]) / h;
            s.spins[i] = log(s.rotations[i] * w.start.rotations[i].inverse()) / h;
        }
    }
    for a in &w.rows.angles {
        s.angles[a.slot] = a.value;
    }
    w.motors.push(&w.lambda, 1.0 / h);
    s.memory.own_mut().remember(h, &w.rows.keys, w.lambda.iter().map(|l| l / (h * h)));
    Ok(done)
}

/// A joint that starts to act (or a start that was never assembled) is closed before it moves anything: through the
/// positions alone, so that its gap does not turn into speed (1994, section 2.3).
pub(super) fn close_new(piece: &Piece, s: &mut State, w: &mut IslandWork, done: &mut Advanced) {
    w.relinearise(piece, s, piece.end);
    if w.has_new_gaps(s, piece.c.tolerance) {
        /// A gap that takes a motion so many times as long to close is not closed by it: the rows nearly depend on each other.
        const FARTHEST: f64 = 1e3;
        let gap = rigid_gaps(&w.rows).worst();
        let mut before = std::mem::take(&mut w.before);
        before.clone_from(s);
        correct(piece, s, w, false, done);
        let far = |i: usize| !(s.centers[i].distance(before.centers[i]) <= FARTHEST * gap);
        if (0..s.centers.len()).any(far) {
            s.clone_from(&before);
            w.relinearise(piece, s, piece.end);
        }
        w.before = before;
        done.closed = true;
        w.closed.clone_from(s);
    }
}

/// The correction of section 3.4: linearise, solve, move, until the gaps are closed or the budget is spent. Rows are
/// those of `s` before and after.
///
/// `in_time` soft rows, motors and limited forces take part over the piece, measured against the rows in `w.next` at its
/// start. Otherwise only what is rigid does.
pub(super) fn correct(piece: &Piece, s: &mut State, w: &mut IslandWork, in_time: bool, done: &mut Advanced) {
    let Piece { m, c, .. } = *piece;
    let stage = if in_time { Stage::Positions { h: piece.h } } else { Stage::Close };
    w.lambda.clear();
    w.lambda.resize(w.rows.len(), 0.0);
    for round in 0..c.iterations.max(1) {
        // In time the first round is always solved: however small the gaps are, forces are made of them. And soft rows and
        // motors are linear enough for one solve; rigid ones decide when it is enough.
        let first = in_time && round == 0 && !w.rows.is_empty();
        let closed = rigid_gaps(&w.rows).worst() <= c.tolerance;
        if !first && (closed || (done.iterations > 0 && w.is_over(c))) {
            break;
        }
        let before = std::mem::take(&mut w.next);
        w.ask(&stage, |rows, _, r| {
            let moved = if before.len() == rows.len() { change(&before, rows, r) } else { 0.0 };
            Seen { moved, ..Seen::at(rows, r) }
        });
        w.next = before;
        w.factor_lower(c);
        done.solver_iterations += w.solve_asks(c, 1e-3 * c.tolerance);
        w.note_limits(1.0);
        for i in (0..m.solids().len()).filter(|i| w.masses.moves(*i)) {
            let mut dq = w.dq[i];
            let angle = Vector::new(dq[3], dq[4], dq[5]).length();
            if angle > c.max_rotation {
                dq[3..].iter_mut().for_each(|x| *x *= c.max_rotation / angle);
            }
            s.displace(i, &dq);
        }
        done.iterations += 1;
        w.relinearise(piece, s, piece.end);
    }
}

/// By how much a row's value changed between two fills of the same rows. Angles that are not counted jump by whole turns.
pub(super) fn change(before: &Rows, now: &Rows, r: usize) -> f64 {
    let change = value(now, r) - value(before, r);
    if now.unit[r] == Unit::Angle { unwrap_angle(change, 0.0) } else { change }
}

/// A number that changes as the row's value does.
pub(super) fn value(rows: &Rows, r: usize) -> f64 {
    if rows.low[r].is_finite() { -rows.low[r] } else { -rows.high[r] }
}
