//! Characters to tokens.
//!
//! The lexer is a cursor that can be copied: looking ahead is lexing on with a copy, and errors are tokens
//! ([`TokenKind::Bad`]) that only the consumer turns into diagnostics, so looking ahead reports nothing.

use super::codes;
use super::diagnostic::Diagnostic;
use super::syntax::Span;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A letter, then letters, digits, `_`, `-`.
    Word,
    /// An unsigned or signed decimal number, without unit.
    Number,
    /// `"…"` on one line; no escapes, so that file names keep their backslashes.
    Text,
    /// `:`
    Colon,
    /// `;`
    Semicolon,
    /// `/` between the two numbers of a fraction.
    Slash,
    /// `%`
    Percent,
    /// `/* … */`
    BlockComment,
    /// `// …` up to the end of the line.
    LineComment,
    /// Not part of the language.
    Bad(Bad),
    /// The end of the text; repeats forever.
    Eof,
}

/// Why a token is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bad {
    /// A run of characters without a place in the language.
    Character,
    /// `1.2.3`, `1_000`, `-`.
    Number,
    /// `-inf`, `+nan`.
    NotFinite,
    /// `/*` without end.
    Comment,
    /// `"` without end on its line.
    Text,
}

/// A token and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is.
    pub span: Span,
}

impl Token {
    /// Comments are trivia: the parser skips them, the formatter keeps them.
    pub fn is_comment(&self) -> bool {
        matches!(self.kind, TokenKind::BlockComment | TokenKind::LineComment)
    }
}

