//! Heaps of free solids: swept at a known cost, calm, without energy from nothing, and the same bits every time.

use linkwork::math::Random;
use linkwork::measure::Meter;
use linkwork::{
    Material, MaterialId, Mechanism, PlacedShape, Pose, Rotation, Solid, SolidId, State, StepConfig,
    StepReport, Vector, Workspace, step,
};

/// Sweeps of a step: eight in each of four substeps, and at most twenty times as many, island by island, where what is light is squeezed between
/// what is heavy.
const MOST_ROUNDS: usize = 32;
const MOST_SQUEEZED: usize = 40 * MOST_ROUNDS;

fn add(m: &mut Mechanism, solid: Solid) -> SolidId {
    m.add_solid(Solid { material: Some(MaterialId(0)), ..solid }).unwrap()
}

/// Boxes of about half a metre in the air, interlocked, `side` by `side` by as many layers as it takes.
fn boxes(m: &mut Mechanism, n: usize, side: usize) {
    let mut random = Random::new(11);
    for k in 0..n {
        let mut any = |low: f64, high: f64| low + (high - low) * (0.5 + 0.5 * random.signed());
        let size = Vector::new(any(0.4, 0.6), any(0.4, 0.6), any(0.4, 0.6));
        let (x, z, y) = (k % side, (k / side) % side, k / (side * side));
        let aside = 0.4 * (y % 2) as f64 - 0.2 - 0.425 * (side as f64 - 1.0);
        let axis = Vector::new(any(-1.0, 1.0), any(-1.0, 1.0), any(0.1, 1.0)).normalize();
        let solid = Solid::new(format!("box-{k}"))
            .with_shape(PlacedShape::cuboid(size.x, size.y, size.z), 1000.0 * size.x * size.y * size.z)
            .turned(Rotation::from_axis_angle(axis, any(-0.7, 0.7)))
            .at(0.85 * x as f64 + aside, 0.6 + 0.85 * y as f64, 0.85 * z as f64 + aside);
        add(m, solid);
    }
}

fn empty(friction: f64, restitution: f64) -> Mechanism {
    let mut m = Mechanism::new();
    m.gravity = Vector::new(0.0, -9.81, 0.0);
    m.add_material(Material { name: "all".into(), friction, restitution, ..Material::default() }).unwrap();
    m
}

/// Boxes that fall into a pit.
fn pit(n: usize, restitution: f64) -> Mechanism {
    let (side, wide, tall) = (4, 3.9, 12.0);
    let mut m = empty(0.5, restitution);
    add(&mut m, Solid { shapes: vec![PlacedShape::plane(Vector::Y)], ..Solid::fixed("floor") });
    for k in 0..4 {
        let turn = Rotation::from_axis_angle(Vector::Y, 0.5 * std::f64::consts::PI * f64::from(k));
        let at = turn * Vector::new(0.5 * (wide + 1.0), 0.5 * tall, 0.0);
        let wall = PlacedShape::cuboid(1.0, tall, wide + 2.0).moved(Pose::from_parts(at, turn));
        add(&mut m, Solid { shapes: vec![wall], ..Solid::fixed(format!("wall-{k}")) });
    }
    boxes(&mut m, n, side);
    m
}

/// Steps, and looks at every report.
fn run(
    m: &Mechanism,
    s: &mut State,
    w: &mut Workspace,
    steps: usize,
    mut look: impl FnMut(&StepReport, &State),
) {
    let c = StepConfig { sleep: false, ..StepConfig::default() };
    for _ in 0..steps {
        let report = step(m, s, w, &c);
        look(&report, s);
    }
}

