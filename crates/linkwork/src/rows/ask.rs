//! What a stage of a method asks of a row: the only place where a law becomes numbers.
//!
//! Rows say what they are (`Law`, a largest force, an interval); a stage says what is being solved for: positions at the end
//! of a step, velocities, accelerations. Out comes an [`Ask`], an interval for the change that the multipliers make, always
//! in terms of the *whole* multiplier of the stage, not of its last correction. Rows stay as they were filled.
//!
//! Soft rows, with stiffness `k`, damping `c` and gap `g`:
//! ```text
//!     backward Euler   F = -k g_{n+1} - c (g_{n+1} - g_n) / h,     l = F h^2:
//!                      J dq + l / (k h^2 + c h) = c h g_n / (k h^2 + c h) - g
//!     midpoint         F = -k (g_n + 2 b h J (v_{n+1/2} - v_n)) - c J v_{n+1/2}  (see `variational.rs`)
//!     accelerations    F = -k g - c J v is a force like any other; the row asks for nothing
//! ```

use super::{Group, Law, Rows, Source};

/// What one stage asks of one row: `low <= J x <= high` of the change, as far as `push` allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    /// Least change; `-inf` for none.
    pub low: f64,
    /// Largest change; `inf` for none. Equal to `low`: an equality.
    pub high: f64,
    /// Compliance: what the row gives way per multiplier, added to the diagonal.
    pub give: f64,
    /// What the multiplier may be.
    pub push: Push,
}

/// What a multiplier may be. A friction cone, which couples rows, will be one more.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Push {
    /// Anything: a joint.
    Any,
    /// Never negative: a contact, a rope that is given as a shortening.
    Positive,
    /// Never positive.
    Negative,
    /// At most this much in either direction: a motor, a hand.
    Within(f64),
}

impl Push {
    /// Least and largest multiplier. What is not a number allows nothing.
    pub fn range(self) -> (f64, f64) {
        match self {
            Push::Any => (f64::NEG_INFINITY, f64::INFINITY),
            Push::Positive => (0.0, f64::INFINITY),
            Push::Negative => (f64::NEG_INFINITY, 0.0),
            Push::Within(most) => {
                let most = most.max(0.0);
                (-most, most)
            }
        }
    }
}

impl Ask {
    /// An equality of any force.
    pub fn equal(value: f64) -> Self {
        Self { low: value, high: value, give: 0.0, push: Push::Any }
    }

    /// At least `low`, by pushing only.
    pub fn at_least(low: f64) -> Self {
        Self { low, high: f64::INFINITY, give: 0.0, push: Push::Positive }
    }
}

/// How far into a step the soft force is taken by the midpoint stages: at least 1/4 for stability at any stiffness; a
/// little more keeps away from the limit, where stiff rows would ring at the step's own frequency.
pub(crate) const AHEAD: f64 = 0.3;

/// The share of a crossed bound that one step of an explicit method takes back.
const RETURN: f64 = 0.2;

/// What is being solved for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stage {
    /// Positions alone, no time passes: only what is rigid asks.
    Close,
    /// Positions at the end of a step of length `h`; soft rows by backward Euler. Multipliers are forces times `h^2`.
    Positions { h: f64 },
    /// Positions at the end of a step whose impulses act in its middle. Multipliers are forces times `h^2 / 2`.
    Midpoint { h: f64 },
    /// Velocities at the end of such a step. Multipliers are forces times `h / 2`.
    MidpointVelocities { h: f64 },
    /// Velocities that keep to what is rigid; bounds count where they are reached.
    Velocities { tolerance: f64 },
    /// Accelerations, with feedback of speed and position. Multipliers are forces.
    Accelerations { h: f64, speed: f64, position: f64 },
}

/// What is known of a row when it is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// Least and largest change that it allows from where it is.
    pub low: f64,
    pub high: f64,
    /// What it did already: the change of its value since the step began, its speed now, or its acceleration without the
    /// constraints, by what is being solved for.
    pub moved: f64,
    /// Its speed when the stage began.
    pub speed: f64,
    /// What it wanted when the stage began: midpoint stages alone.
    pub wanted: f64,
    /// Damping of a soft row over this step, numerical damping included.
    pub damping: f64,
    /// The multiplier of a bound in the first half of the step: it is touched where that is not zero.
    pub pushed: f64,
    /// What a unit of force does to the row, at most: motors with a limited force alone.
    pub mobility: f64,
    /// The speed at which a bound that is touched is left again.
    pub rebound: f64,
}

