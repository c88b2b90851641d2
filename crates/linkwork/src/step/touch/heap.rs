//! Heaps: many free solids in one island, stepped by sweeps instead of an exact solve.
//!
//! Points are found at the start of the step, and again within it where something is fast: corners come round edges. Then,
//! in a few substeps: forces, the impulses of the substep before as a warm start, sweeps over all points
//! (`solve/heap.rs`), motion. Many short substeps with one sweep each leave far
//! less open than one long one with as many (small steps; Macklin et al. 2019). Overlaps that sweeps leave come apart
//! through the positions alone, so that no speed comes of them. Only where something would still sink in, as what is light does
//! below what is heavy, sweeps go on, in conjugate directions. What it costs at most is known before it begins, and the receipt
//! tells how far it is from the laws: nothing is solved again.

use super::stages::approach;
use super::{Contact, PUSH, Touch};
use crate::contact::{ContactMemory, ContactReport};
use crate::math::{Matrix, Vector};
use crate::rows::Masses;
use crate::solve::{HeapBody, HeapPoint, elimination_cost};
use crate::state::State;
use crate::step::free::{applied, move_scripted};
use crate::step::{Advanced, IslandWork, Piece};

/// Fewer pairs are never a heap.
pub(super) const LEAST_PAIRS: usize = 24;
/// An exact solve takes dozens of factorisations: one that costs more operations than this is left to sweeps.
const MOST_COST: usize = 150_000;
/// Substeps, and sweeps in each of them, at most: while one still moves something farther than this within the substep.
const SUBSTEPS: usize = 4;
const MOST_SWEEPS: usize = 8;
const CLOSE: f64 = 5e-5;
/// Where something would still come farther into something else than this within the substep, sweeps go on, up to so many:
/// what is light gives way slowly between what is heavy.
const FAR: f64 = 5e-4;
const LAST_SWEEP: usize = 160;
/// Points are found anew when something may have come farther than this part of its size since.
const STALE: f64 = 0.1;
/// Sweeps for what is thrown back.
const REBOUNDS: usize = 4;

impl IslandWork {
    /// Whether the island is a heap, as it is at `s`: an exact solve would cost too much. Points are known then.
    pub(in crate::step) fn is_heap(&mut self, piece: &Piece, s: &State) -> bool {
        let m = piece.m;
        // Sweeps know solids alone: soft bodies among them would be stepped explicitly, which no stiff spring survives.
        let bound = !m.joints().is_empty() || !m.springs.is_empty() || !m.softs().is_empty();
        if self.touch.pairs.len() < LEAST_PAIRS || bound {
            return false;
        }
        self.masses.update(m, s);
        self.detect_ahead(piece, s);
        self.touch.is_costly(&self.masses)
    }

    /// One step of a heap whose points `is_heap` found.
    pub(in crate::step) fn advance_heap(&mut self, piece: &Piece, s: &mut State) -> Advanced {
        let clock = self.start(piece.c);
        let looks = self.touch.looks(piece, s);
        let mut report = ContactReport::default();
        let part = piece.h / looks as f64;
        for k in 0..looks {
            let begin = piece.begin + k as f64 * part;
            let end = if k + 1 == looks { piece.end } else { begin + part };
            let piece = Piece { h: part, begin, end, ..*piece };
            if k > 0 {
                self.masses.update(piece.m, s);
                self.detect_ahead(&piece, s);
            }
            self.touch.report = ContactReport { rounds: report.rounds, heaps: 1, ..ContactReport::default() };
            self.sweep_heap(&piece, s, SUBSTEPS / looks);
            report = self.touch.report;
        }
        s.memory.own_mut().remember(piece.h, &[], std::iter::empty());
        self.stop(piece.c, clock, |t| &mut t.solve);
        self.forget();
        Advanced { iterations: looks, solver_iterations: report.rounds, swept: true, ..Advanced::default() }
    }

