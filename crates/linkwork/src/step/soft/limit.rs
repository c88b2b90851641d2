//! Limited stretch: which springs are held at their longest, by what tension, and how they stop.

use super::factor;
use super::{Line, NONE, Pull, Soft, StepConfig};
use crate::math::Vector;
use crate::state::State;

/// So many times stiffer than springs and masses are what holds a limit; the rest is left to the multipliers.
const STIFFER: f64 = 1e4;
/// The same for velocities.
const HEAVIER: f64 = 1e6;
/// Rounds for the velocities.
const ROUNDS: usize = 12;

/// What a limit adds to the stiffness of its spring.
pub(super) fn stiffness(line: &Line, p: &Pull, soft: &Soft) -> f64 {
    if !p.active {
        return 0.0;
    }
    let mass = line
        .nodes
        .iter()
        .filter(|n| **n != NONE)
        .map(|n| soft.masses[*n as usize])
        .fold(f64::INFINITY, f64::min);
    STIFFER * (0.5 * line.stiffness + line.damping / soft.h + 2.0 * mass / (soft.h * soft.h))
}

impl Soft {
    /// Tensions of the springs that are held.
    pub(super) fn hold(&mut self) {
        for k in 0..self.lines.len() {
            let (line, p) = (&self.lines[k], &self.pulls[k]);
            let held =
                if p.active { p.multiplier + stiffness(line, p, self) * (p.l1 - line.longest) } else { 0.0 };
            self.pulls[k].held = held;
        }
    }

    /// Takes on the springs that begin the step beyond their longest. True when there are any.
    pub(super) fn choose_limited(&mut self) -> bool {
        let mut changed = false;
        for (line, p) in self.lines.iter().zip(&mut self.pulls) {
            if p.l1 > line.longest && !p.active {
                (p.active, changed) = (true, true);
            }
        }
        changed
    }

    /// Takes on the springs that are well beyond their longest. True when there are any.
    pub(super) fn take_on_crossed(&mut self, c: &StepConfig) -> bool {
        let mut changed = false;
        for (line, p) in self.lines.iter().zip(&mut self.pulls) {
            if !p.active && p.l1 > line.longest + c.tolerance + 1e-3 * line.length {
                (p.active, changed) = (true, true);
            }
        }
        changed
    }

    /// The places are those of the springs that are held: lets go of those that would have to push, takes on those that are
    /// beyond their longest now, and tightens those that gave way. True when there is nothing left to do.
    pub(super) fn tighten(&mut self, c: &StepConfig) -> Tightened {
        let give = 0.5 * c.tolerance;
        let (mut changed, mut loose) = (false, false);
        let report = &mut self.report;
        (report.limited, report.excess, report.strain) = (0, 0.0, 0.0);
        for (line, p) in self.lines.iter().zip(&mut self.pulls).filter(|(l, _)| l.longest.is_finite()) {
            if p.active {
                if p.held < 0.0 {
                    (p.active, p.multiplier, changed) = (false, 0.0, true);
                } else if (p.l1 - line.longest).abs() > give {
                    (p.multiplier, loose) = (p.held, true);
                }
            } else if p.l1 > line.longest + give {
                (p.active, changed) = (true, true);
            }
            report.limited += usize::from(p.active);
            report.excess = report.excess.max((p.l1 - line.longest) / line.length);
            report.strain = report.strain.max(p.l1 / line.length - 1.0);
        }
        let (others, gave) = self.tighten_touch(c);
        match (changed || others, loose || gave) {
            (true, _) => Tightened::Changed,
            (false, true) => Tightened::Loose,
            (false, false) => Tightened::Done,
        }
    }

