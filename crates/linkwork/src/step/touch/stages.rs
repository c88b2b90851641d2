//! The two stages of `variational` at which contacts act.

use super::{Contact, PUSH, Pair, Touch};
use crate::contact::{Collider, Colliders, ContactMemory, ContactReport};
use crate::math::{Vector, log};
use crate::solve::{Lower, contact_residual};
use crate::state::State;
use crate::step::free::Wrench;
use crate::step::{IslandWork, Piece};

/// What sinks in by more than this part of its size in a step was met where nobody expected it.
const SUNK: f64 = 0.01;

/// How far shapes of two solids may come together in `h`, at most.
pub(in crate::step) fn approach(
    m: &crate::Mechanism,
    s: &State,
    h: f64,
    [a, b]: [usize; 2],
    shapes: [&Collider; 2],
) -> f64 {
    // One of them may be stopped within the step, by something else.
    let [va, vb] = [s.velocities[a], s.velocities[b]];
    let speed = (vb - va).length()
        + va.length().min(vb.length())
        + s.spins[a].length() * shapes[0].reach
        + s.spins[b].length() * shapes[1].reach;
    h * speed + h * h * m.gravity.length()
}

/// A length that is nothing to a pair.
fn slack(pair: &Pair, all: &Colliders) -> f64 {
    let [a, b] = pair.colliders.map(|k| all.all[k as usize].size);
    1e-4 * a.min(b)
}

/// A depth that a step should not let pass: a part of the size of what sinks in, or a thousand tolerances.
fn depth_seen(pair: &Pair, all: &Colliders, tolerance: f64) -> f64 {
    let [a, b] = pair.colliders.map(|k| all.all[k as usize].size);
    (SUNK * a.min(b)).min(1e3 * tolerance).max(1e-9)
}

impl IslandWork {
    /// Finds the points of contact at `q_n`, before anything has moved. Overlaps come apart first, through the positions
    /// alone. True: they did, and rows are to be filled again.
    pub(in crate::step) fn begin_touch(&mut self, piece: &Piece, s: &mut State) -> bool {
        // The receipt is that of the last substep.
        self.touch.report = ContactReport::default();
        self.touch.pushed.clear();
        self.touch.contacts.clear();
        self.touch.coats.clear();
        self.touch.looked = false;
        if self.touch.is_empty() {
            return false;
        }
        self.detect_ahead(piece, s);
        self.touch.tolerance = piece.c.tolerance;
        self.find_crowd(piece);
        self.touch.note_depth();
        let deep = |t: &Touch| {
            let most = |c: &Contact| t.crowd.leaves(depth_seen(&t.pairs[c.pair], &t.colliders, t.tolerance));
            t.contacts.iter().any(|c| !c.coated && c.gap < -piece.c.tolerance.max(most(c)))
        };
        let pushed = deep(&self.touch) || self.passes_limits(piece.c.tolerance);
        if pushed {
            self.push_out(piece, s);
            self.detect_ahead(piece, s);
        }
        let mut t = std::mem::take(&mut self.touch);
        t.warm_start(s, 0.5 * piece.h);
        t.start.clear();
        t.start.extend(s.centers.iter().zip(s.rotations.iter()).map(|(c, q)| (*c, *q)));
        for c in &mut t.contacts {
            c.approaches(piece, s);
            if c.force[0] <= 0.0 {
                c.force = [0.0; 3];
            }
            c.taken = c.gap <= 0.0 || c.force[0] > 0.0;
            c.applied = c.force;
        }
        let bounces = t.contacts.iter().any(|c| c.restitution > 0.0);
        t.energy = if bounces { self.energy(piece, s) } else { f64::INFINITY };
        if t.has_coats() {
            t.put_on(&self.masses, piece.h);
            t.dented = if bounces { t.coat_energy(s) } else { 0.0 };
            t.energy += t.dented;
        }
        self.touch = t;
        pushed
    }

    /// Points at `s` that may be met within the substep.
    pub(super) fn detect_ahead(&mut self, piece: &Piece, s: &State) {
        let (m, h) = (piece.m, piece.h);
        self.touch
            .detect(s, h, |pair, all| approach(m, s, h, pair.solids, pair.shapes(all)) + slack(pair, all));
        self.touch.take_later();
    }

