//! A baseline: extended position-based dynamics of a sheet (Macklin, Mueller, Chentanez 2016), one sweep over the springs in
//! each of many substeps, vertices put on the surface of what they are in. As plain as its authors have it.

use linkwork::{Mechanism, State, Vector};

/// A ball, fixed or free.
struct Ball {
    solid: usize,
    radius: f64,
    weight: f64,
}

pub struct Xpbd {
    s: State,
    substeps: usize,
    gravity: Vector,
    /// Vertices, and the inverses of their masses.
    vertices: std::ops::Range<usize>,
    weights: Vec<f64>,
    /// Springs by vertices: ends, length, compliance.
    springs: Vec<([usize; 2], f64, f64)>,
    balls: Vec<Ball>,
    floor: bool,
    before: Vec<Vector>,
}

impl Xpbd {
    pub fn new(m: &Mechanism, substeps: usize) -> Self {
        let soft = &m.softs()[0];
        let weight = |i: usize| if m.solids()[i].is_fixed() { 0.0 } else { 1.0 / m.solids()[i].mass.mass };
        let springs = soft.mesh.springs.iter();
        let springs = springs.map(|k| (k.ends.map(|v| soft.vertex(v).index()), k.length, 1.0 / k.stiffness));
        let radius = |i: usize| match &m.solids()[i].name[..] {
            "ball" if weight(i) > 0.0 => 0.1,
            "ball" if m.solids().iter().any(|s| s.name == "floor") => 0.2,
            _ => 0.25,
        };
        let named = |name: &'static str| (0..m.solids().len()).filter(move |i| m.solids()[*i].name == name);
        let s = State::new(m);
        Self {
            substeps,
            gravity: m.gravity,
            vertices: soft.range(),
            weights: (0..m.solids().len()).map(weight).collect(),
            springs: springs.collect(),
            balls: named("ball")
                .map(|solid| Ball { solid, radius: radius(solid), weight: weight(solid) })
                .collect(),
            floor: named("floor").next().is_some(),
            before: s.centers.to_vec(),
            s,
        }
    }

    /// On by 1/60 s.
    pub fn frame(&mut self) -> State {
        let h = 1.0 / (60.0 * self.substeps as f64);
        for _ in 0..self.substeps {
            self.before.clone_from(&self.s.centers);
            for i in (0..self.weights.len()).filter(|i| self.weights[*i] > 0.0) {
                self.s.velocities[i] += self.gravity * h;
                self.s.centers[i] += self.s.velocities[i] * h;
            }
            self.pull(h);
            self.push_out();
            for i in (0..self.weights.len()).filter(|i| self.weights[*i] > 0.0) {
                self.s.velocities[i] = (self.s.centers[i] - self.before[i]) / h;
            }
        }
        self.s.clone()
    }

    fn pull(&mut self, h: f64) {
        for ([a, b], length, compliance) in &self.springs {
            let (wa, wb) = (self.weights[*a], self.weights[*b]);
            let d = self.s.centers[*b] - self.s.centers[*a];
            let long = d.length();
            if long > 0.0 && wa + wb > 0.0 {
                let push = d * ((long - length) / (long * (wa + wb + compliance / (h * h))));
                self.s.centers[*a] += push * wa;
                self.s.centers[*b] -= push * wb;
            }
        }
    }

    fn push_out(&mut self) {
        for i in self.vertices.clone().filter(|i| self.weights[*i] > 0.0) {
            for ball in &self.balls {
                let d = self.s.centers[i] - self.s.centers[ball.solid];
                let lacks = ball.radius - d.length();
                if let Some(n) = d.try_normalize().filter(|_| lacks > 0.0) {
                    let by = n * (lacks / (self.weights[i] + ball.weight));
                    self.s.centers[i] += by * self.weights[i];
                    self.s.centers[ball.solid] -= by * ball.weight;
                }
            }
            if self.floor {
                self.s.centers[i].y = self.s.centers[i].y.max(0.0);
            }
        }
    }
}
