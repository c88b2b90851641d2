//! Beside a peer in the same run: rapier's impulse joints on the same ladders, gaps measured by the same code.

use crate::scenes::{DT, GRAVITY, Scene};
use crate::table::{Table, int, ms, none, number, sci, text};
use linkwork::math::exp;
use linkwork::rows::{Masses, Rows};
use linkwork::solve::{LinearSolver, Problem, SolverKind, Work};
use linkwork::{SolidId, State, Vector};
use rapier3d_f64::prelude::{
    MassProperties, PhysicsWorld, RigidBodyBuilder, RigidBodyHandle, SphericalJointBuilder,
};
use std::time::Instant;

/// Frames: one second.
const STEPS: usize = 60;
/// How much more than our correction a setting may cost.
const FACTOR: f64 = 200.0;

/// What decides rapier's accuracy.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Setting {
    /// `num_solver_iterations`: small steps within one.
    substeps: usize,
    /// `num_internal_pgs_iterations`: sweeps over the joints in each.
    sweeps: usize,
    /// `num_internal_stabilization_iterations`: sweeps that correct velocities only.
    relax: usize,
}

/// The peer's defaults.
const DEFAULT: Setting = Setting { substeps: 4, sweeps: 1, relax: 1 };

/// A scene in rapier: no colliders, masses and inertias as in Linkwork, nothing sleeps, no cap on rotations.
struct Peer {
    world: PhysicsWorld,
    bodies: Vec<RigidBodyHandle>,
}

impl Peer {
    fn new(scene: &Scene, setting: Setting) -> Self {
        let mut world = PhysicsWorld::new();
        world.gravity = Vector::new(0.0, -GRAVITY, 0.0);
        let p = &mut world.integration_parameters;
        p.dt = DT;
        p.num_solver_iterations = setting.substeps;
        p.num_internal_pgs_iterations = setting.sweeps;
        p.num_internal_stabilization_iterations = setting.relax;
        let bodies: Vec<RigidBodyHandle> = (scene.m.solids().iter().enumerate())
            .map(|(i, solid)| {
                let builder = if i == 0 || solid.is_fixed() {
                    RigidBodyBuilder::fixed()
                } else {
                    let mass = &solid.mass;
                    RigidBodyBuilder::dynamic()
                        .can_sleep(false)
                        .allow_fast_rotation(true)
                        .additional_mass_properties(MassProperties::with_inertia_matrix(
                            mass.center,
                            mass.mass,
                            mass.inertia,
                        ))
                };
                world.insert_body(builder.pose(scene.state.pose(&scene.m, SolidId(i as u32))))
            })
            .collect();
        for j in scene.m.joints() {
            let [a, b] = j.frames.map(|f| f.pose.translation);
            let [first, second] = j.frames.map(|f| bodies[f.solid.index()]);
            let joint =
                SphericalJointBuilder::new().local_anchor1(a).local_anchor2(b).contacts_enabled(false);
            world.insert_impulse_joint(first, second, joint);
        }
        Self { world, bodies }
    }

    /// Poses and velocities now.
    fn state(&self, scene: &Scene) -> State {
        let mut s = scene.state.clone();
        for (i, handle) in self.bodies.iter().enumerate() {
            let body = &self.world.bodies[*handle];
            s.set_pose(&scene.m, SolidId(i as u32), *body.position());
            s.velocities[i] = body.linvel();
            s.spins[i] = body.angvel();
        }
        s
    }
}

/// Largest distance between the two anchor points of a joint.
pub fn gap(scene: &Scene, state: &State) -> f64 {
    let mut worst = 0.0;
    for j in scene.m.joints() {
        let [a, b] = j.frames.map(|f| state.pose(&scene.m, f.solid).transform_point(f.pose.translation));
        let d = (a - b).length();
        // A gap that is not a number is the largest of all.
        if !(d <= worst) {
            worst = d;
        }
    }
    worst
}

/// One run of a second.
struct Run {
    /// Of the fastest step: all do the same work.
    seconds: f64,
    /// Largest at the end of any step.
    gap: f64,
}

/// Runs the peer; `each` sees every state a step starts from.
fn simulate(scene: &Scene, setting: Setting, mut each: impl FnMut(State)) -> Run {
    let mut peer = Peer::new(scene, setting);
    let mut run = Run { seconds: f64::INFINITY, gap: 0.0 };
    for _ in 0..STEPS {
        each(peer.state(scene));
        let t = Instant::now();
        peer.world.step();
        run.seconds = run.seconds.min(t.elapsed().as_secs_f64());
        let gap = gap(scene, &peer.state(scene));
        // A gap that is not a number is the largest of all.
        if !(gap <= run.gap) {
            run.gap = gap;
        }
    }
    run
}

/// A correction: rows, factor, solve, displace.
struct Corrector<'a> {
    scene: &'a Scene,
    solver: Box<dyn LinearSolver>,
    rows: Rows,
    masses: Masses,
    b: Vec<f64>,
    lambda: Vec<f64>,
    dq: Vec<[f64; 6]>,
}

impl Corrector<'_> {
    fn correct(&mut self, state: &mut State) {
        let scene = self.scene;
        self.masses.update(&scene.m, state);
        self.rows.fill(&scene.m, state, scene.joints(), |j| scene.graph.default_rank(j));
        let n = self.rows.len();
        self.b.clear();
        self.b.extend((0..n).map(|r| self.rows.wanted(r)));
        self.lambda.clear();
        self.lambda.resize(n, 0.0);
        let (rows, masses) = (&self.rows, &self.masses);
        self.solver.factor(&Problem { rows, masses, active: &[], damping: None });
        self.solver.solve(&self.b, &mut self.lambda, &Work::default());
        self.dq.clear();
        self.dq.resize(masses.len(), [0.0; 6]);
        self.rows.apply_transposed(&self.lambda, masses, &mut self.dq);
        for (i, dq) in self.dq.iter().enumerate().skip(1) {
            state.displace(i, dq);
        }
    }
}

