//! Moving solids four at a time: the first half of a `variational` step in structure-of-arrays form.
//!
//! The arithmetic is that of `rotation.rs`, with a fixed number of terms and no trigonometry; four solids fill one wide
//! register, and the long chains of dependent operations of one solid hide behind each other. Multiplications and
//! additions stay separate, so that the bits are the same with and without wide registers. Particles go in packs of their
//! own: a straight line, and nothing that turns.

use super::free::Wrench;
use crate::math::four::{
    Four, Three, axes, cross, dot, into_body, minus, out_of_body, plus, symmetric, times, wide,
};
use crate::math::{Rotation, Vector};
use crate::rows::Masses;
use crate::state::State;

/// What is constant about four solids (upper triangle of the inertia in their own axes), and where they start the step.
#[derive(Clone, Debug, Default)]
struct Pack {
    solids: [u32; 4],
    /// Where they are among the nodes that turn.
    places: [u32; 4],
    inverse_mass: Four,
    mass: Four,
    /// One where the solid can turn, zero where not.
    turns: Four,
    /// Zero where a lane repeats the one before.
    once: Four,
    inertia: [Four; 6],
    inverse: [Four; 6],
    center: Three,
    rotation: [Four; 4],
    /// Columns of the rotation matrix.
    axes: [Three; 3],
    /// Momenta after the first half of the forces.
    linear: Three,
    angular: Three,
    /// The turn of the step in body axes, vector part of its quaternion: the last answer is the next guess.
    turn: Three,
}

/// Four particles: what moves, and nothing that turns.
#[derive(Clone, Debug, Default)]
struct Points {
    solids: [u32; 4],
    inverse_mass: Four,
    /// Zero where a lane repeats the one before.
    once: Four,
    center: Three,
    /// Momentum after the first half of the forces.
    linear: Three,
}

/// All movable solids in packs.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes {
    epoch: Option<u64>,
    packs: Vec<Pack>,
    points: Vec<Points>,
    energies: (f64, f64),
}

#[inline(always)]
fn load(solids: &[u32; 4], of: &[Vector]) -> Three {
    let v = solids.map(|i| of[i as usize]);
    [Four(v.map(|v| v.x)), Four(v.map(|v| v.y)), Four(v.map(|v| v.z))]
}

/// Newton's method for the turn as a unit quaternion `(v, w)`, `w = sqrt(1 - v^2)`: with half angles the equation of
/// `rotation.rs` is free of trigonometry, `h P / 2 = w I v + v x I v`. Tells `w`, or nothing when some lane has no answer.
#[inline(always)]
fn turn(inertia: &[Four; 6], impulse: Three, v: &mut Three, close: Four) -> Option<Four> {
    let (zero, one) = (Four::all(0.0), Four::all(1.0));
    let half = times(impulse, Four::all(0.5));
    let i = inertia;
    for _ in 0..12 {
        let x = dot(*v, *v);
        // The map folds over at a quarter turn: past it, solutions belong to another branch.
        if !x.all_at_most(Four::all(0.49)) {
            return None;
        }
        let w = (one - x).root();
        let i_v = symmetric(inertia, *v);
        let g = minus(plus(times(i_v, w), cross(*v, i_v)), half);
        let bend = times(i_v, one.over(w));
        // Columns of d/dv: w I e + v x I e - I v x e - I v v_e / w.
        let column = |own: Three, turned: Three, ve: Four| {
            minus(plus(times(own, w), minus(cross(*v, own), turned)), times(bend, ve))
        };
        let d = [
            column([i[0], i[1], i[2]], [zero, i_v[2], -i_v[1]], v[0]),
            column([i[1], i[3], i[4]], [-i_v[2], zero, i_v[0]], v[1]),
            column([i[2], i[4], i[5]], [i_v[1], -i_v[0], zero], v[2]),
        ];
        let (bc, ca, ab) = (cross(d[1], d[2]), cross(d[2], d[0]), cross(d[0], d[1]));
        let inverse = one.over(dot(d[0], bc));
        let delta = [dot(g, bc) * inverse, dot(g, ca) * inverse, dot(g, ab) * inverse];
        *v = minus(*v, delta);
        // Quadratic: what is left is of the order of this correction squared. Momentum is kept whatever is left.
        let x = dot(*v, *v);
        if dot(delta, delta).all_at_most(close * (Four::all(1e-7) + x)) {
            return x.all_at_most(Four::all(0.49)).then(|| (one - x).root());
        }
    }
    None
}

