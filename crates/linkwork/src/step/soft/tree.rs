//! Who may touch whom: a tree of bounding boxes over the faces of a surface, laid out once, with boxes of its own in every step.
//!
//! Boxes are fitted to faces on their way through a step; a tree against a tree, or against itself, tells all pairs of faces
//! whose boxes meet. The order of the faces depends on the first places alone, and the pairs come in the order of the tree.

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

    fn with(&self, other: &Bounds) -> Bounds {
        Bounds { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    pub fn grown(&self, by: f64) -> Bounds {
        Bounds { low: self.low - Vector::splat(by), high: self.high + Vector::splat(by) }
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
}

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
        Self { faces, boxes }
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
            self.cross(other, &mut vec![[a, b]], tell);
        }
    }

    /// Pairs of its own faces whose boxes meet, each once.
    pub fn own_pairs(&self, mut tell: impl FnMut(u32, u32)) {
        let mut whole: Vec<Node> = self.root().into_iter().collect();
        let mut open = Vec::new();
        while let Some(node) = whole.pop().filter(|n| !n.is_leaf()) {
            let halves = node.halves();
            whole.extend(halves.into_iter().filter(|n| !n.is_leaf()));
            open.push(halves);
            self.cross(self, &mut open, &mut tell);
        }
    }

    fn cross(&self, other: &Tree, open: &mut Vec<[Node; 2]>, mut tell: impl FnMut(u32, u32)) {
        while let Some([a, b]) = open.pop() {
            if !self.boxes[a.at as usize].meets(&other.boxes[b.at as usize]) {
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
