//! The same scenes in rapier: masses, inertias, shapes and surfaces as in Linkwork, nothing sleeps.

use super::scenes::Scene;
use super::yardstick::{carried, linkages};
use crate::scenes::DT;
use linkwork::{Joint, SolidId, State, Vector};
use rapier3d_f64::prelude::{
    ActiveHooks, ColliderBuilder, GenericJointBuilder, JointAxesMask, JointAxis, MassProperties,
    PairFilterContext, PhysicsHooks, PhysicsWorld, RigidBodyBuilder, RigidBodyHandle, SharedShape,
    SolverFlags,
};

/// What decides rapier's accuracy.
#[derive(Clone, Copy)]
pub struct Setting {
    /// `num_solver_iterations`: small steps within one.
    pub substeps: usize,
    /// Joints start from the impulses of the frame before.
    pub warm: bool,
}

/// A scene in rapier.
pub struct Peer {
    world: PhysicsWorld,
    bodies: Vec<RigidBodyHandle>,
    apart: Apart,
}

/// Solids of one linkage do not touch each other, nor what carries it.
struct Apart {
    carried: Vec<[usize; 2]>,
}

/// Marks planes, which everything touches.
const FLAT: u128 = 1 << 64;

impl PhysicsHooks for Apart {
    fn filter_contact_pair(&self, c: &PairFilterContext) -> Option<SolverFlags> {
        let [a, b] = [c.collider1, c.collider2].map(|h| c.colliders[h].user_data);
        let known = |x: u128, y: u128| {
            let low = (x < FLAT && y < FLAT).then_some([x as usize, y as usize]);
            low.is_some_and(|pair| self.carried.binary_search(&pair).is_ok())
        };
        (a != b && !known(a, b) && !known(b, a)).then_some(SolverFlags::default())
    }
}

const AXES: [JointAxis; 6] =
    [JointAxis::LinX, JointAxis::LinY, JointAxis::LinZ, JointAxis::AngX, JointAxis::AngY, JointAxis::AngZ];

fn joint(j: &Joint) -> GenericJointBuilder {
    let mut locked = JointAxesMask::empty();
    for d in j.lock.iter() {
        locked |= JointAxesMask::from(AXES[d as usize]);
    }
    let mut builder = GenericJointBuilder::new(locked)
        .local_frame1(j.frames[0].pose)
        .local_frame2(j.frames[1].pose)
        .contacts_enabled(false);
    for limit in &j.limits {
        let ends = [limit.range.min, limit.range.max];
        builder = builder.limits(AXES[limit.direction as usize], ends);
    }
    builder
}

impl Peer {
    /// The scene at its start.
    pub fn new(scene: &Scene, setting: Setting) -> Self {
        let (m, state) = (&scene.m, State::new(&scene.m));
        let mut world = PhysicsWorld::new();
        world.gravity = m.gravity;
        let p = &mut world.integration_parameters;
        p.dt = DT;
        p.num_solver_iterations = setting.substeps;
        p.warmstart_joints = setting.warm;
        let linkage = linkages(m);
        let mut bodies = Vec::new();
        for (i, solid) in m.solids().iter().enumerate() {
            let builder = if i == 0 || solid.is_fixed() {
                RigidBodyBuilder::fixed()
            } else {
                let mass = &solid.mass;
                RigidBodyBuilder::dynamic()
                    .can_sleep(false)
                    .linvel(solid.velocity)
                    .angvel(solid.spin)
                    .additional_mass_properties(MassProperties::with_inertia_matrix(
                        mass.center,
                        mass.mass,
                        mass.inertia,
                    ))
            };
            let body = world.insert_body(builder.pose(state.pose(m, SolidId(i as u32))));
            for placed in &solid.shapes {
                let Ok(shape) = placed.collider() else { continue };
                let flat = if matches!(placed.shape, linkwork::Shape::Plane) { FLAT } else { 0 };
                let surface = solid.material.and_then(|k| m.materials().get(k.0 as usize));
                let (friction, restitution) = surface.map_or((0.5, 0.0), |s| (s.friction, s.restitution));
                let collider = ColliderBuilder::new(SharedShape(shape.into()))
                    .position(placed.pose * placed.collider_turn())
                    .density(0.0)
                    .friction(friction)
                    .restitution(restitution)
                    .active_hooks(ActiveHooks::FILTER_CONTACT_PAIRS)
                    .user_data(linkage[i] as u128 | flat);
                world.insert_collider(collider, Some(body));
            }
            bodies.push(body);
        }
        for j in m.joints() {
            let [first, second] = j.frames.map(|f| bodies[f.solid.index()]);
            world.insert_impulse_joint(first, second, joint(j));
        }
        Self { world, bodies, apart: Apart { carried: carried(m, &linkage) } }
    }

    /// A frame.
    pub fn step(&mut self) {
        self.world.step_with_events(&self.apart, &());
    }

    /// Forces of the scene for the next frame.
    pub fn push(&mut self, scene: &Scene, time: f64) {
        for f in scene.m.forces() {
            let body = &mut self.world.bodies[self.bodies[f.solid.index()]];
            body.reset_forces(true);
            if f.during.is_none_or(|d| d.contains(time)) {
                let pose = *body.position();
                let at = f.at.map_or(body.center_of_mass(), |at| pose.transform_point(at));
                let value: Vector = if f.follows_solid { pose.rotation * f.value } else { f.value };
                body.add_force_at_point(value, at, true);
            }
        }
    }

    /// Poses and velocities now.
    pub fn state(&self, scene: &Scene, time: f64) -> State {
        let mut s = State::new(&scene.m);
        s.time = time;
        for (i, handle) in self.bodies.iter().enumerate() {
            let body = &self.world.bodies[*handle];
            s.set_pose(&scene.m, SolidId(i as u32), *body.position());
            s.velocities[i] = body.linvel();
            s.spins[i] = body.angvel();
        }
        s
    }
}
