//! One shape on the page: its outline, lightly shaded.

use super::view::View;
use crate::formats::figure::Part;
use crate::formats::tessellate::{Detail, tessellate};
use crate::math::{Pose, Vector, trig};
use crate::shape::{PlacedShape, Shape};
use std::f64::consts::PI;
use std::fmt::Write;

/// Places on the page.
pub(super) type Point = [f64; 2];

/// Facets of a rim; fine enough to look round at poster size.
const RIM: usize = 64;
/// Meshes with more triangles are drawn as their outline only: the file would outgrow its use.
const MOST_TRIANGLES: usize = 20_000;

/// A drawn shape, with what the painter needs to know to put it before or behind others.
pub(super) struct Ink {
    pub svg: String,
    /// Depth of its middle.
    pub depth: f64,
    /// Left, top, right, bottom.
    pub bounds: [f64; 4],
    /// The line its body follows on the page: what thin shapes cross at.
    pub spine: [Point; 2],
    /// For asking how near its surface is at a place.
    pub shape: PlacedShape,
    pub pose: Pose,
}

/// Points of a shape, each with a radius of roundness: their hull on any page is the shape's outline.
pub(super) fn outline(shape: &Shape, pose: &Pose) -> Vec<(Vector, f64)> {
    let at = |x: f64, y: f64, z: f64| pose.transform_point(Vector::new(x, y, z));
    match shape {
        Shape::Sphere(r) => vec![(pose.translation, *r)],
        Shape::Capsule { radius, length } => {
            vec![(at(-0.5 * length, 0.0, 0.0), *radius), (at(0.5 * length, 0.0, 0.0), *radius)]
        }
        Shape::Box(s) => (0..8)
            .map(|i| {
                let h = |bit: u8, size: f64| if i >> bit & 1 == 1 { 0.5 * size } else { -0.5 * size };
                (at(h(0, s.x), h(1, s.y), h(2, s.z)), 0.0)
            })
            .collect(),
        Shape::Cylinder { radius, length } => [-0.5, 0.5]
            .iter()
            .flat_map(|e| rim(*radius, e * length).map(|p| (pose.transform_point(p), 0.0)))
            .collect(),
        Shape::Plane => Vec::new(),
        Shape::Mesh(m) => m.vertices.iter().map(|v| (pose.transform_point(*v), 0.0)).collect(),
    }
}

/// The circle of a cylinder's face at `x`.
fn rim(radius: f64, x: f64) -> impl Iterator<Item = Vector> {
    (0..RIM).map(move |k| {
        let a = 2.0 * PI * k as f64 / RIM as f64;
        Vector::new(x, radius * trig::cos(a), radius * trig::sin(a))
    })
}

impl Ink {
    /// Draws one shape of a part; `None` when there is nothing to draw (planes are the ground's business).
    pub fn new(view: &View, part: &Part, shape: &PlacedShape) -> Option<Self> {
        let pose = part.pose * shape.pose;
        let points = outline(&shape.shape, &pose);
        let mut bounds = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        for (p, r) in &points {
            let ([x, y], r) = (view.at(*p), r * view.scale);
            bounds = [bounds[0].min(x - r), bounds[1].min(y - r), bounds[2].max(x + r), bounds[3].max(y + r)];
        }
        if !bounds.iter().all(|b| b.is_finite()) {
            return None;
        }
        let middle = points.iter().map(|(p, _)| *p).sum::<Vector>() / points.len() as f64;
        let ends = match shape.shape {
            Shape::Capsule { length, .. } | Shape::Cylinder { length, .. } => Vector::X * (0.5 * length),
            _ => Vector::ZERO,
        };
        let spine = [pose.transform_point(-ends), pose.transform_point(ends)].map(|p| view.at(p));
        let mut svg = String::new();
        let pen = Pen { view, color: part.color, wire: part.wire };
        match &shape.shape {
            Shape::Sphere(r) => pen.ball(&mut svg, spine[0], r * view.scale),
            Shape::Capsule { radius, .. } => pen.bar(&mut svg, spine, radius * view.scale),
            Shape::Cylinder { radius, length } => pen.cylinder(&mut svg, &pose, *radius, *length, spine),
            Shape::Mesh(m) if m.triangles.len() > MOST_TRIANGLES => {
                pen.polygon(&mut svg, &hull(points.iter().map(|p| view.at(p.0)).collect()), 0.0, true);
            }
            Shape::Box(_) | Shape::Mesh(_) => pen.faces(&mut svg, shape, &pose),
            Shape::Plane => {}
        }
        Some(Ink { svg, depth: view.depth(middle), bounds, spine, shape: shape.clone(), pose })
    }
}

