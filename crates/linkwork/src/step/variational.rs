//! `variational`: SHAKE at `q_n` with discrete Moser-Veselov rotation, RATTLE velocities. Ours; the default.
//!
//! With momenta `p = M v` (world axes), forces `f`, rows `J` and impulses `L`, `m` along them:
//! ```text
//!     p_{n+1/2} = p_n + h/2 f(q_n) + J(q_n)^T L                      L such that  g(q_{n+1}) = 0
//!     q_{n+1}   = q_n + h M^-1 p_{n+1/2}                             (turns: see rotation.rs)
//!     p_{n+1}   = p_{n+1/2} + h/2 f(q_{n+1}) + J(q_{n+1})^T m        m such that  J(q_{n+1}) M^-1 p_{n+1} = 0
//! ```
//! Where the impulse acts decides what is conserved: along `J(q_n)`, one point for both solids, linear and angular
//! momentum are kept to rounding *at any accuracy of `L`*, and energy oscillates by `O(h^2)` without drift. (The 1998
//! step, with `J` at the predicted pose, is a brake.) Where `L` and `m` act at one pose they add up, so the path does not
//! depend on `m`: velocities may be as inexact as the budget wants.
//!
//! `L` is found by Newton's method with the matrix `J(q_n) M^-1 J(q_n)^T`, which is factored once: at the end of a step,
//! for the velocities, and again for the next one's `L`.
//!
//! Soft rows (compliance, springs, motors) take their force `beta h^2` ahead in time, `F = -k (g_n + 2 beta h J (v_{n+1/2}
//! - v_n)) - c J v_{n+1/2}`: with `beta >= 1/4` stable at any stiffness, symmetric in time, and the same matrix with
//! `2 / (2 beta k h^2 + c h)` on its diagonal in both halves of the step.
//!
//! A taut joint resists turning its solids: the torque `r x F` changes by `-K` per radian, `K = (F.r) 1 - sym(r F^T)` summed
//! over the joints of a solid. SHAKE takes that stiffness explicitly and is unstable from `h^2 K > 4 I` on (long heavy
//! chains at 60 Hz). For solids near that limit the inertia against *changes* of the spin is raised to `I + beta h^2 K`,
//! `beta = max(0, 0.3 - I / (h^2 K))`: Newmark's remedy, second order and stable at any tension. Such steps keep linear
//! momentum, and angular momentum up to `O(h^2)`. (`K` is exact for ball joints, whose second derivative couples no two
//! solids; Tournier and others 2015 use the same idea with full stabilisation.)
//!
//! When a step is too long for Newton it is cut into pieces, and if that does not help the piece is taken by the 1998
//! projection (`displacement.rs`), and the report says so.

use super::displacement::value;
use super::free::{Wrench, applied, move_scripted};
use super::workspace::AHEAD;
use super::{Advanced, Rejected, StepConfig, Workspace};
use crate::math::{Matrix, Vector};
use crate::mechanism::Mechanism;
use crate::rows::{HalfRow, Law, Rows, dot6};
use crate::solve::largest;
use crate::state::State;

/// How the search for the impulses ended.
enum Found {
    /// Gaps are closed, or as small as the budget made them.
    Yes,
    /// It does not converge from here.
    No,
}

