//! Sessions recorded by the library are repeated by the command.

use crate::common::{folder, linkwork, linkwork_with, text};
use linkwork::Session;
use linkwork::session::{Command, GripMode};

/// A session on the four-bar linkage: a drag, an edit, a release.
fn recorded() -> (Session, String) {
    let scene = std::fs::read_to_string(crate::common::root().join("scenes/fourbar.lw")).unwrap();
    let mut s = Session::open(&scene, &mut |_| Err("no files".into())).unwrap();
    let grab = Command::Grab {
        hand: 1,
        solid: "rocker".into(),
        point: [1.2, 0.0, 0.0],
        mode: GripMode::Pull,
        rotation: None,
    };
    for command in [Command::Run { on: true }, grab] {
        s.apply(command).unwrap();
    }
    for k in 0..30 {
        let position = [1.9 + 0.01 * k as f64 / 3.0, 1.2, 0.0];
        s.apply(Command::Drag { hand: 1, position, rotation: None }).unwrap();
        s.tick(1.0 / 60.0, &|| 0.0);
    }
    s.apply(Command::Release { hand: 1 }).unwrap();
    s.apply(Command::DeleteConstraint { joint: "pivot".into() }).unwrap();
    for _ in 0..10 {
        s.tick(1.0 / 60.0, &|| 0.0);
    }
    let log = serde_json::to_string(&s.log()).unwrap();
    (s, log)
}

#[test]
fn a_recorded_session_ends_with_the_same_bits() {
    let (s, log) = recorded();
    let folder = folder("replay");
    let (path, end) = (folder.join("log.json"), folder.join("end.lw"));
    std::fs::write(&path, &log).unwrap();
    let hash = format!("{:016x}", s.hash());
    let run = linkwork(&["replay", text(&path), "--json", "-o", text(&end)]);
    let report = run.json();
    assert_eq!(
        (run.code, &report["state_hash"], &report["verified"]),
        (0, &hash.clone().into(), &true.into())
    );
    assert_eq!(report["steps"], 40);
    let run = linkwork_with(&["replay", "-"], log.as_bytes());
    assert!(
        run.code == 0 && run.stdout.contains(&hash) && run.stdout.contains("as recorded"),
        "{}",
        run.stdout
    );
    // The text of the end is a scene, with the edit in it.
    let left = std::fs::read_to_string(&end).unwrap();
    assert!(!left.contains("joint pivot") && left.contains("Try: crank 0.9"));
    assert_eq!(linkwork(&["check", text(&end)]).code, 0);
}

#[test]
fn damaged_logs_are_bad_input() {
    let (_, log) = recorded();
    for (bad, code, word) in [
        (log[..log.len() / 2].to_owned(), 2, "not the log"),
        ("{}".to_owned(), 2, "not the log"),
        (log.replacen("\"version\":1", "\"version\":7", 1), 2, "version 7"),
        (log.replacen("\"rocker\"", "\"rockre\"", 1), 2, "no solid"),
        (log.replacen("1.93", "1.931", 1), 1, "was recorded"),
        (log.replacen("solid crank", "sold crank", 1), 2, "error"),
    ] {
        let run = linkwork_with(&["replay", "-", "--json"], bad.as_bytes());
        assert_eq!((run.code, &run.json()["outcome"]), (code, &"error".into()), "{word}: {}", run.stderr);
        assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
    }
    assert_eq!(linkwork(&["replay", "nowhere.json"]).code, 2);
}
