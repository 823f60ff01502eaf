//! `bashful jobs`, as it is typed.

use bashful_engine::job_id;
use bashful_sys::signal;
use clap::{Args, Subcommand};
use regex::bytes::Regex;

/// What to do with jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum JobsCommand {
    /// List jobs: those that run, and those that have ended lately.
    #[command(after_help = "Example: bashful jobs list --running")]
    List(ListArgs),
    /// Show how far a job has come, and the end of its output.
    Show(ShowArgs),
    /// Print all of a job's output, and with -f what it writes from then on.
    #[command(after_help = "Example: bashful jobs logs -f 7")]
    Logs(LogsArgs),
    /// Wait for jobs to end, for something to be written, or for a port to be open.
    Wait(WaitArgs),
    /// Write a line to the standard input of a job that was started with --stdin.
    #[command(after_help = "Example: bashful jobs send 7 'print(1 + 1)'")]
    Send(SendArgs),
    /// Stop jobs: ask every process of them, and kill what has not ended when the grace is over.
    #[command(after_help = "Asked twice, a job is killed at once.

Example: bashful jobs kill 7")]
    Kill(KillArgs),
    /// Forget jobs that have ended, and remove their output. (What went to an artifact stays there.)
    #[command(after_help = "Example: bashful jobs rm 7 8")]
    Rm {
        /// Numbers, or `job://` and a number.
        #[arg(value_parser = job_id, required = true, value_name = "ID")]
        ids: Vec<u64>,
    },
    /// Forget jobs that ended too long ago, by the settings `[jobs]`.
    #[command(after_help = "Example: BASHFUL_JOBS_AGE_DAYS=1 bashful jobs sweep")]
    Sweep {
        /// Print what was done as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only those of which something still runs.
    #[arg(long)]
    pub(crate) running: bool,
    /// Print it as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Reading takes nothing away: the next offset is said, and can be given as --since.

Example: bashful jobs show 7 --since 2048")]
pub(crate) struct ShowArgs {
    /// A number, or `job://` and a number.
    #[arg(value_parser = job_id)]
    pub(crate) id: u64,
    /// Show what was written behind this offset, in bytes.
    #[arg(long, group = "part", value_name = "N")]
    pub(crate) since: Option<u64>,
    /// Show so many lines from the end.
    #[arg(long, group = "part", value_name = "N", default_value_t = 20)]
    pub(crate) lines: u64,
    /// Print it as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// A number, or `job://` and a number.
    #[arg(value_parser = job_id)]
    pub(crate) id: u64,
    /// Go on until the job has ended.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Begin behind this offset, in bytes.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) since: u64,
    /// Print the bytes as they were written, escape sequences and all.
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Exit code: 0 if what was waited for has come, and every job that was waited for had exit code 0;
1 if a job failed, or ended before what was waited for; 124 if the time was up, which harms no job.

Examples: bashful jobs wait 7 8 --any
          bashful jobs wait 7 --until 'listening on' --timeout 30
          bashful jobs wait 7 --until-port 8080")]
pub(crate) struct WaitArgs {
    /// Numbers, or `job://` and a number.
    #[arg(value_parser = job_id, required = true, value_name = "ID")]
    pub(crate) ids: Vec<u64>,
    /// Until the first of them has ended.
    #[arg(long, conflicts_with = "all")]
    pub(crate) any: bool,
    /// Until all of them have ended. This is what happens anyway.
    #[arg(long)]
    pub(crate) all: bool,
    /// No longer than so many seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<f64>,
    /// Until a line of the output of one of them matches this regular expression.
    #[arg(long, value_name = "RE", conflicts_with = "until_port")]
    pub(crate) until: Option<Regex>,
    /// Until somebody listens on this TCP port of this machine.
    #[arg(long, value_name = "PORT")]
    pub(crate) until_port: Option<u16>,
    /// Print what is known of the jobs as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// A number, or `job://` and a number.
    #[arg(value_parser = job_id)]
    pub(crate) id: u64,
    /// What to write; a newline is added. `-` sends all of standard input as it is.
    #[arg(required_unless_present = "eof")]
    pub(crate) text: Option<String>,
    /// Add no newline.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Then let the job find the end of its input.
    #[arg(long)]
    pub(crate) eof: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    /// Numbers, or `job://` and a number.
    #[arg(value_parser = job_id, required = true, value_name = "ID")]
    pub(crate) ids: Vec<u64>,
    /// Only send this signal to every process of the jobs, by name or number. KILL leaves nothing.
    #[arg(long, value_name = "SIGNAL", value_parser = signal_number)]
    pub(crate) signal: Option<u8>,
    /// Do not wait until they are gone.
    #[arg(long)]
    pub(crate) no_wait: bool,
}

fn signal_number(text: &str) -> Result<u8, String> {
    signal::number(text).ok_or_else(|| format!("there is no signal {text:?}"))
}
