//! What each command does.

use super::check::quaternion;
use super::command::{Applied, Command, Mode, Past, SessionError};
use super::document::{Files, find_joint, with_joint};
use super::edit::{Occasion, UndoOf};
use super::guard::Guard;
use super::log::Entry;
use super::{MOST_STEPS, Session, pace};
use crate::force::Air;
use crate::math::Vector;
use crate::scene;
use crate::solve::SolverKind;
use crate::state::State;
use crate::step::Method;

fn bad<T>(what: &str) -> Result<T, SessionError> {
    Err(SessionError::BadValue { what: what.to_owned() })
}

impl Session {
    pub(super) fn act(
        &mut self,
        command: &Command,
        mesh: &mut Files<'_>,
        out: &mut Applied,
    ) -> Result<(), SessionError> {
        use Command::{AddConstraint, Amend, Cancel, DeleteConstraint, Drag, Enable, Grab, Release, SetText};
        use Command::{
            Bounce, Branch, Friction, Gravity, Method, Mode, Parameters, Redo, Reset, Run, Scrub, Solver,
            Step, Undo, Wind,
        };
        match command {
            Grab { .. } | Drag { .. } | Release { .. } | Cancel { .. } => self.act_of_hand(command, out),
            Run { .. } | Step { .. } | Scrub { .. } | Branch | Undo | Redo | Reset => {
                self.act_of_time(command, out)
            }
            Enable { .. }
            | SetText { .. }
            | Amend { .. }
            | AddConstraint { .. }
            | DeleteConstraint { .. } => self.act_of_edit(command, mesh, out),
            Mode { .. } | Method { .. } | Parameters { .. } | Solver { .. } | Gravity { .. } => {
                self.act_of_rules(command)
            }
            Friction { .. } | Bounce { .. } | Wind { .. } => self.act_of_surroundings(command),
            _ => self.act_of_accuracy(command),
        }
    }

    fn act_of_hand(&mut self, command: &Command, out: &mut Applied) -> Result<(), SessionError> {
        match command {
            Command::Grab { hand, solid, point, mode, rotation } => {
                self.grab(*hand, solid, *point, *mode, *rotation)?;
            }
            Command::Drag { hand, position, rotation } => {
                let turned = rotation.map(quaternion).transpose()?;
                let time = self.state.time;
                let grip = self.grip(*hand)?;
                grip.target.translation = Vector::from_array(*position);
                if let Some(q) = turned {
                    grip.target.rotation = (q * grip.grasp).normalize();
                }
                grip.note(time);
                self.since_drag = 0.0;
            }
            Command::Release { hand } => {
                self.grip(*hand)?;
                self.throw(*hand);
                self.release(|g| g.hand == *hand);
                self.end_gesture();
            }
            Command::Cancel { hand } => {
                self.grip(*hand)?;
                self.cancel(*hand, out);
            }
            _ => {}
        }
        Ok(())
    }

    fn act_of_time(&mut self, command: &Command, out: &mut Applied) -> Result<(), SessionError> {
        match command {
            Command::Run { on } => {
                self.settings.running = *on;
                self.pace = pace(&self.settings);
            }
            Command::Step { count } => {
                if count.unsigned_abs() > MOST_STEPS {
                    return bad("too many steps at once: a thousand at the most");
                }
                self.steps(*count, out);
            }
            Command::Scrub { to } => {
                let found = match to {
                    Past::Index(index) => self.history.at_index(*index),
                    Past::Time(time) => self.history.at_time(*time),
                };
                let Some(state) = found.cloned() else {
                    return Err(SessionError::Nothing { what: "show there".into() });
                };
                self.show(state, out);
            }
            Command::Branch => self.history.branch(),
            Command::Undo | Command::Redo => self.undo(*command == Command::Redo, out)?,
            Command::Reset => {
                let moment = self.moment(None);
                self.let_go(out);
                self.edits.push(moment);
                self.base = self.document.scene.mechanism.clone();
                self.base.gravity = Vector::from_array(self.settings.gravity);
                self.set_air();
                self.state = State::new(&self.base);
                self.touching = Default::default();
                self.rebuild();
                out.warnings.extend(self.assemble_if_open(Occasion::Load));
                let start = self.scene_state();
                self.history.restart(start);
            }
            _ => {}
        }
        Ok(())
    }

