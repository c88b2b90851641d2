//! The reference method on every scene there is: closed to rounding, and in agreement with the default one.

use linkwork::{AssembleConfig, Mechanism, Method, Outcome, State, StepConfig, Workspace, assemble, step};
use std::fs;
use std::path::Path;

fn scenes() -> Vec<(String, Mechanism)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "lw"));
    paths.sort();
    paths
        .iter()
        .map(|p| {
            let text = fs::read_to_string(p).unwrap();
            let scene = linkwork::scene::load(&text, &mut |_| Err(String::new())).0.unwrap();
            (p.file_stem().unwrap().to_string_lossy().into_owned(), scene.mechanism)
        })
        .collect()
}

fn run(m: &Mechanism, s: &State, method: Method, dt: f64, count: usize) -> (State, f64) {
    let (mut s, mut w, mut widest) = (s.clone(), Workspace::new(), 0.0_f64);
    // Only `variational` knows contact: joints are compared.
    let c = StepConfig { method, dt, tolerance: 1e-9, contacts: false, ..Default::default() };
    for k in 0..count {
        let r = step(m, &mut s, &mut w, &c);
        assert!(r.rejected.is_none(), "{method:?} step {k}: {r:?}");
        // The first step closes what assembly left.
        if k > 0 {
            widest = widest.max(r.gaps.worst());
        }
    }
    (s, widest)
}

#[test]
fn every_scene_runs_closed_to_rounding() {
    let mut agreed = 0;
    for (name, m) in scenes() {
        let mut s = State::new(&m);
        let config = AssembleConfig { tolerance: 1e-11, ..Default::default() };
        let outcome = assemble(&m, &mut s, &config).outcome;
        if outcome != Outcome::Ok {
            println!("{name}: {}", outcome.word());
            continue;
        }
        // Muscles are soft rows, of which `reduced` takes each for itself: a second a step.
        let count = if name == "acrobats" { 4 } else { 100 };
        let (end, gap) = run(&m, &s, Method::Reduced, 1e-3, count);
        assert!(gap < 1e-10, "{name}: {gap:e}");
        let apart = |other: &State| {
            let each = end.centers.iter().zip(&other.centers).map(|(a, b)| (*a - *b).length());
            each.fold(0.0, f64::max)
        };
        let off = apart(&run(&m, &s, Method::Variational, 1e-3, count).0);
        println!("{name}: gap {gap:.1e}, {off:.1e} from variational");
        // Second order at 1 ms; a motor that turned too fast once passed for a pose of its own. Where drives begin and
        // end it is of first order, and then that is what tells.
        if off >= 1e-4 {
            let half = apart(&run(&m, &s, Method::Variational, 5e-4, 2 * count).0);
            assert!(off < 1e-3 && half < off / 1.8, "{name}: {off:e}, {half:e} at half the step");
        }
        agreed += 1;
    }
    assert!(agreed >= 15, "{agreed}");
}
