//! The energy guard: what nothing drives keeps its energy as its method documents, or the step says so. Losses count as
//! gains do, except where something takes energy away.

use crate::common::*;
use linkwork::math::Random;
use linkwork::{
    Collide, Direction, Frame, Joint, Kernel, Limit, Mask, Mechanism, Range, Solid, SolidId, State,
    StepConfig, StepReport, Vector, Workspace, step,
};

/// A scene without what takes energy or brings it: motors, forces, dampers, contacts, limits, anything that comes and goes.
/// None where its mobility or cloth would.
fn conservative(from: &Mechanism, gravity: bool, speed: f64, random: &mut Random) -> Option<Mechanism> {
    if from.solids().iter().any(|s| s.mobility.is_some()) || !from.softs().is_empty() {
        return None;
    }
    let mut m = Mechanism::new();
    m.gravity = if gravity { from.gravity } else { Vector::ZERO };
    for s in &from.solids()[1..] {
        let kernel = if s.kernel == Kernel::Dynamic { Kernel::Dynamic } else { Kernel::Fixed };
        let mut s = Solid { kernel, material: None, collide: Collide::None, ..s.clone() };
        if !s.is_fixed() {
            s.velocity += random.ball() * speed;
            s.spin += random.ball() * if s.particle { 0.0 } else { speed / s.extent().max(0.05) };
        }
        m.add_solid(s).unwrap();
    }
    for j in from.joints() {
        let j = Joint {
            drives: vec![],
            limits: vec![],
            during: None,
            damping: 0.0,
            most_force: f64::INFINITY,
            ..j.clone()
        };
        let _ = m.add_joint(j);
    }
    for s in from.springs() {
        m.add_spring(linkwork::Spring { damping: 0.0, during: None, ..s.clone() }).unwrap();
    }
    Some(m)
}

/// What is one-sided, limits aside.
fn is_bounded(m: &Mechanism) -> bool {
    m.joints().iter().any(|j| !j.regions.is_empty() || j.angle.is_some() || j.twist.is_some())
}

/// The energies from the end of the first step on, which takes the speeds away that joints forbid; and whether something
/// was said, or springs were damped.
fn watch(m: &Mechanism, seconds: f64) -> (Energies, bool, bool) {
    let (mut s, mut w, c) = (start(m), Workspace::new(), StepConfig::default());
    let first = step(m, &mut s, &mut w, &c);
    let mut energies = Energies::new(m, &s);
    let (mut flagged, mut damped) = (is_flagged(&first), first.unresolved > 0);
    for _ in 0..(seconds / c.dt) as usize {
        let r = step(m, &mut s, &mut w, &c);
        energies.see(m, &s);
        flagged |= is_flagged(&r);
        damped |= r.unresolved > 0;
    }
    (energies, flagged, damped)
}

/// A spring pulls at a foot of 1 kg, and 24 kg hang on it: by its own mass it swings once in five steps, and was damped as a
/// swing that no step can show. 51 J of 133 were gone after ten seconds, 126 after a minute, and every step was fine.
#[test]
fn a_lift_on_a_spring_keeps_its_energy() {
    let mut m = read(&text("scissor-lift"));
    m.gravity = Vector::ZERO;
    let (e, flagged, damped) = watch(&m, 20.0);
    assert!(e.loss.max(e.gain) < 0.01 * e.range(), "{}", e.words());
    assert!(!flagged && !damped);
}

/// What the step truly cannot show is damped as before, and the report says so.
#[test]
fn a_spring_that_no_step_can_show_is_told() {
    let m = read(
        "scene gravity 0 0 0; end solid a: shape sphere 0.1; mass 1; at 1.1 0 0; end
        spring s: object2 a; hinge 0 0 0 0 0 0; length 1; stiffness 1e6; end",
    );
    let (e, flagged, damped) = watch(&m, 1.0);
    assert!(damped && !flagged && e.loss > 0.9 * e.range(), "{}", e.words());
    let slow = read(
        "scene gravity 0 0 0; end solid a: shape sphere 0.1; mass 1; at 1.1 0 0; end
        spring s: object2 a; hinge 0 0 0 0 0 0; length 1; stiffness 100; end",
    );
    let (e, flagged, damped) = watch(&slow, 5.0);
    assert!(!damped && !flagged && e.loss < 0.02 * e.range(), "{}", e.words());
}

