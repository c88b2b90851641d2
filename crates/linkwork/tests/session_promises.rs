//! What hands, undo and the past promise where several of them meet: edits while something is held, two hands and Escape,
//! texts that set things and are taken back, pulls that do not overshoot, mechanisms that must not tear.

use linkwork::session::{Command, GripMode, Limit, Log, Mode, Past, Session, Settings, TickReport, replay};
use linkwork::{Method, Vector};

const TICK: f64 = 1.0 / 60.0;

/// Two links and a ball that has nothing to do with them.
const ARM: &str = "scene gravity 0 0 0; end
solid arm: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; end
solid hand: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; at 1 0 0; end
solid other: shape sphere 0.1; mass 1; at 5 0 0; end
joint a: ball; object2 arm; end
joint b: ball; object1 arm; object2 hand; frame1 1 0 0; end
joint c: ball; object2 other; frame1 5 0 0; end";

fn open(text: &str) -> Session {
    Session::open(text, &mut |_| Err("no files".into())).unwrap()
}

fn act(s: &mut Session, command: Command) {
    s.apply(command).unwrap();
}

fn grab(s: &mut Session, hand: u32, solid: &str, point: [f64; 3], mode: GripMode) {
    act(s, Command::Grab { hand, solid: solid.into(), point, mode, rotation: None });
}

fn drag(s: &mut Session, hand: u32, position: [f64; 3]) {
    act(s, Command::Drag { hand, position, rotation: None });
}

fn ticks(s: &mut Session, n: usize) -> TickReport {
    let mut report = s.look();
    for _ in 0..n {
        report = s.tick(TICK, &|| 0.0);
    }
    report
}

/// And the log survives its own text.
fn repeats(s: &Session) {
    let log: Log = serde_json::from_str(&serde_json::to_string(&s.log()).unwrap()).unwrap();
    assert_eq!(replay(&log).unwrap().hash(), s.hash());
}

#[test]
fn an_edit_elsewhere_leaves_what_is_held_where_it_is() {
    for (mode, run) in
        [(GripMode::Pin, true), (GripMode::Pin, false), (GripMode::PinPose, true), (GripMode::Pull, true)]
    {
        let mut s = open(ARM);
        act(&mut s, Command::Run { on: run });
        grab(&mut s, 1, "hand", [1.0, 0.0, 0.0], mode);
        drag(&mut s, 1, [0.5, 1.2, 0.0]);
        let held = Vector::from_array(ticks(&mut s, 600).grabs[0].point);
        for command in [
            Command::Enable { joint: "c".into(), on: false },
            Command::Gravity { value: [0.0, 0.0, 1e-9] },
            Command::Enable { joint: "c".into(), on: true },
        ] {
            act(&mut s, command);
            for _ in 0..20 {
                let now = ticks(&mut s, 1);
                let moved = Vector::from_array(now.grabs[0].point).distance(held);
                assert!(moved < 1e-3, "{mode:?} running {run}: {moved}, {now:?}");
            }
        }
        repeats(&s);
    }
}

#[test]
fn what_cannot_be_held_together_is_stopped_instead_of_torn() {
    // An arm a metre long that weighs nothing against turning: whatever the method makes of it, no gap may be seen.
    let text = "solid a: mass 1; inertia 1e-30 1e-30 1e-30; end joint pin; object2 a; frame2 1 0 0; end";
    let mut refused = 0;
    for method in Method::ALL {
        let mut s = open(text);
        act(&mut s, Command::Method { name: method.name().into() });
        act(&mut s, Command::Run { on: true });
        for _ in 0..300 {
            let (before, t) = (s.hash(), s.state().time);
            let report = ticks(&mut s, 1);
            assert!(report.gaps.position < 1.5, "{}: {report:?}", method.name());
            if let Some(why) = &report.rejected {
                refused += 1;
                assert!(why.contains("tear") || why.contains("range") || why.contains("jump"), "{why}");
                assert_eq!(report.receipt.limit, Limit::Rejected);
                // The last good pose stays, at its time.
                assert!(s.state().time == t && (s.hash() == before || refused > 0));
            }
        }
        repeats(&s);
    }
    assert!(refused > 0);
}

