//! Commands that a person types, marked with `!` in an agent's input, or sent by a host program on the person's behalf.
//!
//! Such a command is meant as it stands: nothing of it is rewritten, no other tool is proposed, and it gets no terminal.
//! The prefix and the snapshot of the settings apply, and the guard judges it. The answer is data, not text for a model.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bashful_engine::{
    Approver, BadSessionName, CallTurn, Caller, Cancellation, Clip, End, Exit, Finished, Lifetime, Live, Output,
    OutputListener, PlanError, Redactor, Reply, Request, RunError, Script, ScriptError, SessionName, StopReason,
    error_chain,
};
use bashful_render::visible_lines;
use serde::Serialize;
use thiserror::Error;
use tokio::sync::watch;

use crate::approval::{NoApprover, refusal_text};
use crate::pi;
use crate::text::{self, Reader};
use crate::toolbox::{OWN_SHELL, Toolbox};

/// The shell of a caller that names none.
const USUAL_SHELL: &str = "shell";

/// The caller of a person's command.
#[derive(Default)]
pub struct BangCaller {
    /// Name of the person's shell; one for all callers if it is empty. Commands of one name share directory, variables and
    /// functions. A command that finds the shell busy gets a new one, in the same directory.
    pub key: String,
    /// Directory to change to first; none to stay where the shell is.
    pub workdir: Option<PathBuf>,
    /// Directory in which a new shell starts; the engine's own if none. A shell that runs already stays where it is.
    pub starts_in: Option<PathBuf>,
    /// Variables for this command alone.
    pub env: Vec<(String, OsString)>,
    /// Time after which the command is stopped; the engine's own if none.
    pub lifetime: Option<Lifetime>,
    /// Decides about a command that needs approval.
    pub approver: Option<Arc<dyn Approver>>,
    /// Signals that the caller cancels and wants the output so far. A caller that wants nothing drops the future.
    pub cancellation: Option<Cancellation>,
    /// Gets the whole output, live.
    pub listener: Option<OutputListener>,
    /// Gets the newest output while the command runs, at most every 50 ms.
    pub progress: Option<watch::Sender<Live>>,
    /// Turn of the call among those for the same shell: taken where the call was read, if it runs on a task of its own.
    pub turn: Option<CallTurn>,
}

impl std::fmt::Debug for BangCaller {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("BangCaller").field("key", &self.key).finish_non_exhaustive()
    }
}

/// The result of a person's command. Sizes are those of the cleaned text. If it was condensed, the totals are those of the
/// whole output, and `output_lines` and `output_bytes` count in the condensed text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BashResult {
    /// The shown output, after a line about a timeout or a cancellation.
    pub output: String,
    /// Exit code as shells report it: a signal is 128 and its number. None for a command that was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// True if the command was stopped, by its caller or because its time was up.
    pub cancelled: bool,
    /// True if its time was up.
    pub timed_out: bool,
    /// True if a limit cut the shown text.
    pub truncated: bool,
    /// Number of all lines.
    pub total_lines: u64,
    /// Size of the whole text, in bytes.
    pub total_bytes: u64,
    /// Number of lines that are shown.
    pub output_lines: u64,
    /// Bytes that are shown.
    pub output_bytes: u64,
    /// Id of the artifact with the whole output. A notice tells what it lacks, if the disk was full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<String>,
    /// Directory of the shell after the command.
    pub working_dir: String,
    /// Time from the start to the end, in milliseconds.
    pub wall_time_ms: u64,
    /// Facts that the caller should know: changed bytes, processes left running, a shell that was lost.
    pub notices: Vec<String>,
}

/// Error: a person's command that did not run, or whose end is unknown.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BangError {
    /// The text cannot be a script.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The key cannot be the name of a shell.
    #[error(transparent)]
    Key(#[from] BadSessionName),
    /// The guard refused the command.
    #[error("{0}")]
    Refused(String),
    /// The directory cannot be used.
    #[error("{0}")]
    Directory(String),
    /// The name or the value of a variable is invalid.
    #[error("{0}")]
    Variable(String),
    /// The engine failed.
    #[error("{0}")]
    Failed(String),
}

/// The shells of persons, by key.
#[derive(Debug, Clone, Default)]
pub(crate) struct BangShells(Arc<Mutex<HashMap<String, BangShell>>>);

/// A person's shell, as its last command left it.
#[derive(Debug, Default)]
struct BangShell {
    is_busy: bool,
    directory: Option<PathBuf>,
}

/// Marks a shell as busy, until dropped.
struct BusyShell {
    key: String,
    shells: BangShells,
}

