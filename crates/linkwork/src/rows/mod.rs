//! Constraints as scalar rows: the only thing methods and solvers see.
//!
//! A row says how fast one scalar changes when the two solids of a joint move (`J`), and the interval in which that
//! change must end up (`low..=high`): both ends equal for an equality, one end infinite for a one-sided bound. With
//! `dq` a displacement of all solids (translation of the centre of mass, rotation vector, world axes) the linearised
//! constraint of Faure 1998 Eq. 10 reads `low <= J dq <= high`.
//!
//! Sign: `b = +gap` for `v_ij = v_i - v_j` in the paper's terms (see the erratum on `b_k`): here a row's value `v`
//! grows with `J dq`, and the row asks for `J dq = target - v`.

mod angular;
mod ask;
mod ball;
mod fill;
mod key;
mod layout;
mod linear;
mod masses;
mod motion;
#[cfg(test)]
pub(crate) mod tests;

pub use ask::{Ask, Push};
pub(crate) use ask::{NOTHING, Seen, Stage, ask, midpoint_give};
pub(crate) use ball::is_ball;
pub(crate) use fill::{Ends, count as row_count, frame_twist};
pub use key::{RowKey, Source};
pub use masses::Masses;

use crate::joint::{JointId, Rank};
use crate::math::{Matrix, Vector};
use crate::nodes::Places;
use crate::state::State;

/// What a row's value is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Metres.
    Length,
    /// Radians.
    Angle,
}

/// The rows of one joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// Whose rows.
    pub joint: JointId,
    /// Indices of the two solids.
    pub solids: [usize; 2],
    /// Which of them turn: rows have three columns for a particle, six for anything else.
    pub turns: [bool; 2],
    /// First row.
    pub first: usize,
    /// Number of rows.
    pub count: usize,
    /// Priority, decided by the user or the graph.
    pub rank: Rank,
    /// Visual weight.
    pub weight: f64,
    /// Softness.
    pub compliance: f64,
    /// What made the rows.
    pub source: Source,
    /// What the rows are made of, and where their numbers stand.
    pub kind: Kind,
    /// What the rows ask of a motion in time.
    pub law: Law,
    /// Largest force or torque along a row, in either direction.
    pub most_force: f64,
}

/// What the rows of a block are made of. Each kind has its operators in one file; all of them can be read row by row
/// through [`Rows::row`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A ball joint: two arms (`ball.rs`).
    Ball {
        /// Place among the ball joints.
        index: u32,
    },
    /// Rows written out in full, with the columns that their solids have.
    General {
        /// First column, in threes.
        at: u32,
        /// Place among the blocks that know where forces act; `u32::MAX` between particles, where that turns nothing.
        block: u32,
    },
}

/// A force and a torque about the centre of mass, or an impulse and an angular impulse.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wrench {
    pub linear: Vector,
    pub angular: Vector,
}

/// What rows ask of a motion in time. Assembly knows [`Law::Hold`] only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// The value stays where the row says.
    Hold,
    /// A spring and a damper along the row, stable at any stiffness.
    Soft {
        /// Force per length (torque per radian).
        stiffness: f64,
        /// Force per speed.
        damping: f64,
    },
    /// The value changes at this rate.
    Rate(f64),
}

impl Group {
    /// Met exactly, whatever happens to the others. A soft constraint is secondary by nature.
    pub fn is_primary(&self) -> bool {
        self.rank == Rank::Primary && self.compliance == 0.0
    }
    /// Columns of one of its rows, in threes.
    fn stride(&self) -> usize {
        2 + self.turns[0] as usize + self.turns[1] as usize
    }
    /// Where the columns of row `k` for a side begin among those of the block, in threes.
    fn column(&self, k: usize, side: usize) -> usize {
        k * self.stride() + if side == 0 { 0 } else { 1 + self.turns[0] as usize }
    }
    /// Its rows.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }
}

/// Half a row: how the value answers to a translation and a rotation of one solid.
pub type HalfRow = [f64; 6];

