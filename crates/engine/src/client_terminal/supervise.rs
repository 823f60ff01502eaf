//! The life of one terminal of the client, from its creation to its release.

use std::sync::Arc;
use std::time::Duration;

use bashful_keeper::{End, Exit, StopReason};
use bashful_sys::signal;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{CLIENT_OUTPUT_LIMIT, ClientTerminal, ClientTerminalError, TerminalCommand, TerminalExit, TerminalText};
use crate::link::Ended;

/// Time between two looks at the text of a terminal.
const POLL_EVERY: Duration = Duration::from_millis(250);

/// Longest time that the client has to confirm a kill.
const KILL_AT_MOST: Duration = Duration::from_secs(1);

/// Longest time for the last look at the text.
const LAST_READ_AT_MOST: Duration = Duration::from_secs(2);

/// Longest time that a reply waits for the client to confirm a release.
const RELEASE_AT_MOST: Duration = Duration::from_secs(1);

/// Signal of a command whose client names one that nobody knows.
const SIGKILL: u8 = 9;

/// An order of the engine.
#[derive(Debug)]
pub(super) enum Order {
    Stop(StopReason),
    /// The command continues without the engine.
    Leave,
}

/// Watches over one command in a terminal of the client.
pub(super) struct Supervisor {
    pub(super) terminal: Arc<dyn ClientTerminal>,
    /// Closed when nobody wants the command any more.
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    pub(super) text: watch::Sender<TerminalText>,
    pub(super) ended: mpsc::UnboundedSender<Ended>,
}

/// The event that ends the watch over a command.
#[derive(Debug)]
enum Over {
    /// The client reports the end.
    Exited(TerminalExit),
    /// The client answers neither about the end nor about the text.
    Unknown,
    Stop(StopReason),
}

impl Supervisor {
    /// Creates the terminal, reports it, and watches over its command.
    pub(super) async fn run(
        mut self,
        command: TerminalCommand,
        lifetime: Duration,
        created: oneshot::Sender<Result<Arc<str>, ClientTerminalError>>,
    ) {
        let deadline = Instant::now().checked_add(lifetime);
        let id: Arc<str> = match self.terminal.create(command).await {
            Ok(id) => id.into(),
            Err(error) => return drop(created.send(Err(error))),
        };
        // If nobody waits for it any more, the orders are closed too.
        let _ = created.send(Ok(Arc::clone(&id)));
        let over = self.until_over(&id, deadline).await;
        // The command cannot be left to itself any more.
        self.orders.close();
        let ended = self.finish(&id, over).await;
        // The engine may be gone.
        let _ = self.ended.send(ended);
    }

    async fn until_over(&mut self, id: &str, deadline: Option<Instant>) -> Over {
        let Self { terminal, orders, text, .. } = self;
        let mut waiting = terminal.wait_for_exit(id);
        let mut polling = Box::pin(poll(&**terminal, id, text));
        let exited = async {
            tokio::select! {
                // Both may be there; the answer that was asked for first counts.
                biased;
                Ok(exit) = &mut waiting => Over::Exited(exit),
                Ok(exit) = &mut polling => Over::Exited(exit),
                else => Over::Unknown,
            }
        };
        tokio::select! {
            over = exited => over,
            why = stop_order(orders) => Over::Stop(why),
            () = until(deadline) => Over::Stop(StopReason::TimeUp),
        }
    }

    /// Kills the command unless it has ended, reads the text once more, and releases the terminal.
    async fn finish(&self, id: &str, over: Over) -> Ended {
        let mut notices = Vec::new();
        if !matches!(over, Over::Exited(_)) {
            let killed = timeout(KILL_AT_MOST, self.terminal.kill(id)).await;
            notices.extend(unconfirmed_kill(id, killed.ok()));
        }
        let last = timeout(LAST_READ_AT_MOST, self.terminal.output(id)).await;
        let last_exit = if let Ok(Ok(last)) = last {
            publish(&self.text, last)
        } else {
            notices.push("the client did not show the end of the output: the last look may be older".to_owned());
            None
        };
        // The client got the request, whether it answers or not.
        let _ = timeout(RELEASE_AT_MOST, self.terminal.release(id)).await;
        let end = end(&over, last_exit.as_ref(), &mut notices);
        Ended { notices, lost_beginning: self.text.borrow().is_cut, ..Ended::now(end) }
    }
}

/// Looks at the text again and again until it comes with an exit status.
async fn poll(
    terminal: &dyn ClientTerminal,
    id: &str,
    text: &watch::Sender<TerminalText>,
) -> Result<TerminalExit, ClientTerminalError> {
    loop {
        sleep(POLL_EVERY).await;
        if let Some(exit) = publish(text, terminal.output(id).await?) {
            return Ok(exit);
        }
    }
}

