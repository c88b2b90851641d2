//! `material` and `trajectory`: what solids refer to.

use super::Lowering;
use super::reader::Quantity;
use crate::material::Material;
use crate::math::{Rotation, Vector};
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::syntax::Block;
use crate::scene::vocabulary::BlockWords;
use crate::trajectory::{Key, Trajectory};

impl<'x, 't> Lowering<'x, 't> {
    pub(super) fn material(&mut self, block: &Block, words: &'static BlockWords) {
        let (list, seen) = self.clauses(block, words);
        let mut material = Material::default();
        for c in &list {
            match self.file.str(c.word) {
                "friction" => {
                    if let Some(f) = self.read(words, c, |r| r.not_negative("the friction", Quantity::Ratio))
                    {
                        material.friction = f;
                    }
                }
                "restitution" => {
                    let value =
                        self.read(words, c, |r| r.between("the restitution", Quantity::Ratio, 0.0, 1.0));
                    material.restitution = value.unwrap_or(0.0);
                }
                "rolling" => {
                    let what = "the lever of rolling resistance";
                    let value = self.read(words, c, |r| r.not_negative(what, Quantity::Length));
                    material.rolling = value.unwrap_or(0.0);
                }
                "spinning" => {
                    let what = "the lever of spinning resistance";
                    let value = self.read(words, c, |r| r.not_negative(what, Quantity::Length));
                    material.spinning = value.unwrap_or(0.0);
                }
                "stiffness" => {
                    material.stiffness =
                        self.read(words, c, |r| r.positive("the stiffness", Quantity::Plain));
                }
                _ => {
                    let value = self.read(words, c, |r| r.not_negative("the damping", Quantity::Plain));
                    material.damping = value.unwrap_or(0.0);
                }
            }
        }
        if seen.has("damping") && !seen.has("stiffness") {
            let message = "`damping` belongs to a soft coat; without `stiffness` the material is rigid";
            self.report(Diagnostic::new(codes::IGNORED_CLAUSE, self.header(block), message));
        }
        if material.restitution > 0.0 && material.stiffness.is_some() {
            let message =
                "a coat bounces by its `stiffness` and `damping`; `restitution` has no effect on it";
            self.report(Diagnostic::new(codes::IGNORED_CLAUSE, self.header(block), message));
        }
        self.nameless(block, "material");
        for label in self.file.labels(block) {
            let name = self.file.str(*label).to_owned();
            self.scene.mechanism.materials.push(Material { name, ..material.clone() });
        }
    }

    pub(super) fn trajectory(&mut self, block: &Block, words: &'static BlockWords) {
        let (list, seen) = self.clauses(block, words);
        let mut keys: Vec<Key> = Vec::new();
        for c in &list {
            if self.file.str(c.word) == "loop" {
                self.read(words, c, |_| Some(()));
                continue;
            }
            // What a key does not say stays as in the key before it.
            let before = keys.last().copied();
            let start = Key { time: 0.0, position: Vector::ZERO, rotation: Rotation::IDENTITY };
            let key = self.read(words, c, |r| {
                let mut key = before.unwrap_or(start);
                let (time, span) = r.number_at("the time of the key", Quantity::Time)?;
                if let Some(before) = before
                    && time <= before.time
                {
                    let message =
                        format!("the key at {time} s does not come after the one at {} s", before.time);
                    return r.fail_hint(codes::UNORDERED_KEYS, span, message, "order the keys by time");
                }
                key.time = time;
                let (mut placed, mut turned) = (false, false);
                while let Some((word, span)) = r.option() {
                    match word {
                        "at" if !placed => {
                            placed = true;
                            key.position = r.vector("a point x y z", Quantity::Length)?;
                        }
                        "turn" if !turned => {
                            turned = true;
                            key.rotation = r.turn()?;
                        }
                        "orientation" if !turned => {
                            turned = true;
                            key.rotation = r.orientation()?;
                        }
                        "at" | "turn" | "orientation" => {
                            let message = format!("`{word}` repeats what this key already says");
                            return r.fail(codes::DUPLICATE_CLAUSE, span, message);
                        }
                        _ => {
                            return r.unknown_word(
                                word,
                                span,
                                "part of a key",
                                &["at", "turn", "orientation"],
                            );
                        }
                    }
                }
                if !placed && !turned {
                    let span = r.clause.span;
                    return r.fail_hint(codes::WRONG_COUNT, span, "this key is empty", "add `at X Y Z`");
                }
                Some(key)
            });
            keys.extend(key);
        }
        if !seen.has("key") {
            self.missing(block, "key", "a `key`");
        }
        if seen.has("loop") && keys.len() == 1 {
            let message = "a single key makes no loop";
            self.report(Diagnostic::new(codes::IGNORED_CLAUSE, self.header(block), message));
        }
        self.nameless(block, "trajectory");
        for label in self.file.labels(block) {
            let name = self.file.str(*label).to_owned();
            let trajectory = Trajectory { name, keys: keys.clone(), looped: seen.has("loop") };
            self.scene.mechanism.trajectories.push(trajectory);
        }
    }

    fn nameless(&mut self, block: &Block, kind: &str) {
        if self.file.labels(block).is_empty() && !block.broken {
            let message = format!("without a name nothing can use this {kind}");
            self.report(
                Diagnostic::new(codes::UNUSED, block.keyword, message)
                    .hint(format!("write `{kind} NAME: …`")),
            );
        }
    }
}
