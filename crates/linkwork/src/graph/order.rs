//! Fill-reducing elimination orders, by quotient graph.
//!
//! The matrix `A = J M^-1 J^T` couples two joints when they share a movable solid. All joints of one solid form a
//! clique; eliminating a joint merges the cliques it belongs to. Keeping cliques instead of edges makes a step cost
//! what its neighbourhood costs.

use super::quotient::{Elimination, Members};
use crate::mechanism::Mechanism;

/// Unknowns in blocks, coupled through cliques.
#[derive(Clone, Debug, Default)]
pub struct CliqueGraph {
    /// Scalars per node.
    pub sizes: Vec<u32>,
    /// Nodes of each clique.
    pub cliques: Vec<Vec<u32>>,
    /// A node that must be eliminated before this one (`u32::MAX`: none).
    pub after: Vec<u32>,
}

impl CliqueGraph {
    /// The better of minimum degree and nested dissection.
    pub fn best(&self) -> Elimination {
        let degree = self.eliminate(&vec![0; self.sizes.len()]);
        // Dissection only pays where the factor is much larger than a tree's: planar meshes and beyond.
        if degree.flops < 3e5 || self.sizes.len() < 200 {
            return degree;
        }
        let dissected = self.eliminate(&self.dissect());
        if dissected.flops < 0.95 * degree.flops { dissected } else { degree }
    }

    /// Minimum degree within stages: lower stages go first.
    pub fn eliminate(&self, stage: &[u32]) -> Elimination {
        super::quotient::eliminate(self, stage)
    }

    /// Narrow sets of nodes that cut a long and narrow graph at every repeat of its pattern. `None` if it is not long, or does
    /// not repeat.
    pub fn repeats(&self) -> Option<Vec<Vec<u32>>> {
        let n = self.sizes.len();
        let member = Members::new(self);
        let (order, starts) = self.levels(&[0], &member);
        let far = *order.last()?;
        if order.len() < n || n > 12 * starts.len() {
            return None;
        }
        let starts = [vec![far], self.end(far, &member)];
        let cuts = starts.iter().filter_map(|from| self.repeated_cuts(from, &member));
        cuts.min_by_key(|cuts| (self.rows(&cuts[0]), usize::MAX - cuts.len()))
    }

    /// Cuts at the repeats, and the cuts in halves of halves, as stages for [`Self::eliminate`]. All pieces between cuts then
    /// look alike, and so do all pairs of them, which is what lets a solver work on several in step: `together` at a time.
    /// Pieces have at least `piece` nodes.
    pub fn cut_at(&self, repeats: &[Vec<u32>], together: usize, piece: usize) -> Vec<u32> {
        let n = self.sizes.len();
        let nodes = n / repeats.len().max(1);
        let cuts: Vec<&Vec<u32>> = repeats.iter().step_by(piece.div_ceil(nodes.max(1))).collect();
        let mut stage = vec![0; n];
        let mut cut = |at: usize, depth: u32| cuts[at].iter().for_each(|k| stage[*k as usize] = depth);
        // As many equal runs as can go in step; what does not divide goes to the ends, which differ anyway.
        let rows: usize = self.sizes.iter().map(|s| *s as usize).sum();
        let Runs { first, length, runs, longer } = equal_runs(cuts.len().saturating_sub(1), together, rows);
        let mut work = Vec::new();
        let mut low = 0;
        for high in (0..=runs).filter(|_| length > 0).map(|k| first + k * length + k.min(longer)) {
            cut(high, 40);
            work.push((low, high, 39));
            low = high + 1;
        }
        work.push((low, cuts.len(), 39));
        while let Some((low, high, depth)) = work.pop() {
            if low < high {
                let middle = (low + high) / 2;
                cut(middle, depth);
                work.push((low, middle, depth - 1));
                work.push((middle + 1, high, depth - 1));
            }
        }
        stage
    }

