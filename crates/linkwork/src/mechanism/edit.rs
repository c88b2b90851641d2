//! How a mechanism grows and changes: what is checked on the way in, so that nothing behind it has to ask again.

use super::{MOST_ROWS, MaterialId, Mechanism, ModelError, TrajectoryId, next_epoch};
use crate::force::{Air, Force, Interval, Spring};
use crate::joint::{Joint, JointId};
use crate::material::Material;
use crate::solid::{Kernel, Solid, SolidId};
use crate::trajectory::Trajectory;

impl Mechanism {
    /// What speaks against a solid, but for its name.
    pub(super) fn check_solid(&self, solid: &Solid) -> Result<(), ModelError> {
        let fail = |what: String| Err(ModelError(format!("solid `{}`: {what}", solid.name)));
        let physical = solid.kernel == Kernel::Dynamic && solid.mobility.is_none();
        if let Some(complaint) = solid.mass.complaint().filter(|_| physical) {
            return fail(complaint);
        }
        if let Some(m) = solid.mobility
            && !(m.translate >= 0.0 && m.rotate >= 0.0 && m.translate.is_finite() && m.rotate.is_finite())
        {
            return fail(format!(
                "mobility {} {} is not a pair of finite numbers >= 0",
                m.translate, m.rotate
            ));
        }
        if !(solid.pose.is_finite() && solid.velocity.is_finite() && solid.spin.is_finite()) {
            return fail("pose or velocity is not finite".into());
        }
        if !(0.5..2.0).contains(&solid.pose.rotation.length()) {
            return fail("orientation is not a rotation".into());
        }
        if let Kernel::Scripted(t) = solid.kernel
            && t.0 as usize >= self.trajectories.len()
        {
            return fail("follows a trajectory that does not exist".into());
        }
        Ok(())
    }

    /// What speaks against a joint.
    pub(super) fn check_joint(&self, joint: &Joint) -> Result<(), ModelError> {
        let fail = |what: String| Err(ModelError(format!("joint `{}`: {what}", joint.name)));
        for frame in &joint.frames {
            if frame.solid.index() >= self.solids.len() {
                return fail(format!("solid {} does not exist", frame.solid.0));
            }
            if !frame.pose.is_finite() {
                return fail("a frame is not finite".into());
            }
        }
        if joint.frames[0].solid == joint.frames[1].solid {
            return fail(format!("joins `{}` to itself", self.solids[joint.frames[0].solid.index()].name));
        }
        for l in &joint.limits {
            if !l.range.is_valid() {
                return fail(format!("limit {} is empty", l.direction.word()));
            }
            if !(0.0..=1.0).contains(&l.restitution) {
                return fail(format!(
                    "the restitution of limit {} is not within 0 and 1",
                    l.direction.word()
                ));
            }
        }
        let ok = |x: f64| x.is_finite() && x >= 0.0;
        if !(ok(joint.weight) && ok(joint.compliance) && ok(joint.damping)) {
            return fail("weight, compliance and damping must be finite and >= 0".into());
        }
        if !(joint.most_force > 0.0) {
            return fail("the largest force must be positive".into());
        }
        if joint.screw.is_some_and(|p| !p.is_finite() || p == 0.0) || joint.distance.is_some_and(|d| !ok(d)) {
            return fail("pitch or length is not usable".into());
        }
        if crate::rows::row_count(joint) > MOST_ROWS {
            return fail(format!("asks for more than {MOST_ROWS} scalar conditions"));
        }
        Ok(())
    }

    fn check_solids(&self, who: &str, solids: &[SolidId]) -> Result<(), ModelError> {
        match solids.iter().find(|s| s.index() >= self.solids.len()) {
            Some(s) => Err(ModelError(format!("{who}: solid {} does not exist", s.0))),
            None => Ok(()),
        }
    }

    /// Adds a surface. Refuses numbers that no surface has.
    pub fn add_material(&mut self, material: Material) -> Result<MaterialId, ModelError> {
        check_material(&material)?;
        self.materials.push(material);
        self.epoch = next_epoch();
        Ok(MaterialId(self.materials.len() as u32 - 1))
    }

    /// Adds a given motion. Refuses keys that are not finite or not in the order of time.
    pub fn add_trajectory(&mut self, trajectory: Trajectory) -> Result<TrajectoryId, ModelError> {
        check_trajectory(&trajectory)?;
        self.trajectories.push(trajectory);
        self.epoch = next_epoch();
        Ok(TrajectoryId(self.trajectories.len() as u32 - 1))
    }

