//! Newton's method for the places of the vertices: the least value of `Phi` (see the top of `soft.rs`), with a line search.

use super::contact::Near;
use super::factor::stiffness;
use super::{Line, NONE, Pull, Soft, StepConfig};
use crate::math::Vector;
use crate::state::State;

/// Most rounds.
const ROUNDS: usize = 100;
/// Bodies of more vertices than this are solved less accurately.
const MANY: usize = 600;
/// Rounds of a large sheet that something heavy strikes. Springs by the hundred come to their limits then, and cutting the step
/// into many finds them no sooner.
const MOST: usize = 30;
/// It ends sooner where the energy is off by this share.
const SETTLED: f64 = 0.1;
/// A large sheet that is not bearable after the rounds that it should take gets so many.
const LAST: usize = 12;
/// What touches may gain by this share of its kinetic energy in a step: what lies too deep is pushed out.
const GAIN: f64 = 0.02;
/// Springs of a large sheet that touches nothing may make this share of its kinetic energy in a step.
const MADE: f64 = 1e-2;
/// Where it did, everything is held back by halves at most so often; then it stands still.
const HALVINGS: i32 = 5;
/// A round that leaves more than this share of the correction before it wants a new matrix.
const SLOW: f64 = 0.2;
/// With an old matrix a correction of a large sheet has to be shorter than this share of the one before it.
const FALLS: f64 = 0.5;
/// So does a correction that is longer than this share of the shortest spring.
const NEAR: f64 = 1e-2;

/// How far the search has come: the value of `Phi`, whether the matrix is out of date, the last correction.
struct Search {
    value: f64,
    stale: bool,
    last: f64,
    round: usize,
}

impl Search {
    fn from(value: f64) -> Self {
        Self { value, stale: true, last: f64::INFINITY, round: 0 }
    }
}

/// What becomes of a search that has had its rounds.
enum Late {
    GoOn,
    Again,
    Ends(bool),
}

impl Soft {
    /// Finds the places. False: it did not come to an end. `last`: then limits give way.
    pub(super) fn solve(&mut self, held: &State, c: &StepConfig, last: bool) -> bool {
        let found = self.search(held, c);
        let found = self.finish(held, c, found);
        if found || !last || self.giving.acts || self.keeps_limits(c) {
            return found;
        }
        // Not even where nothing moves do springs keep to their limits.
        self.give_way(held);
        let found = self.search(held, c);
        self.finish(held, c, found)
    }

    /// Looks for the places.
    fn search(&mut self, held: &State, c: &StepConfig) -> bool {
        let mut at = Search::from(self.begin_search(held, c));
        // Which limits and contacts act is seen from not so near.
        let (close, coarse) = (self.close, self.close.max(0.3 * c.tolerance));
        while at.round < ROUNDS {
            if !self.careful && self.touches() {
                at = Search::from(self.begin_again(held));
            }
            if self.report.rounds > 0 && c.out_of_time.is_some_and(|over| over()) {
                break;
            }
            at.round += 1;
            let (eps, most) = self.accuracy();
            self.report.rounds += 1;
            let mut new = at.stale;
            if new && !self.linearise() {
                break;
            }
            let (mut moved, mut slope) = self.correct();
            if !new && self.is_large() && !(moved <= FALLS * at.last) {
                // The old matrix leads astray: stiff springs have turned since.
                (new, at.last) = (true, f64::INFINITY);
                if !self.linearise() {
                    break;
                }
                (moved, slope) = self.correct();
            }
            if !moved.is_finite() {
                break;
            }
            let (share, reached) = self.descend(held, at.value, moved, slope, close);
            at.value = reached;
            let moved = moved * share;
            if share == 0.0 && new {
                // Rounding is all that is left, or the surface moved: what there is counts if it is near enough.
                let near = self.tighten(c, false) && moved <= coarse;
                return near;
            }
            if share == 1.0 && self.carries_over() {
                self.carry_over();
                at.value = self.evaluate(held);
            }
            let enough = share == 1.0 && -slope <= eps * self.h * self.h * self.energy || moved <= close;
            let mut tight = true;
            if enough || moved <= coarse {
                tight = self.tighten(c, at.round < most && !self.carries_over());
                if tight && enough && (self.careful || !self.touches()) {
                    // A correction that went too far is on its way back: `Phi` fell, and yet there is more energy than before.
                    if !self.has_gained(held) || (self.careful && at.round >= MOST) {
                        return true;
                    }
                    if !self.careful {
                        at = Search::from(self.begin_again(held));
                        continue;
                    }
                }
            }
            if at.round >= most {
                match self.look_late(held, c, at.round, slope) {
                    Late::Ends(bearable) => return bearable,
                    Late::Again => {
                        at = Search::from(self.begin_again(held));
                        continue;
                    }
                    Late::GoOn => {}
                }
            }
            // After a new matrix a large sheet tries the old one once, however far it went: that is a fifth of the work.
            let tried = new && self.is_large();
            let far = !tried && (moved > NEAR * self.reach || moved > SLOW * at.last);
            at.stale = !tight || share < 1.0 || far || self.acts_differently();
            at.last = if at.stale && !self.is_large() { f64::INFINITY } else { moved };
            if self.look_at_surfaces(at.round) || !tight {
                at.value = self.evaluate(held);
            }
        }
        false
    }

