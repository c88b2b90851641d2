//! `reduced`: joint coordinates by articulated bodies, integrated by the classical Runge-Kutta scheme. The reference.
//!
//! Accelerations come from Featherstone's recursion over the spanning tree (`tree.rs`): `O(n)`, exact, for any kind of
//! joint. With the rows `J` of what holds, `J a = -J' v`; the right side is a difference of rows along the motion,
//! ```text
//!     J' v = (8 (J(e) - J(-e)) - (J(2e) - J(-2e))) v / 12 e,      e = h / 8,      J(t) at the pose moved by t v
//! ```
//! whose error `(h W)^4 / 120000` stays a thousand times below that of the scheme, and which needs no second derivatives
//! of anybody. Poses are integrated in the Lie group: turns `q = exp(u) q_n` with `u' = dexp^-1(u) w` (Munthe-Kaas 1998).
//!
//! What the scheme leaves open, `O(h^5)`, is closed to rounding after every step, first the positions, then the
//! velocities, by the same recursion and in the metric of the masses (`project.rs`): the momentum of what hangs in the
//! air is not touched by it.
//!
//! - **Loops** are beyond a tree. Components that have one are given to the linear solver of the step, accelerations and
//!   projections alike; the others stay with the recursion.
//! - **Springs, dampers, soft constraints** are explicit forces. Steps too long for their frequency are cut, and if there
//!   is no end to that the mechanism is refused.
//! - **Motors**: a rate is a constraint on the velocity; with a limited force it pushes with all it has until the rate is
//!   reached, then holds it while it can.
//! - **Bounds** stop what crosses them at the end of a step, without a bounce, and are constraints from then on until
//!   they would pull.
//! - **Scripted solids** move evenly from where they are to where they shall be at the end of the step. Their
//!   accelerations are those of that motion; a change of speed between steps is an impulse.

mod laws;
mod project;
#[cfg(test)]
mod tests;
mod tree;

use super::free::applied;
use super::{Advanced, IslandWork, Piece, Rejected, StepConfig};
use crate::math::{Rotation, Vector, exp, log, log_jacobian};
use crate::mechanism::Mechanism;
use crate::rows::{Law, Rows, dot6};
use crate::solid::{Kernel, SolidId};
use crate::state::State;
use laws::{Mode, along};
use tree::{Six, Tree};

/// What the method needs besides the workspace.
#[derive(Default)]
pub(crate) struct Scratch {
    tree: Tree,
    /// Per row.
    modes: Vec<Mode>,
    /// Per row: `J x` that is asked for, and the interval where a bound may decide.
    wanted: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    /// Per row: multipliers of the last solve; forces at the end of the step.
    lambda: Vec<f64>,
    forces: Vec<f64>,
    /// Per row: a bound was crossed, the upper one if so.
    touched: Vec<Option<bool>>,
    /// Per row: what a motor of limited force lacked at the start, and the speed along it.
    lacked: Vec<[f64; 2]>,
    /// Per solid: forces in, motion out.
    f: Vec<Six>,
    x: Vec<Six>,
    sums: Vec<[[Six; 6]; 2]>,
    guides: Vec<Guide>,
    /// Sums of the Runge-Kutta stages, per solid: centre, turn, velocity, spin.
    total: Vec<[Vector; 4]>,
    probe: State,
    probed: Rows,
    bias: Vec<f64>,
    gauge: Vec<f64>,
}

/// A scripted solid on its way through one step.
struct Guide {
    solid: usize,
    origin: Vector,
    rotation: Rotation,
    velocity: Vector,
    spin: Vector,
    /// From the origin to the centre of mass, own axes.
    arm: Vector,
}

impl Guide {
    /// Puts the solid where it is `t` after the start; gives the acceleration of its centre.
    fn place(&self, s: &mut State, t: f64) -> Vector {
        let i = self.solid;
        s.rotations[i] = (exp(self.spin * t) * self.rotation).normalize();
        let arm = s.rotations[i] * self.arm;
        s.centers[i] = self.origin + self.velocity * t + arm;
        s.spins[i] = self.spin;
        let swing = self.spin.cross(arm);
        s.velocities[i] = self.velocity + swing;
        self.spin.cross(swing)
    }
}

