//! What a mechanism looks like, whatever the format: shapes and colours per solid, and how big the whole is.

use crate::joint::{Curve, Region};
use crate::math::{Pose, Vector};
use crate::mechanism::Mechanism;
use crate::shape::{PlacedShape, Shape};
use crate::skin::Surface;
use crate::solid::{Solid, SolidId};
use crate::state::State;
use std::collections::BTreeSet;

/// Coordinates beyond this are not drawn: their squares would leave the range of the 32-bit numbers of glTF.
pub(crate) const FARTHEST: f64 = 1e12;

/// Everything to draw.
pub struct Figure {
    /// Solids with something to see, in id order.
    pub parts: Vec<Part>,
    /// Soft bodies, in the mechanism's order. Their vertices are no parts.
    pub softs: Vec<SoftPart>,
    /// Middle of all that is finite and bounded.
    pub center: Vector,
    /// Half the diagonal of its bounding box; never zero.
    pub radius: f64,
    /// The vertical: `z` when gravity pulls along z, `y` otherwise.
    pub up: Vector,
}

/// One solid, or a wire that it carries.
pub struct Part {
    /// What to call it.
    pub name: String,
    /// The solid that carries it.
    pub solid: SolidId,
    /// Its shapes, or a stick figure.
    pub shapes: Vec<PlacedShape>,
    /// Which of them lie beneath a skin.
    pub covered: Vec<bool>,
    /// Red, green, blue in 0..1, as on a screen (sRGB).
    pub color: [f64; 3],
    /// Where its origin is.
    pub pose: Pose,
    /// Drawn without outlines: pieces of one line.
    pub wire: bool,
}

/// One soft body: cloth, a rope, a soft solid.
pub struct SoftPart {
    /// What to call it.
    pub name: String,
    /// Red, green, blue in 0..1, as on a screen (sRGB).
    pub color: [f64; 3],
    /// Where its vertices are.
    pub places: Vec<Vector>,
    /// How thick a rope is drawn.
    pub radius: f64,
}

/// Used in turn for solids that name no colour: muted, and distinct from the red of gaps.
const PALETTE: [[f64; 3]; 8] = [
    [0.28, 0.47, 0.66], // steel blue
    [0.91, 0.66, 0.26], // amber
    [0.37, 0.63, 0.51], // sage
    [0.62, 0.47, 0.68], // plum
    [0.86, 0.52, 0.40], // terracotta
    [0.36, 0.66, 0.71], // lagoon
    [0.69, 0.69, 0.36], // moss
    [0.60, 0.50, 0.42], // walnut
];
/// Fixed and scripted solids: grey, so that the eye goes to what moves.
const GREY: [f64; 3] = [0.62, 0.63, 0.65];
/// Ropes are drawn no thinner than this share of the whole.
const ROPE: f64 = 0.005;

impl Figure {
    /// Looks at every solid once, and at every joint for the stick figures and the extent.
    pub fn new(m: &Mechanism, s: &State) -> Self {
        Self::with_skins(m, s, &[])
    }

    /// The same, knowing what lies beneath skins.
    pub fn with_skins(m: &Mechanism, s: &State, skins: &[Surface]) -> Self {
        let hidden = Hidden::new(skins);
        let anchors = anchors_of_bare_solids(m);
        let poses: Vec<Pose> =
            (0..m.solids().len()).map(|i| drawable(s.pose(m, SolidId(i as u32)))).collect();
        let mut bounds = Bounds::default();
        for (solid, pose) in m.solids().iter().zip(&poses).skip(1) {
            for shape in solid.shapes.iter().filter(|s| !matches!(s.shape, Shape::Plane)) {
                bounds.add(pose.transform_point(shape.pose.translation), shape.extent());
            }
            if solid.shapes.is_empty() {
                bounds.add(pose.translation, 0.0);
            }
        }
        // (Vertices of soft bodies are among the solids without shape.)
        for joint in m.joints() {
            for region in &joint.regions {
                if let Region::Curve(curve) = region {
                    let pose = poses[joint.frames[1].solid.index()];
                    curve.points().iter().for_each(|p| bounds.add(pose.transform_point(*p), 0.0));
                }
            }
        }
        for frame in m.joints().iter().flat_map(|j| &j.frames) {
            bounds.add(poses[frame.solid.index()].transform_point(frame.pose.translation), 0.0);
        }
        let (center, radius) = bounds.ball();
        let mut parts = Vec::new();
        for (i, solid) in m.solids().iter().enumerate().skip(1) {
            if m.soft_of(SolidId(i as u32)).is_some() {
                continue;
            }
            let (shapes, covered): (Vec<PlacedShape>, Vec<bool>) =
                if solid.shapes.is_empty() && solid.is_fixed() {
                    continue; // nothing to see: formats mark its joints as grounded instead
                } else if solid.shapes.is_empty() {
                    let worn = hidden.solids.contains(&(i as u32));
                    stick_figure(solid, &anchors[i], radius * 0.012).into_iter().map(|s| (s, worn)).unzip()
                } else {
                    let shapes = solid.shapes.iter().enumerate().filter(|(_, s)| is_drawable(s));
                    shapes.map(|(k, s)| (s.clone(), hidden.shapes.contains(&(i as u32, k)))).unzip()
                };
            if !shapes.is_empty() {
                let (name, color) = (solid.name.clone(), color(m, SolidId(i as u32)));
                let solid = SolidId(i as u32);
                parts.push(Part { name, solid, shapes, covered, color, pose: poses[i], wire: false });
            }
        }
        for joint in m.joints() {
            let solid = joint.frames[1].solid;
            for region in &joint.regions {
                if let Region::Curve(curve) = region {
                    let name = format!("{} wire", m.solid(solid).name);
                    let (shapes, pose) = (wire(curve, radius * 0.006), poses[solid.index()]);
                    let covered = vec![false; shapes.len()];
                    parts.push(Part { name, solid, shapes, covered, color: GREY, pose, wire: true });
                }
            }
        }
        let g = m.gravity;
        let up = if g.z.abs() > g.y.abs() { Vector::Z } else { Vector::Y };
        let softs = m.softs().iter().enumerate().map(|(k, soft)| SoftPart {
            name: soft.name.clone(),
            color: soft_color(m, k),
            places: poses[soft.range()].iter().map(|p| p.translation).collect(),
            radius: (0.5 * soft.mesh.thickness).max(ROPE * radius),
        });
        let softs = softs.collect();
        Self { parts, softs, center, radius, up }
    }
}

