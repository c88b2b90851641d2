//! Anderson's acceleration of a fixed-point iteration: the combination of the last few corrections that leaves least.

use crate::math::Vector;

/// How many corrections are remembered.
const DEPTH: usize = 5;

#[derive(Default)]
pub(super) struct Mix {
    /// Differences of places and of corrections, oldest first.
    places: Vec<Vec<Vector>>,
    corrections: Vec<Vec<f64>>,
    /// The last place and its correction.
    last: Vec<Vector>,
    correction: Vec<f64>,
    used: usize,
    begun: bool,
}

impl Mix {
    /// Forgets all corrections: the iteration is another one.
    pub fn restart(&mut self) {
        (self.used, self.begun) = (0, false);
    }

    /// Moves the places by the correction, made better by what the last ones did.
    pub fn step(&mut self, x: &mut [Vector], f: &[f64], masses: &[f64]) {
        self.remember(x, f);
        let n = self.used;
        let mut gram = [[0.0; DEPTH + 1]; DEPTH];
        for i in 0..n {
            for j in 0..=i {
                gram[i][j] = dot(&self.corrections[i], &self.corrections[j], masses);
            }
            gram[i][DEPTH] = dot(&self.corrections[i], f, masses);
        }
        let weights = solve(&mut gram, n);
        for (k, (x, f)) in x.iter_mut().zip(f.chunks_exact(3)).enumerate() {
            *x += Vector::new(f[0], f[1], f[2]);
            for (i, w) in weights.iter().enumerate().take(n) {
                let df = &self.corrections[i][3 * k..3 * k + 3];
                *x -= (self.places[i][k] + Vector::new(df[0], df[1], df[2])) * *w;
            }
        }
    }

    fn remember(&mut self, x: &[Vector], f: &[f64]) {
        if self.places.len() != DEPTH || self.last.len() != x.len() {
            self.places = vec![vec![Vector::ZERO; x.len()]; DEPTH];
            self.corrections = vec![vec![0.0; f.len()]; DEPTH];
        }
        if self.begun {
            if self.used == DEPTH {
                self.places.rotate_left(1);
                self.corrections.rotate_left(1);
                self.used -= 1;
            }
            let (p, c) = (&mut self.places[self.used], &mut self.corrections[self.used]);
            for (to, (now, was)) in p.iter_mut().zip(x.iter().zip(&self.last)) {
                *to = *now - *was;
            }
            for (to, (now, was)) in c.iter_mut().zip(f.iter().zip(&self.correction)) {
                *to = now - was;
            }
            self.used += 1;
        }
        self.begun = true;
        self.last.clear();
        self.last.extend_from_slice(x);
        self.correction.clear();
        self.correction.extend_from_slice(f);
    }
}

fn dot(a: &[f64], b: &[f64], masses: &[f64]) -> f64 {
    let each = a.chunks_exact(3).zip(b.chunks_exact(3)).zip(masses);
    each.map(|((a, b), m)| m * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])).sum()
}

/// Normal equations of a few unknowns by Cholesky; directions that depend on others get no weight.
fn solve(g: &mut [[f64; DEPTH + 1]; DEPTH], n: usize) -> [f64; DEPTH] {
    let mut x = [0.0; DEPTH];
    let mut on = [false; DEPTH];
    for i in 0..n {
        let own = g[i][i];
        for j in 0..=i {
            let mut sum = g[i][j];
            for k in (0..j).filter(|k| on[*k]) {
                sum -= g[i][k] * g[j][k];
            }
            if j < i {
                g[i][j] = if on[j] { sum / g[j][j] } else { 0.0 };
            } else {
                on[i] = sum > 1e-12 * own;
                g[i][i] = sum.max(0.0).sqrt();
            }
        }
        let mut sum = g[i][DEPTH];
        for k in (0..i).filter(|k| on[*k]) {
            sum -= g[i][k] * g[k][DEPTH];
        }
        g[i][DEPTH] = if on[i] { sum / g[i][i] } else { 0.0 };
    }
    for i in (0..n).rev().filter(|i| on[*i]) {
        let mut sum = g[i][DEPTH];
        for k in (i + 1..n).filter(|k| on[*k]) {
            sum -= g[k][i] * x[k];
        }
        x[i] = sum / g[i][i];
    }
    x
}
