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
//! `2 / (2 beta k h^2 + c h)` on its diagonal in both halves of the step. Rows too stiff for the step are damped on top of
//! that (`workspace::calm`).
//!
//! Solids whose joints are very taut get a larger inertia against changes of their spin (`tension.rs`).
//!
//! When a step is too long for Newton it is cut into pieces, and if that does not help the piece is taken by the 1998
//! projection (`displacement.rs`), and the report says so.

use super::displacement::change;
use super::free::{Wrench, applied, move_scripted};
use super::tension::stiffen;
use super::workspace::AHEAD;
use super::{Advanced, Rejected, StepConfig, Workspace};
use crate::mechanism::Mechanism;
use crate::rows::{BallRows, HalfRow, Law, Rows, dot6};
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
        // As at the end of the last step: the same numbers, so that a restored state has the same future. From the
        // plain masses: where bounds came and went there is no factor to keep, but the masses were raised already.
        w.masses.update(m, s);
        stiffen(s, w, h);
    }
    if w.scripted {
        w.start.centers.clone_from(&s.centers);
        w.start.rotations.clone_from(&s.rotations);
    }
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
    let mut found = positions(m, s, w, c, h, &mut done);
    if matches!(found, Found::Yes) && w.undriven && thrown(w) {
        found = Found::No;
    }
    if matches!(found, Found::No) && !s.memory.forces.is_empty() && !w.is_over(c) {
        // The guess may have been the reason.
        w.lambda.fill(0.0);
        w.lanes.restart();
        found = positions(m, s, w, c, h, &mut done);
        if matches!(found, Found::Yes) && w.undriven && thrown(w) {
            found = Found::No;
        }
    }
    if let Found::No = found {
        // Too long a step for this method. Light solids that hold heavy ones are like taut strings, and need pieces as
        // short as their swing across; past the shortest, the projection of 1998 has an answer to everything.
        if !w.last_try {
            return Err(Rejected::TooLong);
        }
        if w.scripted {
            s.centers.clone_from(&w.start.centers);
            s.rotations.clone_from(&w.start.rotations);
        }
        w.lanes.restore(s);
        s.time = begin;
        w.forget();
        let balls = w.write_balls(BallRows::Frame);
        let taken = super::displacement::advance(m, s, w, c, h, end);
        w.write_balls(balls);
        taken?;
        s.memory = Default::default();
        w.linearise(m, s, c, h);
        done.fallback = true;
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
    let balls = w.write_balls(BallRows::Frame);
    w.relinearise(m, s, c);
    super::displacement::correct(m, s, w, c, None, done);
    w.write_balls(balls);
    w.linearise(m, s, c, h);
    true
}

