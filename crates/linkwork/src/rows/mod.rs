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
mod arms;
mod fill;
mod linear;
mod masses;
mod motion;
mod plan;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use arms::Wrench;
use arms::symmetric;
pub(crate) use fill::count as row_count;
pub use masses::Masses;

use crate::joint::{JointId, Rank};
use crate::math::Vector;

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
    /// What the rows ask of a motion in time.
    pub law: Law,
    /// Largest force or torque along a row, in either direction.
    pub most_force: f64,
    /// Where forces act on the two solids, world.
    pub points: [Vector; 2],
}

/// What made a group of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The joint itself.
    Joint,
    /// A motor of the joint, by its place in [`crate::Joint::drives`].
    Drive(u32),
    /// A spring, by its place in [`crate::Mechanism::springs`]; it belongs to no joint.
    Spring(u32),
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
    /// Its rows.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }
}

/// Half a row: how the value answers to a translation and a rotation of one solid.
pub type HalfRow = [f64; 6];

/// Flat rows of some joints of a mechanism. Scratch: refilled whenever poses change, never saved.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// One per joint that makes rows, in joint order.
    pub groups: Vec<Group>,
    /// Per row: answer to the first and the second solid.
    pub jacobian: Vec<[HalfRow; 2]>,
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
    plan: plan::Plan,
    /// How rigid ball joints are written. Stays through fills; only filling with motion heeds it.
    pub(crate) balls: BallRows,
    /// Where the next row goes while rows are rewritten.
    cursor: Option<usize>,
    /// Distances are kept as `|d|^2 - L^2` instead of `|d| - L`: an experiment of Hong 2005. Stays through fills.
    pub squared: bool,
    /// The rows that are squared, with their length.
    squares: Vec<(usize, f64)>,
}

/// How the rows of rigid ball joints are written (see `arms.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BallRows {
    /// Along the axes of the first frame: the exact derivative of the gap, however wide it is.
    #[default]
    Frame,
    /// Along the axes of the world.
    World,
    /// As `World`, but known by their arms alone: Jacobians and points are not written.
    Arms,
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
        if self.low[row] > 0.0 {
            self.low[row]
        } else if self.high[row] < 0.0 {
            self.high[row]
        } else {
            0.0
        }
    }

    /// What [`Rows::wanted`] is in metres or radians: the same, but for squared distances.
    pub fn gap(&self, row: usize) -> f64 {
        let wanted = self.wanted(row);
        if self.squares.is_empty() {
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

    /// `out[row] = J dq`.
    pub fn apply(&self, dq: &[[f64; 6]], out: &mut [f64]) {
        for g in &self.groups {
            let [a, b] = g.solids;
            for r in g.range() {
                let [ja, jb] = &self.jacobian[r];
                out[r] = dot6(ja, &dq[a]) + dot6(jb, &dq[b]);
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
                let mut force = [0.0; 6];
                for r in g.range() {
                    for (f, j) in force.iter_mut().zip(&self.jacobian[r][side]) {
                        *f += j * lambda[r];
                    }
                }
                let moved = masses.accelerate(solid, &force);
                for (q, m) in dq[solid].iter_mut().zip(&moved) {
                    *q += m;
                }
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.groups.clear();
        self.jacobian.clear();
        self.low.clear();
        self.high.clear();
        self.unit.clear();
        self.angles.clear();
        self.softness.clear();
        self.plan = plan::Plan::default();
        self.squares.clear();
    }

    fn push(&mut self, unit: Unit, jacobian: [HalfRow; 2], low: f64, high: f64) {
        if let Some(r) = self.cursor {
            (self.jacobian[r], self.low[r], self.high[r]) = (jacobian, low, high);
            self.cursor = Some(r + 1);
            return;
        }
        self.jacobian.push(jacobian);
        self.low.push(low);
        self.high.push(high);
        self.unit.push(unit);
    }
}

/// Dot product of two half rows.
pub fn dot6(a: &HalfRow, b: &HalfRow) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]
}

fn half(linear: Vector, angular: Vector) -> HalfRow {
    [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
}
