//! What assembly promises: conflicts, ranks, inverse kinematics, mass ratios, ranges, budgets.

use super::*;
use crate::joint::{AngleRange, Direction, Frame, Joint, Mask, Range, Rank, Region, TwistRange};
use crate::math::{Pose, Rotation, exp, rotation_between};
use crate::shape::PlacedShape;
use crate::solid::{Mobility, Solid, SolidId};

const WORLD: SolidId = SolidId::WORLD;

fn point(s: SolidId, x: f64, y: f64, z: f64) -> Frame {
    Frame::point(s, Vector::new(x, y, z))
}

fn bar(name: &str, length: f64, mass: f64) -> Solid {
    Solid::new(name).with_shape(PlacedShape::cylinder(0.05, length, Vector::X), mass)
}

/// Unit bars end to end from the world's origin along x; `mass(i)` of the i-th.
fn chain(n: usize, mass: impl Fn(usize) -> f64) -> (Mechanism, Vec<SolidId>) {
    let mut m = Mechanism::new();
    let mut ids = Vec::new();
    for i in 0..n {
        ids.push(m.add_solid(bar(&format!("b{i}"), 1.0, mass(i)).at(i as f64 + 0.5, 0.0, 0.0)).unwrap());
    }
    for i in 0..n {
        let from = if i == 0 { point(WORLD, 0.0, 0.0, 0.0) } else { point(ids[i - 1], 0.5, 0.0, 0.0) };
        m.add_joint(Joint::ball(from, point(ids[i], -0.5, 0.0, 0.0)).named(format!("j{i}"))).unwrap();
    }
    (m, ids)
}

fn run(m: &Mechanism) -> (AssembleReport, State) {
    let mut s = State::new(m);
    let report = assemble(m, &mut s, &AssembleConfig { tolerance: 1e-9, ..AssembleConfig::default() });
    (report, s)
}

fn scatter(m: &Mechanism, s: &mut State, seed: u64, size: f64) {
    let mut r = Random::new(seed);
    for i in (1..m.solids().len()).filter(|i| !m.solids()[*i].is_fixed()) {
        let (t, q) = (r.ball() * size, r.ball() * size);
        s.displace(i, &[t.x, t.y, t.z, q.x, q.y, q.z]);
    }
}

#[test]
fn a_bar_too_short_for_its_two_secondary_anchors_hangs_in_the_middle() {
    let mut m = Mechanism::new();
    let b = m.add_solid(bar("b", 1.0, 2.0).at(0.3, 0.2, 0.0)).unwrap();
    for (x, end) in [(0.0, -0.5), (3.0, 0.5)] {
        let j = Joint::ball(point(WORLD, x, 0.0, 0.0), point(b, end, 0.0, 0.0));
        m.add_joint(j.with_rank(Rank::Secondary)).unwrap();
    }
    let (report, s) = run(&m);
    assert_eq!(report.outcome, Outcome::Conflict);
    assert!((s.centers[1] - Vector::new(1.5, 0.0, 0.0)).length() < 1e-5, "{}", s.centers[1]);
    assert!((report.gaps.position - 1.0).abs() < 1e-5);
    assert_eq!(report.worst.len(), 2);
}

#[test]
fn by_default_the_forest_is_exact_and_the_loop_closure_takes_the_error() {
    let mut m = Mechanism::new();
    let b = m.add_solid(bar("b", 1.0, 2.0).at(0.3, 0.2, 0.0)).unwrap();
    for (name, x, end) in [("near", 0.0, -0.5), ("far", 3.0, 0.5)] {
        m.add_joint(Joint::ball(point(WORLD, x, 0.0, 0.0), point(b, end, 0.0, 0.0)).named(name)).unwrap();
    }
    let (report, s) = run(&m);
    assert_eq!(report.outcome, Outcome::Conflict);
    assert_eq!(report.worst.len(), 1);
    assert_eq!(m.joint_name(report.worst[0].joint), "far");
    assert!((report.gaps.position - 2.0).abs() < 1e-5, "{:?}", report.gaps);
    let end = s.pose(&m, b).transform_point(Vector::new(-0.5, 0.0, 0.0));
    assert!(end.length() < 1e-12, "primary gap {}", end.length());
}

