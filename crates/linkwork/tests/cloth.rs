//! Cloth, ropes and soft solids: against twins of particles and springs, closed forms and linear algebra.

use linkwork::measure::{energy, momentum};
use linkwork::step::Integrator;
use linkwork::{Mechanism, Method, Solid, Spring, State, StepConfig, StepReport, Vector, Workspace, step};

const G: f64 = 9.81;

/// A scene of this text, which has no files.
fn scene(text: &str) -> linkwork::scene::Scene {
    let mut files = |_: &str| Err("no files here".to_owned());
    let (scene, report) = linkwork::scene::load(text, &mut files);
    scene.unwrap_or_else(|| panic!("{report:?}"))
}

fn mechanism(text: &str) -> Mechanism {
    scene(text).mechanism
}

/// Steps for a while; every step is shown.
fn run(
    m: &Mechanism,
    c: &StepConfig,
    steps: usize,
    mut see: impl FnMut(usize, &State, &StepReport),
) -> State {
    let (mut s, mut w) = (State::new(m), Workspace::default());
    for k in 0..steps {
        let report = step(m, &mut s, &mut w, c);
        assert!(report.rejected.is_none(), "step {k}: {report:?}");
        see(k, &s, &report);
    }
    s
}

fn awake() -> StepConfig<'static> {
    StepConfig { sleep: false, ..StepConfig::default() }
}

/// The same vertices and springs as blocks of their own.
fn twin(m: &Mechanism) -> Mechanism {
    let mut twin = Mechanism::new();
    twin.gravity = m.gravity;
    for (i, solid) in m.solids().iter().enumerate().skip(1) {
        twin.add_solid(Solid { name: format!("p{i}"), ..solid.clone() }).unwrap();
    }
    for soft in m.softs() {
        for s in &soft.mesh.springs {
            twin.add_spring(Spring {
                name: String::new(),
                solids: s.ends.map(|k| soft.vertex(k)),
                points: [Vector::ZERO; 2],
                length: s.length,
                stiffness: s.stiffness,
                damping: s.damping,
                during: None,
            })
            .unwrap();
        }
    }
    twin
}

fn farthest(a: &State, b: &State) -> f64 {
    a.centers.iter().zip(&b.centers).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

const NET: &str = "cloth net: grid 5 4 spacing 0.1; mass 0.2; stretch 40 0.05; shear 20 0.02; bend 2 0.01; \
                   limit-strain 10; pin 0 0; pin 4 0; turn 1 0 0 60 deg; velocity 0.3 0 0.2; end";

/// Where springs are explicit forces a sheet is its twin.
#[test]
fn a_sheet_is_its_twin_of_particles_and_springs() {
    let m = mechanism(NET);
    let pair = twin(&m);
    let integrators = [Integrator::Euler, Integrator::SemiImplicit, Integrator::Rk4];
    for integrator in integrators {
        for method in [
            Method::Baumgarte { alpha: 10.0, beta: 10.0, integrator },
            Method::PostStabilization { integrator, velocities: false },
        ] {
            let c = StepConfig { method, dt: 1.0 / 400.0, ..awake() };
            let (a, b) = (run(&m, &c, 200, |_, _, _| {}), run(&pair, &c, 200, |_, _, _| {}));
            assert!(farthest(&a, &b) < 1e-9, "{method:?}: {}", farthest(&a, &b));
            assert!(a.centers[7].distance(State::new(&m).centers[7]) > 0.05, "it moves");
        }
    }
}

/// Where they are implicit, both converge to the same motion.
#[test]
fn the_implicit_step_converges_to_the_twins_motion() {
    let m = mechanism(NET);
    let pair = twin(&m);
    let rk4 = Method::Baumgarte { alpha: 0.0, beta: 0.0, integrator: Integrator::Rk4 };
    let exact = run(&pair, &StepConfig { method: rk4, dt: 1.0 / 3200.0, ..awake() }, 1600, |_, _, _| {});
    let error = |n: usize| {
        let c = StepConfig { dt: 0.5 / n as f64, ..awake() };
        farthest(&run(&m, &c, n, |_, _, r| assert_eq!(r.soft.unsolved, 0)), &exact)
    };
    let errors = [100, 200, 400].map(error);
    eprintln!("errors {errors:?}");
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((1.7..2.4).contains(&order), "order {order}: {errors:?}");
    }
    assert!(errors[2] < 3e-4, "{errors:?}");
}

