//! Any bytes that make a scene in which something can touch: steps neither panic nor hang, nothing that is not finite comes
//! out, friction stays within its cone, and who overlaps is named.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linkwork::contact::is_possible;
use linkwork::scene::load_bytes;
use linkwork::{State, StepConfig, Workspace, step};
use std::cell::Cell;

fuzz_target!(|bytes: &[u8]| {
    let (_, Some(scene), _) = load_bytes(bytes, &mut |_| Err("no files".into())) else { return };
    let m = &scene.mechanism;
    if m.scalar_constraints() > 100 || m.solid_count() > 40 || !m.softs().is_empty() || !is_possible(m) {
        return;
    }
    let (mut state, mut work) = (State::new(m), Workspace::new());
    if !state.is_finite() {
        return;
    }
    let asked = Cell::new(0);
    let clock = || {
        asked.set(asked.get() + 1);
        asked.get() > 20_000
    };
    let config = StepConfig { dt: 1.0 / 60.0, out_of_time: Some(&clock), ..StepConfig::default() };
    for _ in 0..30 {
        let report = step(m, &mut state, &mut work, &config);
        assert!(state.is_finite(), "{report:?}");
        if report.rejected.is_some() {
            return;
        }
        let c = &report.contacts;
        assert!(!(c.cone_violation > 1e-6), "{report:?}");
        assert!(!(c.penetration > 1e-6) || c.deepest.is_some(), "{report:?}");
        assert!(work.contact_points(&state).iter().all(|p| p.force.is_finite()));
    }
});
