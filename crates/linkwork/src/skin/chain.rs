//! A chain of solids at rest: where the skin's curve enters and leaves each of them.

use crate::formats::figure::FARTHEST;
use crate::joint::{Joint, Mask};
use crate::math::{Pose, Vector, unit};
use crate::mechanism::Mechanism;
use crate::shape::{PlacedShape, Shape};
use crate::solid::{Solid, SolidId};
use crate::state::State;
use crate::step::assemble::{AssembleConfig, Outcome, assemble};
use std::collections::BTreeMap;

/// Longer chains than this are not assembled for their rest pose.
const ASSEMBLED: usize = 500;

/// One solid of a chain.
pub(super) struct Link {
    pub solid: SolidId,
    pub rest: Pose,
    /// Where the curve enters and leaves it, in its frame.
    pub ends: [Vector; 2],
    pub radius: f64,
}

impl Link {
    /// Where it is entered or left at rest.
    pub fn end(&self, k: usize) -> Vector {
        self.rest.transform_point(self.ends[k])
    }
}

/// Solids in order; those without any length along the curve are left out.
pub(super) struct Chain {
    pub links: Vec<Link>,
    /// Radii of the two ends.
    pub tips: [f64; 2],
    /// Rest poses of all solids that were asked for.
    pub rest: Vec<Pose>,
}

impl Chain {
    /// `None` when the solids are nowhere.
    pub fn new(m: &Mechanism, over: &[SolidId], radii: &[f64]) -> Option<Self> {
        let places: BTreeMap<u32, usize> = over.iter().enumerate().map(|(i, id)| (id.0, i)).collect();
        if places.len() < over.len() {
            return None;
        }
        let joints = holds(m, &places);
        let rest = rest_poses(m, over, &places, &joints);
        let far = |p: &Pose| !p.is_finite() || !(p.translation.abs().max_element() < FARTHEST);
        if rest.iter().any(far) {
            return None;
        }
        let between: Vec<[Vector; 2]> = joints
            .iter()
            .enumerate()
            .map(|(i, joint)| match joint {
                Some(hold) => hold.points,
                None => middle(m, [over[i], over[i + 1]], [rest[i], rest[i + 1]]),
            })
            .collect();
        let (first, last) = (0, over.len() - 1);
        let solid = |i: usize| m.solid(over[i]);
        let (start, end) = if first == last {
            whole(solid(0), radii[0])
        } else {
            let tip = |i: usize, joint: Vector| tip(solid(i), joint, &anchors(m, over[i]), radii[i]);
            (tip(first, between[0][0]), tip(last, between[last - 1][1]))
        };
        let mut links: Vec<Link> = (first..=last)
            .map(|i| {
                let enter = if i == first { start.at } else { between[i - 1][1] };
                let leave = if i == last { end.at } else { between[i][0] };
                Link { solid: over[i], rest: rest[i], ends: [enter, leave], radius: radii[i] }
            })
            .collect();
        // A cross piece whose joints are all in one point has no length: its neighbours meet there.
        let kept = links.iter().any(|l| length(l) > least(l));
        if kept {
            links.retain(|l| length(l) > least(l));
        } else {
            links.truncate(1);
        }
        Some(Self { links, tips: [start.radius, end.radius], rest })
    }
}

fn length(l: &Link) -> f64 {
    (l.ends[1] - l.ends[0]).length()
}

/// Shorter ones count as points.
fn least(l: &Link) -> f64 {
    0.02 * l.radius
}

/// What holds two neighbours together, best: a point of each, and how well it holds them.
#[derive(Clone, Copy)]
struct Hold {
    points: [Vector; 2],
    rate: u8,
}

/// A whole point is held, not a line or a distance.
const POINT: u8 = 3;

