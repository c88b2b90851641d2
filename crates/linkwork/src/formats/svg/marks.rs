//! What is drawn besides the solids: ground, joints, gaps, scale.

use super::ink::{Point, n};
use super::view::View;
use crate::formats::figure::{Figure, Part};
use crate::formats::gap::Gap;
use crate::joint::{Direction, Joint, JointId, Region};
use crate::math::{Pose, Vector, perpendicular};
use crate::mechanism::Mechanism;
use crate::shape::{PlacedShape, Shape};
use crate::state::State;
use std::fmt::Write;

/// Labels beyond the longest so many gaps would only cover each other.
const LABELLED_GAPS: usize = 24;

/// Half spaces: a grid in perspective, or a hatched line when seen from the side.
pub(super) fn planes(svg: &mut String, view: &View, figure: &Figure, page: [f64; 4]) {
    for part in &figure.parts {
        for plane in part.shapes.iter().filter(|s| matches!(s.shape, Shape::Plane)) {
            let (foot, normal) = foot_on_plane(figure, part, plane);
            if side_of_plane(view, figure, part, plane).is_some() {
                let (center, along) = (view.at(foot), perpendicular_on_page(view, normal));
                let reach = (page[2] - page[0]) + (page[3] - page[1]);
                hatched_line(svg, center, along, reach, view.at(foot - normal), page);
            } else {
                grid(svg, view, foot, normal, figure.radius);
            }
        }
    }
}

/// The place of a plane nearest to the figure, and its normal.
fn foot_on_plane(figure: &Figure, part: &Part, plane: &PlacedShape) -> (Vector, Vector) {
    let pose = part.pose * plane.pose;
    let normal = pose.rotation * Vector::X;
    (figure.center - normal * normal.dot(figure.center - pose.translation), normal)
}

/// The same place, when the shape is a plane that is seen from the side.
pub(super) fn side_of_plane(
    view: &View,
    figure: &Figure,
    part: &Part,
    shape: &PlacedShape,
) -> Option<Vector> {
    let (foot, normal) = foot_on_plane(figure, part, shape);
    (matches!(shape.shape, Shape::Plane) && normal.dot(view.toward).abs() < 0.05).then_some(foot)
}

/// Direction of a plane's line when it is seen from the side.
fn perpendicular_on_page(view: &View, normal: Vector) -> Point {
    let along = normal.cross(view.toward).normalize_or_zero();
    [along.dot(view.right), -along.dot(view.up)]
}

/// A line with strokes on the side of `below`, kept inside the page.
fn hatched_line(svg: &mut String, c: Point, along: Point, reach: f64, below: Point, page: [f64; 4]) {
    const STEP: f64 = 14.0;
    let count = (reach / STEP).min(1000.0) as i64;
    let inside = |p: Point| p[0] > page[0] && p[0] < page[2] && p[1] > page[1] && p[1] < page[3];
    let side = if (below[0] - c[0]) * -along[1] + (below[1] - c[1]) * along[0] >= 0.0 { 1.0 } else { -1.0 };
    let at = |i: i64| [0, 1].map(|k| c[k] + along[k] * STEP * i as f64);
    let seen: Vec<i64> = (-count..=count).filter(|i| inside(at(*i))).collect();
    let (Some(first), Some(last)) = (seen.first(), seen.last()) else { return };
    let ([x1, y1], [x2, y2]) = (at(*first).map(n), at(*last).map(n));
    let mut d = format!("M{x1} {y1}L{x2} {y2}");
    for i in &seen[1..] {
        let p = at(*i);
        let foot =
            [p[0] - 8.0 * along[0] - 8.0 * side * along[1], p[1] - 8.0 * along[1] + 8.0 * side * along[0]];
        let _ = write!(d, "M{} {}L{} {}", n(p[0]), n(p[1]), n(foot[0]), n(foot[1]));
    }
    let _ = writeln!(svg, "<path class=\"line\" d=\"{d}\"/>");
}

