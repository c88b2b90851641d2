//! `relaxation`: Gascuel and Gascuel 1994. Free motion, then small displacements joint by joint, in several passes; speeds
//! are those of the positions reached.
//!
//! ```text
//!     v += F/m dt;  w += J^-1 (M - w x J w) dt;  x += v dt;  R = exp(w dt) R                  (1-4)
//!     DR_1 = a J_1^-1 (P_1 - G_1) x d,     Dx_1 = a/m_1 d,     d = P_2 - P_1                  (14, 15)
//!     v = (x(t + dt) - x(t)) / dt,   w = log(R(t + dt) R^-1(t)) / dt
//! ```
//! Three ways to choose the displacements of one joint:
//! - *first* (section 3.1.2): Eqs. 14 and 15 from one pose. The parameter `a` is the user's (`alpha` of the joint); without
//!   one it is `1 / (tr K - 2 (1/m_1 + 1/m_2))`, a bound of the inverse effective mass that cannot overshoot and is Eq. 17
//!   where nothing turns.
//! - *second* (section 3.1.3): Eq. 18 with `a = m_1 m_2 / (m_1 + m_2)` (Eq. 17), then the translations that close the gap
//!   left after the rotation (Eq. 19). Printed as it is: it overshoots where `m r^2 / J > 2`, and does not keep angular
//!   momentum.
//! - *effective mass*: `K l = d` with `K = sum (1/m) 1 - [r] J^-1 [r]`, joint after joint, each from the poses that the one
//!   before left. Ours, and what is called XPBD today; it converges wherever the joints can be met.
//!
//! The first two displace all solids at once by sums weighted with `1 / max(n_i, n_j)`, `n` the number of constraints of a
//! solid (section 3.2; those of fixed solids do not count, Eq. 21 has `m_j`). Angles and twists are opposite torque
//! impulses along common axes (section 4.2 and errata). `mu` of a joint replaces the shares of its solids, `mobility` of a
//! solid its mass (section 3.1.4). A pass ends the step when no gap is larger than the tolerance.
//!
//! Where we leave the paper: the gyroscopic torque acts at the end of the step (`rotation::spin_ahead`); soft rows, motors
//! and springs are implicit, with their multipliers summed over the passes; joints that begin to hold are closed without
//! turning their gaps into speed, as section 2.3 does at the start.

use super::displacement::value;
use super::free::{applied, move_scripted};
use super::implicit::free_velocities;
use super::work::mobility;
use super::{Advanced, IslandWork, Piece, Rejected, Relaxation};
use crate::math::{Vector, exp, log, unwrap_angle};
use crate::mechanism::Mechanism;
use crate::rows::{Ask, Group, Law, Masses, Rows, Seen, Source, Stage, Unit, ask, dot6};
use crate::state::State;

/// Scratch of the relaxation.
#[derive(Default)]
pub(super) struct Scratch {
    one: Rows,
    block: Block,
    /// Constraints of each solid.
    count: Vec<usize>,
    dq: Vec<[f64; 6]>,
}

pub(super) fn advance(
    piece: &Piece,
    s: &mut State,
    w: &mut IslandWork,
    scheme: Relaxation,
) -> Result<Advanced, Rejected> {
    let Piece { m, c, h, end, .. } = *piece;
    let mut done = Advanced::default();
    let mut x = std::mem::take(&mut w.relaxed);
    close_new(piece, s, w, &mut x, scheme, &mut done);
    w.relaxed = x;
    w.masses.update(m, s);
    applied(piece, s, &w.masses, &mut w.wrenches);
    s.time = end;
    w.start.clone_from(s);
    free_velocities(s, w, h);
    // Section 2.2, step 1: "if the rotations are larger than a given limit, the system goes back in time".
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        if !piece.last_try && s.spins[i].length() * h > c.max_rotation {
            return Err(Rejected::TooLong);
        }
        s.centers[i] += s.velocities[i] * h;
        s.rotations[i] = (exp(s.spins[i] * h) * s.rotations[i]).normalize();
    }
    move_scripted(m, s, h, end);
    let mut x = std::mem::take(&mut w.relaxed);
    let closed = relax(piece, s, w, &mut x, scheme, &mut done);
    w.relaxed = x;
    let undriven = w.undriven;
    reach_speeds(s, w, h, !closed && undriven);
    w.relinearise(piece, s, end);
    for a in &w.rows.angles {
        s.angles[a.slot] = a.value;
    }
    w.motors.push(&w.lambda, 1.0 / h);
    s.memory.own_mut().remember(h, &w.rows.keys, w.lambda.iter().map(|l| l / (h * h)));
    Ok(done)
}

