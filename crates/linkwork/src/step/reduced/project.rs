//! Closing what the scheme leaves open, and the solve that accelerations and projections share: the recursion for trees,
//! the step's linear solver for components with loops or crossed bounds.

use super::laws::{self, Mode, along, twist};
use super::{Advanced, IslandWork, Piece, Rejected, Scratch, StepConfig};
use crate::math::Vector;
use crate::mechanism::Mechanism;
use crate::rows::{Group, Law, Rows, dot6};
use crate::state::State;

/// A bound that may stop something: rigid, and of unlimited force.
fn stops(g: &Group) -> bool {
    g.law == Law::Hold && g.most_force == f64::INFINITY
}

/// How often motors may give way before velocities are taken as they are.
const ROUNDS: usize = 8;

/// A motor that passed its aim within the step is caught by as much impulse as it has in two.
const STRENGTH: f64 = 2.0;

impl Scratch {
    /// Something is not where it belongs, or moves against a constraint.
    pub(super) fn is_open(&self, s: &State, w: &IslandWork) -> bool {
        const OPEN: f64 = 1e-9;
        let fastest = (0..s.centers.len())
            .map(|i| s.velocities[i].length().max(s.spins[i].length()))
            .fold(0.0, f64::max);
        w.rows.groups.iter().any(|g| {
            g.range().any(|r| match self.modes[r] {
                Mode::Holds { .. } => {
                    let slip = along(&w.rows, r, g.solids, s) - laws::rate(g);
                    let gap = laws::lacks(&w.rows, g, r, self.modes[r]);
                    !(gap.abs() <= OPEN && slip.abs() <= OPEN * (1.0 + fastest))
                }
                Mode::Rests => stops(g) && w.rows.wanted(r).abs() > OPEN,
                _ => false,
            })
        })
    }

    /// Positions to rounding, then velocities; rows are those of `s` before and after. `lambda` then holds the impulses
    /// that stopped the velocities.
    pub(super) fn settle(
        &mut self,
        piece: &Piece,
        s: &mut State,
        w: &mut IslandWork,
        done: &mut Advanced,
    ) -> Result<(), Rejected> {
        let Piece { m, c, .. } = *piece;
        let n = m.solids().len();
        let mut before = f64::INFINITY;
        for _ in 0..c.iterations.max(4) {
            let gap = self.aim_positions(&w.rows);
            if gap.is_nan() {
                return Err(Rejected::NotFinite);
            }
            // Newton's method doubles the digits; when it stops doing so, what is left is rounding.
            if gap <= 1e-15 || (gap <= 1e-11 && gap > 0.25 * before) {
                break;
            }
            // Out of time: once is enough for a state that can be shown.
            if before < f64::INFINITY && w.is_over(c) {
                break;
            }
            before = gap;
            self.f.clear();
            self.f.resize(n, [0.0; 6]);
            self.x.clear();
            self.x.resize(n, [0.0; 6]);
            self.prepare(m, s, w, c)?;
            self.solve(w, c, n, done)?;
            for i in (0..n).filter(|i| w.masses.moves(*i)) {
                let mut dq = self.x[i];
                let angle = Vector::new(dq[3], dq[4], dq[5]).length();
                if angle > c.max_rotation {
                    dq[3..].iter_mut().for_each(|x| *x *= c.max_rotation / angle);
                }
                s.displace(i, &dq);
            }
            done.iterations += 1;
            w.relinearise(piece, s, piece.end);
        }
        self.let_bounds_decide(w);
        for _ in 0..ROUNDS {
            self.aim_velocities(&w.rows);
            self.momenta(s, w, n);
            self.prepare(m, s, w, c)?;
            self.lambda.fill(0.0);
            self.solve(w, c, n, done)?;
            if !self.motors_yield(&w.rows, piece.h) {
                break;
            }
        }
        for i in (0..n).filter(|i| w.masses.moves(*i)) {
            let x = &self.x[i];
            s.velocities[i] = Vector::new(x[0], x[1], x[2]);
            s.spins[i] = Vector::new(x[3], x[4], x[5]);
        }
        Ok(())
    }

