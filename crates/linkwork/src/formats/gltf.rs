//! Binary glTF 2.0: opens in any 3D viewer.
//!
//! One node per solid, named like it, at the pose of its origin; geometry is written once per distinct shape and a mesh
//! once per distinct set of shapes and colour. The poses live in the nodes alone, so that a baked animation is nothing
//! but translation and rotation tracks on the nodes (the i-th node is the i-th part of the figure; what skins need
//! follows, and the root comes last).

use super::figure::{Figure, Part, drawable};
use super::tessellate::{Detail, Triangles, tessellate};
use crate::math::{Pose, Rotation, Vector, rotation_between};
use crate::mechanism::Mechanism;
use crate::shape::{PlacedShape, Shape};
use crate::skin::{Bone, Surface};
use crate::state::State;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Shapes that would make the file larger than this many bytes are left out: lengths in a `.glb` have 32 bits.
const LARGEST: usize = 1 << 30;

// Numbers of the glTF specification.
const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

/// The mechanism in a state, as the bytes of a `.glb` file.
///
/// glTF is y-up in metres, like a scene; one whose gravity pulls along z is stood upright by its root node.
///
/// ```
/// use linkwork::{Mechanism, PlacedShape, Solid, State, Vector, formats::glb};
/// let mut m = Mechanism::new();
/// m.add_solid(Solid::new("bar").with_shape(PlacedShape::capsule(0.05, 1.0, Vector::X), 1.0))?;
/// let bytes = glb(&m, &State::new(&m));
/// assert_eq!(&bytes[..4], b"glTF");
/// # Ok::<(), linkwork::ModelError>(())
/// ```
pub fn glb(m: &Mechanism, s: &State) -> Vec<u8> {
    glb_with_skins(m, s, &[])
}

/// The same with skins over some of the solids (see [`Surface`]): meshes with joints and weights, moved by the
/// nodes of the solids and by one node per bone between them. Shapes beneath a skin are left out.
pub fn glb_with_skins(m: &Mechanism, s: &State, skins: &[Surface]) -> Vec<u8> {
    let figure = Figure::with_skins(m, s, skins);
    let mut scene = Scene::new(&figure);
    scene.wear(m, skins, |id| drawable(s.pose(m, id)));
    scene.drape(m, &figure, &[]);
    scene.write()
}

/// A glTF document being built: JSON values and the bytes they point into.
#[derive(Default)]
pub(super) struct Scene {
    pub(super) nodes: Vec<Value>,
    pub(super) meshes: Vec<Value>,
    materials: Vec<Value>,
    accessors: Vec<Value>,
    /// Skins of meshes, their nodes, and the nodes of bones, see `skinned.rs`.
    pub(super) skins: Vec<Value>,
    pub(super) skinned: Vec<usize>,
    pub(super) bones: Vec<(usize, Bone)>,
    /// The node of each solid that has one.
    pub(super) node_of: BTreeMap<u32, usize>,
    /// Turns what is up in the scene to what is up in glTF.
    upright: Option<Rotation>,
    views: Vec<Value>,
    /// Baked motions, see `animation.rs`.
    pub(super) animations: Vec<Value>,
    bytes: Vec<u8>,
    geometry: BTreeMap<Vec<u64>, Option<Geometry>>,
    mesh_of: BTreeMap<(Vec<Geometry>, usize), usize>,
    material_of: BTreeMap<[u64; 3], usize>,
}

/// Accessors of one shape.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Geometry {
    position: usize,
    normal: usize,
    indices: usize,
}

impl Geometry {
    fn primitive(&self, material: usize) -> Value {
        json!({
            "attributes": { "POSITION": self.position, "NORMAL": self.normal },
            "indices": self.indices,
            "material": material,
        })
    }
}