    /// The narrow end of a long graph near a node. From one corner of a ladder its levels are aslant and wider than need
    /// be: positions along the graph are smoothed until both sides agree, and the end is where few nodes touch the rest.
    fn end(&self, far: u32, member: &Members) -> Vec<u32> {
        const ROUNDS: usize = 30;
        const DEEP: usize = 24;
        let n = self.sizes.len();
        let distances = |from: u32| {
            let (order, starts) = self.levels(&[from], member);
            let mut d = vec![0.0; n];
            for l in 0..starts.len() - 1 {
                order[starts[l]..starts[l + 1]].iter().for_each(|k| d[*k as usize] = l as f64);
            }
            (order[order.len() - 1], d)
        };
        let (near, mut x) = distances(far);
        let (_, back) = distances(near);
        x.iter_mut().zip(&back).for_each(|(x, b)| *x -= b);
        let mut middle = vec![0.0; self.cliques.len()];
        for _ in 0..ROUNDS {
            for (m, c) in middle.iter_mut().zip(&self.cliques) {
                *m = c.iter().map(|k| x[*k as usize]).sum::<f64>() / c.len().max(1) as f64;
            }
            for (k, x) in x.iter_mut().enumerate() {
                let m = member.of(k);
                if m.is_empty() {
                    continue;
                }
                *x = m.iter().map(|c| middle[*c as usize]).sum::<f64>() / m.len() as f64;
            }
        }
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by(|a, b| x[*a as usize].total_cmp(&x[*b as usize]).then(a.cmp(b)));
        let mut inside = vec![false; n];
        let mut best = vec![far];
        let mut fewest = usize::MAX;
        for p in 0..DEEP.min(n / 4) {
            inside[order[p] as usize] = true;
            let touches = |k: &&u32| {
                let mut near = member.of(**k as usize).iter().flat_map(|c| &self.cliques[*c as usize]);
                near.any(|j| !inside[*j as usize])
            };
            let edge: Vec<u32> = order[..=p].iter().filter(touches).copied().collect();
            // A first node alone is a corner.
            if p > 2 && !edge.is_empty() && edge.len() < fewest {
                fewest = edge.len();
                best = edge;
            }
        }
        best
    }

    fn rows(&self, nodes: &[u32]) -> u64 {
        nodes.iter().map(|k| u64::from(self.sizes[*k as usize])).sum()
    }

