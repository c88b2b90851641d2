//! The work of motors that are no springs: impulse times how fast the row goes, at either end of a substep.
//!
//! ```text
//!     W = sum over rows of  p (J v + J' v') / 2,      p the impulse of the whole substep along the row
//! ```
//! A blow at one pose changes the kinetic energy by exactly that, and a motor that holds a speed `r` with a force `F` gives
//! `F r h`. What lies between is not known: of a motor that begins, which part of its impulse acts before the speed is there
//! (`jolt`), and of one that goes on, a share of what it could have done at most (`effort`). Motors with a stiffness are springs, and stand with the
//! energy that is stored (`energy.rs`).

use super::Piece;
use super::work::IslandWork;
use crate::rows::{Group, Law, Rows, Source};
use crate::state::State;

/// What motors did in an attempt at a step.
#[derive(Default)]
pub(super) struct Motors {
    /// There are such motors.
    pub acts: bool,
    /// Their work, joules.
    pub work: f64,
    /// Sum of the sizes of their impulses times the larger speed: what the work may be wrong by is a share of it,
    pub effort: f64,
    /// and this: the same times half the change of the speed.
    pub jolt: f64,
    /// As `effort`, of motors that can bring energy in: what a step before or after may owe them.
    pub giving: f64,
    /// Per row, in this substep: the impulse, and the speed at its begin.
    impulses: Vec<f64>,
    speeds: Vec<f64>,
}

/// Rows of a motor that pushes as it likes.
pub(super) fn is_motor(g: &Group) -> bool {
    matches!(g.source, Source::Drive(_)) && !matches!(g.law, Law::Soft { .. })
}

impl Motors {
    /// Nothing was done yet.
    pub fn begin_attempt(&mut self) {
        (self.work, self.effort, self.jolt, self.giving) = (0.0, 0.0, 0.0, 0.0);
    }

    /// Impulses along all rows: these multipliers times `unit`.
    pub fn push(&mut self, multipliers: &[f64], unit: f64) {
        if self.acts {
            self.impulses.resize(multipliers.len(), 0.0);
            self.impulses.iter_mut().zip(multipliers).for_each(|(p, l)| *p += unit * l);
        }
    }

    /// What was pushed so far in this substep belongs to its start.
    pub fn forget_impulses(&mut self) {
        self.impulses.clear();
    }

    fn note_speeds(&mut self, rows: &Rows, s: &State) {
        self.speeds.clear();
        self.speeds.resize(rows.len(), 0.0);
        for g in rows.others().filter(|g| is_motor(g)) {
            for r in g.range() {
                self.speeds[r] = rows.speed(r, s);
            }
        }
    }

    fn add_work(&mut self, rows: &Rows, s: &State) {
        if self.impulses.len() != rows.len() || self.speeds.len() != rows.len() {
            return;
        }
        for g in rows.others().filter(|g| is_motor(g)) {
            for r in g.range() {
                let (p, before, after) = (self.impulses[r], self.speeds[r], rows.speed(r, s));
                let (work, effort) = (0.5 * p * (before + after), p.abs() * before.abs().max(after.abs()));
                // What holds still takes energy out, whatever its impulse looks like where its joint turns round.
                let brakes = g.law == Law::Rate(0.0);
                self.work += if brakes { work.min(0.0) } else { work };
                self.effort += effort;
                self.giving += if brakes { 0.0 } else { effort };
                self.jolt += 0.5 * p.abs() * (after - before).abs();
            }
        }
    }
}

impl IslandWork {
    /// Before a substep from `s`.
    pub(super) fn begin_motors(&mut self, piece: &Piece, s: &State) {
        if !self.motors.acts {
            return;
        }
        self.motors.forget_impulses();
        // Rows of another moment may be others.
        if self.is_filled_at(s) && !self.is_timed() {
            self.motors.note_speeds(&self.rows, s);
        } else {
            self.probe.fill_motion(piece.m, s, piece.end, |_| crate::joint::Rank::Primary);
            self.motors.note_speeds(&self.probe, s);
        }
    }

    /// After it, rows are those of `s`.
    pub(super) fn end_motors(&mut self, s: &State) {
        if self.motors.acts {
            self.motors.add_work(&self.rows, s);
        }
    }
}
