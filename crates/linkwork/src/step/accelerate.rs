//! Accelerations under constraints, and explicit integrators around them: what `baumgarte` and `post-stabilization`
//! share.
//!
//! Hong 2005, Eqs. 3 and 7-10, with `Phi_q = J`, rows on the velocities of solids (world axes) and gyroscopic torque:
//! ```text
//!     J M^-1 J^T l = gamma - J M^-1 F,      a = M^-1 (F + J^T l)
//!     gamma = -(J v)_q v - 2 alpha J v - beta^2 Phi,      F = forces - (0, w x I w)
//! ```
//! (the sign of `l` is that of a force along the row; Eq. 9 goes into Eq. 7, see the errata). The term `(J v)_q v` is the
//! central difference of `J(q + e v) v` over `2 e` with `v` held: exact to about 1e-10 of its size, and right for every
//! kind of row without a formula each.
//!
//! What the paper leaves open:
//! - springs, dampers and soft constraints are forces `-k g - c J v`: explicit, so stiff ones need short steps;
//! - a motor with a speed asks for the acceleration that reaches it within the step;
//! - a bound asks for no acceleration that would carry the value past it within the step, and for a fifth of the way
//!   back when it is past it already;
//! - solids that follow a trajectory have the velocity and acceleration of differences over one step, centred.

use super::free::{Wrench, applied, moving};
use super::{Advanced, Integrator, IslandWork, Piece, StepConfig};
use crate::math::{Pose, Vector, exp, log, log_jacobian};
use crate::mechanism::Mechanism;
use crate::rows::{Law, RowKey, Seen, Stage as Asked, dot6};
use crate::solid::{Kernel, SolidId};
use crate::state::State;

/// What pulls gaps back: `2 alpha` and `beta^2`.
#[derive(Clone, Copy, Default)]
pub(super) struct Feedback {
    pub speed: f64,
    pub position: f64,
}

/// Scratch of the explicit methods.
#[derive(Default)]
pub(super) struct Scratch {
    /// Accelerations: the answer.
    acceleration: Vec<[f64; 6]>,
    velocity: Vec<[f64; 6]>,
    /// `J v`, `(J v)_q v` and `J M^-1 F` per row.
    speed: Vec<f64>,
    bend: Vec<f64>,
    free: Vec<f64>,
    /// Forces along the rows.
    forces: Vec<f64>,
    keys: Vec<RowKey>,
    /// What contacts push with, per solid; empty: nothing.
    pushes: Vec<Wrench>,
    moved: State,
    base: State,
    stages: [Stage; 4],
}

/// Derivatives at one stage of a Runge-Kutta scheme: linear and angular.
#[derive(Default)]
struct Stage {
    velocity: Vec<[Vector; 2]>,
    acceleration: Vec<[Vector; 2]>,
}

/// Moves of this size measure the bend of the rows, metres and radians: rounding over it and its square balance.
const PROBE: f64 = 3e-6;

