//! What the numbers walk over: subtrees of fronts that look alike go in step, four at a time; the rest goes one by one.
//!
//! Two subtrees of the elimination tree look alike when the same steps at the same relative places factor both. Ladders,
//! meshes and wheels are full of them. All positions inside of a unit are relative to it, so one list of steps serves
//! all its lanes; only reading rows, and handing results to the rest, asks which lane it is.
//!
//! Packs do not depend on each other. They are dealt out to a few tasks, each with numbers of its own, that any thread can
//! work on. The cut is made here, by what the topology costs: how many threads there are changes who does the work, never
//! the work.

use super::lanes::LANES;
use super::pool::Pool;
use super::symbolic::{Plan, Shape};
pub(crate) use super::unit::{Child, Node, Product, Room, Seat, Spoke, Step, Task, Unit, Units};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// None.
pub(crate) const NONE: u32 = u32::MAX;
/// Fronts beyond this size fill wide registers by themselves.
pub(crate) const LARGE: usize = 40;

/// Nanoseconds a front and a multiplication of a pack, roughly.
const PACKED: [f64; 2] = [90.0, 0.5];
/// The same of a front by itself.
const SINGLE: [f64; 2] = [130.0, 0.3];
/// Nanoseconds that a task should take, at least: handing one over costs a few thousand.
const TASK: f64 = 2e4;
/// More tasks than this would serve nobody.
const MOST_TASKS: f64 = 64.0;
/// Nanoseconds of all tasks above which waking another thread pays.
const WORTH_THREADS: f64 = 2e5;

/// A quick hash of lists of small numbers, eight bytes at a time.
struct Words(u64);

impl Default for Words {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Words {
    fn write(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(8) {
            let mut whole = [0; 8];
            whole[..word.len()].copy_from_slice(word);
            self.write_u64(u64::from_le_bytes(whole));
        }
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Which subtree of which unit a front is in.
#[derive(Clone, Copy, PartialEq)]
struct Owner {
    pack: u32,
    lane: u32,
}

const REST: Owner = Owner { pack: NONE, lane: NONE };

/// What could be made of an elimination order: which subtrees go in step, and what that costs. Most of the work is laying it
/// out, which is done for the order that is picked.
pub(super) struct Draft<'a> {
    plan: Plan<'a>,
    owner: Vec<Owner>,
    packs: Vec<Vec<usize>>,
    /// Predicted nanoseconds: only to choose between orders.
    pub cost: f64,
}

impl<'a> Draft<'a> {
    pub fn new(plan: Plan<'a>, shape: &Shape) -> Self {
        let mut builder = Builder::new(&plan, shape);
        let packs = builder.choose();
        let owner = builder.owner;
        let step = |f: usize| step_of(&plan, f);
        let lane = |(k, pack): (usize, &Vec<usize>)| {
            // The first lane: all fronts of the subtree of its root, which ends with it.
            let root = pack[0];
            let own = Owner { pack: k as u32, lane: 0 };
            let first = (0..=root).rev().take_while(|f| owner[*f] == own).last().unwrap_or(root);
            cost(&(first..=root).map(step).collect::<Vec<_>>(), PACKED)
        };
        let rest: Vec<Step> = (0..plan.fronts.len()).filter(|f| owner[*f] == REST).map(step).collect();
        let cost = packs.iter().enumerate().map(lane).sum::<f64>() + cost(&rest, SINGLE);
        Self { plan, owner, packs, cost }
    }

    /// Lays it out.
    pub fn units(self, shape: &Shape) -> Units {
        let mut builder = Builder::new(&self.plan, shape);
        builder.owner = self.owner;
        builder.build(self.packs)
    }
}

/// Size of a front, for what it costs.
fn step_of(plan: &Plan, front: usize) -> Step {
    let front = &plan.fronts[front];
    Step { pivots: front.pivots as u32, rows: front.below.len() as u32, ..Step::default() }
}

struct Builder<'a> {
    plan: &'a Plan<'a>,
    shape: &'a Shape<'a>,
    owner: Vec<Owner>,
    /// Per position of the elimination order: place in its unit.
    local: Vec<u32>,
    /// Per solid: its number in the unit at work.
    number: Vec<u32>,
    /// Per pack: its task.
    task_of: Vec<u32>,
}

impl<'a> Builder<'a> {
    fn new(plan: &'a Plan<'a>, shape: &'a Shape) -> Self {
        Self {
            plan,
            shape,
            owner: vec![REST; plan.fronts.len()],
            local: vec![0; plan.scalars],
            number: vec![NONE; plan.of.touching.len()],
            task_of: Vec::new(),
        }
    }

