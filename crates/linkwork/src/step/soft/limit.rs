//! Limited stretch: which springs are held at their longest, by what tension, and how they stop.

use super::factor;
use super::{Line, NONE, Pull, Soft, StepConfig};
use crate::math::Vector;
use crate::state::State;

/// So many times stiffer than springs and masses are what holds a limit; the rest is left to the multipliers.
const STIFFER: f64 = 300.0;
/// The same for large sheets: what is heavy and caught by long chains of springs stretches all of them a little.
const MUCH_STIFFER: f64 = 10000.0;
/// How much stiffer a limit gets that multipliers do not hold, and how stiff at most.
const TIGHTER: f64 = 10.0;
const STIFFEST: f64 = 1e6;
/// The same for velocities.
const HEAVIER: f64 = 1e6;
/// Rounds for the velocities.
const ROUNDS: usize = 3;
/// The same where solids are pinned to a body.
const MANY: usize = 6;
/// How far beyond its limit a spring may be, as a share of its length.
const GIVE: f64 = 5e-5;
/// The same where Newton's method ran out of rounds.
const BEARABLE: f64 = 1e-4;
/// A limit has given way where its spring is longer than it allows by this share of its length.
const GAVE: f64 = 1e-3;
/// A spring that begins beyond its longest comes back by this share of a step's way.
const BACK: f64 = 0.2;

impl Soft {
    /// How long springs may be at the end of the step, and how stiff that is held.
    pub(super) fn begin_limits(&mut self, c: &StepConfig) {
        for k in 0..self.lines.len() {
            let (line, l0) = (&self.lines[k], self.pulls[k].l0);
            let over = l0 - line.longest;
            let longest = line.longest + if over > 10.0 * c.tolerance { (1.0 - BACK) * over } else { 0.0 };
            let stiffer = self.held_by(line, longest);
            (self.pulls[k].longest, self.pulls[k].stiffer) = (longest, stiffer);
        }
    }

    /// How stiff a limit is held, before anything is known of what it has to hold.
    pub(super) fn held_by(&self, line: &Line, longest: f64) -> f64 {
        let stiffer = if self.is_large() { MUCH_STIFFER } else { STIFFER };
        let own = line.nodes.iter().filter(|n| **n != NONE).map(|n| self.masses[*n as usize]);
        let mass = own.fold(f64::INFINITY, f64::min);
        let own = 0.5 * line.stiffness + line.damping / self.h + 2.0 * mass / (self.h * self.h);
        if longest.is_finite() { stiffer * own } else { 0.0 }
    }

    /// Springs and contacts that gave way are held by more; if it is to be `strict`, also those that are held by too much.
    /// True when there are none.
    pub(super) fn tighten(&mut self, c: &StepConfig, strict: bool) -> bool {
        if self.giving.acts {
            self.report_limits();
            return self.tighten_touch(c, strict);
        }
        let (mut tight, large) = (true, self.carries_over());
        for (line, p) in self.lines.iter().zip(&mut self.pulls).filter(|(l, _)| l.longest.is_finite()) {
            let give = (0.5 * c.tolerance).max(GIVE * line.length);
            let beyond = p.l1 - p.longest;
            if beyond > give || (strict && p.held > 0.0 && beyond < -give) {
                tight = false;
                if large {
                    continue;
                }
                let most = STIFFEST / STIFFER * p.stiffer;
                if p.multiplier > 0.0 && p.stiffer * TIGHTER <= most {
                    p.stiffer *= TIGHTER;
                }
                p.multiplier = p.held;
            }
        }
        self.report_limits();
        self.tighten_touch(c, strict) && tight
    }

    /// Large sheets take the multipliers of their limits along from round to round: there are too many
    /// limits to wait for the rest to come to an end, and what is held by much does not get stiffer on top of that.
    pub(super) fn carries_over(&self) -> bool {
        self.is_large()
    }

    /// What limits hold with now is what they begin with in the next round.
    pub(super) fn carry_over(&mut self) {
        for p in self.pulls.iter_mut().filter(|p| p.taut && !self.giving.acts) {
            p.multiplier = p.held;
        }
    }

    /// What is over its limit, or lacks distance, is so by no more than what can be made good later.
    pub(super) fn is_bearable(&mut self, c: &StepConfig) -> bool {
        let bearable = self.keeps_limits(c);
        self.report_limits();
        self.is_touch_bearable(c) && bearable
    }

    /// No spring is longer than what can be made good later. Where limits give way there are none.
    pub(super) fn keeps_limits(&self, c: &StepConfig) -> bool {
        if self.giving.acts {
            return true;
        }
        let least = if self.is_large() { c.tolerance } else { 10.0 * c.tolerance };
        let over = |(l, p): (&Line, &Pull)| p.l1 - p.longest > least.max(BEARABLE * l.length);
        let limited = self.lines.iter().zip(&self.pulls).filter(|(l, _)| l.longest.is_finite());
        !limited.into_iter().any(over)
    }

