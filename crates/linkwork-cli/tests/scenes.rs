//! Every scene of the repository through every command.

use crate::common::{folder, linkwork, linkwork_with, scenes, text};

#[test]
fn every_scene_checks_and_assembles() {
    for scene in scenes() {
        let name = text(&scene);
        let run = linkwork(&["check", name, "--json"]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        let check = run.json();
        assert_eq!(check["outcome"], "ok", "{name}");
        assert_eq!(check["conflicting"].as_array().map(Vec::len), Some(0), "{name}");
        let c = &check["constraints"];
        assert_eq!(c["total"].as_u64(), Some(c["acyclic"].as_u64().unwrap() + c["loop"].as_u64().unwrap()));
        // What joints hold together; a stack has none.
        let islands = check["islands"].as_array().unwrap().len();
        assert!(
            check["freedoms"].is_u64() && (islands > 0) == (check["joints"].as_u64() > Some(0)),
            "{name}"
        );

        let run = linkwork(&["assemble", name, "--json"]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        let report = run.json();
        assert_eq!(report["outcome"], "ok", "{name}");
        for field in ["solids", "joints", "constraints"] {
            assert_eq!(report[field], check[field], "{name}: {field}");
        }
        // Of what is large only `check` counts them.
        assert!(report["freedoms"].is_null() || report["freedoms"] == check["freedoms"], "{name}");
        let tolerance = report["tolerance"].as_f64().unwrap();
        for gap in ["position_end", "angle_end"] {
            assert!(report["joint_error"][gap].as_f64().unwrap() <= tolerance, "{name}: {gap}");
        }
        assert!(report["worst"].as_array().unwrap().is_empty());
        assert!(report["solver"].is_string() && report["wall_s"].is_f64());
        assert!(report["iterations"]["geometric"].is_u64() && report["iterations"]["solver"].is_u64());
        let hash = report["state_hash"].as_str().unwrap();
        assert!(hash.len() == 16 && u64::from_str_radix(hash, 16).is_ok(), "{hash}");
        // The same work gives the same state, to the bit.
        let again = linkwork(&["assemble", name, "--json"]).json();
        assert_eq!(again["state_hash"], report["state_hash"], "{name}");
    }
}

#[test]
fn assembled_scenes_are_assembled_when_read_again() {
    let folder = folder("outputs");
    for scene in scenes() {
        let name = text(&scene);
        let stem = scene.file_stem().unwrap().to_str().unwrap();
        let [lw, glb, svg] = ["lw", "glb", "svg"].map(|e| folder.join(format!("{stem}.{e}")));
        let run =
            linkwork(&["assemble", name, "-o", text(&lw), "-o", text(&glb), "-o", text(&svg), "--json"]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        assert_eq!(run.json()["outputs"].as_array().map(Vec::len), Some(3));

        let check = linkwork(&["check", text(&lw), "--json"]).json();
        assert_eq!(check["assembled_as_written"], true, "{name}");
        assert_eq!(
            linkwork(&["assemble", text(&lw), "--json"]).json()["iterations"]["geometric"],
            0,
            "{name}"
        );

        let bytes = std::fs::read(&glb).unwrap();
        assert_eq!(&bytes[..4], b"glTF", "{name}");
        let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap());
        assert_eq!(length as usize, bytes.len(), "{name}");
        let json = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let document: serde_json::Value = serde_json::from_slice(&bytes[20..20 + json]).unwrap();
        assert!(!document["meshes"].as_array().unwrap().is_empty(), "{name}");

        let drawing = std::fs::read_to_string(&svg).unwrap();
        assert!(drawing.starts_with("<svg") && drawing.ends_with("</svg>\n"), "{name}");
        assert!(!drawing.contains("NaN"), "{name}");
    }
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(left.len(), 3 * scenes().len(), "nothing but the outputs: {left:?}");
}

#[test]
fn layout_is_stable_and_keeps_the_meaning() {
    let folder = folder("fmt");
    for scene in scenes() {
        let copy = folder.join(scene.file_name().unwrap());
        std::fs::copy(&scene, &copy).unwrap();
        assert_eq!(linkwork(&["fmt", text(&copy)]).code, 0);
        let once = std::fs::read(&copy).unwrap();
        let run = linkwork(&["fmt", "--check", text(&copy)]);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", text(&copy));
        // From a pipe it is the same.
        assert_eq!(linkwork_with(&["fmt", "-"], &std::fs::read(&scene).unwrap()).stdout.as_bytes(), once);
        let hash = |p| linkwork(&["assemble", p, "--json"]).json()["state_hash"].clone();
        assert_eq!(hash(text(&scene)), hash(text(&copy)));
    }
}

#[test]
fn generated_scenes_assemble_from_a_pipe() {
    for args in
        ["ladder 2 3 --heavy 3", "chain 5", "ring 6", "net 4 4", "characters 3", "seaweed 2", "scissor 2"]
    {
        let args: Vec<&str> = std::iter::once("generate").chain(args.split(' ')).collect();
        let scene = linkwork(&args);
        assert_eq!(scene.code, 0, "{args:?}: {}", scene.stderr);
        let run =
            linkwork_with(&["assemble", "-", "--json", "--scatter", "0.5,0.2"], scene.stdout.as_bytes());
        assert_eq!(run.json()["outcome"], "ok", "{args:?}");
        assert_eq!(run.json()["scene"], "<stdin>");
    }
}

#[test]
fn the_acrobats_take_at_most_six_iterations() {
    let report = linkwork(&["assemble", "scenes/characters.lw", "--json"]).json();
    assert_eq!(report["constraints"]["total"], 758);
    assert!(report["iterations"]["geometric"].as_u64().unwrap() <= 6);
}

/// The README's scene and the report it shows, except for the time and the last digits.
#[test]
fn the_readme_shows_what_happens() {
    let folder = folder("readme");
    let readme = std::fs::read_to_string(crate::common::root().join("README.md")).unwrap();
    let block =
        |fence: &str| readme.split(fence).nth(1).and_then(|t| t.split("```").next()).expect("a block");
    std::fs::write(folder.join("four-bar.lw"), block("```lw\n")).unwrap();
    let run = crate::common::command(&["assemble", "four-bar.lw", "-o", "four-bar.svg"])
        .current_dir(&folder)
        .output();
    let shown = String::from_utf8(run.unwrap().stdout).unwrap();
    let untimed = |t: &str| -> Vec<String> {
        let line = |l: &str| match (l.starts_with("  ok"), l.starts_with("  largest gap")) {
            (true, _) => l.split(',').next().unwrap_or("").to_owned(),
            (_, true) => l.split('(').nth(1).unwrap_or("").to_owned(),
            _ => l.to_owned(),
        };
        t.lines().filter(|l| !l.starts_with('$')).map(line).collect()
    };
    assert_eq!(untimed(&shown), untimed(block("```text\n")));
    assert!(block("```lw\n").lines().count() <= 15);
}
