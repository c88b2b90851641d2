//! The surface at rest: a centripetal Catmull-Rom curve through the chain's joints, swept by circles.
//!
//! Frames along the curve turn as little as they can (double reflection: Wang et al. 2008), radii are interpolated without
//! overshoot (Fritsch & Carlson 1980), and never larger than the curve's own radius, so that neighbouring
//! circles do not cross. The ends are half spheres.

use super::chain::{Chain, Link};
use super::{BETWEEN, Bone, Ring, Surface};
use crate::formats::tessellate::{Detail, tessellate};
use crate::math::{Pose, Rotation, Vector, perpendicular, trig, unit};
use crate::mechanism::Mechanism;
use crate::shape::Shape;
use crate::solid::SolidId;
use std::f64::consts::{FRAC_PI_2, TAU};

/// A joint bends the skin this many radii to both sides, as far as there is room for it.
const WINDOW: f64 = 2.0;
/// A circle is at most this large, in radii of the curve.
const TIGHTEST: f64 = 0.85;
/// The radius changes by at most so much per length where the curve limits it.
const SLOPE: f64 = 0.8;
/// A shape that reaches out of the skin by more than this, in radii, is not beneath it.
const STICKS_OUT: f64 = 1.5;

/// How finely a chain is cut: long chains get fewer corners a solid.
struct Cuts {
    around: usize,
    /// Rings to each side of a joint.
    window: usize,
    /// Most rings between two joints' windows.
    plain: usize,
    /// Rings of an end.
    cap: usize,
}

impl Cuts {
    fn new(solids: usize) -> Self {
        match solids {
            0..=64 => Self { around: 28, window: 9, plain: 10, cap: 8 },
            65..=500 => Self { around: 18, window: 6, plain: 4, cap: 6 },
            _ => Self { around: 10, window: 3, plain: 1, cap: 4 },
        }
    }
}

/// A smooth curve through knots, by arc length.
struct Curve {
    knots: Vec<Vector>,
    /// Derivatives at the knots, and the length of each segment in the parameter.
    tangents: Vec<Vector>,
    steps: Vec<f64>,
    /// Arc length at evenly spaced parameters of each segment.
    arcs: Vec<f64>,
}

/// Pieces in which a segment's arc length is measured.
const PIECES: usize = 32;

impl Curve {
    fn new(knots: Vec<Vector>) -> Self {
        let steps: Vec<f64> = knots.windows(2).map(|w| (w[1] - w[0]).length().sqrt().max(1e-9)).collect();
        let slope = |i: usize| (knots[i + 1] - knots[i]) / steps[i];
        let mut tangents = vec![Vector::ZERO; knots.len()];
        for i in 1..knots.len().saturating_sub(1) {
            let across = (knots[i + 1] - knots[i - 1]) / (steps[i - 1] + steps[i]);
            let t = slope(i - 1) - across + slope(i);
            // In a hairpin nothing is left of it: the curve then turns round to some side.
            let size = slope(i - 1).length().min(slope(i).length());
            tangents[i] = match unit(slope(i - 1)) {
                Some(d) if t.length() < 0.05 * size => perpendicular(d) * size,
                _ => t,
            };
        }
        if let [first, .., last] = knots[..] {
            let n = knots.len() - 1;
            if n == 1 {
                tangents = vec![(last - first) / steps[0]; 2];
            } else {
                tangents[0] = slope(0) * 1.5 - tangents[1] * 0.5;
                tangents[n] = slope(n - 1) * 1.5 - tangents[n - 1] * 0.5;
            }
        }
        let mut curve = Self { knots, tangents, steps, arcs: vec![0.0] };
        let mut arc = 0.0;
        for i in 0..curve.steps.len() {
            let mut last = curve.knots[i];
            for k in 1..=PIECES {
                let next = curve.point(i, k as f64 / PIECES as f64).0;
                arc += (next - last).length();
                curve.arcs.push(arc);
                last = next;
            }
        }
        curve
    }

    /// Position and derivative, `x` of the way along a segment (cubic Hermite).
    fn point(&self, segment: usize, x: f64) -> (Vector, Vector) {
        let (p, q, h) = (self.knots[segment], self.knots[segment + 1], self.steps[segment]);
        let (a, b) = (self.tangents[segment] * h, self.tangents[segment + 1] * h);
        let (x2, x3) = (x * x, x * x * x);
        let at = p * (2.0 * x3 - 3.0 * x2 + 1.0)
            + a * (x3 - 2.0 * x2 + x)
            + q * (3.0 * x2 - 2.0 * x3)
            + b * (x3 - x2);
        let way = (q - p) * (6.0 * x - 6.0 * x2) + a * (3.0 * x2 - 4.0 * x + 1.0) + b * (3.0 * x2 - 2.0 * x);
        (at, way)
    }