#[test]
fn looking_back_forgets_nothing_and_running_shows_what_is_known() {
    // Without time.
    let mut s = open(ARM);
    act(&mut s, Command::Mode { mode: Mode::Kinematic });
    grab(&mut s, 1, "hand", [1.0, 0.0, 0.0], GripMode::Pin);
    for k in 0..30 {
        drag(&mut s, 1, [1.9 - 0.02 * f64::from(k), 0.4, 0.1]);
        ticks(&mut s, 1);
    }
    act(&mut s, Command::Release { hand: 1 });
    ticks(&mut s, 5);
    let (line, end) = (s.timeline(), s.hash());
    act(&mut s, Command::Scrub { to: Past::Index(line.first + 5) });
    let there = s.hash();
    ticks(&mut s, 3);
    assert_eq!((s.hash(), s.timeline().last), (there, line.last));
    act(&mut s, Command::Scrub { to: Past::Index(line.last) });
    assert_eq!(s.hash(), end);
    repeats(&s);

    // With it: the very bits again, as fast as they came, and then on.
    let mut s = open(&ARM.replace("gravity 0 0 0", "gravity 0 -9.81 0"));
    act(&mut s, Command::Run { on: true });
    ticks(&mut s, 40);
    let (line, end) = (s.timeline(), s.hash());
    act(&mut s, Command::Scrub { to: Past::Time(0.25) });
    let from = s.state().time;
    act(&mut s, Command::Run { on: true });
    ticks(&mut s, 6);
    assert!((s.state().time - from - 6.0 * TICK).abs() < 1e-9 && s.timeline().last == line.last);
    while s.timeline().scrubbed {
        ticks(&mut s, 1);
    }
    assert_eq!(s.hash(), end);
    ticks(&mut s, 1);
    assert_eq!(s.timeline().last, line.last + 1);
    // Under another gravity it was another future.
    act(&mut s, Command::Scrub { to: Past::Time(0.25) });
    act(&mut s, Command::Gravity { value: [0.0; 3] });
    assert!(!s.timeline().scrubbed && s.timeline().to < 0.26);
    repeats(&s);
}

#[test]
fn escape_takes_back_both_hands_and_all_that_came_after_them() {
    for order in [[1, 2], [2, 1]] {
        let mut s = open(ARM);
        act(&mut s, Command::Run { on: true });
        ticks(&mut s, 3);
        act(&mut s, Command::Run { on: false });
        let start = s.hash();
        grab(&mut s, 1, "hand", [1.0, 0.0, 0.0], GripMode::Pin);
        drag(&mut s, 1, [0.5, 1.2, 0.0]);
        ticks(&mut s, 10);
        grab(&mut s, 2, "arm", [0.5, 0.0, 0.0], GripMode::Pin);
        drag(&mut s, 2, [0.0, 0.0, 0.5]);
        ticks(&mut s, 10);
        for hand in order {
            act(&mut s, Command::Cancel { hand });
        }
        assert_eq!(s.hash(), start, "{order:?}");
        assert_eq!(s.edit_counts(), (0, 0));
        repeats(&s);
    }
    // An edit with the hand closed goes with the gesture.
    let mut s = open(ARM);
    let start = s.hash();
    grab(&mut s, 1, "hand", [1.0, 0.0, 0.0], GripMode::Pin);
    drag(&mut s, 1, [0.5, 1.2, 0.0]);
    ticks(&mut s, 10);
    act(&mut s, Command::Enable { joint: "c".into(), on: false });
    act(&mut s, Command::Cancel { hand: 1 });
    assert_eq!(s.hash(), start);
    assert!(s.mechanism().joints().iter().all(|j| j.enabled));
    assert!(s.apply(Command::Undo).is_err());
}

