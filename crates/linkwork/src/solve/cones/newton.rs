//! Newton's method on the laws of contact (Alart and Curnier 1991), over the formed matrix.
//!
//! With a scale `d` per block, `t = l_n - (y_n - low) / d` and `z = l_t - (y_t - target) / d`, each point is open (`t <= 0`),
//! sticks (`|z| <= mu t`) or slides, and scalar rows stand on one part of their staircase: linear equations for all but the
//! sliding ones, whose direction is differentiated. Rows that depend on each other, four corners of a box, make the matrix
//! singular: a relative regularisation decides, which what they agree on does not notice.

use super::{ConeProblem, Cones};
use crate::solve::{Work, larger};

#[derive(Default)]
pub(super) struct Newton {
    matrix: Vec<f64>,
    right: Vec<f64>,
    /// Unknowns: rows whose multiplier is not simply fixed.
    part: Vec<usize>,
    trial: Vec<f64>,
    start: Vec<f64>,
    fixed: Vec<(usize, f64)>,
}

/// Regularisation, as a part of a row's own response.
const DEPENDENT: f64 = 1e-10;
/// Rounds at most.
const ROUNDS: usize = 16;

impl Newton {
    /// Improves `force`, keeping the best; returns the rounds taken.
    pub fn solve(&mut self, c: &mut Cones, p: &ConeProblem, force: &mut [f64], work: &Work) -> usize {
        c.multiply(p, force);
        let mut best = c.residual(p, force);
        self.start.clear();
        self.start.extend_from_slice(force);
        for round in 1..=ROUNDS {
            if !self.direction(c, p, force) || work.is_over() {
                force.copy_from_slice(&self.start);
                return round;
            }
            let mut share = 1.0;
            let mut taken = false;
            for _ in 0..5 {
                self.trial.clear();
                let goal = |r: usize| force[r] + share * (self.right[r] - force[r]);
                self.trial.extend((0..force.len()).map(goal));
                c.clamp(p, &mut self.trial);
                c.multiply(p, &self.trial);
                let residual = c.residual(p, &self.trial);
                // Steps may rise while the active set is being found.
                if residual < best || (share == 1.0 && round < 9 && residual < 100.0 * best) {
                    force.copy_from_slice(&self.trial);
                    if residual < best {
                        best = residual;
                        self.start.copy_from_slice(force);
                    }
                    taken = true;
                    break;
                }
                share *= 0.4;
            }
            if !taken || !(best > work.tolerance) {
                force.copy_from_slice(&self.start);
                return round;
            }
            c.multiply(p, force);
        }
        force.copy_from_slice(&self.start);
        ROUNDS
    }

    /// Where Newton's method goes from `force`, into `right`. False: no answer.
    fn direction(&mut self, c: &Cones, p: &ConeProblem, force: &[f64]) -> bool {
        let n = force.len();
        self.part.clear();
        self.fixed.clear();
        for r in 0..p.scalars {
            let d = c.w[r * n + r] + p.asks[r].give;
            let curve = &c.curves[r];
            let up = force[r] + (curve.low - c.y[r]) / d;
            let down = force[r] + (curve.high - c.y[r]) / d;
            let stuck = !(d > super::STUCK * c.bound[r]);
            let free = if up > 0.0 || curve.is_equality() { up } else { down };
            if stuck {
                self.fixed.push((r, force[r]));
            } else if !(up > 0.0 || down < 0.0 || curve.is_equality()) {
                self.fixed.push((r, 0.0));
            } else if free > curve.most {
                self.fixed.push((r, curve.most));
            } else if free < curve.least {
                self.fixed.push((r, curve.least));
            } else {
                self.part.push(r);
            }
        }
        for (k, b) in c.blocks.iter().enumerate() {
            let r = p.scalars + 3 * k;
            let t = force[r] - (c.y[r] - p.asks[r].low) / b.d[0][0];
            if b.is_stuck() || !(t > 0.0) {
                self.fixed.extend((r..r + 3).map(|r| (r, 0.0)));
            } else if b.friction() == 0.0 {
                self.part.push(r);
                self.fixed.extend([(r + 1, 0.0), (r + 2, 0.0)]);
            } else {
                self.part.extend(r..r + 3);
            }
        }
        self.fill(c, p, force);
        let size = self.part.len();
        if !eliminate(&mut self.matrix, &mut self.trial, size) {
            return false;
        }
        self.right.clear();
        self.right.resize(n, 0.0);
        for (r, f) in &self.fixed {
            self.right[*r] = *f;
        }
        for (r, x) in self.part.iter().zip(&self.trial) {
            self.right[*r] = *x;
        }
        self.right.iter().all(|x| x.is_finite())
    }

