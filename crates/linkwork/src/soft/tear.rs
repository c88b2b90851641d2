//! Tearing: springs that were pulled too long are gone, and with them faces, and pins that held too much.
//!
//! What is torn is part of the state, as a list of places in the bodies as they were made: a snapshot has it, and going back in
//! time mends it. A mechanism is worn by such a list: springs that are torn stay in their places without any force, and faces,
//! held vertices and pins follow from that.
//!
//! Of the springs that are too long at the end of a step only those tear that are strained most of all that they share a vertex
//! with: a rip runs on from step to step. Where one end is pinned, the pin lets go instead. A vertex of a sheet or a soft solid
//! keeps its last spring, which does not tear: a single one of them weighs nothing, what its springs stored would throw it out of
//! sight, and no piece of the surface is left of it.

use super::{SoftBody, SoftMesh};
use crate::mechanism::Mechanism;
use crate::solid::{Kernel, SolidId};
use crate::state::State;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Something that is torn: the body, and the number of the spring or, counted on behind all springs, of the vertex whose pin is.
pub type Torn = [u32; 2];

impl SoftMesh {
    /// One line of vertices.
    pub fn is_rope(&self) -> bool {
        matches!(self.sides.as_slice(), [_, 1])
    }

    /// The number of the spring between two vertices that lie beside each other in a rope, if it is torn.
    pub fn gaps(&self) -> Vec<u32> {
        let beside = self.springs.iter().filter(|s| self.is_rope() && s.is_torn());
        beside.filter(|s| s.ends[1] == s.ends[0] + 1).map(|s| s.ends[0]).collect()
    }

    /// The same body with these springs torn.
    fn torn(&self, gone: impl Iterator<Item = u32>) -> Self {
        let mut mesh = self.clone();
        for k in gone {
            if let Some(s) = mesh.springs.get_mut(k as usize) {
                (s.stiffness, s.damping, s.longest, s.tear) = (0.0, 0.0, f64::INFINITY, 0.0);
            }
        }
        let edges = edges(&mesh);
        let holds = |a: u32, b: u32| {
            edges.get(&[a.min(b), a.max(b)]).is_none_or(|k| !mesh.springs[*k as usize].is_torn())
        };
        let triangle = |t: &[u32; 3]| holds(t[0], t[1]) && holds(t[1], t[2]) && holds(t[2], t[0]);
        if mesh.tetrahedra.is_empty() {
            let triangles = mesh.triangles.iter().copied().filter(triangle).collect();
            mesh.triangles = triangles;
            return mesh;
        }
        let whole = |t: &[u32; 4]| {
            let [a, b, c, d] = *t;
            triangle(&[a, b, c]) && triangle(&[a, b, d]) && holds(c, d)
        };
        let tetrahedra: Vec<[u32; 4]> = mesh.tetrahedra.iter().copied().filter(whole).collect();
        mesh.triangles = outer_faces(&mesh.triangles, &self.tetrahedra, &tetrahedra);
        mesh.tetrahedra = tetrahedra;
        mesh
    }
}

/// Springs that join two vertices, by their ends in order; the first of several.
fn edges(mesh: &SoftMesh) -> BTreeMap<[u32; 2], u32> {
    let mut edges = BTreeMap::new();
    for (k, s) in mesh.springs.iter().enumerate() {
        let [a, b] = s.ends;
        edges.entry([a.min(b), a.max(b)]).or_insert(k as u32);
    }
    edges
}

/// Faces that one of the tetrahedra has which are left: those that were outside look the same way, others away from what is gone.
fn outer_faces(known: &[[u32; 3]], all: &[[u32; 4]], left: &[[u32; 4]]) -> Vec<[u32; 3]> {
    let sorted = |f: &[u32; 3]| {
        let mut key = *f;
        key.sort_unstable();
        key
    };
    let sides = |t: &[u32; 4]| {
        let [a, b, c, d] = *t;
        [[a, c, b], [a, b, d], [a, d, c], [b, c, d]]
    };
    // Which way a tetrahedron is turned is told by those of its faces that are known, and goes on from neighbour to neighbour.
    let mut count: BTreeMap<[u32; 3], Vec<[u32; 3]>> = BTreeMap::new();
    let outside: BTreeMap<[u32; 3], [u32; 3]> = known.iter().map(|f| (sorted(f), *f)).collect();
    let way = orient(all, &outside, sides, sorted);
    for t in left {
        for f in sides(t) {
            let turned = way.get(t).copied().unwrap_or(false);
            let f = if turned { [f[0], f[2], f[1]] } else { f };
            count.entry(sorted(&f)).or_default().push(f);
        }
    }
    count.into_values().filter(|f| f.len() == 1).map(|f| f[0]).collect()
}