/// Section 2.3: joints that begin to hold are closed by the passes alone, and no speed comes of it.
fn close_new(
    piece: &Piece,
    s: &mut State,
    w: &mut IslandWork,
    x: &mut Scratch,
    scheme: Relaxation,
    done: &mut Advanced,
) {
    w.relinearise(piece, s, piece.end);
    if w.has_new_gaps(s, piece.c.tolerance) {
        w.start.clone_from(s);
        x.block.closing = true;
        relax(&Piece { h: 1.0, ..*piece }, s, w, x, scheme, done);
        x.block.closing = false;
        done.closed = true;
        w.closed.clone_from(s);
    }
}

/// Step 3: speeds from the positions reached. With `cut`, the part that the constraints added is cut where it would add
/// energy: gaps left over from earlier steps are closed without being thrown.
fn reach_speeds(s: &mut State, w: &IslandWork, h: f64, cut: bool) {
    let reached = |s: &State, i: usize| {
        let v = (s.centers[i] - w.start.centers[i]) / h;
        (v, log(s.rotations[i] * w.start.rotations[i].inverse()) / h)
    };
    // K(v + x d) = K(v) + x b + x^2 a
    let (mut a, mut b) = (0.0, 0.0);
    for i in (0..s.centers.len()).filter(|i| cut && w.masses.moves(*i)) {
        let (v, o) = reached(s, i);
        let (dv, back) = (v - s.velocities[i], w.start.rotations[i].inverse());
        let (spin, turn) = (back * s.spins[i], back * (o - s.spins[i]));
        let i_turn = *w.masses.inertia(i) * turn;
        a += 0.5 * (w.masses.mass(i) * dv.length_squared() + turn.dot(i_turn));
        b += w.masses.mass(i) * dv.dot(s.velocities[i]) + spin.dot(i_turn);
    }
    let x = if cut && a > 0.0 { (-b / a).clamp(0.0, 1.0) } else { 1.0 };
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        let (v, o) = reached(s, i);
        s.velocities[i] = s.velocities[i].lerp(v, x);
        s.spins[i] = s.spins[i].lerp(o, x);
    }
}

/// The passes of step 2; true when everything is met. Multipliers end up in `w.lambda`, in the units of `h^2` times a force.
fn relax(
    piece: &Piece,
    s: &mut State,
    w: &mut IslandWork,
    x: &mut Scratch,
    scheme: Relaxation,
    done: &mut Advanced,
) -> bool {
    let Piece { m, c, .. } = *piece;
    // Motors and dampers measure from the start of the step.
    let graph = &w.graph;
    w.next.fill_motion(m, &w.start, piece.end, |j| graph.default_rank(j));
    w.relinearise(piece, s, piece.end);
    if x.block.closing {
        w.lambda.clear();
        w.lambda.resize(w.rows.len(), 0.0);
    } else {
        warm_start(piece, s, w);
    }
    x.count.clear();
    x.count.resize(s.centers.len(), 0);
    for g in &w.rows.groups {
        g.solids.iter().filter(|i| w.masses.moves(**i)).for_each(|i| x.count[*i] += 1);
    }
    x.one.squared = w.rows.squared;
    for _ in 0..c.iterations.max(1) {
        let clock = w.start(c);
        let worst = match scheme {
            Relaxation::EffectiveMass => one_by_one(piece, s, w, x),
            _ => all_at_once(piece, s, w, x, scheme),
        };
        w.stop(c, clock, |t| &mut t.solve);
        if worst <= c.tolerance {
            return true;
        }
        done.iterations += 1;
        if w.is_over(c) {
            break;
        }
        w.masses.update(m, s);
    }
    false
}