wide! {
    /// See [`Lanes::begin`].
    fn begin(packs: &mut [Pack], s: &State, forces: &[Wrench], h: f64) -> f64 {
        let half = Four::all(0.5 * h);
        let mut energy = Four::default();
        for p in packs {
            p.center = load(&p.solids, &s.centers);
            let q = p.places.map(|i| s.rotations.values()[i as usize]);
            p.rotation =
                [Four(q.map(|q| q.x)), Four(q.map(|q| q.y)), Four(q.map(|q| q.z)), Four(q.map(|q| q.w))];
            p.axes = axes(&p.rotation);
            let (push, twist) = wrenches(&p.solids, forces);
            p.linear = plus(times(load(&p.solids, &s.velocities), p.mass), times(push, half));
            let spin = into_body(&p.axes, load(&p.places, s.spins.values()));
            p.angular = plus(out_of_body(&p.axes, symmetric(&p.inertia, spin)), times(twist, half));
            p.turn = times(spin, half * p.turns);
            energy += kinetic(p, p.linear, into_body(&p.axes, p.angular));
        }
        energy.0.iter().sum()
    }
}

wide! {
    /// The same for particles.
    fn begin_points(points: &mut [Points], s: &State, masses: &Masses, forces: &[Wrench], h: f64) -> f64 {
        let half = Four::all(0.5 * h);
        let mut energy = Four::default();
        for p in points {
            p.center = load(&p.solids, &s.centers);
            let mass = Four(p.solids.map(|i| masses.mass(i as usize)));
            p.linear = plus(times(load(&p.solids, &s.velocities), mass), times(pushes(&p.solids, forces), half));
            energy += dot(p.linear, p.linear) * p.inverse_mass * p.once;
        }
        energy.0.iter().sum()
    }
}

wide! {
    /// Particles at the end of the step under these impulses. Tells twice their kinetic energy.
    fn place_points(points: &[Points], s: &mut State, impulses: &[Wrench], h: f64) -> f64 {
        let mut energy = Four::default();
        for p in points {
            let linear = plus(p.linear, pushes(&p.solids, impulses));
            let center = plus(p.center, times(linear, p.inverse_mass * Four::all(h)));
            energy += dot(linear, linear) * p.inverse_mass * p.once;
            for k in 0..4 {
                s.centers[p.solids[k] as usize] = Vector::new(center[0].0[k], center[1].0[k], center[2].0[k]);
            }
        }
        energy.0.iter().sum()
    }
}

wide! {
    /// See [`Lanes::place`].
    fn place(packs: &mut [Pack], s: &mut State, impulses: &[Wrench], h: f64, rough: bool) -> Option<f64> {
        let mut energy = Four::default();
        let close = Four::all(if rough { 1e-6 } else { 1e-10 });
        let step = Four::all(h);
        for p in packs {
            let (push, twist) = wrenches(&p.solids, impulses);
            let (linear, angular) = (plus(p.linear, push), into_body(&p.axes, plus(p.angular, twist)));
            let center = plus(p.center, times(linear, p.inverse_mass * step));
            let w = turn(&p.inertia, times(angular, step * p.turns), &mut p.turn, close)?;
            if !rough {
                energy += kinetic(p, linear, angular);
            }
            let rotation = turned(&p.rotation, p.turn, w);
            for k in 0..4 {
                let i = p.solids[k] as usize;
                s.centers[i] = Vector::new(center[0].0[k], center[1].0[k], center[2].0[k]);
                let q = rotation.map(|q| q.0[k]);
                s.rotations.values_mut()[p.places[k] as usize] = Rotation::from_xyzw(q[0], q[1], q[2], q[3]);
            }
        }
        Some(energy.0.iter().sum())
    }
}

/// Twice the kinetic energy of four solids, of momenta along the world's and the solids' own axes.
#[inline(always)]
fn kinetic(p: &Pack, linear: Three, angular: Three) -> Four {
    (dot(linear, linear) * p.inverse_mass + dot(angular, symmetric(&p.inverse, angular))) * p.once
}

/// The linear part alone.
#[inline(always)]
fn pushes(solids: &[u32; 4], of: &[Wrench]) -> Three {
    let f = solids.map(|i| of[i as usize].linear);
    [Four(f.map(|f| f.x)), Four(f.map(|f| f.y)), Four(f.map(|f| f.z))]
}

#[inline(always)]
fn wrenches(solids: &[u32; 4], of: &[Wrench]) -> (Three, Three) {
    let w = solids.map(|i| &of[i as usize]);
    (
        [Four(w.map(|w| w.linear.x)), Four(w.map(|w| w.linear.y)), Four(w.map(|w| w.linear.z))],
        [Four(w.map(|w| w.angular.x)), Four(w.map(|w| w.angular.y)), Four(w.map(|w| w.angular.z))],
    )
}

