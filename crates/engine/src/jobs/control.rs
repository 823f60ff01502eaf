//! Controls jobs through their keepers: stops them, waits for them, writes to their standard input.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use bashful_keeper::StopReason;
use bashful_keeper::protocol::{self, Order, Report};
use bashful_sys::pidfd;
use bashful_sys::signal::Signal;
use rustix::fs::OFlags;
use rustix::io::Errno;
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout};

use super::record::read_protocol;
use super::store::{GetJobError, JobStore};
use super::{JobRecord, JobState};
use crate::connection::Connection;
use crate::job_input::{CheckedInput, JobInput};

/// Pause between two attempts to reach a keeper that is about to begin or to end.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// Pause before the next connection to a keeper that closed the last one.
const RECONNECT_AFTER: Duration = Duration::from_millis(200);

/// A keeper that has not answered by then has been stopped, and is woken.
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// Pause between two signals to a keeper without a socket.
const INSIST_AFTER: Duration = Duration::from_millis(100);

/// Time for a job to read the next bytes of its input.
const INPUT_PATIENCE: Duration = Duration::from_secs(10);

fn keeper_gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "it is gone")
}

/// Way to stop a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// `SIGTERM`, then `SIGKILL` after the grace. A second request kills the job at once.
    Ask,
    /// This signal to every process of the job, and nothing else.
    Signal(u8),
}

/// A connection on which a job depends; see [`JobStore::tie`].
#[derive(Debug)]
pub struct JobTie(#[expect(dead_code, reason = "it is only held")] Connection);

/// Error: an order that did not reach a job.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// There is no such job.
    #[error(transparent)]
    Get(#[from] GetJobError),
    /// No process of the job is left.
    #[error("job {id} has ended")]
    Ended {
        /// Id of the job.
        id: u64,
    },
    /// The keeper was killed, so nobody supervises the job.
    #[error("job {id} is lost: its keeper was killed, and nobody recorded how the job ended")]
    Lost {
        /// Id of the job.
        id: u64,
    },
    /// The keeper's version does not know the order. A stop works with every version.
    #[error(
        "the keeper of job {id} is of a newer bashful (protocol version {protocol}, this one speaks up to {}) and does not understand that; use the newer bashful, or stop the job with: bashful jobs kill {id}",
        protocol::VERSION
    )]
    OtherVersion {
        /// Id of the job.
        id: u64,
        /// Newest protocol version that the keeper speaks.
        protocol: u32,
    },
    /// The keeper does not answer.
    #[error("cannot reach the keeper of job {id}")]
    Unreachable {
        /// Id of the job.
        id: u64,
        /// Error of the connection.
        source: io::Error,
    },
}

/// Error: bytes that could not be sent to a job's standard input.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// The order did not reach the job.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The job has no open standard input.
    #[error("job {id} was started without an open standard input")]
    NoInput {
        /// Id of the job.
        id: u64,
    },
    /// The job does not read its standard input.
    #[error("job {id} does not read its standard input: {taken} of {bytes} bytes were written")]
    NotRead {
        /// Id of the job.
        id: u64,
        /// Number of bytes to send.
        bytes: usize,
        /// Number of bytes that fit into the pipe.
        taken: usize,
    },
    /// The system refused to open or write the pipe.
    #[error("cannot write to the standard input of job {id}")]
    Io {
        /// Id of the job.
        id: u64,
        /// Error of the system.
        source: io::Error,
    },
}

impl JobStore {
    /// Stops a job, or sends it a signal. Returns once its keeper has the order, which is not yet the end.
    pub async fn stop(&self, id: u64, how: Stop) -> Result<(), ControlError> {
        let order = match how {
            Stop::Ask => Order::Stop(StopReason::Cancelled),
            Stop::Signal(number) => Order::Signal(number),
        };
        self.send_order(id, &order).await
    }

    /// Makes a job depend on this program, which stops it by dropping the tie, or by its own end.
    pub async fn tie(&self, id: u64) -> Result<JobTie, ControlError> {
        self.get_live(id)?;
        let mut link = self.connect(id).map_err(|source| ControlError::Unreachable { id, source })?;
        self.await_answer(id, &mut link, &Order::EndWithClient).await?;
        Ok(JobTie(link))
    }

    /// Waits until a job is over, which is the end of its shell. A dropped future changes nothing.
    pub async fn wait(&self, id: u64) -> Result<JobRecord, ControlError> {
        self.until(id, JobRecord::is_over).await
    }

    /// Waits until no process of a job is left, leftover processes included. A dropped future changes nothing. A job
    /// whose record was removed while it ran ends as [`GetJobError::Removed`].
    pub async fn wait_until_gone(&self, id: u64) -> Result<JobRecord, ControlError> {
        // A keeper writes the end first, and releases its lock a moment later.
        self.until(id, |job| !job.is_live() && !self.lives(id)).await
    }

    async fn until(&self, id: u64, enough: impl Fn(&JobRecord) -> bool) -> Result<JobRecord, ControlError> {
        loop {
            let job = self.get(id)?;
            if enough(&job) {
                return Ok(job);
            }
            let Ok(mut link) = self.listen(id) else {
                // The keeper is about to begin or to end; the next round shows which.
                sleep(TRY_AGAIN).await;
                continue;
            };
            // Checked again: the job may have ended before the keeper had our connection.
            let job = self.get(id)?;
            if enough(&job) {
                return Ok(job);
            }
            // Every report, and the end of the connection, is a reason to read the record.
            while let Ok(report) = link.next().await {
                if matches!(report, Report::Ended { .. }) && enough(&self.get(id)?) {
                    break;
                }
            }
            if !enough(&self.get(id)?) {
                // The keeper made room for other clients.
                sleep(RECONNECT_AFTER).await;
            }
        }
    }

