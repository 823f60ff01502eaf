//! Requests under way: their ids, and the way to abort each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bashful_engine::{CallTurn, Cancellation, Canceller};
use tokio::sync::{Notify, watch};

use crate::wire::RequestId;

/// Ids of answered commands that are remembered. An abort that comes a little late must not hit all other commands.
const REMEMBERED: usize = 1024;

/// The requests of a connection that are not answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<CallList>>);

#[derive(Debug, Default)]
struct CallList {
    last: u64,
    running: Vec<RunningCall>,
    recent: VecDeque<RequestId>,
}

#[derive(Debug)]
struct RunningCall {
    number: u64,
    id: Option<RequestId>,
    abort: Aborter,
    is_aborted: bool,
    is_paused: watch::Sender<bool>,
}

/// The way to abort a request.
#[derive(Debug, Clone)]
enum Aborter {
    /// A command is stopped, and answers with its output.
    Command(Canceller),
    /// Any other request ends with an error.
    Other(Arc<Notify>),
}

/// The requests that an abort is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aborted<'a> {
    /// Every request, also one that runs no command.
    Everything,
    /// Every command.
    Commands,
    /// The request with this id.
    One(&'a RequestId),
}

/// A request under way; it is off the list when dropped.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: Option<RequestId>,
    number: u64,
    calls: Calls,
    /// Resolves when a request that runs no command is aborted.
    pub(crate) aborted: Arc<Notify>,
    /// Given to the command.
    pub(crate) cancellation: Option<Cancellation>,
    /// Given to the command: its turn among those of its shell.
    pub(crate) turn: Option<CallTurn>,
    /// Given to its events.
    pub(crate) flow: Flow,
}

/// The host's wish about the chunks of one request: to send them, or to wait.
#[derive(Debug, Clone)]
pub(crate) struct Flow(watch::Receiver<bool>);

impl Flow {
    /// Waits while the host has paused the chunks.
    pub(crate) async fn opened(&self) {
        // A request that is off the list is not paused any more.
        let _ = self.0.clone().wait_for(|is_paused| !is_paused).await;
    }
}

impl Calls {
    fn list(&self) -> MutexGuard<'_, CallList> {
        // Every change is complete before anything can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a request on the list; none if an unanswered one has its id.
    pub(crate) fn begin(&self, id: Option<RequestId>, is_command: bool) -> Option<Call> {
        let mut list = self.list();
        if id.is_some() && list.running.iter().any(|call| call.id == id) {
            return None;
        }
        list.last += 1;
        let aborted = Arc::<Notify>::default();
        let (canceller, cancellation) = Canceller::new();
        let abort = if is_command { Aborter::Command(canceller) } else { Aborter::Other(Arc::clone(&aborted)) };
        let number = list.last;
        let (is_paused, flow) = watch::channel(false);
        list.running.push(RunningCall { number, id: id.clone(), abort, is_aborted: false, is_paused });
        let (calls, cancellation, flow) = (self.clone(), Some(cancellation), Flow(flow));
        Some(Call { id, number, calls, aborted, cancellation, turn: None, flow })
    }

    /// Pauses the chunks of a command, or resumes them. False if no unanswered command has this id.
    pub(crate) fn pause(&self, id: &RequestId, is_paused: bool) -> bool {
        let list = self.list();
        let is_it = |call: &&RunningCall| call.id.as_ref() == Some(id) && matches!(call.abort, Aborter::Command(_));
        let Some(call) = list.running.iter().find(is_it) else { return false };
        call.is_paused.send_replace(is_paused);
        true
    }

