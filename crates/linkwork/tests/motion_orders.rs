//! Orders of convergence: what halving the step does to the error, for every method, against motions that are known.
//!
//! `cargo test -p linkwork --test all motion_orders:: -- --nocapture` prints the table of docs/methods.md.

use crate::motion::*;
use linkwork::Method;
use linkwork::step::{Integrator, Relaxation, StepConfig};

/// Observed orders from dt to dt/2 and from dt/2 to dt/4, and the last error.
fn orders(known: &Known, method: Method) -> ([f64; 2], f64) {
    let relaxes = matches!(method, Method::Relaxation(_));
    let (tolerance, iterations) = if relaxes { (1e-11, 5000) } else { (1e-12, 60) };
    let c = StepConfig { method, tolerance, iterations, ..Default::default() };
    let steps = (known.time / known.dt).round() as usize;
    let errors = [1, 2, 4].map(|k| {
        let (s, report) = run(&known.mechanism, &c, known.time, steps * k);
        assert!(report.rejected.is_none(), "{} {method:?} {report:?}", known.name);
        known.error(&s)
    });
    ([(errors[0] / errors[1]).log2(), (errors[1] / errors[2]).log2()], errors[2])
}

/// The order that a method should have.
fn expected(method: Method) -> f64 {
    match method {
        Method::Variational => 2.0,
        Method::Baumgarte { integrator: Integrator::Rk4, .. }
        | Method::PostStabilization { integrator: Integrator::Rk4, .. } => 4.0,
        _ => 1.0,
    }
}

fn check(known: &Known) {
    println!("{}", known.name);
    for (name, method) in methods() {
        let joints = known.mechanism.joints().len();
        let printed = matches!(method, Method::Relaxation(Relaxation::First | Relaxation::Second));
        if printed && joints > 1 {
            continue; // Thousands of passes for eleven digits; the effective mass stands for all three.
        }
        let ([a, b], error) = orders(known, method);
        println!("| {name} | {a:.2} | {b:.2} | {error:.1e} |");
        let order = expected(method);
        if method == Method::Relaxation(Relaxation::Second)
            && joints == 1
            && known.name != "spherical pendulum"
        {
            // Eq. 17 overshoots where m r^2 / J > 2, as it is for these solids: the passes do not converge.
            assert!(b < 0.5, "{}: {name} converges after all: {b:.2}", known.name);
            continue;
        }
        // The errors of Euler's scheme and of the projection nearly cancel in the pendulum: it looks better than it is.
        let most = if order == 1.0 { 1.8 } else { order + 0.3 };
        assert!(b > order - 0.3 && b < most, "{}: {name} has order {a:.2}, {b:.2}", known.name);
    }
}

#[test]
fn spherical_pendulum_on_a_small_circle() {
    check(&spherical_pendulum());
}

#[test]
fn tumbling_solid_without_joints() {
    check(&tumbling());
}

#[test]
fn heavy_top_in_steady_precession() {
    check(&top());
}

#[test]
fn physical_pendulum_on_a_pin() {
    check(&physical_pendulum());
}

#[test]
fn two_link_arm_of_particles() {
    check(&two_link_arm());
}

#[test]
fn four_bar_with_redundant_pins() {
    check(&four_bar_known());
}