    /// Subtrees are ranges of fronts that end with their root.
    fn subtree(&self, sizes: &[u32], root: usize) -> std::ops::Range<usize> {
        root + 1 - sizes[root] as usize..root + 1
    }

    /// Packs as lists of roots. Largest subtrees first, as long as four look alike; then what is left of smaller ones.
    fn choose(&mut self) -> Vec<Vec<usize>> {
        let (kinds, sizes) = self.kinds();
        let count = kinds.iter().filter(|k| **k != NONE).max().map_or(0, |k| *k as usize + 1);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (f, k) in kinds.iter().enumerate().filter(|(_, k)| **k != NONE) {
            members[*k as usize].push(f);
        }
        let mut order: Vec<usize> = (0..count).filter(|k| members[*k].len() > 1).collect();
        order.sort_by_key(|k| (u32::MAX - sizes[members[*k][0]], *k));
        let mut packs: Vec<Vec<usize>> = Vec::new();
        for least in [LANES, 2] {
            for &k in &order {
                let free = |f: &usize| self.subtree(&sizes, *f).all(|f| self.owner[f] == REST);
                let free: Vec<usize> = members[k].iter().copied().filter(free).collect();
                for roots in free.chunks(LANES).filter(|c| c.len() >= least) {
                    let roots = self.alike(&sizes, roots);
                    if roots.len() < least {
                        continue;
                    }
                    for (lane, root) in roots.iter().enumerate() {
                        let owner = Owner { pack: packs.len() as u32, lane: lane as u32 };
                        for f in self.subtree(&sizes, *root) {
                            self.owner[f] = owner;
                        }
                    }
                    packs.push(roots);
                }
            }
        }
        packs
    }

    /// The roots whose subtrees also meet at solids as the first one's does.
    fn alike(&mut self, sizes: &[u32], roots: &[usize]) -> Vec<usize> {
        let mut first = Vec::new();
        let mut out = Vec::new();
        for &root in roots {
            let mut numbers = Vec::new();
            let mut seen = Vec::new();
            for f in self.subtree(sizes, root) {
                for k in self.plan.fronts[f].nodes.clone() {
                    for solid in self.plan.ends(self.shape, self.plan.nodes[k] as usize) {
                        if solid != NONE && self.number[solid as usize] == NONE {
                            self.number[solid as usize] = seen.len() as u32;
                            seen.push(solid);
                        }
                        numbers.push(if solid == NONE { NONE } else { self.number[solid as usize] });
                    }
                }
            }
            seen.iter().for_each(|s| self.number[*s as usize] = NONE);
            if out.is_empty() {
                first = numbers;
                out.push(root);
            } else if first == numbers {
                out.push(root);
            }
        }
        out
    }

