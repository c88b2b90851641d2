//! What each row does during a step: holds, pushes with a known force, or rests.

use super::tree::{Six, add};
use crate::rows::{Group, Law, Masses, Rows};
use crate::state::State;
use crate::step::work::mobility;

/// What a row does during one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Mode {
    /// Nothing: a bound that is not reached.
    #[default]
    Rests,
    /// A constraint; a bound sits at its upper end if `high`.
    Holds { high: bool },
    /// A spring and a damper.
    Gives,
    /// A motor at the limit of its force.
    Pushes(f64),
}

impl Mode {
    pub fn holds(self) -> bool {
        matches!(self, Mode::Holds { .. })
    }
}

/// `J v` of a row.
pub(super) fn along(rows: &Rows, r: usize, [a, b]: [usize; 2], s: &State) -> f64 {
    rows.along(r, [&twist(s, a), &twist(s, b)])
}

/// Velocity and spin of a solid.
pub(super) fn twist(s: &State, i: usize) -> Six {
    let (v, w) = (s.velocities[i], s.spins[i]);
    [v.x, v.y, v.z, w.x, w.y, w.z]
}

/// How far a row that holds is from where it belongs.
pub(super) fn lacks(rows: &Rows, g: &Group, r: usize, mode: Mode) -> f64 {
    match (g.law, mode) {
        (Law::Hold, Mode::Holds { high: true }) => rows.high[r],
        (Law::Hold, Mode::Holds { high: false }) => rows.low[r],
        _ => 0.0,
    }
}

/// The rate of a row that holds.
pub(super) fn rate(g: &Group) -> f64 {
    if let Law::Rate(rate) = g.law { rate } else { 0.0 }
}

/// What a motor of limited force lacks: of its rate, or of its position `ahead` of now and then of standing still.
pub(super) fn motor_lacks(rows: &Rows, g: &Group, r: usize, s: &State, ahead: f64) -> f64 {
    let gap = rows.wanted(r);
    let speed = along(rows, r, g.solids, s);
    match g.law {
        Law::Hold if gap.abs() > 1e-9 => gap - ahead * speed,
        _ => {
            let lacks = rate(g) - speed;
            if lacks.abs() > 1e-9 * (1.0 + rate(g).abs()) { lacks } else { 0.0 }
        }
    }
}

/// A motor of limited force goes for its position so fast that it could hardly stop there.
fn must_brake(rows: &Rows, masses: &Masses, g: &Group, r: usize, s: &State) -> bool {
    let (gap, speed) = (rows.wanted(r), along(rows, r, g.solids, s));
    let brakes = g.most_force * mobility(rows, masses, g, r) * gap.abs();
    g.law == Law::Hold && gap.abs() > 1e-9 && gap * speed > 0.0 && speed * speed > brakes
}

/// The modes at the start of a step of length `h`. A bound that pushed at the end of the last one goes on doing so until
/// it would pull. A motor that would overshoot its position within the step brakes: late braking would feed energy in.
pub(super) fn choose(
    rows: &Rows,
    s: &State,
    masses: &Masses,
    tolerance: f64,
    h: f64,
    modes: &mut Vec<Mode>,
    forces: &mut Vec<f64>,
) {
    s.memory.own().recall(rows, forces);
    modes.clear();
    modes.resize(rows.len(), Mode::Rests);
    for g in &rows.groups {
        for r in g.range() {
            modes[r] = match g.law {
                Law::Soft { .. } => Mode::Gives,
                _ if g.most_force.is_finite() && must_brake(rows, masses, g, r, s) => {
                    Mode::Pushes(g.most_force.copysign(-along(rows, r, g.solids, s)))
                }
                _ if g.most_force.is_finite() => match motor_lacks(rows, g, r, s, h) {
                    0.0 => Mode::Holds { high: false },
                    lacks => Mode::Pushes(g.most_force.copysign(lacks)),
                },
                _ if rows.is_equality(r) => Mode::Holds { high: false },
                _ if forces[r] > 0.0 && rows.low[r].abs() <= tolerance => Mode::Holds { high: false },
                _ if forces[r] < 0.0 && rows.high[r].abs() <= tolerance => Mode::Holds { high: true },
                _ => Mode::Rests,
            };
        }
    }
}