pub(super) fn advance(
    m: &Mechanism,
    s: &mut State,
    w: &mut Workspace,
    c: &StepConfig,
    h: f64,
    end: f64,
) -> Result<Advanced, Rejected> {
    let mut done = Advanced::default();
    // What acts at the end of the step is what must hold there.
    let begin = s.time;
    s.time = end;
    let mut factored = w.linearise(m, s, c, h);
    if close_new(m, s, w, c, h, &mut done) {
        factored = false;
    }
    if !factored {
        // As at the end of the last step: the same numbers, so that a restored state has the same future.
        stiffen(s, w, h);
    }
    w.start.centers.clone_from(&s.centers);
    w.start.rotations.clone_from(&s.rotations);
    let clock = w.start(c);
    s.time = begin;
    applied(m, s, &w.masses, &mut w.wrenches);
    s.time = end;
    w.lanes.begin(s, &w.masses, &w.wrenches, m.epoch(), h);
    guess(s, w, h);
    move_scripted(m, s, h, end);
    w.stop(c, clock, |t| &mut t.motion);
    if !factored && !w.bounded {
        w.factor(c, false);
    }
    let found = positions(m, s, w, c, h, &mut done);
    if let Found::No = found {
        // Too long a step for this method: the projection of 1998 always has an answer.
        s.centers.clone_from(&w.start.centers);
        s.rotations.clone_from(&w.start.rotations);
        s.time = begin;
        w.forget();
        super::displacement::advance(m, s, w, c, h, end)?;
        s.memory = Default::default();
        w.linearise(m, s, c, h);
        done.fallback = true;
        w.momenta.clear();
        for i in 0..s.centers.len() {
            w.momenta.push(momentum(s, w, i));
        }
        w.lambda.clear();
        w.lambda.resize(w.rows.len(), 0.0);
        velocities(m, s, w, c, h, 0.0, &mut done);
    } else {
        velocities(m, s, w, c, h, 0.5 * h, &mut done);
    }
    for a in &w.rows.angles {
        s.angles[a.slot] = a.value;
    }
    s.memory.step = h;
    Ok(done)
}

/// A joint that starts to act (or a start that was never assembled) is closed before it moves anything: through the
/// positions alone, so that its gap does not turn into speed.
fn close_new(
    m: &Mechanism,
    s: &mut State,
    w: &mut Workspace,
    c: &StepConfig,
    h: f64,
    done: &mut Advanced,
) -> bool {
    let known = s.memory.forces.len() == w.rows.len() && s.memory.step > 0.0;
    if known || super::workspace::rigid_gaps(&w.rows).worst() <= c.tolerance.max(1e-9) {
        return false;
    }
    super::displacement::correct(m, s, w, c, None, done);
    w.linearise(m, s, c, h);
    true
}

/// Momentum of a solid in world axes.
fn momentum(s: &State, w: &Workspace, i: usize) -> Wrench {
    if !w.masses.moves(i) {
        return Wrench::default();
    }
    let q = s.rotations[i];
    let body = *w.masses.inertia(i) * (q.inverse() * s.spins[i]);
    Wrench { linear: s.velocities[i] * w.masses.mass(i), angular: q * body }
}

/// First guess of the impulses: the forces that held the velocities at the end of the last step, plus what that lacked.
/// And what soft rows aim for.
fn guess(s: &State, w: &mut Workspace, h: f64) {
    let n = w.rows.len();
    w.lambda.clear();
    let memory = &s.memory;
    if memory.forces.len() == n && memory.step > 0.0 {
        // `L` is the force a third of a step ahead, `m` the one a third of a step back.
        let ahead = 2.0 / 3.0 * (h / memory.step);
        let ahead = if memory.before.len() == n { ahead } else { 0.0 };
        w.lambda.extend(memory.forces.iter().map(|f| 0.5 * h * f));
        w.lambda.iter_mut().zip(&memory.forces).zip(&memory.before).for_each(|((l, f), b)| {
            *l += 0.5 * h * ahead * (f - b);
        });
    } else {
        w.lambda.resize(n, 0.0);
    }
    w.target.clear();
    w.target.resize(n, 0.0);
    for g in &w.rows.groups {
        match g.law {
            Law::Hold => {}
            Law::Rate(rate) => w.target[g.first..g.first + g.count].fill(h * rate),
            Law::Soft { stiffness: k, damping } => {
                for r in g.range() {
                    // A one-sided soft row pushes back from its bound.
                    let gap = -w.rows.wanted(r);
                    let speed = along(&w.rows, s, g.solids, r);
                    let hold = 2.0 * AHEAD * k + damping / h;
                    let aim = (2.0 * AHEAD * k * h * speed - k * gap) / hold;
                    w.target[r] = if hold > 0.0 { aim } else { 0.0 };
                }
            }
        }
    }
}

