//! What can be known of a scene before anybody touches it: where it will go, for a view that fits its motion, and how it
//! can move at all: freedoms, dependent constraints, free motions, and the reach of a point. All of it is worked out beside the
//! simulation, on copies.

use super::hub::{Answer, Hub, Refusal, message};
use linkwork::diagnose::diagnose;
use linkwork::math::{Random, Vector};
use linkwork::reach::{self, Reach, ReachConfig};
use linkwork::session::{Command, Session};
use linkwork::{AssembleConfig, Mechanism, Outcome, SolidId, State, assemble};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How far ahead, in ticks of a sixtieth of a second, and how many of them are told.
const AHEAD: u32 = 300;
const EVERY: u32 = 12;
/// No longer than this: large scenes are shown as they begin.
const PATIENCE: Duration = Duration::from_millis(2000);
/// A reach is searched for no longer than this: what was found by then is shown.
const REACH_PATIENCE: Duration = Duration::from_secs(60);
/// Larger scenes are not told: their size hardly changes, and the message would be long.
const MOST_SOLIDS: usize = 200;
/// Rows of an island that are examined, and most free motions that are shown.
const MOST_ROWS: usize = 240;
const MOST_MOTIONS: usize = 6;

/// Runs a copy of a scene ahead and tells the poses on its way, as x y z and quaternion, the world left out. What is told
/// at once is that they come.
pub fn sweep(session: &Session, revision: u32, hub: &Arc<Hub>) {
    let solids = session.mechanism().solid_count();
    let told = move |samples: &[Vec<f32>], done: bool| {
        message(json!({ "event": "sweep", "revision": revision, "samples": samples, "done": done }))
    };
    let due = (1..=MOST_SOLIDS).contains(&solids);
    let mine = told(&[], !due);
    hub.sweep.send_replace(mine.clone());
    if !due {
        return;
    }
    let mut ahead = session.fork();
    let hub = hub.clone();
    std::thread::spawn(move || {
        let start = Instant::now();
        let clock = move || start.elapsed().as_secs_f64();
        // Another scene may be opened meanwhile.
        let is_mine = |now: &Arc<str>| Arc::ptr_eq(now, &mine);
        // Nothing can refuse these.
        let _ = ahead.apply(Command::Budget { ms: None });
        let _ = ahead.apply(Command::Run { on: true });
        let mut samples: Vec<Vec<f32>> = Vec::new();
        for tick in 0..AHEAD {
            if start.elapsed() > PATIENCE || !is_mine(&hub.sweep.borrow()) {
                break;
            }
            ahead.tick(1.0 / 60.0, &clock);
            if tick % EVERY == EVERY - 1 {
                samples.push(poses(&ahead));
            }
        }
        hub.sweep.send_if_modified(|now| {
            let current = is_mine(now);
            if current {
                *now = told(&samples, true);
            }
            current
        });
    });
}

fn poses(session: &Session) -> Vec<f32> {
    (1..session.mechanism().solids().len() as u32)
        .flat_map(|i| super::frame::pose(session.pose(SolidId(i))))
        // A tenth of a millimetre is enough for a view.
        .map(|x| ((x * 1e4).round() / 1e4) as f32)
        .collect()
}

/// Answers how a scene can move, from a thread of its own: the simulation does not wait for it.
pub fn examine(session: &Session, reply: Option<oneshot::Sender<Result<Answer, Refusal>>>) {
    let (m, state) = (session.mechanism().clone(), session.state().clone());
    let tolerance = session.settings().tolerance;
    std::thread::spawn(move || {
        let found = findings(&m, &state, tolerance);
        if let Some(reply) = reply {
            // The client may be gone.
            let _ = reply.send(Ok(Answer::Value(found)));
        }
    });
}

/// Answers where a point of a solid can get to, from a thread of its own. One search at a time: whoever asks meanwhile is told
/// to wait.
pub fn reach(
    session: &Session,
    solid: u32,
    point: [f64; 3],
    hub: &Arc<Hub>,
    reply: Option<oneshot::Sender<Result<Answer, Refusal>>>,
) {
    let answer = |result: Result<Value, Refusal>| {
        if let Some(reply) = reply {
            // The client may be gone.
            let _ = reply.send(result.map(Answer::Value));
        }
    };
    if hub.searching.swap(true, Ordering::AcqRel) {
        return answer(Err(Refusal::new("another reach is being computed: try again when it is finished")));
    }
    let hub = hub.clone();
    let (m, state) = (session.mechanism().clone(), session.state().clone());
    let tolerance = session.settings().tolerance;
    std::thread::spawn(move || {
        let start = Instant::now();
        let over = || start.elapsed() > REACH_PATIENCE;
        let config = ReachConfig { tolerance, out_of_time: Some(&over), ..ReachConfig::default() };
        let found = reach::reach(&m, &state, SolidId(solid), Vector::from_array(point), &config);
        hub.searching.store(false, Ordering::Release);
        answer(found.map(|r| describe_reach(&r)).map_err(|e| Refusal::new(e.to_string())));
    });
}

/// Places as one list of numbers, and which of them are whole cells. A tenth of a millimetre is enough to draw.
fn describe_reach(r: &Reach) -> Value {
    let round = |x: f64| (x * 1e4).round() / 1e4;
    let places: Vec<f64> = r.places.iter().flat_map(|p| p.at.to_array()).map(round).collect();
    let inside: Vec<u8> = r.places.iter().map(|p| p.inside.into()).collect();
    json!({
        "places": places,
        "inside": inside,
        "cell": r.cell,
        "dimensions": r.dimensions,
        "plane": r.plane.map(|axes| axes.map(|a| a.to_array())),
        "measure": r.measure,
        "unbounded": r.unbounded,
        "complete": r.complete,
    })
}

