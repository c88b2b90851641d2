//! Soft bodies against closed forms and linear algebra: catenaries, the sag of a net, modes of strings, membranes and blocks, and what
//! a free sheet keeps for a thousand steps.

use linkwork::measure::{energy, momentum};
use linkwork::{Mechanism, SolidId, State, StepConfig, Vector, Workspace, step};

const G: f64 = 9.81;

fn mechanism(text: &str) -> Mechanism {
    let (scene, report) = linkwork::scene::load(text, &mut |_| Err("no files here".to_owned()));
    scene.unwrap_or_else(|| panic!("{report:?}")).mechanism
}

fn exact() -> StepConfig<'static> {
    StepConfig { sleep: false, tolerance: 1e-11, ..StepConfig::default() }
}

/// The first soft body as a problem of its own: nothing here is the library's but the list of springs.
struct Net {
    first: usize,
    masses: Vec<f64>,
    /// Ends, length, stiffness.
    springs: Vec<([usize; 2], f64, f64)>,
    /// Per vertex: its place among the unknowns.
    free: Vec<Option<usize>>,
    unknowns: usize,
}

impl Net {
    fn new(m: &Mechanism) -> Self {
        let soft = &m.softs()[0];
        let springs = soft.mesh.springs.iter().map(|s| (s.ends.map(|v| v as usize), s.length, s.stiffness));
        let mut unknowns = 0;
        let mut number = |i: usize| {
            let moves = !m.solids()[i].is_fixed();
            unknowns += usize::from(moves);
            moves.then(|| unknowns - 1)
        };
        let free = soft.range().map(&mut number).collect();
        Self {
            first: soft.first.index(),
            masses: soft.mesh.masses.clone(),
            springs: springs.collect(),
            free,
            unknowns,
        }
    }

    fn places(&self, s: &State) -> Vec<Vector> {
        s.centers[self.first..self.first + self.masses.len()].to_vec()
    }

    /// Forces at the free vertices, gravity among them.
    fn forces(&self, at: &[Vector], gravity: Vector) -> Vec<Vector> {
        let mut f: Vec<Vector> = self.masses.iter().map(|m| gravity * *m).collect();
        for ([a, b], length, k) in &self.springs {
            let d = at[*b] - at[*a];
            let pull = d * (k * (d.length() - length) / d.length());
            f[*a] += pull;
            f[*b] -= pull;
        }
        f
    }

    /// Second derivatives of the energy, dense, by the free coordinates.
    fn stiffness(&self, at: &[Vector]) -> Vec<Vec<f64>> {
        let n = 3 * self.unknowns;
        let mut matrix = vec![vec![0.0; n]; n];
        for ([a, b], length, k) in &self.springs {
            let d = at[*b] - at[*a];
            let (l, u) = (d.length(), d.normalize());
            let across = k * (l - length) / l;
            let u = u.to_array();
            for i in 0..3 {
                for j in 0..3 {
                    let x = (k - across) * u[i] * u[j] + if i == j { across } else { 0.0 };
                    for (p, q, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
                        if let (Some(p), Some(q)) = (self.free[*p], self.free[*q]) {
                            matrix[3 * p + i][3 * q + j] += sign * x;
                        }
                    }
                }
            }
        }
        matrix
    }

    /// Where it rests, from a guess: Newton's method with Gaussian elimination.
    fn rest(&self, mut at: Vec<Vector>, gravity: Vector) -> Vec<Vector> {
        for round in 0..200 {
            let f = self.forces(&at, gravity);
            let mut right = vec![0.0; 3 * self.unknowns];
            for (v, n) in self.free.iter().enumerate() {
                if let Some(n) = n {
                    right[3 * n..3 * n + 3].copy_from_slice(&f[v].to_array());
                }
            }
            let step = eliminate(self.stiffness(&at), right);
            let longest = step.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            let share = (0.02 / longest).min(1.0);
            for (v, n) in self.free.iter().enumerate() {
                if let Some(n) = n {
                    at[v] += Vector::new(step[3 * n], step[3 * n + 1], step[3 * n + 2]) * share;
                }
            }
            if longest < 1e-13 {
                return at;
            }
            assert!(round < 199, "Newton's method of the test does not converge: {longest:e}");
        }
        at
    }