/// Soft rows start with the forces of the last step. A few passes are not enough to build them up from nothing every time:
/// what hangs on springs would rest where the passes end, not where the forces balance. Rigid rows are the paper's.
fn warm_start(piece: &Piece, s: &mut State, w: &mut IslandWork) {
    s.memory.own().recall(&w.rows, &mut w.lambda);
    for g in &w.rows.groups {
        let unit = if matches!(g.law, Law::Soft { .. }) { piece.h * piece.h } else { 0.0 };
        w.lambda[g.range()].iter_mut().for_each(|l| *l *= unit);
    }
    if w.next.len() != w.rows.len() || w.lambda.iter().all(|l| *l == 0.0) {
        w.lambda.fill(0.0);
        return;
    }
    w.push.clear();
    w.push.resize(s.centers.len(), [0.0; 6]);
    // Along the rows at the start of the step: at the predicted pose, what swings across a taut spring would gain.
    w.next.apply_transposed(&w.lambda, &w.masses, &mut w.push);
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        displace(s, i, w.push[i], piece.c.max_rotation);
    }
    w.relinearise(piece, s, piece.end);
}

/// A pass of the effective-mass scheme: each joint closes its own gap from where the last one left the solids. Returns the
/// largest thing that was asked for.
fn one_by_one(piece: &Piece, s: &mut State, w: &mut IslandWork, x: &mut Scratch) -> f64 {
    let Piece { m, c, h, .. } = *piece;
    let mut worst = 0.0_f64;
    for k in 0..w.rows.groups.len() {
        let whole = w.rows.groups[k];
        x.one.refill(m, s, &whole);
        let Some(g) = x.one.groups.first().copied() else { continue };
        let lambda = &mut w.lambda[whole.range()];
        let open = x.block.aim(&x.one, &w.masses, &g, &w.next, whole.first, lambda, h);
        // Gaps below the tolerance are met. Forces are not: a stiff spring makes much of a small request.
        if !(open > if is_rigid(&g) { c.tolerance } else { 0.0 }) {
            continue;
        }
        worst = worst.max(open);
        let shares = shares(m, &w.masses, &g);
        let alpha = alpha_of(m, &g);
        if let Some(alpha) = alpha.filter(|_| is_rigid(&g)) {
            x.block.scalar(&x.one, &g, alpha, |unit| unit == Unit::Length);
            x.block.solve(&x.one, &g, &w.masses, shares, |unit| unit == Unit::Angle);
        } else {
            x.block.solve(&x.one, &g, &w.masses, shares, |_| true);
        }
        x.block.limit(lambda);
        for (side, solid) in g.solids.into_iter().enumerate() {
            if w.masses.moves(solid) {
                let dq = x.block.push(&x.one, &g, side, &w.masses, shares[side]);
                displace(s, solid, dq, c.max_rotation);
            }
        }
        for (l, d) in lambda.iter_mut().zip(&x.block.delta) {
            *l += d;
        }
    }
    worst
}

