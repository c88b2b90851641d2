//! From where to look, and the map from the world to the page.

use crate::joint::{AngleKind, Direction, Joint, Mask};
use crate::math::{Matrix, Vector, trig, unit};
use crate::mechanism::Mechanism;
use crate::state::State;

/// An orthographic view. Pixels run right and down; depth grows towards the viewer.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub right: Vector,
    pub up: Vector,
    pub toward: Vector,
    /// Pixels per metre.
    pub scale: f64,
    /// Pixel of the world's origin.
    pub origin: [f64; 2],
}

impl View {
    /// Straight on for a planar mechanism, from a little above and aside for any other.
    pub fn choose(m: &Mechanism, s: &State, vertical: Vector) -> Self {
        let spread = Spread::of(m, s);
        let pins = common_pin_axis(m, s).filter(|n| spread.as_ref().is_none_or(|s| s.is_thin_along(*n)));
        let normal = pins.or_else(|| spread.as_ref().and_then(|spread| spread.plane(m, s)));
        let toward = match normal {
            Some(n) => facing(n),
            None => oblique(vertical, spread.and_then(|s| s.front(vertical))),
        };
        let up = unit(vertical - toward * toward.dot(vertical))
            .filter(|_| toward.dot(vertical).abs() < 0.999)
            .unwrap_or(if vertical == Vector::Y { -Vector::Z } else { Vector::Y });
        let up = unit(up - toward * toward.dot(up)).unwrap_or(Vector::Y);
        View { right: up.cross(toward), up, toward, scale: 1.0, origin: [0.0; 2] }
    }

    /// Page coordinates of a world point.
    pub fn at(&self, p: Vector) -> [f64; 2] {
        [self.origin[0] + self.scale * p.dot(self.right), self.origin[1] - self.scale * p.dot(self.up)]
    }

    /// Nearness to the viewer, in metres.
    pub fn depth(&self, p: Vector) -> f64 {
        p.dot(self.toward)
    }

    /// The world point of depth zero at a place on the page.
    pub fn lift(&self, [x, y]: [f64; 2]) -> Vector {
        self.right * ((x - self.origin[0]) / self.scale) - self.up * ((y - self.origin[1]) / self.scale)
    }

    /// Scales and moves so that the box `low..high` of the page fills the given frame, centred.
    pub fn fit(&mut self, low: [f64; 2], high: [f64; 2], frame: [f64; 4]) {
        let [left, top, right, bottom] = frame;
        let size = [0, 1].map(|k| (high[k] - low[k]).max(1e-9));
        self.scale = ((right - left) / size[0]).min((bottom - top) / size[1]);
        self.origin = [
            0.5 * (left + right) - self.scale * 0.5 * (low[0] + high[0]),
            0.5 * (top + bottom) - self.scale * 0.5 * (low[1] + high[1]),
        ];
    }
}

/// Of the two sides of a plane, the one from which x runs right (or, seen from above, z runs down).
fn facing(normal: Vector) -> Vector {
    if normal.dot(Vector::new(0.3, 0.5, 1.0)) < 0.0 { -normal } else { normal }
}

/// Towards a viewer who stands aside of the front (z, or -y when z is up) and looks down. What stands upright in a thin
/// layer has a front of its own, and is better seen from nearer to it.
fn oblique(vertical: Vector, front: Option<Vector>) -> Vector {
    let (aside, down) = if front.is_some() { (0.26, 0.17) } else { (0.56, 0.38) };
    let front = front.unwrap_or(if vertical == Vector::Y { Vector::Z } else { -Vector::Y });
    let flat = front * trig::cos(aside) + vertical.cross(front) * trig::sin(aside);
    flat * trig::cos(down) + vertical * trig::sin(down)
}

/// The direction about which everything turns, when there is one: all pins parallel, sliders across, nothing spatial.
fn common_pin_axis(m: &Mechanism, s: &State) -> Option<Vector> {
    let mut normal: Option<Vector> = None;
    let joints = || m.joints().iter().filter(|j| !m.is_inert(j));
    for joint in joints() {
        if let Some(axis) = turning_axis(joint) {
            let axis = unit(s.rotations[joint.frames[0].solid.index()] * axis)?;
            match normal {
                Some(n) if n.dot(axis).abs() < 0.999 => return None,
                Some(_) => {}
                None => normal = Some(axis),
            }
        }
    }
    let normal = normal?;
    let lies_in_plane = |j: &Joint| {
        if turning_axis(j).is_some() || j.lock == Mask::ALL {
            return true;
        }
        let axis = s.rotations[j.frames[0].solid.index()] * (j.frames[0].pose.rotation * Vector::X);
        let slider = locks_rotations(j, [true; 3]);
        slider && axis.dot(normal).abs() < 0.05
    };
    joints().all(lies_in_plane).then_some(normal)
}

/// The axis, in the first solid, about which a joint leaves the only rotation free.
fn turning_axis(j: &Joint) -> Option<Vector> {
    if locks_rotations(j, [false, true, true]) {
        return Some(j.frames[0].pose.rotation * Vector::X);
    }
    j.angle.filter(|a| a.kind() == AngleKind::Aligned).map(|a| a.a1)
}