/// `J v` of one row.
pub(super) fn along(rows: &Rows, s: &State, solids: [usize; 2], r: usize) -> f64 {
    let [a, b] = solids.map(|i| twist(s, i));
    dot6(&rows.jacobian[r][0], &a) + dot6(&rows.jacobian[r][1], &b)
}

/// Velocity and spin of a solid.
fn twist(s: &State, i: usize) -> HalfRow {
    let (v, o) = (s.velocities[i], s.spins[i]);
    [v.x, v.y, v.z, o.x, o.y, o.z]
}

/// `J^T lambda` per solid.
fn gather(rows: &Rows, lambda: &[f64], out: &mut Vec<Wrench>, solids: usize) {
    out.clear();
    out.resize(solids, Wrench::default());
    for g in &rows.groups {
        for side in 0..2 {
            let mut sum = [0.0; 6];
            for r in g.range() {
                let j = &rows.jacobian[r][side];
                for k in 0..6 {
                    sum[k] += j[k] * lambda[r];
                }
            }
            let to = &mut out[g.solids[side]];
            to.linear += Vector::new(sum[0], sum[1], sum[2]);
            to.angular += Vector::new(sum[3], sum[4], sum[5]);
        }
    }
}

/// Raises the inertia of solids whose joints are so taut that the step would be unstable, by the forces in
/// `memory.pull`. Writes per solid what is left of an angular impulse into `w.dulls`. True when there are any.
fn stiffen(s: &State, w: &mut Workspace, h: f64) -> bool {
    w.dulls.clear();
    if s.memory.pull.len() != w.rows.len() {
        return false;
    }
    w.tension.clear();
    w.tension.resize(w.masses.len(), Matrix::ZERO);
    for g in &w.rows.groups {
        let mut f = Vector::ZERO;
        for r in g.range() {
            let j = &w.rows.jacobian[r][1];
            f += Vector::new(j[0], j[1], j[2]) * s.memory.pull[r];
        }
        for (side, f) in [(0, -f), (1, f)] {
            let i = g.solids[side];
            if w.masses.turns(i) {
                let r = g.points[side] - s.centers[i];
                // Only the symmetric part resists.
                let half = (outer(r, f) + outer(f, r)) * 0.5;
                w.tension[i] += Matrix::from_diagonal(Vector::splat(f.dot(r))) - half;
            }
        }
    }
    for i in 0..w.tension.len() {
        if !w.masses.turns(i) {
            continue;
        }
        let k = w.tension[i] * (h * h);
        let trace = |m: &Matrix| m.x_axis.x + m.y_axis.y + m.z_axis.z;
        let inverse = *w.masses.inverse_inertia(i);
        // The sum of the eigenvalues of h^2 K / I: at most three times the largest, and never below it while K pulls.
        let ratio = trace(&(inverse * k));
        let beta = 0.3 - 1.0 / ratio;
        if !(ratio > 0.0 && beta > 0.0) {
            continue;
        }
        // (I + beta h^2 K)^-1 = (1 + beta I^-1 h^2 K)^-1 I^-1
        let dull = (Matrix::IDENTITY + inverse * k * beta).inverse();
        let raised = dull * inverse;
        if raised.is_finite() && raised.determinant() > 0.0 {
            w.dulls.push((i, inverse.inverse() * raised));
            w.masses.set_inverse_inertia(i, raised);
        }
    }
    !w.dulls.is_empty()
}

/// `a b^T`.
fn outer(a: Vector, b: Vector) -> Matrix {
    Matrix::from_cols(a * b.x, a * b.y, a * b.z)
}