    fn length(&self) -> f64 {
        self.arcs.last().copied().unwrap_or(0.0)
    }

    /// Arc length at a knot.
    fn arc(&self, knot: usize) -> f64 {
        self.arcs[knot * PIECES]
    }

    /// Position and derivative at an arc length.
    fn at(&self, s: f64) -> (Vector, Vector) {
        if self.steps.is_empty() {
            return (self.knots[0], Vector::X);
        }
        let k = self.arcs.partition_point(|a| *a <= s).clamp(1, self.arcs.len() - 1) - 1;
        let piece = self.arcs[k + 1] - self.arcs[k];
        let x = if piece > 0.0 { ((s - self.arcs[k]) / piece).clamp(0.0, 1.0) } else { 0.0 };
        self.point(k / PIECES, ((k % PIECES) as f64 + x) / PIECES as f64)
    }
}

/// Values between points, smooth and without overshoot. Constant beyond the ends, where its slope is zero.
struct Profile(Vec<(f64, f64)>, Vec<f64>);

impl Profile {
    /// Points in order of `x`; of several at one place the last counts.
    fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut list: Vec<(f64, f64)> = Vec::new();
        for p in points {
            match list.last_mut() {
                Some(last) if p.0 <= last.0 + 1e-12 => last.1 = p.1,
                _ => list.push(p),
            }
        }
        let slope = |i: usize| (list[i + 1].1 - list[i].1) / (list[i + 1].0 - list[i].0);
        let mut slopes = vec![0.0; list.len()];
        for i in 1..list.len().saturating_sub(1) {
            let (a, b) = (slope(i - 1), slope(i));
            let (h, g) = (list[i].0 - list[i - 1].0, list[i + 1].0 - list[i].0);
            if a * b > 0.0 {
                let (v, w) = (2.0 * g + h, g + 2.0 * h);
                slopes[i] = (v + w) / (v / a + w / b);
            }
        }
        Self(list, slopes)
    }

    fn at(&self, x: f64) -> f64 {
        let Self(p, slopes) = self;
        let k = p.partition_point(|q| q.0 <= x);
        if k == 0 || k == p.len() {
            return p.get(k.saturating_sub(1)).map_or(0.0, |q| q.1);
        }
        let (a, b, h) = (p[k - 1], p[k], p[k].0 - p[k - 1].0);
        let t = (x - a.0) / h;
        let (t2, t3) = (t * t, t * t * t);
        a.1 * (2.0 * t3 - 3.0 * t2 + 1.0)
            + slopes[k - 1] * h * (t3 - 2.0 * t2 + t)
            + b.1 * (3.0 * t2 - 2.0 * t3)
            + slopes[k] * h * (t3 - t2)
    }
}

/// The whole surface; `None` when it has no size.
pub(super) fn sweep(chain: &Chain) -> Option<Surface> {
    let links = &chain.links;
    let cuts = Cuts::new(links.len());
    let curve = Curve::new(knots(links));
    let radius = radii(chain, &curve);
    let windows = windows(links, &curve, &radius);
    let places = places(&curve, &windows, &radius, &cuts);
    let mut rings = circles(&curve, &places, &radius);
    if rings.iter().any(|c| !(c.at.is_finite() && c.radius > 0.0)) {
        return None;
    }
    add_caps(&mut rings, &cuts);
    let bones = bones(links, &windows);
    let mut surface = Surface {
        name: String::new(),
        color: None,
        positions: Vec::new(),
        normals: Vec::new(),
        triangles: Vec::new(),
        around: cuts.around,
        rings: Vec::with_capacity(rings.len()),
        bones,
        covered: Vec::new(),
    };
    for c in &rings {
        let (bones, weights) = weights(&windows, c.arc);
        let solid = owner(&surface.bones, &bones, &weights);
        surface.rings.push(Ring { center: c.at, radius: c.radius, bones, weights, solid });
        let corners = if c.radius > 0.0 { cuts.around } else { 1 };
        for k in 0..corners {
            let a = TAU * k as f64 / cuts.around as f64;
            let out = c.u * trig::cos(a) + c.way.cross(c.u) * trig::sin(a);
            surface.positions.push(c.at + out * c.radius);
        }
    }
    surface.triangles = triangles(rings.len(), cuts.around as u32);
    surface.normals = normals(&surface.positions, &surface.triangles);
    Some(surface)
}

