//! Every limit of the scene language in one place.
//!
//! They exist so that a hostile or generated-by-mistake file ends in a clear error instead of a machine
//! without memory. They are far above what a real scene needs: a million joints fit.

/// Longest text, in bytes. Also keeps every offset inside 32 bits, which halves the tree's memory.
pub const TEXT_BYTES: usize = 256 << 20;
/// Most blocks in one file.
pub const BLOCKS: usize = 8_000_000;
/// Longest name, in bytes.
pub const NAME_BYTES: usize = 256;
/// Most labels in one header.
pub const LABELS: usize = 1_000_000;
/// Errors kept of one file (and as many warnings); the rest is only counted.
pub const KEPT_DIAGNOSTICS: usize = 1_000;
/// Diagnostics printed by the text renderer; the rest is only counted.
pub const SHOWN_DIAGNOSTICS: usize = 100;
/// Longest source line shown whole; longer ones are cut around the caret.
pub const SHOWN_COLUMNS: usize = 160;
/// Comparisons spent on nearest-word hints in one file: with a million names and a thousand typos the
/// search would otherwise be the slowest part of reading.
pub const HINT_COMPARISONS: usize = 4_000_000;
/// Most values that several names in one header may make of their block's.
pub const MULTIPLIED: usize = 100_000_000;
