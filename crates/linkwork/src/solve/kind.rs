//! Choosing a solver by name or by size.

use super::{FullDense, FullIterative, LinearSolver};

/// The solvers by their command-line names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SolverKind {
    /// The cheapest by predicted cost.
    #[default]
    Auto,
    /// See [`FullDense`].
    FullDense,
    /// See [`FullIterative`].
    FullIterative,
}

impl SolverKind {
    /// Every kind, `auto` first.
    pub const ALL: [SolverKind; 4] = [SolverKind::Auto, SolverKind::FullDense, SolverKind::FullIterative, SolverKind::SparseDirect];

    /// Its name on the command line and in scenes.
    pub fn name(self) -> &'static str {
        match self {
            SolverKind::Auto => "auto",
            SolverKind::FullDense => "full-dense",
            SolverKind::FullIterative => "full-iterative",
        }
    }

    /// The kind called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.name() == name)
    }

    /// What `auto` means for a system of this many rows: dense while the cube of its size is cheap.
    pub fn resolve(self, rows: usize) -> Self {
        const DENSE_PAYS: usize = 1000;
        match self {
            SolverKind::Auto if rows <= DENSE_PAYS => SolverKind::FullDense,
            SolverKind::Auto => SolverKind::FullIterative,
            kind => kind,
        }
    }

    /// A solver of this kind for a system of this many rows.
    pub fn make(self, rows: usize) -> Box<dyn LinearSolver> {
        match self.resolve(rows) {
            SolverKind::FullIterative => Box::new(FullIterative::new()),
            _ => Box::new(FullDense::new()),
        }
    }

    /// Scalar multiplications of one solve, predicted: `n^3 / 6` for the dense factorisation, and about forty per row
    /// and iteration with as many iterations as the square root of the size for the iterative one (chains and meshes
    /// of unit bars to 1e-3; poses change it a lot).
    pub fn predicted_cost(self, rows: usize) -> f64 {
        let n = rows as f64;
        match self.resolve(rows) {
            SolverKind::FullDense | SolverKind::Auto => n * n * n / 6.0,
            SolverKind::FullIterative => 40.0 * n * 4.0 * n.sqrt(),
        }
    }
}
