//! The numbers of a factorisation of one island: what tasks do side by side, and what the rest does after them.
//!
//! Every sum has one order, which the topology fixes: what packs hand to the rest is added up here, pack by pack.

use super::lanes::{LANES, Quad};
use super::numbers::{Diagonal, Numbers, Pivots, on};
use super::substitute::COLUMNS;
use super::symbolic::Symbolic;
use super::units::{LARGE, Task, Units};
use crate::solve::{Problem, larger, parallel};
use std::slice::from_ref;

/// Factor and scratch of one island.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numeric {
    /// Per task.
    packed: Vec<Numbers<Quad>>,
    single: Numbers<f64>,
    /// The motion of what tasks know by themselves is that of the answer.
    gathered: bool,
}

impl Numeric {
    pub fn resize(&mut self, s: &Symbolic) {
        let u = &s.units;
        self.packed.resize_with(u.tasks.len(), Numbers::default);
        self.packed.iter_mut().zip(&u.tasks).for_each(|(n, t)| n.resize(&t.room, LARGE, 0));
        self.single.resize(&u.single, u.largest_front, u.largest_scaled);
    }

    /// Factors `W W^T + softness + damping * diag(W W^T)`; rows that are not active get a unit pivot. Without damping rows
    /// that depend on others are left out (`lambda = 0`), which is exact as long as they ask for nothing new. Without a
    /// problem the rows are those of the last one.
    pub fn factor(&mut self, s: &Symbolic, p: Option<&Problem>, d: &Diagonal) -> Pivots {
        self.each(&s.units, |task, n| n.prepare(&task.packs, p, d, &[]));
        self.single.prepare(from_ref(&s.units.rest), p, d, &self.packed);
        self.packed.iter().fold(self.single.pivots, |all, n| all.and(n.pivots))
    }

    /// Takes the right side over, zero where rows are not active. Tells its largest entry.
    pub fn start(&mut self, s: &Symbolic, active: &[bool], b: &[f64]) -> f64 {
        self.each(&s.units, |task, n| n.begin(&task.packs, active, b));
        self.single.begin(from_ref(&s.units.rest), active, b);
        self.most()
    }

    /// Takes a guess over.
    pub fn guess(&mut self, s: &Symbolic, active: &[bool], lambda: &[f64]) {
        self.gathered = false;
        for (task, n) in s.units.tasks.iter().zip(&mut self.packed) {
            for u in &task.packs {
                let into = &mut n.lambda[u.base..];
                // Lanes that repeat another one must repeat it here too: what is left of them is looked at.
                u.each_row(LANES, LANES, |at, lane, r| {
                    into[at].0[lane] = if on(active, r) { lambda[r] } else { 0.0 }
                });
            }
        }
        let into = &mut self.single.lambda;
        s.units.rest.each_row(1, 1, |at, _, r| into[at] = if on(active, r) { lambda[r] } else { 0.0 });
    }

    /// Forgets the answer: what is left is the right side.
    pub fn restart(&mut self, s: &Symbolic) {
        self.gathered = false;
        self.each(&s.units, |_, n| n.restart());
        self.single.restart();
    }

    /// Takes the last correction back.
    pub fn undo(&mut self, s: &Symbolic) {
        self.gathered = false;
        self.packed.iter_mut().zip(&s.units.tasks).for_each(|(n, task)| n.undo(&task.packs));
        self.single.undo(from_ref(&s.units.rest));
    }

    /// Hands the answer out.
    pub fn answer(&self, s: &Symbolic, lambda: &mut [f64]) {
        for (task, n) in s.units.tasks.iter().zip(&self.packed) {
            for u in &task.packs {
                let from = &n.lambda[u.base..];
                u.each_row(LANES, u.lanes, |at, lane, r| lambda[r] = from[at].0[lane]);
            }
        }
        let from = &self.single.lambda;
        s.units.rest.each_row(1, 1, |at, _, r| lambda[r] = from[at]);
    }

    /// `lambda += (factored matrix)^-1 residual`. What is left has to be measured next.
    pub fn correct(&mut self, s: &Symbolic, d: &Diagonal) {
        self.single.x.copy_from_slice(&self.single.residual);
        self.each(&s.units, |task, n| n.forward_residual(&task.packs));
        self.turn(s);
        let rest = std::mem::take(&mut self.single.x);
        self.each(&s.units, |task, n| n.correct_from(&task.packs, &rest, d));
        self.single.lambda.iter_mut().zip(&rest).for_each(|(l, x)| *l += *x);
        self.single.x = rest;
        self.gathered = true;
    }

