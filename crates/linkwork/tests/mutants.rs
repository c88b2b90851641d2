//! Random mutants of every scene under random methods, solvers and steps: whatever is asked, numbers stay numbers, nothing
//! hangs, a rejected step leaves the state alone, and what nothing feeds does not gain energy without a word.
//!
//! `LINKWORK_MUTANTS=3000 cargo test --release -p linkwork --test all mutants::` tries more of them than the ordinary 300, and
//! `LINKWORK_MUTANT=17 cargo test -p linkwork --test all mutants:: -- --nocapture` shows one of them step by step.

use crate::common::*;
use linkwork::math::Random;
use linkwork::solve::SolverKind;
use linkwork::{
    AssembleConfig, Direction, Drive, DriveAim, Frame, Joint, Limit, Mechanism, Method, Pose, Range, Region,
    Solid, SolidId, Spring, State, StepConfig, Vector, Workspace, assemble, step,
};
use std::cell::Cell;
use std::sync::OnceLock;

/// How often a step may ask for the time before it is told that there is none left, and how much later it must end.
const PATIENCE: u64 = 3000;
const GRACE: u64 = 3000;
/// The same for all steps of a mutant: beyond it, watching ends.
const ALL_PATIENCE: u64 = 40_000;

/// Chances and choices.
struct Dice(Random);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        ((self.0.signed() * 0.5 + 0.5) * n as f64) as usize
    }
    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (self.0.signed() * 0.5 + 0.5) * (high - low)
    }
    /// Ten to a power from the interval.
    fn power(&mut self, low: f64, high: f64) -> f64 {
        10_f64.powf(self.uniform(low, high))
    }
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A mechanism in parts, so that all of it can be changed.
struct Parts {
    solids: Vec<Solid>,
    joints: Vec<Joint>,
    springs: Vec<Spring>,
    from: Mechanism,
    /// What was done, for the message.
    story: Vec<String>,
}

impl Parts {
    fn new(m: &Mechanism) -> Self {
        Self {
            solids: m.solids()[1..].to_vec(),
            joints: m.joints().to_vec(),
            springs: m.springs().to_vec(),
            from: m.clone(),
            story: Vec::new(),
        }
    }

    /// Put together again. What a mechanism refuses is left out: it is not what is tested here.
    fn build(&self) -> Mechanism {
        let mut m = Mechanism::new();
        m.gravity = self.from.gravity;
        for t in self.from.trajectories() {
            m.add_trajectory(t.clone()).unwrap();
        }
        for (i, solid) in self.solids.iter().enumerate() {
            if m.add_solid(solid.clone()).is_err() {
                m.add_solid(self.from.solids()[i + 1].clone()).unwrap();
            }
        }
        for joint in &self.joints {
            let _ = m.add_joint(joint.clone());
        }
        for spring in &self.springs {
            let _ = m.add_spring(spring.clone());
        }
        for force in self.from.forces() {
            m.add_force(force.clone()).unwrap();
        }
        m
    }

    /// Where a solid starts.
    fn pose(&self, id: SolidId) -> Pose {
        if id == SolidId::WORLD { Pose::IDENTITY } else { self.solids[id.index() - 1].pose }
    }

    /// Two different solids, of which the first may be the world.
    fn pair(&self, dice: &mut Dice) -> [SolidId; 2] {
        let second = 1 + dice.below(self.solids.len());
        let mut first = dice.below(self.solids.len() + 1);
        if first == second {
            first = 0;
        }
        [SolidId(first as u32), SolidId(second as u32)]
    }

