//! Soft bodies under `variational`: an implicit step of their springs that keeps both momenta and makes no energy.
//!
//! A spring with the ends' difference `d`, `l = |d|`, `n = d/l`, from `0` to `1` over the step of length `h`, has one tension
//! over the whole of it, the discrete derivative of its energy:
//! ```text
//!     T = k ((l0 + l1)/2 - L) + c (l1 - l0)/h
//! ```
//! Half of it acts before the middle of the step, along `n1`, and half after it, at the new places, along
//! `n1 + (d0 - n1 n1.d0)/l1`. Together that is a pull along the line between the ends at half time. Along the spring it is the
//! trapezoidal rule, across it a map of the same kind with determinant 1 and no limit to the step; torques of both halves
//! cancel, so that angular momentum is kept.
//!
//! The first half being the gradient of something, the new places are where
//! ```text
//!     Phi(x) = 1/2 (x - y)^T M (x - y) + h^2/2 sum W(l1),     W' = T
//! ```
//! is least, `y` being where everything else would take the vertices: Newton's method with a line search always gets there
//! (`newton.rs`). Its matrix is also the body's response to whatever else pulls at its vertices: see [`SoftLower`].
//!
//! **Limited stretch** (`limit.rs`) and **contact** (`contact.rs`) add terms of their own to `Phi`, multipliers and stiffness
//! (augmented Lagrangian), that act before the middle alone, so that they stop and do not throw back; velocities are held by
//! impulses of their own after it.
//!
//! **Where something touches**, stiff springs take the length at the end alone and act before the middle alone (`dampen`), and
//! Newton's method starts from where the step began. At its least value nothing is gained; ended early it may be, so that the energy
//! of the motion is looked at, and what gained is held back.
//!
//! Newton's method ends where corrections are small, and what it left would be a force from nowhere: `keep_momentum` takes
//! its sum and its torque back as a motion of the whole, so that momenta are kept to rounding at any accuracy.
//! What touches each other and is held by nothing keeps them together (`whole.rs`), and is held back, if it must be, towards that motion
//! which it has in common.

mod ahead;
mod calm;
mod contact;
mod factor;
mod give;
mod guests;
mod hosts;
mod layers;
mod limit;
mod momentum;
mod newton;
mod order;
mod pins;
mod polish;
mod room;
mod surface;
mod tree;
mod whole;
mod wind;

use super::free::Wrench;
use super::{IslandWork, StepConfig};
use crate::math::Vector;
use crate::mechanism::Mechanism;
use crate::rows::{Masses, Rows};
use crate::solve::Lower;
use crate::state::State;
pub(crate) use contact::{Contacts, Obstacle};
use factor::Factor;
pub(crate) use wind::most_pull;

const NONE: u32 = u32::MAX;
/// A spring that is weaker than this beside its masses over the step is left out of the couplings of the matrix: iterations
/// take it in, and the factor stays sparse.
const WEAK: f64 = 0.2;

/// How much of the kinetic energy of solids that are touched counts as the energy that Newton's method is held to. By a light sheet's own
/// energy alone a heavy ball would have to be placed to a millionth of what it brings with it, in dozens of rounds. For large sheets only:
/// small ones can afford the rounds, and without them a light ball on a few vertices gained a quarter of its energy.
const OF_GUESTS: f64 = 0.1;
/// Large sheets are cut into so many substeps at most.
const SHORTEST: f64 = 4.0;

/// What a step did to soft bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SoftReport {
    /// Springs of all soft bodies that were stepped.
    pub springs: usize,
    /// How many of them were held at their longest at the end of the step: the size of the active system.
    pub limited: usize,
    /// Springs that are longer than their limit, because it gave way: pins or loads asked for more.
    pub gave_way: usize,
    /// Largest length of a limited spring beyond its longest, as a share of its length at rest.
    pub excess: f64,
    /// Largest strain of the springs that have a limit.
    pub strain: f64,
    /// Vertices, faces and edges that touch something at the end of the step.
    pub contacts: usize,
    /// How much of the thickness the deepest of them lacks, metres.
    pub penetration: f64,
    /// Pairs of layers that lay in each other when the step began, and are not kept apart.
    pub tangled: usize,
    /// Pairs whose way was cut short, because nothing else kept them from passing through each other.
    pub stopped: usize,
    /// Springs and pins that tore at the end of the step.
    pub torn: usize,
    /// Rounds of Newton's method, and factorisations.
    pub rounds: usize,
    /// Factorisations among them.
    pub factors: usize,
    /// Substeps in which it did not converge.
    pub unsolved: usize,
    /// Substeps in which no good places were found, and everything was held back.
    pub held_back: usize,
}

