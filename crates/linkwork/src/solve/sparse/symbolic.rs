//! Everything about a factorisation that depends on the topology only.

use super::lanes::LANES;
use super::units::{Draft, NONE, Units};
use crate::graph::{CliqueGraph, Elimination};
use crate::rows::Group;
use std::ops::Range;

/// What the rows of one island look like: groups, and which of their solids move.
pub(crate) struct Shape<'a> {
    /// Row groups of the island.
    pub groups: &'a [Group],
    /// Per solid of the mechanism: can it move?
    pub moves: &'a [bool],
}

/// A product `W_a W_b^T` that goes into a front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    /// Node and side of the left factor.
    pub a: (u32, u8),
    /// Node and side of the right factor.
    pub b: (u32, u8),
    /// Place in the panel: row and column.
    pub at: (u32, u32),
}

/// Rows that couple to a hub's unknowns: `W_a` itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spoke {
    pub a: (u32, u8),
    pub at: (u32, u32),
    /// The panel's columns are the hub's, its rows the joint's (or the other way round).
    pub hub_is_column: bool,
}

/// One supernode.
#[derive(Clone, Debug, Default)]
pub(super) struct Front {
    /// First pivot, in elimination order.
    pub first: usize,
    /// Number of pivots.
    pub pivots: usize,
    /// Rows below the pivots: see [`Plan::below`].
    pub below: Range<usize>,
    /// Its children: see [`Plan::children`].
    children: Range<usize>,
    /// Its nodes, in elimination order.
    pub nodes: Range<usize>,
    /// Original entries.
    pub products: Range<usize>,
    pub spokes: Range<usize>,
    /// Entries of the factor that are not zero by structure.
    entries: usize,
}

impl Front {
    pub fn size(&self) -> usize {
        self.pivots + self.below.len()
    }
    /// The first position after its pivots.
    pub fn end(&self) -> usize {
        self.first + self.pivots
    }
}

/// Fronts, and which entries go where, for one elimination order.
pub(super) struct Plan<'a> {
    /// What is eliminated.
    pub of: &'a Nodes,
    pub fronts: Vec<Front>,
    below: Vec<u32>,
    children: Vec<(u32, u32)>,
    pub maps: Vec<u32>,
    pub products: Vec<Product>,
    pub spokes: Vec<Spoke>,
    /// Nodes in elimination order: groups of rows, then hubs.
    pub nodes: Vec<u32>,
    /// Per node: its first position, and how many it takes.
    pub first: Vec<usize>,
    /// Positions: hub unknowns included.
    pub scalars: usize,
}

/// The plan of a factorisation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbolic {
    pub units: Units,
    /// Predicted multiplications of one factorisation.
    pub flops: f64,
    /// Predicted entries of the factor.
    pub fill: f64,
}

/// From this many joints on a solid is a hub.
const HUB: usize = 20;
/// Fronts up to this size swallow their child whatever zeros that stores: the bookkeeping costs more.
const SMALL_FRONT: usize = 12;
/// Larger ones do while they store at most this many times the entries they need.
const ZEROS: f64 = 1.1;

impl Symbolic {
    /// Of the orders that promise little work, the one that the units make least of.
    pub fn new(shape: &Shape) -> Self {
        let nodes = Nodes::new(shape);
        let mut best: Option<(Draft, f64, f64)> = None;
        for e in nodes.orders() {
            let draft = Draft::new(Plan::new(&nodes, &e), shape);
            if best.as_ref().is_none_or(|(b, ..)| draft.cost < b.cost) {
                best = Some((draft, e.flops, e.fill));
            }
        }
        best.map(|(draft, flops, fill)| Self { units: draft.units(shape), flops, fill }).unwrap_or_default()
    }
}

impl<'a> Plan<'a> {
    fn new(of: &'a Nodes, elimination: &Elimination) -> Self {
        let n = of.graph.sizes.len();
        let mut out = Plan {
            of,
            fronts: Vec::with_capacity(n),
            below: Vec::new(),
            children: Vec::new(),
            maps: Vec::new(),
            products: Vec::new(),
            spokes: Vec::new(),
            nodes: Vec::new(),
            first: vec![0; n],
            scalars: 0,
        };
        if n == 0 {
            return out;
        }
        let scalars = |k: usize| of.graph.sizes[k] as usize;
        let below: Vec<usize> =
            (0..n).map(|k| elimination.below(k).iter().map(|j| scalars(*j as usize)).sum()).collect();
        let tree = Tree::new(elimination, &below);
        out.nodes = tree.postorder();
        for &k in &out.nodes {
            out.first[k as usize] = out.scalars;
            out.scalars += scalars(k as usize);
        }
        let front_of = out.find_fronts(elimination, &tree, &below);
        out.connect_fronts();
        out.place_entries(&front_of);
        out
    }