    /// Where the search begins, and `Phi` there.
    fn begin_search(&mut self, held: &State, c: &StepConfig) -> f64 {
        let extent = self.x.iter().fold(1.0, |most: f64, x| most.max(x.abs().max_element()));
        self.close = (1e-2 * c.tolerance).max(1e-14 * extent);
        self.place_obstacles(held);
        if std::mem::take(&mut self.is_first) {
            self.standing = f64::INFINITY;
            if self.careful {
                self.start_over(held);
            }
        }
        self.look_at_surfaces(0);
        self.evaluate(held)
    }

    /// After its rounds: what is bearable counts.
    fn look_late(&mut self, held: &State, c: &StepConfig, round: usize, slope: f64) -> Late {
        let longest = if self.is_coarse() { LAST } else { MOST };
        // What is heavy and not at rest yet would take its energy from nowhere.
        let settled = self.is_coarse() || -slope <= SETTLED * self.h * self.h * self.energy;
        // Small bodies that nothing heavy hangs from find no more.
        let ends = !(self.is_large() || self.has_hosts()) || round >= longest;
        if !self.careful && self.has_gained(held) {
            return Late::Again;
        }
        let settled = settled && (ends || !self.has_gained(held));
        let bearable = (settled || ends) && (self.is_bearable(c) || self.is_large() && self.polish(held, c));
        if bearable || ends { Late::Ends(bearable) } else { Late::GoOn }
    }

    /// What touches begins from where it was: `Phi` only falls from there, so that nothing is gained however soon it ends.
    fn start_over(&mut self, held: &State) {
        self.x.clone_from(&self.start);
        self.seat_pins();
        self.stop_guests();
        self.stop_hosts();
        self.contacts.forget();
        self.place_obstacles(held);
        self.evaluate(held);
        // Where nothing moved, `way` is twice what `Phi` has beside the springs.
        (self.standing, self.standing_still) = (self.plain + 0.5 * self.way(), self.plain);
        self.go_ahead(held);
    }

    /// Begins again with care: stiff springs are as they are where something touches. Folds that snap are quicker than the step, and
    /// the trapezoidal rule would make energy of them. Tells the value there.
    pub(super) fn begin_again(&mut self, held: &State) -> f64 {
        self.dampen();
        self.start_over(held);
        self.look_at_surfaces(0);
        self.evaluate(held)
    }

    /// What the energy may be off by, as a share of the kinetic one, and after how many rounds it may be off by more: large
    /// sheets wrinkle in ways that cannot be told apart, and what is left open is no motion of the whole.
    fn accuracy(&self) -> (f64, usize) {
        let many = self.is_large();
        match self.careful {
            false if many => (3e-2, 6),
            false => (1e-7, 40),
            true if self.is_coarse() => (1e-2, 4),
            true => (1e-2, if many { 6 } else { 12 }),
        }
    }

    /// A large sheet that nothing heavy strikes: it is well enough stepped with less care.
    pub(super) fn is_coarse(&self) -> bool {
        self.is_large() && !self.contacts.has_guests()
    }

    /// So many vertices that rounds have to be few.
    pub(super) fn is_large(&self) -> bool {
        self.solids.len() > MANY
    }

    fn finish(&mut self, held: &State, c: &StepConfig, found: bool) -> bool {
        let through = !found && (!self.keeps_out(c) || !self.keeps_limits(c));
        let gained = through || self.careful && self.has_gained(held);
        if gained {
            self.hold_back(held, c);
        }
        let found = found && !gained;
        self.report.unsolved += usize::from(!found);
        if self.cut_crossings(c) && self.careful {
            self.evaluate(held);
            if self.has_gained(held) {
                self.hold_back(held, c);
            }
        }
        self.linear_forces(held);
        if self.balance() {
            self.linear_forces(held);
        }
        found
    }

