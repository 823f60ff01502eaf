//! Output for a program that reads ours: the bytes as the command wrote them, redacted, all of them, as they come.
//!
//! A pipe or a file gets no clip: whoever reads it counts, compares or parses, and a notice in the middle would be data.

use std::io::{self, IsTerminal, Write};
use std::{iter, thread};

use bashful_engine::{Chunk, Heard, Listening, OutputForm, OutputStream, StreamName, WhenBehind};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::print::{self, PrintError};

/// A reader of ours that does not keep up holds up the command, as it would without us.
pub(crate) const LISTENING: Listening = Listening { form: OutputForm::Raw, when_behind: WhenBehind::Wait };

/// Output that is being written directly. Tells how that went, once it is done.
pub(crate) type Writing = oneshot::Receiver<Result<(), PrintError>>;

/// Where the streams of a command go while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Direct {
    /// Standard error, where it is taken apart, is written as it comes too. At a terminal it is shown at the end.
    pub(crate) stderr: bool,
}

impl Direct {
    /// Output is written directly unless a person at a terminal reads it, or it is to be a part of JSON.
    pub(crate) fn new(json: bool) -> Option<Self> {
        (!json && !io::stdout().is_terminal()).then(|| Self { stderr: !io::stderr().is_terminal() })
    }

    /// Writes a stream to its end, in a thread of its own: a reader that does not read must not keep us from hearing
    /// signals. A reader that has gone does not cut the command short; the rest is discarded.
    /// `seen` is told of every piece of standard output.
    pub(crate) fn write(self, mut stream: OutputStream, seen: impl FnMut(&[u8]) + Send + 'static) -> Writing {
        let (done, is_done) = oneshot::channel();
        tokio::spawn(async move {
            // Many commands write nothing, and need no thread.
            let first = stream.next().await;
            if first.is_none() {
                // Nobody may be left who waits for it.
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

/// Waits until everything is written that is written directly. A writer that never said how it went has panicked. May be
/// dropped.
pub(crate) async fn written(writing: &mut Option<Writing>) -> Result<(), PrintError> {
    let Some(writing) = writing else { return Ok(()) };
    writing.await.unwrap_or_else(|_| Err(io::Error::other("the thread that writes has ended").into()))
}
