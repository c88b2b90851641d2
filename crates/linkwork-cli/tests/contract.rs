//! Exit codes, messages and JSON that scripts rely on, and input that no program should be given.

use crate::common::{command, folder, linkwork, linkwork_with, root, text};
use std::io::Read;
use std::process::Stdio;

const TORN: &str = "\
/* One ball at two places at once. */
solid ball: shape sphere 0.1; mass 1; end
joint left: ball; object2 ball; frame1 -1 0 0; rank 2; end
joint right: ball; object2 ball; frame1 1 0 0; rank 2; end
";

#[test]
fn a_conflict_is_named_with_its_lines_and_ends_with_1() {
    let run = linkwork_with(&["assemble", "-", "--json"], TORN.as_bytes());
    let report = run.json();
    assert_eq!((run.code, &report["outcome"]), (1, &"conflict".into()));
    let worst = report["worst"].as_array().unwrap();
    let named: Vec<_> =
        worst.iter().map(|w| (w["joint"].as_str().unwrap(), w["line"].as_u64().unwrap())).collect();
    assert_eq!(named, [("left", 3), ("right", 4)]);
    assert!(worst.iter().all(|w| (w["error"].as_f64().unwrap() - 1.0).abs() < 1e-6), "{worst:?}");
    assert_eq!(report["conflicting"][0]["joint"], "right");
    assert_eq!(report["conflicting"][0]["with"][0]["joint"], "left");

    let run = linkwork_with(&["assemble", "-"], TORN.as_bytes());
    for part in ["conflict", "<stdin>:3", "<stdin>:4", "1 m"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    let run = linkwork_with(&["check", "-"], TORN.as_bytes());
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("conflicting") && run.stdout.contains("right"), "{}", run.stdout);
}

#[test]
fn a_limit_ends_with_the_word_budget() {
    let args = ["assemble", "scenes/mesh5.lw", "--scatter", "3", "--iterations", "1", "--json"];
    let run = linkwork(&args);
    assert_eq!((run.code, &run.json()["outcome"]), (1, &"budget".into()));
    assert_eq!(run.json()["iterations"]["geometric"], 1);
    let run =
        linkwork(&["assemble", "scenes/mesh5.lw", "--scatter", "3", "--budget-ms", "0.000001", "--json"]);
    assert_eq!((run.code, &run.json()["outcome"]), (1, &"budget".into()));
}

#[test]
fn options_win_over_the_scene_and_the_scene_over_defaults() {
    let scene = "settings tolerance 1e-3; solver full-dense; iterations 1; end
        solid bar: shape box 1 .1 .1; mass 1; at 0 3 1; turn 1 1 0 2; end
        joint a: ball; object2 bar; frame2 -.5 0 0; end
        joint b: distance .7; object2 bar; frame1 0 1 0; frame2 .5 0 0; end";
    let run = |more: &[&str]| {
        let args = [&["assemble", "-", "--json"], more].concat();
        linkwork_with(&args, scene.as_bytes()).json()
    };
    let plain = run(&[]);
    assert_eq!((&plain["tolerance"], &plain["solver"]), (&1e-3.into(), &"full-dense".into()));
    // `iterations` in a scene is about time steps.
    assert_eq!(plain["outcome"], "ok");
    assert!(plain["iterations"]["geometric"].as_u64().unwrap() > 1, "{plain}");
    let told = run(&["--tolerance", "1e-9", "--solver", "full-iterative"]);
    assert_eq!((&told["tolerance"], &told["solver"]), (&1e-9.into(), &"full-iterative".into()));
    assert!(told["joint_error"]["position_end"].as_f64().unwrap() <= 1e-9);
    assert_eq!(run(&["--iterations", "1"])["outcome"], "budget");
}

#[test]
fn every_solver_closes_the_acrobats() {
    for solver in
        ["auto", "full-dense", "full-iterative", "structured-dense", "structured-iterative", "sparse-direct"]
    {
        let report = linkwork(&["assemble", "scenes/characters.lw", "--solver", solver, "--json"]).json();
        assert_eq!(report["outcome"], "ok", "{solver}");
        assert!(solver == "auto" || report["solver"] == solver, "{solver}: {report}");
        assert!(report["iterations"]["geometric"].as_u64().unwrap() <= 6, "{solver}: {report}");
    }
}

#[test]
fn nothing_is_left_out_of_a_scene_with_cloth() {
    let cloth = linkwork(&["generate", "cloth", "4", "3"]).stdout;
    let run = linkwork_with(&["check", "-"], cloth.as_bytes());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stdout.contains("not simulated yet"), "{}", run.stdout);
    let run = linkwork_with(&["check", "-", "--json"], cloth.as_bytes());
    assert_eq!(run.json()["not_simulated"].as_array().map(Vec::len), Some(0));
}

