//! Contacts in the space of motions, of free solids and of those that joints hold.
//!
//! Newton's matrix is `M + J^T B J`, `B` the slopes: 6 x 6 blocks with the pattern of who touches whom. A stack, a row of
//! dominoes or an arch costs as much as it has solids, however many redundant corners they touch with; a heap fills the
//! matrix, and is swept instead.
//!
//! Joints are in it as stiff springs ([`STIFF`]). That decides about the direction of a step alone: what forces move is asked
//! of the lower level, in which joints hold to rounding ([`Linkage`]), so that nothing of their stiffness is left in the
//! answer. A linkage costs as much as it has joints, where the matrix of its contacts would be dense.

use super::ConeProblem;
use super::factor::{Factor, invert, times};
use super::proximal::{Slopes, Space};
use crate::rows::{HalfRow, dot6};
use crate::solve::{FreeSolids, Held, Lower};

/// Pattern, factor and masses of the solids that are touched.
#[derive(Default)]
pub(super) struct Bodies {
    /// Per solid: its place among those that take part, or none.
    place: Vec<u32>,
    /// The other way round.
    solids: Vec<usize>,
    /// Who touches whom or is joined with whom, by place.
    pairs: Vec<[u32; 2]>,
    /// Pattern of `factor`.
    known: Vec<[u32; 2]>,
    factor: Factor,
    /// Per place.
    masses: Vec<[f64; 36]>,
    /// Rows below, with their stiffness.
    springs: Vec<(usize, f64)>,
}

const NONE: u32 = u32::MAX;
/// More operations than this for one factorisation are not worth it.
const MOST_COST: usize = 3_000_000;
/// Joints leave nothing cheaper that is exact.
const MOST_HELD: usize = 30_000_000;
/// How much stiffer a joint is than what it moves by itself.
const STIFF: f64 = 1e8;

impl Bodies {
    /// Can the problem be solved this way? Finds the pattern, and the order of elimination if it is a new one.
    pub fn prepare(&mut self, p: &ConeProblem, lower: &dyn Lower) -> bool {
        self.place.clear();
        self.place.resize(lower.solids(), NONE);
        self.pairs.clear();
        self.solids.clear();
        let held = lower.held();
        let most = if held.is_some() { MOST_HELD } else { MOST_COST };
        if let Some(held) = &held {
            for g in held.rows.groups.iter().filter(|g| g.range().any(|r| held.takes_part(r))) {
                let ends = g.solids.map(|s| held.masses.moves(s).then_some(s));
                self.join(ends[0], ends[1]);
            }
        }
        for r in 0..p.rows.len() {
            match p.rows.ends(r) {
                [] => {}
                [(a, _)] => self.join(Some(*a), None),
                [(a, _), (b, _)] => self.join(Some(*a), Some(*b)),
                _ => return false,
            }
        }
        self.pairs.sort_unstable();
        self.pairs.dedup();
        if !(self.factor.len() == self.solids.len() && self.known == self.pairs) {
            self.known.clone_from(&self.pairs);
            self.factor.analyse(self.solids.len(), &self.pairs, most);
        }
        if self.factor.cost() > most {
            return false;
        }
        match held {
            Some(held) => self.weigh_solids(&FreeSolids { masses: held.masses }) && self.stiffen(&held),
            None => self.weigh_solids(lower) && self.keep_masses(),
        }
    }

    /// Operations of a factorisation.
    pub fn cost(&self) -> usize {
        self.factor.cost()
    }

    fn join(&mut self, a: Option<usize>, b: Option<usize>) {
        let places = [a, b].map(|s| {
            s.map(|s| {
                if self.place[s] == NONE {
                    self.place[s] = self.solids.len() as u32;
                    self.solids.push(s);
                }
                self.place[s]
            })
        });
        if let [Some(a), Some(b)] = places
            && a != b
        {
            self.pairs.push([a.min(b), a.max(b)]);
        }
    }

