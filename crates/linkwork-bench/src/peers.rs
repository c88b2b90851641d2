//! Beside peers in the same run: whole steps of rapier and, where a Python with it is named, of MuJoCo, on the same ladders;
//! gaps and energies measured alike.

use crate::scenes::{DT, GRAVITY, Scene};
use crate::steps::{Judge, LADDERS, STEPS, least_of_runs, swing};
use crate::table::{Cell, Table, ms, number, sci, text};
use linkwork::{SolidId, State, StepConfig, Vector};
use rapier3d_f64::prelude::{
    MassProperties, PhysicsWorld, RigidBodyBuilder, RigidBodyHandle, SphericalJointBuilder,
};
use std::process::Command;
use std::time::Instant;

/// How much more than our step a setting may cost.
const FACTOR: f64 = 400.0;

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

/// One run of a peer.
struct Run {
    /// What it is and how it is set.
    what: String,
    /// Median step.
    seconds: f64,
    /// Largest at the end of any step.
    gap: f64,
    /// Largest energy error by the largest kinetic energy.
    energy: f64,
}

/// Runs rapier.
fn rapier(scene: &Scene, setting: Setting) -> Run {
    let mut judge = Judge::new(scene, &Peer::new(scene, setting).state(scene));
    let mut seconds = least_of_runs(|first, seconds| {
        let mut peer = Peer::new(scene, setting);
        for _ in 0..STEPS {
            let t = Instant::now();
            peer.world.step();
            seconds.push(t.elapsed().as_secs_f64());
            if first {
                judge.see(scene, &peer.state(scene));
            }
        }
    });
    seconds.sort_by(f64::total_cmp);
    let Setting { substeps, sweeps, relax } = setting;
    let mark = if setting == DEFAULT { ", defaults" } else { "" };
    Run {
        what: format!("rapier, {substeps} substeps, {sweeps} sweeps, {relax} relaxations{mark}"),
        seconds: seconds[STEPS / 2],
        gap: judge.gap,
        energy: judge.energy(),
    }
}

/// Runs MuJoCo by the Python that `LINKWORK_MUJOCO_PYTHON` names: every setting it knows, or nothing.
fn mujoco(bars: usize, patterns: usize, heavy: f64) -> Vec<Run> {
    let Ok(python) = std::env::var("LINKWORK_MUJOCO_PYTHON") else { return Vec::new() };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/mujoco_ladders.py");
    let args = [bars.to_string(), patterns.to_string(), heavy.to_string(), STEPS.to_string(), DT.to_string()];
    let output = match Command::new(&python).arg(script).args(args).output() {
        Ok(output) if output.status.success() => output,
        Ok(output) => {
            eprintln!("MuJoCo: {}", String::from_utf8_lossy(&output.stderr));
            return Vec::new();
        }
        Err(e) => {
            eprintln!("MuJoCo: cannot run {python}: {e}");
            return Vec::new();
        }
    };
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let parsed = lines.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    let number = |v: &serde_json::Value, key: &str| v[key].as_f64().unwrap_or(f64::NAN);
    parsed
        .map(|v| Run {
            what: format!(
                "MuJoCo {}, {}, {} a frame",
                v["version"].as_str().unwrap_or("?"),
                v["integrator"].as_str().unwrap_or("?"),
                v["pieces"]
            ),
            seconds: number(&v, "seconds"),
            gap: number(&v, "gap"),
            energy: number(&v, "energy"),
        })
        .collect()
}

/// The tables.
pub fn run() -> Vec<Table> {
    let mut t = Table::new(
        "Whole steps beside peers: ladders swinging for two seconds, 120 steps of 1/60 s from a straight start, one thread, \
         no colliders, same masses and inertias. Times are medians over the frames, of each frame the fastest of up to three runs. rapier3d-f64 0.36.1: impulse spherical joints at their \
         greatest stiffness, of all combinations of 4, 16, 64, ... substeps, 1 or 4 sweeps and 1 or 4 relaxations: its \
         defaults, and each one that improves the gap over all faster ones. MuJoCo (with `make bench-peers`): free bodies, \
         `connect` for every joint, sparse Newton, every integrator with 1, 2 and 4 steps a frame; each one that improves \
         the gap over all faster ones and did not blow up. Gap: largest distance between the two anchors of a joint after any step; \
         energy error: largest |E(t) - E(0)| by the largest kinetic energy.",
        &["ladder", "heavy", "what", "ms", "times ours", "largest gap", "energy error"],
    );
    for (bars, patterns) in LADDERS {
        for heavy in [1.0, 3.0] {
            lines(&mut t, bars, patterns, heavy);
        }
    }
    vec![t]
}

/// Those that leave a smaller gap than all faster ones, and did not blow up.
fn improving(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let mut least = 1.0;
    runs.retain(|run| {
        let ahead = run.gap < 0.9 * least;
        least = f64::min(least, run.gap);
        ahead
    });
    runs
}

fn lines(t: &mut Table, bars: usize, patterns: usize, heavy: f64) {
    let scene = Scene::ladder(bars, patterns, heavy);
    let mut ours = Vec::new();
    for tolerance in [1e-4, 1e-6, 1e-9] {
        let s = swing(&scene, &StepConfig { dt: DT, tolerance, ..Default::default() }, 1);
        let what = format!("linkwork, variational, tolerance {tolerance:.0e}");
        ours.push(Run { what, seconds: s.median(), gap: s.gap, energy: s.energy });
    }
    let base = ours[0].seconds;
    let mut runs = Vec::new();
    for relax in [1, 4] {
        for sweeps in [1, 4] {
            for substeps in (1..).map(|k| 1 << (2 * k)) {
                let setting = Setting { substeps, sweeps, relax };
                let run = rapier(&scene, setting);
                let seconds = run.seconds;
                runs.push((setting == DEFAULT, run));
                // The next is four times as long.
                if 2.0 * seconds > FACTOR * base {
                    break;
                }
            }
        }
    }
    let default = runs.iter().position(|r| r.0).unwrap_or(0);
    let default = runs.remove(default).1;
    let mut rapier = improving(runs.into_iter().map(|r| r.1).collect());
    rapier.push(default);
    rapier.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let all = ours.into_iter().chain(rapier).chain(improving(mujoco(bars, patterns, heavy)));
    for run in all {
        let head: [Cell; 3] = [text(&*scene.name), number(heavy), text(run.what)];
        let mut row: Vec<Cell> = head.into();
        row.extend([ms(run.seconds), number(run.seconds / base), sci(run.gap), sci(run.energy)]);
        t.push(row);
    }
}
