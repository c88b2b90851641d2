//! `linkwork check`: what a scene contains, what can move, and what is odd or wrong about it.

use crate::failure::{self, Failure};
use crate::numbers;
use crate::report::{self, count};
use crate::scene::{self, Lines, Loaded};
use crate::simulate::without_contact;
use crate::terminal::{self, Paint, Watch};
use linkwork::diagnose::{Dependency, Diagnosis};
use linkwork::graph::Graph;
use linkwork::predict::{Choice, predict};
use linkwork::rows::Gaps;
use linkwork::solve::SolverKind;
use linkwork::{AssembleConfig, Kernel, Method, Outcome, State, assemble};
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Parses and validates a scene and reports what it contains
///
/// Prints solids, joints, scalar constraints (in the spanning forest: acyclic; in the joints that close loops: loop),
/// the remaining freedoms, islands, redundant and conflicting constraints by name and line, and the predicted cost of
/// a solve with each solver. A copy of the scene is assembled and examined; the file is never changed. Errors and
/// warnings in the text are shown with their line.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  linkwork check scenes/bricard.lw
  linkwork check scene.lw --json | jq .freedoms
  linkwork generate ring 6 | linkwork check -

Exit codes:
  0  the scene is sound (warnings and redundant constraints included)
  1  its constraints contradict each other, or it did not assemble in time
  2  it cannot be read, or has errors")]
pub struct Args {
    /// The scene; `-` reads standard input
    scene: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Largest gap that counts as closed, in metres and radians [default: the scene's `tolerance`, or 1e-6]
    #[arg(long, value_name = "E", value_parser = numbers::positive, allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Examine islands of up to this many scalar constraints; larger ones are only counted
    #[arg(long, value_name = "N", default_value_t = 2000)]
    rows: usize,
    /// Give up assembling the copy after this many milliseconds
    #[arg(long, value_name = "B", value_parser = numbers::milliseconds, allow_negative_numbers = true, default_value_t = 10_000.0)]
    budget_ms: f64,
}

/// All that is known about the scene.
struct Findings<'a> {
    loaded: &'a Loaded,
    lines: Lines<'a>,
    graph: Graph,
    tolerance: f64,
    start: Gaps,
    end: Gaps,
    outcome: Outcome,
    diagnosis: Diagnosis,
    /// Predicted costs and the pick of `auto`, island by island.
    choices: Vec<Choice>,
    /// Soft bodies that lie in something.
    tangled: Vec<String>,
}

pub fn run(args: &Args) -> Result<u8, Failure> {
    let loaded = scene::load(&args.scene)?;
    let m = loaded.mechanism();
    let tolerance =
        args.tolerance.or(loaded.scene.settings.tolerance).unwrap_or(AssembleConfig::default().tolerance);
    let mut state = State::new(m);
    let start = report::gaps_at(m, &state);
    let watch = Watch::start(Duration::try_from_secs_f64(args.budget_ms / 1e3).ok());
    let assembled = assemble(
        m,
        &mut state,
        &AssembleConfig {
            tolerance,
            out_of_time: Some(&|| watch.out_of_time()),
            progress: Some(&|p| watch.progress(p)),
            ..AssembleConfig::default()
        },
    );
    drop(watch);
    let tangled = report::tangled(m, &state);
    let graph = Graph::new(m);
    let choices = graph.islands.iter().map(|island| predict(m, &graph, island)).collect();
    let findings = Findings {
        lines: loaded.lines(),
        graph,
        choices,
        tangled,
        tolerance,
        start,
        end: assembled.gaps,
        outcome: assembled.outcome,
        diagnosis: report::examine(m, &state, assembled.outcome, tolerance, args.rows),
        loaded: &loaded,
    };
    if args.json {
        terminal::print_json(&findings.json())?;
    } else {
        terminal::print(findings.text(Paint::stdout()))?;
    }
    // What is listed as a contradiction is one, however small; and a scene that was not assembled in time has not been
    // shown to be sound.
    let sound = findings.outcome == Outcome::Ok && findings.dependencies(true).is_empty();
    Ok(if sound { failure::OK } else { failure::FAILED })
}

