//! Edits: new texts while running, and taking them back.

use super::check::settings_of;
use super::command::{Applied, Complaint, SessionError};
use super::document::{Document, Files, refuse};
use super::history::Moment;
use super::log::Entry;
use super::report::Settings;
use super::{Session, pace};
use crate::joint::JointId;
use crate::math::Vector;
use crate::solve::SolverKind;
use crate::step::assemble::{AssembleConfig, Outcome, assemble};
use std::cell::Cell;
use std::sync::Arc;

/// Iterations that an edit may take to close what it opened.
const EDIT_ITERATIONS: usize = 60;

/// What an assembly may cost, in joints times looks at the clock. There is a look per factorisation, which takes a fraction
/// of a microsecond per joint in chains and some in nets: about half a second in the middle of an edit. Constraints that
/// contradict each other would otherwise be fought for minutes.
const EDIT_PATIENCE: usize = 1_000_000;
/// The same when a scene is opened or reset: people expect that to take a moment.
const LOAD_PATIENCE: usize = 5_000_000;
/// However many joints there are: looks that an assembly may take, and those after which an edit of a few joints gives up.
/// One that comes to an end takes some hundred.
const LEAST_PATIENCE: usize = 1000;
const EDIT_LOOKS: usize = 3000;
const LOAD_LOOKS: usize = 100_000;

/// When constraints are closed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    /// In the middle of everything.
    Edit,
    /// At the start.
    Load,
}

/// What takes a new text back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UndoOf {
    /// An undo of its own.
    Own,
    /// The one that takes back what came before it.
    Before,
}

impl Session {
    pub(super) fn undo(&mut self, redo: bool, out: &mut Applied) -> Result<(), SessionError> {
        let now = self.moment(None);
        let found = if redo { self.edits.redo(|| now) } else { self.edits.undo(|| now) };
        let Some(moment) = found else {
            let what = if redo { "do again" } else { "take back" };
            return Err(SessionError::Nothing { what: what.into() });
        };
        out.released.extend(self.grips.drain(..).map(|g| g.hand));
        out.reloaded = !Arc::ptr_eq(&self.document, &moment.document);
        self.restore(moment);
        if out.reloaded {
            let start = self.scene_state();
            self.history.restart(start);
        } else {
            self.snapshot();
        }
        Ok(())
    }

    /// What is, to come back to. Hands are not a part of it.
    pub(super) fn moment(&self, gesture: Option<u64>) -> Moment {
        Moment {
            document: self.document.clone(),
            enabled: self.base.joints().iter().map(|j| j.enabled).collect(),
            state: self.scene_state(),
            settings: self.settings.clone(),
            gesture,
        }
    }

    /// Puts a moment back, with no hands.
    pub(super) fn restore(&mut self, moment: Moment) {
        self.grips.clear();
        if !Arc::ptr_eq(&self.document, &moment.document) {
            let (old, new) = (&self.document.scene, &moment.document.scene);
            let (now, then) = (&mut self.settings, &moment.settings);
            if old.mechanism.gravity != new.mechanism.gravity {
                now.gravity = then.gravity;
            }
            if old.settings != new.settings {
                // What a text can set; the rest is the user's.
                let Settings { mode, running, gravity, speed, policy, obstacles, .. } = now.clone();
                *now = Settings { mode, running, gravity, speed, policy, obstacles, ..then.clone() };
                self.pace = pace(now);
            }
            self.warnings.clone_from(&moment.document.lints);
            self.document = moment.document;
            self.base = self.document.scene.mechanism.clone();
            self.base.gravity = Vector::from_array(self.settings.gravity);
            self.size_up();
        }
        (self.settings.friction, self.settings.bounce) = (moment.settings.friction, moment.settings.bounce);
        self.settings.wind = moment.settings.wind;
        self.set_air();
        for (k, on) in moment.enabled.iter().enumerate().take(self.base.joints().len()) {
            let id = JointId(k as u32);
            if self.base.joint(id).enabled != *on {
                self.base.alter_joint(id, |j| j.enabled = *on);
            }
        }
        self.state = moment.state;
        self.touching.restart();
        self.rebuild();
    }