/// After the first accelerations: bounds that pull are let go, motors that need more than they have push with what they
/// have. True when something changed.
pub(super) fn revise(rows: &Rows, lambda: &[f64], modes: &mut [Mode]) -> bool {
    let mut changed = false;
    for g in &rows.groups {
        for r in g.range() {
            let Mode::Holds { high } = modes[r] else { continue };
            if g.most_force.is_finite() {
                if lambda[r].abs() > g.most_force {
                    modes[r] = Mode::Pushes(g.most_force.copysign(lambda[r]));
                    changed = true;
                }
            } else if !rows.is_equality(r) && (if high { lambda[r] > 0.0 } else { lambda[r] < 0.0 }) {
                modes[r] = Mode::Rests;
                changed = true;
            }
        }
    }
    changed
}

/// Adds what springs, dampers and limited motors pull to the forces; `lambda` gets it row by row.
pub(super) fn explicit(rows: &Rows, s: &State, modes: &[Mode], forces: &mut [Six], lambda: &mut [f64]) {
    for g in &rows.groups {
        for r in g.range() {
            let pull = match (modes[r], g.law) {
                (Mode::Pushes(force), _) => force,
                (Mode::Gives, Law::Soft { stiffness, damping }) => {
                    let gap = rows.wanted(r);
                    // A soft bound acts, spring and damper, once it is crossed.
                    if gap == 0.0 && !rows.is_equality(r) {
                        0.0
                    } else {
                        let pull = stiffness * gap - damping * along(rows, r, g.solids, s);
                        pull.clamp(-g.most_force, g.most_force)
                    }
                }
                _ => continue,
            };
            lambda[r] = pull;
            for side in 0..2 {
                add(&mut forces[g.solids[side]], pull, &rows.row(r)[side]);
            }
        }
    }
}

/// Bounds on the fastest oscillation (rad/s) and the fastest decay (1/s) that springs and dampers can make. Constraints
/// only make them slower. With `w = j M^-1/2` of a row, `|w x|^2 <= 2 (|w_a x_a|^2 + |w_b x_b|^2)`, so that the solids may
/// be looked at one by one; and of each, the root of `tr (M^-1 K)^2` is no less than the largest eigenvalue.
pub(super) fn stiffness(rows: &Rows, masses: &Masses, sums: &mut Vec<[[Six; 6]; 2]>) -> (f64, f64) {
    if rows.groups.iter().all(|g| !matches!(g.law, Law::Soft { .. })) {
        return (0.0, 0.0);
    }
    sums.clear();
    sums.resize(masses.len(), [[[0.0; 6]; 6]; 2]);
    for g in &rows.groups {
        let Law::Soft { stiffness, damping } = g.law else { continue };
        let share = if g.solids.iter().all(|s| masses.moves(*s)) { 2.0 } else { 1.0 };
        for r in g.range() {
            for side in 0..2 {
                let (i, j) = (g.solids[side], &rows.row(r)[side]);
                if !masses.moves(i) {
                    continue;
                }
                let answer = masses.accelerate(i, j);
                for (sum, by) in sums[i].iter_mut().zip([share * stiffness, share * damping]) {
                    for (row, a) in sum.iter_mut().zip(&answer) {
                        add(row, by * a, j);
                    }
                }
            }
        }
    }
    let size = |b: &[Six; 6]| {
        let square: f64 = (0..6).map(|x| (0..6).map(|y| b[x][y] * b[y][x]).sum::<f64>()).sum();
        square.max(0.0).sqrt()
    };
    let most = sums.iter().fold([0.0_f64; 2], |m, s| [m[0].max(size(&s[0])), m[1].max(size(&s[1]))]);
    (most[0].sqrt(), most[1])
}
