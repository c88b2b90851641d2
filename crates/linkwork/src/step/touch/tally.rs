//! What pairs gave each other in a step, for whoever asks afterwards: impulses of both stages and of all substeps.
//!
//! A step may be tried several times. Only the try that is kept counts.

use super::{Contact, Touch};
use crate::math::Vector;

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
