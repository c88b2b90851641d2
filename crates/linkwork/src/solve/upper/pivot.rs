//! The exact way, for few rows: block principal pivoting on the small dense matrix `W`.
//!
//! Rows are scaled so that the diagonal is one: multipliers and changes then have one unit (the root of an energy), and a
//! row in micrometres weighs as much as one in radians. Each row sits in one place of its staircase (see `curve.rs`); the
//! rows on a vertical part are free and solved for, the others have a fixed multiplier. All rows that turn out to be in
//! the wrong place move at once as long as they get fewer (Judice & Pires 1994). When that goes in circles, a descent with
//! a line search takes over, which releases one row at a time, the most wrong one: the convex energy falls strictly with
//! every release, no place is visited twice, and so it ends.
//!
//! Dependent rows: `W` is regularised by `eps` of each row's own diagonal, and the error of that is taken out again by
//! proximal steps, which converge where the rows agree. Where they contradict each other the motion is the least-squares
//! one, and of the multipliers that make it the smallest are taken: the same problem once more, with the motion as an
//! equality. Nothing is dropped.

use super::curve::Curve;
use super::dense::Cholesky;
use crate::solve::Work;

/// Where on its staircase a row sits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// At the least multiplier.
    Bottom,
    /// Free, at the high end.
    High,
    /// No multiplier, between the ends.
    #[default]
    Zero,
    /// Free, at the low end; or an equality.
    Low,
    /// At the largest multiplier.
    Top,
}

/// How often the number of wrong rows may fail to fall before one row at a time is released.
const PATIENCE: usize = 4;
/// Most proximal steps.
const REFINEMENTS: usize = 6;
/// A residual above this part of what is wanted is a contradiction.
const CONTRADICTION: f64 = 1e-7;

/// The scaled problem and its scratch.
#[derive(Clone, Debug, Default)]
pub(super) struct Pivot {
    n: usize,
    /// `W + give`, scaled to a diagonal of one; full.
    pub a: Vec<f64>,
    /// Per row: the scale, the root of its diagonal.
    pub root: Vec<f64>,
    pub curves: Vec<Curve>,
    /// Per row: what is added to the diagonal.
    eps: Vec<f64>,
    /// Scaled multipliers.
    pub lambda: Vec<f64>,
    place: Vec<Place>,
    /// Where the proximal step is centred.
    centre: Vec<f64>,
    /// Per row: the regularised change, and the size of its rounding.
    y: Vec<f64>,
    rounding: Vec<f64>,
    free: Vec<usize>,
    goal: Vec<f64>,
    best: Vec<f64>,
    saved: Vec<Curve>,
    factor: Cholesky,
    /// Faces solved.
    pub rounds: usize,
}

impl Pivot {
    /// Room for `n` rows; matrix, roots, curves and multipliers are the caller's to fill.
    pub fn resize(&mut self, n: usize) {
        self.n = n;
        self.a.clear();
        self.a.resize(n * n, 0.0);
        for v in [
            &mut self.root,
            &mut self.eps,
            &mut self.lambda,
            &mut self.centre,
            &mut self.y,
            &mut self.rounding,
            &mut self.goal,
            &mut self.best,
        ] {
            v.clear();
            v.resize(n, 0.0);
        }
        for curves in [&mut self.curves, &mut self.saved] {
            curves.clear();
            curves.resize(n, Curve::default());
        }
        self.place.clear();
        self.place.resize(n, Place::Zero);
        self.free.clear();
        self.free.reserve(n);
        self.factor.reserve(n);
        self.rounds = 0;
    }

    /// Solves for `lambda`, which comes in as a warm start. `stiff` is the regularisation; `give[r]` of it is there
    /// already.
    pub fn solve(&mut self, stiff: f64, give: impl Fn(usize) -> f64, work: &Work) {
        for r in 0..self.n {
            self.eps[r] = (stiff - give(r)).max(0.0);
            self.lambda[r] = self.lambda[r].min(self.curves[r].most).max(self.curves[r].least);
        }
        // The guess decides where rows start, nothing more: with it as a centre the answer would depend on the past.
        self.place_all();
        self.centre.fill(0.0);
        self.settle(work);
        let wanted = self.curves.iter().fold(0.0, |m: f64, c| m.max(c.wanted()));
        let left = self.refine(1e-14 * wanted, work);
        if left > CONTRADICTION * wanted && !work.is_over() {
            self.shrink(1e-14 * wanted, work);
        }
    }

    /// Places rows by what the guess answers.
    fn place_all(&mut self) {
        self.centre.copy_from_slice(&self.lambda);
        self.answer();
        for r in 0..self.n {
            let c = &self.curves[r];
            let to = c.nearest(self.lambda[r] - self.y[r], 1.0);
            self.place[r] = c.place(to);
        }
    }

