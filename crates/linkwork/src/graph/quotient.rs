//! Elimination by quotient graph: minimum degree within stages, over lists that lie one behind the other in two arrays. As
//! lists of their own, allocated one by one, they took most of the time.

use super::CliqueGraph;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// An elimination order with what it costs.
#[derive(Clone, Debug, Default)]
pub struct Elimination {
    /// Nodes in order.
    pub order: Vec<u32>,
    /// Per node: where the nodes left that its elimination couples are among `coupled`.
    below: Vec<Range<u32>>,
    coupled: Vec<u32>,
    /// Multiplications of the factorisation.
    pub flops: f64,
    /// Entries of the factor.
    pub fill: f64,
}

impl Elimination {
    /// The nodes left that the elimination of this one couples.
    pub fn below(&self, node: usize) -> &[u32] {
        &self.coupled[self.below[node].start as usize..self.below[node].end as usize]
    }

    /// A node of `size` scalars goes, `rows` scalars of the nodes `below` stay.
    fn eliminated(&mut self, size: u32, rows: u64, node: u32, below: Range<usize>) {
        let (r, b) = (f64::from(size), rows as f64);
        self.flops += r * r * r / 6.0 + r * r * b / 2.0 + r * b * b / 2.0;
        self.fill += r * (r + 1.0) / 2.0 + r * b;
        self.order.push(node);
        self.below[node as usize] = below.start as u32..below.end as u32;
    }
}

/// Lists of cliques, one per node, with room to grow.
#[derive(Default)]
pub(super) struct Members {
    cliques: Vec<u32>,
    start: Vec<u32>,
    len: Vec<u32>,
}

/// Lists up to this length never hold empty cliques.
const SHORT: usize = 32;

impl Members {
    /// Of the cliques of a graph.
    pub fn new(graph: &CliqueGraph) -> Self {
        let n = graph.sizes.len();
        let mut len = vec![0u32; n];
        graph.cliques.iter().flatten().for_each(|k| len[*k as usize] += 1);
        let mut start = Vec::with_capacity(n);
        let mut room = 0;
        for len in &len {
            start.push(room);
            // A short list loses a clique before it gets one. A long one may be twice what is left of it, and one more.
            room += if *len as usize <= SHORT { *len } else { 2 * len + 2 };
        }
        let mut out = Self { cliques: vec![0; room as usize], start, len: vec![0; n] };
        for (c, nodes) in graph.cliques.iter().enumerate() {
            nodes.iter().for_each(|k| out.push(*k as usize, c as u32));
        }
        out
    }

    /// The cliques of a node.
    #[inline(always)]
    pub fn of(&self, node: usize) -> &[u32] {
        let start = self.start[node] as usize;
        &self.cliques[start..start + self.len[node] as usize]
    }

    fn push(&mut self, node: usize, clique: u32) {
        self.cliques[(self.start[node] + self.len[node]) as usize] = clique;
        self.len[node] += 1;
    }

    fn retain(&mut self, node: usize, keep: impl Fn(u32) -> bool) {
        let start = self.start[node] as usize;
        let list = &mut self.cliques[start..start + self.len[node] as usize];
        let mut kept = 0;
        for at in 0..list.len() {
            let c = list[at];
            if keep(c) {
                list[kept] = c;
                kept += 1;
            }
        }
        self.len[node] = kept as u32;
    }
}

/// The graph while nodes go.
struct Quotient<'a> {
    graph: &'a CliqueGraph,
    stage: &'a [u32],
    member: Members,
    /// Per clique: where its nodes are among `nodes` (first those of the graph, then all that was coupled), and their weight.
    cliques: Vec<Range<u32>>,
    nodes: Vec<u32>,
    weight: Vec<u64>,
    /// Per node: live cliques and the sum of their weights, kept up to date, because a hub has too many to look at.
    live: Vec<u32>,
    sum: Vec<u64>,
    seen: Vec<u32>,
    stamp: u32,
    /// Who waits: stage, degree and node in one number, or `GONE`. What the heap holds of others is out of date.
    key: Vec<u128>,
    queue: BinaryHeap<Reverse<u128>>,
}

