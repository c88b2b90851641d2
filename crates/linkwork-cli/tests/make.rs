//! What `make run` says and does, with tools that only tell that they were called: the first time, the second time, and
//! where something goes wrong.

use crate::common::{folder, root};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// An executable that says its name and arguments, and then does something.
fn tool(path: &Path, then: &str) {
    use std::os::unix::fs::PermissionsExt;
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    fs::write(path, format!("#!/bin/sh\necho \"<{name} $*>\"\n{then}\n")).expect("a tool");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it can be run");
}

/// The repository as far as `make run` looks at it.
fn clone(test: &str) -> std::path::PathBuf {
    let at = folder(test);
    for folder in ["tools", "web/src", "target/release"] {
        fs::create_dir_all(at.join(folder)).expect("a folder");
    }
    fs::copy(root().join("Makefile"), at.join("Makefile")).expect("the Makefile");
    for file in [
        "web/src/main.ts",
        "web/index.html",
        "web/vite.config.ts",
        "web/package-lock.json",
        "web/tsconfig.json",
    ] {
        fs::write(at.join(file), "x").expect("a file");
    }
    // `npm ci` and `npm run build` make what the real ones make.
    tool(
        &at.join("tools/npm"),
        "case $1 in ci) mkdir -p node_modules && touch node_modules/.package-lock.json;; run) mkdir -p dist/assets;; esac",
    );
    tool(&at.join("tools/node"), "exit 0");
    tool(&at.join("tools/cargo"), "exit 0");
    tool(&at.join("target/release/linkwork"), "exit 0");
    at
}

fn run(at: &Path, more: &[&str]) -> Output {
    let path = format!("{}:{}", at.join("tools").display(), std::env::var("PATH").unwrap_or_default());
    let mut make = Command::new("make");
    // A `make` or a `cargo` around these tests has nothing to say here.
    make.args(["run"])
        .args(more)
        .current_dir(at)
        .env("PATH", path)
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .env_remove("CARGO");
    make.output().expect("make")
}

fn said(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter(|l| l.starts_with('<') || l.contains(" of 3 ")).map(str::to_owned).collect()
}

#[test]
fn each_stage_is_told_before_it_begins_and_a_finished_page_is_kept() {
    let at = clone("make-run");
    let first = run(&at, &[]);
    assert!(first.status.success(), "{first:?}");
    let page = "1 of 3  the viewer's page (kept for the next time)";
    let command = "2 of 3  the command, optimised: some minutes the first time, seconds later";
    let build = "<cargo build --release -p linkwork-cli>";
    let view = "<linkwork view>";
    let npm = ["<npm ci --no-audit --no-fund>", "<npm run build>"];
    let calls =
        |o: &Output| -> Vec<String> { said(o).into_iter().filter(|l| !l.starts_with("<node")).collect() };
    assert_eq!(calls(&first), [page, npm[0], npm[1], command, build, "3 of 3  the viewer", view]);

    // Cargo is not hushed: whoever waits sees what is compiled.
    let text = fs::read_to_string(at.join("Makefile")).expect("the Makefile");
    let line = text.lines().find(|l| l.contains("build --release -p linkwork-cli")).expect("the build");
    assert!(!line.contains("--quiet") && !line.contains("-q ") && !line.contains("/dev/null"), "{line}");

    let scene = format!("<linkwork view scenes/{}.lw>", "walker");
    let second = run(&at, &["SCENE=walker"]);
    assert_eq!(
        calls(&second),
        [page, command, build, "3 of 3  the viewer", &scene],
        "nothing of the page again"
    );

    // A page that was edited is built again, without another `npm ci`. Times of files are whole seconds on some disks.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    let edited = fs::File::options().write(true).open(at.join("web/src/main.ts")).expect("the page");
    edited.set_modified(later).expect("another time");
    assert_eq!(calls(&run(&at, &[])), [page, npm[1], command, build, "3 of 3  the viewer", view]);
}

#[test]
fn what_fails_ends_it_and_what_is_missing_is_named() {
    let at = clone("make-run-fails");
    tool(&at.join("tools/cargo"), "echo 'error: could not compile' >&2; exit 101");
    let output = run(&at, &[]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("could not compile"), "{output:?}");
    assert!(!said(&output).iter().any(|l| l.contains("3 of 3") || l.starts_with("<linkwork")), "{output:?}");

    tool(&at.join("tools/node"), "exit 1");
    fs::remove_dir_all(at.join("web/node_modules")).expect("not installed");
    let output = run(&at, &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && text.contains("Node 20.19 or newer"), "{output:?}");

    let output = run(&at, &["CARGO=no-such-cargo"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && text.contains("Rust's cargo is missing"), "{output:?}");
    assert!(text.contains("sh.rustup.rs"), "with the command that gets it: {text}");
}