    /// There is more energy at these places than the step began with. `Phi` having fallen does not tell: half of it is measured from where
    /// everything else would take the vertices, and a correction that throws them twice as far from there is no dearer than none.
    /// At its least value the motion has what `Phi` had at the start and no more, and what springs took is gone from it.
    fn has_gained(&mut self, held: &State) -> bool {
        if !self.careful {
            return self.is_large() && self.made_by_springs(held) > MADE * self.energy;
        }
        if self.standing == f64::INFINITY {
            return false;
        }
        // Below that, places are not looked for: it is no gain.
        let unseen = 0.5 * self.masses.iter().sum::<f64>() * self.close * self.close;
        let gain = GAIN * self.h * self.h * self.energy + unseen;
        // What lies too deep is pushed out, and does not do that by itself: `Phi` at its least value rises by half of it at most.
        let lifted = self.h * self.h * self.contacts.near.iter().map(Near::lifts).sum::<f64>();
        if self.is_driven() {
            // What a script moves gives energy as it likes: `Phi` is all that tells.
            return self.plain > self.standing_still + gain + 0.5 * lifted;
        }
        self.plain + self.way() > self.standing + gain + lifted
    }

    /// Something that a script moves holds or pushes it.
    fn is_driven(&self) -> bool {
        let moves = |n: &Near| n.push > 0.0 && self.is_scripted(n);
        let pulled = |p: &super::pins::Pin| p.target() != self.start[p.node()];
        self.has_hosts() || self.pins.iter().any(pulled) || self.contacts.near.iter().any(moves)
    }

    /// What goes its way has of energy times the square of the step, less its share of `Phi`, and less what it would have if nothing
    /// but what is known at the start pushed it.
    fn way(&self) -> f64 {
        let mut way = self.guests_way();
        for n in (0..self.x.len()).filter(|n| !self.is_pinned(*n)) {
            let (m, x, start) = (self.masses[n], self.x[n], self.start[n]);
            let from = self.free[n] + self.outer[n] * (self.h / m);
            let squares = x.distance_squared(start) - x.distance_squared(from) - from.distance_squared(start);
            way += 0.5 * m * squares;
        }
        way
    }

    /// Energy that springs give beyond what they had: nothing, where Newton's method has come to its end.
    fn made_by_springs(&mut self, held: &State) -> f64 {
        self.linear_forces(held);
        let of = |(line, p): (&Line, &Pull)| {
            let second = p.pull * (1.0 - p.late);
            let second = second + p.back(p.first - p.hold, second) * (2.0 - 2.0 * p.late);
            let given = -(p.first + second).dot(p.d1 - p.d0) / self.h;
            let (long, was) = (p.d1.length() - line.length, p.l0 - line.length);
            given + 0.5 * line.stiffness * (long * long - was * was)
        };
        let springs: f64 = self.lines.iter().zip(&self.pulls).map(of).sum();
        // What is left open moves vertices too.
        let left = |n: usize| {
            let had = (self.x[n] - self.free[n]) * (self.masses[n] / self.h);
            (had - self.outer[n] - self.inner[n]).dot(self.x[n] - self.start[n]) / self.h
        };
        springs + (0..self.x.len()).filter(|n| !self.is_pinned(*n)).map(left).sum::<f64>()
    }

    /// Everything goes only so far that nothing is gained, and that nothing goes into or through anything: instead of its own way it goes
    /// with what it touches.
    fn hold_back(&mut self, held: &State, c: &StepConfig) {
        self.right.fill(0.0);
        self.before.clone_from(&self.x);
        self.keep_guests();
        self.keep_hosts();
        self.find_wholes();
        self.find_common_ways();
        self.report.held_back += 1;
        for halvings in 1..=HALVINGS {
            let share = if halvings == HALVINGS { 0.0 } else { 0.5_f64.powi(halvings) };
            self.go_along(share);
            self.seat_pins();
            self.hold_hosts_back(share);
            self.contacts.forget();
            self.evaluate(held);
            self.collect();
            if !self.has_gained(held) && self.keeps_out(c) && self.keeps_limits(c) {
                break;
            }
        }
        // Limits and what they held where nothing could stay belong together: from nowhere else would that come.
        self.pulls.iter_mut().for_each(|p| (p.taut, p.seen.held) = (false, 0.0));
        self.is_bearable(c);
    }

