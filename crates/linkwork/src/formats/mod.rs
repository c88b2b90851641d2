//! Pictures, records and snapshots: bytes and strings in and out, never a file.
//!
//! Every picture draws the same figure: what each solid looks like (its shapes, or a stick figure when it has none)
//! and in which colour. So a solid that is blue in the drawing is blue in the 3D file too.

mod animation;
pub mod csv;
pub(crate) mod figure;
mod gap;
mod gltf;
mod json;
mod morph;
mod sheet;
mod skinned;
pub mod snapshot;
mod svg;
pub(crate) mod tessellate;

pub use animation::{animated_glb, animated_glb_told, animated_glb_with_skins};
pub use figure::{Figure, Part, SoftPart};
pub use gap::{Gap, open_gaps};
pub use gltf::{glb, glb_with_skins};
pub use json::{RecordInfo, json_record};
pub use svg::{Background, Options as SvgOptions, svg};
