//! Where a mechanism *is*: the whole snapshot. Two states with the same hash have the same future.

use crate::contact::ContactMemory;
use crate::joint::{Direction, JointId};
use crate::math::{Pose, Rotation, Vector, exp};
use crate::mechanism::Mechanism;
use crate::nodes::{Places, Turning};
use crate::rows::{RowKey, Rows};
use crate::soft::{SoftBody, Torn};
use crate::solid::{Kernel, SolidId};
use crate::stamp::Stamped;
use serde::{Deserialize, Serialize};

/// Stamps of a state's poses, speeds and memory; zeros: none.
pub(crate) type Seals = [u64; 5];

/// Poses, velocities, counted angles and time. [`crate::formats::snapshot`] turns it into bytes and back.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Seconds since the start.
    pub time: f64,
    /// Centre of mass of each solid, world.
    #[serde(with = "plain::vectors")]
    pub centers: Stamped<Vec<Vector>>,
    /// Orientation of each solid that is no particle.
    #[serde(with = "plain::turns")]
    pub rotations: Stamped<Turning<Rotation>>,
    /// Velocity of each centre of mass.
    #[serde(with = "plain::vectors")]
    pub velocities: Stamped<Vec<Vector>>,
    /// Angular velocity of each solid that is no particle, world axes.
    #[serde(with = "plain::turns")]
    pub spins: Stamped<Turning<Vector>>,
    /// Counted angles (twists, limited rotations, screws) with their whole turns.
    pub angles: Vec<f64>,
    /// What is torn of soft bodies, in order.
    pub torn: Vec<Torn>,
    /// What the last step leaves for the next.
    pub memory: Stamped<Memory>,
}

/// What a step leaves for the next one, island by island. Part of the snapshot: the same state has the same future, bit
/// for bit.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// In the order of their solids. Empty: nothing has moved yet.
    pub islands: Vec<IslandMemory>,
}

/// What one island remembers.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IslandMemory {
    /// Its lowest solid that can move: by it the island is known again.
    pub solid: u32,
    /// Length of its last substep; zero before the first.
    pub substep: f64,
    /// Steps for which rows that depend on each other are still to be solved with care.
    pub care: u32,
    /// Steps in a row at whose end nothing moved, under the gravity that it had then.
    pub still: u32,
    /// Energy that it gained or lost so far without an explanation, joules.
    pub drift: f64,
    /// Its largest kinetic energy, joules.
    pub peak: f64,
    /// Gravity of the last step: another one wakes what sleeps.
    pub gravity: [f64; 3],
    /// What it was made of then, as a number: joints, springs or forces that come or go wake it, too.
    pub made_of: u64,
    /// The blocks of rows that acted at the end of the last step, in order.
    #[serde(with = "plain::keys")]
    pub keys: Vec<RowKey>,
    /// Force along each of their rows: the warm start of the next step.
    pub forces: Vec<f64>,
    /// Forces by which taut joints make solids harder to turn; empty where that is not needed.
    pub pull: Vec<f64>,
    /// Points of contact that pushed at the end of the last step, in order.
    pub contacts: Vec<ContactMemory>,
}

impl IslandMemory {
    /// Steps without motion after which an island sleeps.
    pub(crate) const STILL: u32 = 30;

    /// Nothing has moved for long enough to sleep, under this gravity and made of the same.
    pub(crate) fn is_still(&self, gravity: [f64; 3], made_of: u64) -> bool {
        self.still >= Self::STILL && self.gravity == gravity && self.made_of == made_of
    }

    /// Did this block of rows act at the end of the last step?
    pub fn knows(&self, key: RowKey) -> bool {
        self.substep > 0.0 && self.keys.binary_search(&key).is_ok()
    }

    /// The forces remembered for these blocks, zero for those that are new.
    pub(crate) fn recall(&self, rows: &Rows, out: &mut Vec<f64>) {
        self.recall_from(&self.forces, rows, out);
    }

    /// As [`recall`](Self::recall), for the forces that make solids harder to turn. False: there are none.
    pub(crate) fn recall_pull(&self, rows: &Rows, out: &mut Vec<f64>) -> bool {
        if self.pull.is_empty() {
            return false;
        }
        self.recall_from(&self.pull, rows, out);
        true
    }

