//! The scene's file: what was last taken from it or written to it, and whether that is still what is there. The mesh files
//! beside it too.

use super::meshes::read_mesh;
use crate::files;
use linkwork::scene::limits;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What changes when a file does. Times alone are too coarse, and can be set; where the system tells more, that counts
/// too.
#[derive(Clone, Debug, PartialEq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Number of the file, and when anything about it last changed.
    identity: (u64, i64, i64),
}

/// `None` when there is nothing, or nothing that can be asked.
fn stamp(path: &Path) -> Option<Stamp> {
    let meta = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let identity = {
        use std::os::unix::fs::MetadataExt;
        (meta.ino(), meta.ctime(), meta.ctime_nsec())
    };
    #[cfg(not(unix))]
    let identity = (0, 0, 0);
    Some(Stamp { length: meta.len(), modified: meta.modified().ok(), identity })
}

/// What a look at the file showed, if it is not what the last look showed.
pub enum News {
    /// There is no file any more.
    Gone,
    /// It cannot be read.
    Unreadable(String),
    /// Nothing but what the session knows. `back` if there was nothing before.
    Same {
        /// See there.
        back: bool,
    },
    /// Another text.
    Text(String),
}

/// Keeps an eye on a file.
pub struct Watch {
    path: PathBuf,
    /// As of the last look; `None` when the next look must read the file whatever the system says about it.
    seen: Option<Option<Stamp>>,
    /// A change that the last look found. It counts when the next one finds nothing further: somebody may still be
    /// writing, and an empty file or half a text is a scene of its own.
    changing: Option<Option<Stamp>>,
    /// What the session took from the file or wrote to it last: this may be overwritten without a question.
    taken: String,
    /// Mesh files as of the last look.
    meshes: BTreeMap<String, Option<Stamp>>,
    /// Some of them are not what the session knows.
    stale: bool,
}

impl Watch {
    /// Of a file that had this text a moment ago. The first look reads it again, so nothing slips in between.
    pub fn new(path: PathBuf, taken: String) -> Self {
        Self { path, seen: None, changing: None, taken, meshes: BTreeMap::new(), stale: false }
    }

    /// The text that the file has, as far as is known.
    pub fn taken(&self) -> &str {
        &self.taken
    }

    /// What people call it.
    pub fn name(&self) -> String {
        let name = self.path.file_name().map(|n| n.to_string_lossy().into_owned());
        name.unwrap_or_else(|| self.path.display().to_string())
    }

    /// Has a look.
    pub fn look(&mut self) -> Option<News> {
        // Asked before reading: what changes after this line is news next time.
        let now = stamp(&self.path);
        if self.seen.as_ref() == Some(&now) {
            self.changing = None;
            return None;
        }
        if self.changing.as_ref() != Some(&now) {
            self.changing = Some(now);
            return None;
        }
        self.changing = None;
        let back = self.seen == Some(None);
        let gone = now.is_none();
        self.seen = Some(now);
        if gone {
            return Some(News::Gone);
        }
        Some(match read_text(&self.path) {
            Err(why) => News::Unreadable(why),
            Ok(text) if text == self.taken => News::Same { back },
            Ok(text) => News::Text(text),
        })
    }

    /// The next look reads the file, whatever the system says about it.
    pub fn look_closer(&mut self) {
        self.seen = None;
    }

    /// Has a look at the mesh files that the session knows; tells whether anything happened to them.
    pub fn look_beside<'k>(&mut self, known: impl Iterator<Item = (&'k str, &'k [u8])>) -> bool {
        let folder = files::parent(&self.path);
        let known: Vec<_> = known.collect();
        let mut moved = false;
        for (name, _) in &known {
            let now = stamp(&folder.join(name));
            if self.meshes.get(*name) != Some(&now) {
                self.meshes.insert((*name).to_owned(), now);
                moved = true;
            }
        }
        if moved {
            // A file that is gone, or cannot be had, is no other file: the session has its own copy.
            let differs = |(name, bytes): &(&str, &[u8])| read_mesh(&folder, name).is_ok_and(|b| b != *bytes);
            self.stale = known.iter().any(differs);
        }
        moved
    }

    /// Some mesh file was not what the session knows, when it was last looked at.
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// The session knows all mesh files as they are.
    pub fn refreshed(&mut self) {
        self.stale = false;
    }

    /// The session has this text from the file now.
    pub fn take(&mut self, text: String) {
        self.taken = text;
    }

    /// Writes a text. What somebody else put there since the session last read it is not overwritten, unless by `force`.
    pub fn save(&mut self, text: &str, force: bool) -> Result<(), Unsaved> {
        let name = self.name();
        if std::fs::metadata(&self.path).is_ok_and(|m| !m.is_file()) {
            return Err(Unsaved::Failed(format!("cannot write `{name}`: it is not a regular file")));
        }
        if !force && stamp(&self.path).is_some() {
            let words = match read_text(&self.path) {
                Ok(there) if there == self.taken || there == text => None,
                Ok(_) => Some(format!(
                    "{name} has changed on disk since it was last read; saving would overwrite that"
                )),
                Err(why) => Some(format!("{why}; saving would overwrite what is there")),
            };
            if let Some(words) = words {
                return Err(Unsaved::Changed(words));
            }
        }
        files::write(&self.path, text.as_bytes()).map_err(Unsaved::Failed)?;
        text.clone_into(&mut self.taken);
        self.seen = None;
        Ok(())
    }
}

/// Why a file was not written.
pub enum Unsaved {
    /// It cannot be.
    Failed(String),
    /// It could be, but something would be lost.
    Changed(String),
}

/// The text of a file that may be anything.
pub fn read_text(path: &Path) -> Result<String, String> {
    let bytes = files::read_regular(path, limits::TEXT_BYTES)
        .map_err(|e| format!("cannot read `{}`: {e}", path.display()))?;
    String::from_utf8(bytes).map_err(|_| format!("`{}` is not text", path.display()))
}
