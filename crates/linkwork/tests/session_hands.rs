//! Hands on every scene: dragging meets the pointer with every loop closed, letting go, taking back, looking back.

use linkwork::session::{
    Command, GripMode, Limit, Mode, Past, Policy, Session, SessionError, TickReport, replay,
};
use linkwork::{SolidId, Vector};
use std::path::PathBuf;

const TICK: f64 = 1.0 / 60.0;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes")
}

fn open(name: &str) -> Session {
    let text = std::fs::read_to_string(folder().join(format!("{name}.lw"))).unwrap();
    open_text(&text)
}

fn open_text(text: &str) -> Session {
    Session::open(text, &mut |_| Err("no files".into())).unwrap()
}

fn do_it(s: &mut Session, command: Command) -> String {
    s.apply(command).unwrap().hash
}

fn grab(s: &mut Session, hand: u32, solid: &str, point: [f64; 3], mode: GripMode) {
    do_it(s, Command::Grab { hand, solid: solid.into(), point, mode, rotation: None });
}

fn drag(s: &mut Session, hand: u32, to: Vector) {
    do_it(s, Command::Drag { hand, position: to.to_array(), rotation: None });
}

fn ticks(s: &mut Session, n: usize) -> TickReport {
    let mut report = s.look();
    for _ in 0..n {
        report = s.tick(TICK, &|| 0.0);
        assert_eq!(report.rejected, None);
    }
    report
}

fn point(s: &Session, solid: &str, local: [f64; 3]) -> Vector {
    s.pose(s.mechanism().find(solid).unwrap()).transform_point(Vector::from_array(local))
}

