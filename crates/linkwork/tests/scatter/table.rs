//! Assembly from scattered starts: the mechanisms, the scatter and the count. Shared by the test and the benchmark.

use linkwork::math::{Random, rotation_between};
use linkwork::{
    AssembleConfig, Frame, Joint, Mechanism, Outcome, PlacedShape, Solid, SolidId, State, Vector, assemble,
};

/// One line of the success table.
pub struct Line {
    pub name: &'static str,
    /// Units and radians of the scatter.
    pub scatter: f64,
    pub trials: usize,
    pub closed: usize,
    /// Closed without a restart.
    pub at_once: usize,
    pub median_iterations: usize,
    pub most_iterations: usize,
}

/// The mechanisms of the table, each by name.
pub fn mechanisms() -> Vec<(&'static str, Mechanism)> {
    let scene = |text: &str| {
        let (scene, report) = linkwork::scene::load(text, &mut |_| Err("no files".into()));
        scene.unwrap_or_else(|| panic!("{}", report.render("scene", text, false))).mechanism
    };
    vec![
        ("chain of 10 balls", bars(10, false, false)),
        ("chain of 10 pins", bars(10, true, false)),
        ("ring of 6 balls", bars(6, false, true)),
        ("ring of 6 parallel pins", bars(6, true, true)),
        ("mesh of figure 5", scene(include_str!("../../../../scenes/mesh5.lw"))),
        ("Stewart platform", scene(include_str!("../../../../scenes/stewart.lw"))),
        ("Jansen leg", scene(include_str!("../../../../scenes/jansen.lw"))),
        ("characters", scene(include_str!("../../../../scenes/characters.lw"))),
    ]
}

/// Unit bars, in a row from the world's origin or in a ring that nothing holds; pins are parallel to z.
fn bars(n: usize, pins: bool, ring: bool) -> Mechanism {
    let mut m = Mechanism::new();
    let corner = |i: usize| {
        if !ring {
            return Vector::new(i as f64, 0.0, 0.0);
        }
        let a = i as f64 * std::f64::consts::TAU / n as f64;
        Vector::new(a.cos(), a.sin(), 0.0) * (0.5 / (std::f64::consts::PI / n as f64).sin())
    };
    let mut ids = Vec::new();
    for i in 0..n {
        let (a, b) = (corner(i), corner(i + 1));
        let c = (a + b) * 0.5;
        let solid =
            Solid::new(format!("bar-{i}")).with_shape(PlacedShape::cylinder(0.05, 1.0, Vector::X), 1.0);
        let turn = rotation_between(Vector::X, (b - a).normalize());
        ids.push(m.add_solid(solid.at(c.x, c.y, c.z).turned(turn)).unwrap());
    }
    let frame = |m: &Mechanism, s: SolidId, p: Vector| {
        let pose = m.solid(s).pose;
        Frame::axis(s, pose.inverse_transform_point(p), pose.rotation.inverse() * Vector::Z)
    };
    for i in 0..n {
        let before = if i > 0 {
            ids[i - 1]
        } else if ring {
            ids[n - 1]
        } else {
            SolidId::WORLD
        };
        let (x, y) = (frame(&m, before, corner(i)), frame(&m, ids[i], corner(i)));
        m.add_joint(if pins { Joint::pin(x, y) } else { Joint::ball(x, y) }).unwrap();
    }
    m
}

/// Assembles from `trials` scattered starts: every movable solid displaced within a ball of `scatter` units and turned
/// by a rotation vector within a ball of `scatter` radians.
pub fn run(name: &'static str, m: &Mechanism, scatter: f64, trials: usize) -> Line {
    let mut line =
        Line { name, scatter, trials, closed: 0, at_once: 0, median_iterations: 0, most_iterations: 0 };
    let mut iterations = Vec::new();
    for seed in 0..trials as u64 {
        let mut state = State::new(m);
        let mut random = Random::new(1000 + seed);
        for i in (1..m.solids().len()).filter(|i| !m.solids()[*i].is_fixed()) {
            let (t, q) = (random.ball() * scatter, random.ball() * scatter);
            state.displace(i, &[t.x, t.y, t.z, q.x, q.y, q.z]);
        }
        let report = assemble(m, &mut state, &AssembleConfig::default());
        assert!(state.is_finite());
        if report.outcome == Outcome::Ok {
            assert!(report.gaps.worst() <= 1e-6);
            line.closed += 1;
            line.at_once += usize::from(report.restarts == 0);
            iterations.push(report.iterations);
        }
    }
    iterations.sort_unstable();
    line.median_iterations = iterations.get(iterations.len() / 2).copied().unwrap_or(0);
    line.most_iterations = iterations.last().copied().unwrap_or(0);
    line
}
