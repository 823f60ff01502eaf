//! The arguments of every command.
//!
//! Help is shown on a terminal of 24 rows: one line for each option where that can be done, the most used ones first.

use std::ffi::OsString;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::time::Duration;

use bashful_dialect::{Dialect, Format};
use bashful_engine::{SessionName, artifact_id};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use regex::bytes::Regex;

use super::duration::{seconds, span};
use crate::install::InstallArgs;
use crate::settings::{SandboxModeName, SandboxNetwork, Settings};
use crate::{artifacts, mcp, rpc};

/// The command and how to run it.
#[derive(Debug, Args)]
pub(crate) struct CommandArgs {
    /// The script, as one argument; `-` reads it from standard input.
    #[arg(value_name = "SCRIPT")]
    pub(crate) script: OsString,
    /// Time limit: default (30s), slow (15m) or background (24h).
    #[arg(long, value_enum, default_value_t = Mode::Default, value_name = "MODE")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) mode: Mode,
    /// Start a job and return: --mode background.
    #[arg(short, long, conflicts_with = "mode")]
    pub(crate) background: bool,
    /// Time limit in seconds, or as in 90s, 5m or 1h.
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true, value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
    /// Directory to run in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set a variable; repeatable.
    #[arg(short, long = "env", value_name = "NAME=VALUE")]
    pub(crate) env: Vec<OsString>,
    /// Run in this persistent shell; a new one if needed.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
    /// Fence the command in: off, read-only or workspace.
    #[arg(long, value_name = "MODE", hide_possible_values = true)]
    pub(crate) sandbox: Option<SandboxModeName>,
    /// In a sandbox, make this directory writable, too; repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) write: Vec<PathBuf>,
    /// In a sandbox, the network: off, list or on.
    #[arg(long, value_name = "WHICH", hide_possible_values = true)]
    pub(crate) network: Option<SandboxNetwork>,
    /// In a sandbox, let this host through (--network list); repeatable, or with commas.
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    pub(crate) domains: Vec<String>,
}

impl CommandArgs {
    /// Changes the settings of the sandbox to those of the arguments.
    pub(crate) fn change(&self, settings: &mut Settings) {
        let sandbox = &mut settings.sandbox;
        sandbox.mode = self.sandbox.unwrap_or(sandbox.mode);
        if !self.domains.is_empty() {
            sandbox.network = SandboxNetwork::List;
            sandbox.domains.0.extend(self.domains.iter().cloned().map(Into::into));
        }
        sandbox.network = self.network.unwrap_or(sandbox.network);
        sandbox.write.0.extend(self.write.iter().map(|path| path.to_string_lossy().into_owned().into()));
    }

    /// The mode; `--background` is `--mode background`.
    pub(crate) fn mode(&self) -> Mode {
        if self.background { Mode::Background } else { self.mode }
    }
}

// The help of `--mode` explains the values: help on the values would make every option two lines long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Default,
    Slow,
    Background,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Exit code: the command's own; 128+N if signal N ended it; 124 after a timeout;
125 if the command was refused or bashful itself failed.

Keys: Ctrl-C stops the command, a second one kills it; Ctrl-Z suspends it, and
its timeout goes on. Its colors stay on a terminal, unless --color or NO_COLOR
turn them off.

Examples: bashful run -t 5m 'make test'
          bashful run -b 'npm start'
          bashful run --pty 'vim notes.md'
          bashful run -s work 'cd src && source .env'")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) command: CommandArgs,
    /// Pass standard input on; with -b, open it for `jobs send`.
    #[arg(short = 'i', long)]
    pub(crate) stdin: bool,
    /// Run at a terminal, for programs such as vim, less and top.
    #[arg(long, conflicts_with_all = ["session", "json", "patience", "split", "dialect"])]
    pub(crate) pty: bool,
    /// Print the facts and the output as one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print output and result as JSON lines, as `rpc` sends them. Without --dialect, the usual timeout is 5m.
    #[arg(long, conflicts_with_all = ["json", "pty", "split", "stdin"])]
    pub(crate) events: bool,
    /// Make it a job if it takes longer than this.
    #[arg(long, value_name = "TIME", value_parser = positive)]
    pub(crate) patience: Option<Duration>,
    /// Keep standard output and standard error apart.
    #[arg(long)]
    pub(crate) split: bool,
    /// Reply as a model's tool would: native, plain or pi.
    #[arg(long, value_name = "DIALECT", conflicts_with = "split")]
    #[arg(value_parser = dialects(), hide_possible_values = true)]
    pub(crate) dialect: Option<Dialect>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A typed line is a call of an agent's tool; `!line` runs in a shell that stays; `/pty line` at a
terminal of its own; `/bg line` as a job. `?` shows all keys. docs/console.md has the rest.

