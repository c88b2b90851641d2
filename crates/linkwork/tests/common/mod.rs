//! What the tests of invariance, of dependent rows and of mutants share: scenes by name, mechanisms put beside each other or
//! scaled, energies over a run, and lists of faults that are told in one go.

use linkwork::measure::{Energy, Meter};
use linkwork::scene::{Scene, load};
use linkwork::solve::SolverKind;
use linkwork::{
    AssembleConfig, Collide, DriveAim, Joint, Kernel, MaterialId, Mechanism, Method, Region, Solid, SolidId,
    Spring, State, StepConfig, StepReport, TrajectoryId, Vector, Workspace, assemble, step,
};
use std::path::PathBuf;

/// A scene of the repository.
pub struct Case {
    /// File name without its ending; those of single features with their folder in front.
    pub name: String,
    /// As it stands in the file.
    pub text: String,
    /// What it says.
    pub mechanism: Mechanism,
}

impl Case {
    /// No pose meets all of it, so that `missed` is the right answer.
    pub fn contradicts(&self) -> bool {
        ["contradiction", "rank", "weight"].iter().any(|w| self.name.contains(w))
    }
}

/// A folder of scenes.
fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes").join(name)
}

/// Scenes of one folder, by name.
fn cases(sub: &str) -> Vec<Case> {
    let mut files: Vec<_> = std::fs::read_dir(folder(sub)).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "lw"));
    files.sort();
    let read = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let name = if sub.is_empty() { stem.to_owned() } else { format!("{sub}/{stem}") };
        Case { mechanism: read_scene(&text).mechanism, name, text }
    };
    files.iter().map(read).collect()
}

/// What the viewer's gallery shows.
pub fn gallery() -> Vec<Case> {
    cases("")
}

/// One scene per feature of the language.
pub fn features() -> Vec<Case> {
    cases("features")
}

/// Both.
pub fn every_scene() -> Vec<Case> {
    gallery().into_iter().chain(features()).collect()
}

/// The text of a scene of the gallery, or of `features/NAME`.
pub fn text(name: &str) -> String {
    std::fs::read_to_string(folder("").join(format!("{name}.lw"))).unwrap()
}

/// Mesh files lie beside the scenes of single features, the only ones that have some.
pub fn mesh_file(name: &str) -> Result<Vec<u8>, String> {
    std::fs::read(folder("features").join(name)).map_err(|e| e.to_string())
}

/// A scene from its text; errors end the test.
pub fn read_scene(text: &str) -> Scene {
    let (scene, report) = load(text, &mut mesh_file);
    scene.unwrap_or_else(|| panic!("{:?}\n{text}", report.diagnostics))
}

/// Only the mechanism.
pub fn read(text: &str) -> Mechanism {
    read_scene(text).mechanism
}

/// The mechanism of a scene without its motors.
pub fn without_motors(name: &str) -> Mechanism {
    let text = text(name);
    let mut kept = String::new();
    for (k, part) in text.split("drive ").enumerate() {
        // What follows the word up to its semicolon is the motor.
        kept += if k == 0 { part } else { part.split_once(';').map_or("", |(_, rest)| rest) };
    }
    let m = read(&kept);
    assert!(m.joints().iter().all(|j| j.drives.is_empty()), "{name} still has motors");
    m
}

/// Every method with every solver.
pub fn pairs() -> Vec<(Method, SolverKind)> {
    let solvers = |m: Method| SolverKind::ALL.into_iter().map(move |s| (m, s));
    Method::ALL.into_iter().flat_map(solvers).collect()
}

/// The initial state, assembled as well as it can be.
pub fn start(m: &Mechanism) -> State {
    let mut s = State::new(m);
    assemble(m, &mut s, &AssembleConfig::default());
    s
}

/// Did the step say that something is wrong? Whoever adds another such word to the report adds it here.
pub fn is_flagged(r: &StepReport) -> bool {
    r.missed || r.rejected.is_some() || r.energy.unexplained > 0
}

/// Nothing feeds it: no motor, no force, nothing scripted, nothing that comes and goes.
pub fn is_passive(m: &Mechanism) -> bool {
    m.forces().is_empty()
        && m.joints().iter().all(|j| j.drives.is_empty() && j.during.is_none())
        && m.springs().iter().all(|s| s.during.is_none())
        && m.solids().iter().all(|s| !matches!(s.kernel, Kernel::Scripted(_)))
}

