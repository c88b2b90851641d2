//! Energy, momentum and gaps of a state.

use crate::joint::JointId;
use crate::math::Vector;
use crate::mechanism::Mechanism;
use crate::record::Sample;
use crate::rows::{Gaps, Law, Masses, Rows, Source};
use crate::state::State;

/// Energies in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Of motion.
    pub kinetic: f64,
    /// In the field of gravity, zero at the origin.
    pub potential: f64,
    /// In springs, soft constraints, motors with a stiffness and soft coats.
    pub spring: f64,
}

impl Energy {
    /// All of it.
    pub fn total(self) -> f64 {
        self.kinetic + self.potential + self.spring
    }
}

/// Linear momentum, and angular momentum about the origin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Momentum {
    /// kg m/s.
    pub linear: Vector,
    /// kg m^2/s.
    pub angular: Vector,
    /// Sum of the sizes of all solids' linear momenta: what a drift is measured against. Unlike `linear` it does not
    /// vanish when the solids' momenta cancel out.
    pub linear_size: f64,
    /// The same of their angular momenta about the origin.
    pub angular_size: f64,
}

/// Measures states of one mechanism; keeps its scratch.
#[derive(Default)]
pub struct Meter {
    masses: Masses,
    rows: Rows,
    dents: crate::contact::Dents,
}

impl Meter {
    /// Energies of a state.
    pub fn energy(&mut self, m: &Mechanism, s: &State) -> Energy {
        self.masses.update(m, s);
        let mut energy = Energy::default();
        for i in 0..m.solids().len() {
            let mass = self.masses.mass(i);
            if mass == 0.0 {
                continue;
            }
            let spin = s.rotations[i].inverse() * s.spins[i];
            energy.kinetic +=
                0.5 * (mass * s.velocities[i].length_squared() + spin.dot(*self.masses.inertia(i) * spin));
            energy.potential -= mass * m.gravity.dot(s.centers[i]);
        }
        let soft =
            !m.springs.is_empty() || m.joints().iter().any(|j| j.compliance > 0.0 || !j.drives.is_empty());
        if soft {
            self.rows.fill_motion(m, s, s.time, |_| crate::joint::Rank::Primary);
            for g in &self.rows.groups {
                if let Law::Soft { stiffness, .. } = g.law {
                    let gaps: f64 = g.range().map(|r| self.rows.wanted(r).powi(2)).sum();
                    energy.spring += 0.5 * stiffness * gaps;
                }
            }
        }
        energy.spring += crate::step::stored(m, s) + self.dents.energy(m, s);
        energy
    }

    /// Momenta of a state, of everything that can move.
    pub fn momentum(&mut self, m: &Mechanism, s: &State) -> Momentum {
        self.masses.update(m, s);
        let mut sum = Momentum::default();
        for i in 0..m.solids().len() {
            let p = s.velocities[i] * self.masses.mass(i);
            let q = s.rotations[i];
            let l = s.centers[i].cross(p) + q * (*self.masses.inertia(i) * (q.inverse() * s.spins[i]));
            sum.linear += p;
            sum.angular += l;
            sum.linear_size += p.length();
            sum.angular_size += l.length();
        }
        sum
    }

    /// The largest gaps of a state over what is rigid and holds at its time: joints and motors without softness.
    pub fn gaps(&mut self, m: &Mechanism, s: &State) -> Gaps {
        self.rows.fill_motion(m, s, s.time, |_| crate::joint::Rank::Primary);
        crate::step::rigid_gaps(&self.rows)
    }

    /// All of it.
    pub fn sample(&mut self, m: &Mechanism, s: &State) -> Sample {
        Sample { gaps: self.gaps(m, s), energy: self.energy(m, s), momentum: self.momentum(m, s) }
    }

    /// The gap of every joint that is rigid and holds at the state's time, in joint order.
    pub fn joint_gaps(&mut self, m: &Mechanism, s: &State) -> Vec<(JointId, Gaps)> {
        self.rows.fill_motion(m, s, s.time, |_| crate::joint::Rank::Primary);
        let joints = self.rows.groups.iter().filter(|g| g.source == Source::Joint && g.law == Law::Hold);
        joints.map(|g| (g.joint, self.rows.group_gaps(g))).collect()
    }
}

/// Energies of a state. For many states of one mechanism use a [`Meter`].
pub fn energy(m: &Mechanism, s: &State) -> Energy {
    Meter::default().energy(m, s)
}

/// Momenta of a state. For many states of one mechanism use a [`Meter`].
pub fn momentum(m: &Mechanism, s: &State) -> Momentum {
    Meter::default().momentum(m, s)
}