    /// Per front: the kind of its subtree (`NONE`: not to be packed), and how many fronts it has.
    fn kinds(&self) -> (Vec<u32>, Vec<u32>) {
        let plan = self.plan;
        let mut known: HashMap<Vec<u32>, u32, BuildHasherDefault<Words>> = HashMap::default();
        let mut kinds = vec![NONE; plan.fronts.len()];
        let mut sizes = vec![1u32; plan.fronts.len()];
        let mut key = Vec::new();
        for (f, front) in plan.fronts.iter().enumerate() {
            sizes[f] += plan.children(f).iter().map(|c| sizes[c.0 as usize]).sum::<u32>();
            let groups = self.shape.groups.len();
            let hub = front.nodes.clone().any(|k| plan.nodes[k] as usize >= groups);
            let whole = plan.children(f).iter().all(|c| kinds[c.0 as usize] != NONE);
            if hub || !whole || front.size() > LARGE {
                continue;
            }
            key.clear();
            key.extend([front.pivots as u32, front.below.len() as u32, front.nodes.len() as u32]);
            for k in front.nodes.clone() {
                let node = plan.nodes[k] as usize;
                let end = |s: u32| if s == NONE { 0 } else { 1 + u32::from(plan.of.turns[s as usize]) };
                let [a, b] = plan.ends(self.shape, node).map(end);
                let own = u32::from(plan.own(self.shape, node));
                key.push(self.shape.groups[node].count as u32 | own << 8 | a << 10 | b << 12);
            }
            key.push(front.products.len() as u32);
            for t in &plan.products[front.products.clone()] {
                key.extend([t.at.0, t.at.1, u32::from(t.a.1) | u32::from(t.b.1) << 1]);
                key.push(plan.size(t.a.0) | plan.size(t.b.0) << 8);
            }
            key.push(front.spokes.len() as u32);
            for t in &plan.spokes[front.spokes.clone()] {
                key.extend([t.at.0, t.at.1, u32::from(t.a.1) | plan.size(t.a.0) << 1]);
            }
            for &(child, map) in plan.children(f) {
                let rows = plan.below(child as usize).len();
                key.extend([kinds[child as usize], rows as u32]);
                key.extend(&plan.maps[map as usize..map as usize + rows]);
            }
            let next = known.len() as u32;
            kinds[f] = match known.get(&key) {
                Some(k) => *k,
                None => {
                    known.insert(key.clone(), next);
                    next
                }
            };
        }
        (kinds, sizes)
    }

    fn build(&mut self, packs: Vec<Vec<usize>>) -> Units {
        let plan = self.plan;
        let mut out = Units::default();
        // Fronts of each unit, by lane.
        let mut fronts: Vec<Vec<Vec<usize>>> = packs.iter().map(|p| vec![Vec::new(); p.len()]).collect();
        let mut rest = Vec::new();
        let mut singles = 0;
        for f in 0..plan.fronts.len() {
            let front = &plan.fronts[f];
            let owner = self.owner[f];
            let start = if owner == REST {
                rest.push(f);
                singles += front.pivots;
                singles - front.pivots
            } else {
                let lane = &mut fronts[owner.pack as usize][owner.lane as usize];
                lane.push(f);
                front.first - plan.fronts[lane[0]].first
            };
            for k in 0..front.pivots {
                self.local[front.first + k] = (start + k) as u32;
            }
        }
        let mut updates = vec![0u32; plan.fronts.len()];
        let (task_of, total) = self.deal(&fronts);
        self.task_of = task_of;
        out.worth_threads = total > WORTH_THREADS;
        let mut touched = vec![0u32; plan.of.touching.len()];
        // The rest numbers its solids first, so that packs know where theirs are shared.
        let mut home = vec![NONE; plan.of.touching.len()];
        let mut homes = Vec::new();
        let mut own_updates = Pool::default();
        for (pack, lanes) in fronts.iter().enumerate() {
            if self.task_of[pack] as usize == out.tasks.len() {
                own_updates = Pool::default();
                out.tasks.push(Task::default());
            }
            let Some(task) = out.tasks.last_mut() else { continue };
            let start = Unit::default();
            let mut unit =
                self.unit_into(start, lanes, &mut updates, &mut own_updates, &mut task.room, LANES);
            task.room.updates = own_updates.len;
            // The rest asks every lane's root for the place that they share.
            let roots = lanes.iter().filter_map(|l| l.last());
            let place = roots.clone().next().map_or(0, |root| updates[*root]);
            roots.for_each(|root| updates[*root] = place);
            // Solids that something outside of this lane touches.
            for (lane, list) in lanes.iter().enumerate() {
                for f in list {
                    for k in plan.fronts[*f].nodes.clone() {
                        let ends = plan.ends(self.shape, plan.nodes[k] as usize);
                        ends.iter().filter(|s| **s != NONE).for_each(|s| touched[*s as usize] += 1);
                    }
                }
                let count = unit.solids.len() / LANES;
                for local in 0..count {
                    let solid = unit.solids[local * LANES + lane] as usize;
                    let inside = touched[solid] as usize == plan.of.touching[solid].len();
                    if !inside && !unit.shared.contains(&(local as u32)) {
                        unit.shared.push(local as u32);
                    }
                }
                for local in 0..count {
                    touched[unit.solids[local * LANES + lane] as usize] = 0;
                }
            }
            for &local in &unit.shared {
                for lane in 0..LANES {
                    let solid = unit.solids[local as usize * LANES + lane] as usize;
                    if home[solid] == NONE {
                        home[solid] = homes.len() as u32;
                        homes.push(solid as u32);
                    }
                    unit.shared_home.push(home[solid]);
                }
            }
            for node in &mut unit.nodes {
                node.inside = node.solids.iter().all(|s| !unit.shared.contains(s));
            }
            task.packs.push(unit);
        }
        let mut own_updates = Pool::default();
        for (i, solid) in homes.iter().enumerate() {
            self.number[*solid as usize] = i as u32;
        }
        let start = Unit { solids: homes, ..Unit::default() };
        let mut rest_unit =
            self.unit_into(start, &[rest], &mut updates, &mut own_updates, &mut out.single, 1);
        out.single.updates = own_updates.len;
        for unit in out.tasks.iter_mut().flat_map(|t| &mut t.packs) {
            // Numbers of solids become those of the mechanism.
            unit.solids.iter_mut().for_each(|s| *s = plan.of.solids[*s as usize]);
        }
        rest_unit.solids.iter_mut().for_each(|s| *s = plan.of.solids[*s as usize]);
        for home in out.tasks.iter_mut().flat_map(|t| &mut t.packs).flat_map(|u| &mut u.shared_home) {
            *home = rest_unit.seats[*home as usize].motion;
        }
        for s in &rest_unit.steps {
            out.largest_front = out.largest_front.max(s.size());
            out.largest_scaled = out.largest_scaled.max(s.size() * (s.pivots as usize).min(256));
        }
        out.rest = rest_unit;
        out
    }

