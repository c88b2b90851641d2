//! The mechanisms that are measured, their poses and their right sides.

use linkwork::graph::Graph;
use linkwork::math::Random;
use linkwork::rows::{Masses, Rows};
use linkwork::{
    AssembleConfig, Frame, Joint, JointId, Mechanism, Outcome, PlacedShape, Solid, SolidId, State, Vector,
    assemble, generate,
};

/// Metres per second squared, along -y: perpendicular to ladders and nets.
pub const GRAVITY: f64 = 9.81;
/// A frame.
pub const DT: f64 = 1.0 / 60.0;

/// A mechanism at a pose.
pub struct Scene {
    /// Without pose and masses.
    pub name: String,
    /// `straight` or `crumpled`.
    pub pose: &'static str,
    /// Mass of the second string.
    pub heavy: f64,
    /// The model.
    pub m: Mechanism,
    /// Its graph.
    pub graph: Graph,
    /// Its pose.
    pub state: State,
    /// Solids that free fall leaves behind, where nothing else holds the mechanism.
    pub held: Vec<usize>,
}

impl Scene {
    fn new(name: String, m: Mechanism) -> Self {
        let (graph, state) = (Graph::new(&m), State::new(&m));
        Self { name, pose: "straight", heavy: 1.0, m, graph, state, held: Vec::new() }
    }

    fn load(name: String, text: &str) -> Self {
        let (scene, report) = linkwork::scene::load(text, &mut |_: &str| Err("no files".into()));
        let Some(scene) = scene else { panic!("{}", report.render("scene", text, false)) };
        Self::new(name, scene.mechanism)
    }

    /// Faure's ladder.
    pub fn ladder(bars: usize, patterns: usize, heavy: f64) -> Self {
        let text = generate::ladder(bars, patterns, heavy).expect("a ladder of this size");
        Self { heavy, ..Self::load(format!("({bars},{patterns})"), &text) }
    }

    /// A floating net. In free fall its first and last bar stay behind, at opposite corners: falling as a whole, it would
    /// have nothing to correct.
    pub fn net(nx: usize, ny: usize) -> Self {
        let scene = Self::load(format!("net {nx}x{ny}"), &generate::net(nx, ny).expect("a net of this size"));
        Self { held: vec![1, scene.m.solids().len() - 1], ..scene }
    }

    /// A body with `n` bars on balls around it, on the world by one more ball; `rim` bars close loops from tip to tip.
    pub fn star(n: usize, rim: bool) -> Self {
        let mut m = Mechanism::new();
        let solid = |m: &mut Mechanism, s: Solid| m.add_solid(s).expect("a solid");
        let hub = PlacedShape::cylinder(1.0, 0.2, Vector::Y);
        let hub = solid(&mut m, Solid::new("hub").with_shape(hub, 10.0));
        let spot = |k: usize, r: f64| {
            let a = k as f64 * std::f64::consts::TAU / n as f64;
            Vector::new(r * a.cos(), 0.0, r * a.sin())
        };
        let bar = |m: &mut Mechanism, name: String, from: Vector, to: Vector| {
            let c = (from + to) * 0.5;
            let shape = PlacedShape::cylinder(0.05, (to - from).length(), (to - from).normalize());
            solid(m, Solid::new(name).with_shape(shape, 1.0).at(c.x, c.y, c.z))
        };
        let arms: Vec<SolidId> =
            (0..n).map(|k| bar(&mut m, format!("arm-{k}"), spot(k, 1.0), spot(k, 2.0))).collect();
        let ball = |m: &mut Mechanism, a: SolidId, b: SolidId, p: Vector| {
            let frame = |m: &Mechanism, s: SolidId| Frame::point(s, p - m.solid(s).pose.translation);
            let joint = Joint::ball(frame(m, a), frame(m, b));
            m.add_joint(joint).expect("a joint");
        };
        ball(&mut m, SolidId::WORLD, hub, Vector::ZERO);
        (0..n).for_each(|k| ball(&mut m, hub, arms[k], spot(k, 1.0)));
        if rim {
            for k in 0..n {
                let tie = bar(&mut m, format!("tie-{k}"), spot(k, 2.0), spot(k + 1, 2.0));
                ball(&mut m, arms[k], tie, spot(k, 2.0));
                ball(&mut m, arms[(k + 1) % n], tie, spot(k + 1, 2.0));
            }
        }
        Self::new(format!("{} {n}", if rim { "wheel" } else { "star" }), m)
    }

    /// `n` chains of `links` bars, each with both ends on the world: one loop an island.
    pub fn islands(n: usize, links: usize) -> Self {
        let mut m = Mechanism::new();
        let point = |s: SolidId, x: f64, z: f64| Frame::point(s, Vector::new(x, 0.0, z));
        for i in 0..n {
            let z = i as f64;
            let ids: Vec<SolidId> = (0..links)
                .map(|k| {
                    let shape = PlacedShape::cylinder(0.05, 1.0, Vector::X);
                    let bar = Solid::new(format!("bar-{i}-{k}")).with_shape(shape, 1.0);
                    m.add_solid(bar.at(k as f64 + 0.5, 0.0, z)).expect("a solid")
                })
                .collect();
            let mut join = |a: Frame, b: Frame| m.add_joint(Joint::ball(a, b)).expect("a joint");
            join(point(SolidId::WORLD, 0.0, z), point(ids[0], -0.5, 0.0));
            for pair in ids.windows(2) {
                join(point(pair[0], 0.5, 0.0), point(pair[1], -0.5, 0.0));
            }
            join(point(ids[links - 1], 0.5, 0.0), point(SolidId::WORLD, links as f64, z));
        }
        Self::new(format!("{n} islands of {links}"), m)
    }