    /// Writes to a job's standard input, and closes it if the input says so. A dropped future may have written a part.
    pub(crate) async fn send(&self, id: u64, checked: &CheckedInput) -> Result<(), SendError> {
        let JobInput { text, end, .. } = checked.input();
        if !self.get_live(id)?.takes_input {
            return Err(SendError::NoInput { id });
        }
        if !text.is_empty() {
            self.write_input(id, text).await?;
        }
        if *end { Ok(self.send_order(id, &Order::CloseInput).await?) } else { Ok(()) }
    }

    async fn write_input(&self, id: u64, bytes: &[u8]) -> Result<(), SendError> {
        let failed = |source: io::Error| match source.raw_os_error().map(Errno::from_raw_os_error) {
            // Every reader is gone.
            Some(Errno::NXIO | Errno::PIPE) => ControlError::Ended { id }.into(),
            _ => SendError::Io { id, source },
        };
        let path = self.path(id).join(protocol::INPUT);
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let mut input = File::options().write(true).custom_flags(flags).open(path).map_err(failed)?;
        let mut give_up = Instant::now() + INPUT_PATIENCE;
        let mut taken = 0;
        while taken < bytes.len() {
            match input.write(&bytes[taken..]) {
                Ok(count) => {
                    taken += count;
                    give_up = Instant::now() + INPUT_PATIENCE;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < give_up => {
                    sleep(TRY_AGAIN).await;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(SendError::NotRead { id, bytes: bytes.len(), taken });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }

    pub(super) async fn send_order(&self, id: u64, order: &Order) -> Result<(), ControlError> {
        let unreachable = |source| ControlError::Unreachable { id, source };
        self.get_live(id)?;
        let give_up = Instant::now() + Duration::from_secs(2);
        loop {
            match self.connect(id) {
                Ok(mut link) => return self.await_answer(id, &mut link, order).await,
                Err(error) if Instant::now() > give_up => {
                    return if self.signal_keeper(id, order).await { Ok(()) } else { Err(unreachable(error)) };
                }
                // The job may just have ended, and then its record says so.
                Err(_) => drop(self.get_live(id)?),
            }
            sleep(TRY_AGAIN).await;
        }
    }

    /// Stops a job without a socket, by a signal to its keeper. False if that is impossible. The process id is not a
    /// stranger's: the locked file that contains it shows that the keeper lives.
    async fn signal_keeper(&self, id: u64, order: &Order) -> bool {
        let Some(keeper) = self.keeper(id) else { return false };
        let ask = || pidfd::send_to(&keeper, &[Signal::TERM, Signal::CONT]).is_ok();
        match order {
            Order::Stop(_) => ask(),
            // The second request kills at once. Without the pause, the two signals would arrive as one.
            Order::Signal(number) if i32::from(*number) == Signal::KILL.as_raw() => {
                let asked = ask();
                sleep(INSIST_AFTER).await;
                ask();
                asked
            }
            _ => false,
        }
    }

    /// Sends an order, and waits until the keeper has read it. A keeper that was stopped, perhaps by its own job, is
    /// woken.
    async fn await_answer(&self, id: u64, link: &mut Connection, order: &Order) -> Result<(), ControlError> {
        let unreachable = |source| ControlError::Unreachable { id, source };
        link.send(&[order], &[]).await.map_err(unreachable)?;
        for _ in 0..2 {
            match timeout(ANSWER_PATIENCE, link.next()).await {
                Ok(Ok(Report::NotUnderstood)) => {
                    let protocol = link.foreign_version().unwrap_or_default();
                    return Err(ControlError::OtherVersion { id, protocol });
                }
                Ok(Ok(_)) => return Ok(()),
                // The keeper may have ended with the job, and then the order has no purpose any more.
                Ok(Err(_)) => return if self.get(id)?.is_live() { Err(unreachable(keeper_gone())) } else { Ok(()) },
                Err(_) => link.wake_peer().map_err(unreachable)?,
            }
        }
        Err(ControlError::Unreachable { id, source: io::ErrorKind::TimedOut.into() })
    }

    fn get_live(&self, id: u64) -> Result<JobRecord, ControlError> {
        let job = self.get(id)?;
        match job.state {
            JobState::Running | JobState::Left { .. } | JobState::Newer { lives: true, .. } => Ok(job),
            JobState::Ended(_) | JobState::Newer { lives: false, .. } => Err(ControlError::Ended { id }),
            JobState::Lost => Err(ControlError::Lost { id }),
        }
    }

    /// Connects to the keeper of a job, for orders.
    pub(super) fn connect(&self, id: u64) -> io::Result<Connection> {
        let path = self.path(id);
        Connection::connect(&path, read_protocol(&path.join(protocol::STATUS)))
    }

    /// Connects to the keeper of a job, only to learn of its end.
    pub(super) fn listen(&self, id: u64) -> io::Result<Connection> {
        let mut connection = self.connect(id)?;
        connection.greet()?;
        Ok(connection)
    }
}
