//! Springs, soft joints and motors with a stiffness under `variational`: how much their rows give over a step, and the
//! damping of those that swing faster than the step can show.

use super::work::{IslandWork, mobility};
use crate::rows::{Law, midpoint_give};
use crate::solve::{Problem, Work, largest};
use crate::state::State;

/// `w^2 h^2 / 4` of a row from which on its damping takes energy that somebody could miss (see
/// [`IslandWork::damp_unresolved_modes`]): below, a part in a hundred thousand per radian.
const FELT: f64 = 0.02;
/// From here on the step does not show the swing any more, and its energy at the ends of steps tells little.
const UNRESOLVED: f64 = 1.0 / 16.0;
/// Most blocks whose response is asked for: each costs a solve. Where there are more they hold each other, not joints.
const MOST_ASKED: usize = 64;

/// Most iterations of an iterative solver for each.
const ITERATIONS: usize = 50;

/// Scratch for the response of soft rows.
#[derive(Default)]
pub(crate) struct Springs {
    /// Rows that are rigid and hold in any case.
    rigid: Vec<bool>,
    held: Vec<bool>,
    /// Blocks whose response is asked for.
    asked: Vec<usize>,
    motion: Vec<[f64; 6]>,
    b: Vec<f64>,
    lambda: Vec<f64>,
    /// Blocks that swing faster than the step can show: they are damped, and energy goes.
    pub unresolved: usize,
    /// Per block, `y` below, and the length of the step that it is for.
    swing: Vec<f64>,
    swing_over: f64,
}

impl IslandWork {
    /// The give of soft rows over a step of length `h`, `2 / (2 beta k h^2 + c h)` (see `variational.rs`), and their damping.
    pub(super) fn soften(&mut self, h: f64) {
        self.soft_damping.clear();
        self.give.clear();
        self.springs.unresolved = 0;
        self.springs.swing.clear();
        self.springs.swing_over = h;
        if !self.rows.others().any(|g| matches!(g.law, Law::Soft { .. })) {
            return;
        }
        self.damp_unresolved_modes(h);
        self.give.resize(self.rows.len(), 0.0);
        for (g, damping) in self.rows.groups.iter().zip(&self.soft_damping) {
            if let Law::Soft { stiffness, .. } = g.law {
                self.give[g.range()].fill(midpoint_give(stiffness, *damping, h));
            }
        }
    }

    /// Damps soft rows that swing faster than the step can show, by `k h/2 y^2 / (1 + y^2)` with `y = w^2 h^2 / 4` and `w`
    /// the frequency at which the row would swing by itself: nothing to speak of below `w h = 1/2` (a thousandth of its energy
    /// per radian), half of the swing in a step far above. Modes with `w h >> 1` flip sign in each step and store `(w h)^2`
    /// times their energy: harmless as long as all steps are equal, thrown at the solids when a step is cut.
    ///
    /// What swings is all that rigid joints make move with the row. A light foot under a heavy lift is no light mass: by its
    /// own mass its spring was taken for one that no step can show, and lost 51 of 133 J in ten seconds.
    fn damp_unresolved_modes(&mut self, h: f64) {
        self.measure_soft_mobility(h);
        self.springs.swing.resize(self.rows.groups.len(), 0.0);
        for (k, (g, damping)) in self.rows.groups.iter().zip(&mut self.soft_damping).enumerate() {
            let Law::Soft { stiffness, damping: own } = g.law else { continue };
            let y = 0.25 * stiffness * *damping * h * h;
            self.springs.swing[k] = y;
            self.springs.unresolved += usize::from(y > UNRESOLVED);
            *damping = if y > 0.0 { own + 0.5 * stiffness * h / (1.0 + (1.0 / y).powi(2)) } else { own };
        }
    }

