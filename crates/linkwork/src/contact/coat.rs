//! Soft coats (Gascuel 1994, section 5.1): a layer between two solids that gives way, a spring and a damper per point of
//! contact that push and never pull.
//!
//! With stiffness `k`, damping `c`, energy `U(g) = k/2 min(g, 0)^2` and a gap that goes from `g` to `e` within a step `h`:
//! ```text
//!     F = (U(g) - U(e)) / (e - g)  -  c s / h,        s: the part of the way that lies in the coat,      F >= 0
//! ```
//! A discrete gradient (Gonzalez 1996; for contact Laursen and Chawla 1997). The same force in both halves of a step takes
//! exactly what the coat stores, whether the solid stays in the coat, comes in or leaves within the step: no stiffness and
//! no landing makes energy, and where it stays inside this is the midpoint rule, of second order.
//!
//! Coats too stiff for the step, by `y = (w h / 2)^2` for a frequency `w` of the point alone, are damped by
//! `k h/2 y^4 / (1 + y^4)`, and the speed at the end of the step as well: in the limit that is a rigid surface without
//! restitution. Soft rows have the same rule with a lower power (`IslandWork::damp_unresolved_modes`); they need it earlier,
//! since their forces of both halves differ.

use crate::material::Material;
use crate::math::Pose;
use crate::mechanism::Mechanism;
use crate::state::State;

use super::{Colliders, Narrow, Point};

/// Stiffness and damping of what lies between two solids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coat {
    pub stiffness: f64,
    pub damping: f64,
}

impl Coat {
    /// The coat of a material, if it has one.
    pub fn of(m: &Material) -> Option<Self> {
        m.stiffness.map(|stiffness| Self { stiffness, damping: m.damping })
    }

    /// One coat on the other: forces are the same, dents add up. Two dampers in series with springs are no damper; this one
    /// takes as much as both do when the dent changes slowly.
    pub fn in_series(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
        // Shares of the dent; so that nothing overflows.
        let share = b.stiffness / (a.stiffness + b.stiffness);
        let rest = 1.0 - share;
        Some(Self {
            stiffness: a.stiffness * share,
            damping: a.damping * share * share + b.damping * rest * rest,
        })
    }

    /// What a dent stores.
    pub fn energy(&self, p: &Point) -> f64 {
        0.5 * self.stiffness * (1.0 - p.faint) * p.gap.min(0.0).powi(2)
    }

    /// What is left of it at a point that lacks a part.
    pub fn at(&self, faint: f64) -> Self {
        let share = (1.0 - faint).max(1e-6);
        Self { stiffness: share * self.stiffness, damping: share * self.damping }
    }

    /// The coat over a step, at a point where a unit of impulse makes the speed `mobility`.
    pub fn over(&self, h: f64, mobility: f64) -> CoatStep {
        let y = 0.25 * self.stiffness * mobility * h * h;
        let x = 0.5 * self.damping * mobility * h;
        let unresolved = |x: f64| if x > 0.0 { 1.0 / (1.0 + (1.0 / x).powi(4)) } else { 0.0 };
        let numerical = 0.5 * self.stiffness * h * unresolved(y);
        CoatStep {
            h,
            stiffness: self.stiffness,
            damping: self.damping + numerical,
            brake: (numerical + self.damping * unresolved(x)).max(NEARLY_NONE / (mobility * h)),
        }
    }
}

/// A brake so weak that nobody sees it: rows need some.
const NEARLY_NONE: f64 = 1e-8;
/// The least slope of a force that is assumed while it is searched for, in units of the stiffness: what has just touched
/// gives no idea of how deep it will come.
const LEAST_SLOPE: f64 = 0.05;

/// A coat over a step of length `h`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CoatStep {
    h: f64,
    stiffness: f64,
    /// Over the step, and of the speed at its end.
    damping: f64,
    brake: f64,
}

impl CoatStep {
    /// The mean force over a step in which the gap goes `from` here `to` there, and by how much it falls with the latter.
    pub fn force(&self, from: f64, to: f64) -> (f64, f64) {
        let k = self.stiffness;
        let (spring, slope, inside, edge) = match (from < 0.0, to < 0.0) {
            (true, true) => (-0.5 * k * (from + to), 0.5 * k, to - from, 1.0),
            (false, true) => {
                let way = from - to;
                (0.5 * k * to * to / way, -0.5 * k * to * (from + way) / (way * way), to, 1.0)
            }
            (true, false) => {
                let way = to - from;
                (0.5 * k * from * from / way, 0.5 * k * (from / way).powi(2), -from, 0.0)
            }
            (false, false) => (0.0, 0.0, 0.0, 0.0),
        };
        let force = spring - self.damping * inside / self.h;
        let slope = slope + edge * self.damping / self.h;
        if force > 0.0 { (force, slope) } else { (0.0, 0.0) }
    }

