//! Everything a user can do, as data: what is not a command cannot be logged, and what cannot be logged cannot be
//! repeated.

use crate::scene::{Parameters, Report, Severity};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A solid or a joint, by its place in the mechanism or by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Which {
    /// Place in the mechanism: solids from 1 (0 is the world), joints from 0.
    Id(u32),
    /// Name in the scene.
    Name(String),
}

impl From<u32> for Which {
    fn from(id: u32) -> Self {
        Which::Id(id)
    }
}
impl From<&str> for Which {
    fn from(name: &str) -> Self {
        Which::Name(name.to_owned())
    }
}
impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Which::Id(id) => write!(f, "{id}"),
            Which::Name(name) => write!(f, "`{name}`"),
        }
    }
}

/// How a hand holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GripMode {
    /// The grabbed point goes where the hand is; the solid may turn.
    #[default]
    Pin,
    /// The solid follows the hand, turns included.
    PinPose,
    /// A critically damped spring, scaled by the effective mass of the grabbed point, with a limited force.
    Pull,
}

/// What moves the solids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Inverse kinematics: assembly only, no velocities, time stands still.
    Kinematic,
    /// Steps in time.
    #[default]
    Dynamic,
}

/// How much work goes into each tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Few iterations while a hand moves, all of them when it rests (Faure 1998, section 4.3).
    #[default]
    CoarseWhileDragging,
    /// All iterations always.
    AlwaysExact,
}

/// A place in the recorded past.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Past {
    /// Number of the snapshot, as [`super::Timeline`] counts them.
    Index(u64),
    /// The last snapshot at or before this time, seconds.
    Time(f64),
}

