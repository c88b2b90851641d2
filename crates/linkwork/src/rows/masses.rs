//! Inverse masses and world inverse inertias: what answers to a force.

use crate::math::four::{Four, axes, rotated, wide};
use crate::math::{Matrix, Rotation, Vector};
use crate::mechanism::Mechanism;
use crate::nodes::Places;
use crate::rows::HalfRow;
use crate::state::State;

/// Per solid: zero for whatever may not move, so that infinite masses need no special case. Inertias are kept of what
/// turns only.
#[derive(Clone, Debug, Default)]
pub struct Masses {
    inverse_mass: Vec<f64>,
    /// Upper triangles of the inverse inertias in world axes, four solids at a time.
    inverse_inertia: Vec<[Four; 6]>,
    /// Inverse inertia in the solid's own axes: constant, so computed once per epoch.
    local: Vec<Matrix>,
    /// Its upper triangle, four solids at a time.
    packs: Vec<[Four; 6]>,
    /// Mass and inertia in the solid's own axes; zero for whatever may not move or turn.
    mass: Vec<f64>,
    inertia: Vec<Matrix>,
    /// Where each solid's inertia is.
    places: Places,
    epoch: Option<u64>,
}

wide! {
    /// Inverse inertias in world axes.
    fn turn_all(local: &[[Four; 6]], rotations: &[Rotation], out: &mut [[Four; 6]]) {
        for ((local, q), out) in local.iter().zip(rotations.chunks(4)).zip(out) {
            let [a, b, c, d] = [&q[0], &q[1 % q.len()], &q[2 % q.len()], &q[3 % q.len()]];
            let q = [
                Four([a.x, b.x, c.x, d.x]),
                Four([a.y, b.y, c.y, d.y]),
                Four([a.z, b.z, c.z, d.z]),
                Four([a.w, b.w, c.w, d.w]),
            ];
            *out = rotated(&axes(&q), local);
        }
    }
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
        if self.epoch != Some(m.epoch()) || self.mass.len() != m.solids().len() {
            self.epoch = Some(m.epoch());
            self.inverse_mass.clear();
            self.local.clear();
            self.mass.clear();
            self.inertia.clear();
            self.places = m.places();
            for solid in m.solids() {
                let (w, j) = match solid.mobility {
                    _ if solid.is_fixed() => (0.0, Matrix::ZERO),
                    // 1994, section 3.1.4: `m J^-1` becomes a scalar "ability to rotate".
                    Some(a) => (a.translate, Matrix::from_diagonal(Vector::splat(a.translate * a.rotate))),
                    None => (1.0 / solid.mass.mass, solid.mass.inertia.inverse()),
                };
                self.inverse_mass.push(w);
                self.mass.push(if w > 0.0 { 1.0 / w } else { 0.0 });
                if solid.particle {
                    continue;
                }
                self.local.push(j);
                self.inertia.push(if j.determinant() > 0.0 { j.inverse() } else { Matrix::ZERO });
            }
            self.inverse_inertia.clear();
            self.inverse_inertia.resize(self.local.len().div_ceil(4), [Four::default(); 6]);
            self.packs.clear();
            self.packs.extend(self.local.chunks(4).map(|four| {
                let entry = |i: usize, j: usize| {
                    Four(std::array::from_fn(|l| four.get(l).map_or(0.0, |m| m.col(j)[i])))
                };
                [entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)]
            }));
        }
        turn_all(&self.packs, s.rotations.values(), &mut self.inverse_inertia);
    }

    /// Makes every solid harder to turn, as if its mass were spread over a circle of this radius as well.
    pub fn stiffen(&mut self, radius: f64) {
        for i in 0..self.len() {
            let w = self.inverse_mass[i];
            if w > 0.0 && self.width(i) == 6 {
                // (I + m r^2)^-1 = (1 + m r^2 I^-1)^-1 I^-1
                let j = self.inverse_inertia(i);
                self.set_inverse_inertia(i, (Matrix::IDENTITY + j * (radius * radius / w)).inverse() * j);
            }
        }
    }

    /// Replaces the world inverse inertia of one solid, until the next update.
    pub(crate) fn set_inverse_inertia(&mut self, solid: usize, inverse: Matrix) {
        let (x, y, z) = (inverse.x_axis, inverse.y_axis, inverse.z_axis);
        let Some(at) = self.places.of(solid) else { return };
        let to = &mut self.inverse_inertia[at / 4];
        for (to, x) in to.iter_mut().zip([x.x, x.y, x.z, y.y, y.z, z.z]) {
            to.0[at % 4] = x;
        }
    }

    /// World inverse inertias of what turns, upper triangles, four solids at a time; lanes past the last hold anything.
    pub(crate) fn inverse_inertias(&mut self) -> &mut [[Four; 6]] {
        &mut self.inverse_inertia
    }

    /// Number of solids, the world included.
    pub fn len(&self) -> usize {
        self.inverse_mass.len()
    }

    /// No solids: never filled.
    pub fn is_empty(&self) -> bool {
        self.inverse_mass.is_empty()
    }

    /// Numbers that a motion of this solid has: six, three of a particle.
    #[inline]
    pub fn width(&self, solid: usize) -> usize {
        if self.places.of(solid).is_some() { 6 } else { 3 }
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// May anything move this solid?
    pub fn moves(&self, solid: usize) -> bool {
        self.inverse_mass[solid] > 0.0
    }

    /// `M^-1 f` of one solid.
    pub fn accelerate(&self, solid: usize, f: &HalfRow) -> HalfRow {
        let w = self.inverse_mass[solid];
        if self.width(solid) == 3 {
            return [f[0] * w, f[1] * w, f[2] * w, 0.0, 0.0, 0.0];
        }
        let r = self.inverse_inertia(solid) * Vector::new(f[3], f[4], f[5]);
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
        self.places.of(solid).map_or(&Matrix::ZERO, |at| &self.inertia[at])
    }

    /// Inverse inertia in the solid's own axes.
    pub fn local_inverse_inertia(&self, solid: usize) -> &Matrix {
        self.places.of(solid).map_or(&Matrix::ZERO, |at| &self.local[at])
    }

    /// May anything turn this solid?
    pub fn turns(&self, solid: usize) -> bool {
        self.mass[solid] > 0.0 && self.inertia(solid).x_axis.x > 0.0
    }

    /// World inverse inertia.
    #[inline]
    pub fn inverse_inertia(&self, solid: usize) -> Matrix {
        super::symmetric(&self.upper_inverse_inertia(solid))
    }

    /// Its upper triangle.
    #[inline]
    pub(crate) fn upper_inverse_inertia(&self, solid: usize) -> [f64; 6] {
        let Some(at) = self.places.of(solid) else { return [0.0; 6] };
        let (k, l) = (&self.inverse_inertia[at / 4], at % 4);
        [k[0].0[l], k[1].0[l], k[2].0[l], k[3].0[l], k[4].0[l], k[5].0[l]]
    }
}
