//! The numbers of a factorisation: fill fronts, eliminate pivots, substitute. Allocates nothing after the first time.

use super::symbolic::{Front, Symbolic};
use crate::rows::{Group, dot6};
use crate::solve::Scaled;
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};

/// Factor and scratch of one island.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numeric {
    panels: Vec<f64>,
    updates: Vec<f64>,
    /// Pivots in elimination order, and their inverses.
    pivots: Vec<f64>,
    inverse: Vec<f64>,
    /// Below this a pivot has vanished; negative where none may.
    least: Vec<f64>,
    /// Row of scaled coefficients during elimination, and scattered parts during substitution.
    row: Vec<f64>,
    scaled: Vec<f64>,
    x: Vec<f64>,
}

/// A pivot below this share of its row's diagonal is rounding: the row depends on rows before it. Long chains get down
/// to the inverse square of their number of links, which stays above for a hundred thousand.
const VANISHES: f64 = 1e-11;
/// Fronts with more pivots than this are eliminated in slices, the bulk by matrix products.
const SLICE: usize = 32;
/// Updates of at least this many rows by as many pivots go through faer's product.
const LARGE: usize = 48;

impl Numeric {
    pub fn resize(&mut self, s: &Symbolic) {
        self.panels.resize(s.panel_len, 0.0);
        self.updates.resize(s.update_len, 0.0);
        self.pivots.resize(s.scalars, 0.0);
        self.inverse.resize(s.scalars, 0.0);
        self.least.resize(s.scalars, 0.0);
        self.row.resize(s.largest_front.max(1), 0.0);
        let large = s.fronts.iter().map(|f| f.size() * f.pivots.min(256)).max().unwrap_or(0);
        self.scaled.resize(large, 0.0);
        self.x.resize(s.scalars, 0.0);
    }

    /// Factors `W W^T + shift`; rows that are not active get a unit pivot. Tells how many pivots vanished: with no shift
    /// those rows depend on others and are left out (`lambda = 0`), which is exact as long as they ask for nothing new.
    pub fn factor(&mut self, s: &Symbolic, w: &Scaled, groups: &[Group], shift: f64) -> usize {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            // The same code with wider registers: 2.4 times faster on the 11 x 11 mesh. Multiplications and additions stay
            // separate, so the bits are the same with and without.
            // SAFETY: the feature was just detected.
            #[allow(unsafe_code)]
            return unsafe { self.factor_avx2(s, w, groups, shift) };
        }
        self.factor_here(s, w, groups, shift)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn factor_avx2(&mut self, s: &Symbolic, w: &Scaled, groups: &[Group], shift: f64) -> usize {
        self.factor_here(s, w, groups, shift)
    }

    #[inline(always)]
    fn factor_here(&mut self, s: &Symbolic, w: &Scaled, groups: &[Group], shift: f64) -> usize {
        let mut vanished = 0;
        self.panels.fill(0.0);
        // Shift and unit pivots first: every row of every group.
        let mut local = 0;
        self.pivots.fill(-1.0);
        self.least.fill(-1.0);
        for g in groups {
            for r in g.range() {
                let at = s.place[local] as usize;
                self.pivots[at] = if w.active[r] { shift + w.softness[r] } else { 1.0 };
                self.least[at] = if shift == 0.0 { VANISHES * w.diagonal[r] } else { -1.0 };
                local += 1;
            }
        }
        for front in &s.fronts {
            let (n, p) = (front.size(), front.pivots);
            let panel = &mut self.panels[front.panel..front.panel + n * p];
            for k in 0..p {
                panel[k * n + k] = self.pivots[front.first + k];
            }
            gather(panel, n, s, front, &w.w);
            let below = front.below.len();
            // Take over the children's updates; the pool guarantees that they do not overlap this one.
            self.updates[front.update..front.update + below * below].fill(0.0);
            for &(child, map) in &front.children {
                let c = &s.fronts[child as usize];
                let m = c.below.len();
                extend_add(panel, &mut self.updates, n, p, front, c, &s.maps[map as usize..map as usize + m]);
            }
            let update = &mut self.updates[front.update..front.update + below * below];
            let own = front.first..front.first + p;
            let (pivots, inverse, least) =
                (&mut self.pivots[own.clone()], &mut self.inverse[own.clone()], &self.least[own]);
            vanished += match p {
                1 => eliminate_few::<1>(panel, update, n, pivots, inverse, least),
                2 => eliminate_few::<2>(panel, update, n, pivots, inverse, least),
                3 => eliminate_few::<3>(panel, update, n, pivots, inverse, least),
                4 => eliminate_few::<4>(panel, update, n, pivots, inverse, least),
                5 => eliminate_few::<5>(panel, update, n, pivots, inverse, least),
                6 => eliminate_few::<6>(panel, update, n, pivots, inverse, least),
                _ => eliminate(panel, update, n, p, pivots, inverse, least, &mut self.row, &mut self.scaled),
            };
        }
        vanished
    }