    /// Proximal steps until the regularisation is out of the answer, or no longer gets less. Tells the residual.
    fn refine(&mut self, enough: f64, work: &Work) -> f64 {
        let mut left = self.residual();
        for _ in 0..REFINEMENTS {
            if !(left > enough) || work.is_over() {
                break;
            }
            self.best.copy_from_slice(&self.lambda);
            self.centre.copy_from_slice(&self.lambda);
            self.settle(work);
            let next = self.residual();
            if !(next < left) {
                self.lambda.copy_from_slice(&self.best);
                break;
            }
            let stalls = next > 0.5 * left;
            left = next;
            if stalls {
                break;
            }
        }
        left
    }

    /// The smallest multipliers that move everything as these do, each on its own side.
    fn shrink(&mut self, enough: f64, work: &Work) {
        self.centre.copy_from_slice(&self.lambda);
        self.answer();
        self.saved.copy_from_slice(&self.curves);
        for r in 0..self.n {
            let (c, l, y) = (&mut self.curves[r], self.lambda[r], self.y[r]);
            let saturated = self.place[r] == Place::Top || self.place[r] == Place::Bottom;
            *c = if saturated || l == 0.0 {
                Curve { least: l, most: l, ..*c }
            } else {
                let both = c.is_equality();
                let least = if l > 0.0 && !both { 0.0 } else { c.least };
                let most = if l < 0.0 && !both { 0.0 } else { c.most };
                Curve { low: y, high: y, least, most }.normal()
            };
            self.place[r] = c.place(l);
        }
        self.centre.fill(0.0);
        self.settle(work);
        self.refine(enough, work);
        self.curves.copy_from_slice(&self.saved);
    }

    /// Largest distance of a row from its curve, unregularised and scaled.
    fn residual(&mut self) -> f64 {
        let mut most = 0.0;
        for r in 0..self.n {
            let y: f64 = row(&self.a, self.n, r).iter().zip(&self.lambda).map(|(a, l)| a * l).sum();
            most = crate::solve::larger(most, self.curves[r].residual(self.lambda[r], y, 1.0));
        }
        most
    }

    /// All rows to their right places, for one centre.
    fn settle(&mut self, work: &Work) {
        let (mut fewest, mut patience) = (usize::MAX, PATIENCE);
        loop {
            self.solve_face();
            self.lambda.copy_from_slice(&self.goal);
            self.answer();
            let most = crate::solve::largest(&self.lambda);
            let mut wrong = 0;
            for r in 0..self.n {
                if let Some(place) = self.better(r, 1e-13 * most) {
                    self.place[r] = place;
                    wrong += 1;
                }
            }
            if wrong == 0 || work.is_over() {
                break;
            }
            if wrong < fewest {
                (fewest, patience) = (wrong, PATIENCE);
            } else if patience > 0 {
                patience -= 1;
            } else {
                self.descend(work);
                break;
            }
        }
        for (l, c) in self.lambda.iter_mut().zip(&self.curves) {
            *l = l.min(c.most).max(c.least);
        }
        for r in 0..self.n {
            // What is rounding on the wrong side of a one-sided row is nothing at all.
            let c = &self.curves[r];
            let l = self.lambda[r];
            let pulls = match self.place[r] {
                Place::Low => l < 0.0,
                Place::High => l > 0.0,
                Place::Zero => true,
                Place::Top | Place::Bottom => false,
            };
            if pulls && !c.is_equality() {
                self.lambda[r] = 0.0f64.min(c.most).max(c.least);
            }
        }
    }

    /// One row at a time, downhill: from any place to the answer.
    fn descend(&mut self, work: &Work) {
        for r in 0..self.n {
            let c = &self.curves[r];
            self.lambda[r] = self.lambda[r].min(c.most).max(c.least);
            self.place[r] = c.place(self.lambda[r]);
        }
        // Every release costs a face or a few. The bound is for rounding, not for the method.
        for _ in 0..60 + 20 * self.n {
            self.solve_face();
            let blocked = self.walk();
            if work.is_over() {
                break;
            }
            if blocked {
                continue;
            }
            self.answer();
            let mut worst = (0.0, 0, Place::Zero);
            for r in 0..self.n {
                if let Some(place) = self.better(r, f64::INFINITY) {
                    let wrong = self.wrong_by(r);
                    if wrong > worst.0 {
                        worst = (wrong, r, place);
                    }
                }
            }
            if worst.0 == 0.0 {
                break;
            }
            self.place[worst.1] = worst.2;
        }
        self.answer();
    }

