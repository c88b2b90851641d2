//! Events: when solids begin to touch and when they part, with the impulse that went over.

use super::{ContactEvent, ContactEventKind};
use crate::math::Vector;
use crate::solid::SolidId;
use crate::state::State;
use crate::step::Workspace;

/// Follows who touches whom from step to step.
///
/// A step is looked at when it has been taken; an event's time is that of the step's end. What parts and meets again within
/// one step was never apart.
///
/// ```
/// use linkwork::contact::{ContactEventKind, ContactEvents};
/// use linkwork::{Mechanism, PlacedShape, Solid, State, StepConfig, Vector, Workspace, step};
/// let mut m = Mechanism::new();
/// m.add_solid(Solid { shapes: vec![PlacedShape::plane(Vector::Y)], ..Solid::fixed("floor") })?;
/// m.add_solid(Solid::new("ball").with_shape(PlacedShape::sphere(0.1), 2.0).at(0.0, 0.6, 0.0))?;
/// let (mut state, mut workspace) = (State::new(&m), Workspace::default());
/// let mut contacts = ContactEvents::new();
/// for _ in 0..60 {
///     step(&m, &mut state, &mut workspace, &StepConfig::default());
///     for e in contacts.after_step(&workspace, &state) {
///         assert_eq!(e.kind, ContactEventKind::Begin);
///         println!("{:.3} s: {} and {}, {:.3} N s", e.time, e.solids[0].0, e.solids[1].0, e.impulse.length());
///     }
/// }
/// assert_eq!(contacts.touching().count(), 1);
/// # Ok::<(), linkwork::ModelError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ContactEvents {
    /// Pairs that touch, in order.
    pairs: Vec<Touching>,
    events: Vec<ContactEvent>,
    time: Option<f64>,
    /// What touches after the next step is known already.
    quiet: bool,
}

/// A pair that touches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touching {
    /// The two solids.
    pub solids: [SolidId; 2],
    /// When they met.
    pub since: f64,
    /// What went over since then, on the second solid, N s.
    pub impulse: Vector,
    /// What went over in the last step.
    pub last: Vector,
}

impl ContactEvents {
    /// Nothing has touched yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets who touches, for who jumps to another state: what touches after the next step has no beginning that is told.
    pub fn restart(&mut self) {
        *self = Self { quiet: true, ..Self::default() };
    }

    /// What began and ended in the step that was just taken, in the order of the solids. Whoever goes back in time starts
    /// anew.
    pub fn after_step(&mut self, w: &Workspace, state: &State) -> &[ContactEvent] {
        self.events.clear();
        let h = self.time.map_or(0.0, |before| state.time - before);
        let anew = h < 0.0 || self.quiet;
        self.quiet = false;
        self.time = Some(state.time);
        if anew {
            self.pairs.clear();
        }
        let now = w.pair_forces(state);
        let gave = w.contact_impulses();
        let mut old = std::mem::take(&mut self.pairs).into_iter().peekable();
        let mut all: Vec<[SolidId; 2]> = now.iter().map(|p| p.0).collect();
        all.extend(gave.iter().map(|(solids, _)| *solids));
        all.extend(old.clone().map(|p| p.solids));
        all.sort_unstable();
        all.dedup();
        for solids in all {
            let was = old.next_if(|p| p.solids == solids);
            let is = now.binary_search_by_key(&solids, |p| p.0).ok().map(|k| now[k].2);
            let stepped = gave.binary_search_by_key(&solids, |p| p.0).ok().map(|k| gave[k].1);
            // What sleeps pushes as it did.
            let asleep = || is.map_or(Vector::ZERO, |force| force * h.max(0.0));
            let last = stepped.unwrap_or_else(asleep);
            let new = Touching { solids, since: state.time, impulse: Vector::ZERO, last: Vector::ZERO };
            let pair = was.unwrap_or(new);
            let pair = Touching { impulse: pair.impulse + last, last, ..pair };
            let event =
                |kind, impulse| ContactEvent { kind, time: state.time, since: pair.since, solids, impulse };
            if was.is_none() && !anew {
                self.events.push(event(ContactEventKind::Begin, last));
            }
            // Who touched may go on for a while without a push.
            if is.is_some() || (was.is_some() && stepped.is_none() && w.meets(state, solids)) {
                self.pairs.push(pair);
            } else {
                self.events.push(event(ContactEventKind::End, pair.impulse));
            }
        }
        &self.events
    }

    /// The events of the last step that was looked at.
    pub fn events(&self) -> &[ContactEvent] {
        &self.events
    }

    /// Pairs that touch, in the order of their solids.
    pub fn touching(&self) -> impl Iterator<Item = &Touching> {
        self.pairs.iter()
    }
}