/// `q_{n+1}` for the impulses as they are; false when some solid turns too far for the rotation to have an answer.
fn place(s: &mut State, w: &mut Workspace, h: f64) -> bool {
    gather(&w.rows, &w.lambda, &mut w.impulses, s.centers.len());
    for (i, dull) in &w.dulls {
        w.impulses[*i].angular = *dull * w.impulses[*i].angular;
    }
    w.lanes.place(s, &w.impulses, h)
}

/// Newton's method for the impulses; `w.next` ends up with the rows at `q_{n+1}`.
fn positions(
    m: &Mechanism,
    s: &mut State,
    w: &mut Workspace,
    c: &StepConfig,
    h: f64,
    done: &mut Advanced,
) -> Found {
    let n = w.rows.len();
    let (mut first, mut best) = (f64::INFINITY, f64::INFINITY);
    let mut changes = 0;
    if w.bounded {
        start_bounds(w);
        w.factor(c, true);
    }
    for round in 0.. {
        let clock = w.start(c);
        if !place(s, w, h) {
            // A guess may overshoot; without one there is no excuse.
            if round == 0 && w.lambda.iter().any(|l| *l != 0.0) {
                w.lambda.fill(0.0);
                first = f64::INFINITY;
                w.lanes.restart();
                if !place(s, w, h) {
                    return Found::No;
                }
            } else {
                return Found::No;
            }
        }
        w.stop(c, clock, |t| &mut t.motion);
        let clock = w.start(c);
        let graph = &w.graph;
        // The first look decides nothing; later ones are likely to be the last, and then Jacobians are wanted.
        w.complete = round > 0;
        if w.complete {
            w.next.fill_motion(m, s, |j| graph.default_rank(j));
        } else {
            w.next.measure_motion(m, s, |j| graph.default_rank(j));
        }
        w.stop(c, clock, |t| &mut t.rows);
        if w.next.len() != n {
            return Found::No;
        }
        let changed = w.bounded && update_bounds(w, h, &mut changes);
        residual(w, h);
        let worst = largest(&w.b);
        if !worst.is_finite() {
            return Found::No;
        }
        first = first.min(worst);
        let good = worst <= 1e-3 * c.tolerance || (round > 0 && worst <= c.tolerance);
        if !changed && (good || worst == 0.0) {
            return Found::Yes;
        }
        if round >= c.iterations || (round > 0 && w.is_over(c)) {
            // Out of budget: usable unless it ran away.
            let diverged =
                worst > 4.0 * first.max(c.tolerance) || (c.iterations >= 4 && worst > first.max(c.tolerance));
            return if diverged { Found::No } else { Found::Yes };
        }
        if round > 2 && worst > 1e3 * best {
            return Found::No;
        }
        best = best.min(worst);
        if changed {
            w.factor(c, true);
        }
        let report = w.solve(c, 1e-3 * c.tolerance.min(worst));
        done.solver_iterations += report.iterations;
        done.iterations += 1;
        w.lambda.iter_mut().zip(&w.delta).for_each(|(l, d)| *l += d / h);
    }
    Found::No
}

/// What the rows still ask for, in the units of `h^2 A`: `b = A (h lambda)` wanted minus had.
fn residual(w: &mut Workspace, h: f64) {
    w.b.clear();
    for g in &w.rows.groups {
        for r in g.range() {
            if w.bounded && !w.active[r] {
                w.b.push(0.0);
                continue;
            }
            // The rows ask for `-gap`: gaps change by what they asked before minus what they ask now.
            let left = if w.bounded && w.at_high[r] { w.next.high[r] } else { w.next.low[r] };
            w.b.push(match g.law {
                Law::Hold => left,
                Law::Rate(_) => w.target[r] - (value(&w.next, r) - value(&w.rows, r)),
                Law::Soft { .. } => {
                    let change = value(&w.next, r) - value(&w.rows, r);
                    w.target[r] - change - w.rows.softness[r] * h * w.lambda[r]
                }
            });
        }
    }
}

