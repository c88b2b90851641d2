//! Soft bodies against themselves, each other, and solids between their vertices: no frame has anything in anything else,
//! by a test of all pairs of triangles that knows nothing of the engine's.

use linkwork::measure::{energy, momentum};
use linkwork::{Mechanism, State, StepConfig, StepReport, Vector, Workspace, step};

fn mechanism(text: &str) -> Mechanism {
    let mut files = |_: &str| Err("no files here".to_owned());
    let (scene, report) = linkwork::scene::load(text, &mut files);
    scene.unwrap_or_else(|| panic!("{report:?}")).mechanism
}

fn awake() -> StepConfig<'static> {
    StepConfig { sleep: false, ..StepConfig::default() }
}

/// Does the edge from `p` to `q` go through the triangle?
fn pierces(p: Vector, q: Vector, [a, b, c]: [Vector; 3]) -> bool {
    let (e, f, d) = (b - a, c - a, q - p);
    let n = d.cross(f);
    let det = e.dot(n);
    if det.abs() < 1e-18 {
        return false;
    }
    let s = p - a;
    let u = s.dot(n) / det;
    let across = s.cross(e);
    let v = d.dot(across) / det;
    let t = f.dot(across) / det;
    u >= 0.0 && v >= 0.0 && u + v <= 1.0 && (0.0..=1.0).contains(&t)
}

/// All triangles of all soft bodies, by solids.
pub fn triangles(m: &Mechanism) -> Vec<[usize; 3]> {
    let own = |soft: &linkwork::soft::SoftBody| -> Vec<[usize; 3]> {
        soft.mesh.triangles.iter().map(|t| t.map(|k| soft.vertex(k).index())).collect()
    };
    m.softs().iter().flat_map(own).collect()
}

/// Pairs of triangles that cross.
pub fn crossings(s: &State, all: &[[usize; 3]]) -> usize {
    let at = |t: &[usize; 3]| t.map(|i| s.centers[i]);
    let low = |p: &[Vector; 3]| p[0].min(p[1]).min(p[2]);
    let high = |p: &[Vector; 3]| p[0].max(p[1]).max(p[2]);
    let mut count = 0;
    for (k, t) in all.iter().enumerate() {
        let p = at(t);
        for u in all[..k].iter().filter(|u| !u.iter().any(|i| t.contains(i))) {
            let q = at(u);
            if low(&p).cmpgt(high(&q)).any() || low(&q).cmpgt(high(&p)).any() {
                continue;
            }
            let edge = |x: &[Vector; 3], y: [Vector; 3]| (0..3).any(|i| pierces(x[i], x[(i + 1) % 3], y));
            count += usize::from(edge(&p, q) || edge(&q, p));
        }
    }
    count
}

/// Steps, and looks at every frame: nothing crosses, nothing that is at rest gains energy, limits hold.
fn watch(m: &Mechanism, steps: usize, mut see: impl FnMut(usize, &State, &StepReport)) -> State {
    let (mut s, mut w) = (State::new(m), Workspace::default());
    let all = triangles(m);
    assert_eq!(crossings(&s, &all), 0, "it begins tangled");
    let mut before = energy(m, &s).total();
    let scale = before.abs().max(energy(m, &s).kinetic).max(0.1);
    for k in 0..steps {
        let report = step(m, &mut s, &mut w, &awake());
        assert!(report.rejected.is_none(), "step {k}: {report:?}");
        assert_eq!(crossings(&s, &all), 0, "step {k}: {:?}", report.soft);
        let now = energy(m, &s).total();
        assert!(now < before + 0.02 * scale, "step {k}: {before} J became {now} J, {:?}", report.soft);
        assert!(report.soft.excess < 2e-4, "step {k}: {:?}", report.soft);
        before = now;
        see(k, &s, &report);
    }
    s
}

const SHEET: &str = "mass 0.1; stretch 300 0.5; shear 100 0.2; bend 0.3 0.01; thickness 0.01";

/// A vertical sheet falls on the floor and lies on itself in folds.
#[test]
fn a_sheet_folds_on_itself() {
    let m = mechanism(&format!(
        "solid floor: kernel fixed; shape plane 0 1 0; end
         cloth s: grid 13 13 spacing 0.05; at -0.3 0.05 0; velocity 0.3 0 0.1; {SHEET}; end"
    ));
    let mut most = 0;
    let s = watch(&m, 150, |_, _, r| most = most.max(r.soft.contacts));
    assert!(most > 60, "{most} contacts");
    let top = (1..s.centers.len()).map(|i| s.centers[i].y).fold(0.0, f64::max);
    // 13 rows of 5 cm stood up; in a heap with some layers of 1 cm.
    assert!(top < 0.35, "it still stands {top} m high");
}

/// One sheet falls on another that is held by its corners, and stays on it.
#[test]
fn a_sheet_rests_on_a_sheet() {
    let m = mechanism(&format!(
        "cloth a: grid 11 11 spacing 0.05; turn 1 0 0 90 deg; at -0.25 0.1 -0.25; pin 0 0; pin 10 0; pin 0 10; pin 10 10; {SHEET}; end
         cloth b: grid 7 7 spacing 0.05; turn 1 0 0 90 deg; at -0.13 0.4 -0.16; {SHEET}; end"
    ));
    let b = &m.softs()[1];
    let s = watch(&m, 150, |_, _, _| {});
    let lowest = b.range().map(|i| s.centers[i].y).fold(f64::INFINITY, f64::min);
    assert!(lowest > -0.35, "it fell through, to {lowest}");
}

