//! Solids that vertices are pinned to and that can move: hosts. What pins them together is part of Newton's method for the places.
//!
//! Asked for like other joints, a pin that pulls too hard or not hard enough in one round throws its vertex about, springs come to
//! their limits and leave them, and nothing that is linear knows that. Instead the vertices are where the hosts have them, and the
//! hosts go as far as their linkage lets them: `W`, its response at the hosts, is `L L^T`, and with
//! ```text
//!     hosts = those of the round, displaced by L z,     Phi + 1/2 |z|^2 + g . z,     g = L^T (what pins pushed them with there)
//! ```
//! the least value is where everything is in balance. Each `z` is a column of the border, as guests have six.
//! What `W` does not know, that turns are no vectors, is left to the rounds of the method that asked: in the next one hosts begin from where
//! the pushes take them.

mod ways;

use super::guests::multiply;
use super::{NONE, Soft, factor};
use crate::joint::JointId;
use crate::math::{Matrix, Rotation, Vector, exp, log_jacobian};
use crate::mechanism::Mechanism;
use crate::rows::{Ends, Masses, Rows};
use crate::solve::JointedScratch;
use crate::state::State;
use crate::step::free::Wrench;

/// So many hosts at most take part; the pins of others are rows like other joints.
const MOST: usize = 16;
/// How much heavier than itself a pinned vertex is in the factor: nothing may move it, however stiff a limit beside it is.
const HEAVY: f64 = 1e20;

/// A solid that vertices are pinned to.
#[derive(Clone, Copy, Debug)]
struct Host {
    solid: usize,
    turns: bool,
    /// Where the round takes it, and where it is.
    center: Vector,
    rotation: Rotation,
    at: Vector,
    turned: Rotation,
    /// What pins pushed it with in the round before, an impulse times the step.
    push: [f64; 6],
}

/// A vertex that is pinned to one.
#[derive(Clone, Copy, Debug)]
struct HostPin {
    node: usize,
    host: usize,
    joint: JointId,
    first: usize,
    side: usize,
    /// Where it is on its host.
    local: Vector,
    arm: Vector,
    /// Impulse of the pin, the same in the round before, and all other pushes from outside.
    push: Vector,
    had: Vector,
    other: Vector,
}

/// Hosts of the soft bodies of an island.
#[derive(Default)]
pub(super) struct Hosts {
    list: Vec<Host>,
    pins: Vec<HostPin>,
    /// Per node its pin.
    of: Vec<u32>,
    /// Columns of the border, a multiple of six: those that are too many are nothing.
    columns: usize,
    /// `L`: per host and column a displacement.
    ways: Vec<[f64; 6]>,
    /// The response of the linkage, while its ways are found.
    response: Vec<f64>,
    scale: Vec<f64>,
    /// How far they went, the same before the line search, and `g`.
    z: Vec<f64>,
    before: Vec<f64>,
    steady: Vec<f64>,
    /// Per pin and column how far the pin goes.
    reach: Vec<Vector>,
    /// Changes of multipliers; sums of ways; columns of `L` while they are found; scratch of the linkage.
    change: Vec<f64>,
    sum: Vec<Vector>,
    found: Vec<f64>,
    jointed: JointedScratch,
}

impl Hosts {
    pub fn columns(&self) -> usize {
        self.columns
    }

    fn pin_of(&self, node: u32) -> Option<usize> {
        let k = *self.of.get(node as usize)?;
        (k != NONE).then_some(k as usize)
    }

    /// Both ends are on one host.
    pub fn carries(&self, nodes: [u32; 2]) -> bool {
        let host = |n: u32| self.pin_of(n).map(|p| self.pins[p].host);
        !self.pins.is_empty() && host(nodes[0]).is_some() && host(nodes[0]) == host(nodes[1])
    }

    /// How a pin goes with six columns.
    fn ways_of(&self, pin: usize, group: usize) -> &[Vector] {
        let at = pin * self.columns + 6 * group;
        &self.reach[at..at + 6]
    }