/// A pass of the printed schemes: every joint from the same poses, sums weighted, all solids displaced together.
fn all_at_once(piece: &Piece, s: &mut State, w: &mut IslandWork, x: &mut Scratch, scheme: Relaxation) -> f64 {
    let Piece { m, c, h, .. } = *piece;
    let mut worst = 0.0_f64;
    let second = scheme == Relaxation::Second;
    w.relinearise(piece, s, piece.end);
    x.dq.clear();
    x.dq.resize(s.centers.len(), [0.0; 6]);
    for k in 0..w.rows.groups.len() {
        let g = w.rows.groups[k];
        let lambda = &mut w.lambda[g.range()];
        let open = x.block.aim(&w.rows, &w.masses, &g, &w.next, g.first, lambda, h);
        if open > 0.0 {
            worst = worst.max(open);
        }
        let shares = shares(m, &w.masses, &g);
        if is_rigid(&g) {
            let alpha = alpha_of(m, &g).unwrap_or_else(|| {
                if second { mass_of(&w.masses, &g, shares) } else { cautious(&w.rows, &g, &w.masses, shares) }
            });
            x.block.scalar(&w.rows, &g, alpha, |unit| unit == Unit::Length);
            x.block.solve(&w.rows, &g, &w.masses, shares, |unit| unit == Unit::Angle);
        } else {
            x.block.solve(&w.rows, &g, &w.masses, shares, |_| true);
        }
        let weight = weight(&x.count, &g);
        x.block.delta.iter_mut().for_each(|d| *d *= weight);
        x.block.limit(lambda);
        for (l, d) in lambda.iter_mut().zip(&x.block.delta) {
            *l += d;
        }
        for (side, solid) in g.solids.into_iter().enumerate() {
            let mut dq = x.block.push(&w.rows, &g, side, &w.masses, shares[side]);
            if second && is_rigid(&g) {
                dq[..3].fill(0.0); // Translations follow, from the points after rotation.
            }
            x.dq[solid].iter_mut().zip(dq).for_each(|(q, d)| *q += d);
        }
    }
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        displace(s, i, x.dq[i], c.max_rotation);
    }
    if second {
        translate(piece, s, w, x);
    }
    worst
}

/// Eq. 19: what is left of the gaps, by translation alone.
fn translate(piece: &Piece, s: &mut State, w: &mut IslandWork, x: &mut Scratch) {
    let Piece { m, c, .. } = *piece;
    w.relinearise(piece, s, piece.end);
    x.dq.iter_mut().for_each(|q| *q = [0.0; 6]);
    for g in w.rows.groups.iter().filter(|g| is_rigid(g)) {
        let shares = shares(m, &w.masses, g);
        let alpha = mass_of(&w.masses, g, shares) * weight(&x.count, g);
        for r in g.range().filter(|r| w.rows.unit[*r] == Unit::Length) {
            for (side, solid) in g.solids.into_iter().enumerate() {
                let scale = alpha * w.rows.wanted(r) * shares[side] * w.masses.inverse_mass(solid);
                for k in 0..3 {
                    x.dq[solid][k] += scale * w.rows.row(r)[side][k];
                }
            }
        }
    }
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        displace(s, i, x.dq[i], c.max_rotation);
    }
}

/// A joint as the paper knows it: neither soft nor a motor.
fn is_rigid(g: &Group) -> bool {
    g.law == Law::Hold && g.source == Source::Joint
}

fn alpha_of(m: &Mechanism, g: &Group) -> Option<f64> {
    if g.source == Source::Joint { m.joint(g.joint).alpha } else { None }
}

/// By what the inverse masses of a group's solids are multiplied: 1, or what makes them stand as `mu` to `1 - mu`.
fn shares(m: &Mechanism, masses: &Masses, g: &Group) -> [f64; 2] {
    let [a, b] = g.solids.map(|i| masses.inverse_mass(i));
    let mu = if g.source == Source::Joint { m.joint(g.joint).mu } else { None };
    match mu {
        Some(mu) if a > 0.0 && b > 0.0 => [mu * (a + b) / a, (1.0 - mu) * (a + b) / b],
        _ => [1.0; 2],
    }
}

/// Eq. 17.
fn mass_of(masses: &Masses, g: &Group, shares: [f64; 2]) -> f64 {
    let [a, b] = g.solids.map(|i| masses.inverse_mass(i));
    1.0 / (a * shares[0] + b * shares[1])
}

/// A parameter for Eqs. 14 and 15 that cannot overshoot: the rows of a point are orthonormal, so the sum of their inverse
/// effective masses is the trace of `K`, of which all but one direction hold at least the part of the translation.
fn cautious(rows: &Rows, g: &Group, masses: &Masses, shares: [f64; 2]) -> f64 {
    let (mut trace, mut n) = (0.0, 0);
    for r in g.range().filter(|r| rows.unit[*r] == Unit::Length && rows.wanted(*r) != 0.0) {
        let j = &rows.row(r);
        for (side, solid) in g.solids.into_iter().enumerate() {
            trace += shares[side] * dot6(&masses.accelerate(solid, &j[side]), &j[side]);
        }
        n += 1;
    }
    let flat = 1.0 / mass_of(masses, g, shares);
    if n == 0 || trace <= 0.0 { 0.0 } else { 1.0 / (trace - f64::from(n - 1) * flat).max(flat.min(trace)) }
}

