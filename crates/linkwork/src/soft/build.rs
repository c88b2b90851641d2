//! Springs, faces and lumped masses of grids and meshes, as `docs/language.md` pins them down.

use super::SoftSpring;
use crate::math::Vector;
use std::collections::BTreeMap;
use std::fmt;

/// Why a mesh cannot be made a soft body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoftError(pub String);

impl fmt::Display for SoftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for SoftError {}

/// Stiffness and damping of the three kinds of springs; `None`: there are none of that kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Springs {
    /// Along the edges.
    pub stretch: [f64; 2],
    /// Along the diagonals of a grid's cells.
    pub shear: Option<[f64; 2]>,
    /// Between second neighbours, or across inner edges.
    pub bend: Option<[f64; 2]>,
    /// Largest strain of stretch and shear springs.
    pub limit: Option<f64>,
    /// Strain beyond which stretch and shear springs tear.
    pub tear: Option<f64>,
}

/// Vertices at rest, in the body's own frame, with what is between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// Vertices along each side of a grid; of a mesh their number.
    pub sides: Vec<u32>,
    /// Where they are at rest.
    pub vertices: Vec<Vector>,
    /// Share of each vertex in the mass; together one.
    pub shares: Vec<f64>,
    /// Springs.
    pub springs: Vec<SoftSpring>,
    /// Faces of the surface.
    pub triangles: Vec<[u32; 3]>,
    /// Of a soft solid.
    pub tetrahedra: Vec<[u32; 4]>,
}

