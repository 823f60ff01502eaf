//! A command under way.
//!
//! [`Run`] is the one loop that every command goes through: what the keeper reports, what the command writes, and what
//! callers ask for come together here. A [`Running`] is a handle to one that goes on by itself.

mod handover;
mod line_limit;
mod listen;
mod stream;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bashful_keeper::protocol::Leftover;
use bashful_keeper::{End, Exit, StopReason};
use bashful_sys::boot_time;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

pub use handover::{InBackground, NotSent};
pub use listen::{
    Chunk, Heard, Listening, OutputForm, OutputListener, OutputStream, TailUpdate, TailUpdates, WhenBehind,
};

use line_limit::LineLimit;
use listen::Feed;
use stream::{Source, Stream};

use crate::backend::{After, Attached, Backend, Outputs};
use crate::capture::Capture;
use crate::check::Checked;
use crate::command_log::LogEntry;
use crate::link::{Ended, Link};
use crate::mask::Mask;
use crate::mentions;
use crate::outcome::{LeftBehind, Outcome, Output};
use crate::redact::Redactor;
use crate::registry::{NewEntry, OutputSoFar, REGISTERED_AFTER, Registration, UPDATED_EVERY};
use crate::request::Lines;
use crate::sessions::{Entered, SessionOutcome};
use crate::sweeping;
use crate::terminal::{AttendedTerminal, CommandTerminal};
use crate::{ByteSize, LeftoverPolicy, Options};

/// Listeners hear of new output at most this often: faster than that nobody reads.
const LIVE_EVERY: Duration = Duration::from_millis(50);

/// What listeners are shown: a screenful or two.
const LIVE_SHOWN: usize = 8 * 1024;

/// Output of a terminal that may be the beginning of a withheld value is shown after so long: somebody who types waits for it.
const HELD_AT_MOST: Duration = Duration::from_millis(20);

/// A keeper that has not spoken so long after its tree should have been killed never will: the command may have stopped
/// it. Longer than a keeper itself takes to find that something cannot be killed.
const OVERDUE_AFTER: Duration = Duration::from_secs(8);

/// What a command looks like while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Live {
    /// The newest part of its output, without withheld values.
    pub newest: Vec<u8>,
    /// How many bytes it has written.
    pub bytes: u64,
    /// How many lines it has written.
    pub lines: u64,
}

/// A stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamName {
    /// Standard output, and standard error too if the two are taken as one.
    Output,
    /// Standard error.
    Stderr,
}

/// The command is out of our hands: its keeper went away, and nobody can say how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the job was dropped before it ended")]
pub struct Dropped;

/// What a caller wants of a command under way.
#[derive(Debug)]
pub(crate) enum Ask {
    Stop(StopReason),
    /// To show the newest output now.
    Live,
    /// To send a signal to all of it.
    Signal(u8),
    /// To make it a job.
    Background(oneshot::Sender<Result<InBackground, NotSent>>),
}

/// Counts what a command writes, also after its job was dropped.
#[derive(Debug, Clone, Default)]
pub struct Written(Arc<AtomicU64>);

impl Written {
    /// Bytes written so far, on both streams.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for Written {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

/// A command that runs by itself. Dropping the handle stops it.
#[derive(Debug)]
pub struct Running {
    pid: Option<i32>,
    asks: mpsc::UnboundedSender<Ask>,
    live: watch::Receiver<Live>,
    written: Written,
    outcome: oneshot::Receiver<Outcome>,
}

impl Running {
    /// The shell's process id, which is that of its group too. None if it was lost before anybody could tell.
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// A counter of what it writes.
    pub fn written(&self) -> Written {
        self.written.clone()
    }

    /// Asks the command to stop; asked a second time, it is killed at once.
    pub fn stop(&self, why: StopReason) {
        // If it has ended already there is nothing to stop.
        let _ = self.asks.send(Ask::Stop(why));
    }

