//! What contact tells: points, forces of pairs, events and impulses, held against closed forms.

use crate::ground::{add, floor};
use linkwork::contact::{ContactEvent, ContactEventKind, ContactEvents};
use linkwork::{
    Frame, Joint, Mechanism, PlacedShape, Solid, SolidId, State, StepConfig, StepReport, Vector, Workspace,
    step,
};

const G: f64 = 9.81;
const FLOOR: SolidId = SolidId(1);

struct Run<'a> {
    m: &'a Mechanism,
    state: State,
    work: Workspace,
    events: ContactEvents,
    told: Vec<ContactEvent>,
}

impl<'a> Run<'a> {
    fn new(m: &'a Mechanism) -> Self {
        let (work, events) = (Workspace::new(), ContactEvents::new());
        Self { m, state: State::new(m), work, events, told: Vec::new() }
    }

    fn go(&mut self, seconds: f64, dt: f64) -> StepReport {
        let mut last = StepReport::default();
        for _ in 0..(seconds / dt).round() as usize {
            let c = StepConfig { dt, ..StepConfig::default() };
            last = step(self.m, &mut self.state, &mut self.work, &c);
            assert_eq!(last.rejected, None);
            self.told.extend_from_slice(self.events.after_step(&self.work, &self.state));
        }
        last
    }
}

fn near(value: f64, right: f64, part: f64, what: &str) {
    assert!((value - right).abs() <= part * right.abs().max(1e-12), "{what}: {value} instead of {right}");
}

/// A ball of mass m at rest is carried by m g along the normal, and so is everything below it.
#[test]
fn the_floor_carries_what_lies_on_it() {
    let mut m = floor(0.5, 0.0);
    let low = add(&mut m, "low", PlacedShape::cuboid(1.0, 0.2, 1.0), 5.0, [0.0, 0.1, 0.0]);
    let ball = add(&mut m, "ball", PlacedShape::sphere(0.1), 3.0, [0.0, 0.3, 0.0]);
    let mut run = Run::new(&m);
    let report = run.go(0.3, 1.0 / 60.0);
    let points = run.work.contact_points(&run.state);
    assert_eq!(points.len(), report.contacts.points);
    let under: Vec<_> = points.iter().filter(|p| p.solids == [FLOOR, low]).collect();
    assert_eq!(under.len(), 4);
    for p in &under {
        assert!(p.normal.distance(Vector::Y) < 1e-9 && p.gap.abs() < 1e-6 && p.friction == 0.5, "{p:?}");
        assert!((p.point.x.abs() - 0.5).abs() < 1e-6 && (p.point.z.abs() - 0.5).abs() < 1e-6, "{p:?}");
        near(p.pressure(), 2.0 * G, 1e-6, "a corner");
        assert!(!p.slides());
    }
    let pairs = run.work.contact_pairs(&run.state);
    let told: Vec<_> = pairs.iter().map(|p| (p.solids, p.points)).collect();
    assert_eq!(told, [([FLOOR, low], 4), ([low, ball], 1)]);
    near(pairs[0].force.y, 8.0 * G, 1e-6, "all of it");
    near(pairs[1].force.y, 3.0 * G, 1e-6, "the ball");
    assert!(pairs.iter().all(|p| p.force.x.abs() + p.force.z.abs() < 1e-6));
    // The step's impulse is the same force, times its length.
    let gave = run.work.contact_impulses();
    assert_eq!(gave.iter().map(|g| g.0).collect::<Vec<_>>(), [[FLOOR, low], [low, ball]]);
    near(gave[1].1.y, 3.0 * G / 60.0, 1e-6, "the ball's impulse");
    // Both began to touch in the first step; nothing else happened.
    let told: Vec<_> = run.told.iter().map(|e| (e.kind, e.solids)).collect();
    assert_eq!(told, [(ContactEventKind::Begin, [FLOOR, low]), (ContactEventKind::Begin, [low, ball])]);
}