/// `1 / max(n_i, n_j)`, section 3.2.
fn weight(count: &[usize], g: &Group) -> f64 {
    let [a, b] = g.solids.map(|i| count[i]);
    1.0 / a.max(b).max(1) as f64
}

fn displace(s: &mut State, solid: usize, mut dq: [f64; 6], most: f64) {
    let angle = Vector::new(dq[3], dq[4], dq[5]).length();
    if angle > most {
        dq[3..].iter_mut().for_each(|x| *x *= most / angle);
    }
    s.displace(solid, &dq);
}

/// The rows of one group: what they ask for, and the multipliers that give it.
#[derive(Default)]
struct Block {
    /// Only what is rigid takes part.
    closing: bool,
    goal: Vec<f64>,
    asks: Vec<Ask>,
    /// Rows that act.
    on: Vec<bool>,
    delta: Vec<f64>,
    matrix: Vec<f64>,
    rows: Vec<usize>,
    answer: Vec<f64>,
}

impl Block {
    /// What the rows of `g` ask for, given the multipliers so far; `first` is where they stand in `start`, the rows at the
    /// start of the step. Returns how much that is: the gaps of what is rigid, the largest request of the rest.
    fn aim(
        &mut self,
        rows: &Rows,
        masses: &Masses,
        g: &Group,
        start: &Rows,
        first: usize,
        lambda: &[f64],
        h: f64,
    ) -> f64 {
        self.goal.clear();
        self.asks.clear();
        self.on.clear();
        self.delta.clear();
        self.delta.resize(g.count, 0.0);
        let stage = if self.closing { Stage::Close } else { Stage::Positions { h } };
        let mut open = 0.0_f64;
        for (k, r) in g.range().enumerate() {
            let mut moved =
                if first + k < start.len() { value(rows, r) - value(start, first + k) } else { 0.0 };
            if rows.unit[r] == Unit::Angle {
                moved = unwrap_angle(moved, 0.0);
            }
            let mobility = if g.most_force.is_finite() { mobility(rows, masses, g, r) } else { 0.0 };
            let ask = ask(g, &Seen { moved, mobility, ..Seen::at(rows, r) }, &stage);
            // The end that is crossed. A soft bound says so itself: it asks only then.
            let end = if ask.low == ask.high || ask.low > 0.0 || (ask.give > 0.0 && ask.low.is_finite()) {
                Some(ask.low)
            } else if ask.high < 0.0 || (ask.give > 0.0 && ask.high.is_finite()) {
                Some(ask.high)
            } else {
                None
            };
            let goal = end.map_or(0.0, |end| end - ask.give * lambda[k]);
            if end.is_none() && matches!(g.law, Law::Soft { .. }) {
                self.delta[k] = -lambda[k]; // A soft bound that is left lets go.
            }
            // A motor at its limit has nothing more to give.
            let (least, most) = ask.push.range();
            let spent = (lambda[k] >= most && goal > 0.0) || (lambda[k] <= least && goal < 0.0);
            let on = end.is_some() && !spent;
            self.goal.push(goal);
            self.asks.push(ask);
            self.on.push(on);
            if on && g.law != Law::Hold {
                open = open.max(goal.abs());
            }
        }
        if g.law == Law::Hold && self.on.iter().any(|on| *on) { rows.group_gaps(g).worst() } else { open }
    }

    /// `delta = alpha goal` on the rows of a kind.
    fn scalar(&mut self, rows: &Rows, g: &Group, alpha: f64, kind: impl Fn(Unit) -> bool) {
        for (k, r) in g.range().enumerate() {
            if self.on[k] && kind(rows.unit[r]) {
                self.delta[k] = alpha * self.goal[k];
            }
        }
    }

