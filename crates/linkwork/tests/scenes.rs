//! Every scene in `scenes/`: loads cleanly, has the size it claims, closes from where its file puts the solids, keeps
//! the freedoms its comment promises, and can be drawn.

use linkwork::diagnose::diagnose;
use linkwork::formats::{SvgOptions, glb, open_gaps, svg};
use linkwork::graph::Graph;
use linkwork::scene::{Scene, load};
use linkwork::{AssembleConfig, JointId, Outcome, State, assemble, generate};
use std::path::PathBuf;

/// What a scene must be.
struct Expected {
    name: &'static str,
    solids: usize,
    joints: usize,
    constraints: usize,
    /// Motions left, redundant constraints not counted.
    freedoms: usize,
    /// Codes of the warnings that are meant.
    lints: &'static [&'static str],
    /// Most geometric iterations from the file pose.
    iterations: usize,
}

const fn scene(name: &'static str, sizes: [usize; 3], freedoms: usize, iterations: usize) -> Expected {
    let [solids, joints, constraints] = sizes;
    Expected { name, solids, joints, constraints, freedoms, lints: &[], iterations }
}

const SCENES: &[Expected] = &[
    scene("acrobats", [44, 40, 156], 102, 0),
    scene("arch", [12, 0, 0], 66, 0),
    scene("bead-on-curve", [3, 2, 5], 7, 0),
    scene("blanket", [100, 4, 20], 277, 0),
    scene("bricard", [6, 6, 30], 1, 0),
    scene("card-house", [16, 0, 0], 90, 0),
    scene("cardan-shaft", [3, 4, 17], 1, 0),
    scene("challenge-line", [6, 4, 20], 1, 0),
    scene("challenge-tray", [8, 7, 35], 7, 0),
    // Figure 3 of Faure 1998: 758 scalar constraints, six iterations.
    scene("characters", [190, 196, 758], 382, 6),
    scene("chebyshev", [5, 4, 20], 1, 0),
    // Figure 4 of Faure 1998.
    scene("circle", [2, 1, 2], 4, 0),
    scene("cradle", [6, 5, 25], 5, 0),
    scene("delta", [18, 24, 102], 3, 0),
    scene("differential", [11, 14, 64], 2, 0),
    scene("domino", [13, 0, 0], 72, 0),
    scene("drape", [103, 0, 0], 300, 0),
    scene("drum-chain", [15, 13, 65], 19, 0),
    scene("excavator", [13, 12, 60], 21, 0),
    scene("figure2", [3, 2, 6], 12, 10),
    scene("flag", [56, 3, 9], 153, 0),
    scene("fourbar", [3, 4, 20], 1, 0),
    scene("geneva", [4, 3, 16], 2, 0),
    scene("hammer", [5, 5, 25], 2, 0),
    scene("hoberman", [30, 45, 225], 1, 0),
    scene("hung-cloth", [83, 0, 0], 237, 0),
    scene("jansen", [8, 10, 50], 1, 6),
    scene("jelly", [66, 0, 0], 192, 0),
    scene("klann", [19, 25, 125], 1, 0),
    scene("marble-machine", [10, 4, 20], 31, 0),
    scene("marble-run", [5, 0, 0], 18, 0),
    // Figure 5 of Faure 1998: 56 solids, 261 scalar constraints.
    scene("mesh5", [56, 87, 261], 75, 0),
    Expected { lints: &["L001"], ..scene("monocycle", [9, 12, 37], 12, 0) },
    scene("otary", [6, 5, 10], 20, 0),
    scene("peaucellier", [11, 13, 65], 1, 0),
    // Figure 5 of Faure 1999: 269 scalar constraints, 18 of them in loops.
    scene("pendulum", [83, 89, 269], 229, 0),
    scene("press", [66, 0, 0], 192, 0),
    scene("ragdoll", [15, 12, 44], 34, 0),
    scene("reach", [7, 5, 23], 1, 10),
    scene("ribbon", [105, 0, 0], 312, 0),
    scene("rip", [125, 0, 0], 249, 0),
    scene("runner", [16, 18, 90], 6, 0),
    scene("sarrus", [6, 6, 30], 1, 0),
    scene("scissor-lift", [9, 13, 65], 1, 0),
    scene("screw-press", [3, 3, 11], 1, 0),
    // Figure 6 of Faure 1998: 28 solids, 108 scalar constraints.
    scene("shaken-plate", [28, 36, 108], 54, 0),
    scene("slider-crank", [4, 4, 20], 1, 0),
    scene("snake", [7, 6, 17], 19, 0),
    scene("squeeze", [31, 4, 20], 82, 0),
    scene("stack", [11, 0, 0], 60, 0),
    scene("stewart", [14, 18, 72], 6, 0),
    scene("strandbeest", [75, 109, 545], 7, 6),
    scene("tensegrity", [13, 18, 45], 27, 0),
    scene("thrown", [76, 0, 0], 204, 0),
    scene("trampoline", [125, 0, 0], 315, 0),
    scene("walker", [39, 56, 278], 4, 6),
    scene("watt", [9, 10, 50], 1, 0),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(format!("{name}.lw"))).unwrap()
}

fn read(name: &str) -> Scene {
    load(&text(name), &mut |_| Err("no files".into())).0.unwrap_or_else(|| panic!("{name} has errors"))
}

