//! The gallery's scenes with contact, run through the library: what each one promises happens, joints stay closed at every
//! step, and nothing gains energy that nobody gives it.
//!
//! The snake's sizes were fitted to the times of the paper's pictures, which gives none: its test keeps what the scene shows,
//! and is no evidence for the paper's times. The order of events is the paper's.

use crate::common::{Energies, read, run_watched, start, text};
use linkwork::{Mechanism, SolidId, State, StepConfig, Vector};

/// Joints stay closed to this, metres and radians.
const CLOSED: f64 = 1e-6;

/// A scene and the states it went through, the first one included.
struct Film {
    m: Mechanism,
    states: Vec<State>,
    /// Deepest penetration that a step reported.
    penetration: f64,
}

impl Film {
    /// Runs a scene at 1/60 s. Ends the test where a joint opens or a step is refused. `fed` is how long something feeds it
    /// (a force, a motor): from then on the energy must not rise above what it is.
    fn take(name: &str, seconds: f64, fed: f64) -> Self {
        Self::take_gaining(name, seconds, fed, 1e-3)
    }

    /// The same where the energy may rise by another part of what the motion turns over than a thousandth. What lies still
    /// turns over nothing: the work of lifting all of it by the tolerance of joints is always let pass.
    fn take_gaining(name: &str, seconds: f64, fed: f64, part: f64) -> Self {
        let m = read(&text(name));
        let c = StepConfig::default();
        let steps = (seconds / c.dt).round() as usize;
        let from = start(&m);
        let mut film = Self { states: vec![from.clone()], penetration: 0.0, m };
        let mut energies = (fed <= 0.0).then(|| Energies::new(&film.m, &from));
        let (m, states, deepest) = (&film.m, &mut film.states, &mut film.penetration);
        let run = run_watched(m, &from, &c, steps, u64::MAX, |s, r, _| {
            assert!(r.gaps.worst() <= CLOSED, "{name} at {:.3}: gap {:?}", s.time, r.gaps);
            *deepest = deepest.max(r.contacts.penetration);
            match &mut energies {
                Some(e) => e.see(m, s),
                None if s.time > fed => energies = Some(Energies::new(m, s)),
                None => {}
            }
            states.push(s.clone());
            true
        });
        assert_eq!(run.rejected, None, "{name}");
        assert_eq!((run.steps, run.missed), (steps, 0), "{name}");
        if let Some(e) = energies {
            let movable = film.m.solids().iter().filter(|s| !s.is_fixed());
            let weight = movable.map(|s| s.mass.mass).sum::<f64>() * film.m.gravity.length();
            assert!(e.gain <= part * e.range() + weight * CLOSED, "{name} gains energy: {}", e.words());
        }
        film
    }

    fn id(&self, name: &str) -> SolidId {
        self.m.find(name).unwrap_or_else(|| panic!("no {name}"))
    }

    /// The state at a time.
    fn at(&self, time: f64) -> &State {
        let k = (time * 60.0).round() as usize;
        &self.states[k]
    }

    fn last(&self) -> &State {
        &self.states[self.states.len() - 1]
    }

    /// Where a solid's origin is.
    fn place(&self, s: &State, name: &str) -> Vector {
        s.pose(&self.m, self.id(name)).translation
    }

    /// A direction of a solid in the world.
    fn direction(&self, s: &State, name: &str, v: Vector) -> Vector {
        s.pose(&self.m, self.id(name)).rotation * v
    }

    /// How far a solid's y leans from the world's, radians.
    fn lean(&self, s: &State, name: &str) -> f64 {
        self.direction(s, name, Vector::Y).y.clamp(-1.0, 1.0).acos()
    }

    /// The turn about z, radians.
    fn turn_z(&self, s: &State, name: &str) -> f64 {
        let x = self.direction(s, name, Vector::X);
        x.y.atan2(x.x)
    }

    /// Nothing but what is named moved further than this from its start.
    fn stands(&self, limit: f64) {
        for (i, solid) in self.m.solids().iter().enumerate() {
            let moved = (self.last().centers[i] - self.states[0].centers[i]).length();
            assert!(moved <= limit, "{} moved by {moved}", solid.name);
        }
    }
}

#[test]
fn the_snake_slides_stops_swings_and_flies_back() {
    // It cracks like a whip at 0.48 s, where the method errs by 0.2 J. A step before that used to lose as much and hid it.
    let f = Film::take_gaining("snake", 1.5, 0.0, 2e-3);
    let tail = |t: f64| f.place(f.at(t), "s1").x;
    let first = |from: f64, good: &dyn Fn(f64) -> bool| {
        f.states.iter().filter(|s| s.time >= from).find(|s| good(f.place(s, "s1").x)).map(|s| s.time)
    };
    let slides = first(0.0, &|x| x > -0.18).expect("it slides to the right");
    let stopped = first(slides, &|x| x > 0.699).expect("it is stopped on the right");
    let leaves = first(stopped, &|x| x < 0.5).expect("it comes back");
    let again = first(leaves, &|x| x < -0.699).expect("it is stopped on the left");
    assert!(slides < stopped && stopped < leaves && leaves < again);
    // First to the right: never more than a little to the left before it is stopped.
    let least = f.states.iter().filter(|s| s.time < stopped).map(|s| f.place(s, "s1").x);
    assert!(least.fold(0.0, f64::min) > -0.25);
    // As in the pictures: begins to slide, slides, stands at the stop, is on its way back, is stopped again.
    assert!((0.15..0.3).contains(&slides), "{slides}");
    assert!((-0.1..0.6).contains(&tail(0.35)), "{}", tail(0.35));
    assert!(tail(0.76) > 0.69, "{}", tail(0.76));
    assert!((-0.6..0.6).contains(&tail(1.26)), "{}", tail(1.26));
    assert!((again - 1.45).abs() < 0.1, "{again}");
    // The stops hold at every step.
    assert!(f.states.iter().all(|s| f.place(s, "s1").x.abs() <= 0.7 + CLOSED));
}