/// Squares of a round size under the mechanism.
fn grid(svg: &mut String, view: &View, center: Vector, normal: Vector, radius: f64) {
    let (u, reach) = (perpendicular(normal), 1.15 * radius);
    let v = normal.cross(u);
    let step = round_length(radius / 3.0);
    let lines = (reach / step) as i64;
    // Lines stay where they are when the mechanism moves: multiples of the step in the plane's own axes.
    let start = |w: Vector| (center.dot(w) / step).round() * step - center.dot(w);
    let corner = |a: f64, b: f64| view.at(center + u * (start(u) + a) + v * (start(v) + b));
    let mut d = String::new();
    let reach = lines as f64 * step;
    for i in -lines..=lines {
        let s = i as f64 * step;
        for [a, b] in [[corner(s, -reach), corner(s, reach)], [corner(-reach, s), corner(reach, s)]] {
            let _ = write!(d, "M{} {}L{} {}", n(a[0]), n(a[1]), n(b[0]), n(b[1]));
        }
    }
    let _ = writeln!(svg, "<path class=\"grid\" d=\"{d}\"/>");
}

/// Joints to what is fixed and unseen: a bearing on hatched ground, or a rail for what slides.
pub(super) fn bearings(svg: &mut String, view: &View, m: &Mechanism, s: &State, size: f64, reach: f64) {
    let mut d = String::new();
    for (joint, k, pose) in grounded(m, s) {
        let [x, y] = view.at(pose.translation);
        if !(x.is_finite() && y.is_finite()) {
            continue;
        }
        if let Some(ends) = rail(joint, k, pose, s.pose(m, joint.frames[1].solid), reach) {
            rail_path(&mut d, ends.map(|e| view.at(e)), size);
        } else if joint.lock.has(Direction::T1) {
            let (w, h) = (0.8 * size, 1.15 * size);
            let _ = write!(d, "M{} {}L{} {}H{}Z", n(x), n(y), n(x + w), n(y + h), n(x - w));
            let _ = write!(d, "M{} {}H{}", n(x - 1.6 * w), n(y + h), n(x + 1.6 * w));
            for i in 0..5 {
                let foot = x - 1.1 * w + 0.6 * w * f64::from(i);
                let _ = write!(d, "M{} {}l{} {}", n(foot), n(y + h), n(-0.4 * size), n(0.4 * size));
            }
        }
    }
    if !d.is_empty() {
        let _ = writeln!(svg, "<path class=\"bearing\" d=\"{d}\"/>");
    }
}

/// Joints with a side on something fixed that is not drawn: which side, and its frame in the world.
pub(super) fn grounded<'m>(m: &'m Mechanism, s: &'m State) -> impl Iterator<Item = (&'m Joint, usize, Pose)> {
    let unseen = |j: &Joint, k: usize| {
        let solid = m.solid(j.frames[k].solid);
        solid.is_fixed() && solid.shapes.is_empty()
    };
    m.joints().iter().filter(|j| !m.is_inert(j) && !j.lock.is_empty()).filter_map(move |j| {
        let k = [0, 1].into_iter().find(|k| unseen(j, *k))?;
        Some((j, k, s.pose(m, j.frames[k].solid) * j.frames[k].pose))
    })
}

/// The line along which a joint lets its point slide on the fixed side.
fn rail(joint: &Joint, fixed: usize, frame: Pose, solid2: Pose, reach: f64) -> Option<[Vector; 2]> {
    use Direction::{T1, T2, T3};
    let segment = joint.regions.iter().find_map(|r| match r {
        Region::Segment { axis, range } => Some((*axis, *range)),
        _ => None,
    });
    let (axis, range) = if let (1, Some((axis, range))) = (fixed, segment) {
        (solid2.rotation * axis, range)
    } else if joint.lock.has(T2) && joint.lock.has(T3) && !joint.lock.has(T1) {
        let limit = joint.limits.iter().find(|l| l.direction == T1).map(|l| l.range);
        // Limits count along frame 1; seen from frame 2 the rail runs the other way.
        let range = limit.unwrap_or(crate::joint::Range::FREE);
        (frame.rotation * if fixed == 0 { Vector::X } else { -Vector::X }, range)
    } else {
        return None;
    };
    let end = |x: f64, free: f64| if x.is_finite() { x } else { free };
    Some([end(range.min, -reach), end(range.max, reach)].map(|x| frame.translation + axis * x))
}

