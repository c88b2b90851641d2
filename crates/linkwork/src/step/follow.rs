//! Hands: everything holds, and what yields (grips) is as near to where it should be as it can get.
//!
//! Joints with a limited force yield: they are secondary (Faure 1999, section 3.4), all others are primary. Each round is
//! one damped two-rank solve, then the primary joints are closed again; a round that does not bring the secondary ones
//! nearer is taken back and damped more. So a grip that cannot be met never opens a loop, two hands that contradict each
//! other share the error, and both stay bounded.
//!
//! Without time that is inverse kinematics (Faure 1998, section 4.1). At the end of a step in time it is the paper's
//! dynamics for the hands (section 4.2): the structure moves as if they were not there, and the displacement that brings
//! it back to them goes into its velocity. As in RATTLE a second impulse then makes the velocities those of the hands;
//! where a hand is out of reach it is what takes the swinging out.

use super::free::Wrench;
use super::{IslandWork, StepConfig, Workspace};
use crate::joint::{JointId, Rank};
use crate::math::{Vector, log};
use crate::mechanism::Mechanism;
use crate::rows::{Gaps, Group, dot6};
use crate::state::State;

/// What following did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FollowReport {
    /// Largest gaps of what must hold.
    pub gaps: Gaps,
    /// Largest gap of what yields.
    pub open: f64,
    /// Geometric iterations.
    pub iterations: usize,
    /// Iterations of the linear solver.
    pub solver_iterations: usize,
    /// The largest displacement of a centre, metres.
    pub moved: f64,
    /// What to start the next one with.
    pub damping: f64,
    /// Met, or as near as it gets; otherwise the iterations were used up.
    pub ended: bool,
}

/// What is followed, and how carefully.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Follow {
    /// `None` is inverse kinematics: soft joints yield like grips and velocities are left alone. `Some(h)` ends a step of
    /// that length: soft joints had their say in it, and velocities follow.
    pub over: Option<f64>,
    /// Holds motions back that promise little for much, in units of the free effective mass. A hand that moves goes on
    /// with what the last report says.
    pub damping: f64,
}

impl Default for Follow {
    fn default() -> Self {
        Self { over: None, damping: LEAST_DAMPING }
    }
}

/// Changes nothing where the way is free, however much hangs on it.
const LEAST_DAMPING: f64 = 1e-8;
/// Nothing moves any more.
const MOST_DAMPING: f64 = 1e4;
/// What an unmet hand takes out of the motion of what it holds, 1/s.
const UNMET_BRAKE: f64 = 4.0;
/// Solves per round until the bounds that act are known.
const BOUND_ROUNDS: usize = 4;

