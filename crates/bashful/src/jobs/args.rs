//! The arguments of `bashful jobs`.

use std::time::Duration;

use bashful_engine::{TerminalSize, job_id};
use bashful_sys::signal;
use clap::{Args, Subcommand};
use regex::bytes::Regex;

use crate::cli::{positive, whole_number};

/// The subcommands of `bashful jobs`.
#[derive(Debug, Subcommand)]
pub(crate) enum JobsCommand {
    /// List running jobs and those that ended recently.
    #[command(after_help = "Example: bashful jobs list --running")]
    List(ListArgs),
    /// Show the state of a job and the end of its output.
    Show(ShowArgs),
    /// Print the output of a job.
    #[command(after_help = "Example: bashful jobs logs -f 7")]
    Logs(LogsArgs),
    /// Wait until jobs end, write a line or open a port.
    Wait(WaitArgs),
    /// Write to the standard input of a job started with --stdin, or type at its terminal.
    #[command(after_help = "\
Keys have tmux's names: Enter, Escape, Tab, Up, PageDown, F1, C-c, M-x.

Examples: bashful jobs send 7 'print(1 + 1)'
          bashful jobs send 7 --raw ':wq' --key Enter")]
    Send(SendArgs),
    /// Show the screen of a job that runs at a terminal.
    #[command(after_help = "\
Example: bashful jobs screen 7 --until 'Password:' --timeout 30s")]
    Screen(ScreenArgs),
    /// Change the size of a job's terminal.
    #[command(after_help = "Example: bashful jobs resize 7 100x30")]
    Resize(ResizeArgs),
    /// Stop jobs and every process they started.
    #[command(after_help = "\
Sends SIGTERM, and SIGKILL when the grace is over (15 s, a setting). A second
kill during the grace kills at once.

Example: bashful jobs kill 7")]
    Kill(KillArgs),
    /// Remove ended jobs and their output.
    #[command(after_help = "Artifacts of a job stay.\n\nExample: bashful jobs rm 7 8")]
    Rm(RmArgs),
    /// Remove ended jobs beyond the limits of the `[jobs]` settings.
    #[command(after_help = "Example: BASHFUL_JOBS_AGE_DAYS=1 bashful jobs sweep")]
    Sweep {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// List only jobs with running processes.
    #[arg(long)]
    pub(crate) running: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The last line names the offset for the next call: --since shows only newer output.

Example: bashful jobs show 7 --since 2048")]
pub(crate) struct ShowArgs {
    /// A job: `7`, `bg_7` or `job://7`.
    #[arg(value_parser = job_id)]
    pub(crate) id: u64,
    /// Show the last N lines.
    #[arg(short = 'n', long, group = "part", value_name = "N", default_value_t = 20, value_parser = whole_number::<u64>)]
    pub(crate) lines: u64,
    /// Show the output after this byte offset.
    #[arg(long, group = "part", value_name = "N", value_parser = whole_number::<u64>)]
    pub(crate) since: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// A job: `7`, `bg_7` or `job://7`.
    #[arg(value_parser = job_id)]
    pub(crate) id: u64,
    /// Keep printing until the job ends.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Start after this byte offset.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) since: u64,
    /// Print the bytes as written, escape sequences included.
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Exit code: 0 on success, with every awaited job ended with code 0; 1 if a job
failed or ended too early; 124 after a timeout, which stops no job.

Examples: bashful jobs wait 7 8 --any
          bashful jobs wait 7 --until 'listening on' --timeout 30s
          bashful jobs wait 7 --until-port 8080")]
pub(crate) struct WaitArgs {
    /// Jobs: `7`, `bg_7` or `job://7`.
    #[arg(value_parser = job_id, required = true, value_name = "ID")]
    pub(crate) ids: Vec<u64>,
    /// Stop waiting when the first job ends.
    #[arg(long, conflicts_with = "all")]
    pub(crate) any: bool,
    /// Wait until all jobs have ended (the default).
    #[arg(long)]
    pub(crate) all: bool,
    /// Longest time to wait, as in 30, 30s or 5m.
    #[arg(short, long, value_name = "TIME", value_parser = positive)]
    pub(crate) timeout: Option<Duration>,
    /// Wait for a line of output that matches this regular expression.
    #[arg(long, value_name = "REGEX", conflicts_with = "until_port")]
    pub(crate) until: Option<Regex>,
    /// Wait until this TCP port of this machine is open.
    #[arg(long, value_name = "PORT")]
    pub(crate) until_port: Option<u16>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// A job: `7`, `bg_7` or `job://7`.
    #[arg(value_parser = job_id)]
    pub(crate) id: u64,
    /// Line to write; `-` sends standard input as it is.
    #[arg(required_unless_present_any = ["eof", "keys"])]
    pub(crate) text: Option<String>,
    /// Press this key at the job's terminal, after the text. Can be repeated.
    #[arg(short, long = "key", value_name = "KEY", conflicts_with = "eof")]
    pub(crate) keys: Vec<String>,
    /// Add no newline.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Close the job's input afterwards.
    #[arg(long)]
    pub(crate) eof: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    /// Jobs: `7`, `bg_7` or `job://7`.
    #[arg(value_parser = job_id, required = true, value_name = "ID")]
    pub(crate) ids: Vec<u64>,
    /// Send only this signal, by name or number; KILL spares nothing.
    #[arg(long, value_name = "SIGNAL", value_parser = signal_number)]
    pub(crate) signal: Option<u8>,
    /// Return before the processes have ended.
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// Jobs: `7`, `bg_7` or `job://7`.
    #[arg(value_parser = job_id, required = true, value_name = "ID")]
    pub(crate) ids: Vec<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ScreenArgs {
    /// A number, or `job://NUMBER`.
    #[arg(value_parser = job_id)]
    pub(crate) id: u64,
    /// Wait until the screen matches this regular expression.
    #[arg(long, value_name = "REGEX")]
    pub(crate) until: Option<String>,
    /// Longest time to wait, as in 30, 30s or 5m.
    #[arg(short, long, value_name = "TIME", value_parser = positive, default_value = "30s", requires = "until")]
    pub(crate) timeout: Duration,
    /// Keep the colors.
    #[arg(long)]
    pub(crate) colors: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResizeArgs {
    /// A number, or `job://NUMBER`.
    #[arg(value_parser = job_id)]
    pub(crate) id: u64,
    /// Columns and rows, from 20x5 to 400x200.
    #[arg(value_parser = terminal_size, value_name = "COLUMNSxROWS")]
    pub(crate) size: TerminalSize,
}

fn terminal_size(text: &str) -> Result<TerminalSize, String> {
    let sides = text.split_once('x').and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
    let (columns, rows): (u16, u16) = sides.ok_or("give columns and rows, as in 120x40")?;
    let size = TerminalSize::new(columns, rows);
    if (size.columns(), size.rows()) != (columns, rows) {
        return Err("a terminal has 20 to 400 columns and 5 to 200 rows".to_owned());
    }
    Ok(size)
}

fn signal_number(text: &str) -> Result<u8, String> {
    signal::number(text).ok_or_else(|| format!("there is no signal {text:?}"))
}
