//! Contact: which solids may touch, where they do, and how far apart they are.
//!
//! - `collider.rs`: shapes as parry wants them, surfaces, and the pairs that never touch;
//! - `coat.rs`: soft coats, what a dent asks for;
//! - `broad.rs`: pairs whose boxes meet within a step, by sorting along an axis; what rests stays in a tree;
//! - `events.rs`: when pairs begin and end to touch, for whoever follows a run;
//! - `narrow.rs`, `plane.rs`: the points of a pair, each with a normal, a gap and a feature by which it is known again.
//!
//! Everything here is a function of poses and velocities alone: nothing is remembered between steps but forces, which the
//! state keeps under each point's [`ContactKey`]. A manifold that was updated instead of computed would make the future
//! depend on the past of a workspace.

mod broad;
mod coat;
mod collider;
mod events;
mod narrow;
mod plane;
#[cfg(test)]
mod tests;

pub(crate) use broad::Broad;
pub(crate) use coat::{Coat, CoatStep, Dents};
pub(crate) use collider::{Collider, Colliders, Geometry, Surface, obstacles};
pub use events::{ContactEvents, Touching};
pub(crate) use narrow::{Narrow, Point, separation};

use crate::math::Vector;
use crate::mechanism::Mechanism;
use crate::solid::SolidId;
use serde::{Deserialize, Serialize};

/// Are there two solids in it that may ever touch?
///
/// ```
/// use linkwork::{Mechanism, PlacedShape, Solid};
/// let mut m = Mechanism::new();
/// m.add_solid(Solid::new("ball").with_shape(PlacedShape::sphere(0.1), 1000.0))?;
/// assert!(!linkwork::contact::is_possible(&m));
/// m.add_solid(Solid::new("another").with_shape(PlacedShape::sphere(0.1), 1000.0))?;
/// assert!(linkwork::contact::is_possible(&m));
/// # Ok::<(), linkwork::ModelError>(())
/// ```
pub fn is_possible(m: &Mechanism) -> bool {
    let all = Colliders::new(m);
    let pair = |(i, a)| all.all[..i].iter().any(|b| all.may_touch(a, b));
    all.all.iter().enumerate().any(pair)
}

/// By what a point of contact is known from one step to the next: the two shapes, numbered through all solids, and the
/// features that meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContactKey {
    /// Numbers of the two shapes.
    pub shapes: [u32; 2],
    /// Corners, edges or faces that meet, folded into one number.
    pub feature: u32,
}

/// What a step leaves of a point of contact for the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContactMemory {
    /// Which point.
    pub key: ContactKey,
    /// Force on the second solid, world axes, newtons.
    pub force: [f64; 3],
}

/// The receipt of the contacts of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContactReport {
    /// Points that touch at the end of the step.
    pub points: usize,
    /// The deepest of them, metres, from poses. Dents of soft coats are none.
    pub penetration: f64,
    /// The deepest dent of a soft coat, metres.
    pub dent: f64,
    /// The two solids that it is between.
    pub deepest: Option<[SolidId; 2]>,
    /// How far velocities are from the laws of contact: the largest gap, in metres over the step.
    pub residual: f64,
    /// The largest friction beyond the cone, as a part of the largest force.
    pub cone_violation: f64,
    /// Rounds of the contact solver.
    pub rounds: usize,
    /// Islands that were swept, as heaps of solids or crowds of linkages: an exact solve was predicted to cost too much.
    pub heaps: usize,
}

impl ContactReport {
    /// The worse of both in everything: the receipt of a run.
    pub fn worse(&self, other: &ContactReport) -> ContactReport {
        let deeper = if other.penetration > self.penetration { other } else { self };
        ContactReport {
            points: self.points.max(other.points),
            penetration: deeper.penetration,
            dent: self.dent.max(other.dent),
            deepest: deeper.deepest,
            residual: crate::solve::larger(self.residual, other.residual),
            cone_violation: crate::solve::larger(self.cone_violation, other.cone_violation),
            rounds: self.rounds + other.rounds,
            heaps: self.heaps.max(other.heaps),
        }
    }

    pub(crate) fn add(&mut self, other: &ContactReport) {
        self.points += other.points;
        if other.penetration > self.penetration {
            (self.penetration, self.deepest) = (other.penetration, other.deepest);
        }
        self.dent = self.dent.max(other.dent);
        self.residual = crate::solve::larger(self.residual, other.residual);
        self.cone_violation = crate::solve::larger(self.cone_violation, other.cone_violation);
        self.rounds += other.rounds;
        self.heaps += other.heaps;
    }
}

/// A point at which two solids touch, as it is told to whoever asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// The two solids.
    pub solids: [SolidId; 2],
    /// By what it is known again.
    pub key: ContactKey,
    /// Where, world.
    pub point: Vector,
    /// From the first solid to the second.
    pub normal: Vector,
    /// Distance; negative where they overlap.
    pub gap: f64,
    /// Force on the second solid, world axes.
    pub force: Vector,
    /// Coulomb coefficient of the pair.
    pub friction: f64,
}

impl ContactPoint {
    /// The part of the force along the normal, newtons: never negative but for rounding.
    pub fn pressure(&self) -> f64 {
        self.force.dot(self.normal)
    }

    /// Friction: the rest of the force.
    pub fn shear(&self) -> Vector {
        self.force - self.normal * self.pressure()
    }

    /// Friction is at its limit: the point slides, or is about to.
    pub fn slides(&self) -> bool {
        let limit = self.friction * self.pressure();
        limit > 0.0 && self.shear().length() >= 0.999 * limit
    }
}

/// Two solids that touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPair {
    /// Which, the lower one first.
    pub solids: [SolidId; 2],
    /// At how many points.
    pub points: usize,
    /// Sum of the forces on the second solid, world axes, newtons.
    pub force: Vector,
    /// The least distance; negative where they overlap.
    pub gap: f64,
}

impl ContactPair {
    pub(crate) fn of(p: &ContactPoint) -> Self {
        Self { solids: p.solids, points: 1, force: p.force, gap: p.gap }
    }

    pub(crate) fn add(&mut self, p: &ContactPoint) {
        self.points += 1;
        self.force += p.force;
        self.gap = self.gap.min(p.gap);
    }
}

/// Solids began to touch, or parted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactEvent {
    /// Which of both.
    pub kind: ContactEventKind,
    /// End of the step in which it happened, seconds.
    pub time: f64,
    /// End of the step in which they met.
    pub since: f64,
    /// The two solids, the lower one first.
    pub solids: [SolidId; 2],
    /// Impulse on the second solid, N s: at the beginning that of the step in which they met, the blow; at the end all
    /// that went over while they touched.
    pub impulse: Vector,
}

/// What happened between two solids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactEventKind {
    /// They met.
    Begin,
    /// They parted.
    End,
}

impl ContactEventKind {
    /// `begin` or `end`.
    pub fn word(self) -> &'static str {
        match self {
            ContactEventKind::Begin => "begin",
            ContactEventKind::End => "end",
        }
    }
}
