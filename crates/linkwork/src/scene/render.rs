//! Diagnostics as text with carets, and as records with lines and columns.

use super::diagnostic::{Diagnostic, Record, RelatedRecord, Report, Severity};
use super::limits;
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use std::ops::Range;

/// Offsets to lines and columns: start offsets of the lines, so that finding one is a binary search and not a
/// scan per diagnostic.
pub struct LineIndex<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> LineIndex<'t> {
    /// Finds the lines of a text once.
    pub fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        LineIndex { text, starts }
    }

    /// Line index from 0 and the line's bytes without its line end.
    fn line(&self, offset: usize) -> (usize, Range<usize>) {
        let index = self.starts.partition_point(|&start| start <= offset).saturating_sub(1);
        let start = self.starts[index];
        let end = self.starts.get(index + 1).map_or(self.text.len(), |&next| next - 1);
        let line = &self.text[start..end];
        (index, start..start + line.trim_end_matches('\r').len())
    }

    /// Line and column, both from 1, the column in characters.
    pub fn place(&self, offset: usize) -> (usize, usize) {
        let offset = floor_boundary(self.text, offset);
        let (index, line) = self.line(offset);
        (index + 1, self.text[line.start..offset.max(line.start)].chars().count() + 1)
    }

    /// Whether the line of a span is shown whole.
    fn fits(&self, span: &Range<usize>) -> bool {
        self.line(floor_boundary(self.text, span.start)).1.len() <= limits::SHOWN_COLUMNS
    }

    /// The part of the source line worth showing and where the span lies in it.
    ///
    /// A scene may be one line of a hundred megabytes: only a window around the caret is ever copied.
    fn window(&self, span: &Range<usize>) -> (String, Range<usize>) {
        let start = floor_boundary(self.text, span.start);
        let (_, line) = self.line(start);
        let end = floor_boundary(self.text, span.end).clamp(start, line.end.max(start));
        let (mut from, mut to) = (line.start, line.end);
        if to - from > limits::SHOWN_COLUMNS {
            from = floor_boundary(self.text, start.saturating_sub(limits::SHOWN_COLUMNS / 2).max(from));
            to = floor_boundary(self.text, (from + limits::SHOWN_COLUMNS).min(to)).max(start.min(to));
        }
        let before = if from > line.start { "… " } else { "" };
        let after = if to < line.end { " …" } else { "" };
        let shown = format!("{before}{}{after}", &self.text[from..to]);
        let shift = |offset: usize| offset.min(to) - from + before.len();
        let marked = shift(start)..shift(end);
        (shown, marked)
    }
}

fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn group<'a>(d: &'a Diagnostic, file: &'a str, lines: &LineIndex) -> Group<'a> {
    let level = match d.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(d.message.as_str()).id(d.code));
    let same_line =
        |span: &Range<usize>| lines.fits(&d.span) && lines.place(span.start).0 == lines.place(d.span.start).0;
    let (here, elsewhere): (Vec<_>, Vec<_>) = d.related.iter().partition(|(span, _)| same_line(span));
    let mut notes = vec![AnnotationKind::Primary.span(lines.window(&d.span).1)];
    for (span, note) in here {
        notes.push(AnnotationKind::Context.span(lines.window(span).1).label(note.as_str()));
    }
    group = show(group, &d.span, notes, file, lines);
    for (span, note) in elsewhere {
        let note = AnnotationKind::Context.span(lines.window(span).1).label(note.as_str());
        group = show(group, span, vec![note], file, lines);
    }
    match &d.hint {
        Some(hint) => group.element(Level::HELP.message(hint.as_str())),
        None => group,
    }
}

/// Adds the source line of a span with its notes.
fn show<'a>(
    group: Group<'a>,
    span: &Range<usize>,
    notes: Vec<Annotation<'a>>,
    file: &'a str,
    lines: &LineIndex,
) -> Group<'a> {
    let (line, column) = lines.place(span.start);
    let snippet = Snippet::source(lines.window(span).0).line_start(line).annotations(notes);
    if lines.fits(span) {
        return group.element(snippet.path(file));
    }
    // In a cut line the renderer would count the column from the cut.
    group.element(Origin::path(file).line(line).char_column(column)).element(snippet)
}

/// See [`Report::render`].
pub(crate) fn render(report: &Report, file: &str, text: &str, color: bool) -> String {
    let lines = LineIndex::new(text);
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let mut out = String::new();
    // Errors before warnings when not all can be shown: a lint must not hide the reason of a failure.
    let mut shown: Vec<&Diagnostic> = report.diagnostics.iter().collect();
    if shown.len() > limits::SHOWN_DIAGNOSTICS {
        shown.sort_by_key(|d| d.severity);
        shown.truncate(limits::SHOWN_DIAGNOSTICS);
        shown.sort_by_key(|d| d.span.start);
    }
    for d in &shown {
        out.push_str(&renderer.render(&[group(d, file, &lines)]));
        out.push_str("\n\n");
    }
    let more = report.diagnostics.len() - shown.len() + report.omitted;
    if more > 0 {
        out.push_str(&format!("and {more} more\n"));
    }
    out
}

/// See [`Report::records`].
pub(crate) fn records(report: &Report, file: &str, text: &str) -> Vec<Record> {
    let lines = LineIndex::new(text);
    let record = |d: &Diagnostic| {
        let (line, column) = lines.place(d.span.start);
        let (end_line, end_column) = lines.place(d.span.end);
        let related = d.related.iter().map(|(span, message)| {
            let (line, column) = lines.place(span.start);
            RelatedRecord { line, column, message: message.clone() }
        });
        Record {
            code: d.code,
            severity: d.severity,
            message: d.message.clone(),
            file: file.to_owned(),
            line,
            column,
            end_line,
            end_column,
            source: lines.window(&d.span).0,
            hint: d.hint.clone(),
            related: related.collect(),
        }
    };
    report.diagnostics.iter().map(record).collect()
}
