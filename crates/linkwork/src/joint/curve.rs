//! A smooth curve through given points: the natural (or periodic) cubic spline over chord length.

use crate::math::Vector;

/// Through the points in order, with continuous curvature; closed curves return to the first point.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    points: Vec<Vector>,
    closed: bool,
    /// Parameter at each knot (chord length); closed curves have one more than points.
    knots: Vec<f64>,
    /// Second derivative at each knot.
    bends: Vec<Vector>,
}

/// A place on a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Chord-length parameter.
    pub s: f64,
    /// Position in the curve's frame.
    pub position: Vector,
    /// Unit tangent.
    pub tangent: Vector,
    /// The place is an end of an open curve and the query point lies beyond it.
    pub beyond: bool,
}

impl Curve {
    /// Fails, saying why, when there are too few points, two neighbours coincide or a number is not finite.
    pub fn through(points: Vec<Vector>, closed: bool) -> Result<Self, String> {
        let least = if closed { 3 } else { 2 };
        if points.len() < least {
            return Err(format!("a curve needs at least {least} points, {} given", points.len()));
        }
        if points.len() > 100_000 {
            return Err(format!("a curve of {} points is beyond the limit of 100000", points.len()));
        }
        if points.iter().any(|p| !p.is_finite()) {
            return Err("a curve point is not finite".into());
        }
        let count = points.len() + closed as usize;
        let at = |i: usize| points[i % points.len()];
        let mut knots = vec![0.0];
        for i in 1..count {
            let step = (at(i) - at(i - 1)).length();
            if step <= 1e-9 {
                return Err(format!("curve points {} and {} coincide", i, i % points.len() + 1));
            }
            knots.push(knots[i - 1] + step);
        }
        let bends = second_derivatives(&knots, at, closed);
        Ok(Self { points, closed, knots, bends })
    }

    /// The points it was made from.
    pub fn points(&self) -> &[Vector] {
        &self.points
    }
    /// Does it return to its first point?
    pub fn closed(&self) -> bool {
        self.closed
    }
    /// Largest parameter.
    pub fn length(&self) -> f64 {
        self.knots[self.knots.len() - 1]
    }

    /// Position, first and second derivative on piece `i` at parameter `s`.
    fn evaluate(&self, i: usize, s: f64) -> (Vector, Vector, Vector) {
        let (k0, k1) = (self.knots[i], self.knots[i + 1]);
        let h = k1 - k0;
        let (a, b) = ((k1 - s) / h, (s - k0) / h);
        let (p0, p1) = (self.points[i], self.points[(i + 1) % self.points.len()]);
        let (m0, m1) = (self.bends[i], self.bends[i + 1]);
        let h6 = h * h / 6.0;
        let p = p0 * a + p1 * b + (m0 * (a * a * a - a) + m1 * (b * b * b - b)) * h6;
        let d = (p1 - p0) / h + (m1 * (3.0 * b * b - 1.0) - m0 * (3.0 * a * a - 1.0)) * (h / 6.0);
        (p, d, m0 * a + m1 * b)
    }

    /// The position at a parameter (wrapped or clamped).
    pub fn position(&self, s: f64) -> Vector {
        let s = if self.closed { s.rem_euclid(self.length()) } else { s.clamp(0.0, self.length()) };
        let i = self.knots.partition_point(|k| *k <= s).clamp(1, self.knots.len() - 1) - 1;
        self.evaluate(i, s).0
    }

    /// The nearest place to `p`: samples every piece, then refines the best few by Newton on `(c - p) . c' = 0`.
    pub fn nearest(&self, p: Vector) -> CurvePoint {
        const SAMPLES: usize = 8;
        let pieces = self.knots.len() - 1;
        let (mut piece, mut s, mut best) = (0, 0.0, f64::INFINITY);
        for i in 0..pieces {
            for k in 0..=SAMPLES {
                let t = self.knots[i] + (self.knots[i + 1] - self.knots[i]) * k as f64 / SAMPLES as f64;
                let d = (self.evaluate(i, t).0 - p).length_squared();
                if d < best {
                    (piece, s, best) = (i, t, d);
                }
            }
        }
        // Newton with fallback to the Gauss-Newton step where the curvature term would make it climb; the parameter
        // may walk into the neighbouring piece.
        for _ in 0..30 {
            let (c, d, dd) = self.evaluate(piece, s);
            let slope = (c - p).dot(d);
            let newton = d.length_squared() + (c - p).dot(dd);
            let curvature = if newton > 0.1 * d.length_squared() { newton } else { d.length_squared() };
            let h = self.knots[piece + 1] - self.knots[piece];
            let mut next = s - (slope / curvature).clamp(-0.5 * h, 0.5 * h);
            if self.closed {
                if next < 0.0 {
                    next += self.length();
                }
                if next >= self.length() {
                    next -= self.length();
                }
            } else {
                next = next.clamp(0.0, self.length());
            }
            let moved = (next - s).abs();
            s = next;
            piece = self.knots.partition_point(|k| *k <= s).clamp(1, pieces) - 1;
            if moved <= 1e-15 * self.length() {
                break;
            }
        }
        let (position, d, _) = self.evaluate(piece, s);
        let tangent = d.normalize_or_zero();
        let at_end = !self.closed && (s <= 0.0 || s >= self.length());
        let outward = if s <= 0.0 { -tangent } else { tangent };
        CurvePoint { s, position, tangent, beyond: at_end && (p - position).dot(outward) > 0.0 }
    }
}

