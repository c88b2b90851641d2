//! `solid` and `particle`.

use super::common::PoseClauses;
use super::reader::{Quantity, Reader};
use super::{Lowering, Seen};
use crate::math::{Matrix, Vector};
use crate::mechanism::{MaterialId, TrajectoryId};
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::model::Body;
use crate::scene::syntax::{Block, Clause, Span};
use crate::scene::vocabulary::BlockWords;
use crate::shape::PlacedShape;
use crate::solid::{Collide, DEFAULT_BALL_RADIUS, Kernel, MassProperties, Mobility, Solid};

/// What the clauses of a block say, before it is put together.
#[derive(Default)]
struct Parts {
    kernel: Option<Kernel>,
    particle: bool,
    shapes: Vec<PlacedShape>,
    mass: Option<f64>,
    mass_span: Span,
    density: Option<f64>,
    inertia: Option<(Matrix, Span)>,
    center: Option<Vector>,
    pose: PoseClauses,
    /// And the point of the solid that has it, in its own axes; the centre of mass where none is given.
    velocity: Option<(Vector, Option<Vector>)>,
    spin: Option<Vector>,
    material: Option<MaterialId>,
    collide: Collide,
    mobility: Option<Mobility>,
    color: Option<[f64; 3]>,
}

impl<'x, 't> Lowering<'x, 't> {
    pub(super) fn solid(&mut self, block: &Block, words: &'static BlockWords) {
        self.solid_or_particle(block, words, false);
    }

    pub(super) fn particle(&mut self, block: &Block, words: &'static BlockWords) {
        self.solid_or_particle(block, words, true);
    }

    fn solid_or_particle(&mut self, block: &Block, words: &'static BlockWords, particle: bool) {
        let (list, seen) = self.clauses(block, words);
        let mut parts = Parts { particle, ..Parts::default() };
        for clause in &list {
            self.solid_clause(&mut parts, words, clause);
        }
        self.exclusive(block, seen, "turn", "orientation");
        self.exclusive(block, seen, "mass", "density");
        let kernel = parts.kernel.unwrap_or_default();
        let mass = self.mass_properties(&parts, block, seen, particle);
        self.lint_clauses(kernel, block, seen);
        let pose = match kernel {
            // A scripted solid is where its trajectory says from the start.
            Kernel::Scripted(id) => self.scripted_pose(id),
            _ => parts.pose.pose(),
        };
        let spin = parts.spin.unwrap_or(Vector::ZERO);
        let velocity = parts.velocity.map_or(Vector::ZERO, |(velocity, point)| match point {
            // From the point to the centre of mass, which the state has.
            Some(point) => velocity + spin.cross(pose.rotation * (mass.center - point)),
            None => velocity,
        });
        let solid = Solid {
            name: String::new(),
            kernel,
            particle,
            mass,
            shapes: parts.shapes,
            pose,
            velocity,
            spin,
            material: parts.material,
            collide: parts.collide,
            mobility: parts.mobility,
            color: parts.color,
        };
        let labels = self.file.labels(block);
        let places = if labels.is_empty() { std::slice::from_ref(&block.keyword) } else { labels };
        for place in places {
            // A label that was taken made no entry: skip it and stay in step.
            let next = self.names.next_solid;
            let Some((name, span)) = self.names.solids.get(next).filter(|(_, span)| span == place).cloned()
            else {
                continue;
            };
            self.names.next_solid += 1;
            self.add_solid(Solid { name, ..solid.clone() }, span);
        }
    }

    fn scripted_pose(&self, id: TrajectoryId) -> crate::math::Pose {
        let trajectory = self.scene.mechanism.trajectories.get(id.0 as usize);
        trajectory.map_or(crate::math::Pose::IDENTITY, |t| t.pose(0.0))
    }

    /// Adds a solid. One that the model refuses is reported and stands in as a fixed point, so that ids keep
    /// their meaning while the rest of the file is checked.
    pub(super) fn add_solid(&mut self, solid: Solid, span: Span) {
        let name = solid.name.clone();
        if let Err(refusal) = self.scene.mechanism.add_solid(solid) {
            self.report(Diagnostic::new(codes::REFUSED, span, refusal.0));
            let _ = self.scene.mechanism.add_solid(Solid::fixed(name));
        }
        self.scene.sources.solids.push(span);
    }

