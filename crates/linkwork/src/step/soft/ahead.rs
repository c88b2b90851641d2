//! Where a body that touches something begins to look for its places: as far on as it goes as a whole, where nothing is in its way.
//!
//! From where it stood Newton's method, which ends where the energy is off by a hundredth, would leave a tenth of its way: a block that slides on
//! a smooth floor lost that much of its speed in every step.

use super::contact::Near;
use super::momentum::Piece;
use super::{NONE, Soft};
use crate::math::Vector;
use crate::state::State;

/// So often its way is looked at for what it would go into.
const LOOKS: usize = 3;

impl Soft {
    /// Pieces that nothing holds go ahead by their common way, less what goes into something that they touch. They stay where they are if
    /// that is no better, or comes nearer to anything.
    pub(super) fn go_ahead(&mut self, held: &State) {
        // What rubs may as well stick: from where it would glide to it does not come back in the rounds that there are.
        if self.contacts.has_guests() || self.contacts.near.iter().any(Near::rubs) {
            return;
        }
        // Planes are those of where things are.
        self.look_at_surfaces(0);
        let value = self.evaluate(held);
        self.before.clone_from(&self.x);
        let mut far = 0.0_f64;
        let pieces = std::mem::take(&mut self.pieces);
        for piece in &pieces {
            if self.is_held_outside(piece) || !self.hosts_of(piece).is_empty() {
                continue;
            }
            let way = self.open_way(piece);
            far = far.max(way.length());
            for n in &piece.nodes {
                self.x[*n] += way;
            }
        }
        self.pieces = pieces;
        let lacked: Vec<f64> = self.contacts.near.iter().map(Near::lacks_now).collect();
        self.strays = 2.0 * far;
        let better = self.evaluate(held) < value;
        let nearer = |(n, had): (&Near, &f64)| n.lacks_now() > had.max(0.0) + 1e-3 * n.keep;
        if !better || self.contacts.near.iter().zip(&lacked).any(nearer) {
            self.x.clone_from(&self.before);
            self.strays = 0.0;
        }
        self.contacts.strayed(std::mem::take(&mut self.strays));
    }

    /// How a piece goes as a whole with what it has, along what it touches.
    fn open_way(&self, piece: &Piece) -> Vector {
        let went = |n: &usize| (self.free[*n] - self.start[*n]) * self.masses[*n];
        let mass: f64 = piece.nodes.iter().map(|n| self.masses[*n]).sum();
        let mut way = piece.nodes.iter().map(went).sum::<Vector>() / mass;
        for _ in 0..LOOKS {
            for near in self.contacts.near.iter().filter(|n| n.is_close() && self.is_pushed(n, piece)) {
                // What lies on a solid: of two pieces it depends on both what is in whose way.
                let into = if near.is_layer() { return Vector::ZERO } else { near.normal.dot(way).min(0.0) };
                if near.nodes.iter().any(|n| *n != NONE) {
                    way -= near.normal * into;
                }
            }
        }
        way
    }
}