#[test]
fn weights_decide_among_secondary_constraints_alone() {
    let mut m = Mechanism::new();
    let a = m.add_solid(Solid::new("a")).unwrap();
    for (x, weight) in [(0.0, 3.0), (1.0, 1.0)] {
        let joint = Joint::ball(point(WORLD, x, 0.0, 0.0), point(a, 0.0, 0.0, 0.0));
        m.add_joint(Joint { weight, rank: Some(Rank::Secondary), ..joint }).unwrap();
    }
    let (report, s) = run(&m);
    assert_eq!(report.outcome, Outcome::Conflict);
    assert!((s.centers[1].x - 0.25).abs() < 1e-6, "{}", s.centers[1].x);
}

#[test]
fn what_may_not_move_stays_through_restarts() {
    let mut m = Mechanism::new();
    let mut held = Solid::new("held");
    held.mobility = Some(Mobility { translate: 0.0, rotate: 0.0 });
    let a = m.add_solid(held).unwrap();
    m.add_joint(Joint::ball(point(WORLD, 1.0, 0.0, 0.0), point(a, 0.0, 0.0, 0.0))).unwrap();
    let start = State::new(&m);
    let (report, s) = run(&m);
    assert_eq!((report.outcome, s), (Outcome::Conflict, start));
}

#[test]
fn a_conflict_does_not_grow_with_more_work() {
    let (mut m, ids) = chain(4, |_| 1.0);
    for (x, y) in [(2.0, 5.0), (-4.0, 1.0), (0.0, -9.0)] {
        let j = Joint::ball(point(WORLD, x, y, 0.0), point(ids[3], 0.5, 0.0, 0.0));
        m.add_joint(j.with_rank(Rank::Secondary)).unwrap();
    }
    let (first, s) = run(&m);
    assert_eq!(first.outcome, Outcome::Conflict);
    let mut again = s.clone();
    let second = assemble(&m, &mut again, &AssembleConfig { restarts: 0, ..AssembleConfig::default() });
    assert_eq!(second.outcome, Outcome::Conflict);
    assert!((second.gaps.position - first.gaps.position).abs() < 1e-4, "{:?} {:?}", first.gaps, second.gaps);
    // The three wishes pull towards their mean, (-2/3, -1), which is within reach: the tip must be there.
    let tip = s.pose(&m, ids[3]).transform_point(Vector::new(0.5, 0.0, 0.0));
    assert!((tip - Vector::new(-2.0 / 3.0, -1.0, 0.0)).length() < 1e-5, "{tip}");
}

#[test]
fn inverse_kinematics_reaches_what_is_reachable() {
    for seed in 0..20 {
        let (mut m, ids) = chain(5, |_| 1.0);
        let goal = Random::new(seed).ball() * 4.9;
        let hand = m.add_solid(Solid::fixed("hand").at(goal.x, goal.y, goal.z)).unwrap();
        let grab = Joint::ball(point(hand, 0.0, 0.0, 0.0), point(ids[4], 0.5, 0.0, 0.0));
        m.add_joint(grab.with_rank(Rank::Secondary)).unwrap();
        let (report, s) = run(&m);
        assert_eq!(report.outcome, Outcome::Ok, "{seed}: {report:?}");
        let tip = s.pose(&m, ids[4]).transform_point(Vector::new(0.5, 0.0, 0.0));
        assert!((tip - goal).length() < 1e-8);
        assert_eq!(s.centers[hand.index()], goal, "the target has infinite mass");
    }
}

#[test]
fn inverse_kinematics_stretches_straight_towards_the_unreachable() {
    for goal in [Vector::new(4.0, 6.0, 3.0), Vector::new(-9.0, 1.0, 0.5)] {
        let (mut m, ids) = chain(5, |_| 1.0);
        let hand = m.add_solid(Solid::fixed("hand").at(goal.x, goal.y, goal.z)).unwrap();
        let grab = Joint::ball(point(hand, 0.0, 0.0, 0.0), point(ids[4], 0.5, 0.0, 0.0)).named("grab");
        m.add_joint(grab.with_rank(Rank::Secondary)).unwrap();
        let (report, s) = run(&m);
        assert_eq!(report.outcome, Outcome::Conflict);
        let tip = s.pose(&m, ids[4]).transform_point(Vector::new(0.5, 0.0, 0.0));
        let straight = goal.normalize() * 5.0;
        assert!((tip - straight).length() < 1e-3, "{tip} {straight}");
        assert!((report.gaps.position - (goal.length() - 5.0)).abs() < 1e-6, "{:?}", report.gaps);
        assert_eq!(report.worst.len(), 1, "only the grab is open: {:?}", report.worst);
    }
}

