//! A checked scene: the mechanism and what surrounds it.
//!
//! Whatever moves by rows (solids, particles, joints) is already in its final form in [`Mechanism`]; the
//! other blocks are plain data in SI units and radians, each value checked against its stated range.

use super::syntax::Span;
use crate::joint::JointId;
use crate::math::{Pose, Vector};
use crate::mechanism::{MaterialId, Mechanism};
use crate::skin::{SkinError, Surface};
use crate::solid::SolidId;

/// Everything a scene file says.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Title, if one was given.
    pub title: Option<String>,
    /// The vertical axis.
    pub up: Up,
    /// How to simulate, as far as the file says.
    pub settings: Settings,
    /// Solids, particles, joints, constraints, forces, springs, materials, trajectories and gravity.
    pub mechanism: Mechanism,
    /// Pairs that never collide.
    pub ignores: Vec<(Body, Body)>,
    /// Cloth.
    pub cloths: Vec<Cloth>,
    /// Tetrahedral solids.
    pub tetras: Vec<Tetra>,
    /// Skins over chains of solids.
    pub skins: Vec<Skin>,
    /// What to record; empty for everything, unless joints are watched.
    pub watch: Vec<Body>,
    /// Joints whose coordinates, speeds and forces tables have.
    pub watch_joints: Vec<JointId>,
    /// Where things stand in the text.
    pub sources: Sources,
}

impl Scene {
    /// The surfaces of its skins, in order. One that cannot be made says why: solids too far away to draw.
    pub fn surfaces(&self) -> Vec<Result<Surface, SkinError>> {
        let make = |skin: &Skin| {
            let surface = Surface::new(&self.mechanism, &skin.over, &skin.radius)?;
            Ok(Surface { name: skin.name.clone(), color: skin.color, ..surface })
        };
        self.skins.iter().map(make).collect()
    }
}

/// Where things stand in the text, so that reports can say `file:line`
/// (see [`LineIndex`](super::LineIndex)).
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The label of each solid by [`SolidId`]; the world's is empty. Objects that a file of constraints only
    /// makes up point at their first use.
    pub solids: Vec<Span>,
    /// The header (keyword and label) of each joint by [`JointId`].
    pub joints: Vec<Span>,
    /// How many solids at the end of the list were made up for a file of constraints only.
    pub undeclared: usize,
    /// How many solids behind those are vertices of soft bodies.
    pub vertices: usize,
}

impl Sources {
    /// Where the solid is declared.
    pub fn solid(&self, id: SolidId) -> Span {
        self.solids.get(id.index()).copied().unwrap_or_default()
    }

    /// Where the joint is declared.
    pub fn joint(&self, id: JointId) -> Span {
        self.joints.get(id.index()).copied().unwrap_or_default()
    }
}

/// The vertical axis. It decides the direction of default gravity and how a viewer looks at the scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Up {
    /// y, the default.
    #[default]
    Y,
    /// z.
    Z,
}

/// Simulation settings; `None` where the file is silent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// One of [`METHODS`](super::vocabulary::METHODS).
    pub method: Option<String>,
    /// One of [`SOLVERS`](super::vocabulary::SOLVERS).
    pub solver: Option<String>,
    /// Time step in seconds.
    pub step: Option<f64>,
    /// Largest allowed error, metres and radians.
    pub tolerance: Option<f64>,
    /// Geometric iterations.
    pub iterations: Option<u32>,
    /// Iterations inside the linear solver.
    pub solver_iterations: Option<u32>,
    /// Time budget of one step in seconds.
    pub budget: Option<f64>,
    /// What to do when the budget or the tolerance is missed.
    pub on_miss: Option<OnMiss>,
    /// Largest rotation of one solid in one correction, radians.
    pub max_rotation: Option<f64>,
    /// What methods leave open.
    pub parameters: super::Parameters,
}

/// What to do when a step misses its tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnMiss {
    /// Go on and say so.
    Warn,
    /// Stop.
    Stop,
}

/// Anything with a name that has a place in the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Body {
    /// A solid or particle (or the world).
    Solid(SolidId),
    /// Index in [`Scene::cloths`].
    Cloth(u32),
    /// Index in [`Scene::tetras`].
    Tetra(u32),
}

/// Stiffness and damping of one kind of deformation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Elasticity {
    /// Stiffness.
    pub stiffness: f64,
    /// Damping.
    pub damping: f64,
}

/// A vertex held in place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pin {
    /// Index of the vertex: `i + nx * (j + ny * k)` in a grid.
    pub vertex: u32,
    /// Solid and point in its frame; `None` holds it in the world where it starts.
    pub to: Option<(SolidId, Vector)>,
}

/// What a soft body collides with.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum SoftCollide {
    /// Everything.
    #[default]
    All,
    /// Nothing.
    None,
    /// Only these.
    With(Vec<Body>),
}

/// What cloth and tetrahedral solids have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Soft {
    /// Name, in one name space with the solids.
    pub name: String,
    /// Pose of the first vertex and the grid's axes (or of a mesh's frame).
    pub pose: Pose,
    /// Initial velocity of the centre of mass, world axes.
    pub velocity: Vector,
    /// Initial angular velocity about it, world axes.
    pub spin: Vector,
    /// Total mass.
    pub mass: f64,
    /// Resistance to stretching; `None`: left to the simulation's default.
    pub stretch: Option<Elasticity>,
    /// Largest strain as a ratio.
    pub limit_strain: Option<f64>,
    /// Strain beyond which it tears.
    pub tear: Option<f64>,
    /// Thickness in contact.
    pub thickness: Option<f64>,
    /// Vertices held in place.
    pub pins: Vec<Pin>,
    /// Surface.
    pub material: Option<MaterialId>,
    /// Contact partners.
    pub collide: SoftCollide,
    /// Red, green, blue in 0..1.
    pub color: Option<[f64; 3]>,
    /// Where it is declared.
    pub source: Span,
}

/// A rectangular sheet of `grid[0]` by `grid[1]` vertices in its local x-y plane, or one of any triangles.
#[derive(Debug, Clone, PartialEq)]
pub struct Cloth {
    /// Common part.
    pub soft: Soft,
    /// Vertices along local x, at least 2, and y; one along y is a rope.
    pub grid: [u32; 2],
    /// Distance between neighbours.
    pub spacing: f64,
    /// Triangles instead of the grid.
    pub mesh: Option<std::sync::Arc<crate::shape::Mesh>>,
    /// Resistance to shearing.
    pub shear: Option<Elasticity>,
    /// Resistance to bending.
    pub bend: Option<Elasticity>,
}

/// A deformable solid of tetrahedra.
#[derive(Debug, Clone, PartialEq)]
pub struct Tetra {
    /// Common part.
    pub soft: Soft,
    /// Where the tetrahedra come from.
    pub body: TetraBody,
}

/// Where tetrahedra come from.
#[derive(Debug, Clone, PartialEq)]
pub enum TetraBody {
    /// A block of vertices.
    Grid {
        /// Vertices along local x, y and z, each at least 2.
        grid: [u32; 3],
        /// Distance between neighbours.
        spacing: f64,
        /// Bent into a ball that touches the block's sides.
        round: bool,
    },
    /// A mesh file.
    Mesh(super::msh::TetraMesh),
}

/// A smooth surface over a chain of solids.
#[derive(Debug, Clone, PartialEq)]
pub struct Skin {
    /// Label, or empty.
    pub name: String,
    /// The chain in order, at least one.
    pub over: Vec<SolidId>,
    /// A radius per solid.
    pub radius: Vec<f64>,
    /// Red, green, blue in 0..1.
    pub color: Option<[f64; 3]>,
}
