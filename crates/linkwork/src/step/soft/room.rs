//! Room in the matrix for what touches: layers that meet couple vertices that no spring does.
//!
//! A new pattern wants a new analysis, which takes about as long as a factorisation; so room is made for all rows that are
//! close to acting, a few times in a step at most. A row without room is outweighed on the diagonal, which is right but
//! takes more rounds: so it is where a sheet lies in so many layers that nothing separates its vertices any more, and a factor with
//! room for all of them would take seconds. Every step begins with the springs' own pattern, and the last wider one is kept beside it: which of them a step has, and
//! so the order of its sums, depends on nothing but the state that it starts from.

use super::Soft;
use super::contact::Near;
use super::factor::{Factor, Place};

/// So often in a step.
const TIMES: usize = 3;
/// Room may make a factorisation take so many times its work, and this many multiplications in any case.
const DEARER: f64 = 3.0;
const CHEAP: f64 = 2e7;

/// A pattern of the matrix.
#[derive(Default)]
pub(super) struct Room {
    /// Pairs of nodes that it couples, in order, where they are in it, and which of them springs have.
    pub coupled: Vec<[u32; 2]>,
    pub pairs: Vec<Place>,
    pub own: Vec<u32>,
    pub factor: Factor,
}

impl Soft {
    /// Lays out the matrix for the pairs in `coupled`. False: factoring it would take more work than this, and nothing has changed.
    pub(super) fn lay_out(&mut self, most: f64) -> bool {
        let Some(pairs) = self.factor.analyse_within(&self.seats, &self.coupled, most) else { return false };
        self.pairs = pairs;
        self.own.clear();
        let mut all = self.coupled.iter().enumerate();
        for pair in &self.springs {
            let at = all.find(|(_, p)| *p == pair).map_or(0, |(k, _)| k);
            self.own.push(at as u32);
        }
        true
    }

    /// Where two nodes are coupled in the matrix.
    pub(super) fn place_of(&self, a: u32, b: u32) -> Option<Place> {
        let k = self.coupled.binary_search(&[a.min(b), a.max(b)]).ok()?;
        Some(self.pairs[k])
    }

    /// All vertices of a row are coupled in the matrix.
    pub(super) fn has_room(&self, near: &Near) -> bool {
        near.pairs().all(|(a, b)| self.place_of(a, b).is_some())
    }

    /// Makes room for rows that act, if they have none.
    pub(super) fn make_room(&mut self) {
        let lacks = |n: &Near| n.push > 0.0 && !self.has_room(n);
        if self.widened >= TIMES || !self.contacts.near.iter().any(lacks) {
            return;
        }
        self.widened += 1;
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.clone_from(&self.springs);
        for near in self.contacts.near.iter().filter(|n| n.is_close()) {
            wanted.extend(near.pairs().map(|(a, b)| [a.min(b), a.max(b)]));
        }
        wanted.sort_unstable();
        wanted.dedup();
        let was_wide = self.is_wide;
        if !std::mem::replace(&mut self.is_wide, true) {
            self.swap_rooms();
        }
        if self.coupled != wanted {
            let most = (DEARER * self.spare.factor.work()).max(CHEAP);
            let before = std::mem::replace(&mut self.coupled, wanted.clone());
            if !self.lay_out(most) {
                self.coupled = before;
                self.widened = TIMES;
                if !was_wide {
                    self.narrow_pattern();
                }
            }
        }
        self.wanted = wanted;
    }

    /// Back to the pattern of the springs.
    pub(super) fn narrow(&mut self) {
        self.widened = 0;
        self.narrow_pattern();
    }

    fn narrow_pattern(&mut self) {
        if std::mem::take(&mut self.is_wide) {
            self.swap_rooms();
        }
    }

    fn swap_rooms(&mut self) {
        let Room { coupled, pairs, own, factor } = &mut self.spare;
        std::mem::swap(coupled, &mut self.coupled);
        std::mem::swap(pairs, &mut self.pairs);
        std::mem::swap(own, &mut self.own);
        std::mem::swap(factor, &mut self.factor);
    }
}