/// Moves the solids towards what yields, everything else closed, with at most `c.iterations` rounds. The state stays
/// finite: a pose that is not is taken back.
///
/// ```
/// use linkwork::{Frame, Joint, Mechanism, PlacedShape, Solid, SolidId, State, StepConfig, Vector, Workspace};
/// let mut m = Mechanism::new();
/// let bar = PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X);
/// let arm = m.add_solid(Solid::new("arm").with_shape(bar, 1.0))?;
/// let hand = m.add_solid(Solid::fixed("hand").at(0.0, 3.0, 0.0))?;
/// m.add_joint(Joint::ball(Frame::point(SolidId::WORLD, Vector::ZERO), Frame::point(arm, Vector::ZERO)))?;
/// let grip = Joint::ball(Frame::point(hand, Vector::ZERO), Frame::point(arm, Vector::X));
/// m.add_joint(Joint { most_force: 100.0, ..grip })?;
/// let (mut state, mut w) = (State::new(&m), Workspace::default());
/// let config = StepConfig { iterations: 50, ..Default::default() };
/// let report = linkwork::step::follow(&m, &mut state, &mut w, &config, Default::default());
/// // Out of reach: the arm points there, and stays hinged.
/// assert!(report.gaps.position < 1e-6 && (report.open - 2.0).abs() < 1e-3, "{report:?}");
/// # Ok::<(), linkwork::ModelError>(())
/// ```
pub fn follow(m: &Mechanism, s: &mut State, w: &mut Workspace, c: &StepConfig, how: Follow) -> FollowReport {
    let w = &mut w.whole;
    let over = how.over;
    let mut report = FollowReport::default();
    w.begin(m, c);
    let start = s.clone();
    fill(m, s, w, over.is_some());
    w.lambda.clear();
    w.lambda.resize(w.rows.len(), 0.0);
    close(m, s, w, c, over.is_some(), &mut report);
    let (mut damping, asked) = (how.damping.clamp(LEAST_DAMPING, MOST_DAMPING), open_gap(w));
    for _ in 0..c.iterations.max(1) {
        report.ended = open_gap(w) <= c.tolerance;
        if report.ended || w.is_over(c) {
            break;
        }
        let (before, held, merit) = (s.clone(), held_gaps(w).worst(), merit_of(w));
        ask(w);
        // Bounds that the motion would cross take part in it: a hand does not push through a stop.
        for _ in 0..BOUND_ROUNDS {
            report.solver_iterations += w.solve_ranked(c, m.solids().len(), damping * own_scale(w));
            if !take_on_crossed(w, c.tolerance) {
                break;
            }
        }
        report.iterations += 1;
        let promised = merit - promised_merit(w);
        let far = displace(s, &w.ranked.dq, w, c);
        let push = std::mem::take(&mut w.ranked.push);
        fill(m, s, w, over.is_some());
        close(m, s, w, c, over.is_some(), &mut report);
        let gained = merit - merit_of(w);
        let holds = held_gaps(w).worst() <= held.max(c.tolerance);
        // The usual rules of a trusted region: a step must keep a part of what it promised.
        let good = holds && gained > 0.1 * promised && gained > 0.0 && (!far || damping >= 1.0);
        if good {
            w.lambda.iter_mut().zip(&push).for_each(|(l, p)| *l += p);
        } else {
            *s = before;
            fill(m, s, w, over.is_some());
        }
        w.ranked.push = push;
        if good && gained > 0.5 * promised {
            damping = (0.03 * damping).max(LEAST_DAMPING);
        } else if !good || gained < 0.25 * promised {
            damping = (100.0 * damping).min(MOST_DAMPING);
        }
        // As near as it gets.
        report.ended = promised <= 1e-9 * merit || damping >= MOST_DAMPING;
        if report.ended {
            break;
        }
    }
    report.damping = damping;
    if !s.is_finite() || !held_gaps(w).worst().is_finite() {
        *s = start.clone();
        fill(m, s, w, over.is_some());
        w.lambda.fill(0.0);
    }
    for a in &w.rows.angles {
        s.angles[a.slot] = a.value;
    }
    report.gaps = held_gaps(w);
    report.open = open_gap(w);
    // A pose that was changed wakes what sleeps; in time a hand's mechanism is awake anyway (`Workspace::wake`).
    if over.is_none() && touched(s, w, &start).next().is_some() {
        s.wake();
    }
    report.moved = s.centers.iter().zip(&start.centers).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    if let Some(h) = over {
        let unmet = report.open > c.tolerance.max(0.1 * asked);
        report.solver_iterations += give_speed(m, s, w, c, &start, h, unmet);
    }
    w.forget();
    report
}

/// What the rows want, and which of them take part.
fn ask(w: &mut IslandWork) {
    w.b.clear();
    w.active.clear();
    for r in 0..w.rows.len() {
        let wanted = w.rows.wanted(r);
        w.b.push(wanted);
        w.active.push(w.rows.is_equality(r) || wanted != 0.0);
    }
}

/// What was corrected over a step of length `h` goes into the velocities. A hand that pulls at what cannot follow (`unmet`)
/// does no work: its corrections may brake, but not drive. Tells the iterations of the solver.
fn give_speed(
    m: &Mechanism,
    s: &mut State,
    w: &mut IslandWork,
    c: &StepConfig,
    start: &State,
    h: f64,
    unmet: bool,
) -> usize {
    w.lambda.iter_mut().for_each(|l| *l /= h * h);
    let had = kinetic(s, w, start);
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        s.velocities[i] += (s.centers[i] - start.centers[i]) / h;
        s.spins[i] += log(s.rotations[i] * start.rotations[i].inverse()) / h;
        // Light parts at the end of a whip: a hand sets nothing spinning faster than a step can follow.
        let turn = s.spins[i].length() * h;
        if turn > c.max_rotation {
            s.spins[i] *= c.max_rotation / turn;
        }
    }
    let iterations = velocities(m, s, w, c, h, unmet);
    if unmet {
        let has = kinetic(s, w, start);
        let keep = if has > had { (had / has).sqrt() } else { 1.0 } / (1.0 + UNMET_BRAKE * h);
        for i in touched(s, w, start).collect::<Vec<_>>() {
            s.velocities[i] *= keep;
            s.spins[i] *= keep;
        }
    }
    iterations
}