    /// Supernodes: a node swallows the front that ends right before it when that is its child and few zeros result. Tells the
    /// front of each node.
    fn find_fronts(&mut self, elimination: &Elimination, tree: &Tree, below: &[usize]) -> Vec<usize> {
        let scalars = |k: usize| self.of.graph.sizes[k] as usize;
        let entries = |k: usize| scalars(k) * (scalars(k) + 1) / 2 + scalars(k) * below[k];
        let mut front_of = vec![0usize; below.len()];
        for (i, k) in self.nodes.iter().map(|k| *k as usize).enumerate() {
            let swallow = self.fronts.last().is_some_and(|f| {
                let chain =
                    tree.children(k).last().is_some_and(|c| front_of[*c as usize] == self.fronts.len() - 1);
                if !chain || f.first + f.pivots != self.first[k] {
                    return false;
                }
                let pivots = f.pivots + scalars(k);
                let stored = pivots * (pivots + 1) / 2 + pivots * below[k];
                let needed = f.entries + entries(k);
                pivots + below[k] <= SMALL_FRONT || ((stored as f64) < ZEROS * needed as f64 && pivots <= 256)
            });
            if !swallow {
                let start = self.below.len();
                self.fronts.push(Front { first: self.first[k], below: start..start, ..Front::default() });
            }
            let index = self.fronts.len() - 1;
            front_of[k] = index;
            let front = &mut self.fronts[index];
            front.pivots += scalars(k);
            front.entries += entries(k);
            front.nodes = if swallow { front.nodes.start..i + 1 } else { i..i + 1 };
            // For now the rows of the node swallowed last; its child's are among them and itself.
            self.below.truncate(front.below.start);
            for j in elimination.below(k).iter().map(|j| *j as usize) {
                self.below.extend((self.first[j]..self.first[j] + scalars(j)).map(|x| x as u32));
            }
            front.below.end = self.below.len();
            self.below[front.below.clone()].sort_unstable();
        }
        front_of
    }

    /// Rows below the pivots of a front, in elimination order.
    pub fn below(&self, front: usize) -> &[u32] {
        &self.below[self.fronts[front].below.clone()]
    }

    /// Children of a front, each with the place of its map into it.
    pub fn children(&self, front: usize) -> &[(u32, u32)] {
        &self.children[self.fronts[front].children.clone()]
    }

    /// The movable solids of a node, by number; a hub's unknowns have none.
    pub fn ends(&self, shape: &Shape, node: usize) -> [u32; 2] {
        if node < shape.groups.len() { self.of.ends[node] } else { [NONE; 2] }
    }

    /// Sides of a node that enter its diagonal block.
    pub fn own(&self, shape: &Shape, node: usize) -> u8 {
        let ends = self.ends(shape, node);
        let enters = |s: u32| s != NONE && self.of.hub_node[s as usize].is_none();
        u8::from(enters(ends[0])) | u8::from(enters(ends[1])) << 1
    }

    /// Rows of a node.
    pub fn size(&self, node: u32) -> u32 {
        self.of.graph.sizes[node as usize]
    }

    /// The node whose rows start at a position.
    pub fn node_at(&self, position: usize) -> u32 {
        self.nodes[self.nodes.partition_point(|k| self.first[*k as usize] < position)]
    }

    /// The front in which a front's first row below is a pivot.
    fn parents(&self) -> Vec<Option<usize>> {
        let mut owner = vec![0u32; self.scalars];
        for (f, front) in self.fronts.iter().enumerate() {
            owner[front.first..front.first + front.pivots].fill(f as u32);
        }
        let first = |f: usize| self.below(f).first().map(|b| owner[*b as usize] as usize);
        (0..self.fronts.len()).map(first).collect()
    }

    /// Where each child's rows are in its parent's front.
    fn connect_fronts(&mut self) {
        let parents = self.parents();
        let mut count = vec![0; self.fronts.len()];
        parents.iter().flatten().for_each(|p| count[*p] += 1);
        let mut start = 0;
        for (front, count) in self.fronts.iter_mut().zip(count) {
            front.children = start..start;
            start += count;
        }
        self.children.resize(start, (0, 0));
        for (f, parent) in parents.iter().enumerate() {
            let Some(p) = *parent else { continue };
            let start = self.maps.len() as u32;
            let front = &self.fronts[p];
            let mut at = front.below.start;
            for b in self.below[self.fronts[f].below.clone()].iter().map(|b| *b as usize) {
                let row = if b < front.first + front.pivots {
                    b - front.first
                } else {
                    while self.below[at] as usize != b {
                        at += 1;
                    }
                    front.pivots + at - front.below.start
                };
                self.maps.push(row as u32);
            }
            let children = &mut self.fronts[p].children;
            self.children[children.end] = (f as u32, start);
            children.end += 1;
        }
    }

