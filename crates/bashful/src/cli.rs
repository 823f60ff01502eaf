//! The command line.

use std::error::Error;
use std::ffi::OsString;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bashful_dialect::{Dialect, Format};
use bashful_engine::{SessionName, artifact_id};
use clap::{Args, Parser, Subcommand, ValueEnum};
use regex::bytes::Regex;

use crate::exit::Exit;
use crate::hook::HookCommand;
use crate::install::InstallArgs;
use crate::jobs::JobsCommand;
use crate::sessions::SessionsCommand;
use crate::settings::Seconds;
use crate::{
    allow, artifacts, check, config, doctor, explain, guard, hook, jobs, log, mcp, print, ps, run, schema, sessions,
};

/// Runs shell commands for a model and always tells the truth about them.
#[derive(Debug, Parser)]
#[command(name = "bashful", version, disable_help_subcommand = true)]
struct Cli<Commands: Subcommand> {
    /// Settings file to read after the usual one.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Commands,
}

/// The commands that agents start. Describing the arguments of all others would take longer than a short command runs.
#[derive(Debug, Subcommand)]
enum Frequent {
    /// Run one command as a model would have it run.
    Run(RunArgs),
    /// Serve a model's tools over the Model Context Protocol, on standard input and output or over HTTP.
    Mcp(McpArgs),
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Frequent(Frequent),
    /// Show what exactly would run, and run nothing.
    Explain(ExplainArgs),
    /// Say what the guard makes of a script, and run nothing.
    Check(CheckArgs),
    /// Let a command that the guard refuses run once. Needs a terminal.
    Allow(AllowArgs),
    /// Judge the commands of another agent before they run.
    #[command(subcommand, after_help = "Example: bashful hook install claude")]
    Hook(HookCommand),
    /// Show the settings in force.
    #[command(after_help = "Example: bashful config --defaults >~/.config/bashful/config.toml")]
    Config(ConfigArgs),
    /// Look at output that was kept on disk because it was too long to be shown.
    #[command(subcommand, after_help = "Example: bashful artifacts show artifact://7 --tail 20")]
    Artifacts(ArtifactsCommand),
    /// Look at commands that run in the background, wait for them, stop them.
    #[command(subcommand, after_help = "Example: bashful jobs list")]
    Jobs(JobsCommand),
    /// List every command that runs now, whoever started it: agents, other terminals, jobs.
    #[command(
        after_help = "A command appears once it has run for a tenth of a second. Its output is at most a second old.

Example: bashful ps --watch"
    )]
    Ps(PsArgs),
    /// List and end sessions (persistent shells).
    #[command(subcommand, after_help = "Example: bashful sessions list")]
    Sessions(SessionsCommand),
    /// Print the definitions of a model's tools, ready to paste.
    #[command(after_help = "Example: bashful schema --for anthropic")]
    Schema(SchemaArgs),
    /// Show which commands were run.
    #[command(after_help = "Example: bashful log --failed --since 2h")]
    Log(LogArgs),
    /// Show what this machine can promise.
    #[command(after_help = "Examples: bashful doctor --json\n          bashful doctor --client claude-code")]
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
    /// Stop it after so many seconds (1 to 3600; in the background, up to 30 days) instead.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) timeout: Option<f64>,
    /// Run it in this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set a variable, whatever the settings say about its name. May be repeated.
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub(crate) env: Vec<OsString>,
    /// Run it in the shell of this name, which stays: directory, variables and functions carry over to the next command.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
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
    /// Take standard output and standard error apart; which came first is then unknown.
    #[arg(long)]
    pub(crate) split: bool,
    /// Run it and answer as a model's tool of this dialect would: native, plain or pi. With --json, its facts.
    #[arg(long, value_name = "DIALECT", conflicts_with = "split")]
    pub(crate) dialect: Option<Dialect>,
    /// If it takes longer than so many seconds, let it go on in the background and return. Behind a busy session, it is then not run.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) patience: Option<Seconds>,
    /// In the background: leave its standard input open for `bashful jobs send`.
    #[arg(long)]
    pub(crate) stdin: bool,
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
#[command(
    after_help = "Exit code: 0 if it passes; 1 if it is refused; 2 if it is not understood to its end; 125 if the directory is not there.

