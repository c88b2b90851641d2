//! Tangles: soft bodies that lie in each other, in themselves or in solids.
//!
//! Contact keeps apart what is apart; what begins tangled cannot be told inside from outside, and stays so. So a state is looked
//! at once, when a scene is checked or a run begins: every edge of a soft body against every face near it, and every vertex
//! against the solids that it may touch.

use super::SoftBody;
use crate::contact::{Geometry, obstacles};
use crate::math::{Pose, Vector};
use crate::mechanism::Mechanism;
use crate::solid::{Collide, SolidId};
use crate::state::State;
use parry3d_f64::query::PointQuery;
use std::collections::{BTreeMap, BTreeSet};

/// Two that lie in each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tangle {
    /// The soft body.
    pub body: usize,
    /// What it is tangled with.
    pub with: TangledWith,
    /// Edges that go through faces, or vertices inside.
    pub count: usize,
    /// One of these places.
    pub at: Vector,
}

/// What a soft body is tangled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TangledWith {
    /// A soft body with a lower number, or itself.
    Soft(usize),
    /// A solid: its vertices come out of that by themselves.
    Solid(SolidId),
}

/// Heights of less than this share of an edge are none: what lies flat in a plane crosses nothing.
const FLAT: f64 = 1e-9;
/// A vertex that lies less deep than this in a solid, as a share of the sheet's thickness, only touches it.
const TOUCHES: f64 = 0.5;
/// No more cells than this along a side of the grid that faces are sorted into.
const CELLS: f64 = 256.0;

/// What is tangled at a state.
pub fn tangles(m: &Mechanism, s: &State) -> Vec<Tangle> {
    let mut found = Vec::new();
    let touches = |b: &SoftBody| b.mesh.collide == Collide::All;
    for (k, soft) in m.softs().iter().enumerate() {
        if touches(soft) {
            for (j, other) in m.softs().iter().enumerate().take(k + 1).filter(|(_, o)| touches(o)) {
                found.extend(crossings(s, soft, other).map(|(count, at)| Tangle {
                    body: k,
                    with: TangledWith::Soft(j),
                    count,
                    at,
                }));
            }
        }
        found.extend(inside(m, s, k, soft));
    }
    found
}

/// Edges of a body's faces, or the pieces of a rope, by solids.
fn edges(soft: &SoftBody) -> BTreeSet<[u32; 2]> {
    let order = |a: u32, b: u32| [a.min(b), a.max(b)];
    let sides = soft.mesh.triangles.iter().flat_map(|t| (0..3).map(move |k| order(t[k], t[(k + 1) % 3])));
    let mut edges: BTreeSet<[u32; 2]> = sides.collect();
    if soft.mesh.is_rope() {
        let gaps = soft.mesh.gaps();
        let pieces = 1..soft.vertices() as u32;
        edges.extend(pieces.filter(|k| !gaps.contains(&(k - 1))).map(|k| [k - 1, k]));
    }
    edges.into_iter().map(|e| e.map(|v| soft.vertex(v).0)).collect()
}

/// How often edges of either body go through faces of the other, and where the first does.
fn crossings(s: &State, one: &SoftBody, two: &SoftBody) -> Option<(usize, Vector)> {
    let (mut count, mut first) = (0, None);
    let mut pairs = vec![(one, two)];
    if one.first != two.first {
        pairs.push((two, one));
    }
    for (a, b) in pairs {
        pierce(s, &edges(a), b, |at| {
            count += 1;
            first = first.or(Some(at));
        });
    }
    first.map(|at| (count, at))
}

