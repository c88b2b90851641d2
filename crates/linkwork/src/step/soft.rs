//! Soft bodies under `variational`: an implicit step of their springs that keeps energy and both momenta.
//!
//! A spring with the ends' difference `d`, `l = |d|`, from `0` to `1` over the step, pulls with one force over the whole of it:
//! ```text
//!     F = -T u,    u = (d0 + d1) / (l0 + l1),    T = k ((l0 + l1)/2 - L) + c (l1 - l0)/h
//! ```
//! the discrete gradient of its energy (Gonzalez 1996; Simo and Tarnow 1992): `u . (d1 - d0) = l1 - l0` exactly, so that
//! what it takes from the motion is what it stores and what its damper eats, at any stiffness and any length of the step;
//! it pulls along the line between the ends at half time, so that angular momentum is kept, too. Half of it acts before the
//! middle of the step and half after, which makes the whole of second order.
//!
//! The new places solve `M (x - y) = h^2/2 F(x)`, `y` being where everything else would take the vertices. The matrix
//! ```text
//!     A = M + h^2/2 sum (k/2 + c/h) n n^T + T/(l0 + l1) (1 - n n^T)
//! ```
//! is the symmetric part of Newton's; what is left out is skew, of the size of the turn within the step, and Anderson's
//! acceleration takes it in. Springs in compression soften `A` as far as the masses stand it. `A^-1` is also the body's
//! response to whatever else pulls at its vertices: see [`SoftLower`].
//!
//! **Limited stretch**: a spring beyond its longest length gets a tension on top, as much as holds it there (augmented
//! Lagrangian: the spring's own block of `A` gets stiffer by orders of magnitude, and what tension that leaves out is added
//! round by round). It may only pull, and it acts before the middle of the step alone, so that it stops and does not throw
//! back; the velocities at the end are held by impulses of their own, in the metric of the masses. It pulls along the spring
//! where it ends up, `n1`, which is stable at any tension, and after the middle the part of it across the spring is taken
//! back at the new places (`P (d0 - n1 n1.d0) / l1`): angular momentum is kept then, and a taut spring that swings across is
//! damped by nothing.

mod contact;
mod factor;
mod limit;
mod mix;

use super::free::Wrench;
use super::{IslandWork, StepConfig};
use crate::math::Vector;
use crate::mechanism::Mechanism;
use crate::rows::Masses;
use crate::solve::Lower;
use crate::state::State;
pub(crate) use contact::{Contacts, Obstacle};
use factor::{Factor, stiffness};
use limit::Tightened;
use mix::Mix;

const NONE: u32 = u32::MAX;
/// A spring that is weaker than this beside its masses over the step is left out of the couplings of the matrix: iterations
/// take it in, and the factor stays sparse.
const WEAK: f64 = 0.2;
/// Most rounds of Newton's method.
const ROUNDS: usize = 150;
/// Corrections of this share of a spring's length are near enough to see which limits are crossed.
const NEAR: f64 = 1e-3;

/// What a step did to soft bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SoftReport {
    /// Springs of all soft bodies that were stepped.
    pub springs: usize,
    /// How many of them were held at their longest at the end of the step: the size of the active system.
    pub limited: usize,
    /// Largest length of a limited spring beyond its longest, as a share of its length at rest.
    pub excess: f64,
    /// Largest strain of the springs that have a limit.
    pub strain: f64,
    /// Vertices that touch solids at the end of the step.
    pub contacts: usize,
    /// How deep the deepest of them is beyond the thickness, metres.
    pub penetration: f64,
    /// Rounds of Newton's method, and factorisations.
    pub rounds: usize,
    /// Factorisations among them.
    pub factors: usize,
    /// Substeps in which it did not converge.
    pub unsolved: usize,
}

impl SoftReport {
    /// The worst of two steps, and unsolved substeps of both.
    pub fn worse(&self, other: &SoftReport) -> SoftReport {
        SoftReport {
            springs: self.springs.max(other.springs),
            limited: self.limited.max(other.limited),
            excess: self.excess.max(other.excess),
            strain: self.strain.max(other.strain),
            contacts: self.contacts.max(other.contacts),
            penetration: self.penetration.max(other.penetration),
            rounds: self.rounds.max(other.rounds),
            factors: self.factors.max(other.factors),
            unsolved: self.unsolved + other.unsolved,
        }
    }

