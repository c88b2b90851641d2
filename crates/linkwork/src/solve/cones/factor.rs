//! Sparse LU of 6 x 6 blocks whose pattern is symmetric: who touches whom.
//!
//! Order of elimination by least degree, found once per pattern. No pivoting beyond the blocks: the matrices are those of
//! masses with springs between them.

/// Pattern, order and numbers.
#[derive(Default)]
pub(super) struct Factor {
    /// Per place: its turn.
    turn: Vec<u32>,
    /// Per turn: later turns that it is coupled with, in order, as a range of `later`.
    first: Vec<usize>,
    later: Vec<u32>,
    diagonal: Vec<[f64; 36]>,
    /// Per entry of `later`: the block to its right, and that below.
    right: Vec<[f64; 36]>,
    below: Vec<[f64; 36]>,
    kept: [Vec<[f64; 36]>; 3],
    cost: usize,
    rhs: Vec<[f64; 6]>,
}

/// Operations of one factorisation for this pattern; more than `most` are not counted to the end.
pub(crate) fn elimination_cost(count: usize, pairs: &[[u32; 2]], most: usize) -> usize {
    let mut factor = Factor::default();
    factor.analyse(count, pairs, most);
    factor.cost
}

impl Factor {
    pub fn len(&self) -> usize {
        self.turn.len()
    }

    /// Operations of one factorisation.
    pub fn cost(&self) -> usize {
        self.cost
    }

    /// Order and fill for this pattern; given up where it costs more than `most`.
    pub fn analyse(&mut self, count: usize, pairs: &[[u32; 2]], most: usize) {
        let mut near: Vec<Vec<u32>> = vec![Vec::new(); count];
        for [a, b] in pairs {
            near[*a as usize].push(*b);
            near[*b as usize].push(*a);
        }
        self.turn.clear();
        self.turn.resize(count, u32::MAX);
        self.first.clear();
        self.later.clear();
        self.cost = 0;
        let mut by_turn: Vec<Vec<u32>> = Vec::with_capacity(count);
        for turn in 0..count {
            let left = (0..count).filter(|i| self.turn[*i] == u32::MAX);
            let Some(next) = left.min_by_key(|i| (near[*i].len(), *i)) else { break };
            self.turn[next] = turn as u32;
            let own = std::mem::take(&mut near[next]);
            self.cost += 450 + own.len() * 432 * (1 + own.len());
            if self.cost > most {
                return;
            }
            for a in &own {
                let list = &mut near[*a as usize];
                list.retain(|x| *x != next as u32);
                list.extend(own.iter().filter(|x| *x != a));
                list.sort_unstable();
                list.dedup();
            }
            by_turn.push(own);
        }
        for own in &mut by_turn {
            own.iter_mut().for_each(|x| *x = self.turn[*x as usize]);
            own.sort_unstable();
            self.first.push(self.later.len());
            self.later.extend_from_slice(own);
        }
        self.first.push(self.later.len());
    }

    /// These blocks on the diagonal, by place, and nothing else.
    pub fn start_from(&mut self, blocks: &[[f64; 36]]) {
        self.diagonal.clear();
        self.diagonal.resize(self.turn.len(), [0.0; 36]);
        for (turn, block) in self.turn.iter().zip(blocks) {
            self.diagonal[*turn as usize] = *block;
        }
        for list in [&mut self.right, &mut self.below] {
            list.clear();
            list.resize(self.later.len(), [0.0; 36]);
        }
    }

    /// Keeps what was added so far, to start from it again.
    pub fn keep(&mut self) {
        self.kept[0].clone_from(&self.diagonal);
        self.kept[1].clone_from(&self.right);
        self.kept[2].clone_from(&self.below);
    }

    /// What was kept, and nothing else.
    pub fn start_again(&mut self) {
        self.diagonal.clone_from(&self.kept[0]);
        self.right.clone_from(&self.kept[1]);
        self.below.clone_from(&self.kept[2]);
    }

    /// Adds a block at the row of place `a` and the column of place `b`.
    pub fn add(&mut self, a: usize, b: usize, block: &[f64; 36]) {
        let (a, b) = (self.turn[a], self.turn[b]);
        let to = self.block(a, b);
        to.iter_mut().zip(block).for_each(|(x, y)| *x += y);
    }

