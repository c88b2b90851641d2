//! Joints as data: two frames, which of the six directions are locked, where a point may go, how far things may turn.
//!
//! Pin, slider, ball and weld are values of one type (Faure 1998, section 3.1 and Table 1). The 1994 vocabulary
//! (point to point, segment, ring, angle and twist ranges) fills the same struct. `rows` turns it into scalar rows;
//! nothing here knows about solvers.

mod curve;

pub use curve::Curve;

use crate::math::{Pose, Vector};
use crate::solid::SolidId;

/// One of the six directions of a joint's first frame: translations along and rotations about `i`, `j`, `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Direction {
    T1,
    T2,
    T3,
    R1,
    R2,
    R3,
}

impl Direction {
    /// All six, translations first.
    pub const ALL: [Direction; 6] =
        [Direction::T1, Direction::T2, Direction::T3, Direction::R1, Direction::R2, Direction::R3];

    /// `t1` … `r3`.
    pub fn word(self) -> &'static str {
        ["t1", "t2", "t3", "r1", "r2", "r3"][self as usize]
    }

    /// The direction called `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|d| d.word() == word)
    }

    /// True for `r1 r2 r3`.
    pub fn is_rotation(self) -> bool {
        self >= Direction::R1
    }

    /// 0, 1 or 2 for `i`, `j`, `k`.
    pub fn axis(self) -> usize {
        self as usize % 3
    }
}

/// A set of directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask(pub u8);

impl Mask {
    /// Nothing.
    pub const NONE: Mask = Mask(0);
    /// All three translations.
    pub const POINT: Mask = Mask(0b000_111);
    /// All six.
    pub const ALL: Mask = Mask(0b111_111);

    /// The set of these directions.
    pub fn of(directions: &[Direction]) -> Self {
        Mask(directions.iter().fold(0, |m, d| m | 1 << *d as u8))
    }
    /// Is `d` in it?
    pub fn has(self, d: Direction) -> bool {
        self.0 >> d as u8 & 1 == 1
    }
    /// How many directions.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }
    /// No direction at all.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The directions in order.
    pub fn iter(self) -> impl Iterator<Item = Direction> {
        Direction::ALL.into_iter().filter(move |d| self.has(*d))
    }
}

/// Closed interval; the ends may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Smallest allowed value.
    pub min: f64,
    /// Largest allowed value.
    pub max: f64,
}

impl Range {
    /// No bound at all.
    pub const FREE: Range = Range { min: f64::NEG_INFINITY, max: f64::INFINITY };

    /// `[min, max]`.
    pub fn new(min: f64, max: f64) -> Self {
        Self { min, max }
    }
    /// Both ends are the same: an equality.
    pub fn is_point(self) -> bool {
        self.min == self.max
    }
    /// Where counting turns starts: zero if the range allows half a turn to both sides of it (angles then are what they
    /// look like), else the middle; with an infinite end, the allowed value nearest to zero.
    pub fn middle(self) -> f64 {
        const HALF: f64 = std::f64::consts::PI;
        if self.min <= HALF && self.max >= -HALF && self.max - self.min >= 2.0 * HALF {
            0.0
        } else if self.min.is_finite() && self.max.is_finite() {
            0.5 * (self.min + self.max)
        } else {
            0.0_f64.max(self.min).min(self.max)
        }
    }
    /// Neither end bounds anything.
    pub fn is_free(self) -> bool {
        self.min == f64::NEG_INFINITY && self.max == f64::INFINITY
    }
    /// Ends in order and not NaN.
    pub fn is_valid(self) -> bool {
        self.min <= self.max && self.min < f64::INFINITY && self.max > f64::NEG_INFINITY
    }
}

/// A solid and a frame fixed in it: point and main axes `i j k` of the joint on that side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Which solid.
    pub solid: SolidId,
    /// From the joint's axes to the solid's (about the solid's origin, not its centre of mass).
    pub pose: Pose,
}

impl Frame {
    /// A frame with the solid's own axes at a point.
    pub fn point(solid: SolidId, at: Vector) -> Self {
        Self { solid, pose: Pose::from_translation(at) }
    }

    /// A frame at a point with its main axis `i` along `axis`.
    pub fn axis(solid: SolidId, at: Vector, axis: Vector) -> Self {
        let rotation = crate::math::frame_rotation(axis, None).unwrap_or_default();
        Self { solid, pose: Pose::from_parts(at, rotation) }
    }
}

