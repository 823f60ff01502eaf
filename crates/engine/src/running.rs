//! A running command.
//!
//! [`Run`] is the one loop of every command. It handles reports of the keeper, output of the command, and requests of
//! callers. A [`Running`] is a handle to a command that runs on a task of its own.

mod attended;
mod client;
mod finish;
mod handle;
mod handover;
mod line_limit;
mod listen;
mod registered;
mod stream;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bashful_keeper::{End, StopReason};
use bashful_sys::boot_time;
use bashful_sys::signal::Signal;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

pub use handle::{Dropped, Live, Running, StillInForeground, StreamName, Written};
pub use handover::{InBackground, NotSent};
pub use listen::{
    Chunk, Heard, Listening, OutputForm, OutputListener, OutputStream, TailUpdate, TailUpdates, WhenBehind,
};

pub(crate) use handle::RunRequest;
use line_limit::LineLimit;
use listen::Feed;
use stream::{OutputSource, Stream};

use crate::Options;
use crate::backend::{Attached, Backend, Outputs};
use crate::capture::Capture;
use crate::check::Checked;
use crate::client_terminal::ClientView;
use crate::command_log::LogEntry;
use crate::last_lines::LastOfFirst;
use crate::link::{Ended, Link};
use crate::mask::Mask;
use crate::outcome::Outcome;
use crate::registry::{REGISTERED_AFTER, Registration, UPDATED_EVERY};
use crate::request::Lines;
use crate::sessions::Entered;
use crate::terminal::CommandTerminal;

/// Shortest time between two updates of live output: nobody reads faster.
const LIVE_EVERY: Duration = Duration::from_millis(50);

/// Bytes of live output: a screenful or two.
const LIVE_SHOWN: usize = 8 * 1024;

/// Output of a terminal that may be the beginning of a withheld value is shown after so long: somebody who types waits for it.
const HELD_AT_MOST: Duration = Duration::from_millis(20);

/// A keeper that is silent for so long after it had to kill its tree never reports: the command may have stopped it.
/// Longer than a keeper takes to find that a process cannot be killed.
const OVERDUE_AFTER: Duration = Duration::from_secs(8);

/// Facts about a command that its backend did not learn.
#[derive(Debug, Clone, Copy, Default)]
struct ReportGaps {
    lost_beginning: bool,
    exit_is_unknown: bool,
}

/// A running command with its streams and channels, up to its end. Dropping it stops the command.
pub(crate) struct Run {
    checked: Checked,
    link: Box<dyn Link>,
    /// One stream, or two if stdout and stderr are split.
    streams: Vec<Stream>,
    mask: Arc<Mask>,
    pid: Option<i32>,
    session: Option<Entered>,
    /// Time of the start since boot. It includes sleep of the machine, as the elapsed time does.
    began: Duration,
    /// True if the next command may use the link: this one ended by itself, left nothing, and sent its keeper no order
    /// that may still be unread; or its session continues.
    link_is_free: bool,
    /// True if the keeper was told to stop the command.
    stop_was_sent: bool,
    requests: mpsc::UnboundedReceiver<RunRequest>,
    live: watch::Sender<Live>,
    feed: Option<Feed>,
    written: Written,
    registration: Option<Registration>,
    line_limit: LineLimit,
    alarms: Alarms,
    screens: Screens,
    ending: Ending,
    backend: Arc<dyn Backend>,
    options: Arc<Options>,
    _permit: OwnedSemaphorePermit,
}

/// The times at which a running command has something to do.
#[derive(Default)]
struct Alarms {
    live: Option<Instant>,
    /// The listener of a terminal hears what is held back.
    held: Option<Instant>,
    registry: Option<Instant>,
    /// The keeper has been silent for too long.
    overdue: Option<Instant>,
}

/// The terminals of a command.
#[derive(Default)]
struct Screens {
    /// The command's own.
    own: Option<CommandTerminal>,
    /// The host attends to the terminal, and has put its own terminal back when this resolves.
    host_restored: Option<oneshot::Receiver<()>>,
    /// The client's, if the command runs in one.
    client: Option<ClientView>,
}

