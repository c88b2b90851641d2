//! Orders of convergence: what halving the step does to the error, for every method, against motions that are known.

mod motion;

use linkwork::Method;
use linkwork::step::{Relaxation, StepConfig};
use motion::*;

/// Observed orders from dt to dt/2 and from dt/2 to dt/4, and the last error.
fn orders(known: &Known, method: Method) -> ([f64; 2], f64) {
    let passes = if matches!(method, Method::Relaxation(_)) { 20_000 } else { 60 };
    let c = StepConfig { method, tolerance: 1e-13, iterations: passes, ..Default::default() };
    let steps = (known.time / known.dt).round() as usize;
    let errors = [1, 2, 4].map(|k| {
        let (s, report) = run(&known.mechanism, &c, known.time, steps * k);
        assert!(report.rejected.is_none(), "{} {method:?} {report:?}", known.name);
        known.error(&s)
    });
    ([(errors[0] / errors[1]).log2(), (errors[1] / errors[2]).log2()], errors[2])
}

#[test]
fn table() {
    for known in
        [spherical_pendulum(), tumbling(), top(), physical_pendulum(), two_link_arm(), four_bar_known()]
    {
        println!("{}", known.name);
        for (name, method) in methods() {
            if matches!(method, Method::Relaxation(Relaxation::First | Relaxation::Second))
                && known.mechanism.joints().len() > 1
            {
                continue;
            }
            let ([a, b], e) = orders(&known, method);
            println!("  {name:40} {a:6.2} {b:6.2}   {e:.1e}");
        }
    }
}
