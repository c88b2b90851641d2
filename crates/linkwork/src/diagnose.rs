//! What is wrong, or merely odd, about a mechanism: freedoms left, redundant constraints, conflicting ones, by name.
//!
//! The rows are taken in order, primary joints first, and eliminated one by one from `A = W W^T` (`W = J C`,
//! `C C^T = M^-1`). A row whose pivot vanishes depends on the rows before it; back substitution says on which. A
//! dependent row whose gap contradicts theirs is a conflict, otherwise it is redundant.

use crate::graph::{Graph, Island};
use crate::joint::JointId;
use crate::math::Random;
use crate::mechanism::{Mechanism, Part};
use crate::rows::{Masses, Rows, dot6};
use crate::solid::SolidId;
use crate::state::State;
use crate::step::assemble::{AssembleConfig, Outcome, assemble};

/// A joint some of whose rows say nothing new, or contradict others.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependency {
    /// The joint.
    pub joint: JointId,
    /// How many of its rows depend on earlier ones.
    pub rows: usize,
    /// The other joints involved, most involved first.
    pub with: Vec<JointId>,
    /// The gaps contradict each other: no pose near here meets all of these.
    pub conflict: bool,
}

/// The findings about one island.
#[derive(Clone, Debug, PartialEq)]
pub struct IslandDiagnosis {
    /// Its movable solids.
    pub solids: usize,
    /// One of them, to name the island by.
    pub example: SolidId,
    /// Scalar equalities.
    pub rows: usize,
    /// Motions left, at a generic pose.
    pub freedoms: usize,
    /// Motions left to first order at this pose; larger than `freedoms` at a singular pose.
    pub freedoms_here: usize,
    /// False: too large to examine, `freedoms` is only freedoms of the solids less scalar constraints.
    pub examined: bool,
    /// Joints that say nothing new, or contradict others.
    pub dependencies: Vec<Dependency>,
}

/// The findings about a mechanism.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnosis {
    /// Island by island.
    pub islands: Vec<IslandDiagnosis>,
    /// Freedoms of all islands and of solids that nothing holds.
    pub freedoms: usize,
}

impl Diagnosis {
    /// All dependencies of one kind.
    pub fn dependencies(&self, conflict: bool) -> impl Iterator<Item = &Dependency> {
        self.islands.iter().flat_map(|i| &i.dependencies).filter(move |d| d.conflict == conflict)
    }
}

/// A pivot below this share of its diagonal is zero: the sine of the row's angle to the others, squared.
const VANISHES: f64 = 1e-10;

/// Examines a mechanism at a pose, best an assembled one. Islands with more than `most_rows` rows are only counted.
pub fn diagnose(m: &Mechanism, state: &State, most_rows: usize, tolerance: f64) -> Diagnosis {
    let graph = Graph::new(m);
    let loose: usize = graph.unheld.iter().map(|s| m.solid(*s).freedoms()).sum();
    let mut diagnosis = Diagnosis { islands: Vec::new(), freedoms: loose };
    for (k, island) in graph.islands.iter().enumerate() {
        let own: usize = island.solids.iter().map(|s| m.solid(*s).freedoms()).sum();
        let rows = island.joints.iter().map(|j| m.joint(*j).equalities()).sum();
        let mut found = IslandDiagnosis {
            solids: island.solids.len(),
            example: island.solids.first().copied().unwrap_or(SolidId::WORLD),
            rows,
            freedoms: own.saturating_sub(rows),
            freedoms_here: own.saturating_sub(rows),
            examined: rows <= most_rows,
            dependencies: Vec::new(),
        };
        if found.examined {
            let part = Part::new(m, island);
            let (m, state) = (&part.mechanism, &part.state(m, state));
            let graph = &Graph::new(m);
            let [island] = &graph.islands[..] else { continue };
            let (rank, mut dependencies) = examine(m, graph, island, state, tolerance);
            found.freedoms_here = own - rank.min(own);
            found.freedoms = found.freedoms_here;
            if !dependencies.is_empty() && !dependencies.iter().any(|d| d.conflict) {
                // Redundant for good, or only because of this pose? Look next door.
                let near = nearby(m, island, state, k as u64, tolerance);
                let generic = near.map_or(rank, |near| examine(m, graph, island, &near, tolerance).0);
                found.freedoms = own - generic.max(rank).min(own);
            }
            for d in &mut dependencies {
                d.joint = part.joints[d.joint.index()];
                d.with.iter_mut().for_each(|j| *j = part.joints[j.index()]);
            }
            found.dependencies = dependencies;
        }
        diagnosis.freedoms += found.freedoms;
        diagnosis.islands.push(found);
    }
    diagnosis
}

