//! What scenes mean: fixtures, lints, and text written back.

use linkwork::scene::{Body, LineIndex, OnMiss, Report, Scene, TetraBody, Up, fmt, load, write_poses};
use linkwork::session::{Command, Session};
use linkwork::{
    Collide, Direction, DriveAim, JointId, Kernel, Mask, PlacedShape, Pose, Rank, Region, Rotation, SolidId,
    State, Vector,
};
use proptest::prelude::*;
use std::f64::consts::PI;

const APPENDIX_A: &str = include_str!("fixtures/appendix-a.lw");
const EVERYTHING: &str = include_str!("fixtures/everything.lw");

const CUBE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nv 0 0 1\nv 1 0 1\nv 0 1 1\nv 1 1 1\n\
                    f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n";
const ONE: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n\
                   $Elements\n1\n2 4 2 0 1 1 2 3 4\n$EndElements\n";

fn files(name: &str) -> Result<Vec<u8>, String> {
    match name {
        "cube.obj" => Ok(CUBE.into()),
        "one.msh" => Ok(ONE.into()),
        _ => Err("no such file".into()),
    }
}

fn read(text: &str) -> (Scene, Report) {
    let (scene, report) = load(text, &mut files);
    (scene.unwrap_or_else(|| panic!("{}", report.render("t.lw", text, false))), report)
}

fn lints(text: &str) -> Vec<&'static str> {
    read(text).1.diagnostics.iter().map(|d| d.code).collect()
}

/// A plate is solid: mass, centre and inertia are those of a slab, and what falls on it stays on it.
#[test]
fn plates_are_solid() {
    let text = "solid slab: shape plate 0.1 0 0  1 0  1 1  0 1; density 1000; end\n\
         solid table: kernel fixed; shape plate 0.1 -2 0  2 0  2 2  0 1  -2 2 at 0 -1 1 turn 1 0 0 -90 deg; end\n\
         solid stone: shape sphere 0.1; mass 1; at 1 -0.8 0.4; end\n\
         joint weld; object2 slab; frame1 0 5 0; end\n";
    let (scene, _) = read(text);
    let of = &scene.mechanism.solids()[1].mass;
    assert!((of.mass - 100.0).abs() < 1e-9, "{of:?}");
    assert!((of.center - Vector::new(0.5, 0.5, 0.0)).length() < 1e-12, "{of:?}");
    assert!((of.inertia.z_axis.z - 100.0 * 2.0 / 12.0).abs() < 1e-9, "{of:?}");
    let mut session = Session::open(text, &mut files).expect("a session");
    session.apply(Command::Step { count: 120 }).expect("steps");
    let at = session.state().pose(session.mechanism(), SolidId(3)).translation;
    assert!((at.y + 0.85).abs() < 1e-3, "{at:?}");
}

/// Who comes from another program is told what their words are called here.
#[test]
fn words_of_other_programs_are_answered() {
    for (text, words) in [
        ("solid a: mass 1; end joint x: revolute; object2 a; end", "it is called `pin` here"),
        ("solid a: mass 1; end joint x: hinge; object2 a; end", "is called `pin` here"),
        ("solid a: mass 1; end joint x: Spherical; object2 a; end", "it is called `ball` here"),
        ("solid a: mass 1; end joint x: fixed; object2 a; end", "it is called `weld` here"),
        ("solid a: mass 1; end joint x: pin; parent world; object2 a; end", "it is called `object1` here"),
        ("body a: mass 1; end", "it is called `solid` here"),
        ("gravity 0 0 0; end", "a clause of `scene`"),
        ("solid a: mass 1; position 0 0 1; end", "it is called `at` here"),
        ("solid a: mass 1; shape cuboid 1 1 1; end", "it is called `box` here"),
        ("solid a: mass 1; shape box 500 mm 1 1; end", "lengths are in metres: write 0.5, without a unit"),
        ("solid a: mass 1; at 0 0 3 cm; end", "lengths are in metres: write 0.03, without a unit"),
        ("solid a: mass 250 g; end", "masses are in kilograms: write 0.25, without a unit"),
        ("solid a: mass 1; turn 0 0 1 30 degrees; end", "angles are in radians, or in `deg`"),
    ] {
        let (scene, report) = load(text, &mut files);
        let said = report.render("t.lw", text, false);
        assert!(scene.is_none() && said.contains(words), "{text}: {said}");
    }
    assert_eq!(lints("solid a: mass 1; shape sphere 1; end joint universal; object2 a; end"), ["L019"]);
}

