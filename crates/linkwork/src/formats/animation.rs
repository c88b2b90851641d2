//! A recorded motion baked into binary glTF: one node per solid, named like it, with a translation and a rotation track
//! of straight interpolation (`LINEAR`: for rotations that is the shortest turn).
//!
//! All tracks share one accessor of times, which start at zero and rise strictly. Solids that never move have no track:
//! the node's own pose says it all. Quaternions `q` and `-q` are the same rotation; of the two each key takes the one on
//! the side of the key before, since viewers interpolate the four numbers.

use super::figure::{Figure, Part, drawable};
use super::gltf::Scene;
use super::morph::MOST_BYTES;
use crate::math::Pose;
use crate::mechanism::Mechanism;
use crate::record::Frame;
use crate::skin::{Bone, Surface};
use crate::solid::SolidId;
use crate::state::State;
use serde_json::json;

/// The mechanism in motion, as the bytes of a `.glb` file. It opens in the first frame's pose; without a second frame
/// there is nothing to animate, and without any frame it shows the initial state.
///
/// ```
/// use linkwork::{Mechanism, PlacedShape, Recorder, Solid, State, StepConfig, Workspace, measure::Meter, step};
/// let mut m = Mechanism::new();
/// m.add_solid(Solid::new("stone").with_shape(PlacedShape::sphere(0.1), 1.0))?;
/// let (mut s, mut w, mut recorder) = (State::new(&m), Workspace::new(), Recorder::new(1000));
/// for _ in 0..60 {
///     recorder.record(&m, &s, Meter::default().sample(&m, &s));
///     step(&m, &mut s, &mut w, &StepConfig::default());
/// }
/// let bytes = linkwork::formats::animated_glb(&m, &recorder.finish());
/// assert_eq!(&bytes[..4], b"glTF");
/// # Ok::<(), linkwork::ModelError>(())
/// ```
pub fn animated_glb(m: &Mechanism, frames: &[Frame]) -> Vec<u8> {
    animated_glb_with_skins(m, frames, &[])
}

/// The same with skins over some of the solids, see [`glb_with_skins`](super::glb_with_skins).
pub fn animated_glb_with_skins(m: &Mechanism, frames: &[Frame], skins: &[Surface]) -> Vec<u8> {
    animated_glb_told(m, frames, skins).0
}

/// The same, and what was left out of it, in words: the motion of soft bodies takes much room, and has a bound.
pub fn animated_glb_told(m: &Mechanism, frames: &[Frame], skins: &[Surface]) -> (Vec<u8>, Vec<String>) {
    let first = first_state(m, frames);
    let figure = Figure::with_skins(m, &first, skins);
    let mut scene = Scene::new(&figure);
    scene.wear(m, skins, |id| drawable(first.pose(m, id)));
    let draped = scene.drape(m, &figure, frames);
    let whole = |(node, part): (usize, &Part)| (node, Mover::Solid(part.solid));
    let between = scene.bones.iter().map(|(node, bone)| (*node, Mover::Bone(*bone)));
    let mut moving: Vec<(usize, Mover)> = figure.parts.iter().enumerate().map(whole).chain(between).collect();
    moving.retain(|(_, mover)| mover.solids().iter().any(|id| moves(frames, id.index())));
    let (mut samplers, mut channels) = (Vec::new(), Vec::new());
    let baked = scene.bake(m, &figure, &draped, frames, MOST_BYTES);
    for (sampler, target) in baked.tracks {
        channels.push(json!({ "sampler": samplers.len(), "target": target }));
        samplers.push(sampler);
    }
    // Four bytes of time, and per part three numbers of place and four of turn.
    let keys = keys(frames, scene.room() / (4 + 28 * moving.len()));
    if keys.len() < 2 {
        moving.clear();
    }
    if moving.is_empty() && channels.is_empty() {
        return (scene.write(), baked.cut);
    }
    let times: Vec<f32> = keys.iter().map(|k| (frames[*k].time - frames[0].time) as f32).collect();
    // One for all of them.
    let input = if moving.is_empty() { 0 } else { scene.track(&times, 1, true) };
    for (node, mover) in moving {
        let poses: Vec<Pose> = keys.iter().map(|k| mover.pose(&frames[*k])).collect();
        let places: Vec<f32> =
            poses.iter().flat_map(|p| p.translation.to_array()).map(|x| x as f32).collect();
        for (path, output) in [
            ("translation", scene.track(&places, 3, false)),
            ("rotation", scene.track(&turns(&poses), 4, false)),
        ] {
            channels.push(json!({ "sampler": samplers.len(), "target": { "node": node, "path": path } }));
            samplers.push(json!({ "input": input, "output": output, "interpolation": "LINEAR" }));
        }
    }
    scene.animations.push(json!({ "name": "motion", "samplers": samplers, "channels": channels }));
    (scene.write(), baked.cut)
}