    /// A part of the step, with the points as they are.
    fn sweep_heap(&mut self, piece: &Piece, s: &mut State, substeps: usize) {
        let Piece { m, h, end, .. } = *piece;
        let bounces = self.touch.contacts.iter().any(|c| c.restitution > 0.0);
        self.touch.energy = if bounces { self.energy(piece, s) } else { f64::INFINITY };
        for c in &mut self.touch.contacts {
            c.approaches(piece, s);
        }
        applied(piece, s, &self.masses, &mut self.wrenches);
        if self.scripted {
            move_scripted(m, s, h, end);
        }
        let short = h / substeps as f64;
        self.touch.gather_heap(s, &self.masses, h, short);
        let heap = &mut self.touch.heap;
        for k in 0..substeps {
            for (b, f) in heap.bodies.iter_mut().zip(&self.wrenches) {
                b.push(short, f.linear, f.angular);
            }
            heap.warm_start(short);
            let mut left = MOST_SWEEPS;
            for j in 0.. {
                self.touch.report.rounds += 1;
                let moved = heap.sweep(j % 2 == 0) * short;
                left -= 1;
                if left == 0 && j + 1 < LAST_SWEEP && heap.worst_approach() * short > FAR {
                    left = MOST_SWEEPS;
                }
                if !(moved > CLOSE) && j + 1 < MOST_SWEEPS || left == 0 {
                    break;
                }
                // What is at rest settles by plain sweeps, and would be kept awake by more.
                if j + 1 >= MOST_SWEEPS {
                    heap.go_on();
                }
            }
            if k + 1 == substeps {
                self.touch.report.residual = h * heap.residual();
            }
            heap.advance(short, m.gravity.length());
        }
        s.time = end;
        self.settle_heap(piece, s);
        self.touch.remember_heap(s, short);
    }

    /// Rebounds, overlaps, and the bodies where they have come to.
    fn settle_heap(&mut self, piece: &Piece, s: &mut State) {
        let mut t = std::mem::take(&mut self.touch);
        t.stopped.clear();
        t.stopped.extend(t.heap.bodies.iter().map(|b| (b.velocity, b.spin)));
        let throws = t.heap.rebound(REBOUNDS);
        let (masses, lifted) = (&self.masses, &mut t.lifted);
        t.heap.push_out(|i, way| *lifted -= masses.mass(i) * piece.m.gravity.dot(way));
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
            let b = &t.heap.bodies[i];
            let before = Matrix::from_quat(s.rotations[i]);
            let (x, o) = t.heap.ways[i];
            s.displace(i, &[x.x, x.y, x.z, o.x, o.y, o.z]);
            // What turns keeps its angular momentum, not its spin.
            let after = Matrix::from_quat(s.rotations[i]);
            let turn = |spin: Vector| {
                let momentum = before * (*self.masses.inertia(i) * (before.transpose() * spin));
                after * (*self.masses.local_inverse_inertia(i) * (after.transpose() * momentum))
            };
            let (stopped, thrown) = (t.stopped[i], (b.velocity, b.spin));
            (s.velocities[i], s.spins[i]) = (stopped.0, turn(stopped.1));
            t.stopped[i] = (thrown.0, turn(thrown.1));
        }
        let thrown = std::mem::take(&mut t.stopped);
        self.touch = t;
        if throws {
            // No more of the rebound than leaves the energy that there was.
            let share = self.share(piece, s, &thrown, 0.0, 0.0);
            for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
                s.velocities[i] = s.velocities[i].lerp(thrown[i].0, share);
                s.spins[i] = s.spins[i].lerp(thrown[i].1, share);
            }
        }
        self.touch.stopped = thrown;
    }
}

impl Touch {
    /// An exact solve of what touches costs more than it should.
    fn is_costly(&mut self, masses: &Masses) -> bool {
        let mut pairs = std::mem::take(&mut self.solid_pairs);
        pairs.clear();
        let mut last = usize::MAX;
        for c in &self.contacts {
            let [a, b] = c.solids;
            if c.pair != last && masses.moves(a) && masses.moves(b) {
                pairs.push([a.min(b) as u32, a.max(b) as u32]);
            }
            last = c.pair;
        }
        let solids = masses.len();
        // Chains, stacks and rows touch about once per solid, heaps three times.
        if 2 * pairs.len() > 3 * solids + 200 {
            self.solid_pairs = pairs;
            return true;
        }
        self.are_costly(solids, pairs)
    }