/// A ring of scissors that gets speeds which its bars allow for a moment only: 78 % of the energy goes in the second step.
/// That is said; a limit at the other end of the ring, which nothing comes near, is no excuse.
#[test]
fn a_limit_far_away_excuses_no_loss() {
    for limited in [false, true] {
        let mut m =
            conservative(&read(&text("hoberman")), false, 1.0, &mut Random::new(seed("hoberman"))).unwrap();
        if limited {
            let far = Limit { direction: Direction::T1, range: Range::new(-500.0, 500.0), restitution: 0.0 };
            let ends = [SolidId::WORLD, SolidId(2)].map(|s| Frame::point(s, Vector::ZERO));
            m.add_joint(Joint { limits: vec![far], ..Joint::lock(ends[0], ends[1], Mask::NONE) }).unwrap();
        }
        let (e, flagged, _) = watch(&m, 0.2);
        assert!(e.loss > 0.1 * e.range(), "nothing was lost: {}", e.words());
        assert!(flagged, "limited {limited}: {}", e.words());
    }
}

/// A name as a number.
fn seed(name: &str) -> u64 {
    name.bytes().fold(7, |h: u64, b| h.wrapping_mul(31).wrapping_add(u64::from(b)))
}

/// Every scene without motors, dampers and limits, thrown, with gravity and without: whatever loses or gains more than the
/// method documents says so.
#[test]
fn nothing_loses_or_gains_without_a_word() {
    let mut faults = Faults::new();
    let mut asked = 0;
    for case in every_scene() {
        for (gravity, speed) in [(true, 1.0), (false, 4.0)] {
            let mut random = Random::new(seed(&case.name));
            let Some(m) = conservative(&case.mechanism, gravity, speed, &mut random) else { continue };
            if m.joints().is_empty() && m.springs().is_empty() || m.solids().len() > 60 {
                continue;
            }
            let (e, flagged, damped) = watch(&m, 6.0);
            let soft = !m.springs().is_empty() || m.joints().iter().any(|j| j.compliance > 0.0);
            // Of the largest kinetic energy, as the guard sees it.
            let most = if soft { 0.1 } else { 0.03 } * (e.range() + e.gain) + 2e-3 * e.range() + 1e-4;
            let lost = if is_bounded(&m) || damped { 0.0 } else { e.loss };
            asked += usize::from(!flagged);
            faults.check(flagged || lost.max(e.gain) <= most, || {
                format!("{}, gravity {gravity}, {speed} m/s: {}", case.name, e.words())
            });
        }
    }
    assert!(asked > 100, "only {asked} said nothing");
    faults.done(150);
}

fn last(m: &Mechanism, c: &StepConfig, seconds: f64) -> Vec<StepReport> {
    let (mut s, mut w) = (State::new(m), Workspace::new());
    (0..(seconds / c.dt) as usize).map(|_| step(m, &mut s, &mut w, c)).collect()
}

/// Limits and motors with a largest force are told how far they are from their laws: hardly, where the step converges; by
/// what one iteration leaves, where there is only one.
#[test]
fn limits_have_a_residual() {
    let m = read(
        "solid arm: shape capsule 0.05 from 0 0 0 to 1 0 0; mass 1; spin 0 0 -6; end
        joint j: pin; object2 arm; at 0 0 0 axis 0 0 1; limit r1 -1 1; end
        solid wheel: shape cylinder 0.2 0.05 axis 0 0 1; mass 3; at 3 0 0; end
        joint k: pin; object2 wheel; at 3 0 0 axis 0 0 1; drive r1 speed 5 max-force 0.3; end",
    );
    let c = StepConfig { tolerance: 1e-8, ..Default::default() };
    let all = last(&m, &c, 1.0);
    let worst = all.iter().fold(0.0_f64, |w, r| w.max(r.limits.residual));
    assert!(all.iter().any(|r| r.limits.rows == 2), "limit and motor at once");
    assert!(worst <= c.tolerance, "{worst:e}");
    let once = last(&m, &StepConfig { iterations: 1, ..c }, 1.0);
    let rough = once.iter().fold(0.0_f64, |w, r| w.max(r.limits.residual));
    assert!(rough > 100.0 * c.tolerance, "{rough:e}");
    // Where nothing may let go there is nothing to tell.
    let free = last(&read(&text("features/pin")), &c, 0.2);
    assert!(free.iter().all(|r| r.limits == Default::default()));
}