    /// Makes it a job. Nothing of it is lost or started anew. Where that cannot be done, it goes on as it was. A dropped
    /// future leaves it unknown which of the two happened.
    ///
    /// ```standalone_crate
    /// use std::sync::Arc;
    /// use bashful_engine::{Caller, Engine, JobLimits, JobStore, Options, Request, Script, Stop};
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     bashful_engine::keeper_main();
    ///     let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    ///     runtime.block_on(async {
    ///         let directory = tempfile::tempdir()?;
    ///         let jobs = Arc::new(JobStore::new(directory.path().join("jobs"), JobLimits::default()));
    ///         let mut options = Options::new("/bin/bash".into(), "/".into()).inherit();
    ///         options.jobs = Some(Arc::clone(&jobs));
    ///         let engine = Engine::new(options)?;
    ///
    ///         let started = engine.start(Request::new(Script::new("sleep 1000")?), Caller::default()).await?;
    ///         let running = started.running().ok_or("refused")?;
    ///         let sent = running.send_to_background().await.map_err(|_| "it goes on in the foreground")?;
    ///         jobs.stop(sent.job.id, Stop::Ask).await?;
    ///         jobs.wait_until_gone(sent.job.id).await?;
    ///         Ok(())
    ///     })
    /// }
    /// ```
    pub async fn send_to_background(self) -> Result<InBackground, StillInForeground> {
        let (answer, answered) = oneshot::channel();
        let sent = match self.asks.send(Ask::Background(answer)) {
            Ok(()) => answered.await.unwrap_or(Err(NotSent::Ended)),
            Err(_) => Err(NotSent::Ended),
        };
        sent.map_err(|why| StillInForeground { running: self, why })
    }

    /// The newest output, now and whenever there is more, at most every 50 ms. The last value has the end, and then the
    /// channel is closed. [`Caller::listener`](crate::Caller::listener) gets all of the output.
    pub fn live(&self) -> watch::Receiver<Live> {
        let live = self.live.clone();
        // If it has ended already, the last value is there.
        let _ = self.asks.send(Ask::Live);
        live
    }

    /// Waits for the end. A dropped future leaves the command running, and may be asked for again.
    pub async fn wait(&mut self) -> Result<Outcome, Dropped> {
        (&mut self.outcome).await.map_err(|_| Dropped)
    }
}

/// A command that could not be made a job. It goes on.
#[derive(Debug)]
pub struct StillInForeground {
    /// The command.
    pub running: Running,
    /// Why it is no job.
    pub why: NotSent,
}

/// A command and all that belongs to it, on its way to its end. Dropping it stops the command.
pub(crate) struct Run {
    link: Box<dyn Link>,
    /// One, or two if the streams are taken apart.
    streams: Vec<Stream>,
    mask: Arc<Mask>,
    pid: Option<i32>,
    session: Option<Entered>,
    /// Since the machine was started, sleep included: a command that was asleep with its machine took that long.
    began: Duration,
    /// The next command may have the link: this one has ended by itself and left nothing, and its keeper was asked for nothing
    /// that it may still have to read; or its session goes on.
    link_is_free: bool,
    /// The keeper was asked to stop the command.
    was_asked: bool,
    asks: mpsc::UnboundedReceiver<Ask>,
    live: watch::Sender<Live>,
    feed: Option<Feed>,
    written: Written,
    live_due: Option<Instant>,
    /// The listener of a terminal hears what is held back.
    held_due: Option<Instant>,
    registry_due: Option<Instant>,
    registration: Option<Registration>,
    overdue: Option<Instant>,
    /// Whether all that is wanted has come.
    line_limit: LineLimit,
    /// How the shell ended, while what it left behind is being stopped.
    own_end: Option<(End, Duration)>,
    /// The command's terminal, if it has one.
    terminal: Option<CommandTerminal>,
    /// The host attends to the terminal, and has put its own terminal back when this resolves.
    host_restored: Option<oneshot::Receiver<()>>,
    /// The outcome, while the host puts its own terminal back.
    over: Option<Outcome>,
    checked: Checked,
    backend: Arc<dyn Backend>,
    options: Arc<Options>,
    _permit: OwnedSemaphorePermit,
}

/// What happened next.
enum Happened {
    /// None if the command was lost.
    Ended(Option<Ended>),
    Wrote(usize),
    Asked(Option<Ask>),
    LiveDue,
    HeldDue,
    /// All that is wanted has come, and nobody has to wait for the rest.
    Enough,
    RegistryDue,
    Overdue,
}

/// The other ends of a run's channels.
pub(crate) struct Handles {
    asks: mpsc::UnboundedSender<Ask>,
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
        let (ask, asks) = mpsc::unbounded_channel();
        let (live, shown) = watch::channel(Live::default());
        let handles = Handles { asks: ask, live: shown };
        let plan = checked.plan();
        let stream = |(name, source)| {
            let lines = plan.lines.filter(|_| name == StreamName::Output);
            let window = lines.map_or(plan.window, |lines| plan.window.of_lines(lines));
            let capture = Capture::new(window, plan.cleaning, options.artifacts.clone()).only_last(match lines {
                Some(Lines::LastOfFirst { last, .. }) => Some(last.get()),
                _ => None,
            });
            let capture = capture.save_beyond(plan.save_beyond).redacting(&mask);
            Stream::new(name, source, capture)
        };
        let terminal = match &attached.outputs {
            Outputs::Terminal(outside) => Some(CommandTerminal::new(outside.try_clone()?)),
            Outputs::Combined(_) | Outputs::Split { .. } => None,
        };
        let streams = sources(attached.outputs).into_iter().map(stream).collect::<io::Result<_>>()?;
        let run = Self {
            link: attached.link,
            streams,
            mask,
            pid: attached.pid,
            session: attached.session,
            began: boot_time().saturating_sub(began.elapsed()),
            link_is_free: false,
            was_asked: false,
            asks,
            live,
            feed: None,
            written: Written::default(),
            live_due: None,
            held_due: None,
            registry_due: options.registry.as_ref().map(|_| began + REGISTERED_AFTER),
            registration: None,
            line_limit: LineLimit::new(checked.plan().enough),
            own_end: None,
            terminal,
            host_restored: None,
            over: None,
            overdue: overdue(began, checked.plan().lifetime.0.saturating_add(checked.plan().grace.0)),
            checked,
            backend,
            options,
            _permit: permit,
        };
        Ok((run, handles))
    }