    /// Solves in elimination order, in place.
    fn substitute(&mut self, s: &Symbolic) {
        for front in &s.fronts {
            let (n, p) = (front.size(), front.pivots);
            let panel = &self.panels[front.panel..front.panel + n * p];
            let (head, tail) = self.row[..n].split_at_mut(p);
            head.copy_from_slice(&self.x[front.first..front.first + p]);
            tail.fill(0.0);
            for k in 0..p {
                let xk = head[k];
                if xk == 0.0 {
                    continue;
                }
                let column = &panel[k * n..(k + 1) * n];
                for (h, l) in head[k + 1..].iter_mut().zip(&column[k + 1..p]) {
                    *h -= l * xk;
                }
                for (t, l) in tail.iter_mut().zip(&column[p..]) {
                    *t += l * xk;
                }
            }
            for k in 0..p {
                self.x[front.first + k] = head[k];
            }
            for (b, t) in front.below.iter().zip(tail.iter()) {
                self.x[*b as usize] -= t;
            }
        }
        for front in s.fronts.iter().rev() {
            let (n, p) = (front.size(), front.pivots);
            let panel = &self.panels[front.panel..front.panel + n * p];
            let (head, tail) = self.row[..n].split_at_mut(p);
            for k in 0..p {
                head[k] = self.x[front.first + k] * self.inverse[front.first + k];
            }
            for (b, t) in front.below.iter().zip(tail.iter_mut()) {
                *t = self.x[*b as usize];
            }
            for k in (0..p).rev() {
                let column = &panel[k * n..(k + 1) * n];
                let inner: f64 = head[k + 1..].iter().zip(&column[k + 1..p]).map(|(h, l)| h * l).sum();
                let outer: f64 = tail.iter().zip(&column[p..]).map(|(t, l)| t * l).sum();
                head[k] -= inner + outer;
            }
            self.x[front.first..front.first + p].copy_from_slice(head);
        }
    }

    /// One right side: `out = (W W^T + shift)^-1 b`, both by the rows of the groups.
    pub fn solve(&mut self, s: &Symbolic, groups: &[Group], b: &[f64], out: &mut [f64]) {
        self.x.fill(0.0);
        let mut local = 0;
        for g in groups {
            for r in g.range() {
                self.x[s.place[local] as usize] = b[r];
                local += 1;
            }
        }
        self.substitute(s);
        local = 0;
        for g in groups {
            for r in g.range() {
                out[r] = self.x[s.place[local] as usize];
                local += 1;
            }
        }
    }
}