/// Freedoms, constraints that depend on others, and motions that nothing hinders.
fn findings(m: &Mechanism, state: &State, tolerance: f64) -> Value {
    let found = diagnose(m, state, MOST_ROWS, tolerance);
    let list = |conflict: bool| -> Vec<Value> {
        found
            .dependencies(conflict)
            .map(|d| {
                let with: Vec<u32> = d.with.iter().map(|j| j.0).collect();
                json!({ "joint": d.joint.0, "rows": d.rows, "with": with })
            })
            .collect()
    };
    let extra: usize = found.islands.iter().map(|i| i.freedoms_here.saturating_sub(i.freedoms)).sum();
    let examined = found.islands.iter().all(|i| i.examined);
    let count = (found.freedoms + extra).min(MOST_MOTIONS);
    let small = m.solids().len() <= MOST_SOLIDS && examined;
    json!({
        "freedoms": found.freedoms,
        "here": found.freedoms + extra,
        "examined": examined,
        "redundant": list(false),
        "conflicts": list(true),
        "motions": if small { motions(m, state, count) } else { Vec::new() },
    })
}

/// Independent motions that the constraints allow, as shift of the centre and turn per solid, the world left out, the
/// largest shift being one metre. What is left of a small random displacement after assembly is one: assembly moves
/// back by the smallest motion.
fn motions(m: &Mechanism, state: &State, count: usize) -> Vec<Vec<f64>> {
    let mut random = Random::new(7);
    let size = |k: usize| m.solid(SolidId(k as u32)).extent().max(1e-6);
    let solids: Vec<usize> =
        (1..m.solids().len()).filter(|k| !m.solid(SolidId(*k as u32)).is_fixed()).collect();
    let largest = solids.iter().map(|k| size(*k)).fold(0.0, f64::max);
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let config = AssembleConfig { tolerance: 1e-12, iterations: Some(30), ..AssembleConfig::default() };
    for _ in 0..4 * count {
        if basis.len() == count {
            break;
        }
        let mut there = state.clone();
        for &k in &solids {
            let (t, q) = (random.ball() * (1e-4 * largest), random.ball() * 1e-4);
            there.displace(k, &[t.x, t.y, t.z, q.x, q.y, q.z]);
        }
        if assemble(m, &mut there, &config).outcome != Outcome::Ok {
            continue;
        }
        // Turns count by how far they move the rim.
        let mut way = vec![0.0; 6 * (m.solids().len() - 1)];
        for &k in &solids {
            let shift = there.centers[k] - state.centers[k];
            let turn = linkwork::math::log(there.rotations[k] * state.rotations[k].conjugate());
            let rim = size(k);
            let all = shift.to_array().into_iter().chain(turn.to_array().map(|x| x * rim));
            way[6 * (k - 1)..6 * k].iter_mut().zip(all).for_each(|(x, y)| *x = y);
        }
        let before = norm(&way);
        for b in &basis {
            let share: f64 = way.iter().zip(b).map(|(x, y)| x * y).sum();
            way.iter_mut().zip(b).for_each(|(x, y)| *x -= share * y);
        }
        let left = norm(&way);
        if left > 0.05 * before && left > 1e-7 * largest {
            way.iter_mut().for_each(|x| *x /= left);
            basis.push(way);
        }
    }
    for way in &mut basis {
        let far = way.chunks(3).map(norm).fold(0.0, f64::max).max(1e-12);
        for &k in &solids {
            let rim = size(k);
            let part = &mut way[6 * (k - 1)..6 * k];
            part.iter_mut().for_each(|x| *x /= far);
            part[3..].iter_mut().for_each(|x| *x /= rim);
        }
    }
    basis
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::gallery;

    fn opened(name: &str) -> Session {
        let text = gallery::text(name).expect("a scene");
        Session::open(&text, &mut |_| Err("none".into())).expect("it is sound")
    }

    #[test]
    fn a_four_bar_has_one_freedom_which_turns_the_crank_about_its_pin() {
        let s = opened("fourbar");
        let v = findings(s.mechanism(), s.state(), 1e-6);
        assert_eq!((v["freedoms"].as_u64(), v["here"].as_u64()), (Some(1), Some(1)));
        assert!(v["conflicts"].as_array().unwrap().is_empty());
        let rows: u64 = v["redundant"].as_array().unwrap().iter().map(|d| d["rows"].as_u64().unwrap()).sum();
        assert_eq!(rows, 3, "four pins in a plane");
        let way: Vec<f64> = v["motions"][0].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        // The crank's centre is 0.3 m from its pin, at 60 degrees: it moves across that, as fast as it turns.
        let (x, y, turn) = (way[0], way[1], way[5]);
        assert!((x.hypot(y) - 0.3 * turn.abs()).abs() < 1e-3 * turn.abs(), "{way:?}");
        assert!((x * 0.5 + y * 0.866).abs() < 1e-3, "{way:?}");
        assert!(way[3].abs() < 1e-3 && way[4].abs() < 1e-3, "no turn but about z: {way:?}");
    }

    #[test]
    fn what_floats_freely_has_six_motions_and_a_welded_one_none() {
        let open = |text: &str| Session::open(text, &mut |_| Err("none".into())).expect("sound");
        let free = open("solid a: mass 1; shape sphere 0.1; end");
        let v = findings(free.mechanism(), free.state(), 1e-6);
        assert_eq!((v["freedoms"].as_u64(), v["motions"].as_array().unwrap().len()), (Some(6), 6));
        let held = open("solid a: mass 1; shape sphere 0.1; end joint weld; object2 a; end");
        let v = findings(held.mechanism(), held.state(), 1e-6);
        assert_eq!((v["freedoms"].as_u64(), v["motions"].as_array().unwrap().len()), (Some(0), 0));
    }
}
