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
//! that (`springs.rs`).
//!
//! Solids whose joints are very taut get a larger inertia against changes of their spin (`tension.rs`).
//!
//! Where rows depend on each other Newton's method is carried on with care (`care.rs`). A step that is too long for it is
//! cut into substeps, and if that does not help the last of them are taken by the 1998 projection (`displacement.rs`); the
//! report says so.

use super::displacement::change;
use super::free::{Wrench, applied_to_solids, move_scripted};
use super::tension::stiffen;
use super::work::{mobility, rigid_gaps};
use super::{Advanced, IslandWork, Piece, Rejected};
use crate::math::Vector;
use crate::rows::{Law, NOTHING, Rows, Seen, Stage, ask};
use crate::solve::{larger, largest, shortfall};
use crate::state::State;

/// How the search for the impulses ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Gaps are closed, or as small as the budget made them.
    Yes,
    /// It does not converge from here.
    No,
}

pub(super) fn advance(piece: &Piece, s: &mut State, w: &mut IslandWork) -> Result<Advanced, Rejected> {
    if w.is_heap(piece, s) {
        return Ok(w.advance_heap(piece, s));
    }
    let mut done = Advanced::default();
    linearise(piece, s, w, &mut done);
    if w.begin_touch(piece, s) {
        linearise(piece, s, w, &mut done);
    }
    if w.touch.whirls && !piece.last_try && !w.touch.crowd.swept {
        return Err(Rejected::TooLong);
    }
    begin(piece, s, w);
    let mut found = impulses(piece, s, w, &mut done);
    let warm = w.lambda.iter().any(|l| *l != 0.0) || !w.touch.is_cold() || w.soft.are_hosts_warm();
    if found == Found::No && warm && !w.is_over(piece.c) {
        // The warm start may have been the reason.
        w.lambda.fill(0.0);
        w.soft.cool_hosts();
        w.touch.cool();
        w.lanes.restart();
        found = impulses(piece, s, w, &mut done);
    }
    if found == Found::No && piece.last_try && w.touch.drop_friction() {
        // A blow so hard that friction spins solids farther than a substep can follow: without it nobody passes through.
        w.lambda.fill(0.0);
        w.lanes.restart();
        found = impulses(piece, s, w, &mut done);
    }
    w.soft.give_host_pushes(&w.rows, &mut w.lambda);
    match found {
        Found::Yes => {
            // Without a pair there is nothing to withdraw, and nothing of contact is looked at.
            if !w.touch.is_empty() {
                w.withdraw_contacts(piece.h);
            }
            // Closing pins takes vertices along, and nothing there knows how far springs may be stretched.
            if w.soft.has_hosts() && !piece.last_try && rigid_gaps(&w.next).worst() > piece.c.tolerance {
                return Err(Rejected::TooLong);
            }
            close_rest(piece, s, w, &mut done);
            velocities(piece, s, w, Half::Second, &mut done);
        }
        // Too long a step for this method. Light solids that hold heavy ones are like taut strings, and need substeps as
        // short as their swing across; past the shortest, the projection of 1998 has an answer to everything.
        Found::No if piece.last_try && w.soft.is_empty() => fall_back(piece, s, w, &mut done)?,
        Found::No => return Err(Rejected::TooLong),
    }
    for a in &w.rows.angles {
        s.angles[a.slot] = a.value;
    }
    done.swept |= w.touch.crowd.swept;
    Ok(done)
}

/// Rows, masses and factor at `q_n`, with what acts at the end of the step: that is what must hold there.
fn linearise(piece: &Piece, s: &mut State, w: &mut IslandWork, done: &mut Advanced) {
    let mut factored = w.linearise(piece, s);
    if close_new(piece, s, w, done) {
        factored = false;
    }
    if !factored || piece.careful || !w.shift.is_empty() {
        factored = false;
        // As at the end of the last step: the same numbers, so that a restored state has the same future. From the
        // plain masses: where bounds came and went there is no factor to keep, but the masses were raised already.
        w.masses.update(piece.m, s);
        stiffen(s, w, piece.h);
        w.take_care(piece, s, piece.end);
    }
    if !factored {
        w.factor(piece.c);
    }
}

