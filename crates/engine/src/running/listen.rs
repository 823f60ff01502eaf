//! Live output of a command, from its first byte to its end.
//!
//! The stream is made before the first byte is read, so a listener misses nothing. It ends after the last piece, when
//! the command has ended or has become a job.
//!
//! Invariant: memory is at most [`BEHIND`] and one piece, however slow the listener is. A listener that falls behind
//! either misses the oldest pieces and learns how many bytes they were, or holds up the command. It chooses which.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::StreamName;
use crate::cluster;
use crate::mask::{Mask, StreamRedactor};
use crate::units::ByteSize;

/// Bytes that a listener may be behind: as much as a pipe holds, which is how far a command is ahead of any reader.
const BEHIND: usize = 1024 * 1024;

/// Small pieces are joined up to this size, in bytes, so that a slow listener catches up in few steps.
const JOINED: usize = 64 * 1024;

/// Form of the live output, and the choice for a slow listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listening {
    /// Cleaned text, or raw bytes.
    pub form: OutputForm,
    /// Drop output, or make the command wait.
    pub when_behind: WhenBehind,
}

/// Form of live output. Withheld values are redacted in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputForm {
    /// Text as replies show it. A line that may still be redrawn comes when it is finished.
    Text,
    /// Bytes as the command wrote them.
    Raw,
}

/// Choice for a listener that does not keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenBehind {
    /// Drop the oldest pieces, and report the number of bytes as [`Heard::Dropped`]. The command never waits.
    Drop,
    /// Make the command wait, as for any reader of a pipe. Once the stream is dropped, the command continues.
    Wait,
}

/// The end of a live stream for [`Caller::listener`](crate::Caller::listener).
#[derive(Debug)]
pub struct OutputListener {
    listening: Listening,
    shared: Arc<Shared>,
}

impl OutputListener {
    /// Makes a listener, and the stream that it feeds. The stream ends at once if the command does not run.
    ///
    /// ```standalone_crate
    /// # use bashful_engine::{Caller, Engine, Heard, Listening, Options, OutputForm, OutputListener, Request, Script, WhenBehind};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # bashful_engine::keeper_main();
    /// # let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
    /// let (listener, mut stream) = OutputListener::new(Listening { form: OutputForm::Text, when_behind: WhenBehind::Drop });
    /// let caller = Caller { listener: Some(listener), ..Caller::default() };
    /// let started = engine.start(Request::new(Script::new("printf hello")?), caller).await?;
    /// let mut heard = Vec::new();
    /// while let Some(piece) = stream.next().await {
    ///     match piece {
    ///         Heard::Chunk(chunk) => heard.extend(chunk.bytes),
    ///         Heard::Dropped { bytes } => eprintln!("{bytes} bytes were dropped"),
    ///     }
    /// }
    /// assert_eq!(heard, b"hello");
    /// assert_eq!(started.running().ok_or("refused")?.wait().await?.output.bytes, 5);
    /// # Ok(()) }
    /// ```
    pub fn new(listening: Listening) -> (Self, OutputStream) {
        let shared = Arc::new(Shared::default());
        let stream = OutputStream(Arc::clone(&shared));
        (Self { listening, shared }, stream)
    }

    /// True if the listener can do without some bytes.
    pub(crate) fn may_drop(&self) -> bool {
        self.listening.when_behind == WhenBehind::Drop
    }

    pub(super) fn form(&self) -> OutputForm {
        self.listening.form
    }
}

/// Ends the stream.
impl Drop for OutputListener {
    fn drop(&mut self) {
        self.shared.queue().has_ended = true;
        self.shared.more.notify_one();
    }
}

/// One step of a live stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A piece of the output.
    Chunk(Chunk),
    /// Bytes that were dropped because the listener was behind.
    Dropped {
        /// Number of bytes, after redaction.
        bytes: u64,
    },
}

/// A piece of a command's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Stream that the command wrote it to.
    pub stream: StreamName,
    /// Redacted bytes; never empty.
    pub bytes: Vec<u8>,
}

/// Live output of one command.
#[derive(Debug)]
pub struct OutputStream(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Notified when there is more to read.
    more: Notify,
    /// Notified when there is room again, or the stream was dropped.
    room: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    chunks: VecDeque<Chunk>,
    bytes: usize,
    /// Bytes dropped since the last step, all of them older than `chunks`.
    dropped: u64,
    has_ended: bool,
    is_abandoned: bool,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Every change is complete before anything can panic.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputStream {
    /// Returns the next piece; none after the last one. The future may be dropped without loss.
    pub async fn next(&mut self) -> Option<Heard> {
        loop {
            let more = self.0.more.notified();
            {
                let mut queue = self.0.queue();
                if queue.dropped > 0 {
                    return Some(Heard::Dropped { bytes: std::mem::take(&mut queue.dropped) });
                }
                if let Some(chunk) = queue.chunks.pop_front() {
                    queue.bytes -= chunk.bytes.len();
                    drop(queue);
                    self.0.room.notify_waiters();
                    return Some(Heard::Chunk(chunk));
                }
                if queue.has_ended {
                    return None;
                }
            }
            more.await;
        }
    }

    /// Turns the stream into snapshots of the newest output: at most `bytes` each, at most once in `every`.
    pub fn into_tail(self, bytes: ByteSize, every: Duration) -> TailUpdates {
        TailUpdates {
            stream: self,
            at_most: bytes.in_memory(),
            every,
            newest: Vec::new(),
            bytes: 0,
            due: None,
            last: None,
        }
    }
}

/// Stops listening; a command that waits for this listener continues.
impl Drop for OutputStream {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        *queue = Queue { has_ended: queue.has_ended, is_abandoned: true, ..Queue::default() };
        drop(queue);
        self.0.room.notify_waiters();
    }
}

