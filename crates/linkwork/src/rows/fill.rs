//! From joints to rows: how many a joint has, and what is in them.

use super::{CountedAngle, HalfRow, Unit, angular, half, linear};
use crate::joint::{AngleKind, Direction, Joint, JointId, Range, Region};
use crate::math::{Rotation, Vector, perpendicular, unwrap_angle};
use crate::mechanism::Mechanism;
use crate::state::State;

/// Both sides of a joint in world coordinates.
pub(crate) struct Ends {
    /// Centres of mass.
    pub c: [Vector; 2],
    /// Solid orientations.
    q: [Rotation; 2],
    /// Origins of the solids.
    o: [Vector; 2],
    /// Anchor points.
    pub p: [Vector; 2],
    /// Joint frame orientations.
    f: [Rotation; 2],
}

impl Ends {
    pub fn new(m: &Mechanism, s: &State, j: &Joint) -> Self {
        let side = |k: usize| {
            let i = j.frames[k].solid.index();
            let (c, q) = (s.centers[i], s.rotations[i]);
            let center = m.solids()[i].mass.center;
            let frame = j.frames[k].pose;
            (c, q, c - q * center, c + q * (frame.translation - center), q * frame.rotation)
        };
        let (a, b) = (side(0), side(1));
        Self { c: [a.0, b.0], q: [a.1, b.1], o: [a.2, b.2], p: [a.3, b.3], f: [a.4, b.4] }
    }

    /// Axis `k` of frame `side`.
    pub fn axis(&self, side: usize, k: usize) -> Vector {
        self.f[side] * Vector::AXES[k]
    }

    /// Row of `t . (P2 - P1)`, `t` fixed in solid 1.
    pub fn in_first(&self, t: Vector) -> (f64, [HalfRow; 2]) {
        let (base, other) = linear::fixed_direction(t, self.p[1], self.c[0], self.c[1]);
        (t.dot(self.p[1] - self.p[0]), [base, other])
    }

    /// Row along `t` of the point `P1`, `t` fixed in solid 2.
    fn in_second(&self, t: Vector) -> [HalfRow; 2] {
        let (base, other) = linear::fixed_direction(t, self.p[0], self.c[1], self.c[0]);
        [other, base]
    }
}

/// Number of rows a joint fills, bounds included: depends on the joint only, so the pattern is constant in time.
pub(crate) fn count(j: &Joint) -> usize {
    let one = |r: &Range| (!r.is_free() && !r.is_point()) as usize;
    let regions: usize = j
        .regions
        .iter()
        .map(|r| match r {
            Region::Segment { range, .. } => one(range),
            Region::Ring { range, .. } => (ring_bounds(range) && !range.is_point()) as usize,
            Region::Curve(c) => !c.closed() as usize,
            Region::Sphere(_) => 0,
            Region::Within(_) => 1,
        })
        .sum();
    j.equalities()
        + regions
        + j.angle.is_some_and(|a| a.kind() == AngleKind::Range) as usize
        + j.twist.is_some_and(|t| !t.range.is_point() && !t.range.is_free()) as usize
        + j.limits.iter().filter(|l| one(&l.range) == 1).count()
}

/// Does the radius range of a ring bound anything?
fn ring_bounds(range: &Range) -> bool {
    range.min > 0.0 || range.max < f64::INFINITY
}

/// Writes the rows of one block, in order.
pub(super) struct Writer<'a> {
    /// First row of the block among all rows.
    pub first: usize,
    /// Rows written so far.
    pub filled: usize,
    /// Columns of the block, in threes, and which of its solids turn.
    pub general: &'a mut [[f64; 3]],
    pub turns: [bool; 2],
    pub low: &'a mut [f64],
    pub high: &'a mut [f64],
    pub unit: &'a mut [Unit],
    pub angles: &'a mut Vec<CountedAngle>,
    /// Where the restitution of rows that have some is noted.
    pub bounces: &'a mut Vec<(usize, f64)>,
    /// Where squared distances are noted; `None`: distances are kept as they are.
    pub squares: Option<&'a mut Vec<(usize, f64)>>,
}

