//! `linkwork run`: lets time pass, headless, as fast as it can.

use crate::contacts::{self, PairLog};
use crate::failure::{self, Failure};
use crate::files::{self, Stream};
use crate::interrupt;
use crate::numbers;
use crate::report::{self, count};
use crate::scene::{self, Loaded};
use crate::simulate::{self, Ended, Finished, Moment, Options, Setup, Totals};
use crate::terminal::{self, Paint, RunBar};
use clap::builder::PossibleValuesParser;
use linkwork::formats::{RecordInfo, animated_glb_told, csv, json_record, snapshot};
use linkwork::graph::Graph;
use linkwork::rows::Gaps;
use linkwork::step::Reaction;
use linkwork::{AssembleReport, JointId, Kernel, Mechanism, Outcome, Recorder, SolidId, State};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Simulates a scene and records what happens
///
/// Takes steps of equal length, as fast as the machine can. If the scene starts with open gaps, it is assembled first.
/// The report shows gaps, energy and momentum over the run, the time per step, the joint reactions at the end, and one of
/// these outcomes: `ok`, `missed` (some steps ended with gaps beyond the tolerance, with limits of soft bodies exceeded or with soft bodies held
/// back for long, and the run continued), `energy`
/// (something gained or lost more energy than the method documents, the work of motors included, although no trajectory drives it),
/// `stopped` (missed, with --on-miss stop; the state is saved) or `rejected` (a step could not be taken; the state is the
/// one before it). Ctrl+C stops the run, reports it as `stopped` and keeps the recordings so far; a second Ctrl+C quits
/// immediately.
///
/// Options on the command line override the scene's `settings`, which override the defaults. The same scene and options
/// give the same state, bit for bit, on any number of threads.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  linkwork run scenes/fourbar.lw --seconds 2
  linkwork run scenes/jansen.lw --seconds 5 --record jansen.glb --record jansen.csv
  linkwork run scene.lw --seconds 1 --snapshot one.lws
  linkwork run scene.lw --seconds 1 --from one.lws        continue for another second
  linkwork run scene.lw --seconds 10 --method displacement --step 0.005 --json | jq .energy

Exit codes:
  0  the outcome is `ok`
  1  any other outcome, or an output that cannot be written
  2  the scene or the snapshot cannot be read, or an option is invalid")]
pub struct Args {
    /// The scene; `-` reads standard input
    scene: PathBuf,
    /// How long to simulate, in seconds; rounded to whole steps, at least one
    #[arg(long, value_name = "T", default_value = "5", value_parser = numbers::seconds, allow_negative_numbers = true)]
    seconds: f64,
    /// Write the motion: .csv (the watched solids, every step), .glb (an animation for any 3D viewer) or .json (frames
    /// with poses, velocities, gaps and energies); may be repeated. Very long runs are thinned out evenly in
    /// .glb and .json
    #[arg(long, value_name = "FILE.csv|.glb|.json", value_parser = record)]
    record: Vec<Record>,
    /// Write the contact forces: one row per step and pair of touching solids, with points, gap, force and impulse on the
    /// second one, and whether contact began or ended. If the scene has a `watch`, only pairs with a watched solid
    #[arg(long, value_name = "FILE.csv", value_parser = table)]
    contacts: Option<PathBuf>,
    /// Record this solid or joint instead of the scene's `watch`; may be repeated. Tables contain the coordinates, speeds
    /// and forces of joints
    #[arg(long, value_name = "NAME")]
    watch: Vec<String>,
    /// Write the final state, to continue from with --from
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
    /// Start from a state written by --snapshot instead of the scene's poses
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// With --json: list the reactions of all joints (otherwise only the 200 strongest)
    #[arg(long)]
    full: bool,
    /// Method [default: the scene's `method`, or variational]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(simulate::method_names()))]
    method: Option<String>,
    /// Linear solver [default: the scene's `solver`, or auto]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(simulate::solver_names()))]
    solver: Option<String>,
    #[command(flatten)]
    options: Options,
}

/// A file for the motion.
#[derive(Clone)]
struct Record {
    path: PathBuf,
    format: Format,
}

