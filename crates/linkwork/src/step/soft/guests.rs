//! Solids that soft bodies touch and that are free to answer: each is a border of six unknowns around the matrix, since a
//! heavy ball on a light sheet that takes turns with it never comes to an end.

use super::contact::Contacts;
use super::{NONE, Soft, factor};
use crate::math::{Matrix, Pose, Rotation, Vector, exp, log, log_jacobian};
use crate::rows::Masses;
use crate::state::State;
use crate::step::free::Wrench;

/// A solid that is free to answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guest {
    pub solid: usize,
    mass: f64,
    inertia: Matrix,
    /// Where its centre would be, and where it was when the step began.
    center: Vector,
    began: (Vector, Rotation),
    /// The rotation vector by which it would turn in the step.
    turns: Vector,
    /// How far it goes and turns beyond where it would be, the same before the line search, and what it is pushed with.
    moved: [Vector; 2],
    before: [Vector; 2],
    push: Vector,
    twist: Vector,
}

impl Guest {
    /// The place of a solid among the guests; it becomes one if it is none.
    pub fn of(guests: &mut Vec<Guest>, solid: usize, s: &State, masses: &Masses) -> u32 {
        let known = guests.iter().position(|g| g.solid == solid);
        if known.is_none() {
            let inverse = masses.inverse_inertia(solid);
            let turns = inverse.determinant() > 0.0;
            guests.push(Guest {
                solid,
                mass: masses.mass(solid),
                inertia: if turns { inverse.inverse() } else { Matrix::IDENTITY * 1e30 },
                center: s.centers[solid],
                began: (s.centers[solid], s.rotations[solid]),
                turns: Vector::ZERO,
                moved: [Vector::ZERO; 2],
                before: [Vector::ZERO; 2],
                push: Vector::ZERO,
                twist: Vector::ZERO,
            });
        }
        known.unwrap_or(guests.len() - 1) as u32
    }

    /// The displacement by which it is where it was when the step began.
    fn still(&self) -> [Vector; 2] {
        [self.began.0 - self.center, -self.turns]
    }

    /// Takes back what a vertex was given: an impulse times the step, at the end of an arm.
    pub fn recoil(&mut self, push: Vector, arm: Vector) {
        self.moved = self.further([-push / self.mass, -(self.inertia.inverse() * arm.cross(push))]);
    }

    /// The displacement after another motion. Rotation vectors are of the whole step, since an impulse changes the spin and not the
    /// turn that is left; they do not add up: for a ball that turns by half a radian a step no correction would lead down.
    fn further(&self, by: [Vector; 2]) -> [Vector; 2] {
        [self.moved[0] + by[0], log(exp(by[1]) * exp(self.turns + self.moved[1])) - self.turns]
    }

    /// What a small turn does to the rotation vector.
    fn turning(&self) -> Matrix {
        log_jacobian(self.turns + self.moved[1])
    }

    /// What its own inertia holds against a turn.
    fn resists(&self) -> Vector {
        self.turning().transpose() * (self.inertia * self.moved[1])
    }

    pub fn mass(&self) -> f64 {
        self.mass
    }

    pub fn inertia(&self) -> Matrix {
        self.inertia
    }

    /// Where its centre was when the step began.
    pub fn began(&self) -> Vector {
        self.began.0
    }

    /// How it would go and turn in the step, and what soft bodies add to that.
    pub fn way(&self) -> [Vector; 2] {
        [self.center - self.began.0, self.turns]
    }

    pub fn moved(&self) -> [Vector; 2] {
        self.moved
    }

    /// It goes and turns a little more.
    pub fn shift(&mut self, way: Vector, turn: Vector) {
        (self.moved[0], self.moved[1]) = (self.moved[0] + way, self.moved[1] + turn);
    }

    /// It goes this share of the way that was remembered, and the rest to where its centre would be there, and turn like that.
    pub fn hold_back(&mut self, center: Vector, turns: Vector, share: f64) {
        let to = [center - self.center, turns - self.turns];
        self.moved = [0, 1].map(|k| to[k] + (self.before[k] - to[k]) * share);
    }

    pub fn pose(&self) -> Pose {
        let turned = exp(self.turns + self.moved[1]) * self.began.1;
        Pose::from_parts(self.center + self.moved[0], turned.normalize())
    }
}

