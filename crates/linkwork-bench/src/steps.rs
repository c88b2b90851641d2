//! Whole steps: the five ladders swinging for two seconds at 1/60 s, straight start, one thread.

use crate::scenes::{DT, Scene};
use crate::table::{Table, ms, number, sci, text};
use linkwork::measure::Meter;
use linkwork::step::Stages;
use linkwork::{State, StepConfig, Workspace, step};
use std::time::Instant;

/// Two seconds.
pub const STEPS: usize = 120;

/// One run.
pub struct Swing {
    /// Of each step.
    pub seconds: Vec<f64>,
    /// Largest at the end of any step.
    pub gap: f64,
    /// Largest `|E(t) - E(0)|` by the largest kinetic energy.
    pub energy: f64,
    /// Geometric iterations per step.
    pub iterations: f64,
    /// Steps that were cut or fell back.
    pub odd: usize,
    /// Where the time went, mean per step; from a run of its own.
    pub stages: Stages,
}

impl Swing {
    /// The median step.
    pub fn median(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }
    /// The fastest step.
    pub fn least(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// Gap and energy, measured alike for everyone.
pub struct Judge {
    meter: Meter,
    start: f64,
    /// Largest gap so far.
    pub gap: f64,
    drift: f64,
    kinetic: f64,
}

impl Judge {
    /// Starts from a state.
    pub fn new(scene: &Scene, s: &State) -> Self {
        let mut meter = Meter::default();
        let start = meter.energy(&scene.m, s).total();
        Self { meter, start, gap: 0.0, drift: 0.0, kinetic: 0.0 }
    }
    /// Looks at the end of a step.
    pub fn see(&mut self, scene: &Scene, s: &State) {
        let gap = gap(scene, s);
        // A gap that is not a number is the largest of all.
        if !(gap <= self.gap) {
            self.gap = gap;
        }
        let e = self.meter.energy(&scene.m, s);
        let drift = (e.total() - self.start).abs();
        if !(drift <= self.drift) {
            self.drift = drift;
        }
        self.kinetic = self.kinetic.max(e.kinetic);
    }
    /// The energy error.
    pub fn energy(&self) -> f64 {
        self.drift / self.kinetic
    }
}

/// Runs the same motion a few times, and takes of every step its fastest time: all runs do the same work, so whatever is
/// more than that was done by somebody else. Three runs, or fewer where they are long.
pub fn least_of_runs(mut run: impl FnMut(bool, &mut Vec<f64>)) -> Vec<f64> {
    let start = Instant::now();
    let mut least: Vec<f64> = Vec::new();
    for k in 0..3 {
        let mut seconds = Vec::new();
        run(k == 0, &mut seconds);
        least = if k == 0 { seconds } else { least.iter().zip(&seconds).map(|(a, b)| a.min(*b)).collect() };
        if start.elapsed().as_secs_f64() > LONG {
            break;
        }
    }
    least
}

/// Seconds after which a motion is not run again.
const LONG: f64 = 1.5;

/// Runs a scene; a frame is taken in `pieces` equal steps.
pub fn swing(scene: &Scene, config: &StepConfig, pieces: usize) -> Swing {
    let config = &StepConfig { dt: config.dt / pieces as f64, ..*config };
    let (mut iterations, mut odd) = (0, 0);
    let mut judge = Judge::new(scene, &scene.state);
    let seconds = least_of_runs(|first, seconds| {
        let (mut s, mut w) = (scene.state.clone(), Workspace::new());
        for _ in 0..STEPS {
            let t = Instant::now();
            let mut reports = Vec::with_capacity(pieces);
            for _ in 0..pieces {
                reports.push(step(&scene.m, &mut s, &mut w, config));
            }
            seconds.push(t.elapsed().as_secs_f64());
            if first {
                judge.see(scene, &s);
                for r in reports {
                    iterations += r.iterations;
                    odd += usize::from(r.substeps > 1 || r.fallbacks > 0 || r.rejected.is_some());
                }
            }
        }
    });
    let (start, mut stages) = (Instant::now(), Stages::default());
    let clock = || start.elapsed().as_secs_f64();
    let timed = StepConfig { clock: Some(&clock), ..*config };
    let (mut s, mut w) = (scene.state.clone(), Workspace::new());
    for _ in 0..STEPS * pieces {
        let r = step(&scene.m, &mut s, &mut w, &timed).stages;
        stages.motion += r.motion / STEPS as f64;
        stages.rows += r.rows / STEPS as f64;
        stages.factor += r.factor / STEPS as f64;
        stages.solve += r.solve / STEPS as f64;
    }
    Swing {
        seconds,
        gap: judge.gap,
        energy: judge.energy(),
        iterations: iterations as f64 / STEPS as f64,
        odd,
        stages,
    }
}

/// The five ladders of Faure 1999.
pub const LADDERS: [(usize, usize); 5] = [(12, 1), (12, 4), (1, 48), (1, 96), (6, 96)];

/// What a run must keep to: gap and energy error.
const GOOD: (f64, f64) = (1e-4, 1e-3);

/// The table.
pub fn run() -> Vec<Table> {
    let mut t = Table::new(
        "Whole steps of `variational`: ladders swinging for two seconds, 120 frames of 1/60 s from a straight start, one \
         thread; of each frame the fastest of three runs. First at the tolerance that peers are compared at (gap 1e-4, energy error 1e-3), where a frame is taken in \
         as many equal steps as that needs; then at the default tolerance, one step a frame. Stages are means per frame of \
         a second, timed run.",
        &[
            "ladder",
            "heavy",
            "tolerance",
            "steps a frame",
            "ms median",
            "ms least",
            "largest gap",
            "energy error",
            "iterations",
            "odd steps",
            "motion ms",
            "rows ms",
            "factor ms",
            "solve ms",
        ],
    );
    for (bars, patterns) in LADDERS.into_iter().chain([(6, 1536)]) {
        for heavy in [1.0, 3.0] {
            let scene = Scene::ladder(bars, patterns, heavy);
            for tolerance in [GOOD.0, 1e-6] {
                let config = StepConfig { dt: DT, tolerance, ..Default::default() };
                let mut pieces = 1;
                let mut s = swing(&scene, &config, pieces);
                while tolerance == GOOD.0 && s.energy > GOOD.1 && pieces < 8 {
                    pieces *= 2;
                    s = swing(&scene, &config, pieces);
                }
                t.push(vec![
                    text(&*scene.name),
                    number(heavy),
                    sci(tolerance),
                    number(pieces as f64),
                    ms(s.median()),
                    ms(s.least()),
                    sci(s.gap).marked(s.gap > tolerance),
                    sci(s.energy).marked(s.energy > GOOD.1),
                    number(s.iterations),
                    number(s.odd as f64),
                    ms(s.stages.motion),
                    ms(s.stages.rows),
                    ms(s.stages.factor),
                    ms(s.stages.solve),
                ]);
            }
        }
    }
    vec![t]
}

/// Largest distance between the two anchor points of a joint.
fn gap(scene: &Scene, state: &State) -> f64 {
    let mut worst = 0.0;
    for j in scene.m.joints() {
        let [a, b] = j.frames.map(|f| state.pose(&scene.m, f.solid).transform_point(f.pose.translation));
        let d = (a - b).length();
        // A gap that is not a number is the largest of all.
        if !(d <= worst) {
            worst = d;
        }
    }
    worst
}
