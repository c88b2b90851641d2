//! Accelerated projected gradient, for many rows over a lower level that answers as a whole.
//!
//! Beck & Teboulle 2009 with a step found by doubling and O'Donoghue & Candes' restart, in multipliers scaled by the
//! diagonal (or a bound of it). One response per iteration: the product of the extrapolated point is a combination of two
//! that are known.

use super::curve::Curve;
use super::sweep::STAGNATION;
use crate::rows::Ask;
use crate::solve::{Work, larger};

/// Scratch: three points with their products.
#[derive(Clone, Debug, Default)]
pub(super) struct Gradient {
    curves: Vec<Curve>,
    root: Vec<f64>,
    /// The last point, the one before, the extrapolated one; and `W` times each.
    x: Vec<f64>,
    wx: Vec<f64>,
    next: Vec<f64>,
    wnext: Vec<f64>,
    z: Vec<f64>,
    wz: Vec<f64>,
    /// Multipliers and changes in the rows' units.
    lambda: Vec<f64>,
    y: Vec<f64>,
    pub iterations: usize,
    pub responses: usize,
}

impl Gradient {
    /// Iterates until every row is within the tolerance of its curve. `respond` gives `y = (W + give) lambda`; rows that
    /// are stuck keep their multiplier.
    pub fn solve(
        &mut self,
        respond: &mut dyn FnMut(&[f64], &mut [f64]),
        asks: &[Ask],
        diagonal: &[f64],
        stuck: &[bool],
        force: &mut [f64],
        work: &Work,
    ) {
        self.prepare(asks, diagonal, stuck, force);
        self.product(respond);
        self.x.copy_from_slice(&self.next);
        self.wx.copy_from_slice(&self.wnext);
        self.z.copy_from_slice(&self.next);
        self.wz.copy_from_slice(&self.wnext);
        let (mut momentum, mut curvature) = (1.0_f64, 1.0);
        let (mut best, mut since) = (f64::INFINITY, 0);
        let mut left = self.residual();
        if left > work.tolerance {
            for _ in 0..work.iterations {
                self.iterations += 1;
                self.advance(respond, &mut curvature);
                left = self.residual();
                momentum = self.extrapolate(momentum);
                since = if left < 0.9 * best { 0 } else { since + 1 };
                best = best.min(left);
                if !(left > work.tolerance) || since > STAGNATION || work.is_over() {
                    break;
                }
            }
        }
        for r in 0..force.len() {
            let (least, most) = asks[r].push.range();
            force[r] = (self.x[r] / self.root[r]).min(most).max(least);
        }
    }

    fn prepare(&mut self, asks: &[Ask], diagonal: &[f64], stuck: &[bool], force: &[f64]) {
        let n = force.len();
        for v in [
            &mut self.x,
            &mut self.wx,
            &mut self.next,
            &mut self.wnext,
            &mut self.z,
            &mut self.wz,
            &mut self.lambda,
            &mut self.y,
        ] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.root.clear();
        self.root.extend(diagonal.iter().map(|d| d.sqrt()));
        self.curves.clear();
        for r in 0..n {
            let mut curve = Curve::new(&asks[r], self.root[r]);
            let guess = force[r] * self.root[r];
            if stuck[r] {
                (curve.least, curve.most) = (guess, guess);
            }
            self.next[r] = guess.min(curve.most).max(curve.least);
            self.curves.push(curve);
        }
        (self.iterations, self.responses) = (0, 0);
    }

    /// `wnext = W next`.
    fn product(&mut self, respond: &mut dyn FnMut(&[f64], &mut [f64])) {
        for ((l, x), root) in self.lambda.iter_mut().zip(&self.next).zip(&self.root) {
            *l = x / root;
        }
        respond(&self.lambda, &mut self.y);
        self.responses += 1;
        for ((w, y), root) in self.wnext.iter_mut().zip(&self.y).zip(&self.root) {
            *w = y / root;
        }
    }

    /// A step from the extrapolated point, with a curvature that is large enough along it.
    fn advance(&mut self, respond: &mut dyn FnMut(&[f64], &mut [f64]), curvature: &mut f64) {
        // A diagonal of at most one bounds the curvature by the number of rows, so doubling ends.
        for _ in 0..64 {
            for r in 0..self.next.len() {
                let at = self.z[r] - self.wz[r] / *curvature;
                self.next[r] = self.curves[r].nearest(at, *curvature);
            }
            self.product(respond);
            let (mut bend, mut length) = (0.0, 0.0);
            for r in 0..self.next.len() {
                let d = self.next[r] - self.z[r];
                bend += d * (self.wnext[r] - self.wz[r]);
                length += d * d;
            }
            if !(bend > *curvature * length * (1.0 + 1e-9)) {
                break;
            }
            *curvature *= 2.0;
        }
    }

    /// Takes the new point over and extrapolates beyond it, unless that would lead uphill. Returns the new momentum.
    fn extrapolate(&mut self, momentum: f64) -> f64 {
        let uphill: f64 =
            (0..self.x.len()).map(|r| (self.z[r] - self.next[r]) * (self.next[r] - self.x[r])).sum();
        let after = if uphill > 0.0 { 1.0 } else { 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt()) };
        let by = if uphill > 0.0 { 0.0 } else { (momentum - 1.0) / after };
        for r in 0..self.x.len() {
            self.z[r] = self.next[r] + by * (self.next[r] - self.x[r]);
            self.wz[r] = self.wnext[r] + by * (self.wnext[r] - self.wx[r]);
        }
        self.x.copy_from_slice(&self.next);
        self.wx.copy_from_slice(&self.wnext);
        after
    }

    /// Largest distance of the last point from its curve, in the rows' units.
    fn residual(&self) -> f64 {
        (0..self.next.len()).fold(0.0, |most, r| {
            larger(most, self.curves[r].residual(self.next[r], self.wnext[r], 1.0) * self.root[r])
        })
    }
}