    /// Adds a force. Refuses a solid that does not exist, and numbers that are not finite.
    pub fn add_force(&mut self, force: Force) -> Result<(), ModelError> {
        let who = format!("force `{}`", force.name);
        self.check_solids(&who, &[force.solid])?;
        let finite =
            force.value.is_finite() && force.torque.is_finite() && force.at.is_none_or(|p| p.is_finite());
        if !(finite && is_interval(force.during)) {
            return Err(ModelError(format!("{who}: it is not finite")));
        }
        self.forces.push(force);
        self.epoch = next_epoch();
        Ok(())
    }

    /// Adds a spring. Refuses solids that do not exist, and numbers that no spring has.
    pub fn add_spring(&mut self, spring: Spring) -> Result<(), ModelError> {
        let who = format!("spring `{}`", spring.name);
        self.check_solids(&who, &spring.solids)?;
        let ok = |x: f64| x.is_finite() && x >= 0.0;
        let numbers = ok(spring.length) && ok(spring.stiffness) && ok(spring.damping);
        if !(numbers && spring.points.iter().all(|p| p.is_finite()) && is_interval(spring.during)) {
            return Err(ModelError(format!("{who}: length, stiffness and damping must be finite and >= 0")));
        }
        self.springs.push(spring);
        self.epoch = next_epoch();
        Ok(())
    }

    /// These two never touch.
    pub fn ignore(&mut self, pair: [SolidId; 2]) -> Result<(), ModelError> {
        self.check_solids("ignore", &pair)?;
        self.ignores.push(pair);
        self.epoch = next_epoch();
        Ok(())
    }

    /// Changes one joint; `f` may switch it, move its frames or give it a rank, but not change how many angles it counts:
    /// states remember those. What [`Mechanism::add_joint`] would refuse is refused, and nothing changes then.
    pub fn edit_joint(&mut self, id: JointId, f: impl FnOnce(&mut Joint)) -> Result<(), ModelError> {
        let Some(mut joint) = self.joints.get(id.index()).cloned() else {
            return Err(ModelError(format!("joint {} does not exist", id.0)));
        };
        let before = joint.counted_ranges().count();
        f(&mut joint);
        self.check_joint(&joint)?;
        if joint.counted_ranges().count() != before {
            return Err(ModelError(format!("joint `{}`: an edit cannot change what it counts", joint.name)));
        }
        self.joints[id.index()] = joint;
        self.epoch = next_epoch();
        Ok(())
    }

    /// Changes the initial pose, shapes and mass data of a solid; its name stays. What [`Mechanism::add_solid`] would refuse
    /// is refused, and nothing changes then. The world stays fixed.
    pub fn edit_solid(&mut self, id: SolidId, f: impl FnOnce(&mut Solid)) -> Result<(), ModelError> {
        let Some(mut solid) = self.solids.get(id.index()).cloned() else {
            return Err(ModelError(format!("solid {} does not exist", id.0)));
        };
        let (name, particle) = (solid.name.clone(), solid.particle);
        f(&mut solid);
        solid.name = name;
        self.check_solid(&solid)?;
        if solid.particle != particle || (id == SolidId::WORLD && !solid.is_fixed()) {
            let what = "an edit cannot change how many freedoms its node has";
            return Err(ModelError(format!("solid `{}`: {what}", solid.name)));
        }
        self.solids[id.index()] = solid;
        self.epoch = next_epoch();
        Ok(())
    }

    /// Changes a surface. What [`Mechanism::add_material`] would refuse is refused, and nothing changes then.
    pub fn edit_material(&mut self, id: MaterialId, f: impl FnOnce(&mut Material)) -> Result<(), ModelError> {
        let Some(mut material) = self.materials.get(id.0 as usize).cloned() else {
            return Err(ModelError(format!("material {} does not exist", id.0)));
        };
        f(&mut material);
        check_material(&material)?;
        self.materials[id.0 as usize] = material;
        self.epoch = next_epoch();
        Ok(())
    }

    /// Changes a given motion. What [`Mechanism::add_trajectory`] would refuse is refused, and nothing changes then.
    pub fn edit_trajectory(
        &mut self,
        id: TrajectoryId,
        f: impl FnOnce(&mut Trajectory),
    ) -> Result<(), ModelError> {
        let Some(mut trajectory) = self.trajectories.get(id.0 as usize).cloned() else {
            return Err(ModelError(format!("trajectory {} does not exist", id.0)));
        };
        f(&mut trajectory);
        check_trajectory(&trajectory)?;
        self.trajectories[id.0 as usize] = trajectory;
        self.epoch = next_epoch();
        Ok(())
    }