    /// A counter of what it writes.
    pub(crate) fn written(&self) -> Written {
        self.written.clone()
    }

    /// How long it has waited for its turn in its session; none if the shell was free.
    pub(crate) fn waited(&self) -> Option<Duration> {
        self.session.as_ref()?.waited
    }

    /// Hands the command's terminal to the host that attends to it; nothing, if it has none.
    pub(crate) fn attend(&mut self, host: oneshot::Sender<AttendedTerminal>, handles: &Handles) {
        let Some(terminal) = self.terminal.clone() else { return };
        let (restored, host_restored) = oneshot::channel();
        let attended = AttendedTerminal {
            terminal,
            suspensions: self.link.suspensions(),
            asks: handles.asks.downgrade(),
            _restored: restored,
        };
        // A host that is gone needs no terminal.
        if host.send(attended).is_ok() {
            self.host_restored = Some(host_restored);
        }
    }

    /// Waits until the host has put its own terminal back, if it attends to the command's, and tells the keeper.
    async fn wait_for_host(&mut self) {
        if let Some(restored) = &mut self.host_restored {
            // It is dropped when the host is through with the terminal.
            let _ = restored.await;
            self.host_restored = None;
            self.link.host_terminal_restored().await;
        }
    }

    /// Streams all that it writes. To be called before anything is read.
    pub(crate) fn listen(&mut self, listener: OutputListener) {
        for stream in &mut self.streams {
            stream.capture.tell(listener.form());
        }
        self.feed = Some(Feed::new(listener, Arc::clone(&self.mask)));
    }

    /// Shows the newest output to the receivers of this channel, for the first time now, when the command has started.
    pub(crate) fn show_progress(&mut self, progress: watch::Sender<Live>, handles: &mut Handles) {
        handles.live = progress.subscribe();
        self.live = progress;
        self.tell_live();
    }

    /// Lets it go on by itself. The entry is logged when it has ended, or as cancelled when the handle is dropped.
    pub(crate) fn into_running(mut self, handles: Handles, mut entry: Option<LogEntry>) -> Running {
        let (send, outcome) = oneshot::channel();
        let job =
            Running { pid: self.pid, asks: handles.asks, live: handles.live, written: self.written.clone(), outcome };
        tokio::spawn(async move {
            if let Some(outcome) = self.until_end().await {
                self.give_back();
                if let Some(entry) = &mut entry {
                    entry.ended(&outcome);
                }
                drop(entry);
                // Nobody may be left who wants to know.
                let _ = send.send(outcome);
            }
        });
        job
    }

