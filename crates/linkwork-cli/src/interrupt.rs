//! Ctrl+C and friends: a run ends with its report, and no half-written file stays behind.
//!
//! The first signal asks whoever said that it listens ([`listen`]) to come to an end; otherwise, and the second time, the
//! command ends at once, and what was only begun is removed ([`Part`]).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

/// The exit code of what a signal ended, as shells have it for Ctrl+C.
const INTERRUPTED: i32 = 130;

static LISTENS: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);
static PARTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// From now on the command looks at [`asked`], and ends by itself.
pub fn listen() {
    LISTENS.store(true, Ordering::SeqCst);
    handle();
}

/// Somebody wants it to end.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// A file that is being written: removed when a signal ends the command, until it is dropped.
pub struct Part(PathBuf);

impl Part {
    /// Call it before the file is made.
    pub fn new(path: &Path) -> Self {
        handle();
        parts().push(path.to_owned());
        Self(path.to_owned())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        parts().retain(|p| p != &self.0);
    }
}

fn parts() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    // The list is whole at any time, whoever panicked.
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn handle() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Where there are no signals they cannot end anything, either.
        let _ = ctrlc::set_handler(|| {
            let first = !ASKED.swap(true, Ordering::SeqCst);
            if first && LISTENS.load(Ordering::SeqCst) {
                return;
            }
            for path in parts().iter() {
                let _ = std::fs::remove_file(path);
            }
            std::process::exit(INTERRUPTED);
        });
    });
}