impl Scene {
    /// A node for each part of the figure, in order.
    pub(super) fn new(figure: &Figure) -> Self {
        let mut scene = Self::default();
        // Half the side of the square that stands for a plane: clearly wider than what stands on it.
        let plane = 3.0 * figure.radius;
        for part in &figure.parts {
            scene.add(part, plane);
        }
        scene.upright = (figure.up != Vector::Y).then(|| rotation_between(figure.up, Vector::Y));
        scene
    }

    fn add(&mut self, part: &Part, plane: f64) {
        let detail = if part.wire { Detail::COARSE } else { Detail::FINE };
        let seen = part.shapes.iter().zip(&part.covered).filter(|(_, covered)| !**covered);
        let geometry: Vec<Geometry> = seen.filter_map(|(s, _)| self.geometry(s, plane, detail)).collect();
        let mut node = node(&part.name, part.pose);
        if !part.wire {
            self.node_of.insert(part.solid.0, self.nodes.len());
        }
        if !geometry.is_empty() {
            let material = self.material(part.color);
            node["mesh"] = json!(self.mesh(geometry, material));
        }
        self.nodes.push(node);
    }

    fn mesh(&mut self, geometry: Vec<Geometry>, material: usize) -> usize {
        let primitives: Vec<Value> = geometry.iter().map(|g| g.primitive(material)).collect();
        let meshes = &mut self.meshes;
        *self.mesh_of.entry((geometry, material)).or_insert_with(|| {
            meshes.push(json!({ "primitives": primitives }));
            meshes.len() - 1
        })
    }

    pub(super) fn material(&mut self, color: [f64; 3]) -> usize {
        let materials = &mut self.materials;
        *self.material_of.entry(color.map(f64::to_bits)).or_insert_with(|| {
            let [r, g, b] = color.map(linear);
            materials.push(json!({
                "pbrMetallicRoughness": {
                    "baseColorFactor": [r, g, b, 1.0],
                    "metallicFactor": 0.05,
                    "roughnessFactor": 0.55,
                },
                "doubleSided": true,
            }));
            materials.len() - 1
        })
    }

    /// The accessors of a shape; shapes that are alike share them.
    fn geometry(&mut self, shape: &PlacedShape, plane: f64, detail: Detail) -> Option<Geometry> {
        let key = key(shape);
        if let Some(known) = self.geometry.get(&key) {
            return *known;
        }
        let t = tessellate(shape, plane, detail);
        let fits = self.bytes.len() + 24 * t.positions.len() + 4 * t.indices.len() < LARGEST;
        let made = (fits && !t.indices.is_empty()).then(|| self.store(&t));
        self.geometry.insert(key, made);
        made
    }

    /// Triangles of their own, in one colour.
    pub(super) fn primitive(&mut self, t: &Triangles, color: [f64; 3]) -> Value {
        let material = self.material(color);
        self.store(t).primitive(material)
    }

    fn store(&mut self, t: &Triangles) -> Geometry {
        let position = self.vectors(&t.positions, true);
        let normal = self.vectors(&t.normals, false);
        let bytes: Vec<u8> = t.indices.iter().flat_map(|i| i.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(ELEMENT_ARRAY_BUFFER));
        let indices = self.accessor(json!({
            "bufferView": view, "componentType": UNSIGNED_INT, "count": t.indices.len(), "type": "SCALAR",
        }));
        Geometry { position, normal, indices }
    }