    /// Leaves the connection of a command that is over to the next one in its session, or its keeper to any.
    pub(crate) fn give_back(self) {
        if self.link_is_free {
            self.link.give_back();
        }
    }

    /// Sees it through; none if nobody is left who could ask it to stop. May be dropped and called again: nothing is lost.
    pub(crate) async fn until_end(&mut self) -> Option<Outcome> {
        loop {
            if self.over.is_some() {
                self.wait_for_host().await;
                return self.over.take();
            }
            match self.next().await {
                Happened::Wrote(index) => self.read(index),
                Happened::LiveDue | Happened::Asked(Some(Ask::Live)) => self.tell_live(),
                Happened::HeldDue => self.release_held(),
                Happened::Enough => self.close(),
                Happened::RegistryDue => self.update_registry(),
                Happened::Overdue if self.link.kill() => self.overdue = None,
                Happened::Asked(Some(Ask::Stop(why))) => self.ask(why).await,
                Happened::Asked(Some(Ask::Signal(number))) => self.link.signal(number).await,
                Happened::Asked(Some(Ask::Background(answer))) => {
                    let sent = self.send_to_background().await;
                    let is_sent = sent.is_ok();
                    // Who does not wait for the answer finds the job on the list.
                    let _ = answer.send(sent);
                    if is_sent {
                        return None;
                    }
                }
                Happened::Asked(None) => return None,
                Happened::Ended(Some(Ended { end, left, at, .. })) if self.must_stop(end, &left) => {
                    self.own_end = Some((end, self.elapsed_at(at)));
                    self.ask(StopReason::LeftBehind).await;
                }
                Happened::Ended(Some(Ended { end, left, shell_stays, at })) => {
                    let elapsed = self.elapsed_at(at);
                    self.over = Some(self.finish(end, left, shell_stays, elapsed).await);
                }
                Happened::Ended(None) | Happened::Overdue => self.over = Some(self.lost().await),
            }
        }
    }

    /// Waits until something happens. May be dropped: nothing is lost.
    async fn next(&mut self) -> Happened {
        tokio::select! {
            ended = self.link.ended() => Happened::Ended(ended),
            () = readable(self.streams.first(), self.feed.as_ref()) => Happened::Wrote(0),
            () = readable(self.streams.get(1), self.feed.as_ref()) => Happened::Wrote(1),
            ask = self.asks.recv() => Happened::Asked(ask),
            () = due(self.live_due) => Happened::LiveDue,
            () = due(self.held_due) => Happened::HeldDue,
            () = due(self.line_limit.due()) => Happened::Enough,
            () = due(self.registry_due) => Happened::RegistryDue,
            () = due(self.overdue) => Happened::Overdue,
        }
    }

    /// Asks the keeper to stop the command; asked a second time, the keeper kills it.
    pub(crate) async fn ask(&mut self, why: StopReason) {
        tracing::debug!(pid = self.pid, %why, "stopping");
        self.was_asked = true;
        self.overdue = overdue(Instant::now(), self.checked.plan().grace.0);
        self.link.stop(why).await;
    }

    /// From the call to a moment that the keeper has told. This program may have been stopped since then.
    fn elapsed_at(&self, at: Duration) -> Duration {
        at.saturating_sub(self.began)
    }

    fn count(&self) {
        let bytes = self.streams.iter().map(|stream| stream.capture.bytes()).sum();
        self.written.0.store(bytes, Ordering::Relaxed);
    }

    /// Takes what has been written, or a good part of it.
    fn read(&mut self, index: usize) {
        let stream = &mut self.streams[index];
        let name = stream.name;
        stream.read(&mut |bytes| tell(&mut self.feed, name, bytes));
        self.line_limit.look(name, &stream.capture);
        if self.line_limit.is_over() {
            // Nobody looks at the clock while there is always something to read.
            self.close();
        }
        if self.terminal.is_some() && self.feed.is_some() {
            self.held_due = Some(Instant::now() + HELD_AT_MOST);
        }
        self.count();
        if self.is_looked_at() && self.live_due.is_none() {
            self.live_due = Some(Instant::now() + LIVE_EVERY);
        }
        if self.registration.is_some() && self.registry_due.is_none() {
            self.registry_due = Some(Instant::now() + UPDATED_EVERY);
        }
    }

    fn release_held(&mut self) {
        self.held_due = None;
        if let Some(feed) = &mut self.feed {
            feed.release(StreamName::Output);
        }
    }

