//! The acyclic part in linear time: `L D L^T` of the tree's KKT system after Baraff 1996 (Faure 1999, Eqs. 7-8).
//!
//! In coordinates scaled by the masses (`W = J C`, `C C^T = M^-1`) the system is
//! ```text
//!     | 1    -Wa^T | | x |   | f |
//!     | Wa    mu   | | l | = | b |
//! ```
//! Solids and joints alternate from the leaves to the roots. A solid `c` held by the joint `j` to its parent `p`:
//! ```text
//!     D_c = 1 + sum over child joints k of  W_kp^T K_k^-1 W_kp         (6 x 6, the articulated inertia)
//!     K_j = W_jc D_c^-1 W_jc^T + mu                                    (rows of the joint)
//! ```
//! A row that acts on nothing, or repeats another of its joint, has a vanishing pivot and is left out.

use super::{Problem, Scaled, VANISHES};
use crate::graph::spanning_forest;
use crate::joint::Rank;
use crate::rows::{Group, Masses, Rows};

/// A joint of the tree.
#[derive(Clone, Copy, Debug)]
struct Link {
    first: usize,
    count: usize,
    child: usize,
    /// Side of the child in the group.
    side: usize,
    parent: usize,
    /// The parent can move.
    held: bool,
    /// Places of `K` (count x count) and `G = D_c^-1 W_jc^T` (count rows of 6).
    k: usize,
    g: usize,
}

/// Factor and scratch of the acyclic system. Memory grows with the number of solids and rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Leaves first.
    links: Vec<Link>,
    /// Movable solids that no link holds: roots of floating trees.
    roots: Vec<usize>,
    /// Groups that close loops.
    pub closures: Vec<usize>,
    pattern: Vec<([usize; 2], usize, usize, Rank, bool)>,
    moves: Vec<bool>,
    /// As a share of its row's own diagonal.
    pub least_pivot: f64,
    /// Rows left out.
    pub vanished: usize,
    /// Cholesky factors of `D`, lower triangles in full storage.
    d: Vec<[[f64; 6]; 6]>,
    k: Vec<f64>,
    g: Vec<[f64; 6]>,
    /// Forces on solids, gathered towards the roots.
    f: Vec<[f64; 6]>,
    t: Vec<f64>,
    v: Vec<[f64; 6]>,
}

impl Tree {
    /// Chooses the spanning forest, breadth-first from what cannot move, primary joints first.
    pub fn analyse(&mut self, rows: &Rows, masses: &Masses) {
        // Soft rows never join the tree: what holds there holds exactly.
        let soft = |g: &Group| !rows.softness.is_empty() && g.range().any(|r| rows.softness[r] > 0.0);
        let key = |g: &Group| (g.solids, g.first, g.count, g.rank, soft(g));
        let same = self.pattern.len() == rows.groups.len()
            && self.moves.len() == masses.len()
            && rows.groups.iter().zip(&self.pattern).all(|(g, p)| key(g) == *p)
            && (0..masses.len()).all(|i| self.moves[i] == masses.moves(i));
        if same {
            return;
        }
        *self = Self { pattern: rows.groups.iter().map(key).collect(), ..Self::default() };
        self.moves = (0..masses.len()).map(|i| masses.moves(i)).collect();
        let is_root: Vec<bool> = self.moves.iter().map(|m| !m).collect();
        let edges: Vec<[usize; 2]> = rows.groups.iter().map(|g| g.solids).collect();
        let pass: Vec<u8> = rows
            .groups
            .iter()
            .map(|g| match (self.moves[g.solids[0]] || self.moves[g.solids[1]], g.is_primary()) {
                (false, _) => 3,
                _ if soft(g) => 4,
                (true, true) => 0,
                (true, false) => 1,
            })
            .collect();
        let mut reached = is_root;
        let mut in_tree = vec![false; edges.len()];
        let (mut k, mut g) = (0, 0);
        for group in spanning_forest(masses.len(), &reached.clone(), &edges, &pass) {
            in_tree[group] = true;
            let own = &rows.groups[group];
            // The walk goes away from the roots: the side not reached yet is the child. A floating tree starts at a
            // solid that nothing reached.
            let side = usize::from(
                !reached[own.solids[1]] && reached[own.solids[0]] || {
                    let fresh = !reached[own.solids[0]] && !reached[own.solids[1]];
                    if fresh {
                        let start = own.solids[0].min(own.solids[1]);
                        self.roots.push(start);
                        reached[start] = true;
                    }
                    fresh && own.solids[0] < own.solids[1]
                },
            );
            let (child, parent) = (own.solids[side], own.solids[1 - side]);
            reached[child] = true;
            let held = self.moves[parent];
            self.links.push(Link { first: own.first, count: own.count, child, side, parent, held, k, g });
            k += own.count * own.count;
            g += own.count;
        }
        self.links.reverse();
        self.closures = (0..edges.len()).filter(|e| !in_tree[*e] && pass[*e] != 3).collect();
        self.k.resize(k, 0.0);
        self.g.resize(g, [0.0; 6]);
        self.d.resize(masses.len(), [[0.0; 6]; 6]);
        self.f.resize(masses.len(), [0.0; 6]);
        self.t.resize(rows.len(), 0.0);
        self.v.resize(rows.groups.iter().map(|g| g.count).max().unwrap_or(0), [0.0; 6]);
    }

