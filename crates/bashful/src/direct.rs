//! Direct output for pipes and files: every byte as the command writes it, redacted.
//!
//! A pipe or a file gets no clip. Its reader counts, compares or parses, and would take a notice for data.

use std::io::{self, IsTerminal, Write};
use std::{iter, thread};

use bashful_engine::{Chunk, Heard, Listening, OutputForm, OutputStream, StreamName, WhenBehind};
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
            // A command without output needs no thread.
            let first = stream.next().await;
            if first.is_none() {
                // The receiver may be gone.
                let _ = done.send(Ok(()));
                return;
            }
            let runtime = Handle::current();
            thread::spawn(move || {
                let rest = iter::from_fn(|| runtime.block_on(stream.next()));
                let _ = done.send(self.write_all(first.into_iter().chain(rest), seen));
            });
        });
        is_done
    }

    fn write_all(self, all: impl Iterator<Item = Heard>, mut seen: impl FnMut(&[u8])) -> Result<(), PrintError> {
        let mut written = [Ok(()), Ok(())];
        for heard in all {
            let Heard::Chunk(Chunk { stream, bytes }) = heard else { continue };
            if stream == StreamName::Output {
                seen(&bytes);
            }
            let so_far = &mut written[stream as usize];
            *so_far = match (&so_far, stream) {
                (Err(_), _) => continue,
                (Ok(()), StreamName::Output) => write_all(io::stdout(), &bytes),
                (Ok(()), StreamName::Stderr) if self.stderr => write_all(io::stderr(), &bytes),
                (Ok(()), StreamName::Stderr) => Ok(()),
            };
        }
        let [output, stderr] = written.map(print::unless_unwanted);
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