#[test]
fn a_heap_comes_to_rest_at_a_known_cost_and_makes_no_energy() {
    let m = pit(80, 0.0);
    let (mut s, mut w, mut meter) = (State::new(&m), Workspace::new(), Meter::default());
    let start = meter.energy(&m, &s).total();
    let (mut least, mut made, mut deepest) = (start, 0.0_f64, 0.0_f64);
    run(&m, &mut s, &mut w, 150, |r, s| {
        assert!(r.rejected.is_none());
        let energy = meter.energy(&m, s).total();
        made = made.max(energy - least);
        least = least.min(energy);
        deepest = deepest.max(r.contacts.penetration);
    });
    // A hundred boxes of 100 kg fall by metres: some 1e5 J.
    assert!(made < 1e-4 * (start - least), "{made} of {}", start - least);
    assert!(deepest < 0.05, "{deepest}");
    let mut swept = 0;
    run(&m, &mut s, &mut w, 60, |r, _| {
        swept += r.contacts.heaps;
        assert!(r.contacts.heaps == 0 || r.contacts.points < 100 || r.contacts.rounds <= 2 * MOST_ROUNDS);
        assert!(r.contacts.penetration < 2e-3, "{}", r.contacts.penetration);
    });
    assert!(swept > 30, "swept {swept} of 60 steps");
    // The floor and the walls carry what there is.
    let weight: f64 = m.solids().iter().filter(|s| !s.is_fixed()).map(|s| 9.81 * s.mass.mass).sum();
    let fixed = |id: SolidId| m.solid(id).is_fixed();
    let carried: f64 = (w.contact_points(&s).iter())
        .map(|p| f64::from(i8::from(fixed(p.solids[0])) - i8::from(fixed(p.solids[1]))) * p.force.y)
        .sum();
    assert!((carried - weight).abs() < 0.03 * weight, "{carried} of {weight}");
    let inside = |p: Vector| p.y > 0.0 && p.x.abs() < 2.0 && p.z.abs() < 2.0;
    assert!((0..m.solids().len()).filter(|i| !m.solids()[*i].is_fixed()).all(|i| inside(s.centers[i])));
}

#[test]
fn a_cloud_that_collides_keeps_its_momentum_and_gains_no_energy() {
    for restitution in [0.0, 0.6] {
        let mut m = empty(0.4, restitution);
        m.gravity = Vector::ZERO;
        boxes(&mut m, 64, 4);
        let mut s = State::new(&m);
        let middle = Vector::new(0.0, 1.9, 0.0);
        for i in 1..m.solids().len() {
            s.velocities[i] = (middle - s.centers[i]) * 2.0 + Vector::new(0.3, 0.1, -0.2);
            s.spins[i] = Vector::new(0.5, -0.3, 0.2) * (i % 5) as f64;
        }
        let (mut w, mut meter) = (Workspace::new(), Meter::default());
        let (before, energy) = (meter.momentum(&m, &s), meter.energy(&m, &s).total());
        let mut swept = 0;
        run(&m, &mut s, &mut w, 60, |r, s| {
            swept += r.contacts.heaps;
            assert!(meter.energy(&m, s).total() < energy * (1.0 + 1e-9));
        });
        let after = meter.momentum(&m, &s);
        assert!(swept > 5, "{swept}");
        assert!((after.linear - before.linear).length() < 1e-10 * before.linear_size);
        // Pushing out moves solids without time, and what moves has angular momentum about any other place.
        let turned = (after.angular - before.angular).length();
        assert!(turned < 1e-3 * before.angular_size, "{turned} of {}", before.angular_size);
    }
}

#[test]
fn snapshots_and_fresh_workspaces_change_no_bit() {
    let m = pit(64, 0.2);
    let mut swept = 0;
    let c = StepConfig::default();
    let (mut kept, mut work) = (State::new(&m), Workspace::new());
    let mut cut = State::new(&m);
    for k in 0..60 {
        swept += step(&m, &mut kept, &mut work, &c).contacts.heaps;
        step(&m, &mut cut, &mut Workspace::new(), &c);
        let bytes = linkwork::formats::snapshot::save(&m, &cut);
        cut = linkwork::formats::snapshot::restore(&m, &bytes).unwrap();
        assert_eq!(kept.hash(), cut.hash(), "step {k}");
    }
    assert!(swept > 10, "{swept}");
}

#[test]
fn a_heap_falls_asleep_and_a_hit_wakes_it() {
    let m = pit(64, 0.0);
    let (mut s, mut w) = (State::new(&m), Workspace::new());
    let c = StepConfig::default();
    let mut slept = None;
    for k in 0..600 {
        step(&m, &mut s, &mut w, &c);
        let (islands, asleep) = w.islands();
        if islands == asleep {
            slept = Some(k);
            break;
        }
    }
    assert!(slept.is_some(), "awake after ten seconds");
    let top = (1..m.solids().len()).max_by(|a, b| s.centers[*a].y.total_cmp(&s.centers[*b].y));
    let top = top.filter(|i| !m.solids()[*i].is_fixed()).unwrap_or(m.solids().len() - 1);
    s.velocities[top] = Vector::new(0.0, -3.0, 0.0);
    w.wake(&mut s, SolidId(top as u32));
    step(&m, &mut s, &mut w, &c);
    let (islands, asleep) = w.islands();
    assert!(asleep < islands);
}

