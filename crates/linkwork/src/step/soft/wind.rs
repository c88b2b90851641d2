//! Wind: air that moves past the faces of soft bodies pushes each of them along its normal.
//!
//! A face of area `A` and normal `n` that meets air of density `rho` at the relative speed `s = n.(w - v)`, `v` being the mean
//! of its corners' velocities, feels
//! ```text
//!     F = 1/2 rho A |s| s n
//! ```
//! shared by its corners. Over a step `v` is the mean velocity `(x - x0)/h`, so that what hangs still or falls steadily feels
//! exactly this; with the normal of the start the part before the middle is then the gradient of something,
//! ```text
//!     Phi += late h^3 rho A/2 |s|^3 / 3
//! ```
//! which is convex: no wind is too strong, no sheet too light. The part after the middle is taken along the new normal. A face that
//! air takes along within a step (`late` near one) feels everything before the middle: otherwise its speed would ring about that of the
//! air.

use super::factor;
use super::{NONE, Soft};
use crate::force::Air;
use crate::math::Vector;
use crate::mechanism::Mechanism;
use crate::rows::Wrench;
use crate::soft::SoftBody;
use crate::state::State;

/// A face in the wind.
#[derive(Clone, Copy, Debug, Default)]
struct Sail {
    solids: [u32; 3],
    nodes: [u32; 3],
    normal: Vector,
    /// `1/2 rho A`, and the share of its impulse before the middle.
    drag: f64,
    late: f64,
    /// Relative speed along the normal.
    speed: f64,
}

/// Air around the soft bodies of an island.
#[derive(Default)]
pub(super) struct Wind {
    air: Option<Air>,
    sails: Vec<Sail>,
    /// Work that the air did in the step, and how much of it may be unsure.
    work: f64,
    unsure: f64,
}

/// Normal of a face and twice its area.
fn span(p: [Vector; 3]) -> (Vector, f64) {
    let n = (p[1] - p[0]).cross(p[2] - p[0]);
    (n.normalize_or_zero(), n.length())
}

/// Force on a face.
fn force(air: &Air, p: [Vector; 3], v: Vector) -> Vector {
    let (n, twice) = span(p);
    let s = n.dot(air.wind - v);
    n * (0.25 * air.density * twice * s.abs() * s)
}

/// Faces of a soft body by solids.
fn faces(soft: &SoftBody) -> impl Iterator<Item = [u32; 3]> + '_ {
    soft.mesh.triangles.iter().map(|t| t.map(|k| soft.vertex(k).0))
}

/// Velocities as air meets them: what is fixed has none.
fn mean_velocity(m: &Mechanism, s: &State, face: [u32; 3]) -> Vector {
    let of = |i: u32| {
        if m.solids()[i as usize].is_fixed() { Vector::ZERO } else { s.velocities[i as usize] }
    };
    (of(face[0]) + of(face[1]) + of(face[2])) / 3.0
}

/// Forces of the air at a state, as explicit methods have them.
pub(super) fn explicit(m: &Mechanism, s: &State, out: &mut [Wrench]) {
    let Some(air) = m.air() else { return };
    for face in m.softs().iter().flat_map(faces) {
        let f = force(air, face.map(|i| s.centers[i as usize]), mean_velocity(m, s, face)) / 3.0;
        face.into_iter().for_each(|i| out[i as usize].linear += f);
    }
}

/// Work of the air over a step of length `h` as explicit methods have it, and how much of it may be unsure.
fn explicit_work(m: &Mechanism, [start, end]: [&State; 2], h: f64) -> (f64, f64) {
    let Some(air) = m.air() else { return (0.0, 0.0) };
    let (mut work, mut unsure) = (0.0, 0.0);
    for face in m.softs().iter().flat_map(faces) {
        for s in [start, end] {
            let v = mean_velocity(m, s, face);
            let f = force(air, face.map(|i| s.centers[i as usize]), v);
            let light = face.iter().map(|i| 1.0 / m.solids()[*i as usize].mass.mass).fold(0.0, f64::max);
            work += 0.5 * h * f.dot(v);
            unsure += h * f.dot(v).abs() + h * h * f.length_squared() * light;
        }
    }
    (work, unsure)
}

/// How strongly air accelerates some vertex of a body at most: for boxes that it stays in. In a step of length `h` nothing gets
/// faster than the air by it.
pub(crate) fn most_pull(m: &Mechanism, soft: &SoftBody, s: &State, h: f64) -> f64 {
    let Some(air) = m.air() else { return 0.0 };
    let mut most = 0.0_f64;
    for face in faces(soft) {
        let (n, twice) = span(face.map(|i| s.centers[i as usize]));
        let speed = n.dot(air.wind - mean_velocity(m, s, face)).abs();
        let mass = face.into_iter().map(|i| m.solids()[i as usize].mass.mass).fold(f64::INFINITY, f64::min);
        // Six faces about a vertex, a third of each.
        let pull = 0.5 * air.density * twice * speed * speed / mass;
        most = most.max(pull.min(speed / h));
    }
    most
}

impl Soft {
    /// There is air.
    pub(super) fn is_blown(&self) -> bool {
        self.wind.air.is_some()
    }

    /// What air does is counted from here on, over all substeps.
    pub fn begin_wind_work(&mut self) {
        (self.wind.work, self.wind.unsure) = (0.0, 0.0);
    }