/// Original entries: products of scaled rows, and rows against hub unknowns.
#[inline(always)]
fn gather(panel: &mut [f64], n: usize, s: &Symbolic, front: &Front, w: &[[[f64; 6]; 2]]) {
    for t in &s.products[front.products.start as usize..front.products.end as usize] {
        let (rows, cols) = (t.size.0 as usize, t.size.1 as usize);
        let a = &w[t.a.0 as usize..t.a.0 as usize + rows];
        let b = &w[t.b.0 as usize..t.b.0 as usize + cols];
        let (sa, sb) = (t.a.1 as usize & 1, t.b.1 as usize & 1);
        let start = t.at.1 as usize * n + t.at.0 as usize;
        if let ([a0, a1, a2], [b0, b1, b2]) = (a, b) {
            // Ball joints, by far the most common: three by three without loops. On the diagonal the upper triangle is
            // written too; nobody reads it.
            let (a, b) = ([&a0[sa], &a1[sa], &a2[sa]], [&b0[sb], &b1[sb], &b2[sb]]);
            for (j, b) in b.into_iter().enumerate() {
                let x = &mut panel[start + j * n..start + j * n + 3];
                x[0] += dot6(a[0], b);
                x[1] += dot6(a[1], b);
                x[2] += dot6(a[2], b);
            }
            continue;
        }
        for (j, wb) in b.iter().enumerate() {
            for (x, wa) in panel[start + j * n..start + j * n + rows].iter_mut().zip(a) {
                *x += dot6(&wa[sa], &wb[sb]);
            }
        }
    }
    for t in &s.spokes[front.spokes.start as usize..front.spokes.end as usize] {
        let a = &w[t.a.0 as usize..t.a.0 as usize + t.count as usize];
        let side = t.a.1 as usize;
        for (r, wa) in a.iter().enumerate() {
            for (k, x) in wa[side].iter().enumerate() {
                let (row, col) = if t.hub_is_column { (r, k) } else { (k, r) };
                panel[(t.at.1 as usize + col) * n + t.at.0 as usize + row] += x;
            }
        }
    }
}

/// Adds a child's update to the panel and the update of its parent.
#[inline(always)]
fn extend_add(
    panel: &mut [f64],
    pool: &mut [f64],
    n: usize,
    p: usize,
    front: &Front,
    child: &Front,
    map: &[u32],
) {
    let (m, below) = (child.below.len(), n - p);
    // Both updates live in one pool: split it around the one that is written.
    let (from, to) = (child.update, front.update);
    let (source, target): (&[f64], &mut [f64]) = if from < to {
        let (a, b) = pool.split_at_mut(to);
        (&a[from..from + m * m], &mut b[..below * below])
    } else {
        let (a, b) = pool.split_at_mut(from);
        (&b[..m * m], &mut a[to..to + below * below])
    };
    for j in 0..m {
        let col = map[j] as usize;
        let values = &source[j * m + j..(j + 1) * m];
        if col < p {
            let column = &mut panel[col * n..(col + 1) * n];
            for (v, row) in values.iter().zip(&map[j..]) {
                column[*row as usize] += v;
            }
        } else {
            let column = &mut target[(col - p) * below..(col - p + 1) * below];
            for (v, row) in values.iter().zip(&map[j..]) {
                column[*row as usize - p] += v;
            }
        }
    }
}

