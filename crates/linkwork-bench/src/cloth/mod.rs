//! Sheets beside peers in the same run: a baseline of extended position-based dynamics (`xpbd.rs`) and, where a Python with it
//! is named, MuJoCo's flex. Strains, depths and crossings are measured from places of vertices, alike for all.

mod sheet;
mod xpbd;

use crate::table::{Cell, Table, int, ms, number, sci, text};
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
    /// Seconds per frame, sorted.
    seconds: Vec<f64>,
    /// Factorisations per frame; of what has none, nothing.
    factors: Option<f64>,
    seen: Seen,
}

fn follow(sheet: &Sheet, what: &str, mut frame: impl FnMut() -> State) -> Run {
    let (mut seconds, mut seen, mut spent) = (Vec::new(), Seen::default(), 0.0);
    for _ in 0..sheet.frames {
        let t = Instant::now();
        let s = frame();
        let took = t.elapsed().as_secs_f64();
        seconds.push(took);
        spent += took;
        sheet.see(&s, &mut seen);
        if spent > PATIENCE {
            break;
        }
    }
    seconds.sort_by(f64::total_cmp);
    Run { what: what.to_owned(), seconds, factors: None, seen }
}

fn ours(sheet: &Sheet) -> Run {
    let (mut s, mut w) = (State::new(&sheet.m), Workspace::default());
    let c = StepConfig { sleep: false, ..StepConfig::default() };
    let mut factors = 0;
    let mut run = follow(sheet, "linkwork", || {
        factors += step(&sheet.m, &mut s, &mut w, &c).soft.factors;
        s.clone()
    });
    run.factors = Some(factors as f64 / run.seconds.len().max(1) as f64);
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
    let mut row = vec![text(sheet.name()), text(what), ms(get("seconds")), ms(get("worst")), text("")];
    row.extend([number(100.0 * get("strain")), sci(get("depth")), text("not measured")]);
    row.push(text(if get("through") > 0.5 { "through" } else { "" }));
    Some(row)
}

fn line(sheet: &Sheet, run: &Run) -> Vec<Cell> {
    let frames = run.seconds.len();
    let mut row = vec![text(sheet.name()), text(&*run.what)];
    row.extend([ms(run.seconds[frames / 2]), ms(run.seconds[frames - 1])]);
    row.push(run.factors.map_or(text(""), |f| text(format!("{f:.1}"))));
    row.extend([number(100.0 * run.seen.strain), sci(run.seen.depth), int(run.seen.crossings)]);
    let cut = if frames < sheet.frames { format!("stopped after {frames} frames") } else { String::new() };
    row.push(text(if run.seen.through { "through".into() } else { cut }));
    row
}

/// The tables. `LINKWORK_CLOTH=drop` measures the scenes with that in their name.
pub fn run() -> Vec<Table> {
    let mut t = Table::new(
        "Sheets of 1 m x 1 m and 0.2 kg, 1/60 s, 120 frames, one core; springs of 3000 N/m along and 1000 N/m across the grid's squares, \
         limited to 10 %; 5 mm thick. `hang`: level, held by two corners. `drop`: on a fixed ball of 0.25 m. `ball`: upright, held by \
         two sides, struck by 5 kg at 5 and 20 m/s. `drape`: over a ball on a floor. XPBD: the same springs as compliant constraints, vertices kept out of solids, nothing \
         against itself. MuJoCo (where `LINKWORK_MUJOCO_PYTHON` names it): flex, `discrete`, elastic2d, E h = 3000 N/m. Strain: the longest edge of the grid over its length at rest, less one, in any frame; \
         depth: of a vertex in a solid; crossings: pairs of triangles, all frames together, by trying all.",
        &["sheet", "what", "ms, median", "worst", "factors", "strain, %", "depth", "crossings", ""],
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