    fn recall_from(&self, from: &[f64], rows: &Rows, out: &mut Vec<f64>) {
        out.clear();
        if self.keys == rows.keys && from.len() == rows.len() {
            return out.extend_from_slice(from);
        }
        out.resize(rows.len(), 0.0);
        // Both are in order: one walk over both.
        let (mut k, mut at) = (0, 0);
        for (g, key) in rows.groups.iter().zip(&rows.keys) {
            while k < self.keys.len() && self.keys[k] < *key {
                at += self.keys[k].count();
                k += 1;
            }
            if self.keys.get(k) == Some(key)
                && let Some(known) = from.get(at..at + g.count)
            {
                out[g.range()].copy_from_slice(known);
            }
        }
    }

    /// What a step leaves behind: its last substep and the forces along its rows.
    pub(crate) fn remember(&mut self, h: f64, keys: &[RowKey], forces: impl Iterator<Item = f64>) {
        self.substep = h;
        if self.keys != keys {
            self.keys.clear();
            self.keys.extend_from_slice(keys);
        }
        self.forces.clear();
        self.forces.extend(forces);
        self.pull.clear();
    }

    /// Lengths fit each other and every number can be computed with.
    pub(crate) fn is_sound(&self) -> bool {
        let rows: usize = self.keys.iter().map(|k| k.count()).sum();
        [self.substep, self.drift, self.peak].iter().chain(&self.gravity).all(|x| x.is_finite())
            && self.forces.len() == rows
            && [0, rows].contains(&self.pull.len())
            && self.forces.iter().chain(&self.pull).all(|x| x.is_finite())
            && self.keys.is_sorted()
            && self.contacts.is_sorted_by(|a, b| a.key < b.key)
            && self.contacts.iter().flat_map(|c| &c.force).all(|x| x.is_finite())
    }

    /// About the bytes that it takes.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>()
            + 8 * (self.keys.len() + self.forces.len() + self.pull.len())
            + size_of::<ContactMemory>() * self.contacts.len()
    }
}

impl Memory {
    /// The memory of a state that is one island.
    pub(crate) fn own(&self) -> &IslandMemory {
        const NONE: &IslandMemory = &IslandMemory {
            solid: 0,
            substep: 0.0,
            care: 0,
            still: 0,
            drift: 0.0,
            peak: 0.0,
            gravity: [0.0; 3],
            made_of: 0,
            keys: Vec::new(),
            forces: Vec::new(),
            pull: Vec::new(),
            contacts: Vec::new(),
        };
        self.islands.first().unwrap_or(NONE)
    }

    /// The same, to be written.
    pub(crate) fn own_mut(&mut self) -> &mut IslandMemory {
        if self.islands.is_empty() {
            self.islands.push(IslandMemory::default());
        }
        &mut self.islands[0]
    }
}

/// By hand, since a derived `clone_from` would allocate anew: steps copy states and must not.
macro_rules! clone_in_place {
    ($kind:ident: $($field:ident),*) => {
        impl Clone for $kind {
            fn clone(&self) -> Self {
                Self { $($field: self.$field.clone()),* }
            }
            fn clone_from(&mut self, from: &Self) {
                $(self.$field.clone_from(&from.$field);)*
            }
        }
    };
}

clone_in_place!(State: time, centers, rotations, velocities, spins, angles, torn, memory);
clone_in_place!(Memory: islands);
clone_in_place!(
    IslandMemory: solid, substep, care, still, drift, peak, gravity, made_of, keys, forces, pull, contacts
);

impl State {
    /// The initial state of a mechanism: scripted solids at time zero of their trajectory.
    pub fn new(m: &Mechanism) -> Self {
        let solids = m.solids();
        let pose = |i: usize| match solids[i].kernel {
            Kernel::Scripted(t) => m.trajectories[t.0 as usize].pose(0.0),
            _ => Pose::from_parts(solids[i].pose.translation, solids[i].pose.rotation.normalize()),
        };
        let places = &m.places();
        let mut state = Self {
            time: 0.0,
            centers: (0..solids.len())
                .map(|i| pose(i).transform_point(solids[i].mass.center))
                .collect::<Vec<_>>()
                .into(),
            rotations: Turning::new(places, (0..solids.len()).map(|i| pose(i).rotation)).into(),
            // What is fixed has no speed, whatever somebody wrote.
            velocities: solids
                .iter()
                .map(|s| if s.kernel == Kernel::Fixed { Vector::ZERO } else { s.velocity })
                .collect::<Vec<_>>()
                .into(),
            spins: Turning::new(
                places,
                solids.iter().map(|s| if s.kernel == Kernel::Fixed { Vector::ZERO } else { s.spin }),
            )
            .into(),
            // The turn nearest to the middle of the range: `limit r1 170 deg 190 deg` is met at -175 degrees.
            angles: m
                .joints()
                .iter()
                .flat_map(|j| j.counted_ranges().map(|r| r.middle()).collect::<Vec<_>>())
                .collect(),
            torn: Vec::new(),
            memory: Stamped::default(),
        };
        state.count_screws(m);
        state
    }