/// The energies of a run, as far as gains and losses need them.
pub struct Energies {
    meter: Meter,
    /// At the start: what everything is compared to.
    pub first: Energy,
    /// Now.
    pub last: Energy,
    /// Largest rise above the start so far, joules; not a number once an energy was none.
    pub gain: f64,
    /// Largest fall below the start.
    pub loss: f64,
    /// Largest rise in one step.
    pub jump: f64,
    /// Largest kinetic energy that the start explains: what was gained is taken off, so that an explosion does not excuse
    /// itself.
    pub explained: f64,
    /// Largest minus least potential energy of gravity and springs, again without what was gained.
    lowest: f64,
    highest: f64,
}

impl Energies {
    /// Begins with the state a run starts from.
    pub fn new(m: &Mechanism, s: &State) -> Self {
        let mut meter = Meter::default();
        let first = meter.energy(m, s);
        let rest = first.potential + first.spring;
        Self {
            meter,
            first,
            last: first,
            gain: 0.0,
            loss: 0.0,
            jump: 0.0,
            explained: first.kinetic,
            lowest: rest,
            highest: rest,
        }
    }

    /// Looks at the state after a step.
    pub fn see(&mut self, m: &Mechanism, s: &State) {
        let now = self.meter.energy(m, s);
        let rise = now.total() - self.first.total();
        if !rise.is_finite() {
            self.gain = f64::NAN;
        }
        self.gain = if self.gain >= rise || self.gain.is_nan() { self.gain } else { rise };
        self.loss = self.loss.max(-rise);
        self.jump = self.jump.max(now.total() - self.last.total());
        self.explained = self.explained.max(now.kinetic.min(now.kinetic - rise));
        let rest = now.potential + now.spring;
        if rise <= 0.01 * self.range() {
            self.lowest = self.lowest.min(rest);
            self.highest = self.highest.max(rest);
        }
        self.last = now;
    }

    /// What the motion turns over: the largest kinetic energy, or the range of the potential one, whichever is larger. "One
    /// per cent of the energy" in these tests is one of this, as the zero of potential energy is anybody's choice.
    pub fn range(&self) -> f64 {
        self.explained.max(self.highest - self.lowest).max(1e-12)
    }

    /// The figures for a message.
    pub fn words(&self) -> String {
        format!(
            "{:.6e} J -> {:.6e} J (gain {:.3e}, loss {:.3e}, in one step {:.3e}, range {:.3e})",
            self.first.total(),
            self.last.total(),
            self.gain,
            self.loss,
            self.jump,
            self.range()
        )
    }
}

/// What a run was like.
pub struct Run {
    /// Its last state.
    pub state: State,
    /// Its energies.
    pub energies: Energies,
    /// Steps taken.
    pub steps: usize,
    /// Steps that missed their tolerance.
    pub missed: usize,
    /// Steps whose energy nothing explains.
    pub unexplained: usize,
    /// Why it ended early.
    pub rejected: Option<linkwork::step::Rejected>,
    /// Largest gap.
    pub gap: f64,
    /// Pieces and fallbacks in all.
    pub substeps: usize,
    pub fallbacks: usize,
    /// How often the deadline was asked for: the work, told without a clock.
    pub work: u64,
}

impl Run {
    /// Something was said.
    pub fn is_flagged(&self) -> bool {
        self.missed > 0 || self.unexplained > 0 || self.rejected.is_some()
    }

    /// The figures for a message.
    pub fn words(&self) -> String {
        format!(
            "{} steps, {} missed, {} unexplained, rejected {:?}, gap {:.2e}, {} pieces, {} fallbacks; {}",
            self.steps,
            self.missed,
            self.unexplained,
            self.rejected,
            self.gap,
            self.substeps,
            self.fallbacks,
            self.energies.words()
        )
    }
}

