//! Nodes: what freedoms belong to. A solid has six, three to move and three to turn; a particle has the first three only,
//! and whatever is kept per turn (orientation, spin, inertia, columns of rows) takes no room for it.

use crate::math::{Rotation, Vector};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// Does not turn.
const NONE: u32 = u32::MAX;

/// Where in arrays that hold something per *turning* node each node is. Shared by all states of a mechanism: a particle
/// costs nothing here either. Without a table all nodes turn, and each is at its own number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places(Option<Arc<[u32]>>);

impl Places {
    /// From whether each node turns.
    pub fn new(turns: impl Iterator<Item = bool> + Clone) -> Self {
        if turns.clone().all(|t| t) {
            return Self(None);
        }
        let mut next = 0;
        let place = |turns: bool| {
            let at = if turns { next } else { NONE };
            next += u32::from(turns);
            at
        };
        Self(Some(turns.map(place).collect()))
    }

    /// The place of a node; `None` when it does not turn.
    #[inline(always)]
    pub fn of(&self, node: usize) -> Option<usize> {
        match &self.0 {
            None => Some(node),
            Some(table) => {
                let at = table[node];
                (at != NONE).then_some(at as usize)
            }
        }
    }

    /// All nodes turn: each is at its own number.
    pub fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Whether each of `nodes` nodes turns.
    pub fn turns(&self, nodes: usize) -> impl Iterator<Item = bool> + Clone + '_ {
        (0..nodes).map(|i| self.of(i).is_some())
    }
}

/// What a node that does not turn has.
pub trait AtRest: Copy + PartialEq + 'static {
    /// No turn, no spin.
    const REST: Self;
    /// The same, to be looked at.
    fn at_rest() -> &'static Self;
}

impl AtRest for Rotation {
    const REST: Self = Rotation::IDENTITY;
    fn at_rest() -> &'static Self {
        &Self::REST
    }
}

impl AtRest for Vector {
    const REST: Self = Vector::ZERO;
    fn at_rest() -> &'static Self {
        &Self::REST
    }
}

/// Something per node that turns, asked for by the number of the node. Particles do not turn: what is read of them is the
/// identity or zero, and what is written to them is dropped.
///
/// ```
/// use linkwork::{Mechanism, Solid, State, Vector};
/// let mut m = Mechanism::new();
/// let p = m.add_solid(Solid::particle("p", 1.0))?;
/// let mut s = State::new(&m);
/// s.spins[p.index()] = Vector::X;
/// assert_eq!(s.spins[p.index()], Vector::ZERO);
/// assert_eq!((s.spins.len(), s.spins.values().len()), (2, 1)); // the world, and a particle that takes no room
/// # Ok::<(), linkwork::ModelError>(())
/// ```
#[derive(Debug)]
pub struct Turning<T> {
    values: Vec<T>,
    places: Places,
    nodes: usize,
    /// Where writes to particles go.
    dropped: T,
}

impl<T: AtRest> Default for Turning<T> {
    fn default() -> Self {
        Self { values: Vec::new(), places: Places::default(), nodes: 0, dropped: T::REST }
    }
}

impl<T: AtRest> PartialEq for Turning<T> {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes && self.values == other.values && self.places == other.places
    }
}

/// By hand, so that steps can copy in place.
impl<T: AtRest> Clone for Turning<T> {
    fn clone(&self) -> Self {
        Self { values: self.values.clone(), places: self.places.clone(), ..*self }
    }
    fn clone_from(&mut self, from: &Self) {
        self.values.clone_from(&from.values);
        self.places.clone_from(&from.places);
        self.nodes = from.nodes;
    }
}

impl<T: AtRest> Turning<T> {
    /// Of all nodes, given what each would have if it turned.
    pub(crate) fn new(places: &Places, all: impl ExactSizeIterator<Item = T>) -> Self {
        let mut out = Self::default();
        out.refill(places, all);
        out
    }

