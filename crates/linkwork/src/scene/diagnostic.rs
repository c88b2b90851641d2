//! What every pass reports: a code, a place, a sentence and, where one is known, a way out.

use super::codes::Code;
use super::limits;
use super::syntax::Span;
use serde::Serialize;
use std::ops::Range;

/// Errors forbid the scene; warnings (lints) do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The scene cannot be used.
    Error,
    /// Legal, but surely not meant.
    Warning,
}

/// One complaint about a scene's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// One of [`codes::ALL`](super::codes::ALL).
    pub code: &'static str,
    /// Whether the scene is unusable.
    pub severity: Severity,
    /// One sentence about this case, without the place.
    pub message: String,
    /// Bytes of the source text that the caret points at.
    pub span: Range<usize>,
    /// What to do about it, where that is clear.
    pub hint: Option<String>,
    /// Other places that matter (a first declaration), each with a note.
    pub related: Vec<(Range<usize>, String)>,
}

impl Diagnostic {
    /// A complaint at a place; add to it with [`hint`](Self::hint) and [`related`](Self::related).
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code: code.id,
            severity: code.severity(),
            message: message.into(),
            span: span.range(),
            hint: None,
            related: Vec::new(),
        }
    }

    /// Adds what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds another place that matters.
    pub fn related(mut self, span: Span, note: impl Into<String>) -> Self {
        self.related.push((span.range(), note.into()));
        self
    }
}

/// Where passes put what they find. Bounded: a file of garbage must not cost more memory than its text.
#[derive(Debug, Default)]
pub struct Sink {
    kept: Vec<Diagnostic>,
    counts: [usize; 2],
}

impl Sink {
    /// Keeps the diagnostic, or only counts it once enough of its kind are kept.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let count = &mut self.counts[diagnostic.severity as usize];
        *count += 1;
        if *count <= limits::KEPT_DIAGNOSTICS {
            self.kept.push(diagnostic);
        }
    }

    /// Whether any error was pushed.
    pub fn has_errors(&self) -> bool {
        self.error_count() > 0
    }

    /// How many errors were pushed so far: tells a pass whether what it just read was sound.
    pub fn error_count(&self) -> usize {
        self.counts[Severity::Error as usize]
    }

    /// Sorts by place, drops doubles and closes the list.
    pub fn finish(mut self) -> Report {
        let total = self.counts[0] + self.counts[1];
        let omitted = total - self.kept.len();
        self.kept.sort_by(|a, b| {
            (a.span.start, a.severity, a.code, a.span.end, &a.message).cmp(&(
                b.span.start,
                b.severity,
                b.code,
                b.span.end,
                &b.message,
            ))
        });
        self.kept.dedup();
        Report { diagnostics: self.kept, omitted }
    }
}

/// All that one reading of a text found, sorted by place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Errors and warnings by position.
    pub diagnostics: Vec<Diagnostic>,
    /// How many more there were beyond [`limits::KEPT_DIAGNOSTICS`] of a kind.
    pub omitted: usize,
}

impl Report {
    /// Whether the scene is unusable.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }

    /// The report for people: file, line, column, source line, caret and hint of each.
    pub fn render(&self, file: &str, text: &str, color: bool) -> String {
        super::render::render(self, file, text, color)
    }

    /// The report for programs: serialise these as JSON.
    pub fn records(&self, file: &str, text: &str) -> Vec<Record> {
        super::render::records(self, file, text)
    }
}

/// A diagnostic with its place spelt out, for JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Record {
    /// The code, `E101`.
    pub code: &'static str,
    /// `error` or `warning`.
    pub severity: Severity,
    /// One sentence.
    pub message: String,
    /// The file's name as the caller gave it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Line of the end of the marked text.
    pub end_line: usize,
    /// Column just behind the marked text.
    pub end_column: usize,
    /// The source line, cut when it is very long.
    pub source: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Other places that matter.
    pub related: Vec<RelatedRecord>,
}

/// Another place that matters to a [`Record`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RelatedRecord {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Why it matters.
    pub message: String,
}