/// Tip, joints, tip.
fn knots(links: &[Link]) -> Vec<Vector> {
    let mut knots: Vec<Vector> = links.first().map(|l| l.end(0)).into_iter().collect();
    for pair in links.windows(2) {
        knots.push((pair[0].end(1) + pair[1].end(0)) * 0.5);
    }
    knots.extend(links.last().map(|l| l.end(1)));
    // A ball is a skin, too: it has one knot.
    if knots.len() == 2 && (knots[1] - knots[0]).length() <= 1e-9 * links[0].radius {
        knots.truncate(1);
    }
    knots
}

/// The radius along the curve: each solid's in its middle, and those of the tips.
fn radii(chain: &Chain, curve: &Curve) -> Profile {
    let middle = |i: usize| 0.5 * (curve.arc(i) + curve.arc(i + 1));
    let segments = curve.steps.len();
    let inner = (0..segments).map(|i| (middle(i), chain.links[i].radius));
    if segments == 0 {
        return Profile::new([(0.0, chain.tips[0].max(chain.tips[1]))]);
    }
    let ends = [(0.0, chain.tips[0]), (curve.length(), chain.tips[1])];
    Profile::new(std::iter::once(ends[0]).chain(inner).chain(std::iter::once(ends[1])))
}

/// Where the joints bend the skin: from, joint, to. As far to the one side as to the other, so that weights are smooth.
fn windows(links: &[Link], curve: &Curve, radius: &Profile) -> Vec<[f64; 3]> {
    let room = |segment: usize| {
        let outer = segment == 0 || segment + 1 == links.len();
        let share = if outer { 0.8 } else { 0.5 };
        share * (curve.arc(segment + 1) - curve.arc(segment))
    };
    (1..links.len())
        .map(|j| {
            let (s, reach) = (curve.arc(j), WINDOW * radius.at(curve.arc(j)));
            let reach = reach.min(room(j - 1)).min(room(j));
            [s - reach, s, s + reach]
        })
        .collect()
}

/// Arc lengths of the rings.
fn places(curve: &Curve, windows: &[[f64; 3]], radius: &Profile, cuts: &Cuts) -> Vec<f64> {
    let mut list = vec![0.0];
    // Evenly up to `to`, which is among them.
    let mut go = |to: f64, pieces: usize| {
        let from = list.last().copied().unwrap_or(0.0);
        if to - from > 1e-9 * curve.length() {
            list.extend((1..=pieces).map(|k| from + (to - from) * k as f64 / pieces as f64));
        }
    };
    let plain = |from: f64, to: f64| {
        let pieces = (to - from) / (0.3 * radius.at(0.5 * (from + to)));
        (pieces.ceil() as usize).clamp(1, cuts.plain)
    };
    let mut last = 0.0;
    for [from, joint, to] in windows {
        go(*from, plain(last, *from));
        go(*joint, cuts.window);
        go(*to, cuts.window);
        last = *to;
    }
    go(curve.length(), plain(last, curve.length()).max(cuts.plain.min(4)));
    list
}

/// A circle of the tube.
struct Circle {
    arc: f64,
    at: Vector,
    radius: f64,
    /// Along the curve, and across it where the circle's corners begin.
    way: Vector,
    u: Vector,
}

fn circles(curve: &Curve, places: &[f64], radius: &Profile) -> Vec<Circle> {
    let mut list: Vec<Circle> = Vec::with_capacity(places.len() + 20);
    for &arc in places {
        let (at, way) = curve.at(arc);
        let way = unit(way).or(list.last().map(|c| c.way)).unwrap_or(Vector::X);
        let u = list.last().map_or_else(|| perpendicular(way), |last| reflect_twice(last, at, way));
        list.push(Circle { arc, at, radius: radius.at(arc), way, u });
    }
    limit(&mut list);
    list
}

/// The frame that turns least from one circle to the next.
fn reflect_twice(from: &Circle, at: Vector, way: Vector) -> Vector {
    let mirror = |v: Vector, n: Vector| match n.length_squared() {
        0.0 => v,
        square => v - n * (2.0 * n.dot(v) / square),
    };
    let step = at - from.at;
    let (u, t) = (mirror(from.u, step), mirror(from.way, step));
    let u = mirror(u, way - t);
    unit(u - way * way.dot(u)).unwrap_or_else(|| perpendicular(way))
}

