//! The energy guard where motors act: those with a stiffness are springs, the work of the others is measured, and none is an
//! excuse for what a method makes; what any motor does is no fault.

use crate::common::*;
use linkwork::math::Random;
use linkwork::step::Integrator;
use linkwork::{Mechanism, Method, StepConfig};

/// A cart on a slider, pushed, with a position motor.
fn cart(stiffness: f64, damping: f64, more: &str) -> String {
    format!(
        "scene gravity 0 0 0; end
        solid cart: mass 1; shape box .1 .1 .1; at 0.01 0 0; velocity 1 0 0; end
        joint slider; object2 cart; drive t1 to 0 stiffness {stiffness} damping {damping} {more}; end"
    )
}

fn watch(scene: &str, method: Method, seconds: f64) -> Run {
    let (m, c) = (read(scene), StepConfig { method, ..Default::default() });
    run(&m, &start(&m), &c, (seconds / c.dt) as usize)
}

const STIFFNESSES: [f64; 14] =
    [1.0, 3.0, 10.0, 30.0, 100.0, 200.0, 400.0, 800.0, 1.5e3, 3e3, 5e3, 8e3, 11e3, 14e3];

/// A soft motor that swings: what its spring gives back was taken for a gain of hundreds of times the kinetic energy, and
/// 249 of 342 such runs ended `energy`.
#[test]
fn soft_motors_swing_in_peace() {
    let mut faults = Faults::new();
    for method in Method::ALL
        .into_iter()
        .filter(|m| !matches!(m, Method::Baumgarte { .. } | Method::PostStabilization { .. }))
    {
        for k in STIFFNESSES {
            for more in ["", "max-force 5"] {
                for damping in [0.0, 0.1, 3.0] {
                    let r = watch(&cart(k, damping, more), method, 5.0);
                    faults.check(!r.is_flagged(), || {
                        format!("{}, {k} N/m, {damping} N s/m {more}: {}", method.name(), r.words())
                    });
                }
            }
        }
    }
    faults.done(14 * 6 * 5);
}

/// A motor in the island excused everything: 1.3 J became 1e17 J in half a second, and the run was `ok`.
#[test]
fn what_blows_up_beside_a_motor_is_told() {
    let explicit = |integrator| {
        [
            Method::Baumgarte { alpha: 10.0, beta: 10.0, integrator },
            Method::PostStabilization { integrator, velocities: false },
        ]
    };
    // Another soft motor in the island, and none.
    let wheel = "solid wheel: shape cylinder .2 .05 axis 0 0 1; mass 1; at 0 0 0; end
        joint turn: pin; object1 cart; object2 wheel; at 0 0 0 axis 0 0 1;";
    let mut faults = Faults::new();
    for method in explicit(Integrator::SemiImplicit).into_iter().chain(explicit(Integrator::Euler)) {
        for k in [16e3, 4e4, 2e5] {
            for beside in
                ["", "drive r1 to 1 stiffness 0 damping .1; end", "drive r1 to 1 stiffness 5 damping .1; end"]
            {
                // With the wheel on it the cart is twice as heavy.
                let (k, beside) = match beside {
                    "" => (k, String::new()),
                    drive => (2.0 * k, format!("{wheel} {drive}")),
                };
                let r = watch(&format!("{}\n{beside}", cart(k, 0.0, "")), method, 0.5);
                faults.check(r.is_flagged(), || format!("{method:?}, {k} N/m {beside}: {}", r.words()));
            }
        }
    }
    let sheet = "solid bar: shape box 0.6 0.04 0.04; mass 400; at 0.2912 0.97503 -0.0328; end
        joint hinge: pin; object1 world; object2 bar; at 0 1 0 axis 0 0 1; drive r1 to 0 stiffness 20 damping 2; end
        cloth sheet: grid 5 4 spacing 0.1; at 0.2 1 0; turn 1 0 0 180 deg; mass 0.2; stretch 200 2; shear 80 1;
        bend 0.5 0.01; pin 0 0; pin 4 0 to bar 0.3 0 0; end";
    let r = watch(sheet, Method::Reduced, 1.0);
    faults.check(r.is_flagged() || r.energies.gain < 0.5 * r.energies.range(), || {
        format!("sheet: {}", r.words())
    });
    faults.done(37);
}