impl Contacts {
    /// Solids take part that are free to answer.
    pub fn has_guests(&self) -> bool {
        !self.guests.is_empty()
    }
}

impl Soft {
    /// Guests begin where everything else takes them.
    pub(super) fn place_guests(&mut self, s: &State) {
        for g in &mut self.contacts.guests {
            (g.center, g.turns) = (s.centers[g.solid], log(s.rotations[g.solid] * g.began.1.inverse()));
        }
    }

    /// How far a row's guest gives way to a push, as vertices do over a step; none: nothing.
    pub(super) fn guest_gives(&self, guest: u32) -> f64 {
        self.contacts.guests.get(guest as usize).map_or(0.0, |g| 0.5 * self.h * self.h / g.mass)
    }

    /// Kinetic energy of the guests.
    pub(super) fn guests_energy(&self, s: &State) -> f64 {
        let each = self.contacts.guests.iter();
        each.map(|g| {
            let (v, w) = (s.velocities[g.solid], s.spins[g.solid]);
            0.5 * (g.mass * v.length_squared() + w.dot(g.inertia * w))
        })
        .sum()
    }

    /// Guests are where they were when the step began.
    pub(super) fn stop_guests(&mut self) {
        for g in &mut self.contacts.guests {
            g.moved = g.still();
        }
    }

    /// Their share of the same as [`Soft::way`].
    pub(super) fn guests_way(&self) -> f64 {
        let of =
            |g: &Guest, d: [Vector; 2]| 0.5 * (g.mass * d[0].length_squared() + d[1].dot(g.inertia * d[1]));
        let way = |g: &Guest| {
            let still = g.still();
            of(g, [0, 1].map(|k| g.moved[k] - still[k])) - of(g, g.moved) - of(g, still)
        };
        self.contacts.guests.iter().map(way).sum()
    }

    /// Their share of `Phi`.
    pub(super) fn guests_value(&self) -> f64 {
        let each = self.contacts.guests.iter();
        each.map(|g| 0.5 * (g.mass * g.moved[0].length_squared() + g.moved[1].dot(g.inertia * g.moved[1])))
            .sum()
    }

    /// What vertices push them with.
    pub(super) fn push_on_guests(&mut self) {
        let c = &mut self.contacts;
        c.guests.iter_mut().for_each(|g| (g.push, g.twist) = (Vector::ZERO, Vector::ZERO));
        for near in c.near.iter().filter(|n| n.guest != NONE) {
            let f = near.force() * (0.5 * self.h);
            let g = &mut c.guests[near.guest as usize];
            g.push -= f;
            g.twist -= near.arm.cross(f);
        }
    }

    /// Hands what guests were moved by to whom it concerns.
    pub(super) fn push_guests(&self, impulses: &mut [Wrench]) {
        for g in &self.contacts.guests {
            impulses[g.solid].linear += g.moved[0] * (g.mass / self.h);
            impulses[g.solid].angular += g.inertia * g.moved[1] / self.h;
        }
    }

    /// An empty border: nothing in it is coupled to anything.
    pub(super) fn begin_border(&mut self) {
        let (n, size) = (3 * self.solids.len(), self.border_size());
        let c = &mut self.contacts;
        c.border.clear();
        c.border.resize(n * size, 0.0);
        c.dense.clear();
        c.dense.resize(size * size, 0.0);
        c.stiff.clear();
        c.stiff.resize(size * size, 0.0);
        c.small.resize(size, 0.0);
        self.couplings.clear();
    }