/// Circles shrink where the curve is too tight for them, and gently towards such places.
fn limit(list: &mut [Circle]) {
    for k in 1..list.len() {
        let (a, b) = (&list[k - 1], &list[k]);
        let turn = trig::atan2(a.way.cross(b.way).length(), a.way.dot(b.way));
        let most = TIGHTEST * (b.at - a.at).length() / turn.max(1e-12);
        for c in &mut list[k - 1..=k] {
            // Not to nothing: the surface stays one.
            c.radius = c.radius.min(most.max(0.05 * c.radius));
        }
    }
    let reach = |a: &Circle, b: &Circle| a.radius + SLOPE * (b.at - a.at).length();
    // Steeper slopes than this would shade like a step.
    for k in 1..list.len() {
        let most = reach(&list[k - 1], &list[k]);
        list[k].radius = list[k].radius.min(most);
    }
    for k in (1..list.len()).rev() {
        let most = reach(&list[k], &list[k - 1]);
        list[k - 1].radius = list[k - 1].radius.min(most);
    }
}

/// Half spheres before the first circle and behind the last; their poles have radius zero.
fn add_caps(list: &mut Vec<Circle>, cuts: &Cuts) {
    let cap = |c: &Circle, side: f64| -> Vec<Circle> {
        (1..=cuts.cap)
            .map(|k| {
                let a = FRAC_PI_2 * k as f64 / cuts.cap as f64;
                let radius = if k == cuts.cap { 0.0 } else { c.radius * trig::cos(a) };
                let at = c.at + c.way * (side * c.radius * trig::sin(a));
                Circle { arc: c.arc, at, radius, way: c.way, u: c.u }
            })
            .collect()
    };
    let (Some(first), Some(last)) = (list.first(), list.last()) else { return };
    let (mut front, back) = (cap(first, -1.0), cap(last, 1.0));
    front.reverse();
    front.append(list);
    front.extend(back);
    *list = front;
}

/// The solids and what is between them. With `A` and `B` where a joint `P` begins and ends to bend the skin, the bone at
/// `t` is on the parabola `(1-t)^2 A + 2 t (1-t) P + t^2 B`, which is `1-t` of a point of the one solid and `t` of one of
/// the other.
fn bones(links: &[Link], windows: &[[f64; 3]]) -> Vec<Bone> {
    let mut list = Vec::with_capacity((BETWEEN + 1) * links.len());
    for (i, link) in links.iter().enumerate() {
        list.push(Bone {
            solids: [link.solid; 2],
            points: [Vector::ZERO; 2],
            turns: [Rotation::IDENTITY; 2],
            share: 0.0,
            rest: link.rest,
        });
        let Some(next) = links.get(i + 1) else { break };
        let reach = windows[i][2] - windows[i][1];
        let along = |l: &Link| unit(l.ends[1] - l.ends[0]).unwrap_or_default() * reach;
        for k in 1..=BETWEEN {
            let share = k as f64 / (BETWEEN + 1) as f64;
            let mut bone = Bone {
                solids: [link.solid, next.solid],
                points: [link.ends[1] - along(link) * (1.0 - share), next.ends[0] + along(next) * share],
                turns: [link.rest.rotation.inverse(), next.rest.rotation.inverse()],
                share,
                rest: Pose::IDENTITY,
            };
            bone.rest = bone.pose(|id| if id == link.solid { link.rest } else { next.rest });
            list.push(bone);
        }
    }
    list
}

/// Bones and weights by arc length. The control points of the B-spline are the bones in order, each solid twice; `u`
/// counts them, and half way between the two of a solid only that solid counts.
fn weights(windows: &[[f64; 3]], arc: f64) -> ([u16; 4], [f64; 4]) {
    let block = (BETWEEN + 2) as f64;
    // The window that it is in, or the last one before it.
    let window = windows.partition_point(|w| w[0] <= arc);
    let u = match window.checked_sub(1) {
        None => 0.5,
        Some(k) => {
            let [from, _, to] = windows[k];
            0.5 + block * (k as f64 + ((arc - from) / (to - from)).clamp(0.0, 1.0))
        }
    };
    let last = (BETWEEN + 2) * windows.len() + 1;
    let middle = u.round();
    let d = u - middle;
    let parts =
        [(-1.0, 0.5 * (0.5 - d) * (0.5 - d)), (0.0, 0.75 - d * d), (1.0, 0.5 * (0.5 + d) * (0.5 + d))];
    let (mut bones, mut weights, mut used) = ([0; 4], [0.0; 4], 0);
    for (step, w) in parts.into_iter().filter(|(_, w)| *w > 0.0) {
        let control = (middle + step).clamp(0.0, last as f64) as usize;
        let (solid, rest) = (control / (BETWEEN + 2), control % (BETWEEN + 2));
        let bone = ((BETWEEN + 1) * solid + rest.saturating_sub(1)) as u16;
        match bones[..used].iter().position(|b| *b == bone) {
            Some(k) => weights[k] += w,
            None => {
                bones[used] = bone;
                weights[used] = w;
                used += 1;
            }
        }
    }
    let sum: f64 = weights.iter().sum();
    (bones, weights.map(|w| w / sum))
}