/// One thing a user does. As JSON: `{"do": "grab", "hand": 1, "solid": "bar", "point": [0, 0, 0], "mode": "pin"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Command {
    /// A hand takes hold of a solid. Nothing moves by that: the grip starts where the point is.
    Grab {
        /// Any number that names the hand or pointer.
        hand: u32,
        /// What.
        solid: Which,
        /// Where, in the solid's frame.
        point: [f64; 3],
        /// How.
        #[serde(default)]
        mode: GripMode,
        /// How the hand is turned now (w x y z): later turns are counted from here. Without it they are counted from
        /// the world's axes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rotation: Option<[f64; 4]>,
    },
    /// A hand is now here.
    Drag {
        /// Which.
        hand: u32,
        /// Where the grabbed point should be, world.
        position: [f64; 3],
        /// How the hand is turned (w x y z); without it the solid keeps the turn it was asked for last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rotation: Option<[f64; 4]>,
    },
    /// A hand lets go. Dynamic: the velocity stays.
    Release {
        /// Which.
        hand: u32,
    },
    /// Escape: lets go, and everything is where it was when this hand took hold.
    Cancel {
        /// Which.
        hand: u32,
    },
    /// Runs or pauses.
    Run {
        /// Run.
        on: bool,
    },
    /// Steps while paused; backwards through the recorded past when negative.
    Step {
        /// How many.
        count: i32,
    },
    /// Shows a moment of the recorded past, paused.
    Scrub {
        /// Which.
        to: Past,
    },
    /// Goes on from the moment shown: what came after it is forgotten. (Time that runs there shows what came after it.)
    Branch,
    /// Takes the last gesture or edit back.
    Undo,
    /// And does it again.
    Redo,
    /// Everything as the scene's text puts it, assembled, at time zero.
    Reset,
    /// Kinematic or dynamic.
    Mode {
        /// Which.
        mode: Mode,
    },
    /// Stepping method.
    Method {
        /// By name.
        name: String,
    },
    /// What the method leaves open. What is not named is as the method likes it.
    Parameters {
        /// Integrator, feedback of gaps, projection of velocities, form of distances.
        value: Parameters,
    },
    /// Linear solver.
    Solver {
        /// By name.
        name: String,
    },
    /// Largest gap that counts as met.
    Tolerance {
        /// Metres and radians.
        value: f64,
    },
    /// Length of a step.
    TimeStep {
        /// Seconds.
        seconds: f64,
    },
    /// Most geometric iterations of a step.
    Iterations {
        /// How many.
        count: u32,
    },
    /// Most iterations of an iterative solver per linear system.
    SolverIterations {
        /// How many.
        count: u32,
    },
    /// Lets islands sleep that have come to rest, or keeps them awake.
    Sleep {
        /// Let them.
        on: bool,
    },
    /// Hands stop at obstacles where no time passes, or pass through them.
    Obstacles {
        /// Stop.
        on: bool,
    },
    /// Free fall.
    Gravity {
        /// Acceleration, world.
        value: [f64; 3],
    },
    /// How rough all surfaces are. Commands of this kind in a row are one edit, which can be taken back.
    Friction {
        /// Coulomb coefficient; none: what the materials say.
        value: Option<f64>,
    },
    /// How much all surfaces throw back. In a row they are one edit, too.
    Bounce {
        /// Restitution, 0 to 1; none: what the materials say.
        value: Option<f64>,
    },
    /// Air around soft bodies. In a row they are one edit, too.
    Wind {
        /// How fast it moves, world; none: what the scene says.
        value: Option<[f64; 3]>,
    },
    /// Simulated seconds per real second.
    Speed {
        /// 1 is real time.
        factor: f64,
    },
    /// Milliseconds of work per tick.
    Budget {
        /// None: no limit.
        ms: Option<f64>,
    },
    /// How the work is spent.
    Policy {
        /// Which.
        policy: Policy,
    },
    /// Switches a constraint.
    Enable {
        /// Which.
        joint: Which,
        /// On.
        on: bool,
    },
    /// A new text of the scene. Solids whose names and declared poses survive stay where they are. A text with errors
    /// changes nothing.
    SetText {
        /// The text.
        text: String,
    },
    /// A new text that goes on with the edit or gesture before it: one undo takes both back. For a slider on its way, and
    /// for a drag that ends up in the text.
    Amend {
        /// The text.
        text: String,
    },
    /// A new joint, written into the text.
    AddConstraint {
        /// `ball`, `pin`, … as in the scene language.
        kind: String,
        /// First solid; `world` or 0 for the world.
        solid1: Which,
        /// Second solid.
        solid2: Which,
        /// Where the joint is on the first solid, in world coordinates as things stand now.
        point: [f64; 3],
        /// The point of the second solid, world; the same place without it. A different one will be pulled there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        point2: Option<[f64; 3]>,
        /// Main axis, world.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        axis: Option<[f64; 3]>,
        /// Pitch of a `screw`, length of a `distance` (now's without it).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<f64>,
        /// Label; one is made up without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Takes a joint or constraint out of the text. Comments stay.
    DeleteConstraint {
        /// Which.
        joint: Which,
    },
}

impl Command {
    /// Bytes of text that it holds. Other words are names that exist, or it is refused.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Command::SetText { text } | Command::Amend { text } => text.len(),
            _ => 0,
        }
    }

    /// Does it set how things move from here on?
    pub(super) fn changes_motion(&self) -> bool {
        use Command::{
            Bounce, Friction, Gravity, Iterations, Method, Mode, Parameters, Sleep, Solver, SolverIterations,
            TimeStep, Tolerance, Wind,
        };
        let rules = matches!(
            self,
            Bounce { .. }
                | Friction { .. }
                | Gravity { .. }
                | Method { .. }
                | Mode { .. }
                | Parameters { .. }
                | Sleep { .. }
                | TimeStep { .. }
                | Wind { .. }
        );
        let accuracy =
            matches!(self, Iterations { .. } | Solver { .. } | SolverIterations { .. } | Tolerance { .. });
        rules || accuracy
    }
}

