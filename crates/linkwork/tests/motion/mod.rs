//! Mechanisms whose motion is known in closed form or to many digits, for the tests of motion.

use linkwork::math::exp;
use linkwork::step::{Integrator, Relaxation, StepConfig, Workspace};
use linkwork::{
    Frame, Joint, MassProperties, Matrix, Mechanism, Method, Rotation, Solid, SolidId, State, StepReport,
    Vector, step,
};

/// Gravity of these tests.
pub const G: f64 = 9.81;

/// Every method with the parameters that its order depends on, and a name for tables.
pub fn methods() -> Vec<(&'static str, Method)> {
    let baumgarte = |integrator| Method::Baumgarte { alpha: 10.0, beta: 10.0, integrator };
    let post = |integrator, velocities| Method::PostStabilization { integrator, velocities };
    use Integrator::*;
    vec![
        ("variational", Method::Variational),
        ("displacement", Method::Displacement),
        ("relaxation, effective mass", Method::Relaxation(Relaxation::EffectiveMass)),
        ("relaxation, first", Method::Relaxation(Relaxation::First)),
        ("relaxation, second", Method::Relaxation(Relaxation::Second)),
        ("implicit", Method::Implicit),
        ("baumgarte, Euler", baumgarte(Euler)),
        ("baumgarte, semi-implicit", baumgarte(SemiImplicit)),
        ("baumgarte, RK4", baumgarte(Rk4)),
        ("post-stabilization, Euler", post(Euler, false)),
        ("post-stabilization, semi-implicit", post(SemiImplicit, false)),
        ("post-stabilization, RK4", post(Rk4, false)),
        ("post-stabilization, semi-implicit, velocities", post(SemiImplicit, true)),
        ("post-stabilization, RK4, velocities", post(Rk4, true)),
    ]
}

/// A mechanism, a time, and where points of its solids are at that time.
pub struct Known {
    pub name: &'static str,
    pub mechanism: Mechanism,
    pub time: f64,
    /// Longest step of the study.
    pub dt: f64,
    /// Solid, point in its frame, place in the world.
    pub points: Vec<(SolidId, Vector, Vector)>,
}

impl Known {
    /// Largest error of a point.
    pub fn error(&self, s: &State) -> f64 {
        self.points
            .iter()
            .map(|(id, local, world)| {
                (s.pose(&self.mechanism, *id).transform_point(*local) - *world).length()
            })
            .fold(0.0, f64::max)
    }
}

/// Runs for `time` in `steps` equal steps; the last report.
pub fn run(m: &Mechanism, c: &StepConfig, time: f64, steps: usize) -> (State, StepReport) {
    let (mut s, mut w) = (State::new(m), Workspace::new());
    let c = StepConfig { dt: time / steps as f64, ..*c };
    let mut last = None;
    for _ in 0..steps {
        last = Some(step(m, &mut s, &mut w, &c));
        if last.is_some_and(|r| r.rejected.is_some()) {
            break;
        }
    }
    (s, last.expect("at least one step"))
}

/// The classical Runge-Kutta scheme on a few numbers.
pub fn rk4<const N: usize>(
    mut y: [f64; N],
    time: f64,
    steps: usize,
    f: impl Fn(&[f64; N]) -> [f64; N],
) -> [f64; N] {
    let h = time / steps as f64;
    let plus = |y: &[f64; N], k: &[f64; N], h: f64| std::array::from_fn(|i| y[i] + h * k[i]);
    for _ in 0..steps {
        let a = f(&y);
        let b = f(&plus(&y, &a, 0.5 * h));
        let c = f(&plus(&y, &b, 0.5 * h));
        let d = f(&plus(&y, &c, h));
        y = std::array::from_fn(|i| y[i] + h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]));
    }
    y
}

fn down() -> Vector {
    Vector::new(0.0, 0.0, -G)
}

/// A particle that runs around a small circle of a sphere.
pub fn spherical_pendulum() -> Known {
    let mut m = Mechanism::new();
    m.gravity = down();
    let (length, tilt) = (1.0, 0.7_f64);
    let rate = (G / (length * tilt.cos())).sqrt();
    let at =
        |angle: f64| Vector::new(tilt.sin() * angle.cos(), tilt.sin() * angle.sin(), -tilt.cos()) * length;
    let mut p = Solid::particle("bob", 2.0);
    p.pose.translation = at(0.0);
    p.velocity = Vector::Y * (rate * length * tilt.sin());
    let bob = m.add_solid(p).unwrap();
    m.add_joint(Joint::distance(
        Frame::point(SolidId::WORLD, Vector::ZERO),
        Frame::point(bob, Vector::ZERO),
        length,
    ))
    .unwrap();
    let time = 1.0;
    Known {
        name: "spherical pendulum",
        mechanism: m,
        time,
        dt: 0.02,
        points: vec![(bob, Vector::ZERO, at(rate * time))],
    }
}

fn body(name: &str, mass: f64, center: Vector, moments: Vector) -> Solid {
    let mut solid = Solid::new(name);
    solid.mass = MassProperties { mass, center, inertia: Matrix::from_diagonal(moments) };
    solid
}

