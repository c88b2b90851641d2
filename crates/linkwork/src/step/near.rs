//! Who is near whom: contact joins what joints hold together into islands, as it comes and goes.
//!
//! Islands are a function of the state alone, boxes that meet within the step, so that a restored state has the same ones.
//! What an island remembers goes with its rows and points when it is joined or parts.

use super::StepConfig;
use super::island::Island;
use super::soft::Obstacle;
use super::touch::{Pair, approach};
use crate::contact::{Broad, Collider, Colliders, Surface, obstacles, separation};
use crate::math::{Pose, Vector};
use crate::mechanism::Mechanism;
use crate::soft::SoftBody;
use crate::solid::{Collide, Kernel, SolidId};
use crate::state::{IslandMemory, Memory, State};
use std::sync::Arc;

/// Broad phase of a workspace.
#[derive(Default)]
pub(super) struct Near {
    colliders: Arc<Colliders>,
    broad: Broad,
    /// Per solid: its assembly, or none.
    home: Vec<u32>,
    /// Shapes that soft bodies may touch, and which of them each may touch within the step.
    obstacles: Arc<Vec<Collider>>,
    soft_pairs: Vec<[u32; 2]>,
    /// Soft bodies and the solids that they are pinned to, in order: they do not touch unless they are told to.
    pinned: Vec<(usize, SolidId)>,
    scripted: Vec<bool>,
    /// Per assembly: it is more than one solid.
    jointed: Vec<bool>,
    /// Per assembly: how fast a blow within the step may make it.
    struck: Vec<f64>,
    /// Per assembly: its pairs.
    near: Vec<u32>,
    /// Per assembly: the lowest one that it is joined with.
    root: Vec<u32>,
    /// Scripted solids near an assembly, by root.
    touched: Vec<(u32, SolidId)>,
    pairs: Vec<[u32; 2]>,
    /// The colliders that may have moved, where only those of some islands were looked at: `pairs` are theirs then, and the
    /// other pairs are those of what rests.
    movers: Option<Vec<u32>>,
    resting: Vec<[u32; 2]>,
    /// Something wears a soft coat.
    coats: bool,
    had: (Vec<u32>, Vec<(u32, SolidId)>),
    /// Per assembly: the place of its island.
    island: Vec<u32>,
    /// Friction and restitution of all pairs, where they are not those of the materials.
    set: (Option<f64>, Option<f64>),
}

const NONE: u32 = u32::MAX;
/// Blows that follow from each other within a step, as far as pairs are looked for.
const STRIKES: usize = 5;
/// Who has more pairs than this is not sent anywhere by a blow.
const MOST_NEAR: u32 = 24;

/// Limbs that come no nearer to each other than this part of their size are not solved together: what joints make of their
/// speeds within the step is less, and what it is not the next step sees.
const STAYS_APART: f64 = 0.02;

/// The most that two convex shapes come nearer per second along the way between them. Of meshes nobody knows.
fn closing(s: &State, ends: [&Collider; 2], way: Vector) -> f64 {
    if ends.iter().any(|c| c.is_mesh()) {
        return f64::INFINITY;
    }
    let of = |c: &Collider, way: Vector| {
        let i = c.solid.index();
        s.velocities[i].dot(way) + s.spins[i].cross(way).length() * c.reach
    };
    (of(ends[0], way) + of(ends[1], -way)).max(0.0)
}

/// Colliders that may have moved are few when there are so many times more in all.
const FEW: usize = 2;

