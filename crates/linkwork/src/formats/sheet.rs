//! Soft bodies in pictures: their surface as triangles, in any state, and as shapes for drawings.
//!
//! Cloth is its middle layer, a soft solid its outer faces, a rope a tube. Corners keep their numbers from state to state, so
//! that a motion is a list of corners.

use super::figure::{Part, SoftPart};
use super::tessellate::Triangles;
use crate::math::{Pose, Vector, trig, unit};
use crate::shape::{Mesh, PlacedShape};
use crate::soft::{self, SoftMesh, Springs};
use std::f64::consts::TAU;
use std::sync::Arc;

/// Corners around a rope.
const AROUND: u32 = 8;

/// Draws one soft body in one state after the other.
pub(super) struct Sheet<'a> {
    mesh: &'a SoftMesh,
    radius: f64,
    /// Triangles that tear on the way: they have corners of their own, which fall into one when they do.
    lost: Vec<[u32; 3]>,
    /// Where a rope's rings begin: the same as in the state before, as near as may be, so that nothing twists between two.
    start: Vector,
}

impl<'a> Sheet<'a> {
    pub fn new(mesh: &'a SoftMesh, radius: f64) -> Self {
        Self { mesh, radius, lost: Vec::new(), start: Vector::new(0.48, 0.6, 0.64) }
    }

    /// These triangles of the body tear on the way.
    pub fn losing(self, lost: &[[u32; 3]]) -> Self {
        Self { lost: lost.to_vec(), ..self }
    }

    /// How many corners it has.
    pub fn corners(&self) -> usize {
        self.mesh.masses.len() * if self.is_rope() { AROUND as usize } else { 1 } + 3 * self.lost.len()
    }

    fn is_rope(&self) -> bool {
        self.mesh.is_rope()
    }

    /// Corners and normals for vertices at these places.
    pub fn surface(&mut self, places: &[Vector]) -> (Vec<Vector>, Vec<Vector>) {
        self.surface_without(places, |_| false)
    }

    /// The same, when some of what tears is gone.
    pub fn surface_without(
        &mut self,
        places: &[Vector],
        is_gone: impl Fn(&[u32; 3]) -> bool,
    ) -> (Vec<Vector>, Vec<Vector>) {
        if self.is_rope() {
            return self.tube(places);
        }
        let mut normals = vec![Vector::ZERO; places.len()];
        for t in self.mesh.triangles.iter().filter(|t| !is_gone(t)) {
            let [a, b, c] = t.map(|v| places[v as usize]);
            // As long as twice the area: small triangles count for little.
            let normal = (b - a).cross(c - a);
            t.iter().for_each(|v| normals[*v as usize] += normal);
        }
        normals.iter_mut().for_each(|n| *n = unit(*n).unwrap_or(Vector::Y));
        let mut corners = places.to_vec();
        for t in &self.lost {
            let at = if is_gone(t) { [t[0]; 3] } else { *t };
            corners.extend(at.map(|v| places[v as usize]));
            normals.extend(at.map(|v| normals[v as usize]));
        }
        (corners, normals)
    }

    /// Rings about the line, each turned as little as possible against the one before.
    fn tube(&mut self, places: &[Vector]) -> (Vec<Vector>, Vec<Vector>) {
        let (mut corners, mut normals) = (Vec::new(), Vec::new());
        let last = places.len().saturating_sub(1);
        let mut across = self.start;
        for (i, at) in places.iter().enumerate() {
            let way = places[(i + 1).min(last)] - places[i.saturating_sub(1)];
            let along = unit(way).unwrap_or(Vector::X);
            let square = |v: Vector| unit(v - along * along.dot(v));
            across = square(across)
                .or_else(|| square(Vector::Y))
                .or_else(|| square(Vector::X))
                .unwrap_or(Vector::Z);
            if i == 0 {
                self.start = across;
            }
            let third = along.cross(across);
            for k in 0..AROUND {
                let angle = TAU * f64::from(k) / f64::from(AROUND);
                let out = across * trig::cos(angle) + third * trig::sin(angle);
                corners.push(*at + out * self.radius);
                normals.push(out);
            }
        }
        (corners, normals)
    }