/// Not to be eliminated: already gone, or to wait for another node.
const GONE: u128 = u128::MAX;

impl<'a> Quotient<'a> {
    fn new(graph: &'a CliqueGraph, stage: &'a [u32]) -> Self {
        let n = graph.sizes.len();
        let member = Members::new(graph);
        let mut nodes = Vec::with_capacity(4 * graph.cliques.iter().map(Vec::len).sum::<usize>());
        let mut cliques = Vec::with_capacity(n + graph.cliques.len());
        for c in &graph.cliques {
            let start = nodes.len() as u32;
            nodes.extend_from_slice(c);
            cliques.push(start..nodes.len() as u32);
        }
        let size = |k: &u32| u64::from(graph.sizes[*k as usize]);
        let mut weight = Vec::with_capacity(n + graph.cliques.len());
        weight.extend(graph.cliques.iter().map(|c| c.iter().map(size).sum::<u64>()));
        let live = member.len.clone();
        let sum = (0..n).map(|k| member.of(k).iter().map(|c| weight[*c as usize]).sum()).collect();
        let (seen, key, queue) = (vec![0; n], vec![GONE; n], BinaryHeap::with_capacity(2 * n));
        Self { graph, stage, member, cliques, nodes, weight, live, sum, seen, stamp: 0, key, queue }
    }

    fn size(&self, node: u32) -> u64 {
        u64::from(self.graph.sizes[node as usize])
    }

    /// The exact degree while neighbourhoods are small; the sum of clique weights, an upper bound, where they are not. The
    /// bound alone orders ladders badly: it counts joints that two cliques share twice.
    fn degree(&mut self, k: usize) -> u64 {
        const EXACT: usize = 400;
        const MANY: usize = 64;
        let own = u64::from(self.graph.sizes[k]);
        let bound = self.sum[k] - own * u64::from(self.live[k]);
        let member = self.member.of(k);
        if self.live[k] <= 1
            || member.len() > MANY
            || member.iter().map(|c| self.cliques[*c as usize].len()).sum::<usize>() > EXACT
        {
            return bound;
        }
        self.stamp += 1;
        self.seen[k] = self.stamp;
        let mut sum = 0;
        for c in member {
            let Range { start, end } = self.cliques[*c as usize];
            for j in &self.nodes[start as usize..end as usize] {
                if self.seen[*j as usize] != self.stamp {
                    self.seen[*j as usize] = self.stamp;
                    sum += u64::from(self.graph.sizes[*j as usize]);
                }
            }
        }
        sum
    }

    fn wait(&mut self, node: u32, degree: u64) {
        let stage = self.stage[node as usize];
        let key = u128::from(stage) << 96 | u128::from(degree) << 32 | u128::from(node);
        if self.key[node as usize] != key {
            self.key[node as usize] = key;
            self.queue.push(Reverse(key));
        }
    }

    /// The next to go.
    fn pop(&mut self) -> Option<u32> {
        while let Some(Reverse(key)) = self.queue.pop() {
            let node = key as u32;
            if self.key[node as usize] == key {
                self.key[node as usize] = GONE;
                return Some(node);
            }
        }
        None
    }

    /// The cliques of a node become one, without it. Tells what is in it.
    fn merge(&mut self, node: u32, done: &[bool], mark: &mut [u32], merged: &mut Vec<u32>) {
        merged.clear();
        for at in 0..self.member.of(node as usize).len() {
            let c = self.member.of(node as usize)[at] as usize;
            let Range { start, end } = std::mem::take(&mut self.cliques[c]);
            for &j in &self.nodes[start as usize..end as usize] {
                let i = j as usize;
                if done[i] {
                    continue;
                }
                self.live[i] -= 1;
                self.sum[i] -= self.weight[c];
                if mark[i] != node {
                    mark[i] = node;
                    merged.push(j);
                }
            }
        }
        self.member.len[node as usize] = 0;
    }