#[test]
fn every_file_is_in_the_table() {
    let mut files: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .filter_map(|f| f.strip_suffix(".lw").map(str::to_owned))
        .collect();
    files.sort();
    assert_eq!(files, SCENES.iter().map(|e| e.name).collect::<Vec<_>>());
}

#[test]
fn scenes_load_with_the_sizes_and_the_lints_they_should_have() {
    for e in SCENES {
        let text = text(e.name);
        assert!(text.starts_with("/*") && text.contains("Try: "), "{} does not say what to try", e.name);
        let (scene, report) = load(&text, &mut |_| Err("no files".into()));
        let codes: Vec<&str> = report.diagnostics.iter().map(|d| d.code).collect();
        assert_eq!(codes, e.lints, "{}: {:?}", e.name, report.diagnostics);
        let m = scene.unwrap().mechanism;
        let sizes = [m.solid_count(), m.joints().len(), m.scalar_constraints()];
        assert_eq!(sizes, [e.solids, e.joints, e.constraints], "{}", e.name);
    }
}

#[test]
fn scenes_close_from_their_file_pose() {
    for e in SCENES {
        let m = read(e.name).mechanism;
        let mut s = State::new(&m);
        let report = assemble(&m, &mut s, &AssembleConfig { tolerance: 1e-6, ..Default::default() });
        assert_eq!(report.outcome, Outcome::Ok, "{}: {report:?}", e.name);
        assert!(report.iterations <= e.iterations, "{}: {} iterations", e.name, report.iterations);
        assert!(open_gaps(&m, &s, 1e-6).is_empty(), "{}", e.name);
    }
}

#[test]
fn scenes_keep_the_freedoms_they_promise() {
    for e in SCENES {
        let m = read(e.name).mechanism;
        let mut s = State::new(&m);
        assemble(&m, &mut s, &AssembleConfig { tolerance: 1e-9, ..Default::default() });
        let found = diagnose(&m, &s, 1000, 1e-6);
        assert_eq!(found.freedoms, e.freedoms, "{}", e.name);
        assert_eq!(found.dependencies(true).count(), 0, "{}", e.name);
    }
}

/// The pyramid's acrobats are whole in the file: only what binds them stands open, by less than a forearm.
#[test]
fn only_the_bindings_of_the_characters_are_open() {
    let m = read("characters").mechanism;
    for gap in open_gaps(&m, &State::new(&m), 1e-9) {
        let name = m.joint_name(gap.joint);
        assert!(name.starts_with("hold-") || name == "ground", "{name}");
        assert!(gap.length() < 0.3, "{name}: {}", gap.length());
    }
}

#[test]
fn generated_files_are_what_the_generator_makes() {
    for (name, made) in [
        ("mesh5", generate::net(5, 5)),
        ("characters", generate::characters(10)),
        ("scissor-lift", generate::scissor(3)),
    ] {
        assert!(text(name) == made.unwrap(), "scenes/{name}.lw differs from its generator");
    }
}

/// Counts of Faure 1999: the ladders of section 4 and the mesh of Figure 6.
#[test]
fn generated_scenes_load_and_count_as_in_the_papers() {
    for (kind, sizes, acyclic, loops) in [
        ("ladder", vec![6, 96], 3744, 288),
        ("ladder", vec![12, 1], 75, 3),
        ("net", vec![11, 11], 957, 600),
        ("seaweed", vec![2], 216, 0),
        ("chain", vec![10], 30, 0),
        ("ring", vec![6], 15, 3),
    ] {
        let text = generate::generate(kind, &sizes, 1.0).unwrap();
        let (scene, report) = load(&text, &mut |_| Err("no files".into()));
        assert!(report.diagnostics.is_empty(), "{kind} {sizes:?}: {:?}", report.diagnostics);
        let m = scene.unwrap().mechanism;
        let graph = Graph::new(&m);
        assert_eq!((graph.acyclic, graph.loops), (acyclic, loops), "{kind} {sizes:?}");
        let worst = open_gaps(&m, &State::new(&m), 1e-9);
        assert!(worst.is_empty(), "{kind} {sizes:?} is open: {worst:?}");
    }
    for kind in generate::KINDS {
        let text = generate::generate(kind.name, &vec![5; kind.sizes.len()], 2.0).unwrap();
        let (_, report) = load(&text, &mut |_| Err("no files".into()));
        assert!(report.diagnostics.is_empty(), "{}: {:?}", kind.name, report.diagnostics);
    }
}

#[test]
fn every_scene_can_be_drawn() {
    for e in SCENES {
        let scene = read(e.name);
        let (m, s) = (&scene.mechanism, State::new(&scene.mechanism));
        let graph = Graph::new(m);
        let closures: Vec<JointId> =
            (0..m.joints().len() as u32).map(JointId).filter(|j| graph.closes_loop(*j)).collect();
        let gaps = open_gaps(m, &s, 1e-6);
        let title = scene.title.as_deref().unwrap_or_default();
        let o = SvgOptions { title, closures: &closures, gaps: &gaps, ..Default::default() };
        let drawing = svg(m, &s, &o);
        assert!(!drawing.contains("NaN") && !title.is_empty() && drawing.contains("class=\"solids\""));
        let bytes = glb(m, &s);
        assert_eq!(bytes[8..12], (bytes.len() as u32).to_le_bytes(), "{}", e.name);
    }
}
