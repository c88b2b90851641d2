//! Articulated bodies: Featherstone's recursion over the spanning forest, in time proportional to the solids.
//!
//! Solves `M x = f + J^T lambda`, `J x = c` for accelerations, velocities or displacements `x` of all solids. The rows
//! between a solid and its parent `p`, made orthonormal on the side of the solid (`Q1`), and the directions that they
//! leave free (`Q2`, the joint's motion subspace) are a basis in which the solid's motion splits:
//! ```text
//!     x = Q1 x1 + Q2 x2        x1 = c - T x_p        (T: the parent's side of the rows)
//! ```
//! `x2` are the joint coordinates. From the leaves to the root, with the articulated inertia `A` of everything beyond the
//! joint in that basis and the force `f` on it (Featherstone 2008, Eqs. 7.36-7.44, written without joint types):
//! ```text
//!     x2 = A22^-1 (f2 - A21 x1)
//!     K = A11 - A12 A22^-1 A21        A_p += T^T K T        f_p += T^T (K c + A12 A22^-1 f2 - f1)
//! ```
//! then from the root to the leaves `x1` and `x2`. The joint's pull is `K x1 + A12 A22^-1 f2 - f1` along `Q1`.
//!
//! The basis comes from the rows, so any joint will do: nothing here knows one kind from another. Rows between the same
//! two solids are one joint however many constraints made them, and all solids that cannot move are one: only what
//! closes a loop of movable solids, or leads back to a second place of the ground, is a loop.

use crate::graph::{Sets, spanning_forest};
use crate::math::Matrix;
use crate::rows::{Masses, Rows, Source, dot6};
use crate::state::State;

pub(super) type Six = [f64; 6];
type Square = [Six; 6];

/// Rows that depend on others of the same joint up to this share of themselves are left out.
const DEPENDENT: f64 = 1e-9;

/// The forest, its factors, and which solids hang together.
#[derive(Default)]
pub(super) struct Tree {
    /// What it was built for: pattern of the rows, and which of them count.
    pattern: Vec<([usize; 2], usize)>,
    on: Vec<bool>,
    epoch: Option<u64>,
    /// Parents before children.
    nodes: Vec<Node>,
    links: Vec<Link>,
    /// Per solid: name of its component; solids that cannot move have none.
    component: Vec<usize>,
    /// Per component: it has loops, so that the recursion cannot do it.
    looped: Vec<bool>,
    /// Per component: left to the other solver for now.
    excluded: Vec<bool>,
    work: Vec<Candidate>,
}

/// One row of the joint between a node and its parent.
#[derive(Clone, Copy)]
struct Link {
    row: usize,
    /// Which half is the node's.
    side: usize,
    /// The solid on the other side, a parent or one that cannot move.
    other: usize,
    /// Motors and limits only get what the joint itself leaves free.
    later: bool,
}

/// A row while the basis is being made.
#[derive(Clone, Copy)]
struct Candidate {
    own: Six,
    parent: Six,
    size: f64,
    taken: bool,
}

struct Node {
    solid: usize,
    parent: Option<usize>,
    /// Freedoms of the solid alone: 6, or 3 when it cannot turn.
    width: usize,
    links: std::ops::Range<usize>,
    /// Independent rows: which links, and how they make `Q1`: `row_j = sum_i r[j][i] q_i`.
    rank: usize,
    pivots: [usize; 6],
    r: Square,
    /// `Q1`, then `Q2`.
    q: Square,
    /// `T`.
    t: Square,
    /// Articulated inertia in world axes, then in the basis.
    a: Square,
    /// Cholesky factor of `A22`.
    l: Square,
    /// `A22^-1 A21`: by free direction, then by row.
    g: Square,
    k: Square,
    /// Force in world axes, then in the basis.
    f: Six,
    c: Six,
    /// Pull of the joint along `Q1`.
    pull: Six,
}