/// Tells of every place where one of these edges goes through a face.
fn pierce(s: &State, edges: &BTreeSet<[u32; 2]>, of: &SoftBody, mut tell: impl FnMut(Vector)) {
    let at = |i: u32| s.centers[i as usize];
    let faces: Vec<[u32; 3]> = of.mesh.triangles.iter().map(|t| t.map(|v| of.vertex(v).0)).collect();
    let span = |p: &[u32]| {
        let start = at(p[0]);
        p.iter().fold((start, start), |(low, high), i| (low.min(at(*i)), high.max(at(*i))))
    };
    let boxes: Vec<(Vector, Vector)> = faces.iter().map(|f| span(f)).collect();
    let Some((low, high)) = boxes.iter().copied().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return };
    if !(low.is_finite() && high.is_finite()) {
        return;
    }
    let mean = boxes.iter().map(|(a, b)| (*b - *a).max_element()).sum::<f64>() / boxes.len() as f64;
    let cell = mean.max((high - low).max_element() / CELLS).max(f64::MIN_POSITIVE);
    let place = |p: Vector| ((p - low) / cell).to_array().map(|x| x.floor().clamp(-1.0, CELLS + 1.0) as i32);
    let cells = |(a, b): (Vector, Vector)| {
        let (a, b) = (place(a), place(b));
        (a[0]..=b[0])
            .flat_map(move |x| (a[1]..=b[1]).flat_map(move |y| (a[2]..=b[2]).map(move |z| [x, y, z])))
    };
    let mut grid: BTreeMap<[i32; 3], Vec<u32>> = BTreeMap::new();
    for (k, b) in boxes.iter().enumerate() {
        cells(*b).for_each(|c| grid.entry(c).or_default().push(k as u32));
    }
    let mut near = BTreeSet::new();
    for e in edges {
        let own = span(e);
        near.clear();
        near.extend(cells(own).filter_map(|c| grid.get(&c)).flatten().copied());
        for k in &near {
            let (face, b) = (faces[*k as usize], boxes[*k as usize]);
            let meets = own.0.cmple(b.1).all() && b.0.cmple(own.1).all();
            if meets && !face.iter().any(|v| e.contains(v)) {
                through(e.map(at), face.map(at)).into_iter().for_each(&mut tell);
            }
        }
    }
}

/// Where an edge goes through a face, unless it only touches it.
fn through([p, q]: [Vector; 2], [a, b, c]: [Vector; 3]) -> Option<Vector> {
    let n = (b - a).cross(c - a).try_normalize()?;
    let (from, to) = (n.dot(p - a), n.dot(q - a));
    let least = FLAT * p.distance(q);
    if !(from * to < 0.0 && from.abs() > least && to.abs() > least) {
        return None;
    }
    let at = p + (q - p) * (from / (from - to));
    let left = |x: Vector, y: Vector| n.dot((y - x).cross(at - x)) > 0.0;
    (left(a, b) && left(b, c) && left(c, a)).then_some(at)
}

/// Vertices of a body inside of solids that it touches.
fn inside(m: &Mechanism, s: &State, body: usize, soft: &SoftBody) -> Vec<Tangle> {
    let mut found: Vec<Tangle> = Vec::new();
    let pinned = |id: SolidId| {
        let ends = m.joints().iter().map(|j| j.frames.map(|f| f.solid));
        ends.into_iter().any(|e| e.contains(&id) && e.iter().any(|v| m.soft_of(*v) == Some(body)))
    };
    for c in obstacles(m) {
        let i = c.solid.index();
        let named = matches!(&soft.mesh.collide, Collide::With(list) if list.contains(&c.solid));
        if !soft.mesh.may_touch(c.solid, &m.solid(c.solid).collide) || (pinned(c.solid) && !named) {
            continue;
        }
        let pose = Pose::from_parts(s.centers[i], s.rotations[i]) * c.local;
        let least = TOUCHES * soft.mesh.thickness;
        for v in soft.range().filter(|v| !m.solids()[*v].is_fixed()) {
            if depth(&c.geometry, pose.inverse().transform_point(s.centers[v])) > least {
                let with = TangledWith::Solid(c.solid);
                match found.iter_mut().find(|t| t.with == with) {
                    Some(t) => t.count += 1,
                    None => found.push(Tangle { body, with, count: 1, at: s.centers[v] }),
                }
            }
        }
    }
    found
}

/// How deep a point lies in a shape; a mesh has no inside.
fn depth(g: &Geometry, p: Vector) -> f64 {
    fn of(shape: &impl PointQuery, p: Vector) -> f64 {
        let to = shape.project_local_point(p, false);
        if to.is_inside { p.distance(to.point) } else { 0.0 }
    }
    match g {
        Geometry::Plane => -p.y,
        Geometry::Ball(b) => of(b, p),
        Geometry::Box(b) => of(b, p),
        Geometry::Capsule(c) => of(c, p),
        Geometry::Cylinder { core, .. } => of(core, p),
        Geometry::Mesh(_) => 0.0,
    }
}
