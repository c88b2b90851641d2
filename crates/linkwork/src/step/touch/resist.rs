//! Resistance to spinning about the normal and to rolling across it: torques of at most a lever times the pressure.
//!
//! Three rows of turns per point, after those of all contacts. Their limits go with the normal impulse, which hardly
//! depends on them: they are those of the last solve, and it is solved again until they are. So what rolls is stopped, like
//! what slides, and never turned back.

use super::{Contact, Touch, Upper};
use crate::math::Vector;
use crate::rows::{Ask, HalfRow, Masses};
use crate::solve::within;

/// What one point resists with.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::step) struct Resist {
    /// Levers of spinning and rolling, metres.
    levers: [f64; 2],
    /// Change of turn along the frame that is asked for.
    pub low: [f64; 3],
    /// Torque impulse along the frame: as it is being found, and as far as it acts already.
    pub force: [f64; 3],
    pub applied: [f64; 3],
}

/// The limits of torques are taken for found when they change by less than this part.
const SAME: f64 = 1e-9;

impl Resist {
    pub fn new(levers: [f64; 2]) -> Self {
        Self { levers, ..Self::default() }
    }

    /// Does anything resist?
    pub fn acts(&self) -> bool {
        self.levers != [0.0; 2]
    }

    pub fn cool(&mut self) {
        (self.force, self.applied) = ([0.0; 3], [0.0; 3]);
    }

    /// Other units of impulses.
    pub fn scale(&mut self, by: f64) {
        (self.force, self.applied) = (self.force.map(|f| f * by), self.applied.map(|f| f * by));
    }

    /// How far its torque is from the laws, as a turn; `turn` is the motion and `d` what a unit of torque turns, at most.
    pub fn lack(&self, turn: &[f64; 3], normal: f64, h: f64, d: f64) -> f64 {
        let had = self.applied.map(|f| f * h);
        let right = within(&self.limits(normal * h), &[0, 1, 2].map(|i| had[i] - turn[i] / d));
        let off = |i: usize| (had[i] - right[i]).abs() * d;
        if d > 0.0 { off(0).max(off(1)).max(off(2)) } else { 0.0 }
    }

    /// Limits for a normal impulse.
    fn limits(&self, normal: f64) -> [f64; 2] {
        self.levers.map(|l| l * normal.max(0.0))
    }
}

impl Contact {
    /// How far the second solid has turned against the first, along the frame.
    pub fn turn(&self, of: impl Fn(usize) -> Vector) -> [f64; 3] {
        let [one, two] = self.solids.map(of);
        self.frame.map(|d| d.dot(two - one))
    }

    /// What a unit of torque turns, at most.
    pub fn turns(&self, masses: &Masses) -> f64 {
        let of = |i: usize| {
            let m = masses.upper_inverse_inertia(i);
            if masses.moves(i) { m[0] + m[3] + m[5] } else { 0.0 }
        };
        of(self.solids[0]) + of(self.solids[1])
    }
}

impl Touch {
    /// Rows of what resists, with limits by the normal impulses as they are.
    pub(super) fn lay_resistance(&mut self, w: &Upper, dq: &[[f64; 6]]) {
        for c in self.contacts.iter().filter(|c| c.taken && c.resist.acts()) {
            for k in 0..3 {
                let mut ends: [(usize, HalfRow); 2] = [(0, [0.0; 6]); 2];
                let mut n = 0;
                let mut had = 0.0;
                for side in (0..2).filter(|side| w.masses.moves(c.solids[*side])) {
                    let d = if side == 0 { -c.frame[k] } else { c.frame[k] };
                    let half = [0.0, 0.0, 0.0, d.x, d.y, d.z];
                    let i = c.solids[side];
                    had += crate::rows::dot6(&half, &dq[i]) - crate::rows::dot6(&half, &self.before[i]);
                    ends[n] = (i, half);
                    n += 1;
                }
                self.asks.push(Ask::equal(c.resist.low[k] - had));
                self.force.push(c.resist.force[k]);
                self.acting.push(c.resist.applied[k]);
                self.rows.push(&ends[..n]);
            }
            self.resistance.push(c.resist.limits(c.force[0]));
        }
    }

    /// Hands the forces that were found, from row `first` on, back to the points. True where limits were others than those
    /// that follow from it.
    pub(super) fn take_forces(&mut self, first: usize) -> bool {
        let mut found = self.force[first..].chunks_exact(3);
        for (c, f) in self.contacts.iter_mut().filter(|c| c.taken).zip(found.by_ref()) {
            c.force = [f[0], f[1], f[2]];
        }
        let mut other = false;
        let resisting = self.contacts.iter_mut().filter(|c| c.taken && c.resist.acts());
        for ((c, f), limits) in resisting.zip(found).zip(&self.resistance) {
            c.resist.force = [f[0], f[1], f[2]];
            let right = c.resist.limits(c.force[0]);
            other |= right.iter().zip(limits).any(|(r, l)| (r - l).abs() > SAME * r.max(*l));
        }
        other
    }
}