    /// Where a bound was crossed there is a blow, and it may take others off the bounds that they rest on: those push as well,
    /// and never pull.
    fn let_bounds_decide(&mut self, w: &IslandWork) {
        if self.touched.iter().all(|t| t.is_none()) {
            return;
        }
        for g in w.rows.groups.iter().filter(|g| stops(g)) {
            for r in g.range().filter(|r| !w.rows.is_equality(*r)) {
                if let Mode::Holds { high } = self.modes[r] {
                    self.modes[r] = Mode::Rests;
                    self.touched[r] = self.touched[r].or(Some(high));
                }
            }
        }
    }

    /// Motors of limited force keep their aim in a blow as far as what they have over the step does it; beyond that they take
    /// no part. Their force during the step is counted already. True when one gave way.
    fn motors_yield(&mut self, rows: &Rows, h: f64) -> bool {
        let mut yields = false;
        for g in rows.groups.iter().filter(|g| g.most_force.is_finite()) {
            for r in g.range() {
                if self.modes[r].holds() && !(self.lambda[r].abs() <= STRENGTH * g.most_force * h) {
                    self.modes[r] = Mode::Pushes(g.most_force.copysign(self.lambda[r]));
                    yields = true;
                }
            }
        }
        yields
    }

    /// What the positions lack. Bounds that are crossed are noted. Gives the widest gap.
    pub(super) fn aim_positions(&mut self, rows: &Rows) -> f64 {
        // Less than this is rounding, not a crossing.
        const CROSSED: f64 = 1e-12;
        let mut widest = 0.0_f64;
        self.free_bounds(rows.len());
        self.wanted.clear();
        self.wanted.resize(rows.len(), 0.0);
        for g in &rows.groups {
            for r in g.range() {
                let mut gap = 0.0;
                match self.modes[r] {
                    Mode::Holds { .. } => {
                        gap = laws::lacks(rows, g, r, self.modes[r]);
                        self.wanted[r] = gap;
                    }
                    Mode::Rests if stops(g) => {
                        (self.low[r], self.high[r]) = (rows.low[r], rows.high[r]);
                        if rows.wanted(r).abs() > CROSSED {
                            gap = rows.wanted(r);
                            self.touched[r] = Some(gap < 0.0);
                        }
                    }
                    _ => {}
                }
                if gap.is_nan() {
                    return f64::NAN;
                }
                widest = widest.max(gap.abs());
            }
        }
        widest
    }

    /// What the velocities shall be: bounds that were crossed let nothing go on.
    fn aim_velocities(&mut self, rows: &Rows) {
        self.free_bounds(rows.len());
        self.wanted.clear();
        self.wanted.resize(rows.len(), 0.0);
        for g in &rows.groups {
            for r in g.range() {
                self.wanted[r] = laws::rate(g);
                match self.touched[r] {
                    Some(true) => self.high[r] = 0.0,
                    Some(false) => self.low[r] = 0.0,
                    None => {}
                }
            }
        }
    }

    /// `M v` as forces, and the motion of what cannot be moved.
    fn momenta(&mut self, s: &State, w: &IslandWork, n: usize) {
        self.f.clear();
        self.x.clear();
        for i in 0..n {
            self.x.push(twist(s, i));
            let (mut p, mut l) = (Vector::ZERO, Vector::ZERO);
            if w.masses.moves(i) {
                let q = s.rotations[i];
                p = s.velocities[i] * w.masses.mass(i);
                l = q * (*w.masses.inertia(i) * (q.inverse() * s.spins[i]));
            }
            self.f.push([p.x, p.y, p.z, l.x, l.y, l.z]);
        }
    }

    /// No bound takes part.
    pub(super) fn free_bounds(&mut self, rows: usize) {
        self.low.clear();
        self.low.resize(rows, f64::NEG_INFINITY);
        self.high.clear();
        self.high.resize(rows, f64::INFINITY);
    }

