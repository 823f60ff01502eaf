//! The command line: reads the arguments, and calls the command that they name.

mod args;
mod duration;
mod mistakes;
mod pages;

use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub(crate) use args::{
    AcpArgs, AllowArgs, ArtifactsCommand, CheckArgs, CommandArgs, CondenseArgs, ConfigArgs, ConsoleArgs, DoctorArgs,
    ExplainArgs, LogArgs, McpArgs, McpCommand, Mode, PsArgs, RpcArgs, RunArgs, SchemaArgs, ShowArgs, positive,
    whole_number,
};
use args::{CompletionsArgs, ManArgs};

use crate::color::{self, ColorChoice};
use crate::exit::Exit;
use crate::hook::HookCommand;
use crate::jobs::JobsCommand;
use crate::sessions::SessionsCommand;
use crate::{
    acp, allow, artifacts, check, condense, config, console, doctor, explain, guard, hook, jobs, log, mcp, print, ps,
    rpc, run, schema, sessions,
};

/// Runs shell commands for LLM agents, and reports exactly what happened.
#[derive(Debug, Parser)]
#[command(name = "bashful", bin_name = "bashful", version, infer_long_args = false)]
#[command(after_help = "\
Examples: bashful run 'make test'
          bashful mcp install claude
          bashful help run")]
struct Cli<Commands: Subcommand> {
    /// Read this settings file after the usual one.
    #[arg(long, global = true, value_name = "FILE", display_order = 100)]
    config: Option<PathBuf>,
    /// Colors: auto, always or never. `NO_COLOR` turns them off too.
    #[arg(long, global = true, value_name = "WHEN", display_order = 101)]
    #[arg(value_enum, hide_possible_values = true)]
    color: Option<ColorChoice>,
    #[command(subcommand)]
    command: Commands,
}

/// The commands that agents start. Describing the arguments of all others would take longer than a short command runs.
#[derive(Debug, Subcommand)]
enum Frequent {
    /// Run a command.
    Run(RunArgs),
    /// Serve the tools to an agent over MCP.
    Mcp(McpArgs),
    /// Serve a host program as JSON lines.
    Rpc(RpcArgs),
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Frequent(Frequent),
    /// Run commands and watch those of agents, on one screen.
    Console(ConsoleArgs),
    /// Serve an editor over the Agent Client Protocol.
    Acp(AcpArgs),
    /// List, follow, wait for and stop background jobs.
    #[command(subcommand, disable_help_subcommand = true, after_help = "Example: bashful jobs list")]
    Jobs(JobsCommand),
    /// List running commands, no matter who started them.
    Ps(PsArgs),
    /// List and end sessions (persistent shells).
    #[command(subcommand, disable_help_subcommand = true, after_help = "Example: bashful sessions list")]
    Sessions(SessionsCommand),
    /// Show the commands that were run.
    Log(LogArgs),
    /// Read output that was too long to show.
    #[command(
        subcommand,
        disable_help_subcommand = true,
        after_help = "Example: bashful artifacts show artifact://7 --tail 20"
    )]
    Artifacts(ArtifactsCommand),
    /// Check the commands of another agent's shell tool.
    #[command(subcommand, disable_help_subcommand = true, after_help = "Example: bashful hook install claude")]
    Hook(HookCommand),
    /// Ask the guard about a script without running it.
    Check(CheckArgs),
    /// Approve one refused command for one run.
    Allow(AllowArgs),
    /// Show exactly what would run, without running it.
    Explain(ExplainArgs),
    /// Shorten the output of a known command.
    Condense(CondenseArgs),
    /// Print tool definitions as JSON.
    Schema(SchemaArgs),
    /// Show the settings in force.
    Config(ConfigArgs),
    /// Check what this machine supports.
    Doctor(DoctorArgs),
    /// Print completions for bash, zsh or fish.
    Completions(CompletionsArgs),
    /// Print man pages.
    Man(ManArgs),
    /// Print the version.
    #[command(hide = true)]
    Version,
}

/// Parses `bashful run SCRIPT` without the parser. Building the parser would take a tenth of the time of a short
/// command.
fn plain_run(mut arguments: impl Iterator<Item = OsString>) -> Option<RunArgs> {
    arguments.next().filter(|command| command == "run")?;
    let script = arguments.next().filter(|script| !script.as_encoded_bytes().starts_with(b"-"))?;
    let is_all = arguments.next().is_none();
    let command = CommandArgs {
        script,
        mode: Mode::Default,
        background: false,
        timeout: None,
        cwd: None,
        env: Vec::new(),
        session: None,
        sandbox: None,
        write: Vec::new(),
        network: None,
        domains: Vec::new(),
    };
    is_all.then_some(RunArgs {
        command,
        split: false,
        dialect: None,
        patience: None,
        stdin: false,
        pty: false,
        json: false,
        events: false,
    })
}

/// Reads the arguments.
fn parse() -> Result<Cli<Command>, clap::Error> {
    if let Some(args) = plain_run(std::env::args_os().skip(1)) {
        return Ok(Cli { config: None, color: None, command: Command::Frequent(Frequent::Run(args)) });
    }
    color::choose(color::choice_in(std::env::args_os().skip(1)));
    if std::env::args_os().nth(1).is_some_and(|first| Frequent::has_subcommand(&first.to_string_lossy())) {
        let Cli { config, color, command } = Cli::<Frequent>::try_parse()?;
        return Ok(Cli { config, color, command: Command::Frequent(command) });
    }
    Cli::try_parse()
}

/// Runs the command that the arguments name.
pub(crate) fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            return failed(&mistakes::explain(error, std::env::args_os().skip(1))).into();
        }
        // Help and version arrive as errors of the parser.
        Err(answer) => {
            let printed = print::data(color::help(&answer.to_string()).as_bytes()).map(|()| Exit::Code(0));
            return printed.unwrap_or(Exit::Failed).into();
        }
    };
    let file = cli.config.as_deref();
    let exit = match &cli.command {
        Command::Frequent(Frequent::Run(args)) => run::main(args, file),
        Command::Frequent(Frequent::Mcp(args)) => mcp::main(args, file),
        Command::Frequent(Frequent::Rpc(args)) => rpc::main(args, file),
        Command::Console(args) => console::main(args, file),
        Command::Acp(args) => acp::main(args, file),
        Command::Explain(args) => explain::main(args, file),
        Command::Check(args) => check::main(args, file),
        Command::Allow(args) => allow::main(args, file),
        Command::Hook(command) => hook::main(command, file),
        Command::Condense(args) => condense::main(args, file),
        Command::Config(args) => config::main(args, file),
        Command::Artifacts(command) => artifacts::main(command, file),
        Command::Jobs(command) => jobs::main(command, file),
        Command::Ps(args) => ps::main(args, file),
        Command::Sessions(command) => sessions::main(command, file),
        Command::Schema(args) => schema::main(args, file),
        Command::Log(args) => log::main(args, file),
        Command::Doctor(args) => doctor::main(args, file),
        Command::Completions(args) => pages::completions(args),
        Command::Man(args) => pages::man(args),
        Command::Version => pages::version(),
    };
    exit.unwrap_or_else(|error| failed(error.as_ref())).into()
}

/// Prints an error, as JSON with `--json`.
fn failed(error: &(dyn Error + 'static)) -> Exit {
    if std::env::args_os().any(|argument| argument == "--json") {
        // If standard output is closed, there is no other place to report it.
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

/// True if the guard or the interceptor refused the command. Their text is for the model, and bashful itself did not fail.
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