fn rail_path(d: &mut String, [a, b]: [Point; 2], size: f64) {
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    let length = dx.hypot(dy);
    if !(length.is_finite() && length > 1.0) {
        return;
    }
    let (ux, uy) = (dx / length, dy / length);
    // Strokes on the lower side of the page.
    let side = if ux >= 0.0 { 1.0 } else { -1.0 };
    let _ = write!(d, "M{} {}L{} {}", n(a[0]), n(a[1]), n(b[0]), n(b[1]));
    let count = (length / (0.6 * size)).clamp(2.0, 60.0) as i32;
    for i in 1..=count {
        let t = f64::from(i) / f64::from(count);
        let _ = write!(
            d,
            "M{} {}l{} {}",
            n(a[0] + dx * t),
            n(a[1] + dy * t),
            n(-0.4 * size * (ux + side * uy)),
            n(-0.4 * size * (uy - side * ux))
        );
    }
}

/// A dot where a joint is; a dash shows the axis of one that turns or slides about a visible axis.
///
/// What lies deep behind a surface is faint: a dot that seems to sit on the wrong solid misleads.
pub(super) fn joints(
    svg: &mut String,
    view: &View,
    m: &Mechanism,
    s: &State,
    closures: &[JointId],
    r: f64,
    hidden: &dyn Fn(Vector) -> bool,
) {
    let mut layers = [const { String::new() }; 6];
    let mut closes = vec![false; m.joints().len()];
    for id in closures {
        if let Some(flag) = closes.get_mut(id.index()) {
            *flag = true;
        }
    }
    for (joint, closes) in m.joints().iter().zip(closes) {
        let point = |k: usize| s.pose(m, joint.frames[k].solid) * joint.frames[k].pose;
        // The second side is where the moving point is (the first may be far away on a line or a plane) ...
        let slides = joint.lock.iter().filter(|d| !d.is_rotation()).count() < 3;
        // ... but regions speak of the first side's point in the second solid.
        let pose = point(if slides && joint.regions.is_empty() { 1 } else { 0 });
        let [x, y] = view.at(pose.translation);
        if !(x.is_finite() && y.is_finite()) || joint.lock.is_empty() && joint.regions.is_empty() {
            continue;
        }
        let axis = pose.rotation * Vector::X;
        let [dx, dy] = [axis.dot(view.right), -axis.dot(view.up)].map(|c| 2.6 * r * c);
        let one_axis = joint.lock.has(Direction::R2) && joint.lock.has(Direction::R3) && joint.lock.len() < 6;
        // A pin seen along its axis reaches through all layers and shows on top.
        let through = one_axis && axis.dot(view.toward).abs() > 0.9;
        let faint = (!through && hidden(pose.translation)) as usize;
        if one_axis && dx.hypot(dy) > 1.3 * r {
            let _ = write!(layers[3 * faint], "M{} {}L{} {}", n(x - dx), n(y - dy), n(x + dx), n(y + dy));
        }
        let _ = write!(
            layers[3 * faint + 1 + closes as usize],
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"/>",
            n(x),
            n(y),
            n(r)
        );
    }
    let drawn = [3, 4, 5, 0, 1, 2].map(|layer| (layer, &layers[layer]));
    for (layer, content) in drawn.into_iter().filter(|(_, c)| !c.is_empty()) {
        let faint = if layer >= 3 { " opacity=\".28\"" } else { "" };
        let _ = match layer % 3 {
            0 => {
                writeln!(svg, "<path class=\"axis\"{faint} stroke-width=\"{}\" d=\"{content}\"/>", n(0.7 * r))
            }
            kind => {
                let class = if kind == 1 { "dot" } else { "closure" };
                let line = n((0.3 * r).max(0.5));
                writeln!(svg, "<g class=\"{class}\"{faint} stroke-width=\"{line}\">{content}</g>")
            }
        };
    }
}