    pub(super) fn add(&mut self, other: &SoftReport) {
        self.springs += other.springs;
        self.limited += other.limited;
        self.excess = self.excess.max(other.excess);
        self.strain = self.strain.max(other.strain);
        self.contacts += other.contacts;
        self.penetration = self.penetration.max(other.penetration);
        self.rounds += other.rounds;
        self.factors += other.factors;
        self.unsolved += other.unsolved;
    }
}

/// A spring between two solids of the island.
#[derive(Clone, Copy, Debug)]
struct Line {
    solids: [u32; 2],
    /// Nodes that move; `NONE` for what is held.
    nodes: [u32; 2],
    length: f64,
    stiffness: f64,
    damping: f64,
    longest: f64,
    /// Its pair in the matrix; `NONE` where there is none.
    pair: u32,
}

/// A spring in the course of a step.
#[derive(Clone, Copy, Debug, Default)]
struct Pull {
    /// Ends' difference and length when the step began.
    d0: Vector,
    l0: f64,
    /// At the end, as far as that is known: length, direction, direction of the force, tension.
    l1: f64,
    n1: Vector,
    u: Vector,
    tension: f64,
    /// Beyond its longest: tension on top of its own, and what of it does not depend on the places.
    held: f64,
    multiplier: f64,
    active: bool,
}

/// Soft bodies of one island: what is constant, and scratch.
#[derive(Default)]
pub(crate) struct Soft {
    epoch: Option<(u64, u64)>,
    /// Per node its solid, per solid its node.
    solids: Vec<u32>,
    nodes: Vec<u32>,
    masses: Vec<f64>,
    lines: Vec<Line>,
    pulls: Vec<Pull>,
    /// Where pairs are in the matrix: first node and place.
    pairs: Vec<(u32, u32)>,
    factor: Factor,
    /// The factor is `A` of the step, and answers pushes.
    responds: bool,
    h: f64,
    /// How stiff the matrix is across springs at least, as a share of how stiff it is along them.
    across: f64,
    /// Length of the shortest spring.
    reach: f64,
    /// Where vertices are when the step begins, where they would go without springs, and where they go.
    start: Vec<Vector>,
    free: Vec<Vector>,
    x: Vec<Vector>,
    /// Impulse of half a step by springs, and by limits.
    elastic: Vec<Vector>,
    limits: Vec<Vector>,
    /// What others push with.
    outer: Vec<Vector>,
    right: Vec<f64>,
    softening: Vec<f64>,
    mix: Mix,
    /// The places with the shortest correction so far.
    best: Vec<Vector>,
    /// Corrections that are nothing but rounding.
    rounding: f64,
    /// The step has begun and nothing was solved yet.
    fresh: bool,
    /// Stiffness around each node.
    around: Vec<f64>,
    pub contacts: Contacts,
    couplings: Vec<(usize, usize, [[f64; 6]; 3])>,
    pub report: SoftReport,
}

impl Soft {
    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Is the solid a vertex that moves?
    pub fn has(&self, solid: usize) -> bool {
        self.nodes.get(solid).is_some_and(|n| *n != NONE)
    }

