//! A live stream of what a command writes, from its first byte to its end.
//!
//! The stream is made before the first byte is read, so nothing is written before anybody listens. It ends when the
//! command has ended or has become a job, after the last piece.
//!
//! Invariant: memory held is at most [`BEHIND`] and one piece, however slow the listener is. A listener that falls behind
//! misses the oldest pieces and learns how many bytes these were, or holds up the command; it chooses which.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::StreamName;
use crate::cluster;
use crate::mask::{Mask, StreamRedactor};
use crate::units::ByteSize;

/// Bytes that a listener may be behind. As much as a pipe holds: the command is that far ahead of any reader.
const BEHIND: usize = 1024 * 1024;

/// Small pieces are joined up to this size, so that a listener that is behind catches up in few steps.
const JOINED: usize = 64 * 1024;

/// How a listener gets the output of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listening {
    /// In which form.
    pub form: OutputForm,
    /// The choice for a listener that does not keep up.
    pub when_behind: WhenBehind,
}

/// The form of live output. Withheld values are redacted in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputForm {
    /// The text as replies show it. A line that may still be redrawn comes when it is finished.
    Text,
    /// The bytes as they were written.
    Raw,
}

/// The choice for a listener that does not keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenBehind {
    /// The oldest pieces are dropped, and [`Heard::Dropped`] says how many bytes. The command is never held up.
    Drop,
    /// The command waits, as it does for any reader of a pipe. Once the listener is dropped, the command goes on unheard.
    Wait,
}

/// The end of a live stream that [`Caller::listener`](crate::Caller::listener) takes.
#[derive(Debug)]
pub struct OutputListener {
    listening: Listening,
    shared: Arc<Shared>,
}

impl OutputListener {
    /// A listener, and the stream that it feeds. The stream ends at once if the command does not run.
    ///
    /// ```
    /// # use bashful_engine::{Caller, Engine, Heard, Listening, Options, OutputForm, OutputListener, Request, Script, WhenBehind};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
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

    pub(super) fn form(&self) -> OutputForm {
        self.listening.form
    }
}

/// Nothing follows.
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
    /// This many bytes were dropped, because the listener was behind.
    Dropped {
        /// After redaction.
        bytes: u64,
    },
}

/// A piece of what a command has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where the command wrote it.
    pub stream: StreamName,
    /// Never empty, and redacted.
    pub bytes: Vec<u8>,
}

/// The live output of one command.
#[derive(Debug)]
pub struct OutputStream(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// There is more to hear.
    more: Notify,
    /// There is room again, or nobody listens any more.
    room: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    chunks: VecDeque<Chunk>,
    bytes: usize,
    /// Dropped since the listener last heard, all of it older than `chunks`.
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
    /// The next piece; none when the command has ended and all of it was heard. May be dropped: nothing is lost.
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

    /// Snapshots of the newest output instead of every piece: at most `bytes` of it, at most once in `every`.
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

/// Nobody listens any more.
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
    /// When a snapshot is due that has something new.
    due: Option<Instant>,
    last: Option<Instant>,
}

/// The newest output of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailUpdate {
    /// The end of what was written so far.
    pub newest: Vec<u8>,
    /// Bytes written so far, as the listener would have heard them.
    pub bytes: u64,
}

impl TailUpdates {
    /// The next snapshot with something new; none after the one that has the end. May be dropped: nothing is lost.
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
        // Moving the rest to the front only now and then keeps small pieces cheap.
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

    /// Passes on a piece.
    pub(super) fn push(&mut self, stream: StreamName, bytes: &[u8]) {
        let redacted = self.redactors[stream as usize].push(&self.mask, bytes).into_owned();
        self.enqueue(stream, &redacted);
    }

    /// Passes on the end of a stream that was held back, because it could have been the beginning of a withheld value.
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

    /// Waits until the listener wants more. May be dropped.
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