    /// [`Mechanism::edit_joint`] for what cannot be refused: the session's own switches.
    pub(crate) fn alter_joint(&mut self, id: JointId, f: impl FnOnce(&mut Joint)) {
        if let Some(joint) = self.joints.get_mut(id.index()) {
            f(joint);
            self.epoch = next_epoch();
        }
    }

    /// The air around soft bodies; none: a vacuum.
    pub fn air(&self) -> Option<&Air> {
        self.air.as_ref()
    }

    /// Puts the mechanism into air, or into a vacuum.
    pub fn set_air(&mut self, air: Option<Air>) -> Result<(), ModelError> {
        if let Some(Air { wind, density }) = air
            && !(wind.length() <= Air::MOST && density > 0.0 && density <= Air::MOST)
        {
            return Err(ModelError("air: its speed and its density must be numbers up to 10000".into()));
        }
        self.air = air;
        self.epoch = next_epoch();
        Ok(())
    }

    /// The air of another one, which was checked there.
    pub(crate) fn copy_air(&mut self, other: &Mechanism) {
        self.air = other.air;
        self.epoch = next_epoch();
    }

    /// Caches that know it start over.
    pub(crate) fn renew(&mut self) {
        self.epoch = next_epoch();
    }

    /// [`Mechanism::edit_solid`] for what cannot be refused.
    pub(crate) fn alter_solid(&mut self, id: SolidId, f: impl FnOnce(&mut Solid)) {
        if let Some(solid) = self.solids.get_mut(id.index()) {
            f(solid);
            self.epoch = next_epoch();
        }
    }

    /// Joints and springs whose time falls between two steps of that length, so that no step ever sees them, and forces that
    /// last for no time at all: what they are called, from when to when. Forces that are shorter than a step act as long as
    /// they last.
    pub fn between_steps(&self, step: f64) -> Vec<(String, Interval)> {
        let joints = self.joints.iter().enumerate().filter_map(|(k, j)| {
            let (from, to) = j.during?;
            Some((self.joint_name(JointId(k as u32)), Interval { from, to }))
        });
        let springs = self.springs.iter().filter_map(|s| Some((s.name.clone(), s.during?)));
        let forces = self.forces.iter().filter_map(|f| Some((f.name.clone(), f.during?)));
        let unseen = joints.chain(springs).filter(|(_, during)| during.is_between(step));
        unseen.chain(forces.filter(|(_, during)| during.from == during.to)).collect()
    }
}

fn is_interval(during: Option<Interval>) -> bool {
    during.is_none_or(|d| d.from <= d.to)
}

fn check_material(material: &Material) -> Result<(), ModelError> {
    let ok = |x: f64| x.is_finite() && x >= 0.0;
    let coat = material.stiffness.is_none_or(ok);
    let levers = ok(material.rolling) && ok(material.spinning);
    if !(ok(material.friction) && ok(material.restitution) && ok(material.damping) && coat && levers) {
        let what = "friction, restitution, stiffness, damping, rolling and spinning must be finite and >= 0";
        return Err(ModelError(format!("material `{}`: {what}", material.name)));
    }
    Ok(())
}

