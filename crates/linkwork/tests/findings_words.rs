//! Findings F11, F13, F27 and F28 as far as they are the library's: what is reported must be what is. Each header tells what
//! was seen before the repair.

use crate::common::*;
use linkwork::rows::Gaps;
use linkwork::session::{Command, ReplayError, Session, replay};
use linkwork::solve::SolverKind;
use linkwork::{AssembleConfig, Method, Outcome, SolidId, State, StepConfig, assemble};

/// F11: `structured-dense` left NaN, the gap measure counted it as 0, and the outcome was `ok`.
#[test]
fn f11_two_welds_in_two_places_are_a_conflict_of_numbers() {
    let m = read(
        "solid a: mass 1; shape sphere 0.1; end
         joint weld; object2 a; frame1 0 0 0; end joint weld; object2 a; frame1 1 0 0; end",
    );
    for solver in SolverKind::ALL {
        let mut s = State::new(&m);
        let report = assemble(&m, &mut s, &AssembleConfig { solver, ..Default::default() });
        assert_eq!(report.outcome, Outcome::Conflict, "{}", solver.name());
        let x = s.pose(&m, SolidId(1)).translation;
        assert!(x.is_finite() && (-0.01..1.01).contains(&x.x), "{}: {x}", solver.name());
        assert!((0.49..1.01).contains(&report.gaps.position), "{}: {:?}", solver.name(), report.gaps);
    }
}

/// F11: a gap that is not a number is never small, in whatever order it comes.
#[test]
fn f11_gaps_that_are_no_numbers_are_not_closed() {
    let (bad, small) = (Gaps { position: f64::NAN, angle: 0.0 }, Gaps { position: 1e-9, angle: 1e-9 });
    let turned = Gaps { position: 0.0, angle: f64::NAN };
    for g in [bad, turned, bad.max(small), small.max(bad), turned.max(small), small.max(turned)] {
        assert!(!(g.worst() <= 1e3), "{g:?} counts as {}", g.worst());
    }
    for joint in ["ball", "weld", "pin", "distance 1", "lock t1", "ball; rank 2", "lock r1; limit t1 -1 1"] {
        let m =
            read(&format!("solid a: mass 1; shape sphere 0.1; at 1 0 0; end joint {joint}; object2 a; end"));
        let mut s = State::new(&m);
        (s.centers[1].x, s.rotations[1].x) = (f64::NAN, f64::NAN);
        let report = assemble(&m, &mut s, &AssembleConfig::default());
        assert_ne!(report.outcome, Outcome::Ok, "{joint}");
        assert!(!(report.gaps.worst() <= 1e3), "{joint}: {:?}", report.gaps);
    }
}

/// Where the solid ends up between two points 1 m apart that both want it.
fn between(first: &str, second: &str) -> (Outcome, f64) {
    let m = read(&format!(
        "solid a: mass 1; shape sphere 0.1; at 0.3 0.2 0; end
         joint ball; object2 a; frame1 0 0 0; {first} end joint ball; object2 a; frame1 1 0 0; {second} end"
    ));
    let mut s = State::new(&m);
    let report = assemble(&m, &mut s, &AssembleConfig::default());
    (report.outcome, s.pose(&m, SolidId(1)).translation.x)
}

/// F13: where all conflicting constraints were rank 1, the answer was 0.5 whatever they weighed.
#[test]
fn f13_weight_counts_among_constraints_of_one_rank() {
    let mut faults = Faults::new();
    for (first, second, at) in [
        ("rank 1;", "rank 1;", 0.5),
        ("rank 1; weight 3;", "rank 1;", 0.25),
        ("rank 1; weight 3;", "rank 1; weight 2;", 0.4),
        ("rank 1; weight 0;", "rank 1;", 1.0),
        ("rank 2; weight 3;", "rank 2;", 0.25),
        // Rank comes before weight.
        ("rank 1;", "rank 2; weight 100;", 0.0),
    ] {
        let (outcome, x) = between(first, second);
        faults.check(outcome == Outcome::Conflict && (x - at).abs() < 1e-4, || {
            format!("`{first}` against `{second}`: {x}, not {at} ({outcome:?})")
        });
    }
    faults.done(6);
}

/// F13: `limit r1` on a `distance` joint drew a lint and had no effect.
#[test]
fn f13_a_distance_joint_has_limits() {
    let m = read(
        "scene gravity 0 0 0; end
         solid a: mass 1; shape sphere 0.1; at 1 0 0; spin 5 0 0; end
         joint d: distance 1; object2 a; frame1 0 0 0; frame2 0 0 0; limit r1 -1 1; end",
    );
    let run = run(&m, &State::new(&m), &StepConfig::default(), 120);
    let turned = linkwork::math::log(run.state.rotations[1]).x;
    assert!((turned - 1.0).abs() < 1e-4, "it turned by {turned} rad, and 1 is the limit");
}