/// A joint that starts to act (or a start that was never assembled) is closed before it moves anything: through the
/// positions alone, so that its gap does not turn into speed.
fn close_new(piece: &Piece, s: &mut State, w: &mut IslandWork, done: &mut Advanced) -> bool {
    if !w.has_new_gaps(s, piece.c.tolerance) {
        return false;
    }
    super::displacement::close_new(piece, s, w, done);
    w.linearise(piece, s);
    true
}

/// Momenta after the first half of the forces, the warm start, and scripted solids where they will be.
fn begin(piece: &Piece, s: &mut State, w: &mut IslandWork) {
    let Piece { m, c, h, end, .. } = *piece;
    if w.scripted {
        w.start.centers.clone_from(&s.centers);
        w.start.rotations.clone_from(&s.rotations);
    }
    let clock = w.start(c);
    applied_to_solids(piece, s, &w.masses, &mut w.wrenches);
    w.lanes.begin(s, &w.masses, &w.wrenches, m.epoch(), h);
    if !w.soft.is_empty() {
        let pull = m.gravity.length() + w.soft.begin_wind(m, s, h);
        w.soft.begin(s, &w.masses, &w.wrenches, pull, c, h);
        w.soft.find_pins(m, &w.rows, &w.masses);
        w.find_ways_of_hosts();
        w.levels.forget_factor();
    }
    s.time = end;
    warm_start(s, w, h);
    w.soft.take_host_pushes(&w.rows, &mut w.lambda);
    w.note_approach(piece, s);
    if w.scripted {
        move_scripted(m, s, h, end);
    }
    w.stop(c, clock, |t| &mut t.motion);
}

/// First guess of the impulses: those that held the velocities at the end of the last step. What `L` was wrong by left a
/// gap and, by the same motion, a speed along it; `m` took the speed back, and the next `L` takes the gap back by the
/// same amount. Extrapolating forces over several steps loses that, and takes twice the iterations. And what soft rows
/// aim for.
fn warm_start(s: &State, w: &mut IslandWork, h: f64) {
    s.memory.own().recall(&w.rows, &mut w.lambda);
    w.lambda.iter_mut().for_each(|l| *l *= 0.5 * h);
    note_speeds(s, w);
}

/// The speed of soft rows when a stage begins.
fn note_speeds(s: &State, w: &mut IslandWork) {
    w.start_speed.clear();
    w.start_speed.resize(w.rows.len(), 0.0);
    for g in w.rows.others().filter(|g| matches!(g.law, Law::Soft { .. })) {
        for r in g.range() {
            w.start_speed[r] = w.rows.speed(r, s);
        }
    }
}

/// What is known of a row with a law of its own when a stage begins, at `rows`.
fn seen(w: &IslandWork, rows: &Rows, k: usize, r: usize) -> Seen {
    let g = &w.rows.groups[k];
    Seen {
        mobility: if g.most_force.is_finite() { mobility(&w.rows, &w.masses, g, r) } else { 0.0 },
        speed: w.start_speed[r],
        wanted: w.rows.wanted(r),
        damping: w.soft_damping.get(k).copied().unwrap_or(0.0),
        ..Seen::at(rows, r)
    }
}

/// `q_{n+1}` for the impulses as they are; false when some solid turns too far for the rotation to have an answer.
fn place(piece: &Piece, s: &mut State, w: &mut IslandWork, rough: bool) -> bool {
    w.impulses.resize(s.centers.len(), Wrench::default());
    w.rows.collect(&w.lambda, &mut w.impulses);
    w.add_contact_impulses();
    w.soft.add_host_impulses(&w.rows, &mut w.impulses);
    for (i, left) in &w.raised {
        w.impulses[*i].angular = *left * w.impulses[*i].angular;
    }
    if !w.soft.is_empty() && !place_soft(piece, s, w, rough) {
        return false;
    }
    w.lanes.place(s, &w.impulses, piece.h, rough)
}