/// Per pair of neighbours the joint that holds them best.
fn holds(m: &Mechanism, places: &BTreeMap<u32, usize>) -> Vec<Option<Hold>> {
    let rate = |j: &Joint| match () {
        () if j.lock.0 & Mask::POINT.0 == Mask::POINT.0 => POINT,
        () if j.lock.0 & Mask::POINT.0 != 0 || !j.regions.is_empty() => 2,
        () if j.distance.is_some() => 1,
        () => 0,
    };
    let mut best: Vec<Option<Hold>> = vec![None; places.len().saturating_sub(1)];
    for j in m.joints() {
        let [Some(a), Some(b)] = j.frames.map(|f| places.get(&f.solid.0).copied()) else { continue };
        let [p, q] = j.frames.map(|f| f.pose.translation);
        let (points, pair) = if b == a + 1 { ([p, q], a) } else { ([q, p], b) };
        let rate = rate(j);
        if a.abs_diff(b) == 1 && rate > best[pair].map_or(0, |h| h.rate) {
            best[pair] = Some(Hold { points, rate });
        }
    }
    best
}

/// The middle between two solids that nothing joins, as a point of each.
fn middle(m: &Mechanism, solids: [SolidId; 2], rest: [Pose; 2]) -> [Vector; 2] {
    let [a, b] = [0, 1].map(|k| rest[k].transform_point(centroid(m.solid(solids[k]))));
    rest.map(|pose| pose.inverse().transform_point((a + b) * 0.5))
}

/// The declared poses, with the chain's joints closed: neighbours are shifted until they meet, and where that is not
/// enough (hinges with other axes than the solids are turned to) the chain is assembled by itself.
fn rest_poses(
    m: &Mechanism,
    over: &[SolidId],
    places: &BTreeMap<u32, usize>,
    joints: &[Option<Hold>],
) -> Vec<Pose> {
    let mut rest: Vec<Pose> = over.iter().map(|id| m.solid(*id).pose).collect();
    let mut shift = Vector::ZERO;
    for i in 1..rest.len() {
        rest[i].translation += shift;
        if let Some(Hold { points: [a, b], .. }) = joints[i - 1].filter(|h| h.rate == POINT) {
            let gap = rest[i - 1].transform_point(a) - rest[i].transform_point(b);
            rest[i].translation += gap;
            shift += gap;
        }
    }
    if over.len() > ASSEMBLED { rest } else { assembled(m, over, places, &rest).unwrap_or(rest) }
}

/// The chain assembled from these poses, without the rest of the mechanism; `None` when it fits already, or never does.
fn assembled(
    m: &Mechanism,
    over: &[SolidId],
    places: &BTreeMap<u32, usize>,
    rest: &[Pose],
) -> Option<Vec<Pose>> {
    let mut own = Mechanism::new();
    let mut ids = Vec::with_capacity(over.len());
    for (id, pose) in over.iter().zip(rest) {
        let solid = m.solid(*id);
        // A unit ball stands for the solid: only its geometry matters here, and a world or script must not hold it.
        let mut stand_in = Solid::new(&solid.name).with_shape(PlacedShape::sphere(1.0), 1.0);
        stand_in.pose = *pose;
        ids.push(own.add_solid(stand_in).ok()?);
    }
    for j in m.joints().iter().filter(|j| j.enabled) {
        let [Some(a), Some(b)] = j.frames.map(|f| places.get(&f.solid.0).copied()) else { continue };
        let mut joint = j.clone();
        joint.frames[0].solid = ids[a];
        joint.frames[1].solid = ids[b];
        joint.drives.clear();
        own.add_joint(joint).ok()?;
    }
    let mut state = State::new(&own);
    let report = assemble(&own, &mut state, &AssembleConfig::default());
    let moved = report.iterations > 0 && report.outcome == Outcome::Ok;
    moved.then(|| ids.iter().map(|id| state.pose(&own, *id)).collect())
}

/// Centre of the shapes' volume; of mass where there are none.
fn centroid(solid: &Solid) -> Vector {
    let parts: Vec<(f64, Vector)> = solid
        .shapes
        .iter()
        .map(|s| s.mass_properties(1.0))
        .filter(|p| p.mass.is_finite() && p.mass > 0.0 && p.center.is_finite())
        .map(|p| (p.mass, p.center))
        .collect();
    let volume: f64 = parts.iter().map(|p| p.0).sum();
    if volume > 0.0 && volume.is_finite() {
        parts.iter().map(|(v, c)| *c * *v).sum::<Vector>() / volume
    } else {
        solid.mass.center
    }
}