Example: bashful check 'git push --force'"
)]
pub(crate) struct CheckArgs {
    /// The script; without it, or with `-`, it is read from standard input.
    #[arg(value_name = "SCRIPT")]
    pub(crate) script: Option<OsString>,
    /// Judge it as if it ran in this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Show how each command that was found came about, step by step.
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
    /// Print it as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: bashful allow --minutes 2 'git push --force'")]
pub(crate) struct AllowArgs {
    /// The script, word for word as it will be given.
    #[arg(value_name = "SCRIPT")]
    pub(crate) script: OsString,
    /// The directory that it will be given for.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// For how long it is allowed.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=60))]
    pub(crate) minutes: u8,
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
    /// Show how the MCP client of this name is answered, instead.
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = mcp::SET_UP, args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// Which tools: native (bash and job), plain (a command, nothing else) or pi.
    #[arg(long, value_name = "DIALECT", default_value_t)]
    pub(crate) dialect: Dialect,
    /// Run commands in this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Send structured results too, as `[mcp] structured` does. Several agents then show their model nothing else.
    #[arg(long)]
    pub(crate) structured: bool,
    /// Serve over HTTP at this address: HOST:PORT, or :PORT for this machine alone; port 0 is any that is free.
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<String>,
    /// Ask clients for the token in this file; without it, for `[mcp] token`, or for one that is made and shown.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Put this server into a client's own settings, or take it out.
    Install(InstallArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Go on, and print what is added.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only the last so many seconds, minutes, hours or days, as in 90s, 10m, 2h or 7d.
    #[arg(long, value_name = "SPAN", value_parser = log::span)]
    pub(crate) since: Option<Duration>,
    /// Only commands that were refused or did not end well.
    #[arg(long)]
    pub(crate) failed: bool,
    /// Print the lines as they are in the file: JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PsArgs {
    /// Show the list again every second, until Ctrl-C.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print JSON; with --watch, a line each time that something has changed.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Which tools: native (bash and job), plain (a command, nothing else) or pi.
    #[arg(long, value_name = "DIALECT", default_value_t)]
    pub(crate) dialect: Dialect,
    /// For whom: mcp, anthropic, openai or gemini.
    #[arg(long = "for", value_name = "FORM", default_value = "mcp")]
    pub(crate) form: Format,
    /// The directory that the definitions name.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print the schemas of the facts that programs find in the `_meta` of a result, instead.
    #[arg(long, conflicts_with_all = ["form", "structured"])]
    pub(crate) facts: bool,
    /// With the schemas of structured results, as `bashful mcp --structured` has them.
    #[arg(long)]
    pub(crate) structured: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactsCommand {
    /// List what is there.
    List(ListArgs),
    /// Print an artifact, or a part of it.
    Show(ShowArgs),
    /// Print the path of an artifact's file.
    #[command(after_help = "Example: wc -l \"$(bashful artifacts path 7)\"")]
    Path {
        /// A number, or `artifact://` and a number.
        #[arg(value_parser = artifact_id)]
        id: u64,
    },
    /// Remove artifacts, except those that are still being written.
    #[command(after_help = "Example: bashful artifacts rm 7 8")]
    Rm {
        /// Numbers, or `artifact://` and a number.
        #[arg(value_parser = artifact_id, required = true, value_name = "ID")]
        ids: Vec<u64>,
    },
    /// Remove what is too old or too much, by the settings `[artifacts]`.
    #[command(after_help = "Example: BASHFUL_ARTIFACTS_AGE_DAYS=1 bashful artifacts sweep")]
    Sweep {
        /// Print what was done as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Example: bashful artifacts list --json")]
pub(crate) struct ListArgs {
    /// Print it as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit code: 0; 1 if --grep found nothing; 125 if it cannot be shown.

Example: bashful artifacts show artifact://7 --grep '(?i)error'")]
pub(crate) struct ShowArgs {
    /// A number, or `artifact://` and a number.
    #[arg(value_parser = artifact_id)]
    pub(crate) id: u64,
    /// Only these lines, counted from 1, both included; `A-` goes on to the end.
    #[arg(long, group = "part", value_name = "A-B", value_parser = artifacts::lines)]
    pub(crate) lines: Option<RangeInclusive<u64>>,
    /// Only these bytes, counted from 0, the end excluded; `A-` goes on to the end.
    #[arg(long, group = "part", value_name = "A-B", value_parser = artifacts::bytes)]
    pub(crate) bytes: Option<Range<u64>>,
    /// Only lines in which this regular expression is found, with their numbers.
    #[arg(long, group = "part", value_name = "RE")]
    pub(crate) grep: Option<Regex>,
    /// Only the first lines.
    #[arg(long, group = "part", value_name = "N")]
    pub(crate) head: Option<u64>,
    /// Only the last lines.
    #[arg(long, group = "part", value_name = "N")]
    pub(crate) tail: Option<u64>,
    /// Print the bytes as they were written, withheld values too.
    #[arg(long)]
    pub(crate) raw: bool,
}

/// A length of time.
fn seconds(text: &str) -> Result<Seconds, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    Seconds::try_from(number)
}

/// Reads the arguments of the plainest call, `bashful run SCRIPT`. Describing all possible ones first would take a tenth of the
/// time of a short command.
fn plain_run(mut arguments: impl Iterator<Item = OsString>) -> Option<RunArgs> {
    arguments.next().filter(|command| command == "run")?;
    let script = arguments.next().filter(|script| !script.as_encoded_bytes().starts_with(b"-"))?;
    let is_all = arguments.next().is_none();
    let command = CommandArgs { script, mode: Mode::Default, timeout: None, cwd: None, env: Vec::new(), session: None };
    is_all.then_some(RunArgs { command, split: false, dialect: None, patience: None, stdin: false, json: false })
}

/// Reads the arguments.
fn parse() -> Result<Cli<Command>, clap::Error> {
    if let Some(args) = plain_run(std::env::args_os().skip(1)) {
        return Ok(Cli { config: None, command: Command::Frequent(Frequent::Run(args)) });
    }
    if std::env::args_os().nth(1).is_some_and(|first| Frequent::has_subcommand(&first.to_string_lossy())) {
        let Cli { config, command } = Cli::<Frequent>::try_parse()?;
        return Ok(Cli { config, command: Command::Frequent(command) });
    }
    Cli::try_parse()
}

/// Does what the arguments say.
pub(crate) fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => return failed(&error).into(),
        // Help and version are what was asked for.
        Err(answer) => {
            let printed = print::data(answer.to_string().as_bytes()).map(|()| Exit::Code(0));
            return printed.unwrap_or(Exit::Failed).into();
        }
    };
    let file = cli.config.as_deref();
    let exit = match &cli.command {
        Command::Frequent(Frequent::Run(args)) => run::main(args, file),
        Command::Frequent(Frequent::Mcp(args)) => mcp::main(args, file),
        Command::Explain(args) => explain::main(args, file),
        Command::Check(args) => check::main(args, file),
        Command::Allow(args) => allow::main(args, file),
        Command::Hook(command) => hook::main(command, file),
        Command::Config(args) => config::main(args, file),
        Command::Artifacts(command) => artifacts::main(command, file),
        Command::Jobs(command) => jobs::main(command, file),
        Command::Ps(args) => ps::main(args, file),
        Command::Sessions(command) => sessions::main(command, file),
        Command::Schema(args) => schema::main(args, file),
        Command::Log(args) => log::main(args, file),
        Command::Doctor(args) => doctor::main(args, file),
    };
    exit.unwrap_or_else(|error| failed(error.as_ref())).into()
}

/// Says what went wrong, as JSON to those who want JSON.
fn failed(error: &(dyn Error + 'static)) -> Exit {
    if std::env::args_os().any(|argument| argument == "--json") {
        // Where that cannot be written there is nobody to tell.
        let _ = print::json(of_error(error), print::redactor());
    } else if error.is::<clap::Error>() || is_refusal(error) {
        print::talk(&error.to_string());
    } else {
        print::error(error);
    }
    Exit::Failed
}

/// The facts about an error.
fn of_error(error: &(dyn Error + 'static)) -> serde_json::Value {
    let mut facts = bashful_dialect::facts::of_error(error);
    if let Some(refused) = error.downcast_ref::<guard::Refused>() {
        facts.clone_from(&refused.facts);
    }
    if let Some(guard::Intercepted(found)) = error.downcast_ref() {
        facts["status"] = "refused".into();
        facts["suggested_tool"] = found.name.as_str().into();
    }
    facts
}

/// Whether nothing went wrong: the guard or the interceptor said no, in words that are for the model.
fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    error.is::<guard::Refused>() || error.is::<guard::Intercepted>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &[&str], is_plain: bool) {
        let plain = plain_run(arguments.iter().map(OsString::from));
        assert_eq!(plain.is_some(), is_plain, "{arguments:?}");
        let Some(plain) = plain else { return };
        let parsed = Cli::<Frequent>::try_parse_from([&["bashful"], arguments].concat()).expect("they are right");
        let parsed = (parsed.config, parsed.command);
        assert_eq!(format!("{parsed:?}"), format!("{:?}", (None::<PathBuf>, Frequent::Run(plain))));
    }

    #[test]
    fn a_plain_run_is_read_as_any_other() {
        for script in ["true", "", "echo --json -x", "a\nb", "help"] {
            check(&["run", script], true);
        }
        check(&["run", "--json", "true"], false);
        check(&["run", "true", "--json"], false);
        check(&["run", "--help"], false);
        check(&["run", "-"], false);
        check(&["run", "--"], false);
        check(&["run"], false);
        check(&["mcp", "true"], false);
        check(&[], false);
    }
}
