//! What a tick tells: the same for viewer, command line and tests.

use super::command::{GripMode, Mode, Policy};
use crate::scene::Parameters;
use serde::{Deserialize, Serialize};

/// Everything that can be set while running.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Kinematic or dynamic.
    pub mode: Mode,
    /// Running, not paused.
    pub running: bool,
    /// Stepping method by name.
    pub method: String,
    /// Solver by name.
    pub solver: String,
    /// Length of a step, seconds.
    pub step: f64,
    /// Largest gap that counts as met, metres and radians.
    pub tolerance: f64,
    /// Most geometric iterations per step.
    pub iterations: u32,
    /// Most iterations of an iterative solver per linear system.
    pub solver_iterations: u32,
    /// No solid turns further in one correction, radians.
    pub max_rotation: f64,
    /// What methods leave open: integrator, feedback, form of distances.
    #[serde(default, skip_serializing_if = "Parameters::is_default")]
    pub parameters: Parameters,
    /// Free fall.
    pub gravity: [f64; 3],
    /// Simulated seconds per real second.
    pub speed: f64,
    /// Milliseconds of work per tick; none: no limit.
    pub budget_ms: Option<f64>,
    /// How the work is spent.
    pub policy: Policy,
    /// Islands that have come to rest are not stepped until something wakes them.
    #[serde(default = "on")]
    pub sleep: bool,
    /// Hands stop at obstacles where no time passes, instead of passing through them.
    #[serde(default = "on")]
    pub obstacles: bool,
    /// Coulomb coefficient of all surfaces; none: what their materials say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friction: Option<f64>,
    /// Restitution of all surfaces, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounce: Option<f64>,
    /// How fast the air around soft bodies moves; none: what the scene says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wind: Option<[f64; 3]>,
}

fn on() -> bool {
    true
}

/// Parts that nothing connects, each stepped by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Islands {
    /// How many the last step had.
    pub count: u32,
    /// How many of them slept through it.
    pub asleep: u32,
}

/// The counts that a step was allowed: what the budget in milliseconds was turned into. Logged, so that a run repeats
/// without a clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Most geometric iterations.
    pub iterations: u32,
    /// Most iterations of an iterative solver per linear system.
    pub solver_iterations: u32,
    /// Gaps up to here are met.
    pub tolerance: f64,
    /// Most pieces that one step may be cut into.
    pub substeps: u32,
    /// Less than all: a hand moves.
    pub coarse: bool,
    /// Without a factorisation: passes over the rows, and hands are springs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rough: bool,
    /// How often the work may ask whether its time is up before it is: a bound on everything together, pieces and
    /// iterations of solvers included. Zero: as often as it likes.
    #[serde(default)]
    pub asks: u32,
}

/// What ended the work of a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Nothing was due.
    #[default]
    Idle,
    /// The tolerance was met.
    Tolerance,
    /// The iterations were used up; the gaps say how far it came.
    Iterations,
    /// The milliseconds: fewer iterations or fewer steps than wanted.
    Budget,
    /// The last step was rejected.
    Rejected,
}

/// What the budget allowed, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Milliseconds allowed; none: no limit.
    pub allowed_ms: Option<f64>,
    /// Milliseconds used, by the caller's clock.
    pub used_ms: f64,
    /// What ended it.
    pub limit: Limit,
    /// Less than all: a hand moves.
    pub coarse: bool,
    /// The budget did not pay for a factorisation: some passes over the rows had to do, and hands pull like springs.
    #[serde(default)]
    pub rough: bool,
    /// It was cut down to the least there is, a few passes over the rows. What it took beyond the budget cannot be saved.
    #[serde(default)]
    pub least: bool,
    /// Iterations that each step was allowed.
    pub iterations: u32,
    /// Tolerance that each step aimed for.
    pub tolerance: f64,
    /// Steps that were due.
    pub due: u32,
    /// Seconds that were never caught up, since the start.
    pub dropped: f64,
}

/// Distance and angle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// Metres.
    pub position: f64,
    /// Radians.
    pub angle: f64,
}

/// The most open constraint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstJoint {
    /// Place in the mechanism.
    pub joint: u32,
    /// Name.
    pub name: String,
    /// How far it is open.
    pub gap: Gap,
}

/// One hand that holds something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrabReport {
    /// Which hand.
    pub hand: u32,
    /// What it holds.
    pub solid: u32,
    /// How.
    pub mode: GripMode,
    /// The grabbed point, world.
    pub point: [f64; 3],
    /// Where it should be.
    pub target: [f64; 3],
    /// From the grabbed point to where it should be (for the turn: pins with a pose only).
    pub gap: Gap,
    /// Within the tolerance of the session.
    pub met: bool,
    /// Force on the solid, newtons, world. Zero where no time passes.
    pub force: [f64; 3],
    /// Largest force of a pull; a pin has the force that it takes.
    pub most_force: Option<f64>,
}

/// Energies, joules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Energies {
    /// Of motion.
    pub kinetic: f64,
    /// In the field of gravity.
    pub potential: f64,
    /// In springs and soft constraints.
    pub spring: f64,
    /// All together.
    pub total: f64,
}

/// Momenta about the origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Momenta {
    /// kg m/s.
    pub linear: [f64; 3],
    /// kg m^2/s.
    pub angular: [f64; 3],
}

/// What touches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Contacts {
    /// Points that push, those of sleepers included.
    pub points: u32,
    /// Solids that met or parted in the tick: the first hundred.
    pub events: Vec<Event>,
}

/// Two solids met or parted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// They met; otherwise they parted.
    pub begin: bool,
    /// End of the step in which it happened, simulated seconds.
    pub time: f64,
    /// When they had met.
    pub since: f64,
    /// Places in the mechanism.
    pub solids: [u32; 2],
    /// Impulse on the second one, N s: of the step in which they met, or all of it until they parted.
    pub impulse: [f64; 3],
}

/// The recorded past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Number of the oldest snapshot that is kept.
    pub first: u64,
    /// Number of the newest.
    pub last: u64,
    /// Number of the one shown; the newest unless scrubbed.
    pub shown: u64,
    /// Time of the oldest, seconds.
    pub from: f64,
    /// Time of the newest.
    pub to: f64,
    /// An older one is shown.
    pub scrubbed: bool,
}

/// What one tick did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TickReport {
    /// Simulated seconds.
    pub time: f64,
    /// Steps (or corrections, in kinematic mode) taken.
    pub steps: u32,
    /// Geometric iterations of all of them.
    pub iterations: u32,
    /// Iterations of the linear solver.
    pub solver_iterations: u32,
    /// Steps in which something had motion that neither hands nor the motion before explain, and was slowed down.
    #[serde(default)]
    pub braked: u32,
    /// Largest gaps of everything rigid, grips not counted.
    pub gaps: Gap,
    /// The most open constraint, if any is open at all.
    pub worst: Option<WorstJoint>,
    /// Every hand that holds something.
    pub grabs: Vec<GrabReport>,
    /// What it cost.
    pub receipt: Receipt,
    /// Energies, grips not counted.
    pub energy: Energies,
    /// Momenta.
    pub momentum: Momenta,
    /// Why the last step was not taken, if it was not.
    pub rejected: Option<String>,
    /// What stood still.
    #[serde(default)]
    pub islands: Islands,
    /// What touches.
    #[serde(default)]
    pub contacts: Contacts,
    /// The recorded past.
    pub timeline: Timeline,
    /// [`super::Session::hash`], sixteen hexadecimal digits.
    pub hash: String,
}