    /// Registers the command, or writes down how far it has come. Where that cannot be done, nobody else sees the command.
    fn update_registry(&mut self) {
        self.registry_due = None;
        let redactor = Redactor::new(Arc::clone(&self.mask));
        let live = self.newest();
        let newest = String::from_utf8_lossy(&live.newest);
        let last_line = newest.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let output = OutputSoFar { bytes: live.bytes, lines: live.lines, last_line: redactor.redact(last_line) };
        if let Some(registration) = &mut self.registration {
            let _ = registration.update(&output);
            return;
        }
        let Some(registry) = &self.options.registry else { return };
        let plan = self.checked.plan();
        let entry = NewEntry {
            pid: self.pid,
            script: redactor.redact(String::from_utf8_lossy(plan.given_script().as_bytes())),
            directory: redactor.redact(plan.directory.to_string_lossy()),
            session: self.session.as_ref().map(|session| redactor.redact(session.name.as_str())),
            began: SystemTime::now() - boot_time().saturating_sub(self.began),
            lifetime: plan.lifetime.0,
        };
        match registry.register(entry, &output) {
            Ok(registration) => self.registration = Some(registration),
            Err(error) => tracing::debug!(%error, "the command is not in the registry"),
        }
    }

    /// True if anybody wants to see the newest output. The job's own handle is one receiver.
    fn is_looked_at(&self) -> bool {
        self.live.receiver_count() > 1
    }

    fn tell_live(&mut self) {
        self.live_due = None;
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
        live
    }

    /// Whether what is left has to go before the reply.
    fn must_stop(&self, end: End, left: &[Leftover]) -> bool {
        !left.is_empty() && end != End::Lost && self.options.leftovers == LeftoverPolicy::Stop
    }

    async fn finish(&mut self, end: End, left: Vec<Leftover>, shell_stays: bool, elapsed: Duration) -> Outcome {
        self.drain();
        self.link_is_free = left.is_empty() && matches!(end, End::Own(_)) && !self.was_asked && self.terminal.is_none();
        let (end, elapsed) = match (self.own_end.take(), end) {
            // It had ended by itself before; what was stopped since is what it had left behind.
            (Some((own, elapsed)), End::Stopped { .. }) => (own, elapsed),
            (_, end) => (end, elapsed),
        };
        // What runs in a session that is over is being stopped.
        let is_over = self.session.is_some() && !shell_stays;
        let leftover = if left.is_empty() || is_over { None } else { self.leave(left).await };
        tracing::debug!(pid = self.pid, ?end, ?elapsed, "ended");
        if self.session.is_none() && self.options.ready > 0 {
            self.backend.prepare(&self.checked, After::Command);
        }
        self.outcome(end, leftover, elapsed, shell_stays)
    }

    async fn lost(&mut self) -> Outcome {
        let elapsed = self.elapsed_at(boot_time());
        tracing::error!(pid = self.pid, "the keeper is gone");
        self.backend.clean_up(self.link.supervisor()).await;
        self.drain();
        self.outcome(End::Lost, None, elapsed, false)
    }

    fn outcome(&mut self, end: End, leftover: Option<LeftBehind>, elapsed: Duration, shell_stays: bool) -> Outcome {
        self.tell_the_end();
        let (output, stderr) = self.outputs();
        let saved =
            self.streams.iter().filter_map(|stream| stream.capture.saved_on_disk()).reduce(|one, two| one + two);
        if let (Some(store), Some(bytes)) = (&self.options.artifacts, saved) {
            store.add_used(bytes);
            sweeping::sweep_aside_if_due(&self.options);
        }
        let (end, cut_off) = self.line_limit.judge(end);
        let elapsed = match end {
            // Its keeper began to count a moment before we did.
            End::Stopped { why: StopReason::TimeUp, .. } => elapsed.max(self.checked.plan().lifetime.0),
            _ => elapsed,
        };
        if self.session.is_some() {
            self.link_is_free = shell_stays;
        }
        let session = self.session.take().map(|Entered { name, is_new, lost_before, has_others, .. }| SessionOutcome {
            name,
            is_new,
            lost_before,
            shell_stays,
            has_others,
            directory: self.checked.plan().directory.clone(),
        });
        let has_failed = match end {
            End::Own(exit) => exit != Exit::Code(0),
            // It may have waited for what it lacked.
            End::Stopped { why, .. } => why == StopReason::TimeUp,
            End::Lost => false,
        };
        let missed = if has_failed { self.missed(&output, stderr.as_ref()) } else { Vec::new() };
        Outcome { end, output, stderr, leftover, elapsed, pid: self.pid, cut_off, session, missed }
    }

