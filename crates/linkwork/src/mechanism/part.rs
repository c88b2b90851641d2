//! A part of a mechanism as a mechanism of its own: what assembly and motion work on, island by island.

use super::{Mechanism, TrajectoryId, next_epoch};
use crate::force::{Force, Spring};
use crate::graph::Island;
use crate::joint::{Frame, Joint, JointId};
use crate::math::Vector;
use crate::nodes::{Places, Turning};
use crate::solid::{Kernel, Solid, SolidId};
use crate::state::State;
use crate::trajectory::Trajectory;

/// An island by itself: a mechanism of its solids and joints, renumbered in the same order, and the fixed solids they
/// touch. Work on a part costs what the part costs, however many other islands there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// The part.
    pub mechanism: Mechanism,
    /// Per solid of the part: which one of the whole.
    pub solids: Vec<SolidId>,
    /// Which of them turn.
    places: Places,
    /// Per joint of the part: which one of the whole.
    pub joints: Vec<JointId>,
    /// Per spring, force and trajectory of the part, if it is made for motion: which one of the whole.
    springs: Vec<u32>,
    forces: Vec<u32>,
    trajectories: Vec<u32>,
    /// Solids of the part that move, if it is made for motion: here and in the whole.
    moving: Vec<[u32; 2]>,
}

impl Part {
    /// Cuts an island out. Whatever cannot move is fixed here, where the state has it.
    pub fn new(m: &Mechanism, island: &Island) -> Self {
        let mut solids = island.solids.clone();
        let ends = island.joints.iter().flat_map(|j| m.joint(*j).frames.map(|f| f.solid));
        solids.extend(ends.filter(|s| m.solid(*s).is_fixed()));
        solids.push(SolidId::WORLD);
        solids.sort_unstable();
        solids.dedup();
        let mut part = Mechanism::new();
        part.solids.clear();
        for s in &solids {
            let whole = m.solid(*s);
            let kernel = if whole.is_fixed() { Kernel::Fixed } else { Kernel::Dynamic };
            // Names and shapes stay behind: nothing that works on a part looks at them, except for the extent.
            let mut solid = Solid { kernel, particle: whole.particle, mass: whole.mass, ..Solid::new("") };
            solid.mobility = whole.mobility;
            solid.shapes.clone_from(&whole.shapes);
            part.solids.push(solid);
        }
        for j in &island.joints {
            let mut joint = m.joint(*j).clone();
            for f in &mut joint.frames {
                f.solid = SolidId(solids.partition_point(|s| *s < f.solid) as u32);
            }
            part.counters.push(part.counter_count);
            part.counter_count += joint.counted_ranges().count() as u32;
            part.joints.push(joint);
        }
        let places = part.places();
        Self { mechanism: part, solids, places, joints: island.joints.clone(), ..Self::default() }
    }

    /// Cuts out what moves together: these solids, with the joints, springs and forces on them and everything fixed or
    /// scripted that those touch, `touched` among it. Shapes and names stay behind.
    pub fn for_motion(m: &Mechanism, cut: &Cut) -> Self {
        let Cut { joints, springs, softs, .. } = *cut;
        let solids = cut.solids(m);
        let local = |s: SolidId| SolidId(solids.partition_point(|t| *t < s) as u32);
        let mut part = Self { joints: joints.to_vec(), springs: springs.to_vec(), ..Self::default() };
        part.mechanism.solids.clear();
        part.mechanism.solids.reserve(solids.len());
        part.mechanism.joints.reserve(joints.len());
        for s in &solids {
            let whole = m.solid(*s);
            let mut solid = Solid { mass: whole.mass, pose: whole.pose, ..Solid::new("") };
            (solid.particle, solid.mobility, solid.kernel) = (whole.particle, whole.mobility, whole.kernel);
            if let Kernel::Scripted(t) = whole.kernel {
                solid.kernel = Kernel::Scripted(TrajectoryId(part.trajectories.len() as u32));
                part.trajectories.push(t.0);
            }
            part.mechanism.solids.push(solid);
        }
        for j in joints {
            let mut joint = m.joint(*j).clone();
            joint.name = String::new();
            joint.frames.iter_mut().for_each(|f| f.solid = local(f.solid));
            part.mechanism.counters.push(part.mechanism.counter_count);
            part.mechanism.counter_count += joint.counted_ranges().count() as u32;
            part.mechanism.joints.push(joint);
        }
        let soft = |k: &u32| {
            let whole = &m.softs[*k as usize];
            crate::soft::SoftBody { first: local(whole.first), ..whole.clone() }
        };
        part.mechanism.softs = softs.iter().map(soft).collect();
        part.mechanism.air = m.air.filter(|_| !softs.is_empty());
        part.mechanism.outer_joints = joints.iter().map(|j| j.0).collect();
        part.mechanism.outer_springs.clone_from(&part.springs);
        part.forces = cut.forces(m).collect();
        let moves = |k: &usize| part.mechanism.solids[*k].kernel != Kernel::Fixed;
        part.moving = (0..solids.len()).filter(moves).map(|k| [k as u32, solids[k].0]).collect();
        part.solids = solids;
        part.places = part.mechanism.places();
        part.refresh(m);
        part
    }

