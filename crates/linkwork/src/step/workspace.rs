//! Scratch of a step: the islands of a mechanism, each with its own. May be thrown away at any time without changing the
//! future.

use super::island::Island;
use super::work::{IslandWork, Reaction};
use super::{StepConfig, StepReport};
use crate::graph::Sets;
use crate::joint::JointId;
use crate::math::Vector;
use crate::mechanism::{Cut, Mechanism, Part};
use crate::rows::Gaps;
use crate::soft::Torn;
use crate::solid::{Kernel, SolidId};
use crate::stamp::Stamped;
use crate::state::{Memory, Seals, State};
use std::sync::Arc;

/// Islands with their rows, masses, solvers and vectors.
#[derive(Default)]
pub struct Workspace {
    pub(super) islands: Vec<Box<Island>>,
    /// Per island: it slept through the last step.
    pub(super) asleep: Vec<bool>,
    /// The others, by number.
    pub(super) awake: Vec<usize>,
    /// Per island, so that those that sleep need not be looked at: its lowest solid, and whether it may sleep.
    solids: Vec<u32>,
    sleeps: Vec<Option<u64>>,
    /// The largest gaps and penetrations of what sleeps: it is as open and as deep as it was.
    pub(super) sleeping: (Gaps, f64),
    /// How the last step left the state, and what was asked of it: while nobody changes either, what slept sleeps on, and
    /// nothing of it is looked at.
    seals: Seals,
    asked: Option<Asked>,
    /// That is so in this step.
    resumes: bool,
    /// The state's memory is as the last step left it, of the same islands.
    remembers: bool,
    /// The island with most joints.
    largest: Option<usize>,
    /// Scripted solids that belong to no island.
    alone: Vec<SolidId>,
    /// What the islands were made of: epoch, and numbers of what may be changed without a new one.
    made_of: Option<(u64, [usize; 4])>,
    /// A worn one, made of the one with this epoch.
    worn: Option<(u64, Arc<Mechanism>)>,
    /// What joints and springs hold together; islands are made of these, and contact joins them.
    assemblies: Vec<Assembly>,
    pub(super) near: super::near::Near,
    /// The whole mechanism at once, for inverse kinematics.
    pub(super) whole: IslandWork,
    solver: &'static str,
}

/// What decides, beside the state, which islands are near each other and who sleeps.
#[derive(Clone, Copy, PartialEq)]
struct Asked {
    gravity: Vector,
    dt: f64,
    contacts: bool,
    sleep: bool,
    set: [Option<f64>; 2],
}

impl Asked {
    fn of(m: &Mechanism, c: &StepConfig) -> Self {
        Self {
            gravity: m.gravity,
            dt: c.dt,
            contacts: c.contacts && c.method.knows_contact(),
            sleep: c.sleep,
            set: [c.friction, c.restitution],
        }
    }
}

/// Solids that joints or springs connect, whatever the time.
#[derive(Default)]
struct Assembly {
    solids: Vec<SolidId>,
    joints: Vec<JointId>,
    springs: Vec<u32>,
    softs: Vec<u32>,
}

/// What several assemblies have together, in order.
struct Lists {
    solids: Vec<SolidId>,
    joints: Vec<JointId>,
    springs: Vec<u32>,
    softs: Vec<u32>,
}

impl Lists {
    fn of(assemblies: &[Assembly], members: &[u32]) -> Self {
        fn sorted<T: Ord + Copy>(lists: impl Iterator<Item = impl IntoIterator<Item = T>>) -> Vec<T> {
            let mut all: Vec<T> = lists.flatten().collect();
            all.sort_unstable();
            all
        }
        let all = || members.iter().map(|k| &assemblies[*k as usize]);
        Self {
            solids: sorted(all().map(|a| a.solids.iter().copied())),
            joints: sorted(all().map(|a| a.joints.iter().copied())),
            springs: sorted(all().map(|a| a.springs.iter().copied())),
            softs: sorted(all().map(|a| a.softs.iter().copied())),
        }
    }

    fn cut<'a>(&'a self, touched: &'a [SolidId]) -> Cut<'a> {
        let Self { solids, joints, springs, softs } = self;
        Cut { moving: solids, joints, springs, softs, touched }
    }
}

