//! Four numbers side by side: four solids, or four fronts, that have nothing to do with each other.
//!
//! They fill one wide register without any shuffling, and the long chains of dependent operations of one hide behind
//! those of the others. Multiplications and additions stay separate, so that the bits are the same with and without wide
//! registers.

use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// Four numbers in one wide register.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub(crate) struct Four(pub [f64; 4]);

macro_rules! lanewise {
    ($trait:ident, $name:ident, $op:tt) => {
        impl $trait for Four {
            type Output = Self;
            #[inline(always)]
            fn $name(self, o: Self) -> Self {
                Four([self.0[0] $op o.0[0], self.0[1] $op o.0[1], self.0[2] $op o.0[2], self.0[3] $op o.0[3]])
            }
        }
    };
}
lanewise!(Add, add, +);
lanewise!(Sub, sub, -);
lanewise!(Mul, mul, *);

impl AddAssign for Four {
    #[inline(always)]
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

impl SubAssign for Four {
    #[inline(always)]
    fn sub_assign(&mut self, o: Self) {
        *self = *self - o;
    }
}

impl Neg for Four {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Four(self.0.map(|x| -x))
    }
}

impl Four {
    #[inline(always)]
    pub(crate) fn all(x: f64) -> Self {
        Four([x; 4])
    }
    #[inline(always)]
    pub(crate) fn over(self, o: Self) -> Self {
        Four([self.0[0] / o.0[0], self.0[1] / o.0[1], self.0[2] / o.0[2], self.0[3] / o.0[3]])
    }
    #[inline(always)]
    pub(crate) fn root(self) -> Self {
        Four([self.0[0].sqrt(), self.0[1].sqrt(), self.0[2].sqrt(), self.0[3].sqrt()])
    }
    /// True when every lane is at most `o`; not so when one is not a number.
    #[inline(always)]
    pub(crate) fn all_at_most(self, o: Self) -> bool {
        (self.0[0] <= o.0[0]) & (self.0[1] <= o.0[1]) & (self.0[2] <= o.0[2]) & (self.0[3] <= o.0[3])
    }
}

/// Four vectors.
pub(crate) type Three = [Four; 3];

#[inline(always)]
pub(crate) fn plus(a: Three, b: Three) -> Three {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}
#[inline(always)]
pub(crate) fn minus(a: Three, b: Three) -> Three {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}
#[inline(always)]
pub(crate) fn times(a: Three, s: Four) -> Three {
    [a[0] * s, a[1] * s, a[2] * s]
}
#[inline(always)]
pub(crate) fn dot(a: Three, b: Three) -> Four {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
#[inline(always)]
pub(crate) fn cross(a: Three, b: Three) -> Three {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
pub(crate) fn symmetric(i: &[Four; 6], v: Three) -> Three {
    [
        i[0] * v[0] + i[1] * v[1] + i[2] * v[2],
        i[1] * v[0] + i[3] * v[1] + i[4] * v[2],
        i[2] * v[0] + i[4] * v[1] + i[5] * v[2],
    ]
}

/// Rotation matrix of a unit quaternion, by columns.
#[inline(always)]
pub(crate) fn axes(q: &[Four; 4]) -> [Three; 3] {
    let [x, y, z, w] = *q;
    let one = Four::all(1.0);
    let (x2, y2, z2) = (x + x, y + y, z + z);
    let (xx, xy, xz, yy, yz, zz) = (x * x2, x * y2, x * z2, y * y2, y * z2, z * z2);
    let (wx, wy, wz) = (w * x2, w * y2, w * z2);
    [
        [one - (yy + zz), xy + wz, xz - wy],
        [xy - wz, one - (xx + zz), yz + wx],
        [xz + wy, yz - wx, one - (xx + yy)],
    ]
}

#[inline(always)]
pub(crate) fn into_body(axes: &[Three; 3], v: Three) -> Three {
    [dot(axes[0], v), dot(axes[1], v), dot(axes[2], v)]
}

#[inline(always)]
pub(crate) fn out_of_body(axes: &[Three; 3], v: Three) -> Three {
    plus(plus(times(axes[0], v[0]), times(axes[1], v[1])), times(axes[2], v[2]))
}

/// `R S R^T` of symmetric matrices (upper triangles) and rotation matrices by columns.
#[inline(always)]
pub(crate) fn rotated(axes: &[Three; 3], s: &[Four; 6]) -> [Four; 6] {
    // Columns of R S.
    let [x, y, z] = *axes;
    let rs = [
        plus(plus(times(x, s[0]), times(y, s[1])), times(z, s[2])),
        plus(plus(times(x, s[1]), times(y, s[3])), times(z, s[4])),
        plus(plus(times(x, s[2]), times(y, s[4])), times(z, s[5])),
    ];
    let entry = |i: usize, j: usize| rs[0][i] * x[j] + rs[1][i] * y[j] + rs[2][i] * z[j];
    [entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)]
}

/// Defines a function that runs with wide registers where the machine has them, the bits being the same.
macro_rules! wide {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        $(#[$doc])*
        $vis fn $name($($arg: $type),*) $(-> $out)? {
            #[inline(always)]
            fn here($($arg: $type),*) $(-> $out)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2($($arg: $type),*) $(-> $out)? {
                    here($($arg),*)
                }
                if std::is_x86_feature_detected!("avx2") {
                    // SAFETY: the feature was just detected.
                    #[allow(unsafe_code)]
                    return unsafe { avx2($($arg),*) };
                }
            }
            here($($arg),*)
        }
    };
}
pub(crate) use wide;
