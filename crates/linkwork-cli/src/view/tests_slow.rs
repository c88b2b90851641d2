//! Ticks that take longer than they should: nobody waits for more than two of them. No clock: a tick is as slow as one
//! likes, what counts is how many go by.

use super::*;
use crate::view::hub::QUEUE;
use std::sync::mpsc;
use tokio::sync::oneshot::{self, error::TryRecvError};

type Reply = oneshot::Receiver<Result<Answer, Refusal>>;

fn driver() -> (Driver, Arc<Hub>, Receiver<Queued>) {
    let text = gallery::text("fourbar").expect("a scene");
    let session = Session::open(&text, &mut |_| Err("none".into())).expect("it is sound");
    let (sender, inbox) = mpsc::sync_channel(QUEUE);
    let hub = Arc::new(Hub::new(sender));
    (Driver::new(session, Source::Named("fourbar".into()), hub.clone()), hub, inbox)
}

/// Queues a command; its answer comes later.
fn ask(hub: &Hub, command: Command) -> Reply {
    let (reply, answer) = oneshot::channel();
    let request =
        Request { work: Work::Do(Box::new(command)), reply: Some(reply), client: Some(1), bytes: 1 };
    hub.send(request).unwrap_or_else(|e| panic!("{}", e.message));
    answer
}

fn is_done(answer: &mut Reply) -> bool {
    match answer.try_recv() {
        Ok(Ok(_)) => true,
        Ok(Err(why)) => panic!("{}", why.message),
        Err(TryRecvError::Empty) => false,
        Err(TryRecvError::Closed) => panic!("no answer"),
    }
}

fn drags(driver: &Driver) -> usize {
    let log = driver.session.log();
    let is_drag =
        |e: &&linkwork::session::Entry| matches!(e, linkwork::session::Entry::Command(Command::Drag { .. }));
    log.entries.iter().filter(is_drag).count()
}

/// As the loop of a driver whose ticks take for ever: half a second of messages comes in meanwhile, and it is time for
/// the next tick before anything was answered.
fn slow_tick(driver: &mut Driver, inbox: &Receiver<Queued>) {
    assert!(driver.listen(inbox, &|| true));
    driver.advance(0.5);
}

#[test]
fn a_release_is_answered_within_two_ticks_however_slow_they_are() {
    let (mut driver, hub, inbox) = driver();
    let grab = Command::Grab {
        hand: 1,
        solid: "coupler".into(),
        point: [0.5, 0.0, 0.0],
        mode: linkwork::session::GripMode::Pin,
        rotation: None,
    };
    let mut held = ask(&hub, grab);
    slow_tick(&mut driver, &inbox);
    slow_tick(&mut driver, &inbox);
    assert!(is_done(&mut held));
    let mut waiting: Vec<(usize, Reply)> = Vec::new();
    for tick in 0..20 {
        for k in 0..15 {
            let x = 0.5 + 0.01 * f64::from(tick * 15 + k);
            waiting.push((
                tick as usize,
                ask(&hub, Command::Drag { hand: 1, position: [x, 0.5, 0.0], rotation: None }),
            ));
        }
        if tick == 10 {
            waiting.push((10, ask(&hub, Command::Run { on: false })));
            waiting.push((10, ask(&hub, Command::Run { on: true })));
        }
        slow_tick(&mut driver, &inbox);
        waiting.retain_mut(|(_, answer)| !is_done(answer));
        let oldest = waiting.first().map_or(tick as usize, |(asked, _)| *asked);
        assert!(tick as usize - oldest < 2, "tick {tick}: somebody waits since {oldest}");
    }
    // Three hundred places the hand was at: one a tick counts, and one more where something came in between.
    let applied = drags(&driver);
    assert!((10..=24).contains(&applied), "{applied}");
    let mut released = ask(&hub, Command::Release { hand: 1 });
    slow_tick(&mut driver, &inbox);
    slow_tick(&mut driver, &inbox);
    assert!(is_done(&mut released));
    assert!(driver.session.look().grabs.is_empty());
}
