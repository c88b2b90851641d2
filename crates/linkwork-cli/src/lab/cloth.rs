//! Cloth (Hong 2005, section V): springs that are longer than by a tenth become constraints, and nothing goes through anything.
//!
//! `elongation` runs the paper's scheme as it is printed: springs are explicit forces, and those that are too long at the start of a step
//! are constraints at its end (Equations 11, 12 and 14), released where they would push:
//! ```text
//!     v' = v + h M^-1 (F - J^T l),    J M^-1 J^T l = Phi / h^2 + J (v / h + M^-1 F),    Phi = |d| - 1.1 L
//! ```
//! Beside it stands the step of this program, which solves for all vertices at once: the global implicit solve that the paper
//! wants to save. `penetration` watches that step with solids in the way.

use super::tools::{Bench, Found, Walked, largest, median, series, table};
use super::verdict::{Case, number};
use crate::failure::Failure;
use crate::plot::Chart;
use crate::report::figure;
use linkwork::soft::tangles;
use linkwork::{Mechanism, SoftSpring, State, StepConfig, Vector};
use serde::Deserialize;
use std::time::Instant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Elongation {
    /// Vertices along a side of a sheet that hangs by two corners, one metre wide.
    grid: u32,
    mass: f64,
    /// Per spring: stiffness and damping.
    stretch: [f64; 2],
    limit: f64,
    steps: Vec<f64>,
    seconds: f64,
}

/// The sheet as particles and springs.
struct Particles {
    gravity: Vector,
    springs: Vec<SoftSpring>,
    /// Per vertex: one over its mass, zero for those that are held.
    light: Vec<f64>,
    x: Vec<Vector>,
    v: Vec<Vector>,
}

impl Particles {
    fn new(m: &Mechanism) -> Option<Self> {
        let soft = m.softs().first()?;
        let solids = &m.solids()[soft.range()];
        let light = |s: &linkwork::Solid| if s.is_fixed() { 0.0 } else { 1.0 / s.mass.mass };
        Some(Self {
            gravity: m.gravity,
            springs: soft.mesh.springs.clone(),
            light: solids.iter().map(light).collect(),
            x: solids.iter().map(|s| s.pose.translation).collect(),
            v: vec![Vector::ZERO; solids.len()],
        })
    }

    fn between(&self, s: &SoftSpring, of: &[Vector]) -> Vector {
        of[s.ends[1] as usize] - of[s.ends[0] as usize]
    }

    /// `M^-1 J^T l` for these springs, `u` being their directions.
    fn push(&self, rows: &[usize], u: &[Vector], l: &[f64]) -> Vec<Vector> {
        let mut out = vec![Vector::ZERO; self.x.len()];
        for ((k, u), l) in rows.iter().zip(u).zip(l) {
            let [a, b] = self.springs[*k].ends.map(|v| v as usize);
            out[a] -= *u * (*l * self.light[a]);
            out[b] += *u * (*l * self.light[b]);
        }
        out
    }

    /// One step as it is printed. Tells how many rows the system had.
    fn step(&mut self, h: f64) -> usize {
        for i in (0..self.v.len()).filter(|i| self.light[*i] > 0.0) {
            self.v[i] += self.gravity * h;
        }
        let v = self.v.clone();
        for k in 0..self.springs.len() {
            let s = self.springs[k];
            let d = self.between(&s, &self.x);
            let u = d.normalize_or_zero();
            let rate = u.dot(self.between(&s, &v));
            let pull = u * (h * (s.stiffness * (d.length() - s.length) + s.damping * rate));
            let [a, b] = s.ends.map(|v| v as usize);
            self.v[a] += pull * self.light[a];
            self.v[b] -= pull * self.light[b];
        }
        let long = |k: &usize| self.between(&self.springs[*k], &self.x).length() > self.springs[*k].longest;
        let mut rows: Vec<usize> = (0..self.springs.len()).filter(long).collect();
        let most = rows.len();
        // Those that would push are released, and the rest is solved again.
        for _ in 0..8 {
            let u: Vec<Vector> =
                rows.iter().map(|k| self.between(&self.springs[*k], &self.x).normalize_or_zero()).collect();
            let right: Vec<f64> = rows
                .iter()
                .zip(&u)
                .map(|(k, u)| {
                    let s = &self.springs[*k];
                    let over = self.between(s, &self.x).length() - s.longest;
                    over / (h * h) + u.dot(self.between(s, &self.v)) / h
                })
                .collect();
            let l = self.solve(&rows, &u, &right);
            if l.iter().all(|l| *l >= 0.0) || rows.is_empty() {
                let by = self.push(&rows, &u, &l);
                self.v.iter_mut().zip(by).for_each(|(v, d)| *v -= d * h);
                break;
            }
            rows = rows.into_iter().zip(l).filter(|(_, l)| *l >= 0.0).map(|(k, _)| k).collect();
        }
        self.x.iter_mut().zip(&self.v).for_each(|(x, v)| *x += *v * h);
        most
    }