impl Lanes {
    /// Starts a step: poses, and momenta after `half` a step of the forces.
    pub fn begin(&mut self, s: &State, masses: &Masses, forces: &[Wrench], epoch: u64, h: f64) {
        if self.epoch != Some(epoch) {
            self.gather(masses);
            self.epoch = Some(epoch);
        }
        let points = begin_points(&mut self.points, s, masses, forces, h);
        self.energies = (begin(&mut self.packs, s, forces, h) + points, 0.0);
    }

    /// Looks for the turns from nothing again.
    pub fn restart(&mut self) {
        self.packs.iter_mut().for_each(|p| p.turn = Three::default());
    }

    fn gather(&mut self, masses: &Masses) {
        let moving = (0..masses.len() as u32).filter(|i| masses.moves(*i as usize));
        let (moving, points): (Vec<u32>, Vec<u32>) = moving.partition(|i| masses.width(*i as usize) == 6);
        // A pack that is not full repeats its last solid: the same numbers are written twice.
        let four = |chunk: &[u32]| -> [u32; 4] { std::array::from_fn(|k| chunk[k.min(chunk.len() - 1)]) };
        let once = |chunk: &[u32]| Four(std::array::from_fn(|l| f64::from(u8::from(l < chunk.len()))));
        self.points.clear();
        self.points.extend(points.chunks(4).map(|chunk| Points {
            solids: four(chunk),
            inverse_mass: Four(four(chunk).map(|i| masses.inverse_mass(i as usize))),
            once: once(chunk),
            ..Points::default()
        }));
        self.packs.clear();
        for chunk in moving.chunks(4) {
            let solids = four(chunk);
            let place = |i: u32| masses.places().of(i as usize).map_or(0, |at| at as u32);
            let of = |f: &dyn Fn(usize) -> f64| Four(solids.map(|i| f(i as usize)));
            let triangle = |f: &dyn Fn(usize, usize, usize) -> f64| {
                [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)].map(|(r, c)| of(&|i| f(i, r, c)))
            };
            // Whatever cannot turn has no spin either; any inertia leaves it so.
            let unit = |r, c| f64::from(u8::from(r == c));
            let inertia = |i, r, c| if masses.turns(i) { masses.inertia(i).col(c)[r] } else { unit(r, c) };
            let inverse = |i, r, c: usize| {
                if masses.turns(i) { masses.local_inverse_inertia(i).col(c)[r] } else { 0.0 }
            };
            self.packs.push(Pack {
                solids,
                places: solids.map(place),
                inverse_mass: of(&|i| masses.inverse_mass(i)),
                mass: of(&|i| masses.mass(i)),
                turns: of(&|i| f64::from(u8::from(masses.turns(i)))),
                once: once(chunk),
                inertia: triangle(&inertia),
                inverse: triangle(&inverse),
                ..Pack::default()
            });
        }
    }

    /// Poses at the end of the step under these impulses, or nearly so if `rough`. False when some solid turns too far for
    /// there to be an answer.
    pub fn place(&mut self, s: &mut State, impulses: &[Wrench], h: f64, rough: bool) -> bool {
        let energy = place(&mut self.packs, s, impulses, h, rough);
        let points = place_points(&self.points, s, impulses, h);
        self.energies.1 = energy.map_or(f64::INFINITY, |e| e + points);
        energy.is_some()
    }

    /// Twice the kinetic energy at the start of the step, and with the impulses of the last [`place`](Self::place) that was
    /// not rough.
    pub fn energies(&self) -> (f64, f64) {
        self.energies
    }

    /// Mass of everything that moves.
    pub fn mass(&self) -> f64 {
        let of_point = |p: &Points| {
            let mass = |k: usize| if p.once.0[k] > 0.0 { 1.0 / p.inverse_mass.0[k] } else { 0.0 };
            (0..4).map(mass).sum::<f64>()
        };
        self.packs.iter().map(|p| (p.mass * p.once).0.iter().sum::<f64>()).sum::<f64>()
            + self.points.iter().map(of_point).sum::<f64>()
    }

    /// Velocities from the momenta at the end of the first half, after `kick` of the forces at its end.
    pub fn velocities(
        &self,
        s: &mut State,
        impulses: &[Wrench],
        forces: &[Wrench],
        masses: &Masses,
        kick: f64,
    ) {
        for p in &self.points {
            for k in 0..4 {
                let i = p.solids[k] as usize;
                let linear = Vector::new(p.linear[0].0[k], p.linear[1].0[k], p.linear[2].0[k]);
                let linear = linear + impulses[i].linear + forces[i].linear * kick;
                s.velocities[i] = linear * p.inverse_mass.0[k];
            }
        }
        for p in &self.packs {
            for k in 0..4 {
                let i = p.solids[k] as usize;
                let of = |v: &Three| Vector::new(v[0].0[k], v[1].0[k], v[2].0[k]);
                let linear = of(&p.linear) + impulses[i].linear + forces[i].linear * kick;
                let angular = of(&p.angular) + impulses[i].angular + forces[i].angular * kick;
                s.velocities[i] = linear * p.inverse_mass.0[k];
                s.spins.values_mut()[p.places[k] as usize] = masses.inverse_inertia(i) * angular;
            }
        }
    }

    /// Puts solids back to where the step began.
    pub fn restore(&self, s: &mut State) {
        for p in &self.points {
            for k in 0..4 {
                s.centers[p.solids[k] as usize] =
                    Vector::new(p.center[0].0[k], p.center[1].0[k], p.center[2].0[k]);
            }
        }
        for p in &self.packs {
            for k in 0..4 {
                let i = p.solids[k] as usize;
                s.centers[i] = Vector::new(p.center[0].0[k], p.center[1].0[k], p.center[2].0[k]);
                let q = p.rotation.map(|q| q.0[k]);
                s.rotations.values_mut()[p.places[k] as usize] = Rotation::from_xyzw(q[0], q[1], q[2], q[3]);
            }
        }
    }
}