    fn report_limits(&mut self) {
        let report = &mut self.report;
        (report.limited, report.gave_way) = (0, 0);
        (report.excess, report.strain) = (0.0, 0.0);
        for (line, p) in self.lines.iter().zip(&self.pulls).filter(|(l, _)| l.longest.is_finite()) {
            report.limited += usize::from(p.held > 0.0);
            // Elsewhere what began too long comes back, and is no matter of this step.
            let gives = self.giving.acts && !self.giving.recovers;
            let grew = gives || p.l1 - p.longest > BEARABLE * line.length;
            report.gave_way += usize::from(grew && p.l1 - line.longest > GAVE * line.length);
            report.excess = report.excess.max((p.l1 - line.longest) / line.length);
            report.strain = report.strain.max(p.l1 / line.length - 1.0);
        }
    }

    /// Springs at their longest do not get longer: impulses along them take that speed away, in the metric of the masses.
    pub fn stop(&mut self, s: &mut State) {
        self.responds = false;
        // Where limits give way, springs get longer because pins go on.
        if self.report.limited == 0 || self.giving.acts {
            return;
        }
        let speed = |i: u32, s: &State| s.velocities[i as usize];
        for (n, i) in self.solids.iter().enumerate() {
            self.x[n] = speed(*i, s);
        }
        let mut x = std::mem::take(&mut self.x);
        self.begin_host_speeds(s, &mut x);
        self.free.clone_from(&x);
        self.x = x;
        for (line, p) in self.lines.iter().zip(&mut self.pulls) {
            let [a, b] = line.solids.map(|i| s.centers[i as usize]);
            (p.n1, p.multiplier, p.taut) = ((b - a).normalize_or_zero(), 0.0, p.held > 0.0);
        }
        let mut changed = true;
        // Where something heavy pulls, what it pulls at is not stretched before the first round.
        let hosts = self.has_hosts();
        for round in 0..if hosts { MANY } else { ROUNDS } {
            self.rates(s);
            changed |= (round > 0 || !hosts) && self.let_go();
            if std::mem::take(&mut changed) && !self.factor_velocities() {
                return;
            }
            let moved = self.correct_velocities();
            // What acts at the speeds that there are now: what acted before would turn them around.
            self.rates(s);
            for p in self.pulls.iter_mut().filter(|p| p.taut) {
                p.multiplier = p.held;
            }
            if !(moved > 1e-9) {
                break;
            }
        }
        for (n, i) in self.solids.iter().enumerate() {
            if self.x[n].is_finite() && !self.is_pinned_to_host(n) {
                s.velocities[*i as usize] = self.x[n];
            }
        }
        self.stop_pinned(s);
    }

    fn heavy(&self, line: &Line) -> f64 {
        let own = line.nodes.iter().filter(|n| **n != NONE).map(|n| self.masses[*n as usize]);
        HEAVIER * own.fold(f64::INFINITY, f64::min)
    }

    fn rates(&mut self, s: &State) {
        for k in 0..self.lines.len() {
            if !self.pulls[k].taut {
                continue;
            }
            let line = &self.lines[k];
            let end = |e: usize| match line.nodes[e] {
                NONE => s.velocities[line.solids[e] as usize],
                n => self.x[n as usize],
            };
            let rate = self.pulls[k].n1.dot(end(1) - end(0));
            self.pulls[k].held = self.pulls[k].multiplier + self.heavy(line) * rate;
        }
    }

    fn let_go(&mut self) -> bool {
        let mut changed = false;
        for p in self.pulls.iter_mut().filter(|p| p.taut && p.held < 0.0) {
            (p.taut, changed) = (false, true);
        }
        changed
    }

    fn factor_velocities(&mut self) -> bool {
        self.factor.start(&self.masses);
        self.pulls.iter_mut().for_each(|p| p.seen.block = [0.0; 6]);
        for k in 0..self.lines.len() {
            let line = self.lines[k];
            if !self.pulls[k].taut {
                continue;
            }
            let b = if self.hosts.carries(line.nodes) {
                [0.0; 6]
            } else {
                factor::stiffness(self.pulls[k].n1, self.heavy(&line), 0.0)
            };
            self.pulls[k].seen.block = b;
            for n in line.nodes.iter().filter(|n| **n != NONE) {
                self.factor.add_diagonal(*n as usize, &b);
            }
            if line.pair != NONE {
                let place = self.pairs[self.own[line.pair as usize] as usize];
                self.factor.couple(place, &b);
            }
        }
        self.report.factors += 1;
        self.weigh_pins();
        let done = self.factor.factor();
        self.factor_host_speeds();
        done
    }

    fn correct_velocities(&mut self) -> f64 {
        for (n, m) in self.masses.iter().enumerate() {
            let r = (self.free[n] - self.x[n]) * *m;
            self.right[3 * n..3 * n + 3].copy_from_slice(&r.to_array());
        }
        for (line, p) in self.lines.iter().zip(&self.pulls).filter(|(_, p)| p.taut) {
            let f = (p.n1 * p.held).to_array();
            for (n, sign) in line.nodes.iter().zip([1.0, -1.0]).filter(|(n, _)| **n != NONE) {
                let at = 3 * *n as usize;
                (0..3).for_each(|k| self.right[at + k] += sign * f[k]);
            }
        }
        self.correct_host_speeds();
        let mut most = 0.0_f64;
        for (x, d) in self.x.iter_mut().zip(self.right.chunks_exact(3)) {
            let d = Vector::new(d[0], d[1], d[2]);
            *x += d;
            most = most.max(d.length());
        }
        most
    }
}