/// Vertices of soft bodies answer to the impulses by an implicit step of their own. Where that finds no answer the step is
/// too long; past the shortest, what it came to is taken.
fn place_soft(piece: &Piece, s: &mut State, w: &mut IslandWork, rough: bool) -> bool {
    // Solids that may be touched, or carry pins, go where everything else takes them first.
    let hosts = w.soft.has_hosts();
    if (w.soft.contacts.has_guests() || hosts) && !w.lanes.place(s, &w.impulses, piece.h, rough || !hosts) {
        return false;
    }
    let factors = w.soft.report.factors;
    let last = piece.last_try || w.soft.gives_up(piece.c);
    let found = w.soft.place(piece.m, s, &mut w.impulses, &w.rows, &mut w.lambda, piece.c, last);
    if hosts {
        w.answer_hosts();
    }
    if w.soft.report.factors != factors {
        w.levels.forget_factor();
    }
    found || last
}

/// Newton's method for the impulses, and whether to believe what it found: `w.next` ends up with the rows at `q_{n+1}`.
fn impulses(piece: &Piece, s: &mut State, w: &mut IslandWork, done: &mut Advanced) -> Found {
    let mut newton = Newton { first: f64::INFINITY, best: f64::INFINITY, conflict: false };
    let found = newton.run(piece, s, w, done);
    // What overlaps is pushed apart, and that is no motion in time.
    let judged = w.undriven && w.touch.is_idle();
    if found == Found::Yes && judged && gained_too_much(piece, w) { Found::No } else { found }
}

/// Impulses of rigid joints change kinetic energy only through the curvature of the constraints: about a sixteenth of it
/// at half a radian per step. If they raised it by half, Newton found a false root next to a singular pose.
fn gained_too_much(piece: &Piece, w: &IslandWork) -> bool {
    let (before, after) = w.lanes.energies();
    // Motion within a few tolerances is not seen.
    let unseen = w.lanes.mass() * (10.0 * piece.c.tolerance / piece.h).powi(2);
    after > 1.5 * before + unseen
}

/// How often the end of a substep is looked at for points of contact that nobody expected.
const LOOKS: usize = 3;

/// Rows that depend on each other and contradict each other by less than this part of the tolerance agree: what is left is
/// not worth another factorisation, whose answers are dear.
const AGREE: f64 = 0.25;

/// The rounds of Newton's method.
struct Newton {
    /// Largest request of the first round, and the smallest of all.
    first: f64,
    best: f64,
    /// The last solve left most of what it was asked for.
    conflict: bool,
}

/// What to do after a round.
enum Next {
    Solve,
    Stop(Found),
}

impl Newton {
    fn run(&mut self, piece: &Piece, s: &mut State, w: &mut IslandWork, done: &mut Advanced) -> Found {
        let Piece { m, c, h, end, .. } = *piece;
        let n = w.rows.len();
        // Which bounds take part must not depend on what was solved before.
        w.levels.forget();
        let mut looks = 0;
        for round in 0.. {
            let clock = w.start(c);
            // Round 0 solves the rotation equation only to 1e-6 (`rough`): its poses are never accepted as they are.
            // Without rows there is no round 1, so then it is solved fully.
            let rough = round == 0 && (n > 0 || !w.touch.is_idle());
            let placed = place(piece, s, w, rough) || (round == 0 && cold_start(piece, s, w));
            if !placed {
                return Found::No;
            }
            w.stop(c, clock, |t| &mut t.motion);
            let clock = w.start(c);
            let graph = &w.graph;
            w.next.fill_motion(m, s, end, |j| graph.default_rank(j));
            w.stop(c, clock, |t| &mut t.rows);
            if w.next.len() != n {
                return Found::No;
            }
            residual(w, h);
            w.ask_positions(piece, s, round);
            match self.judge(piece, w, round) {
                Next::Stop(Found::Yes) => {
                    let found = if rough { refine(piece, s, w) } else { self.keep_best(piece, s, w) };
                    looks += 1;
                    if w.bounded {
                        residual(w, h);
                        w.note_open_limits();
                    }
                    if found == Found::No || looks > LOOKS || !w.meet_new_points(piece, s) {
                        return found;
                    }
                    (self.first, self.best) = (f64::INFINITY, f64::INFINITY);
                    residual(w, h);
                    w.ask_positions(piece, s, round.max(1));
                }
                Next::Stop(found) => return found,
                Next::Solve => {}
            }
            self.solve(piece, w, round, done);
            done.iterations += 1;
            // Multipliers of displacements are impulses times the step.
            let per = 1.0 / h;
            if w.touch.crowd.is_settled() {
                done.solver_iterations += w.close_joints(piece);
            } else if !w.touch.is_idle() {
                done.solver_iterations += w.solve_positions(piece);
            } else if w.bounded && w.has_above() {
                w.lambda.iter_mut().for_each(|l| *l *= h);
                done.solver_iterations += w.add_above(c, 1e-3 * c.tolerance);
                w.lambda.iter_mut().for_each(|l| *l *= per);
            } else {
                w.lambda.iter_mut().zip(&w.delta).for_each(|(l, d)| *l += d * per);
            }
        }
        Found::No
    }