/// Piles that sleep keep their points, and a state that was restored has the same ones.
#[test]
fn sleeping_piles_keep_their_points() {
    let mut m = floor(0.5, 0.0);
    let ids: Vec<SolidId> = (0..5)
        .map(|k| {
            let y = 0.25 + 0.5 * f64::from(k);
            add(&mut m, &format!("b{k}"), PlacedShape::cuboid(0.5, 0.5, 0.5), 2.0, [0.0, y, 0.0])
        })
        .collect();
    let mut run = Run::new(&m);
    let awake = run.go(0.5, 1.0 / 60.0).contacts.points;
    run.go(2.5, 1.0 / 60.0);
    assert!(ids.iter().all(|id| run.work.is_asleep(*id)), "it does not sleep");
    let points = run.work.contact_points(&run.state);
    assert_eq!(points.len(), awake);
    let pairs = run.work.contact_pairs(&run.state);
    for (k, p) in pairs.iter().enumerate() {
        near(p.force.y, (5 - k) as f64 * 2.0 * G, 1e-5, "load");
    }
    assert!(run.told.iter().all(|e| e.kind == ContactEventKind::Begin), "{:?}", run.told);
    assert_eq!(run.events.touching().count(), 5);
    let bottom = run.events.touching().next().unwrap();
    near(bottom.impulse.y, 10.0 * G * 3.0, 1e-3, "all the time, asleep or not");
    // Restored into a workspace that has looked at the mechanism for one step.
    let mut work = Workspace::new();
    let mut again = run.state.clone();
    step(&m, &mut again, &mut work, &StepConfig::default());
    assert_eq!(work.contact_points(&again), points);
}

/// Begin and end at the right times, with the impulse m (1 + e) v.
#[test]
fn a_bouncing_ball_tells_its_blows() {
    for e in [0.0, 0.5, 0.8, 1.0_f64] {
        for dt in [1.0 / 60.0, 1.0 / 240.0] {
            let mut m = floor(0.3, e);
            let ball = add(&mut m, "ball", PlacedShape::sphere(0.1), 2.0, [0.0, 1.1, 0.0]);
            let mut run = Run::new(&m);
            run.go(1.4, dt);
            let falls = (2.0 / G).sqrt();
            let mut begins = run.told.iter().filter(|x| x.kind == ContactEventKind::Begin);
            let (mut time, mut speed) = (falls, G * falls);
            // Each bounce of e = 1 comes half a step later than free flight would have it, at most.
            for k in 0..if e == 0.0 { 1 } else { 2 } {
                let hit = begins.next().unwrap_or_else(|| panic!("e {e}: no blow {k}"));
                assert_eq!(hit.solids, [FLOOR, ball]);
                assert!(
                    (hit.time - time).abs() <= (2 + k) as f64 * dt,
                    "e {e}: {} instead of {time}",
                    hit.time
                );
                // And what carries the weight in the rest of the step.
                let (blow, weight) = (2.0 * (1.0 + e) * speed, 2.0 * G * dt);
                let more = hit.impulse.y - blow;
                assert!(more > -0.02 * blow && more < weight + 0.02 * blow, "e {e}, {dt}: {more} of {blow}");
                let end = run.told.iter().find(|x| x.kind == ContactEventKind::End && x.since == hit.time);
                if e > 0.0 {
                    let end = end.unwrap_or_else(|| panic!("e {e}: blow {k} does not end"));
                    assert!(end.time - hit.time <= 1.5 * dt, "e {e}: ends at {}", end.time);
                    near(end.impulse.y, hit.impulse.y, 1e-9, "all of it at once");
                } else {
                    assert!(end.is_none(), "{end:?}");
                }
                speed *= e;
                time += 2.0 * speed / G;
            }
        }
    }
}

