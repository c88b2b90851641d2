//! `scene`, `settings`, `ignore` and `watch`.

use super::Lowering;
use super::reader::{Quantity, Reader};
use crate::force::Air;
use crate::joint::JointId;
use crate::math::Vector;
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::model::{Body, OnMiss, Settings, Up};
use crate::scene::syntax::{Block, Clause, Span};
use crate::scene::vocabulary::{BlockWords, METHODS, SOLVERS};
use crate::scene::{Parameters, SCHEMES, Scheme};
use crate::step::Method;
use std::collections::BTreeSet;

/// Looked-up names with their places.
type Bodies = Vec<(Body, Span)>;

impl<'x, 't> Lowering<'x, 't> {
    pub(super) fn scene_block(&mut self, block: &Block, words: &'static BlockWords) {
        let (list, seen) = self.clauses(block, words);
        let mut gravity = None;
        for clause in &list {
            match self.file.str(clause.word) {
                "title" => {
                    self.scene.title =
                        self.read(words, clause, |r| Some(r.text("a title in quotes")?.0.to_owned()));
                }
                "up" => {
                    if let Some((word, _)) =
                        self.read(words, clause, |r| r.choice("an upward axis", &["y", "z"]))
                    {
                        self.scene.up = if word == "z" { Up::Z } else { Up::Y };
                    }
                }
                "wind" => {
                    self.wind = Some(clause.span);
                    if let Some(air) = self.read(words, clause, |r| r.air())
                        && let Err(refusal) = self.scene.mechanism.set_air(Some(air))
                    {
                        self.report(Diagnostic::new(codes::ABSURD_SIZE, clause.span, refusal.0));
                    }
                }
                _ => gravity = self.read(words, clause, |r| r.vector("a vector x y z", Quantity::Length)),
            }
        }
        if let Some(gravity) = gravity {
            self.scene.mechanism.gravity = gravity;
        } else if self.scene.up == Up::Z && !seen.has("gravity") {
            self.scene.mechanism.gravity = Vector::new(0.0, 0.0, -9.81);
        }
    }

    pub(super) fn settings(&mut self, block: &Block, words: &'static BlockWords) {
        const MOST_ITERATIONS: u32 = 1_000_000_000;
        let (list, _) = self.clauses(block, words);
        let mut settings = std::mem::take(&mut self.scene.settings);
        for c in &list {
            let owned = |choice: Option<(&str, Span)>| choice.map(|(word, _)| word.to_owned());
            match self.file.str(c.word) {
                "method" => settings.method = owned(self.read(words, c, |r| r.choice("a method", METHODS))),
                "solver" => settings.solver = owned(self.read(words, c, |r| r.choice("a solver", SOLVERS))),
                "step" => {
                    settings.step = self.read(words, c, |r| r.positive("the time step", Quantity::Time))
                }
                "tolerance" => {
                    settings.tolerance =
                        self.read(words, c, |r| r.positive("the tolerance", Quantity::Length));
                }
                "iterations" => {
                    settings.iterations =
                        self.read(words, c, |r| r.whole("the number of iterations", 1, MOST_ITERATIONS));
                }
                "solver-iterations" => {
                    settings.solver_iterations =
                        self.read(words, c, |r| r.whole("the number of iterations", 1, MOST_ITERATIONS));
                }
                "budget" => {
                    settings.budget = self.read(words, c, |r| r.positive("the time budget", Quantity::Time))
                }
                "on-miss" => {
                    let choice = self.read(words, c, |r| r.choice("`warn` or `stop`", &["warn", "stop"]));
                    settings.on_miss =
                        choice.map(|(word, _)| if word == "stop" { OnMiss::Stop } else { OnMiss::Warn });
                }
                "max-rotation" => {
                    settings.max_rotation =
                        self.read(words, c, |r| r.positive("the largest rotation", Quantity::Angle));
                }
                _ => self.parameter(c, words, &mut settings.parameters),
            }
        }
        self.lint_parameters(&list, &settings);
        self.scene.settings = settings;
    }

    /// What methods leave open.
    fn parameter(&mut self, c: &Clause, words: &'static BlockWords, into: &mut Parameters) {
        match self.file.str(c.word) {
            "integrator" => {
                let choice = self.read(words, c, |r| r.choice("an integrator", SCHEMES));
                into.integrator = choice.and_then(|(word, _)| Scheme::from_name(word));
            }
            "alpha" => into.alpha = self.read(words, c, |r| r.not_negative("alpha", Quantity::Plain)),
            "beta" => into.beta = self.read(words, c, |r| r.not_negative("beta", Quantity::Plain)),
            "project-velocities" => into.project_velocities = self.read(words, c, |_| Some(())).is_some(),
            _ => into.squared_distances = self.read(words, c, |_| Some(())).is_some(),
        }
    }

    /// A parameter that the scene's own method does not have.
    fn lint_parameters(&mut self, list: &[Clause], settings: &Settings) {
        let method = settings.method.as_deref().map_or(Some(Method::default()), Method::from_name);
        let Some(method) = method else { return };
        let Some(word) = settings.parameters.foreign_to(method) else { return };
        let Some(clause) = list.iter().find(|c| self.file.str(c.word) == word) else { return };
        let (span, name) = (clause.word, method.name());
        let whose = if word == "project-velocities" {
            "`post-stabilization`"
        } else if word == "integrator" {
            "`baumgarte` and `post-stabilization`"
        } else {
            "`baumgarte`"
        };
        let message = format!("`{word}` has no effect: it is for {whose}, and the method here is `{name}`");
        self.report(Diagnostic::new(codes::IGNORED_CLAUSE, span, message));
    }