    /// The equations for the new multipliers of `part`: matrix, and right side into `trial`.
    fn fill(&mut self, c: &Cones, p: &ConeProblem, force: &[f64]) {
        let (n, size) = (force.len(), self.part.len());
        self.matrix.clear();
        self.matrix.resize(size * size, 0.0);
        self.trial.clear();
        self.trial.resize(size, 0.0);
        let mut i = 0;
        while i < size {
            let r = self.part[i];
            if r < p.scalars {
                let low = c.curves[r].low;
                let up = force[r] + (low - c.y[r]) / (c.w[r * n + r] + p.asks[r].give);
                let end = if up > 0.0 || c.curves[r].is_equality() { low } else { c.curves[r].high };
                self.hold(c, p, force, i, r, end);
                i += 1;
                continue;
            }
            self.hold(c, p, force, i, r, p.asks[r].low);
            let b = &c.blocks[(r - p.scalars) / 3];
            if b.friction() > 0.0 {
                self.tangents(c, p, force, i, r);
                i += 3;
            } else {
                i += 1;
            }
        }
    }

    /// Row `i`: `y_r = end`, for the new multipliers.
    fn hold(&mut self, c: &Cones, p: &ConeProblem, force: &[f64], i: usize, r: usize, end: f64) {
        let (n, size) = (force.len(), self.part.len());
        let row = &c.w[r * n..(r + 1) * n];
        for (to, s) in self.matrix[i * size..(i + 1) * size].iter_mut().zip(&self.part) {
            *to = row[*s];
        }
        let eps = DEPENDENT * (c.bound[r] + p.asks[r].give).max(row[r]);
        self.matrix[i * size + i] += p.asks[r].give + eps;
        let fixed: f64 = self.fixed.iter().map(|(s, f)| row[*s] * f).sum();
        self.trial[i] = end - fixed + eps * force[r];
    }

    /// The two tangents of a point, `r` being its normal.
    fn tangents(&mut self, c: &Cones, p: &ConeProblem, force: &[f64], i: usize, r: usize) {
        let (n, size) = (force.len(), self.part.len());
        let b = &c.blocks[(r - p.scalars) / 3];
        let (mu, dn) = (b.friction(), b.d[0][0]);
        let dt = 0.5 * (b.d[1][1] + b.d[2][2]);
        let v = [0, 1, 2].map(|k| c.y[r + k] - p.asks[r + k].low);
        let t = force[r] - v[0] / dn;
        let z = [force[r + 1] - v[1] / dt, force[r + 2] - v[2] / dt];
        let length = z[0].hypot(z[1]);
        if length <= mu * t {
            self.hold(c, p, force, i + 1, r + 1, p.asks[r + 1].low);
            self.hold(c, p, force, i + 2, r + 2, p.asks[r + 2].low);
            return;
        }
        let dir = [z[0] / length, z[1] / length];
        let share = mu * t / length;
        // l_k - mu t dir_k - share (1 - dir dir^T) dz - mu dir dt = 0, linearised in the new multipliers.
        for k in 0..2 {
            let at = i + 1 + k;
            let turn: [f64; 2] =
                std::array::from_fn(|j| share * (f64::from(u8::from(j == k)) - dir[k] * dir[j]));
            let coefficient = |s: usize| {
                // What z and t change by per multiplier s.
                let dz: [f64; 2] = std::array::from_fn(|j| {
                    f64::from(u8::from(s == r + 1 + j)) - c.w[(r + 1 + j) * n + s] / dt
                });
                let dtau = f64::from(u8::from(s == r)) - c.w[r * n + s] / dn;
                f64::from(u8::from(s == r + 1 + k)) - turn[0] * dz[0] - turn[1] * dz[1] - mu * dir[k] * dtau
            };
            let value = force[r + 1 + k] - mu * t * dir[k];
            let mut right = -value;
            for (j, s) in self.part.iter().enumerate() {
                let x = coefficient(*s);
                self.matrix[at * size + j] = x * dt;
                right += x * force[*s];
            }
            for (s, f) in &self.fixed {
                right -= coefficient(*s) * (f - force[*s]);
            }
            self.trial[at] = right * dt;
        }
    }
}

/// Gauss with partial pivoting; `b` becomes the answer. False where a pivot is not a number.
fn eliminate(a: &mut [f64], b: &mut [f64], n: usize) -> bool {
    for k in 0..n {
        let best = (k..n).fold(k, |m, i| if a[i * n + k].abs() > a[m * n + k].abs() { i } else { m });
        let pivot = a[best * n + k];
        if !(pivot.abs() > 0.0 && pivot.is_finite()) {
            return false;
        }
        if best != k {
            let (x, y) = a.split_at_mut(best * n);
            x[k * n..(k + 1) * n].swap_with_slice(&mut y[..n]);
            b.swap(k, best);
        }
        let (done, rest) = a.split_at_mut((k + 1) * n);
        let row = &done[k * n + k..(k + 1) * n];
        let bk = b[k];
        for (i, other) in rest.chunks_exact_mut(n).enumerate() {
            let factor = other[k] / pivot;
            if factor != 0.0 {
                for (x, y) in other[k..].iter_mut().zip(row) {
                    *x -= factor * y;
                }
                b[k + 1 + i] -= factor * bk;
            }
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = a[k * n + k + 1..(k + 1) * n].iter().zip(&b[k + 1..]).map(|(a, b)| a * b).sum();
        b[k] = (b[k] - sum) / a[k * n + k];
    }
    b.iter().fold(0.0, |m, x| larger(m, x.abs())).is_finite()
}
