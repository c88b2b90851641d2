//! Everything about a factorisation that depends on the topology only.

use crate::graph::CliqueGraph;
use crate::rows::Group;

/// What the rows of one island look like: groups, and which of their solids move.
pub(crate) struct Shape<'a> {
    /// Row groups of the island.
    pub groups: &'a [Group],
    /// Per solid of the mechanism: can it move?
    pub moves: &'a [bool],
}

/// A product `W_a W_b^T` that goes into a front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    /// First row and side of the left factor.
    pub a: (u32, u8),
    /// First row and side of the right factor.
    pub b: (u32, u8),
    /// Rows of the left and right factor.
    pub size: (u8, u8),
    /// Place in the panel: row and column.
    pub at: (u32, u32),
}

/// Rows that couple to a hub's unknowns: `W_a` itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spoke {
    pub a: (u32, u8),
    pub count: u8,
    pub at: (u32, u32),
    /// The panel's columns are the hub's, its rows the joint's (or the other way round).
    pub hub_is_column: bool,
}

/// One supernode.
#[derive(Clone, Debug, Default)]
pub(crate) struct Front {
    /// First pivot, in elimination order.
    pub first: usize,
    /// Number of pivots.
    pub pivots: usize,
    /// Rows below the pivots, in elimination order.
    pub below: Vec<u32>,
    /// Place of its `(pivots + below) x pivots` panel.
    pub panel: usize,
    /// Place of its `below x below` update.
    pub update: usize,
    /// Children, each with the place of its map into this front.
    pub children: Vec<(u32, u32)>,
    /// Original entries.
    pub products: std::ops::Range<u32>,
    pub spokes: std::ops::Range<u32>,
    /// Entries of the factor that are not zero by structure.
    entries: usize,
}

impl Front {
    pub fn size(&self) -> usize {
        self.pivots + self.below.len()
    }
}

