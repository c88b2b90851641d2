//! What clients ask for, between the queue and the simulation: all that has come is taken out at every tick, however slow
//! ticks are, and drags that a newer one has overtaken are left out. A hand is where it is now, not where it was.

use super::hub::{Answer, QUEUE, Queued, Work};
use linkwork::session::Command;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError};

/// Requests that wait for their turn.
#[derive(Default)]
pub struct Backlog {
    waiting: VecDeque<Queued>,
    /// So many of them have waited for a tick already: they are next, whatever time it is.
    old: usize,
}

impl Backlog {
    /// One more at the end.
    pub fn push(&mut self, queued: Queued) {
        self.waiting.push_back(queued);
    }

    /// Takes everything out of the queue that is in it now. False if nobody can send any more.
    pub fn fill(&mut self, inbox: &Receiver<Queued>) -> bool {
        self.old = self.waiting.len();
        while self.waiting.len() < QUEUE {
            match inbox.try_recv() {
                Ok(queued) => self.waiting.push_back(queued),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return !self.waiting.is_empty(),
            }
        }
        self.merge();
        true
    }

    /// The next one. New ones wait for the next tick once the time is up; those that have waited do not.
    pub fn next(&mut self, time_is_up: &dyn Fn() -> bool) -> Option<Queued> {
        if self.old == 0 && time_is_up() {
            return None;
        }
        self.old = self.old.saturating_sub(1);
        self.waiting.pop_front()
    }

    /// Of each hand's drags only the newest counts, up to the next thing that is no drag: what acts in between acts on
    /// the hands as they were. A drag without a turn keeps the turn that was asked for before it.
    fn merge(&mut self) {
        let mut kept: VecDeque<Queued> = VecDeque::with_capacity(self.waiting.len());
        let mut old = 0;
        for (k, queued) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            let overtaken = hand_of(&queued).and_then(|hand| {
                let recent = kept.iter().enumerate().rev();
                let same = |q: &Queued| hand_of(q) == Some(hand) && q.request.client == queued.request.client;
                recent.take_while(|(_, q)| hand_of(q).is_some()).find(|(_, q)| same(q)).map(|(i, _)| i)
            });
            match overtaken {
                Some(i) => {
                    // In its place in the line, so that nothing waits longer than it has to.
                    let before = std::mem::replace(&mut kept[i], queued);
                    keep_turn(&before, &mut kept[i]);
                    dismiss(before);
                }
                None => {
                    old += usize::from(k < self.old);
                    kept.push_back(queued);
                }
            }
        }
        self.waiting = kept;
        self.old = old;
    }
}

/// Whose drag it is.
fn hand_of(queued: &Queued) -> Option<u32> {
    match &queued.request.work {
        Work::Do(command) => match **command {
            Command::Drag { hand, .. } => Some(hand),
            _ => None,
        },
        _ => None,
    }
}

fn keep_turn(before: &Queued, after: &mut Queued) {
    let Work::Do(before) = &before.request.work else { return };
    let Work::Do(after) = &mut after.request.work else { return };
    if let (Command::Drag { rotation: Some(turn), .. }, Command::Drag { rotation: rotation @ None, .. }) =
        (&**before, &mut **after)
    {
        *rotation = Some(*turn);
    }
}

/// It has been overtaken, which is as good as done.
fn dismiss(queued: Queued) {
    if let Some(reply) = queued.request.reply {
        // The client may be gone.
        let _ = reply.send(Ok(Answer::Value(Value::Null)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::hub::{Hub, Request};
    use super::*;
    use std::sync::mpsc::sync_channel;

    fn drag(hand: u32, x: f64, rotation: Option<[f64; 4]>) -> Work {
        Work::Do(Box::new(Command::Drag { hand, position: [x, 0.0, 0.0], rotation }))
    }

    fn what(queued: &Queued) -> String {
        match &queued.request.work {
            Work::Do(command) => match &**command {
                Command::Drag { hand, position, rotation } => {
                    format!("{hand}:{}{}", position[0], if rotation.is_some() { "t" } else { "" })
                }
                other => format!("{other:?}"),
            },
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn only_the_newest_drag_of_a_hand_counts_between_other_things() {
        let (sender, inbox) = sync_channel(QUEUE);
        let hub = Hub::new(sender);
        let send = |work| {
            hub.send(Request { work, reply: None, client: Some(1), bytes: 1 })
                .unwrap_or_else(|e| panic!("{}", e.message));
        };
        send(drag(1, 1.0, Some([1.0, 0.0, 0.0, 0.0])));
        send(drag(2, 5.0, None));
        send(drag(1, 2.0, None));
        send(drag(1, 3.0, None));
        send(Work::Do(Box::new(Command::Release { hand: 1 })));
        send(drag(2, 6.0, None));
        send(drag(2, 7.0, None));
        let mut backlog = Backlog::default();
        assert!(backlog.fill(&inbox));
        let all: Vec<String> = std::iter::from_fn(|| backlog.next(&|| false)).map(|q| what(&q)).collect();
        assert_eq!(all, ["1:3t", "2:5", "Release { hand: 1 }", "2:7"]);
    }

    #[test]
    fn who_waited_for_a_tick_is_next_whatever_time_it_is() {
        let (sender, inbox) = sync_channel(QUEUE);
        let hub = Hub::new(sender);
        let send = || drop(hub.send(Request { work: Work::Leave, reply: None, client: None, bytes: 0 }));
        (0..10).for_each(|_| send());
        let mut backlog = Backlog::default();
        assert!(backlog.fill(&inbox) && backlog.next(&|| true).is_none());
        (0..10).for_each(|_| send());
        assert!(backlog.fill(&inbox));
        assert_eq!(std::iter::from_fn(|| backlog.next(&|| true)).count(), 10);
        assert!(backlog.fill(&inbox));
        assert_eq!(std::iter::from_fn(|| backlog.next(&|| true)).count(), 10);
        drop(hub);
        assert!(!backlog.fill(&inbox));
    }
}