    /// Eliminates from the leaves to the roots.
    pub fn factor(&mut self, w: &Scaled) {
        (self.least_pivot, self.vanished) = (1.0, 0);
        for d in &mut self.d {
            *d = [[0.0; 6]; 6];
            (0..6).for_each(|i| d[i][i] = 1.0);
        }
        for l in &self.links {
            let n = l.count;
            cholesky6(&mut self.d[l.child]);
            let k = &mut self.k[l.k..l.k + n * n];
            let g = &mut self.g[l.g..l.g + n];
            for (r, g) in g.iter_mut().enumerate() {
                *g = w.w[l.first + r][l.side];
                solve6(&self.d[l.child], g);
            }
            for i in 0..n {
                for j in 0..=i {
                    k[i * n + j] = crate::rows::dot6(&w.w[l.first + i][l.side], &g[j]);
                }
                k[i * n + i] += w.damping * w.diagonal[l.first + i];
            }
            cholesky(k, n, |i| w.diagonal[l.first + i]);
            for i in (0..n).filter(|i| w.active[l.first + i]) {
                let inverse = k[i * n + i];
                if inverse == 0.0 {
                    self.vanished += 1;
                } else {
                    self.least_pivot =
                        self.least_pivot.min(1.0 / (inverse * inverse * w.diagonal[l.first + i]));
                }
            }
            if !l.held {
                continue;
            }
            // D_p += W_p^T K^-1 W_p, through V = L^-1 W_p.
            let d = &mut self.d[l.parent];
            let v = &mut self.v[..n];
            for i in 0..n {
                v[i] = w.w[l.first + i][1 - l.side];
                for j in 0..i {
                    let x = k[i * n + j];
                    for c in 0..6 {
                        v[i][c] -= x * v[j][c];
                    }
                }
                let inverse = k[i * n + i];
                v[i].iter_mut().for_each(|x| *x *= inverse);
            }
            for v in v.iter() {
                for i in 0..6 {
                    for j in 0..=i {
                        d[i][j] += v[i] * v[j];
                    }
                }
            }
        }
        for &r in &self.roots {
            cholesky6(&mut self.d[r]);
        }
    }