#[test]
fn a_touch_that_moves_nothing_takes_nothing_away() {
    let mut s = open(ARM);
    act(&mut s, Command::Enable { joint: "c".into(), on: false });
    act(&mut s, Command::Undo);
    let start = s.hash();
    // One hand, two hands, one that is taken back.
    grab(&mut s, 1, "hand", [1.0, 0.0, 0.0], GripMode::Pin);
    act(&mut s, Command::Release { hand: 1 });
    assert_eq!(s.edit_counts(), (0, 1));
    grab(&mut s, 1, "hand", [1.0, 0.0, 0.0], GripMode::Pin);
    grab(&mut s, 2, "arm", [1.0, 0.0, 0.0], GripMode::Pin);
    act(&mut s, Command::Release { hand: 1 });
    act(&mut s, Command::Release { hand: 2 });
    assert_eq!(s.edit_counts(), (0, 1));
    grab(&mut s, 1, "hand", [1.0, 0.0, 0.0], GripMode::Pin);
    drag(&mut s, 1, [0.5, 1.2, 0.0]);
    ticks(&mut s, 10);
    act(&mut s, Command::Cancel { hand: 1 });
    assert_eq!((s.edit_counts(), s.hash()), ((0, 1), start));
    // An undo that empties the hand leaves its own redo, and a touch after it does not bring back an older one.
    grab(&mut s, 1, "hand", [1.0, 0.0, 0.0], GripMode::Pin);
    drag(&mut s, 1, [0.5, 1.2, 0.0]);
    ticks(&mut s, 10);
    act(&mut s, Command::Undo);
    assert_eq!((s.edit_counts(), s.hash()), ((0, 1), start));
    grab(&mut s, 1, "hand", [1.0, 0.0, 0.0], GripMode::Pin);
    act(&mut s, Command::Release { hand: 1 });
    act(&mut s, Command::Redo);
    assert!(
        s.mechanism().joints().iter().all(|j| j.enabled) && s.hash() != start,
        "the drag, not the switch"
    );
    act(&mut s, Command::Undo);
    // Two hands that do move something: one undo, and nothing to do again.
    grab(&mut s, 1, "hand", [1.0, 0.0, 0.0], GripMode::Pin);
    grab(&mut s, 2, "arm", [1.0, 0.0, 0.0], GripMode::Pin);
    drag(&mut s, 1, [0.5, 1.2, 0.0]);
    ticks(&mut s, 30);
    act(&mut s, Command::Release { hand: 1 });
    act(&mut s, Command::Release { hand: 2 });
    assert_eq!(s.edit_counts(), (1, 0));
    act(&mut s, Command::Undo);
    assert_eq!(s.hash(), start);
    repeats(&s);
}

#[test]
fn a_text_that_is_taken_back_takes_its_settings_and_lints_along() {
    let mut s = open(ARM);
    act(&mut s, Command::Speed { factor: 2.0 });
    let before: Settings = s.settings().clone();
    let set = "gravity 0 -5 0; end settings method displacement; step 0.002; tolerance 0.5; end
solid lonely: shape sphere 0.1; mass 1e-9; end";
    let text = ARM.replacen("gravity 0 0 0; end", set, 1);
    act(&mut s, Command::SetText { text: text.clone() });
    assert_eq!((s.settings().step, s.settings().gravity[1]), (0.002, -5.0));
    act(&mut s, Command::Undo);
    assert_eq!(*s.settings(), before);
    assert_eq!(s.mechanism().gravity, Vector::ZERO);
    assert_eq!(s.warnings(), open(ARM).warnings());
    act(&mut s, Command::Redo);
    assert_eq!((s.settings().step, s.settings().gravity[1], s.settings().speed), (0.002, -5.0, 2.0));
    assert_eq!(s.warnings(), open(&text).warnings());
    // A block that is deleted sets nothing any more; what the user set stays.
    act(&mut s, Command::Iterations { count: 17 });
    act(&mut s, Command::SetText { text: ARM.to_owned() });
    assert_eq!(*s.settings(), Settings { iterations: 17, ..before });
    repeats(&s);
}

#[test]
fn the_joint_that_is_deleted_takes_its_switch_along() {
    let mut s = open(
        "solid a: shape box 1 1 1; mass 1; end solid b: shape box 1 1 1; mass 1; at 1 0 0; end
joint ball; object1 a; object2 b; frame1 0.5 0 0.5; frame2 -0.5 0 0.5; end
joint ball; object1 a; object2 b; frame1 0.5 0 -0.5; frame2 -0.5 0 -0.5; end",
    );
    act(&mut s, Command::Enable { joint: 0.into(), on: false });
    act(&mut s, Command::DeleteConstraint { joint: 0.into() });
    assert_eq!(s.mechanism().joints().iter().map(|j| j.enabled).collect::<Vec<_>>(), [true]);
    repeats(&s);
}

