//! Symmetric positive definite matrices of 3 x 3 blocks, a node of three freedoms each: `L D L^T`, multifrontal.
//!
//! Everything that depends on the topology alone (`order.rs`, places, room) is worked out once; a step changes numbers only.
//! Numbers go right where the factor will be: a front's own columns are its *panel*; what eliminating them takes from the rows
//! below is its *update*, which its parent adds to its own numbers.

use super::order::Fronts;
use crate::math::Vector;
use crate::solve::sparse::{Kernel, Pool, Scratch};

/// A symmetric 3 x 3 block: xx, xy, xz, yy, yz, zz.
pub(super) type Block = [f64; 6];

/// So many right sides are gone through at a time: the factor is read once for all of them.
const SIDES: usize = 8;
type Lanes = [f64; SIDES];

/// Where a block of the matrix is: its first number, and how far apart its columns are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    at: usize,
    stride: usize,
}

/// A front as the numbers walk over it.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Its first row, how many rows it has, and how many of them are its own.
    first: usize,
    rows: usize,
    own: usize,
    /// Where its panel, its update and its rows below are.
    panel: usize,
    update: usize,
    below: usize,
    /// Children: in `children`.
    children: [usize; 2],
}

impl Step {
    fn rest(&self) -> usize {
        self.rows - self.own
    }
}

/// The matrix, its factor and what both need.
#[derive(Default)]
pub(super) struct Factor {
    /// Per node: its place in the order of elimination, and its block on the diagonal.
    order: Vec<u32>,
    diagonal: Vec<Place>,
    steps: Vec<Step>,
    /// Children of fronts, and the blocks of the parent's front that the blocks below them are.
    children: Vec<(u32, u32)>,
    maps: Vec<u32>,
    /// Rows below, first one of a block.
    below: Vec<u32>,
    panels: Vec<f64>,
    updates: Vec<f64>,
    inverse: Vec<f64>,
    scratch: Scratch<f64>,
    x: Vec<f64>,
    part: Vec<f64>,
    /// The same for several right sides at a time.
    wide: Vec<Lanes>,
    wide_part: Vec<Lanes>,
    /// The factor belongs to the values.
    factored: bool,
    work: f64,
}

impl Factor {
    /// Lays out a matrix of nodes that begin at these places, and that couples these pairs, each once. Tells where each pair is.
    #[cfg(test)]
    pub fn analyse(&mut self, at: &[Vector], pairs: &[[u32; 2]]) -> Vec<Place> {
        self.analyse_within(at, pairs, f64::INFINITY).unwrap_or_default()
    }

    /// The same, if factoring takes no more work than this; else everything stays as it is.
    pub fn analyse_within(&mut self, at: &[Vector], pairs: &[[u32; 2]], most: f64) -> Option<Vec<Place>> {
        let fronts = Fronts::new(at, pairs);
        if fronts.work() > most {
            return None;
        }
        let work = fronts.work();
        *self = Self { work, ..Self::default() };
        self.lay_out(&fronts);
        let owner: Vec<u32> = (fronts.list.iter().enumerate())
            .flat_map(|(k, f)| std::iter::repeat_n(k as u32, f.count as usize))
            .collect();
        let place = |row: u32, column: u32| {
            let (front, step) =
                (&fronts.list[owner[column as usize] as usize], &self.steps[owner[column as usize] as usize]);
            let below = &fronts.below[front.below.clone()];
            let local = match row.checked_sub(front.first).filter(|r| *r < front.count) {
                Some(r) => r,
                None => front.count + below.partition_point(|b| *b < row) as u32,
            };
            let at = step.panel + 3 * (column - front.first) as usize * step.rows + 3 * local as usize;
            Place { at, stride: step.rows }
        };
        let places = pairs.iter().map(|p| {
            let [a, b] = p.map(|n| fronts.place[n as usize]);
            place(a.max(b), a.min(b))
        });
        let places = places.collect();
        let diagonal = fronts.place.iter().map(|k| place(*k, *k)).collect();
        (self.diagonal, self.order) = (diagonal, fronts.place);
        Some(places)
    }

    /// Multiplications that factoring takes, about.
    pub fn work(&self) -> f64 {
        self.work
    }

