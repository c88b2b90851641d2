//! From the generic tree to a checked [`Scene`]: one file per family of blocks.
//!
//! Names are declared before anything is read, so blocks may come in any order and a name may be used before
//! its block. Materials and trajectories are read first, then solids (which refer to them), then everything
//! that refers to solids. Nothing is repaired: a scene comes out only when no error was reported.

mod common;
mod constraint;
mod force;
mod globals;
mod joint;
mod lint;
mod material;
mod names;
mod reader;
mod shape;
mod soft;
mod solid;

use super::codes;
use super::diagnostic::{Diagnostic, Report, Sink};
use super::limits;
use super::model::{Scene, Settings, Sources, Up};
use super::parse;
use super::syntax::{Block, Clause, File, Span};
use super::vocabulary::{self, BlockWords, Nearest};
use crate::force::Interval;
use crate::mechanism::Mechanism;
use crate::shape::Mesh;
use names::Names;
use reader::Reader;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Where mesh files come from: the name in the scene to the file's bytes, or why they cannot be had.
pub type Files<'f> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'f;

/// Reads a scene: parses, checks everything and lints.
///
/// The scene is `None` exactly when the report has errors.
///
/// ```
/// let text = "solid arm: mass 1; shape box 1 .1 .1; end  joint pin; object2 arm; frame2 -.5 0 0 axis 0 0 1; end";
/// let (scene, report) = linkwork::scene::load(text, &mut |_| Err("no files here".into()));
/// assert!(report.diagnostics.is_empty());
/// assert_eq!(scene.unwrap().mechanism.scalar_constraints(), 5);
/// ```
pub fn load(text: &str, files: &mut Files<'_>) -> (Option<Scene>, Report) {
    let mut sink = Sink::default();
    let file = parse::parse(text, &mut sink);
    let scene = lower(&file, files, &mut sink);
    (scene, sink.finish())
}

/// [`load`] for bytes that may not be text. The text comes back for showing the report, with replacement
/// characters if it was none.
pub fn load_bytes<'b>(bytes: &'b [u8], files: &mut Files<'_>) -> (Cow<'b, str>, Option<Scene>, Report) {
    let mut sink = Sink::default();
    let text = parse::decode(bytes, &mut sink);
    if sink.has_errors() {
        return (text, None, sink.finish());
    }
    let (scene, report) = load(&text, files);
    (text, scene, report)
}

/// The second half of [`load`], for callers that already have the tree.
pub fn lower(file: &File<'_>, files: &mut Files<'_>, sink: &mut Sink) -> Option<Scene> {
    let mut low = Lowering {
        file,
        sink,
        files,
        near: Nearest::default(),
        names: Names::default(),
        meshes: HashMap::new(),
        used: Used::default(),
        pins: Vec::new(),
        errors_before: 0,
        swallowed: false,
        timed: Vec::new(),
        wind: None,
        scene: Scene {
            title: None,
            up: Up::default(),
            settings: Settings::default(),
            mechanism: Mechanism::new(),
            ignores: Vec::new(),
            cloths: Vec::new(),
            tetras: Vec::new(),
            skins: Vec::new(),
            watch: Vec::new(),
            watch_joints: Vec::new(),
            sources: Sources { solids: vec![Span::default()], ..Sources::default() },
        },
    };
    low.run();
    let Lowering { scene, sink, .. } = low;
    (!sink.has_errors()).then_some(scene)
}

/// What is referred to, for the lints.
#[derive(Default)]
struct Used {
    materials: Vec<bool>,
    trajectories: Vec<bool>,
    /// Solids that a joint, constraint, spring or pin touches, by id.
    solids: Vec<bool>,
    any_joint: bool,
}

pub(crate) struct Lowering<'x, 't> {
    file: &'x File<'t>,
    sink: &'x mut Sink,
    files: &'x mut Files<'x>,
    near: Nearest,
    names: Names<'t>,
    /// Mesh files read so far; `None` for those already reported.
    meshes: HashMap<&'t str, Option<Arc<Mesh>>>,
    used: Used,
    /// Pins of soft bodies to solids, which become joints behind all others.
    pins: Vec<(crate::joint::Joint, Span)>,
    scene: Scene,
    /// Errors reported before the current block.
    errors_before: usize,
    /// A clause of the current block lost its `;` and sits inside another.
    swallowed: bool,
    /// Every `during`, for the lint.
    timed: Vec<(Span, Interval)>,
    /// The `wind` of the scene, for the lint.
    wind: Option<Span>,
}

/// Which clauses a block has, by their place in the vocabulary, broken ones included.
#[derive(Clone, Copy)]
struct Seen {
    words: &'static BlockWords,
    bits: u64,
}

impl Seen {
    fn has(&self, word: &str) -> bool {
        self.words.index(word).is_some_and(|i| self.bits >> i & 1 == 1)
    }
}

impl<'x, 't> Lowering<'x, 't> {
    fn run(&mut self) {
        self.declare();
        self.pass(|low, keyword, block, words| match keyword {
            "scene" => low.scene_block(block, words),
            "settings" => low.settings(block, words),
            "material" => low.material(block, words),
            "trajectory" => low.trajectory(block, words),
            _ => {}
        });
        self.global_blocks_once();
        self.pass(|low, keyword, block, words| match keyword {
            "solid" => low.solid(block, words),
            "particle" => low.particle(block, words),
            _ => {}
        });
        self.undeclared_objects();
        self.pass(|low, keyword, block, words| match keyword {
            "cloth" => low.cloth(block, words),
            "tetra" => low.tetra(block, words),
            _ => {}
        });
        self.pass(|low, keyword, block, words| match keyword {
            "constraint" => low.constraint(block, words),
            "joint" => low.joint(block, words),
            "force" => low.force(block, words),
            "spring" => low.spring(block, words),
            "ignore" => low.ignore(block),
            "skin" => low.skin(block, words),
            _ => {}
        });
        self.add_pins();
        // When all joints are known.
        self.pass(|low, keyword, block, _| {
            if keyword == "watch" {
                low.watch(block);
            }
        });
        self.lint_scene();
    }

