//! What acts on solids besides joints: forces, torques and springs. Plain data; `step` evaluates it.

use crate::math::Vector;
use crate::solid::SolidId;

/// A time interval in seconds, `from < to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Start.
    pub from: f64,
    /// End.
    pub to: f64,
}

/// A force and torque on a solid.
#[derive(Debug, Clone, PartialEq)]
pub struct Force {
    /// Label, or empty.
    pub name: String,
    /// What it acts on.
    pub solid: SolidId,
    /// Point of application in the solid's frame; `None` is the centre of mass.
    pub at: Option<Vector>,
    /// Force.
    pub value: Vector,
    /// Torque.
    pub torque: Vector,
    /// Whether force and torque turn with the solid (otherwise they are in world axes).
    pub follows_solid: bool,
    /// When it acts; `None` is always.
    pub during: Option<Interval>,
}

/// Air around soft bodies, which it pushes face by face: `F = 1/2 density A |s| s n`, `s` being how fast it meets the face along
/// its normal. A mechanism has none unless it is given some.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Air {
    /// How fast it moves; still air brakes, too.
    pub wind: Vector,
    /// Its density.
    pub density: f64,
}

impl Air {
    /// Density at sea level, kg/m^3.
    pub const DENSITY: f64 = 1.2;
    /// Most of speed and density: beyond that it is no air.
    pub const MOST: f64 = 1e4;
}

/// A damped spring between two points.
#[derive(Debug, Clone, PartialEq)]
pub struct Spring {
    /// Label, or empty.
    pub name: String,
    /// The two solids; the first may be the world.
    pub solids: [SolidId; 2],
    /// The two points in their solids' frames.
    pub points: [Vector; 2],
    /// Length without force. Where the file is silent, the initial distance.
    pub length: f64,
    /// Force per length.
    pub stiffness: f64,
    /// Force per speed along the spring.
    pub damping: f64,
    /// When it acts; `None` is always.
    pub during: Option<Interval>,
}

impl Interval {
    /// Is the time within it, both ends included?
    pub fn contains(self, time: f64) -> bool {
        self.from <= time && time <= self.to
    }

    /// The share of the time from `begin` to `end` that lies in it. Summed times are off by rounding, which is nothing.
    pub fn share(self, begin: f64, end: f64) -> f64 {
        const ROUNDING: f64 = 1e-9;
        if !(end > begin) {
            return f64::from(u8::from(self.contains(begin)));
        }
        let share = (self.to.min(end) - self.from.max(begin)) / (end - begin);
        match share {
            x if x < ROUNDING => 0.0,
            x if x > 1.0 - ROUNDING => 1.0,
            x => x,
        }
    }

    /// No end of a step of that length lies in it: steps that start at zero never see it.
    pub fn is_between(self, step: f64) -> bool {
        // Summed times are off by rounding; a step that ends that near may see it.
        let slack = 1e-9 * step;
        let next = ((self.from - slack) / step).ceil().max(0.0) * step;
        next > self.to + slack
    }
}