    /// The border: half of `A^-1 C`, and the factor of what is left of the guests.
    pub(super) fn linearise_guests(&mut self) {
        self.begin_border();
        self.contacts.bordered = true;
        let size = self.border_size();
        for (k, g) in self.contacts.guests.iter().enumerate() {
            let inertia = g.turning().transpose() * g.inertia * g.turning();
            for i in 0..3 {
                self.contacts.dense[(6 * k + i) * size + 6 * k + i] = g.mass;
                for j in 0..3 {
                    self.contacts.dense[(6 * k + 3 + i) * size + 6 * k + 3 + j] = inertia.col(j)[i];
                }
            }
        }
        let mut couplings: Vec<(usize, usize, [[f64; 6]; 3])> = std::mem::take(&mut self.couplings);
        for near in self.contacts.near.iter().filter(|x| x.guest != NONE && x.push > 0.0) {
            // The point of the solid moves by `move + turn x arm`.
            let a = near.arm;
            let point = [
                [1.0, 0.0, 0.0, 0.0, a.z, -a.y],
                [0.0, 1.0, 0.0, -a.z, 0.0, a.x],
                [0.0, 0.0, 1.0, a.y, -a.x, 0.0],
            ];
            let ways: [Vector; 6] =
                std::array::from_fn(|j| Vector::new(point[0][j], point[1][j], point[2][j]));
            let c = multiply(&near.block, &ways, 1.0);
            let g = 6 * near.guest as usize;
            for i in 0..6 {
                for j in 0..6 {
                    self.contacts.stiff[(g + i) * size + g + j] +=
                        (0..3).map(|k| point[k][i] * c[k][j]).sum::<f64>();
                }
            }
            couplings.extend(near.in_matrix().map(|(n, w)| (n, g, c.map(|row| row.map(|x| x * w)))));
        }
        let c = &mut self.contacts;
        c.dense.iter_mut().zip(&c.stiff).for_each(|(d, s)| *d += *s);
        self.couplings = couplings;
        self.linearise_hosts(true);
        self.factor_border();
    }

    /// Factors what is left of the border.
    pub(super) fn factor_border(&mut self) {
        let (n, size, first) = (3 * self.solids.len(), self.border_size(), 6 * self.contacts.guests.len());
        for (node, g, c) in &self.couplings {
            if *g < first && self.is_pinned_to_host(*node) {
                continue;
            }
            for (i, row) in c.iter().enumerate() {
                for (j, x) in row.iter().enumerate() {
                    self.contacts.border[(g + j) * n + 3 * node + i] += x;
                }
            }
        }
        self.factor.halve_many(&mut self.contacts.border);
        for i in 0..size {
            let own = &self.contacts.border[i * n..(i + 1) * n];
            for j in 0..=i {
                let product = factor::dot(own, &self.contacts.border[j * n..(j + 1) * n]);
                self.contacts.dense[i * size + j] -= product;
            }
        }
        cholesky(&mut self.contacts.dense, size);
    }

    /// `right` is `A^-1` of what the vertices lack: adds what guests do to it. Tells their share of the slope of `Phi`.
    pub(super) fn correct_guests(&mut self) -> f64 {
        if !self.has_border() {
            return 0.0;
        }
        let h = self.h;
        let c = &mut self.contacts;
        for (k, g) in c.guests.iter().enumerate() {
            let lacks = g.push * h - g.moved[0] * g.mass;
            let turns = g.twist * h - g.resists();
            c.small[6 * k..6 * k + 3].copy_from_slice(&lacks.to_array());
            c.small[6 * k + 3..6 * k + 6].copy_from_slice(&turns.to_array());
        }
        let mut right = std::mem::take(&mut self.right);
        self.answer_guests(&mut right);
        self.right = right;
        let c = &self.contacts;
        let mut slope = self.hosts_slope();
        for (k, g) in c.guests.iter().enumerate() {
            let [moves, turns] = [0, 3].map(|i| Vector::from_slice(&c.small[6 * k + i..6 * k + i + 3]));
            slope -= moves.dot(g.push * h - g.moved[0] * g.mass) + turns.dot(g.twist * h - g.resists());
        }
        slope
    }

    /// `right` is `A^-1` of what the vertices lack, `small` what guests do: both are what the whole matrix answers.
    pub(super) fn answer_guests(&mut self, right: &mut [f64]) {
        if !self.has_border() {
            return;
        }
        self.clear_pinned(right);
        let size = self.border_size();
        let c = &mut self.contacts;
        for (node, g, block) in &self.couplings {
            let x = &right[3 * node..3 * node + 3];
            for i in 0..6 {
                c.small[g + i] += (0..3).map(|k| block[k][i] * x[k]).sum::<f64>();
            }
        }
        back(&c.dense, size, &mut c.small);
        // What the guests' motion does to the vertices: one more answer of the factor takes less than all of `A^-1 C`.
        let answer = &mut c.answer;
        answer.clear();
        answer.resize(right.len(), 0.0);
        for (node, g, block) in &self.couplings {
            for (i, row) in block.iter().enumerate() {
                answer[3 * node + i] += (0..6).map(|k| row[k] * c.small[g + k]).sum::<f64>();
            }
        }
        let mut answer = std::mem::take(answer);
        self.clear_pinned(&mut answer);
        self.factor.solve(&mut answer);
        right.iter_mut().zip(&answer).for_each(|(r, a)| *r += *a);
        self.contacts.answer = answer;
        self.carry_pinned(right);
    }