/// What motors do is no fault: wheels that start at once, weights that are lifted fast and slowly, limited or not.
#[test]
fn motors_may_do_what_they_can() {
    let drives = [
        "speed 5",
        "speed 0.05",
        "speed 5 max-force 2",
        "to 1",
        "to 1 max-force 20",
        "to 1 stiffness 300 damping 20",
        "to 1 stiffness 300 damping 20 max-force 8",
    ];
    let mut faults = Faults::new();
    // The others blow up, or never close the elbow, where the first arm weighs 10 g.
    for method in [Method::Variational, Method::Displacement, Method::Implicit, Method::Reduced] {
        for drive in drives {
            for mass in [0.01, 1.0, 50.0] {
                let scene = format!(
                    "solid arm: shape box 1 .05 .05; mass {mass}; at .5 0 0; end
                    joint a: pin; object2 arm; at 0 0 0 axis 0 0 1; drive r1 {drive}; end
                    solid fore: shape box .5 .05 .05; mass .5; at 1.25 0 0; end
                    joint b: pin; object1 arm; object2 fore; at 1 0 0 axis 0 0 1; end"
                );
                let r = watch(&scene, method, 3.0);
                faults.check(r.unexplained == 0, || {
                    format!("{}, {drive}, {mass} kg: {}", method.name(), r.words())
                });
            }
        }
    }
    faults.done(4 * 7 * 3);
}

/// Every method, the explicit ones with every integrator.
fn all_methods() -> Vec<Method> {
    let mut all = Method::ALL.to_vec();
    for integrator in [Integrator::Euler, Integrator::Rk4] {
        all.push(Method::Baumgarte { alpha: 10.0, beta: 10.0, integrator });
        all.push(Method::PostStabilization { integrator, velocities: false });
        all.push(Method::PostStabilization { integrator, velocities: true });
    }
    all
}

/// Motors that are no springs excused everything up to a hundred times the kinetic energy a step: explicit methods went from
/// 10 J to 1e29, and every step was fine. What a motor works is force times travel, and the rest is told before it is a hundred
/// times what the reference comes to; one in ten may be told later.
#[test]
fn what_no_motor_did_is_told() {
    let drives = [
        "speed 5",
        "speed 0.05",
        "speed -20",
        "speed 5 max-force 2",
        "speed 20 max-force 50",
        "to 1 max-force 20",
    ];
    let (mut faults, mut blown, mut late) = (Faults::new(), 0, 0);
    for drive in drives {
        for mass in [0.01, 1.0, 50.0] {
            for gravity in ["", "scene gravity 0 0 0; end"] {
                let scene = format!(
                    "{gravity} solid arm: shape box 1 .05 .05; mass {mass}; at .5 0 0; end
                    joint a: pin; object2 arm; at 0 0 0 axis 0 0 1; drive r1 {drive}; end
                    solid fore: shape box .5 .05 .05; mass .5; at 1.25 0 0; end
                    joint b: pin; object1 arm; object2 fore; at 1 0 0 axis 0 0 1; end"
                );
                let m = read(&scene);
                let fair = watch(&scene, Method::Reduced, 5.0).energies;
                let most = 100.0 * (fair.gain + fair.range());
                for method in all_methods() {
                    let c = StepConfig { method, ..Default::default() };
                    let r = run_watched(&m, &start(&m), &c, 300, u64::MAX, |_, _, e| e.gain <= most);
                    let made = !(r.energies.gain <= most);
                    blown += usize::from(made);
                    let whole = || run(&m, &start(&m), &c, 300);
                    let told = |r: &Run| r.unexplained > 0 || r.rejected.is_some();
                    late += usize::from(made && r.unexplained == 0);
                    faults.check(!made || r.unexplained > 0 || told(&whole()), || {
                        format!("{method:?}, {drive}, {mass} kg {gravity}: {}", r.words())
                    });
                    let honest = matches!(
                        method,
                        Method::Variational | Method::Displacement | Method::Implicit | Method::Reduced
                    );
                    faults.check(!honest || r.unexplained == 0, || {
                        format!("told for nothing: {method:?}, {drive}, {mass} kg {gravity}: {}", r.words())
                    });
                }
            }
        }
    }
    assert!(blown > 40 && 10 * late <= blown, "{blown} blew up, {late} were told later");
    faults.done(6 * 3 * 2 * 13 * 2);
}

/// One of four.
fn pick(random: &mut Random) -> usize {
    ((2.0 * (1.0 + random.signed())) as usize).min(3)
}

/// Largest rise of the energy above the least so far, and what the run said.
fn rise(m: &Mechanism, seconds: f64) -> (f64, Run) {
    let c = StepConfig::default();
    let (mut least, mut rise) = (f64::INFINITY, 0.0_f64);
    let r = run_watched(m, &start(m), &c, (seconds / c.dt) as usize, u64::MAX, |_, _, e| {
        least = least.min(e.first.total()).min(e.last.total());
        rise = rise.max(e.last.total() - least);
        true
    });
    (rise, r)
}

