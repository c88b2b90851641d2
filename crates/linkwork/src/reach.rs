//! Reach: where a point of a solid can get to, from the pose that a mechanism is in and without taking anything apart.
//!
//! The point is led by a hand (see [`follow`]) from place to place, all joints closed and all limits
//! kept; motors are off, contact is not looked at. The places are the cells of a grid, searched like a flood: from each
//! cell that was got to, the point is pulled into those beside it. Where it cannot follow it stops as near as it gets,
//! which is the edge of the reach. An arm that is straight there may bend either way from then on: poses at the edge are
//! shaken a little, and both ways are tried.
//!
//! ```
//! use linkwork::reach::{ReachConfig, reach};
//! use linkwork::{Frame, Joint, Mechanism, PlacedShape, Solid, SolidId, State, Vector};
//! let mut m = Mechanism::new();
//! let bar = PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X);
//! let arm = m.add_solid(Solid::new("arm").with_shape(bar, 1.0))?;
//! let hinge = [SolidId::WORLD, arm].map(|s| Frame::axis(s, Vector::ZERO, Vector::Z));
//! m.add_joint(Joint::pin(hinge[0], hinge[1]))?;
//! let tip = reach(&m, &State::new(&m), arm, Vector::X, &ReachConfig::default())?;
//! // The tip of a bar on a pin gets to a circle, which is a line.
//! assert_eq!(tip.dimensions, 1);
//! assert!(tip.places.iter().all(|p| (p.at.length() - 1.0).abs() < 1e-5));
//! # Ok::<(), linkwork::ModelError>(())
//! ```

mod grid;

use crate::graph::Graph;
use crate::joint::{Frame, Joint, JointId};
use crate::math::{Matrix, Pose, Random, Rotation, Vector};
use crate::mechanism::{Mechanism, ModelError};
use crate::solid::{Solid, SolidId};
use crate::state::State;
use crate::step::assemble::{AssembleConfig, Outcome, assemble};
use crate::step::{Follow, StepConfig, Workspace, follow};
use grid::{Grid, Key};
use std::collections::{BTreeMap, VecDeque};

/// How finely, and for how long.
#[derive(Clone, Copy)]
pub struct ReachConfig<'a> {
    /// Cells across the reach, if it is an area. Lines get more of them, volumes fewer.
    pub across: usize,
    /// Most times that the point is pulled.
    pub pulls: usize,
    /// Largest gap that counts as closed.
    pub tolerance: f64,
    /// Asked before every pull; true ends the search.
    pub out_of_time: Option<&'a dyn Fn() -> bool>,
}

impl Default for ReachConfig<'_> {
    fn default() -> Self {
        Self { across: 48, pulls: 40_000, tolerance: 1e-6, out_of_time: None }
    }
}

/// A cell of the grid that the point got into.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Where it was there, world.
    pub at: Vector,
    /// It got to the middle of the cell; otherwise the edge of the reach runs through here.
    pub inside: bool,
}

/// Where a point can get to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reach {
    /// One place for each cell, in the order of the cells.
    pub places: Vec<Place>,
    /// Edge of a cell, metres.
    pub cell: f64,
    /// 0: it cannot move; 1: a line; 2: a surface; 3: a volume.
    pub dimensions: usize,
    /// Of a surface that is flat: its normal. Cells are squares in it then, with the first of these edges along them.
    pub plane: Option<[Vector; 3]>,
    /// Square metres of a flat surface, cubic metres of a volume.
    pub measure: Option<f64>,
    /// Nothing holds it back in some direction: this is only what is near.
    pub unbounded: bool,
    /// Every cell was looked at; otherwise the pulls or the time were used up.
    pub complete: bool,
}