impl Findings<'_> {
    fn dependencies(&self, conflict: bool) -> Vec<&Dependency> {
        self.diagnosis.dependencies(conflict).collect()
    }

    /// Fixed, scripted and particles among the solids; the world is not counted.
    fn kinds(&self) -> [usize; 3] {
        let solids = &self.loaded.mechanism().solids()[1..];
        [
            solids.iter().filter(|s| s.kernel == Kernel::Fixed).count(),
            solids.iter().filter(|s| matches!(s.kernel, Kernel::Scripted(_))).count(),
            solids.iter().filter(|s| s.particle).count(),
        ]
    }

    /// Predicted multiplications of one solve of every island.
    fn cost(&self, kind: SolverKind) -> f64 {
        let of =
            |c: &Choice| c.predictions.iter().find(|p| p.solver == kind).map_or(0.0, |p| p.multiplications);
        self.choices.iter().map(of).sum()
    }

    fn solvers() -> impl Iterator<Item = SolverKind> {
        SolverKind::ALL.into_iter().filter(|k| *k != SolverKind::Auto)
    }

    /// Mass of everything that can move.
    fn mass(&self) -> f64 {
        self.loaded.mechanism().solids().iter().filter(|s| !s.is_fixed()).map(|s| s.mass.mass).sum()
    }

    /// Mass, centre and inertia of the movable solids, as computed or given: of the first thousand.
    fn bodies(&self) -> Vec<serde_json::Value> {
        let solids = self.loaded.mechanism().solids().iter().filter(|s| !s.is_fixed()).take(1000);
        solids
            .map(|s| {
                let (c, i) = (s.mass.center, s.mass.inertia);
                json!({
                    "solid": s.name,
                    "mass": s.mass.mass,
                    "center": [c.x, c.y, c.z],
                    "inertia": [i.x_axis.x, i.y_axis.y, i.z_axis.z, i.x_axis.y, i.x_axis.z, i.y_axis.z],
                })
            })
            .collect()
    }

    /// What `auto` picks, with the number of islands and the reason given for the first of them.
    fn picks(&self) -> Vec<(SolverKind, usize, &str)> {
        let mut picks: Vec<(SolverKind, usize, &str)> = Vec::new();
        for c in &self.choices {
            match picks.iter_mut().find(|p| p.0 == c.picked) {
                Some(p) => p.1 += 1,
                None => picks.push((c.picked, 1, &c.reason)),
            }
        }
        picks
    }

    fn json(&self) -> serde_json::Value {
        let m = self.loaded.mechanism();
        let [fixed, scripted, particles] = self.kinds();
        let islands: Vec<_> = self
            .diagnosis
            .islands
            .iter()
            .map(|i| {
                json!({
                    "solids": i.solids,
                    "with": self.lines.solid(i.example),
                    "constraints": i.rows,
                    "freedoms": i.freedoms,
                    "freedoms_at_pose": i.freedoms_here,
                    "examined": i.examined,
                })
            })
            .collect();
        let mut cost: serde_json::Map<_, _> =
            Self::solvers().map(|k| (k.name().to_owned(), json!(self.cost(k)))).collect();
        let picks = self.picks();
        let auto = picks.first().map_or(SolverKind::Auto.resolve(), |p| p.0);
        cost.insert("auto".to_owned(), json!(auto.name()));
        let picks: Vec<_> = picks
            .iter()
            .map(|(k, islands, reason)| json!({"solver": k.name(), "islands": islands, "reason": reason}))
            .collect();
        json!({
            "scene": self.loaded.name,
            "title": self.loaded.scene.title,
            "outcome": self.outcome.word(),
            "solids": m.solid_count(),
            "fixed": fixed,
            "scripted": scripted,
            "particles": particles,
            "mass": self.mass(),
            "bodies": self.bodies(),
            "joints": m.joints().len(),
            "joints_not_at_start": m.joints().iter().filter(|j| !j.holds_at(0.0)).count(),
            "constraints": report::constraints(&self.graph),
            "freedoms": self.diagnosis.freedoms,
            "islands": islands,
            "unheld": self.graph.unheld.iter().map(|s| self.lines.solid(*s)).collect::<Vec<_>>(),
            "redundant": report::dependencies(&self.dependencies(false), &self.lines),
            "conflicting": report::dependencies(&self.dependencies(true), &self.lines),
            "tolerance": self.tolerance,
            "assembled_as_written": self.start.worst() <= self.tolerance,
            "joint_error": {
                "position_start": self.start.position, "angle_start": self.start.angle,
                "position_end": self.end.position, "angle_end": self.end.angle,
            },
            "predicted_cost": cost,
            "auto": picks,
            "tangled": self.tangled,
            "not_simulated": [],
            "ignored": self.ignored(),
            "diagnostics": self.loaded.records(),
        })
    }

    fn text(&self, paint: Paint) -> String {
        let m = self.loaded.mechanism();
        let mut out = report::heading(self.loaded, paint);
        let mut line = |key: &str, value: String| {
            let _ = writeln!(out, "  {}  {value}", report::pad(key, 12));
        };
        let [fixed, scripted, particles] = self.kinds();
        let kinds = [(fixed, "fixed"), (scripted, "scripted"), (particles, "of them particles")];
        let kinds: Vec<String> = kinds.iter().filter(|k| k.0 > 0).map(|(n, k)| format!("{n} {k}")).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        line("solids", format!("{}{kinds}", m.solid_count()));
        line("mass", format!("{} kg of movable solids", report::plain(self.mass())));
        let later = m.joints().iter().filter(|j| !j.holds_at(0.0)).count();
        let later =
            if later > 0 { format!(" ({later} of them not at the start: `during`)") } else { String::new() };
        line("joints", format!("{}{later}", m.joints().len()));
        line("constraints", report::constraints_text(&self.graph, "scalar"));
        line("freedoms", self.freedoms_text());
        line("islands", self.islands_text());
        line("assembled", self.assembled_text(paint));
        line("cost", self.cost_text());
        self.islands_list(&mut out, paint);
        self.dependencies_list(&mut out, paint);
        for note in self.ignored().iter().chain(&self.tangled) {
            let _ = writeln!(out, "\n  {note}");
        }
        out
    }

    /// What the method that the scene asks for will not honour.
    fn ignored(&self) -> Option<String> {
        let method = Method::from_name(self.loaded.scene.settings.method.as_deref()?)?;
        without_contact(method, self.loaded.mechanism())
    }

    fn freedoms_text(&self) -> String {
        let d = &self.diagnosis;
        let mut text = d.freedoms.to_string();
        if d.islands.iter().any(|i| !i.examined) {
            text.push_str(" by counting (too large to examine; see --rows)");
        } else {
            let m = self.loaded.mechanism();
            let counted = m.freedoms() as i64 - m.scalar_constraints() as i64;
            if counted != d.freedoms as i64 {
                let _ = write!(
                    text,
                    " (counting alone would say {} - {} = {counted})",
                    m.freedoms(),
                    m.scalar_constraints()
                );
            }
        }
        text
    }

    fn islands_text(&self) -> String {
        let mut text = self.diagnosis.islands.len().to_string();
        let unheld = &self.graph.unheld;
        if !unheld.is_empty() {
            let names: Vec<_> =
                unheld.iter().take(4).map(|s| format!("`{}`", self.lines.solid(*s))).collect();
            let more = if unheld.len() > 4 { ", …" } else { "" };
            let _ = write!(
                text,
                ", and {} that nothing holds: {}{more}",
                count(unheld.len(), "solid"),
                names.join(", ")
            );
        }
        text
    }

    fn assembled_text(&self, paint: Paint) -> String {
        let start = report::gaps(self.start);
        if self.start.worst() <= self.tolerance {
            return format!("{}, as written (largest gap {start})", paint.good("yes"));
        }
        match self.outcome {
            Outcome::Ok => format!(
                "{}: gaps of up to {start} in the file; `linkwork assemble` closes them, and what\n                follows \
                 was examined in the assembled pose",
                paint.odd("not as written")
            ),
            Outcome::Conflict => format!(
                "{}: gaps of up to {start} in the file, {} in the best compromise",
                paint.bad("no pose was found"),
                report::gaps(self.end)
            ),
            Outcome::Budget => format!(
                "{}: gaps of up to {start} in the file, {} when time ran out (see --budget-ms)",
                paint.odd("not yet"),
                report::gaps(self.end)
            ),
            Outcome::Diverged => {
                format!("{}: numbers overflowed", paint.bad("diverged"))
            }
        }
    }

    fn cost_text(&self) -> String {
        let costs: Vec<String> =
            Self::solvers().map(|k| format!("{} {}", k.name(), report::magnitude(self.cost(k)))).collect();
        let mut lines: Vec<String> = costs.chunks(3).map(|c| c.join(", ")).collect();
        for (k, islands, reason) in self.picks() {
            let what = if self.choices.len() > 1 {
                format!(" on {}", count(islands, "island"))
            } else {
                String::new()
            };
            lines.push(format!("auto takes {}{what}: {reason}", k.name()));
        }
        format!("predicted multiplications per solve: {}", lines.join("\n                "))
    }

    /// Islands one by one, when there are several or one of them is at a special pose.
    fn islands_list(&self, out: &mut String, paint: Paint) {
        const SHOWN: usize = 8;
        let islands = &self.diagnosis.islands;
        if islands.len() > 1 {
            let _ = writeln!(out, "\n  {}", paint.bold("islands"));
            for i in islands.iter().take(SHOWN) {
                let _ = writeln!(
                    out,
                    "    with `{}`: {}, {}, {}",
                    self.lines.solid(i.example),
                    count(i.solids, "solid"),
                    count(i.rows, "scalar constraint"),
                    count(i.freedoms, "freedom"),
                );
            }
            out.push_str(&report::rest(islands.len(), SHOWN));
        }
        for i in islands.iter().filter(|i| i.freedoms_here > i.freedoms).take(SHOWN) {
            let _ = writeln!(
                out,
                "\n  {}: the pose of the island with `{}` has {} to first order, but only {} nearby",
                paint.odd("singular"),
                self.lines.solid(i.example),
                count(i.freedoms_here, "motion"),
                i.freedoms
            );
        }
    }

    fn dependencies_list(&self, out: &mut String, paint: Paint) {
        for (conflict, word, explained, said) in [
            (true, "conflicting", "no pose meets these together with the ones listed after them", "against"),
            (false, "redundant", "implied by the constraints listed after them", "with"),
        ] {
            let found = self.dependencies(conflict);
            if found.is_empty() {
                continue;
            }
            let rows = found.iter().map(|d| d.rows).sum();
            let word = if conflict { paint.bad(word) } else { paint.odd(word) };
            let _ = writeln!(out, "\n  {word}  {}: {explained}", count(rows, "row"));
            out.push_str(&report::dependencies_text(&found, &self.lines, paint, said));
        }
    }
}