    fn solid_clause(&mut self, parts: &mut Parts, words: &'static BlockWords, c: &Clause) {
        if self.pose_clause(&mut parts.pose, words, c) {
            return;
        }
        match self.file.str(c.word) {
            "kernel" => {
                parts.kernel = self.read(words, c, |r| {
                    Some(match r.choice("a kernel", &["dynamic", "fixed", "trajectory"])?.0 {
                        "dynamic" => Kernel::Dynamic,
                        "fixed" => Kernel::Fixed,
                        _ => {
                            let (name, span) = r.name("the name of a trajectory")?;
                            Kernel::Scripted(r.low.trajectory_named(name, span)?)
                        }
                    })
                });
                // A kernel that could not be read is no reason to ask for a mass.
                parts.kernel = parts.kernel.or(Some(Kernel::Fixed));
            }
            "shape" => parts.shapes.extend(self.read(words, c, |r| r.shape())),
            "mass" => {
                parts.mass_span = c.span;
                parts.mass = self.read(words, c, |r| r.mass());
            }
            "density" => parts.density = self.read(words, c, |r| r.positive("the density", Quantity::Plain)),
            "inertia" => {
                let inertia = self.read(words, c, |r| {
                    let mut moments = [0.0; 3];
                    for moment in &mut moments {
                        let (value, span) = r.number_at("the moments ixx iyy izz", Quantity::Plain)?;
                        *moment = r.not_tiny(value, span, "a moment of inertia")?;
                    }
                    let [xx, yy, zz] = moments;
                    let products = match r.left() {
                        0 => [0.0; 3],
                        _ => r.vector("the products ixy ixz iyz", Quantity::Plain)?.to_array(),
                    };
                    let [xy, xz, yz] = products;
                    let column = |x, y, z| Vector::new(x, y, z);
                    Some(Matrix::from_cols(column(xx, xy, xz), column(xy, yy, yz), column(xz, yz, zz)))
                });
                parts.inertia = inertia.map(|i| (i, c.span));
            }
            "center" => parts.center = self.read(words, c, |r| r.vector("a point x y z", Quantity::Length)),
            "velocity" => {
                let particle = parts.particle;
                parts.velocity = self.read(words, c, |r| {
                    let velocity = r.vector("a velocity x y z", Quantity::Length)?;
                    let point = match !particle && r.skip_word("at") {
                        true => Some(r.vector("a point x y z", Quantity::Length)?),
                        false => None,
                    };
                    Some((velocity, point))
                });
            }
            "spin" => {
                parts.spin = self.read(words, c, |r| r.vector("a spin x y z", Quantity::AngularSpeed));
            }
            "material" => {
                parts.material = self.read(words, c, |r| {
                    let (name, span) = r.name("the name of a material")?;
                    r.low.material_named(name, span)
                });
            }
            "collide" => {
                parts.collide = match self.read(words, c, |r| r.partners()) {
                    None | Some(Ok(true)) => Collide::All,
                    Some(Ok(false)) => Collide::None,
                    Some(Err(bodies)) => self.solids_only(bodies),
                };
            }
            "mobility" => {
                parts.mobility = self.read(words, c, |r| {
                    let translate = r.not_negative("the ability to move", Quantity::Ratio)?;
                    let rotate = r.not_negative("the ability to rotate", Quantity::Ratio)?;
                    Some(Mobility { translate, rotate })
                });
            }
            _ => parts.color = self.read(words, c, |r| r.color()),
        }
    }

    fn solids_only(&mut self, bodies: Vec<(Body, Span)>) -> Collide {
        let mut list = Vec::new();
        for (body, span) in bodies {
            match body {
                Body::Solid(id) => list.push(id),
                Body::Cloth(_) | Body::Tetra(_) => {
                    let message = "a soft body; its own `collide` says what it touches";
                    self.report(Diagnostic::new(codes::WRONG_KIND_OF_NAME, span, message));
                }
            }
        }
        Collide::With(list)
    }

