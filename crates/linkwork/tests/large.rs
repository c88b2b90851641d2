//! The scenes of `scenes/large`, which cost more than the tests that walk every scene could pay: they load, can be drawn, and what
//! each one promises happens. Soft scenes of the gallery that are small enough to be walked are here for what they promise alone.

use crate::common::{read, text};
use linkwork::formats::svg;
use linkwork::scene::{fmt, load};
use linkwork::soft::{SoftBody, tangles};
use linkwork::{Mechanism, State, StepConfig, StepReport, Vector, Workspace, step};

/// Beyond a spring's limit: what the engine promises.
const EXCESS: f64 = 1e-4;

/// Runs a scene and shows every step; limits hold at each of them, nothing is refused, and nothing is in anything else: a vertex keeps
/// half of the thickness from what it touches, of which some may give way and never all.
fn run(m: &Mechanism, seconds: f64, mut see: impl FnMut(&State, &StepReport)) -> State {
    let (mut s, mut w, c) = (State::new(m), Workspace::default(), StepConfig::default());
    let room = m.softs().iter().map(|b| 0.5 * b.mesh.thickness).fold(f64::INFINITY, f64::min);
    for k in 0..(seconds / c.dt).round() as usize {
        let r = step(m, &mut s, &mut w, &c);
        assert!(r.rejected.is_none() && !r.missed, "step {k}: {r:?}");
        assert!(r.soft.excess <= EXCESS, "step {k}: {:?}", r.soft);
        assert!(r.soft.penetration < 0.8 * room, "step {k}: {:?}", r.soft);
        see(&s, &r);
    }
    s
}

/// Lowest and highest place of a body along an axis.
fn extent(soft: &SoftBody, s: &State, axis: Vector) -> [f64; 2] {
    soft.range()
        .map(|i| s.centers[i].dot(axis))
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
}

#[test]
fn every_large_scene_loads_says_what_it_is_and_can_be_drawn() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/large");
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["hammock.lw", "tablecloth.lw"], "each has its test in this file");
    for name in names {
        let text = text(&format!("large/{}", name.trim_end_matches(".lw")));
        assert!(text.starts_with("/*") && text.contains("Try: "), "{name} does not say what to try");
        let (scene, report) = load(&text, &mut |_| Err("no files".into()));
        assert!(report.diagnostics.is_empty(), "{name}: {:?}", report.diagnostics);
        let scene = scene.unwrap();
        let s = State::new(&scene.mechanism);
        assert!(tangles(&scene.mechanism, &s).is_empty(), "{name} begins tangled");
        let drawing = svg(&scene.mechanism, &s, &Default::default());
        assert!(scene.title.is_some() && !drawing.contains("NaN"), "{name}");
        let tidy = fmt(&text).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert_eq!(fmt(&tidy).unwrap(), tidy, "{name}");
    }
}

/// He drops, is caught, and lies still: above the floor, in the middle, no joint open at any step.
#[test]
fn the_acrobat_comes_to_rest_in_the_hammock() {
    let m = read(&text("large/hammock"));
    let body: Vec<usize> =
        (1..m.solids().len()).filter(|i| !m.solids()[*i].particle && !m.solids()[*i].is_fixed()).collect();
    assert_eq!((body.len(), m.joints().len()), (11, 10));
    let mut fastest = 0.0_f64;
    let s = run(&m, 2.5, |s, r| {
        assert!(r.gaps.worst() <= 1e-6, "at {:.3} s: {:?}", s.time, r.gaps);
        let speed = body.iter().map(|i| s.velocities[*i].length()).fold(0.0, f64::max);
        fastest = fastest.max(speed);
    });
    assert!(fastest > 1.5, "he drops: {fastest} m/s");
    for i in body {
        let (name, at, speed) = (&m.solids()[i].name, s.centers[i], s.velocities[i].length());
        assert!(speed < 0.15, "{name} moves by {speed} m/s");
        assert!(at.y > 0.4 && at.y < 1.2 && at.z.abs() < 0.4 && at.x.abs() < 1.0, "{name} is at {at:?}");
    }
    let [low, _] = extent(&m.softs()[0], &s, Vector::Y);
    assert!(low > 0.4 && low < 0.9, "the bed hangs down to {low}");
}

