//! Everything about a factorisation that depends on the topology only.

use super::lanes::LANES;
use super::units::{NONE, Units};
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
    /// Rows below the pivots, in elimination order.
    pub below: Vec<u32>,
    /// Children, each with the place of its map into this front.
    pub children: Vec<(u32, u32)>,
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
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub fronts: Vec<Front>,
    pub maps: Vec<u32>,
    pub products: Vec<Product>,
    pub spokes: Vec<Spoke>,
    /// Nodes in elimination order: groups of rows, then hubs.
    pub nodes: Vec<u32>,
    /// Per node: its first position, and how many it takes.
    pub first: Vec<usize>,
    sizes: Vec<u32>,
    /// Per movable solid of the island: the groups that touch it, with the side; its number in the mechanism; the node
    /// of its unknowns if it is a hub.
    pub touching: Vec<Vec<(u32, u8)>>,
    pub solids: Vec<u32>,
    /// Whether it turns: particles do not.
    pub turns: Vec<bool>,
    hub_node: Vec<Option<usize>>,
    /// Per group and side: the movable solid.
    ends: Vec<[u32; 2]>,
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
        let mut best: Option<Self> = None;
        for e in nodes.orders() {
            let units = Units::new(&Plan::new(&nodes, &e), shape);
            if best.as_ref().is_none_or(|b| units.cost < b.units.cost) {
                best = Some(Self { units, flops: e.flops, fill: e.fill });
            }
        }
        best.unwrap_or_default()
    }
}