    /// Narrow sets of nodes that cut the graph into pieces that look alike, from one end to the other.
    fn repeated_cuts(&self, from: &[u32], member: &Members) -> Option<Vec<Vec<u32>>> {
        /// Levels on each side that must look the same for two levels to count as repeats.
        const REACH: usize = 32;
        let n = self.sizes.len();
        let (order, starts) = self.levels(from, member);
        let count = starts.len() - 1;
        if order.len() < n || count < 12 || n > 6 * count {
            return None;
        }
        // Of a level only what touches the next one is needed to cut there.
        let mut level = vec![0u32; n];
        for l in 0..count {
            order[starts[l]..starts[l + 1]].iter().for_each(|k| level[*k as usize] = l as u32);
        }
        let touches = |k: u32, l: u32| {
            let near = member.of(k as usize).iter().flat_map(|c| &self.cliques[*c as usize]);
            near.clone().any(|j| level[*j as usize] == l)
        };
        let narrow: Vec<Vec<u32>> = (0..count)
            .map(|l| {
                let nodes = order[starts[l]..starts[l + 1]].iter().copied();
                let mut nodes: Vec<u32> = nodes.filter(|k| touches(*k, l as u32 + 1)).collect();
                nodes.sort_unstable();
                nodes
            })
            .collect();
        // What a level looks like by itself, then with more and more neighbours.
        let mix = |a: u64, b: u64| (a.rotate_left(29) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let alone: Vec<u64> = (0..count)
            .map(|l| {
                let nodes = &order[starts[l]..starts[l + 1]];
                let touches: usize = nodes
                    .iter()
                    .flat_map(|k| member.of(*k as usize))
                    .map(|c| self.cliques[*c as usize].len())
                    .sum();
                let cut = mix(narrow[l].len() as u64, self.rows(&narrow[l]));
                mix(mix(mix(nodes.len() as u64, self.rows(nodes)), touches as u64), cut)
            })
            .collect();
        let mut look = alone.clone();
        let mut reach = 1;
        while reach <= REACH && reach * 16 <= count {
            look = (0..count)
                .map(|l| {
                    let at = |i: Option<usize>| i.and_then(|i| look.get(i)).copied().unwrap_or(1);
                    mix(mix(at(l.checked_sub(reach)), look[l]), at(Some(l + reach)))
                })
                .collect();
            reach *= 2;
        }
        // The narrowest kind of level, of these the most frequent.
        let mut kinds: std::collections::BTreeMap<u64, Vec<usize>> = std::collections::BTreeMap::new();
        (0..count).for_each(|l| kinds.entry(look[l]).or_default().push(l));
        let often = kinds.values().filter(|l| l.len() >= 3 && !narrow[l[0]].is_empty());
        let mut cuts = often.min_by_key(|l| (self.rows(&narrow[l[0]]), usize::MAX - l.len(), l[0]))?.clone();
        // Near the ends no level looks like the others from afar: go on at the same distance.
        let period = cuts.windows(2).map(|w| w[1] - w[0]).min()?;
        let like = |l: usize| alone[l] == alone[cuts[0]];
        let mut first = cuts[0];
        let mut extra = Vec::new();
        while first > period && like(first - period) {
            first -= period;
            extra.push(first);
        }
        let mut last = cuts[cuts.len() - 1];
        while last + period + 1 < count && like(last + period) {
            last += period;
            extra.push(last);
        }
        cuts.extend(extra);
        cuts.sort_unstable();
        Some(cuts.into_iter().map(|l| narrow[l].clone()).collect())
    }

    /// Breadth first from some nodes: the order, and where its levels start and the last one ends.
    fn levels(&self, from: &[u32], member: &Members) -> (Vec<u32>, Vec<usize>) {
        let mut seen = vec![false; self.sizes.len()];
        let (mut order, mut starts) = (from.to_vec(), vec![0]);
        from.iter().for_each(|k| seen[*k as usize] = true);
        let mut head = 0;
        while head < order.len() {
            let end = order.len();
            while head < end {
                for &j in member.of(order[head] as usize).iter().flat_map(|c| &self.cliques[*c as usize]) {
                    if !seen[j as usize] {
                        seen[j as usize] = true;
                        order.push(j);
                    }
                }
                head += 1;
            }
            starts.push(end);
        }
        (order, starts)
    }

    /// Nested dissection by breadth-first levels: stage 0 for the leaves, higher stages for larger separators.
    fn dissect(&self) -> Vec<u32> {
        const LEAF: usize = 24;
        let n = self.sizes.len();
        let member = Members::new(self);
        let mut stage = vec![0; n];
        // `part[k]`: which piece the node is in; separators leave all pieces.
        let mut part = vec![0u32; n];
        let mut parts = 1u32;
        let mut work: Vec<(Vec<u32>, u32)> = vec![((0..n as u32).collect(), 30)];
        let mut seen = vec![0u32; n];
        let mut stamp = 0u32;
        let mut levels = |from: u32, id: u32, part: &[u32]| -> (Vec<u32>, Vec<usize>) {
            stamp += 1;
            let (mut order, mut starts) = (vec![from], vec![0]);
            seen[from as usize] = stamp;
            let (mut head, mut end) = (0, 1);
            while head < end {
                while head < end {
                    for &c in member.of(order[head] as usize) {
                        for &j in &self.cliques[c as usize] {
                            if part[j as usize] == id && seen[j as usize] != stamp {
                                seen[j as usize] = stamp;
                                order.push(j);
                            }
                        }
                    }
                    head += 1;
                }
                starts.push(end);
                end = order.len();
            }
            (order, starts)
        };
        while let Some((nodes, depth)) = work.pop() {
            if nodes.len() <= LEAF || depth == 0 {
                continue;
            }
            let id = part[nodes[0] as usize];
            // From a far end, so that levels are many and narrow.
            let (first, _) = levels(nodes[0], id, &part);
            let (order, starts) = levels(first[first.len() - 1], id, &part);
            if order.len() < nodes.len() {
                // Disconnected: each piece by itself.
                parts += 1;
                order.iter().for_each(|k| part[*k as usize] = parts);
                let rest = nodes.into_iter().filter(|k| part[*k as usize] == id).collect();
                work.push((rest, depth));
                work.push((order, depth));
                continue;
            }
            let count = starts.len() - 1;
            if count < 3 {
                continue;
            }
            // The narrowest level of the middle third.
            let width = |l: usize| starts[l + 1] - starts[l];
            let inside = |l: &usize| starts[*l] * 3 >= order.len() && starts[*l + 1] * 3 <= order.len() * 2;
            let middle = (1..count - 1).min_by_key(|l| starts[*l].abs_diff(order.len() / 2)).unwrap_or(1);
            let cut = (1..count - 1).filter(inside).min_by_key(|l| width(*l)).unwrap_or(middle);
            for &k in &order[starts[cut]..starts[cut + 1]] {
                stage[k as usize] = depth;
                part[k as usize] = u32::MAX;
            }
            for half in [&order[..starts[cut]], &order[starts[cut + 1]..]] {
                if !half.is_empty() {
                    parts += 1;
                    half.iter().for_each(|k| part[*k as usize] = parts);
                    work.push((half.to_vec(), depth - 1));
                }
            }
        }
        stage
    }
}

/// The order in which the joints of an island (by position in `island.joints`) are best eliminated, with its cost.
pub fn elimination_order(m: &Mechanism, island: &super::Island) -> Elimination {
    let mut graph = CliqueGraph {
        sizes: island.joints.iter().map(|j| crate::rows::row_count(m.joint(*j)) as u32).collect(),
        cliques: vec![Vec::new(); island.solids.len()],
        after: Vec::new(),
    };
    for (k, j) in island.joints.iter().enumerate() {
        for f in &m.joint(*j).frames {
            if let Some(c) = island.place(f.solid) {
                graph.cliques[c].push(k as u32);
            }
        }
    }
    graph.best()
}

/// Runs of pieces of a long graph, the first after so many pieces, so many of them one piece longer than the others.
#[derive(Debug, PartialEq)]
struct Runs {
    first: usize,
    length: usize,
    runs: usize,
    longer: usize,
}

/// Cuts a long graph into `together` equal runs, or into so many times more that several threads find something to do, and
/// that what is worked on in step stays in the nearer caches. Cuts between runs are eliminated one by one and cost one or
/// two percent of such a length. Few pieces are left over, since `together` runs at a time may be longer than the others.
fn equal_runs(pieces: usize, together: usize, rows: usize) -> Runs {
    /// Rows of all runs that are worked on in step.
    const NEAR: usize = 8000;
    let most = pieces / (4 * together);
    let runs = together * (rows / NEAR).min(most).max(1);
    let length = pieces / runs;
    let longer = (pieces - runs * length) / together * together;
    let longer = if length > 0 { longer } else { 0 };
    Runs { first: (pieces - runs * length - longer) / 2, length, runs, longer }
}

#[cfg(test)]
mod tests {
    use super::CliqueGraph;

