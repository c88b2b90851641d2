//! Block-sparse `L D L^T` of one island, multifrontal.
//!
//! Joints are eliminated in a fill-reducing order fixed once per topology. Joints that are eliminated together form a
//! supernode: a dense *front* of its own rows and the rows they touch. Factoring a front leaves a small dense update
//! for its parent. All places (panels, updates, index maps) are decided symbolically; numbers only flow.
//!
//! A solid with very many joints would couple them all to each other. Such a hub gets its six motions as unknowns of
//! their own (`z = W_h^T lambda`, pivot `-1`), and its joints couple to those only. The matrix is then indefinite but
//! quasi-definite: `L D L^T` needs no pivoting, only that a joint held by nothing but hubs comes after one of them.

mod numeric;
mod symbolic;

pub(crate) use numeric::Numeric;
pub(crate) use symbolic::{Shape, Symbolic};