    fn clear(&mut self) {
        self.list.clear();
        self.pins.clear();
        self.columns = 0;
        self.z.clear();
    }
}

impl Soft {
    /// Some vertex is pinned to a solid that can move.
    pub fn has_hosts(&self) -> bool {
        !self.hosts.pins.is_empty()
    }

    /// No pins to hosts are known.
    pub(super) fn forget_hosts(&mut self) {
        let nodes = self.solids.len();
        self.hosts.clear();
        self.hosts.of.clear();
        self.hosts.of.resize(nodes, NONE);
    }

    /// This vertex is pinned to this solid, which can move. False: there are too many.
    pub(super) fn add_host_pin(
        &mut self,
        joint: JointId,
        first: usize,
        side: usize,
        node: usize,
        solid: usize,
        masses: &Masses,
    ) -> bool {
        let h = &mut self.hosts;
        let known = h.list.iter().position(|x| x.solid == solid);
        if known.is_none() && h.list.len() == MOST {
            return false;
        }
        let host = known.unwrap_or(h.list.len());
        if known.is_none() {
            let (zero, one) = (Vector::ZERO, Rotation::IDENTITY);
            let turns = masses.turns(solid);
            h.list.push(Host {
                solid,
                turns,
                center: zero,
                rotation: one,
                at: zero,
                turned: one,
                push: [0.0; 6],
            });
        }
        h.of[node] = h.pins.len() as u32;
        let none = Vector::ZERO;
        let (local, arm, push, had, other) = (none, none, none, none, none);
        h.pins.push(HostPin { node, host, joint, first, side, local, arm, push, had, other });
        true
    }

    /// A vertex whose place follows from its host's.
    pub(super) fn is_pinned_to_host(&self, node: usize) -> bool {
        self.hosts.pin_of(node as u32).is_some()
    }

    /// A vertex whose place follows from a pin.
    pub(super) fn is_pinned(&self, node: usize) -> bool {
        self.hosts.of.get(node).is_some_and(|k| *k != NONE) || self.pins.iter().any(|p| p.node() == node)
    }

    /// Takes the multipliers of pins to hosts out of the rows: they are found with the places.
    pub fn take_host_pushes(&mut self, rows: &Rows, lambda: &mut [f64]) {
        for p in &mut self.hosts.pins {
            p.push = p.rows(rows).map(|(r, along)| along * std::mem::take(&mut lambda[r])).sum();
        }
    }

    /// Gives them back.
    pub fn give_host_pushes(&self, rows: &Rows, lambda: &mut [f64]) {
        for p in &self.hosts.pins {
            p.rows(rows).for_each(|(r, along)| lambda[r] = along.dot(p.push));
        }
    }

    /// Nothing is known of what pins push with.
    pub fn cool_hosts(&mut self) {
        self.hosts.pins.iter_mut().for_each(|p| p.push = Vector::ZERO);
    }

    /// Pins push.
    pub fn are_hosts_warm(&self) -> bool {
        self.hosts.pins.iter().any(|p| p.push != Vector::ZERO)
    }

    /// The solids that a piece is pinned to, and their centres at the end of the step.
    pub(super) fn hosts_of(&self, piece: &super::momentum::Piece) -> Vec<(usize, Vector)> {
        let own = |k: &usize| self.hosts.pins.iter().any(|p| p.host == *k && piece.has(p.node));
        let each = (0..self.hosts.list.len()).filter(own);
        each.map(|k| (self.hosts.list[k].solid, self.hosts.list[k].at)).collect()
    }

    /// Vertices on hosts.
    pub(super) fn host_nodes(&self) -> impl Iterator<Item = usize> {
        self.hosts.pins.iter().map(|p| p.node)
    }

    /// Rows of pins to hosts.
    pub fn host_rows(&self) -> impl Iterator<Item = usize> {
        self.hosts.pins.iter().flat_map(|p| p.first..p.first + 3)
    }

