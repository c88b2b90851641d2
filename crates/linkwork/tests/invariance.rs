//! What may not change a motion: snapshots, threads, strangers in the same scene, layout. And what every method with every
//! solver keeps to on every feature of the language: numbers stay numbers, gaps are met or told, nothing makes energy.
//! One walk over `scenes/features/` and the gallery for each.

use crate::common::*;
use linkwork::formats::snapshot;
use linkwork::scene::fmt;
use linkwork::solve::SolverKind;
use linkwork::{Mechanism, Method, State, StepConfig, Vector, Workspace, step};

/// Scenes load without errors, are laid out as `fmt` lays out, close unless they say otherwise, and draw lints only where
/// the lint is what they show.
#[test]
fn feature_scenes_are_in_order() {
    let mut faults = Faults::new();
    let cases = features();
    for case in &cases {
        let (_, report) = linkwork::scene::load(&case.text, &mut crate::common::mesh_file);
        let codes: Vec<&str> = report.diagnostics.iter().map(|d| d.code).collect();
        // A free solid is an island, too, and what touches nothing falls for ever.
        let free = ["features/islands", "features/collide-none"].contains(&case.name.as_str());
        let lints: &[&str] = if free { &["L002"] } else { &[] };
        faults.check(codes == lints, || format!("{}: {codes:?}", case.name));
        faults.check(fmt(&case.text).is_ok_and(|t| t == case.text), || {
            format!("{} is not laid out by fmt", case.name)
        });
        let mut s = State::new(&case.mechanism);
        let report = linkwork::assemble(&case.mechanism, &mut s, &Default::default());
        let closed = report.outcome == linkwork::Outcome::Ok;
        faults.check(closed != case.contradicts(), || format!("{}: {report:?}", case.name));
        // A soft body counts as one, and has no more vertices than a chess board has squares.
        let m = &case.mechanism;
        let vertices: usize = m.softs().iter().map(|soft| soft.vertices()).sum();
        let parts = m.solid_count() - vertices + m.softs().len();
        faults.check((1..=6).contains(&parts) && vertices <= 64, || format!("{} is not small", case.name));
    }
    assert!(cases.len() >= 45, "{}", cases.len());
    faults.done(4 * cases.len());
}

/// What contradicts itself costs many pieces a step, and shows in a few steps what it does.
fn short_of(case: &Case, steps: usize) -> usize {
    if case.contradicts() { steps.min(6) } else { steps }
}

/// Compares a run with one that is saved, restored and given a fresh workspace after every step.
fn cut_by_snapshots(cases: Vec<Case>, steps: usize, methods: &[Method]) {
    let mut faults = Faults::new();
    for case in cases {
        let m = &case.mechanism;
        let from = start(m);
        for method in methods {
            let c = StepConfig { method: *method, ..Default::default() };
            let (mut kept, mut w) = (from.clone(), Workspace::new());
            let mut restored = from.clone();
            for k in 0..short_of(&case, steps) {
                let report = step(m, &mut kept, &mut w, &c);
                step(m, &mut restored, &mut Workspace::new(), &c);
                let same = faults.check(kept.hash() == restored.hash(), || {
                    let off = apart(&kept, &restored, 1..m.solids().len(), 0);
                    let energies = [&kept, &restored].map(|s| linkwork::measure::energy(m, s).total());
                    format!("{}, {}, step {k}: {off:.2e} m apart, {energies:?} J", case.name, method.name())
                });
                if !same || report.rejected.is_some() {
                    break;
                }
                restored = snapshot::restore(m, &snapshot::save(m, &restored)).unwrap();
            }
        }
    }
    faults.done(1000);
}

#[test]
fn snapshots_at_every_step_change_nothing_in_features() {
    cut_by_snapshots(features(), 60, &Method::ALL);
}

#[test]
fn snapshots_at_every_step_change_nothing_in_the_gallery() {
    cut_by_snapshots(gallery(), 8, &Method::ALL);
}

#[test]
fn threads_change_nothing() {
    let mut faults = Faults::new();
    let pools = [1, 2, 4].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    for case in every_scene() {
        let m = &case.mechanism;
        let from = start(m);
        let large = m.solid_count() > 20;
        for method in [Method::Variational, Method::Displacement] {
            for solver in [SolverKind::Auto, SolverKind::StructuredIterative] {
                // Iterations on a large scene take long, and are spread over threads in the small ones alike.
                if large && solver != SolverKind::Auto {
                    continue;
                }
                let run = || {
                    let c = StepConfig { method, solver, ..Default::default() };
                    let (mut s, mut w) = (from.clone(), Workspace::new());
                    for _ in 0..if large { 2 } else { 12 } {
                        if step(m, &mut s, &mut w, &c).rejected.is_some() {
                            break;
                        }
                    }
                    s.hash()
                };
                let [one, two, four] = [0, 1, 2].map(|k| pools[k].install(run));
                faults.check(one == two && one == four, || {
                    format!("{}, {}, {}: other bits", case.name, method.name(), solver.name())
                });
            }
        }
    }
    faults.done(200);
}