/// What is no plate is told with what to write.
#[test]
fn what_is_no_plate_is_told() {
    for (clause, words) in [
        ("plate 0.1 0 0  1 0", "3 to 256 corners, not 2"),
        ("plate 0.1 0 0  1 0  2 0", "lie on one line"),
        ("plate 0.1 0 0  2 2  2 0  0 1", "crosses itself"),
        ("plate 0 0 0  1 0  0 1", "greater than zero"),
    ] {
        let text = format!("solid a: mass 1; shape {clause}; end");
        let (_, report) = load(&text, &mut files);
        let said = report.render("t.lw", &text, false);
        assert!(said.contains(words), "{clause}: {said}");
    }
}

#[test]
fn appendix_a_is_a_scene() {
    let (scene, report) = read(APPENDIX_A);
    let codes: Vec<_> = report.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["L009", "L001"]);
    assert!(report.diagnostics[1].message.contains("max 9"));
    let m = &scene.mechanism;
    let names: Vec<_> = m.solids().iter().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "world",
            "body",
            "wheel",
            "left-thigh",
            "left-leg",
            "left-foot",
            "right-thigh",
            "right-leg",
            "right-foot"
        ]
    );
    let joints = m.joints();
    let both = joints.iter().filter(|j| j.lock == Mask::POINT && j.angle.is_some()).count();
    let hinge_only = joints.iter().filter(|j| j.lock == Mask::POINT && j.angle.is_none()).count();
    let angle_only = joints.iter().filter(|j| j.lock.is_empty() && j.angle.is_some()).count();
    assert_eq!((both, hinge_only, angle_only), (7, 2, 3));
    assert_eq!(joints[1].frames[0].solid, SolidId::WORLD);
    assert_eq!(joints[0].frames[0].pose.translation, Vector::new(0.0, -2.0, 0.0));
    let place = |id| LineIndex::new(APPENDIX_A).place(scene.sources.joint(JointId(id)).start as usize);
    assert_eq!((place(0), place(1)), ((3, 1), (9, 1)));
}

#[test]
fn everything_loads_but_for_a_word_with_two_meanings() {
    let (scene, report) = read(EVERYTHING);
    let codes: Vec<_> = report.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["L019"], "{}", report.render("everything.lw", EVERYTHING, false));
    assert_eq!((scene.title.as_deref(), scene.up), (Some("Monocycle"), Up::Y));
    let s = &scene.settings;
    assert_eq!((s.step, s.budget, s.on_miss), (Some(1.0 / 60.0), Some(0.004), Some(OnMiss::Warn)));
    assert_eq!((s.iterations, s.solver_iterations, s.max_rotation), (Some(10), Some(100), Some(0.8)));
    let m = &scene.mechanism;
    let solid = |name: &str| m.solid(m.find(name).unwrap());
    let wheel = solid("wheel");
    assert!((wheel.pose.rotation.w - (PI / 12.0).cos()).abs() < 1e-15);
    assert_eq!((wheel.mass.mass, wheel.mass.inertia.x_axis.x), (2.0, 1.0));
    assert_eq!(wheel.mobility.map(|m| (m.translate, m.rotate)), Some((0.5, 1.0)));
    let floor = m.find("floor").unwrap();
    assert_eq!(solid("body").collide, Collide::With(vec![floor, m.find("wheel").unwrap()]));
    assert_eq!(solid("body").shapes.len(), 4);
    assert_eq!(solid("left-leg").mass, solid("body").mass);
    assert_eq!(solid("upper").shapes[0], PlacedShape::cylinder(0.1, 1.0, Vector::Z));
    assert!(matches!(solid("pole").kernel, Kernel::Scripted(_)));
    assert_eq!(solid("pole").pose.translation, Vector::Y);
    assert!(solid("solid-1").kernel == Kernel::Fixed && solid("bob").particle && solid("nail").is_fixed());
    let joint = |name: &str| m.joint(m.find_joint(name).unwrap());
    let knee = joint("knee");
    assert!(knee.lock.is_empty() && knee.regions.len() == 5 && knee.during == Some((0.5, 2.5)));
    assert!(
        matches!(knee.regions[0], Region::Segment { range, .. } if range.min == -1.0 && range.max == 1.0)
    );
    assert_eq!((knee.rank, knee.weight, knee.compliance), (Some(Rank::Primary), 2.0, 1e-4));
    assert_eq!((knee.alpha, knee.mu), (Some(0.5), Some(0.3)));
    assert!(knee.twist.is_some_and(|t| t.a1 == Vector::X && t.b1 == Vector::Y && t.range.max == 0.2));
    let elbow = joint("elbow");
    assert_eq!((elbow.limits[0].direction, elbow.limits[0].range.min), (Direction::R1, -PI / 2.0));
    assert_eq!(elbow.drives[0].aim, DriveAim::Speed(2.0));
    assert_eq!(scene.mechanism.springs()[1].length, 1.0, "initial distance");
    assert_eq!(scene.mechanism.springs()[1].during.map(|d| d.to), Some(0.5));
    assert!(
        scene.mechanism.forces()[1].follows_solid && scene.mechanism.forces()[0].at == Some(Vector::ZERO)
    );
    assert_eq!(scene.cloths[0].soft.pins[1].vertex, 23);
    assert_eq!(scene.cloths[0].soft.limit_strain, Some(0.1));
    assert!(matches!(&scene.tetras[1].body, TetraBody::Mesh(mesh) if mesh.tetrahedra.len() == 1));
    assert_eq!(scene.watch[2], Body::Cloth(0));
    assert_eq!((scene.ignores.len(), scene.skins[0].over.len()), (1, 6));
    assert_eq!((m.trajectories()[0].keys.len(), m.trajectories()[0].looped), (3, true));
    State::new(m);
}