    /// The effective mass of the rows of a kind: `(J M^-1 J^T + softness) delta = goal`. Bounds only push.
    fn solve(
        &mut self,
        rows: &Rows,
        g: &Group,
        masses: &Masses,
        shares: [f64; 2],
        kind: impl Fn(Unit) -> bool,
    ) {
        self.rows.clear();
        self.rows.extend((0..g.count).filter(|k| self.on[*k] && kind(rows.unit[g.first + *k])));
        while !self.rows.is_empty() {
            self.fill(rows, g, masses, shares);
            cholesky(&mut self.matrix, &mut self.answer);
            // A bound that would pull is left out, and the rest solved again.
            let pulls = |at: usize, k: usize| {
                !rows.is_equality(g.first + k) && g.law == Law::Hold && self.answer[at] * self.goal[k] < 0.0
            };
            let Some(at) = (0..self.rows.len()).find(|at| pulls(*at, self.rows[*at])) else { break };
            self.rows.remove(at);
        }
        for (at, k) in self.rows.iter().enumerate() {
            self.delta[*k] = self.answer[at];
        }
    }

    fn fill(&mut self, rows: &Rows, g: &Group, masses: &Masses, shares: [f64; 2]) {
        let n = self.rows.len();
        self.matrix.clear();
        self.matrix.resize(n * n, 0.0);
        self.answer.clear();
        for (a, k) in self.rows.iter().enumerate() {
            let j = &rows.row(g.first + k);
            let moved = [0, 1].map(|side| masses.accelerate(g.solids[side], &j[side]));
            for (b, l) in self.rows.iter().enumerate().take(a + 1) {
                let i = &rows.row(g.first + l);
                self.matrix[a * n + b] =
                    shares[0] * dot6(&moved[0], &i[0]) + shares[1] * dot6(&moved[1], &i[1]);
            }
            self.matrix[a * n + a] += self.asks[*k].give;
            self.answer.push(self.goal[*k]);
        }
    }

    /// Keeps the sum of multipliers within what they may be.
    fn limit(&mut self, lambda: &[f64]) {
        for (d, (l, ask)) in self.delta.iter_mut().zip(lambda.iter().zip(&self.asks)) {
            let (least, most) = ask.push.range();
            if least.is_finite() || most.is_finite() {
                *d = (l + *d).min(most).max(least) - l;
            }
        }
    }

    /// What the multipliers do to one of the two solids.
    fn push(&self, rows: &Rows, g: &Group, side: usize, masses: &Masses, share: f64) -> [f64; 6] {
        let mut force = [0.0; 6];
        for (k, r) in g.range().enumerate() {
            for (f, j) in force.iter_mut().zip(&rows.row(r)[side]) {
                *f += j * self.delta[k];
            }
        }
        masses.accelerate(g.solids[side], &force).map(|x| x * share)
    }
}

/// Solves with a small positive semidefinite matrix (lower triangle, row by row); dependent rows get nothing.
fn cholesky(a: &mut [f64], b: &mut [f64]) {
    let n = b.len();
    let most = (0..n).fold(0.0_f64, |m, k| m.max(a[k * n + k]));
    for i in 0..n {
        for j in 0..=i {
            let sum = (0..j).map(|k| a[i * n + k] * a[j * n + k]).sum::<f64>();
            let left = a[i * n + j] - sum;
            a[i * n + j] = if i != j {
                if a[j * n + j] > 0.0 { left / a[j * n + j] } else { 0.0 }
            } else if left > 1e-12 * most {
                left.sqrt()
            } else {
                0.0
            };
        }
    }
    for i in 0..n {
        let sum = (0..i).map(|k| a[i * n + k] * b[k]).sum::<f64>();
        b[i] = if a[i * n + i] > 0.0 { (b[i] - sum) / a[i * n + i] } else { 0.0 };
    }
    for i in (0..n).rev() {
        let sum = (i + 1..n).map(|k| a[k * n + i] * b[k]).sum::<f64>();
        b[i] = if a[i * n + i] > 0.0 { (b[i] - sum) / a[i * n + i] } else { 0.0 };
    }
}
