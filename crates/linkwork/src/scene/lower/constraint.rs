//! `constraint`: the 1994 block.
//!
//! `hinge` gives the two points. Alone it makes them coincide; with `axial`, `planar`, `curve`, `sphere` or
//! `within` the first point is only held to that region of solid 2 (1994, section 4.1). Without `hinge` the
//! points of a region are the two origins. `angle` and `twist` stand on their own.

use super::Lowering;
use super::reader::{Quantity, Reader};
use crate::joint::{AngleKind, AngleRange, Curve, Frame, Joint, Mask, Range, Region, TwistRange};
use crate::math::{Vector, unit};
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::syntax::{Block, Clause, Span};
use crate::scene::vocabulary::BlockWords;
use crate::solid::SolidId;
use std::f64::consts::{PI, TAU};

/// A `twist` clause before its axes are known.
struct Twist {
    b: [Vector; 2],
    range: Range,
    span: Span,
}

impl<'x, 't> Lowering<'x, 't> {
    pub(super) fn constraint(&mut self, block: &Block, words: &'static BlockWords) {
        let (list, seen) = self.clauses(block, words);
        let sides = self.sides(block, words, &list, seen);
        let mut joint = Joint::lock(
            Frame::point(SolidId::WORLD, Vector::ZERO),
            Frame::point(SolidId::WORLD, Vector::ZERO),
            Mask::NONE,
        );
        joint.name = self.label(block);
        let mut points = None;
        let mut twist = None;
        for c in &list {
            if self.joint_clause(&mut joint, words, c) {
                continue;
            }
            match self.file.str(c.word) {
                "hinge" => points = self.read(words, c, |r| r.two_points()),
                "angle" => {
                    joint.angle = self.read(words, c, |r| r.angle());
                    self.lint_angle(joint.angle, c);
                }
                "twist" => {
                    twist = self.read(words, c, |r| {
                        let b =
                            [r.direction("the vector of solid 1")?, r.direction("the vector of solid 2")?];
                        Some(Twist { b, range: r.range(Quantity::Angle)?.0, span: r.clause.span })
                    });
                }
                "object1" | "object2" => {}
                _ => joint.regions.extend(self.region(words, c)),
            }
        }
        let regions = ["axial", "planar", "curve", "sphere", "within"];
        if seen.has("hinge") && !regions.iter().any(|word| seen.has(word)) {
            joint.lock = Mask::POINT;
        }
        if let Some(twist) = twist {
            joint.twist = self.twist(twist, joint.angle, seen.has("angle"));
        }
        let content = ["hinge", "angle", "twist"].iter().chain(&regions).any(|word| seen.has(word));
        if !content && !self.incomplete(block) {
            let message = "this constraint has no condition on its objects";
            self.report(
                Diagnostic::new(codes::NO_ROW, self.header(block), message)
                    .hint("add `hinge`, `axial`, `planar`, `angle`, `twist`, `curve`, `sphere` or `within`"),
            );
        }
        let Some(sides) = sides else { return };
        let points = points.unwrap_or([Vector::ZERO; 2]);
        joint.frames = [Frame::point(sides.solids[0], points[0]), Frame::point(sides.solids[1], points[1])];
        self.lint_particles(&joint, joint.angle.is_some() || joint.twist.is_some(), block);
        self.add_joint(joint, block);
    }

    fn region(&mut self, words: &'static BlockWords, c: &Clause) -> Option<Region> {
        self.read(words, c, |r| match r.word_text() {
            "axial" => {
                let axis = r.direction("the axis")?;
                Some(Region::Segment { axis, range: r.range(Quantity::Length)?.0 })
            }
            "planar" => {
                let normal = r.direction("the normal")?;
                let (mut range, span) = r.range(Quantity::Length)?;
                if range.min == f64::NEG_INFINITY {
                    range.min = 0.0;
                }
                if range.min < 0.0 || range.max < 0.0 {
                    let hint = "`min` and `max` of `planar` are distances from the point of object 2";
                    return r.fail_hint(codes::OUT_OF_RANGE, span, "a radius cannot be negative", hint);
                }
                Some(Region::Ring { normal, range })
            }
            "curve" => r.curve(),
            "sphere" => Some(Region::Sphere(r.positive("the radius", Quantity::Length)?)),
            _ => Some(Region::Within(r.positive("the radius", Quantity::Length)?)),
        })
    }

