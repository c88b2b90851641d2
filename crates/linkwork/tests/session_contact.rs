//! Sessions where things touch: throwing, friction and bouncing as settings, contacts and events in reports.

use linkwork::session::{Command, GripMode, Session, replay};
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
