//! What a mechanism *is*: solids, joints and what they refer to. Constant while it moves; see [`crate::State`] for
//! where it is.

mod edit;
mod part;

pub(crate) use part::{Cut, Part};

use crate::force::{Air, Force, Spring};
use crate::joint::{Joint, JointId};
use crate::material::Material;
use crate::math::Vector;
use crate::nodes::Places;
use crate::soft::{SoftBody, SoftMesh, Torn};
use crate::solid::{Solid, SolidId};
use crate::trajectory::Trajectory;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names a material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MaterialId(pub u32);

/// Names a trajectory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrajectoryId(pub u32);

/// Solids, joints, materials and trajectories with stable ids, and the field of gravity.
///
/// ```
/// use linkwork::{Frame, Joint, Mechanism, PlacedShape, Solid, SolidId, Vector};
/// let mut m = Mechanism::new();
/// let arm = m.add_solid(Solid::new("arm").with_shape(PlacedShape::capsule(0.05, 1.0, Vector::X), 1.0))?;
/// m.add_joint(Joint::ball(
///     Frame::point(SolidId::WORLD, Vector::ZERO),
///     Frame::point(arm, Vector::new(-0.5, 0.0, 0.0)),
/// ))?;
/// assert_eq!(m.freedoms() - m.scalar_constraints(), 3);
/// # Ok::<(), linkwork::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mechanism {
    solids: Vec<Solid>,
    joints: Vec<Joint>,
    /// First slot of each joint's counted angles in the state.
    counters: Vec<u32>,
    counter_count: u32,
    names: BTreeMap<String, SolidId>,
    pub(crate) softs: Vec<SoftBody>,
    /// What is torn, and meshes as they were before anything was.
    pub(crate) torn: Vec<Torn>,
    pub(crate) whole: Vec<Arc<SoftMesh>>,
    pub(crate) materials: Vec<Material>,
    pub(crate) trajectories: Vec<Trajectory>,
    pub(crate) forces: Vec<Force>,
    pub(crate) springs: Vec<Spring>,
    pub(crate) ignores: Vec<[SolidId; 2]>,
    /// Acceleration of free fall.
    pub gravity: Vector,
    air: Option<Air>,
    epoch: u64,
    /// Where this is a part of another mechanism: what its joints and springs are called there.
    outer_joints: Vec<u32>,
    outer_springs: Vec<u32>,
}

/// Most scalar rows of one joint: every condition the language has, several times over.
const MOST_ROWS: usize = 64;

/// A number that no other change of any mechanism has: caches that compare it never mistake one mechanism for another.
fn next_epoch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Why something cannot be part of a mechanism.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError(pub String);

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for ModelError {}

impl Default for Mechanism {
    fn default() -> Self {
        Self::new()
    }
}

impl Mechanism {
    /// Only the world, with gravity along -y.
    pub fn new() -> Self {
        Self {
            solids: vec![Solid::fixed("world")],
            joints: Vec::new(),
            counters: Vec::new(),
            counter_count: 0,
            names: BTreeMap::from([("world".to_owned(), SolidId::WORLD)]),
            softs: Vec::new(),
            torn: Vec::new(),
            whole: Vec::new(),
            materials: Vec::new(),
            trajectories: Vec::new(),
            forces: Vec::new(),
            springs: Vec::new(),
            ignores: Vec::new(),
            gravity: Vector::new(0.0, -9.81, 0.0),
            air: None,
            epoch: next_epoch(),
            outer_joints: Vec::new(),
            outer_springs: Vec::new(),
        }
    }

    /// Adds a solid or particle. Refuses a taken name, and bodies that cannot exist.
    pub fn add_solid(&mut self, solid: Solid) -> Result<SolidId, ModelError> {
        if self.names.contains_key(&solid.name) {
            return Err(ModelError(format!("solid `{}`: the name is taken", solid.name)));
        }
        self.check_solid(&solid)?;
        let id = SolidId(self.solids.len() as u32);
        self.names.insert(solid.name.clone(), id);
        self.solids.push(solid);
        self.epoch = next_epoch();
        Ok(id)
    }

    /// Adds a joint. Refuses solids that do not exist, a solid joined to itself, and numbers that are not finite.
    pub fn add_joint(&mut self, joint: Joint) -> Result<JointId, ModelError> {
        self.check_joint(&joint)?;
        let id = JointId(self.joints.len() as u32);
        self.counters.push(self.counter_count);
        self.counter_count += joint.counted_ranges().count() as u32;
        self.joints.push(joint);
        self.epoch = next_epoch();
        Ok(id)
    }

    /// Adds a soft body over particles that are there already. Refuses vertices that are none, and springs without ends or
    /// with numbers that cannot be.
    pub fn add_soft(&mut self, body: SoftBody) -> Result<usize, ModelError> {
        let fail = |what: String| Err(ModelError(format!("soft body `{}`: {what}", body.name)));
        let (range, n) = (body.range(), body.vertices() as u32);
        if range.end > self.solids.len() || !self.solids[range].iter().all(|s| s.particle) {
            return fail("its vertices are not all particles".into());
        }
        let ok = |x: f64| x.is_finite() && x >= 0.0;
        for s in &body.mesh.springs {
            let [a, b] = s.ends;
            if a >= n || b >= n || a == b {
                return fail(format!("a spring joins vertices {a} and {b} of {n}"));
            }
            if !(ok(s.stiffness) && ok(s.damping) && ok(s.length) && s.longest >= s.length) {
                return fail("stiffness, damping and lengths must be finite and >= 0".into());
            }
        }
        if body.mesh.triangles.iter().flatten().chain(body.mesh.tetrahedra.iter().flatten()).any(|v| *v >= n)
        {
            return fail("a face has no vertex of that number".into());
        }
        self.softs.push(body);
        self.epoch = next_epoch();
        Ok(self.softs.len() - 1)
    }

