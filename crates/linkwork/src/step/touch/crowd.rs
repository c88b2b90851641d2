//! Crowds: linkages that touch each other in one island, too many for an exact solve.
//!
//! The step is that of everybody else, and joints hold as exactly; but contacts and limits are swept, over one small matrix
//! per linkage (`solve/cones/parts.rs`), some times in the first rounds of the position stage and once for the velocities.
//! The rounds after those close joints and limits alone. What sweeps leave open comes apart through the positions when the
//! next step begins, so that no speed comes of it, and the receipt tells how far it is from the laws. Only where something sinks
//! in is the step tried again, in substeps.

use super::Touch;
use super::heap::LEAST_PAIRS;
use crate::math::Vector;
use crate::rows::{Ask, Group, Law, Rows};
use crate::step::{IslandWork, Piece};

/// Fewer linkages are never a crowd.
const LEAST_LINKAGES: usize = 4;
/// Rounds of the position stage in which contacts are swept; after points that nobody expected, so many more.
const ROUNDS: usize = 3;
const MORE: usize = 2;
/// Sweeps of a round at most, while one still moves something by more than so many tolerances.
const SWEEPS: usize = 50;
const CLOSE: f64 = 20.0;
/// Parts of a depth that a step should not let pass: see [`Crowd::lets_pass`], [`Crowd::leaves`], [`Crowd::expects_within`].
const SHALLOW: f64 = 0.2;
const FAINT: f64 = 0.1;
const NEAR: f64 = 0.5;
/// Things may sink in by so many such depths before the step is tried again: substeps cost all of the crowd.
const BEARS: f64 = 2.0;

/// How the contacts of an island are swept in this step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Crowd {
    /// They are.
    pub swept: bool,
    /// Rounds that are left for them in the position stage.
    rounds: usize,
}

impl Crowd {
    /// Contacts and limits have had their rounds.
    pub fn is_settled(&self) -> bool {
        self.swept && self.rounds == 0
    }

    /// How often points and limits that a solve passes are taken on, at most.
    pub fn passes(&self) -> usize {
        // The next round is soon.
        if self.swept { 1 } else { 50 }
    }

    /// Points were found that nobody expected.
    pub fn meets_more(&mut self) {
        self.rounds = MORE;
    }

    /// How deep points may be that nobody expected, for a depth that a step should not let pass: they come apart when the
    /// next step begins.
    pub fn lets_pass(&self, seen: f64) -> f64 {
        if self.swept { SHALLOW * seen } else { 0.0 }
    }

    /// Overlaps that need not come apart yet, likewise.
    pub fn leaves(&self, seen: f64) -> f64 {
        if self.swept { FAINT * seen } else { 0.0 }
    }

    /// Gaps that other pushes may close, likewise: such points take part from the start, so that matrices are made once.
    pub fn expects_within(&self, seen: f64) -> f64 {
        if self.swept { NEAR * seen } else { 0.0 }
    }

    /// A bound that this change does not pass yet, but may with what else pushes: it takes part from the start, likewise.
    pub fn may_cross(&self, ask: &Ask, change: f64) -> bool {
        self.swept && (change - ask.low).min(ask.high - change) < change.abs()
    }

    /// The part of a depth that counts.
    pub fn bears(&self) -> f64 {
        if self.swept { 1.0 / BEARS } else { 1.0 }
    }

    /// A round is over. True if it was the last one with contacts.
    pub fn has_swept(&mut self) -> bool {
        self.rounds = self.rounds.saturating_sub(1);
        self.is_settled()
    }

    /// Sweeps and what they may leave open, for a solve of so many iterations down to `tolerance`; `unit` is the length
    /// that the tolerance of a gap is there. Limits alone, few in each linkage, are met as well as joints are.
    pub fn effort(&self, iterations: usize, tolerance: f64, unit: f64, touches: bool) -> (usize, f64) {
        match self.swept {
            true if touches => (iterations.min(SWEEPS), CLOSE * unit),
            true => (iterations.min(SWEEPS), tolerance),
            false => (iterations, tolerance),
        }
    }
}