impl Writer<'_> {
    pub(super) fn push(&mut self, unit: Unit, row: [HalfRow; 2], low: f64, high: f64) {
        let r = self.filled;
        self.filled += 1;
        if r >= self.low.len() {
            return;
        }
        (self.unit[r], self.low[r], self.high[r]) = (unit, low, high);
        let mut at = r * self.general.len() / self.low.len();
        for (side, [x, y, z, a, b, c]) in row.into_iter().enumerate() {
            self.general[at] = [x, y, z];
            at += 1;
            if self.turns[side] {
                self.general[at] = [a, b, c];
                at += 1;
            }
        }
    }

    /// The rows of one joint; tells where its anchors are.
    pub(super) fn joint(&mut self, m: &Mechanism, s: &State, id: JointId) -> [Vector; 2] {
        let j = m.joint(id);
        let e = Ends::new(m, s, j);
        self.fill_locks(&e, j);
        for region in &j.regions {
            self.fill_region(&e, region);
        }
        if let Some(length) = j.distance {
            self.fill_distance(&e, length);
        }
        let mut slot = m.counter(id);
        let mut counted = |rows: &mut Self, raw: f64, range: Range| {
            let value = unwrap_angle(raw, s.angles[slot]);
            let winds = range.max - range.min > std::f64::consts::TAU;
            rows.angles.push(CountedAngle { slot, value, winds });
            slot += 1;
            value
        };
        for l in &j.limits {
            let k = l.direction.axis();
            let (value, unit, row) = if l.direction.is_rotation() {
                let (raw, a) = frame_twist(&e, k);
                (counted(self, raw, l.range), Unit::Angle, turn(a))
            } else {
                let (v, row) = e.in_first(e.axis(0, k));
                (v, Unit::Length, row)
            };
            if l.restitution > 0.0 && !l.range.is_free() && !l.range.is_point() {
                self.bounces.push((self.first + self.filled, l.restitution));
            }
            self.ranged(unit, row, value, l.range);
        }
        if let Some(a) = j.angle {
            let (a1, a2) = (e.q[0] * a.a1, e.q[1] * a.a2);
            match a.kind() {
                AngleKind::Free => {}
                AngleKind::Aligned => self.align(a1, a2, e.q[0] * perpendicular(a.a1)),
                AngleKind::Opposed => self.align(a1, -a2, e.q[0] * perpendicular(a.a1)),
                AngleKind::Cone => {
                    let (value, row) = angular::angle(a1, a2);
                    self.ranged(Unit::Angle, turn(row), value, a.range);
                }
                AngleKind::Range => {
                    let (value, row) = angular::angle(a1, a2);
                    // An angle is within [0, pi] by itself: ends there bound nothing.
                    let min = if a.range.min > 0.0 { a.range.min } else { f64::NEG_INFINITY };
                    let max = if a.range.max < std::f64::consts::PI { a.range.max } else { f64::INFINITY };
                    self.ranged(Unit::Angle, turn(row), value, Range::new(min, max));
                }
            }
        }
        if let Some(t) = j.twist {
            let (raw, row) = angular::twist(e.q[0] * t.a1, e.q[1] * t.a2, e.q[0] * t.b1, e.q[1] * t.b2);
            let value = counted(self, raw, t.range);
            self.ranged(Unit::Angle, turn(row), value, t.range);
        }
        if let Some(pitch) = j.screw {
            // One coupled row: t1 - pitch/(2 pi) r1 = 0.
            let (raw, a) = frame_twist(&e, 0);
            let per_radian = pitch / std::f64::consts::TAU;
            let (v, mut row) = e.in_first(e.axis(0, 0));
            for (side, sign) in [(0, 1.0), (1, -1.0)] {
                for (r, x) in row[side][3..].iter_mut().zip(a.to_array()) {
                    *r += sign * per_radian * x;
                }
            }
            let value = v - per_radian * counted(self, raw, Range::FREE);
            self.equal(Unit::Length, row, value);
        }
        e.p
    }

    /// The locked directions of frame 1.
    fn fill_locks(&mut self, e: &Ends, j: &Joint) {
        for k in 0..3 {
            if j.lock.has(Direction::ALL[k]) {
                let (v, row) = e.in_first(e.axis(0, k));
                self.equal(Unit::Length, row, v);
            }
        }
        let locked = |k: &usize| j.lock.has(Direction::ALL[3 + *k]);
        match (0..3).filter(locked).count() {
            0 => {}
            1 => {
                let k = (0..3).find(locked).unwrap_or_default();
                let (v, a) = frame_twist(e, k);
                self.equal(Unit::Angle, turn(a), v);
            }
            2 => {
                let free = (0..3).find(|k| !locked(k)).unwrap_or_default();
                let swing = angular::Swing::new(e.axis(0, free), e.axis(1, free));
                for k in (0..3).filter(locked) {
                    let (v, row) = swing.along(e.axis(0, k));
                    self.equal(Unit::Angle, turn(row), v);
                }
            }
            _ => {
                let (v, rows) = angular::all(e.f[0], e.f[1]);
                for (v, row) in v.to_array().into_iter().zip(rows) {
                    self.equal(Unit::Angle, turn(row), v);
                }
            }
        }
        if j.hooke {
            let (v, row) = angular::hooke(e.axis(0, 1), e.axis(1, 2));
            self.equal(Unit::Angle, turn(row), v);
        }
    }

    /// Regions: the locked point becomes the nearest allowed point of solid 2 (1994, section 4.1).
    fn fill_region(&mut self, e: &Ends, region: &Region) {
        let d = e.p[0] - e.p[1];
        match region {
            Region::Segment { axis, range } => {
                let u = e.q[1] * *axis;
                let j = e.q[1] * perpendicular(*axis);
                for t in [j, u.cross(j)] {
                    self.equal(Unit::Length, e.in_second(t), t.dot(d));
                }
                self.ranged(Unit::Length, e.in_second(u), u.dot(d), *range);
            }
            Region::Ring { normal, range } => {
                let n = e.q[1] * *normal;
                if range.max == 0.0 {
                    return self.coincide(e);
                }
                self.equal(Unit::Length, e.in_second(n), n.dot(d));
                if ring_bounds(range) {
                    let (radius, out) = linear::radial(d, n);
                    // A radius is never negative: a lower end of zero bounds nothing.
                    let min = if range.min > 0.0 { range.min } else { f64::NEG_INFINITY };
                    self.ranged(Unit::Length, e.in_second(out), radius, Range::new(min, range.max));
                }
            }
            Region::Curve(curve) => {
                // The curve lives in the solid's own frame, not at P2.
                let near = curve.nearest(e.q[1].inverse() * (e.p[0] - e.o[1]));
                let gap = e.p[0] - (e.o[1] + e.q[1] * near.position);
                let t = e.q[1] * near.tangent;
                let n = e.q[1] * perpendicular(near.tangent);
                for t in [n, t.cross(n)] {
                    self.equal(Unit::Length, e.in_second(t), t.dot(gap));
                }
                if !curve.closed() {
                    let along = near.s + t.dot(gap);
                    self.ranged(Unit::Length, e.in_second(t), along, Range::new(0.0, curve.length()));
                }
            }
            Region::Sphere(radius) => self.fill_distance(e, *radius),
            Region::Within(radius) => {
                let (v, row) = linear::distance(e.p[0], e.p[1], e.c[0], e.c[1]);
                self.ranged(Unit::Length, row, v, Range::new(f64::NEG_INFINITY, *radius));
            }
        }
    }

    fn fill_distance(&mut self, e: &Ends, length: f64) {
        if length == 0.0 {
            return self.coincide(e);
        }
        let (v, row) = linear::distance(e.p[0], e.p[1], e.c[0], e.c[1]);
        if let Some(squares) = &mut self.squares {
            // (|d|^2 - L^2)' = 2 |d| |d|'
            squares.push((self.first + self.filled, length));
            let row = row.map(|half| half.map(|x| 2.0 * v * x));
            return self.equal(Unit::Length, row, v * v - length * length);
        }
        self.equal(Unit::Length, row, v - length);
    }

    /// The two points coincide: three rows.
    fn coincide(&mut self, e: &Ends) {
        for k in 0..3 {
            let (v, row) = e.in_first(e.axis(0, k));
            self.equal(Unit::Length, row, v);
        }
    }

    /// Two axes coincide: two rows, along `j` (of solid 1, perpendicular to `a1`) and the third direction.
    fn align(&mut self, a1: Vector, a2: Vector, j: Vector) {
        let swing = angular::Swing::new(a1, a2);
        for t in [j, a1.cross(j)] {
            let (v, row) = swing.along(t);
            self.equal(Unit::Angle, turn(row), v);
        }
    }

    /// `value` must become zero.
    fn equal(&mut self, unit: Unit, row: [HalfRow; 2], value: f64) {
        self.push(unit, row, -value, -value);
    }

    /// `value` must end up in the range.
    fn ranged(&mut self, unit: Unit, row: [HalfRow; 2], value: f64, range: Range) {
        if !range.is_free() {
            self.push(unit, row, range.min - value, range.max - value);
        }
    }
}

/// Turn of frame 2 about axis `k` of frame 1, whatever the swing.
pub(crate) fn frame_twist(e: &Ends, k: usize) -> (f64, Vector) {
    let b = (k + 1) % 3;
    angular::twist(e.axis(0, k), e.axis(1, k), e.axis(0, b), e.axis(1, b))
}

/// A row on the relative angular velocity.
pub(super) fn turn(a: Vector) -> [HalfRow; 2] {
    [half(Vector::ZERO, -a), half(Vector::ZERO, a)]
}