pub(super) fn advance(piece: &Piece, s: &mut State, w: &mut IslandWork) -> Result<Advanced, Rejected> {
    let mut scratch = std::mem::take(&mut w.reduced);
    let done = scratch.advance(piece, s, w);
    w.reduced = scratch;
    done
}

impl Scratch {
    fn advance(&mut self, piece: &Piece, s: &mut State, w: &mut IslandWork) -> Result<Advanced, Rejected> {
        let Piece { c, h, begin, end, .. } = *piece;
        w.relinearise(piece, s, end);
        let pieces = self.pieces(s, w, c, h)?;
        let mut done = Advanced::default();
        for k in 1..=pieces {
            let to = if k == pieces { end } else { begin + h * (k as f64 / pieces as f64) };
            let part = Piece { h: h / pieces as f64, begin: s.time, end: to, ..*piece };
            self.piece(&part, s, w, &mut done)?;
        }
        Ok(done)
    }

    /// Into how many pieces the step is cut: an explicit scheme must resolve springs, dampers and spins.
    fn pieces(&mut self, s: &State, w: &IslandWork, c: &StepConfig, h: f64) -> Result<usize, Rejected> {
        // The scheme is stable up to 2.8 on either axis. Half a radian of turn is where accuracy is lost.
        const OSCILLATION: f64 = 1.4;
        const DECAY: f64 = 2.0;
        let most = c.most_substeps.max(1);
        let (frequency, decay) = laws::stiffness(&w.rows, &w.masses, &mut self.sums);
        let stiff = (h * frequency / OSCILLATION).max(h * decay / DECAY).ceil();
        if !(stiff <= most as f64) {
            return Err(Rejected::Unsupported);
        }
        let spin = (0..s.spins.len())
            .filter(|i| w.masses.turns(*i))
            .map(|i| s.spins[i].length_squared())
            .fold(0.0, f64::max)
            .sqrt();
        let fast = (h * spin / (0.67 * c.max_rotation)).ceil();
        let fast = if fast.is_finite() { (fast as usize).min(most) } else { 1 };
        Ok((stiff as usize).max(fast).max(1))
    }

    /// One Runge-Kutta step to `end`.
    fn piece(
        &mut self,
        piece: &Piece,
        s: &mut State,
        w: &mut IslandWork,
        done: &mut Advanced,
    ) -> Result<(), Rejected> {
        let Piece { m, c, h, end, .. } = *piece;
        let n = m.solids().len();
        // What must hold at the end of the step holds during it.
        s.time = end;
        self.guide(m, s, h, end);
        for i in 0..n {
            if w.masses.moves(i) && !w.masses.turns(i) {
                s.spins[i] = Vector::ZERO;
            }
        }
        w.relinearise(piece, s, end);
        laws::choose(&w.rows, s, &w.masses, c.tolerance, h, &mut self.modes, &mut self.gauge);
        self.remember_motors(s, w);
        self.touched.clear();
        self.touched.resize(w.rows.len(), None);
        if self.is_open(s, w) {
            // What begins to hold is closed without time: the energy of that is nobody's work.
            let closes = self.aim_positions(&w.rows) > c.tolerance;
            self.touched.fill(None);
            self.settle(piece, s, w, done)?;
            if closes {
                done.closed = true;
                w.closed.clone_from(s);
            } else {
                w.motors.push(&self.lambda, 1.0);
            }
            self.hold_what_pushed();
            self.touched.fill(None);
        }
        w.start.clone_from(s);

        self.accelerate(piece, s, w, 0.0, done)?;
        for _ in 0..8 {
            if !laws::revise(&w.rows, &self.lambda, &mut self.modes) {
                break;
            }
            self.accelerate(piece, s, w, 0.0, done)?;
        }
        self.stages(piece, s, w, done)?;
        for g in &self.guides {
            g.place(s, h);
        }
        if !s.is_finite() {
            return Err(Rejected::NotFinite);
        }
        self.note_forces(w);
        w.relinearise(piece, s, end);
        let resolved = self.is_resolved(s, w, h);
        self.catch_motors(s, w);
        self.settle(piece, s, w, done)?;
        w.motors.push(&self.lambda, 1.0);
        // A step that leaves gaps as wide as its own motion is too long, as long as shorter ones are to be had.
        let cut = (c.dt / h).round() as usize;
        if !resolved && 2 * cut <= c.most_substeps {
            return Err(Rejected::NotFinite);
        }
        self.note_blows(s, w, h);
        for a in &w.rows.angles {
            s.angles[a.slot] = a.value;
        }
        s.memory.own_mut().remember(h, &w.rows.keys, self.forces.iter().copied());
        Ok(())
    }