/// Where the first frame's point may be, relative to the second solid (1994, section 4.1). Vectors are in the second
/// *solid's* axes; distances are from the second frame's point.
#[derive(Clone, Debug, PartialEq)]
pub enum Region {
    /// Point to segment: `P1 = P2 + s axis`, `s` in the range.
    Segment {
        /// Unit vector of solid 2.
        axis: Vector,
        /// Where on the line.
        range: Range,
    },
    /// Point to ring: in the plane through `P2`, distance to `P2` in the range.
    Ring {
        /// Unit normal of solid 2.
        normal: Vector,
        /// Radius, `min >= 0`.
        range: Range,
    },
    /// On a smooth curve given in the second solid's frame.
    Curve(Curve),
    /// At exactly this distance from `P2`.
    Sphere(f64),
    /// At no more than this distance from `P2`.
    Within(f64),
}

/// The angle between two axes must stay in a range within `[0, pi]` (1994, section 4.2.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AngleRange {
    /// Unit vector of solid 1.
    pub a1: Vector,
    /// Unit vector of solid 2.
    pub a2: Vector,
    /// Radians.
    pub range: Range,
}

/// The signed twist about the axes must stay in a range (1994, section 4.2.2).
///
/// The twist is the angle about `a2` from `S b1` to `b2`, where `S` is the shortest rotation taking `a1` to `a2`: for
/// any swing it is the hinge angle that remains once the swing is undone. Ranges beyond half a turn are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwistRange {
    /// Unit axis of solid 1.
    pub a1: Vector,
    /// Unit axis of solid 2.
    pub a2: Vector,
    /// Unit vector of solid 1 perpendicular to `a1`.
    pub b1: Vector,
    /// Unit vector of solid 2 perpendicular to `a2`.
    pub b2: Vector,
    /// Radians.
    pub range: Range,
}

/// A bound on one free direction of a joint: distance of `P2` along a translation of frame 1, or the (counted) turn of
/// frame 2 about an axis of frame 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Which direction.
    pub direction: Direction,
    /// How far.
    pub range: Range,
    /// What is left of the speed at which an end is met, thrown back: 0 stops there, 1 bounces. Only `variational` does
    /// it; other methods stop.
    pub restitution: f64,
}

/// A motor on one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    /// Which direction.
    pub direction: Direction,
    /// What it aims for.
    pub aim: DriveAim,
    /// Largest force or torque.
    pub max_force: f64,
}

impl Drive {
    /// It turns, so that whole turns matter: to a position, or at a speed across the half turn where angles jump.
    pub fn counts_turns(&self) -> bool {
        self.direction.is_rotation()
    }

    /// It only takes energy out: what moves, it holds still.
    pub(crate) fn is_brake(&self) -> bool {
        matches!(self.aim, DriveAim::Speed(speed) if speed == 0.0)
    }

    /// It goes for a position through a spring or a damper, and is no source of energy by itself.
    pub(crate) fn is_soft(&self) -> bool {
        matches!(self.aim, DriveAim::To { stiffness, damping, .. } if stiffness != 0.0 || damping != 0.0)
    }
}

/// What a drive aims for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DriveAim {
    /// A rate: m/s or rad/s.
    Speed(f64),
    /// A position, through a spring and a damper (both zero: rigidly).
    To {
        /// Metres or radians.
        target: f64,
        /// Spring.
        stiffness: f64,
        /// Damper.
        damping: f64,
    },
}

/// Constraint priority (Faure 1999, section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Met exactly whatever happens to secondary ones.
    Primary,
    /// Met as well as the primary ones allow.
    Secondary,
}

/// Names a joint of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JointId(pub u32);