#[test]
fn small_steps_and_high_speeds_keep_time() {
    for (speed, step) in [(1.0, 1e-3), (1.0, 3e-4), (100.0, TICK), (0.1, TICK)] {
        let mut s = open(ARM);
        act(&mut s, Command::TimeStep { seconds: step });
        act(&mut s, Command::Speed { factor: speed });
        act(&mut s, Command::Run { on: true });
        let report = ticks(&mut s, 60);
        assert!((report.time - speed).abs() <= 1.01 * step, "{speed} {step}: {}", report.time);
    }
}

#[test]
fn steps_by_the_thousand_are_refused_or_ended_politely() {
    let mut s = open(ARM);
    for count in [1001, -1001, i32::MAX, i32::MIN] {
        assert!(s.apply(Command::Step { count }).is_err());
    }
    act(&mut s, Command::Step { count: 1000 });
    let line = s.timeline();
    act(&mut s, Command::Step { count: -1000 });
    assert_eq!(s.timeline().shown, line.first);
    act(&mut s, Command::Step { count: 1000 });
    assert_eq!(s.timeline().shown, line.last);
    repeats(&s);
}

/// How far a pulled sphere shoots past a hand that jumped by 0.3 m, and the largest force beside its limit.
fn pulled(point: [f64; 3], step: f64) -> (f64, f64) {
    let mut s = open("scene gravity 0 0 0; end solid a: shape sphere 0.2; mass 3; end");
    act(&mut s, Command::Run { on: true });
    act(&mut s, Command::TimeStep { seconds: step });
    grab(&mut s, 1, "a", point, GripMode::Pull);
    drag(&mut s, 1, [0.3 + point[0], 0.0, 0.0]);
    let (mut past, mut share) = (0.0_f64, 0.0_f64);
    for _ in 0..120 {
        let g = &ticks(&mut s, 1).grabs[0];
        past = past.max(g.point[0] - g.target[0]);
        share = share.max(Vector::from_array(g.force).length() / g.most_force.unwrap());
    }
    let end = ticks(&mut s, 1);
    assert!(end.grabs[0].gap.position < 3e-3, "{end:?}");
    (past / 0.3, share)
}

#[test]
fn a_pull_is_critically_damped_and_stays_below_its_limit() {
    for step in [TICK, 1.0 / 240.0, 1e-3] {
        let (past, share) = pulled([0.0; 3], step);
        assert!(past < 0.005 && share <= 1.0, "{step}: {past} {share}");
        // Off the centre the solid turns as well.
        let (past, share) = pulled([0.2, 0.0, 0.0], step);
        assert!(past < 0.005 && share <= 1.0, "{step}: {past} {share}");
    }
    // To the end of the world along a diagonal, and under a gravity that came later.
    let mut s = open("scene gravity 0 0 0; end solid a: shape sphere 0.2; mass 3; end");
    act(&mut s, Command::Run { on: true });
    grab(&mut s, 1, "a", [0.0; 3], GripMode::Pull);
    let mut most = 0.0_f64;
    for to in [[1e6, 0.0, 0.0], [-1e6; 3], [1e6; 3]] {
        drag(&mut s, 1, to);
        for _ in 0..30 {
            let g = &ticks(&mut s, 1).grabs[0];
            most = most.max(Vector::from_array(g.force).length() / g.most_force.unwrap());
        }
    }
    assert!(most > 0.5 && most <= 1.0 + 1e-9, "{most}");
    let mut s = open("scene gravity 0 0 0; end solid a: shape sphere 0.2; mass 3; end");
    act(&mut s, Command::Run { on: true });
    grab(&mut s, 1, "a", [0.0; 3], GripMode::Pull);
    act(&mut s, Command::Gravity { value: [0.0, -500.0, 0.0] });
    let g = &ticks(&mut s, 180).grabs[0];
    // It hangs where the spring carries its weight: g / w^2 below the hand.
    assert!(g.gap.position < 1.5, "{g:?}");
    repeats(&s);
}

