//! Skins: one smooth closed surface over a chain of solids (Gascuel & Gascuel 1994, section 5.1 and Figure 5).
//!
//! The surface is made once, in the chain's rest pose, as a tube about a smooth curve through its joints
//! (`chain.rs` finds the curve's knots, `tube.rs` sweeps it). From then on it is moved by *bones* with linear blend
//! skinning, which every viewer and every glTF reader has in hardware:
//!
//! `x(t) = sum_b w_b B_b(t) B_b(rest)^-1 x(rest)`
//!
//! Linear blending of two solids that are turned against each other by `a` shrinks the middle by `cos(a/2)`: to 0.7 in
//! an elbow of 90 degrees, to nothing in a wrist that is twisted by 180. Dual quaternions do not shrink, but no file format
//! has them. So every joint gets three bones of its own, turned by a quarter, a half and three quarters of what
//! the joint is: neighbours then differ by `a/4`, and 90 degrees cost 2 % of the radius. They sit on the parabola that
//! leaves the one solid where the joint's influence begins and meets the other where it ends, so that an elbow is
//! round, inside too: where there is room, its radius of curvature at 90 degrees is 1.4 times the skin's. The weights along the chain are
//! quadratic B-splines over the bones (three of them a vertex, one continuous derivative: no crease), with every solid
//! counted twice so that away from its joints the skin follows the solid alone.
//!
//! A skin is a function of the mechanism, never of a state: every window, record and moment has the same surface.

mod chain;
mod tube;

use crate::math::{Pose, Rotation, Vector, exp, log};
use crate::mechanism::Mechanism;
use crate::solid::SolidId;
use std::fmt;

/// Most solids in one chain: bones are numbered by 16 bits in glTF, and there are four for each solid.
pub const MOST_SOLIDS: usize = 10_000;

/// Bones between two neighbours of the chain.
const BETWEEN: usize = 3;

/// A surface and what moves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Surface {
    /// What to call it, or empty.
    pub name: String,
    /// Red, green, blue in 0..1, as on a screen (sRGB); `None` for the colours of its solids.
    pub color: Option<[f64; 3]>,
    /// Corners in the rest pose, in the world. The first is the tip at the chain's start, the last that at its end,
    /// between them the rings follow each other with [`around`](Self::around) corners each.
    pub positions: Vec<Vector>,
    /// Unit normals in the rest pose, outwards.
    pub normals: Vec<Vector>,
    /// Counter-clockwise seen from outside; every edge belongs to two of them.
    pub triangles: Vec<[u32; 3]>,
    /// Corners in a ring.
    pub around: usize,
    /// The rings in order; the tips count as rings of one corner, first and last.
    pub rings: Vec<Ring>,
    /// What moves it, in order along the chain.
    pub bones: Vec<Bone>,
    /// Shapes that lie beneath, by solid and number. Those that stick out of the skin (fins, arms) are not among them.
    pub covered: Vec<(SolidId, usize)>,
}

/// Corners that move with the same bones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ring {
    /// Middle, in the rest pose.
    pub center: Vector,
    /// Distance of the corners from it; zero for a tip.
    pub radius: f64,
    /// Numbers of bones; those with weight zero are zero.
    pub bones: [u16; 4],
    /// How much each counts; they add up to one.
    pub weights: [f64; 4],
    /// The solid that it belongs to most.
    pub solid: SolidId,
}

/// A frame that moves vertices: a solid, or something between two of them.
///
/// Its pose is the point between the images of `points` and the rotation between those of `turns`, `share` of the way
/// from the first solid to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bone {
    /// The solids that move it; twice the same for a solid itself.
    pub solids: [SolidId; 2],
    /// Its origin in each solid's frame.
    pub points: [Vector; 2],
    /// Its orientation in each solid's frame.
    pub turns: [Rotation; 2],
    /// How far it is from the first to the second: 0 for a solid itself.
    pub share: f64,
    /// Where it is in the rest pose.
    pub rest: Pose,
}

/// Why there is no surface.
#[derive(Debug, Clone, PartialEq)]
pub enum SkinError {
    /// No solid, or more than [`MOST_SOLIDS`].
    Length(usize),
    /// Neither one radius nor one per solid: radii, solids.
    Radii(usize, usize),
    /// A radius that is not a positive number.
    Radius(f64),
    /// A solid that the mechanism does not have, or that has no orientation: a particle.
    Solid(SolidId),
    /// Solids that are nowhere, too far away to draw, or twice in the chain.
    Place,
}

impl fmt::Display for SkinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(n) => write!(f, "a skin over {n} solids; 1 to {MOST_SOLIDS} are possible"),
            Self::Radii(r, n) => write!(f, "{r} radii for {n} solids; one, or one per solid"),
            Self::Radius(r) => write!(f, "a radius must be positive, and {r} is not"),
            Self::Solid(id) => write!(f, "solid {} does not exist or is a particle", id.0),
            Self::Place => write!(f, "the solids are too far away to draw, or one is there twice"),
        }
    }
}

impl std::error::Error for SkinError {}