    /// What pins push hosts with, added to the impulses.
    pub fn add_host_impulses(&self, rows: &Rows, impulses: &mut [Wrench]) {
        for p in &self.hosts.pins {
            let push = p.on_host(rows, p.push);
            let solid = self.hosts.list[p.host].solid;
            impulses[solid].linear += push.linear;
            impulses[solid].angular += push.angular;
        }
    }

    /// Hosts are where everything else and the pushes of the round before take them. `outer` has all pushes, those of these pins left out.
    pub(super) fn hold_hosts(&mut self, m: &Mechanism, held: &State) {
        let h = &mut self.hosts;
        for host in &mut h.list {
            (host.center, host.rotation) = (held.centers[host.solid], held.rotations[host.solid]);
            (host.at, host.turned, host.push) = (host.center, host.rotation, [0.0; 6]);
        }
        h.z.clear();
        h.z.resize(h.columns, 0.0);
        for p in &mut h.pins {
            let ends = Ends::new(m, held, m.joint(p.joint));
            let host = &mut h.list[p.host];
            let arm = ends.p[1 - p.side] - (ends.p[p.side] - ends.c[p.side]) - host.center;
            (p.local, p.arm) = (host.rotation.inverse() * arm, arm);
            let (f, t) = (-p.push * self.h, arm.cross(-p.push * self.h));
            host.push.iter_mut().zip([f.x, f.y, f.z, t.x, t.y, t.z]).for_each(|(a, b)| *a += b);
            p.other = self.outer[p.node];
        }
        h.steady.clear();
        for j in 0..h.columns {
            let each = h.list.iter().enumerate();
            let of = |(k, host): (usize, &Host)| crate::rows::dot6(&h.ways[k * h.columns + j], &host.push);
            h.steady.push(each.map(of).sum());
        }
        self.seat_hosts();
    }

    /// Places of hosts and of the vertices on them.
    pub(super) fn seat_hosts(&mut self) {
        let h = &mut self.hosts;
        for (k, host) in h.list.iter_mut().enumerate() {
            let [way, turn] = displacement(&h.ways[k * h.columns..(k + 1) * h.columns], &h.z);
            host.at = host.center + way;
            host.turned =
                if turn == Vector::ZERO { host.rotation } else { (exp(turn) * host.rotation).normalize() };
        }
        for p in &mut h.pins {
            let host = &h.list[p.host];
            p.arm = host.turned * p.local;
            self.x[p.node] = host.at + p.arm;
        }
    }

    /// What pins push with follows from where the vertices came to be.
    pub(super) fn let_hosts_go(&mut self) {
        self.seat_hosts();
        for p in &mut self.hosts.pins {
            let n = p.node;
            let all =
                (self.x[n] - self.free[n]) * (self.masses[n] / self.h) - self.inner[n] - self.touching[n];
            (p.had, p.push, self.outer[n]) = (p.push, all - p.other, all);
        }
    }

    /// By how much the pushes of pins differ from those of the round before, row by row.
    fn change_of_pushes(&mut self, rows: &Rows) -> Vec<f64> {
        let h = &mut self.hosts;
        let mut change = std::mem::take(&mut h.change);
        change.clear();
        change.resize(rows.len(), 0.0);
        for p in &h.pins {
            p.rows(rows).for_each(|(r, along)| change[r] = along.dot(p.push - p.had));
        }
        change
    }

    /// The hosts' share of `Phi`.
    pub(super) fn hosts_value(&self) -> f64 {
        self.hosts.z.iter().zip(&self.hosts.steady).map(|(z, g)| (0.5 * z + g) * z).sum()
    }

    pub(super) fn keep_hosts(&mut self) {
        self.hosts.before.clone_from(&self.hosts.z);
    }

    /// This share of the way from where they were remembered, by the last correction.
    pub(super) fn move_hosts(&mut self, share: f64) {
        let h = &mut self.hosts;
        let first = 6 * self.contacts.guests.len();
        for (j, z) in h.z.iter_mut().enumerate() {
            *z = h.before[j] + share * self.contacts.small[first + j];
        }
        self.seat_hosts();
    }

