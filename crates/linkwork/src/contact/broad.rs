//! Broad phase: pairs of colliders whose boxes meet, by sorting along the axis in which they are spread most (sweep and prune).
//!
//! A function of poses alone. Planes have no box and are tried against everything. Where few things move the others stay in a
//! tree of boxes, and only pairs with something that moves are looked for: the same pairs, since a pair depends on its own
//! two boxes only.

use super::{Collider, Colliders};
use crate::math::{Pose, Vector};
use crate::solid::SolidId;
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy};

/// A box on its way along the axis.
#[derive(Clone, Copy)]
struct Span {
    low: Vector,
    high: Vector,
    collider: u32,
}

impl Span {
    fn new(k: usize, collider: &Collider, pose: &Pose, margin: f64) -> Option<Self> {
        let b = collider.aabb(pose)?;
        let grow = Vector::splat(margin);
        Some(Self { low: b.mins - grow, high: b.maxs + grow, collider: k as u32 })
    }

    fn meets(&self, other: &Span) -> bool {
        self.low.cmple(other.high).all() && other.low.cmple(self.high).all()
    }
}

/// Scratch of the broad phase.
#[derive(Default)]
pub(crate) struct Broad {
    spans: Vec<Span>,
    pairs: Vec<[u32; 2]>,
    resting: Resting,
}

/// What does not move, laid out once.
#[derive(Default)]
struct Resting {
    /// Boxes of what rested when it was made, and which collider each leaf is. Empty: nothing is known.
    tree: Bvh,
    leaves: Vec<u32>,
    /// Per collider: its box in the tree is where it is, and: it moves.
    planted: Vec<bool>,
    moves: Vec<bool>,
    movers: Vec<u32>,
    /// What came to rest since.
    loose: Vec<Span>,
    /// The boxes of what moves.
    moving: Vec<Span>,
}

impl Broad {
    /// Pairs that may touch and whose boxes, grown by `margin` of their collider, meet; in order. `pose` is that of a
    /// solid's centre.
    pub fn pairs(
        &mut self,
        c: &Colliders,
        pose: impl Fn(SolidId) -> Pose,
        margin: impl Fn(usize) -> f64,
    ) -> &[[u32; 2]] {
        self.spans.clear();
        self.resting.leaves.clear();
        for (k, collider) in c.all.iter().enumerate() {
            self.spans.extend(Span::new(k, collider, &pose(collider.solid), margin(k)));
        }
        self.sweep(c, |_, _| true);
        self.add_planes(c, pose, margin);
        self.pairs.sort_unstable();
        &self.pairs
    }

    /// The same where only `movers`, in order, may have moved since the last time: their pairs alone. No plane moves.
    pub fn pairs_of(
        &mut self,
        c: &Colliders,
        movers: &[u32],
        pose: impl Fn(SolidId) -> Pose,
        margin: impl Fn(usize) -> f64,
    ) -> &[[u32; 2]] {
        let span = |k: u32| {
            let collider = &c.all[k as usize];
            Span::new(k as usize, collider, &pose(collider.solid), margin(k as usize))
        };
        let r = &mut self.resting;
        if r.leaves.is_empty() || r.loose.len() > 64 + r.leaves.len() / 8 {
            r.plant(c.all.len(), movers, span);
        } else if r.movers != movers {
            r.change(movers);
        }
        r.moving.clear();
        r.moving.extend(movers.iter().filter_map(|k| span(*k)));
        self.spans.clear();
        self.spans.extend(r.moving.iter().chain(&r.loose));
        let moves = std::mem::take(&mut self.resting.moves);
        self.sweep(c, |a, b| moves[a as usize] || moves[b as usize]);
        self.resting.moves = moves;
        let r = &self.resting;
        for s in &r.moving {
            for leaf in r.tree.intersect_aabb(&Aabb::new(s.low, s.high)) {
                let other = r.leaves[leaf as usize];
                if r.planted[other as usize] {
                    let pair = [other.min(s.collider), other.max(s.collider)];
                    if c.may_touch(&c.all[pair[0] as usize], &c.all[pair[1] as usize]) {
                        self.pairs.push(pair);
                    }
                }
            }
        }
        self.spans.clone_from(&r.moving);
        self.add_planes(c, pose, margin);
        self.pairs.sort_unstable();
        &self.pairs
    }