/// Mechanisms that have nothing to do with anybody, and give a step all the trouble there is: what falls, what turns fast,
/// loops, springs, what comes and goes, motors, and a linkage that is about to be flat.
const STRANGERS: &str = r#"
solid falling: shape box 0.3 0.2 0.1; mass 1; at 0 5 0; spin 40 3 1; end
solid thrown: shape box 0.3 0.2 0.1; mass 3; at 0 6 0; velocity 5 1 0; end
particle dust: mass 0.1; at 0 7 0; end
particle bob: mass 1; at 2 0 0; end
spring idle: object2 bob; hinge 2 1 0 0 0 0; stiffness 100; damping 1; end
particle hooked: mass 1; at 2.2 0 0; end
spring zero: object2 hooked; hinge 2 0 0 0 0 0; length 0; stiffness 300; end
solid crank: shape capsule 0.04 from 0 0 0 to 0.6 0 0; mass 0.6; at 4 0 0; turn 0 0 1 90 deg; velocity 0.3 0 0; spin 0 0 -1; end
solid coupler: shape capsule 0.04 from 0 0 0 to 2 0 0; mass 2; at 4 0.6 0; velocity 0.6 0 0; end
solid rocker: shape capsule 0.04 from 0 0 0 to 1.2 0 0; mass 1.2; at 6 -0.6 0; turn 0 0 1 90 deg; velocity 0.3 0 0; spin 0 0 -0.5; end
joint pin; object2 crank; at 4 0 0 axis 0 0 1; end
joint pin; object1 crank; object2 coupler; at 4 0.6 0 axis 0 0 1; end
joint pin; object1 coupler; object2 rocker; at 6 0.6 0 axis 0 0 1; end
joint pin; object2 rocker; at 6 -0.6 0 axis 0 0 1; end
solid guest: shape capsule 0.04 from 0 0 0 to 1 0 0; mass 1; at 8 0 0; end
joint first: ball; object2 guest; frame1 8 0 0; frame2 0 0 0; during 0 0.11; end
joint then: ball; object2 guest; frame1 8 -0.1 0; frame2 0 0 0; during 0.12 0.3; end
joint last: weld; object2 guest; frame1 8 -0.2 0; frame2 0 0 0; during 0.4 0.5; end
solid wheel: shape cylinder 0.3 0.05 axis 0 0 1; mass 2; at 10 0 0; end
joint hub: pin; object2 wheel; at 10 0 0 axis 0 0 1; drive r1 speed 30 max-force 5; end
solid arm: shape capsule 0.04 from 0 0 0 to 1 0 0; mass 1; at 12 0 0; end
joint stop: pin; object2 arm; at 12 0 0 axis 0 0 1; limit r1 -0.02 0.5; end
"#;

/// A parallelogram that passes its flat pose in a few steps, with its pins in world coordinates.
fn strangers() -> Mechanism {
    let (sine, cosine) = 0.15_f64.sin_cos();
    let mut text = STRANGERS.to_owned();
    let bar = "shape capsule 0.04 from 0 0 0 to 1 0 0; mass 1";
    for (name, x) in [("left", 14.0), ("right", 15.0)] {
        let (vx, vy) = (sine * 1.5, -cosine * 1.5);
        text += &format!(
            "solid {name}: {bar}; at {x} 0 0; turn 0 0 1 0.15; spin 0 0 -3; velocity {vx} {vy} 0; end\n\
             joint pin; object2 {name}; frame1 {x} 0 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; end\n"
        );
    }
    let (vx, vy) = (sine * 3.0, -cosine * 3.0);
    text += &format!("solid top: {bar}; at {} {sine} 0; velocity {vx} {vy} 0; end\n", 14.0 + cosine);
    text += "joint pin; object1 left; object2 top; frame1 1 0 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; end\n\
             joint pin; object1 right; object2 top; frame1 1 0 0 axis 0 0 1; frame2 1 0 0 axis 0 0 1; end\n";
    read(&text)
}

