//! Adding and taking out joints in a text, everything else as it was: comments, layout, order.

use super::diagnostic::Sink;
use super::lex::Lexer;
use super::parse::parse;
use super::write::{frame_text, numbers, spell};
use crate::joint::JointId;
use crate::math::Pose;

/// A joint to be written.
#[derive(Clone, Copy, Debug)]
pub struct NewJoint<'a> {
    /// Its label.
    pub label: &'a str,
    /// `ball`, `pin`, …
    pub kind: &'a str,
    /// Pitch or length, for the kinds that have one.
    pub number: Option<f64>,
    /// Names of the two solids.
    pub objects: [&'a str; 2],
    /// Frames in the solids.
    pub frames: [Pose; 2],
    /// Write the axes, not only the points.
    pub turned: bool,
}

/// The text with a joint at its end.
///
/// ```
/// use linkwork::{Pose, scene};
/// let text = "solid bar: mass 1; shape sphere 1; end // the only one";
/// let frames = [Pose::IDENTITY, Pose::translation(0.0, 1.0, 0.0)];
/// let hang = scene::NewJoint { label: "hang", kind: "ball", number: None, objects: ["world", "bar"], frames, turned: false };
/// let more = scene::append_joint(text, &hang);
/// assert_eq!(more, format!("{text}\njoint hang: ball; object2 bar; frame1 0 0 0; frame2 0 1 0; end\n"));
/// assert_eq!(scene::remove_joint(&more, linkwork::JointId(0)).unwrap(), format!("{text}\n"));
/// ```
pub fn append_joint(text: &str, joint: &NewJoint) -> String {
    let mut out = text.to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    let frame = |pose: Pose| if joint.turned { frame_text(pose) } else { numbers(pose.translation) };
    out += &format!("joint {}: {}", joint.label, joint.kind);
    if let Some(number) = joint.number {
        out += &format!(" {}", spell(number));
    }
    out += ";";
    for (side, name) in joint.objects.iter().enumerate() {
        // The world is what a first side is when nothing is said.
        if !(side == 0 && *name == "world") {
            out += &format!(" object{} {name};", side + 1);
        }
    }
    out += &format!(" frame1 {}; frame2 {}; end\n", frame(joint.frames[0]), frame(joint.frames[1]));
    out
}

/// The text without a joint or constraint; `None` when there is no such one. Comments inside of it stay in its place.
pub fn remove_joint(text: &str, id: JointId) -> Option<String> {
    let file = parse(text, &mut Sink::default());
    let mut joints = file.blocks.iter().filter(|b| matches!(file.str(b.keyword), "joint" | "constraint"));
    let block = joints.nth(id.index())?;
    let source = file.str(block.span);
    let mut comments = Vec::new();
    let mut lexer = Lexer::new(source);
    loop {
        let token = lexer.next_with_comments();
        if token.span.start == token.span.end {
            break;
        }
        if token.is_comment() {
            comments.push(token.span.of(source));
        }
    }
    let (before, after) = (text.get(..block.span.start as usize)?, text.get(block.span.end as usize..)?);
    let indent = before.rfind('\n').map_or(0, |at| at + 1);
    let alone = before[indent..].trim().is_empty();
    let rest = after.trim_start_matches([' ', '\t']);
    let mut out = before.to_owned();
    let ends = rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n");
    if comments.is_empty() && alone && ends {
        // Nothing else on its lines: the lines go too.
        out.truncate(indent);
        out.push_str(rest.strip_prefix("\r\n").or(rest.strip_prefix('\n')).unwrap_or(rest));
        return Some(out);
    }
    for (k, comment) in comments.iter().enumerate() {
        out.push_str(comment);
        let last = k + 1 == comments.len();
        // What stood behind a line comment must not become a part of it.
        if comment.starts_with("//") && !(last && ends) {
            out.push('\n');
        } else if !last {
            out.push(' ');
        }
    }
    out.push_str(if comments.is_empty() { rest } else { after });
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_a_joint_out_keeps_every_comment() {
        let text = "/* head */\nsolid a: mass 1; shape sphere 1; end\n\
            joint one: ball; object2 a; end // first\n\
            // between\n  joint two: ball; /* why */ object2 a; // because\n end\n/* tail */\n";
        let one = remove_joint(text, JointId(0)).unwrap();
        assert!(one.contains("// first\n// between\n  joint two"), "{one}");
        let two = remove_joint(text, JointId(1)).unwrap();
        assert!(two.contains("/* why */ // because\n/* tail */"), "{two}");
        assert!(!two.contains("joint two") && two.contains("joint one"), "{two}");
        assert_eq!(remove_joint(text, JointId(2)), None);
        for edited in [one, two] {
            assert!(!super::super::parse_text(&edited).1.has_errors(), "{edited}");
        }
    }
}
