//! Completions, man pages and the version, all made from the description of the arguments.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_complete::Shell;
use thiserror::Error;

use super::args::{CompletedShell, CompletionsArgs, ManArgs};
use super::{Cli, Command};
use crate::exit::Exit;
use crate::print;

#[derive(Debug, Error)]
enum PageError {
    #[error("there is no command `{0}`; `bashful help` lists all of them")]
    NoCommand(String),
    #[error("cannot write man pages to {}", directory.display())]
    Write { directory: PathBuf, source: io::Error },
}

/// Prints completions for a shell.
pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Box<dyn Error>> {
    let shell = match args.shell {
        CompletedShell::Bash => Shell::Bash,
        CompletedShell::Zsh => Shell::Zsh,
        CompletedShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::<Command>::command(), "bashful", &mut script);
    print::data(&script)?;
    Ok(Exit::Code(0))
}

/// Prints a man page, or writes all of them to a directory.
pub(super) fn man(args: &ManArgs) -> Result<Exit, Box<dyn Error>> {
    let mut program = Cli::<Command>::command().disable_help_subcommand(true);
    program.build();
    if let Some(directory) = &args.all {
        let failed = |source| PageError::Write { directory: directory.clone(), source };
        std::fs::create_dir_all(directory).map_err(failed)?;
        clap_mangen::generate_to(Cli::<Command>::command().disable_help_subcommand(true), directory).map_err(failed)?;
        print::talk(&format!("[{} man pages written to {}]", count(&program), shown(directory)));
        return Ok(Exit::Code(0));
    }
    let mut command = &program;
    // `jobs-wait` means the page of `jobs wait`.
    for word in args.command.iter().flat_map(|word| word.split([' ', '-'])) {
        command = command.find_subcommand(word).ok_or_else(|| PageError::NoCommand(args.command.join(" ")))?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    print::data(&page)?;
    Ok(Exit::Code(0))
}

/// Pages that are written for a command and all below it. Hidden commands have none.
fn count(command: &clap::Command) -> usize {
    1 + command.get_subcommands().filter(|command| !command.is_hide_set()).map(count).sum::<usize>()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Prints the version.
pub(super) fn version() -> Result<Exit, Box<dyn Error>> {
    print::text(concat!("bashful ", env!("CARGO_PKG_VERSION"), "\n"))?;
    Ok(Exit::Code(0))
}