    /// Gets to know a mechanism: nodes, springs, and the pattern of the matrix for steps of this length.
    pub fn update(&mut self, m: &Mechanism, dt: f64) {
        let now = (m.epoch(), dt.to_bits());
        if self.epoch == Some(now) {
            return;
        }
        let contacts = std::mem::take(&mut self.contacts);
        *self = Self { epoch: Some(now), contacts, ..Self::default() };
        if m.softs().is_empty() {
            return;
        }
        self.nodes = vec![NONE; m.solids().len()];
        for i in m.softs().iter().flat_map(|s| s.range()).filter(|i| !m.solids()[*i].is_fixed()) {
            self.nodes[i] = self.solids.len() as u32;
            self.solids.push(i as u32);
            self.masses.push(m.solids()[i].mass.mass);
        }
        for soft in m.softs() {
            for s in &soft.mesh.springs {
                let solids = s.ends.map(|k| soft.first.0 + k);
                let nodes = solids.map(|i| self.nodes[i as usize]);
                if nodes != [NONE; 2] {
                    let (stiffness, damping) = (s.stiffness, s.damping);
                    let (length, longest, pair) = (s.length, s.longest, NONE);
                    self.lines.push(Line { solids, nodes, length, stiffness, damping, longest, pair });
                }
            }
        }
        self.around = vec![0.0; self.solids.len()];
        for line in &self.lines {
            for n in line.nodes.iter().filter(|n| **n != NONE) {
                self.around[*n as usize] += 0.5 * line.stiffness + line.damping / dt;
            }
        }
        self.reach = self.lines.iter().map(|l| l.length).fold(f64::INFINITY, f64::min);
        self.pulls = vec![Pull::default(); self.lines.len()];
        self.find_pairs(dt);
    }

    fn find_pairs(&mut self, h: f64) {
        let mut coupled: Vec<([u32; 2], usize)> = Vec::new();
        for (k, line) in self.lines.iter().enumerate().filter(|(_, l)| !l.nodes.contains(&NONE)) {
            let [a, b] = line.nodes;
            let mass = self.masses[a as usize].min(self.masses[b as usize]);
            let strong = 0.5 * h * h * (0.5 * line.stiffness + line.damping / h) > WEAK * mass;
            if strong || line.longest.is_finite() {
                coupled.push(([a.min(b), a.max(b)], k));
            }
        }
        coupled.sort_unstable();
        let mut pairs: Vec<[u32; 2]> = Vec::new();
        for (pair, k) in &coupled {
            if pairs.last() != Some(pair) {
                pairs.push(*pair);
            }
            self.lines[*k].pair = pairs.len() as u32 - 1;
        }
        let places = self.factor.analyse(self.solids.len(), &pairs);
        self.pairs = pairs.iter().zip(places).map(|([a, _], at)| (*a, at)).collect();
        self.right = vec![0.0; 3 * self.solids.len()];
        self.softening = vec![0.0; self.solids.len()];
        let none = || vec![Vector::ZERO; self.solids.len()];
        (self.free, self.x, self.elastic) = (none(), none(), none());
        (self.limits, self.outer, self.best) = (none(), none(), none());
    }

    /// Begins a step: `forces` are those of everything else at its start. Scripted and held vertices are where they will be.
    pub fn begin(&mut self, s: &State, masses: &Masses, forces: &[Wrench], gravity: f64, h: f64) {
        (self.h, self.fresh, self.responds, self.across) = (h, true, false, 0.0);
        self.report = SoftReport { springs: self.lines.len(), ..SoftReport::default() };
        self.start.clone_from(&s.centers);
        self.best.resize(self.x.len(), Vector::ZERO);
        for (n, &i) in self.solids.iter().enumerate() {
            let (i, w) = (i as usize, 1.0 / self.masses[n]);
            let x = s.centers[i] + s.velocities[i] * h;
            (self.x[n], self.best[n]) = (x, x);
            self.free[n] = x + forces[i].linear * (0.5 * h * h * w);
            (self.elastic[n], self.limits[n]) = (Vector::ZERO, Vector::ZERO);
        }
        for (line, pull) in self.lines.iter().zip(&mut self.pulls) {
            let [a, b] = line.solids.map(|i| s.centers[i as usize]);
            *pull = Pull { d0: b - a, l0: (b - a).length(), ..Pull::default() };
        }
        self.find_near(s, masses, gravity);
    }

    /// Where the vertices go if others push with these impulses; adds what springs push with. `held` are the centres of all
    /// solids at the end of the step, as far as those that are no vertices go. False: no answer was found.
    pub fn place(&mut self, held: &State, impulses: &mut [Wrench], c: &StepConfig) -> bool {
        for (n, &i) in self.solids.iter().enumerate() {
            self.outer[n] = impulses[i as usize].linear;
        }
        self.place_guests(held);
        let found = self.solve(held, c);
        for (n, &i) in self.solids.iter().enumerate() {
            impulses[i as usize].linear += self.elastic[n] + self.limits[n];
        }
        self.push_guests(impulses);
        found
    }