/// Draws with one colour.
struct Pen<'a> {
    view: &'a View,
    color: [f64; 3],
    /// A piece of a line: neither outline nor light, which would show the seams.
    wire: bool,
}

impl Pen<'_> {
    fn ball(&self, svg: &mut String, c: Point, r: f64) {
        let [x, y] = c.map(n);
        let line = edge(r);
        let _ = write!(
            svg,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"{}\"/>",
            n((r - 0.5 * line).max(0.1)),
            hex(self.color),
            hex(tone(self.color, -0.45)),
            n(line)
        );
        if r > 3.0 {
            let _ = write!(
                svg,
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"#fff\" opacity=\".3\"/>",
                n(c[0] - 0.3 * r),
                n(c[1] - 0.35 * r),
                n(0.42 * r)
            );
        }
    }

    /// A rounded bar: outline, body and a band of light along the upper side.
    fn bar(&self, svg: &mut String, [a, b]: [Point; 2], r: f64) {
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        let length = dx.hypot(dy);
        if length < 0.05 * r {
            return self.ball(svg, a, r);
        }
        let mut line = |a: Point, b: Point, width: f64, color: &str, opacity: &str| {
            let ([x1, y1], [x2, y2]) = (a.map(n), b.map(n));
            let _ = write!(
                svg,
                "<path d=\"M{x1} {y1}L{x2} {y2}\" stroke=\"{color}\" stroke-width=\"{}\"{opacity}/>",
                n(width)
            );
        };
        if self.wire {
            return line(a, b, 2.0 * r, &hex(self.color), "");
        }
        line(a, b, 2.0 * r, &hex(tone(self.color, -0.45)), "");
        line(a, b, (2.0 * (r - edge(r))).max(0.3), &hex(self.color), "");
        if r > 2.5 {
            // The normal that points up the page, leftwards when upright.
            let (mut nx, mut ny) = (dy / length, -dx / length);
            if ny > 1e-3 || (ny.abs() <= 1e-3 && nx > 0.0) {
                (nx, ny) = (-nx, -ny);
            }
            let shift = |p: Point| [p[0] + 0.36 * r * nx, p[1] + 0.36 * r * ny];
            line(shift(a), shift(b), 0.4 * r, "#fff", " opacity=\".22\"");
        }
    }

    fn cylinder(&self, svg: &mut String, pose: &Pose, radius: f64, length: f64, spine: [Point; 2]) {
        let axis = pose.rotation * Vector::X;
        let facing = axis.dot(self.view.toward);
        let face = |x: f64| -> Vec<Point> {
            rim(radius, x).map(|p| self.view.at(pose.transform_point(p))).collect()
        };
        let near = face(0.5 * length * if facing >= 0.0 { 1.0 } else { -1.0 });
        let side = hull(face(0.5 * length).into_iter().chain(face(-0.5 * length)).collect());
        self.polygon(svg, &side, -0.16, true);
        // The band of light along the side, as on a bar; a disc seen flat has no side to speak of.
        let r = radius * self.view.scale;
        let seen = (spine[1][0] - spine[0][0]).hypot(spine[1][1] - spine[0][1]);
        if facing.abs() < 0.5 && seen > 2.0 * r && r > 2.5 {
            let across = self.view.toward - axis * facing;
            let lit = (across.normalize_or_zero() + self.view.up * 0.6).normalize_or_zero() * radius;
            let ends =
                [-0.5, 0.5].map(|e| self.view.at(pose.transform_point(Vector::X * (e * length)) + lit));
            let _ = write!(
                svg,
                "<path d=\"M{} {}L{} {}\" stroke=\"#fff\" stroke-width=\"{}\" stroke-linecap=\"butt\" opacity=\".25\"/>",
                n(ends[0][0]),
                n(ends[0][1]),
                n(ends[1][0]),
                n(ends[1][1]),
                n(0.4 * r)
            );
        }
        if facing.abs() > 0.03 {
            self.polygon(svg, &near, 0.06 + 0.12 * facing.abs(), true);
            if 2.0 * radius > length && r > 8.0 {
                let c = if facing >= 0.0 { spine[1] } else { spine[0] };
                let inner: Vec<Point> =
                    near.iter().map(|p| [0, 1].map(|k| c[k] + 0.8 * (p[k] - c[k]))).collect();
                let _ = write!(
                    svg,
                    "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1\" opacity=\".45\"/>",
                    path(&inner),
                    hex(tone(self.color, -0.45))
                );
            }
        }
    }

    /// The faces that look at the viewer, far ones first.
    fn faces(&self, svg: &mut String, shape: &PlacedShape, pose: &Pose) {
        let is_box = matches!(shape.shape, Shape::Box(_));
        let local = PlacedShape { shape: shape.shape.clone(), pose: Pose::IDENTITY };
        let t = tessellate(&local, 1.0, Detail::FINE);
        let mut seen = Vec::new();
        // Boxes come as quads of two triangles on four corners, meshes as single triangles on three.
        let corners = if is_box { 4 } else { 3 };
        for (points, normals) in t.positions.chunks(corners).zip(t.normals.chunks(corners)) {
            let normal = pose.rotation * normals[0];
            if normal.dot(self.view.toward) > 1e-6 {
                let world: Vec<Vector> = points.iter().map(|p| pose.transform_point(*p)).collect();
                let depth = world.iter().map(|p| self.view.depth(*p)).sum::<f64>();
                seen.push((depth, self.light(normal), world));
            }
        }
        seen.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, light, world) in seen {
            let page: Vec<Point> = world.iter().map(|p| self.view.at(*p)).collect();
            self.polygon(svg, &page, light, is_box);
        }
    }

    /// `light` runs from -1 (black) to 1 (white); without an edge the rim takes the face's colour and hides seams.
    fn polygon(&self, svg: &mut String, points: &[Point], light: f64, with_edge: bool) {
        let fill = hex(tone(self.color, light));
        let stroke = if with_edge { hex(tone(self.color, -0.45)) } else { fill.clone() };
        let width = if with_edge { 1.2 } else { 0.4 };
        let _ = write!(
            svg,
            "<path d=\"{}\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"{width}\"/>",
            path(points)
        );
    }

    /// How much lighter or darker than its colour a face with this normal is.
    fn light(&self, normal: Vector) -> f64 {
        let v = self.view;
        let sun = (v.up * 0.75 - v.right * 0.35 + v.toward * 0.55).normalize();
        0.38 * normal.dot(sun) - 0.12
    }
}

