//! Who may touch whom: a tree of bounding boxes over the faces of a surface, laid out once, with boxes of its own in every step.
//!
//! Boxes are fitted to faces on their way through a step; a tree against a tree, or against itself, tells all pairs of faces
//! whose boxes meet. The order of the faces depends on the first places alone, and the pairs come in the order of the tree.
//!
//! Neighbours always meet, so most pairs of a smooth sheet are nothing but that. A part of a sheet that was cut in one piece and
//! whose normals all look the same way does not touch itself (Volino and Magnenat-Thalmann 1994), and is passed over.

use crate::math::Vector;

/// A box.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub low: Vector,
    pub high: Vector,
}

impl Bounds {
    pub const NOTHING: Bounds = Bounds { low: Vector::INFINITY, high: Vector::NEG_INFINITY };

    pub fn add(&mut self, p: Vector) {
        (self.low, self.high) = (self.low.min(p), self.high.max(p));
    }

    pub fn with(&self, other: &Bounds) -> Bounds {
        Bounds { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    pub fn grown(&self, by: f64) -> Bounds {
        Bounds { low: self.low - Vector::splat(by), high: self.high + Vector::splat(by) }
    }

    /// Of normals: all of them look the same way.
    fn is_narrow(&self) -> bool {
        let middle = self.low + self.high;
        let least = (self.low * middle).min(self.high * middle);
        least.element_sum() > SMOOTH * middle.length()
    }

    pub fn meets(&self, other: &Bounds) -> bool {
        self.low.cmple(other.high).all() && other.low.cmple(self.high).all()
    }
}

/// Faces in the order of the leaves, and the boxes of all nodes: a node's first half follows it, the second comes after that.
#[derive(Default)]
pub(super) struct Tree {
    faces: Vec<u32>,
    boxes: Vec<Bounds>,
    /// Of a surface in one piece, flat and convex: boxes around its first places, and around its normals now.
    seats: Vec<Bounds>,
    normals: Vec<Bounds>,
}

/// Normals that are so far from their middle, by the cosine, look the same way.
const SMOOTH: f64 = 0.5;

/// A node: its place among the boxes, and the leaves below it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Node {
    at: u32,
    first: u32,
    end: u32,
}

impl Node {
    fn is_leaf(&self) -> bool {
        self.end - self.first == 1
    }

    fn halves(&self) -> [Node; 2] {
        let middle = self.first + (self.end - self.first) / 2;
        let after = self.at + 2 * (middle - self.first);
        [
            Node { at: self.at + 1, first: self.first, end: middle },
            Node { at: after, first: middle, end: self.end },
        ]
    }
}

impl Tree {
    /// Lays it out: halves along the longest side, again and again.
    pub fn new(centers: &[Vector]) -> Self {
        let mut faces: Vec<u32> = (0..centers.len() as u32).collect();
        let mut parts: Vec<std::ops::Range<usize>> = std::iter::once(0..faces.len()).collect();
        while let Some(part) = parts.pop() {
            if part.len() < 2 {
                continue;
            }
            let own = &mut faces[part.clone()];
            let mut b = Bounds::NOTHING;
            own.iter().for_each(|f| b.add(centers[*f as usize]));
            let side = (b.high - b.low).to_array();
            let axis = (0..3).fold(0, |best, k| if side[k] > side[best] { k } else { best });
            let key = |f: &u32| centers[*f as usize].to_array()[axis];
            own.select_nth_unstable_by(part.len() / 2, |a, b| {
                key(a).total_cmp(&key(b)).then_with(|| a.cmp(b))
            });
            let middle = part.start + part.len() / 2;
            parts.extend([part.start..middle, middle..part.end]);
        }
        let boxes = vec![Bounds::NOTHING; (2 * faces.len()).saturating_sub(1)];
        Self { faces, boxes, ..Self::default() }
    }