/// What moves a node.
enum Mover {
    Solid(SolidId),
    Bone(Bone),
}

impl Mover {
    fn solids(&self) -> [SolidId; 2] {
        match self {
            Self::Solid(id) => [*id; 2],
            Self::Bone(bone) => bone.solids,
        }
    }

    fn pose(&self, frame: &Frame) -> Pose {
        let solid = |id: SolidId| drawable(frame.poses.get(id.index()).copied().unwrap_or_default());
        match self {
            Self::Solid(id) => solid(*id),
            Self::Bone(bone) => drawable(bone.pose(solid)),
        }
    }
}

/// The state that the first frame shows.
fn first_state(m: &Mechanism, frames: &[Frame]) -> State {
    let mut state = State::new(m);
    if let Some(first) = frames.first() {
        for (i, pose) in first.poses.iter().enumerate().take(m.solids().len()) {
            state.set_pose(m, SolidId(i as u32), drawable(*pose));
        }
    }
    state
}

pub(super) fn moves(frames: &[Frame], solid: usize) -> bool {
    let pose = |f: &Frame| f.poses.get(solid).copied();
    frames.windows(2).any(|pair| pose(&pair[0]) != pose(&pair[1]))
}

/// Frames that become keys: at most so many, evenly spaced, with times that still rise as 32-bit numbers.
pub(super) fn keys(frames: &[Frame], most: usize) -> Vec<usize> {
    let every = frames.len().div_ceil(most.max(1)).max(1);
    let mut last = None;
    let mut keys = Vec::new();
    for (k, frame) in frames.iter().enumerate().step_by(every) {
        let time = (frame.time - frames[0].time) as f32;
        if time.is_finite() && last.is_none_or(|l| time > l) {
            last = Some(time);
            keys.push(k);
        }
    }
    keys
}