    /// The same in place.
    pub(crate) fn refill(&mut self, places: &Places, all: impl ExactSizeIterator<Item = T>) {
        self.nodes = all.len();
        self.places.clone_from(places);
        self.values.clear();
        if places.is_all() {
            return self.values.extend(all);
        }
        self.values.extend(all.enumerate().filter(|(i, _)| places.of(*i).is_some()).map(|(_, v)| v));
    }

    /// From values and whether each node turns, none meaning that all do; `None` when the two do not fit.
    pub(crate) fn from_parts(values: Vec<T>, turns: &[bool]) -> Option<Self> {
        let places = Places::new(turns.iter().copied());
        let (nodes, count) = match turns {
            [] => (values.len(), values.len()),
            _ => (turns.len(), turns.iter().filter(|t| **t).count()),
        };
        (values.len() == count).then_some(Self { values, places, nodes, dropped: T::REST })
    }

    /// Number of nodes, particles included.
    pub fn len(&self) -> usize {
        self.nodes
    }

    /// No nodes at all.
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// Of the nodes that turn, in order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The same, to be changed.
    pub(crate) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Of all nodes, particles included.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        (0..self.nodes).map(|i| &self[i])
    }

    /// The same for all nodes.
    pub fn fill(&mut self, value: T) {
        self.values.fill(value);
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// Only the first `nodes` nodes.
    pub(crate) fn truncate(&mut self, nodes: usize) {
        if nodes < self.nodes {
            self.values.truncate((0..nodes).filter(|i| self.places.of(*i).is_some()).count());
            self.places = Places::new(self.places.turns(nodes));
            self.nodes = nodes;
        }
    }

    /// As many nodes; new ones turn.
    pub(crate) fn resize(&mut self, nodes: usize, value: T) {
        self.truncate(nodes);
        let new = nodes - self.nodes;
        if new > 0 {
            self.values.resize(self.values.len() + new, value);
            self.places = Places::new(self.places.turns(self.nodes).chain((0..new).map(|_| true)));
            self.nodes = nodes;
        }
    }
}

impl<T: AtRest> Index<usize> for Turning<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, node: usize) -> &T {
        match self.places.of(node) {
            Some(at) => &self.values[at],
            None => T::at_rest(),
        }
    }
}

impl<T: AtRest> IndexMut<usize> for Turning<T> {
    #[inline(always)]
    fn index_mut(&mut self, node: usize) -> &mut T {
        match self.places.of(node) {
            Some(at) => &mut self.values[at],
            None => {
                self.dropped = T::REST;
                &mut self.dropped
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spins(turns: &[bool]) -> Turning<Vector> {
        let places = Places::new(turns.iter().copied());
        Turning::new(&places, (0..turns.len()).map(|i| Vector::X * i as f64))
    }

    #[test]
    fn particles_take_no_room() {
        let mut s = spins(&[true, false, true, false]);
        assert_eq!((s.len(), s.values().len()), (4, 2));
        assert_eq!([0, 1, 2, 3].map(|i| s[i].x), [0.0, 0.0, 2.0, 0.0]);
        s[1] += Vector::Y;
        s[1] += Vector::Y;
        s[2] += Vector::Y;
        assert_eq!((s[1], s[2]), (Vector::ZERO, Vector::new(2.0, 1.0, 0.0)));
        assert_eq!(s.iter().count(), 4);
    }

    #[test]
    fn nodes_come_and_go_at_the_end() {
        let whole = spins(&[true, false, true, false]);
        let mut s = whole.clone();
        s.resize(6, Vector::Z);
        assert_eq!((s.len(), s.values().len(), s[3], s[5]), (6, 4, Vector::ZERO, Vector::Z));
        s.truncate(4);
        assert_eq!(s, whole);
        s.resize(1, Vector::Z);
        assert_eq!(s, spins(&[true]));
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let s = spins(&[true, false, true]);
        let parts = |values, turns: &[bool]| Turning::from_parts(values, turns);
        assert_eq!(parts(s.values().to_vec(), &[true, false, true]), Some(s.clone()));
        assert_eq!(parts(s.values().to_vec(), &[true, true, true]), None);
        assert_eq!(
            parts(s.values().to_vec(), &[]),
            Some(Turning::new(&Places::default(), s.values().iter().copied()))
        );
    }
}
