//! probe
use linkwork::measure::Meter;
use linkwork::*;
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let (bars, pat, sub, tol, maxrot): (usize, usize, usize, f64, f64) = (
        a[0].parse().unwrap(),
        a[1].parse().unwrap(),
        a[2].parse().unwrap(),
        a[3].parse().unwrap(),
        a[4].parse().unwrap(),
    );
    let text = generate::ladder(bars, pat, 3.0).unwrap();
    let m = linkwork::scene::load(&text, &mut |_: &str| Err("no".into())).0.unwrap().mechanism;
    let mut s = State::new(&m);
    let mut w = Workspace::new();
    let mut meter = Meter::default();
    let e0 = meter.energy(&m, &s).total();
    let c = StepConfig {
        dt: 1.0 / 60.0 / sub as f64,
        tolerance: tol,
        max_rotation: maxrot,
        iterations: 20,
        ..Default::default()
    };
    let (mut kin, mut drift) = (0.0f64, 0.0f64);
    for k in 0..120 * sub {
        let r = step(&m, &mut s, &mut w, &c);
        let e = meter.energy(&m, &s);
        kin = kin.max(e.kinetic);
        drift = drift.max((e.total() - e0).abs());
        let (i, spin) = s
            .spins
            .iter()
            .enumerate()
            .map(|(i, s)| (i, s.length()))
            .fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
        if k % (6 * sub) == 6 * sub - 1 {
            println!(
                "t {:.2} it {} sub {} fb {} gap {:.1e} spin*dt {:.3} (solid {} {}) E {:.2e} K {:.3e}",
                s.time,
                r.iterations,
                r.substeps,
                r.fallbacks,
                r.gaps.worst(),
                spin * c.dt,
                i,
                m.solids()[i].name,
                (e.total() - e0) / kin,
                e.kinetic
            );
        }
    }
    println!("energy error {:.2e}", drift / kin);
}
