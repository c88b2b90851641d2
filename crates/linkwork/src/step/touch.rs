//! Contacts of one island in one step: detection, and the solve of both levels with friction cones in it.
//!
//! `variational` meets contacts twice per substep (`stages.rs`):
//!
//! - **positions**: points at `q_n` are rows that are linear in the displacement, and no gap may close beyond zero. What
//!   overlapped was pushed out before, through the positions alone: that is never velocity;
//! - **velocities**: points at `q_{n+1}` that touch are held there. Impacts with restitution come first, pair by pair
//!   (`impact.rs`), and start from the speeds before the blow: for them the impulses of the position stage are *withdrawn*
//!   from the momenta, with all that joints answered to them.
//!
//! Soft coats (`coats.rs`) are the same rows with a give in the position stage; in the velocity stage their impulses act
//! once more.
//!
//! Every impulse acts at one point on both solids, so that momentum is kept at any accuracy; joints are eliminated by
//! their response, so that they hold at any accuracy, too.

mod blow;
mod coats;
mod crowd;
mod heap;
mod impact;
mod met;
mod resist;
mod ride;
mod stages;
mod tally;

use super::{IslandWork, StepConfig};
use crate::contact::{CoatStep, Collider, Colliders, ContactKey, ContactReport, Narrow, Point, Surface};
use crate::math::{Pose, Rotation, Vector};
use crate::rows::{Ask, HalfRow, Masses};
use crate::solve::{
    ConeProblem, ConeReport, Cones, FreeSolids, Heap, Jointed, JointedScratch, Lower, UpperRows, Work,
};
use crate::state::State;
pub(in crate::step) use blow::MOST_BLOWS;
use crowd::Crowd;
use met::Met;
use resist::Resist;
pub(in crate::step) use stages::approach;
use std::sync::Arc;

/// Two colliders that may touch within the step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub colliders: [u32; 2],
    /// Solids of the island; what is fixed counts as the world.
    pub solids: [usize; 2],
    /// Where the fixed one is.
    pub poses: [Option<Pose>; 2],
    pub surface: Surface,
}

impl Pair {
    fn shapes<'a>(&self, all: &'a Colliders) -> [&'a Collider; 2] {
        self.colliders.map(|k| &all.all[k as usize])
    }
}

/// A point of contact in a stage.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Contact {
    pub key: ContactKey,
    pub pair: usize,
    pub solids: [usize; 2],
    /// From the centres of mass.
    pub arms: [Vector; 2],
    /// The normal, from the first solid to the second, and two tangents.
    pub frame: [Vector; 3],
    pub gap: f64,
    pub friction: f64,
    pub restitution: f64,
    /// There is a soft coat between the two; what it is over the step, once that is known.
    pub coated: bool,
    pub coat: CoatStep,
    /// The part of the coat that it lacks.
    pub faint: f64,
    /// What a unit of its impulse along the normal gives way in the stage; what the coat pushed with in the first half.
    pub give: f64,
    pub held: f64,
    /// Resistance to spinning and rolling.
    pub resist: Resist,
    /// The gap where the position stage has come to, if it was measured.
    pub measured: f64,
    /// Takes part in the stage.
    pub active: bool,
    /// Speed at which it is met, if it was not touched before, and how it was approached.
    pub impact: f64,
    pub met: Met,
    /// Least change along the normal, and the change along the tangents, that is still asked for.
    pub low: [f64; 3],
    /// Impulse along the frame: as it is being found, as far as it acts already, and of the whole substep.
    pub force: [f64; 3],
    pub applied: [f64; 3],
    pub total: [f64; 3],
    /// Takes part in the solve.
    pub taken: bool,
    /// It pushed at some time in the stage.
    pub pushes: bool,
}

impl Contact {
    /// Change along the frame for motions of both solids.
    pub fn change(&self, of: impl Fn(usize) -> (Vector, Vector)) -> [f64; 3] {
        let [one, two] = self.solids.map(of);
        let relative = two.0 + two.1.cross(self.arms[1]) - one.0 - one.1.cross(self.arms[0]);
        self.frame.map(|d| d.dot(relative))
    }

