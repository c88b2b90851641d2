//! What can be set, and numbers that nothing can be done with.

use super::command::{Command, Mode, Past, Policy, SessionError};
use super::report::Settings;
use crate::math::Rotation;
use crate::scene::{self, Parameters, Scene};
use crate::step::{Method, StepConfig};

/// What a scene sets. What it is silent about stays as it is `now`, or is the default if the text before set it.
pub(super) fn settings_of(scene: &Scene, now: Option<(&Settings, &scene::Settings)>) -> Settings {
    let d = StepConfig::default();
    let default = Settings {
        mode: Mode::default(),
        running: false,
        method: d.method.name().to_owned(),
        solver: d.solver.name().to_owned(),
        step: d.dt,
        tolerance: d.tolerance,
        iterations: d.iterations as u32,
        solver_iterations: d.solver_iterations as u32,
        max_rotation: d.max_rotation,
        parameters: Parameters::default(),
        gravity: scene.mechanism.gravity.to_array(),
        speed: 1.0,
        budget_ms: None,
        policy: Policy::default(),
        sleep: d.sleep,
        obstacles: true,
        friction: None,
        bounce: None,
        wind: None,
    };
    let s = &scene.settings;
    let (now, before) = match now {
        Some((now, before)) => (now.clone(), before.clone()),
        None => (default.clone(), s.clone()),
    };
    // The new text, or what is set now, or the default where only the old text had set it.
    fn choose<T>(new: Option<T>, old_text: bool, now: T, default: T) -> T {
        new.unwrap_or(if old_text { default } else { now })
    }
    let method = s.method.clone().filter(|name| Method::from_name(name).is_some());
    let step = s.step.map(|h| h.clamp(1e-6, 1.0));
    let iterations = s.iterations.map(|n| n.clamp(1, 10_000));
    let solver_iterations = s.solver_iterations.map(|n| n.clamp(1, 1_000_000));
    let d = default;
    Settings {
        method: choose(method, before.method.is_some(), now.method, d.method),
        solver: choose(s.solver.clone(), before.solver.is_some(), now.solver, d.solver),
        step: choose(step, before.step.is_some(), now.step, d.step),
        tolerance: choose(s.tolerance, before.tolerance.is_some(), now.tolerance, d.tolerance),
        iterations: choose(iterations, before.iterations.is_some(), now.iterations, d.iterations),
        solver_iterations: choose(
            solver_iterations,
            before.solver_iterations.is_some(),
            now.solver_iterations,
            d.solver_iterations,
        ),
        max_rotation: choose(s.max_rotation, before.max_rotation.is_some(), now.max_rotation, d.max_rotation),
        parameters: choose(
            (!s.parameters.is_default()).then_some(s.parameters),
            !before.parameters.is_default(),
            now.parameters,
            d.parameters,
        ),
        budget_ms: choose(
            s.budget.map(|b| Some(1e3 * b)),
            before.budget.is_some(),
            now.budget_ms,
            d.budget_ms,
        ),
        ..now
    }
}

/// A unit quaternion from w x y z.
pub(super) fn quaternion([w, x, y, z]: [f64; 4]) -> Result<Rotation, SessionError> {
    let q = Rotation::from_xyzw(x, y, z, w);
    if !(1e-6..1e6).contains(&q.length()) {
        return Err(SessionError::BadValue { what: "the rotation is not a quaternion (w x y z)".into() });
    }
    Ok(q.normalize())
}

/// Numbers that no log can hold, and places that no scene has.
pub(super) fn check_finite(command: &Command) -> Result<(), SessionError> {
    const FAR: f64 = 1e9;
    let mut numbers: Vec<f64> = Vec::new();
    match command {
        Command::Grab { point, rotation, .. } => {
            numbers.extend(point);
            numbers.extend(rotation.iter().flatten());
        }
        Command::Drag { position, rotation, .. } => {
            numbers.extend(position);
            numbers.extend(rotation.iter().flatten());
        }
        Command::Scrub { to: Past::Time(t) } => numbers.push(*t),
        Command::Tolerance { value } => numbers.push(*value),
        Command::TimeStep { seconds } => numbers.push(*seconds),
        Command::Parameters { value } => numbers.extend([value.alpha, value.beta].iter().flatten()),
        Command::Gravity { value } => numbers.extend(value),
        Command::Wind { value } => numbers.extend(value.iter().flatten()),
        Command::Speed { factor } => numbers.push(*factor),
        Command::Budget { ms } => numbers.extend(ms),
        Command::Friction { value } | Command::Bounce { value } => numbers.extend(value),
        Command::AddConstraint { point, point2, axis, value, .. } => {
            numbers.extend(point);
            numbers.extend(point2.iter().flatten());
            numbers.extend(axis.iter().flatten());
            numbers.extend(value);
        }
        _ => {}
    }
    if numbers.iter().all(|x| x.abs() <= FAR) {
        Ok(())
    } else {
        Err(SessionError::BadValue { what: "a number is not finite, or beyond 1e9".into() })
    }
}