/// A spinning sheet that nothing holds keeps its momenta to rounding and, without dampers, its energy but for modes that the
/// step cannot show.
#[test]
fn a_free_spinning_sheet_keeps_momentum_and_energy() {
    for stiffness in [30.0, 3e3, 3e5] {
        let text = format!(
            "scene gravity 0 0 0; end cloth sheet: grid 8 8 spacing 0.1; mass 0.3; stretch {stiffness}; \
             shear {stiffness}; bend 1; limit-strain 10; velocity 1 2 0.5; spin 3 1 -4; end"
        );
        let m = mechanism(&text);
        let first = momentum(&m, &State::new(&m));
        let before = energy(&m, &State::new(&m)).total();
        let (mut most, mut drift) = (0.0_f64, 0.0_f64);
        run(&m, &awake(), 300, |_, s, r| {
            let now = momentum(&m, s);
            most = most.max((now.linear - first.linear).length() / first.linear_size);
            most = most.max((now.angular - first.angular).length() / first.angular_size);
            drift = drift.max((energy(&m, s).total() / before - 1.0).abs());
            assert_eq!((r.soft.unsolved, r.substeps), (0, 1), "{stiffness}: {r:?}");
        });
        eprintln!("{stiffness}: momentum {most:e}, energy {drift:e}");
        // Forces of stiff springs are rounded as they are large.
        assert!(most < if stiffness > 1e4 { 1e-10 } else { 1e-12 }, "{stiffness}: {most:e}");
        assert!(drift < 0.03, "{stiffness}: {drift:e}");
    }
}

/// Corners weigh a quarter, sides half of an inner vertex; meshes a third of each triangle, solids a quarter of each
/// tetrahedron.
#[test]
fn masses_are_lumped_by_area_and_volume() {
    let m = mechanism("cloth c: grid 4 3 spacing 0.5; mass 6; stretch 10; end");
    let mass = |name: &str| m.solid(m.find(name).unwrap()).mass.mass;
    // Six cells of one each.
    for (name, share) in [("c.0.0", 0.25), ("c.3.2", 0.25), ("c.1.0", 0.5), ("c.0.1", 0.5), ("c.2.1", 1.0)] {
        assert!((mass(name) - share).abs() < 1e-12, "{name}: {}", mass(name));
    }
    let m = mechanism("cloth r: grid 5 1 spacing 0.5; mass 4; stretch 10; bend 1; end");
    let soft = &m.softs()[0];
    assert_eq!((soft.mesh.springs.len(), soft.mesh.triangles.len()), (4 + 3, 0));
    assert!((m.solid(m.find("r.0.0").unwrap()).mass.mass - 0.5).abs() < 1e-12);
    assert!((m.solid(m.find("r.2.0").unwrap()).mass.mass - 1.0).abs() < 1e-12);
    let m = mechanism("tetra t: grid 2 2 2 spacing 0.5; mass 6; stretch 10; end");
    let soft = &m.softs()[0];
    assert_eq!((soft.mesh.tetrahedra.len(), soft.mesh.triangles.len(), soft.mesh.springs.len()), (6, 12, 19));
    let mass = |name: &str| m.solid(m.find(name).unwrap()).mass.mass;
    assert!((mass("t.0.0.0") - 1.5).abs() < 1e-12 && (mass("t.1.0.0") - 0.5).abs() < 1e-12);
}

/// Springs: as many of each kind as a grid has, at rest as it lies.
#[test]
fn grids_have_the_springs_that_the_language_says() {
    let m = mechanism("cloth c: grid 4 3 spacing 0.5; mass 6; stretch 10 1; shear 5; bend 2; end");
    let count = |k: f64| m.softs()[0].mesh.springs.iter().filter(|s| s.stiffness == k).count();
    assert_eq!([count(10.0), count(5.0), count(2.0)], [3 * 3 + 4 * 2, 2 * 3 * 2, 2 * 3 + 4]);
    let s = State::new(&m);
    for spring in &m.softs()[0].mesh.springs {
        let [a, b] = spring.ends.map(|k| s.centers[m.softs()[0].vertex(k).index()]);
        assert!((a.distance(b) - spring.length).abs() < 1e-12);
        let limited = spring.stiffness > 2.0;
        assert_eq!(spring.longest.is_finite(), limited, "{spring:?}");
    }
    assert_eq!(m.softs()[0].mesh.triangles[..2], [[0, 1, 5], [0, 5, 4]]);
}

/// A hanging chain with dampers comes to rest where each spring carries what is below it.
#[test]
fn a_hanging_rope_rests_as_an_elastic_chain() {
    let (n, mass, k, length) = (9_usize, 0.8, 200.0, 0.1);
    let text = format!(
        "cloth rope: grid {n} 1 spacing {length}; mass {mass}; stretch {k} 4; turn 0 0 1 -90 deg; pin 0 0; \
         limit-strain 1; end"
    );
    let m = mechanism(&text);
    let s = run(&m, &awake(), 4000, |_, _, _| {});
    let each = mass / (n - 1) as f64;
    let mut y = 0.0;
    for j in 1..n {
        let below = each * ((n - 1 - j) as f64 + 0.5);
        y -= length + below * G / k;
        let id = m.find(&format!("rope.{j}.0")).unwrap();
        assert!(
            (s.centers[id.index()] - Vector::new(0.0, y, 0.0)).length() < 1e-9,
            "{j}: {}",
            s.centers[id.index()].y - y
        );
    }
}