    /// The names of withheld variables that the command may have needed.
    fn missed(&self, output: &Output, stderr: Option<&Output>) -> Vec<String> {
        let plan = self.checked.plan();
        let shown: Vec<_> = std::iter::once(&output.clip).chain(stderr.map(|stderr| &stderr.clip)).collect();
        mentions::mentioned(&plan.environment.withheld, plan.script.as_bytes(), &shown)
    }

    /// Tells listeners the line that has no end, and that nothing follows.
    fn tell_the_end(&mut self) {
        if self.is_looked_at() {
            self.tell_live();
        }
        let Some(mut feed) = self.feed.take() else { return };
        for Stream { name, capture, .. } in &self.streams {
            feed.push(*name, &capture.untold());
        }
    }

    /// What was written so far: the output, and standard error if that is taken apart.
    fn outputs(&mut self) -> (Output, Option<Output>) {
        let limit = self.checked.plan().window.limit();
        let mut outputs: Vec<Output> = self.outputs_within(&[limit; 2]);
        // Streams that only a limit on lines has taken apart are shown as one text, and share its limit.
        if let (Some(_), [output, stderr]) = (self.checked.plan().lines, outputs.as_slice()) {
            let sizes = [output.clip.text_bytes(), stderr.clip.text_bytes()];
            if sizes.iter().sum::<u64>() > limit.0 {
                let rest = |other: u64| ByteSize(limit.0 - other.min(limit.0 / 2));
                outputs = self.outputs_within(&[rest(sizes[1]), rest(sizes[0])]);
            }
        }
        let mut outputs = outputs.into_iter().map(|output| Output { limit, ..output });
        let output = outputs.next().expect("every command has one stream at least");
        (Output { wanted: self.checked.plan().lines, ..output }, outputs.next())
    }

    /// The streams, each with at most so much text.
    fn outputs_within(&mut self, limits: &[ByteSize; 2]) -> Vec<Output> {
        let with_limits = self.streams.iter_mut().zip(limits);
        with_limits.map(|(stream, limit)| stream.capture.output(&self.mask, *limit)).collect()
    }

    /// Closes the stream of which enough has come. Whoever writes to it learns that nobody reads any more.
    fn close(&mut self) {
        self.line_limit.close();
        if let Some(stream) = self.streams.first_mut() {
            stream.close();
        }
    }

    /// Takes what is in the pipes now.
    fn drain(&mut self) {
        for stream in &mut self.streams {
            let name = stream.name;
            stream.drain(&mut |bytes| tell(&mut self.feed, name, bytes));
        }
        self.count();
    }
}

/// The streams of a command, and what each is read from.
fn sources(outputs: Outputs) -> Vec<(StreamName, Source)> {
    match outputs {
        Outputs::Combined(pipe) => vec![(StreamName::Output, Source::Pipe(pipe))],
        Outputs::Split { stdout, stderr } => {
            vec![(StreamName::Output, Source::Pipe(stdout)), (StreamName::Stderr, Source::Pipe(stderr))]
        }
        Outputs::Terminal(outside) => vec![(StreamName::Output, Source::Terminal(outside))],
    }
}

/// Passes on a piece of output to the listener, if there is one.
fn tell(feed: &mut Option<Feed>, stream: StreamName, bytes: &[u8]) {
    if let Some(feed) = feed {
        feed.push(stream, bytes);
    }
}

/// Waits until it is time to read a stream; for ever if there is none.
async fn readable(stream: Option<&Stream>, feed: Option<&Feed>) {
    let Some(stream) = stream else { return std::future::pending().await };
    if let Some(feed) = feed {
        feed.room().await;
    }
    stream.readable().await;
}

/// When a keeper is overdue whose tree has to be gone after so long; never, if that is beyond what the clock can say.
fn overdue(from: Instant, after: Duration) -> Option<Instant> {
    from.checked_add(after)?.checked_add(OVERDUE_AFTER)
}

async fn due(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}
