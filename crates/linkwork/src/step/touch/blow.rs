//! Blows: where something fast is met within a substep, the substep ends there.
//!
//! A point of contact is a plane for as long as a stage lasts. What goes on sliding along that plane after a blow, farther than
//! the plane is good for, is neither thrown back nor turned aside as it should be; and what it hits is at rest until the
//! substep ends, and is looked for where it was. So the way is cut at the first blow: everything is where it is met, the
//! velocity stage answers, and the rest of the step begins with the speeds that this leaves.
//!
//! What turns fast meets with a corner that comes round, earlier or later than a way straight on would tell, and has gone on
//! when the substep ends: boxes that bounced gained a tenth of their energy that way, or lost a third. Where something is
//! thrown back, its turn is followed.

use super::{Contact, Touch};
use crate::contact::{Collider, Colliders};
use crate::math::{Pose, exp};
use crate::state::State;
use crate::step::{IslandWork, Piece};

/// How far two come in a step for a plane to be too little, in units of the smaller one; the same where one is a ball.
const FAST: f64 = 0.5;
const FAST_BALL: f64 = 0.1;
/// The same for what is thrown back: where the blow strikes decides what becomes of its spin.
const BOUNCES: f64 = 0.1;
/// As a share of that: how far they would come into each other for a blow to be one; the same of two balls.
const DEEP: f64 = 0.05;
const DEEP_BALLS: f64 = 2e-3;
/// By how much the cut comes after it, so that it is felt, in units of the smaller one.
const PAST: f64 = 2e-3;
/// The same of two balls, at least, and in tolerances: what is pushed apart where it is met keeps its speed, and so not quite
/// its angular momentum.
const PAST_BALLS: f64 = 1e-4;
const PAST_TOLERANCES: f64 = 10.0;
/// What turns is looked at once in this part of its size on its way, between so many times, and halved so often.
const LOOK: f64 = 0.25;
const LOOKS: (f64, f64) = (2.0, 16.0);
const HALVES: usize = 6;
/// Parts of the substep: the shortest that is cut off, and the shortest rest that is worth a cut.
const SHORTEST: f64 = 1e-3;
/// Cuts in a step, at most; none among more pairs than this, where something is always met.
pub(in crate::step) const MOST_BLOWS: usize = 8;
const MOST_PAIRS: usize = 64;

impl IslandWork {
    /// How long it takes from `s` until something fast is met, if that is within the piece.
    pub(in crate::step) fn first_blow(&mut self, piece: &Piece, s: &State) -> Option<f64> {
        if self.touch.pairs.is_empty() || self.touch.pairs.len() > MOST_PAIRS || !self.soft.is_empty() {
            return None;
        }
        let all = self.touch.colliders.clone();
        let pairs = 0..self.touch.pairs.len();
        let first = pairs.filter_map(|k| self.touch.blow(&all, k, piece, s)).fold(f64::INFINITY, f64::min);
        let first = first.max(SHORTEST * piece.h);
        (first < (1.0 - SHORTEST) * piece.h).then_some(first)
    }
}

impl Touch {
    /// When the pair has met, by its speeds as they are.
    fn blow(&mut self, all: &Colliders, k: usize, piece: &Piece, s: &State) -> Option<f64> {
        let [one, two] = [self.straight_blow(all, k, piece, s), self.turning_blow(all, k, piece, s)];
        one.into_iter().chain(two).reduce(f64::min)
    }