/// Which tetrahedra are turned inside out, as the outer faces tell.
fn orient(
    all: &[[u32; 4]],
    outside: &BTreeMap<[u32; 3], [u32; 3]>,
    sides: impl Fn(&[u32; 4]) -> [[u32; 3]; 4],
    sorted: impl Fn(&[u32; 3]) -> [u32; 3],
) -> BTreeMap<[u32; 4], bool> {
    let even = |f: &[u32; 3]| {
        let low = (0..3).min_by_key(|k| f[*k]).unwrap_or(0);
        f[(low + 1) % 3] < f[(low + 2) % 3]
    };
    // Per face: whether the one behind it sees it even.
    let mut seen: BTreeMap<[u32; 3], bool> = outside.iter().map(|(k, f)| (*k, even(f))).collect();
    let mut way = BTreeMap::new();
    let mut waiting: Vec<&[u32; 4]> = all.iter().collect();
    loop {
        let before = waiting.len();
        waiting.retain(|t| {
            let faces = sides(t);
            let Some(f) = faces.iter().find(|f| seen.contains_key(&sorted(f))) else { return true };
            let turned = seen[&sorted(f)] != even(f);
            for f in &faces {
                // The neighbour sees it from the other side.
                seen.entry(sorted(f)).or_insert(even(f) == turned);
            }
            way.insert(**t, turned);
            false
        });
        if waiting.is_empty() || waiting.len() == before {
            return way;
        }
    }
}

impl Mechanism {
    /// What is torn of it.
    pub fn torn(&self) -> &[Torn] {
        &self.torn
    }

    /// Makes it a mechanism of which exactly this is torn; what was torn before is mended.
    pub fn wear(&mut self, torn: &[Torn]) {
        if self.torn == torn {
            return;
        }
        if self.whole.is_empty() {
            self.whole = self.softs.iter().map(|s| s.mesh.clone()).collect();
        }
        let old = std::mem::replace(&mut self.torn, torn.to_vec());
        for pin in old.iter().filter(|p| !torn.contains(p)) {
            self.pin(*pin, true);
        }
        for pin in torn.iter().filter(|p| !old.contains(p)) {
            self.pin(*pin, false);
        }
        for k in 0..self.softs.len() {
            let of = |list: &[Torn]| -> Vec<u32> {
                list.iter().filter(|t| t[0] as usize == k).map(|t| t[1]).collect()
            };
            let now = of(torn);
            if now != of(&old) {
                let whole = &self.whole[k];
                self.softs[k].mesh =
                    if now.is_empty() { whole.clone() } else { Arc::new(whole.torn(now.into_iter())) };
            }
        }
        if self.torn.is_empty() {
            self.whole.clear();
        }
        self.renew();
    }

    /// Holds a vertex again that was pinned when it was made, or lets it go.
    fn pin(&mut self, [body, k]: Torn, holds: bool) {
        let Some(soft) = self.softs.get(body as usize) else { return };
        let Some(v) = k.checked_sub(soft.mesh.springs.len() as u32) else { return };
        if v as usize >= soft.vertices() {
            return;
        }
        let id = soft.vertex(v);
        let pins = self.pins_of(id);
        if pins.is_empty() {
            self.alter_solid(id, |s| s.kernel = if holds { Kernel::Fixed } else { Kernel::Dynamic });
        }
        for j in pins {
            self.alter_joint(j, |j| j.enabled = holds);
        }
    }

    /// Joints that pin a vertex to a solid.
    fn pins_of(&self, vertex: SolidId) -> Vec<crate::joint::JointId> {
        let name = format!("{}.pin", self.solid(vertex).name);
        let own = |j: &crate::joint::Joint| j.frames[1].solid == vertex && j.name == name;
        let all = self.joints().iter().enumerate().filter(|(_, j)| own(j));
        all.map(|(k, _)| crate::joint::JointId(k as u32)).collect()
    }
}

/// Tears what is too long at a state, of which `m` has what is torn already. Tells how many springs and pins that is.
pub(crate) fn tear(m: &Mechanism, s: &mut State) -> usize {
    let before = s.torn.len();
    for (body, soft) in m.softs().iter().enumerate() {
        let over = overlong(soft, s);
        if !over.is_empty() {
            rip(m, body, &over, s);
        }
    }
    s.torn.sort_unstable();
    s.torn.dedup();
    s.torn.len() - before
}

/// Springs that are too long, the most strained first.
fn overlong(soft: &SoftBody, s: &State) -> Vec<u32> {
    let length = |k: u32| {
        let [a, b] = soft.mesh.springs[k as usize].ends.map(|v| s.centers[soft.vertex(v).index()]);
        a.distance(b)
    };
    let is_over = |k: &u32| {
        let spring = &soft.mesh.springs[*k as usize];
        spring.tear.is_finite() && spring.tear > 0.0 && length(*k) > spring.tear
    };
    let mut over: Vec<u32> = (0..soft.mesh.springs.len() as u32).filter(is_over).collect();
    let strain = |k: &u32| length(*k) / soft.mesh.springs[*k as usize].length;
    over.sort_by(|a, b| strain(b).total_cmp(&strain(a)).then(a.cmp(b)));
    over
}