/// Puts the state of the parts into that of the whole: poses, velocities, counted turns.
fn put(whole: &mut State, part: &State, first: usize, angle: usize) {
    for i in 1..part.centers.len() {
        whole.centers[first + i - 1] = part.centers[i];
        whole.rotations[first + i - 1] = part.rotations[i];
        whole.velocities[first + i - 1] = part.velocities[i];
        whole.spins[first + i - 1] = part.spins[i];
    }
    whole.angles[angle..angle + part.angles.len()].copy_from_slice(&part.angles);
}

/// Steps a scene alone and beside strangers; notes the first step in which one solid has other bits.
fn beside_strangers(faults: &mut Faults, case: &Case, method: Method, steps: usize) {
    let alone = &case.mechanism;
    let mut both = Mechanism::new();
    both.gravity = alone.gravity;
    both.set_air(alone.air().copied()).unwrap();
    append(&mut both, alone, Vector::ZERO, "");
    for k in 0..2 {
        append(&mut both, &strangers(), Vector::new(1000.0, 0.0, 50.0 * k as f64), &format!("stranger{k}-"));
    }
    let from = start(alone);
    let mut s = State::new(&both);
    put(&mut s, &from, 1, 0);
    let mut own = from.clone();
    let (mut w, mut v) = (Workspace::new(), Workspace::new());
    let c = StepConfig { method, ..Default::default() };
    let solids = 1..alone.solids().len();
    for k in 0..short_of(case, steps) {
        let one = step(alone, &mut own, &mut w, &c);
        let two = step(&both, &mut s, &mut v, &c);
        if one.rejected.is_some() {
            break;
        }
        let same = faults.check(motion(&own, solids.clone()) == motion(&s, solids.clone()), || {
            format!(
                "{}, {}, step {k}: {:.2e} m apart; {} pieces alone and {} together, rejected {:?}",
                case.name,
                method.name(),
                apart(&own, &s, solids.clone(), 0),
                one.substeps,
                two.substeps,
                two.rejected,
            )
        });
        if !same {
            break;
        }
    }
}

#[test]
fn strangers_change_nothing_in_features() {
    let mut faults = Faults::new();
    for case in features() {
        for method in Method::ALL {
            beside_strangers(&mut faults, &case, method, 40);
        }
    }
    faults.done(300);
}

#[test]
fn strangers_change_nothing_in_the_gallery() {
    let mut faults = Faults::new();
    for case in gallery() {
        let steps = if case.mechanism.solid_count() > 20 { 4 } else { 20 };
        for method in [Method::Variational, Method::Displacement, Method::Reduced] {
            beside_strangers(&mut faults, &case, method, steps);
        }
    }
    faults.done(50);
}

/// Copies of one scene, all in the same place, move as one alone does.
fn copies(faults: &mut Faults, case: &Case, method: Method, count: usize, steps: usize) {
    let alone = &case.mechanism;
    let mut many = Mechanism::new();
    many.gravity = alone.gravity;
    many.set_air(alone.air().copied()).unwrap();
    for k in 0..count {
        append(&mut many, alone, Vector::ZERO, &format!("copy{k}-"));
    }
    let from = start(alone);
    let mut s = State::new(&many);
    let size = alone.solids().len() - 1;
    for k in 0..count {
        put(&mut s, &from, 1 + k * size, k * from.angles.len());
    }
    let mut own = from.clone();
    let (mut w, mut v) = (Workspace::new(), Workspace::new());
    // Copies stand in each other: they must not touch.
    let c = StepConfig { method, contacts: false, ..Default::default() };
    for step_number in 0..short_of(case, steps) {
        let one = step(alone, &mut own, &mut w, &c);
        let all = step(&many, &mut s, &mut v, &c);
        if one.rejected.is_some() {
            break;
        }
        let expected = motion(&own, 1..size + 1);
        let other: Vec<usize> =
            (0..count).filter(|k| motion(&s, 1 + k * size..1 + (k + 1) * size) != expected).collect();
        let same = faults.check(other.is_empty(), || {
            let off = other.iter().map(|k| apart(&own, &s, 1..size + 1, k * size)).fold(0.0, f64::max);
            format!(
                "{}, {}, step {step_number}: {} of {count} copies differ, by up to {off:.2e} m; pieces {} and {}, rejected {:?}",
                case.name,
                method.name(),
                other.len(),
                one.substeps,
                all.substeps,
                all.rejected,
            )
        });
        if !same {
            break;
        }
    }
}

