//! Contacts among several linkages: block Gauss-Seidel over one small matrix per linkage.
//!
//! A push on a linkage moves that linkage alone. So `W` falls into a matrix per linkage, `W_p = J R_p J^T` over the rows
//! that have an end there, and a row between two of them adds up what both make of its force:
//! ```text
//!     W_p = J M^-1 J^T - Y^T D^-1 Y,      L D L^T = G M^-1 G^T,      Y = L^-1 G M^-1 J^T      (G: the joints)
//! ```
//! A sweep costs as much as the rows of a linkage have in common, and nothing of any other linkage. The matrices decide
//! about the forces alone: what these move is asked of the lower level, so that joints hold whichever sweep is the last.

use super::block::Block;
use super::{ConeProblem, Curve, STUCK};
use crate::rows::{HalfRow, dot6};
use crate::solve::Held;

const NONE: u32 = u32::MAX;
/// A joint's row that has less than this part of its response left once the rows before it are met depends on them.
const DEPENDENT: f64 = 1e-10;

/// Matrices of all linkages that are touched.
#[derive(Default)]
pub(super) struct Parts {
    /// Per solid: another one of its linkage, or itself.
    root: Vec<u32>,
    /// Per root: its part, if it is touched.
    part_of: Vec<u32>,
    parts: Vec<Part>,
    used: usize,
    units: Vec<Unit>,
    scratch: Scratch,
}

/// A scalar row or a block of three.
#[derive(Clone, Copy, Debug)]
struct Unit {
    row: usize,
    rows: usize,
    /// Its parts, and where its rows are in them.
    at: [(u32, u32); 2],
    ends: usize,
}

/// A linkage that is touched, or a free solid.
#[derive(Default)]
struct Part {
    root: u32,
    /// Rows of the problem.
    rows: Vec<u32>,
    /// Rows of its joints.
    below: Vec<u32>,
    /// Over `rows`: the matrix, and what the forces move.
    w: Vec<f64>,
    y: Vec<f64>,
}

/// What a matrix is made in.
#[derive(Default)]
struct Scratch {
    /// Per row of a joint: its ends, and what a unit along it moves them.
    ends: Vec<[End; 2]>,
    /// Per row of the problem that has an end here: likewise, with the number of its row.
    touched: Vec<(usize, End)>,
    /// `L` row by row, with the first entry of each, and `1 / D`.
    l: Vec<f64>,
    first: Vec<usize>,
    inverse: Vec<f64>,
    y: Vec<f64>,
}

#[derive(Clone, Copy)]
struct End {
    solid: usize,
    half: HalfRow,
    moved: HalfRow,
}

impl Parts {
    /// Finds the linkages that rows touch. Operations to make their matrices; infinite where this way is not for them.
    pub fn prepare(&mut self, p: &ConeProblem, held: &Held) -> f64 {
        self.find_linkages(held);
        self.part_of.clear();
        self.part_of.resize(self.root.len(), NONE);
        self.used = 0;
        self.units.clear();
        let scalars = (0..p.scalars).map(|r| (r, 1));
        let blocks = (0..p.blocks()).map(|k| (p.scalars + 3 * k, 3));
        for (row, rows) in scalars.chain(blocks) {
            if !self.place(p, held, row, rows) {
                return f64::INFINITY;
            }
        }
        for r in (0..held.rows.len()).rev().filter(|r| held.takes_part(*r)) {
            let ends = held.rows.solids(r);
            let Some(solid) = ends.into_iter().find(|s| held.masses.moves(*s)) else { continue };
            let part = self.part_of[self.root[solid] as usize];
            if part != NONE {
                self.parts[part as usize].below.push(r as u32);
            }
        }
        self.parts[..self.used].iter().map(Part::cost).sum()
    }

