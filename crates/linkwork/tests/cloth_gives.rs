//! What asks for more than cloth can give: pins farther apart than limits allow, and loads far heavier than what carries them.

use linkwork::measure::energy;
use linkwork::{Mechanism, State, StepConfig, StepReport, Workspace, step};

fn mechanism(text: &str) -> Mechanism {
    let (scene, report) = linkwork::scene::load(text, &mut |_: &str| Err("no files".into()));
    scene.unwrap_or_else(|| panic!("{report:?}")).mechanism
}

/// Steps for so long, and lets somebody look at each.
fn run(m: &Mechanism, seconds: f64, mut look: impl FnMut(&State, &StepReport)) -> State {
    let (mut s, mut w) = (State::new(m), Workspace::default());
    let c = StepConfig { sleep: false, ..StepConfig::default() };
    for k in 0..(seconds / c.dt).round() as usize {
        let r = step(m, &mut s, &mut w, &c);
        assert!(r.rejected.is_none() && s.is_finite(), "step {k}: {r:?}");
        look(&s, &r);
    }
    s
}

/// Multipliers of limits that contradict pins grew without end: the energy went to 1e24 J, or a step took half a minute. Now the sheet
/// stretches between its pins, and the step says so.
#[test]
fn pins_pull_a_sheet_beyond_its_limits() {
    for (kind, n) in [("rope", 9), ("sheet", 2), ("sheet", 3), ("sheet", 5), ("sheet", 9)] {
        for speed in [0.4, 2.0] {
            let (last, spacing) = (n - 1, 0.4 / (n - 1) as f64);
            let (rows, y) = if kind == "rope" { (1, 0.0) } else { (n, 0.4) };
            let text = format!(
                "trajectory t: key 0 at 0.4 {y} 0; key 1 at {x} {y} 0; end
                solid h: kernel trajectory t; shape sphere 0.02; end
                cloth c: grid {n} {rows} spacing {spacing}; at 0 0 0; mass 0.2; stretch 300 0.2; shear 100;
                pin 0 0; pin {last} {top} to h 0 0 0; end",
                x = 0.4 + speed,
                top = rows - 1,
            );
            let m = mechanism(&text);
            let what = format!("{kind} of {n} at {speed} m/s");
            let (mut most, mut said, mut pieces) = (0.0_f64, 0, 0);
            let s = run(&m, 0.6, |s, r| {
                most = most.max(energy(&m, s).kinetic);
                assert!(r.gaps.position < 1e-6, "{what}: {r:?}");
                // Whoever is longer than allowed is told of.
                assert!(r.soft.excess < 2e-3 || r.missed, "{what}: {r:?}");
                (said, pieces) = (said + usize::from(r.soft.gave_way > 0), pieces.max(r.substeps));
            });
            assert!(said > 3 && pieces <= 16, "{what}: {said} steps, up to {pieces} pieces");
            assert!(most < 0.5 * 0.2 * (10.0 * (speed + 1.0_f64)).powi(2), "{what}: {most} J");
            // It is between its pins, and nowhere else.
            let first = m.softs()[0].first.index();
            let far = (first..first + n * rows).map(|i| s.centers[i].length()).fold(0.0, f64::max);
            assert!(far < 0.8 + speed, "{what}: {far} m away");
        }
    }
}

/// The same, at rest: pins that were never near enough give nothing but what springs have.
#[test]
fn pins_too_far_apart_make_no_energy() {
    for far in [2.0, 100.0] {
        let m = mechanism(&format!(
            "solid a: kernel fixed; at {far} 0 0; end
            cloth c: grid 3 3 spacing 0.1; mass 1; stretch 100; limit-strain 1 %; pin 0 0; pin 2 2 to a 0 0 0; end"
        ));
        let mut had = f64::INFINITY;
        run(&m, 1.0, |s, r| {
            let has = energy(&m, s).total();
            assert!(has < had + 1e-3 * has.abs() + 0.1, "{far}: from {had} to {has} J, {r:?}");
            assert!(r.missed && r.soft.gave_way > 0, "{far}: {r:?}");
            had = has;
        });
    }
}

/// Sixteen balls and more in the island of a sheet were taken for a heap, whose sweeps know nothing of springs: energy went to 6e12 J.
#[test]
fn any_number_of_balls_falls_on_a_sheet() {
    for many in [15, 16, 17, 25] {
        let mut text = String::from(
            "cloth c: grid 7 7 spacing 0.166; at -0.5 0.5 0.5; turn 1 0 0 -90 deg; mass 0.3; stretch 800 0.5;
            shear 300 0.2; thickness 0.012; pin 0 0; pin 0 6; pin 6 0; pin 6 6; end\n",
        );
        for k in 0..many {
            let (i, j, level) = (k % 3, k / 3 % 3, k / 9);
            let at = |k: usize| 0.16 * k as f64 - 0.16;
            let (x, y, z) = (at(i), 0.7 + 0.16 * level as f64, at(j));
            text += &format!("solid b{k}: shape sphere 0.07; mass 0.3; at {x} {y} {z}; end\n");
        }
        let m = mechanism(&text);
        let began = energy(&m, &State::new(&m)).total();
        run(&m, 0.25, |s, _| {
            let has = energy(&m, s).total();
            assert!(has < began + 0.05 * began.abs(), "{many} balls: from {began} to {has} J");
        });
    }
}

/// What lies too deep in a sheet has to come out with whatever lies on it, and the work that takes counted as energy from nowhere:
/// everything stood still for ever.
#[test]
fn heavy_balls_move_on_cloth() {
    for (n, mass) in [(9, 2.0), (9, 8.0), (13, 8.0)] {
        let spacing = 1.12 / (n - 1) as f64;
        let m = mechanism(&format!(
            "material m: friction 0.4; end
            solid floor: kernel fixed; shape plane 0 1 0; material m; end
            solid post: kernel fixed; shape sphere 0.3; at 0 0.5 0; material m; end
            cloth s: grid {n} {n} spacing {spacing}; at -0.56 0.85 0.56; turn 1 0 0 -90 deg; mass 0.3; stretch 500 0.5;
            shear 150 0.2; thickness 0.01; material m; end
            solid ball: shape sphere 0.12; mass {mass}; at 0.02 1.2 0.03; material m; end"
        ));
        let ball = m.solids().iter().position(|s| s.name == "ball").unwrap();
        let (mut row, mut longest) = (0, 0);
        let s = run(&m, 1.2, |_, r| {
            row = if r.soft.held_back > 0 { row + 1 } else { 0 };
            longest = longest.max(row);
        });
        assert!(longest < 10, "{n}, {mass} kg: held back in {longest} steps in a row");
        assert!(s.centers[ball].y < 0.85, "{n}, {mass} kg: still at {}", s.centers[ball]);
    }
}