    /// Something that is free to answer, or carries pins, is a border around the matrix; and how wide that is.
    pub(super) fn has_border(&self) -> bool {
        self.contacts.has_guests() || self.has_hosts()
    }

    pub(super) fn border_size(&self) -> usize {
        6 * self.contacts.guests.len() + self.hosts.columns()
    }

    /// Speeds and spins of the guests, six numbers each.
    pub(super) fn guest_speeds(&self, s: &State) -> Vec<f64> {
        let each = self.contacts.guests.iter();
        each.flat_map(|g| [s.velocities[g.solid].to_array(), s.spins[g.solid].to_array()]).flatten().collect()
    }

    /// Takes so much from them.
    pub(super) fn slow_guests(&self, s: &mut State, by: &[f64]) {
        for (g, z) in self.contacts.guests.iter().zip(by.chunks_exact(6)) {
            s.velocities[g.solid] -= Vector::from_slice(&z[..3]);
            s.spins[g.solid] -= Vector::from_slice(&z[3..]);
        }
    }

    /// What the rows that touch guests pull with, in the matrix, at these speeds: at vertices to `right`, at guests to `small`.
    pub(super) fn add_guests_pull(&mut self, right: &mut [f64], v: &[Vector], guests: &[f64]) {
        let (size, own) = (self.border_size(), guests.len());
        let c = &mut self.contacts;
        c.small.clear();
        c.small.resize(size, 0.0);
        for i in 0..own {
            c.small[i] = (0..own).map(|j| c.stiff[i * size + j] * guests[j]).sum();
        }
        // Pinned vertices go their hosts' way already.
        for (node, g, block) in self.couplings.iter().filter(|c| c.1 < own) {
            let own = v[*node].to_array();
            for i in 0..3 {
                right[3 * node + i] -= (0..6).map(|k| block[i][k] * guests[g + k]).sum::<f64>();
            }
            for i in 0..6 {
                c.small[g + i] -= (0..3).map(|k| block[k][i] * own[k]).sum::<f64>();
            }
        }
    }

    /// Remembers where they are.
    pub(super) fn keep_guests(&mut self) {
        self.contacts.guests.iter_mut().for_each(|g| g.before = g.moved);
    }

    /// Puts them back where they were remembered.
    pub(super) fn restore_guests(&mut self) {
        self.contacts.guests.iter_mut().for_each(|g| g.moved = g.before);
    }

    /// Moves guests by this share of the last correction from where they were.
    pub(super) fn move_guests(&mut self, share: f64) {
        let c = &mut self.contacts;
        for (k, g) in c.guests.iter_mut().enumerate() {
            let z = &c.small[6 * k..6 * k + 6];
            g.moved = g.before;
            let by = [Vector::new(z[0], z[1], z[2]), Vector::new(z[3], z[4], z[5])];
            g.moved = g.further(by.map(|d| d * share));
        }
    }
}

/// A block times six directions, and a number.
pub(super) fn multiply(b: &factor::Block, ways: &[Vector], by: f64) -> [[f64; 6]; 3] {
    let mut c = [[0.0; 6]; 3];
    for (j, way) in ways.iter().enumerate() {
        let x = factor::times(b, *way * by).to_array();
        (0..3).for_each(|i| c[i][j] = x[i]);
    }
    c
}

/// Cholesky of a small dense matrix by rows, in place; pivots that vanish are left out.
fn cholesky(a: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..=i {
            let mut sum = a[i * n + j];
            for k in 0..j {
                sum -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] = match (i == j, a[j * n + j]) {
                (true, _) => sum.max(0.0).sqrt(),
                (false, p) if p > 0.0 => sum / p,
                _ => 0.0,
            };
        }
    }
}

fn back(l: &[f64], n: usize, x: &mut [f64]) {
    let over = |x: f64, p: f64| if p > 0.0 { x / p } else { 0.0 };
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| l[i * n + k] * x[k]).sum();
        x[i] = over(x[i] - sum, l[i * n + i]);
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| l[k * n + i] * x[k]).sum();
        x[i] = over(x[i] - sum, l[i * n + i]);
    }
}
