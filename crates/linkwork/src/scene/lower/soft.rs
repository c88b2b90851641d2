//! `cloth`, `tetra` and `skin`.

use super::common::PoseClauses;
use super::names::mark;
use super::reader::{Quantity, Reader};
use super::shape::no_file;
use super::{Lowering, Seen};
use crate::joint::{Frame, Joint};
use crate::math::Vector;
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::lex::brief;
use crate::scene::model::{Body, Cloth, Elasticity, Pin, Skin, Soft, SoftCollide, Tetra, TetraBody};
use crate::scene::msh::read_msh;
use crate::scene::syntax::{Block, Clause, Span};
use crate::scene::vocabulary::BlockWords;
use crate::shape::{Mesh, read_obj};
use crate::skin::MOST_SOLIDS;
use crate::soft::{Sheet, SoftBody, SoftError, SoftMesh, Springs};
use crate::solid::{Collide, Kernel, Solid, SolidId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most vertices of a soft body, and so along one side of a grid.
const MOST_SIDE: u32 = 250_000;
const MOST_VERTICES: u64 = MOST_SIDE as u64;
/// Largest strain of cloth where the file is silent.
const DEFAULT_LIMIT: f64 = 0.1;

/// A grid of vertices: counts along each side and their distance.
type Grid = (Vec<u32>, f64);

impl<'x, 't> Lowering<'x, 't> {
    pub(super) fn cloth(&mut self, block: &Block, words: &'static BlockWords) {
        let (list, seen) = self.clauses(block, words);
        self.exclusive(block, seen, "grid", "mesh");
        let mut grid: Option<Grid> = None;
        let (mut shear, mut bend, mut mesh) = (None, None, None);
        let mut sides = None;
        for c in &list {
            match self.file.str(c.word) {
                "grid" => {
                    grid = self.read(words, c, |r| r.grid(2));
                    sides = grid.as_ref().map(|g| g.0.clone());
                }
                "mesh" => {
                    mesh = self.read(words, c, |r| {
                        let (name, span) = r.text("a file name in quotes")?;
                        r.sheet_mesh(name, span)
                    });
                    sides = mesh.as_ref().map(|m| vec![m.vertices.len() as u32]);
                }
                "shear" => shear = self.read(words, c, |r| r.elasticity()),
                "bend" => bend = self.read(words, c, |r| r.elasticity()),
                _ => {}
            }
        }
        if !seen.has("grid") && !seen.has("mesh") {
            self.missing(block, "grid", "`grid` or `mesh`, its vertices");
        }
        let soft = self.soft(block, words, &list, seen, sides, "cloth", self.scene.cloths.len());
        let made = {
            let k = springs(&soft, shear, bend, Some(DEFAULT_LIMIT));
            match (&grid, &mesh) {
                (Some((n, spacing)), _) => Some(Ok(Sheet::grid(n[0], n[1], *spacing, &k))),
                (None, Some(mesh)) if mesh.vertices.len() as u64 > MOST_VERTICES => {
                    return self.too_many(block, mesh.vertices.len());
                }
                (None, Some(mesh)) => Some(Sheet::mesh(&mesh.vertices, &mesh.triangles, &k)),
                (None, None) => None,
            }
        };
        self.make_soft(block, &soft, made);
        let (grid, spacing) = grid.unwrap_or((vec![2, 2], 1.0));
        self.scene.cloths.push(Cloth { soft, grid: [grid[0], grid[1]], spacing, mesh, shear, bend });
    }

    pub(super) fn tetra(&mut self, block: &Block, words: &'static BlockWords) {
        let (list, seen) = self.clauses(block, words);
        self.exclusive(block, seen, "grid", "mesh");
        let mut body = None;
        let mut sides = None;
        for c in &list {
            match self.file.str(c.word) {
                "grid" => {
                    let grid = self.read(words, c, |r| {
                        let grid = r.grid(3)?;
                        let round = r.left() > 0;
                        if round {
                            r.keyword("round")?;
                        }
                        Some((grid, round))
                    });
                    sides = grid.as_ref().map(|g| g.0.0.clone());
                    body = grid.map(|((g, spacing), round)| TetraBody::Grid {
                        grid: [g[0], g[1], g[2]],
                        spacing,
                        round,
                    });
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
        if let Some(TetraBody::Mesh(mesh)) = body
            .as_ref()
            .filter(|b| matches!(b, TetraBody::Mesh(m) if m.vertices.len() as u64 > MOST_VERTICES))
        {
            return self.too_many(block, mesh.vertices.len());
        }
        let k = springs(&soft, None, None, None);
        let made = body.as_ref().map(|body| match body {
            TetraBody::Grid { grid, spacing, round: false } => Sheet::block(*grid, *spacing, &k),
            TetraBody::Grid { grid, spacing, round: true } => Sheet::ball(*grid, *spacing, &k),
            TetraBody::Mesh(mesh) => Sheet::solid(&mesh.vertices, &mesh.tetrahedra, &k),
        });
        self.make_soft(block, &soft, made);
        let body = body.unwrap_or(TetraBody::Grid { grid: [2; 3], spacing: 1.0, round: false });
        self.scene.tetras.push(Tetra { soft, body });
    }

    /// Adds the body and its vertices to the mechanism. Pins to solids wait until all other joints have their numbers.
    fn make_soft(&mut self, block: &Block, soft: &Soft, made: Option<Result<Sheet, SoftError>>) {
        let Some(made) = made else { return };
        let header = self.header(block);
        let sheet = match made {
            Ok(sheet) => sheet,
            Err(why) => {
                let message = format!("the mesh of `{}` cannot be used: {why}", brief(&soft.name));
                return self.report(Diagnostic::new(codes::BAD_FILE, header, message));
            }
        };
        let collide = match &soft.collide {
            SoftCollide::All => Collide::All,
            SoftCollide::None => Collide::None,
            SoftCollide::With(bodies) => {
                let solid = |b: &Body| if let Body::Solid(id) = b { Some(*id) } else { None };
                Collide::With(bodies.iter().filter_map(solid).collect())
            }
        };
        let mesh = SoftMesh {
            sides: sheet.sides,
            masses: sheet.shares.iter().map(|s| s * soft.mass).collect(),
            springs: sheet.springs,
            triangles: sheet.triangles,
            tetrahedra: sheet.tetrahedra,
            thickness: soft.thickness.unwrap_or(0.0),
            material: soft.material,
            collide,
            ignores: Vec::new(),
            color: soft.color,
        };
        let places: Vec<Vector> = sheet.vertices.iter().map(|v| soft.pose.transform_point(*v)).collect();
        let center =
            places.iter().zip(&sheet.shares).fold(Vector::ZERO, |sum, (at, share)| sum + *at * *share);
        let first = SolidId(self.scene.mechanism.solids().len() as u32);
        let mut pins = soft.pins.iter().map(|p| (p.vertex, p.to)).collect::<Vec<_>>();
        pins.sort_unstable_by_key(|p| p.0);
        for (k, (at, mass)) in places.iter().zip(&mesh.masses).enumerate() {
            let mut vertex = Solid::particle(mesh.vertex_name(&soft.name, k as u32), *mass);
            vertex.pose.translation = *at;
            vertex.velocity = soft.velocity + soft.spin.cross(*at - center);
            vertex.collide = Collide::None;
            vertex.color = soft.color;
            if let Ok(pin) = pins.binary_search_by_key(&(k as u32), |p| p.0) {
                match pins[pin].1 {
                    None => (vertex.kernel, vertex.velocity) = (Kernel::Fixed, Vector::ZERO),
                    Some((solid, point)) => {
                        let vertex_id = SolidId(first.0 + k as u32);
                        let frames = [Frame::point(solid, point), Frame::point(vertex_id, Vector::ZERO)];
                        let mut joint = Joint::ball(frames[0], frames[1]);
                        joint.name = format!("{}.pin", vertex.name);
                        vertex.pose.translation =
                            self.scene.mechanism.solid(solid).pose.transform_point(point);
                        self.pins.push((joint, header));
                    }
                }
            }
            self.add_solid(vertex, header);
            self.scene.sources.vertices += 1;
        }
        let body = SoftBody { name: soft.name.clone(), first, mesh: Arc::new(mesh) };
        if let Err(refusal) = self.scene.mechanism.add_soft(body) {
            self.report(Diagnostic::new(codes::REFUSED, header, refusal.0));
        }
    }

    /// Pins to solids, behind all joints of the file.
    pub(super) fn add_pins(&mut self) {
        for (joint, span) in std::mem::take(&mut self.pins) {
            match self.scene.mechanism.add_joint(joint) {
                Ok(_) => self.scene.sources.joints.push(span),
                Err(refusal) => self.report(Diagnostic::new(codes::REFUSED, span, refusal.0)),
            }
        }
        for pair in self.scene.ignores.clone() {
            for (one, two) in [pair, (pair.1, pair.0)] {
                let soft = match one {
                    Body::Cloth(k) => self.scene.cloths.get(k as usize).map(|c| c.soft.name.clone()),
                    Body::Tetra(k) => self.scene.tetras.get(k as usize).map(|t| t.soft.name.clone()),
                    Body::Solid(_) => None,
                };
                if let (Some(name), Body::Solid(id)) = (soft, two) {
                    self.scene.mechanism.ignore_soft(&name, id);
                }
            }
        }
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
            velocity: Vector::ZERO,
            spin: Vector::ZERO,
            mass: 1.0,
            stretch: None,
            limit_strain: None,
            tear: None,
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
            self.soft_clause(&mut soft, &mut pinned, sides.as_deref(), words, c);
        }
        self.exclusive(block, seen, "turn", "orientation");
        if !seen.has("mass") {
            self.missing(block, "mass", "`mass`");
        }
        if !seen.has("stretch") {
            self.missing(block, "stretch", "`stretch`, how stiff its edges are");
        }
        soft.pose = pose.pose();
        soft
    }

    /// A clause of a soft body, other than those of its pose.
    fn soft_clause(
        &mut self,
        soft: &mut Soft,
        pinned: &mut BTreeSet<u32>,
        sides: Option<&[u32]>,
        words: &'static BlockWords,
        c: &Clause,
    ) {
        match self.file.str(c.word) {
            "mass" => {
                soft.mass = self.read(words, c, |r| r.positive("the mass", Quantity::Plain)).unwrap_or(1.0);
            }
            "velocity" => {
                let read = self.read(words, c, |r| r.vector("a velocity x y z", Quantity::Plain));
                soft.velocity = read.unwrap_or(Vector::ZERO);
            }
            "spin" => {
                let read = self.read(words, c, |r| r.vector("a spin x y z", Quantity::AngularSpeed));
                soft.spin = read.unwrap_or(Vector::ZERO);
            }
            "stretch" => soft.stretch = self.read(words, c, |r| r.elasticity()),
            "limit-strain" => {
                soft.limit_strain = self.read(words, c, |r| r.positive("the strain", Quantity::Ratio));
                if let (Some(tear), Some(limit)) = (soft.tear, soft.limit_strain)
                    && limit <= tear
                {
                    self.never_tears(c.span);
                }
            }
            "tear" => {
                soft.tear = self.read(words, c, |r| r.positive("the strain", Quantity::Ratio));
                if let (Some(tear), Some(limit)) = (soft.tear, soft.limit_strain)
                    && limit <= tear
                {
                    self.never_tears(c.span);
                }
            }
            "thickness" => {
                soft.thickness = self.read(words, c, |r| r.positive("the thickness", Quantity::Length));
            }
            "pin" => {
                let Some(sides) = sides else { return };
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

    /// Before anything is made of it.
    fn too_many(&mut self, block: &Block, n: usize) {
        let message = format!("a soft body of {n} vertices; at most {MOST_VERTICES} are possible");
        let header = self.header(block);
        self.report(Diagnostic::new(codes::ABSURD_SIZE, header, message));
    }

    fn never_tears(&mut self, span: Span) {
        let message = "no spring gets long enough to tear: `limit-strain` stops it first";
        let hint = "leave `limit-strain` out, or give a larger one";
        self.report(Diagnostic::new(codes::NEVER_TEARS, span, message).hint(hint));
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
        for k in 0..dimensions {
            // One vertex across is a rope.
            let least = if dimensions == 2 && k == 1 { 1 } else { 2 };
            sides.push(self.whole("a number of vertices", least, MOST_SIDE)?);
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
                return self.fail(codes::NOT_WHOLE, span, "the index of a vertex is a whole number");
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

    /// Triangles of a sheet: nothing that encloses a volume, so nothing but numbers is checked here.
    fn sheet_mesh(&mut self, name: &str, span: Span) -> Option<Arc<Mesh>> {
        match (self.low.files)(name) {
            Err(why) => {
                self.low.report(no_file("mesh", name, &why, span));
                None
            }
            Ok(bytes) => match read_obj(name, &bytes) {
                Ok(mesh) => Some(Arc::new(mesh)),
                Err(why) => self.fail(codes::BAD_FILE, span, format!("the mesh is broken: {why}")),
            },
        }
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

/// The springs that a block asks for; `limit` is the largest strain where it is silent.
fn springs(soft: &Soft, shear: Option<Elasticity>, bend: Option<Elasticity>, limit: Option<f64>) -> Springs {
    let pair = |e: Elasticity| [e.stiffness, e.damping];
    Springs {
        stretch: soft.stretch.map_or([0.0; 2], pair),
        shear: shear.map(pair),
        bend: bend.map(pair),
        // What can tear is held back by nothing but its springs.
        limit: soft.limit_strain.or(limit.filter(|_| soft.tear.is_none())),
        tear: soft.tear,
    }
}
