//! `linkwork compare`: the same scene by several methods and solvers, side by side.

use crate::contacts::PairLog;
use crate::failure::{self, Failure};
use crate::files;
use crate::numbers;
use crate::plot::{Chart, Page, Series, Table};
use crate::report::{self, count};
use crate::scene::{self, Loaded};
use crate::simulate::{self, Ended, Moment, Options, Setup, Totals};
use crate::terminal::{self, Paint, RunBar};
use clap::builder::PossibleValuesParser;
use linkwork::measure::Momentum;
use linkwork::{Method, Recorder, SolidId, State, Vector};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// Runs a scene with several methods and solvers and compares them side by side
///
/// Every method is combined with every solver, all from the same assembled start. The other combinations' paths are
/// compared with that of the first. The HTML report is a single file with plots of gaps, energy, momentum, the path of a
/// solid and the time per step; it needs no network.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  linkwork compare scenes/fourbar.lw -o fourbar.html
  linkwork compare scenes/jansen.lw --methods variational,displacement --seconds 5
  linkwork compare scenes/snake.lw --methods variational --solvers sparse-direct,full-iterative --json

Exit codes:
  0  all combinations were run; the table shows how each ended
  1  an output that cannot be written
  2  the scene cannot be read, or an option is invalid")]
pub struct Args {
    /// The scene; `-` reads standard input
    scene: PathBuf,
    /// Methods, separated by commas; the first is the reference [default: all of them]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(simulate::method_names()))]
    methods: Vec<String>,
    /// Solvers, separated by commas [default: the scene's `solver`, or auto]
    #[arg(long, value_name = "X,Y,…", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(simulate::solver_names()))]
    solvers: Vec<String>,
    /// How long to simulate, in seconds; rounded to whole steps, at least one
    #[arg(long, value_name = "T", value_parser = numbers::seconds, allow_negative_numbers = true, default_value_t = 2.0)]
    seconds: f64,
    /// The solid whose path is plotted [default: the watched solid that moves most]
    #[arg(long, value_name = "NAME")]
    solid: Option<String>,
    /// Write a report with plots
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    options: Options,
}

/// One combination and what became of it.
struct Run {
    setup: Setup,
    totals: Totals,
    trace: Trace,
    state: State,
    /// Largest distance of a watched solid from where the reference has it; `None` when it did not get as far.
    apart: Option<f64>,
}

/// The whole comparison.
struct Comparison<'a> {
    loaded: &'a Loaded,
    runs: Vec<Run>,
    followed: Option<SolidId>,
}

