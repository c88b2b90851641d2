//! The painter's order: what is behind is drawn first.
//!
//! Sorting by the middle alone fails for long bars that cross. So wherever two shapes overlap on the page, rays ask
//! which one is nearer there, and the order respects the answers; a cycle is cut where the middle is farthest.

use super::ink::{Ink, Point};
use super::view::View;
use crate::math::{Pose, Vector};
use parry3d_f64::query::Ray;
use parry3d_f64::shape::Shape;

/// Beyond this many shapes the middle decides: a picture of thousands shows no crossing anyway.
const MOST_COMPARED: usize = 700;
/// Places asked along each side of the overlap.
const GRID: usize = 6;
/// Depth differences below this share of the larger shape's size are no reason to order.
const ALIKE: f64 = 1e-3;

/// Indices of the inks, farthest first.
pub(super) fn back_to_front(view: &View, inks: &[Ink], bodies: &[Option<Body>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..inks.len()).collect();
    order.sort_by(|a, b| inks[*a].depth.total_cmp(&inks[*b].depth));
    if bodies.is_empty() {
        return order;
    }
    // in_front[a]: those that must come after a; waiting[b]: how many must come before b.
    let mut in_front = vec![Vec::new(); inks.len()];
    let mut waiting = vec![0_usize; inks.len()];
    for a in 0..inks.len() {
        for b in a + 1..inks.len() {
            let (back, front) = match compare(view, (&inks[a], &bodies[a]), (&inks[b], &bodies[b])) {
                d if d > 0.0 => (b, a),
                d if d < 0.0 => (a, b),
                _ => continue,
            };
            in_front[back].push(front);
            waiting[front] += 1;
        }
    }
    let mut sorted = Vec::with_capacity(inks.len());
    while !order.is_empty() {
        // The farthest that waits for nobody, or in a cycle simply the farthest.
        let next = order.iter().position(|i| waiting[*i] == 0).unwrap_or(0);
        let i = order.remove(next);
        for f in &in_front[i] {
            waiting[*f] = waiting[*f].saturating_sub(1);
        }
        sorted.push(i);
    }
    sorted
}

/// What rays can hit, for each ink; nothing at all when there are too many.
pub(super) fn bodies(inks: &[Ink]) -> Vec<Option<Body>> {
    if inks.len() > MOST_COMPARED { Vec::new() } else { inks.iter().map(Body::new).collect() }
}

/// Is some surface more than `slack` nearer to the viewer than this point?
pub(super) fn is_hidden(view: &View, inks: &[Ink], bodies: &[Option<Body>], p: Vector, slack: f64) -> bool {
    let [x, y] = view.at(p);
    inks.iter().zip(bodies).any(|(ink, body)| {
        let [left, top, right, bottom] = ink.bounds;
        let Some(body) = body.as_ref().filter(|_| left < x && x < right && top < y && y < bottom) else {
            return false;
        };
        let far = ink.depth.max(view.depth(p)) + (right - left + bottom - top) / view.scale;
        body.depth_at(view, far, [x, y]).is_some_and(|d| d > view.depth(p) + slack)
    })
}

/// A shape that rays can hit.
pub(super) struct Body {
    shape: Box<dyn Shape>,
    pose: Pose,
}

impl Body {
    fn new(ink: &Ink) -> Option<Self> {
        let pose = ink.pose * ink.shape.collider_turn();
        ink.shape.collider().ok().map(|shape| Body { shape, pose })
    }

    /// Depth of the surface seen at a place on the page.
    fn depth_at(&self, view: &View, far: f64, at: Point) -> Option<f64> {
        let ray = Ray::new(view.lift(at) + view.toward * far, -view.toward);
        self.shape.cast_ray(&self.pose, &ray, f64::MAX, true).map(|t| far - t)
    }
}