    /// Legal ranges that cannot have been meant: beyond what an angle between two axes can be.
    fn lint_angle(&mut self, angle: Option<AngleRange>, c: &Clause) {
        let Some(angle) = angle else { return };
        let Range { min, max } = angle.range;
        if max.is_finite() && max > PI {
            let message =
                format!("the angle between two axes never exceeds pi, so `max {max}` limits nothing");
            let hint = match max > TAU {
                true => format!("is `max {max} deg` or `max 0` meant?"),
                false => "leave `max` out".to_owned(),
            };
            self.report(Diagnostic::new(codes::WIDE_ANGLE, c.span, message).hint(hint));
        } else if min < 0.0 {
            let message =
                format!("the angle between two axes is never negative, so `min {min}` limits nothing");
            let hint = "use `twist` for an angle with a sign";
            self.report(Diagnostic::new(codes::WIDE_ANGLE, c.span, message).hint(hint));
        } else if angle.kind() == AngleKind::Free {
            let message = "without `min` or `max` this angle is free";
            self.report(
                Diagnostic::new(codes::NO_ROW, c.span, message).hint("write `max 0` to align the axes"),
            );
        }
    }

    /// Finds the axes of a twist and makes its vectors perpendicular to them.
    fn twist(&mut self, twist: Twist, angle: Option<AngleRange>, has_angle: bool) -> Option<TwistRange> {
        if twist.range.is_free() {
            let message = "without `min` or `max` this twist is free";
            self.report(
                Diagnostic::new(codes::NO_ROW, twist.span, message)
                    .hint("write `min 0 max 0` to lock the twist"),
            );
        }
        let axes = match (angle, has_angle) {
            (Some(angle), _) => [angle.a1, angle.a2],
            // The `angle` clause is there but broken.
            (None, true) => return None,
            (None, false) => {
                // Any axis across both vectors; x if it will do.
                let clear = |axis: &Vector| twist.b.iter().all(|b| b.dot(*axis).abs() < 0.9);
                let axis = [Vector::X, Vector::Y, Vector::Z].into_iter().find(clear).unwrap_or(Vector::X);
                let spelt = axis.to_array().map(|x| x.to_string()).join(" ");
                let message =
                    format!("`twist` without `angle`: the twist is taken about `{spelt}` of both solids");
                self.report(
                    Diagnostic::new(codes::TWIST_WITHOUT_ANGLE, twist.span, message)
                        .hint("an `angle` clause gives the axes of the twist"),
                );
                [axis, axis]
            }
        };
        let across = |b: Vector, a: Vector| unit(b - a * b.dot(a)).filter(|_| a.cross(b).length() > 1e-6);
        match (across(twist.b[0], axes[0]), across(twist.b[1], axes[1])) {
            (Some(b1), Some(b2)) => Some(TwistRange { a1: axes[0], a2: axes[1], b1, b2, range: twist.range }),
            _ => {
                let message = "a twist is measured between vectors across the axis, not along it";
                self.report(
                    Diagnostic::new(codes::BAD_AXES, twist.span, message)
                        .hint("choose vectors perpendicular to those of `angle`"),
                );
                None
            }
        }
    }

    /// A particle has no orientation: rows about it mean nothing.
    pub(super) fn lint_particles(&mut self, joint: &Joint, rotational: bool, block: &Block) {
        let particle = joint.frames.iter().map(|f| self.scene.mechanism.solid(f.solid)).find(|s| s.particle);
        if let (Some(particle), true) = (particle, rotational) {
            let message = format!("`{}` is a particle and has no orientation to hold", particle.name);
            self.report(
                Diagnostic::new(codes::NO_ORIENTATION, self.header(block), message)
                    .hint(
                        "hold particles by points only: `ball`, `distance`, `hinge`, …; a point mass that turns about \
                         a pin, 1 m away: `constraint pin: object1 bob; object2 world; planar 0 0 1 min 1 max 1; end`",
                    ),
            );
        }
    }
}

impl Reader<'_, '_, '_> {
    /// `X1 Y1 Z1 X2 Y2 Z2` behind `hinge`.
    pub fn two_points(&mut self) -> Option<[Vector; 2]> {
        let what = "two points, x1 y1 z1 x2 y2 z2";
        Some([self.vector(what, Quantity::Length)?, self.vector(what, Quantity::Length)?])
    }

    fn angle(&mut self) -> Option<AngleRange> {
        let a1 = self.direction("the axis of solid 1")?;
        let a2 = self.direction("the axis of solid 2")?;
        let (mut range, span) = self.range(Quantity::Angle)?;
        if range.min == f64::NEG_INFINITY {
            range.min = 0.0;
        }
        if range.max < 0.0 || range.min > PI {
            let message = "the angle between two axes lies between 0 and pi; this range is outside";
            return self.fail(codes::BAD_RANGE, span, message);
        }
        Some(AngleRange { a1, a2, range })
    }

    fn curve(&mut self) -> Option<Region> {
        let mut points = Vec::new();
        while self.left() >= 1 && !self.peek().is_some_and(|a| a.kind == crate::scene::syntax::ArgKind::Word)
        {
            points.push(self.vector("points, each x y z", Quantity::Length)?);
        }
        let closed = self.skip_word("closed");
        let span = self.clause.span;
        match Curve::through(points, closed) {
            Ok(curve) => Some(Region::Curve(curve)),
            Err(why) => self.fail(codes::BAD_SHAPE, span, why),
        }
    }
}
