//! Flat plates with corners: a polygon of the x y plane that has a thickness along z. To everything else it is a mesh.

use super::{Mesh, PlacedShape};
use crate::math::Vector;
use std::sync::Arc;

/// A corner in the plane.
type Corner = [f64; 2];

/// More corners than a plate needs; cutting ears takes the square of it.
pub const MOST_CORNERS: usize = 256;

impl PlacedShape {
    /// A plate: corners in the x y plane, in the order in which its rim goes round, and a thickness along z, half of it on
    /// either side. Says what keeps them from being a plate.
    pub fn plate(thickness: f64, corners: &[[f64; 2]]) -> Result<Self, String> {
        let n = corners.len();
        if !(3..=MOST_CORNERS).contains(&n) {
            return Err(format!("a plate has 3 to {MOST_CORNERS} corners, not {n}"));
        }
        if corners.iter().flatten().any(|x| !x.is_finite()) || !(thickness > 0.0 && thickness.is_finite()) {
            return Err("a plate needs numbers for its corners and a thickness above zero".into());
        }
        let mut corners = corners.to_vec();
        let size = corners.iter().flatten().fold(0.0_f64, |most, x| most.max(x.abs()));
        let nothing = 1e-12 * size * size;
        if on_a_line(&corners, nothing) {
            return Err("the corners of the plate lie on one line".into());
        }
        // Before the area: the two halves of a bow tie cancel out.
        if let Some((i, j)) = crossing(&corners) {
            let side = |i: usize| format!("{} to {}", i + 1, (i + 1) % n + 1);
            let (one, other) = (side(i), side(j));
            return Err(format!(
                "the rim of the plate crosses itself: the side from corner {one} meets the one from {other}"
            ));
        }
        // Twice the area; the rim goes round counter-clockwise.
        let area: f64 = (0..n).map(|i| cross([0.0, 0.0], corners[i], corners[(i + 1) % n])).sum();
        if !(area.abs() > nothing) {
            return Err("the rim of the plate goes back on itself and encloses nothing".into());
        }
        if area < 0.0 {
            corners.reverse();
        }
        let faces = ears(&corners).ok_or("the rim of the plate crosses or touches itself")?;
        let level = |z: f64| corners.iter().map(move |c| Vector::new(c[0], c[1], z));
        let vertices: Vec<Vector> = level(0.5 * thickness).chain(level(-0.5 * thickness)).collect();
        let n = n as u32;
        let rim = (0..n).flat_map(|i| {
            let j = (i + 1) % n;
            [[n + i, n + j, j], [n + i, j, i]]
        });
        let triangles =
            faces.iter().flat_map(|&[a, b, c]| [[a, b, c], [n + c, n + b, n + a]]).chain(rim).collect();
        Ok(Self::mesh(Arc::new(Mesh { name: "plate".into(), vertices, triangles })))
    }
}

/// Twice the area of a triangle, positive where it goes round counter-clockwise.
fn cross(a: Corner, b: Corner, c: Corner) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Are all corners on the line from the first one to the one that is farthest from it?
fn on_a_line(corners: &[Corner], nothing: f64) -> bool {
    let a = corners[0];
    let far = |c: &Corner| (c[0] - a[0]).hypot(c[1] - a[1]);
    let b = corners.iter().copied().max_by(|c, d| far(c).total_cmp(&far(d))).unwrap_or(a);
    corners.iter().all(|&c| !(cross(a, b, c).abs() > nothing))
}

/// Two sides that meet and are no neighbours, by their first corners.
fn crossing(corners: &[Corner]) -> Option<(usize, usize)> {
    let n = corners.len();
    let side = |i: usize| (corners[i], corners[(i + 1) % n]);
    (0..n).flat_map(|i| ((i + 2)..n).map(move |j| (i, j))).filter(|(i, j)| (j + 1) % n != *i).find(
        |&(i, j)| {
            let ((a, b), (c, d)) = (side(i), side(j));
            (cross(a, b, c) > 0.0) != (cross(a, b, d) > 0.0)
                && (cross(c, d, a) > 0.0) != (cross(c, d, b) > 0.0)
        },
    )
}