/// What lies beneath skins: shapes by solid and number, and solids that have none.
struct Hidden {
    shapes: BTreeSet<(u32, usize)>,
    solids: BTreeSet<u32>,
}

impl Hidden {
    fn new(skins: &[Surface]) -> Self {
        let shapes = skins.iter().flat_map(|s| &s.covered).map(|(id, k)| (id.0, *k)).collect();
        let solids = skins.iter().flat_map(|s| &s.bones).flat_map(|b| b.solids).map(|id| id.0).collect();
        Self { shapes, solids }
    }
}

/// The colour of a solid: its own, grey when nothing moves it, or one of the palette.
pub(crate) fn color(m: &Mechanism, id: SolidId) -> [f64; 3] {
    let solid = m.solid(id);
    match solid.color {
        Some(c) => c.map(|x| if x.is_finite() { x.clamp(0.0, 1.0) } else { 0.5 }),
        None if solid.is_fixed() => GREY,
        None => PALETTE[id.index().saturating_sub(1) % PALETTE.len()],
    }
}

/// The colour of a soft body: its own, or one of the palette.
fn soft_color(m: &Mechanism, body: usize) -> [f64; 3] {
    match m.softs()[body].mesh.color {
        Some(c) => c.map(|x| if x.is_finite() { x.clamp(0.0, 1.0) } else { 0.5 }),
        // Not the colours that the first solids have.
        None => PALETTE[(body + 4) % PALETTE.len()],
    }
}

/// Joint points of every solid that has no shape of its own.
fn anchors_of_bare_solids(m: &Mechanism) -> Vec<Vec<Vector>> {
    let mut anchors = vec![Vec::new(); m.solids().len()];
    for frame in m.joints().iter().flat_map(|j| &j.frames) {
        if m.solid(frame.solid).shapes.is_empty() && frame.solid != SolidId::WORLD {
            anchors[frame.solid.index()].push(frame.pose.translation);
        }
    }
    anchors
}

/// A ball at the centre of mass with a rod to every joint: shows a solid that has no shape.
fn stick_figure(solid: &Solid, anchors: &[Vector], radius: f64) -> Vec<PlacedShape> {
    let center = solid.mass.center;
    let ball = PlacedShape::sphere(2.0 * radius).moved(Pose::from_translation(center));
    let rods = anchors
        .iter()
        .filter(|a| (**a - center).length() > radius)
        .map(|a| PlacedShape::capsule_between(radius, center, *a));
    std::iter::once(ball).chain(rods).filter(is_drawable).collect()
}

/// A curve that points are held to, as a bent wire.
fn wire(curve: &Curve, radius: f64) -> Vec<PlacedShape> {
    const PIECES: usize = 240;
    let at = |i: usize| curve.position(curve.length() * i as f64 / PIECES as f64);
    (0..PIECES).map(|i| PlacedShape::capsule_between(radius, at(i), at(i + 1))).filter(is_drawable).collect()
}

/// A pose that can be written down: what is not finite becomes zero or the identity.
pub(crate) fn drawable(p: Pose) -> Pose {
    let t = p.translation;
    let ok = t.is_finite() && t.abs().max_element() < FARTHEST;
    let q = p.rotation;
    Pose::from_parts(
        if ok { t } else { Vector::ZERO },
        if q.is_finite() && q.length() > 0.1 { q.normalize() } else { Default::default() },
    )
}

fn is_drawable(s: &PlacedShape) -> bool {
    let size = |x: f64| x.is_finite() && x < FARTHEST;
    s.pose.is_finite()
        && size(s.pose.translation.length())
        && match &s.shape {
            Shape::Mesh(m) => !m.triangles.is_empty() && m.vertices.iter().all(|v| size(v.length())),
            Shape::Plane => true,
            _ => size(s.extent()) && s.extent() > 0.0,
        }
}

/// A bounding box that ignores what is not finite.
#[derive(Default)]
struct Bounds(Option<(Vector, Vector)>);

impl Bounds {
    fn add(&mut self, at: Vector, radius: f64) {
        if !(at.is_finite() && radius.is_finite() && at.length() < FARTHEST && radius < FARTHEST) {
            return;
        }
        let (low, high) = (at - Vector::splat(radius), at + Vector::splat(radius));
        self.0 = Some(self.0.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
    }

    fn ball(&self) -> (Vector, f64) {
        let (l, h) = self.0.unwrap_or((Vector::splat(-0.5), Vector::splat(0.5)));
        ((l + h) * 0.5, ((h - l).length() * 0.5).max(1e-6))
    }
}
