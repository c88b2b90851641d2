//! Free rotation over one step: the discrete Moser-Veselov map in its exponential form.
//!
//! With `P` the angular momentum in body axes and `I` the inertia, the turn `f` of the step solves
//! ```text
//!     h P = (sin a / a) I f + ((1 - cos a) / a^2) f x I f,      a = |f|,      R' = R exp(f)
//! ```
//! (`lanes.rs` solves it for half angles, where it needs no trigonometry.) The angular momentum in world axes is what it was: it is kept to rounding by construction, whatever the accuracy of
//! `f`. Energy oscillates by `O(h^2)` and does not drift. (A constant rotation vector loses most of the momentum of a
//! tumbling box within seconds.)

use crate::math::{Matrix, Vector};
#[cfg(test)]
use crate::math::{Rotation, trig};

/// `sin a / a` and `(1 - cos a) / a^2` with their derivatives by `x = a^2`.
#[cfg(test)]
fn coefficients(x: f64) -> (f64, f64, f64, f64) {
    if x < 0.7 {
        // Series, exact to rounding up to here; no square root, no trigonometry.
        const S: [f64; 9] = [
            1.0,
            -1.0 / 6.0,
            1.0 / 120.0,
            -1.0 / 5040.0,
            1.0 / 362_880.0,
            -1.0 / 39_916_800.0,
            1.0 / 6_227_020_800.0,
            -1.0 / 1_307_674_368_000.0,
            1.0 / 355_687_428_096_000.0,
        ];
        const C: [f64; 9] = [
            0.5,
            -1.0 / 24.0,
            1.0 / 720.0,
            -1.0 / 40_320.0,
            1.0 / 3_628_800.0,
            -1.0 / 479_001_600.0,
            1.0 / 87_178_291_200.0,
            -1.0 / 20_922_789_888_000.0,
            1.0 / 6_402_373_705_728_000.0,
        ];
        let (mut s, mut c, mut ds, mut dc) = (S[8], C[8], 0.0, 0.0);
        for k in (0..8).rev() {
            ds = ds * x + s;
            dc = dc * x + c;
            s = s * x + S[k];
            c = c * x + C[k];
        }
        return (s, c, ds, dc);
    }
    let a = x.sqrt();
    let (sin, cos) = (trig::sin(a), trig::cos(a));
    let (s, c) = (sin / a, (1.0 - cos) / x);
    (s, c, (cos - s) / (2.0 * x), (s - 2.0 * c) / (2.0 * x))
}

/// The turn `f` in body axes for `h P`; `None` when the step is too long for there to be one. `guess` starts the
/// iteration.
#[cfg(test)]
pub(crate) fn moser_veselov(inertia: &Matrix, impulse: Vector, guess: Vector) -> Option<Vector> {
    let mut f = guess;
    let size = impulse.length_squared();
    if size == 0.0 {
        return Some(Vector::ZERO);
    }
    for _ in 0..12 {
        let x = f.length_squared();
        // The map folds over at a quarter turn: past it, solutions belong to another branch.
        if !(x < 2.4) {
            return None;
        }
        let (s, c, ds, dc) = coefficients(x);
        let i_f = *inertia * f;
        let cross = f.cross(i_f);
        let g = i_f * s + cross * c - impulse;
        // d/df: s I + c ([f] I - [I f]) + (2 ds I f + 2 dc f x I f) f^T
        let bend = i_f * (2.0 * ds) + cross * (2.0 * dc);
        let column = |i: Vector, e: Vector, fk: f64| i * s + (f.cross(i) - i_f.cross(e)) * c + bend * fk;
        let d = Matrix::from_cols(
            column(inertia.x_axis, Vector::X, f.x),
            column(inertia.y_axis, Vector::Y, f.y),
            column(inertia.z_axis, Vector::Z, f.z),
        );
        // Cramer's rule: cheaper than an inverse, and the matrix is close to the inertia.
        let (bc, det) = (d.y_axis.cross(d.z_axis), d.x_axis.dot(d.y_axis.cross(d.z_axis)));
        let delta =
            Vector::new(g.dot(bc), d.x_axis.dot(g.cross(d.z_axis)), d.x_axis.dot(d.y_axis.cross(g))) / det;
        f -= delta;
        if !f.is_finite() {
            return None;
        }
        // Quadratic: the next correction would be of the order of this one squared.
        if delta.length_squared() <= 1e-18 * (1e-6 + f.length_squared()) {
            return Some(f);
        }
    }
    None
}

/// The spin at the end of a step under its own gyroscopic torque, taken there: `I (w - w0) + h w x I w = h torque`, body
/// axes. It never gains energy, whatever the step; the explicit form (1994, Eq. 2) gains some in every step in which an
/// uneven solid tumbles.
pub(crate) fn spin_ahead(inertia: &Matrix, spin: Vector, torque: Vector, h: f64) -> Vector {
    let mut w = spin;
    for _ in 0..20 {
        let i_w = *inertia * w;
        let g = *inertia * (w - spin) + (w.cross(i_w) - torque) * h;
        let column = |i: Vector, e: Vector| i + (w.cross(i) - i_w.cross(e)) * h;
        let d = Matrix::from_cols(
            column(inertia.x_axis, Vector::X),
            column(inertia.y_axis, Vector::Y),
            column(inertia.z_axis, Vector::Z),
        );
        let delta = d.inverse() * g;
        w -= delta;
        if !w.is_finite() {
            break;
        }
        if delta.length_squared() <= 1e-28 * w.length_squared() {
            return w;
        }
    }
    // Too far for Newton: without the torque of the spin itself there is no energy to gain either.
    spin + inertia.inverse() * torque * h
}

/// `exp(f)` without square roots for short turns.
#[cfg(test)]
pub(crate) fn turn(f: Vector) -> Rotation {
    let x = 0.25 * f.length_squared();
    if x < 0.7 {
        let (s, c, ..) = coefficients(x);
        // cos b = 1 - b^2 (1 - cos b)/b^2
        let s = 0.5 * s;
        return Rotation::from_xyzw(f.x * s, f.y * s, f.z * s, 1.0 - x * c);
    }
    crate::math::exp(f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exp;

    #[test]
    fn coefficients_join_smoothly() {
        let (a, b) = (coefficients(0.7 - 1e-12), coefficients(0.7 + 1e-12));
        for (p, q) in [(a.0, b.0), (a.1, b.1), (a.2, b.2), (a.3, b.3)] {
            assert!((p - q).abs() < 1e-11, "{p} {q}");
        }
        let f = Vector::new(0.4, -0.3, 0.5);
        assert!((turn(f) * Vector::X - exp(f) * Vector::X).length() < 1e-15);
    }

    #[test]
    fn the_turn_solves_its_equation() {
        let inertia = Matrix::from_diagonal(Vector::new(1.0, 2.0, 2.5));
        for f in [Vector::new(0.3, 0.1, -0.2), Vector::new(0.0, 0.7, 0.3), Vector::new(1e-8, 0.0, 0.0)] {
            let (s, c, ..) = coefficients(f.length_squared());
            let impulse = inertia * f * s + f.cross(inertia * f) * c;
            let found = moser_veselov(&inertia, impulse, inertia.inverse() * impulse).unwrap();
            assert!((found - f).length() < 1e-14, "{f} {found}");
        }
        // Too fast for the step: no solution, and no nonsense either.
        assert!(moser_veselov(&inertia, Vector::new(5.0, 0.0, 0.0), Vector::new(5.0, 0.0, 0.0)).is_none());
    }
}
