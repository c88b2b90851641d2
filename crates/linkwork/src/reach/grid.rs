//! The cells that a reach is made of: squares of a plane where all of it lies in one, cubes otherwise.

use crate::math::{Matrix, Vector};

/// Number of a cell along the three axes; the last is zero in a plane.
pub(super) type Key = [i32; 3];

/// Shares of the largest spread below which there is none.
const FLAT: f64 = 1e-9;

pub(super) struct Grid {
    pub cell: f64,
    pub dimensions: usize,
    /// Along the cells; in a plane the third is its normal.
    pub axes: [Vector; 3],
    origin: Vector,
    flat: bool,
    /// Cells beyond are not looked at.
    least: Key,
    most: Key,
}

impl Grid {
    /// About places that were got to; `near` is where it ends if the reach does not. Nothing if all is one point.
    pub fn new(
        points: &[Vector],
        dimensions: usize,
        across: usize,
        size: f64,
        near: Option<Vector>,
    ) -> Option<Self> {
        let n = points.len() as f64;
        let origin = points.iter().copied().sum::<Vector>() / n;
        let mut spread = Matrix::ZERO;
        for p in points {
            let d = *p - origin;
            spread += Matrix::from_cols(d * d.x, d * d.y, d * d.z) / n;
        }
        let (axes, spreads) = self::spread(&spread);
        if dimensions == 0 || !(spreads[2] > 0.0) {
            return None;
        }
        let flat = dimensions == 2 && spreads[0] <= FLAT * spreads[2];
        let axes = if flat { plane(axes[0]) } else { [Vector::X, Vector::Y, Vector::Z] };
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for p in points {
            for k in 0..3 {
                let x = (*p - origin).dot(axes[k]);
                (low[k], high[k]) = (low[k].min(x), high[k].max(x));
            }
        }
        let mut reach = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
        if let Some(near) = near {
            // What has no end is looked at about where it is.
            reach = reach.min(size);
            for k in 0..3 {
                let x = (near - origin).dot(axes[k]);
                (low[k], high[k]) = (low[k].max(x - 0.5 * size), high[k].min(x + 0.5 * size));
            }
        }
        let cells = match (dimensions, flat) {
            (1, _) => 3 * across / 2,
            (2, true) => across,
            (2, false) => across / 2,
            _ => across * 2 / 5,
        };
        let cell = reach / cells.max(2) as f64;
        // What is got to first does not have to be all of it.
        let room = if near.is_some() { 0 } else { cells as i32 };
        let key = |x: &[f64; 3], by: i32| {
            std::array::from_fn(|k| if flat && k == 2 { 0 } else { (x[k] / cell).floor() as i32 + by })
        };
        Some(Self { cell, dimensions, axes, origin, flat, least: key(&low, -room), most: key(&high, room) })
    }

    pub fn is_flat(&self) -> bool {
        self.flat
    }

    pub fn key(&self, p: Vector) -> Key {
        let d = p - self.origin;
        std::array::from_fn(|k| {
            if self.flat && k == 2 { 0 } else { (d.dot(self.axes[k]) / self.cell).floor() as i32 }
        })
    }

    pub fn has(&self, key: &Key) -> bool {
        (0..3).all(|k| (self.least[k]..=self.most[k]).contains(&key[k]))
    }

    /// Where the middle of a cell is.
    pub fn middle(&self, key: &Key) -> Vector {
        let along = |k: usize| self.axes[k] * ((f64::from(key[k]) + 0.5) * self.cell);
        let across = if self.flat { Vector::ZERO } else { along(2) };
        self.origin + along(0) + along(1) + across
    }

    /// How far a place is from the middle of its cell.
    pub fn off(&self, key: &Key, p: Vector) -> f64 {
        let d = p - self.middle(key);
        let across = if self.flat { d.dot(self.axes[2]) } else { 0.0 };
        (d - self.axes[2] * across).length()
    }

    /// The cells beside one: those that share a face with it in a volume, else corners as well.
    pub fn beside(&self, key: &Key) -> Vec<Key> {
        let mut found = Vec::new();
        let deep = if self.flat { 0..=0 } else { -1..=1 };
        for z in deep {
            for y in -1..=1 {
                for x in -1..=1 {
                    let faces = i32::abs(x) + i32::abs(y) + i32::abs(z);
                    if faces == 1 || (faces > 1 && self.dimensions < 3) {
                        found.push([key[0] + x, key[1] + y, key[2] + z]);
                    }
                }
            }
        }
        found
    }
}

/// Two axes in the plane across a normal, along those of the world where that can be, and the normal.
fn plane(normal: Vector) -> [Vector; 3] {
    let mut n = normal;
    // The side that faces the axes: the same for the same plane.
    if n.x + n.y + n.z < 0.0 {
        n = -n;
    }
    for axis in [Vector::X, Vector::Y, Vector::Z] {
        if n.dot(axis).abs() > 1.0 - 1e-6 {
            n = axis;
        }
    }
    let least = if n.x.abs() < 0.9 { Vector::X } else { Vector::Y };
    let u = (least - n * n.dot(least)).normalize();
    [u, n.cross(u), n]
}

/// Axes and sizes of a symmetric matrix, the smallest first: Jacobi's rotations.
pub(super) fn spread(a: &Matrix) -> ([Vector; 3], [f64; 3]) {
    let mut a = [a.x_axis.to_array(), a.y_axis.to_array(), a.z_axis.to_array()];
    let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..16 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q].abs() <= f64::MIN_POSITIVE {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + (1.0 + theta * theta).sqrt());
            let c = 1.0 / (1.0 + t * t).sqrt();
            let s = t * c;
            for row in &mut a {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
            for k in 0..3 {
                (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
            }
            for row in &mut v {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|i, j| a[*i][*i].total_cmp(&a[*j][*j]));
    let axis = |k: usize| Vector::new(v[0][k], v[1][k], v[2][k]);
    (order.map(axis), order.map(|k| a[k][k]))
}