    /// The energy of soft rows that the ends of steps of length `h` do not tell of, at `s`, at which the rows are: a spring
    /// that swings gives and takes `y = w^2 h^2 / 4` of its energy within a step, and no more than all of it.
    pub(super) fn unseen_energy(&self, s: &State, h: f64) -> f64 {
        let (rows, springs) = (&self.rows, &self.springs);
        if springs.swing.len() != rows.groups.len() {
            return 0.0;
        }
        let longer = (h / springs.swing_over).powi(2);
        let mut sum = 0.0;
        for (g, y) in rows.groups.iter().zip(&springs.swing).filter(|(_, y)| **y > 0.0) {
            let Law::Soft { stiffness, .. } = g.law else { continue };
            let y = y * longer;
            for r in g.range() {
                let stored = 0.5 * stiffness * rows.wanted(r).powi(2);
                // Half of `w^-2 k v^2`, times `y`.
                let moving = 0.125 * stiffness * (h * rows.speed(r, s)).powi(2);
                sum += (y * stored + moving) / (1.0 + y);
            }
        }
        sum
    }

    /// What a unit of force does to each soft block, in `soft_damping` for the moment.
    fn measure_soft_mobility(&mut self, h: f64) {
        let (rows, masses) = (&self.rows, &self.masses);
        self.soft_damping.extend(rows.groups.iter().map(|g| match g.law {
            Law::Soft { .. } => g.range().fold(0.0_f64, |most, r| most.max(mobility(rows, masses, g, r))),
            _ => 0.0,
        }));
        let s = &mut self.springs;
        s.rigid.clear();
        s.rigid.resize(rows.len(), false);
        s.held.clear();
        s.held.resize(masses.len(), false);
        for g in rows.groups.iter().filter(|g| g.law == Law::Hold) {
            for r in g.range().filter(|r| self.below[*r]) {
                s.rigid[r] = true;
                g.solids.iter().for_each(|i| s.held[*i] = true);
            }
        }
        let felt = |k: usize| match rows.groups[k].law {
            Law::Soft { stiffness, .. } => 0.25 * stiffness * self.soft_damping[k] * h * h > FELT,
            _ => false,
        };
        let jointed = |k: &usize| rows.groups[*k].solids.iter().any(|i| masses.moves(*i) && s.held[*i]);
        s.asked.clear();
        s.asked.extend((0..rows.groups.len()).filter(|k| felt(*k)).filter(jointed));
        if s.asked.is_empty() || s.asked.len() > MOST_ASKED {
            return;
        }
        let Some((_, solver)) = &mut self.solver else { return };
        self.rows.softness.clear();
        let rows = &self.rows;
        solver.factor(&Problem { rows, masses, active: &s.rigid, damping: None });
        self.levels.forget_factor();
        for &k in &s.asked {
            let g = &rows.groups[k];
            let mut most = 0.0_f64;
            for r in g.range() {
                // `J_s (1 - M^-1 J^T A^-1 J) M^-1 J_s^T` with `J` the rigid rows: what they take away is `b . A^-1 b`.
                s.motion.clear();
                s.motion.resize(masses.len(), [0.0; 6]);
                for side in 0..2 {
                    let (i, j) = (g.solids[side], rows.half_row(g, r - g.first, side));
                    let x = if masses.moves(i) { masses.accelerate(i, &j) } else { [0.0; 6] };
                    s.motion[i].iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
                }
                s.b.clear();
                s.b.resize(rows.len(), 0.0);
                rows.apply(&s.motion, &mut s.b);
                s.b.iter_mut().zip(&s.rigid).filter(|(_, on)| !**on).for_each(|(b, _)| *b = 0.0);
                s.lambda.clear();
                s.lambda.resize(rows.len(), 0.0);
                // Iterations that end early take too little away: damping is then on the safe side.
                let iterations = if self.exact { 2 } else { ITERATIONS };
                let work = Work { iterations, tolerance: 1e-3 * largest(&s.b), out_of_time: None };
                solver.solve(&s.b, &mut s.lambda, &work);
                let held: f64 = s.b.iter().zip(&s.lambda).map(|(b, l)| b * l).sum();
                let [a, b] = g.solids;
                most = most.max(rows.along(r, [&s.motion[a], &s.motion[b]]) - held);
            }
            // Joints can only hold back. Where rounding is all that is left of an answer, the row is held.
            self.soft_damping[k] = most.clamp(0.0, self.soft_damping[k]);
        }
    }
}
