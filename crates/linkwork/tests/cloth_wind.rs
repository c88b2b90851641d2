//! Wind on soft bodies: against closed forms, other methods, and the books of the energy guard.

use linkwork::measure::{energy, momentum};
use linkwork::step::Integrator;
use linkwork::{Air, Mechanism, Method, State, StepConfig, StepReport, Vector, Workspace, step};

const G: f64 = 9.81;

/// A flat sheet of `nx` x `ny` cells in the x-y plane, whose masses are shared as its faces are.
fn sheet(nx: usize, ny: usize, cell: f64) -> String {
    use std::fmt::Write;
    let mut obj = String::new();
    for j in 0..=ny {
        for i in 0..=nx {
            let _ = writeln!(obj, "v {} {} 0", i as f64 * cell, j as f64 * cell);
        }
    }
    let at = |i: usize, j: usize| 1 + i + (nx + 1) * j;
    for j in 0..ny {
        for i in 0..nx {
            let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j + 1));
            let _ = writeln!(obj, "f {a} {b} {d}\nf {a} {d} {c}");
        }
    }
    obj
}

fn mechanism(text: &str) -> Mechanism {
    let mut files = |name: &str| match name {
        "square.obj" => Ok(sheet(5, 5, 0.1).into_bytes()),
        "strip.obj" => Ok(sheet(2, 12, 0.05).into_bytes()),
        _ => Err("no such file".to_owned()),
    };
    let (scene, report) = linkwork::scene::load(text, &mut files);
    scene.unwrap_or_else(|| panic!("{report:?}")).mechanism
}

fn awake() -> StepConfig<'static> {
    StepConfig { sleep: false, ..StepConfig::default() }
}

fn run(
    m: &Mechanism,
    c: &StepConfig,
    steps: usize,
    mut see: impl FnMut(usize, &State, &StepReport),
) -> State {
    let (mut s, mut w) = (State::new(m), Workspace::default());
    for k in 0..steps {
        let report = step(m, &mut s, &mut w, c);
        assert!(report.rejected.is_none() && report.energy.unexplained == 0, "step {k}: {report:?}");
        assert_eq!(report.energy.clamped, 0, "step {k}: {report:?}");
        see(k, &s, &report);
    }
    s
}

/// A sheet that falls flat through still air: `v = u tanh(g t / u)`, `u^2 = 2 m g / (rho A)`, at second order in the step; in the end
/// at `u`.
#[test]
fn a_falling_sheet_reaches_its_terminal_velocity() {
    let text = "scene wind 0 0 0; end cloth s: mesh \"square.obj\"; mass 0.05; stretch 100; turn 1 0 0 90 deg; collide none; end";
    let m = mechanism(text);
    let u = (2.0 * 0.05 * G / (1.2 * 0.25)).sqrt();
    let speed = |s: &State| s.velocities[7].y;
    let errors = [20_usize, 40, 80].map(|n| {
        let s = run(&m, &StepConfig { dt: 0.2 / n as f64, ..awake() }, n, |_, _, _| {});
        (speed(&s) + u * (G * 0.2 / u).tanh()).abs()
    });
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((1.8..2.2).contains(&order), "order {order}: {errors:?}");
    }
    // Later it flutters, as flat things do that fall.
    let s = run(&m, &awake(), 150, |_, _, _| {});
    let before = s.centers[7].y;
    let (mut next, mut w) = (s.clone(), Workspace::default());
    step(&m, &mut next, &mut w, &awake());
    let falls = (before - next.centers[7].y) * 60.0;
    // Newton's method ends where a ten millionth of the kinetic energy is open.
    assert!((falls - u).abs() < 1e-4 * u, "{falls} instead of {u}");
    // Twice the density, slower by the root of two.
    let m = mechanism(&text.replace("wind 0 0 0", "wind 0 0 0 density 2.4"));
    let s = run(&m, &awake(), 150, |_, _, _| {});
    assert!((speed(&s) * 2.0_f64.sqrt() + u).abs() < 1e-2 * u, "{}", speed(&s));
}

