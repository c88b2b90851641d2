//! How heavy a grabbed point is: what a hand has to move, with all that the joints make go along.

use crate::graph::Island;
use crate::math::{Matrix, Vector, eigenvalues};
use crate::mechanism::Mechanism;
use crate::rows::{Masses, Rows};
use crate::solid::SolidId;
use crate::solve::{Problem, SolverKind, Work};
use crate::state::State;

/// Directions this many times heavier than the lightest one count as those in which nothing moves at all.
const BLOCKED: f64 = 100.0;

/// The mass in the heaviest direction in which the point can move. A spring that is critically damped for it is so or more
/// in every other direction.
pub(super) fn effective_mass(
    m: &Mechanism,
    s: &State,
    island: Option<&Island>,
    solid: SolidId,
    point: Vector,
) -> f64 {
    let k = mobility(m, s, island, solid, point);
    let own = m.solid(solid).mass.mass;
    let e = eigenvalues(k);
    let lightest = e.into_iter().fold(0.0, f64::max);
    let heaviest = e.into_iter().filter(|e| e * BLOCKED >= lightest).fold(lightest, f64::min);
    // Where nothing can move at all, the force that counts is that of the solid itself.
    if heaviest.is_finite() && heaviest * own > 1e-9 { 1.0 / heaviest } else { own }
}

/// `K`, the velocity that a unit impulse at the point gives it: `P (M^-1 - M^-1 J^T A^-1 J M^-1) P^T`, with the joints that
/// hold now. Rows with an interval are open here.
fn mobility(m: &Mechanism, s: &State, island: Option<&Island>, solid: SolidId, point: Vector) -> Matrix {
    let masses = Masses::new(m, s);
    let i = solid.index();
    let arm = point - s.centers[i];
    // Columns of M^-1 P^T: what an impulse along an axis does to the free solid.
    let free = [Vector::X, Vector::Y, Vector::Z].map(|e| {
        let v = e * masses.inverse_mass(i);
        let w = masses.inverse_inertia(i) * arm.cross(e);
        [v.x, v.y, v.z, w.x, w.y, w.z]
    });
    let at_point = |q: &[f64; 6]| Vector::new(q[0], q[1], q[2]) + Vector::new(q[3], q[4], q[5]).cross(arm);
    let mut k = Matrix::from_cols(at_point(&free[0]), at_point(&free[1]), at_point(&free[2]));
    let Some(island) = island else { return k };
    let mut rows = Rows::default();
    rows.fill(m, s, s.time, island.joints.iter().copied(), |_| crate::joint::Rank::Primary);
    let active: Vec<bool> = (0..rows.len()).map(|r| rows.is_equality(r)).collect();
    let mut solver = SolverKind::SparseDirect.make();
    solver.factor(&Problem { rows: &rows, masses: &masses, active: &active, damping: None });
    let mut dq = vec![[0.0; 6]; m.solids().len()];
    let (mut b, mut lambda) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
    for axis in 0..3 {
        dq.fill([0.0; 6]);
        dq[i] = free[axis];
        rows.apply(&dq, &mut b);
        for (b, on) in b.iter_mut().zip(&active) {
            *b = if *on { *b } else { 0.0 };
        }
        lambda.fill(0.0);
        solver.solve(&b, &mut lambda, &Work::default());
        dq.fill([0.0; 6]);
        rows.apply_transposed(&lambda, &masses, &mut dq);
        *k.col_mut(axis) -= at_point(&dq[i]);
    }
    k
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;

    fn mass(text: &str, solid: &str, point: [f64; 3]) -> f64 {
        let (scene, _) = crate::scene::load(text, &mut |_| Err(String::new()));
        let m = scene.unwrap().mechanism;
        let (s, graph) = (State::new(&m), Graph::new(&m));
        let id = m.find(solid).unwrap();
        let island = graph.islands.iter().find(|i| i.place(id).is_some());
        let point = s.pose(&m, id).transform_point(Vector::from_array(point));
        effective_mass(&m, &s, island, id, point)
    }

    #[test]
    fn known_masses() {
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-6, "{a} {b}");
        // A free solid: nothing is heavier than along the line through its centre.
        near(mass("solid a: shape sphere 0.2; mass 3; end", "a", [0.0; 3]), 3.0);
        near(mass("solid a: shape sphere 0.2; mass 3; end", "a", [0.2, 0.0, 0.0]), 3.0);
        // On a pin: the moment about it over the square of the distance, (1/12 * 2 * (1 + 0.01) + 2 * 0.25) / 0.81.
        let arm =
            "solid a: shape box 1 0.1 0.1; mass 2; end joint pin; object2 a; frame2 -0.5 0 0 axis 0 0 1; end";
        near(mass(arm, "a", [0.4, 0.0, 0.0]), (2.0 * 1.01 / 12.0 + 0.5) / 0.81);
        // A light tip welded to a heavy block is as heavy as the block.
        let tip = "solid block: shape sphere 0.5; mass 100; end solid tip: shape sphere 0.1; mass 0.01; at 0 0 0; end
joint weld; object1 block; object2 tip; end";
        near(mass(tip, "tip", [0.0; 3]), 100.01);
        // On a straight rail only along it.
        let rail = "solid a: shape sphere 0.1; mass 5; end joint slider; object2 a; frame1 0 0 0 axis 1 0 0; frame2 0 0 0 axis 1 0 0; end";
        near(mass(rail, "a", [0.0, 0.05, 0.0]), 5.0);
        // And where nothing moves, its own.
        near(mass("solid a: shape sphere 0.1; mass 5; end joint weld; object2 a; end", "a", [0.0; 3]), 5.0);
    }
}
