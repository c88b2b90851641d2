//! Files in and out: read no more than can be used, never leave half a file behind.

use crate::interrupt::Part;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The bytes of a file, or why they cannot be had. Reads at most one byte more than `limit`, so that endless devices
/// end and the caller can tell that it was too much.
pub fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    read_from(File::open(path)?, limit)
}

/// [`read`] for those who must not wait and take no more than `limit`: a pipe would hold them until somebody writes to
/// it, so only regular files will do. Looked at before it is opened, since opening is what waits.
pub fn read_regular(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let is_regular = |m: fs::Metadata| match m.is_file() {
        true => Ok(()),
        false if m.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    };
    is_regular(fs::metadata(path)?)?;
    let file = File::open(path)?;
    is_regular(file.metadata()?)?;
    let bytes = read_from(file, limit)?;
    if bytes.len() > limit {
        let words = format!("it is larger than {} MiB", limit >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    Ok(bytes)
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

/// Says why outputs can surely not be written, before any work is done: [`check_writable`] of each, and that none of them
/// is an input or another output.
pub fn check_outputs<'a>(
    outputs: impl IntoIterator<Item = &'a Path>,
    inputs: &[&Path],
) -> Result<(), crate::failure::Failure> {
    check_outputs_or(outputs, inputs, "name another file")
}

/// [`check_outputs`] with what to do instead where an input would be written over.
pub fn check_outputs_or<'a>(
    outputs: impl IntoIterator<Item = &'a Path>,
    inputs: &[&Path],
    way_out: &str,
) -> Result<(), crate::failure::Failure> {
    use crate::failure::Failure;
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        // What does not exist yet.
        _ => a.file_name() == b.file_name() && parent(a).canonicalize().ok() == parent(b).canonicalize().ok(),
    };
    // Devices and pipes take what comes.
    let is_file = |p: &Path| fs::metadata(p).map_or(true, |m| m.is_file());
    let mut seen: Vec<&Path> = Vec::new();
    for path in outputs {
        let shown = path.display();
        if let Some(input) = inputs.iter().find(|i| **i != Path::new("-") && same(path, i)) {
            let what =
                format!("`{shown}` would be written over `{}`, which is read: {way_out}", input.display());
            return Err(Failure::input(path.display().to_string(), what));
        }
        if seen.iter().any(|s| is_file(path) && same(path, s)) {
            return Err(Failure::input(
                "",
                format!("`{shown}` is named twice as an output: one would be lost"),
            ));
        }
        check_writable(path).map_err(Failure::failed)?;
        seen.push(path);
    }
    Ok(())
}

/// Writes a file as a whole: a failure on the way leaves what was there before.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let mut stream = Stream::begin(path)?;
    stream.write(bytes)?;
    stream.finish()
}

/// A file that is written piece by piece. It appears under its name only when it is finished; dropped before, it leaves
/// what was there.
pub struct Stream {
    /// As the user named it.
    path: PathBuf,
    target: PathBuf,
    /// Where the bytes go until the end; `None` for a device or a pipe, which is written to and not replaced.
    part: Option<Part>,
    file: BufWriter<File>,
    permissions: Option<fs::Permissions>,
}

impl Stream {
    /// Opens it.
    pub fn begin(path: &Path) -> Result<Self, String> {
        Self::try_begin(path).map_err(|e| said(path, e))
    }

    fn try_begin(path: &Path) -> io::Result<Self> {
        // Follow links, so that the file changes and not the link.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let existing = fs::metadata(&target).ok();
        let new = |part: Option<Part>, file: File, permissions| Self {
            path: path.to_owned(),
            target: target.clone(),
            part,
            file: BufWriter::new(file),
            permissions,
        };
        if existing.as_ref().is_some_and(|m| !m.is_file()) {
            return Ok(new(None, fs::OpenOptions::new().write(true).open(&target)?, None));
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
        let part = Part::new(&parent(&target).join(beside));
        let file = File::create(part.path())?;
        Ok(new(Some(part), file, existing.map(|m| m.permissions())))
    }

    /// The next piece.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.file.write_all(bytes).map_err(|e| said(&self.path, e))
    }

    /// Gives the file its name.
    pub fn finish(mut self) -> Result<(), String> {
        self.try_finish().map_err(|e| said(&self.path, e))
    }

    fn try_finish(&mut self) -> io::Result<()> {
        self.file.flush()?;
        let Some(part) = &self.part else { return Ok(()) };
        if let Some(permissions) = self.permissions.take() {
            fs::set_permissions(part.path(), permissions)?;
        }
        fs::rename(part.path(), &self.target)?;
        self.part = None;
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = fs::remove_file(part.path());
        }
    }
}

fn said(path: &Path, e: io::Error) -> String {
    format!("cannot write `{}`: {e}", path.display())
}

/// The folder a path lies in; `.` for a bare name.
pub fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_bounded_size_are_read_where_nobody_may_wait() {
        let folder = std::env::temp_dir().join(format!("linkwork-files-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("some");
        fs::write(&path, [7; 100]).expect("written");
        assert_eq!(read_regular(&path, 100).expect("bytes"), [7; 100]);
        let words = |path: &Path, limit| read_regular(path, limit).expect_err("refused").to_string();
        assert!(words(&path, 99).contains("larger"));
        assert!(words(&folder, 100).contains("folder"));
        #[cfg(unix)]
        assert!(words(Path::new("/dev/zero"), 100).contains("not a regular file"));
        let _ = fs::remove_dir_all(&folder);
    }
}