    /// Looks at what the rows still ask for.
    fn judge(&mut self, piece: &Piece, w: &mut IslandWork, round: usize) -> Next {
        let c = piece.c;
        let short = if w.touch.crowd.is_settled() { 0.0 } else { w.contact_shortfall() };
        let worst = larger(largest(&w.b), short);
        if !worst.is_finite() {
            return Next::Stop(Found::No);
        }
        self.first = self.first.min(worst);
        // Half of it per row: gaps are reported per joint, as the length of three.
        let good = worst <= 1e-3 * c.tolerance || (round > 0 && worst <= 0.5 * c.tolerance);
        if good || worst == 0.0 {
            self.best = f64::INFINITY;
            return Next::Stop(Found::Yes);
        }
        if piece.careful {
            // Iterating to convergence would undo the damping: rounds end when the gap stops falling.
            let falls = worst < 0.98 * self.best;
            if worst < self.best {
                self.best = worst;
                w.best.clone_from(&w.lambda);
            }
            let over = round >= 2 * c.iterations.max(2) || w.is_over(c);
            return if round > 0 && (!falls || over) { Next::Stop(Found::Yes) } else { Next::Solve };
        }
        if round >= c.iterations || (round > 0 && w.is_over(c)) {
            return Next::Stop(if self.diverged(piece, w, worst) { Found::No } else { Found::Yes });
        }
        if round > 2 && worst > 1e3 * self.best {
            return Next::Stop(Found::No);
        }
        self.best = self.best.min(worst);
        Next::Solve
    }

    /// Out of budget: usable unless it ran away. What wanders about near the tolerance is at the end of what the solver
    /// can tell: that is no divergence.
    fn diverged(&self, piece: &Piece, w: &IslandWork, worst: f64) -> bool {
        let c = piece.c;
        if c.iterations < 4 {
            return worst > 4.0 * self.first.max(c.tolerance);
        }
        // Not there yet either, unless the rows contradict each other: care or shorter substeps then are worth a try.
        worst > self.first.max(100.0 * c.tolerance)
            || (worst > 10.0 * c.tolerance && !self.conflict && !piece.last_try && !w.is_over(c))
    }

    /// With care the best round counts, which need not be the last.
    fn keep_best(&self, piece: &Piece, s: &mut State, w: &mut IslandWork) -> Found {
        if !piece.careful
            || self.best == f64::INFINITY
            || w.best == w.lambda
            || w.best.len() != w.lambda.len()
        {
            return Found::Yes;
        }
        w.lambda.clone_from(&w.best);
        refine(piece, s, w)
    }

    fn solve(&mut self, piece: &Piece, w: &mut IslandWork, round: usize, done: &mut Advanced) {
        if w.bounded {
            w.b.iter_mut().zip(&w.below).filter(|(_, below)| !**below).for_each(|(b, _)| *b = 0.0);
        }
        if piece.careful {
            done.solver_iterations += w.solve_with_care(piece);
            return;
        }
        // Gaps tell soon enough whether an answer was good.
        if round <= 2 && w.substitute(piece.c, AGREE * piece.c.tolerance).is_some() {
            done.solver_iterations += 1;
            self.conflict = false;
            return;
        }
        let worst = largest(&w.b);
        let report = w.solve(piece.c, 1e-3 * piece.c.tolerance.min(worst));
        self.conflict = !(report.residual <= 0.1 * worst);
        done.solver_iterations += report.iterations;
    }
}

