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

use super::Workspace;
use crate::math::Matrix;
use crate::rows::symmetric;
use crate::state::State;

/// Raises the inertia of solids whose joints are so taut that the step would be unstable, by the forces in
/// `memory.pull`. Writes per solid what is left of an angular impulse into `w.dulls`. True when there are any.
pub(super) fn stiffen(s: &State, w: &mut Workspace, h: f64) -> bool {
    w.dulls.clear();
    if s.memory.pull.len() != w.rows.len() {
        return false;
    }
    w.tension.resize(w.masses.len(), [0.0; 6]);
    w.rows.tension(s, &s.memory.pull, &mut w.tension);
    for i in 0..w.tension.len() {
        if !w.masses.turns(i) {
            continue;
        }
        let (k, inverse) = (w.tension[i].map(|k| k * h * h), *w.masses.inverse_inertia(i));
        // The sum of the eigenvalues of h^2 K / I: at most three times the largest, and never below it while K pulls.
        let [x, y, z] = [inverse.x_axis, inverse.y_axis, inverse.z_axis];
        let ratio = x.x * k[0] + y.y * k[3] + z.z * k[5] + 2.0 * (x.y * k[1] + x.z * k[2] + y.z * k[4]);
        let beta = 0.3 - 1.0 / ratio;
        if !(ratio > 0.0 && beta > 0.0) {
            continue;
        }
        let k = symmetric(&k);
        // (I + beta h^2 K)^-1 = (1 + beta I^-1 h^2 K)^-1 I^-1
        let dull = (Matrix::IDENTITY + inverse * k * beta).inverse();
        let raised = dull * inverse;
        if raised.is_finite() && raised.determinant() > 0.0 {
            w.dulls.push((i, inverse.inverse() * raised));
            w.masses.set_inverse_inertia(i, raised);
        }
    }
    !w.dulls.is_empty()
}
