//! Row kernels for orientations. Each returns values and the angular part `a` of the second solid, `v' = a . (w2 - w1)`;
//! the first solid gets `-a`: opposite torque impulses (1994, erratum 3).

use crate::math::{Matrix, Rotation, Vector, log, log_jacobian, perpendicular, rotation_between, trig, unit};

/// Axes `a` (of solid 1) and `b` (of solid 2) shall coincide: the swing vector `s = theta n`, `n = a x b / |a x b|`.
///
/// With `p = n x a` (so that `b = cos(theta) a + sin(theta) p`) and `w = w2 - w1`:
/// ```text
/// s' = (w . n) n + theta (cot(theta) w . p - w . a) p      seen from solid 1
/// ```
/// Components on two directions `e` fixed in solid 1 and perpendicular to `a` give the two rows. `sin`-like forms
/// (`e . b`) were refused: they vanish for opposed axes and call a reversed hinge closed. Near `theta = pi` the exact
/// slope grows without bound, since the direction of the swing is undetermined there; it is cut at `STEEPEST`.
///
/// Everything is written in `s` and `l = theta p = s x a`, which are smooth where the axes coincide, and not in `n` and
/// `p`, which are undetermined there: with `n` from a cross product of length 1e-12 the rows would be off by 1e-4.
pub struct Swing {
    a: Vector,
    s: Vector,
    l: Vector,
    /// `(slope - 1) / theta^2`, with `slope = theta cot(theta)`.
    bend: f64,
}

impl Swing {
    pub fn new(a: Vector, b: Vector) -> Self {
        const STEEPEST: f64 = -4.0;
        let c = a.cross(b);
        let (sin, cos) = (c.length(), a.dot(b));
        let theta = trig::atan2(sin, cos);
        let s = if sin > 1e-12 {
            c * (theta / sin)
        } else if cos > 0.0 {
            c
        } else {
            perpendicular(a) * theta
        };
        let bend = if theta < 1e-3 {
            -1.0 / 3.0 - theta * theta / 45.0
        } else {
            let slope = theta * trig::cos(theta) / trig::sin(theta);
            (slope.max(STEEPEST) - 1.0) / (theta * theta)
        };
        Self { a, s, l: s.cross(a), bend }
    }

    /// Value and row along `e`.
    pub fn along(&self, e: Vector) -> (f64, Vector) {
        let el = e.dot(self.l);
        (e.dot(self.s), e + self.l * (self.bend * el) - self.a * (self.a.dot(e) + el))
    }
}

/// The angle between two axes: `theta' = n . w`, `n = a x b / |a x b|` (1994, section 4.2.1).
pub fn angle(a: Vector, b: Vector) -> (f64, Vector) {
    let c = a.cross(b);
    (trig::atan2(c.length(), a.dot(b)), unit(c).unwrap_or_else(|| perpendicular(a)))
}

/// The signed twist from `b1` to `b2` once the swing from `a1` to `a2` is undone (1994, section 4.2.2, erratum 2).
///
/// ```text
/// twist' = w . (a1 + a2) / (1 + a1 . a2)
/// ```
/// The paper projects `b1`, `b2` on the median plane; that shears the angle by the cosine of half the swing, so it is
/// only right for zero twist. Undoing the swing is right at any swing short of half a turn, where the row is zero.
pub fn twist(a1: Vector, a2: Vector, b1: Vector, b2: Vector) -> (f64, Vector) {
    let b = rotation_between(a1, a2) * b1;
    let value = trig::atan2(a2.dot(b.cross(b2)), b.dot(b2));
    let w = 1.0 + a1.dot(a2);
    // Within about 3 degrees of opposed axes the twist is undetermined; the slope is cut there.
    (value, if w < 1e-9 { Vector::ZERO } else { (a1 + a2) / w.max(1e-3) })
}

/// All rotations locked: `v = log(R1^T R2)`, `v' = K(v) R1^T w` with the inverse left Jacobian `K` (Faure 1998 takes
/// `K = 1`, exact only at zero). Returns the vector in frame 1 and the rows as columns, world axes.
pub fn all(r1: Rotation, r2: Rotation) -> (Vector, [Vector; 3]) {
    let v = log(r1.inverse() * r2);
    let rows = Matrix::from_quat(r1) * log_jacobian(v).transpose();
    (v, [rows.x_axis, rows.y_axis, rows.z_axis])
}

/// Hooke's cross: `v = j1 . k2`, `v' = (k2 x j1) . w`.
pub fn hooke(j1: Vector, k2: Vector) -> (f64, Vector) {
    (j1.dot(k2), k2.cross(j1))
}
