//! Numbers that are computed side by side: one, or four that have nothing to do with each other.
//!
//! A front of a ladder is too small to fill wide registers by itself, and its divisions wait for each other. Four fronts
//! of the same shape in step fill them without any shuffling, and share every index.

pub(crate) use crate::math::four::Four as Quad;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// How many fronts go in step.
pub(crate) const LANES: usize = 4;

/// One number, or one for each of several fronts.
pub(crate) trait Lane:
    Copy + Default + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + AddAssign + SubAssign
{
    /// How many.
    const WIDTH: usize;
    /// Each from its own place.
    fn from_fn(f: impl FnMut(usize) -> f64) -> Self;
    /// One of them.
    fn lane(self, lane: usize) -> f64;
    /// Changes one of them.
    fn set(&mut self, lane: usize, x: f64);
    /// One by one.
    fn map(self, f: impl Fn(f64) -> f64) -> Self;
    /// Two by two.
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self;
}

impl Lane for f64 {
    const WIDTH: usize = 1;
    #[inline(always)]
    fn from_fn(mut f: impl FnMut(usize) -> f64) -> Self {
        f(0)
    }
    #[inline(always)]
    fn lane(self, _: usize) -> f64 {
        self
    }
    #[inline(always)]
    fn set(&mut self, _: usize, x: f64) {
        *self = x;
    }
    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        f(self)
    }
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        f(self, other)
    }
}

impl Lane for Quad {
    const WIDTH: usize = LANES;
    #[inline(always)]
    fn from_fn(mut f: impl FnMut(usize) -> f64) -> Self {
        Quad([f(0), f(1), f(2), f(3)])
    }
    #[inline(always)]
    fn lane(self, lane: usize) -> f64 {
        self.0[lane]
    }
    #[inline(always)]
    fn set(&mut self, lane: usize, x: f64) {
        self.0[lane] = x;
    }
    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let Quad([a, b, c, d]) = self;
        Quad([f(a), f(b), f(c), f(d)])
    }
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let (a, b) = (self.0, other.0);
        Quad([f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])])
    }
}
