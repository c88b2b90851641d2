//! The methods by name, and what all of them share.

use super::{Advanced, Rejected, StepConfig, Workspace};
use crate::mechanism::Mechanism;
use crate::state::State;

/// How to get from one state to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Method {
    /// SHAKE with discrete Moser-Veselov rotation and RATTLE velocities: keeps momentum to rounding at any budget, and
    /// energy without drift. The default.
    #[default]
    Variational,
    /// Faure 1998: Störmer's free motion, then the correction. Robust, and a brake.
    Displacement,
    /// Articulated bodies over the spanning tree with the classical Runge-Kutta scheme: the reference.
    Reduced,
}

/// How explicit methods integrate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integrator {
    /// First order: velocities, then positions with the new velocities.
    #[default]
    Euler,
    /// The classical fourth-order Runge-Kutta scheme.
    Rk4,
}

/// How a joint's correction is shared between its solids by the relaxation method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relaxation {
    /// Gascuel 1994, scheme 1: translate, then rotate (Eqs. 14-15).
    First,
    /// Gascuel 1994, scheme 2: both at once, by the masses (Eqs. 16-21).
    Second,
    /// The effective mass of the joint, joint after joint: what replaces Eq. 17 where rotation counts.
    #[default]
    EffectiveMass,
}

impl Method {
    /// Every method with its default parameters.
    pub const ALL: [Method; 3] = [Method::Variational, Method::Displacement, Method::Reduced];

    /// Its name on the command line and in scenes.
    pub fn name(self) -> &'static str {
        match self {
            Method::Variational => "variational",
            Method::Displacement => "displacement",
            Method::Reduced => "reduced",
        }
    }

    /// The method called `name`, with default parameters.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// From `s` at `end - h` to `s` at `end`.
    pub(super) fn advance(
        self,
        m: &Mechanism,
        s: &mut State,
        w: &mut Workspace,
        c: &StepConfig,
        h: f64,
        end: f64,
    ) -> Result<Advanced, Rejected> {
        match self {
            Method::Variational => super::variational::advance(m, s, w, c, h, end),
            Method::Displacement => super::displacement::advance(m, s, w, c, h, end),
            Method::Reduced => super::reduced::advance(m, s, w, c, h, end),
        }
    }
}

/// Into how many pieces a step must be cut so that no solid turns too far in one of them.
pub(super) fn least_pieces(m: &Mechanism, s: &State, c: &StepConfig) -> usize {
    if c.method != Method::Variational {
        return 1;
    }
    let fastest = (0..m.solids().len())
        .filter(|i| !m.solids()[*i].is_fixed() && !m.solids()[*i].particle)
        .map(|i| s.spins[i].length_squared())
        .fold(0.0, f64::max)
        .sqrt();
    // Two thirds: joints and forces may speed a solid up within the step.
    let pieces = (c.dt * fastest / (0.67 * c.max_rotation)).ceil();
    if pieces.is_finite() { (pieces as usize).clamp(1, c.most_substeps.max(1)) } else { 1 }
}