/// Directions in which the point is pulled first, to see how far it gets.
const FIRST: [[f64; 3]; 14] = [
    [1.0, 0.0, 0.0],
    [-1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, -1.0, 0.0],
    [0.0, 0.0, 1.0],
    [0.0, 0.0, -1.0],
    [1.0, 1.0, 1.0],
    [-1.0, -1.0, -1.0],
    [1.0, -1.0, 1.0],
    [-1.0, 1.0, -1.0],
    [1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0],
    [-1.0, 1.0, 1.0],
    [1.0, -1.0, -1.0],
];
/// Pulls in one direction, each so much of the mechanism's size: what goes farther than all of them has no end.
const STRIDES: usize = 24;
const STRIDE: f64 = 0.125;
/// How often a cell that was not got to is tried from those beside it.
const TRIES: u8 = 4;
const LINE_TRIES: u8 = 2;
/// Poses at the edge are shaken so often, by so much (radians, shares of a solid's size).
const SHAKES: usize = 2;
const SHAKE: f64 = 0.15;

/// Searches where a point of a solid, in its own coordinates, can get to.
pub fn reach(
    m: &Mechanism,
    state: &State,
    solid: SolidId,
    point: Vector,
    config: &ReachConfig,
) -> Result<Reach, ModelError> {
    if solid.index() >= m.solids().len() {
        return Err(ModelError(format!("solid {} does not exist", solid.0)));
    }
    if m.soft_of(solid).is_some() {
        return Err(ModelError(
            "the reach of a vertex of a soft body cannot be computed: it stretches".into(),
        ));
    }
    let mut search = Search::new(m, state, solid, point, config)?;
    let start = search.start.clone();
    let here = search.place(&start);
    if m.solid(solid).is_fixed() {
        let places = vec![Place { at: here, inside: true }];
        return Ok(Reach { places, complete: true, ..Reach::default() });
    }
    let (mut seen, unbounded) = search.outwards(&start);
    // A start pose may be a dead centre, in which the point cannot move though it can from elsewhere.
    let samples: Vec<State> = seen.iter().step_by(1 + seen.len() / 8).cloned().collect();
    let dimensions = samples.iter().map(|s| search.dimensions(s)).max().unwrap_or(0);
    seen.push(start);
    let points: Vec<Vector> = seen.iter().map(|s| search.place(s)).collect();
    let grid = Grid::new(&points, dimensions, config.across, 2.0 * search.size, unbounded.then_some(here));
    let Some(grid) = grid else {
        let places = vec![Place { at: here, inside: true }];
        return Ok(Reach { places, unbounded, complete: search.is_going(), ..Reach::default() });
    };
    let complete = search.flood(&grid, seen);
    let places: Vec<Place> = search.cells.values().map(|c| Place { at: c.at, inside: c.inside }).collect();
    let inside = places.iter().filter(|p| p.inside).count() as f64;
    let measure = match dimensions {
        2 if grid.is_flat() => Some(inside * grid.cell.powi(2)),
        3 => Some(inside * grid.cell.powi(3)),
        _ => None,
    };
    let plane = grid.is_flat().then_some(grid.axes);
    Ok(Reach { places, cell: grid.cell, dimensions, plane, measure, unbounded, complete })
}

/// A cell that was got into, and how everything stood then.
struct Cell {
    state: State,
    at: Vector,
    inside: bool,
}

struct Search<'a> {
    /// The mechanism without motors, and with a hand that holds the point.
    mechanism: Mechanism,
    solid: SolidId,
    point: Vector,
    hand: SolidId,
    grip: JointId,
    start: State,
    workspace: Workspace,
    config: &'a ReachConfig<'a>,
    /// Of all that moves with the point.
    size: f64,
    pulls: usize,
    cells: BTreeMap<Key, Cell>,
}