/// No spring is longer than its limit after any step, and what is limited loses no force: a weak rope hangs at its limit.
#[test]
fn limits_hold_at_every_step() {
    for (stiffness, spacing) in [(40.0, 0.1), (5.0, 0.1)] {
        let text = format!(
            "cloth sheet: grid 8 8 spacing {spacing}; mass 0.3; stretch {stiffness} 0.1; shear {stiffness} 0.1; \
             limit-strain 10 %; pin 0 0; pin 7 0; turn 1 0 0 90 deg; end"
        );
        let m = mechanism(&text);
        let (mut worst, mut active, mut substeps, mut rounds) = (0.0_f64, 0, 0, 0);
        run(&m, &awake(), 60, |k, s, r| {
            for soft in m.softs() {
                for spring in &soft.mesh.springs {
                    let [a, b] = spring.ends.map(|v| s.centers[soft.vertex(v).index()]);
                    let strain = a.distance(b) / spring.length - 1.0;
                    worst = worst.max(strain);
                    assert!(strain <= 0.1 + 1e-4, "step {k}: {strain}, {r:?}");
                }
            }
            active = active.max(r.soft.limited);
            substeps = substeps.max(r.substeps);
            rounds = rounds.max(r.soft.rounds);
        });
        eprintln!("{stiffness}: worst {worst}, active {active}, substeps {substeps}, rounds {rounds}");
        assert!(active > 3 && worst > 0.0999, "{active} {worst}");
    }
}

/// A sheet pinned to a linkage loads it, and is carried by it; joints and pins stay closed.
#[test]
fn pins_hold_both_ways() {
    let text = "solid bar: shape box 1.2 0.05 0.05; mass 0.5; at 0 1 0; end \
        joint hinge: pin; object1 world; object2 bar; at -0.6 1 0 axis 0 0 1; end \
        cloth sheet: grid 7 6 spacing 0.1; mass 0.4; stretch 300 0.3; shear 100 0.1; at 0 1 0; turn 1 0 0 180 deg; \
        pin 0 0 to bar 0 0 0; pin 6 0 to bar 0.6 0 0; end";
    let m = mechanism(text);
    let (bar, left) = (m.find("bar").unwrap(), m.find("sheet.0.0").unwrap());
    let (mut gap, mut way) = (0.0_f64, Vec::new());
    run(&m, &awake(), 90, |k, s, r| {
        way.push(s.centers[bar.index()]);
        gap = gap.max(r.gaps.position);
        assert!(!r.missed, "step {k}: {r:?}");
        let held = s.pose(&m, bar).transform_point(Vector::ZERO);
        assert!(held.distance(s.centers[left.index()]) < 1e-6, "step {k}");
    });
    // Without the sheet it would swing alone.
    let alone = mechanism(
        "solid bar: shape box 1.2 0.05 0.05; mass 0.5; at 0 1 0; end \
         joint hinge: pin; object1 world; object2 bar; at -0.6 1 0 axis 0 0 1; end",
    );
    let mut apart = 0.0_f64;
    run(&alone, &awake(), 90, |k, s, _| apart = apart.max(s.centers[1].distance(way[k])));
    eprintln!("gap {gap:e}, at most {apart} m from where the bar would be alone");
    assert!(apart > 0.1, "the sheet weighs something: {apart}");
}

/// Distance of the nearest vertex of all soft bodies from a point.
fn nearest(m: &Mechanism, s: &State, to: Vector) -> f64 {
    let vertices = m.softs().iter().flat_map(|soft| soft.range());
    vertices.map(|i| s.centers[i].distance(to)).fold(f64::INFINITY, f64::min)
}

/// A sheet that falls on a sphere stays outside by half of its thickness.
#[test]
fn a_sheet_drops_on_a_sphere() {
    let text = "solid ball: kernel fixed; shape sphere 0.25; end \
        cloth sheet: grid 11 11 spacing 0.1; mass 0.2; stretch 300 0.05; shear 100 0.05; thickness 0.005; \
        at -0.5 0.3 0.5; turn 1 0 0 -90 deg; end";
    let m = mechanism(text);
    let (mut contacts, mut deepest, mut strain, mut rounds) = (0, f64::INFINITY, 0.0_f64, 0);
    run(&m, &awake(), 40, |k, s, r| {
        let gap = nearest(&m, s, Vector::ZERO) - 0.2525;
        deepest = deepest.min(gap);
        // A fiftieth of the half thickness is what contact may give way.
        assert!(gap > -5.2e-5, "step {k}: {gap:e}, {:?}", r.soft);
        assert!(r.soft.excess < 1e-4, "step {k}: {:?}", r.soft);
        contacts = contacts.max(r.soft.contacts);
        strain = strain.max(r.soft.strain);
        rounds = rounds.max(r.soft.rounds);
    });
    eprintln!("deepest {deepest:e}, contacts {contacts}, strain {strain}, rounds {rounds}");
    assert!(contacts > 8, "{contacts}");
}

