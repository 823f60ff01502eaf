//! A command in a terminal of the client: its text comes in looks, not as a stream.

use std::sync::Arc;

use super::{LIVE_SHOWN, Live, Run};
use crate::client_terminal::ClientView;
use crate::mask::Edges;

/// Reason why no artifact has the whole output of a command in a terminal of the client.
pub(super) const BEGINNING_LOST: &str = "the client's terminal kept only the end";

impl Run {
    /// Adds the newest text of the client's terminal, without withheld values.
    pub(super) fn add_client_text(&self, live: &mut Live) {
        let Some(client) = &self.screens.client else { return };
        live.client_terminal = Some(Arc::clone(&client.terminal_id));
        // The last text was read already.
        if live.bytes > 0 {
            return;
        }
        let shown = client.text.borrow();
        let text = &shown.text;
        let newest = &text.as_bytes()[text.ceil_char_boundary(text.len().saturating_sub(LIVE_SHOWN))..];
        let edges = if newest.len() == text.len() && !shown.is_cut { Edges::End } else { Edges::Both };
        live.newest = self.mask.apply(newest, edges).unwrap_or_else(|| newest.to_vec());
        live.bytes = text.len() as u64;
        live.lines = text.lines().count() as u64;
    }

    /// Captures the text of the client's terminal. To be called once, for the last text that is shown.
    pub(super) fn read_client_text(&mut self) {
        let (Some(client), Some(stream)) = (&self.screens.client, self.streams.first_mut()) else { return };
        if stream.capture.bytes() > 0 {
            return;
        }
        let shown = client.text.borrow();
        let text = shown.text.as_bytes();
        // The client may have cut a withheld value in two.
        let redacted = if shown.is_cut { self.mask.apply(text, Edges::Begin) } else { None };
        stream.capture.push(redacted.as_deref().unwrap_or(text), &mut |_| {});
    }
}

/// Waits for a new text of the client's terminal; for ever without one.
pub(super) async fn new_text(client: Option<&mut ClientView>) {
    if let Some(client) = client
        && client.text.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}
