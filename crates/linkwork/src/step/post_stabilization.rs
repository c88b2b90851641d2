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

use super::accelerate::{Feedback, finish, integrate, project_start, project_velocities};
use super::displacement::{close_new, correct};
use super::{Advanced, Integrator, IslandWork, Piece, Rejected};
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
    close_new(piece, s, w, &mut done);
    project_start(piece, s, w, &mut done);
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