/// At 20 m/s a sheet of 5 mm goes a third of a metre in a step, and through nothing.
#[test]
fn a_fast_sheet_does_not_tunnel() {
    let text = "solid floor: kernel fixed; shape plane 0 1 0; end \
        solid shelf: kernel fixed; shape box 0.3 0.004 3; at 0.1 0.3 0; end \
        cloth sheet: grid 8 8 spacing 0.1; mass 0.2; stretch 300 0.1; shear 100 0.1; thickness 0.005; \
        at 0.3 1 0.35; turn 1 0 0 -90 deg; velocity 0 -20 0; end";
    let m = mechanism(text);
    let mut contacts = 0;
    run(&m, &awake(), 12, |k, s, r| {
        contacts = contacts.max(r.soft.contacts);
        for i in m.softs()[0].range() {
            let at = s.centers[i];
            assert!(at.y > 0.0025 - 5.2e-5, "step {k}: {at:?}, {:?}", r.soft);
            // Above the shelf none gets below it.
            let above = at.x < 0.25 - 1e-3 && at.x > -0.05;
            assert!(!above || at.y > 0.3 + 0.0045 - 5.2e-5, "step {k}: {at:?}, {:?}", r.soft);
        }
    });
    assert!(contacts >= 8, "{contacts}");
}

/// A run, the same run with a fresh workspace at every step, and the same through snapshots: the same bits.
#[test]
fn nothing_is_remembered_outside_of_the_state() {
    let text = "solid floor: kernel fixed; shape plane 0 1 0; end solid ball: shape sphere 0.1; mass 1; at 0.2 0.6 0.2; end \
        cloth sheet: grid 7 7 spacing 0.1; mass 0.2; stretch 100 0.1; shear 50; limit-strain 5 %; thickness 0.01; at 0 0.3 0.6; \
        turn 1 0 0 -90 deg; pin 0 0; pin 6 0; pin 3 6 to ball 0 -0.1 0; end";
    let m = mechanism(text);
    let c = awake();
    let (mut a, mut w) = (State::new(&m), Workspace::default());
    let mut b = a.clone();
    for k in 0..40 {
        step(&m, &mut a, &mut w, &c);
        step(&m, &mut b, &mut Workspace::default(), &c);
        let bytes = linkwork::formats::snapshot::save(&m, &b);
        b = linkwork::formats::snapshot::restore(&m, &bytes).unwrap();
        assert_eq!(a.hash(), b.hash(), "step {k}");
    }
}

/// A heavy ball thrown into a light sheet between two posts is stopped by it: nothing stretches beyond its limit, nothing
/// goes through, and no energy is made.
#[test]
fn a_ball_is_caught() {
    let pins: String = (0..5).map(|k| format!("pin 0 {0}; pin 8 {0}; ", 2 * k)).collect();
    let text = format!(
        "cloth sheet: grid 9 9 spacing 0.125; mass 0.2; at -0.5 0 0; stretch 3000 1; shear 1000 0.5; \
         limit-strain 10 %; thickness 0.01; {pins} end \
         solid ball: shape sphere 0.2; mass 2; at 0 0.5 0.45; velocity 0 0 -3; end"
    );
    let m = mechanism(&text);
    let ball = m.find("ball").unwrap().index();
    let start = energy(&m, &State::new(&m)).total();
    let (mut contacts, mut most, mut slowest) = (0, f64::NEG_INFINITY, f64::INFINITY);
    run(&m, &awake(), 24, |k, s, r| {
        contacts = contacts.max(r.soft.contacts);
        most = most.max(energy(&m, s).total() / start);
        slowest = slowest.min(-s.velocities[ball].z);
        assert!(r.soft.excess < 1e-4, "step {k}: {:?}", r.soft);
        let gap = nearest(&m, s, s.centers[ball]) - 0.205;
        assert!(gap > -1e-3, "step {k}: {gap:e}, {:?}", r.soft);
        assert!(s.centers[ball].z > -0.2, "step {k}: it went through");
    });
    eprintln!("contacts {contacts}, energy {most}, slowest {slowest}");
    assert!(contacts > 2 && slowest < 0.5, "{contacts} {slowest}");
    assert!(most < 1.05, "{most}");
}