/// The solid that counts most at a ring.
fn owner(bones: &[Bone], numbers: &[u16; 4], weights: &[f64; 4]) -> SolidId {
    let mut sums: Vec<(SolidId, f64)> = Vec::new();
    for (number, weight) in numbers.iter().zip(weights) {
        let Some(bone) = bones.get(usize::from(*number)) else { continue };
        for (solid, part) in bone.shares() {
            match sums.iter_mut().find(|s| s.0 == solid) {
                Some(sum) => sum.1 += weight * part,
                None => sums.push((solid, weight * part)),
            }
        }
    }
    let mut best = (SolidId::WORLD, f64::NEG_INFINITY);
    for s in sums {
        // Exactly half way the earlier one has it, whatever the rounding.
        if s.1 > best.1 + 1e-9 {
            best = s;
        }
    }
    best.0
}

/// Rings of `around` corners between two poles.
fn triangles(rings: usize, around: u32) -> Vec<[u32; 3]> {
    let first = |ring: usize| if ring == 0 { 0 } else { 1 + (ring as u32 - 1) * around };
    let mut list = Vec::with_capacity(2 * rings * around as usize);
    for ring in 0..rings.saturating_sub(1) {
        let (a, b) = (first(ring), first(ring + 1));
        for k in 0..around {
            let next = (k + 1) % around;
            if ring == 0 {
                list.push([a, b + next, b + k]);
            } else if ring + 2 == rings {
                list.push([a + k, a + next, b]);
            } else {
                list.push([a + k, a + next, b + next]);
                list.push([a + k, b + next, b + k]);
            }
        }
    }
    list
}

/// Normals of the corners: those of the triangles around them, each by its angle there.
fn normals(positions: &[Vector], triangles: &[[u32; 3]]) -> Vec<Vector> {
    let mut sums = vec![Vector::ZERO; positions.len()];
    for t in triangles {
        let p = t.map(|i| positions[i as usize]);
        let Some(normal) = unit((p[1] - p[0]).normalize_or_zero().cross((p[2] - p[0]).normalize_or_zero()))
        else {
            continue;
        };
        for k in 0..3 {
            let (a, b) = (p[(k + 1) % 3] - p[k], p[(k + 2) % 3] - p[k]);
            sums[t[k] as usize] += normal * trig::atan2(a.cross(b).length(), a.dot(b));
        }
    }
    sums.into_iter().map(|n| n.normalize_or_zero()).collect()
}

/// Shapes of the chain that nowhere stick out of the skin by much.
pub(super) fn covered(
    m: &Mechanism,
    over: &[SolidId],
    chain: &Chain,
    rings: &[Ring],
) -> Vec<(SolidId, usize)> {
    /// Points of a shape that are looked at, and rings for each of them.
    const LOOKS: usize = 400;
    let full: Vec<&Ring> = rings.iter().filter(|r| r.radius > 0.0).collect();
    let mut list = Vec::new();
    for (id, rest) in over.iter().zip(&chain.rest) {
        // Of a long chain only the neighbourhood is looked at.
        let own = full.iter().position(|r| r.solid == *id).unwrap_or(0);
        let near = &full[own.saturating_sub(LOOKS)..(own + LOOKS).min(full.len())];
        for (k, shape) in m.solid(*id).shapes.iter().enumerate() {
            if matches!(shape.shape, Shape::Plane) {
                continue;
            }
            let corners = tessellate(shape, 1.0, Detail::COARSE).positions;
            let out = |p: &Vector| {
                let p = rest.transform_point(*p);
                !near.iter().any(|r| (p - r.center).length() <= STICKS_OUT * r.radius)
            };
            if !corners.iter().step_by(corners.len() / LOOKS + 1).any(out) {
                list.push((*id, k));
            }
        }
    }
    list
}
