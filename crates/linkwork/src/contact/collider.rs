//! Shapes as contact sees them, with their surfaces, and the pairs that never touch.

use super::Coat;
use crate::graph::Sets;
use crate::material::Material;
use crate::math::{Pose, Vector};
use crate::mechanism::Mechanism;
use crate::shape::Shape;
use crate::solid::{Collide, Kernel, SolidId};
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::shape::{Ball, Capsule, Cuboid, Cylinder, Shape as ParryShape, TriMesh, TriMeshFlags};

/// What a collider is made of.
pub(crate) enum Geometry {
    Ball(Ball),
    Box(Cuboid),
    Capsule(Capsule),
    Cylinder {
        /// The same, smaller by `round` all over. Distances between shapes that touch are zero, and no direction can be
        /// told of a vector of length zero; with a rim rounded by a hundredth they are not.
        core: Cylinder,
        round: f64,
    },
    /// The half space below the plane through the origin, along `y`.
    Plane,
    Mesh(Box<TriMesh>),
}

/// One shape of one solid.
pub(crate) struct Collider {
    pub solid: SolidId,
    pub geometry: Geometry,
    /// From the shape's frame to the solid's axes about its centre of mass.
    pub local: Pose,
    /// Farthest point from the solid's centre of mass.
    pub reach: f64,
    /// A length that tells how big the shape is.
    pub size: f64,
    /// Bounding box in the shape's frame; none for a plane.
    pub bounds: Option<Aabb>,
    /// The solid's surface, if it has one of its own.
    pub surface: Option<Material>,
    /// Nothing that happens moves it.
    pub fixed: bool,
    /// A mesh with an inside: only the front of a face can be touched.
    pub closed: bool,
}

/// The part of a cylinder's smaller measure by which its rim is rounded.
const ROUND: f64 = 1e-2;

impl Collider {
    pub fn is_mesh(&self) -> bool {
        matches!(self.geometry, Geometry::Mesh(_))
    }

    fn new(m: &Mechanism, id: SolidId, shape: &crate::shape::PlacedShape) -> Option<Self> {
        let solid = m.solid(id);
        let geometry = match &shape.shape {
            Shape::Sphere(r) => Geometry::Ball(Ball::new(*r)),
            Shape::Box(s) => Geometry::Box(Cuboid::new(*s * 0.5)),
            Shape::Capsule { radius, length } => Geometry::Capsule(Capsule::new_y(length * 0.5, *radius)),
            Shape::Cylinder { radius, length } => {
                let round = ROUND * radius.min(0.5 * length);
                Geometry::Cylinder { core: Cylinder::new(0.5 * length - round, radius - round), round }
            }
            Shape::Plane => Geometry::Plane,
            Shape::Mesh(mesh) => {
                let whole = |flags| TriMesh::with_flags(mesh.vertices.clone(), mesh.triangles.clone(), flags);
                let smooth = whole(TriMeshFlags::FIX_INTERNAL_EDGES);
                let made = smooth.or_else(|_| whole(TriMeshFlags::empty()));
                Geometry::Mesh(Box::new(made.ok()?))
            }
        };
        let mut local = shape.pose * shape.collider_turn();
        local.translation -= solid.mass.center;
        let bounds = geometry.bounds();
        let size = bounds.map_or(1.0, |b| b.half_extents().length());
        let reach = bounds.map_or(0.0, |b| (local.transform_point(b.center())).length() + size);
        let surface = solid.material.and_then(|k| m.materials.get(k.0 as usize)).cloned();
        let fixed = solid.kernel == Kernel::Fixed;
        let closed = matches!(&shape.shape, Shape::Mesh(mesh) if mesh.hollow().is_none());
        Some(Self { solid: id, geometry, local, reach, size, bounds, surface, fixed, closed })
    }

    /// A ball: its normal turns wherever it is touched.
    pub fn is_ball(&self) -> bool {
        matches!(self.geometry, Geometry::Ball(_))
    }

