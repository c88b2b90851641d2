//! Cholesky of a part of a small symmetric matrix, without allocating: what pivoting solves with.

/// The factor of the last part.
#[derive(Clone, Debug, Default)]
pub(super) struct Cholesky {
    l: Vec<f64>,
    x: Vec<f64>,
}

impl Cholesky {
    /// Room for `n` rows.
    pub fn reserve(&mut self, n: usize) {
        self.l.clear();
        self.l.resize(n * (n + 1) / 2, 0.0);
        self.x.clear();
        self.x.resize(n, 0.0);
    }

    /// Solves `(a + eps) x = b` for the rows `part` of the `n x n` matrix; `b` and `x` are full vectors in one.
    pub fn solve(&mut self, a: &[f64], eps: &[f64], n: usize, part: &[usize], x: &mut [f64]) {
        let k = part.len();
        for i in 0..k {
            let (done, this) = self.l.split_at_mut(i * (i + 1) / 2);
            let this = &mut this[..i + 1];
            for j in 0..i {
                let other = &done[j * (j + 1) / 2..][..j + 1];
                let sum = a[part[i] * n + part[j]] - dot(&this[..j], &other[..j]);
                this[j] = sum / other[j];
            }
            let diagonal = a[part[i] * n + part[i]] + eps[part[i]];
            let pivot = diagonal - dot(&this[..i], &this[..i]);
            // The regularisation keeps pivots above rounding; what is not a number stays visible in the answer.
            this[i] = if pivot > 1e-15 * diagonal || pivot.is_nan() {
                pivot.sqrt()
            } else {
                (1e-15 * diagonal).sqrt()
            };
        }
        for i in 0..k {
            let this = &self.l[i * (i + 1) / 2..][..i + 1];
            self.x[i] = (x[part[i]] - dot(&this[..i], &self.x[..i])) / this[i];
        }
        for i in (0..k).rev() {
            let this = &self.l[i * (i + 1) / 2..][..i + 1];
            self.x[i] /= this[i];
            let xi = self.x[i];
            for (x, l) in self.x[..i].iter_mut().zip(&this[..i]) {
                *x -= l * xi;
            }
        }
        for (r, y) in part.iter().zip(&self.x) {
            x[*r] = *y;
        }
    }
}

/// Four sums side by side, so that additions do not wait for each other.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a4, a_rest) = a.as_chunks::<4>();
    let (b4, b_rest) = b.as_chunks::<4>();
    let mut sum = [0.0; 4];
    for (x, y) in a4.iter().zip(b4) {
        for k in 0..4 {
            sum[k] += x[k] * y[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest
}
