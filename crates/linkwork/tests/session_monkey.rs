//! A monkey at every scene: random grabs, drags, edits, jumps in time and settings, with one millisecond per tick. No
//! panic, no number that is none, no torn mechanism after it lets go, and a log that repeats it bit for bit.

use linkwork::math::Random;
use linkwork::session::{Command, GripMode, Mode, Past, Policy, Session, replay};
use linkwork::{Method, SolidId};
use std::cell::Cell;
use std::path::PathBuf;
use std::time::Instant;

fn scenes() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let mut all: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "lw"))
        .map(|p| (p.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(&p).unwrap()))
        .collect();
    all.sort();
    assert!(all.len() >= 15);
    // Soft bodies, whose vertices it holds.
    for name in ["cloth", "rope", "tetra"] {
        let text = std::fs::read_to_string(folder.join("features").join(format!("{name}.lw"))).unwrap();
        all.push((name.to_owned(), text));
    }
    all
}

struct Monkey {
    random: Random,
}

impl Monkey {
    /// Uniform in 0..n.
    fn below(&mut self, n: usize) -> usize {
        (((self.random.signed() + 1.0) * 0.5 * n as f64) as usize).min(n.saturating_sub(1))
    }

    fn number(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * 0.5 * (self.random.signed() + 1.0)
    }

    /// Something a user might do, or would never.
    fn idea(&mut self, s: &Session) -> Command {
        let hand = self.below(3) as u32;
        let m = s.mechanism();
        let solid = self.below(m.solids().len() + 1) as u32;
        let size = m.solids().get(solid as usize).map_or(1.0, |s| s.extent());
        let joints = m.joints().len().max(1);
        match self.below(100) {
            0..=14 => {
                let mode = [GripMode::Pin, GripMode::PinPose, GripMode::Pull][self.below(3)];
                let point = (self.random.ball() * size).to_array();
                Command::Grab { hand, solid: solid.into(), point, mode, rotation: None }
            }
            15..=64 => {
                let near = s.pose(SolidId(solid.min(m.solids().len() as u32 - 1))).translation;
                // Mostly nearby, sometimes at the other end of the world.
                let far = if self.below(30) == 0 { 100.0 } else { 1.5 };
                let q = linkwork::math::exp(self.random.ball() * 3.0);
                let rotation = (self.below(2) == 0).then_some([q.w, q.x, q.y, q.z]);
                Command::Drag { hand, position: (near + self.random.ball() * far).to_array(), rotation }
            }
            65..=74 => Command::Release { hand },
            75..=76 => Command::Cancel { hand },
            77..=79 => Command::Run { on: self.below(5) > 0 },
            80 => Command::Step { count: self.below(7) as i32 - 3 },
            81 => {
                let line = s.timeline();
                let span = (line.last - line.first + 2) as usize;
                Command::Scrub { to: Past::Index(line.first + self.below(span) as u64) }
            }
            82 => Command::Scrub { to: Past::Time(self.number(-1.0, 5.0)) },
            83 => Command::Branch,
            84..=85 => Command::Undo,
            86 => Command::Redo,
            87 => Command::Mode { mode: [Mode::Dynamic, Mode::Dynamic, Mode::Kinematic][self.below(3)] },
            88 => Command::Method { name: Method::ALL[self.below(Method::ALL.len())].name().into() },
            89 => {
                let solver =
                    ["auto", "sparse-direct", "full-iterative", "structured-iterative"][self.below(4)];
                Command::Solver { name: solver.into() }
            }
            90 => Command::Tolerance { value: [1e-3, 1e-4, 1e-6][self.below(3)] },
            91 => Command::TimeStep { seconds: [1.0 / 30.0, 1.0 / 60.0, 1.0 / 120.0][self.below(3)] },
            92 => Command::Iterations { count: 1 + self.below(10) as u32 },
            93 => Command::Gravity { value: (self.random.ball() * 10.0).to_array() },
            94 => {
                Command::Policy { policy: [Policy::CoarseWhileDragging, Policy::AlwaysExact][self.below(2)] }
            }
            95..=96 => Command::Enable { joint: (self.below(joints) as u32).into(), on: self.below(3) > 0 },
            97 if self.below(4) == 0 => {
                Command::DeleteConstraint { joint: (self.below(joints) as u32).into() }
            }
            98 if self.below(4) == 0 && joints < 300 => Command::AddConstraint {
                kind: ["ball", "point-on-plane", "distance"][self.below(3)].into(),
                solid1: (self.below(m.solids().len()) as u32).into(),
                solid2: solid.into(),
                point: s.pose(SolidId(solid.min(m.solids().len() as u32 - 1))).translation.to_array(),
                point2: None,
                axis: Some(self.random.ball().to_array()),
                value: Some(0.3),
                name: None,
            },
            99 if self.below(4) == 0 => Command::Reset,
            97 => Command::Friction { value: (self.below(3) > 0).then(|| self.number(0.0, 1.5)) },
            98 => Command::Bounce { value: (self.below(3) > 0).then(|| self.number(0.0, 1.0)) },
            99 if self.below(2) == 0 => {
                Command::Wind { value: (self.below(3) > 0).then(|| (self.random.ball() * 8.0).to_array()) }
            }
            99 => Command::Obstacles { on: self.below(3) > 0 },
            _ => Command::Budget { ms: Some(1.0) },
        }
    }
}

/// What a run came to.
#[derive(Default, Debug)]
struct Sum {
    commands: usize,
    refused: usize,
    steps: u32,
    rejected: usize,
    /// Ticks with a gap beyond a hundredth of the mechanism's size.
    wide: usize,
    worst: f64,
    /// The gap that was left at the end, where a reset was needed.
    stuck: f64,
    after: f64,
    /// Milliseconds of each tick on the given clock.
    used: Vec<f64>,
    /// The command that took longest, and its milliseconds.
    slowest: (f64, String),
}