#[derive(Clone, Copy, PartialEq)]
enum Format {
    Csv,
    Glb,
    Json,
}

fn record(text: &str) -> Result<Record, String> {
    let path = PathBuf::from(text);
    let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let format = match ending.as_str() {
        "csv" => Format::Csv,
        "glb" => Format::Glb,
        "json" => Format::Json,
        "" => return Err("the file name must end in .csv, .glb or .json".into()),
        other => return Err(format!("cannot record to .{other}; use .csv, .glb or .json")),
    };
    Ok(Record { path, format })
}

fn table(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_table = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
    if is_table {
        Ok(path)
    } else {
        Err("contacts are written as a table: the file name must end in .csv".into())
    }
}

/// Bytes of frames that are kept for .glb and .json.
const FRAME_BYTES: usize = 256 << 20;
/// Largest snapshot that is read.
const SNAPSHOT_BYTES: usize = 1 << 30;
/// Joints that are named as the worst.
const WORST: usize = 5;
/// Islands of more scalar constraints are not examined for freedoms here: `check` takes that time.
const EXAMINED_ROWS: usize = 600;

pub fn run(args: &Args) -> Result<u8, Failure> {
    check_outputs(args, &[])?;
    let mut loaded = scene::load(&args.scene)?;
    check_outputs(args, &loaded.mesh_files())?;
    loaded.watch(&args.watch)?;
    let m = loaded.mechanism();
    let mut setup =
        Setup::new(&args.options, &loaded, args.method.as_deref(), args.solver.as_deref(), args.seconds)?;
    if let Some(option) = args.options.variants.foreign_to(setup.method) {
        let message =
            format!("{option} does not apply to `{}`: see `linkwork run --help`", setup.method.name());
        return Err(Failure::input("", message));
    }
    setup.wants_reactions =
        !loaded.scene.watch_joints.is_empty() && args.record.iter().any(|r| r.format == Format::Csv);
    interrupt::listen();
    setup.tell_of_contact(m);
    setup.tell_of_times(m, loaded.scene.settings.step);
    let (mut state, assembled) = match &args.from {
        Some(path) => (restore(m, path)?, None),
        None => {
            let mut state = State::new(m);
            let assembled = setup.assemble_start(m, &mut state);
            (state, assembled)
        }
    };
    report::tangled(m, &state).iter().for_each(|words| terminal::note(words));
    // Freedoms where it starts: a run may end in a special pose.
    let freedoms = report::freedoms(&report::examine(m, &state, Outcome::Ok, setup.tolerance, EXAMINED_ROWS));
    let start_time = state.time;
    let mut sinks = Sinks::open(args, &loaded)?;
    let mut bar = RunBar::start("simulating", setup.steps);
    let mut pairs = match &args.contacts {
        Some(_) => PairLog::with_table((!loaded.scene.watch.is_empty()).then(|| loaded.watched())),
        None => PairLog::default(),
    };
    let finished = simulate::simulate(m, &mut state, &setup, &mut pairs, &mut |moment| {
        bar.at(moment.done, moment.state.time - start_time, moment.sample.gaps.worst());
        sinks.see(m, moment)
    })?;
    drop(bar);
    let Finished { totals, mut workspace } = finished;
    let mut outputs = sinks.finish(&loaded, &setup, totals.solver)?;
    let saved = match (&args.snapshot, totals.ended) {
        (Some(path), _) => Some(path.clone()),
        // Whoever wants to stop wants to look at what stopped it.
        (None, Ended::Stopped) => Some(beside(&args.scene)),
        (None, _) => None,
    };
    if let Some(path) = &saved {
        files::write(path, &snapshot::save(m, &state)).map_err(Failure::failed)?;
        outputs.push(path.clone());
    }
    let result = Simulated {
        loaded: &loaded,
        graph: Graph::new(m),
        pairs: pairs.json(m, &workspace, &state),
        reactions: workspace.reactions(m),
        setup,
        state,
        start_time,
        assembled,
        freedoms,
        totals,
        outputs,
        saved,
        full: args.full,
    };
    if args.json {
        terminal::print_json(&result.json())?;
    } else {
        terminal::print(result.text(Paint::stdout()))?;
    }
    Ok(if result.totals.outcome() == "ok" { failure::OK } else { failure::FAILED })
}

