//! A second session from the present moment of the first: the same scene, state and hands, under other settings.

use super::guard::Guard;
use super::history::{Edits, Ring};
use super::log::Log;
use super::{Session, budget};
use crate::measure::Meter;
use crate::rows::Rows;
use crate::step::Workspace;
use std::collections::BTreeMap;

impl Session {
    /// The same scene, state, hands and settings, with a past of its own. For comparing methods on one clock: give the
    /// fork another method and the same commands from here on.
    ///
    /// It has no log: what led to its first state is not in its text.
    pub fn fork(&self) -> Session {
        let mut history = Ring::default();
        history.restart(self.scene_state());
        Session {
            document: self.document.clone(),
            base: self.base.clone(),
            live: self.live.clone(),
            reach: self.reach.clone(),
            state: self.state.clone(),
            workspace: Workspace::default(),
            reach_workspace: Workspace::default(),
            meter: Meter::default(),
            rows: Rows::default(),
            settings: self.settings.clone(),
            grips: self.grips.clone(),
            gestures: self.gestures,
            history,
            edits: Edits::default(),
            // The same clock to the fraction of a step: otherwise one would run behind the other.
            pace: self.pace,
            cost: budget::Cost::default(),
            rough_cost: budget::Cost::default(),
            fresh: true,
            guard: Guard::new(&self.base),
            obstacles: None,
            bound: false,
            rough: None,
            since_drag: self.since_drag,
            settled: false,
            forces_known: false,
            touching: self.touching.clone(),
            events: Vec::new(),
            gap: self.gap,
            torn: self.torn,
            left: self.left,
            damping: self.damping,
            rejected: None,
            log: Log { cut: true, ..Log::new("") },
            files: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::session::{Command, GripMode, Session};

    const ARM: &str = "solid arm: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; end
        solid hand: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; at 1 0 0; end
        joint ball; object2 arm; end joint ball; object1 arm; object2 hand; frame1 1 0 0; end";

    #[test]
    fn a_fork_has_the_same_future_until_it_is_told_otherwise() {
        let mut one = Session::open(ARM, &mut |_| Err("none".into())).unwrap();
        one.apply(Command::Run { on: true }).unwrap();
        let hold = Command::Grab {
            hand: 3,
            solid: "hand".into(),
            point: [1.0, 0.0, 0.0],
            mode: GripMode::Pin,
            rotation: None,
        };
        one.apply(hold).unwrap();
        one.apply(Command::Drag { hand: 3, position: [1.2, 0.9, 0.1], rotation: None }).unwrap();
        let clock = || 0.0;
        (0..20).for_each(|_| drop(one.tick(1.0 / 60.0, &clock)));
        let mut two = one.fork();
        assert_eq!(one.hash(), two.hash());
        for s in [&mut one, &mut two] {
            s.apply(Command::Release { hand: 3 }).unwrap();
            (0..20).for_each(|_| drop(s.tick(1.0 / 60.0, &clock)));
        }
        assert_eq!(one.hash(), two.hash());
        two.apply(Command::Method { name: "displacement".into() }).unwrap();
        (0..20).for_each(|_| drop(one.tick(1.0 / 60.0, &clock)));
        (0..20).for_each(|_| drop(two.tick(1.0 / 60.0, &clock)));
        assert_ne!(one.hash(), two.hash());
        assert!(two.log().cut, "a fork cannot be replayed");
    }

    #[test]
    fn a_fork_between_two_steps_keeps_the_beat() {
        let mut one = Session::open(ARM, &mut |_| Err("none".into())).unwrap();
        one.apply(Command::Run { on: true }).unwrap();
        let clock = || 0.0;
        (0..4).for_each(|_| drop(one.tick(0.011, &clock)));
        let mut two = one.fork();
        for _ in 0..20 {
            let [a, b] = [&mut one, &mut two].map(|s| s.tick(0.011, &clock));
            assert_eq!((a.steps, a.hash), (b.steps, b.hash));
        }
    }
}
