//! What pairs gave each other in a step, for whoever asks afterwards: impulses of both stages and of all substeps, and the
//! forces at its end.
//!
//! A step may be tried several times. Only the try that is kept counts.

use super::{Contact, Touch};
use crate::math::Vector;
use crate::state::State;
use crate::step::contacts::{NEAR, nearest};
use crate::step::free::Wrench;

/// Impulses by pair of colliders, on the second one.
#[derive(Default)]
pub(crate) struct Tally {
    /// Of the try that goes on.
    now: Vec<([u32; 2], Vector)>,
    /// Of the best one so far.
    kept: Vec<([u32; 2], Vector)>,
}

impl Tally {
    /// A step begins.
    pub fn clear(&mut self) {
        self.now.clear();
        self.kept.clear();
    }

    /// A try begins.
    pub fn restart(&mut self) {
        self.now.clear();
    }

    /// The try that ended is the one to believe so far.
    pub fn keep(&mut self) {
        std::mem::swap(&mut self.now, &mut self.kept);
    }

    /// Impulses of the step: a pair may come several times, once per point and stage.
    pub fn pairs(&self) -> &[([u32; 2], Vector)] {
        &self.kept
    }
}

impl Touch {
    /// Forces and torques of contacts on each solid about its centre, as the state remembers them.
    pub(in crate::step) fn remembered(&mut self, s: &State, out: &mut Vec<Wrench>) {
        out.clear();
        out.resize(s.centers.len(), Wrench::default());
        let all = self.colliders.clone();
        for known in &s.memory.own().contacts {
            let Some(pair) = self.pairs.iter().find(|p| p.colliders == known.key.shapes).copied() else {
                continue;
            };
            let [a, b] = pair.colliders.map(|c| &all.all[c as usize]);
            let [pa, pb] = [Self::pose(&pair, 0, s), Self::pose(&pair, 1, s)];
            self.points.clear();
            self.narrow.points(a, &pa, b, &pb, NEAR * a.size.min(b.size).max(1e-3), &mut self.points);
            let Some(p) = nearest(&self.points, known.key.feature) else { continue };
            let force = Vector::from_array(known.force);
            for (side, push, pose) in [(0, -force, pa), (1, force, pb)] {
                let to = &mut out[pair.solids[side]];
                to.linear += push;
                to.angular += (p.at - pose.translation).cross(push);
            }
        }
    }

    /// Counts what points gave, `of` them along their frames. Points of a pair follow each other.
    pub(super) fn count(&mut self, of: impl Fn(&Contact) -> [f64; 3]) {
        let sums = &mut self.tally.now;
        for c in &self.contacts {
            let force = of(c);
            if force == [0.0; 3] {
                continue;
            }
            let push = c.push(&force);
            match sums.last_mut() {
                Some((pair, sum)) if *pair == c.key.shapes => *sum += push,
                _ => sums.push((c.key.shapes, push)),
            }
        }
    }
}
