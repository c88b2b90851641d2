//! Hands on soft bodies: any vertex can be held, several at once; nothing is stretched beyond its limit by them, and a
//! session with held vertices is repeated bit by bit.

use linkwork::session::{Command, GripMode, Session, TickReport, replay};
use linkwork::{SolidId, Vector};

const TICK: f64 = 1.0 / 60.0;
/// A sheet that hangs upright from two corners.
const SHEET: &str =
    "cloth s: grid 6 6 spacing 0.1; at 0 1 0; turn 1 0 0 180 deg; mass 0.2; stretch 200 0.5; shear 80 0.2;
    bend 0.5 0.01; limit-strain 10 %; pin 0 0; pin 5 0; end";
/// The same without pins, level.
const FREE: &str =
    "cloth s: grid 6 6 spacing 0.1; at 0 1 0; turn 1 0 0 90 deg; mass 0.2; stretch 200 0.5; shear 80 0.2;
    bend 0.5 0.01; limit-strain 10 %; end";

fn open(text: &str) -> Session {
    let mut s = Session::open(text, &mut |_| Err("no files".into())).unwrap();
    s.apply(Command::Run { on: true }).unwrap();
    s
}

fn grab(s: &mut Session, hand: u32, solid: &str, mode: GripMode) -> Vector {
    s.apply(Command::Grab { hand, solid: solid.into(), point: [0.0; 3], mode, rotation: None }).unwrap();
    place(s, solid)
}

fn drag(s: &mut Session, hand: u32, to: Vector) {
    s.apply(Command::Drag { hand, position: to.to_array(), rotation: None }).unwrap();
}

fn place(s: &Session, solid: &str) -> Vector {
    s.pose(s.mechanism().find(solid).unwrap()).translation
}

/// The longest spring that has a limit, as a share of its longest length.
fn tightest(s: &Session) -> f64 {
    let mut most = 0.0_f64;
    for soft in s.mechanism().softs() {
        for spring in soft.mesh.springs.iter().filter(|x| x.longest.is_finite()) {
            let [a, b] = spring.ends.map(|v| s.pose(SolidId(soft.first.0 + v)).translation);
            most = most.max(a.distance(b) / spring.longest);
        }
    }
    most
}

fn tick(s: &mut Session) -> TickReport {
    let report = s.tick(TICK, &|| 0.0);
    assert_eq!(report.rejected, None);
    let most = tightest(s);
    assert!(most < 1.0 + 1e-3, "a spring is {most} of its longest at {}", report.time);
    report
}

#[test]
fn a_vertex_follows_the_hand_and_the_sheet_comes_along() {
    for mode in [GripMode::Pin, GripMode::PinPose, GripMode::Pull] {
        let mut s = open(SHEET);
        (0..30).for_each(|_| drop(tick(&mut s)));
        let from = grab(&mut s, 3, "s.2.4", mode);
        let beside = place(&s, "s.3.4");
        let by = Vector::new(0.02, 0.12, 0.2);
        for k in 1..=30 {
            drag(&mut s, 3, from + by * (f64::from(k) / 30.0));
            tick(&mut s);
        }
        let mut report = s.look();
        (0..120).for_each(|_| report = tick(&mut s));
        let [grip] = &report.grabs[..] else { panic!("{report:?}") };
        println!("{mode:?}: {:e} {:?}", grip.gap.position, grip.force);
        assert!(grip.gap.position < if mode == GripMode::Pull { 0.05 } else { 2e-3 }, "{mode:?}: {grip:?}");
        assert_eq!(grip.solid, s.mechanism().find("s.2.4").unwrap().0);
        assert!((place(&s, "s.3.4") - beside).z > 0.1, "its neighbour came along");
        assert_eq!(place(&s, "s.0.0"), Vector::new(0.0, 1.0, 0.0), "what is pinned stays");
        assert_eq!(replay(&s.log()).unwrap().hash(), s.hash(), "{mode:?}");
    }
}

#[test]
fn two_hands_carry_a_sheet() {
    let mut s = open(FREE);
    let corners = ["s.0.0", "s.5.0"];
    let from: Vec<Vector> =
        corners.iter().zip(1..).map(|(name, hand)| grab(&mut s, hand, name, GripMode::Pin)).collect();
    for k in 1..=120 {
        for (from, hand) in from.iter().zip(1..) {
            drag(&mut s, hand, *from + Vector::Y * (0.3 * f64::from(k) / 120.0));
        }
        tick(&mut s);
    }
    // It swings below them, for nothing brakes it; in the mean they carry its weight.
    let (mut weight, mut height) = (0.0, 0.0);
    for _ in 0..480 {
        let report = tick(&mut s);
        assert_eq!(report.grabs.len(), 2);
        assert!(report.grabs.iter().all(|g| g.gap.position < 5e-3), "{:?}", report.grabs);
        weight += report.grabs.iter().map(|g| g.force[1]).sum::<f64>() / 480.0;
        height += place(&s, "s.2.5").y / 480.0;
    }
    println!("{weight} N, {height} m");
    assert!(height < 1.1, "{height}");
    assert!((weight - 0.2 * 9.81).abs() < 0.15, "{weight}");
    let held = s.hash();
    assert_eq!(replay(&s.log()).unwrap().hash(), held);
    for hand in 1..=2 {
        s.apply(Command::Release { hand }).unwrap();
    }
    (0..60).for_each(|_| drop(tick(&mut s)));
    assert!(place(&s, "s.0.0").y < 0.0, "it falls: {}", place(&s, "s.0.0"));
    assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
}

