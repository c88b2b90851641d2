//! Soft bodies in binary glTF: a mesh each, and their motion as morph targets.
//!
//! A target is the difference of one kept frame to the first, in places and normals, and a track of weights goes from one
//! target to the next: between two frames every corner moves on a straight line. That costs 24 bytes a corner and frame, so
//! frames are thinned evenly until all fits, and what is left out is told.

use super::animation::{keys, moves};
use super::figure::{Figure, drawable};
use super::gltf::Scene;
use super::sheet::Sheet;
use crate::math::Vector;
use crate::mechanism::Mechanism;
use crate::record::Frame;
use crate::soft::{SoftBody, SoftMesh};
use serde_json::{Value, json};

/// Most bytes that the motion of soft bodies takes, and most frames: viewers keep every target in one texture of layers, and
/// 256 of them are all that can be relied on.
pub(super) const MOST_BYTES: usize = 64 << 20;
pub(super) const MOST_FRAMES: usize = 240;
/// Places and normals of a corner.
const CORNER: usize = 24;

/// A soft body in a document: its number, its node and its mesh.
pub(super) struct Draped {
    body: usize,
    node: usize,
    mesh: usize,
    /// Triangles that tear on the way.
    lost: Vec<[u32; 3]>,
}

impl Scene {
    /// Adds the soft bodies as they are. Those for which the file has no room are left out. `frames`: what is to happen to them.
    pub(super) fn drape(&mut self, m: &Mechanism, figure: &Figure, frames: &[Frame]) -> Vec<Draped> {
        let mut draped = Vec::new();
        let end = frames.last().and_then(|f| worn(m, f));
        for (body, (soft, part)) in m.softs().iter().zip(&figure.softs).enumerate() {
            let lost = end.as_ref().map_or(Vec::new(), |end| lost(&soft.mesh, &end.softs()[body].mesh));
            let t = Sheet::new(&soft.mesh, part.radius).losing(&lost).triangles(&part.places);
            if t.indices.is_empty() || CORNER * t.positions.len() + 4 * t.indices.len() >= self.room() {
                continue;
            }
            let primitive = self.primitive(&t, part.color);
            let (node, mesh) = (self.nodes.len(), self.meshes.len());
            self.meshes.push(json!({ "name": part.name, "primitives": [primitive] }));
            self.nodes.push(json!({ "name": part.name, "mesh": mesh }));
            draped.push(Draped { body, node, mesh, lost });
        }
        draped
    }

    /// Adds the motion of soft bodies, within so many bytes: samplers and channels of the animation, and what was cut.
    pub(super) fn bake(
        &mut self,
        m: &Mechanism,
        figure: &Figure,
        draped: &[Draped],
        frames: &[Frame],
        most: usize,
    ) -> Baked {
        let mut baked = Baked::default();
        let alive = |d: &&Draped| m.softs()[d.body].range().any(|i| moves(frames, i));
        let moving: Vec<&Draped> = draped.iter().filter(alive).collect();
        let sheet =
            |d: &Draped| Sheet::new(&m.softs()[d.body].mesh, figure.softs[d.body].radius).losing(&d.lost);
        let corners: usize = moving.iter().map(|d| sheet(d).corners()).sum();
        if corners == 0 {
            return baked;
        }
        // The first frame is the mesh itself.
        let fits = (most.min(self.room()) / (CORNER * corners)).min(MOST_FRAMES);
        let keys = if fits == 0 { Vec::new() } else { keys(frames, fits + 1) };
        baked.note(m, &moving, frames.len(), keys.len(), corners);
        if keys.len() < 2 {
            return baked;
        }
        let times: Vec<f32> = keys.iter().map(|k| (frames[*k].time - frames[0].time) as f32).collect();
        let input = self.track(&times, 1, true);
        let targets = keys.len() - 1;
        // All nothing in the first frame, then one after the other.
        let mut weights = vec![0.0; keys.len() * targets];
        (0..targets).for_each(|k| weights[(k + 1) * targets + k] = 1.0);
        let output = self.track(&weights, 1, false);
        for d in moving {
            let soft = &m.softs()[d.body];
            let mut sheet = sheet(d);
            let (first, upright) = sheet.surface(&places(soft, &frames[keys[0]]));
            let list: Vec<Value> = keys[1..]
                .iter()
                .map(|k| {
                    let left = worn(m, &frames[*k]).filter(|_| !d.lost.is_empty());
                    let gone = left.map_or(Vec::new(), |l| lost(&soft.mesh, &l.softs()[d.body].mesh));
                    let (at, normals) =
                        sheet.surface_without(&places(soft, &frames[*k]), |t| gone.contains(t));
                    let less = |a: &[Vector], b: &[Vector]| -> Vec<Vector> {
                        a.iter().zip(b).map(|(a, b)| *a - *b).collect()
                    };
                    let position = self.vectors(&less(&at, &first), true);
                    json!({ "POSITION": position, "NORMAL": self.vectors(&less(&normals, &upright), false) })
                })
                .collect();
            self.meshes[d.mesh]["primitives"][0]["targets"] = Value::Array(list);
            self.meshes[d.mesh]["weights"] = json!(vec![0.0; targets]);
            let sampler = json!({ "input": input, "output": output, "interpolation": "LINEAR" });
            baked.tracks.push((sampler, json!({ "node": d.node, "path": "weights" })));
        }
        baked
    }
}