/// From `s` at `end - h` to `s` at `end`.
pub(super) fn integrate(
    piece: &Piece,
    s: &mut State,
    w: &mut IslandWork,
    integrator: Integrator,
    feedback: Feedback,
    done: &mut Advanced,
) {
    let Piece { m, h, begin, end, .. } = *piece;
    accelerations(piece, s, w, feedback, done);
    let whole = if integrator == Integrator::Rk4 { h / 6.0 } else { h };
    w.motors.push(&w.explicit.forces, whole);
    let n = s.centers.len();
    match integrator {
        Integrator::Euler | Integrator::SemiImplicit => {
            for i in (0..n).filter(|i| w.masses.moves(*i)) {
                let [a, b] = split(&w.explicit.acceleration[i]);
                let (v, o) = (s.velocities[i] + a * h, s.spins[i] + b * h);
                let (dx, turn) = if integrator == Integrator::SemiImplicit {
                    (v, o)
                } else {
                    (s.velocities[i], s.spins[i])
                };
                s.centers[i] += dx * h;
                s.rotations[i] = (exp(turn * h) * s.rotations[i]).normalize();
                (s.velocities[i], s.spins[i]) = (v, o);
            }
        }
        Integrator::Rk4 => {
            // Rotations as R = exp(u) R_n with u' = K(u) w (Munthe-Kaas), so that the order is not lost.
            let mut base = std::mem::take(&mut w.explicit.base);
            base.clone_from(s);
            keep_stage(s, w, &base, 0);
            for (k, part) in [(1, 0.5), (2, 0.5), (3, 1.0)] {
                for i in (0..n).filter(|i| w.masses.moves(*i)) {
                    let stage = &w.explicit.stages[k - 1];
                    place(s, &base, i, stage.velocity[i], stage.acceleration[i], part * h);
                }
                s.time = if k == 3 { end } else { begin + part * h };
                follow(m, s, h, None);
                accelerations(piece, s, w, feedback, done);
                w.motors.push(&w.explicit.forces, if k == 3 { h / 6.0 } else { h / 3.0 });
                keep_stage(s, w, &base, k);
            }
            for i in (0..n).filter(|i| w.masses.moves(*i)) {
                let sum = |of: &dyn Fn(&Stage) -> Vector| {
                    let [a, b, c, d] = [0, 1, 2, 3].map(|k| of(&w.explicit.stages[k]));
                    (a + (b + c) * 2.0 + d) / 6.0
                };
                let velocity = [0, 1].map(|x| sum(&|k: &Stage| k.velocity[i][x]));
                let acceleration = [0, 1].map(|x| sum(&|k: &Stage| k.acceleration[i][x]));
                place(s, &base, i, velocity, acceleration, h);
            }
            w.explicit.base = base;
        }
    }
    s.time = end;
    follow(m, s, h, None);
}

/// Remembers the derivatives at a stage.
fn keep_stage(s: &State, w: &mut IslandWork, base: &State, k: usize) {
    let stage = &mut w.explicit.stages[k];
    stage.velocity.clear();
    stage.acceleration.clear();
    for i in 0..s.centers.len() {
        let turned = log(s.rotations[i] * base.rotations[i].inverse());
        stage.velocity.push([s.velocities[i], log_jacobian(turned) * s.spins[i]]);
        stage.acceleration.push(split(&w.explicit.acceleration[i]));
    }
}

/// `base` and `h` times the derivatives.
fn place(s: &mut State, base: &State, i: usize, velocity: [Vector; 2], acceleration: [Vector; 2], h: f64) {
    s.centers[i] = base.centers[i] + velocity[0] * h;
    s.rotations[i] = (exp(velocity[1] * h) * base.rotations[i]).normalize();
    s.velocities[i] = base.velocities[i] + acceleration[0] * h;
    s.spins[i] = base.spins[i] + acceleration[1] * h;
}

fn split(x: &[f64; 6]) -> [Vector; 2] {
    [Vector::new(x[0], x[1], x[2]), Vector::new(x[3], x[4], x[5])]
}

fn join(a: Vector, b: Vector) -> [f64; 6] {
    [a.x, a.y, a.z, b.x, b.y, b.z]
}

/// Puts the solids with a trajectory where they are at the state's time, with the velocity (and acceleration) of centred
/// differences over a step.
fn follow(m: &Mechanism, s: &mut State, h: f64, mut accelerations: Option<&mut [[f64; 6]]>) {
    for (i, solid) in m.solids().iter().enumerate() {
        let Kernel::Scripted(t) = solid.kernel else { continue };
        let at = |time: f64| -> Pose { m.trajectories[t.0 as usize].pose(time) };
        let velocity = |time: f64| {
            let (a, b) = (at(time - 0.5 * h), at(time + 0.5 * h));
            let center = solid.mass.center;
            let shift = b.transform_point(center) - a.transform_point(center);
            join(shift / h, log(b.rotation * a.rotation.inverse()) / h)
        };
        s.set_pose(m, SolidId(i as u32), at(s.time));
        let [v, o] = split(&velocity(s.time));
        (s.velocities[i], s.spins[i]) = (v, o);
        if let Some(out) = &mut accelerations {
            let (a, b) = (velocity(s.time - 0.5 * h), velocity(s.time + 0.5 * h));
            for k in 0..6 {
                out[i][k] = (b[k] - a[k]) / h;
            }
        }
    }
}

