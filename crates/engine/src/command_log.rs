//! The log record of every command: its script and its fate.
//!
//! A cancelled call is just dropped, so `Drop` writes the record, however the command ended.

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

/// Longest script in a record. Nobody reads a script of megabytes.
const LONGEST_TEXT: ByteSize = ByteSize::kib(8);

/// Receives one record for each command: when it has ended, has become a job, or was not run. Must be quick.
pub trait CommandLog: std::fmt::Debug + Send + Sync {
    /// Writes one record. Called once for each command.
    fn record(&self, record: &CommandRecord);

    /// A notice about the log itself for the next reply. Asked before each command, so it must be quick.
    fn notice(&self) -> Option<String> {
        None
    }
}

/// A command and its fate.
#[derive(Debug, Clone)]
pub struct CommandRecord {
    /// Command as the caller gave it.
    pub given: CommandText,
    /// Command as it ran; none if the engine did not rewrite it.
    pub rewritten: Option<CommandText>,
    /// End of the command, or the reason why it was not run.
    pub fate: Fate,
    /// Time from the start to the end, or to the moment when it became a job.
    pub elapsed: Duration,
    /// Bytes written to both streams.
    pub output_bytes: u64,
    /// Id of the job that the command, or its leftover processes, became.
    pub job: Option<u64>,
    /// Savings by condensing; none if the output was shown as it was written.
    pub savings: Option<Savings>,
}

/// Sizes of a condensed output in its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Savings {
    /// Names of the filters.
    pub filters: Vec<String>,
    /// Families of the filters.
    pub families: Vec<String>,
    /// Bytes that the reply would have shown without condensing. Limits on the reply count.
    pub before: u64,
    /// Bytes that it showed, with the lines about what is missing.
    pub after: u64,
}

impl Savings {
    fn of(output: &Output) -> Option<Self> {
        let condensed = output.condensed.as_ref()?;
        let lines = output.condensed_lines().unwrap_or_default();
        Some(Self {
            filters: condensed.filters.clone(),
            families: condensed.families.clone(),
            before: condensed.shown_otherwise,
            after: output.clip.text_bytes() + lines.len() as u64,
        })
    }
}

/// End of a command, or the reason why it was not run.
#[derive(Debug, Clone)]
pub enum Fate {
    /// The caller went away or cancelled before the command had ended.
    Cancelled,
    /// The guard refused it, and nobody approved it.
    Refused(Box<Refusal>),
    /// The interceptor named a better tool.
    Intercepted,
    /// The command could not be started.
    NotStarted,
    /// The command continues as a job, or in a terminal of the client.
    InBackground,
    /// The command has ended.
    Ended(End),
    /// The command was a job whose keeper is gone.
    Lost,
    /// The command was typed at a shell that is a job. The shell does not tell how it ended.
    Sent,
}

/// Script and directory of a command, redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandText {
    /// The script, or its beginning. Control characters stay: a carriage return may hide a part of the command from a
    /// reader, but not from the log.
    pub script: Redacted,
    /// Working directory that was asked for.
    pub directory: Redacted,
}

impl CommandText {
    /// Redacts a script and its directory.
    pub fn new(redactor: &Redactor, script: &[u8], directory: &Path) -> Self {
        let directory = redactor.redact(directory.to_string_lossy());
        // Redacted before the cut, so that no value is cut in two.
        let script = redactor.redact(String::from_utf8_lossy(script)).truncated(LONGEST_TEXT);
        Self { script, directory }
    }
}

impl CommandRecord {
    /// True unless the guard or the interceptor kept the command from running.
    pub fn is_allowed(&self) -> bool {
        !matches!(self.fate, Fate::Refused(_) | Fate::Intercepted)
    }

    /// True if the user's answer comes with the next call of the command.
    pub fn is_asked_later(&self) -> bool {
        matches!(&self.fate, Fate::Refused(refusal) if refusal.approval == Approval::Later)
    }
}

/// A record on its way to its log. Dropping it writes the record.
#[derive(Debug)]
pub(crate) struct LogEntry {
    record: CommandRecord,
    /// Start of the call, as time since boot.
    began: Duration,
    /// Counts the output while the command runs.
    written: Option<Written>,
    log: Arc<dyn CommandLog>,
}

impl LogEntry {
    /// Begins an entry. The command counts as cancelled until more is known.
    pub(crate) fn new(log: &Arc<dyn CommandLog>, plan: &Plan, redactor: &Redactor) -> Self {
        let text = |script: &Script, directory| CommandText::new(redactor, script.as_bytes(), directory);
        let mut entry = Self::unplanned(log, text(plan.given_script(), plan.given_directory()));
        entry.record.rewritten = plan.given.as_ref().map(|_| text(&plan.script, &plan.directory));
        entry
    }

    /// Begins an entry for a command without a plan.
    pub(crate) fn unplanned(log: &Arc<dyn CommandLog>, given: CommandText) -> Self {
        let record = CommandRecord {
            given,
            rewritten: None,
            fate: Fate::Cancelled,
            elapsed: Duration::ZERO,
            output_bytes: 0,
            job: None,
            savings: None,
        };
        Self { record, began: boot_time(), written: None, log: Arc::clone(log) }
    }

    /// Notes that the command has started, and the counter of its output.
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

    /// Notes input that a job runs.
    pub(crate) fn for_job(mut self, id: u64, fate: Fate) {
        (self.record.job, self.record.fate) = (Some(id), fate);
    }

    pub(crate) fn ended(&mut self, outcome: &Outcome) {
        self.record.fate = Fate::Ended(outcome.end);
        self.record.elapsed = outcome.elapsed;
        self.record.output_bytes = bytes(&outcome.output, outcome.stderr.as_ref());
        self.record.job = outcome.leftover.as_ref().and_then(|left| left.job);
        self.record.savings = outcome.condensed_output().and_then(Savings::of);
    }

    /// Notes that the command continues as a job, and its output so far.
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