/// Time passes with every look at the clock, now and then in a jump: the same in every run.
fn made_up_clock() -> impl Fn() -> f64 {
    let now = Cell::new(0.0);
    let beat = Cell::new(0u32);
    move || {
        beat.set(beat.get().wrapping_add(1));
        now.set(now.get() + if beat.get().is_multiple_of(50) { 3e-3 } else { 1.5e-4 });
        now.get()
    }
}

/// The clock on the wall: the budget is what it says. Runs differ; what went wrong is in the log that [`complain`] keeps.
fn real_clock() -> impl Fn() -> f64 {
    let start = Instant::now();
    move || start.elapsed().as_secs_f64()
}

/// Keeps the log, so that `linkwork replay` shows what happened, and fails.
fn complain(s: &Session, name: &str, why: &str) -> ! {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("monkey-{name}.json"));
    let kept = std::fs::write(&path, serde_json::to_vec(&s.log()).unwrap());
    panic!("{name}: {why}; its log: {} ({kept:?})", path.display());
}

fn play(name: &str, text: &str, ticks: usize, seed: u64, clock: &dyn Fn() -> f64) -> Sum {
    let mut s = Session::open(text, &mut |_| Err("no files".into())).unwrap();
    let mut monkey = Monkey { random: Random::new(seed) };
    let mut sum = Sum::default();
    s.apply(Command::Budget { ms: Some(1.0) }).unwrap();
    s.apply(Command::Run { on: true }).unwrap();
    for tick in 0..ticks {
        for _ in 0..monkey.below(3) {
            sum.commands += 1;
            let idea = monkey.idea(&s);
            let start = clock();
            sum.refused += usize::from(s.apply(idea.clone()).is_err());
            let took = 1e3 * (clock() - start);
            if took > sum.slowest.0 {
                sum.slowest = (took, format!("{idea:?}"));
            }
        }
        let elapsed = monkey.number(0.0, 0.03);
        let report = s.tick(elapsed, clock);
        sum.used.push(report.receipt.used_ms);
        sum.steps += report.steps;
        sum.rejected += usize::from(report.rejected.is_some());
        sum.worst = sum.worst.max(report.gaps.position);
        sum.wide += usize::from(report.gaps.position > 1e-2);
        if !(s.state().is_finite() && report.gaps.position < f64::MAX && report.energy.total.is_finite()) {
            complain(&s, name, &format!("tick {tick}: {report:?}"));
        }
    }
    // Hands off, the scene as it was written, exact: it must come to hold.
    for hand in 0..3 {
        let _ = s.apply(Command::Release { hand });
    }
    for command in [
        Command::SetText { text: text.to_owned() },
        Command::Budget { ms: None },
        Command::Policy { policy: Policy::AlwaysExact },
        Command::Method { name: Method::default().name().into() },
        Command::Solver { name: "auto".into() },
        Command::Iterations { count: 20 },
        Command::Tolerance { value: 1e-6 },
        Command::TimeStep { seconds: 1.0 / 120.0 },
        Command::Mode { mode: Mode::Kinematic },
    ] {
        s.apply(command).unwrap();
    }
    for k in 0..s.mechanism().joints().len() as u32 {
        s.apply(Command::Enable { joint: k.into(), on: true }).unwrap();
    }
    for _ in 0..30 {
        sum.after = s.tick(0.02, &|| 0.0).gaps.position;
    }
    if !(sum.after < 1e-5) {
        // Without its joints a part may go where no way leads back once they hold again: then a reset does.
        sum.stuck = sum.after;
        s.apply(Command::Reset).unwrap();
        sum.after = s.tick(0.02, &|| 0.0).gaps.position;
    }
    if replay(&s.log()).map(|again| again.hash()).ok() != Some(s.hash()) {
        complain(&s, name, "its replay ends elsewhere");
    }
    sum
}

fn every_scene(ticks: usize, only: Option<&str>, clock: &dyn Fn() -> f64) {
    let mut open = Vec::new();
    for (k, (name, text)) in scenes().iter().enumerate() {
        if only.is_some_and(|o| !o.split(',').any(|o| o == name)) {
            continue;
        }
        // Hundreds of solids tell no more in their hundredth tick than in their fortieth.
        let large = text.matches("solid ").count() > 30;
        let ticks = if large && ticks < 1000 { ticks / 4 } else { ticks };
        let mut sum = play(name, text, ticks, 1 + k as u64, clock);
        let mut used = std::mem::take(&mut sum.used);
        used.sort_by(f64::total_cmp);
        let at = |share: f64| used[((used.len() - 1) as f64 * share) as usize];
        let times = [at(0.5), at(0.99), at(1.0)];
        println!("{name}: {ticks} ticks, median, 99th percentile and longest {times:.3?} ms, {sum:?}");
        assert!(sum.steps > 0 && sum.refused < sum.commands);
        if !(sum.after < 1e-5) {
            open.push(format!("{name}: {}", sum.after));
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_monkey_for_a_while() {
    every_scene(160, None, &made_up_clock());
}

/// On the real clock: a millisecond is a millisecond.
/// `MONKEY_TICKS=100000 MONKEY_SCENES=fourbar,reach cargo test --release … -- --ignored`.
#[test]
#[ignore = "an hour on all scenes: run it with --release -- --ignored --nocapture"]
fn a_monkey_for_long() {
    let ticks = std::env::var("MONKEY_TICKS").ok().and_then(|t| t.parse().ok()).unwrap_or(100_000);
    every_scene(ticks, std::env::var("MONKEY_SCENES").ok().as_deref(), &real_clock());
}
