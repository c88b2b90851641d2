//! Points, rotations and frames.
//!
//! The vector types are the ones parry re-exports (glam's `f64` types), so that there is one maths library in the
//! house. Transcendental functions go through `libm`: the same bits come out natively and in WebAssembly.

pub use parry3d_f64::math::{Matrix, Pose, Rotation, Vector};

pub(crate) mod four;

pub(crate) mod trig {
    //! Platform-independent elementary functions.
    pub use libm::{acos, atan2, cos, sin};
}

/// The rotation about `v` by the angle `|v|` (exponential map).
pub fn exp(v: Vector) -> Rotation {
    let angle = v.length();
    let half = 0.5 * angle;
    // sin(a/2)/a, by its series near zero where the quotient loses digits.
    let s = if angle < 1e-4 { 0.5 - half * half / 12.0 } else { trig::sin(half) / angle };
    Rotation::from_xyzw(v.x * s, v.y * s, v.z * s, trig::cos(half)).normalize()
}

/// The rotation vector of `q`: axis times angle, angle in `[0, pi]` (the shorter way round).
pub fn log(q: Rotation) -> Vector {
    let (v, w) = (Vector::new(q.x, q.y, q.z), q.w);
    let (v, w) = if w < 0.0 { (-v, -w) } else { (v, w) };
    let s = v.length();
    if s < 1e-9 { v * 2.0 } else { v * (2.0 * trig::atan2(s, w) / s) }
}

/// The matrix `K` with `d log(R) = K omega` for `R' = [omega] R`: the inverse left Jacobian of the exponential.
///
/// `K = 1 - [v]/2 + (1/a^2 - (1 + cos a)/(2 a sin a)) [v]^2` with `v = log R`, `a = |v|`.
pub fn log_jacobian(v: Vector) -> Matrix {
    let a = v.length();
    let c = if a < 1e-3 {
        1.0 / 12.0 + a * a / 720.0
    } else {
        let half = 0.5 * a;
        // 1/a^2 - cot(a/2)/(2a); the cotangent vanishes at a = pi and stays finite there.
        1.0 / (a * a) - trig::cos(half) / (2.0 * a * trig::sin(half))
    };
    let x = skew(v);
    Matrix::IDENTITY - x * 0.5 + (x * x) * c
}

/// The cross-product matrix: `skew(a) * b == a.cross(b)`.
pub fn skew(v: Vector) -> Matrix {
    Matrix::from_cols(Vector::new(0.0, v.z, -v.y), Vector::new(-v.z, 0.0, v.x), Vector::new(v.y, -v.x, 0.0))
}

/// The eigenvalues of a symmetric matrix, in no particular order, good to the square root of rounding in the smallest.
pub fn eigenvalues(m: Matrix) -> [f64; 3] {
    let third = (m.x_axis.x + m.y_axis.y + m.z_axis.z) / 3.0;
    let rest = m - Matrix::from_diagonal(Vector::splat(third));
    let square = rest.x_axis.length_squared() + rest.y_axis.length_squared() + rest.z_axis.length_squared();
    let p = (square / 6.0).sqrt();
    if !(p > 0.0) {
        return [third; 3];
    }
    // The characteristic polynomial of rest / p is that of a cosine of a threefold angle.
    let r = (0.5 * (rest * (1.0 / p)).determinant()).clamp(-1.0, 1.0);
    let angle = trig::acos(r) / 3.0;
    let at = |turn: f64| third + 2.0 * p * trig::cos(angle + turn);
    let (first, last) = (at(0.0), at(std::f64::consts::TAU / 3.0));
    [first, 3.0 * third - first - last, last]
}

/// Some unit vector perpendicular to the unit vector `n`, continuous away from the coordinate axes.
pub fn perpendicular(n: Vector) -> Vector {
    let a = n.abs();
    let e = if a.x <= a.y && a.x <= a.z {
        Vector::X
    } else if a.y <= a.z {
        Vector::Y
    } else {
        Vector::Z
    };
    (e - n * n.dot(e)).normalize()
}

/// The rotation whose columns are the frame `(i, j, k)` with `i` along `axis` and `j` as near to `up` as can be.
/// `None` when `axis` is too short to have a direction.
pub fn frame_rotation(axis: Vector, up: Option<Vector>) -> Option<Rotation> {
    let i = unit(axis)?;
    let j = up
        .and_then(|u| unit(u - i * i.dot(u)))
        // Without `up`, the shortest turn from x to the axis: `axis 1 0 0` then is the identity.
        .unwrap_or_else(|| rotation_between(Vector::X, i) * Vector::Y);
    Some(Rotation::from_mat3(&Matrix::from_cols(i, j, i.cross(j))).normalize())
}