    /// Motions `x` and multipliers of the tree's rows under forces `x` (in) with the rows' right sides `b`; `None` for
    /// zero. One walk to the roots, one back.
    pub fn solve(&mut self, w: &Scaled, x: &mut [[f64; 6]], b: Option<&[f64]>, lambda: &mut [f64]) {
        self.f.copy_from_slice(x);
        for l in &self.links {
            let n = l.count;
            // t = K^-1 (b - W_c D_c^-1 f_c); what the parent feels of it.
            let t = &mut self.t[l.first..l.first + n];
            for i in 0..n {
                let b = b.map_or(0.0, |b| b[l.first + i]);
                t[i] = b - crate::rows::dot6(&self.g[l.g + i], &self.f[l.child]);
            }
            substitute(&self.k[l.k..l.k + n * n], n, t);
            if l.held {
                let f = &mut self.f[l.parent];
                for i in 0..n {
                    let row = &w.w[l.first + i][1 - l.side];
                    (0..6).for_each(|c| f[c] += row[c] * t[i]);
                }
            }
        }
        for &r in &self.roots {
            x[r] = self.f[r];
            solve6(&self.d[r], &mut x[r]);
        }
        for l in self.links.iter().rev() {
            let n = l.count;
            let out = &mut lambda[l.first..l.first + n];
            if l.held {
                for i in 0..n {
                    out[i] = -crate::rows::dot6(&w.w[l.first + i][1 - l.side], &x[l.parent]);
                }
                substitute(&self.k[l.k..l.k + n * n], n, out);
            } else {
                out.fill(0.0);
            }
            let mut f = self.f[l.child];
            solve6(&self.d[l.child], &mut f);
            for i in 0..n {
                out[i] += self.t[l.first + i];
                let g = &self.g[l.g + i];
                (0..6).for_each(|c| f[c] += g[c] * out[i]);
            }
            x[l.child] = f;
        }
        // Solids in no tree just follow their force: `x` holds it already.
    }

    /// The forest of a problem, factored.
    pub fn prepare(&mut self, p: &Problem, w: &Scaled) {
        self.analyse(p.rows, p.masses);
        self.factor(w);
    }

    /// The group of each closing joint.
    pub fn closing<'a>(&'a self, rows: &'a Rows) -> impl Iterator<Item = &'a Group> {
        self.closures.iter().map(|g| &rows.groups[*g])
    }
}

/// Cholesky in place; the diagonal keeps *inverse* pivots, zero where a pivot vanished.
fn cholesky(a: &mut [f64], n: usize, scale: impl Fn(usize) -> f64) {
    for j in 0..n {
        let mut d = a[j * n + j];
        for k in 0..j {
            d -= a[j * n + k] * a[j * n + k];
        }
        let inverse = if d > VANISHES * scale(j) && d > 0.0 { 1.0 / d.sqrt() } else { 0.0 };
        for i in j + 1..n {
            let mut x = a[i * n + j];
            for k in 0..j {
                x -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] = x * inverse;
        }
        a[j * n + j] = inverse;
    }
}

/// `t = K^-1 t` from [`cholesky`].
fn substitute(l: &[f64], n: usize, t: &mut [f64]) {
    for i in 0..n {
        for k in 0..i {
            t[i] -= l[i * n + k] * t[k];
        }
        t[i] *= l[i * n + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            t[i] -= l[k * n + i] * t[k];
        }
        t[i] *= l[i * n + i];
    }
}

/// Cholesky of a 6 x 6 matrix that is at least the identity; the diagonal keeps inverse pivots.
fn cholesky6(a: &mut [[f64; 6]; 6]) {
    for j in 0..6 {
        let mut d = a[j][j];
        for k in 0..j {
            d -= a[j][k] * a[j][k];
        }
        let inverse = 1.0 / d.max(f64::MIN_POSITIVE).sqrt();
        for i in j + 1..6 {
            let mut x = a[i][j];
            for k in 0..j {
                x -= a[i][k] * a[j][k];
            }
            a[i][j] = x * inverse;
        }
        a[j][j] = inverse;
    }
}

fn solve6(l: &[[f64; 6]; 6], x: &mut [f64; 6]) {
    for i in 0..6 {
        for k in 0..i {
            x[i] -= l[i][k] * x[k];
        }
        x[i] *= l[i][i];
    }
    for i in (0..6).rev() {
        for k in i + 1..6 {
            x[i] -= l[k][i] * x[k];
        }
        x[i] *= l[i][i];
    }
}
