//! Limits that give way: pins hold, and what they hold farther apart than springs may be long stretches as far as they ask.
//!
//! Multipliers of limits that contradict pins grow without end, every round, and whatever was found last was a force from nowhere.
//! So limits that cannot hold are springs: as stiff as multipliers begin with, and no stiffer. The least value of `Phi` with them is
//! a compromise by least squares, which is there whatever is asked for. That pins contradict limits is known where the shortest chain of
//! springs between two of them, each at its longest, is shorter than they are apart. Where that does not tell, limits give way when
//! nothing shorter can be tried.

use super::{NONE, Soft};
use crate::state::State;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Chains are followed from so many held vertices at most, and so that lengths looked at are no more than this.
const SOURCES: usize = 64;
const LOOKS: usize = 1_000_000;
/// A spring that begins so much beyond its longest, as a share of its length, belongs to limits that gave way before.
const FAR: f64 = 1e-2;

/// How far apart two held vertices may be.
#[derive(Clone, Copy, Debug)]
struct Span {
    ends: [u32; 2],
    longest: f64,
}

/// What limits give way to.
#[derive(Default)]
pub(super) struct Giving {
    /// Limits give way in this step; only to what began beyond them, and comes back.
    pub acts: bool,
    pub recovers: bool,
    /// Spans were looked at in this step.
    looked: bool,
    /// Who is held, in order, and how far apart they may be.
    held: Vec<u32>,
    spans: Vec<Span>,
    now: Vec<u32>,
    heavy: Vec<f64>,
}

impl Giving {
    pub fn begin(&mut self) {
        (self.acts, self.recovers, self.looked) = (false, false, false);
    }
}

impl Soft {
    /// Limits are springs from here on. Places are looked for from where the step began.
    pub(super) fn give_way(&mut self, held: &State) {
        self.let_limits_give();
        self.giving.recovers = false;
        self.begin_again(held);
    }

    fn let_limits_give(&mut self) {
        self.giving.acts = true;
        // As heavy as they are: held vertices are made heavier while places are looked for, and what is as stiff as that would move them.
        let mut heavy = std::mem::take(&mut self.giving.heavy);
        heavy.clear();
        heavy.extend(self.pins.iter().map(|p| std::mem::replace(&mut self.masses[p.node()], p.mass())));
        for k in 0..self.lines.len() {
            let stiffer = self.held_by(&self.lines[k], self.pulls[k].longest);
            (self.pulls[k].multiplier, self.pulls[k].stiffer) = (0.0, stiffer);
        }
        self.pins.iter().zip(&heavy).for_each(|(p, m)| self.masses[p.node()] = *m);
        self.giving.heavy = heavy;
    }

    /// Do pins contradict limits in this step? Held vertices are where they have to be.
    pub(super) fn look_at_spans(&mut self, held: &State) {
        if std::mem::replace(&mut self.giving.looked, true) {
            return;
        }
        self.find_spans();
        let place = |i: u32| match self.nodes[i as usize] {
            NONE => held.centers[i as usize],
            n => self.x[n as usize],
        };
        let apart = |s: &Span| place(s.ends[0]).distance(place(s.ends[1])) > s.longest;
        let far = |(l, p): (&super::Line, &super::Pull)| p.l0 - l.longest > FAR * l.length;
        let contradict = self.giving.spans.iter().any(apart);
        if !contradict && !self.lines.iter().zip(&self.pulls).any(far) {
            return;
        }
        if contradict {
            // What pins keep too long does not come back: drawn together, some springs would stretch others and gain by it.
            self.pulls.iter_mut().for_each(|p| p.longest = p.longest.max(p.l0));
        }
        self.let_limits_give();
        self.giving.recovers = !contradict;
        self.dampen();
    }

    /// How far apart held vertices may be, as long as the same ones are held.
    fn find_spans(&mut self) {
        let mut now = std::mem::take(&mut self.giving.now);
        now.clear();
        now.extend(self.pins.iter().map(|p| self.solids[p.node()]));
        for line in self.lines.iter().filter(|l| l.longest.is_finite()) {
            now.extend((0..2).filter(|k| line.nodes[*k] == NONE).map(|k| line.solids[k]));
        }
        now.sort_unstable();
        now.dedup();
        if now != self.giving.held {
            self.giving.spans.clear();
            if now.len() > 1 {
                self.follow_chains(&now);
            }
            self.giving.held.clone_from(&now);
        }
        self.giving.now = now;
    }

    /// The shortest chains of limited springs between held vertices, from some of them to all.
    fn follow_chains(&mut self, held: &[u32]) {
        let mut beside: Vec<Vec<(u32, f64)>> = vec![Vec::new(); self.nodes.len()];
        for line in self.lines.iter().filter(|l| l.longest.is_finite()) {
            let [a, b] = line.solids;
            beside[a as usize].push((b, line.longest));
            beside[b as usize].push((a, line.longest));
        }
        let most = (LOOKS / self.lines.len().max(1)).clamp(2, SOURCES);
        let every = held.len().div_ceil(most);
        for from in held.iter().step_by(every) {
            let lengths = lengths(&beside, *from);
            let others = held.iter().filter(|to| *to != from && lengths[**to as usize].is_finite());
            let spans = others.map(|to| Span { ends: [*from, *to], longest: lengths[*to as usize] });
            self.giving.spans.extend(spans);
        }
    }
}

/// Lengths of the shortest chains from one vertex to all others. Numbers without a sign are in the order of their bits.
fn lengths(beside: &[Vec<(u32, f64)>], from: u32) -> Vec<f64> {
    let mut lengths = vec![f64::INFINITY; beside.len()];
    let mut next = BinaryHeap::from([Reverse((0_u64, from))]);
    lengths[from as usize] = 0.0;
    while let Some(Reverse((bits, at))) = next.pop() {
        let length = f64::from_bits(bits);
        if length > lengths[at as usize] {
            continue;
        }
        for (to, more) in &beside[at as usize] {
            let all = length + more;
            if all < lengths[*to as usize] {
                lengths[*to as usize] = all;
                next.push(Reverse((all.to_bits(), *to)));
            }
        }
    }
    lengths
}
