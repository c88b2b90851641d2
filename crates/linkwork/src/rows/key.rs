//! Identity of rows: what a block of rows is called from one step to the next.
//!
//! Rows come and go: timed joints, motors and springs, later contacts. What a state remembers of a row (its force, the
//! warm start of the next step) is kept under the block's key, never under its place, so that a stranger that begins or
//! ends changes nothing for the rest.

use crate::joint::JointId;
use crate::mechanism::Mechanism;
use crate::solid::SolidId;

/// What made a block of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The joint itself.
    Joint,
    /// A motor of the joint, by its place in [`crate::Joint::drives`].
    Drive(u32),
    /// A spring, by its place in [`crate::Mechanism::springs`]; it belongs to no joint.
    Spring(u32),
    /// The damper along a short spring, whose own rows are those of a vector.
    Damper(u32),
}

/// Ordered as blocks are: joints, then motors, then springs, each by id. The number of rows is part of it, so that equal
/// keys are rows of the same shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey(pub(crate) u64);

impl RowKey {
    /// The key of a block of `count` rows. Motors and rows beyond 4095 and 255 share a key with others: they would start
    /// cold, and nothing worse.
    pub(crate) fn new(m: &Mechanism, joint: JointId, source: Source, count: usize) -> Self {
        let (kind, id, part) = match source {
            Source::Joint => (0, m.outer_joint(joint), 0),
            Source::Drive(k) => (1, m.outer_joint(joint), k),
            Source::Spring(k) => (2, m.outer_spring(k), 0),
            Source::Damper(k) => (2, m.outer_spring(k), 1),
        };
        Self(kind << 60 | u64::from(id) << 24 | u64::from(part & 0xfff) << 8 | count as u64 & 0xff)
    }

    /// The solids that the block is between, in the mechanism that its joints and springs are numbered in.
    pub(crate) fn solids(self, m: &Mechanism) -> Option<[SolidId; 2]> {
        let id = (self.0 >> 24 & 0xffff_ffff) as usize;
        match self.0 >> 60 {
            0 | 1 => m.joints().get(id).map(|j| j.frames.map(|f| f.solid)),
            _ => m.springs.get(id).map(|s| s.solids),
        }
    }

    /// Rows of the block.
    pub(crate) fn count(self) -> usize {
        (self.0 & 0xff) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_blocks_are() {
        let m = Mechanism::new();
        let joint = |k| RowKey::new(&m, JointId(k), Source::Joint, 3);
        let drive = |k, d| RowKey::new(&m, JointId(k), Source::Drive(d), 1);
        let none = JointId(u32::MAX);
        let spring = |k| RowKey::new(&m, none, Source::Spring(k), 1);
        let damper = |k| RowKey::new(&m, none, Source::Damper(k), 1);
        let order = [
            joint(0),
            joint(1),
            joint(u32::MAX),
            drive(0, 0),
            drive(0, 1),
            drive(7, 0),
            spring(0),
            damper(0),
            spring(1),
        ];
        assert!(order.windows(2).all(|w| w[0] < w[1]), "{order:?}");
        assert_eq!(joint(5).count(), 3);
    }
}