/// A motor that holds still only takes energy out, and excused whatever a step made all the same: swinging chains of equal
/// links rose by 240 and 1362 J, and every step was fine.
#[test]
fn what_only_holds_still_brings_nothing_in() {
    let mut faults = Faults::new();
    for restitution in [0.0, 0.5, 1.0] {
        for force in [0.05, 0.5] {
            let mut scene = String::new();
            for k in 0..8 {
                let (mass, x) = (if k == 7 { 50 } else { 1 }, 0.4 * k as f64);
                let before = if k == 0 { String::new() } else { format!("object1 s{}; ", k - 1) };
                let limit = format!("limit r1 -25 deg 25 deg restitution {restitution};");
                scene += &format!(
                    "solid s{k}: shape capsule .04 .3 axis 1 0 0; mass {mass}; at {} 0 0; collide none; end
                    joint j{k}: pin; {before}object2 s{k}; at {x} 0 0 axis 0 0 1;
                    drive r1 speed 0 max-force {force}; {} end\n",
                    x + 0.2,
                    if k == 0 { "" } else { &limit }
                );
            }
            let (rise, r) = rise(&read(&scene), 5.5);
            faults.check(r.unexplained > 0 || rise < 0.03 * r.energies.range(), || {
                format!("{restitution}, {force} N m: rises by {rise:.3} J, {}", r.words())
            });
        }
    }
    faults.done(6);
}

/// Links that spin, on pins in any direction with brakes of a hundredth of a newton metre: 3.5 J became 9.
#[test]
fn weak_brakes_in_a_spinning_chain_bring_nothing_in() {
    let mut random = Random::new(143);
    let mut faults = Faults::new();
    for case in 0..12 {
        let mut scene = "scene gravity 0 -9.81 0; end\n".to_owned();
        for k in 0..4 {
            let axis = ["1 0 0", "0 1 0", "0 0 1", "1 1 1"][pick(&mut random)];
            let kind = ["pin", "ball", "cardan", "cylindrical"][pick(&mut random)];
            let drive =
                if kind == "pin" || kind == "cylindrical" { "drive r1 speed 0 max-force 0.01;" } else { "" };
            let stop = if kind == "cylindrical" { "limit t1 -.2 .2 restitution 1;" } else { "" };
            let spin: [f64; 3] = std::array::from_fn(|_| 2.0 * random.signed());
            let (x, before) =
                (0.4 * k as f64, if k == 0 { String::new() } else { format!("object1 s{}; ", k - 1) });
            scene += &format!(
                "solid s{k}: shape capsule .04 .3 axis 1 0 0; mass 1; at {} 0 0; spin {} {} {}; collide none; end
                joint j{k}: {kind}; {before}object2 s{k}; at {x} 0 0 axis {axis}; {drive} {stop} end\n",
                x + 0.2, spin[0], spin[1], spin[2]
            );
        }
        let (rise, r) = rise(&read(&scene), 3.0);
        faults.check(r.unexplained > 0 || rise < 0.03 * r.energies.range(), || {
            format!("{case}: rises by {rise:.3} J, {}", r.words())
        });
    }
    faults.done(12);
}

/// Welds that give a little, with links of ten grams between some of a hundred kilograms, and a soft motor somewhere: its drive
/// excused what the welds made, and their energy went up and down a hundredfold, 2 kJ to 400.
#[test]
fn a_soft_motor_excuses_no_soft_weld() {
    let mut random = Random::new(102);
    let mut faults = Faults::new();
    for case in 0..24 {
        let mut scene = String::new();
        for k in 0..4 {
            let mass = ["0.01", "1", "0.01", "100"][(k + pick(&mut random) / 2) % 4];
            let spin: [f64; 3] = std::array::from_fn(|_| 2.0 * random.signed());
            let (x, before) =
                (0.4 * k as f64, if k == 0 { String::new() } else { format!("object1 s{}; ", k - 1) });
            let joint = match k % 2 {
                0 => format!(
                    "weld; {before}object2 s{k}; at {x} 0 0; compliance {:e};",
                    10f64.powf(-6.25 + 0.75 * random.signed())
                ),
                _ => {
                    format!("pin; {before}object2 s{k}; at {x} 0 0 axis 0 0 1; drive r1 to 0.3 stiffness 50;")
                }
            };
            scene += &format!(
                "solid s{k}: shape capsule .04 .3 axis 1 0 0; mass {mass}; at {} 0 0; spin {} {} {}; collide none; end
                joint j{k}: {joint} end\n",
                x + 0.2, spin[0], spin[1], spin[2]
            );
        }
        scene += "spring sp: object2 s3; hinge 0 1 0 0 0 0; stiffness 2600; length 0.9; end";
        let (rise, r) = rise(&read(&scene), 3.0);
        // What no step can show comes and goes; above what there was at first nothing goes.
        let e = &r.energies;
        faults.check(r.unexplained > 0 || (e.gain < 0.1 * e.range() && rise < 0.3 * e.range()), || {
            format!("{case}: rises by {rise:.3} J, {}", r.words())
        });
    }
    faults.done(24);
}