impl Plan {
    fn new(plan: &Nodes, elimination: &Elimination) -> Self {
        let n = plan.graph.sizes.len();
        let mut out = Plan {
            sizes: plan.graph.sizes.clone(),
            touching: plan.touching.clone(),
            solids: plan.solids.clone(),
            turns: plan.turns.clone(),
            hub_node: plan.hub_node.clone(),
            ends: plan.ends.clone(),
            ..Self::default()
        };
        if n == 0 {
            return out;
        }

        // Elimination tree, then a postorder in which the largest child comes last (it can be swallowed).
        let mut position = vec![0u32; n];
        elimination.order.iter().enumerate().for_each(|(i, k)| position[*k as usize] = i as u32);
        let parent: Vec<Option<usize>> = (0..n)
            .map(|k| elimination.below[k].iter().min_by_key(|j| position[**j as usize]).map(|j| *j as usize))
            .collect();
        let scalars = |k: usize| plan.graph.sizes[k] as usize;
        let below: Vec<usize> =
            (0..n).map(|k| elimination.below[k].iter().map(|j| scalars(*j as usize)).sum()).collect();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); n];
        for &k in &elimination.order {
            if let Some(p) = parent[k as usize] {
                children[p].push(k as usize);
            }
        }
        children.iter_mut().for_each(|c| c.sort_by_key(|k| (below[*k], *k)));
        let mut post = Vec::with_capacity(n);
        for &root in elimination.order.iter().filter(|k| parent[**k as usize].is_none()) {
            let mut stack = vec![(root as usize, 0)];
            while let Some((k, next)) = stack.pop() {
                if let Some(&c) = children[k].get(next) {
                    stack.push((k, next + 1));
                    stack.push((c, 0));
                } else {
                    post.push(k);
                }
            }
        }
        let mut first = vec![0usize; n];
        for &k in &post {
            first[k] = out.scalars;
            out.scalars += scalars(k);
        }

        let entries = |k: usize| scalars(k) * (scalars(k) + 1) / 2 + scalars(k) * below[k];
        // Supernodes: a node swallows the front that ends right before it when that is its child and few zeros result.
        let mut front_of = vec![0usize; n];
        for (i, &k) in post.iter().enumerate() {
            let swallow = out.fronts.last().is_some_and(|f| {
                let chain = children[k].last().is_some_and(|c| front_of[*c] == out.fronts.len() - 1);
                if !chain || f.first + f.pivots != first[k] {
                    return false;
                }
                let pivots = f.pivots + scalars(k);
                let stored = pivots * (pivots + 1) / 2 + pivots * below[k];
                let needed = f.entries + entries(k);
                pivots + below[k] <= SMALL_FRONT || ((stored as f64) < ZEROS * needed as f64 && pivots <= 256)
            });
            if !swallow {
                out.fronts.push(Front { first: first[k], ..Front::default() });
            }
            let index = out.fronts.len() - 1;
            front_of[k] = index;
            let front = &mut out.fronts[index];
            front.pivots += scalars(k);
            front.entries += entries(k);
            front.nodes = if swallow { front.nodes.start..i + 1 } else { i..i + 1 };
            // `below` for now holds the rows of the node swallowed last; its child's are among them and itself.
            front.below = elimination.below[k]
                .iter()
                .flat_map(|j| {
                    (first[*j as usize]..first[*j as usize] + scalars(*j as usize)).map(|x| x as u32)
                })
                .collect();
            front.below.sort_unstable();
        }
        out.nodes = post.iter().map(|k| *k as u32).collect();
        out.connect_fronts();
        out.place_entries(plan, &first, &front_of);
        out.first = first;
        out
    }

    /// The movable solids of a node, by number; a hub's unknowns have none.
    pub fn ends(&self, shape: &Shape, node: usize) -> [u32; 2] {
        if node < shape.groups.len() { self.ends[node] } else { [NONE; 2] }
    }

    /// Sides of a node that enter its diagonal block.
    pub fn own(&self, shape: &Shape, node: usize) -> u8 {
        let ends = self.ends(shape, node);
        let enters = |s: u32| s != NONE && self.hub_node[s as usize].is_none();
        u8::from(enters(ends[0])) | u8::from(enters(ends[1])) << 1
    }

    /// Rows of a node.
    pub fn size(&self, node: u32) -> u32 {
        self.sizes[node as usize]
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
        self.fronts.iter().map(|f| f.below.first().map(|b| owner[*b as usize] as usize)).collect()
    }

    /// Where each child's rows are in its parent's front.
    fn connect_fronts(&mut self) {
        let parents = self.parents();
        for (f, parent) in parents.iter().enumerate() {
            let Some(p) = *parent else { continue };
            let start = self.maps.len() as u32;
            let mut at = 0;
            for &b in &self.fronts[f].below {
                let front = &self.fronts[p];
                let b = b as usize;
                let row = if b < front.first + front.pivots {
                    b - front.first
                } else {
                    while front.below[at] as usize != b {
                        at += 1;
                    }
                    front.pivots + at
                };
                self.maps.push(row as u32);
            }
            self.fronts[p].children.push((f as u32, start));
        }
    }

    /// Where the original entries go.
    fn place_entries(&mut self, plan: &Nodes, first: &[usize], front_of: &[usize]) {
        // (front, product) and (front, spoke), then grouped by front.
        let mut products: Vec<(usize, Product)> = Vec::new();
        let mut spokes: Vec<(usize, Spoke)> = Vec::new();
        let row_in = |fronts: &[Front], f: usize, scalar: usize| -> u32 {
            let front = &fronts[f];
            if scalar < front.first + front.pivots {
                (scalar - front.first) as u32
            } else {
                (front.pivots + front.below.partition_point(|b| (*b as usize) < scalar)) as u32
            }
        };
        for (solid, touching) in plan.touching.iter().enumerate() {
            let hub = plan.hub_node[solid];
            for (i, &(a, side_a)) in touching.iter().enumerate() {
                if let Some(h) = hub {
                    let hub_is_column = first[h] < first[a as usize];
                    let (col, row) = if hub_is_column { (h, a as usize) } else { (a as usize, h) };
                    let f = front_of[col];
                    let at = (row_in(&self.fronts, f, first[row]), row_in(&self.fronts, f, first[col]));
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
                    let at = (
                        row_in(&self.fronts, f, first[hi.0 as usize]),
                        row_in(&self.fronts, f, first[lo.0 as usize]),
                    );
                    products.push((f, Product { a: hi, b: lo, at }));
                }
            }
        }
        products.sort_by_key(|(f, p)| (*f, p.at.1, p.at.0));
        spokes.sort_by_key(|(f, p)| (*f, p.at.1, p.at.0));
        let (mut p, mut s) = (0, 0);
        for (f, front) in self.fronts.iter_mut().enumerate() {
            let (p0, s0) = (p, s);
            while p < products.len() && products[p].0 == f {
                p += 1;
            }
            while s < spokes.len() && spokes[s].0 == f {
                s += 1;
            }
            front.products = p0..p;
            front.spokes = s0..s;
        }
        self.products = products.into_iter().map(|p| p.1).collect();
        self.spokes = spokes.into_iter().map(|s| s.1).collect();
    }
}

/// The unknowns: one node per row group, then one per hub.
struct Nodes {
    graph: CliqueGraph,
    /// Per movable solid (compact): the groups that touch it, with the side.
    touching: Vec<Vec<(u32, u8)>>,
    solids: Vec<u32>,
    turns: Vec<bool>,
    hub_node: Vec<Option<usize>>,
    ends: Vec<[u32; 2]>,
}

impl Nodes {
    /// Elimination orders worth a try.
    fn orders(&self) -> Vec<Elimination> {
        if self.graph.sizes.is_empty() {
            return Vec::new();
        }
        let mut out = vec![self.graph.best()];
        for piece in [4, 8] {
            if let Some(stage) = self.graph.repeats(LANES, piece) {
                out.push(self.graph.eliminate(&stage));
            }
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