#[test]
fn joints_in_world_coordinates_hold_the_initial_pose() {
    let text = "solid a: mass 1; shape sphere 1; at 1 2 3; turn 0 0 1 90 deg; end joint pin; object2 a; at 1 3 3 axis 1 0 0; end";
    let (scene, _) = read(text);
    let joint = scene.mechanism.joint(JointId(0));
    let placed = |side: usize| scene.mechanism.solid(joint.frames[side].solid).pose * joint.frames[side].pose;
    assert!((placed(0).translation - placed(1).translation).length() < 1e-15);
    assert!((joint.frames[1].pose.translation - Vector::X).length() < 1e-15);
    assert!((placed(1).rotation * Vector::X - Vector::X).length() < 1e-15);
}

#[test]
fn up_z_turns_default_gravity() {
    let (scene, _) = read("scene up z; end solid a: kernel fixed; end");
    assert_eq!((scene.up, scene.mechanism.gravity), (Up::Z, Vector::new(0.0, 0.0, -9.81)));
}

#[test]
fn names_may_be_used_before_their_block_and_may_be_keywords() {
    let text = "joint ball; object1 solid; object2 b; end solid solid: kernel fixed; end\n\
                solid b: mass 1; shape sphere 1; end watch solid b; end";
    assert_eq!(lints(text), [""; 0]);
}

#[test]
fn every_lint() {
    let ball = "solid a: mass 1; shape sphere 1; end joint ball; object2 a; end ";
    let with = |text: &str| lints(&format!("{ball}{text}"));
    assert_eq!(with(""), [""; 0]);
    assert_eq!(with("constraint object2 a; angle 1 0 0 1 0 0 max 9; end"), ["L001"]);
    assert_eq!(with("constraint object2 a; angle 1 0 0 1 0 0 max 190 deg; end"), ["L001"]);
    assert_eq!(with("constraint object2 a; angle 1 0 0 1 0 0 min -1 max 1; end"), ["L001"]);
    assert_eq!(with("solid b: mass 1; shape sphere 1; end"), ["L002"]);
    assert_eq!(
        with("solid b: mass 1; shape sphere 1; end solid f: kernel fixed; shape plane 0 1 0; end"),
        [""; 0]
    );
    assert_eq!(with("scene gravity 0 0 0; end solid b: mass 1; shape sphere 1; end"), [""; 0]);
    assert_eq!(with("solid f: kernel fixed; end joint weld; object2 f; end"), ["L003"]);
    assert_eq!(with("joint lock; object2 a; end"), ["L004"]);
    assert_eq!(with("constraint object2 a; end"), ["L004"]);
    assert_eq!(with("constraint object2 a; angle 1 0 0 1 0 0; end"), ["L004"]);
    assert_eq!(with("solid b: mass 1; end joint ball; object2 b; end"), ["L005"]);
    assert_eq!(with("constraint object2 a; twist 1 0 0 1 0 0 max 1; end"), ["L006"]);
    assert_eq!(with("material m: friction 1; end"), ["L007"]);
    assert_eq!(with("material friction 1; end"), ["L007"]);
    assert_eq!(with("trajectory t: key 0 at 0 0 0; end"), ["L007"]);
    assert_eq!(with("solid f: kernel fixed; turn 0 1 0 90; end"), ["L008"]);
    assert_eq!(with("joint pin; object2 a; limit r1 -90 90 deg; end"), ["L008"]);
    assert_eq!(lints("joint ball; object2 a; end"), ["L009"]);
    assert_eq!(with("solid f: kernel fixed; velocity 1 0 0; end"), ["L010"]);
    assert_eq!(with("joint pin; object2 a; limit t1 0 1; end"), ["L010"]);
    assert_eq!(with("solid f: kernel fixed; orientation 2 0 0 0; end"), ["L011"]);
    assert_eq!(with("solid f: kernel fixed; mass 0; end"), ["L012"]);
    assert_eq!(lints("scene up y; end"), ["L013"]);
    assert_eq!(lints(""), ["L013"]);
    assert_eq!(with("particle p: mass 1; end joint weld; object2 p; end"), ["L014"]);
    let ball = |material: &str| {
        let floor = "solid f: kernel fixed; shape plane 0 1 0; end solid b: shape sphere 0.1; mass 1; material m; end";
        with(&format!("material m: {material}; end {floor}"))
    };
    assert_eq!(ball("stiffness 20; damping 1"), ["L015"]);
    assert_eq!(ball("rolling 0.2"), ["L016"]);
    assert_eq!(ball("spinning 0.2"), ["L016"]);
    assert_eq!(ball("stiffness 1e4; restitution 0.5"), ["L010"]);
    assert_eq!(ball("stiffness 1e4; damping 20; rolling 0.001; spinning 0.001"), [""; 0]);
}