impl IslandWork {
    /// Whether the island, with the points that were just found, is a crowd.
    pub(super) fn find_crowd(&mut self, piece: &Piece) {
        self.touch.crowd = Crowd { swept: self.is_crowd(piece), rounds: ROUNDS };
        self.touch.report.heaps = usize::from(self.touch.crowd.swept);
        self.touch.cones.by_linkage = self.touch.crowd.swept;
    }

    fn is_crowd(&mut self, piece: &Piece) -> bool {
        let few = self.touch.pairs.len() < LEAST_PAIRS || self.graph.islands.len() < LEAST_LINKAGES;
        if few || !piece.m.softs().is_empty() || self.touch.has_coats() {
            return false;
        }
        let mut pairs = std::mem::take(&mut self.touch.solid_pairs);
        pairs.clear();
        let moves = |[a, b]: [usize; 2]| self.masses.moves(a) && self.masses.moves(b);
        let ordered = |[a, b]: [usize; 2]| [a.min(b) as u32, a.max(b) as u32];
        let joints = self.rows.groups.iter().map(|g| g.solids);
        let contacts = self.touch.contacts.iter().map(|c| c.solids);
        pairs.extend(joints.chain(contacts).filter(|s| moves(*s)).map(ordered));
        self.touch.are_costly(self.masses.len(), pairs)
    }

    /// A round of the position stage after contacts were swept: what joints still ask for is in `delta`, and limits of
    /// each linkage are met over its matrix. Contacts push as they do.
    pub(in crate::step) fn close_joints(&mut self, piece: &Piece) -> usize {
        let h = piece.h;
        if !self.bounded {
            self.lambda.iter_mut().zip(&self.delta).for_each(|(l, d)| *l += d / h);
            return 0;
        }
        self.lambda.iter_mut().for_each(|l| *l *= h);
        let contacts = std::mem::take(&mut self.touch.contacts);
        let residual = self.touch.report.residual;
        let spent = self.solve_touching(piece.c, 1e-2 * piece.c.tolerance, piece.c.tolerance);
        (self.touch.contacts, self.touch.report.residual) = (contacts, residual);
        self.lambda.iter_mut().for_each(|l| *l /= h);
        spent
    }

    /// Overlaps come apart by about as far as the deepest of them: points with gaps of that size take part from the start.
    pub(super) fn expect_pushed(&mut self) {
        if self.touch.crowd.swept {
            let deepest = self.touch.contacts.iter().map(|c| c.low[0]).fold(0.0, f64::max);
            self.touch.contacts.iter_mut().for_each(|c| c.taken |= c.active && c.gap < deepest);
        }
    }

    /// What limits ask where overlaps come apart.
    pub(super) fn ask_limits_back(&mut self) {
        if !(self.touch.crowd.swept && self.bounded) {
            return;
        }
        for r in limits(&self.rows, &self.below) {
            let (low, high) = (self.rows.low[r].max(0.0), self.rows.high[r].min(0.0));
            if low > 0.0 {
                self.asks[r].low = low;
            } else if high < 0.0 {
                self.asks[r].high = high;
            }
        }
    }

    /// Some limit is passed by more than the tolerance.
    pub(super) fn passes_limits(&self, tolerance: f64) -> bool {
        let passed = |r: usize| self.rows.low[r].max(-self.rows.high[r]) > tolerance;
        self.touch.crowd.swept && self.bounded && limits(&self.rows, &self.below).any(passed)
    }
}

/// Rows of rigid limits.
fn limits<'a>(rows: &'a Rows, below: &'a [bool]) -> impl Iterator<Item = usize> + 'a {
    let rigid = |g: &&Group| g.law == Law::Hold && g.most_force.is_infinite();
    rows.groups.iter().filter(rigid).flat_map(Group::range).filter(|r| !below[*r])
}

impl Touch {
    /// In a crowd everything that is met is thrown back at once: one pair after the other would take for ever.
    pub(super) fn throw_at_once(&mut self, speed_of: impl Fn(usize) -> (Vector, Vector)) -> bool {
        let mut any = false;
        for c in &mut self.contacts {
            (c.active, c.taken) = (true, true);
            (c.force, c.applied) = ([0.0; 3], [0.0; 3]);
            c.resist.cool();
            let speed = -c.change(&speed_of)[0];
            if c.impact > 0.0 {
                c.impact = (speed - c.met.later).max(0.0);
                any |= c.impact > 0.0;
            }
        }
        self.forget();
        any
    }
}