#[test]
fn the_otary_keeps_the_tray_level_and_the_ball_on_it() {
    let f = Film::take("otary", 5.0, 3.8);
    for s in &f.states {
        assert!(f.lean(s, "tray") <= 0.12 + CLOSED, "{}", f.lean(s, "tray"));
        let tray = s.pose(&f.m, f.id("tray"));
        let ball = tray.rotation.inverse() * (f.place(s, "ball") - tray.translation);
        assert!((ball.y - 0.175).abs() <= CLOSED, "{ball:?} at {}", s.time);
        assert!(ball.x.hypot(ball.z) <= 0.36 + CLOSED, "{ball:?} at {}", s.time);
    }
    // The seal sits: it never leaves the floor by much, nor sinks into it.
    assert!(f.states.iter().all(|s| (f.place(s, "body").y - 0.25).abs() < 0.05));
    assert!(f.penetration < 2e-3, "{}", f.penetration);
    // In the order of the forces: the head looks to one side, then to the other, then the tail is slapped and comes back.
    let yaw = |t: f64| {
        let z = f.direction(f.at(t), "head", Vector::Z);
        z.x.atan2(z.z)
    };
    let tail = |t: f64| f.direction(f.at(t), "tail", -Vector::Z).x;
    assert!(yaw(2.0) > 0.3 && yaw(3.0) < -0.3, "{} {}", yaw(2.0), yaw(3.0));
    assert!(
        tail(2.9).abs() < 0.1 && tail(3.5) > 0.5 && tail(4.2) < tail(3.5) - 0.3,
        "{} {}",
        tail(3.5),
        tail(4.2)
    );
}

#[test]
fn the_monocycle_rolls_and_its_wheel_drives_the_legs() {
    // A known fault: one step at 3.15 s makes 0.16 J, 0.4 % of what the motion turns over (0.02 J at 1/120 s). The bound is
    // the one per cent that the other tests of energy allow, not the thousandth of the other scenes here.
    let f = Film::take_gaining("monocycle", 3.5, 2.5, 1e-2);
    let wheel = f.id("wheel").index();
    for s in &f.states {
        // It rolls: the lowest point of the wheel stands still on the floor.
        let slip = s.velocities[wheel].z - 0.8 * s.spins[wheel].x;
        // Where the legs are stretched the response of the loops loses digits, and the contact with it: 5 mm/s then.
        assert!(slip.abs() < 1e-2, "slips by {slip} at {}", s.time);
        assert!((s.centers[wheel].y - 0.8).abs() < 1e-3, "{} at {}", s.centers[wheel].y, s.time);
        // It does not fall: the angle of Appendix A.
        assert!(f.lean(s, "body") <= 0.066 + CLOSED, "{} at {}", f.lean(s, "body"), s.time);
    }
    // Pushed from 0.5 to 2.5 s: it is fast afterwards, and goes on without the push.
    let (before, after) = (f.at(0.5).velocities[wheel].z, f.at(2.5).velocities[wheel].z);
    assert!(after > before + 0.5 && after > 0.8, "{before} {after}");
    assert!(f.at(3.5).centers[wheel].z > f.at(2.5).centers[wheel].z + 0.5);
    // More than a quarter of a turn, and the thighs went up and down with the pedals, one against the other.
    assert!(f.last().centers[wheel].z / 0.8 > std::f64::consts::FRAC_PI_2);
    let knee = |s: &State, side: &str| f.direction(s, &format!("{side}-thigh"), Vector::Z).y;
    for side in ["left", "right"] {
        let (mut low, mut high) = (1.0_f64, -1.0_f64);
        for s in &f.states {
            (low, high) = (low.min(knee(s, side)), high.max(knee(s, side)));
        }
        assert!(high - low > 0.2, "the {side} knee only moves from {low} to {high}");
    }
}

#[test]
fn what_stands_stands() {
    for (name, seconds, limit) in
        [("stack", 2.0, 1e-4), ("card-house", 3.0, 5e-4), ("arch", 3.0, 5e-4), ("drum-chain", 2.0, 2e-4)]
    {
        let f = Film::take(name, seconds, 0.0);
        f.stands(limit);
        assert!(f.penetration < 1e-3, "{name}: {}", f.penetration);
    }
}