    /// Springs at their longest do not get longer: impulses along them take that speed away, in the metric of the masses.
    pub fn stop(&mut self, s: &mut State) {
        self.responds = false;
        if self.report.limited == 0 {
            return;
        }
        let speed = |i: u32, s: &State| s.velocities[i as usize];
        for (n, i) in self.solids.iter().enumerate() {
            (self.free[n], self.x[n]) = (speed(*i, s), speed(*i, s));
        }
        for (line, p) in self.lines.iter().zip(&mut self.pulls).filter(|(_, p)| p.active) {
            let [a, b] = line.solids.map(|i| s.centers[i as usize]);
            (p.u, p.multiplier) = ((b - a).normalize_or_zero(), 0.0);
        }
        let mut changed = true;
        for _ in 0..ROUNDS {
            self.rates(s);
            changed |= self.let_go();
            if std::mem::take(&mut changed) && !self.factor_velocities() {
                return;
            }
            let moved = self.correct_velocities();
            for p in self.pulls.iter_mut().filter(|p| p.active) {
                p.multiplier = p.held;
            }
            if !(moved > 1e-9) {
                break;
            }
        }
        for (n, i) in self.solids.iter().enumerate() {
            if self.x[n].is_finite() {
                s.velocities[*i as usize] = self.x[n];
            }
        }
    }

    fn heavy(&self, line: &Line) -> f64 {
        let own = line.nodes.iter().filter(|n| **n != NONE).map(|n| self.masses[*n as usize]);
        HEAVIER * own.fold(f64::INFINITY, f64::min)
    }

    fn rates(&mut self, s: &State) {
        for k in 0..self.lines.len() {
            if !self.pulls[k].active {
                continue;
            }
            let line = &self.lines[k];
            let end = |e: usize| match line.nodes[e] {
                NONE => s.velocities[line.solids[e] as usize],
                n => self.x[n as usize],
            };
            let rate = self.pulls[k].u.dot(end(1) - end(0));
            self.pulls[k].held = self.pulls[k].multiplier + self.heavy(line) * rate;
        }
    }

    fn let_go(&mut self) -> bool {
        let mut changed = false;
        for p in self.pulls.iter_mut().filter(|p| p.active && p.held < 0.0) {
            (p.active, changed) = (false, true);
        }
        changed
    }

    fn factor_velocities(&mut self) -> bool {
        self.factor.start(&self.masses);
        for k in (0..self.lines.len()).filter(|k| self.pulls[*k].active) {
            let line = self.lines[k];
            let b = factor::stiffness(self.pulls[k].u, self.heavy(&line), 0.0);
            for n in line.nodes.iter().filter(|n| **n != NONE) {
                self.factor.add_diagonal(*n as usize, &b);
            }
            if line.pair != NONE {
                let (a, at) = self.pairs[line.pair as usize];
                self.factor.couple(a as usize, at, &b);
            }
        }
        self.report.factors += 1;
        self.factor.factor()
    }

    fn correct_velocities(&mut self) -> f64 {
        for (n, m) in self.masses.iter().enumerate() {
            let r = (self.free[n] - self.x[n]) * *m;
            self.right[3 * n..3 * n + 3].copy_from_slice(&r.to_array());
        }
        for (line, p) in self.lines.iter().zip(&self.pulls).filter(|(_, p)| p.active) {
            let f = (p.u * p.held).to_array();
            for (n, sign) in line.nodes.iter().zip([1.0, -1.0]).filter(|(n, _)| **n != NONE) {
                let at = 3 * *n as usize;
                (0..3).for_each(|k| self.right[at + k] += sign * f[k]);
            }
        }
        self.factor.solve(&mut self.right);
        let mut most = 0.0_f64;
        for (x, d) in self.x.iter_mut().zip(self.right.chunks_exact(3)) {
            let d = Vector::new(d[0], d[1], d[2]);
            *x += d;
            most = most.max(d.length());
        }
        most
    }
}

/// What there was to do about limits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tightened {
    /// Nothing.
    Done,
    /// Some gave way, and are held by more.
    Loose,
    /// Others are held now.
    Changed,
}