    /// Takes overlaps apart by the shortest motion that joints allow, at most as far as a step should show. No time passes,
    /// no speed comes of it. What is free takes its spin along when it is turned: an uneven solid that spins the same about other axes of its
    /// own has another energy, and coins gained some at every touch.
    fn push_out(&mut self, piece: &Piece, s: &mut State) {
        let (m, h) = (piece.m, piece.h);
        let all = self.touch.colliders.clone();
        for c in &mut self.touch.contacts {
            let size = self.touch.pairs[c.pair].colliders.map(|k| all.all[k as usize].size);
            let most = h * PUSH * size[0].min(size[1]).max(1.0);
            c.low = [(-c.gap).min(most), 0.0, 0.0];
            (c.friction, c.resist) = (0.0, Default::default());
            c.active = !c.coated;
            c.taken = c.gap < 0.0 && c.active;
        }
        self.expect_pushed();
        let n = self.rows.len();
        for v in [&mut self.delta, &mut self.lambda] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.asks.clear();
        self.asks.resize(n, crate::rows::NOTHING);
        self.ask_limits_back();
        self.solve_touching(piece.c, 1e-3 * piece.c.tolerance, piece.c.tolerance);
        let share = self.touch.calm(&self.dq);
        for i in (0..s.centers.len()).filter(|i| self.masses.moves(*i)) {
            let mut dq = self.dq[i].map(|x| share * x);
            let angle = Vector::new(dq[3], dq[4], dq[5]).length();
            if angle > piece.c.max_rotation {
                dq[3..].iter_mut().for_each(|x| *x *= piece.c.max_rotation / angle);
            }
            let before = s.centers[i];
            s.displace(i, &dq);
            if self.rows.is_empty() {
                s.spins[i] = crate::math::exp(Vector::new(dq[3], dq[4], dq[5])) * s.spins[i];
            }
            self.touch.lifted -= self.masses.mass(i) * m.gravity.dot(s.centers[i] - before);
        }
    }

    /// Adds the impulses of contacts to those of the joints.
    pub(in crate::step) fn add_contact_impulses(&mut self) {
        Touch::collect(&self.touch.contacts, |c| c.applied, &mut self.impulses);
    }

    /// What contacts still ask of the displacement, and the most that they lack.
    pub(in crate::step) fn ask_positions(&mut self, piece: &Piece, s: &State, round: usize) {
        let h = piece.h;
        self.touch.measure(piece, s, round);
        let t = &mut self.touch;
        let start = &t.start;
        t.short = 0.0;
        for c in &mut t.contacts {
            let moved = c.moved(s, start);
            // What still overlaps by more than a rounding goes no deeper.
            let gap = if c.gap < -piece.c.tolerance { 0.0 } else { c.gap };
            let left = if c.measured.is_finite() { c.measured } else { gap + moved[0] };
            c.low = [-left, -moved[1], -moved[2]];
            if c.coated {
                let to = if c.measured.is_finite() { c.measured } else { c.gap + moved[0] };
                (c.low[0], c.give) = c.coat.ask(c.gap, to);
            }
            if c.resist.acts() {
                let turn = c.turn(|i| log(s.rotations[i] * start[i].1.inverse()));
                c.resist.low = turn.map(|x| -x);
                let lack = c.resist.lack(&turn, c.applied[0], h, c.turns(&self.masses));
                t.short = crate::solve::larger(t.short, lack);
            }
            if c.taken || c.low[0] > 0.0 {
                let d = c.mobility(&self.masses);
                let force = c.applied.map(|f| f * h);
                let v = [c.give * force[0] - c.low[0], moved[1], moved[2]];
                let lack = contact_residual(&v, &force, c.friction, d, c.give);
                t.short = crate::solve::larger(t.short, lack);
            }
        }
    }