    /// Newton's method for the places. Where it does not converge the matrix gets stiffer across the springs, which is safe
    /// and slow, from the best places seen.
    fn solve(&mut self, held: &State, c: &StepConfig) -> bool {
        let close = c.tolerance * if self.solids.len() <= 600 { 1e-7 } else { 1e-3 };
        let close =
            close.max(1e-14 * self.x.iter().fold(1.0, |most: f64, x| most.max(x.abs().max_element())));
        // Which limits and contacts act is seen from not so near.
        let coarse = close.max(0.2 * c.tolerance);
        let mut fine = false;
        let (mut before, mut least) = (f64::INFINITY, f64::INFINITY);
        let (mut slow, mut since) = (0, 0);
        let mut changed = self.fresh;
        self.mix.restart();
        for round in 0..ROUNDS {
            self.report.rounds += 1;
            self.pull(&held.centers);
            if self.fresh && round == 0 {
                self.choose_limited();
            }
            self.hold();
            self.touch(&held.centers, |i| held.rotations[i]);
            if std::mem::take(&mut changed) {
                if !self.linearise() {
                    break;
                }
                self.mix.restart();
                (slow, since, before, least) = (0, 0, f64::INFINITY, f64::INFINITY);
            }
            since += 1;
            let moved = self.correct();
            if !moved.is_finite() {
                break;
            }
            if moved < least {
                least = moved;
                self.keep_best();
            }
            if moved <= if fine { close.max(self.rounding) } else { coarse } {
                match self.tighten(c) {
                    Tightened::Done if fine => {
                        self.fresh = false;
                        return true;
                    }
                    Tightened::Done => fine = true,
                    Tightened::Changed => (changed, fine) = (true, false),
                    Tightened::Loose => {}
                }
                self.mix.restart();
                (slow, before) = (0, f64::INFINITY);
                continue;
            }
            changed |= moved < NEAR * self.reach && self.take_on_crossed(c);
            changed |= moved < 10.0 * NEAR * self.reach && self.release_pulling();
            slow = if moved > 0.8 * before { slow + 1 } else { 0 };
            // It runs away: back to where it was best, with a stiffer matrix. It creeps: the matrix is out of date.
            let away = moved > 5.0 * least && moved > 1e-3 * self.reach;
            if away {
                if self.across >= 1.0 {
                    break;
                }
                self.across = (4.0 * self.across).clamp(0.02, 1.0);
                self.go_back();
            }
            changed |= away || slow >= 6 || since >= 25;
            before = moved;
        }
        self.report.unsolved += 1;
        self.go_back();
        self.pull(&held.centers);
        self.hold();
        self.touch(&held.centers, |i| held.rotations[i]);
        self.collect();
        self.fresh = false;
        false
    }

    /// Lengths, directions and tensions of all springs with the vertices at `x`, and their impulses.
    fn pull(&mut self, held: &[Vector]) {
        let h = self.h;
        for (line, p) in self.lines.iter().zip(&mut self.pulls) {
            let end = |k: usize| match line.nodes[k] {
                NONE => held[line.solids[k] as usize],
                n => self.x[n as usize],
            };
            let d1 = end(1) - end(0);
            p.l1 = d1.length();
            let sum = p.l0 + p.l1;
            p.n1 = if p.l1 > 0.0 { d1 / p.l1 } else { Vector::ZERO };
            p.u = if sum > 0.0 { (p.d0 + d1) / sum } else { Vector::ZERO };
            p.tension = line.stiffness * (0.5 * sum - line.length) + line.damping * (p.l1 - p.l0) / h;
        }
    }

