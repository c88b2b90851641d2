//! Runs the built binary the way a user or a script does.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a run left behind.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The one JSON object on standard output, and nothing else there.
    pub fn json(&self) -> Value {
        let mut values = serde_json::Deserializer::from_str(&self.stdout).into_iter::<Value>();
        let value = values.next().expect("an object").unwrap_or_else(|e| panic!("{e}: {}", self.stdout));
        assert!(value.is_object() && values.next().is_none(), "{}", self.stdout);
        value
    }
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linkwork"));
    command.args(args).current_dir(root());
    command
}

/// Runs `linkwork` at the root of the repository.
pub fn linkwork(args: &[&str]) -> Run {
    finish(command(args).stdin(Stdio::null()).output().expect("it starts"))
}

/// The same with something to read.
pub fn linkwork_with(args: &[&str], input: &[u8]) -> Run {
    let mut child = command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // Who ends before reading, since an option is wrong, is judged by its exit code and its words.
    match child.stdin.take().expect("a pipe").write_all(input) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {}
        written => written.expect("it reads"),
    }
    finish(child.wait_with_output().expect("it ends"))
}

fn finish(output: Output) -> Run {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is text");
    let run = Run {
        code: output.status.code().expect("it ends by itself"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    };
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    run
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Every scene of the repository, in order.
pub fn scenes() -> Vec<PathBuf> {
    let mut scenes: Vec<_> = std::fs::read_dir(root().join("scenes"))
        .expect("scenes")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "lw"))
        .collect();
    scenes.sort();
    assert!(scenes.len() >= 10);
    scenes
}

/// A folder of its own for a test, empty at the start.
pub fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}
