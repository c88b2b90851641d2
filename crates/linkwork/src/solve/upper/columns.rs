//! Columns of the response: what the lower level answers to each upper row alone.
//!
//! A column belongs to a row's name and stays good until the lower level or the rows change, so a row that enters costs one
//! more answer, and whatever a set of multipliers moves is a sum of columns. Each column has the same bits whichever rows
//! were asked for with it.

use super::UpperRows;
use crate::rows::HalfRow;
use crate::solve::Lower;

/// The columns that are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// Names with their columns, in order of names.
    names: Vec<(usize, usize)>,
    /// Per column: a motion per solid.
    motions: Vec<[f64; 6]>,
    /// Per column: the numbers inside of the lower level.
    inners: Vec<f64>,
    solids: usize,
    inner: usize,
    /// Per row of the last set: its column.
    at: Vec<usize>,
    /// Rows whose column is asked for.
    missing: Vec<usize>,
    /// What those push.
    pushes: Vec<[f64; 6]>,
}

/// Columns that are asked for together.
const TOGETHER: usize = 8;

impl Columns {
    /// Rows or lower level are others from now on.
    pub fn forget(&mut self) {
        self.names.clear();
        self.motions.clear();
        self.inners.clear();
    }

    /// Makes the columns of these rows known. Tells how many had to be asked for.
    pub fn update(&mut self, lower: &mut dyn Lower, rows: &UpperRows, n: usize) -> usize {
        let (solids, inner) = (lower.solids(), lower.inner().len());
        if (solids, inner) != (self.solids, self.inner) || !rows.named {
            self.forget();
            (self.solids, self.inner) = (solids, inner);
        }
        self.missing.clear();
        for r in 0..n {
            if let Err(place) = self.names.binary_search_by_key(&rows.names[r], |k| k.0) {
                self.names.insert(place, (rows.names[r], self.names.len()));
                self.missing.push(r);
            }
        }
        for some in 0..self.missing.len().div_ceil(TOGETHER) {
            self.ask_for(lower, rows, some);
        }
        self.at.clear();
        for r in 0..n {
            let place = self.names.partition_point(|k| k.0 < rows.names[r]);
            self.at.push(self.names[place].1);
        }
        self.missing.len()
    }

    fn ask_for(&mut self, lower: &mut dyn Lower, rows: &UpperRows, some: usize) {
        let Self { missing, motions, inners, pushes, .. } = self;
        let some = missing.chunks(TOGETHER).nth(some).unwrap_or_default();
        let known = motions.len();
        pushes.clear();
        pushes.resize(some.len() * self.solids, [0.0; 6]);
        for (k, r) in some.iter().enumerate() {
            rows.add(*r, 1.0, &mut pushes[k * self.solids..(k + 1) * self.solids]);
        }
        motions.resize(known + pushes.len(), [0.0; 6]);
        let within = inners.len();
        inners.resize(within + some.len() * self.inner, 0.0);
        lower.respond_many(pushes, &mut motions[known..], &mut inners[within..]);
    }

    /// What the row moves.
    pub fn motion(&self, row: usize) -> &[HalfRow] {
        &self.motions[self.at[row] * self.solids..][..self.solids]
    }

    /// What adding columns up costs, in multiplications, for so many rows.
    pub fn cost(&self, rows: usize) -> f64 {
        rows as f64 * (6 * self.solids + self.inner) as f64
    }

    /// What these multipliers of the last set move, and what happens inside.
    pub fn add_up(&self, force: &[f64], motion: &mut [[f64; 6]], inner: &mut [f64]) {
        motion.fill([0.0; 6]);
        inner.fill(0.0);
        for (r, f) in force.iter().enumerate().filter(|(_, f)| **f != 0.0) {
            let own = &self.inners[self.at[r] * self.inner..][..self.inner];
            let (x, own) = (self.motion(r).as_flattened(), own.iter());
            motion.as_flattened_mut().iter_mut().zip(x).for_each(|(sum, x)| *sum += f * x);
            inner.iter_mut().zip(own).for_each(|(sum, x)| *sum += f * x);
        }
    }
}