impl Workspace {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The mechanism with what is torn, if it is not that one already.
    pub(super) fn worn(&mut self, m: &Mechanism, torn: &[Torn]) -> Option<Arc<Mechanism>> {
        if m.torn() == torn {
            self.worn = None;
            return None;
        }
        let known = self.worn.as_ref().filter(|(epoch, worn)| *epoch == m.epoch() && worn.torn() == torn);
        let worn = known.map(|(_, worn)| worn.clone()).unwrap_or_else(|| {
            let mut worn = m.clone();
            worn.wear(torn);
            Arc::new(worn)
        });
        self.worn = Some((m.epoch(), worn.clone()));
        Some(worn)
    }

    /// Islands of this mechanism in this state. Those that it had before, unchanged, keep their analysis.
    pub(super) fn update(&mut self, m: &Mechanism, state: &State, c: &StepConfig) {
        let numbers = [m.springs.len(), m.forces.len(), m.trajectories.len(), m.ignores.len()];
        let made_of = (m.epoch(), numbers);
        let new = self.made_of != Some(made_of);
        if new {
            self.made_of = Some(made_of);
            self.assemblies = split(m);
            let homes = self.assemblies.iter().map(|a| a.solids.as_slice());
            self.near.rebuild(m, homes);
        }
        let asked = Asked::of(m, c);
        let untouched = !new && state.bears(&self.seals) && self.asked == Some(asked);
        // Until the step has come to its end.
        self.seals = Seals::default();
        self.asked = Some(asked);
        let few = || self.near.follow(m, state, c, &self.islands, &self.awake, &self.alone);
        let regrouped = untouched.then(few).flatten();
        self.resumes = regrouped == Some(false);
        self.remembers = self.resumes;
        if !self.resumes {
            let moved = self.near.update(m, state, c) || regrouped.is_some();
            if new || moved {
                self.regroup(m, new);
            }
            self.remembers = untouched && !moved;
        }
        self.near.hand_out(m, state, &mut self.islands, &self.awake);
    }

    /// The step has come to its end, and left the state like this.
    pub(super) fn leave(&mut self, state: &mut State) {
        self.seals = state.seal();
    }

    /// What slept was not looked at in the last step.
    #[cfg(test)]
    pub(super) fn resumes(&self) -> bool {
        self.resumes
    }

    /// It has seen a mechanism.
    pub(super) fn is_made(&self) -> bool {
        self.made_of.is_some()
    }

    /// Makes islands of the assemblies that are near each other.
    fn regroup(&mut self, m: &Mechanism, new: bool) {
        // By their lowest solids, which they are in the order of.
        let lowest_of = std::mem::take(&mut self.solids);
        let mut known: Vec<_> = std::mem::take(&mut self.islands).into_iter().map(Some).collect();
        for (members, touched) in self.near.groups() {
            let lowest = self.assemblies[members[0] as usize].solids[0].0;
            let at = lowest_of.partition_point(|k| *k < lowest);
            let old = known.get_mut(at).filter(|_| lowest_of[at] == lowest).and_then(Option::take);
            let mut island = match old {
                Some(old) if !new && (&old.members, &old.touched) == (&members, &touched) => old,
                old => {
                    let all = Lists::of(&self.assemblies, &members);
                    let cut = all.cut(&touched);
                    old.filter(|old| old.part.is_cut(m, &cut))
                        .unwrap_or_else(|| Box::new(Island::new(Part::for_motion(m, &cut))))
                }
            };
            (island.members, island.touched) = (members, touched);
            self.islands.push(island);
        }
        self.asleep = vec![false; self.islands.len()];
        self.solids = self.islands.iter().map(|i| i.solid).collect();
        self.sleeps = self.islands.iter().map(|i| (!i.is_restless()).then_some(i.made_of)).collect();
        // The last one of several.
        self.largest = (0..self.islands.len()).max_by_key(|i| self.islands[*i].part.joints.len());
        let mut held = vec![false; m.solids().len()];
        self.islands.iter().flat_map(|i| &i.part.solids).for_each(|s| held[s.index()] = true);
        let scripted = |s: &SolidId| matches!(m.solid(*s).kernel, Kernel::Scripted(_));
        self.alone =
            (0..held.len()).filter(|i| !held[*i]).map(|i| SolidId(i as u32)).filter(scripted).collect();
    }

