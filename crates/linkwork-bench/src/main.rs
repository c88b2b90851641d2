//! tune
use linkwork::graph::Graph;
use linkwork::rows::{Masses, Rows};
use linkwork::solve::*;
use linkwork::*;
use std::time::Instant;
fn scene(text: &str) -> Mechanism {
    let (s, r) = linkwork::scene::load(text, &mut |_: &str| Err("no files".into()));
    assert!(!r.has_errors());
    s.unwrap().mechanism
}
fn main() {
    let only = std::env::args().nth(1);
    for (name, text) in [
        ("12,1", generate::ladder(12, 1, 1.0).unwrap()),
        ("12,4", generate::ladder(12, 4, 1.0).unwrap()),
        ("1,48", generate::ladder(1, 48, 1.0).unwrap()),
        ("1,96", generate::ladder(1, 96, 1.0).unwrap()),
        ("6,96", generate::ladder(6, 96, 1.0).unwrap()),
        ("mesh11", generate::net(11, 11).unwrap()),
        ("6,1536", generate::ladder(6, 1536, 1.0).unwrap()),
        ("net40", generate::net(40, 40).unwrap()),
    ] {
        if only.as_ref().is_some_and(|o| o != name) {
            continue;
        }
        let t0 = Instant::now();
        let m = scene(&text);
        let load = t0.elapsed();
        let s = State::new(&m);
        let g = Graph::new(&m);
        let mut rows = Rows::default();
        let all = || (0..m.joints().len() as u32).map(JointId);
        rows.fill(&m, &s, all(), |j| g.default_rank(j));
        let mut masses = Masses::new(&m, &s);
        let mut solver = SparseDirect::new();
        let t0 = Instant::now();
        solver.analyse(&rows, &masses);
        let an = t0.elapsed().as_secs_f64() * 1e3;
        let b: Vec<f64> = (0..rows.len()).map(|i| ((i * 7919) % 101) as f64 / 101.0 - 0.5).collect();
        let mut lambda = vec![0.0; rows.len()];
        let (mut tf, mut ts, mut tr) = (f64::MAX, f64::MAX, f64::MAX);
        let mut rep = None;
        for _ in 0..if rows.len() < 10000 { 2000 } else { 5 } {
            let t = Instant::now();
            masses.update(&m, &s);
            rows.fill(&m, &s, all(), |j| g.default_rank(j));
            tr = tr.min(t.elapsed().as_secs_f64() * 1e3);
            let t = Instant::now();
            solver.factor(&Problem { rows: &rows, masses: &masses, active: &[], damping: None });
            tf = tf.min(t.elapsed().as_secs_f64() * 1e3);
            lambda.fill(0.0);
            let t = Instant::now();
            rep = Some(solver.solve(
                &b,
                &mut lambda,
                &Work { iterations: 5, tolerance: 1e-10, out_of_time: None },
            ));
            ts = ts.min(t.elapsed().as_secs_f64() * 1e3);
        }
        let (fl, fill) = solver.predicted();
        println!(
            "{name:8} rows {:6} load {:.0?} analyse {an:.2} rows {tr:.4} factor {tf:.4} solve {ts:.4} flops {fl:.2e} fill {fill:.2e} {rep:?}",
            rows.len(),
            load
        );
    }
}