/// The direction of `v`; `None` when it is zero, not finite, or too small to tell.
pub fn unit(v: Vector) -> Option<Vector> {
    let n = v.length();
    (n.is_finite() && n > 1e-12).then(|| v / n)
}

/// The shortest rotation that takes the unit vector `a` to the unit vector `b`.
pub fn rotation_between(a: Vector, b: Vector) -> Rotation {
    let c = a.cross(b);
    let w = 1.0 + a.dot(b);
    if w < 1e-14 {
        let p = perpendicular(a);
        return Rotation::from_xyzw(p.x, p.y, p.z, 0.0);
    }
    Rotation::from_xyzw(c.x, c.y, c.z, w).normalize()
}

/// `angle` moved by whole turns to the value nearest to `near`.
pub fn unwrap_angle(angle: f64, near: f64) -> f64 {
    const TURN: f64 = 2.0 * std::f64::consts::PI;
    angle + TURN * ((near - angle) / TURN).round()
}

/// A small deterministic generator (splitmix64) for restarts and tests: no global state, same numbers everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts a sequence.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }
    /// Uniform in `[-1, 1)`.
    pub fn signed(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    /// Uniform in the cube of half edge 1.
    pub fn cube(&mut self) -> Vector {
        Vector::new(self.signed(), self.signed(), self.signed())
    }
    /// Uniform in the unit ball.
    pub fn ball(&mut self) -> Vector {
        loop {
            let v = self.cube();
            if v.length_squared() <= 1.0 {
                return v;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_are_those_of_the_library() {
        let mut random = Random::new(5);
        for _ in 0..200 {
            let (a, b) = (random.cube(), random.cube());
            let outer = |v: Vector| Matrix::from_cols(v * v.x, v * v.y, v * v.z);
            let m = outer(a) * 3.0 - outer(b) + Matrix::IDENTITY * random.signed();
            let (mut ours, theirs) = (eigenvalues(m), parry3d_f64::math::SymmetricEigen::new(m).eigenvalues);
            let mut theirs = theirs.to_array();
            ours.sort_by(f64::total_cmp);
            theirs.sort_by(f64::total_cmp);
            for k in 0..3 {
                assert!((ours[k] - theirs[k]).abs() < 1e-7, "{ours:?} {theirs:?}");
            }
        }
        assert_eq!(eigenvalues(Matrix::IDENTITY * 2.0), [2.0; 3]);
    }

    #[test]
    fn exp_and_log_are_inverse_up_to_half_a_turn() {
        for v in [Vector::new(0.3, -0.2, 0.9), Vector::new(1e-9, 0.0, 2e-9), Vector::new(0.0, 3.1, 0.0)] {
            assert!((log(exp(v)) - v).length() < 1e-12, "{v}");
        }
    }

    #[test]
    fn log_jacobian_matches_finite_differences() {
        let h = 1e-6;
        for v in [Vector::new(0.3, -0.2, 0.9), Vector::new(1.0, 2.0, -1.5), Vector::new(1e-4, 0.0, 0.0)] {
            let k = log_jacobian(v);
            for e in [Vector::X, Vector::Y, Vector::Z] {
                let d = (log(exp(e * h) * exp(v)) - log(exp(e * -h) * exp(v))) / (2.0 * h);
                assert!((d - k * e).length() < 1e-8, "{v} {e}: {d} {}", k * e);
            }
        }
    }

    #[test]
    fn frames_have_their_axis_first() {
        let q = frame_rotation(Vector::new(0.0, 2.0, 0.0), None).unwrap();
        assert!((q * Vector::X - Vector::Y).length() < 1e-15);
        let q = frame_rotation(Vector::Z, Some(Vector::new(0.0, 1.0, 5.0))).unwrap();
        assert!((q * Vector::Y - Vector::Y).length() < 1e-15);
        assert!((frame_rotation(Vector::X, None).unwrap() * Vector::Y - Vector::Y).length() < 1e-15);
        assert!(frame_rotation(Vector::ZERO, None).is_none());
    }

    #[test]
    fn unwrapping_counts_turns() {
        let turn = 2.0 * std::f64::consts::PI;
        assert!((unwrap_angle(0.1, 0.1 + turn * 2.0) - (0.1 + turn * 2.0)).abs() < 1e-12);
        assert!((unwrap_angle(-3.0, 3.0) - (turn - 3.0)).abs() < 1e-12);
    }
}