pub fn run(args: &Args) -> Result<u8, Failure> {
    files::check_outputs(args.output.as_deref(), &[&args.scene])?;
    let loaded = scene::load(&args.scene)?;
    let m = loaded.mechanism();
    let mut followed = match &args.solid {
        Some(name) => Some(m.find(name).ok_or_else(|| {
            Failure::input(&loaded.name, format!("there is no solid `{name}` in {}", loaded.name))
        })?),
        None => None,
    };
    let setups = setups(args, &loaded)?;
    if let Some(option) =
        setups.iter().map(|s| args.options.variants.foreign_to(s.method)).reduce(Option::and).flatten()
    {
        return Err(Failure::input("", format!("none of these methods supports {option}")));
    }
    setups.iter().for_each(|s| s.tell_of_contact(m));
    let mut start = State::new(m);
    if let Some(first) = setups.first() {
        first.assemble_start(m, &mut start);
    }
    let mut runs: Vec<Run> = Vec::new();
    for (k, setup) in setups.iter().enumerate() {
        let mut state = start.clone();
        let mut trace = Trace::default();
        // Whom to follow is known only after the first run, so that one keeps everybody's path.
        let mut everybody = (k == 0 && followed.is_none()).then(|| Recorder::new(FRAMES));
        let what = format!("{}/{} {} {}", k + 1, setups.len(), setup.method.name(), setup.solver.name());
        let mut bar = RunBar::start(what, setup.steps);
        let finished = simulate::simulate(m, &mut state, setup, &mut PairLog::default(), &mut |moment| {
            bar.at(moment.done, moment.state.time, moment.sample.gaps.worst());
            trace.see(moment, followed.map(|id| moment.state.pose(m, id).translation));
            if let Some(recorder) = &mut everybody {
                recorder.record(m, moment.state, moment.sample);
            }
            Ok(())
        })?;
        drop(bar);
        if let Some(recorder) = everybody {
            let frames = recorder.finish();
            let path =
                |id: &SolidId| frames.iter().map(|f| f.poses[id.index()].translation).collect::<Vec<_>>();
            followed =
                loaded.watched().into_iter().max_by(|a, b| extent(&path(a)).total_cmp(&extent(&path(b))));
            if let Some(id) = followed {
                trace.path = path(&id);
            }
        }
        let apart = match runs.first() {
            None => Some(0.0),
            Some(first) => (first.state.time == state.time).then(|| {
                let far = |id: &SolidId| {
                    (state.pose(m, *id).translation - first.state.pose(m, *id).translation).length()
                };
                loaded.watched().iter().map(far).fold(0.0, f64::max)
            }),
        };
        runs.push(Run { setup: *setup, totals: finished.totals, trace, state, apart });
    }
    let comparison = Comparison { loaded: &loaded, runs, followed };
    if let Some(path) = &args.output {
        files::write(path, comparison.page().as_bytes()).map_err(Failure::failed)?;
    }
    if args.json {
        terminal::print_json(&comparison.json(args))?;
    } else {
        terminal::print(comparison.text(args, Paint::stdout()))?;
    }
    Ok(failure::OK)
}

/// Every method with every solver.
fn setups(args: &Args, loaded: &Loaded) -> Result<Vec<Setup>, Failure> {
    let methods: Vec<&str> = match args.methods.is_empty() {
        true => Method::ALL.iter().map(|m| m.name()).collect(),
        false => args.methods.iter().map(String::as_str).collect(),
    };
    let solvers: Vec<Option<&str>> = match args.solvers.is_empty() {
        true => vec![None],
        false => args.solvers.iter().map(|s| Some(s.as_str())).collect(),
    };
    let mut setups = Vec::new();
    for method in methods {
        for solver in &solvers {
            setups.push(Setup::new(&args.options, loaded, Some(method), *solver, args.seconds)?);
        }
    }
    Ok(setups)
}

/// Frames of everybody's path in the first run.
const FRAMES: usize = 1000;

/// Diagonal of the box around a path.
fn extent(path: &[Vector]) -> f64 {
    let Some(first) = path.first() else { return 0.0 };
    let (low, high) = path.iter().fold((*first, *first), |(l, h), p| (l.min(*p), h.max(*p)));
    (high - low).length()
}

/// What is plotted about a run: at most a few thousand points, of which each stands for some steps.
#[derive(Default)]
struct Trace {
    points: Vec<Point>,
    path: Vec<Vector>,
    start: Option<(f64, Momentum)>,
    /// Steps per point.
    stride: u64,
    seen: u64,
    kinetic: f64,
    sizes: (f64, f64),
}

#[derive(Clone, Copy)]
struct Point {
    time: f64,
    gap: f64,
    energy: f64,
    linear: f64,
    angular: f64,
    ms: f64,
}

impl Trace {
    const MOST: usize = 4000;

