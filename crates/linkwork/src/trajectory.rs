//! Given motions: keys in time, positions and orientations only (never differentiated).

use crate::math::{Pose, Rotation, Vector};

/// One key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// When.
    pub time: f64,
    /// Where the solid's origin is, in the world.
    pub position: Vector,
    /// How it is turned.
    pub rotation: Rotation,
}

/// Keys with strictly rising times; straight lines and shortest turns in between.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// Unique among trajectories.
    pub name: String,
    /// At least one; times strictly rising.
    pub keys: Vec<Key>,
    /// Start again from the first key after the last.
    pub looped: bool,
}

impl Trajectory {
    /// The pose at a time; the first or last key's outside of them.
    pub fn pose(&self, time: f64) -> Pose {
        let (Some(first), Some(last)) = (self.keys.first(), self.keys.last()) else { return Pose::IDENTITY };
        let span = last.time - first.time;
        let t =
            if self.looped && span > 0.0 { first.time + (time - first.time).rem_euclid(span) } else { time };
        let next = self.keys.partition_point(|k| k.time <= t);
        if next == 0 || next == self.keys.len() {
            let k = if next == 0 { first } else { last };
            return Pose::from_parts(k.position, k.rotation);
        }
        let (a, b) = (&self.keys[next - 1], &self.keys[next]);
        let s = (t - a.time) / (b.time - a.time);
        Pose::from_parts(a.position.lerp(b.position, s), a.rotation.slerp(b.rotation, s).normalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exp;

    #[test]
    fn keys_are_met_and_loops_close() {
        let key = |time, y, a| Key { time, position: Vector::new(0.0, y, 0.0), rotation: exp(Vector::Y * a) };
        let mut t = Trajectory {
            name: "w".into(),
            keys: vec![key(0.0, 1.0, 0.0), key(2.0, 3.0, 1.0)],
            looped: false,
        };
        assert_eq!(t.pose(-1.0).translation.y, 1.0);
        assert_eq!(t.pose(9.0).translation.y, 3.0);
        assert!((t.pose(1.0).translation.y - 2.0).abs() < 1e-12);
        assert!((crate::math::log(t.pose(1.0).rotation).y - 0.5).abs() < 1e-12);
        t.looped = true;
        assert!((t.pose(5.0).translation.y - 2.0).abs() < 1e-12);
    }
}
