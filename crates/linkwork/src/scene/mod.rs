//! The scene language (`.lw`): text in, checked scene out, and back.
//!
//! The reading is a chain of small passes, each of which reports *all* it finds:
//!
//! 1. [`lex`]: characters to tokens; comments are kept for the formatter.
//! 2. [`parse`]: tokens to the generic tree of [`syntax`] (blocks, clauses, arguments), recovering at `;`
//!    and `end`. Knows the words of the language ([`vocabulary`]) but not what they mean.
//! 3. [`load`] (`lower/`): the tree to a checked [`Scene`]: names, kinds and counts of arguments, units, values,
//!    files, and lints about what is legal but surely not meant.
//!
//! [`fmt`] goes from tokens to canonical layout, and [`write_poses`] puts new initial poses into a text; [`append_joint`] and
//! [`remove_joint`] edit one.
//!
//! Nothing here opens a file or prints; every complaint is a [`Diagnostic`] with a code from [`codes`].
//! No input makes these passes panic, recurse or take more than (almost) linear time: there is no nesting
//! in the language and every limit stands in [`limits`].

pub mod codes;
mod diagnostic;
mod edit;
mod foreign;
mod format;
pub mod generate;
pub mod lex;
pub mod limits;
mod lower;
mod model;
pub mod msh;
mod parameters;
pub mod parse;
mod render;
pub mod syntax;
pub mod vocabulary;
mod write;

pub use diagnostic::{Diagnostic, Record, RelatedRecord, Report, Severity, Sink};
pub use edit::{NewJoint, append_joint, remove_joint};
pub use format::fmt;
pub use lower::{Files, load, load_bytes, lower};
pub use model::*;
pub use parameters::{Parameters, SCHEMES, Scheme};
pub use render::LineIndex;
pub use write::write_poses;

/// Lexes and parses a text: the generic tree and what was wrong with its form.
///
/// ```
/// let (file, report) = linkwork::scene::parse_text("solid bar: mass 1; end");
/// assert!(!report.has_errors());
/// assert_eq!(file.str(file.labels(&file.blocks[0])[0]), "bar");
/// ```
pub fn parse_text(text: &str) -> (syntax::File<'_>, Report) {
    let mut sink = Sink::default();
    let file = parse::parse(text, &mut sink);
    (file, sink.finish())
}