    fn mutate(&mut self, dice: &mut Dice) {
        if self.joints.is_empty() {
            return self.disturb(dice);
        }
        let k = dice.below(self.joints.len());
        match dice.below(10) {
            0 | 1 => {
                let off = dice.power(-7.0, -1.0);
                let along = dice.0.cube().normalize_or_zero();
                let side = dice.below(2);
                self.joints[k].frames[side].pose.translation += along * off;
                self.story.push(format!("joint {k} off by {off:.1e}"));
            }
            2 => {
                let i = dice.below(self.solids.len());
                let factor = dice.power(-3.0, 3.0);
                self.solids[i].mass.mass *= factor;
                self.solids[i].mass.inertia *= factor;
                self.story.push(format!("`{}` {factor:.1e} times as heavy", self.solids[i].name));
            }
            3 => {
                let mut twin = self.joints[k].clone();
                if dice.one_in(2) {
                    twin.frames[0].pose.translation += dice.0.cube() * dice.power(-8.0, -2.0);
                }
                self.joints.push(twin);
                self.story.push(format!("joint {k} twice"));
            }
            4 => {
                let [a, b] = self.joints[k].frames;
                let weld = dice.one_in(2);
                let name = self.joints[k].name.clone();
                self.joints[k] = if weld { Joint::weld(a, b) } else { Joint::pin(a, b) }.named(name);
                self.story.push(format!("joint {k} a {}", if weld { "weld" } else { "pin" }));
            }
            5 => self.join(dice),
            6 => {
                let direction = Direction::ALL[dice.below(6)];
                let range = Range::new(-dice.power(-2.0, 0.5), dice.power(-2.0, 0.5));
                self.joints[k].limits.push(Limit { direction, range, restitution: 0.0 });
                self.story.push(format!("joint {k} limited in {}", direction.word()));
            }
            7 => self.drive(dice, k),
            8 => self.stretch(dice),
            _ => self.disturb(dice),
        }
    }

    /// One more joint: closed where things stand, or off by a little.
    fn join(&mut self, dice: &mut Dice) {
        let pair = self.pair(dice);
        let at = self.pose(pair[1]).translation + dice.0.cube() * 0.3;
        let axis = dice.0.cube().normalize_or(Vector::X);
        let off = if dice.one_in(2) { dice.0.cube() * dice.power(-7.0, -1.0) } else { Vector::ZERO };
        let place = |at: Vector, id: SolidId| {
            let pose = self.pose(id).inverse();
            Frame::axis(id, pose.transform_point(at), pose.rotation * axis)
        };
        let (a, b) = (place(at + off, pair[0]), place(at, pair[1]));
        let kinds = ["ball", "pin", "slider", "weld", "distance", "point-on-plane"];
        let kind = dice.below(kinds.len());
        self.joints.push(match kind {
            0 => Joint::ball(a, b),
            1 => Joint::pin(a, b),
            2 => Joint::slider(a, b),
            3 => Joint::weld(a, b),
            4 => Joint::distance(a, Frame { pose: b.pose * Pose::translation(0.0, 0.2, 0.0), ..b }, 0.2),
            _ => Joint::point_on_plane(a, b),
        });
        self.story.push(format!("a {} between {pair:?}", kinds[kind]));
    }

    fn drive(&mut self, dice: &mut Dice, k: usize) {
        let direction = Direction::ALL[dice.below(6)];
        let aim = match dice.below(3) {
            0 => DriveAim::Speed(dice.uniform(-20.0, 20.0)),
            1 => DriveAim::To { target: dice.uniform(-1.0, 1.0), stiffness: 0.0, damping: 0.0 },
            _ => DriveAim::To {
                target: dice.uniform(-1.0, 1.0),
                stiffness: dice.power(0.0, 5.0),
                damping: dice.power(-1.0, 2.0),
            },
        };
        let max_force = if dice.one_in(3) { f64::INFINITY } else { dice.power(-1.0, 3.0) };
        self.joints[k].drives.push(Drive { direction, aim, max_force });
        self.story.push(format!("joint {k} driven in {}", direction.word()));
    }

    fn stretch(&mut self, dice: &mut Dice) {
        let solids = self.pair(dice);
        let stiffness = dice.power(0.0, 8.0);
        let length = if dice.one_in(3) { 0.0 } else { dice.uniform(0.0, 2.0) };
        self.springs.push(Spring {
            name: String::new(),
            solids,
            points: [dice.0.cube() * 0.3, dice.0.cube() * 0.3],
            length,
            stiffness,
            damping: if dice.one_in(2) { 0.0 } else { dice.power(-1.0, 2.0) },
            during: None,
        });
        self.story.push(format!("a spring of {stiffness:.1e} N/m and {length:.2} m between {solids:?}"));
    }

    /// Random velocities, allowed by the joints or not.
    fn disturb(&mut self, dice: &mut Dice) {
        let (speed, spin) = (dice.power(-1.0, 1.3), dice.power(-1.0, 2.0));
        let one = if dice.one_in(2) { Some(dice.below(self.solids.len())) } else { None };
        for (i, solid) in self.solids.iter_mut().enumerate() {
            if one.is_none_or(|k| k == i) && !solid.is_fixed() {
                solid.velocity += dice.0.ball() * speed;
                solid.spin += dice.0.ball() * if solid.particle { 0.0 } else { spin };
            }
        }
        self.story.push(format!("thrown at {speed:.1} m/s, {spin:.1} rad/s ({one:?})"));
    }
}

