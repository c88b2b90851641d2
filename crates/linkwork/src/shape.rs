//! Shapes of solids: what mass properties, drawings and contacts are computed from.

use crate::math::{Matrix, Pose, Rotation, Vector, rotation_between, unit};
use crate::solid::MassProperties;
use parry3d_f64::shape::{Ball, Capsule, Cuboid, Cylinder, HalfSpace, Shape as ParryShape, TriMesh};
use std::collections::BTreeMap;
use std::sync::Arc;

mod plate;
pub use plate::MOST_CORNERS;

/// A shape in its own frame. Cylinders and capsules lie along their local `x`, planes have their normal along `x`;
/// [`PlacedShape`] turns them.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Radius.
    Sphere(f64),
    /// Full edge lengths.
    Box(Vector),
    /// Radius and length, along `x`, centred.
    Cylinder {
        /// Radius of the round face.
        radius: f64,
        /// Distance between the two faces.
        length: f64,
    },
    /// Radius, and length between the centres of the two caps, along `x`, centred.
    Capsule {
        /// Radius of the caps.
        radius: f64,
        /// Distance between the cap centres.
        length: f64,
    },
    /// Everything below the plane through the origin with normal `x`. Has no mass.
    Plane,
    /// A closed triangle mesh, shared between solids.
    Mesh(Arc<Mesh>),
}

/// Triangles with outward normals.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// The name the scene used, for writing the scene back.
    pub name: String,
    /// Corner positions.
    pub vertices: Vec<Vector>,
    /// Corner indices, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

impl Mesh {
    /// Says what keeps the mesh from enclosing a volume: an edge that has not exactly one triangle on each side, or
    /// normals that point inwards. A flat mesh is not hollow, it is nothing: see the lint about volumes.
    pub(crate) fn hollow(&self) -> Option<String> {
        // Edges by position, since files often repeat a vertex for every face.
        let mut places = BTreeMap::new();
        let bits = |v: &Vector| v.to_array().map(|x| (x + 0.0).to_bits());
        let name: Vec<u32> = self
            .vertices
            .iter()
            .map(|v| {
                let next = places.len() as u32;
                *places.entry(bits(v)).or_insert(next)
            })
            .collect();
        let mut sides: BTreeMap<(u32, u32), [u32; 2]> = BTreeMap::new();
        let mut volume = 0.0;
        for t in &self.triangles {
            let [a, b, c] = t.map(|i| self.vertices[i as usize]);
            volume += a.dot(b.cross(c));
            for (i, j) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
                let (i, j) = (name[i as usize], name[j as usize]);
                sides.entry((i.min(j), i.max(j))).or_default()[usize::from(i > j)] += 1;
            }
        }
        let open = sides.values().filter(|s| s[0] != s[1]).count();
        if open > 0 {
            let edges = if open == 1 { "edge has" } else { "edges have" };
            return Some(format!(
                "the mesh `{}` is not closed: {open} {edges} a triangle on one side only",
                self.name
            ));
        }
        (volume < 0.0)
            .then(|| format!("the mesh `{}` is inside out: its faces turn the wrong way round", self.name))
    }
}

/// A shape and where it sits in its solid.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedShape {
    /// The shape itself.
    pub shape: Shape,
    /// From the shape's frame to the solid's frame.
    pub pose: Pose,
}

impl PlacedShape {
    /// A sphere about the solid's origin.
    pub fn sphere(radius: f64) -> Self {
        Self { shape: Shape::Sphere(radius), pose: Pose::IDENTITY }
    }
    /// A box about the solid's origin; full sizes.
    pub fn cuboid(x: f64, y: f64, z: f64) -> Self {
        Self { shape: Shape::Box(Vector::new(x, y, z)), pose: Pose::IDENTITY }
    }
    /// A cylinder about the solid's origin.
    pub fn cylinder(radius: f64, length: f64, axis: Vector) -> Self {
        Self { shape: Shape::Cylinder { radius, length }, pose: along(axis) }
    }
    /// A capsule about the solid's origin; `length` is between the cap centres.
    pub fn capsule(radius: f64, length: f64, axis: Vector) -> Self {
        Self { shape: Shape::Capsule { radius, length }, pose: along(axis) }
    }
    /// A capsule whose cap centres are `from` and `to`.
    pub fn capsule_between(radius: f64, from: Vector, to: Vector) -> Self {
        let mut placed = Self::capsule(radius, (to - from).length(), to - from);
        placed.pose.translation = (from + to) * 0.5;
        placed
    }
    /// The half space below the plane through the solid's origin with this normal.
    pub fn plane(normal: Vector) -> Self {
        Self { shape: Shape::Plane, pose: along(normal) }
    }
    /// A triangle mesh.
    pub fn mesh(mesh: Arc<Mesh>) -> Self {
        Self { shape: Shape::Mesh(mesh), pose: Pose::IDENTITY }
    }
    /// The same shape moved by `pose` (applied after its own placement).
    pub fn moved(mut self, pose: Pose) -> Self {
        self.pose = pose * self.pose;
        self
    }

