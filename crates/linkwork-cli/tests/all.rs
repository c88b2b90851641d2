//! All tests of this crate that can share a program: one to link instead of 6, which takes a tenth of the time and of the
//! disk. `cargo test -p linkwork-cli --test all NAME::` runs one file of them.

mod common;
mod contract;
mod lab;
mod make;
mod replay;
mod run;
mod scenes;
mod workshop;
