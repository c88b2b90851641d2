//! `linkwork replay`: repeats a recorded session.

use crate::failure::{self, Failure};
use crate::files;
use crate::report::count;
use crate::terminal::{self, Paint};
use linkwork::session::{Log, ReplayError, Session, replay_with};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Repeats a recorded session exactly, without a clock
///
/// A log contains the scene, everything the user did and how many steps were taken in between. The end must be the recorded
/// one, bit for bit: the state's hash is compared, and printed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  linkwork replay session.json                  repeat it and print the hash
  linkwork replay session.json -o end.lw        also write the scene as the session left it
  linkwork replay session.json --json | jq -r .state_hash

Exit codes:
  0  repeated to the end; the hash is the recorded one (or none was recorded)
  1  the end differs from the recorded one, or an output cannot be written
  2  not a log, or a damaged one")]
pub struct Args {
    /// The log, JSON; `-` reads standard input
    log: PathBuf,
    /// Write the scene's text as the session left it, with the solids where they are
    #[arg(short, long, value_name = "FILE.lw")]
    output: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// Largest log that is read.
const LOG_BYTES: usize = 1 << 30;

pub fn run(args: &Args) -> Result<u8, Failure> {
    if let Some(path) = &args.output {
        files::check_writable(path).map_err(Failure::failed)?;
    }
    let stdin = args.log == Path::new("-");
    let name = if stdin { "<stdin>".to_owned() } else { args.log.display().to_string() };
    let bytes = if stdin {
        files::read_from(std::io::stdin().lock(), LOG_BYTES)
    } else {
        files::read(&args.log, LOG_BYTES)
    };
    let bytes = bytes.map_err(|e| Failure::input(&name, format!("cannot read `{name}`: {e}")))?;
    if bytes.len() > LOG_BYTES {
        return Err(Failure::input(&name, format!("`{name}` is larger than {} MiB", LOG_BYTES >> 20)));
    }
    let log: Log = serde_json::from_slice(&bytes)
        .map_err(|e| Failure::input(&name, format!("`{name}` is not the log of a session: {e}")))?;
    let started = std::time::Instant::now();
    let session = match replay_with(&log, &mut |_, _| {}) {
        Ok(session) => session,
        Err(ReplayError::Scene(report)) => {
            crate::scene::show(&name, &log.text, &report);
            return Err(Failure::Scene { diagnostics: report.records(&name, &log.text), file: name });
        }
        Err(why @ ReplayError::Differs { .. }) => {
            return Err(Failure::Told {
                code: failure::FAILED,
                message: format!("`{name}`: {why}"),
                file: name,
            });
        }
        Err(why) => return Err(Failure::input(&name, format!("`{name}`: {why}"))),
    };
    let wall = started.elapsed().as_secs_f64();
    if let Some(path) = &args.output {
        files::write(path, end_text(&session).as_bytes()).map_err(Failure::failed)?;
    }
    show(&name, &log, session, wall, args.json)?;
    Ok(failure::OK)
}

/// The scene with the solids where the session left them.
fn end_text(session: &Session) -> String {
    linkwork::scene::write_poses(session.text(), session.scene(), |id| session.pose(id))
}

fn show(name: &str, log: &Log, mut session: Session, wall: f64, as_json: bool) -> Result<(), Failure> {
    let report = session.look();
    let (entries, steps) = (log.entries.len(), log.steps());
    if as_json {
        return terminal::print_json(&json!({
            "log": name,
            "scene": session.scene().title,
            "entries": entries,
            "steps": steps,
            "seconds": report.time,
            "wall_s": wall,
            "joint_error": {"position_end": report.gaps.position, "angle_end": report.gaps.angle},
            "energy": {"end": report.energy.total},
            "outcome": "ok",
            "verified": log.hash.is_some(),
            "state_hash": report.hash,
        }));
    }
    let paint = Paint::stdout();
    let title = session.scene().title.clone().unwrap_or_else(|| name.to_owned());
    let verdict =
        if log.hash.is_some() { paint.good("as recorded") } else { paint.odd("(no recorded hash)") };
    terminal::print(format!(
        "{}\n  {}, {} in {}\n  time {:.3} s, largest gap {:.1e} m\n  state {} {verdict}\n",
        paint.bold(title),
        count(entries, "entry"),
        count(steps as usize, "step"),
        crate::report::time(wall),
        report.time,
        report.gaps.position,
        report.hash,
    ))
}