impl<'a> Search<'a> {
    fn new(
        m: &Mechanism,
        state: &State,
        solid: SolidId,
        point: Vector,
        config: &'a ReachConfig<'a>,
    ) -> Result<Self, ModelError> {
        let mut own = m.clone();
        let graph = Graph::new(m);
        let island = graph.islands.iter().find(|i| i.solids.contains(&solid));
        let joints: &[JointId] = island.map_or(&[], |i| &i.joints);
        let at = state.pose(m, solid).transform_point(point);
        let solids: Vec<SolidId> = island.map_or_else(|| vec![solid], |i| i.solids.clone());
        let size = extent(m, state, &solids, joints);
        let hand = own.add_solid(Solid::fixed("").at(at.x, at.y, at.z))?;
        let grip = Joint::ball(Frame::point(hand, Vector::ZERO), Frame::point(solid, point));
        // It yields: joints are never opened for it.
        let grip = own.add_joint(Joint { most_force: 1.0, ..grip })?;
        let same: Vec<Option<SolidId>> = (0..m.solids().len() as u32).map(|i| Some(SolidId(i))).collect();
        let held: Vec<Option<JointId>> = (0..m.joints().len() as u32).map(|i| Some(JointId(i))).collect();
        let mut start = state.carried_over(m, &own, &same, &held);
        start.velocities.fill(Vector::ZERO);
        // After that: whole turns are remembered at places that count motors in.
        for k in 0..m.joints().len() as u32 {
            let id = JointId(k);
            let mine = joints.binary_search(&id).is_ok();
            own.alter_joint(id, |j| {
                j.drives.clear();
                j.enabled &= mine;
            });
        }
        Ok(Self {
            mechanism: own,
            solid,
            point,
            hand,
            grip,
            start,
            workspace: Workspace::default(),
            config,
            size,
            pulls: 0,
            cells: BTreeMap::new(),
        })
    }

    fn is_going(&self) -> bool {
        self.pulls < self.config.pulls && !self.config.out_of_time.is_some_and(|over| over())
    }

    fn place(&self, s: &State) -> Vector {
        s.pose(&self.mechanism, self.solid).transform_point(self.point)
    }

    /// The point as near to a place as it gets from here; nothing where something would come apart.
    fn pull(&mut self, from: &State, to: Vector) -> Option<State> {
        self.pulls += 1;
        let mut s = from.clone();
        s.set_pose(&self.mechanism, self.hand, Pose::from_parts(to, Rotation::IDENTITY));
        let c = StepConfig { tolerance: self.config.tolerance, iterations: 24, ..StepConfig::default() };
        let report = follow(&self.mechanism, &mut s, &mut self.workspace, &c, Follow::default());
        (s.is_finite() && report.gaps.worst() <= 10.0 * self.config.tolerance).then_some(s)
    }

    /// Pulls the point away in all directions, as far as it goes. Poses on the way, and whether it went on for ever.
    fn outwards(&mut self, start: &State) -> (Vec<State>, bool) {
        let (mut seen, mut unbounded) = (Vec::new(), false);
        for way in FIRST {
            let way = Vector::from_array(way).normalize() * (STRIDE * self.size);
            let mut s = start.clone();
            for k in 0..STRIDES {
                if !self.is_going() {
                    return (seen, unbounded);
                }
                let before = self.place(&s);
                let Some(next) = self.pull(&s, before + way) else { break };
                let moved = self.place(&next) - before;
                seen.push(next.clone());
                s = next;
                if moved.length() < 0.02 * way.length() {
                    break;
                }
                // Twice its own size away and still going: a slider or something free.
                unbounded |= k + 1 == STRIDES && moved.dot(way) > 0.5 * way.length_squared();
            }
        }
        (seen, unbounded)
    }

    /// In how many independent directions the point can move from here.
    fn dimensions(&mut self, s: &State) -> usize {
        let from = self.place(s);
        // So small that a line bends by nothing on it, and larger than what counts as closed.
        let small = (1e-3 * self.size).max(30.0 * self.config.tolerance);
        let mut spread = Matrix::ZERO;
        for axis in [Vector::X, Vector::Y, Vector::Z] {
            for sign in [-1.0, 1.0] {
                let Some(there) = self.pull(s, from + axis * (sign * small)) else { continue };
                let d = (self.place(&there) - from) / small;
                spread += Matrix::from_cols(d * d.x, d * d.y, d * d.z);
            }
        }
        grid::spread(&spread).1.iter().filter(|x| **x > 0.05).count()
    }

