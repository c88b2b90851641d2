//! Room in the matrix for what touches: layers that meet couple vertices that no spring does.
//!
//! A new pattern wants a new analysis, which takes about as long as a factorisation; so room is made for all rows that are
//! close to acting, a few times in a step at most, and kept until the next time. A row without room is outweighed on the
//! diagonal, which is right but slower.

use super::Soft;
use super::contact::Near;

/// So often in a step.
const TIMES: usize = 3;

impl Soft {
    /// Lays out the matrix for the pairs in `coupled`.
    pub(super) fn lay_out(&mut self, quick: bool) {
        let places = self.factor.analyse(self.solids.len(), &self.coupled, quick);
        self.pairs.clear();
        self.pairs.extend(self.coupled.iter().zip(places).map(|([a, _], at)| (*a, at)));
        self.own.clear();
        let mut all = self.coupled.iter().enumerate();
        for pair in &self.springs {
            let at = all.find(|(_, p)| *p == pair).map_or(0, |(k, _)| k);
            self.own.push(at as u32);
        }
    }

    /// Where two nodes are coupled in the matrix.
    pub(super) fn place_of(&self, a: u32, b: u32) -> Option<(u32, u32)> {
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
        self.coupled.clone_from(&self.springs);
        for near in self.contacts.near.iter().filter(|n| n.is_close()) {
            self.coupled.extend(near.pairs().map(|(a, b)| [a.min(b), a.max(b)]));
        }
        self.coupled.sort_unstable();
        self.coupled.dedup();
        self.lay_out(true);
    }
}