    /// The same of what turns by more than a plane is good for, and is thrown back.
    fn turning_blow(&mut self, all: &Colliders, k: usize, piece: &Piece, s: &State) -> Option<f64> {
        let pair = self.pairs[k];
        if !(pair.surface.restitution > 0.0) {
            return None;
        }
        let both = pair.shapes(all);
        let bounded = both.iter().filter(|c| c.bounds.is_some());
        let least = bounded.map(|c| c.size).fold(f64::INFINITY, f64::min);
        let spin = |side: usize| {
            let c = both[side];
            // A ball turns about itself.
            let same = c.is_ball() && c.reach <= (1.0 + 1e-9) * c.size;
            if same { 0.0 } else { s.spins[pair.solids[side]].length() * c.reach }
        };
        let (turn, far) = (piece.h * (spin(0) + spin(1)), BOUNCES * least);
        if !(turn > far && turn.is_finite()) {
            return None;
        }
        let [va, vb] = pair.solids.map(|i| s.velocities[i]);
        let way = turn + piece.h * (vb - va).length();
        let looks = (way / (LOOK * least)).ceil().clamp(LOOKS.0, LOOKS.1);
        let touching = self.depth_at(all, k, s, 0.0).map_or(0.0, |c| c.gap) - PAST * least;
        let met = |t: &mut Self, time: f64| t.depth_at(all, k, s, time).filter(|c| c.gap < touching);
        let (mut before, mut after) = (0.0, None);
        for look in 1..=looks as usize {
            let time = piece.h * look as f64 / looks;
            after = met(self, time).map(|c| (time, c));
            if after.is_some() {
                break;
            }
            before = time;
        }
        let (mut time, mut point) = after?;
        for _ in 0..HALVES {
            let middle = 0.5 * (before + time);
            match met(self, middle) {
                Some(c) => (time, point) = (middle, c),
                None => before = middle,
            }
        }
        let speed = -point.change(|i| (s.velocities[i], s.spins[i]))[0];
        (speed * (piece.h - time) > DEEP * far).then_some(time)
    }

    /// The deepest point of the pair where its solids are after `time` at the speeds of `s`, if they overlap there.
    fn depth_at(&mut self, all: &Colliders, k: usize, s: &State, time: f64) -> Option<Contact> {
        let pair = self.pairs[k];
        let [a, b] = pair.shapes(all);
        let [pa, pb] = [0, 1].map(|side| {
            let (i, from) = (pair.solids[side], Self::pose(&pair, side, s));
            let turned = exp(s.spins[i] * time) * from.rotation;
            Pose::from_parts(from.translation + s.velocities[i] * time, turned)
        });
        self.points.clear();
        self.narrow.points(a, &pa, b, &pb, 0.0, &mut self.points);
        let deepest = self.points.iter().min_by(|x, y| x.gap.total_cmp(&y.gap))?;
        Some(Contact::at(&pair, k, deepest, [deepest.at - pa.translation, deepest.at - pb.translation]))
    }

    /// The same by a way straight on.
    fn straight_blow(&mut self, all: &Colliders, k: usize, piece: &Piece, s: &State) -> Option<f64> {
        let pair = self.pairs[k];
        let [a, b] = pair.colliders.map(|c| &all.all[c as usize]);
        if a.bounds.is_none() || b.bounds.is_none() {
            // A plane is one wherever it is met.
            return None;
        }
        let least = a.size.min(b.size);
        let [va, vb] = pair.solids.map(|i| s.velocities[i]);
        let speed = (vb - va).length();
        let bounces = pair.surface.restitution > 0.0;
        let far = if bounces { far(a, b).min(BOUNCES * least) } else { far(a, b) };
        if !(piece.h * speed > far) {
            return None;
        }
        let [pa, pb] = [Self::pose(&pair, 0, s), Self::pose(&pair, 1, s)];
        let (time, normal) = match self.narrow.cast(a, &pa, va, b, &pb, vb, piece.h) {
            Some((t, point)) => (t, point.normal),
            None => {
                // Touching already?
                self.points.clear();
                self.narrow.points(a, &pa, b, &pb, piece.c.tolerance, &mut self.points);
                let of = |p: &crate::contact::Point| {
                    Contact::at(&pair, k, p, [p.at - pa.translation, p.at - pb.translation])
                };
                let speed = |c: &Contact| c.change(|i| (s.velocities[i], s.spins[i]))[0];
                let fastest = self.points.iter().map(of).min_by(|x, y| speed(x).total_cmp(&speed(y)))?;
                (0.0, fastest.frame[0])
            }
        };
        let met = -(vb - va).dot(normal);
        let (deep, past) = if a.is_ball() && b.is_ball() {
            let past = (PAST_TOLERANCES * piece.c.tolerance).clamp(PAST_BALLS * least, PAST * least);
            (DEEP_BALLS * far, past)
        } else {
            (DEEP * far, PAST * least)
        };
        (met * (piece.h - time) > deep).then(|| time + past / met)
    }
}

/// Who comes farther than this in a substep is met elsewhere than where it is.
pub(super) fn far(a: &Collider, b: &Collider) -> f64 {
    let least = a.size.min(b.size).max(1e-9);
    least * if a.is_ball() || b.is_ball() { FAST_BALL } else { FAST }
}