    /// Begins a step in the air that there is. Tells how strongly it pulls at most.
    pub fn begin_wind(&mut self, m: &Mechanism, s: &State, h: f64) -> f64 {
        let mut wind = std::mem::take(&mut self.wind);
        wind.air = m.air().copied();
        if wind.air.is_some() && wind.sails.is_empty() {
            for solids in m.softs().iter().flat_map(faces) {
                let nodes = solids.map(|i| self.nodes[i as usize]);
                if nodes != [NONE; 3] {
                    wind.sails.push(Sail { solids, nodes, ..Sail::default() });
                }
            }
        }
        let mut most = 0.0_f64;
        match wind.air {
            None => wind.sails.clear(),
            Some(air) => {
                for sail in &mut wind.sails {
                    most = most.max(self.spread(sail, &air, m, s, h));
                }
            }
        }
        self.wind = wind;
        most
    }

    fn spread(&self, sail: &mut Sail, air: &Air, m: &Mechanism, s: &State, h: f64) -> f64 {
        let (normal, twice) = span(sail.solids.map(|i| s.centers[i as usize]));
        let speed = normal.dot(air.wind - mean_velocity(m, s, sail.solids));
        let own = sail.nodes.iter().filter(|n| **n != NONE).map(|n| self.masses[*n as usize]);
        let light = own.fold(f64::INFINITY, f64::min);
        (sail.normal, sail.drag) = (normal, 0.25 * air.density * twice);
        sail.speed = speed;
        // Six faces about a vertex, a third of each.
        let y = 2.0 * h * sail.drag * speed.abs() / light;
        sail.late = 0.5 + 0.5 * (y / (1.0 + y)).powi(2);
        (2.0 * sail.drag * speed * speed / light).min(speed.abs() / h)
    }

    fn carried_by(&self, sail: &Sail, held: &State) -> Vector {
        let way = |k: usize| {
            let i = sail.solids[k] as usize;
            let at = if sail.nodes[k] == NONE { held.centers[i] } else { self.x[sail.nodes[k] as usize] };
            at - self.origin[i]
        };
        (way(0) + way(1) + way(2)) / 3.0
    }

    /// Speeds of the air with the vertices at `x`, and its share of `Phi`.
    pub(super) fn blow(&mut self, held: &State) -> f64 {
        let Some(air) = self.wind.air else { return 0.0 };
        let (h, mut sum) = (self.h, 0.0);
        for k in 0..self.wind.sails.len() {
            let sail = self.wind.sails[k];
            let speed = sail.normal.dot(air.wind - self.carried_by(&sail, held) / h);
            self.wind.sails[k].speed = speed;
            sum += sail.late * sail.drag * speed.abs().powi(3) / 3.0;
        }
        sum * h * h * h
    }

    /// Its share of the matrix.
    pub(super) fn linearise_wind(&mut self) {
        for k in 0..self.wind.sails.len() {
            let sail = self.wind.sails[k];
            let along = 2.0 * self.h * sail.late * sail.drag * sail.speed.abs() / 9.0;
            let b = factor::stiffness(sail.normal, along, 0.0);
            let moving = || sail.nodes.into_iter().filter(|n| *n != NONE);
            let pairs = [(0, 1), (0, 2), (1, 2)].map(|(i, j)| (sail.nodes[i], sail.nodes[j]));
            let places = pairs.map(|(a, c)| if a == NONE || c == NONE { None } else { self.place_of(a, c) });
            // Pairs that have no place in it are outweighed on the diagonal.
            let coupled =
                pairs.iter().zip(&places).all(|((a, c), at)| *a == NONE || *c == NONE || at.is_some());
            let count = moving().count() as f64;
            let diagonal = if coupled { b } else { b.map(|x| x * count) };
            moving().for_each(|n| self.factor.add_diagonal(n as usize, &diagonal));
            if coupled {
                for place in places.into_iter().flatten() {
                    self.factor.couple(place, &b.map(|x| -x));
                }
            }
        }
    }

    /// Its impulses before the middle of the step.
    pub(super) fn collect_wind(&mut self) {
        for sail in &self.wind.sails {
            let f = sail.speed.abs() * sail.speed;
            let p = sail.normal * (self.h * sail.late * sail.drag * f / 3.0);
            for n in sail.nodes.into_iter().filter(|n| *n != NONE) {
                self.inner[n as usize] += p;
            }
        }
    }

    /// The impulses after the middle, and the work of both.
    pub(super) fn blow_again(&mut self, held: &State, half: &mut [Vector]) {
        let Some(air) = self.wind.air else { return };
        let (mut work, mut unsure) = (0.0, 0.0);
        for sail in &self.wind.sails {
            let way = self.carried_by(sail, held);
            let first = sail.normal * (sail.late * sail.drag * sail.speed.abs() * sail.speed);
            let places = |k: usize| match sail.nodes[k] {
                NONE => held.centers[sail.solids[k] as usize],
                n => self.x[n as usize],
            };
            let second = force(&air, [places(0), places(1), places(2)], way / self.h) * (1.0 - sail.late);
            let own = |n: &u32| *n != NONE;
            for n in sail.nodes.into_iter().filter(own).map(|n| n as usize) {
                half[n] += second * (self.h / 3.0);
                let push = (first + second) * (self.h / 3.0);
                unsure += push.length_squared() / self.masses[n];
            }
            // Corners that are held have no way.
            let done = (first + second).dot(way);
            work += done;
            unsure += 2.0 * done.abs();
        }
        self.wind.work += work;
        self.wind.unsure += unsure;
    }

    /// Work that the air did in the step, and how much of it may be unsure.
    pub fn wind_work(&self, m: &Mechanism, states: [&State; 2], h: f64) -> (f64, f64) {
        match self.wind.air {
            Some(_) => (self.wind.work, self.wind.unsure),
            None => explicit_work(m, states, h),
        }
    }
}
