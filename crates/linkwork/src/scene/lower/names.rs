//! Declaring and looking up names.
//!
//! Solids, particles, cloth and tetrahedral solids share one name space (all of them have a place in the
//! world, and `watch`, `ignore` and `collide with` take any). Joints and constraints share another; materials,
//! trajectories, forces, springs and skins have their own.

use super::Lowering;
use crate::mechanism::{MaterialId, TrajectoryId};
use crate::scene::codes;
use crate::scene::diagnostic::Diagnostic;
use crate::scene::lex::brief;
use crate::scene::model::Body;
use crate::scene::syntax::{Block, Span};
use crate::scene::vocabulary;
use crate::solid::{Solid, SolidId};
use std::collections::{HashMap, HashSet};

/// A name space: names to where they were declared and what they mean. The list keeps hints deterministic.
#[derive(Default)]
pub(super) struct Space<'t> {
    map: HashMap<&'t str, (u32, Span)>,
    list: Vec<&'t str>,
}

#[derive(Default)]
pub(super) struct Names<'t> {
    bodies: HashMap<&'t str, (Body, Span)>,
    body_list: Vec<&'t str>,
    /// Name and place of each declared solid in id order, without the world.
    pub solids: Vec<(String, Span)>,
    materials: Space<'t>,
    trajectories: Space<'t>,
    joints: Space<'t>,
    forces: Space<'t>,
    springs: Space<'t>,
    skins: Space<'t>,
    /// Names of blocks that were not understood: using them is no second mistake.
    doubtful: HashSet<&'t str>,
    /// The file declares a solid, so every name must be declared.
    pub declares_solids: bool,
    /// Cursor into `solids` while the blocks are read in order.
    pub next_solid: usize,
}

impl Names<'_> {
    /// A joint or constraint is called so, and nothing that has a place in the world.
    pub fn is_joint_alone(&self, name: &str) -> bool {
        self.joints.map.contains_key(name) && !self.bodies.contains_key(name)
    }
}

impl<'t> Space<'t> {
    fn add(&mut self, name: &'t str, span: Span) -> Result<u32, Span> {
        let index = self.list.len() as u32;
        if let Some((_, first)) = self.map.get(name) {
            return Err(*first);
        }
        self.map.insert(name, (index, span));
        self.list.push(name);
        Ok(index)
    }
}

impl<'x, 't> Lowering<'x, 't> {
    /// Fills the name spaces from all headers.
    pub(super) fn declare(&mut self) {
        let (mut cloths, mut tetras) = (0u32, 0u32);
        for block in &self.file.blocks {
            let keyword = self.file.str(block.keyword);
            let labels = self.file.labels(block);
            self.doubt(block, labels);
            match keyword {
                "solid" | "particle" => {
                    self.names.declares_solids = true;
                    if labels.is_empty() {
                        self.names.solids.push((String::new(), block.keyword));
                    }
                    for label in labels {
                        let id = SolidId(self.names.solids.len() as u32 + 1);
                        if self.declare_body(*label, Body::Solid(id)) {
                            self.names.solids.push((self.file.str(*label).to_owned(), *label));
                        }
                    }
                }
                "cloth" | "tetra" => {
                    let (count, body): (&mut u32, fn(u32) -> Body) = if keyword == "cloth" {
                        (&mut cloths, Body::Cloth)
                    } else {
                        (&mut tetras, Body::Tetra)
                    };
                    let index = *count;
                    *count += 1;
                    if let Some(label) = labels.first() {
                        self.declare_body(*label, body(index));
                    }
                }
                _ => {
                    let mut taken = Vec::new();
                    let space = match keyword {
                        "material" => &mut self.names.materials,
                        "trajectory" => &mut self.names.trajectories,
                        "joint" | "constraint" => &mut self.names.joints,
                        "force" => &mut self.names.forces,
                        "spring" => &mut self.names.springs,
                        "skin" => &mut self.names.skins,
                        _ => {
                            self.needless_label(block, labels);
                            continue;
                        }
                    };
                    for label in labels {
                        if let Err(first) = space.add(label.of(self.file.text), *label) {
                            taken.push((*label, first));
                        }
                    }
                    for (label, first) in taken {
                        self.taken(label, first);
                    }
                }
            }
        }
        self.name_the_nameless();
    }

