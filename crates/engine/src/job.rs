//! A command under way.
//!
//! [`Run`] is the one loop that every command goes through: what the keeper reports, what the command writes, and what
//! callers ask for come together here. A [`Job`] is a handle to one that goes on by itself.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bashful_keeper::wire::{Leftover, Order, Release, Report};
use bashful_keeper::{End, StopReason};
use rustix::io::Errno;
use thiserror::Error;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use crate::backend::{Attached, Backend, Keeper};
use crate::capture::{Capture, Clip};
use crate::check::Checked;
use crate::link::{Link, Silence};
use crate::mask::{Edges, Mask};
use crate::outcome::{LeftBehind, Outcome, Output};
use crate::{LeftoverPolicy, Options};

/// Listeners hear of new output at most this often: faster than that nobody reads.
const LIVE_EVERY: Duration = Duration::from_millis(50);

/// What listeners are shown: a screenful or two.
const LIVE_SHOWN: usize = 8 * 1024;

/// Reads of one turn. A command that writes without pause must not keep us from hearing of its end.
const READS_A_TURN: usize = 16;

/// What is read after the end, at most: all that the pipe could hold when the shell ended.
const DRAINED_AT_MOST: usize = 1024 * 1024;

/// A keeper that has not spoken so long after its tree should have been killed never will: the command may have stopped
/// it. Longer than a keeper itself takes to find that something cannot be killed.
const OVERDUE_AFTER: Duration = Duration::from_secs(8);

/// How much the processes that were left behind may write to their file.
const LEFTOVER_AT_MOST: u64 = 1 << 30;

thread_local! {
    /// Bytes on their way from a pipe to a capture. One for each thread, because a thousand commands at once would need
    /// a thousand of them otherwise.
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; 64 * 1024]);
}

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

/// The command is out of our hands: its keeper went away, and nobody can say how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the job was dropped before it ended")]
pub struct Dropped;

/// A command that runs by itself. Dropping the handle stops it.
#[derive(Debug)]
pub struct Job {
    pid: Option<i32>,
    asks: mpsc::UnboundedSender<StopReason>,
    live: watch::Sender<Live>,
    outcome: oneshot::Receiver<Outcome>,
}

impl Job {
    /// The shell's process id, which is that of its group too. None if it was lost before anybody could tell.
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// Asks the command to stop; asked a second time, it is killed at once.
    pub fn stop(&self, why: StopReason) {
        // If it has ended already there is nothing to stop.
        let _ = self.asks.send(why);
    }

    /// The newest output, now and whenever there is more, at most every 50 ms.
    pub fn live(&self) -> watch::Receiver<Live> {
        self.live.subscribe()
    }

    /// Waits for the end. A dropped future leaves the command running, and may be asked for again.
    pub async fn wait(&mut self) -> Result<Outcome, Dropped> {
        (&mut self.outcome).await.map_err(|_| Dropped)
    }
}

/// A command and all that belongs to it, on its way to its end. Dropping it stops the command.
pub(crate) struct Run {
    link: Link,
    output: Option<AsyncFd<OwnedFd>>,
    capture: Capture,
    mask: Mask,
    pid: Option<i32>,
    began: Instant,
    keeper: Keeper,
    asks: mpsc::UnboundedReceiver<StopReason>,
    live: watch::Sender<Live>,
    live_due: Option<Instant>,
    overdue: Option<Instant>,
    checked: Checked,
    backend: Arc<dyn Backend>,
    options: Arc<Options>,
    _permit: OwnedSemaphorePermit,
}

/// What happened next.
enum Happened {
    Reported(Result<Report, Silence>),
    Wrote,
    StopAsked(Option<StopReason>),
    LiveDue,
    Overdue,
}

/// The other ends of a run's channels.
pub(crate) struct Handles {
    asks: mpsc::UnboundedSender<StopReason>,
    live: watch::Sender<Live>,
}