impl Near {
    pub fn rebuild<'a>(&mut self, m: &Mechanism, assemblies: impl Iterator<Item = &'a [SolidId]>) {
        self.colliders = Arc::new(Colliders::new(m));
        self.obstacles = Arc::new(obstacles(m));
        self.coats = m.materials.iter().any(|x| x.stiffness.is_some());
        self.soft_pairs.clear();
        self.pinned.clear();
        for [a, b] in m.joints().iter().map(|j| j.frames.map(|f| f.solid)).filter(|_| !m.softs().is_empty()) {
            let named = |k: usize, s: SolidId| matches!(&m.softs()[k].mesh.collide, crate::solid::Collide::With(list) if list.contains(&s));
            let pins = [(m.soft_of(a), b), (m.soft_of(b), a)];
            self.pinned
                .extend(pins.into_iter().filter_map(|(k, s)| Some((k?, s))).filter(|(k, s)| !named(*k, *s)));
        }
        self.pinned.sort_unstable();
        self.home = vec![NONE; m.solids().len()];
        self.scripted = m.solids().iter().map(|s| matches!(s.kernel, Kernel::Scripted(_))).collect();
        self.root.clear();
        self.jointed.clear();
        for (k, solids) in assemblies.enumerate() {
            self.jointed.push(solids.len() > 1);
            solids.iter().for_each(|s| self.home[s.index()] = k as u32);
            self.root.push(k as u32);
        }
        self.touched.clear();
        self.pairs.clear();
        self.forget_movers();
        self.had = (Vec::new(), Vec::new());
    }

    fn forget_movers(&mut self) {
        self.movers = None;
        self.resting.clear();
    }

    /// Shapes alone.
    pub fn look(&mut self, m: &Mechanism, c: &StepConfig) {
        self.set = (c.friction, c.restitution);
        if self.colliders.all.is_empty() {
            self.rebuild(m, std::iter::empty());
        }
    }

    /// Finds the pairs that may touch within the step. True when other assemblies belong together than before.
    pub fn update(&mut self, m: &Mechanism, s: &State, c: &StepConfig) -> bool {
        self.set = (c.friction, c.restitution);
        self.forget_movers();
        let Self { had, root, touched, pairs, .. } = self;
        had.0.clone_from(root);
        had.1.clone_from(touched);
        root.iter_mut().enumerate().for_each(|(k, r)| *r = k as u32);
        touched.clear();
        pairs.clear();
        self.soft_pairs.clear();
        if c.contacts && c.method.knows_contact() {
            self.find_soft_pairs(m, s, c.dt);
            self.flatten();
            if !self.colliders.all.is_empty() {
                self.find_pairs(m, s, c.dt);
                self.join_pairs();
            }
            self.touch_scripted(m);
        }
        (&self.root, &self.touched) != (&self.had.0, &self.had.1)
    }

    /// The same where only the islands that were `awake`, and the scripted solids that are in none, may have moved since the
    /// last time. Looks at nothing else. `None`: everything is to be looked at, there are not few of them.
    pub fn follow(
        &mut self,
        m: &Mechanism,
        s: &State,
        c: &StepConfig,
        islands: &[Box<Island>],
        awake: &[usize],
        alone: &[SolidId],
    ) -> Option<bool> {
        if !(c.contacts && c.method.knows_contact()) {
            return Some(false);
        }
        if !m.softs().is_empty() {
            return None;
        }
        let all = self.colliders.clone();
        if all.all.is_empty() {
            return Some(false);
        }
        if all.planes.iter().any(|k| !all.all[*k as usize].fixed) {
            return None;
        }
        let of_islands = awake.iter().flat_map(|k| islands[*k].part.moving());
        let solids = of_islands.chain(alone.iter().map(|id| id.index()));
        let mut movers: Vec<u32> = solids.flat_map(|i| all.of(i)).collect();
        movers.sort_unstable();
        movers.dedup();
        if FEW * movers.len() > all.all.len() {
            return None;
        }
        if self.movers.as_ref() != Some(&movers) {
            let moves = |k: &u32| movers.binary_search(k).is_ok();
            self.resting.append(&mut self.pairs);
            self.resting.retain(|pair| !pair.iter().any(moves));
        }
        self.movers = Some(movers);
        self.find_pairs(m, s, c.dt);
        Some(self.is_regrouped(islands, awake))
    }

    /// Do the pairs of what moves make other groups of the islands that were awake?
    fn is_regrouped(&mut self, islands: &[Box<Island>], awake: &[usize]) -> bool {
        let members = || awake.iter().map(|k| &islands[*k].members);
        members().flatten().for_each(|k| self.root[*k as usize] = *k);
        for k in 0..self.pairs.len() {
            let [a, b] = self.pairs[k].map(|c| self.home[self.colliders.all[c as usize].solid.index()]);
            if a != NONE && b != NONE && self.island[a as usize] != self.island[b as usize] {
                return true;
            }
            self.join(a, b);
        }
        for own in members() {
            for &k in own {
                self.root[k as usize] = self.find(k);
                if self.root[k as usize] != own[0] {
                    return true;
                }
            }
        }
        let touched = std::mem::take(&mut self.touched);
        self.touch();
        // What is near scripted solids never sleeps: these are all.
        touched != self.touched
    }

    /// The assembly that a soft body belongs to.
    fn soft_home(&self, m: &Mechanism, k: usize) -> u32 {
        m.softs()[k].range().map(|i| self.home[i]).find(|h| *h != NONE).unwrap_or(NONE)
    }

    /// Soft bodies, shapes and other soft bodies whose boxes meet within the step.
    fn find_soft_pairs(&mut self, m: &Mechanism, s: &State, h: f64) {
        let boxes: Vec<SoftBox> = m.softs().iter().map(|soft| SoftBox::new(m, soft, s, h)).collect();
        let all = self.obstacles.clone();
        for (k, soft) in m.softs().iter().enumerate() {
            let home = self.soft_home(m, k);
            if home == NONE {
                continue;
            }
            for (j, other) in m.softs().iter().enumerate().take(k) {
                let touches = [soft, other].iter().all(|x| x.mesh.collide == Collide::All);
                let there = self.soft_home(m, j);
                if touches && there != NONE && boxes[k].meets(boxes[j].low, boxes[j].high) {
                    self.join(home, there);
                }
            }
            for (j, c) in all.iter().enumerate() {
                let pinned = self.pinned.binary_search(&(k, c.solid)).is_ok();
                if pinned || !soft.mesh.may_touch(c.solid, &m.solid(c.solid).collide) {
                    continue;
                }
                let i = c.solid.index();
                let pose = Pose::from_parts(s.centers[i], s.rotations[i]);
                let moves = s.velocities[i].length() + s.spins[i].length() * c.reach;
                let room = Vector::splat(if c.fixed { 0.0 } else { 2.0 * h * moves });
                if c.aabb(&pose).is_none_or(|b| boxes[k].meets(b.mins - room, b.maxs + room)) {
                    self.soft_pairs.push([k as u32, j as u32]);
                    self.join(home, self.home[i]);
                }
            }
        }
    }

    /// Scripted solids near soft bodies belong to their islands.
    fn touch_scripted(&mut self, m: &Mechanism) {
        for k in 0..self.soft_pairs.len() {
            let [soft, j] = self.soft_pairs[k];
            let solid = self.obstacles[j as usize].solid;
            let home = self.soft_home(m, soft as usize);
            if home != NONE && self.scripted[solid.index()] {
                self.touched.push((self.root[home as usize], solid));
            }
        }
        self.touched.sort_unstable();
        self.touched.dedup();
    }

    /// Gives soft bodies the shapes that they may touch.
    fn hand_out_obstacles(&self, m: &Mechanism, s: &State, islands: &mut [Box<Island>]) {
        islands.iter_mut().for_each(|i| i.work.soft.contacts.obstacles.clear());
        for [k, j] in &self.soft_pairs {
            let (soft, c) = (&m.softs()[*k as usize], &self.obstacles[*j as usize]);
            let home = self.soft_home(m, *k as usize);
            let Some(island) = self.island.get(home as usize).and_then(|at| islands.get_mut(*at as usize))
            else {
                continue;
            };
            let local = |id: SolidId| island.part.solids.binary_search(&id);
            let Ok(first) = local(soft.first) else { continue };
            let own = soft.mesh.material.and_then(|k| m.materials.get(k.0 as usize));
            let friction = match (own, &c.surface) {
                (Some(a), Some(b)) => (a.friction * b.friction).sqrt(),
                (Some(x), None) => x.friction,
                (None, Some(x)) => x.friction,
                (None, None) => crate::material::Material::default().friction,
            };
            let i = c.solid.index();
            let obstacle = Obstacle {
                collider: *j,
                solid: if c.fixed { 0 } else { local(c.solid).unwrap_or(0) },
                pose: c.fixed.then(|| Pose::from_parts(s.centers[i], s.rotations[i])),
                thickness: soft.mesh.thickness,
                vertices: first..first + soft.vertices(),
                friction: self.set.0.unwrap_or(friction),
            };
            let contacts = &mut island.work.soft.contacts;
            if !Arc::ptr_eq(&contacts.colliders, &self.obstacles) {
                contacts.colliders = self.obstacles.clone();
            }
            contacts.obstacles.push(obstacle);
        }
    }

    /// Pairs that may touch within the step. What may be struck in it is looked for as far as the blow may send it: it is at
    /// rest until then.
    fn find_pairs(&mut self, m: &Mechanism, s: &State, h: f64) {
        self.struck.clear();
        self.struck.resize(self.root.len(), 0.0);
        for _ in 0..STRIKES {
            self.find_pairs_of_struck(m, s, h);
            if !self.strike(m, s, h) {
                break;
            }
        }
    }

    /// How fast blows may make the assemblies of the pairs, as far as nobody counted with it. True when there are any.
    fn strike(&mut self, m: &Mechanism, s: &State, h: f64) -> bool {
        let all = self.colliders.clone();
        let speed = |c: &Collider, struck: &[f64]| {
            let (i, home) = (c.solid.index(), self.home[c.solid.index()]);
            let own = s.velocities[i].length() + s.spins[i].length() * c.reach;
            // Linkages are slow to pass a blow on.
            if home == NONE || self.jointed[home as usize] { own } else { own.max(struck[home as usize]) }
        };
        let mass = |c: &Collider| if c.fixed { f64::INFINITY } else { m.solid(c.solid).mass.mass };
        let mut any = false;
        let mut struck = std::mem::take(&mut self.struck);
        self.near.clear();
        self.near.resize(self.root.len(), 0);
        for home in self.pairs.iter().flatten().map(|k| self.home[all.all[*k as usize].solid.index()]) {
            if home != NONE {
                self.near[home as usize] += 1;
            }
        }
        // Where that many are near each other all of them are neighbours as it is.
        let crowded = |k: u32| {
            let home = self.home[all.all[k as usize].solid.index()];
            home != NONE && self.near[home as usize] > MOST_NEAR
        };
        for pair in self.pairs.iter().filter(|pair| !pair.iter().any(|k| crowded(*k))) {
            let ends = pair.map(|k| &all.all[k as usize]);
            let least = ends[0].size.min(ends[1].size);
            for [from, to] in [[ends[0], ends[1]], [ends[1], ends[0]]] {
                let home = self.home[to.solid.index()];
                let coming = speed(from, &struck);
                if home == NONE || from.fixed || !(h * coming > 0.5 * least) {
                    continue;
                }
                // An elastic blow of a free solid; what is scripted is as heavy as can be.
                let scripted = self.home[from.solid.index()] == NONE;
                let share = if scripted { 1.0 } else { mass(from) / (mass(from) + mass(to)) };
                let most = if self.jointed[home as usize] { 1.0 } else { 2.0 };
                let sent = (2.0 * share).min(most) * coming;
                if sent > 1.01 * speed(to, &struck).max(struck[home as usize]) {
                    (struck[home as usize], any) = (sent, true);
                }
            }
        }
        self.struck = struck;
        any
    }

    fn find_pairs_of_struck(&mut self, m: &Mechanism, s: &State, h: f64) {
        let all = self.colliders.clone();
        let Self { home: homes, struck, jointed, broad, pairs, movers, .. } = self;
        let sent = |i: usize| if homes[i] == NONE { 0.0 } else { struck[homes[i] as usize] };
        let pose = |id: SolidId| Pose::from_parts(s.centers[id.index()], s.rotations[id.index()]);
        let margin = |k: usize| {
            let x = &all.all[k];
            let i = x.solid.index();
            if x.fixed {
                return 1e-3 * x.size;
            }
            let speed = (s.velocities[i].length() + s.spins[i].length() * x.reach).max(sent(i));
            1.1 * h * speed + h * h * m.gravity.length() + 1e-3 * x.size
        };
        let found = match movers {
            None => broad.pairs(&all, pose, margin),
            Some(movers) => broad.pairs_of(&all, movers, pose, margin),
        };
        pairs.clear();
        pairs.extend_from_slice(found);
        // Boxes of limbs are mostly air. What stays apart for sure joins no islands: it would be solved together for nothing.
        pairs.retain(|pair| {
            let [a, b] = pair.map(|k| &all.all[k as usize]);
            let own = [a, b].map(|c| homes[c.solid.index()]);
            let linkages = own.iter().any(|h| *h != NONE && jointed[*h as usize]);
            if !linkages || own.contains(&NONE) || own[0] == own[1] {
                return true;
            }
            let room = margin(pair[0] as usize) + margin(pair[1] as usize);
            let solids = [a, b].map(|c| c.solid.index());
            let sent = h * (sent(solids[0]) + sent(solids[1]));
            let apart = room.min(1.1 * (approach(m, s, h, solids, [a, b]) + sent) + 1e-3 * (a.size + b.size));
            match separation(a, &pose(a.solid), b, &pose(b.solid), apart) {
                None => true,
                Some((gap, _)) if gap > apart => false,
                Some((gap, way)) => {
                    let least = STAYS_APART * a.size.min(b.size) + h * h * m.gravity.length();
                    gap < 1.1 * (h * closing(s, [a, b], way) + sent) + least
                }
            }
        });
    }

    /// What the pairs are made of belongs together.
    fn join_pairs(&mut self) {
        for k in 0..self.pairs.len() {
            let [a, b] = self.pairs[k].map(|c| self.home[self.colliders.all[c as usize].solid.index()]);
            self.join(a, b);
        }
        self.flatten();
        self.touch();
    }

    /// Scripted solids in the pairs.
    fn touch(&mut self) {
        for pair in &self.pairs {
            let solids = pair.map(|c| self.colliders.all[c as usize].solid);
            for (one, two) in [(solids[0], solids[1]), (solids[1], solids[0])] {
                let home = self.home[one.index()];
                if home != NONE && self.scripted[two.index()] {
                    self.touched.push((self.root[home as usize], two));
                }
            }
        }
        self.touched.sort_unstable();
        self.touched.dedup();
    }

    /// Two assemblies belong together.
    fn join(&mut self, a: u32, b: u32) {
        if a != NONE && b != NONE {
            let (a, b) = (self.find(a), self.find(b));
            self.root[a.max(b) as usize] = a.min(b);
        }
    }

    fn flatten(&mut self) {
        for k in 0..self.root.len() as u32 {
            self.root[k as usize] = self.find(k);
        }
    }

    fn find(&self, mut k: u32) -> u32 {
        while self.root[k as usize] != k {
            k = self.root[k as usize];
        }
        k
    }

    /// Per island: its assemblies and the scripted solids near it, in the order of their lowest solid.
    pub fn groups(&mut self) -> Vec<(Vec<u32>, Vec<SolidId>)> {
        let mut groups: Vec<(Vec<u32>, Vec<SolidId>)> = Vec::new();
        self.island.clear();
        for (k, root) in self.root.iter().enumerate() {
            if *root == k as u32 {
                self.island.push(groups.len() as u32);
                groups.push(Default::default());
            } else {
                let at = self.island[*root as usize];
                self.island.push(at);
            }
            groups[self.island[k] as usize].0.push(k as u32);
        }
        for (root, solid) in &self.touched {
            groups[self.island[*root as usize] as usize].1.push(*solid);
        }
        groups
    }

    /// Gives every island its pairs, or those that were awake where nothing else was looked at.
    pub fn hand_out(&self, m: &Mechanism, s: &State, islands: &mut [Box<Island>], awake: &[usize]) {
        let clear = |i: &mut Island| {
            i.work.touch.pairs.clear();
            i.work.touch.tally.clear();
            i.work.touch.among_coats = self.coats;
        };
        let few = self.movers.is_some();
        if !few {
            self.hand_out_obstacles(m, s, islands);
        }
        if self.colliders.all.is_empty() {
            return;
        }
        if few {
            awake.iter().for_each(|k| clear(&mut islands[*k]));
        } else {
            islands.iter_mut().for_each(|i| clear(i));
        }
        for pair in &self.pairs {
            let [a, b] = pair.map(|k| &self.colliders.all[k as usize]);
            let home = [a, b].map(|c| self.home[c.solid.index()]).into_iter().find(|h| *h != NONE);
            let Some(home) = home else { continue };
            let island = &mut islands[self.island[home as usize] as usize];
            let surface = self.surface(a, b);
            let local = |id: SolidId| island.part.solids.binary_search(&id).unwrap_or(0);
            let pose = |c: &crate::contact::Collider| {
                let i = c.solid.index();
                c.fixed.then(|| Pose::from_parts(s.centers[i], s.rotations[i]))
            };
            let solids = [a, b].map(|c| if c.fixed { 0 } else { local(c.solid) });
            let pair = Pair { colliders: *pair, solids, poses: [pose(a), pose(b)], surface };
            let touch = &mut island.work.touch;
            if !Arc::ptr_eq(&touch.colliders, &self.colliders) {
                touch.colliders = self.colliders.clone();
            }
            touch.pairs.push(pair);
        }
    }

    /// All colliders.
    pub fn colliders(&self) -> &Colliders {
        &self.colliders
    }

    /// The pairs of them that were near each other when the last step began.
    pub fn pairs(&self) -> impl Iterator<Item = [u32; 2]> {
        self.pairs.iter().chain(&self.resting).copied()
    }

    /// How two colliders act on each other, as the last step had it. What wears a coat bounces by that alone.
    pub fn surface(&self, a: &Collider, b: &Collider) -> Surface {
        let own = self.colliders.surface(a, b);
        let restitution = if own.coat.is_some() { 0.0 } else { self.set.1.unwrap_or(own.restitution) };
        Surface { friction: self.set.0.unwrap_or(own.friction), restitution, ..own }
    }

    /// The island of a block of rows.
    fn of_key(&self, m: &Mechanism, key: crate::rows::RowKey) -> Option<usize> {
        let solids = key.solids(m)?;
        let home = solids.into_iter().map(|s| self.home[s.index()]).find(|h| *h != NONE)?;
        self.island.get(home as usize).map(|k| *k as usize)
    }

    fn of_contact(&self, key: &crate::contact::ContactKey) -> Option<usize> {
        let solid = |k: u32| self.colliders.all.get(k as usize).map(|c| c.solid);
        let homes = key.shapes.into_iter().filter_map(solid).map(|s| self.home[s.index()]);
        homes.into_iter().find(|h| *h != NONE).and_then(|h| self.island.get(h as usize)).map(|k| *k as usize)
    }

    /// Does every island remember its own rows and points only?
    pub fn keeps(&self, m: &Mechanism, memory: &Memory) -> bool {
        self.colliders.all.is_empty()
            || memory.islands.iter().enumerate().all(|(i, own)| {
                own.keys.iter().all(|k| self.of_key(m, *k) == Some(i))
                    && own.contacts.iter().all(|c| self.of_contact(&c.key) == Some(i))
            })
    }

    /// Memory of other islands as that of these, which are known by their lowest solid.
    pub fn redistribute(&self, m: &Mechanism, islands: &[u32], memory: &mut Memory) {
        let old = std::mem::take(&mut memory.islands);
        let mut new: Vec<IslandMemory> =
            islands.iter().map(|s| IslandMemory { solid: *s, ..IslandMemory::default() }).collect();
        let mut heard = vec![false; new.len()];
        let weights = self.weights(m, new.len());
        let mut blocks: Vec<Vec<(crate::rows::RowKey, usize, usize)>> = vec![Vec::new(); new.len()];
        for (k, own) in old.iter().enumerate() {
            // Its lowest solid need not be that of the island it is part of now.
            let home = self.home.get(own.solid as usize).and_then(|h| self.island.get(*h as usize));
            let mut told: Vec<usize> = home.map(|k| *k as usize).into_iter().collect();
            let mut at = 0;
            for key in &own.keys {
                if let Some(i) = self.of_key(m, *key) {
                    blocks[i].push((*key, k, at));
                    told.push(i);
                }
                at += key.count();
            }
            for c in &own.contacts {
                if let Some(i) = self.of_contact(&c.key) {
                    new[i].contacts.push(*c);
                    told.push(i);
                }
            }
            told.sort_unstable();
            told.dedup();
            let sum: f64 = told.iter().map(|i| weights[*i]).sum();
            for &i in &told {
                let share = if sum > 0.0 { weights[i] / sum } else { 1.0 / told.len() as f64 };
                new[i].hear(own, !heard[i], share);
                heard[i] = true;
            }
        }
        for (own, blocks) in new.iter_mut().zip(&mut blocks) {
            blocks.sort_unstable();
            own.contacts.sort_unstable_by_key(|c| c.key);
            let pulls = blocks.iter().all(|(_, k, _)| !old[*k].pull.is_empty()) && !blocks.is_empty();
            for (key, k, at) in blocks {
                own.keys.push(*key);
                let rows = *at..*at + key.count();
                own.forces.extend_from_slice(old[*k].forces.get(rows.clone()).unwrap_or_default());
                if pulls {
                    own.pull.extend_from_slice(old[*k].pull.get(rows).unwrap_or_default());
                }
            }
            if own.forces.len() != own.keys.iter().map(|k| k.count()).sum::<usize>() {
                (own.keys, own.forces, own.pull) = (Vec::new(), Vec::new(), Vec::new());
            }
        }
        memory.islands = new;
    }

    /// Per island: its mass, by which the parts of an island share what it gained.
    fn weights(&self, m: &Mechanism, islands: usize) -> Vec<f64> {
        let mut weights = vec![0.0; islands];
        for (solid, home) in m.solids().iter().zip(&self.home).filter(|(s, _)| !s.is_fixed()) {
            let island = self.island.get(*home as usize).and_then(|k| weights.get_mut(*k as usize));
            if let Some(sum) = island
                && solid.mass.mass.is_finite()
            {
                *sum += solid.mass.mass;
            }
        }
        weights
    }
}