/// Tears the most strained of these springs, each two of which share no vertex, and what hangs on nothing then.
fn rip(m: &Mechanism, body: usize, over: &[u32], s: &mut State) {
    let soft = &m.softs()[body];
    let mesh = &soft.mesh;
    let count = mesh.springs.len() as u32;
    let mut done = vec![false; soft.vertices()];
    let held = |v: u32| {
        let id = soft.vertex(v);
        m.solid(id).kernel == Kernel::Fixed || m.pins_of(id).iter().any(|j| m.joint(*j).enabled)
    };
    let mut gone: Vec<u32> = Vec::new();
    let mut left = count_springs(mesh, soft.vertices());
    for k in over {
        let ends = mesh.springs[*k as usize].ends;
        if ends.iter().any(|v| done[*v as usize] || left[*v as usize] < 2) {
            continue;
        }
        ends.iter().for_each(|v| done[*v as usize] = true);
        match ends.map(held) {
            [true, false] => s.torn.push([body as u32, count + ends[0]]),
            [false, true] => s.torn.push([body as u32, count + ends[1]]),
            _ => {
                gone.push(*k);
                ends.iter().for_each(|v| left[*v as usize] -= 1);
            }
        }
        if mesh.is_rope() {
            // All of it pulls in a row: where it tears, the rest is rid of its load.
            break;
        }
    }
    if gone.is_empty() {
        return;
    }
    for k in loose(mesh, &mesh.torn(gone.iter().copied())) {
        let ends = mesh.springs[k as usize].ends;
        if ends.iter().all(|v| left[*v as usize] > 1) {
            gone.push(k);
            ends.iter().for_each(|v| left[*v as usize] -= 1);
        }
    }
    s.torn.extend(gone.into_iter().map(|k| [body as u32, k]));
}

/// How many springs each vertex has; those of ropes may lose all of them.
fn count_springs(mesh: &SoftMesh, vertices: usize) -> Vec<u32> {
    if mesh.triangles.is_empty() && mesh.tetrahedra.is_empty() && mesh.is_rope() {
        return vec![u32::MAX; vertices];
    }
    let mut count = vec![0; vertices];
    for v in mesh.springs.iter().filter(|s| !s.is_torn()).flat_map(|s| s.ends) {
        count[v as usize] += 1;
    }
    count
}

/// Springs of a body of which `left` is left that nothing carries any more: edges without a face, what spans faces that are gone.
fn loose(mesh: &SoftMesh, left: &SoftMesh) -> Vec<u32> {
    let cells = |mesh: &SoftMesh| -> Vec<Vec<u32>> {
        match mesh.tetrahedra.is_empty() {
            true => mesh.triangles.iter().map(|t| t.to_vec()).collect(),
            false => mesh.tetrahedra.iter().map(|t| t.to_vec()).collect(),
        }
    };
    let (had, has) = (cells(mesh), cells(left));
    let sides = |cells: &[Vec<u32>]| -> BTreeMap<[u32; 2], usize> {
        let mut sides = BTreeMap::new();
        for c in cells {
            for (i, a) in c.iter().enumerate() {
                for b in &c[i + 1..] {
                    *sides.entry([*a.min(b), *a.max(b)]).or_insert(0) += 1;
                }
            }
        }
        sides
    };
    let (was, is) = (sides(&had), sides(&has));
    // Per edge of a triangle that is left: the vertices across it.
    let mut across: BTreeMap<[u32; 2], Vec<u32>> = BTreeMap::new();
    for t in &left.triangles {
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            across.entry([a.min(b), a.max(b)]).or_default().push(t[(k + 2) % 3]);
        }
    }
    let spans: std::collections::BTreeSet<[u32; 2]> = across
        .values()
        .filter_map(|v| if let [a, b] = v[..] { Some([a.min(b), a.max(b)]) } else { None })
        .collect();
    let edges = edges(left);
    let holds = |a: u32, b: u32| {
        edges.get(&[a.min(b), a.max(b)]).is_some_and(|k| !left.springs[*k as usize].is_torn())
    };
    let carried = |ends: [u32; 2]| {
        let key = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        if was.contains_key(&key) {
            return is.contains_key(&key);
        }
        // Second neighbours of a grid or a rope.
        if let [nx, _] = mesh.sides[..]
            && (key[1] - key[0] == 2 || key[1] - key[0] == 2 * nx)
        {
            let middle = (key[0] + key[1]) / 2;
            return holds(key[0], middle) && holds(middle, key[1]);
        }
        spans.contains(&key) || had.is_empty()
    };
    let live = mesh.springs.iter().zip(&left.springs).enumerate().filter(|(_, (_, s))| !s.is_torn());
    live.filter(|(_, (s, _))| !carried(s.ends)).map(|(k, _)| k as u32).collect()
}
