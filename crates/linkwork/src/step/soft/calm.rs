//! Modes that swing faster than the step can show are damped; those that it can show are not.
//!
//! The trapezoidal rule turns the speed of a mode with `y = w^2 h^2 / 4 >> 1` around at every step: noise that never ends, and
//! that the next step has to start from. With the matrix `A = M + K` of the step (`K` being `y` times `M` for a mode) the
//! velocities at its end become
//! ```text
//!     v - (A^-1 K)^2 v
//! ```
//! which takes the share `y^2/(1 + y)^2` from each: everything of what the step cannot show, next to nothing of what it can.
//! `A^-1 M` having its eigenvalues between 0 and 1, kinetic energy never grows by it. It is the same rule as that for soft
//! rows (`IslandWork::damp_unresolved_modes`), by modes instead of rows.

use super::factor::{Block, times};
use super::{NONE, Soft};
use crate::math::{Matrix, Vector};
use crate::state::State;

impl Soft {
    /// Damps the modes that the step cannot show.
    pub fn calm(&mut self, s: &mut State) {
        if !self.factor.is_ready() {
            return;
        }
        // `before` and `touching` are done with: what is damped, once and twice.
        let mut once = std::mem::take(&mut self.before);
        let mut twice = std::mem::take(&mut self.touching);
        for (n, i) in self.solids.iter().enumerate() {
            once[n] = s.velocities[*i as usize];
        }
        self.stiff_part(&mut once, |i| s.velocities[i]);
        twice.clone_from(&once);
        self.stiff_part(&mut twice, |_| Vector::ZERO);
        if twice.iter().all(|v| v.is_finite()) {
            once.iter_mut().zip(&twice).for_each(|(a, b)| *a -= *b);
            let spins = self.spins(&once);
            for (body, (center, spin)) in self.bodies.iter().zip(spins) {
                for n in body.clone() {
                    s.velocities[self.solids[n] as usize] += spin.cross(self.x[n] - center) - twice[n];
                }
            }
        }
        (self.before, self.touching) = (once, twice);
    }

    /// `v = A^-1 K v`, held ends moving as they do.
    fn stiff_part(&mut self, v: &mut [Vector], held: impl Fn(usize) -> Vector) {
        let right = &mut self.right;
        right.fill(0.0);
        let mut add = |n: u32, f: Vector| {
            if n != NONE {
                let at = 3 * n as usize;
                right[at..at + 3].iter_mut().zip(f.to_array()).for_each(|(r, f)| *r += f);
            }
        };
        for (line, p) in self.lines.iter().zip(&self.pulls) {
            let speed = |k: usize| match line.nodes[k] {
                NONE => held(line.solids[k] as usize),
                n => v[n as usize],
            };
            let f = times(&p.seen.block, speed(0) - speed(1));
            add(line.nodes[0], f);
            add(line.nodes[1], -f);
        }
        self.factor.solve(right);
        for (v, r) in v.iter_mut().zip(right.chunks_exact(3)) {
            *v = Vector::new(r[0], r[1], r[2]);
        }
    }

    /// Springs resist turning across them: per body, the spin that gives their torque back, and about what point.
    fn spins(&self, speeds: &[Vector]) -> Vec<(Vector, Vector)> {
        let each = self.bodies.iter().map(|body| {
            let (mass, center, inertia) = self.whole(body);
            if !(mass > 0.0) {
                return (center, Vector::ZERO);
            }
            let own = |n: u32| n != NONE && body.contains(&(n as usize));
            let pairs = self.lines.iter().zip(&self.pulls).filter(|(l, _)| own(l.nodes[0]) && own(l.nodes[1]));
            let torque = |block: &Block, [a, b]: [usize; 2]| {
                (self.x[a] - self.x[b]).cross(times(block, speeds[a] - speeds[b]))
            };
            let twist: Vector = pairs.map(|(l, p)| torque(&p.seen.block, l.nodes.map(|n| n as usize))).sum();
            (center, turned_by(inertia, twist))
        });
        each.collect()
    }

    /// Mass, centre and inertia of a body as it lies.
    pub(super) fn whole(&self, body: &std::ops::Range<usize>) -> (f64, Vector, Matrix) {
        let mass: f64 = self.masses[body.clone()].iter().sum();
        if !(mass > 0.0) {
            return (0.0, Vector::ZERO, Matrix::ZERO);
        }
        let center = body.clone().map(|n| self.x[n] * self.masses[n]).sum::<Vector>() / mass;
        let of = |n: usize| {
            let r = self.x[n] - center;
            let square = Matrix::from_cols(r * r.x, r * r.y, r * r.z);
            (Matrix::from_diagonal(Vector::splat(r.length_squared())) - square) * self.masses[n]
        };
        (mass, center, body.clone().map(of).fold(Matrix::ZERO, |a, b| a + b))
    }
}

/// The spin that a twist gives. A rope that is straight does not turn about itself.
pub(super) fn turned_by(inertia: Matrix, twist: Vector) -> Vector {
    let size = inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z;
    let solid = inertia + Matrix::from_diagonal(Vector::splat(1e-12 * size));
    let spin = if size > 0.0 && solid.determinant() > 0.0 { solid.inverse() * twist } else { Vector::ZERO };
    if spin.is_finite() { spin } else { Vector::ZERO }
}