/// A sheet that hangs from its upper edge leans until wind and weight balance across it: `1/2 rho w^2 cos^2 a = sigma g sin a`.
#[test]
fn a_hanging_sheet_leans_as_far_as_it_should() {
    for w in [1.0, 2.0, 3.0] {
        let text = format!(
            "scene wind 0 0 {w}; end cloth s: mesh \"strip.obj\"; mass 0.06; stretch 2000 1; bend 0.2 0.2; \
             turn 1 0 0 180 deg; pin 0; pin 1; pin 2; collide none; end"
        );
        let m = mechanism(&text);
        let s = run(&m, &awake(), 1500, |_, _, _| {});
        let (area, load) = (0.1 * 0.6, 0.5 * 1.2 * w * w);
        let sigma = 0.06 / area;
        // q (1 - sin^2) = sigma g sin
        let b = sigma * G / load;
        let sin = 0.5 * (-b + (b * b + 4.0).sqrt());
        let (foot, top) = (m.find("s.37").unwrap(), m.find("s.1").unwrap());
        let way = s.centers[foot.index()] - s.centers[top.index()];
        let (is, should) = ((way.z / -way.y).atan(), sin.asin());
        eprintln!("{w} m/s: {} of {} degrees", is.to_degrees(), should.to_degrees());
        assert!((is - should).abs() < 2e-3, "{w} m/s: {is} instead of {should}");
        let left = s.velocities[foot.index()].length();
        assert!(left < 0.01, "it stands still: {left} m/s");
    }
}

/// The implicit step and explicit ones converge to the same motion.
#[test]
fn methods_agree_on_wind() {
    let text = "scene wind 3 1 4; end cloth s: grid 5 4 spacing 0.1; mass 0.1; stretch 40 0.05; shear 20 0.02; bend 2 0.01; \
                limit-strain 10; pin 0 0; pin 4 0; turn 1 0 0 150 deg; collide none; end";
    let m = mechanism(text);
    let method = Method::Baumgarte { alpha: 0.0, beta: 0.0, integrator: Integrator::Rk4 };
    let exact = run(&m, &StepConfig { method, dt: 1.0 / 6400.0, ..awake() }, 3200, |_, _, _| {});
    let errors = [100_usize, 200, 400].map(|n| {
        let s = run(&m, &StepConfig { dt: 0.5 / n as f64, ..awake() }, n, |_, _, _| {});
        s.centers.iter().zip(&exact.centers).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
    });
    eprintln!("{errors:?}");
    for pair in errors.windows(2) {
        assert!((pair[0] / pair[1]).log2() > 1.5, "{errors:?}");
    }
    let vacuum = mechanism(&text.replace("wind 3 1 4;", ""));
    let s = run(&vacuum, &StepConfig { dt: 0.5 / 400.0, ..awake() }, 400, |_, _, _| {});
    assert!(s.centers[20].distance(exact.centers[20]) > 0.02, "wind moves it");
}

/// A storm on gossamer: nothing gets faster than the air, and still air only brakes.
#[test]
fn no_wind_is_too_strong() {
    let text = "scene gravity 0 0 0; wind 0 0 100; end cloth s: grid 8 8 spacing 0.05; mass 0.002; stretch 20; shear 10; \
                bend 0.1; thickness 0.004; end";
    let m = mechanism(text);
    let s = run(&m, &awake(), 240, |k, s, _| {
        let fastest = s.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
        assert!(fastest < 115.0, "step {k}: {fastest}");
    });
    let drift = momentum(&m, &s).linear.z / 0.002;
    assert!((drift - 100.0).abs() < 5.0, "it goes with the wind: {drift}");
    let still = mechanism(
        "scene gravity 0 0 0; wind 0 0 0; end cloth s: grid 8 8 spacing 0.05; mass 0.002; stretch 20; shear 10; \
         velocity 3 0 20; spin 2 7 0; thickness 0.004; end",
    );
    let mut before = energy(&still, &State::new(&still)).total();
    let first = before;
    run(&still, &awake(), 120, |k, s, _| {
        let now = energy(&still, s).total();
        assert!(now <= before + 1e-3 * first, "step {k}: {now} J after {before}");
        before = now;
    });
    assert!(before < 0.1 * first, "{before} of {first} J");
}

