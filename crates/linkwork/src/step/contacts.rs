//! What touches, for whoever asks after a step: points with their forces, pairs of solids, impulses of the step.
//!
//! Points are found again from the poses, forces are those that the state remembers. So nobody pays who does not ask, and
//! whatever sleeps, was restored or is looked at in the past has its points like everything else.

use super::Workspace;
use crate::contact::{Collider, Colliders, ContactKey, ContactPair, ContactPoint, Narrow, Point};
use crate::math::{Pose, Vector};
use crate::solid::SolidId;
use crate::state::State;

/// Of the smaller of two shapes, how far apart points are looked at: what pushed at the end of a step is nearer.
pub(super) const NEAR: f64 = 1e-2;

impl Workspace {
    /// The points at which solids touch: those that push, and those without a gap. In the order of their shapes. Empty
    /// before the first step.
    ///
    /// ```
    /// use linkwork::{Mechanism, PlacedShape, Solid, State, StepConfig, Vector, Workspace, step};
    /// let mut m = Mechanism::new();
    /// m.add_solid(Solid { shapes: vec![PlacedShape::plane(Vector::Y)], ..Solid::fixed("floor") })?;
    /// m.add_solid(Solid::new("ball").with_shape(PlacedShape::sphere(0.1), 2.0).at(0.0, 0.1, 0.0))?;
    /// let (mut state, mut workspace) = (State::new(&m), Workspace::default());
    /// for _ in 0..10 {
    ///     step(&m, &mut state, &mut workspace, &StepConfig::default());
    /// }
    /// let points = workspace.contact_points(&state);
    /// assert_eq!(points.len(), 1);
    /// // The floor carries the ball: its weight, upwards.
    /// assert!((points[0].force - Vector::Y * 2.0 * 9.81).length() < 1e-6);
    /// assert!(points[0].normal.distance(Vector::Y) < 1e-9 && points[0].gap.abs() < 1e-6);
    /// # Ok::<(), linkwork::ModelError>(())
    /// ```
    pub fn contact_points(&self, state: &State) -> Vec<ContactPoint> {
        let all = self.near.colliders();
        let forces = remembered(state);
        let known = forces.iter().map(|(key, _)| key.shapes);
        let mut pairs: Vec<[u32; 2]> = self.near.pairs().chain(known).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut out = Vec::new();
        let (mut narrow, mut points) = (Narrow::default(), Vec::new());
        for pair in pairs {
            let Some([a, b]) = both(all, pair) else { continue };
            find(&mut narrow, a, b, state, &mut points);
            let first = forces.partition_point(|(key, _)| key.shapes < pair);
            let last = forces.partition_point(|(key, _)| key.shapes <= pair);
            list([a, b], pair, self.near.surface(a, b).friction, &points, &forces[first..last], &mut out);
        }
        out
    }

