//! Soft bodies against themselves and each other: corners against faces, edges against edges.
//!
//! Two layers keep their middles a thickness apart. Which pairs may meet within the step is told by trees of boxes (`tree.rs`);
//! along which normal they keep apart, by where they come nearest: at the end of the step or, if their ways cross, just
//! before. So a pair is never on another side than it was, however fast, and what is asked of it is a plane that Newton's
//! method can keep to. What it leaves crossing all the same is cut short (`cut_crossings`).

use super::contact::{Kind, Near};
use super::tree::{Bounds, Tree};
use super::{NONE, Soft, StepConfig};
use crate::math::{Pose, Vector};
use crate::mechanism::Mechanism;
use crate::soft::SoftBody;
use crate::solid::Collide;
use parry3d_f64::query::PointQueryWithLocation;
use parry3d_f64::query::details::closest_points_segment_segment_with_locations_nD;
use parry3d_f64::shape::Triangle;
use std::collections::BTreeSet;

/// A sheet that is thicker than this share of its shortest spring keeps no more than that from itself: it could not bend.
const FOLD: f64 = 0.5;
/// Pairs are looked after that come nearer than a thickness and this share of it.
const MARGIN: f64 = 1.0;
/// A pair that comes nearer than this share of what it has, or has to keep, crosses.
const LEFT: f64 = 0.1;
/// Passes over the pairs that cross.
const CUTS: usize = 20;

/// The surface of a soft body.
pub(super) struct Surface {
    pub solids: std::ops::Range<usize>,
    /// Its triangles by solids; of a rope segments, the third corner being `NONE`.
    pub faces: Vec<[u32; 3]>,
    /// Per face: which corners (bits 0 to 2) and edges (3 to 5) are looked after by it and by no other.
    owned: Vec<u8>,
    pub tree: Tree,
    pub thickness: f64,
    friction: f64,
    /// Thickness against itself; none: it passes through itself, and through other soft bodies.
    itself: Option<f64>,
}

impl Surface {
    pub fn new(m: &Mechanism, soft: &SoftBody) -> Self {
        let mesh = &soft.mesh;
        let at = |k: u32| soft.vertex(k).0;
        let mut faces: Vec<[u32; 3]> = mesh.triangles.iter().map(|t| t.map(at)).collect();
        if mesh.is_rope() {
            let (n, gaps) = (soft.vertices() as u32, mesh.gaps());
            let whole = (1..n).filter(|k| !gaps.contains(&(k - 1)));
            faces.extend(whole.map(|k| [at(k - 1), at(k), NONE]));
        }
        let (mut corners, mut edges) = (BTreeSet::new(), BTreeSet::new());
        let owned = faces.iter().map(|f| {
            let mut bits = 0;
            for k in 0..3 {
                bits |= u8::from(f[k] != NONE && corners.insert(f[k])) << k;
                let [a, b] = edge(f, k);
                bits |= u8::from(a != NONE && b != NONE && edges.insert([a.min(b), a.max(b)])) << (3 + k);
            }
            bits
        });
        let owned = owned.collect();
        // Halves of halves of the first places: what a step does must not depend on where a tree was planted.
        let center = |f: &[u32; 3]| {
            let own = f.iter().filter(|i| **i != NONE);
            let at = own.clone().map(|i| m.solids()[*i as usize].pose.translation);
            at.sum::<Vector>() / own.count().max(1) as f64
        };
        let mut tree = Tree::new(&faces.iter().map(center).collect::<Vec<_>>());
        let seat = |f: u32| {
            let mut b = Bounds::NOTHING;
            let own = faces[f as usize].into_iter().filter(|i| *i != NONE);
            own.for_each(|i| b.add(m.solids()[i as usize].pose.translation));
            b
        };
        if is_convex(m, &faces) {
            let all = (0..faces.len() as u32).map(seat).fold(Bounds::NOTHING, |a, b| a.with(&b));
            let close = 1e-6 * (all.high - all.low).max_element();
            tree.set_smooth(|f| seat(f).grown(close));
        }
        let shortest = mesh.springs.iter().map(|s| s.length).fold(f64::INFINITY, f64::min);
        let own = mesh.material.and_then(|k| m.materials.get(k.0 as usize)).cloned().unwrap_or_default();
        Self {
            solids: soft.range(),
            faces,
            owned,
            tree,
            thickness: mesh.thickness,
            friction: own.friction,
            itself: (mesh.collide == Collide::All).then_some(mesh.thickness.min(FOLD * shortest)),
        }
    }