    fn half(&self, side: usize, k: usize) -> HalfRow {
        let d = if side == 0 { -self.frame[k] } else { self.frame[k] };
        let turn = self.arms[side].cross(d);
        [d.x, d.y, d.z, turn.x, turn.y, turn.z]
    }

    /// Impulse on the second solid.
    pub fn push(&self, force: &[f64; 3]) -> Vector {
        self.frame[0] * force[0] + self.frame[1] * force[1] + self.frame[2] * force[2]
    }

    /// What a unit along the normal and along the tangents moves, at most.
    pub fn mobility(&self, masses: &Masses) -> [f64; 2] {
        let of = |k: usize| -> f64 {
            (0..2)
                .filter(|side| masses.moves(self.solids[*side]))
                .map(|side| {
                    let j = self.half(side, k);
                    crate::rows::dot6(&j, &masses.accelerate(self.solids[side], &j))
                })
                .sum()
        };
        [of(0), 0.5 * (of(1) + of(2))]
    }
}

/// Contacts and scratch of an island.
#[derive(Default)]
pub(crate) struct Touch {
    pub colliders: Arc<Colliders>,
    /// Pairs near each other in this step.
    pub pairs: Vec<Pair>,
    /// There are soft coats in the scene, near or not.
    pub among_coats: bool,
    pub(super) contacts: Vec<Contact>,
    /// Those that `detect` found.
    later: Vec<Contact>,
    /// Points of coats that pushed in the position stage.
    coats: Vec<Contact>,
    /// Energy in coats where the substep began, where something bounces.
    dented: f64,
    /// `later` are those of the state as the position stage left it.
    looked: bool,
    /// Something that turns far within the substep meets something else in it: where it does, nobody can tell.
    pub(super) whirls: bool,
    narrow: Narrow,
    points: Vec<Point>,
    /// Points that pushed in the position stage, in order.
    pushed: Vec<Contact>,
    /// What contacts did in the position stage is not part of the momenta.
    withdrawn: bool,
    /// Poses when the position stage began.
    start: Vec<(Vector, Rotation)>,
    /// Energy then.
    energy: f64,
    /// What contacts still lack in the position stage.
    short: f64,
    rows: UpperRows,
    asks: Vec<Ask>,
    friction: Vec<f64>,
    /// Limits of what resists turning.
    resistance: Vec<[f64; 2]>,
    force: Vec<f64>,
    /// Where contacts are swept: what acts already along the rows.
    acting: Vec<f64>,
    /// Rows with bounds that take part in the solve, and those that do not yet.
    bounds: Vec<usize>,
    resting: Vec<usize>,
    /// Those that took part in the solve before.
    last_bounds: Vec<usize>,
    /// Per row: what a bound may push with, as a first guess; empty where only what acts already is known.
    guess: Vec<f64>,
    cones: Cones,
    jointed: JointedScratch,
    before: Vec<[f64; 6]>,
    push: Vec<[f64; 6]>,
    reaction: Vec<f64>,
    /// The matrix in `cones` belongs to these rows and this factor.
    known: bool,
    /// Places of the points that took part in the last solve.
    laid: Vec<u32>,
    velocities: Vec<(Vector, Vector)>,
    stopped: Vec<(Vector, Vector)>,
    heap: Heap,
    /// Solids that touch each other.
    solid_pairs: Vec<[u32; 2]>,
    /// Such pairs, and what an exact solve of them costs.
    costed: (Vec<[u32; 2]>, usize),
    /// Contacts are swept.
    pub(super) crowd: Crowd,
    tolerance: f64,
    /// How deep things are in each other (`depth`): when the step began, if that is known, and at its end.
    sunk_before: f64,
    sunk: f64,
    /// Energy that pushing out brought in this step.
    pub lifted: f64,
    pub report: ContactReport,
    /// Impulses of the step.
    pub tally: tally::Tally,
}