Example: bashful console --dialect pi")]
pub(crate) struct ConsoleArgs {
    /// Directory to run in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Call the tools of this dialect: native, plain or pi.
    #[arg(long, value_name = "DIALECT")]
    #[arg(value_parser = dialects(), hide_possible_values = true)]
    pub(crate) dialect: Option<Dialect>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: bashful explain 'git push'")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) command: CommandArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Exit code: 0 passes; 1 refused; 2 not understood to its end; 125 failed.

Example: bashful check 'git push --force'")]
pub(crate) struct CheckArgs {
    /// The script; without it, or with `-`, standard input.
    #[arg(value_name = "SCRIPT")]
    pub(crate) script: Option<OsString>,
    /// Judge it as if it ran in this directory.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Show step by step how each finding came about.
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Reads the output from standard input. A file filters.toml beside the settings
adds filters of your own, and `[condense] only` and `except` choose filters, as
for commands that run. It works whether condensing is enabled or not.

Example: cargo test 2>&1 | bashful condense --command 'cargo test' --verbose")]
pub(crate) struct CondenseArgs {
    /// The script that wrote the output.
    #[arg(long, value_name = "SCRIPT")]
    pub(crate) command: String,
    /// Exit code of the script.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) status: i32,
    /// Print sizes and all that was left out to standard error.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Needs a terminal, and a person at it: no command can approve another one.

Example: bashful allow --minutes 2 'git push --force'")]
pub(crate) struct AllowArgs {
    /// The script, exactly as it will be run.
    #[arg(value_name = "SCRIPT")]
    pub(crate) script: OsString,
    /// The directory that it will run in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set a variable, as the call does; repeatable.
    #[arg(short, long = "env", value_name = "NAME=VALUE")]
    pub(crate) env: Vec<OsString>,
    /// The persistent shell that it will run in.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
    /// The dialect of the tool that will run it: native, plain or pi.
    #[arg(long, value_name = "DIALECT", default_value_t, value_parser = dialects(), hide_possible_values = true)]
    pub(crate) dialect: Dialect,
    /// The sandbox that the call asks for.
    #[arg(long, value_name = "MODE", hide_possible_values = true)]
    pub(crate) sandbox: Option<SandboxModeName>,
    /// Minutes until the approval expires.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=60))]
    pub(crate) minutes: u8,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: bashful config --defaults >~/.config/bashful/config.toml")]
pub(crate) struct ConfigArgs {
    /// Print the commented defaults: a settings file to start from.
    #[arg(long, conflicts_with = "json")]
    pub(crate) defaults: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Exit code: 0; 1 if something was found that needs attention.

Examples: bashful doctor --json
          bashful doctor --client claude-code")]
pub(crate) struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the limits for replies to this MCP client.
    #[arg(long, value_name = "NAME")]
    pub(crate) client: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A prompt is a command; `!` before it runs it in the shell of the session.
Commands run in the editor's terminal if it has one, and else here.

To tell an editor of it, name the program and its argument:
  Zed       \"agent_servers\": { \"bashful\": { \"command\": \"bashful\", \"args\": [\"acp\"] } }
  acpx      acpx --agent 'bashful acp --here' exec 'make test'
  acpx refuses its terminals where it cannot ask; without --here it needs --approve-all.

Example: bashful acp --here")]
pub(crate) struct AcpArgs {
    /// Run commands here, even if the editor offers terminals.
    #[arg(long)]
    pub(crate) here: bool,
}

#[derive(Debug, Args)]
#[command(after_help = mcp::SET_UP, args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// Tools to offer: native (bash and job), plain or pi.
    #[arg(long, value_name = "DIALECT", default_value_t, value_parser = dialects(), hide_possible_values = true)]
    pub(crate) dialect: Dialect,
    /// Directory that commands run in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Serve over HTTP: PORT on this machine alone, or HOST:PORT.
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<String>,
    /// Read the token that HTTP clients must send from this file.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Add structured results, which some agents show instead of the text.
    #[arg(long)]
    pub(crate) structured: bool,
}

#[derive(Debug, Args)]
#[command(after_help = rpc::FIRST_LINES)]
pub(crate) struct RpcArgs {
    /// Tools to offer: native (bash and job), plain or pi.
    #[arg(long, value_name = "DIALECT", default_value_t, value_parser = dialects(), hide_possible_values = true)]
    pub(crate) dialect: Dialect,
    /// Directory that commands begin in.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add this server to a client's settings, or remove it.
    Install(InstallArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
With --savings, sizes are those of the shown text: a line that a limit would
have cut anyway is not saved. A token is counted as four bytes.

Example: bashful log --failed --since 2h
         bashful log --savings --since 7d")]
#[expect(clippy::struct_excessive_bools, reason = "each one is an option of the command line")]
pub(crate) struct LogArgs {
    /// Show only the last N commands.
    #[arg(short = 'n', long = "last", value_name = "N", value_parser = whole_number::<usize>)]
    pub(crate) last: Option<usize>,
    /// Keep printing commands as they end.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Show only the last 90s, 10m, 2h or 7d.
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) since: Option<Duration>,
    /// Show only commands that failed or were refused.
    #[arg(long)]
    pub(crate) failed: bool,
    /// Sum up what condensing has saved, by filter.
    #[arg(long, conflicts_with_all = ["last", "follow"])]
    pub(crate) savings: bool,
    /// Print the JSON lines of the log file; with --savings, one object.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A command appears after a tenth of a second. Its output figures are at most a
second old.

Example: bashful ps --watch")]
pub(crate) struct PsArgs {
    /// Refresh the list every second until Ctrl-C.
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Print JSON; with --watch, one line at every change.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: bashful schema --for anthropic")]
pub(crate) struct SchemaArgs {
    /// Tools to print: native (bash and job), plain or pi.
    #[arg(long, value_name = "DIALECT", default_value_t, value_parser = dialects(), hide_possible_values = true)]
    pub(crate) dialect: Dialect,
    /// Format: mcp, anthropic, openai or gemini.
    #[arg(long = "for", value_name = "FORMAT", default_value = "mcp")]
    #[arg(value_parser = formats(), hide_possible_values = true)]
    pub(crate) form: Format,
    /// Directory that the definitions mention.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print the schemas of result facts instead: `_meta` and `run --json`.
    #[arg(long, conflicts_with_all = ["form", "structured"])]
    pub(crate) facts: bool,
    /// Include the schemas of structured results.
    #[arg(long)]
    pub(crate) structured: bool,
    /// Print the schema of the messages of `bashful rpc` instead.
    #[arg(long, conflicts_with_all = ["form", "structured", "facts"])]
    pub(crate) rpc: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArtifactsCommand {
    /// List artifacts.
    List(ListArgs),
    /// Print an artifact or a part of it.
    Show(ShowArgs),
    /// Print the path of an artifact's file.
    #[command(after_help = "Example: wc -l \"$(bashful artifacts path 7)\"")]
    Path {
        /// A number, or `artifact://NUMBER`.
        #[arg(value_parser = artifact_id)]
        id: u64,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove artifacts that no command is writing.
    #[command(after_help = "Example: bashful artifacts rm 7 8")]
    Rm {
        /// Numbers, or `artifact://NUMBER`.
        #[arg(value_parser = artifact_id, required = true, value_name = "ID")]
        ids: Vec<u64>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove artifacts beyond the limits of the `[artifacts]` settings.
    #[command(after_help = "Example: BASHFUL_ARTIFACTS_AGE_DAYS=1 bashful artifacts sweep")]
    Sweep {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Example: bashful artifacts list --json")]
pub(crate) struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Exit code: 0; 1 if --grep found nothing; 125 failed.

Example: bashful artifacts show 7 --grep '(?i)error'")]
pub(crate) struct ShowArgs {
    /// A number, or `artifact://NUMBER`.
    #[arg(value_parser = artifact_id)]
    pub(crate) id: u64,
    /// Print the first N lines.
    #[arg(long, group = "part", value_name = "N", value_parser = whole_number::<u64>)]
    pub(crate) head: Option<u64>,
    /// Print the last N lines.
    #[arg(long, group = "part", value_name = "N", value_parser = whole_number::<u64>)]
    pub(crate) tail: Option<u64>,
    /// Print lines A to B, counted from 1; `A-` continues to the end.
    #[arg(long, group = "part", value_name = "A-B", value_parser = artifacts::lines)]
    pub(crate) lines: Option<RangeInclusive<u64>>,
    /// Print bytes A up to B, counted from 0; `A-` continues to the end.
    #[arg(long, group = "part", value_name = "A-B", value_parser = artifacts::bytes)]
    pub(crate) bytes: Option<Range<u64>>,
    /// Print lines that match this regular expression, with numbers.
    #[arg(long, group = "part", value_name = "REGEX")]
    pub(crate) grep: Option<Regex>,
    /// Print the bytes as written, withheld values included.
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples: bashful completions bash >~/.local/share/bash-completion/completions/bashful
          bashful completions zsh >\"${fpath[1]}/_bashful\"
          bashful completions fish >~/.config/fish/completions/bashful.fish")]
pub(crate) struct CompletionsArgs {
    /// bash, zsh or fish.
    #[arg(value_enum, hide_possible_values = true)]
    pub(crate) shell: CompletedShell,
}

/// A shell that completions can be printed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples: bashful man | man -l -
          bashful man run | man -l -
          bashful man --all ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Command whose page to print, such as `run` or `jobs wait`.
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands to this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) all: Option<PathBuf>,
}

fn dialects() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::name)).try_map(|name| name.parse::<Dialect>())
}

fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::NAMES).try_map(|name| name.parse::<Format>())
}

/// A whole number that is not negative. The parser's own message would speak of digits.
pub(crate) fn whole_number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "give a whole number, such as 20".to_owned())
}

/// A duration above zero.
pub(crate) fn positive(text: &str) -> Result<Duration, String> {
    let given = seconds(text)?;
    let most = crate::settings::Seconds::try_from(given)?;
    Ok(most.duration())
}