/// Facts about the end of a command, in the order in which they come.
#[derive(Default)]
struct Ending {
    /// End and elapsed time of the shell, while its leftover processes are being stopped.
    shell: Option<(End, Duration)>,
    /// Facts that the backend reported.
    notices: Vec<String>,
    /// Facts that the backend did not learn.
    gaps: ReportGaps,
    /// The outcome, while the host puts its own terminal back.
    outcome: Option<Box<Outcome>>,
}

/// The next event of a running command.
enum RunEvent {
    /// None if the command was lost.
    Ended(Option<Ended>),
    Wrote(usize),
    Requested(Option<RunRequest>),
    LiveDue,
    HeldDue,
    /// The client's terminal shows a new text.
    ClientWrote,
    /// The wanted lines have come, and the time to wait for the end is over.
    Enough,
    RegistryDue,
    Overdue,
}

/// The other ends of a run's channels.
pub(crate) struct Handles {
    requests: mpsc::UnboundedSender<RunRequest>,
    live: watch::Receiver<Live>,
}

impl Run {
    pub(crate) fn new(
        attached: Attached,
        checked: Checked,
        mask: Arc<Mask>,
        began: Instant,
        backend: Arc<dyn Backend>,
        options: Arc<Options>,
        permit: OwnedSemaphorePermit,
    ) -> io::Result<(Self, Handles)> {
        let (request, requests) = mpsc::unbounded_channel();
        let (live, shown) = watch::channel(Live::default());
        let handles = Handles { requests: request, live: shown };
        let plan = checked.plan();
        let stream = |(name, source)| {
            let lines = plan.lines.filter(|_| name == StreamName::Output);
            let window = lines.map_or(plan.window, |lines| plan.window.of_lines(lines));
            let capture =
                Capture::new(window, plan.cleaning, options.artifacts.clone()).only_last_of_first(match lines {
                    Some(Lines::LastOfFirst { first, last }) => Some(LastOfFirst::new(plan.window, first, last)),
                    _ => None,
                });
            let capture = capture.save_beyond(plan.save_beyond).condense_within(plan.condense_within).redacting(&mask);
            Stream::new(name, source, capture)
        };
        let terminal = match &attached.outputs {
            Outputs::Terminal(outside) => Some(CommandTerminal::new(outside.try_clone()?)),
            Outputs::Combined(_) | Outputs::Split { .. } => None,
        };
        let streams = sources(attached.outputs).into_iter().map(stream).collect::<io::Result<_>>()?;
        let alarms = Alarms {
            registry: options.registry.as_ref().map(|_| began + REGISTERED_AFTER),
            overdue: overdue(began, plan.lifetime.0.saturating_add(plan.grace.0)),
            ..Alarms::default()
        };
        let run = Self {
            link: attached.link,
            streams,
            mask,
            pid: attached.pid,
            session: attached.session,
            began: boot_time().saturating_sub(began.elapsed()),
            link_is_free: false,
            stop_was_sent: false,
            requests,
            live,
            feed: None,
            written: Written::default(),
            registration: None,
            line_limit: LineLimit::new(plan.enough),
            alarms,
            screens: Screens { own: terminal, client: attached.client, host_restored: None },
            ending: Ending::default(),
            checked,
            backend,
            options,
            _permit: permit,
        };
        Ok((run, handles))
    }

    /// Counter of the bytes that the command writes.
    pub(crate) fn written(&self) -> Written {
        self.written.clone()
    }

    /// Time that the command waited for its turn in its session; none if the shell was free.
    pub(crate) fn waited(&self) -> Option<Duration> {
        self.session.as_ref()?.waited
    }

    /// Streams the output to a listener. Call it before anything is read.
    pub(crate) fn listen(&mut self, listener: OutputListener) {
        for stream in &mut self.streams {
            stream.capture.set_listener(listener.form());
        }
        self.feed = Some(Feed::new(listener, Arc::clone(&self.mask)));
    }

    /// Sends a signal to every process of the command.
    pub(crate) async fn signal(&mut self, signal: Signal) {
        if let Ok(number) = u8::try_from(signal.as_raw()) {
            self.link.signal(number).await;
        }
    }

    /// Publishes the newest output on this channel. The first value comes now, when the command has started.
    pub(crate) fn show_progress(&mut self, progress: watch::Sender<Live>, handles: &mut Handles) {
        handles.live = progress.subscribe();
        self.live = progress;
        self.publish_live();
    }