/// What meets something from afar may turn within the substep by this part of its size.
const WHIRL: f64 = 0.25;
/// More points than this take part at once.
const HEAP: usize = 500;
/// Parts of a second that pushing out takes for a depth of the size of what overlaps.
const PUSH: f64 = 0.5;

impl Touch {
    /// Nothing is near anything.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// No point takes part in the stage.
    pub fn is_idle(&self) -> bool {
        self.contacts.is_empty()
    }

    /// No impulse acts.
    pub fn is_cold(&self) -> bool {
        self.contacts.iter().all(|c| c.applied == [0.0; 3] && c.resist.applied == [0.0; 3])
    }

    /// Forgets a first guess.
    pub fn cool(&mut self) {
        for c in &mut self.contacts {
            (c.force, c.applied) = ([0.0; 3], [0.0; 3]);
            c.resist.cool();
        }
    }

    /// The first half goes on without friction, from the start. False: there is none.
    pub fn drop_friction(&mut self) -> bool {
        let any = self.contacts.iter().any(|c| c.friction > 0.0);
        self.contacts.iter_mut().for_each(|c| (c.friction, c.resist) = (0.0, Resist::default()));
        self.cool();
        any
    }

    /// A step is tried from its start.
    pub fn begin_attempt(&mut self) {
        (self.report, self.lifted) = (ContactReport::default(), 0.0);
        (self.sunk_before, self.sunk) = (-1.0, 0.0);
        self.tally.restart();
    }

    /// Bounds are expected to push again as they did in the first half.
    fn foresee(&mut self, pushed: &[f64]) {
        self.guess.clear();
        self.guess.extend_from_slice(pushed);
    }

    /// Rows or factor are others.
    pub fn forget(&mut self) {
        self.known = false;
    }

    fn pose(pair: &Pair, side: usize, s: &State) -> Pose {
        let i = pair.solids[side];
        pair.poses[side].unwrap_or_else(|| Pose::from_parts(s.centers[i], s.rotations[i]))
    }

    /// Finds the points of all pairs at `s`, not farther apart than `margin` of the pair allows, for `later`; `cast` tells
    /// for how long fast ones are followed along their way.
    fn detect(&mut self, s: &State, cast: f64, margin: impl Fn(&Pair, &Colliders) -> f64) {
        self.later.clear();
        self.whirls = false;
        let all = self.colliders.clone();
        for k in 0..self.pairs.len() {
            let pair = self.pairs[k];
            let [a, b] = pair.colliders.map(|c| &all.all[c as usize]);
            let [pa, pb] = [Self::pose(&pair, 0, s), Self::pose(&pair, 1, s)];
            let [va, vb] = pair.solids.map(|i| s.velocities[i]);
            let least = a.size.min(b.size).max(1e-9);
            let far = margin(&pair, &all);
            let flat = a.bounds.is_none() || b.bounds.is_none();
            let way = blow::far(a, b);
            let fast = cast * (vb - va).length() > way && !flat;
            self.points.clear();
            let near = if fast { far - cast * (vb - va).length() + 0.5 * way } else { far };
            self.narrow.points(a, &pa, b, &pb, near, &mut self.points);
            let centers = [pa.translation, pb.translation];
            let spin = |side: usize, c: &Collider| s.spins[pair.solids[side]].length() * c.reach;
            let turn = cast * (spin(0, a) + spin(1, b));
            let whirls = fast && turn > WHIRL * least;
            for p in &self.points {
                self.whirls |= whirls && p.gap + cast * (vb - va).dot(p.normal) < turn;
                // Where they will meet, seen from each: half way is far from both, and friction there would spin them.
                let half = p.normal * if fast { 0.5 * p.gap.max(0.0) } else { 0.0 };
                let arms = [p.at - half - centers[0], p.at + half - centers[1]];
                self.later.push(Contact::at(&pair, k, p, arms));
            }
            if fast
                && self.points.is_empty()
                && let Some((t, first)) = self.narrow.cast(a, &pa, va, b, &pb, vb, cast)
            {
                self.whirls |= whirls;
                // All points where they meet, as far away as they are now: one alone would make a face spin.
                let (mut qa, mut qb) = (pa, pb);
                (qa.translation, qb.translation) = (centers[0] + va * t, centers[1] + vb * t);
                self.narrow.points(a, &qa, b, &qb, 1e-3 * least, &mut self.points);
                if self.points.is_empty() {
                    self.points.push(Point { gap: 0.0, ..first });
                }
                for p in &mut self.points {
                    p.gap -= (vb - va).dot(p.normal) * t;
                    let arms = [p.at - qa.translation, p.at - qb.translation];
                    self.later.push(Contact::at(&pair, k, p, arms));
                }
            }
        }
    }

