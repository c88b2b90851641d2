//! Linkwork: solids held together by constraints, closed loops included.
//!
//! Every constraint, of every kind, becomes a few scalar rows; every method and every solver sees only rows.

pub mod contact;
pub mod diagnose;
pub mod force;
pub mod formats;
pub mod graph;
pub mod joint;
pub mod material;
pub mod math;
pub mod measure;
pub mod mechanism;
pub mod nodes;
pub mod predict;
pub mod reach;
pub mod readout;
pub mod record;
pub mod rows;
pub mod scene;
pub mod session;
pub mod shape;
pub mod skin;
pub mod soft;
pub mod solid;
pub mod solve;
pub mod stamp;
pub mod state;
pub mod step;
pub mod trajectory;

pub use force::{Air, Force, Interval, Spring};
pub use joint::{
    AngleRange, Curve, Direction, Drive, DriveAim, Frame, Joint, JointId, Limit, Mask, Range, Rank, Region,
    TwistRange,
};
pub use material::Material;
pub use math::{Matrix, Pose, Rotation, Vector};
pub use mechanism::{MaterialId, Mechanism, ModelError, TrajectoryId};
pub use record::Recorder;
pub use scene::generate;
pub use session::Session;
pub use shape::{Mesh, PlacedShape, Shape};
pub use soft::{SoftBody, SoftMesh, SoftSpring, Torn};
pub use solid::{Collide, Kernel, MassProperties, Mobility, Solid, SolidId};
pub use state::State;
pub use step::assemble::{AssembleConfig, AssembleReport, Outcome, assemble};
pub use step::{Method, StepConfig, StepReport, Workspace, step};
pub use trajectory::{Key, Trajectory};

/// The README's Rust example is a doc test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So is the one about sessions.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/interaction.md")]
struct Interaction;