    /// Room for panels and updates, children, and where their updates go.
    fn lay_out(&mut self, fronts: &Fronts) {
        let mut pool = Pool::default();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); fronts.list.len()];
        let (mut panels, mut most, mut scaled) = (0, 0, 0);
        for (k, f) in fronts.list.iter().enumerate() {
            let below = &fronts.below[f.below.clone()];
            let (own, rest) = (3 * f.count as usize, 3 * below.len());
            let (rows, from) = (own + rest, self.children.len());
            let update = pool.take(rest * rest);
            for c in &children[k] {
                self.children.push((*c, self.maps.len() as u32));
                let theirs = &fronts.below[fronts.list[*c as usize].below.clone()];
                self.maps.extend(theirs.iter().map(
                    |r| match r.checked_sub(f.first).filter(|r| *r < f.count) {
                        Some(r) => r,
                        None => f.count + below.partition_point(|b| b < r) as u32,
                    },
                ));
                let step = &self.steps[*c as usize];
                pool.release(step.update, step.rest() * step.rest());
            }
            let children_at = [from, self.children.len()];
            let (first, at) = (3 * f.first as usize, self.below.len());
            self.below.extend(below.iter().map(|b| 3 * b));
            self.steps.push(Step {
                first,
                rows,
                own,
                panel: panels,
                update,
                below: at,
                children: children_at,
            });
            if f.parent != u32::MAX {
                children[f.parent as usize].push(k as u32);
            }
            panels += rows * own;
            (most, scaled) = (most.max(rows), scaled.max(rows * own));
        }
        let n = 3 * fronts.place.len();
        self.panels = vec![0.0; panels];
        self.updates = vec![0.0; pool.len];
        self.inverse = vec![0.0; n];
        self.x = vec![0.0; n];
        self.part = vec![0.0; most];
        let s = &mut self.scratch;
        [&mut s.pivots, &mut s.row].into_iter().for_each(|v| v.resize(most, 0.0));
        s.least.resize(most, -1.0);
        s.scaled.resize(scaled, 0.0);
    }

    /// Nothing but these masses on the diagonal.
    pub fn start(&mut self, masses: &[f64]) {
        self.panels.fill(0.0);
        self.factored = false;
        for (i, m) in masses.iter().enumerate() {
            self.add_diagonal(i, &[*m, 0.0, 0.0, *m, 0.0, *m]);
        }
    }

    /// Adds a block on the diagonal.
    #[inline]
    pub fn add_diagonal(&mut self, node: usize, b: &Block) {
        let Place { at, stride } = self.diagonal[node];
        for (k, x) in [(at, b[0]), (at + 1, b[1]), (at + 2, b[2])] {
            self.panels[k] += x;
        }
        self.panels[at + stride + 1] += b[3];
        self.panels[at + stride + 2] += b[4];
        self.panels[at + 2 * stride + 2] += b[5];
    }

    /// Subtracts a block between two nodes.
    #[inline]
    pub fn couple(&mut self, place: Place, b: &Block) {
        let full = [[b[0], b[1], b[2]], [b[1], b[3], b[4]], [b[2], b[4], b[5]]];
        for (k, column) in full.iter().enumerate() {
            let first = place.at + k * place.stride;
            for (v, x) in self.panels[first..first + 3].iter_mut().zip(column) {
                *v -= x;
            }
        }
    }

    /// Factors the matrix. False: it is not positive definite.
    pub fn factor(&mut self) -> bool {
        self.factored = false;
        self.factored = pulp::Arch::new().dispatch(Eliminate(self));
        self.factored
    }

    #[inline(always)]
    fn eliminate_all(&mut self) -> bool {
        for k in 0..self.steps.len() {
            if !self.eliminate(k) {
                return false;
            }
        }
        true
    }

    /// Eliminates the rows of a front. False: one of them has nothing left.
    #[inline(always)]
    fn eliminate(&mut self, k: usize) -> bool {
        let step = self.steps[k];
        let (rest, children) = (step.rest(), step.children[0]..step.children[1]);
        let panel = &mut self.panels[step.panel..step.panel + step.rows * step.own];
        self.updates[step.update..step.update + rest * rest].fill(0.0);
        for (c, map) in &self.children[children] {
            let child = &self.steps[*c as usize];
            let len = child.rest() * child.rest();
            let (from, to) = two(&mut self.updates, (child.update, len), (step.update, rest * rest));
            let map = &self.maps[*map as usize..*map as usize + child.rest() / 3];
            take_update(from, map, panel, to, step.rows, step.own);
        }
        let inverse = &mut self.inverse[step.first..step.first + step.own];
        let update = &mut self.updates[step.update..step.update + rest * rest];
        f64::eliminate(panel, update, step.rows, step.own, inverse, &mut self.scratch, false);
        inverse.iter().all(|x| *x > 0.0 && x.is_finite())
    }

    /// There is a factor to solve with.
    pub fn is_ready(&self) -> bool {
        self.factored
    }

    /// `x = A^-1 x`, a vector per node.
    pub fn solve(&mut self, x: &mut [f64]) {
        if !self.factored {
            return;
        }
        for (node, k) in self.order.iter().enumerate() {
            self.x[3 * *k as usize..3 * *k as usize + 3].copy_from_slice(&x[3 * node..3 * node + 3]);
        }
        pulp::Arch::new().dispatch(Substitute(self));
        for (node, k) in self.order.iter().enumerate() {
            x[3 * node..3 * node + 3].copy_from_slice(&self.x[3 * *k as usize..3 * *k as usize + 3]);
        }
    }

    /// Half of that for several right sides, one after the other in `columns`: `D^-1/2 L^-1 x`, in the order of elimination, so that
    /// the product of two of them is that of one right side with the other's answer. Most rows of what few vertices touch are
    /// nothing, and are passed over.
    pub fn halve_many(&mut self, columns: &mut [f64]) {
        let n = self.x.len();
        if !self.factored || n == 0 {
            return;
        }
        self.wide.resize(n, [0.0; SIDES]);
        self.wide_part.resize(self.part.len(), [0.0; SIDES]);
        for some in columns.chunks_mut(SIDES * n) {
            self.wide.fill([0.0; SIDES]);
            for (side, column) in some.chunks_exact(n).enumerate() {
                for (node, k) in self.order.iter().enumerate() {
                    (0..3).for_each(|i| self.wide[3 * *k as usize + i][side] = column[3 * node + i]);
                }
            }
            pulp::Arch::new().dispatch(HalveMany(self));
            for (side, column) in some.chunks_exact_mut(n).enumerate() {
                let own = self.wide.iter().zip(&self.inverse);
                column.iter_mut().zip(own).for_each(|(c, (x, d))| *c = x[side] * d.sqrt());
            }
        }
    }

    #[inline(always)]
    fn forward_many(&mut self, k: usize) {
        let step = self.steps[k];
        let (own, rows) = (step.own, step.rows);
        if self.wide[step.first..step.first + own].iter().all(|x| *x == [0.0; SIDES]) {
            return;
        }
        let panel = &self.panels[step.panel..step.panel + rows * own];
        let x = &mut self.wide_part[..rows];
        x[..own].copy_from_slice(&self.wide[step.first..step.first + own]);
        x[own..].fill([0.0; SIDES]);
        let mut k = 0;
        while k < own {
            let columns = &panel[k * rows..];
            k += match own - k {
                1 => take_columns::<1>(columns, rows, k, x),
                2 => take_columns::<2>(columns, rows, k, x),
                3 => take_columns::<3>(columns, rows, k, x),
                _ => take_columns::<4>(columns, rows, k, x),
            };
        }
        self.wide[step.first..step.first + own].copy_from_slice(&x[..own]);
        let below = &self.below[step.below..step.below + step.rest() / 3];
        for (b, by) in below.iter().zip(x[own..].as_chunks::<3>().0) {
            for r in 0..3 {
                for i in 0..SIDES {
                    self.wide[*b as usize + r][i] += by[r][i];
                }
            }
        }
    }

    #[inline(always)]
    fn substitute(&mut self) {
        for k in 0..self.steps.len() {
            self.forward(k);
        }
        for k in (0..self.steps.len()).rev() {
            self.backward(k);
        }
    }

    #[inline(always)]
    fn forward(&mut self, k: usize) {
        let step = self.steps[k];
        let (own, rows) = (step.own, step.rows);
        let panel = &self.panels[step.panel..step.panel + rows * own];
        let x = &mut self.part[..rows];
        x[..own].copy_from_slice(&self.x[step.first..step.first + own]);
        x[own..].fill(0.0);
        let mut k = 0;
        while k < own {
            let columns = &panel[k * rows..];
            k += match own - k {
                1 => take_column::<1>(columns, rows, k, x),
                2 => take_column::<2>(columns, rows, k, x),
                3 => take_column::<3>(columns, rows, k, x),
                _ => take_column::<4>(columns, rows, k, x),
            };
        }
        self.x[step.first..step.first + own].copy_from_slice(&x[..own]);
        let below = &self.below[step.below..step.below + step.rest() / 3];
        for (b, by) in below.iter().zip(x[own..].as_chunks::<3>().0) {
            let to = &mut self.x[*b as usize..*b as usize + 3];
            to.iter_mut().zip(by).for_each(|(x, by)| *x += by);
        }
    }

    #[inline(always)]
    fn backward(&mut self, k: usize) {
        let step = self.steps[k];
        let (own, rows) = (step.own, step.rows);
        let panel = &self.panels[step.panel..step.panel + rows * own];
        let x = &mut self.part[..rows];
        let inverse = &self.inverse[step.first..step.first + own];
        let from = &self.x[step.first..step.first + own];
        x.iter_mut().zip(from.iter().zip(inverse)).for_each(|(x, (y, d))| *x = y * d);
        let below = &self.below[step.below..step.below + step.rest() / 3];
        for (b, to) in below.iter().zip(x[own..].as_chunks_mut::<3>().0) {
            to.copy_from_slice(&self.x[*b as usize..*b as usize + 3]);
        }
        for (k, column) in panel.chunks_exact(rows).enumerate().rev() {
            x[k] -= dot(&column[k + 1..], &x[k + 1..]);
        }
        self.x[step.first..step.first + own].copy_from_slice(&x[..own]);
    }
}