    /// `n` four-bars of pins side by side, each an island: crank 0.6, coupler 1.8, rocker 1.2 on a ground of 2 units. Of the
    /// twenty rows of each three are redundant.
    pub fn four_bars(n: usize) -> Self {
        let mut m = Mechanism::new();
        let foot = Vector::new(2.0, 0.0, 0.0);
        let crank = Vector::new(0.3, 0.3 * 3.0_f64.sqrt(), 0.0);
        // The elbow between coupler and rocker: 1.8 from the crank's tip and 1.2 from the rocker's foot.
        let across = foot - crank;
        let d = across.length();
        let along = (1.8 * 1.8 - 1.2 * 1.2 + d * d) / (2.0 * d);
        let up = Vector::new(-across.y, across.x, 0.0) / d;
        let elbow = crank + across * (along / d) + up * (1.8 * 1.8 - along * along).sqrt();
        for i in 0..n {
            let aside = Vector::new(0.0, 0.0, i as f64);
            let mut bar = |name: &str, a: Vector, b: Vector| {
                let shape = PlacedShape::cylinder(0.05, (b - a).length(), (b - a).normalize());
                let c = (a + b) * 0.5 + aside;
                let solid = Solid::new(format!("{name}-{i}")).with_shape(shape, (b - a).length());
                m.add_solid(solid.at(c.x, c.y, c.z)).expect("a solid")
            };
            let bars =
                [bar("crank", Vector::ZERO, crank), bar("coupler", crank, elbow), bar("rocker", elbow, foot)];
            let ends = [(SolidId::WORLD, bars[0], Vector::ZERO), (bars[0], bars[1], crank)];
            for (a, b, p) in
                ends.into_iter().chain([(bars[1], bars[2], elbow), (bars[2], SolidId::WORLD, foot)])
            {
                let frame = |s: SolidId| Frame::axis(s, p + aside - m.solid(s).pose.translation, Vector::Z);
                let joint = Joint::pin(frame(a), frame(b));
                m.add_joint(joint).expect("a joint");
            }
        }
        Self::new(format!("{n} four-bars"), m)
    }

    /// The same mechanism scattered with a fixed seed by 0.3 units and 0.5 rad, then assembled to 1e-10.
    pub fn crumpled(mut self) -> Self {
        let mut random = Random::new(7);
        for i in (1..self.m.solids().len()).filter(|i| !self.m.solids()[*i].is_fixed()) {
            let (t, q) = (random.ball() * 0.3, random.ball() * 0.5);
            self.state.displace(i, &[t.x, t.y, t.z, q.x, q.y, q.z]);
        }
        let config = AssembleConfig { tolerance: 1e-10, ..AssembleConfig::default() };
        let report = assemble(&self.m, &mut self.state, &config);
        if report.outcome != Outcome::Ok {
            eprintln!("{} crumpled: {}, gap {:.1e}", self.name, report.outcome.word(), report.gaps.worst());
        }
        self.pose = "crumpled";
        self
    }

    /// All joints.
    pub fn joints(&self) -> impl Iterator<Item = JointId> {
        (0..self.m.joints().len() as u32).map(JointId)
    }

    /// Rows and masses at the pose.
    pub fn fill(&self, rows: &mut Rows, masses: &mut Masses) {
        masses.update(&self.m, &self.state);
        rows.fill(&self.m, &self.state, self.state.time, self.joints(), |j| self.graph.default_rank(j));
    }

    /// What one frame of free fall asks of the constraints: `b = -J (M^-1 f dt^2)`, in metres.
    pub fn free_fall(&self, rows: &Rows, masses: &Masses) -> Vec<f64> {
        let mut dq = vec![[0.0; 6]; masses.len()];
        for (i, dq) in dq.iter_mut().enumerate() {
            if masses.moves(i) && !self.held.contains(&i) {
                dq[1] = -GRAVITY * DT * DT;
            }
        }
        let mut b = vec![0.0; rows.len()];
        rows.apply(&dq, &mut b);
        b.iter_mut().for_each(|b| *b = -*b);
        b
    }

    /// A right side within reach with something in every row, `b = A x` for a random `x`, scaled to a largest entry of 1.
    pub fn random(&self, rows: &Rows, masses: &Masses) -> Vec<f64> {
        let mut random = Random::new(11);
        let x: Vec<f64> = (0..rows.len()).map(|_| random.signed()).collect();
        let mut b = multiply(rows, masses, &x);
        let scale = largest(&b).max(f64::MIN_POSITIVE);
        b.iter_mut().for_each(|b| *b /= scale);
        b
    }
}

/// `A x`, by the rows themselves: independent of every solver.
pub fn multiply(rows: &Rows, masses: &Masses, x: &[f64]) -> Vec<f64> {
    let mut dq = vec![[0.0; 6]; masses.len()];
    rows.apply_transposed(x, masses, &mut dq);
    let mut b = vec![0.0; rows.len()];
    rows.apply(&dq, &mut b);
    b
}

/// Largest `|A lambda - b|`, measured without the solver.
pub fn residual(rows: &Rows, masses: &Masses, lambda: &[f64], b: &[f64]) -> f64 {
    let left: Vec<f64> = multiply(rows, masses, lambda).iter().zip(b).map(|(a, b)| a - b).collect();
    largest(&left)
}

/// Largest absolute value; NaN if there is one.
pub fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m: f64, x| if x.is_nan() { *x } else { m.max(x.abs()) })
}
