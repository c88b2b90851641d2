//! Motion as a table: a row per state, full precision.
//!
//! Columns: `time`, then for each watched solid `NAME.x NAME.y NAME.z` (its origin in the world), `.qw .qx .qy .qz` (its
//! orientation), `.vx .vy .vz` (velocity of its centre of mass) and `.wx .wy .wz` (angular velocity, world axes); of a soft
//! body's vertex places and velocities only. Numbers
//! are the shortest that read back as the same bits. Rows are made one at a time, so that long runs need no memory.
//! Watched joints come after the solids ([`JointColumns`]).

use crate::joint::JointId;
use crate::math::{Pose, Vector};
use crate::mechanism::Mechanism;
use crate::readout;
use crate::record::Frame;
use crate::solid::SolidId;
use crate::state::State;
use crate::step::Reaction;
use std::fmt::Write;

/// Every solid but the world: what is watched when nothing is named.
pub fn everything(m: &Mechanism) -> Vec<SolidId> {
    (1..m.solids().len() as u32).map(SolidId).collect()
}

/// The first line.
pub fn header(m: &Mechanism, watch: &[SolidId]) -> String {
    let mut line = "time".to_owned();
    for id in watch {
        let name = &m.solid(*id).name;
        let parts: &[&str] = match m.soft_of(*id) {
            Some(_) => &["x", "y", "z", "vx", "vy", "vz"],
            None => &["x", "y", "z", "qw", "qx", "qy", "qz", "vx", "vy", "vz", "wx", "wy", "wz"],
        };
        for part in parts {
            line.push(',');
            line.push_str(&quoted(&format!("{name}.{part}")));
        }
    }
    line.push('\n');
    line
}

/// The line of a state.
pub fn row(m: &Mechanism, s: &State, watch: &[SolidId]) -> String {
    let solids = watch.iter().map(|id| {
        let turns = m.soft_of(*id).is_none();
        (s.pose(m, *id), s.velocities[id.index()], s.spins[id.index()], turns)
    });
    line(s.time, solids)
}

/// Header and rows of recorded frames.
pub fn table(m: &Mechanism, frames: &[Frame], watch: &[SolidId]) -> String {
    let mut text = header(m, watch);
    for f in frames {
        let solids = watch.iter().map(|id| {
            let (i, turns) = (id.index(), m.soft_of(*id).is_none());
            (f.poses[i], f.velocities[i], f.spins[i], turns)
        });
        text.push_str(&line(f.time, solids));
    }
    text
}

fn line(time: f64, solids: impl Iterator<Item = (Pose, Vector, Vector, bool)>) -> String {
    let mut line = format!("{time:?}");
    for (pose, v, w, turns) in solids {
        let (t, q) = (pose.translation, pose.rotation);
        let all = [t.x, t.y, t.z, q.w, q.x, q.y, q.z, v.x, v.y, v.z, w.x, w.y, w.z];
        let vertex = [t.x, t.y, t.z, v.x, v.y, v.z];
        for x in if turns { &all[..] } else { &vertex[..] } {
            // `?` and not `{}`: tiny and huge numbers get a power of ten instead of hundreds of digits.
            let _ = write!(line, ",{x:?}");
        }
    }
    line.push('\n');
    line
}

/// The columns of watched joints: for each free direction `NAME.r1` and `NAME.r1.rate` (see [`readout`]), then what the joint
/// does to its second solid, `NAME.fx .fy .fz` (at its anchor) and `NAME.mx .my .mz`, in newtons, newton metres and world
/// axes. Angles go on counting where they pass half a turn. Forces are those of the step that ended there: none at the
/// start, and none where the method knows displacements only.
#[derive(Debug, Default)]
pub struct JointColumns {
    joints: Vec<JointId>,
    /// The angles of the last row, in order, with their whole turns.
    angles: Vec<f64>,
}

impl JointColumns {
    /// For these joints.
    pub fn new(joints: Vec<JointId>) -> Self {
        Self { joints, angles: Vec::new() }
    }

    /// Nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.joints.is_empty()
    }

    /// What the first line has of them, behind the solids.
    pub fn header(&self, m: &Mechanism) -> String {
        let mut line = String::new();
        for id in &self.joints {
            let name = m.joint_name(*id);
            let numbers = readout::names(m.joint(*id)).flat_map(|n| [n.to_owned(), format!("{n}.rate")]);
            for part in numbers.chain(["fx", "fy", "fz", "mx", "my", "mz"].map(str::to_owned)) {
                line.push(',');
                line.push_str(&quoted(&format!("{name}.{part}")));
            }
        }
        line
    }

    /// What the line of a state has of them. `reactions`: of joints that acted in the step that ended there, in order.
    pub fn row(&mut self, m: &Mechanism, s: &State, reactions: Option<&[(JointId, Reaction)]>) -> String {
        let (mut line, mut slot) = (String::new(), 0);
        for id in &self.joints {
            for c in readout::read(m, s, *id) {
                let mut value = c.value;
                if c.is_angle {
                    match self.angles.get_mut(slot) {
                        Some(last) => {
                            value +=
                                std::f64::consts::TAU * ((*last - value) / std::f64::consts::TAU).round();
                            *last = value;
                        }
                        None => self.angles.push(value),
                    }
                    slot += 1;
                }
                let _ = write!(line, ",{value:?},{:?}", c.rate);
            }
            let own =
                reactions.map(|all| all.iter().find(|(j, _)| j == id).map(|(_, r)| (r.force, r.torque)));
            match own {
                None => line.push_str(",,,,,,"),
                // It did not act.
                Some(acted) => {
                    let (f, t) = acted.unwrap_or_default();
                    for x in [f.x, f.y, f.z, t.x, t.y, t.z] {
                        let _ = write!(line, ",{x:?}");
                    }
                }
            }
        }
        line
    }
}

/// In quotes where a reader of CSV needs them (RFC 4180).
pub fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exp;
    use crate::record::Sample;
    use crate::{PlacedShape, Solid};

    #[test]
    fn numbers_read_back_to_the_bit() {
        let mut m = Mechanism::new();
        let bar = PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X);
        let mut odd = Solid::new("a, \"b\"").with_shape(bar, 1.0).at(0.1, 1e-300, -2.5e17);
        (odd.velocity, odd.spin) = (Vector::new(1.0 / 3.0, -0.0, 1e22), Vector::new(5e-324, 2.0, 3.0));
        odd = odd.turned(exp(Vector::new(0.3, 0.7, -0.2)));
        let id = m.add_solid(odd).unwrap();
        m.add_solid(Solid::new("plain")).unwrap();
        let s = State { time: 0.1 + 0.2, ..State::new(&m) };
        assert_eq!(
            header(&m, &[id]).matches("\"a, \"\"b\"\".").count(),
            13,
            "every column of an odd name is quoted"
        );
        assert!(header(&m, &everything(&m)).ends_with("plain.vz,plain.wx,plain.wy,plain.wz\n"));
        let text = row(&m, &s, &[id]);
        let read: Vec<f64> = text.trim_end().split(',').map(|x| x.parse().unwrap()).collect();
        let (p, v, w) = (s.pose(&m, id), s.velocities[1], s.spins[1]);
        let (t, q) = (p.translation, p.rotation);
        let meant = [s.time, t.x, t.y, t.z, q.w, q.x, q.y, q.z, v.x, v.y, v.z, w.x, w.y, w.z];
        assert_eq!(read.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), meant.map(f64::to_bits));
        let frames = [Frame::new(&m, &s, Sample::default())];
        assert_eq!(table(&m, &frames, &[id]), header(&m, &[id]) + &text);
    }
}
