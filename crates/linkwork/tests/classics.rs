//! The classic mechanisms of the gallery against what geometry says of them in closed form: straight lines, Watt's curve, the
//! radii of Hoberman's ring, a delta robot's forward kinematics. And that the scenes which are driven by contact, and the
//! challenges, do what their comments promise.

use crate::common::{read, start, text};
use linkwork::{JointId, Mechanism, SolidId, State, StepConfig, Vector, Workspace, step};
use std::f64::consts::{PI, TAU};

/// Tighter than scenes are run, so that what is compared is the geometry.
const TOLERANCE: f64 = 1e-11;
/// What is exact in geometry is exact to this, metres.
const EXACT: f64 = 1e-9;

/// A scene that runs.
struct Run {
    m: Mechanism,
    state: State,
    work: Workspace,
    config: StepConfig<'static>,
}

impl Run {
    fn of(text: &str, dt: f64, tolerance: f64) -> Self {
        let m = read(text);
        let config = StepConfig { dt, tolerance, ..Default::default() };
        let mut run = Self { state: start(&m), work: Workspace::new(), config, m };
        run.step();
        run
    }

    /// A linkage with its motors, as exactly as it goes.
    fn exact(name: &str) -> Self {
        Self::of(&text(name), 1.0 / 60.0, TOLERANCE)
    }

    fn step(&mut self) {
        let r = step(&self.m, &mut self.state, &mut self.work, &self.config);
        assert!(r.rejected.is_none() && !r.missed, "at {}: {:?} {:?}", self.state.time, r.rejected, r.gaps);
    }

    /// Calls for each step of so many seconds.
    fn each(&mut self, seconds: f64, mut f: impl FnMut(&Self)) {
        for _ in 0..(seconds / self.config.dt).round() as usize {
            self.step();
            f(self);
        }
    }

    fn id(&self, name: &str) -> SolidId {
        self.m.find(name).unwrap_or_else(|| panic!("no {name}"))
    }

    /// A point of a solid in the world.
    fn point(&self, name: &str, x: f64, y: f64, z: f64) -> Vector {
        let pose = self.state.pose(&self.m, self.id(name));
        pose.translation + pose.rotation * Vector::new(x, y, z)
    }

    /// How far a solid is turned about z, radians.
    fn turn(&self, name: &str) -> f64 {
        let x = self.point(name, 1.0, 0.0, 0.0) - self.point(name, 0.0, 0.0, 0.0);
        x.y.atan2(x.x)
    }

    /// Where a joint has its first frame, in the plane of the mechanism.
    fn pin(&self, name: &str) -> (f64, f64) {
        let found = (0..self.m.joints().len() as u32).find(|j| self.m.joint_name(JointId(*j)) == name);
        let j = &self.m.joints()[found.unwrap_or_else(|| panic!("no {name}")) as usize];
        let pose = self.state.pose(&self.m, j.frames[0].solid);
        let p = pose.translation + pose.rotation * j.frames[0].pose.translation;
        (p.x, p.y)
    }
}

/// Least and largest of something.
#[derive(Debug)]
struct Range(f64, f64);

impl Range {
    fn new() -> Self {
        Self(f64::INFINITY, f64::NEG_INFINITY)
    }

    fn see(&mut self, x: f64) {
        *self = Self(self.0.min(x), self.1.max(x));
    }

    fn width(&self) -> f64 {
        self.1 - self.0
    }
}

/// Watt's curve about the middle of the pivots, 2 a apart: r² = b² - (a sin t ± √(c² - a² cos² t))², for arms b and a link 2 c.
#[test]
fn watts_knob_runs_on_watts_curve_and_nearly_on_a_line() {
    let (pivot, b, c) = (Vector::new(1.94, -0.5, 0.0), 1.0, 0.25);
    let a = 0.5 * pivot.length();
    let (mut off, mut high) = (Range::new(), Range::new());
    Run::exact("watt").each(TAU / 2.5, |run| {
        let p = run.point("link", 0.25, 0.0, 0.0);
        let from = Vector::new(p.x, p.y, 0.0) - 0.5 * pivot;
        let r = from.length();
        let cos = from.dot(pivot) / (r * 2.0 * a);
        let root = (c * c - (a * cos).powi(2)).max(0.0).sqrt();
        let sin = (1.0 - cos * cos).sqrt();
        let wrong = [root, -root].map(|root| (r * r - (b * b - (a * sin + root).powi(2))).abs());
        assert!(wrong[0].min(wrong[1]) < 10.0 * EXACT, "{p}: {wrong:?}");
        off.see(p.x - 0.97);
        high.see(p.y);
    });
    // What the scene's comment says: 0.6 m, never more than 0.2 mm off.
    assert!((high.width() - 0.6004).abs() < 1e-3, "{high:?}");
    assert!(off.0 > -2e-4 && off.1 < 2e-4 && off.width() > 3e-4, "{off:?}");
}