impl JointId {
    /// As an index into per-joint arrays.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Any joint or constraint between two solids.
///
/// ```
/// use linkwork::{Frame, Joint, SolidId, Vector};
/// let door = SolidId(1);
/// let hinge = Joint::pin(
///     Frame::axis(SolidId::WORLD, Vector::ZERO, Vector::Y),
///     Frame::axis(door, Vector::new(-0.5, 0.0, 0.0), Vector::Y),
/// );
/// assert_eq!(hinge.lock.len(), 5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// For messages; may be empty (then the joint is named by its solids).
    pub name: String,
    /// The two sides.
    pub frames: [Frame; 2],
    /// Directions of frame 1 along or about which frame 2 may not move.
    pub lock: Mask,
    /// Hooke's joint: `j` of frame 1 stays perpendicular to `k` of frame 2 (one row).
    pub hooke: bool,
    /// A coupled row: moves by this much along `i` per full turn about `i`.
    pub screw: Option<f64>,
    /// The two points keep this distance.
    pub distance: Option<f64>,
    /// Where the first point may be in the second solid; all of them hold.
    pub regions: Vec<Region>,
    /// Range of the angle between two axes.
    pub angle: Option<AngleRange>,
    /// Range of the twist.
    pub twist: Option<TwistRange>,
    /// Bounds on free directions.
    pub limits: Vec<Limit>,
    /// Motors.
    pub drives: Vec<Drive>,
    /// Holds only in this time interval.
    pub during: Option<(f64, f64)>,
    /// Priority; `None`: primary when the spanning forest uses it, secondary when it closes a loop.
    pub rank: Option<Rank>,
    /// Visual weight among conflicting secondary constraints.
    pub weight: f64,
    /// Softness: displacement per unit force. Zero is rigid.
    pub compliance: f64,
    /// Damping of a soft constraint.
    pub damping: f64,
    /// It gives way beyond this force (or torque) along each of its directions; infinite unless it is a grip.
    pub most_force: f64,
    /// 1994 relaxation parameter (Eq. 14), if given.
    pub alpha: Option<f64>,
    /// 1994 ability to move of solid 1 relative to solid 2 (section 3.1.4), if given.
    pub mu: Option<f64>,
    /// Switched off joints keep their id and make no rows.
    pub enabled: bool,
}

impl Joint {
    /// A joint that locks these directions.
    pub fn lock(frame1: Frame, frame2: Frame, lock: Mask) -> Self {
        Self {
            name: String::new(),
            frames: [frame1, frame2],
            lock,
            hooke: false,
            screw: None,
            distance: None,
            regions: Vec::new(),
            angle: None,
            twist: None,
            limits: Vec::new(),
            drives: Vec::new(),
            during: None,
            rank: None,
            weight: 1.0,
            compliance: 0.0,
            damping: 0.0,
            most_force: f64::INFINITY,
            alpha: None,
            mu: None,
            enabled: true,
        }
    }

    /// Point to point: three rotations free. Faure's *universal*.
    pub fn ball(frame1: Frame, frame2: Frame) -> Self {
        Self::lock(frame1, frame2, Mask::POINT)
    }
    /// One rotation about `i`. Today's *revolute*.
    pub fn pin(frame1: Frame, frame2: Frame) -> Self {
        use Direction::*;
        Self::lock(frame1, frame2, Mask::of(&[T1, T2, T3, R2, R3]))
    }
    /// Rotation about and translation along `i`.
    pub fn cylindrical(frame1: Frame, frame2: Frame) -> Self {
        use Direction::*;
        Self::lock(frame1, frame2, Mask::of(&[T2, T3, R2, R3]))
    }
    /// Translation along `i`. *Prismatic*.
    pub fn slider(frame1: Frame, frame2: Frame) -> Self {
        use Direction::*;
        Self::lock(frame1, frame2, Mask::of(&[T2, T3, R1, R2, R3]))
    }
    /// `P2` on the line through `P1` along `i`; all rotations free. Faure's *ball-socket*.
    pub fn point_on_line(frame1: Frame, frame2: Frame) -> Self {
        use Direction::*;
        Self::lock(frame1, frame2, Mask::of(&[T2, T3]))
    }
    /// `P2` in the plane through `P1` with normal `i`. Faure's *smooth surface contact*.
    pub fn point_on_plane(frame1: Frame, frame2: Frame) -> Self {
        Self::lock(frame1, frame2, Mask::of(&[Direction::T1]))
    }
    /// Plane on plane, normal `i`: two translations and the rotation about `i` stay free.
    pub fn planar(frame1: Frame, frame2: Frame) -> Self {
        use Direction::*;
        Self::lock(frame1, frame2, Mask::of(&[T1, R2, R3]))
    }
    /// Nothing moves.
    pub fn weld(frame1: Frame, frame2: Frame) -> Self {
        Self::lock(frame1, frame2, Mask::ALL)
    }
    /// Hooke's cross: turns about `j` of frame 1 and `k` of frame 2.
    pub fn cardan(frame1: Frame, frame2: Frame) -> Self {
        Self { hooke: true, ..Self::ball(frame1, frame2) }
    }
    /// Advances by `pitch` along `i` per full turn about `i`.
    pub fn screw(frame1: Frame, frame2: Frame, pitch: f64) -> Self {
        Self { screw: Some(pitch), ..Self::cylindrical(frame1, frame2) }
    }
    /// A rigid massless rod between the two points.
    pub fn distance(frame1: Frame, frame2: Frame, length: f64) -> Self {
        Self { distance: Some(length), ..Self::lock(frame1, frame2, Mask::NONE) }
    }