/// An assembled pose a little way off, if one is found.
fn nearby(m: &Mechanism, island: &Island, state: &State, seed: u64, tolerance: f64) -> Option<State> {
    let mut near = state.clone();
    let mut random = Random::new(seed + 17);
    for &id in &island.solids {
        let (t, q) = (random.ball() * (0.05 * m.solid(id).extent()), random.ball() * 0.05);
        near.displace(id.index(), &[t.x, t.y, t.z, q.x, q.y, q.z]);
    }
    let config =
        AssembleConfig { tolerance: tolerance.min(1e-9), iterations: Some(40), ..AssembleConfig::default() };
    (assemble(m, &mut near, &config).outcome == Outcome::Ok).then_some(near)
}

/// Rank of an island's equality rows, and the joints that do not add to it.
fn examine(
    m: &Mechanism,
    graph: &Graph,
    island: &Island,
    state: &State,
    tolerance: f64,
) -> (usize, Vec<Dependency>) {
    let mut rows = Rows::default();
    rows.fill(m, state, state.time, island.joints.iter().copied(), |j| graph.default_rank(j));
    let masses = Masses::new(m, state);
    // Equalities, forest first: then the loop closures are the ones found wanting, as a person would blame them.
    let mut order: Vec<(usize, usize)> = Vec::new();
    for closing in [false, true] {
        for (k, g) in rows.groups.iter().enumerate() {
            let late = graph.closes_loop(g.joint) || !g.is_primary();
            if late == closing {
                order.extend(g.range().filter(|r| rows.is_equality(*r)).map(|r| (k, r)));
            }
        }
    }
    let n = order.len();
    let scaled: Vec<[[f64; 6]; 2]> = order
        .iter()
        .map(|&(k, r)| {
            let s = rows.groups[k].solids;
            let row = rows.row(r);
            [masses.accelerate(s[0], &row[0]), masses.accelerate(s[1], &row[1])]
        })
        .collect();
    let entry = |i: usize, j: usize| {
        let ((gi, ri), (gj, _)) = (order[i], order[j]);
        let (si, sj) = (rows.groups[gi].solids, rows.groups[gj].solids);
        let mut sum = 0.0;
        for a in 0..2 {
            for b in 0..2 {
                if si[a] == sj[b] && masses.moves(si[a]) {
                    sum += dot6(&rows.row(ri)[a], &scaled[j][b]);
                }
            }
        }
        sum
    };
    // Row-wise Cholesky that skips vanishing pivots. `l[i]` holds the factor's row over the kept rows before `i`.
    let mut l: Vec<Vec<f64>> = Vec::with_capacity(n);
    let mut kept: Vec<usize> = Vec::new();
    let mut dependent: Vec<(usize, Vec<f64>)> = Vec::new();
    for i in 0..n {
        let mut row = Vec::with_capacity(kept.len() + 1);
        let diagonal = entry(i, i);
        let mut left = diagonal;
        for (c, &j) in kept.iter().enumerate() {
            let lj = &l[j];
            let sum: f64 = row.iter().zip(lj).map(|(a, b): (&f64, &f64)| a * b).sum();
            let x = (entry(i, j) - sum) / lj[c];
            left -= x * x;
            row.push(x);
        }
        if left > VANISHES * diagonal && left.is_finite() && diagonal > 0.0 {
            row.push(left.sqrt());
            kept.push(i);
            l.push(row);
        } else {
            dependent.push((i, row));
            l.push(Vec::new());
        }
    }
    // A dependent row is the combination `c` of kept ones: L^T c = row.
    let mut found: Vec<Dependency> = Vec::new();
    for (i, mut c) in dependent {
        for k in (0..c.len()).rev() {
            let lk = &l[kept[k]];
            c[k] /= lk[k];
            let x = c[k];
            for (below, f) in c[..k].iter_mut().zip(lk) {
                *below -= x * f;
            }
        }
        let (group, r) = order[i];
        let gap =
            rows.wanted(r) - c.iter().zip(&kept).map(|(c, k)| c * rows.wanted(order[*k].1)).sum::<f64>();
        let mut share: Vec<(f64, JointId)> = Vec::new();
        for (c, k) in c.iter().zip(&kept).filter(|(c, _)| c.abs() > 1e-3) {
            let joint = rows.groups[order[*k].0].joint;
            match share.iter_mut().find(|s| s.1 == joint) {
                Some(s) => s.0 = s.0.max(c.abs()),
                None => share.push((c.abs(), joint)),
            }
        }
        share.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let joint = rows.groups[group].joint;
        let conflict = gap.abs() > 10.0 * tolerance;
        let with: Vec<JointId> = share.into_iter().map(|s| s.1).filter(|j| *j != joint).take(8).collect();
        match found.iter_mut().find(|d| d.joint == joint) {
            Some(d) => {
                d.rows += 1;
                d.conflict |= conflict;
                with.into_iter().for_each(|j| {
                    if !d.with.contains(&j) && d.with.len() < 8 {
                        d.with.push(j);
                    }
                });
            }
            None => found.push(Dependency { joint, rows: 1, with, conflict }),
        }
    }
    (kept.len(), found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Vector, rotation_between};
    use crate::{Frame, Joint, PlacedShape, Rank, Solid};

    /// Bars along the edges of a polygon in the plane, pins along z at its corners, the first bar fixed to the world.
    fn polygon(corners: &[[f64; 2]], pin: bool) -> Mechanism {
        let mut m = Mechanism::new();
        let p: Vec<Vector> = corners.iter().map(|c| Vector::new(c[0], c[1], 0.0)).collect();
        let n = p.len();
        let mut ids = Vec::new();
        for k in 0..n {
            let (a, b) = (p[k], p[(k + 1) % n]);
            let c = (a + b) * 0.5;
            let bar = PlacedShape::cylinder(0.05, (b - a).length(), Vector::X);
            let solid = Solid::new(format!("b{k}")).with_shape(bar, 1.0).at(c.x, c.y, 0.0);
            ids.push(m.add_solid(solid.turned(rotation_between(Vector::X, (b - a).normalize()))).unwrap());
        }
        let frame = |m: &Mechanism, s: SolidId, at: Vector| {
            let pose = m.solid(s).pose;
            Frame::axis(s, pose.inverse_transform_point(at), pose.rotation.inverse() * Vector::Z)
        };
        let base = Joint::weld(frame(&m, SolidId::WORLD, p[0]), frame(&m, ids[0], p[0])).named("base");
        m.add_joint(base).unwrap();
        for k in 0..n {
            let (x, y) = (frame(&m, ids[(k + n - 1) % n], p[k]), frame(&m, ids[k], p[k]));
            let joint = if pin { Joint::pin(x, y) } else { Joint::ball(x, y) };
            m.add_joint(joint.named(format!("corner{k}"))).unwrap();
        }
        m
    }

    fn check(m: &Mechanism) -> Diagnosis {
        diagnose(m, &State::new(m), 2000, 1e-6)
    }

    #[test]
    fn a_four_bar_of_pins_moves_though_the_count_says_no() {
        let m = polygon(&[[0.0, 0.0], [2.0, 0.0], [2.2, 1.0], [0.1, 1.5]], true);
        let d = check(&m);
        // 24 freedoms of solids, 26 scalar constraints, yet one motion: three pins' rows are redundant (planar loop).
        assert_eq!((m.freedoms(), m.scalar_constraints(), d.freedoms), (24, 26, 1));
        assert_eq!(d.dependencies(false).map(|d| d.rows).sum::<usize>(), 3);
        assert_eq!(d.dependencies(true).count(), 0);
        assert!(d.islands[0].dependencies[0].with.len() >= 3);
    }

    #[test]
    fn a_singular_pose_is_told_from_redundancy() {
        // A rhombus folded flat: one motion more to first order than next door.
        let m = polygon(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [1.0, 0.0]], false);
        let d = check(&m);
        let i = &d.islands[0];
        assert_eq!((i.freedoms_here, i.freedoms), (7, 6), "{i:?}");
    }

    #[test]
    fn conflicts_name_both_sides() {
        let mut m = Mechanism::new();
        let b = m.add_solid(Solid::new("b")).unwrap();
        for (name, x) in [("left", 0.0), ("right", 1.0)] {
            let at = Frame::point(SolidId::WORLD, Vector::new(x, 0.0, 0.0));
            let joint = Joint::ball(at, Frame::point(b, Vector::ZERO)).named(name).with_rank(Rank::Secondary);
            m.add_joint(joint).unwrap();
        }
        let d = check(&m);
        let c: Vec<_> = d.dependencies(true).collect();
        assert_eq!(c.len(), 1);
        assert_eq!(m.joint_name(c[0].joint), "right");
        assert_eq!(c[0].with.iter().map(|j| m.joint_name(*j)).collect::<Vec<_>>(), ["left"]);
        assert_eq!(d.freedoms, 3);
    }

    #[test]
    fn large_islands_are_counted_only() {
        let m = polygon(&[[0.0, 0.0], [2.0, 0.0], [2.2, 1.0], [0.1, 1.5]], false);
        let d = diagnose(&m, &State::new(&m), 10, 1e-6);
        assert!(!d.islands[0].examined);
        assert_eq!(d.freedoms, 24 - 18);
    }
}