#[test]
fn errors_in_a_scene_come_all_at_once_with_carets_and_as_records() {
    let scene = b"solid a: mas 1; end\njoint ball; object2 b; end\n";
    for name in ["check", "assemble"] {
        let run = linkwork_with(&[name, "-"], scene);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        for part in ["error[E", "<stdin>:1:10", "<stdin>:2:21", "^^^", "did you mean `mass`?", "2 errors"] {
            assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        }
        assert!(!run.stderr.contains('\x1b'), "no colours in a pipe");
        let run = linkwork_with(&[name, "-", "--json"], scene);
        let report = run.json();
        assert_eq!((run.code, &report["outcome"]), (2, &"error".into()));
        let d = &report["diagnostics"][0];
        assert_eq!((&d["line"], &d["column"], &d["severity"]), (&1.into(), &10.into(), &"error".into()));
        assert_eq!(report["diagnostics"].as_array().map(Vec::len), Some(2));
    }
    let run = linkwork_with(&["fmt", "-"], b"solid a: mass 1;");
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
}

#[test]
fn warnings_do_not_fail() {
    let run = linkwork(&["check", "scenes/monocycle.lw"]);
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains("warning[L001]") && run.stderr.contains("max 9"), "{}", run.stderr);
    let run = linkwork(&["check", "scenes/monocycle.lw", "--json"]);
    assert_eq!(run.json()["diagnostics"][0]["code"], "L001");
}

