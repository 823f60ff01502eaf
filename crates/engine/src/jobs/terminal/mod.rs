//! The terminal of a job: its screen, typing into it, and waiting for something to appear.

mod attendant;
mod command;
mod sizes;
mod typed;
mod waiting;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bashful_keeper::protocol::{Order, Report};
use bashful_screen::{Screen, Snapshot, paste};
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use attendant::{Answering, Attendant};
pub use command::CommandAtPrompt;
use sizes::Sizes;
pub use typed::shell_at;
pub(crate) use typed::{RunLines, TypedLines};
pub use waiting::{ScreenUntil, WaitOver};

use super::control::ANSWER_PATIENCE;
use super::{ControlError, JobRecord, JobStore};
use crate::job_input::{CheckedInput, JobInput};
use crate::terminal::{CommandTerminal, InputWait, TerminalSize, TypeError};

/// The part of an older output that is drawn when somebody attends to a job.
const DRAWN_AT_FIRST: u64 = 1024 * 1024;

/// The terminal of a job, attended to by this program: its screen is kept up to date, and programs that ask their terminal
/// something are answered, unless another program does that already.
///
/// Dropping it ends the attendance and leaves the job alone.
#[derive(Debug)]
pub struct JobTerminal {
    store: Arc<JobStore>,
    id: u64,
    terminal: Option<CommandTerminal>,
    shared: Arc<Shared>,
    progress: watch::Receiver<Progress>,
    typed: Mutex<TypedLines>,
    /// Held while a command at the prompt is being stopped.
    stopping: Arc<tokio::sync::Mutex<()>>,
    /// The last time that something was typed.
    typed_at: Mutex<Option<Instant>>,
    attendant: JoinHandle<()>,
}

/// How far an attendant has come.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// The screen shows the output up to this offset.
    drawn_to: u64,
    last_output: Instant,
    /// The job has ended, and all of its output is drawn.
    is_over: bool,
}

/// The part of an attendance that its reader and its writer share.
#[derive(Debug)]
struct Shared {
    state: Mutex<Drawn>,
}

#[derive(Debug)]
struct Drawn {
    screen: Screen,
    /// Bytes that the screen was never given.
    skipped: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Drawn> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn screen(&self) -> ScreenGuard<'_> {
        ScreenGuard(self.lock())
    }

    fn add_skipped(&self, bytes: u64) {
        self.lock().skipped += bytes;
    }
}

struct ScreenGuard<'a>(MutexGuard<'a, Drawn>);

impl std::ops::Deref for ScreenGuard<'_> {
    type Target = Screen;

    fn deref(&self) -> &Screen {
        &self.0.screen
    }
}

impl std::ops::DerefMut for ScreenGuard<'_> {
    fn deref_mut(&mut self) -> &mut Screen {
        &mut self.0.screen
    }
}

/// The reason why a job's terminal cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TerminalError {
    /// The job cannot be reached.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The job was started without a terminal.
    #[error("job {id} has no terminal; read its output instead, or start it with a terminal")]
    NoTerminal {
        /// The number of the job.
        id: u64,
    },
    /// The input was not typed.
    #[error(transparent)]
    Type(#[from] TypeError),
}

impl JobStore {
    /// Attends to the terminal of a job. A job that has ended still has its last screen.
    ///
    /// Must be called within a tokio runtime.
    pub async fn terminal(self: &Arc<Self>, id: u64) -> Result<JobTerminal, TerminalError> {
        let job = self.get(id).map_err(ControlError::from)?;
        if !job.has_terminal {
            return Err(TerminalError::NoTerminal { id });
        }
        let answering = self.ask_terminal(&job).await?;
        let terminal = answering.as_ref().map(|answering| answering.terminal.clone());
        let mut follow = self.follow(id, 0)?.until(super::Until::Gone);
        let answering = answering.map(|answering| Answering { from: follow.length(), ..answering });
        follow.skip_to_newest(DRAWN_AT_FIRST);
        let sizes = Sizes::new(&self.path(id));
        let drawn = Drawn { screen: attendant::blank(&sizes, follow.offset()), skipped: follow.offset() };
        let shared = Arc::new(Shared { state: Mutex::new(drawn) });
        let start = Progress { drawn_to: follow.offset(), last_output: Instant::now(), is_over: false };
        let (tell, progress) = watch::channel(start);
        let attendant = Attendant::new(follow, sizes, Arc::clone(&shared), tell, answering);
        Ok(JobTerminal {
            store: Arc::clone(self),
            id,
            terminal,
            shared,
            progress,
            typed: Mutex::default(),
            stopping: Arc::default(),
            typed_at: Mutex::new(None),
            attendant: tokio::spawn(attendant.run()),
        })
    }

