//! Sessions where things touch: throwing, friction and bouncing as settings, contacts and events in reports.

use linkwork::session::{Command, GripMode, Mode, Session, replay};
use linkwork::{SolidId, Vector};

const TICK: f64 = 1.0 / 60.0;

fn open(text: &str) -> Session {
    Session::open(text, &mut |_| Err("no files".into())).unwrap()
}

fn ticks(s: &mut Session, n: usize) {
    for _ in 0..n {
        assert_eq!(s.tick(TICK, &|| 0.0).rejected, None);
    }
}

fn grab(s: &mut Session, solid: &str, point: [f64; 3], mode: GripMode) {
    s.apply(Command::Grab { hand: 1, solid: solid.into(), point, mode, rotation: None }).unwrap();
}

fn drag(s: &mut Session, to: Vector) {
    s.apply(Command::Drag { hand: 1, position: to.to_array(), rotation: None }).unwrap();
}

const BALL: &str = "scene gravity 0 -9.81 0; end
    solid floor: kernel fixed; shape plane 0 1 0; end
    solid ball: shape sphere 0.1; mass 2; at 0 1 0; end";

/// A ball that is dragged at 2 m/s and released flies with 2 m/s, whatever holds it and however the pointer's events come.
#[test]
fn what_is_released_flies_on() {
    for mode in [GripMode::Pin, GripMode::PinPose, GripMode::Pull] {
        // Ticks between two events of the pointer, and how many of them come late by one.
        for (every, late) in [(1, 0), (2, 0), (3, 0), (6, 0), (2, 1)] {
            for wait in 0..every {
                let mut s = open(BALL);
                s.apply(Command::Run { on: true }).unwrap();
                grab(&mut s, "ball", [0.0, 0.05, 0.0], mode);
                let way = Vector::new(0.8, 0.6, 0.0);
                for k in 0..36 + wait {
                    let shaken = if k / every % 2 == 0 { late } else { 0 };
                    if (k + shaken) % every == 0 {
                        let t = f64::from(k + 1) * TICK;
                        drag(&mut s, Vector::new(0.0, 1.05, 0.0) + way * (2.0 * t));
                    }
                    ticks(&mut s, 1);
                }
                s.apply(Command::Release { hand: 1 }).unwrap();
                let v = s.state().velocities[2];
                let most = if mode == GripMode::Pull { 0.5 } else { 0.2 };
                assert!(v.distance(way * 2.0) < most, "{mode:?} every {every} late {late} wait {wait}: {v}");
                let from = s.pose(SolidId(2)).translation;
                ticks(&mut s, 12);
                // Free flight from there on.
                let fell = s.pose(SolidId(2)).translation - from;
                let right = v * (12.0 * TICK) - Vector::Y * (0.5 * 9.81 * (12.0 * TICK).powi(2));
                assert!(fell.distance(right) < 1e-6, "{fell} instead of {right}");
                assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
            }
        }
    }
}

/// A hand that rests before it lets go throws nothing, and neither does one whose ball cannot follow.
#[test]
fn a_hand_at_rest_throws_nothing() {
    for mode in [GripMode::Pin, GripMode::PinPose, GripMode::Pull] {
        let mut s = open(BALL);
        s.apply(Command::Run { on: true }).unwrap();
        grab(&mut s, "ball", [0.0; 3], mode);
        for k in 1..=30 {
            drag(&mut s, Vector::new(0.03 * f64::from(k), 1.0, 0.0));
            ticks(&mut s, 1);
        }
        ticks(&mut s, 60);
        s.apply(Command::Release { hand: 1 }).unwrap();
        assert!(s.state().velocities[2].length() < 0.01, "{mode:?}: {}", s.state().velocities[2]);
    }
    // On a string of 1 m the ball is where the string lets it be, and its hand leaves it behind.
    let text = format!("{BALL} joint string: ball; object2 ball; frame1 0 2 0; frame2 0 1 0; end");
    let mut s = open(&text);
    s.apply(Command::Run { on: true }).unwrap();
    grab(&mut s, "ball", [0.0; 3], GripMode::Pin);
    for k in 1..=60 {
        drag(&mut s, Vector::new(0.0, 1.0 - 0.1 * f64::from(k), 0.0));
        ticks(&mut s, 1);
    }
    s.apply(Command::Release { hand: 1 }).unwrap();
    assert!(s.state().velocities[2].length() < 0.1, "{}", s.state().velocities[2]);
}

const SLOPE: &str = "scene gravity 3.356 -9.218 0; end
    material wood: friction 0.5; end
    solid floor: kernel fixed; shape plane 0 1 0; material wood; end
    solid box: shape box 0.4 0.2 0.4; mass 3; at 0 0.1 0; material wood; end";