/// Poses to the last digit for the impulses as they are, and the rows there.
fn refine(piece: &Piece, s: &mut State, w: &mut IslandWork) -> Found {
    if !place(piece, s, w, false) {
        return Found::No;
    }
    let graph = &w.graph;
    w.next.fill_motion(piece.m, s, piece.end, |j| graph.default_rank(j));
    Found::Yes
}

/// What care left open is closed through the positions alone, along the rows at the end of the step, if a motion as short as
/// the gap does it.
fn close_rest(piece: &Piece, s: &mut State, w: &mut IslandWork, done: &mut Advanced) {
    const FARTHEST: f64 = 100.0;
    let gap = rigid_gaps(&w.next).worst();
    if !piece.careful || piece.contradict || !(gap > piece.c.tolerance) {
        return;
    }
    let mut before = std::mem::take(&mut w.before);
    before.clone_from(s);
    let lambda = std::mem::take(&mut w.lambda);
    let shift = std::mem::take(&mut w.shift);
    w.relinearise(piece, s, piece.end);
    super::displacement::correct(piece, s, w, false, done);
    w.lambda = lambda;
    w.shift = shift;
    let far = (0..s.centers.len()).any(|i| !(s.centers[i].distance(before.centers[i]) <= FARTHEST * gap));
    if far || !(rigid_gaps(&w.rows).worst() < gap) {
        s.clone_from(&before);
        w.relinearise(piece, s, piece.end);
    }
    w.before = before;
    std::mem::swap(&mut w.rows, &mut w.next);
}

/// A warm start may overshoot; without one there is no excuse.
fn cold_start(piece: &Piece, s: &mut State, w: &mut IslandWork) -> bool {
    if w.lambda.iter().all(|l| *l == 0.0) && w.touch.is_cold() && !w.soft.are_hosts_warm() {
        return false;
    }
    w.lambda.fill(0.0);
    w.soft.cool_hosts();
    w.touch.cool();
    w.lanes.restart();
    place(piece, s, w, !w.rows.is_empty())
}

/// What the rows still ask for, in the units of `h^2 A`: `b = A (h lambda)` wanted minus had. Of rows above, which are
/// solved for by themselves, it tells how far they are from what they may be.
fn residual(w: &mut IslandWork, h: f64) {
    let mut b = std::mem::take(&mut w.b);
    let mut asks = std::mem::take(&mut w.asks);
    b.clone_from(&w.next.low);
    asks.resize(b.len(), NOTHING);
    for (k, g) in w.rows.others_at() {
        for r in g.range() {
            let moved = change(&w.rows, &w.next, r);
            let a = ask(g, &Seen { moved, ..seen(w, &w.next, k, r) }, &Stage::Midpoint { h });
            let had = h * w.lambda[r];
            b[r] = if w.below[r] {
                a.low - a.give * had
            } else {
                shortfall(&a, had, 0.0, mobility(&w.rows, &w.masses, g, r))
            };
            asks[r] = a;
        }
    }
    // Pins to solids that can move are seen to with the places of the vertices: their gaps count, and nothing else asks for them.
    for r in w.soft.host_rows() {
        (b[r], asks[r]) = (w.next.low[r], NOTHING);
    }
    (w.b, w.asks) = (b, asks);
}

/// The 1998 projection instead of the step, then velocities that keep to the constraints.
fn fall_back(piece: &Piece, s: &mut State, w: &mut IslandWork, done: &mut Advanced) -> Result<(), Rejected> {
    if w.scripted {
        s.centers.clone_from(&w.start.centers);
        s.rotations.clone_from(&w.start.rotations);
    }
    w.lanes.restore(s);
    s.time = piece.begin;
    w.forget();
    let taken = super::displacement::advance(piece, s, w)?;
    done.iterations += taken.iterations;
    done.solver_iterations += taken.solver_iterations;
    done.fallback = true;
    s.memory.own_mut().forces.fill(0.0);
    w.linearise(piece, s);
    w.take_care(piece, s, piece.end);
    w.lambda.clear();
    w.lambda.resize(w.rows.len(), 0.0);
    velocities(piece, s, w, Half::None, done);
    Ok(())
}