    /// They go this share of the way that was remembered.
    pub(super) fn hold_hosts_back(&mut self, share: f64) {
        let h = &mut self.hosts;
        h.z.iter_mut().zip(&h.before).for_each(|(z, b)| *z = share * b);
        self.seat_hosts();
    }

    /// They are where the round takes them.
    pub(super) fn stop_hosts(&mut self) {
        self.hosts.z.fill(0.0);
        self.seat_hosts();
    }

    /// How far each column moves each pin.
    pub(super) fn find_reach(&mut self) {
        let h = &mut self.hosts;
        h.reach.clear();
        for p in &h.pins {
            let ways = &h.ways[p.host * h.columns..(p.host + 1) * h.columns];
            let turn = displacement(ways, &h.z)[1];
            let turning = if turn == Vector::ZERO { Matrix::IDENTITY } else { log_jacobian(turn).inverse() };
            let arm = p.arm;
            h.reach.extend(ways.iter().map(|w| {
                let spin = turning * Vector::from_slice(&w[3..]);
                Vector::from_slice(&w[..3]) + spin.cross(arm)
            }));
        }
    }

    /// The factor takes vertices on hosts for held.
    pub(super) fn weigh_pins(&mut self) {
        for p in &self.hosts.pins {
            let m = HEAVY * self.masses[p.node];
            self.factor.add_diagonal(p.node, &[m, 0.0, 0.0, m, 0.0, m]);
        }
    }

    /// The hosts' share of the border: what springs and rows that touch have of pinned vertices.
    pub(super) fn linearise_hosts(&mut self, touching: bool) {
        if !self.has_hosts() {
            return;
        }
        let (first, columns) = (6 * self.contacts.guests.len(), self.hosts.columns);
        let size = first + columns;
        self.find_reach();
        let mut dense = std::mem::take(&mut self.contacts.dense);
        let mut couplings = std::mem::take(&mut self.couplings);
        let mut sum = std::mem::take(&mut self.hosts.sum);
        let h = &self.hosts;
        (0..columns).for_each(|j| dense[(first + j) * size + first + j] += 1.0);
        sum.clear();
        sum.resize(columns, Vector::ZERO);
        let mut add = |a: &[Vector], b: &factor::Block| {
            for i in 0..columns {
                let f = factor::times(b, a[i]);
                (0..columns).for_each(|j| dense[(first + i) * size + first + j] += f.dot(a[j]));
            }
        };
        for (k, p) in h.pins.iter().enumerate() {
            let m = self.masses[p.node];
            add(&h.reach[k * columns..(k + 1) * columns], &[m, 0.0, 0.0, m, 0.0, m]);
        }
        for (line, pull) in self.lines.iter().zip(&self.pulls) {
            let [a, b] = line.nodes.map(|n| h.pin_of(n));
            if a.is_none() && b.is_none() || h.carries(line.nodes) {
                continue;
            }
            sum.fill(Vector::ZERO);
            for (pin, sign) in [(a, 1.0), (b, -1.0)] {
                let Some(k) = pin else { continue };
                sum.iter_mut().zip(&h.reach[k * columns..]).for_each(|(s, w)| *s += *w * sign);
            }
            add(&sum, &pull.seen.block);
            for (pin, n) in [(a, line.nodes[1]), (b, line.nodes[0])] {
                let Some(k) = pin.filter(|_| n != NONE && h.pin_of(n).is_none()) else { continue };
                for g in 0..columns / 6 {
                    couplings.push((
                        n as usize,
                        first + 6 * g,
                        multiply(&pull.seen.block, h.ways_of(k, g), 1.0),
                    ));
                }
            }
        }
        for near in self.contacts.near.iter().filter(|n| touching && n.push > 0.0) {
            if !near.moving().any(|(n, _)| h.pin_of(n as u32).is_some()) {
                continue;
            }
            sum.fill(Vector::ZERO);
            for (n, w) in near.in_matrix() {
                let Some(k) = h.pin_of(n as u32) else { continue };
                sum.iter_mut().zip(&h.reach[k * columns..]).for_each(|(s, way)| *s += *way * w);
            }
            add(&sum, &near.block);
            for (n, w) in near.in_matrix().filter(|(n, _)| h.pin_of(*n as u32).is_none()) {
                for g in 0..columns / 6 {
                    couplings.push((n, first + 6 * g, multiply(&near.block, &sum[6 * g..6 * g + 6], -w)));
                }
            }
        }
        // What guests do to pinned vertices they do to hosts.
        for (node, g, block) in couplings.iter().filter(|c| c.1 < first) {
            let Some(k) = h.pin_of(*node as u32) else { continue };
            for (j, way) in h.reach[k * columns..(k + 1) * columns].iter().enumerate() {
                for i in 0..6 {
                    let x: f64 = (0..3).map(|r| block[r][i] * way.to_array()[r]).sum();
                    dense[(first + j) * size + g + i] -= x;
                    dense[(g + i) * size + first + j] -= x;
                }
            }
        }
        (self.contacts.dense, self.couplings, self.hosts.sum) = (dense, couplings, sum);
    }