/// Impulses add up to the change of momentum, whatever happens: bounces, slides, substeps.
#[test]
fn impulses_are_the_change_of_momentum() {
    let mut m = floor(0.4, 0.6);
    let ball = add(&mut m, "ball", PlacedShape::sphere(0.1), 2.0, [0.0, 0.5, 0.0]);
    let rod = PlacedShape::capsule_between(0.05, -Vector::X * 0.5, Vector::X * 0.5);
    let rod = add(&mut m, "rod", rod, 1.0, [3.0, 0.8, 0.0]);
    m.edit_solid(ball, |b| b.velocity = Vector::new(2.0, 0.0, 1.0)).unwrap();
    m.edit_solid(rod, |r| r.spin = Vector::new(3.0, 10.0, 25.0)).unwrap();
    let mut run = Run::new(&m);
    let dt = 1.0 / 60.0;
    let (mut blows, mut substeps) = (0, 0);
    for k in 0..120 {
        let before = run.state.velocities.clone();
        let report = run.go(dt, dt);
        substeps = substeps.max(report.substeps);
        let gave = run.work.contact_impulses();
        for id in [ball, rod] {
            let mass = m.solid(id).mass.mass;
            let change =
                (run.state.velocities[id.index()] - before[id.index()]) * mass - m.gravity * (mass * dt);
            let gave = gave.iter().find(|g| g.0 == [FLOOR, id]).map_or(Vector::ZERO, |g| g.1);
            blows += usize::from(gave.length() > 1.0);
            assert!(change.distance(gave) < 1e-6 * (1.0 + gave.length()), "step {k}: {change:?} {gave:?}");
        }
    }
    assert!(blows >= 4 && substeps > 1, "{blows} blows, {substeps} substeps: nothing was tested");
}

/// A box that slides: every point is on its cone, and friction is mu m g against the motion.
#[test]
fn sliding_points_are_on_their_cones() {
    let mut m = floor(0.3, 0.0);
    let b = add(&mut m, "box", PlacedShape::cuboid(1.0, 0.2, 1.0), 3.0, [0.0, 0.1, 0.0]);
    m.edit_solid(b, |b| b.velocity = Vector::new(3.0, 0.0, 4.0)).unwrap();
    let mut run = Run::new(&m);
    run.go(0.5, 1.0 / 60.0);
    let points = run.work.contact_points(&run.state);
    assert!(!points.is_empty() && points.iter().all(|p| p.slides() || p.force == Vector::ZERO), "{points:?}");
    let pair = run.work.contact_pairs(&run.state)[0];
    near(pair.force.x, -0.6 * 0.3 * 3.0 * G, 1e-4, "friction along x");
    near(pair.force.z, -0.8 * 0.3 * 3.0 * G, 1e-4, "friction along z");
    run.go(2.0, 1.0 / 60.0);
    assert!(run.work.contact_points(&run.state).iter().all(|p| !p.slides()));
}

/// A beam on a pin whose other end lies on a post: each carries half of the weight, and the pin's reaction says so.
#[test]
fn reactions_of_joints_know_of_contacts() {
    let mut m = Mechanism::new();
    let post = Solid { shapes: vec![PlacedShape::sphere(0.1)], ..Solid::fixed("post") };
    m.add_solid(post.at(1.0, -0.15, 0.0)).unwrap();
    let beam = Solid::new("beam").with_shape(PlacedShape::capsule(0.05, 2.0, Vector::X), 6.0);
    let beam = m.add_solid(beam).unwrap();
    let pin = Frame::point(beam, Vector::new(-1.0, 0.0, 0.0));
    let pin = m.add_joint(Joint::ball(Frame::point(SolidId(0), Vector::new(-1.0, 0.0, 0.0)), pin)).unwrap();
    let mut run = Run::new(&m);
    run.go(0.5, 1.0 / 60.0);
    let told = run.work.reaction(pin).force;
    assert!((told - Vector::Y * 3.0 * G).length() < 1e-3, "{told:?}");
    let all = run.work.reactions(&m).unwrap();
    assert!((all[0].1.force - told).length() < 1e-9);
}
