//! Input for running jobs: text for a standard input, text and keys for a terminal.
//!
//! A job that is a shell runs its input, so it goes the way of a command: the guard judges it, and the log gets a record.
//!
//! Invariant: nothing reaches a job's input without a [`CheckedInput`], and only the check makes one.

#[cfg(feature = "screens")]
mod typing;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bashful_guard::{Guard, Prelude, Verdict};
use bashful_screen::Keys;
use bashful_sys::plain;
use thiserror::Error;

use crate::check::{Approval, Judge, Refusal, prelude_in, reason};
use crate::command_log::{CommandLog, CommandText, Fate, LogEntry};
#[cfg(feature = "screens")]
use crate::jobs::TerminalError;
use crate::jobs::{ControlError, JobRecord, JobStore, SendError};
use crate::redact::Redactor;
use crate::request::{GivenCommand, Script};

/// Input for a running job. Nothing is added to it: a line ends only with its own newline, or an `Enter` key.
#[derive(Debug, Clone, Default)]
pub struct JobInput {
    /// Text to send or to type.
    pub text: Vec<u8>,
    /// Keys to press after it, at a terminal.
    pub keys: Keys,
    /// Closes a standard input afterwards: the job reads end of file.
    pub end: bool,
}

/// Input that may be sent. The fields are private, so there is no way around the check.
#[derive(Debug)]
pub(crate) struct CheckedInput(JobInput);

impl CheckedInput {
    /// The input.
    pub(crate) fn input(&self) -> &JobInput {
        &self.0
    }
}

/// Error: input that did not reach its job.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JobInputError {
    /// Keys for a job without a terminal.
    #[error("job {id} has no terminal, so no key can be pressed; start it with `pty`, or send text alone")]
    NoTerminal {
        /// Id of the job.
        id: u64,
    },
    /// The end of the input, for a job with a terminal.
    #[error("job {id} has a terminal, whose input has no end; press C-d instead")]
    EndAtTerminal {
        /// Id of the job.
        id: u64,
    },
    /// A shell would run the input, and the guard refuses it.
    #[error("nothing was sent to job {id}: {}", reason(verdict))]
    Refused {
        /// Id of the job.
        id: u64,
        /// Findings of the guard.
        verdict: Verdict,
    },
    /// A shell would run a line that only the shell knows.
    #[error(
        "nothing was sent to job {id}: the guard cannot see a line that was edited with keys, completed, taken from the history or begun by another program; press C-c, then send the whole line as input"
    )]
    UnknownLine {
        /// Id of the job.
        id: u64,
    },
    /// The text could not be written to the standard input.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The text could not be typed at the terminal.
    #[cfg(feature = "screens")]
    #[error(transparent)]
    Terminal(#[from] TerminalError),
}

impl From<ControlError> for JobInputError {
    fn from(error: ControlError) -> Self {
        Self::Send(error.into())
    }
}

/// Sends input to the jobs of a store.
#[derive(Debug, Clone)]
pub struct JobInputs {
    /// The jobs.
    pub store: Arc<JobStore>,
    /// Judges lines that a shell would run; none for a person, who may type anything.
    pub judge: Option<Judge>,
    /// Gets a record of lines that a shell runs.
    pub log: Option<Arc<dyn CommandLog>>,
    /// Redacts them in that record.
    pub redactor: Redactor,
}

/// Lines that a shell would run, and the place where it would.
#[derive(Clone, Copy)]
struct ShellInput<'a> {
    lines: &'a str,
    directory: &'a Path,
}

/// Earlier input of a job that is judged with the next.
const REMEMBERED: u64 = 64 * 1024;

impl JobInputs {
    /// Sends input to a job: to its terminal, where it gives up after `at_most`, or to its standard input. No user is asked about a
    /// refusal: approvals are for whole commands. Dropped halfway, some of the input may have arrived.
    pub async fn send(&self, id: u64, input: JobInput, at_most: Duration) -> Result<(), JobInputError> {
        let job = self.store.get(id).map_err(ControlError::from)?;
        #[cfg(feature = "screens")]
        if job.has_terminal {
            return self.type_at(&self.store.terminal(id).await?, input, at_most).await;
        }
        let _ = at_most;
        let (checked, run) = self.check_stdin(&job, input).await?;
        self.store.send(id, &checked).await?;
        if let Some(lines) = run {
            self.record(&job, ShellInput { lines: &lines, directory: &job.directory }, Fate::Sent);
        }
        Ok(())
    }

