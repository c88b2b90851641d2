//! A cursor over one clause's arguments that knows what it expects and says so when it finds something else.
//!
//! Every method returns `None` after it has reported; `?` then leaves the clause, so that one clause gives one
//! message.

use super::Lowering;
use crate::math::{Rotation, Vector, exp, unit};
use crate::scene::codes::{self, Code};
use crate::scene::diagnostic::Diagnostic;
use crate::scene::foreign;
use crate::scene::lex::brief;
use crate::scene::syntax::{Arg, ArgKind, Clause, Span, Unit};
use crate::scene::vocabulary::BlockWords;

/// What a number measures: decides which unit fits and how large it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    /// No unit, any size a simulation can stand.
    Plain,
    /// Metres.
    Length,
    /// Radians, or `deg`.
    Angle,
    /// Radians per second, or `deg`.
    AngularSpeed,
    /// Seconds, or `ms`.
    Time,
    /// A ratio, or `%`.
    Ratio,
}

/// Larger lengths, times and angles lose all precision beside everything else.
const LARGEST_LENGTH: f64 = 1e9;
/// Larger values of any kind overflow when multiplied a few times.
const LARGEST: f64 = 1e30;
/// Smaller nonzero values overflow when divided by.
const SMALLEST: f64 = 1e-30;

pub(super) struct Reader<'l, 'x, 't> {
    pub low: &'l mut Lowering<'x, 't>,
    pub words: &'static BlockWords,
    pub clause: Clause,
    at: usize,
}

impl<'l, 'x, 't> Reader<'l, 'x, 't> {
    pub fn new(low: &'l mut Lowering<'x, 't>, words: &'static BlockWords, clause: Clause) -> Self {
        Reader { low, words, clause, at: 0 }
    }

    fn args(&self) -> &[Arg] {
        self.low.file.args(&self.clause)
    }

    pub fn peek(&self) -> Option<Arg> {
        self.args().get(self.at).copied()
    }

    pub fn left(&self) -> usize {
        self.args().len() - self.at
    }

