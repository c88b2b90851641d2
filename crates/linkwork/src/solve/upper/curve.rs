//! What a row may do, as one curve: a monotone staircase of its change and its multiplier.
//!
//! With `y = J x + give * lambda` the pairs `(y, lambda)` that are allowed form one curve, falling from the upper left:
//!
//! ```text
//! lambda
//! most  ------+                 y < low: pushes as much as it may
//!             |                 y = low: whatever it takes, up to that
//!    0        +-------+         low < y < high: nothing
//!                     |         y = high
//! least               +------   y > high
//! ```
//!
//! An equality has no middle part. Such curves are the derivatives of convex functions, so that the upper problem is a
//! convex one: `min 1/2 lambda^T (W + give) lambda + sum g_r(lambda_r)`. Everything the solvers need of a row is the
//! proximal map of `g` ([`Curve::nearest`]); a friction cone will be a block of rows with such a map of its own.

use crate::rows::Ask;

/// The staircase of one row, in whatever units the solver counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::solve) struct Curve {
    pub low: f64,
    pub high: f64,
    pub least: f64,
    pub most: f64,
}

impl Curve {
    /// With multipliers scaled by `root` and changes by its inverse: what makes the diagonal one. Ends that are no
    /// numbers ask for nothing; ends in the wrong order meet in the middle.
    pub fn new(ask: &Ask, root: f64) -> Self {
        let (least, most) = ask.push.range();
        let low = if ask.low.is_nan() { f64::NEG_INFINITY } else { ask.low / root };
        let high = if ask.high.is_nan() { f64::INFINITY } else { ask.high / root };
        let (low, high) = if low > high { (0.5 * (low + high), 0.5 * (low + high)) } else { (low, high) };
        let scaled = |p: f64| if p == 0.0 { 0.0 } else { p * root };
        Self { low, high, least: scaled(least), most: scaled(most) }.normal()
    }

    /// An end that cannot be pushed from is no end, and where there is no end nothing pushes: so a corner of the curve
    /// belongs to one place only.
    pub fn normal(mut self) -> Self {
        if self.low == f64::NEG_INFINITY || self.most <= 0.0 {
            (self.low, self.most) = (f64::NEG_INFINITY, self.most.min(0.0));
        }
        if self.high == f64::INFINITY || self.least >= 0.0 {
            (self.high, self.least) = (f64::INFINITY, self.least.max(0.0));
        }
        self
    }

    pub fn is_equality(&self) -> bool {
        self.low == self.high
    }

    /// The multiplier that minimises `1/2 d (lambda - z)^2 + g(lambda)`, with `z = lambda_before - y / d`.
    pub fn nearest(&self, z: f64, d: f64) -> f64 {
        let (up, down) = (z + self.low / d, z + self.high / d);
        let free = if up > 0.0 || self.is_equality() {
            up
        } else if down < 0.0 {
            down
        } else {
            0.0
        };
        // Not `clamp`, which panics on NaN.
        free.min(self.most).max(self.least)
    }

    /// How far the pair is from the curve, in units of `y`: the natural residual of complementarity. Written without the
    /// difference of two multipliers, which are huge where rows contradict each other.
    pub fn residual(&self, lambda: f64, y: f64, d: f64) -> f64 {
        let (up, down) = (lambda + (self.low - y) / d, lambda + (self.high - y) / d);
        let (goal, to_end) = if up > 0.0 || self.is_equality() {
            (up, self.low - y)
        } else if down < 0.0 {
            (down, self.high - y)
        } else {
            (0.0, -lambda * d)
        };
        if goal > self.most {
            (self.most - lambda).abs() * d
        } else if goal < self.least {
            (self.least - lambda).abs() * d
        } else {
            to_end.abs()
        }
    }

    /// The size of what is wanted of a row at rest.
    pub fn wanted(&self) -> f64 {
        if self.low > 0.0 {
            self.low
        } else if self.high < 0.0 {
            -self.high
        } else {
            0.0
        }
    }
}