    /// The four stages, from the accelerations at the start.
    fn stages(
        &mut self,
        piece: &Piece,
        s: &mut State,
        w: &mut IslandWork,
        done: &mut Advanced,
    ) -> Result<(), Rejected> {
        let (c, h, n) = (piece.c, piece.h, s.centers.len());
        self.total.clear();
        self.total.resize(n, [Vector::ZERO; 4]);
        for (stage, weight) in [1.0, 2.0, 2.0, 1.0].into_iter().enumerate() {
            if stage > 0 {
                self.accelerate(piece, s, w, if stage == 3 { h } else { 0.5 * h }, done)?;
            }
            w.motors.push(&self.lambda, weight * h / 6.0);
            // How far this stage's slope leads to the next one's place.
            let ahead = if stage == 2 { h } else { 0.5 * h };
            let clock = w.start(c);
            for i in 0..n {
                if !w.masses.moves(i) {
                    continue;
                }
                let a = &self.x[i];
                let turn = if w.masses.turns(i) {
                    let u = log(s.rotations[i] * w.start.rotations[i].inverse());
                    log_jacobian(u) * s.spins[i]
                } else {
                    Vector::ZERO
                };
                let slope =
                    [s.velocities[i], turn, Vector::new(a[0], a[1], a[2]), Vector::new(a[3], a[4], a[5])];
                for (sum, k) in self.total[i].iter_mut().zip(slope) {
                    *sum += k * (weight * h / 6.0);
                }
                let [p, u, v, o] = if stage < 3 { slope.map(|k| k * ahead) } else { self.total[i] };
                s.centers[i] = w.start.centers[i] + p;
                s.velocities[i] = w.start.velocities[i] + v;
                if w.masses.turns(i) {
                    s.rotations[i] = (exp(u) * w.start.rotations[i]).normalize();
                    s.spins[i] = w.start.spins[i] + o;
                }
            }
            w.stop(c, clock, |t| &mut t.motion);
        }
        Ok(())
    }

    /// Forces at the end of the step.
    fn note_forces(&mut self, w: &IslandWork) {
        // The forces of the last stage are those at the end of the step; bounds that would pull there are let go.
        self.forces.clone_from(&self.lambda);
        for g in &w.rows.groups {
            for r in g.range() {
                if let Mode::Holds { high } = self.modes[r]
                    && !w.rows.is_equality(r)
                {
                    self.forces[r] = if high { self.forces[r].min(0.0) } else { self.forces[r].max(0.0) };
                }
            }
        }
    }

    /// Bounds that stopped something at the start of the step go on holding it.
    fn hold_what_pushed(&mut self) {
        for (r, touched) in self.touched.iter().enumerate() {
            if let Some(high) = *touched
                && self.lambda[r] != 0.0
            {
                self.modes[r] = Mode::Holds { high };
            }
        }
    }

    /// What bounds stopped at the end of the step. One that was not asked for anything keeps the force that it has, unless the
    /// blow took something off it.
    fn note_blows(&mut self, s: &State, w: &IslandWork, h: f64) {
        const LEAVES: f64 = 1e-9;
        for g in &w.rows.groups {
            for r in g.range() {
                let Some(high) = self.touched[r] else { continue };
                let away = along(&w.rows, r, g.solids, s) * if high { -1.0 } else { 1.0 };
                if self.lambda[r] != 0.0 || away > LEAVES {
                    self.forces[r] = self.lambda[r] / h;
                }
            }
        }
    }