/// Work that is done in wide registers, where there are any. As a closure it would be compiled without them: what calls a
/// closure that borrows is a function of its own, and nobody can ask for that one to be inlined.
struct Eliminate<'a>(&'a mut Factor);
struct Substitute<'a>(&'a mut Factor);
struct HalveMany<'a>(&'a mut Factor);

impl pulp::WithSimd for Eliminate<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
        self.0.eliminate_all()
    }
}

impl pulp::WithSimd for Substitute<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.0.substitute();
    }
}

impl pulp::WithSimd for HalveMany<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        (0..self.0.steps.len()).for_each(|k| self.0.forward_many(k));
    }
}

/// What the next few rows of a front, from `k` on, take from all that come later. Tells how many they were: the later ones are
/// read and written once for all of them.
#[inline(always)]
fn take_columns<const N: usize>(columns: &[f64], rows: usize, k: usize, x: &mut [Lanes]) -> usize {
    let columns: [&[f64]; N] = std::array::from_fn(|j| &columns[j * rows..(j + 1) * rows]);
    let (own, rest) = x[k..rows].split_at_mut(N);
    for j in 0..N {
        for i in j + 1..N {
            for side in 0..SIDES {
                own[i][side] -= columns[j][k + i] * own[j][side];
            }
        }
    }
    let columns = columns.map(|c| &c[k + N..rows]);
    for (i, x) in rest.iter_mut().enumerate() {
        for (column, by) in columns.iter().zip(&*own) {
            for side in 0..SIDES {
                x[side] -= column[i] * by[side];
            }
        }
    }
    N
}