impl Seen {
    /// A row as it was filled, that has not moved.
    pub fn at(rows: &Rows, r: usize) -> Self {
        Self { low: rows.low[r], high: rows.high[r], ..Self::default() }
    }

    fn is_equality(&self) -> bool {
        self.low == self.high
    }

    /// The change it asks for now: nonzero only outside of its interval.
    fn wanted_now(&self) -> f64 {
        if self.low > 0.0 {
            self.low
        } else if self.high < 0.0 {
            self.high
        } else {
            0.0
        }
    }
}

/// Asks for nothing.
pub(crate) const NOTHING: Ask =
    Ask { low: f64::NEG_INFINITY, high: f64::INFINITY, give: 0.0, push: Push::Any };

impl Ask {
    /// Nothing is asked.
    pub fn is_nothing(&self) -> bool {
        self.low == f64::NEG_INFINITY && self.high == f64::INFINITY
    }

    /// By how much a change is outside of what is asked for.
    pub fn lacks(&self, change: f64) -> f64 {
        (self.low - change).max(change - self.high)
    }

    /// Holds in any case, whatever it takes: belongs below.
    pub fn always_holds(&self) -> bool {
        self.low == self.high && self.push == Push::Any
    }

    /// Softly towards `change`; a bound pushes back from the end that is crossed and never pulls.
    fn softly(change: f64, give: f64, seen: &Seen, wanted: f64) -> Self {
        if seen.is_equality() {
            Ask { low: change, high: change, give, push: Push::Any }
        } else if wanted > 0.0 {
            Ask { low: change, give, ..NOTHING }
        } else if wanted < 0.0 {
            Ask { high: change, give, ..NOTHING }
        } else {
            NOTHING
        }
    }
}

/// What a row of `g` asks in a stage.
pub(crate) fn ask(g: &Group, seen: &Seen, stage: &Stage) -> Ask {
    let unit = match *stage {
        Stage::Positions { h } => h * h,
        Stage::Midpoint { h } => 0.5 * h * h,
        Stage::MidpointVelocities { h } => 0.5 * h,
        Stage::Accelerations { .. } => 1.0,
        Stage::Close | Stage::Velocities { .. } => f64::INFINITY,
    };
    let plain = match *stage {
        // What has a limited force, or is soft, acts through forces alone.
        Stage::Close | Stage::Velocities { .. } if g.most_force.is_finite() => NOTHING,
        Stage::Close if g.law == Law::Hold => Ask { low: seen.low, high: seen.high, ..NOTHING },
        Stage::Close => NOTHING,
        Stage::Positions { h } => positions(g, seen, h),
        Stage::Midpoint { h } => midpoint(g, seen, h),
        Stage::MidpointVelocities { h } => midpoint_velocities(g, seen, h),
        Stage::Velocities { tolerance } => velocities(g, seen, tolerance),
        Stage::Accelerations { h, speed, position } => accelerations(g, seen, h, speed, position),
    };
    let push = if g.most_force.is_finite() { Push::Within(g.most_force * unit) } else { Push::Any };
    Ask { push, ..plain }
}

fn positions(g: &Group, seen: &Seen, h: f64) -> Ask {
    match g.law {
        Law::Hold if is_weak_servo(g) => {
            let speed = servo_speed(g, seen.low + seen.moved, seen, h);
            Ask::equal(h * speed - seen.moved)
        }
        Law::Hold => Ask { low: seen.low, high: seen.high, ..NOTHING },
        Law::Rate(rate) => Ask::equal(h * rate - seen.moved),
        Law::Soft { stiffness, damping } => {
            let hold = stiffness * h * h + damping * h;
            if !(hold > 0.0) {
                return NOTHING;
            }
            let wanted = seen.wanted_now();
            let change = damping * h * (-wanted - seen.moved) / hold + wanted;
            Ask::softly(change, 1.0 / hold, seen, wanted)
        }
    }
}

/// A motor of limited strength that holds a position.
fn is_weak_servo(g: &Group) -> bool {
    g.law == Law::Hold && g.source != Source::Joint && g.most_force.is_finite()
}

