//! Files in and out: read no more than can be used, never leave half a file behind.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The bytes of a file, or why they cannot be had. Reads at most one byte more than `limit`, so that endless devices
/// end and the caller can tell that it was too much.
pub fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    read_from(File::open(path)?, limit)
}

/// [`read`] from anything.
pub fn read_from(source: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Says why `path` can surely not be written, before any work is done.
pub fn check_writable(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err(format!("cannot write `{}`: it is a folder", path.display()));
    }
    let folder = parent(path);
    if !folder.is_dir() {
        let folder = folder.display();
        return Err(format!(
            "cannot write `{}`: there is no folder `{folder}` (make it: mkdir -p {folder})",
            path.display()
        ));
    }
    Ok(())
}

/// Writes a file as a whole: a failure on the way leaves what was there before.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    try_write(path, bytes).map_err(|e| format!("cannot write `{}`: {e}", path.display()))
}

fn try_write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Follow links, so that the file changes and not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let existing = fs::metadata(&target).ok();
    if existing.as_ref().is_some_and(|m| !m.is_file()) {
        // A device or a pipe is written to, not replaced.
        return fs::OpenOptions::new().write(true).open(&target)?.write_all(bytes);
    }
    let Some(name) = target.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it has no file name"));
    };
    if existing.as_ref().is_some_and(|m| m.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}.part", std::process::id()));
    let part = parent(&target).join(beside);
    let written = File::create(&part).and_then(|mut f| f.write_all(bytes)).and_then(|()| match existing {
        Some(m) => fs::set_permissions(&part, m.permissions()),
        None => Ok(()),
    });
    let result = written.and_then(|()| fs::rename(&part, &target));
    if result.is_err() {
        let _ = fs::remove_file(&part);
    }
    result
}

/// The folder a path lies in; `.` for a bare name.
pub fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_owned(),
        _ => PathBuf::from("."),
    }
}
