//! `linkwork lab`: the papers' experiments, run again.
//!
//! An experiment is data (`lab/*.toml`, read by [`data`]): the claim, the parameters and the thresholds. Its `kind` names
//! the code that runs it, a file each. That gives cases with measured quantities, [`verdict`] holds them against the
//! thresholds, and [`write`] makes report, table, JSON and Markdown. [`tools`] is what the kinds share.

mod arm;
mod assembly;
mod cloth;
mod conservation;
mod data;
mod drag;
mod ladders;
mod loops;
mod printed;
mod relaxation;
mod sawtooth;
mod shaken;
mod tools;
mod verdict;
mod write;

use crate::failure::{self, Failure};
use crate::terminal::{self, Paint};
use crate::{files, report};
use data::{Experiment, Source};
use std::path::PathBuf;
use tools::{Bench, Found};
use verdict::Judged;

/// Repeats the papers' experiments and reports which of their claims hold
///
/// Without an experiment, lists them all. Every experiment is defined by data: parameters, the paper's claim in our words,
/// and thresholds. The measurements are compared with the thresholds, which gives the verdict: `reproduced`, `reproduced
/// only when …` or `not reproduced`. The report is a single HTML file with plots; it needs no network.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  linkwork lab                               list the experiments
  linkwork lab hong-2005-figure-4            run one experiment
  linkwork lab all -o report                 run all of them (a few minutes) and write report/report.html
  linkwork lab all --markdown > laboratory.md

Exit codes:
  0  the experiments were run, whatever the verdicts
  1  an output that cannot be written
  2  no such experiment, or data that cannot be used")]
pub struct Args {
    /// The experiment, or `all`; if omitted, the experiments are listed
    #[arg(value_name = "EXPERIMENT")]
    experiment: Option<String>,
    /// Write `report.html` into this folder, creating it if necessary [default: linkwork-lab, unless --json or
    /// --markdown is given]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Read experiments (*.toml) and scenes from this folder instead of the built-in ones
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Use larger parameters, where an experiment defines them, and twenty times the time limit
    #[arg(long)]
    full: bool,
    /// Print the results as Markdown instead of a table
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// An experiment that was run.
pub struct Done {
    experiment: Experiment,
    found: Found,
    judged: Judged,
    seconds: f64,
}

pub fn run(args: &Args) -> Result<u8, Failure> {
    let source = Source::new(args.data.as_deref());
    let all = source.experiments()?;
    let Some(wanted) = &args.experiment else {
        match args.json {
            true => terminal::print_json(&write::list_json(&all))?,
            false => terminal::print(write::list(&all, Paint::stdout()))?,
        }
        return Ok(failure::OK);
    };
    let chosen: Vec<Experiment> =
        all.iter().filter(|e| wanted == "all" || e.id == *wanted).cloned().collect();
    if chosen.is_empty() {
        let known: Vec<&str> = all.iter().map(|e| e.id.as_str()).collect();
        return Err(Failure::input(
            "",
            format!("there is no experiment `{wanted}`; there are: all, {}", known.join(", ")),
        ));
    }
    let quiet = args.json || args.markdown;
    let folder = args.output.clone().or_else(|| (!quiet).then(|| PathBuf::from("linkwork-lab")));
    let page = folder.as_ref().map(|f| f.join("report.html"));
    if let (Some(folder), Some(page)) = (&folder, &page) {
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::failed(format!("cannot make the folder `{}`: {e}", folder.display())))?;
        files::check_writable(page).map_err(Failure::failed)?;
    }
    let mut done = Vec::new();
    let many = chosen.len();
    for (k, experiment) in chosen.into_iter().enumerate() {
        let bench = Bench::new(&experiment, &source, args.full, &format!("{}/{many}", k + 1));
        let found = find(&experiment.kind, &bench)?;
        let seconds = bench.seconds();
        drop(bench);
        let judged = verdict::judge(&experiment.id, &experiment.verdict, &found.cases)?;
        let one = Done { experiment, found, judged, seconds };
        if many > 1 && !args.json && !std::io::IsTerminal::is_terminal(&std::io::stdout()) {
            // A file gets the table at the end; whoever waits sees something before.
            terminal::tell(format_args!(
                "{}/{many} {}: {} ({})\n",
                k + 1,
                one.experiment.id,
                one.judged.verdict.words(),
                report::time(one.seconds)
            ));
        }
        done.push(one);
    }
    if let Some(page) = &page {
        files::write(page, write::page(&done, args.full).as_bytes()).map_err(Failure::failed)?;
    }
    match (args.json, args.markdown) {
        (true, _) => terminal::print_json(&write::json(&done, args.full, page.as_deref()))?,
        (_, true) => terminal::print(write::markdown(&done, args.full))?,
        _ => terminal::print(write::text(&done, page.as_deref(), Paint::stdout()))?,
    }
    Ok(failure::OK)
}

/// Runs an experiment by its kind.
fn find(kind: &str, bench: &Bench) -> Result<Found, Failure> {
    match kind {
        "conservation" => conservation::run(bench),
        "convergence" => assembly::convergence(bench),
        "assembly-budget" => assembly::budget(bench),
        "drag" => drag::run(bench),
        "shaken" => shaken::run(bench),
        "relaxation-passes" => relaxation::passes(bench),
        "relaxation-momentum" => relaxation::momentum(bench),
        "arm" => arm::run(bench),
        "sawtooth" => sawtooth::run(bench),
        "ladders" => ladders::run(bench),
        "loops" => loops::run(bench),
        "cloth-elongation" => cloth::elongation(bench),
        "cloth-penetration" => cloth::penetration(bench),
        other => Err(bench.bad(format!("there is no kind `{other}`"))),
    }
}