/// Solids that the correction moved.
fn touched<'a>(s: &'a State, w: &'a IslandWork, start: &'a State) -> impl Iterator<Item = usize> + 'a {
    let moved = move |i: &usize| s.centers[*i] != start.centers[*i] || s.rotations[*i] != start.rotations[*i];
    (0..s.centers.len()).filter(move |i| w.masses.moves(*i)).filter(moved)
}

/// Kinetic energy of what the correction moved.
fn kinetic(s: &State, w: &IslandWork, start: &State) -> f64 {
    let of = |i: usize| {
        let spin = s.rotations[i].inverse() * s.spins[i];
        w.masses.mass(i) * s.velocities[i].length_squared() + spin.dot(*w.masses.inertia(i) * spin)
    };
    touched(s, w, start).map(of).sum()
}

/// The second impulse: primary rows and grips keep still, relative to where their other side goes; `unmet` hands count as
/// still.
fn velocities(
    m: &Mechanism,
    s: &mut State,
    w: &mut IslandWork,
    c: &StepConfig,
    h: f64,
    unmet: bool,
) -> usize {
    const DAMPING: f64 = 1e-6;
    w.b.clear();
    w.active.clear();
    w.b.resize(w.rows.len(), 0.0);
    w.active.resize(w.rows.len(), false);
    for g in w.rows.groups.iter() {
        let still = unmet && !g.is_primary();
        let [a, b] = g.solids.map(|i| {
            if still && !w.masses.moves(i) {
                return [0.0; 6];
            }
            let (v, o) = (s.velocities[i], s.spins[i]);
            [v.x, v.y, v.z, o.x, o.y, o.z]
        });
        for r in g.range() {
            let speed = w.rows.along(r, [&a, &b]);
            // At a stop, and going on into it.
            let stops = (w.rows.low[r] >= -c.tolerance && speed < 0.0)
                || (w.rows.high[r] <= c.tolerance && speed > 0.0);
            if w.rows.is_equality(r) || stops {
                w.active[r] = true;
                w.b[r] = -speed;
            }
        }
    }
    let iterations = w.solve_ranked(c, m.solids().len(), DAMPING * own_scale(w));
    let finite = w.ranked.dq.iter().flatten().all(|x| x.is_finite());
    for i in (0..s.centers.len()).filter(|i| finite && w.masses.moves(*i)) {
        let dq = w.ranked.dq[i];
        s.velocities[i] += Vector::new(dq[0], dq[1], dq[2]);
        s.spins[i] += Vector::new(dq[3], dq[4], dq[5]);
    }
    w.lambda.iter_mut().zip(&w.ranked.push).for_each(|(l, p)| *l += p / h);
    iterations
}

/// Velocities alone: what yields goes where its other side goes, everything else keeps still. For a hand that lets go.
pub(crate) fn lead(m: &Mechanism, s: &mut State, w: &mut Workspace, c: &StepConfig) {
    let w = &mut w.whole;
    w.begin(m, c);
    fill(m, s, w, true);
    w.lambda.clear();
    w.lambda.resize(w.rows.len(), 0.0);
    velocities(m, s, w, c, c.dt, false);
    w.forget();
}

/// What a grip pulled with in the last [`follow`] over a step: force on the second solid.
pub(crate) fn grip_force(w: &Workspace, joint: JointId) -> Vector {
    let w = &w.whole;
    let mut sum = Wrench::default();
    for g in w.rows.groups.iter().filter(|g| g.joint == joint) {
        for r in g.range().filter(|r| *r < w.lambda.len()) {
            let j = &w.rows.row(r)[1];
            sum.linear += Vector::new(j[0], j[1], j[2]) * w.lambda[r];
        }
    }
    sum.linear
}

/// A grip, or something soft where no time passes.
fn yields(g: &Group) -> bool {
    g.most_force.is_finite() || g.compliance > 0.0
}

/// Rows of all joints at a pose, ranked by whether they yield. In time soft joints ask for nothing here.
fn fill(m: &Mechanism, s: &State, w: &mut IslandWork, timed: bool) {
    w.rows.fill(m, s, s.time, (0..m.joints().len() as u32).map(JointId), |_| Rank::Primary);
    for k in 0..w.rows.groups.len() {
        let g = &mut w.rows.groups[k];
        g.rank = if yields(g) { Rank::Secondary } else { Rank::Primary };
        if timed && g.compliance > 0.0 {
            mute(w, k);
        }
    }
    w.masses.update(m, s);
}

