//! The only place that orders time, and the correction that every method is built on.

pub mod assemble;
