//! `run` and `compare` as scripts use them: fields, columns, animations, snapshots, words and exit codes.

use crate::common::{folder, linkwork, linkwork_with, root, text};
use serde_json::Value;
use std::path::Path;

const PENDULUM: &str = "\
solid arm: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; end
solid tip: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 2; at 1 0 0; end
joint top: ball; object2 arm; frame1 0 0 0; frame2 0 0 0; end
joint mid: ball; object1 arm; object2 tip; frame1 1 0 0; frame2 0 0 0; end
";

/// The methods as the command tells them.
fn methods() -> Vec<String> {
    let help = linkwork(&["run", "--help"]).stdout;
    let list = help.split("--method <NAME>").nth(1).and_then(|t| t.split("possible values: ").nth(1));
    let list = list.and_then(|t| t.split(']').next()).expect("a list");
    let names: Vec<String> = list.split(',').map(|n| n.trim().replace(char::is_whitespace, "")).collect();
    assert!(
        names.iter().any(|n| n == "variational") && names.iter().any(|n| n == "displacement"),
        "{names:?}"
    );
    names
}

fn number(v: &Value, path: &str) -> f64 {
    let found = path.split('.').fold(v, |v, key| &v[key]);
    found.as_f64().unwrap_or_else(|| panic!("{path} is a number in {v}"))
}

/// Methods that know no contact say so where something could touch, and only there.
#[test]
fn a_method_without_contact_says_so() {
    let drop = "scene gravity 0 -9.81 0; end
        solid floor: kernel fixed; shape plane 0 1 0; end
        solid ball: shape sphere 0.1; mass 1; at 0 0.5 0; end";
    for (method, told) in [("variational", false), ("displacement", true), ("baumgarte", true)] {
        let run =
            linkwork_with(&["run", "-", "--seconds", "1", "--method", method, "--json"], drop.as_bytes());
        assert_eq!(run.stderr.contains("does not handle contact"), told, "{method}: {}", run.stderr);
        assert_eq!(run.json()["contacts"]["points_max"], if told { 0 } else { 1 }, "{}", run.stdout);
        assert_eq!(run.json()["ignored"].is_string(), told, "{}", run.stdout);
        let asks = format!("{drop} settings method {method}; end");
        let check = linkwork_with(&["check", "-"], asks.as_bytes());
        assert_eq!(check.stdout.contains("does not handle contact"), told, "{method}: {}", check.stdout);
        let check = linkwork_with(&["check", "-", "--json"], asks.as_bytes());
        assert_eq!(check.json()["ignored"].is_string(), told, "{method}: {}", check.stdout);
    }
    let free = drop.replace("solid floor: kernel fixed; shape plane 0 1 0; end", "");
    let run = linkwork_with(&["run", "-", "--seconds", "0.1", "--method", "displacement"], free.as_bytes());
    assert!(!run.stderr.contains("does not handle contact"), "{}", run.stderr);
}