    /// Looks where the position stage has come to: points that nobody expected are met, too. True when there are any.
    ///
    /// A point of contact is expected where it is at `q_n`. Corners that come round an edge, or slide from one face to the
    /// next, are not, and neither is the lowest point of a rim that turns: it has the name of the one that was expected, and is
    /// another. Free solids are met there, too; what is jointed, and what overlapped before, is left to the next pushing out.
    pub(in crate::step) fn meet_new_points(&mut self, piece: &Piece, s: &State) -> bool {
        if self.touch.is_empty() {
            return false;
        }
        self.detect_here(piece, s);
        let t = &mut self.touch;
        t.looked = true;
        let (start, tolerance) = (&t.start, piece.c.tolerance);
        let (expected, jointed, mut any) = (t.contacts.len(), !self.rows.is_empty(), false);
        let (pairs, all) = (&t.pairs, &t.colliders);
        let seen = |pair: usize| depth_seen(&pairs[pair], all, tolerance);
        for k in 0..t.later.len() {
            let mut new = t.later[k];
            let known = |c: &Contact| {
                c.pair == new.pair
                    && ((c.key == new.key && (c.pushes || jointed)) || (c.gap < -tolerance && !c.coated))
            };
            if !(new.gap < -tolerance.max(t.crowd.lets_pass(seen(new.pair))))
                || t.contacts[..expected].iter().any(known)
            {
                continue;
            }
            let passed = t.contacts[..expected].iter().position(|c| c.pair == new.pair && c.key == new.key);
            // One point for both where they were at `q_n`.
            let back = new.solids.map(|i| s.centers[i] - start[i].0);
            let fixed = new.solids.map(|i| piece.m.solids()[i].is_fixed());
            let way = match fixed {
                [true, _] => back[1],
                [_, true] => back[0],
                _ => 0.5 * (back[0] + back[1]),
            };
            new.arms = [0, 1].map(|side| new.arms[side] + back[side] - way);
            new.gap -= new.moved(s, start)[0];
            new.approaches(piece, s);
            (new.taken, new.pushes, any) = (true, passed.is_some(), true);
            match passed {
                Some(k) => t.contacts[k] = new,
                None => t.contacts.push(new),
            }
        }
        if any {
            t.put_on(&self.masses, piece.h);
            t.crowd.meets_more();
        }
        (t.looked, t.known) = (!any, t.known && !any);
        any
    }

    /// Points at `s` that touch, or whose gaps are as small as what rows that are linear in the turn leave open.
    fn detect_here(&mut self, piece: &Piece, s: &State) {
        let (h, tolerance) = (piece.h, piece.c.tolerance);
        self.touch.detect(s, 0.0, |pair, all| {
            let reach = pair.colliders.map(|k| all.all[k as usize].reach);
            let turn = [0, 1].map(|k| (h * s.spins[pair.solids[k]].length()).powi(2) * reach[k]);
            turn[0] + turn[1] + slack(pair, all) + tolerance
        });
    }

    /// What contacts lack in the position stage.
    pub(in crate::step) fn contact_shortfall(&self) -> f64 {
        self.touch.short
    }

    /// One round of the position stage: bounds and contacts over the rows below. Multipliers are impulses here.
    pub(in crate::step) fn solve_positions(&mut self, piece: &Piece) -> usize {
        let h = piece.h;
        self.lambda.iter_mut().for_each(|l| *l *= h);
        let (all, crowd, tolerance) = (self.touch.colliders.clone(), self.touch.crowd, piece.c.tolerance);
        let within = |pair: &Pair| crowd.expects_within(depth_seen(pair, &all, tolerance));
        for c in &mut self.touch.contacts {
            (c.force, c.applied) = (c.force.map(|f| f * h), c.applied.map(|f| f * h));
            c.resist.scale(h);
            c.taken |= c.low[0] > -within(&self.touch.pairs[c.pair]);
        }
        let spent = self.solve_touching(piece.c, 1e-4 * piece.c.tolerance, piece.c.tolerance);
        if self.touch.crowd.has_swept() {
            // What is solved from here on are other rows.
            self.touch.forget();
        }
        self.lambda.iter_mut().for_each(|l| *l /= h);
        for c in &mut self.touch.contacts {
            c.force = c.force.map(|f| f / h);
            c.applied = c.force;
            c.resist.force = c.resist.force.map(|f| f / h);
            c.resist.applied = c.resist.force;
        }
        spent
    }

