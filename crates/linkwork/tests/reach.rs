//! Where a point can get to, against closed forms: an annulus, limits of both joints, a line, a sphere, a ball, no end.

use linkwork::reach::{Reach, ReachConfig, reach};
use linkwork::scene::load;
use linkwork::{SolidId, State, Vector};
use std::f64::consts::PI;

fn of(text: &str, solid: &str, point: Vector) -> Reach {
    coarse(text, solid, point, ReachConfig::default().across)
}

fn coarse(text: &str, solid: &str, point: Vector, across: usize) -> Reach {
    let (scene, report) = load(text, &mut |_| Err("no files".into()));
    let scene = scene.unwrap_or_else(|| panic!("{}", report.render("t.lw", text, false)));
    let m = &scene.mechanism;
    let config = ReachConfig { across, ..ReachConfig::default() };
    let k = m.solids().iter().position(|s| s.name == solid).expect("it is there");
    reach(m, &State::new(m), SolidId(k as u32), point, &config).expect("it can be searched")
}

/// Two bars in the plane z = 0, of 0.7 and 0.4 m, with clauses for the two pins.
fn arm(shoulder: &str, elbow: &str) -> String {
    format!(
        "solid upper: shape capsule 0.02 from 0 0 0 to 0.7 0 0; mass 1; end
        solid lower: shape capsule 0.02 from 0 0 0 to 0.4 0 0; mass 1; at 0.7 0 0; turn 0 0 1 70 deg; end
        joint shoulder: pin; object2 upper; frame1 0 0 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; {shoulder} end
        joint elbow: pin; object1 upper; object2 lower; frame1 0.7 0 0 axis 0 0 1; frame2 0 0 0 axis 0 0 1; {elbow} end"
    )
}
const TIP: Vector = Vector::new(0.4, 0.0, 0.0);

#[test]
fn the_tip_of_a_two_bar_arm_reaches_an_annulus() {
    let r = of(&arm("", "drive r1 speed 2;"), "lower", TIP);
    assert!(r.complete && !r.unbounded);
    assert_eq!(r.dimensions, 2);
    assert_eq!(r.plane.map(|p| p[2]), Some(Vector::Z));
    let exact = PI * (1.1_f64.powi(2) - 0.3_f64.powi(2));
    let area = r.measure.expect("an area");
    assert!((area / exact - 1.0).abs() < 0.02, "{area} instead of {exact}");
    for p in &r.places {
        let far = p.at.length();
        assert!((0.3 - 1e-4..=1.1 + 1e-4).contains(&far) && p.at.z.abs() < 1e-6, "{p:?}");
    }
    // Both edges were found to the millimetre, not to a cell.
    let least = r.places.iter().map(|p| p.at.length()).fold(f64::INFINITY, f64::min);
    let most = r.places.iter().map(|p| p.at.length()).fold(0.0, f64::max);
    assert!((least - 0.3).abs() < 1e-3 && (most - 1.1).abs() < 1e-3, "{least} to {most}");
}

/// Every pose of the arm by its two angles, against the cells: none is missed, and none is invented.
#[test]
fn limits_of_both_joints_cut_the_annulus() {
    let (s, e) = (50.0_f64.to_radians(), 140.0_f64.to_radians());
    let r = of(&arm("limit r1 -50 deg 50 deg;", "limit r1 -140 deg 140 deg;"), "lower", TIP);
    assert!(r.complete && r.dimensions == 2, "{} {}", r.complete, r.dimensions);
    let tip = |a: f64, b: f64| {
        Vector::new(0.7 * a.cos() + 0.4 * (a + b).cos(), 0.7 * a.sin() + 0.4 * (a + b).sin(), 0.0)
    };
    let all: Vec<Vector> = (0..=100)
        .flat_map(|i| (0..=200).map(move |j| (f64::from(i), f64::from(j))))
        .map(|(i, j)| tip(s * (i / 50.0 - 1.0), e * (j / 100.0 - 1.0)))
        .collect();
    let near = |p: Vector, list: &mut dyn Iterator<Item = Vector>| {
        list.map(|q| q.distance(p)).fold(f64::INFINITY, f64::min)
    };
    for p in &r.places {
        let far = near(p.at, &mut all.iter().copied());
        assert!(far < 0.02, "{:?} is {far} from all that the arm can do", p.at);
    }
    for q in all.iter().step_by(37) {
        let far = near(*q, &mut r.places.iter().map(|p| p.at));
        assert!(far < 1.5 * r.cell, "{q:?} was missed: the nearest is {far} away");
    }
}