fn scattered(id: SolidId) -> Pose {
    let k = f64::from(id.0);
    let rotation = Rotation::from_xyzw(0.1 * k, -0.3, 0.2, 0.9).normalize();
    Pose::from_parts(Vector::new(k / 3.0, 1.0 / (k + 7.0), -k), rotation)
}

/// Written text reads back to the poses exactly, and everything else stays.
fn check_written(text: &str) -> String {
    let (scene, _) = read(text);
    let written = write_poses(text, &scene, scattered);
    let (again, report) = read(&written);
    let (old, new) = (scene.mechanism.solids(), again.mechanism.solids());
    assert_eq!(old.len(), new.len());
    for before in old {
        let after = again.mechanism.solid(again.mechanism.find(&before.name).unwrap());
        // Vertices of soft bodies start where their block says, or where they are pinned.
        if scene.mechanism.find(&before.name).is_some_and(|id| scene.mechanism.soft_of(id).is_some()) {
            continue;
        }
        let expected = match before.kernel {
            Kernel::Dynamic => scattered(scene.mechanism.find(&before.name).unwrap()),
            _ => before.pose,
        };
        assert_eq!(after.pose.translation, expected.translation, "{}", before.name);
        if !before.particle {
            assert_eq!(after.pose.rotation, expected.rotation, "{}", before.name);
        }
        assert_eq!((&after.shapes, after.kernel, after.mass), (&before.shapes, before.kernel, before.mass));
    }
    for (before, after) in scene.mechanism.joints().iter().zip(again.mechanism.joints()) {
        for (one, two) in before.frames.iter().zip(&after.frames) {
            assert!((one.pose.translation - two.pose.translation).length() < 1e-14);
            // Not by the arc cosine, which has half of the digits.
            let turn = one.pose.rotation.inverse() * two.pose.rotation;
            assert!(turn.xyz().length() < 1e-14, "{}: {turn:?}", before.name);
        }
        assert_eq!((before.lock, &before.regions, before.angle), (after.lock, &after.regions, after.angle));
    }
    for (before, after) in scene.mechanism.springs().iter().zip(again.mechanism.springs()) {
        assert_eq!(before.length, after.length);
    }
    assert!(!report.has_errors());
    fmt(&written).unwrap();
    written
}

#[test]
fn poses_are_written_back() {
    check_written(EVERYTHING);
    check_written(APPENDIX_A);
    let written = check_written(
        "// first\nsolid a: mass 1; shape sphere 1; /* where */ at 0 /* x */ 1 0; turn 0 0 1 /* t */ 1 end // tail\n\
         solid b c: mass 1; shape sphere 1; end\nparticle p: mass 1 end\nsolid mass 1; shape sphere 1; end\n\
         joint ball; object1 a; object2 b; at 1 2 3 axis 0 1 0; end spring object1 a; object2 b; stiffness 1 end",
    );
    for comment in ["// first", "/* where */", "/* x */", "/* t */", "// tail"] {
        assert!(written.contains(comment), "{comment}:\n{written}");
    }
    assert!(written.contains("solid b: at") && written.contains("solid c: at"), "{written}");
    assert!(written.contains("frame1") && written.contains("length"), "{written}");
}

#[test]
fn unmoved_solids_keep_their_spelling() {
    let (scene, _) = read(EVERYTHING);
    let same = write_poses(EVERYTHING, &scene, |id| scene.mechanism.solid(id).pose);
    let keep =
        |text: &str| text.lines().filter(|l| !l.starts_with("joint") && !l.starts_with("spring")).count();
    assert_eq!(keep(EVERYTHING), keep(&same));
    assert!(same.contains("turn 0 0 1 30 deg"));
}