    /// What was found takes part from here on.
    fn take_later(&mut self) {
        std::mem::swap(&mut self.contacts, &mut self.later);
        self.known = false;
    }

    /// Takes over the forces of the last step, times `h`, as a first guess.
    fn warm_start(&mut self, s: &State, h: f64) {
        let known = &s.memory.own().contacts;
        for c in &mut self.contacts {
            if let Ok(k) = known.binary_search_by_key(&c.key, |m| m.key) {
                let force = Vector::from_array(known[k].force) * h;
                c.force = c.frame.map(|d| d.dot(force));
            }
        }
    }

    /// Wrenches of what acts already, added to `out`.
    fn collect(contacts: &[Contact], of: impl Fn(&Contact) -> [f64; 3], out: &mut [super::free::Wrench]) {
        for c in contacts {
            if c.resist.applied != [0.0; 3] {
                let torque = c.push(&c.resist.applied);
                out[c.solids[0]].angular -= torque;
                out[c.solids[1]].angular += torque;
            }
            let force = of(c);
            if force != [0.0; 3] {
                let push = c.push(&force);
                for (side, push) in [(0, -push), (1, push)] {
                    let to = &mut out[c.solids[side]];
                    to.linear += push;
                    to.angular += c.arms[side].cross(push);
                }
            }
        }
    }

    /// What acts already is not taken out: the solve counts from there.
    fn begin_from_rest(&mut self, solids: usize) {
        self.before.clear();
        self.before.resize(solids, [0.0; 6]);
    }

    /// What the multipliers that act already do, of bounds and contacts.
    fn respond_to_before(&mut self, lower: &mut dyn Lower, rows: &crate::rows::Rows, lambda: &[f64]) -> bool {
        for v in [&mut self.before, &mut self.push] {
            v.clear();
            v.resize(lower.solids(), [0.0; 6]);
        }
        let mut any = false;
        for &r in self.bounds.iter().filter(|r| lambda[**r] != 0.0) {
            any = true;
            let (halves, solids) = (rows.row(r), rows.solids(r));
            for (half, solid) in halves.iter().zip(solids) {
                self.push[solid].iter_mut().zip(half).for_each(|(f, j)| *f += j * lambda[r]);
            }
        }
        for c in self.contacts.iter().filter(|c| c.applied != [0.0; 3]) {
            any = true;
            for side in 0..2 {
                for k in 0..3 {
                    let j = c.half(side, k);
                    let to = &mut self.push[c.solids[side]];
                    to.iter_mut().zip(&j).for_each(|(f, j)| *f += j * c.applied[k]);
                }
            }
        }
        for c in self.contacts.iter().filter(|c| c.resist.applied != [0.0; 3]) {
            any = true;
            let torque = c.push(&c.resist.applied).to_array();
            for (side, sign) in [(0, -1.0), (1, 1.0)] {
                let to = &mut self.push[c.solids[side]][3..];
                to.iter_mut().zip(&torque).for_each(|(f, t)| *f += sign * t);
            }
        }
        if any {
            lower.respond(&self.push, &mut self.before);
        }
        any
    }