#[test]
fn a_coupler_point_reaches_its_curve_and_nothing_else() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/fourbar.lw")).unwrap();
    let r = of(&text, "coupler", Vector::new(0.9, 0.7, 0.0));
    assert!(r.complete && r.dimensions == 1 && r.measure.is_none(), "{} {}", r.complete, r.dimensions);
    // The curve by the linkage's geometry: ground 2, crank 0.6, coupler 1.8, rocker 1.2.
    let curve = |angle: f64| {
        let b = Vector::new(0.6 * angle.cos(), 0.6 * angle.sin(), 0.0);
        let way = Vector::X * 2.0 - b;
        let far = way.length();
        let turn = way.y.atan2(way.x) + ((far * far + 1.8 * 1.8 - 1.2 * 1.2) / (2.0 * far * 1.8)).acos();
        let (s, c) = turn.sin_cos();
        b + Vector::new(0.9 * c - 0.7 * s, 0.9 * s + 0.7 * c, 0.0)
    };
    let all: Vec<Vector> = (0..2000).map(|k| curve(f64::from(k) * PI / 1000.0)).collect();
    let flat = |p: Vector| Vector::new(p.x, p.y, 0.0);
    for p in &r.places {
        let far = all.iter().map(|q| q.distance(flat(p.at))).fold(f64::INFINITY, f64::min);
        assert!(far < 5e-3, "{:?} is {far} off the curve", p.at);
    }
    for q in all.iter().step_by(10) {
        let far = r.places.iter().map(|p| flat(p.at).distance(*q)).fold(f64::INFINITY, f64::min);
        assert!(far < 2.0 * r.cell, "{q:?} was missed by {far}, cells of {}", r.cell);
    }
}

#[test]
fn surfaces_volumes_and_what_has_no_end_are_told_apart() {
    let ball = "solid a: shape capsule 0.02 from 0 0 0 to 0.5 0 0; mass 1; end
        joint j: ball; object2 a; frame1 0 0 0; frame2 0 0 0; end";
    let sphere = of(ball, "a", Vector::new(0.5, 0.0, 0.0));
    assert_eq!((sphere.dimensions, sphere.plane, sphere.measure), (2, None, None));
    assert!(sphere.places.iter().all(|p| (p.at.length() - 0.5).abs() < 1e-4));
    let two = format!(
        "{ball} solid b: shape capsule 0.02 from 0 0 0 to 0.5 0 0; mass 1; at 0.5 0 0; turn 0 0 1 60 deg; end
        joint k: ball; object1 a; object2 b; frame1 0.5 0 0; frame2 0 0 0; end"
    );
    let volume = coarse(&two, "b", Vector::new(0.5, 0.0, 0.0), 30);
    let exact = 4.0 / 3.0 * PI;
    assert_eq!(volume.dimensions, 3);
    let found = volume.measure.expect("a volume");
    assert!((found / exact - 1.0).abs() < 0.1, "{found} instead of {exact}");
    let rail =
        "solid a: shape box 0.1 0.1 0.1; mass 1; end joint s: slider; object2 a; at 0 0 0 axis 1 0 0; end";
    let line = of(rail, "a", Vector::ZERO);
    assert!(line.unbounded && line.dimensions == 1, "{} {}", line.unbounded, line.dimensions);
    assert!(line.places.iter().all(|p| p.at.y.abs() + p.at.z.abs() < 1e-6));
    let held = of(
        "solid a: shape box 0.1 0.1 0.1; mass 1; at 3 0 0; end joint w: weld; object2 a; at 3 0 0; end",
        "a",
        Vector::ZERO,
    );
    assert_eq!((held.dimensions, held.places.len()), (0, 1));
    let twice = [0, 1].map(|_| coarse(&arm("", ""), "lower", TIP, 12));
    assert_eq!(twice[0], twice[1], "the same search, bit for bit");
}