#[test]
fn mass_ratios_assemble_alike() {
    for ratio in [1.0, 10.0, 1e3, 1e6] {
        for seed in 0..5 {
            let (mut m, ids) = chain(8, |i| if i % 2 == 0 { 1.0 } else { ratio });
            let close = Joint::ball(point(WORLD, 3.0, 1.0, 0.0), point(ids[7], 0.5, 0.0, 0.0));
            m.add_joint(close).unwrap();
            let mut s = State::new(&m);
            scatter(&m, &mut s, seed, 2.0);
            let report = assemble(&m, &mut s, &AssembleConfig::default());
            assert_eq!(report.outcome, Outcome::Ok, "ratio {ratio} seed {seed}: {report:?}");
            assert!(report.iterations <= 40, "ratio {ratio}: {} iterations", report.iterations);
        }
    }
}

#[test]
fn gaps_are_shared_by_mass_or_by_mobility() {
    for (mobility, share) in [(None, 0.25), (Some(9.0), 0.9)] {
        let mut m = Mechanism::new();
        let a = m.add_solid(Solid::particle("a", 3.0).at(0.0, 0.0, 0.0)).unwrap();
        let b = m.add_solid(Solid::particle("b", 1.0).at(1.0, 0.0, 0.0)).unwrap();
        if let Some(move_a) = mobility {
            m.alter_solid(a, |s| s.mobility = Some(Mobility { translate: move_a, rotate: 1.0 }));
        }
        m.add_joint(Joint::ball(point(a, 0.0, 0.0, 0.0), point(b, 0.0, 0.0, 0.0))).unwrap();
        let (report, s) = run(&m);
        assert_eq!(report.outcome, Outcome::Ok);
        assert!((s.centers[1].x - share).abs() < 1e-9, "{}", s.centers[1].x);
    }
}

/// Every kind of constraint, on two solids far apart and turned: each closes, and its own geometry says so.
#[test]
fn every_kind_of_constraint_closes() {
    let mut r = Random::new(11);
    for (name, joint) in crate::rows::tests::every_joint(1, 2, &mut r) {
        for seed in 0..3 {
            let mut m = crate::rows::tests::two_solids(&mut r);
            m.add_joint(joint.clone()).unwrap();
            let mut s = State::new(&m);
            scatter(&m, &mut s, seed, 3.0);
            let report =
                assemble(&m, &mut s, &AssembleConfig { tolerance: 1e-9, ..AssembleConfig::default() });
            assert_eq!(report.outcome, Outcome::Ok, "{name} {seed}: {report:?} {joint:?}");
            assert!(s.is_finite());
        }
    }
}

#[test]
fn regions_hold_the_point_where_they_say() {
    let mut m = Mechanism::new();
    let rail = m.add_solid(bar("rail", 2.0, 1.0).at(0.0, 1.0, 0.0).turned(exp(Vector::Z))).unwrap();
    let bead = m.add_solid(Solid::particle("bead", 0.1).at(5.0, 5.0, 1.0)).unwrap();
    m.add_joint(Joint::weld(Frame { solid: WORLD, pose: m.solid(rail).pose }, point(rail, 0.0, 0.0, 0.0)))
        .unwrap();
    let region = Region::Segment { axis: Vector::X, range: Range::new(-1.0, 0.25) };
    let on = Joint {
        regions: vec![region],
        ..Joint::lock(point(bead, 0.0, 0.0, 0.0), point(rail, 0.0, 0.0, 0.0), Mask::NONE)
    };
    m.add_joint(on).unwrap();
    let (report, s) = run(&m);
    assert_eq!(report.outcome, Outcome::Ok);
    let local = s.pose(&m, rail).inverse_transform_point(s.centers[bead.index()]);
    assert!(
        (local - Vector::new(0.25, 0.0, 0.0)).length() < 1e-8,
        "stopped at the end of the segment: {local}"
    );
}