/// Runs, and shows every state to `see`, which ends it by returning false. No step may ask for the time more than
/// `patience` times: beyond that it is told that its time is over, so that nothing hangs.
pub fn run_watched(
    m: &Mechanism,
    from: &State,
    c: &StepConfig,
    steps: usize,
    patience: u64,
    mut see: impl FnMut(&State, &StepReport, &Energies) -> bool,
) -> Run {
    let (mut state, mut w) = (from.clone(), Workspace::new());
    let mut run = Run {
        energies: Energies::new(m, from),
        state: State::new(m),
        steps: 0,
        missed: 0,
        unexplained: 0,
        rejected: None,
        gap: 0.0,
        substeps: 0,
        fallbacks: 0,
        work: 0,
    };
    for _ in 0..steps {
        let asked = std::cell::Cell::new(0_u64);
        let out_of_time = || {
            asked.set(asked.get() + 1);
            asked.get() > patience
        };
        let report = step(m, &mut state, &mut w, &StepConfig { out_of_time: Some(&out_of_time), ..*c });
        run.work += asked.get();
        run.energies.see(m, &state);
        run.substeps += report.substeps;
        run.fallbacks += report.fallbacks;
        if let Some(why) = report.rejected {
            run.rejected = Some(why);
            break;
        }
        run.steps += 1;
        run.missed += usize::from(report.missed);
        run.unexplained += report.energy.unexplained;
        run.gap = if run.gap >= report.gaps.worst() { run.gap } else { report.gaps.worst() };
        if !see(&state, &report, &run.energies) {
            break;
        }
    }
    run.state = state;
    run
}

/// The same without looking at every state.
pub fn run(m: &Mechanism, from: &State, c: &StepConfig, steps: usize) -> Run {
    run_watched(m, from, c, steps, u64::MAX, |_, _, _| true)
}