/// What a command did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// The scene changed: solids, joints and text must be read again.
    pub reloaded: bool,
    /// Hands that had to let go.
    pub released: Vec<u32>,
    /// The joint that was added.
    pub joint: Option<u32>,
    /// Lints of a new text, and gaps that could not be closed.
    pub warnings: Vec<Complaint>,
    /// [`super::Session::hash`] right after, sixteen hexadecimal digits.
    pub hash: String,
}

/// A complaint about a text, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint {
    /// Code of the scene language, or empty.
    pub code: String,
    /// Errors forbid the scene.
    pub is_error: bool,
    /// One sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Bytes of the text that are meant, from and to.
    pub span: [usize; 2],
    /// Line and column, from 1.
    pub line: usize,
    /// Column in characters.
    pub column: usize,
}

impl Complaint {
    /// A report on a text, with places.
    pub fn list(report: &Report, text: &str) -> Vec<Complaint> {
        let lines = crate::scene::LineIndex::new(text);
        report
            .diagnostics
            .iter()
            .map(|d| {
                let (line, column) = lines.place(d.span.start);
                Complaint {
                    code: d.code.to_owned(),
                    is_error: d.severity == Severity::Error,
                    message: d.message.clone(),
                    hint: d.hint.clone(),
                    span: [d.span.start, d.span.end],
                    line,
                    column,
                }
            })
            .collect()
    }

    pub(super) fn plain(message: String) -> Complaint {
        Complaint {
            code: String::new(),
            is_error: false,
            message,
            hint: None,
            span: [0; 2],
            line: 1,
            column: 1,
        }
    }
}

/// Why a command was refused. The session is what it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "refused", rename_all = "kebab-case")]
pub enum SessionError {
    /// No such solid.
    NoSolid {
        /// As asked for.
        solid: String,
    },
    /// No such joint.
    NoJoint {
        /// As asked for.
        joint: String,
    },
    /// The solid cannot be moved.
    Fixed {
        /// Its name.
        solid: String,
    },
    /// The hand holds something already.
    HandBusy {
        /// Which hand.
        hand: u32,
    },
    /// The hand holds nothing.
    HandEmpty {
        /// Which hand.
        hand: u32,
    },
    /// All hands are taken.
    TooManyHands {
        /// How many there can be.
        most: usize,
    },
    /// A number is not usable.
    BadValue {
        /// Which and why.
        what: String,
    },
    /// Unknown name of a method, solver or joint.
    Unknown {
        /// The name.
        name: String,
        /// The known ones.
        known: Vec<String>,
    },
    /// Nothing to take back, to do again, or to show.
    Nothing {
        /// What there is nothing of.
        what: String,
    },
    /// The new text has errors.
    Text {
        /// All of them.
        diagnostics: Vec<Complaint>,
    },
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionError::NoSolid { solid } => write!(f, "there is no solid {solid}"),
            SessionError::NoJoint { joint } => write!(f, "there is no joint {joint}"),
            SessionError::Fixed { solid } => write!(f, "`{solid}` does not move: nothing can drag it"),
            SessionError::HandBusy { hand } => write!(f, "hand {hand} holds something already"),
            SessionError::HandEmpty { hand } => write!(f, "hand {hand} holds nothing"),
            SessionError::TooManyHands { most } => write!(f, "no more than {most} hands at once"),
            SessionError::BadValue { what } => f.write_str(what),
            SessionError::Unknown { name, known } => {
                write!(f, "`{name}` is not known; there are {}", known.join(", "))
            }
            SessionError::Nothing { what } => write!(f, "there is nothing to {what}"),
            SessionError::Text { diagnostics } => {
                let errors = diagnostics.iter().filter(|d| d.is_error);
                let first = errors.clone().next().map_or("", |d| d.message.as_str());
                match errors.count() {
                    1 => write!(f, "the text has an error: {first}"),
                    n => write!(f, "the text has {n} errors; the first: {first}"),
                }
            }
        }
    }
}
impl std::error::Error for SessionError {}