    /// Forces of the springs as the last correction saw them, linear in the whole of it: they are those that took the vertices
    /// to where they are. Those of the springs at these places differ by what is left of Newton's method times their stiffness, which
    /// in stiff springs is noise without end.
    fn linear_forces(&mut self, held: &State) {
        self.inner.fill(Vector::ZERO);
        let hosted = self.has_hosts() || self.giving.acts;
        for (line, p) in self.lines.iter().zip(&mut self.pulls) {
            let by = |k: usize| match line.nodes[k] {
                NONE => Vector::ZERO,
                n => Vector::from_slice(&self.right[3 * n as usize..3 * n as usize + 3]),
            };
            let moved = by(1) - by(0);
            let (n, along) = (p.seen.n, p.seen.n.dot(moved));
            let across = (moved - n * along) * (p.seen.across / self.h);
            let soft = p.late * line.stiffness + line.damping / self.h;
            p.pull = n * (p.seen.tension + soft * along) * self.h;
            let hold =
                if p.taut { n * (0.5 * self.h * (p.seen.held + p.stiffer * along)) } else { Vector::ZERO };
            p.first = p.pull * p.late + hold + across;
            p.hold = if hosted { hold } else { Vector::ZERO };
            let end = |k: usize| match line.nodes[k] {
                NONE => held.centers[line.solids[k] as usize],
                n => self.x[n as usize],
            };
            p.d1 = end(1) - end(0);
            if !p.taut {
                p.pull += across / p.late;
            }
            for (n, sign) in line.nodes.iter().zip([1.0, -1.0]).filter(|(n, _)| **n != NONE) {
                self.inner[*n as usize] += p.first * sign;
            }
        }
        self.collect_wind();
        self.collect_touch();
    }

    /// Lengths, directions, tensions and contacts with the vertices at `x`, and the value of `Phi` there.
    pub(super) fn evaluate(&mut self, held: &State) -> f64 {
        let (h, mut sum, mut holds) = (self.h, 0.0, 0.0);
        let gives = self.giving.acts;
        for (line, p) in self.lines.iter().zip(&mut self.pulls) {
            let end = |k: usize| match line.nodes[k] {
                NONE => held.centers[line.solids[k] as usize],
                n => self.x[n as usize],
            };
            let d1 = end(1) - end(0);
            p.l1 = d1.length();
            p.n1 = if p.l1 > 0.0 { d1 / p.l1 } else { Vector::ZERO };
            let (long, fast) = (p.l0 + p.late * (p.l1 - p.l0) - line.length, p.l1 - p.l0);
            p.tension = line.stiffness * long + line.damping * fast / h;
            sum += line.stiffness * long * long + p.late * line.damping / h * fast * fast;
            p.held = (p.multiplier + p.stiffer * (p.l1 - p.longest)).max(0.0);
            if p.held > 0.0 {
                let hold = 0.5 * p.held * p.held / p.stiffer;
                *(if gives { &mut sum } else { &mut holds }) += hold;
            }
        }
        holds += self.touch(held);
        let each = self.x.iter().zip(&self.free).zip(&self.outer).zip(&self.masses);
        let kinetic: f64 = each
            .map(|(((x, free), push), m)| 0.5 * m * (*x - *free - *push * (h / m)).length_squared())
            .sum();
        self.plain = kinetic + self.guests_value() + self.hosts_value() + 0.5 * h * h * sum + self.blow(held);
        self.plain + 0.5 * h * h * holds
    }

    /// The matrix at the springs as they are, and its factor. False: it is not positive definite.
    fn linearise(&mut self) -> bool {
        let half = 0.5 * self.h * self.h;
        self.report.factors += 1;
        self.make_room();
        self.soften(half);
        self.factor.start(&self.masses);
        for (line, p) in self.lines.iter().zip(&mut self.pulls) {
            let spring = p.late * self.h * self.h;
            let mut along = spring * (p.late * line.stiffness + line.damping / self.h);
            let moving = || line.nodes.iter().filter(|n| **n != NONE).map(|n| *n as usize);
            // A pair that is left out is outweighed by twice its block on the diagonal.
            let left_out = line.pair == NONE && !line.nodes.contains(&NONE);
            let across = match spring * p.tension + half * p.held {
                t if p.l1 <= 0.0 || (t < 0.0 && (left_out || p.late > 0.5)) => 0.0,
                t if t >= 0.0 => t / p.l1,
                t => {
                    t / p.l1.max(0.1 * line.length) * moving().map(|n| self.softening[n]).fold(1.0, f64::min)
                }
            };
            (p.taut, p.seen.across) = (p.held > 0.0, across);
            if p.taut {
                along += half * p.stiffer;
            }
            let b = if self.hosts.carries(line.nodes) { [0.0; 6] } else { stiffness(p.n1, along, across) };
            p.seen.block = b;
            let twice = b.map(|x| 2.0 * x);
            for n in moving() {
                self.factor.add_diagonal(n, if left_out { &twice } else { &b });
            }
            if line.pair != NONE {
                let place = self.pairs[self.own[line.pair as usize] as usize];
                self.factor.couple(place, &b);
            }
        }
        self.linearise_touch();
        self.linearise_wind();
        self.weigh_pins();
        let done = self.factor.factor();
        self.responds = done;
        if done && self.has_border() {
            self.linearise_guests();
        }
        done
    }

