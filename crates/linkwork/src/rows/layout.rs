//! Which rows there are, in which order: fixed while neither the mechanism nor the set of what acts changes. A fill lays
//! the blocks out if need be, then writes all of their numbers; nothing of an earlier pose is left.

use super::ball::{self, Ball};
use super::fill::{Ends, Writer, count};
use super::key::{RowKey, Source};
use super::{Group, Kind, Law, Rows, Unit};
use crate::force::Spring;
use crate::joint::{Joint, JointId, Rank};
use crate::math::{Matrix, Vector};
use crate::mechanism::Mechanism;
use crate::state::State;

/// What is constant about the rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    epoch: Option<u64>,
    /// Joints and springs that acted when it was made, if that depends on time.
    acting: Vec<bool>,
    /// It does, because of a joint.
    timed: bool,
    springs: usize,
    pub balls: Vec<Ball>,
    /// Groups that are not ball joints.
    pub others: Vec<u32>,
    /// Rotation matrices of the solids that turn.
    turned: Vec<Matrix>,
}

/// Who acts, joints first: empty where it does not depend on time. `timed`: it does, because of a joint.
fn acting(m: &Mechanism, at: f64, timed: bool) -> impl Iterator<Item = bool> {
    let timed = timed || m.springs.iter().any(|s| s.during.is_some());
    // Joints are large: where they need not be looked at they are not.
    let joints = if timed { m.joints() } else { &[] };
    let springs = if timed { &m.springs[..] } else { &[] };
    joints.iter().map(move |j| j.holds_at(at)).chain(springs.iter().map(move |s| acts(s, at)))
}

fn acts(spring: &Spring, at: f64) -> bool {
    spring.during.is_none_or(|d| d.contains(at))
}

/// A spring whose ends may pass through each other: short beside the distance that its ends start with. Its direction
/// then flips within a step, so it is three rows on the vector between its ends instead of one on its length.
fn is_short(m: &Mechanism, spring: &Spring) -> bool {
    const SHORT: f64 = 0.05;
    let [p, q] = [0, 1].map(|k| m.solid(spring.solids[k]).pose.transform_point(spring.points[k]));
    spring.length <= SHORT * p.distance(q)
}

impl Layout {
    /// Nothing is laid out any more; what was allocated stays.
    pub fn clear(&mut self) {
        self.epoch = None;
        self.acting.clear();
        self.balls.clear();
        self.others.clear();
    }

    fn holds(&self, m: &Mechanism, at: f64) -> bool {
        self.epoch == Some(m.epoch())
            && self.springs == m.springs.len()
            && self.acting.iter().copied().eq(acting(m, at, self.timed))
    }
}

impl Rows {
    /// Fills the rows of the joints in `joints` that hold at time `at`; `rank` tells the priority of joints that have none
    /// of their own.
    pub fn fill(
        &mut self,
        m: &Mechanism,
        s: &State,
        at: f64,
        joints: impl IntoIterator<Item = JointId>,
        rank: impl Fn(JointId) -> Rank,
    ) {
        self.clear();
        for id in joints {
            self.lay_joint(m, at, id, &rank);
        }
        self.write(m, s);
    }

    /// Fills everything that acts at time `at`: joints, then their motors, then springs.
    pub fn fill_motion(&mut self, m: &Mechanism, s: &State, at: f64, rank: impl Fn(JointId) -> Rank) {
        if !self.layout.holds(m, at) {
            self.clear();
            self.groups.reserve(m.joints().len());
            self.keys.reserve(m.joints().len());
            for k in 0..m.joints().len() as u32 {
                self.lay_joint(m, at, JointId(k), &rank);
            }
            for (k, j) in m.joints().iter().enumerate() {
                if j.holds_at(at) && !m.is_inert(j) {
                    self.lay_drives(m, JointId(k as u32), j);
                }
            }
            for (k, spring) in m.springs.iter().enumerate() {
                if acts(spring, at) && spring.solids.iter().any(|i| !m.solid(*i).is_fixed()) {
                    self.lay_spring(m, k as u32, spring);
                }
            }
            self.layout.epoch = Some(m.epoch());
            self.layout.springs = m.springs.len();
            self.layout.timed = m.joints().iter().any(|j| j.during.is_some());
            self.layout.acting.extend(acting(m, at, self.layout.timed));
        }
        self.write(m, s);
    }

    /// Refills with one block of a former fill, at another pose.
    pub(crate) fn refill(&mut self, m: &Mechanism, s: &State, g: &Group) {
        self.clear();
        let first = Group { first: 0, ..*g };
        match g.kind {
            Kind::Ball { .. } => self.push_ball(m, first),
            Kind::General { .. } => self.push_general(m, first),
        }
        self.write(m, s);
    }

    fn lay_joint(&mut self, m: &Mechanism, at: f64, id: JointId, rank: &impl Fn(JointId) -> Rank) {
        let j = m.joint(id);
        let count = count(j);
        if !j.holds_at(at) || m.is_inert(j) || count == 0 {
            return;
        }
        let law = if j.compliance > 0.0 {
            Law::Soft { stiffness: 1.0 / j.compliance, damping: j.damping }
        } else {
            Law::Hold
        };
        let group = Group {
            joint: id,
            source: Source::Joint,
            solids: j.frames.map(|f| f.solid.index()),
            turns: j.frames.map(|f| !m.solid(f.solid).particle),
            first: self.len(),
            count,
            kind: Kind::Ball { index: 0 },
            rank: j.rank.unwrap_or_else(|| rank(id)),
            weight: j.weight,
            compliance: j.compliance,
            law,
            most_force: j.most_force,
        };
        // Joints of soft vertices are solved over the response of their bodies, one by one.
        let soft = j.frames.iter().any(|f| m.soft_of(f.solid).is_some());
        if ball::is_ball(j) && !soft { self.push_ball(m, group) } else { self.push_general(m, group) }
    }