    fn weigh_solids(&mut self, lower: &dyn Lower) -> bool {
        self.masses.clear();
        self.springs.clear();
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

    fn keep_masses(&mut self) -> bool {
        self.factor.start_from(&self.masses);
        self.factor.keep();
        true
    }

    /// Masses and joints.
    fn stiffen(&mut self, held: &Held) -> bool {
        self.factor.start_from(&self.masses);
        for g in &held.rows.groups {
            for r in g.range().filter(|r| held.takes_part(*r)) {
                let (halves, solids) = (held.rows.row(r), held.rows.solids(r));
                let moves = [0, 1].map(|k| held.masses.moves(solids[k]));
                let own: f64 = (0..2)
                    .filter(|k| moves[*k])
                    .map(|k| dot6(&halves[k], &held.masses.accelerate(solids[k], &halves[k])))
                    .sum();
                let give = held.softness.get(r).copied().unwrap_or(0.0);
                if !(own > 0.0) {
                    continue;
                }
                let stiffness = 1.0 / (give + own / STIFF);
                self.springs.push((r, stiffness));
                for a in (0..2).filter(|k| moves[*k]) {
                    let stiff = halves[a].map(|x| stiffness * x);
                    for b in (0..2).filter(|k| moves[*k]) {
                        let places = [a, b].map(|k| self.place[solids[k]] as usize);
                        self.factor.add(places[0], places[1], &outer(&stiff, &halves[b]));
                    }
                }
            }
        }
        self.factor.keep();
        true
    }

    fn at(&self, solid: usize) -> usize {
        6 * self.place[solid] as usize
    }

    /// What the rows have of a motion.
    fn rows(&self, p: &ConeProblem, x: &[f64], y: &mut Vec<f64>) {
        y.clear();
        for r in 0..p.rows.len() {
            let change = p.rows.ends(r).iter().map(|(s, j)| dot6(j, &six(x, self.at(*s)))).sum();
            y.push(change);
        }
    }

    /// Momenta.
    fn weigh(&self, x: &[f64], out: &mut Vec<f64>) {
        out.clear();
        for (k, mass) in self.masses.iter().enumerate() {
            out.extend(times(mass, &six(x, 6 * k)));
        }
    }

    /// Newton's step.
    fn step(&mut self, p: &ConeProblem, slopes: &Slopes, weighed: &[f64], step: &mut Vec<f64>) -> bool {
        let Self { factor, place, .. } = self;
        factor.start_again();
        for (r, slope) in slopes.scalars.iter().enumerate().filter(|(_, s)| **s != 0.0) {
            let ends = p.rows.ends(r);
            for (a, j) in ends {
                let stiff = j.map(|x| slope * x);
                for (b, k) in ends {
                    factor.add(place[*a] as usize, place[*b] as usize, &outer(&stiff, k));
                }
            }
        }
        for (k, slope) in slopes.points.iter().enumerate() {
            if slope.as_flattened().iter().all(|x| *x == 0.0) {
                continue;
            }
            let rows: [&[(usize, HalfRow)]; 3] = std::array::from_fn(|i| p.rows.ends(p.scalars + 3 * k + i));
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

/// Motions of free solids, with the rows.
pub(super) struct Motions<'a> {
    pub bodies: &'a mut Bodies,
    pub p: &'a ConeProblem<'a>,
    /// Per end of each row: what a unit push along it moves; and per row, its first end.
    pub moved: &'a [HalfRow],
    pub first: &'a [usize],
}

/// Six numbers of a place.
fn six(x: &[f64], at: usize) -> [f64; 6] {
    std::array::from_fn(|k| x[at + k])
}

impl Space for Motions<'_> {
    fn is_dear(&self) -> bool {
        false
    }

    fn place(&mut self, force: &[f64], x: &mut Vec<f64>) {
        x.clear();
        x.resize(6 * self.bodies.solids.len(), 0.0);
        for (r, f) in force.iter().enumerate().filter(|(_, f)| **f != 0.0) {
            for ((s, _), moved) in self.p.rows.ends(r).iter().zip(&self.moved[self.first[r]..]) {
                let at = self.bodies.at(*s);
                x[at..at + 6].iter_mut().zip(moved).for_each(|(x, m)| *x += m * f);
            }
        }
    }

    fn rows(&self, x: &[f64], y: &mut Vec<f64>) {
        self.bodies.rows(self.p, x, y);
    }

    fn weigh(&self, x: &[f64], out: &mut Vec<f64>) {
        self.bodies.weigh(x, out);
    }

    fn step(&mut self, slopes: &Slopes, _: &[f64], weighed: &[f64], step: &mut Vec<f64>) -> bool {
        self.bodies.step(self.p, slopes, weighed, step)
    }
}

/// Motions of solids that joints hold.
pub(super) struct Linkage<'a> {
    pub bodies: &'a mut Bodies,
    pub p: &'a ConeProblem<'a>,
    pub lower: &'a mut dyn Lower,
    /// Scratch: a wrench and a motion per solid.
    pub push: &'a mut Vec<[f64; 6]>,
    pub motion: &'a mut Vec<[f64; 6]>,
}

impl Space for Linkage<'_> {
    fn place(&mut self, force: &[f64], x: &mut Vec<f64>) {
        self.push.fill([0.0; 6]);
        for (r, f) in force.iter().enumerate().filter(|(_, f)| **f != 0.0) {
            self.p.rows.add(r, *f, self.push);
        }
        self.lower.respond(self.push, self.motion);
        x.clear();
        x.extend(self.bodies.solids.iter().flat_map(|s| self.motion[*s]));
    }

    fn rows(&self, x: &[f64], y: &mut Vec<f64>) {
        self.bodies.rows(self.p, x, y);
    }

    /// Joints are in the metric as they are in the matrix: a motion that they forbid would not be taken back otherwise.
    fn weigh(&self, x: &[f64], out: &mut Vec<f64>) {
        self.bodies.weigh(x, out);
        let Some(held) = self.lower.held() else { return };
        for (r, stiffness) in &self.bodies.springs {
            let (halves, solids) = (held.rows.row(*r), held.rows.solids(*r));
            let ends = [0, 1].map(|k| held.masses.moves(solids[k]).then(|| self.bodies.at(solids[k])));
            let change: f64 =
                ends.iter().zip(&halves).filter_map(|(at, j)| Some(dot6(j, &six(x, (*at)?)))).sum();
            for (at, j) in ends.iter().zip(&halves) {
                let Some(at) = *at else { continue };
                out[at..at + 6].iter_mut().zip(j).for_each(|(o, j)| *o += stiffness * change * j);
            }
        }
    }

    fn step(&mut self, slopes: &Slopes, _: &[f64], weighed: &[f64], step: &mut Vec<f64>) -> bool {
        self.bodies.step(self.p, slopes, weighed, step)
    }
}

/// `a b^T`.
fn outer(a: &HalfRow, b: &HalfRow) -> [f64; 36] {
    let mut block = [0.0; 36];
    for (to, x) in block.chunks_exact_mut(6).zip(a) {
        to.iter_mut().zip(b).for_each(|(to, y)| *to = x * y);
    }
    block
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