    /// Solids that joints hold together.
    fn find_linkages(&mut self, held: &Held) {
        let root = &mut self.root;
        root.clear();
        root.extend(0..held.masses.len() as u32);
        for g in held.rows.groups.iter().filter(|g| g.range().any(|r| held.takes_part(r))) {
            if g.solids.iter().all(|s| held.masses.moves(*s)) {
                let [a, b] = g.solids.map(|s| find(root, s));
                root[a.max(b) as usize] = a.min(b);
            }
        }
        for i in 0..root.len() {
            root[i] = find(root, i);
        }
    }

    /// Gives the rows of a unit their places.
    fn place(&mut self, p: &ConeProblem, held: &Held, row: usize, rows: usize) -> bool {
        let mut unit = Unit { row, rows, at: [(NONE, 0); 2], ends: 0 };
        for r in row..row + rows {
            for (solid, _) in p.rows.ends(r).iter().filter(|(s, _)| held.masses.moves(*s)) {
                let part = self.part(self.root[*solid]);
                if unit.at[..unit.ends].iter().any(|(known, _)| *known == part) {
                    continue;
                }
                if unit.ends == 2 {
                    return false;
                }
                unit.at[unit.ends] = (part, self.parts[part as usize].rows.len() as u32);
                unit.ends += 1;
                self.parts[part as usize].rows.extend((row..row + rows).map(|r| r as u32));
            }
        }
        self.units.push(unit);
        true
    }

    fn part(&mut self, root: u32) -> u32 {
        let at = &mut self.part_of[root as usize];
        if *at == NONE {
            *at = self.used as u32;
            if self.parts.len() == self.used {
                self.parts.push(Part::default());
            }
            let new = &mut self.parts[self.used];
            new.root = root;
            new.rows.clear();
            new.below.clear();
            self.used += 1;
        }
        *at
    }

    /// The matrices.
    pub fn form(&mut self, p: &ConeProblem, held: &Held) {
        for part in &mut self.parts[..self.used] {
            self.scratch.gather(part, p, held, &self.root);
            pulp::Arch::new().dispatch(Form { part, held, s: &mut self.scratch });
        }
    }

    /// `W` of two rows of a unit.
    pub fn entry(&self, unit: usize, i: usize, j: usize) -> f64 {
        let u = &self.units[unit];
        u.at[..u.ends]
            .iter()
            .map(|(k, at)| self.parts[*k as usize].entry(*at as usize + i, *at as usize + j))
            .sum()
    }

    /// What the forces move, from nothing.
    pub fn start(&mut self, force: impl Fn(usize) -> f64) {
        for part in &mut self.parts[..self.used] {
            let n = part.rows.len();
            part.y.clear();
            part.y.resize(n, 0.0);
            for (k, r) in part.rows.iter().enumerate() {
                let f = force(*r as usize);
                if f == 0.0 {
                    continue;
                }
                part.y.iter_mut().zip(&part.w[k * n..(k + 1) * n]).for_each(|(y, w)| *y += w * f);
            }
        }
    }

    /// What the forces move of a row.
    #[cfg(test)]
    pub fn moved(&self, r: usize) -> f64 {
        let Some(u) = self.units.iter().find(|u| (u.row..u.row + u.rows).contains(&r)) else { return 0.0 };
        u.at[..u.ends].iter().map(|(k, at)| self.parts[*k as usize].y[*at as usize + r - u.row]).sum()
    }

    /// One sweep over all rows, forwards or backwards. The largest change, in the units of the rows.
    pub fn sweep(&mut self, laws: &Laws, force: &mut [f64], forwards: bool) -> f64 {
        pulp::Arch::new().dispatch(Sweep { parts: self, laws, force, forwards })
    }
}

fn find(root: &mut [u32], solid: usize) -> u32 {
    let mut i = solid;
    while root[i] as usize != i {
        root[i] = root[root[i] as usize];
        i = root[i] as usize;
    }
    i as u32
}

/// What is to be met.
pub(super) struct Laws<'a> {
    pub p: &'a ConeProblem<'a>,
    pub curves: &'a [Curve],
    pub blocks: &'a [Block],
    /// Per row: what it would move if nothing held its solids.
    pub bound: &'a [f64],
}