    /// The ways of scripted solids through the step.
    fn guide(&mut self, m: &Mechanism, s: &mut State, h: f64, end: f64) {
        self.guides.clear();
        for (i, solid) in m.solids().iter().enumerate() {
            let Kernel::Scripted(t) = solid.kernel else { continue };
            let (from, to) = (s.pose(m, SolidId(i as u32)), m.trajectories[t.0 as usize].pose(end));
            let guide = Guide {
                solid: i,
                origin: from.translation,
                rotation: from.rotation,
                velocity: (to.translation - from.translation) / h,
                spin: log(to.rotation * from.rotation.inverse()) / h,
                arm: solid.mass.center,
            };
            guide.place(s, 0.0);
            self.guides.push(guide);
        }
    }

    fn remember_motors(&mut self, s: &State, w: &IslandWork) {
        self.lacked.clear();
        self.lacked.resize(w.rows.len(), [0.0; 2]);
        for g in w.rows.groups.iter().filter(|g| g.most_force.is_finite()) {
            for r in g.range() {
                let lacks = laws::motor_lacks(&w.rows, g, r, s, 0.0);
                self.lacked[r] = [lacks, along(&w.rows, r, g.solids, s)];
            }
        }
    }

    /// A motor that pushed past what it aims for holds it from now on; past a position only if it is slow enough to be
    /// stopped there by what it has.
    fn catch_motors(&mut self, s: &State, w: &IslandWork) {
        for g in w.rows.groups.iter().filter(|g| g.most_force.is_finite()) {
            for r in g.range() {
                let Mode::Pushes(_) = self.modes[r] else { continue };
                let [before, speed_before] = self.lacked[r];
                let after = laws::motor_lacks(&w.rows, g, r, s, 0.0);
                let speed = along(&w.rows, r, g.solids, s);
                let slow = g.law != Law::Hold || speed.abs() <= (speed - speed_before).abs();
                if before * after < 0.0 && slow {
                    self.modes[r] = Mode::Holds { high: false };
                }
            }
        }
    }

    /// What the scheme leaves open is small beside the way that the solids went: the step is short enough.
    fn is_resolved(&self, s: &State, w: &IslandWork, h: f64) -> bool {
        const SHARE: f64 = 0.02;
        let mut gap = 0.0_f64;
        for g in &w.rows.groups {
            for r in g.range() {
                gap = gap.max(laws::lacks(&w.rows, g, r, self.modes[r]).abs());
            }
        }
        let fastest = (0..s.centers.len())
            .map(|i| s.velocities[i].length().max(s.spins[i].length()))
            .fold(0.0, f64::max);
        gap <= SHARE * h * fastest || gap <= 1e-9
    }

    /// Accelerations of all solids at a pose, `t` after the start of the step; in `x`.
    fn accelerate(
        &mut self,
        piece: &Piece,
        s: &mut State,
        w: &mut IslandWork,
        t: f64,
        done: &mut Advanced,
    ) -> Result<(), Rejected> {
        let Piece { m, c, h, .. } = *piece;
        let n = m.solids().len();
        self.x.clear();
        self.x.resize(n, [0.0; 6]);
        for g in &self.guides {
            let a = g.place(s, t);
            self.x[g.solid][..3].copy_from_slice(&a.to_array());
        }
        w.relinearise(piece, s, piece.end);
        let clock = w.start(c);
        applied(piece, s, &w.masses, &mut w.wrenches);
        self.f.clear();
        for i in 0..n {
            let f = w.wrenches[i];
            let mut torque = f.angular;
            if w.masses.turns(i) {
                let q = s.rotations[i];
                torque -= s.spins[i].cross(q * (*w.masses.inertia(i) * (q.inverse() * s.spins[i])));
            }
            self.f.push([f.linear.x, f.linear.y, f.linear.z, torque.x, torque.y, torque.z]);
        }
        self.lambda.clear();
        self.lambda.resize(w.rows.len(), 0.0);
        laws::explicit(&w.rows, s, &self.modes, &mut self.f, &mut self.lambda);
        w.stop(c, clock, |t| &mut t.motion);
        let clock = w.start(c);
        self.measure_bias(m, s, w, h, piece.end);
        w.stop(c, clock, |t| &mut t.rows);
        self.wanted.clear();
        self.wanted.extend(self.bias.iter().map(|b| -b));
        self.free_bounds(w.rows.len());
        self.prepare(m, s, w, c)?;
        self.solve(w, c, n, done)
    }

