//! Choosing a solver by name or by predicted cost.

use super::{FullDense, FullIterative, LinearSolver, SparseDirect, StructuredDense, StructuredIterative};

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
    /// See [`StructuredDense`].
    StructuredDense,
    /// See [`StructuredIterative`].
    StructuredIterative,
    /// See [`SparseDirect`].
    SparseDirect,
}

impl SolverKind {
    /// Every kind, `auto` first.
    pub const ALL: [SolverKind; 6] = [
        SolverKind::Auto,
        SolverKind::FullDense,
        SolverKind::FullIterative,
        SolverKind::StructuredDense,
        SolverKind::StructuredIterative,
        SolverKind::SparseDirect,
    ];

    /// Its name on the command line and in scenes.
    pub fn name(self) -> &'static str {
        match self {
            SolverKind::Auto => "auto",
            SolverKind::FullDense => "full-dense",
            SolverKind::FullIterative => "full-iterative",
            SolverKind::StructuredDense => "structured-dense",
            SolverKind::StructuredIterative => "structured-iterative",
            SolverKind::SparseDirect => "sparse-direct",
        }
    }

    /// The kind called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.name() == name)
    }

    /// Does one factorisation give the answer to rounding?
    pub fn is_exact(self) -> bool {
        !matches!(self, SolverKind::FullIterative | SolverKind::StructuredIterative)
    }

    /// What `auto` means where nothing else is known: the sparse factorisation, exact and the fastest on everything but
    /// large nets, where three digits come sooner by iteration (docs/benchmarks.md).
    pub fn resolve(self) -> Self {
        if self == SolverKind::Auto { SolverKind::SparseDirect } else { self }
    }

    /// A solver of this kind.
    pub fn make(self) -> Box<dyn LinearSolver> {
        match self.resolve() {
            SolverKind::FullDense => Box::new(FullDense::new()),
            SolverKind::FullIterative => Box::new(FullIterative::new()),
            SolverKind::StructuredDense => Box::new(StructuredDense::new()),
            SolverKind::StructuredIterative => Box::new(StructuredIterative::new()),
            SolverKind::SparseDirect | SolverKind::Auto => Box::new(SparseDirect::new()),
        }
    }
}