/// Rows of some joints, motors and springs of a mechanism, in blocks. Scratch: filled anew whenever poses change, never
/// saved.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The blocks: joints in joint order, then motors, then springs.
    pub groups: Vec<Group>,
    /// Per block: its identity.
    pub keys: Vec<RowKey>,
    /// Per row: its block.
    group_at: Vec<u32>,
    /// Per ball joint: from the centres of mass to the second anchor.
    arms: Vec<[Vector; 2]>,
    /// Rows that are written out, one after the other: answer to the first and to the second solid, each to a translation
    /// and, unless it is a particle, to a rotation.
    general: Vec<[f64; 3]>,
    /// Per block of such rows with something that turns: where forces act on the two solids, world.
    points: Vec<[Vector; 2]>,
    /// Per row: least allowed `J dq`.
    pub low: Vec<f64>,
    /// Per row: largest allowed `J dq`.
    pub high: Vec<f64>,
    /// Per row.
    pub unit: Vec<Unit>,
    /// Counted angles as measured by the last fill.
    pub angles: Vec<CountedAngle>,
    /// Per row, what solvers add to the diagonal of `A`: the give of soft rows over one step. Empty: all rows are rigid.
    pub softness: Vec<f64>,
    /// What stays the same between two fillings with motion.
    layout: layout::Layout,
    /// Distances are kept as `|d|^2 - L^2` instead of `|d| - L`: an experiment of Hong 2005. Stays through fills.
    pub squared: bool,
    /// The rows that are squared, with their length.
    squares: Vec<(usize, f64)>,
    /// The bounds that throw back what meets them, with their restitution.
    pub(crate) bounces: Vec<(usize, f64)>,
}

/// An angle with its whole turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedAngle {
    /// Place in [`crate::State::angles`].
    pub slot: usize,
    /// Radians, unwrapped next to the state's value.
    pub value: f64,
    /// More than one turn is meaningful (screws, ranges wider than a turn). Others are told apart by their range
    /// alone, so that searching for a pose never winds them up.
    pub winds: bool,
}

/// The largest gaps of a set of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gaps {
    /// Largest distance over the joints, metres.
    pub position: f64,
    /// Largest angle over the joints, radians.
    pub angle: f64,
}

impl Gaps {
    /// The larger of the two, in the units of the tolerance.
    pub fn worst(self) -> f64 {
        // Not f64::max: a NaN gap must never look like a small one.
        if self.position >= self.angle || self.position.is_nan() { self.position } else { self.angle }
    }
    /// Componentwise larger.
    pub fn max(self, other: Gaps) -> Gaps {
        // A NaN on either side stays.
        let larger = |a: f64, b: f64| if a >= b || a.is_nan() { a } else { b };
        Gaps { position: larger(self.position, other.position), angle: larger(self.angle, other.angle) }
    }
}

impl Rows {
    /// Number of scalar rows.
    pub fn len(&self) -> usize {
        self.low.len()
    }
    /// No rows.
    pub fn is_empty(&self) -> bool {
        self.low.is_empty()
    }
    /// Both ends coincide.
    pub fn is_equality(&self, row: usize) -> bool {
        self.low[row] == self.high[row]
    }
    /// The change the row asks for now: nonzero only outside of its interval.
    pub fn wanted(&self, row: usize) -> f64 {
        let (low, high) = (self.low[row], self.high[row]);
        if low > 0.0 {
            low
        } else if high < 0.0 {
            high
        } else if low <= 0.0 && high >= 0.0 {
            0.0
        } else {
            // An end that is not a number is no end that is met.
            f64::NAN
        }
    }

    /// What [`Rows::wanted`] is in metres or radians: the same, but for squared distances.
    pub fn gap(&self, row: usize) -> f64 {
        let wanted = self.wanted(row);
        if self.squares.is_empty() || wanted.is_nan() {
            return wanted;
        }
        match self.squares.binary_search_by_key(&row, |(r, _)| *r) {
            // wanted = L^2 - |d|^2
            Ok(k) => self.squares[k].1 - (self.squares[k].1.powi(2) - wanted).max(0.0).sqrt(),
            Err(_) => wanted,
        }
    }

    /// Distance and angle by which one joint's rows are violated.
    pub fn group_gaps(&self, group: &Group) -> Gaps {
        let (mut length, mut angle) = (0.0, 0.0);
        for r in group.range() {
            let g = self.gap(r);
            match self.unit[r] {
                Unit::Length => length += g * g,
                Unit::Angle => angle += g * g,
            }
        }
        Gaps { position: f64::sqrt(length), angle: f64::sqrt(angle) }
    }

    /// The largest gaps over all joints.
    pub fn gaps(&self) -> Gaps {
        let mut worst = Gaps::default();
        for g in &self.groups {
            let gap = self.group_gaps(g);
            if gap.position.is_nan() || gap.angle.is_nan() {
                return Gaps { position: f64::NAN, angle: f64::NAN };
            }
            worst = worst.max(gap);
        }
        worst
    }

    /// Sum of squares of all violations: the merit that assembly lowers.
    pub fn merit(&self) -> f64 {
        (0..self.len()).map(|r| self.wanted(r).powi(2)).sum()
    }