/// Nothing is written over what is read, and nothing twice.
fn check_outputs(args: &Args, meshes: &[PathBuf]) -> Result<(), Failure> {
    let outputs = args.record.iter().map(|r| &r.path).chain(&args.snapshot).chain(&args.contacts);
    let inputs: Vec<&Path> =
        std::iter::once(&args.scene).chain(&args.from).chain(meshes).map(PathBuf::as_path).collect();
    files::check_outputs(outputs.map(PathBuf::as_path), &inputs)
}

/// The state in a snapshot file.
fn restore(m: &Mechanism, path: &Path) -> Result<State, Failure> {
    let name = path.display().to_string();
    let bytes = files::read(path, SNAPSHOT_BYTES)
        .map_err(|e| Failure::input(&name, format!("cannot read `{name}`: {e}")))?;
    snapshot::restore(m, &bytes)
        .map_err(|e| Failure::input(&name, format!("cannot start from `{name}`: {e}")))
}

/// Where the state goes when a run stops and nobody said where: next to the scene.
fn beside(scene: &Path) -> PathBuf {
    let stem = if scene == Path::new("-") { None } else { scene.file_stem() };
    let stem = stem.map_or("scene".into(), |s| s.to_string_lossy());
    files::parent(scene).join(format!("{stem}.stopped.lws"))
}

/// Where the motion goes: tables at once, frames at the end.
struct Sinks {
    tables: Vec<(PathBuf, Stream)>,
    contacts: Option<(PathBuf, Stream)>,
    framed: Vec<Record>,
    recorder: Option<Recorder>,
    watch: Vec<SolidId>,
    joints: csv::JointColumns,
}

impl Sinks {
    fn open(args: &Args, loaded: &Loaded) -> Result<Self, Failure> {
        let watch = loaded.watched();
        let joints = csv::JointColumns::new(loaded.scene.watch_joints.clone());
        let mut tables = Vec::new();
        for r in args.record.iter().filter(|r| r.format == Format::Csv) {
            let mut stream = Stream::begin(&r.path).map_err(Failure::failed)?;
            let m = loaded.mechanism();
            let header = csv::header(m, &watch).trim_end().to_owned() + &joints.header(m) + "\n";
            stream.write(header.as_bytes()).map_err(Failure::failed)?;
            tables.push((r.path.clone(), stream));
        }
        let mut contacts = None;
        if let Some(path) = &args.contacts {
            let mut stream = Stream::begin(path).map_err(Failure::failed)?;
            stream.write(contacts::HEADER.as_bytes()).map_err(Failure::failed)?;
            contacts = Some((path.clone(), stream));
        }
        let framed: Vec<Record> = args.record.iter().filter(|r| r.format != Format::Csv).cloned().collect();
        let recorder = (!framed.is_empty()).then(|| Recorder::within(loaded.mechanism(), FRAME_BYTES));
        Ok(Self { tables, contacts, framed, recorder, watch, joints })
    }

    fn see(&mut self, m: &Mechanism, moment: &Moment) -> Result<(), Failure> {
        if !self.tables.is_empty() {
            let joints = self.joints.row(m, moment.state, moment.reactions.as_deref());
            let row = csv::row(m, moment.state, &self.watch).trim_end().to_owned() + &joints + "\n";
            for (_, table) in &mut self.tables {
                table.write(row.as_bytes()).map_err(Failure::failed)?;
            }
        }
        if let Some((_, table)) = &mut self.contacts {
            table.write(moment.contacts.as_bytes()).map_err(Failure::failed)?;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.record(m, moment.state, moment.sample);
        }
        Ok(())
    }

