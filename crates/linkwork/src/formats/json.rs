//! A recorded motion as JSON: frames with poses, velocities, gaps, energies and momenta.

use crate::mechanism::Mechanism;
use crate::record::Frame;
use crate::solid::SolidId;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

/// What surrounds the frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecordInfo {
    /// Title or file of the scene.
    pub scene: String,
    /// The method's name.
    pub method: String,
    /// The solver's name.
    pub solver: String,
    /// Seconds per step.
    pub dt: f64,
    /// Steps from one frame to the next (the last one may be nearer).
    pub stride: usize,
}

/// One JSON object. A solid's pose is `x y z qw qx qy qz` (its origin), its velocity `vx vy vz wx wy wz` (of the centre of
/// mass, and angular), in the order of `solids`.
pub fn json_record(m: &Mechanism, frames: &[Frame], watch: &[SolidId], info: &RecordInfo) -> String {
    let record = Record {
        format: "linkwork-record",
        version: 1,
        info,
        pose: ["x", "y", "z", "qw", "qx", "qy", "qz"],
        velocity: ["vx", "vy", "vz", "wx", "wy", "wz"],
        solids: watch.iter().map(|id| m.solid(*id).name.as_str()).collect(),
        frames: Frames(frames, watch),
    };
    // Names and numbers always serialise; what is not finite becomes `null`.
    serde_json::to_string(&record).unwrap_or_default()
}

#[derive(Serialize)]
struct Record<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    info: &'a RecordInfo,
    pose: [&'static str; 7],
    velocity: [&'static str; 6],
    solids: Vec<&'a str>,
    frames: Frames<'a>,
}

/// Written one by one: a tree of values would take many times the memory.
struct Frames<'a>(&'a [Frame], &'a [SolidId]);

impl Serialize for Frames<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut seq = s.serialize_seq(Some(self.0.len()))?;
        for frame in self.0 {
            seq.serialize_element(&One(frame, self.1))?;
        }
        seq.end()
    }
}

struct One<'a>(&'a Frame, &'a [SolidId]);

impl Serialize for One<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let (f, watch) = (self.0, self.1.iter().map(|id| id.index()));
        let poses: Vec<[f64; 7]> = watch
            .clone()
            .map(|i| (f.poses[i].translation, f.poses[i].rotation))
            .map(|(t, q)| [t.x, t.y, t.z, q.w, q.x, q.y, q.z])
            .collect();
        let velocities: Vec<[f64; 6]> = watch
            .map(|i| (f.velocities[i], f.spins[i]))
            .map(|(v, w)| [v.x, v.y, v.z, w.x, w.y, w.z])
            .collect();
        let (g, e, p) = (f.sample.gaps, f.sample.energy, f.sample.momentum);
        let mut map = s.serialize_map(None)?;
        map.serialize_entry("time", &f.time)?;
        map.serialize_entry("poses", &poses)?;
        map.serialize_entry("velocities", &velocities)?;
        map.serialize_entry("gaps", &Named(&[("position", g.position), ("angle", g.angle)]))?;
        let parts =
            [("kinetic", e.kinetic), ("potential", e.potential), ("spring", e.spring), ("total", e.total())];
        map.serialize_entry("energy", &Named(&parts))?;
        let momentum = [("linear", p.linear.to_array()), ("angular", p.angular.to_array())];
        map.serialize_entry("momentum", &Named(&momentum))?;
        map.end()
    }
}

/// A small object.
struct Named<'a, T>(&'a [(&'static str, T)]);

impl<T: Serialize> Serialize for Named<'_, T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Meter;
    use crate::{PlacedShape, Solid, State, StepConfig, Workspace, step};
    use serde_json::Value;

    #[test]
    fn frames_hold_what_was_recorded() {
        let mut m = Mechanism::new();
        let ids: Vec<SolidId> = ["one", "two"]
            .iter()
            .map(|n| m.add_solid(Solid::new(*n).with_shape(PlacedShape::sphere(0.1), 2.0)).unwrap())
            .collect();
        let (mut s, mut w, mut meter) = (State::new(&m), Workspace::new(), Meter::default());
        let mut recorder = crate::Recorder::new(10);
        recorder.record(&m, &s, meter.sample(&m, &s));
        step(&m, &mut s, &mut w, &StepConfig::default());
        recorder.record(&m, &s, meter.sample(&m, &s));
        let info = RecordInfo { scene: "stones".into(), stride: 1, ..Default::default() };
        let text = json_record(&m, &recorder.finish(), &ids[1..], &info);
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&read["format"], &read["scene"]), (&"linkwork-record".into(), &"stones".into()));
        assert_eq!(read["solids"], serde_json::json!(["two"]));
        assert_eq!(read["frames"].as_array().unwrap().len(), 2);
        let last = &read["frames"][1];
        assert_eq!(last["time"].as_f64(), Some(s.time));
        assert_eq!(last["poses"][0][1].as_f64(), Some(s.pose(&m, ids[1]).translation.y));
        assert_eq!(last["velocities"][0][1].as_f64(), Some(s.velocities[2].y));
        assert_eq!(last["energy"]["kinetic"].as_f64(), Some(meter.energy(&m, &s).kinetic));
        assert_eq!(last["momentum"]["linear"][1].as_f64(), Some(meter.momentum(&m, &s).linear.y));
        assert_eq!(last["gaps"]["position"], 0.0);
    }
}
