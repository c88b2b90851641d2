//! Heaps of free solids: block Gauss-Seidel over points of contact that lie side by side in memory.
//!
//! The laws are those of `cones.rs`, Signorini's and Coulomb's with the true cone. A point first corrects its normal
//! impulse, then its friction: what would stop it, if that lies in the cone, else a step against the sliding that is
//! shortened to the cone. Both have the laws as their fixed point. Impulses are kept from one substep to the next (warm
//! start): a heap at rest goes on where it was, so that a sweep a substep is enough, and one that falls gets what the
//! budget is worth. Whatever sweep is the last, impulses act at one point on both solids and lie in their cones.

use super::{contact_residual, within};
use crate::contact::Coat;
use crate::math::Vector;

/// A solid as sweeps see it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeapBody {
    pub velocity: Vector,
    pub spin: Vector,
    pub inverse_mass: f64,
    /// Upper triangle, world axes.
    pub inverse_inertia: [f64; 6],
}

impl HeapBody {
    #[inline(always)]
    fn turn(&self, torque: Vector) -> Vector {
        let i = &self.inverse_inertia;
        Vector::new(
            i[0] * torque.x + i[1] * torque.y + i[2] * torque.z,
            i[1] * torque.x + i[3] * torque.y + i[4] * torque.z,
            i[2] * torque.x + i[4] * torque.y + i[5] * torque.z,
        )
    }

    /// A force and a torque act for a time.
    #[inline(always)]
    pub fn push(&mut self, time: f64, force: Vector, torque: Vector) {
        self.velocity += force * (time * self.inverse_mass);
        self.spin += self.turn(torque) * time;
    }

    #[inline(always)]
    fn speed(&self, arm: Vector) -> Vector {
        self.velocity + self.spin.cross(arm)
    }
}

/// A point of contact.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeapPoint {
    pub bodies: [u32; 2],
    /// From the centres of mass.
    pub arms: [Vector; 2],
    /// The normal, from the first body to the second, and two tangents.
    pub frame: [Vector; 3],
    /// Where its bodies have come to.
    pub gap: f64,
    pub friction: f64,
    /// A soft coat: backward Euler over the substep, which is short.
    pub coat: Option<Coat>,
    /// What it gives way to a unit of impulse within the substep.
    pub coat_give: f64,
    /// Levers of spinning and rolling resistance, and its torque in the substep, along the frame.
    pub levers: [f64; 2],
    pub torque: [f64; 3],
    /// The least speed along the normal: what is apart may come together within the substep.
    pub low: f64,
    /// Speed at which it is to be left.
    pub rebound: f64,
    /// Impulse of the substep along the frame, and of all substeps.
    pub force: [f64; 3],
    pub total: [f64; 3],
    /// What the next substep starts with: of a blow, only what was there before it.
    pub held: [f64; 3],
    /// How far it is pushed out in one go, at most.
    pub most: f64,
    /// Found by `prepare`.
    pub response: Response,
    /// The normal impulse of the substep before.
    pub before: f64,
    /// The impulse of pushing out.
    pub push: f64,
    /// The direction in which sweeps go on (`Heap::go_on`), and the impulse before the last sweep.
    pub way: [f64; 3],
    pub had: [f64; 3],
}

/// What a point does to itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Response {
    /// A unit along the normal to the normal, and to the tangents.
    own: f64,
    across: [f64; 2],
    /// What stops sliding: the inverse of the response of the tangents; and the largest response of a tangent.
    stop: [f64; 3],
    slip: f64,
}

impl HeapPoint {
    /// It goes on with its bodies: one place for both, so that angular momentum is kept.
    fn follow(&mut self, bodies: &[HeapBody], h: f64) {
        self.gap += h * self.speed(bodies)[0];
        let [a, b] = self.bodies.map(|k| &bodies[k as usize]);
        let way = match (a.inverse_mass > 0.0, b.inverse_mass > 0.0) {
            (true, true) => 0.5 * (a.velocity + b.velocity),
            (true, false) => a.velocity,
            _ => b.velocity,
        };
        self.arms[0] += (way - a.velocity) * h;
        self.arms[1] += (way - b.velocity) * h;
    }