    /// The matrix at the springs as they are.
    fn linearise(&mut self) -> bool {
        let half = 0.5 * self.h * self.h;
        self.report.factors += 1;
        self.soften(half);
        self.factor.start(&self.masses);
        self.rounding = 0.0;
        for (line, p) in self.lines.iter().zip(&self.pulls) {
            let sum = p.l0 + p.l1;
            let along = half * (0.5 * line.stiffness + line.damping / self.h);
            let hold = half * limit::stiffness(line, p, self);
            let moving = || line.nodes.iter().filter(|n| **n != NONE).map(|n| *n as usize);
            // A pair that is left out is outweighed by twice its block on the diagonal.
            let left_out = line.pair == NONE && !line.nodes.contains(&NONE);
            let across = match p.tension {
                t if sum <= 0.0 || (left_out && t < 0.0) => 0.0,
                t if t >= 0.0 => half * t / sum,
                t => half * t / sum * moving().map(|n| self.softening[n]).fold(1.0, f64::min),
            };
            let across = if self.across > 0.0 { across.max(self.across * along) } else { across };
            let mut b = stiffness(p.u.normalize_or_zero(), along, across);
            if p.active && p.l1 > 0.0 {
                let held = stiffness(p.n1, hold, half * p.held.max(0.0) / p.l1);
                b.iter_mut().zip(held).for_each(|(b, h)| *b += h);
            }
            let light = moving().map(|n| self.masses[n]).fold(f64::INFINITY, f64::min);
            self.rounding = self.rounding.max(4.0 * f64::EPSILON * p.l1 * (1.0 + (along + hold) / light));
            let twice = b.map(|x| 2.0 * x);
            for n in moving() {
                self.factor.add_diagonal(n, if left_out { &twice } else { &b });
            }
            if line.pair != NONE {
                let (a, at) = self.pairs[line.pair as usize];
                self.factor.couple(a as usize, at, &b);
            }
        }
        self.linearise_touch();
        let done = self.factor.factor();
        self.responds = done;
        if done && self.contacts.has_guests() {
            self.linearise_guests();
        }
        done
    }

    /// How much of their compression springs may take off the matrix, node by node, so that it stays positive definite.
    fn soften(&mut self, half: f64) {
        const MOST: f64 = 0.8;
        self.softening.fill(0.0);
        for (line, p) in self.lines.iter().zip(&self.pulls).filter(|(_, p)| p.tension < 0.0) {
            let sum = p.l0 + p.l1;
            let takes = if sum > 0.0 { -2.0 * half * p.tension / sum } else { 0.0 };
            for n in line.nodes.iter().filter(|n| **n != NONE) {
                self.softening[*n as usize] += takes;
            }
        }
        for (s, m) in self.softening.iter_mut().zip(&self.masses) {
            *s = if *s > MOST * m { MOST * m / *s } else { 1.0 };
        }
    }

    /// Impulses of half a step, node by node.
    fn collect(&mut self) {
        self.elastic.fill(Vector::ZERO);
        self.limits.fill(Vector::ZERO);
        let half = 0.5 * self.h;
        for (line, p) in self.lines.iter().zip(&self.pulls) {
            let f = p.u * (half * p.tension);
            let g = p.n1 * (half * p.held);
            let [a, b] = line.nodes;
            if a != NONE {
                self.elastic[a as usize] += f;
                self.limits[a as usize] += g;
            }
            if b != NONE {
                self.elastic[b as usize] -= f;
                self.limits[b as usize] -= g;
            }
        }
        self.collect_touch();
    }