    /// Writes the rows of bounds and of the contacts that take part.
    fn lay(&mut self, w: &Upper, dq: &[[f64; 6]]) {
        self.rows.clear();
        self.asks.clear();
        self.force.clear();
        self.friction.clear();
        self.resistance.clear();
        self.acting.clear();
        let had = |ends: &[(usize, HalfRow)], before: &[[f64; 6]]| -> f64 {
            ends.iter().map(|(s, j)| crate::rows::dot6(j, &dq[*s]) - crate::rows::dot6(j, &before[*s])).sum()
        };
        for &r in &self.bounds {
            let [a, b] = w.rows.row(r);
            let [i, j] = w.rows.solids(r);
            let ends = [(i, a), (j, b)];
            let had = had(&ends, &self.before);
            self.asks.push(Ask { low: w.asks[r].low - had, high: w.asks[r].high - had, ..w.asks[r] });
            self.force.push(self.guess[r]);
            self.acting.push(w.acting[r]);
            self.rows.push(&ends);
        }
        for c in self.contacts.iter().filter(|c| c.taken) {
            for k in 0..3 {
                let mut ends = [(0, [0.0; 6]); 2];
                let mut n = 0;
                for side in (0..2).filter(|side| w.masses.moves(c.solids[*side])) {
                    ends[n] = (c.solids[side], c.half(side, k));
                    n += 1;
                }
                let low = c.low[k] - had(&ends[..n], &self.before);
                let normal = || Ask { give: c.give, ..Ask::at_least(low) };
                self.asks.push(if k == 0 { normal() } else { Ask::equal(low) });
                self.force.push(c.force[k]);
                self.acting.push(c.applied[k]);
                self.rows.push(&ends[..n]);
            }
            self.friction.push(c.friction);
        }
        self.lay_resistance(w, dq);
    }

    /// Bounds that may act: those that push already or that the motion `dq` would pass take part, the others are looked at
    /// again when the answer is known.
    fn find_bounds(
        &mut self,
        bounded: bool,
        below: &[bool],
        rows: &crate::rows::Rows,
        asks: &[Ask],
        lambda: &[f64],
        dq: &[[f64; 6]],
    ) {
        std::mem::swap(&mut self.bounds, &mut self.last_bounds);
        self.bounds.clear();
        self.resting.clear();
        for r in (0..rows.len()).filter(|r| bounded && !below[*r]) {
            match asks.get(r) {
                Some(ask) if !ask.is_nothing() => {
                    let crossed = || {
                        let change = row_change(rows, r, |s, k| dq[s][k]);
                        ask.lacks(change) > 0.0 || self.crowd.may_cross(ask, change)
                    };
                    let pushes = lambda[r] != 0.0 || self.guess[r] != 0.0;
                    // Over matrices that are there already, rows that let go cost less than other matrices.
                    let stays = self.known && self.crowd.swept && self.last_bounds.binary_search(&r).is_ok();
                    let to = if pushes || stays || crossed() { &mut self.bounds } else { &mut self.resting };
                    to.push(r);
                }
                _ => {}
            }
        }
        self.known &= self.last_bounds == self.bounds;
    }

    /// Bounds that the motion would pass take part from here on. True when there are any.
    fn take_on_bounds(&mut self, w: &Upper, dq: &[[f64; 6]], tolerance: f64) -> bool {
        let had = self.bounds.len();
        let (motion, before, bounds) = (&self.cones.motion, &self.before, &mut self.bounds);
        self.resting.retain(|r| {
            let change = row_change(w.rows, *r, |s, k| dq[s][k] + motion[s][k] - before[s][k]);
            let crossed = w.asks[*r].lacks(change) > tolerance;
            if crossed {
                bounds.push(*r);
            }
            !crossed
        });
        let any = bounds.len() > had;
        self.known &= !any;
        any
    }