/// The polygon in triangles: ears are cut off one by one. None where there is no ear, so no simple polygon.
fn ears(corners: &[Corner]) -> Option<Vec<[u32; 3]>> {
    let mut left: Vec<usize> = (0..corners.len()).collect();
    let mut found = Vec::with_capacity(corners.len() - 2);
    while left.len() > 3 {
        let n = left.len();
        let at = |k: usize| left[k % n];
        let inside = |[a, b, c]: [Corner; 3], p: Corner| {
            cross(a, b, p) >= 0.0 && cross(b, c, p) >= 0.0 && cross(c, a, p) >= 0.0
        };
        let ear = (0..n).find(|&k| {
            let (i, j, l) = (at(k), at(k + 1), at(k + 2));
            let ear = [corners[i], corners[j], corners[l]];
            // Corners on a line are cut off as well: a triangle without area does no harm inside a face.
            cross(ear[0], ear[1], ear[2]) >= 0.0
                && left.iter().all(|&p| p == i || p == j || p == l || !inside(ear, corners[p]))
        })?;
        found.push([at(ear) as u32, at(ear + 1) as u32, at(ear + 2) as u32]);
        left.remove((ear + 1) % n);
    }
    found.push([left[0] as u32, left[1] as u32, left[2] as u32]);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn mesh(corners: &[Corner]) -> Arc<Mesh> {
        let Shape::Mesh(mesh) = PlacedShape::plate(0.2, corners).expect("a plate").shape else {
            panic!("a mesh")
        };
        mesh
    }

    /// Six times the volume, by the divergence theorem.
    fn volume(mesh: &Mesh) -> f64 {
        let corner = |i: u32| mesh.vertices[i as usize];
        mesh.triangles.iter().map(|&[a, b, c]| corner(a).dot(corner(b).cross(corner(c)))).sum::<f64>() / 6.0
    }

    /// Whichever way round, convex or not, with corners on a side: closed, outwards, of the right volume.
    #[test]
    fn plates_are_closed_and_have_their_volume() {
        let triangle = vec![[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]];
        let back: Vec<Corner> = triangle.iter().rev().copied().collect();
        let arrow = vec![[0.0, 0.0], [2.0, 1.0], [0.0, 2.0], [0.5, 1.0]];
        let square = vec![[1.0, 1.0], [2.0, 1.0], [3.0, 1.0], [3.0, 3.0], [1.0, 3.0]];
        let comb = vec![
            [0.0, 0.0],
            [5.0, 0.0],
            [5.0, 2.0],
            [4.0, 2.0],
            [4.0, 1.0],
            [3.0, 1.0],
            [3.0, 2.0],
            [0.0, 2.0],
        ];
        for (corners, area) in [(triangle, 1.0), (back, 1.0), (arrow, 1.5), (square, 4.0), (comb, 9.0)] {
            let mesh = mesh(&corners);
            assert_eq!(mesh.hollow(), None, "{corners:?}");
            assert!((volume(&mesh) - 0.2 * area).abs() < 1e-12, "{corners:?}: {}", volume(&mesh));
            assert_eq!(mesh.triangles.len(), 4 * corners.len() - 4);
        }
    }

    /// What is no polygon is told, not guessed.
    #[test]
    fn what_is_no_plate_is_refused() {
        let why = |corners: &[Corner]| PlacedShape::plate(0.1, corners).expect_err("no plate");
        assert!(why(&[[0.0, 0.0], [1.0, 0.0]]).contains("3 to 256 corners, not 2"));
        assert!(why(&[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]).contains("one line"));
        assert!(why(&[[0.0, 0.0], [2.0, 2.0], [2.0, 0.0], [0.0, 1.0]]).contains("crosses itself"));
        // A bow tie has no area on balance, and is no line.
        let bow = why(&[[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]);
        assert!(
            bow.contains("crosses itself: the side from corner 1 to 2 meets the one from 3 to 4"),
            "{bow}"
        );
        assert!(why(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]).contains("encloses nothing"));
        assert!(why(&[[0.0, 0.0], [f64::NAN, 0.0], [0.0, 1.0]]).contains("numbers"));
        assert!(PlacedShape::plate(0.0, &[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).is_err());
    }
}