    /// Writes what is left to write; tells every file.
    fn finish(self, loaded: &Loaded, setup: &Setup, solver: &str) -> Result<Vec<PathBuf>, Failure> {
        let mut written = Vec::new();
        for (path, table) in self.tables.into_iter().chain(self.contacts) {
            table.finish().map_err(Failure::failed)?;
            written.push(path);
        }
        let Some(recorder) = self.recorder else { return Ok(written) };
        let stride = recorder.stride();
        if stride > 1 {
            terminal::note(&format!("a long run: every {stride}th step is in the animation or JSON record"));
        }
        let frames = recorder.finish();
        for r in self.framed {
            let m = loaded.mechanism();
            let bytes = match r.format {
                Format::Glb => {
                    let (bytes, cut) = animated_glb_told(m, &frames, &loaded.surfaces());
                    cut.iter().for_each(|words| terminal::note(&format!("{}: {words}", r.path.display())));
                    bytes
                }
                _ => {
                    let info = RecordInfo {
                        scene: loaded.title(),
                        method: setup.method.name().to_owned(),
                        solver: solver.to_owned(),
                        dt: setup.dt,
                        stride,
                    };
                    json_record(m, &frames, &self.watch, &info).into_bytes()
                }
            };
            files::write(&r.path, &bytes).map_err(Failure::failed)?;
            written.push(r.path);
        }
        Ok(written)
    }
}

/// Everything there is to tell.
struct Simulated<'a> {
    loaded: &'a Loaded,
    graph: Graph,
    setup: Setup,
    state: State,
    start_time: f64,
    assembled: Option<(Gaps, AssembleReport)>,
    freedoms: Option<usize>,
    totals: Totals,
    /// The pairs of solids that pushed each other most.
    pairs: Vec<Value>,
    /// `None` when the method knows displacements only.
    reactions: Option<Vec<(JointId, Reaction)>>,
    outputs: Vec<PathBuf>,
    saved: Option<PathBuf>,
    /// All reactions are wanted.
    full: bool,
}