    /// Answer of one row to its first and second solid.
    pub fn row(&self, row: usize) -> [HalfRow; 2] {
        let g = &self.groups[self.group_at[row] as usize];
        [self.half_row(g, row - g.first, 0), self.half_row(g, row - g.first, 1)]
    }

    /// Half of row `k` of a block.
    #[inline(always)]
    pub fn half_row(&self, g: &Group, k: usize, side: usize) -> HalfRow {
        match g.kind {
            Kind::Ball { index } => ball::half_row(&self.arms[index as usize], k, side, g.turns[side]),
            Kind::General { at, .. } => {
                let at = at as usize + g.column(k, side);
                let [x, y, z] = self.general[at];
                let [a, b, c] = if g.turns[side] { self.general[at + 1] } else { [0.0; 3] };
                [x, y, z, a, b, c]
            }
        }
    }

    /// Arms of the ball joint whose first row this is; `None` for anything else.
    #[inline(always)]
    pub(crate) fn arms(&self, first: usize) -> Option<&[Vector; 2]> {
        match self.groups[self.group_at[first] as usize].kind {
            Kind::Ball { index } => Some(&self.arms[index as usize]),
            Kind::General { .. } => None,
        }
    }

    /// Half of a row that stands `k` behind `first`, the first of its block.
    #[inline(always)]
    pub(crate) fn half_behind(&self, first: usize, k: usize, side: usize) -> HalfRow {
        self.half_row(&self.groups[self.group_at[first] as usize], k, side)
    }