/// Which half of the step is still to be taken when velocities are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    /// The second: momenta are those of the middle.
    Second,
    /// None: momenta are those of the end already.
    None,
}

/// The second half of the step at `q_{n+1}`: forces, and velocities that keep to the constraints.
fn velocities(piece: &Piece, s: &mut State, w: &mut IslandWork, half: Half, done: &mut Advanced) {
    let Piece { m, c, h, .. } = *piece;
    if half == Half::Second {
        std::mem::swap(&mut w.rows, &mut w.next);
        let clock = w.start(c);
        w.settle(m, s, h);
        w.stop(c, clock, |t| &mut t.rows);
    }
    let clock = w.start(c);
    applied_to_solids(piece, s, &w.masses, &mut w.wrenches);
    if half == Half::Second && !w.soft.is_empty() {
        w.soft.add_second_half(s, &w.masses, &mut w.wrenches);
        w.soft.stop_responding();
    }
    if half == Half::Second && !w.give.is_empty() {
        // Velocities before the second half: soft rows start from them. `place` left the impulses per solid.
        w.lanes.velocities(s, &w.impulses, &w.wrenches, &w.masses, 0.0);
    }
    note_speeds(s, w);
    if half == Half::Second {
        w.lanes.velocities(s, &w.impulses, &w.wrenches, &w.masses, 0.5 * h);
        w.soft.hold_pin_speeds(s);
        w.soft.note_momenta(s, &w.masses);
        w.soft.calm(s);
        w.soft.stop(s);
        w.soft.settle_touch(s, &w.masses);
        w.soft.restore_momenta(s, &w.masses);
        w.soft.let_pin_speeds_go(s);
    }
    w.stop(c, clock, |t| &mut t.motion);
    raise_taut(s, w, h);
    w.factor(c);
    // What pushed in the first half.
    let mut pushed = std::mem::take(&mut w.best);
    pushed.clone_from(&w.lambda);
    match half {
        Half::None => pushed.fill(0.0),
        _ => w.soft.add_late_pushes(&w.rows, &mut pushed),
    }
    w.lambda.clear();
    w.lambda.resize(w.rows.len(), 0.0);
    if !w.touch.is_empty() {
        w.begin_contact_velocities(piece, s);
    }
    if w.touch.is_idle() {
        hold_velocities(piece, s, w, &pushed, false, done);
    } else {
        w.hold_touching(piece, s, &pushed, done);
    }
    if w.bounce.acts(&pushed) {
        w.keep_stopped(s);
        hold_velocities(piece, s, w, &pushed, true, done);
        w.limit_rebound(piece, s, &pushed);
    }
    w.motors.push(&pushed, 1.0);
    w.motors.push(&w.lambda, 1.0);
    reactions(w, &pushed, h);
    w.best = pushed;
    let pull = std::mem::take(&mut w.pull);
    let memory = s.memory.own_mut();
    memory.remember(h, &w.rows.keys, w.b.iter().copied());
    if !w.raised.is_empty() {
        memory.pull.clone_from(&pull);
    }
    w.pull = pull;
    w.remember_contacts(s, h);
}

/// Forces of the rows in `b`, as velocities tell them: those of both halves of the step are the same, but for what holds soft
/// bodies. Their springs go on pulling after the middle of the step, and are calmed.
fn reactions(w: &mut IslandWork, pushed: &[f64], h: f64) {
    w.b.clear();
    w.b.extend(w.lambda.iter().map(|l| l * 2.0 / h));
    if w.soft.is_empty() {
        return;
    }
    for g in w.rows.groups.iter().filter(|g| g.solids.iter().any(|i| w.soft.has(*i))) {
        for r in g.range() {
            w.b[r] = (pushed[r] + w.lambda[r]) / h;
        }
    }
}

