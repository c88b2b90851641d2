//! The sheets, and the yardstick: strain, depth and crossings of any state of them.

use linkwork::{Mechanism, State, Vector};

/// What happens to a sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Hang,
    Drop,
    Ball,
    Drape,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Kind::Hang => "hang",
            Kind::Drop => "drop",
            Kind::Ball => "ball",
            Kind::Drape => "drape",
        }
    }
}

/// A sheet of `n` x `n` vertices and what is around it.
pub struct Sheet {
    pub kind: Kind,
    pub n: usize,
    pub speed: f64,
    pub frames: usize,
    pub m: Mechanism,
    /// Vertices by solids, triangles too.
    first: usize,
    triangles: Vec<[usize; 3]>,
}

/// The worst of all frames.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub strain: f64,
    pub depth: f64,
    pub crossings: usize,
    /// The ball has left the sheet behind it.
    pub through: bool,
}

fn words(kind: Kind, n: usize, speed: f64) -> String {
    let spacing = 1.0 / (n as f64 - 1.0);
    let cloth = format!(
        "grid {n} {n} spacing {spacing:.17}; mass 0.2; stretch 3000 0; shear 1000 0; limit-strain 10 %; thickness 0.005"
    );
    let level = "turn 1 0 0 90 deg";
    let last = n - 1;
    match kind {
        Kind::Hang => format!("cloth s: {cloth}; {level}; at -0.5 2 -0.5; pin 0 0; pin {last} 0; end"),
        Kind::Drop => format!(
            "solid ball: kernel fixed; shape sphere 0.25; end cloth s: {cloth}; {level}; at -0.5 0.4 -0.5; end"
        ),
        Kind::Ball => {
            let pins: String = (0..n).map(|k| format!("pin 0 {k}; pin {last} {k}; ")).collect();
            format!(
                "cloth s: {cloth}; at -0.5 -0.5 0; {pins} end \
                 solid ball: shape sphere 0.1; mass 5; at 0 0 0.3; velocity 0 0 -{speed}; end"
            )
        }
        Kind::Drape => format!(
            "solid ball: kernel fixed; shape sphere 0.2; at 0 0.3 0; end \
             solid floor: kernel fixed; shape plane 0 1 0; end cloth s: {cloth}; {level}; at -0.5 0.6 -0.5; end"
        ),
    }
}

impl Sheet {
    pub fn new(kind: Kind, n: usize, speed: f64) -> Self {
        let text = words(kind, n, speed);
        let (scene, report) = linkwork::scene::load(&text, &mut |_: &str| Err("no files here".to_owned()));
        let m = scene.unwrap_or_else(|| panic!("{}", report.render(kind.word(), &text, false))).mechanism;
        let soft = &m.softs()[0];
        let first = soft.vertex(0).index();
        let triangles = soft.mesh.triangles.iter().map(|t| t.map(|k| soft.vertex(k).index())).collect();
        Self { kind, n, speed, frames: 120, m, first, triangles }
    }

    pub fn name(&self) -> String {
        let speed = if self.speed > 0.0 { format!(", {} m/s", self.speed) } else { String::new() };
        format!("{} {}{speed}", self.kind.word(), self.n)
    }

    fn solid(&self, name: &str) -> Option<usize> {
        self.m.solids().iter().position(|s| s.name == name)
    }

    pub fn see(&self, s: &State, seen: &mut Seen) {
        let (n, rest) = (self.n, 1.0 / (self.n as f64 - 1.0));
        let at = |i: usize, j: usize| s.centers[self.first + i + n * j];
        for j in 0..n {
            for i in 1..n {
                let long = at(i, j).distance(at(i - 1, j)).max(at(j, i).distance(at(j, i - 1)));
                seen.strain = seen.strain.max(long / rest - 1.0);
            }
        }
        let vertices = &s.centers[self.first..self.first + n * n];
        let radius = [0.25, 0.1, 0.2][(self.kind as usize).max(1) - 1];
        if let Some(ball) = self.solid("ball").map(|k| s.centers[k]) {
            let deep = vertices.iter().map(|v| radius - v.distance(ball)).fold(0.0, f64::max);
            seen.depth = seen.depth.max(deep);
            let near = |v: &&Vector| (**v - ball).truncate().length() < 0.05;
            let around: Vec<&Vector> = vertices.iter().filter(near).collect();
            let behind = around.iter().filter(|v| v.z > ball.z).count();
            seen.through |= self.kind == Kind::Ball && 2 * behind > around.len();
        }
        if self.kind == Kind::Drape {
            seen.depth = seen.depth.max(vertices.iter().map(|v| -v.y).fold(0.0, f64::max));
        }
        seen.crossings += self.crossings(s);
    }

    /// Pairs of triangles that cross, by trying all whose boxes meet.
    fn crossings(&self, s: &State) -> usize {
        let corners: Vec<[Vector; 3]> = self.triangles.iter().map(|t| t.map(|i| s.centers[i])).collect();
        let boxes: Vec<[Vector; 2]> =
            corners.iter().map(|p| [p[0].min(p[1]).min(p[2]), p[0].max(p[1]).max(p[2])]).collect();
        let mut order: Vec<usize> = (0..boxes.len()).collect();
        order.sort_by(|a, b| boxes[*a][0].x.total_cmp(&boxes[*b][0].x));
        let mut count = 0;
        for (at, &k) in order.iter().enumerate() {
            for &j in order[at + 1..].iter().take_while(|j| boxes[**j][0].x <= boxes[k][1].x) {
                let apart = boxes[k][0].cmpgt(boxes[j][1]).any() || boxes[j][0].cmpgt(boxes[k][1]).any();
                if apart || self.triangles[k].iter().any(|i| self.triangles[j].contains(i)) {
                    continue;
                }
                let edges =
                    |p: &[Vector; 3], q: &[Vector; 3]| (0..3).any(|i| pierces(p[i], p[(i + 1) % 3], q));
                count += usize::from(edges(&corners[k], &corners[j]) || edges(&corners[j], &corners[k]));
            }
        }
        count
    }
}

/// Does the edge from `p` to `q` go through the triangle?
fn pierces(p: Vector, q: Vector, [a, b, c]: &[Vector; 3]) -> bool {
    let (e, f, d) = (*b - *a, *c - *a, q - p);
    let n = d.cross(f);
    let det = e.dot(n);
    if det.abs() < 1e-18 {
        return false;
    }
    let s = p - *a;
    let (u, across) = (s.dot(n) / det, s.cross(e));
    let (v, t) = (d.dot(across) / det, f.dot(across) / det);
    u >= 0.0 && v >= 0.0 && u + v <= 1.0 && (0.0..=1.0).contains(&t)
}