fn place(s: &Session) -> Vector {
    s.pose(SolidId(2)).translation
}

/// Friction is a setting: a box that sleeps on a slope of 20 degrees slides when it is made smooth, comes back with undo,
/// and the log repeats all of it.
#[test]
fn friction_can_be_set_and_taken_back() {
    let mut s = open(SLOPE);
    s.apply(Command::Run { on: true }).unwrap();
    ticks(&mut s, 90);
    assert!(place(&s).x.abs() < 1e-6 && s.asleep() == [SolidId(2)], "{}", place(&s));
    let before = s.hash();
    // A slider on its way.
    for x in [0.3, 0.2, 0.1, 0.0] {
        s.apply(Command::Friction { value: Some(x) }).unwrap();
        ticks(&mut s, if x == 0.0 { 60 } else { 2 });
    }
    // 3.356 m/s^2 for a second, and a little before.
    let slid = place(&s).x;
    assert!(slid > 1.6 && slid < 2.2, "{slid}");
    assert!(s.contact_points(100).iter().all(|p| p.friction == 0.0), "what is told is what acts");
    s.apply(Command::Undo).unwrap();
    assert_eq!((s.settings().friction, s.hash()), (None, before), "one edit, and it is gone");
    ticks(&mut s, 30);
    assert!(place(&s).x.abs() < 1e-6);
    s.apply(Command::Redo).unwrap();
    assert_eq!((s.settings().friction, place(&s).x), (Some(0.0), slid));
    for bad in [-0.1, 11.0, f64::NAN] {
        assert!(s.apply(Command::Friction { value: Some(bad) }).is_err());
        assert!(s.apply(Command::Bounce { value: Some(bad) }).is_err());
    }
    // Friction and bouncing are two edits, and as in the scene is another value.
    s.apply(Command::Friction { value: Some(0.7) }).unwrap();
    s.apply(Command::Bounce { value: Some(0.5) }).unwrap();
    s.apply(Command::Friction { value: None }).unwrap();
    s.apply(Command::Undo).unwrap();
    assert_eq!((s.settings().friction, s.settings().bounce), (Some(0.7), Some(0.5)));
    s.apply(Command::Undo).unwrap();
    assert_eq!((s.settings().friction, s.settings().bounce), (Some(0.7), None));
    ticks(&mut s, 10);
    let log: linkwork::session::Log =
        serde_json::from_str(&serde_json::to_string(&s.log()).unwrap()).unwrap();
    assert_eq!(replay(&log).unwrap().hash(), s.hash());
}

/// Bouncing as a setting, and blows in the reports: m (1 + e) v at the time of the fall.
#[test]
fn bouncing_can_be_set_and_blows_are_told() {
    for e in [None, Some(0.8)] {
        let mut s = open(BALL);
        s.apply(Command::Bounce { value: e }).unwrap();
        s.apply(Command::Run { on: true }).unwrap();
        let mut events = Vec::new();
        let mut high: f64 = 0.0;
        for k in 0..60 {
            let report = s.tick(TICK, &|| 0.0);
            events.extend(report.contacts.events.iter().copied());
            if k > 35 {
                high = high.max(place(&s).y);
            }
            let lies = e.is_none() && k > 30;
            assert!(!lies || report.contacts.points == 1, "{k}: {:?}", report.contacts);
        }
        let speed = (2.0_f64 * 9.81 * 0.9).sqrt();
        let blow = events[0];
        assert!(
            blow.begin && blow.solids == [1, 2] && (blow.time - speed / 9.81).abs() < 2.0 * TICK,
            "{blow:?}"
        );
        let right = 2.0 * (1.0 + e.unwrap_or(0.0)) * speed;
        assert!((blow.impulse[1] - right).abs() < 0.02 * right + 2.0 * 9.81 * TICK, "{blow:?} {right}");
        assert_eq!(events.iter().filter(|x| !x.begin).count(), usize::from(e.is_some()), "{events:?}");
        let height = 0.1 + e.map_or(0.0, |e| 0.9 * e * e);
        assert!((high - height).abs() < 0.03, "{high} instead of {height}");
        assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
    }
}

