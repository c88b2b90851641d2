//! Inverse kinematics (Faure 1998, section 4.1): a pose in which everything holds and what yields is as near as it can
//! be. No time passes and no velocity is made.
//!
//! Joints with a limited force (grips) and soft ones yield: they are secondary (Faure 1999, section 3.4), all others are
//! primary. Each round is one damped two-rank solve, then the primary joints are closed again; a round that does not bring
//! the secondary ones nearer is taken back and damped more. So a grip that cannot be met never opens a loop.

use super::{StepConfig, Workspace};
use crate::joint::{JointId, Rank};
use crate::math::Vector;
use crate::mechanism::Mechanism;
use crate::rows::Gaps;
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
}

/// Moves the solids towards what yields, everything else closed, with at most `c.iterations` rounds. The state stays
/// finite: a pose that is not is taken back.
///
/// ```
/// use linkwork::{Frame, Joint, Mechanism, PlacedShape, Rank, Solid, SolidId, State, StepConfig, Vector, Workspace};
/// let mut m = Mechanism::new();
/// let bar = PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X);
/// let arm = m.add_solid(Solid::new("arm").with_shape(bar, 1.0))?;
/// let hand = m.add_solid(Solid::fixed("hand").at(0.0, 3.0, 0.0))?;
/// m.add_joint(Joint::ball(Frame::point(SolidId::WORLD, Vector::ZERO), Frame::point(arm, Vector::ZERO)))?;
/// let grip = Joint::ball(Frame::point(hand, Vector::ZERO), Frame::point(arm, Vector::X));
/// m.add_joint(Joint { most_force: 100.0, ..grip.with_rank(Rank::Secondary) })?;
/// let (mut state, mut w) = (State::new(&m), Workspace::default());
/// let report = linkwork::step::follow(&m, &mut state, &mut w, &StepConfig { iterations: 50, ..Default::default() });
/// // Out of reach: the arm points there, and stays hinged.
/// assert!(report.gaps.position < 1e-6 && (report.open - 2.0).abs() < 1e-3, "{report:?}");
/// # Ok::<(), linkwork::ModelError>(())
/// ```
pub fn follow(m: &Mechanism, s: &mut State, w: &mut Workspace, c: &StepConfig) -> FollowReport {
    /// A damping that changes nothing where the way is free, and is there at once where it is not.
    const DAMPING: f64 = 1e-3;
    let mut report = FollowReport::default();
    w.begin(m, c);
    let start = s.clone();
    fill(m, s, w);
    close(m, s, w, c, &mut report);
    let (mut damping, mut merit) = (DAMPING, merit_of(w));
    for _ in 0..c.iterations.max(1) {
        if open_gap(w) <= c.tolerance || damping > 1e6 || w.is_over(c) {
            break;
        }
        let (before, held) = (s.clone(), held_gaps(w).worst());
        w.b.clear();
        w.active.clear();
        for r in 0..w.rows.len() {
            let wanted = w.rows.wanted(r);
            w.b.push(wanted);
            w.active.push(w.rows.is_equality(r) || wanted != 0.0);
        }
        report.solver_iterations += w.solve_ranked(c, m.solids().len(), damping);
        report.iterations += 1;
        std::mem::swap(&mut w.ranked.dq, &mut w.correction.dq);
        displace(s, w, c);
        fill(m, s, w);
        close(m, s, w, c, &mut report);
        let (next, holds) = (merit_of(w), held_gaps(w).worst());
        if next < merit && holds <= held.max(c.tolerance) {
            let gained = merit - next;
            merit = next;
            damping = (damping * 0.1).max(DAMPING);
            if gained <= 1e-9 * merit {
                break;
            }
        } else {
            *s = before;
            fill(m, s, w);
            damping *= 30.0;
        }
    }
    if !s.is_finite() || !held_gaps(w).worst().is_finite() {
        *s = start.clone();
        fill(m, s, w);
    }
    for a in &w.rows.angles {
        s.angles[a.slot] = a.value;
    }
    report.gaps = held_gaps(w);
    report.open = open_gap(w);
    report.moved = s.centers.iter().zip(&start.centers).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    w.forget();
    report
}

/// Rows of all joints at a pose, ranked by whether they yield.
fn fill(m: &Mechanism, s: &State, w: &mut Workspace) {
    w.rows.fill(m, s, (0..m.joints().len() as u32).map(JointId), |_| Rank::Primary);
    for g in &mut w.rows.groups {
        let yields = g.most_force.is_finite() || g.compliance > 0.0;
        g.rank = if yields { Rank::Secondary } else { Rank::Primary };
    }
    w.masses.update(m, s);
}

/// Newton on what must hold alone: what yields asks for nothing until the next filling.
fn close(m: &Mechanism, s: &mut State, w: &mut Workspace, c: &StepConfig, report: &mut FollowReport) {
    for _ in 0..4 {
        if !(held_gaps(w).worst() > c.tolerance) {
            return;
        }
        for k in 0..w.rows.groups.len() {
            let g = w.rows.groups[k];
            if !g.is_primary() {
                w.rows.low[g.range()].fill(f64::NEG_INFINITY);
                w.rows.high[g.range()].fill(f64::INFINITY);
            }
        }
        report.solver_iterations += w.solve_bounded(c, m.solids().len());
        report.iterations += 1;
        displace(s, w, c);
        fill(m, s, w);
    }
}

/// Moves by `correction.dq`, no solid turning too far.
fn displace(s: &mut State, w: &Workspace, c: &StepConfig) {
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        let mut dq = w.correction.dq[i];
        let angle = Vector::new(dq[3], dq[4], dq[5]).length();
        if angle > c.max_rotation {
            dq[3..].iter_mut().for_each(|x| *x *= c.max_rotation / angle);
        }
        s.displace(i, &dq);
    }
}

fn held_gaps(w: &Workspace) -> Gaps {
    let held = w.rows.groups.iter().filter(|g| g.is_primary());
    held.fold(Gaps::default(), |worst, g| worst.max(w.rows.group_gaps(g)))
}

/// The largest gap of what yields, as far as it weighs anything.
fn open_gap(w: &Workspace) -> f64 {
    let yields = w.rows.groups.iter().filter(|g| !g.is_primary() && g.weight > 0.0);
    yields.fold(Gaps::default(), |worst, g| worst.max(w.rows.group_gaps(g))).worst()
}

fn merit_of(w: &Workspace) -> f64 {
    let yields = w.rows.groups.iter().filter(|g| !g.is_primary());
    yields.map(|g| g.weight * g.range().map(|r| w.rows.wanted(r).powi(2)).sum::<f64>()).sum()
}
