//! Pictures of a mechanism: bytes and strings out, never a file.
//!
//! Every format draws the same figure: what each solid looks like (its shapes, or a stick figure when it has none)
//! and in which colour. So a solid that is blue in the drawing is blue in the 3D file too.

pub(crate) mod figure;
mod gap;
mod gltf;
mod svg;
mod tessellate;

pub use figure::{Figure, Part};
pub use gap::{Gap, open_gaps};
pub use gltf::glb;
pub use svg::{Background, Options as SvgOptions, svg};
