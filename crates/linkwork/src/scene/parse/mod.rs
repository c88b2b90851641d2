//! Tokens to the generic tree, with recovery.
//!
//! The grammar is `block = keyword [name … ":"] {clause ";"} "end"`, `clause = word {argument}`, so the parser
//! is two loops and no recursion. What makes it longer is that one mistake should give one message:
//!
//! - inside a clause recovery happens at `;` or `end`;
//! - a block keyword where a clause should start, or `keyword names :` anywhere, means that an `end` is
//!   missing before it;
//! - a clause or block in which something was reported is marked `broken`, and later passes leave it alone.

mod argument;

use super::codes;
use super::diagnostic::{Diagnostic, Sink};
use super::foreign;
use super::lex::{Bad, Lexer, Token, TokenKind, brief};
use super::limits;
use super::syntax::{Block, Clause, File, Span};
use super::vocabulary::{self, BlockWords, Nearest};

/// Parses a text, reporting to `sink`; whatever could be understood is in the tree.
pub fn parse<'t>(text: &'t str, sink: &mut Sink) -> File<'t> {
    if text.len() > limits::TEXT_BYTES {
        let message = format!("the text has {} bytes; at most {} are read", text.len(), limits::TEXT_BYTES);
        sink.push(Diagnostic::new(codes::TOO_BIG, Span::default(), message));
        return File { text, ..File::default() };
    }
    let mut parser = Parser {
        lexer: Lexer::new(text),
        file: File { text, ..File::default() },
        sink,
        near: Nearest::default(),
        cut_off: false,
        last: Span::default(),
        no_label_until: 0,
    };
    parser.file();
    parser.file
}

/// Decodes bytes; anything but UTF-8 is an error that names the first bad byte.
///
/// The text comes back in either case (with replacement characters), so that the place can be shown.
pub fn decode<'b>(bytes: &'b [u8], sink: &mut Sink) -> std::borrow::Cow<'b, str> {
    if let Err(error) = std::str::from_utf8(bytes) {
        let at = error.valid_up_to();
        let byte = bytes.get(at).copied().unwrap_or(0);
        let message = format!("byte {at} (0x{byte:02X}) is not UTF-8 text");
        let span = if at <= limits::TEXT_BYTES { Span::new(at, at + 1) } else { Span::default() };
        sink.push(
            Diagnostic::new(codes::NOT_TEXT, span, message)
                .hint("save the scene as UTF-8; is this a scene file at all?"),
        );
    }
    String::from_utf8_lossy(bytes)
}

/// How many names a lookahead for a forgotten `end` reads; bounds its cost per token.
const RECOVERY_LOOKAHEAD: usize = 8;

struct Parser<'t, 's> {
    lexer: Lexer<'t>,
    file: File<'t>,
    sink: &'s mut Sink,
    near: Nearest,
    /// An unclosed comment or string swallowed a part of the block: a missing `end` is then no news.
    cut_off: bool,
    /// The last consumed token, for "something is missing behind this".
    last: Span,
    /// Up to here a header was searched for its `:` in vain. Kept because `solid solid solid …` would
    /// otherwise be searched to its end from each word.
    no_label_until: u32,
}

