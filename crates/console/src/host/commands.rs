//! Runs own commands: the tool path, the bang path, and terminals.
//!
//! Every command has a task of its own. Whatever goes wrong in it becomes the end of its card.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bashful_dialect::{
    Answer, BangCaller, BangError, BashArgument, BashCall, BashMode, BashResult, BashTerminal, Dialect, TerminalView,
    ToolCaller, Toolbox, Update,
};
use bashful_engine::{
    Approver, Canceller, CommandLog, CommandRecord, End, Exit, Fate, Heard, Listening, Live, OutputForm,
    OutputListener, OutputStream, StopReason, TerminalSize, WhenBehind,
};
use bashful_render::{CardExit, CardState, RawTail};
use bashful_screen::Size;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::approver::PersonApprover;
use super::attended::ShownTerminal;
use super::{Console, Message};
use crate::model::{CardId, Ending, Event, How};

/// Raw output that is kept for its colors.
const RAW_KEPT: usize = 128 * 1024;

/// Updates that wait for the console. It shows only the newest.
const UPDATES: usize = 4;

/// Starts commands, and remembers how to stop them.
pub(super) struct Commands {
    toolbox: Toolbox,
    dialect: Dialect,
    timeout: Option<Duration>,
    /// Name of the shell that bang commands share.
    key: String,
    no_person: Option<String>,
    questions: Arc<AtomicU64>,
    messages: mpsc::UnboundedSender<Message>,
    cancellers: HashMap<CardId, Canceller>,
}

impl Commands {
    pub(super) fn new(console: &Console, messages: mpsc::UnboundedSender<Message>) -> Self {
        Self {
            toolbox: console.toolbox.clone(),
            dialect: console.dialect,
            timeout: console.timeout,
            key: format!("console-{}", std::process::id()),
            no_person: console.no_person.clone(),
            questions: Arc::default(),
            messages,
            cancellers: HashMap::new(),
        }
    }

    /// Starts a command on a task of its own.
    pub(super) fn start(&mut self, card: CardId, how: How, command: String, size: Size) {
        let (canceller, cancellation) = Canceller::new();
        self.cancellers.insert(card, canceller);
        let messages = self.messages.clone();
        let approver = Some(self.approver());
        if how == How::Bang {
            let caller = BangCaller {
                key: self.key.clone(),
                approver,
                cancellation: Some(cancellation),
                ..BangCaller::default()
            };
            drop(tokio::spawn(bang(self.toolbox.clone(), command, caller, card, messages)));
            return;
        }
        let call = self.bash_call(how, command);
        let mut caller = ToolCaller { approver, cancellation: Some(cancellation), ..ToolCaller::default() };
        if how == How::Terminal {
            caller.terminal = Some(self.view(card, size));
        }
        let last = Arc::new(LastRecord { log: self.toolbox.log.clone(), record: Mutex::default() });
        let mut toolbox = self.toolbox.clone();
        toolbox.log = Some(Arc::clone(&last) as Arc<dyn CommandLog>);
        drop(tokio::spawn(tool(toolbox, call, caller, last, card, messages)));
    }

    /// Stops a command; asked again, kills it.
    pub(super) fn cancel(&self, card: CardId) {
        self.cancellers.get(&card).into_iter().for_each(Canceller::cancel);
    }

    /// Forgets a command that has ended.
    pub(super) fn ended(&mut self, card: CardId) {
        self.cancellers.remove(&card);
    }

    fn approver(&self) -> Arc<dyn Approver> {
        Arc::new(PersonApprover {
            messages: self.messages.clone(),
            no_person: self.no_person.clone(),
            next: Arc::clone(&self.questions),
        })
    }

    fn bash_call(&self, how: How, command: String) -> BashCall {
        // A job has the time of jobs, and a dialect whose modes have times knows one for a person's terminal.
        let has_time = match how {
            How::Tool | How::Bang => false,
            How::Terminal => self.dialect.has(BashArgument::Slow),
            How::Background => true,
        };
        let takes_timeout = !has_time && self.dialect.has(BashArgument::Timeout);
        BashCall {
            mode: if how == How::Background { BashMode::Background } else { BashMode::Default },
            pty: if how == How::Terminal { BashTerminal::Attended } else { BashTerminal::None },
            timeout: self.timeout.filter(|_| takes_timeout).map(|timeout| timeout.as_secs_f64()),
            ..BashCall::new(command)
        }
    }

    /// A view for a command's terminal. The terminal itself comes as a message when the command has started.
    fn view(&self, card: CardId, size: Size) -> TerminalView {
        let (host, arriving) = oneshot::channel();
        let listening = Listening { form: OutputForm::Raw, when_behind: WhenBehind::Wait };
        let (listener, stream) = OutputListener::new(listening);
        let messages = self.messages.clone();
        drop(tokio::spawn(async move {
            if let Ok(attended) = arriving.await {
                let _ = messages.send(Message::Terminal(Box::new(ShownTerminal::new(card, attended, stream))));
            }
        }));
        TerminalView { size: TerminalSize::new(size.columns(), size.rows()), host, listener }
    }
}

