//! Rows that depend on each other: exactly (four-bars of pins), nearly (a length off by a micrometre), at one pose (a
//! parallelogram that lies flat) or in contradiction. One policy for every solver, method and size.
//!
//! `A = J M^-1 J^T` is known up to the square of what `J` changes over the step: an eigenvalue smaller than that cannot be
//! trusted, and an impulse divided by it throws the solids about or locks them. So a step is solved exactly first; where
//! that does not converge, or brings in energy that nothing explains (`energy.rs`), it is solved again with
//! ```text
//!     A + S,      S_rr = c (J_r(q + h v) - J_r(q)) M^-1 (J_r(q + h v) - J_r(q))^T + e A_rr
//! ```
//! which measures each row by itself: metres beside radians, grams beside tonnes, millimetres beside kilometres are all
//! the same to it. What a direction that cannot be trusted asks for is left to a later step, when it has turned on; the
//! motion passes singular poses by its inertia, on the branch that it is on. Iterating to convergence would undo the
//! damping, so Newton's rounds end when the gap stops falling.
//!
//! Contradicting rows ask for what no motion gives: they are open when a step begins. With `x = (A + S)^-1 b` the answer
//! then is `(A + S)^-1 A x`: the same where `A` is large beside `S`, and nothing, instead of `b / S`, where it is not. That
//! is the least-squares impulse of smallest norm, and it stays bounded.

use super::Piece;
use super::work::{IslandWork, mobility};
use crate::rows::{Group, Masses, Rows, dot6};
use crate::solve::{Work, largest};
use crate::state::State;

/// How much of the square of the change is added.
const CHANGE: f64 = 0.25;
/// What is added in any case, of the row's own diagonal: exact redundancy has pivots of rounding.
const LEAST: f64 = 1e-10;
/// The same where gaps stand open: what takes a motion thirty times as long as the gap to close is not closed by it.
const LEAST_OPEN: f64 = 1e-3;
/// And at most.
const MOST: f64 = 0.1;

impl IslandWork {
    /// Where the piece asks for care, finds out how far each row can be trusted. Rows and masses are those of `s`.
    pub fn take_care(&mut self, piece: &Piece, s: &State, at: f64) {
        self.shift.clear();
        if !piece.careful || self.rows.is_empty() {
            return;
        }
        self.moved.clone_from(s);
        for i in 0..s.centers.len() {
            let (v, o) = (s.velocities[i] * piece.h, s.spins[i] * piece.h);
            self.moved.displace(i, &[v.x, v.y, v.z, o.x, o.y, o.z]);
        }
        let graph = &self.graph;
        self.probe.fill_motion(piece.m, &self.moved, at, |j| graph.default_rank(j));
        let (rows, probe, masses) = (&self.rows, &self.probe, &self.masses);
        self.shift.resize(rows.len(), 0.0);
        let least = if piece.contradict { LEAST_OPEN } else { LEAST };
        for g in &rows.groups {
            for r in g.range() {
                let own = mobility(rows, masses, g, r);
                let turned = CHANGE * change(rows, probe, masses, g, r);
                self.shift[r] = turned.min(MOST * own) + least * own;
            }
        }
    }

    /// `delta = (A + S)^-1 b`, or `(A + S)^-1 A (A + S)^-1 b` where rows contradict each other, with the factor of `A + S`
    /// (of the rows below).
    pub fn solve_with_care(&mut self, piece: &Piece) -> usize {
        let (c, contradict) = (piece.c, piece.contradict);
        let clock = self.start(c);
        let Some((_, solver)) = &mut self.solver else { return 0 };
        let most = largest(&self.b);
        let iterations = if self.exact { 2 } else { c.solver_iterations };
        let work = Work { iterations, tolerance: 1e-9 * most, out_of_time: c.out_of_time };
        let n = self.rows.len();
        self.delta.clear();
        self.delta.resize(n, 0.0);
        let first = solver.solve(&self.b, &mut self.delta, &work);
        if !contradict {
            self.stop(c, clock, |s| &mut s.solve);
            return first.iterations;
        }
        self.push.clear();
        self.push.resize(self.masses.len(), [0.0; 6]);
        self.rows.apply_transposed(&self.delta, &self.masses, &mut self.push);
        self.given.clear();
        self.given.resize(n, 0.0);
        self.rows.apply(&self.push, &mut self.given);
        for (x, (give, l)) in self.given.iter_mut().zip(self.give.iter().zip(&self.delta)) {
            *x += give * l;
        }
        if self.bounded {
            self.given.iter_mut().zip(&self.below).filter(|(_, on)| !**on).for_each(|(x, _)| *x = 0.0);
        }
        let second = solver.solve(&self.given, &mut self.delta, &work);
        self.stop(c, clock, |s| &mut s.solve);
        first.iterations + second.iterations
    }
}

/// What a row changes over the step, squared, in the metric of the masses.
fn change(rows: &Rows, probe: &Rows, masses: &Masses, g: &Group, r: usize) -> f64 {
    (0..2)
        .map(|side| {
            let (a, b) = (rows.half_row(g, r - g.first, side), probe.half_row(g, r - g.first, side));
            let d: [f64; 6] = std::array::from_fn(|k| b[k] - a[k]);
            dot6(&masses.accelerate(g.solids[side], &d), &d)
        })
        .sum()
}
