//! `linkwork completions` and `linkwork man`: what a shell and `man` want to know about this program.

use crate::failure::{self, Failure};
use crate::terminal;
use clap::CommandFactory;
use std::path::PathBuf;

/// Prints completions for a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  linkwork completions bash > ~/.local/share/bash-completion/completions/linkwork
  linkwork completions zsh > ~/.zfunc/_linkwork
  linkwork completions fish > ~/.config/fish/completions/linkwork.fish")]
pub struct CompletionsArgs {
    /// Which shell
    shell: clap_complete::Shell,
}

/// Prints the manual page, or writes one page per command
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  linkwork man | man -l -
  linkwork man -o ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Write linkwork.1, linkwork-check.1, … into this folder
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

pub fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "linkwork", &mut script);
    terminal::print(script)?;
    Ok(failure::OK)
}

pub fn man(args: &ManArgs) -> Result<u8, Failure> {
    let command = crate::Cli::command();
    match &args.output {
        Some(folder) => clap_mangen::generate_to(command, folder).map_err(|e| {
            Failure::failed(format!("cannot write manual pages to `{}`: {e}", folder.display()))
        })?,
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command)
                .render(&mut page)
                .map_err(|e| Failure::failed(format!("cannot make the manual page: {e}")))?;
            terminal::print(page)?;
        }
    }
    Ok(failure::OK)
}