/// Red lines from where a point should be to where it is, with their lengths.
pub(super) fn gaps(svg: &mut String, view: &View, gaps: &[Gap], dot: f64) {
    let mut longest: Vec<usize> = (0..gaps.len()).collect();
    longest.sort_by(|a, b| gaps[*b].length().total_cmp(&gaps[*a].length()));
    let mut labels = String::new();
    let mut lines = String::new();
    let mut taken: Vec<Point> = Vec::new();
    for i in longest {
        let (a, b) = (view.at(gaps[i].from), view.at(gaps[i].to));
        if !a.iter().chain(&b).all(|x| x.is_finite()) {
            continue;
        }
        let ([x1, y1], [x2, y2]) = (a.map(n), b.map(n));
        let _ = write!(lines, "<path d=\"M{x1} {y1}L{x2} {y2}\"/>");
        for [x, y] in [[x1, y1], [x2, y2]] {
            let _ = write!(lines, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\"/>", n((0.75 * dot).max(1.6)));
        }
        // A gap too short to see has nothing to read either, and a label on another label cannot be read.
        let seen = (b[0] - a[0]).hypot(b[1] - a[1]);
        if seen < 6.0 || taken.len() >= LABELLED_GAPS {
            continue;
        }
        let (nx, ny) = ((b[1] - a[1]) / seen, -(b[0] - a[0]) / seen);
        let flip = if nx < 0.0 { -1.0 } else { 1.0 };
        let at = [0.5 * (a[0] + b[0]) + flip * nx * 9.0, 0.5 * (a[1] + b[1]) + flip * ny * 14.0 + 4.0];
        if taken.iter().all(|t| (t[0] - at[0]).abs() > 52.0 || (t[1] - at[1]).abs() > 13.0) {
            let label = metres(gaps[i].length());
            let _ = write!(labels, "<text x=\"{}\" y=\"{}\">{label}</text>", n(at[0]), n(at[1]));
            taken.push(at);
        }
    }
    if !lines.is_empty() {
        let _ = writeln!(svg, "<g class=\"gap\">{lines}</g>\n<g class=\"gap-label\">{labels}</g>");
    }
}

/// A bar of a round length at the lower left.
pub(super) fn scale_bar(svg: &mut String, view: &View, x: f64, y: f64) {
    let length = round_length(130.0 / view.scale);
    let px = length * view.scale;
    let _ = writeln!(
        svg,
        "<path class=\"line\" d=\"M{0} {1}v-6m0 3h{2}m0 -3v6\"/><text class=\"soft\" x=\"{3}\" y=\"{4}\">{5}</text>",
        n(x),
        n(y + 3.0),
        n(px),
        n(x + px + 8.0),
        n(y + 4.0),
        metres(length)
    );
}

/// The largest of 1, 2, 5 times a power of ten that is not above `x`.
fn round_length(x: f64) -> f64 {
    if !(x.is_finite() && x > 0.0) {
        return 1.0;
    }
    let power = libm::pow(10.0, libm::log10(x).floor());
    let lead = x / power;
    power
        * if lead >= 5.0 {
            5.0
        } else if lead >= 2.0 {
            2.0
        } else {
            1.0
        }
}

/// A length with three figures and a unit one would use for it.
fn metres(x: f64) -> String {
    let (value, unit) = match x.abs() {
        a if a >= 1e6 || (a < 1e-6 && a > 0.0) => return format!("{x:.2e} m"),
        a if a >= 1e3 => (x / 1e3, "km"),
        a if a >= 0.1 || a == 0.0 => (x, "m"),
        a if a >= 0.01 => (x * 100.0, "cm"),
        a if a >= 1e-3 => (x * 1e3, "mm"),
        _ => (x * 1e6, "µm"),
    };
    let text = if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else if value.abs() >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    };
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_well() {
        let seen = [0.0, 0.05, 0.2, 1.0, 1.2345, 12.0, 2000.0, 1e-4, 1e9].map(metres);
        assert_eq!(seen, ["0 m", "5 cm", "0.2 m", "1 m", "1.23 m", "12 m", "2 km", "100 µm", "1.00e9 m"]);
        for (x, expected) in [(3.0, 2.0), (0.7, 0.5), (1.0, 1.0), (99.0, 50.0), (f64::NAN, 1.0)] {
            assert!((round_length(x) - expected).abs() < 1e-12, "{x}");
        }
    }
}