    /// Remembers names that a malformed header may have meant to declare.
    fn doubt(&mut self, block: &Block, labels: &[Span]) {
        if vocabulary::block(self.file.str(block.keyword)).is_none() {
            self.names.declares_solids = true;
            self.names.doubtful.extend(labels.iter().map(|l| self.file.str(*l)));
        }
        if let ([], Some(first)) = (labels, self.file.clauses(block).first())
            && first.broken
        {
            self.names.declares_solids |= self.file.str(block.keyword) == "solid";
            self.names.doubtful.insert(self.file.str(first.word));
        }
    }

    fn needless_label(&mut self, block: &Block, labels: &[Span]) {
        let known = vocabulary::block(self.file.str(block.keyword)).is_some();
        if let (Some(label), true) = (labels.first(), known) {
            let message = format!("a `{}` block has no name", self.file.str(block.keyword));
            let hint = format!("write `{} …` without the name and `:`", self.file.str(block.keyword));
            self.report(Diagnostic::new(codes::NEEDLESS_LABEL, *label, message).hint(hint));
        }
    }

    fn declare_body(&mut self, label: Span, body: Body) -> bool {
        let name = self.file.str(label);
        if name == "world" {
            let message = "`world` names the fixed surroundings and cannot be declared";
            self.report(Diagnostic::new(codes::DUPLICATE_NAME, label, message));
            return false;
        }
        if let Some((_, first)) = self.names.bodies.get(name) {
            self.taken(label, *first);
            return false;
        }
        self.names.bodies.insert(name, (body, label));
        self.names.body_list.push(name);
        true
    }

    fn taken(&mut self, label: Span, first: Span) {
        let message = format!("the name `{}` is already taken", brief(self.file.str(label)));
        self.report(
            Diagnostic::new(codes::DUPLICATE_NAME, label, message).related(first, "first declared here"),
        );
    }

    /// Solids that nothing refers to may go without a label; reports and recordings still need a name.
    fn name_the_nameless(&mut self) {
        let mut number = 1;
        for (name, _) in &mut self.names.solids {
            if name.is_empty() {
                while self.names.bodies.contains_key(format!("solid-{number}").as_str()) {
                    number += 1;
                }
                *name = format!("solid-{number}");
                number += 1;
            }
        }
    }

    /// In a file of constraints only (the 1994 language declared objects elsewhere) every object becomes a
    /// dynamic unit solid at the origin.
    pub(super) fn undeclared_objects(&mut self) {
        if self.names.declares_solids {
            return;
        }
        let mut first = None;
        let mut made_up = Vec::new();
        for block in &self.file.blocks {
            if !matches!(self.file.str(block.keyword), "constraint" | "joint" | "spring") {
                continue;
            }
            for clause in self.file.clauses(block) {
                let is_object = matches!(self.file.str(clause.word), "object1" | "object2");
                let (true, false, [arg]) = (is_object, clause.broken, self.file.args(clause)) else {
                    continue;
                };
                let name = self.file.str(arg.span);
                if name == "world" || self.names.bodies.contains_key(name) {
                    continue;
                }
                let id = SolidId(self.names.solids.len() as u32 + 1);
                if !crate::scene::lex::is_name(name) || !self.declare_body(arg.span, Body::Solid(id)) {
                    continue;
                }
                first = first.or(Some(arg.span));
                self.names.solids.push((name.to_owned(), arg.span));
                made_up.push(name);
                self.add_solid(Solid::new(name), arg.span);
            }
        }
        self.scene.sources.undeclared = made_up.len();
        if let Some(first) = first {
            const SHOWN: usize = 12;
            let mut list = made_up[..made_up.len().min(SHOWN)].join(", ");
            if made_up.len() > SHOWN {
                list += &format!(" and {} more", made_up.len() - SHOWN);
            }
            let message = format!("no solid is declared; these are made up: {list}");
            self.report(
                Diagnostic::new(codes::UNDECLARED_OBJECTS, first, message)
                    .hint("each has mass 1, a small ball's inertia, and starts at the origin"),
            );
        }
    }