    /// Points that the motion would pass through take part from here on. True when there are any.
    fn take_on_crossed(&mut self, dq: &[[f64; 6]], tolerance: f64) -> bool {
        let mut any = false;
        let (motion, before) = (&self.cones.motion, &self.before);
        for c in self.contacts.iter_mut().filter(|c| c.active && !c.taken) {
            let of = |i: usize| {
                let x: [f64; 6] = std::array::from_fn(|k| dq[i][k] + motion[i][k] - before[i][k]);
                (Vector::new(x[0], x[1], x[2]), Vector::new(x[3], x[4], x[5]))
            };
            if c.change(of)[0] < c.low[0] - tolerance {
                (c.taken, any) = (true, true);
            }
        }
        self.known &= !any;
        any
    }
}

/// What a motion changes of a row.
fn row_change(rows: &crate::rows::Rows, r: usize, of: impl Fn(usize, usize) -> f64) -> f64 {
    let (halves, solids) = (rows.row(r), rows.solids(r));
    halves.iter().zip(solids).map(|(j, s)| (0..6).map(|k| j[k] * of(s, k)).sum::<f64>()).sum()
}

/// What the solve looks at of an island.
struct Upper<'a> {
    rows: &'a crate::rows::Rows,
    asks: &'a [Ask],
    masses: &'a Masses,
    /// The multipliers that act already.
    acting: &'a [f64],
    /// What is looked for is the difference to these.
    differs: bool,
}

impl IslandWork {
    /// Adds bounds and contacts to an answer of the rows below: `delta` holds that, `lambda` and the contacts' `applied`
    /// what acts already, in the same units. `dq` is the motion of the difference; `unit` is what the tolerance of a gap is
    /// in the units of the rows.
    pub(super) fn solve_touching(&mut self, c: &StepConfig, tolerance: f64, unit: f64) -> usize {
        let clock = self.start(c);
        self.dq.clear();
        self.dq.resize(self.masses.len(), [0.0; 6]);
        self.rows.apply_transposed(&self.delta, &self.masses, &mut self.dq);
        self.lambda.iter_mut().zip(&self.delta).for_each(|(l, d)| *l += d);
        let mut touch = std::mem::take(&mut self.touch);
        if touch.guess.len() != self.lambda.len() {
            touch.guess.clone_from(&self.lambda);
        }
        touch.find_bounds(self.bounded, &self.below, &self.rows, &self.asks, &self.lambda, &self.dq);
        let touches = !touch.contacts.is_empty();
        let (iterations, tolerance) = touch.crowd.effort(c.solver_iterations, tolerance, unit, touches);
        let work = Work { iterations, tolerance, out_of_time: c.out_of_time };
        let jointed = self.solver.is_some() && !self.rows.is_empty();
        let differs = touch.crowd.swept && jointed;
        let (rows, masses, acting) = (&self.rows, &self.masses, &self.lambda);
        let upper = Upper { rows, asks: &self.asks, masses, acting, differs };
        let mut scratch = std::mem::take(&mut touch.jointed);
        let report = match &mut self.solver {
            Some((_, solver)) if !self.rows.is_empty() => {
                let cost = 50.0 * self.rows.len() as f64;
                let soft = &self.rows.softness;
                let active: &[bool] = if self.bounded { &self.below } else { &[] };
                let solver = solver.as_mut();
                let mut lower =
                    Jointed::new(solver, &self.rows, &self.masses, active, soft, cost, &mut scratch);
                if differs {
                    // What an answer leaves of the joints is measured with the next round's gaps.
                    lower = lower.unrefined();
                }
                touch.reaction.clear();
                touch.reaction.resize(self.rows.len(), 0.0);
                if differs {
                    touch.begin_from_rest(lower.solids());
                } else if touch.respond_to_before(&mut lower, &self.rows, &self.lambda) {
                    touch.reaction.copy_from_slice(lower.inner());
                }
                let report = touch.solve(&mut lower, &upper, &self.dq, &work);
                for (r, (now, had)) in lower.inner().iter().zip(&touch.reaction).enumerate() {
                    self.lambda[r] += now - had;
                }
                report
            }
            _ => {
                let mut lower = FreeSolids { masses: &self.masses };
                touch.respond_to_before(&mut lower, &self.rows, &self.lambda);
                touch.solve(&mut lower, &upper, &self.dq, &work)
            }
        };
        touch.jointed = scratch;
        for (q, (x, before)) in self.dq.iter_mut().zip(touch.cones.motion.iter().zip(&touch.before)) {
            for k in 0..6 {
                q[k] += x[k] - before[k];
            }
        }
        let n = touch.bounds.len();
        for (r, f) in touch.bounds.iter().zip(&touch.force) {
            self.lambda[*r] = *f;
        }
        touch.take_forces(n);
        touch.guess.clear();
        touch.report.rounds += report.rounds;
        touch.report.residual = report.residual;
        touch.report.cone_violation = touch.report.cone_violation.max(report.cone_violation);
        self.touch = touch;
        self.stop(c, clock, |s| &mut s.solve);
        report.rounds + report.responses
    }
}