/// An end of the skin: its centre in the solid's frame, and its radius.
struct Tip {
    at: Vector,
    radius: f64,
}

/// A ball inside a shape that reaches its surface at one end: middle and radius.
fn balls(placed: &PlacedShape, list: &mut Vec<(Vector, f64)>) {
    let mut both = |half: Vector, radius: f64| {
        for side in [-1.0, 1.0] {
            list.push((placed.pose.transform_point(half * side), radius));
        }
    };
    match &placed.shape {
        Shape::Sphere(r) => list.push((placed.pose.translation, *r)),
        Shape::Capsule { radius, length } => both(Vector::X * (0.5 * length), *radius),
        Shape::Cylinder { radius, length } => {
            let r = radius.min(0.5 * length);
            both(Vector::X * (0.5 * length - r), r);
        }
        Shape::Box(size) => {
            let half = *size * 0.5;
            let mut axes = [(half.x, Vector::X), (half.y, Vector::Y), (half.z, Vector::Z)];
            axes.sort_by(|a, b| b.0.total_cmp(&a.0));
            both(axes[0].1 * (axes[0].0 - axes[1].0), axes[1].0);
        }
        Shape::Plane => {}
        Shape::Mesh(mesh) => {
            list.extend(mesh.vertices.iter().map(|v| (placed.pose.transform_point(*v), 0.0)));
        }
    }
}

/// Points of a solid that joints hold.
fn anchors(m: &Mechanism, id: SolidId) -> Vec<Vector> {
    let frames = m.joints().iter().flat_map(|j| &j.frames);
    frames.filter(|f| f.solid == id).map(|f| f.pose.translation).collect()
}

/// Where a solid that is entered at `joint` ends: at the farthest of its shapes that is about in line with it.
fn tip(solid: &Solid, joint: Vector, anchors: &[Vector], radius: f64) -> Tip {
    let mut list = Vec::new();
    solid.shapes.iter().for_each(|s| balls(s, &mut list));
    if list.is_empty() {
        list.extend(anchors.iter().map(|a| (*a, radius)));
        list.push((solid.mass.center, radius));
    }
    let aim = unit(centroid(solid) - joint);
    let beside = |p: Vector| aim.map_or(0.0, |d| (p - joint - d * d.dot(p - joint)).length());
    let reach = |(p, r): (Vector, f64)| {
        let along = aim.map_or((p - joint).length(), |d| d.dot(p - joint));
        (beside(p) <= radius).then_some(along + r)
    };
    let best = list.iter().filter_map(|b| Some((reach(*b)?, *b))).max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((_, (at, r))) => inset(at, r, joint, radius),
        None => Tip { at: centroid(solid), radius },
    }
}

/// The end of a skin that touches the far side of a ball seen from `joint`.
fn inset(at: Vector, ball: f64, joint: Vector, radius: f64) -> Tip {
    // A tip is not sharper than this, and a vertex of a mesh is no ball at all.
    let own = if ball > 0.0 { ball.clamp(0.25 * radius, radius) } else { 0.7 * radius };
    let way = at - joint;
    match unit(way) {
        Some(d) => Tip { at: joint + d * (way.length() + ball - own).max(0.0), radius: own },
        None => Tip { at, radius: own },
    }
}

/// Both ends of a solid that is alone under its skin: as far apart as its shapes let them.
fn whole(solid: &Solid, radius: f64) -> (Tip, Tip) {
    let mut list = Vec::new();
    solid.shapes.iter().for_each(|s| balls(s, &mut list));
    let center = centroid(solid);
    let far = |from: Vector| {
        let reach = |b: &(Vector, f64)| (b.0 - from).length() + b.1;
        list.iter().copied().max_by(|a, b| reach(a).total_cmp(&reach(b))).unwrap_or((center, radius))
    };
    let one = far(center);
    let two = far(one.0);
    let middle = (one.0 + two.0) * 0.5;
    (inset(one.0, one.1, middle, radius), inset(two.0, two.1, middle, radius))
}
