//! Tearing: what tears, when, and that everything that keeps a state keeps it.

use linkwork::measure::energy;
use linkwork::session::{Command, Past, Session, replay};
use linkwork::{Mechanism, State, StepConfig, Vector, Workspace, step};

const G: f64 = 9.81;

fn load(text: &str) -> (Mechanism, Vec<String>) {
    let (scene, report) = linkwork::scene::load(text, &mut |_| Err("no files here".to_owned()));
    let codes = report.diagnostics.iter().map(|d| d.code.to_string()).collect();
    (scene.unwrap_or_else(|| panic!("{report:?}")).mechanism, codes)
}

fn mechanism(text: &str) -> Mechanism {
    load(text).0
}

fn awake() -> StepConfig<'static> {
    StepConfig { sleep: false, ..StepConfig::default() }
}

/// A weight on a rope of two springs: the upper one carries more, and tears at the load that stretches it so far.
#[test]
fn a_rope_tears_where_and_when_it_should() {
    // Let down softly: dampers near their critical value.
    let text = |load: f64| {
        format!(
            "cloth r: grid 4 1 spacing 0.1; mass 0.03; stretch 1000 5; tear 10 %; turn 0 0 1 -90 deg; pin 0 0; end
             solid weight: shape sphere 0.02; mass {load}; at 0 -0.3 0; end
             joint ball; object1 r.3.0; object2 weight; end"
        )
    };
    // The uppermost spring carries the load and all vertices below it but half of the first's share.
    let own = 0.03 * (1.0 - 0.5 / 3.0);
    let most = 1000.0 * 0.1 * 0.1 / G - own;
    for (share, tears) in [(0.3, false), (1.05, true)] {
        let m = mechanism(&text(share * most));
        let (mut s, mut w) = (State::new(&m), Workspace::default());
        let (mut torn, mut when) = (0, 0);
        for k in 0..600 {
            let r = step(&m, &mut s, &mut w, &awake());
            assert!(r.rejected.is_none(), "{r:?}");
            if r.soft.torn > 0 && torn == 0 {
                when = k;
            }
            torn += r.soft.torn;
        }
        assert_eq!(torn > 0, tears, "{share} of what it carries: {torn} torn");
        if tears {
            // One of its springs or its pin, whichever the jerk strains most; nothing pulls at the rest after that.
            assert_eq!(s.torn.len(), 1, "at step {when}: {:?}", s.torn);
            assert!(s.centers[m.find("weight").unwrap().index()].y < -5.0, "it falls");
        }
    }
}

/// A sheet that is pulled apart at both ends rips; no spring is longer than it may be for more than a step, its two pieces part, and faces
/// go with springs.
#[test]
fn a_sheet_is_pulled_apart() {
    let pins: String = (0..5)
        .map(|j| format!("pin 0 {j} to a 0 {0} 0; pin 8 {j} to b 0 {0} 0; ", 0.05 * f64::from(j)))
        .collect();
    let text = format!(
        "scene gravity 0 0 0; end
         trajectory left: key 0 at 0 0 0; key 2 at -0.3 0 0; end trajectory right: key 0 at 0.4 0 0; key 2 at 0.7 0 0; end
         solid a: kernel trajectory left; end solid b: kernel trajectory right; end
         cloth s: grid 9 5 spacing 0.05; mass 0.05; stretch 200 0.5; shear 100 0.2; bend 1; tear 20 %; thickness 0.004; {pins} end"
    );
    // Pins let go before the sheet rips; held by more than it can bear in its middle it rips there.
    let m = mechanism(&text);
    let (mut s, mut w) = (State::new(&m), Workspace::default());
    let mut worn = m.clone();
    for k in 0..120 {
        let r = step(&m, &mut s, &mut w, &awake());
        assert!(r.rejected.is_none(), "step {k}: {r:?}");
        worn.wear(&s.torn);
        assert_eq!(energy(&m, &s).total(), energy(&worn, &s).total(), "torn springs have no energy");
    }
    assert!(!s.torn.is_empty());
    let soft = &worn.softs()[0];
    for t in &soft.mesh.triangles {
        for k in 0..3 {
            let [a, b] = [t[k], t[(k + 1) % 3]];
            let spring = soft.mesh.springs.iter().find(|x| x.ends == [a, b] || x.ends == [b, a]).unwrap();
            assert!(!spring.is_torn(), "a face without an edge: {t:?}");
        }
    }
    worn.wear(&[]);
    assert_eq!(worn.softs(), m.softs(), "mended");
    assert_eq!(worn.joints(), m.joints());
}