/// Calls the tool, and tells of its output and its end.
async fn tool(
    toolbox: Toolbox,
    call: BashCall,
    mut caller: ToolCaller,
    last: Arc<LastRecord>,
    card: CardId,
    messages: mpsc::UnboundedSender<Message>,
) {
    let (updates, newest) = mpsc::channel(UPDATES);
    caller.updates = Some(updates);
    let (raw, listener, reading) = keep_colors();
    caller.listener = Some(listener);
    drop(tokio::spawn(tell_updates(newest, raw.clone(), card, messages.clone())));
    let timeout = call.timeout.map(Duration::from_secs_f64);
    let answered = toolbox.run(call, caller).await;
    let _ = reading.await;
    let ending = match answered {
        Ok(answer) => {
            let ending = tool_ending(&answer, last.take());
            let saved = saved(&toolbox, ending.artifact.as_deref());
            let ending = without_false_promise(ending, saved);
            Ending { timeout, text: locked(&raw).paint(ending.text), ..ending }
        }
        Err(missing) => Ending::failed(missing.to_string()),
    };
    let _ = messages.send(Message::Event(Event::Ended { card, ending: Box::new(ending) }));
    toolbox.engine().sweep_if_due();
}

async fn tell_updates(
    mut updates: mpsc::Receiver<Update>,
    raw: Arc<Mutex<RawTail>>,
    card: CardId,
    messages: mpsc::UnboundedSender<Message>,
) {
    while let Some(update) = updates.recv().await {
        // Those of a job come from the job itself.
        let Some(lines) = update.lines else { continue };
        let text = locked(&raw).paint(update.text.into_string());
        let event = Event::Progress { card, text, bytes: update.bytes, lines };
        if messages.send(Message::Event(event)).is_err() {
            return;
        }
    }
}

/// The end of a card, from the answer for a model and the record for the log. Only the record is the same in every dialect.
fn tool_ending(answer: &Answer, record: Option<CommandRecord>) -> Ending {
    let text = answer.text.as_str().to_owned();
    let Some(record) = record else { return Ending::failed(text) };
    let (state, exit) = match &record.fate {
        Fate::Ended(end) => ended(*end),
        Fate::InBackground | Fate::Sent => (CardState::Backgrounded, None),
        Fate::Cancelled => (CardState::Cancelled, None),
        Fate::Refused(_) => (CardState::Refused, None),
        Fate::Intercepted => (CardState::Intercepted, None),
        Fate::NotStarted | Fate::Lost => (CardState::Failed, None),
    };
    let has_run = matches!(record.fate, Fate::Ended(_) | Fate::InBackground | Fate::Sent | Fate::Cancelled);
    let artifact = answer.links.iter().find_map(|link| link.uri.strip_prefix("artifact://")).map(str::to_owned);
    let cut = artifact.as_ref().filter(|_| (answer.text.len() as u64) < record.output_bytes);
    Ending {
        state,
        exit,
        elapsed: has_run.then_some(record.elapsed),
        size: has_run.then_some(record.output_bytes),
        truncated: cut.map(|_| "the reply has only a part of the output".to_owned()),
        artifact,
        job: record.job.filter(|_| state == CardState::Backgrounded),
        text: if has_run { text.clone() } else { String::new() },
        notices: if has_run { Vec::new() } else { vec![text] },
        timeout: None,
        shell_directory: None,
    }
}

/// The bytes that an artifact really has; none if there is no artifact.
fn saved(toolbox: &Toolbox, artifact: Option<&str>) -> Option<u64> {
    let id = bashful_engine::artifact_id(artifact?).ok()?;
    let entry = toolbox.engine().artifacts()?.get(id).ok()?;
    let missing: u64 = entry.missing.iter().map(|gap| gap.range.end.saturating_sub(gap.range.start)).sum();
    Some(entry.bytes.saturating_sub(missing))
}

/// The end of a card that calls an artifact the full output only if it is. A disk may have been full.
fn without_false_promise(ending: Ending, saved: Option<u64>) -> Ending {
    let is_whole = saved.zip(ending.size).is_none_or(|(saved, written)| saved >= written);
    match ending.truncated {
        Some(reason) if !is_whole => {
            let artifact = ending.artifact.as_deref().unwrap_or_default();
            let told = format!("truncated: {reason}; artifact://{artifact} has only a part, too");
            let notices = ending.notices.into_iter().chain([told]).collect();
            Ending { truncated: None, notices, ..ending }
        }
        _ => ending,
    }
}

/// State and exit of a command that has ended.
pub(super) fn ended(end: End) -> (CardState, Option<CardExit>) {
    let exit = |exit| match exit {
        Exit::Code(code) => CardExit::Code(code.into()),
        Exit::Signal(number) => CardExit::Signal(number.into()),
    };
    match end {
        End::Own(Exit::Code(0)) => (CardState::Done, Some(CardExit::Code(0))),
        End::Own(own) => (CardState::Failed, Some(exit(own))),
        End::Stopped { why: StopReason::TimeUp, .. } => (CardState::TimedOut, None),
        End::Stopped { .. } => (CardState::Cancelled, None),
        End::Lost => (CardState::Failed, None),
    }
}

