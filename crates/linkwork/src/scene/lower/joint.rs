//! `joint`: two frames and a kind.

use super::reader::{Quantity, Reader};
use super::{Lowering, Seen};
use crate::joint::{Direction, Drive, DriveAim, Frame, Joint, Limit, Mask, Range};
use crate::math::{Pose, Rotation, Vector, frame_rotation};
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::syntax::{Block, Clause};
use crate::scene::vocabulary::{BlockWords, JOINT_KINDS};
use crate::solid::SolidId;

const DIRECTIONS: &[&str] = &["t1", "t2", "t3", "r1", "r2", "r3"];

impl<'x, 't> Lowering<'x, 't> {
    pub(super) fn joint(&mut self, block: &Block, words: &'static BlockWords) {
        let (list, seen) = self.clauses(block, words);
        let mut joint = self.kind(block, words, &list, seen);
        let sides = self.sides(block, words, &list, seen);
        joint.name = self.label(block);
        let mut frames = [None; 2];
        let mut world = None;
        for c in &list {
            if self.joint_clause(&mut joint, words, c) {
                continue;
            }
            match self.file.str(c.word) {
                "frame1" => frames[0] = self.read(words, c, |r| r.frame()),
                "frame2" => frames[1] = self.read(words, c, |r| r.frame()),
                "at" => world = self.read(words, c, |r| r.frame()),
                "limit" => {
                    let limit = self.read(words, c, |r| r.limit(&joint));
                    joint.limits.extend(limit);
                }
                "drive" => {
                    let drive = self.read(words, c, |r| r.drive(&joint));
                    joint.drives.extend(drive);
                }
                _ => {}
            }
        }
        self.exclusive(block, seen, "at", "frame1");
        if !seen.has("frame1") {
            self.exclusive(block, seen, "at", "frame2");
        }
        self.lint_joint(&joint, block, seen);
        let Some(sides) = sides else { return };
        for (side, solid) in sides.solids.into_iter().enumerate() {
            let pose = match world {
                Some(world) => self.scene.mechanism.solid(solid).pose.inverse() * world,
                None => frames[side].unwrap_or(Pose::IDENTITY),
            };
            joint.frames[side] = Frame { solid, pose };
        }
        let turns = joint.lock.iter().any(Direction::is_rotation)
            || joint.hooke
            || joint.limits.iter().any(|l| l.direction.is_rotation());
        self.lint_particles(&joint, turns, block);
        self.add_joint(joint, block);
    }

    /// The joint of the kind that the block names; one that locks nothing when it names none or several.
    fn kind(&mut self, block: &Block, words: &'static BlockWords, list: &[Clause], seen: Seen) -> Joint {
        let frame = Frame::point(SolidId::WORLD, Vector::ZERO);
        let mut kinds = list.iter().filter(|c| JOINT_KINDS.contains(&self.file.str(c.word)));
        let (first, second) = (kinds.next(), kinds.next());
        if let (Some(first), Some(second)) = (first, second) {
            let message =
                format!("a joint has one kind; this one is already a `{}`", self.file.str(first.word));
            self.report(
                Diagnostic::new(codes::EXCLUSIVE, second.word, message).related(first.word, "its kind"),
            );
        }
        let free = Joint::lock(frame, frame, Mask::NONE);
        let Some(clause) = first else {
            if !JOINT_KINDS.iter().any(|kind| seen.has(kind)) && !self.incomplete(block) {
                let header = self.header(block);
                self.report(
                    Diagnostic::new(codes::MISSING_CLAUSE, header, "this `joint` has no kind")
                        .hint(format!("the kinds are {}", JOINT_KINDS.join(", "))),
                );
            }
            return free;
        };
        if self.file.str(clause.word) == "universal" {
            let message =
                "`universal` is a ball joint here, as in the papers; elsewhere it means two crossed axes";
            let hint = "write `ball` to leave all rotations free, or `cardan` for two crossed axes";
            self.report(Diagnostic::new(codes::UNIVERSAL, clause.word, message).hint(hint));
        }
        let joint = self.read(words, clause, |r| {
            Some(match r.word_text() {
                "ball" | "universal" => Joint::ball(frame, frame),
                "pin" => Joint::pin(frame, frame),
                "cylindrical" => Joint::cylindrical(frame, frame),
                "slider" | "prismatic" => Joint::slider(frame, frame),
                "point-on-line" | "ball-socket" => Joint::point_on_line(frame, frame),
                "point-on-plane" | "smooth-contact" => Joint::point_on_plane(frame, frame),
                "planar" => Joint::planar(frame, frame),
                "cardan" => Joint::cardan(frame, frame),
                "weld" => Joint::weld(frame, frame),
                "screw" => Joint::screw(frame, frame, r.pitch()?),
                "distance" => Joint::distance(frame, frame, r.positive("the distance", Quantity::Length)?),
                _ => Joint::lock(frame, frame, r.mask()?),
            })
        });
        joint.unwrap_or(free)
    }