/// The box that a soft body stays in within the step.
struct SoftBox {
    low: Vector,
    high: Vector,
}

impl SoftBox {
    fn new(m: &Mechanism, soft: &SoftBody, s: &State, h: f64) -> Self {
        let (mut low, mut high, mut speed) = (Vector::INFINITY, Vector::NEG_INFINITY, 0.0_f64);
        for i in soft.range() {
            low = low.min(s.centers[i]);
            high = high.max(s.centers[i]);
            speed = speed.max(s.velocities[i].length());
        }
        let pull = m.gravity.length() + super::soft::most_pull(m, soft, s, h);
        let margin = 2.0 * h * speed + 4.0 * h * h * pull + 0.5 * soft.mesh.thickness;
        Self { low: low - Vector::splat(margin), high: high + Vector::splat(margin) }
    }

    fn meets(&self, low: Vector, high: Vector) -> bool {
        low.cmple(self.high).all() && high.cmpge(self.low).all()
    }
}

impl IslandMemory {
    /// Takes over what another island knew, as one of those that this one is made of. Its energy is shared by those that
    /// it falls into, so that islands which meet and part do not multiply it. What it lost was taken by what touched, or
    /// by what is a part of one of them only: it is nothing that the others lack.
    fn hear(&mut self, other: &IslandMemory, first: bool, share: f64) {
        self.substep = self.substep.max(other.substep);
        self.care = self.care.max(other.care);
        self.still = if first { other.still } else { self.still.min(other.still) };
        self.drift += share * other.drift.max(0.0);
        self.peak += share * other.peak;
        self.gravity = other.gravity;
        self.made_of = other.made_of;
    }
}