/// `q (v, w)`, a unit quaternion again.
#[inline(always)]
fn turned(q: &[Four; 4], v: Three, w: Four) -> [Four; 4] {
    let own = [q[0], q[1], q[2]];
    let around = plus(plus(times(own, w), times(v, q[3])), cross(own, v));
    let real = q[3] * w - dot(own, v);
    let size = Four::all(1.0).over((dot(around, around) + real * real).root());
    [around[0] * size, around[1] * size, around[2] * size, real * size]
}

#[cfg(test)]
mod tests {
    use super::super::rotation;
    use super::*;
    use crate::math::{Matrix, Random, exp};

    /// Four at a time and one at a time agree.
    #[test]
    fn packs_agree_with_single_solids() {
        let mut r = Random::new(3);
        let mut m = crate::Mechanism::new();
        m.gravity = Vector::ZERO;
        for i in 0..7 {
            let size = Vector::new(1.0, 0.5, 0.3) + r.cube() * 0.2;
            let shape = crate::PlacedShape::cuboid(size.x, size.y, size.z)
                .moved(crate::Pose::from_parts(Vector::ZERO, exp(r.ball())));
            let mut solid = crate::Solid::new(format!("s{i}")).with_shape(shape, 1.0 + i as f64);
            solid.velocity = r.cube();
            solid.spin = r.cube() * if i < 4 { 2.0 } else { 30.0 };
            m.add_solid(solid.turned(exp(r.ball() * 2.0))).unwrap();
        }
        m.add_solid(crate::Solid::particle("p", 2.0)).unwrap();
        let start = State::new(&m);
        let masses = Masses::new(&m, &start);
        let h = 0.02;
        let impulses: Vec<Wrench> =
            (0..9).map(|_| Wrench { linear: r.cube(), angular: r.cube() * 0.05 }).collect();
        let none = vec![Wrench::default(); 9];
        let (mut lanes, mut s) = (Lanes::default(), start.clone());
        lanes.begin(&s, &masses, &none, m.epoch(), h);
        assert!(lanes.place(&mut s, &impulses, h, false));
        for i in 1..8 {
            let q = start.rotations[i];
            let world = Matrix::from_quat(q);
            let inertia = *masses.inertia(i);
            let l = world * (inertia * (world.transpose() * start.spins[i])) + impulses[i].angular;
            let body = world.transpose() * l * h;
            let f = rotation::moser_veselov(&inertia, body, world.transpose() * start.spins[i] * h).unwrap();
            let expected = (q * rotation::turn(f)).normalize();
            let off = (expected * Vector::X - s.rotations[i] * Vector::X).length();
            assert!(off < 1e-13, "{i}: {off:e}");
            let center = start.centers[i]
                + (start.velocities[i] * masses.mass(i) + impulses[i].linear) * (h * masses.inverse_mass(i));
            assert!((center - s.centers[i]).length() < 1e-14);
        }
        assert_eq!(s.rotations[8], start.rotations[8]);
        // Too fast for the step.
        let mut fast = start.clone();
        fast.spins[3] = Vector::new(200.0, 0.0, 0.0);
        lanes.begin(&fast, &masses, &none, m.epoch(), h);
        assert!(!lanes.place(&mut s, &impulses, h, false));
    }
}