/// A reachable way for a solid's point in each scene: along it the loops must stay closed and the point be met.
const DRAGS: &[(&str, &str, [f64; 3], [f64; 3])] = &[
    ("fourbar", "crank", [0.6, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ("mesh5", "", [0.0; 3], [0.02, 0.05, 0.03]),
    ("reach", "turret", [0.2, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ("stewart", "", [0.0; 3], [0.0, 0.05, 0.0]),
    ("characters", "", [0.0; 3], [0.05, 0.05, 0.0]),
    ("snake", "", [0.0; 3], [0.1, 0.1, 0.0]),
];

fn last_solid(s: &Session) -> String {
    let m = s.mechanism();
    m.solids().iter().rev().find(|s| !s.is_fixed()).unwrap().name.clone()
}

#[test]
fn the_grabbed_point_meets_the_pointer_and_loops_stay_closed() {
    for mode in [Mode::Kinematic, Mode::Dynamic] {
        for (scene, solid, local, by) in DRAGS {
            let mut s = open(scene);
            if *scene == "reach" {
                // A target that goes round would take the arm out of the hand's reach.
                let text = s.text().replace("trajectory round;", "fixed; at 0.9 1.1 0.55;");
                assert_ne!(text, s.text());
                do_it(&mut s, Command::SetText { text });
            }
            let solid = if solid.is_empty() { last_solid(&s) } else { solid.to_string() };
            do_it(&mut s, Command::Mode { mode });
            do_it(&mut s, Command::Run { on: true });
            if *scene == "characters" {
                // Ten acrobats and nothing but a toe to hold them by: without falling, please.
                do_it(&mut s, Command::Gravity { value: [0.0; 3] });
            }
            let from = point(&s, &solid, *local);
            grab(&mut s, 7, &solid, *local, GripMode::Pin);
            for k in 1..=20 {
                drag(&mut s, 7, from + Vector::from_array(*by) * (k as f64 / 20.0));
                let report = ticks(&mut s, 1);
                assert!(report.receipt.coarse, "{scene}");
                assert!(report.gaps.position < 1e-3, "{scene} {mode:?}: {report:?}");
            }
            let report = ticks(&mut s, 60);
            let [grip] = &report.grabs[..] else { panic!("{report:?}") };
            println!(
                "{scene} {mode:?}: {:e} {:e} {:?}",
                grip.gap.position, report.gaps.position, report.receipt
            );
            assert!(grip.met, "{scene} {mode:?}: {report:?}");
            assert!(report.gaps.position < 1e-6 && report.gaps.angle < 1e-6, "{scene} {mode:?}: {report:?}");
            assert!(!report.receipt.coarse);
            let at = point(&s, &solid, *local);
            assert!((at - from - Vector::from_array(*by)).length() < 1e-6);
            assert_eq!(replay(&s.log()).unwrap().hash(), s.hash(), "{scene}");
        }
    }
}

/// Far beyond its reach: the arm stretches, nothing tears, and the gap is told.
#[test]
fn what_cannot_be_reached_is_told_and_nothing_tears() {
    for mode in [Mode::Kinematic, Mode::Dynamic] {
        for grip in [GripMode::Pin, GripMode::PinPose, GripMode::Pull] {
            for scene in ["fourbar", "reach", "jansen", "scissor-lift", "sarrus", "stewart", "slider-crank"] {
                let mut s = open(scene);
                do_it(&mut s, Command::Mode { mode });
                do_it(&mut s, Command::Run { on: true });
                let solid = last_solid(&s);
                let from = point(&s, &solid, [0.0; 3]);
                grab(&mut s, 1, &solid, [0.0; 3], grip);
                let mut worst: f64 = 0.0;
                for k in 1..=30 {
                    drag(&mut s, 1, from + Vector::new(8.0, 12.0, -6.0) * (k as f64 / 30.0));
                    let report = s.tick(TICK, &|| 0.0);
                    worst = worst.max(report.gaps.position);
                }
                let mut rejected = 0;
                for _ in 0..150 {
                    let report = s.tick(TICK, &|| 0.0);
                    worst = worst.max(report.gaps.position);
                    rejected += usize::from(report.rejected.is_some());
                }
                let report = s.look();
                println!(
                    "{scene} {mode:?} {grip:?}: open by {:.3} force {:.1?} of {:.1?}, gap {:e} worst {worst:e} rejected {rejected} E {:.3}",
                    report.grabs[0].gap.position,
                    report.grabs[0].force,
                    report.grabs[0].most_force,
                    report.gaps.position,
                    report.energy.kinetic
                );
                assert!(!report.grabs[0].met && report.grabs[0].gap.position > 1.0, "{scene}");
                assert!(worst < 0.02, "{scene} {mode:?} {grip:?}: {worst}");
                do_it(&mut s, Command::Release { hand: 1 });
                let report = ticks(&mut s, 60);
                assert!(report.gaps.position < 1e-6, "{scene} {mode:?} {grip:?}: {report:?}");
                assert!(report.grabs.is_empty());
            }
        }
    }
}

/// Nothing but balls, and a hand that jumps out of reach: the arm must come to rest pointing at it.
#[test]
fn a_free_arm_comes_to_rest_at_an_unmet_hand() {
    let mut s = open_text(
        "solid upper: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; end
         solid lower: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; at 1 0 0; end
         joint shoulder: ball; object2 upper; end
         joint elbow: ball; object1 upper; object2 lower; frame1 1 0 0; end",
    );
    do_it(&mut s, Command::Run { on: true });
    grab(&mut s, 1, "lower", [1.0, 0.0, 0.0], GripMode::Pin);
    drag(&mut s, 1, Vector::new(1.0, 1.0, 0.5));
    assert!(ticks(&mut s, 60).grabs[0].met);
    drag(&mut s, 1, Vector::new(0.0, 5.0, 0.0));
    let mut most: f64 = 0.0;
    for _ in 0..240 {
        most = most.max(ticks(&mut s, 1).energy.kinetic);
    }
    let report = s.look();
    assert!((report.grabs[0].gap.position - 3.0).abs() < 1e-3 && report.energy.kinetic < 1e-2, "{report:?}");
    // A hand that jumps is followed at 0.4 of the solid's size per step, 25 m/s here: that much, and it is gone again.
    assert!(most < 2.0 * 0.5 * 2.0 * 25.0 * 25.0, "{most}");
    // Back within reach it is met again.
    drag(&mut s, 1, Vector::new(1.0, 1.0, 0.0));
    assert!(ticks(&mut s, 90).grabs[0].met);
}

const PENDULUM: &str = "/* keep me */\nsolid bar: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; end // and me\n\
    joint hang: ball; object2 bar; end\n";

#[test]
fn letting_go_keeps_the_velocity_only_where_there_is_one() {
    for mode in [Mode::Dynamic, Mode::Kinematic] {
        let mut s = open_text("solid ball: shape sphere 0.1; mass 1; end scene gravity 0 0 0; end");
        do_it(&mut s, Command::Mode { mode });
        do_it(&mut s, Command::Run { on: true });
        grab(&mut s, 1, "ball", [0.0; 3], GripMode::Pin);
        for k in 1..=30 {
            drag(&mut s, 1, Vector::X * (0.02 * k as f64));
            ticks(&mut s, 1);
        }
        do_it(&mut s, Command::Release { hand: 1 });
        let v = s.state().velocities[1];
        let x = point(&s, "ball", [0.0; 3]).x;
        ticks(&mut s, 30);
        let moved = point(&s, "ball", [0.0; 3]).x - x;
        match mode {
            // 0.02 m per tick are 1.2 m/s.
            Mode::Dynamic => {
                assert!((v.x - 1.2).abs() < 0.05 && (moved - 0.5 * v.x).abs() < 1e-9, "{v} {moved}")
            }
            Mode::Kinematic => assert!(v == Vector::ZERO && moved == 0.0, "{v} {moved}"),
        }
    }
}

#[test]
fn a_pose_follows_the_turn_of_the_hand() {
    for mode in [Mode::Dynamic, Mode::Kinematic] {
        let mut s = open_text("solid box: shape box 1 0.5 0.2; mass 1; at 0 1 0; end");
        do_it(&mut s, Command::Mode { mode });
        do_it(&mut s, Command::Run { on: true });
        // The hand itself is turned by some amount: what counts is how it turns from there.
        let hand = linkwork::math::exp(Vector::new(0.3, -1.0, 0.4));
        let turn = linkwork::math::exp(Vector::new(0.0, 0.0, 1.2));
        let wxyz = |q: linkwork::Rotation| Some([q.w, q.x, q.y, q.z]);
        let (solid, point) = ("box".into(), [0.5, 0.0, 0.0]);
        do_it(&mut s, Command::Grab { hand: 1, solid, point, mode: GripMode::PinPose, rotation: wxyz(hand) });
        do_it(&mut s, Command::Drag { hand: 1, position: [0.5, 1.3, 0.0], rotation: wxyz(turn * hand) });
        let report = ticks(&mut s, 90);
        assert!(report.grabs[0].met, "{report:?}");
        let off = s.pose(SolidId(1)).rotation * turn.inverse();
        assert!(linkwork::math::log(off).length() < 1e-6, "{mode:?}");
    }
}

#[test]
fn undo_redo_and_escape_restore_the_very_bits() {
    for mode in [Mode::Dynamic, Mode::Kinematic] {
        let mut s = open("fourbar");
        do_it(&mut s, Command::Mode { mode });
        do_it(&mut s, Command::Run { on: true });
        ticks(&mut s, 10);
        let before = s.hash();
        let gesture = |s: &mut Session, end: Command| {
            let at = point(s, "rocker", [1.2, 0.0, 0.0]);
            grab(s, 1, "rocker", [1.2, 0.0, 0.0], GripMode::Pin);
            drag(s, 1, at + Vector::new(0.1, 0.02, 0.0));
            ticks(s, 20);
            assert_ne!(s.hash(), before);
            do_it(s, end);
        };
        gesture(&mut s, Command::Cancel { hand: 1 });
        assert_eq!(s.hash(), before);
        // What was cancelled is no edit.
        assert_eq!(s.edit_counts(), (0, 0));
        gesture(&mut s, Command::Release { hand: 1 });
        assert_eq!(s.edit_counts(), (1, 0));
        let after = s.hash();
        do_it(&mut s, Command::Undo);
        assert_eq!(s.hash(), before);
        do_it(&mut s, Command::Redo);
        assert_eq!(s.hash(), after);
        do_it(&mut s, Command::Undo);
        assert_eq!(s.hash(), before);
        assert!(matches!(s.apply(Command::Undo), Err(SessionError::Nothing { .. })));
        // In the middle of a gesture, too.
        grab(&mut s, 1, "rocker", [1.2, 0.0, 0.0], GripMode::Pin);
        ticks(&mut s, 5);
        let applied = s.apply(Command::Undo).unwrap();
        assert_eq!((s.hash(), applied.released), (before, vec![1]));
        // A click that moved nothing is no edit.
        do_it(&mut s, Command::Run { on: false });
        let edits = s.edit_counts().0;
        grab(&mut s, 1, "rocker", [1.2, 0.0, 0.0], GripMode::Pin);
        do_it(&mut s, Command::Release { hand: 1 });
        assert_eq!(s.edit_counts().0, edits);
        assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
    }
}

#[test]
fn the_past_can_be_seen_and_left_another_way() {
    let mut s = open("slider-crank");
    do_it(&mut s, Command::Run { on: true });
    let mut hashes = vec![s.hash()];
    for _ in 0..40 {
        ticks(&mut s, 1);
        hashes.push(s.hash());
    }
    let line = s.timeline();
    assert_eq!((line.first, line.last, line.scrubbed), (0, 40, false));
    do_it(&mut s, Command::Scrub { to: Past::Index(25) });
    assert_eq!(s.hash(), hashes[25]);
    assert!(!s.settings().running && s.timeline().scrubbed);
    do_it(&mut s, Command::Step { count: -5 });
    assert_eq!(s.hash(), hashes[20]);
    do_it(&mut s, Command::Step { count: 3 });
    assert_eq!(s.hash(), hashes[23]);
    do_it(&mut s, Command::Scrub { to: Past::Time(10.5 * TICK) });
    assert_eq!(s.hash(), hashes[10]);
    // Steps beyond the end of the past are new ones.
    do_it(&mut s, Command::Scrub { to: Past::Index(40) });
    assert!(!s.timeline().scrubbed);
    do_it(&mut s, Command::Step { count: 1 });
    assert_eq!(s.timeline().last, 41);
    do_it(&mut s, Command::Scrub { to: Past::Index(30) });
    do_it(&mut s, Command::Branch);
    assert_eq!((s.timeline().last, s.hash()), (30, hashes[30]));
    // The same way again gives the same; another one does not.
    do_it(&mut s, Command::Step { count: 2 });
    assert_eq!(s.hash(), hashes[32]);
    do_it(&mut s, Command::Scrub { to: Past::Index(30) });
    do_it(&mut s, Command::Gravity { value: [0.0, -1.0, 0.0] });
    do_it(&mut s, Command::Run { on: true });
    ticks(&mut s, 2);
    assert_eq!(s.timeline().last, 32);
    assert_ne!(s.hash(), hashes[32]);
    assert!(s.apply(Command::Scrub { to: Past::Index(1000) }).is_err());
    do_it(&mut s, Command::Reset);
    assert_eq!(s.hash(), hashes[0]);
    assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
}

/// A clock on which every reading costs: the work of a step is what happens between two of them.
fn slow_clock(ms: f64) -> impl Fn() -> f64 {
    let now = std::cell::Cell::new(0.0);
    move || {
        now.set(now.get() + 1e-3 * ms);
        now.get()
    }
}

#[test]
fn the_budget_shows_in_the_receipt_and_replays_without_a_clock() {
    let run = |budget: Option<f64>, policy: Policy| {
        let mut s = open("mesh5");
        do_it(&mut s, Command::Policy { policy });
        do_it(&mut s, Command::Budget { ms: budget });
        do_it(&mut s, Command::Tolerance { value: 1e-12 });
        do_it(&mut s, Command::Run { on: true });
        let solid = last_solid(&s);
        let from = point(&s, &solid, [0.0; 3]);
        grab(&mut s, 1, &solid, [0.0; 3], GripMode::Pin);
        let clock = slow_clock(6.0);
        let mut reports = Vec::new();
        for k in 0..20 {
            drag(&mut s, 1, from + Vector::new(0.0, 0.01 * k as f64, 0.0));
            reports.push(s.tick(2.0 * TICK, &clock));
        }
        let again = replay(&s.log()).unwrap();
        assert_eq!(again.hash(), s.hash());
        reports
    };
    let free = run(None, Policy::AlwaysExact);
    let tight = run(Some(8.0), Policy::AlwaysExact);
    let coarse = run(None, Policy::CoarseWhileDragging);
    let last = |r: &[TickReport]| r[r.len() - 1].receipt.clone();
    assert_eq!((last(&free).allowed_ms, last(&free).iterations), (None, 10));
    assert_eq!((last(&tight).allowed_ms, last(&tight).limit), (Some(8.0), Limit::Budget));
    assert!(last(&tight).iterations < 10, "{:?}", last(&tight));
    // Two steps were due; the clock left time for one.
    assert!(tight.iter().all(|r| r.steps == 1 && r.receipt.due == 2), "{:?}", last(&tight));
    assert!(free.iter().all(|r| r.steps == 2 && r.receipt.used_ms > 11.0));
    assert!(last(&coarse).coarse && last(&coarse).iterations == 2, "{:?}", last(&coarse));
}

/// A free net whirled round by a corner for ten seconds, coarsely: no joint opens so far that anybody would see it.
#[test]
fn coarse_steps_leave_no_gap_that_can_be_seen() {
    let mut s = open("mesh5");
    do_it(&mut s, Command::Run { on: true });
    let solid = last_solid(&s);
    let from = point(&s, &solid, [0.0; 3]);
    grab(&mut s, 1, &solid, [0.0; 3], GripMode::Pin);
    let mut worst = 0.0_f64;
    for k in 0..600 {
        let angle = f64::from(k) * 0.05;
        drag(&mut s, 1, from + Vector::new(angle.sin(), 1.0 - angle.cos(), 0.5 * angle.sin()) * 0.3);
        worst = worst.max(s.tick(TICK, &|| 0.0).gaps.position);
    }
    assert!(worst < 0.01, "{worst} m between bars of a metre");
    assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
}

/// A budget cuts an iterative solver's own iterations, too, down to the five of Faure 1998, section 4.3.
#[test]
fn a_budget_reaches_into_an_iterative_solver() {
    let run = |budget: Option<f64>| {
        let mut s = open("mesh5");
        for command in [
            Command::Solver { name: "full-iterative".into() },
            Command::Policy { policy: Policy::AlwaysExact },
            Command::Tolerance { value: 1e-10 },
            Command::Gravity { value: [0.0, -9.81, 0.0] },
            Command::Budget { ms: budget },
            Command::Run { on: true },
        ] {
            do_it(&mut s, command);
        }
        let solid = last_solid(&s);
        grab(&mut s, 1, &solid, [0.0; 3], GripMode::Pull);
        let clock = slow_clock(6.0);
        let mut most = 0;
        for k in 0..20 {
            let report = s.tick(TICK, &clock);
            if k >= 5 {
                most = most.max(report.solver_iterations);
            }
        }
        assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
        most
    };
    let (free, tight) = (run(None), run(Some(1.0)));
    assert!(tight > 0 && 2 * tight < free, "{tight} of {free}");
}

/// Iterative solvers are for the steps: a hand asks for dozens of solves to rounding, which no budget could cut short.
#[test]
fn hands_cost_the_same_with_every_solver() {
    let posed = |solver: &str| {
        let mut s = open("walker");
        do_it(&mut s, Command::Mode { mode: Mode::Kinematic });
        do_it(&mut s, Command::Solver { name: solver.into() });
        let solid = last_solid(&s);
        let from = point(&s, &solid, [0.0; 3]);
        grab(&mut s, 1, &solid, [0.0; 3], GripMode::Pin);
        drag(&mut s, 1, from + Vector::new(0.05, 0.02, 0.0));
        let report = ticks(&mut s, 5);
        (report.iterations, report.solver_iterations, s.hash())
    };
    let direct = posed("sparse-direct");
    assert_eq!(posed("full-iterative"), direct);
    assert_eq!(posed("structured-iterative"), direct);
}

#[test]
fn two_hands_and_handing_over() {
    for mode in [Mode::Dynamic, Mode::Kinematic] {
        let mut s = open_text("solid bar: shape capsule 0.05 from -1 0 0 to 1 0 0; mass 2; at 0 1 0; end");
        do_it(&mut s, Command::Mode { mode });
        do_it(&mut s, Command::Run { on: true });
        grab(&mut s, 1, "bar", [-1.0, 0.0, 0.0], GripMode::Pin);
        ticks(&mut s, 3);
        grab(&mut s, 2, "bar", [1.0, 0.0, 0.0], GripMode::Pin);
        assert!(matches!(
            s.apply(Command::Grab {
                hand: 2,
                solid: 1.into(),
                point: [0.0; 3],
                mode: GripMode::Pin,
                rotation: None
            }),
            Err(SessionError::HandBusy { hand: 2 })
        ));
        drag(&mut s, 1, Vector::new(0.0, 0.5, 0.0));
        drag(&mut s, 2, Vector::new(0.0, 2.5, 0.0));
        let report = ticks(&mut s, 120);
        assert!(report.grabs.iter().all(|g| g.met), "{mode:?} {report:?}");
        assert!((point(&s, "bar", [1.0, 0.0, 0.0]) - Vector::new(0.0, 2.5, 0.0)).length() < 1e-6);
        // One hand lets go: the other still holds, and nothing jumps.
        let before = point(&s, "bar", [1.0, 0.0, 0.0]);
        do_it(&mut s, Command::Release { hand: 1 });
        let report = ticks(&mut s, 1);
        assert_eq!(report.grabs.len(), 1);
        assert!((point(&s, "bar", [1.0, 0.0, 0.0]) - before).length() < 1e-6);
        // Escape of the other hand: as it was when that one took hold.
        do_it(&mut s, Command::Cancel { hand: 2 });
        assert!((point(&s, "bar", [-1.0, 0.0, 0.0]) - Vector::new(-1.0, 1.0, 0.0)).length() < 1e-2);
        assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
    }
}

#[test]
fn refusals_are_polite_and_leave_no_trace() {
    let mut s = open("slider-crank");
    let entries = s.log().entries.len();
    let grab = |solid: &str| Command::Grab {
        hand: 1,
        solid: solid.into(),
        point: [0.0; 3],
        mode: GripMode::Pin,
        rotation: None,
    };
    for (command, word) in [
        (grab("barrel"), "does not move"),
        (grab("world"), "does not move"),
        (grab("nobody"), "no solid"),
        (Command::Drag { hand: 3, position: [0.0; 3], rotation: None }, "holds nothing"),
        (Command::Release { hand: 3 }, "holds nothing"),
        (Command::Tolerance { value: f64::NAN }, "not finite"),
        (Command::TimeStep { seconds: 0.0 }, "step must"),
        (Command::Method { name: "magic".into() }, "variational"),
        (Command::Solver { name: "magic".into() }, "sparse-direct"),
        (Command::Enable { joint: "no".into(), on: false }, "no joint"),
        (Command::Redo, "nothing"),
        (Command::Step { count: i32::MIN + 1 }, "too many"),
    ] {
        let why = s.apply(command.clone()).unwrap_err();
        assert!(why.to_string().contains(word), "{command:?}: {why}");
        // Data like everything else.
        let json = serde_json::to_string(&why).unwrap();
        assert_eq!(serde_json::from_str::<SessionError>(&json).unwrap(), why);
    }
    assert_eq!(s.log().entries.len(), entries);
}

#[test]
fn texts_are_edited_while_running_and_broken_ones_change_nothing() {
    let mut s = open_text(PENDULUM);
    do_it(&mut s, Command::Run { on: true });
    ticks(&mut s, 20);
    let (before, place) = (s.hash(), point(&s, "bar", [1.0, 0.0, 0.0]));
    let broken = PENDULUM.replace("object2 bar", "object2 bra");
    let SessionError::Text { diagnostics } = s.apply(Command::SetText { text: broken }).unwrap_err() else {
        panic!("not a text error")
    };
    assert!(diagnostics.iter().any(|d| d.is_error && d.line == 3), "{diagnostics:?}");
    assert_eq!((s.hash(), s.text()), (before, PENDULUM));
    // Repaired, with a second solid: the first stays where it is.
    let more = format!("{PENDULUM}solid ball: shape sphere 0.2; mass 3; at 2 0 0; end\n");
    let applied = s.apply(Command::SetText { text: more.clone() }).unwrap();
    assert!(applied.reloaded);
    assert_eq!(point(&s, "bar", [1.0, 0.0, 0.0]), place);
    assert!(s.state().velocities[1].length() > 0.1 && s.state().time > 0.3);
    // A solid that is declared elsewhere goes there.
    do_it(&mut s, Command::SetText { text: more.replace("at 2 0 0", "at 0 5 0") });
    assert_eq!(point(&s, "ball", [0.0; 3]), Vector::new(0.0, 5.0, 0.0));
    assert_eq!(point(&s, "bar", [1.0, 0.0, 0.0]), place);
    do_it(&mut s, Command::Undo);
    assert_eq!(s.text(), more);
    do_it(&mut s, Command::Undo);
    assert_eq!((s.hash(), s.text()), (before, PENDULUM));
    assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
}

#[test]
fn an_amendment_is_taken_back_with_what_it_goes_on_with() {
    let mut s = open_text(PENDULUM);
    let heavier = |mass: f64| format!("{PENDULUM}solid ball: shape sphere 0.2; mass {mass}; at 2 0 0; end\n");
    // Nothing to go on with: it is an edit of its own.
    let start = s.hash();
    do_it(&mut s, Command::Amend { text: heavier(1.0) });
    do_it(&mut s, Command::Undo);
    assert_eq!((s.hash(), s.text()), (start, PENDULUM));
    do_it(&mut s, Command::SetText { text: heavier(1.0) });
    let first = s.edit_counts().0;
    for mass in [2.0, 3.0] {
        do_it(&mut s, Command::Amend { text: heavier(mass) });
    }
    assert_eq!((s.text(), s.edit_counts()), (heavier(3.0).as_str(), (first, 0)));
    do_it(&mut s, Command::Undo);
    assert_eq!(s.text(), PENDULUM);
    do_it(&mut s, Command::Redo);
    assert_eq!(s.text(), heavier(3.0));
    assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
}

#[test]
fn constraints_are_added_and_deleted_in_the_text_with_every_comment_kept() {
    let mut s =
        open_text(&format!("{PENDULUM}solid ball: shape sphere 0.2; mass 3; at 2 0.5 0; end /* last */\n"));
    do_it(&mut s, Command::Run { on: true });
    ticks(&mut s, 15);
    let (start, poses) = (s.hash(), s.poses().collect::<Vec<_>>());
    let text = s.text().to_owned();
    let at = point(&s, "bar", [1.0, 0.0, 0.0]);
    let add = |kind: &str, point: Vector, point2: Option<Vector>| Command::AddConstraint {
        kind: kind.into(),
        solid1: "bar".into(),
        solid2: "ball".into(),
        point: point.to_array(),
        point2: point2.map(|p| p.to_array()),
        axis: Some([0.0, 0.0, 1.0]),
        value: None,
        name: None,
    };
    let applied = s.apply(add("pin", at, None)).unwrap();
    assert_eq!(applied.joint, Some(1));
    for kept in ["/* keep me */", "// and me", "/* last */", "joint pin-1: pin; object1 bar; object2 ball;"] {
        assert!(s.text().contains(kept), "{kept}: {}", s.text());
    }
    // It holds where things are: nothing moved.
    let moved =
        s.poses().zip(&poses).map(|(a, b)| (a.translation - b.translation).length()).fold(0.0, f64::max);
    assert!(moved < 1e-9, "{moved}");
    assert!(ticks(&mut s, 30).gaps.position < 1e-6);
    let name = s.mechanism().joints()[1].name.clone();
    do_it(&mut s, Command::DeleteConstraint { joint: name.as_str().into() });
    assert_eq!(s.text(), text);
    do_it(&mut s, Command::Undo);
    do_it(&mut s, Command::Undo);
    assert_eq!(s.hash(), start);
    // Two different points are pulled together.
    let ball = point(&s, "ball", [0.0; 3]);
    do_it(&mut s, add("ball", at, Some(ball)));
    assert!((point(&s, "bar", [1.0, 0.0, 0.0]) - point(&s, "ball", [0.0; 3])).length() < 1e-6);
    do_it(&mut s, Command::DeleteConstraint { joint: "hang".into() });
    assert!(!s.text().contains("hang") && s.text().contains("// and me"));
    for (command, word) in [
        (add("glue", at, None), "not known"),
        (add("screw", at, None), "pitch"),
        (Command::DeleteConstraint { joint: 9.into() }, "no joint"),
    ] {
        assert!(s.apply(command).unwrap_err().to_string().contains(word));
    }
    assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
}

#[test]
fn switched_off_joints_let_go_and_close_again() {
    let mut s = open("fourbar");
    do_it(&mut s, Command::Run { on: true });
    do_it(&mut s, Command::Enable { joint: "wrist".into(), on: false });
    ticks(&mut s, 30);
    let text = s.text().to_owned();
    let open = point(&s, "coupler", [1.8, 0.0, -0.13]).distance(point(&s, "rocker", [1.2, 0.0, 0.0]));
    assert!(open > 0.05, "{open}");
    do_it(&mut s, Command::Enable { joint: "wrist".into(), on: true });
    let report = ticks(&mut s, 5);
    assert!(report.gaps.position < 1e-6, "{report:?}");
    assert_eq!(s.text(), text);
    assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
}

#[test]
fn what_cannot_close_is_told_and_takes_a_bounded_count_of_everything() {
    let mut s = open("walker");
    do_it(&mut s, Command::Solver { name: "full-iterative".into() });
    let tied = format!(
        "{}\njoint tie: ball; object1 l1-f; object2 l5-f; frame1 0 0 0; frame2 3 1 0; end\n",
        s.text()
    );
    let told =
        |warnings: &[linkwork::session::Complaint]| warnings.iter().any(|w| w.message.contains("`tie`"));
    let out = s.apply(Command::SetText { text: tied }).unwrap();
    assert!(told(&out.warnings), "{:?}", out.warnings);

    let out = s.apply(Command::Reset).unwrap();
    assert!(told(&out.warnings), "{:?}", out.warnings);
    // Neither a step by itself nor one of a tick without a budget goes on for as long as it likes.
    do_it(&mut s, Command::Step { count: 1 });
    do_it(&mut s, Command::Run { on: true });
    let report = s.tick(TICK, &|| 0.0);
    let joints = s.mechanism().joints().len() as u32;
    assert!(report.solver_iterations <= 3 * report.steps.max(1) * 1_000_000 / joints, "{report:?}");
    assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
}

#[test]
fn logs_survive_json_and_damaged_ones_are_refused() {
    let mut s = open_text(PENDULUM);
    do_it(&mut s, Command::Run { on: true });
    grab(&mut s, 1, "bar", [0.9, 0.01, 0.0], GripMode::Pull);
    for k in 0..40 {
        drag(&mut s, 1, Vector::new(0.9 - 0.013 * k as f64, 0.017 * k as f64, 0.1 / 3.0));
        ticks(&mut s, 1);
    }
    let json = serde_json::to_string(&s.log()).unwrap();
    let log: linkwork::session::Log = serde_json::from_str(&json).unwrap();
    assert_eq!(log, s.log());
    assert_eq!(replay(&log).unwrap().hash(), s.hash());
    let report = serde_json::to_string(&s.look()).unwrap();
    assert_eq!(serde_json::from_str::<TickReport>(&report).unwrap(), s.look());

    let damage = |f: &dyn Fn(&mut linkwork::session::Log)| {
        let mut bad = log.clone();
        f(&mut bad);
        replay(&bad).err().expect("it is damaged").to_string()
    };
    assert!(damage(&|l| l.version = 9).contains("version 9"));
    assert!(damage(&|l| l.text.push_str("solid")).contains("scene"));
    assert!(
        damage(&|l| {
            l.entries.remove(1);
        })
        .contains("entry 2")
    );
    assert!(
        damage(&|l| {
            l.entries.pop();
        })
        .contains("recorded")
    );
    assert!(
        damage(&|l| {
            for e in &mut l.entries {
                if let linkwork::session::Entry::Steps { count, .. } = e {
                    *count = u32::MAX;
                }
            }
        })
        .contains("counts")
    );
    assert!(serde_json::from_str::<linkwork::session::Log>(&json[..json.len() / 2]).is_err());
}
