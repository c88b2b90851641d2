//! `post-stabilization`: Cline and Pai 2003 as in Hong 2005, section IV; Faure 1998, section 2. Accelerations without
//! feedback, then the drift is projected away.
//!
//! ```text
//!     dq = -M^-1 J^T (J M^-1 J^T)^-1 Phi                                                       (18)
//!     dv = -M^-1 J^T (J M^-1 J^T)^-1 J v
//! ```
//! Print has Eq. 18 without `M^-1`, which is the same for equal masses only (see the errata). `iterations` projections at
//! most are made, until the gaps are below the tolerance (zero: always that many; the paper makes one). The second line
//! is optional: the paper leaves velocities alone. They then drift off the constraints, each projection moves solids
//! without their velocities knowing, and long runs of Euler's scheme end in an explosion (Hong's Figure 4).

use super::accelerate::{Feedback, finish, integrate};
use super::displacement::correct;
use super::{Advanced, Integrator, IslandWork, Piece, Rejected, StepConfig};
use crate::rows::Law;
use crate::state::State;

/// The parameters, as in [`super::Method::PostStabilization`].
#[derive(Clone, Copy)]
pub(super) struct Parameters {
    pub integrator: Integrator,
    pub velocities: bool,
}

pub(super) fn advance(
    piece: &Piece,
    s: &mut State,
    w: &mut IslandWork,
    p: Parameters,
) -> Result<Advanced, Rejected> {
    let mut done = Advanced::default();
    integrate(piece, s, w, p.integrator, Feedback::default(), &mut done);
    w.relinearise(piece, s, piece.end);
    correct(piece, s, w, false, &mut done);
    finish(piece, s, w);
    if p.velocities {
        project_velocities(s, w, piece.c, &mut done);
        w.forget();
    }
    Ok(done)
}

/// Velocities that keep to the rows at `s`. Soft rows and motors of limited strength act through forces alone.
fn project_velocities(s: &mut State, w: &mut IslandWork, c: &StepConfig, done: &mut Advanced) {
    for k in 0..w.rows.groups.len() {
        let g = w.rows.groups[k];
        for r in g.range() {
            let speed = w.rows.speed(r, s);
            let (low, high) = (w.rows.low[r], w.rows.high[r]);
            let free = (f64::NEG_INFINITY, f64::INFINITY);
            let ask = match g.law {
                _ if g.most_force.is_finite() => free,
                Law::Soft { .. } => free,
                Law::Rate(rate) => (rate - speed, rate - speed),
                Law::Hold if low == high => (-speed, -speed),
                // A bound counts where it is reached.
                Law::Hold => (
                    if low >= -c.tolerance { -speed } else { free.0 },
                    if high <= c.tolerance { -speed } else { free.1 },
                ),
            };
            (w.rows.low[r], w.rows.high[r]) = ask;
        }
    }
    done.solver_iterations += w.solve_bounded(c, s.centers.len());
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        let v = &w.correction.dq[i];
        s.velocities[i] += crate::math::Vector::new(v[0], v[1], v[2]);
        s.spins[i] += crate::math::Vector::new(v[3], v[4], v[5]);
    }
}
