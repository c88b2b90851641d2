//! Bats, turntables and stops: what is driven throws with its own speed, what rides on something goes round with it, and what
//! bounces at a stop keeps its energy. Closed forms, over speeds, sizes and steps.

use crate::common::read;
use linkwork::{Mechanism, State, StepConfig, Vector, Workspace, step};

/// Runs to the end; nothing may be refused, missed or said to be unexplained.
fn run(m: &Mechanism, seconds: f64, dt: f64) -> State {
    let c = StepConfig { dt, ..StepConfig::default() };
    let (mut s, mut w) = (State::new(m), Workspace::new());
    for _ in 0..(seconds / dt).round() as usize {
        let r = step(m, &mut s, &mut w, &c);
        assert!(!crate::common::is_flagged(&r), "at {}: {r:?}", s.time);
    }
    s
}

fn velocity(m: &Mechanism, s: &State, name: &str) -> Vector {
    s.velocities[m.find(name).unwrap().index()]
}

/// A ball that meets a bat going its way at `u` leaves it with `u + e (u - v)`, whatever drives the bat.
#[test]
fn a_bat_throws_with_its_own_speed() {
    let bats = [
        "trajectory p: key 0 at 0 0 0; key 10 at {far} 0 0; end solid bat: kernel trajectory p; shape box .1 1 1; material m; end",
        "solid bat: shape box .1 1 1; mass 1e7; velocity {u} 0 0; material m; end
         joint s: slider; object2 bat; at 0 0 0 axis 1 0 0; drive t1 speed {u}; end",
        "solid bat: shape box .1 1 1; mass 1e7; velocity {u} 0 0; material m; end
         joint s: slider; object2 bat; at 0 0 0 axis 1 0 0; drive t1 speed {u} max-force 1e9; end",
    ];
    let mut wrong = Vec::new();
    for (k, bat) in bats.iter().enumerate() {
        for e in [0.0, 0.5, 1.0] {
            for (u, v) in [(2.0, -3.0), (2.0, 0.0), (0.5, -0.5), (20.0, 0.0), (3.0, 1.0), (-1.0, -4.0)] {
                for dt in [1.0 / 60.0, 1.0 / 240.0] {
                    let bat = bat.replace("{u}", &u.to_string()).replace("{far}", &(10.0 * u).to_string());
                    let far = 0.15 + 0.3 * f64::abs(u - v);
                    let m = read(&format!(
                        "scene gravity 0 0 0; end material m: friction 0; restitution {e}; end {bat}
                         solid b: shape sphere .1; mass 1; at {far} 0 0; velocity {v} 0 0; material m; end"
                    ));
                    let got = velocity(&m, &run(&m, 0.8, dt), "b").x;
                    let want = u + e * (u - v);
                    if (got - want).abs() > 1e-3 * (u - v) {
                        wrong.push((k, e, u, v, dt, got, want));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:?}", wrong.len());
}

/// A stop on a base that moves is such a bat.
#[test]
fn a_stop_on_something_driven_throws_with_its_speed() {
    for (e, u) in [(1.0, 2.0), (0.5, 2.0), (1.0, 0.2), (0.0, 3.0)] {
        for dt in [1.0 / 60.0, 1.0 / 240.0] {
            let far = 10.0 * u;
            let m = read(&format!(
                "scene gravity 0 0 0; end trajectory p: key 0 at 0 0 0; key 10 at {far} 0 0; end
                 solid base: kernel trajectory p; shape box .1 .1 .1; end
                 solid b: shape box .1 .1 .1; mass 1; at .3 0 0; end
                 joint s: slider; object1 base; object2 b; limit t1 .2 30 restitution {e}; end"
            ));
            let got = velocity(&m, &run(&m, 1.0, dt), "b").x;
            assert!((got - u * (1.0 + e)).abs() < 1e-3 * u, "e {e}, u {u}, step {dt}: {got}");
        }
    }
}

/// A box that friction holds on a turntable goes round with it, at its distance.
#[test]
fn what_rides_on_a_turntable_stays_where_it_is() {
    let kinds = [
        ("kernel trajectory sp;", ""),
        ("mass 100; spin 0 {w} 0;", "joint pin: pin; object2 tab; at 0 0 0 axis 0 1 0; end"),
    ];
    for (kind, joint) in kinds {
        for (size, turn) in [(1.0, 120.0), (0.05, 300.0), (10.0, 30.0)] {
            for dt in [1.0 / 60.0, 1.0 / 240.0] {
                let w = f64::to_radians(turn);
                let kind = kind.replace("{w}", &w.to_string());
                let (r, b, h, v) = (0.6 * size, 0.2 * size, 0.05 * size, -0.6 * size * w);
                let (wide, thick, low) = (2.0 * size, 0.2 * size, -0.1 * size);
                let keys: String =
                    (1..4).map(|k| format!("key {k} turn 0 1 0 {} deg; ", f64::from(k) * turn)).collect();
                let m = read(&format!(
                    "material m: friction 0.9; end trajectory sp: key 0 at 0 0 0; {keys} end
                     solid tab: {kind} shape cylinder {wide} {thick} axis 0 1 0 at 0 {low} 0; material m; end {joint}
                     solid q: shape box {b} {h} {b}; mass 1; at {r} {} 0; velocity 0 0 {v}; spin 0 {w} 0; material m; end",
                    0.5 * h
                ));
                let s = run(&m, 2.9, dt);
                let at = s.centers[m.find("q").unwrap().index()];
                let away = at.x.hypot(at.z) / r - 1.0;
                assert!(away.abs() < 5e-3, "size {size}, {turn} deg/s, step {dt}, {kind}: {away:e}");
            }
        }
    }
}

/// A bar that falls on a stop with restitution 1 comes back to where it fell from, time after time.
#[test]
fn what_bounces_at_a_stop_keeps_its_energy() {
    for (length, dt) in [(0.6, 1.0 / 60.0), (0.6, 1.0 / 240.0), (6.0, 1.0 / 60.0), (60.0, 1.0 / 60.0)] {
        for e in [1.0, 0.7] {
            let (x, thick) = (0.5 * length, 0.1 * length);
            let m = read(&format!(
                "solid a: shape box {length} {thick} {thick}; mass 1; at {x} 0 0; end
                 joint j: pin; object2 a; at 0 0 0 axis 0 0 1; limit r1 -30 deg 30 deg restitution {e}; end"
            ));
            let c = StepConfig { dt, ..StepConfig::default() };
            let (mut s, mut w) = (State::new(&m), Workspace::new());
            let (mut highest, mut bounced, mut before) = (f64::NEG_INFINITY, 0, 0.0);
            // Falls for half a second at a length of 0.6 m.
            let steps = (4.0 * (length / 0.6_f64).sqrt() / dt) as usize;
            for _ in 0..steps {
                let r = step(&m, &mut s, &mut w, &c);
                assert!(!crate::common::is_flagged(&r), "at {}: {r:?}", s.time);
                let up = s.velocities[1].y;
                bounced += usize::from(before < 0.0 && up > 0.0);
                if bounced > 0 && (e == 1.0 || bounced == 1) {
                    highest = highest.max(s.centers[1].y);
                }
                before = up;
                if e < 1.0 && bounced > 1 {
                    break;
                }
            }
            // Depth of the stop below the start, and how much of it is left.
            let deep = x * 0.5;
            let want = -deep * (1.0 - e * e);
            assert!(
                bounced > 0 && (highest - want).abs() < 0.03 * deep,
                "{length} {e} {dt}: {highest} {want}"
            );
        }
    }
}

/// Two balls meet off their centres: by Newton's law, and with the angular momentum that they had. Steps in which they come no
/// farther than a tenth of their size are not cut where they meet, and are off by as much as pushing apart in them takes.
#[test]
fn balls_meet_alike_at_any_step() {
    for dt in [1.0 / 60.0, 1.0 / 120.0, 1.0 / 240.0, 1.0 / 1000.0] {
        for size in [0.001, 0.1, 10.0] {
            for offset in [0.2, 0.7, 1.4, 1.8] {
                let (r, y, x, v) = (size, offset * size, 3.0 * size, 30.0 * size);
                let slow = -20.0 * size;
                let m = read(&format!(
                    "scene gravity 0 0 0; end material m: friction 0; restitution 1; end
                     solid a: shape sphere {r}; mass 1; at -{x} {y} 0; velocity {v} 0 0; material m; end
                     solid c: shape sphere {r}; mass 2; at {x} 0 0; velocity {slow} 0 0; material m; end"
                ));
                let s = run(&m, 0.2, dt);
                let n = Vector::new((4.0_f64 - offset * offset).sqrt(), -offset, 0.0) / 2.0;
                let impulse = n * (2.0 * (v - slow) * n.x / 1.5);
                let off = (velocity(&m, &s, "a") - (Vector::X * v - impulse)).length() / (v - slow);
                // Ten tolerances, by which they are in each other where the step is cut, are a hundredth of the smallest.
                let near = if dt > 2e-3 { 1e-3 + 15e-6 / size } else { 2e-2 };
                assert!(off < near, "step {dt}, size {size}, offset {offset}: {off:e}");
                let spin: f64 =
                    (1..3).map(|i| [1.0, 2.0][i - 1] * s.centers[i].cross(s.velocities[i]).z).sum();
                let had = -y * v;
                assert!(
                    (spin - had).abs() < near * size * v,
                    "step {dt}, size {size}, {offset}: {spin} {had}"
                );
            }
        }
    }
}