#[test]
fn a_big_scene_loads_in_linear_time() {
    let links = 100_000;
    let mut text = String::from("solid l0: kernel fixed; end\n");
    for i in 1..=links {
        text += &format!(
            "solid l{i}: mass 1; shape capsule .05 1; at {i} 0 0; end\n\
             joint ball; object1 l{}; object2 l{i}; frame1 .5 0 0; frame2 -.5 0 0; end\n",
            i - 1
        );
    }
    let start = std::time::Instant::now();
    let (scene, report) = read(&text);
    assert_eq!((scene.mechanism.joints().len(), report.diagnostics.len()), (links, 0));
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds < 10.0, "{seconds} s");
    eprintln!("{links} links in {seconds:.2} s");
}

#[test]
fn many_unknown_names_do_not_blow_up() {
    let mut text = String::new();
    for i in 0..20_000 {
        text += &format!("solid name-{i}: mass 1; shape sphere 1; end joint ball; object2 nome-{i}; end\n");
    }
    let start = std::time::Instant::now();
    let (scene, report) = load(&text, &mut files);
    assert!(scene.is_none() && report.omitted == 19_000);
    assert!(report.render("t.lw", &text, false).ends_with("and 19900 more\n"));
    assert!(start.elapsed().as_secs_f64() < 20.0);
}

#[test]
fn multiplied_blocks_are_refused() {
    let names: String = (0..20_000).map(|i| format!("n{i} ")).collect();
    let text = format!("solid {names}: mass 1; {} end", "shape sphere 1; ".repeat(20_000));
    let (_, report) = load(&text, &mut files);
    assert_eq!(report.diagnostics[0].code, "E010");
}

/// Loads, lays out and writes back; the lints that remain.
fn check_scene(name: &str, text: &str) -> Vec<&'static str> {
    let (scene, report) = load(text, &mut files);
    assert!(scene.is_some(), "{}", report.render(name, text, false));
    let laid_out = fmt(text).unwrap();
    assert_eq!(laid_out, fmt(&laid_out).unwrap(), "{name}");
    check_written(text);
    report.diagnostics.iter().map(|d| d.code).collect()
}

#[test]
fn every_scene_of_the_collection_loads() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "lw") {
            continue;
        }
        count += 1;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let lints = check_scene(&name, &std::fs::read_to_string(&path).unwrap());
        // Appendix A is kept as printed, and is linted for its `max 9`.
        assert_eq!(lints, if name == "monocycle.lw" { vec!["L001"] } else { vec![] }, "{name}");
    }
    assert!(count >= 10, "{count} scenes");
}

#[test]
fn every_generated_scene_loads() {
    for kind in linkwork::generate::KINDS {
        let text = linkwork::generate::generate(kind.name, &vec![5; kind.sizes.len()], 3.0).unwrap();
        assert_eq!(check_scene(kind.name, &text), [""; 0], "{}", kind.name);
    }
}

/// The full example with words and stretches of it replaced, repeated or lost.
fn damaged() -> impl Strategy<Value = String> {
    let words: Vec<&'static str> = EVERYTHING.split_inclusive([' ', '\n']).collect();
    let count = words.len();
    let change = (0..count, 0..count, 0usize..6, 0usize..4);
    prop::collection::vec(change, 1..8).prop_map(move |changes| {
        let mut words = words.clone();
        for (at, other, length, kind) in changes {
            let at = at % words.len();
            let end = (at + length).min(words.len());
            match kind {
                0 => drop(words.drain(at..end)),
                1 => words[at] = words[other % words.len()],
                2 => words.insert(at, ["; ", "end ", ": ", "-1 ", "0 ", "1e9 ", "\" ", "/* "][other % 8]),
                _ => drop(words.splice(at..at, words[at..end].to_vec())),
            }
            if words.is_empty() {
                words.push("end");
            }
        }
        words.concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_is_reported_or_harmless(text in damaged()) {
        let (scene, report) = load(&text, &mut files);
        prop_assert_eq!(scene.is_none(), report.has_errors());
        report.render("t.lw", &text, false);
        if let Ok(laid_out) = fmt(&text) {
            prop_assert_eq!(&fmt(&laid_out).unwrap(), &laid_out);
            let (again, _) = load(&laid_out, &mut files);
            prop_assert_eq!(again.is_some(), scene.is_some());
        }
        if scene.is_some() {
            check_written(&text);
        }
    }
}
