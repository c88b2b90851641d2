//! Hands stop at obstacles instead of leading things through them (virtual assembly, Faure 1998).
//!
//! Wherever something that is held could meet something else on the way to its hand, the mechanism that follows the hands
//! gets a joint with nothing but a bound: along the normal of that point the two may not come nearer than touching. So a hand
//! stops at a wall as it stops at a limit, slides along it, and pushes what is free. There is no friction: no time passes.
//!
//! Points belong to the pose they were found at. What turns far leaves them behind; whoever sinks in is tried again with a
//! part of the way (`attempt.rs`).

use super::guard::Guard;
use crate::contact::{Broad, Colliders, Narrow, Point};
use crate::joint::{Direction, Frame, Joint, Mask};
use crate::math::Pose;
use crate::mechanism::Mechanism;
use crate::solid::SolidId;
use crate::state::State;

/// Points that are taken notice of, most: a hand in a heap does not move all of it.
const MOST_POINTS: usize = 256;
/// What overlaps by no more than this part of its size comes apart again. What overlaps by more did so from the start: it
/// would be stuck, so it goes free until it is apart.
const SLOP: f64 = 1e-3;

/// Shapes of the scene, and who is near what is held.
pub(super) struct Obstacles {
    colliders: Colliders,
    broad: Broad,
    narrow: Narrow,
    pairs: Vec<[u32; 2]>,
    points: Vec<Point>,
    /// The points of the last look: which pair, and where.
    found: Vec<([u32; 2], Point)>,
}

impl Obstacles {
    pub fn new(m: &Mechanism) -> Self {
        Self {
            colliders: Colliders::new(m),
            broad: Broad::default(),
            narrow: Narrow::default(),
            pairs: Vec::new(),
            points: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Looks for what the islands in `held`, and what they push, could meet within `margin`. True if there is anything.
    pub fn look(&mut self, guard: &Guard, s: &State, held: &[usize], margin: f64) -> bool {
        self.found.clear();
        if self.colliders.all.is_empty() || held.is_empty() {
            return false;
        }
        let all = &self.colliders;
        let slack = |k: usize| 0.5 * margin + SLOP * all.all[k].size;
        self.pairs.clear();
        self.pairs.extend_from_slice(self.broad.pairs(all, |id| center(s, id), slack));
        let mut moves = vec![false; guard.isles.len()];
        held.iter().for_each(|k| moves[*k] = true);
        // What is pushed pushes others.
        let mut left = std::mem::take(&mut self.pairs);
        loop {
            let before = left.len();
            left.retain(|pair| {
                let isles = pair.map(|c| guard.isle_of(self.colliders.all[c as usize].solid.index()));
                let near = isles.iter().flatten().any(|k| moves[*k]);
                if near && self.found.len() < MOST_POINTS && self.add(s, *pair, margin) {
                    isles.iter().flatten().for_each(|k| moves[*k] = true);
                }
                !near
            });
            if left.len() == before {
                break;
            }
        }
        self.pairs = left;
        !self.found.is_empty()
    }

    /// Adds the points of a pair. True if there are any.
    fn add(&mut self, s: &State, pair: [u32; 2], margin: f64) -> bool {
        let [a, b] = pair.map(|k| &self.colliders.all[k as usize]);
        self.points.clear();
        self.narrow.points(a, &center(s, a.solid), b, &center(s, b.solid), margin, &mut self.points);
        let slop = SLOP * a.size.min(b.size);
        if self.points.iter().any(|p| p.gap < -slop) {
            return false;
        }
        self.found.extend(self.points.iter().map(|p| (pair, *p)));
        !self.points.is_empty()
    }

    /// `m` with a bound for every point that was found at `s`.
    pub fn bound(&self, m: &Mechanism, s: &State) -> Mechanism {
        let mut m = m.clone();
        for (pair, p) in &self.found {
            let [a, b] = pair.map(|k| self.colliders.all[k as usize].solid);
            let frame = |id: SolidId, shift: f64| {
                let at = s.pose(&m, id);
                let local = at.inverse().transform_point(p.at + p.normal * shift);
                Frame::axis(id, local, at.rotation.inverse() * p.normal)
            };
            let joint = Joint::lock(frame(a, -0.5 * p.gap), frame(b, 0.5 * p.gap), Mask::default());
            // A refusal leaves one obstacle out; what sinks into it is taken back.
            let _ = m.add_joint(joint.with_limit(Direction::T1, 0.0, f64::INFINITY));
        }
        m
    }

    /// Does any pair of the last look overlap at `s` by more than a trifle, and by more than it did?
    pub fn sinks(&mut self, s: &State) -> bool {
        let found = std::mem::take(&mut self.found);
        let mut any = false;
        for own in found.chunk_by(|a, b| a.0 == b.0) {
            let [a, b] = own[0].0.map(|k| &self.colliders.all[k as usize]);
            self.points.clear();
            self.narrow.points(a, &center(s, a.solid), b, &center(s, b.solid), 0.0, &mut self.points);
            let had = own.iter().map(|(_, p)| p.gap).fold(0.0, f64::min);
            let slop = 0.5 * SLOP * a.size.min(b.size);
            any |= self.points.iter().any(|p| p.gap < had.min(-slop) - 1e-3 * slop);
        }
        self.found = found;
        any
    }
}

fn center(s: &State, id: SolidId) -> Pose {
    Pose::from_parts(s.centers[id.index()], s.rotations[id.index()])
}
