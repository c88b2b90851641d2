//! A minute of every scene in the gallery: none lies dead, none leaves the view, unless that is what it shows.

use crate::common::{Case, Faults, gallery, read_scene};
use linkwork::measure::energy;
use linkwork::session::{Command, Session};
use linkwork::{AssembleConfig, State, StepConfig, Vector, Workspace, assemble, step};
use std::sync::Mutex;

/// What comes to rest, and why that is right.
const RESTS: &[(&str, &str)] = &[
    ("acrobats", "they stand, and the balls have come to rest in their trays"),
    ("arch", "it stands: that is what it shows"),
    ("card-house", "it stands"),
    ("domino", "the row has fallen"),
    ("drape", "the cloth lies over its ball"),
    ("drum-chain", "friction holds it"),
    ("excavator", "the load is up"),
    ("jelly", "it has come to the foot of the stairs"),
    ("mesh5", "a net without gravity, to be pulled at"),
    ("ragdoll", "it has fallen down the stairs"),
    ("ribbon", "it has folded up"),
    ("rip", "the ball is through, and what is left of the sheet hangs"),
    ("stack", "it stands"),
    ("trampoline", "the balls lie in their hollow"),
];
/// What goes away, and why that is right: the camera can follow it.
const WALKS: &[(&str, &str)] = &[("walker", "it walks"), ("strandbeest", "it walks")];
/// No solid goes farther from where it began, in sizes of the scene.
const FAR: f64 = 4.0;
/// What moves less than this, in sizes of the scene, lies dead.
const DEAD: f64 = 0.01;

/// How far the scene's solids are apart, with what they reach around them; what lies at one place counts as a metre.
fn size(case: &Case, s: &State) -> f64 {
    let m = &case.mechanism;
    // A floor without end says nothing.
    let seen = (1..m.solids().len()).filter(|i| m.solids()[*i].extent() < 100.0);
    let (mut low, mut high) = (Vector::splat(f64::INFINITY), Vector::splat(f64::NEG_INFINITY));
    for i in seen {
        let around = Vector::splat(m.solids()[i].extent());
        (low, high) = (low.min(s.centers[i] - around), high.max(s.centers[i] + around));
    }
    (high - low).length().max(1.0)
}

/// How far any solid, with what it reaches, has moved or turned between two states.
fn moved(case: &Case, a: &State, b: &State) -> f64 {
    let m = &case.mechanism;
    let mut most = 0.0_f64;
    for (i, solid) in m.solids().iter().enumerate() {
        let mut by = (a.centers[i] - b.centers[i]).length();
        if !solid.particle {
            by += solid.extent() * a.rotations[i].angle_between(b.rotations[i]);
        }
        most = most.max(by);
    }
    most
}

/// Runs a scene for a minute; tells what is wrong with it.
fn minute(case: &Case) -> Vec<String> {
    let m = &case.mechanism;
    let dt = read_scene(&case.text).settings.step.unwrap_or(1.0 / 60.0);
    let (mut s, mut w, c) = (State::new(m), Workspace::new(), StepConfig { dt, ..Default::default() });
    assemble(m, &mut s, &AssembleConfig::default());
    let (start, size) = (s.clone(), size(case, &s));
    let (mut at_fifty, mut late, mut far) = (None, 0.0_f64, 0.0_f64);
    let second = (1.0 / dt).round() as usize;
    let often = (second / 10).max(1);
    for k in 1..=60 * second {
        step(m, &mut s, &mut w, &c);
        if k % often == 0 {
            let away = (0..m.solids().len()).map(|i| (s.centers[i] - start.centers[i]).length());
            far = far.max(away.fold(0.0, f64::max));
        }
        match &at_fifty {
            None if k >= 50 * second => at_fifty = Some(s.clone()),
            Some(then) if k % often == 0 => late = late.max(moved(case, then, &s)),
            _ => {}
        }
    }
    let listed = |list: &[(&str, &str)]| list.iter().any(|(name, _)| *name == case.name);
    let mut faults = Vec::new();
    if !(late > DEAD * size) && !listed(RESTS) {
        faults.push(format!(
            "{}: lies dead, moves {late:.4} m of {size:.2} in the last ten seconds",
            case.name
        ));
    }
    if late > 10.0 * DEAD * size && listed(RESTS) {
        faults.push(format!("{}: is said to rest, and moves {late:.2} m", case.name));
    }
    if !(far < FAR * size) && !listed(WALKS) {
        faults.push(format!("{}: leaves the view, {far:.1} m of {size:.2} away", case.name));
    }
    faults
}

/// `characters` is figure 1 of 1998, a hundred and more solids: `tests/session_speed.rs` looks after it.
#[test]
fn no_scene_lies_dead_or_leaves_the_view() {
    let cases: Vec<Case> = gallery().into_iter().filter(|c| c.name != "characters").collect();
    assert!(cases.len() > 40);
    let (next, found) = (Mutex::new(cases.iter()), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some(case) = next.lock().unwrap().next() else { break };
                    let faults = minute(case);
                    found.lock().unwrap().extend(faults);
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort();
    let mut faults = Faults::new();
    for fault in found {
        faults.check(false, || fault);
    }
    for (name, _) in RESTS.iter().chain(WALKS) {
        faults.check(cases.iter().any(|c| c.name == *name), || format!("there is no scene `{name}`"));
    }
    faults.done(RESTS.len() + WALKS.len());
}

/// The session took away the speeds of every scene whose start has to be assembled; a run kept them.
#[test]
fn scenes_that_start_with_a_speed_do_so_in_a_session_too() {
    let text = crate::common::text("figure2");
    let mut s = Session::open(&text, &mut |_| Err("none".into())).unwrap();
    s.apply(Command::Run { on: true }).unwrap();
    for _ in 0..60 {
        s.tick(1.0 / 60.0, &|| 0.0);
    }
    let moving = energy(s.mechanism(), s.state()).kinetic;
    assert!(moving > 0.05, "{moving} J");
    s.apply(Command::Reset).unwrap();
    let again = energy(s.mechanism(), s.state()).kinetic;
    assert!(again > 0.05, "{again} J after a reset");
}
