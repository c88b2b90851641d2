//! Dragging in real time, measured: the table of docs/interaction.md (prints; only its gaps can fail), and on a busy machine.

use linkwork::generate;
use linkwork::session::{Command, GripMode, Mode, Session};
use linkwork::{SolidId, Vector};
use std::cell::Cell;
use std::path::PathBuf;
use std::time::Instant;

#[test]
#[ignore = "a measurement: run it with --release -- --ignored --nocapture"]
fn dragging_at_sixty_ticks_a_second() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let read = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.lw"))).unwrap();
    let scenes = [
        ("Figure 5 of 1998 (`mesh5`)", read("mesh5")),
        ("Figure 6 of 1998 (`shaken-plate`)", read("shaken-plate")),
        ("characters of 1998 and 1999 (`characters`)", read("characters")),
        ("320 solids, Figure 6 of 1999 (`net 11 11`)", generate::net(11, 11).unwrap()),
    ];
    println!(
        "| scene | mode | budget ms | median ms | 99 % | worst | receipts, 99 % | gap while dragging, 99 % · worst | after release |"
    );
    for (name, text) in &scenes {
        for mode in [Mode::Kinematic, Mode::Dynamic] {
            for budget in [None, Some(8.0)] {
                let mut s = Session::open(text, &mut |_| Err("no files".into())).unwrap();
                let last = s.mechanism().solids().iter().rposition(|s| !s.is_fixed()).unwrap() as u32;
                for command in [
                    Command::Mode { mode },
                    Command::Budget { ms: budget },
                    Command::Run { on: true },
                    Command::Grab {
                        hand: 1,
                        solid: last.into(),
                        point: [0.0; 3],
                        mode: GripMode::Pin,
                        rotation: None,
                    },
                ] {
                    s.apply(command).unwrap();
                }
                let from = s.pose(SolidId(last)).translation;
                let start = Instant::now();
                let clock = || start.elapsed().as_secs_f64();
                let (mut wall, mut used, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
                // Ten seconds, round and round.
                for k in 0..600 {
                    let angle = k as f64 * 0.05;
                    let by = Vector::new(angle.sin(), 1.0 - angle.cos(), 0.5 * angle.sin()) * 0.3;
                    let before = clock();
                    s.apply(Command::Drag { hand: 1, position: (from + by).to_array(), rotation: None })
                        .unwrap();
                    let report = s.tick(1.0 / 60.0, &clock);
                    wall.push(1e3 * (clock() - before));
                    used.push(report.receipt.used_ms);
                    gaps.push(report.gaps.position);
                }
                s.apply(Command::Release { hand: 1 }).unwrap();
                let mut after = 0.0;
                for _ in 0..30 {
                    after = s.tick(1.0 / 60.0, &clock).gaps.position;
                }
                let at = |list: &mut Vec<f64>, share: f64| {
                    list.sort_by(f64::total_cmp);
                    list[((list.len() - 1) as f64 * share) as usize]
                };
                let worst = at(&mut gaps, 1.0);
                println!(
                    "| {name} | {} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1e} · {worst:.1e} m | {after:.1e} m |",
                    if mode == Mode::Kinematic { "kinematic" } else { "dynamic" },
                    budget.map_or("none".into(), |ms| format!("{ms}")),
                    at(&mut wall, 0.5),
                    at(&mut wall, 0.99),
                    at(&mut wall, 1.0),
                    at(&mut used, 0.99),
                    at(&mut gaps, 0.99),
                );
                assert!(worst < 0.1 && after < 1e-4, "{name}: {worst} {after}");
            }
        }
    }
}

/// F27: on a busy machine the acrobats came apart by centimetres while one of them was dragged, since budgets that paid for no
/// factorisation any more were kept to all the same. Here every look at the clock finds it 4 ms later, and now and then 25 ms.
#[test]
fn a_busy_machine_opens_no_joints_under_a_hand() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let text = std::fs::read_to_string(folder.join("characters.lw")).unwrap();
    let mut s = Session::open(&text, &mut |_| Err("no files".into())).unwrap();
    let last = s.mechanism().solids().iter().rposition(|s| !s.is_fixed()).unwrap() as u32;
    s.apply(Command::Budget { ms: Some(12.0) }).unwrap();
    s.apply(Command::Run { on: true }).unwrap();
    s.apply(Command::Grab {
        hand: 1,
        solid: last.into(),
        point: [0.0; 3],
        mode: GripMode::Pin,
        rotation: None,
    })
    .unwrap();
    let from = s.pose(SolidId(last)).translation;
    let (now, asked) = (Cell::new(0.0), Cell::new(0u32));
    let clock = || {
        asked.set(asked.get() + 1);
        now.set(now.get() + if asked.get().is_multiple_of(23) { 0.025 } else { 0.004 });
        now.get()
    };
    let mut worst = 0.0_f64;
    for k in 0..40 {
        let angle = f64::from(k) * 0.05;
        let by = Vector::new(angle.sin(), 1.0 - angle.cos(), 0.5 * angle.sin()) * 0.3;
        s.apply(Command::Drag { hand: 1, position: (from + by).to_array(), rotation: None }).unwrap();
        worst = worst.max(s.tick(1.0 / 60.0, &clock).gaps.position);
    }
    println!("largest gap on a busy machine: {worst:.1e} m");
    assert!(worst < 1e-4, "{worst} m open");
}
