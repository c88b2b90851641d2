//! Arguments: words, strings, and numbers with their denominator and unit.

use super::Parser;
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::lex::{Bad, Token, TokenKind, brief};
use crate::scene::syntax::{Arg, ArgKind, Unit};

impl Parser<'_, '_> {
    /// Stores one argument; false when it was reported instead.
    pub(super) fn argument(&mut self, token: Token, report: bool) -> bool {
        let kind = match token.kind {
            TokenKind::Word => ArgKind::Word,
            TokenKind::Text => ArgKind::Text,
            TokenKind::Number => return self.number(token),
            TokenKind::Bad(bad) => {
                self.bad(bad, token.span);
                return false;
            }
            TokenKind::Colon => {
                if report {
                    let message = "a `:` is only allowed after the names that follow the block keyword";
                    self.report(
                        Diagnostic::new(codes::MISPLACED_COLON, token.span, message)
                            .hint("end a clause with `;`"),
                    );
                }
                return false;
            }
            _ => {
                let message = format!("`{}` must follow a number", self.str(token));
                self.report(Diagnostic::new(codes::BAD_NUMBER, token.span, message));
                return false;
            }
        };
        self.file.args.push(Arg { kind, span: token.span });
        true
    }

    /// A number, its denominator and its unit.
    fn number(&mut self, token: Token) -> bool {
        let Some(mut value) = self.value(token) else { return false };
        let mut span = token.span;
        if self.peek().kind == TokenKind::Slash {
            let slash = self.next();
            let below = self.peek();
            if below.kind != TokenKind::Number {
                let message = "the fraction has no denominator";
                self.report(
                    Diagnostic::new(codes::BAD_NUMBER, span.to(slash.span), message)
                        .hint("a fraction is two numbers: `1/60`"),
                );
                return false;
            }
            self.next();
            let Some(denominator) = self.value(below) else { return false };
            span = span.to(below.span);
            if denominator == 0.0 {
                self.report(Diagnostic::new(codes::DIVIDED_BY_ZERO, span, "a fraction with denominator 0"));
                return false;
            }
            value /= denominator;
            if !value.is_finite() {
                let message = format!("`{}` is too large", brief(span.of(self.file.text)));
                self.report(Diagnostic::new(codes::NOT_FINITE, span, message));
                return false;
            }
            if self.peek().kind == TokenKind::Slash {
                let second = self.next();
                let message = "a fraction has only one `/`";
                self.report(Diagnostic::new(codes::BAD_NUMBER, second.span, message));
                if self.peek().kind == TokenKind::Number {
                    self.next();
                }
                return false;
            }
        }
        let after = self.peek();
        let unit = match (after.kind, self.str(after)) {
            (TokenKind::Percent, _) => Some(Unit::Percent),
            (TokenKind::Word, "deg") => Some(Unit::Deg),
            (TokenKind::Word, "ms") => Some(Unit::Ms),
            (TokenKind::Word, word) if after.span.start == span.end && word != "end" => {
                self.next();
                let message = format!("there is no unit `{}`", brief(word));
                self.report(Diagnostic::new(codes::UNKNOWN_UNIT, after.span, message).hint(
                    "the units are `deg`, `ms` and `%`; without one a number is in SI units and radians",
                ));
                return false;
            }
            _ => None,
        };
        if unit.is_some() {
            self.next();
            span = span.to(after.span);
        }
        self.file.args.push(Arg { kind: ArgKind::Number(value, unit), span });
        true
    }

    /// The value of a number token; `None` when it does not fit a finite number, which is reported.
    fn value(&mut self, token: Token) -> Option<f64> {
        match self.str(token).parse::<f64>() {
            Ok(value) if value.is_finite() => Some(value),
            Ok(_) => {
                let message = format!("`{}` is too large", brief(self.str(token)));
                self.report(Diagnostic::new(codes::NOT_FINITE, token.span, message));
                None
            }
            Err(_) => {
                self.report(Bad::Number.diagnostic(self.file.text, token.span));
                None
            }
        }
    }
}