    /// The forest of what holds, factored. Components where a bound was crossed go to the other solver.
    pub(super) fn prepare(
        &mut self,
        m: &Mechanism,
        s: &State,
        w: &mut IslandWork,
        c: &StepConfig,
    ) -> Result<(), Rejected> {
        let clock = w.start(c);
        let modes = &self.modes;
        self.tree.update(m.epoch(), &w.rows, &w.masses, |r| modes[r].holds());
        self.tree.include_all();
        for g in &w.rows.groups {
            let deciding = |r: usize| self.low[r].is_finite() || self.high[r].is_finite();
            if g.range().any(|r| self.touched[r].is_some() && deciding(r)) {
                self.tree.exclude(g.solids);
            }
        }
        let fine = self.tree.factor(&w.rows, &w.masses, s);
        w.stop(c, clock, |t| &mut t.factor);
        if fine { Ok(()) } else { Err(Rejected::NotFinite) }
    }

    /// `M x = f + J^T lambda` with `J x = wanted` where rows hold and in the intervals where bounds decide.
    pub(super) fn solve(
        &mut self,
        w: &mut IslandWork,
        c: &StepConfig,
        solids: usize,
        done: &mut Advanced,
    ) -> Result<(), Rejected> {
        let clock = w.start(c);
        self.lambda.resize(w.rows.len(), 0.0);
        self.tree.solve(&w.rows, &self.f, &self.wanted, &mut self.x, &mut self.lambda);
        w.stop(c, clock, |t| &mut t.solve);
        if self.tree.leaves_any() {
            self.solve_rest(w, c, solids, done);
        }
        if self.x.iter().flatten().any(|x| !x.is_finite()) {
            return Err(Rejected::NotFinite);
        }
        Ok(())
    }

    /// The components that the recursion leaves out: unconstrained motion first, then the rows change it.
    fn solve_rest(&mut self, w: &mut IslandWork, c: &StepConfig, solids: usize, done: &mut Advanced) {
        for i in (0..solids).filter(|i| self.tree.leaves_out(*i)) {
            self.x[i] = w.masses.accelerate(i, &self.f[i]);
        }
        for g in &w.rows.groups {
            let [a, b] = g.solids;
            let ours = self.tree.leaves_out(a) || self.tree.leaves_out(b);
            for r in g.range() {
                let [ja, jb] = &w.rows.row(r);
                let has = dot6(ja, &self.x[a]) + dot6(jb, &self.x[b]);
                let (low, high) = match self.modes[r] {
                    Mode::Holds { .. } if ours => (self.wanted[r], self.wanted[r]),
                    Mode::Rests if ours => (self.low[r], self.high[r]),
                    _ => (f64::NEG_INFINITY, f64::INFINITY),
                };
                (self.low[r], self.high[r]) = (low - has, high - has);
                if low == high {
                    // Equal to the last bit, so that it counts as an equality.
                    self.high[r] = self.low[r];
                }
            }
        }
        std::mem::swap(&mut w.rows.low, &mut self.low);
        std::mem::swap(&mut w.rows.high, &mut self.high);
        done.solver_iterations += w.solve_exactly(c, solids);
        std::mem::swap(&mut w.rows.low, &mut self.low);
        std::mem::swap(&mut w.rows.high, &mut self.high);
        for i in (0..solids).filter(|i| self.tree.leaves_out(*i)) {
            for (x, d) in self.x[i].iter_mut().zip(&w.correction.dq[i]) {
                *x += d;
            }
        }
        for g in &w.rows.groups {
            if g.solids.iter().any(|s| self.tree.leaves_out(*s)) {
                for r in g.range().filter(|r| matches!(self.modes[*r], Mode::Holds { .. } | Mode::Rests)) {
                    self.lambda[r] = w.correction.lambda[r];
                }
            }
        }
    }
}
