//! Rows scaled by a factor of the inverse mass, `W = J C` with `C C^T = M^-1`.

use super::lanes::Lane;
use crate::math::Vector;
use crate::rows::{HalfRow, Masses, Rows};

/// The same half row of every lane, entry by entry.
#[inline(always)]
pub(super) fn side_by_side<V: Lane>(all: &Rows, rows: &[u32], r: usize, side: usize) -> [V; 6] {
    let rows: [HalfRow; 4] =
        std::array::from_fn(|l| all.half_behind(rows[l.min(V::WIDTH - 1)] as usize, r, side));
    std::array::from_fn(|k| V::from_fn(|l| rows[l][k]))
}

/// Arms of the ball joints in all lanes, if that is what all of them are.
#[inline(always)]
pub(super) fn arms_of<'a, V: Lane>(
    all: &'a Rows,
    rows: &[u32],
    count: usize,
) -> Option<[&'a [Vector; 2]; 4]> {
    if count != 3 {
        return None;
    }
    let first = all.arms(rows[0] as usize)?;
    let mut arms = [first; 4];
    for l in 1..V::WIDTH {
        arms[l] = all.arms(rows[l] as usize)?;
    }
    Some(arms)
}

/// Scaled rows of ball joints, from their arms: `J = -+[1, -[a]]`.
#[inline(always)]
pub(super) fn scale_ball<V: Lane>(w: &mut [[V; 3]], scale: &[V], arms: &[&[Vector; 2]; 4], side: usize) {
    let zero = V::default();
    let &[s, c0, c1, c2, c3, c4, c5] = scale else {
        // A particle: it does not turn.
        let s = if side == 0 { zero - scale[0] } else { scale[0] };
        w.copy_from_slice(&[[s, zero, zero], [zero, s, zero], [zero, zero, s]]);
        return;
    };
    let x = V::from_fn(|l| arms[l][side].x);
    let y = V::from_fn(|l| arms[l][side].y);
    let z = V::from_fn(|l| arms[l][side].z);
    let (s, x, y, z) = if side == 0 { (zero - s, x, y, z) } else { (s, zero - x, zero - y, zero - z) };
    // Rows of [a]: (0, -z, y), (z, 0, -x), (-y, x, 0).
    w.copy_from_slice(&[
        [s, zero, zero],
        [y * c3 - z * c1, y * c4 - z * c2, y * c5],
        [zero, s, zero],
        [z * c0 - x * c3, zero - x * c4, zero - x * c5],
        [zero, zero, s],
        [x * c1 - y * c0, x * c2, zero],
    ]);
}

/// Half rows `J` in all lanes, scaled.
#[inline(always)]
pub(super) fn scale_general<V: Lane>(w: &mut [[V; 3]], scale: &[V], all: &Rows, rows: &[u32], side: usize) {
    let &[s, c0, c1, c2, c3, c4, c5] = scale else {
        for (r, w) in w.iter_mut().enumerate() {
            let j: [V; 6] = side_by_side(all, rows, r, side);
            *w = [j[0] * scale[0], j[1] * scale[0], j[2] * scale[0]];
        }
        return;
    };
    for (r, w) in w.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let j: [V; 6] = side_by_side(all, rows, r, side);
        w[0] = [j[0] * s, j[1] * s, j[2] * s];
        w[1] = [j[3] * c0 + j[4] * c1 + j[5] * c3, j[4] * c2 + j[5] * c4, j[5] * c5];
    }
}

/// Square root of the inverse mass, and of what turns the lower Cholesky factor of the inverse inertia.
#[inline(always)]
pub(super) fn roots<V: Lane>(out: &mut [V], masses: &Masses, solids: &[u32], turns: bool) {
    let mass = V::from_fn(|l| masses.inverse_mass(solids[l] as usize));
    if !turns {
        out[0] = mass.map(|x| if x > 0.0 { x.sqrt() } else { 0.0 });
        return;
    }
    let upper: [[f64; 6]; 4] =
        std::array::from_fn(|l| masses.upper_inverse_inertia(solids[l.min(V::WIDTH - 1)] as usize));
    let entry = |e: usize| V::from_fn(|l| upper[l][e]);
    let root = |x: V| x.map(|x| if x > 0.0 { x.sqrt() } else { 0.0 });
    let over = |x: V, d: V| x.zip(d, |x, d| if d > 0.0 { x / d } else { 0.0 });
    let l11 = root(entry(0));
    let (l21, l31) = (over(entry(1), l11), over(entry(2), l11));
    let l22 = root(entry(3) - l21 * l21);
    let l32 = over(entry(4) - l31 * l21, l22);
    out[..7].copy_from_slice(&[root(mass), l11, l21, l22, l31, l32, root(entry(5) - l31 * l31 - l32 * l32)]);
}