impl Run {
    pub(crate) fn new(
        attached: Attached,
        checked: Checked,
        began: Instant,
        backend: Arc<dyn Backend>,
        options: Arc<Options>,
        permit: OwnedSemaphorePermit,
    ) -> io::Result<(Self, Handles)> {
        let (ask, asks) = mpsc::unbounded_channel();
        // Nobody listens yet, and as long as nobody does, nothing is prepared for listeners.
        let live = watch::Sender::new(Live::default());
        let handles = Handles { asks: ask, live: live.clone() };
        let run = Self {
            link: attached.link,
            output: Some(bashful_sys::event::readable(attached.output)?),
            capture: Capture::new(checked.plan().window),
            mask: Mask::new(&checked.plan().environment.withheld),
            pid: attached.pid,
            began,
            keeper: attached.keeper,
            asks,
            live,
            live_due: None,
            overdue: overdue(began, checked.plan().lifetime.0.saturating_add(checked.plan().grace.0)),
            checked,
            backend,
            options,
            _permit: permit,
        };
        Ok((run, handles))
    }

    /// Lets it go on by itself.
    pub(crate) fn into_job(mut self, handles: Handles) -> Job {
        let (send, outcome) = oneshot::channel();
        let job = Job { pid: self.pid, asks: handles.asks, live: handles.live, outcome };
        tokio::spawn(async move {
            if let Some(outcome) = self.until_end().await {
                // Nobody may be left who wants to know.
                let _ = send.send(outcome);
            }
        });
        job
    }

    /// Sees it through; none if nobody is left who could ask it to stop. May be dropped and called again: nothing is lost.
    pub(crate) async fn until_end(&mut self) -> Option<Outcome> {
        loop {
            let happened = tokio::select! {
                report = self.link.next() => Happened::Reported(report),
                () = readable(self.output.as_ref()) => Happened::Wrote,
                why = self.asks.recv() => Happened::StopAsked(why),
                () = due(self.live_due) => Happened::LiveDue,
                () = due(self.overdue) => Happened::Overdue,
            };
            match happened {
                Happened::Wrote => self.read(),
                Happened::LiveDue => self.tell_live(),
                Happened::Overdue if self.keeper.kill() => self.overdue = None,
                Happened::StopAsked(Some(why)) => self.ask(why).await,
                Happened::StopAsked(None) => return None,
                Happened::Reported(Ok(Report::Ended { end, left })) => return Some(self.finish(end, left).await),
                Happened::Reported(Ok(Report::Started { .. } | Report::NotStarted { .. })) => {}
                Happened::Reported(Err(_)) | Happened::Overdue => return Some(self.lost().await),
            }
        }
    }

    async fn ask(&mut self, why: StopReason) {
        tracing::debug!(pid = self.pid, %why, "stopping");
        self.overdue = overdue(Instant::now(), self.checked.plan().grace.0);
        // A keeper that cannot be reached is gone, and the next report says so.
        let _ = self.link.send(&[&Order::Stop(why)], &[]).await;
    }

    /// Takes what has been written, or a good part of it.
    fn read(&mut self) {
        let Some(output) = &self.output else { return };
        for _ in 0..READS_A_TURN {
            match output.try_io(Interest::READABLE, |pipe| read_some(pipe, &mut self.capture)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Ok(0) | Err(_) => {
                    self.output = None;
                    break;
                }
                Ok(_) => {}
            }
        }
        if self.live.receiver_count() > 0 && self.live_due.is_none() {
            self.live_due = Some(Instant::now() + LIVE_EVERY);
        }
    }

    fn tell_live(&mut self) {
        self.live_due = None;
        let newest = self.capture.newest(LIVE_SHOWN);
        let edges = if newest.len() as u64 == self.capture.bytes() { Edges::End } else { Edges::Both };
        let newest = self.mask.apply(&newest, edges).unwrap_or(newest);
        self.live.send_replace(Live { newest, bytes: self.capture.bytes(), lines: self.capture.lines() });
    }

    async fn finish(&mut self, mut end: End, mut left: Vec<Leftover>) -> Outcome {
        let elapsed = self.began.elapsed();
        self.drain();
        if !left.is_empty() && end != End::Lost && self.options.leftovers == LeftoverPolicy::Stop {
            self.ask(StopReason::LeftBehind).await;
            match self.link.next().await {
                Ok(Report::Ended { left: none, .. }) => left = none,
                _ => end = End::Lost,
            }
            self.drain();
        }
        let leftover = if left.is_empty() { None } else { Some(self.leave(left).await) };
        tracing::debug!(pid = self.pid, ?end, ?elapsed, bytes = self.capture.bytes(), "ended");
        self.backend.prepare(&self.checked);
        self.outcome(end, leftover, elapsed)
    }