impl Simulated<'_> {
    fn seconds(&self) -> f64 {
        self.state.time - self.start_time
    }

    fn rejected(&self) -> Option<&'static str> {
        match self.totals.ended {
            Ended::Rejected(why) => Some(why.words()),
            _ => None,
        }
    }

    /// The joints that were open most.
    fn worst(&self) -> Vec<Value> {
        let lines = self.loaded.lines();
        let one = |(j, g): &(JointId, Gaps)| {
            json!({
                "joint": lines.name(*j), "error": g.worst(), "position": g.position, "angle": g.angle,
                "line": lines.joint(*j),
            })
        };
        self.totals.worst(WORST).iter().map(one).collect()
    }

    /// Reactions, the strongest first.
    fn strongest(&self) -> Option<Vec<&(JointId, Reaction)>> {
        let mut all: Vec<_> = self.reactions.as_ref()?.iter().collect();
        // Stable, so that equal ones stay in the order of the file.
        all.sort_by(|a, b| b.1.force.length().total_cmp(&a.1.force.length()));
        Some(all)
    }

    /// Reactions in the order of the file; where that would be very long, the strongest ones.
    fn reactions_json(&self) -> Option<Vec<Value>> {
        let lines = self.loaded.lines();
        let all = self.reactions.as_ref()?;
        let listed = if self.reactions_left_out() > 0 { self.strongest()? } else { all.iter().collect() };
        Some(report::cut(
            &listed,
            self.full,
            |_, (j, r)| json!({ "joint": lines.name(*j), "force": r.force.to_array(), "torque": r.torque.to_array() }),
        ))
    }

    fn reactions_left_out(&self) -> usize {
        self.reactions.as_ref().map_or(0, |all| report::left_out(all.len(), self.full))
    }

    fn json(&self) -> Value {
        let m = self.loaded.mechanism();
        let (t, s) = (&self.totals, &self.totals.stages);
        let (geometric, solver) = t.iteration_means();
        let (linear, angular) = t.momentum_drift();
        let assembled = self.assembled.as_ref().map(|(before, made)| {
            json!({
                "position_start": before.position, "angle_start": before.angle,
                "position_end": made.gaps.position, "angle_end": made.gaps.angle,
                "outcome": made.outcome.word(), "iterations": made.iterations,
            })
        });
        let mut report = json!({
            "scene": self.loaded.name,
            "title": self.loaded.scene.title,
            "solids": m.solid_count(),
            "joints": m.joints().len(),
            "constraints": report::constraints(&self.graph),
            "freedoms": self.freedoms,
            "method": self.setup.method.name(),
            "solver": t.solver,
            "dt": self.setup.dt,
            "tolerance": self.setup.tolerance,
            "steps": t.steps,
            "seconds": self.seconds(),
            "time_start": self.start_time,
            "time_end": self.state.time,
            "wall_s": t.wall,
            "real_time_factor": if t.wall > 0.0 { self.seconds() / t.wall } else { 0.0 },
            "ms_per_step": {
                "min": t.times.min, "median": t.times.percentile(0.5), "p99": t.times.percentile(0.99),
                "max": t.times.max,
            },
            "stages_s": { "motion": s.motion, "rows": s.rows, "factor": s.factor, "solve": s.solve },
            "joint_error": {
                "position_end": t.gaps_end.position, "position_max": t.gaps_max.position,
                "angle_end": t.gaps_end.angle, "angle_max": t.gaps_max.angle,
            },
        });
        let more = json!({
            "energy": {
                "start": t.energy_start.total(), "end": t.energy_end.total(), "max_drift": t.energy_drift(),
                "kinetic_end": t.energy_end.kinetic, "potential_end": t.energy_end.potential,
                "spring_end": t.energy_end.spring, "gained": t.gained, "lost_in_a_step": t.lost_in_a_step,
                "caught": t.caught,
            },
            "momentum": { "linear_drift": linear, "angular_drift": angular },
            "iterations": { "geometric_mean": geometric, "solver_mean": solver },
            "pieces": t.substeps,
            "fallbacks": t.fallbacks,
            "missed_steps": t.missed,
            "held_back_in_a_row": t.held_long,
            "unexplained_steps": t.unexplained,
            "islands": { "count": t.islands.0, "asleep_end": t.islands.1 },
            "contacts": {
                "points_max": t.contacts_max.points, "penetration_max": t.contacts_max.penetration,
                "penetration_end": t.contacts_end.penetration,
                "dent_max": t.contacts_max.dent, "dent_end": t.contacts_end.dent, "residual_max": t.contacts_max.residual,
                "cone_violation_max": t.contacts_max.cone_violation, "pairs": self.pairs,
            },
            "limits": { "rows_max": t.limits.rows, "residual_max": t.limits.residual },
            "unresolved_springs": t.unresolved,
            "soft": report::soft_json(&self.totals.soft),
            "outcome": t.outcome(),
            "interrupted": t.ended == Ended::Interrupted,
            "rejected": self.rejected(),
            "worst": self.worst(),
            "reactions": self.reactions_json(),
            "reactions_left_out": self.reactions_left_out(),
            "assembled": assembled,
            "outputs": self.outputs.iter().map(|p| p.display().to_string()).collect::<Vec<_>>(),
            "not_simulated": [],
            "ignored": simulate::without_contact(self.setup.method, m),
            "diagnostics": self.loaded.records(),
            "state_hash": format!("{:016x}", self.state.hash()),
        });
        if let (Value::Object(report), Value::Object(more)) = (&mut report, more) {
            report.extend(more);
        }
        report
    }

    fn text(&self, paint: Paint) -> String {
        let m = self.loaded.mechanism();
        let t = &self.totals;
        let mut out = report::heading(self.loaded, paint);
        let _ = writeln!(
            out,
            "  {}, {}, {}, {}",
            count(m.solid_count(), "solid"),
            count(m.joints().len(), "joint"),
            report::constraints_text(&self.graph, "scalar constraints"),
            report::freedoms_text(self.freedoms),
        );
        let word = match t.outcome() {
            "ok" => paint.good("ok"),
            "missed" => paint.odd("missed"),
            word => paint.bad(word),
        };
        let _ = writeln!(
            out,
            "\n  {word}  {} of {}, {} s in {}, {}, {}",
            count(t.steps as usize, "step"),
            report::time(self.setup.dt),
            report::plain(self.seconds()),
            report::time(t.wall),
            self.setup.method.name(),
            t.solver,
        );
        self.figures(&mut out);
        if let Some(explained) = self.explanation() {
            let _ = writeln!(out, "\n  {explained}");
        }
        if t.missed > 0 || t.ended == Ended::Stopped {
            self.worst_list(&mut out, paint);
        }
        self.reaction_list(&mut out, paint);
        for (i, path) in self.outputs.iter().enumerate() {
            let gap = if i == 0 { "\n" } else { "" };
            let _ = writeln!(out, "{gap}  {} {}", paint.dim("wrote"), path.display());
        }
        out
    }

    fn figures(&self, out: &mut String) {
        let t = &self.totals;
        let mut line = |key: &str, value: String| {
            let _ = writeln!(out, "  {}  {value}", report::pad(key, 12));
        };
        let ms = |x: f64| report::time(x / 1e3);
        line(
            "step time",
            format!(
                "median {}, 99th percentile {}, longest {}",
                ms(t.times.percentile(0.5)),
                ms(t.times.percentile(0.99)),
                ms(t.times.max)
            ),
        );
        line(
            "largest gap",
            format!("{} on the way, {} at the end", report::gaps(t.gaps_max), report::gaps(t.gaps_end)),
        );
        let mut energy = format!(
            "{} J at the start, {} J at the end",
            report::figure(t.energy_start.total()),
            report::figure(t.energy_end.total())
        );
        // Where motors and given motions do work, it says nothing about the method; nor where nothing moves.
        let drift = 100.0 * t.energy_drift();
        if !self.is_driven() && drift < 1e5 {
            let _ = write!(energy, "; drift {} % of peak kinetic energy", report::figure(drift));
        }
        line("energy", energy);
        if t.caught > 1e-9 * (t.energy_start.kinetic + t.energy_end.kinetic) {
            let caught = report::figure(t.caught);
            line("", format!("{caught} J of it removed by joints that began to hold"));
        }
        if t.unresolved > 0 {
            let springs = count(t.unresolved, "spring or soft joint");
            line("", format!("{springs} too fast for the step, and damped: a shorter --step resolves more"));
        }
        // What is joined to the world, rests on it or falls does not keep its momentum.
        if self.is_free() {
            let (linear, angular) = t.momentum_drift();
            let words =
                format!("drift: linear {}, angular {}", report::figure(linear), report::figure(angular));
            line("momentum", words);
        }
        let (geometric, solver) = t.iteration_means();
        let mut iterations = format!(
            "{} per step, {} solver iterations in each",
            report::figure(geometric),
            report::figure(solver)
        );
        if t.fallbacks > 0 {
            let _ = write!(iterations, "; {} by projection", count(t.fallbacks as usize, "piece"));
        }
        line("iterations", iterations);
        if t.soft.held_back > 0 {
            let pieces = count(t.soft.held_back, "substep");
            line(
                "",
                format!(
                    "{pieces} of soft bodies without a solution: everything in contact was held back together"
                ),
            );
        }
        if t.contacts_max.points > 0 {
            line("contact", self.contact_text());
        }
    }

    /// Something does work on it besides gravity.
    fn is_driven(&self) -> bool {
        let m = self.loaded.mechanism();
        let scripted = m.solids().iter().any(|s| matches!(s.kernel, Kernel::Scripted(_)));
        scripted || !m.forces().is_empty() || m.joints().iter().any(|j| !j.drives.is_empty())
    }

    /// Nothing acts on it from outside.
    fn is_free(&self) -> bool {
        let m = self.loaded.mechanism();
        let held = m.joints().iter().any(|j| j.frames.iter().any(|f| m.solid(f.solid).is_fixed()));
        let pulled = m.springs().iter().any(|s| s.solids.iter().any(|id| m.solid(*id).is_fixed()));
        let outside = held || pulled || self.totals.contacts_max.points > 0;
        !outside && !self.is_driven() && m.gravity.length() == 0.0
    }

    /// How many points touched, and how deep.
    fn contact_text(&self) -> String {
        let (c, m) = (&self.totals.contacts_max, self.loaded.mechanism());
        let mut text = format!("up to {}", count(c.points, "point"));
        if c.penetration > self.setup.tolerance {
            let _ = write!(text, ", {} m deep at most", report::figure(c.penetration));
            if let Some([a, b]) = c.deepest {
                let _ = write!(text, ", `{}` in `{}`", m.solid(a).name, m.solid(b).name);
            }
        }
        if c.dent > 0.0 {
            let _ = write!(text, ", dents of up to {} m", report::figure(c.dent));
        }
        text
    }

    /// What the word means and what to do about it.
    fn explanation(&self) -> Option<String> {
        let t = &self.totals;
        let at = report::plain(self.state.time);
        match t.ended {
            Ended::Done if t.unexplained > 0 => Some(format!(
                "The energy is not plausible: in {} a part gained or lost more than {} documents.\n  \
                 Shorten --step, tighten --tolerance, or look with `linkwork check` for constraints that contradict each other.",
                count(t.unexplained as usize, "step"),
                self.setup.method.name(),
            )),
            Ended::Done if t.fails_at_cloth() => Some(report::soft_words(t, self.loaded, &self.state)),
            Ended::Done if t.missed > 0 => Some(format!(
                "{} ended with gaps beyond the tolerance of {}: raise --iterations, shorten --step, or accept it\n  \
                 with a larger --tolerance. --on-miss stop halts at the first of them.",
                count(t.missed as usize, "step"),
                report::figure(self.setup.tolerance)
            )),
            Ended::Done => None,
            Ended::Stopped => {
                let saved = self.saved.as_ref().map(|p| format!("; the state is in {}", p.display()));
                Some(format!(
                    "It stopped at {at} s, where the gaps went beyond the tolerance of {}{}.",
                    report::figure(self.setup.tolerance),
                    saved.unwrap_or_default()
                ))
            }
            Ended::Interrupted => Some(format!("It was interrupted at {at} s; the records end there.")),
            Ended::Rejected(why) => Some(format!(
                "It ended at {at} s: the next step could not be taken, since {}.\n  The output ends with the \
                 state before it.",
                why.words()
            )),
        }
    }

    fn worst_list(&self, out: &mut String, paint: Paint) {
        let lines = self.loaded.lines();
        let mut worst = self.totals.worst(WORST);
        worst.retain(|w| !(w.1.worst() <= self.setup.tolerance));
        let names: Vec<String> = worst.iter().map(|w| lines.name(w.0)).collect();
        let places: Vec<String> = worst.iter().map(|w| lines.place(w.0)).collect();
        self.list(out, paint, "worst constraints", &names, &places, |i| report::gaps(worst[i].1));
    }

    fn reaction_list(&self, out: &mut String, paint: Paint) {
        const SHOWN: usize = 5;
        let Some(mut strongest) = self.strongest() else { return };
        let lines = self.loaded.lines();
        let title =
            if strongest.len() > SHOWN { "strongest reactions at the end" } else { "reactions at the end" };
        strongest.truncate(SHOWN);
        let names: Vec<String> = strongest.iter().map(|r| lines.name(r.0)).collect();
        let places: Vec<String> = strongest.iter().map(|r| lines.place(r.0)).collect();
        self.list(out, paint, title, &names, &places, |i| {
            let (force, torque) = (strongest[i].1.force.length(), strongest[i].1.torque.length());
            if torque > 1e-9 * force.max(1e-6) {
                format!("{} N, {} N m", report::figure(force), report::figure(torque))
            } else {
                format!("{} N", report::figure(force))
            }
        });
    }

    fn list(
        &self,
        out: &mut String,
        paint: Paint,
        title: &str,
        names: &[String],
        places: &[String],
        value: impl Fn(usize) -> String,
    ) {
        if names.is_empty() {
            return;
        }
        let (wide, far) = (report::width(names), report::width(places));
        let _ = writeln!(out, "\n  {}", paint.bold(title));
        for (i, (name, place)) in names.iter().zip(places).enumerate() {
            let place = paint.dim(report::pad(place, far));
            let _ = writeln!(out, "    {}  {place}  {}", report::pad(name, wide), value(i));
        }
    }
}
