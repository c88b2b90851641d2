//! Symmetric positive definite matrices of 3 x 3 blocks, a node of three freedoms each, factored by faer's supernodal
//! Cholesky. What depends on the topology (elimination order, room) is worked out once; a step changes numbers only.

use crate::graph::CliqueGraph;
use crate::math::Vector;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};

/// A symmetric 3 x 3 block: xx, xy, xz, yy, yz, zz.
pub(super) type Block = [f64; 6];

/// The matrix, its factor and what both need.
#[derive(Default)]
pub(super) struct Factor {
    nodes: usize,
    /// Lower triangle by columns.
    columns: Vec<usize>,
    rows: Vec<usize>,
    values: Vec<f64>,
    symbolic: Option<SymbolicCholesky<usize>>,
    factor: Vec<f64>,
    scratch: Option<MemBuffer>,
    /// The factor belongs to the values.
    factored: bool,
}

impl Factor {
    /// Lays out a matrix of `nodes` blocks that couples these pairs, each once, `a < b`, in order. Tells where each pair is.
    /// `quick`: the order is found in less time, and is not quite as good.
    pub fn analyse(&mut self, nodes: usize, pairs: &[[u32; 2]], quick: bool) -> Vec<u32> {
        *self = Self { nodes, ..Self::default() };
        let mut first = vec![0_usize; nodes + 1];
        pairs.iter().for_each(|[a, _]| first[*a as usize + 1] += 1);
        (0..nodes).for_each(|i| first[i + 1] += first[i]);
        self.columns.push(0);
        for a in 0..nodes {
            for k in 0..3 {
                self.rows.extend((k..3).map(|r| 3 * a + r));
                for [_, b] in &pairs[first[a]..first[a + 1]] {
                    self.rows.extend((0..3).map(|r| 3 * *b as usize + r));
                }
                self.columns.push(self.rows.len());
            }
        }
        self.values.resize(self.rows.len(), 0.0);
        self.order(pairs, quick);
        pairs.iter().enumerate().map(|(k, [a, _])| (k - first[*a as usize]) as u32).collect()
    }

    /// The best of our own elimination order and that of approximate minimum degree.
    fn order(&mut self, pairs: &[[u32; 2]], quick: bool) {
        let n = 3 * self.nodes;
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &self.columns, None, &self.rows);
        let analyse = |order| {
            factorize_symbolic_cholesky(pattern, Side::Lower, order, CholeskySymbolicParams::default()).ok()
        };
        let mut best = analyse(SymmetricOrdering::Amd);
        let forward = if quick { Vec::new() } else { self.own_order(pairs) };
        if forward.len() == n {
            let mut back = vec![0; n];
            forward.iter().enumerate().for_each(|(k, i)| back[*i] = k);
            for (f, b) in [(&forward, &back), (&back, &forward)] {
                let own = analyse(SymmetricOrdering::Custom(PermRef::new_checked(f, b, n)));
                let less =
                    |s: &SymbolicCholesky<usize>| best.as_ref().is_none_or(|b| s.len_val() < b.len_val());
                if own.as_ref().is_some_and(less) {
                    best = own;
                }
            }
        }
        if let Some(s) = &best {
            self.factor.resize(s.len_val(), 0.0);
            let need = s.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
            let need = need.or(s.solve_in_place_scratch::<f64>(1, Par::Seq));
            self.scratch = Some(MemBuffer::new(need));
        }
        self.symbolic = best;
    }

    fn own_order(&self, pairs: &[[u32; 2]]) -> Vec<usize> {
        let graph = CliqueGraph {
            sizes: vec![3; self.nodes],
            cliques: pairs.iter().map(|p| p.to_vec()).collect(),
            after: vec![u32::MAX; self.nodes],
        };
        graph.best().order.iter().flat_map(|i| (0..3).map(move |k| 3 * *i as usize + k)).collect()
    }

    /// Nothing but these masses on the diagonal.
    pub fn start(&mut self, masses: &[f64]) {
        self.values.fill(0.0);
        self.factored = false;
        for (i, m) in masses.iter().enumerate() {
            self.add_diagonal(i, &[*m, 0.0, 0.0, *m, 0.0, *m]);
        }
    }

    /// Adds a block on the diagonal.
    #[inline]
    pub fn add_diagonal(&mut self, node: usize, b: &Block) {
        let at = [0, 1, 2].map(|k| self.columns[3 * node + k]);
        for (k, x) in [(at[0], b[0]), (at[0] + 1, b[1]), (at[0] + 2, b[2])] {
            self.values[k] += x;
        }
        self.values[at[1]] += b[3];
        self.values[at[1] + 1] += b[4];
        self.values[at[2]] += b[5];
    }

    /// Subtracts a block between node `a` and its pair at place `at`.
    #[inline]
    pub fn couple(&mut self, a: usize, at: u32, b: &Block) {
        let full = [[b[0], b[1], b[2]], [b[1], b[3], b[4]], [b[2], b[4], b[5]]];
        for (k, column) in full.iter().enumerate() {
            let first = self.columns[3 * a + k] + 3 - k + 3 * at as usize;
            for (v, x) in self.values[first..first + 3].iter_mut().zip(column) {
                *v -= x;
            }
        }
    }

    /// Factors the matrix. False: it is not positive definite.
    pub fn factor(&mut self) -> bool {
        let n = 3 * self.nodes;
        let (Some(symbolic), Some(scratch)) = (&self.symbolic, &mut self.scratch) else { return n == 0 };
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &self.columns, None, &self.rows);
        let matrix = SparseColMatRef::new(pattern, &self.values);
        let stack = MemStack::new(scratch);
        let done = symbolic.factorize_numeric_llt(
            &mut self.factor,
            matrix,
            Side::Lower,
            Default::default(),
            Par::Seq,
            stack,
            Default::default(),
        );
        self.factored = done.is_ok();
        self.factored
    }

    /// There is a factor to solve with.
    pub fn is_ready(&self) -> bool {
        self.factored
    }

    /// `x = A^-1 x`, a vector per node.
    pub fn solve(&mut self, x: &mut [f64]) {
        let (Some(symbolic), Some(scratch)) = (&self.symbolic, &mut self.scratch) else { return };
        if !self.factored {
            return;
        }
        let n = x.len();
        let stack = MemStack::new(scratch);
        LltRef::new(symbolic, &self.factor).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(x, n, 1),
            Par::Seq,
            stack,
        );
    }
}

/// `along u u^T + across (1 - u u^T)`.
#[inline]
pub(super) fn stiffness(u: Vector, along: f64, across: f64) -> Block {
    let d = along - across;
    [
        d * u.x * u.x + across,
        d * u.x * u.y,
        d * u.x * u.z,
        d * u.y * u.y + across,
        d * u.y * u.z,
        d * u.z * u.z + across,
    ]
}

/// A block times a vector.
#[inline]
pub(super) fn times(b: &Block, v: Vector) -> Vector {
    Vector::new(
        b[0] * v.x + b[1] * v.y + b[2] * v.z,
        b[1] * v.x + b[3] * v.y + b[4] * v.z,
        b[2] * v.x + b[4] * v.y + b[5] * v.z,
    )
}
