//! The generic tree: a file is blocks, a block is labels and clauses, a clause is a word and arguments.
//!
//! The lists of the whole file are flat and blocks hold index ranges into them: a scene of a million
//! joints has some twenty million arguments, and a vector per clause would double their memory.

use std::ops::Range;

/// A stretch of the source text in bytes. Texts stay below 4 GiB (see [`limits`](super::limits)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start: start as u32, end: end as u32 }
    }

    /// As a range for slicing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The marked part of the text; empty when the span does not fit it.
    pub fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or("")
    }

    /// From the start of this to the end of `other`.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.start) }
    }

    /// The empty place just behind this.
    pub fn behind(self) -> Span {
        Span { start: self.end, end: self.end }
    }
}

/// The unit behind a number. Values are stored as written; reading an argument converts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Degrees, for angles.
    Deg,
    /// Milliseconds, for times.
    Ms,
    /// Hundredths, for ratios.
    Percent,
}

impl Unit {
    /// As it is written.
    pub fn spelling(self) -> &'static str {
        match self {
            Unit::Deg => "deg",
            Unit::Ms => "ms",
            Unit::Percent => "%",
        }
    }
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ArgKind {
    /// A finite number (fractions already divided), in its unit if one was given.
    Number(f64, Option<Unit>),
    /// A word or a name.
    Word,
    /// A string; the span includes its quotes.
    Text,
}

/// One argument of a clause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arg {
    /// What it is.
    pub kind: ArgKind,
    /// Where it stands.
    pub span: Span,
}

/// A word with its arguments, up to `;` or `end`.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    /// The clause's word. In `ignore` and `watch`, which have no clause words, the first name.
    pub word: Span,
    /// Index range in [`File::args`].
    pub args: Range<u32>,
    /// From the word to the last argument.
    pub span: Span,
    /// An error inside was already reported: later passes must not pile others on it.
    pub broken: bool,
}

/// From a block keyword to its `end`.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The keyword.
    pub keyword: Span,
    /// Index range in [`File::labels`].
    pub labels: Range<u32>,
    /// Index range in [`File::clauses`].
    pub clauses: Range<u32>,
    /// From the keyword to `end`.
    pub span: Span,
    /// An error in the block's form was already reported.
    pub broken: bool,
}

/// A parsed text.
#[derive(Debug, Clone, Default)]
pub struct File<'t> {
    /// The source.
    pub text: &'t str,
    /// All blocks in order.
    pub blocks: Vec<Block>,
    /// Labels of all blocks.
    pub labels: Vec<Span>,
    /// Clauses of all blocks.
    pub clauses: Vec<Clause>,
    /// Arguments of all clauses.
    pub args: Vec<Arg>,
}

impl<'t> File<'t> {
    /// The source under a span.
    pub fn str(&self, span: Span) -> &'t str {
        span.of(self.text)
    }

    /// The block's labels.
    pub fn labels(&self, block: &Block) -> &[Span] {
        &self.labels[block.labels.start as usize..block.labels.end as usize]
    }

    /// The block's clauses.
    pub fn clauses(&self, block: &Block) -> &[Clause] {
        &self.clauses[block.clauses.start as usize..block.clauses.end as usize]
    }

    /// The clause's arguments.
    pub fn args(&self, clause: &Clause) -> &[Arg] {
        &self.args[clause.args.start as usize..clause.args.end as usize]
    }
}