impl BangShells {
    fn locked(&self) -> MutexGuard<'_, HashMap<String, BangShell>> {
        // Every change of the map is a single step, so a panic elsewhere leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the shell of this key. The error is the directory of a shell that is busy.
    fn take(&self, key: &str) -> Result<BusyShell, Option<PathBuf>> {
        let mut shells = self.locked();
        let shell = shells.entry(key.to_owned()).or_default();
        if shell.is_busy {
            return Err(shell.directory.clone());
        }
        shell.is_busy = true;
        Ok(BusyShell { key: key.to_owned(), shells: self.clone() })
    }

    /// Directory in which the last command left the shell of this key.
    fn directory(&self, key: &str) -> Option<PathBuf> {
        self.locked().get(key)?.directory.clone()
    }
}

impl BusyShell {
    fn moved_to(&self, directory: Option<PathBuf>) {
        if let Some(shell) = self.shells.locked().get_mut(&self.key) {
            shell.directory = directory;
        }
    }
}

impl Drop for BusyShell {
    fn drop(&mut self) {
        if let Some(shell) = self.shells.locked().get_mut(&self.key) {
            shell.is_busy = false;
        }
    }
}

impl Toolbox {
    /// Runs a command that a person typed, as it stands. Dropping the future stops the command.
    ///
    /// ```standalone_crate
    /// # use bashful_dialect::{BangCaller, Dialect, Limits, Toolbox};
    /// # use bashful_engine::{Engine, Options};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # bashful_engine::keeper_main();
    /// let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()))?;
    /// let toolbox = Toolbox::new(engine, Dialect::PI, Limits::default(), "/".as_ref());
    /// let result = toolbox.bang("echo hello; exit 3", BangCaller::default()).await?;
    /// assert_eq!((result.output.as_str(), result.exit_code), ("hello\n", Some(3)));
    /// assert_eq!(result.working_dir, "/");
    /// # Ok(()) }
    /// ```
    pub async fn bang(&self, command: &str, caller: BangCaller) -> Result<BashResult, BangError> {
        let mut request = Request::new(Script::new(command)?);
        (request.workdir, request.env, request.lifetime) = (caller.workdir, caller.env, caller.lifetime);
        request.starts_in.clone_from(&caller.starts_in);
        let mut notices = Vec::new();
        let shell = self.bang_shell(&caller.key, &mut request, &mut notices)?;
        let engine_caller = Caller {
            is_person: true,
            approver: Some(caller.approver.unwrap_or_else(|| Arc::new(NoApprover))),
            log: self.log.clone(),
            progress: caller.progress,
            listener: caller.listener,
            cancellation: caller.cancellation,
            turn: caller.turn,
            ..Caller::default()
        };
        let (engine, more) = self.latest_engine();
        notices.extend(more);
        let replied = Box::pin(engine.call(request, engine_caller)).await;
        match replied.map_err(|error| self.failed(&error))? {
            Reply::Finished(finished) => {
                let session = finished.outcome.session.as_ref();
                if let Some(shell) = shell {
                    shell.moved_to(session.and_then(|session| session.now_in.clone()));
                }
                Ok(result(&finished, notices))
            }
            Reply::Refused(refusal) => Err(BangError::Refused(visible_lines(&refusal_text(&refusal)))),
            Reply::Intercepted(better) => Err(BangError::Refused(better.text.into_string())),
            Reply::Background(job) => Err(BangError::Failed(format!("it became job {}", job.job.id))),
            Reply::Cancelled => {
                let directory = self.bang_shells.directory(&caller.key).or(caller.starts_in);
                let directory = directory.unwrap_or_else(|| self.directory.clone());
                Ok(cancelled_early(directory.display().to_string(), notices))
            }
        }
    }

    /// The shell that stays, for a command of this key; none if the command has one of its own, which a notice tells.
    fn bang_shell(
        &self,
        key: &str,
        request: &mut Request,
        notices: &mut Vec<String>,
    ) -> Result<Option<BusyShell>, BangError> {
        let Some(store) = self.engine().sessions() else { return Ok(None) };
        let shell = match self.bang_shells.take(key) {
            Ok(shell) => shell,
            Err(directory) => {
                notices.push(OWN_SHELL.to_owned());
                request.workdir = request.workdir.take().or(directory);
                return Ok(None);
            }
        };
        // A shell that has run a command is there already.
        if self.bang_shells.directory(key).is_none()
            && let Err(error) = store.check_writable()
        {
            let place = store.directory().display();
            notices
                .push(format!("ran in a shell of its own, since no shell can stay: cannot write to {place}: {error}"));
            return Ok(None);
        }
        request.session = Some(person_session(key)?);
        request.env_apart = true;
        Ok(Some(shell))
    }