    /// Conjugate gradients on `J M^-1 J^T`.
    fn solve(&self, rows: &[usize], u: &[Vector], b: &[f64]) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let apply = |l: &[f64]| -> Vec<f64> {
            let moved = self.push(rows, u, l);
            rows.iter().zip(u).map(|(k, u)| u.dot(self.between(&self.springs[*k], &moved))).collect()
        };
        let (mut x, mut r) = (vec![0.0; b.len()], b.to_vec());
        let (mut p, mut rr, enough) = (r.clone(), dot(b, b), 1e-20 * dot(b, b));
        for _ in 0..20 * b.len() {
            if rr <= enough {
                break;
            }
            let q = apply(&p);
            let a = rr / dot(&p, &q);
            if !a.is_finite() {
                break;
            }
            x.iter_mut().zip(&p).for_each(|(x, p)| *x += a * p);
            r.iter_mut().zip(&q).for_each(|(r, q)| *r -= a * q);
            let new = dot(&r, &r);
            p.iter_mut().zip(&r).for_each(|(p, r)| *p = r + new / rr * *p);
            rr = new;
        }
        x
    }

    fn strain(&self) -> f64 {
        let of = |s: &SoftSpring| self.between(s, &self.x).length() / s.length - 1.0;
        largest(self.springs.iter().map(of))
    }
}