/// Snapshots of the newest output of one command.
#[derive(Debug)]
pub struct TailUpdates {
    stream: OutputStream,
    at_most: usize,
    every: Duration,
    newest: Vec<u8>,
    bytes: u64,
    /// Time of the next snapshot; none without new output.
    due: Option<Instant>,
    last: Option<Instant>,
}

/// A snapshot of the newest output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailUpdate {
    /// End of the output so far.
    pub newest: Vec<u8>,
    /// Bytes written so far, in the listener's form.
    pub bytes: u64,
}

impl TailUpdates {
    /// Returns the next snapshot with new output; none after the final one. The future may be dropped without loss.
    pub async fn next(&mut self) -> Option<TailUpdate> {
        loop {
            let heard = tokio::select! {
                heard = self.stream.next() => heard,
                () = due(self.due) => return Some(self.snapshot()),
            };
            match heard {
                Some(Heard::Dropped { bytes }) => {
                    self.bytes += bytes;
                    self.newest.clear();
                }
                Some(Heard::Chunk(chunk)) => self.push(&chunk.bytes),
                None => return self.due.is_some().then(|| self.snapshot()),
            }
            let now = Instant::now();
            self.due.get_or_insert(self.last.map_or(now, |last| now.max(last + self.every)));
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.newest.extend_from_slice(bytes);
        // The buffer is compacted only now and then, which keeps small pieces cheap.
        if self.newest.len() > 2 * self.at_most {
            self.newest.drain(..self.newest.len() - self.at_most);
        }
    }

    fn snapshot(&mut self) -> TailUpdate {
        self.due = None;
        self.last = Some(Instant::now());
        let begin = cluster::after(&self.newest, self.newest.len().saturating_sub(self.at_most));
        TailUpdate { newest: self.newest[begin..].to_vec(), bytes: self.bytes }
    }
}

async fn due(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}

/// The writing end of a live stream. Dropping it ends the stream.
pub(super) struct Feed {
    redactors: [StreamRedactor; 2],
    mask: Arc<Mask>,
    listener: OutputListener,
}

impl Feed {
    pub(super) fn new(listener: OutputListener, mask: Arc<Mask>) -> Self {
        Self { redactors: Default::default(), mask, listener }
    }

    /// Redacts a piece, and passes it on.
    pub(super) fn push(&mut self, stream: StreamName, bytes: &[u8]) {
        let redacted = self.redactors[stream as usize].push(&self.mask, bytes).into_owned();
        self.enqueue(stream, &redacted);
    }

    /// Passes on the bytes that were held back because a withheld value could have begun with them.
    pub(super) fn finish(&mut self, stream: StreamName) {
        let rest = self.redactors[stream as usize].finish(&self.mask, &[]);
        self.enqueue(stream, &rest);
    }

    /// Passes on what is held back of a stream, because a person waits for it.
    pub(super) fn release(&mut self, stream: StreamName) {
        let held = self.redactors[stream as usize].release(&self.mask);
        self.enqueue(stream, &held);
    }

    fn enqueue(&mut self, stream: StreamName, bytes: &[u8]) {
        let mut queue = self.listener.shared.queue();
        if bytes.is_empty() || queue.is_abandoned {
            return;
        }
        queue.bytes += bytes.len();
        match queue.chunks.back_mut() {
            Some(last) if last.stream == stream && last.bytes.len() + bytes.len() <= JOINED => {
                last.bytes.extend_from_slice(bytes);
            }
            _ => queue.chunks.push_back(Chunk { stream, bytes: bytes.to_vec() }),
        }
        while self.listener.listening.when_behind == WhenBehind::Drop && queue.bytes > BEHIND && queue.chunks.len() > 1
        {
            let Some(oldest) = queue.chunks.pop_front() else { break };
            queue.bytes -= oldest.bytes.len();
            queue.dropped += oldest.bytes.len() as u64;
        }
        drop(queue);
        self.listener.shared.more.notify_one();
    }

    /// Waits until the listener accepts more. The future may be dropped.
    pub(super) async fn room(&self) {
        loop {
            let room = self.listener.shared.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            {
                let queue = self.listener.shared.queue();
                if self.listener.listening.when_behind == WhenBehind::Drop || queue.bytes < BEHIND || queue.is_abandoned
                {
                    return;
                }
            }
            room.await;
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.finish(StreamName::Output);
        self.finish(StreamName::Stderr);
    }
}