    /// A screw is on the turn that its shift along the axis tells, and so is a limit on that turn: otherwise a screw
    /// that was driven in by several turns would count as open when its scene is read again.
    fn count_screws(&mut self, m: &Mechanism) {
        for (k, joint) in m.joints().iter().enumerate() {
            let Some(pitch) = joint.screw else { continue };
            let [one, two] = joint.frames.map(|f| self.pose(m, f.solid) * f.pose);
            let shift = (one.rotation * Vector::X).dot(two.translation - one.translation);
            let turned = shift * std::f64::consts::TAU / pitch;
            let first = m.counter(JointId(k as u32));
            let limits = joint.limits.iter().filter(|l| l.direction.is_rotation());
            for (slot, limit) in limits.enumerate() {
                if limit.direction == Direction::R1 {
                    self.angles[first + slot] = turned;
                }
            }
            let drives = joint.drives.iter().filter(|d| d.counts_turns()).count();
            self.angles[first + joint.counted_ranges().count() - drives - 1] = turned;
        }
    }

    /// This state of `old` as one of `new`, a mechanism that was made from it: time goes on, solids that survive stay
    /// where they are with the motion they have, joints that survive keep their counted turns. Everything else starts
    /// as `new` says.
    pub fn carried_over(
        &self,
        old: &Mechanism,
        new: &Mechanism,
        solids: &[Option<SolidId>],
        joints: &[Option<JointId>],
    ) -> State {
        let mut state = State::new(new);
        state.time = self.time;
        for (i, solid) in new.solids().iter().enumerate() {
            let id = SolidId(i as u32);
            match (solid.kernel, solids.get(i).copied().flatten()) {
                (Kernel::Scripted(t), _) => {
                    state.set_pose(new, id, new.trajectories[t.0 as usize].pose(self.time));
                }
                (Kernel::Dynamic, Some(from)) => {
                    state.set_pose(new, id, self.pose(old, from));
                    state.velocities[i] = self.velocities[from.index()];
                    state.spins[i] = self.spins[from.index()];
                }
                _ => {}
            }
        }
        state.count_screws(new);
        for (k, from) in joints.iter().enumerate().take(new.joints().len()) {
            let Some(from) = from else { continue };
            let (to, at) = (new.counter(JointId(k as u32)), old.counter(*from));
            let count = new.joints()[k].counted_ranges().count();
            state.angles[to..to + count].copy_from_slice(&self.angles[at..at + count]);
        }
        // What is torn stays so in bodies of the same name with as many springs and vertices.
        for [body, k] in &self.torn {
            let Some(from) = old.softs().get(*body as usize) else { continue };
            let same = |s: &SoftBody| {
                s.name == from.name
                    && s.mesh.springs.len() == from.mesh.springs.len()
                    && s.vertices() == from.vertices()
            };
            state.torn.extend(new.softs().iter().position(same).map(|to| [to as u32, *k]));
        }
        state.torn.sort_unstable();
        state
    }

    /// The pose of a solid's origin.
    pub fn pose(&self, m: &Mechanism, id: SolidId) -> Pose {
        let (c, q) = (self.centers[id.index()], self.rotations[id.index()]);
        Pose::from_parts(c - q * m.solid(id).mass.center, q)
    }

    /// Puts a solid's origin at a pose.
    pub fn set_pose(&mut self, m: &Mechanism, id: SolidId, pose: Pose) {
        self.rotations[id.index()] = pose.rotation.normalize();
        self.centers[id.index()] = pose.translation + self.rotations[id.index()] * m.solid(id).mass.center;
    }

    /// Whether the solid has an orientation: particles have none.
    pub fn turns(&self, solid: usize) -> bool {
        self.rotations.places().of(solid).is_some()
    }

    /// Which nodes turn is the same for orientations and spins, and what the mechanism says.
    pub(crate) fn has_places(&self, places: &Places) -> bool {
        self.rotations.places() == places && self.spins.places() == places
    }

    /// Wakes every island: for who changes velocities, forces or springs by hand.
    pub fn wake(&mut self) {
        self.memory.islands.iter_mut().for_each(|i| i.still = 0);
    }

