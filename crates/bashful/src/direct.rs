//! Direct output for pipes and files: every byte as the command writes it, redacted.
//!
//! A pipe or a file gets no clip. Its reader counts, compares or parses, and would take a notice for data.

use std::io::{self, IsTerminal, Write};

use bashful_engine::{Chunk, Heard, Listening, OutputForm, OutputStream, StreamName, WhenBehind};
use bashful_sys::threads;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::print::{self, PrintError};

/// A slow reader holds up the command, as it would without bashful.
pub(crate) const LISTENING: Listening = Listening { form: OutputForm::Raw, when_behind: WhenBehind::Wait };

/// The result of direct writing, once everything is written.
pub(crate) type Writing = oneshot::Receiver<Result<(), PrintError>>;

/// The streams that are written directly while the command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Direct {
    /// Writes a separate standard error directly too. A terminal shows it at the end.
    pub(crate) stderr: bool,
}

impl Direct {
    /// Direct output, unless standard output is a terminal or the reply is JSON.
    pub(crate) fn new(json: bool) -> Option<Self> {
        (!json && !io::stdout().is_terminal()).then(|| Self { stderr: !io::stderr().is_terminal() })
    }

    /// Writes a stream to its end in its own thread: a reader that does not read must not block signal handling. If
    /// the reader closes its end, the command goes on and the rest is discarded.
    /// `seen` is told of every piece of standard output.
    pub(crate) fn write(self, mut stream: OutputStream, seen: impl FnMut(&[u8]) + Send + 'static) -> Writing {
        let (done, is_done) = oneshot::channel();
        tokio::spawn(async move {
            let pieces = Pieces { direct: self, seen, written: [Ok(()), Ok(())] };
            // A command without output needs no thread.
            let Some(first) = stream.next().await else {
                // The receiver may be gone.
                let _ = done.send(pieces.end());
                return;
            };
            let runtime = Handle::current();
            let in_thread = move |(first, mut stream, mut pieces, done): (Heard, OutputStream, Pieces<_>, Done)| {
                pieces.write(first);
                while let Some(heard) = runtime.block_on(stream.next()) {
                    pieces.write(heard);
                }
                let _ = done.send(pieces.end());
            };
            if let Err((first, mut stream, mut pieces, done)) =
                threads::start("bashful-output", (first, stream, pieces, done), in_thread)
            {
                // Without a thread, signals wait for the reader.
                pieces.write(first);
                while let Some(heard) = stream.next().await {
                    pieces.write(heard);
                }
                let _ = done.send(pieces.end());
            }
        });
        is_done
    }
}

type Done = oneshot::Sender<Result<(), PrintError>>;

/// The pieces of an output, and what has become of them.
struct Pieces<S> {
    direct: Direct,
    seen: S,
    written: [io::Result<()>; 2],
}

impl<S: FnMut(&[u8])> Pieces<S> {
    /// Writes a piece, unless an earlier one of its stream could not be written.
    fn write(&mut self, heard: Heard) {
        let Heard::Chunk(Chunk { stream, bytes }) = heard else { return };
        if stream == StreamName::Output {
            (self.seen)(&bytes);
        }
        let so_far = &mut self.written[stream as usize];
        *so_far = match (&so_far, stream) {
            (Err(_), _) => return,
            (Ok(()), StreamName::Output) => write_all(io::stdout(), &bytes),
            (Ok(()), StreamName::Stderr) if self.direct.stderr => write_all(io::stderr(), &bytes),
            (Ok(()), StreamName::Stderr) => Ok(()),
        };
    }

    fn end(self) -> Result<(), PrintError> {
        let [output, stderr] = self.written.map(print::unless_unwanted);
        output.and(stderr)
    }
}

fn write_all(mut to: impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

/// Waits until all direct output is written. A writer that reports nothing has panicked. Dropping the future is
/// harmless.
pub(crate) async fn written(writing: &mut Option<Writing>) -> Result<(), PrintError> {
    let Some(writing) = writing else { return Ok(()) };
    writing.await.unwrap_or_else(|_| Err(io::Error::other("the thread that writes has ended").into()))
}
