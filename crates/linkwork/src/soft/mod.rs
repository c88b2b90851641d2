//! Cloth, ropes and soft solids: point masses with springs between them, and the triangles or tetrahedra that they span.
//!
//! A soft body is data of the mechanism: its vertices are particles with numbers of their own, one after the other, so that
//! whatever knows particles (records, grabs, joints, snapshots) knows them too. Its springs are not [`crate::Spring`]s: there
//! are many, and `step/soft.rs` takes them together.

mod build;
mod tangle;
mod tear;

pub use build::{Sheet, SoftError, Springs};
pub use tangle::{Tangle, TangledWith, tangles};
pub use tear::Torn;
pub(crate) use tear::tear;

use crate::mechanism::MaterialId;
use crate::solid::{Collide, SolidId};
use std::sync::Arc;

/// Stiffness and damping along a spring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftSpring {
    /// Its vertices, counted from the body's first.
    pub ends: [u32; 2],
    /// Length without force.
    pub length: f64,
    /// Force per length.
    pub stiffness: f64,
    /// Force per speed along it.
    pub damping: f64,
    /// No longer than this, whatever the force.
    pub longest: f64,
    /// Longer than this it tears; zero: it is torn.
    pub tear: f64,
}

impl SoftSpring {
    /// It is torn, and has no force.
    pub fn is_torn(&self) -> bool {
        self.tear == 0.0
    }
}

/// What is constant about a soft body, whatever its vertices are called.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftMesh {
    /// Vertices along each side of a grid; of a mesh their number.
    pub sides: Vec<u32>,
    /// Mass of each vertex.
    pub masses: Vec<f64>,
    /// Springs of all kinds.
    pub springs: Vec<SoftSpring>,
    /// Its surface: of cloth all of it, of a soft solid the outer one.
    pub triangles: Vec<[u32; 3]>,
    /// Of a soft solid.
    pub tetrahedra: Vec<[u32; 4]>,
    /// Whole thickness in contact.
    pub thickness: f64,
    /// Surface, if it has one of its own.
    pub material: Option<MaterialId>,
    /// Contact partners among the solids.
    pub collide: Collide,
    /// Solids that it never touches.
    pub ignores: Vec<SolidId>,
    /// Red, green, blue in 0..1.
    pub color: Option<[f64; 3]>,
}

/// Cloth, a rope or a soft solid.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftBody {
    /// Its name; vertices are called `NAME.I.J` and so on.
    pub name: String,
    /// Its first vertex; the others follow.
    pub first: SolidId,
    /// What it is made of.
    pub mesh: Arc<SoftMesh>,
}

impl SoftBody {
    /// How many vertices it has.
    pub fn vertices(&self) -> usize {
        self.mesh.masses.len()
    }

    /// The numbers of its vertices among the solids.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first.index()..self.first.index() + self.vertices()
    }

    /// One of its vertices.
    pub fn vertex(&self, k: u32) -> SolidId {
        SolidId(self.first.0 + k)
    }
}

impl SoftMesh {
    /// May it touch this solid, which touches what `other` says?
    pub fn may_touch(&self, solid: SolidId, other: &Collide) -> bool {
        let named = matches!(&self.collide, Collide::With(list) if list.contains(&solid));
        let all = self.collide == Collide::All && *other == Collide::All;
        (named || all) && *other != Collide::None && !self.ignores.contains(&solid)
    }

    /// The name of a vertex of a body called `body`: by its place in the grid, or its number in a mesh.
    pub fn vertex_name(&self, body: &str, vertex: u32) -> String {
        use std::fmt::Write;
        let (mut name, mut rest) = (body.to_owned(), vertex);
        for side in &self.sides {
            // Writing to a text does not fail.
            let _ = write!(name, ".{}", rest % side);
            rest /= side;
        }
        name
    }
}