/// The same for one right side.
#[inline(always)]
fn take_column<const N: usize>(columns: &[f64], rows: usize, k: usize, x: &mut [f64]) -> usize {
    let columns: [&[f64]; N] = std::array::from_fn(|j| &columns[j * rows..(j + 1) * rows]);
    let (own, rest) = x[k..rows].split_at_mut(N);
    for j in 0..N {
        for i in j + 1..N {
            own[i] -= columns[j][k + i] * own[j];
        }
    }
    let by: [f64; N] = std::array::from_fn(|j| own[j]);
    let columns = columns.map(|c| &c[k + N..][..rest.len()]);
    for (i, x) in rest.iter_mut().enumerate() {
        for j in 0..N {
            *x -= columns[j][i] * by[j];
        }
    }
    N
}

/// Eight sums side by side, which fill wide registers.
#[inline(always)]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for k in 0..8 {
            sums[k] += a[k] * b[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])) + rest
}

/// Two places of one list that do not overlap, the second to be changed.
#[inline(always)]
fn two(list: &mut [f64], a: (usize, usize), b: (usize, usize)) -> (&[f64], &mut [f64]) {
    if a.0 < b.0 || a.1 == 0 {
        let (left, right) = list.split_at_mut(b.0);
        (left.get(a.0..a.0 + a.1).unwrap_or(&[]), &mut right[..b.1])
    } else {
        let (left, right) = list.split_at_mut(a.0);
        (&right[..a.1], &mut left[b.0..b.0 + b.1])
    }
}

