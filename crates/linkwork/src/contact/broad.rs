//! Broad phase: pairs of colliders whose boxes meet, by sorting along the axis in which they are spread most.
//!
//! A function of poses alone: nothing is kept but memory. Planes have no box and are tried against everything.

use super::Colliders;
use crate::math::{Pose, Vector};
use crate::solid::SolidId;

/// A box on its way along the axis.
#[derive(Clone, Copy)]
struct Span {
    low: Vector,
    high: Vector,
    collider: u32,
}

/// Scratch of the broad phase.
#[derive(Default)]
pub(crate) struct Broad {
    spans: Vec<Span>,
    pairs: Vec<[u32; 2]>,
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
        self.pairs.clear();
        for (k, collider) in c.all.iter().enumerate() {
            if let Some(b) = collider.aabb(&pose(collider.solid)) {
                let grow = Vector::splat(margin(k));
                self.spans.push(Span { low: b.mins - grow, high: b.maxs + grow, collider: k as u32 });
            }
        }
        let axis = self.widest();
        self.spans
            .sort_unstable_by(|a, b| a.low[axis].total_cmp(&b.low[axis]).then(a.collider.cmp(&b.collider)));
        for (i, a) in self.spans.iter().enumerate() {
            for b in &self.spans[i + 1..] {
                if b.low[axis] > a.high[axis] {
                    break;
                }
                if a.low.cmple(b.high).all() && b.low.cmple(a.high).all() {
                    let [one, two] = [a, b].map(|s| s.collider);
                    let pair = [one.min(two), one.max(two)];
                    if c.may_touch(&c.all[pair[0] as usize], &c.all[pair[1] as usize]) {
                        self.pairs.push(pair);
                    }
                }
            }
        }
        for (k, plane) in c.all.iter().enumerate().filter(|(_, x)| x.bounds.is_none()) {
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
        self.pairs.sort_unstable();
        &self.pairs
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
