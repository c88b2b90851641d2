//! Contacts between free solids in the space of their motions.
//!
//! Newton's matrix is `M + J^T B J`, `B` the slopes: 6 x 6 blocks with the pattern of who touches whom. A stack, a row of
//! dominoes or an arch costs as much as it has solids, however many redundant corners they touch with; a heap fills the
//! matrix, and is swept instead.

use super::ConeProblem;
use super::factor::{Factor, invert, times};
use super::proximal::{Slopes, Space};
use crate::rows::{HalfRow, dot6};
use crate::solve::Lower;

/// Pattern, factor and masses of the solids that are touched.
#[derive(Default)]
pub(super) struct Bodies {
    /// Per solid: its place among those that are touched, or none.
    place: Vec<u32>,
    /// The other way round.
    solids: Vec<usize>,
    /// Who touches whom, by place.
    pairs: Vec<[u32; 2]>,
    /// Pattern of `factor`.
    known: Vec<[u32; 2]>,
    factor: Factor,
    /// Per place.
    masses: Vec<[f64; 36]>,
}

const NONE: u32 = u32::MAX;
/// More operations than this for one factorisation are not worth it.
const MOST_COST: usize = 3_000_000;

impl Bodies {
    /// Can the problem be solved this way? Finds the pattern, and the order of elimination if it is a new one.
    pub fn prepare(&mut self, p: &ConeProblem, lower: &dyn Lower) -> bool {
        if p.scalars > 0 {
            return false;
        }
        self.place.clear();
        self.place.resize(lower.solids(), NONE);
        self.pairs.clear();
        self.solids.clear();
        for k in 0..p.blocks() {
            for (s, _) in p.rows.ends(3 * k) {
                if self.place[*s] == NONE {
                    self.place[*s] = self.solids.len() as u32;
                    self.solids.push(*s);
                }
            }
            if let [(a, _), (b, _)] = p.rows.ends(3 * k) {
                let (a, b) = (self.place[*a], self.place[*b]);
                if a != b {
                    self.pairs.push([a.min(b), a.max(b)]);
                }
            }
        }
        self.pairs.sort_unstable();
        self.pairs.dedup();
        if !(self.factor.len() == self.solids.len() && self.known == self.pairs) {
            self.known.clone_from(&self.pairs);
            self.factor.analyse(self.solids.len(), &self.pairs, MOST_COST);
        }
        self.factor.cost() <= MOST_COST && self.weigh_solids(lower)
    }

    fn weigh_solids(&mut self, lower: &dyn Lower) -> bool {
        self.masses.clear();
        for solid in &self.solids {
            let mut mass = [0.0; 36];
            for k in 0..6 {
                let mut unit = [0.0; 6];
                unit[k] = 1.0;
                let Some(answer) = lower.respond_alone(*solid, &unit) else { return false };
                // What cannot turn is as if nothing could turn it.
                let still = answer.iter().all(|x| *x == 0.0);
                (0..6).for_each(|i| mass[6 * i + k] = answer[i]);
                mass[7 * k] = if still { 1e-30 } else { mass[7 * k] };
            }
            if !invert(&mut mass) {
                return false;
            }
            self.masses.push(mass);
        }
        true
    }
}

/// The space itself, with the rows.
pub(super) struct Motions<'a> {
    pub bodies: &'a mut Bodies,
    pub p: &'a ConeProblem<'a>,
    /// Per end of each row: what a unit push along it moves; and per row, its first end.
    pub moved: &'a [HalfRow],
    pub first: &'a [usize],
}

impl Motions<'_> {
    fn at(&self, solid: usize) -> usize {
        6 * self.bodies.place[solid] as usize
    }
}

/// Six numbers of a place.
fn six(x: &[f64], at: usize) -> [f64; 6] {
    std::array::from_fn(|k| x[at + k])
}

impl Space for Motions<'_> {
    fn place(&self, force: &[f64], x: &mut Vec<f64>) {
        x.clear();
        x.resize(6 * self.bodies.solids.len(), 0.0);
        for (r, f) in force.iter().enumerate().filter(|(_, f)| **f != 0.0) {
            for ((s, _), moved) in self.p.rows.ends(r).iter().zip(&self.moved[self.first[r]..]) {
                let at = self.at(*s);
                x[at..at + 6].iter_mut().zip(moved).for_each(|(x, m)| *x += m * f);
            }
        }
    }

    fn rows(&self, x: &[f64], y: &mut Vec<f64>) {
        y.clear();
        for r in 0..self.first.len() {
            let change = self.p.rows.ends(r).iter().map(|(s, j)| dot6(j, &six(x, self.at(*s)))).sum();
            y.push(change);
        }
    }

    fn weigh(&self, x: &[f64], out: &mut Vec<f64>) {
        out.clear();
        for (k, mass) in self.bodies.masses.iter().enumerate() {
            out.extend(times(mass, &six(x, 6 * k)));
        }
    }

    fn step(&mut self, slopes: &Slopes, _: &[f64], weighed: &[f64], step: &mut Vec<f64>) -> bool {
        let Bodies { factor, masses, place, .. } = &mut *self.bodies;
        factor.start_from(masses);
        for (k, slope) in slopes.points.iter().enumerate() {
            if slope.as_flattened().iter().all(|x| *x == 0.0) {
                continue;
            }
            let rows: [&[(usize, HalfRow)]; 3] = std::array::from_fn(|i| self.p.rows.ends(3 * k + i));
            for (to, (a, _)) in rows[0].iter().enumerate() {
                for (from, (b, _)) in rows[0].iter().enumerate() {
                    let block = product(rows.map(|r| &r[to].1), slope, rows.map(|r| &r[from].1));
                    factor.add(place[*a] as usize, place[*b] as usize, &block);
                }
            }
        }
        step.clear();
        step.extend_from_slice(weighed);
        factor.factor() && {
            factor.solve(step);
            true
        }
    }
}

/// `a^T slope b`.
fn product(a: [&HalfRow; 3], slope: &[[f64; 3]; 3], b: [&HalfRow; 3]) -> [f64; 36] {
    let mut block = [0.0; 36];
    for i in 0..3 {
        let row: HalfRow =
            std::array::from_fn(|c| slope[i][0] * b[0][c] + slope[i][1] * b[1][c] + slope[i][2] * b[2][c]);
        for (to, x) in block.chunks_exact_mut(6).zip(a[i]) {
            to.iter_mut().zip(&row).for_each(|(t, y)| *t += x * y);
        }
    }
    block
}