#[test]
fn bad_input_ends_with_2_and_a_sentence() {
    let folder = folder("bad");
    let binary = folder.join("binary.lw");
    std::fs::write(&binary, [0u8, 159, 146, 150, 255, 254, 10, 13].repeat(100)).unwrap();
    let gone = folder.join("gone.lw");
    for file in [text(&folder), text(&gone), text(&binary)] {
        for command in ["check", "assemble", "fmt"] {
            let run = linkwork(&[command, file]);
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{command} {file}: {}", run.stderr);
            assert!(run.stderr.contains("error") && run.stderr.contains(file), "{}", run.stderr);
        }
        let run = linkwork(&["check", file, "--json"]);
        assert_eq!((run.code, &run.json()["outcome"]), (2, &"error".into()));
        assert!(!run.json()["diagnostics"].as_array().unwrap().is_empty());
    }
    for args in [
        &["check"][..],
        &["check", "scenes/fourbar.lw", "--bogus"],
        &["explode"],
        &["assemble", "scenes/fourbar.lw", "-o", "x.png"],
        &["assemble", "scenes/fourbar.lw", "-o", "x"],
        &["assemble", "scenes/fourbar.lw", "--tolerance", "-1"],
        &["assemble", "scenes/fourbar.lw", "--tolerance", "nan"],
        &["assemble", "scenes/fourbar.lw", "--scatter", "1,2,3"],
        &["assemble", "scenes/fourbar.lw", "--solver", "magic"],
        &["generate", "pyramid", "3"],
        &["generate", "chain"],
        &["generate", "chain", "-3"],
        &["generate", "chain", "0"],
        &["generate", "chain", "99999999999999999999"],
        &["generate", "net", "4000000000", "4000000000"],
        &["generate", "ladder", "2", "2", "--heavy", "nan"],
        &["completions", "tcl"],
    ] {
        let run = linkwork(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}: {}", run.stderr);
        assert!(run.stderr.starts_with("error: "), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn outputs_that_cannot_be_written_end_with_1_before_any_work() {
    let folder = folder("unwritable");
    let nowhere = folder.join("no/such/folder/x.svg");
    let run = linkwork(&["assemble", "scenes/fourbar.lw", "-o", text(&nowhere)]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("mkdir -p"), "{}", run.stderr);
    let occupied = folder.join("x.svg");
    std::fs::create_dir(&occupied).unwrap();
    let run = linkwork(&["assemble", "scenes/fourbar.lw", "--json", "-o", text(&occupied)]);
    assert_eq!((run.code, &run.json()["outcome"]), (1, &"error".into()));
    assert_eq!(linkwork(&["generate", "chain", "2", "-o", text(&nowhere)]).code, 1);
}

#[test]
fn meshes_are_found_next_to_their_scene() {
    let folder = folder("mesh");
    let tetrahedron = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    std::fs::write(folder.join("corner.obj"), tetrahedron).unwrap();
    let scene = folder.join("corner.lw");
    let body = "solid corner: shape mesh \"corner.obj\"; density 1000; at 3 0 0; end
        joint ball; object2 corner; end";
    std::fs::write(&scene, body).unwrap();
    let other = folder.join("other");
    std::fs::create_dir(&other).unwrap();
    let run = linkwork(&["assemble", text(&scene), "-o", text(&other.join("moved.lw"))]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("corner.obj"), "the mesh stays behind, and that is said: {}", run.stderr);
    std::fs::remove_file(folder.join("corner.obj")).unwrap();
    let run = linkwork(&["check", text(&scene)]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("corner.obj"), "{}", run.stderr);
}

#[test]
fn fmt_check_names_what_differs_and_changes_nothing() {
    let folder = folder("fmt-check");
    let rough = folder.join("rough.lw");
    std::fs::write(&rough, "solid   a :mass 1;  end").unwrap();
    let run = linkwork(&["fmt", "--check", text(&rough)]);
    assert_eq!((run.code, run.stdout.trim()), (1, text(&rough)));
    assert_eq!(std::fs::read_to_string(&rough).unwrap(), "solid   a :mass 1;  end");
    // One bad file does not keep the others from their turn.
    let bad = folder.join("bad.lw");
    std::fs::write(&bad, "solid a: mass").unwrap();
    assert_eq!(linkwork(&["fmt", text(&bad), text(&rough)]).code, 2);
    assert_eq!(std::fs::read_to_string(&rough).unwrap(), "solid a: mass 1; end\n");
    assert_eq!(std::fs::read_to_string(&bad).unwrap(), "solid a: mass");
}

#[test]
fn a_reader_who_leaves_early_is_no_error() {
    for args in [&["generate", "net", "60", "60"][..], &["completions", "zsh"], &["man"], &["--help"]] {
        let mut child = command(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut first = [0; 10];
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut first).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stderr.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn help_completions_and_manual_pages() {
    let help = linkwork(&["--help"]);
    assert_eq!(help.code, 0);
    for word in ["check", "assemble", "fmt", "generate", "Exit codes"] {
        assert!(help.stdout.contains(word), "{word}");
        if word.starts_with(char::is_lowercase) {
            let own = linkwork(&[word, "--help"]);
            assert!(own.code == 0 && own.stdout.contains("Examples:"), "{word}");
        }
    }
    assert!(linkwork(&["assemble", "--help"]).stdout.contains("`iterations`"));
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(linkwork(&["completions", shell]).stdout.contains("assemble"), "{shell}");
    }
    assert!(linkwork(&["man"]).stdout.contains(".TH linkwork"));
    let folder = folder("man");
    assert_eq!(linkwork(&["man", "-o", text(&folder)]).code, 0);
    assert!(folder.join("linkwork-assemble.1").is_file());
    assert!(linkwork(&["--version"]).stdout.starts_with("linkwork "));
}

/// Mass, centre and inertia are there to be seen: a ball of radius 1/2 and 2 kg, off its solid's origin.
#[test]
fn check_shows_masses_and_what_holds_later() {
    let scene = "solid a: shape sphere .5 at 1 0 0; mass 2; end
        joint ball; object2 a; end  joint ball; object2 a; frame1 9 9 9; during 1 2; end";
    let out = linkwork_with(&["check", "-", "--json"], scene.as_bytes());
    let found: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(found["mass"], 2.0);
    assert_eq!(found["joints_not_at_start"], 1);
    let body = &found["bodies"][0];
    assert_eq!(body["center"], serde_json::json!([1.0, 0.0, 0.0]));
    assert!((body["inertia"][0].as_f64().unwrap() - 0.4 * 2.0 * 0.25).abs() < 1e-12, "{body}");
}

/// Finding F23: what `check` lists as a contradiction, or could not assemble in time, does not pass for sound.
#[test]
fn check_fails_on_every_contradiction_it_lists_and_when_time_runs_out() {
    let text = std::fs::read_to_string(root().join("scenes/bricard.lw")).unwrap();
    assert_eq!(linkwork_with(&["check", "-"], text.as_bytes()).code, 0);
    for length in ["1.00001", "1.0002"] {
        let longer = text.replace("frame1 -1 0 0 axis", &format!("frame1 -{length} 0 0 axis"));
        let run = linkwork_with(&["check", "-"], longer.as_bytes());
        assert!(run.stdout.contains("conflicting"), "{}", run.stdout);
        assert_eq!(run.code, 1, "{length} m: {}", run.stdout);
    }
    let apart = text.replace("at 1 1 1", "at 3 1 2");
    let run = linkwork_with(&["check", "-", "--budget-ms", "0.000001"], apart.as_bytes());
    assert!(run.code == 1 && run.stdout.contains("when time ran out"), "{}", run.stdout);
}