/// Runs a bang command, and tells of its output and its end.
async fn bang(
    toolbox: Toolbox,
    command: String,
    mut caller: BangCaller,
    card: CardId,
    messages: mpsc::UnboundedSender<Message>,
) {
    let (progress, newest) = watch::channel(Live::default());
    caller.progress = Some(progress);
    let (raw, listener, reading) = keep_colors();
    caller.listener = Some(listener);
    drop(tokio::spawn(tell_progress(newest, Arc::clone(&raw), card, messages.clone())));
    let result = toolbox.bang(&command, caller).await;
    let written = reading.await.ok();
    let ending = match result {
        Ok(result) => {
            let saved = saved(&toolbox, result.artifact_id.as_deref());
            let ending = Ending { size: written, ..bang_ending(result, &locked(&raw)) };
            without_false_promise(ending, saved)
        }
        Err(BangError::Refused(why)) => Ending { state: CardState::Refused, ..Ending::failed(why) },
        Err(error) => Ending::failed(error.to_string()),
    };
    let _ = messages.send(Message::Event(Event::Ended { card, ending: Box::new(ending) }));
    toolbox.engine().sweep_if_due();
}

fn bang_ending(result: BashResult, raw: &RawTail) -> Ending {
    let state = match (result.timed_out, result.cancelled, result.exit_code) {
        (true, ..) => CardState::TimedOut,
        (_, true, _) => CardState::Cancelled,
        (_, _, Some(0)) => CardState::Done,
        _ => CardState::Failed,
    };
    Ending {
        state,
        exit: result.exit_code.map(CardExit::Code),
        elapsed: Some(Duration::from_millis(result.wall_time_ms)),
        size: Some(result.total_bytes),
        truncated: result
            .truncated
            .then(|| format!("{} of {} lines are here", result.output_lines, result.total_lines)),
        artifact: result.artifact_id,
        timeout: None,
        job: None,
        text: raw.paint(result.output),
        notices: result.notices,
        shell_directory: Some(result.working_dir.into()),
    }
}

async fn tell_progress(
    mut live: watch::Receiver<Live>,
    raw: Arc<Mutex<RawTail>>,
    card: CardId,
    messages: mpsc::UnboundedSender<Message>,
) {
    while live.changed().await.is_ok() {
        let Live { newest, bytes, lines, .. } = live.borrow_and_update().clone();
        let text = locked(&raw).paint(String::from_utf8_lossy(&newest).into_owned());
        if messages.send(Message::Event(Event::Progress { card, text, bytes, lines })).is_err() {
            return;
        }
    }
}

/// Keeps the newest raw output, for its colors. The task ends with the output, and counts its bytes.
fn keep_colors() -> (Arc<Mutex<RawTail>>, OutputListener, JoinHandle<u64>) {
    // A command never waits for its colors.
    let listening = Listening { form: OutputForm::Raw, when_behind: WhenBehind::Drop };
    let (listener, stream) = OutputListener::new(listening);
    let tail = Arc::new(Mutex::new(RawTail::new(RAW_KEPT)));
    let reading = tokio::spawn(keep_tail(stream, Arc::clone(&tail)));
    (tail, listener, reading)
}

async fn keep_tail(mut stream: OutputStream, tail: Arc<Mutex<RawTail>>) -> u64 {
    let mut written = 0;
    while let Some(heard) = stream.next().await {
        match heard {
            Heard::Chunk(chunk) => {
                written += chunk.bytes.len() as u64;
                locked(&tail).push(&chunk.bytes);
            }
            Heard::Dropped { bytes } => written += bytes,
        }
    }
    written
}

/// Locks a value that is shared with tasks.
fn locked<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Every change is a single call.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command log that also keeps the record.
#[derive(Debug)]
struct LastRecord {
    log: Option<Arc<dyn CommandLog>>,
    record: Mutex<Option<CommandRecord>>,
}

impl LastRecord {
    fn take(&self) -> Option<CommandRecord> {
        locked(&self.record).take()
    }
}

impl CommandLog for LastRecord {
    fn record(&self, record: &CommandRecord) {
        self.log.iter().for_each(|log| log.record(record));
        *locked(&self.record) = Some(record.clone());
    }

    fn notice(&self) -> Option<String> {
        self.log.as_ref()?.notice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_that_lacks_something_is_not_called_the_full_output() {
        let ending = || Ending {
            truncated: Some("2 of 9 lines are here".to_owned()),
            artifact: Some("1".to_owned()),
            size: Some(100),
            notices: Vec::new(),
            ..Ending::failed(String::new())
        };
        assert_eq!(without_false_promise(ending(), Some(100)), ending());
        assert_eq!(without_false_promise(ending(), None), ending());
        let partial = without_false_promise(ending(), Some(60));
        assert_eq!(partial.truncated, None);
        assert_eq!(partial.notices, ["truncated: 2 of 9 lines are here; artifact://1 has only a part, too"]);
    }
}
