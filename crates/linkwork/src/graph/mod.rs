//! The kinematic graph: islands, spanning forest, loop closures, elimination order.
//!
//! Solids are nodes, joints are edges; everything with infinite mass is the root of the forest and separates islands.
//! Faure 1999 leaves the spanning tree open; breadth-first from the fixed solids keeps the trees shallow, which decides
//! how fast iterative loop closing converges.

mod order;
mod quotient;

pub use order::{CliqueGraph, elimination_order};
pub use quotient::Elimination;

use crate::joint::{JointId, Rank};
use crate::mechanism::Mechanism;
use crate::solid::SolidId;

/// Solids that can influence each other, with the joints between them and to fixed solids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Island {
    /// Movable solids, in id order.
    pub solids: Vec<SolidId>,
    /// Joints, in id order.
    pub joints: Vec<JointId>,
}

impl Island {
    /// Where a movable solid stands in `solids`.
    pub fn place(&self, solid: SolidId) -> Option<usize> {
        self.solids.binary_search(&solid).ok()
    }
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

/// Which edges a breadth-first spanning forest from the roots uses, in the order in which it reaches them.
///
/// Edges are taken in passes of rising `pass` (at most 2): an edge of a later pass is used only where the earlier ones
/// do not connect. Unusable edges have pass 3. All roots are one tree.
pub(crate) fn spanning_forest(
    nodes: usize,
    is_root: &[bool],
    edges: &[[usize; 2]],
    pass: &[u8],
) -> Vec<usize> {
    // Edges sorted by node, in compressed form.
    let mut first = vec![0; nodes + 1];
    for e in edges {
        e.iter().for_each(|s| first[s + 1] += 1);
    }
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    let mut next = first.clone();
    let mut touching = vec![0; 2 * edges.len()];
    for (k, e) in edges.iter().enumerate() {
        for s in e {
            touching[next[*s]] = k;
            next[*s] += 1;
        }
    }
    let mut sets = Sets::new(nodes);
    let mut root = None;
    for i in (0..nodes).filter(|i| is_root[*i]) {
        sets.join(*root.get_or_insert(i), i);
    }
    let mut used = vec![false; edges.len()];
    let mut order = Vec::new();
    for now in 0..3 {
        // Each pass walks along everything the forest has so far, so that it starts from all of it; only the last walk
        // sees the whole forest, and its order is the one that counts.
        order.clear();
        let mut seen = is_root.to_vec();
        let mut queue: Vec<usize> = (0..nodes).filter(|i| is_root[*i]).collect();
        let (mut head, mut seed) = (0, 0);
        loop {
            while head < queue.len() {
                let node = queue[head];
                head += 1;
                for &k in &touching[first[node]..first[node + 1]] {
                    let other = if edges[k][0] == node { edges[k][1] } else { edges[k][0] };
                    if seen[other] {
                        continue;
                    }
                    if !used[k] && pass[k] == now && sets.join(node, other) {
                        used[k] = true;
                    }
                    if used[k] {
                        seen[other] = true;
                        order.push(k);
                        queue.push(other);
                    }
                }
            }
            match (seed..nodes).find(|i| !seen[*i]) {
                Some(i) => {
                    seed = i;
                    seen[i] = true;
                    queue.push(i);
                }
                None => break,
            }
        }
    }
    order
}

fn build(m: &Mechanism) -> Graph {
    let n = m.solids().len();
    let usable: Vec<bool> =
        m.joints().iter().map(|j| j.enabled && !m.is_inert(j) && crate::rows::row_count(j) > 0).collect();
    let fixed: Vec<bool> = m.solids().iter().map(|s| s.is_fixed()).collect();
    let edges: Vec<[usize; 2]> = m.joints().iter().map(|j| j.frames.map(|f| f.solid.index())).collect();
    // User rank 1 first, then undecided joints, then rank 2: a primary joint closes a loop only where primary joints
    // alone form one.
    let pass: Vec<u8> = m
        .joints()
        .iter()
        .zip(&usable)
        .map(|(j, usable)| match j.rank {
            _ if !usable => 3,
            Some(Rank::Primary) => 0,
            // What does not hold at the start must not push into a loop what does.
            None if !j.holds_at(0.0) => 2,
            None => 1,
            Some(Rank::Secondary) => 2,
        })
        .collect();
    let mut closes_loop = vec![true; edges.len()];
    spanning_forest(n, &fixed, &edges, &pass).into_iter().for_each(|k| closes_loop[k] = false);

    // Islands: connected through movable solids only.
    let mut sets = Sets::new(n);
    for (_, joint) in m.joints().iter().enumerate().filter(|(j, _)| usable[*j]) {
        let [a, b] = joint.frames.map(|f| f.solid.index());
        if !fixed[a] && !fixed[b] {
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
    fn joints_that_hold_later_do_not_displace_those_that_hold_now() {
        let mut m = solids(1);
        let later = ball(&mut m, 0, 1, None);
        m.alter_joint(later, |j| j.during = Some((1.0, 2.0)));
        let now = ball(&mut m, 0, 1, None);
        let g = Graph::new(&m);
        assert!(g.closes_loop(later) && !g.closes_loop(now));
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