/// First guess of the impulses: those that held the velocities at the end of the last step. What `L` was wrong by left a
/// gap and, by the same motion, a speed along it; `m` took the speed back, and the next `L` takes the gap back by the
/// same amount. Extrapolating forces over several steps loses that, and takes twice the iterations. And what soft rows
/// aim for.
fn guess(s: &State, w: &mut Workspace, h: f64) {
    let n = w.rows.len();
    w.lambda.clear();
    let memory = &s.memory;
    if memory.forces.len() == n && memory.step > 0.0 {
        w.lambda.extend(memory.forces.iter().map(|f| 0.5 * h * f));
    } else {
        w.lambda.resize(n, 0.0);
    }
    w.target.clear();
    w.target.resize(n, 0.0);
    for g in w.rows.others() {
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

/// `q_{n+1}` for the impulses as they are; false when some solid turns too far for the rotation to have an answer.
fn place(s: &mut State, w: &mut Workspace, h: f64, rough: bool) -> bool {
    w.impulses.resize(s.centers.len(), Wrench::default());
    w.rows.collect(&w.lambda, &mut w.impulses);
    for (i, dull) in &w.dulls {
        w.impulses[*i].angular = *dull * w.impulses[*i].angular;
    }
    w.lanes.place(s, &w.impulses, h, rough)
}

/// The impulses of rigid joints throw the solids about: they meet the constraints by force, as next to a singular pose,
/// where a small gap takes a large motion. What they may add is the speed at which constraints bend: a sixteenth of the
/// energy at half a radian per step.
fn thrown(w: &Workspace) -> bool {
    let (before, after) = w.lanes.energies();
    after > 1.5 * before
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
    let (mut changes, mut conflict) = (0, false);
    w.active.clear();
    if w.bounded {
        start_bounds(w);
        w.factor(c, true);
    }
    for round in 0.. {
        let clock = w.start(c);
        // The first look decides nothing, unless there is nothing to decide.
        let rough = round == 0 && n > 0;
        if !place(s, w, h, rough) {
            // A guess may overshoot; without one there is no excuse.
            if round == 0 && w.lambda.iter().any(|l| *l != 0.0) {
                w.lambda.fill(0.0);
                first = f64::INFINITY;
                w.lanes.restart();
                if !place(s, w, h, rough) {
                    return Found::No;
                }
            } else {
                return Found::No;
            }
        }
        w.stop(c, clock, |t| &mut t.motion);
        let clock = w.start(c);
        let graph = &w.graph;
        // Later looks are likely to be the last, and then Jacobians are wanted.
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
        // Half of it per row: gaps are reported per joint, as the length of three.
        let good = worst <= 1e-3 * c.tolerance || (round > 0 && worst <= 0.5 * c.tolerance);
        if !changed && (good || worst == 0.0) {
            return if rough && !place(s, w, h, false) { Found::No } else { Found::Yes };
        }
        if round >= c.iterations || (round > 0 && w.is_over(c)) {
            // Out of budget: usable unless it ran away.
            // What wanders about near the tolerance is at the end of what the solver can tell: that is no divergence.
            let diverged = if c.iterations >= 4 {
                // Not there yet either, unless the rows contradict each other: shorter pieces then are worth a try.
                worst > first.max(100.0 * c.tolerance)
                    || (worst > 10.0 * c.tolerance && !conflict && !w.last_try && !w.is_over(c))
            } else {
                worst > 4.0 * first.max(c.tolerance)
            };
            return if diverged { Found::No } else { Found::Yes };
        }
        if round > 2 && worst > 1e3 * best {
            return Found::No;
        }
        best = best.min(worst);
        if changed {
            w.factor(c, true);
        }
        // Gaps tell soon enough whether an answer was good.
        if round <= 2 && w.substitute(c) {
            done.solver_iterations += 1;
            conflict = false;
        } else {
            let report = w.solve(c, 1e-3 * c.tolerance.min(worst));
            conflict = !(report.residual <= 0.1 * worst);
            done.solver_iterations += report.iterations;
        }
        done.iterations += 1;
        let per = 1.0 / h;
        w.lambda.iter_mut().zip(&w.delta).for_each(|(l, d)| *l += d * per);
    }
    Found::No
}

/// What the rows still ask for, in the units of `h^2 A`: `b = A (h lambda)` wanted minus had.
fn residual(w: &mut Workspace, h: f64) {
    w.b.clone_from(&w.next.low);
    for g in w.rows.others() {
        for r in g.range() {
            if w.bounded && !w.active[r] {
                w.b[r] = 0.0;
                continue;
            }
            // The rows ask for `-gap`: gaps change by what they asked before minus what they ask now.
            w.b[r] = match g.law {
                Law::Hold => {
                    if w.bounded && w.at_high[r] {
                        w.next.high[r]
                    } else {
                        w.next.low[r]
                    }
                }
                Law::Rate(_) => w.target[r] - change(&w.rows, &w.next, r),
                Law::Soft { .. } => {
                    let change = change(&w.rows, &w.next, r);
                    w.target[r] - change - w.rows.softness[r] * h * w.lambda[r]
                }
            };
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
    for g in w.rows.others() {
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
                    let change = change(&w.rows, &w.next, r);
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
    if kick > 0.0 && !w.rows.softness.is_empty() {
        // Velocities before the second half: soft rows start from them. `place` left the impulses per solid.
        w.lanes.velocities(s, &w.impulses, &w.wrenches, &w.masses, 0.0);
    }
    w.target.clear();
    w.target.resize(n, 0.0);
    for g in w.rows.others() {
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
    if kick > 0.0 {
        w.lanes.velocities(s, &w.impulses, &w.wrenches, &w.masses, kick);
    }
    w.stop(c, clock, |t| &mut t.motion);
    s.memory.pull.clear();
    s.memory.pull.extend(w.lambda.iter().map(|l| l * 2.0 / h));
    if !stiffen(s, w, h) {
        s.memory.pull.clear();
    }
    if w.bounded && w.active.len() != n {
        // A bound whose ends met at the start of the step, or steps that never came to the positions.
        start_bounds(w);
    }
    if w.bounded {
        // What pushed in the first half keeps its speed from going on; the rest is free.
        for g in &w.rows.groups {
            for r in g.range() {
                // Motors that were cut at their limit are asked again, and cut again.
                w.active[r] = w.rows.is_equality(r) || (kick > 0.0 && w.active[r] && w.lambda[r] != 0.0);
            }
        }
    }
    let masked = w.bounded && w.active.len() == n;
    w.factor(c, masked);
    w.lambda.clear();
    w.lambda.resize(n, 0.0);
    for round in 0..4 {
        w.rows.speeds(s, &mut w.b);
        w.b.iter_mut().zip(&w.target).for_each(|(b, t)| *b = t - *b);
        for (b, (e, l)) in w.b.iter_mut().zip(w.rows.softness.iter().zip(&w.lambda)) {
            *b -= e * l;
        }
        if masked {
            w.b.iter_mut().zip(&w.active).filter(|(_, on)| !**on).for_each(|(b, _)| *b = 0.0);
        }
        // The second look is at what the first answer made; what it left, a checked solve takes away.
        if round == 1 && !masked && (largest(&w.b) <= 1e-3 * c.tolerance || w.is_over(c)) {
            break;
        }
        let unchecked = round == 0 && !masked && w.substitute(c);
        done.solver_iterations += if unchecked { 1 } else { w.solve(c, 1e-3 * c.tolerance).iterations };
        w.lambda.iter_mut().zip(&w.delta).for_each(|(l, d)| *l += d);
        push(s, w);
        let again = if masked { cut(s, w, h) } else { unchecked };
        if !again {
            break;
        }
        if masked {
            w.factor(c, true);
        }
    }
    let memory = &mut s.memory;
    memory.forces.clear();
    memory.forces.extend(w.lambda.iter().map(|l| l * 2.0 / h));
}

/// Adds `M^-1 J^T delta` to the velocities.
fn push(s: &mut State, w: &mut Workspace) {
    w.impulses.resize(s.centers.len(), Wrench::default());
    w.rows.collect(&w.delta, &mut w.impulses);
    for i in 0..s.centers.len() {
        if w.masses.moves(i) {
            s.velocities[i] += w.impulses[i].linear * w.masses.inverse_mass(i);
            s.spins[i] += w.masses.inverse_inertia(i) * w.impulses[i].angular;
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