    /// Aborts requests; their number. An abort of everything also resumes all chunks, because no `stream_resume` follows.
    pub(crate) fn abort(&self, which: Aborted<'_>) -> u64 {
        let mut count = 0;
        for call in &mut self.list().running {
            if which == Aborted::Everything {
                call.is_paused.send_replace(false);
            }
            match (&call.abort, which) {
                (_, Aborted::One(id)) if call.id.as_ref() != Some(id) => continue,
                (Aborter::Other(_), Aborted::Commands) => continue,
                (Aborter::Command(canceller), _) => canceller.cancel(),
                (Aborter::Other(notify), _) => notify.notify_one(),
            }
            call.is_aborted = true;
            count += 1;
        }
        count
    }

    /// True if a command with this id runs, or ran a short time ago.
    pub(crate) fn knows_command(&self, id: &RequestId) -> bool {
        let list = self.list();
        let runs = |call: &RunningCall| call.id.as_ref() == Some(id) && matches!(call.abort, Aborter::Command(_));
        list.running.iter().any(runs) || list.recent.contains(id)
    }
}

impl Call {
    /// True if an abort has come for this request.
    pub(crate) fn is_aborted(&self) -> bool {
        self.calls.list().running.iter().any(|call| call.number == self.number && call.is_aborted)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut list = self.calls.list();
        let Some(at) = list.running.iter().position(|call| call.number == self.number) else { return };
        let ended = list.running.swap_remove(at);
        if let (Aborter::Command(_), Some(id)) = (ended.abort, ended.id) {
            list.recent.push_back(id);
            let too_many = list.recent.len().saturating_sub(REMEMBERED);
            list.recent.drain(..too_many);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(text: &str) -> RequestId {
        RequestId::try_from(json!(text)).expect("an id")
    }

    #[test]
    fn an_id_is_free_again_once_its_request_is_answered() {
        let calls = Calls::default();
        let first = calls.begin(Some(id("a")), true).expect("it is free");
        assert!(calls.begin(Some(id("a")), true).is_none());
        let _nameless = (calls.begin(None, true).expect("no id"), calls.begin(None, true).expect("no id"));
        drop(first);
        assert!(calls.begin(Some(id("a")), false).is_some());
    }

    #[test]
    fn an_abort_is_for_one_request_for_all_commands_or_for_all() {
        let calls = Calls::default();
        let _running =
            [("a", true), ("b", true), ("c", false)].map(|(name, is_command)| calls.begin(Some(id(name)), is_command));
        assert_eq!(calls.abort(Aborted::Commands), 2);
        assert_eq!(calls.abort(Aborted::One(&id("c"))), 1);
        assert_eq!(calls.abort(Aborted::One(&id("d"))), 0);
        assert_eq!(calls.abort(Aborted::Everything), 3);
    }

    #[tokio::test]
    async fn chunks_are_paused_and_resumed_by_the_id_of_their_command() {
        let calls = Calls::default();
        let command = calls.begin(Some(id("a")), true).expect("it is free");
        let _other = calls.begin(Some(id("b")), false).expect("it is free");
        assert!(!calls.pause(&id("b"), true) && !calls.pause(&id("c"), true), "no commands");
        command.flow.opened().await;
        assert!(calls.pause(&id("a"), true));
        let mut opened = Box::pin(command.flow.opened());
        tokio::select! {
            biased;
            () = &mut opened => panic!("it is paused"),
            () = tokio::task::yield_now() => {}
        }
        assert!(calls.pause(&id("a"), false));
        opened.await;
        assert!(calls.pause(&id("a"), true));
        calls.abort(Aborted::Everything);
        command.flow.opened().await;
        assert!(calls.pause(&id("a"), true));
        let flow = command.flow.clone();
        drop(command);
        flow.opened().await;
    }

    #[test]
    fn an_abort_of_a_command_that_has_just_ended_is_not_one_of_all() {
        let calls = Calls::default();
        drop(calls.begin(Some(id("a")), true));
        drop(calls.begin(Some(id("b")), false));
        assert!(calls.knows_command(&id("a")));
        assert!(!calls.knows_command(&id("b")) && !calls.knows_command(&id("c")));
    }
}