/// A free solid that spins about its middle axis, and flips over (Dzhanibekov).
pub fn tumbling() -> Known {
    let mut m = Mechanism::new();
    m.gravity = Vector::ZERO;
    let moments = Vector::new(1.0, 2.0, 2.8);
    let mut solid = body("nut", 1.5, Vector::ZERO, moments);
    solid.spin = Vector::new(0.3, 4.0, 0.2);
    solid.velocity = Vector::new(0.1, 0.0, 0.2);
    let spin = solid.spin;
    let id = m.add_solid(solid).unwrap();
    let time = 1.5;
    // Euler's equations in body axes, and the attitude as a quaternion.
    let y = rk4([spin.x, spin.y, spin.z, 0.0, 0.0, 0.0, 1.0], time, 200_000, |y| {
        let w = Vector::new(y[0], y[1], y[2]);
        let a = (-w.cross(moments * w)) / moments;
        let q = Rotation::from_xyzw(y[3], y[4], y[5], y[6]) * Rotation::from_xyzw(w.x, w.y, w.z, 0.0);
        [a.x, a.y, a.z, 0.5 * q.x, 0.5 * q.y, 0.5 * q.z, 0.5 * q.w]
    });
    let q = Rotation::from_xyzw(y[3], y[4], y[5], y[6]).normalize();
    let away = Vector::new(0.1, 0.0, 0.2) * time;
    Known {
        name: "tumbling solid",
        mechanism: m,
        time,
        dt: 0.02,
        points: Vector::AXES.into_iter().map(|e| (id, e, away + q * e)).collect(),
    }
}

/// A heavy symmetric top in steady precession about a fixed point.
pub fn top() -> Known {
    let mut m = Mechanism::new();
    m.gravity = down();
    let (mass, arm, tilt) = (1.0, 0.4, 0.6_f64);
    // Axis of symmetry is z of the solid; its origin is the fixed point.
    let moments = Vector::new(0.05, 0.05, 0.08);
    let about = moments.x + mass * arm * arm;
    let precession = 2.0;
    // m g l = I3 w3 P - I1' P^2 cos(tilt)
    let spin3 = (mass * G * arm + about * precession * precession * tilt.cos()) / (moments.z * precession);
    let own = spin3 - precession * tilt.cos();
    let lean = exp(Vector::Y * tilt);
    let pose = |t: f64| exp(Vector::Z * (precession * t)) * lean * exp(Vector::Z * (own * t));
    let mut solid = body("top", mass, Vector::Z * arm, moments);
    solid.pose.rotation = lean;
    let axis = lean * Vector::Z;
    solid.spin = Vector::Z * precession + axis * own;
    solid.velocity = solid.spin.cross(axis * arm);
    let id = m.add_solid(solid).unwrap();
    m.add_joint(Joint::ball(Frame::point(SolidId::WORLD, Vector::ZERO), Frame::point(id, Vector::ZERO)))
        .unwrap();
    let time = 0.5;
    Known {
        name: "heavy top",
        mechanism: m,
        time,
        dt: 0.01,
        points: [Vector::X, Vector::Z].into_iter().map(|e| (id, e, pose(time) * e)).collect(),
    }
}

/// A solid on a pin, through a large angle.
pub fn physical_pendulum() -> Known {
    let mut m = Mechanism::new();
    m.gravity = down();
    let (mass, arm) = (1.3, 0.5);
    let moments = Vector::new(0.02, 0.11, 0.1);
    // The pin is along y; at zero angle the arm is along x. z = -arm sin(a) for a turn of a about y.
    let mut solid = body("arm", mass, Vector::X * arm, moments);
    solid.pose.rotation = exp(Vector::Y * 0.2);
    let id = m.add_solid(solid).unwrap();
    m.add_joint(Joint::pin(
        Frame::axis(SolidId::WORLD, Vector::ZERO, Vector::Y),
        Frame::axis(id, Vector::ZERO, Vector::Y),
    ))
    .unwrap();
    let time = 1.0;
    let about = moments.y + mass * arm * arm;
    let y = rk4([0.2, 0.0], time, 20_000, |y| [y[1], mass * G * arm * y[0].cos() / about]);
    let q = exp(Vector::Y * y[0]);
    Known {
        name: "physical pendulum",
        mechanism: m,
        time,
        dt: 0.02,
        points: vec![(id, Vector::X, q * Vector::X), (id, Vector::Z, q * Vector::Z)],
    }
}