    /// From cell to cell until there is none left, or no time. True if there is none left.
    fn flood(&mut self, grid: &Grid, seen: Vec<State>) -> bool {
        let mut queue = VecDeque::new();
        let mut tried: BTreeMap<Key, u8> = BTreeMap::new();
        for s in seen {
            self.enter(grid, s, &mut queue);
        }
        let mut random = Random::new(23);
        loop {
            while let Some(key) = queue.pop_front() {
                let Some(state) = self.cells.get(&key).map(|c| c.state.clone()) else { continue };
                self.around(grid, &key, &state, &mut tried, &mut queue);
                if !self.is_going() {
                    return false;
                }
            }
            // What stands at the edge is shaken: it may go on another way from there.
            let edge: Vec<(Key, State)> =
                self.cells.iter().filter(|(_, c)| !c.inside).map(|(k, c)| (*k, c.state.clone())).collect();
            if grid.dimensions < 2 {
                return true;
            }
            for (key, state) in edge {
                for _ in 0..SHAKES {
                    if !self.is_going() {
                        return false;
                    }
                    let Some(other) = self.shake(&state, &mut random) else { continue };
                    let mut again = BTreeMap::new();
                    self.around(grid, &key, &other, &mut again, &mut queue);
                }
            }
            if queue.is_empty() {
                return true;
            }
        }
    }

    /// Pulls the point into the cells beside one, as far as they have not been got to.
    fn around(
        &mut self,
        grid: &Grid,
        key: &Key,
        state: &State,
        tried: &mut BTreeMap<Key, u8>,
        queue: &mut VecDeque<Key>,
    ) {
        // Beside a line there are many cells that it never gets into.
        let most = if grid.dimensions < 2 { LINE_TRIES } else { TRIES };
        for beside in grid.beside(key) {
            let known = self.cells.get(&beside).is_some_and(|c| c.inside || grid.dimensions < 2);
            let tries = tried.entry(beside).or_default();
            if known || *tries >= most || !grid.has(&beside) {
                continue;
            }
            *tries += 1;
            if let Some(there) = self.pull(state, grid.middle(&beside)) {
                self.enter(grid, there, queue);
            }
            if !self.is_going() {
                return;
            }
        }
    }

    /// Notes where the point has got to. A cell whose middle was met is better known than one that was only touched.
    fn enter(&mut self, grid: &Grid, state: State, queue: &mut VecDeque<Key>) {
        let at = self.place(&state);
        let key = grid.key(at);
        if !grid.has(&key) {
            return;
        }
        let inside = grid.off(&key, at) < 0.02 * grid.cell;
        let better = self.cells.get(&key).is_none_or(|c| inside && !c.inside);
        if better {
            self.cells.insert(key, Cell { state, at, inside });
            queue.push_back(key);
        }
    }

    /// A pose close by, closed again.
    fn shake(&mut self, state: &State, random: &mut Random) -> Option<State> {
        let mut s = state.clone();
        for k in 1..self.mechanism.solids().len() {
            let solid = &self.mechanism.solids()[k];
            if solid.is_fixed() {
                continue;
            }
            let (t, q) = (random.ball() * (SHAKE * solid.extent()), random.ball() * SHAKE);
            s.displace(k, &[t.x, t.y, t.z, q.x, q.y, q.z]);
        }
        self.mechanism.alter_joint(self.grip, |j| j.enabled = false);
        let config = AssembleConfig {
            tolerance: self.config.tolerance,
            iterations: Some(24),
            ..AssembleConfig::default()
        };
        let closed = assemble(&self.mechanism, &mut s, &config).outcome == Outcome::Ok;
        self.mechanism.alter_joint(self.grip, |j| j.enabled = true);
        closed.then_some(s)
    }
}

/// How large something is that moves together: its solids, and from one place where it is held to the other.
fn extent(m: &Mechanism, state: &State, solids: &[SolidId], joints: &[JointId]) -> f64 {
    let sum: f64 = solids.iter().map(|s| 2.0 * m.solid(*s).extent()).sum();
    let (mut low, mut high) = (Vector::INFINITY, Vector::NEG_INFINITY);
    for f in joints.iter().flat_map(|j| m.joint(*j).frames) {
        let at = state.pose(m, f.solid).transform_point(f.pose.translation);
        (low, high) = (low.min(at), high.max(at));
    }
    let across = if joints.is_empty() { 0.0 } else { (high - low).length() };
    (0.5 * (sum + across)).max(1e-6)
}
