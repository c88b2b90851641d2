//! Crowds: linkages that touch each other in one island, too many for an exact solve.
//!
//! The step is that of everybody else, and joints hold as exactly; but contacts and limits are swept, over one small matrix
//! per linkage (`solve/cones/parts.rs`), some times in the first rounds of the position stage and once for the velocities.
//! The rounds after those close joints alone. What sweeps leave open comes apart through the positions when the next step
//! begins, so that no speed comes of it, and the receipt tells how far it is from the laws. Only where something sinks in is the
//! step tried again, in substeps.

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
const PASSES: usize = 6;
/// Sweeps of a round at most, while one still moves something by more than so many tolerances.
const SWEEPS: usize = 24;
const CLOSE: f64 = 20.0;
/// The part of a passed limit that is taken back in a step.
const RETURN: f64 = 0.3;

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
        if self.swept { PASSES } else { 50 }
    }

    /// Points were found that nobody expected.
    pub fn meets_more(&mut self) {
        self.rounds = MORE;
    }

    pub fn has_swept(&mut self) {
        self.rounds = self.rounds.saturating_sub(1);
    }

    /// Sweeps and what they may leave open, for a solve of so many iterations down to `tolerance`; `unit` is the length
    /// that the tolerance of a gap is there.
    pub fn effort(&self, iterations: usize, tolerance: f64, unit: f64) -> (usize, f64) {
        if self.swept { (iterations.min(SWEEPS), CLOSE * unit) } else { (iterations, tolerance) }
    }

    /// A limit that sweeps let something pass is not passed any farther: coming back at once would make speed of it.
    pub fn ask_no_farther(&self, g: &Group, low: f64, high: f64, ask: Ask) -> Ask {
        if !self.swept || g.law != Law::Hold || ask.low == ask.high {
            return ask;
        }
        Ask { low: ask.low - low.max(0.0), high: ask.high - high.min(0.0), ..ask }
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

    /// What limits ask where overlaps come apart: a part of what is passed.
    pub(super) fn ask_limits_back(&mut self) {
        if !(self.touch.crowd.swept && self.bounded) {
            return;
        }
        for r in limits(&self.rows, &self.below) {
            let (low, high) = (RETURN * self.rows.low[r].max(0.0), RETURN * self.rows.high[r].min(0.0));
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