/// Points are those of the state on show: asleep, in the past, and after a hand took hold.
#[test]
fn contact_points_go_with_the_state_on_show() {
    let mut s = open(SLOPE);
    s.apply(Command::Run { on: true }).unwrap();
    ticks(&mut s, 90);
    let asleep = s.contact_points(100);
    let sum = asleep.iter().fold(Vector::ZERO, |sum, p| sum + p.force);
    assert!(sum.distance(Vector::new(-3.356, 9.218, 0.0) * 3.0) < 1e-3, "{sum}");
    assert!(asleep.len() >= 3 && asleep.iter().all(|p| p.friction == 0.5 && !p.slides()), "{asleep:?}");
    let strongest = s.contact_points(2);
    assert!(strongest.len() == 2 && strongest.iter().all(|p| asleep.contains(p)), "{strongest:?}");
    s.apply(Command::Scrub { to: linkwork::session::Past::Time(1.0) }).unwrap();
    assert_eq!(s.look().contacts.points as usize, s.contact_points(100).len());
    assert!(!s.contact_points(100).is_empty());
    s.apply(Command::Scrub { to: linkwork::session::Past::Time(0.0) }).unwrap();
    s.look();
    assert!(s.contact_points(100).is_empty());
}

const ROOM: &str = "scene gravity 0 -9.81 0; end
    solid floor: kernel fixed; shape plane 0 1 0; end
    solid wall: kernel fixed; shape box 0.1 2 4; at 1 1 0; end
    solid box: shape box 0.4 0.4 0.4; mass 1; at 0 0.2 0; end
    solid free: shape box 0.4 0.4 0.4; mass 1; at -1 0.2 0; end";

fn kinematic(text: &str) -> Session {
    let mut s = open(text);
    s.apply(Command::Mode { mode: Mode::Kinematic }).unwrap();
    s
}

/// Deepest overlap of two axis-aligned boxes in x, y, z, negative where they are apart.
fn overlap(a: Vector, size_a: Vector, b: Vector, size_b: Vector) -> f64 {
    let d = (size_a + size_b) * 0.5 - (a - b).abs();
    d.x.min(d.y).min(d.z)
}

/// Without time: a hand that drags a box at a wall leaves it in front of the wall, slides along it, and through only where
/// that is switched on.
#[test]
fn a_hand_stops_at_obstacles() {
    let half = Vector::splat(0.4);
    for mode in [GripMode::PinPose, GripMode::Pin] {
        let mut s = kinematic(ROOM);
        grab(&mut s, "box", [0.0; 3], mode);
        for k in 1..=60 {
            drag(&mut s, Vector::new(0.05 * f64::from(k), 0.2, 0.0));
            ticks(&mut s, 1);
            let at = s.pose(SolidId(3)).translation;
            if mode == GripMode::PinPose {
                let deep = overlap(at, half, Vector::new(1.0, 1.0, 0.0), Vector::new(0.1, 2.0, 4.0));
                assert!(deep < 1e-3, "{k}: {deep} deep in the wall at {at}");
            }
        }
        ticks(&mut s, 30);
        let at = s.pose(SolidId(3)).translation;
        if mode == GripMode::PinPose {
            assert!((at.x - 0.75).abs() < 1e-3, "it lies against the wall: {at}");
        } else {
            assert!(at.x < 0.96, "it stays on its side: {at}");
        }
        // Along the wall and down into the floor: it slides, and stops there, too.
        for k in 1..=40 {
            drag(&mut s, Vector::new(3.0, 0.2 - 0.05 * f64::from(k), 0.02 * f64::from(k)));
            ticks(&mut s, 1);
        }
        // A hand far behind the wall pulls along it by a small part only.
        ticks(&mut s, 400);
        let at = s.pose(SolidId(3)).translation;
        if mode == GripMode::PinPose {
            assert!(
                (at.x - 0.75).abs() < 1e-3 && (at.y - 0.2).abs() < 1e-3 && (at.z - 0.8).abs() < 0.02,
                "{at}"
            );
        }
        let report = s.look();
        assert!(!report.grabs[0].met && report.gaps.position < 1e-6, "{report:?}");
        assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
        // Switched off, it goes through.
        s.apply(Command::Obstacles { on: false }).unwrap();
        for _ in 0..120 {
            ticks(&mut s, 1);
        }
        assert!(s.look().grabs[0].met && s.pose(SolidId(3)).translation.x > 2.9);
        assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
    }
}

/// What is free is pushed, and does not go through the floor for it.
#[test]
fn a_hand_pushes_what_is_free() {
    let mut s = kinematic(ROOM);
    grab(&mut s, "box", [0.0; 3], GripMode::PinPose);
    for k in 1..=60 {
        drag(&mut s, Vector::new(-0.04 * f64::from(k), 0.2, 0.0));
        ticks(&mut s, 1);
        let [a, b] = [3, 4].map(|i| s.pose(SolidId(i)).translation);
        assert!(overlap(a, Vector::splat(0.4), b, Vector::splat(0.4)) < 1e-3, "{k}: {a} {b}");
        assert!(b.y > 0.199, "{k}: through the floor at {b}");
    }
    ticks(&mut s, 30);
    let [a, b] = [3, 4].map(|i| s.pose(SolidId(i)).translation);
    assert!((a.x + 2.4).abs() < 1e-3 && (b.x + 2.8).abs() < 0.05, "{a} {b}");
}