#[test]
fn angle_and_twist_ranges_are_entered_and_no_further() {
    let mut m = Mechanism::new();
    let a = m.add_solid(bar("a", 1.0, 1.0).turned(exp(Vector::new(1.2, 0.3, 1.9)))).unwrap();
    let range = Range::new(0.0, 0.4);
    let (a1, b1) = (Vector::X, Vector::Y);
    let joint = Joint {
        angle: Some(AngleRange { a1, a2: a1, range }),
        twist: Some(TwistRange { a1, a2: a1, b1, b2: b1, range: Range::new(-0.2, 0.2) }),
        ..Joint::ball(point(WORLD, 0.0, 0.0, 0.0), point(a, 0.0, 0.0, 0.0))
    };
    m.add_joint(joint).unwrap();
    let (report, s) = run(&m);
    assert_eq!(report.outcome, Outcome::Ok);
    let swing = (s.rotations[1] * Vector::X).angle_between(Vector::X);
    // Entered from outside by linear steps: just inside the end of the range, never beyond it.
    assert!(swing <= 0.4 + 1e-9 && swing > 0.35, "{swing}");
    let undone = rotation_between(s.rotations[1] * Vector::X, Vector::X) * s.rotations[1];
    let twist = crate::math::log(undone).x;
    assert!(twist.abs() <= 0.2 + 1e-9 && twist.abs() > 0.1, "{twist}");
    assert!((s.angles[0] - twist).abs() < 1e-9);
}

#[test]
fn a_screw_advances_by_its_pitch() {
    let mut m = Mechanism::new();
    let nut =
        m.add_solid(Solid::new("nut").at(0.4, 0.3, 0.1).turned(exp(Vector::new(2.0, 0.2, 0.0)))).unwrap();
    m.add_joint(Joint::screw(point(WORLD, 0.0, 0.0, 0.0), point(nut, 0.0, 0.0, 0.0), 0.5)).unwrap();
    let (report, s) = run(&m);
    assert_eq!(report.outcome, Outcome::Ok);
    let turn = crate::math::unwrap_angle(crate::math::log(s.rotations[1]).x, s.angles[0]);
    assert!((turn - s.angles[0]).abs() < 1e-8, "{turn} {:?}", s.angles);
    assert!((s.centers[1].x - 0.5 * turn / std::f64::consts::TAU).abs() < 1e-9);
    assert!(s.centers[1].y.abs() < 1e-9);
}

/// A nut that two rods hold closes some turns away from where it was drawn; it was called impossible.
#[test]
fn a_screw_closes_turns_away() {
    let mut random = Random::new(11);
    for k in 0..60 {
        // From a pose in which everything holds: lengths that have one.
        let pitch = 0.05 + 0.15 * (k % 4) as f64;
        let turn = 6.0 * std::f64::consts::PI * random.signed();
        let up = pitch * turn / std::f64::consts::TAU;
        let (mut m, mut nut) = (Mechanism::new(), bar("nut", 0.4, 1.0));
        nut.pose = Pose::IDENTITY;
        let nut = m.add_solid(nut).unwrap();
        let axis = |s| Frame::axis(s, Vector::ZERO, Vector::Y);
        m.add_joint(Joint::screw(axis(WORLD), axis(nut), pitch)).unwrap();
        let arms = [Vector::X * 0.4, Vector::new(-0.2, 0.0, 0.3)];
        for (i, arm) in arms.into_iter().enumerate() {
            let anchor = Vector::new(0.8 - 1.4 * i as f64, 0.5 * random.signed(), 0.3 * random.signed());
            let held = Rotation::from_axis_angle(Vector::Y, turn) * arm + Vector::Y * up;
            let (a, b) = (point(WORLD, anchor.x, anchor.y, anchor.z), point(nut, arm.x, arm.y, arm.z));
            m.add_joint(Joint::distance(a, b, held.distance(anchor))).unwrap();
        }
        let (report, state) = run(&m);
        assert_eq!(report.outcome, Outcome::Ok, "{k}, {turn} rad: {report:?} {:?}", state.centers);
    }
}

#[test]
fn limits_of_a_hinge_stop_it() {
    let mut m = Mechanism::new();
    let door = m.add_solid(bar("door", 1.0, 1.0).turned(exp(Vector::Y * 2.5))).unwrap();
    let frame = |s| Frame::axis(s, Vector::ZERO, Vector::Y);
    m.add_joint(Joint::pin(frame(WORLD), frame(door)).with_limit(Direction::R1, 0.0, 1.0)).unwrap();
    let (report, s) = run(&m);
    assert_eq!(report.outcome, Outcome::Ok);
    assert!((crate::math::log(s.rotations[1]) - Vector::Y).length() < 1e-8);
}

