//! `force` and `spring`.

use super::Lowering;
use super::reader::Quantity;
use crate::force::{Force, Spring};
use crate::math::Vector;
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::syntax::Block;
use crate::scene::vocabulary::BlockWords;

impl<'x, 't> Lowering<'x, 't> {
    pub(super) fn force(&mut self, block: &Block, words: &'static BlockWords) {
        let (list, seen) = self.clauses(block, words);
        let name = self.label(block);
        let mut solid = None;
        let (mut at, mut value, mut torque, mut during) = (None, None, None, None);
        let mut follows_solid = false;
        for c in &list {
            match self.file.str(c.word) {
                "object" => {
                    solid = self.read(words, c, |r| {
                        let (name, span) = r.name("the name of a solid")?;
                        r.low.solid_named(name, span)
                    });
                }
                "at" => at = self.read(words, c, |r| r.vector("a point x y z", Quantity::Length)),
                "value" => value = self.read(words, c, |r| r.vector("a force x y z", Quantity::Plain)),
                "torque" => torque = self.read(words, c, |r| r.vector("a torque x y z", Quantity::Plain)),
                "frame" => {
                    let frame = self.read(words, c, |r| r.choice("`world` or `solid`", &["world", "solid"]));
                    follows_solid = frame.is_some_and(|(word, _)| word == "solid");
                }
                // However short, it acts: no lint is due.
                _ => during = self.read(words, c, |r| r.interval()),
            }
        }
        if !seen.has("object") {
            self.missing(block, "object", "`object`, the solid it acts on");
        }
        if !seen.has("value") && !seen.has("torque") {
            self.missing(block, "value", "`value` or `torque`");
        }
        let Some(solid) = solid else { return };
        let target = self.scene.mechanism.solid(solid);
        if target.is_fixed() {
            let message = format!("`{}` cannot move, so the force has no effect", target.name);
            self.report(Diagnostic::new(codes::IGNORED_CLAUSE, self.header(block), message));
        } else if target.particle && torque.is_some_and(|t| t != Vector::ZERO) {
            let message = format!("`{}` is a particle and cannot turn", target.name);
            self.report(Diagnostic::new(codes::NO_ORIENTATION, self.header(block), message));
        }
        self.scene.mechanism.forces.push(Force {
            name,
            solid,
            at,
            value: value.unwrap_or(Vector::ZERO),
            torque: torque.unwrap_or(Vector::ZERO),
            follows_solid,
            during,
        });
    }

    pub(super) fn spring(&mut self, block: &Block, words: &'static BlockWords) {
        let (list, seen) = self.clauses(block, words);
        let sides = self.sides(block, words, &list, seen);
        let name = self.label(block);
        let mut points = None;
        let (mut length, mut stiffness, mut damping, mut during) = (None, None, None, None);
        for c in &list {
            match self.file.str(c.word) {
                "hinge" => points = self.read(words, c, |r| r.two_points()),
                "length" => length = self.read(words, c, |r| r.not_negative("the length", Quantity::Length)),
                "stiffness" => {
                    stiffness = self.read(words, c, |r| r.not_negative("the stiffness", Quantity::Plain));
                }
                "damping" => {
                    damping = self.read(words, c, |r| r.not_negative("the damping", Quantity::Plain))
                }
                "during" => during = self.during(words, c),
                _ => {}
            }
        }
        if !seen.has("stiffness") {
            self.missing(block, "stiffness", "`stiffness`");
        }
        let Some(sides) = sides else { return };
        let points = points.unwrap_or([Vector::ZERO; 2]);
        let place =
            |side: usize| self.scene.mechanism.solid(sides.solids[side]).pose.transform_point(points[side]);
        let length = length.unwrap_or_else(|| (place(1) - place(0)).length());
        self.scene.mechanism.springs.push(Spring {
            name,
            solids: sides.solids,
            points,
            length,
            stiffness: stiffness.unwrap_or(0.0),
            damping: damping.unwrap_or(0.0),
            during,
        });
    }
}
