//! Canonical layout.
//!
//! The formatter works on tokens, not on meaning: it moves white space only, so the sequence of tokens and
//! comments is the same before and after. The layout:
//!
//! - a block is a header line, one clause a line with two spaces, and `end`; a joint keeps its kind in the header;
//! - a block that stood on one line and fits in [`WIDTH`] columns stays there;
//! - clauses longer than [`WIDTH`] are wrapped, unless a comment stands inside;
//! - a comment stays behind the token it followed on its line, or on a line of its own;
//! - blank lines are kept, but never two in a row.

use super::diagnostic::{Diagnostic, Sink};
use super::lex::{Lexer, Token, TokenKind};
use super::parse::parse;
use super::vocabulary::JOINT_KINDS;

/// Columns a line should not exceed.
pub const WIDTH: usize = 100;

/// Rewrites a text in canonical layout, keeping comments, number spelling and meaning.
///
/// A text with errors in its form is left alone: moving its white space could hide where the mistake is.
pub fn fmt(text: &str) -> Result<String, Vec<Diagnostic>> {
    let mut sink = Sink::default();
    parse(text, &mut sink);
    if sink.has_errors() {
        return Err(sink.finish().diagnostics);
    }
    let mut formatter = Formatter {
        text,
        lexer: Lexer::new(text),
        out: String::with_capacity(text.len() + text.len() / 8),
        line_start: 0,
        at: 0,
    };
    formatter.file();
    Ok(formatter.out)
}

struct Formatter<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    out: String,
    /// Where the current line starts in `out`.
    line_start: usize,
    /// End of the last token taken from the text.
    at: usize,
}

impl<'t> Formatter<'t> {
    fn peek(&self) -> Token {
        let mut ahead = self.lexer;
        ahead.next_with_comments()
    }

    fn next(&mut self) -> Token {
        let token = self.lexer.next_with_comments();
        self.at = token.span.end as usize;
        token
    }