/// One-sided rows start without force, unless they had one in the last step.
fn start_bounds(w: &mut Workspace) {
    let n = w.rows.len();
    w.active.clear();
    w.active.resize(n, true);
    w.at_high.clear();
    w.at_high.resize(n, false);
    for r in (0..n).filter(|r| !w.rows.is_equality(*r)) {
        w.active[r] = w.lambda[r] != 0.0;
        w.at_high[r] = w.lambda[r] < 0.0;
    }
}

/// Takes one-sided rows on and lets them go, and cuts forces at their limits. True when the set changed.
fn update_bounds(w: &mut Workspace, h: f64, changes: &mut usize) -> bool {
    // Rows are let go for so long; after that they only come, so that it ends.
    const MOST: usize = 12;
    let mut changed = false;
    for g in &w.rows.groups {
        let most = 0.5 * h * g.most_force;
        for r in g.range() {
            if w.rows.is_equality(r) {
                if most.is_infinite() {
                    continue;
                }
                if w.active[r] && w.lambda[r].abs() > most {
                    w.lambda[r] = most.copysign(w.lambda[r]);
                    w.active[r] = false;
                    changed = true;
                } else if !w.active[r] {
                    // Cut: it comes back when it would pull the other way.
                    let change = value(&w.next, r) - value(&w.rows, r);
                    let lacks = if g.law == Law::Hold { w.next.low[r] } else { w.target[r] - change };
                    if lacks * w.lambda[r] < 0.0 && *changes < MOST {
                        w.active[r] = true;
                        changed = true;
                    }
                }
                continue;
            }
            let (low, high) = (w.next.low[r], w.next.high[r]);
            if w.active[r] {
                let pulls = if w.at_high[r] { w.lambda[r] > 0.0 } else { w.lambda[r] < 0.0 };
                if pulls && *changes < MOST {
                    w.active[r] = false;
                    w.lambda[r] = 0.0;
                    changed = true;
                }
            } else if low > 1e-12 || high < -1e-12 {
                w.active[r] = true;
                w.at_high[r] = high < 0.0;
                changed = true;
            }
        }
    }
    *changes += usize::from(changed);
    changed
}