impl Node {
    fn new(solid: usize, parent: Option<usize>, width: usize, links: std::ops::Range<usize>) -> Self {
        let (z, s) = ([0.0; 6], [[0.0; 6]; 6]);
        Self {
            solid,
            parent,
            width,
            links,
            rank: 0,
            pivots: [0; 6],
            r: s,
            q: s,
            t: s,
            a: s,
            l: s,
            g: s,
            k: s,
            f: z,
            c: z,
            pull: z,
        }
    }
}

impl Tree {
    /// Makes the forest that of the rows that are `on`, unless it is already.
    pub fn update(&mut self, epoch: u64, rows: &Rows, masses: &Masses, on: impl Fn(usize) -> bool) {
        let known = self.epoch == Some(epoch)
            && self.on.len() == rows.len()
            && self.pattern.len() == rows.groups.len()
            && rows.groups.iter().zip(&self.pattern).all(|(g, p)| g.solids == p.0 && g.count == p.1)
            && self.on.iter().enumerate().all(|(r, o)| *o == on(r));
        if known {
            return;
        }
        self.epoch = Some(epoch);
        self.pattern.clear();
        self.pattern.extend(rows.groups.iter().map(|g| (g.solids, g.count)));
        self.on.clear();
        self.on.extend((0..rows.len()).map(on));
        self.build(rows, masses);
    }

    fn build(&mut self, rows: &Rows, masses: &Masses) {
        let n = masses.len();
        // The ground is one, whatever it consists of.
        let end = |s: usize| if masses.moves(s) { s } else { 0 };
        let mut pairs: Vec<([usize; 2], usize)> = Vec::new();
        for (k, g) in rows.groups.iter().enumerate() {
            let [a, b] = g.solids.map(end);
            if a != b && g.range().any(|r| self.on[r]) {
                pairs.push(([a.min(b), a.max(b)], k));
            }
        }
        pairs.sort_unstable();
        let mut edges: Vec<[usize; 2]> = pairs.iter().map(|p| p.0).collect();
        edges.dedup();
        let ground: Vec<bool> = (0..n).map(|i| !masses.moves(i)).collect();
        let order = spanning_forest(n, &ground, &edges, &vec![0; edges.len()]);

        self.nodes.clear();
        self.links.clear();
        let mut place: Vec<Option<usize>> = vec![None; n];
        let mut used = vec![false; edges.len()];
        let width = |s: usize| if masses.turns(s) { 6 } else { 3 };
        for k in order {
            used[k] = true;
            let [a, b] = edges[k];
            let is_there = |s: usize| ground[s] || place[s].is_some();
            let (parent, child) = if is_there(a) || !is_there(b) { (a, b) } else { (b, a) };
            if !is_there(parent) {
                // A tree without ground: the lowest solid is its root.
                place[parent] = Some(self.nodes.len());
                self.nodes.push(Node::new(parent, None, width(parent), 0..0));
            }
            let first = self.links.len();
            let from = pairs.partition_point(|p| p.0 < edges[k]);
            for (_, group) in pairs[from..].iter().take_while(|p| p.0 == edges[k]) {
                let g = &rows.groups[*group];
                let side = usize::from(g.solids[1] == child);
                for row in g.range().filter(|r| self.on[*r]) {
                    let later = g.source != Source::Joint || !rows.is_equality(row);
                    self.links.push(Link { row, side, other: g.solids[1 - side], later });
                }
            }
            let links = first..self.links.len();
            self.links[links.clone()].sort_by_key(|l| l.later);
            place[child] = Some(self.nodes.len());
            self.nodes.push(Node::new(child, place[parent], width(child), links));
        }
        for s in (0..n).filter(|s| !ground[*s] && place[*s].is_none()) {
            self.nodes.push(Node::new(s, None, width(s), 0..0));
        }

        let mut sets = Sets::new(n);
        for e in edges.iter().filter(|e| !ground[e[0]]) {
            sets.join(e[0], e[1]);
        }
        self.component.clear();
        self.component.extend((0..n).map(|i| if ground[i] { usize::MAX } else { sets.find(i) }));
        self.looped.clear();
        self.looped.resize(n, false);
        for e in edges.iter().zip(&used).filter(|(_, used)| !**used).map(|(e, _)| e) {
            self.looped[self.component[e[1]]] = true;
        }
        self.excluded.clear();
        self.excluded.resize(n, false);
    }

