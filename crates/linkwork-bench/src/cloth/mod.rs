//! Sheets beside peers in the same run: a baseline of extended position-based dynamics (`xpbd.rs`) and, where a Python with it
//! is named, MuJoCo's flex. Strains, depths and crossings are measured from places of vertices, alike for all.

mod sheet;
mod xpbd;

use crate::machine::thread_time;
use crate::table::{Cell, Table, int, ms, number, sci, text};
use linkwork::measure::energy;
use linkwork::{State, StepConfig, Workspace, step};
use sheet::{Kind, Seen, Sheet};
use std::process::Command;
use std::time::Instant;
use xpbd::Xpbd;

/// Whoever takes longer for a scene is not waited for, seconds.
const PATIENCE: f64 = 60.0;
/// Substeps of the baseline, as its authors advise.
const SUBSTEPS: usize = 20;

/// How a run went.
struct Run {
    what: String,
    /// Seconds per frame by the clock on the wall, sorted.
    seconds: Vec<f64>,
    /// Seconds of this thread per frame, mean.
    own: f64,
    /// What the engine tells of itself; of peers, nothing.
    told: Option<Told>,
    seen: Seen,
    /// The most energy that there was above the least before it, joules.
    made: f64,
}

/// What the engine tells of its steps.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    factors: usize,
    /// Substeps that did not converge, and steps that were refused.
    unsolved: usize,
    refused: usize,
    /// The most by which a spring was beyond its limit, as a share of its length.
    excess: f64,
}

fn follow(sheet: &Sheet, what: &str, mut frame: impl FnMut() -> State) -> Run {
    let (mut seconds, mut seen, mut own) = (Vec::new(), Seen::default(), 0.0);
    let mut least = energy(&sheet.m, &State::new(&sheet.m)).total();
    let mut made = 0.0_f64;
    for _ in 0..sheet.frames {
        let (before, t) = (thread_time(), Instant::now());
        let s = frame();
        let took = t.elapsed().as_secs_f64();
        own += before.zip(thread_time()).map_or(took, |(from, to)| to - from);
        seconds.push(took);
        sheet.see(&s, &mut seen);
        let now = energy(&sheet.m, &s).total();
        (least, made) = (least.min(now), made.max(now - least));
        if own > PATIENCE {
            break;
        }
    }
    own /= seconds.len().max(1) as f64;
    seconds.sort_by(f64::total_cmp);
    Run { what: what.to_owned(), seconds, own, told: None, seen, made }
}

fn ours(sheet: &Sheet) -> Run {
    let (mut s, mut w) = (State::new(&sheet.m), Workspace::default());
    let c = StepConfig { sleep: false, ..StepConfig::default() };
    let mut told = Told::default();
    let mut run = follow(sheet, "linkwork", || {
        let report = step(&sheet.m, &mut s, &mut w, &c);
        told.factors += report.soft.factors;
        told.unsolved += report.soft.unsolved;
        told.refused += usize::from(report.rejected.is_some());
        told.excess = told.excess.max(report.soft.excess);
        s.clone()
    });
    run.told = Some(told);
    run
}

fn baseline(sheet: &Sheet) -> Run {
    let mut x = Xpbd::new(&sheet.m, SUBSTEPS);
    follow(sheet, &format!("XPBD, {SUBSTEPS} substeps"), || x.frame())
}

