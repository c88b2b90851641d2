//! Which mesh files a scene may use in the viewer: those beside it, and those that its owner named.

use crate::files;
use std::path::Path;

/// Largest mesh file.
const MESH_BYTES: usize = 1 << 28;

/// A mesh file in the scene's folder or below it.
pub fn read_mesh(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    use std::path::Component::{CurDir, Normal};
    let plain = Path::new(name).components().all(|c| matches!(c, Normal(_) | CurDir));
    if !plain {
        return Err("the viewer can use only files in the scene's own folder".into());
    }
    // Links are followed before they are judged.
    let real = |path: &Path| path.canonicalize().map_err(|e| e.to_string());
    let path = real(&folder.join(name))?;
    if !path.starts_with(real(folder)?) {
        return Err("it is a link that leads out of the scene's own folder".into());
    }
    files::read_regular(&path, MESH_BYTES).map_err(|e| e.to_string())
}

/// [`read_mesh`], or one of the files that the scene named when its owner opened it, wherever those are: whoever starts the
/// viewer may read them, and names that come from a page are held to the folder.
pub fn read_granted(folder: &Path, name: &str, granted: &[String]) -> Result<Vec<u8>, String> {
    if granted.iter().any(|g| g == name) {
        return files::read_regular(&folder.join(name), MESH_BYTES).map_err(|e| e.to_string());
    }
    read_mesh(folder, name)
}
