//! The past: a ring of snapshots to look back and branch, and the edits that can be taken back.

use super::document::Document;
use super::report::{Settings, Timeline};
use crate::math::Vector;
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
    /// For when the text, which sets some of them, is taken back.
    pub settings: Settings,
    /// The grab that it was taken for.
    pub gesture: Option<u64>,
}

impl Moment {
    /// What it takes beside the one before it, which may share its text.
    fn bytes(&self, before: Option<&Moment>) -> usize {
        let shared = before.is_some_and(|b| Arc::ptr_eq(&b.document, &self.document));
        let document = if shared { 0 } else { self.document.bytes() };
        bytes(&self.state) + self.enabled.len() + std::mem::size_of::<Self>() + document
    }

    /// Nothing moved since.
    fn is_here(&self, now: &State) -> bool {
        // Trackers of hands stand behind the solids of the scene.
        let solids = self.state.centers.len();
        let same = |a: &[Vector], b: &[Vector]| b.get(..solids) == Some(a);
        self.state.time == now.time
            && same(&self.state.centers, &now.centers)
            && (0..solids).all(|i| now.rotations[i] == self.state.rotations[i])
            && same(&self.state.velocities, &now.velocities)
            && (0..solids).all(|i| now.spins[i] == self.state.spins[i])
    }
}

fn bytes(s: &State) -> usize {
    std::mem::size_of::<State>()
        + s.centers.len() * 6 * 8
        + s.spins.values().len() * 7 * 8
        + s.angles.len() * 8
        + s.memory.islands.iter().map(|i| i.size()).sum::<usize>()
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

    /// Shows the one so many places from the one shown now, or the last one on that way, and how many places that was;
    /// none if there is no way to go.
    pub fn go(&mut self, by: i64) -> (Option<&State>, u64) {
        let from = self.place();
        let last = self.snapshots.len().saturating_sub(1) as i64;
        let place = (from as i64).saturating_add(by).clamp(0, last) as usize;
        let gone = place.abs_diff(from) as u64;
        (if gone > 0 { self.show(place) } else { None }, gone)
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
    /// What could be done again before hands took hold: it can be once more if they change nothing.
    parked: Option<Vec<Moment>>,
    /// The first gesture of the hands that hold something now.
    open: Option<u64>,
}

impl Edits {
    /// Something is about to change.
    pub fn push(&mut self, moment: Moment) {
        self.redo.clear();
        self.parked = None;
        self.keep(moment);
    }

    /// The same; `amends`: it goes on with the edit before, if there is one, and is taken back with it.
    pub fn put(&mut self, moment: Moment, amends: bool) {
        if amends && !self.undo.is_empty() {
            self.redo.clear();
            self.parked = None;
        } else {
            self.push(moment);
        }
    }

    /// A hand takes hold, the first or beside others. Hands that have not moved anything yet have one undo together.
    pub fn begin(&mut self, moment: Moment, is_first: bool) {
        if is_first {
            // Hands before it may have been emptied by an undo or a look back.
            (self.parked, self.open) = (None, None);
        }
        let redo = std::mem::take(&mut self.redo);
        self.parked.get_or_insert(redo);
        let newest = self.undo.back().filter(|m| m.gesture.is_some() && m.gesture != moment.gesture);
        let open = self.open.is_some_and(|first| newest.is_some_and(|m| m.gesture >= Some(first)));
        if open && newest.is_some_and(|m| m.is_here(&moment.state) && m.enabled == moment.enabled) {
            return;
        }
        self.open = self.open.or(moment.gesture);
        self.keep(moment);
    }

    fn keep(&mut self, moment: Moment) {
        self.undo.push_back(moment);
        let mut bytes = 0;
        let mut before = None;
        for m in &self.undo {
            bytes += m.bytes(before);
            before = Some(m);
        }
        while self.undo.len() > 1 && (self.undo.len() > MOST_EDITS || bytes > MOST_BYTES) {
            // The next one holds the text now, if it was shared.
            let held = self.undo.get(1).map_or(0, |m| m.bytes(None) - m.bytes(self.undo.front()));
            bytes -= self.undo.pop_front().map_or(0, |m| m.bytes(None)) - held;
        }
    }

    /// The last hand let go. If the hands changed nothing there is nothing to take back, and all is as it was: that state.
    pub fn end(&mut self, now: &State) -> Option<State> {
        let first = self.open.take();
        let parked = self.parked.take();
        let mut back = None;
        while let Some(newest) = self.undo.back()
            && newest.gesture.is_some()
            && newest.gesture >= first
            && newest.is_here(now)
        {
            back = self.undo.pop_back().map(|m| m.state);
        }
        if back.is_some() && !self.undo.back().is_some_and(|m| m.gesture.is_some() && m.gesture >= first) {
            self.redo = parked.unwrap_or_default();
        }
        back
    }

    /// The gesture is taken back, and all that came after it: neither can be done again. If that was the last
    /// hand, what could be done again before can be once more.
    pub fn cancel(&mut self, gesture: u64, is_last: bool) {
        if let Some(place) = self.undo.iter().position(|m| m.gesture >= Some(gesture)) {
            self.undo.truncate(place);
        }
        if is_last {
            self.open = None;
            self.redo = self.parked.take().unwrap_or_default();
        }
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