    /// Speed along the frame.
    #[inline(always)]
    fn speed(&self, bodies: &[HeapBody]) -> [f64; 3] {
        let [a, b] = self.bodies.map(|k| &bodies[k as usize]);
        let speed = b.speed(self.arms[1]) - a.speed(self.arms[0]);
        self.frame.map(|d| d.dot(speed))
    }

    #[inline(always)]
    fn along(&self, x: [f64; 3]) -> Vector {
        self.frame[0] * x[0] + self.frame[1] * x[1] + self.frame[2] * x[2]
    }

    #[inline(always)]
    fn give(&self, bodies: &mut [HeapBody], impulse: [f64; 3]) {
        let p = self.along(impulse);
        bodies[self.bodies[0] as usize].push(1.0, -p, p.cross(self.arms[0]));
        bodies[self.bodies[1] as usize].push(1.0, p, self.arms[1].cross(p));
    }

    /// Its response to itself.
    fn prepare(&mut self, bodies: &[HeapBody]) {
        let [a, b] = self.bodies.map(|k| &bodies[k as usize]);
        let answer = |d: Vector| {
            let turn = |body: &HeapBody, arm: Vector| body.turn(arm.cross(d)).cross(arm);
            d * (a.inverse_mass + b.inverse_mass) + turn(a, self.arms[0]) + turn(b, self.arms[1])
        };
        let [n, s, t] = self.frame.map(answer);
        self.response.own = self.frame[0].dot(n);
        if !(self.response.own > 0.0) {
            // Nothing moves here.
            (self.response.own, self.response.slip) = (f64::INFINITY, f64::INFINITY);
            return;
        }
        self.response.across = [self.frame[1].dot(n), self.frame[2].dot(n)];
        // A little more than it is: rows that depend on each other have an inverse, too.
        let (ss, st, tt) = (self.frame[1].dot(s), self.frame[1].dot(t), self.frame[2].dot(t));
        let (ss, tt) = (ss * (1.0 + 1e-9), tt * (1.0 + 1e-9));
        let determinant = ss * tt - st * st;
        self.response.stop = [tt / determinant, -st / determinant, ss / determinant];
        let (mean, half) = (0.5 * (ss + tt), 0.5 * (ss - tt));
        self.response.slip = mean + (half * half + st * st).sqrt();
    }

    /// Brings its impulse nearer to the laws. The largest change, as a speed.
    #[inline(always)]
    fn relax(&mut self, bodies: &mut [HeapBody]) -> f64 {
        let v = self.speed(bodies);
        let had = self.force;
        let (give, own) = (self.coat_give, self.response.own);
        let normal = (had[0] - (v[0] + give * had[0] - self.low) / (own + give)).max(0.0);
        let step = normal - had[0];
        let mut next = [normal, 0.0, 0.0];
        let most = self.friction * normal;
        if most > 0.0 {
            let slide = [v[1] + self.response.across[0] * step, v[2] + self.response.across[1] * step];
            let s = &self.response.stop;
            let stop =
                [had[1] - s[0] * slide[0] - s[1] * slide[1], had[2] - s[1] * slide[0] - s[2] * slide[1]];
            if stop[0] * stop[0] + stop[1] * stop[1] <= most * most {
                (next[1], next[2]) = (stop[0], stop[1]);
            } else {
                let z = [had[1] - slide[0] / self.response.slip, had[2] - slide[1] / self.response.slip];
                let size = (z[0] * z[0] + z[1] * z[1]).sqrt();
                let share = if size > most { most / size } else { 1.0 };
                (next[1], next[2]) = (share * z[0], share * z[1]);
            }
        }
        if self.levers != [0.0; 2] {
            self.resist(bodies, normal);
        }
        let change = [step, next[1] - had[1], next[2] - had[2]];
        if change == [0.0; 3] {
            return 0.0;
        }
        self.force = next;
        self.give(bodies, change);
        (change[0].abs() * self.response.own).max((change[1].abs() + change[2].abs()) * self.response.slip)
    }
}

impl HeapPoint {
    /// What the last sweep changed, squared, as an energy.
    fn steepness(&self) -> f64 {
        if !(self.response.own < f64::INFINITY) {
            return 0.0;
        }
        let gone: [f64; 3] = std::array::from_fn(|k| self.force[k] - self.had[k]);
        gone[0] * gone[0] * self.response.own + (gone[1] * gone[1] + gone[2] * gone[2]) * self.response.slip
    }