    fn see(&mut self, moment: &Moment, place: Option<Vector>) {
        let (e, p) = (moment.sample.energy, moment.sample.momentum);
        let (e0, p0) = *self.start.get_or_insert((e.total(), p));
        self.kinetic = self.kinetic.max(e.kinetic);
        self.sizes = (self.sizes.0.max(p.linear_size), self.sizes.1.max(p.angular_size));
        let point = Point {
            time: moment.state.time,
            gap: moment.sample.gaps.worst(),
            energy: e.total() - e0,
            linear: (p.linear - p0.linear).length(),
            angular: (p.angular - p0.angular).length(),
            ms: 1e3 * moment.took,
        };
        self.stride = self.stride.max(1);
        if self.points.len() >= Self::MOST {
            // Pairs become one, with the larger gap and time: nothing bad is hidden.
            self.points =
                self.points.chunks(2).map(|c| c.iter().skip(1).fold(c[0], |a, b| a.with(*b))).collect();
            self.path = self.path.iter().copied().step_by(2).collect();
            self.stride *= 2;
        }
        let fresh = self.seen.is_multiple_of(self.stride);
        self.seen += 1;
        match self.points.last_mut() {
            Some(last) if !fresh => *last = last.with(point),
            _ => self.points.push(point),
        }
        if let Some(place) = place.filter(|_| fresh) {
            self.path.push(place);
        }
    }

    fn series(&self, name: &str, y: impl Fn(&Point) -> f64) -> Series {
        Series { name: name.to_owned(), points: self.points.iter().map(|p| (p.time, y(p))).collect() }
    }
}

impl Point {
    fn with(self, later: Self) -> Self {
        Self { gap: self.gap.max(later.gap), ms: self.ms.max(later.ms), ..later }
    }
}