    /// Notes who pushed. Where something is thrown back, impacts begin from the speeds that there were: the contacts'
    /// impulses, and what joints answered to them, are taken out of the momenta.
    pub(in crate::step) fn withdraw_contacts(&mut self, h: f64) {
        let mut t = std::mem::take(&mut self.touch);
        t.contacts.iter_mut().for_each(|c| c.has_come(h));
        let pushes = t.contacts.iter().filter(|c| c.applied[0] > 0.0);
        t.pushed.clear();
        t.pushed.extend(pushes.copied());
        t.pushed.sort_unstable_by_key(|c| c.key);
        let thrown = |c: &Contact| c.restitution > 0.0 && c.impact > 0.0 && c.applied[0] > 0.0;
        t.withdrawn = t.contacts.iter().any(thrown);
        t.keep_coats(t.withdrawn);
        if t.withdrawn {
            let mut sum = std::mem::take(&mut self.wrenches);
            sum.clear();
            sum.resize(self.impulses.len(), Wrench::default());
            if let Some((_, solver)) = &mut self.solver
                && !self.rows.is_empty()
            {
                let active: &[bool] = if self.bounded { &self.below } else { &[] };
                let soft = &self.rows.softness;
                let mut scratch = std::mem::take(&mut t.jointed);
                let mut lower = crate::solve::Jointed::new(
                    solver.as_mut(),
                    &self.rows,
                    &self.masses,
                    active,
                    soft,
                    0.0,
                    &mut scratch,
                );
                t.bounds.clear();
                t.respond_to_before(&mut lower, &self.rows, &[]);
                self.rows.collect(lower.inner(), &mut sum);
                t.jointed = scratch;
            }
            Touch::collect(&t.contacts, |c| c.applied, &mut sum);
            for (i, left) in &self.raised {
                sum[*i].angular = *left * sum[*i].angular;
            }
            for (to, w) in self.impulses.iter_mut().zip(&sum) {
                to.linear -= w.linear;
                to.angular -= w.angular;
            }
            self.wrenches = sum;
        }
        if !t.withdrawn {
            t.count(|c| c.applied);
        }
        t.contacts.clear();
        self.touch = t;
    }

    /// Finds what touches at `q_{n+1}`: whatever is as near as the tolerance, or pushed in the position stage.
    pub(in crate::step) fn begin_contact_velocities(&mut self, piece: &Piece, s: &State) {
        let mut t = std::mem::take(&mut self.touch);
        t.contacts.clear();
        if !t.is_empty() {
            let (h, tolerance) = (piece.h, piece.c.tolerance);
            if !t.looked || piece.careful {
                self.touch = t;
                self.detect_here(piece, s);
                t = std::mem::take(&mut self.touch);
            }
            t.take_later();
            let share = if t.withdrawn { 1.0 } else { 0.5 };
            t.warm_start(s, share * h);
            let pushed = std::mem::take(&mut t.pushed);
            for c in &mut t.contacts {
                let known = pushed.binary_search_by_key(&c.key, |p| p.key).ok().map(|k| &pushed[k]);
                c.active = c.gap <= tolerance || known.is_some();
                if let Some(known) = known {
                    (c.impact, c.met) = (known.impact, known.met);
                    if c.force == [0.0; 3] {
                        c.force = known.applied.map(|f| 2.0 * share * f);
                    }
                }
                if c.force[0] <= 0.0 {
                    c.force = [0.0; 3];
                }
            }
            t.pushed = pushed;
            t.contacts.retain(|c| c.active || c.coated);
            if t.has_coats() {
                t.move_coats(piece, s);
                if t.withdrawn {
                    t.energy -= t.coat_energy(s);
                }
            }
        }
        self.touch = t;
    }

    /// What contacts ask of the velocities as they are; `rebound` is the speed at which each is left, at least.
    pub(in crate::step) fn ask_contact_velocities(&mut self, s: &State) {
        for c in &mut self.touch.contacts {
            let speed = c.change(|i| (s.velocities[i], s.spins[i]));
            c.low = [c.rebound() - speed[0], -speed[1], -speed[2]];
            if c.coated {
                c.give = c.coat.velocity_give();
                c.low[0] = c.give * c.held - speed[0];
            }
            if c.resist.acts() {
                c.resist.low = c.turn(|i| s.spins[i]).map(|x| -x);
            }
            c.taken |= c.active && (c.low[0] > 0.0 || c.force[0] > 0.0 || self.touch.crowd.swept);
        }
    }

    /// Remembers the forces, and tells how deep things are in each other.
    pub(in crate::step) fn remember_contacts(&mut self, s: &mut State, h: f64) {
        let t = &mut self.touch;
        t.count(|c| c.total);
        let withdrawn = t.withdrawn;
        let share = |c: &Contact| if withdrawn && !c.coated { 1.0 } else { 0.5 };
        let memory = &mut s.memory.own_mut().contacts;
        memory.clear();
        for c in t.contacts.iter().filter(|c| c.total != [0.0; 3]) {
            let force = (c.push(&c.total) / (share(c) * h)).to_array();
            memory.push(ContactMemory { key: c.key, force });
        }
        memory.sort_by_key(|m| m.key);
        memory.dedup_by_key(|m| m.key);
        t.report.points = t.contacts.iter().filter(|c| c.total[0] > 0.0 || c.gap <= 0.0).count();
        t.report.residual *= h;
        t.sunk = t.depth() * t.crowd.bears();
        for c in &t.contacts {
            if c.coated {
                t.report.dent = t.report.dent.max(-c.gap);
            } else if -c.gap > t.report.penetration {
                t.report.penetration = -c.gap;
                let ids = t.pairs[c.pair].colliders.map(|k| t.colliders.all[k as usize].solid);
                t.report.deepest = Some(ids);
            }
        }
    }
}