    /// Mass, centre and inertia from what was given and from the shapes. Reports what cannot be.
    fn mass_properties(
        &mut self,
        parts: &Parts,
        block: &Block,
        seen: Seen,
        particle: bool,
    ) -> MassProperties {
        let movable = parts.kernel.unwrap_or_default() == Kernel::Dynamic;
        let physical = movable && parts.mobility.is_none();
        let from_shapes =
            parts.shapes.iter().fold(MassProperties::default(), |sum, s| sum.plus(s.mass_properties(1.0)));
        let has_volume = from_shapes.mass > 0.0 && from_shapes.mass.is_finite();
        if physical && !(seen.has("inertia") && parts.mass.is_some()) {
            for complaint in parts.shapes.iter().filter_map(|s| s.hollow()) {
                let diagnostic = Diagnostic::new(codes::BAD_FILE, self.header(block), complaint);
                self.report(diagnostic.hint("repair the mesh, or give `mass`, `center` and `inertia`"));
            }
        }
        if parts.mass == Some(0.0) {
            let diagnostic = if physical {
                Diagnostic::new(
                    codes::NOT_POSITIVE,
                    parts.mass_span,
                    "a solid that can move needs a mass above zero",
                )
                .hint("to hold it in place write `kernel fixed;`")
            } else {
                Diagnostic::new(codes::ZERO_MASS, parts.mass_span, "a mass of zero, which nothing here uses")
            };
            self.report(diagnostic);
        }
        let mass = match (parts.mass, parts.density) {
            (Some(mass), _) if mass > 0.0 => Some(mass),
            (None, Some(density)) if has_volume => Some(density * from_shapes.mass),
            _ => None,
        };
        if let Some(absurd) = mass.filter(|m| !(1e-30..=1e30).contains(m)) {
            let message = format!("its shapes and density make an absurd mass of {absurd:e}");
            self.report(Diagnostic::new(codes::ABSURD_SIZE, self.header(block), message));
        }
        if physical && mass.is_none() && !self.incomplete(block) {
            self.complain_about_mass(parts, block, seen, has_volume);
        }
        let mass = mass.unwrap_or(1.0);
        let mut properties = match has_volume {
            true => from_shapes.with_mass(mass),
            false => MassProperties::ball(mass, DEFAULT_BALL_RADIUS),
        };
        // A flat mesh has volume by rounding only; its inertia is then no better than none.
        let usable = has_volume && properties.complaint().is_none();
        if !usable {
            properties = MassProperties::ball(mass, DEFAULT_BALL_RADIUS);
        }
        if physical && !particle && !usable && !seen.has("inertia") && !self.faulty(block) {
            let message = match parts.shapes.is_empty() {
                true => "neither shape nor inertia: a small ball's inertia is used",
                false => "its shapes enclose no volume: a small ball's inertia is used",
            };
            self.report(Diagnostic::new(codes::BALL_INERTIA, self.header(block), message).hint(format!(
                "give `inertia` or a solid `shape`; the ball's radius is {DEFAULT_BALL_RADIUS}"
            )));
        }
        properties.center = parts.center.unwrap_or(properties.center);
        if particle {
            properties.center = Vector::ZERO;
        }
        if let Some((inertia, span)) = parts.inertia {
            let given = MassProperties { inertia, ..properties };
            match given.complaint() {
                Some(complaint) => self.report(Diagnostic::new(codes::BAD_INERTIA, span, complaint)),
                None => properties = given,
            }
        }
        properties
    }

    fn complain_about_mass(&mut self, parts: &Parts, block: &Block, seen: Seen, has_volume: bool) {
        let header = self.header(block);
        let flat = || {
            Diagnostic::new(
                codes::NO_MASS,
                header,
                "its shapes enclose no volume, so `density` gives no mass",
            )
        };
        // Broken `mass`, `density` or `shape` clauses were already reported.
        if parts.density.is_some() && !has_volume {
            let shapes_read = self.count(block, "shape") == parts.shapes.len();
            if shapes_read {
                self.report(flat().hint("give `mass` instead"));
            }
        } else if !seen.has("mass") && !seen.has("density") {
            self.report(
                Diagnostic::new(codes::NO_MASS, header, "a solid that can move needs `mass` or `density`")
                    .hint("to hold it in place write `kernel fixed;`"),
            );
        }
    }

    fn count(&self, block: &Block, word: &str) -> usize {
        self.file.clauses(block).iter().filter(|c| self.file.str(c.word) == word).count()
    }

    /// Clauses that say something a fixed or scripted solid does not listen to.
    fn lint_clauses(&mut self, kernel: Kernel, block: &Block, seen: Seen) {
        let ignored: &[&str] = match kernel {
            Kernel::Dynamic => &[],
            Kernel::Fixed => &["velocity", "spin", "mobility"],
            Kernel::Scripted(_) => &["at", "turn", "orientation", "velocity", "spin", "mobility"],
        };
        for word in ignored.iter().filter(|word| seen.has(word)) {
            let place = self.file.clauses(block).iter().map(|c| c.word).find(|s| self.file.str(*s) == *word);
            let why = match kernel {
                Kernel::Scripted(_) => "its trajectory decides",
                _ => "it is fixed",
            };
            let message = format!("`{word}` has no effect: {why}");
            self.report(Diagnostic::new(codes::IGNORED_CLAUSE, place.unwrap_or(block.keyword), message));
        }
    }
}

impl Reader<'_, '_, '_> {
    /// Zero is judged later, when it is known whether the solid can move.
    fn mass(&mut self) -> Option<f64> {
        let (mass, span) = self.number_at("the mass", Quantity::Plain)?;
        if mass >= 0.0 {
            return self.not_tiny(mass, span, "the mass");
        }
        self.fail(codes::NOT_POSITIVE, span, "a mass cannot be negative")
    }
}