    /// The nodes `rest` are a clique now.
    fn join(&mut self, rest: Range<usize>, weight: u64) {
        let c = self.cliques.len() as u32;
        for at in rest.clone() {
            let j = self.nodes[at] as usize;
            // Empty cliques are dropped once they are half of a long list: a hub's is looked at too often.
            let (len, live) = (self.member.len[j] as usize, self.live[j] as usize);
            if len <= SHORT || len > 2 * live {
                let cliques = &self.cliques;
                self.member.retain(j, |c| !cliques[c as usize].is_empty());
            }
            self.member.push(j, c);
            self.live[j] += 1;
            self.sum[j] += weight;
        }
        self.weight.push(weight);
        self.cliques.push(rest.start as u32..rest.end as u32);
    }
}

/// Minimum degree within stages: lower stages go first.
pub(super) fn eliminate(graph: &CliqueGraph, stage: &[u32]) -> Elimination {
    let n = graph.sizes.len();
    let mut q = Quotient::new(graph, stage);
    let mut waiting: Vec<(u32, u32)> = Vec::new();
    for k in 0..n {
        match graph.after.get(k) {
            Some(&a) if a != u32::MAX => waiting.push((a, k as u32)),
            _ => {
                let degree = q.degree(k);
                q.wait(k as u32, degree);
            }
        }
    }
    waiting.sort_by_key(|(after, _)| *after);
    let mut out = Elimination { below: vec![0..0; n], ..Elimination::default() };
    out.order.reserve(n);
    let (mut done, mut mark) = (vec![false; n], vec![u32::MAX; n]);
    let (mut merged, mut gone) = (Vec::new(), Vec::new());
    while let Some(node) = q.pop() {
        let k = node as usize;
        done[k] = true;
        q.merge(node, &done, &mut mark, &mut merged);
        let mut below: u64 = merged.iter().map(|j| q.size(*j)).sum();
        // Nodes that are in this clique alone couple nothing that is not coupled yet: they go at once, and stand first.
        let alone = |q: &Quotient, j: &u32| {
            let i = *j as usize;
            q.live[i] == 0 && stage[i] == stage[k] && q.key[i] != GONE
        };
        let start = q.nodes.len();
        gone.clear();
        gone.extend(merged.iter().copied().filter(|j| alone(&q, j)));
        q.nodes.extend_from_slice(&gone);
        let rest = q.nodes.len();
        for j in &merged {
            if !alone(&q, j) {
                q.nodes.push(*j);
            }
        }
        let end = q.nodes.len();
        out.eliminated(graph.sizes[k], below, node, start..end);
        for (i, &j) in gone.iter().enumerate() {
            done[j as usize] = true;
            below -= q.size(j);
            out.eliminated(graph.sizes[j as usize], below, j, start + i + 1..end);
            q.member.len[j as usize] = 0;
            q.key[j as usize] = GONE;
        }
        q.join(rest..end, below);
        for j in std::iter::once(node).chain(gone.iter().copied()).filter(|_| !waiting.is_empty()) {
            let first = waiting.partition_point(|(after, _)| *after < j);
            for (_, k) in waiting[first..].iter().take_while(|(after, _)| *after == j) {
                q.wait(*k, 0);
            }
        }
        for at in rest..end {
            let j = q.nodes[at];
            if q.key[j as usize] != GONE {
                let degree = q.degree(j as usize);
                q.wait(j, degree);
            }
        }
    }
    out.coupled = q.nodes;
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;
    use std::collections::BTreeSet;

    type Set = BTreeSet<u32>;

    /// The same with sets, as it is defined: cliques merge, and what is in the merged one alone goes with it. Tells who goes at
    /// once, the first one apart, and what stays of their clique.
    fn by_sets(graph: &CliqueGraph, stage: &[u32]) -> Vec<(u32, Set, Set)> {
        let n = graph.sizes.len() as u32;
        let mut cliques: Vec<Set> = graph.cliques.iter().map(|c| c.iter().copied().collect()).collect();
        let degree = |k: u32, cliques: &[Set]| -> u64 {
            let near: Set = cliques.iter().filter(|c| c.contains(&k)).flatten().copied().collect();
            near.iter().filter(|j| **j != k).map(|j| u64::from(graph.sizes[*j as usize])).sum()
        };
        let waits_for = |k: u32| graph.after.get(k as usize).copied().filter(|a| *a != u32::MAX);
        let start = |k: u32| waits_for(k).is_none().then(|| degree(k, &cliques));
        let mut key: Vec<Option<u64>> = (0..n).map(start).collect();
        let mut out = Vec::new();
        let next = |key: &[Option<u64>]| {
            let ready = (0..n).filter(|k| key[*k as usize].is_some());
            ready.min_by_key(|k| (stage[*k as usize], key[*k as usize], *k))
        };
        while let Some(k) = next(&key) {
            let (own, others): (Vec<Set>, Vec<Set>) = cliques.drain(..).partition(|c| c.contains(&k));
            cliques = others;
            let mut rest: Set = own.into_iter().flatten().filter(|j| *j != k).collect();
            let alone = |j: &&u32| {
                let i = **j as usize;
                stage[i] == stage[k as usize] && key[i].is_some() && !cliques.iter().any(|c| c.contains(j))
            };
            let gone: Set = rest.iter().filter(alone).copied().collect();
            rest.retain(|j| !gone.contains(j));
            cliques.push(rest.clone());
            key[k as usize] = None;
            gone.iter().for_each(|j| key[*j as usize] = None);
            for j in (0..n).filter(|j| waits_for(*j).is_some_and(|a| a == k || gone.contains(&a))) {
                key[j as usize] = Some(0);
            }
            for j in rest.iter().filter(|j| key[**j as usize].is_some()).copied().collect::<Vec<_>>() {
                key[j as usize] = Some(degree(j, &cliques));
            }
            out.push((k, gone, rest));
        }
        out
    }

    /// Lists in arrays give what sets do.
    #[test]
    fn arrays_eliminate_what_sets_do() {
        let mut random = Random::new(5);
        let mut dice = |n: usize| ((0.5 + 0.5 * random.signed()) * n as f64).min(n as f64 - 1.0) as usize;
        for round in 0..300 {
            let n = 2 + dice(60);
            let sizes = (0..n).map(|_| 1 + dice(6) as u32).collect();
            let mut graph = CliqueGraph { sizes, ..CliqueGraph::default() };
            for _ in 0..1 + dice(2 * n) {
                let nodes: Set = (0..1 + dice(5)).map(|_| dice(n) as u32).collect();
                graph.cliques.push(nodes.into_iter().collect());
            }
            if round % 3 == 0 {
                graph.after = vec![u32::MAX; n];
                graph.after[dice(n - 1)] = n as u32 - 1;
            }
            let stage: Vec<u32> = (0..n).map(|_| if round % 2 == 0 { 0 } else { dice(3) as u32 }).collect();
            let e = eliminate(&graph, &stage);
            let set = |list: &[u32]| -> Set { list.iter().copied().collect() };
            let mut at = 0;
            for (k, gone, rest) in by_sets(&graph, &stage) {
                let with = &e.order[at + 1..at + 1 + gone.len()];
                assert_eq!((e.order[at], set(with)), (k, gone.clone()), "round {round}");
                assert_eq!(set(e.below(k as usize)), gone.union(&rest).copied().collect(), "round {round}");
                for (i, j) in with.iter().enumerate() {
                    let left = set(&with[i + 1..]).union(&rest).copied().collect();
                    assert_eq!(set(e.below(*j as usize)), left, "round {round}");
                }
                at += 1 + gone.len();
            }
            assert_eq!(e.order.len(), n);
        }
    }
}