impl SoftReport {
    /// The worst of two steps, and unsolved substeps of both.
    pub fn worse(&self, other: &SoftReport) -> SoftReport {
        SoftReport {
            springs: self.springs.max(other.springs),
            limited: self.limited.max(other.limited),
            gave_way: self.gave_way.max(other.gave_way),
            excess: self.excess.max(other.excess),
            strain: self.strain.max(other.strain),
            contacts: self.contacts.max(other.contacts),
            penetration: self.penetration.max(other.penetration),
            tangled: self.tangled.max(other.tangled),
            stopped: self.stopped + other.stopped,
            torn: self.torn + other.torn,
            rounds: self.rounds.max(other.rounds),
            factors: self.factors.max(other.factors),
            unsolved: self.unsolved + other.unsolved,
            held_back: self.held_back + other.held_back,
        }
    }

    /// As it is after a substep, with what went wrong in those before.
    pub(super) fn after(&self, before: &SoftReport) -> SoftReport {
        SoftReport {
            tangled: self.tangled.max(before.tangled),
            stopped: self.stopped + before.stopped,
            gave_way: self.gave_way.max(before.gave_way),
            unsolved: self.unsolved + before.unsolved,
            held_back: self.held_back + before.held_back,
            ..*self
        }
    }

    pub(super) fn add(&mut self, other: &SoftReport) {
        self.springs += other.springs;
        self.limited += other.limited;
        self.gave_way += other.gave_way;
        self.excess = self.excess.max(other.excess);
        self.strain = self.strain.max(other.strain);
        self.contacts += other.contacts;
        self.penetration = self.penetration.max(other.penetration);
        self.tangled += other.tangled;
        self.stopped += other.stopped;
        self.torn += other.torn;
        self.rounds += other.rounds;
        self.factors += other.factors;
        self.unsolved += other.unsolved;
        self.held_back += other.held_back;
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
    /// At the end, as far as that is known: length, direction, tension.
    l1: f64,
    n1: Vector,
    tension: f64,
    /// Weight of the length at the end in its tension, and share of its impulse before the middle: a half, or more where
    /// something touches.
    late: f64,
    /// How long it may be at the end of this step.
    longest: f64,
    /// Tension of its limit, what of it does not depend on the places, and how much stiffer the limit makes it.
    held: f64,
    multiplier: f64,
    stiffer: f64,
    /// The limit acts in the matrix.
    taut: bool,
    seen: Seen,
    /// At the end: the ends' difference, and the impulses of the spring over the step, of spring and limit before its middle,
    /// and after it.
    d1: Vector,
    pull: Vector,
    first: Vector,
    /// What the limit has of the impulse before the middle, where it is no matter of this spring alone to give back its torque.
    hold: Vector,
    second: Vector,
}

/// What Newton's method saw of a spring when it took its last correction.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    n: Vector,
    tension: f64,
    held: f64,
    /// Stiffness across the spring, and its block of the matrix.
    across: f64,
    block: factor::Block,
}