    /// `out = (factored matrix)^-1 b`, zero where rows are not active. Nothing is checked, nothing else is touched.
    pub fn substitute(&mut self, s: &Symbolic, active: &[bool], b: &[f64], out: &mut [f64]) {
        self.single.load(&s.units.rest, active, b);
        self.each(&s.units, |task, n| n.forward_right_side(&task.packs, active, b));
        self.turn(s);
        let rest = std::mem::take(&mut self.single.x);
        self.each(&s.units, |task, n| n.backward_from(&task.packs, &rest));
        self.single.x = rest;
        self.single.store(&s.units.rest, out);
        for (task, n) in s.units.tasks.iter().zip(&self.packed) {
            task.packs.iter().for_each(|u| n.store(u, out));
        }
    }

    /// [`substitute`](Self::substitute) of four right sides at once; each gets the bits that it would get beside any others.
    pub fn substitute_columns(
        &mut self,
        s: &Symbolic,
        active: &[bool],
        b: &[[f64; COLUMNS]],
        out: &mut [[f64; COLUMNS]],
    ) {
        self.single.load_columns(&s.units.rest, active, b);
        self.each(&s.units, |task, n| n.forward_columns(&task.packs, active, b));
        for (task, n) in s.units.tasks.iter().zip(&self.packed) {
            for u in &task.packs {
                for (x, home) in n.columns[u.base + u.scalars..].iter().zip(u.outside.chunks_exact(LANES)) {
                    for l in 0..u.lanes {
                        let sum = &mut self.single.columns[home[l] as usize];
                        sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += x.0[l]);
                    }
                }
            }
        }
        self.single.turn_columns(&s.units.rest);
        let rest = std::mem::take(&mut self.single.columns);
        self.each(&s.units, |task, n| n.backward_columns(&task.packs, &rest));
        self.single.columns = rest;
        self.single.store_columns(&s.units.rest, out);
        for (task, n) in s.units.tasks.iter().zip(&self.packed) {
            task.packs.iter().for_each(|u| n.store_columns(u, out));
        }
    }

    /// The rest, between the two walks of the packs.
    fn turn(&mut self, s: &Symbolic) {
        for (task, n) in s.units.tasks.iter().zip(&self.packed) {
            for u in &task.packs {
                for (x, home) in n.x[u.base + u.scalars..].iter().zip(u.outside.chunks_exact(LANES)) {
                    (0..u.lanes).for_each(|l| self.single.x[home[l] as usize] += x.0[l]);
                }
            }
        }
        self.single.turn(&s.units.rest);
    }

    /// `residual = b - A lambda` on active rows, `A` without damping. Tells its largest entry.
    pub fn measure(&mut self, s: &Symbolic, d: &Diagonal) -> f64 {
        if !std::mem::take(&mut self.gathered) {
            self.each(&s.units, |task, n| n.gather_all(&task.packs, d));
        }
        let rest = from_ref(&s.units.rest);
        self.single.y.fill([0.0; 3]);
        for (task, n) in s.units.tasks.iter().zip(&self.packed) {
            for u in &task.packs {
                for (local, home) in u.shared.iter().zip(u.shared_home.chunks_exact(LANES)) {
                    let seat = &u.seats[*local as usize];
                    let y = &n.y[u.motions.start + seat.motion as usize..][..seat.threes()];
                    for l in 0..u.lanes {
                        let sum = &mut self.single.y[home[l] as usize..][..seat.threes()];
                        let both = sum.as_flattened_mut().iter_mut().zip(y.as_flattened());
                        both.for_each(|(sum, y)| *sum += y.0[l]);
                    }
                }
            }
        }
        self.single.gather_all(rest, d);
        let shared = std::mem::take(&mut self.single.y);
        self.each(&s.units, |task, n| n.scatter_all(&task.packs, &shared, d));
        self.single.y = shared;
        // The rest has nothing to take over from itself.
        self.single.scatter_all(rest, &[], d);
        self.most()
    }

    /// The largest entry that tasks and the rest have come across.
    fn most(&self) -> f64 {
        self.packed.iter().fold(self.single.most, |m, n| larger(m, n.most))
    }

    /// Tasks side by side, where that pays.
    fn each(&mut self, units: &Units, f: impl Fn(&Task, &mut Numbers<Quad>) + Sync) {
        parallel::pairs(units.worth_threads, &units.tasks, &mut self.packed, f);
    }
}
