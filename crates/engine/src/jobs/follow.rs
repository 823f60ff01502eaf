//! Follows the output of a job as it grows, up to its end.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use bashful_keeper::gaps::{self, Gap};
use bashful_keeper::protocol::Report;
use bashful_sys::notify::{self, FileWatch};
use bashful_sys::plain;
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

use super::control::ControlError;
use super::{JobRecord, JobStore};
use crate::connection::Connection;

/// Bytes read at once.
const READ_AT_ONCE: usize = 64 * 1024;

/// Pause between two reads of a file without an inotify watch.
const POLL_PAUSE: Duration = Duration::from_millis(200);

/// The next step of a job that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// Output that the job has written since.
    Output {
        /// Offset in the output, in bytes from its beginning.
        offset: u64,
        /// Raw bytes as the job wrote them.
        bytes: Vec<u8>,
    },
    /// This part of the output has been removed.
    Missing(Gap),
    /// The job is over, and all of its output was returned.
    Over(Box<JobRecord>),
}

/// Follows the output of a job. Reading removes nothing, so any number of callers may follow the same job.
#[derive(Debug)]
pub struct Follow {
    store: Arc<JobStore>,
    id: u64,
    file: File,
    path: std::path::PathBuf,
    offset: u64,
    growth: Option<AsyncFd<OwnedFd>>,
    link: Option<Connection>,
    until: Until,
    over: Option<Box<JobRecord>>,
}

/// Event that ends the following.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Until the shell has ended, or the leftover processes that are the job.
    Over,
    /// Until no process of the job is left that could write.
    Gone,
}

impl JobStore {
    /// Follows a job's output from this offset on.
    pub fn follow(self: &Arc<Self>, id: u64, offset: u64) -> Result<Follow, ControlError> {
        let job = self.get(id)?;
        let unreadable = |source| {
            let path = job.output_file.clone();
            ControlError::Get(super::GetJobError::Unreadable { id, path, source })
        };
        let file = plain::open(&job.output_file).map_err(unreadable)?;
        let growth =
            FileWatch::of(&job.output_file).and_then(|growth| bashful_sys::event::readable(growth.into_queue()));
        Ok(Follow {
            store: Arc::clone(self),
            id,
            file,
            path: job.output_file.clone(),
            offset,
            growth: growth.ok(),
            link: None,
            until: Until::Over,
            over: None,
        })
    }
}

impl Follow {
    /// Sets the end of following.
    #[must_use]
    pub fn until(mut self, until: Until) -> Self {
        self.until = until;
        self
    }

    /// The length of the output now, in bytes.
    pub fn length(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Offset of the next byte to read.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Skips all but the newest bytes. One byte is enough for a caller that only wants to know about new output.
    pub fn skip_to_newest(&mut self, bytes: u64) {
        self.offset = self.offset.max(self.length().saturating_sub(bytes));
    }

    /// Returns the next step. The future may be dropped and requested again without loss. After the end, it returns the
    /// end again.
    pub async fn next(&mut self) -> Result<Followed, ControlError> {
        loop {
            if let Some(followed) = self.read().map_err(|source| self.unreadable(source))? {
                return Ok(followed);
            }
            if let Some(job) = &self.over {
                return Ok(Followed::Over(job.clone()));
            }
            let job = self.store.get(self.id)?;
            let enough = match self.until {
                Until::Over => job.is_over(),
                Until::Gone => !job.is_live(),
            };
            if enough {
                // Output written between the last read and the end is still to come.
                self.over = Some(Box::new(job));
                continue;
            }
            self.wait().await;
        }
    }

    /// Waits until there may be news.
    async fn wait(&mut self) {
        if self.link.is_none() {
            self.link = self.store.listen(self.id).ok();
            if self.link.is_some() {
                // The job may have ended before the keeper had our connection.
                return;
            }
        }
        let gone = tokio::select! {
            () = wait_for_growth(self.growth.as_ref()) => false,
            gone = wait_for_end(self.link.as_mut()) => gone,
        };
        if gone {
            self.link = None;
        }
    }

    fn read(&mut self) -> io::Result<Option<Followed>> {
        let mut bytes = vec![0; READ_AT_ONCE];
        let count = self.file.read_at(&mut bytes, self.offset)?;
        if count == 0 {
            return Ok(None);
        }
        let offset = self.offset;
        let end = offset + count as u64;
        // Checked after reading: a gap is recorded before its bytes are removed.
        let gap =
            gaps::load(&self.path).into_iter().find(|missing| missing.range.start < end && missing.range.end > offset);
        let count = match gap {
            Some(missing) if missing.range.start <= offset => {
                self.offset = missing.range.end;
                return Ok(Some(Followed::Missing(missing)));
            }
            Some(missing) => usize::try_from(missing.range.start - offset).unwrap_or(count).min(count),
            None => count,
        };
        bytes.truncate(count);
        self.offset += count as u64;
        Ok(Some(Followed::Output { offset, bytes }))
    }

    fn unreadable(&self, source: io::Error) -> ControlError {
        ControlError::Get(super::GetJobError::Unreadable { id: self.id, path: self.path.clone(), source })
    }
}

async fn wait_for_growth(growth: Option<&AsyncFd<OwnedFd>>) {
    match growth {
        Some(queue) => drain_events(queue).await,
        None => sleep(POLL_PAUSE).await,
    }
}

/// Waits until an inotify queue has events, and empties it.
async fn drain_events(queue: &AsyncFd<OwnedFd>) {
    if let Ok(mut ready) = queue.readable().await {
        notify::drain(queue.get_ref().as_fd());
        ready.clear_ready();
    }
}

/// Waits for the end of the job. True if the keeper is gone.
async fn wait_for_end(link: Option<&mut Connection>) -> bool {
    if let Some(link) = link {
        return !matches!(link.next().await, Ok(Report::Ended { .. }));
    }
    sleep(POLL_PAUSE).await;
    true
}
