//! Clauses that several blocks share: poses, intervals, colours, partners, and what every constraint has.

use super::names::mark;
use super::reader::{Quantity, Reader};
use super::{Lowering, Seen};
use crate::force::Interval;
use crate::joint::{Joint, Rank};
use crate::math::{Pose, Rotation, Vector};
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::model::Body;
use crate::scene::syntax::{Block, Clause, Span};
use crate::scene::vocabulary::BlockWords;
use crate::solid::SolidId;

/// `at`, `turn` and `orientation` of a block.
#[derive(Default)]
pub(super) struct PoseClauses {
    pub at: Option<Vector>,
    pub rotation: Option<Rotation>,
}

impl PoseClauses {
    pub fn pose(&self) -> Pose {
        Pose::from_parts(self.at.unwrap_or(Vector::ZERO), self.rotation.unwrap_or(Rotation::IDENTITY))
    }
}

/// The two sides of a joint, constraint or spring.
pub(super) struct Sides {
    pub solids: [SolidId; 2],
}

impl<'x, 't> Lowering<'x, 't> {
    /// Reads the clause if it is one of the pose; false when it is another.
    pub(super) fn pose_clause(
        &mut self,
        pose: &mut PoseClauses,
        words: &'static BlockWords,
        clause: &Clause,
    ) -> bool {
        match self.file.str(clause.word) {
            "at" => pose.at = self.read(words, clause, |r| r.vector("a point x y z", Quantity::Length)),
            "turn" => pose.rotation = self.read(words, clause, |r| r.turn()),
            "orientation" => pose.rotation = self.read(words, clause, |r| r.orientation()),
            _ => return false,
        }
        true
    }

    /// Reports two clauses of which only one may be given.
    pub(super) fn exclusive(&mut self, block: &Block, seen: Seen, first: &str, second: &str) {
        if !(seen.has(first) && seen.has(second)) {
            return;
        }
        let place = |word: &str| {
            self.file.clauses(block).iter().map(|c| c.word).find(|span| self.file.str(*span) == word)
        };
        let (Some(a), Some(b)) = (place(first), place(second)) else { return };
        let (earlier, later) = if a.start < b.start { (a, b) } else { (b, a) };
        let message = format!("`{first}` and `{second}` exclude each other");
        self.report(Diagnostic::new(codes::EXCLUSIVE, later, message).related(earlier, "already given here"));
    }

    /// `object1` and `object2`: the first defaults to the world, the second must be there.
    pub(super) fn sides(
        &mut self,
        block: &Block,
        words: &'static BlockWords,
        list: &[Clause],
        seen: Seen,
    ) -> Option<Sides> {
        let mut found = [None; 2];
        let mut spans = [None; 2];
        for clause in list {
            let side = match self.file.str(clause.word) {
                "object1" => 0,
                "object2" => 1,
                _ => continue,
            };
            spans[side] = Some(clause.span);
            found[side] = self.read(words, clause, |r| {
                let (name, span) = r.name("the name of a solid")?;
                r.low.solid_named(name, span)
            });
        }
        if !seen.has("object2") {
            let what = "`object2`, the solid it holds";
            self.missing(block, "object2", what);
            return None;
        }
        let first = if seen.has("object1") { found[0]? } else { SolidId::WORLD };
        let solids = [first, found[1]?];
        if solids[0] == solids[1] {
            let name = self.scene.mechanism.solids().get(first.index()).map_or("", |s| s.name.as_str());
            let message = format!("`{name}` is on both sides");
            let span = spans[1].unwrap_or(block.keyword);
            let diagnostic = Diagnostic::new(codes::SELF_JOINT, span, message);
            self.report(match spans[0] {
                Some(other) => diagnostic.related(other, "the other side"),
                None => diagnostic.hint("without `object1` the other side is the world"),
            });
            return None;
        }
        self.used.any_joint = true;
        for id in solids {
            mark(&mut self.used.solids, id.index());
        }
        Some(Sides { solids })
    }

    /// A `during`, kept for the lint as well.
    pub(super) fn during(&mut self, words: &'static BlockWords, clause: &Clause) -> Option<Interval> {
        let during = self.read(words, clause, |r| r.interval())?;
        self.timed.push((clause.span, during));
        Some(during)
    }