/// A hand far out of reach pulls with no more than it says, and nothing is torn or thrown.
#[test]
fn a_hand_out_of_reach_stretches_nothing_beyond_its_limit() {
    let mut s = open(SHEET);
    grab(&mut s, 1, "s.3.5", GripMode::Pin);
    drag(&mut s, 1, Vector::new(0.3, -4.0, 3.0));
    let mut report = s.look();
    for _ in 0..180 {
        report = tick(&mut s);
        let [grip] = &report.grabs[..] else { panic!("{report:?}") };
        let most = grip.most_force.unwrap();
        assert!(grip.force.iter().all(|f| f.abs() <= most), "{grip:?}");
    }
    assert!(report.grabs[0].gap.position > 3.0 && !report.grabs[0].met);
    let at = place(&s, "s.3.5");
    assert!(at.distance(Vector::new(0.3, 1.0, 0.0)) < 1.1, "{at}");
    s.apply(Command::Release { hand: 1 }).unwrap();
    for _ in 0..120 {
        tick(&mut s);
        assert!(place(&s, "s.3.5").distance(at) < 1.5);
    }
    assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
}

/// A budget that pays for nothing makes time slower, and never leads to steps that springs explode in.
#[test]
fn a_budget_that_is_too_small_breaks_no_sheet() {
    let mut s = open(SHEET);
    s.apply(Command::Budget { ms: Some(0.05) }).unwrap();
    let clock = std::cell::Cell::new(0.0);
    for (hand, solid) in [(1, "s.2.4"), (2, "s.4.5")] {
        let at = grab(&mut s, hand, solid, GripMode::Pin);
        drag(&mut s, hand, at + Vector::new(0.0, 0.1, 0.15));
    }
    for k in 0..120 {
        // Every look at the clock is five milliseconds later.
        let report = s.tick(TICK, &|| {
            clock.set(clock.get() + 0.005);
            clock.get()
        });
        assert_eq!((report.rejected, report.receipt.rough), (None, false), "{k}");
        assert!(tightest(&s) < 1.0 + 1e-3, "{k}: {}", tightest(&s));
    }
    assert!(s.look().grabs.iter().all(|g| g.gap.position < 0.01));
    assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
}

/// Wind as a setting: it blows at once, through a hand that holds on; a slider on its way is one edit; texts with another wind take over,
/// others keep it; a start over keeps it; and all of it is repeated bit by bit.
#[test]
fn wind_can_be_set_and_is_repeated() {
    let text = format!("scene wind 0 0 1 density 1.5; end {SHEET}");
    let mut s = open(&text);
    let lean = |s: &mut Session| {
        (0..90).for_each(|_| drop(tick(s)));
        place(s, "s.2.5").z
    };
    let gentle = lean(&mut s);
    assert!(gentle > 0.0, "{gentle}");
    let before = s.hash();
    for z in [2.0, 3.0, 4.0] {
        s.apply(Command::Wind { value: Some([0.0, 0.0, z]) }).unwrap();
        (0..2).for_each(|_| drop(tick(&mut s)));
    }
    let air = |s: &Session| s.mechanism().air().copied().unwrap();
    assert_eq!((air(&s).wind.z, air(&s).density), (4.0, 1.5), "the density stays the scene's");
    let strong = lean(&mut s);
    assert!(strong > gentle + 0.1, "{strong} after {gentle}");
    s.apply(Command::Undo).unwrap();
    assert_eq!(
        (s.settings().wind, s.hash(), air(&s).wind.z),
        (None, before, 1.0),
        "one edit, and it is gone"
    );
    s.apply(Command::Redo).unwrap();
    assert_eq!((s.settings().wind, air(&s).wind.z), (Some([0.0, 0.0, 4.0]), 4.0));
    for bad in [f64::NAN, f64::INFINITY, 2e4] {
        assert!(s.apply(Command::Wind { value: Some([bad, 0.0, 0.0]) }).is_err());
    }
    // Against a hand, and with nothing but the wind changed.
    grab(&mut s, 1, "s.0.5", GripMode::Pin);
    s.apply(Command::Wind { value: Some([0.0, 0.0, -4.0]) }).unwrap();
    let held = lean(&mut s);
    assert!(held < strong - 0.05, "{held} after {strong}");
    s.apply(Command::Release { hand: 1 }).unwrap();
    s.apply(Command::Reset).unwrap();
    assert_eq!(air(&s).wind.z, -4.0);
    s.apply(Command::SetText { text: text.replace("mass 0.2", "mass 0.3") }).unwrap();
    assert_eq!(air(&s).wind.z, -4.0, "a text with the same wind says nothing about it");
    s.apply(Command::SetText { text: text.replace("0 0 1 density", "0 0 2 density") }).unwrap();
    assert_eq!((s.settings().wind, air(&s).wind.z), (None, 2.0));
    s.apply(Command::Undo).unwrap();
    assert_eq!(air(&s).wind.z, -4.0);
    s.apply(Command::Wind { value: None }).unwrap();
    assert_eq!(air(&s).wind.z, 1.0);
    lean(&mut s);
    let log: linkwork::session::Log =
        serde_json::from_str(&serde_json::to_string(&s.log()).unwrap()).unwrap();
    assert_eq!(replay(&log).unwrap().hash(), s.hash());
    // Where a scene has no air, a wind brings some, and `null` takes it away again.
    let mut s = open(SHEET);
    assert!(s.mechanism().air().is_none());
    s.apply(Command::Wind { value: Some([0.0, 0.0, 4.0]) }).unwrap();
    assert!(lean(&mut s) > 0.1 && air(&s).density == 1.2);
    s.apply(Command::Wind { value: None }).unwrap();
    assert!(s.mechanism().air().is_none());
}