fn check_trajectory(trajectory: &Trajectory) -> Result<(), ModelError> {
    let finite = trajectory
        .keys
        .iter()
        .all(|k| k.time.is_finite() && k.position.is_finite() && (0.5..2.0).contains(&k.rotation.length()));
    if !(finite && trajectory.keys.is_sorted_by(|a, b| a.time < b.time)) {
        let what = "keys must be finite, with increasing times";
        return Err(ModelError(format!("trajectory `{}`: {what}", trajectory.name)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::Frame;
    use crate::math::{Rotation, Vector};
    use crate::trajectory::Key;
    use crate::{State, StepConfig, Workspace, step};

    const NOBODY: SolidId = SolidId(99);

    fn two() -> (Mechanism, SolidId, JointId) {
        let mut m = Mechanism::new();
        let a = m.add_solid(Solid::new("a")).unwrap();
        let held = Joint::ball(Frame::point(SolidId::WORLD, Vector::ZERO), Frame::point(a, Vector::X));
        let j = m.add_joint(held).unwrap();
        (m, a, j)
    }

    fn spring(solids: [SolidId; 2]) -> Spring {
        let points = [Vector::ZERO; 2];
        Spring { name: "s".into(), solids, points, length: 1.0, stiffness: 10.0, damping: 0.0, during: None }
    }

    fn force(solid: SolidId, value: Vector) -> Force {
        let torque = Vector::ZERO;
        Force { name: "f".into(), solid, at: None, value, torque, follows_solid: false, during: None }
    }

    /// F14: the lists were public, and what pointed to nothing panicked in the next step.
    #[test]
    fn what_points_to_nothing_is_refused() {
        let (mut m, a, _) = two();
        assert!(m.add_spring(spring([a, NOBODY])).unwrap_err().0.contains("solid 99 does not exist"));
        assert!(m.add_force(force(NOBODY, Vector::X)).unwrap_err().0.contains("does not exist"));
        assert!(m.ignore([a, NOBODY]).unwrap_err().0.contains("does not exist"));
        assert!(m.add_force(force(a, Vector::X * f64::NAN)).is_err());
        assert!(m.add_spring(Spring { stiffness: -1.0, ..spring([a, SolidId::WORLD]) }).is_err());
        assert!(m.add_material(Material { friction: f64::NAN, ..Material::default() }).is_err());
        let key = |time| Key { time, position: Vector::ZERO, rotation: Rotation::IDENTITY };
        let back = Trajectory { name: "t".into(), keys: vec![key(1.0), key(0.0)], looped: true };
        assert!(m.add_trajectory(back).unwrap_err().0.contains("increasing times"));
        assert!(m.springs().is_empty() && m.forces().is_empty() && m.ignores().is_empty());
        assert!(m.materials().is_empty() && m.trajectories().is_empty());
    }

    /// F14: edits went past the checks; ids of another mechanism panicked.
    #[test]
    fn edits_are_checked_like_what_is_added() {
        let (mut m, a, j) = two();
        let before = format!("{m:?}");
        assert!(m.edit_joint(JointId(7), |_| {}).unwrap_err().0.contains("joint 7 does not exist"));
        assert!(m.edit_solid(NOBODY, |_| {}).unwrap_err().0.contains("solid 99 does not exist"));
        assert!(m.edit_trajectory(TrajectoryId(0), |_| {}).is_err());
        assert!(m.edit_joint(j, |j| j.frames[0].solid = NOBODY).is_err());
        assert!(m.edit_joint(j, |j| j.frames[0].solid = j.frames[1].solid).is_err());
        assert!(m.edit_joint(j, |j| j.weight = f64::NAN).is_err());
        assert!(m.edit_solid(a, |s| s.mass.mass = -1.0).is_err());
        assert!(m.edit_solid(a, |s| s.kernel = Kernel::Scripted(TrajectoryId(3))).is_err());
        assert!(m.edit_solid(a, |s| s.particle = true).is_err());
        assert!(m.edit_solid(SolidId::WORLD, |s| s.kernel = Kernel::Dynamic).is_err());
        assert_eq!(format!("{m:?}"), before, "a refused edit changes nothing");
    }

    /// What was kept from earlier steps must notice what is added between two of them.
    #[test]
    fn what_is_added_on_the_way_acts() {
        let (mut m, a, _) = two();
        m.gravity = Vector::ZERO;
        let (mut s, mut w, c) = (State::new(&m), Workspace::new(), StepConfig::default());
        step(&m, &mut s, &mut w, &c);
        assert_eq!(s.velocities[a.index()].y, 0.0);
        m.add_force(force(a, Vector::Y)).unwrap();
        step(&m, &mut s, &mut w, &c);
        assert!(s.velocities[a.index()].y > 0.0, "{:?}", s.velocities);
    }

    /// F28: what lasts less than a step may never act, and nobody was told.
    #[test]
    fn what_falls_between_two_steps_is_known() {
        let (mut m, a, j) = two();
        m.edit_joint(j, |j| j.during = Some((0.5001, 0.5002))).unwrap();
        m.add_force(Force { during: Some(Interval { from: 0.49, to: 0.51 }), ..force(a, Vector::X) })
            .unwrap();
        let names =
            |m: &Mechanism, step| m.between_steps(step).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(&m, 1.0 / 60.0), [m.joint_name(j)]);
        assert_eq!(names(&m, 0.0001), [""; 0]);
        // A force acts as long as it lasts.
        assert_eq!(names(&m, 0.3), [m.joint_name(j)]);
        m.add_force(Force { during: Some(Interval { from: 0.5, to: 0.5 }), ..force(a, Vector::X) }).unwrap();
        assert_eq!(names(&m, 0.3), [m.joint_name(j), "f".to_owned()]);
        // On the very end of a step it is seen.
        m.edit_joint(j, |j| j.during = Some((0.5, 0.5002))).unwrap();
        assert_eq!(names(&m, 1.0 / 60.0), ["f"]);
    }
}