    fn str(&self, token: Token) -> &'t str {
        token.span.of(self.text)
    }

    fn is_end(&self, token: Token) -> bool {
        token.kind == TokenKind::Word && self.str(token) == "end"
    }

    /// Line ends between the last token and this one.
    fn newlines_before(&self, token: Token) -> usize {
        let gap = self.text.get(self.at..token.span.start as usize).unwrap_or("");
        gap.matches('\n').count()
    }

    fn newline(&mut self) {
        if self.out.len() > self.line_start {
            self.out.push('\n');
            self.line_start = self.out.len();
        }
    }

    fn blank_line(&mut self) {
        self.newline();
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
            self.line_start = self.out.len();
        }
    }

    fn indent(&mut self, spaces: usize) {
        if self.out.len() == self.line_start {
            self.out.extend(std::iter::repeat_n(' ', spaces));
        }
    }

    /// Appends to the line, behind a space unless the line is fresh.
    fn word(&mut self, word: &str) {
        if self.out.len() > self.line_start && !self.out.ends_with(' ') {
            self.out.push(' ');
        }
        self.out.push_str(word);
    }

    fn comment(&mut self, token: Token) {
        let text = self.str(token).replace("\r\n", "\n");
        self.word(if token.kind == TokenKind::LineComment { text.trim_end() } else { &text });
        if token.kind == TokenKind::LineComment {
            self.newline();
        }
    }

    /// Comments on the same line as what was just written.
    fn trailing_comments(&mut self) {
        loop {
            let token = self.peek();
            // A line comment ends its line, so whatever follows is not on the same one.
            if !token.is_comment() || self.newlines_before(token) > 0 || self.out.len() == self.line_start {
                return;
            }
            self.next();
            self.comment(token);
        }
    }

    /// Comments on lines of their own, and the blank line before what follows.
    fn leading_comments(&mut self, indent: usize, mut may_be_blank: bool) {
        loop {
            let token = self.peek();
            let ends = token.kind == TokenKind::Eof || (indent > 0 && self.is_end(token));
            self.newline();
            if may_be_blank && !ends && self.newlines_before(token) > 1 {
                self.blank_line();
            }
            may_be_blank = true;
            if !token.is_comment() {
                return;
            }
            self.next();
            self.indent(indent);
            self.comment(token);
            self.trailing_comments();
        }
    }

    fn file(&mut self) {
        loop {
            self.leading_comments(0, true);
            if self.peek().kind == TokenKind::Eof {
                return;
            }
            if let Some(line) = self.one_line() {
                self.word(&line);
            } else {
                self.block();
            }
            self.trailing_comments();
        }
    }

    /// The next block on one line, if it is written so, holds no comment and fits; it is then consumed.
    fn one_line(&mut self) -> Option<String> {
        let at = self.peek().span.start as usize;
        let mut ahead =
            Formatter { text: self.text, lexer: self.lexer, out: String::new(), line_start: 0, at };
        let mut glue = true;
        loop {
            let token = ahead.peek();
            if token.is_comment() || ahead.newlines_before(token) > 0 || token.kind == TokenKind::Eof {
                return None;
            }
            ahead.next();
            ahead.piece(token, glue);
            glue = token.kind == TokenKind::Slash;
            if ahead.out.chars().count() > WIDTH {
                return None;
            }
            if ahead.is_end(token) {
                self.lexer = ahead.lexer;
                self.at = ahead.at;
                return Some(ahead.out);
            }
        }
    }

    /// Appends a token that is no comment; `;` and `:` and the parts of a fraction stick to what is before.
    fn piece(&mut self, token: Token, glued: bool) {
        let text = self.str(token);
        // Never stick to a comment: `/` and `*` would melt into another token.
        if glued || (sticks(token) && !self.out.ends_with("*/")) {
            self.out.push_str(text);
        } else {
            self.word(text);
        }
    }

    fn block(&mut self) {
        let keyword = self.next();
        self.word(self.str(keyword));
        let is_joint = self.str(keyword) == "joint";
        if self.has_label() {
            self.run(|_, token| token.kind == TokenKind::Colon);
        }
        self.trailing_comments();
        let mut first = true;
        loop {
            let same_line = first && is_joint && self.out.len() > self.line_start && self.kind_follows();
            if !same_line {
                self.leading_comments(2, !first);
            }
            if self.is_end(self.peek()) {
                let end = self.next();
                self.word(self.str(end));
                return;
            }
            self.indent(2);
            self.clause();
            self.trailing_comments();
            first = false;
        }
    }

    fn kind_follows(&self) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Word && JOINT_KINDS.contains(&self.str(token))
    }

    fn has_label(&self) -> bool {
        let mut ahead = self.lexer;
        loop {
            let token = ahead.next_token();
            match token.kind {
                TokenKind::Colon => return true,
                TokenKind::Word if !self.is_end(token) => {}
                _ => return false,
            }
        }
    }

    fn clause(&mut self) {
        self.run(|_, token| token.kind == TokenKind::Semicolon);
    }

    /// Writes tokens up to and including the one that `last` tells, or up to `end`.
    fn run(&mut self, last: impl Fn(&Self, Token) -> bool) {
        let wrap = !self.comment_inside(&last);
        let mut glue = false;
        let mut inside_until = 0;
        loop {
            let token = self.peek();
            if token.kind == TokenKind::Eof || self.is_end(token) {
                return;
            }
            // A comment before the closing `end` belongs behind the clause, not into it. Comments before
            // anything else are asked about once, not once each.
            if token.is_comment() && (token.span.start as usize) >= inside_until {
                let real = self.next_real();
                if self.is_end(real) {
                    return;
                }
                inside_until = real.span.start as usize;
            }
            self.next();
            if token.is_comment() {
                self.comment(token);
                self.indent(4);
                glue = false;
                continue;
            }
            if wrap && !glue && !sticks(token) && self.overflows(token) {
                self.newline();
                self.indent(4);
            }
            self.piece(token, glue);
            glue = token.kind == TokenKind::Slash;
            if last(self, token) {
                return;
            }
        }
    }

    fn comment_inside(&self, last: &impl Fn(&Self, Token) -> bool) -> bool {
        let mut ahead = self.lexer;
        loop {
            let token = ahead.next_with_comments();
            if token.is_comment() {
                return true;
            }
            if token.kind == TokenKind::Eof || self.is_end(token) || last(self, token) {
                return false;
            }
        }
    }

    fn next_real(&self) -> Token {
        let mut ahead = self.lexer;
        ahead.next_token()
    }

    fn overflows(&self, token: Token) -> bool {
        let column = self.out[self.line_start..].chars().count();
        column > 4 && column + 2 + self.str(token).chars().count() > WIDTH
    }
}

fn sticks(token: Token) -> bool {
    matches!(token.kind, TokenKind::Semicolon | TokenKind::Colon | TokenKind::Slash)
}