    /// Stores vectors as 32-bit floats. Positions must tell their bounds, of the numbers as stored.
    pub(super) fn vectors(&mut self, vectors: &[Vector], bounds: bool) -> usize {
        let stored: Vec<[f32; 3]> = vectors.iter().map(|v| v.to_array().map(|x| x as f32)).collect();
        let bytes: Vec<u8> = stored.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(ARRAY_BUFFER));
        let mut accessor = json!({
            "bufferView": view, "componentType": FLOAT, "count": stored.len(), "type": "VEC3",
        });
        if bounds {
            let mut low = [f32::INFINITY; 3];
            let mut high = [f32::NEG_INFINITY; 3];
            for v in &stored {
                for k in 0..3 {
                    low[k] = low[k].min(v[k]);
                    high[k] = high[k].max(v[k]);
                }
            }
            accessor["min"] = json!(low.map(f64::from));
            accessor["max"] = json!(high.map(f64::from));
        }
        self.accessor(accessor)
    }

    /// Numbers of an animation, `width` of them per element; with their bounds if asked for.
    pub(super) fn track(&mut self, numbers: &[f32], width: usize, bounds: bool) -> usize {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let kind = match width {
            1 => "SCALAR",
            3 => "VEC3",
            16 => "MAT4",
            _ => "VEC4",
        };
        // No target: it is not for the graphics card.
        let view = self.view(&bytes, None);
        let mut accessor = json!({
            "bufferView": view, "componentType": FLOAT, "count": numbers.len() / width, "type": kind,
        });
        if bounds {
            let low = numbers.iter().copied().fold(f32::INFINITY, f32::min);
            let high = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            accessor["min"] = json!([f64::from(low)]);
            accessor["max"] = json!([f64::from(high)]);
        }
        self.accessor(accessor)
    }

    /// How many more bytes the file can take.
    pub(super) fn room(&self) -> usize {
        LARGEST.saturating_sub(self.bytes.len())
    }

    pub(super) fn accessor(&mut self, accessor: Value) -> usize {
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    /// A piece of the buffer. Every element has 4 bytes or a multiple, so pieces stay aligned by themselves.
    pub(super) fn view(&mut self, bytes: &[u8], target: Option<u32>) -> usize {
        let mut view = json!({ "buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len() });
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        self.views.push(view);
        self.bytes.extend_from_slice(bytes);
        self.views.len() - 1
    }

    /// The root behind all other nodes, and what stands in the scene: the root, and meshes with skins, which are
    /// where their bones are and have no place of their own.
    fn root(&mut self) -> Vec<usize> {
        let mut root = json!({ "name": "linkwork" });
        if let Some(turn) = self.upright {
            root["rotation"] = json!(turn.to_array());
        }
        let children: Vec<usize> = (0..self.nodes.len()).filter(|k| !self.skinned.contains(k)).collect();
        if !children.is_empty() {
            root["children"] = json!(children);
        }
        self.nodes.push(root);
        std::iter::once(self.nodes.len() - 1).chain(self.skinned.iter().copied()).collect()
    }

    /// Header, JSON chunk, binary chunk.
    pub(super) fn write(mut self) -> Vec<u8> {
        let roots = self.root();
        let mut document = json!({
            "asset": { "version": "2.0", "generator": concat!("linkwork ", env!("CARGO_PKG_VERSION")) },
            "scene": 0,
            "scenes": [{ "nodes": roots }],
            "nodes": self.nodes,
        });
        // The specification forbids empty arrays.
        for (name, values) in [
            ("meshes", self.meshes),
            ("materials", self.materials),
            ("accessors", self.accessors),
            ("bufferViews", self.views),
            ("skins", self.skins),
            ("animations", self.animations),
        ] {
            if !values.is_empty() {
                document[name] = Value::Array(values);
            }
        }
        if !self.bytes.is_empty() {
            document["buffers"] = json!([{ "byteLength": self.bytes.len() }]);
        }
        let mut text = document.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');

        let mut chunks: Vec<(&[u8; 4], &[u8])> = vec![(b"JSON", &text)];
        if !self.bytes.is_empty() {
            chunks.push((b"BIN\0", &self.bytes));
        }
        let length = 12 + chunks.iter().map(|(_, data)| 8 + data.len()).sum::<usize>();
        let mut out = Vec::with_capacity(length);
        out.extend_from_slice(b"glTF");
        out.extend_from_slice(&2_u32.to_le_bytes());
        out.extend_from_slice(&(length as u32).to_le_bytes());
        for (name, data) in chunks {
            out.extend_from_slice(&(data.len() as u32).to_le_bytes());
            out.extend_from_slice(name);
            out.extend_from_slice(data);
        }
        out
    }
}

/// A node at a pose.
pub(super) fn node(name: &str, pose: Pose) -> Value {
    json!({
        "name": name,
        "translation": pose.translation.to_array(),
        "rotation": pose.rotation.to_array(),
    })
}

/// Equal for shapes with equal geometry. Meshes are told apart by where they are stored: they are shared, not copied.
fn key(placed: &PlacedShape) -> Vec<u64> {
    let (kind, numbers) = match &placed.shape {
        Shape::Sphere(r) => (0, vec![*r]),
        Shape::Box(s) => (1, s.to_array().to_vec()),
        Shape::Cylinder { radius, length } => (2, vec![*radius, *length]),
        Shape::Capsule { radius, length } => (3, vec![*radius, *length]),
        Shape::Plane => (4, vec![]),
        Shape::Mesh(mesh) => (5 + std::sync::Arc::as_ptr(mesh) as usize as u64, vec![]),
    };
    let (t, q) = (placed.pose.translation.to_array(), placed.pose.rotation.to_array());
    std::iter::once(kind).chain(numbers.iter().chain(&t).chain(&q).map(|x| (x + 0.0).to_bits())).collect()
}

/// From screen (sRGB) to linear light, which is what glTF colours are in.
pub(super) fn linear(x: f64) -> f64 {
    if x <= 0.04045 { x / 12.92 } else { libm::pow((x + 0.055) / 1.055, 2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::{Frame, Joint};
    use crate::shape::Mesh;
    use crate::solid::{Solid, SolidId};
    use std::sync::Arc;

    /// One of every shape, two equal bars, a solid without shape and a plane.
    fn sample() -> Mechanism {
        let mut m = Mechanism::new();
        let bar = PlacedShape::capsule(0.05, 1.0, Vector::X);
        m.add_solid(Solid::new("bar \"1\"").with_shape(bar.clone(), 1.0)).unwrap();
        let mut second = Solid::new("bar-2").with_shape(bar, 1.0).at(0.0, 1.0, 0.0);
        second.color = Some([0.28, 0.47, 0.66]); // the palette's first colour, so that the mesh is shared
        m.add_solid(second).unwrap();
        let tetra = Mesh {
            name: "t".into(),
            vertices: vec![Vector::ZERO, Vector::X, Vector::Y, Vector::Z],
            triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
        };
        let body = Solid::new("body")
            .with_shape(PlacedShape::sphere(0.2), 1.0)
            .with_shape(PlacedShape::cuboid(1.0, 2.0, 3.0), 1.0)
            .with_shape(PlacedShape::cylinder(0.5, 0.1, Vector::Z), 1.0)
            .with_shape(PlacedShape::mesh(Arc::new(tetra)), 1.0);
        m.add_solid(body).unwrap();
        let bare = m.add_solid(Solid::new("bare")).unwrap();
        let mut floor = Solid::fixed("floor");
        floor.shapes.push(PlacedShape::plane(Vector::Y));
        m.add_solid(floor).unwrap();
        m.add_joint(Joint::ball(
            Frame::point(SolidId::WORLD, Vector::X),
            Frame::point(bare, Vector::new(0.5, 0.0, 0.0)),
        ))
        .unwrap();
        m
    }

    fn word(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }

    /// Reads a file back: the JSON document and the binary chunk, checking every length on the way.
    fn read(file: &[u8]) -> (Value, &[u8]) {
        assert_eq!(&file[..4], b"glTF");
        assert_eq!((word(file, 4), word(file, 8)), (2, file.len()));
        let json_length = word(file, 12);
        assert_eq!((&file[16..20], json_length % 4), (&b"JSON"[..], 0));
        let document = serde_json::from_slice(&file[20..20 + json_length]).unwrap();
        let rest = &file[20 + json_length..];
        if rest.is_empty() {
            return (document, rest);
        }
        assert_eq!((&rest[4..8], word(rest, 0)), (&b"BIN\0"[..], rest.len() - 8));
        (document, &rest[8..])
    }

    fn at(v: &Value, path: &str) -> usize {
        v[path].as_u64().unwrap_or_else(|| panic!("{path} in {v}")) as usize
    }

    #[test]
    fn the_bytes_read_back() {
        let m = sample();
        let file = glb(&m, &State::new(&m));
        let (d, bin) = read(&file);
        assert_eq!(at(&d["buffers"][0], "byteLength"), bin.len());
        let names: Vec<&str> =
            d["nodes"].as_array().unwrap().iter().map(|n| n["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["bar \"1\"", "bar-2", "body", "bare", "floor", "linkwork"]);
        assert_eq!(d["nodes"][0]["mesh"], d["nodes"][1]["mesh"], "equal bars share a mesh");
        assert_eq!(d["nodes"][1]["translation"][1], 1.0);
        let floats = |accessor: &Value| -> Vec<f32> {
            let view = &d["bufferViews"][at(accessor, "bufferView")];
            let (start, length) = (at(view, "byteOffset"), at(view, "byteLength"));
            assert_eq!(length, 12 * at(accessor, "count"));
            let word = |c: &[u8]| f32::from_le_bytes(c.try_into().unwrap());
            bin[start..start + length].chunks(4).map(word).collect()
        };
        let mut primitives = 0;
        for p in d["meshes"].as_array().unwrap().iter().flat_map(|m| m["primitives"].as_array().unwrap()) {
            primitives += 1;
            let position = &d["accessors"][at(&p["attributes"], "POSITION")];
            let points = floats(position);
            for k in 0..3 {
                let axis = points.iter().skip(k).step_by(3).copied();
                let low = axis.clone().fold(f32::INFINITY, f32::min);
                let high = axis.fold(f32::NEG_INFINITY, f32::max);
                assert_eq!(position["min"][k].as_f64().unwrap() as f32, low);
                assert_eq!(position["max"][k].as_f64().unwrap() as f32, high);
            }
            for n in floats(&d["accessors"][at(&p["attributes"], "NORMAL")]).chunks(3) {
                assert!((n.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
            }
            let indices = &d["accessors"][at(p, "indices")];
            let view = &d["bufferViews"][at(indices, "bufferView")];
            assert_eq!(at(view, "byteLength"), 4 * at(indices, "count"));
            for i in 0..at(indices, "count") {
                assert!(word(bin, at(view, "byteOffset") + 4 * i) < at(position, "count"));
            }
        }
        assert_eq!(primitives, 1 + 4 + 2 + 1, "bars, body, ball and rod of the bare solid, floor");
    }

    #[test]
    fn nothing_to_draw_and_broken_numbers_still_make_a_file() {
        let empty = Mechanism::new();
        let (d, bin) = read_owned(glb(&empty, &State::new(&empty)));
        assert!(d.get("meshes").is_none() && bin.is_empty());
        let m = sample();
        let mut s = State::new(&m);
        s.centers[1].x = f64::NAN;
        s.rotations[2].w = f64::INFINITY;
        let (d, _) = read_owned(glb(&m, &s));
        assert_eq!(d["nodes"][0]["translation"][0], 0.0);
        assert_eq!(d["nodes"][1]["rotation"][3], 1.0);
    }

    fn read_owned(file: Vec<u8>) -> (Value, Vec<u8>) {
        let (d, bin) = read(&file);
        (d, bin.to_vec())
    }

    #[test]
    fn a_z_up_scene_is_stood_upright() {
        let mut m = sample();
        m.gravity = Vector::new(0.0, 0.0, -9.81);
        let (d, _) = read_owned(glb(&m, &State::new(&m)));
        let root = d["nodes"].as_array().unwrap().last().unwrap();
        assert!((root["rotation"][0].as_f64().unwrap() + std::f64::consts::FRAC_1_SQRT_2).abs() < 1e-12);
    }
}