    /// A second `scene` or `settings` would silently win over the first.
    pub(super) fn global_blocks_once(&mut self) {
        for keyword in ["scene", "settings"] {
            let mut first: Option<Span> = None;
            for block in &self.file.blocks {
                if self.file.str(block.keyword) != keyword {
                    continue;
                }
                match first {
                    None => first = Some(block.keyword),
                    Some(first) => self.report(
                        Diagnostic::new(
                            codes::DUPLICATE_CLAUSE,
                            block.keyword,
                            format!("a second `{keyword}` block"),
                        )
                        .related(first, "the first one")
                        .hint("put all its clauses into one block"),
                    ),
                }
            }
        }
    }

    /// Names of a bare clause, looked up; `None` if one of them is unknown. `takes` has the first choice of names.
    fn bare_names(
        &mut self,
        block: &Block,
        mut takes: impl FnMut(&mut Self, Span) -> bool,
    ) -> Vec<(Span, Option<Bodies>)> {
        let mut lists = Vec::new();
        for clause in self.file.clauses(block) {
            if clause.broken {
                continue;
            }
            let mut spans = vec![clause.word];
            let mut fine = true;
            for arg in self.file.args(clause) {
                if arg.kind == crate::scene::syntax::ArgKind::Word {
                    spans.push(arg.span);
                } else {
                    fine = false;
                    let message = format!("a name is needed here, not `{}`", self.file.str(arg.span));
                    self.report(Diagnostic::new(codes::WRONG_KIND, arg.span, message));
                }
            }
            spans.retain(|span| !takes(self, *span));
            let bodies: Vec<_> =
                spans.iter().map(|span| self.body(self.file.str(*span), *span).map(|b| (b, *span))).collect();
            let bodies: Option<Vec<_>> = if fine { bodies.into_iter().collect() } else { None };
            lists.push((clause.span, bodies));
        }
        if lists.is_empty() && self.file.clauses(block).is_empty() && !block.broken {
            let keyword = self.file.str(block.keyword);
            let message = format!("this `{keyword}` names nothing");
            self.report(
                Diagnostic::new(codes::MISSING_CLAUSE, block.keyword, message)
                    .hint(format!("write `{keyword} NAME NAME; end`")),
            );
        }
        lists
    }

    pub(super) fn ignore(&mut self, block: &Block) {
        for (span, bodies) in self.bare_names(block, |_, _| false) {
            match bodies.as_deref() {
                None => {}
                Some([(a, _), (b, _)]) if a != b => {
                    if let (Body::Solid(one), Body::Solid(two)) = (*a, *b) {
                        self.scene.mechanism.ignores.push([one, two]);
                    }
                    self.scene.ignores.push((*a, *b));
                }
                Some([_, (_, second)]) => {
                    let message = "a body does not collide with itself anyway";
                    self.report(Diagnostic::new(codes::SELF_JOINT, *second, message));
                }
                Some(list) => {
                    let message = format!("`ignore` takes pairs; {} name(s) given", list.len());
                    self.report(
                        Diagnostic::new(codes::WRONG_COUNT, span, message)
                            .hint("write one pair per clause: `ignore a b; a c; end`"),
                    );
                }
            }
        }
    }

    pub(super) fn watch(&mut self, block: &Block) {
        let mut known: BTreeSet<Body> = self.scene.watch.iter().copied().collect();
        for (_, bodies) in self.bare_names(block, Self::watch_joint) {
            for (body, span) in bodies.unwrap_or_default() {
                if known.insert(body) {
                    self.scene.watch.push(body);
                } else {
                    let message = format!("`{}` is already watched", self.file.str(span));
                    self.report(Diagnostic::new(codes::IGNORED_CLAUSE, span, message));
                }
            }
        }
    }

    /// Takes the name of a joint that no body has, too.
    fn watch_joint(&mut self, span: Span) -> bool {
        let name = self.file.str(span);
        if !self.names.is_joint_alone(name) {
            return false;
        }
        let place = self.scene.mechanism.joints().iter().position(|j| j.name == name);
        // One that was not understood is no second mistake.
        let Some(id) = place.map(|i| JointId(i as u32)) else { return true };
        if self.scene.watch_joints.contains(&id) {
            let message = format!("`{name}` is already watched");
            self.report(Diagnostic::new(codes::IGNORED_CLAUSE, span, message));
        } else {
            self.scene.watch_joints.push(id);
        }
        true
    }
}

impl Reader<'_, '_, '_> {
    /// `X Y Z [density D]`.
    fn air(&mut self) -> Option<Air> {
        let wind = self.vector("a velocity x y z", Quantity::Plain)?;
        let mut density = Air::DENSITY;
        if let Some((word, span)) = self.option() {
            if word != "density" {
                return self.unknown_word(word, span, "part of the wind", &["density"]);
            }
            density = self.positive("the density", Quantity::Plain)?;
        }
        Some(Air { wind, density })
    }
}
