//! `bashful log`: prints the commands that were run.

mod file;
mod savings;
mod time;

use std::collections::VecDeque;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bashful_dialect::job::one_line;
use bashful_dialect::visible;
use bashful_engine::{ByteSize, JobStore, Redactor, make_directory};
use bashful_sys::notify::{DirectoryWatch, pause_while_read};
use bashful_sys::plain;
use serde_json::Value;
use thiserror::Error;

use crate::cli::LogArgs;
use crate::color::{self, Paint};
use crate::exit::Exit;
use crate::print;
use crate::settings::Settings;
use crate::setup;
use crate::stores;
use crate::surroundings::Surroundings;

use savings::SavingsReport;

pub(crate) use file::{Log, log_problem};

/// Polling interval of `-f` where the system has no file watches left.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

#[derive(Debug, Error)]
enum LogError {
    #[error("cannot read the log in {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// Prints the log; with `-f` also new lines.
pub(crate) fn main(args: &LogArgs, config: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let path = file::path(&around).ok_or_else(|| around.state().no_place("logs"))?;
    let since = args.since.map(|span| SystemTime::now() - span);
    let mut printer = Printer::new(args, since);
    // The watch starts before reading, so that no line is missed.
    let happenings = args.follow.then(|| watch(&path)).flatten();
    // Invalid settings do not prevent reading the log.
    let ended = around.settings(config).ok().and_then(|(settings, _)| EndedJobs::new(&settings, &around));
    if let Some(ended) = &ended {
        ended.note();
    }
    printer.all(&file::before(&path))?;
    let mut reader = LogReader::new(&path);
    loop {
        let mut is_read = reader.each(|line| printer.line(line))? && printer.print_last();
        if !args.follow {
            break;
        }
        match &happenings {
            Some(happenings) => is_read = is_read && happenings.wait(printer.out.as_fd())?,
            None => is_read = is_read && pause_while_read(printer.out.as_fd(), LOOK_AGAIN),
        }
        if let Some(ended) = &ended {
            ended.note();
        }
        if !is_read {
            break;
        }
    }
    if let Some(savings) = &printer.savings {
        savings.print(args.json)?;
    } else if printer.printed == 0 && !args.json && !args.follow {
        let which = if args.failed || args.since.is_some() { "no such commands" } else { "no commands" };
        print::talk(&format!("[{which} in {}]", path.display()));
    }
    if printer.torn > 0 {
        print::talk(&format!("[cannot read {} of the log]", print::count(printer.torn, "line")));
    }
    if printer.newer > 0 {
        print::talk(&format!("[left out {}, written by a newer bashful]", print::count(printer.newer, "line")));
    }
    Ok(Exit::Code(0))
}

/// Logs the ends of jobs.
struct EndedJobs {
    log: Log,
    jobs: JobStore,
    redactor: Redactor,
}

impl EndedJobs {
    /// None without a log or a job store.
    fn new(settings: &Settings, around: &Surroundings) -> Option<Self> {
        let (jobs, redactor) = stores::jobs(settings, around).zip(setup::redactor(settings, around).ok())?;
        Some(Self { log: Log::new(settings, around, "job")?, jobs, redactor })
    }

    /// Logs the ends that are not logged yet.
    fn note(&self) {
        self.log.note_ended_jobs(&self.jobs, &self.redactor);
    }
}

/// Watches the directory of the log for new, growing and rotated files.
fn watch(path: &Path) -> Option<DirectoryWatch> {
    let directory = path.parent()?;
    make_directory(directory).ok()?;
    DirectoryWatch::within(directory).ok()
}

/// Prints the selected lines.
struct Printer<'a> {
    args: &'a LogArgs,
    since: Option<SystemTime>,
    out: io::StdoutLock<'static>,
    printed: usize,
    /// The last lines for `-n`, until the end is reached. None once they are printed.
    last: Option<VecDeque<String>>,
    /// Sums that are printed instead of lines.
    savings: Option<SavingsReport>,
    /// Lines that cannot be read.
    torn: usize,
    /// Lines of newer versions.
    newer: usize,
}

impl<'a> Printer<'a> {
    fn new(args: &'a LogArgs, since: Option<SystemTime>) -> Self {
        let last = args.last.map(|_| VecDeque::new());
        let savings = args.savings.then(SavingsReport::default);
        Self { args, since, out: io::stdout().lock(), printed: 0, last, savings, torn: 0, newer: 0 }
    }

    /// Prints the lines held back for `-n`. False if the reader has closed its end.
    fn print_last(&mut self) -> bool {
        self.last.take().into_iter().flatten().all(|text| self.print(&text))
    }