    /// Closes what stands open beyond the tolerance; complains when it cannot. In the middle of an edit there are no
    /// restarts, and patience is short.
    pub(super) fn assemble_if_open(&mut self, occasion: Occasion) -> Option<Complaint> {
        if self.measure() <= self.settings.tolerance {
            return None;
        }
        let (iterations, patience, looks) = match occasion {
            Occasion::Edit => (Some(EDIT_ITERATIONS), EDIT_PATIENCE, EDIT_LOOKS),
            Occasion::Load => (None, LOAD_PATIENCE, LOAD_LOOKS),
        };
        // A count instead of a clock, so that a replay gives up at the same place.
        let most = (patience / self.base.joints().len().max(1)).clamp(LEAST_PATIENCE, looks);
        let asked = Cell::new(0);
        let out_of_time = || {
            asked.set(asked.get() + 1);
            asked.get() > most
        };
        let config = AssembleConfig {
            tolerance: self.settings.tolerance,
            // Not the one that steps are taken with: an iterative one makes nothing but time of a contradiction.
            solver: SolverKind::Auto,
            max_rotation: self.settings.max_rotation,
            iterations,
            restarts: 3,
            out_of_time: Some(&out_of_time),
            ..Default::default()
        };
        let report = assemble(&self.base, &mut self.state, &config);
        if matches!(occasion, Occasion::Load) && report.outcome == Outcome::Ok {
            // What the text starts with, as in a run: the first step takes what the joints allow.
            self.state.memory = Default::default();
        } else {
            // Velocities belong to the poses that are gone.
            self.stop_motion();
        }
        self.grips.iter_mut().for_each(|g| g.regrip(&self.base, &self.state));
        self.rebuild();
        let worst = report.worst.first()?;
        let name = self.base.joint_name(worst.joint);
        let text = match report.outcome {
            Outcome::Ok => return None,
            Outcome::Conflict => "these constraints cannot all hold",
            Outcome::Budget | Outcome::Diverged => "not all constraints could be closed",
        };
        Some(Complaint::plain(format!("{text}; the widest gap is at `{name}`")))
    }

    pub(super) fn set_text(
        &mut self,
        text: &str,
        undo: UndoOf,
        removed: Option<JointId>,
        mesh: &mut Files<'_>,
        out: &mut Applied,
    ) -> Result<(), SessionError> {
        let same = text == self.document.text;
        if same && self.files.is_empty() {
            return Ok(());
        }
        let (known, mut new) = (&self.files, Vec::new());
        // Files may have changed since they were read, or be gone; a replay has nobody to ask and knows them all.
        let (document, report) = Document::read(text, &mut |name| match (mesh(name), known.get(name)) {
            (Ok(bytes), Some(old)) if bytes == *old => Ok(bytes),
            (Ok(bytes), _) => {
                new.push((name.to_owned(), bytes.clone()));
                Ok(bytes)
            }
            (Err(_), Some(old)) => Ok(old.clone()),
            (Err(why), None) => Err(why),
        });
        let Some(document) = document else { return Err(refuse(&report, text)) };
        if same && document.looks_like(&self.document) {
            return Ok(());
        }
        // Files go before the command that needs them.
        let command = if new.is_empty() { None } else { self.log.entries.pop() };
        for (name, bytes) in new {
            self.log.push(Entry::File { name: name.clone(), bytes: bytes.clone() });
            self.files.insert(name, bytes);
        }
        self.log.entries.extend(command);
        let moment = self.moment(None);
        self.let_go(out);
        self.edits.put(moment, undo == UndoOf::Before);
        let old = std::mem::replace(&mut self.document, Arc::new(document));
        let new = &self.document.scene;
        let (solids, joints) = (self.document.survivors(&old), self.document.same_joints(&old, removed));
        let state = self.state.carried_over(&self.base, &new.mechanism, &solids, &joints);
        let mut base = new.mechanism.clone();
        for (k, from) in joints.iter().enumerate() {
            let Some(from) = from else { continue };
            let switched = self.base.joint(*from).enabled != old.scene.mechanism.joint(*from).enabled;
            if switched {
                let on = self.base.joint(*from).enabled;
                base.alter_joint(JointId(k as u32), |j| j.enabled = on);
            }
        }
        if new.settings != old.scene.settings {
            let running = self.settings.running;
            self.settings =
                Settings { running, ..settings_of(new, Some((&self.settings, &old.scene.settings))) };
            self.pace = pace(&self.settings);
        }
        if new.mechanism.gravity != old.scene.mechanism.gravity {
            self.settings.gravity = new.mechanism.gravity.to_array();
        }
        if new.mechanism.air() != old.scene.mechanism.air() {
            self.settings.wind = None;
        }
        base.gravity = Vector::from_array(self.settings.gravity);
        self.base = base;
        self.set_air();
        self.state = state;
        self.touching.restart();
        self.size_up();
        self.rebuild();
        self.warnings.clone_from(&self.document.lints);
        let open = self.assemble_if_open(Occasion::Edit);
        self.warnings.extend(open);
        let start = self.scene_state();
        self.history.restart(start);
        out.reloaded = true;
        out.warnings.clone_from(&self.warnings);
        Ok(())
    }

    /// Mesh files as the session knows them, by the names that its texts used.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }

    pub(super) fn keep_file(&mut self, name: &str, bytes: Vec<u8>) {
        self.log.push(Entry::File { name: name.to_owned(), bytes: bytes.clone() });
        self.files.insert(name.to_owned(), bytes);
    }
}