    /// Takes over what the whole may change without a new epoch: gravity, trajectories, forces and springs.
    pub fn refresh(&mut self, m: &Mechanism) {
        let solids = &self.solids;
        let local = |s: SolidId| SolidId(solids.partition_point(|t| *t < s) as u32);
        let part = &mut self.mechanism;
        part.gravity = m.gravity;
        let same = |part: &[Trajectory]| {
            part.len() == self.trajectories.len()
                && part.iter().zip(&self.trajectories).all(|(t, k)| *t == m.trajectories[*k as usize])
        };
        if !same(&part.trajectories) {
            part.trajectories.clear();
            part.trajectories.extend(self.trajectories.iter().map(|k| m.trajectories[*k as usize].clone()));
        }
        let whole = |k: &u32| {
            let force = &m.forces[*k as usize];
            Force { solid: local(force.solid), ..force.clone() }
        };
        if !(part.forces.len() == self.forces.len()
            && part.forces.iter().zip(&self.forces).all(|(f, k)| is_same_force(f, &m.forces[*k as usize])))
        {
            part.forces = self.forces.iter().map(whole).collect();
        }
        let whole = |k: &u32| {
            let spring = &m.springs[*k as usize];
            Spring { solids: spring.solids.map(local), name: String::new(), ..spring.clone() }
        };
        if !(part.springs.len() == self.springs.len()
            && part
                .springs
                .iter()
                .zip(&self.springs)
                .all(|(s, k)| is_same_spring(s, &m.springs[*k as usize])))
        {
            part.springs = self.springs.iter().map(whole).collect();
            part.epoch = next_epoch();
        }
    }

    /// Solids of the whole that move in it, scripted ones too.
    pub fn moving(&self) -> impl Iterator<Item = usize> {
        self.moving.iter().map(|[_, i]| *i as usize)
    }

    /// Is it what would be cut out there, so that stepping that would give the same? Found out without making it.
    pub fn is_cut(&self, m: &Mechanism, cut: &Cut) -> bool {
        let own = &self.mechanism;
        let place = |k: SolidId| self.solids[k.index()];
        let solid = |(part, id): (&Solid, &SolidId)| {
            let whole = m.solid(*id);
            // Names, shapes, surfaces and where it starts from stay behind.
            let Solid { kernel, particle, mass, pose, mobility, .. } = whole;
            let same_kernel = match (part.kernel, *kernel) {
                (Kernel::Scripted(own), Kernel::Scripted(t)) => self.trajectories[own.0 as usize] == t.0,
                (own, whole) => own == whole,
            };
            same_kernel
                && (&part.particle, &part.mass, &part.pose, &part.mobility)
                    == (particle, mass, pose, mobility)
        };
        let spring = |(part, k): (&Spring, &u32)| {
            let whole = &m.springs[*k as usize];
            is_same_spring(part, whole) && part.solids.map(place) == whole.solids
        };
        let soft = |(part, k): (&crate::soft::SoftBody, &u32)| {
            let whole = &m.softs[*k as usize];
            place(part.first) == whole.first
                && part.name == whole.name
                && (std::sync::Arc::ptr_eq(&part.mesh, &whole.mesh) || part.mesh == whole.mesh)
        };
        self.joints == cut.joints
            && self.springs == cut.springs
            && own.softs.len() == cut.softs.len()
            && own.air == m.air.filter(|_| !cut.softs.is_empty())
            && self.solids == cut.solids(m)
            && own.solids.iter().zip(&self.solids).all(solid)
            && own.joints.iter().zip(cut.joints).all(|(j, id)| is_same_joint(j, m.joint(*id), place))
            && own.springs.len() == cut.springs.len()
            && own.springs.iter().zip(cut.springs).all(spring)
            && own.softs.iter().zip(cut.softs).all(soft)
            && self.forces.iter().copied().eq(cut.forces(m))
    }

