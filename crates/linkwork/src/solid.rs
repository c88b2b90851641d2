//! What moves: a solid or a point mass, how heavy it is, and whether anything may move it.

use crate::math::{Matrix, Pose, Rotation, Vector};
use crate::mechanism::{MaterialId, TrajectoryId};
use crate::shape::PlacedShape;

/// Names a solid (or particle) of a mechanism. The world itself is [`SolidId::WORLD`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SolidId(pub u32);

impl SolidId {
    /// The fixed world: solid 0 of every mechanism, at the origin.
    pub const WORLD: SolidId = SolidId(0);
    /// As an index into per-solid arrays.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What moves a solid (1994, section 5.1: immobile, following a trajectory, or dynamically animated).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// Moved by forces and constraints.
    #[default]
    Dynamic,
    /// Never moves: infinite mass.
    Fixed,
    /// Follows a trajectory whatever hits it: infinite mass.
    Scripted(TrajectoryId),
}

/// Mass, centre of mass and inertia about it, in the solid's own axes. The origin of a solid is any point; forces and
/// rows work at the centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Mass in kilograms.
    pub mass: f64,
    /// Centre of mass in the solid's frame.
    pub center: Vector,
    /// Inertia about the centre of mass, solid axes.
    pub inertia: Matrix,
}

impl Default for MassProperties {
    /// Nothing at all: what a sum starts from. (Not derived: the default matrix is the identity.)
    fn default() -> Self {
        Self { mass: 0.0, center: Vector::ZERO, inertia: Matrix::ZERO }
    }
}

impl MassProperties {
    /// A uniform ball: the default inertia of a solid whose mass is given without a shape.
    pub fn ball(mass: f64, radius: f64) -> Self {
        let i = 0.4 * mass * radius * radius;
        Self { mass, center: Vector::ZERO, inertia: Matrix::from_diagonal(Vector::splat(i)) }
    }

    /// Both together, by the parallel-axis theorem.
    pub fn plus(self, other: Self) -> Self {
        let mass = self.mass + other.mass;
        if mass <= 0.0 {
            return self;
        }
        let center = (self.center * self.mass + other.center * other.mass) / mass;
        let about = |p: Self| {
            let d = p.center - center;
            let outer = Matrix::from_cols(d * d.x, d * d.y, d * d.z);
            p.inertia + (Matrix::from_diagonal(Vector::splat(d.length_squared())) - outer) * p.mass
        };
        Self { mass, center, inertia: about(self) + about(other) }
    }

    /// The same body scaled to another mass.
    pub fn with_mass(self, mass: f64) -> Self {
        let f = if self.mass > 0.0 { mass / self.mass } else { 0.0 };
        Self { mass, center: self.center, inertia: self.inertia * f }
    }

    /// Says why no real body can have these numbers; `None` when one can.
    ///
    /// The inertia must be positive definite and satisfy the triangle inequality of principal moments (a flat body
    /// reaches equality, so rounding is allowed for).
    pub fn complaint(&self) -> Option<String> {
        if !self.mass.is_finite() || self.mass <= 0.0 {
            return Some(format!("mass {} is not a positive number", self.mass));
        }
        if !self.center.is_finite() || !self.inertia.is_finite() {
            return Some("centre or inertia is not finite".into());
        }
        let e = parry3d_f64::math::SymmetricEigen::new(self.inertia).eigenvalues;
        let mut e = [e.x, e.y, e.z];
        e.sort_by(f64::total_cmp);
        if e[0].is_nan() || e[0] <= 0.0 {
            return Some(format!(
                "inertia is not positive definite (smallest principal moment {:.3e})",
                e[0]
            ));
        }
        if e[0] + e[1] < e[2] * (1.0 - 1e-6) {
            return Some(format!(
                "no body has principal moments {:.6}, {:.6} and {:.6}: the largest exceeds the sum of the others",
                e[0], e[1], e[2]
            ));
        }
        None
    }
}

/// Ability to move and to rotate in a system without physics (1994, section 3.1.4). Replaces mass and inertia in every
/// correction: a solid of twice the `translate` takes twice the share of a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mobility {
    /// Takes the place of the inverse mass.
    pub translate: f64,
    /// Takes the place of `m J^-1`: rotation for a given translation.
    pub rotate: f64,
}

/// What a solid may collide with.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Collide {
    /// Everything.
    #[default]
    All,
    /// Nothing.
    None,
    /// Only these.
    With(Vec<SolidId>),
}