impl Part {
    /// Operations to make its matrix.
    fn cost(&self) -> f64 {
        let (joints, rows) = (self.below.len() as f64, self.rows.len() as f64);
        joints * joints * (joints / 3.0 + rows) + joints * rows * rows
    }

    fn entry(&self, i: usize, j: usize) -> f64 {
        self.w[i * self.rows.len() + j]
    }
}

impl Scratch {
    /// The ends of all rows in this linkage: of its joints all of them, of the problem those that are its own.
    fn gather(&mut self, part: &Part, p: &ConeProblem, held: &Held, root: &[u32]) {
        let end = |solid: usize, half: HalfRow| {
            let moves = held.masses.moves(solid);
            let moved = if moves { held.masses.accelerate(solid, &half) } else { [0.0; 6] };
            End { solid: if moves { solid } else { usize::MAX }, half, moved }
        };
        self.ends.clear();
        self.ends.extend(part.below.iter().map(|r| {
            let (halves, solids) = (held.rows.row(*r as usize), held.rows.solids(*r as usize));
            [end(solids[0], halves[0]), end(solids[1], halves[1])]
        }));
        self.touched.clear();
        for (k, r) in part.rows.iter().enumerate() {
            let own = p.rows.ends(*r as usize).iter().filter(|(s, _)| root[*s] == part.root);
            self.touched.extend(own.map(|(s, j)| (k, end(*s, *j))).filter(|(_, e)| e.solid != usize::MAX));
        }
    }
}

/// Makes the matrix of a part, in the widest registers.
struct Form<'a> {
    part: &'a mut Part,
    held: &'a Held<'a>,
    s: &'a mut Scratch,
}

impl pulp::WithSimd for Form<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { part, held, s } = self;
        factor(part, held, s);
        meet(part, s);
        let (n, joints) = (part.rows.len(), s.ends.len());
        part.w.clear();
        part.w.resize(n * n, 0.0);
        for (a, (i, one)) in s.touched.iter().enumerate() {
            for (j, two) in s.touched[a..].iter().filter(|(_, two)| two.solid == one.solid) {
                part.w[i * n + j] += dot6(&one.half, &two.moved);
            }
        }
        for k in 0..joints {
            let (row, d) = (&s.y[k * n..(k + 1) * n], s.inverse[k]);
            for i in 0..n {
                let f = d * row[i];
                if f != 0.0 {
                    part.w[i * n + i..(i + 1) * n].iter_mut().zip(&row[i..]).for_each(|(w, y)| *w -= f * y);
                }
            }
        }
        for i in 0..n {
            for j in 0..i {
                part.w[i * n + j] = part.w[j * n + i];
            }
        }
    }
}

/// `L D L^T = G M^-1 G^T` and its give, within the envelope.
#[inline(always)]
fn factor(part: &Part, held: &Held, s: &mut Scratch) {
    let n = s.ends.len();
    s.l.clear();
    s.l.resize(n * n, 0.0);
    s.first.clear();
    s.inverse.clear();
    for i in 0..n {
        let mut first = i;
        for j in 0..=i {
            let mut sum = 0.0;
            for a in s.ends[i].iter().filter(|a| a.solid != usize::MAX) {
                for b in s.ends[j].iter().filter(|b| b.solid == a.solid) {
                    sum += dot6(&a.half, &b.moved);
                }
            }
            s.l[i * n + j] = sum;
            if sum != 0.0 {
                first = first.min(j);
            }
        }
        let own = s.l[i * n + i] + held.softness.get(part.below[i] as usize).copied().unwrap_or(0.0);
        let mut left = own;
        let (above, row) = s.l.split_at_mut(i * n);
        for j in first..i {
            let from = first.max(s.first[j]);
            let other = &above[j * n..(j + 1) * n];
            row[j] -= if from < j { dot(&row[from..j], &other[from..j]) } else { 0.0 };
        }
        for j in first..i {
            let whole = row[j];
            row[j] *= s.inverse[j];
            left -= whole * row[j];
        }
        s.first.push(first);
        s.inverse.push(if left > DEPENDENT * own { 1.0 / left } else { 0.0 });
    }
}

