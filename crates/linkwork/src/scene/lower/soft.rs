//! `cloth`, `tetra` and `skin`.

use super::common::PoseClauses;
use super::names::mark;
use super::reader::{Quantity, Reader};
use super::shape::no_file;
use super::{Lowering, Seen};
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::lex::brief;
use crate::scene::model::{Cloth, Elasticity, Pin, Skin, Soft, SoftCollide, Tetra, TetraBody};
use crate::scene::msh::read_msh;
use crate::scene::syntax::{Block, Clause, Span};
use crate::scene::vocabulary::BlockWords;
use crate::skin::MOST_SOLIDS;
use std::collections::BTreeSet;

/// Most vertices along one side of a grid, and in all.
const MOST_SIDE: u32 = 100_000;
const MOST_VERTICES: u64 = 10_000_000;

/// A grid of vertices: counts along each side and their distance.
type Grid = (Vec<u32>, f64);

impl<'x, 't> Lowering<'x, 't> {
    pub(super) fn cloth(&mut self, block: &Block, words: &'static BlockWords) {
        let (list, seen) = self.clauses(block, words);
        let mut grid: Option<Grid> = None;
        let (mut shear, mut bend) = (None, None);
        for c in &list {
            match self.file.str(c.word) {
                "grid" => grid = self.read(words, c, |r| r.grid(2)),
                "shear" => shear = self.read(words, c, |r| r.elasticity()),
                "bend" => bend = self.read(words, c, |r| r.elasticity()),
                _ => {}
            }
        }
        if !seen.has("grid") {
            self.missing(block, "grid", "`grid`, its vertices");
        }
        let sides = grid.as_ref().map(|g| g.0.clone());
        let soft = self.soft(block, words, &list, seen, sides, "cloth", self.scene.cloths.len());
        let (grid, spacing) = grid.unwrap_or((vec![2, 2], 1.0));
        self.scene.cloths.push(Cloth { soft, grid: [grid[0], grid[1]], spacing, shear, bend });
    }

    pub(super) fn tetra(&mut self, block: &Block, words: &'static BlockWords) {
        let (list, seen) = self.clauses(block, words);
        self.exclusive(block, seen, "grid", "mesh");
        let mut body = None;
        let mut sides = None;
        for c in &list {
            match self.file.str(c.word) {
                "grid" => {
                    let grid = self.read(words, c, |r| r.grid(3));
                    sides = grid.as_ref().map(|g| g.0.clone());
                    body = grid.map(|(g, spacing)| TetraBody::Grid { grid: [g[0], g[1], g[2]], spacing });
                }
                "mesh" => {
                    let mesh = self.read(words, c, |r| {
                        let (name, span) = r.text("a file name in quotes")?;
                        r.tetra_mesh(name, span)
                    });
                    sides = mesh.as_ref().map(|m| vec![m.vertices.len() as u32]);
                    body = mesh.map(TetraBody::Mesh);
                }
                _ => {}
            }
        }
        if !seen.has("grid") && !seen.has("mesh") {
            self.missing(block, "grid", "`grid` or `mesh`");
        }
        let soft = self.soft(block, words, &list, seen, sides, "tetra", self.scene.tetras.len());
        let body = body.unwrap_or(TetraBody::Grid { grid: [2; 3], spacing: 1.0 });
        self.scene.tetras.push(Tetra { soft, body });
    }

    #[expect(clippy::too_many_arguments, reason = "the shared half of two block readers")]
    fn soft(
        &mut self,
        block: &Block,
        words: &'static BlockWords,
        list: &[Clause],
        seen: Seen,
        sides: Option<Vec<u32>>,
        kind: &str,
        index: usize,
    ) -> Soft {
        let mut pose = PoseClauses::default();
        let name = match self.label(block) {
            name if name.is_empty() => format!("{kind}-{}", index + 1),
            name => name,
        };
        let mut soft = Soft {
            name,
            pose: pose.pose(),
            mass: 1.0,
            stretch: None,
            limit_strain: None,
            thickness: None,
            pins: Vec::new(),
            material: None,
            collide: SoftCollide::All,
            color: None,
            source: self.header(block),
        };
        let mut pinned = BTreeSet::new();
        for c in list {
            if self.pose_clause(&mut pose, words, c) {
                continue;
            }
            match self.file.str(c.word) {
                "mass" => {
                    soft.mass =
                        self.read(words, c, |r| r.positive("the mass", Quantity::Plain)).unwrap_or(1.0);
                }
                "stretch" => soft.stretch = self.read(words, c, |r| r.elasticity()),
                "limit-strain" => {
                    soft.limit_strain = self.read(words, c, |r| r.positive("the strain", Quantity::Ratio));
                }
                "thickness" => {
                    soft.thickness = self.read(words, c, |r| r.positive("the thickness", Quantity::Length));
                }
                "pin" => {
                    let Some(sides) = &sides else { continue };
                    let pin = self.read(words, c, |r| r.pin(sides));
                    if let Some(pin) = pin {
                        if pinned.insert(pin.vertex) {
                            soft.pins.push(pin);
                        } else {
                            let message = "this vertex is already pinned";
                            self.report(Diagnostic::new(codes::DUPLICATE_CLAUSE, c.span, message));
                        }
                    }
                }
                "material" => {
                    soft.material = self.read(words, c, |r| {
                        let (name, span) = r.name("the name of a material")?;
                        r.low.material_named(name, span)
                    });
                }
                "collide" => {
                    soft.collide = match self.read(words, c, |r| r.partners()) {
                        None | Some(Ok(true)) => SoftCollide::All,
                        Some(Ok(false)) => SoftCollide::None,
                        Some(Err(bodies)) => SoftCollide::With(bodies.into_iter().map(|(b, _)| b).collect()),
                    };
                }
                "color" => soft.color = self.read(words, c, |r| r.color()),
                _ => {}
            }
        }
        self.exclusive(block, seen, "turn", "orientation");
        if !seen.has("mass") {
            self.missing(block, "mass", "`mass`");
        }
        soft.pose = pose.pose();
        soft
    }

