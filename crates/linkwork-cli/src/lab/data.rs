//! The experiments as data: built in, or from a folder that the user gives.

use super::verdict::Rules;
use crate::failure::Failure;
use crate::files;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// One experiment of a paper: parameters, the claim, and when it counts as reproduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// Its name on the command line.
    pub id: String,
    /// Where it stands in the report.
    pub order: u32,
    /// Authors and year.
    pub paper: String,
    /// Figure, table or section.
    pub figure: String,
    /// A heading.
    pub title: String,
    /// What the paper says, in our words.
    pub claim: String,
    /// What its figure shows, in our words.
    pub shows: String,
    /// What we had to choose, and where we leave the paper.
    #[serde(default)]
    pub remarks: String,
    /// Which code runs it.
    pub kind: String,
    /// Time limit in seconds; cases that it leaves out are told.
    pub limit: f64,
    /// What the kind is given.
    pub parameters: toml::Table,
    /// What replaces it with `--full`.
    #[serde(default)]
    pub full: toml::Table,
    /// When the claim counts as reproduced.
    pub verdict: Rules,
}

macro_rules! built_in {
    ($folder:literal, $ending:literal, $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../", $folder, "/", $name, $ending)))),+]
    };
}

/// The repository's `lab/`, so that the command needs no repository.
const EXPERIMENTS: &[(&str, &str)] = built_in!(
    "lab",
    ".toml",
    "faure-1998-conservation",
    "faure-1998-figure-2",
    "faure-1998-figure-3",
    "faure-1998-figure-5",
    "faure-1998-figure-6",
    "gascuel-1994-iterations",
    "gascuel-1994-momentum",
    "hong-2005-figure-1",
    "hong-2005-figure-2",
    "hong-2005-figure-3",
    "hong-2005-figure-4",
    "hong-2005-elongation",
    "hong-2005-penetration",
    "faure-1999-tables",
    "faure-1999-seaweeds",
    "faure-1999-pendulum",
    "faure-1999-shape",
);

/// The scenes that they use.
const SCENES: &[(&str, &str)] = built_in!(
    "scenes",
    ".lw",
    "characters",
    "figure2",
    "hung-cloth",
    "mesh5",
    "monocycle",
    "pendulum",
    "shaken-plate",
    "thrown",
);

/// Where experiments and scenes come from.
pub struct Source {
    folder: Option<PathBuf>,
}

impl Source {
    /// Built in, unless there is a folder.
    pub fn new(folder: Option<&Path>) -> Self {
        Self { folder: folder.map(Path::to_owned) }
    }

    /// All experiments, in the order of the report.
    pub fn experiments(&self) -> Result<Vec<Experiment>, Failure> {
        let mut all = Vec::new();
        match &self.folder {
            None => {
                for (name, text) in EXPERIMENTS {
                    all.push(read(name, text)?);
                }
            }
            Some(folder) => {
                for path in listed(folder)? {
                    let name = path.display().to_string();
                    all.push(read(&name, &text_of(&path)?)?);
                }
            }
        }
        all.sort_by(|a, b| (a.order, &a.id).cmp(&(b.order, &b.id)));
        if let Some(pair) = all.windows(2).find(|p| p[0].id == p[1].id) {
            return Err(Failure::input("", format!("two experiments are called `{}`", pair[0].id)));
        }
        Ok(all)
    }

    /// The text of a scene: `NAME.lw` beside the experiments, else one of those built in.
    pub fn scene(&self, name: &str) -> Result<String, Failure> {
        if let Some(path) = self.folder.as_ref().map(|f| f.join(format!("{name}.lw"))).filter(|p| p.is_file())
        {
            return text_of(&path);
        }
        let found = SCENES.iter().find(|s| s.0 == name).map(|s| s.1.to_owned());
        found.ok_or_else(|| {
            let known: Vec<&str> = SCENES.iter().map(|s| s.0).collect();
            Failure::input("", format!("there is no scene `{name}`; built in are: {}", known.join(", ")))
        })
    }
}

fn read(name: &str, text: &str) -> Result<Experiment, Failure> {
    let e: Experiment = toml::from_str(text)
        .map_err(|e| Failure::input(name, format!("{name}: {}", e.to_string().trim_end())))?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if e.id.is_empty() || !e.id.chars().all(plain) || e.id == "all" {
        let message =
            format!("{name}: `id` is made of small letters, digits and `-`, and is not `all`: {:?}", e.id);
        return Err(Failure::input(name, message));
    }
    if !(e.limit > 0.0 && e.limit <= 1e6) {
        return Err(Failure::input(name, format!("{name}: `limit` is a positive number of seconds")));
    }
    Ok(e)
}

const MOST_BYTES: usize = 1 << 24;

fn text_of(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let bytes = files::read(path, MOST_BYTES)
        .map_err(|e| Failure::input(&name, format!("cannot read `{name}`: {e}")))?;
    String::from_utf8(bytes).map_err(|_| Failure::input(&name, format!("`{name}` is not text (UTF-8)")))
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let name = folder.display().to_string();
    let bad =
        |e: std::io::Error| Failure::input(&name, format!("cannot read the experiments in `{name}`: {e}"));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(bad)? {
        let path = entry.map_err(bad)?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(Failure::input(&name, format!("there are no experiments (*.toml) in `{name}`")));
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_repository_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab");
        let mut files: Vec<String> = listed(&folder)
            .ok()
            .unwrap()
            .iter()
            .map(|p| p.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        let mut known: Vec<String> = EXPERIMENTS.iter().map(|e| e.0.to_owned()).collect();
        files.sort();
        known.sort();
        assert_eq!(files, known);
        for (name, e) in EXPERIMENTS.iter().map(|e| (e.0, read(e.0, e.1).ok().unwrap())) {
            assert_eq!(name, e.id);
            for words in [&e.claim, &e.shows, &e.title] {
                assert!(words.len() > 20, "{name}: {words:?}");
            }
        }
    }
}