    /// Box around a face on its way.
    fn sweep(&self, face: u32, soft: &Soft, with: Vector, grow: f64) -> Bounds {
        let mut b = Bounds::NOTHING;
        for i in self.faces[face as usize].into_iter().filter(|i| *i != NONE) {
            b.add(soft.origin[i as usize]);
            b.add(soft.at(i) - with);
        }
        b.grown(grow)
    }

    /// Box around the normals of a face at both ends of its way.
    fn turns(&self, face: u32, soft: &Soft) -> Bounds {
        let f = self.faces[face as usize];
        let mut b = Bounds::NOTHING;
        for at in [f.map(|i| soft.origin[i as usize]), f.map(|i| soft.at(i))] {
            match (at[1] - at[0]).cross(at[2] - at[0]).try_normalize() {
                Some(n) => b.add(n),
                None => (b.low, b.high) = (Vector::NEG_ONE, Vector::ONE),
            }
        }
        b
    }
}

/// Does a surface begin flat and as large as the convex outline of its corners: in one piece, without holes and folds?
fn is_convex(m: &Mechanism, faces: &[[u32; 3]]) -> bool {
    let at = |i: u32| m.solids()[i as usize].pose.translation;
    let normal = |f: &[u32; 3]| (at(f[1]) - at(f[0])).cross(at(f[2]) - at(f[0])) * 0.5;
    if faces.iter().any(|f| f[2] == NONE) {
        return false;
    }
    let sum: Vector = faces.iter().map(normal).sum();
    let whole: f64 = faces.iter().map(|f| normal(f).length()).sum();
    let Some(up) = sum.try_normalize().filter(|_| sum.length() > (1.0 - 1e-9) * whole) else { return false };
    let right = up.any_orthonormal_vector();
    let ahead = up.cross(right);
    let origin = at(faces[0][0]);
    let mut corners: Vec<[f64; 2]> = Vec::new();
    for i in faces.iter().flatten() {
        let d = at(*i) - origin;
        if up.dot(d).abs() > 1e-6 * whole.sqrt() {
            return false;
        }
        corners.push([right.dot(d), ahead.dot(d)]);
    }
    whole > (1.0 - 1e-6) * outline_area(corners)
}

