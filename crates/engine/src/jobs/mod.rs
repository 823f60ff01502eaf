//! Jobs: commands that outlive the call that started them, and the program too.
//!
//! Each job has a directory named by its id, which any number of programs may read:
//!
//! ```text
//! 7/job.json      the request; written once, by the engine
//! 7/output        the whole output, raw
//! 7/status.json   the state; written by its keeper alone, by renaming
//! 7/control       the keeper's socket
//! 7/input         the named pipe for its standard input, if it was started with one
//! 7/sizes         the sizes of its terminal, if it has one; written by its keeper
//! live/7          locked as long as its keeper lives
//! next            the next id, and when the next sweep is due
//! ```
//!
//! Nothing here relies on process ids. A lock shows that a job lives, and a stop goes through its keeper. So a process
//! id that was used again can never hit a stranger.

mod control;
mod follow;
mod record;
mod store;
mod sweep;
#[cfg(feature = "screens")]
mod terminal;
mod text;

pub use control::{ControlError, JobTie, SendError, Stop};
pub use follow::{Follow, Followed, Until};
pub use record::{JobKind, JobRecord, JobState, NotAJob, job_id};
pub use store::{CreateJobError, GetJobError, JobLimits, JobStore, ListJobsError, RemoveJobError, TooManyJobs};
#[cfg(feature = "screens")]
pub(crate) use terminal::RunLines;
#[cfg(feature = "screens")]
pub use terminal::{CommandAtPrompt, JobTerminal, ScreenUntil, TerminalError, WaitOver, shell_at};
pub use text::{JobText, Part};

pub(crate) use record::{STDERR, StderrFile};
pub use store::NewJob;
pub(crate) use store::{LimitCheck, NewJobRecord};
