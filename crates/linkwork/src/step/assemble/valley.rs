//! A pose that nearly closes, on a way along which it nearly stays so.
//!
//! Bricard's six bars move though counting says they are rigid, because their lengths agree. With one bar a little too
//! long (`e`) they are as rigid as counting says, and close at a few poses of the old motion only; everywhere else on it
//! they are open by some share of `e`. Descent does not find these poses: along the floor of that valley the gaps change by
//! `e` per radian, across it by one, so a step may be no longer than the root of `e`, and many a floor has hollows that
//! are not closed. But the floor is a curve, and a curve can be walked: both ways from where descent ended, each step
//! straight on and then down to the floor again; where the gaps have passed a hollow, its bottom is looked for.

use super::Assembler;
use crate::math::{Random, Vector, log};
use crate::state::State;

/// Damping that closes what is stiff and leaves the way along the floor alone.
const DOWN: f64 = 1e-3;
/// Gaps beyond this share of the typical size are no valley.
const NARROW: f64 = 0.01;
/// Rows beyond which it is not tried: a floor of so many parts has more than one way.
const MOST_ROWS: usize = 300;
/// How long a step is, in radians or typical sizes.
const LENGTH: f64 = 0.05;
/// Steps one way: once around.
const STEPS: usize = 130;
/// A hollow is worth a look where less than this share is left of the largest sum of squares on the way.
const DEEP: f64 = 0.5;
/// The bottom is looked for down to steps of a hundred-millionth.
const HALVINGS: usize = 24;

/// A displacement: of every solid, translation and rotation.
type Way = Vec<[f64; 6]>;

impl Assembler<'_> {
    /// Walks the floor from a pose that nearly closes. True at a pose that closes; otherwise it is back where it began, unless
    /// a pose was seen that is much better.
    pub(super) fn walk(&mut self, state: &mut State) -> bool {
        let gap = self.fill(state);
        if !(gap <= NARROW * self.size) || self.rows.len() > MOST_ROWS {
            return false;
        }
        self.settle(state);
        let Some(way) = self.soft_way(state) else {
            self.fill(state);
            return false;
        };
        let start = state.clone();
        let first = self.rows.merit();
        let mut best = (first, start.clone());
        for sense in [1.0, -1.0] {
            *state = start.clone();
            if self.walk_one_way(state, scaled(&way, sense), &mut best) {
                return true;
            }
        }
        *state = if best.0 < super::SLIGHT.1 * first { best.1 } else { start };
        self.fill(state);
        false
    }

    /// A unit way along the floor: what is left of a small random push once everything stiff has closed again. `None`
    /// where nothing is left.
    fn soft_way(&mut self, state: &State) -> Option<Way> {
        let mut random = Random::new(self.config.seed);
        let mut pushed = state.clone();
        for &id in &self.island.solids {
            let (t, q) = (random.ball() * (LENGTH * self.size), random.ball() * LENGTH);
            if self.masses.moves(id.index()) {
                pushed.displace(id.index(), &[t.x, t.y, t.z, q.x, q.y, q.z]);
            }
        }
        self.settle(&mut pushed);
        let (way, length) = self.between(state, &pushed);
        (length > 0.01 * LENGTH).then(|| scaled(&way, 1.0 / length))
    }

    /// Step by step; each time the gaps have passed a hollow, its bottom is looked for.
    fn walk_one_way(&mut self, state: &mut State, mut way: Way, best: &mut (f64, State)) -> bool {
        let mut length = LENGTH;
        let (mut before, mut highest) = ([f64::INFINITY, self.rows.merit()], 0.0_f64);
        for _ in 0..STEPS {
            let from = state.clone();
            let gap = self.stride(state, &way, length);
            if gap <= self.config.tolerance {
                return true;
            }
            let (merit, (moved, along)) = (self.rows.merit(), self.between(&from, state));
            if !(gap <= NARROW * self.size) || !(along > 0.5 * length) {
                // The floor bends more sharply than that, or ends.
                *state = from;
                length *= 0.5;
                if length < 0.01 * LENGTH || self.limit() {
                    return false;
                }
                continue;
            }
            way = scaled(&moved, 1.0 / along);
            highest = highest.max(merit);
            let hollow = before[1] <= before[0].min(merit) && before[1] < DEEP * highest;
            if hollow && self.bottom(&from, &way, length, best) {
                *state = best.1.clone();
                self.fill(state);
                return true;
            }
            before = [before[1], merit];
            if self.limit() {
                return false;
            }
        }
        false
    }

    /// The bottom of a hollow near a pose, by ever shorter steps to and fro. True when it is closed; it is `best` then.
    fn bottom(&mut self, near: &State, way: &Way, length: f64, best: &mut (f64, State)) -> bool {
        let mut here = near.clone();
        self.fill(&mut here);
        let (mut merit, mut length) = (self.rows.merit(), 0.5 * length);
        for _ in 0..HALVINGS {
            for sense in [1.0, -1.0] {
                let mut there = here.clone();
                let gap = self.stride(&mut there, way, sense * length);
                if self.rows.merit() < merit {
                    (merit, here) = (self.rows.merit(), there);
                    if gap <= self.config.tolerance {
                        *best = (merit, here);
                        return true;
                    }
                    break;
                }
            }
            length *= 0.5;
        }
        if merit < best.0 {
            *best = (merit, here);
        }
        false
    }

    /// Straight on, and down to the floor. Tells the largest gap.
    fn stride(&mut self, state: &mut State, way: &Way, length: f64) -> f64 {
        for (i, d) in way.iter().enumerate() {
            state.displace(i, &d.map(|x| x * length));
        }
        let gap = self.settle(state);
        self.tell(gap);
        gap
    }

    /// Down to the floor. Tells the largest gap.
    fn settle(&mut self, state: &mut State) -> f64 {
        let mut gap = self.fill(state);
        for _ in 0..8 {
            let merit = self.rows.merit();
            if gap <= self.config.tolerance || !gap.is_finite() {
                break;
            }
            self.correct(state, Some(DOWN), false);
            gap = self.fill(state);
            if self.rows.merit() > 0.999 * merit {
                break;
            }
        }
        gap
    }

    /// What leads from one pose to another, and its length: radians or typical sizes, of the solid that moves most.
    fn between(&self, from: &State, to: &State) -> (Way, f64) {
        let mut way = vec![[0.0; 6]; self.m.solids().len()];
        let mut length: f64 = 0.0;
        for &id in &self.island.solids {
            let i = id.index();
            let t = to.centers[i] - from.centers[i];
            let q: Vector = log(to.rotations[i] * from.rotations[i].inverse());
            way[i] = [t.x, t.y, t.z, q.x, q.y, q.z];
            length = length.max(t.length() / self.size).max(q.length());
        }
        (way, length)
    }
}

fn scaled(way: &Way, by: f64) -> Way {
    way.iter().map(|d| d.map(|x| by * x)).collect()
}