/// A rigid solid or a point mass, with its initial pose and motion.
///
/// ```
/// use linkwork::{Solid, PlacedShape, Vector};
/// let bar = Solid::new("bar").with_shape(PlacedShape::capsule(0.05, 1.0, Vector::X), 2.0).at(0.0, 1.0, 0.0);
/// assert_eq!(bar.mass.mass, 2.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Solid {
    /// Unique among solids and particles.
    pub name: String,
    /// What moves it.
    pub kernel: Kernel,
    /// A point mass: three freedoms, no orientation.
    pub particle: bool,
    /// Mass, centre and inertia. Ignored unless the kernel is dynamic.
    pub mass: MassProperties,
    /// Outline and contact geometry.
    pub shapes: Vec<PlacedShape>,
    /// Initial pose of the solid's origin.
    pub pose: Pose,
    /// Initial velocity of the centre of mass, world axes.
    pub velocity: Vector,
    /// Initial angular velocity, world axes.
    pub spin: Vector,
    /// Surface, if it has one of its own.
    pub material: Option<MaterialId>,
    /// Contact partners.
    pub collide: Collide,
    /// Non-physical abilities that replace mass and inertia.
    pub mobility: Option<Mobility>,
    /// Red, green, blue in 0..1.
    pub color: Option<[f64; 3]>,
}

impl Solid {
    /// A dynamic solid of mass 1 with a small ball's inertia, at the origin.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kernel: Kernel::Dynamic,
            particle: false,
            mass: MassProperties::ball(1.0, DEFAULT_BALL_RADIUS),
            shapes: Vec::new(),
            pose: Pose::IDENTITY,
            velocity: Vector::ZERO,
            spin: Vector::ZERO,
            material: None,
            collide: Collide::All,
            mobility: None,
            color: None,
        }
    }

    /// A point mass.
    pub fn particle(name: impl Into<String>, mass: f64) -> Self {
        Self { particle: true, mass: MassProperties::ball(mass, DEFAULT_BALL_RADIUS), ..Self::new(name) }
    }

    /// A solid that never moves.
    pub fn fixed(name: impl Into<String>) -> Self {
        Self { kernel: Kernel::Fixed, ..Self::new(name) }
    }

    /// Adds a shape; mass, centre and inertia become those of all shapes together, scaled to `mass`.
    pub fn with_shape(mut self, shape: PlacedShape, mass: f64) -> Self {
        self.shapes.push(shape);
        let sum =
            self.shapes.iter().fold(MassProperties::default(), |sum, s| sum.plus(s.mass_properties(1.0)));
        self.mass = sum.with_mass(mass);
        self
    }

    /// Moves the initial origin.
    pub fn at(mut self, x: f64, y: f64, z: f64) -> Self {
        self.pose.translation = Vector::new(x, y, z);
        self
    }

    /// Sets the initial orientation.
    pub fn turned(mut self, rotation: Rotation) -> Self {
        self.pose.rotation = rotation;
        self
    }

    /// True when no correction may move it.
    pub fn is_fixed(&self) -> bool {
        self.kernel != Kernel::Dynamic
    }

    /// Scalar freedoms it brings: 6, 3 for a particle, 0 when fixed or scripted.
    pub fn freedoms(&self) -> usize {
        match (self.is_fixed(), self.particle) {
            (true, _) => 0,
            (false, true) => 3,
            (false, false) => 6,
        }
    }

    /// A length that tells how big it is: the reach of its shapes about the origin, or the default ball.
    pub fn extent(&self) -> f64 {
        self.shapes
            .iter()
            .map(|s| s.extent() + s.pose.translation.length())
            .fold(DEFAULT_BALL_RADIUS, f64::max)
    }
}

/// Radius of the ball whose inertia a solid without shapes gets.
pub const DEFAULT_BALL_RADIUS: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_halves_weigh_what_the_whole_weighs() {
        let whole = PlacedShape::cuboid(2.0, 1.0, 1.0).mass_properties(1.0);
        let half =
            |x| PlacedShape::cuboid(1.0, 1.0, 1.0).moved(Pose::translation(x, 0.0, 0.0)).mass_properties(1.0);
        let sum = half(-0.5).plus(half(0.5));
        assert!((sum.mass - whole.mass).abs() < 1e-12);
        assert!((sum.inertia.x_axis - whole.inertia.x_axis).length() < 1e-12);
        assert!((sum.inertia.y_axis - whole.inertia.y_axis).length() < 1e-12);
    }

    #[test]
    fn a_solid_of_one_shape_has_the_inertia_of_that_shape() {
        let m = Solid::new("ball").with_shape(PlacedShape::sphere(0.5), 2.0).mass;
        let expected = Matrix::from_diagonal(Vector::splat(0.4 * 2.0 * 0.25));
        assert!((m.inertia.x_axis - expected.x_axis).length() < 1e-12, "{m:?}");
        assert!((m.inertia.y_axis - expected.y_axis).length() < 1e-12, "{m:?}");
    }

    #[test]
    fn impossible_bodies_are_named() {
        let mut m = MassProperties::ball(1.0, 1.0);
        assert_eq!(m.complaint(), None);
        m.inertia = Matrix::from_diagonal(Vector::new(1.0, 1.0, 3.0));
        assert!(m.complaint().unwrap().contains("exceeds"));
        m.inertia = Matrix::from_diagonal(Vector::new(1.0, 0.0, 1.0));
        assert!(m.complaint().unwrap().contains("positive definite"));
        m.mass = 0.0;
        assert!(m.complaint().unwrap().contains("mass"));
    }
}