    /// Squares of frequencies and shapes of all modes, from slow to fast; shapes have a kinetic energy of one half at unit speed.
    fn modes(&self, at: &[Vector]) -> Vec<(f64, Vec<Vector>)> {
        let k = self.stiffness(at);
        let mass: Vec<f64> =
            (0..self.masses.len()).filter(|v| self.free[*v].is_some()).map(|v| self.masses[v]).collect();
        let n = 3 * self.unknowns;
        let scaled = faer::Mat::from_fn(n, n, |i, j| k[i][j] / (mass[i / 3] * mass[j / 3]).sqrt());
        let found = scaled.self_adjoint_eigen(faer::Side::Lower).unwrap();
        (0..n)
            .map(|c| {
                let part = |v: usize| match self.free[v] {
                    None => Vector::ZERO,
                    Some(i) => {
                        Vector::new(
                            found.U()[(3 * i, c)],
                            found.U()[(3 * i + 1, c)],
                            found.U()[(3 * i + 2, c)],
                        ) / mass[i].sqrt()
                    }
                };
                (found.S()[c], (0..self.masses.len()).map(part).collect())
            })
            .collect()
    }
}

fn eliminate(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for c in 0..n {
        let p = (c..n).max_by(|x, y| a[*x][c].abs().total_cmp(&a[*y][c].abs())).unwrap();
        a.swap(c, p);
        b.swap(c, p);
        for r in c + 1..n {
            let f = a[r][c] / a[c][c];
            if f != 0.0 {
                let (top, low) = a.split_at_mut(r);
                low[0][c..].iter_mut().zip(&top[c][c..]).for_each(|(x, y)| *x -= f * y);
                b[r] -= f * b[c];
            }
        }
    }
    for c in (0..n).rev() {
        let sum: f64 = (c + 1..n).map(|j| a[c][j] * b[j]).sum();
        b[c] = (b[c] - sum) / a[c][c];
    }
    b
}

/// Moves the vertices of the first soft body, held ones too.
fn lay(m: &mut Mechanism, at: &[Vector]) {
    let first = m.softs()[0].first.0;
    for (k, at) in at.iter().enumerate() {
        m.edit_solid(SolidId(first + k as u32), |s| s.pose.translation = *at).unwrap();
    }
}

/// A rope of `n` pieces between two points on one level hangs as an elastic catenary: `x = H/w asinh(w s/H) + H s/EA`,
/// `y = H/w sqrt(1 + (w s/H)^2) + w s^2/(2 EA)`; at second order in the length of its pieces, and as the chain that it is to 1e-9. Stiff ones are
/// plain catenaries.
#[test]
fn a_rope_hangs_as_a_catenary() {
    for stiff in [1e6, 400.0] {
        let (length, span, weight) = (1.0, 0.7, 0.5 * G);
        // Of a piece of length 1/n: EA = k / n.
        let shape = |s: f64| {
            let x = |h: f64, s: f64| h / weight * (weight * s / h).asinh() + h * s / stiff;
            let (mut low, mut high) = (1e-9, 1e6);
            for _ in 0..200 {
                let h = 0.5 * (low + high);
                if x(h, 0.5 * length) < 0.5 * span { low = h } else { high = h }
            }
            let h = 0.5 * (low + high);
            let y = |s: f64| {
                h / weight * (1.0 + (weight * s / h).powi(2)).sqrt() + weight * s * s / (2.0 * stiff)
            };
            Vector::new(x(h, s), y(s) - y(0.5 * length), 0.0)
        };
        let mut errors = Vec::new();
        for n in [10_usize, 20, 40] {
            let mut m = mechanism(&format!(
                "cloth r: grid {} 1 spacing {}; mass 0.5; stretch {}; limit-strain 10; pin 0 0; pin {n} 0; collide none; end",
                n + 1,
                length / n as f64,
                stiff * n as f64
            ));
            let closed: Vec<Vector> = (0..=n).map(|k| shape(length * (k as f64 / n as f64 - 0.5))).collect();
            let net = Net::new(&m);
            let chain = net.rest(closed.clone(), Vector::Y * -G);
            let apart =
                |a: &[Vector], b: &[Vector]| a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            errors.push(apart(&closed, &chain));
            lay(&mut m, &chain);
            let (mut s, mut w) = (State::new(&m), Workspace::default());
            let mut moved = 0.0_f64;
            for _ in 0..120 {
                let r = step(&m, &mut s, &mut w, &exact());
                assert!(r.rejected.is_none() && r.soft.unsolved == 0, "{r:?}");
                moved = moved.max(apart(&net.places(&s), &chain));
            }
            assert!(moved < 1e-9, "{n} pieces, {stiff} N: it moved by {moved:e}");
            // Not there, it moves: what holds it is balance.
            let off: Vec<Vector> = chain
                .iter()
                .enumerate()
                .map(|(k, x)| *x + Vector::Y * if k == n / 2 { 1e-4 } else { 0.0 })
                .collect();
            lay(&mut m, &off);
            let (mut s, mut w) = (State::new(&m), Workspace::default());
            for _ in 0..10 {
                step(&m, &mut s, &mut w, &exact());
            }
            assert!(apart(&net.places(&s), &off) > 1e-6);
        }
        eprintln!("{stiff} N: chains differ from the catenary by {errors:?}");
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((1.7..2.3).contains(&order), "order {order}: {errors:?}");
        }
    }
}

