//! Rough edges of the command line: numbers as in scenes, outputs that spare inputs, signals, tables of joints, parameters of
//! methods.

use crate::common::{command, folder, linkwork, linkwork_with};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const PENDULUM: &str = "\
solid arm: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 2; end
joint top: pin; object2 arm; at 0 0 0 axis 0 0 1; end
";

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("a file")
}

/// A column of a table, by its name.
fn column(table: &str, name: &str) -> Vec<String> {
    let mut lines = table.lines();
    let place = lines.next().expect("a header").split(',').position(|n| n == name);
    let place = place.unwrap_or_else(|| panic!("{name} in {}", table.lines().next().unwrap_or_default()));
    lines.map(|l| l.split(',').nth(place).expect("a cell").to_owned()).collect()
}

fn numbers(table: &str, name: &str) -> Vec<f64> {
    column(table, name).iter().map(|x| x.parse().unwrap_or_else(|_| panic!("{name}: {x}"))).collect()
}

#[test]
fn options_take_numbers_as_scenes_do() {
    let args = ["run", "-", "--seconds", "50 ms", "--step", "1/600", "--tolerance", "1/1000000", "--json"];
    let run = linkwork_with(&args, PENDULUM.as_bytes());
    let r = run.json();
    assert_eq!((run.code, r["steps"].as_u64()), (0, Some(30)), "{}", run.stderr);
    assert_eq!(r["dt"].as_f64(), Some(1.0 / 600.0));
    let decimal = linkwork_with(
        &["run", "-", "--seconds", "0.05", "--step", "0.0016666666666666668", "--json"],
        PENDULUM.as_bytes(),
    );
    assert_eq!(r["state_hash"], decimal.json()["state_hash"], "the same to the bit");
    let assembled = linkwork_with(
        &["assemble", "-", "--max-rotation", "30 deg", "--budget-ms", "1/2", "--json"],
        PENDULUM.as_bytes(),
    );
    assert_eq!(assembled.code, 0, "{}", assembled.stderr);
    let wrong = linkwork_with(&["run", "-", "--seconds", "5 mm"], PENDULUM.as_bytes());
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("`mm` is not possible here"), "{}", wrong.stderr);
}