    /// What moves things, and by which rules.
    fn act_of_rules(&mut self, command: &Command) -> Result<(), SessionError> {
        match command {
            Command::Mode { mode } => {
                self.settings.mode = *mode;
                if *mode == Mode::Kinematic {
                    self.stop_motion();
                }
                self.pace = pace(&self.settings);
            }
            Command::Method { name } => {
                if Method::from_name(name).is_none() {
                    let known = Method::ALL.iter().map(|m| m.name().to_owned()).collect();
                    return Err(SessionError::Unknown { name: name.clone(), known });
                }
                self.settings.method.clone_from(name);
                // Methods leave different things for the next step, and cost different things.
                self.state.memory = Default::default();
                self.forget_costs();
            }
            Command::Parameters { value } => {
                if [value.alpha, value.beta].iter().flatten().any(|x| !(0.0..=1e6).contains(x)) {
                    return bad("alpha and beta must be between 0 and a million per second");
                }
                self.settings.parameters = *value;
                self.state.memory = Default::default();
            }
            Command::Solver { name } => {
                if SolverKind::from_name(name).is_none() {
                    let known = SolverKind::ALL.iter().map(|m| m.name().to_owned()).collect();
                    return Err(SessionError::Unknown { name: name.clone(), known });
                }
                self.settings.solver.clone_from(name);
                self.forget_costs();
            }
            Command::Gravity { value } => {
                if value.iter().any(|g| g.abs() > 1e4) {
                    return bad("gravity must be below 10000 m/s^2");
                }
                self.settings.gravity = *value;
                self.base.gravity = Vector::from_array(*value);
                self.live.gravity = self.base.gravity;
                self.reach.gravity = self.base.gravity;
                // How strong a hand is goes with the weights it has to lift.
                if !self.grips.is_empty() {
                    self.remember_trackers();
                    self.rebuild();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// How rough surfaces are, how much they throw back, and the wind. A slider on its way is one edit.
    fn act_of_surroundings(&mut self, command: &Command) -> Result<(), SessionError> {
        let same = match command {
            Command::Friction { value } => {
                if value.is_some_and(|x| !(0.0..=10.0).contains(&x)) {
                    return bad("friction must be between 0 and 10");
                }
                *value == self.settings.friction
            }
            Command::Bounce { value } => {
                if value.is_some_and(|x| !(0.0..=1.0).contains(&x)) {
                    return bad("bouncing must be between 0 and 1");
                }
                *value == self.settings.bounce
            }
            Command::Wind { value } => {
                if value.is_some_and(|v| !(Vector::from_array(v).length() <= Air::MOST)) {
                    return bad("the wind must be below 10000 m/s");
                }
                *value == self.settings.wind
            }
            _ => return Ok(()),
        };
        if same {
            return Ok(());
        }
        let kind = std::mem::discriminant(command);
        let rest = self.log.entries.iter().rev().skip(1);
        let last = rest.into_iter().find_map(|e| match e {
            Entry::Command(c) => Some(std::mem::discriminant(c)),
            _ => None,
        });
        if last != Some(kind) {
            let moment = self.moment(None);
            self.edits.push(moment);
        }
        match command {
            Command::Friction { value } => self.settings.friction = *value,
            Command::Bounce { value } => self.settings.bounce = *value,
            Command::Wind { value } => {
                self.settings.wind = *value;
                self.set_air();
                self.live.copy_air(&self.base);
                self.reach.copy_air(&self.base);
                // What it lets pass goes by how fast the air is.
                self.guard = Guard::new(&self.base);
            }
            _ => {}
        }
        self.state.wake();
        Ok(())
    }

    /// The air that is set, or that of the scene's text.
    pub(super) fn set_air(&mut self) {
        let written = self.document.scene.mechanism.air().copied();
        let air = match self.settings.wind {
            Some(wind) => {
                let density = written.map_or(Air::DENSITY, |a| a.density);
                Some(Air { wind: Vector::from_array(wind), density })
            }
            None => written,
        };
        // Both were checked when they came in.
        let _ = self.base.set_air(air);
    }

    /// How exactly, how fast, and at what cost.
    fn act_of_accuracy(&mut self, command: &Command) -> Result<(), SessionError> {
        match command {
            Command::Tolerance { value } => {
                if !(1e-14..=1.0).contains(value) {
                    return bad("the tolerance must be between 1e-14 and 1");
                }
                self.settings.tolerance = *value;
            }
            Command::TimeStep { seconds } => {
                if !(1e-6..=1.0).contains(seconds) {
                    return bad("the step must be between a microsecond and a second");
                }
                self.settings.step = *seconds;
                self.pace = pace(&self.settings);
            }
            Command::Iterations { count } => {
                if !(1..=10_000).contains(count) {
                    return bad("iterations must be between 1 and 10000");
                }
                self.settings.iterations = *count;
            }
            Command::SolverIterations { count } => {
                if !(1..=1_000_000).contains(count) {
                    return bad("solver iterations must be between 1 and 1000000");
                }
                self.settings.solver_iterations = *count;
            }
            Command::Sleep { on } => self.settings.sleep = *on,
            Command::Obstacles { on } => self.settings.obstacles = *on,
            Command::Speed { factor } => {
                if !(1e-3..=1e3).contains(factor) {
                    return bad("the speed must be between 0.001 and 1000");
                }
                self.settings.speed = *factor;
                self.pace = pace(&self.settings);
            }
            Command::Budget { ms } => {
                if ms.is_some_and(|ms| !(1e-3..=1e6).contains(&ms)) {
                    return bad("the budget must be between a microsecond and a quarter of an hour");
                }
                self.settings.budget_ms = *ms;
            }
            Command::Policy { policy } => self.settings.policy = *policy,
            _ => {}
        }
        Ok(())
    }

    fn act_of_edit(
        &mut self,
        command: &Command,
        mesh: &mut Files<'_>,
        out: &mut Applied,
    ) -> Result<(), SessionError> {
        match command {
            Command::Enable { joint, on } => {
                let id = find_joint(&self.base, joint)?;
                if self.base.joint(id).enabled != *on {
                    let moment = self.moment(None);
                    self.edits.push(moment);
                    self.remember_trackers();
                    self.base.alter_joint(id, |j| j.enabled = *on);
                    self.rebuild();
                    out.warnings.extend(self.assemble_if_open(Occasion::Edit));
                    self.snapshot();
                }
            }
            Command::SetText { text } => self.set_text(text, UndoOf::Own, None, mesh, out)?,
            Command::Amend { text } => self.set_text(text, UndoOf::Before, None, mesh, out)?,
            Command::AddConstraint { .. } => {
                let text = with_joint(&self.document.text, &self.base, &self.state, command)?;
                let added = self.base.joints().len() as u32;
                self.set_text(&text, UndoOf::Own, None, mesh, out)?;
                out.joint = Some(added);
            }
            Command::DeleteConstraint { joint } => {
                let id = find_joint(&self.base, joint)?;
                let text = scene::remove_joint(&self.document.text, id)
                    .ok_or_else(|| SessionError::NoJoint { joint: joint.to_string() })?;
                self.set_text(&text, UndoOf::Own, Some(id), mesh, out)?;
            }
            _ => {}
        }
        Ok(())
    }
}