impl Surface {
    /// The surface over a chain of solids, in order, with one radius for all or one for each.
    ///
    /// It runs through the joints between neighbours, and through the middle between those that nothing joins. It ends
    /// where the shapes of the first and the last solid do.
    ///
    /// ```
    /// use linkwork::{Frame, Joint, Mechanism, PlacedShape, Solid, SolidId, State, Vector, skin::Surface};
    /// let mut m = Mechanism::new();
    /// let bar = || PlacedShape::capsule(0.05, 0.5, Vector::X);
    /// let a = m.add_solid(Solid::new("a").with_shape(bar(), 1.0))?;
    /// let b = m.add_solid(Solid::new("b").with_shape(bar(), 1.0).at(0.5, 0.0, 0.0))?;
    /// let end = |solid, x| Frame::point(solid, Vector::X * x);
    /// m.add_joint(Joint::ball(end(a, 0.25), end(b, -0.25)))?;
    /// let skin = Surface::new(&m, &[a, b], &[0.06])?;
    /// let state = State::new(&m);
    /// let (positions, _normals) = skin.moved(|id: SolidId| state.pose(&m, id));
    /// assert_eq!(positions.len(), skin.positions.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(m: &Mechanism, over: &[SolidId], radius: &[f64]) -> Result<Self, SkinError> {
        if over.is_empty() || over.len() > MOST_SOLIDS {
            return Err(SkinError::Length(over.len()));
        }
        if radius.len() != 1 && radius.len() != over.len() {
            return Err(SkinError::Radii(radius.len(), over.len()));
        }
        if let Some(bad) = radius.iter().find(|r| !(r.is_finite() && **r > 0.0)) {
            return Err(SkinError::Radius(*bad));
        }
        if let Some(bad) =
            over.iter().find(|id| m.solids().get(id.index()).is_none_or(|solid| solid.particle))
        {
            return Err(SkinError::Solid(*bad));
        }
        let radii: Vec<f64> =
            (0..over.len()).map(|i| radius[if radius.len() == 1 { 0 } else { i }]).collect();
        let chain = chain::Chain::new(m, over, &radii).ok_or(SkinError::Place)?;
        let mut surface = tube::sweep(&chain).ok_or(SkinError::Place)?;
        surface.covered = tube::covered(m, over, &chain, &surface.rings);
        Ok(surface)
    }

    /// Positions and normals while the solids are where `pose` says.
    pub fn moved(&self, pose: impl Fn(SolidId) -> Pose) -> (Vec<Vector>, Vec<Vector>) {
        let motions: Vec<Pose> = self.bones.iter().map(|b| b.pose(&pose) * b.rest.inverse()).collect();
        let mut positions = Vec::with_capacity(self.positions.len());
        let mut normals = Vec::with_capacity(self.normals.len());
        for (k, (p, n)) in self.positions.iter().zip(&self.normals).enumerate() {
            let ring = &self.rings[self.ring_of(k)];
            let (mut at, mut up) = (Vector::ZERO, Vector::ZERO);
            for (bone, weight) in ring.bones.iter().zip(ring.weights).filter(|(_, w)| *w > 0.0) {
                let motion = motions[usize::from(*bone)];
                at += motion.transform_point(*p) * weight;
                up += motion.rotation * *n * weight;
            }
            positions.push(at);
            normals.push(up.normalize_or_zero());
        }
        (positions, normals)
    }

    /// The colour of a ring: the skin's own, or what it has of each solid's.
    pub fn ring_color(&self, ring: &Ring, of_solid: impl Fn(SolidId) -> [f64; 3]) -> [f64; 3] {
        if let Some(color) = self.color {
            return color.map(|x| if x.is_finite() { x.clamp(0.0, 1.0) } else { 0.5 });
        }
        let mut sum = [0.0; 3];
        for (bone, weight) in ring.bones.iter().zip(ring.weights).filter(|(_, w)| *w > 0.0) {
            for (solid, share) in self.bones[usize::from(*bone)].shares() {
                let color = of_solid(solid);
                (0..3).for_each(|k| sum[k] += weight * share * color[k]);
            }
        }
        sum
    }

    /// The ring of a corner.
    pub fn ring_of(&self, corner: usize) -> usize {
        (corner + self.around).saturating_sub(1) / self.around.max(1)
    }
}

impl Bone {
    /// Where it is when the solids are where `pose` says.
    pub fn pose(&self, pose: impl Fn(SolidId) -> Pose) -> Pose {
        let a = pose(self.solids[0]);
        if self.share == 0.0 {
            return a * Pose::from_parts(self.points[0], self.turns[0]);
        }
        let b = pose(self.solids[1]);
        let (p, q) = (a.transform_point(self.points[0]), b.transform_point(self.points[1]));
        let (r, s) = (a.rotation * self.turns[0], b.rotation * self.turns[1]);
        Pose::from_parts(p + (q - p) * self.share, r * exp(log(r.inverse() * s) * self.share))
    }

    /// How much each of its solids counts; both parts belong to the same one for a solid itself.
    pub fn shares(&self) -> [(SolidId, f64); 2] {
        [(self.solids[0], 1.0 - self.share), (self.solids[1], self.share)]
    }

    /// It is a solid, not something between two of them.
    pub fn is_solid(&self) -> bool {
        self.share == 0.0
    }
}