/// The second half of the step at `q_{n+1}`: forces, and velocities that keep to the constraints. `kick` is `h/2`, or
/// zero when the momenta are those of the end already.
fn velocities(
    m: &Mechanism,
    s: &mut State,
    w: &mut Workspace,
    c: &StepConfig,
    h: f64,
    kick: f64,
    done: &mut Advanced,
) {
    let n = w.rows.len();
    if kick > 0.0 {
        // `place` left the impulses per solid.
        w.lanes.momenta(&w.impulses, &mut w.momenta);
        std::mem::swap(&mut w.rows, &mut w.next);
        let clock = w.start(c);
        let graph = &w.graph;
        if !w.complete {
            w.rows.fill_motion(m, s, |j| graph.default_rank(j));
        }
        w.settle(m, s, h);
        w.stop(c, clock, |t| &mut t.rows);
    }
    let clock = w.start(c);
    applied(m, s, &w.masses, &mut w.wrenches);
    // Velocities before the second half: soft rows start from them.
    for i in 0..n_solids(s) {
        if w.masses.moves(i) {
            s.velocities[i] = w.momenta[i].linear * w.masses.inverse_mass(i);
            s.spins[i] = *w.masses.inverse_inertia(i) * w.momenta[i].angular;
        }
    }
    w.target.clear();
    w.target.resize(n, 0.0);
    for g in &w.rows.groups {
        match g.law {
            Law::Hold => {}
            Law::Rate(rate) => w.target[g.first..g.first + g.count].fill(rate),
            Law::Soft { stiffness: k, damping } => {
                for r in g.range() {
                    let speed = along(&w.rows, s, g.solids, r);
                    let gap = -w.rows.wanted(r);
                    let hold = 2.0 * AHEAD * k * h + damping;
                    w.target[r] =
                        if hold > 0.0 { (2.0 * AHEAD * k * h * speed - k * gap) / hold } else { 0.0 };
                }
            }
        }
    }
    for i in 0..n_solids(s) {
        if w.masses.moves(i) {
            s.velocities[i] += w.wrenches[i].linear * (kick * w.masses.inverse_mass(i));
            s.spins[i] += *w.masses.inverse_inertia(i) * w.wrenches[i].angular * kick;
        }
    }
    w.stop(c, clock, |t| &mut t.motion);
    s.memory.pull.clear();
    s.memory.pull.extend(w.lambda.iter().map(|l| l * 2.0 / h));
    if !stiffen(s, w, h) {
        s.memory.pull.clear();
    }
    if w.bounded {
        // What pushed in the first half keeps its speed from going on; the rest is free.
        for g in &w.rows.groups {
            for r in g.range().filter(|r| !w.rows.is_equality(*r)) {
                w.active[r] = kick > 0.0 && w.active[r] && w.lambda[r] != 0.0;
            }
        }
    }
    let masked = w.bounded && w.active.len() == n;
    w.factor(c, masked);
    w.lambda.clear();
    w.lambda.resize(n, 0.0);
    for _ in 0..if masked { 4 } else { 1 } {
        w.b.clear();
        for g in &w.rows.groups {
            let [a, b] = g.solids.map(|i| twist(s, i));
            for (r, j) in g.range().zip(&w.rows.jacobian[g.range()]) {
                let on = !masked || w.active[r];
                let gone = w.rows.softness.get(r).map_or(0.0, |e| e * w.lambda[r]);
                w.b.push(if on { w.target[r] - (dot6(&j[0], &a) + dot6(&j[1], &b)) - gone } else { 0.0 });
            }
        }
        let report = w.solve(c, 1e-3 * c.tolerance);
        done.solver_iterations += report.iterations;
        w.lambda.iter_mut().zip(&w.delta).for_each(|(l, d)| *l += d);
        push(s, w);
        if !masked || !cut(s, w, h) {
            break;
        }
        w.factor(c, true);
    }
    let memory = &mut s.memory;
    std::mem::swap(&mut memory.before, &mut memory.forces);
    memory.forces.clear();
    memory.forces.extend(w.lambda.iter().map(|l| l * 2.0 / h));
}

fn n_solids(s: &State) -> usize {
    s.centers.len()
}

/// Adds `M^-1 J^T delta` to the velocities.
fn push(s: &mut State, w: &mut Workspace) {
    gather(&w.rows, &w.delta, &mut w.impulses, s.centers.len());
    for i in 0..s.centers.len() {
        if w.masses.moves(i) {
            s.velocities[i] += w.impulses[i].linear * w.masses.inverse_mass(i);
            s.spins[i] += *w.masses.inverse_inertia(i) * w.impulses[i].angular;
        }
    }
}

/// Takes back impulses that pull on a one-sided row or exceed a motor's limit. True when there were any.
fn cut(s: &mut State, w: &mut Workspace, h: f64) -> bool {
    let mut any = false;
    w.delta.fill(0.0);
    for g in &w.rows.groups {
        let most = 0.5 * h * g.most_force;
        for r in g.range() {
            if !w.active[r] {
                continue;
            }
            let one_sided = !w.rows.is_equality(r);
            let allowed = if one_sided {
                if w.at_high[r] { w.lambda[r].min(0.0) } else { w.lambda[r].max(0.0) }
            } else {
                w.lambda[r].clamp(-most, most)
            };
            if allowed != w.lambda[r] {
                w.delta[r] = allowed - w.lambda[r];
                w.lambda[r] = allowed;
                w.active[r] = false;
                any = true;
            }
        }
    }
    if any {
        push(s, w);
    }
    any
}