/// Adds what a child left to the numbers of its parent, block by block.
#[inline(always)]
fn take_update(from: &[f64], map: &[u32], panel: &mut [f64], update: &mut [f64], rows: usize, own: usize) {
    let (n, rest) = (3 * map.len(), rows - own);
    for (j, to) in map.iter().enumerate() {
        for c in 0..3 {
            let column = &from[(3 * j + c) * n + 3 * j..(3 * j + c + 1) * n];
            let to = 3 * *to as usize + c;
            let target = match to.checked_sub(own) {
                None => &mut panel[to * rows..(to + 1) * rows],
                Some(to) => &mut update[to * rest..(to + 1) * rest],
            };
            let before = rows - target.len();
            for (i, from) in map[j..].iter().zip(column.as_chunks::<3>().0) {
                let at = 3 * *i as usize - before;
                let to = &mut target[at..at + 3];
                (to[0], to[1], to[2]) = (to[0] + from[0], to[1] + from[1], to[2] + from[2]);
            }
        }
    }
}

/// `along u u^T + across (1 - u u^T)`.
#[inline]
pub(super) fn stiffness(u: Vector, along: f64, across: f64) -> Block {
    let d = along - across;
    [
        d * u.x * u.x + across,
        d * u.x * u.y,
        d * u.x * u.z,
        d * u.y * u.y + across,
        d * u.y * u.z,
        d * u.z * u.z + across,
    ]
}

