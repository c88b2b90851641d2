//! `linkwork fmt`: canonical layout.

use crate::failure::{self, Failure};
use crate::terminal::{self, Paint};
use crate::{files, scene};
use linkwork::scene::{Report, fmt as lay_out, limits};
use std::path::{Path, PathBuf};

/// Rewrites scenes in canonical layout, keeping comments, numbers and meaning
///
/// Only white space changes. A file with syntax errors is left as it is, and the errors are shown.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  linkwork fmt scenes/*.lw           rewrite in place
  linkwork fmt --check scenes/*.lw   only list the files that would change; exit 1 if any
  linkwork fmt - < rough.lw          from standard input to standard output")]
pub struct Args {
    /// Scenes to rewrite in place; `-` reads standard input and writes standard output
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write nothing: list the files whose layout differs, and exit with 1 if there are any
    #[arg(long)]
    check: bool,
}

pub fn run(args: &Args) -> Result<u8, Failure> {
    let (mut code, mut different) = (failure::OK, 0);
    for path in &args.files {
        match one(path, args.check) {
            Ok(differs) => different += usize::from(differs),
            Err(Failure::ReaderGone) => return Err(Failure::ReaderGone),
            // The other files still get their turn.
            Err(failure) => code = code.max(failure.report(false)),
        }
    }
    if args.check && different > 0 {
        terminal::note(&format!("{} not in canonical layout", crate::report::count(different, "file")));
        code = code.max(failure::FAILED);
    }
    Ok(code)
}

/// Lays out one file; tells whether it differs.
fn one(path: &Path, check: bool) -> Result<bool, Failure> {
    let (name, bytes) = scene::read(path)?;
    if bytes.len() > limits::TEXT_BYTES {
        return Err(Failure::input(
            &name,
            format!("`{name}` is larger than {} MiB", limits::TEXT_BYTES >> 20),
        ));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => {
            let line =
                1 + e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
            return Err(Failure::input(&name, format!("`{name}` is not UTF-8 text (line {line})")));
        }
    };
    let tidy = match lay_out(&text) {
        Ok(tidy) => tidy,
        Err(diagnostics) => {
            let report = Report { diagnostics, omitted: 0 };
            scene::show(&name, &text, &report);
            return Err(Failure::Scene { diagnostics: report.records(&name, &text), file: name });
        }
    };
    let differs = tidy != text;
    if path == Path::new("-") && !check {
        terminal::print(tidy)?;
    } else if differs && check {
        terminal::print(format!("{name}\n"))?;
    } else if differs {
        files::write(path, tidy.as_bytes()).map_err(Failure::failed)?;
        terminal::tell(format_args!("{} {name}\n", Paint::stderr().dim("formatted")));
    }
    Ok(differs)
}