/// Bounds that `ranked.dq` crosses become active. True when there are any.
fn take_on_crossed(w: &mut IslandWork, tolerance: f64) -> bool {
    let IslandWork { rows, ranked, delta, active, b, .. } = w;
    delta.clear();
    delta.resize(rows.len(), 0.0);
    rows.apply(&ranked.dq, delta);
    let mut any = false;
    for r in 0..rows.len() {
        let (low, high, x) = (rows.low[r], rows.high[r], delta[r]);
        if !active[r] && (x < low - tolerance || x > high + tolerance) {
            active[r] = true;
            b[r] = if x < low { low } else { high };
            any = true;
        }
    }
    any
}

/// What the linearised rows promise for the secondary ones after `ranked.dq`.
fn promised_merit(w: &mut IslandWork) -> f64 {
    let IslandWork { rows, ranked, delta, active, .. } = w;
    delta.clear();
    delta.resize(rows.len(), 0.0);
    rows.apply(&ranked.dq, delta);
    let left = |r: usize| if active[r] { rows.wanted(r) - delta[r] } else { 0.0 };
    let open = rows.groups.iter().filter(|g| !g.is_primary());
    open.map(|g| g.weight * g.range().map(|r| left(r).powi(2)).sum::<f64>()).sum()
}

/// The mean diagonal of what yields, in units of the mean over all active rows: solvers take damping in those units, and
/// light parts elsewhere in the structure must not decide how fast a hand is followed.
fn own_scale(w: &IslandWork) -> f64 {
    let (mut own, mut all) = ((0.0, 0), (0.0, 0));
    for g in &w.rows.groups {
        for r in g.range().filter(|r| w.active[*r]) {
            let row = w.rows.row(r);
            let sides = g.solids.iter().zip(&row);
            let d: f64 = sides
                .filter(|(i, _)| w.masses.moves(**i))
                .map(|(i, j)| dot6(j, &w.masses.accelerate(*i, j)))
                .sum();
            all = (all.0 + d, all.1 + 1);
            if !g.is_primary() {
                own = (own.0 + d, own.1 + 1);
            }
        }
    }
    let mean = |(sum, count): (f64, usize)| sum / count.max(1) as f64;
    let scale = mean(own) / mean(all);
    if scale.is_finite() && scale > 0.0 { scale } else { 1.0 }
}

/// Opens the intervals of a group, so that it asks for nothing until the next filling.
fn mute(w: &mut IslandWork, group: usize) {
    let range = w.rows.groups[group].range();
    w.rows.low[range.clone()].fill(f64::NEG_INFINITY);
    w.rows.high[range].fill(f64::INFINITY);
}

/// Newton on what must hold alone.
fn close(
    m: &Mechanism,
    s: &mut State,
    w: &mut IslandWork,
    c: &StepConfig,
    timed: bool,
    report: &mut FollowReport,
) {
    for _ in 0..4 {
        if !(held_gaps(w).worst() > c.tolerance) {
            return;
        }
        for k in 0..w.rows.groups.len() {
            if !w.rows.groups[k].is_primary() {
                mute(w, k);
            }
        }
        report.solver_iterations += w.solve_bounded(c, m.solids().len());
        report.iterations += 1;
        displace(s, &w.correction.dq, w, c);
        fill(m, s, w, timed);
    }
}

/// Moves the solids, none of them turning too far. True when one had to be held back.
fn displace(s: &mut State, dq: &[[f64; 6]], w: &IslandWork, c: &StepConfig) -> bool {
    let mut far = false;
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        let mut dq = dq[i];
        let angle = Vector::new(dq[3], dq[4], dq[5]).length();
        if angle > c.max_rotation {
            dq[3..].iter_mut().for_each(|x| *x *= c.max_rotation / angle);
            far = true;
        }
        s.displace(i, &dq);
    }
    far
}

fn held_gaps(w: &IslandWork) -> Gaps {
    let held = w.rows.groups.iter().filter(|g| g.is_primary());
    held.fold(Gaps::default(), |worst, g| worst.max(w.rows.group_gaps(g)))
}

/// The largest gap of what yields.
fn open_gap(w: &IslandWork) -> f64 {
    let open = w.rows.groups.iter().filter(|g| !g.is_primary());
    open.fold(Gaps::default(), |worst, g| worst.max(w.rows.group_gaps(g))).worst()
}

fn merit_of(w: &IslandWork) -> f64 {
    let open = w.rows.groups.iter().filter(|g| !g.is_primary());
    open.map(|g| g.weight * g.range().map(|r| w.rows.wanted(r).powi(2)).sum::<f64>()).sum()
}
