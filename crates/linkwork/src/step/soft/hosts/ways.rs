//! How far the linkage of hosts lets them go: its response, taken apart, and what its joints answer to the pins.

use super::Hosts;
use crate::rows::Masses;
use crate::solve::{Jointed, Lower};
use crate::step::IslandWork;
use crate::step::free::Wrench;
use crate::step::soft::Soft;

/// What a direction gives way by less than this share of what the solid would do alone is held.
const HELD: f64 = 1e-9;

impl Soft {
    /// How hosts can go: their linkage's response, taken apart.
    pub fn find_ways(
        &mut self,
        lower: &mut dyn Lower,
        masses: &Masses,
        push: &mut Vec<[f64; 6]>,
        out: &mut Vec<[f64; 6]>,
    ) {
        let h = &mut self.hosts;
        let n = 6 * h.list.len();
        h.response.clear();
        h.response.resize(n * n, 0.0);
        h.scale.clear();
        h.scale.resize(n, 0.0);
        for v in [&mut *push, &mut *out] {
            v.clear();
            v.resize(lower.solids(), [0.0; 6]);
        }
        for (k, host) in h.list.iter().enumerate() {
            for i in 0..if host.turns { 6 } else { 3 } {
                push[host.solid][i] = 1.0;
                h.scale[6 * k + i] = masses.accelerate(host.solid, &push[host.solid])[i].max(0.0).sqrt();
                lower.respond(push, out);
                push[host.solid][i] = 0.0;
                for (j, other) in h.list.iter().enumerate() {
                    h.response[(6 * k + i) * n + 6 * j..][..6].copy_from_slice(&out[other.solid]);
                }
            }
        }
        h.take_apart();
    }
}

impl Hosts {
    /// `response` into `ways`, by Cholesky with pivots, in the measure of solids that are free.
    fn take_apart(&mut self) {
        let n = 6 * self.list.len();
        let a = &mut self.response;
        for i in 0..n {
            for j in 0..n {
                let scale = self.scale[i] * self.scale[j];
                a[i * n + j] = if scale > 0.0 { a[i * n + j] / scale } else { 0.0 };
            }
        }
        let found = &mut self.found;
        found.clear();
        loop {
            let best = (0..n).fold(0, |b, i| if a[i * n + i] > a[b * n + b] { i } else { b });
            let pivot = if n > 0 { a[best * n + best] } else { 0.0 };
            if !(pivot > HELD) || found.len() == n * n {
                break;
            }
            let from = found.len();
            found.extend((0..n).map(|i| a[i * n + best] / pivot.sqrt()));
            let column = &found[from..];
            for i in 0..n {
                for j in 0..n {
                    a[i * n + j] -= column[i] * column[j];
                }
            }
        }
        self.columns = found.len().checked_div(n).map_or(0, |k| k.div_ceil(6) * 6);
        self.ways.clear();
        self.ways.resize(self.list.len() * self.columns, [0.0; 6]);
        for (j, column) in found.chunks_exact(n.max(1)).enumerate() {
            for (i, x) in column.iter().enumerate() {
                self.ways[(i / 6) * self.columns + j][i % 6] = x * self.scale[i];
            }
        }
    }
}

impl IslandWork {
    /// How hosts can go, by the factor of the rows below.
    pub(in crate::step) fn find_ways_of_hosts(&mut self) {
        if !self.soft.has_hosts() {
            return;
        }
        let Some((_, solver)) = &mut self.solver else { return };
        let active: &[bool] = if self.bounded { &self.below } else { &[] };
        let mut scratch = std::mem::take(&mut self.soft.hosts.jointed);
        let (rows, soft) = (&self.rows, &self.rows.softness);
        let mut lower = Jointed::new(solver.as_mut(), rows, &self.masses, active, soft, 0.0, &mut scratch);
        self.soft.find_ways(&mut lower, &self.masses, &mut self.push, &mut self.dq);
        self.soft.hosts.jointed = scratch;
    }

    /// Joints answer what pins push hosts with now: all that is not in balance then is that turns are no vectors.
    pub(in crate::step) fn answer_hosts(&mut self) {
        let Some((_, solver)) = &mut self.solver else { return };
        let mut change = self.soft.change_of_pushes(&self.rows);
        let mut sum = std::mem::take(&mut self.wrenches);
        sum.clear();
        sum.resize(self.impulses.len(), Wrench::default());
        self.rows.collect(&change, &mut sum);
        self.push.clear();
        self.push.extend(sum.iter().enumerate().map(|(i, w)| {
            let (f, t) = (w.linear, w.angular);
            if self.soft.has(i) { [0.0; 6] } else { [f.x, f.y, f.z, t.x, t.y, t.z] }
        }));
        self.dq.clear();
        self.dq.resize(self.masses.len(), [0.0; 6]);
        let active: &[bool] = if self.bounded { &self.below } else { &[] };
        let mut scratch = std::mem::take(&mut self.soft.hosts.jointed);
        let (rows, soft) = (&self.rows, &self.rows.softness);
        let mut lower = Jointed::new(solver.as_mut(), rows, &self.masses, active, soft, 0.0, &mut scratch);
        lower.respond(&self.push, &mut self.dq);
        for (r, l) in lower.inner().iter().enumerate() {
            self.lambda[r] += l;
            change[r] += l;
        }
        self.soft.hosts.jointed = scratch;
        self.rows.collect(&change, &mut sum);
        for (i, left) in &self.raised {
            sum[*i].angular = *left * sum[*i].angular;
        }
        for (i, (to, w)) in self.impulses.iter_mut().zip(&sum).enumerate() {
            if !self.soft.has(i) {
                to.linear += w.linear;
                to.angular += w.angular;
            }
        }
        (self.wrenches, self.soft.hosts.change) = (sum, change);
    }
}