    /// The soft body of that name and the solid never touch.
    pub fn ignore_soft(&mut self, name: &str, solid: SolidId) {
        for soft in self.softs.iter_mut().filter(|s| s.name == name) {
            std::sync::Arc::make_mut(&mut soft.mesh).ignores.push(solid);
        }
        self.epoch = next_epoch();
    }

    /// Cloth, ropes and soft solids.
    pub fn softs(&self) -> &[SoftBody] {
        &self.softs
    }
    /// The soft body that a solid is a vertex of, by its place among them.
    pub fn soft_of(&self, id: SolidId) -> Option<usize> {
        // Vertices come in the order of their bodies.
        let k = self.softs.partition_point(|s| s.range().end <= id.index());
        self.softs.get(k).filter(|s| s.range().contains(&id.index())).map(|_| k)
    }
    /// All solids; the first is the world.
    pub fn solids(&self) -> &[Solid] {
        &self.solids
    }
    /// All joints.
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }
    /// Surfaces, in the order of their ids.
    pub fn materials(&self) -> &[Material] {
        &self.materials
    }
    /// Given motions, in the order of their ids.
    pub fn trajectories(&self) -> &[Trajectory] {
        &self.trajectories
    }
    /// External forces.
    pub fn forces(&self) -> &[Force] {
        &self.forces
    }
    /// Springs.
    pub fn springs(&self) -> &[Spring] {
        &self.springs
    }
    /// Pairs that never touch.
    pub fn ignores(&self) -> &[[SolidId; 2]] {
        &self.ignores
    }
    /// One solid.
    ///
    /// # Panics
    /// Like a slice, where the id is of another mechanism: `solids().get(id.index())` does not.
    pub fn solid(&self, id: SolidId) -> &Solid {
        &self.solids[id.index()]
    }
    /// One joint.
    ///
    /// # Panics
    /// Like a slice, where the id is of another mechanism: `joints().get(id.index())` does not.
    pub fn joint(&self, id: JointId) -> &Joint {
        &self.joints[id.index()]
    }
    /// The solid or particle of that name.
    pub fn find(&self, name: &str) -> Option<SolidId> {
        self.names.get(name).copied()
    }
    /// The joint of that name.
    pub fn find_joint(&self, name: &str) -> Option<JointId> {
        self.joints.iter().position(|j| j.name == name).map(|i| JointId(i as u32))
    }
    /// Changes whenever the topology may have changed: caches compare it.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
    /// Which solids turn: all but particles.
    pub(crate) fn places(&self) -> Places {
        Places::new(self.solids.iter().map(|s| !s.particle))
    }
    /// First slot of the joint's counted angles.
    pub fn counter(&self, id: JointId) -> usize {
        self.counters[id.index()] as usize
    }
    /// What the joint is called in the mechanism that this one is a part of: rows keep their identity there.
    pub(crate) fn outer_joint(&self, id: JointId) -> u32 {
        self.outer_joints.get(id.index()).copied().unwrap_or(id.0)
    }
    /// The same for a spring.
    pub(crate) fn outer_spring(&self, k: u32) -> u32 {
        self.outer_springs.get(k as usize).copied().unwrap_or(k)
    }
    /// How many counted angles the state remembers.
    pub fn counter_count(&self) -> usize {
        self.counter_count as usize
    }
    /// Solids and particles without the world.
    pub fn solid_count(&self) -> usize {
        self.solids.len() - 1
    }
    /// Scalar freedoms before any constraint.
    pub fn freedoms(&self) -> usize {
        self.solids.iter().map(Solid::freedoms).sum()
    }
    /// Scalar equalities of all joints (joints between two fixed solids count nothing).
    pub fn scalar_constraints(&self) -> usize {
        self.joints.iter().filter(|j| !self.is_inert(j)).map(Joint::equalities).sum()
    }
    /// Neither side can move.
    pub fn is_inert(&self, joint: &Joint) -> bool {
        joint.frames.iter().all(|f| self.solids[f.solid.index()].is_fixed())
    }
    /// The joint's name, or the names of its solids when it has none.
    pub fn joint_name(&self, id: JointId) -> String {
        let joint = &self.joints[id.index()];
        if joint.name.is_empty() {
            let [a, b] = joint.frames.map(|f| self.solids[f.solid.index()].name.as_str());
            format!("{a}–{b} (constraint {})", id.0 + 1)
        } else {
            joint.name.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::Frame;

    #[test]
    fn refuses_what_cannot_be() {
        let mut m = Mechanism::new();
        let a = m.add_solid(Solid::new("a")).unwrap();
        assert!(m.add_solid(Solid::new("a")).unwrap_err().0.contains("taken"));
        assert!(m.add_solid(Solid::new("b").at(f64::NAN, 0.0, 0.0)).is_err());
        let mut heavy = Solid::new("c");
        heavy.mass.mass = -1.0;
        assert!(m.add_solid(heavy).unwrap_err().0.contains("mass"));
        let f = Frame::point(a, Vector::ZERO);
        assert!(m.add_joint(Joint::ball(f, f)).unwrap_err().0.contains("itself"));
        assert!(m.add_joint(Joint::ball(f, Frame::point(SolidId(9), Vector::ZERO))).is_err());
        assert!(m.add_joint(Joint::screw(f, Frame::point(SolidId::WORLD, Vector::ZERO), 0.0)).is_err());
    }
}
