//! Lints that need the whole scene.

use super::Lowering;
use crate::math::Vector;
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::syntax::Span;
use crate::solid::{Collide, Kernel, Solid, SolidId};

impl<'x, 't> Lowering<'x, 't> {
    pub(super) fn lint_scene(&mut self) {
        self.lint_unused();
        self.lint_held();
        self.lint_surfaces();
        self.lint_times();
        self.lint_wind();
        let empty = self.scene.mechanism.solid_count() == 0
            && self.scene.cloths.is_empty()
            && self.scene.tetras.is_empty();
        if empty && !self.sink.has_errors() {
            let message = "this scene has no solid, cloth or other body";
            self.report(Diagnostic::new(codes::NOTHING, Span::default(), message));
        }
    }

    /// Wind that there is nothing to blow at.
    fn lint_wind(&mut self) {
        let Some(span) = self.wind.filter(|_| !self.sink.has_errors()) else { return };
        if self.scene.mechanism.softs().iter().all(|s| s.mesh.triangles.is_empty()) {
            let message = "there is nothing here for wind to push";
            let hint = "air acts on the faces of `cloth` and `tetra`; use `force` for solids";
            self.report(Diagnostic::new(codes::IGNORED_CLAUSE, span, message).hint(hint));
        }
    }

    fn lint_unused(&mut self) {
        // What an error hides may be the use.
        if self.sink.has_errors() {
            return;
        }
        for (kind, name, span) in self.unused() {
            let message = format!("nothing uses the {kind} `{name}`");
            self.report(Diagnostic::new(codes::UNUSED, span, message));
        }
    }

    /// Coats that cannot carry who wears them, and levers that nothing gets over.
    fn lint_surfaces(&mut self) {
        if self.sink.has_errors() {
            return;
        }
        let m = &self.scene.mechanism;
        let (weight, mut found) = (m.gravity.length(), Vec::new());
        for (index, solid) in m.solids().iter().enumerate().filter(|(_, s)| s.kernel == Kernel::Dynamic) {
            let Some(material) = solid.material.and_then(|k| m.materials.get(k.0 as usize)) else { continue };
            let size = solid.shapes.iter().map(|s| s.extent()).fold(0.0, f64::max);
            let span = self.scene.sources.solid(SolidId(index as u32));
            let name = &solid.name;
            let dent = material.stiffness.map_or(0.0, |k| solid.mass.mass * weight / k);
            if size > 0.0 && dent > 2.0 * size {
                let message = format!("`{name}` weighs enough to dent its coat by {dent:.3} m");
                found.push((codes::SINKS_IN, span, message, "a larger `stiffness`, in newtons per metre"));
            }
            if size > 0.0 && material.rolling.max(material.spinning) > size {
                let message = format!(
                    "`{name}` is smaller than the lever arm of its resistance: it never rolls or spins"
                );
                found.push((
                    codes::NEVER_ROLLS,
                    span,
                    message,
                    "a lever arm is a length: a few millimetres for a ball",
                ));
            }
        }
        for (code, span, message, hint) in found {
            self.report(Diagnostic::new(code, span, message).hint(hint));
        }
    }

    /// What lasts less than a step may begin and end between two of them.
    fn lint_times(&mut self) {
        let step = self.scene.settings.step.unwrap_or(crate::StepConfig::default().dt);
        let missed: Vec<Span> =
            self.timed.iter().filter(|(_, during)| during.is_between(step)).map(|(span, _)| *span).collect();
        for span in missed {
            let message = format!("this falls between two steps of {step:.3} s: it never acts");
            let hint = "make it last at least one step, or set a shorter `step`";
            self.report(Diagnostic::new(codes::BETWEEN_STEPS, span, message).hint(hint));
        }
    }

    /// Solids that fall for ever: nothing joins them to anything, and there is nothing fixed to land on.
    ///
    /// Without gravity a free solid is an ordinary thing, and above a floor it is meant to fall.
    fn lint_held(&mut self) {
        if self.sink.has_errors() || self.scene.mechanism.gravity == Vector::ZERO {
            return;
        }
        let touches = |s: &Solid| !s.shapes.is_empty() && s.collide != Collide::None;
        let solids = self.scene.mechanism.solids();
        let floor = solids.iter().any(|s| s.kernel != Kernel::Dynamic && touches(s));
        let mut loose = Vec::new();
        let own = solids.len() - self.scene.sources.vertices;
        for (index, solid) in solids[..own].iter().enumerate().skip(1) {
            let held = self.used.solids.get(index).copied().unwrap_or(false);
            let lands = floor && touches(solid);
            if solid.kernel == Kernel::Dynamic && !held && !lands {
                loose.push((solid.name.clone(), self.scene.sources.solid(SolidId(index as u32))));
            }
        }
        for (name, span) in loose {
            let message = format!("nothing holds `{name}`: it will fall for ever");
            self.report(
                Diagnostic::new(codes::HELD_BY_NOTHING, span, message)
                    .hint("join it to something, put a fixed shape below it, or write `kernel fixed;`"),
            );
        }
    }
}