/// Where a frame of free motion leads: what the joints have to correct.
fn predict(scene: &Scene, mut s: State) -> State {
    for (i, solid) in scene.m.solids().iter().enumerate().skip(1).filter(|(_, s)| !s.is_fixed()) {
        debug_assert!(solid.mass.mass > 0.0);
        let v = s.velocities[i] - Vector::new(0.0, GRAVITY * DT, 0.0);
        s.centers[i] += v * DT;
        s.rotations[i] = (exp(s.spins[i] * DT) * s.rotations[i]).normalize();
    }
    s
}

/// Our side at the peer's poses: seconds of one correction, the predicted gap, and what one and two corrections leave.
fn ours(scene: &Scene, states: &[State]) -> (f64, [f64; 3]) {
    let mut c = Corrector {
        scene,
        solver: SolverKind::Auto.make(),
        rows: Rows::default(),
        masses: Masses::default(),
        b: Vec::new(),
        lambda: Vec::new(),
        dq: Vec::new(),
    };
    let (mut seconds, mut gaps) = (f64::INFINITY, [0.0_f64; 3]);
    for (i, start) in states.iter().enumerate() {
        let predicted = predict(scene, start.clone());
        let mut s = predicted.clone();
        gaps[0] = gaps[0].max(gap(scene, &s));
        for k in 1..3 {
            let t = Instant::now();
            c.correct(&mut s);
            // The first one analyses the topology.
            if i > 0 {
                seconds = seconds.min(t.elapsed().as_secs_f64());
            }
            gaps[k] = gaps[k].max(gap(scene, &s));
        }
    }
    (seconds, gaps)
}

/// The tables.
pub fn run() -> Vec<Table> {
    let mut t = Table::new(
        "Ladders falling for one second, 60 steps of 1/60 s, one thread, no colliders. rapier3d-f64 0.36.1: whole steps, \
         impulse spherical joints at their default (greatest) stiffness; `substeps` = num_solver_iterations, `sweeps` = \
         num_internal_pgs_iterations, `relax` = num_internal_stabilization_iterations. Of all combinations of \
         4, 16, 64, ... substeps, 1, 4 or 16 sweeps and 1 or 4 relaxations up to about 200 times our cost: the defaults, \
         then each one that improves the gap over all faster ones. Linkwork has no stepping yet: its lines are the joint \
         solve only (rows + factor + solve + displace), NOT a whole step, started from free motion out of the states that \
         rapier's most accurate run reaches. Times are of the fastest of the 60; the gap is the largest distance between \
         the two anchor points of a joint at the end of any step.",
        &[
            "ladder",
            "heavy",
            "what",
            "substeps",
            "sweeps",
            "relax",
            "ms",
            "times one correction",
            "largest gap",
        ],
    );
    for (bars, patterns) in [(12, 1), (12, 4), (1, 48), (1, 96), (6, 96)] {
        for heavy in [1.0, 3.0] {
            let scene = Scene::ladder(bars, patterns, heavy);
            lines(&mut t, &scene);
        }
    }
    vec![t]
}

fn lines(t: &mut Table, scene: &Scene) {
    let mut start = Vec::new();
    simulate(scene, DEFAULT, |s| start.push(s));
    let (mut one, _) = ours(scene, &start);
    let mut runs: Vec<(Setting, Run)> = Vec::new();
    let mut best: (f64, Vec<State>) = (f64::INFINITY, start);
    for relax in [1, 4] {
        for sweeps in [1, 4, 16] {
            for substeps in (1..).map(|k| 1 << (2 * k)) {
                let mut states = Vec::new();
                let setting = Setting { substeps, sweeps, relax };
                let run = simulate(scene, setting, |s| states.push(s));
                if run.gap < best.0 {
                    best = (run.gap, states);
                }
                let seconds = run.seconds;
                runs.push((setting, run));
                // The next is four times as long.
                if 2.0 * seconds > FACTOR * one {
                    break;
                }
            }
        }
    }
    let (seconds, gaps) = ours(scene, &best.1);
    one = one.min(seconds);
    let head = |what: &str| vec![text(&*scene.name), number(scene.heavy), text(what)];
    for (k, what) in ["free motion", "linkwork, 1 correction", "linkwork, 2 corrections"].iter().enumerate() {
        let mut row = head(what);
        row.extend([none(), none(), none()]);
        row.push(if k == 0 { none() } else { ms(k as f64 * one) });
        row.push(if k == 0 { none() } else { number(k as f64) });
        row.push(sci(gaps[k]));
        t.push(row);
    }
    runs.sort_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
    let mut least = f64::INFINITY;
    for (s, run) in &runs {
        let ahead = run.gap < 0.9 * least;
        least = least.min(run.gap);
        if !ahead && *s != DEFAULT {
            continue;
        }
        let mut row = head(if *s == DEFAULT { "rapier, defaults" } else { "rapier" });
        row.extend([int(s.substeps), int(s.sweeps), int(s.relax)]);
        row.extend([ms(run.seconds), number(run.seconds / one), sci(run.gap)]);
        t.push(row);
    }
}
