//! Frames to the host, written by a task of their own in the order in which they were accepted.
//!
//! Invariant: at most [`WAITING`] frames wait here. A sender waits for room, and only that sender: output of its command is
//! then left out of the events where the engine keeps it, and no other command notices.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::calls::Flow;
use crate::wire::{Event, RequestId};

/// Most frames that wait for a slow reader.
const WAITING: usize = 16;

/// Small frames are joined up to this size in bytes, so that many of them take one write.
const JOINED: usize = 64 * 1024;

/// The host hung up, so nobody reads what is sent.
#[derive(Debug)]
pub(crate) struct HungUp;

/// The sending end. Clones send to the same host.
#[derive(Debug, Clone)]
pub(crate) struct Outbox(mpsc::Sender<Vec<u8>>);

impl Outbox {
    /// Starts the writing task, which ends when all senders are dropped and all frames are written, or the host hangs up.
    pub(crate) fn new(output: impl AsyncWrite + Send + Unpin + 'static) -> (Self, JoinHandle<()>) {
        let (send, frames) = mpsc::channel(WAITING);
        let writing = tokio::spawn(async move {
            // A host that hung up closes the channel, which ends the service.
            let _ = write(frames, output).await;
        });
        (Self(send), writing)
    }

    /// Sends a frame, once there is room.
    pub(crate) async fn send(&self, frame: &impl Serialize) -> Result<(), HungUp> {
        self.0.send(line(frame)).await.map_err(|_| HungUp)
    }

    /// Resolves when the host has hung up.
    pub(crate) async fn hung_up(&self) {
        self.0.closed().await;
    }
}

async fn write(mut frames: mpsc::Receiver<Vec<u8>>, mut output: impl AsyncWrite + Unpin) -> io::Result<()> {
    while let Some(mut frame) = frames.recv().await {
        while frame.len() < JOINED
            && let Ok(next) = frames.try_recv()
        {
            frame.extend_from_slice(&next);
        }
        output.write_all(&frame).await?;
        output.flush().await?;
    }
    output.shutdown().await
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
        let room = self.outbox.0.reserve().await.map_err(|_| HungUp)?;
        // Two senders of one request must not overtake each other between number and channel.
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        room.send(line(&event(*next)));
        *next += 1;
        Ok(())
    }
}