    /// The outside end of a job's terminal, with the connection that it came by. None if the job has ended.
    async fn ask_terminal(&self, job: &JobRecord) -> Result<Option<Answering>, ControlError> {
        let id = job.id;
        if !job.is_live() {
            return Ok(None);
        }
        let unreachable = |source| ControlError::Unreachable { id, source };
        let mut link = match self.connect(id) {
            Ok(link) => link,
            // It has just ended, or its keeper is gone.
            Err(_) if !self.get(id)?.is_live() => return Ok(None),
            Err(error) => return Err(unreachable(error)),
        };
        link.expect_descriptors();
        // A keeper that hangs up between the two is at its end, like one that hangs up instead of an answer.
        if link.send(&[&Order::AskTerminal { answers: true }], &[]).await.is_err() {
            return Ok(None);
        }
        for _ in 0..2 {
            match timeout(ANSWER_PATIENCE, link.next()).await {
                Ok(Ok(Report::Terminal { answers })) => {
                    let outside = link.take_descriptor();
                    let outside = outside.ok_or_else(|| unreachable(io::ErrorKind::InvalidData.into()))?;
                    let terminal = CommandTerminal::new(outside);
                    return Ok(Some(Answering { connection: Some(link), terminal, is_ours: answers, from: 0 }));
                }
                // The end of the job.
                Ok(Ok(_) | Err(_)) => return Ok(None),
                // Somebody has stopped the keeper.
                Err(_) => link.wake_peer().map_err(unreachable)?,
            }
        }
        Err(unreachable(io::ErrorKind::TimedOut.into()))
    }
}

impl JobTerminal {
    /// The number of the job.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The screen as it is drawn now. [`wait`](Self::wait) draws all that was written first.
    pub fn screen(&self) -> Snapshot {
        let drawn = self.shared.lock();
        let mut snapshot = drawn.screen.snapshot();
        snapshot.skipped_bytes += drawn.skipped;
        snapshot
    }

    /// The rows of the screen with colors, as escape sequences that the screen has made itself.
    pub fn colored_rows(&self) -> Vec<String> {
        let screen = self.shared.screen();
        (0..screen.size().rows()).map(|row| screen.row_styled(row)).collect()
    }

    /// Tells if a program waits for input. A job that has ended waits for nothing.
    pub fn input_wait(&self) -> InputWait {
        self.terminal.as_ref().map_or(InputWait::Busy, CommandTerminal::input_wait)
    }

    /// The terminal itself. None if the job has ended.
    pub fn terminal(&self) -> Option<&CommandTerminal> {
        self.terminal.as_ref()
    }

    /// True if the job has ended, and all of its output is drawn.
    pub fn is_over(&self) -> bool {
        self.progress.borrow().is_over
    }

    /// The record of the job.
    pub fn job(&self) -> Result<JobRecord, TerminalError> {
        Ok(self.store.get(self.id).map_err(ControlError::from)?)
    }

    /// Types a text, and then keys, and gives up after this time.
    ///
    /// The text is marked as pasted if the program asks for that and the text has several lines. Dropped halfway, some of the input has
    /// been typed.
    pub(crate) async fn type_input(&self, checked: &CheckedInput, at_most: Duration) -> Result<(), TerminalError> {
        let JobInput { text, keys, .. } = checked.input();
        let text = String::from_utf8_lossy(text);
        let Some(terminal) = &self.terminal else { return Err(ControlError::Ended { id: self.id }.into()) };
        let modes = self.shared.screen().modes();
        // Newlines at the end are Enter: a shell would not run a line that was pasted with its end.
        let lines = text.trim_end_matches('\n');
        let mut bytes = paste(lines, modes);
        bytes.extend(std::iter::repeat_n(b'\r', text.len() - lines.len()));
        bytes.extend(keys.encode(modes));
        let typed = terminal.type_bytes(&bytes, at_most).await;
        *self.typed_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        match typed {
            // The last program has closed the terminal.
            Err(_) if !self.job()?.is_live() => Err(ControlError::Ended { id: self.id }.into()),
            typed => Ok(typed?),
        }
    }

    /// Changes the size. The keeper writes it down, so that later readers draw the screen alike.
    pub async fn resize(&self, size: TerminalSize) -> Result<(), TerminalError> {
        let order = Order::Resize { columns: size.columns(), rows: size.rows() };
        self.store.send_order(self.id, &order).await?;
        // The keeper has written it down for others. A quiet program draws nothing that would tell this screen.
        self.shared.screen().resize(size);
        Ok(())
    }

    /// The lines that were typed at this terminal so far, by this program.
    pub(crate) fn typed_lines(&self) -> MutexGuard<'_, TypedLines> {
        self.typed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for JobTerminal {
    fn drop(&mut self) {
        self.attendant.abort();
    }
}
