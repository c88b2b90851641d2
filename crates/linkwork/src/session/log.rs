//! The log of a session, and its exact repetition.
//!
//! What users do and what the budget came to is all there is: commands, and counts of steps with the effort each was
//! allowed. No clock is needed to do it again.

use super::Session;
use super::command::{Command, SessionError};
use super::report::Effort;
use crate::scene::Report;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The version this library writes, and the only one it reads.
pub const VERSION: u32 = 1;
/// Longest log: hours of dragging. Beyond it the session goes on unrecorded.
const MOST_ENTRIES: usize = 4_000_000;
/// Most bytes of texts and files in it, the scene's own not counted. Beyond it the session goes on unrecorded, too.
const MOST_BYTES: usize = 64 << 20;
/// Most steps in one entry, so that a damaged number ends in an error and not in an endless run.
const MOST_STEPS: u32 = 1_000_000;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// A user did something.
    Command(Command),
    /// A file that the scene needed.
    File {
        /// As the scene names it.
        name: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// Steps in time.
    Steps {
        /// How many.
        count: u32,
        /// What each was allowed.
        effort: Effort,
    },
    /// Corrections without time: kinematic mode, or dragging while paused.
    Poses {
        /// How many.
        count: u32,
        /// What each was allowed.
        effort: Effort,
    },
    /// Time ran where the future was known: snapshots shown one after the other.
    Shown {
        /// How many.
        count: u32,
    },
}

/// A whole session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// Of the format.
    pub version: u32,
    /// The scene it started with.
    pub text: String,
    /// Mesh files of that scene.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Vec<u8>>,
    /// What happened, in order.
    pub entries: Vec<Entry>,
    /// [`Session::hash`] at the end, sixteen hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Too long: the end is missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    #[serde(skip)]
    pub(super) heavy: Heavy,
}

/// Bytes of texts and files in a log: a count that goes with it, and nothing that logs are told apart by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heavy(usize);

impl PartialEq for Heavy {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// How far a log had come.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    entries: usize,
    heavy: Heavy,
    cut: bool,
}

impl Entry {
    /// Bytes that it holds besides itself.
    fn bytes(&self) -> usize {
        match self {
            Entry::File { name, bytes } => name.len() + bytes.len(),
            Entry::Command(command) => command.bytes(),
            Entry::Steps { .. } | Entry::Poses { .. } | Entry::Shown { .. } => 0,
        }
    }
}

impl Log {
    pub(super) fn new(text: &str) -> Self {
        Self {
            version: VERSION,
            text: text.to_owned(),
            files: BTreeMap::new(),
            entries: Vec::new(),
            hash: None,
            cut: false,
            heavy: Heavy::default(),
        }
    }

    /// Where it is now.
    pub(super) fn mark(&self) -> Mark {
        Mark { entries: self.entries.len(), heavy: self.heavy, cut: self.cut }
    }

    /// What came after that did not happen.
    pub(super) fn back_to(&mut self, mark: Mark) {
        self.entries.truncate(mark.entries);
        (self.heavy, self.cut) = (mark.heavy, mark.cut);
    }

    pub(super) fn push(&mut self, entry: Entry) {
        let bytes = entry.bytes();
        // Once something is missing, the rest means nothing.
        if self.cut || self.entries.len() >= MOST_ENTRIES || self.heavy.0 + bytes > MOST_BYTES {
            self.cut = true;
            return;
        }
        self.heavy.0 += bytes;
        // Equal work is counted, not listed.
        match (self.entries.last_mut(), &entry) {
            (Some(Entry::Steps { count, effort }), Entry::Steps { count: more, effort: same })
            | (Some(Entry::Poses { count, effort }), Entry::Poses { count: more, effort: same })
                if effort == same && *count <= MOST_STEPS - more =>
            {
                *count += more;
            }
            (Some(Entry::Shown { count }), Entry::Shown { count: more }) if *count <= MOST_STEPS - more => {
                *count += more;
            }
            _ => self.entries.push(entry),
        }
    }

    /// Steps and corrections in it.
    pub fn steps(&self) -> u64 {
        let of = |e: &Entry| match e {
            Entry::Steps { count, .. } | Entry::Poses { count, .. } => u64::from(*count),
            _ => 0,
        };
        self.entries.iter().map(of).sum()
    }
}

/// Why a log cannot be repeated.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayError {
    /// Another version of the format.
    Version(u32),
    /// The log was cut: its end is missing.
    Cut,
    /// The scene has errors.
    Scene(Report),
    /// An entry (from 1) cannot be repeated.
    Refused(usize, SessionError),
    /// The counts of an entry (from 1) make no sense.
    Counts(usize),
    /// The end is not the one that was recorded.
    Differs {
        /// Recorded.
        expected: String,
        /// Found.
        found: String,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Version(v) => write!(f, "the log has version {v}; this program reads {VERSION}"),
            ReplayError::Cut => f.write_str("the log was cut: its end is missing"),
            ReplayError::Scene(r) => {
                write!(f, "the log's scene has {} errors or warnings", r.diagnostics.len())
            }
            ReplayError::Refused(n, why) => write!(f, "entry {n}: {why}"),
            ReplayError::Counts(n) => write!(f, "entry {n}: the counts are invalid"),
            ReplayError::Differs { expected, found } => {
                write!(f, "the run ends with {found}, but {expected} was recorded")
            }
        }
    }
}
impl std::error::Error for ReplayError {}

/// Repeats a session to its end: the same [`Session::hash`], bit for bit.
pub fn replay(log: &Log) -> Result<Session, ReplayError> {
    replay_with(log, &mut |_, _| {})
}

/// [`replay`], told after every entry how many are done; the session is as it was then.
pub fn replay_with(log: &Log, after: &mut dyn FnMut(usize, &Session)) -> Result<Session, ReplayError> {
    if log.version != VERSION {
        return Err(ReplayError::Version(log.version));
    }
    if log.cut {
        return Err(ReplayError::Cut);
    }
    let missing = || Err("the log does not contain this file".to_owned());
    let mut files = |name: &str| log.files.get(name).cloned().map_or_else(missing, Ok);
    let mut session = Session::open(&log.text, &mut files).map_err(ReplayError::Scene)?;
    for (n, entry) in log.entries.iter().enumerate() {
        match entry {
            Entry::Command(command) => {
                session.apply(command.clone()).map_err(|e| ReplayError::Refused(n + 1, e))?;
            }
            Entry::Shown { count } => session.play(*count),
            Entry::File { name, bytes } => session.keep_file(name, bytes.clone()),
            Entry::Steps { count, effort } | Entry::Poses { count, effort } => {
                if *count > MOST_STEPS || !effort.makes_sense() {
                    return Err(ReplayError::Counts(n + 1));
                }
                session.repeat(matches!(entry, Entry::Steps { .. }), *count, effort);
            }
        }
        after(n + 1, &session);
    }
    let found = super::hex(session.hash());
    match &log.hash {
        Some(expected) if *expected != found => {
            Err(ReplayError::Differs { expected: expected.clone(), found })
        }
        _ => Ok(session),
    }
}

impl Effort {
    fn makes_sense(&self) -> bool {
        self.iterations <= 100_000
            && self.solver_iterations <= 1_000_000
            && self.substeps <= 4096
            && self.tolerance.is_finite()
            && self.tolerance > 0.0
    }
}
