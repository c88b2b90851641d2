//! Tetrahedral meshes in Gmsh's ASCII format, version 2 (the one every mesher can still write).

use crate::math::Vector;
use std::collections::HashMap;

/// Vertices and tetrahedra.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TetraMesh {
    /// The name the scene used.
    pub name: String,
    /// Positions in the mesh's frame.
    pub vertices: Vec<Vector>,
    /// Corner indices.
    pub tetrahedra: Vec<[u32; 4]>,
}

/// Most vertices or elements of a file.
const MOST: usize = 20_000_000;

/// Reads `$Nodes` and the 4-node tetrahedra of `$Elements`; other elements and sections are skipped.
/// Errors name the line.
pub fn read_msh(name: &str, bytes: &[u8]) -> Result<TetraMesh, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| format!("{name}: not a text file (save the mesh as ASCII, version 2)"))?;
    let mut lines =
        text.lines().enumerate().map(|(n, line)| (n + 1, line.trim())).filter(|(_, l)| !l.is_empty());
    let mut mesh = TetraMesh { name: name.to_owned(), ..TetraMesh::default() };
    let mut numbers = HashMap::new();
    let mut seen_format = false;
    while let Some((n, line)) = lines.next() {
        let fail = |n: usize, what: &str| format!("{name}:{n}: {what}");
        let mut count = || -> Result<usize, String> {
            let (n, line) = lines.next().ok_or_else(|| fail(n, "the file ends here"))?;
            line.parse().ok().filter(|c| *c <= MOST).ok_or_else(|| fail(n, "not a usable count"))
        };
        match line {
            "$MeshFormat" => {
                let (n, line) = lines.next().ok_or_else(|| fail(n, "the file ends here"))?;
                if !(line.starts_with("2.") && line.split_whitespace().nth(1) == Some("0")) {
                    return Err(fail(n, "only the ASCII format, version 2, is read"));
                }
                seen_format = true;
            }
            "$Nodes" => {
                for _ in 0..count()? {
                    let (n, line) = lines.next().ok_or_else(|| fail(n, "too few nodes"))?;
                    let mut words = line.split_whitespace();
                    let number: Option<u64> = words.next().and_then(|w| w.parse().ok());
                    let mut coordinate =
                        || words.next().and_then(|w| w.parse::<f64>().ok()).filter(|x| x.is_finite());
                    match (number, coordinate(), coordinate(), coordinate()) {
                        (Some(number), Some(x), Some(y), Some(z)) => {
                            if numbers.insert(number, mesh.vertices.len() as u32).is_some() {
                                return Err(fail(n, "a node number used twice"));
                            }
                            mesh.vertices.push(Vector::new(x, y, z));
                        }
                        _ => return Err(fail(n, "a node needs a number and three finite coordinates")),
                    }
                }
            }
            "$Elements" => {
                for _ in 0..count()? {
                    let (n, line) = lines.next().ok_or_else(|| fail(n, "too few elements"))?;
                    let words: Option<Vec<u64>> = line.split_whitespace().map(|w| w.parse().ok()).collect();
                    let words = words.ok_or_else(|| fail(n, "an element is a list of whole numbers"))?;
                    if words.get(1) != Some(&4) {
                        continue;
                    }
                    let tags = words.get(2).copied().unwrap_or(0).min(MOST as u64) as usize;
                    let corners: Vec<u32> =
                        words.iter().skip(3 + tags).filter_map(|w| numbers.get(w).copied()).collect();
                    let corners: [u32; 4] = corners
                        .try_into()
                        .map_err(|_| fail(n, "a tetrahedron needs four nodes that were listed before"))?;
                    mesh.tetrahedra.push(corners);
                }
            }
            _ => {}
        }
    }
    match (seen_format, mesh.tetrahedra.is_empty()) {
        (false, _) => Err(format!("{name}: no $MeshFormat section; this is not a .msh file")),
        (true, true) => Err(format!("{name}: no tetrahedra")),
        (true, false) => Ok(mesh),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n\
                       $EndNodes\n$Elements\n2\n1 15 2 0 1 1\n2 4 2 0 1 1 2 3 4\n$EndElements\n";

    #[test]
    fn one_tetrahedron() {
        let mesh = read_msh("one.msh", ONE.as_bytes()).unwrap();
        assert_eq!((mesh.vertices.len(), mesh.tetrahedra), (4, vec![[0, 1, 2, 3]]));
    }

    #[test]
    fn broken_files_name_their_line() {
        let broken = |from: &str, to: &str| read_msh("m", ONE.replace(from, to).as_bytes()).unwrap_err();
        assert!(broken("2.2 0 8", "4.1 0 8").starts_with("m:2:"));
        assert!(broken("3 0 1 0", "3 0 nan 0").starts_with("m:8:"));
        assert!(broken("1 2 3 4\n", "1 2 3 9\n").contains("four nodes"));
        assert!(broken("$MeshFormat", "$Mesh").contains("not a .msh file"));
        assert!(read_msh("m", b"$MeshFormat\n2.2 0 8\n$Nodes\n99999999999\n").is_err());
    }
}