/// F27: the log counted entries, not bytes. Sixty edits of a text of 8 MB held 642 MB.
#[test]
fn f27_the_log_of_a_session_is_bounded_in_bytes() {
    let scene = "solid a: mass 1; shape sphere 0.1; end joint ball; object2 a; end";
    let mut session = Session::open(scene, &mut |_| Err("none".into())).unwrap();
    let long = |k: usize| format!("{scene}\n// {k} {}", "x".repeat(4 << 20));
    for k in 0..15 {
        session.apply(Command::SetText { text: long(k) }).unwrap();
    }
    assert!(!session.log().cut);
    assert_eq!(replay(&session.log()).unwrap().hash(), session.hash());
    // What is refused did not happen, and does not end the log.
    let broken = format!("solid a: mass banana; end // {}", "x".repeat(8 << 20));
    session.apply(Command::SetText { text: broken }).unwrap_err();
    assert!(!session.log().cut && session.log().entries.len() == 15);
    for k in 15..20 {
        session.apply(Command::SetText { text: long(k) }).unwrap();
    }
    session.apply(Command::Run { on: true }).unwrap();
    let log = session.log();
    assert!(log.cut, "the log says that its end is missing");
    assert_eq!(replay(&log).map(|_| ()), Err(ReplayError::Cut));
    let bytes: usize = log.entries.iter().map(|e| format!("{e:?}").len()).sum();
    assert!(bytes < 70 << 20 && log.entries.len() == 15, "{bytes} bytes in {} entries", log.entries.len());
}

/// F28: an inertia of 1e-12 kg m^2 at an arm of 1 m missed by 0.4 m.
#[test]
fn f28_a_point_mass_at_the_end_of_an_arm_stays_there() {
    let m = read(
        "solid a: mass 1; inertia 1e-12 1e-12 1e-12; center 0 0 0; at 1 0 0; end
         joint ball; object2 a; frame1 0 0 0; frame2 -1 0 0; end",
    );
    for method in [Method::Variational, Method::Reduced] {
        let c = StepConfig { method, ..Default::default() };
        let run = run(&m, &State::new(&m), &c, 120);
        assert!(run.gap <= 1e-6, "{}: {}", method.name(), run.words());
    }
}

/// F28: what lasted less than a step never held, silently. Forces act as long as they last.
#[test]
fn f28_times_between_two_steps_draw_a_lint() {
    let lints = |text: &str| -> Vec<String> {
        let (scene, report) = linkwork::scene::load(text, &mut |_| Err("none".into()));
        assert!(scene.is_some(), "{}", report.render("s", text, false));
        let at = |d: &linkwork::scene::Diagnostic| text[d.span.clone()].to_owned();
        report.diagnostics.iter().filter(|d| d.code == "L017").map(at).collect()
    };
    let scene = "scene gravity 0 0 0; end solid a b: mass 1; shape sphere 0.1; end
        joint ball; object2 a; during 0.5001 0.5002; end
        spring object1 a; object2 b; stiffness 1; during 0.5 0.5002; end
        force object b; value 1 0 0; during 0.701 0.702; end";
    assert_eq!(lints(scene), ["during 0.5001 0.5002"]);
    assert_eq!(lints(&format!("{scene} settings step 1e-4; end")), [""; 0]);
}

/// A start about anything but the centre of mass took a cross product by hand.
#[test]
fn velocities_are_those_of_a_point() {
    let speeds = |clauses: &str| {
        let m = read(&format!(
            "scene gravity 0 0 0; end
             solid a: mass 2; shape capsule 0.05 from 0 0 0 to 1 0 0; at 1 2 3; turn 0 0 1 90 deg; {clauses} end
             joint top: pin; object2 a; at 1 2 3 axis 0 0 1; end"
        ));
        let s = State::new(&m);
        (s.velocities[1], s.spins[1])
    };
    let near =
        |a: linkwork::math::Vector, b: [f64; 3]| (a - linkwork::math::Vector::from_array(b)).length() < 1e-12;
    // The centre of mass is half a metre up from the pin.
    let (v, w) = speeds("velocity 0 0 0 at 0 0 0; spin 0 0 3;");
    assert!(near(v, [-1.5, 0.0, 0.0]) && near(w, [0.0, 0.0, 3.0]), "{v} {w}");
    assert!(
        near(speeds("velocity 1 2 0; spin 0 0 3;").0, [1.0, 2.0, 0.0]),
        "of the centre where no point is given"
    );
    assert!(near(speeds("velocity 1 2 0 at 0.5 0 0; spin 0 0 3;").0, [1.0, 2.0, 0.0]), "which is the same");
    assert!(near(speeds("velocity 1 2 0 at 1 0 0; spin 0 0 3;").0, [2.5, 2.0, 0.0]), "the far end");
    assert!(
        near(speeds("velocity 1 2 0 at 1 0 0;").0, [1.0, 2.0, 0.0]),
        "without spin all points have the same"
    );
    // Nothing of it is against the joint: it turns as it began.
    let m = read(
        "scene gravity 0 0 0; end
         solid a: mass 2; shape capsule 0.05 from 0 0 0 to 1 0 0; velocity 0 0 0 at 0 0 0; spin 0 0 3; end
         joint top: pin; object2 a; at 0 0 0 axis 0 0 1; end",
    );
    let after = run(&m, &State::new(&m), &StepConfig::default(), 60);
    let spin = after.state.spins[1].z;
    assert!(!after.is_flagged() && (spin - 3.0).abs() < 1e-6, "{spin}: {}", after.words());
    let (scene, _) =
        linkwork::scene::load(
            "particle p: mass 1; velocity 1 0 0 at 0 0 0; end",
            &mut |_| Err("none".into()),
        );
    assert!(scene.is_none(), "a particle has one point");
}