    /// The recursion leaves this solid to the other solver.
    pub fn leaves_out(&self, solid: usize) -> bool {
        self.component[solid] != usize::MAX && self.excluded[self.component[solid]]
    }

    /// The recursion leaves something out.
    pub fn leaves_any(&self) -> bool {
        self.nodes.iter().any(|n| self.leaves_out(n.solid))
    }

    /// Only loops are left out.
    pub fn include_all(&mut self) {
        self.excluded.copy_from_slice(&self.looped);
    }

    /// Leaves the components of these solids out as well.
    pub fn exclude(&mut self, solids: [usize; 2]) {
        for s in solids {
            if self.component[s] != usize::MAX {
                self.excluded[self.component[s]] = true;
            }
        }
    }

    /// Bases and articulated inertias at a pose. False when numbers broke down.
    pub fn factor(&mut self, rows: &Rows, masses: &Masses, s: &State) -> bool {
        for i in 0..self.nodes.len() {
            let solid = self.nodes[i].solid;
            self.nodes[i].a = inertia(masses, s, solid);
            if self.leaves_out(solid) {
                continue;
            }
            let turns = self.nodes[i].parent.is_some_and(|p| self.nodes[p].width == 6);
            if !self.split(i, rows, turns) {
                // The rows bind the parent by what this solid cannot do (a point mass that shall turn): to the
                // recursion that is a loop.
                let of = self.component[solid];
                self.looped[of] = true;
                self.excluded[of] = true;
            }
        }
        for i in (0..self.nodes.len()).rev() {
            if self.leaves_out(self.nodes[i].solid) {
                continue;
            }
            let (before, rest) = self.nodes.split_at_mut(i);
            let node = &mut rest[0];
            if !eliminate(node) {
                return false;
            }
            if let Some(p) = node.parent {
                // A_p += T^T K T
                let parent = &mut before[p].a;
                for x in 0..node.rank {
                    let mut kt = [0.0; 6];
                    for y in 0..node.rank {
                        add(&mut kt, node.k[x][y], &node.t[y]);
                    }
                    for (row, t) in parent.iter_mut().zip(&node.t[x]) {
                        add(row, *t, &kt);
                    }
                }
            }
        }
        true
    }