/// The forces along the rows that go with the accelerations at `s`, where contacts push as the state remembers.
pub(super) fn forces(piece: &Piece, s: &mut State, w: &mut IslandWork) -> Vec<f64> {
    let mut pushes = std::mem::take(&mut w.explicit.pushes);
    w.touch.remembered(s, &mut pushes);
    w.explicit.pushes = pushes;
    accelerations(piece, s, w, Feedback::default(), &mut Advanced::default());
    w.explicit.pushes.clear();
    w.explicit.forces.clone()
}

/// Accelerations of all solids at `s`, into the scratch; rows and masses are left there.
fn accelerations(piece: &Piece, s: &mut State, w: &mut IslandWork, feedback: Feedback, done: &mut Advanced) {
    let Piece { m, c, h, .. } = *piece;
    let solids = s.centers.len();
    let mut x = std::mem::take(&mut w.explicit);
    x.acceleration.clear();
    x.acceleration.resize(solids, [0.0; 6]);
    follow(m, s, h, Some(&mut x.acceleration));
    w.relinearise(piece, s, s.time);
    let clock = w.start(c);
    let n = w.rows.len();
    x.keys.clone_from(&w.rows.keys);
    x.velocity.clear();
    x.velocity.extend((0..solids).map(|i| moving(m, s, i)));
    for v in [&mut x.speed, &mut x.bend, &mut x.free, &mut x.forces] {
        v.clear();
        v.resize(n, 0.0);
    }
    w.rows.apply(&x.velocity, &mut x.speed);
    bend(m, s, w, &mut x);
    applied(piece, s, &w.masses, &mut w.wrenches);
    for (to, push) in w.wrenches.iter_mut().zip(&x.pushes) {
        to.linear += push.linear;
        to.angular += push.angular;
    }
    soft_forces(w, &mut x);
    for i in (0..solids).filter(|i| w.masses.moves(*i)) {
        let (q, f) = (s.rotations[i], w.wrenches[i]);
        let spin = s.spins[i];
        let gyroscopic = spin.cross(q * (*w.masses.inertia(i) * (q.inverse() * spin)));
        x.acceleration[i] = w.masses.accelerate(i, &join(f.linear, f.angular - gyroscopic));
    }
    w.rows.apply(&x.acceleration, &mut x.free);
    let Feedback { speed, position } = feedback;
    w.ask(&Asked::Accelerations { h, speed, position }, |rows, _, r| Seen {
        moved: x.bend[r] + x.free[r],
        speed: x.speed[r],
        ..Seen::at(rows, r)
    });
    w.lambda.clear();
    w.lambda.resize(n, 0.0);
    w.stop(c, clock, |t| &mut t.motion);
    w.factor_lower(c);
    done.solver_iterations += w.solve_asks(c, 1e-3 * c.tolerance);
    w.note_limits(h * h);
    done.iterations += 1;
    for (r, f) in x.forces.iter_mut().enumerate() {
        *f += w.lambda[r];
    }
    for i in (0..solids).filter(|i| w.masses.moves(*i)) {
        for k in 0..6 {
            x.acceleration[i][k] += w.dq[i][k];
        }
    }
    w.explicit = x;
}