/// Heaps of things with soft coats, from cushions to what no step can show, and with resistance to turning: they come to
/// rest, carried by their dents, and make no energy.
#[test]
fn coated_heaps_come_to_rest() {
    for stiffness in [3e4, 1e6, 1e10] {
        let mut m = pit(64, 0.0);
        let coat = |x: &mut linkwork::Material| {
            (x.stiffness, x.damping) = (Some(stiffness), 0.02 * stiffness);
            (x.rolling, x.spinning) = (0.01, 0.01);
        };
        m.edit_material(MaterialId(0), coat).unwrap();
        let (mut s, mut w, mut meter) = (State::new(&m), Workspace::new(), Meter::default());
        let start = meter.energy(&m, &s).total();
        let mut swept = 0;
        run(&m, &mut s, &mut w, 240, |r, s| {
            assert!(r.rejected.is_none() && s.is_finite());
            let energy = meter.energy(&m, s);
            // What is too stiff for the step is rigid, and what sweeps leave of overlaps there is no dent.
            let stored = if stiffness < 1e9 { energy.spring } else { 0.0 };
            assert!(energy.kinetic + energy.potential + stored < start * (1.0 + 1e-6), "{stiffness:e}");
            swept += r.contacts.heaps;
        });
        assert!(swept > 60, "{stiffness:e}: swept {swept}");
        let fastest = s.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
        assert!(fastest < 0.2, "{stiffness:e}: {fastest} m/s");
        let weight: f64 = m.solids().iter().filter(|s| !s.is_fixed()).map(|s| 9.81 * s.mass.mass).sum();
        let fixed = |id: SolidId| m.solid(id).is_fixed();
        let carried: f64 = (w.contact_points(&s).iter())
            .map(|p| f64::from(i8::from(fixed(p.solids[0])) - i8::from(fixed(p.solids[1]))) * p.force.y)
            .sum();
        assert!((carried - weight).abs() < 0.05 * weight, "{stiffness:e}: {carried} of {weight}");
    }
}

/// Boxes or capsules of three densities, the heaviest eighty times the lightest, thrown into a bin.
fn bin(seed: u64, round: bool) -> Mechanism {
    let mut random = Random::new(seed);
    let mut m = empty(0.5, 0.0);
    add(&mut m, Solid { shapes: vec![PlacedShape::plane(Vector::Y)], ..Solid::fixed("floor") });
    for k in 0..4 {
        let turn = Rotation::from_axis_angle(Vector::Y, 0.5 * std::f64::consts::PI * f64::from(k));
        let wall = PlacedShape::cuboid(0.4, 6.0, 3.0)
            .moved(Pose::from_parts(turn * Vector::new(1.2, 3.0, 0.0), turn));
        add(&mut m, Solid { shapes: vec![wall], ..Solid::fixed(format!("wall-{k}")) });
    }
    for k in 0..60 {
        let mut any = |low: f64, high: f64| low + (high - low) * (0.5 + 0.5 * random.signed());
        let density = [100.0, 1000.0, 8000.0][any(0.0, 2.999) as usize];
        let half = Vector::new(0.1, 0.0, 0.0);
        let (shape, volume) = match round {
            true => (PlacedShape::capsule_between(0.08, -half, half), 0.0062),
            false => (PlacedShape::cuboid(0.3, 0.2, 0.15), 0.009),
        };
        let axis = Vector::new(any(0.0, 1.0), any(0.0, 1.0), 1.0).normalize();
        let turn = Rotation::from_axis_angle(axis, any(0.0, 3.0));
        let (layer, row) = (k / 4, (k % 4) as f64);
        let at = [any(-0.7, 0.7), 0.3 + 0.42 * layer as f64, -0.6 + 0.4 * row];
        add(
            &mut m,
            Solid::new(format!("s{k}"))
                .with_shape(shape, density * volume)
                .turned(turn)
                .at(at[0], at[1], at[2]),
        );
    }
    m
}

/// What is light and lies below something heavy used to be pressed through the floor: sweeps ended long before it had stopped.
#[test]
fn heavy_solids_do_not_press_light_ones_into_each_other() {
    for (seed, round) in [(1, false), (2, false), (3, false), (4, true), (5, true)] {
        let m = bin(seed, round);
        let (mut s, mut w, mut deepest, mut swept) = (State::new(&m), Workspace::new(), 0.0_f64, 0);
        run(&m, &mut s, &mut w, 110, |r, _| {
            deepest = deepest.max(r.contacts.penetration);
            swept += r.contacts.heaps;
            assert!(r.contacts.rounds <= MOST_SQUEEZED || r.contacts.heaps == 0, "{}", r.contacts.rounds);
        });
        assert!(swept > 20, "bin {seed}: swept {swept} of 110 steps, so this tests nothing");
        assert!(deepest < 0.025, "bin {seed}: {deepest} m deep");
    }
}