    /// The surface began in one piece, flat and convex, its faces in these boxes: where it stays smooth, it does not touch itself.
    pub fn set_smooth(&mut self, seats: impl Fn(u32) -> Bounds) {
        self.fit(seats);
        self.seats.clone_from(&self.boxes);
        self.normals.clone_from(&self.boxes);
    }

    pub fn is_smooth(&self) -> bool {
        !self.seats.is_empty()
    }

    /// Fits the boxes around normals.
    pub fn fit_normals(&mut self, face: impl Fn(u32) -> Bounds) {
        std::mem::swap(&mut self.boxes, &mut self.normals);
        self.fit(face);
        std::mem::swap(&mut self.boxes, &mut self.normals);
    }

    /// Two parts of a smooth surface that are neighbours, or one part twice, and do not touch.
    fn passes(&self, a: Node, b: Node) -> bool {
        let (a, b) = (a.at as usize, b.at as usize);
        self.is_smooth()
            && self.seats[a].meets(&self.seats[b])
            && self.normals[a].with(&self.normals[b]).is_narrow()
    }

    fn root(&self) -> Option<Node> {
        (!self.faces.is_empty()).then_some(Node { at: 0, first: 0, end: self.faces.len() as u32 })
    }

    /// Fits the boxes to the faces.
    pub fn fit(&mut self, face: impl Fn(u32) -> Bounds) {
        if let Some(root) = self.root() {
            self.fit_node(root, &face);
        }
    }

    fn fit_node(&mut self, node: Node, face: &impl Fn(u32) -> Bounds) -> Bounds {
        let b = if node.is_leaf() {
            face(self.faces[node.first as usize])
        } else {
            let [a, b] = node.halves();
            let (a, b) = (self.fit_node(a, face), self.fit_node(b, face));
            a.with(&b)
        };
        self.boxes[node.at as usize] = b;
        b
    }

    /// Faces whose boxes meet this one.
    pub fn near(&self, b: &Bounds, mut tell: impl FnMut(u32)) {
        let mut open: Vec<Node> = self.root().into_iter().collect();
        while let Some(node) = open.pop() {
            match self.boxes[node.at as usize].meets(b) {
                true if node.is_leaf() => tell(self.faces[node.first as usize]),
                true => open.extend(node.halves()),
                false => {}
            }
        }
    }

    /// Pairs of faces whose boxes meet, one of each tree.
    pub fn pairs(&self, other: &Tree, tell: impl FnMut(u32, u32)) {
        if let (Some(a), Some(b)) = (self.root(), other.root()) {
            self.cross(other, &mut vec![[a, b]], |_, _| false, tell);
        }
    }

    /// Pairs of its own faces whose boxes meet, each once.
    pub fn own_pairs(&self, mut tell: impl FnMut(u32, u32)) {
        let mut whole: Vec<Node> = self.root().into_iter().collect();
        let mut open = Vec::new();
        while let Some(node) = whole.pop() {
            if node.is_leaf() || self.passes(node, node) {
                continue;
            }
            let halves = node.halves();
            whole.extend(halves);
            open.push(halves);
            self.cross(self, &mut open, |a, b| self.passes(a, b), &mut tell);
        }
    }

    fn cross(
        &self,
        other: &Tree,
        open: &mut Vec<[Node; 2]>,
        passes: impl Fn(Node, Node) -> bool,
        mut tell: impl FnMut(u32, u32),
    ) {
        while let Some([a, b]) = open.pop() {
            if !self.boxes[a.at as usize].meets(&other.boxes[b.at as usize]) || passes(a, b) {
                continue;
            }
            match (a.is_leaf(), b.is_leaf()) {
                (true, true) => tell(self.faces[a.first as usize], other.faces[b.first as usize]),
                (false, true) => open.extend(a.halves().map(|a| [a, b])),
                (true, false) => open.extend(b.halves().map(|b| [a, b])),
                _ => open.extend(a.halves().into_iter().flat_map(|a| b.halves().map(|b| [a, b]))),
            }
        }
    }
}
