//! Signals that end the program.

use bashful_sys::signal::{Signal, is_ignored};
use tokio::signal::unix::{SignalKind, signal};

/// SIGINT, SIGTERM and the like, except those that are ignored (`nohup`).
pub(crate) struct Signals {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    pub(crate) fn new() -> std::io::Result<Self> {
        let listen = |which: Signal| {
            let listener = (!is_ignored(which)).then(|| signal(SignalKind::from_raw(which.as_raw())));
            listener.transpose()
        };
        Ok(Self { interrupt: listen(Signal::INT)?, terminate: listen(Signal::TERM)?, hang_up: listen(Signal::HUP)? })
    }

    pub(crate) async fn next(&mut self) -> u8 {
        tokio::select! {
            () = arrives(self.interrupt.as_mut()) => 2,
            () = arrives(self.terminate.as_mut()) => 15,
            () = arrives(self.hang_up.as_mut()) => 1,
        }
    }
}

async fn arrives(signal: Option<&mut tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
