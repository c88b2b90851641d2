//! Soft coats in the two stages: what a dent stores, and the second half of its impulse.
//!
//! The law is that of `contact/coat.rs`. The position stage finds the impulse of the first half, together with all the rest
//! of the island. In the second half the same acts at the places where the points have come to: that takes exactly what the
//! coat stores. Friction is found anew, within the cone of that.

use super::{Contact, Touch};
use crate::math::Vector;
use crate::rows::Masses;
use crate::state::State;
use crate::step::{IslandWork, Piece};

impl Touch {
    /// Is there anything soft between the pairs?
    pub fn has_coats(&self) -> bool {
        self.pairs.iter().any(|p| p.surface.coat.is_some())
    }

    /// Coats of points that are new in the stage.
    pub(super) fn put_on(&mut self, masses: &Masses, h: f64) {
        for c in self.contacts.iter_mut().filter(|c| c.coated) {
            if let Some(coat) = self.pairs[c.pair].surface.coat {
                c.coat = coat.at(c.faint).over(h, c.mobility(masses)[0].max(f64::MIN_POSITIVE));
            }
        }
    }

    /// Energy that dents at `s` store.
    pub fn coat_energy(&mut self, s: &State) -> f64 {
        let all = self.colliders.clone();
        let mut sum = 0.0;
        for k in 0..self.pairs.len() {
            let pair = self.pairs[k];
            let Some(coat) = pair.surface.coat else { continue };
            let [a, b] = pair.colliders.map(|c| &all.all[c as usize]);
            let [pa, pb] = [Self::pose(&pair, 0, s), Self::pose(&pair, 1, s)];
            self.points.clear();
            self.narrow.points(a, &pa, b, &pb, 0.0, &mut self.points);
            sum += self.points.iter().map(|p| coat.energy(p)).sum::<f64>();
        }
        sum
    }

    /// Notes who pushed through a coat in the position stage. `alone`: the others are withdrawn, and these are not.
    pub(super) fn keep_coats(&mut self, alone: bool) {
        self.coats.clear();
        self.coats.extend(self.contacts.iter().filter(|c| c.coated && c.applied[0] > 0.0));
        if alone {
            self.count(|c| if c.coated { c.applied } else { [0.0; 3] });
            for c in self.contacts.iter_mut().filter(|c| c.coated) {
                c.applied = [0.0; 3];
                c.resist.cool();
            }
        }
    }

    /// Points of coats where they have come to, in place of those that were found there.
    pub(super) fn move_coats(&mut self, piece: &Piece, s: &State) {
        let mut coats = std::mem::take(&mut self.coats);
        for c in &mut coats {
            match self.contacts.iter().find(|new| new.key == c.key) {
                Some(new) => (c.arms, c.frame, c.gap) = (new.arms, new.frame, new.gap),
                None => c.carry(piece, s, &self.start),
            }
            (c.held, c.force, c.applied, c.total) = (c.applied[0], c.applied, [0.0; 3], [0.0; 3]);
            c.resist.cool();
            (c.active, c.impact) = (true, 0.0);
        }
        self.contacts.retain(|c| !c.coated);
        self.contacts.extend_from_slice(&coats);
        // Points of a pair follow each other.
        self.contacts.sort_by_key(|c| (c.pair, c.key));
        self.coats = coats;
    }
}

impl Contact {
    /// Goes on with its solids: one place for both, so that angular momentum is kept.
    fn carry(&mut self, piece: &Piece, s: &State, start: &[(Vector, crate::math::Rotation)]) {
        let moved = self.moved(s, start);
        let gone = self.solids.map(|i| s.centers[i] - start[i].0);
        let way = match self.solids.map(|i| piece.m.solids()[i].is_fixed()) {
            [true, _] => gone[1],
            [_, true] => gone[0],
            _ => 0.5 * (gone[0] + gone[1]),
        };
        self.gap += moved[0];
        self.arms = [0, 1].map(|side| self.arms[side] + way - gone[side]);
    }
}

impl IslandWork {
    /// What the coats of the island store at `s`.
    pub(in crate::step) fn coat_energy(&mut self, s: &State) -> f64 {
        if self.touch.has_coats() { self.touch.coat_energy(s) } else { 0.0 }
    }
}