    /// What a point asks of its displacement in the position stage, beyond where it has come to: `change + give l >= low`,
    /// with multipliers `l = F h^2 / 2`.
    pub fn ask(&self, from: f64, to: f64) -> (f64, f64) {
        let (force, slope) = self.force(from, to);
        let unit = 0.5 * self.h * self.h;
        if force > 0.0 {
            let give = 1.0 / (unit * slope.max(LEAST_SLOPE * self.stiffness));
            return (give * unit * force, give);
        }
        // Nothing pushes yet, or any more: on the way back it would from here on. As if all of it were inside, which is
        // stiffer than it is, so that no guess comes too deep.
        let (half, hold) = (0.5 * self.stiffness, self.damping / self.h);
        let begins = if !(from < 0.0) {
            0.0
        } else if hold >= half {
            from * (hold - half) / (hold + half)
        } else {
            from * (1.0 - half / hold)
        };
        ((begins - to).min(0.0), 1.0 / (unit * (half + hold)))
    }

    /// What a unit of impulse gives way in the velocity stage: `v + give m = give L`, `L` the impulse of the first half.
    pub fn velocity_give(&self) -> f64 {
        2.0 / (self.h * self.brake)
    }
}

/// Energy in the coats of a mechanism, for who measures states.
#[derive(Default)]
pub(crate) struct Dents {
    /// Of which mechanism the colliders are.
    epoch: Option<u64>,
    colliders: Colliders,
    narrow: Narrow,
    points: Vec<Point>,
}

impl Dents {
    /// Energy that the dents at `s` store: of pairs that push, as the state remembers. By methods without contact none does.
    pub fn energy(&mut self, m: &Mechanism, s: &State) -> f64 {
        if m.materials.iter().all(|x| x.stiffness.is_none()) {
            return 0.0;
        }
        if self.epoch != Some(m.epoch()) {
            self.epoch = Some(m.epoch());
            self.colliders = Colliders::new(m);
        }
        let Self { colliders, narrow, points, .. } = self;
        let (mut sum, mut last) = (0.0, None);
        for known in s.memory.islands.iter().flat_map(|i| &i.contacts) {
            // In the order of their shapes.
            if last == Some(known.key.shapes) {
                continue;
            }
            last = Some(known.key.shapes);
            let [Some(a), Some(b)] = known.key.shapes.map(|k| colliders.all.get(k as usize)) else {
                continue;
            };
            if let Some(coat) = colliders.surface(a, b).coat {
                let [pa, pb] = [a, b].map(|c| {
                    let i = c.solid.index();
                    Pose::from_parts(s.centers[i], s.rotations[i])
                });
                points.clear();
                narrow.points(a, &pa, b, &pb, 0.0, points);
                sum += points.iter().map(|p| coat.energy(p)).sum::<f64>();
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a coat takes and gives back over a way is what it stores, wherever the way begins and ends.
    #[test]
    fn work_is_what_is_stored() {
        let coat = Coat { stiffness: 300.0, damping: 0.0 };
        let step = CoatStep { h: 0.01, stiffness: 300.0, damping: 0.0, brake: 0.0 };
        for from in [-0.3, -0.1, 0.0, 0.2] {
            for to in [-0.5, -0.1, 0.0, 0.1] {
                let work = step.force(from, to).0 * (to - from);
                let [one, two] = [from, to].map(|gap| coat.energy(&Point { gap, ..Point::default() }));
                let stored = one - two;
                assert!((work - stored).abs() < 1e-12, "{from} to {to}: {work} instead of {stored}");
            }
        }
    }

    /// The slope is the derivative, and with damping the force falls as the gap opens, to nothing and not below.
    #[test]
    fn forces_fall_as_gaps_open() {
        let step = CoatStep { h: 0.01, stiffness: 300.0, damping: 2.0, brake: 0.0 };
        for from in [-0.3, -0.1, 0.05, 0.2] {
            let mut last = f64::INFINITY;
            for k in 0..200 {
                let to = -0.497 + 0.005 * f64::from(k);
                let (force, slope) = step.force(from, to);
                assert!(force >= 0.0 && force <= last);
                last = force;
                let near = [1e-7, -1e-7].map(|d| step.force(from, to + d).0);
                if near[0] > 0.0 && (to.abs() > 1e-6) {
                    let rate = (near[1] - near[0]) / 2e-7;
                    assert!((rate - slope).abs() < 1e-4 * slope + 1e-3, "{from} to {to}: {rate} and {slope}");
                }
            }
        }
    }

    #[test]
    fn two_coats_are_a_softer_one() {
        let (a, b) = (Coat { stiffness: 300.0, damping: 3.0 }, Coat { stiffness: 600.0, damping: 6.0 });
        let both = Coat::in_series(Some(a), Some(b)).unwrap();
        assert!((both.stiffness - 200.0).abs() < 1e-9);
        // Where both have the same ratio of damping to stiffness it is a coat of that ratio exactly.
        assert!((both.damping - 2.0).abs() < 1e-9);
        assert_eq!(Coat::in_series(None, Some(b)), Some(b));
        assert_eq!(Coat::in_series(None, None), None);
    }
}
