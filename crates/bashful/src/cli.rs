//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::exit::Exit;
use crate::{config, doctor, explain, print, run};

/// Runs shell commands for a model and always tells the truth about them.
#[derive(Debug, Parser)]
#[command(name = "bashful", version, disable_help_subcommand = true)]
struct Cli {
    /// Settings file to read after the usual one.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run one command as a model would have it run.
    Run(RunArgs),
    /// Show what exactly would run, and run nothing.
    Explain(ExplainArgs),
    /// Show the settings in force.
    Config(ConfigArgs),
    /// Show what this machine can promise.
    Doctor(DoctorArgs),
}

/// The command and how to run it.
#[derive(Debug, Args)]
pub(crate) struct CommandArgs {
    /// What bash is to do, as one argument; `-` reads it from standard input.
    #[arg(value_name = "SCRIPT")]
    pub(crate) script: OsString,
    /// How long it may run: 30 seconds, 15 minutes, or in the background.
    #[arg(long, value_enum, default_value_t = Mode::Default, value_name = "MODE")]
    pub(crate) mode: Mode,
    /// Stop it after so many seconds (1 to 3600) instead.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) timeout: Option<f64>,
    /// Run it in this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set a variable, whatever the settings say about its name. May be repeated.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub(crate) env: Vec<OsString>,
}

/// How long a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// 30 seconds.
    Default,
    /// 15 minutes: builds, downloads, tests.
    Slow,
    /// Detached, 24 hours: servers.
    Background,
}

#[derive(Debug, Args)]
#[command(after_long_help = RUN_EXIT_CODES, after_help = RUN_EXIT_CODES)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) command: CommandArgs,
    /// Print the facts and the output as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

const RUN_EXIT_CODES: &str = "\
Exit code: the command's own; 128+N if signal N ended it; 124 if its time was up;
125 if it was refused or bashful itself failed.

Example: bashful run --timeout 5 'make test'";

#[derive(Debug, Args)]
#[command(after_help = "Example: bashful explain 'git push'")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) command: CommandArgs,
    /// Print it as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Print the commented defaults instead: a settings file to start from.
    #[arg(long)]
    pub(crate) defaults: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print it as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Does what the arguments say.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            print::talk(&error.to_string());
            return Exit::Failed.into();
        }
        // Help and version are what was asked for.
        Err(answer) => {
            print::data(answer.to_string().as_bytes());
            return Exit::Code(0).into();
        }
    };
    let file = cli.config.as_deref();
    let exit = match &cli.command {
        Command::Run(args) => run::main(args, file),
        Command::Explain(args) => explain::main(args, file),
        Command::Config(args) => config::main(args, file),
        Command::Doctor(args) => doctor::main(args, file),
    };
    exit.unwrap_or_else(|error| {
        print::error(error.as_ref());
        Exit::Failed
    })
    .into()
}
