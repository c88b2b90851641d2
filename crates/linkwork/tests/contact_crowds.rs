//! Many linkages in a heap: too many for an exact solve. Joints hold all the same, nothing sinks in, no energy is made.

use crate::common::Faults;
use crate::ground::{add, floor};
use linkwork::{
    AngleRange, Frame, Joint, Mechanism, PlacedShape, Range, State, StepConfig, StepReport, Vector,
    Workspace, measure::energy, step,
};

const LINKS: usize = 4;

/// Chains of four links, some of them with limits, laid across each other in layers that fall.
fn heap(chains: usize, size: f64, restitution: f64, limits: bool) -> Mechanism {
    let mut m = floor(0.5, restitution);
    let (radius, length) = (0.06 * size, 0.3 * size);
    let pitch = length + 2.0 * radius;
    for k in 0..chains {
        let (layer, place) = (k / 3, (k % 3) as f64 - 1.0);
        let along = if layer % 2 == 0 { Vector::X } else { Vector::Z };
        let across = if layer % 2 == 0 { Vector::Z } else { Vector::X };
        // Not quite on top of each other.
        let middle = across * (place * 3.3 * radius)
            + Vector::Y * ((1.5 + 3.0 * layer as f64) * radius)
            + along * (0.02 * size);
        let ids: Vec<_> = (0..LINKS)
            .map(|i| {
                let at = middle + along * ((i as f64 - 1.5) * pitch);
                let shape =
                    PlacedShape::capsule_between(radius, -along * (0.5 * length), along * (0.5 * length));
                add(&mut m, &format!("c{k}-{i}"), shape, 0.5 * size.powi(3), at.to_array())
            })
            .collect();
        for pair in ids.windows(2) {
            let ends = [along * (0.5 * pitch), -along * (0.5 * pitch)];
            let mut joint =
                Joint::ball(Frame::axis(pair[0], ends[0], along), Frame::axis(pair[1], ends[1], along));
            if limits {
                joint.angle = Some(AngleRange { a1: along, a2: along, range: Range::new(0.0, 0.7) });
            }
            m.add_joint(joint).unwrap();
        }
    }
    m
}

/// What a run saw.
#[derive(Default)]
struct Seen {
    gap: f64,
    depth: f64,
    gained: f64,
    swept: usize,
    missed: usize,
    first: f64,
}

fn watch(m: &Mechanism, s: &mut State, steps: usize) -> Seen {
    let (mut w, c) = (Workspace::new(), StepConfig { sleep: false, ..StepConfig::default() });
    let first = energy(m, s).total();
    let (mut seen, mut least) = (Seen { first, ..Seen::default() }, first);
    for _ in 0..steps {
        let r: StepReport = step(m, s, &mut w, &c);
        assert_eq!(r.rejected, None);
        seen.gap = seen.gap.max(r.gaps.position);
        seen.depth = seen.depth.max(r.contacts.penetration);
        seen.swept += usize::from(r.contacts.heaps > 0);
        seen.missed += usize::from(r.missed);
        let energy = energy(m, s).total();
        least = least.min(energy);
        seen.gained = seen.gained.max(energy - least);
    }
    seen
}

#[test]
fn crowds_hold_together_and_make_no_energy() {
    let mut faults = Faults::new();
    for (chains, size, restitution, limits) in [
        (18, 1.0, 0.0, false),
        (18, 1.0, 0.0, true),
        (15, 1.0, 0.4, false),
        (18, 0.05, 0.0, true),
        (15, 20.0, 0.0, false),
    ] {
        let m = heap(chains, size, restitution, limits);
        let mut s = State::new(&m);
        let seen = watch(&m, &mut s, 90);
        let what = format!("{chains} chains of size {size}, {restitution}, limits {limits}");
        faults.check(seen.swept > 20, || format!("{what}: swept {} times, nothing was tested", seen.swept));
        faults.check(seen.gap <= 1e-6 && seen.missed == 0, || format!("{what}: gap {}", seen.gap));
        // What is small falls through much of its size in a step.
        let fall = 9.81 / 3600.0;
        faults.check(seen.depth < 0.012 * size + fall, || format!("{what}: {} deep", seen.depth));
        faults.check(seen.gained < 2e-3 * seen.first.abs(), || {
            format!("{what}: {} J of {} made", seen.gained, seen.first)
        });
        let lowest = s.centers.iter().skip(2).map(|c| c.y).fold(f64::INFINITY, f64::min);
        faults.check(lowest > 0.04 * size, || format!("{what}: something is at {lowest}"));
    }
    faults.done(25);
}

/// What is stepped on from a copy of the state goes the same way, to the bit.
#[test]
fn a_crowd_that_was_stored_goes_on_as_it_would_have() {
    let m = heap(18, 1.0, 0.0, true);
    let mut s = State::new(&m);
    watch(&m, &mut s, 25);
    let (mut one, mut two) = (s.clone(), s.clone());
    watch(&m, &mut one, 15);
    watch(&m, &mut two, 7);
    watch(&m, &mut two, 8);
    assert_eq!(one.hash(), two.hash());
}