/// What the motion of soft bodies adds to an animation.
#[derive(Default)]
pub(super) struct Baked {
    /// Sampler and target of each.
    pub tracks: Vec<(Value, Value)>,
    /// What was cut, in words.
    pub cut: Vec<String>,
}

impl Baked {
    fn note(&mut self, m: &Mechanism, moving: &[&Draped], frames: usize, kept: usize, corners: usize) {
        if kept >= frames {
            return;
        }
        let names: Vec<String> = moving.iter().map(|d| format!("`{}`", m.softs()[d.body].name)).collect();
        let size = (CORNER * corners * frames).div_ceil(1_000_000);
        let names = names.join(", ");
        self.cut.push(match kept {
            0 | 1 => format!("{names}: shown at rest; the motion of {corners} corners would take {size} MB"),
            _ => format!(
                "{names}: {kept} of {frames} frames are kept, the others are straight lines between them; all of \
                 them would take {size} MB"
            ),
        });
    }
}

/// The mechanism as it is worn in a frame, if it is.
fn worn(m: &Mechanism, frame: &Frame) -> Option<Mechanism> {
    (m.torn() != frame.torn).then(|| {
        let mut worn = m.clone();
        worn.wear(&frame.torn);
        worn
    })
}

/// Triangles that are not there any more.
fn lost(before: &SoftMesh, after: &SoftMesh) -> Vec<[u32; 3]> {
    let left: std::collections::BTreeSet<&[u32; 3]> = after.triangles.iter().collect();
    if before.tetrahedra.is_empty() {
        before.triangles.iter().filter(|t| !left.contains(t)).copied().collect()
    } else {
        // What tears in a soft solid opens faces that were not there: it is shown whole.
        Vec::new()
    }
}