/// Rotations, each on the same side as the one before it.
fn turns(poses: &[Pose]) -> Vec<f32> {
    let mut last = poses.first().map(|p| p.rotation).unwrap_or_default();
    let mut numbers = Vec::with_capacity(4 * poses.len());
    for pose in poses {
        last = if last.dot(pose.rotation) < 0.0 { -pose.rotation } else { pose.rotation };
        numbers.extend(last.to_array().map(|x| x as f32));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Vector, exp};
    use crate::record::Sample;
    use crate::{PlacedShape, Solid};
    use serde_json::Value;

    /// A wheel that turns twice and rolls, and a post that stands.
    fn rolling(frames: usize) -> (Mechanism, Vec<Frame>) {
        let mut m = Mechanism::new();
        let disc = PlacedShape::cylinder(0.5, 0.1, Vector::Z);
        let wheel = m.add_solid(Solid::new("wheel").with_shape(disc, 1.0)).unwrap();
        let mut post = Solid::fixed("post").at(3.0, 0.0, 0.0);
        post.shapes.push(PlacedShape::cuboid(0.1, 1.0, 0.1));
        m.add_solid(post).unwrap();
        let frames = (0..frames)
            .map(|k| {
                let mut s = State { time: 7.0 + k as f64 / 60.0, ..State::new(&m) };
                let angle = -0.3 * k as f64;
                s.set_pose(&m, wheel, Pose::from_parts(Vector::X * (-0.5 * angle), exp(Vector::Z * angle)));
                Frame::new(&m, &s, Sample::default())
            })
            .collect();
        (m, frames)
    }

    fn document(file: &[u8]) -> (Value, Vec<u8>) {
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!((&file[..4], word(8)), (&b"glTF"[..], file.len()));
        let json = word(12);
        (serde_json::from_slice(&file[20..20 + json]).unwrap(), file[28 + json..].to_vec())
    }

    fn numbers(d: &Value, bin: &[u8], accessor: &Value) -> Vec<f32> {
        let accessor = &d["accessors"][accessor.as_u64().unwrap() as usize];
        assert_eq!(accessor["componentType"], 5126);
        let width = match accessor["type"].as_str().unwrap() {
            "SCALAR" => 1,
            "VEC3" => 3,
            _ => 4,
        };
        let view = &d["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
        let (start, length) =
            (view["byteOffset"].as_u64().unwrap() as usize, view["byteLength"].as_u64().unwrap() as usize);
        assert_eq!(length, 4 * width * accessor["count"].as_u64().unwrap() as usize);
        assert!(view.get("target").is_none(), "{view}");
        bin[start..start + length].chunks(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect()
    }

    #[test]
    fn tracks_read_back_as_they_were_recorded() {
        let (m, frames) = rolling(50);
        let (d, bin) = document(&animated_glb(&m, &frames));
        let motion = &d["animations"][0];
        assert_eq!(motion["channels"].as_array().unwrap().len(), 2, "the post has no track");
        for (channel, path) in motion["channels"].as_array().unwrap().iter().zip(["translation", "rotation"])
        {
            assert_eq!((&channel["target"]["node"], &channel["target"]["path"]), (&0.into(), &path.into()));
            assert_eq!(d["nodes"][0]["name"], "wheel");
            let sampler = &motion["samplers"][channel["sampler"].as_u64().unwrap() as usize];
            assert_eq!(sampler["interpolation"], "LINEAR");
            let times = numbers(&d, &bin, &sampler["input"]);
            assert_eq!((times.len(), times[0]), (50, 0.0));
            assert!(times.windows(2).all(|t| t[0] < t[1]));
            let input = &d["accessors"][sampler["input"].as_u64().unwrap() as usize];
            assert_eq!(
                (input["min"][0].as_f64().unwrap() as f32, input["max"][0].as_f64().unwrap() as f32),
                (times[0], times[49])
            );
            let output = numbers(&d, &bin, &sampler["output"]);
            if path == "translation" {
                for (k, place) in output.chunks(3).enumerate() {
                    assert!((f64::from(place[0]) - 0.15 * k as f64).abs() < 1e-5);
                }
            } else {
                for (k, pair) in output.chunks(4).zip(output.chunks(4).skip(1)).enumerate() {
                    let dot: f32 = pair.0.iter().zip(pair.1).map(|(a, b)| a * b).sum();
                    // Through more than two turns the numbers go on smoothly: half of 0.3 rad a key.
                    assert!((f64::from(dot) - 0.15_f64.cos()).abs() < 1e-5, "{k}: {dot}");
                }
            }
        }
    }

    #[test]
    fn the_picture_is_the_static_one() {
        let (m, frames) = rolling(1);
        let mut s = State::new(&m);
        s.set_pose(&m, SolidId(1), frames[0].poses[1]);
        assert_eq!(animated_glb(&m, &frames), super::super::glb(&m, &s), "one frame is no motion");
        assert_eq!(animated_glb(&m, &[]), super::super::glb(&m, &State::new(&m)));
    }

    #[test]
    fn times_that_32_bits_cannot_tell_apart_are_dropped() {
        let (_, mut frames) = rolling(10);
        for (k, f) in frames.iter_mut().enumerate() {
            f.time = 1e6 * k as f64;
        }
        frames[5].time = 4e6 + 1e-3;
        assert_eq!(keys(&frames, 100), [0, 1, 2, 3, 4, 6, 7, 8, 9]);
        assert_eq!(keys(&frames, 5), [0, 2, 4, 6, 8]);
    }
}