/// A hash of how some solids stand and move: of every bit, but of nothing that depends on how many others there are.
pub fn motion(s: &State, solids: std::ops::Range<usize>) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |x: f64| {
        for byte in x.to_bits().to_le_bytes() {
            h = (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    eat(s.time);
    for i in solids {
        s.centers[i].to_array().into_iter().for_each(&mut eat);
        s.rotations[i].to_array().into_iter().for_each(&mut eat);
        s.velocities[i].to_array().into_iter().for_each(&mut eat);
        s.spins[i].to_array().into_iter().for_each(&mut eat);
    }
    h
}

/// The largest distance between the centres of some solids in two states.
pub fn apart(a: &State, b: &State, solids: std::ops::Range<usize>, shift: usize) -> f64 {
    solids.map(|i| (a.centers[i] - b.centers[i + shift]).length()).fold(0.0, f64::max)
}

/// Puts a mechanism beside what is there already, moved by `shift`. Names get the tag in front. The first solid of the part
/// then has the number that is returned.
pub fn append(whole: &mut Mechanism, part: &Mechanism, shift: Vector, tag: &str) -> usize {
    let base = whole.solids().len();
    let first_trajectory = whole.trajectories().len() as u32;
    let first_material = whole.materials().len() as u32;
    for material in part.materials() {
        whole.add_material(material.clone()).unwrap();
    }
    for t in part.trajectories() {
        let mut t = t.clone();
        t.name = format!("{tag}{}", t.name);
        for k in &mut t.keys {
            k.position += shift;
        }
        whole.add_trajectory(t).unwrap();
    }
    let renumbered = |s: SolidId| if s == SolidId::WORLD { s } else { SolidId(s.0 - 1 + base as u32) };
    for solid in &part.solids()[1..] {
        let mut solid = solid.clone();
        solid.name = format!("{tag}{}", solid.name);
        solid.pose.translation += shift;
        solid.material = solid.material.map(|k| MaterialId(k.0 + first_material));
        if let Collide::With(list) = &mut solid.collide {
            list.iter_mut().for_each(|s| *s = renumbered(*s));
        }
        if let Kernel::Scripted(t) = solid.kernel {
            solid.kernel = Kernel::Scripted(TrajectoryId(t.0 + first_trajectory));
        }
        whole.add_solid(solid).unwrap();
    }
    for soft in part.softs() {
        let mut soft = soft.clone();
        soft.name = format!("{tag}{}", soft.name);
        soft.first = renumbered(soft.first);
        let mesh = std::sync::Arc::make_mut(&mut soft.mesh);
        mesh.material = mesh.material.map(|k| MaterialId(k.0 + first_material));
        mesh.ignores.iter_mut().for_each(|s| *s = renumbered(*s));
        if let Collide::With(list) = &mut mesh.collide {
            list.iter_mut().for_each(|s| *s = renumbered(*s));
        }
        whole.add_soft(soft).unwrap();
    }
    for joint in part.joints() {
        let mut joint = joint.clone();
        for f in &mut joint.frames {
            if f.solid == SolidId::WORLD {
                f.pose.translation += shift;
            }
            f.solid = renumbered(f.solid);
        }
        joint.name = format!("{tag}{}", joint.name);
        whole.add_joint(joint).unwrap();
    }
    for spring in part.springs() {
        let mut spring = spring.clone();
        for side in 0..2 {
            if spring.solids[side] == SolidId::WORLD {
                spring.points[side] += shift;
            }
            spring.solids[side] = renumbered(spring.solids[side]);
        }
        whole.add_spring(spring).unwrap();
    }
    for force in part.forces() {
        let mut force = force.clone();
        force.solid = renumbered(force.solid);
        whole.add_force(force).unwrap();
    }
    for pair in part.ignores() {
        whole.ignore(pair.map(renumbered)).unwrap();
    }
    base
}

/// The same mechanism in another size, of the same stuff: lengths by `k`, masses by its cube, moments of inertia by its fifth
/// power. Under the same gravity times then go by the square root of `k`, and so velocities do.
pub fn scaled(m: &Mechanism, k: f64) -> Mechanism {
    let mut made = Mechanism::new();
    made.gravity = m.gravity;
    made.set_air(m.air().map(|a| linkwork::Air { wind: a.wind * k.sqrt(), ..*a })).unwrap();
    for t in m.trajectories() {
        let mut t = t.clone();
        for key in &mut t.keys {
            key.position *= k;
            key.time *= k.sqrt();
        }
        made.add_trajectory(t).unwrap();
    }
    for solid in &m.solids()[1..] {
        made.add_solid(scaled_solid(solid, k)).unwrap();
    }
    for joint in m.joints() {
        made.add_joint(scaled_joint(joint, k)).unwrap();
    }
    for s in m.springs() {
        // Force goes with the cube, so force per length with the square.
        made.add_spring(Spring {
            points: s.points.map(|p| p * k),
            length: s.length * k,
            stiffness: s.stiffness * k.powi(2),
            damping: s.damping * k.powf(2.5),
            ..s.clone()
        })
        .unwrap();
    }
    made
}

fn scaled_solid(solid: &Solid, k: f64) -> Solid {
    let mut solid = solid.clone();
    solid.mass.mass *= k.powi(3);
    solid.mass.center *= k;
    solid.mass.inertia *= k.powi(5);
    solid.pose.translation *= k;
    solid.velocity *= k.sqrt();
    solid.spin /= k.sqrt();
    // Shapes stay behind: they are there to be looked at.
    solid.shapes.clear();
    solid
}

/// Lengths of a joint; soft ones and motors are not asked for here.
fn scaled_joint(joint: &Joint, k: f64) -> Joint {
    let mut joint = joint.clone();
    assert!(joint.compliance == 0.0, "soft joints have two scales");
    for f in &mut joint.frames {
        f.pose.translation *= k;
    }
    joint.screw = joint.screw.map(|p| p * k);
    joint.distance = joint.distance.map(|d| d * k);
    for l in &mut joint.limits {
        if !l.direction.is_rotation() {
            (l.range.min, l.range.max) = (l.range.min * k, l.range.max * k);
        }
    }
    for d in &mut joint.drives {
        if let DriveAim::Speed(v) = &mut d.aim {
            *v *= if d.direction.is_rotation() { 1.0 / k.sqrt() } else { k.sqrt() };
        }
    }
    for r in &mut joint.regions {
        match r {
            Region::Segment { range, .. } | Region::Ring { range, .. } => {
                (range.min, range.max) = (range.min * k, range.max * k);
            }
            Region::Sphere(r) | Region::Within(r) => *r *= k,
            Region::Curve(_) => panic!("curves are not scaled here"),
        }
    }
    joint
}

/// Faults found by a test, told together: one failure does not hide the next.
#[derive(Default)]
pub struct Faults {
    list: Vec<String>,
    checks: usize,
}

impl Faults {
    /// Nothing found yet.
    pub fn new() -> Self {
        Self::default()
    }
    /// Notes a fault unless `good`.
    pub fn check(&mut self, good: bool, words: impl FnOnce() -> String) -> bool {
        self.checks += 1;
        if !good {
            self.list.push(words());
        }
        good
    }
    /// Takes over what another list has.
    pub fn take(&mut self, other: Faults) {
        self.list.extend(other.list);
        self.checks += other.checks;
    }
    /// Fails with all of them, the first forty in full.
    pub fn done(self, least: usize) {
        assert!(self.checks >= least, "only {} checks were made", self.checks);
        let shown = self.list.iter().take(40).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(self.list.is_empty(), "{} of {} checks fail:\n{shown}", self.list.len(), self.checks);
    }
}
