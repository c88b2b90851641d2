//! `shape` clauses.

use super::reader::{Quantity, Reader};
use crate::math::{Pose, Rotation, Vector};
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::syntax::{ArgKind, Span};
use crate::shape::{MOST_CORNERS, Mesh, PlacedShape, read_obj};
use std::sync::Arc;

/// Sizes outside of this interval cannot be simulated beside anything of ordinary size.
const SMALLEST: f64 = 1e-9;
const LARGEST: f64 = 1e9;

/// The words behind the sizes: where the shape sits.
#[derive(Default)]
struct Placement {
    axis: Option<Vector>,
    from: Option<Vector>,
    to: Option<Vector>,
    at: Option<Vector>,
    turn: Option<Rotation>,
}

impl Reader<'_, '_, '_> {
    /// One shape with its placement. Cylinders and capsules lie along x unless `axis` says otherwise.
    pub fn shape(&mut self) -> Option<PlacedShape> {
        const KINDS: &[&str] = &["sphere", "box", "cylinder", "capsule", "plate", "plane", "mesh"];
        let (kind, kind_span) = self.choice("a shape", KINDS)?;
        let shape = match kind {
            "sphere" => PlacedShape::sphere(self.size("the radius")?),
            "box" => PlacedShape::cuboid(
                self.size("the x size")?,
                self.size("the y size")?,
                self.size("the z size")?,
            ),
            "plane" => PlacedShape::plane(self.direction("the normal of the plane")?),
            "plate" => self.plate(kind_span)?,
            "mesh" => {
                let (name, span) = self.text("a file name in quotes")?;
                PlacedShape::mesh(self.mesh(name, span)?)
            }
            _ => {
                let radius = self.size("the radius")?;
                let between = self.peek().is_some_and(|a| self.low.file.str(a.span) == "from");
                if kind == "capsule" && between {
                    let place = self.placement(&["from", "to", "at", "turn"])?;
                    return self.capsule_between(radius, place, kind_span);
                }
                let length = self.size("the length")?;
                let place = self.placement(&["axis", "at", "turn"])?;
                let axis = place.axis.unwrap_or(Vector::X);
                let make = if kind == "cylinder" { PlacedShape::cylinder } else { PlacedShape::capsule };
                return Some(place.apply(make(radius, length, axis)));
            }
        };
        let place = self.placement(&["at", "turn"])?;
        Some(place.apply(shape))
    }

    fn size(&mut self, what: &str) -> Option<f64> {
        let (value, span) = self.number_at(what, Quantity::Length)?;
        if value <= 0.0 {
            return self.fail(codes::BAD_SHAPE, span, format!("{what} of a shape must be greater than zero"));
        }
        if !(SMALLEST..=LARGEST).contains(&value) {
            let message = format!("{what} must lie between {SMALLEST:e} and {LARGEST:e}");
            return self.fail(codes::ABSURD_SIZE, span, message);
        }
        Some(value)
    }

    fn placement(&mut self, allowed: &[&'static str]) -> Option<Placement> {
        let mut place = Placement::default();
        while let Some((word, span)) = self.option() {
            let repeated = match word {
                "axis" => place.axis.is_some(),
                "from" => place.from.is_some(),
                "to" => place.to.is_some(),
                "at" => place.at.is_some(),
                "turn" => place.turn.is_some(),
                _ => false,
            };
            if repeated {
                return self.fail(codes::DUPLICATE_CLAUSE, span, format!("`{word}` is given twice"));
            }
            match word {
                _ if !allowed.contains(&word) => {
                    if self.words.has(word) {
                        self.low.swallowed = true;
                        let message = format!("this shape does not take `{word}`");
                        let hint = format!("is a `;` missing before `{word}`?");
                        return self.fail_hint(codes::UNKNOWN_WORD, span, message, hint);
                    }
                    return self.unknown_word(word, span, "part of this shape", allowed);
                }
                "axis" => place.axis = Some(self.direction("the axis")?),
                "from" => place.from = Some(self.vector("a point x y z", Quantity::Length)?),
                "to" => place.to = Some(self.vector("a point x y z", Quantity::Length)?),
                "at" => place.at = Some(self.vector("a point x y z", Quantity::Length)?),
                _ => place.turn = Some(self.turn()?),
            }
        }
        Some(place)
    }

    fn capsule_between(&mut self, radius: f64, place: Placement, kind: Span) -> Option<PlacedShape> {
        let (Some(from), Some(to)) = (place.from, place.to) else {
            return self.fail_hint(
                codes::WRONG_COUNT,
                kind,
                "a capsule needs both `from` and `to`",
                "write `capsule R from X Y Z to X Y Z`",
            );
        };
        if (to - from).length() < SMALLEST {
            let hint = "use a `sphere`";
            return self.fail_hint(
                codes::BAD_SHAPE,
                kind,
                "the two points of this capsule are the same",
                hint,
            );
        }
        Some(place.apply(PlacedShape::capsule_between(radius, from, to)))
    }

    /// A thickness, then two numbers for every corner.
    fn plate(&mut self, kind: Span) -> Option<PlacedShape> {
        let thickness = self.size("the thickness")?;
        let mut corners = Vec::new();
        while self.peek().is_some_and(|a| matches!(a.kind, ArgKind::Number(..)))
            && corners.len() <= MOST_CORNERS
        {
            let x = self.number("a corner x y", Quantity::Length)?;
            corners.push([x, self.number("a corner x y", Quantity::Length)?]);
        }
        match PlacedShape::plate(thickness, &corners) {
            Ok(shape) => Some(shape),
            Err(why) => {
                let hint =
                    "write `plate THICKNESS X Y  X Y  X Y …`, the corners one after the other round its rim";
                self.fail_hint(codes::BAD_SHAPE, kind, why, hint)
            }
        }
    }

    /// Reads a mesh file once, however often it is named.
    fn mesh(&mut self, name: &str, span: Span) -> Option<Arc<Mesh>> {
        let key = self.low.file.str(span);
        if let Some(known) = self.low.meshes.get(key) {
            return known.clone();
        }
        let mesh = match (self.low.files)(name) {
            Err(why) => {
                let message = format!("the mesh `{name}` cannot be read: {why}");
                self.fail(codes::NO_FILE, span, message)
            }
            Ok(bytes) => match read_obj(name, &bytes).and_then(check_mesh) {
                Ok(mesh) => Some(Arc::new(mesh)),
                Err(why) => self.fail(codes::BAD_FILE, span, format!("the mesh is broken: {why}")),
            },
        };
        self.low.meshes.insert(key, mesh.clone());
        mesh
    }
}

impl Placement {
    fn apply(&self, shape: PlacedShape) -> PlacedShape {
        shape
            .moved(Pose::from_parts(self.at.unwrap_or(Vector::ZERO), self.turn.unwrap_or(Rotation::IDENTITY)))
    }
}

/// Bounds that a reader of the format cannot know: sizes a simulation can use, and a usable triangle soup.
fn check_mesh(mesh: Mesh) -> Result<Mesh, String> {
    if mesh.vertices.iter().any(|v| v.abs().max_element() > LARGEST) {
        return Err(format!("{}: a vertex lies beyond {LARGEST:e}", mesh.name));
    }
    let placed = PlacedShape::mesh(Arc::new(mesh));
    placed.collider()?;
    let crate::shape::Shape::Mesh(mesh) = placed.shape else { return Err("not a mesh".into()) };
    Ok(Arc::unwrap_or_clone(mesh))
}

/// Reports a file problem of another block in the same words.
pub(super) fn no_file(what: &str, name: &str, why: &str, span: Span) -> Diagnostic {
    Diagnostic::new(codes::NO_FILE, span, format!("the {what} `{name}` cannot be read: {why}"))
}