    /// Pairs of the boxes in `spans` that meet, of which `asks` is true, and that may touch.
    fn sweep(&mut self, c: &Colliders, asks: impl Fn(u32, u32) -> bool) {
        self.pairs.clear();
        let axis = self.widest();
        self.spans
            .sort_unstable_by(|a, b| a.low[axis].total_cmp(&b.low[axis]).then(a.collider.cmp(&b.collider)));
        for (i, a) in self.spans.iter().enumerate() {
            for b in &self.spans[i + 1..] {
                if b.low[axis] > a.high[axis] {
                    break;
                }
                let [one, two] = [a, b].map(|s| s.collider);
                if a.meets(b) && asks(one, two) {
                    let pair = [one.min(two), one.max(two)];
                    if c.may_touch(&c.all[pair[0] as usize], &c.all[pair[1] as usize]) {
                        self.pairs.push(pair);
                    }
                }
            }
        }
    }

    /// Pairs of planes and of what is in `spans`.
    fn add_planes(&mut self, c: &Colliders, pose: impl Fn(SolidId) -> Pose, margin: impl Fn(usize) -> f64) {
        for &k in &c.planes {
            let (k, plane) = (k as usize, &c.all[k as usize]);
            let at = pose(plane.solid) * plane.local;
            let normal = at.rotation * Vector::Y;
            for s in &self.spans {
                let half = (s.high - s.low) * 0.5;
                let down = (s.low + half - at.translation).dot(normal) - half.dot(normal.abs());
                if down <= margin(k) && c.may_touch(plane, &c.all[s.collider as usize]) {
                    let other = s.collider;
                    self.pairs.push([other.min(k as u32), other.max(k as u32)]);
                }
            }
        }
    }

    /// The axis along which centres vary most.
    fn widest(&self) -> usize {
        let n = self.spans.len().max(1) as f64;
        let mean = self.spans.iter().fold(Vector::ZERO, |m, s| m + (s.low + s.high)) / n;
        let spread = self.spans.iter().fold(Vector::ZERO, |v, s| {
            let d = s.low + s.high - mean;
            v + d * d
        });
        if spread.x >= spread.y && spread.x >= spread.z {
            0
        } else if spread.y >= spread.z {
            1
        } else {
            2
        }
    }
}

impl Resting {
    /// Makes the tree of everything but the movers.
    fn plant(&mut self, count: usize, movers: &[u32], span: impl Fn(u32) -> Option<Span>) {
        self.movers.clear();
        self.movers.extend_from_slice(movers);
        self.moves.clear();
        self.moves.resize(count, false);
        movers.iter().for_each(|k| self.moves[*k as usize] = true);
        self.loose.clear();
        self.leaves.clear();
        self.planted.clear();
        self.planted.resize(count, false);
        let mut boxes = Vec::new();
        for s in (0..count as u32).filter(|k| !self.moves[*k as usize]).filter_map(span) {
            self.planted[s.collider as usize] = true;
            self.leaves.push(s.collider);
            boxes.push(Aabb::new(s.low, s.high));
        }
        self.tree = Bvh::from_leaves(BvhBuildStrategy::Binned, &boxes);
    }

    /// Others move than the last time. What came to rest did so where its box was made the last time.
    fn change(&mut self, movers: &[u32]) {
        self.movers.iter().for_each(|k| self.moves[*k as usize] = false);
        for k in movers {
            self.moves[*k as usize] = true;
            self.planted[*k as usize] = false;
        }
        self.loose.retain(|s| !self.moves[s.collider as usize]);
        self.loose.extend(self.moving.iter().filter(|s| !self.moves[s.collider as usize]));
        self.movers.clear();
        self.movers.extend_from_slice(movers);
    }
}