    /// An exact solve of solids of which these pairs hold each other costs more than it should. Takes the list back.
    pub(super) fn are_costly(&mut self, solids: usize, mut pairs: Vec<[u32; 2]>) -> bool {
        pairs.sort_unstable();
        pairs.dedup();
        // Who touches whom is mostly what it was a step ago.
        if self.costed.0 != pairs {
            self.costed.1 = elimination_cost(solids, &pairs, MOST_COST);
            self.costed.0.clone_from(&pairs);
        }
        self.solid_pairs = pairs;
        self.costed.1 > MOST_COST
    }

    /// How often points are found in a step, by the farthest way of a pair in units of its size.
    fn looks(&self, piece: &Piece, s: &State) -> usize {
        let mut farthest = 0.0_f64;
        for pair in &self.pairs {
            let size = pair.colliders.map(|k| self.colliders.all[k as usize].size);
            let way = approach(piece.m, s, piece.h, pair.solids, pair.shapes(&self.colliders));
            farthest = farthest.max(way / size[0].min(size[1]).max(1e-9));
        }
        match farthest / STALE {
            x if x <= 1.0 => 1,
            x if x <= 2.0 => 2,
            _ => SUBSTEPS,
        }
    }

    /// Bodies at rest where they are, and points with the impulses of the last step.
    fn gather_heap(&mut self, s: &State, masses: &Masses, h: f64, short: f64) {
        let heap = &mut self.heap;
        heap.bodies.clear();
        heap.bodies.extend((0..masses.len()).map(|i| HeapBody {
            velocity: s.velocities[i],
            spin: s.spins[i],
            inverse_mass: masses.inverse_mass(i),
            inverse_inertia: masses.upper_inverse_inertia(i),
        }));
        heap.points.clear();
        // Both are in the order of their shapes.
        let known = &s.memory.own().contacts;
        let mut at = 0;
        for c in &self.contacts {
            while at < known.len() && known[at].key.shapes < c.key.shapes {
                at += 1;
            }
            let own = known[at..].iter().take_while(|m| m.key.shapes == c.key.shapes);
            let force = own.into_iter().find(|m| m.key.feature == c.key.feature);
            let force = force.map_or(Vector::ZERO, |m| Vector::from_array(m.force) * short);
            let mut force = c.frame.map(|d| d.dot(force));
            if !(force[0] > 0.0) {
                force = [0.0; 3];
            }
            let size = self.pairs[c.pair].colliders.map(|k| self.colliders.all[k as usize].size);
            heap.points.push(HeapPoint {
                bodies: c.solids.map(|i| i as u32),
                arms: c.arms,
                frame: c.frame,
                gap: c.gap,
                friction: c.friction,
                // What a substep cannot show is rigid: sweeps leave overlaps, and those must not throw.
                coat: self.pairs[c.pair]
                    .surface
                    .coat
                    .map(|coat| coat.at(c.faint))
                    .filter(|coat| coat.stiffness * c.mobility(masses)[0] * short * short < 1.0),
                levers: self.pairs[c.pair].surface.resistance,
                rebound: c.restitution * c.impact,
                most: h * PUSH * size[0].min(size[1]).max(1.0),
                force,
                held: force,
                ..HeapPoint::default()
            });
        }
        heap.prepare();
    }

    /// Remembers the forces of the last substep, counts the impulses of all, and tells how deep things are.
    fn remember_heap(&mut self, s: &mut State, short: f64) {
        let memory = s.memory.own_mut();
        memory.contacts.clear();
        let report = &mut self.report;
        for (c, p) in self.contacts.iter_mut().zip(&self.heap.points) {
            c.total = p.total;
            if p.held[0] > 0.0 {
                let force = (c.push(&p.held) / short).to_array();
                memory.contacts.push(ContactMemory { key: c.key, force });
            }
            report.points += usize::from(p.force[0] > 0.0 || p.gap <= 0.0);
            if c.coated {
                report.dent = report.dent.max(-p.gap);
            } else if -p.gap > report.penetration {
                report.penetration = -p.gap;
                report.deepest =
                    Some(self.pairs[c.pair].colliders.map(|k| self.colliders.all[k as usize].solid));
            }
        }
        memory.contacts.sort_by_key(|m| m.key);
        memory.contacts.dedup_by_key(|m| m.key);
        self.count(|c: &Contact| c.total);
    }
}
