//! What moves solids besides constraints: gravity, forces, given motions.

use super::Piece;
use crate::math::{Pose, Vector, log};
use crate::mechanism::Mechanism;
use crate::rows::Masses;
pub(crate) use crate::rows::Wrench;
use crate::solid::{Kernel, SolidId};
use crate::state::State;

/// Gravity and the forces that act within the piece, springs of soft bodies among them. Other springs, and motors, are rows.
pub(crate) fn applied(piece: &Piece, s: &State, masses: &Masses, out: &mut Vec<Wrench>) {
    applied_to_solids(piece, s, masses, out);
    super::soft::explicit(piece.m, s, out);
}

/// The same without soft bodies. A force that begins or ends within the piece, or does both, acts with the share of the piece
/// that it lasts: its impulse is that of the time it was given, whatever the step.
pub(crate) fn applied_to_solids(piece: &Piece, s: &State, masses: &Masses, out: &mut Vec<Wrench>) {
    let m = piece.m;
    out.clear();
    out.extend(
        (0..m.solids().len()).map(|i| Wrench { linear: m.gravity * masses.mass(i), angular: Vector::ZERO }),
    );
    for f in &m.forces {
        let share = f.during.map_or(1.0, |d| d.share(piece.begin, piece.end));
        if share == 0.0 {
            continue;
        }
        let i = f.solid.index();
        let q = s.rotations[i];
        let (force, torque) = if f.follows_solid { (q * f.value, q * f.torque) } else { (f.value, f.torque) };
        let arm = f.at.map_or(Vector::ZERO, |point| q * (point - m.solids()[i].mass.center));
        out[i].linear += force * share;
        out[i].angular += (torque + arm.cross(force)) * share;
    }
}

/// Puts scripted solids where they are at `end`. Their velocities are the displacement over the step by its length: the
/// trajectory itself is never differentiated.
pub(crate) fn move_scripted(m: &Mechanism, s: &mut State, h: f64, end: f64) {
    for i in 0..m.solids().len() {
        move_one(m, s, SolidId(i as u32), h, end);
    }
}

/// Puts one solid where it is at `end`, if it is scripted.
pub(crate) fn move_one(m: &Mechanism, s: &mut State, id: SolidId, h: f64, end: f64) {
    let (i, solid) = (id.index(), m.solid(id));
    let Kernel::Scripted(t) = solid.kernel else { return };
    let pose: Pose = m.trajectories[t.0 as usize].pose(end);
    let (center, rotation) = (s.centers[i], s.rotations[i]);
    s.set_pose(m, id, pose);
    s.velocities[i] = (s.centers[i] - center) / h;
    s.spins[i] = log(s.rotations[i] * rotation.inverse()) / h;
}

/// Velocity and spin of a solid as a row answers to them: zero for what never moves.
pub(crate) fn moving(m: &Mechanism, s: &State, i: usize) -> [f64; 6] {
    if m.solids()[i].kernel == Kernel::Fixed {
        return [0.0; 6];
    }
    let (v, o) = (s.velocities[i], s.spins[i]);
    [v.x, v.y, v.z, o.x, o.y, o.z]
}