    fn chain(n: u32) -> CliqueGraph {
        let cliques = (1..n).map(|i| vec![i - 1, i]).collect();
        CliqueGraph { sizes: vec![3; n as usize], cliques, after: Vec::new() }
    }

    fn is_permutation(order: &[u32]) -> bool {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        sorted.into_iter().eq(0..order.len() as u32)
    }

    #[test]
    fn chains_fill_nothing() {
        let e = chain(200).best();
        assert!(is_permutation(&e.order));
        assert!((0..200).all(|k| e.below(k).len() <= 1));
        assert_eq!(e.fill, 200.0 * 6.0 + 199.0 * 9.0);
    }

    #[test]
    fn constrained_nodes_wait() {
        let mut g = chain(10);
        g.after = vec![u32::MAX; 10];
        g.after[0] = 9;
        let e = g.best();
        let at = |k: u32| e.order.iter().position(|x| *x == k).unwrap();
        assert!(is_permutation(&e.order) && at(0) > at(9));
    }

    #[test]
    fn dissection_beats_minimum_degree_on_a_large_grid_or_is_not_taken() {
        let n = 40u32;
        let at = |i: u32, j: u32| i * n + j;
        let mut cliques = Vec::new();
        for i in 0..n {
            for j in 0..n {
                if i + 1 < n {
                    cliques.push(vec![at(i, j), at(i + 1, j)]);
                }
                if j + 1 < n {
                    cliques.push(vec![at(i, j), at(i, j + 1)]);
                }
            }
        }
        let g = CliqueGraph { sizes: vec![3; (n * n) as usize], cliques, after: Vec::new() };
        let degree = g.eliminate(&vec![0; (n * n) as usize]);
        let dissected = g.eliminate(&g.dissect());
        let best = g.best();
        assert!(is_permutation(&best.order) && is_permutation(&dissected.order));
        assert!(best.flops <= degree.flops.min(dissected.flops) * 1.06);
        // Natural order of a banded matrix: n^2 blocks of bandwidth n.
        assert!(best.flops < 0.5 * 27.0 * f64::from(n).powi(4) / 2.0, "{} {}", degree.flops, dissected.flops);
    }