    fn lint_joint(&mut self, joint: &Joint, block: &Block, seen: Seen) {
        if self.faulty(block) {
            return;
        }
        if seen.has("lock") && joint.lock.is_empty() && joint.limits.is_empty() && joint.drives.is_empty() {
            let message = "this joint locks nothing";
            self.report(
                Diagnostic::new(codes::NO_ROW, self.header(block), message)
                    .hint("list directions: `lock t1 t2 t3 r2 r3`"),
            );
        }
    }
}

impl Reader<'_, '_, '_> {
    /// `X Y Z [axis X Y Z [up X Y Z]]`: the main axis `i` defaults to x, `j` to what the shortest turn makes of y.
    fn frame(&mut self) -> Option<Pose> {
        let point = self.vector("a point x y z", Quantity::Length)?;
        let (mut axis, mut up) = (None, None);
        while let Some((word, span)) = self.option() {
            match word {
                "axis" if axis.is_none() => axis = Some(self.direction("the axis")?),
                "up" if up.is_none() => up = Some((self.direction("the direction after `up`")?, span)),
                "axis" | "up" => {
                    return self.fail(codes::DUPLICATE_CLAUSE, span, format!("`{word}` is given twice"));
                }
                _ if self.words.has(word) => {
                    self.low.swallowed = true;
                    let message = format!("`{}` takes only `axis` and `up` here", self.word_text());
                    let hint = format!("is a `;` missing before `{word}`?");
                    return self.fail_hint(codes::UNKNOWN_WORD, span, message, hint);
                }
                _ => return self.unknown_word(word, span, "`axis` or `up`", &["axis", "up"]),
            }
        }
        let main = axis.unwrap_or(Vector::X);
        if let Some((up, span)) = up
            && main.cross(up).length() < 1e-6
        {
            let hint = "`up` says where the second axis points; it must not lie along the first";
            return self.fail_hint(codes::BAD_AXES, span, "`up` is parallel to the axis", hint);
        }
        let rotation = match (axis, up) {
            (None, None) => Rotation::IDENTITY,
            _ => frame_rotation(main, up.map(|(up, _)| up)).unwrap_or(Rotation::IDENTITY),
        };
        Some(Pose::from_parts(point, rotation))
    }

    fn pitch(&mut self) -> Option<f64> {
        let (pitch, span) = self.number_at("the pitch, metres per turn", Quantity::Length)?;
        if pitch != 0.0 {
            return Some(pitch);
        }
        self.fail_hint(codes::OUT_OF_RANGE, span, "a screw of pitch 0 does not advance", "use a `pin`")
    }

    fn mask(&mut self) -> Option<Mask> {
        let mut mask = Mask::NONE;
        while self.left() > 0 {
            let (word, span) = self.choice("a direction", DIRECTIONS)?;
            let one = Direction::from_word(word).map_or(Mask::NONE, |d| Mask::of(&[d]));
            if mask.0 & one.0 != 0 {
                return self.fail(codes::DUPLICATE_CLAUSE, span, format!("`{word}` is already locked"));
            }
            mask.0 |= one.0;
        }
        Some(mask)
    }

    fn direction_word(&mut self) -> Option<(Direction, crate::scene::syntax::Span)> {
        let (word, span) = self.choice("a direction", DIRECTIONS)?;
        Direction::from_word(word).map(|d| (d, span))
    }

    fn limit(&mut self, joint: &Joint) -> Option<Limit> {
        let (direction, span) = self.direction_word()?;
        let quantity = if direction.is_rotation() { Quantity::Angle } else { Quantity::Length };
        let start = self.position();
        let range = Range::new(self.number("the minimum", quantity)?, self.number("the maximum", quantity)?);
        let values = self.span_since(start);
        let mut restitution = 0.0;
        while let Some((word, span)) = self.option() {
            if word != "restitution" {
                return self.unknown_word(word, span, "part of this limit", &["restitution"]);
            }
            let start = self.position();
            restitution = self.not_negative("the restitution", Quantity::Plain)?;
            if restitution > 1.0 {
                let message = format!("a restitution of {restitution} would add energy");
                return self.fail_hint(
                    codes::BAD_RANGE,
                    self.span_since(start),
                    message,
                    "give a ratio from 0 to 1",
                );
            }
        }
        if range.min > range.max {
            let message = format!("the range is empty: {} exceeds {}", range.min, range.max);
            return self.fail_hint(codes::BAD_RANGE, values, message, "the smaller value comes first");
        }
        if joint.limits.iter().any(|l| l.direction == direction) {
            let message = format!("`{}` has two limits", direction.word());
            return self.fail(codes::DUPLICATE_CLAUSE, span, message);
        }
        if joint.lock.has(direction) {
            let message = format!("`{}` is locked by this joint, so a limit has no effect", direction.word());
            self.low.report(Diagnostic::new(codes::IGNORED_CLAUSE, span, message));
            return None;
        }
        Some(Limit { direction, range, restitution })
    }

    fn drive(&mut self, joint: &Joint) -> Option<Drive> {
        let (direction, span) = self.direction_word()?;
        if joint.drives.iter().any(|d| d.direction == direction) {
            let message = format!("`{}` has two drives", direction.word());
            return self.fail(codes::DUPLICATE_CLAUSE, span, message);
        }
        if joint.lock.has(direction) {
            let message = format!("`{}` is locked by this joint and cannot be driven", direction.word());
            return self.fail(codes::EXCLUSIVE, span, message);
        }
        let turns = direction.is_rotation();
        let (aim, _) = self.choice("`speed` or `to`", &["speed", "to"])?;
        if aim == "speed" {
            let quantity = if turns { Quantity::AngularSpeed } else { Quantity::Length };
            let speed = self.number("the speed", quantity)?;
            let [_, _, force] = self.drive_options(&["max-force"])?;
            let max_force = force.unwrap_or(f64::INFINITY);
            return Some(Drive { direction, aim: DriveAim::Speed(speed), max_force });
        }
        let quantity = if turns { Quantity::Angle } else { Quantity::Length };
        let target = self.number("the position to go to", quantity)?;
        let [stiffness, damping, force] = self.drive_options(&["stiffness", "damping", "max-force"])?;
        let aim =
            DriveAim::To { target, stiffness: stiffness.unwrap_or(0.0), damping: damping.unwrap_or(0.0) };
        Some(Drive { direction, aim, max_force: force.unwrap_or(f64::INFINITY) })
    }

    /// `stiffness`, `damping` and `max-force`, as far as allowed, in any order.
    fn drive_options(&mut self, allowed: &[&'static str]) -> Option<[Option<f64>; 3]> {
        let mut found = [None; 3];
        while let Some((word, span)) = self.option() {
            if !allowed.contains(&word) {
                return self.unknown_word(word, span, "part of this drive", allowed);
            }
            let place = match word {
                "stiffness" => 0,
                "damping" => 1,
                _ => 2,
            };
            if found[place].is_some() {
                return self.fail(codes::DUPLICATE_CLAUSE, span, format!("`{word}` is given twice"));
            }
            found[place] = Some(match word {
                "max-force" => self.positive("the largest force", Quantity::Plain)?,
                _ => self.not_negative(&format!("the {word}"), Quantity::Plain)?,
            });
        }
        Some(found)
    }
}
