//! Momenta to rounding: what Newton's method left open is taken back as a motion of the whole.
//!
//! The whole is what springs hold together. A vertex that is torn off and falls is no part of the sheet any more: turning with it,
//! at the end of an arm that gets longer and longer, it would be thrown away.

use super::calm::turned_by;
use super::contact::Near;
use super::whole::{heaviness, lever};
use super::{Line, NONE, Pull, Soft};
use crate::math::{Matrix, Vector};
use crate::rows::Masses;
use crate::step::free::Wrench;

/// Nodes that springs hold together, and their springs, both in order.
#[derive(Default)]
pub(super) struct Piece {
    pub nodes: Vec<usize>,
    lines: Vec<usize>,
}

impl Piece {
    pub fn has(&self, node: usize) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }
}

impl Soft {
    /// Finds the pieces. What no spring holds is none: there is nothing that could push it from nowhere.
    pub(super) fn find_pieces(&mut self) {
        let mut roots: Vec<usize> = (0..self.solids.len()).collect();
        let root = |roots: &mut Vec<usize>, mut n: usize| {
            while roots[n] != n {
                roots[n] = roots[roots[n]];
                n = roots[n];
            }
            n
        };
        for line in self.lines.iter().filter(|l| !l.nodes.contains(&NONE)) {
            let [a, b] = line.nodes.map(|n| root(&mut roots, n as usize));
            roots[a.max(b)] = a.min(b);
        }
        let mut places = vec![usize::MAX; roots.len()];
        self.pieces.clear();
        for (k, line) in self.lines.iter().enumerate() {
            let Some(n) = line.nodes.into_iter().find(|n| *n != NONE) else { continue };
            let r = root(&mut roots, n as usize);
            if places[r] == usize::MAX {
                places[r] = self.pieces.len();
                self.pieces.push(Piece::default());
            }
            self.pieces[places[r]].lines.push(k);
        }
        for n in 0..places.len() {
            let r = root(&mut roots, n);
            if places[r] != usize::MAX {
                self.pieces[places[r]].nodes.push(n);
            }
        }
    }

    /// Springs of a piece, as they are and in the course of the step.
    pub(super) fn lines_of<'a>(&'a self, piece: &'a Piece) -> impl Iterator<Item = (&'a Line, &'a Pull)> {
        piece.lines.iter().map(|k| (&self.lines[*k], &self.pulls[*k]))
    }

    /// Adds to the impulses after the middle of the step what cancels the sum and the torque of forces from nowhere: those
    /// that Newton's method left, and those of springs that collapsed.
    ///
    /// What pulls at a solid that the piece is pinned to may be far more than the piece weighs, and a limit that catches it in one step has
    /// a torque by where the spring was: each spring for itself would have to throw its light vertices aside to give that back. It is
    /// taken from piece and hosts together, and left to the world where that holds the piece.
    pub(super) fn keep_momentum(&self, half: &mut [Vector], masses: &Masses, forces: &mut [Wrench]) {
        for piece in &self.pieces {
            let hosts = self.hosts_of(piece);
            let (mass, center, inertia) = self.whole_with(piece, &hosts, masses);
            if !(mass > 0.0) {
                continue;
            }
            let (mut push, mut twist) = (Vector::ZERO, self.unbalanced(piece));
            // Beside surfaces, which take momentum, what they push with is known no better than what is left open.
            let is_pushed = |n: &Near| n.push > 0.0 && self.is_pushed(n, piece);
            // Those of a whole are kept already.
            let touches = self.is_whole(piece) || self.contacts.near.iter().any(is_pushed);
            for n in piece.nodes.iter().copied().filter(|_| !touches) {
                let had = (self.x[n] - self.free[n]) * (self.masses[n] / self.h);
                let left = had - self.outer[n] - self.inner[n];
                push += left;
                twist += (self.start[n] - center).cross(left);
            }
            let spin = turned_by(inertia, twist);
            if !push.is_finite() {
                continue;
            }
            for &n in &piece.nodes {
                half[n] -= (push / mass + spin.cross(self.x[n] - center)) * self.masses[n];
            }
            for (i, at) in hosts {
                let by = 2.0 / self.h;
                forces[i].linear -= (push / mass + spin.cross(at - center)) * (masses.mass(i) * by);
                forces[i].angular -= heaviness(masses, i) * spin * by;
            }
        }
    }

    /// Does this row push a piece from outside? Its own layers push each other.
    pub(super) fn is_pushed(&self, near: &Near, piece: &Piece) -> bool {
        let inside = |(n, _): (usize, f64)| piece.has(n);
        near.moving().any(inside) && (!near.is_layer() || !near.moving().all(inside))
    }

    /// Torque of the two halves of springs that do not cancel.
    fn unbalanced(&self, piece: &Piece) -> Vector {
        let pairs = self.lines_of(piece).filter(|(l, _)| !l.nodes.contains(&NONE));
        // What holds it takes the torque of limits.
        let left = if self.is_held_outside(piece) { 1.0 } else { 0.0 };
        let torque = pairs.map(|(_, p)| -(p.d0.cross(p.first - p.hold * left) + p.d1.cross(p.second)));
        torque.sum()
    }

    /// The world, or what a script moves, holds it.
    pub(super) fn is_held_outside(&self, piece: &Piece) -> bool {
        self.lines_of(piece).any(|(l, _)| l.nodes.contains(&NONE))
            || self.pins.iter().any(|p| piece.has(p.node()))
    }

    /// Mass, centre and inertia of a piece and the solids that it is pinned to.
    fn whole_with(&self, piece: &Piece, hosts: &[(usize, Vector)], masses: &Masses) -> (f64, Vector, Matrix) {
        let (own, center, inertia) = self.whole(piece);
        if hosts.is_empty() || !(own > 0.0) {
            return (own, center, inertia);
        }
        let mass = own + hosts.iter().map(|h| masses.mass(h.0)).sum::<f64>();
        let sum: Vector = hosts.iter().map(|h| h.1 * masses.mass(h.0)).sum();
        let middle = (center * own + sum) / mass;
        let to = |m: f64, at: Vector| lever(m, at - middle, at - middle);
        let of = hosts.iter().map(|h| to(masses.mass(h.0), h.1) + heaviness(masses, h.0));
        (mass, middle, of.fold(inertia + to(own, center), |a, b| a + b))
    }
}
