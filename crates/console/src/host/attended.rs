//! The terminal of a command, while the overlay shows it.

use std::time::Duration;

use bashful_engine::{AttendedTerminal, Heard, OutputStream, StopReason, TerminalSize};
use bashful_screen::Size;
use tokio::sync::mpsc;

use crate::model::CardId;

/// Longest time for the program to take what was typed. Every terminal drops keys that nobody reads.
const TYPING_PATIENCE: Duration = Duration::from_secs(10);

/// A command's terminal. Dropping it lets the answer to its call come.
#[derive(Debug)]
pub(super) struct ShownTerminal {
    pub(super) card: CardId,
    attended: AttendedTerminal,
    stream: OutputStream,
    typing: mpsc::UnboundedSender<Vec<u8>>,
}

/// The next event of a terminal.
pub(super) enum TerminalNews {
    Output(Vec<u8>),
    /// The program was paused, as by Ctrl-Z. Nobody could continue it here.
    Paused,
    Ended,
}

impl ShownTerminal {
    pub(super) fn new(card: CardId, attended: AttendedTerminal, stream: OutputStream) -> Self {
        let (typing, mut typed) = mpsc::unbounded_channel::<Vec<u8>>();
        let terminal = attended.terminal.clone();
        drop(tokio::spawn(async move {
            while let Some(bytes) = typed.recv().await {
                let _ = terminal.type_bytes(&bytes, TYPING_PATIENCE).await;
            }
        }));
        Self { card, attended, stream, typing }
    }

    /// Waits for news. May be dropped: nothing is lost.
    pub(super) async fn next(&mut self) -> TerminalNews {
        tokio::select! {
            heard = self.stream.next() => match heard {
                Some(Heard::Chunk(chunk)) => TerminalNews::Output(chunk.bytes),
                Some(Heard::Dropped { .. }) => TerminalNews::Output(Vec::new()),
                None => TerminalNews::Ended,
            },
            Ok(()) = self.attended.suspensions.changed() => TerminalNews::Paused,
        }
    }

    pub(super) fn type_bytes(&self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            let _ = self.typing.send(bytes);
        }
    }

    pub(super) fn resize(&self, size: Size) {
        // A terminal that is gone has no size.
        let _ = self.attended.terminal.resize(TerminalSize::new(size.columns(), size.rows()));
    }

    /// Stops the program; asked again, kills it.
    pub(super) fn stop(&self) {
        self.attended.stop(StopReason::Cancelled);
    }

    pub(super) fn resume(&self) {
        self.attended.resume();
    }
}