/// At 20 m/s, 5 mm thick, at 1/60 s: sheets, ropes and soft solids do not pass through a sheet, whatever the angle.
#[test]
fn nothing_soft_passes_through_a_sheet_at_20_metres_a_second() {
    let bodies = [
        "cloth b: grid 6 6 spacing 0.05; turn 1 0 0 90 deg; mass 0.05; stretch 300 0.5; shear 100 0.2; thickness 0.005",
        "cloth b: grid 6 6 spacing 0.05; mass 0.05; stretch 300 0.5; shear 100 0.2; thickness 0.005",
        "cloth b: grid 5 1 spacing 0.05; mass 0.05; stretch 300 0.5; thickness 0.005",
        "tetra b: grid 3 3 3 spacing 0.06; mass 0.05; stretch 300 0.5; thickness 0.005",
    ];
    for body in bodies {
        for (dx, dz) in [(0.0, 0.0), (0.013, 0.021)] {
            let m = mechanism(&format!(
                "scene gravity 0 0 0; end
                 cloth a: grid 9 9 spacing 0.05; turn 1 0 0 90 deg; at -0.2 0 -0.2; mass 0.5; stretch 3000 1; shear 1000 1; thickness 0.005;
                   pin 0 0; pin 8 0; pin 0 8; pin 8 8; pin 4 0; pin 0 4; pin 8 4; pin 4 8; end
                 {body}; at {} 0.5 {}; velocity 0 -20 0; end",
                -0.1 + dx, -0.1 + dz
            ));
            let s = watch(&m, 12, |_, _, _| {});
            let lowest =
                |k: usize| m.softs()[k].range().map(|i| s.centers[i].y).fold(f64::INFINITY, f64::min);
            assert!(lowest(1) > lowest(0) - 0.01, "{body}: {} below {}", lowest(1), lowest(0));
        }
    }
}

/// A ball that is smaller than a cell of the grid meets faces between vertices: slow and fast.
#[test]
fn a_small_ball_does_not_slip_between_vertices() {
    for shape in ["sphere 0.02", "box 0.03 0.03 0.03", "capsule 0.012 0.03", "cylinder 0.015 0.03"] {
        for (speed, x) in [(1.0, 0.026), (20.0, 0.026), (20.0, 0.047)] {
            let m = mechanism(&format!(
                "scene gravity 0 0 0; end
                 solid ball: shape {shape}; mass 0.05; at {x} 0.3 0.027; velocity 0 -{speed} 0; end
                 cloth a: grid 7 7 spacing 0.1; turn 1 0 0 90 deg; at -0.3 0 -0.3; mass 0.5; stretch 3000 1; shear 1000 1; thickness 0.005;
                   pin 0 0; pin 6 0; pin 0 6; pin 6 6; pin 3 0; pin 0 3; pin 6 3; pin 3 6; end"
            ));
            let frames = if speed > 5.0 { 12 } else { 40 };
            let mut lowest = f64::INFINITY;
            watch(&m, frames, |_, s, _| {
                // Against the sheet around it, which gives way.
                let near = m.softs()[0]
                    .range()
                    .filter(|i| (s.centers[*i] - s.centers[1]).with_y(0.0).length() < 0.12);
                let sheet = near.map(|i| s.centers[i].y).fold(f64::INFINITY, f64::min);
                lowest = lowest.min(s.centers[1].y - sheet);
            });
            assert!(lowest > -0.01, "{shape} at {speed} m/s: {lowest} m below the sheet");
        }
    }
}

/// A free sheet that is thrown into folds keeps both momenta.
#[test]
fn a_free_sheet_that_folds_keeps_momentum() {
    let mut m = mechanism(&format!(
        "scene gravity 0 0 0; end
         cloth s: grid 9 9 spacing 0.05; velocity 0.1 0 0; {SHEET}; end"
    ));
    let soft = m.softs()[0].clone();
    for (k, i) in soft.range().enumerate() {
        // Its sides fold to the middle, one a little later than the other.
        let x = (k % 9) as f64 - 4.0;
        let way = Vector::new(-0.4 * x, 0.0, 0.3 * x.abs());
        m.edit_solid(linkwork::SolidId(i as u32), |v| v.velocity += way).unwrap();
    }
    let began = momentum(&m, &State::new(&m));
    let mut most = 0;
    let s = watch(&m, 90, |_, _, r| most = most.max(r.soft.contacts));
    assert!(most > 10, "{most} contacts");
    let now = momentum(&m, &s);
    let scale = 0.1 * 1.0;
    assert!((now.linear - began.linear).length() < 1e-10 * scale, "{:?} {:?}", now, began);
    assert!((now.angular - began.angular).length() < 1e-6 * scale, "{:?} {:?}", now, began);
}

/// What begins tangled is told, and does not blow up.
#[test]
fn a_tangled_start_is_told() {
    let m = mechanism(&format!(
        "scene gravity 0 0 0; end
         cloth a: grid 5 5 spacing 0.05; turn 1 0 0 90 deg; {SHEET}; end
         cloth b: grid 5 5 spacing 0.05; at 0.013 -0.1 0.1; {SHEET}; end"
    ));
    let (mut s, mut w) = (State::new(&m), Workspace::default());
    let report = step(&m, &mut s, &mut w, &awake());
    assert!(report.soft.tangled > 0, "{:?}", report.soft);
    for _ in 0..60 {
        step(&m, &mut s, &mut w, &awake());
    }
    let e = energy(&m, &s).total();
    assert!(e.abs() < 1.0, "{e} J out of nothing");
}
