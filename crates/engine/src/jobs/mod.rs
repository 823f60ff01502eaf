//! Jobs: commands that outlive the call that started them, and the program too.
//!
//! A directory for each, named by its number, that any number of programs may look at:
//!
//! ```text
//! 7/job.json      what was asked for; written once, by the engine
//! 7/output        everything that was written, raw
//! 7/status.json   what became of it; written by its keeper alone, by renaming
//! 7/control       the keeper's socket
//! 7/input         the pipe that is its standard input, if it was started with one
//! 7/sizes         the sizes of its terminal, if it has one; written by its keeper
//! live/7          locked as long as somebody watches over it
//! next            the number to come, and when the next sweep is due
//! ```
//!
//! Nothing here goes by process ids: whether a job lives is a question of a lock, and who wants it stopped tells its
//! keeper. So an id that was used again can never hit a stranger.

mod control;
mod follow;
mod record;
mod store;
mod sweep;
mod terminal;
mod text;

pub use control::{ControlError, SendError, Stop};
pub use follow::{Follow, Followed, Until};
pub use record::{JobKind, JobRecord, JobState, NotAJob, job_id};
pub use store::{CreateJobError, GetJobError, JobLimits, JobStore, ListJobsError, RemoveJobError, TooManyJobs};
pub use terminal::{JobTerminal, ScreenUntil, TerminalError, TypedLines, WaitOver, shell_at};
pub use text::{JobText, Part};

pub(crate) use record::{STDERR, StderrFile};
pub use store::NewJob;
pub(crate) use store::{NewJobRecord, Room};
