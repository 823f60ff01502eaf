//! Reaching the keeper of a job: stopping it, waiting for it, giving it something to read.

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

/// Between two tries to reach a keeper that is about to begin or to end.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// Before one comes again whose connection was closed.
const COME_AGAIN: Duration = Duration::from_millis(200);

/// A keeper that has not answered by then has been stopped, and is woken.
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// Between two requests by signal.
const INSIST_AFTER: Duration = Duration::from_millis(100);

/// So long a job may take to read the next of what it is sent.
const INPUT_PATIENCE: Duration = Duration::from_secs(10);

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "it is gone")
}

/// How a job is to be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It is asked, and killed when its grace is over; asked twice, it is killed at once.
    Ask,
    /// Every process of it gets this signal, and nothing else happens.
    Signal(u8),
}

/// Why a job could not be told something.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// There is no such job.
    #[error(transparent)]
    Get(#[from] GetJobError),
    /// Nothing of it runs any more.
    #[error("job {id} has ended")]
    Ended {
        /// The number.
        id: u64,
    },
    /// Nobody watches over it: its keeper was killed.
    #[error("job {id} is lost: its keeper is gone, and nobody knows what became of it")]
    Lost {
        /// The number.
        id: u64,
    },
    /// Its keeper is of a version that does not know the order. Every version can be stopped.
    #[error(
        "the keeper of job {id} is of a newer bashful (protocol version {protocol}, this one speaks up to {}) and does not understand that; use the newer bashful, or stop the job with: bashful jobs kill {id}",
        protocol::VERSION
    )]
    OtherVersion {
        /// The number.
        id: u64,
        /// The newest version that the keeper speaks.
        protocol: u32,
    },
    /// Its keeper does not answer.
    #[error("cannot reach the keeper of job {id}")]
    Unreachable {
        /// The number.
        id: u64,
        /// Why not.
        source: io::Error,
    },
}

/// Why something could not be sent to a job's standard input.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SendError {
    /// It cannot be told anything.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// It has no standard input.
    #[error("job {id} was started without an open standard input")]
    NoInput {
        /// The number.
        id: u64,
    },
    /// It does not read.
    #[error("job {id} does not read its standard input: {taken} of {bytes} bytes were taken")]
    NotRead {
        /// The number.
        id: u64,
        /// So much was sent.
        bytes: usize,
        /// So much of it fits.
        taken: usize,
    },
    /// The system did not let us.
    #[error("cannot write to the standard input of job {id}")]
    Io {
        /// The number.
        id: u64,
        /// Why not.
        source: io::Error,
    },
}

impl JobStore {
    /// Asks for a job's end, or sends it a signal. Returns when its keeper has been told, which is not yet the end.
    pub async fn stop(&self, id: u64, how: Stop) -> Result<(), ControlError> {
        let order = match how {
            Stop::Ask => Order::Stop(StopReason::Cancelled),
            Stop::Signal(number) => Order::Signal(number),
        };
        self.tell(id, &order).await
    }

    /// Waits for a job to be over: the end of its shell. A dropped future changes nothing.
    pub async fn wait(&self, id: u64) -> Result<JobRecord, ControlError> {
        self.until(id, JobRecord::is_over).await
    }

    /// Waits until nothing of a job runs any more, what its shell has left behind included. A dropped future changes
    /// nothing. The end of a job whose record was removed while it ran is [`GetJobError::Removed`].
    pub async fn wait_until_gone(&self, id: u64) -> Result<JobRecord, ControlError> {
        // Its keeper writes down the end first, and lets go a moment later.
        self.until(id, |job| !job.is_live() && !self.lives(id)).await
    }

