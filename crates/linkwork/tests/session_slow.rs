//! Every scene on a machine that is far too slow for it, as a clock tells that jumps with each look: time may go slower and
//! joints may open a little, but nothing is refused for want of iterations, and no step is made cheaper in a way that costs
//! more.

use linkwork::session::{Command, GripMode, Session};
use std::cell::Cell;
use std::path::PathBuf;

fn scenes() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut all: Vec<_> = files
        .filter(|p| p.extension().is_some_and(|e| e == "lw"))
        .map(|p| (p.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(&p).unwrap()))
        .collect();
    all.sort();
    all
}

/// What a run on such a machine came to.
#[derive(Debug, Default)]
struct Sum {
    time: f64,
    rejected: u32,
    /// In steps without a hand.
    untouched: u32,
    gap: f64,
    rough_among_contacts: u32,
}

/// Forty ticks with the budget of the viewer, the last half with a hand that pulls at something. A look at the clock takes
/// `seconds`.
fn run(text: &str, seconds: f64) -> Sum {
    let mut s = Session::open(text, &mut |_| Err("no files".into())).unwrap();
    s.apply(Command::Budget { ms: Some(12.0) }).unwrap();
    s.apply(Command::Run { on: true }).unwrap();
    let clock = Cell::new(0.0);
    let look = || {
        clock.set(clock.get() + seconds);
        clock.get()
    };
    let solids = s.mechanism().solids();
    let mut movable = (1..solids.len()).filter(|i| !solids[*i].is_fixed() && solids[*i].mobility.is_none());
    let held = movable.next_back();
    let mut sum = Sum::default();
    for tick in 0..40 {
        if let (20, Some(i)) = (tick, held) {
            let solid = (i as u32).into();
            let grab = Command::Grab { hand: 1, solid, point: [0.0; 3], mode: GripMode::Pin, rotation: None };
            if s.apply(grab).is_ok() {
                let c = s.state().centers[i];
                let position = [c.x + 0.02, c.y + 0.02, c.z];
                s.apply(Command::Drag { hand: 1, position, rotation: None }).unwrap();
            }
        }
        let touches = s.look().contacts.points > 0;
        let r = s.tick(1.0 / 60.0, &look);
        sum.rejected += u32::from(r.rejected.is_some());
        sum.untouched += u32::from(r.rejected.is_some() && tick < 20);
        sum.gap = sum.gap.max(r.gaps.position);
        sum.rough_among_contacts += u32::from(touches && r.receipt.rough);
        assert!(s.state().is_finite());
    }
    sum.time = s.state().time;
    sum
}

#[test]
fn every_scene_goes_on_however_slow_the_machine_is() {
    let mut wrong = Vec::new();
    for (name, text) in scenes() {
        for seconds in [0.05, 1.0] {
            let sum = run(&text, seconds);
            println!("{name}, {seconds} s: {sum:?}");
            let goes_on = sum.time > 0.3 && sum.untouched == 0 && sum.rejected <= 2;
            if !goes_on || sum.rough_among_contacts > 0 || !(sum.gap < 0.03) {
                wrong.push(format!("{name}, {seconds} s: {sum:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
