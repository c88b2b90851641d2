//! One yardstick for everybody: gaps, penetration and energy from poses and velocities alone.

use linkwork::measure::Meter;
use linkwork::{Mechanism, SolidId, State};
use rapier3d_f64::parry::bounding_volume::{Aabb, BoundingVolume};
use rapier3d_f64::parry::query::contact;
use rapier3d_f64::parry::shape::Shape;

/// One shape of one solid.
struct Piece {
    solid: SolidId,
    shape: Box<dyn Shape>,
    local: linkwork::Pose,
    flat: bool,
}

/// Looks at states.
pub struct Yardstick {
    pieces: Vec<Piece>,
    /// Per solid: the lowest one that joints connect it with.
    linkage: Vec<usize>,
    carried: Vec<[usize; 2]>,
    meter: Meter,
    /// The least energy so far.
    least: f64,
    /// What was seen.
    pub seen: Seen,
}

/// The worst of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Joint gap, metres.
    pub gap: f64,
    /// Penetration in the whole run.
    pub penetration: f64,
    /// The same at its end.
    pub at_rest: f64,
    /// Energy above the least there was before, joules.
    pub made: f64,
}

/// Which joints hold solids together, by their lowest solid; the world and what is fixed connects nothing.
pub fn linkages(m: &Mechanism) -> Vec<usize> {
    let mut of: Vec<usize> = (0..m.solids().len()).collect();
    let moves = |s: SolidId| !m.solid(s).is_fixed();
    loop {
        let before = of.clone();
        for j in m.joints() {
            let [a, b] = j.frames.map(|f| f.solid);
            if moves(a) && moves(b) {
                let least = of[a.index()].min(of[b.index()]);
                (of[a.index()], of[b.index()]) = (least, least);
            }
        }
        if before == of {
            return of;
        }
    }
}

/// Solids that do not move, and linkages that they carry: in Linkwork these do not touch, and so they do for nobody here.
pub fn carried(m: &Mechanism, linkage: &[usize]) -> Vec<[usize; 2]> {
    let ends = m.joints().iter().map(|j| j.frames.map(|f| f.solid));
    let mut all: Vec<[usize; 2]> = ends
        .flat_map(|[a, b]| [[a, b], [b, a]])
        .filter(|[frame, other]| m.solid(*frame).is_fixed() && !m.solid(*other).is_fixed())
        .map(|[frame, other]| [frame.index(), linkage[other.index()]])
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

impl Yardstick {
    /// For one mechanism.
    pub fn new(m: &Mechanism) -> Self {
        let mut pieces = Vec::new();
        for (i, solid) in m.solids().iter().enumerate() {
            for s in &solid.shapes {
                if let Ok(shape) = s.collider() {
                    let local = s.pose * s.collider_turn();
                    let flat = matches!(s.shape, linkwork::Shape::Plane);
                    pieces.push(Piece { solid: SolidId(i as u32), shape, local, flat });
                }
            }
        }
        let linkage = linkages(m);
        Self {
            pieces,
            carried: carried(m, &linkage),
            linkage,
            meter: Meter::default(),
            least: f64::INFINITY,
            seen: Seen::default(),
        }
    }

    /// Takes a frame into account; `whole`: penetration, too.
    pub fn see(&mut self, m: &Mechanism, s: &State, whole: bool) {
        let energy = self.meter.energy(m, s).total();
        self.seen.made = self.seen.made.max(energy - self.least);
        self.least = self.least.min(energy);
        self.seen.gap = largest(self.seen.gap, self.meter.gaps(m, s).position);
        if whole {
            self.seen.at_rest = self.penetration(m, s);
            self.seen.penetration = largest(self.seen.penetration, self.seen.at_rest);
        }
    }

    fn penetration(&self, m: &Mechanism, s: &State) -> f64 {
        let poses: Vec<_> = self.pieces.iter().map(|p| s.pose(m, p.solid) * p.local).collect();
        let boxes: Vec<Option<Aabb>> = (self.pieces.iter().zip(&poses))
            .map(|(p, at)| (!p.flat).then(|| p.shape.compute_aabb(at)))
            .collect();
        let mut order: Vec<usize> = (0..boxes.len()).filter(|k| boxes[*k].is_some()).collect();
        let low = |k: usize| boxes[k].map_or(0.0, |b| b.mins.x);
        let high = |k: usize| boxes[k].map_or(0.0, |b| b.maxs.x);
        order.sort_by(|a, b| low(*a).total_cmp(&low(*b)));
        let mut worst = 0.0;
        let mut look = |a: usize, b: usize| {
            if self.may_touch(m, a, b) {
                let found =
                    contact(&poses[a], &*self.pieces[a].shape, &poses[b], &*self.pieces[b].shape, 0.0);
                if let Ok(Some(c)) = found {
                    worst = largest(worst, -c.dist);
                }
            }
        };
        for (i, a) in order.iter().enumerate() {
            for b in order[i + 1..].iter().take_while(|b| low(**b) <= high(*a)) {
                let meet = boxes[*a].zip(boxes[*b]).is_some_and(|(x, y)| x.intersects(&y));
                if meet {
                    look(*a, *b);
                }
            }
        }
        for flat in (0..boxes.len()).filter(|k| boxes[*k].is_none()) {
            order.iter().for_each(|k| look(flat, *k));
        }
        worst
    }

    fn may_touch(&self, m: &Mechanism, a: usize, b: usize) -> bool {
        let flat = self.pieces[a].flat || self.pieces[b].flat;
        let [a, b] = [a, b].map(|k| self.pieces[k].solid);
        let [one, two] = [a, b].map(|s| self.linkage[s.index()]);
        let carried = |x, y| self.carried.binary_search(&[x, y]).is_ok();
        !(m.solid(a).is_fixed() && m.solid(b).is_fixed())
            && one != two
            && (flat || !(carried(one, two) || carried(two, one)))
    }
}

/// What is no number is the largest of all.
fn largest(a: f64, b: f64) -> f64 {
    if b <= a { a } else { b }
}
