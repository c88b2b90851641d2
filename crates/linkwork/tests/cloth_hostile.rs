//! Hostile soft bodies: meshes that are none are refused by name, odd ones and odd sizes are handled, and what starts tangled is named.

use linkwork::measure::momentum;
use linkwork::soft::{TangledWith, tangles};
use linkwork::{Mechanism, State, StepConfig, Vector, Workspace, step};
use std::fmt::Write;
use std::time::Instant;

/// A body of these bytes, as a mesh file.
fn load(kind: &str, clauses: &str, bytes: &[u8]) -> Result<Mechanism, String> {
    let text =
        format!("scene gravity 0 0 0; end {kind} s: mesh \"m.bin\"; mass 1; stretch 100 0.1; {clauses} end");
    let (scene, report) = linkwork::scene::load(&text, &mut |_| Ok(bytes.to_vec()));
    match scene {
        Some(scene) => Ok(scene.mechanism),
        None => Err(report.render("s.lw", &text, false)),
    }
}

fn mechanism(text: &str) -> Mechanism {
    let (scene, report) = linkwork::scene::load(text, &mut |_| Err("no files".into()));
    scene.unwrap_or_else(|| panic!("{report:?}")).mechanism
}

fn awake() -> StepConfig<'static> {
    StepConfig { sleep: false, ..StepConfig::default() }
}

fn msh(vertices: &[[f64; 3]], tetrahedra: &[[usize; 4]]) -> String {
    let mut out = format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{}\n", vertices.len());
    for (k, v) in vertices.iter().enumerate() {
        let _ = writeln!(out, "{} {} {} {}", k + 1, v[0], v[1], v[2]);
    }
    let _ = writeln!(out, "$EndNodes\n$Elements\n{}", tetrahedra.len());
    for (k, t) in tetrahedra.iter().enumerate() {
        let _ = writeln!(out, "{} 4 2 0 1 {} {} {} {}", k + 1, t[0] + 1, t[1] + 1, t[2] + 1, t[3] + 1);
    }
    out + "$EndElements\n"
}

/// What cannot be a sheet or a soft solid is refused, and the message names what is wrong and which part it is.
#[test]
fn what_is_no_mesh_is_refused_by_name() {
    let square = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";
    let sheets: &[(&str, String, &[&str])] = &[
        (
            "three triangles in an edge",
            format!("{square}v 0 0 1\nf 1 2 3\nf 1 3 4\nf 1 3 5\n"),
            &["3 triangles", "0 and 2"],
        ),
        (
            "the same triangle three times",
            format!("{square}f 1 2 3\nf 1 2 3\nf 1 2 3\nf 1 3 4\n"),
            &["triangles meet"],
        ),
        ("no area", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n".into(), &["triangle 1 has no area"]),
        (
            "two corners in one place",
            format!("{square}v 1 0 0\nf 1 2 3\nf 1 3 4\nf 2 5 3\n"),
            &["triangle 3 has no area"],
        ),
        ("a corner twice", format!("{square}f 1 2 2\nf 1 2 3\nf 1 3 4\n"), &["twice"]),
        (
            "a vertex of nothing",
            format!("{square}v 5 5 5\nf 1 2 3\nf 1 3 4\n"),
            &["vertex 4 belongs to no triangle"],
        ),
        ("no such vertex", format!("{square}f 1 2 9\n"), &["broken"]),
        ("not a number", "v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".into(), &["finite"]),
        ("without end", "v 0 0 inf\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".into(), &["finite"]),
        ("beyond all numbers", "v 0 0 1e999\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".into(), &["finite"]),
        ("squares overflow", "v 0 0 0\nv 1e200 0 0\nv 0 1e200 0\nf 1 2 3\n".into(), &["no area"]),
        ("nothing at all", String::new(), &["mesh"]),
        ("points alone", square.into(), &["mesh"]),
        ("not text", "\u{0}\u{1}\u{2}".into(), &["mesh"]),
    ];
    for (what, obj, words) in sheets {
        let why = load("cloth", "", obj.as_bytes()).err().unwrap_or_else(|| panic!("{what} was taken"));
        for word in *words {
            assert!(why.contains(word), "{what}: {why}");
        }
    }
    let corner = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, -1.0],
        [1.0, 1.0, 1.0],
    ];
    let solids: &[(&str, String, &[&str])] = &[
        (
            "no volume",
            msh(&[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]], &[[0, 1, 2, 3]]),
            &["tetrahedron 1 has no volume"],
        ),
        (
            "three in one face",
            msh(&corner, &[[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]]),
            &["3 tetrahedra meet"],
        ),
        ("a vertex of nothing", msh(&corner[..5], &[[0, 1, 2, 3]]), &["vertex 4 belongs to no tetrahedron"]),
        ("a corner twice", msh(&corner[..4], &[[0, 1, 2, 2]]), &["twice"]),
        ("no such vertex", msh(&corner[..4], &[[0, 1, 2, 7]]), &[""]),
        ("not a number", msh(&corner[..4], &[[0, 1, 2, 3]]).replace("1 0 0 0\n", "1 nan 0 0\n"), &[""]),
        ("cut off", msh(&corner[..4], &[[0, 1, 2, 3]])[..90].into(), &["broken"]),
    ];
    for (what, text, words) in solids {
        let why = load("tetra", "", text.as_bytes()).err().unwrap_or_else(|| panic!("{what} was taken"));
        for word in *words {
            assert!(why.contains(word), "{what}: {why}");
        }
    }
}