#[test]
fn a_budget_is_kept_and_reported() {
    let (m, _) = chain(10, |_| 1.0);
    let mut s = State::new(&m);
    scatter(&m, &mut s, 4, 3.0);
    let config = AssembleConfig { iterations: Some(2), ..AssembleConfig::default() };
    let report = assemble(&m, &mut s, &config);
    assert_eq!((report.outcome, report.iterations), (Outcome::Budget, 2));
    assert!(!report.worst.is_empty());
    let stop = || true;
    let report =
        assemble(&m, &mut s, &AssembleConfig { out_of_time: Some(&stop), ..AssembleConfig::default() });
    assert_eq!(report.outcome, Outcome::Budget);
}

#[test]
fn absurd_coordinates_do_not_spread() {
    let (mut m, ids) = chain(3, |_| 1.0);
    m.add_joint(Joint::ball(point(WORLD, 1e300, 0.0, 0.0), point(ids[2], 0.5, 0.0, 0.0))).unwrap();
    let (report, s) = run(&m);
    assert_ne!(report.outcome, Outcome::Ok);
    assert!(s.is_finite(), "{report:?}");
}

#[test]
fn joints_outside_their_interval_ask_for_nothing() {
    let (mut m, ids) = chain(2, |_| 1.0);
    let late = Joint {
        during: Some((1.0, 2.0)),
        ..Joint::ball(point(WORLD, 9.0, 9.0, 0.0), point(ids[1], 0.5, 0.0, 0.0))
    };
    m.add_joint(late).unwrap();
    assert_eq!(run(&m).0.outcome, Outcome::Ok);
}

#[test]
fn the_same_start_gives_the_same_bits() {
    let (m, _) = chain(6, |_| 1.0);
    let run = || {
        let mut s = State::new(&m);
        scatter(&m, &mut s, 9, 3.0);
        assemble(&m, &mut s, &AssembleConfig::default());
        s.hash()
    };
    assert_eq!(run(), run());
}

/// Small disturbances of a four-bar come back to the same branch, not to its mirror image.
#[test]
fn it_stays_on_the_branch_of_the_start() {
    let mut m = Mechanism::new();
    let corners = [[0.0, 0.0], [0.2, 1.0], [1.7, 1.4], [2.0, 0.0]].map(|[x, y]| Vector::new(x, y, 0.0));
    let mut ids = Vec::new();
    for k in 0..3 {
        let d = corners[k + 1] - corners[k];
        let c = (corners[k] + corners[k + 1]) * 0.5;
        let turn = rotation_between(Vector::X, d.normalize());
        ids.push(m.add_solid(bar(&format!("b{k}"), d.length(), 1.0).at(c.x, c.y, 0.0).turned(turn)).unwrap());
    }
    for k in 0..4 {
        let side = |id: SolidId| {
            let pose = m.solid(id).pose;
            Frame::axis(id, pose.inverse_transform_point(corners[k]), pose.rotation.inverse() * Vector::Z)
        };
        let a = if k == 0 { WORLD } else { ids[k - 1] };
        let b = if k == 3 { WORLD } else { ids[k] };
        let joint = Joint::pin(side(a), side(b));
        m.add_joint(joint).unwrap();
    }
    for seed in 0..50 {
        let mut s = State::new(&m);
        scatter(&m, &mut s, seed, 0.25);
        let report = assemble(&m, &mut s, &AssembleConfig::default());
        assert_eq!(report.outcome, Outcome::Ok);
        let moved = (s.pose(&m, ids[1]).translation - (corners[1] + corners[2]) * 0.5).length();
        assert!(moved < 0.6 && s.pose(&m, ids[1]).translation.y > 0.5, "seed {seed} moved {moved}");
    }
}

#[test]
fn fixed_and_scripted_solids_never_move() {
    let (mut m, ids) = chain(3, |_| 1.0);
    m.trajectories.push(crate::Trajectory {
        name: "w".into(),
        keys: vec![crate::Key { time: 0.0, position: Vector::new(1.0, 1.0, 0.0), rotation: exp(Vector::Y) }],
        looped: false,
    });
    let kernel = crate::Kernel::Scripted(crate::TrajectoryId(0));
    let hand = m.add_solid(Solid { kernel, ..Solid::new("hand") }).unwrap();
    m.add_joint(Joint::ball(point(hand, 0.0, 0.0, 0.0), point(ids[2], 0.5, 0.0, 0.0))).unwrap();
    let (report, s) = run(&m);
    assert_eq!(report.outcome, Outcome::Ok);
    let pose: Pose = s.pose(&m, hand);
    assert_eq!(pose.translation, Vector::new(1.0, 1.0, 0.0));
}