    /// Where the original entries go.
    fn place_entries(&mut self, front_of: &[usize]) {
        let (plan, first) = (self.of, &self.first);
        // (front, product) and (front, spoke), then grouped by front.
        let pairs =
            |(of, hub): (&Vec<_>, &Option<_>)| if hub.is_none() { of.len() * (of.len() - 1) / 2 } else { 0 };
        let count = plan.touching.iter().zip(&plan.hub_node).map(pairs).sum();
        let mut products: Vec<(usize, Product)> = Vec::with_capacity(count);
        let mut spokes: Vec<(usize, Spoke)> = Vec::new();
        let row_in = |f: usize, scalar: usize| -> u32 {
            let front = &self.fronts[f];
            if scalar < front.first + front.pivots {
                (scalar - front.first) as u32
            } else {
                (front.pivots + self.below(f).partition_point(|b| (*b as usize) < scalar)) as u32
            }
        };
        for (solid, touching) in plan.touching.iter().enumerate() {
            let hub = plan.hub_node[solid];
            for (i, &(a, side_a)) in touching.iter().enumerate() {
                if let Some(h) = hub {
                    let hub_is_column = first[h] < first[a as usize];
                    let (col, row) = if hub_is_column { (h, a as usize) } else { (a as usize, h) };
                    let f = front_of[col];
                    let at = (row_in(f, first[row]), row_in(f, first[col]));
                    spokes.push((f, Spoke { a: (a, side_a), at, hub_is_column }));
                    continue;
                }
                // Diagonal blocks are the business of the nodes.
                for &(b, side_b) in &touching[..i] {
                    // Lower triangle: rows of the node eliminated later.
                    let (lo, hi) = if first[a as usize] < first[b as usize] {
                        ((a, side_a), (b, side_b))
                    } else {
                        ((b, side_b), (a, side_a))
                    };
                    let f = front_of[lo.0 as usize];
                    let at = (row_in(f, first[hi.0 as usize]), row_in(f, first[lo.0 as usize]));
                    products.push((f, Product { a: hi, b: lo, at }));
                }
            }
        }
        let fronts = self.fronts.len();
        let (products, of_products) = by_front(fronts, products, |p| (p.at.1, p.at.0));
        let (spokes, of_spokes) = by_front(fronts, spokes, |s| (s.at.1, s.at.0));
        for (f, front) in self.fronts.iter_mut().enumerate() {
            front.products = of_products[f]..of_products[f + 1];
            front.spokes = of_spokes[f]..of_spokes[f + 1];
        }
        (self.products, self.spokes) = (products, spokes);
    }
}

/// Sorts by front, and within one by place; what has one place stays in order. Tells where those of each front start.
fn by_front<T: Copy>(
    fronts: usize,
    all: Vec<(usize, T)>,
    place: impl Fn(&T) -> (u32, u32),
) -> (Vec<T>, Vec<usize>) {
    let mut start = vec![0; fronts + 1];
    all.iter().for_each(|(f, _)| start[f + 1] += 1);
    (0..fronts).for_each(|f| start[f + 1] += start[f]);
    let mut next = start.clone();
    let Some((_, first)) = all.first() else { return (Vec::new(), start) };
    let mut out = vec![*first; all.len()];
    for (f, t) in &all {
        out[next[*f]] = *t;
        next[*f] += 1;
    }
    for f in 0..fronts {
        out[start[f]..start[f + 1]].sort_by_key(&place);
    }
    (out, start)
}

/// The elimination tree.
struct Tree {
    roots: Vec<u32>,
    children: Vec<u32>,
    /// Where those of each node start, and the last ones end.
    start: Vec<usize>,
}

