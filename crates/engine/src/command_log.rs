//! The record of every command, for a log: what was asked for, and what became of it.
//!
//! A call that is cancelled is just dropped, so the record is handed over by `Drop`, whatever has become of the command.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bashful_keeper::End;
use bashful_sys::boot_time;

use crate::check::{Approval, Refusal};
use crate::jobs::JobRecord;
use crate::outcome::{Outcome, Output};
use crate::plan::Plan;
use crate::redact::{Redacted, Redactor};
use crate::request::Script;
use crate::running::Written;
use crate::units::ByteSize;

/// Bytes of a command that a record holds. A script of megabytes is no reading matter.
const LONGEST_TEXT: ByteSize = ByteSize::kib(8);

/// Receives the record of each command once, when the command has ended, became a job, or was not run. Must not take long.
pub trait CommandLog: std::fmt::Debug + Send + Sync {
    /// Writes one record.
    fn record(&self, record: &CommandRecord);
}

/// One command and what became of it.
#[derive(Debug, Clone)]
pub struct CommandRecord {
    /// The command as the caller gave it.
    pub given: CommandText,
    /// The command as it ran, if the engine rewrote it.
    pub rewritten: Option<CommandText>,
    /// The end of the command, or the reason why it was not run.
    pub fate: Fate,
    /// From its start to its end, or to the moment when it became a job.
    pub elapsed: Duration,
    /// Bytes written to both streams.
    pub output_bytes: u64,
    /// The job that the command, or what it left running, has become.
    pub job: Option<u64>,
}

/// The end of a command, or the reason why it was not run.
#[derive(Debug, Clone)]
pub enum Fate {
    /// The caller went away or cancelled before the command had ended.
    Cancelled,
    /// The guard refused it and nobody approved it.
    Refused(Box<Refusal>),
    /// The interceptor named a better tool.
    Intercepted,
    /// It could not be started.
    NotStarted,
    /// It goes on as a job.
    InBackground,
    /// It ended like this.
    Ended(End),
    /// It was a job whose keeper is gone.
    Lost,
}

/// The text of a command and its directory, redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandText {
    /// The script, or its beginning. Control characters stay: a carriage return that hides a part of the command from a
    /// reader must not hide it from the log.
    pub script: Redacted,
    /// Where it was to run.
    pub directory: Redacted,
}

impl CommandText {
    /// Redacts a script and its directory.
    pub fn new(redactor: &Redactor, script: &[u8], directory: &Path) -> Self {
        let directory = redactor.redact(directory.to_string_lossy());
        // Redacted before it is cut, so that no value is cut in two.
        let script = redactor.redact(String::from_utf8_lossy(script)).truncated(LONGEST_TEXT);
        Self { script, directory }
    }
}

impl CommandRecord {
    /// True unless somebody or something kept the command from being run.
    pub fn is_allowed(&self) -> bool {
        !matches!(self.fate, Fate::Refused(_) | Fate::Intercepted)
    }

    /// True if the command waits for an answer that comes with its next call.
    pub fn is_asked_later(&self) -> bool {
        matches!(&self.fate, Fate::Refused(refusal) if refusal.approval == Approval::Later)
    }
}

/// A record on its way to its log. Dropping it writes the record.
#[derive(Debug)]
pub(crate) struct LogEntry {
    record: CommandRecord,
    /// Since the machine was started.
    began: Duration,
    /// Counts what the command writes while it runs.
    written: Option<Written>,
    log: Arc<dyn CommandLog>,
}

impl LogEntry {
    /// An entry for a command that counts as cancelled until more is known.
    pub(crate) fn new(log: &Arc<dyn CommandLog>, plan: &Plan, redactor: &Redactor) -> Self {
        let text = |script: &Script, directory| CommandText::new(redactor, script.as_bytes(), directory);
        let mut entry = Self::unplanned(log, text(plan.given_script(), plan.given_directory()));
        entry.record.rewritten = plan.given.as_ref().map(|_| text(&plan.script, &plan.directory));
        entry
    }

    /// The same for a command that has no plan.
    pub(crate) fn unplanned(log: &Arc<dyn CommandLog>, given: CommandText) -> Self {
        let record = CommandRecord {
            given,
            rewritten: None,
            fate: Fate::Cancelled,
            elapsed: Duration::ZERO,
            output_bytes: 0,
            job: None,
        };
        Self { record, began: boot_time(), written: None, log: Arc::clone(log) }
    }

    /// The command has started, and counts what it writes.
    pub(crate) fn started(&mut self, written: Written) {
        self.written = Some(written);
    }

    pub(crate) fn refused(&mut self, refusal: &Refusal) {
        self.record.fate = Fate::Refused(Box::new(refusal.clone()));
    }

    pub(crate) fn intercepted(&mut self) {
        self.record.fate = Fate::Intercepted;
    }

    pub(crate) fn not_started(&mut self) {
        self.record.fate = Fate::NotStarted;
    }

    pub(crate) fn ended(&mut self, outcome: &Outcome) {
        self.record.fate = Fate::Ended(outcome.end);
        self.record.elapsed = outcome.elapsed;
        self.record.output_bytes = bytes(&outcome.output, outcome.stderr.as_ref());
        self.record.job = outcome.leftover.as_ref().and_then(|left| left.job);
    }

    /// The command goes on as a job, and had written these outputs by then.
    pub(crate) fn became_job(&mut self, job: &JobRecord, output: Option<&Output>, stderr: Option<&Output>) {
        self.record.fate = Fate::InBackground;
        self.record.elapsed = job.elapsed;
        self.record.output_bytes = output.map_or(0, |output| bytes(output, stderr));
        self.record.job = Some(job.id);
    }
}

fn bytes(output: &Output, stderr: Option<&Output>) -> u64 {
    output.bytes + stderr.map_or(0, |stderr| stderr.bytes)
}

impl Drop for LogEntry {
    fn drop(&mut self) {
        if matches!(self.record.fate, Fate::Cancelled) {
            self.record.elapsed = boot_time().saturating_sub(self.began);
            self.record.output_bytes = self.written.as_ref().map_or(0, Written::bytes);
        }
        self.log.record(&self.record);
    }
}