impl Sheet {
    /// A rectangular sheet in the x-y plane; with one vertex along y, a rope.
    pub fn grid(nx: u32, ny: u32, spacing: f64, k: &Springs) -> Self {
        let at = |i: u32, j: u32| i + nx * j;
        let mut sheet = Self { sides: vec![nx, ny], ..Self::default() };
        for j in 0..ny {
            for i in 0..nx {
                sheet.vertices.push(Vector::new(f64::from(i), f64::from(j), 0.0) * spacing);
                let end = |i: u32, n: u32| if n > 1 && (i == 0 || i == n - 1) { 0.5 } else { 1.0 };
                sheet.shares.push(end(i, nx) * end(j, ny));
            }
        }
        for j in 0..ny {
            for i in 0..nx {
                for (di, dj) in [(1, 0), (0, 1)] {
                    if i + di < nx && j + dj < ny {
                        sheet.spring([at(i, j), at(i + di, j + dj)], k.stretch, [k.limit, k.tear]);
                    }
                }
                if i + 1 < nx && j + 1 < ny {
                    let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j + 1));
                    if let Some(shear) = k.shear {
                        sheet.spring([a, d], shear, [k.limit, k.tear]);
                        sheet.spring([b, c], shear, [k.limit, k.tear]);
                    }
                    sheet.triangles.extend([[a, b, d], [a, d, c]]);
                }
                for (di, dj) in [(2, 0), (0, 2)] {
                    if let Some(bend) = k.bend.filter(|_| i + di < nx && j + dj < ny) {
                        sheet.spring([at(i, j), at(i + di, j + dj)], bend, [None; 2]);
                    }
                }
            }
        }
        sheet.norm();
        sheet
    }

    /// A sheet of any triangles: every edge a stretch spring, every inner edge a bend spring across it.
    pub fn mesh(vertices: &[Vector], triangles: &[[u32; 3]], k: &Springs) -> Result<Self, SoftError> {
        let mut sheet = Self { sides: vec![vertices.len() as u32], ..Self::default() };
        sheet.vertices = vertices.to_vec();
        sheet.shares = vec![0.0; vertices.len()];
        let mut edges: BTreeMap<[u32; 2], Vec<u32>> = BTreeMap::new();
        for (n, t) in triangles.iter().enumerate() {
            let [a, b, c] = sheet.corners(*t, "triangle", n)?;
            let area = 0.5 * (b - a).cross(c - a).length();
            let longest = (b - a).length().max((c - b).length()).max((a - c).length());
            if !(area > 1e-12 * longest * longest && area.is_finite()) {
                return fail(format!("triangle {} has no area", n + 1));
            }
            for k in 0..3 {
                sheet.shares[t[k] as usize] += area / 3.0;
                let (p, q) = (t[k], t[(k + 1) % 3]);
                edges.entry([p.min(q), p.max(q)]).or_default().push(t[(k + 2) % 3]);
            }
        }
        for (edge, across) in &edges {
            if across.len() > 2 {
                let [p, q] = edge;
                return fail(format!(
                    "{} triangles meet in the edge between vertices {p} and {q}; a sheet has two at most",
                    across.len()
                ));
            }
            sheet.spring(*edge, k.stretch, [k.limit, k.tear]);
        }
        for across in edges.values() {
            if let ([p, q], Some(bend)) = (across.as_slice(), k.bend) {
                sheet.spring([*p, *q], bend, [None; 2]);
            }
        }
        sheet.triangles = triangles.to_vec();
        sheet.all_used("triangle")?;
        sheet.norm();
        Ok(sheet)
    }

    /// A block of cells, each of six tetrahedra about its diagonal from the first to the last corner.
    pub fn block(n: [u32; 3], spacing: f64, k: &Springs) -> Result<Self, SoftError> {
        Self::cells(n, spacing, k, |v| v)
    }

    /// The same cells as a ball that touches the sides of the block: an ellipsoid where these differ.
    ///
    /// Drawing all vertices towards the middle flattens what lies at the block's edges; this map spares them as well as any
    /// (Fong 2015, "Analytical methods for squaring the disc", in three dimensions), and turns no tetrahedron over.
    pub fn ball(n: [u32; 3], spacing: f64, k: &Springs) -> Result<Self, SoftError> {
        let half = Vector::from_array(n.map(|n| 0.5 * f64::from(n - 1))) * spacing;
        Self::cells(n, spacing, k, |v| {
            let u = (v - half) / half;
            let q = u * u;
            let shrink = |a: f64, b: f64| (1.0 - 0.5 * (a + b) + a * b / 3.0).sqrt();
            half + half * u * Vector::new(shrink(q.y, q.z), shrink(q.z, q.x), shrink(q.x, q.y))
        })
    }

    fn cells(
        n: [u32; 3],
        spacing: f64,
        k: &Springs,
        place: impl Fn(Vector) -> Vector,
    ) -> Result<Self, SoftError> {
        let at = |c: [u32; 3]| c[0] + n[0] * (c[1] + n[1] * c[2]);
        let (mut vertices, mut tetrahedra) = (Vec::new(), Vec::new());
        for z in 0..n[2] {
            for y in 0..n[1] {
                for x in 0..n[0] {
                    vertices.push(place(Vector::new(f64::from(x), f64::from(y), f64::from(z)) * spacing));
                    if x + 1 == n[0] || y + 1 == n[1] || z + 1 == n[2] {
                        continue;
                    }
                    // From corner to corner by one axis after the other, in all six orders.
                    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                        let mut corner = [x, y, z];
                        let mut t = [at(corner); 4];
                        for (k, axis) in order.into_iter().enumerate() {
                            corner[axis] += 1;
                            t[k + 1] = at(corner);
                        }
                        tetrahedra.push(t);
                    }
                }
            }
        }
        let mut sheet = Self::solid(&vertices, &tetrahedra, k)?;
        sheet.sides = n.to_vec();
        Ok(sheet)
    }

    /// A soft solid of any tetrahedra: a spring on every edge, masses by volume, and its outer faces.
    pub fn solid(vertices: &[Vector], tetrahedra: &[[u32; 4]], k: &Springs) -> Result<Self, SoftError> {
        let mut sheet = Self { sides: vec![vertices.len() as u32], ..Self::default() };
        sheet.vertices = vertices.to_vec();
        sheet.shares = vec![0.0; vertices.len()];
        let mut edges: BTreeMap<[u32; 2], ()> = BTreeMap::new();
        let mut faces: BTreeMap<[u32; 3], Vec<[u32; 3]>> = BTreeMap::new();
        for (n, t) in tetrahedra.iter().enumerate() {
            let [a, b, c, d] = sheet.corners(*t, "tetrahedron", n)?;
            let volume = (b - a).cross(c - a).dot(d - a) / 6.0;
            let size = [b - a, c - a, d - a, c - b, d - b, d - c]
                .map(Vector::length)
                .into_iter()
                .fold(0.0, f64::max);
            if !(volume.abs() > 1e-12 * size.powi(3) && volume.is_finite()) {
                return fail(format!("tetrahedron {} has no volume", n + 1));
            }
            let [a, b, c, d] = *t;
            for [p, q] in [[a, b], [a, c], [a, d], [b, c], [b, d], [c, d]] {
                edges.insert([p.min(q), p.max(q)], ());
            }
            // Faces that look outwards.
            let out = [[a, c, b], [a, b, d], [a, d, c], [b, c, d]];
            for f in if volume > 0.0 { out } else { out.map(|[p, q, r]| [p, r, q]) } {
                let mut key = f;
                key.sort_unstable();
                faces.entry(key).or_default().push(f);
            }
            t.iter().for_each(|v| sheet.shares[*v as usize] += volume.abs() / 4.0);
        }
        for edge in edges.keys() {
            sheet.spring(*edge, k.stretch, [k.limit, k.tear]);
        }
        for (key, sides) in &faces {
            match sides.as_slice() {
                [outer] => sheet.triangles.push(*outer),
                [_, _] => {}
                more => {
                    let [p, q, r] = key;
                    let n = more.len();
                    return fail(format!("{n} tetrahedra meet in the face of vertices {p}, {q} and {r}"));
                }
            }
        }
        sheet.tetrahedra = tetrahedra.to_vec();
        sheet.all_used("tetrahedron")?;
        sheet.norm();
        Ok(sheet)
    }

    fn corners<const N: usize>(&self, of: [u32; N], what: &str, n: usize) -> Result<[Vector; N], SoftError> {
        for (k, v) in of.iter().enumerate() {
            if *v as usize >= self.vertices.len() {
                return fail(format!("{what} {} has no vertex {v}", n + 1));
            }
            if of[..k].contains(v) {
                return fail(format!("{what} {} has vertex {v} twice", n + 1));
            }
        }
        Ok(of.map(|v| self.vertices[v as usize]))
    }

    /// A vertex without mass cannot move.
    fn all_used(&self, what: &str) -> Result<(), SoftError> {
        match self.shares.iter().position(|s| *s == 0.0) {
            Some(v) => fail(format!("vertex {v} belongs to no {what}")),
            None => Ok(()),
        }
    }

    fn spring(&mut self, ends: [u32; 2], [stiffness, damping]: [f64; 2], limits: [Option<f64>; 2]) {
        let [a, b] = ends.map(|v| self.vertices[v as usize]);
        let length = a.distance(b);
        let [longest, tear] = limits.map(|l| l.map_or(f64::INFINITY, |l| length * (1.0 + l)));
        self.springs.push(SoftSpring { ends, length, stiffness, damping, longest, tear });
    }

    fn norm(&mut self) {
        let sum: f64 = self.shares.iter().sum();
        self.shares.iter_mut().for_each(|s| *s /= sum);
    }
}

fn fail<T>(why: String) -> Result<T, SoftError> {
    Err(SoftError(why))
}