    /// One correction of the places. Tells the longest.
    fn correct(&mut self) -> f64 {
        self.collect();
        let h = self.h;
        for (n, m) in self.masses.iter().enumerate() {
            let push = (self.outer[n] + self.elastic[n] + self.limits[n]) * h;
            let r = push - (self.x[n] - self.free[n]) * *m;
            self.right[3 * n..3 * n + 3].copy_from_slice(&r.to_array());
        }
        self.factor.solve(&mut self.right);
        self.correct_guests();
        let moved = self.right.chunks_exact(3).map(|d| d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        let moved = moved.fold(0.0, |most: f64, d| if d > most || d.is_nan() { d } else { most }).sqrt();
        // A step as long as a spring leaves everything that is known behind: it is cut.
        let most = 0.5 * self.reach;
        let share = if moved > most { most / moved } else { 1.0 };
        if share < 1.0 {
            self.right.iter_mut().for_each(|d| *d *= share);
            self.mix.restart();
        }
        self.move_guests(share);
        if self.contacts.has_guests() {
            self.mix.restart();
        }
        self.mix.step(&mut self.x, &self.right, &self.masses);
        moved
    }

    /// The second half of the springs' forces, as forces over the step.
    pub fn add_second_half(&self, forces: &mut [Wrench]) {
        for (n, &i) in self.solids.iter().enumerate() {
            forces[i as usize].linear += self.elastic[n] * (2.0 / self.h);
        }
        // What limits did across their springs, taken back where those are now: see the top of the file.
        for (line, p) in self.lines.iter().zip(&self.pulls).filter(|(_, p)| p.active && p.l1 > 0.0) {
            let back = (p.d0 - p.n1 * p.n1.dot(p.d0)) * (p.held / p.l1);
            forces[line.solids[0] as usize].linear += back;
            forces[line.solids[1] as usize].linear -= back;
        }
    }

    /// Pushes from here on are answered by masses alone.
    pub fn stop_responding(&mut self) {
        self.responds = false;
    }

    /// Does the response of its vertices differ from that of free particles?
    pub fn is_responding(&self) -> bool {
        self.responds && !self.is_empty()
    }

    /// `A^-1 f` at the vertices.
    fn respond(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]]) {
        for (n, &i) in self.solids.iter().enumerate() {
            self.right[3 * n..3 * n + 3].copy_from_slice(&push[i as usize][..3]);
        }
        self.factor.solve(&mut self.right);
        for (n, &i) in self.solids.iter().enumerate() {
            let r = &self.right[3 * n..3 * n + 3];
            out[i as usize] = [r[0], r[1], r[2], 0.0, 0.0, 0.0];
        }
    }
}

/// Forces of all springs at a state, as other methods have them: explicit, and without limits.
pub(super) fn explicit(m: &Mechanism, s: &State, out: &mut [Wrench]) {
    for soft in m.softs() {
        for spring in &soft.mesh.springs {
            let [a, b] = spring.ends.map(|k| soft.vertex(k).index());
            let d = s.centers[b] - s.centers[a];
            let l = d.length();
            if l > 0.0 {
                let u = d / l;
                let moving = |i: usize| if m.solids()[i].is_fixed() { Vector::ZERO } else { s.velocities[i] };
                let rate = u.dot(moving(b) - moving(a));
                let f = u * (spring.stiffness * (l - spring.length) + spring.damping * rate);
                out[a].linear += f;
                out[b].linear -= f;
            }
        }
    }
}

/// What springs of soft bodies store at a state.
pub(crate) fn stored(m: &Mechanism, s: &State) -> f64 {
    let of = |soft: &crate::soft::SoftBody| {
        let springs =
            soft.mesh.springs.iter().filter(|k| k.ends.iter().any(|v| !m.solid(soft.vertex(*v)).is_fixed()));
        let energy = springs.map(|k| {
            let [a, b] = k.ends.map(|v| s.centers[soft.vertex(v).index()]);
            0.5 * k.stiffness * (a.distance(b) - k.length).powi(2)
        });
        energy.sum::<f64>()
    };
    m.softs().iter().map(of).sum()
}

/// The lower level with soft bodies in it: their vertices answer by `A^-1`, everything else as it did.
pub(super) struct SoftLower<'a, L: Lower> {
    pub rest: L,
    pub soft: &'a mut Soft,
}

impl<L: Lower> Lower for SoftLower<'_, L> {
    fn solids(&self) -> usize {
        self.rest.solids()
    }

    fn respond(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]]) {
        self.rest.respond(push, out);
        if self.soft.is_responding() {
            self.soft.respond(push, out);
        }
    }

    fn inner(&self) -> &[f64] {
        self.rest.inner()
    }

    fn cost(&self) -> f64 {
        self.rest.cost() + 1e3 * self.soft.solids.len() as f64
    }
}

impl IslandWork {
    /// Rows that touch a vertex of a soft body are solved over its response.
    pub(super) fn lift_soft_rows(&mut self) {
        if self.soft.is_empty() {
            return;
        }
        for g in &self.rows.groups {
            if g.solids.iter().any(|i| self.soft.has(*i)) {
                for r in g.range() {
                    (self.below[r], self.bounded) = (false, true);
                }
            }
        }
    }
}