#[test]
fn the_report_has_every_field_of_the_contract() {
    let run = linkwork_with(&["run", "-", "--seconds", "2", "--json"], PENDULUM.as_bytes());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let r = run.json();
    for (path, value) in [
        ("solids", 2.0),
        ("joints", 2.0),
        ("constraints.total", 6.0),
        ("constraints.acyclic", 6.0),
        ("constraints.loop", 0.0),
        ("freedoms", 6.0),
        ("dt", 1.0 / 60.0),
        ("steps", 120.0),
        ("missed_steps", 0.0),
        ("limits.rows_max", 0.0),
        ("unresolved_springs", 0.0),
    ] {
        assert_eq!(number(&r, path), value, "{path}");
    }
    assert!((number(&r, "seconds") - 2.0).abs() < 1e-9);
    assert_eq!(
        (r["scene"].as_str(), r["method"].as_str(), r["outcome"].as_str()),
        (Some("<stdin>"), Some("variational"), Some("ok"))
    );
    assert!(r["solver"].is_string() && number(&r, "wall_s") > 0.0);
    let ms = ["min", "median", "p99", "max"].map(|k| number(&r["ms_per_step"], k));
    assert!(ms[0] > 0.0 && ms.is_sorted(), "{ms:?}");
    for key in ["position_end", "position_max", "angle_end", "angle_max"] {
        assert!((0.0..=1e-6).contains(&number(&r["joint_error"], key)), "{key}");
    }
    // Two horizontal bars at the height of the origin have no energy at the start.
    assert!(number(&r, "energy.start").abs() < 1e-12);
    assert!(number(&r, "energy.max_drift") < 0.05, "{}", r["energy"]);
    for key in ["linear_drift", "angular_drift"] {
        assert!((0.1..=1.5).contains(&number(&r["momentum"], key)), "the ground pushes: {}", r["momentum"]);
    }
    assert!(number(&r, "iterations.geometric_mean") >= 1.0 && number(&r, "iterations.solver_mean") > 0.0);
    assert_eq!(r["worst"].as_array().map(Vec::len), Some(2));
    assert!(r["worst"][0]["joint"].is_string() && r["worst"][0]["error"].is_f64());
    let hash = r["state_hash"].as_str().unwrap();
    assert!(hash.len() == 16 && u64::from_str_radix(hash, 16).is_ok(), "{hash}");
    for stage in ["motion", "rows", "factor", "solve"] {
        assert!(r["stages_s"][stage].is_f64(), "{stage}");
    }
}

/// A bar that hangs at rest from its end: the joint carries its weight, and nothing else.
#[test]
fn reactions_carry_the_weight() {
    let scene = "solid bar: shape capsule .05 from 0 0 0 to 0 -1 0; mass 3; end
        joint hook: ball; object2 bar; end";
    let r = linkwork_with(&["run", "-", "--seconds", "0.5", "--json"], scene.as_bytes()).json();
    let reaction = &r["reactions"][0];
    assert_eq!(reaction["joint"], "hook");
    for (k, meant) in [0.0, 3.0 * 9.81, 0.0].into_iter().enumerate() {
        assert!((reaction["force"][k].as_f64().unwrap() - meant).abs() < 1e-4, "{reaction}");
        assert!(reaction["torque"][k].as_f64().unwrap().abs() < 1e-6, "{reaction}");
    }
}

#[test]
fn isolated_solids_keep_their_momentum_though_it_sums_to_nothing() {
    let scene = "scene gravity 0 0 0; end
        solid a: shape sphere .1; mass 1; at -1 0 0; velocity 0 1 0; end
        solid b: shape sphere .1; mass 1; at 1 0 0; velocity 0 -1 0; end
        joint distance 2; object1 a; object2 b; end";
    let r = linkwork_with(&["run", "-", "--seconds", "10", "--json"], scene.as_bytes()).json();
    assert_eq!(r["outcome"], "ok", "{r}");
    for key in ["linear_drift", "angular_drift"] {
        assert!(number(&r["momentum"], key) <= 1e-12, "{}", r["momentum"]);
    }
}

