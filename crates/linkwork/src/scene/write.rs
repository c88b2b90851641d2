//! Back to text: the source with new initial poses, everything else as it was.
//!
//! Only what depends on the initial poses is touched: `at`, `turn` and `orientation` of solids that moved;
//! joints given in world coordinates, which become `frame1` and `frame2`; and springs whose length was their
//! initial distance, which get it spelt out. Vertices of soft bodies have no text of their own: where they are is for
//! snapshots. Comments inside a rewritten clause move behind it.

use super::diagnostic::Sink;
use super::lex::Lexer;
use super::model::Scene;
use super::parse::parse;
use super::syntax::{Block, Clause, File, Span};
use crate::joint::JointId;
use crate::math::{Pose, Rotation, Vector};
use crate::solid::{Kernel, SolidId};
use std::fmt::Write;

/// The text of `scene` with each dynamic solid's initial pose replaced by `pose`.
///
/// `text` must be the text that `scene` was read from. Reading the result gives exactly these poses (numbers are
/// printed so that they read back bit for bit) as long as rotations have unit length. A block with several names is
/// split when their poses differ.
pub fn write_poses(text: &str, scene: &Scene, pose: impl Fn(SolidId) -> Pose) -> String {
    let file = parse(text, &mut Sink::default());
    let mut writer = Writer { file: &file, scene, out: String::with_capacity(text.len() * 2), copied: 0 };
    let (mut solid, mut joint, mut spring) = (1u32, 0u32, 0usize);
    for block in &file.blocks {
        match file.str(block.keyword) {
            "solid" | "particle" => {
                let count = file.labels(block).len().max(1) as u32;
                let poses: Vec<Option<Pose>> =
                    (solid..solid + count).map(|id| writer.moved(SolidId(id), &pose)).collect();
                writer.solid(block, &poses);
                solid += count;
            }
            "joint" => {
                writer.joint(block, JointId(joint));
                joint += 1;
            }
            "constraint" => joint += 1,
            "spring" => {
                writer.spring(block, spring);
                spring += 1;
            }
            _ => {}
        }
    }
    writer.copy_to(text.len());
    writer.declare_objects(&pose);
    writer.out
}

struct Writer<'f, 't> {
    file: &'f File<'t>,
    scene: &'f Scene,
    out: String,
    /// Bytes of the source already dealt with.
    copied: usize,
}

/// A replacement in the source.
struct Edit {
    span: Span,
    text: String,
}

impl<'f, 't> Writer<'f, 't> {
    /// The new pose of a solid, unless it may not or did not move.
    fn moved(&self, id: SolidId, pose: &impl Fn(SolidId) -> Pose) -> Option<Pose> {
        let solid = self.scene.mechanism.solids().get(id.index())?;
        if solid.kernel != Kernel::Dynamic {
            return None;
        }
        let pose = pose(id);
        (pose != solid.pose).then_some(pose)
    }

    fn copy_to(&mut self, end: usize) {
        self.out.push_str(self.file.text.get(self.copied..end).unwrap_or(""));
        self.copied = self.copied.max(end);
    }

    /// Copies the source from where it stands, with the edits (in order) made, up to `end`.
    fn apply(&mut self, edits: &[Edit], end: usize) {
        for edit in edits {
            self.copy_to(edit.span.start as usize);
            self.out.push_str(&edit.text);
            self.copied = edit.span.end as usize;
        }
        self.copy_to(end);
    }

