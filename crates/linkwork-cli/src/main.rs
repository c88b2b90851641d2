//! The `linkwork` command: reads scenes, checks them, puts them together, lets them move, lays them out, makes new ones.
//!
//! One file a command. What they share: [`scene`] reads, [`files`] writes, [`report`] counts and examines, [`simulate`]
//! steps and measures, [`plot`] draws charts and pages, [`terminal`]
//! knows about colours, pipes and progress, and [`failure`] holds the exit codes.

mod assemble;
mod check;
mod compare;
mod contacts;
mod failure;
mod files;
mod fmt;
mod generate;
mod interrupt;
mod lab;
mod numbers;
mod plot;
mod reach;
mod replay;
mod report;
mod run;
mod scene;
mod shell;
mod simulate;
mod terminal;
mod view;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Assembles, examines and animates articulated solids, closed loops included.
///
/// A scene is a text file (`.lw`) that lists solids and the joints and constraints between them. `linkwork assemble`
/// moves the solids from wherever they are to a pose in which all constraints hold, or tells you which constraints
/// cannot be met. `linkwork run` simulates the scene over time.
#[derive(Parser)]
#[command(name = "linkwork", version, max_term_width = 100, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  linkwork check scenes/fourbar.lw                     what it contains, what moves, what is wrong
  linkwork assemble scenes/jansen.lw -o jansen.svg     assemble it and draw it
  linkwork run scenes/fourbar.lw --seconds 2 --record fourbar.glb    animate it
  linkwork generate ladder 3 10 | linkwork check -     read a scene from a pipe
  linkwork fmt scenes/*.lw                             canonical layout
  linkwork view                                        grab it in the browser

Exit codes:
  0  success
  1  something failed: constraints cannot be met, a file cannot be written
  2  bad input: an unreadable file, a scene with errors, an invalid option";

#[derive(Subcommand)]
enum Command {
    Check(check::Args),
    Assemble(assemble::Args),
    Run(run::Args),
    Compare(compare::Args),
    Lab(lab::Args),
    Fmt(fmt::Args),
    Generate(generate::Args),
    Reach(reach::Args),
    Replay(replay::Args),
    View(view::Args),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output and are no mistake. A reader who left early is none either.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { failure::BAD_INPUT } else { failure::OK });
        }
    };
    let (json, result) = match cli.command {
        Command::Check(args) => (args.json, check::run(&args)),
        Command::Assemble(args) => (args.json, assemble::run(&args)),
        Command::Run(args) => (args.json, run::run(&args)),
        Command::Compare(args) => (args.json, compare::run(&args)),
        Command::Lab(args) => (args.json, lab::run(&args)),
        Command::Fmt(args) => (false, fmt::run(&args)),
        Command::Generate(args) => (false, generate::run(&args)),
        Command::Reach(args) => (args.json, reach::run(&args)),
        Command::Replay(args) => (args.json, replay::run(&args)),
        Command::View(args) => (false, view::run(&args)),
        Command::Completions(args) => (false, shell::completions(&args)),
        Command::Man(args) => (false, shell::man(&args)),
    };
    ExitCode::from(match result {
        Ok(code) => code,
        Err(failure) => failure.report(json),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound_and_every_option_has_help() {
        let mut cli = super::Cli::command();
        cli.build();
        cli.clone().debug_assert();
        for command in cli.get_subcommands() {
            assert!(command.get_about().is_some(), "{} has no help", command.get_name());
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {} has no help", command.get_name(), arg.get_id());
            }
        }
    }
}
