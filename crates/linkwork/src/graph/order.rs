//! Fill-reducing elimination order of joints: minimum degree on the graph in which two joints are neighbours when they
//! share a movable solid.

use super::Island;
use crate::mechanism::Mechanism;

/// The order in which the joints of an island (by position in `island.joints`) are best eliminated, and the scalar
/// multiplications a block factorisation in that order takes.
///
/// A quotient graph keeps it cheap: eliminating a joint merges the cliques it belongs to (at the start one clique per
/// movable solid, however many joints meet there: a hub of a thousand joints is one clique, not half a million edges).
pub fn elimination_order(m: &Mechanism, island: &Island) -> (Vec<usize>, f64) {
    let n = island.joints.len();
    let rows: Vec<f64> = island.joints.iter().map(|j| crate::rows::row_count(m.joint(*j)) as f64).collect();
    let mut of_solid = vec![usize::MAX; m.solids().len()];
    island.solids.iter().enumerate().for_each(|(k, s)| of_solid[s.index()] = k);
    // cliques[c]: joints; member[j]: cliques of joint j.
    let mut cliques: Vec<Vec<usize>> = vec![Vec::new(); island.solids.len()];
    let mut member: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (k, j) in island.joints.iter().enumerate() {
        for f in &m.joint(*j).frames {
            let c = of_solid[f.solid.index()];
            if c != usize::MAX {
                cliques[c].push(k);
                member[k].push(c);
            }
        }
    }
    // Approximate degree (sum of clique sizes, an upper bound): cheap to keep and nearly as good as the exact one.
    let mut size: Vec<f64> = cliques.iter().map(|c| c.iter().map(|j| rows[*j]).sum()).collect();
    let degree = |j: usize, member: &[Vec<usize>], size: &[f64]| -> f64 {
        member[j].iter().map(|c| size[*c] - rows[j]).sum()
    };
    let mut queue = std::collections::BTreeSet::new();
    let mut key = vec![0u64; n];
    for j in 0..n {
        key[j] = degree(j, &member, &size) as u64;
        queue.insert((key[j], j));
    }
    let (mut order, mut flops) = (Vec::with_capacity(n), 0.0);
    let mut done = vec![false; n];
    let mut mark = vec![usize::MAX; n];
    while let Some((_, j)) = queue.pop_first() {
        done[j] = true;
        order.push(j);
        let mut merged = Vec::new();
        for c in std::mem::take(&mut member[j]) {
            for k in std::mem::take(&mut cliques[c]) {
                if !done[k] && mark[k] != j {
                    mark[k] = j;
                    merged.push(k);
                }
            }
            size[c] = 0.0;
        }
        let below: f64 = merged.iter().map(|k| rows[*k]).sum();
        let r = rows[j];
        flops += r * r * r / 3.0 + r * r * below + r * below * below;
        let c = cliques.len();
        for &k in &merged {
            member[k].retain(|c| !cliques[*c].is_empty());
            member[k].push(c);
        }
        size.push(below);
        cliques.push(merged);
        for i in 0..cliques[c].len() {
            let k = cliques[c][i];
            queue.remove(&(key[k], k));
            key[k] = degree(k, &member, &size) as u64;
            queue.insert((key[k], k));
        }
    }
    (order, flops)
}

#[cfg(test)]
mod tests {
    use crate::graph::{Graph, elimination_order};
    use crate::{Frame, Joint, Mechanism, Solid, SolidId, Vector};

    fn star_or_chain(n: u32, star: bool) -> Mechanism {
        let mut m = Mechanism::new();
        for i in 0..n {
            m.add_solid(Solid::new(format!("s{i}"))).unwrap();
        }
        for i in 1..n {
            let f = |s| Frame::point(SolidId(s), Vector::ZERO);
            m.add_joint(Joint::ball(f(if star { 1 } else { i }), f(i + 1))).unwrap();
        }
        m
    }

    #[test]
    fn chains_fill_nothing() {
        let m = star_or_chain(200, false);
        let (order, flops) = elimination_order(&m, &Graph::new(&m).islands[0]);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..199).collect::<Vec<_>>());
        // Each joint has at most one neighbour left when it goes: 9 + 27 + 27 multiplications.
        assert!(flops <= 199.0 * 63.0, "{flops}");
    }

    #[test]
    fn a_hub_is_one_clique() {
        let m = star_or_chain(1001, true);
        let (order, flops) = elimination_order(&m, &Graph::new(&m).islands[0]);
        assert_eq!(order.len(), 1000);
        assert!(flops > 3000f64.powi(3) / 3.1);
    }
}
