//! Ctrl-Z at `bashful run`: the command pauses together with the program, as a job of a shell does.

use std::io::{self, IsTerminal, stderr};
use std::pin::Pin;
use std::time::Duration;

use bashful_engine::{Pauser, Pausing};
use bashful_sys::signal::{self, Signal};
use tokio::signal::unix::{SignalKind, signal as listen};
use tokio::time::timeout;

use crate::print;

/// Time for the order to pause. It takes longer only if the command has not started, and then there is nothing to pause.
const ORDERED_WITHIN: Duration = Duration::from_millis(250);

/// Said before the program stops.
pub(crate) const SUSPENDED: &str = "[suspended; its timeout goes on; fg resumes it]";

/// Suspends command and program when the user asks for it.
pub(crate) struct Suspension {
    /// None if the signal is ignored: whoever started this program has no way to continue it.
    asked: Option<tokio::signal::unix::Signal>,
    pauser: Pauser,
    /// The user has asked, and the order to the command is on its way.
    pausing: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl Suspension {
    /// Listens for the signal, and the end for [`Caller::pausing`](bashful_engine::Caller::pausing).
    pub(crate) fn new() -> io::Result<(Self, Pausing)> {
        let (pauser, orders) = Pauser::new();
        let is_heard = !signal::is_ignored(Signal::TSTP);
        let asked = is_heard.then(|| listen(SignalKind::from_raw(Signal::TSTP.as_raw()))).transpose()?;
        Ok((Self { asked, pauser, pausing: None }, orders))
    }

    /// Waits until the user has asked and the command is paused. May be dropped: nothing is lost.
    pub(crate) async fn paused(&mut self) {
        if self.pausing.is_none() {
            match &mut self.asked {
                Some(asked) => drop(asked.recv().await),
                None => std::future::pending().await,
            }
            let pauser = self.pauser.clone();
            self.pausing = Some(Box::pin(async move {
                // An order that comes too late is followed by the one to continue.
                let _ = timeout(ORDERED_WITHIN, pauser.pause()).await;
            }));
        }
        if let Some(pausing) = &mut self.pausing {
            pausing.await;
        }
        self.pausing = None;
    }

    /// Stops this program, and continues the command when the program goes on.
    pub(crate) fn suspend(&self) -> io::Result<()> {
        if stderr().is_terminal() {
            print::talk(SUSPENDED);
        }
        signal::stop_group()?;
        self.pauser.resume();
        Ok(())
    }
}
