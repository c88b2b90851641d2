//! The numbers of some units of a factorisation, and what is done to them unit by unit: scale rows, fill fronts, eliminate
//! pivots, substitute. Whoever has other numbers works beside it without noticing. Allocates nothing after the first time.

use super::assembly::{columns, diagonal, dot, extend_add, multiply};
use super::kernels::{Kernel, Scratch};
use super::lanes::{Lane, Quad};
use super::scale::{arms_of, roots, scale_ball, scale_general};
use super::substitute::{
    COLUMNS, backward_columns, backward_few, backward_many, forward_columns, forward_few, forward_many,
};
use super::units::{NONE, Room, Step, Unit};
use crate::solve::{Problem, larger};

/// Numbers of units of one width. Rows are in elimination order, unit by unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers<V> {
    /// The rows scaled by a factor of the inverse mass, `W = J C` with `C C^T = M^-1`, so that `A = W W^T`. Columns in
    /// threes, node by node and side by side: one of each row for a particle, two for what turns, none for what is fixed.
    pub w: Vec<[V; 3]>,
    /// Per three of them: the first of a ball joint's, of which the linear parts are multiples of the unit matrix.
    pub ball: Vec<bool>,
    /// Of solids: root of the inverse mass, lower factor of the inverse inertia of what turns.
    pub roots: Vec<V>,
    /// Of solids, in threes: `W^T lambda`.
    pub y: Vec<[V; 3]>,
    pub panels: Vec<V>,
    pub updates: Vec<V>,
    pub inverse: Vec<V>,
    /// Right side, what is left of it, answer, and correction.
    pub b: Vec<V>,
    pub residual: Vec<V>,
    pub lambda: Vec<V>,
    pub x: Vec<V>,
    /// Several right sides at once, and their answers. Empty until somebody asks for it.
    pub columns: Vec<[V; COLUMNS]>,
    pub scratch: Scratch<V>,
    /// Of the last factorisation.
    pub pivots: Pivots,
    /// Largest entry of the right side, or of what is left of it.
    pub most: f64,
}

/// What became of the pivots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pivots {
    /// Rows left out, because they depend on others.
    pub vanished: usize,
    /// The smallest of the others, as a share of its row's own diagonal.
    pub least: f64,
}

impl Pivots {
    /// Of both.
    pub fn and(self, o: Self) -> Self {
        Self { vanished: self.vanished + o.vanished, least: self.least.min(o.least) }
    }
}

impl Default for Pivots {
    fn default() -> Self {
        Self { vanished: 0, least: 1.0 }
    }
}

