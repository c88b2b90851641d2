//! Scenes of contact, beside rapier in the same run: every figure from recorded poses, by one yardstick.

mod peer;
mod scenes;
mod yardstick;

use crate::machine::thread_time;
use crate::scenes::DT;
use crate::table::{Cell, Table, ms, sci, text};
use linkwork::{State, StepConfig, Workspace, step};
use peer::{Peer, Setting};
use scenes::Scene;
use std::time::Instant;
use yardstick::{Seen, Yardstick};

/// Frames of which penetration is measured: one in so many, and the last.
const EVERY: usize = 4;
/// Whoever takes longer for a scene is not waited for, seconds.
const PATIENCE: f64 = 120.0;

/// How a run went.
struct Run {
    what: String,
    /// Seconds per frame by the clock on the wall, sorted.
    seconds: Vec<f64>,
    /// Seconds of this thread per frame, mean.
    own: f64,
    seen: Seen,
    /// How far the solid that went farthest is from where it was, at the end.
    moved: f64,
    frames: usize,
}

/// Time on the wall and of the thread that something takes.
fn timed(f: impl FnOnce()) -> [f64; 2] {
    let (before, t) = (thread_time(), Instant::now());
    f();
    let wall = t.elapsed().as_secs_f64();
    let own = before.zip(thread_time()).map_or(wall, |(from, to)| to - from);
    [wall, own]
}

/// Runs something that gets on by a frame and tells its state.
fn follow(scene: &Scene, what: String, mut frame: impl FnMut(usize) -> ([f64; 2], State)) -> Run {
    let start = State::new(&scene.m);
    let mut look = Yardstick::new(&scene.m);
    look.see(&scene.m, &start, true);
    let (mut seconds, mut own, mut moved, mut spent) = (Vec::new(), 0.0, 0.0, 0.0);
    for k in 0..scene.frames {
        let ([took, thread], s) = frame(k);
        seconds.push(took);
        own += thread;
        spent += took;
        let last = k + 1 == scene.frames || spent > PATIENCE;
        look.see(&scene.m, &s, k % EVERY == 0 || last);
        if last {
            let far = |(a, b): (&linkwork::Vector, &linkwork::Vector)| a.distance(*b);
            moved = start.centers.iter().zip(&s.centers).map(far).fold(0.0, f64::max);
            break;
        }
    }
    let frames = seconds.len();
    seconds.sort_by(f64::total_cmp);
    Run { what, seconds, own: own / frames as f64, seen: look.seen, moved, frames }
}

fn ours(scene: &Scene) -> Run {
    let c = StepConfig { dt: DT, sleep: false, ..StepConfig::default() };
    let (mut s, mut w) = (State::new(&scene.m), Workspace::new());
    follow(scene, "linkwork".into(), |_| {
        let took = timed(|| {
            step(&scene.m, &mut s, &mut w, &c);
        });
        (took, s.clone())
    })
}

fn rapier(scene: &Scene, setting: Setting) -> Run {
    let mut peer = Peer::new(scene, setting);
    let warm = if setting.warm { ", warm joints" } else { "" };
    follow(scene, format!("rapier f64, {} substeps{warm}", setting.substeps), |k| {
        peer.push(scene, k as f64 * DT);
        let took = timed(|| peer.step());
        (took, peer.state(scene, (k + 1) as f64 * DT))
    })
}

macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../../../scenes/", $name, ".lw"))
    };
}

fn all() -> Vec<Scene> {
    vec![
        scenes::incline(26.5),
        scenes::stack(10),
        scenes::stack(50),
        scenes::heavy_on_top(100.0),
        scenes::heavy_on_top(10_000.0),
        scenes::gallery("arch of 11 wedges", file!("arch"), 600),
        scenes::gallery("card house of 3 levels", file!("card-house"), 600),
        scenes::gallery("four-bar struck by a hammer", file!("hammer"), 180),
        scenes::gallery("chain over a drum", file!("drum-chain"), 300),
        scenes::ragdolls(1, file!("ragdoll")),
        scenes::ragdolls(50, file!("ragdoll")),
        scenes::pile(100),
        scenes::pile(1000),
    ]
}

/// The tables; `LINKWORK_CONTACT=pile` measures the scenes whose name has that in it.
pub fn run() -> Vec<Table> {
    let mut t = Table::new(
        "Scenes of contact beside rapier3d-f64 0.36.1 (its default, and 16 substeps with warm-started joints), frames of 1/60 s, one \
         thread, nothing sleeps; same shapes, masses, inertias and surfaces. ms: mean of the thread's own time over the frames; median and slowest: by the clock on the wall. Gap: largest \
         joint gap in the run; penetration in the run and in its last frame, by parry, from poses; energy: the most that there \
         was above the least before it; moved: the solid that went farthest, at the end.",
        &[
            "scene",
            "what",
            "frames",
            "ms@mean ms of the thread",
            "median@median ms on the wall",
            "slowest@slowest ms on the wall",
            "gap",
            "penetration",
            "at the end",
            "energy made",
            "moved",
        ],
    );
    let only = std::env::var("LINKWORK_CONTACT").unwrap_or_default();
    for scene in all().into_iter().filter(|s| s.name.contains(&only)) {
        let settings = [Setting { substeps: 4, warm: false }, Setting { substeps: 16, warm: true }];
        let runs = std::iter::once(ours(&scene)).chain(settings.map(|s| rapier(&scene, s)));
        for run in runs {
            let (n, seen) = (run.seconds.len(), run.seen);
            let row: Vec<Cell> = vec![
                text(&*scene.name),
                text(run.what),
                crate::table::int(run.frames),
                ms(run.own),
                ms(run.seconds[n / 2]),
                ms(run.seconds[n - 1]),
                sci(seen.gap),
                sci(seen.penetration),
                sci(seen.at_rest),
                sci(seen.made),
                sci(run.moved),
            ];
            t.push(row);
        }
    }
    vec![t]
}