#[test]
fn a_hand_is_as_strong_as_what_it_has_to_lift() {
    // The same gesture on a light and a heavy sphere: the same motion, forces as their masses.
    let force = |mass: f64| {
        let mut s = open(&format!("scene gravity 0 0 0; end solid a: shape sphere 0.2; mass {mass}; end"));
        act(&mut s, Command::Run { on: true });
        grab(&mut s, 1, "a", [0.1, 0.0, 0.0], GripMode::Pull);
        drag(&mut s, 1, [0.3, 0.1, 0.0]);
        let g = ticks(&mut s, 5).grabs[0].clone();
        (Vector::from_array(g.force).length() / mass, Vector::from_array(g.point))
    };
    let (light, heavy) = (force(0.01), force(1000.0));
    assert!((light.0 / heavy.0 - 1.0).abs() < 1e-6, "{light:?} {heavy:?}");
    assert!(light.1.distance(heavy.1) < 1e-7, "{light:?} {heavy:?}");
}

#[test]
fn long_texts_do_not_fill_the_memory() {
    let mut s = open(ARM);
    let pad = "x".repeat(2_000_000);
    for k in 0..12 {
        act(&mut s, Command::SetText { text: format!("{ARM}\n/* {k} {pad} */") });
    }
    // Sixty-four megabytes, counted with what a text becomes.
    assert!((2..6).contains(&s.edit_counts().0), "{:?}", s.edit_counts());
}

/// One pendulum hangs at rest, one swings: the first sleeps and says so, wakes at a touch of any kind or when what holds it
/// lets go, and stays awake if asked to.
#[test]
fn what_rests_sleeps_until_it_is_touched() {
    let text = "scene gravity 0 -9.81 0; end
        solid still: shape capsule 0.05 from 0 0 0 to 0 -1 0; mass 1; end
        solid swings: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; at 3 0 0; end
        joint a: ball; object2 still; end
        joint b: ball; object2 swings; frame1 3 0 0; end";
    let resting = || {
        let mut s = open(text);
        act(&mut s, Command::Run { on: true });
        let report = ticks(&mut s, 120);
        assert_eq!((report.islands.count, report.islands.asleep), (2, 1), "{report:?}");
        assert_eq!(s.asleep(), vec![linkwork::SolidId(1)]);
        s
    };
    for mode in [GripMode::Pin, GripMode::PinPose, GripMode::Pull] {
        let mut s = resting();
        grab(&mut s, 1, "still", [0.0, -1.0, 0.0], mode);
        assert_eq!(ticks(&mut s, 60).islands.asleep, 0, "{mode:?}: held");
        drag(&mut s, 1, [0.6, -0.8, 0.0]);
        let report = ticks(&mut s, 120);
        assert!(report.islands.asleep == 0 && report.grabs[0].point[0] > 0.3, "{mode:?}: {report:?}");
        act(&mut s, Command::Release { hand: 1 });
        assert_eq!(ticks(&mut s, 60).islands.asleep, 0, "{mode:?}: it swings now");
        repeats(&s);
    }
    let mut s = resting();
    act(&mut s, Command::Enable { joint: "a".into(), on: false });
    assert_eq!(ticks(&mut s, 60).islands.asleep, 0);
    assert!(s.pose(linkwork::SolidId(1)).translation.y < -3.0, "it falls");
    repeats(&s);

    let mut s = resting();
    act(&mut s, Command::Gravity { value: [1.0, -9.81, 0.0] });
    assert_eq!(ticks(&mut s, 60).islands.asleep, 0);

    let mut s = resting();
    act(&mut s, Command::Mode { mode: Mode::Kinematic });
    grab(&mut s, 1, "still", [0.0, -1.0, 0.0], GripMode::Pin);
    drag(&mut s, 1, [0.6, -0.8, 0.0]);
    ticks(&mut s, 60);
    act(&mut s, Command::Release { hand: 1 });
    act(&mut s, Command::Mode { mode: Mode::Dynamic });
    assert_eq!(ticks(&mut s, 20).islands.asleep, 0, "it was put elsewhere");

    let mut s = open(text);
    act(&mut s, Command::Run { on: true });
    act(&mut s, Command::Sleep { on: false });
    assert_eq!(ticks(&mut s, 120).islands.asleep, 0);
    assert!(s.asleep().is_empty());
    repeats(&s);
}