/// Five balls on strings that touch. The memory of the guard was added up when they met, and copied to each when they
/// parted: after a minute it held 1e12 J of kinetic energy, beside which nothing is a gain.
#[test]
fn what_meets_and_parts_does_not_multiply_its_memory() {
    for gap in [0.0, 0.01] {
        let mut scene = String::from("material m: friction 0; restitution 1; end\n");
        for k in 0..5 {
            let turn = if k == 0 { -40.0_f64 } else { 0.0 };
            let x = (0.1 + gap) * f64::from(k);
            let at = [x + turn.to_radians().sin(), -turn.to_radians().cos()];
            scene += &format!(
                "solid b{k}: shape sphere 0.05; mass 0.3; at {} {} 0; turn 0 0 1 {turn} deg; material m; end
                joint pin; object2 b{k}; frame1 {x} 0 0 axis 0 0 1; frame2 0 1 0 axis 0 0 1; end\n",
                at[0], at[1]
            );
        }
        let m = read(&scene);
        let (mut s, mut w, c) = (start(&m), Workspace::new(), StepConfig::default());
        let mut energies = Energies::new(&m, &s);
        for _ in 0..1200 {
            step(&m, &mut s, &mut w, &c);
            energies.see(&m, &s);
            let sums = s.memory.islands.iter().fold([0.0; 2], |[d, p], i| [d + i.drift, p + i.peak]);
            // Each of five equal parts may remember the whole at most.
            assert!(sums[1] <= 5.5 * energies.range(), "{gap}: {sums:?}, {}", energies.words());
            assert!(sums[0].abs() <= 0.1 * energies.range(), "{gap}: {sums:?}, {}", energies.words());
        }
        // A method that makes energy is found out after all that.
        let integrator = linkwork::step::Integrator::Euler;
        let c =
            StepConfig { method: linkwork::Method::Baumgarte { alpha: 10.0, beta: 10.0, integrator }, ..c };
        let mut flagged = false;
        for _ in 0..600 {
            flagged |= step(&m, &mut s, &mut w, &c).energy.unexplained > 0;
            energies.see(&m, &s);
        }
        assert!(energies.gain > energies.range(), "nothing was gained: {}", energies.words());
        assert!(flagged, "{gap}: {}", energies.words());
    }
}

/// A ball is thrown at a sheet, flies on, and nothing is wrong: what the sheet took was held against the ball, 90 steps long.
#[test]
fn what_a_sheet_took_is_not_missed_when_the_ball_flies_on() {
    let nails: String = (0..14).map(|k| format!("pin 0 {k}; pin 13 {k}; ")).collect();
    for speed in [2.0, 5.0] {
        let m = read(&format!(
            "material m: friction 0.5; restitution 0; end
            cloth c: grid 14 14 spacing .0769; at -.5 .5 0; mass .2; stretch 3000 3; shear 1000 1; bend .5 .01;
            thickness .005; {nails} end
            solid b: shape sphere .1; mass 1; at 0.03 1.02 1; velocity 0 0 {}; material m; end",
            -speed
        ));
        let all = last(&m, &StepConfig::default(), 2.0);
        let told = all.iter().filter(|r| r.energy.unexplained > 0).count();
        assert_eq!(told, 0, "{speed} m/s");
    }
}

/// A linkage without any freedom, at rest, a spring in it. What is within the tolerance of its place may be anywhere there, and
/// at a millimetre the spring does more over that than anything that moves: such runs ended `energy`.
#[test]
fn small_linkages_rest_without_a_word() {
    let mut faults = Faults::new();
    for size in [1e-3, 1e-2, 1.0, 1e3] {
        let length = |x: f64| x * size;
        let m = read(&format!(
            "scene gravity 0 {} 0; end
            solid a: shape box {w} {} {w}; mass 2; end
            solid b: shape cylinder {} {} axis 1 0 0; mass 3; end
            solid c: shape box {w} {} {w}; mass 1; end
            joint j1: pin; object2 a; frame1 0 0 0 axis 0 0 1; frame2 0 -{} 0 axis 0 0 1; end
            joint j2: pin; object1 a; object2 b; frame1 0 {} 0 axis 0 0 1; frame2 -{} 0 0 axis 0 0 1; end
            joint j3: ball; object1 b; object2 c; frame1 {} 0 0; frame2 0 {} 0; end
            joint j4: cardan; object2 c; frame1 {} 0 0 axis 0 0 1; frame2 0 -{} 0 axis 0 0 1; end
            spring k: object1 a; object2 c; hinge 0 0 0 0 0 0; length {}; stiffness 30; end",
            -9.81 * size,
            length(0.6),
            length(0.05),
            length(1.4),
            length(0.9),
            length(0.3),
            length(0.3),
            length(0.7),
            length(0.7),
            length(0.45),
            length(1.3),
            length(0.45),
            length(0.8),
            w = length(0.1)
        ));
        let r = run(&m, &start(&m), &StepConfig::default(), 120);
        faults.check(r.unexplained == 0, || format!("{size} m: {}", r.words()));
    }
    faults.done(4);
}
