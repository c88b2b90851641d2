//! The methods by name, and what all of them share.

use super::{Advanced, IslandWork, Piece, Rejected, StepConfig};
use crate::joint::{DriveAim, Joint};
use crate::mechanism::Mechanism;
use crate::rows::Masses;
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
    /// Gascuel and Gascuel 1994: free motion, then the joints one by one, in several passes.
    Relaxation(Relaxation),
    /// Hong 2005, Eqs. 3-10: constraint forces from accelerations, drift pulled back by feedback.
    Baumgarte {
        /// Damping of gaps, 1/s: `2 alpha` times their rate.
        alpha: f64,
        /// Stiffness of gaps, 1/s: `beta^2` times their size.
        beta: f64,
        /// How accelerations are integrated.
        integrator: Integrator,
    },
    /// Cline and Pai 2003: accelerations, then the drift is projected away.
    PostStabilization {
        /// How accelerations are integrated.
        integrator: Integrator,
        /// Velocities are projected as well as positions.
        velocities: bool,
    },
    /// Hong 2005, Eqs. 11-16: constraints at the end of the step, in one linear solve.
    Implicit,
    /// Articulated bodies over the spanning tree with the classical Runge-Kutta scheme: the reference.
    Reduced,
}

/// How explicit methods integrate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integrator {
    /// First order, explicit: positions with the old velocities, velocities with the old forces. Gains energy.
    Euler,
    /// First order: velocities, then positions with the new velocities.
    #[default]
    SemiImplicit,
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
    pub const ALL: [Method; 7] = [
        Method::Variational,
        Method::Displacement,
        Method::Relaxation(Relaxation::EffectiveMass),
        Method::Baumgarte { alpha: 10.0, beta: 10.0, integrator: Integrator::SemiImplicit },
        Method::PostStabilization { integrator: Integrator::SemiImplicit, velocities: false },
        Method::Implicit,
        Method::Reduced,
    ];

    /// Its name on the command line and in scenes.
    pub fn name(self) -> &'static str {
        match self {
            Method::Variational => "variational",
            Method::Displacement => "displacement",
            Method::Relaxation(_) => "relaxation",
            Method::Baumgarte { .. } => "baumgarte",
            Method::PostStabilization { .. } => "post-stabilization",
            Method::Implicit => "implicit",
            Method::Reduced => "reduced",
        }
    }

    /// Solids touch under it. By all other methods they pass through each other, and whoever offers them says so.
    pub fn knows_contact(self) -> bool {
        self == Method::Variational
    }

    /// The method called `name`, with default parameters.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// From `s` at the beginning of the piece to `s` at its end.
    pub(super) fn advance(
        self,
        piece: &Piece,
        s: &mut State,
        w: &mut IslandWork,
    ) -> Result<Advanced, Rejected> {
        match self {
            Method::Variational => super::variational::advance(piece, s, w),
            Method::Displacement => super::displacement::advance(piece, s, w),
            Method::Relaxation(scheme) => super::relaxation::advance(piece, s, w, scheme),
            Method::Baumgarte { alpha, beta, integrator } => {
                let p = super::baumgarte::Parameters { alpha, beta, integrator };
                super::baumgarte::advance(piece, s, w, p)
            }
            Method::PostStabilization { integrator, velocities } => {
                let p = super::post_stabilization::Parameters { integrator, velocities };
                super::post_stabilization::advance(piece, s, w, p)
            }
            Method::Implicit => super::implicit::advance(piece, s, w),
            Method::Reduced => super::reduced::advance(piece, s, w),
        }
    }
}

/// An angle that is counted turns by no more than this in a piece, radians: more than half a turn would be taken for less, the
/// other way round.
const MOST_COUNTED: f64 = 2.5;

/// So many points of contact, and somebody is struck in every step.
const MANY: usize = 48;

/// How fast angles that are counted turn, or are about to.
fn counted_rate(m: &Mechanism, s: &State) -> f64 {
    let of = |j: &Joint| {
        let [a, b] = j.frames.map(|f| f.solid.index());
        let mut rate = (s.spins[b] - s.spins[a]).length();
        for d in &j.drives {
            let DriveAim::Speed(speed) = d.aim else { continue };
            let angle = match j.screw {
                Some(pitch) if !d.direction.is_rotation() => std::f64::consts::TAU * speed / pitch,
                _ if d.direction.is_rotation() => speed,
                _ => 0.0,
            };
            rate = rate.max(angle.abs());
        }
        rate
    };
    m.joints().iter().filter(|j| j.enabled && j.counted_ranges().next().is_some()).map(of).fold(0.0, f64::max)
}

/// Into how many pieces a step must be cut so that no solid turns too far in one of them.
pub(super) fn least_pieces(m: &Mechanism, masses: &Masses, s: &State, c: &StepConfig) -> usize {
    let counted = if m.counter_count() > 0 { counted_rate(m, s) } else { 0.0 };
    if !matches!(c.method, Method::Variational | Method::Relaxation(_)) {
        let pieces = (c.dt * counted / MOST_COUNTED).ceil();
        return if pieces.is_finite() { (pieces as usize).clamp(1, c.most_substeps.max(1)) } else { 1 };
    }
    let turning = (0..masses.len()).filter(|i| masses.turns(*i));
    let fastest = turning.map(|i| s.spins[i].length_squared()).fold(0.0, f64::max).sqrt();
    // Two thirds: joints and forces may speed a solid up within the step.
    let pieces = (c.dt * fastest.max(counted) / (0.67 * c.max_rotation)).ceil();
    // What was hard a step ago is hard now: half of the pieces of the last step, so that they get fewer again. Fewer by less
    // where many points touch: an attempt that fails there costs as much as the pieces that it would have saved.
    let (last, points) = (s.memory.own().substep, s.memory.own().contacts.len());
    // The length of a substep is rounded.
    let (share, rounded) = if points >= MANY { (0.75, 1e-6) } else { (0.5, 0.0) };
    let before = if last > 0.0 { (share * c.dt / last + rounded).floor() } else { 1.0 };
    let pieces = pieces.max(before);
    if pieces.is_finite() { (pieces as usize).clamp(1, c.most_substeps.max(1)) } else { 1 }
}
