//! Writes a long artifact on a thread of its own, while the engine reads and cleans the next output.
//!
//! Copying output into the page cache takes longer than reading and cleaning it. Done one after another, both would
//! make a flood of output slower than a plain `cat` to a file.
//!
//! Invariants: bytes reach the file in order. At most [`AHEAD`] buffers wait. [`WriterThread::finish`] and dropping
//! both wait until all bytes are written, or until the writer has noted an error.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::artifacts::ArtifactWriter;

/// Size of a buffer, in bytes: as many as a stream reads at once, so that buffers are exchanged instead of copied.
pub(crate) const BUFFER: usize = 256 * 1024;

/// Buffers that wait for the thread. With fewer, the reader would wait whenever the disk is slow for a moment.
const AHEAD: usize = 2;

/// Pieces of at least this size, in bytes, are handed over with their buffer. Smaller ones are joined first, because
/// every message may wake a thread.
const LARGE: usize = 64 * 1024;

/// A buffer, and the number of bytes to write from its beginning.
struct FilledBuffer {
    buffer: Vec<u8>,
    length: usize,
}

/// An artifact that a thread writes.
pub(super) struct WriterThread {
    /// None once the thread was told to end.
    filled: Option<SyncSender<FilledBuffer>>,
    /// Never locked: several threads share a stream by reference only while nobody writes to it.
    written: Mutex<Receiver<Vec<u8>>>,
    /// Number of buffers on their way to the thread and back.
    under_way: usize,
    gathered: FilledBuffer,
    thread: Option<JoinHandle<ArtifactWriter>>,
}

impl WriterThread {
    /// Starts the thread. Returns the writer if the system refuses a thread.
    pub(super) fn start(writer: ArtifactWriter) -> Result<Self, Box<ArtifactWriter>> {
        let (filled, to_write) = sync_channel(AHEAD);
        let (give_back, written) = sync_channel(AHEAD + 1);
        // Not part of the closure: a thread that cannot be started would take the writer with it.
        let (hand_over, taken_over) = sync_channel(1);
        match spawn(taken_over, to_write, give_back) {
            Ok(thread) => {
                hand_over.send(writer).expect("the thread waits for it");
                Ok(Self {
                    filled: Some(filled),
                    written: Mutex::new(written),
                    under_way: 0,
                    gathered: empty(),
                    thread: Some(thread),
                })
            }
            Err(error) => {
                tracing::debug!(%error, "no thread for an artifact");
                Err(Box::new(writer))
            }
        }
    }

    /// Writes these bytes after all earlier ones.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = &mut self.gathered.buffer[self.gathered.length..];
            let (now, later) = bytes.split_at(bytes.len().min(room.len()));
            room[..now.len()].copy_from_slice(now);
            self.gathered.length += now.len();
            bytes = later;
            if self.gathered.length >= LARGE {
                self.send_gathered();
            }
        }
    }

    /// Writes the first `length` bytes of a buffer of [`BUFFER`] bytes, and leaves another buffer in its place.
    pub(super) fn push_buffer(&mut self, buffer: &mut Vec<u8>, length: usize) {
        if length < LARGE || buffer.len() != BUFFER {
            return self.push(&buffer[..length]);
        }
        self.send_gathered();
        let next = self.buffer();
        self.send(FilledBuffer { buffer: std::mem::replace(buffer, next), length });
    }

    /// Waits until everything is written.
    pub(super) fn finish(mut self) -> ArtifactWriter {
        self.join().expect("only dropping it has joined the thread before")
    }

    fn send_gathered(&mut self) {
        if self.gathered.length > 0 {
            let next = self.buffer();
            let gathered = std::mem::replace(&mut self.gathered, FilledBuffer { buffer: next, length: 0 });
            self.send(gathered);
        }
    }

    fn send(&mut self, filled: FilledBuffer) {
        self.under_way += 1;
        let sent = self.filled.as_ref().map(|to| to.send(filled));
        assert!(matches!(sent, Some(Ok(()))), "the thread takes buffers until it is told to end");
    }

    /// Returns a buffer to fill: one that was written, or a new one while there are few.
    fn buffer(&mut self) -> Vec<u8> {
        let written = self.written.get_mut().unwrap_or_else(PoisonError::into_inner);
        let back = if self.under_way > AHEAD { written.recv().ok() } else { written.try_recv().ok() };
        if back.is_some() {
            self.under_way -= 1;
        }
        back.unwrap_or_else(|| vec![0; BUFFER])
    }

    /// Tells the thread to end, and waits for it.
    fn join(&mut self) -> Option<ArtifactWriter> {
        let thread = self.thread.take()?;
        self.send_gathered();
        self.filled = None;
        Some(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            drop(self.join());
        }
    }
}

fn empty() -> FilledBuffer {
    FilledBuffer { buffer: vec![0; BUFFER], length: 0 }
}

fn spawn(
    writer: Receiver<ArtifactWriter>,
    to_write: Receiver<FilledBuffer>,
    give_back: SyncSender<Vec<u8>>,
) -> io::Result<JoinHandle<ArtifactWriter>> {
    std::thread::Builder::new().name("bashful-artifact".to_owned()).stack_size(256 * 1024).spawn(move || {
        let mut writer = writer.recv().expect("it is sent right after the thread was started");
        for FilledBuffer { buffer, length } in to_write {
            // The facts of the artifact contain the error; the command continues.
            drop(writer.push(&buffer[..length]));
            // The channel has room for all buffers. While the thread is told to end, nobody wants them back.
            let _ = give_back.try_send(buffer);
        }
        writer
    })
}