impl Touch {
    /// How deep things are in each other, in units of what a step should not let pass.
    fn depth(&self) -> f64 {
        let mut deepest = 0.0_f64;
        for c in self.contacts.iter().filter(|c| !c.coated && c.gap < 0.0) {
            let seen = depth_seen(&self.pairs[c.pair], &self.colliders, self.tolerance);
            deepest = deepest.max(-c.gap / seen);
        }
        deepest
    }

    /// Notes how deep they were when the step began.
    fn note_depth(&mut self) {
        if !(self.sunk_before >= 0.0) {
            self.sunk_before = self.depth() * self.crowd.bears();
        }
    }

    /// By how much deeper things are at the end of a step, in the same units.
    pub(in crate::step) fn sank(&self) -> f64 {
        self.sunk - self.sunk_before.max(0.0)
    }

    /// The share of a motion that takes no point, and no solid, farther than some times what is asked for: what is squeezed
    /// between two that do not give way has nowhere to go, and must not be shot out.
    fn calm(&self, dq: &[[f64; 6]]) -> f64 {
        const FAR: f64 = 4.0;
        let asked = self.contacts.iter().map(|c| c.low[0]).fold(0.0, f64::max);
        let mut farthest = 0.0_f64;
        for c in &self.contacts {
            for (i, arm) in c.solids.iter().zip(&c.arms) {
                let x = &dq[*i];
                let (way, turn) = (Vector::new(x[0], x[1], x[2]), Vector::new(x[3], x[4], x[5]));
                farthest = farthest.max(way.length()).max((way + turn.cross(*arm)).length());
            }
        }
        if farthest > FAR * asked { FAR * asked / farthest } else { 1.0 }
    }

    /// Gaps as they are at `s`, of points that push on something that turned so far that a line is not good enough: corners
    /// go round in circles, and rows that are linear in the displacement would lift what rocks on them. Balls that pass each
    /// other have a normal that turns with them.
    fn measure(&mut self, piece: &Piece, s: &State, round: usize) {
        for c in &mut self.contacts {
            (c.measured, c.pushes) = (f64::NAN, c.pushes || c.applied[0] > 0.0);
        }
        if round == 0 {
            return;
        }
        let all = self.colliders.clone();
        let mut k = 0;
        while k < self.contacts.len() {
            let pair = self.contacts[k].pair;
            let end = k + self.contacts[k..].iter().take_while(|c| c.pair == pair).count();
            let own = &mut self.contacts[k..end];
            k = end;
            let of = self.pairs[pair];
            let colliders = of.colliders.map(|c| &all.all[c as usize]);
            let bend = [0, 1].map(|side| {
                let i = of.solids[side];
                let turn = log(s.rotations[i] * self.start[i].1.inverse()).length_squared();
                0.5 * turn * colliders[side].reach
            });
            let deep = own.iter().any(|c| !c.coated && c.gap < -piece.c.tolerance);
            let curve = if colliders.iter().all(|c| c.is_ball()) {
                let [one, two] = of.solids.map(|i| s.centers[i] - self.start[i].0);
                (two - one).reject_from_normalized(own[0].frame[0]).length_squared()
                    / (colliders[0].size + colliders[1].size)
            } else {
                0.0
            };
            let bends = bend[0] + bend[1] + curve > 1e-3 * piece.c.tolerance;
            // Once it pushed it is measured, pushing or not: who believed a line as soon as it let go would come and go for
            // ever.
            if deep || !bends || !own.iter().any(|c| c.pushes) {
                continue;
            }
            let poses = [0, 1].map(|side| Self::pose(&of, side, s));
            let margin = 10.0 * (bend[0] + bend[1] + curve) + slack(&of, &all);
            self.points.clear();
            self.narrow.points(colliders[0], &poses[0], colliders[1], &poses[1], margin, &mut self.points);
            for c in own {
                if let Some(p) = self.points.iter().find(|p| p.feature == c.key.feature) {
                    c.measured = p.gap;
                }
            }
        }
    }
}