/// A flag on two points flaps for ten seconds: limits hold, and the guard's books balance in every step.
#[test]
fn a_flag_flaps_and_its_energy_is_explained() {
    let text = "scene wind 6 0 1.5; end cloth s: grid 12 8 spacing 0.05; mass 0.06; stretch 300 0.05; shear 100 0.02; \
                bend 0.2 0.002; thickness 0.004; pin 0 0; pin 0 7; end";
    let m = mechanism(text);
    let (mut flapped, mut was, mut stretched) = (0, 0.0_f64, 0.0_f64);
    run(&m, &awake(), 600, |_, s, r| {
        let z = s.velocities[12].z;
        flapped += usize::from(z * was < 0.0);
        was = z;
        stretched = stretched.max(r.soft.strain);
    });
    eprintln!("it turned {flapped} times, strain {stretched}");
    assert!(flapped > 10, "{flapped}");
    assert!(stretched < 0.1 + 2e-4, "{stretched}");
}

/// Bits do not depend on the workspace, and snapshots know which air they were in.
#[test]
fn wind_is_in_snapshots() {
    let text = "scene wind 3 0 2; end cloth s: grid 6 5 spacing 0.1; mass 0.1; stretch 100 0.1; shear 40; thickness 0.01; \
                pin 0 0; pin 0 4; end";
    let m = mechanism(text);
    let (mut a, mut w) = (State::new(&m), Workspace::default());
    let mut b = a.clone();
    for k in 0..40 {
        step(&m, &mut a, &mut w, &awake());
        step(&m, &mut b, &mut Workspace::default(), &awake());
        let bytes = linkwork::formats::snapshot::save(&m, &b);
        b = linkwork::formats::snapshot::restore(&m, &bytes).unwrap();
        assert_eq!(a.hash(), b.hash(), "step {k}");
    }
    let other = mechanism(&text.replace("wind 3", "wind 4"));
    let bytes = linkwork::formats::snapshot::save(&m, &b);
    assert!(linkwork::formats::snapshot::restore(&other, &bytes).is_err());
}

/// What sleeps is woken by wind that rises, and only by that.
#[test]
fn wind_wakes_what_sleeps() {
    let mut m = mechanism(
        "cloth s: grid 4 4 spacing 0.1; mass 0.1; stretch 100 5; shear 40 5; pin 0 0; pin 3 0; turn 1 0 0 180 deg; end",
    );
    let (mut s, mut w) = (State::new(&m), Workspace::default());
    for _ in 0..2000 {
        step(&m, &mut s, &mut w, &StepConfig::default());
    }
    let before = s.centers.clone();
    step(&m, &mut s, &mut w, &StepConfig::default());
    assert_eq!(before, s.centers, "it sleeps");
    assert!(m.set_air(Some(Air { wind: Vector::Z * f64::NAN, density: 1.2 })).is_err());
    m.set_air(Some(Air { wind: Vector::Z * 5.0, density: 1.2 })).unwrap();
    for _ in 0..30 {
        step(&m, &mut s, &mut w, &StepConfig::default());
    }
    assert!(s.centers[16].distance(before[16]) > 0.02, "{}", s.centers[16]);
}

/// The clause in text: defaults, layout, lint.
#[test]
fn the_clause_is_read_and_kept() {
    let text = "scene title \"Gale\"; wind 5 0 -1 density 1.1; end\ncloth s: grid 3 3 spacing 0.1; mass 1; stretch 9; end\n";
    let m = mechanism(text);
    assert_eq!(m.air(), Some(&Air { wind: Vector::new(5.0, 0.0, -1.0), density: 1.1 }));
    let laid_out = linkwork::scene::fmt(text).unwrap();
    assert_eq!(linkwork::scene::fmt(&laid_out).unwrap(), laid_out);
    assert_eq!(mechanism(&laid_out).air(), m.air());
    assert_eq!(mechanism("solid a: kernel fixed; shape sphere 1; end").air(), None);
    let (scene, report) = linkwork::scene::load(
        "scene wind 5 0 0; end solid a: kernel fixed; shape sphere 1; end",
        &mut |_| Err(String::new()),
    );
    assert!(scene.is_some() && report.diagnostics.iter().any(|d| d.code == "L010"), "{report:?}");
}