    /// Continues on a task of its own. The log entry is written at the end, or as cancelled when the handle is dropped.
    pub(crate) fn into_running(mut self, handles: Handles, mut entry: Option<LogEntry>) -> Running {
        let (send, outcome) = oneshot::channel();
        let job = Running {
            pid: self.pid,
            requests: handles.requests,
            live: handles.live,
            written: self.written.clone(),
            outcome,
        };
        tokio::spawn(async move {
            if let Some(outcome) = self.until_end().await {
                self.give_back();
                if let Some(entry) = &mut entry {
                    entry.ended(&outcome);
                }
                drop(entry);
                // The receiver may be gone.
                let _ = send.send(outcome);
            }
        });
        job
    }

    /// Returns the link for the next command, if it may use it.
    pub(crate) fn give_back(self) {
        if self.link_is_free {
            self.link.give_back();
        }
    }

    /// Runs the command to its end; none if no handle is left, or it became a job. The future may be dropped and
    /// requested again without loss.
    pub(crate) async fn until_end(&mut self) -> Option<Outcome> {
        loop {
            if self.ending.outcome.is_some() {
                self.wait_for_host().await;
                return self.ending.outcome.take().map(|outcome| *outcome);
            }
            match self.next().await {
                RunEvent::Wrote(index) => self.read(index),
                RunEvent::LiveDue | RunEvent::ClientWrote | RunEvent::Requested(Some(RunRequest::Live)) => {
                    self.publish_live();
                }
                RunEvent::HeldDue => self.release_held(),
                RunEvent::Enough => self.close(),
                RunEvent::RegistryDue => self.update_registry(),
                RunEvent::Overdue if self.link.kill() => self.alarms.overdue = None,
                RunEvent::Requested(Some(RunRequest::Stop(why))) => self.stop(why).await,
                RunEvent::Requested(Some(RunRequest::Signal(number))) => self.link.signal(number).await,
                RunEvent::Requested(Some(RunRequest::Background(answer))) => {
                    let sent = self.send_to_background().await;
                    let is_sent = sent.is_ok();
                    // A caller that does not wait for the answer finds the job in the list.
                    let _ = answer.send(sent);
                    if is_sent {
                        return None;
                    }
                }
                RunEvent::Requested(None) => return None,
                RunEvent::Ended(Some(Ended { end, left, at, .. })) if self.must_stop_leftovers(end, &left) => {
                    self.ending.shell = Some((end, self.elapsed_at(at)));
                    self.stop(StopReason::LeftBehind).await;
                }
                RunEvent::Ended(Some(ended)) => {
                    let Ended { end, left, shell_stays, at, lost_beginning, exit_is_unknown, notices } = ended;
                    self.ending.gaps = ReportGaps { lost_beginning, exit_is_unknown };
                    self.ending.notices = notices;
                    let elapsed = self.elapsed_at(at);
                    self.ending.outcome = Some(Box::new(self.finish(end, left, shell_stays, elapsed).await));
                }
                RunEvent::Ended(None) | RunEvent::Overdue => self.ending.outcome = Some(Box::new(self.lost().await)),
            }
        }
    }

    /// Waits for the next event. The future may be dropped without loss.
    async fn next(&mut self) -> RunEvent {
        tokio::select! {
            ended = self.link.ended() => RunEvent::Ended(ended),
            () = readable(self.streams.first(), self.feed.as_ref()) => RunEvent::Wrote(0),
            () = readable(self.streams.get(1), self.feed.as_ref()) => RunEvent::Wrote(1),
            ask = self.requests.recv() => RunEvent::Requested(ask),
            () = client::new_text(self.screens.client.as_mut()) => RunEvent::ClientWrote,
            () = due(self.alarms.live) => RunEvent::LiveDue,
            () = due(self.alarms.held) => RunEvent::HeldDue,
            () = due(self.line_limit.due()) => RunEvent::Enough,
            () = due(self.alarms.registry) => RunEvent::RegistryDue,
            () = due(self.alarms.overdue) => RunEvent::Overdue,
        }
    }

