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

use super::factor::times;
use super::momentum::Piece;
use super::{NONE, Soft};
use crate::math::{Matrix, Vector};
use crate::state::State;

impl Soft {
    /// Damps the modes that the step cannot show.
    pub fn calm(&mut self, s: &mut State) {
        self.contacts.near.iter_mut().for_each(|n| n.calmed = Vector::ZERO);
        if !self.factor.is_ready() || (self.has_border() && !self.contacts.bordered) {
            return;
        }
        // `before` and `touching` are done with: what is damped, once and twice.
        let mut once = std::mem::take(&mut self.before);
        let mut twice = std::mem::take(&mut self.touching);
        for (n, i) in self.solids.iter().enumerate() {
            once[n] = s.velocities[*i as usize];
        }
        self.speeds_of_pinned(s, &mut once);
        let mut guests = self.guest_speeds(s);
        self.stiff_part(&mut once, &mut guests, Some(s));
        twice.clone_from(&once);
        let mut guests_twice = guests.clone();
        self.stiff_part(&mut twice, &mut guests_twice, None);
        if twice.iter().all(|v| v.is_finite()) && guests_twice.iter().all(|v| v.is_finite()) {
            once.iter_mut().zip(&twice).for_each(|(a, b)| *a -= *b);
            guests.iter_mut().zip(&guests_twice).for_each(|(a, b)| *a -= *b);
            self.note_calmed(&once, &guests);
            self.calm_pinned(&once, &mut twice);
            for (n, i) in self.solids.iter().enumerate() {
                s.velocities[*i as usize] -= twice[n];
            }
            self.slow_guests(s, &guests_twice);
            for piece in &self.pieces {
                let (center, speed, spin) = self.taken(piece, &once, &twice);
                for &n in &piece.nodes {
                    s.velocities[self.solids[n] as usize] += speed + spin.cross(self.x[n] - center);
                }
            }
        }
        (self.before, self.touching) = (once, twice);
    }

    /// What contacts gave of `M (A^-1 K)^2 v = K (A^-1 K v - (A^-1 K)^2 v)`: friction at the end of the step goes by the whole
    /// of what presses, and this is most of it.
    fn note_calmed(&mut self, pulls: &[Vector], guests: &[f64]) {
        for near in self.contacts.near.iter_mut().filter(|n| n.acts) {
            let carried = guests.get(6 * near.guest as usize..).filter(|_| near.guest != NONE);
            let carried = carried.map_or(Vector::ZERO, |g| {
                Vector::from_slice(&g[..3]) + Vector::from_slice(&g[3..6]).cross(near.arm)
            });
            near.calmed = -times(&near.block, near.of(pulls) - carried);
        }
    }

    /// `v = A^-1 K v`, held ends and surfaces moving as they do in a state, or not at all. Guests are part of it: taken for surfaces that
    /// go their way, and given afterwards what those take, a ball in a taut sheet was spun faster by every step.
    fn stiff_part(&mut self, v: &mut [Vector], guests: &mut [f64], s: Option<&State>) {
        let mut right = std::mem::take(&mut self.right);
        right.fill(0.0);
        let held = |i: usize| s.map_or(Vector::ZERO, |s| s.velocities[i]);
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
        for near in self.contacts.near.iter().filter(|n| n.acts) {
            let carried = s.filter(|_| near.guest == NONE).map_or(Vector::ZERO, |s| self.carried(near, s));
            let f = times(&near.block, near.of(v) - carried);
            near.in_matrix().for_each(|(n, w)| add(n as u32, f * w));
        }
        self.add_guests_pull(&mut right, v, guests);
        self.right = right;
        self.gather_at_hosts();
        let mut right = std::mem::take(&mut self.right);
        self.factor.solve(&mut right);
        self.answer_guests(&mut right);
        guests.copy_from_slice(&self.contacts.small[..guests.len()]);
        for (v, r) in v.iter_mut().zip(right.chunks_exact(3)) {
            *v = Vector::new(r[0], r[1], r[2]);
        }
        self.right = right;
    }

    /// What was taken from the motion of a piece as a whole, and not by what holds it: about what point, speed and spin.
    /// Springs resist turning across them, and those that are left out of the matrix resist everything.
    fn taken(&self, piece: &Piece, pulls: &[Vector], taken: &[Vector]) -> (Vector, Vector, Vector) {
        let (mass, center, inertia) = self.whole(piece);
        // Surfaces take momentum, and how much is not known well enough.
        let touches = self.contacts.near.iter().any(|n| n.acts && self.is_pushed(n, piece));
        if !(mass > 0.0) || touches {
            return (center, Vector::ZERO, Vector::ZERO);
        }
        let (mut push, mut twist) = (Vector::ZERO, Vector::ZERO);
        let mut add = |n: usize, p: Vector| {
            push += p;
            twist += (self.x[n] - center).cross(p);
        };
        piece.nodes.iter().for_each(|n| add(*n, taken[*n] * self.masses[*n]));
        for (line, p) in self.lines_of(piece) {
            if let [n, NONE] | [NONE, n] = line.nodes {
                add(n as usize, -times(&p.seen.block, pulls[n as usize]));
            }
        }
        (center, push / mass, turned_by(inertia, twist))
    }

    /// Mass, centre and inertia of a piece as it lies.
    pub(super) fn whole(&self, piece: &Piece) -> (f64, Vector, Matrix) {
        let nodes = || piece.nodes.iter().copied();
        let mass: f64 = nodes().map(|n| self.masses[n]).sum();
        if !(mass > 0.0) {
            return (0.0, Vector::ZERO, Matrix::ZERO);
        }
        let center = nodes().map(|n| self.x[n] * self.masses[n]).sum::<Vector>() / mass;
        let of = |n: usize| {
            let r = self.x[n] - center;
            let square = Matrix::from_cols(r * r.x, r * r.y, r * r.z);
            (Matrix::from_diagonal(Vector::splat(r.length_squared())) - square) * self.masses[n]
        };
        (mass, center, nodes().map(of).fold(Matrix::ZERO, |a, b| a + b))
    }
}

/// The spin that a twist gives. A rope that is straight does not turn about itself.
pub(super) fn turned_by(inertia: Matrix, twist: Vector) -> Vector {
    let size = inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z;
    let solid = inertia + Matrix::from_diagonal(Vector::splat(1e-12 * size));
    let spin = if size > 0.0 && solid.determinant() > 0.0 { solid.inverse() * twist } else { Vector::ZERO };
    if spin.is_finite() { spin } else { Vector::ZERO }
}
