//! What sleeps is not looked at, and that changes nothing: every step of a kept workspace is that of a fresh one, whatever
//! happens to the state in between.

use super::*;
use crate::math::{Random, Rotation};
use crate::trajectory::{Key, Trajectory};
use crate::{Kernel, force::Force};

/// Islands in rows: balls and boxes on a floor, boxes on boxes, hanging bars; a paddle that goes by below two of them, and a
/// ball that is hurled through.
fn yard(rows: usize) -> (Mechanism, SolidId) {
    let mut m = Mechanism::new();
    let floor = Solid { shapes: vec![PlacedShape::plane(Vector::Y)], ..Solid::fixed("floor") };
    m.add_solid(floor).unwrap();
    let ball =
        m.add_solid(Solid::new("ball").with_shape(PlacedShape::sphere(0.2), 3.0).at(-3.0, 0.2, 2.0)).unwrap();
    let keys = [(0.0, 20.0), (1.0, 20.0), (1.6, 3.0), (3.0, 20.0)];
    let key = |(time, z)| Key { time, position: Vector::new(1.0, 1.6, z), rotation: Rotation::IDENTITY };
    let there = Trajectory { name: "there".into(), keys: keys.map(key).to_vec(), looped: true };
    let there = m.add_trajectory(there).unwrap();
    let paddle = Solid { kernel: Kernel::Scripted(there), ..Solid::new("paddle") };
    m.add_solid(paddle.with_shape(PlacedShape::cuboid(0.4, 0.1, 0.4), 1.0)).unwrap();
    let cube = PlacedShape::cuboid(0.3, 0.3, 0.3);
    for k in 0..4 * rows {
        let (x, z) = ((k % 4) as f64, (k / 4) as f64);
        let solid = |what: &str| Solid::new(format!("{what}-{k}"));
        match k % 4 {
            0 => m.add_solid(solid("round").with_shape(PlacedShape::sphere(0.15), 1.0).at(x, 0.15, z)),
            1 => {
                let bar = PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::Y * -1.0);
                let bar = m.add_solid(solid("bar").with_shape(bar, 1.0).at(x, 2.0, z)).unwrap();
                let at = Vector::new(x, 2.0, z);
                m.add_joint(Joint::ball(Frame::point(SolidId::WORLD, at), Frame::point(bar, Vector::ZERO)))
                    .unwrap();
                Ok(bar)
            }
            2 => {
                // Stacks go on settling for long: few of them.
                let high = if k % 16 == 2 { 0.45 } else { 0.15 };
                let x = if high < 0.3 { x - 0.4 } else { x };
                m.add_solid(solid("low").with_shape(cube.clone(), 1.0).at(x, 0.15, z)).unwrap();
                let x = if high < 0.3 { x + 0.4 } else { x };
                m.add_solid(solid("high").with_shape(cube.clone(), 1.0).at(x, high, z))
            }
            _ => m.add_solid(solid("box").with_shape(cube.clone(), 1.0).at(x, 0.15, z)),
        }
        .unwrap();
    }
    (m, ball)
}

/// A step with the workspace that is kept, and the same with a fresh one: the same bits.
fn both(m: &Mechanism, s: &mut State, w: &mut Workspace, c: &StepConfig, what: &str) -> StepReport {
    let mut fresh = s.clone();
    let report = step(m, s, w, c);
    let mut other = Workspace::new();
    step(m, &mut fresh, &mut other, c);
    assert_eq!(s.hash(), fresh.hash(), "{what} at {} s: {report:?}", s.time);
    assert_eq!(s.memory, fresh.memory, "{what} at {} s", s.time);
    assert_eq!(w.islands(), other.islands(), "{what} at {} s", s.time);
    let pairs = |w: &Workspace| {
        let mut pairs: Vec<[u32; 2]> = w.near.pairs().collect();
        pairs.sort_unstable();
        pairs
    };
    assert_eq!(pairs(w), pairs(&other), "{what} at {} s", s.time);
    report
}

#[test]
fn what_sleeps_is_not_looked_at_and_that_changes_nothing() {
    let (m, ball) = yard(12);
    let (mut s, mut w, c) = (State::new(&m), Workspace::new(), StepConfig::default());
    let (mut resumed, mut slept, mut fewest) = (0, 0, usize::MAX);
    for k in 0..260 {
        if k == 50 {
            // Through the rows: what it hits wakes, and falls asleep again.
            s.velocities[ball.index()] = Vector::new(6.0, 0.0, 0.3);
            w.wake(&mut s, ball);
        }
        both(&m, &mut s, &mut w, &c, "yard");
        resumed += usize::from(w.resumes());
        let (all, asleep) = w.islands();
        slept += usize::from(2 * asleep > all);
        fewest = fewest.min(all - asleep);
    }
    // The paddle touches bars, and bodies collide and come to rest: those steps see all of it.
    assert!(slept > 150 && resumed > 40 && fewest <= 1, "{slept} {resumed} {fewest}");
}