    fn pass(&mut self, mut read: impl FnMut(&mut Self, &str, &'x Block, &'static BlockWords)) {
        for block in &self.file.blocks {
            let keyword = self.file.str(block.keyword);
            if let Some(words) = vocabulary::block(keyword) {
                read(self, keyword, block, words);
            }
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.sink.push(diagnostic);
    }

    /// The block's clauses that are worth reading: not broken, and only the first where one is allowed.
    fn clauses(&mut self, block: &Block, words: &'static BlockWords) -> (Vec<Clause>, Seen) {
        let mut seen = Seen { words, bits: 0 };
        self.errors_before = self.sink.error_count();
        self.swallowed = false;
        if self.multiplies(block) {
            let message = format!(
                "the copies of this block for all its names have more than {} values",
                limits::MULTIPLIED
            );
            self.report(
                Diagnostic::new(codes::TOO_MANY, self.header(block), message)
                    .hint("split it into several blocks"),
            );
            return (Vec::new(), Seen { words, bits: u64::MAX });
        }
        let mut first = [Span::default(); 64];
        let mut list = Vec::new();
        for clause in self.file.clauses(block) {
            let word = self.file.str(clause.word);
            let Some(index) = words.index(word) else { continue };
            if !words.clauses[index].many {
                if seen.bits >> index & 1 == 1 {
                    let message = format!("`{word}` is given twice in this `{}`", words.keyword);
                    self.report(
                        Diagnostic::new(codes::DUPLICATE_CLAUSE, clause.word, message)
                            .related(first[index], "first given here"),
                    );
                    continue;
                }
                first[index] = clause.word;
            }
            seen.bits |= 1 << index;
            if !clause.broken {
                list.push(clause.clone());
            }
        }
        (list, seen)
    }

    /// Several names copy the block: a long block with many names would fill any memory.
    fn multiplies(&self, block: &Block) -> bool {
        let clauses = self.file.clauses(block);
        let size = match (clauses.first(), clauses.last()) {
            (Some(first), Some(last)) => (last.args.end - first.args.start) as usize + clauses.len(),
            _ => 0,
        };
        let names = self.file.labels(block).len();
        names > 1 && names.saturating_mul(size) > limits::MULTIPLIED
    }

    /// Reads one clause to its end.
    fn read<T>(
        &mut self,
        words: &'static BlockWords,
        clause: &Clause,
        read: impl FnOnce(&mut Reader<'_, 'x, 't>) -> Option<T>,
    ) -> Option<T> {
        let mut reader = Reader::new(self, words, clause.clone());
        let value = read(&mut reader)?;
        reader.done()?;
        Some(value)
    }

    /// The header of a block: keyword and labels.
    fn header(&self, block: &Block) -> Span {
        self.file.labels(block).last().map_or(block.keyword, |label| block.keyword.to(*label))
    }

    /// Whether something of the block was lost to an error: then nothing is missing for sure.
    fn incomplete(&self, block: &Block) -> bool {
        block.broken || self.swallowed || self.file.clauses(block).iter().any(|c| c.broken)
    }

    /// Whether any error was found in the block: then lints about it would only be noise.
    fn faulty(&self, block: &Block) -> bool {
        self.incomplete(block) || self.sink.error_count() > self.errors_before
    }

    /// Reports a clause that is not there, unless it may have been lost to an error.
    fn missing(&mut self, block: &Block, word: &str, what: &str) {
        if self.incomplete(block) {
            return;
        }
        let keyword = self.file.str(block.keyword);
        let usage = vocabulary::block(keyword)
            .and_then(|words| words.index(word).map(|i| words.clauses[i].usage))
            .unwrap_or(word);
        self.report(
            Diagnostic::new(
                codes::MISSING_CLAUSE,
                self.header(block),
                format!("this `{keyword}` lacks {what}"),
            )
            .hint(format!("add `{usage};`")),
        );
    }

    /// The label of a block that may have one.
    fn label(&mut self, block: &Block) -> String {
        match self.file.labels(block) {
            [] => String::new(),
            [only] => self.file.str(*only).to_owned(),
            [first, second, ..] => {
                let message = format!("a `{}` has one name", self.file.str(block.keyword));
                let (first, second) = (*first, *second);
                self.report(Diagnostic::new(codes::NEEDLESS_LABEL, second, message));
                self.file.str(first).to_owned()
            }
        }
    }

    /// An angle above a full turn without unit: degrees were meant, or somebody counts turns.
    fn note_radians(&mut self, angle: f64, span: Span, clause: Span) {
        // The angle between two axes has a lint of its own.
        if self.file.str(clause) == "angle" {
            return;
        }
        let message = format!("{angle} radians is more than a full turn");
        let hint = format!("write `{} deg` if degrees are meant", self.file.str(span));
        self.report(Diagnostic::new(codes::LOOKS_LIKE_DEGREES, span, message).hint(hint));
    }
}