    /// The box around it, `pose` being that of the solid's centre; none for a plane.
    pub fn aabb(&self, pose: &Pose) -> Option<Aabb> {
        self.bounds.map(|b| b.transform_by(&(*pose * self.local)))
    }
}

impl Geometry {
    fn bounds(&self) -> Option<Aabb> {
        Some(match self {
            Geometry::Ball(b) => b.compute_local_aabb(),
            Geometry::Box(b) => b.compute_local_aabb(),
            Geometry::Capsule(c) => c.compute_local_aabb(),
            Geometry::Cylinder { core, round } => {
                let b = core.compute_local_aabb();
                Aabb::new(b.mins - Vector::splat(*round), b.maxs + Vector::splat(*round))
            }
            Geometry::Mesh(m) => m.compute_local_aabb(),
            Geometry::Plane => return None,
        })
    }
}

/// Shapes that soft bodies may touch: of all solids that touch anything, fixed ones too.
pub(crate) fn obstacles(m: &Mechanism) -> Vec<Collider> {
    if m.softs().is_empty() {
        return Vec::new();
    }
    let solids = m.solids().iter().enumerate().filter(|(_, s)| s.collide != Collide::None);
    solids
        .flat_map(|(i, s)| {
            s.shapes.iter().filter_map(move |shape| Collider::new(m, SolidId(i as u32), shape))
        })
        .collect()
}

/// All colliders of a mechanism, in the order of their solids, and who may touch whom.
#[derive(Default)]
pub(crate) struct Colliders {
    pub all: Vec<Collider>,
    /// Those that have no box.
    pub planes: Vec<u32>,
    /// Per solid: its first one; one more at the end.
    first: Vec<u32>,
    /// Pairs of solids that never touch though both would, in order.
    apart: Vec<[SolidId; 2]>,
    /// Per solid: what it touches.
    collide: Vec<Collide>,
    /// Per solid: the lowest one that joints connect it with.
    linkage: Vec<u32>,
    /// A solid that does not move, and a linkage that it carries, in order.
    carried: Vec<(SolidId, u32)>,
    dynamic: Vec<bool>,
}

impl Colliders {
    pub fn new(m: &Mechanism) -> Self {
        let mut c = Self::default();
        for (i, solid) in m.solids().iter().enumerate() {
            let id = SolidId(i as u32);
            c.collide.push(solid.collide.clone());
            c.dynamic.push(!solid.is_fixed());
            if solid.collide == Collide::None {
                continue;
            }
            c.all.extend(solid.shapes.iter().filter_map(|s| Collider::new(m, id, s)));
            if solid.particle && solid.shapes.is_empty() {
                let point = crate::shape::PlacedShape::sphere(0.0);
                c.all.extend(Collider::new(m, id, &point));
            }
        }
        // Nothing can touch where nothing that moves has a shape.
        if !c.all.iter().any(|x| c.dynamic[x.solid.index()]) {
            c.all.clear();
        }
        if !c.all.is_empty() {
            c.keep_apart(m);
        }
        let planes = c.all.iter().enumerate().filter(|(_, x)| x.bounds.is_none());
        c.planes = planes.map(|(k, _)| k as u32).collect();
        let before = |i: usize| c.all.partition_point(|x| x.solid.index() < i) as u32;
        c.first = (0..=m.solids().len()).map(before).collect();
        c
    }

    /// Those of a solid.
    pub fn of(&self, solid: usize) -> std::ops::Range<u32> {
        match (self.first.get(solid), self.first.get(solid + 1)) {
            (Some(first), Some(end)) => *first..*end,
            _ => 0..0,
        }
    }

