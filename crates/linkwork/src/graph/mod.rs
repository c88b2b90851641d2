//! The kinematic graph: islands, spanning forest, loop closures, elimination order.
//!
//! Solids are nodes, joints are edges; everything with infinite mass is the root of the forest and separates islands.
//! Faure 1999 leaves the spanning tree open; breadth-first from the fixed solids keeps the trees shallow, which decides
//! how fast iterative loop closing converges.

mod order;

pub use order::{CliqueGraph, Elimination, elimination_order};

use crate::joint::{JointId, Rank};
use crate::mechanism::Mechanism;
use crate::solid::SolidId;

/// Solids that can influence each other, with the joints between them and to fixed solids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Island {
    /// Movable solids, in breadth-first order from the fixed ones.
    pub solids: Vec<SolidId>,
    /// Joints, in id order.
    pub joints: Vec<JointId>,
}

/// Islands, forest and loop closures of one topology.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Independent parts that have at least one joint.
    pub islands: Vec<Island>,
    /// Movable solids that no joint holds.
    pub unheld: Vec<SolidId>,
    /// Per joint: closes a loop (not part of the spanning forest).
    closes_loop: Vec<bool>,
    /// Scalar equalities of the forest's joints: Faure's `a`.
    pub acyclic: usize,
    /// Scalar equalities of the loop closures: Faure's `l`.
    pub loops: usize,
    epoch: Option<u64>,
}

impl Graph {
    /// The graph of a mechanism, all enabled joints included whatever the time.
    pub fn new(m: &Mechanism) -> Self {
        let mut graph = Self::default();
        graph.update(m);
        graph
    }

    /// Rebuilds it if the mechanism changed. Tells whether it did.
    pub fn update(&mut self, m: &Mechanism) -> bool {
        if self.epoch == Some(m.epoch()) {
            return false;
        }
        *self = build(m);
        true
    }

    /// The joint is not part of the spanning forest.
    pub fn closes_loop(&self, joint: JointId) -> bool {
        self.closes_loop[joint.index()]
    }

    /// The rank a joint has when the user gave none.
    pub fn default_rank(&self, joint: JointId) -> Rank {
        if self.closes_loop(joint) { Rank::Secondary } else { Rank::Primary }
    }
}

/// Joints sorted by the solid they touch, in compressed form.
struct Neighbours {
    first: Vec<usize>,
    joints: Vec<JointId>,
}

impl Neighbours {
    fn new(m: &Mechanism, usable: &[bool]) -> Self {
        let mut first = vec![0; m.solids().len() + 1];
        let ends = |j: usize| m.joints()[j].frames.map(|f| f.solid.index());
        for j in (0..m.joints().len()).filter(|j| usable[*j]) {
            ends(j).iter().for_each(|s| first[s + 1] += 1);
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut joints = vec![JointId(0); *first.last().unwrap_or(&0)];
        for j in (0..m.joints().len()).filter(|j| usable[*j]) {
            for s in ends(j) {
                joints[next[s]] = JointId(j as u32);
                next[s] += 1;
            }
        }
        Self { first, joints }
    }

    fn of(&self, solid: usize) -> &[JointId] {
        &self.joints[self.first[solid]..self.first[solid + 1]]
    }
}

/// Union-find with path halving.
pub(crate) struct Sets(Vec<u32>);

impl Sets {
    pub(crate) fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }
    pub(crate) fn find(&mut self, mut i: usize) -> usize {
        while self.0[i] as usize != i {
            self.0[i] = self.0[self.0[i] as usize];
            i = self.0[i] as usize;
        }
        i
    }
    /// Joins two sets; false when they were one already.
    pub(crate) fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b) as u32;
        a != b
    }
}