/// MuJoCo by the Python that `LINKWORK_MUJOCO_PYTHON` names.
fn mujoco(sheet: &Sheet) -> Option<Vec<Cell>> {
    let python = std::env::var("LINKWORK_MUJOCO_PYTHON").ok()?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/mujoco_cloth.py");
    let args = [
        sheet.kind.word().to_owned(),
        sheet.n.to_string(),
        sheet.frames.to_string(),
        sheet.speed.to_string(),
    ];
    let output = Command::new(&python).arg(script).args(args).output().ok()?;
    if !output.status.success() {
        eprintln!("MuJoCo: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let v: serde_json::Value = serde_json::from_str(words.lines().last()?).ok()?;
    let get = |key: &str| v[key].as_f64().unwrap_or(f64::NAN);
    let what = format!("MuJoCo {}", v["version"].as_str().unwrap_or("?"));
    let mut row =
        vec![text(sheet.name()), text(what), text(""), ms(get("seconds")), ms(get("worst")), text("")];
    row.extend([
        number(100.0 * get("strain")),
        text(""),
        text(""),
        sci(get("depth")),
        text("not measured"),
        text(""),
    ]);
    row.push(text(if get("through") > 0.5 { "through" } else { "" }));
    Some(row)
}

fn line(sheet: &Sheet, run: &Run) -> Vec<Cell> {
    let frames = run.seconds.len();
    let mut row = vec![text(sheet.name()), text(&*run.what)];
    row.extend([ms(run.own), ms(run.seconds[frames / 2]), ms(run.seconds[frames - 1])]);
    row.push(run.told.map_or(text(""), |t| text(format!("{:.1}", t.factors as f64 / frames as f64))));
    row.push(number(100.0 * run.seen.strain));
    row.push(run.told.map_or(text(""), |t| sci(t.excess)));
    row.push(run.told.map_or(text(""), |t| int(t.unsolved)));
    row.extend([sci(run.seen.depth), int(run.seen.crossings), sci(run.made)]);
    let mut notes = Vec::new();
    if run.seen.through {
        notes.push("through".to_owned());
    }
    if frames < sheet.frames {
        notes.push(format!("stopped after {frames} frames"));
    }
    if let Some(t) = run.told.filter(|t| t.refused > 0) {
        notes.push(format!("{} refused", t.refused));
    }
    row.push(text(notes.join(", ")));
    row
}

/// The tables. `LINKWORK_CLOTH=drop` measures the scenes with that in their name.
pub fn run() -> Vec<Table> {
    let mut t = Table::new(
        "Sheets of 1 m x 1 m and 0.2 kg, 1/60 s, 120 frames, one core; springs of 3000 N/m along and 1000 N/m across the grid's squares, \
         limited to 10 %; 5 mm thick. `hang`: level, held by two corners. `drop`: on a fixed ball of 0.25 m. `ball`: upright, held by \
         two sides, struck by 5 kg at 5 and 20 m/s. `drape`: over a ball on a floor. XPBD: the same springs as compliant constraints, vertices kept out of solids, nothing \
         against itself. MuJoCo (where `LINKWORK_MUJOCO_PYTHON` names it): flex, `discrete`, elastic2d, E h = 3000 N/m. Strain: the longest edge of the grid over its length at rest, less one, in any frame; \
         depth: of a vertex in a solid; crossings: pairs of triangles, all frames together, by trying all. ms: the thread's own time, mean over the frames; \
         median and worst: by the clock on the wall. excess: the most by which a spring was beyond its limit, as a share of its length; unsolved: substeps that did not converge; \
         made: the most energy there was above the least before it, joules.",
        &[
            "sheet",
            "what",
            "ms",
            "median",
            "worst",
            "factors",
            "strain, %",
            "excess",
            "unsolved",
            "depth",
            "crossings",
            "made",
            "",
        ],
    );
    let chosen = std::env::var("LINKWORK_CLOTH").unwrap_or_default();
    let all = [
        (Kind::Hang, 32, 0.0),
        (Kind::Hang, 64, 0.0),
        (Kind::Hang, 128, 0.0),
        (Kind::Drop, 20, 0.0),
        (Kind::Drop, 64, 0.0),
        (Kind::Ball, 17, 5.0),
        (Kind::Ball, 64, 5.0),
        (Kind::Ball, 64, 20.0),
        (Kind::Drape, 50, 0.0),
    ];
    for (kind, n, speed) in all {
        let sheet = Sheet::new(kind, n, speed);
        if sheet.name().contains(&chosen) {
            t.push(line(&sheet, &ours(&sheet)));
            t.push(line(&sheet, &baseline(&sheet)));
            mujoco(&sheet).into_iter().for_each(|row| t.push(row));
        }
    }
    vec![t]
}