/// Joints and obstacles together: an arm's tip stops on a table, and no joint opens. What overlapped before may stay.
#[test]
fn an_arm_stops_on_a_table_with_its_joints_closed() {
    let text = "scene gravity 0 -9.81 0; end
        solid table: kernel fixed; shape box 4 0.2 4; at 0 -0.6 0; end
        solid one: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; end
        solid two: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; at 1 0 0; end
        solid in: kernel fixed; shape box 0.3 0.3 0.3; at 1.9 0 0; end
        joint ball; object2 one; end joint ball; object1 one; object2 two; frame1 1 0 0; end";
    let mut s = kinematic(text);
    grab(&mut s, "two", [1.0, 0.0, 0.0], GripMode::Pin);
    for k in 1..=80 {
        drag(&mut s, Vector::new(2.0 - 0.01 * f64::from(k), -0.02 * f64::from(k), 0.0));
        let report = s.tick(TICK, &|| 0.0);
        assert!(report.gaps.position <= report.receipt.tolerance, "{k}: {report:?}");
        let tip = s.pose(SolidId(3)).transform_point(Vector::X);
        assert!(tip.y - 0.05 > -0.5 - 2e-3, "{k}: the tip is at {tip}");
    }
    ticks(&mut s, 60);
    let tip = s.pose(SolidId(3)).transform_point(Vector::X);
    assert!((tip.y + 0.45).abs() < 2e-3 && (tip.x - 1.2).abs() < 0.05, "it lies on the table: {tip}");
}

/// In time, too: whatever holds the box, a wall and the floor are in its way; a free box is not. When it is let go it stays
/// where it was, at rest.
#[test]
fn a_hand_in_time_stops_at_obstacles() {
    let (half, wall) = (Vector::splat(0.4), Vector::new(0.1, 2.0, 4.0));
    for mode in [GripMode::PinPose, GripMode::Pin, GripMode::Pull] {
        let mut s = open(ROOM);
        s.apply(Command::Run { on: true }).unwrap();
        grab(&mut s, "box", [0.0; 3], mode);
        let mut fastest: f64 = 0.0;
        for k in 1..=120 {
            let x = (0.05 * f64::from(k)).min(2.0);
            drag(&mut s, Vector::new(x, 0.25, 0.0));
            ticks(&mut s, 1);
            let at = s.pose(SolidId(3)).translation;
            let deep = overlap(at, half, Vector::new(1.0, 1.0, 0.0), wall);
            // A box that tips has its corners nearer than its middle tells.
            assert!(deep < 1e-3, "{mode:?} {k}: {deep} deep in the wall at {at}");
            if k > 40 {
                fastest = fastest.max(s.state().velocities[3].length());
            }
        }
        let at = s.pose(SolidId(3)).translation;
        assert!((at.x - 0.75).abs() < 0.05 && at.y > 0.19, "{mode:?}: {at}");
        assert!(fastest < 0.5, "{mode:?}: it shivers at {fastest} m/s");
        let report = s.look();
        assert!(report.gaps.position < 1e-6 && !report.grabs[0].met, "{report:?}");
        s.apply(Command::Release { hand: 1 }).unwrap();
        ticks(&mut s, 60);
        let at = s.pose(SolidId(3)).translation;
        assert!((at.y - 0.2).abs() < 1e-3 && at.x < 0.76, "{mode:?}: {at}");
        assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
    }
}

/// In time a pinned box pushes a free one before it, and the free one has weight and friction.
#[test]
fn a_hand_in_time_pushes_what_is_free() {
    for mode in [GripMode::PinPose, GripMode::Pin] {
        let mut s = open(ROOM);
        s.apply(Command::Run { on: true }).unwrap();
        grab(&mut s, "box", [0.0; 3], mode);
        for k in 1..=100 {
            drag(&mut s, Vector::new(-0.02 * f64::from(k), 0.2, 0.0));
            ticks(&mut s, 1);
            let [a, b] = [3, 4].map(|i| s.pose(SolidId(i)).translation);
            assert!(overlap(a, Vector::splat(0.4), b, Vector::splat(0.4)) < 2e-3, "{mode:?} {k}: {a} {b}");
            assert!(b.y > 0.195 && b.y < 0.3, "{mode:?} {k}: {b}");
        }
        let [a, b] = [3, 4].map(|i| s.pose(SolidId(i)).translation);
        assert!(a.x < -1.85 && b.x < -2.2, "{mode:?}: {a} {b}");
    }
}