/// What springs of a sheet stored when they tore threw single vertices away at 45 m/s, and what was left of a step's momentum turned
/// with them as if they were still part of the sheet. A vertex keeps its last spring.
#[test]
fn no_vertex_is_thrown_out_of_sight() {
    let sides = (0..11).map(|k| format!("pin 0 {k}; pin 10 {k}; "));
    let ends = (1..10).map(|k| format!("pin {k} 0; pin {k} 10; "));
    let pins: String = sides.chain(ends).collect();
    let m = mechanism(&format!(
        "cloth s: grid 11 11 spacing 0.1; at -0.5 0.15 0; mass 0.1; stretch 250 0.2; shear 80 0.1; bend 0.3 0.01; tear 33 %;
           thickness 0.006; {pins} end
         solid ball: shape sphere 0.11; mass 3; at 0.07 0.75 0.9; velocity 0 1 -9; end"
    ));
    let (mut s, mut w) = (State::new(&m), Workspace::default());
    for k in 0..90 {
        let r = step(&m, &mut s, &mut w, &awake());
        assert!(r.rejected.is_none(), "step {k}: {r:?}");
    }
    assert!(s.torn.len() > 10, "{:?}", s.torn);
    for i in m.softs()[0].range() {
        let far = s.centers[i].distance(Vector::new(0.0, 0.65, 0.0));
        assert!(far < 3.0, "{}: {far} m away", m.solids()[i].name);
    }
}

const SHOT: &str = "cloth s: grid 11 11 spacing 0.05; at -0.25 0 0; mass 0.05; stretch 300 0.2; shear 100 0.1; tear 25 %; \
     thickness 0.004; pin 0 0; pin 5 0; pin 10 0; pin 0 5; pin 10 5; pin 0 10; pin 5 10; pin 10 10; end \
     solid ball: shape sphere 0.06; mass 2; at 0.01 0.26 0.15; velocity 0 0 -8; end";

/// A heavy ball goes through what it would stay in if it did not tear: a hole, the same in every run, with a fresh workspace in every
/// step, and through snapshots.
#[test]
fn a_ball_tears_its_way() {
    let m = mechanism(SHOT);
    let (mut a, mut w) = (State::new(&m), Workspace::default());
    let mut b = a.clone();
    let before = energy(&m, &a).total();
    for k in 0..40 {
        let r = step(&m, &mut a, &mut w, &awake());
        assert!(r.rejected.is_none(), "step {k}: {r:?}");
        step(&m, &mut b, &mut Workspace::default(), &awake());
        let bytes = linkwork::formats::snapshot::save(&m, &b);
        b = linkwork::formats::snapshot::restore(&m, &bytes).unwrap();
        assert_eq!(a.hash(), b.hash(), "step {k}");
        assert!(energy(&m, &a).total() < before * 1.02, "step {k}");
    }
    let ball = m.find("ball").unwrap().index();
    assert!(a.torn.len() > 3, "{:?}", a.torn);
    assert!(a.centers[ball].z < -0.5, "through: {}", a.centers[ball]);
    // A worn mechanism is the same as a whole one with a worn state, and has the same snapshots.
    let mut worn = m.clone();
    worn.wear(&a.torn);
    let bytes = linkwork::formats::snapshot::save(&worn, &a);
    assert_eq!(linkwork::formats::snapshot::restore(&m, &bytes).as_ref(), Ok(&a));
    let mut c = a.clone();
    step(&m, &mut a, &mut w, &awake());
    step(&worn, &mut c, &mut Workspace::default(), &awake());
    assert_eq!(a.hash(), c.hash());
    // What cannot be torn is no state of it.
    let mut bad = a.clone();
    bad.torn.push([7, 0]);
    let bytes = linkwork::formats::snapshot::save(&m, &bad);
    assert!(linkwork::formats::snapshot::restore(&m, &bytes).is_err());
}

/// In a session: going back mends, replay tears again, reset is whole.
#[test]
fn sessions_tear_and_mend() {
    let mut s = Session::open(SHOT, &mut |_| Err("no files".into())).unwrap();
    s.apply(Command::Run { on: true }).unwrap();
    let whole = s.mechanism().softs()[0].mesh.triangles.len();
    for _ in 0..40 {
        assert_eq!(s.tick(1.0 / 60.0, &|| 0.0).rejected, None);
    }
    let left = s.mechanism().softs()[0].mesh.triangles.len();
    assert!(left < whole, "{left} of {whole} faces");
    assert_eq!(replay(&s.log()).unwrap().hash(), s.hash());
    s.apply(Command::Scrub { to: Past::Time(0.0) }).unwrap();
    assert_eq!(s.mechanism().softs()[0].mesh.triangles.len(), whole, "it was whole then");
    s.apply(Command::Run { on: true }).unwrap();
    for _ in 0..40 {
        s.tick(1.0 / 60.0, &|| 0.0);
    }
    assert!(s.mechanism().softs()[0].mesh.triangles.len() < whole);
    s.apply(Command::Reset).unwrap();
    assert_eq!(s.mechanism().softs()[0].mesh.triangles.len(), whole);
    assert!(s.mechanism().torn().is_empty());
}