    /// The basis of one joint. False when its rows bind the parent alone.
    fn split(&mut self, i: usize, rows: &Rows, parent_turns: bool) -> bool {
        let node = &mut self.nodes[i];
        let links = &self.links[node.links.clone()];
        let parent_solid = node.parent.is_some();
        self.work.clear();
        for l in links {
            let (mut own, mut parent) = (rows.row(l.row)[l.side], rows.row(l.row)[1 - l.side]);
            own[node.width..].fill(0.0);
            if !parent_solid {
                parent = [0.0; 6];
            } else if !parent_turns {
                parent[3..].fill(0.0);
            }
            let size = dot6(&own, &own).sqrt();
            self.work.push(Candidate { own, parent, size, taken: false });
        }
        node.rank = 0;
        let joint_rows = links.iter().take_while(|l| !l.later).count();
        for class in [0..joint_rows, joint_rows..links.len()] {
            while node.rank < node.width {
                // The row that is most different from those taken so far.
                let mut best = (DEPENDENT, usize::MAX);
                for k in class.clone() {
                    let c = &self.work[k];
                    let left = dot6(&c.own, &c.own).sqrt();
                    if !c.taken && c.size > 0.0 && left > best.0 * c.size {
                        best = (left / c.size, k);
                    }
                }
                let k = best.1;
                if k == usize::MAX {
                    break;
                }
                let rank = node.rank;
                let (mut own, mut parent) = (self.work[k].own, self.work[k].parent);
                // Once more against the basis: what the first pass left is rounding, but large beside a small rest.
                let original = rows.row(links[k].row)[links[k].side];
                for j in 0..rank {
                    let again = dot6(&own, &node.q[j]);
                    add(&mut own, -again, &node.q[j]);
                    add(&mut parent, -again, &node.t[j]);
                    node.r[rank][j] = dot6(&original, &node.q[j]);
                }
                let length = dot6(&own, &own).sqrt();
                node.r[rank][rank] = length;
                node.q[rank] = own.map(|x| x / length);
                node.t[rank] = parent.map(|x| x / length);
                node.pivots[rank] = k;
                self.work[k].taken = true;
                node.rank += 1;
                for c in self.work.iter_mut().filter(|c| !c.taken) {
                    let along = dot6(&c.own, &node.q[rank]);
                    add(&mut c.own, -along, &node.q[rank]);
                    add(&mut c.parent, -along, &node.t[rank]);
                }
            }
        }
        // What is left over must ask nothing of the parent either.
        for (c, l) in self.work.iter().zip(links).filter(|(c, _)| !c.taken) {
            let whole = &rows.row(l.row)[1 - l.side];
            if dot6(&c.parent, &c.parent) > 1e-12 * dot6(whole, whole) {
                return false;
            }
        }
        // The free directions: whatever is left of the unit vectors, longest first.
        let mut rest = [[0.0; 6]; 6];
        for (k, e) in rest.iter_mut().enumerate().take(node.width) {
            e[k] = 1.0;
            for q in &node.q[..node.rank] {
                let along = dot6(e, q);
                add(e, -along, q);
            }
        }
        for j in node.rank..node.width {
            let longest = rest[..node.width].iter().enumerate().map(|(k, e)| (dot6(e, e), k));
            let (_, k) = longest.fold((-1.0, 0), |a, b| if b.0 > a.0 { b } else { a });
            let mut e = rest[k];
            for q in &node.q[..j] {
                let along = dot6(&e, q);
                add(&mut e, -along, q);
            }
            let length = dot6(&e, &e).sqrt();
            let q = e.map(|x| x / length);
            node.q[j] = q;
            rest[k] = [0.0; 6];
            for e in rest.iter_mut() {
                let along = dot6(e, &q);
                add(e, -along, &q);
            }
        }
        true
    }

    /// `M x = f + J^T lambda`, `J x = c`. `x` comes with the motion of solids that cannot move; `lambda` of rows that the
    /// recursion does not treat stays as it is.
    pub fn solve(&mut self, rows: &Rows, f: &[Six], c: &[f64], x: &mut [Six], lambda: &mut [f64]) {
        for node in &mut self.nodes {
            node.f = f[node.solid];
        }
        for i in (0..self.nodes.len()).rev() {
            if self.leaves_out(self.nodes[i].solid) {
                continue;
            }
            let (before, rest) = self.nodes.split_at_mut(i);
            let node = &mut rest[0];
            let world = node.f;
            for j in 0..node.width {
                node.f[j] = dot6(&node.q[j], &world);
            }
            // Right sides of the orthonormal rows.
            let links = &self.links[node.links.clone()];
            for j in 0..node.rank {
                let l = &links[node.pivots[j]];
                let mut b = c[l.row];
                if node.parent.is_none() {
                    b -= dot6(&rows.row(l.row)[1 - l.side], &x[l.other]);
                }
                for k in 0..j {
                    b -= node.r[j][k] * node.c[k];
                }
                node.c[j] = b / node.r[j][j];
            }
            for j in 0..node.rank {
                let mut pull = -node.f[j];
                for d in node.rank..node.width {
                    pull += node.g[d][j] * node.f[d];
                }
                node.pull[j] = pull;
                if let Some(p) = node.parent {
                    let kc: f64 = (0..node.rank).map(|k| node.k[j][k] * node.c[k]).sum();
                    add(&mut before[p].f, pull + kc, &node.t[j]);
                }
            }
        }
        for i in 0..self.nodes.len() {
            if self.leaves_out(self.nodes[i].solid) {
                continue;
            }
            let node = &mut self.nodes[i];
            let mut split = [0.0; 6];
            let parent = if node.parent.is_some() { node.links.start } else { usize::MAX };
            for j in 0..node.rank {
                split[j] = node.c[j];
                if parent != usize::MAX {
                    split[j] -= dot6(&node.t[j], &x[self.links[parent].other]);
                }
            }
            for j in 0..node.rank {
                for k in 0..node.rank {
                    node.pull[j] += node.k[j][k] * split[k];
                }
            }
            // x2 = A22^-1 f2 - G x1
            let (mut free, (rank, width)) = ([0.0; 6], (node.rank, node.width));
            free[rank..width].copy_from_slice(&node.f[rank..width]);
            solve_lower(&node.l, &mut free, rank, width);
            for d in rank..width {
                split[d] = free[d] - (0..rank).map(|j| node.g[d][j] * split[j]).sum::<f64>();
            }
            let mut whole = [0.0; 6];
            for j in 0..width {
                add(&mut whole, split[j], &node.q[j]);
            }
            x[node.solid] = whole;
            // Multipliers: `Q1 pull = sum lambda_j row_j`; rows that depend on others pull nothing.
            for l in &self.links[node.links.clone()] {
                lambda[l.row] = 0.0;
            }
            let mut pull = node.pull;
            for j in (0..rank).rev() {
                let one = pull[j] / node.r[j][j];
                lambda[self.links[node.links.start + node.pivots[j]].row] = one;
                for k in 0..j {
                    pull[k] -= node.r[j][k] * one;
                }
            }
        }
    }
}