/// A million vertices are refused before anything is made of them.
#[test]
fn a_million_vertices_are_refused_soon() {
    let mut obj = String::with_capacity(50_000_000);
    for j in 0..1000 {
        for i in 0..1000 {
            let _ = writeln!(obj, "v {i} {j} 0");
        }
    }
    for j in 0..999 {
        for i in 0..999 {
            let a = 1 + i + 1000 * j;
            let _ = writeln!(obj, "f {a} {} {}", a + 1, a + 1001);
        }
    }
    let begin = Instant::now();
    let why = load("cloth", "", obj.as_bytes()).unwrap_err();
    assert!(why.contains("1000000 vertices") && why.contains("250000"), "{why}");
    // Reading the text is most of it; a machine may be busy.
    assert!(begin.elapsed().as_secs() < 30, "{:?}", begin.elapsed());
}

/// As many vertices as there may be make a rope, too, and one more is one too many.
#[test]
fn ropes_may_have_as_many_vertices_as_sheets() {
    let reads = |n: usize| {
        let text = format!("cloth c: grid {n} 1 spacing 0.1; mass 1; stretch 10; end");
        linkwork::scene::load(&text, &mut |_| Err("no files".into())).0.is_some()
    };
    assert!(reads(250_000));
    assert!(!reads(250_001));
}

/// Runs for a while: nothing is rejected, nothing is not finite, and no momentum comes of nothing.
fn runs(what: &str, m: &Mechanism, steps: usize) {
    // Two vertices in one place are pushed apart by their thickness, which takes energy from nowhere.
    let drift = if what == "a seam" { 0.3 } else { 0.1 };
    let (mut s, mut w) = (State::new(m), Workspace::default());
    let first = momentum(m, &s);
    for k in 0..steps {
        let r = step(m, &mut s, &mut w, &awake());
        assert!(r.rejected.is_none() && s.is_finite(), "{what}, step {k}: {r:?}");
        assert!(r.energy.drift < drift * r.energy.kinetic.max(1.0), "{what}, step {k}: {:?}", r.energy);
    }
    let now = momentum(m, &s);
    assert!(
        (now.linear - first.linear).length() <= 1e-9 * (first.linear_size + 1e-12),
        "{what}: {now:?} {first:?}"
    );
}