    async fn until(&self, id: u64, enough: impl Fn(&JobRecord) -> bool) -> Result<JobRecord, ControlError> {
        loop {
            let job = self.get(id)?;
            if enough(&job) {
                return Ok(job);
            }
            let Ok(mut link) = self.listen(id) else {
                // It is about to begin or to end, and the next look will tell.
                sleep(TRY_AGAIN).await;
                continue;
            };
            // Asked again, because it may have got there before we were heard.
            let job = self.get(id)?;
            if enough(&job) {
                return Ok(job);
            }
            // Whatever it says, and its silence too, is a reason to look at the record.
            while let Ok(report) = link.next().await {
                if matches!(report, Report::Ended { .. }) && enough(&self.get(id)?) {
                    break;
                }
            }
            if !enough(&self.get(id)?) {
                // It had to make room for others.
                sleep(COME_AGAIN).await;
            }
        }
    }

    /// Writes to a job's standard input. Dropped halfway, some of it has been written.
    pub async fn send(&self, id: u64, bytes: &[u8]) -> Result<(), SendError> {
        let job = self.get_live(id)?;
        if !job.takes_input {
            return Err(SendError::NoInput { id });
        }
        let failed = |source: io::Error| match source.raw_os_error().map(Errno::from_raw_os_error) {
            // Nobody is left who could read.
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

    /// Lets a job find the end of its standard input, once it has read what was sent.
    pub async fn close_input(&self, id: u64) -> Result<(), SendError> {
        if !self.get_live(id)?.takes_input {
            return Err(SendError::NoInput { id });
        }
        Ok(self.tell(id, &Order::CloseInput).await?)
    }

    pub(super) async fn tell(&self, id: u64, order: &Order) -> Result<(), ControlError> {
        let unreachable = |source| ControlError::Unreachable { id, source };
        self.get_live(id)?;
        let give_up = Instant::now() + Duration::from_secs(2);
        loop {
            match self.connect(id) {
                Ok(link) => return self.tell_and_wait(id, link, order).await,
                Err(error) if Instant::now() > give_up => {
                    return if self.signal_keeper(id, order).await { Ok(()) } else { Err(unreachable(error)) };
                }
                // It may just have ended, and then the record says so.
                Err(_) => drop(self.get_live(id)?),
            }
            sleep(TRY_AGAIN).await;
        }
    }

    /// Stops a job whose socket is gone, by a signal to its keeper; whether that could be done. The keeper's id is not a
    /// stranger's: the lock on the file it is written in shows that the keeper lives.
    async fn signal_keeper(&self, id: u64, order: &Order) -> bool {
        let Some(keeper) = self.keeper(id) else { return false };
        let ask = || pidfd::send_to(&keeper, &[Signal::TERM, Signal::CONT]).is_ok();
        match order {
            Order::Stop(_) => ask(),
            // The second request kills at once. Without the pause the two would arrive as one.
            Order::Signal(number) if i32::from(*number) == Signal::KILL.as_raw() => {
                let asked = ask();
                sleep(INSIST_AFTER).await;
                ask();
                asked
            }
            _ => false,
        }
    }

    /// Sends an order and waits until it was heard. A keeper that was stopped, by its own job perhaps, is woken.
    async fn tell_and_wait(&self, id: u64, mut link: Connection, order: &Order) -> Result<(), ControlError> {
        let unreachable = |source| ControlError::Unreachable { id, source };
        link.send(&[order], &[]).await.map_err(unreachable)?;
        for _ in 0..2 {
            match timeout(ANSWER_PATIENCE, link.next()).await {
                Ok(Ok(Report::NotUnderstood)) => {
                    let protocol = link.foreign_version().unwrap_or_default();
                    return Err(ControlError::OtherVersion { id, protocol });
                }
                Ok(Ok(_)) => return Ok(()),
                // It may have ended with the job, and then there is nothing left to tell.
                Ok(Err(_)) => return if self.get(id)?.is_live() { Err(unreachable(gone())) } else { Ok(()) },
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

    /// A connection to the keeper of a job, for orders.
    pub(super) fn connect(&self, id: u64) -> io::Result<Connection> {
        let path = self.path(id);
        Connection::connect(&path, read_protocol(&path.join(protocol::STATUS)))
    }

    /// A connection to the keeper of a job that only tells of its end.
    pub(super) fn listen(&self, id: u64) -> io::Result<Connection> {
        let mut connection = self.connect(id)?;
        connection.greet()?;
        Ok(connection)
    }
}