    /// Makes the state's memory one entry per island, in order. What was remembered of other islands is sorted by rows.
    pub(super) fn sort_memory(&self, m: &Mechanism, memory: &mut Stamped<Memory>) {
        if self.remembers {
            return;
        }
        let same = memory.islands.len() == self.islands.len()
            && memory.islands.iter().zip(&self.solids).all(|(m, solid)| m.solid == *solid);
        if same && self.near.keeps(m, memory) {
            return;
        }
        self.near.redistribute(m, &self.solids, memory);
    }

    /// Scripted solids that nothing is joined to.
    pub(super) fn move_alone(&self, m: &Mechanism, s: &mut State, h: f64, end: f64) {
        for id in &self.alone {
            super::free::move_one(m, s, *id, h, end);
        }
    }

    pub(super) fn note_solver(&mut self) {
        self.solver = self.largest.map_or("none", |i| self.islands[i].work.solver_name());
    }

    /// Finds out who sleeps, from what the state remembers alone.
    pub(super) fn find_asleep(&mut self, m: &Mechanism, memory: &Memory, c: &StepConfig) {
        let gravity = m.gravity.to_array();
        if !self.resumes {
            self.asleep.clear();
            self.asleep.resize(self.islands.len(), false);
            self.awake.clear();
            self.awake.extend(0..self.islands.len());
            self.sleeping = Default::default();
        }
        // What slept before sleeps on.
        let Self { asleep, awake, sleeps, islands, sleeping, .. } = self;
        awake.retain(|&k| {
            let falls = |made_of| memory.islands[k].is_still(gravity, made_of);
            asleep[k] = c.sleep && sleeps[k].is_some_and(falls);
            if asleep[k] {
                let report = &islands[k].report;
                sleeping.0 = sleeping.0.max(report.gaps);
                sleeping.1 = sleeping.1.max(report.contacts.penetration);
            }
            !asleep[k]
        });
    }

    /// The islands that are awake, with their numbers.
    pub(super) fn awake_mut(&mut self) -> Vec<(usize, &mut Island)> {
        let mut rest = &mut self.islands[..];
        let mut out = Vec::with_capacity(self.awake.len());
        let mut before = 0;
        for &k in &self.awake {
            let (_, from) = rest.split_at_mut(k - before);
            let Some((island, after)) = from.split_first_mut() else { break };
            out.push((k, &mut **island));
            (rest, before) = (after, k + 1);
        }
        out
    }

    /// Wakes the island that a solid belongs to: for who moves it, or pulls at it, by hand.
    pub fn wake(&self, state: &mut State, solid: SolidId) {
        let memory = &mut state.memory.islands;
        let known = memory.len() == self.islands.len();
        let home = self.islands.iter().position(|i| i.part.solids.binary_search(&solid).is_ok());
        match home.filter(|_| known) {
            Some(k) => memory[k].still = 0,
            None => state.wake(),
        }
    }

    /// Gaps of rigid joints at the state that the last step ended with, island by island.
    pub fn joint_gaps(&self) -> impl Iterator<Item = (JointId, Gaps)> {
        self.islands
            .iter()
            .flat_map(|i| i.work.joint_gaps().map(|(j, gaps)| (i.part.joints[j.index()], gaps)))
    }

