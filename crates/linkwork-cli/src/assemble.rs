//! `linkwork assemble`: from wherever the solids are to where the constraints hold.

use crate::failure::{self, Failure};
use crate::files;
use crate::numbers;
use crate::report::{self, count};
use crate::scene::{self, Loaded};
use crate::terminal::{self, Paint, Watch};
use clap::builder::PossibleValuesParser;
use linkwork::diagnose::{Dependency, Diagnosis};
use linkwork::formats::{SvgOptions, glb_with_skins, open_gaps, svg};
use linkwork::graph::Graph;
use linkwork::math::Random;
use linkwork::rows::Gaps;
use linkwork::scene::write_poses;
use linkwork::solve::SolverKind;
use linkwork::{AssembleConfig, AssembleReport, JointId, Mechanism, Outcome, SolidId, State, assemble};
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Moves the solids so that the constraints hold
///
/// Starts from the poses in the file and reports one of four outcomes: `ok` (every gap is within the tolerance), `budget`
/// (a limit was reached first), `conflict` (the constraints contradict each other; the pose is the best compromise) or
/// `diverged`. Unless it is `ok`, the worst constraints are listed with their line numbers. The scene file itself is only
/// changed by --in-place.
///
/// Options on the command line override the scene's `settings` (tolerance, solver, solver-iterations, max-rotation),
/// which override the defaults. The scene's `iterations` and `budget` limit single steps of a simulation and are not used
/// here: without --iterations and --budget-ms an assembly runs until it is finished, restarts included.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  linkwork assemble scenes/jansen.lw
  linkwork assemble scenes/stewart.lw -o stewart.svg -o stewart.glb
  linkwork assemble rough.lw -o assembled.lw        write the scene with its gaps closed
  linkwork assemble rough.lw --in-place             write the new poses into the file itself
  linkwork assemble scenes/mesh5.lw --scatter 3     scatter everything first
  linkwork assemble scene.lw --json | jq -r .outcome

Exit codes:
  0  assembled: the outcome is `ok`
  1  any other outcome, or an output that cannot be written
  2  the scene cannot be read, or has errors")]
pub struct Args {
    /// The scene; `-` reads standard input
    scene: PathBuf,
    /// Write the result: .lw (the scene with its new poses), .glb (for any 3D viewer) or .svg (a drawing with open gaps in
    /// red); may be repeated
    #[arg(short, long, value_name = "FILE.lw|.glb|.svg", value_parser = output)]
    output: Vec<Output>,
    /// Write the new poses into the scene file itself; comments and layout stay
    #[arg(long)]
    in_place: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// With --json: list the poses of all solids (otherwise of up to 200)
    #[arg(long)]
    full: bool,
    /// Largest gap that counts as closed, in metres and radians [default: the scene's `tolerance`, or 1e-6]
    #[arg(long, value_name = "E", value_parser = numbers::positive, allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Maximum number of geometric iterations; giving one also disables restarts [default: as many as make sense]
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,
    /// Maximum number of iterations of an iterative solver, per linear system [default: the scene's `solver-iterations`, or 2000]
    #[arg(long, value_name = "N")]
    solver_iterations: Option<usize>,
    /// Linear solver [default: the scene's `solver`, or auto]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(SolverKind::ALL.map(|k| k.name())))]
    solver: Option<String>,
    /// Stop after this many milliseconds and keep the best pose found
    #[arg(long, value_name = "B", value_parser = numbers::milliseconds, allow_negative_numbers = true)]
    budget_ms: Option<f64>,
    /// Seed of the restarts and of --scatter
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Largest rotation of any solid in one iteration, in radians [default: the scene's `max-rotation`, or 0.8]
    #[arg(long, value_name = "R", value_parser = numbers::angle, allow_negative_numbers = true)]
    max_rotation: Option<f64>,
    #[command(flatten)]
    common: WithoutEffect,
    /// Scatter the solids first, to test the assembly: every movable solid is moved by up to UNITS and turned by up to
    /// RADIANS (the same number unless given)
    #[arg(long, value_name = "UNITS[,RADIANS]", value_parser = scatter, allow_negative_numbers = true)]
    scatter: Option<Scatter>,
}

impl Args {
    /// Every file that is written, the scene itself last.
    fn written(&self) -> impl Iterator<Item = &Path> {
        self.output.iter().map(|o| o.path.as_path()).chain(self.in_place.then_some(self.scene.as_path()))
    }
}

/// Options that every command takes, so that scripts can pass one set; assembling knows no time and works on one thread.
#[derive(clap::Args)]
struct WithoutEffect {
    /// Accepted by every command; no effect here, since assembly involves no time
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(linkwork::scene::vocabulary::METHODS))]
    method: Option<String>,
    /// Accepted by every command; no effect here, since assembly involves no time
    #[arg(long, value_name = "S", value_parser = numbers::seconds, allow_negative_numbers = true)]
    step: Option<f64>,
    /// Accepted by every command; no effect here, since assembly uses one thread
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// How far to scatter.
#[derive(Clone, Copy)]
struct Scatter {
    units: f64,
    radians: f64,
}