/// `(J v)_q v` by central differences.
fn bend(m: &Mechanism, s: &State, w: &mut IslandWork, x: &mut Scratch) {
    let fastest = x.velocity.iter().flatten().fold(0.0_f64, |a, b| a.max(b.abs()));
    if !(fastest > 0.0 && fastest.is_finite()) {
        return;
    }
    let e = PROBE / fastest;
    for sign in [1.0, -1.0] {
        x.moved.clone_from(s);
        for (i, v) in x.velocity.iter().enumerate() {
            x.moved.displace(i, &v.map(|v| v * e * sign));
        }
        let graph = &w.graph;
        w.next.fill_motion(m, &x.moved, s.time, |j| graph.default_rank(j));
        for g in &w.next.groups {
            let [a, b] = g.solids;
            for r in g.range() {
                let [ja, jb] = &w.next.row(r);
                x.bend[r] += sign * (dot6(ja, &x.velocity[a]) + dot6(jb, &x.velocity[b])) / (2.0 * e);
            }
        }
    }
}

/// Springs, dampers and soft constraints, added to the wrenches.
fn soft_forces(w: &mut IslandWork, x: &mut Scratch) {
    for g in &w.rows.groups {
        let Law::Soft { stiffness, damping } = g.law else { continue };
        for r in g.range() {
            let wanted = w.rows.wanted(r);
            let mut force = stiffness * wanted - damping * x.speed[r];
            if !w.rows.is_equality(r) && force * wanted <= 0.0 {
                force = 0.0; // A bound pushes back and never pulls.
            }
            let force = force.clamp(-g.most_force, g.most_force);
            x.forces[r] = force;
            for (side, solid) in g.solids.into_iter().enumerate() {
                let [linear, angular] = split(&w.rows.row(r)[side]);
                w.wrenches[solid].linear += linear * force;
                w.wrenches[solid].angular += angular * force;
            }
        }
    }
}

/// What every explicit method does last: counted angles and forces into the state. Rows are left at `s`.
pub(super) fn finish(piece: &Piece, s: &mut State, w: &mut IslandWork) {
    // The rows that made the forces: others may act by now.
    let x = &w.explicit;
    s.memory.own_mut().remember(piece.h, &x.keys, x.forces.iter().copied());
    w.relinearise(piece, s, piece.end);
    for a in &w.rows.angles {
        s.angles[a.slot] = a.value;
    }
}

/// A start velocity that the joints forbid would last, since accelerations do not look at it: it is projected before the
/// first step, and the report says so.
pub(super) fn project_start(piece: &Piece, s: &mut State, w: &mut IslandWork, done: &mut Advanced) {
    if s.memory.own().substep > 0.0 {
        return;
    }
    w.relinearise(piece, s, piece.begin);
    let before = s.velocities.iter().chain(s.spins.values()).fold(0.0, |m: f64, v| m.max(v.length()));
    project_velocities(s, w, piece.c, done);
    let most = w.dq.as_flattened().iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    if most > 1e-6 * before {
        done.projected = true;
        // What was taken out is not the step's doing.
        done.closed = true;
        w.closed.clone_from(s);
        w.motors.forget_impulses();
    }
}

/// Velocities that keep to the rows at `s`. Soft rows and motors of limited strength act through forces alone.
pub(super) fn project_velocities(s: &mut State, w: &mut IslandWork, c: &StepConfig, done: &mut Advanced) {
    w.ask(&Asked::Velocities { tolerance: c.tolerance }, |rows, _, r| Seen {
        moved: rows.speed(r, s),
        ..Seen::at(rows, r)
    });
    w.lambda.clear();
    w.lambda.resize(w.rows.len(), 0.0);
    w.factor_lower(c);
    done.solver_iterations += w.solve_asks(c, 1e-3 * c.tolerance);
    w.note_limits(c.dt);
    w.motors.push(&w.lambda, 1.0);
    for i in (0..s.centers.len()).filter(|i| w.masses.moves(*i)) {
        let v = &w.dq[i];
        s.velocities[i] += Vector::new(v[0], v[1], v[2]);
        s.spins[i] += Vector::new(v[3], v[4], v[5]);
    }
}
