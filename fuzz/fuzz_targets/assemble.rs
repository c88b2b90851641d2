//! Any bytes that make a scene: checking, diagnosing, assembling with a small budget and drawing neither panic nor hang,
//! and nothing that is not finite comes out.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linkwork::diagnose::diagnose;
use linkwork::scene::load_bytes;
use linkwork::solve::SolverKind;
use linkwork::{AssembleConfig, Outcome, State, assemble, formats};
use std::cell::Cell;

fuzz_target!(|bytes: &[u8]| {
    let (_, Some(scene), _) = load_bytes(bytes, &mut |_| Err("no files".into())) else { return };
    let m = &scene.mechanism;
    if m.scalar_constraints() > 300 || m.solid_count() > 200 {
        return;
    }
    for solver in SolverKind::ALL {
        let asked = Cell::new(0);
        let clock = || {
            asked.set(asked.get() + 1);
            asked.get() > 400
        };
        let mut state = State::new(m);
        if !state.is_finite() {
            return;
        }
        let config = AssembleConfig {
            solver,
            restarts: 2,
            solver_iterations: 100,
            out_of_time: Some(&clock),
            ..AssembleConfig::default()
        };
        let report = assemble(m, &mut state, &config);
        assert!(state.is_finite(), "{report:?}");
        if report.outcome == Outcome::Ok {
            assert!(report.gaps.worst() <= 1e-6);
        }
        if solver == SolverKind::Auto {
            diagnose(m, &state, 200, 1e-6);
            formats::glb(m, &state);
            formats::svg(m, &state, &formats::SvgOptions::default());
        }
    }
});