    /// The clause word as written.
    pub fn word_text(&self) -> &'t str {
        self.low.file.str(self.clause.word)
    }

    fn usage(&self) -> Option<String> {
        let index = self.words.index(self.word_text())?;
        Some(format!("write `{}`", self.words.clauses[index].usage))
    }

    /// Reports and leaves the clause.
    pub fn fail<T>(&mut self, code: Code, span: Span, message: impl Into<String>) -> Option<T> {
        self.low.sink.push(Diagnostic::new(code, span, message));
        None
    }

    pub fn fail_hint<T>(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Option<T> {
        self.low.sink.push(Diagnostic::new(code, span, message).hint(hint));
        None
    }

    fn with_usage(&mut self, diagnostic: Diagnostic) {
        let diagnostic = match self.usage() {
            Some(usage) if diagnostic.hint.is_none() => diagnostic.hint(usage),
            _ => diagnostic,
        };
        self.low.sink.push(diagnostic);
    }

    fn missing<T>(&mut self, what: &str) -> Option<T> {
        let message = format!("`{}` ends too early; it needs {what}", self.word_text());
        let diagnostic = Diagnostic::new(codes::WRONG_COUNT, self.clause.span.behind(), message);
        self.with_usage(diagnostic);
        None
    }

    fn unexpected<T>(&mut self, arg: Arg, what: &str) -> Option<T> {
        let found = self.low.file.str(arg.span);
        if arg.kind == ArgKind::Word
            && matches!(found.to_ascii_lowercase().as_str(), "nan" | "inf" | "infinity")
        {
            return self.fail(codes::NOT_FINITE, arg.span, format!("`{found}` is not a finite number"));
        }
        let message = format!("`{}` needs {what} here, not `{}`", self.word_text(), brief(found));
        let diagnostic = Diagnostic::new(codes::WRONG_KIND, arg.span, message);
        let diagnostic = match (self.is_clause_word(arg), self.foreign_unit(arg)) {
            (true, _) => diagnostic.hint(format!("is a `;` missing before `{found}`?")),
            (false, Some(words)) => diagnostic.hint(words),
            (false, None) => diagnostic,
        };
        self.with_usage(diagnostic);
        None
    }

    /// Whether a forgotten `;` made a clause of this block an argument.
    fn is_clause_word(&mut self, arg: Arg) -> bool {
        let swallowed =
            arg.kind == ArgKind::Word && !self.words.is_bare() && self.words.has(self.low.file.str(arg.span));
        self.low.swallowed |= swallowed;
        swallowed
    }

    /// What to write instead of a unit that scenes do not have.
    fn foreign_unit(&self, arg: Arg) -> Option<String> {
        if arg.kind != ArgKind::Word {
            return None;
        }
        let before = self.at.checked_sub(1).and_then(|k| self.args().get(k));
        let number = before.and_then(|b| match b.kind {
            ArgKind::Number(x, None) => Some(x),
            _ => None,
        });
        number.and_then(|x| foreign::unit(Some(x), self.low.file.str(arg.span)))
    }

    /// A number in SI units and where it stands.
    pub fn number_at(&mut self, what: &str, quantity: Quantity) -> Option<(f64, Span)> {
        let Some(arg) = self.peek() else { return self.missing(what) };
        let ArgKind::Number(value, unit) = arg.kind else {
            return self.unexpected(arg, &format!("a number for {what}"));
        };
        self.at += 1;
        let factor = match (unit, quantity) {
            (None, _) => 1.0,
            (Some(Unit::Deg), Quantity::Angle | Quantity::AngularSpeed) => std::f64::consts::PI / 180.0,
            (Some(Unit::Ms), Quantity::Time) => 1e-3,
            (Some(Unit::Percent), Quantity::Ratio) => 1e-2,
            (Some(unit), _) => {
                let message = format!("`{}` does not fit {what}", unit.spelling());
                let hint = match quantity {
                    Quantity::Plain => "this number has no unit",
                    Quantity::Length => "lengths are in metres, without a unit",
                    Quantity::Angle | Quantity::AngularSpeed => "angles are in radians, or in `deg`",
                    Quantity::Time => "times are in seconds, or in `ms`",
                    Quantity::Ratio => "this is a ratio, or a percentage with `%`",
                };
                return self.fail_hint(codes::WRONG_UNIT, arg.span, message, hint);
            }
        };
        let si = value * factor;
        let largest = if quantity == Quantity::Plain { LARGEST } else { LARGEST_LENGTH };
        if si.abs() > largest {
            return self.fail(
                codes::ABSURD_SIZE,
                arg.span,
                format!(
                    "{} is absurdly large for {what}: the limit is {largest:e}",
                    brief(self.low.file.str(arg.span))
                ),
            );
        }
        if quantity == Quantity::Angle && unit.is_none() && si.abs() > std::f64::consts::TAU {
            self.low.note_radians(si, arg.span, self.clause.word);
        }
        Some((si, arg.span))
    }

    pub fn number(&mut self, what: &str, quantity: Quantity) -> Option<f64> {
        Some(self.number_at(what, quantity)?.0)
    }

    /// Refuses what would overflow when divided by. Parts of vectors may be as small as they like.
    pub fn not_tiny(&mut self, value: f64, span: Span, what: &str) -> Option<f64> {
        if value == 0.0 || value.abs() >= SMALLEST {
            return Some(value);
        }
        let message = format!("{} is absurdly small for {what}", brief(self.low.file.str(span)));
        self.fail_hint(codes::ABSURD_SIZE, span, message, "write 0 if zero is meant")
    }

    /// A number greater than zero.
    pub fn positive(&mut self, what: &str, quantity: Quantity) -> Option<f64> {
        let (value, span) = self.number_at(what, quantity)?;
        if value > 0.0 {
            return self.not_tiny(value, span, what);
        }
        self.fail(codes::NOT_POSITIVE, span, format!("{what} must be greater than zero"))
    }

    /// A number that is not negative.
    pub fn not_negative(&mut self, what: &str, quantity: Quantity) -> Option<f64> {
        let (value, span) = self.number_at(what, quantity)?;
        if value >= 0.0 {
            return self.not_tiny(value, span, what);
        }
        self.fail(codes::OUT_OF_RANGE, span, format!("{what} must not be negative"))
    }

    /// A number in a closed interval.
    pub fn between(&mut self, what: &str, quantity: Quantity, least: f64, most: f64) -> Option<f64> {
        let (value, span) = self.number_at(what, quantity)?;
        if (least..=most).contains(&value) {
            return Some(value);
        }
        self.fail(codes::OUT_OF_RANGE, span, format!("{what} must lie between {least} and {most}"))
    }

    /// A whole number in a closed interval.
    pub fn whole(&mut self, what: &str, least: u32, most: u32) -> Option<u32> {
        let (value, span) = self.number_at(what, Quantity::Plain)?;
        if value.fract() != 0.0 {
            return self.fail(codes::NOT_WHOLE, span, format!("{what} must be a whole number"));
        }
        if value > f64::from(most) {
            return self.fail(codes::ABSURD_SIZE, span, format!("{what} must not exceed {most}"));
        }
        if value < f64::from(least) {
            return self.fail(codes::OUT_OF_RANGE, span, format!("{what} must be at least {least}"));
        }
        Some(value as u32)
    }

    /// Three numbers.
    pub fn vector(&mut self, what: &str, quantity: Quantity) -> Option<Vector> {
        let mut parts = [0.0; 3];
        for part in &mut parts {
            *part = self.number(what, quantity)?;
        }
        Some(Vector::from_array(parts))
    }

    /// Three numbers that point somewhere, scaled to length one.
    pub fn direction(&mut self, what: &str) -> Option<Vector> {
        let start = self.at;
        let vector = self.vector(what, Quantity::Plain)?;
        match unit(vector) {
            Some(direction) => Some(direction),
            None => {
                let span = self.span_since(start);
                self.fail(codes::ZERO_VECTOR, span, format!("{what} is zero and points nowhere"))
            }
        }
    }

    /// `X Y Z ANGLE` behind `turn`.
    pub fn turn(&mut self) -> Option<Rotation> {
        let axis = self.direction("the axis of the turn")?;
        let angle = self.number("the angle of the turn", Quantity::Angle)?;
        Some(exp(axis * angle))
    }

    /// `W X Y Z` behind `orientation`.
    ///
    /// Quaternions of unit length up to rounding are kept bit for bit, so that a written scene reads back
    /// exactly; others are scaled.
    pub fn orientation(&mut self) -> Option<Rotation> {
        let start = self.at;
        let mut q = [0.0; 4];
        for part in &mut q {
            *part = self.number("the quaternion w x y z", Quantity::Plain)?;
        }
        let rotation = Rotation::from_xyzw(q[1], q[2], q[3], q[0]);
        let length = rotation.length();
        let span = self.span_since(start);
        if !length.is_finite() || length <= 1e-12 {
            return self.fail(codes::ZERO_VECTOR, span, "a quaternion of length zero is no orientation");
        }
        if (length - 1.0).abs() <= 1e-9 {
            return Some(rotation);
        }
        if (length - 1.0).abs() > 1e-2 {
            let message = format!("the quaternion has length {length:.4}; its direction is used");
            let hint = "the order is `w x y z`";
            self.low.sink.push(Diagnostic::new(codes::NOT_UNIT, span, message).hint(hint));
        }
        Some(rotation * (1.0 / length))
    }

    /// The arguments read since `start` (an index taken from [`position`](Self::position)).
    pub fn span_since(&self, start: usize) -> Span {
        match (self.args().get(start), self.at.checked_sub(1).and_then(|last| self.args().get(last))) {
            (Some(first), Some(last)) => first.span.to(last.span),
            _ => self.clause.span,
        }
    }

    /// Where the cursor stands.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next argument if it is a word.
    pub fn option(&mut self) -> Option<(&'t str, Span)> {
        let arg = self.peek().filter(|a| a.kind == ArgKind::Word)?;
        self.at += 1;
        Some((self.low.file.str(arg.span), arg.span))
    }

    /// Takes the next argument if it is exactly this word.
    pub fn skip_word(&mut self, word: &str) -> bool {
        let next = self.peek().filter(|a| a.kind == ArgKind::Word);
        let found = next.is_some_and(|a| self.low.file.str(a.span) == word);
        self.at += usize::from(found);
        found
    }

    /// A word that must be there.
    pub fn keyword(&mut self, word: &str) -> Option<()> {
        match self.peek() {
            _ if self.skip_word(word) => Some(()),
            Some(arg) => self.unexpected(arg, &format!("`{word}`")),
            None => self.missing(&format!("`{word}`")),
        }
    }

    /// One of the choices.
    pub fn choice(&mut self, what: &str, choices: &[&'static str]) -> Option<(&'static str, Span)> {
        let Some(arg) = self.peek() else { return self.missing(what) };
        if arg.kind != ArgKind::Word {
            return self.unexpected(arg, &format!("one of {}", choices.join(", ")));
        }
        self.at += 1;
        let found = self.low.file.str(arg.span);
        if let Some(word) = choices.iter().find(|c| **c == found) {
            return Some((word, arg.span));
        }
        self.unknown_word(found, arg.span, what, choices)
    }

    /// Reports a word that is no choice, with the nearest one.
    pub fn unknown_word<T>(&mut self, found: &str, span: Span, what: &str, choices: &[&str]) -> Option<T> {
        let message = format!("`{}` is not {what}", brief(found));
        let foreign = if what == "a shape" { foreign::answer(found, "shape") } else { None };
        let hint = match self.low.near.find(found, choices.iter().copied()) {
            _ if foreign.is_some() => foreign.unwrap_or_default().to_owned(),
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it can be {}", choices.join(", ")),
        };
        self.fail_hint(codes::UNKNOWN_WORD, span, message, hint)
    }

    /// A name, not yet looked up.
    pub fn name(&mut self, what: &str) -> Option<(&'t str, Span)> {
        match self.peek() {
            Some(arg) if arg.kind == ArgKind::Word => {
                self.at += 1;
                Some((self.low.file.str(arg.span), arg.span))
            }
            Some(arg) => self.unexpected(arg, what),
            None => self.missing(what),
        }
    }

    /// A string without its quotes.
    pub fn text(&mut self, what: &str) -> Option<(&'t str, Span)> {
        match self.peek() {
            Some(arg) if arg.kind == ArgKind::Text => {
                self.at += 1;
                let quoted = self.low.file.str(arg.span);
                Some((quoted.trim_matches('"'), arg.span))
            }
            Some(arg) => self.unexpected(arg, what),
            None => self.missing(what),
        }
    }

    /// Nothing may follow.
    pub fn done(&mut self) -> Option<()> {
        let Some(arg) = self.peek() else { return Some(()) };
        let found = self.low.file.str(arg.span);
        let message = format!("`{}` does not take `{}` here", self.word_text(), brief(found));
        let last = self.args()[self.args().len() - 1].span;
        let diagnostic = Diagnostic::new(codes::WRONG_COUNT, arg.span.to(last), message);
        let diagnostic = match (self.is_clause_word(arg), self.foreign_unit(arg)) {
            (true, _) => diagnostic.hint(format!("is a `;` missing before `{found}`?")),
            (false, Some(words)) => diagnostic.hint(words),
            (false, None) => diagnostic,
        };
        self.with_usage(diagnostic);
        None
    }
}