/// The knob's place by the crank's angle t: B + √(4 - d²) (B - C)⊥ / d with the crank pin C, the pivot B and d = |B - C|.
#[test]
fn chebyshevs_knob_is_where_the_crank_says_and_its_flat_side_is_flat() {
    let mut flat = Range::new();
    let mut along = Range::new();
    Run::exact("chebyshev").each(TAU / 1.6, |run| {
        let t = run.turn("crank");
        let to = Vector::new(0.8 - 0.4 * t.cos(), -0.4 * t.sin(), 0.0);
        let d = to.length();
        let k = (4.0 - d * d).sqrt() / d;
        let p = run.point("bar", 2.0, 0.0, 0.0);
        let wrong = (p.x - (0.8 - k * to.y)).hypot(p.y - k * to.x);
        assert!(wrong < EXACT, "{t}: {p}, off by {wrong}");
        if t.cos() < 0.0 {
            flat.see(p.y);
            along.see(p.x);
        }
    });
    assert!(along.width() > 1.5, "{along:?}");
    assert!(flat.0 > 1.6 - 1e-9 && flat.1 < 1.603902 && flat.width() > 3.8e-3, "{flat:?}");
}

#[test]
fn peaucelliers_knob_runs_on_an_exact_line() {
    let (mut line, mut along) = (Range::new(), Range::new());
    Run::exact("peaucellier").each(TAU / 1.5, |run| {
        let knob = run.point("outer-right", 0.0, 0.0, 0.0);
        let inner = run.point("input", 0.35, 0.0, 0.0);
        // An inversion: the product of the distances from the pivot.
        let product = knob.x.hypot(knob.y) * inner.x.hypot(inner.y);
        assert!((product - 0.75).abs() < EXACT, "{product}");
        line.see(knob.x - 0.75 / 0.7);
        along.see(knob.y);
    });
    assert!(line.0 > -EXACT && line.1 < EXACT, "{line:?}");
    assert!(along.width() > 1.1, "{along:?}");
}

/// Pins at r and R on the spokes and at m between them: both radii are roots of x² - 2 m x cos 15° + m² - a².
#[test]
fn hobermans_pins_stay_on_their_spokes_at_the_radii_of_the_closed_form() {
    let half = PI / 12.0;
    let mut breath = Range::new();
    Run::exact("hoberman").each(TAU / 1.2 + 1.0, |run| {
        for k in 0..12 {
            let [inner, outer, middle] = ["inner", "outer", "mid"].map(|n| run.pin(&format!("{n}{k}")));
            let radius = |p: (f64, f64)| p.0.hypot(p.1);
            let spoke = 0.5 * PI + 2.0 * half * f64::from(k);
            for (p, turn) in [(inner, spoke), (outer, spoke), (middle, spoke + half)] {
                let off = p.1 * turn.cos() - p.0 * turn.sin();
                assert!(off.abs() < EXACT, "{k}: {off} beside the spoke");
            }
            let m = radius(middle);
            let (sum, product) = (2.0 * m * half.cos(), m * m - 0.09);
            assert!((radius(inner) + radius(outer) - sum).abs() < EXACT, "{k}");
            assert!((radius(inner) * radius(outer) - product).abs() < EXACT, "{k}");
            breath.see(radius(outer));
        }
    });
    assert!((breath.0 - 0.7).abs() < 1e-3 && (breath.1 - 1.14).abs() < 1e-3, "{breath:?}");
}