    /// Which task each pack goes to, neighbours together, and predicted nanoseconds of all.
    fn deal(&self, fronts: &[Vec<Vec<usize>>]) -> (Vec<u32>, f64) {
        let step = |f: &usize| step_of(self.plan, *f);
        let costs: Vec<f64> =
            fronts.iter().map(|lanes| cost(&lanes[0].iter().map(step).collect::<Vec<_>>(), PACKED)).collect();
        let total: f64 = costs.iter().sum();
        let tasks = (total / TASK).ceil().clamp(1.0, MOST_TASKS);
        let (mut before, mut last, mut out) = (0.0, NONE, Vec::with_capacity(costs.len()));
        for c in costs {
            // A long pack may fill more than one share; the numbers of tasks leave nothing out all the same.
            let share = (tasks * before / total) as u32;
            last = if last == NONE { 0 } else { share.min(last + 1).max(last) };
            out.push(last);
            before += c;
        }
        (out, total)
    }

    /// Steps from the first lane, places from all of them. `unit.solids` may hold solids that are numbered already.
    fn unit_into(
        &mut self,
        mut unit: Unit,
        lanes: &[Vec<usize>],
        updates: &mut [u32],
        pool: &mut Pool,
        room: &mut Room,
        width: usize,
    ) -> Unit {
        let plan = self.plan;
        (unit.lanes, unit.base) = (lanes.len(), room.rows);
        unit.scalars = lanes[0].iter().map(|f| plan.fronts[*f].pivots).sum();
        let roots: Vec<usize> = lanes.iter().map(|l| l.last().copied().unwrap_or(0)).collect();
        let packed = width > 1;
        let own = if packed { self.owner[roots[0]] } else { REST };
        // Rows of ancestors.
        let outside: &[u32] = if packed { plan.below(roots[0]) } else { &[] };
        let end = roots.first().filter(|_| packed).map_or(usize::MAX, |r| plan.fronts[*r].end());
        let (local, scalars) = (&self.local, unit.scalars);
        let place = |pos: usize| -> u32 {
            if pos < end {
                local[pos]
            } else {
                (scalars + outside.partition_point(|b| (*b as usize) < pos)) as u32
            }
        };
        // Sides of products and spokes, whose columns have no place yet.
        let (mut product_sides, mut spoke_sides) = (Vec::new(), Vec::new());
        // Nodes of ancestors whose rows are multiplied here: position, sides.
        let mut foreign: BTreeMap<u32, (u32, u8)> = BTreeMap::new();
        for &f in &lanes[0] {
            let front = &plan.fronts[f];
            let n = front.size();
            for &(child, map) in plan.children(f) {
                let rows = plan.below(child as usize).len();
                let owner = self.owner[child as usize];
                let (lane, task) =
                    if owner == own { (NONE, NONE) } else { (owner.lane, self.task_of[owner.pack as usize]) };
                unit.children.push(Child {
                    lane,
                    task,
                    update: updates[child as usize],
                    rows: rows as u32,
                    map: unit.maps.len() as u32,
                });
                unit.maps.extend(&plan.maps[map as usize..map as usize + rows]);
            }
            for t in &plan.products[front.products.clone()] {
                let (a, b) = (plan.first[t.a.0 as usize], plan.first[t.b.0 as usize]);
                if a >= end {
                    foreign.entry(place(a)).or_insert((t.a.0, 0)).1 |= 1 << t.a.1;
                }
                product_sides.push([t.a.1, t.b.1]);
                unit.products.push(Product {
                    a: place(a),
                    b: place(b),
                    turns: false,
                    size: [plan.size(t.a.0) as u8, plan.size(t.b.0) as u8],
                    start: t.at.1 * n as u32 + t.at.0,
                });
            }
            for t in &plan.spokes[front.spokes.clone()] {
                let n = n as u32;
                spoke_sides.push(t.a.1);
                unit.spokes.push(Spoke {
                    a: place(plan.first[t.a.0 as usize]),
                    turns: false,
                    count: plan.size(t.a.0) as u8,
                    start: t.at.1 * n + t.at.0,
                    steps: if t.hub_is_column { [1, n] } else { [n, 1] },
                });
            }
            for k in front.nodes.clone() {
                let node = plan.nodes[k] as usize;
                unit.nodes.push(Node {
                    at: place(plan.first[node]),
                    count: plan.size(node as u32) as u8,
                    own: plan.own(self.shape, node),
                    hub: node >= self.shape.groups.len(),
                    inside: false,
                    solids: [NONE; 2],
                    columns: [NONE; 2],
                });
            }
            let rows = front.below.len();
            let update = pool.take(rows * rows);
            updates[f] = update as u32;
            for &(child, _) in plan.children(f) {
                if self.owner[child as usize] == own {
                    let rows = plan.below(child as usize).len();
                    pool.release(updates[child as usize] as usize, rows * rows);
                }
            }
            unit.steps.push(Step {
                first: place(front.first),
                pivots: front.pivots as u32,
                below: unit.below.len() as u32,
                rows: rows as u32,
                panel: room.panels,
                update: update as u32,
                nodes: unit.nodes.len() as u32,
                children: unit.children.len() as u32,
                products: unit.products.len() as u32,
                spokes: unit.spokes.len() as u32,
            });
            unit.below.extend(plan.below(f).iter().map(|b| place(*b as usize)));
            room.panels += n * front.pivots;
        }
        unit.own_nodes = unit.nodes.len();
        for (at, (node, _)) in &foreign {
            let count = plan.size(*node) as u8;
            let (solids, columns) = ([NONE; 2], [NONE; 2]);
            unit.nodes.push(Node { at: *at, count, own: 0, hub: false, inside: false, solids, columns });
        }
        // Lane by lane: which rows, which solids.
        unit.rows = vec![NONE; unit.nodes.len() * width];
        unit.outside = vec![0; outside.len() * width];
        let fixed = unit.solids.len();
        for lane in 0..width {
            let real = lane.min(lanes.len() - 1);
            if real < lane {
                for v in [&mut unit.rows, &mut unit.solids, &mut unit.outside] {
                    (0..v.len() / width).for_each(|i| v[i * width + lane] = v[i * width + real]);
                }
                continue;
            }
            let below: &[u32] = if packed { plan.below(roots[real]) } else { &[] };
            for (i, b) in below.iter().enumerate() {
                unit.outside[i * width + lane] = self.local[*b as usize];
            }
            let own = lanes[real].iter().flat_map(|f| plan.fronts[*f].nodes.clone()).map(|k| plan.nodes[k]);
            // The same ancestors' rows of this lane: the node that starts at the same place below the root.
            let others = foreign.iter().map(|(at, (_, sides))| {
                let node = plan.node_at(below[*at as usize - scalars] as usize);
                (node, *sides)
            });
            let all: Vec<(u32, u8)> = own.map(|k| (k, 3)).chain(others).collect();
            let mut seen = fixed as u32;
            for (i, (node, sides)) in all.into_iter().enumerate() {
                let node = node as usize;
                if node >= self.shape.groups.len() {
                    continue;
                }
                unit.rows[i * width + lane] = self.shape.groups[node].first as u32;
                for (side, solid) in plan.ends(self.shape, node).into_iter().enumerate() {
                    if solid == NONE || sides & 1 << side == 0 {
                        continue;
                    }
                    let number = &mut self.number[solid as usize];
                    if *number == NONE {
                        *number = seen;
                        seen += 1;
                        if lane == 0 {
                            unit.solids.extend(std::iter::repeat_n(solid, width));
                        } else {
                            unit.solids[*number as usize * width + lane] = solid;
                        }
                    }
                    unit.nodes[i].solids[side] = *number;
                }
            }
            for i in 0..unit.solids.len() / width {
                self.number[unit.solids[i * width + lane] as usize] = NONE;
            }
        }
        self.seat(&mut unit, room, &product_sides, &spoke_sides, width);
        room.rows += unit.height(width);
        unit
    }