    async fn lost(&mut self) -> Outcome {
        let elapsed = self.began.elapsed();
        tracing::error!(pid = self.pid, "the keeper is gone");
        self.backend.clean_up(self.pid).await;
        self.drain();
        self.outcome(End::Lost, None, elapsed)
    }

    fn outcome(&self, end: End, leftover: Option<LeftBehind>, elapsed: Duration) -> Outcome {
        let output = Output { clip: self.masked(), bytes: self.capture.bytes(), lines: self.capture.lines() };
        Outcome { end, output, leftover, elapsed, pid: self.pid }
    }

    fn masked(&self) -> Clip {
        let mask = |bytes: &mut Vec<u8>, edges| {
            if let Some(masked) = self.mask.apply(bytes, edges) {
                *bytes = masked;
            }
        };
        let mut clip = self.capture.clip();
        match &mut clip {
            Clip::Whole(bytes) => mask(bytes, Edges::None),
            Clip::Cut { head, tail, .. } => {
                mask(&mut head.bytes, Edges::End);
                mask(&mut tail.bytes, Edges::Begin);
            }
        }
        clip
    }

    /// Takes what is in the pipe now. Not until its end: somebody may hold it open for hours.
    fn drain(&mut self) {
        let Some(output) = &self.output else { return };
        let mut drained = 0;
        while drained < DRAINED_AT_MOST {
            // Straight from the pipe: the event loop may not have heard yet of what was written last.
            match read_some(output.get_ref(), &mut self.capture) {
                Ok(count) if count > 0 => drained += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(_) | Err(_) => {
                    self.output = None;
                    return;
                }
            }
        }
    }

    /// Hands the pipe to the keeper, so that those who are left neither block nor die when they write.
    async fn leave(&mut self, processes: Vec<Leftover>) -> LeftBehind {
        let (file, output_file) = match self.leftover_file() {
            Some((file, path)) => (Some(file), Some(path)),
            None => (std::fs::File::options().write(true).open("/dev/null").ok(), None),
        };
        // If nobody holds the pipe any more there is nothing to carry, but the keeper still has to be told to stay.
        let from = match self.output.take().map(AsyncFd::into_inner) {
            Some(pipe) => Some(pipe),
            None => std::fs::File::open("/dev/null").ok().map(OwnedFd::from),
        };
        if let (Some(from), Some(to)) = (from, file) {
            let release = Order::Release(Release { at_most: LEFTOVER_AT_MOST, from_to: None });
            // A keeper that cannot be reached is gone, and its tree with it.
            let _ = self.link.send(&[&release], &[from.as_fd(), to.as_fd()]).await;
        }
        LeftBehind { processes, keeper: self.keeper.pid(), output_file }
    }

    fn leftover_file(&self) -> Option<(std::fs::File, PathBuf)> {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        let directory = self.options.leftover_directory.as_ref()?;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
        let path = directory.join(format!("{}.log", self.pid?));
        let opened = made
            .and_then(|()| std::fs::File::options().create(true).write(true).truncate(true).mode(0o600).open(&path));
        match opened {
            Ok(file) => Some((file, path)),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "no file for what leftover processes write");
                None
            }
        }
    }
}

/// Reads once. That nothing is there comes as an error.
fn read_some(pipe: &OwnedFd, capture: &mut Capture) -> io::Result<usize> {
    SCRATCH.with_borrow_mut(|buffer| {
        loop {
            match rustix::io::read(pipe, &mut *buffer) {
                Err(Errno::INTR) => {}
                other => {
                    let count = other?;
                    capture.push(&buffer[..count]);
                    return Ok(count);
                }
            }
        }
    })
}

/// Waits until there is something to read; for ever if there will never be.
async fn readable(output: Option<&AsyncFd<OwnedFd>>) {
    match output {
        // An error will show when reading.
        Some(output) => drop(output.readable().await),
        None => std::future::pending().await,
    }
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