    pub(super) fn skin(&mut self, block: &Block, words: &'static BlockWords) {
        let (list, seen) = self.clauses(block, words);
        let name = self.label(block);
        let (mut over, mut radius, mut color) = (None, None, None);
        for c in &list {
            match self.file.str(c.word) {
                "over" => {
                    over = self.read(words, c, |r| {
                        let mut solids = Vec::new();
                        let mut known = BTreeSet::new();
                        while r.left() > 0 || solids.is_empty() {
                            let (name, span) = r.name("the names of solids")?;
                            let id = r.low.solid_named(name, span)?;
                            if r.low.scene.mechanism.solid(id).particle {
                                let message =
                                    format!("`{}` is a particle, which has no orientation", brief(name));
                                return r.fail(codes::WRONG_KIND_OF_NAME, span, message);
                            }
                            if solids.len() == MOST_SOLIDS {
                                let message = format!("a skin goes over {MOST_SOLIDS} solids at most");
                                return r.fail(codes::ABSURD_SIZE, span, message);
                            }
                            if !known.insert(id) {
                                let message = format!("`{name}` is already in this chain");
                                return r.fail(codes::DUPLICATE_NAME, span, message);
                            }
                            solids.push(id);
                        }
                        Some(solids)
                    });
                }
                "radius" => {
                    let list = self.read(words, c, |r| {
                        let mut list = vec![r.positive("a radius", Quantity::Length)?];
                        while r.left() > 0 {
                            list.push(r.positive("a radius", Quantity::Length)?);
                        }
                        Some(list)
                    });
                    radius = list.map(|list| (list, c.span));
                }
                _ => color = self.read(words, c, |r| r.color()),
            }
        }
        for word in ["over", "radius"] {
            if !seen.has(word) {
                self.missing(block, word, &format!("`{word}`"));
            }
        }
        let (Some(over), Some((mut radius, span))) = (over, radius) else { return };
        if radius.len() == 1 {
            radius.resize(over.len(), radius[0]);
        }
        if radius.len() != over.len() {
            let message = format!("{} radii for {} solids", radius.len(), over.len());
            self.report(
                Diagnostic::new(codes::WRONG_COUNT, span, message).hint("give one, or one per solid"),
            );
        }
        self.scene.skins.push(Skin { name, over, radius, color });
    }
}

impl Reader<'_, '_, '_> {
    /// `STIFFNESS [DAMPING]`.
    fn elasticity(&mut self) -> Option<Elasticity> {
        let stiffness = self.not_negative("the stiffness", Quantity::Plain)?;
        let damping = if self.left() > 0 { self.not_negative("the damping", Quantity::Plain)? } else { 0.0 };
        Some(Elasticity { stiffness, damping })
    }

    /// `N N [N] spacing S`.
    fn grid(&mut self, dimensions: usize) -> Option<Grid> {
        let start = self.position();
        let mut sides = Vec::new();
        for _ in 0..dimensions {
            sides.push(self.whole("a number of vertices", 2, MOST_SIDE)?);
        }
        let span = self.span_since(start);
        let vertices: u64 = sides.iter().map(|n| u64::from(*n)).fold(1, u64::saturating_mul);
        if vertices > MOST_VERTICES {
            let message = format!("a grid of {vertices} vertices; at most {MOST_VERTICES} are possible");
            return self.fail(codes::ABSURD_SIZE, span, message);
        }
        self.keyword("spacing")?;
        Some((sides, self.positive("the spacing", Quantity::Length)?))
    }

    /// `I J [K] [to NAME X Y Z]`; in a mesh the vertex is one number.
    fn pin(&mut self, sides: &[u32]) -> Option<Pin> {
        let (mut vertex, mut stride) = (0, 1);
        for side in sides {
            let (index, span) = self.number_at("the index of a vertex", Quantity::Plain)?;
            if index.fract() != 0.0 {
                return self.fail(codes::NOT_WHOLE, span, "a vertex has a whole number");
            }
            if index < 0.0 || index >= f64::from(*side) {
                let message = format!("there is no vertex {index}: they run from 0 to {}", side - 1);
                return self.fail(codes::OUT_OF_RANGE, span, message);
            }
            vertex += index as u32 * stride;
            stride *= side;
        }
        if self.left() == 0 {
            return Some(Pin { vertex, to: None });
        }
        self.keyword("to")?;
        let (name, span) = self.name("the name of a solid")?;
        let solid = self.low.solid_named(name, span)?;
        mark(&mut self.low.used.solids, solid.index());
        let point = self.vector("a point x y z of that solid", Quantity::Length)?;
        Some(Pin { vertex, to: Some((solid, point)) })
    }

    fn tetra_mesh(&mut self, name: &str, span: Span) -> Option<crate::scene::msh::TetraMesh> {
        match (self.low.files)(name) {
            Err(why) => {
                self.low.report(no_file("mesh", name, &why, span));
                None
            }
            Ok(bytes) => match read_msh(name, &bytes) {
                Ok(mesh) => Some(mesh),
                Err(why) => self.fail(codes::BAD_FILE, span, format!("the mesh is broken: {why}")),
            },
        }
    }
}