/// A block times a vector.
#[inline]
pub(super) fn times(b: &Block, v: Vector) -> Vector {
    Vector::new(
        b[0] * v.x + b[1] * v.y + b[2] * v.z,
        b[1] * v.x + b[3] * v.y + b[4] * v.z,
        b[2] * v.x + b[4] * v.y + b[5] * v.z,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and are the same every time.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn vector(&mut self) -> Vector {
            Vector::new(self.next() - 0.5, self.next() - 0.5, self.next() - 0.5)
        }
    }

    /// Solves a random matrix over this graph, and tells how far the answer is off.
    fn error(at: &[Vector], pairs: &[[u32; 2]], r: &mut Random) -> f64 {
        let mut f = Factor::default();
        let places = f.analyse(at, pairs);
        let masses: Vec<f64> = at.iter().map(|_| 0.1 + r.next()).collect();
        let x: Vec<Vector> = at.iter().map(|_| r.vector()).collect();
        let mut b: Vec<Vector> = x.iter().zip(&masses).map(|(x, m)| *x * *m).collect();
        // Twice, for whatever the first time may leave behind.
        for _ in 0..2 {
            f.start(&masses);
            b.iter_mut().zip(x.iter().zip(&masses)).for_each(|(b, (x, m))| *b = *x * *m);
            for (p, place) in pairs.iter().zip(&places) {
                let block = stiffness(r.vector().normalize(), 1e3 * r.next(), r.next());
                let [i, j] = p.map(|n| n as usize);
                f.add_diagonal(i, &block);
                f.add_diagonal(j, &block);
                f.couple(*place, &block);
                let push = times(&block, x[i] - x[j]);
                (b[i], b[j]) = (b[i] + push, b[j] - push);
            }
            assert!(f.factor());
        }
        let mut flat: Vec<f64> = b.iter().flat_map(|b| b.to_array()).collect();
        f.solve(&mut flat);
        // Eleven at a time, one of which touches nothing but a vertex, the third of which is the one that is known.
        let n = 3 * b.len();
        let mut many: Vec<f64> = (0..11 * n).map(|_| r.next()).collect();
        many[3..n].fill(0.0);
        many[2 * n..3 * n].iter_mut().zip(b.iter().flat_map(|b| b.to_array())).for_each(|(m, b)| *m = b);
        let whole = many.clone();
        f.halve_many(&mut many);
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let known: Vec<f64> = x.iter().flat_map(|x| x.to_array()).collect();
        for (half, whole) in many.chunks_exact(n).zip(whole.chunks_exact(n)) {
            let (by_half, exact) = (product(half, &many[2 * n..3 * n]), product(whole, &known));
            let size: f64 = whole.iter().zip(&known).map(|(a, b)| (a * b).abs()).sum();
            if !((by_half - exact).abs() <= 1e-9 * (1.0 + size)) {
                return f64::INFINITY;
            }
        }
        let off = x.iter().zip(flat.chunks_exact(3)).map(|(x, y)| x.distance(Vector::from_slice(y)));
        off.fold(0.0, f64::max)
    }

    #[test]
    fn solves_over_every_kind_of_graph() {
        let mut r = Random(7);
        for n in [1, 2, 3, 5, 9, 17, 33] {
            let at: Vec<Vector> =
                (0..n * n).map(|k| Vector::new((k % n) as f64, 0.0, (k / n) as f64)).collect();
            let id = |i: usize, j: usize| (i + n * j) as u32;
            let mut grid = Vec::new();
            for j in 0..n {
                for i in 0..n {
                    grid.extend((i + 1 < n).then(|| [id(i, j), id(i + 1, j)]));
                    grid.extend((j + 1 < n).then(|| [id(i, j), id(i, j + 1)]));
                    grid.extend((i + 1 < n && j + 1 < n).then(|| [id(i, j), id(i + 1, j + 1)]));
                }
            }
            assert!(error(&at, &grid, &mut r) < 1e-9, "grid of {n}");
            // The same with far couplings, as layers that touch have; scattered; all in one place; with no coupling at all.
            let count = at.len() as f64;
            for _ in 0..n {
                let [a, b] = [r.next(), r.next()].map(|x| (x * count) as u32);
                if a != b && !grid.contains(&[a.min(b), a.max(b)]) {
                    grid.push([a.min(b), a.max(b)]);
                }
            }
            assert!(error(&at, &grid, &mut r) < 1e-9, "folded grid of {n}");
            let scattered: Vec<Vector> = at.iter().map(|_| r.vector()).collect();
            assert!(error(&scattered, &grid, &mut r) < 1e-9, "scattered grid of {n}");
            assert!(error(&vec![Vector::ONE; at.len()], &grid, &mut r) < 1e-9, "heap of {n}");
            assert!(error(&at, &[], &mut r) < 1e-12, "{n} alone");
        }
        let (all, at) = (30_u32, (0..30).map(|_| r.vector()).collect::<Vec<_>>());
        let pairs: Vec<[u32; 2]> = (0..all).flat_map(|a| (a + 1..all).map(move |b| [a, b])).collect();
        assert!(error(&at, &pairs, &mut r) < 1e-9, "everyone with everyone");
    }

    /// A sheet that lies in layers couples vertices that nothing separates: such a factor is not even laid out.
    #[test]
    fn takes_no_more_work_than_it_may() {
        let n = 24_u32;
        let at: Vec<Vector> =
            (0..n * n).map(|k| Vector::new(f64::from(k % n), 0.0, f64::from(k / n))).collect();
        let mut pairs: Vec<[u32; 2]> = (1..n * n).filter(|k| k % n > 0).map(|k| [k - 1, k]).collect();
        pairs.extend((n..n * n).map(|k| [k - n, k]));
        let mut f = Factor::default();
        f.analyse(&at, &pairs);
        let most = 3.0 * f.work();
        assert!(f.analyse_within(&at, &pairs, most).is_some());
        let mut r = Random(3);
        for _ in 0..n * n {
            let [a, b] = [r.next(), r.next()].map(|x| (x * f64::from(n * n)) as u32);
            if a != b && !pairs.contains(&[a.min(b), a.max(b)]) {
                pairs.push([a.min(b), a.max(b)]);
            }
        }
        assert!(f.analyse_within(&at, &pairs, most).is_none());
        assert!(f.work() < most, "the factor that there was stays");
    }

    #[test]
    fn says_what_is_not_positive_definite() {
        let at = [Vector::ZERO, Vector::X, Vector::Y];
        let mut f = Factor::default();
        let places = f.analyse(&at, &[[0, 1], [1, 2]]);
        for (block, fine) in
            [([1.0; 6], true), ([-5.0, 0.0, 0.0, 1.0, 0.0, 1.0], false), ([f64::NAN; 6], false)]
        {
            f.start(&[1.0; 3]);
            for (k, place) in places.iter().enumerate() {
                f.add_diagonal(k, &block);
                f.add_diagonal(k + 1, &block);
                f.couple(*place, &block);
            }
            assert_eq!(f.factor(), fine, "{block:?}");
            assert_eq!(f.is_ready(), fine);
        }
    }
}