    /// Names it.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
    /// Bounds a free direction.
    pub fn with_limit(mut self, direction: Direction, min: f64, max: f64) -> Self {
        self.limits.push(Limit { direction, range: Range::new(min, max), restitution: 0.0 });
        self
    }
    /// What is left of the speed at which the limits given so far are met, thrown back.
    pub fn with_restitution(mut self, restitution: f64) -> Self {
        self.limits.iter_mut().for_each(|l| l.restitution = restitution);
        self
    }
    /// Sets the priority.
    pub fn with_rank(mut self, rank: Rank) -> Self {
        self.rank = Some(rank);
        self
    }

    /// Holds at this time and is switched on.
    pub fn holds_at(&self, time: f64) -> bool {
        self.enabled && self.during.is_none_or(|(from, to)| from <= time && time <= to)
    }

    /// How many scalar equalities it imposes. Ranges are not counted unless their ends coincide.
    pub fn equalities(&self) -> usize {
        let regions: usize = self
            .regions
            .iter()
            .map(|r| match r {
                Region::Segment { range, .. } => 2 + range.is_point() as usize,
                Region::Ring { range, .. } if range.max == 0.0 => 3,
                Region::Ring { range, .. } => 1 + range.is_point() as usize,
                Region::Curve(_) => 2,
                Region::Sphere(r) => {
                    if *r == 0.0 {
                        3
                    } else {
                        1
                    }
                }
                Region::Within(_) => 0,
            })
            .sum();
        let distance = self.distance.map_or(0, |d| if d == 0.0 { 3 } else { 1 });
        let angle = self.angle.map_or(0, |a| match a.kind() {
            AngleKind::Aligned | AngleKind::Opposed => 2,
            AngleKind::Cone => 1,
            AngleKind::Range | AngleKind::Free => 0,
        });
        let twist = self.twist.is_some_and(|t| t.range.is_point()) as usize;
        let limits = self.limits.iter().filter(|l| l.range.is_point()).count();
        self.lock.len()
            + self.hooke as usize
            + self.screw.is_some() as usize
            + distance
            + regions
            + angle
            + twist
            + limits
    }

    /// Ranges of the angles whose whole turns must be counted (they need a memory in the state): limited rotations,
    /// then the twist, then the screw, then the motors that turn.
    pub fn counted_ranges(&self) -> impl Iterator<Item = Range> + '_ {
        let limits = self.limits.iter().filter(|l| l.direction.is_rotation()).map(|l| l.range);
        let drives = self.drives.iter().filter(|d| d.counts_turns()).map(|_| Range::FREE);
        limits.chain(self.twist.map(|t| t.range)).chain(self.screw.map(|_| Range::FREE)).chain(drives)
    }
}

/// What an angle range asks for, decided once from its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AngleKind {
    /// `[0, 0]`: the axes coincide, two rows.
    Aligned,
    /// `[pi, pi]`: the axes are opposed, two rows.
    Opposed,
    /// One angle: a cone, one row.
    Cone,
    /// A true range: one one-sided row.
    Range,
    /// `[0, pi]` or wider: asks for nothing.
    Free,
}

impl AngleRange {
    /// See [`AngleKind`].
    pub fn kind(&self) -> AngleKind {
        use std::f64::consts::PI;
        match (self.range.min, self.range.max) {
            (_, max) if max <= 0.0 => AngleKind::Aligned,
            (min, _) if min >= PI => AngleKind::Opposed,
            (min, max) if min == max => AngleKind::Cone,
            (min, max) if min <= 0.0 && max >= PI => AngleKind::Free,
            _ => AngleKind::Range,
        }
    }
}