/// Odd, and yet bodies: one triangle, seams of vertices in one place, a Moebius strip, triangles that hang together by a corner, all turned
/// the other way, tetrahedra inside out.
#[test]
fn odd_meshes_move() {
    let flying = "velocity 0.1 0.2 0; spin 1 0.5 2; thickness 0.01;";
    let mut strip = String::new();
    let n = 24;
    for k in 0..n {
        let turn = std::f64::consts::TAU * f64::from(k) / f64::from(n);
        for side in [-0.1, 0.1] {
            let r = 0.5 + side * (0.5 * turn).cos();
            let _ = writeln!(strip, "v {} {} {}", r * turn.cos(), r * turn.sin(), side * (0.5 * turn).sin());
        }
    }
    for k in 0..n {
        let (a, b) = (2 * k + 1, 2 * k + 2);
        // The last cell joins the first turned over.
        let (c, d) = if k + 1 < n { (a + 2, b + 2) } else { (2, 1) };
        let _ = writeln!(strip, "f {a} {b} {d}\nf {a} {d} {c}");
    }
    let square = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";
    let sheets: &[(&str, String)] = &[
        ("one triangle", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".into()),
        ("a seam", format!("{square}v 1 0 0\nv 1 1 0\nv 2 0 0\nf 1 2 3\nf 1 3 4\nf 5 7 6\n")),
        ("a strip with one side", strip),
        ("by a corner", format!("{square}v 2 1 0\nv 2 2 0\nf 1 2 3\nf 3 5 6\nf 1 3 4\n")),
        ("turned against each other", format!("{square}f 1 2 3\nf 1 4 3\n")),
        ("a sliver", "v 0 0 0\nv 1 0 0\nv 0.5 1e-4 0\nv 0.5 1 0\nf 1 2 3\nf 1 3 4\nf 2 4 3\n".into()),
    ];
    for (what, obj) in sheets {
        let m = load("cloth", &format!("bend 1 0.01; {flying}"), obj.as_bytes())
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        runs(what, &m, 60);
    }
    let corner = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]];
    for (what, list) in
        [("inside out", [[0, 2, 1, 3], [0, 1, 2, 4]]), ("one of two", [[0, 1, 2, 3], [0, 1, 2, 4]])]
    {
        let m =
            load("tetra", flying, msh(&corner, &list).as_bytes()).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(m.softs()[0].mesh.triangles.len(), 6, "{what}");
        runs(what, &m, 60);
    }
}

/// From a millimetre to a kilometre, from a milligram to a kiloton: the same motion in its own units, with contact.
#[test]
fn sizes_do_not_matter() {
    let mut heights = Vec::new();
    for size in [1e-3, 1.0, 1e3] {
        // Lengths by `size`, masses by its cube: speeds by its root, stiffnesses by its square.
        let text = format!(
            "solid ball: kernel fixed; shape sphere {r}; end settings step {h}; end
             cloth s: grid 7 7 spacing {d}; mass {m}; stretch {k}; shear {k}; bend {b}; thickness {t}; at {x} {y} {z}; turn 1 0 0 -90 deg; end",
            r = 0.3 * size, h = 1.0 / 60.0 * f64::sqrt(size), d = 0.1 * size, m = 0.3 * size.powi(3), k = 200.0 * size.powi(2),
            b = 2.0 * size.powi(2), t = 0.02 * size, x = -0.3 * size, y = 0.4 * size, z = 0.3 * size
        );
        let m = mechanism(&text);
        let c = StepConfig { dt: f64::sqrt(size) / 60.0, tolerance: 1e-6 * size, ..awake() };
        let (mut s, mut w) = (State::new(&m), Workspace::default());
        for k in 0..40 {
            let r = step(&m, &mut s, &mut w, &c);
            assert!(r.rejected.is_none() && s.is_finite(), "{size} m, step {k}: {r:?}");
            assert_eq!(r.energy.unexplained, 0, "{size} m, step {k}: {:?}", r.energy);
            assert!(r.soft.penetration < 0.3 * 0.01 * size, "{size} m, step {k}: {:?}", r.soft);
        }
        heights.push(m.softs()[0].range().map(|i| s.centers[i].y).fold(f64::INFINITY, f64::min) / size);
    }
    eprintln!("{heights:?}");
    assert!(heights.iter().all(|h| (h - heights[1]).abs() < 0.05), "{heights:?}");
}