/// A file to write and what goes into it.
#[derive(Clone)]
struct Output {
    path: PathBuf,
    format: Format,
}

#[derive(Clone, Copy)]
enum Format {
    Scene,
    Glb,
    Svg,
}

fn output(text: &str) -> Result<Output, String> {
    let path = PathBuf::from(text);
    let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let format = match ending.as_str() {
        "lw" => Format::Scene,
        "glb" => Format::Glb,
        "svg" => Format::Svg,
        "" => return Err("the file name must end in .lw, .glb or .svg".into()),
        other => return Err(format!("cannot write .{other}; use .lw, .glb or .svg")),
    };
    Ok(Output { path, format })
}

fn scatter(text: &str) -> Result<Scatter, String> {
    let number = |t: &str| match numbers::not_negative(t) {
        Ok(x) if x <= 1e6 => Ok(x),
        Ok(_) => Err("numbers from 0 to 1e6 are needed".to_owned()),
        Err(_) if t.trim().starts_with('-') => Err("numbers from 0 to 1e6 are needed".to_owned()),
        Err(_) => Err("one or two numbers are needed, as in 1 or 1,0.5".to_owned()),
    };
    match text.split_once(',') {
        Some((units, radians)) => Ok(Scatter { units: number(units)?, radians: number(radians)? }),
        None => number(text).map(|x| Scatter { units: x, radians: x }),
    }
}

/// Everything there is to tell.
struct Assembly<'a> {
    loaded: &'a Loaded,
    graph: Graph,
    state: State,
    start: Gaps,
    report: AssembleReport,
    diagnosis: Diagnosis,
    tolerance: f64,
    wall: f64,
}

/// Islands of more scalar constraints are not examined for freedoms and conflicts here: `check` takes that time.
const EXAMINED_ROWS: usize = 600;

pub fn run(args: &Args) -> Result<u8, Failure> {
    if args.in_place && args.scene == Path::new("-") {
        return Err(Failure::input(
            "",
            "--in-place needs a file to write into, not standard input".to_owned(),
        ));
    }
    let outputs = || args.output.iter().map(|o| o.path.as_path());
    let way_out = match args.output.iter().any(|o| matches!(o.format, Format::Scene)) {
        true => "use --in-place instead of -o to write the new poses into the scene, or name another file",
        false => "name another file",
    };
    files::check_outputs_or(outputs(), &[&args.scene], way_out)?;
    if args.in_place {
        files::check_writable(&args.scene).map_err(Failure::failed)?;
    }
    let loaded = scene::load(&args.scene)?;
    files::check_outputs(outputs(), &loaded.mesh_files().iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let result = work(args, &loaded)?;
    for output in &args.output {
        let bytes = match output.format {
            Format::Scene => result.scene_text().into_bytes(),
            Format::Glb => glb_with_skins(loaded.mechanism(), &result.state, &loaded.surfaces()),
            Format::Svg => result.drawing().into_bytes(),
        };
        files::write(&output.path, &bytes).map_err(Failure::failed)?;
        warn_about_meshes(&loaded, output);
    }
    if args.in_place {
        files::write(&args.scene, result.scene_text().as_bytes()).map_err(Failure::failed)?;
    }
    if args.json {
        terminal::print_json(&result.json(args))?;
    } else {
        terminal::print(result.text(args, Paint::stdout()))?;
    }
    Ok(if result.report.outcome == Outcome::Ok { failure::OK } else { failure::FAILED })
}

/// Scatters, assembles and examines.
fn work<'a>(args: &Args, loaded: &'a Loaded) -> Result<Assembly<'a>, Failure> {
    let m = loaded.mechanism();
    let settings = &loaded.scene.settings;
    let defaults = AssembleConfig::default();
    let mut state = State::new(m);
    if let Some(s) = args.scatter {
        throw_about(m, &mut state, s, args.seed);
    }
    let start = report::gaps_at(m, &state);
    let watch = Watch::start(args.budget_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1e3).ok()));
    let tolerance = args.tolerance.or(settings.tolerance).unwrap_or(defaults.tolerance);
    let report = assemble(
        m,
        &mut state,
        &AssembleConfig {
            tolerance,
            iterations: args.iterations,
            solver_iterations: args
                .solver_iterations
                .or(settings.solver_iterations.map(|n| n as usize))
                .unwrap_or(defaults.solver_iterations),
            solver: solver(args, loaded),
            max_rotation: args.max_rotation.or(settings.max_rotation).unwrap_or(defaults.max_rotation),
            seed: args.seed,
            out_of_time: Some(&|| watch.out_of_time()),
            progress: Some(&|p| watch.progress(p)),
            ..defaults
        },
    );
    let wall = watch.seconds();
    drop(watch);
    let diagnosis = report::examine(m, &state, report.outcome, tolerance, EXAMINED_ROWS);
    Ok(Assembly { loaded, graph: Graph::new(m), state, start, report, diagnosis, tolerance, wall })
}