/// A net of springs that is held all around sags to where an independent Newton's method says, to 1e-9, from lying flat.
#[test]
fn a_net_sags_as_far_as_it_should() {
    let n = 8;
    let pins: String = (0..n)
        .flat_map(|i| (0..n).map(move |j| (i, j)))
        .filter(|(i, j)| [*i, *j].iter().any(|k| *k == 0 || *k == n - 1))
        .map(|(i, j)| format!("pin {i} {j}; "))
        .collect();
    let m = mechanism(&format!(
        "cloth s: grid {n} {n} spacing 0.1; mass 0.2; stretch 100 2; shear 40 1; turn 1 0 0 -90 deg; limit-strain 10; {pins} collide none; end"
    ));
    let net = Net::new(&m);
    let flat = net.places(&State::new(&m));
    let sag = |v: &Vector| Vector::Y * -0.2 * (v.x * (0.7 - v.x) * -v.z * (0.7 + v.z)).max(0.0) / 0.015;
    let rest = net.rest(flat.iter().map(|v| *v + sag(v)).collect(), Vector::Y * -G);
    let (mut s, mut w) = (State::new(&m), Workspace::default());
    for _ in 0..3000 {
        let r = step(&m, &mut s, &mut w, &exact());
        assert!(r.rejected.is_none(), "{r:?}");
    }
    let at = net.places(&s);
    let off = at.iter().zip(&rest).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    let deepest = at.iter().map(|v| v.y).fold(0.0, f64::min);
    eprintln!("it sags by {deepest}, and is off by {off:e}");
    assert!(off < 1e-9 && deepest < -0.03, "{off:e}, {deepest}");
}

/// The frequency at which a mode swings by itself, from a small push along it.
fn frequency(m: &Mechanism, net: &Net, rest: &[Vector], shape: &[Vector], square: f64) -> f64 {
    let mut m = m.clone();
    let largest = shape.iter().map(|v| v.length()).fold(0.0, f64::max);
    let small = 1e-5 / largest;
    let at: Vec<Vector> = rest.iter().zip(shape).map(|(x, d)| *x + *d * small).collect();
    lay(&mut m, &at);
    let c = StepConfig { dt: 0.03 / square.sqrt(), tolerance: 1e-13, ..exact() };
    let (mut s, mut w) = (State::new(&m), Workspace::default());
    let swing = |s: &State| -> f64 {
        net.places(s)
            .iter()
            .zip(rest)
            .zip(shape)
            .zip(&net.masses)
            .map(|(((x, r), d), m)| m * (*x - *r).dot(*d))
            .sum()
    };
    let mut along = vec![swing(&s)];
    for _ in 0..300 {
        let r = step(&m, &mut s, &mut w, &c);
        assert!(r.rejected.is_none(), "{r:?}");
        along.push(swing(&s));
    }
    // a(n+1) + a(n-1) = 2 cos(t) a(n), in the mean over all.
    let (mut top, mut below) = (0.0, 0.0);
    for a in along.windows(3) {
        top += (a[0] + a[2]) * a[1];
        below += 2.0 * a[1] * a[1];
    }
    (top / below).acos() / c.dt
}

/// Checks some modes of a body at rest; they may be off by as much as the step makes them, `(w h)^2/12` being 7.5e-5.
fn check_modes(what: &str, m: &Mechanism, rest: &[Vector], which: &[usize]) -> Vec<(f64, Vec<Vector>)> {
    let net = Net::new(m);
    let modes = net.modes(rest);
    for k in which {
        let (square, shape) = &modes[*k];
        let (is, should) = (frequency(m, &net, rest, shape, *square), square.sqrt());
        eprintln!("{what}, mode {k}: {is} instead of {should} rad/s");
        assert!((is / should - 1.0).abs() < 3e-4, "{what}, mode {k}: {is} instead of {should}");
    }
    modes
}

