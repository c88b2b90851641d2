//! `baumgarte`: Hong 2005, Eqs. 3-10 (Baumgarte 1972). Constraint forces from accelerations, drift pulled back by
//! feedback.
//!
//! ```text
//!     Phi'' + 2 alpha Phi' + beta^2 Phi = 0                                                    (4)
//! ```
//! Each gap answers like a damped oscillator; `alpha = beta` is the critical one. The accelerations (`accelerate.rs`) are
//! integrated explicitly. Gaps are never zero: they settle where feedback and the integrator's drift balance, and
//! feedback stronger than the step can follow (`alpha h` of about one) blows up. Nothing is conserved.

use super::accelerate::{Feedback, finish, integrate, project_start};
use super::{Advanced, Integrator, IslandWork, Piece, Rejected};
use crate::state::State;

/// The parameters, as in [`super::Method::Baumgarte`].
#[derive(Clone, Copy)]
pub(super) struct Parameters {
    pub alpha: f64,
    pub beta: f64,
    pub integrator: Integrator,
}

pub(super) fn advance(
    piece: &Piece,
    s: &mut State,
    w: &mut IslandWork,
    p: Parameters,
) -> Result<Advanced, Rejected> {
    let mut done = Advanced::default();
    let feedback = Feedback { speed: 2.0 * p.alpha, position: p.beta * p.beta };
    project_start(piece, s, w, &mut done);
    integrate(piece, s, w, p.integrator, feedback, &mut done);
    finish(piece, s, w);
    Ok(done)
}