#[test]
fn dominoes_fall_one_after_the_other() {
    let f = Film::take("domino", 2.5, 0.3);
    let mut before = 0.0;
    for k in 1..=12 {
        let name = format!("d{k}");
        let down = f.states.iter().find(|s| f.lean(s, &name) > 0.35).map(|s| s.time);
        let down = down.unwrap_or_else(|| panic!("{name} stands"));
        assert!(down > before, "{name} falls at {down}, the one before at {before}");
        before = down;
    }
    assert!(f.penetration < 2e-3, "{}", f.penetration);
}

#[test]
fn the_last_ball_of_the_cradle_swings_as_high_as_the_first() {
    let f = Film::take("cradle", 1.5, 0.0);
    let swing = |s: &State, k: usize| f.turn_z(s, &format!("b{k}")).to_degrees();
    let last = f.states.iter().map(|s| swing(s, 5)).fold(0.0, f64::max);
    assert!((39.5..=40.0).contains(&last), "{last}");
    for s in f.states.iter().filter(|s| s.time > 0.65 && s.time < 1.4) {
        for k in 1..=4 {
            assert!(swing(s, k).abs() <= 0.5, "ball {k} at {}: {}", s.time, swing(s, k));
        }
    }
}

#[test]
fn the_ragdoll_reaches_the_foot_of_the_stairs_in_one_piece() {
    let f = Film::take("ragdoll", 4.0, 0.35);
    let (from, to) = (f.place(&f.states[0], "pelvis"), f.place(f.last(), "pelvis"));
    assert!(from.y > 2.5 && to.y < 1.6 && to.z > from.z + 1.0, "{from:?} {to:?}");
    assert!(f.states.iter().all(|s| f.place(s, "head").y > 0.0));
    assert!(f.penetration < 0.01, "{}", f.penetration);
}

#[test]
fn the_excavator_lifts_its_load() {
    let f = Film::take("excavator", 4.0, f64::INFINITY);
    for load in ["boulder", "crate"] {
        let (from, to) = (f.place(&f.states[0], load), f.place(f.last(), load));
        assert!(to.y > from.y + 1.0, "{load}: {from:?} {to:?}");
        let inside = f.place(f.last(), load) - f.place(f.last(), "bucket");
        assert!((0.0..0.8).contains(&inside.x) && inside.z.abs() < 0.5, "{load} left the bucket: {inside:?}");
    }
    let machine = f.place(f.last(), "machine");
    assert!(machine.length() < 1e-2 && f.lean(f.last(), "machine") < 1e-2, "{machine:?}");
    assert!(f.penetration < 1e-3, "{}", f.penetration);
}

#[test]
fn marbles_roll_into_the_cup() {
    let f = Film::take("marble-run", 12.0, 0.0);
    for m in ["m1", "m2", "m3"] {
        let at = f.place(f.last(), m);
        assert!((0.6..1.1).contains(&at.x) && at.y < 0.1 && at.z.abs() < 0.2, "{m} ends at {at:?}");
    }
    assert!(f.penetration < 1e-3, "{}", f.penetration);
}

#[test]
fn the_hammer_throws_the_linkage_over() {
    let f = Film::take("hammer", 2.0, 0.0);
    let most = f.states.iter().map(|s| f.lean(s, "crank")).fold(0.0, f64::max);
    assert!(most > 1.0, "the crank only leans to {most}");
    assert!(f.penetration < 1e-3, "{}", f.penetration);
}

#[test]
fn the_acrobats_stand() {
    // Springs in their joints hold energy that is not counted: fed all the time.
    let f = Film::take("acrobats", 4.0, f64::INFINITY);
    for who in ["a", "b", "c"] {
        let head = format!("{who}-head");
        let moved = (f.place(f.last(), &head) - f.place(&f.states[0], &head)).length();
        assert!(moved < 0.02, "{head} moved by {moved}");
    }
    // Each ball jumped at least twice.
    for ball in ["ball-left", "ball-right"] {
        let v: Vec<f64> = f.states.iter().map(|s| s.velocities[f.id(ball).index()].y).collect();
        assert!(v.windows(2).filter(|w| w[0] < -0.5 && w[1] > 0.0).count() >= 2, "{ball}");
    }
}

#[test]
fn the_walkers_walk() {
    for (name, speed, seconds) in [("walker", 3.0, 3.0), ("strandbeest", 2.0, 3.0)] {
        let f = Film::take(name, seconds, f64::INFINITY);
        let (body, shaft) = (f.id("body").index(), f.id("shaft").index());
        let to = f.place(f.last(), "body");
        assert!(to.x < -1.0 && to.z.abs() < 0.05, "{name}: {to:?}");
        for s in f.states.iter().skip(1) {
            assert!(f.lean(s, "body") < 0.05, "{name} leans by {} at {}", f.lean(s, "body"), s.time);
            let crank = s.spins[shaft].z - s.spins[body].z;
            assert!((crank - speed).abs() < 0.01 * speed, "{name}: crank {crank} at {}", s.time);
        }
        assert!(f.penetration < 1e-3, "{name}: {}", f.penetration);
    }
}