/// The plate is where three spheres about the elbows meet, moved inwards by the plate's radius.
fn delta_plate(elbows: [Vector; 3], forearm: f64) -> Vector {
    let [a, b, c] = elbows;
    let (u, v) = (b - a, c - a);
    let normal = u.cross(v);
    let square = normal.length_squared();
    let centre =
        a + (normal.cross(u) * v.length_squared() + v.cross(normal) * u.length_squared()) / (2.0 * square);
    let high = ((forearm * forearm - (centre - a).length_squared()) / square).sqrt();
    // The lower one of the two.
    centre - normal * (high * normal.y.signum())
}

#[test]
fn a_delta_robots_plate_is_where_its_forward_kinematics_says_and_never_tilts() {
    let mut reach = [Range::new(), Range::new(), Range::new()];
    Run::exact("delta").each(TAU / 0.3, |run| {
        let names = ["a", "b", "c"];
        let elbows = [0, 1, 2].map(|i| {
            let around = TAU / 3.0 * i as f64;
            let out = Vector::new(around.cos(), 0.0, -around.sin());
            // From the arm's angle alone.
            let arm = format!("arm-{}", names[i]);
            let along = run.point(&arm, 1.0, 0.0, 0.0) - run.point(&arm, 0.0, 0.0, 0.0);
            let angle = along.y.atan2(along.dot(out));
            out * (0.35 - 0.12 + 0.45 * angle.cos()) + Vector::Y * (1.45 + 0.45 * angle.sin())
        });
        let plate = run.point("plate", 0.0, 0.0, 0.0);
        let off = plate.distance(delta_plate(elbows, 0.95));
        assert!(off < EXACT, "{off} at {}", run.state.time);
        let up = run.point("plate", 0.0, 1.0, 0.0) - plate;
        assert!(up.distance(Vector::Y) < EXACT, "tilted: {up}");
        reach.iter_mut().zip(plate.to_array()).for_each(|(r, x)| r.see(x));
    });
    assert!(reach.iter().all(|r| r.width() > 0.4), "{reach:?}");
}

#[test]
fn a_rovers_body_goes_by_the_mean_of_its_rockers() {
    let mut worst: f64 = 0.0;
    let mut apart = Range::new();
    Run::exact("differential").each(TAU / 0.5, |run| {
        let (left, right) = (run.turn("left-rocker"), run.turn("right-rocker"));
        worst = worst.max((run.turn("body") - 0.5 * (left + right)).abs());
        apart.see(left - right);
    });
    assert!(worst < 0.11_f64.to_radians() && apart.width() > 1.0, "{worst} {apart:?}");
}

#[test]
fn klanns_foot_stays_level_for_nearly_half_a_turn() {
    let (mut level, mut along, mut all) = (Range::new(), Range::new(), Range::new());
    Run::exact("klann").each(TAU / 2.5, |run| {
        let t = run.turn("shaft").to_degrees();
        let foot = run.point("left-back-leg", 1.117, 0.0, 0.0);
        all.see(foot.y);
        if (15.0..165.0).contains(&t) {
            level.see(foot.y);
            along.see(foot.x);
        }
    });
    assert!(level.width() < 0.014 && along.width() > 0.6, "{level:?} {along:?}");
    assert!(all.width() > 0.3 && all.0 >= level.0, "it steps high: {all:?}");
}

/// Contact alone turns the wheel: a quarter for each turn of the driver, and it rests between.
#[test]
fn the_geneva_wheel_goes_on_by_quarters() {
    let mut run = Run::of(&text("geneva"), 1.0 / 120.0, 1e-6);
    // The pin is out of the wheel when the driver points away: at 150 degrees and every three seconds from there.
    let mut before = run.turn("wheel");
    for _ in 0..5 {
        run.each(3.0, |_| {});
        let now = run.turn("wheel");
        let turned = (before - now).rem_euclid(TAU);
        assert!((turned - 0.25 * TAU).abs() < 0.02, "{turned} at {}", run.state.time);
        before = now;
    }
    run.each(0.5, |_| {});
    assert!((run.turn("wheel") - before).abs() < 1e-6, "it rests");
}

