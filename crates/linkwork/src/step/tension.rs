//! Taut joints make solids hard to turn, and explicit methods unstable.
//!
//! The torque `r x F` of a joint's force changes by `-K` per radian that its solid turns, `K = (F.r) 1 - sym(r F^T)`, summed
//! over the joints of a solid. SHAKE takes that stiffness explicitly and is unstable from `h^2 K > 4 I` on: long heavy
//! chains at 60 Hz. For solids near that limit the inertia against *changes* of the spin is raised to `I + beta h^2 K`,
//! `beta = max(0, 0.3 - I / (h^2 K))`: Newmark's remedy, second order and stable at any tension. Such steps keep linear
//! momentum, and angular momentum up to `O(h^2)`; all others keep both to rounding.
//!
//! `K` is exact for ball joints, whose second derivative couples no two solids. Tournier and others (2015) use the same
//! stiffness to stabilise constraints.

use super::IslandWork;
use crate::math::four::{Four, Three, cross, dot, times, wide};
use crate::math::{Matrix, Vector};
use crate::state::State;

/// Raises the inertia of solids whose joints are so taut that the step would be unstable, by the forces in
/// `memory.pull`. Writes per solid what is left of an angular impulse into `w.raised`. True when there are any.
pub(super) fn stiffen(s: &State, w: &mut IslandWork, h: f64) -> bool {
    w.raised.clear();
    if !s.memory.own().recall_pull(&w.rows, &mut w.pull) {
        return false;
    }
    let places = w.masses.places();
    w.tension.resize(s.rotations.values().len(), [0.0; 6]);
    w.rows.tension(s, &w.pull, places, &mut w.tension);
    raise(&w.tension, h, w.masses.inverse_inertias(), &mut w.raised);
    // Places become numbers of solids again.
    if s.rotations.values().len() < s.rotations.len() {
        let mut solids =
            (0..s.rotations.len()).filter_map(|i| Some((w.masses.places().of(i)?, i))).peekable();
        for (at, _) in &mut w.raised {
            while solids.next_if(|(place, _)| place < at).is_some() {}
            *at = solids.peek().map_or(*at, |(_, solid)| *solid);
        }
    }
    !w.raised.is_empty()
}

wide! {
    /// Four solids at a time.
    fn raise(tension: &[[f64; 6]], h: f64, inverses: &mut [[Four; 6]], raised_solids: &mut Vec<(usize, Matrix)>) {
        let one = Four::all(1.0);
        let step = Four::all(h * h);
        for (pack, (inverse, t)) in inverses.iter_mut().zip(tension.chunks(4)).enumerate() {
            let [a, b, c, d] = [&t[0], &t[1 % t.len()], &t[2 % t.len()], &t[3 % t.len()]];
            let mut k = [Four::default(); 6];
            for e in 0..6 {
                k[e] = Four([a[e], b[e], c[e], d[e]]) * step;
            }
            // The sum of the eigenvalues of h^2 K / I: at most three times the largest, and never below it while K pulls.
            let [xx, xy, xz, yy, yz, zz] = *inverse;
            let ratio = xx * k[0] + yy * k[3] + zz * k[5] + Four::all(2.0) * (xy * k[1] + xz * k[2] + yz * k[4]);
            let mut beta = Four::all(0.3) - one.over(ratio);
            let mut any = false;
            for l in 0..4 {
                let taut = (ratio.0[l] > 0.0) & (beta.0[l] > 0.0);
                beta.0[l] = if taut { beta.0[l] } else { 0.0 };
                any |= taut;
            }
            if !any {
                continue;
            }
            // (I + beta h^2 K)^-1 = (1 + beta I^-1 h^2 K)^-1 I^-1; columns of what is to be inverted.
            let (x, y, z) = ([xx, xy, xz], [xy, yy, yz], [xz, yz, zz]);
            let column = |c: Three| times([dot(x, c), dot(y, c), dot(z, c)], beta);
            let mut u = column([k[0], k[1], k[2]]);
            let mut v = column([k[1], k[3], k[4]]);
            let mut w = column([k[2], k[4], k[5]]);
            (u[0], v[1], w[2]) = (u[0] + one, v[1] + one, w[2] + one);
            let (vw, wu, uv) = (cross(v, w), cross(w, u), cross(u, v));
            let det = dot(u, vw);
            let over = one.over(det);
            // Rows of the inverse.
            let (p, q, r) = (times(vw, over), times(wu, over), times(uv, over));
            let raised = [dot(p, x), dot(p, y), dot(p, z), dot(q, y), dot(q, z), dot(r, z)];
            for l in 0..t.len() {
                // Stiffness that pulls leaves it positive; what pushes too hard is left alone.
                if beta.0[l] > 0.0 && det.0[l] > 0.0 && det.0[l] < f64::INFINITY {
                    for e in 0..6 {
                        inverse[e].0[l] = raised[e].0[l];
                    }
                    // What is left of an impulse, I (I + beta h^2 K)^-1, is the transpose of the inverse.
                    let column = |v: &Three| Vector::new(v[0].0[l], v[1].0[l], v[2].0[l]);
                    raised_solids.push((4 * pack + l, Matrix::from_cols(column(&p), column(&q), column(&r))));
                }
            }
        }
    }
}
