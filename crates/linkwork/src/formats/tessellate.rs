//! Shapes as triangles with normals, in the solid's frame.

use crate::math::{Vector, trig};
use crate::shape::{PlacedShape, Shape};
use std::f64::consts::PI;

/// Triangles, counter-clockwise seen from outside, one normal per corner.
#[derive(Default)]
pub(crate) struct Triangles {
    pub positions: Vec<Vector>,
    pub normals: Vec<Vector>,
    pub indices: Vec<u32>,
}

/// How many facets a round surface gets.
#[derive(Clone, Copy)]
pub(crate) struct Detail {
    /// Around a surface of revolution.
    around: usize,
    /// From pole to equator of a ball.
    to_equator: usize,
}

impl Detail {
    /// Looks round.
    pub const FINE: Detail = Detail { around: 28, to_equator: 7 };
    /// For the many short pieces of a wire.
    pub const COARSE: Detail = Detail { around: 8, to_equator: 2 };
}

/// The shape's surface. `plane` is the half side of the square that stands for an endless plane.
pub(crate) fn tessellate(placed: &PlacedShape, plane: f64, detail: Detail) -> Triangles {
    let mut t = match &placed.shape {
        Shape::Sphere(r) => capsule(*r, 0.0, detail),
        Shape::Capsule { radius, length } => capsule(*radius, *length, detail),
        Shape::Cylinder { radius, length } => cylinder(*radius, *length, detail),
        Shape::Box(size) => cuboid(*size * 0.5),
        Shape::Plane => {
            let mut t = Triangles::default();
            t.quad(Vector::X, Vector::ZERO, Vector::Y * plane, Vector::Z * plane);
            t
        }
        Shape::Mesh(mesh) => flat(&mesh.vertices, &mesh.triangles),
    };
    t.positions.iter_mut().for_each(|p| *p = placed.pose.transform_point(*p));
    t.normals.iter_mut().for_each(|n| *n = placed.pose.rotation * *n);
    t
}

impl Triangles {
    /// The parallelogram about `c` with half sides `u` and `v` and normal `n` along `u x v`.
    fn quad(&mut self, n: Vector, c: Vector, u: Vector, v: Vector) {
        let first = self.positions.len() as u32;
        self.positions.extend([c - u - v, c + u - v, c + u + v, c - u + v]);
        self.normals.extend([n; 4]);
        self.indices.extend([0, 1, 2, 0, 2, 3].map(|i| first + i));
    }
}

/// A point of a profile to be turned about `x`: position along the axis, radius, and the normal in that plane.
struct ProfilePoint {
    x: f64,
    r: f64,
    normal: (f64, f64),
}

/// The surface of revolution about `x`. The profile runs towards `+x`; two points at one place make a sharp edge.
fn lathe(profile: &[ProfilePoint], around: usize) -> Triangles {
    let mut t = Triangles::default();
    for p in profile {
        for k in 0..=around {
            let a = 2.0 * PI * (k % around) as f64 / around as f64;
            let (c, s) = (trig::cos(a), trig::sin(a));
            t.positions.push(Vector::new(p.x, p.r * c, p.r * s));
            t.normals.push(Vector::new(p.normal.0, p.normal.1 * c, p.normal.1 * s));
        }
    }
    let ring = around as u32 + 1;
    for (i, pair) in profile.windows(2).enumerate() {
        if pair[0].x == pair[1].x && pair[0].r == pair[1].r {
            continue;
        }
        for k in 0..around as u32 {
            let (a, b) = (i as u32 * ring + k, (i as u32 + 1) * ring + k);
            // At a pole one side of the quad has no length, and neither has its triangle an area.
            if pair[0].r > 0.0 {
                t.indices.extend([a, a + 1, b]);
            }
            if pair[1].r > 0.0 {
                t.indices.extend([a + 1, b + 1, b]);
            }
        }
    }
    t
}

