//! Scenes from files and pipes, with their diagnostics shown the way a compiler does.

use crate::failure::Failure;
use crate::files;
use crate::terminal::{self, Paint};
use linkwork::formats::csv;
use linkwork::scene::{Body, LineIndex, Record, Report, Scene, Severity, limits, load_bytes};
use linkwork::skin::{SkinError, Surface};
use linkwork::{JointId, Mechanism, SolidId};
use std::path::{Path, PathBuf};

/// Largest mesh file.
const MESH_BYTES: usize = 1 << 30;

/// A scene without errors and the text it came from.
pub struct Loaded {
    /// The file as the user named it, `<stdin>` for a pipe.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What it says.
    pub scene: Scene,
    /// Its lints.
    pub report: Report,
    /// The folder that mesh files are relative to.
    pub folder: PathBuf,
    /// Mesh files the scene names.
    pub meshes: Vec<String>,
}

/// The bytes of a scene and the name to show for it: a file, or standard input for `-`.
pub fn read(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    let stdin = path == Path::new("-");
    let name = if stdin { "<stdin>".to_owned() } else { path.display().to_string() };
    let bytes = if stdin {
        files::read_from(std::io::stdin().lock(), limits::TEXT_BYTES)
    } else {
        files::read(path, limits::TEXT_BYTES)
    };
    match bytes {
        Ok(bytes) => Ok((name, bytes)),
        Err(e) => Err(Failure::input(&name, format!("cannot read `{name}`: {e}"))),
    }
}

/// Reads a scene and shows its errors and warnings on standard error. Errors end the command.
pub fn load(path: &Path) -> Result<Loaded, Failure> {
    let (name, bytes) = read(path)?;
    let folder = if path == Path::new("-") { PathBuf::from(".") } else { files::parent(path) };
    let mut meshes = Vec::new();
    let mut mesh = |file: &str| {
        meshes.push(file.to_owned());
        match files::read(&folder.join(file), MESH_BYTES) {
            Ok(bytes) if bytes.len() > MESH_BYTES => Err(format!("larger than {} MiB", MESH_BYTES >> 20)),
            Ok(bytes) => Ok(bytes),
            Err(e) => Err(e.to_string()),
        }
    };
    let (text, scene, report) = load_bytes(&bytes, &mut mesh);
    show(&name, &text, &report);
    match scene {
        Some(scene) => Ok(Loaded { name, text: text.into_owned(), scene, report, folder, meshes }),
        None => Err(Failure::Scene { diagnostics: report.records(&name, &text), file: name }),
    }
}

/// Shows a report on standard error, with the sum of its errors.
pub fn show(name: &str, text: &str, report: &Report) {
    if report.diagnostics.is_empty() {
        return;
    }
    let paint = Paint::stderr();
    terminal::tell(report.render(name, text, paint.is_on()));
    if report.has_errors() {
        let errors = report.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
        terminal::error(&format!("{name} has {}", crate::report::count(errors, "error")));
    }
}

impl Loaded {
    /// What moves.
    pub fn mechanism(&self) -> &Mechanism {
        &self.scene.mechanism
    }

    /// The title, or the file's name without folders and ending.
    pub fn title(&self) -> String {
        match &self.scene.title {
            Some(title) => title.clone(),
            None if self.name == "<stdin>" => "Untitled scene".to_owned(),
            None => Path::new(&self.name)
                .file_stem()
                .map_or_else(|| self.name.clone(), |s| s.to_string_lossy().into_owned()),
        }
    }

    /// Lints as records.
    pub fn records(&self) -> Vec<Record> {
        self.report.records(&self.name, &self.text)
    }

    /// Its mesh files, as they can be opened.
    pub fn mesh_files(&self) -> Vec<PathBuf> {
        self.meshes.iter().map(|m| self.folder.join(m)).collect()
    }

    /// Finds lines of joints.
    pub fn lines(&self) -> Lines<'_> {
        Lines { loaded: self, index: LineIndex::new(&self.text) }
    }

    /// The surfaces of skins, for pictures; what has none is told.
    pub fn surfaces(&self) -> Vec<Surface> {
        let tell = |why: SkinError| terminal::note(&format!("a skin is not drawn: {why}"));
        self.scene.surfaces().into_iter().filter_map(|s| s.map_err(tell).ok()).collect()
    }

    /// Watches these instead of what the scene says; empty: nothing changes.
    pub fn watch(&mut self, names: &[String]) -> Result<(), Failure> {
        if names.is_empty() {
            return Ok(());
        }
        let m = &self.scene.mechanism;
        let (mut bodies, mut joints) = (Vec::new(), Vec::new());
        for name in names {
            let joint = || (0..m.joints().len() as u32).map(JointId).find(|j| m.joint_name(*j) == *name);
            if let Some(solid) = m.find(name) {
                bodies.push(Body::Solid(solid));
            } else if let Some(joint) = joint() {
                joints.push(joint);
            } else {
                let message = format!("there is no solid and no joint `{name}` in {}", self.name);
                return Err(Failure::input(&self.name, message));
            }
        }
        (self.scene.watch, self.scene.watch_joints) = (bodies, joints);
        Ok(())
    }

    /// The solids to record: those that the scene watches, or all of them.
    pub fn watched(&self) -> Vec<SolidId> {
        if self.scene.watch.is_empty() && self.scene.watch_joints.is_empty() {
            return csv::everything(self.mechanism());
        }
        let m = self.mechanism();
        let vertices = |name: &str| {
            let soft = m.softs().iter().find(|s| s.name == name);
            soft.map_or(0..0, |s| s.range()).map(|i| SolidId(i as u32)).collect()
        };
        let solids = |b: &Body| match b {
            Body::Solid(id) => vec![*id],
            Body::Cloth(k) => vertices(&self.scene.cloths[*k as usize].soft.name),
            Body::Tetra(k) => vertices(&self.scene.tetras[*k as usize].soft.name),
        };
        self.scene.watch.iter().flat_map(solids).collect()
    }
}

/// Where joints stand in the text.
pub struct Lines<'a> {
    loaded: &'a Loaded,
    index: LineIndex<'a>,
}

impl Lines<'_> {
    /// The line of a joint, from 1.
    pub fn joint(&self, id: JointId) -> usize {
        self.index.place(self.loaded.scene.sources.joint(id).start as usize).0
    }

    /// `file:line` of a joint.
    pub fn place(&self, id: JointId) -> String {
        format!("{}:{}", self.loaded.name, self.joint(id))
    }

    /// The name of a joint.
    pub fn name(&self, id: JointId) -> String {
        self.loaded.mechanism().joint_name(id)
    }

    /// The name of a joint without what makes it unique: for long lists.
    pub fn short(&self, id: JointId) -> String {
        let name = self.name(id);
        match name.split_once(" (constraint ") {
            // Several may join the same two: the line tells which is meant.
            Some((solids, _)) => format!("{solids} (line {})", self.joint(id)),
            None => name,
        }
    }

    /// The name of a solid.
    pub fn solid(&self, id: SolidId) -> &str {
        &self.loaded.mechanism().solid(id).name
    }
}
