//! The past: a ring of snapshots to look back and branch, and the edits that can be taken back.

use super::document::Document;
use super::report::Timeline;
use crate::state::State;
use std::collections::VecDeque;
use std::sync::Arc;

/// Twenty seconds at sixty steps a second.
const MOST_SNAPSHOTS: usize = 1200;
/// Bytes that snapshots, and what can be taken back, may take (each).
const MOST_BYTES: usize = 64 << 20;
/// Edits that can be taken back.
const MOST_EDITS: usize = 500;

/// Where everything was, and what it was.
#[derive(Clone)]
pub(super) struct Moment {
    pub document: Arc<Document>,
    /// Per joint of the scene.
    pub enabled: Vec<bool>,
    pub state: State,
    /// The grab that it was taken for.
    pub gesture: Option<u64>,
}

impl Moment {
    fn bytes(&self) -> usize {
        bytes(&self.state) + self.enabled.len()
    }
}

fn bytes(s: &State) -> usize {
    std::mem::size_of::<State>()
        + s.centers.len() * 13 * 8
        + (s.angles.len() + s.memory.forces.len() + s.memory.pull.len()) * 8
}

/// Snapshots of the recent past, in order of time.
#[derive(Default)]
pub(super) struct Ring {
    snapshots: VecDeque<State>,
    /// Number of the oldest one.
    first: u64,
    bytes: usize,
    /// Place of the one shown, when it is not the newest.
    shown: Option<usize>,
}

impl Ring {
    /// Forgets everything and starts with this one.
    pub fn restart(&mut self, state: State) {
        self.first += self.snapshots.len() as u64;
        self.snapshots.clear();
        self.bytes = 0;
        self.shown = None;
        self.push(state);
    }

    /// What is now. If an older one is shown, what came after it is forgotten.
    pub fn push(&mut self, state: State) {
        self.branch();
        if self.snapshots.back() == Some(&state) {
            return;
        }
        self.bytes += bytes(&state);
        self.snapshots.push_back(state);
        while self.snapshots.len() > 1 && (self.snapshots.len() > MOST_SNAPSHOTS || self.bytes > MOST_BYTES) {
            if let Some(old) = self.snapshots.pop_front() {
                self.bytes -= bytes(&old);
                self.first += 1;
            }
        }
    }

    /// Forgets what came after the one shown.
    pub fn branch(&mut self) {
        if let Some(place) = self.shown.take() {
            for gone in self.snapshots.drain(place + 1..) {
                self.bytes -= bytes(&gone);
            }
        }
    }

    pub fn is_scrubbed(&self) -> bool {
        self.shown.is_some()
    }

    fn place(&self) -> usize {
        self.shown.unwrap_or(self.snapshots.len().saturating_sub(1))
    }

    /// Shows the one so many places from the one shown now; `None` at the end.
    pub fn go(&mut self, by: i64) -> Option<&State> {
        let place = (self.place() as i64).checked_add(by).filter(|p| *p >= 0)? as usize;
        self.show(place)
    }

    /// Shows the one of this number.
    pub fn at_index(&mut self, index: u64) -> Option<&State> {
        self.show(usize::try_from(index.checked_sub(self.first)?).ok()?)
    }

    /// Shows the last one at or before this time, or else the first.
    pub fn at_time(&mut self, time: f64) -> Option<&State> {
        let place = self.snapshots.iter().rposition(|s| s.time <= time).unwrap_or(0);
        self.show(place)
    }

    fn show(&mut self, place: usize) -> Option<&State> {
        let state = self.snapshots.get(place)?;
        self.shown = (place + 1 < self.snapshots.len()).then_some(place);
        Some(state)
    }

    pub fn timeline(&self) -> Timeline {
        let time = |s: Option<&State>| s.map_or(0.0, |s| s.time);
        Timeline {
            first: self.first,
            last: self.first + self.snapshots.len().saturating_sub(1) as u64,
            shown: self.first + self.place() as u64,
            from: time(self.snapshots.front()),
            to: time(self.snapshots.back()),
            scrubbed: self.is_scrubbed(),
        }
    }
}

/// What can be taken back, and done again.
#[derive(Default)]
pub(super) struct Edits {
    undo: VecDeque<Moment>,
    redo: Vec<Moment>,
}

impl Edits {
    /// Something is about to change.
    pub fn push(&mut self, moment: Moment) {
        self.redo.clear();
        self.keep(moment);
    }

    fn keep(&mut self, moment: Moment) {
        self.undo.push_back(moment);
        let mut bytes: usize = self.undo.iter().map(Moment::bytes).sum();
        while self.undo.len() > 1 && (self.undo.len() > MOST_EDITS || bytes > MOST_BYTES) {
            bytes -= self.undo.pop_front().map_or(0, |m| m.bytes());
        }
    }

    /// The gesture changed nothing after all, or was cancelled.
    pub fn forget(&mut self, gesture: u64) {
        self.undo.retain(|m| m.gesture != Some(gesture));
    }

    /// The moment before this gesture, if it is the newest edit and nothing moved since.
    pub fn unmoved(&self, gesture: u64, now: &State) -> Option<State> {
        let before = &self.undo.back().filter(|m| m.gesture == Some(gesture))?.state;
        let same = before.time == now.time
            && before.centers == now.centers
            && before.rotations == now.rotations
            && before.velocities == now.velocities
            && before.spins == now.spins;
        same.then(|| before.clone())
    }

    pub fn undo(&mut self, now: impl FnOnce() -> Moment) -> Option<Moment> {
        let moment = self.undo.pop_back()?;
        self.redo.push(now());
        Some(moment)
    }

    pub fn redo(&mut self, now: impl FnOnce() -> Moment) -> Option<Moment> {
        let moment = self.redo.pop()?;
        self.keep(now());
        Some(moment)
    }

    pub fn counts(&self) -> (usize, usize) {
        (self.undo.len(), self.redo.len())
    }
}