impl Comparison<'_> {
    /// Method, and solver where there are several.
    fn label(&self, run: &Run) -> String {
        let several = self.runs.iter().any(|r| r.setup.solver != run.setup.solver);
        let method = run.setup.method.name();
        if several { format!("{method}, {}", run.setup.solver.name()) } else { method.to_owned() }
    }

    fn columns() -> Vec<String> {
        [
            "method",
            "solver",
            "outcome",
            "largest gap",
            "energy drift",
            "linear drift",
            "angular drift",
            "ms/step",
            "missed",
            "apart at the end",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn row(run: &Run) -> Vec<String> {
        let t = &run.totals;
        let (linear, angular) = t.momentum_drift();
        vec![
            run.setup.method.name().to_owned(),
            t.solver.to_owned(),
            t.outcome().to_owned(),
            report::figure(t.gaps_max.worst()),
            report::figure(t.energy_drift()),
            report::figure(linear),
            report::figure(angular),
            report::figure(t.times.percentile(0.5)),
            t.missed.to_string(),
            run.apart.map_or("–".to_owned(), report::figure),
        ]
    }

    /// Sentences about runs that did not get to their end.
    fn troubles(&self) -> Vec<String> {
        let told = |r: &Run| match r.totals.ended {
            Ended::Rejected(why) => Some(format!(
                "{} ended at {} s: {}.",
                self.label(r),
                report::plain(r.state.time),
                why.words()
            )),
            Ended::Stopped => Some(format!(
                "{} stopped at {} s, where it first missed the tolerance.",
                self.label(r),
                report::plain(r.state.time)
            )),
            Ended::Done | Ended::Interrupted => None,
        };
        self.runs.iter().filter_map(told).collect()
    }

    fn text(&self, args: &Args, paint: Paint) -> String {
        let mut out = report::heading(self.loaded, paint);
        if let Some(first) = self.runs.first() {
            let (steps, dt) = (count(first.setup.steps as usize, "step"), report::time(first.setup.dt));
            let _ = writeln!(out, "  {steps} of {dt}; apart is measured from the first line\n");
        }
        let mut lines = vec![Self::columns()];
        lines.extend(self.runs.iter().map(Self::row));
        let wide: Vec<usize> = (0..lines[0].len())
            .map(|k| lines.iter().map(|l| l[k].chars().count()).max().unwrap_or(0))
            .collect();
        for (n, line) in lines.iter().enumerate() {
            let cells: Vec<String> = line.iter().zip(&wide).map(|(c, w)| report::pad(c, *w)).collect();
            let line = cells.join("  ");
            let line = line.trim_end();
            let _ = writeln!(out, "  {}", if n == 0 { paint.dim(line) } else { line.to_owned() });
        }
        for trouble in self.troubles() {
            let _ = writeln!(out, "\n  {trouble}");
        }
        if let Some(path) = &args.output {
            let _ = writeln!(out, "\n  {} {}", paint.dim("wrote"), path.display());
        }
        out
    }

    fn json(&self, args: &Args) -> Value {
        let runs: Vec<Value> = self
            .runs
            .iter()
            .map(|r| {
                let t = &r.totals;
                let (linear, angular) = t.momentum_drift();
                let (geometric, solver) = t.iteration_means();
                json!({
                    "method": r.setup.method.name(),
                    "solver": t.solver,
                    "outcome": t.outcome(),
                    "steps": t.steps,
                    "seconds": r.state.time,
                    "wall_s": t.wall,
                    "ms_per_step": {
                        "min": t.times.min, "median": t.times.percentile(0.5), "p99": t.times.percentile(0.99),
                        "max": t.times.max,
                    },
                    "joint_error": {
                        "position_end": t.gaps_end.position, "position_max": t.gaps_max.position,
                        "angle_end": t.gaps_end.angle, "angle_max": t.gaps_max.angle,
                    },
                    "energy": {
                        "start": t.energy_start.total(), "end": t.energy_end.total(),
                        "max_drift": t.energy_drift(),
                    },
                    "momentum": { "linear_drift": linear, "angular_drift": angular },
                    "iterations": { "geometric_mean": geometric, "solver_mean": solver },
                    "missed_steps": t.missed,
                    "apart": r.apart,
                    "state_hash": format!("{:016x}", r.state.hash()),
                })
            })
            .collect();
        json!({
            "scene": self.loaded.name,
            "title": self.loaded.scene.title,
            "dt": self.runs.first().map(|r| r.setup.dt),
            "reference": self.runs.first().map(|r| self.label(r)),
            "followed": self.followed.map(|id| self.loaded.mechanism().solid(id).name.clone()),
            "runs": runs,
            "outputs": args.output.iter().map(|p| p.display().to_string()).collect::<Vec<_>>(),
            "not_simulated": [],
            "diagnostics": self.loaded.records(),
        })
    }

    fn page(&self) -> String {
        let m = self.loaded.mechanism();
        let below = format!(
            "{} · {}, {} · linkwork {}",
            self.loaded.name,
            count(m.solid_count(), "solid"),
            count(m.joints().len(), "joint"),
            env!("CARGO_PKG_VERSION")
        );
        let mut page = Page::new(&format!("{}: methods side by side", self.loaded.title()), &below);
        if let Some(first) = self.runs.first() {
            page.text(&format!(
                "{} of {} each, from the same start. Energy drift is the largest change of the total energy divided by \
                 the largest kinetic energy; momentum drifts are divided by the largest sum of the solids' own momenta, \
                 and are near zero only if nothing outside pushes the mechanism. The last column is how far the watched \
                 solids end from where the first line ({}) has them.",
                count(first.setup.steps as usize, "step"),
                report::time(first.setup.dt),
                self.label(first)
            ));
        }
        page.table(&Table { columns: Self::columns(), rows: self.runs.iter().map(Self::row).collect() });
        for trouble in self.troubles() {
            page.text(&trouble);
        }
        page.heading("Plots");
        page.charts(&self.charts());
        page.write()
    }

    fn charts(&self) -> Vec<Chart> {
        let each = |y: &dyn Fn(&Trace, &Point) -> f64| -> Vec<Series> {
            self.runs.iter().map(|r| r.trace.series(&self.label(r), |p| y(&r.trace, p))).collect()
        };
        let over_time = |title: &str, y_label: &str, log_y: bool, series: Vec<Series>| Chart {
            title: title.into(),
            x_label: "time, s".into(),
            y_label: y_label.into(),
            log_y,
            series,
            ..Chart::default()
        };
        let part = |x: f64, whole: f64| if whole > 0.0 { x / whole } else { 0.0 };
        let kinetic = self.runs.first().map_or(0.0, |r| r.trace.kinetic);
        let mut energy = over_time("Energy", "E(t) − E(0), J", false, each(&|_, p| p.energy));
        energy.y_range = energy_range(kinetic, &energy.series);
        let mut charts = vec![
            over_time("Largest gap", "m or rad", true, each(&|_, p| p.gap)),
            energy,
            over_time("Linear momentum", "change, relative", true, each(&|t, p| part(p.linear, t.sizes.0))),
            over_time("Angular momentum", "change, relative", true, each(&|t, p| part(p.angular, t.sizes.1))),
        ];
        charts.extend(self.path_chart());
        let mut times = over_time("Time per step", "ms", true, each(&|_, p| p.ms));
        for s in &mut times.series {
            // The start is not a step.
            s.points.retain(|p| p.1 > 0.0);
        }
        charts.push(times);
        charts
    }

    /// The path of the followed solid, seen along the axis in which it moves least.
    fn path_chart(&self) -> Option<Chart> {
        let name = &self.loaded.mechanism().solid(self.followed?).name;
        let first = &self.runs.first()?.trace.path;
        let along = |k: usize| {
            let (low, high) = first
                .iter()
                .map(|p| p.to_array()[k])
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
            high - low
        };
        let least = (0..3).min_by(|a, b| along(*a).total_cmp(&along(*b)))?;
        // What is up stays up.
        let up_is_z = self.loaded.scene.up == linkwork::scene::Up::Z;
        let (across, upward) = match (least, up_is_z) {
            (0, false) => (2, 1),
            (0, true) => (1, 2),
            (1, _) => (0, 2),
            _ => (0, 1),
        };
        let axis = ["x, m", "y, m", "z, m"];
        let series = self
            .runs
            .iter()
            .map(|r| Series {
                name: self.label(r),
                points: r.trace.path.iter().map(|p| (p.to_array()[across], p.to_array()[upward])).collect(),
            })
            .collect();
        Some(Chart {
            title: format!("Path of {name}"),
            x_label: axis[across].into(),
            y_label: axis[upward].into(),
            same_scale: true,
            series,
            ..Chart::default()
        })
    }
}

/// How far the axis of energies may go: three times what is there to be had, or what most runs do. Motors change the energy by much
/// more than the motion has of it; one run that explodes must not flatten the others.
fn energy_range(kinetic: f64, series: &[Series]) -> Option<(f64, f64)> {
    let largest = |s: &Series| s.points.iter().map(|p| p.1.abs()).fold(0.0, f64::max);
    let mut reached: Vec<f64> = series.iter().map(largest).collect();
    reached.sort_by(f64::total_cmp);
    let usual = reached.get(reached.len().saturating_sub(1) / 2).copied().unwrap_or(0.0);
    let most = (3.0 * kinetic).max(1.2 * usual);
    (most > 0.0 && most.is_finite()).then_some((-most, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_of_energies_holds_what_most_runs_do_and_not_the_one_that_explodes() {
        let run = |y: &[f64]| Series {
            points: y.iter().enumerate().map(|(i, y)| (i as f64, *y)).collect(),
            ..Series::default()
        };
        // A motor: 2 J of motion, and 20 J of work.
        let driven = [run(&[0.0, -9.0, -20.0]), run(&[0.0, -9.0, -21.0]), run(&[0.0, 1e9, f64::NAN])];
        let (low, high) = energy_range(2.0, &driven).expect("a range");
        assert!((-30.0..=-21.0).contains(&low) && high < 100.0, "{low} {high}");
        assert_eq!(energy_range(2.0, &[run(&[0.0, 0.1]), run(&[0.0, 1e6])]), Some((-6.0, 6.0)));
        assert_eq!(energy_range(0.0, &[run(&[0.0])]), None);
        assert_eq!(energy_range(0.0, &[]), None);
    }
}
