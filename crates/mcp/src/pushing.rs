//! Pushes the end of a job to the client that started it: its state and its final text.
//!
//! `notifications/message` is the only notification that carries content and may come when no call is open. Progress
//! ends with its call, and `notifications/resources/updated` has only an address. Every protocol version with
//! `initialize` has it. Clients without `initialize` subscribe to `job://7` instead.

// The newest protocol version deprecates these messages and has no replacement.
#![expect(deprecated, reason = "no other notification carries content when no call is open")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use bashful_dialect::{FACTS, Update, UpdateState};
use rmcp::RoleServer;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, ProtocolVersion, ServerCapabilities, SetLevelRequestParams,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::json;
use tokio::sync::mpsc;

/// The logger name of these messages.
const LOGGER: &str = "bashful/jobs";

/// A client's request for messages of some level, and of those above it.
pub(crate) type SetLevel = SetLevelRequestParams;

/// The lowest level of messages that one client asked for.
#[derive(Debug, Default)]
pub(crate) struct LowestLevel(Arc<AtomicU8>);

/// A clone is for another connection, which starts with no settings of its own.
impl Clone for LowestLevel {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl LowestLevel {
    pub(crate) fn set(&self, request: &SetLevel) {
        self.0.store(rank(request.level), Ordering::Relaxed);
    }

    /// Pushes the last update of a call's job when it comes, from a task. A call without a job pushes nothing.
    pub(crate) fn push_end(&self, mut updates: mpsc::Receiver<Update>, peer: Peer<RoleServer>) {
        let lowest = Arc::clone(&self.0);
        tokio::spawn(async move {
            while let Some(update) = updates.recv().await {
                let level = match update.state {
                    UpdateState::Foreground | UpdateState::Running => continue,
                    UpdateState::Completed => LoggingLevel::Info,
                    UpdateState::Failed => LoggingLevel::Warning,
                };
                if rank(level) >= lowest.load(Ordering::Relaxed) {
                    // The transport reports a disconnected client.
                    let _ = peer.notify_logging_message(message(level, &update)).await;
                }
            }
        });
    }
}

/// True if the client of a request can receive messages when no call is open.
pub(crate) fn can_push(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_none_or(|version| version <= ProtocolVersion::LATEST_WITH_INITIALIZE)
}

/// Declares the logging capability.
pub(crate) fn declare(capabilities: &mut ServerCapabilities) {
    capabilities.logging = Some(serde_json::Map::new());
}

fn message(level: LoggingLevel, update: &Update) -> LoggingMessageNotificationParam {
    let data = json!({ "text": update.text.as_str(), FACTS: &update.facts });
    LoggingMessageNotificationParam::new(level, data).with_logger(LOGGER)
}

/// The rank of a level. The protocol orders levels, and the library's type does not.
fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
