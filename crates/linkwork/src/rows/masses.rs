//! Inverse masses and world inverse inertias: what answers to a force.

use crate::math::{Matrix, Vector};
use crate::mechanism::Mechanism;
use crate::rows::HalfRow;
use crate::state::State;

/// Per solid: zero for whatever may not move, so that infinite masses need no special case.
#[derive(Clone, Debug, Default)]
pub struct Masses {
    inverse_mass: Vec<f64>,
    inverse_inertia: Vec<Matrix>,
    /// Inverse inertia in the solid's own axes: constant, so computed once per epoch.
    local: Vec<Matrix>,
    /// Mass and inertia in the solid's own axes; zero for whatever may not move or turn.
    mass: Vec<f64>,
    inertia: Vec<Matrix>,
    epoch: Option<u64>,
}

impl Masses {
    /// The masses of a mechanism at a pose.
    pub fn new(m: &Mechanism, s: &State) -> Self {
        let mut masses = Self::default();
        masses.update(m, s);
        masses
    }

    /// Refreshes the world inertias, and everything else when the mechanism changed.
    pub fn update(&mut self, m: &Mechanism, s: &State) {
        if self.epoch != Some(m.epoch()) || self.local.len() != m.solids().len() {
            self.epoch = Some(m.epoch());
            self.inverse_mass.clear();
            self.local.clear();
            self.mass.clear();
            self.inertia.clear();
            for solid in m.solids() {
                let (w, j) = match solid.mobility {
                    _ if solid.is_fixed() => (0.0, Matrix::ZERO),
                    // 1994, section 3.1.4: `m J^-1` becomes a scalar "ability to rotate".
                    Some(a) => (a.translate, Matrix::from_diagonal(Vector::splat(a.translate * a.rotate))),
                    None => (1.0 / solid.mass.mass, solid.mass.inertia.inverse()),
                };
                self.inverse_mass.push(w);
                let j = if solid.particle { Matrix::ZERO } else { j };
                self.local.push(j);
                self.mass.push(if w > 0.0 { 1.0 / w } else { 0.0 });
                self.inertia.push(if j.determinant() > 0.0 { j.inverse() } else { Matrix::ZERO });
            }
            self.inverse_inertia.clear();
            self.inverse_inertia.resize(self.local.len(), Matrix::ZERO);
        }
        for (i, local) in self.local.iter().enumerate() {
            if self.inverse_mass[i] > 0.0 {
                let r = Matrix::from_quat(s.rotations[i]);
                self.inverse_inertia[i] = r * *local * r.transpose();
            }
        }
    }

    /// Makes every solid harder to turn, as if its mass were spread over a circle of this radius as well.
    pub fn stiffen(&mut self, radius: f64) {
        for (i, j) in self.inverse_inertia.iter_mut().enumerate() {
            let w = self.inverse_mass[i];
            if w > 0.0 {
                // (I + m r^2)^-1 = (1 + m r^2 I^-1)^-1 I^-1
                *j = (Matrix::IDENTITY + *j * (radius * radius / w)).inverse() * *j;
            }
        }
    }

    /// Replaces the world inverse inertia of one solid, until the next update.
    pub(crate) fn set_inverse_inertia(&mut self, solid: usize, inverse: Matrix) {
        self.inverse_inertia[solid] = inverse;
    }

    /// Number of solids, the world included.
    pub fn len(&self) -> usize {
        self.inverse_mass.len()
    }

    /// No solids: never filled.
    pub fn is_empty(&self) -> bool {
        self.inverse_mass.is_empty()
    }

    /// May anything move this solid?
    pub fn moves(&self, solid: usize) -> bool {
        self.inverse_mass[solid] > 0.0
    }

    /// `M^-1 f` of one solid.
    pub fn accelerate(&self, solid: usize, f: &HalfRow) -> HalfRow {
        let w = self.inverse_mass[solid];
        let r = self.inverse_inertia[solid] * Vector::new(f[3], f[4], f[5]);
        [f[0] * w, f[1] * w, f[2] * w, r.x, r.y, r.z]
    }

    /// Inverse mass.
    pub fn inverse_mass(&self, solid: usize) -> f64 {
        self.inverse_mass[solid]
    }

    /// Mass; zero when nothing may move it.
    pub fn mass(&self, solid: usize) -> f64 {
        self.mass[solid]
    }

    /// Inertia about the centre of mass in the solid's own axes; zero when nothing may turn it.
    pub fn inertia(&self, solid: usize) -> &Matrix {
        &self.inertia[solid]
    }

    /// Inverse inertia in the solid's own axes.
    pub fn local_inverse_inertia(&self, solid: usize) -> &Matrix {
        &self.local[solid]
    }

    /// May anything turn this solid?
    pub fn turns(&self, solid: usize) -> bool {
        self.mass[solid] > 0.0 && self.inertia[solid].x_axis.x > 0.0
    }

    /// World inverse inertia.
    pub fn inverse_inertia(&self, solid: usize) -> &Matrix {
        &self.inverse_inertia[solid]
    }
}