    /// Judges text for a standard input. Lines continue each other, so text for a shell is judged behind the text before it, too.
    /// Returns the lines that a shell runs as well.
    async fn check_stdin(
        &self,
        job: &JobRecord,
        input: JobInput,
    ) -> Result<(CheckedInput, Option<String>), JobInputError> {
        if !input.keys.0.is_empty() {
            return Err(JobInputError::NoTerminal { id: job.id });
        }
        let text = String::from_utf8_lossy(&input.text).into_owned();
        if text.is_empty() || !runs_input(job) {
            return Ok((CheckedInput(input), None));
        }
        let history = self.store.typed_file(job.id);
        let before = read_tail(&history);
        self.judge_input(job, &before, &text).await?;
        // The lines are judged one by one where the rest cannot be kept.
        let _ = append(&history, self.redactor.redact(text.as_str()).as_str().as_bytes());
        Ok((CheckedInput(input), Some(text)))
    }

    /// Judges text for the input of the job's script: alone, and behind the text before it.
    async fn judge_input(&self, job: &JobRecord, before: &str, text: &str) -> Result<(), JobInputError> {
        let Some(judge) = &self.judge else { return Ok(()) };
        let mut views = vec![(String::new(), text.to_owned())];
        if !before.is_empty() {
            views.push((before.to_owned(), format!("{before}{text}")));
        }
        for (known, whole) in views {
            let verdict = verdict_on_input(judge, job, known, whole).await;
            self.refuse_unless_allowed(job, ShellInput { lines: text, directory: &job.directory }, verdict)?;
        }
        Ok(())
    }

    fn refuse_unless_allowed(
        &self,
        job: &JobRecord,
        input: ShellInput<'_>,
        verdict: Verdict,
    ) -> Result<(), JobInputError> {
        if !verdict.refuses() {
            return Ok(());
        }
        if let Ok(script) = Script::new(input.lines) {
            let refusal = Refusal {
                reason: reason(&verdict),
                verdict: verdict.clone(),
                given: GivenCommand::new(script, input.directory.to_path_buf()),
                approval: Approval::NotAsked,
                redactor: self.redactor.clone(),
            };
            self.record(job, input, Fate::Refused(Box::new(refusal)));
        }
        Err(JobInputError::Refused { id: job.id, verdict })
    }

    fn record(&self, job: &JobRecord, input: ShellInput<'_>, fate: Fate) {
        if let Some(log) = &self.log {
            let text = CommandText::new(&self.redactor, input.lines.trim_end().as_bytes(), input.directory);
            LogEntry::unplanned(log, text).for_job(job.id, fate);
        }
    }
}

/// Findings about text on the standard input of a job's script: those that it has with the whole text, and not with the known
/// part of it.
async fn verdict_on_input(judge: &Judge, job: &JobRecord, known: String, whole: String) -> Verdict {
    let has_history = !known.is_empty();
    let with = |text: String| {
        let prelude = Prelude { input: Some(text), ..prelude_in(&job.directory) };
        judge.verdict_in(job.script.clone(), prelude)
    };
    let mut known = with(known).await.findings;
    let mut verdict = with(whole).await;
    verdict.findings.retain(|finding| {
        // Alone the text was not too complex, and a job that has been sent much must not be cut off from its input.
        if has_history && finding.rule == "guard/too-complex" {
            return false;
        }
        let same = known.iter().position(|known| (&known.rule, &known.span) == (&finding.rule, &finding.span));
        same.map(|at| known.swap_remove(at)).is_none()
    });
    verdict
}

/// True if a job's script runs its standard input, as a shell does and `cat` does not.
fn runs_input(job: &JobRecord) -> bool {
    let guard = Guard::default();
    let findings = |text: &str| {
        let prelude = Prelude { input: Some(text.to_owned()), ..prelude_in(&job.directory) };
        guard.judge(&job.script, &prelude).findings.len()
    };
    findings("rm -rf /\n") > findings("")
}

/// The last part of a file, as text; empty if there is none.
fn read_tail(path: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = plain::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(REMEMBERED)))?;
        let mut bytes = Vec::new();
        file.take(REMEMBERED).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    plain::open_with(File::options().append(true).create(true), path)?.write_all(bytes)
}