    fn block(&mut self, a: u32, b: u32) -> &mut [f64; 36] {
        if a == b {
            return &mut self.diagonal[a as usize];
        }
        let (low, high) = (a.min(b) as usize, a.max(b));
        let range = self.first[low]..self.first[low + 1];
        let at = range.start + self.later[range].partition_point(|x| *x < high);
        if a < b { &mut self.right[at] } else { &mut self.below[at] }
    }

    /// Factors what was added. False: a pivot is not a number.
    pub fn factor(&mut self) -> bool {
        for k in 0..self.turn.len() {
            if !invert(&mut self.diagonal[k]) {
                return false;
            }
            let range = self.first[k]..self.first[k + 1];
            let inverse = self.diagonal[k];
            for x in range.clone() {
                self.right[x] = product(&inverse, &self.right[x]);
            }
            for x in range.clone() {
                let left = self.below[x];
                for y in range.clone() {
                    let change = product(&left, &self.right[y]);
                    let (a, b) = (self.later[x], self.later[y]);
                    let to = self.block(a, b);
                    to.iter_mut().zip(&change).for_each(|(t, c)| *t -= c);
                }
            }
        }
        true
    }

    /// The answer to `x`, six numbers a place, where it stands.
    pub fn solve(&mut self, x: &mut [f64]) {
        let mut rhs = std::mem::take(&mut self.rhs);
        rhs.clear();
        rhs.resize(self.turn.len(), [0.0; 6]);
        for (six, turn) in x.chunks_exact(6).zip(&self.turn) {
            rhs[*turn as usize].copy_from_slice(six);
        }
        for k in 0..rhs.len() {
            let own = times(&self.diagonal[k], &rhs[k]);
            rhs[k] = own;
            for at in self.first[k]..self.first[k + 1] {
                let change = times(&self.below[at], &own);
                let to = &mut rhs[self.later[at] as usize];
                to.iter_mut().zip(&change).for_each(|(t, c)| *t -= c);
            }
        }
        for k in (0..rhs.len()).rev() {
            for at in self.first[k]..self.first[k + 1] {
                let change = times(&self.right[at], &rhs[self.later[at] as usize]);
                rhs[k].iter_mut().zip(&change).for_each(|(t, c)| *t -= c);
            }
        }
        for (six, turn) in x.chunks_exact_mut(6).zip(&self.turn) {
            six.copy_from_slice(&rhs[*turn as usize]);
        }
        self.rhs = rhs;
    }
}

fn product(a: &[f64; 36], b: &[f64; 36]) -> [f64; 36] {
    let mut out = [0.0; 36];
    for i in 0..6 {
        let mut row = [0.0; 6];
        for k in 0..6 {
            let x = a[6 * i + k];
            for j in 0..6 {
                row[j] += x * b[6 * k + j];
            }
        }
        out[6 * i..6 * i + 6].copy_from_slice(&row);
    }
    out
}

pub(super) fn times(a: &[f64; 36], x: &[f64; 6]) -> [f64; 6] {
    std::array::from_fn(|i| (0..6).map(|k| a[6 * i + k] * x[k]).sum())
}

/// Gauss-Jordan with pivoting by rows.
pub(super) fn invert(a: &mut [f64; 36]) -> bool {
    let mut inverse = [0.0; 36];
    (0..6).for_each(|k| inverse[7 * k] = 1.0);
    for k in 0..6 {
        let best = (k..6).fold(k, |m, i| if a[6 * i + k].abs() > a[6 * m + k].abs() { i } else { m });
        if !(a[6 * best + k].abs() > 0.0 && a[6 * best + k].is_finite()) {
            return false;
        }
        for j in 0..6 {
            a.swap(6 * k + j, 6 * best + j);
            inverse.swap(6 * k + j, 6 * best + j);
        }
        let scale = 1.0 / a[7 * k];
        for j in 0..6 {
            a[6 * k + j] *= scale;
            inverse[6 * k + j] *= scale;
        }
        for i in (0..6).filter(|i| *i != k) {
            let x = a[6 * i + k];
            if x != 0.0 {
                for j in 0..6 {
                    a[6 * i + j] -= x * a[6 * k + j];
                    inverse[6 * i + j] -= x * inverse[6 * k + j];
                }
            }
        }
    }
    *a = inverse;
    true
}