/// F26: the scene, the snapshot and the meshes stay as they are, whatever is named as an output.
#[test]
fn no_output_overwrites_an_input() {
    let folder = folder("no-overwriting");
    let at = |name: &str| folder.join(name).display().to_string();
    let scene = at("s.csv");
    std::fs::write(&scene, PENDULUM).expect("written");
    std::os::unix::fs::symlink(&scene, at("link.csv")).expect("a link");
    let first = linkwork(&["run", &scene, "--seconds", "0.1", "--snapshot", &at("one.lws")]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let snapshot = std::fs::read(at("one.lws")).expect("a snapshot");
    let (link, state) = (at("link.csv"), at("one.lws"));
    for args in [
        &["run", &scene, "--seconds", "0.1", "--snapshot", &scene][..],
        &["run", &scene, "--seconds", "0.1", "--record", &scene],
        &["run", &scene, "--seconds", "0.1", "--record", &link],
        &["run", &link, "--seconds", "0.1", "--contacts", &scene],
        &["run", &scene, "--seconds", "0.1", "--from", &state, "--snapshot", &state],
        &["compare", &scene, "-o", &scene],
    ] {
        let run = linkwork(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains("would be written over"), "{}", run.stderr);
        assert_eq!(read(&scene), PENDULUM);
        assert_eq!(std::fs::read(at("one.lws")).expect("a snapshot"), snapshot);
    }
    let (twice, same) = (at("twice.csv"), format!("{}/./twice.csv", folder.display()));
    let run = linkwork(&["run", &scene, "--seconds", "0.1", "--record", &twice, "--contacts", &same]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("named twice"), "{}", run.stderr);
    assert!(!Path::new(&twice).exists());
    // Nor does `assemble`, which tells how to ask for it.
    let own = at("own.lw");
    let open = PENDULUM.replace("solid arm:", "solid arm: at 0.5 0.2 0; /* open */");
    std::fs::write(&own, &open).expect("written");
    let run = linkwork(&["assemble", &own, "-o", &own]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    assert!(
        run.stderr.contains("would be written over") && run.stderr.contains("--in-place"),
        "{}",
        run.stderr
    );
    assert_eq!(read(&own), open);
    let run = linkwork(&["assemble", &own, "--in-place", "--json"]);
    assert_eq!((run.code, &run.json()["outputs"]), (0, &serde_json::json!([own])), "{}", run.stderr);
    assert!(read(&own) != open && read(&own).contains("/* open */"), "{}", read(&own));
    let again = linkwork(&["assemble", &own, "--json"]).json();
    assert!(again["joint_error"]["position_start"].as_f64().expect("a gap") < 1e-6, "{again}");
    let piped = linkwork_with(&["assemble", "-", "--in-place"], PENDULUM.as_bytes());
    assert_eq!(piped.code, 2);
    assert!(piped.stderr.contains("needs a file"), "{}", piped.stderr);
}

/// What lies in a folder.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Starts a run that would take for ever, and sends it signals once it has recorded something.
fn interrupted(folder: &Path, signals: &[&str]) -> std::process::Output {
    let table = folder.join("motion.csv").display().to_string();
    let scene = folder.join("s.lw");
    std::fs::write(&scene, PENDULUM).expect("written");
    let scene = scene.display().to_string();
    let child = command(&["run", &scene, "--seconds", "1e6", "--record", &table, "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let begin = Instant::now();
    let written = |name: &String| {
        name.ends_with(".part") && std::fs::metadata(folder.join(name)).is_ok_and(|m| m.len() > 100_000)
    };
    while !files(folder).iter().any(written) {
        assert!(begin.elapsed() < Duration::from_secs(60), "it never began");
        std::thread::sleep(Duration::from_millis(20));
    }
    for signal in signals {
        let sent = std::process::Command::new("kill").arg(signal).arg(child.id().to_string()).status();
        assert!(sent.expect("kill").success());
    }
    child.wait_with_output().expect("it ends")
}

#[test]
fn interrupted_runs_end_with_their_report_and_what_they_recorded() {
    for signal in ["-INT", "-TERM"] {
        let folder = folder(&format!("interrupted{signal}"));
        let output = interrupted(&folder, &[signal]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            (report["outcome"].as_str(), report["interrupted"].as_bool()),
            (Some("stopped"), Some(true))
        );
        let table = read(folder.join("motion.csv"));
        let steps = report["steps"].as_u64().expect("steps") as usize;
        assert_eq!(table.lines().count(), steps + 2, "a header, the start, and every step");
        assert_eq!(files(&folder), ["motion.csv", "s.lw"]);
    }
}

#[test]
fn tables_tell_coordinates_speeds_and_forces_of_watched_joints() {
    let folder = folder("joint-tables");
    let file = folder.join("crank.csv").display().to_string();
    let run = linkwork(&[
        "run",
        "scenes/fourbar.lw",
        "--seconds",
        "4",
        "--watch",
        "motor",
        "--watch",
        "crank",
        "--watch",
        "wrist",
        "--record",
        &file,
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let table = read(&file);
    let (time, r1, rate) =
        (numbers(&table, "time"), numbers(&table, "motor.r1"), numbers(&table, "motor.r1.rate"));
    assert_eq!(r1.len(), 241);
    for k in 1..r1.len() {
        // A motor of 2 rad/s, counted beyond half a turn.
        assert!((r1[k] - r1[0] - 2.0 * time[k]).abs() < 1e-5, "{} at {}", r1[k], time[k]);
        assert!((rate[k] - 2.0).abs() < 1e-6, "{}", rate[k]);
    }
    assert!(r1[240] > 7.0 && !table.starts_with("time,coupler"));
    assert_eq!(column(&table, "motor.fx")[0], "", "nothing is known of forces at the start");
    let forces = column(&table, "wrist.fy");
    assert!(forces[1..].iter().all(|f| f.parse::<f64>().is_ok_and(|f| f.abs() < 1e3)), "{forces:?}");

    // A pendulum of 2 kg at rest: its pin carries the weight.
    let still = PENDULUM.replace("mass 2;", "mass 2; turn 0 0 1 -90 deg;") + "watch top; end\n";
    let file = folder.join("still.csv").display().to_string();
    let run = linkwork_with(&["run", "-", "--seconds", "0.5", "--record", &file], still.as_bytes());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let table = read(&file);
    assert_eq!(
        table.lines().next(),
        Some("time,top.r1,top.r1.rate,top.fx,top.fy,top.fz,top.mx,top.my,top.mz")
    );
    let up: f64 = column(&table, "top.fy").last().and_then(|x| x.parse().ok()).expect("a force");
    assert!((up - 2.0 * 9.81).abs() < 1e-6, "{up}");

    let unknown = linkwork_with(&["run", "-", "--seconds", "1", "--watch", "nobody"], PENDULUM.as_bytes());
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("no solid and no joint `nobody`"), "{}", unknown.stderr);
    let word = linkwork_with(&["check", "-"], (PENDULUM.to_owned() + "watch tpo; end").as_bytes());
    assert_eq!(word.code, 2, "{}", word.stderr);
}

#[test]
fn assemblies_tell_poses_and_long_lists_are_cut_unless_asked_for() {
    let turned = PENDULUM.replace("mass 2;", "mass 2; at 1 2 3; turn 0 0 1 90 deg;");
    let run = linkwork_with(&["assemble", "-", "--json"], turned.as_bytes());
    let r = run.json();
    assert_eq!(r["poses"].as_array().map(Vec::len), Some(1), "{}", run.stdout);
    assert_eq!(r["poses"][0]["solid"], "arm");
    for (k, x) in [1.0, 2.0, 3.0].iter().enumerate() {
        let at = r["poses"][0]["at"][k].as_f64().expect("a number");
        assert!((at - x).abs() < 1e-9, "it starts with its pin where the frames of `at` put it: {at}");
    }
    let chain = linkwork(&["generate", "chain", "300"]).stdout;
    for (full, poses) in [(false, 200), (true, 300)] {
        let mut args = vec!["assemble", "-", "--json"];
        args.extend(full.then_some("--full"));
        let r = linkwork_with(&args, chain.as_bytes()).json();
        assert_eq!(r["poses"].as_array().map(Vec::len), Some(poses));
        assert_eq!(r["poses_left_out"].as_u64(), Some(300 - poses as u64));
        let mut args = vec!["run", "-", "--seconds", "1/60", "--json"];
        args.extend(full.then_some("--full"));
        let r = linkwork_with(&args, chain.as_bytes()).json();
        assert_eq!(r["reactions"].as_array().map(Vec::len), Some(poses), "{}", r["joints"]);
    }
}

#[test]
fn parameters_of_methods_can_be_chosen_where_they_mean_something() {
    let bar = PENDULUM.to_owned()
        + "particle bob: mass 1; at 2 0 0; end joint rod: distance 1; object1 arm; object2 bob; frame1 1 0 0; end\n";
    let energy = |args: &[&str]| {
        let all = [&["run", "-", "--seconds", "1", "--step", "1/240", "--json"], args].concat();
        let run = linkwork_with(&all, bar.as_bytes());
        assert!(run.code <= 1, "{all:?}: {}", run.stderr);
        let r = run.json();
        (
            r["energy"]["max_drift"].as_f64().expect("a drift"),
            r["state_hash"].as_str().expect("a hash").to_owned(),
        )
    };
    let plain = energy(&["--method", "baumgarte"]);
    let fine = energy(&["--method", "baumgarte", "--integrator", "rk4"]);
    assert!(fine.0 < 0.1 * plain.0, "RK4 errs less: {} and {}", fine.0, plain.0);
    assert_ne!(plain.1, energy(&["--method", "baumgarte", "--alpha", "40", "--beta", "40"]).1);
    let stabilized = ["--method", "post-stabilization"];
    assert_ne!(energy(&stabilized).1, energy(&[&stabilized[..], &["--project-velocities"]].concat()).1);
    assert_ne!(
        energy(&["--method", "implicit"]).1,
        energy(&["--method", "implicit", "--squared-distances"]).1
    );
    for (args, option) in [(["--alpha", "3"], "--alpha"), (["--integrator", "rk4"], "--integrator")] {
        let run = linkwork_with(&[&["run", "-", "--seconds", "1"][..], &args[..]].concat(), bar.as_bytes());
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains(option) && run.stderr.contains("`variational`"), "{}", run.stderr);
    }
}

/// F15, F24, F25: whole times, fixed solids that stay, and no error of something that rests.
#[test]
fn times_are_whole_fixed_solids_stay_and_rest_is_rest() {
    let run =
        linkwork_with(&["run", "-", "--seconds", "7.3", "--step", "1/1000", "--json"], PENDULUM.as_bytes());
    assert_eq!(run.json()["time_end"].as_f64(), Some(7.3), "{}", run.stdout);

    let moving = "scene gravity 0 0 0; end
        solid base: kernel fixed; shape box 1 1 1; velocity 1 0 0; end
        solid arm: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; end
        joint seat: weld; object1 base; object2 arm; end";
    for method in ["variational", "displacement", "reduced"] {
        let run =
            linkwork_with(&["run", "-", "--seconds", "1", "--method", method, "--json"], moving.as_bytes());
        assert_eq!(run.json()["energy"]["end"].as_f64(), Some(0.0), "{method}: {}", run.stdout);
        assert_eq!(run.code, 0, "{method}: {}", run.stdout);
    }

    let structure = "solid bar: shape capsule 0.04 from 0 0 0 to 1 0 0; mass 1; end
        joint a: ball; object2 bar; frame1 0 0 0; frame2 0 0 0; end
        joint b: ball; object2 bar; frame1 1 0 0; frame2 1 0 0; end";
    let run = linkwork_with(&["run", "-", "--seconds", "1", "--json"], structure.as_bytes());
    assert_eq!(run.json()["energy"]["max_drift"].as_f64(), Some(0.0), "{}", run.stdout);
}

const TETRAHEDRON: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

/// F27: `view` ended with exit code 2 and not a word where a mesh was named by `./` or lay in another folder.
#[test]
fn the_viewer_opens_scenes_whose_meshes_lie_elsewhere() {
    use std::io::{BufRead, BufReader};
    let folder = folder("meshes-elsewhere");
    std::fs::create_dir_all(folder.join("scenes")).expect("a folder");
    std::fs::write(folder.join("x.obj"), TETRAHEDRON).expect("written");
    for (scene, mesh) in [("scenes/s.lw", "../x.obj"), ("t.lw", "./x.obj")] {
        let path = folder.join(scene);
        std::fs::write(&path, format!("solid a: kernel fixed; shape mesh \"{mesh}\"; end")).expect("written");
        let mut child = command(&["view", &path.display().to_string(), "--no-open"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let words = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let said: Vec<String> = words.take_while(|l| !l.contains("Ctrl+C")).collect();
        let _ = child.kill();
        let _ = child.wait();
        assert!(said.iter().any(|l| l.contains("Linkwork is at")), "{mesh}: {said:?}");
    }
}

/// F28: what begins and ends between two steps was never seen, and nobody was told.
#[test]
fn a_run_tells_what_no_step_sees() {
    let scene =
        format!("{PENDULUM} spring push: object2 arm; hinge 0 0 0 0 0 0; stiffness 9; during 0.51 0.53; end");
    let run = |step: &str| linkwork_with(&["run", "-", "--seconds", "1", "--step", step], scene.as_bytes());
    assert!(!run("1/60").stderr.contains("never acts"));
    let coarse = run("0.1").stderr;
    assert!(coarse.contains("`push` acts from 0.51 to 0.53 s, between two steps of 100 ms"), "{coarse}");
    let short = scene.replace("0.51 0.53", "0.51 0.511");
    let lint = linkwork_with(&["check", "-"], short.as_bytes()).stderr;
    assert!(lint.contains("L017") && lint.contains("it never acts"), "{lint}");
}

/// F28: a long assembly printed nothing where nobody sees a bar, and the budget of a run did not bound the one at its start.
#[test]
fn long_assemblies_say_so_and_can_be_bounded() {
    let net = linkwork(&["generate", "net", "30", "30"]).stdout;
    let corner = "joint far: ball; object1 h0-0; object2 h28-29; frame1 0 90 0; frame2 0 0 0; end";
    let scene = format!("{net}\n{corner}\n");
    let begin = Instant::now();
    let long = linkwork_with(&["assemble", "-", "--budget-ms", "5000", "--json"], scene.as_bytes());
    assert_eq!(long.json()["outcome"], "budget", "{}", long.stderr);
    assert!(long.stderr.contains("still assembling: iteration"), "{}", long.stderr);
    let run =
        linkwork_with(&["run", "-", "--seconds", "1/60", "--budget-ms", "2", "--json"], scene.as_bytes());
    assert_eq!(run.json()["assembled"]["outcome"], "budget", "{}", run.stderr);
    assert!(begin.elapsed() < Duration::from_secs(300), "{:?}", begin.elapsed());
}

const BAUMGARTE: &str = "\
settings method baumgarte; integrator rk4; alpha 5; beta 5; squared-distances; step 0.02; end
particle bob: mass 1; at 1 0 0; end
joint string: distance 1; object2 bob; frame1 0 0 0; frame2 0 0 0; end
";

/// What a method leaves open can be said in the scene; the command line wins over it.
#[test]
fn parameters_of_methods_come_from_the_scene_or_from_options() {
    let end = |scene: &str, more: &[&str]| {
        let args = [&["run", "-", "--seconds", "1", "--json"], more].concat();
        let run = linkwork_with(&args, scene.as_bytes());
        run.json()["state_hash"].as_str().map(str::to_owned).expect("a hash")
    };
    let plain = BAUMGARTE.replace("integrator rk4; alpha 5; beta 5; squared-distances;", "");
    let options = ["--integrator", "rk4", "--alpha", "5", "--beta", "5", "--squared-distances"];
    assert_eq!(end(BAUMGARTE, &[]), end(&plain, &options));
    assert_ne!(end(BAUMGARTE, &[]), end(&plain, &[]));
    let euler = BAUMGARTE.replace("rk4", "euler");
    assert_eq!(end(BAUMGARTE, &["--integrator", "euler"]), end(&euler, &[]));
}

#[test]
fn reach_tells_lines_areas_and_ends_and_writes_the_places() {
    let folder = folder("reach");
    let arm = "\
solid upper: shape capsule 0.02 from 0 0 0 to 0.7 0 0; mass 1; end
solid lower: shape capsule 0.02 from 0 0 0 to 0.4 0 0; mass 1; at 0.7 0 0; turn 0 0 1 70 deg; end
joint shoulder: pin; object2 upper; frame1 0 0 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; end
joint elbow: pin; object1 upper; object2 lower; frame1 0.7 0 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; end
";
    let file = folder.join("reach.csv");
    let path = file.to_str().expect("text");
    let args = ["reach", "-", "lower", "--point", "0.4", "0", "0", "--across", "20", "-o", path, "--json"];
    let run = linkwork_with(&args, arm.as_bytes());
    let r = run.json();
    assert_eq!((run.code, r["dimensions"].as_u64()), (0, Some(2)), "{}", run.stderr);
    let area = r["measure"].as_f64().expect("an area");
    assert!((area / (std::f64::consts::PI * 1.12) - 1.0).abs() < 0.06, "{area}");
    let table = read(&file);
    let far = numbers(&table, "x_m").into_iter().zip(numbers(&table, "y_m")).map(|(x, y)| x.hypot(y));
    assert!(far.clone().all(|r| (0.299..1.101).contains(&r)), "{:?}", far.collect::<Vec<_>>());
    assert_eq!(r["places"].as_u64(), Some(table.lines().count() as u64 - 1));
    let words = linkwork_with(&["reach", "-", "upper", "--point", "0.7", "0", "0"], arm.as_bytes());
    assert!(words.stdout.contains("this point of `upper` reaches a line"), "{}", words.stdout);
    let hasty = linkwork_with(&["reach", "-", "lower", "--budget-ms", "1", "--json"], arm.as_bytes()).json();
    assert_eq!(hasty["complete"], false, "{hasty}");
    let nobody = linkwork_with(&["reach", "-", "nobody"], arm.as_bytes());
    assert_eq!(nobody.code, 2);
    assert!(nobody.stderr.contains("there is no solid `nobody`"), "{}", nobody.stderr);
}

/// F12: `run` and `assemble` told 0 freedoms of large islands, which they do not examine.
#[test]
fn freedoms_that_were_not_counted_are_not_told() {
    let large = linkwork(&["generate", "net", "12", "12"]).stdout;
    for command in [&["assemble", "-"][..], &["run", "-", "--seconds", "0.02"]] {
        let said = linkwork_with(command, large.as_bytes()).stdout;
        assert!(said.contains("freedoms not counted (`check` does)"), "{said}");
        let json = linkwork_with(&[command, &["--json"]].concat(), large.as_bytes()).stdout;
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert!(json["freedoms"].is_null(), "{}", json["freedoms"]);
    }
    let small = linkwork(&["assemble", "scenes/fourbar.lw"]).stdout;
    assert!(small.contains(", 1 freedom\n"), "{small}");
    // By reading: particles were turned to find the freedoms nearby.
    let three = "particle a b c: mass 1; end joint lock t1; object1 a; object2 b; end\n\
                 joint lock t1; object1 b; object2 c; end joint lock t1; object1 a; object2 c; end";
    let check = linkwork_with(&["check", "-"], three.as_bytes()).stdout;
    assert!(check.contains("freedoms      7") && !check.contains("singular"), "{check}");
}

/// Sentences that readers stumbled over; figures that mean nothing are left out.
#[test]
fn reports_speak_plainly() {
    let run = linkwork_with(&["run", "-"], PENDULUM.as_bytes());
    assert_eq!(run.code, 0, "five seconds where nobody says how many: {}", run.stderr);
    let said = &run.stdout;
    for words in ["step time", "99th percentile", "drift ", "% of peak kinetic energy", "per step,"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("momentum"), "it hangs on the world: {said}");
    let driven = linkwork(&["run", "scenes/fourbar.lw", "--seconds", "0.5"]).stdout;
    assert!(driven.contains("J at the end\n"), "a motor does work: {driven}");
    let free = "scene gravity 0 0 0; end solid a: shape box 1 1 1; mass 1; velocity 1 0 0; end";
    let free = linkwork_with(&["run", "-", "--seconds", "0.5"], free.as_bytes()).stdout;
    assert!(free.contains("momentum") && free.contains("drift: linear"), "{free}");
    let check = linkwork(&["check", "scenes/fourbar.lw"]).stdout;
    assert!(check.contains("implied by the constraints listed after them"), "{check}");
    assert!(check.contains("multiplications per solve"), "{check}");
}

/// Joints without names were told as `world–p (constraint 2) against world–p`, sums of nothing as `-0`, and one plant as `plants`.
#[test]
fn nothing_is_minus_zero_and_joints_without_names_have_lines() {
    let two =
        "particle p: mass 1; end\njoint ball; object2 p; end\njoint ball; object2 p; frame1 0.5 0 0; end";
    let told = linkwork_with(&["check", "-"], two.as_bytes()).stdout;
    assert!(told.contains("against world–p (line 2)"), "{told}");
    let empty = linkwork_with(&["check", "-"], b"").stdout;
    assert!(empty.contains("0 kg of movable solids") && !empty.contains("-0"), "{empty}");
    for (n, words) in [("1", "Seaweed, 1 plant\n"), ("2", "Seaweed, 2 plants\n")] {
        assert!(linkwork(&["generate", "seaweed", n]).stdout.contains(words), "{n}");
    }
}

/// `reduced` said that it cannot treat the mechanism, and not what of it.
#[test]
fn what_a_method_cannot_follow_is_named() {
    let stiff = "solid a: mass 1; shape sphere 0.1; at 1 0 0; end spring object2 a; hinge 0 0 0  0 0 0; stiffness 1e14; end";
    let run = linkwork_with(&["run", "-", "--method", "reduced", "--seconds", "0.1"], stiff.as_bytes());
    let all = run.stdout + &run.stderr;
    assert!(run.code == 1 && all.contains("springs or dampers are too stiff for this method"), "{all}");
    assert!(all.contains("`variational`"), "with what helps: {all}");
}