/// The plan of a factorisation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbolic {
    pub fronts: Vec<Front>,
    pub maps: Vec<u32>,
    pub products: Vec<Product>,
    pub spokes: Vec<Spoke>,
    /// Per row of the island's groups (in group order): place in the elimination order.
    pub place: Vec<u32>,
    /// Scalars eliminated, hub unknowns included.
    pub scalars: usize,
    pub panel_len: usize,
    pub update_len: usize,
    pub largest_front: usize,
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
    pub fn new(shape: &Shape) -> Self {
        let plan = Nodes::new(shape);
        let elimination = plan.graph.best();
        let mut out = Symbolic { flops: elimination.flops, fill: elimination.fill, ..Self::default() };
        let n = plan.graph.sizes.len();
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
        for &k in &post {
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
            // `below` for now holds the rows of the node swallowed last; its child's are among them and itself.
            front.below = elimination.below[k]
                .iter()
                .flat_map(|j| {
                    (first[*j as usize]..first[*j as usize] + scalars(*j as usize)).map(|x| x as u32)
                })
                .collect();
            front.below.sort_unstable();
        }
        out.place_fronts();
        out.connect_fronts();
        out.place_entries(shape, &plan, &first, &front_of);
        out
    }

    /// Panels one after the other; updates in a pool where a slot is free again once the parent has taken it.
    fn place_fronts(&mut self) {
        let mut free: Vec<(usize, usize)> = Vec::new();
        let parents: Vec<Option<usize>> = self.parents();
        let mut held: Vec<Vec<usize>> = vec![Vec::new(); self.fronts.len()];
        for f in 0..self.fronts.len() {
            let (size, below) = (self.fronts[f].size(), self.fronts[f].below.len());
            self.largest_front = self.largest_front.max(size);
            self.fronts[f].panel = self.panel_len;
            self.panel_len += size * self.fronts[f].pivots;
            let need = below * below;
            let at = match free.iter().position(|(_, len)| *len >= need) {
                Some(i) => {
                    let (at, len) = free[i];
                    if len == need {
                        free.remove(i);
                    } else {
                        free[i] = (at + need, len - need)
                    }
                    at
                }
                None => {
                    self.update_len += need;
                    self.update_len - need
                }
            };
            self.fronts[f].update = at;
            for c in std::mem::take(&mut held[f]) {
                let b = self.fronts[c].below.len();
                release(&mut free, self.fronts[c].update, b * b);
            }
            if let Some(p) = parents[f] {
                held[p].push(f);
            }
        }
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
    fn place_entries(&mut self, shape: &Shape, plan: &Nodes, first: &[usize], front_of: &[usize]) {
        let mut local = 0;
        for (k, g) in shape.groups.iter().enumerate() {
            for r in 0..g.count {
                self.place.push((first[k] + r) as u32);
            }
            local += g.count;
        }
        debug_assert_eq!(local, self.place.len());
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
                let ga = &shape.groups[a as usize];
                if let Some(h) = hub {
                    let hub_is_column = first[h] < first[a as usize];
                    let (col, row) = if hub_is_column { (h, a as usize) } else { (a as usize, h) };
                    let f = front_of[col];
                    let at = (row_in(&self.fronts, f, first[row]), row_in(&self.fronts, f, first[col]));
                    spokes.push((
                        f,
                        Spoke { a: (ga.first as u32, side_a), count: ga.count as u8, at, hub_is_column },
                    ));
                    continue;
                }
                for &(b, side_b) in &touching[..=i] {
                    let gb = &shape.groups[b as usize];
                    // Lower triangle: rows of the node eliminated later.
                    let (lo, hi) = if first[a as usize] < first[b as usize] {
                        ((a, side_a, ga), (b, side_b, gb))
                    } else {
                        ((b, side_b, gb), (a, side_a, ga))
                    };
                    let f = front_of[lo.0 as usize];
                    let at = (
                        row_in(&self.fronts, f, first[hi.0 as usize]),
                        row_in(&self.fronts, f, first[lo.0 as usize]),
                    );
                    products.push((
                        f,
                        Product {
                            a: (hi.2.first as u32, hi.1),
                            b: (lo.2.first as u32, lo.1),
                            size: (hi.2.count as u8, lo.2.count as u8),
                            at,
                        },
                    ));
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
            front.products = p0 as u32..p as u32;
            front.spokes = s0 as u32..s as u32;
        }
        self.products = products.into_iter().map(|p| p.1).collect();
        self.spokes = spokes.into_iter().map(|s| s.1).collect();
    }
}

/// Gives a slot back, joined with its free neighbours.
fn release(free: &mut Vec<(usize, usize)>, at: usize, len: usize) {
    if len == 0 {
        return;
    }
    let i = free.partition_point(|s| s.0 < at);
    free.insert(i, (at, len));
    if i + 1 < free.len() && free[i].0 + free[i].1 == free[i + 1].0 {
        free[i].1 += free[i + 1].1;
        free.remove(i + 1);
    }
    if i > 0 && free[i - 1].0 + free[i - 1].1 == free[i].0 {
        free[i - 1].1 += free[i].1;
        free.remove(i);
    }
}

/// The unknowns: one node per row group, then one per hub.
struct Nodes {
    graph: CliqueGraph,
    /// Per movable solid (compact): the groups that touch it, with the side.
    touching: Vec<Vec<(u32, u8)>>,
    hub_node: Vec<Option<usize>>,
}

impl Nodes {
    fn new(shape: &Shape) -> Self {
        let mut compact = vec![u32::MAX; shape.moves.len()];
        let mut touching: Vec<Vec<(u32, u8)>> = Vec::new();
        for (k, g) in shape.groups.iter().enumerate() {
            for side in 0..2 {
                let solid = g.solids[side];
                if shape.moves[solid] {
                    if compact[solid] == u32::MAX {
                        compact[solid] = touching.len() as u32;
                        touching.push(Vec::new());
                    }
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
        for joints in &touching {
            if joints.len() < HUB {
                graph.cliques.push(joints.iter().map(|t| t.0).collect());
                hub_node.push(None);
                continue;
            }
            let h = graph.sizes.len();
            graph.sizes.push(6);
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
        Self { graph, touching, hub_node }
    }
}