    /// What hosts lack, in the border's right side, by what their vertices lack; vertices lack nothing then.
    pub(super) fn lack_of_hosts(&mut self) {
        let h = &self.hosts;
        let first = 6 * self.contacts.guests.len();
        for j in 0..h.columns {
            self.contacts.small[first + j] = -h.z[j] - h.steady[j];
        }
        self.gather_at_hosts();
    }

    /// Adds to the border's right side what there is at pinned vertices, and takes it away there.
    pub(super) fn gather_at_hosts(&mut self) {
        let h = &self.hosts;
        let first = 6 * self.contacts.guests.len();
        for (k, p) in h.pins.iter().enumerate() {
            let at = 3 * p.node..3 * p.node + 3;
            let f = Vector::from_slice(&self.right[at.clone()]);
            let ways = &h.reach[k * h.columns..(k + 1) * h.columns];
            ways.iter().enumerate().for_each(|(j, w)| self.contacts.small[first + j] += w.dot(f));
            self.right[at].fill(0.0);
        }
    }

    /// Pinned vertices have nothing in these numbers.
    pub(super) fn clear_pinned(&self, x: &mut [f64]) {
        self.hosts.pins.iter().for_each(|p| x[3 * p.node..3 * p.node + 3].fill(0.0));
    }

    /// Pinned vertices go with their hosts, by what the border came to.
    pub(super) fn carry_pinned(&self, x: &mut [f64]) {
        let h = &self.hosts;
        let z = &self.contacts.small[6 * self.contacts.guests.len()..];
        for (k, p) in h.pins.iter().enumerate() {
            let ways = &h.reach[k * h.columns..(k + 1) * h.columns];
            let way: Vector = ways.iter().zip(z).map(|(w, z)| *w * *z).sum();
            x[3 * p.node..3 * p.node + 3].copy_from_slice(&way.to_array());
        }
    }

    /// Their share of the slope of `Phi`, beside what vertices have.
    pub(super) fn hosts_slope(&self) -> f64 {
        let h = &self.hosts;
        let dz = &self.contacts.small[6 * self.contacts.guests.len()..];
        (0..h.columns).map(|j| dz[j] * (h.z[j] + h.steady[j])).sum()
    }

    /// Hosts may be slowed where they are.
    pub(super) fn begin_host_speeds(&mut self, s: &State, v: &mut [Vector]) {
        self.speeds_of_pinned(s, v);
        let h = &mut self.hosts;
        for host in &mut h.list {
            (host.center, host.rotation) = (host.at, host.turned);
        }
        h.z.fill(0.0);
        h.steady.clear();
        h.steady.resize(h.columns, 0.0);
    }

    /// The border of hosts alone.
    pub(super) fn factor_host_speeds(&mut self) {
        if !self.has_hosts() {
            return;
        }
        self.begin_border();
        let (size, first) = (self.border_size(), 6 * self.contacts.guests.len());
        (0..first).for_each(|i| self.contacts.dense[i * size + i] = 1.0);
        self.linearise_hosts(false);
        self.factor_border();
    }

