//! The output of a job as it grows, and word of its end.

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

/// What is read at once.
const PIECE: usize = 64 * 1024;

/// How often one looks where nobody tells that a file grows.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// What comes next of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// It has written this.
    Output {
        /// Where in its output this stands, in bytes from its beginning.
        offset: u64,
        /// Raw bytes.
        bytes: Vec<u8>,
    },
    /// This part of its output is not there any more.
    Missing(Gap),
    /// It is over, and all that it wrote has been told.
    Over(Box<JobRecord>),
}

/// Follows a job. Reading never takes anything away: any number may follow the same one.
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

/// How long a job is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Until its shell has ended, or what a shell that had ended has left.
    Over,
    /// Until nothing of it runs any more that could write.
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
    /// Follows it for so long.
    #[must_use]
    pub fn until(mut self, until: Until) -> Self {
        self.until = until;
        self
    }

    /// How far it has been read.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Passes over all but the newest bytes. One of them is enough for who only wants to know that there are any.
    pub fn skip_to_newest(&mut self, bytes: u64) {
        let length = self.file.metadata().map_or(0, |metadata| metadata.len());
        self.offset = self.offset.max(length.saturating_sub(bytes));
    }

    /// What comes next. May be dropped and called again without losing anything; after the end it is told again.
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
                // What was written between the last read and the end is still to come.
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
                // It may have ended before it could hear of us.
                return;
            }
        }
        let gone = tokio::select! {
            () = grown(self.growth.as_ref()) => false,
            gone = ended(self.link.as_mut()) => gone,
        };
        if gone {
            self.link = None;
        }
    }

    fn read(&mut self) -> io::Result<Option<Followed>> {
        let mut bytes = vec![0; PIECE];
        let count = self.file.read_at(&mut bytes, self.offset)?;
        if count == 0 {
            return Ok(None);
        }
        let offset = self.offset;
        let end = offset + count as u64;
        // Asked after reading: what was taken away meanwhile has been written down before.
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

async fn grown(growth: Option<&AsyncFd<OwnedFd>>) {
    match growth {
        Some(queue) => told(queue).await,
        None => sleep(LOOK_AGAIN).await,
    }
}

/// Waits until a queue has something to tell, and forgets what that was.
async fn told(queue: &AsyncFd<OwnedFd>) {
    if let Ok(mut ready) = queue.readable().await {
        notify::drain(queue.get_ref().as_fd());
        ready.clear_ready();
    }
}

/// Waits for word of the end; whether the keeper is gone.
async fn ended(link: Option<&mut Connection>) -> bool {
    if let Some(link) = link {
        return !matches!(link.next().await, Ok(Report::Ended { .. }));
    }
    sleep(LOOK_AGAIN).await;
    true
}