    /// A step of the torques against spinning and rolling, within what the pressure allows.
    fn resist(&mut self, bodies: &mut [HeapBody], normal: f64) {
        let [a, b] = self.bodies.map(|k| &bodies[k as usize]);
        let spin = b.spin - a.spin;
        let most = |x: &HeapBody| x.inverse_inertia[0] + x.inverse_inertia[3] + x.inverse_inertia[5];
        let d = most(a) + most(b);
        if !(d > 0.0) {
            return;
        }
        let z: [f64; 3] = std::array::from_fn(|i| self.torque[i] - self.frame[i].dot(spin) / d);
        let next = within(&self.levers.map(|l| l * normal), &z);
        let change = self.along(std::array::from_fn(|i| next[i] - self.torque[i]));
        self.torque = next;
        bodies[self.bodies[0] as usize].push(1.0, Vector::ZERO, -change);
        bodies[self.bodies[1] as usize].push(1.0, Vector::ZERO, change);
    }

    /// What it asks in a substep of length `h`.
    fn ask(&mut self, h: f64) {
        self.torque = [0.0; 3];
        self.low = -self.gap.max(0.0) / h;
        if let Some(coat) = self.coat {
            let hold = h * coat.stiffness + coat.damping;
            self.coat_give = 1.0 / (h * hold);
            if self.gap < 0.0 {
                self.low = -self.gap * coat.stiffness / hold;
            }
        }
    }
}

/// Bodies and points of a heap.
#[derive(Default)]
pub(crate) struct Heap {
    pub bodies: Vec<HeapBody>,
    pub points: Vec<HeapPoint>,
    /// How far bodies have come since the points were found: their ways and turns.
    pub ways: Vec<(Vector, Vector)>,
    /// Velocities that are none: how far pushing out moves bodies.
    shift: Vec<HeapBody>,
    /// What the last sweep changed, squared, in units of energy; zero before the first one.
    steepness: f64,
}

/// The part of an overlap that is pushed out in one go, and sweeps for it.
const SHARE: f64 = 0.4;
const PUSHES: usize = 6;

impl Heap {
    /// Responses, once bodies and points are known.
    pub fn prepare(&mut self) {
        let Self { bodies, points, ways, .. } = self;
        points.iter_mut().for_each(|p| p.prepare(bodies));
        ways.clear();
        ways.resize(bodies.len(), (Vector::ZERO, Vector::ZERO));
    }

    /// A substep of length `h` begins: the impulses of the one before act again.
    pub fn warm_start(&mut self, h: f64) {
        let Self { bodies, points, steepness, .. } = self;
        *steepness = 0.0;
        for p in points.iter_mut() {
            (p.before, p.force) = (p.force[0], p.held);
            p.ask(h);
            if p.held[0] > 0.0 {
                p.give(bodies, p.held);
            }
        }
    }

    /// One sweep, forwards or backwards. The largest change, as a speed.
    pub fn sweep(&mut self, forwards: bool) -> f64 {
        let Self { bodies, points, .. } = self;
        points.iter_mut().for_each(|p| p.had = p.force);
        let mut worst = 0.0_f64;
        if forwards {
            for p in points {
                worst = worst.max(p.relax(bodies));
            }
        } else {
            for p in points.iter_mut().rev() {
                worst = worst.max(p.relax(bodies));
            }
        }
        worst
    }

    /// How fast points come together beyond what is asked, at most.
    pub fn worst_approach(&self) -> f64 {
        let lack = |p: &HeapPoint| p.low - p.coat_give * p.force[0] - p.speed(&self.bodies)[0];
        let moves = self.points.iter().filter(|p| p.response.own < f64::INFINITY);
        moves.map(lack).fold(0.0, f64::max)
    }

    /// Goes on in the direction of the sweeps so far, as a conjugate gradient would (Silcowitz-Hansen, Niebe, Erleben 2010): where heavy
    /// solids lie on light ones plain sweeps take as many rounds as the one outweighs the other. The next sweep takes back
    /// what leaves the cones, so that a sweep has to be the last.
    pub fn go_on(&mut self) {
        let Self { bodies, points, steepness, .. } = self;
        let steep = points.iter().map(HeapPoint::steepness).sum::<f64>();
        let share = if *steepness > 0.0 { steep / *steepness } else { f64::INFINITY };
        *steepness = steep;
        let restart = !(share <= 1.0);
        for p in points {
            let gone: [f64; 3] = std::array::from_fn(|k| p.force[k] - p.had[k]);
            if restart {
                p.way = gone;
                continue;
            }
            let further = p.way.map(|w| share * w);
            if further != [0.0; 3] {
                p.give(bodies, further);
                (0..3).for_each(|k| p.force[k] += further[k]);
            }
            p.way = std::array::from_fn(|k| further[k] + gone[k]);
        }
    }