/// Curves and soft joints are not scaled by the helper.
fn can_scale(m: &Mechanism) -> bool {
    let plain = |j: &Joint| j.compliance == 0.0 && !j.regions.iter().any(|r| matches!(r, Region::Curve(_)));
    m.joints().iter().all(plain) && m.forces().is_empty()
}

/// What a seed stands for.
struct Mutant {
    what: String,
    mechanism: Mechanism,
    config: StepConfig<'static>,
    steps: usize,
}

fn mutant(seed: u64) -> Mutant {
    static SCENES: OnceLock<Vec<Case>> = OnceLock::new();
    let scenes = SCENES.get_or_init(every_scene);
    let mut dice = Dice(Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let case = &scenes[dice.below(scenes.len())];
    let mut parts = Parts::new(&case.mechanism);
    // Without their motors most of the gallery is passive, and energy can be asked for.
    if !dice.one_in(4) {
        parts.joints.iter_mut().for_each(|j| j.drives.clear());
    }
    for _ in 0..1 + dice.below(3) {
        parts.mutate(&mut dice);
    }
    let mut mechanism = parts.build();
    let mut size = 1.0;
    if dice.one_in(4) && can_scale(&mechanism) {
        size = dice.power(-3.0, 3.0);
        mechanism = scaled(&mechanism, size);
        parts.story.push(format!("{size:.1e} times as large"));
    }
    // The default method is what most people run.
    let method = if dice.one_in(2) { Method::Variational } else { Method::ALL[dice.below(7)] };
    let solver = if dice.one_in(3) { SolverKind::Auto } else { SolverKind::ALL[dice.below(6)] };
    let dt = size.sqrt() / 60.0 * if dice.one_in(2) { 1.0 } else { dice.power(-1.0, 0.3) };
    let tolerance = 1e-6 * size.min(1.0);
    let large = mechanism.solid_count() > 20;
    let steps = if large { 8 } else { 30 + dice.below(91) };
    let what = format!(
        "seed {seed}: {} ({}), {}, {}, step {dt:.2e} s",
        case.name,
        parts.story.join("; "),
        method.name(),
        solver.name()
    );
    let config = StepConfig { method, solver, dt, tolerance, ..Default::default() };
    Mutant { what, mechanism, config, steps }
}

/// The largest share of the energy turned over that a method may add by its own documentation (docs/methods.md). The
/// explicit and linearised ones "may blow up": not by more than there is without a word.
fn documented_gain(method: Method) -> f64 {
    match method {
        Method::Variational | Method::Displacement | Method::Relaxation(_) | Method::Reduced => 0.05,
        Method::Baumgarte { .. } | Method::PostStabilization { .. } | Method::Implicit => 1.0,
    }
}

/// The largest rise that lasts: the energy of a method of second order swings where things turn fast (the wheel of a heavy
/// weight, a stiff spring), and comes back within a few steps. What is made stays.
fn lasting(rises: &[f64]) -> f64 {
    let window = 8.min(rises.len().div_ceil(2)).max(1);
    let least = |w: &[f64]| w.iter().copied().fold(f64::INFINITY, f64::min);
    rises.windows(window).map(least).fold(0.0, f64::max)
}

/// Half of all there is may not come and go, either.
const MOST_SWING: f64 = 0.5;

/// Energy that is not made but found: gaps that were open at the start, or may open within the tolerance in each step, let
/// weights and springs work over their width.
fn found(m: &Mechanism, open: f64, tolerance: f64, dt: f64, steps: usize, most_spring: f64) -> f64 {
    let weight: f64 = m.solids().iter().map(|s| s.mass.mass * m.gravity.length()).sum();
    let soft = m.joints().iter().filter(|j| j.compliance > 0.0).map(|j| 1.0 / j.compliance);
    let stiffest = m.springs().iter().map(|s| s.stiffness).chain(soft).fold(0.0, f64::max);
    let pull = (2.0 * stiffest * most_spring).sqrt();
    // Motion within the tolerance of a step is not seen, and not taken for motion.
    let unseen = 0.5 * m.solids().iter().map(|s| s.mass.mass).sum::<f64>() * (tolerance / dt).powi(2);
    // What closes draws springs and soft joints longer on its way.
    (weight + pull) * (open + steps as f64 * tolerance) + 0.5 * stiffest * open * open + unseen + 1e-12
}

/// How a mutant ended, for the count of what was really asked.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// It has a motor, a force or the like: its energy is nobody's business.
    Fed,
    /// A step said that something is wrong.
    Told,
    /// Neither: its energy was held against the bound.
    Asked,
}