    /// Is the part's state the whole's share, bit by bit, but for what is remembered? Scripted and fixed solids included.
    pub fn is_share(&self, m: &Mechanism, whole: &State, part: &State) -> bool {
        let n = self.solids.len();
        let same = |a: Vector, b: Vector| a.to_array().map(f64::to_bits) == b.to_array().map(f64::to_bits);
        let vectors = |from: &[Vector], to: &[Vector]| {
            to.len() == n && self.solids.iter().zip(to).all(|(s, v)| same(from[s.index()], *v))
        };
        let turns = part.rotations.len() == n
            && self.solids.iter().zip(part.rotations.iter()).all(|(s, q)| {
                whole.rotations[s.index()].to_array().map(f64::to_bits) == q.to_array().map(f64::to_bits)
            });
        part.time.to_bits() == whole.time.to_bits()
            && turns
            && vectors(&whole.centers, &part.centers)
            && vectors(&whole.velocities, &part.velocities)
            && part.spins.len() == n
            && self.solids.iter().zip(part.spins.iter()).all(|(s, v)| same(whole.spins[s.index()], *v))
            && (self.mechanism.counter_count == 0 || self.has_angles(m, whole, part))
    }

    fn has_angles(&self, m: &Mechanism, whole: &State, part: &State) -> bool {
        let mut at = 0;
        self.joints.iter().enumerate().all(|(k, j)| {
            let count = self.mechanism.joints[k].counted_ranges().count();
            let of_whole = &whole.angles[m.counter(*j)..m.counter(*j) + count];
            at += count;
            part.angles
                .get(at - count..at)
                .is_some_and(|own| own.iter().zip(of_whole).all(|(a, b)| a.to_bits() == b.to_bits()))
        })
    }

    /// The part's share of the whole's state. What the whole remembers of the part is not among it.
    pub fn gather(&self, m: &Mechanism, whole: &State, part: &mut State) {
        part.time = whole.time;
        let pick = |from: &[Vector], to: &mut Vec<Vector>| {
            to.clear();
            to.extend(self.solids.iter().map(|s| from[s.index()]));
        };
        pick(&whole.centers, &mut part.centers);
        pick(&whole.velocities, &mut part.velocities);
        part.spins.refill(&self.places, self.solids.iter().map(|s| whole.spins[s.index()]));
        part.rotations.refill(&self.places, self.solids.iter().map(|s| whole.rotations[s.index()]));
        part.angles.clear();
        if self.mechanism.counter_count > 0 {
            for (k, j) in self.joints.iter().enumerate() {
                let count = self.mechanism.joints[k].counted_ranges().count();
                part.angles.extend_from_slice(&whole.angles[m.counter(*j)..m.counter(*j) + count]);
            }
        }
    }

    /// Puts everything that moves back into the whole's state.
    pub fn scatter(&self, m: &Mechanism, part: &State, whole: &mut State) {
        for [k, i] in self.moving.iter().map(|at| at.map(|i| i as usize)) {
            whole.centers[i] = part.centers[k];
            whole.rotations[i] = part.rotations[k];
            whole.velocities[i] = part.velocities[k];
            whole.spins[i] = part.spins[k];
        }
        if self.mechanism.counter_count > 0 {
            self.put_back_angles(m, part, whole);
        }
    }

    /// The part's state, taken from the whole's.
    pub fn state(&self, m: &Mechanism, whole: &State) -> State {
        let pick = |v: &[Vector]| self.solids.iter().map(|s| v[s.index()]).collect::<Vec<_>>().into();
        let mut angles = Vec::with_capacity(self.mechanism.counter_count());
        for (k, j) in self.joints.iter().enumerate() {
            let count = self.mechanism.joints[k].counted_ranges().count();
            angles.extend_from_slice(&whole.angles[m.counter(*j)..m.counter(*j) + count]);
        }
        State {
            time: whole.time,
            centers: pick(&whole.centers),
            rotations: Turning::new(&self.places, self.solids.iter().map(|s| whole.rotations[s.index()]))
                .into(),
            velocities: pick(&whole.velocities),
            spins: Turning::new(&self.places, self.solids.iter().map(|s| whole.spins[s.index()])).into(),
            angles,
            torn: Vec::new(),
            memory: Default::default(),
        }
    }

