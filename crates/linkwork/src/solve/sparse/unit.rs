//! Subtrees of fronts as the numbers walk over them: rows, solids, products and where each of them is.

/// Rows of one joint, or the unknowns of a hub: six, three of a particle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// Place of the first row.
    pub at: u32,
    pub count: u8,
    /// Sides that enter the diagonal block: bit 0 and bit 1. Fixed solids do not, hubs have unknowns instead.
    pub own: u8,
    pub hub: bool,
    /// No other unit touches its solids.
    pub inside: bool,
    /// The unit's number of each side's solid, `NONE` if it is fixed or not needed here.
    pub solids: [u32; 2],
    /// Places of the columns of each side, in threes.
    pub columns: [u32; 2],
}

/// A solid of a unit: where its numbers are among those of the unit. A particle has half as many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    /// Of its motion, in threes.
    pub motion: u32,
    /// Of the roots of its inverse mass and inertia.
    pub root: u32,
    pub turns: bool,
}

impl Seat {
    /// Columns, in threes.
    #[inline(always)]
    pub fn threes(&self) -> usize {
        1 + usize::from(self.turns)
    }
}

/// A product `W_a W_b^T` that goes into a panel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    /// Places of the columns of both factors, in threes.
    pub a: u32,
    pub b: u32,
    /// What they share turns: six columns, not three.
    pub turns: bool,
    /// Rows of the left and right factor.
    pub size: [u8; 2],
    /// Place in the panel.
    pub start: u32,
}

/// Rows that couple to a hub's unknowns: `W_a` itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spoke {
    /// Place of its columns, in threes.
    pub a: u32,
    pub turns: bool,
    pub count: u8,
    pub start: u32,
    /// Steps in the panel from row to row of the joint, and from motion to motion of the hub.
    pub steps: [u32; 2],
}

/// A front whose update another one takes over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Child {
    /// `NONE`: of the same unit. Otherwise the lane of a pack, which is in this task.
    pub lane: u32,
    pub task: u32,
    /// Place of the update, and its rows.
    pub update: u32,
    pub rows: u32,
    /// Place of the map from its rows to those of the front.
    pub map: u32,
}

/// One supernode.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    /// First pivot, and how many.
    pub first: u32,
    pub pivots: u32,
    /// Rows below the pivots: place in `Unit::below`, and how many.
    pub below: u32,
    pub rows: u32,
    /// Place of its `(pivots + rows) x pivots` panel.
    pub panel: usize,
    /// Place of its `rows x rows` update.
    pub update: u32,
    /// Where its lists end; they start where those of the step before end.
    pub nodes: u32,
    pub children: u32,
    pub products: u32,
    pub spokes: u32,
}

impl Step {
    pub fn size(&self) -> usize {
        (self.pivots + self.rows) as usize
    }
}

/// Subtrees that go in step, or everything that does not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unit {
    /// Lanes that hold something; the others repeat the last one.
    pub lanes: usize,
    /// Places of its rows, their columns (in threes), and of its solids' motions (in threes) and roots among those of its
    /// task.
    pub base: usize,
    pub columns: usize,
    pub motions: std::ops::Range<usize>,
    pub roots: usize,
    /// Pivots. Rows of ancestors that the subtree touches come after them.
    pub scalars: usize,
    pub steps: Vec<Step>,
    pub below: Vec<u32>,
    pub maps: Vec<u32>,
    pub children: Vec<Child>,
    pub products: Vec<Product>,
    pub spokes: Vec<Spoke>,
    /// Own nodes in elimination order, then those of ancestors whose rows are multiplied here.
    pub nodes: Vec<Node>,
    pub own_nodes: usize,
    /// Per node and lane: first row in the mechanism.
    pub rows: Vec<u32>,
    /// Per solid and lane: which one it is in the mechanism.
    pub solids: Vec<u32>,
    /// Per solid.
    pub seats: Vec<Seat>,
    /// Per row of ancestors and lane: place in the rest.
    pub outside: Vec<u32>,
    /// Solids that rows outside of the unit touch too, and per lane the place of their motion in the rest.
    pub shared: Vec<u32>,
    pub shared_home: Vec<u32>,
}

impl Unit {
    /// Rows, those of ancestors included.
    pub fn height(&self, width: usize) -> usize {
        self.scalars + self.outside.len() / width
    }
}

/// All units of an island, and how much room they need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Units {
    pub tasks: Vec<Task>,
    pub rest: Unit,
    pub single: Room,
    /// The tasks are long enough for another thread to be called.
    pub worth_threads: bool,
    /// Fronts taken one by one, for the scratch they need.
    pub largest_front: usize,
    pub largest_scaled: usize,
}

/// Packs that one thread works on, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Task {
    pub packs: Vec<Unit>,
    pub room: Room,
}

/// Lengths of the arrays of one task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room {
    pub rows: usize,
    /// Columns of rows and motions of solids, in threes.
    pub columns: usize,
    pub motions: usize,
    pub roots: usize,
    pub panels: usize,
    pub updates: usize,
}
