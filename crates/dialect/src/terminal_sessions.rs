//! Sessions with a terminal: a shell at a terminal, found again by its name.
//!
//! The shell is a job like any other at a terminal, so the `job` tool shows its screen, types to the programs in it, and ends it. A
//! command of the session is typed at the prompt, and the reply shows the screen as soon as something waits for input again.
//! Unlike other jobs, the shell ends with the toolbox, and a command ends with its call if that is cancelled.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bashful_engine::{JobStore, JobTie, Request, Script, SessionName};

use crate::arguments::{ArgumentError, JobsCall};
use crate::terminal_calls::{TerminalOptions, TerminalUntil};

/// A command for a session with a terminal.
#[derive(Debug)]
pub(crate) struct TerminalSessionCall {
    pub(crate) name: SessionName,
    /// The text to type.
    pub(crate) command: String,
    /// Starts the shell, if there is none of this name.
    pub(crate) start: Request,
    /// Longest wait for the screen.
    pub(crate) at_most: Duration,
    pub(crate) notices: Vec<String>,
}

impl TerminalSessionCall {
    /// Makes the call from a request that has everything but the script of the shell.
    pub(crate) fn new(
        name: SessionName,
        command: String,
        request: Request,
        at_most: Duration,
        notices: Vec<String>,
    ) -> Result<Self, ArgumentError> {
        // The name has no newline, so it stays within the comment.
        let script = Script::new(format!("{SHELL} # session {name}"))?;
        Ok(Self { name, command, start: Request { script, session: None, ..request }, at_most, notices })
    }

    /// The call that types the command at the terminal of this job.
    pub(crate) fn typing(&self, id: u64) -> JobsCall {
        let text = format!("{}\n", self.command.trim_end_matches('\n'));
        let until = Some(TerminalUntil::Input);
        let terminal = TerminalOptions { until, ..TerminalOptions::default() };
        JobsCall::Send { id, text, at_most: Some(self.at_most), terminal }
    }
}

/// Becomes the shell of a session. The prompt shows the exit code of the last command. History is neither kept nor expanded.
const SHELL: &str = r#"HISTFILE= PS1='exit $? \w\$ ' exec "$BASH" --noprofile --norc +H -i"#;

/// The shells of a toolbox that have a terminal.
#[derive(Debug, Default)]
pub(crate) struct TerminalSessions {
    /// The ids of their jobs, by owner and name. A job ends with its tie.
    jobs: Mutex<HashMap<(String, SessionName), (u64, JobTie)>>,
}

impl TerminalSessions {
    /// The job of a session; none if it has none, or one that has ended.
    pub(crate) fn find(&self, owner: &str, name: &SessionName, store: &JobStore) -> Option<u64> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.retain(|_, (id, _)| store.get(*id).is_ok_and(|job| job.is_live()));
        jobs.get(&(owner.to_owned(), name.clone())).map(|(id, _)| *id)
    }

    pub(crate) fn add(&self, owner: String, name: SessionName, id: u64, tie: JobTie) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).insert((owner, name), (id, tie));
    }
}

/// The error for a session whose shell is not at its prompt.
pub(crate) fn busy(name: &SessionName, id: u64) -> String {
    format!(
        "session {:?} is busy with another program; nothing was typed. \
         Use it with the job tool, id {id}: show, send, or keys like C-c",
        name.as_str()
    )
}
