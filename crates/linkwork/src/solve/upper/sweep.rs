//! Sweeps: projected Gauss-Seidel, for rows whose pushes move their own solids only.
//!
//! Row by row the multiplier moves to where the row is met and stops where its staircase does. No matrix is needed, any
//! sweep may be the last, and convergence is linear: for many rows, contacts above all.

use super::curve::Curve;
use super::{Lower, UpperRows};
use crate::rows::{Ask, HalfRow};
use crate::solve::{Work, larger};

/// A residual that has not fallen by a tenth in so many sweeps is what rows lack that contradict each other.
pub(super) const STAGNATION: usize = 200;

/// Scratch of the sweeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    curves: Vec<Curve>,
    /// Per end: what a unit push along the row moves.
    moved: Vec<HalfRow>,
    /// Per row: where its ends start in `moved`.
    first: Vec<usize>,
    diagonal: Vec<f64>,
}

impl Sweep {
    /// Rows that nothing moves.
    pub fn stuck(&self) -> usize {
        self.diagonal.iter().filter(|d| !(**d > 0.0)).count()
    }

    /// Sweeps until no row wants more than the tolerance. `motion` is scratch. Returns the number of sweeps.
    pub fn solve(
        &mut self,
        lower: &dyn Lower,
        rows: &UpperRows,
        asks: &[Ask],
        force: &mut [f64],
        motion: &mut [[f64; 6]],
        work: &Work,
    ) -> usize {
        self.prepare(lower, rows, asks, force, motion);
        let (mut best, mut since) = (f64::INFINITY, 0);
        for sweep in 1..=work.iterations {
            let mut worst = 0.0;
            for r in 0..force.len() {
                let d = self.diagonal[r];
                if !(d > 0.0) {
                    continue;
                }
                let y = rows.change(r, motion) + asks[r].give * force[r];
                let next = self.curves[r].nearest(force[r] - y / d, d);
                let step = next - force[r];
                worst = larger(worst, step.abs() * d);
                force[r] = next;
                self.move_by(rows, r, step, motion);
            }
            since = if worst < 0.9 * best { 0 } else { since + 1 };
            best = best.min(worst);
            if !(worst > work.tolerance) || since > STAGNATION || work.is_over() {
                return sweep;
            }
        }
        work.iterations
    }

    fn prepare(
        &mut self,
        lower: &dyn Lower,
        rows: &UpperRows,
        asks: &[Ask],
        force: &mut [f64],
        motion: &mut [[f64; 6]],
    ) {
        self.diagonal.clear();
        self.curves.clear();
        self.moved.clear();
        self.first.clear();
        motion.fill([0.0; 6]);
        for r in 0..force.len() {
            let first = self.moved.len();
            self.first.push(first);
            let ends = rows.ends(r);
            self.moved.extend(ends.iter().map(|(s, j)| lower.respond_alone(*s, j).unwrap_or_default()));
            let mut own = asks[r].give;
            for (s, j) in ends {
                for ((other, _), moved) in ends.iter().zip(&self.moved[first..]) {
                    if other == s {
                        own += crate::rows::dot6(j, moved);
                    }
                }
            }
            self.diagonal.push(own);
            let curve = Curve::new(&asks[r], 1.0);
            force[r] =
                if own > 0.0 { force[r].min(curve.most).max(curve.least) } else { super::stall(&curve) };
            self.curves.push(curve);
            self.move_by(rows, r, force[r], motion);
        }
    }

    fn move_by(&self, rows: &UpperRows, r: usize, step: f64, motion: &mut [[f64; 6]]) {
        for ((solid, _), moved) in rows.ends(r).iter().zip(&self.moved[self.first[r]..]) {
            for (x, m) in motion[*solid].iter_mut().zip(moved) {
                *x += m * step;
            }
        }
    }
}