/// `Y = L^-1 G M^-1 J^T`.
#[inline(always)]
fn meet(part: &Part, s: &mut Scratch) {
    let (n, joints) = (part.rows.len(), s.ends.len());
    s.y.clear();
    s.y.resize(joints * n, 0.0);
    for (k, ends) in s.ends.iter().enumerate() {
        for (r, touched) in &s.touched {
            for end in ends.iter().filter(|e| e.solid == touched.solid) {
                s.y[k * n + r] += dot6(&end.moved, &touched.half);
            }
        }
    }
    for i in 0..joints {
        let (above, row) = s.y.split_at_mut(i * n);
        for k in s.first[i]..i {
            let l = s.l[i * joints + k];
            if l != 0.0 {
                row[..n].iter_mut().zip(&above[k * n..(k + 1) * n]).for_each(|(y, x)| *y -= l * x);
            }
        }
    }
}

/// Eight sums side by side: the same bits whatever the registers.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (x, y) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = x.remainder().iter().zip(y.remainder()).map(|(a, b)| a * b).sum();
    for (x, y) in x.zip(y) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// A sweep, in the widest registers.
struct Sweep<'a> {
    parts: &'a mut Parts,
    laws: &'a Laws<'a>,
    force: &'a mut [f64],
    forwards: bool,
}

impl pulp::WithSimd for Sweep<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> f64 {
        let Self { parts, laws, force, forwards } = self;
        let n = parts.units.len();
        let mut worst = 0.0_f64;
        for k in 0..n {
            let k = if forwards { k } else { n - 1 - k };
            worst = worst.max(relax(&mut parts.parts, &parts.units[k], k, laws, force));
        }
        worst
    }
}

/// Brings one unit to its law.
#[inline(always)]
fn relax(parts: &mut [Part], u: &Unit, k: usize, laws: &Laws, force: &mut [f64]) -> f64 {
    let (p, r) = (laws.p, u.row);
    let mut y = [0.0; 3];
    for i in 0..u.rows {
        for (part, at) in &u.at[..u.ends] {
            y[i] += parts[*part as usize].y[*at as usize + i];
        }
        y[i] += p.asks[r + i].give * force[r + i];
    }
    let mut step = [0.0; 3];
    let worst = if u.rows == 1 {
        let own: f64 =
            u.at[..u.ends].iter().map(|(k, at)| parts[*k as usize].entry(*at as usize, *at as usize)).sum();
        let d = own + p.asks[r].give;
        if !(d > STUCK * laws.bound[r]) {
            return 0.0;
        }
        step[0] = laws.curves[r].nearest(force[r] - y[0] / d, d) - force[r];
        step[0].abs() * d
    } else {
        let block = &laws.blocks[k - p.scalars];
        let low = [p.asks[r].low, p.asks[r + 1].low, p.asks[r + 2].low];
        let had = [force[r], force[r + 1], force[r + 2]];
        let next = block.nearer(&y, &low, &had);
        step = std::array::from_fn(|i| next[i] - had[i]);
        (0..3).fold(0.0, |most: f64, i| most.max(step[i].abs() * block.own(i)))
    };
    if step == [0.0; 3] {
        return worst;
    }
    for i in 0..u.rows {
        force[r + i] += step[i];
    }
    for (part, at) in &u.at[..u.ends] {
        let part = &mut parts[*part as usize];
        let (n, at) = (part.rows.len(), *at as usize);
        if u.rows == 1 {
            part.y.iter_mut().zip(&part.w[at * n..(at + 1) * n]).for_each(|(y, w)| *y += w * step[0]);
        } else {
            let (a, rest) = part.w[at * n..(at + 3) * n].split_at(n);
            let (b, c) = rest.split_at(n);
            for (((y, a), b), c) in part.y.iter_mut().zip(a).zip(b).zip(c) {
                *y += a * step[0] + b * step[1] + c * step[2];
            }
        }
    }
    worst
}