/// The solver asked for, on the command line or by the scene. Both know the same names; a test below holds them to it.
fn solver(args: &Args, loaded: &Loaded) -> SolverKind {
    let name = args.solver.as_ref().or(loaded.scene.settings.solver.as_ref());
    name.and_then(|n| SolverKind::from_name(n)).unwrap_or_default()
}

fn throw_about(m: &Mechanism, state: &mut State, s: Scatter, seed: u64) {
    let mut random = Random::new(seed);
    for i in (0..m.solids().len()).filter(|i| !m.solids()[*i].is_fixed()) {
        let (t, q) = (random.ball() * s.units, random.ball() * s.radians);
        state.displace(i, &[t.x, t.y, t.z, q.x, q.y, q.z]);
    }
}

/// A scene written to another folder no longer finds the mesh files next to it.
fn warn_about_meshes(loaded: &Loaded, output: &Output) {
    let same = |a: &Path, b: &Path| a.canonicalize().ok() == b.canonicalize().ok();
    let Some(mesh) = loaded.meshes.iter().find(|m| Path::new(m).is_relative()) else { return };
    if matches!(output.format, Format::Scene) && !same(&loaded.folder, &files::parent(&output.path)) {
        let path = output.path.display();
        terminal::note(&format!(
            "`{path}` looks for its mesh files (`{mesh}`) in its own folder: copy them there"
        ));
    }
}

