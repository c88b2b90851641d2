//! trial
use linkwork::scene::load_bytes;
use linkwork::*;
fn main() {
    for name in ["slider", "planar-joint", "angle-range"] {
        let f = std::fs::read(format!("scenes/features/{name}.lw")).unwrap();
        let mut mesh = |_: &str| Err(String::new());
        let m = load_bytes(&f, &mut mesh).1.unwrap().mechanism;
        let mut s = State::new(&m);
        assemble(&m, &mut s, &AssembleConfig::default());
        let c = StepConfig::default();
        let mut w = Workspace::new();
        for k in 0..8 {
            let mut t = s.clone();
            let r = step(&m, &mut s, &mut w, &c);
            let q = step(&m, &mut t, &mut Workspace::new(), &c);
            println!("{name} {k} {} {r:?}\n   {q:?}", s.hash() == t.hash());
            if s.hash() != t.hash() {
                println!("pos {} rot {} vel {} spin {} ang {}", s.centers == t.centers, s.rotations == t.rotations, s.velocities == t.velocities, s.spins == t.spins, s.angles == t.angles);
                println!("{:?}\n{:?}\n{:?}\n{:?}", s.memory, t.memory, s.centers, t.centers);
                println!("{:?}\n{:?}", s.rotations, t.rotations);
                break;
            }
        }
    }
}
