//! A hanging net of `distance` joints: what a particle costs, beside the same net of solids with six freedoms.

use crate::allocation;
use crate::table::{Table, int, ms, number, sci, text};
use linkwork::step::Stages;
use linkwork::{
    Frame, Joint, MassProperties, Mechanism, Solid, SolidId, State, StepConfig, Vector, Workspace, step,
};
use std::time::Instant;

/// Between two nodes, metres.
const LINK: f64 = 0.02;
/// Grams of string are like that.
const MASS: f64 = 1e-3;
/// Short enough for the strings' swing across, which is fastest where most hangs on them: `w = 2 sqrt(n g / LINK)`.
const DT: f64 = 5e-4;
/// Steps that are measured, after two that analyse and warm up.
const STEPS: usize = 6;

/// `n` strings of `n` nodes under a fixed bar, tied to their neighbours.
fn net(n: usize, particles: bool) -> Mechanism {
    let mut m = Mechanism::new();
    m.gravity = Vector::new(0.0, -crate::scenes::GRAVITY, 0.0);
    let mut ids: Vec<SolidId> = Vec::with_capacity(n * n);
    for k in 0..n * n {
        let (column, depth) = (k % n, k / n + 1);
        let name = format!("p{k}");
        let mut node = if particles { Solid::particle(name, MASS) } else { Solid::new(name) };
        node.mass = MassProperties::ball(MASS, 0.1 * LINK);
        // Waves across the net, so that every step has something to correct.
        node.velocity.z = 0.2 * (0.7 * depth as f64 + 0.4 * column as f64).sin();
        let at = Vector::new(column as f64, -(depth as f64), 0.0) * LINK;
        let id = m.add_solid(node.at(at.x, at.y, at.z)).expect("a node");
        let here = Frame::point(id, Vector::ZERO);
        let above = match depth {
            1 => Frame::point(SolidId::WORLD, at + Vector::Y * LINK),
            _ => Frame::point(ids[k - n], Vector::ZERO),
        };
        m.add_joint(Joint::distance(above, here, LINK)).expect("a joint");
        if column > 0 {
            m.add_joint(Joint::distance(Frame::point(ids[k - 1], Vector::ZERO), here, LINK))
                .expect("a joint");
        }
        ids.push(id);
    }
    m
}

fn line(t: &mut Table, n: usize, particles: bool) {
    let nodes = (n * n) as f64;
    let empty = allocation::live();
    let m = net(n, particles);
    let mut s = State::new(&m);
    let model = allocation::live() - empty;
    allocation::forget_peak();
    let mut w = Workspace::new();
    let since = Instant::now();
    let clock = move || since.elapsed().as_secs_f64();
    let c = StepConfig { dt: DT, sleep: false, clock: Some(&clock), ..Default::default() };
    let first = Instant::now();
    let mut ok = true;
    let mut gap = 0.0_f64;
    for _ in 0..2 {
        ok &= step(&m, &mut s, &mut w, &c).rejected.is_none();
    }
    let first = first.elapsed().as_secs_f64();
    let (mut seconds, mut stages, mut rounds) = (f64::INFINITY, Stages::default(), 0);
    for _ in 0..STEPS {
        let start = Instant::now();
        let report = step(&m, &mut s, &mut w, &c);
        let time = start.elapsed().as_secs_f64();
        if time < seconds {
            (seconds, stages, rounds) = (time, report.stages, report.iterations);
        }
        ok &= report.rejected.is_none() && report.fallbacks == 0;
        gap = gap.max(report.gaps.worst());
    }
    let (held, peak) = (allocation::live() - empty, allocation::peak() - empty);
    let each = |bytes: usize| number(bytes as f64 / nodes);
    t.push(vec![
        text(format!("{n} x {n}")),
        text(if particles { "3" } else { "6" }),
        int(n * n),
        each(model),
        each(held - model),
        each(peak),
        ms(first),
        ms(seconds),
        number(1e6 * seconds / nodes),
        ms(stages.rows),
        ms(stages.factor),
        ms(stages.solve),
        ms(stages.motion),
        int(rounds),
        sci(gap),
        text(if ok { "ok" } else { "trouble" }),
    ]);
}

/// Sizes by `LINKWORK_NETS` (sides, separated by commas); 316 x 316 are 99,856 nodes.
pub fn run() -> Vec<Table> {
    let sizes = std::env::var("LINKWORK_NETS").unwrap_or_else(|_| "32,100,316".into());
    let mut t = Table::new(
        "Hanging nets of `distance` joints: particles of three freedoms, and solids of six",
        &[
            "net",
            "freedoms",
            "nodes",
            "bytes a node: model",
            "scratch",
            "peak",
            "first two steps",
            "step",
            "us a node",
            "rows",
            "factor",
            "solve",
            "motion",
            "rounds",
            "gap",
            "",
        ],
    );
    for n in sizes.split(',').filter_map(|n| n.trim().parse().ok()) {
        for particles in [true, false] {
            line(&mut t, n, particles);
        }
    }
    vec![t]
}