impl<'t> Parser<'t, '_> {
    fn next(&mut self) -> Token {
        let token = self.lexer.next_token();
        if token.kind != TokenKind::Eof {
            self.last = token.span;
        }
        token
    }

    fn peek(&self) -> Token {
        let mut ahead = self.lexer;
        ahead.next_token()
    }

    fn str(&self, token: Token) -> &'t str {
        token.span.of(self.file.text)
    }

    fn is_end(&self, token: Token) -> bool {
        token.kind == TokenKind::Word && self.str(token) == "end"
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.sink.push(diagnostic);
    }

    fn bad(&mut self, bad: Bad, span: Span) {
        self.cut_off |= matches!(bad, Bad::Comment | Bad::Text);
        self.report(bad.diagnostic(self.file.text, span));
    }

    fn file(&mut self) {
        loop {
            let token = self.next();
            match token.kind {
                TokenKind::Eof => return,
                TokenKind::Word if self.is_end(token) => {
                    let message = "this `end` closes no block";
                    self.report(Diagnostic::new(codes::OUTSIDE_BLOCK, token.span, message));
                }
                TokenKind::Word => {
                    if self.file.blocks.len() == limits::BLOCKS {
                        let message = format!("more than {} blocks", limits::BLOCKS);
                        self.report(Diagnostic::new(codes::TOO_MANY, token.span, message));
                        return;
                    }
                    self.block(token);
                }
                TokenKind::Bad(bad) => {
                    self.bad(bad, token.span);
                    self.skip_to_block();
                }
                TokenKind::Semicolon => {
                    let message = "this `;` ends nothing";
                    self.report(
                        Diagnostic::new(codes::EMPTY_CLAUSE, token.span, message)
                            .hint("`end` is not followed by `;`"),
                    );
                }
                _ => {
                    let message = format!("`{}` belongs to no block", brief(self.str(token)));
                    self.report(
                        Diagnostic::new(codes::OUTSIDE_BLOCK, token.span, message)
                            .hint("a block starts with a keyword such as `solid` or `joint`"),
                    );
                    self.skip_to_block();
                }
            }
        }
    }

    /// After rubbish between blocks: up to the next block keyword, or behind the next `end`.
    fn skip_to_block(&mut self) {
        loop {
            let token = self.peek();
            if token.kind == TokenKind::Eof {
                return;
            }
            if token.kind == TokenKind::Word {
                if vocabulary::block(self.str(token)).is_some() {
                    return;
                }
                if self.is_end(token) {
                    self.next();
                    return;
                }
            }
            if token.kind == TokenKind::Bad(Bad::Comment) {
                self.cut_off = true;
            }
            self.next();
        }
    }

    fn block(&mut self, keyword: Token) {
        let words = vocabulary::block(self.str(keyword));
        self.cut_off = false;
        if words.is_none() {
            self.unknown_block(keyword);
        }
        let (labels, clauses) = (self.file.labels.len() as u32, self.file.clauses.len() as u32);
        let mut broken = words.is_none();
        broken |= !self.header(keyword, words);
        loop {
            let token = self.peek();
            match token.kind {
                TokenKind::Eof => {
                    if !self.cut_off && words.is_some() {
                        self.missing_end(keyword, self.last.behind());
                    }
                    broken = true;
                    break;
                }
                TokenKind::Semicolon => {
                    self.next();
                    let message = "this `;` ends no clause";
                    self.report(Diagnostic::new(codes::EMPTY_CLAUSE, token.span, message));
                }
                TokenKind::Word if self.is_end(token) => {
                    self.next();
                    break;
                }
                TokenKind::Word if self.starts_block(token, words) => {
                    if !self.cut_off && words.is_some() {
                        self.missing_end(keyword, self.last.behind());
                    }
                    broken = true;
                    break;
                }
                TokenKind::Word => {
                    self.next();
                    if self.clause(token, keyword, words, labels, clauses) {
                        break;
                    }
                }
                _ => self.not_a_clause(words.is_some()),
            }
        }
        let span = keyword.span.to(self.last);
        let (labels, clauses) =
            (labels..self.file.labels.len() as u32, clauses..self.file.clauses.len() as u32);
        self.file.blocks.push(Block { keyword: keyword.span, labels, clauses, span, broken });
    }

    fn unknown_block(&mut self, keyword: Token) {
        let word = self.str(keyword);
        let is_clause = |b: &&BlockWords| !b.is_bare() && b.has(word);
        let diagnostic = if let Some(home) = vocabulary::BLOCKS.iter().find(is_clause) {
            let message = format!("`{}` stands outside of any block", brief(word));
            Diagnostic::new(codes::OUTSIDE_BLOCK, keyword.span, message)
                .hint(format!("it is a clause of `{}`; does an `end` come too early?", home.keyword))
        } else {
            let message = format!("there is no block `{}`", brief(word));
            let diagnostic = Diagnostic::new(codes::UNKNOWN_BLOCK, keyword.span, message);
            let foreign = foreign::answer(word, "");
            match self.near.find(word, vocabulary::BLOCKS.iter().map(|b| b.keyword)) {
                _ if foreign.is_some() => diagnostic.hint(foreign.unwrap_or_default()),
                Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
                None => {
                    let all: Vec<_> = vocabulary::BLOCKS.iter().map(|b| b.keyword).collect();
                    diagnostic.hint(format!("the blocks are {}", all.join(", ")))
                }
            }
        };
        self.report(diagnostic);
    }

    fn missing_end(&mut self, keyword: Token, place: Span) {
        let message = format!("the block `{}` is not closed", self.str(keyword));
        self.report(
            Diagnostic::new(codes::MISSING_END, place, message)
                .related(keyword.span, "it starts here")
                .hint("write `end` after its last clause"),
        );
    }

    /// Reads `name name … :` if there is one. False when something in it was wrong.
    fn header(&mut self, keyword: Token, words: Option<&BlockWords>) -> bool {
        if keyword.span.end < self.no_label_until {
            return true;
        }
        let mut ahead = self.lexer;
        let mut count = 0usize;
        let mut token = ahead.next_token();
        while token.kind == TokenKind::Word && !self.is_end(token) {
            count += 1;
            token = ahead.next_token();
        }
        let reserved = self.is_end(token) && {
            let mut after = ahead;
            after.next_token().kind == TokenKind::Colon
        };
        if reserved {
            let message = "`end` is reserved and cannot be a name";
            self.report(Diagnostic::new(codes::BAD_LABEL, token.span, message));
            while self.next().kind != TokenKind::Colon {}
            return false;
        }
        if token.kind != TokenKind::Colon {
            self.no_label_until = token.span.start;
            return true;
        }
        let mut fine = true;
        if count == 0 && words.is_some() {
            fine = false;
            let message = format!("a name is missing between `{}` and `:`", self.str(keyword));
            self.report(Diagnostic::new(codes::BAD_LABEL, token.span, message));
        }
        if count > limits::LABELS {
            fine = false;
            let message = format!("more than {} names in one header", limits::LABELS);
            self.report(Diagnostic::new(codes::TOO_MANY, keyword.span, message));
        }
        loop {
            let token = self.next();
            if token.kind == TokenKind::Colon {
                return fine;
            }
            if token.span.range().len() > limits::NAME_BYTES {
                fine = false;
                let message = format!("a name longer than {} bytes", limits::NAME_BYTES);
                self.report(Diagnostic::new(codes::BAD_LABEL, token.span, message));
            }
            if count <= limits::LABELS {
                self.file.labels.push(token.span);
            }
        }
    }

    /// Whether a block starts at this token although the current one was not closed.
    ///
    /// Some words are both (`material` in `solid`) and bare blocks take any name: there only a label decides.
    fn starts_block(&self, token: Token, words: Option<&BlockWords>) -> bool {
        let Some(_) = vocabulary::block(self.str(token)) else { return false };
        let may_be_clause = words.is_some_and(|w| w.has(self.str(token)));
        !may_be_clause || self.has_label(token)
    }

    /// Whether `names :` follow a block keyword, looking a few tokens ahead.
    fn has_label(&self, keyword: Token) -> bool {
        let mut ahead = self.lexer;
        let mut token = ahead.next_token();
        if token.span == keyword.span {
            token = ahead.next_token();
        }
        for _ in 0..RECOVERY_LOOKAHEAD {
            if token.kind != TokenKind::Word || self.is_end(token) {
                return false;
            }
            token = ahead.next_token();
            if token.kind == TokenKind::Colon {
                return true;
            }
        }
        false
    }

    fn not_a_clause(&mut self, report: bool) {
        let token = self.next();
        match token.kind {
            TokenKind::Bad(bad) => self.bad(bad, token.span),
            TokenKind::Colon if report => {
                let message = "a `:` is only allowed after the names that follow the block keyword";
                self.report(Diagnostic::new(codes::MISPLACED_COLON, token.span, message));
            }
            _ if report => {
                let message = format!("a clause cannot start with `{}`", brief(self.str(token)));
                self.report(
                    Diagnostic::new(codes::EXPECTED_CLAUSE, token.span, message)
                        .hint("is there a `;` too many before it?"),
                );
            }
            _ => {}
        }
        // A stray character or colon may well stand before a fine clause.
        if !matches!(token.kind, TokenKind::Colon | TokenKind::Bad(Bad::Character)) {
            self.skip_clause();
        }
    }

    /// Behind the next `;`, or before the next `end` or block.
    fn skip_clause(&mut self) {
        loop {
            let token = self.peek();
            let stop = match token.kind {
                TokenKind::Eof => true,
                TokenKind::Word => {
                    self.is_end(token)
                        || (vocabulary::block(self.str(token)).is_some() && self.has_label(token))
                }
                _ => false,
            };
            if stop {
                return;
            }
            self.cut_off |= matches!(token.kind, TokenKind::Bad(Bad::Comment | Bad::Text));
            if self.next().kind == TokenKind::Semicolon {
                return;
            }
        }
    }

    /// Reads a clause behind its word. True when the word was a mistyped `end` and the block is over.
    fn clause(
        &mut self,
        word: Token,
        keyword: Token,
        words: Option<&BlockWords>,
        labels: u32,
        clauses: u32,
    ) -> bool {
        let first = self.file.labels.len() as u32 == labels && self.file.clauses.len() as u32 == clauses;
        let mut broken = false;
        if let Some(known) = words
            && !known.has(self.str(word))
        {
            broken = true;
            if self.unknown_clause(word, keyword, known, first) {
                return true;
            }
        }
        let start = self.file.args.len() as u32;
        loop {
            let token = self.peek();
            match token.kind {
                TokenKind::Eof => break,
                TokenKind::Word if self.is_end(token) => break,
                // `mass 1 solid b: …`: the block handler reports the missing `end`.
                TokenKind::Word if vocabulary::block(self.str(token)).is_some() && self.has_label(token) => {
                    break;
                }
                TokenKind::Semicolon => {
                    self.next();
                    break;
                }
                _ => {
                    self.next();
                    broken |= !self.argument(token, words.is_some());
                }
            }
        }
        let end = self.file.args.last().filter(|_| self.file.args.len() as u32 > start).map(|a| a.span);
        let span = word.span.to(end.unwrap_or(word.span));
        let args = start..self.file.args.len() as u32;
        self.file.clauses.push(Clause { word: word.span, args, span, broken });
        false
    }

    /// Reports; true when the word was surely meant to be `end`.
    fn unknown_clause(&mut self, word: Token, keyword: Token, known: &BlockWords, first: bool) -> bool {
        let found = self.str(word);
        let message = format!("`{}` has no clause `{}`", known.keyword, brief(found));
        let diagnostic = Diagnostic::new(codes::UNKNOWN_CLAUSE, word.span, message);
        let near = self.near.find(found, known.words().chain(["end"]));
        let home = vocabulary::BLOCKS.iter().find(|b| !b.is_bare() && b.has(found));
        // Particles are written as solids are.
        let block = if known.keyword == "particle" { "solid" } else { known.keyword };
        let foreign = foreign::answer(found, block);
        let diagnostic = match (near, home) {
            _ if foreign.is_some() => diagnostic.hint(foreign.unwrap_or_default()),
            (Some(near), _) => diagnostic.hint(format!("did you mean `{near}`?")),
            (None, _) if first => diagnostic.hint(format!(
                "is it a name? Names in a header end with `:`, as in `{} {}:`",
                self.str(keyword),
                brief(found)
            )),
            (None, Some(home)) => diagnostic.hint(format!("it is a clause of `{}`", home.keyword)),
            (None, None) => {
                diagnostic.hint(format!("its clauses are {}", known.words().collect::<Vec<_>>().join(", ")))
            }
        };
        self.report(diagnostic);
        foreign.is_none() && near == Some("end")
    }
}