    /// Pairs that the scene ignores, and solids that joints connect: linkages are drawn with bars that run through each
    /// other and through their frames, and few of them are meant to jam.
    fn keep_apart(&mut self, m: &Mechanism) {
        let mut sets = Sets::new(m.solids().len());
        let mut apart: Vec<[SolidId; 2]> = Vec::new();
        for j in m.joints() {
            let [a, b] = j.frames.map(|f| f.solid);
            if self.dynamic[a.index()] && self.dynamic[b.index()] {
                sets.join(a.index(), b.index());
            } else {
                apart.push([a.min(b), a.max(b)]);
            }
        }
        self.linkage = (0..m.solids().len()).map(|i| sets.find(i) as u32).collect();
        for [a, b] in &apart {
            for (frame, carried) in [(*a, *b), (*b, *a)] {
                if !self.dynamic[frame.index()] && self.dynamic[carried.index()] {
                    self.carried.push((frame, self.linkage[carried.index()]));
                }
            }
        }
        self.carried.sort_unstable();
        self.carried.dedup();
        apart.retain(|[a, b]| !self.asks_for(*a, *b));
        apart.extend(m.ignores.iter().map(|[a, b]| [*a.min(b), *a.max(b)]));
        apart.sort_unstable();
        apart.dedup();
        self.apart = apart;
    }

    /// One of the two names the other in its `collide with`.
    fn asks_for(&self, a: SolidId, b: SolidId) -> bool {
        let names = |x: SolidId, y| matches!(&self.collide[x.index()], Collide::With(l) if l.contains(&y));
        names(a, b) || names(b, a)
    }

    /// Joints hold both together, directly or through others, or one is the frame that carries the other's linkage. A
    /// plane is no part of a frame: what hangs on the floor's posts may still lie down on the floor.
    fn one_linkage(&self, a: &Collider, b: &Collider) -> bool {
        let carries = |frame: &Collider, other: &Collider| {
            let pair = (frame.solid, self.linkage[other.solid.index()]);
            !matches!(frame.geometry, Geometry::Plane) && self.carried.binary_search(&pair).is_ok()
        };
        self.linkage[a.solid.index()] == self.linkage[b.solid.index()] || carries(a, b) || carries(b, a)
    }

    /// May these two colliders touch?
    pub fn may_touch(&self, a: &Collider, b: &Collider) -> bool {
        let tied = self.one_linkage(a, b);
        let (a, b) = (a.solid, b.solid);
        let allows = |x: SolidId, y: SolidId| match &self.collide[x.index()] {
            Collide::All => true,
            Collide::None => false,
            Collide::With(list) => list.contains(&y),
        };
        a != b
            && (self.dynamic[a.index()] || self.dynamic[b.index()])
            && allows(a, b)
            && allows(b, a)
            && (!tied || self.asks_for(a, b))
            && self.apart.binary_search(&[a.min(b), a.max(b)]).is_err()
    }

    /// How two colliders act on each other. A solid without a material of its own takes on the other's surface, but wears
    /// no coat; two materials meet with the geometric mean of their friction, the larger one of the rest, and one coat on
    /// the other.
    pub fn surface(&self, a: &Collider, b: &Collider) -> Surface {
        match (&a.surface, &b.surface) {
            (Some(a), Some(b)) => Surface {
                friction: (a.friction * b.friction).sqrt(),
                restitution: a.restitution.max(b.restitution),
                resistance: [a.spinning.max(b.spinning), a.rolling.max(b.rolling)],
                coat: Coat::in_series(Coat::of(a), Coat::of(b)),
            },
            (Some(x), None) | (None, Some(x)) => Surface::of(x),
            (None, None) => Surface::of(&Material::default()),
        }
    }
}

/// How two colliders act on each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Surface {
    pub friction: f64,
    pub restitution: f64,
    /// Levers of spinning and rolling resistance, metres.
    pub resistance: [f64; 2],
    pub coat: Option<Coat>,
}

impl Surface {
    fn of(m: &Material) -> Self {
        let (friction, restitution, resistance) = (m.friction, m.restitution, [m.spinning, m.rolling]);
        Self { friction, restitution, resistance, coat: Coat::of(m) }
    }
}
