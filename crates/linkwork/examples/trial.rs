//! trial
use linkwork::scene::load_bytes;
use linkwork::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (mut mesh, f) = (|_: &str| Err(String::new()), std::fs::read(&a[1]).unwrap());
    let (_, scene, _) = load_bytes(&f, &mut mesh);
    let mut m = scene.unwrap().mechanism;
    let nodrive = std::env::var("NODRIVE").is_ok();
    if nodrive { for k in 0..m.joints().len() { m.edit_joint(JointId(k as u32), |j| j.drives.iter_mut().for_each(|d| d.max_force = 1e-300)); } }
    let method = Method::from_name(&a[2]).unwrap();
    let solver = linkwork::solve::SolverKind::from_name(&a[3]).unwrap();
    let secs: f64 = a[4].parse().unwrap();
    let dt: f64 = a.get(5).map_or(1.0 / 60.0, |x| x.parse().unwrap());
    let verbose = std::env::var("V").is_ok();
    let mut s = State::new(&m);
    assemble(&m, &mut s, &AssembleConfig::default());
    let mut w = Workspace::new();
    let c = StepConfig { method, solver, dt, ..Default::default() };
    let e0 = measure::energy(&m, &s);
    let (mut kmax, mut lo, mut hi) = (0.0_f64, 0.0_f64, 0.0_f64);
    let (mut care, mut sub, mut fall, mut miss, mut unexp, mut gap) = (0, 0, 0, 0, 0, 0.0_f64);
    let clock = std::time::Instant::now();
    let mut last = e0.total();
    for k in 0..(secs / dt).round() as usize {
        let r = step(&m, &mut s, &mut w, &c);
        let e = measure::energy(&m, &s);
        kmax = kmax.max(e.kinetic);
        let d = e.total() - e0.total();
        lo = lo.min(d); hi = hi.max(d);
        care += r.careful as usize; sub += (r.substeps > 1) as usize; fall += r.fallbacks; miss += r.missed as usize;
        unexp += r.energy.unexplained; gap = gap.max(r.gaps.worst());
        if verbose && (r.careful || r.substeps > 1 || r.missed || r.energy.unexplained > 0 || (e.total() - last).abs() > 0.01 * e.kinetic) {
            println!("{k} t {:.3} E {:.5} dE {:.3e} K {:.4} gap {:.2e} sub {} care {} fall {} it {} {:?}", s.time, e.total(), e.total() - last, e.kinetic, r.gaps.worst(), r.substeps, r.careful, r.fallbacks, r.iterations, r.energy);
        }
        last = e.total();
        if r.rejected.is_some() { println!("REJECTED {:?} at {k}", r.rejected); break; }
    }
    println!("{} {} {}: E0 {:.4} dE {:.3e}..{:.3e} (end {:.3e}) Kmax {:.3} gap {:.1e} care {care} sub {sub} fall {fall} miss {miss} unexp {unexp} {:.0} ms", a[1].rsplit('/').next().unwrap(), a[2], a[3], e0.total(), lo, hi, measure::energy(&m, &s).total() - e0.total(), kmax, gap, clock.elapsed().as_secs_f64() * 1e3);
}