/// `y += a x`.
pub(super) fn add(y: &mut Six, a: f64, x: &Six) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// The inertia of a solid about its centre, world axes.
fn inertia(masses: &Masses, s: &State, solid: usize) -> Square {
    let mut a = [[0.0; 6]; 6];
    for (k, row) in a.iter_mut().enumerate().take(3) {
        row[k] = masses.mass(solid);
    }
    if masses.turns(solid) {
        let r = Matrix::from_quat(s.rotations[solid]);
        let i = (r * *masses.inertia(solid) * r.transpose()).to_cols_array_2d();
        for x in 0..3 {
            for y in 0..3 {
                // Symmetric to the last bit.
                a[3 + x][3 + y] = 0.5 * (i[x][y] + i[y][x]);
            }
        }
    }
    a
}

/// `A` into the basis, its free part eliminated. False when that is not positive.
fn eliminate(node: &mut Node) -> bool {
    let (rank, width) = (node.rank, node.width);
    let mut b = [[0.0; 6]; 6];
    for x in 0..width {
        let mut aq = [0.0; 6];
        for (k, row) in node.a.iter().enumerate() {
            aq[k] = dot6(row, &node.q[x]);
        }
        for y in 0..=x {
            b[x][y] = dot6(&node.q[y], &aq);
            b[y][x] = b[x][y];
        }
    }
    for x in rank..width {
        for y in rank..=x {
            let mut sum = b[x][y];
            for k in rank..y {
                sum -= node.l[x][k] * node.l[y][k];
            }
            if x == y {
                if !(sum > 0.0 && sum.is_finite()) {
                    return false;
                }
                node.l[x][x] = sum.sqrt();
            } else {
                node.l[x][y] = sum / node.l[y][y];
            }
        }
    }
    for j in 0..rank {
        let mut column = [0.0; 6];
        for d in rank..width {
            column[d] = b[d][j];
        }
        solve_lower(&node.l, &mut column, rank, width);
        for d in rank..width {
            node.g[d][j] = column[d];
        }
    }
    for x in 0..rank {
        for y in 0..=x {
            let gone: f64 = (rank..width).map(|d| b[x][d] * node.g[d][y]).sum();
            node.k[x][y] = b[x][y] - gone;
            node.k[y][x] = node.k[x][y];
        }
    }
    true
}

/// `(L L^T)^-1` of the part `from..to`.
fn solve_lower(l: &Square, x: &mut Six, from: usize, to: usize) {
    for i in from..to {
        for k in from..i {
            x[i] -= l[i][k] * x[k];
        }
        x[i] /= l[i][i];
    }
    for i in (from..to).rev() {
        for k in i + 1..to {
            x[i] -= l[k][i] * x[k];
        }
        x[i] /= l[i][i];
    }
}