/// Hong's arm of two links: particles on rods, from the horizontal.
pub fn two_link_arm() -> Known {
    let mut m = Mechanism::new();
    m.gravity = down();
    let length = 1.0;
    let mut at = |name: &str, x: f64| {
        let mut p = Solid::particle(name, 1.0);
        p.pose.translation = Vector::X * x;
        m.add_solid(p).unwrap()
    };
    let (a, b) = (at("middle", length), at("tip", 2.0 * length));
    for (from, to) in [(SolidId::WORLD, a), (a, b)] {
        m.add_joint(Joint::distance(
            Frame::point(from, Vector::ZERO),
            Frame::point(to, Vector::ZERO),
            length,
        ))
        .unwrap();
    }
    let time = 0.6;
    // Angles from the x axis, downwards; equal masses and lengths.
    let y = rk4([0.0, 0.0, 0.0, 0.0], time, 60_000, |y| {
        let ([p, q], [u, v]) = ([y[0], y[1]], [y[2], y[3]]);
        let (c, s) = ((p - q).cos(), (p - q).sin());
        // 2 p'' + c q'' = 2 (g/l) cos p - s v^2;  c p'' + q'' = (g/l) cos q + s u^2
        let (r1, r2) = (2.0 * G / length * p.cos() - s * v * v, G / length * q.cos() + s * u * u);
        let det = 2.0 - c * c;
        [u, v, (r1 - c * r2) / det, (2.0 * r2 - c * r1) / det]
    });
    let first = Vector::new(y[0].cos(), 0.0, -y[0].sin()) * length;
    let second = first + Vector::new(y[1].cos(), 0.0, -y[1].sin()) * length;
    Known {
        name: "two-link arm",
        mechanism: m,
        time,
        dt: 0.02,
        points: vec![(a, Vector::ZERO, first), (b, Vector::ZERO, second)],
    }
}

/// A bar between two points of the plane x, z.
pub fn bar(name: &str, from: Vector, to: Vector, mass: f64) -> Solid {
    let d = to - from;
    let length = d.length();
    let mut solid = body(
        name,
        mass,
        Vector::X * (0.5 * length),
        Vector::new(0.001, length * length / 12.0 + 0.0005, length * length / 12.0 + 0.0005) * mass,
    );
    solid.pose.translation = from;
    solid.pose.rotation = exp(Vector::Y * -d.z.atan2(d.x));
    solid
}

/// A four-bar linkage of three bars on pins: crank, coupler and rocker between two points of the ground.
pub fn four_bar(crank: f64, coupler: f64, rocker: f64, ground: f64, angle: f64, spin: f64) -> Mechanism {
    let mut m = Mechanism::new();
    m.gravity = down();
    let a = Vector::new(angle.cos(), 0.0, angle.sin()) * crank;
    let g = Vector::X * ground;
    // The circle of the coupler about the crank's end meets that of the rocker: the upper point.
    let d = g - a;
    let along = (coupler * coupler - rocker * rocker + d.length_squared()) / (2.0 * d.length());
    let up = (coupler * coupler - along * along).max(0.0).sqrt();
    let e = d.normalize();
    let b = a + e * along + Vector::new(-e.z, 0.0, e.x) * up;
    let one = m.add_solid(bar("crank", Vector::ZERO, a, 1.0)).unwrap();
    let two = m.add_solid(bar("coupler", a, b, 1.0)).unwrap();
    let three = m.add_solid(bar("rocker", b, g, 1.0)).unwrap();
    let pin = |s: SolidId, x: f64| Frame::axis(s, Vector::X * x, Vector::Y);
    for (f1, f2) in [
        (pin(SolidId::WORLD, 0.0), pin(one, 0.0)),
        (pin(one, crank), pin(two, 0.0)),
        (pin(two, coupler), pin(three, 0.0)),
        (pin(three, rocker), pin(SolidId::WORLD, ground)),
    ] {
        m.add_joint(Joint::pin(f1, f2)).unwrap();
    }
    if spin != 0.0 {
        // The crank turns at `spin` about y (downwards from x to -z); the others follow.
        let v = |w: f64, from: Vector, to: Vector| Vector::Y.cross(to - from) * w;
        let va = v(spin, Vector::ZERO, a);
        // va + w2 y x (b - a) = w3 y x (b - g)
        let (p, q) = (Vector::Y.cross(b - a), Vector::Y.cross(b - g));
        let det = p.x * -q.z + q.x * p.z;
        let w2 = (-va.x * -q.z + q.x * -va.z) / det;
        let w3 = (p.x * -va.z + va.x * p.z) / det;
        let vb = v(w3, g, b);
        for (id, w, speed) in [(one, spin, va * 0.5), (two, w2, (va + vb) * 0.5), (three, w3, vb * 0.5)] {
            m.edit_solid(id, |s| {
                s.spin = Vector::Y * w;
                s.velocity = speed;
            })
            .unwrap();
        }
    }
    m
}

/// The four-bar against `variational` with steps of dt/64.
pub fn four_bar_known() -> Known {
    let m = four_bar(0.4, 1.0, 0.8, 1.1, 1.0, 0.0);
    let (time, dt) = (0.5, 0.01);
    let fine = StepConfig { tolerance: 1e-13, iterations: 60, ..Default::default() };
    // Two runs extrapolated: the method is of second order, and symmetric.
    let [a, b] = [32.0, 64.0].map(|k| run(&m, &fine, time, (time / dt * k).round() as usize).0);
    let place = |s: &State, i: u32| s.pose(&m, SolidId(i)).transform_point(Vector::X);
    let points = (1..4).map(|i| (SolidId(i), Vector::X, (place(&b, i) * 4.0 - place(&a, i)) / 3.0)).collect();
    Known { name: "four-bar", mechanism: m, time, dt, points }
}
