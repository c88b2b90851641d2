//! `linkwork generate`: scenes by the metre.

use crate::failure::{self, Failure};
use crate::{files, terminal};
use clap::builder::{PossibleValue, PossibleValuesParser};
use linkwork::generate::{KINDS, generate};
use std::path::PathBuf;

/// Prints a scene of a given kind and size
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  linkwork generate ladder 3 10 --heavy 3 > ladder.lw
  linkwork generate net 11 11 -o net.lw
  linkwork generate ring 6 | linkwork assemble - --scatter 1 -o ring.svg")]
pub struct Args {
    /// What to make
    #[arg(value_name = "KIND", value_parser = kinds())]
    kind: String,
    /// Its sizes, as listed with the kinds
    #[arg(value_name = "SIZE", value_parser = size, allow_negative_numbers = true)]
    sizes: Vec<usize>,
    /// Multiplies the mass of the second string of a ladder: with 1 its loops stay closed by symmetry
    #[arg(long, value_name = "F", default_value_t = 1.0)]
    heavy: f64,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn size(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "a whole number is needed".to_owned())
}

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(
        KINDS
            .iter()
            .map(|k| PossibleValue::new(k.name).help(format!("{}: {}", k.sizes.join(" "), k.about)))
            .collect::<Vec<_>>(),
    )
}

pub fn run(args: &Args) -> Result<u8, Failure> {
    let heavy_matters = args.kind == "ladder";
    if args.heavy != 1.0 && !heavy_matters {
        return Err(Failure::input(
            "",
            format!("--heavy is for ladders; a {} has no second string", args.kind),
        ));
    }
    let text =
        generate(&args.kind, &args.sizes, args.heavy).map_err(|message| Failure::input("", message))?;
    match &args.output {
        Some(path) => {
            files::check_writable(path)
                .and_then(|()| files::write(path, text.as_bytes()))
                .map_err(Failure::failed)?;
        }
        None => terminal::print(text)?,
    }
    Ok(failure::OK)
}