    /// From the multipliers towards the face's answer, as far as no row leaves its part of the curve. True: one did, and
    /// now sits at that corner.
    fn walk(&mut self) -> bool {
        let (mut step, mut first) = (1.0, None);
        for &r in &self.free {
            let (least, most) = self.part(r);
            let (from, to) = (self.lambda[r], self.goal[r]);
            let end = if to > most {
                most
            } else if to < least {
                least
            } else {
                continue;
            };
            let share = ((end - from) / (to - from)).max(0.0);
            if share < step {
                (step, first) = (share, Some((r, end)));
            }
        }
        for &r in &self.free {
            self.lambda[r] += step * (self.goal[r] - self.lambda[r]);
        }
        let Some((r, end)) = first else { return false };
        self.lambda[r] = end;
        // An equality that passes through zero is not stopped there, so zero is a corner here.
        self.place[r] = if end == 0.0 { Place::Zero } else { self.curves[r].place(end) };
        true
    }

    /// Least and largest multiplier of a free row where it is.
    fn part(&self, r: usize) -> (f64, f64) {
        let c = &self.curves[r];
        match self.place[r] {
            _ if c.is_equality() => (c.least, c.most),
            Place::Low => (0.0, c.most),
            _ => (c.least, 0.0),
        }
    }

    /// The multipliers of the free rows that put them where they belong, into `goal`; fixed ones in `lambda` are set.
    fn solve_face(&mut self) {
        self.rounds += 1;
        self.free.clear();
        for r in 0..self.n {
            let fixed = match self.place[r] {
                Place::Top => self.curves[r].most,
                Place::Bottom => self.curves[r].least,
                Place::Zero => 0.0,
                Place::Low | Place::High => {
                    self.free.push(r);
                    continue;
                }
            };
            self.lambda[r] = fixed;
            self.goal[r] = fixed;
        }
        for &r in &self.free {
            let end = if self.place[r] == Place::High { self.curves[r].high } else { self.curves[r].low };
            let mut right = end + self.eps[r] * self.centre[r];
            for (s, a) in row(&self.a, self.n, r).iter().enumerate() {
                if !matches!(self.place[s], Place::Low | Place::High) {
                    right -= a * self.lambda[s];
                }
            }
            self.goal[r] = right;
        }
        self.factor.solve(&self.a, &self.eps, self.n, &self.free, &mut self.goal);
    }

    /// `y = (a + eps) lambda - eps centre`, and what of it may be rounding.
    fn answer(&mut self) {
        for r in 0..self.n {
            let (mut y, mut size) = (0.0, 0.0);
            for (a, l) in row(&self.a, self.n, r).iter().zip(&self.lambda) {
                y += a * l;
                size += (a * l).abs();
            }
            self.y[r] = y + self.eps[r] * (self.lambda[r] - self.centre[r]);
            self.rounding[r] = 1e-15 * size * (8.0 + self.n as f64).sqrt();
        }
    }

    /// The better place of a row that is in a wrong one.
    fn better(&self, r: usize, slack: f64) -> Option<Place> {
        let (c, l) = (&self.curves[r], self.lambda[r]);
        if c.least == c.most {
            return None;
        }
        let low = self.y[r] < c.low - self.tolerance(r, c.low);
        let over_low = self.y[r] > c.low + self.tolerance(r, c.low);
        let high = self.y[r] > c.high + self.tolerance(r, c.high);
        let under_high = self.y[r] < c.high - self.tolerance(r, c.high);
        match self.place[r] {
            Place::Low | Place::High => {
                let (least, most) = self.part(r);
                if l > most + slack {
                    Some(if most == 0.0 { Place::Zero } else { Place::Top })
                } else if l < least - slack {
                    Some(if least == 0.0 { Place::Zero } else { Place::Bottom })
                } else {
                    None
                }
            }
            Place::Zero if low => Some(Place::Low),
            Place::Zero => high.then_some(Place::High),
            Place::Top => over_low.then_some(Place::Low),
            Place::Bottom => under_high.then_some(if c.is_equality() { Place::Low } else { Place::High }),
        }
    }

    fn tolerance(&self, r: usize, end: f64) -> f64 {
        self.rounding[r] + if end.is_finite() { 1e-14 * end.abs() } else { 0.0 }
    }

    /// By how much a fixed row is off its end.
    fn wrong_by(&self, r: usize) -> f64 {
        let (c, y) = (&self.curves[r], self.y[r]);
        match self.place[r] {
            Place::Top => y - c.low,
            Place::Bottom => c.high - y,
            _ => (c.low - y).max(y - c.high),
        }
    }
}

impl Curve {
    /// Where a multiplier that is allowed sits. Fixed ones stay where they are.
    fn place(&self, lambda: f64) -> Place {
        if self.least == self.most || (lambda >= self.most && self.most > 0.0) {
            Place::Top
        } else if lambda <= self.least && self.least < 0.0 {
            Place::Bottom
        } else if lambda > 0.0 || self.is_equality() {
            Place::Low
        } else if lambda < 0.0 {
            Place::High
        } else {
            Place::Zero
        }
    }
}

fn row(a: &[f64], n: usize, r: usize) -> &[f64] {
    &a[r * n..(r + 1) * n]
}