    /// Ends the shell of this key, with everything that runs in it, and waits until nothing of it is left. Dropping the
    /// future changes nothing about that once the shell has been told.
    pub async fn end_bang(&self, key: &str) -> Result<(), BangError> {
        let Some(store) = self.engine().sessions() else { return Ok(()) };
        let failed = |error: &(dyn std::error::Error + 'static)| BangError::Failed(error_chain(error));
        let name = person_session(key)?;
        let own = store.list_own().await.map_err(|error| failed(&error))?;
        for entry in own.iter().filter(|entry| entry.name == name.as_str()) {
            store.end_one(entry).await.map_err(|error| failed(&error))?;
        }
        self.bang_shells.locked().remove(key);
        Ok(())
    }

    fn failed(&self, error: &RunError) -> BangError {
        use PlanError::{Directory, Env, NoDirectory, NoEntry, NotADirectory};

        let text = self.engine().redactor().redact(error_chain(error)).into_string();
        match error {
            RunError::Plan(NoDirectory { .. } | NotADirectory { .. } | NoEntry { .. } | Directory { .. }) => {
                BangError::Directory(text)
            }
            RunError::Plan(Env(_)) => BangError::Variable(text),
            _ => BangError::Failed(text),
        }
    }
}

fn person_session(key: &str) -> Result<SessionName, BadSessionName> {
    SessionName::of_person(if key.is_empty() { USUAL_SHELL } else { key })
}

fn result(finished: &Finished, mut notices: Vec<String>) -> BashResult {
    let outcome = &finished.outcome;
    let output = &outcome.output;
    notices.extend(finished.notices.iter().map(|notice| notice.as_str().to_owned()));
    notices.extend(text::session_notices(outcome));
    notices.extend(text::withheld_notice(outcome));
    notices.extend(text::output_notices(output));
    notices.extend(text::not_saved_notice(output));
    notices.extend(outcome.leftover.as_ref().map(|left| text::leftover(left, Reader::Program)));
    let truncation = output.truncation();
    let (output_lines, output_bytes) = truncation
        .as_ref()
        .map_or((output.text_lines(), output.whole_text_bytes()), |cut| (cut.output_lines, cut.output_bytes));
    let is_stopped = matches!(outcome.end, End::Stopped { why, .. } if why != StopReason::Mute);
    let session = outcome.session.as_ref();
    let directory = session.and_then(|session| session.now_in.as_ref()).unwrap_or(&finished.directory);
    BashResult {
        output: format!("{}{}", first_line(outcome.end, finished.lifetime), shown(output)),
        exit_code: match outcome.end {
            End::Own(Exit::Code(code)) => Some(code.into()),
            End::Own(Exit::Signal(number)) => Some(128 + i64::from(number)),
            End::Stopped { .. } | End::Lost => None,
        },
        cancelled: is_stopped,
        timed_out: matches!(outcome.end, End::Stopped { why: StopReason::TimeUp, .. }),
        truncated: truncation.is_some(),
        total_lines: output.lines,
        total_bytes: output.text_bytes,
        output_lines,
        output_bytes,
        artifact_id: output.artifact.as_ref().map(|artifact| artifact.id.to_string()),
        working_dir: directory.display().to_string(),
        wall_time_ms: milliseconds(outcome.elapsed),
        notices: redacted(notices, &finished.redactor),
    }
}

/// The result of a command that was cancelled before it had started.
fn cancelled_early(working_dir: String, notices: Vec<String>) -> BashResult {
    BashResult {
        output: format!("{}\n", pi::CANCELLED),
        exit_code: None,
        cancelled: true,
        timed_out: false,
        truncated: false,
        total_lines: 0,
        total_bytes: 0,
        output_lines: 0,
        output_bytes: 0,
        artifact_id: None,
        working_dir,
        wall_time_ms: 0,
        notices,
    }
}

fn redacted(notices: Vec<String>, redactor: &Redactor) -> Vec<String> {
    notices.into_iter().map(|notice| redactor.redact(notice).into_string()).collect()
}

/// The line about a command that was stopped or lost, with its newline; empty for one that ended by itself.
fn first_line(end: End, lifetime: Lifetime) -> String {
    match end {
        End::Own(_) => String::new(),
        End::Stopped { why: StopReason::TimeUp, .. } => format!("{}\n", pi::timeout_text(lifetime)),
        End::Lost | End::Stopped { why: StopReason::Mute, .. } => format!("[{}]\n", text::LOST),
        End::Stopped { .. } => format!("{}\n", pi::CANCELLED),
    }
}

/// The shown part. A line stands for an omitted middle; an omitted beginning is told by the sizes alone.
fn shown(output: &Output) -> String {
    match &output.clip {
        Clip::Cut { head, tail, .. } if head.range.is_empty() => {
            let mut text = String::from_utf8_lossy(&tail.bytes).into_owned();
            if let Some(lines) = output.condensed_lines() {
                text::add_line(&mut text, &format!("{lines}\n"));
            }
            text
        }
        Clip::Cut { .. } | Clip::Whole(_) => output.text(),
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
