//! Block-sparse `L D L^T` of one island, multifrontal.
//!
//! Joints are eliminated in a fill-reducing order fixed once per topology. Joints that are eliminated together form a
//! supernode: a dense *front* of its own rows and the rows they touch. Factoring a front leaves a small dense update
//! for its parent. All places (panels, updates, index maps) are decided symbolically; numbers only flow.
//!
//! Subtrees of fronts that look alike are factored four in step, one in each lane of a wide register (`units.rs`): a
//! ladder's fronts are too small to keep the machine busy one by one.
//!
//! A solid with very many joints would couple them all to each other. Such a hub gets its motions as unknowns of
//! their own, six or three, (`z = W_h^T lambda`, pivot `-1`), and its joints couple to those only. The matrix is then indefinite but
//! quasi-definite: `L D L^T` needs no pivoting, only that a joint held by nothing but hubs comes after one of them.

mod assembly;
mod kernels;
mod lanes;
mod numbers;
mod numeric;
mod pool;
mod scale;
mod substitute;
mod symbolic;
#[cfg(test)]
mod tests;
mod unit;
mod units;

pub(crate) use kernels::{Kernel, Scratch};
pub(crate) use numbers::{Diagonal, Pivots};
pub(crate) use numeric::Numeric;
pub(crate) use pool::Pool;
pub(crate) use symbolic::{Shape, Symbolic};
