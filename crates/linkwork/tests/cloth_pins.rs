//! Vertices that are pinned to what no sheet moves: held like those that are pinned to the world, with a force that is told, and
//! never beyond the limit of the springs around them.

use linkwork::measure::energy;
use linkwork::{Mechanism, State, StepConfig, Vector, Workspace, step};

fn mechanism(text: &str) -> Mechanism {
    let (scene, report) = linkwork::scene::load(text, &mut |_: &str| Err("no files".into()));
    scene.unwrap_or_else(|| panic!("{report:?}")).mechanism
}

fn awake() -> StepConfig<'static> {
    StepConfig { sleep: false, ..StepConfig::default() }
}

/// A sheet with two corners that are pinned, each to what `to` says.
fn sheet(to: [&str; 2], more: &str) -> String {
    format!(
        "trajectory still: key 0 at 0 0 0; key 1 at 0 0 0; loop; end
        solid rail: kernel trajectory still; shape box 1 0.02 0.02 at 0 1 0; collide none; end
        cloth s: grid 7 5 spacing 0.1; at 0 1 0; turn 1 0 0 -90 deg; mass 0.2; stretch 300 0.5; shear 100 0.2;
        bend 0.4 0.02; limit-strain 10 %; pin 0 0{}; pin 6 0{}; end {more}",
        to[0], to[1]
    )
}

#[test]
fn a_pin_to_something_scripted_holds_like_one_to_the_world() {
    for more in ["", "scene wind 4 0 2; end"] {
        let m = [["", ""], [" to rail 0 1 0", " to rail 0.6 1 0"]].map(|to| mechanism(&sheet(to, more)));
        let first = [0, 1].map(|k| m[k].softs()[0].first.index());
        let mut s = [State::new(&m[0]), State::new(&m[1])];
        let mut w = [Workspace::default(), Workspace::default()];
        // Vertices that are fixed have no weight.
        let mut differ = f64::NAN;
        for k in 0..120 {
            for i in 0..2 {
                let r = step(&m[i], &mut s[i], &mut w[i], &awake());
                assert!(r.rejected.is_none() && r.soft.excess < 1e-4, "{more}, step {k}: {r:?}");
                assert!(r.gaps.position < 1e-9, "{more}, step {k}: {r:?}");
            }
            let apart = |v: usize| s[0].centers[first[0] + v].distance(s[1].centers[first[1] + v]);
            let most = (0..35).map(apart).fold(0.0, f64::max);
            // What is left of Newton's method differs, and folds make much of it.
            assert!(k > 15 || most < 1e-3, "{more}, step {k}: {most}");
            let [a, b] = [0, 1].map(|i| energy(&m[i], &s[i]).total());
            differ = if k == 0 { b - a } else { differ };
            assert!(!more.is_empty() || (b - a - differ).abs() < 2e-3, "step {k}: {a} {b} {differ}");
        }
    }
}

#[test]
fn pins_tell_what_they_hold() {
    let text = sheet([" to rail 0 1 0", " to rail 0.6 1 0"], "").replace("bend 0.4 0.02", "bend 0.4 0.2");
    // Upright, so that it does not swing.
    let m = mechanism(&text.replace("stretch 300 0.5", "stretch 300 3").replace("-90 deg", "180 deg"));
    let (mut s, mut w) = (State::new(&m), Workspace::default());
    for _ in 0..1200 {
        step(&m, &mut s, &mut w, &awake());
    }
    let all = w.reactions(&m).unwrap();
    assert_eq!(all.len(), 2);
    let sum: Vector = all.iter().map(|(_, r)| r.force).sum();
    // On the second of both, which is the vertex.
    let off = (sum - Vector::new(0.0, 0.2 * 9.81, 0.0)).length();
    assert!(off < 0.02 * 0.2 * 9.81, "{sum:?}");
    // Both carry half of it.
    assert!((all[0].1.force.y - all[1].1.force.y).abs() < 0.05, "{all:?}");
}

#[test]
fn a_flag_on_a_swinging_pole_keeps_its_limit() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/flag.lw");
    let m = mechanism(&std::fs::read_to_string(path).unwrap());
    let (mut s, mut w) = (State::new(&m), Workspace::default());
    let mut unsolved = 0;
    for k in 0..600 {
        let r = step(&m, &mut s, &mut w, &awake());
        assert!(r.rejected.is_none() && !r.missed && r.soft.excess < 1e-4, "step {k}: {r:?}");
        unsolved += r.soft.unsolved;
    }
    assert!(unsolved <= 1, "{unsolved}");
}