    /// Clauses that any joint or constraint may have. False when the clause is another.
    pub(super) fn joint_clause(
        &mut self,
        joint: &mut Joint,
        words: &'static BlockWords,
        clause: &Clause,
    ) -> bool {
        fn set<T>(place: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *place = value;
            }
        }
        use Quantity::{Plain, Ratio};
        match self.file.str(clause.word) {
            "during" => {
                joint.during = self.during(words, clause).map(|i| (i.from, i.to));
            }
            "rank" => joint.rank = self.read(words, clause, |r| r.rank()),
            "weight" => {
                set(&mut joint.weight, self.read(words, clause, |r| r.not_negative("the weight", Ratio)))
            }
            "compliance" => {
                set(
                    &mut joint.compliance,
                    self.read(words, clause, |r| r.not_negative("the compliance", Plain)),
                );
            }
            "damping" => {
                set(&mut joint.damping, self.read(words, clause, |r| r.not_negative("the damping", Plain)));
            }
            "alpha" => joint.alpha = self.read(words, clause, |r| r.positive("alpha", Ratio)),
            "mu" => joint.mu = self.read(words, clause, |r| r.share("mu")),
            _ => return false,
        }
        true
    }

    /// Adds a joint whose parts were all checked; a refusal by the model is reported all the same.
    pub(super) fn add_joint(&mut self, joint: Joint, block: &Block) {
        if joint.frames.iter().all(|f| self.scene.mechanism.solid(f.solid).is_fixed()) {
            let [a, b] = joint.frames.map(|f| self.scene.mechanism.solid(f.solid).name.clone());
            let message = format!("neither `{a}` nor `{b}` can move, so nothing is constrained");
            self.report(Diagnostic::new(codes::BOTH_FIXED, self.header(block), message));
        }
        let header = self.header(block);
        match self.scene.mechanism.add_joint(joint) {
            Ok(_) => self.scene.sources.joints.push(header),
            Err(refusal) => self.report(Diagnostic::new(codes::REFUSED, header, refusal.0)),
        }
    }
}

impl<'t> Reader<'_, '_, 't> {
    /// `FROM TO` behind `during`.
    pub fn interval(&mut self) -> Option<Interval> {
        let start = self.position();
        let from = self.number("the start of the interval", Quantity::Time)?;
        let to = self.number("the end of the interval", Quantity::Time)?;
        if from < to {
            return Some(Interval { from, to });
        }
        let span = self.span_since(start);
        let message = if from == to { "the interval is empty" } else { "the interval ends before it starts" };
        self.fail(codes::BAD_RANGE, span, message)
    }

    fn rank(&mut self) -> Option<Rank> {
        let (value, span) = self.number_at("the rank", Quantity::Plain)?;
        match value {
            1.0 => Some(Rank::Primary),
            2.0 => Some(Rank::Secondary),
            _ => {
                let hint = "1 is met exactly, 2 as well as rank 1 allows";
                self.fail_hint(codes::OUT_OF_RANGE, span, "the rank is 1 or 2", hint)
            }
        }
    }

    /// A number strictly between 0 and 1.
    fn share(&mut self, what: &str) -> Option<f64> {
        let (value, span) = self.number_at(what, Quantity::Ratio)?;
        if value > 0.0 && value < 1.0 {
            return Some(value);
        }
        self.fail(codes::OUT_OF_RANGE, span, format!("{what} must lie strictly between 0 and 1"))
    }

    /// `R G B` behind `color`.
    pub fn color(&mut self) -> Option<[f64; 3]> {
        let mut color = [0.0; 3];
        for part in &mut color {
            *part = self.between("a colour's part", Quantity::Ratio, 0.0, 1.0)?;
        }
        Some(color)
    }

    /// The bodies behind `collide with`; `all` and `none` as `Ok(true)` and `Ok(false)`.
    pub fn partners(&mut self) -> Option<Result<bool, Vec<(Body, Span)>>> {
        match self.choice("`all`, `none` or `with`", &["all", "none", "with"])?.0 {
            "all" => return Some(Ok(true)),
            "none" => return Some(Ok(false)),
            _ => {}
        }
        let mut list = Vec::new();
        loop {
            let (name, span) = self.name("the name of a solid")?;
            if let Some(body) = self.low.body(name, span) {
                list.push((body, span));
            }
            if self.left() == 0 {
                return Some(Err(list));
            }
        }
    }

    /// `[min A] [max B]` in either order; unset ends stay infinite.
    pub fn range(&mut self, quantity: Quantity) -> Option<(crate::joint::Range, Span)> {
        let mut range = crate::joint::Range::FREE;
        let start = self.position();
        let (mut seen_min, mut seen_max) = (false, false);
        while let Some((word, span)) = self.option() {
            match word {
                "min" if !seen_min => {
                    seen_min = true;
                    range.min = self.number("a value after `min`", quantity)?;
                }
                "max" if !seen_max => {
                    seen_max = true;
                    range.max = self.number("a value after `max`", quantity)?;
                }
                "min" | "max" => {
                    return self.fail(codes::DUPLICATE_CLAUSE, span, format!("`{word}` is given twice"));
                }
                _ if self.words.has(word) => {
                    self.low.swallowed = true;
                    let message = format!("`{}` takes only `min` and `max` here", self.word_text());
                    let hint = format!("is a `;` missing before `{word}`?");
                    return self.fail_hint(codes::UNKNOWN_WORD, span, message, hint);
                }
                _ => return self.unknown_word(word, span, "`min` or `max`", &["min", "max"]),
            }
        }
        let span = self.span_since(start);
        if range.min > range.max {
            let message =
                format!("the range is empty: its minimum {} exceeds its maximum {}", range.min, range.max);
            return self.fail(codes::BAD_RANGE, span, message);
        }
        Some((range, span))
    }
}