/// Defines a method that runs with wide registers where the machine has them. Multiplications and additions stay separate,
/// so the bits are the same with and without.
macro_rules! wide {
    ($(#[$doc:meta])* $name:ident, $avx2:ident, $here:ident, ($($arg:ident: $type:ty),*) -> $out:ty) => {
        $(#[$doc])*
        pub fn $name(&mut self, $($arg: $type),*) -> $out {
            #[cfg(target_arch = "x86_64")]
            if std::is_x86_feature_detected!("avx2") {
                // SAFETY: the feature was just detected.
                #[allow(unsafe_code)]
                return unsafe { self.$avx2($($arg),*) };
            }
            self.$here($($arg),*)
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn $avx2(&mut self, $($arg: $type),*) -> $out {
            self.$here($($arg),*)
        }
    };
}

/// Does the row take part?
#[inline(always)]
pub(super) fn on(active: &[bool], row: usize) -> bool {
    active.is_empty() || active[row]
}

impl Unit {
    /// Place, lane and row in the mechanism of every row of the first `lanes` of `width` lanes.
    pub fn each_row(&self, width: usize, lanes: usize, mut f: impl FnMut(usize, usize, usize)) {
        for (node, rows) in self.nodes[..self.own_nodes].iter().zip(self.rows.chunks_exact(width)) {
            if !node.hub {
                for r in 0..node.count as usize {
                    (0..lanes).for_each(|l| f(node.at as usize + r, l, rows[l] as usize + r));
                }
            }
        }
    }

    /// Steps with the lists that are theirs.
    fn walk(&self) -> impl DoubleEndedIterator<Item = (&Step, &[u32])> {
        let below = |s: &Step| &self.below[s.below as usize..(s.below + s.rows) as usize];
        self.steps.iter().map(move |s| (s, below(s)))
    }
}

/// What a factorisation is of, besides rows and masses.
#[derive(Clone, Copy)]
pub(crate) struct Diagonal<'a> {
    /// Rows that take part. Empty: all.
    pub active: &'a [bool],
    /// Per row: what softness adds. Empty: nothing.
    pub softness: &'a [f64],
    /// In units of each row's own diagonal.
    pub damping: f64,
}

/// What one thread does at a time.
impl<V: Kernel> Numbers<V> {
    wide!(
        /// Scales the rows (of `p`, unless they are as they were) and factors, unit by unit, while both are in the nearest
        /// cache. `packed`: the tasks, where the children of the rest are.
        prepare, prepare_avx2, prepare_here,
        (units: &[Unit], p: Option<&Problem>, d: &Diagonal, packed: &[Numbers<Quad>]) -> ());
    wide!(
        /// Takes the right side over, zero where rows are not active.
        begin, begin_avx2, begin_here, (units: &[Unit], active: &[bool], b: &[f64]) -> ());
    wide!(
        /// `x = L^-1 residual`.
        forward_residual, forward_residual_avx2, forward_residual_here, (units: &[Unit]) -> ());
    wide!(
        /// `x = L^-1 b`.
        forward_right_side, forward_right_side_avx2, forward_right_side_here, (units: &[Unit], active: &[bool], b: &[f64]) -> ());
    wide!(
        /// `x = (L D L^T)^-1 x`: of the rest, which knows everything above the packs.
        turn, turn_avx2, turn_here, (rest: &Unit) -> ());
    wide!(
        /// `x = L^-T D^-1 x`, given the answer of the rest.
        backward_from, backward_from_avx2, backward_from_here, (units: &[Unit], rest: &[f64]) -> ());
    wide!(
        /// `x = L^-1 b` of several right sides.
        forward_columns, forward_columns_avx2, forward_columns_here,
        (units: &[Unit], active: &[bool], b: &[[f64; COLUMNS]]) -> ());
    wide!(
        /// `x = (L D L^T)^-1 x` of several right sides: of the rest.
        turn_columns, turn_columns_avx2, turn_columns_here, (rest: &Unit) -> ());
    wide!(
        /// `x = L^-T D^-1 x` of several right sides, given the answers of the rest.
        backward_columns, backward_columns_avx2, backward_columns_here,
        (units: &[Unit], rest: &[[f64; COLUMNS]]) -> ());
    wide!(
        /// The same; then `lambda += x`, and what that leaves, as far as units know it by themselves.
        correct_from, correct_from_avx2, correct_from_here, (units: &[Unit], rest: &[f64], d: &Diagonal) -> ());
    wide!(
        /// `y = W^T lambda`, and what is left of the rows that touch no other unit.
        gather_all, gather_all_avx2, gather_all_here, (units: &[Unit], d: &Diagonal) -> ());
    wide!(
        /// What is left of the other rows, given the motion of what units share.
        scatter_all, scatter_all_avx2, scatter_all_here, (units: &[Unit], rest: &[[f64; 3]], d: &Diagonal) -> ());

    #[inline(always)]
    fn prepare_here(&mut self, units: &[Unit], p: Option<&Problem>, d: &Diagonal, packed: &[Numbers<Quad>]) {
        let (mut vanished, mut steepest) = (0.0, 1.0);
        for u in units {
            if let Some(p) = p {
                self.fill(u, p);
            }
            let (gone, most) = self.factor(u, d.active, d.softness, d.damping, packed);
            vanished += (0..u.lanes).map(|l| gone.lane(l)).sum::<f64>();
            steepest = (0..V::WIDTH).fold(steepest, |m, l| larger(m, most.lane(l)));
        }
        let least = if steepest.is_finite() { 1.0 / steepest } else { 0.0 };
        self.pivots = Pivots { vanished: vanished as usize, least };
    }

    #[inline(always)]
    fn begin_here(&mut self, units: &[Unit], active: &[bool], b: &[f64]) {
        self.most = units.iter().fold(0.0, |m, u| larger(m, self.start(u, active, b)));
    }

    #[inline(always)]
    fn forward_residual_here(&mut self, units: &[Unit]) {
        for u in units {
            let own = u.base..u.base + u.height(V::WIDTH);
            self.x[own.clone()].copy_from_slice(&self.residual[own]);
            self.forward(u);
        }
    }

    #[inline(always)]
    fn forward_right_side_here(&mut self, units: &[Unit], active: &[bool], b: &[f64]) {
        for u in units {
            self.load(u, active, b);
            self.forward(u);
        }
    }

    #[inline(always)]
    fn turn_here(&mut self, rest: &Unit) {
        self.forward(rest);
        self.backward(rest);
    }

    #[inline(always)]
    fn backward_one(&mut self, u: &Unit, rest: &[f64]) {
        let outside = &mut self.x[u.base + u.scalars..];
        for (x, home) in outside.iter_mut().zip(u.outside.chunks_exact(V::WIDTH)) {
            *x = V::from_fn(|l| rest[home[l] as usize]);
        }
        self.backward(u);
    }

    #[inline(always)]
    fn backward_from_here(&mut self, units: &[Unit], rest: &[f64]) {
        units.iter().rev().for_each(|u| self.backward_one(u, rest));
    }

    #[inline(always)]
    fn forward_columns_here(&mut self, units: &[Unit], active: &[bool], b: &[[f64; COLUMNS]]) {
        self.columns.resize(self.x.len(), [V::default(); COLUMNS]);
        for u in units {
            self.load_columns(u, active, b);
            let x = &mut self.columns[u.base..u.base + u.height(V::WIDTH)];
            for (s, below) in u.walk() {
                let (p, first) = (s.pivots as usize, s.first as usize);
                forward_columns(&self.panels[s.panel..s.panel + s.size() * p], x, first, p, below);
            }
        }
    }

    #[inline(always)]
    fn turn_columns_here(&mut self, rest: &Unit) {
        let x = &mut self.columns[rest.base..rest.base + rest.height(V::WIDTH)];
        for (s, below) in rest.walk() {
            let (p, first) = (s.pivots as usize, s.first as usize);
            forward_columns(&self.panels[s.panel..s.panel + s.size() * p], x, first, p, below);
        }
        self.backward_columns_of(rest);
    }

    #[inline(always)]
    fn backward_columns_here(&mut self, units: &[Unit], rest: &[[f64; COLUMNS]]) {
        for u in units.iter().rev() {
            let outside = &mut self.columns[u.base + u.scalars..];
            for (x, home) in outside.iter_mut().zip(u.outside.chunks_exact(V::WIDTH)) {
                *x = std::array::from_fn(|c| V::from_fn(|l| rest[home[l] as usize][c]));
            }
            self.backward_columns_of(u);
        }
    }

    #[inline(always)]
    fn backward_columns_of(&mut self, u: &Unit) {
        let height = u.height(V::WIDTH);
        let x = &mut self.columns[u.base..u.base + height];
        let inverse = &self.inverse[u.base..u.base + height];
        for (s, below) in u.walk().rev() {
            let (p, first) = (s.pivots as usize, s.first as usize);
            let panel = &self.panels[s.panel..s.panel + s.size() * p];
            backward_columns(panel, x, inverse, first, p, below);
        }
    }

    #[inline(always)]
    fn correct_from_here(&mut self, units: &[Unit], rest: &[f64], d: &Diagonal) {
        self.most = 0.0;
        for u in units.iter().rev() {
            self.backward_one(u, rest);
            let own = u.base..u.base + u.scalars;
            self.lambda[own.clone()].iter_mut().zip(&self.x[own]).for_each(|(l, x)| *l += *x);
            self.gather(u);
            self.most = larger(self.most, self.scatter(u, true, d.active, d.softness));
        }
    }

    #[inline(always)]
    fn gather_all_here(&mut self, units: &[Unit], d: &Diagonal) {
        self.most = 0.0;
        for u in units {
            self.gather(u);
            self.most = larger(self.most, self.scatter(u, true, d.active, d.softness));
        }
    }

    #[inline(always)]
    fn scatter_all_here(&mut self, units: &[Unit], rest: &[[f64; 3]], d: &Diagonal) {
        for u in units {
            for (local, home) in u.shared.iter().zip(u.shared_home.chunks_exact(V::WIDTH)) {
                let seat = &u.seats[*local as usize];
                let y = &mut self.y[u.motions.start + seat.motion as usize..][..seat.threes()];
                for (t, y) in y.iter_mut().enumerate() {
                    *y = std::array::from_fn(|k| V::from_fn(|l| rest[home[l] as usize + t][k]));
                }
            }
            self.most = larger(self.most, self.scatter(u, false, d.active, d.softness));
        }
    }
}

impl<V: Kernel> Numbers<V> {
    pub fn resize(&mut self, room: &Room, front: usize, scaled: usize) {
        let zero = V::default();
        self.w.resize(room.columns, [zero; 3]);
        self.ball.resize(room.columns, false);
        self.roots.resize(room.roots, zero);
        self.y.resize(room.motions, [zero; 3]);
        self.panels.resize(room.panels, zero);
        self.updates.resize(room.updates, zero);
        for v in [&mut self.inverse, &mut self.b, &mut self.residual, &mut self.lambda, &mut self.x] {
            v.resize(room.rows, zero);
        }
        let s = &mut self.scratch;
        [&mut s.pivots, &mut s.least, &mut s.whole, &mut s.row]
            .into_iter()
            .for_each(|v| v.resize(front.max(1), zero));
        s.scaled.resize(scaled, zero);
    }

    #[inline(always)]
    fn fill(&mut self, u: &Unit, p: &Problem) {
        let scale = &mut self.roots[u.roots..];
        for (seat, solids) in u.seats.iter().zip(u.solids.chunks_exact(V::WIDTH)) {
            roots(&mut scale[seat.root as usize..], p.masses, solids, seat.turns);
        }
        let (w, scale) = (&mut self.w[u.columns..], &*scale);
        let ball = &mut self.ball[u.columns..];
        for (node, rows) in u.nodes.iter().zip(u.rows.chunks_exact(V::WIDTH)) {
            if node.hub {
                continue;
            }
            let count = node.count as usize;
            let arms = arms_of::<V>(p.rows, rows, count);
            // A joint of which some rows do not take part is no multiple of the unit matrix any more.
            let whole = |l: usize| p.active.is_empty() || (0..count).all(|r| p.active[rows[l] as usize + r]);
            let is_ball = arms.is_some() && (0..V::WIDTH).all(whole);
            for side in 0..2 {
                if node.solids[side] == NONE {
                    continue;
                }
                let seat = &u.seats[node.solids[side] as usize];
                let (at, threes) = (node.columns[side] as usize, seat.threes());
                ball[at] = is_ball;
                let w = &mut w[at..at + count * threes];
                let scale = &scale[seat.root as usize..][..if seat.turns { 7 } else { 1 }];
                match &arms {
                    Some(arms) => scale_ball(w, scale, arms, side),
                    None => scale_general(w, scale, p.rows, rows, side),
                }
                if p.active.is_empty() {
                    continue;
                }
                for (r, w) in w.chunks_exact_mut(threes).enumerate() {
                    for l in (0..V::WIDTH).filter(|l| !p.active[rows[*l] as usize + r]) {
                        w.as_flattened_mut().iter_mut().for_each(|x| x.set(l, 0.0));
                    }
                }
            }
        }
    }

    /// `packed`: the updates of packs, where the children of the rest are. Tells how many pivots vanished, and how many
    /// times larger than a pivot its row's own diagonal is at most.
    #[inline(always)]
    fn factor(
        &mut self,
        u: &Unit,
        active: &[bool],
        softness: &[f64],
        damping: f64,
        packed: &[Numbers<Quad>],
    ) -> (V, V) {
        let Self { w, ball, panels, updates, inverse, scratch, .. } = self;
        let (w, ball, inverse) = (&w[u.columns..], &ball[u.columns..], &mut inverse[u.base..]);
        let (mut vanished, mut steepest) = (V::default(), V::default());
        let (mut nodes, mut children, mut products, mut spokes) = (0, 0, 0, 0);
        for s in &u.steps {
            let (n, p) = (s.size(), s.pivots as usize);
            let panel = &mut panels[s.panel..s.panel + n * p];
            panel.fill(V::default());
            for i in nodes..s.nodes as usize {
                let Scratch { least, whole, .. } = scratch;
                diagonal(u, i, s, w, ball, active, softness, damping, panel, least, whole);
            }
            for t in &u.products[products..s.products as usize] {
                let (a, b) = (t.a as usize, t.b as usize);
                let balls = ball[a] && ball[b];
                let threes = 1 + usize::from(t.turns);
                let a = &w[a..a + t.size[0] as usize * threes];
                let b = &w[b..b + t.size[1] as usize * threes];
                let start = t.start as usize;
                // Told apart here, so that each has loops of known length.
                if !t.turns {
                    multiply(panel, n, start, a.as_chunks::<1>().0, b.as_chunks::<1>().0, balls);
                } else if balls {
                    multiply(panel, n, start, a.as_chunks::<2>().0, b.as_chunks::<2>().0, true);
                } else {
                    multiply(panel, n, start, a.as_chunks::<2>().0, b.as_chunks::<2>().0, false);
                }
            }
            for t in &u.spokes[spokes..s.spokes as usize] {
                let threes = 1 + usize::from(t.turns);
                for r in 0..t.count as usize {
                    let w = &w[t.a as usize + r * threes..][..threes];
                    for (k, x) in w.as_flattened().iter().enumerate() {
                        panel[t.start as usize + r * t.steps[0] as usize + k * t.steps[1] as usize] += *x;
                    }
                }
            }
            let below = s.rows as usize;
            let fresh = children == s.children as usize;
            if !fresh {
                updates[s.update as usize..s.update as usize + below * below].fill(V::default());
            }
            for c in &u.children[children..s.children as usize] {
                extend_add(
                    panel,
                    updates,
                    packed,
                    n,
                    p,
                    s,
                    c,
                    &u.maps[c.map as usize..(c.map + c.rows) as usize],
                );
            }
            let update = &mut updates[s.update as usize..s.update as usize + below * below];
            let inverse = &mut inverse[s.first as usize..s.first as usize + p];
            vanished += V::eliminate(panel, update, n, p, inverse, scratch, fresh);
            // A pivot that has vanished has no inverse, and so does not count.
            for (i, whole) in inverse.iter().zip(&scratch.whole) {
                steepest = steepest.zip(*i * *whole, larger);
            }
            (nodes, children) = (s.nodes as usize, s.children as usize);
            (products, spokes) = (s.products as usize, s.spokes as usize);
        }
        (vanished, steepest)
    }

    #[inline(always)]
    fn start(&mut self, u: &Unit, active: &[bool], b: &[f64]) -> f64 {
        let into = &mut self.b[u.base..];
        let mut most = V::default();
        for (node, rows) in u.nodes[..u.own_nodes].iter().zip(u.rows.chunks_exact(V::WIDTH)) {
            if node.hub {
                continue;
            }
            for r in 0..node.count as usize {
                let value = |l: usize| {
                    let row = rows[l] as usize + r;
                    if on(active, row) { b[row] } else { 0.0 }
                };
                let x = V::from_fn(value);
                into[node.at as usize + r] = x;
                most = most.zip(x, |m, x| larger(m, x.abs()));
            }
        }
        (0..V::WIDTH).fold(0.0, |m, l| larger(m, most.lane(l)))
    }

    /// `x` from a right side.
    #[inline(always)]
    pub fn load(&mut self, u: &Unit, active: &[bool], b: &[f64]) {
        let x = &mut self.x[u.base..u.base + u.height(V::WIDTH)];
        x[u.scalars..].fill(V::default());
        for (node, rows) in u.nodes[..u.own_nodes].iter().zip(u.rows.chunks_exact(V::WIDTH)) {
            let x = &mut x[node.at as usize..node.at as usize + node.count as usize];
            if node.hub {
                x.fill(V::default());
                continue;
            }
            for (r, x) in x.iter_mut().enumerate() {
                *x = V::from_fn(|l| {
                    let row = rows[l] as usize + r;
                    if on(active, row) { b[row] } else { 0.0 }
                });
            }
        }
    }

    /// The answer from `x`.
    #[inline(always)]
    pub fn store(&self, u: &Unit, out: &mut [f64]) {
        for (node, rows) in u.nodes[..u.own_nodes].iter().zip(u.rows.chunks_exact(V::WIDTH)) {
            if node.hub {
                continue;
            }
            let x = &self.x[u.base + node.at as usize..][..node.count as usize];
            for l in 0..u.lanes {
                let out = &mut out[rows[l] as usize..][..x.len()];
                out.iter_mut().zip(x).for_each(|(o, x)| *o = x.lane(l));
            }
        }
    }

    /// [`load`](Self::load) of several right sides.
    #[inline(always)]
    pub fn load_columns(&mut self, u: &Unit, active: &[bool], b: &[[f64; COLUMNS]]) {
        self.columns.resize(self.x.len(), [V::default(); COLUMNS]);
        let x = &mut self.columns[u.base..u.base + u.height(V::WIDTH)];
        x[u.scalars..].fill([V::default(); COLUMNS]);
        for (node, rows) in u.nodes[..u.own_nodes].iter().zip(u.rows.chunks_exact(V::WIDTH)) {
            let x = &mut x[node.at as usize..node.at as usize + node.count as usize];
            if node.hub {
                x.fill([V::default(); COLUMNS]);
                continue;
            }
            for (r, x) in x.iter_mut().enumerate() {
                let row = |l: usize| rows[l] as usize + r;
                let value = |c: usize, l: usize| if on(active, row(l)) { b[row(l)][c] } else { 0.0 };
                *x = std::array::from_fn(|c| V::from_fn(|l| value(c, l)));
            }
        }
    }

    /// [`store`](Self::store) of several answers.
    #[inline(always)]
    pub fn store_columns(&self, u: &Unit, out: &mut [[f64; COLUMNS]]) {
        for (node, rows) in u.nodes[..u.own_nodes].iter().zip(u.rows.chunks_exact(V::WIDTH)) {
            if node.hub {
                continue;
            }
            let x = &self.columns[u.base + node.at as usize..][..node.count as usize];
            for l in 0..u.lanes {
                let out = &mut out[rows[l] as usize..][..x.len()];
                out.iter_mut().zip(x).for_each(|(o, x)| *o = x.map(|x| x.lane(l)));
            }
        }
    }

    pub fn restart(&mut self) {
        self.residual.copy_from_slice(&self.b);
        self.lambda.fill(V::default());
    }

    pub fn undo(&mut self, units: &[Unit]) {
        for u in units {
            let own = u.base..u.base + u.scalars;
            self.lambda[own.clone()].iter_mut().zip(&self.x[own]).for_each(|(l, x)| *l -= *x);
        }
    }

    /// `y = W^T lambda` of the unit's solids; the rest adds to what packs have left there.
    #[inline(always)]
    fn gather(&mut self, u: &Unit) {
        let (w, lambda) = (&self.w[u.columns..], &self.lambda[u.base..]);
        let y = &mut self.y[u.motions.clone()];
        if V::WIDTH > 1 {
            y.fill([V::default(); 3]);
        }
        for node in u.nodes[..u.own_nodes].iter().filter(|n| !n.hub) {
            let lambda = &lambda[node.at as usize..node.at as usize + node.count as usize];
            for side in 0..2 {
                if node.solids[side] == NONE {
                    continue;
                }
                let y = &mut y[u.seats[node.solids[side] as usize].motion as usize..];
                match columns(u, node, w, side) {
                    (w, true) => add_rows(y, w.as_chunks::<2>().0, lambda),
                    (w, false) => add_rows(y, w.as_chunks::<1>().0, lambda),
                }
            }
        }
    }

    /// What is left of the right side: of rows whose solids this unit knows all about (`inside`), or of the others.
    #[inline(always)]
    fn scatter(&mut self, u: &Unit, inside: bool, active: &[bool], softness: &[f64]) -> f64 {
        let (w, y, b) = (&self.w[u.columns..], &self.y[u.motions.clone()], &self.b[u.base..]);
        let (residual, lambda) = (&mut self.residual[u.base..], &self.lambda[u.base..]);
        let mut most = V::default();
        for (node, rows) in u.nodes[..u.own_nodes].iter().zip(u.rows.chunks_exact(V::WIDTH)) {
            if node.hub || node.inside != inside {
                continue;
            }
            let own = node.at as usize..node.at as usize + node.count as usize;
            let (b, residual) = (&b[own.clone()], &mut residual[own]);
            residual.fill(V::default());
            for side in 0..2 {
                if node.solids[side] == NONE {
                    continue;
                }
                let y = &y[u.seats[node.solids[side] as usize].motion as usize..];
                match columns(u, node, w, side) {
                    (w, true) => along_rows(residual, w.as_chunks::<2>().0, y),
                    (w, false) => along_rows(residual, w.as_chunks::<1>().0, y),
                }
            }
            for (r, (b, out)) in b.iter().zip(residual).enumerate() {
                let mut left = *b - *out;
                if !softness.is_empty() {
                    let give = V::from_fn(|l| softness[rows[l] as usize + r]);
                    left -= give * lambda[node.at as usize + r];
                }
                if !active.is_empty() {
                    for l in (0..V::WIDTH).filter(|l| !active[rows[*l] as usize + r]) {
                        left.set(l, 0.0);
                    }
                }
                *out = left;
                most = most.zip(left, |m, x| larger(m, x.abs()));
            }
        }
        (0..V::WIDTH).fold(0.0, |m, l| larger(m, most.lane(l)))
    }

    #[inline(always)]
    fn forward(&mut self, u: &Unit) {
        let (x, panels) = (&mut self.x[u.base..u.base + u.height(V::WIDTH)], &self.panels);
        for (s, below) in u.walk() {
            let (n, p, first) = (s.size(), s.pivots as usize, s.first as usize);
            let panel = &panels[s.panel..s.panel + n * p];
            match p {
                3 => forward_few::<V, 3>(panel, x, first, below),
                5 => forward_few::<V, 5>(panel, x, first, below),
                6 => forward_few::<V, 6>(panel, x, first, below),
                _ => {
                    let (head, tail) = self.scratch.row[..n].split_at_mut(p);
                    forward_many(panel, x, first, below, head, tail);
                }
            }
        }
    }

    #[inline(always)]
    fn backward(&mut self, u: &Unit) {
        let height = u.height(V::WIDTH);
        let (x, panels) = (&mut self.x[u.base..u.base + height], &self.panels);
        let inverse = &self.inverse[u.base..u.base + height];
        for (s, below) in u.walk().rev() {
            let (n, p, first) = (s.size(), s.pivots as usize, s.first as usize);
            let panel = &panels[s.panel..s.panel + n * p];
            match p {
                3 => backward_few::<V, 3>(panel, x, inverse, first, below),
                5 => backward_few::<V, 5>(panel, x, inverse, first, below),
                6 => backward_few::<V, 6>(panel, x, inverse, first, below),
                _ => {
                    let (head, tail) = self.scratch.row[..n].split_at_mut(p);
                    backward_many(panel, x, inverse, first, below, head, tail);
                }
            }
        }
    }
}

/// `y += w^T lambda` of one solid.
#[inline(always)]
fn add_rows<V: Lane, const T: usize>(y: &mut [[V; 3]], w: &[[[V; 3]; T]], lambda: &[V]) {
    let Some(y) = y.first_chunk_mut::<T>() else { return };
    let mut sum = *y;
    for (w, l) in w.iter().zip(lambda) {
        for t in 0..T {
            for k in 0..3 {
                sum[t][k] += w[t][k] * *l;
            }
        }
    }
    *y = sum;
}

/// `out += w y` of one solid.
#[inline(always)]
fn along_rows<V: Lane, const T: usize>(out: &mut [V], w: &[[[V; 3]; T]], y: &[[V; 3]]) {
    let Some(y) = y.first_chunk::<T>() else { return };
    for (o, w) in out.iter_mut().zip(w) {
        *o += dot(w, y);
    }
}