    fn print(&mut self, text: &str) -> bool {
        self.printed += 1;
        writeln!(self.out, "{text}").and_then(|()| self.out.flush()).is_ok()
    }

    fn all(&mut self, path: &Path) -> Result<bool, LogError> {
        LogReader::new(path).each(|line| self.line(line))
    }

    /// False if the reader has closed its end.
    fn line(&mut self, line: &str) -> bool {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            // A line cut by a full disk. An empty line is the newline that the next writer added.
            self.torn += usize::from(!line.is_empty());
            return true;
        };
        if entry["version"].as_u64().unwrap_or(0) > file::VERSION {
            self.newer += 1;
            return true;
        }
        if !self.wants(&entry) {
            return true;
        }
        if let Some(savings) = &mut self.savings {
            savings.add(&entry);
            return true;
        }
        let text = if self.args.json { line.to_owned() } else { describe(&entry) };
        let (Some(last), Some(most)) = (&mut self.last, self.args.last) else { return self.print(&text) };
        last.push_back(text);
        if last.len() > most {
            last.pop_front();
        }
        true
    }

    fn wants(&self, entry: &Value) -> bool {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(entry["unix_ms"].as_u64().unwrap_or_default());
        // A question is followed by a line with its answer.
        let went_well =
            entry["exit_code"] == 0 || matches!(entry["status"].as_str(), Some("running" | "asked" | "sent"));
        self.since.is_none_or(|since| time >= since) && !(self.args.failed && went_well)
    }
}

/// One command as a line of text, in local time.
fn describe(entry: &Value) -> String {
    let word = |key: &str| visible(entry[key].as_str().unwrap_or("?"));
    let time = time::local_text(Duration::from_millis(entry["unix_ms"].as_u64().unwrap_or_default()));
    let end = match (&entry["exit_code"], &entry["signal"], &entry["job"]) {
        (Value::Number(code), ..) => format!("{} {code}", word("status")),
        (_, Value::Number(signal), _) => format!("{} by signal {signal}", word("status")),
        (_, _, Value::Number(job)) => {
            let relation = match entry["status"].as_str() {
                Some("sent") => "to",
                Some("refused") => "for",
                _ => "as",
            };
            format!("{} {relation} job {job}", word("status"))
        }
        _ => word("status"),
    };
    let number = |key: &str| entry[key].as_u64().unwrap_or_default();
    let seconds = Duration::from_millis(number("duration_ms")).as_secs_f64();
    let command = one_line(&word("command"));
    let bytes = ByteSize(number("output_bytes"));
    let end = if color::on_stdout() { paint(entry).map_or_else(|| end.clone(), |paint| paint.on(&end)) } else { end };
    format!("{time} {} {end}, {seconds:.2}s, {bytes}: {command}", word("surface"))
}

/// The color for the end of a command; none while it runs.
fn paint(entry: &Value) -> Option<Paint> {
    match (entry["status"].as_str()?, entry["exit_code"].as_u64()) {
        ("running" | "asked" | "sent", _) => None,
        (_, Some(0)) => Some(Paint::Done),
        _ => Some(Paint::Failed),
    }
}

/// Reads new lines of the log at each call.
struct LogReader<'a> {
    path: &'a Path,
    open: Option<BufReader<File>>,
    line: Vec<u8>,
}

impl<'a> LogReader<'a> {
    fn new(path: &'a Path) -> Self {
        Self { path, open: None, line: Vec::new() }
    }

    /// Passes each new line to a function; false if that one wants no more.
    fn each(&mut self, mut wanted: impl FnMut(&str) -> bool) -> Result<bool, LogError> {
        let path = self.path;
        self.read(&mut wanted).map_err(|source| LogError::Unreadable { path: path.to_path_buf(), source })
    }

    fn read(&mut self, wanted: &mut impl FnMut(&str) -> bool) -> io::Result<bool> {
        loop {
            if self.open.is_none() {
                match plain::open(self.path) {
                    Ok(file) => self.open = Some(BufReader::new(file)),
                    // The log does not exist yet.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
                    Err(error) => return Err(error),
                }
            }
            let Some(open) = &mut self.open else { return Ok(true) };
            while open.read_until(b'\n', &mut self.line)? > 0 {
                if self.line.ends_with(b"\n") {
                    if !wanted(String::from_utf8_lossy(&self.line).trim_end()) {
                        return Ok(false);
                    }
                    self.line.clear();
                }
            }
            let read = open.get_ref().metadata()?;
            if self.path.metadata().is_ok_and(|there| (there.dev(), there.ino()) == (read.dev(), read.ino())) {
                return Ok(true);
            }
            // The log was rotated since the last read.
            self.open = None;
            self.line.clear();
            if !self.path.exists() {
                return Ok(true);
            }
        }
    }
}