impl Tree {
    /// The largest child (`below`) comes last: it can be swallowed.
    fn new(e: &Elimination, below: &[usize]) -> Self {
        let n = below.len();
        let mut position = vec![0u32; n];
        e.order.iter().enumerate().for_each(|(i, k)| position[*k as usize] = i as u32);
        let parent = |k: &u32| e.below(*k as usize).iter().copied().min_by_key(|j| position[*j as usize]);
        let parents: Vec<Option<u32>> = e.order.iter().map(parent).collect();
        let mut start = vec![0; n + 1];
        parents.iter().flatten().for_each(|p| start[*p as usize + 1] += 1);
        (0..n).for_each(|k| start[k + 1] += start[k]);
        let mut next = start.clone();
        let (mut roots, mut children) = (Vec::new(), vec![0; start[n]]);
        for (k, parent) in e.order.iter().zip(&parents) {
            match *parent {
                Some(p) => {
                    children[next[p as usize]] = *k;
                    next[p as usize] += 1;
                }
                None => roots.push(*k),
            }
        }
        for k in 0..n {
            children[start[k]..start[k + 1]].sort_unstable_by_key(|k| (below[*k as usize], *k));
        }
        Self { roots, children, start }
    }

    fn children(&self, node: usize) -> &[u32] {
        &self.children[self.start[node]..self.start[node + 1]]
    }

    fn postorder(&self) -> Vec<u32> {
        let mut post = Vec::with_capacity(self.start.len() - 1);
        let mut stack = Vec::new();
        for &root in &self.roots {
            stack.push((root, 0));
            while let Some((k, next)) = stack.pop() {
                if let Some(&c) = self.children(k as usize).get(next) {
                    stack.push((k, next + 1));
                    stack.push((c, 0));
                } else {
                    post.push(k);
                }
            }
        }
        post
    }
}

/// The unknowns: one node per row group, then one per hub.
pub(super) struct Nodes {
    graph: CliqueGraph,
    /// Per movable solid of the island: the groups that touch it, with the side; its number in the mechanism; the node
    /// of its unknowns if it is a hub.
    pub touching: Vec<Vec<(u32, u8)>>,
    pub solids: Vec<u32>,
    /// Whether it turns: particles do not.
    pub turns: Vec<bool>,
    hub_node: Vec<Option<usize>>,
    /// Per group and side: the movable solid.
    ends: Vec<[u32; 2]>,
}

impl Nodes {
    /// Elimination orders worth a try.
    fn orders(&self) -> Vec<Elimination> {
        if self.graph.sizes.is_empty() {
            return Vec::new();
        }
        let mut out = vec![self.graph.best()];
        if let Some(repeats) = self.graph.repeats() {
            let stages = [4, 8].map(|piece| self.graph.cut_at(&repeats, LANES, piece));
            // Long patterns are cut at the same places either way.
            let few = if stages[0] == stages[1] { 1 } else { 2 };
            out.extend(stages[..few].iter().map(|stage| self.graph.eliminate(stage)));
        }
        out
    }

    fn new(shape: &Shape) -> Self {
        let mut compact = vec![u32::MAX; shape.moves.len()];
        let mut touching: Vec<Vec<(u32, u8)>> = Vec::new();
        let (mut solids, mut turns) = (Vec::new(), Vec::new());
        let mut numbers = vec![[NONE; 2]; shape.groups.len()];
        for (k, g) in shape.groups.iter().enumerate() {
            for side in 0..2 {
                let solid = g.solids[side];
                if shape.moves[solid] {
                    if compact[solid] == u32::MAX {
                        compact[solid] = touching.len() as u32;
                        touching.push(Vec::new());
                        solids.push(solid as u32);
                        turns.push(g.turns[side]);
                    }
                    numbers[k][side] = compact[solid];
                    touching[compact[solid] as usize].push((k as u32, side as u8));
                }
            }
        }
        let mut graph = CliqueGraph {
            sizes: shape.groups.iter().map(|g| g.count as u32).collect(),
            cliques: Vec::new(),
            after: vec![u32::MAX; shape.groups.len()],
        };
        let mut hub_node = Vec::new();
        for (joints, turns) in touching.iter().zip(&turns) {
            if joints.len() < HUB {
                graph.cliques.push(joints.iter().map(|t| t.0).collect());
                hub_node.push(None);
                continue;
            }
            let h = graph.sizes.len();
            graph.sizes.push(if *turns { 6 } else { 3 });
            graph.after.push(u32::MAX);
            hub_node.push(Some(h));
            graph.cliques.extend(joints.iter().map(|t| vec![t.0, h as u32]));
        }
        // Joints that no ordinary movable solid holds have no pivot of their own before a hub gave them one.
        for (k, g) in shape.groups.iter().enumerate() {
            let ends = g.solids.map(|s| (shape.moves[s]).then(|| hub_node[compact[s] as usize]));
            let ordinary = ends.iter().any(|e| matches!(e, Some(None)));
            let hub = ends.iter().find_map(|e| e.flatten());
            if let (false, Some(h)) = (ordinary, hub) {
                graph.after[k] = h as u32;
            }
        }
        Self { graph, touching, solids, turns, hub_node, ends: numbers }
    }
}