impl Pull {
    /// What has to be added after the middle of the step to an impulse that acted before and after it, so that the torques of
    /// both cancel. A spring that collapsed has no line to pull along.
    fn back(&self, before: Vector, after: Vector) -> Vector {
        let twist = self.d0.cross(before) + self.d1.cross(after);
        let length = self.d1.length_squared().max(0.01 * self.d0.length_squared());
        if length > 0.0 { self.d1.cross(twist) / length } else { Vector::ZERO }
    }
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
    /// Where nodes are when the mechanism begins.
    seats: Vec<Vector>,
    /// Pairs of nodes that the matrix couples, in order, where they are in it, and which of them springs have.
    coupled: Vec<[u32; 2]>,
    pairs: Vec<factor::Place>,
    own: Vec<u32>,
    /// Pairs of springs, and how often room was made for others in this step.
    springs: Vec<[u32; 2]>,
    widened: usize,
    /// The matrix has room for more than springs; the other pattern; and what is wanted of it.
    is_wide: bool,
    spare: room::Room,
    wanted: Vec<[u32; 2]>,
    factor: Factor,
    /// The factor is `A` of the step, and answers pushes.
    responds: bool,
    h: f64,
    /// Places are looked for the first time in this step.
    is_first: bool,
    /// Something touches.
    careful: bool,
    /// How far vertices may be from where surfaces were looked at.
    strays: f64,
    /// `Phi` without limits and contacts, unless limits give way; and what springs have at the start, in the same measure.
    plain: f64,
    standing: f64,
    /// `Phi` if nothing moved in this step.
    standing_still: f64,
    /// Kinetic energy when the step began, and that of falling for a step; a share of that of the guests.
    energy: f64,
    /// Newton's method ends where corrections are shorter than this.
    close: f64,
    /// Length of the shortest spring.
    reach: f64,
    /// What springs hold together: a body, or each of the pieces that it was torn into.
    pieces: Vec<momentum::Piece>,
    wholes: whole::Wholes,
    /// Surfaces of the soft bodies, in the same order.
    surfaces: Vec<layers::Surface>,
    faces: Vec<u32>,
    /// Pairs of layers that are looked after, in order.
    known: Vec<[u32; 4]>,
    /// Where all solids are when the step begins, and where vertices were thought to go when pairs were looked for.
    origin: Vec<Vector>,
    guess: Vec<Vector>,
    /// Where vertices are when the step begins, where they would go without springs, and where they go.
    start: Vec<Vector>,
    free: Vec<Vector>,
    x: Vec<Vector>,
    /// Impulse of half a step by springs and limits, and by contacts.
    inner: Vec<Vector>,
    touching: Vec<Vector>,
    /// What others push with.
    outer: Vec<Vector>,
    right: Vec<f64>,
    softening: Vec<f64>,
    /// The places that a line search starts from.
    before: Vec<Vector>,
    /// Stiffness around each node.
    around: Vec<f64>,
    wind: wind::Wind,
    /// Vertices that are held by what no sheet moves.
    pins: Vec<pins::Pin>,
    hosts: hosts::Hosts,
    giving: give::Giving,
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
        for soft in m.softs() {
            for i in soft.range().filter(|i| !m.solids()[*i].is_fixed()) {
                self.nodes[i] = self.solids.len() as u32;
                self.solids.push(i as u32);
                self.masses.push(m.solids()[i].mass.mass);
                self.seats.push(m.solids()[i].pose.translation);
            }
            self.surfaces.push(layers::Surface::new(m, soft));
        }
        for soft in m.softs() {
            for s in soft.mesh.springs.iter().filter(|s| !s.is_torn()) {
                let solids = s.ends.map(|k| soft.first.0 + k);
                let nodes = solids.map(|i| self.nodes[i as usize]);
                if nodes != [NONE; 2] {
                    let (stiffness, damping) = (s.stiffness, s.damping);
                    let (length, longest, pair) = (s.length, s.longest, NONE);
                    self.lines.push(Line { solids, nodes, length, stiffness, damping, longest, pair });
                }
            }
        }
        self.find_pieces();
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
        for (pair, k) in &coupled {
            if self.springs.last() != Some(pair) {
                self.springs.push(*pair);
            }
            self.lines[*k].pair = self.springs.len() as u32 - 1;
        }
        self.coupled.clone_from(&self.springs);
        self.lay_out(f64::INFINITY);
        self.right = vec![0.0; 3 * self.solids.len()];
        self.softening = vec![0.0; self.solids.len()];
        let none = || vec![Vector::ZERO; self.solids.len()];
        (self.start, self.free, self.x) = (none(), none(), none());
        (self.inner, self.touching, self.outer, self.before) = (none(), none(), none(), none());
    }

    /// Begins a step: `forces` are those of everything else at its start. Scripted and held vertices are where they will be.
    pub fn begin(
        &mut self,
        s: &State,
        masses: &Masses,
        forces: &[Wrench],
        gravity: f64,
        c: &StepConfig,
        h: f64,
    ) {
        (self.h, self.responds, self.is_first) = (h, false, true);
        self.narrow();
        self.origin.clone_from(&s.centers);
        self.report = SoftReport { springs: self.lines.len(), ..SoftReport::default() };
        for (n, &i) in self.solids.iter().enumerate() {
            let (i, w) = (i as usize, 1.0 / self.masses[n]);
            self.start[n] = s.centers[i];
            self.x[n] = s.centers[i] + s.velocities[i] * h;
            self.free[n] = self.x[n] + forces[i].linear * (0.5 * h * h * w);
        }
        for (line, pull) in self.lines.iter().zip(&mut self.pulls) {
            let [a, b] = line.solids.map(|i| s.centers[i as usize]);
            *pull = Pull { d0: b - a, l0: (b - a).length(), late: 0.5, ..Pull::default() };
        }
        let each = self.solids.iter().zip(&self.masses);
        let squares =
            each.map(|(i, m)| m * (s.velocities[*i as usize].length_squared() + (gravity * h).powi(2)));
        self.energy = 0.5 * squares.sum::<f64>();
        self.giving.begin();
        self.begin_limits(c);
        self.find_near(s, masses, gravity, c);
        if self.is_large() {
            self.energy += OF_GUESTS * self.guests_energy(s);
        }
        self.find_layers(c);
        self.careful = false;
        let coarse = self.is_coarse();
        if self.contacts.near.iter().any(|n| !coarse || n.begins_close()) {
            self.dampen();
        }
    }

    /// Springs that are too stiff for the step act before its middle, by their length at its end: backward Euler, which loses
    /// what the impact of a stiff body would ring with. Those that the step can show stay as they are.
    fn dampen(&mut self) {
        self.careful = true;
        for (line, p) in self.lines.iter().zip(&mut self.pulls) {
            let moving = line.nodes.iter().filter(|n| **n != NONE);
            let light: f64 = moving.map(|n| 1.0 / self.masses[*n as usize]).sum();
            let y = 0.25 * self.h * self.h * line.stiffness * light;
            // What a limit that gives way holds acts before the middle: without it the pull after the middle would be a blow.
            let gives = self.giving.acts && line.longest.is_finite();
            p.late = if gives { 1.0 } else { 0.5 + 0.5 * (y / (1.0 + y)).powi(2) };
        }
    }

    /// Where the vertices go if others push with these impulses; makes the impulses all that pushes them. `held` are the
    /// poses of all solids at the end of the step, as far as those that are no vertices go; `lambda`, the multipliers of `rows`,
    /// of which those of [`pins`] are found. `last`: nothing else will be tried, and limits give way before nothing moves. False: no
    /// answer was found.
    pub fn place(
        &mut self,
        m: &Mechanism,
        held: &State,
        impulses: &mut [Wrench],
        rows: &Rows,
        lambda: &mut [f64],
        c: &StepConfig,
        last: bool,
    ) -> bool {
        for (n, &i) in self.solids.iter().enumerate() {
            self.outer[n] = impulses[i as usize].linear;
        }
        self.place_guests(held);
        self.hold_pins(m, held, rows, lambda);
        if self.has_hosts() {
            self.hold_hosts(m, held);
        }
        self.look_at_spans(held);
        let found = self.solve(held, c, last);
        self.let_pins_go(rows, lambda);
        self.let_hosts_go();
        for (n, &i) in self.solids.iter().enumerate() {
            impulses[i as usize].linear = (self.x[n] - self.free[n]) * (self.masses[n] / self.h);
        }
        self.push_guests(impulses);
        found
    }

    /// Shorter substeps of a large sheet would not find much more, and take too long: what was found counts, and the report says
    /// that it was not solved. Where something heavy is caught they find no more at all: measured in quarters of a step, limits were
    /// off by as much, after three times the time.
    /// Nor do they where limits give way: what holds them asks for as much.
    pub fn gives_up(&self, c: &StepConfig) -> bool {
        let short = self.h * SHORTEST < 1.01 * c.dt;
        self.is_large() && (self.contacts.has_guests() || short) || self.giving.acts && short
    }

    /// The second half of the springs' forces, as forces over the step, and what keeps the momenta.
    pub fn add_second_half(&mut self, held: &State, masses: &Masses, forces: &mut [Wrench]) {
        let mut half = std::mem::take(&mut self.before);
        half.iter_mut().for_each(|p| *p = Vector::ZERO);
        for (line, p) in self.lines.iter().zip(&mut self.pulls) {
            let second = p.pull * (1.0 - p.late);
            p.second = second + p.back(p.first - p.hold, second) * (2.0 - 2.0 * p.late);
            let pull = p.second;
            for (n, sign) in line.nodes.iter().zip([1.0, -1.0]).filter(|(n, _)| **n != NONE) {
                half[*n as usize] += pull * sign;
            }
        }
        self.blow_again(held, &mut half);
        self.keep_momentum(&mut half, masses, forces);
        for (n, &i) in self.solids.iter().enumerate() {
            forces[i as usize].linear += half[n] * (2.0 / self.h);
        }
        self.before = half;
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
        for spring in soft.mesh.springs.iter().filter(|s| !s.is_torn()) {
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
    wind::explicit(m, s, out);
}

/// What springs of soft bodies store at a state.
pub(crate) fn stored(m: &Mechanism, s: &State) -> f64 {
    let of = |(body, soft): (usize, &crate::soft::SoftBody)| {
        let is_torn = |k: usize| !s.torn.is_empty() && s.torn.binary_search(&[body as u32, k as u32]).is_ok();
        let whole = soft.mesh.springs.iter().enumerate().filter(|(k, _)| !is_torn(*k)).map(|(_, k)| k);
        let springs = whole.filter(|k| k.ends.iter().any(|v| !m.solid(soft.vertex(*v)).is_fixed()));
        let energy = springs.map(|k| {
            let [a, b] = k.ends.map(|v| s.centers[soft.vertex(v).index()]);
            0.5 * k.stiffness * (a.distance(b) - k.length).powi(2)
        });
        energy.sum::<f64>()
    };
    m.softs().iter().enumerate().map(of).sum()
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