    /// Sends a stop to the keeper. A second call makes the keeper kill the command.
    pub(crate) async fn stop(&mut self, why: StopReason) {
        tracing::debug!(pid = self.pid, %why, "stopping");
        self.stop_was_sent = true;
        self.alarms.overdue = overdue(Instant::now(), self.checked.plan().grace.0);
        self.link.stop(why).await;
    }

    /// Time from the start to a moment that the keeper reported. This program may have been stopped since then.
    fn elapsed_at(&self, at: Duration) -> Duration {
        at.saturating_sub(self.began)
    }

    fn update_written(&self) {
        let bytes = self.streams.iter().map(|stream| stream.capture.bytes()).sum();
        self.written.set(bytes);
    }

    /// Reads output that has been written, or a good part of it.
    fn read(&mut self, index: usize) {
        let stream = &mut self.streams[index];
        let name = stream.name;
        stream.read(&mut |bytes| feed_listener(&mut self.feed, name, bytes));
        self.line_limit.count_lines(name, &stream.capture);
        if self.line_limit.is_over() {
            // While there is always something to read, no alarm fires.
            self.close();
        }
        if self.screens.own.is_some() && self.feed.is_some() {
            self.alarms.held = Some(Instant::now() + HELD_AT_MOST);
        }
        self.update_written();
        if self.is_watched() && self.alarms.live.is_none() {
            self.alarms.live = Some(Instant::now() + LIVE_EVERY);
        }
        if self.registration.is_some() && self.alarms.registry.is_none() {
            self.alarms.registry = Some(Instant::now() + UPDATED_EVERY);
        }
    }

    fn release_held(&mut self) {
        self.alarms.held = None;
        if let Some(feed) = &mut self.feed {
            feed.release(StreamName::Output);
        }
    }

    /// True if somebody watches the newest output. The command's own handle counts as one receiver.
    fn is_watched(&self) -> bool {
        self.live.receiver_count() > 1
    }

    fn publish_live(&mut self) {
        self.alarms.live = None;
        let live = self.newest();
        self.live.send_replace(live);
    }

    fn newest(&self) -> Live {
        let mut live = Live::default();
        for Stream { capture, .. } in &self.streams {
            live.newest.extend(capture.newest(LIVE_SHOWN, &self.mask));
            live.bytes += capture.bytes();
            live.lines += capture.lines();
        }
        self.add_client_text(&mut live);
        live
    }

    /// Closes the stream whose wanted lines have come. Processes that write to it get `SIGPIPE`.
    fn close(&mut self) {
        self.line_limit.close();
        if let Some(stream) = self.streams.first_mut() {
            stream.close();
        }
    }

    /// Reads everything that the pipes hold now.
    fn drain(&mut self) {
        for stream in &mut self.streams {
            let name = stream.name;
            stream.drain(&mut |bytes| feed_listener(&mut self.feed, name, bytes));
        }
        self.read_client_text();
        self.update_written();
    }
}

/// Names each descriptor of a command's output.
fn sources(outputs: Outputs) -> Vec<(StreamName, OutputSource)> {
    match outputs {
        Outputs::Combined(pipe) => vec![(StreamName::Output, OutputSource::Pipe(pipe))],
        Outputs::Split { stdout, stderr } => {
            vec![(StreamName::Output, OutputSource::Pipe(stdout)), (StreamName::Stderr, OutputSource::Pipe(stderr))]
        }
        Outputs::Terminal(outside) => vec![(StreamName::Output, OutputSource::Terminal(outside))],
    }
}

/// Passes output on to the listener, if there is one.
fn feed_listener(feed: &mut Option<Feed>, stream: StreamName, bytes: &[u8]) {
    if let Some(feed) = feed {
        feed.push(stream, bytes);
    }
}

/// Waits until a stream is readable and its listener has room; for ever without a stream.
async fn readable(stream: Option<&Stream>, feed: Option<&Feed>) {
    let Some(stream) = stream else { return std::future::pending().await };
    if let Some(feed) = feed {
        feed.room().await;
    }
    stream.readable().await;
}

/// Time at which a keeper is overdue whose tree has to be gone `after` this time; none if that is beyond the range of
/// the clock.
fn overdue(from: Instant, after: Duration) -> Option<Instant> {
    from.checked_add(after)?.checked_add(OVERDUE_AFTER)
}

async fn due(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}