/// A taut string of beads: `w = 2 sqrt(T/(m l)) sin(n pi / 2 N)` across, and what the matrix of its springs says.
#[test]
fn a_string_swings_at_its_frequencies() {
    let n = 12;
    let mut m = mechanism(&format!(
        "scene gravity 0 0 0; end cloth r: grid {} 1 spacing 0.05; mass 0.12; stretch 500; limit-strain 10; pin 0 0; pin {n} 0; collide none; end",
        n + 1
    ));
    let rest: Vec<Vector> = (0..=n).map(|k| Vector::X * (0.055 * f64::from(k))).collect();
    lay(&mut m, &rest);
    let modes = check_modes("string", &m, &rest, &[0, 2, 4, 8, 22]);
    let (tension, bead) = (500.0 * 0.005, 0.12 / f64::from(n));
    for k in 1..4 {
        // Two of each, across in both directions.
        let closed = 2.0
            * (tension / (bead * 0.055)).sqrt()
            * (f64::from(k) * std::f64::consts::PI / (2.0 * f64::from(n))).sin();
        assert!((modes[2 * k as usize - 2].0.sqrt() / closed - 1.0).abs() < 1e-9, "{closed}");
    }
}

/// A membrane that is held taut all around: slow modes across it, fast ones along.
#[test]
fn a_membrane_swings_at_its_frequencies() {
    let n = 7;
    let pins: String = (0..n)
        .flat_map(|i| (0..n).map(move |j| (i, j)))
        .filter(|(i, j)| [*i, *j].iter().any(|k| *k == 0 || *k == n - 1))
        .map(|(i, j)| format!("pin {i} {j}; "))
        .collect();
    let mut m = mechanism(&format!(
        "scene gravity 0 0 0; end cloth s: grid {n} {n} spacing 0.1; mass 0.36; stretch 300; limit-strain 10; {pins} collide none; end"
    ));
    let rest: Vec<Vector> =
        (0..n * n).map(|k| Vector::new(f64::from(k % n), f64::from(k / n), 0.0) * 0.105).collect();
    lay(&mut m, &rest);
    let modes = check_modes("membrane", &m, &rest, &[0, 1, 3, 10, 40]);
    // Of a grid of beads under the tension T in each thread: w^2 = 4 T/(m l) (sin^2 + sin^2).
    let (tension, bead) = (300.0 * 0.005, 0.36 / 36.0);
    let part = (std::f64::consts::PI / 12.0).sin().powi(2);
    let closed = (4.0 * tension / (bead * 0.105) * 2.0 * part).sqrt();
    assert!((modes[0].0.sqrt() / closed - 1.0).abs() < 1e-9, "{} {closed}", modes[0].0.sqrt());
}

/// A free block: six motions without force, and modes of its springs.
#[test]
fn a_block_swings_at_its_frequencies() {
    let m = mechanism(
        "scene gravity 0 0 0; end tetra t: grid 4 3 3 spacing 0.1; mass 0.5; stretch 200; collide none; end",
    );
    let rest = Net::new(&m).places(&State::new(&m));
    let modes = check_modes("block", &m, &rest, &[6, 7, 10, 20, 50]);
    assert!(modes[..6].iter().all(|m| m.0.abs() < 1e-6 * modes[6].0), "six free motions");
    assert!(modes[6].0 > 1.0);
}

/// A sheet that spins freely for a thousand steps: momenta to rounding, energy within what modes lose that the step cannot show.
#[test]
fn a_free_sheet_spins_for_a_thousand_steps() {
    for (stiffness, lost) in [(30.0, 0.01), (3e3, 0.03)] {
        let m = mechanism(&format!(
            "scene gravity 0 0 0; end cloth s: grid 8 8 spacing 0.1; mass 0.3; stretch {stiffness}; shear {stiffness}; \
             bend 1; limit-strain 10; velocity 1 2 0.5; spin 3 1 -4; collide none; end"
        ));
        let (mut s, mut w) = (State::new(&m), Workspace::default());
        let (first, before) = (momentum(&m, &s), energy(&m, &s).total());
        let (mut most, mut gained, mut least) = (0.0_f64, 0.0_f64, 0.0_f64);
        for k in 0..1000 {
            let r = step(&m, &mut s, &mut w, &StepConfig { sleep: false, ..StepConfig::default() });
            assert!(r.rejected.is_none() && r.substeps == 1, "step {k}: {r:?}");
            let now = momentum(&m, &s);
            most = most.max((now.linear - first.linear).length() / first.linear_size);
            most = most.max((now.angular - first.angular).length() / first.angular_size);
            let change = energy(&m, &s).total() / before - 1.0;
            (gained, least) = (gained.max(change), least.min(change));
        }
        eprintln!("{stiffness} N/m: momenta {most:e}, energy {least:e} to {gained:e}");
        assert!(most < 1e-12, "{most:e}");
        assert!(gained < 0.02 && least > -lost, "{least:e} to {gained:e}");
    }
}