    /// Moves one solid: translation of its centre and rotation vector, world axes.
    pub fn displace(&mut self, solid: usize, dq: &[f64; 6]) {
        self.centers[solid] += Vector::new(dq[0], dq[1], dq[2]);
        if self.turns(solid) {
            let turn = exp(Vector::new(dq[3], dq[4], dq[5]));
            self.rotations[solid] = (turn * self.rotations[solid]).normalize();
        }
    }

    /// Gives everything that tells who sleeps where a stamp: as long as the state [bears](Self::bears) them nothing of it changed.
    pub(crate) fn seal(&mut self) -> Seals {
        [
            self.centers.seal(),
            self.rotations.seal(),
            self.velocities.seal(),
            self.spins.seal(),
            self.memory.seal(),
        ]
    }

    /// It is what was sealed like that, or a copy of it: poses, speeds and memory are the same to the bit.
    pub(crate) fn bears(&self, seals: &Seals) -> bool {
        self.centers.bears(seals[0])
            && self.rotations.bears(seals[1])
            && self.velocities.bears(seals[2])
            && self.spins.bears(seals[3])
            && self.memory.bears(seals[4])
    }

    /// Every number is finite, and so are the squares that energies are made of.
    pub fn is_finite(&self) -> bool {
        // A number times zero is zero; what is not finite, or becomes so, gives NaN, which no sum gets rid of. Looking at
        // each would branch. The factor leaves room for masses.
        let squares = |v: &[Vector]| v.iter().fold(0.0, |sum, v| sum + v.length_squared() * 1e100 * 0.0);
        let sum = squares(&self.centers) + squares(&self.velocities) + squares(self.spins.values());
        let turns = self.rotations.values().iter().fold(0.0, |sum, q| sum + (q.x + q.y + q.z + q.w) * 0.0);
        self.time.is_finite() && sum == 0.0 && turns == 0.0
    }