pub fn elongation(bench: &Bench) -> Result<Found, Failure> {
    let p: Elongation = bench.parameters()?;
    let n = p.grid.max(2);
    let spacing = 1.0 / f64::from(n - 1);
    let text = format!(
        "cloth s: grid {n} {n} spacing {spacing}; mass {}; stretch {} {}; limit-strain {}; turn 1 0 0 90 deg; pin 0 0; \
         pin {} 0; collide none; end",
        p.mass,
        p.stretch[0],
        p.stretch[1],
        p.limit,
        n - 1
    );
    let m = bench.mechanism_of(&text)?;
    let unknowns = 3 * m.solids().iter().filter(|s| s.particle && !s.is_fixed()).count();
    let mut found = Found::default();
    let chart = |title: &str, y: &str| Chart {
        title: title.into(),
        x_label: "time, s".into(),
        y_label: y.into(),
        ..Chart::default()
    };
    let (mut strains, mut sizes) = (chart("Longest spring", "strain"), chart("Size of the system", "rows"));
    let mut rows = Vec::new();
    for h in &p.steps {
        bench.at(format!("steps of {h} s"));
        let count = (p.seconds / h).round() as usize;
        let mut sheet = Particles::new(&m).ok_or_else(|| bench.bad("there is no sheet"))?;
        let (mut worst, mut active, mut spent) = (0.0_f64, Vec::new(), Vec::new());
        let (mut line, mut size) = (Vec::new(), Vec::new());
        for k in 0..count {
            let begin = Instant::now();
            active.push(sheet.step(*h) as f64);
            spent.push(begin.elapsed().as_secs_f64());
            let strain = sheet.strain();
            worst = if strain.is_finite() { worst.max(strain) } else { f64::INFINITY };
            line.push((k as f64 * h, strain.min(1.0)));
            size.push((k as f64 * h, active[k]));
            if !worst.is_finite() || bench.out_of_time() {
                break;
            }
        }
        let (mut s, mut ours, mut global) = (State::new(&m), 0.0_f64, Vec::new());
        let c = StepConfig { dt: *h, sleep: false, ..StepConfig::default() };
        let walked = bench.walk(&m, &mut s, &c, count, &mut |_, _, r, took| {
            ours = ours.max(r.soft.strain);
            global.push(took);
        });
        if walked == Walked::OutOfTime {
            found.notes.push(format!("Steps of {h} s were not finished within the time limit."));
            continue;
        }
        let mean = active.iter().sum::<f64>() / active.len().max(1) as f64;
        let ratio = median(&spent) / median(&global).max(f64::MIN_POSITIVE);
        let mut case = Case::of("", *h);
        case.add("implicit: worst strain", worst);
        case.add("implicit: rows by unknowns", mean / unknowns as f64);
        case.add("implicit: time by global", ratio);
        case.add("variational: worst strain", ours);
        found.cases.push(case);
        let most = largest(active.iter().copied());
        rows.push(vec![number(*h), figure(worst), figure(ours), figure(mean), figure(most), figure(ratio)]);
        strains.series.push(series(format!("{h} s"), line));
        sizes.series.push(series(format!("{h} s"), size));
    }
    let head = ["step, s", "worst strain", "`variational`", "rows, mean", "rows, most", "time by global"];
    found.tables.push((
        format!(
            "{n} x {n} vertices hang by two corners for {} s; a global implicit solve has {unknowns} unknowns.",
            p.seconds
        ),
        table(&head, rows),
    ));
    found.charts = vec![strains, sizes];
    Ok(found)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Penetration {
    scenes: Vec<String>,
    seconds: f64,
}

pub fn penetration(bench: &Bench) -> Result<Found, Failure> {
    let p: Penetration = bench.parameters()?;
    let mut found = Found::default();
    let mut rows = Vec::new();
    let mut chart = Chart {
        title: "Springs at their longest".into(),
        x_label: "time, s".into(),
        y_label: "rows".into(),
        ..Chart::default()
    };
    for name in &p.scenes {
        bench.at(name.clone());
        let m = bench.mechanism(name)?;
        let c = StepConfig { sleep: false, ..StepConfig::default() };
        let steps = (p.seconds / c.dt).round() as usize;
        let half = m.softs().iter().map(|s| 0.5 * s.mesh.thickness).fold(f64::INFINITY, f64::min);
        let (mut s, mut spent, mut line) = (State::new(&m), Vec::new(), Vec::new());
        let (mut crossings, mut deepest, mut over, mut contacts) = (0, 0.0_f64, 0.0_f64, 0);
        let walked = bench.walk(&m, &mut s, &c, steps, &mut |k, s, r, took| {
            crossings += tangles(&m, s).iter().map(|t| t.count).sum::<usize>();
            deepest = deepest.max(r.soft.penetration);
            over = over.max(r.soft.excess);
            contacts = contacts.max(r.soft.contacts);
            spent.push(took);
            line.push((k as f64 * c.dt, r.soft.limited as f64));
        });
        if walked != Walked::Done {
            found.notes.push(format!("{name} was not finished: {walked:?}."));
            continue;
        }
        let mut case = Case::new("", name.clone());
        case.add("crossings", crossings as f64);
        case.add("depth by half thickness", deepest / half);
        case.add("strain beyond the limit", over);
        case.add("contacts", contacts as f64);
        case.add("time by real time", median(&spent) / c.dt);
        rows.push(vec![
            name.clone(),
            crossings.to_string(),
            figure(deepest / half),
            figure(over),
            contacts.to_string(),
            figure(median(&spent) / c.dt),
        ]);
        found.cases.push(case);
        chart.series.push(series(name.clone(), line));
    }
    let head = [
        "scene",
        "crossings",
        "depth by half thickness",
        "strain beyond the limit",
        "most contacts",
        "time by real time",
    ];
    found.tables.push((
        format!(
            "{} s of each; every edge of a sheet is held against every face, and every vertex against every solid, in every frame.",
            p.seconds
        ),
        table(&head, rows),
    ));
    found.charts = vec![chart];
    Ok(found)
}