    /// Finds places for what solids have, and for the columns of rows, by whether solids turn.
    fn seat(&self, unit: &mut Unit, room: &mut Room, products: &[[u8; 2]], spokes: &[u8], width: usize) {
        (unit.columns, unit.roots, unit.motions) = (room.columns, room.roots, room.motions..room.motions);
        let mut roots = 0;
        for solids in unit.solids.chunks_exact(width) {
            let turns = self.plan.of.turns[solids[0] as usize];
            let seat = Seat { motion: unit.motions.len() as u32, root: roots, turns };
            unit.motions.end += seat.threes();
            roots += if turns { 7 } else { 1 };
            unit.seats.push(seat);
        }
        let mut columns = 0;
        // Per row: places of the columns of both sides, and whether they are six.
        let mut place = vec![[(NONE, false); 2]; unit.height(width)];
        for node in &mut unit.nodes {
            for side in (0..2).filter(|side| node.solids[*side] != NONE) {
                let seat = unit.seats[node.solids[side] as usize];
                node.columns[side] = columns;
                place[node.at as usize][side] = (columns, seat.turns);
                columns += u32::from(node.count) * seat.threes() as u32;
            }
        }
        for (t, sides) in unit.products.iter_mut().zip(products) {
            let (a, b) = (place[t.a as usize][sides[0] as usize], place[t.b as usize][sides[1] as usize]);
            (t.a, t.b, t.turns) = (a.0, b.0, b.1);
        }
        for (t, side) in unit.spokes.iter_mut().zip(spokes) {
            (t.a, t.turns) = place[t.a as usize][*side as usize];
        }
        room.columns += columns as usize;
        room.roots += roots as usize;
        room.motions = unit.motions.end;
    }
}

/// Nanoseconds, roughly: a share per front, and one per multiplication.
fn cost(steps: &[Step], [front, multiplication]: [f64; 2]) -> f64 {
    steps
        .iter()
        .map(|s| {
            let (p, b) = (f64::from(s.pivots), f64::from(s.rows));
            front + multiplication * (p * p * p / 6.0 + p * p * b / 2.0 + p * b * b / 2.0)
        })
        .sum()
}