    /// What a name of the world stands for.
    pub(super) fn body(&mut self, name: &'t str, span: Span) -> Option<Body> {
        if name == "world" {
            return Some(Body::Solid(SolidId::WORLD));
        }
        if let Some((body, _)) = self.names.bodies.get(name) {
            return Some(*body);
        }
        // A vertex of a soft body.
        if let Some(id) = self.scene.mechanism.find(name).filter(|_| name.contains('.')) {
            return Some(Body::Solid(id));
        }
        if !self.names.doubtful.contains(name) {
            let near = self.near.find(name, self.names.body_list.iter().copied());
            let kind = if self.names.materials.map.contains_key(name) {
                "a material"
            } else if self.names.trajectories.map.contains_key(name) {
                "a trajectory"
            } else if self.names.joints.map.contains_key(name) {
                "a joint"
            } else {
                let message = format!("nothing is called `{}`", brief(name));
                let diagnostic = Diagnostic::new(codes::UNKNOWN_NAME, span, message);
                self.report(match near {
                    Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
                    None => diagnostic.hint(format!("declare it with `solid {}: … end`", brief(name))),
                });
                return None;
            };
            let message = format!("`{}` is {kind}, not a solid", brief(name));
            self.report(Diagnostic::new(codes::WRONG_KIND_OF_NAME, span, message));
        }
        None
    }

    /// A solid or particle (or the world).
    pub(super) fn solid_named(&mut self, name: &'t str, span: Span) -> Option<SolidId> {
        match self.body(name, span)? {
            Body::Solid(id) => Some(id),
            Body::Cloth(_) | Body::Tetra(_) => {
                let message = format!("`{}` is a soft body; a solid or particle is needed", brief(name));
                self.report(Diagnostic::new(codes::WRONG_KIND_OF_NAME, span, message));
                None
            }
        }
    }

    pub(super) fn material_named(&mut self, name: &'t str, span: Span) -> Option<MaterialId> {
        if let Some((index, _)) = self.names.materials.map.get(name) {
            let index = *index;
            mark(&mut self.used.materials, index as usize);
            return Some(MaterialId(index));
        }
        let near = self.near.find(name, self.names.materials.list.iter().copied());
        self.unknown("material", name, span, near)
    }

    pub(super) fn trajectory_named(&mut self, name: &'t str, span: Span) -> Option<TrajectoryId> {
        if let Some((index, _)) = self.names.trajectories.map.get(name) {
            let index = *index;
            mark(&mut self.used.trajectories, index as usize);
            return Some(TrajectoryId(index));
        }
        let near = self.near.find(name, self.names.trajectories.list.iter().copied());
        self.unknown("trajectory", name, span, near)
    }

    fn unknown<T>(&mut self, kind: &str, name: &str, span: Span, near: Option<&str>) -> Option<T> {
        if !self.names.doubtful.contains(name) {
            let diagnostic =
                Diagnostic::new(codes::UNKNOWN_NAME, span, format!("there is no {kind} `{}`", brief(name)));
            self.report(match near {
                Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
                None => diagnostic.hint(format!("declare it with `{kind} {}: … end`", brief(name))),
            });
        }
        None
    }

    /// Materials (or trajectories) that nothing uses, in order.
    pub(super) fn unused(&self) -> Vec<(&'static str, &'t str, Span)> {
        let spaces = [
            ("material", &self.names.materials, &self.used.materials),
            ("trajectory", &self.names.trajectories, &self.used.trajectories),
        ];
        let mut list = Vec::new();
        for (kind, space, used) in spaces {
            for (index, name) in space.list.iter().enumerate() {
                if !used.get(index).copied().unwrap_or(false) {
                    list.push((kind, *name, space.map.get(name).map_or(Span::default(), |(_, span)| *span)));
                }
            }
        }
        list
    }
}

/// Sets a flag, growing the list as needed.
pub(super) fn mark(flags: &mut Vec<bool>, index: usize) {
    if flags.len() <= index {
        flags.resize(index + 1, false);
    }
    flags[index] = true;
}