    /// A hash of every bit (FNV-1a over the words in order).
    pub fn hash(&self) -> u64 {
        let mut h = 0xcbf2_9ce4_8422_2325_u64;
        let mut eat = |x: f64| {
            for byte in x.to_bits().to_le_bytes() {
                h = (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        };
        eat(self.time);
        for v in self.centers.iter().chain(&self.velocities).chain(self.spins.values()) {
            v.to_array().into_iter().for_each(&mut eat);
        }
        self.rotations.values().iter().flat_map(|q| q.to_array()).for_each(&mut eat);
        self.angles.iter().copied().for_each(&mut eat);
        self.torn.iter().flatten().for_each(|k| eat(f64::from(*k)));
        for island in &self.memory.islands {
            eat(f64::from(island.solid));
            eat(island.substep);
            eat(f64::from(island.care));
            eat(f64::from(island.still));
            eat(island.drift);
            eat(island.peak);
            island.gravity.into_iter().for_each(&mut eat);
            eat(f64::from_bits(island.made_of));
            island.keys.iter().for_each(|k| eat(f64::from_bits(k.0)));
            island.forces.iter().chain(&island.pull).copied().for_each(&mut eat);
            for c in &island.contacts {
                [c.key.shapes[0], c.key.shapes[1], c.key.feature].into_iter().for_each(|k| eat(f64::from(k)));
                c.force.into_iter().for_each(&mut eat);
            }
        }
        h
    }
}

/// Vectors, quaternions and keys as plain numbers in order, so that what is saved does not depend on the maths library.
mod plain {
    pub mod vectors {
        use crate::math::Vector;
        use crate::stamp::Stamped;
        use serde::{Deserialize, Deserializer, Serializer};

        pub fn serialize<S: Serializer>(list: &[Vector], s: S) -> Result<S::Ok, S::Error> {
            s.collect_seq(list.iter().map(|v| v.to_array()))
        }
        pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Stamped<Vec<Vector>>, D::Error> {
            let all = Vec::<[f64; 3]>::deserialize(d)?.into_iter().map(Vector::from_array);
            Ok(all.collect::<Vec<_>>().into())
        }
    }
    pub mod keys {
        use crate::rows::RowKey;
        use serde::{Deserialize, Deserializer, Serializer};

        pub fn serialize<S: Serializer>(list: &[RowKey], s: S) -> Result<S::Ok, S::Error> {
            s.collect_seq(list.iter().map(|k| k.0))
        }
        pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<RowKey>, D::Error> {
            Ok(Vec::<u64>::deserialize(d)?.into_iter().map(RowKey).collect())
        }
    }
    /// The values, and which nodes turn: nothing where all do.
    pub mod turns {
        use crate::math::{Rotation, Vector};
        use crate::nodes::{AtRest, Turning};
        use crate::stamp::Stamped;
        use serde::de::Error;
        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        pub trait Plain: AtRest {
            type Numbers: Serialize + for<'de> Deserialize<'de>;
            fn numbers(&self) -> Self::Numbers;
            fn of(numbers: Self::Numbers) -> Self;
        }
        impl Plain for Rotation {
            type Numbers = [f64; 4];
            fn numbers(&self) -> [f64; 4] {
                self.to_array()
            }
            fn of(numbers: [f64; 4]) -> Self {
                Rotation::from_array(numbers)
            }
        }
        impl Plain for Vector {
            type Numbers = [f64; 3];
            fn numbers(&self) -> [f64; 3] {
                self.to_array()
            }
            fn of(numbers: [f64; 3]) -> Self {
                Vector::from_array(numbers)
            }
        }

        pub fn serialize<S: Serializer, T: Plain>(list: &Turning<T>, s: S) -> Result<S::Ok, S::Error> {
            let all = list.values().len() == list.len();
            let turns: Vec<bool> = if all { Vec::new() } else { list.places().turns(list.len()).collect() };
            let values: Vec<T::Numbers> = list.values().iter().map(Plain::numbers).collect();
            (turns, values).serialize(s)
        }
        pub fn deserialize<'de, D: Deserializer<'de>, T: Plain>(
            d: D,
        ) -> Result<Stamped<Turning<T>>, D::Error> {
            let (turns, values) = <(Vec<bool>, Vec<T::Numbers>)>::deserialize(d)?;
            let values = values.into_iter().map(T::of).collect();
            let list =
                Turning::from_parts(values, &turns).ok_or_else(|| D::Error::custom("lengths differ"))?;
            Ok(list.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::{Frame, Joint};
    use crate::shape::PlacedShape;
    use crate::solid::Solid;

    /// Spins of 1e200 are numbers, but their energy is not: a step that ends with them must not be taken.
    #[test]
    fn what_cannot_be_squared_is_not_finite() {
        let mut m = Mechanism::new();
        m.add_solid(Solid::new("top")).unwrap();
        let good = State::new(&m);
        assert!(good.is_finite());
        for x in [1e160, f64::INFINITY, f64::NAN] {
            let mut s = good.clone();
            s.spins[1].y = x;
            assert!(!s.is_finite(), "{x}");
            let mut s = good.clone();
            s.centers[1].z = -x;
            assert!(!s.is_finite(), "{x}");
        }
        let mut s = good.clone();
        s.rotations[1].w = f64::NAN;
        assert!(!s.is_finite());
    }

    #[test]
    fn a_screw_starts_on_the_turn_of_its_shift() {
        let mut m = Mechanism::new();
        // Pitch 0.1, nine and a quarter turns in.
        let turn = exp(Vector::X * (0.25 * std::f64::consts::TAU));
        let nut = m.add_solid(Solid::new("nut").at(0.925, 0.0, 0.0).turned(turn)).unwrap();
        let frame = |s| Frame::point(s, Vector::ZERO);
        let screw = Joint::screw(frame(SolidId::WORLD), frame(nut), 0.1);
        m.add_joint(screw.with_limit(Direction::R1, 0.0, 20.0 * std::f64::consts::PI)).unwrap();
        let mut s = State::new(&m);
        let report = crate::assemble(&m, &mut s, &crate::AssembleConfig::default());
        assert_eq!((report.outcome, report.iterations), (crate::Outcome::Ok, 0), "{report:?}");
    }

    #[test]
    fn origin_and_centre_are_different_points() {
        let mut m = Mechanism::new();
        let bar = PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X);
        let id = m
            .add_solid(Solid::new("bar").with_shape(bar, 1.0).at(0.0, 2.0, 0.0).turned(exp(Vector::Z * 1.2)))
            .unwrap();
        let mut s = State::new(&m);
        assert!((s.centers[1] - Vector::new(0.0, 2.0, 0.0)).length() > 0.49);
        let p = s.pose(&m, id);
        assert!((p.translation - Vector::new(0.0, 2.0, 0.0)).length() < 1e-15);
        let before = s.hash();
        s.set_pose(&m, id, Pose::translation(1.0, 0.0, 0.0));
        assert!((s.pose(&m, id).translation - Vector::X).length() < 1e-15);
        assert_ne!(before, s.hash());
    }
}