/// `L D L^T` of the pivots of a front: `panel` becomes `L`, `inverse` the inverse pivots, `update -= L D L^T` below.
#[inline(always)]
fn eliminate(
    panel: &mut [f64],
    update: &mut [f64],
    n: usize,
    p: usize,
    pivots: &mut [f64],
    inverse: &mut [f64],
    least: &[f64],
    row: &mut [f64],
    scaled: &mut [f64],
) -> usize {
    let (mut done, mut vanished) = (0, 0);
    while done < p {
        let end = if p - done <= SLICE + SLICE / 2 { p } else { done + SLICE };
        // Within the slice: left-looking by columns.
        for k in done..end {
            let (left, right) = panel.split_at_mut(k * n);
            let column = &mut right[..n];
            for (c, j) in row.iter_mut().zip(done..k) {
                *c = left[j * n + k] * pivots[j];
            }
            subtract(&mut column[k..], &left[done * n..], n, k, &row[..k - done]);
            let pivot = column[k];
            if pivot <= least[k] && least[k] >= 0.0 || pivot == 0.0 {
                (pivots[k], inverse[k]) = (0.0, 0.0);
                vanished += 1;
            } else {
                (pivots[k], inverse[k]) = (pivot, 1.0 / pivot);
            }
            column[k + 1..].iter_mut().for_each(|x| *x *= inverse[k]);
        }
        // Columns of later slices.
        if end < p {
            let width = end - done;
            let (left, right) = panel.split_at_mut(end * n);
            for j in 0..width {
                let column = &left[(done + j) * n + end..(done + j) * n + n];
                let d = pivots[done + j];
                for (s, l) in scaled[j * (n - end)..(j + 1) * (n - end)].iter_mut().zip(column) {
                    *s = l * d;
                }
            }
            let rest = n - end;
            let cols = p - end;
            let l = MatRef::from_column_major_slice_with_stride(&left[done * n + end..], rest, width, n);
            let s = MatRef::from_column_major_slice(&scaled[..rest * width], rest, width);
            let mut target =
                MatMut::from_column_major_slice_with_stride_mut(&mut right[end..], rest, cols, n);
            let (top_l, bottom_l) = (l.subrows(0, cols), l.subrows(cols, rest - cols));
            let top_s = s.subrows(0, cols);
            matmul(
                target.as_mut().subrows_mut(0, cols),
                BlockStructure::TriangularLower,
                Accum::Add,
                top_l,
                BlockStructure::Rectangular,
                top_s.transpose(),
                BlockStructure::Rectangular,
                -1.0,
                Par::Seq,
            );
            matmul(
                target.as_mut().subrows_mut(cols, rest - cols),
                BlockStructure::Rectangular,
                Accum::Add,
                bottom_l,
                BlockStructure::Rectangular,
                top_s.transpose(),
                BlockStructure::Rectangular,
                -1.0,
                Par::Seq,
            );
        }
        done = end;
    }
    let below = n - p;
    if below >= LARGE && p >= 8 {
        for k in 0..p {
            let d = pivots[k];
            for (s, l) in scaled[k * below..(k + 1) * below].iter_mut().zip(&panel[k * n + p..(k + 1) * n]) {
                *s = l * d;
            }
        }
        let l = MatRef::from_column_major_slice_with_stride(&panel[p..], below, p, n);
        let s = MatRef::from_column_major_slice(&scaled[..below * p], below, p);
        matmul(
            MatMut::from_column_major_slice_mut(update, below, below),
            BlockStructure::TriangularLower,
            Accum::Add,
            l,
            BlockStructure::Rectangular,
            s.transpose(),
            BlockStructure::Rectangular,
            -1.0,
            Par::Seq,
        );
        return vanished;
    }
    for j in 0..below {
        for k in 0..p {
            row[k] = panel[k * n + p + j] * pivots[k];
        }
        subtract(&mut update[j * below + j..(j + 1) * below], panel, n, p + j, &row[..p]);
    }
    vanished
}