/// Positive when `a` is in front of `b`, negative when behind, zero when it does not matter.
fn compare(view: &View, a: (&Ink, &Option<Body>), b: (&Ink, &Option<Body>)) -> f64 {
    let (Some(body_a), Some(body_b)) = (a.1, b.1) else { return 0.0 };
    let [l, t] = [0, 1].map(|k| a.0.bounds[k].max(b.0.bounds[k]));
    let [r, u] = [2, 3].map(|k| a.0.bounds[k].min(b.0.bounds[k]));
    if l >= r || t >= u {
        return 0.0;
    }
    let size = |i: &Ink| (i.bounds[2] - i.bounds[0]).max(i.bounds[3] - i.bounds[1]) / view.scale;
    let size = size(a.0).max(size(b.0));
    let far = a.0.depth.max(b.0.depth) + 2.0 * size;
    let mut verdict = 0.0_f64;
    let mut ask = |at: Point| {
        let hits = (body_a.depth_at(view, far, at), body_b.depth_at(view, far, at));
        if let (Some(da), Some(db)) = hits
            && (da - db).abs() > verdict.abs()
        {
            verdict = da - db;
        }
    };
    ask(crossing(a.0.spine, b.0.spine));
    for i in 0..GRID {
        for k in 0..GRID {
            let part = |i: usize| (i as f64 + 0.5) / GRID as f64;
            ask([l + (r - l) * part(i), t + (u - t) * part(k)]);
        }
    }
    if verdict.abs() > ALIKE * size { verdict } else { 0.0 }
}

/// Midway between the nearest places of two segments (near enough: each end point and the true crossing are tried).
fn crossing([a, b]: [Point; 2], [c, d]: [Point; 2]) -> Point {
    let lerp = |p: Point, q: Point, t: f64| [p[0] + (q[0] - p[0]) * t, p[1] + (q[1] - p[1]) * t];
    let dot = |u: Point, v: Point| u[0] * v[0] + u[1] * v[1];
    let minus = |p: Point, q: Point| [p[0] - q[0], p[1] - q[1]];
    let onto = |p: Point, a: Point, b: Point| {
        let (u, length) = (minus(b, a), dot(minus(b, a), minus(b, a)));
        lerp(a, b, if length > 0.0 { (dot(minus(p, a), u) / length).clamp(0.0, 1.0) } else { 0.0 })
    };
    let (u, v, w) = (minus(b, a), minus(d, c), minus(c, a));
    let det = u[0] * v[1] - u[1] * v[0];
    if det.abs() > 1e-9 {
        let t = (w[0] * v[1] - w[1] * v[0]) / det;
        let k = (w[0] * u[1] - w[1] * u[0]) / det;
        if (0.0..=1.0).contains(&t) && (0.0..=1.0).contains(&k) {
            return lerp(a, b, t);
        }
    }
    let pairs = [(a, onto(a, c, d)), (b, onto(b, c, d)), (c, onto(c, a, b)), (d, onto(d, a, b))];
    let gap = |(p, q): &(Point, Point)| dot(minus(*p, *q), minus(*p, *q));
    let nearest = pairs.iter().min_by(|x, y| gap(x).total_cmp(&gap(y)));
    nearest.map_or(a, |(p, q)| lerp(*p, *q, 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::figure::Figure;
    use crate::mechanism::Mechanism;
    use crate::shape::PlacedShape;
    use crate::solid::Solid;
    use crate::state::State;

    /// A long bar whose near end passes before a ball that is nearer than the bar's middle.
    #[test]
    fn a_bar_is_judged_where_it_crosses() {
        let mut m = Mechanism::new();
        let bar =
            PlacedShape::capsule_between(0.05, Vector::new(-4.0, 0.0, -4.0), Vector::new(4.0, 0.0, 4.0));
        m.add_solid(Solid::new("bar").with_shape(bar, 1.0)).unwrap();
        m.add_solid(Solid::new("ball").with_shape(PlacedShape::sphere(0.5), 1.0).at(3.0, 0.0, 1.0)).unwrap();
        m.add_solid(Solid::new("far").with_shape(PlacedShape::sphere(0.5), 1.0).at(-3.0, 0.0, -1.0)).unwrap();
        let s = State::new(&m);
        let view = View { right: Vector::X, up: Vector::Y, toward: Vector::Z, scale: 50.0, origin: [0.0; 2] };
        let figure = Figure::new(&m, &s);
        let inks: Vec<Ink> =
            figure.parts.iter().flat_map(|p| p.shapes.iter().filter_map(|s| Ink::new(&view, p, s))).collect();
        let bodies = bodies(&inks);
        let order = back_to_front(&view, &inks, &bodies);
        let place = |i: usize| order.iter().position(|x| *x == i).unwrap();
        assert!(place(1) < place(0), "the ball at x = 3 has depth 1, the bar there 3: {order:?}");
        assert!(is_hidden(&view, &inks, &bodies, Vector::new(3.0, 0.0, 1.0), 1.0));
        assert!(!is_hidden(&view, &inks, &bodies, Vector::new(3.0, 0.0, 2.5), 1.0));
        assert!(place(0) < place(2), "the bar at x = -3 has depth -3, the ball -1: {order:?}");
    }
}
