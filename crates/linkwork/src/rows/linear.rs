//! Row kernels for points: a direction fixed in one solid, and a distance.

use super::{HalfRow, half};
use crate::math::{Vector, perpendicular, unit};

/// `v = t . (p - o)`, with `t` and `o` fixed in the *base* solid and `p` fixed in the *other*.
///
/// ```text
/// v' = t . (v_other(p) - v_base(p)),    v_x(p) = v_x + w_x x (p - c_x)
/// ```
/// Both velocities are taken at the same point `p` (Faure 1998, second line of `v_ij`): this is the exact derivative,
/// because turning the base also turns `t`, and the impulse it makes acts at one point of space on both solids, so
/// that angular momentum is kept while the joint is open. The simpler row with each velocity at its own anchor was
/// refused: it leaks angular momentum in proportion to the gap.
pub fn fixed_direction(
    t: Vector,
    p: Vector,
    base_center: Vector,
    other_center: Vector,
) -> (HalfRow, HalfRow) {
    (half(-t, -(p - base_center).cross(t)), half(t, (p - other_center).cross(t)))
}

/// `v = |p2 - p1|`: `v' = n . (v2(p2) - v1(p1))`, `n = (p2 - p1) / v`. The force acts along the line through both
/// points, so momentum is kept. Coinciding points have no direction: any one is a subgradient.
pub fn distance(p1: Vector, p2: Vector, c1: Vector, c2: Vector) -> (f64, [HalfRow; 2]) {
    let d = p2 - p1;
    let n = unit(d).unwrap_or(Vector::X);
    (d.length(), [half(-n, -(p1 - c1).cross(n)), half(n, (p2 - c2).cross(n))])
}

/// Radius and outward direction of `d` in the plane with unit normal `n`; any direction at the centre.
pub fn radial(d: Vector, n: Vector) -> (f64, Vector) {
    let flat = d - n * n.dot(d);
    (flat.length(), unit(flat).unwrap_or_else(|| perpendicular(n)))
}
