//! Block-Jacobi preconditioner: each joint's own diagonal block of `A`, by Cholesky.

use super::Scaled;
use crate::rows::{Group, dot6};

/// One small factor per joint.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockJacobi {
    /// Per joint: first entry in the vectors, number of rows, place of its factor.
    blocks: Vec<(usize, usize, usize)>,
    factors: Vec<f64>,
}

impl BlockJacobi {
    /// Factors the blocks of these groups, one behind the other in the vectors it will be applied to.
    pub fn fill<'a>(&mut self, groups: impl Iterator<Item = &'a Group>, w: &Scaled) {
        self.blocks.clear();
        self.factors.clear();
        let mut first = 0;
        for g in groups {
            let (n, at) = (g.count, self.factors.len());
            self.factors.resize(at + n * n, 0.0);
            let block = &mut self.factors[at..];
            let all = w;
            let w = &w.w[g.range()];
            for i in 0..n {
                for j in 0..=i {
                    block[i * n + j] = dot6(&w[i][0], &w[j][0]) + dot6(&w[i][1], &w[j][1]);
                }
                // Lightly regularised; rows that act on nothing (inactive ones too) get a unit pivot.
                let d = block[i * n + i];
                block[i * n + i] += all.give(g.first + i) + if d == 0.0 { 1.0 } else { 1e-10 * d };
            }
            for j in 0..n {
                for k in 0..j {
                    let f = block[j * n + k];
                    for i in j..n {
                        block[i * n + j] -= block[i * n + k] * f;
                    }
                }
                let d = block[j * n + j].max(f64::MIN_POSITIVE).sqrt();
                (j..n).for_each(|i| block[i * n + j] /= d);
            }
            self.blocks.push((first, n, at));
            first += n;
        }
    }

    /// `out = P v`.
    pub fn apply(&self, v: &[f64], out: &mut [f64]) {
        out.copy_from_slice(v);
        for &(first, n, at) in &self.blocks {
            let (l, x) = (&self.factors[at..at + n * n], &mut out[first..first + n]);
            for i in 0..n {
                for k in 0..i {
                    x[i] -= l[i * n + k] * x[k];
                }
                x[i] /= l[i * n + i];
            }
            for i in (0..n).rev() {
                for k in i + 1..n {
                    x[i] -= l[k * n + i] * x[k];
                }
                x[i] /= l[i * n + i];
            }
        }
    }
}