#[test]
fn twenty_copies_move_as_one() {
    let mut faults = Faults::new();
    for case in features() {
        for method in Method::ALL {
            copies(&mut faults, &case, method, 20, 12);
        }
    }
    for case in gallery() {
        let count = if case.mechanism.solid_count() > 20 { 3 } else { 20 };
        copies(&mut faults, &case, Method::Variational, count, 4);
    }
    faults.done(300);
}

/// `fmt` of what `fmt` wrote is the same text, and of a text without any layout too; what it says does not change.
#[test]
fn layout_changes_nothing() {
    let mut faults = Faults::new();
    for case in every_scene() {
        let once = fmt(&case.text).unwrap();
        faults.check(fmt(&once).unwrap() == once, || format!("{}: fmt is not idempotent", case.name));
        // Line comments end with their line, so only texts without them can lose their line ends.
        let flat = if case.text.contains("//") { case.text.clone() } else { case.text.replace('\n', "  ") };
        for (what, text) in [("fmt", once), ("fmt of one line", fmt(&flat).unwrap())] {
            let again = read(&text);
            faults.check(snapshot::fingerprint(&again) == snapshot::fingerprint(&case.mechanism), || {
                format!("{}: {what} means something else", case.name)
            });
            let [a, b] = [&case.mechanism, &again].map(|m| {
                let (mut s, mut w) = (State::new(m), Workspace::new());
                for _ in 0..if m.solid_count() > 20 { 1 } else { 5 } {
                    step(m, &mut s, &mut w, &StepConfig::default());
                }
                s.hash()
            });
            faults.check(a == b, || format!("{}: after {what} it moves otherwise", case.name));
        }
    }
    faults.done(300);
}

/// How much energy a method may add by its own documentation (docs/methods.md), as a share of the largest kinetic energy
/// that the start explains. `None`: the document says that it may jump or fail, so that only the report can be held to it.
fn documented_gain(method: Method) -> Option<f64> {
    match method {
        Method::Variational | Method::Displacement | Method::Relaxation(_) | Method::Reduced => Some(0.02),
        Method::Baumgarte { .. } | Method::PostStabilization { .. } | Method::Implicit => None,
    }
}

/// One method with every solver on every feature scene: 60 steps.
fn keeps_its_word(method: Method) {
    let mut faults = Faults::new();
    let mut told = Vec::new();
    for case in features() {
        let m = &case.mechanism;
        let from = start(m);
        for solver in SolverKind::ALL {
            let c = StepConfig { method, solver, ..Default::default() };
            let what = format!("{}, {}, {}", case.name, method.name(), solver.name());
            let run = run_watched(m, &from, &c, short_of(&case, 60), 5000, |s, r, _| {
                faults.check(s.is_finite(), || format!("{what}: not finite at {} s", s.time))
                    // `missed` is the complement of this by definition; here the gaps are measured anew.
                    && faults.check(is_flagged(r) || gap_of(m, s) <= 1.01 * c.tolerance, || {
                        format!("{what}: at {} s a gap of {:.2e} is not told: {r:?}", s.time, gap_of(m, s))
                    })
            });
            if !is_passive(m) {
                continue;
            }
            let allowed = documented_gain(method).unwrap_or(1.0) * run.energies.explained + 1e-6;
            let good = run.energies.gain <= allowed || run.is_flagged();
            if documented_gain(method).is_some() {
                faults.check(good, || format!("{what}: energy made: {}", run.words()));
            } else if !good {
                told.push(format!("{what}: {}", run.words()));
            }
        }
    }
    if !told.is_empty() {
        println!(
            "{} gained more than all the kinetic energy there was, as its documentation allows:\n{}",
            method.name(),
            told.join("\n")
        );
    }
    faults.done(1000);
}

/// The largest gap of everything rigid that holds now.
fn gap_of(m: &Mechanism, s: &State) -> f64 {
    linkwork::measure::Meter::default().gaps(m, s).worst()
}

#[test]
fn variational_keeps_its_word() {
    keeps_its_word(Method::Variational);
}

#[test]
fn displacement_keeps_its_word() {
    keeps_its_word(Method::Displacement);
}

#[test]
fn relaxation_keeps_its_word() {
    keeps_its_word(Method::Relaxation(Default::default()));
}

#[test]
fn baumgarte_keeps_its_word() {
    keeps_its_word(Method::from_name("baumgarte").unwrap());
}

#[test]
fn post_stabilization_keeps_its_word() {
    keeps_its_word(Method::from_name("post-stabilization").unwrap());
}

#[test]
fn implicit_keeps_its_word() {
    keeps_its_word(Method::Implicit);
}

#[test]
fn reduced_keeps_its_word() {
    keeps_its_word(Method::Reduced);
}