/// What starts tangled is named: with another, with itself, in a solid; what only lies near is not.
#[test]
fn tangled_starts_are_named() {
    let sheet = "mass 0.1; stretch 60 0.1; shear 30 0.05; thickness 0.01;";
    let found = |text: &str| {
        let m = mechanism(text);
        tangles(&m, &State::new(&m))
    };
    let through = found(&format!(
        "cloth a: grid 5 5 spacing 0.05; turn 1 0 0 90 deg; {sheet} end
         cloth b: grid 5 5 spacing 0.05; at 0.013 -0.1 0.11; {sheet} end"
    ));
    assert_eq!(through.len(), 1, "{through:?}");
    assert_eq!((through[0].body, through[0].with), (1, TangledWith::Soft(0)));
    assert!(through[0].count >= 4 && through[0].at.y.abs() < 1e-9, "{through:?}");
    let apart = found(&format!(
        "cloth a: grid 5 5 spacing 0.05; turn 1 0 0 90 deg; {sheet} end
         cloth b: grid 5 5 spacing 0.05; at 0.013 0.01 0.11; {sheet} end
         solid floor: kernel fixed; shape plane 0 1 0; at 0 -0.005 0; end"
    ));
    assert!(apart.is_empty(), "{apart:?}");
    // A rope through a sheet, and a sheet through a soft solid.
    let rope = found(&format!(
        "cloth a: grid 5 5 spacing 0.05; turn 1 0 0 90 deg; {sheet} end
         cloth r: grid 6 1 spacing 0.05; at 0.11 -0.12 0.08; turn 0 0 1 90 deg; mass 0.1; stretch 50; thickness 0.01; end
         tetra t: grid 3 3 3 spacing 0.04; at 0.02 -0.03 0.13; mass 0.1; stretch 50; thickness 0.004; end"
    ));
    assert_eq!(
        rope.iter().map(|t| (t.body, t.with)).collect::<Vec<_>>(),
        [(1, TangledWith::Soft(0)), (2, TangledWith::Soft(0))]
    );
    assert_eq!(rope[0].count, 1);
    // With itself: folded so that one half lies across the other.
    let mut m = mechanism(&format!("cloth a: grid 7 5 spacing 0.05; {sheet} end"));
    assert!(tangles(&m, &State::new(&m)).is_empty());
    for j in 0..5_u32 {
        for i in 4..7_u32 {
            let id = m.find(&format!("a.{i}.{j}")).unwrap();
            let back = f64::from(6 - i) - 1.6;
            m.edit_solid(id, |v| {
                v.pose.translation = Vector::new(0.05 * back + 0.02, 0.05 * f64::from(j) + 0.011, 0.03 * back)
            })
            .unwrap();
        }
    }
    let own = tangles(&m, &State::new(&m));
    assert_eq!(own.len(), 1, "{own:?}");
    assert_eq!((own[0].body, own[0].with), (0, TangledWith::Soft(0)));
    // In a solid, from which it comes out at a bounded speed.
    let text = format!(
        "scene gravity 0 0 0; end solid ball: kernel fixed; shape sphere 0.1; end
         cloth a: grid 9 9 spacing 0.05; at -0.2 0.07 0.2; turn 1 0 0 -90 deg; {sheet} end"
    );
    let m = mechanism(&text);
    let (mut s, mut w) = (State::new(&m), Workspace::default());
    let inside = tangles(&m, &s);
    assert_eq!(inside.len(), 1, "{inside:?}");
    assert_eq!(inside[0].with, TangledWith::Solid(m.find("ball").unwrap()));
    for k in 0..60 {
        let r = step(&m, &mut s, &mut w, &awake());
        assert!(r.rejected.is_none(), "{r:?}");
        let fastest = s.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
        assert!(fastest < 1.0, "step {k}: {fastest} m/s");
    }
    assert!(tangles(&m, &s).is_empty(), "{:?}", tangles(&m, &s));
    assert!(
        found(&text.replace("collide", "").replace("thickness 0.01;", "thickness 0.01; collide none;"))
            .is_empty()
    );
}