/// Width of an outline that does not drown a small shape of this radius.
fn edge(r: f64) -> f64 {
    (0.3 * r).min(1.3)
}

/// Lighter (towards white) or darker (towards black).
pub(super) fn tone(c: [f64; 3], by: f64) -> [f64; 3] {
    c.map(|x| if by >= 0.0 { x + (1.0 - x) * by } else { x * (1.0 + by) })
}

/// `#rrggbb`.
pub(super) fn hex(c: [f64; 3]) -> String {
    let [r, g, b] = c.map(|x| (x.clamp(0.0, 1.0) * 255.0).round() as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// A page coordinate: a hundredth of a pixel is enough, and nothing that is not a number leaves this function.
pub(super) fn n(x: f64) -> f64 {
    if x.is_finite() { (x.clamp(-1e6, 1e6) * 100.0).round() / 100.0 + 0.0 } else { 0.0 }
}

/// The closed path through these points.
pub(super) fn path(points: &[Point]) -> String {
    let mut d = String::new();
    for (i, p) in points.iter().enumerate() {
        let [x, y] = p.map(n);
        let _ = write!(d, "{}{x} {y}", if i == 0 { "M" } else { "L" });
    }
    d + "Z"
}

/// The convex hull (Andrew's monotone chain).
pub(super) fn hull(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let turn = |o: Point, a: Point, b: Point| (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
    let mut chain: Vec<Point> = Vec::new();
    let back: Vec<Point> = points.iter().rev().copied().collect();
    for half in [points, back] {
        let start = chain.len();
        for p in half {
            while chain.len() >= start + 2 && turn(chain[chain.len() - 2], chain[chain.len() - 1], p) <= 0.0 {
                chain.pop();
            }
            chain.push(p);
        }
        chain.pop();
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hull_of_a_square_with_points_inside() {
        let points = vec![[0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.5, 0.0]];
        assert_eq!(hull(points), vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]);
    }

    #[test]
    fn numbers_on_the_page_are_numbers() {
        assert_eq!([n(f64::NAN), n(f64::INFINITY), n(-0.001), n(1e99)], [0.0, 0.0, 0.0, 1e6]);
        assert_eq!(format!("{}", n(-0.001)), "0");
        assert_eq!(hex(tone([1.0, 0.0, 0.5], -1.0)), "#000000");
    }
}