    /// Mass, centre and inertia at a density, in the solid's frame. Planes have none.
    pub fn mass_properties(&self, density: f64) -> MassProperties {
        if matches!(self.shape, Shape::Plane) {
            return MassProperties::default();
        }
        let p = match self.collider() {
            Ok(shape) => shape.mass_properties(density),
            Err(_) => return MassProperties::default(),
        };
        // Cylinders and capsules of parry lie along y; `collider_pose` accounts for it.
        let pose = self.pose * self.collider_turn();
        let r = Matrix::from_quat(pose.rotation);
        MassProperties {
            mass: p.mass(),
            center: pose.transform_point(p.local_com),
            inertia: r * p.reconstruct_inertia_matrix() * r.transpose(),
        }
    }

    /// The rotation from parry's convention (cylinder, capsule and half-space along y) to ours (along x).
    pub fn collider_turn(&self) -> Pose {
        match self.shape {
            Shape::Cylinder { .. } | Shape::Capsule { .. } | Shape::Plane => {
                Pose::from_rotation(rotation_between(Vector::Y, Vector::X))
            }
            _ => Pose::IDENTITY,
        }
    }

    /// The parry shape, in parry's own axes (see [`Self::collider_turn`]). Fails for broken meshes.
    pub fn collider(&self) -> Result<Box<dyn ParryShape>, String> {
        Ok(match &self.shape {
            Shape::Sphere(r) => Box::new(Ball::new(*r)),
            Shape::Box(s) => Box::new(Cuboid::new(*s * 0.5)),
            Shape::Cylinder { radius, length } => Box::new(Cylinder::new(length * 0.5, *radius)),
            Shape::Capsule { radius, length } => Box::new(Capsule::new_y(length * 0.5, *radius)),
            Shape::Plane => Box::new(HalfSpace::new(Vector::Y)),
            Shape::Mesh(m) => Box::new(
                TriMesh::new(m.vertices.clone(), m.triangles.clone())
                    .map_err(|e| format!("broken mesh: {e}"))?,
            ),
        })
    }

    /// Why no mass can be computed from the shape: a mesh that does not enclose a volume, or is inside out.
    pub fn hollow(&self) -> Option<String> {
        match &self.shape {
            Shape::Mesh(m) => m.hollow(),
            _ => None,
        }
    }

    /// A radius about the shape's own centre that encloses it; planes count as a point.
    pub fn extent(&self) -> f64 {
        match &self.shape {
            Shape::Sphere(r) => *r,
            Shape::Box(s) => s.length() * 0.5,
            Shape::Cylinder { radius, length } => (radius * radius + length * length * 0.25).sqrt(),
            Shape::Capsule { radius, length } => radius + length * 0.5,
            Shape::Plane => 0.0,
            Shape::Mesh(m) => m.vertices.iter().map(|v| v.length()).fold(0.0, f64::max),
        }
    }
}

/// The pose that turns `x` to the axis; a zero axis leaves it alone (callers check axes before).
fn along(axis: Vector) -> Pose {
    Pose::from_rotation(unit(axis).map_or(Rotation::IDENTITY, |a| rotation_between(Vector::X, a)))
}