/// Every marble goes up the stairs and comes back by the run, again and again.
#[test]
fn marbles_go_round() {
    let mut run = Run::of(&text("marble-machine"), 1.0 / 60.0, 1e-6);
    let mut rounds = [0; 5];
    let mut is_down = [true; 5];
    run.each(75.0, |run| {
        for k in 0..5 {
            let p = run.point(&format!("m{}", k + 1), 0.0, 0.0, 0.0);
            assert!(p.y > 0.3, "marble {} fell out: {p}", k + 1);
            if p.y > 1.5 {
                is_down[k] = false;
            } else if p.y < 0.7 && !is_down[k] {
                is_down[k] = true;
                rounds[k] += 1;
            }
        }
    });
    assert!(rounds.iter().all(|r| *r >= 2), "{rounds:?}");
}

/// Three struts that touch nowhere stand on the table, through every knock of it.
#[test]
fn the_tensegrity_prism_stands_on_tension_alone() {
    let mut run = Run::of(&text("tensegrity"), 1.0 / 60.0, 1e-6);
    let mut high = Range::new();
    run.each(12.0, |run| high.see(run.point("crown1", 0.0, 0.0, 0.0).y));
    assert!(high.0 > 0.9 && high.1 < 1.1 && high.width() > 0.02, "{high:?}");
    // One cable less, and all of it falls.
    let cut = text("tensegrity");
    let (from, to) = cut.split_once("spring side1:").expect("a cable");
    let (_, to) = to.split_once("end").expect("its end");
    let mut run = Run::of(&format!("{from}{to}"), 1.0 / 60.0, 1e-6);
    run.each(5.0, |_| {});
    let low = run.point("crown2", 0.0, 0.0, 0.0).y;
    assert!(low < 0.4, "{low}");
}

/// It jogs on the spot: both feet leave the ground in turn, and the body goes on bobbing.
#[test]
fn the_running_legs_run() {
    let mut run = Run::of(&text("runner"), 1.0 / 60.0, 1e-6);
    run.each(5.0, |_| {});
    let (mut body, mut feet) = (Range::new(), [Range::new(), Range::new()]);
    run.each(10.0, |run| {
        body.see(run.point("body", 0.0, 0.0, 0.0).y);
        for (foot, name) in feet.iter_mut().zip(["left-foot", "right-foot"]) {
            foot.see(run.point(name, 0.32, 0.0, 0.0).y);
        }
    });
    assert!(body.0 > 0.95 && body.1 < 1.35 && body.width() > 0.1, "{body:?}");
    assert!(feet.iter().all(|f| f.0 < 0.046 && f.1 > 0.15), "{feet:?}");
}

/// Least and largest height of the knob while the crank is on its far side.
fn flat_side(text: &str) -> Range {
    let mut flat = Range::new();
    Run::of(text, 1.0 / 60.0, 1e-6).each(TAU / 1.6, |run| {
        if run.turn("crank").cos() < 0.0 {
            flat.see(run.point("bar", 2.0, 0.0, 0.0).y);
        }
    });
    flat
}

/// Challenges are unsolved as they come, and the number that their hint leads to solves them.
#[test]
fn challenges_are_hard_until_they_are_solved() {
    let line = text("challenge-line");
    let wrong = flat_side(&line);
    assert!(wrong.0 < 1.55, "{wrong:?}");
    let solved = line.replace("frame1 0.95 0 0 ", "frame1 0.8 0 0 ");
    assert_ne!(line, solved);
    let flat = flat_side(&solved);
    // Between wires at 1.582 and 1.622, which are 8 mm thick.
    assert!(flat.0 > 1.59 && flat.1 < 1.614, "{flat:?}");

    let tray = text("challenge-tray");
    let solved = tray.replace("frame1 0 0.8 0 ", "frame1 0 0.9 0 ");
    assert_ne!(tray, solved);
    let roll = |text: &str| {
        let (mut roll, mut lean) = (Range::new(), Range::new());
        Run::of(text, 1.0 / 60.0, 1e-6).each(2.0 * TAU, |run| {
            let off = run.point("ball", 0.0, 0.0, 0.0) - run.point("tray", 0.0, 0.0, 0.0);
            roll.see(off.x);
            lean.see(run.turn("tray").to_degrees());
        });
        (roll, lean)
    };
    let (rolls, leans) = roll(&tray);
    assert!(rolls.width() > 0.6 && leans.width() > 10.0, "{rolls:?} {leans:?}");
    let (lies, level) = roll(&solved);
    assert!(lies.width() < 0.12 && level.0 > -1e-3 && level.1 < 1e-3, "{lies:?} {level:?}");
}