    /// Puts poses and counted angles back.
    pub fn put_back(&self, m: &Mechanism, part: &State, whole: &mut State) {
        for (k, s) in self.solids.iter().enumerate() {
            whole.centers[s.index()] = part.centers[k];
            whole.rotations[s.index()] = part.rotations[k];
        }
        self.put_back_angles(m, part, whole);
    }

    fn put_back_angles(&self, m: &Mechanism, part: &State, whole: &mut State) {
        for (k, j) in self.joints.iter().enumerate() {
            let (from, count) = (
                self.mechanism.counter(JointId(k as u32)),
                self.mechanism.joints[k].counted_ranges().count(),
            );
            whole.angles[m.counter(*j)..m.counter(*j) + count]
                .copy_from_slice(&part.angles[from..from + count]);
        }
    }
}

/// What is cut out: what moves together, with the joints, springs and soft bodies on it, and scripted solids that it touches. All
/// in order.
#[derive(Clone, Copy)]
pub(crate) struct Cut<'a> {
    pub moving: &'a [SolidId],
    pub joints: &'a [JointId],
    pub springs: &'a [u32],
    pub softs: &'a [u32],
    pub touched: &'a [SolidId],
}

impl Cut<'_> {
    /// All solids of the part, with everything fixed or scripted that joints and springs touch.
    fn solids(&self, m: &Mechanism) -> Vec<SolidId> {
        let Self { moving, joints, springs, softs, touched } = *self;
        let mut solids = moving.to_vec();
        // All vertices, held ones too: they stay one after the other.
        let vertices = softs.iter().flat_map(|k| m.softs[*k as usize].range());
        solids.extend(vertices.map(|i| SolidId(i as u32)));
        solids.extend_from_slice(touched);
        let of_joints = joints.iter().flat_map(|j| m.joint(*j).frames.map(|f| f.solid));
        let of_springs = springs.iter().flat_map(|k| m.springs[*k as usize].solids);
        solids.extend(of_joints.chain(of_springs).filter(|s| m.solid(*s).is_fixed()));
        solids.push(SolidId::WORLD);
        solids.sort_unstable();
        solids.dedup();
        solids
    }

    /// Forces on what moves.
    fn forces<'b>(&'b self, m: &'b Mechanism) -> impl Iterator<Item = u32> + 'b {
        let on = |k: &u32| self.moving.binary_search(&m.forces[*k as usize].solid).is_ok();
        (0..m.forces.len() as u32).filter(on)
    }
}

/// But for the name. `place`: the number in the whole of a solid of the part.
fn is_same_joint(part: &Joint, whole: &Joint, place: impl Fn(SolidId) -> SolidId) -> bool {
    // Written out, so that no field that is new can be forgotten.
    let Joint {
        name: _,
        frames,
        lock,
        hooke,
        screw,
        distance,
        regions,
        angle,
        twist,
        limits,
        drives,
        during,
        rank,
        weight,
        compliance,
        damping,
        most_force,
        alpha,
        mu,
        enabled,
    } = whole;
    let same_ends = |a: &Frame, b: &Frame| place(a.solid) == b.solid && a.pose == b.pose;
    same_ends(&part.frames[0], &frames[0])
        && same_ends(&part.frames[1], &frames[1])
        && (&part.lock, &part.hooke, &part.screw, &part.distance) == (lock, hooke, screw, distance)
        && (&part.regions, &part.angle, &part.twist) == (regions, angle, twist)
        && (&part.limits, &part.drives, &part.during, &part.rank) == (limits, drives, during, rank)
        && (&part.weight, &part.compliance, &part.damping) == (weight, compliance, damping)
        && (&part.most_force, &part.alpha, &part.mu, &part.enabled) == (most_force, alpha, mu, enabled)
}

/// But for the number of the solid and the name.
fn is_same_force(a: &Force, b: &Force) -> bool {
    (a.at, a.value, a.torque, a.follows_solid, a.during)
        == (b.at, b.value, b.torque, b.follows_solid, b.during)
}

/// But for the numbers of the solids and the name.
fn is_same_spring(a: &Spring, b: &Spring) -> bool {
    (a.points, a.length, a.stiffness, a.damping, a.during)
        == (b.points, b.length, b.stiffness, b.damping, b.during)
}