/// It folds over the table, and no edge of it goes through a face of it.
#[test]
fn the_tablecloth_folds_and_never_crosses_itself() {
    let m = read(&text("large/tablecloth"));
    let cloth = &m.softs()[0];
    assert_eq!(cloth.mesh.sides, [50, 50]);
    let (all, mut most, mut k) = (crate::layers::triangles(&m), 0, 0);
    let s = run(&m, 0.8, |s, r| {
        most = most.max(r.soft.contacts);
        k += 1;
        if k % 12 == 0 {
            assert_eq!(crate::layers::crossings(s, &all), 0, "at {:.3} s: {:?}", s.time, r.soft);
        }
        // Nothing is in the table's top or beneath the floor.
        for i in cloth.range() {
            let at = s.centers[i];
            assert!(at.y > 0.0, "{at:?} at {:.3} s", s.time);
            let in_the_top = (at.y - 0.68).abs() < 0.02 && at.x.hypot(at.z) < 0.42;
            assert!(!in_the_top, "{at:?} at {:.3} s", s.time);
        }
    });
    let [low, high] = extent(cloth, &s, Vector::Y);
    assert!(high > 0.69 && low < 0.45, "it lies on the table and hangs down: {low} to {high}");
    assert!(most > 500, "{most} contacts");
}

/// Squeezed to half of its height, and as high as before when the plate is up.
#[test]
fn the_ball_is_squeezed_flat_and_comes_back() {
    let m = read(&text("press"));
    let (ball, mut flattest, mut before) = (&m.softs()[0], f64::INFINITY, None);
    let s = run(&m, 4.0, |s, _| {
        let [low, high] = extent(ball, s, Vector::Y);
        assert!(low > 0.0, "it is {low} beneath the table at {:.3} s", s.time);
        flattest = flattest.min(high - low);
        if s.time > 0.5 {
            before.get_or_insert(high - low);
        }
    });
    let [low, high] = extent(ball, &s, Vector::Y);
    let before = before.unwrap();
    assert!(before > 0.4, "{before}");
    assert!(flattest < 0.6 * before, "{flattest} of {before}");
    assert!(high - low > 0.97 * before, "{} of {before}", high - low);
    let [left, right] = extent(ball, &s, Vector::X);
    assert!(left > -0.27 && right < 0.27, "it lies in its dish: {left} to {right}");
}

/// `round`: every outer vertex on the ball's surface, faces outwards, the volume that of a ball of many sides.
#[test]
fn a_round_block_is_a_ball() {
    for (n, part) in [(3, 0.76), (5, 0.93), (9, 0.98)] {
        let m = read(&format!(
            "tetra b: grid {n} {n} {n} spacing {} round; mass 1; stretch 10; end",
            2.0 / f64::from(n - 1)
        ));
        let (b, s) = (&m.softs()[0], State::new(&m));
        let at = |k: u32| s.centers[b.vertex(k).index()] - Vector::ONE;
        let mut volume = 0.0;
        for t in &b.mesh.triangles {
            let [p, q, r] = t.map(at);
            for v in [p, q, r] {
                assert!((v.length() - 1.0).abs() < 1e-12, "{n}: {v:?}");
            }
            let out = p.dot(q.cross(r)) / 6.0;
            assert!(out > 0.0, "{n}: a face looks inwards");
            volume += out;
        }
        let whole = volume / (4.0 / 3.0 * std::f64::consts::PI);
        assert!(whole > part && whole < 1.0, "{n}: {whole}");
        let inner: f64 = b
            .mesh
            .tetrahedra
            .iter()
            .map(|t| {
                let [p, q, r, o] = t.map(at);
                ((q - p).cross(r - p).dot(o - p) / 6.0).abs()
            })
            .sum();
        assert!((inner - volume).abs() < 1e-9, "{n}: tetrahedra overlap, {inner} in {volume}");
    }
    let (scene, report) =
        load("tetra b: grid 3 3 3 spacing 1 oval; mass 1; stretch 10; end", &mut |_| Err("none".into()));
    assert!(scene.is_none() && !report.diagnostics.is_empty());
}