#[test]
fn tables_have_the_columns_of_the_contract() {
    let folder = folder("run-csv");
    let (all, watched) = (folder.join("all.csv"), folder.join("watched.csv"));
    let run = |scene: &str, file: &Path| {
        let args = ["run", "-", "--seconds", "0.5", "--json", "--record", text(file)];
        let run = linkwork_with(&args, scene.as_bytes());
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(run.json()["outputs"][0], text(file));
        (std::fs::read_to_string(file).unwrap(), run.json())
    };
    let (table, report) = run(PENDULUM, &all);
    let lines: Vec<&str> = table.lines().collect();
    let columns = |name: &str| {
        let parts = ["x", "y", "z", "qw", "qx", "qy", "qz", "vx", "vy", "vz", "wx", "wy", "wz"];
        parts.map(|p| format!("{name}.{p}")).join(",")
    };
    assert_eq!(lines[0], format!("time,{},{}", columns("arm"), columns("tip")));
    assert_eq!(lines.len(), 1 + 31, "the start and thirty steps");
    let rows: Vec<Vec<f64>> =
        lines[1..].iter().map(|l| l.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    assert!(rows.iter().all(|r| r.len() == 27 && r.iter().all(|x| x.is_finite())));
    assert_eq!(rows[0][0], 0.0);
    assert!(rows.windows(2).all(|w| (w[1][0] - w[0][0] - 1.0 / 60.0).abs() < 1e-12));
    assert_eq!(rows[0][14], 1.0, "the origin of the second bar, not its centre");
    assert_eq!(rows[30][0], number(&report, "time_end"));
    // Velocities are those of the centre of mass: half a metre out on the first bar.
    let (spin, speed) = (rows[30][13], (rows[30][8].powi(2) + rows[30][9].powi(2)).sqrt());
    assert!((spin.abs() * 0.5 - speed).abs() < 0.02, "{spin} {speed}");
    let (table, _) = run(&format!("{PENDULUM} watch tip; end"), &watched);
    assert_eq!(table.lines().next(), Some(format!("time,{}", columns("tip")).as_str()));
}

fn document(file: &Path) -> (Value, Vec<u8>) {
    let bytes = std::fs::read(file).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((&bytes[..4], word(4), word(8)), (&b"glTF"[..], 2, bytes.len()));
    let json = word(12);
    assert_eq!(word(20 + json), bytes.len() - json - 28);
    (serde_json::from_slice(&bytes[20..20 + json]).unwrap(), bytes[28 + json..].to_vec())
}

#[test]
fn animations_are_valid() {
    let folder = folder("run-glb");
    let file = folder.join("walker.glb");
    let run = linkwork(&["run", "scenes/walker.lw", "--seconds", "0.5", "--record", text(&file)]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (d, bin) = document(&file);
    let index = |v: &Value| v.as_u64().unwrap() as usize;
    let floats = |accessor: &Value| -> Vec<f32> {
        let a = &d["accessors"][index(accessor)];
        let width = match a["type"].as_str().unwrap() {
            "SCALAR" => 1,
            "VEC3" => 3,
            _ => 4,
        };
        let view = &d["bufferViews"][index(&a["bufferView"])];
        let (from, length) = (index(&view["byteOffset"]), index(&view["byteLength"]));
        assert_eq!((length, from % 4), (4 * width * index(&a["count"]), 0));
        bin[from..from + length].chunks(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect()
    };
    let motion = &d["animations"][0];
    let (channels, samplers) =
        (motion["channels"].as_array().unwrap(), motion["samplers"].as_array().unwrap());
    assert_eq!(channels.len(), samplers.len());
    let mut animated = std::collections::BTreeSet::new();
    for channel in channels {
        let node = &d["nodes"][index(&channel["target"]["node"])];
        assert!(node["mesh"].is_u64() && node["name"].is_string());
        let path = channel["target"]["path"].as_str().unwrap();
        assert!(animated.insert((node["name"].to_string(), path.to_owned())), "one track a node and path");
        let sampler = &samplers[index(&channel["sampler"])];
        assert_eq!(sampler["interpolation"], "LINEAR");
        let (times, values) = (floats(&sampler["input"]), floats(&sampler["output"]));
        assert_eq!(times.len(), 31);
        assert!(times[0] == 0.0 && times.windows(2).all(|t| t[0] < t[1]));
        assert!(values.iter().all(|x| x.is_finite()));
        if path == "rotation" {
            assert_eq!(values.len(), 4 * times.len());
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
            for pair in values.chunks(4).zip(values.chunks(4).skip(1)) {
                assert!((dot(pair.0, pair.0) - 1.0).abs() < 1e-5 && dot(pair.0, pair.1) > 0.0);
            }
            assert_eq!(&values[..4], node_numbers(node, "rotation"), "it starts where the node is");
        } else {
            assert_eq!(values.len(), 3 * times.len());
            assert_eq!(&values[..3], node_numbers(node, "translation"));
        }
    }
    assert_eq!(animated.len(), 2 * 38, "every solid of the beast moves but its body, which is held");
}

fn node_numbers(node: &Value, key: &str) -> Vec<f32> {
    node[key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect()
}

#[test]
fn json_records_hold_frames() {
    let folder = folder("run-json");
    let file = folder.join("a.json");
    let args = ["run", "-", "--seconds", "0.5", "--json", "--record", text(&file)];
    let report = linkwork_with(&args, PENDULUM.as_bytes()).json();
    let record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(record["format"], "linkwork-record");
    assert_eq!(record["solids"], serde_json::json!(["arm", "tip"]));
    let frames = record["frames"].as_array().unwrap();
    assert_eq!((frames.len(), &frames[0]["time"]), (31, &0.0.into()));
    let last = &frames[30];
    assert_eq!(last["time"], report["time_end"]);
    assert_eq!(last["energy"]["total"], report["energy"]["end"]);
    assert_eq!(last["gaps"]["position"], report["joint_error"]["position_end"]);
    assert_eq!(last["poses"].as_array().unwrap().len(), 2);
    assert_eq!(last["velocities"][1].as_array().unwrap().len(), 6);
}

/// Two seconds at once, and one second, a snapshot, and another second: the same state to the bit. By every method, with
/// motors, loops, limits and springs.
#[test]
fn a_restored_snapshot_has_the_same_future() {
    let folder = folder("run-snapshot");
    let spring = folder.join("spring.lw");
    let text_of_spring = format!(
        "{PENDULUM} spring object1 arm; object2 tip; hinge 0 0 0  1 0 0; length 1; \
        stiffness 40; damping .2; end"
    );
    std::fs::write(&spring, text_of_spring).unwrap();
    let state = folder.join("half.lws");
    let few = ["scenes/fourbar.lw", "scenes/snake.lw", "scenes/cardan-shaft.lw", text(&spring)];
    let all = crate::common::scenes();
    let by_default = all.iter().map(|s| (text(s), vec!["variational".to_owned()], "0.4", "0.2"));
    for (scene, methods, twice, once) in few.map(|s| (s, methods(), "2", "1")).into_iter().chain(by_default) {
        for method in methods {
            let run = |seconds: &str, more: &[&str]| {
                let args =
                    [&["run", scene, "--method", &method, "--seconds", seconds, "--json"], more].concat();
                linkwork(&args).json()
            };
            let whole = run(twice, &[]);
            let half = run(once, &["--snapshot", text(&state)]);
            if half["outcome"] == "rejected" {
                // Not every method can treat every scene: then there is no second half.
                assert_eq!(half["state_hash"], whole["state_hash"], "{scene} {method}");
                continue;
            }
            let rest = run(once, &["--from", text(&state)]);
            assert_eq!(rest["time_start"], half["time_end"]);
            assert_eq!(rest["state_hash"], whole["state_hash"], "{scene} {method}");
        }
    }
}

#[test]
fn the_same_on_any_number_of_threads_and_every_time() {
    // Many islands, so that threads have something to share.
    let acrobats = folder("run-threads").join("characters.lw");
    std::fs::write(&acrobats, linkwork(&["generate", "characters", "12"]).stdout).unwrap();
    for scene in [text(&acrobats), "scenes/walker.lw"] {
        let hash = |more: &[&str]| {
            let args = [&["run", scene, "--seconds", "0.25", "--json"], more].concat();
            linkwork(&args).json()["state_hash"].clone()
        };
        let first = hash(&[]);
        for threads in ["1", "2", "4"] {
            assert_eq!(hash(&["--threads", threads]), first, "{scene}: {threads} threads");
        }
        assert_eq!(hash(&[]), first, "{scene}: again");
        assert_ne!(hash(&["--substeps", "2"]), first, "{scene}: pieces make a difference");
    }
}

#[test]
fn limits_and_springs_that_are_too_fast_are_told() {
    let scene = "solid arm: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; end
        joint j: pin; object2 arm; at 0 0 0 axis 0 0 1; limit r1 -1 1; end
        particle p: mass 1; at 3 0 0; end
        spring s: object2 p; hinge 3 1 0 0 0 0; length 1; stiffness 1e6; end";
    let run = linkwork_with(&["run", "-", "--seconds", "1", "--json"], scene.as_bytes());
    let r = run.json();
    assert_eq!((number(&r, "limits.rows_max"), number(&r, "unresolved_springs")), (1.0, 1.0));
    assert!(number(&r, "limits.residual_max") <= 1e-6, "{}", r["limits"]);
    let run = linkwork_with(&["run", "-", "--seconds", "1"], scene.as_bytes());
    assert!(run.stdout.contains("too fast for the step"), "{}", run.stdout);
}

/// One ball held at two places: it cannot be, and the user decides what then.
const TORN: &str = "\
solid ball: shape sphere 0.1; mass 1; end
joint left: ball; object2 ball; frame1 -1 0 0; rank 2; end
joint right: ball; object2 ball; frame1 1 0 0; rank 2; end
";

#[test]
fn missing_the_tolerance_is_the_users_decision() {
    let folder = folder("run-miss");
    let scene = folder.join("torn.lw");
    std::fs::write(&scene, TORN).unwrap();
    let run = linkwork(&["run", text(&scene), "--seconds", "0.5", "--json"]);
    let r = run.json();
    assert_eq!((run.code, &r["outcome"], &r["missed_steps"]), (1, &"missed".into(), &30.into()));
    assert_eq!(r["assembled"]["outcome"], "conflict");
    assert!(run.stderr.contains("cannot all be closed"), "{}", run.stderr);

    let run = linkwork(&["run", text(&scene), "--seconds", "0.5", "--on-miss", "stop"]);
    assert_eq!(run.code, 1);
    let saved = folder.join("torn.stopped.lws");
    for part in ["stopped", "left", "right", "torn.lw:2", "torn.lw:3", "1 m", text(&saved)] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert!(saved.is_file());
    // The scene can ask for it, and the user can say where the state goes and overrule it.
    std::fs::write(&scene, format!("settings on-miss stop; end {TORN}")).unwrap();
    let told = folder.join("told.lws");
    let run = linkwork(&["run", text(&scene), "--seconds", "0.5", "--json", "--snapshot", text(&told)]);
    let r = run.json();
    assert_eq!((run.code, &r["outcome"], &r["steps"]), (1, &"stopped".into(), &1.into()));
    assert_eq!(r["worst"][0]["line"], 2);
    let again = linkwork(&["run", text(&scene), "--seconds", "0.1", "--json", "--from", text(&told)]).json();
    assert_eq!(again["time_start"], r["time_end"], "what was saved can be gone on from");
    let run = linkwork(&["run", text(&scene), "--seconds", "0.5", "--json", "--on-miss", "warn"]);
    assert_eq!((run.code, &run.json()["outcome"]), (1, &"missed".into()));
}

#[test]
fn a_start_with_gaps_is_assembled_first_and_that_is_said() {
    let rough = PENDULUM.replace("at 1 0 0", "at 1.4 0.3 0");
    let run = linkwork_with(&["run", "-", "--seconds", "0.1", "--json"], rough.as_bytes());
    assert!(run.stderr.contains("assembled first"), "{}", run.stderr);
    let r = run.json();
    assert_eq!(r["outcome"], "ok");
    assert!((number(&r, "assembled.position_start") - 0.5).abs() < 1e-9);
    assert!(number(&r, "assembled.position_end") <= 1e-6);
}

#[test]
fn snapshots_that_do_not_fit_are_refused_with_a_reason() {
    let folder = folder("run-bad-snapshot");
    let good = folder.join("good.lws");
    let scene = folder.join("a.lw");
    std::fs::write(&scene, PENDULUM).unwrap();
    let other = folder.join("b.lw");
    std::fs::write(&other, PENDULUM.replace("mass 2", "mass 3")).unwrap();
    assert_eq!(linkwork(&["run", text(&scene), "--seconds", "0.1", "--snapshot", text(&good)]).code, 0);
    let bytes = std::fs::read(&good).unwrap();
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    for (name, bytes, said) in [
        ("cut.lws", &bytes[..bytes.len() - 5], "cut off"),
        ("flipped.lws", &flipped, "damaged"),
        ("text.lws", PENDULUM.as_bytes(), "not a snapshot"),
        ("empty.lws", b"", "not a snapshot"),
    ] {
        let file = folder.join(name);
        std::fs::write(&file, bytes).unwrap();
        let run = linkwork(&["run", text(&scene), "--seconds", "0.1", "--from", text(&file)]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{name}");
        assert!(run.stderr.contains(said) && run.stderr.contains(name), "{name}: {}", run.stderr);
    }
    let run = linkwork(&["run", text(&other), "--seconds", "0.1", "--json", "--from", text(&good)]);
    assert_eq!((run.code, &run.json()["outcome"]), (2, &"error".into()));
    assert!(run.stderr.contains("another mechanism"), "{}", run.stderr);
    let run = linkwork(&["run", text(&scene), "--seconds", "0.1", "--from", text(&folder.join("none"))]);
    assert_eq!(run.code, 2);
}

#[test]
fn wrong_options_end_with_2_and_name_the_nearest_word() {
    for args in [
        &["run", "scenes/fourbar.lw", "--seconds", "0"][..],
        &["run", "scenes/fourbar.lw", "--seconds", "-1"],
        &["run", "scenes/fourbar.lw", "--seconds", "nan"],
        &["run", "scenes/fourbar.lw", "--seconds", "1e300"],
        &["run", "scenes/fourbar.lw", "--seconds", "1", "--step", "0"],
        &["run", "scenes/fourbar.lw", "--seconds", "1", "--substeps", "0"],
        &["run", "scenes/fourbar.lw", "--seconds", "1", "--threads", "0"],
        &["run", "scenes/fourbar.lw", "--seconds", "1", "--iterations", "0"],
        &["run", "scenes/fourbar.lw", "--seconds", "1", "--record", "x.xls"],
        &["run", "scenes/fourbar.lw", "--seconds", "1", "--record", "x"],
        &["run", "scenes/fourbar.lw", "--seconds", "1", "--on-miss", "explode"],
        &["compare", "scenes/fourbar.lw", "--solvers", "auto,magic"],
        &["compare", "scenes/fourbar.lw", "--solid", "nobody"],
    ] {
        let run = linkwork(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains("error: "), "{args:?}: {}", run.stderr);
    }
    for args in [
        &["run", "scenes/fourbar.lw", "--seconds", "1", "--method", "varational"][..],
        &["compare", "scenes/fourbar.lw", "--methods", "displacement,varational"],
    ] {
        let run = linkwork(args);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("similar value exists: 'variational'"), "{}", run.stderr);
    }
    let run = linkwork(&["run", "scenes/fourbar.lw", "--seconds", "1", "--record", "no/such/place.csv"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.stderr);
}

/// Numbers that leave the range of arithmetic end the run; what was fine before is there.
#[test]
fn nothing_that_is_not_finite_is_written() {
    let folder = folder("run-rejected");
    let (table, state) = (folder.join("a.csv"), folder.join("a.lws"));
    let scene = "solid a: shape sphere .1; mass 1e-6; end
        force object a; value 1e30 0 0; end";
    let args = [
        "run",
        "-",
        "--seconds",
        "1e300",
        "--step",
        "1e290",
        "--json",
        "--record",
        text(&table),
        "--snapshot",
        text(&state),
    ];
    let run = linkwork_with(&args, scene.as_bytes());
    let r = run.json();
    assert_eq!((run.code, &r["outcome"]), (1, &"rejected".into()), "{} {}", run.stderr, run.stdout);
    assert!(r["rejected"].as_str().unwrap().contains("overflowed"));
    let rows = std::fs::read_to_string(&table).unwrap();
    assert_eq!(rows.lines().count() as u64, 2 + r["steps"].as_u64().unwrap());
    assert!(!rows.contains("NaN") && !rows.contains("inf"), "{rows}");
    assert!(state.is_file());
}

#[test]
fn all_that_scenes_ask_for_is_simulated() {
    let cloth = linkwork(&["generate", "cloth", "4", "3"]).stdout;
    let run = linkwork_with(&["run", "-", "--seconds", "0.1", "--json"], cloth.as_bytes());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stderr.contains("not simulated yet"), "{}", run.stderr);
    assert_eq!(run.json()["not_simulated"].as_array().map(Vec::len), Some(0));
    let forces = linkwork_with(
        &["run", "-", "--seconds", "0.1", "--json"],
        format!("{PENDULUM} force object tip; value 1 0 0; end").as_bytes(),
    );
    assert_eq!(forces.json()["not_simulated"].as_array().map(Vec::len), Some(0));
    let plain = linkwork_with(&["run", "-", "--seconds", "0.1", "--json"], PENDULUM.as_bytes());
    assert_ne!(forces.json()["state_hash"], plain.json()["state_hash"], "the force acts");
}

#[test]
fn comparisons_have_a_table_and_a_page() {
    let folder = folder("compare");
    let page = folder.join("report.html");
    let args = [
        "compare",
        "scenes/snake.lw",
        "--methods",
        "variational,displacement",
        "--solvers",
        "sparse-direct,full-dense",
        "--seconds",
        "0.5",
        "-o",
        text(&page),
    ];
    let run = linkwork(&args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for part in ["variational", "displacement", "full-dense", "apart at the end", text(&page)] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    let html = std::fs::read_to_string(&page).unwrap();
    assert_eq!(html.matches("<svg viewBox").count(), 6, "gap, energy, two momenta, path, time");
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    assert!(!html.contains("http") && !html.contains("NaN") && !html.contains("<script"));
    for part in ["Largest gap", "Energy", "Path of ", "Time per step", "displacement, full-dense"] {
        assert!(html.contains(part), "{part}");
    }
    let r = linkwork(&[&args[..8], &["--json"]].concat()).json();
    let runs = r["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    assert_eq!(runs[0]["apart"], 0.0);
    assert!(number(&runs[1], "apart") < 1e-6, "solvers agree: {}", runs[1]["apart"]);
    assert!(number(&runs[2], "apart") > 1e-4, "methods do not: {}", runs[2]["apart"]);
    // The same run by itself ends in the same state.
    let alone = linkwork(&[
        "run",
        "scenes/snake.lw",
        "--method",
        "displacement",
        "--solver",
        "full-dense",
        "--seconds",
        "0.5",
        "--json",
    ]);
    assert_eq!(alone.json()["state_hash"], runs[3]["state_hash"]);
}

#[test]
fn every_scene_runs() {
    for scene in crate::common::scenes() {
        let name = scene.strip_prefix(root()).unwrap();
        let run = linkwork(&["run", text(name), "--seconds", "0.2", "--json"]);
        assert_eq!(run.code, 0, "{}: {}", name.display(), run.stderr);
        let r = run.json();
        assert_eq!(number(&r, "steps"), (0.2 / number(&r, "dt")).round(), "{}", name.display());
        assert!(number(&r, "joint_error.position_max") < 1e-2, "{}: {}", name.display(), r["joint_error"]);
    }
}

const DROP: &str = "scene gravity 0 -9.81 0; end
    material rubber: friction 0.5; restitution 0.5; end
    solid floor: kernel fixed; shape plane 0 1 0; material rubber; end
    solid ball: shape sphere 0.1; mass 2; at 0 0.6 0; material rubber; end
    solid box: shape box 0.2 0.2 0.2; mass 3; at 1 0.1 0; end
";

/// Rows of a table, by the names of its columns.
fn table(path: &Path) -> Vec<std::collections::BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let cells = |line: &str| -> Vec<String> {
        let mut out = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => out.push(String::new()),
                c => out.last_mut().unwrap().push(c),
            }
        }
        out
    };
    let names = cells(text.lines().next().unwrap());
    text.lines().skip(1).map(|l| names.iter().cloned().zip(cells(l)).collect()).collect()
}

/// Contact forces of pairs in the report and as a table: weights, blows and events.
#[test]
fn contact_forces_are_told_pair_by_pair() {
    let dir = folder("contacts");
    let path = dir.join("c.csv");
    let args = ["run", "-", "--seconds", "1", "--json", "--contacts", path.to_str().unwrap()];
    let run = linkwork_with(&args, DROP.as_bytes());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let pairs = run.json()["contacts"]["pairs"].clone();
    let names: Vec<&str> =
        pairs.as_array().unwrap().iter().map(|p| p["solids"][1].as_str().unwrap()).collect();
    // The blow is the stronger one.
    assert_eq!(names, ["ball", "box"]);
    let lies = &pairs[1];
    assert_eq!((lies["solids"][0].as_str(), lies["points_end"].as_u64()), (Some("floor"), Some(4)));
    let weight = 3.0 * 9.81;
    assert!((number(lies, "force_max") - weight).abs() < 1e-3 * weight, "{lies}");
    assert!((lies["force_end"][1].as_f64().unwrap() - weight).abs() < 1e-3 * weight, "{lies}");
    assert!(lies["gap_end"].as_f64().unwrap().abs() < 1e-6, "{lies}");
    let rows = table(&path);
    let x = |r: &std::collections::BTreeMap<String, String>, k: &str| r[k].parse::<f64>().unwrap();
    // A row per step for what lies, from its first step on.
    let still: Vec<_> = rows.iter().filter(|r| r["solid2"] == "box").collect();
    assert_eq!((still.len(), still[0]["event"].as_str(), still[1]["event"].as_str()), (60, "begin", ""));
    assert!(still.iter().all(|r| (x(r, "jy") * 60.0 - weight).abs() < 1e-3 * weight));
    // The ball falls 0.5 m, is thrown back with half its speed, and parts.
    let ball: Vec<_> = rows.iter().filter(|r| r["solid2"] == "ball").collect();
    let speed = (2.0 * 9.81 * 0.5_f64).sqrt();
    assert_eq!((ball[0]["solid1"].as_str(), ball[0]["event"].as_str()), ("floor", "begin"));
    assert!((x(ball[0], "time") - speed / 9.81).abs() < 2.0 / 60.0, "{:?}", ball[0]);
    let blow = 2.0 * 1.5 * speed;
    assert!((x(ball[0], "jy") - blow).abs() < 0.05 * blow, "{:?}", ball[0]);
    assert_eq!(ball[1]["event"], "end");
    // A list of what is watched holds for pairs, too.
    let watched = format!("{DROP} watch box; end");
    let run = linkwork_with(&args, watched.as_bytes());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(table(&path).len() == 60 && table(&path).iter().all(|r| r["solid2"] == "box"));
    // In two pieces per step there are two rows per step, and the same impulses all together.
    let pieces = [&args[..], &["--substeps", "2"]].concat();
    assert_eq!(linkwork_with(&pieces, watched.as_bytes()).code, 0);
    let rows = table(&path);
    let sum: f64 = rows.iter().map(|r| x(r, "jy")).sum();
    assert!(rows.len() == 120 && (sum - weight).abs() < 1e-3 * weight, "{} rows, {sum}", rows.len());
    let wrong = linkwork_with(&["run", "-", "--seconds", "1", "--contacts", "c.txt"], DROP.as_bytes());
    assert!(wrong.code == 2 && wrong.stderr.contains(".csv"), "{}", wrong.stderr);
}