fn locks_rotations(j: &Joint, want: [bool; 3]) -> bool {
    [Direction::R1, Direction::R2, Direction::R3].map(|d| j.lock.has(d)) == want
}

/// How far the joints and centres reach in three perpendicular directions, the narrowest first.
struct Spread {
    axes: [Vector; 3],
    /// Root of the second moment along each axis.
    widths: [f64; 3],
    moments: Matrix,
}

impl Spread {
    /// `None` for too few points, or points that are not finite.
    fn of(m: &Mechanism, s: &State) -> Option<Self> {
        let anchors = m.joints().iter().filter(|j| !m.is_inert(j)).flat_map(|j| &j.frames);
        let anchors = anchors.map(|f| s.pose(m, f.solid).transform_point(f.pose.translation));
        let moving = m.solids().iter().zip(&s.centers).filter(|(solid, _)| !solid.is_fixed());
        let points: Vec<Vector> = anchors.chain(moving.map(|(_, c)| *c)).collect();
        if points.iter().any(|p| !p.is_finite()) || points.len() < 4 {
            return None;
        }
        let mean = points.iter().sum::<Vector>() / points.len() as f64;
        let mut moments = Matrix::ZERO;
        for d in points.iter().map(|p| *p - mean) {
            moments += Matrix::from_cols(d * d.x, d * d.y, d * d.z);
        }
        if !moments.is_finite() {
            return None;
        }
        let e = parry3d_f64::math::SymmetricEigen::new(moments);
        let mut order = [0, 1, 2];
        order.sort_by(|a, b| e.eigenvalues[*a].total_cmp(&e.eigenvalues[*b]));
        let columns = [e.eigenvectors.x_axis, e.eigenvectors.y_axis, e.eigenvectors.z_axis];
        let axes = order.map(|i| columns[i].normalize_or_zero());
        Some(Self { axes, widths: order.map(|i| e.eigenvalues[i].max(0.0).sqrt()), moments })
    }

    /// Layers along this normal lie close enough to be read as one drawing.
    fn is_thin_along(&self, normal: Vector) -> bool {
        normal.dot(self.moments * normal).max(0.0).sqrt() < 0.15 * self.widths[2]
    }

    /// The normal of the plane in which everything lies, unless it lies on one line.
    fn plane(&self, m: &Mechanism, s: &State) -> Option<Vector> {
        let normal = self.axes[0];
        // A hinge that lies in the plane will leave it at the first move: flat by accident.
        let stays = |j: &Joint| {
            let axis = turning_axis(j).map(|a| s.rotations[j.frames[0].solid.index()] * a);
            axis.is_none_or(|a| a.dot(normal).abs() > 0.99)
        };
        let flat = self.widths[0] < 0.01 * self.widths[2] && self.widths[1] > 0.05 * self.widths[2];
        (flat && m.joints().iter().all(stays)).then_some(normal)
    }

    /// The horizontal direction from which an upright, thin mechanism shows itself.
    fn front(&self, vertical: Vector) -> Option<Vector> {
        let flat = facing(self.axes[0] - vertical * self.axes[0].dot(vertical));
        let thin = self.widths[0] < 0.25 * self.widths[1];
        unit(flat).filter(|_| thin && flat.length() > 0.9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::Frame;
    use crate::solid::{Solid, SolidId};

    fn two_pins(second_axis: Vector) -> (Mechanism, State) {
        let mut m = Mechanism::new();
        let a = m.add_solid(Solid::new("a")).unwrap();
        let b = m.add_solid(Solid::new("b").at(1.0, 0.5, 0.05)).unwrap();
        let pin = |s1, s2, at, axis| Joint::pin(Frame::axis(s1, at, axis), Frame::axis(s2, at, axis));
        m.add_joint(pin(SolidId::WORLD, a, Vector::ZERO, Vector::Z)).unwrap();
        m.add_joint(pin(a, b, Vector::X, second_axis)).unwrap();
        let s = State::new(&m);
        (m, s)
    }

    #[test]
    fn planar_mechanisms_are_seen_straight_on() {
        let (m, s) = two_pins(-Vector::Z);
        let v = View::choose(&m, &s, Vector::Y);
        assert!((v.toward - Vector::Z).length() < 1e-12 && (v.right - Vector::X).length() < 1e-12);
        let (m, s) = two_pins(Vector::new(0.0, 1.0, 1.0));
        let v = View::choose(&m, &s, Vector::Y);
        assert!(v.toward.dot(Vector::Z) < 0.99, "{}", v.toward);
        assert!(v.right.cross(v.up).dot(v.toward) > 0.999);
    }

    #[test]
    fn pages_map_back() {
        let (m, s) = two_pins(Vector::X);
        let mut v = View::choose(&m, &s, Vector::Y);
        v.fit([-1.0, -2.0], [3.0, 1.0], [10.0, 20.0, 410.0, 320.0]);
        let p = Vector::new(0.3, -0.2, 0.7);
        let back = v.lift(v.at(p)) + v.toward * v.depth(p);
        assert!((p - back).length() < 1e-12);
    }
}
