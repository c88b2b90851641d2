//! The last bit of limits and distances of large sheets: what Newton's method left too long is drawn together, pair by pair.
//!
//! Hundreds of springs come to their limits where something heavy is caught, and the last few of them find their places in rounds
//! that change nothing else. When all that is left is small, sweeps over the springs near their limits and the rows that touch (in
//! the metric of the masses, so that momenta stay what they are) spread it over the neighbours, at a thousandth of a round's cost.

use super::{NONE, Soft, StepConfig};
use crate::math::Vector;
use crate::state::State;

/// More than this share of a spring's length is no last bit.
const LAST_BIT: f64 = 2e-2;
/// Springs within this share of their limits may be drawn beyond by their neighbours.
const NEAR: f64 = 2e-2;
/// Sweeps at most.
const SWEEPS: usize = 200;
/// Sweeps end where springs are beyond their limits by no more than this share of their lengths.
const ENOUGH: f64 = 5e-5;

impl Soft {
    /// Draws together what is a little too long. False: there is too much of it, or it stays; vertices are where they were.
    pub(super) fn polish(&mut self, held: &State, c: &StepConfig) -> bool {
        let beyond = |k: usize| (self.pulls[k].l1 - self.pulls[k].longest) / self.lines[k].length;
        let long: Vec<usize> = (0..self.lines.len()).filter(|k| beyond(*k) > -NEAR).collect();
        if long.iter().any(|k| !(beyond(*k) < LAST_BIT)) {
            return false;
        }
        self.contacts.forget();
        let rows: Vec<usize> =
            (0..self.contacts.near.len()).filter(|k| self.contacts.near[*k].is_close()).collect();
        self.before.clone_from(&self.x);
        self.keep_guests();
        // What others hold stays where they hold it.
        let light: Vec<f64> = self
            .masses
            .iter()
            .zip(&self.outer)
            .enumerate()
            .map(|(n, (m, p))| if *p == Vector::ZERO && !self.is_pinned(n) { 1.0 / m } else { 0.0 })
            .collect();
        for _ in 0..SWEEPS {
            let mut worst = 0.0_f64;
            for k in &long {
                worst = worst.max(self.draw_together(*k, held, &light));
            }
            rows.iter().for_each(|k| self.push_apart(*k, &light));
            if worst <= ENOUGH {
                break;
            }
        }
        // Forces stay those that took the vertices here: contacts that are a little apart now push all the same.
        let lengths: Vec<f64> = self.pulls.iter().map(|p| p.l1).collect();
        self.measure_lengths(held);
        let good = self.is_bearable(c);
        if !good {
            self.x.clone_from(&self.before);
            self.restore_guests();
            self.pulls.iter_mut().zip(lengths).for_each(|(p, l)| p.l1 = l);
        }
        good
    }

    fn measure_lengths(&mut self, held: &State) {
        for (line, p) in self.lines.iter().zip(&mut self.pulls) {
            let end = |e: usize| match line.nodes[e] {
                NONE => held.centers[line.solids[e] as usize],
                n => self.x[n as usize],
            };
            p.l1 = end(0).distance(end(1));
        }
    }

    /// Makes a spring no longer than it may be. Tells by what share it was.
    fn draw_together(&mut self, k: usize, held: &State, light: &[f64]) -> f64 {
        let (line, longest) = (&self.lines[k], self.pulls[k].longest);
        let end = |e: usize| match line.nodes[e] {
            NONE => (held.centers[line.solids[e] as usize], 0.0),
            n => (self.x[n as usize], light[n as usize]),
        };
        let ((a, wa), (b, wb)) = (end(0), end(1));
        let (d, l) = (b - a, a.distance(b));
        let over = l - longest;
        if !(over > 0.0 && wa + wb > 0.0) {
            return 0.0;
        }
        let by = d * (over / (l * (wa + wb)));
        let (nodes, length) = (line.nodes, line.length);
        for (n, move_by) in nodes.into_iter().zip([by * wa, by * -wb]).filter(|(n, _)| *n != NONE) {
            self.x[n as usize] += move_by;
        }
        over / length
    }

    /// Makes a row keep its distance; a guest gets what its vertices are given.
    fn push_apart(&mut self, k: usize, light: &[f64]) {
        let lacks = self.lacks(k);
        let near = &self.contacts.near[k];
        let gives: f64 = near.moving().map(|(n, w)| w * w * light[n]).sum();
        if !(lacks > 0.0 && gives > 0.0) {
            return;
        }
        let (normal, arm, guest) = (near.normal, near.arm, near.guest);
        let push = normal * (lacks / gives);
        for (n, w) in near.moving() {
            self.x[n] += push * (w * light[n]);
        }
        if guest != NONE {
            self.contacts.guests[guest as usize].recoil(push, arm);
        }
    }
}
