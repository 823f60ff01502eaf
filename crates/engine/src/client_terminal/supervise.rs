//! The life of one terminal of the client, from its creation to its release.

use std::sync::Arc;
use std::time::Duration;

use bashful_keeper::{End, Exit, StopReason};
use bashful_sys::{boot_time, signal};
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

/// Exit status for a signal whose name nobody knows: agents expect this code of every command that a signal ended.
const UNKNOWN_SIGNAL: Exit = Exit::Code(137);

/// Stands for the exit status of a killed command that was not reported. [`Ended::exit_is_unknown`] says so.
const UNREPORTED: Exit = Exit::Signal(9);

/// Watches over one command in a terminal of the client.
pub(super) struct Supervisor {
    pub(super) terminal: Arc<dyn ClientTerminal>,
    /// Orders to stop. Closed when nobody wants the command any more.
    pub(super) orders: mpsc::UnboundedReceiver<StopReason>,
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
            why = orders.recv() => Over::Stop(why.unwrap_or(StopReason::Cancelled)),
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
        // The rest is about the terminal. It takes the client's time, not the command's.
        let at = boot_time();
        let last = timeout(LAST_READ_AT_MOST, self.terminal.output(id)).await;
        let last_exit = if let Ok(Ok(last)) = last {
            publish(&self.text, last)
        } else {
            notices.push("the client did not show the end of the output: the last look may be older".to_owned());
            None
        };
        let released = timeout(RELEASE_AT_MOST, self.terminal.release(id)).await;
        notices.extend(unconfirmed_release(id, released.ok()));
        let end = end(&over, last_exit.as_ref(), &mut notices);
        let exit_is_unknown = matches!(over, Over::Stop(_)) && last_exit.as_ref().and_then(exit).is_none();
        let lost_beginning = self.text.borrow().is_cut;
        Ended { at, lost_beginning, exit_is_unknown, notices, ..Ended::now(end) }
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

/// The notice about a release that the client did not carry out, or not in time.
fn unconfirmed_release(id: &str, released: Option<Result<(), ClientTerminalError>>) -> Option<String> {
    let why = match released {
        Some(Ok(())) => return None,
        Some(Err(error)) => format!("could not release it: {error}"),
        None => format!("did not confirm the release within {} s", RELEASE_AT_MOST.as_secs()),
    };
    Some(format!("the client may still keep its terminal {id}: the client {why}"))
}

/// The end of a command by what the client has reported, at first and with the last text.
fn end(over: &Over, last: Option<&TerminalExit>, notices: &mut Vec<String>) -> End {
    let first = if let Over::Exited(first) = over { Some(first) } else { None };
    notices.extend(first.into_iter().chain(last).find_map(unusual_exit));
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
        Over::Stop(why) => End::Stopped { why: *why, exit: last.unwrap_or(UNREPORTED) },
    }
}

/// The notice about an exit status that the engine has no form for.
fn unusual_exit(reported: &TerminalExit) -> Option<String> {
    let status = match (&reported.signal, reported.code) {
        (Some(name), _) if signal::number(name).is_none() => format!("the unknown signal {name}"),
        (None, Some(code)) if u8::try_from(code).is_err() => format!("exit code {code}"),
        _ => return None,
    };
    let shown = exit(reported).map(exit_text)?;
    Some(format!("the client reported {status}, which is shown as {shown}"))
}

/// The exit status in the engine's form; none if the client names neither code nor signal.
fn exit(reported: &TerminalExit) -> Option<Exit> {
    match (&reported.signal, reported.code) {
        (Some(name), _) => Some(signal::number(name).map_or(UNKNOWN_SIGNAL, Exit::Signal)),
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
    fn a_signal_counts_more_than_a_code_and_no_signal_is_invented() {
        assert_eq!(exit(&reported(Some(3), None)), Some(Exit::Code(3)));
        assert_eq!(exit(&reported(None, Some("SIGTERM"))), Some(Exit::Signal(15)));
        assert_eq!(exit(&reported(Some(0), Some("SIGKILL"))), Some(Exit::Signal(9)));
        assert_eq!(exit(&reported(None, Some("SIGFOO"))), Some(Exit::Code(137)));
        assert_eq!(exit(&reported(Some(0x1_0000), None)), Some(Exit::Code(255)));
        assert_eq!(exit(&reported(None, None)), None);
    }

    #[test]
    fn a_status_that_is_shown_as_another_one_is_named() {
        let notice = |code, signal| {
            let mut notices = Vec::new();
            let exit = reported(code, signal);
            end(&Over::Exited(exit.clone()), Some(&exit), &mut notices);
            notices
        };
        assert_eq!(notice(Some(300), None), ["the client reported exit code 300, which is shown as exit code 255"]);
        assert_eq!(
            notice(None, Some("BOGUS")),
            ["the client reported the unknown signal BOGUS, which is shown as exit code 137"]
        );
        assert_eq!(notice(Some(255), None), [""; 0]);
        assert_eq!(notice(Some(0), Some("SIGTERM")), [""; 0]);
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