impl Touch {
    /// How many points take part. What is known of them is of no use to others.
    fn note_taken(&mut self) -> usize {
        let taken = self.contacts.iter().enumerate().filter(|(_, c)| c.taken).map(|(k, _)| k as u32);
        if !self.laid.iter().copied().eq(taken.clone()) {
            self.known = false;
            self.laid.clear();
            self.laid.extend(taken);
        }
        self.laid.len()
    }

    /// Solves with the points that matter, until no other one does.
    fn solve(&mut self, lower: &mut dyn Lower, upper: &Upper, dq: &[[f64; 6]], work: &Work) -> ConeReport {
        // A quarter of what is let through: what the solver leaves open must not take anybody on.
        let mut sum = ConeReport::default();
        if self.contacts.len() > HEAP {
            // Sweeps find out by themselves who pushes.
            self.contacts.iter_mut().for_each(|c| c.taken |= c.active);
        }
        for left in (0..self.crowd.passes()).rev() {
            let taken = self.note_taken();
            self.lay(upper, dq);
            let p = ConeProblem {
                rows: &self.rows,
                asks: &self.asks,
                scalars: self.bounds.len(),
                friction: &self.friction,
                resistance: &self.resistance,
                acting: if upper.differs { &self.acting } else { &[] },
            };
            let report = self.cones.solve(
                lower,
                &p,
                &mut self.force,
                work,
                self.known && (taken > 0 || self.crowd.swept),
            );
            self.known = true;
            sum = ConeReport {
                rounds: sum.rounds + report.rounds,
                responses: sum.responses + report.responses,
                ..report
            };
            self.bounds.iter().zip(&self.force).for_each(|(r, f)| self.guess[*r] = *f);
            let limits = self.take_forces(self.bounds.len());
            if left == 0 || work.is_over() {
                // Whoever was taken on now would stay without a force.
                break;
            }
            let crossed = self.take_on_crossed(dq, 10.0 * work.tolerance);
            let crossed = self.take_on_bounds(upper, dq, 10.0 * work.tolerance) || crossed;
            if !(crossed || limits) {
                break;
            }
        }
        sum
    }
}

impl Contact {
    fn at(pair: &Pair, k: usize, p: &Point, arms: [Vector; 2]) -> Self {
        let tangent = crate::math::perpendicular(p.normal);
        Self {
            key: ContactKey { shapes: pair.colliders, feature: p.feature },
            pair: k,
            solids: pair.solids,
            arms,
            measured: f64::NAN,
            frame: [p.normal, tangent, p.normal.cross(tangent)],
            gap: p.gap,
            friction: pair.surface.friction,
            restitution: pair.surface.restitution,
            coated: pair.surface.coat.is_some(),
            faint: p.faint,
            resist: Resist::new(pair.surface.resistance),
            active: true,
            ..Self::default()
        }
    }
}