/// Where the vertices of a soft body are in a frame.
fn places(soft: &SoftBody, frame: &Frame) -> Vec<Vector> {
    let at = |i: usize| drawable(frame.poses.get(i).copied().unwrap_or_default()).translation;
    soft.range().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::super::animated_glb_told;
    use super::*;
    use crate::measure::Meter;
    use crate::{State, StepConfig, Workspace, step};

    const SCENE: &str = "cloth s: grid 5 4 spacing 0.1; mass 0.2; stretch 100 0.2; shear 40; turn 1 0 0 90 deg; pin 0 0; end
        cloth r: grid 6 1 spacing 0.1; mass 0.1; stretch 100 0.2; at 0 1 0; pin 0 0; end
        tetra t: grid 2 2 2 spacing 0.1; mass 0.1; stretch 100; at 0 2 0; end
        cloth still: grid 2 2 spacing 0.1; mass 0.1; stretch 9; at 0 3 0; pin 0 0; pin 1 0; pin 0 1; pin 1 1; end";

    fn recorded(count: usize) -> (Mechanism, Vec<Frame>) {
        let m = crate::scene::load(SCENE, &mut |_| Err(String::new())).0.unwrap().mechanism;
        let (mut s, mut w, mut meter) = (State::new(&m), Workspace::new(), Meter::default());
        let mut frames = Vec::new();
        for _ in 0..count {
            frames.push(Frame::new(&m, &s, meter.sample(&m, &s)));
            step(&m, &mut s, &mut w, &StepConfig::default());
        }
        (m, frames)
    }

    fn document(file: &[u8]) -> (Value, Vec<u8>) {
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        let json = word(12);
        (serde_json::from_slice(&file[20..20 + json]).unwrap(), file[28 + json..].to_vec())
    }

    fn numbers(d: &Value, bin: &[u8], accessor: &Value) -> Vec<f32> {
        let view = &d["bufferViews"]
            [d["accessors"][accessor.as_u64().unwrap() as usize]["bufferView"].as_u64().unwrap() as usize];
        let (start, length) =
            (view["byteOffset"].as_u64().unwrap() as usize, view["byteLength"].as_u64().unwrap() as usize);
        bin[start..start + length].chunks(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect()
    }

    /// The first corner and one in the middle go where the vertices went, in every frame.
    #[test]
    fn targets_are_the_frames() {
        let (m, frames) = recorded(20);
        let (file, cut) = animated_glb_told(&m, &frames, &[]);
        assert_eq!(cut, Vec::<String>::new());
        let (d, bin) = document(&file);
        let names: Vec<&str> =
            d["nodes"].as_array().unwrap().iter().map(|n| n["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["s", "r", "t", "still", "linkwork"], "no node for a vertex");
        let motion = &d["animations"][0];
        assert_eq!(motion["channels"].as_array().unwrap().len(), 3, "what stands still has no track");
        let sampler = &motion["samplers"][0];
        let weights = numbers(&d, &bin, &sampler["output"]);
        let times = numbers(&d, &bin, &sampler["input"]);
        assert_eq!((times.len(), weights.len()), (20, 20 * 19));
        let sheet = &d["meshes"][0]["primitives"][0];
        let rest = numbers(&d, &bin, &sheet["attributes"]["POSITION"]);
        assert_eq!((rest.len(), sheet["targets"].as_array().unwrap().len()), (60, 19));
        let soft = &m.softs()[0];
        for (k, frame) in frames.iter().enumerate() {
            let mut now = rest.clone();
            for (t, target) in sheet["targets"].as_array().unwrap().iter().enumerate() {
                let by = numbers(&d, &bin, &target["POSITION"]);
                now.iter_mut().zip(by).for_each(|(x, y)| *x += weights[19 * k + t] * y);
            }
            for v in 0..20 {
                let at = frame.poses[soft.vertex(v).index()].translation.to_array();
                for c in 0..3 {
                    assert!((f64::from(now[3 * v as usize + c]) - at[c]).abs() < 1e-6, "{k} {v}");
                }
            }
        }
        assert!(
            f64::from(rest[1]) - frames[19].poses[soft.vertex(19).index()].translation.y > 0.1,
            "it fell"
        );
        // A rope is a tube about its vertices.
        let tube = numbers(&d, &bin, &d["meshes"][1]["primitives"][0]["attributes"]["POSITION"]);
        assert_eq!(tube.len(), 3 * 8 * 6);
        assert!(d["meshes"][3]["primitives"][0].get("targets").is_none());
    }

    #[test]
    fn what_does_not_fit_is_thinned_and_told() {
        let (m, frames) = recorded(30);
        let figure = Figure::new(&m, &State::new(&m));
        let bake = |most: usize| {
            let mut scene = Scene::new(&figure);
            let draped = scene.drape(&m, &figure, &[]);
            let baked = scene.bake(&m, &figure, &draped, &frames, most);
            let targets = scene.meshes[0]["primitives"][0]["targets"].as_array().map_or(0, Vec::len);
            (targets, baked.cut.concat())
        };
        // 20 + 48 + 8 corners of 24 bytes.
        assert_eq!(bake(MOST_BYTES), (29, String::new()));
        let (targets, cut) = bake(10 * 76 * 24);
        assert_eq!(targets, 9);
        assert!(cut.contains("`s`, `r`, `t`: 10 of 30 frames"), "{cut}");
        let (targets, cut) = bake(100);
        assert_eq!(targets, 0);
        assert!(cut.contains("shown at rest"), "{cut}");
    }
}