    /// A correction of speeds, by what vertices lack.
    pub(super) fn correct_host_speeds(&mut self) {
        if !self.has_hosts() {
            self.factor.solve(&mut self.right);
            return;
        }
        self.contacts.small.fill(0.0);
        self.lack_of_hosts();
        self.factor.solve(&mut self.right);
        let mut right = std::mem::take(&mut self.right);
        self.answer_guests(&mut right);
        self.right = right;
        let first = 6 * self.contacts.guests.len();
        let h = &mut self.hosts;
        h.z.iter_mut().zip(&self.contacts.small[first..]).for_each(|(z, d)| *z += d);
    }

    /// What limits stopped pinned vertices with is theirs: pins hand it on to the hosts.
    pub(super) fn stop_pinned(&self, s: &mut State) {
        let h = &self.hosts;
        for (line, p) in self.lines.iter().zip(&self.pulls).filter(|(_, p)| p.taut) {
            for (n, sign) in line.nodes.into_iter().zip([1.0, -1.0]) {
                if h.pin_of(n).is_some() {
                    let by = p.n1 * (sign * p.held / self.masses[n as usize]);
                    s.velocities[self.solids[n as usize] as usize] += by;
                }
            }
        }
    }

    /// Pinned vertices move as their hosts do.
    pub(super) fn speeds_of_pinned(&self, s: &State, v: &mut [Vector]) {
        for p in &self.hosts.pins {
            let i = self.hosts.list[p.host].solid;
            v[p.node] = s.velocities[i] + s.spins[i].cross(p.arm);
        }
    }

    /// What the matrix pulls pinned vertices with at these speeds is taken from their own: pins hand it on to the hosts.
    pub(super) fn calm_pinned(&self, pulls: &[Vector], taken: &mut [Vector]) {
        let h = &self.hosts;
        h.pins.iter().for_each(|p| taken[p.node] = Vector::ZERO);
        let mut add = |n: u32, f: Vector| {
            if h.pin_of(n).is_some() {
                taken[n as usize] += f / self.masses[n as usize];
            }
        };
        for (line, p) in self.lines.iter().zip(&self.pulls) {
            if line.nodes.iter().all(|n| h.pin_of(*n).is_none()) {
                continue;
            }
            let speed =
                |k: usize| if line.nodes[k] == NONE { Vector::ZERO } else { pulls[line.nodes[k] as usize] };
            let f = factor::times(&p.seen.block, speed(0) - speed(1));
            add(line.nodes[0], f);
            add(line.nodes[1], -f);
        }
        for near in self.contacts.near.iter().filter(|n| n.acts) {
            near.in_matrix().for_each(|(n, w)| add(n as u32, -near.calmed * w));
        }
    }
}

/// Way and turn of a host.
fn displacement(ways: &[[f64; 6]], z: &[f64]) -> [Vector; 2] {
    let mut sum = [0.0; 6];
    for (way, z) in ways.iter().zip(z) {
        sum.iter_mut().zip(way).for_each(|(s, w)| *s += w * z);
    }
    [Vector::from_slice(&sum[..3]), Vector::from_slice(&sum[3..])]
}

impl HostPin {
    /// Its rows, and where they push the vertex: three directions at right angles.
    fn rows(&self, rows: &Rows) -> impl Iterator<Item = (usize, Vector)> + use<> {
        let along = [0, 1, 2].map(|k| Vector::from_slice(&rows.row(self.first + k)[self.side][..3]));
        (self.first..self.first + 3).zip(along)
    }

    /// What its host feels of an impulse on the vertex.
    fn on_host(&self, rows: &Rows, push: Vector) -> Wrench {
        let mut sum = Wrench::default();
        for (r, along) in self.rows(rows) {
            let (half, l) = (rows.row(r)[1 - self.side], along.dot(push));
            sum.linear += Vector::from_slice(&half[..3]) * l;
            sum.angular += Vector::from_slice(&half[3..]) * l;
        }
        sum
    }
}