/// Whatever somebody does to a state, with or without telling: the kept workspace sees it.
#[test]
fn what_is_changed_by_hand_is_seen() {
    let (m, ball) = yard(6);
    let (mut w, mut plain) = (Workspace::new(), StepConfig::default());
    for seed in 0..6 {
        let mut random = Random::new(900 + seed);
        let (mut s, mut m) = (State::new(&m), m.clone());
        let mut kept = s.clone();
        for _ in 0..45 {
            both(&m, &mut s, &mut w, &plain, "rest");
        }
        for k in 0..90 {
            let mut pick = |n: usize| ((random.signed().abs() * n as f64) as usize).min(n - 1);
            let i = 2 + pick(m.solids().len() - 2);
            let what =
                ["moved", "pushed", "woken", "gravity", "past", "exchanged", "step", "force", "forgotten"];
            let what = what[pick(what.len())];
            if k % 5 == 0 {
                match what {
                    "moved" if !m.solid(SolidId(i as u32)).is_fixed() => s.centers[i] += Vector::Y * 0.2,
                    "pushed" => s.velocities[ball.index()] += Vector::new(1.0, 0.0, 0.5),
                    "woken" => w.wake(&mut s, SolidId(i as u32)),
                    "gravity" => m.gravity.x = if m.gravity.x == 0.0 { 1e-3 } else { 0.0 },
                    "past" => kept.clone_from(&s),
                    "exchanged" => std::mem::swap(&mut s, &mut kept),
                    "step" => plain.dt = if plain.dt < 0.012 { 1.0 / 60.0 } else { 0.01 },
                    "force" => {
                        let (solid, torque) = (ball, Vector::ZERO);
                        let value = Vector::new(0.0, 0.0, 1.0);
                        let f = Force {
                            name: "f".into(),
                            solid,
                            at: None,
                            value,
                            torque,
                            follows_solid: false,
                            during: None,
                        };
                        m.add_force(f).unwrap();
                    }
                    "forgotten" => s.memory = Default::default(),
                    _ => {}
                }
            }
            both(&m, &mut s, &mut w, &plain, what);
        }
    }
}

/// Every kind of edit: what it changes is stepped as a fresh workspace would, and all other islands keep what they are.
#[test]
fn edits_leave_other_islands_alone() {
    type Edit = fn(&mut Mechanism, SolidId);
    let joint = |m: &Mechanism, s: SolidId| {
        let of = |j: &Joint| j.frames.iter().any(|f| f.solid == s);
        crate::JointId(m.joints().iter().position(of).unwrap() as u32)
    };
    let edits: [(&str, Edit); 9] = [
        ("mass", |m, s| m.edit_solid(s, |s| s.mass = s.mass.with_mass(3.0)).unwrap()),
        ("mobility", |m, s| {
            m.edit_solid(s, |s| s.mobility = Some(crate::Mobility { translate: 1.0, rotate: 1.0 })).unwrap()
        }),
        ("fixed", |m, s| m.edit_solid(s, |s| s.kernel = Kernel::Fixed).unwrap()),
        ("spring", |m, s| {
            let (solids, points) = ([SolidId::WORLD, s], [Vector::new(1.0, 2.5, 2.0), Vector::ZERO]);
            let spring = crate::Spring {
                name: "s".into(),
                solids,
                points,
                length: 0.3,
                stiffness: 20.0,
                damping: 0.0,
                during: None,
            };
            m.add_spring(spring).unwrap();
        }),
        ("force", |m, s| {
            let (name, value, torque) = ("f".into(), Vector::Z, Vector::ZERO);
            m.add_force(Force {
                name,
                solid: s,
                at: None,
                value,
                torque,
                follows_solid: false,
                during: None,
            })
            .unwrap();
        }),
        ("joint", |m, s| {
            let ends =
                [Frame::point(SolidId::WORLD, Vector::new(1.0, 1.0, 2.0)), Frame::point(s, -Vector::Y)];
            m.add_joint(Joint::ball(ends[0], ends[1])).unwrap();
        }),
        ("shape", |m, s| m.edit_solid(s, |s| s.shapes[0] = PlacedShape::sphere(0.2)).unwrap()),
        ("material", |m, _| {
            m.add_material(crate::Material::default()).unwrap();
        }),
        ("gravity", |m, _| m.gravity.x = 0.01),
    ];
    let (first, _) = yard(6);
    let bar = SolidId(first.solids().iter().position(|s| s.name == "bar-9").unwrap() as u32);
    let pin = joint(&first, bar);
    type Change = fn(&mut Joint);
    let changes: [(&str, Change); 8] = [
        ("moved", |j| j.frames[1].pose.translation.y += 0.01),
        ("lock", |j| j.lock = crate::Mask::ALL),
        ("disabled", |j| j.enabled = false),
        ("during", |j| j.during = Some((0.0, 0.8))),
        ("soft", |j| (j.compliance, j.damping) = (1e-3, 1.0)),
        ("weak", |j| j.most_force = 5.0),
        ("weight", |j| j.weight = 2.0),
        ("rank", |j| j.rank = Some(crate::Rank::Secondary)),
    ];
    let edited = edits.into_iter().map(|(what, edit)| {
        let mut m = first.clone();
        edit(&mut m, bar);
        (what, m)
    });
    let changed = changes.into_iter().map(|(what, change)| {
        let mut m = first.clone();
        m.edit_joint(pin, change).unwrap();
        (what, m)
    });
    let parts = |w: &Workspace| -> Vec<(u32, u64)> {
        w.islands.iter().map(|i| (i.solid, i.part.mechanism.epoch())).collect()
    };
    for (what, m) in edited.chain(changed) {
        let (mut s, mut w, c) = (State::new(&first), Workspace::new(), StepConfig::default());
        for _ in 0..45 {
            step(&first, &mut s, &mut w, &c);
        }
        let before = parts(&w);
        for _ in 0..4 {
            both(&m, &mut s, &mut w, &c, what);
        }
        let after = parts(&w);
        let lost = before.iter().filter(|i| !after.contains(i)).count();
        assert!(lost <= 1, "{what}: {lost} islands of {} were made anew", before.len());
        let same = ["shape", "material", "gravity"].contains(&what);
        assert_eq!(lost, usize::from(!same), "{what}");
    }
}