impl Assembly<'_> {
    fn conflicts(&self) -> Vec<&Dependency> {
        self.diagnosis.dependencies(true).collect()
    }

    /// The scene with its new poses. Solids that did not move keep the digits of the file.
    fn scene_text(&self) -> String {
        let m = self.loaded.mechanism();
        let before = State::new(m);
        write_poses(&self.loaded.text, &self.loaded.scene, |id| {
            let i = id.index();
            let stayed =
                before.centers[i] == self.state.centers[i] && before.rotations[i] == self.state.rotations[i];
            if stayed { m.solid(id).pose } else { self.state.pose(m, id) }
        })
    }

    fn drawing(&self) -> String {
        let m = self.loaded.mechanism();
        let closures: Vec<JointId> =
            (0..m.joints().len() as u32).map(JointId).filter(|j| self.graph.closes_loop(*j)).collect();
        let gaps = open_gaps(m, &self.state, self.tolerance);
        let caption = format!(
            "{}, {}, {} · {}",
            count(m.solid_count(), "solid"),
            count(m.joints().len(), "joint"),
            count(self.graph.acyclic + self.graph.loops, "scalar constraint"),
            match self.report.outcome {
                Outcome::Ok => "assembled".to_owned(),
                outcome => format!("{}: largest gap {}", outcome.word(), report::gaps(self.report.gaps)),
            }
        );
        svg(
            m,
            &self.state,
            &SvgOptions {
                title: &self.loaded.title(),
                caption: &caption,
                closures: &closures,
                gaps: &gaps,
                ..SvgOptions::default()
            },
        )
    }

    fn json(&self, args: &Args) -> serde_json::Value {
        let m = self.loaded.mechanism();
        let lines = self.loaded.lines();
        let r = &self.report;
        let per_iteration = |n: usize| if r.iterations == 0 { 0.0 } else { n as f64 / r.iterations as f64 };
        let worst: Vec<_> = r
            .worst
            .iter()
            .map(|w| {
                json!({
                    "joint": lines.name(w.joint),
                    "error": w.gaps.worst(),
                    "position": w.gaps.position,
                    "angle": w.gaps.angle,
                    "line": lines.joint(w.joint),
                })
            })
            .collect();
        json!({
            "scene": self.loaded.name,
            "title": self.loaded.scene.title,
            "solids": m.solid_count(),
            "joints": m.joints().len(),
            "constraints": report::constraints(&self.graph),
            "freedoms": report::freedoms(&self.diagnosis),
            "solver": r.solver,
            "tolerance": self.tolerance,
            "wall_s": self.wall,
            "joint_error": {
                "position_start": self.start.position, "angle_start": self.start.angle,
                "position_end": r.gaps.position, "angle_end": r.gaps.angle,
            },
            "iterations": {
                "geometric": r.iterations,
                "solver": r.solver_iterations,
                "restarts": r.restarts,
                "geometric_mean": r.iterations as f64,
                "solver_mean": per_iteration(r.solver_iterations),
            },
            "outcome": r.outcome.word(),
            "worst": worst,
            "conflicting": report::dependencies(&self.conflicts(), &lines),
            "poses": report::cut(&m.solids()[1..], args.full, |i, s| report::pose(&s.name, self.state.pose(m, SolidId(i as u32 + 1)))),
            "poses_left_out": report::left_out(m.solid_count(), args.full),
            "outputs": args.written().map(|p| p.display().to_string()).collect::<Vec<_>>(),
            "not_simulated": [],
            "diagnostics": self.loaded.records(),
            "state_hash": format!("{:016x}", self.state.hash()),
        })
    }

    fn text(&self, args: &Args, paint: Paint) -> String {
        let m = self.loaded.mechanism();
        let r = &self.report;
        let mut out = report::heading(self.loaded, paint);
        let _ = writeln!(
            out,
            "  {}, {}, {}, {}",
            count(m.solid_count(), "solid"),
            count(m.joints().len(), "joint"),
            report::constraints_text(&self.graph, "scalar constraints"),
            report::freedoms_text(report::freedoms(&self.diagnosis)),
        );
        let word = match r.outcome {
            Outcome::Ok => paint.good(r.outcome.word()),
            Outcome::Budget => paint.odd(r.outcome.word()),
            Outcome::Conflict | Outcome::Diverged => paint.bad(r.outcome.word()),
        };
        let restarts =
            if r.restarts > 0 { format!(", {}", count(r.restarts, "restart")) } else { String::new() };
        let _ = writeln!(
            out,
            "\n  {word}  {}{restarts}, {}, {}",
            count(r.iterations, "iteration"),
            report::time(self.wall),
            r.solver
        );
        let _ = writeln!(
            out,
            "  largest gap {} {}",
            report::gaps(r.gaps),
            paint.dim(format!("(at the start {})", report::gaps(self.start)))
        );
        if let Some(explained) = explanation(r.outcome, args) {
            let _ = writeln!(out, "\n  {explained}");
        }
        self.worst_list(&mut out, paint);
        for (i, path) in args.written().enumerate() {
            let _ = writeln!(
                out,
                "{}  {} {}",
                if i == 0 { "\n" } else { "" },
                paint.dim("wrote"),
                path.display()
            );
        }
        out
    }

    fn worst_list(&self, out: &mut String, paint: Paint) {
        let lines = self.loaded.lines();
        let worst = &self.report.worst;
        if !worst.is_empty() {
            let names: Vec<String> = worst.iter().map(|w| lines.name(w.joint)).collect();
            let places: Vec<String> = worst.iter().map(|w| lines.place(w.joint)).collect();
            let (wide, far) = (report::width(&names), report::width(&places));
            let _ = writeln!(out, "\n  {}", paint.bold("worst constraints"));
            for ((w, name), place) in worst.iter().zip(&names).zip(&places) {
                let _ = writeln!(
                    out,
                    "    {}  {}  {}",
                    report::pad(name, wide),
                    paint.dim(report::pad(place, far)),
                    report::gaps(w.gaps)
                );
            }
        }
        let conflicts = self.conflicts();
        if !conflicts.is_empty() {
            let _ = writeln!(out, "\n  {}", paint.bold("contradicting each other"));
            out.push_str(&report::dependencies_text(&conflicts, &lines, paint, "against"));
        }
    }
}

/// What the word means and what to do about it.
fn explanation(outcome: Outcome, args: &Args) -> Option<&'static str> {
    match outcome {
        Outcome::Ok => None,
        Outcome::Budget if args.iterations.is_some() || args.budget_ms.is_some() => Some(
            "A limit was reached: raise --iterations or --budget-ms. This is the best pose found so far.",
        ),
        Outcome::Budget => {
            Some("It ran out of iterations while still improving. This is the best pose found so far.")
        }
        Outcome::Conflict => Some(
            "No pose near here meets all constraints. Those of rank 1 are met as exactly as they can be, the others\n  \
             share the error. Loosen, remove or re-rank one of the constraints below.",
        ),
        Outcome::Diverged => Some(
            "The numbers overflowed; the last finite pose is kept. Check the scene for extreme sizes,\n  distances \
             or masses.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_and_the_command_line_know_the_same_solvers() {
        for name in linkwork::scene::vocabulary::SOLVERS {
            assert!(SolverKind::from_name(name).is_some(), "{name}");
        }
        assert_eq!(linkwork::scene::vocabulary::SOLVERS.len(), SolverKind::ALL.len());
    }
}