    /// How much of their compression springs may take off the matrix, node by node, so that it stays positive definite.
    fn soften(&mut self, half: f64) {
        const MOST: f64 = 0.8;
        self.softening.fill(0.0);
        let pulls = |p: &Pull| p.late * self.h * self.h * p.tension + half * p.held;
        for (line, p) in self.lines.iter().zip(&self.pulls).filter(|(_, p)| pulls(p) < 0.0) {
            let takes = -2.0 * pulls(p) / p.l1.max(0.1 * line.length);
            for n in line.nodes.iter().filter(|n| **n != NONE) {
                self.softening[*n as usize] += takes;
            }
        }
        for (s, m) in self.softening.iter_mut().zip(&self.masses) {
            *s = if *s > MOST * m { MOST * m / *s } else { 1.0 };
        }
    }

    /// Impulses of half a step, node by node.
    pub(super) fn collect(&mut self) {
        self.inner.fill(Vector::ZERO);
        let h = self.h;
        for (line, p) in self.lines.iter().zip(&mut self.pulls) {
            (p.seen.n, p.seen.tension, p.seen.held) = (p.n1, p.tension, p.held);
            let f = p.n1 * (h * (p.late * p.tension + 0.5 * p.held));
            let [a, b] = line.nodes;
            if a != NONE {
                self.inner[a as usize] += f;
            }
            if b != NONE {
                self.inner[b as usize] -= f;
            }
        }
        self.collect_wind();
        self.collect_touch();
    }

    /// The correction of the places, in `right`. Tells how long its longest is, and the slope of `Phi` along it.
    fn correct(&mut self) -> (f64, f64) {
        self.collect();
        let h = self.h;
        let lack = |s: &Self, n: usize| {
            let push = (s.outer[n] + s.inner[n] + s.touching[n]) * h;
            push - (s.x[n] - s.free[n]) * s.masses[n]
        };
        for n in 0..self.masses.len() {
            let r = lack(self, n);
            self.right[3 * n..3 * n + 3].copy_from_slice(&r.to_array());
        }
        if self.has_hosts() {
            self.find_reach();
            self.lack_of_hosts();
        }
        self.factor.solve(&mut self.right);
        let mut slope = self.correct_guests();
        let mut most = 0.0_f64;
        for n in 0..self.masses.len() {
            let d = Vector::from_slice(&self.right[3 * n..3 * n + 3]);
            slope -= d.dot(lack(self, n));
            let length = d.length_squared();
            most = if length > most || length.is_nan() { length } else { most };
        }
        (most.sqrt(), slope)
    }

    /// Goes along the correction as far as `Phi` falls. Tells what share of it that is, and the value there.
    fn descend(&mut self, held: &State, value: f64, moved: f64, slope: f64, close: f64) -> (f64, f64) {
        self.before.clone_from(&self.x);
        self.keep_guests();
        self.keep_hosts();
        // Below that, differences of `Phi` are rounding.
        let noise = 1e-12 * value.abs();
        let mut share = 1.0;
        self.strays = 2.0 * moved;
        for _ in 0..30 {
            for (n, x) in self.x.iter_mut().enumerate() {
                *x = self.before[n] + Vector::from_slice(&self.right[3 * n..3 * n + 3]) * share;
            }
            self.move_guests(share);
            self.move_hosts(share);
            let reached = self.evaluate(held);
            if reached <= value + 1e-4 * share * slope + noise || (share == 1.0 && moved <= close) {
                self.contacts.strayed(share * std::mem::take(&mut self.strays));
                self.right.iter_mut().for_each(|d| *d *= share);
                return (share, reached);
            }
            share *= 0.5;
        }
        self.x.clone_from(&self.before);
        self.move_guests(0.0);
        self.move_hosts(0.0);
        self.right.fill(0.0);
        self.strays = 0.0;
        (0.0, self.evaluate(held))
    }

    /// Others of the limits and contacts act than in the matrix.
    fn acts_differently(&self) -> bool {
        self.pulls.iter().any(|p| p.taut != (p.held > 0.0)) || self.touches_differently()
    }
}