fn build(m: &Mechanism) -> Graph {
    let n = m.solids().len();
    let usable: Vec<bool> =
        m.joints().iter().map(|j| j.enabled && !m.is_inert(j) && crate::rows::row_count(j) > 0).collect();
    let neighbours = Neighbours::new(m, &usable);
    let fixed: Vec<bool> = m.solids().iter().map(|s| s.is_fixed()).collect();
    let other = |j: JointId, solid: usize| {
        let [a, b] = m.joint(j).frames.map(|f| f.solid.index());
        if a == solid { b } else { a }
    };

    // Breadth-first forest in passes: joints of user rank 1 first, then undecided ones, then rank 2, so that a primary
    // joint becomes a loop closure only where primary joints alone already form a loop. All fixed solids are one root.
    let mut sets = Sets::new(n);
    for i in 1..n {
        if fixed[i] {
            sets.join(0, i);
        }
    }
    let mut closes_loop = vec![true; m.joints().len()];
    for pass in [Some(Rank::Primary), None, Some(Rank::Secondary)] {
        let mut seen = vec![false; n];
        let mut queue: Vec<usize> = (0..n).filter(|i| fixed[*i]).collect();
        queue.iter().for_each(|i| seen[*i] = true);
        let (mut head, mut seed) = (0, 0);
        loop {
            while head < queue.len() {
                let solid = queue[head];
                head += 1;
                for &j in neighbours.of(solid) {
                    let next = other(j, solid);
                    let in_forest = !closes_loop[j.index()];
                    if m.joint(j).rank == pass && !in_forest && !seen[next] && sets.join(solid, next) {
                        closes_loop[j.index()] = false;
                    }
                    // Walk along everything the forest has so far, so that later passes start from all of it.
                    if !closes_loop[j.index()] && !seen[next] {
                        seen[next] = true;
                        queue.push(next);
                    }
                }
            }
            match (seed..n).find(|i| !seen[*i]) {
                Some(i) => {
                    seed = i;
                    seen[i] = true;
                    queue.push(i);
                }
                None => break,
            }
        }
    }

    // Islands: connected through movable solids only.
    let mut sets = Sets::new(n);
    for (j, joint) in m.joints().iter().enumerate().filter(|(j, _)| usable[*j]) {
        let [a, b] = joint.frames.map(|f| f.solid.index());
        if !fixed[a] && !fixed[b] && usable[j] {
            sets.join(a, b);
        }
    }
    let mut island_of = vec![usize::MAX; n];
    let mut graph = Graph { epoch: Some(m.epoch()), ..Graph::default() };
    for (j, joint) in m.joints().iter().enumerate().filter(|(j, _)| usable[*j]) {
        let [a, b] = joint.frames.map(|f| f.solid.index());
        let root = sets.find(if fixed[a] { b } else { a });
        if island_of[root] == usize::MAX {
            island_of[root] = graph.islands.len();
            graph.islands.push(Island::default());
        }
        graph.islands[island_of[root]].joints.push(JointId(j as u32));
        *(if closes_loop[j] { &mut graph.loops } else { &mut graph.acyclic }) += joint.equalities();
    }
    for i in (0..n).filter(|i| !fixed[*i]) {
        match island_of[sets.find(i)] {
            usize::MAX => graph.unheld.push(SolidId(i as u32)),
            k => graph.islands[k].solids.push(SolidId(i as u32)),
        }
    }
    graph.closes_loop = closes_loop;
    graph
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vector;
    use crate::{Frame, Joint, Solid};

    fn ball(m: &mut Mechanism, a: u32, b: u32, rank: Option<Rank>) -> JointId {
        let f = |s| Frame::point(SolidId(s), Vector::ZERO);
        m.add_joint(Joint { rank, ..Joint::ball(f(a), f(b)) }).unwrap()
    }

    fn solids(n: usize) -> Mechanism {
        let mut m = Mechanism::new();
        for i in 0..n {
            m.add_solid(Solid::new(format!("s{i}"))).unwrap();
        }
        m
    }

    #[test]
    fn a_ring_closes_where_the_two_fronts_meet() {
        let mut m = solids(5);
        for i in 0..5 {
            ball(&mut m, i, i + 1, None);
        }
        let last = ball(&mut m, 5, 0, None);
        let g = Graph::new(&m);
        assert_eq!((g.acyclic, g.loops), (15, 3));
        // Breadth-first from the world on both sides: the closure is in the middle, not at the last joint.
        assert!(!g.closes_loop(last));
        assert_eq!((0..6).filter(|j| g.closes_loop(JointId(*j))).count(), 1);
        assert!(g.closes_loop(JointId(3)));
        assert_eq!(g.islands.len(), 1);
    }

    #[test]
    fn user_ranks_decide_the_forest() {
        let mut m = solids(3);
        let grab = ball(&mut m, 0, 3, Some(Rank::Secondary));
        for i in 0..3 {
            ball(&mut m, i, i + 1, None);
        }
        let g = Graph::new(&m);
        assert!(g.closes_loop(grab));
        assert_eq!((g.acyclic, g.loops), (9, 3));
    }

    #[test]
    fn fixed_solids_separate_islands() {
        let mut m = solids(4);
        ball(&mut m, 0, 1, None);
        ball(&mut m, 0, 2, None);
        ball(&mut m, 2, 3, None);
        let g = Graph::new(&m);
        assert_eq!(g.islands.len(), 2);
        assert_eq!(g.unheld, vec![SolidId(4)]);
        assert_eq!(g.islands[1].solids, vec![SolidId(2), SolidId(3)]);
    }

    #[test]
    fn parallel_and_free_floating_joints() {
        let mut m = solids(2);
        ball(&mut m, 1, 2, None);
        ball(&mut m, 1, 2, None);
        let g = Graph::new(&m);
        assert_eq!((g.acyclic, g.loops), (3, 3));
        assert!(!Graph::new(&m).clone().update(&m));
    }
}