/// Raises the inertia of solids with taut joints for the next step, by the forces of this one.
fn raise_taut(s: &mut State, w: &mut IslandWork, h: f64) {
    let memory = s.memory.own_mut();
    memory.keys.clone_from(&w.rows.keys);
    memory.pull.clear();
    memory.pull.extend(w.lambda.iter().map(|l| l * 2.0 / h));
    stiffen(s, w, h);
}

/// Impulses `m` along the rows at `q_{n+1}` such that `J v` is what they want.
/// `thrown`: bounds with restitution throw back.
pub(super) fn hold_velocities(
    piece: &Piece,
    s: &mut State,
    w: &mut IslandWork,
    pushed: &[f64],
    thrown: bool,
    done: &mut Advanced,
) {
    let c = piece.c;
    let mut enough = 1e-3 * c.tolerance;
    for round in 0..2 {
        ask_velocities(piece.h, s, w, pushed, thrown);
        w.ask_contact_velocities(s);
        // The second look is at what the first answer made; what it left, a checked solve takes away.
        if round == 1 && (largest(&w.b) <= enough || w.is_over(c)) {
            break;
        }
        let exact = !piece.careful && round == 0;
        let left = exact.then(|| w.substitute(c, AGREE * c.tolerance)).flatten();
        done.solver_iterations += if piece.careful {
            w.solve_with_care(piece)
        } else if let Some(left) = left {
            enough = enough.max(2.0 * left);
            1
        } else {
            w.solve(c, 1e-3 * c.tolerance).iterations
        };
        if !w.touch.is_idle() {
            done.solver_iterations +=
                w.solve_touching(c, 1e-5 * c.tolerance / piece.h, c.tolerance / piece.h);
            w.touch.apply();
            move_by(s, w);
        } else if w.bounded && w.has_above() {
            done.solver_iterations += w.add_above(c, 1e-3 * c.tolerance);
            w.note_limits(piece.h);
            move_by(s, w);
        } else {
            w.lambda.iter_mut().zip(&w.delta).for_each(|(l, d)| *l += d);
            push(s, w);
        }
        if left.is_none() {
            break;
        }
    }
}

/// What the rows want of the velocities, beyond what they have: below in `b`, above in `asks`.
fn ask_velocities(h: f64, s: &State, w: &mut IslandWork, pushed: &[f64], thrown: bool) {
    let mut b = std::mem::take(&mut w.b);
    let mut asks = std::mem::take(&mut w.asks);
    w.rows.speeds(s, &mut b);
    b.iter_mut().for_each(|b| *b = -*b);
    asks.resize(b.len(), NOTHING);
    for (k, g) in w.rows.others_at() {
        for r in g.range() {
            let rebound = if thrown { w.bounce.of(r) } else { 0.0 };
            let seen = Seen { moved: -b[r], pushed: pushed[r], rebound, ..seen(w, &w.rows, k, r) };
            asks[r] = ask(g, &seen, &Stage::MidpointVelocities { h });
            b[r] = if w.below[r] { asks[r].low - asks[r].give * w.lambda[r] } else { 0.0 };
        }
    }
    (w.b, w.asks) = (b, asks);
}

/// Adds the motion that the levels found to the velocities.
fn move_by(s: &mut State, w: &IslandWork) {
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        let v = &w.dq[i];
        s.velocities[i] += Vector::new(v[0], v[1], v[2]);
        s.spins[i] += Vector::new(v[3], v[4], v[5]);
    }
}

/// Adds `M^-1 J^T delta` to the velocities.
fn push(s: &mut State, w: &mut IslandWork) {
    w.impulses.resize(s.centers.len(), Wrench::default());
    w.rows.collect(&w.delta, &mut w.impulses);
    for i in 0..s.centers.len() {
        if w.masses.moves(i) {
            s.velocities[i] += w.impulses[i].linear * w.masses.inverse_mass(i);
            s.spins[i] += w.masses.inverse_inertia(i) * w.impulses[i].angular;
        }
    }
}