    /// From a corner, breadth-first levels of a ladder are aslant: four joints wide where two are enough.
    #[test]
    fn ladders_are_cut_straight_across() {
        let n = 48u32;
        let mut cliques = Vec::new();
        for side in 0..2 {
            for k in 0..n {
                let bar = [side * n + k, (2 + side) * n + k, side * n + k + 1];
                cliques.push(bar[..if k + 1 < n { 3 } else { 2 }].to_vec());
            }
        }
        cliques.extend((0..n).map(|k| vec![2 * n + k, 3 * n + k]));
        let g = CliqueGraph { sizes: vec![3; 4 * n as usize], cliques, after: Vec::new() };
        let stage = g.cut_at(&g.repeats().unwrap(), 4, 4);
        let top = *stage.iter().max().unwrap();
        let cut: Vec<u32> = (0..4 * n).filter(|k| stage[*k as usize] == top).collect();
        assert_eq!(cut.len(), 5 * 2, "{cut:?}");
        for k in cut.iter().filter(|k| **k < n) {
            assert!(cut.contains(&(n + k)), "{k} has no partner: {cut:?}");
        }
        assert!(is_permutation(&g.eliminate(&stage).order));
    }

    #[test]
    fn runs_leave_few_pieces_over() {
        for (pieces, rows) in [(1, 40), (3, 100), (95, 4032), (383, 16_128), (1535, 64_512), (6143, 258_048)]
        {
            let r = super::equal_runs(pieces, 4, rows);
            let taken = r.runs * r.length + r.longer;
            assert!(taken <= pieces && (pieces - taken < 4 || r.length == 0), "{r:?} of {pieces}");
            assert!(
                r.runs.is_multiple_of(4) && r.longer.is_multiple_of(4) && r.longer < r.runs.max(1),
                "{r:?}"
            );
            assert!(r.first <= pieces - taken);
        }
        assert_eq!(super::equal_runs(1535, 4, 64_512).runs, 32);
    }
}