/// Reads a Wavefront `.obj`: `v` and `f` lines (polygons are fanned, `v/vt/vn` and negative indices allowed), every
/// other line ignored. Errors name the line.
pub fn read_obj(name: &str, text: &[u8]) -> Result<Mesh, String> {
    const MOST: usize = 20_000_000;
    let text = std::str::from_utf8(text).map_err(|_| format!("{name}: not a text file"))?;
    let (mut vertices, mut triangles) = (Vec::new(), Vec::new());
    for (n, line) in text.lines().enumerate() {
        let fail = |what: &str| format!("{name}:{}: {what}", n + 1);
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let mut p = [0.0; 3];
                for c in &mut p {
                    *c = words
                        .next()
                        .and_then(|w| w.parse::<f64>().ok())
                        .filter(|x| x.is_finite())
                        .ok_or_else(|| fail("a vertex needs three finite numbers"))?;
                }
                vertices.push(Vector::from_array(p));
            }
            Some("f") => {
                let mut corners = Vec::new();
                for w in words {
                    let i: i64 = w
                        .split('/')
                        .next()
                        .and_then(|w| w.parse().ok())
                        .ok_or_else(|| fail("a face corner is not a number"))?;
                    let index = if i < 0 { vertices.len() as i64 + i } else { i - 1 };
                    if index < 0 || index >= vertices.len() as i64 {
                        return Err(fail(&format!("face corner {i} names no vertex")));
                    }
                    corners.push(index as u32);
                }
                if corners.len() < 3 {
                    return Err(fail("a face needs three corners"));
                }
                for k in 1..corners.len() - 1 {
                    triangles.push([corners[0], corners[k], corners[k + 1]]);
                }
            }
            _ => {}
        }
        if vertices.len() > MOST || triangles.len() > MOST {
            return Err(fail("more than 20 million vertices or triangles"));
        }
    }
    if triangles.is_empty() {
        return Err(format!("{name}: no faces"));
    }
    Ok(Mesh { name: name.to_owned(), vertices, triangles })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{a} {b}");
    }

    #[test]
    fn closed_forms_of_mass_and_inertia() {
        let s = PlacedShape::sphere(0.5).mass_properties(2.0);
        close(s.mass, 2.0 * 4.0 / 3.0 * PI * 0.125);
        close(s.inertia.x_axis.x, 0.4 * s.mass * 0.25);
        let b = PlacedShape::cuboid(1.0, 2.0, 3.0).mass_properties(1.0);
        close(b.inertia.x_axis.x, 6.0 * (4.0 + 9.0) / 12.0);
        let c = PlacedShape::cylinder(0.5, 0.1, Vector::X).mass_properties(1.0);
        close(c.mass, PI * 0.25 * 0.1);
        close(c.inertia.x_axis.x, 0.5 * c.mass * 0.25);
        close(c.inertia.y_axis.y, c.mass * (3.0 * 0.25 + 0.01) / 12.0);
        let k = PlacedShape::capsule_between(0.1, Vector::new(0.0, 0.0, 1.0), Vector::new(0.0, 0.0, 3.0))
            .mass_properties(1.0);
        close(k.mass, PI * 0.01 * 2.0 + 4.0 / 3.0 * PI * 0.001);
        close(k.center.z, 2.0);
        assert!(k.inertia.z_axis.z < k.inertia.x_axis.x);
    }

    #[test]
    fn a_mesh_cube_weighs_what_the_box_weighs() {
        let mut obj = String::new();
        for i in 0..8 {
            obj += &format!("v {} {} {}\n", i & 1, (i >> 1) & 1, (i >> 2) & 1);
        }
        obj += "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n";
        let mesh = read_obj("cube.obj", obj.as_bytes()).unwrap();
        let m = PlacedShape::mesh(Arc::new(mesh)).mass_properties(3.0);
        close(m.mass, 3.0);
        close(m.center.x, 0.5);
        close(m.inertia.x_axis.x, 3.0 * 2.0 / 12.0);
        let open = obj.replace("f 2 4 8 6\n", "");
        let hollow = |text: &str| read_obj("cube.obj", text.as_bytes()).unwrap().hollow();
        assert_eq!(hollow(&obj), None);
        assert!(hollow(&open).unwrap().contains("4 edges"));
        let inside_out = obj.replace(
            "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n",
            "f 2 4 3 1\nf 7 8 6 5\nf 5 6 2 1\nf 4 8 7 3\nf 3 7 5 1\nf 6 8 4 2\n",
        );
        assert!(hollow(&inside_out).unwrap().contains("inside out"));
        assert!(read_obj("x", b"f 1 2 3\n").unwrap_err().contains("x:1"));
        assert!(read_obj("x", &[0xff, 0xfe]).is_err());
        assert!(read_obj("x", b"v 1 nan 2\n").is_err());
    }
}