    /// The solver's name, of the largest island.
    pub fn solver_name(&self) -> &'static str {
        if self.solver.is_empty() { "none" } else { self.solver }
    }

    /// Islands, and how many of them slept through the last step.
    pub fn islands(&self) -> (usize, usize) {
        (self.islands.len(), self.asleep.iter().filter(|a| **a).count())
    }

    /// Does the solid belong to an island that slept through the last step?
    pub fn is_asleep(&self, solid: SolidId) -> bool {
        self.islands.iter().zip(&self.asleep).any(|(i, a)| *a && i.part.solids.binary_search(&solid).is_ok())
    }

    /// All solids that slept through the last step, island by island; not what they are fixed to.
    pub fn sleepers(&self) -> impl Iterator<Item = SolidId> {
        let asleep = self.islands.iter().zip(&self.asleep).filter(|(_, a)| **a);
        asleep.flat_map(|(i, _)| {
            let own = i.part.solids.iter().zip(i.part.mechanism.solids());
            own.filter(|(_, s)| s.kernel == Kernel::Dynamic).map(|(id, _)| *id)
        })
    }

    /// What the last step did island by island, in the order of their lowest solid.
    pub fn receipts(&self) -> impl Iterator<Item = (SolidId, &StepReport)> {
        self.islands.iter().map(|i| (SolidId(i.solid), &i.report))
    }

    /// What a joint (its limits included, its motors not) pulls with at the end of the last step.
    pub fn reaction(&mut self, joint: JointId) -> Reaction {
        let island = self.islands.iter_mut().find(|i| i.part.joints.binary_search(&joint).is_ok());
        let found = island.and_then(|i| {
            let all = i.reactions()?;
            all.into_iter().find(|(j, _)| i.part.joints[j.index()] == joint)
        });
        found.map_or(NO_REACTION, |(_, r)| r)
    }

    /// What a joint pulled with in the last step, by the impulses that held it: cheap, and of first order.
    pub(crate) fn remembered_reaction(&self, joint: JointId) -> Reaction {
        let found = self.remembered_reactions().into_iter().find(|(j, _)| *j == joint);
        found.map_or(NO_REACTION, |(_, r)| r)
    }

    /// The same of every joint that acted, in joint order.
    pub(crate) fn remembered_reactions(&self) -> Vec<(JointId, Reaction)> {
        let mut all = Vec::new();
        for i in &self.islands {
            let own = i.work.reactions(&i.part.mechanism, &i.state).unwrap_or_default();
            all.extend(own.into_iter().map(|(j, r)| (i.part.joints[j.index()], r)));
        }
        all.sort_by_key(|(j, _)| *j);
        all
    }

    /// [`reaction`](Self::reaction) of every joint that acted, in joint order; `None` when the method leaves no forces.
    pub fn reactions(&mut self, m: &Mechanism) -> Option<Vec<(JointId, Reaction)>> {
        let mut all = Vec::new();
        for island in self.islands.iter_mut().filter(|i| !i.part.joints.is_empty()) {
            let own = island.reactions()?;
            all.extend(own.into_iter().map(|(j, r)| (island.part.joints[j.index()], r)));
        }
        all.sort_by_key(|(j, _)| *j);
        (!all.is_empty() || m.joints().is_empty()).then_some(all)
    }
}

const NO_REACTION: Reaction = Reaction { force: crate::Vector::ZERO, torque: crate::Vector::ZERO };

/// What moves together: solids that joints or springs connect, whatever the time. A free solid is an assembly, too.
fn split(m: &Mechanism) -> Vec<Assembly> {
    let n = m.solids().len();
    let moves = |s: SolidId| !m.solid(s).is_fixed();
    let mut sets = Sets::new(n);
    let joints = m.joints().iter().filter(|j| j.enabled).map(|j| j.frames.map(|f| f.solid));
    let springs = m.springs.iter().map(|s| s.solids);
    for [a, b] in joints.chain(springs) {
        if moves(a) && moves(b) {
            sets.join(a.index(), b.index());
        }
    }
    for soft in m.softs() {
        let mut before = None;
        for i in soft.range().filter(|i| moves(SolidId(*i as u32))) {
            if let Some(b) = before.replace(i) {
                sets.join(b, i);
            }
        }
    }
    // Islands in the order of their lowest solid, which is the root of its set.
    let mut place = vec![usize::MAX; n];
    let mut members: Vec<Assembly> = Vec::new();
    for i in (1..n).filter(|i| moves(SolidId(*i as u32))) {
        let root = sets.find(i);
        if place[root] == usize::MAX {
            place[root] = members.len();
            members.push(Default::default());
        }
        members[place[root]].solids.push(SolidId(i as u32));
    }
    let mut home =
        |ends: [SolidId; 2]| ends.into_iter().find(|s| moves(*s)).map(|s| place[sets.find(s.index())]);
    for (k, j) in m.joints().iter().enumerate().filter(|(_, j)| j.enabled) {
        if let Some(at) = home(j.frames.map(|f| f.solid)) {
            members[at].joints.push(JointId(k as u32));
        }
    }
    for (k, s) in m.springs.iter().enumerate() {
        if let Some(at) = home(s.solids) {
            members[at].springs.push(k as u32);
        }
    }
    for (k, soft) in m.softs().iter().enumerate() {
        let first = soft.range().find(|i| moves(SolidId(*i as u32)));
        if let Some(i) = first {
            members[place[sets.find(i)]].softs.push(k as u32);
        }
    }
    members
}

/// A step is worth several threads where there are several islands with something to do. A deadline is asked by one.
pub(super) fn runs_in_parallel(islands: usize, c: &StepConfig) -> bool {
    islands > 1 && c.out_of_time.is_none() && rayon::current_num_threads() > 1
}
