//! In which order vertices are eliminated, and what the factor then looks like.
//!
//! Nested dissection: the vertices are cut in two where they are when the mechanism begins, again and again, and what lies between
//! the halves comes after both. For sheets that is close to the best there is, and it takes little time. Vertices that are
//! eliminated together form a *front*, a dense matrix of their rows and of those that they touch.

use crate::math::Vector;

/// Parts of so few vertices are not cut.
const LEAF: usize = 10;

/// Vertices that are eliminated together. Places are in the order of elimination.
#[derive(Clone, Debug)]
pub(super) struct Front {
    pub first: u32,
    pub count: u32,
    /// Which rows it touches below its own, in [`Fronts::below`].
    pub below: std::ops::Range<usize>,
    /// The front that takes what it leaves, `u32::MAX` at a root.
    pub parent: u32,
}

impl Front {
    fn end(&self) -> u32 {
        self.first + self.count
    }
}

/// The factor's structure.
#[derive(Default)]
pub(super) struct Fronts {
    /// Per node: its place.
    pub place: Vec<u32>,
    pub list: Vec<Front>,
    pub below: Vec<u32>,
}

/// Who is coupled with whom: neighbours of a node one after the other.
struct Neighbours {
    first: Vec<u32>,
    list: Vec<u32>,
}

impl Neighbours {
    fn new(nodes: usize, pairs: &[[u32; 2]]) -> Self {
        let mut first = vec![0_u32; nodes + 1];
        pairs.iter().flatten().for_each(|n| first[*n as usize + 1] += 1);
        (0..nodes).for_each(|i| first[i + 1] += first[i]);
        let (mut at, mut list) = (first.clone(), vec![0; 2 * pairs.len()]);
        for [a, b] in pairs {
            for (from, to) in [(*a, *b), (*b, *a)] {
                list[at[from as usize] as usize] = to;
                at[from as usize] += 1;
            }
        }
        Self { first, list }
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.list[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

struct Dissection<'a> {
    at: &'a [Vector],
    near: &'a Neighbours,
    /// Of the part that is being cut: 1 and 2.
    side: Vec<u8>,
    order: Vec<u32>,
}

impl Dissection<'_> {
    fn cut(&mut self, part: &mut [u32]) {
        if part.len() <= LEAF {
            self.order.extend_from_slice(part);
            return;
        }
        let middle = self.sort(part);
        part[..middle].iter().for_each(|n| self.side[*n as usize] = 1);
        part[middle..].iter().for_each(|n| self.side[*n as usize] = 2);
        let touches = |n: u32, side: u8| self.near.of(n).iter().any(|o| self.side[*o as usize] == side);
        let of = |from: &[u32], side: u8| from.iter().filter(|n| touches(**n, side)).count();
        // What touches the other half comes last: of the half that has less of it.
        let take = if of(&part[..middle], 2) < of(&part[middle..], 1) { 1 } else { 2 };
        let key = |n: &u32| match self.side[*n as usize] {
            side if side == take && touches(*n, 3 - side) => 3,
            side => side,
        };
        let mut keyed: Vec<(u8, u32)> = part.iter().map(|n| (key(n), *n)).collect();
        keyed.sort_by_key(|(k, _)| *k);
        part.iter_mut().zip(&keyed).for_each(|(n, (_, m))| *n = *m);
        part.iter().for_each(|n| self.side[*n as usize] = 0);
        let first = keyed.partition_point(|(k, _)| *k < 2);
        let both = keyed.partition_point(|(k, _)| *k < 3);
        let (halves, between) = part.split_at_mut(both);
        let (one, two) = halves.split_at_mut(first);
        self.cut(one);
        self.cut(two);
        self.order.extend_from_slice(between);
    }

    /// Sorts a part along its longest side. Tells where to cut it: between two rows of a grid, if it is one.
    fn sort(&self, part: &mut [u32]) -> usize {
        let (mut low, mut high) = (Vector::INFINITY, Vector::NEG_INFINITY);
        for n in part.iter() {
            (low, high) = (low.min(self.at[*n as usize]), high.max(self.at[*n as usize]));
        }
        let side = (high - low).to_array();
        let axis = (0..3).fold(0, |best, k| if side[k] > 1.000001 * side[best] { k } else { best });
        let key = |n: &u32| self.at[*n as usize].to_array()[axis];
        part.sort_unstable_by(|a, b| key(a).total_cmp(&key(b)).then_with(|| a.cmp(b)));
        let (half, close) = (part.len() / 2, 1e-6 * side[axis]);
        let at = key(&part[half]);
        let before = part.partition_point(|n| key(n) < at - close);
        let after = part.partition_point(|n| key(n) <= at + close);
        match if half - before <= after - half { before } else { after } {
            m if m == 0 || m == part.len() => half,
            m => m,
        }
    }
}

impl Fronts {
    /// Of a matrix that couples these pairs of nodes, which begin at these places.
    pub fn new(at: &[Vector], pairs: &[[u32; 2]]) -> Self {
        let near = Neighbours::new(at.len(), pairs);
        let (side, order) = (vec![0; at.len()], Vec::with_capacity(at.len()));
        let mut dissection = Dissection { at, near: &near, side, order };
        let mut all: Vec<u32> = (0..at.len() as u32).collect();
        dissection.cut(&mut all);
        let mut order = dissection.order;
        let (rows, parents) = structure(&order, &near);
        let renumbered = postorder(&rows, &parents);
        // Every subtree in one piece.
        let (old, mut place) = (order.clone(), vec![0; at.len()]);
        for (k, n) in old.iter().enumerate() {
            order[renumbered[k] as usize] = *n;
            place[*n as usize] = renumbered[k];
        }
        let mut sorted = vec![Vec::new(); rows.len()];
        for (k, mut own) in rows.into_iter().enumerate() {
            own.iter_mut().for_each(|r| *r = renumbered[*r as usize]);
            own.sort_unstable();
            sorted[renumbered[k] as usize] = own;
        }
        let mut fronts = Self { place, ..Self::default() };
        fronts.gather(&sorted);
        fronts
    }

