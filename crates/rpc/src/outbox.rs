//! Frames to the host, written by a task of their own in the order in which they were accepted.
//!
//! Invariant: at most [`WAITING`] events wait here. Who sends an event waits for room, and nobody else: output of its command
//! is then left out of the events where the engine keeps it, and no other command notices. Responses wait for nothing: each
//! request has one, and what has been answered is written to its end.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinHandle;

use crate::calls::Flow;
use crate::wire::{Event, RequestId};

/// Most events that wait for a slow reader.
const WAITING: usize = 16;

/// Small frames are joined up to this size in bytes, so that many of them take one write.
const JOINED: usize = 64 * 1024;

/// Bytes written at once, so that a slow reader can be told from one that does not read.
const PIECE: usize = 64 * 1024;

/// The host hung up, so nobody reads what is sent.
#[derive(Debug)]
pub(crate) struct HungUp;

/// A line for the host, and the place that it takes while it waits.
type Frame = (Vec<u8>, Option<OwnedSemaphorePermit>);

/// The sending end. Clones send to the same host.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    frames: mpsc::UnboundedSender<Frame>,
    /// The places of events.
    room: Arc<Semaphore>,
    patience: HostPatience,
}

/// Time in which the host has to take a piece; none while the service runs.
#[derive(Debug, Clone)]
pub(crate) struct HostPatience(Arc<watch::Sender<Option<Duration>>>);

impl HostPatience {
    /// Sets the time, unless a shorter one is set.
    pub(crate) fn limit_to(&self, patience: Duration) {
        self.0.send_modify(|limit| *limit = Some(limit.map_or(patience, |limit| limit.min(patience))));
    }
}

impl Outbox {
    /// Starts the writing task, which ends when all senders are dropped and all frames are written, the host hangs up or has
    /// used up the patience, or writing fails. The end of the task closes the channel, which ends the service.
    pub(crate) fn new(output: impl AsyncWrite + Send + Unpin + 'static) -> (Self, JoinHandle<io::Result<()>>) {
        let (send, frames) = mpsc::unbounded_channel();
        let (patience, limit) = watch::channel(None);
        let writing = tokio::spawn(async move {
            // Hanging up is no fault of anybody.
            let written = write(frames, output, limit).await;
            written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
        });
        (
            Self { frames: send, room: Arc::new(Semaphore::new(WAITING)), patience: HostPatience(Arc::new(patience)) },
            writing,
        )
    }

    /// The time in which the host has to take what is sent.
    pub(crate) fn patience(&self) -> HostPatience {
        self.patience.clone()
    }

    /// Sends a response, or a question and its end, of which each request has one at a time.
    pub(crate) fn send(&self, frame: &impl Serialize) -> Result<(), HungUp> {
        self.frames.send((line(frame), None)).map_err(|_| HungUp)
    }

    /// Waits for the place of an event.
    async fn room(&self) -> Result<OwnedSemaphorePermit, HungUp> {
        tokio::select! {
            () = self.hung_up() => Err(HungUp),
            room = Arc::clone(&self.room).acquire_owned() => room.map_err(|_| HungUp),
        }
    }

    /// Resolves when the host has hung up.
    pub(crate) async fn hung_up(&self) {
        self.frames.closed().await;
    }
}

async fn write(
    mut frames: mpsc::UnboundedReceiver<Frame>,
    mut output: impl AsyncWrite + Unpin,
    mut limit: watch::Receiver<Option<Duration>>,
) -> io::Result<()> {
    while let Some((mut frame, room)) = frames.recv().await {
        // Other events may wait while these are written.
        drop(room);
        while frame.len() < JOINED
            && let Ok((next, _)) = frames.try_recv()
        {
            frame.extend_from_slice(&next);
        }
        for piece in frame.chunks(PIECE) {
            let written = async {
                output.write_all(piece).await?;
                output.flush().await
            };
            tokio::select! {
                // First: this task may have waited for longer than the host.
                biased;
                written = written => written?,
                () = used_up(&mut limit) => return Ok(()),
            }
        }
    }
    output.shutdown().await
}

/// Waits until there is a limit, and for so long.
async fn used_up(limit: &mut watch::Receiver<Option<Duration>>) {
    loop {
        let patience = *limit.borrow_and_update();
        let over = async {
            match patience {
                Some(patience) => tokio::time::sleep(patience).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = over => return,
            changed = limit.changed() => if changed.is_err() {
                // Nobody can set a limit any more.
                std::future::pending::<()>().await;
            },
        }
    }
}

fn line(frame: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(frame).expect("messages have string keys, and numbers that JSON knows");
    line.push(b'\n');
    line
}

/// The events of one request. They are numbered in the order in which they are sent.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    outbox: Outbox,
    id: Option<RequestId>,
    next: Arc<Mutex<u64>>,
    flow: Flow,
}

impl Events {
    pub(crate) fn new(outbox: Outbox, id: Option<RequestId>, flow: Flow) -> Self {
        Self { outbox, id, next: Arc::default(), flow }
    }

    /// The host's wish about chunks. Other events never wait for it.
    pub(crate) fn flow(&self) -> &Flow {
        &self.flow
    }

    pub(crate) fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Sends an event, which gets the next number.
    pub(crate) async fn send(&self, event: impl FnOnce(u64) -> Event) -> Result<(), HungUp> {
        let room = self.outbox.room().await?;
        // Two senders of one request must not overtake each other between number and channel.
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        self.outbox.frames.send((line(&event(*next)), Some(room))).map_err(|_| HungUp)?;
        *next += 1;
        Ok(())
    }
}
