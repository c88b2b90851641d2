//! The scene's text and what it says, and the changes that editing makes to both.

use super::command::{Command, Complaint, SessionError, Which};
use crate::joint::JointId;
use crate::math::{Pose, Vector, unit};
use crate::mechanism::Mechanism;
use crate::scene::{self, NewJoint, Scene, vocabulary};
use crate::solid::SolidId;
use crate::state::State;
use std::collections::BTreeMap;

/// Hands out mesh files.
pub type Files<'f> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'f;

/// A text and the scene it makes.
pub(super) struct Document {
    pub text: String,
    pub scene: Scene,
    pub lints: Vec<Complaint>,
}

impl Document {
    /// Reads a text; complaints are errors, or the lints of a good scene.
    pub fn read(text: &str, files: &mut Files<'_>) -> (Option<Self>, scene::Report) {
        let (scene, report) = scene::load(text, files);
        let lints = if scene.is_some() { Complaint::list(&report, text) } else { Vec::new() };
        (scene.map(|scene| Document { text: text.to_owned(), scene, lints }), report)
    }

    /// About what it takes in memory: what a text says takes some times its length.
    pub fn bytes(&self) -> usize {
        const TIMES: usize = 8;
        TIMES * self.text.len()
    }

    /// Has the same shapes as another one of the same text: whatever comes from files.
    pub fn looks_like(&self, other: &Document) -> bool {
        let (a, b) = (&self.scene, &other.scene);
        a.mechanism.solids() == b.mechanism.solids()
            && a.tetras == b.tetras
            && a.cloths == b.cloths
            && a.skins == b.skins
    }

    /// Per solid of this scene: the solid of `old` that it goes on from, if there is one. Names decide; a solid whose
    /// declared pose or kernel changed starts where it is declared.
    pub fn survivors(&self, old: &Document) -> Vec<Option<SolidId>> {
        let (new, old) = (&self.scene.mechanism, &old.scene.mechanism);
        new.solids()
            .iter()
            .map(|s| {
                let id = old.find(&s.name)?;
                let before = old.solid(id);
                (before.pose == s.pose && before.kernel == s.kernel && before.particle == s.particle)
                    .then_some(id)
            })
            .collect()
    }

    /// Per joint of this scene: the same joint in `old`, of which one may be known to be `removed`.
    pub fn same_joints(&self, old: &Document, removed: Option<JointId>) -> Vec<Option<JointId>> {
        let (new, old) = (&self.scene.mechanism, &old.scene.mechanism);
        let key = |m: &Mechanism, k: usize| {
            let j = &m.joints()[k];
            let ends = j.frames.map(|f| m.solid(f.solid).name.clone());
            (j.name.clone(), ends, j.counted_ranges().count())
        };
        // Joints without a name are told apart by their order between the same solids.
        let mut known: BTreeMap<_, Vec<JointId>> = BTreeMap::new();
        for k in (0..old.joints().len()).rev().filter(|k| removed != Some(JointId(*k as u32))) {
            known.entry(key(old, k)).or_default().push(JointId(k as u32));
        }
        (0..new.joints().len()).map(|k| known.get_mut(&key(new, k))?.pop()).collect()
    }
}

/// The solid that is meant.
pub(super) fn find_solid(m: &Mechanism, which: &Which) -> Result<SolidId, SessionError> {
    let found = match which {
        Which::Id(id) => Some(SolidId(*id)).filter(|id| id.index() < m.solids().len()),
        Which::Name(name) => m.find(name),
    };
    found.ok_or_else(|| SessionError::NoSolid { solid: which.to_string() })
}

/// The joint that is meant.
pub(super) fn find_joint(m: &Mechanism, which: &Which) -> Result<JointId, SessionError> {
    let found = match which {
        Which::Id(id) => Some(JointId(*id)).filter(|id| id.index() < m.joints().len()),
        Which::Name(name) => m.find_joint(name).filter(|_| !name.is_empty()),
    };
    found.ok_or_else(|| SessionError::NoJoint { joint: which.to_string() })
}

/// The text with the joint that an [`Command::AddConstraint`] asks for.
pub(super) fn with_joint(
    text: &str,
    m: &Mechanism,
    s: &State,
    command: &Command,
) -> Result<String, SessionError> {
    let Command::AddConstraint { kind, solid1, solid2, point, point2, axis, value, name } = command else {
        return Ok(text.to_owned());
    };
    if !vocabulary::JOINT_KINDS.contains(&kind.as_str()) || kind == "lock" {
        let known = vocabulary::JOINT_KINDS.iter().filter(|k| **k != "lock").map(|k| k.to_string()).collect();
        return Err(SessionError::Unknown { name: kind.clone(), known });
    }
    let solids = [find_solid(m, solid1)?, find_solid(m, solid2)?];
    let names = solids.map(|id| m.solid(id).name.clone());
    let bad = |what: String| Err(SessionError::BadValue { what });
    if solids[0] == solids[1] {
        return bad(format!("a joint needs two solids, and both are `{}`", names[0]));
    }
    let points = [Vector::from_array(*point), Vector::from_array(point2.unwrap_or(*point))];
    let Some(axis) = unit(axis.map_or(Vector::X, Vector::from_array)) else {
        return bad("the axis has no direction".into());
    };
    let Some(rotation) = crate::math::frame_rotation(axis, None) else {
        return bad("the axis has no direction".into());
    };
    let frames =
        [0, 1].map(|side| s.pose(m, solids[side]).inverse() * Pose::from_parts(points[side], rotation));
    let number = match kind.as_str() {
        "distance" => Some(value.unwrap_or(points[0].distance(points[1]))),
        "screw" => match value {
            Some(pitch) => Some(*pitch),
            None => return bad("a screw needs its pitch as `value`".into()),
        },
        _ => None,
    };
    if number.is_some_and(|n| !(n.is_finite() && n != 0.0)) || (kind == "distance" && number < Some(0.0)) {
        return bad("the length or pitch must not be zero".into());
    }
    let label = match name {
        Some(name) if scene::lex::is_name(name) && m.find_joint(name).is_none() => name.clone(),
        Some(name) => return bad(format!("`{name}` is not a valid name for a joint, or is taken")),
        None => (1..)
            .map(|k| format!("{kind}-{k}"))
            .find(|n| m.find_joint(n).is_none())
            .unwrap_or_else(|| kind.clone()),
    };
    // A point needs no axes; fewer numbers are easier to read.
    let turned = !matches!(kind.as_str(), "ball" | "universal" | "distance");
    Ok(scene::append_joint(
        text,
        &NewJoint { label: &label, kind, number, objects: [&names[0], &names[1]], frames, turned },
    ))
}

/// An error report as a refusal.
pub(super) fn refuse(report: &scene::Report, text: &str) -> SessionError {
    SessionError::Text { diagnostics: Complaint::list(report, text) }
}
