//! A command whose terminal a host shows to a person.

use tokio::sync::oneshot;

use super::{Handles, Run};
use crate::terminal::AttendedTerminal;

impl Run {
    /// Hands the command's terminal to the host that attends to it; nothing, if it has none.
    pub(crate) fn attend(&mut self, host: oneshot::Sender<AttendedTerminal>, handles: &Handles) {
        let Some(terminal) = self.screens.own.clone() else { return };
        let (restored, host_restored) = oneshot::channel();
        let attended = AttendedTerminal {
            terminal,
            suspensions: self.link.suspensions(),
            requests: handles.requests.downgrade(),
            _restored: restored,
        };
        // A host that is gone needs no terminal.
        if host.send(attended).is_ok() {
            self.screens.host_restored = Some(host_restored);
        }
    }

    /// Waits until the host has put its own terminal back, if it attends to the command's, and tells the keeper.
    pub(super) async fn wait_for_host(&mut self) {
        if let Some(restored) = &mut self.screens.host_restored {
            // It is dropped when the host is through with the terminal.
            let _ = restored.await;
            self.screens.host_restored = None;
            self.link.host_terminal_restored().await;
        }
    }
}