    /// Bodies move on, and impulses are counted. What pushes in every substep is kept for the next one; a blow, which is
    /// there once and would be one again, is not: forces may double from substep to substep, and grow by what gives a
    /// solid the acceleration `calm`.
    pub fn advance(&mut self, h: f64, calm: f64) {
        for (b, way) in self.bodies.iter().zip(&mut self.ways) {
            way.0 += b.velocity * h;
            way.1 += b.spin * h;
        }
        for p in &mut self.points {
            p.follow(&self.bodies, h);
            (0..3).for_each(|k| p.total[k] += p.force[k]);
            let most = 2.0 * p.before + calm * h / p.response.own;
            let share = if p.force[0] > most { most / p.force[0] } else { 1.0 };
            p.held = p.force.map(|f| share * f);
        }
    }

    /// Sweeps that leave points at their `rebound`, over the impulses of the whole step. True when there was one to throw.
    pub fn rebound(&mut self, sweeps: usize) -> bool {
        let Self { bodies, points, .. } = self;
        let thrown = |p: &HeapPoint| p.rebound > 0.0 && p.total[0] > 0.0;
        if !points.iter().any(thrown) {
            return false;
        }
        for k in 0..sweeps {
            let blow = |p: &mut HeapPoint| {
                if thrown(p) {
                    let v = p.speed(bodies)[0];
                    let next = (p.total[0] - (v - p.rebound) / p.response.own).max(0.0);
                    p.give(bodies, [next - p.total[0], 0.0, 0.0]);
                    p.total[0] = next;
                }
            };
            if k % 2 == 0 {
                points.iter_mut().for_each(blow);
            } else {
                points.iter_mut().rev().for_each(blow);
            }
        }
        true
    }

    /// Takes overlaps apart, through the positions alone: a share of each, without friction. Motions go to
    /// `ways`; `lift` hears how far each body was moved.
    pub fn push_out(&mut self, mut lift: impl FnMut(usize, Vector)) {
        let Self { bodies, points, ways, shift, .. } = self;
        let mut deepest = 0.0_f64;
        for p in points.iter_mut() {
            p.push = 0.0;
            deepest = if p.coat.is_some() { deepest } else { deepest.max(-p.gap) };
        }
        if !(deepest > 0.0) {
            return;
        }
        shift.clear();
        shift.extend(bodies.iter().map(|b| HeapBody { velocity: Vector::ZERO, spin: Vector::ZERO, ..*b }));
        let ask = |p: &HeapPoint| if p.gap > 0.0 { -p.gap } else { (-SHARE * p.gap).min(p.most) };
        for k in 0..PUSHES {
            let part = |p: &mut HeapPoint| {
                if p.gap < deepest && p.coat.is_none() {
                    let v = p.speed(shift)[0];
                    let next = (p.push - (v - ask(p)) / p.response.own).max(0.0);
                    if next != p.push {
                        p.give(shift, [next - p.push, 0.0, 0.0]);
                        p.push = next;
                    }
                }
            };
            if k % 2 == 0 {
                points.iter_mut().for_each(part);
            } else {
                points.iter_mut().rev().for_each(part);
            }
        }
        for (i, (way, s)) in ways.iter_mut().zip(&*shift).enumerate() {
            way.0 += s.velocity;
            way.1 += s.spin;
            lift(i, s.velocity);
        }
        for p in points.iter_mut() {
            p.gap += p.speed(shift)[0];
        }
    }

    /// The largest distance from the laws in the substep, as a speed.
    pub fn residual(&self) -> f64 {
        let mut worst = 0.0;
        for p in &self.points {
            let mut v = p.speed(&self.bodies);
            v[0] += p.coat_give * p.force[0] - p.low;
            let d = [p.response.own, p.response.slip];
            let lack = contact_residual(&v, &p.force, p.friction, d, p.coat_give);
            worst = super::larger(worst, lack);
        }
        worst
    }
}