/// Solves the tridiagonal (open) or cyclic tridiagonal (closed) system of the C2 spline.
fn second_derivatives(knots: &[f64], at: impl Fn(usize) -> Vector, closed: bool) -> Vec<Vector> {
    let n = knots.len();
    let h = |i: usize| knots[i + 1] - knots[i];
    let slope = |i: usize| (at(i + 1) - at(i)) / h(i);
    if !closed {
        // Natural ends: zero second derivative.
        let m = n.saturating_sub(2);
        let (mut c, mut d) = (vec![0.0; m], vec![Vector::ZERO; m]);
        for k in 0..m {
            let i = k + 1;
            let (a, b) = (h(i - 1), 2.0 * (h(i - 1) + h(i)));
            let r = (slope(i) - slope(i - 1)) * 6.0;
            let (pc, pd) = if k == 0 { (0.0, Vector::ZERO) } else { (c[k - 1], d[k - 1]) };
            let w = b - a * pc;
            c[k] = h(i) / w;
            d[k] = (r - pd * a) / w;
        }
        let mut out = vec![Vector::ZERO; n];
        for k in (0..m).rev() {
            out[k + 1] = d[k] - out[k + 2] * c[k];
        }
        return out;
    }
    // Closed: unknowns 0..m, diagonally dominant and cyclic; Gauss-Seidel converges by at least a factor 4 a sweep.
    let m = n - 1;
    let mut out = vec![Vector::ZERO; n];
    for _ in 0..60 {
        for i in 0..m {
            let prev = (i + m - 1) % m;
            let r = (slope(i) - (at(i) - at(prev + m * (i == 0) as usize)) / h(prev)) * 6.0;
            out[i] = (r - out[prev] * h(prev) - out[(i + 1) % m] * h(i)) / (2.0 * (h(prev) + h(i)));
        }
    }
    out[m] = out[0];
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_through_its_points_smoothly() {
        let pts: Vec<Vector> = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.5], [0.0, 2.0, 0.0]]
            .map(Vector::from_array)
            .to_vec();
        for closed in [false, true] {
            let c = Curve::through(pts.clone(), closed).unwrap();
            for (i, p) in pts.iter().enumerate() {
                assert!((c.position(c.knots[i]) - *p).length() < 1e-12);
            }
            for i in 1..c.knots.len() - 1 {
                let (a, b) = (c.evaluate(i - 1, c.knots[i]), c.evaluate(i, c.knots[i]));
                assert!(
                    (a.1 - b.1).length() < 1e-9 && (a.2 - b.2).length() < 1e-9,
                    "piece {i} closed {closed}"
                );
            }
        }
    }

    #[test]
    fn nearest_is_perpendicular_and_nearest() {
        let ring: Vec<Vector> = (0..12)
            .map(|i| i as f64 * std::f64::consts::TAU / 12.0)
            .map(|a| Vector::new(a.cos(), a.sin(), 0.0))
            .collect();
        let c = Curve::through(ring, true).unwrap();
        for p in [Vector::new(2.0, 1.0, 0.3), Vector::new(-0.4, 0.2, 1.0), Vector::new(0.9, -0.01, 0.0)] {
            let n = c.nearest(p);
            assert!((p - n.position).dot(n.tangent).abs() < 1e-9, "{p}");
            let scan = (0..10_000).map(|k| (c.position(c.length() * k as f64 / 1e4) - p).length());
            assert!((p - n.position).length() <= scan.fold(f64::INFINITY, f64::min) + 1e-9);
            assert!(!n.beyond);
        }
    }

    #[test]
    fn bad_curves_say_why() {
        assert!(Curve::through(vec![Vector::ZERO], false).unwrap_err().contains("at least 2"));
        assert!(Curve::through(vec![Vector::ZERO, Vector::ZERO], false).unwrap_err().contains("coincide"));
        let open = Curve::through(vec![Vector::ZERO, Vector::X], false).unwrap();
        assert!(open.nearest(Vector::new(3.0, 1.0, 0.0)).beyond);
        assert!(!open.nearest(Vector::new(0.5, 1.0, 0.0)).beyond);
    }
}