    /// The triangles between the corners.
    pub fn faces(&self) -> Vec<u32> {
        if !self.is_rope() {
            let whole = self.mesh.triangles.iter().filter(|t| !self.lost.contains(t));
            let n = self.mesh.masses.len() as u32;
            return whole.flatten().copied().chain(n..n + 3 * self.lost.len() as u32).collect();
        }
        let rings = self.mesh.masses.len() as u32;
        let mut faces = Vec::new();
        let gaps = self.mesh.gaps();
        for ring in (1..rings).filter(|r| !gaps.contains(&(r - 1))) {
            for k in 0..AROUND {
                let (a, b) = ((ring - 1) * AROUND + k, (ring - 1) * AROUND + (k + 1) % AROUND);
                faces.extend([a, b, a + AROUND, b, b + AROUND, a + AROUND]);
            }
        }
        for k in 1..AROUND - 1 {
            let end = (rings - 1) * AROUND;
            faces.extend([0, k + 1, k, end, end + k, end + k + 1]);
        }
        faces
    }

    /// All of it in one state.
    pub fn triangles(&mut self, places: &[Vector]) -> Triangles {
        let (positions, normals) = self.surface(places);
        Triangles { positions, normals, indices: self.faces() }
    }
}

/// A drawing is no place for more triangles of a sheet than this.
const MOST_TRIANGLES: usize = 9_000;

/// Vertices and triangles of a drawing: of large grids every second line, every third and so on, and the last one.
fn thinned(mesh: &SoftMesh, places: &[Vector]) -> (Vec<Vector>, Vec<[u32; 3]>) {
    let (&[nx, ny], true) = (mesh.sides.as_slice(), mesh.triangles.len() > MOST_TRIANGLES) else {
        return (places.to_vec(), mesh.triangles.clone());
    };
    let lines = |n: u32, every: usize| -> Vec<u32> {
        let last = (!(n as usize - 1).is_multiple_of(every)).then_some(n - 1);
        (0..n).step_by(every).chain(last).collect()
    };
    let count = |every: usize| 2 * (lines(nx, every).len() - 1) * (lines(ny, every).len() - 1);
    let every = (2..).find(|e| count(*e) <= MOST_TRIANGLES).unwrap_or(2);
    let (columns, rows) = (lines(nx, every), lines(ny, every));
    let at = |i: &u32, j: &u32| places[(*i + nx * *j) as usize];
    let vertices = rows.iter().flat_map(|j| columns.iter().map(move |i| at(i, j))).collect();
    // A sheet of as many lines has the same triangles, whatever the distance of its lines.
    let springs = Springs::default();
    (vertices, soft::Sheet::grid(columns.len() as u32, rows.len() as u32, 1.0, &springs).triangles)
}

/// A soft body as a part of a drawing: a rope of bars, anything else a mesh with two sides.
pub(super) fn part(mesh: &SoftMesh, soft: &SoftPart) -> Part {
    let is_rope = mesh.is_rope();
    let shapes: Vec<PlacedShape> = if is_rope {
        let gaps = mesh.gaps();
        let whole = soft.places.windows(2).enumerate().filter(|(k, _)| !gaps.contains(&(*k as u32)));
        let pieces = whole.filter(|(_, p)| p[0] != p[1]);
        pieces.map(|(_, p)| PlacedShape::capsule_between(soft.radius, p[0], p[1])).collect()
    } else {
        let (vertices, mut triangles) = thinned(mesh, &soft.places);
        if mesh.tetrahedra.is_empty() {
            triangles.extend(triangles.clone().into_iter().map(|[a, b, c]| [a, c, b]));
        }
        vec![PlacedShape::mesh(Arc::new(Mesh { name: soft.name.clone(), vertices, triangles }))]
    };
    Part {
        name: soft.name.clone(),
        solid: crate::solid::SolidId::WORLD,
        covered: vec![false; shapes.len()],
        shapes,
        color: soft.color,
        pose: Pose::IDENTITY,
        wire: is_rope,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_sheets_are_drawn_with_fewer_lines_from_edge_to_edge() {
        let text = "cloth s: grid 150 40 spacing 0.1; mass 1; stretch 9; end";
        let m = crate::scene::load(text, &mut |_| Err(String::new())).0.unwrap().mechanism;
        let figure = super::super::Figure::new(&m, &crate::State::new(&m));
        let (vertices, triangles) = thinned(&m.softs()[0].mesh, &figure.softs[0].places);
        // Every second of 150 and of 40, and the last ones.
        assert_eq!((vertices.len(), triangles.len()), (76 * 21, 2 * 75 * 20));
        let far = vertices.iter().fold(Vector::ZERO, |far, v| far.max(*v));
        assert!((far - Vector::new(14.9, 3.9, 0.0)).length() < 1e-9, "{far}");
        let area: f64 = triangles
            .iter()
            .map(|t| t.map(|v| vertices[v as usize]))
            .map(|[a, b, c]| 0.5 * (b - a).cross(c - a).z)
            .sum();
        assert!((area - 14.9 * 3.9).abs() < 1e-9, "{area}");
    }
}