/// A cursor over a text.
#[derive(Debug, Clone, Copy)]
pub struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    /// At the start of the text, behind a byte order mark if there is one.
    pub fn new(text: &'t str) -> Self {
        Lexer { text, at: if text.starts_with('\u{feff}') { 3 } else { 0 } }
    }

    /// The next token, comments included.
    pub fn next_with_comments(&mut self) -> Token {
        self.skip(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
        let start = self.at;
        let Some(first) = self.peek() else {
            return Token { kind: TokenKind::Eof, span: Span::new(start, start) };
        };
        let kind = match first {
            ':' => self.single(TokenKind::Colon),
            ';' => self.single(TokenKind::Semicolon),
            '%' => self.single(TokenKind::Percent),
            '"' => self.string(),
            '/' => self.slash(),
            '0'..='9' | '.' | '+' | '-' => self.number(),
            c if c.is_alphabetic() => {
                self.skip(is_name_character);
                self.vertex();
                TokenKind::Word
            }
            '#' => {
                // A comment of other languages: its text is no scene either.
                self.skip(|c| c != '\n' && c != '\r');
                TokenKind::Bad(Bad::Character)
            }
            other => {
                // The first one is always taken, or an exotic space would keep the cursor here forever.
                self.at += other.len_utf8();
                self.skip(|c| !starts_something(c));
                TokenKind::Bad(Bad::Character)
            }
        };
        Token { kind, span: Span::new(start, self.at) }
    }

    /// The next token that is no comment.
    pub fn next_token(&mut self) -> Token {
        loop {
            let token = self.next_with_comments();
            if !token.is_comment() {
                return token;
            }
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, mut take: impl FnMut(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !take(c)).unwrap_or(rest.len());
    }

    fn single(&mut self, kind: TokenKind) -> TokenKind {
        self.at += 1;
        kind
    }

    fn string(&mut self) -> TokenKind {
        self.at += 1;
        self.skip(|c| c != '"' && !c.is_control());
        if self.peek() == Some('"') {
            return self.single(TokenKind::Text);
        }
        // Up to the end of the line: what follows was meant to be inside.
        self.skip(|c| c != '\n' && c != '\r' && c != '"');
        if self.peek() == Some('"') {
            self.at += 1;
            return TokenKind::Bad(Bad::Character);
        }
        TokenKind::Bad(Bad::Text)
    }

    fn slash(&mut self) -> TokenKind {
        let rest = self.rest();
        if rest.starts_with("//") {
            self.skip(|c| c != '\n' && c != '\r');
            return TokenKind::LineComment;
        }
        if !rest.starts_with("/*") {
            return self.single(TokenKind::Slash);
        }
        match rest[2..].find("*/") {
            Some(length) => {
                self.at += length + 4;
                TokenKind::BlockComment
            }
            None => {
                self.at = self.text.len();
                TokenKind::Bad(Bad::Comment)
            }
        }
    }

    /// The rest of the name of a soft body's vertex: `flag.3.0`.
    fn vertex(&mut self) {
        let bytes = self.text.as_bytes();
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        while bytes.get(self.at) == Some(&b'.') && digit(self.at + 1) {
            self.at += 1;
            while digit(self.at) {
                self.at += 1;
            }
        }
    }

    fn number(&mut self) -> TokenKind {
        let bytes = self.text.as_bytes();
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let digits = |mut at: usize| {
            while digit(at) {
                at += 1;
            }
            at
        };
        let start = self.at;
        let mantissa = start + usize::from(matches!(bytes[start], b'+' | b'-'));
        let mut end = digits(mantissa);
        let mut any = end > mantissa;
        if bytes.get(end) == Some(&b'.') {
            let fraction = digits(end + 1);
            any |= fraction > end + 1;
            end = fraction;
        }
        if !any {
            self.at = mantissa;
            self.skip(|c| is_name_character(c) || c == '.');
            let word = self.text[mantissa..self.at].to_ascii_lowercase();
            self.at = self.at.max(start + 1);
            let infinite = matches!(word.as_str(), "inf" | "nan" | "infinity");
            return TokenKind::Bad(if infinite { Bad::NotFinite } else { Bad::Number });
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if digit(end + 1 + sign) {
                end = digits(end + 1 + sign);
            }
        }
        self.at = end;
        // A letter may start a unit; anything else glued to the number spoils it.
        if matches!(bytes.get(end), Some(b'0'..=b'9' | b'.' | b'_' | b'+' | b'-')) {
            self.skip(|c| is_name_character(c) || c == '.' || c == '+');
            return TokenKind::Bad(Bad::Number);
        }
        TokenKind::Number
    }
}

fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

fn starts_something(c: char) -> bool {
    c.is_alphanumeric() || c.is_whitespace() || matches!(c, ':' | ';' | '%' | '"' | '/' | '.' | '+' | '-')
}

/// Whether the word could be a label: the lexer's rule for names, for callers that make names up.
pub fn is_name(word: &str) -> bool {
    word.starts_with(char::is_alphabetic) && word.chars().all(is_name_character) && word != "end"
}

impl Bad {
    /// The complaint about such a token.
    pub fn diagnostic(self, text: &str, span: Span) -> Diagnostic {
        let found = span.of(text);
        match self {
            Bad::Character => character(found, span),
            Bad::Number if matches!(found, "-" | "+" | ".") => {
                Diagnostic::new(codes::BAD_NUMBER, span, format!("`{found}` alone is not a number"))
                    .hint("write the sign right before the digits: `-1`")
            }
            Bad::Number => {
                let message = format!("`{}` is not a number", brief(found));
                Diagnostic::new(codes::BAD_NUMBER, span, message)
                    .hint("numbers look like `2`, `-.4`, `1e-3` or `1/60`, with white space between them")
            }
            Bad::NotFinite => {
                let message = format!("`{}` is not a finite number", brief(found));
                Diagnostic::new(codes::NOT_FINITE, span, message)
            }
            Bad::Comment => {
                let opening = Span { start: span.start, end: span.start + 2 };
                Diagnostic::new(codes::UNCLOSED_COMMENT, opening, "this comment is never closed")
                    .hint("end it with `*/`")
            }
            Bad::Text => {
                Diagnostic::new(codes::UNCLOSED_STRING, span, "this string is not closed on its line")
                    .hint("end it with `\"`")
            }
        }
    }
}

fn character(found: &str, span: Span) -> Diagnostic {
    let first = found.chars().find(|c| !starts_something(*c)).or(found.chars().next()).unwrap_or(' ');
    let (message, hint) = match first {
        ',' => ("`,` has no place here".to_owned(), Some("separate numbers and names by white space")),
        '=' => ("`=` has no place here".to_owned(), Some("write the word, then its value: `mass 2;`")),
        '{' | '}' => (
            format!("`{first}` has no place here"),
            Some("a block runs from its keyword to `end`, without braces"),
        ),
        '(' | ')' | '[' | ']' => {
            (format!("`{first}` has no place here"), Some("write points as three plain numbers: `0 1 0`"))
        }
        '#' => ("`#` has no place here".to_owned(), Some("comments are `// …` or `/* … */`")),
        '\u{2212}' | '\u{2013}' | '\u{2014}' => {
            (format!("`{first}` is a typographic dash"), Some("use the plain minus sign `-`"))
        }
        '\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}' | '\'' => {
            (format!("`{first}` does not quote anything"), Some("quote strings with plain `\"`"))
        }
        '_' => ("a name cannot start with `_`".to_owned(), Some("names start with a letter")),
        '\0' => ("a NUL character: this does not look like text".to_owned(), None),
        c if c.is_control() || c.is_whitespace() || !c.is_ascii() => {
            (format!("the character U+{:04X} has no place here", c as u32), None)
        }
        c => (format!("`{c}` has no place here"), None),
    };
    let diagnostic = Diagnostic::new(codes::BAD_CHARACTER, span, message);
    match hint {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    }
}

/// A word short enough for a message.
pub(crate) fn brief(word: &str) -> String {
    match word.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &word[..at]),
        None => word.to_owned(),
    }
}