/// [`eliminate`] with the number of pivots known to the compiler: no calls, no inner loops over pivots.
#[inline(always)]
fn eliminate_few<const P: usize>(
    panel: &mut [f64],
    update: &mut [f64],
    n: usize,
    pivots: &mut [f64],
    inverse: &mut [f64],
    least: &[f64],
) -> usize {
    let mut columns = panel.chunks_exact_mut(n);
    let mut columns: [&mut [f64]; P] = std::array::from_fn(|_| columns.next().unwrap_or_default());
    let mut d = [0.0; P];
    let mut vanished = 0;
    for k in 0..P {
        let (left, right) = columns.split_at_mut(k);
        let column = &mut *right[0];
        for (j, l) in left.iter().enumerate() {
            let c = l[k] * d[j];
            for (x, l) in column[k..].iter_mut().zip(&l[k..]) {
                *x -= c * l;
            }
        }
        let pivot = column[k];
        let gone = pivot <= least[k] && least[k] >= 0.0 || pivot == 0.0;
        vanished += usize::from(gone);
        d[k] = if gone { 0.0 } else { pivot };
        pivots[k] = d[k];
        inverse[k] = if gone { 0.0 } else { 1.0 / pivot };
        column[k + 1..].iter_mut().for_each(|x| *x *= inverse[k]);
    }
    let below = n - P;
    let tails: [&[f64]; P] = std::array::from_fn(|k| &columns[k][P..n]);
    if below > 0 && below.is_multiple_of(3) {
        // Blocks of three rows, the rule with ball joints: short columns without remainders. The upper half of diagonal
        // blocks is written too; nobody reads it.
        let tails: [&[[f64; 3]]; P] = std::array::from_fn(|k| tails[k].as_chunks().0);
        let blocks = below / 3;
        for (j, columns) in update.chunks_exact_mut(3 * below).enumerate() {
            let (c0, rest) = columns.split_at_mut(below);
            let (c1, c2) = rest.split_at_mut(below);
            let targets = [c0.as_chunks_mut::<3>().0, c1.as_chunks_mut::<3>().0, c2.as_chunks_mut::<3>().0];
            let scaled: [[f64; 3]; P] = std::array::from_fn(|k| tails[k][j].map(|x| x * d[k]));
            let below: [&[[f64; 3]]; P] = std::array::from_fn(|k| &tails[k][j..blocks]);
            let [c0, c1, c2] = targets.map(|t| &mut t[j..blocks]);
            for (i, ((x0, x1), x2)) in c0.iter_mut().zip(c1).zip(c2).enumerate() {
                for k in 0..P {
                    let (l, s) = (below[k][i], scaled[k]);
                    for r in 0..3 {
                        x0[r] -= s[0] * l[r];
                        x1[r] -= s[1] * l[r];
                        x2[r] -= s[2] * l[r];
                    }
                }
            }
        }
        return vanished;
    }
    for j in 0..below {
        let target = &mut update[j * below + j..(j + 1) * below];
        let len = target.len();
        let rows: [&[f64]; P] = std::array::from_fn(|k| &tails[k][j..j + len]);
        let c: [f64; P] = std::array::from_fn(|k| rows[k][0] * d[k]);
        for (i, x) in target.iter_mut().enumerate() {
            let mut sum = 0.0;
            for k in 0..P {
                sum += c[k] * rows[k][i];
            }
            *x -= sum;
        }
    }
    vanished
}

/// `target -= sum_k c[k] * column_k[from..]`, columns of length `n`, four at a time so that the target is loaded once.
#[inline(always)]
fn subtract(target: &mut [f64], columns: &[f64], n: usize, from: usize, c: &[f64]) {
    let len = target.len();
    let column = |k: usize| &columns[k * n + from..k * n + from + len];
    let mut k = 0;
    while k + 4 <= c.len() {
        let (a, b, d, e) = (column(k), column(k + 1), column(k + 2), column(k + 3));
        let (ca, cb, cd, ce) = (c[k], c[k + 1], c[k + 2], c[k + 3]);
        for i in 0..len {
            target[i] -= ca * a[i] + cb * b[i] + (cd * d[i] + ce * e[i]);
        }
        k += 4;
    }
    match c.len() - k {
        3 => {
            let (a, b, d) = (column(k), column(k + 1), column(k + 2));
            let (ca, cb, cd) = (c[k], c[k + 1], c[k + 2]);
            for i in 0..len {
                target[i] -= ca * a[i] + cb * b[i] + cd * d[i];
            }
        }
        2 => {
            let (a, b) = (column(k), column(k + 1));
            let (ca, cb) = (c[k], c[k + 1]);
            for i in 0..len {
                target[i] -= ca * a[i] + cb * b[i];
            }
        }
        1 => {
            let a = column(k);
            for i in 0..len {
                target[i] -= c[k] * a[i];
            }
        }
        _ => {}
    }
}