/// A jelly that is torn open shows its inside, and all faces look outwards.
#[test]
fn a_soft_solid_has_a_closed_surface_when_it_is_torn() {
    let m = mechanism("tetra t: grid 4 4 4 spacing 0.1; mass 1; stretch 100; tear 50 %; end");
    let mut s = State::new(&m);
    // One corner in the middle of a face is pulled out.
    let out = m.find("t.1.2.3").unwrap().index();
    s.centers[out] += Vector::Z * 0.2;
    let c = StepConfig { dt: 1e-6, ..awake() };
    step(&m, &mut s, &mut Workspace::default(), &c);
    let mut worn = m.clone();
    worn.wear(&s.torn);
    let (before, after) = (&m.softs()[0].mesh, &worn.softs()[0].mesh);
    assert!(after.tetrahedra.len() < before.tetrahedra.len() && !after.tetrahedra.is_empty());
    let mut edges = std::collections::BTreeMap::new();
    for t in &after.triangles {
        for k in 0..3 {
            *edges.entry([t[k], t[(k + 1) % 3]]).or_insert(0) += 1;
        }
    }
    for ([a, b], n) in &edges {
        assert_eq!(edges.get(&[*b, *a]), Some(n), "edge {a} {b}");
    }
    let at = |v: u32| State::new(&m).centers[m.softs()[0].vertex(v).index()];
    let volume: f64 = after.triangles.iter().map(|t| at(t[0]).dot(at(t[1]).cross(at(t[2]))) / 6.0).sum();
    let inside: f64 = after
        .tetrahedra
        .iter()
        .map(|t| {
            let [a, b, c, d] = t.map(at);
            ((b - a).cross(c - a).dot(d - a) / 6.0).abs()
        })
        .sum();
    assert!((volume - inside).abs() < 1e-12, "{volume} {inside}");
}

/// Text: lint, default limit, canonical layout; `.glb`: a face that tears falls into a point.
#[test]
fn the_clause_and_the_films() {
    let cloth = "cloth s: grid 3 3 spacing 0.1; mass 1; stretch 9;";
    let (m, codes) = load(&format!("{cloth} tear 20 %; end"));
    assert!(codes.is_empty() && m.softs()[0].mesh.springs.iter().all(|s| s.longest.is_infinite()));
    let (_, codes) = load(&format!("{cloth} limit-strain 10 %; tear 20 %; end"));
    assert_eq!(codes, ["L018"]);
    let (_, codes) = load(&format!("{cloth} tear 20 %; limit-strain 20 %; end"));
    assert_eq!(codes, ["L018"]);
    let (m, codes) = load(&format!("{cloth} tear 20 %; limit-strain 30 %; end"));
    assert!(codes.is_empty() && m.softs()[0].mesh.springs.iter().all(|s| s.longest.is_finite()));

    let m = mechanism(SHOT);
    let (mut s, mut w) = (State::new(&m), Workspace::default());
    let mut recorder = linkwork::Recorder::new(100);
    let mut meter = linkwork::measure::Meter::default();
    recorder.record(&m, &s, meter.sample(&m, &s));
    for _ in 0..40 {
        step(&m, &mut s, &mut w, &awake());
        recorder.record(&m, &s, meter.sample(&m, &s));
    }
    let mut worn = m.clone();
    worn.wear(&s.torn);
    let lost = m.softs()[0].mesh.triangles.len() - worn.softs()[0].mesh.triangles.len();
    let frames = recorder.finish();
    let whole: Vec<linkwork::record::Frame> =
        frames.iter().map(|f| linkwork::record::Frame { torn: Vec::new(), ..f.clone() }).collect();
    let [with, without] = [&frames, &whole].map(|f| linkwork::formats::animated_glb(&m, f).len());
    // Three corners more for each, with place and normal in each of forty frames and the mesh itself.
    let more = 3 * 24 * 41 * lost;
    assert!(lost > 0 && with >= without + more && with < without + more + 4096, "{lost}: {with} {without}");
}

/// A ball that rolls beside the border of a torn sheet, where faces lie between vertices that are held: their nearest point had nothing
/// that moves, a row without give was as stiff as no number is, and four seconds into this scene no step was short enough.
#[test]
fn a_ball_rolls_along_a_held_border() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/rip.lw")).unwrap();
    let m = mechanism(&text);
    let (mut s, mut w) = (State::new(&m), Workspace::default());
    let before = energy(&m, &s).total();
    for k in 0..600 {
        let r = step(&m, &mut s, &mut w, &awake());
        assert!(r.rejected.is_none(), "step {k}: {r:?}");
        assert_eq!(r.soft.unsolved, 0, "step {k}: {r:?}");
        assert!(energy(&m, &s).total() < before * 1.01, "step {k}");
    }
    let ball = m.find("ball").unwrap().index();
    assert!(s.torn.len() > 20, "{}", s.torn.len());
    assert!(s.centers[ball].z < -0.1, "it went through: {}", s.centers[ball]);
}