/// The speed at which such a motor goes for its position: one from which it can still brake, and near it a share of the
/// way per step. Full force until the position is met would pass it at full speed, and for ever.
fn servo_speed(g: &Group, gap: f64, seen: &Seen, h: f64) -> f64 {
    let brakes = (g.most_force * seen.mobility * gap.abs()).sqrt();
    (RETURN * gap.abs() / h).min(brakes).copysign(gap)
}

fn midpoint(g: &Group, seen: &Seen, h: f64) -> Ask {
    match g.law {
        Law::Hold if is_weak_servo(g) => Ask::equal(h * servo_speed(g, seen.wanted, seen, h) - seen.moved),
        Law::Hold => Ask { low: seen.low, high: seen.high, ..NOTHING },
        Law::Rate(rate) => Ask::equal(h * rate - seen.moved),
        Law::Soft { stiffness, .. } => {
            let (speed, give) = midpoint_speed(stiffness, seen, h);
            Ask::softly(h * speed - seen.moved, give, seen, seen.wanted)
        }
    }
}

fn midpoint_velocities(g: &Group, seen: &Seen, h: f64) -> Ask {
    match g.law {
        Law::Hold if is_weak_servo(g) => Ask::equal(servo_speed(g, seen.low, seen, h) - seen.moved),
        Law::Hold if seen.is_equality() => Ask::equal(-seen.moved),
        // What pushed in the first half keeps its speed from going on; the rest is free.
        Law::Hold if seen.pushed > 0.0 => Ask { low: seen.rebound - seen.moved, ..NOTHING },
        Law::Hold if seen.pushed < 0.0 => Ask { high: -seen.rebound - seen.moved, ..NOTHING },
        Law::Hold => NOTHING,
        Law::Rate(rate) => Ask::equal(rate - seen.moved),
        Law::Soft { stiffness, .. } => {
            let (speed, give) = midpoint_speed(stiffness, seen, h);
            Ask::softly(speed - seen.moved, give, seen, seen.wanted)
        }
    }
}

/// The speed that a soft row aims for, and its give: `2 / (2 b k h^2 + c h)`. Neither spring nor damper: no force at all,
/// as a very large give.
fn midpoint_speed(stiffness: f64, seen: &Seen, h: f64) -> (f64, f64) {
    let hold = 2.0 * AHEAD * stiffness * h + seen.damping;
    if !(hold > 0.0) {
        return (0.0, 1e30);
    }
    let speed = (2.0 * AHEAD * stiffness * h * seen.speed + stiffness * seen.wanted) / hold;
    (speed, (2.0 / (hold * h)).min(1e30))
}

/// The give of soft rows in the midpoint stages.
pub(crate) fn midpoint_give(stiffness: f64, damping: f64, h: f64) -> f64 {
    midpoint_speed(stiffness, &Seen { damping, ..Seen::default() }, h).1
}

fn velocities(g: &Group, seen: &Seen, tolerance: f64) -> Ask {
    match g.law {
        Law::Soft { .. } => NOTHING,
        Law::Rate(rate) => Ask::equal(rate - seen.moved),
        Law::Hold if seen.is_equality() => Ask::equal(-seen.moved),
        Law::Hold => Ask {
            low: if seen.low >= -tolerance { -seen.moved } else { f64::NEG_INFINITY },
            high: if seen.high <= tolerance { -seen.moved } else { f64::INFINITY },
            ..NOTHING
        },
    }
}

fn accelerations(g: &Group, seen: &Seen, h: f64, speed: f64, position: f64) -> Ask {
    let reach = |to: f64| (to - seen.speed) / h - seen.moved;
    let toward = |gap: f64, past: bool| reach(if past { RETURN * gap } else { gap } / h);
    match g.law {
        Law::Soft { .. } => NOTHING,
        Law::Rate(rate) => Ask::equal(reach(rate)),
        Law::Hold if !seen.is_equality() => {
            Ask { low: toward(seen.low, seen.low > 0.0), high: toward(seen.high, seen.high < 0.0), ..NOTHING }
        }
        // A motor of limited strength has further to go than a joint drifts.
        Law::Hold if is_weak_servo(g) => Ask::equal(reach(servo_speed(g, seen.low, seen, h))),
        Law::Hold => Ask::equal(position * seen.low - speed * seen.speed - seen.moved),
    }
}