    /// Multiplications that a factorisation takes, about.
    pub fn work(&self) -> f64 {
        let of = |f: &Front| {
            let (own, rest) = (3.0 * f64::from(f.count), 3.0 * f.below.len() as f64);
            own * (own * own / 6.0 + 0.5 * own * rest + 0.5 * rest * rest)
        };
        self.list.iter().map(of).sum()
    }

    /// Neighbours in the order of elimination that share their rows, or nearly, become one front.
    fn gather(&mut self, rows: &[Vec<u32>]) {
        let mut open: Vec<Front> = Vec::new();
        for (k, own) in rows.iter().enumerate() {
            let mut last = (k as u32, 1_u32);
            while let Some(f) = open.last() {
                let (first, count) = last;
                let touches = rows[f.end() as usize - 1].len() as u32;
                let joins = rows[first as usize - 1].first().is_some_and(|r| *r < first + count);
                let zeros = f.count * (count + own.len() as u32).saturating_sub(touches);
                let all = (f.count + count) * (f.count + count + own.len() as u32);
                let share = match f.count + count {
                    0..=6 => 3,
                    7..=20 => 8,
                    _ => 20,
                };
                if !joins || share * zeros > all {
                    break;
                }
                last = (f.first, f.count + count);
                open.pop();
            }
            open.push(Front { first: last.0, count: last.1, below: 0..0, parent: u32::MAX });
        }
        let mut owner = vec![0_u32; rows.len()];
        for (k, f) in open.iter().enumerate() {
            owner[f.first as usize..f.end() as usize].fill(k as u32);
        }
        for f in &mut open {
            let from = self.below.len();
            self.below.extend_from_slice(&rows[f.end() as usize - 1]);
            f.below = from..self.below.len();
            f.parent = self.below.get(from).map_or(u32::MAX, |r| owner[*r as usize]);
        }
        self.list = open;
    }
}

/// Per place: the later ones that its column of the factor has, and the first of them.
fn structure(order: &[u32], near: &Neighbours) -> (Vec<Vec<u32>>, Vec<u32>) {
    let n = order.len();
    let mut place = vec![0_u32; n];
    order.iter().enumerate().for_each(|(k, i)| place[*i as usize] = k as u32);
    let (mut rows, mut children) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    let (mut seen, mut parents) = (vec![u32::MAX; n], vec![u32::MAX; n]);
    for k in 0..n {
        let mut own: Vec<u32> = Vec::new();
        let mut add = |r: u32| {
            if r > k as u32 && seen[r as usize] != k as u32 {
                seen[r as usize] = k as u32;
                own.push(r);
            }
        };
        near.of(order[k]).iter().for_each(|i| add(place[*i as usize]));
        for c in &children[k] {
            let below: &Vec<u32> = &rows[*c as usize];
            below.iter().for_each(|r| add(*r));
        }
        own.sort_unstable();
        if let Some(p) = own.first() {
            parents[k] = *p;
            children[*p as usize].push(k as u32);
        }
        rows[k] = own;
    }
    (rows, parents)
}

/// New places, such that every subtree is in one piece, its root last and the child with most rows just before it.
fn postorder(rows: &[Vec<u32>], parents: &[u32]) -> Vec<u32> {
    let n = parents.len();
    let mut children = vec![Vec::new(); n];
    let mut open: Vec<(u32, bool)> = Vec::new();
    for k in 0..n {
        match parents[k] {
            u32::MAX => open.push((k as u32, false)),
            p => children[p as usize].push(k as u32),
        }
    }
    children.iter_mut().for_each(|c| c.sort_by_key(|k| rows[*k as usize].len()));
    open.reverse();
    let (mut places, mut next) = (vec![0; n], 0);
    while let Some((k, done)) = open.pop() {
        if done {
            places[k as usize] = next;
            next += 1;
        } else {
            open.push((k, true));
            open.extend(children[k as usize].iter().rev().map(|c| (*c, false)));
        }
    }
    places
}