    fn lay_drives(&mut self, m: &Mechanism, id: JointId, j: &Joint) {
        for (k, drive) in j.drives.iter().enumerate() {
            let solids = j.frames.map(|f| f.solid.index());
            let law = super::motion::law_of(drive).1;
            let group = self.single(m, id, Source::Drive(k as u32), solids, 1, law);
            self.push_general(m, Group { most_force: drive.max_force, weight: j.weight, ..group });
        }
    }

    fn lay_spring(&mut self, m: &Mechanism, k: u32, spring: &Spring) {
        let (none, solids) = (JointId(u32::MAX), spring.solids.map(|i| i.index()));
        let Spring { stiffness, damping, .. } = *spring;
        if !is_short(m, spring) {
            let group = self.single(m, none, Source::Spring(k), solids, 1, Law::Soft { stiffness, damping });
            return self.push_general(m, group);
        }
        let group = self.single(m, none, Source::Spring(k), solids, 3, Law::Soft { stiffness, damping: 0.0 });
        self.push_general(m, group);
        if damping > 0.0 {
            let law = Law::Soft { stiffness: 0.0, damping };
            let group = self.single(m, none, Source::Damper(k), solids, 1, law);
            self.push_general(m, group);
        }
    }

    /// A block of something that is no joint.
    fn single(
        &self,
        m: &Mechanism,
        joint: JointId,
        source: Source,
        solids: [usize; 2],
        count: usize,
        law: Law,
    ) -> Group {
        Group {
            joint,
            source,
            solids,
            turns: solids.map(|i| !m.solids()[i].particle),
            first: self.len(),
            count,
            kind: Kind::Ball { index: 0 },
            rank: Rank::Secondary,
            weight: 1.0,
            compliance: 0.0,
            law,
            most_force: f64::INFINITY,
        }
    }

    fn push_ball(&mut self, m: &Mechanism, group: Group) {
        let levers = m.joint(group.joint).frames.map(|f| f.pose.translation - m.solid(f.solid).mass.center);
        let (solids, first) = (group.solids.map(|s| s as u32), group.first as u32);
        let index = self.layout.balls.len() as u32;
        self.layout.balls.push(Ball { solids, first, levers });
        self.arms.push([Vector::ZERO; 2]);
        self.push_group(m, Group { kind: Kind::Ball { index }, ..group });
    }

    fn push_general(&mut self, m: &Mechanism, group: Group) {
        let turns = group.turns != [false; 2];
        let block = if turns { self.points.len() as u32 } else { u32::MAX };
        let kind = Kind::General { at: self.general.len() as u32, block };
        self.layout.others.push(self.groups.len() as u32);
        self.general.resize(self.general.len() + group.count * group.stride(), [0.0; 3]);
        if turns {
            self.points.push([Vector::ZERO; 2]);
        }
        self.push_group(m, Group { kind, ..group });
    }

    fn push_group(&mut self, m: &Mechanism, group: Group) {
        let key = RowKey::new(m, group.joint, group.source, group.count);
        let n = group.first + group.count;
        self.low.resize(n, 0.0);
        self.high.resize(n, 0.0);
        self.unit.resize(n, Unit::Length);
        self.group_at.resize(n, self.groups.len() as u32);
        self.keys.push(key);
        self.groups.push(group);
    }

    /// Every number of every block, at a state.
    fn write(&mut self, m: &Mechanism, s: &State) {
        self.angles.clear();
        self.softness.clear();
        self.squares.clear();
        self.bounces.clear();
        let mut layout = std::mem::take(&mut self.layout);
        layout.turned.clear();
        layout.turned.extend(s.rotations.values().iter().map(|q| Matrix::from_quat(*q)));
        let others = std::mem::take(&mut layout.others);
        let turned = std::mem::take(&mut layout.turned);
        self.layout = layout;
        ball::write(self, s, &turned);
        for &k in &others {
            self.write_general(m, s, k as usize);
        }
        (self.layout.others, self.layout.turned) = (others, turned);
    }

    fn write_general(&mut self, m: &Mechanism, s: &State, k: usize) {
        let g = self.groups[k];
        let Kind::General { at, block } = g.kind else { return };
        let columns = at as usize..at as usize + g.count * g.stride();
        let mut writer = Writer {
            first: g.first,
            filled: 0,
            general: &mut self.general[columns],
            turns: g.turns,
            low: &mut self.low[g.range()],
            high: &mut self.high[g.range()],
            unit: &mut self.unit[g.range()],
            angles: &mut self.angles,
            bounces: &mut self.bounces,
            squares: self.squared.then_some(&mut self.squares),
        };
        let points = match g.source {
            Source::Joint => writer.joint(m, s, g.joint),
            Source::Drive(drive) => writer.drive(&Ends::new(m, s, m.joint(g.joint)), m, s, g.joint, drive),
            Source::Spring(spring) => writer.spring(m, s, &m.springs[spring as usize], g.count == 3),
            Source::Damper(spring) => writer.spring(m, s, &m.springs[spring as usize], false),
        };
        debug_assert_eq!(writer.filled, g.count, "rows of {g:?}");
        if let Some(at) = self.points.get_mut(block as usize) {
            *at = points;
        }
    }
}