    /// The `most` points that push hardest, in the order of their shapes: looks at few pairs, however many there are.
    pub fn strongest_contacts(&self, state: &State, most: usize) -> Vec<ContactPoint> {
        let all = self.near.colliders();
        let mut forces = remembered(state);
        if forces.len() > most {
            // Stable, so that equal ones stay in order.
            forces.sort_by(|a, b| b.1.length_squared().total_cmp(&a.1.length_squared()));
            forces.truncate(most);
            forces.sort_by_key(|(key, _)| *key);
        }
        let mut out = Vec::new();
        let (mut narrow, mut points) = (Narrow::default(), Vec::new());
        for own in forces.chunk_by(|a, b| a.0.shapes == b.0.shapes) {
            let pair = own[0].0.shapes;
            let Some([a, b]) = both(all, pair) else { continue };
            find(&mut narrow, a, b, state, &mut points);
            // Those without a force are not asked for.
            let nearest = points.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)).copied();
            points.retain(|p| own.iter().any(|(key, _)| key.feature == p.feature));
            if points.is_empty() {
                points.extend(nearest);
            }
            let last = out.len();
            list([a, b], pair, self.near.surface(a, b).friction, &points, own, &mut out);
            let cut = out.drain(last..).filter(|p| p.force != Vector::ZERO).collect::<Vec<_>>();
            out.extend(cut);
        }
        out
    }

    /// Forces between pairs of solids as the state remembers them, on the second one, and at how many points. In the order of
    /// the solids. Looks at no shape.
    pub(crate) fn pair_forces(&self, state: &State) -> Vec<([SolidId; 2], usize, Vector)> {
        let all = self.near.colliders();
        let of = |(key, force): (ContactKey, Vector)| {
            both(all, key.shapes).map(|ends| (ends.map(|c| c.solid), 1, force))
        };
        let mut sums: Vec<_> = remembered(state).into_iter().filter_map(of).collect();
        sums.sort_by_key(|p| p.0);
        sums.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 += 1;
                first.2 += later.2;
            }
            same
        });
        sums
    }

    /// Two solids touch somewhere, pushed or not.
    pub(crate) fn meets(&self, state: &State, solids: [SolidId; 2]) -> bool {
        let all = self.near.colliders();
        let (mut narrow, mut points) = (Narrow::default(), Vec::new());
        self.near
            .pairs()
            .filter_map(|pair| both(all, pair))
            .filter(|ends| ends.map(|c| c.solid) == solids)
            .any(|[a, b]| {
                find(&mut narrow, a, b, state, &mut points);
                points.iter().any(|p| p.gap <= 0.0)
            })
    }

    /// Solids that touch, each pair with the sum of its points' forces. In the order of the solids.
    pub fn contact_pairs(&self, state: &State) -> Vec<ContactPair> {
        let mut points = self.contact_points(state);
        points.sort_by_key(|p| p.solids);
        let mut pairs: Vec<ContactPair> = Vec::new();
        for p in &points {
            match pairs.last_mut() {
                Some(pair) if pair.solids == p.solids => pair.add(p),
                _ => pairs.push(ContactPair::of(p)),
            }
        }
        pairs
    }

    /// How many points push, as the state remembers: those of sleepers, too.
    pub fn contact_count(state: &State) -> usize {
        state.memory.islands.iter().map(|i| i.contacts.len()).sum()
    }

    /// Knows the shapes before the first step, for who asks for points then. Islands are left alone: whether they are known
    /// decides who is woken, and looking must change nothing.
    pub(crate) fn look(&mut self, m: &crate::Mechanism, c: &super::StepConfig) {
        if !self.is_made() {
            self.near.look(m, c);
        }
    }

    /// Impulses that pairs of solids gave each other in the last step, on the second of them, all substeps and blows
    /// together. In the order of the solids. What sleeps gave none.
    pub fn contact_impulses(&self) -> Vec<([SolidId; 2], Vector)> {
        let all = self.near.colliders();
        let mut sums: Vec<([SolidId; 2], Vector)> = Vec::new();
        for k in &self.awake {
            let Some(island) = self.islands.get(*k) else { continue };
            let of = |(pair, push): &([u32; 2], Vector)| {
                both(all, *pair).map(|ends| (ends.map(|c| c.solid), *push))
            };
            sums.extend(island.work.touch.tally.pairs().iter().filter_map(of));
        }
        sums.sort_by_key(|(solids, _)| *solids);
        sums.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 += later.1;
            }
            same
        });
        sums
    }
}

/// Forces that the state remembers, in the order of their points.
fn remembered(state: &State) -> Vec<(ContactKey, Vector)> {
    let all = state.memory.islands.iter().flat_map(|i| &i.contacts);
    let mut forces: Vec<_> = all.map(|c| (c.key, Vector::from_array(c.force))).collect();
    forces.sort_by_key(|(key, _)| *key);
    forces
}

fn both(all: &Colliders, pair: [u32; 2]) -> Option<[&Collider; 2]> {
    let [a, b] = pair.map(|k| all.all.get(k as usize));
    Some([a?, b?])
}

/// The points of two colliders where they are.
fn find(narrow: &mut Narrow, a: &Collider, b: &Collider, s: &State, points: &mut Vec<Point>) {
    let pose = |id: SolidId| match s.centers.get(id.index()) {
        Some(center) => Pose::from_parts(*center, s.rotations[id.index()]),
        None => Pose::IDENTITY,
    };
    points.clear();
    let margin = NEAR * a.size.min(b.size).max(1e-3);
    narrow.points(a, &pose(a.solid), b, &pose(b.solid), margin, points);
}

/// The point of a feature. What pushed has another number here where features change with the margin: the nearest point tells
/// where then.
pub(super) fn nearest(points: &[Point], feature: u32) -> Option<&Point> {
    let same = points.iter().find(|p| p.feature == feature);
    same.or_else(|| points.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)))
}

/// Appends the points of a pair that touch, with their forces.
fn list(
    [a, b]: [&Collider; 2],
    pair: [u32; 2],
    friction: f64,
    points: &[Point],
    forces: &[(ContactKey, Vector)],
    out: &mut Vec<ContactPoint>,
) {
    let told = |p: &Point, key: ContactKey, force: Vector| ContactPoint {
        solids: [a.solid, b.solid],
        key,
        point: p.at,
        normal: p.normal,
        gap: p.gap,
        force,
        friction,
    };
    let first = out.len();
    for (key, force) in forces {
        if let Some(p) = nearest(points, key.feature) {
            out.push(told(p, *key, *force));
        }
    }
    for p in points.iter().filter(|p| p.gap <= 0.0) {
        let key = ContactKey { shapes: pair, feature: p.feature };
        if !forces.iter().any(|(k, _)| *k == key) {
            out.push(told(p, key, Vector::ZERO));
        }
    }
    out[first..].sort_by_key(|p| p.key);
}