fn capsule(radius: f64, length: f64, detail: Detail) -> Triangles {
    let steps = 2 * detail.to_equator;
    let mut profile = Vec::with_capacity(steps + 2);
    for i in 0..=steps {
        let a = PI * i as f64 / steps as f64;
        let (x, r) = (-trig::cos(a), if i == 0 || i == steps { 0.0 } else { trig::sin(a) });
        let mut point = |shift: f64| {
            profile.push(ProfilePoint { x: radius * x + shift, r: radius * r, normal: (x, r) });
        };
        if i <= detail.to_equator {
            point(-0.5 * length);
        }
        if i >= detail.to_equator {
            point(0.5 * length);
        }
    }
    lathe(&profile, detail.around)
}

fn cylinder(radius: f64, length: f64, detail: Detail) -> Triangles {
    let point = |x: f64, r: f64, normal| ProfilePoint { x: x * length, r: r * radius, normal };
    let profile = [
        point(-0.5, 0.0, (-1.0, 0.0)),
        point(-0.5, 1.0, (-1.0, 0.0)),
        point(-0.5, 1.0, (0.0, 1.0)),
        point(0.5, 1.0, (0.0, 1.0)),
        point(0.5, 1.0, (1.0, 0.0)),
        point(0.5, 0.0, (1.0, 0.0)),
    ];
    lathe(&profile, detail.around)
}

fn cuboid(half: Vector) -> Triangles {
    let mut t = Triangles::default();
    let (x, y, z) = (Vector::X * half.x, Vector::Y * half.y, Vector::Z * half.z);
    for (n, u, v) in [(x, y, z), (y, z, x), (z, x, y)] {
        let unit = n.normalize_or_zero();
        t.quad(unit, n, u, v);
        t.quad(-unit, -n, v, u);
    }
    t
}

/// Every triangle with its own corners, so that edges stay sharp; triangles without area are left out.
fn flat(vertices: &[Vector], triangles: &[[u32; 3]]) -> Triangles {
    let mut t = Triangles::default();
    for corners in triangles {
        let Some([a, b, c]) = corner_points(vertices, *corners) else { continue };
        let Some(n) = crate::math::unit((b - a).normalize_or_zero().cross((c - a).normalize_or_zero()))
        else {
            continue;
        };
        let first = t.positions.len() as u32;
        t.positions.extend([a, b, c]);
        t.normals.extend([n; 3]);
        t.indices.extend([first, first + 1, first + 2]);
    }
    t
}

/// The three corners; `None` when an index names no vertex.
fn corner_points(vertices: &[Vector], [a, b, c]: [u32; 3]) -> Option<[Vector; 3]> {
    Some([*vertices.get(a as usize)?, *vertices.get(b as usize)?, *vertices.get(c as usize)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Mesh;
    use std::sync::Arc;

    #[test]
    fn faces_look_outward_and_enclose_the_volume() {
        let tetra = Mesh {
            name: "t".into(),
            vertices: vec![Vector::ZERO, Vector::X, Vector::Y, Vector::Z],
            triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3], [1, 1, 2], [0, 1, 9]],
        };
        let shapes = [
            (PlacedShape::sphere(0.5), PI / 6.0),
            (PlacedShape::capsule(0.5, 1.0, Vector::Y), PI / 6.0 + PI / 4.0),
            (PlacedShape::cylinder(0.5, 2.0, Vector::Z), PI / 2.0),
            (PlacedShape::cuboid(1.0, 2.0, 3.0), 6.0),
            (PlacedShape::mesh(Arc::new(tetra)), 1.0 / 6.0),
        ];
        for (shape, volume) in shapes {
            let t = tessellate(&shape, 1.0, Detail::FINE);
            let mut sum = 0.0;
            for f in t.indices.chunks(3) {
                let [a, b, c] = [0, 1, 2].map(|k| t.positions[f[k] as usize]);
                let face = (b - a).cross(c - a);
                assert!(face.length() > 0.0, "{shape:?}");
                for k in f {
                    assert!(t.normals[*k as usize].dot(face.normalize()) > 0.5, "{shape:?}");
                }
                sum += a.dot(b.cross(c)) / 6.0;
            }
            assert!((sum - volume).abs() < 0.03 * volume, "{shape:?}: {sum} instead of {volume}");
        }
    }
}