    /// `J' v` of every row that holds.
    fn measure_bias(&mut self, m: &Mechanism, s: &State, w: &IslandWork, h: f64, at: f64) {
        self.bias.clear();
        self.bias.resize(w.rows.len(), 0.0);
        if !self.modes.iter().any(|m| m.holds()) {
            return;
        }
        let e = h / 8.0;
        for (steps, weight) in [(-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0)] {
            self.probe.clone_from(s);
            let t = steps * e;
            for i in 0..s.centers.len() {
                if s.spins[i] != Vector::ZERO {
                    self.probe.rotations[i] = (exp(s.spins[i] * t) * s.rotations[i]).normalize();
                }
                self.probe.centers[i] += s.velocities[i] * t;
            }
            self.probed.fill_motion(m, &self.probe, at, |_| crate::joint::Rank::Primary);
            let weight = weight / (12.0 * e);
            for g in &w.rows.groups {
                if !g.range().any(|r| self.modes[r].holds()) {
                    continue;
                }
                if jumps(&w.rows, &self.probed, g.range())
                    && regauge(&w.rows, &self.probed, g.range(), g.solids, s, &mut self.gauge)
                {
                    for (b, y) in self.bias[g.range()].iter_mut().zip(&self.gauge) {
                        *b += weight * y;
                    }
                    continue;
                }
                for r in g.range() {
                    self.bias[r] += weight * along(&self.probed, r, g.solids, s);
                }
            }
        }
    }
}

/// The rows of a joint are not where they were a moment ago: their directions were chosen anew.
fn jumps(rows: &Rows, probed: &Rows, range: std::ops::Range<usize>) -> bool {
    const JUMP: f64 = 0.25;
    range.into_iter().any(|r| {
        let (mut change, mut size) = (0.0, 0.0);
        for side in 0..2 {
            for (a, b) in rows.row(r)[side].iter().zip(&probed.row(r)[side]) {
                change += (a - b) * (a - b);
                size += a * a;
            }
        }
        change > JUMP * JUMP * size
    })
}

/// `B v` for the rows `B` of a joint at the probed pose, expressed in the rows `J` that it has here.
///
/// Only the space that the rows span means something: a curve's normals may be chosen anew from one pose to the next.
/// With `B = R J` up to the change that is looked for, `R^-1 B v = J J^T (B J^T)^-1 B v`. Its derivative differs from
/// `J' v` by a multiple of `J v`, which is zero.
fn regauge(
    rows: &Rows,
    probed: &Rows,
    range: std::ops::Range<usize>,
    solids: [usize; 2],
    s: &State,
    out: &mut Vec<f64>,
) -> bool {
    let n = range.len();
    let first = range.start;
    let dot = |a: &[Six; 2], b: &[Six; 2]| dot6(&a[0], &b[0]) + dot6(&a[1], &b[1]);
    // `B J^T` and the right side, row by row; then what becomes of it.
    out.clear();
    for i in range.clone() {
        out.extend(range.clone().map(|j| dot(&probed.row(i), &rows.row(j))));
        out.push(along(probed, i, solids, s));
    }
    let width = n + 1;
    for k in 0..n {
        let Some(p) = (k..n).max_by(|a, b| out[a * width + k].abs().total_cmp(&out[b * width + k].abs()))
        else {
            return false;
        };
        let largest = out[p * width + k];
        if !(largest.abs() > 1e-9) {
            return false;
        }
        for j in 0..width {
            out.swap(k * width + j, p * width + j);
        }
        for i in (0..n).filter(|i| *i != k) {
            let f = out[i * width + k] / out[k * width + k];
            for j in k..width {
                out[i * width + j] -= f * out[k * width + j];
            }
        }
    }
    for i in 0..n {
        out[i] = out[i * width + n] / out[i * width + i];
    }
    out.truncate(n);
    for i in 0..n {
        let y: f64 = (0..n).map(|j| dot(&rows.row(first + i), &rows.row(first + j)) * out[j]).sum();
        out.push(y);
    }
    out.drain(..n);
    true
}