/// Area of the convex outline of points in a plane (Andrew's chains).
fn outline_area(mut points: Vec<[f64; 2]>) -> f64 {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let turn =
        |a: [f64; 2], b: [f64; 2], c: [f64; 2]| (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    let mut outline: Vec<[f64; 2]> = Vec::new();
    for _ in 0..2 {
        let from = outline.len();
        for p in &points {
            while outline.len() >= from + 2
                && turn(outline[outline.len() - 2], outline[outline.len() - 1], *p) <= 0.0
            {
                outline.pop();
            }
            outline.push(*p);
        }
        outline.pop();
        points.reverse();
    }
    let next = outline.iter().cycle().skip(1);
    0.5 * outline.iter().zip(next).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum::<f64>()
}

fn edge(f: &[u32; 3], k: usize) -> [u32; 2] {
    [f[k], f[(k + 1) % 3]]
}

/// Where a pair is nearest: the difference between the two points, and the weights of its corners in it.
pub(super) fn closest(kind: Kind, p: &[Vector; 4]) -> Option<(Vector, [f64; 4])> {
    if kind == Kind::Corner {
        let (to, place) = Triangle::new(p[1], p[2], p[3]).project_local_point_and_get_location(p[0], false);
        let [a, b, c] = place.barycentric_coordinates()?;
        return Some((p[0] - to.point, [1.0, -a, -b, -c]));
    }
    let (one, two) = closest_points_segment_segment_with_locations_nD((&p[0], &p[1]), (&p[2], &p[3]));
    let ([a, b], [c, d]) = (one.barycentric_coordinates(), two.barycentric_coordinates());
    Some((p[0] * a + p[1] * b - p[2] * c - p[3] * d, [a, b, -c, -d]))
}

/// How far the boxes around the two sides of a pair are apart, along one of the axes: they are no nearer than that.
fn box_gap(kind: Kind, p: &[Vector; 4]) -> f64 {
    let (one, two) = match kind {
        Kind::Corner => ((p[0], p[0]), (p[1].min(p[2]).min(p[3]), p[1].max(p[2]).max(p[3]))),
        _ => ((p[0].min(p[1]), p[0].max(p[1])), (p[2].min(p[3]), p[2].max(p[3]))),
    };
    (two.0 - one.1).max(one.0 - two.1).max_element()
}

/// How far the two sides of a pair can come together by these ways.
fn approach(kind: Kind, by: &[Vector; 4]) -> f64 {
    let mean = (by[0] + by[1] + by[2] + by[3]) * 0.25;
    let far = |of: &[Vector]| of.iter().map(|d| (*d - mean).length()).fold(0.0, f64::max);
    let cut = if kind == Kind::Corner { 1 } else { 2 };
    far(&by[..cut]) + far(&by[cut..])
}

/// The share of the way that something can go before its distance is next to nothing; 1: all of it. No step is longer than
/// what the distance allows (conservative advancement).
pub(super) fn advance(d0: f64, keep: f64, approach: f64, mut distance: impl FnMut(f64) -> f64) -> f64 {
    let (mut t, mut d, left) = (0.0, d0, LEFT * d0.min(keep));
    for _ in 0..64 {
        t += 0.9 * d / approach;
        if t >= 1.0 {
            return 1.0;
        }
        let now = distance(t);
        if !(now > left) {
            return t - 0.9 * d / approach;
        }
        d = now;
    }
    t
}

impl Soft {
    /// Where a vertex of a soft body is.
    #[inline]
    pub(super) fn at(&self, solid: u32) -> Vector {
        match self.nodes[solid as usize] {
            NONE => self.origin[solid as usize],
            n => self.x[n as usize],
        }
    }

    /// Looks for pairs that may meet between the start and where vertices are now; those that are known stay as they are.
    pub(super) fn find_layers(&mut self, c: &StepConfig) {
        if !c.contacts {
            return;
        }
        let mut surfaces = std::mem::take(&mut self.surfaces);
        self.guess.clone_from(&self.x);
        self.report.tangled = 0;
        let mut known = std::mem::take(&mut self.known);
        known.clear();
        known.extend(self.contacts.near.iter().filter(|n| n.is_layer()).map(|n| n.ends));
        known.sort_unstable();
        for k in 0..surfaces.len() {
            let own = &mut surfaces[k];
            if let Some(keep) = own.itself.filter(|t| *t > 0.0) {
                let grow = 0.5 * (1.0 + MARGIN) * keep;
                let with = self.mean_way(&own.solids);
                let mut tree = std::mem::take(&mut own.tree);
                tree.fit(|f| own.sweep(f, self, with, grow));
                if tree.is_smooth() {
                    tree.fit_normals(|f| own.turns(f, self));
                }
                tree.own_pairs(|f, g| self.add_pairs([(own, f), (own, g)], keep, c, &known));
                own.tree = tree;
            }
        }
        if surfaces.len() > 1 {
            self.find_others(&mut surfaces, c, &known);
        }
        self.known = known;
        self.surfaces = surfaces;
    }

    /// The same between different bodies.
    fn find_others(&mut self, surfaces: &mut [Surface], c: &StepConfig, known: &[[u32; 4]]) {
        for own in surfaces.iter_mut().filter(|s| s.itself.is_some()) {
            let grow = 0.5 * (1.0 + MARGIN) * own.thickness;
            let mut tree = std::mem::take(&mut own.tree);
            tree.fit(|f| own.sweep(f, self, Vector::ZERO, grow));
            own.tree = tree;
        }
        for (k, a) in surfaces.iter().enumerate().filter(|(_, s)| s.itself.is_some()) {
            for b in surfaces[..k].iter().filter(|s| s.itself.is_some()) {
                let keep = 0.5 * (a.thickness + b.thickness);
                a.tree.pairs(&b.tree, |f, g| self.add_pairs([(a, f), (b, g)], keep, c, known));
            }
        }
    }

    /// How far a body goes as a whole.
    fn mean_way(&self, solids: &std::ops::Range<usize>) -> Vector {
        let ways = solids.clone().map(|i| self.at(i as u32) - self.origin[i]);
        ways.sum::<Vector>() / solids.len().max(1) as f64
    }

    /// Corners against faces and edges against edges of two faces, as far as they are theirs.
    fn add_pairs(&mut self, sides: [(&Surface, u32); 2], keep: f64, c: &StepConfig, known: &[[u32; 4]]) {
        let [(a, f), (b, g)] = sides;
        let (fa, fb) = (a.faces[f as usize], b.faces[g as usize]);
        let (oa, ob) = (a.owned[f as usize], b.owned[g as usize]);
        let friction = c.friction.unwrap_or((a.friction * b.friction).sqrt());
        for ((face, owned), other) in [((fa, oa), fb), ((fb, ob), fa)] {
            let corners = (0..3).filter(|k| owned >> k & 1 == 1).map(|k| face[k]);
            for v in corners.filter(|v| other[2] != NONE && !other.contains(v)) {
                self.add_pair(Kind::Corner, [v, other[0], other[1], other[2]], keep, friction, known);
            }
        }
        for i in (0..3).filter(|k| oa >> (3 + k) & 1 == 1) {
            for j in (0..3).filter(|k| ob >> (3 + k) & 1 == 1) {
                let ([p, q], [r, s]) = (edge(&fa, i), edge(&fb, j));
                if p != r && p != s && q != r && q != s {
                    self.add_pair(Kind::Edges, [p, q, r, s], keep, friction, known);
                }
            }
        }
    }

    fn add_pair(&mut self, kind: Kind, ends: [u32; 4], keep: f64, friction: f64, known: &[[u32; 4]]) {
        let nodes = ends.map(|i| self.nodes[i as usize]);
        if nodes == [NONE; 4] || known.binary_search(&ends).is_ok() {
            return;
        }
        let from = ends.map(|i| self.origin[i as usize]);
        let by = [0, 1, 2, 3].map(|k| self.at(ends[k]) - from[k]);
        let reach = approach(kind, &by) + (1.0 + MARGIN) * keep;
        if box_gap(kind, &from) > reach {
            return;
        }
        let Some((d, weights)) = closest(kind, &from) else { return };
        let d0 = d.length();
        if d0 > reach {
            return;
        }
        if !(d0 > 1e-9 * keep) {
            self.report.tangled += 1;
            return;
        }
        let near = Near::new(kind, ends, nodes, weights, keep, friction);
        let mut near = near.coming_out(d0, 0.0, self.h);
        near.d0 = d0;
        self.contacts.near.push(near);
    }

    /// Along which normal a pair keeps apart, with what weights, and how far apart it is; whether its ways cross.
    pub(super) fn look_at_layer(&self, near: &Near) -> Option<(Vector, [f64; 4], f64, bool)> {
        let p1 = near.ends.map(|i| self.at(i));
        let p0 = near.ends.map(|i| self.origin[i as usize]);
        let by = [0, 1, 2, 3].map(|k| p1[k] - p0[k]);
        let fast = approach(near.kind, &by);
        if fast > (1.0 - LEFT) * near.d0 {
            let on = |t: f64| [0, 1, 2, 3].map(|k| p0[k] + by[k] * t);
            let t = advance(near.d0, near.keep, fast, |t| {
                closest(near.kind, &on(t)).map_or(0.0, |(d, _)| d.length())
            });
            if t < 1.0 {
                let (d, w) = closest(near.kind, &on(t))?;
                let n = d.try_normalize()?;
                return Some((n, w, n.dot(weighted(&w, &p1)), true));
            }
        }
        let (d, w) = closest(near.kind, &p1)?;
        Some((d.try_normalize()?, w, d.length(), false))
    }

    /// Vertices went elsewhere than pairs were looked for: there may be others.
    pub(super) fn has_strayed(&self) -> bool {
        let Some(keep) = self.surfaces.iter().filter_map(|s| s.itself).reduce(f64::min) else { return false };
        let far = 0.5 * MARGIN * keep;
        self.x.iter().zip(&self.guess).any(|(x, g)| x.distance_squared(*g) > far * far)
    }

    /// Vertices whose ways cross all the same go a common way before: nothing passes through anything. True where there were some.
    pub(super) fn cut_crossings(&mut self, c: &StepConfig) -> bool {
        if self.has_strayed() {
            self.find_layers(c);
        }
        let mut cut = false;
        for pass in 0..CUTS {
            let last = pass + 2 >= CUTS;
            if last {
                self.find_wholes();
                self.find_common_ways();
            }
            let mut clean = true;
            for k in 0..self.contacts.near.len() {
                let near = self.contacts.near[k];
                if near.is_layer() && self.look_at_layer(&near).is_some_and(|(.., crosses)| crosses) {
                    (clean, cut) = (false, true);
                    self.contacts.near[k].crossed = true;
                    if last {
                        self.cut_off(&near)
                    } else {
                        self.cut_short(&near)
                    }
                    self.report.stopped += 1;
                }
            }
            if clean {
                break;
            }
        }
        cut
    }

    /// A pair goes half as far as it would beyond its common way, which is none where something holds it.
    fn cut_short(&mut self, near: &Near) {
        let own = || near.nodes.into_iter().filter(|n| *n != NONE).map(|n| n as usize);
        let is_held = near.nodes.contains(&NONE) || own().any(|n| self.is_pinned(n));
        let mass: f64 = own().map(|n| self.masses[n]).sum();
        let ways = own().map(|n| (self.x[n] - self.start[n]) * self.masses[n]);
        let common = if is_held { Vector::ZERO } else { ways.sum::<Vector>() / mass };
        for n in own() {
            let along = self.start[n] + common;
            self.x[n] = along + (self.x[n] - along) * 0.5;
        }
    }

    /// A pair goes with what it belongs to.
    fn cut_off(&mut self, near: &Near) {
        for n in near.nodes.into_iter().filter(|n| *n != NONE).map(|n| n as usize) {
            self.x[n] = self.goes_along(n);
        }
    }
}

impl Surface {
    /// Boxes around faces in a shape's frame, on their way relative to it.
    pub fn fit_moving(&mut self, soft: &Soft, back: &Pose, way: impl Fn(usize) -> Vector, grow: f64) {
        let faces = &self.faces;
        self.tree.fit(|f| {
            let mut b = Bounds::NOTHING;
            for i in faces[f as usize].into_iter().filter(|i| *i != NONE) {
                let from = soft.origin[i as usize];
                b.add(back.transform_point(from));
                b.add(back.transform_point(from + way(i as usize)));
            }
            b.grown(grow)
        });
    }
}

/// Corners times weights.
#[inline]
pub(super) fn weighted(w: &[f64; 4], p: &[Vector; 4]) -> Vector {
    p[0] * w[0] + p[1] * w[1] + p[2] * w[2] + p[3] * w[3]
}
