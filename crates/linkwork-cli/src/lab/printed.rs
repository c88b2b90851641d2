//! Faure 1998 to the letter, where the library knows better: plain conjugate gradients that hand back what they have when
//! the budget is spent, and the step of section 4.2 around them.
//!
//! The library's iterative solvers keep the iterate with the smallest largest residual. That is safe on conflicts, but with
//! a budget of five iterations it can be the zero that they started from, frame after frame. The paper's last iterate is
//! nearer to the solution in the metric of the masses, whatever its largest residual.

use super::tools::{Budget, Corrector};
use linkwork::math::{exp, log};
use linkwork::rows::{Masses, Rows};
use linkwork::solve::{LinearSolver, Problem, SolveReport, Stop, Work};
use linkwork::{Kernel, Mechanism, State};

/// Conjugate gradients with the diagonal as preconditioner (Numerical Recipes' choice). On this symmetric matrix the
/// paper's biconjugate gradients are the same at twice the cost.
#[derive(Default)]
pub struct ConjugateGradients {
    rows: Rows,
    masses: Masses,
    active: Vec<bool>,
    diagonal: Vec<f64>,
    dq: Vec<[f64; 6]>,
}

impl ConjugateGradients {
    fn multiply(&mut self, x: &[f64], out: &mut [f64]) {
        self.dq.iter_mut().for_each(|q| *q = [0.0; 6]);
        self.rows.apply_transposed(x, &self.masses, &mut self.dq);
        self.rows.apply(&self.dq, out);
        for (o, active) in out.iter_mut().zip(&self.active) {
            if !active {
                *o = 0.0;
            }
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

impl LinearSolver for ConjugateGradients {
    fn analyse(&mut self, _: &Rows, _: &Masses) {}

    fn factor(&mut self, p: &Problem) {
        self.rows.clone_from(p.rows);
        self.masses.clone_from(p.masses);
        self.active = (0..p.rows.len()).map(|r| p.is_active(r)).collect();
        self.dq = vec![[0.0; 6]; p.masses.len()];
        self.diagonal = vec![1.0; p.rows.len()];
        for g in &p.rows.groups {
            for r in g.range() {
                let of = |side: usize| -> f64 {
                    let half = &p.rows.row(r)[side];
                    let pushed = p.masses.accelerate(g.solids[side], half);
                    half.iter().zip(pushed).map(|(a, b)| a * b).sum()
                };
                let sum = of(0) + of(1);
                self.diagonal[r] = if sum > 0.0 { sum } else { 1.0 };
            }
        }
    }

    fn solve(&mut self, b: &[f64], x: &mut [f64], work: &Work) -> SolveReport {
        let n = b.len();
        x.fill(0.0);
        let mut r: Vec<f64> = b.iter().zip(&self.active).map(|(b, a)| if *a { *b } else { 0.0 }).collect();
        let mut z: Vec<f64> = r.iter().zip(&self.diagonal).map(|(r, d)| r / d).collect();
        let (mut p, mut ap) = (z.clone(), vec![0.0; n]);
        let mut rz = dot(&r, &z);
        let (mut iterations, mut stop) = (0, Stop::Iterations);
        while iterations < work.iterations {
            if largest(&r) <= work.tolerance {
                stop = Stop::Tolerance;
                break;
            }
            if work.out_of_time.is_some_and(|f| f()) {
                stop = Stop::Time;
                break;
            }
            self.multiply(&p, &mut ap);
            let curvature = dot(&p, &ap);
            if !(curvature > 0.0) {
                stop = Stop::LeastSquares;
                break;
            }
            let alpha = rz / curvature;
            for i in 0..n {
                x[i] += alpha * p[i];
                r[i] -= alpha * ap[i];
            }
            iterations += 1;
            z.iter_mut().zip(&r).zip(&self.diagonal).for_each(|((z, r), d)| *z = r / d);
            let next = dot(&r, &z);
            let beta = next / rz;
            rz = next;
            p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + beta * *p);
        }
        SolveReport { residual: largest(&r), iterations, stop }
    }

    fn name(&self) -> &'static str {
        "conjugate-gradients"
    }
}

/// One step of section 4.2: `D += M^-1 f dt^2; q += D; d = correction(q); q += d; D += d`, with `D / dt` as velocities.
/// Gravity is the only force. Turns go on as they were: the paper is silent on them. The largest gap at the end.
pub fn step(m: &Mechanism, s: &mut State, corrector: &mut Corrector, budget: &Budget, dt: f64) -> f64 {
    // Erratum 3: half a step of acceleration at first.
    let over = if s.time > 0.0 { dt } else { 0.5 * dt };
    let before = s.clone();
    s.time += dt;
    for i in 0..m.solids().len() {
        match m.solids()[i].kernel {
            Kernel::Scripted(t) => {
                let pose = m.trajectories()[t.0 as usize].pose(s.time);
                s.set_pose(m, linkwork::SolidId(i as u32), pose);
            }
            _ if m.solids()[i].is_fixed() => {}
            _ => {
                s.velocities[i] += m.gravity * over;
                s.centers[i] += s.velocities[i] * dt;
                s.rotations[i] = (exp(s.spins[i] * dt) * s.rotations[i]).normalize();
            }
        }
    }
    let gaps = corrector.correct(m, s, budget);
    for i in 0..m.solids().len() {
        s.velocities[i] = (s.centers[i] - before.centers[i]) / dt;
        s.spins[i] = log(s.rotations[i] * before.rotations[i].inverse()) / dt;
    }
    gaps.last().copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkwork::solve::SolverKind;
    use linkwork::{Frame, Joint, JointId, Solid, SolidId, Vector};

    #[test]
    fn with_enough_iterations_it_is_the_dense_answer() {
        let mut m = Mechanism::new();
        let mut last = SolidId::WORLD;
        for k in 0..6 {
            let next = m
                .add_solid(Solid::particle(format!("p{k}"), 1.0 + k as f64).at(k as f64 + 1.0, 0.3, 0.0))
                .unwrap();
            m.add_joint(Joint::distance(
                Frame::point(last, Vector::ZERO),
                Frame::point(next, Vector::ZERO),
                0.8,
            ))
            .unwrap();
            last = next;
        }
        let s = State::new(&m);
        let (mut rows, mut masses) = (Rows::default(), Masses::default());
        rows.fill(&m, &s, s.time, (0..6).map(JointId), |_| linkwork::Rank::Primary);
        masses.update(&m, &s);
        let problem = Problem { rows: &rows, masses: &masses, active: &[], damping: None };
        let b: Vec<f64> = (0..rows.len()).map(|k| 0.1 + k as f64).collect();
        let answer = |solver: &mut dyn LinearSolver, iterations: usize| {
            solver.factor(&problem);
            let mut x = vec![0.0; b.len()];
            solver.solve(&b, &mut x, &Work { iterations, tolerance: 1e-13, ..Work::default() });
            x
        };
        let dense = answer(SolverKind::FullDense.make().as_mut(), 10);
        let ours = answer(&mut ConjugateGradients::default(), 100);
        for (a, b) in dense.iter().zip(&ours) {
            assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()), "{a} {b}");
        }
        // Cut off, it still hands something back.
        assert!(answer(&mut ConjugateGradients::default(), 1).iter().any(|x| *x != 0.0));
    }
}
