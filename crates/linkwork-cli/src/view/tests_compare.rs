//! Comparisons: the session and its forks on one clock, whatever is done to it.

use super::*;
use crate::view::hub::QUEUE;
use linkwork::session::Mode;
use std::sync::mpsc;
use tokio::sync::broadcast::Receiver as Events;

const TICK_SECONDS: f64 = 1.0 / 60.0;

/// A four-bar linkage that runs, and what clients are told.
fn driver() -> (Driver, Events<Arc<str>>) {
    let text = gallery::text("fourbar").expect("a scene");
    let session = Session::open(&text, &mut |_| Err("none".into())).expect("it is sound");
    let hub = Arc::new(Hub::new(mpsc::sync_channel(QUEUE).0));
    let events = hub.events.subscribe();
    let mut driver = Driver::new(session, Source::Named("fourbar".into()), hub);
    // However slow the machine: every step is taken.
    apply(&mut driver, Command::Budget { ms: None });
    apply(&mut driver, Command::Run { on: true });
    (driver, events)
}

fn apply(driver: &mut Driver, command: Command) {
    driver.apply(command).unwrap_or_else(|e| panic!("{}", e.message));
}

fn compare(driver: &mut Driver, methods: &[&str]) -> Result<Answer, Refusal> {
    let rival = |m: &&str| Rival { method: (*m).into(), solver: "auto".into() };
    driver.compare(&methods.iter().map(rival).collect::<Vec<_>>())
}

fn run(driver: &mut Driver, ticks: usize) {
    (0..ticks).for_each(|_| driver.advance(TICK_SECONDS));
}

/// Times of the session and of all its forks.
fn times(driver: &Driver) -> Vec<f64> {
    let ghosts = driver.ghosts.iter().map(|g| g.session.state().time);
    std::iter::once(driver.session.state().time).chain(ghosts).collect()
}

fn together(driver: &Driver) -> f64 {
    let times = times(driver);
    assert!(times.iter().all(|t| (t - times[0]).abs() < 1e-9), "{times:?}");
    times[0]
}

fn told(events: &mut Events<Arc<str>>, words: &str) -> bool {
    std::iter::from_fn(|| events.try_recv().ok()).any(|e| e.contains("note") && e.contains(words))
}

#[test]
fn forks_step_and_scrub_back_with_the_session() {
    let (mut d, mut events) = driver();
    run(&mut d, 40);
    assert!(compare(&mut d, &["displacement", "baumgarte"]).is_ok());
    let start = together(&d);
    run(&mut d, 20);
    let end = together(&d);
    assert!(end > start + 0.2);
    apply(&mut d, Command::Step { count: -12 });
    let back = together(&d);
    assert!(back < end - 0.1 && back > start && d.ghosts.len() == 2, "{back}");
    assert!(d.ghosts.iter().all(|g| !g.session.settings().running));
    apply(&mut d, Command::Scrub { to: Past::Time(end - 0.05) });
    assert!(together(&d) > back);
    apply(&mut d, Command::Step { count: 2 });
    together(&d);
    apply(&mut d, Command::Branch);
    apply(&mut d, Command::Run { on: true });
    run(&mut d, 5);
    assert!(together(&d) > end - 0.05 && d.ghosts.len() == 2);
    assert!(!told(&mut events, "comparison"));
}

#[test]
fn going_back_beyond_its_start_ends_a_comparison_and_says_so() {
    let ways = [Command::Step { count: -30 }, Command::Scrub { to: Past::Time(0.2) }];
    for way in ways {
        let (mut d, mut events) = driver();
        run(&mut d, 40);
        assert!(compare(&mut d, &["displacement"]).is_ok());
        run(&mut d, 10);
        apply(&mut d, way.clone());
        assert!(d.ghosts.is_empty(), "{way:?}: {:?}", times(&d));
        assert!(told(&mut events, "comparison has ended"), "{way:?}");
    }
}

#[test]
fn where_there_is_no_time_the_number_of_the_snapshot_counts() {
    let (mut d, mut events) = driver();
    apply(&mut d, Command::Run { on: false });
    apply(&mut d, Command::Mode { mode: Mode::Kinematic });
    let pull = |d: &mut Driver, x: f64| {
        apply(d, Command::Drag { hand: 1, position: [x, 0.3, 0.0], rotation: None });
        run(d, 6);
    };
    let grab = Command::Grab {
        hand: 1,
        solid: "crank".into(),
        point: [0.2, 0.0, 0.0],
        mode: Default::default(),
        rotation: None,
    };
    apply(&mut d, grab);
    pull(&mut d, 0.1);
    pull(&mut d, -0.1);
    assert!(compare(&mut d, &["displacement"]).is_ok());
    pull(&mut d, 0.2);
    let past = d.session.timeline();
    assert!(past.shown > past.first + 2, "{past:?}");
    apply(&mut d, Command::Step { count: -1 });
    assert_eq!(d.ghosts.len(), 1);
    apply(&mut d, Command::Scrub { to: Past::Index(past.first) });
    assert!(d.ghosts.is_empty() && told(&mut events, "comparison has ended"));
}

#[test]
fn what_is_refused_leaves_a_comparison_as_it_is() {
    let (mut d, _events) = driver();
    assert!(compare(&mut d, &["displacement"]).is_ok());
    run(&mut d, 5);
    assert!(compare(&mut d, &["no such method"]).is_err());
    assert!(compare(&mut d, &["reduced"; 9]).is_err());
    assert!(d.apply(Command::SetText { text: "solid a: mass banana; end".into() }).is_err());
    assert!(d.apply(Command::Redo).is_err());
    run(&mut d, 5);
    assert_eq!(d.ghosts.len(), 1);
    assert_eq!(d.ghosts[0].session.settings().method, "displacement");
    together(&d);
    assert!(compare(&mut d, &[]).is_ok());
    assert!(d.ghosts.is_empty());
}
