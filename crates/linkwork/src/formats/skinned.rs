//! Skins in binary glTF: a mesh with joints and weights, and a node for every bone that is not a solid.
//!
//! Solids are joints by their own nodes, so that their tracks move the skin, too. Bones between two solids have no
//! counterpart in glTF, where a node hangs on one other node at most; they are nodes of their own with tracks of their own.

use super::figure::{color, drawable};
use super::gltf::{Scene, linear, node};
use crate::math::Pose;
use crate::mechanism::Mechanism;
use crate::skin::{Bone, Surface};
use crate::solid::SolidId;
use serde_json::json;

// Numbers of the glTF specification.
const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
const UNSIGNED_SHORT: u32 = 5123;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

impl Scene {
    /// Adds skins to the solids' nodes, which are there already. Those for which the file has no room are left out.
    pub(super) fn wear(&mut self, m: &Mechanism, skins: &[Surface], pose: impl Fn(SolidId) -> Pose) {
        for skin in skins {
            // Four vectors of four and of three numbers, at most, a corner; a matrix a bone.
            let bytes = 60 * skin.positions.len() + 12 * skin.triangles.len() + 64 * skin.bones.len();
            if bytes < self.room() {
                self.wear_one(m, skin, &pose);
            }
        }
    }

    fn wear_one(&mut self, m: &Mechanism, skin: &Surface, pose: &impl Fn(SolidId) -> Pose) {
        let name = if skin.name.is_empty() { "skin" } else { &skin.name };
        let joints: Vec<usize> =
            skin.bones.iter().enumerate().map(|(k, b)| self.bone(m, name, k, b, pose)).collect();
        let matrices: Vec<f32> = skin.bones.iter().flat_map(|b| matrix(b.rest.inverse())).collect();
        let inverse = self.track(&matrices, 16, false);
        let mesh = self.skin_mesh(m, name, skin);
        self.skinned.push(self.nodes.len());
        self.nodes.push(json!({ "name": name, "mesh": mesh, "skin": self.skins.len() }));
        self.skins.push(json!({ "name": name, "joints": joints, "inverseBindMatrices": inverse }));
    }

    /// The node of a bone. A solid that is not drawn gets one here.
    fn bone(
        &mut self,
        m: &Mechanism,
        name: &str,
        number: usize,
        bone: &Bone,
        pose: &impl Fn(SolidId) -> Pose,
    ) -> usize {
        let solid = bone.solids[0];
        if let Some(known) = self.node_of.get(&solid.0).filter(|_| bone.is_solid()) {
            return *known;
        }
        let name =
            if bone.is_solid() { m.solid(solid).name.clone() } else { format!("{name} bone {number}") };
        let made = self.nodes.len();
        self.nodes.push(node(&name, drawable(bone.pose(pose))));
        self.bones.push((made, *bone));
        if bone.is_solid() {
            self.node_of.insert(solid.0, made);
        }
        made
    }

    fn skin_mesh(&mut self, m: &Mechanism, name: &str, skin: &Surface) -> usize {
        let rings = || (0..skin.positions.len()).map(|k| &skin.rings[skin.ring_of(k)]);
        let position = self.vectors(&skin.positions, true);
        let normal = self.vectors(&skin.normals, false);
        let joints: Vec<u8> = rings().flat_map(|r| r.bones).flat_map(u16::to_le_bytes).collect();
        let weights: Vec<u8> = rings().flat_map(|r| unit_sum(r.weights)).flat_map(f32::to_le_bytes).collect();
        let mut vertex = |bytes: &[u8], number: u32, kind: &str| {
            let view = self.view(bytes, Some(ARRAY_BUFFER));
            let count = skin.positions.len();
            self.accessor(
                json!({ "bufferView": view, "componentType": number, "count": count, "type": kind }),
            )
        };
        let joints = vertex(&joints, UNSIGNED_SHORT, "VEC4");
        let weights = vertex(&weights, FLOAT, "VEC4");
        let mut attributes = json!({
            "POSITION": position, "NORMAL": normal, "JOINTS_0": joints, "WEIGHTS_0": weights,
        });
        if skin.color.is_none() {
            let of_solid = |id: SolidId| color(m, id).map(linear);
            let colors: Vec<u8> = rings()
                .flat_map(|r| skin.ring_color(r, of_solid).map(|x| x as f32))
                .flat_map(f32::to_le_bytes)
                .collect();
            attributes["COLOR_0"] = json!(vertex(&colors, FLOAT, "VEC3"));
        }
        let bytes: Vec<u8> = skin.triangles.iter().flatten().flat_map(|i| i.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(ELEMENT_ARRAY_BUFFER));
        let count = 3 * skin.triangles.len();
        let indices = self.accessor(json!({
            "bufferView": view, "componentType": UNSIGNED_INT, "count": count, "type": "SCALAR",
        }));
        // Colours of corners are multiplied with the material's.
        let material = self.material(skin.color.unwrap_or([1.0; 3]));
        let primitive = json!({ "attributes": attributes, "indices": indices, "material": material });
        self.meshes.push(json!({ "name": name, "primitives": [primitive] }));
        self.meshes.len() - 1
    }
}

/// Weights as 32-bit numbers that still add up to one.
fn unit_sum(weights: [f64; 4]) -> [f32; 4] {
    let mut stored = weights.map(|w| w as f32);
    let rest: f32 = stored[1..].iter().sum();
    stored[0] = 1.0 - rest;
    stored
}

/// Column by column.
fn matrix(p: Pose) -> [f32; 16] {
    let column = |v: crate::math::Vector, w: f64| [v.x as f32, v.y as f32, v.z as f32, w as f32];
    let axes = [crate::math::Vector::X, crate::math::Vector::Y, crate::math::Vector::Z];
    let [x, y, z] = axes.map(|v| column(p.rotation * v, 0.0));
    let t = column(p.translation, 1.0);
    let mut all = [0.0; 16];
    for (k, c) in [x, y, z, t].into_iter().enumerate() {
        all[4 * k..4 * k + 4].copy_from_slice(&c);
    }
    all
}