/// Steps a mutant and notes what is wrong.
fn watch(seed: u64, aloud: bool, faults: &mut Faults) -> End {
    let Mutant { what, mechanism: m, config, steps } = mutant(seed);
    let mut state = State::new(&m);
    let asked = Cell::new(0_u64);
    let out_of_time = || {
        asked.set(asked.get() + 1);
        asked.get() > PATIENCE
    };
    let bounded =
        AssembleConfig { iterations: Some(30), out_of_time: Some(&out_of_time), ..Default::default() };
    let assembled = assemble(&m, &mut state, &bounded);
    if !faults.check(state.is_finite(), || format!("{what}: assembly is not finite: {assembled:?}")) {
        return End::Told;
    }
    if aloud {
        println!("{what}\nassembly: {assembled:?}");
    }
    let mut energies = Energies::new(&m, &state);
    let mut rises = Vec::new();
    let (mut w, mut flagged, mut work, mut most_spring) = (Workspace::new(), false, 0, energies.first.spring);
    for k in 0..steps {
        asked.set(0);
        let before = state.hash();
        let report = step(&m, &mut state, &mut w, &StepConfig { out_of_time: Some(&out_of_time), ..config });
        work += asked.get();
        energies.see(&m, &state);
        rises.push(energies.last.total() - energies.first.total());
        most_spring = most_spring.max(energies.last.spring.min(energies.range()));
        if aloud {
            println!("{k}: {report:?}\n   {:?}", energies.last);
        }
        let good = faults
            .check(state.is_finite(), || format!("{what}: not finite after step {k}: {report:?}"))
            && faults.check(asked.get() <= PATIENCE + GRACE, || {
                format!("{what}: step {k} asked for the time {} times", asked.get())
            });
        if report.rejected.is_some() {
            faults.check(state.hash() == before, || format!("{what}: a rejected step changed the state"));
        }
        flagged |= is_flagged(&report);
        if !good || report.rejected.is_some() || work > ALL_PATIENCE {
            break;
        }
    }
    if !is_passive(&m) || m.solids().iter().any(|s| s.mobility.is_some()) {
        return End::Fed;
    }
    if flagged {
        return End::Told;
    }
    let found = found(&m, assembled.gaps.position, config.tolerance, config.dt, steps, most_spring);
    let share = documented_gain(config.method);
    let (lasts, swings) =
        (share * energies.range() + found, MOST_SWING.max(share) * energies.range() + found);
    let made = lasting(&rises);
    faults.check(made <= lasts && energies.gain <= swings, || {
        format!(
            "{what}: energy made without a word: {made:.2e} J lasts (allowed {lasts:.2e}); {}",
            energies.words()
        )
    });
    End::Asked
}

/// A quarter of the seeds, so that the quarters run beside each other.
fn quarter(k: u64) {
    if let Some(seed) = std::env::var("LINKWORK_MUTANT").ok().and_then(|s| s.parse::<u64>().ok()) {
        if seed % 4 == k {
            let mut faults = Faults::new();
            watch(seed, true, &mut faults);
            faults.done(1);
        }
        return;
    }
    let count: u64 = std::env::var("LINKWORK_MUTANTS").ok().and_then(|s| s.parse().ok()).unwrap_or(300);
    let (mut faults, mut ends) = (Faults::new(), Vec::new());
    for seed in (1..=count).filter(|s| s % 4 == k) {
        let mut own = Faults::new();
        let calm = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| watch(seed, false, &mut own)));
        faults.take(own);
        faults.check(calm.is_ok(), || format!("{}: a panic", mutant(seed).what));
        ends.extend(calm.ok());
    }
    let [fed, told, asked] =
        [End::Fed, End::Told, End::Asked].map(|e| ends.iter().filter(|x| **x == e).count());
    println!("{} mutants: {fed} fed, {told} told, {asked} asked for their energy", ends.len());
    // Were nearly all of them excused, nothing would be tested.
    faults.check(10 * asked >= ends.len(), || format!("only {asked} of {} were asked", ends.len()));
    faults.done(count as usize / 4 * 10);
}

#[test]
fn first_quarter() {
    quarter(0);
}
#[test]
fn second_quarter() {
    quarter(1);
}
#[test]
fn third_quarter() {
    quarter(2);
}
#[test]
fn last_quarter() {
    quarter(3);
}