    fn clause(&self, block: &Block, word: &str) -> Option<&'f Clause> {
        self.file.clauses(block).iter().find(|c| self.file.str(c.word) == word)
    }

    /// Where a clause can be put: before the first one, or before `end`.
    fn insertion(&self, block: &Block) -> Span {
        match self.file.clauses(block).first() {
            Some(first) => Span { start: first.word.start, end: first.word.start },
            None => Span { start: block.span.end - 3, end: block.span.end - 3 },
        }
    }

    /// Replaces a clause, its comments kept behind the new text.
    fn replace(&self, clause: &Clause, mut text: String) -> Edit {
        let source = self.file.str(clause.span);
        let mut lexer = Lexer::new(source);
        loop {
            let token = lexer.next_with_comments();
            if token.span.start == token.span.end {
                break;
            }
            if token.is_comment() {
                let comment = token.span.of(source);
                let _ = write!(text, " {comment}");
                if comment.starts_with("//") {
                    text.push('\n');
                }
            }
        }
        Edit { span: clause.span, text }
    }

    fn solid(&mut self, block: &Block, poses: &[Option<Pose>]) {
        if poses.iter().all(Option::is_none) {
            return;
        }
        let end = block.span.end as usize;
        if poses.windows(2).all(|pair| pair[0] == pair[1]) {
            let edits = self.pose_edits(block, poses[0]);
            return self.apply(&edits, end);
        }
        // Different poses: one copy of the block per name.
        self.copy_to(block.span.start as usize);
        let labels = self.file.labels(block);
        let all = labels[0].to(labels[labels.len() - 1]);
        for (label, pose) in labels.iter().zip(poses) {
            if self.copied > block.span.start as usize {
                self.out.push('\n');
            }
            self.copied = block.span.start as usize;
            let mut edits = vec![Edit { span: all, text: self.file.str(*label).to_owned() }];
            edits.extend(self.pose_edits(block, *pose));
            self.apply(&edits, end);
        }
    }

    /// The edits that give a solid block its pose, in order of place.
    fn pose_edits(&self, block: &Block, pose: Option<Pose>) -> Vec<Edit> {
        let Some(pose) = pose else { return Vec::new() };
        let particle = self.file.str(block.keyword) == "particle";
        let at = format!("at {}", numbers(pose.translation));
        let orientation = format!("orientation {}", quaternion(pose.rotation));
        let turned = self.clause(block, "turn").or_else(|| self.clause(block, "orientation"));
        let needs_turn = turned.is_none() && !particle && pose.rotation != Rotation::IDENTITY;
        let mut edits = Vec::new();
        match self.clause(block, "at") {
            Some(clause) if needs_turn => edits.push(self.replace(clause, format!("{at}; {orientation}"))),
            Some(clause) => edits.push(self.replace(clause, at)),
            None if needs_turn => {
                edits.push(Edit { span: self.insertion(block), text: format!("{at}; {orientation}; ") });
            }
            None => edits.push(Edit { span: self.insertion(block), text: format!("{at}; ") }),
        }
        edits.extend(turned.map(|clause| self.replace(clause, orientation)));
        edits.sort_by_key(|edit| edit.span.start);
        edits
    }

    /// World coordinates meant the old initial poses.
    fn joint(&mut self, block: &Block, id: JointId) {
        let (Some(at), Some(joint)) =
            (self.clause(block, "at"), self.scene.mechanism.joints().get(id.index()))
        else {
            return;
        };
        let [one, two] = joint.frames.map(|frame| frame_text(frame.pose));
        let edit = self.replace(at, format!("frame1 {one}; frame2 {two}"));
        self.apply(&[edit], block.span.end as usize);
    }

    fn spring(&mut self, block: &Block, index: usize) {
        let Some(spring) = self.scene.mechanism.springs.get(index) else { return };
        if self.clause(block, "length").is_none() {
            let edit = Edit { span: self.insertion(block), text: format!("length {}; ", spring.length) };
            self.apply(&[edit], block.span.end as usize);
        }
    }

    /// A file of constraints only gets its objects declared: they have a place now.
    fn declare_objects(&mut self, pose: &impl Fn(SolidId) -> Pose) {
        let solids = self.scene.mechanism.solids();
        let sources = &self.scene.sources;
        let own = solids.len().saturating_sub(sources.vertices);
        let declared = own.saturating_sub(sources.undeclared);
        for (index, solid) in solids.iter().enumerate().take(own).skip(declared) {
            if !self.out.ends_with('\n') {
                self.out.push('\n');
            }
            let pose = pose(SolidId(index as u32));
            let _ = writeln!(
                self.out,
                "solid {}: mass 1; at {}; orientation {}; end",
                solid.name,
                numbers(pose.translation),
                quaternion(pose.rotation)
            );
        }
    }
}

/// The shortest spelling that reads back as the same number; powers of ten where zeros would hide the digits.
pub(super) fn spell(x: f64) -> String {
    if x != 0.0 && x.abs() < 1e-4 { format!("{x:e}") } else { format!("{x}") }
}

pub(super) fn numbers(v: Vector) -> String {
    format!("{} {} {}", spell(v.x), spell(v.y), spell(v.z))
}

fn quaternion(q: Rotation) -> String {
    format!("{} {} {} {}", spell(q.w), spell(q.x), spell(q.y), spell(q.z))
}

pub(super) fn frame_text(pose: Pose) -> String {
    if pose.rotation == Rotation::IDENTITY {
        return numbers(pose.translation);
    }
    let (axis, up) = (pose.rotation * Vector::X, pose.rotation * Vector::Y);
    format!("{} axis {} up {}", numbers(pose.translation), numbers(axis), numbers(up))
}
