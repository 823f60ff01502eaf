//! `bashful ps`: every command of this user that runs now, whoever started it.

use std::error::Error;
use std::io::{IsTerminal, stdout};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bashful_dialect::job::{self, one_line};
use bashful_dialect::table::Table;
use bashful_dialect::visible;
use bashful_engine::{ByteSize, JobRecord, JobStore, Lifetime, RegisteredCommand, Registry};
use bashful_sys::notify::pause_while_read;
use serde_json::{Value, json};

use crate::cli::PsArgs;
use crate::exit::Exit;
use crate::print;
use crate::stores;
use crate::surroundings::Surroundings;

/// Interval of `--watch`.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// Clears a terminal and moves to its beginning.
const CLEAR: &[u8] = b"\x1b[H\x1b[2J";

/// Lists the commands, with --watch again and again.
pub(crate) fn main(args: &PsArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, _) = around.settings(file)?;
    let no_place = || around.state().no_place("running commands");
    let registry = stores::registry(&around, "ps").ok_or_else(no_place)?;
    let jobs = stores::jobs(&settings, &around).ok_or_else(no_place)?;
    let mut last: Option<Vec<ListedCommand>> = None;
    loop {
        let commands = running_commands(&registry, &jobs)?;
        // JSON is printed again only if more than the elapsed time changed.
        let is_new = last.as_ref().is_none_or(|last| !same(last, &commands));
        if args.json && (is_new || !args.watch) {
            let facts: Value = commands.iter().map(ListedCommand::facts).collect();
            if args.watch { print::json(facts, print::redactor())? } else { print::pretty_json(facts)? }
        } else if !args.json {
            if args.watch && stdout().is_terminal() {
                print::data(CLEAR)?;
            }
            show(&commands)?;
        }
        if !args.watch {
            return Ok(Exit::Code(0));
        }
        last = Some(commands);
        if !pause_while_read(stdout().as_fd(), WATCH_INTERVAL) {
            // The reader has closed its end, as `| head` does.
            return Ok(Exit::Code(0));
        }
    }
}

fn running_commands(registry: &Registry, jobs: &JobStore) -> Result<Vec<ListedCommand>, Box<dyn Error>> {
    let mut commands: Vec<ListedCommand> = registry.list()?.into_iter().map(ListedCommand::Foreground).collect();
    for mut record in jobs.list_live()? {
        job::redact(&mut record, print::redactor());
        commands.push(ListedCommand::Job(Box::new(record)));
    }
    commands.sort_by_key(ListedCommand::began);
    Ok(commands)
}

fn same(last: &[ListedCommand], now: &[ListedCommand]) -> bool {
    let told = |running: &ListedCommand| {
        let mut facts = running.facts();
        facts["duration_ms"] = Value::Null;
        facts
    };
    last.iter().map(told).eq(now.iter().map(told))
}

fn show(commands: &[ListedCommand]) -> Result<(), Box<dyn Error>> {
    if commands.is_empty() {
        print::talk("[no command is running]");
        return Ok(());
    }
    let rows = commands.iter().map(ListedCommand::row).collect();
    print::table(&Table::new(["STARTED BY", "PID", "TIME", "OUTPUT", "DIRECTORY", "COMMAND"], rows, &[1, 2, 3]))?;
    Ok(())
}

/// A command that runs now.
enum ListedCommand {
    Foreground(RegisteredCommand),
    Job(Box<JobRecord>),
}

impl ListedCommand {
    fn began(&self) -> SystemTime {
        match self {
            Self::Foreground(command) => command.began,
            Self::Job(job) => job.began,
        }
    }

    fn age(&self) -> Duration {
        match self {
            Self::Foreground(command) => command.began.elapsed().unwrap_or_default(),
            Self::Job(job) => job.elapsed,
        }
    }

    fn output_bytes(&self) -> u64 {
        match self {
            Self::Foreground(command) => command.output_bytes,
            Self::Job(job) => job.output_file.metadata().map_or(0, |metadata| metadata.len()),
        }
    }

    fn row(&self) -> [String; 6] {
        let (surface, pid, directory, script) = match self {
            Self::Foreground(command) => {
                let session = command.session.as_ref().map(|name| format!(" (session {name})")).unwrap_or_default();
                (format!("{}{session}", command.surface), command.pid, command.directory.clone(), &command.script)
            }
            Self::Job(job) => {
                (format!("job {}", job.id), job.pid, job.directory.to_string_lossy().into_owned(), &job.script)
            }
        };
        [
            visible(&surface),
            pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string()),
            Lifetime(Duration::from_secs(self.age().as_secs())).to_string(),
            ByteSize(self.output_bytes()).to_string(),
            visible(&directory),
            one_line(script),
        ]
    }

    fn facts(&self) -> Value {
        let mut facts = match self {
            Self::Foreground(command) => json!({
                "surface": command.surface,
                "job": null,
                "pid": command.pid,
                "host_pid": command.host_pid,
                "command": command.script,
                "cwd": command.directory,
                "session": command.session,
                "lifetime_ms": milliseconds(command.lifetime),
                "output_lines": command.output_lines,
                "last_line": command.last_line,
            }),
            Self::Job(job) => json!({
                "surface": "job",
                "job": job.id,
                "pid": job.pid,
                "host_pid": null,
                "command": job.script,
                "cwd": job.directory.to_string_lossy(),
                "session": null,
                "lifetime_ms": milliseconds(job.lifetime),
                "output_lines": null,
                "last_line": null,
            }),
        };
        facts["duration_ms"] = milliseconds(self.age()).into();
        facts["output_bytes"] = self.output_bytes().into();
        facts
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