    /// Blocks that are anything but a plain ball joint: whatever is soft, driven, limited or one-sided is among them.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Group> {
        self.layout.others.iter().map(|k| &self.groups[*k as usize])
    }

    /// As [`others`](Self::others), with their places.
    pub(crate) fn others_at(&self) -> impl Iterator<Item = (usize, &Group)> {
        self.layout.others.iter().map(|k| (*k as usize, &self.groups[*k as usize]))
    }

    /// The two solids of a row.
    pub fn solids(&self, row: usize) -> [usize; 2] {
        self.groups[self.group_at[row] as usize].solids
    }

    /// `J x` of one row, for motions of its two solids.
    pub(crate) fn along(&self, row: usize, x: [&HalfRow; 2]) -> f64 {
        let [a, b] = self.row(row);
        dot6(&a, x[0]) + dot6(&b, x[1])
    }

    /// `J v` of one row.
    pub(crate) fn speed(&self, row: usize, s: &State) -> f64 {
        let g = &self.groups[self.group_at[row] as usize];
        (0..2).map(|side| self.side_speed(g, row - g.first, side, s)).sum()
    }

    /// What one solid adds to the speed of row `k` of a block.
    pub(crate) fn side_speed(&self, g: &Group, k: usize, side: usize, s: &State) -> f64 {
        let i = g.solids[side];
        if g.turns[side] {
            return dot6(&self.half_row(g, k, side), &twist(s, i));
        }
        let [x, y, z, ..] = self.half_row(g, k, side);
        let v = s.velocities[i];
        x * v.x + y * v.y + z * v.z
    }

    /// `out[row] = J dq`.
    pub fn apply(&self, dq: &[[f64; 6]], out: &mut [f64]) {
        for g in &self.groups {
            let [a, b] = g.solids;
            for k in 0..g.count {
                out[g.first + k] =
                    dot6(&self.half_row(g, k, 0), &dq[a]) + dot6(&self.half_row(g, k, 1), &dq[b]);
            }
        }
    }

    /// `dq += M^-1 J^T lambda`.
    pub fn apply_transposed(&self, lambda: &[f64], masses: &Masses, dq: &mut [[f64; 6]]) {
        for g in &self.groups {
            for side in 0..2 {
                let solid = g.solids[side];
                if !masses.moves(solid) {
                    continue;
                }
                let w = self.pull(g, side, lambda);
                let force = half(w.linear, w.angular);
                let moved = masses.accelerate(solid, &force);
                for (q, m) in dq[solid].iter_mut().zip(&moved) {
                    *q += m;
                }
            }
        }
    }

    /// `J^T lambda` per solid.
    pub(crate) fn collect(&self, lambda: &[f64], out: &mut [Wrench]) {
        out.fill(Wrench::default());
        ball::collect(self, lambda, out);
        for g in self.others() {
            for side in 0..2 {
                let w = self.pull(g, side, lambda);
                out[g.solids[side]].linear += w.linear;
                if g.turns[side] {
                    out[g.solids[side]].angular += w.angular;
                }
            }
        }
    }

    /// `J^T lambda` of one block on one of its solids.
    pub(crate) fn pull(&self, g: &Group, side: usize, lambda: &[f64]) -> Wrench {
        let mut sum = [0.0; 6];
        for k in 0..g.count {
            let j = self.half_row(g, k, side);
            let l = lambda[g.first + k];
            for (s, j) in sum.iter_mut().zip(&j) {
                *s += j * l;
            }
        }
        Wrench { linear: Vector::new(sum[0], sum[1], sum[2]), angular: Vector::new(sum[3], sum[4], sum[5]) }
    }

    /// `out[row] = J v`.
    pub(crate) fn speeds(&self, s: &State, out: &mut Vec<f64>) {
        out.resize(self.len(), 0.0);
        ball::speeds(self, s, out);
        for g in self.others() {
            for k in 0..g.count {
                out[g.first + k] = self.side_speed(g, k, 0, s) + self.side_speed(g, k, 1, s);
            }
        }
    }

    /// The largest gaps of plain ball joints.
    pub(crate) fn ball_gaps(&self) -> Gaps {
        ball::gaps(self)
    }

    /// The stiffness `(F.r) 1 - sym(r F^T)` of all solids that turn under these forces: its upper triangle (see
    /// `step/tension.rs`).
    pub(crate) fn tension(&self, s: &State, forces: &[f64], places: &Places, out: &mut [[f64; 6]]) {
        out.fill([0.0; 6]);
        ball::tension(self, forces, |solid, r, f| add_tension(out, places, solid, r, f));
        for g in self.others() {
            let Kind::General { block, .. } = g.kind else { continue };
            let Some(points) = self.points.get(block as usize) else { continue };
            let f = self.pull(g, 1, forces).linear;
            for (side, f) in [(0, -f), (1, f)] {
                add_tension(out, places, g.solids[side], points[side] - s.centers[g.solids[side]], f);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.groups.clear();
        self.keys.clear();
        self.group_at.clear();
        self.arms.clear();
        self.general.clear();
        self.points.clear();
        self.low.clear();
        self.high.clear();
        self.unit.clear();
        self.angles.clear();
        self.softness.clear();
        self.layout.clear();
        self.squares.clear();
        self.bounces.clear();
    }
}

#[cfg(test)]
impl Rows {
    /// Every row written out with all its columns, none known by its arms, and then changed by a test.
    pub(crate) fn rewrite(&mut self, mut change: impl FnMut(usize, &mut [HalfRow; 2])) {
        let mut all: Vec<[HalfRow; 2]> = (0..self.len()).map(|r| self.row(r)).collect();
        all.iter_mut().enumerate().for_each(|(r, row)| change(r, row));
        self.layout.clear();
        self.arms.clear();
        self.general.clear();
        self.points = vec![[Vector::ZERO; 2]; self.groups.len()];
        for (k, g) in self.groups.iter_mut().enumerate() {
            g.kind = Kind::General { at: self.general.len() as u32, block: k as u32 };
            self.layout.others.push(k as u32);
            for (row, side) in g.range().flat_map(|r| [(r, 0), (r, 1)]) {
                let [x, y, z, a, b, c] = all[row][side];
                self.general.push([x, y, z]);
                self.general.extend(g.turns[side].then_some([a, b, c]));
            }
        }
    }
}

/// Adds what a force at an arm does to the stiffness of a solid that turns.
#[inline(always)]
fn add_tension(out: &mut [[f64; 6]], places: &Places, solid: usize, r: Vector, f: Vector) {
    let Some(at) = places.of(solid) else { return };
    let (x, y, z) = (f.x * r.x, f.y * r.y, f.z * r.z);
    let k = &mut out[at];
    k[0] += y + z;
    k[1] -= 0.5 * (r.x * f.y + f.x * r.y);
    k[2] -= 0.5 * (r.x * f.z + f.x * r.z);
    k[3] += x + z;
    k[4] -= 0.5 * (r.y * f.z + f.y * r.z);
    k[5] += x + y;
}

/// Velocity and spin of a solid.
pub(crate) fn twist(s: &State, i: usize) -> HalfRow {
    half(s.velocities[i], s.spins[i])
}

/// Dot product of two half rows.
pub fn dot6(a: &HalfRow, b: &HalfRow) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]
}

fn half(linear: Vector, angular: Vector) -> HalfRow {
    [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
}

/// A symmetric matrix from its upper triangle.
fn symmetric(k: &[f64; 6]) -> Matrix {
    Matrix::from_cols(
        Vector::new(k[0], k[1], k[2]),
        Vector::new(k[1], k[3], k[4]),
        Vector::new(k[2], k[4], k[5]),
    )
}