/// Publishes a text, cut to the limit, which a client may ignore. Returns the exit status that came with it.
fn publish(to: &watch::Sender<TerminalText>, mut new: TerminalText) -> Option<TerminalExit> {
    let surplus = new.text.len().saturating_sub(CLIENT_OUTPUT_LIMIT);
    if surplus > 0 {
        new.text.drain(..new.text.ceil_char_boundary(surplus));
        new.is_cut = true;
    }
    let exit = new.exit.clone();
    to.send_if_modified(|old| {
        let has_changed = *old != new;
        *old = new;
        has_changed
    });
    exit
}

/// Waits for the order to stop. Nobody waits any more when the orders are closed, unless the command was left to
/// itself.
async fn stop_order(orders: &mut mpsc::UnboundedReceiver<Order>) -> StopReason {
    match orders.recv().await {
        Some(Order::Stop(why)) => why,
        None => StopReason::Cancelled,
        Some(Order::Leave) => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// The notice about a kill that the client did not carry out, or not in time.
fn unconfirmed_kill(id: &str, killed: Option<Result<(), ClientTerminalError>>) -> Option<String> {
    let why = match killed {
        Some(Ok(())) => return None,
        Some(Err(error)) => format!("could not kill it: {error}"),
        None => format!("did not confirm the kill within {} s", KILL_AT_MOST.as_secs()),
    };
    Some(format!("the command may still run in the client's terminal {id}: the client {why}"))
}

/// The end of a command by what the client has reported, at first and with the last text.
fn end(over: &Over, last: Option<&TerminalExit>, notices: &mut Vec<String>) -> End {
    let last = last.and_then(exit);
    match over {
        Over::Exited(first) => match (exit(first), last) {
            (Some(first), Some(last)) if first != last => {
                notices.push(format!("the client reported two ends: {}, then {}", exit_text(first), exit_text(last)));
                End::Lost
            }
            (first, last) => first.or(last).map_or(End::Lost, End::Own),
        },
        Over::Unknown => End::Lost,
        Over::Stop(why) => End::Stopped { why: *why, exit: last.unwrap_or(Exit::Signal(SIGKILL)) },
    }
}

/// The exit status in the engine's form; none if the client names neither code nor signal.
fn exit(reported: &TerminalExit) -> Option<Exit> {
    match (&reported.signal, reported.code) {
        (Some(name), _) => Some(Exit::Signal(signal::number(name).unwrap_or(SIGKILL))),
        // Other systems have larger codes. All of them are failures.
        (None, Some(code)) => Some(Exit::Code(u8::try_from(code).unwrap_or(u8::MAX))),
        (None, None) => None,
    }
}

fn exit_text(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(number) => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(code: Option<u32>, signal: Option<&str>) -> TerminalExit {
        TerminalExit { code, signal: signal.map(str::to_owned) }
    }

    #[test]
    fn a_signal_counts_more_than_a_code_and_an_unknown_one_is_a_kill() {
        assert_eq!(exit(&reported(Some(3), None)), Some(Exit::Code(3)));
        assert_eq!(exit(&reported(None, Some("SIGTERM"))), Some(Exit::Signal(15)));
        assert_eq!(exit(&reported(Some(0), Some("SIGKILL"))), Some(Exit::Signal(9)));
        assert_eq!(exit(&reported(None, Some("SIGFOO"))), Some(Exit::Signal(9)));
        assert_eq!(exit(&reported(Some(0x1_0000), None)), Some(Exit::Code(255)));
        assert_eq!(exit(&reported(None, None)), None);
    }

    #[test]
    fn two_different_ends_are_none() {
        let mut notices = Vec::new();
        let over = Over::Exited(reported(Some(0), None));
        assert_eq!(end(&over, Some(&reported(Some(3), None)), &mut notices), End::Lost);
        assert_eq!(notices, ["the client reported two ends: exit code 0, then exit code 3"]);
        assert_eq!(end(&over, Some(&reported(None, None)), &mut Vec::new()), End::Own(Exit::Code(0)));
    }

    #[test]
    fn a_text_beyond_the_limit_is_cut_between_characters() {
        let (send, receive) = watch::channel(TerminalText::default());
        publish(&send, TerminalText { text: "ä".repeat(CLIENT_OUTPUT_LIMIT), ..TerminalText::default() });
        let text = receive.borrow();
        assert!(text.is_cut && text.text.len() <= CLIENT_OUTPUT_LIMIT && text.text.chars().all(|char| char == 'ä'));
    }
}
