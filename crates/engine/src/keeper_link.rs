//! The link to a command under bashful's keeper.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bashful_keeper::protocol::{KNOWS_LIFETIMES, Order, PipeHandover, Report};
use bashful_keeper::{Exit, StopReason};
use bashful_sys::signal::Signal;
use bashful_sys::{Errno, pidfd, wait};
use rustix::process::Pid;
use tokio::sync::watch;

use crate::backend::BoxFuture;
use crate::connection::Connection;
use crate::keepers::Keepers;
use crate::link::{Ended, Handover, Link, OutputHandover};
use crate::reserve::{Reserve, Standing};
use crate::running::NotSent;
use crate::sessions::SessionStore;

/// A keeper that has not written the job's record by then has been stopped.
const RECORDED_AT_LATEST: Duration = Duration::from_secs(5);

/// A keeper that has lost its engine, and has not ended by then, may be held by its command.
const HELD_AFTER: Duration = Duration::from_secs(2);

/// A command under a keeper. Dropping it closes the connection, on which the keeper stops the command.
#[derive(Debug)]
pub(crate) struct KeeperLink {
    connection: Connection,
    keeper: Keeper,
    /// Place that gets the keeper back for the next command.
    home: KeeperHome,
    /// An end that arrived while another report was awaited.
    early_end: Option<Ended>,
    suspensions: watch::Sender<u64>,
}

/// Place of a keeper, or of the connection to it, between two commands.
#[derive(Debug)]
pub(crate) enum KeeperHome {
    /// The reserve of keepers for single commands.
    Reserve(Arc<Reserve>),
    /// The connections to keepers of sessions.
    Session {
        store: Arc<SessionStore>,
        /// Directory of the session.
        place: PathBuf,
    },
}

/// The keeper of a command.
#[derive(Debug)]
pub(crate) enum Keeper {
    /// A process of its own.
    Process(KeeperProcess),
    /// The keeper of a session, which serves other clients too.
    Session,
}

impl Keeper {
    /// Kills the keeper. False if it has no process of its own.
    pub(crate) fn kill(&self) -> bool {
        match self {
            Self::Process(process) => process.kill(),
            Self::Session => false,
        }
    }

    /// Sends `SIGCONT` to a keeper that somebody may have stopped.
    pub(crate) fn wake(&self) {
        match self {
            Self::Process(process) => process.wake(),
            // A message on its connection wakes the keeper of a session.
            Self::Session => {}
        }
    }
}

/// A keeper process of this program. Dropping it does not end the process; closing its connection does.
#[derive(Debug)]
pub(crate) struct KeeperProcess {
    pid: Pid,
    handle: Option<OwnedFd>,
    /// All keepers that live. This one is removed once it has ended.
    all: Arc<Keepers>,
    /// Limits, niceness and other settings at its start; none if it cannot be used again.
    pub(crate) standing: Option<Box<Standing>>,
}

impl KeeperProcess {
    pub(crate) fn new(pid: Pid, handle: OwnedFd, all: Arc<Keepers>, standing: Option<Box<Standing>>) -> Self {
        Self { pid, handle: Some(handle), all, standing }
    }

    /// Kills a keeper that does not answer. False if the signal could not be sent.
    fn kill(&self) -> bool {
        self.send(Signal::KILL)
    }

    /// Continues a keeper that somebody may have stopped.
    fn wake(&self) {
        self.send(Signal::CONT);
    }

    fn send(&self, signal: Signal) -> bool {
        self.handle.as_ref().is_some_and(|handle| pidfd::send_to_child(self.pid, handle.as_fd(), signal).is_ok())
    }

    fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }
}

/// Reaps the keeper once it has ended. Without a tokio runtime it stays a zombie until this program ends.
impl Drop for KeeperProcess {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        let (pid, all) = (self.pid, Arc::clone(&self.all));
        let departure = departure(pid, handle.as_fd());
        if departure == Some(Departure::InOrder) {
            return all.forget(pid);
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let departure = match departure {
                None => await_departure(pid, handle, &all).await,
                over => over,
            };
            all.forget(pid);
            if departure == Some(Departure::Killed) {
                // Nobody else looks after the tree of a job.
                all.end_strays(None).await;
            }
        });
    }
}

/// The way in which a keeper has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Departure {
    InOrder,
    /// A signal ended it, and its processes may go on.
    Killed,
}

/// Reaps the keeper if it has ended.
fn departure(pid: Pid, handle: BorrowedFd<'_>) -> Option<Departure> {
    match wait::reap(pid, handle) {
        Ok(Some(Exit::Signal(_))) => Some(Departure::Killed),
        Ok(Some(Exit::Code(_))) | Err(Errno::CHILD) => Some(Departure::InOrder),
        Ok(None) | Err(_) => None,
    }
}

/// Waits until the keeper has ended, and looks once if a command holds it.
async fn await_departure(pid: Pid, handle: OwnedFd, all: &Keepers) -> Option<Departure> {
    let handle = bashful_sys::event::readable(handle).ok()?;
    let ended = async {
        loop {
            let mut news = handle.readable().await.ok()?;
            if let over @ Some(_) = departure(pid, handle.as_fd()) {
                return over;
            }
            news.clear_ready();
        }
    };
    tokio::pin!(ended);
    if let Ok(over) = tokio::time::timeout(HELD_AFTER, &mut ended).await {
        return over;
    }
    all.end_held().await;
    ended.await
}

impl KeeperLink {
    pub(crate) fn new(connection: Connection, keeper: Keeper, home: KeeperHome) -> Self {
        Self { connection, keeper, home, early_end: None, suspensions: watch::channel(0).0 }
    }

    async fn next_end(&mut self) -> Option<Ended> {
        if let Some(early_end) = self.early_end.take() {
            return Some(early_end);
        }
        loop {
            match self.connection.next().await.ok()? {
                Report::Suspended => self.suspensions.send_modify(|count| *count += 1),
                report => {
                    if let Some(ended) = ended_report(report) {
                        return Some(ended);
                    }
                }
            }
        }
    }

    async fn hand_over_to_keeper(
        &mut self,
        Handover { job, kind, leftovers, outputs, lifetime }: Handover<'_>,
    ) -> Result<(), NotSent> {
        let mut order = job.order(kind, leftovers);
        order.pipes = outputs.iter().map(pipe_handover).collect();
        let mut descriptors = vec![job.alive.as_fd()];
        descriptors.extend(outputs.iter().flat_map(descriptors_of));
        // A keeper that cannot be reached is gone, and does not answer either.
        let (longer, record) = (lifetime.map(|longer| Order::Lifetime(Some(longer.0))), Order::Record(order));
        let orders: Vec<&Order> = longer.iter().chain([&record]).collect();
        let _ = self.connection.send(&orders, &descriptors).await;
        self.wait_until_recorded().await
    }

    /// Waits until the keeper has written the job's record.
    async fn wait_until_recorded(&mut self) -> Result<(), NotSent> {
        loop {
            let report = match tokio::time::timeout(RECORDED_AT_LATEST, self.connection.next()).await {
                Ok(Ok(report)) => report,
                // The next read of the connection reports the end.
                Ok(Err(_)) => return Err(NotSent::Ended),
                Err(_) => return Err(NotSent::Keeper(io::ErrorKind::TimedOut.into())),
            };
            match report {
                Report::Recorded { errno: 0 } => return Ok(()),
                Report::Recorded { errno } => return Err(NotSent::Keeper(io::Error::from_raw_os_error(errno))),
                other => {
                    let Some(ended) = ended_report(other) else { return Err(NotSent::Ended) };
                    let more_to_come = !ended.left.is_empty();
                    self.early_end = Some(ended);
                    // A shell that has just ended may leave processes. The keeper then stays with them, and will
                    // answer.
                    if !more_to_come {
                        return Err(NotSent::Ended);
                    }
                }
            }
        }
    }
}

impl Link for KeeperLink {
    fn ended(&mut self) -> BoxFuture<'_, Option<Ended>> {
        Box::pin(self.next_end())
    }

    fn stop(&mut self, why: StopReason) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // A keeper that cannot be reached is gone, and the next read of the connection reports that.
            let _ = self.connection.send(&[&Order::Stop(why)], &[]).await;
        })
    }

    fn signal(&mut self, number: u8) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let _ = self.connection.send(&[&Order::Signal(number)], &[]).await;
        })
    }

    fn suspensions(&self) -> watch::Receiver<u64> {
        self.suspensions.subscribe()
    }

    fn host_terminal_restored(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // A keeper that cannot be reached is gone, and touches no terminal.
            let _ = self.connection.send(&[&Order::HostTerminalRestored], &[]).await;
        })
    }

    fn kill(&mut self) -> bool {
        self.keeper.kill()
    }

    fn supervisor(&self) -> Option<i32> {
        match &self.keeper {
            Keeper::Process(process) => Some(process.pid()),
            Keeper::Session => Some(self.connection.peer().ok()?.as_raw_nonzero().get()),
        }
    }

    fn can_hand_over(&self) -> Result<(), NotSent> {
        Ok(())
    }

    fn changes_lifetimes(&self) -> bool {
        self.connection.speaks(KNOWS_LIFETIMES)
    }

    fn hand_over<'a>(&'a mut self, handover: Handover<'a>) -> BoxFuture<'a, Result<(), NotSent>> {
        Box::pin(self.hand_over_to_keeper(handover))
    }

    fn release<'a>(&'a mut self, outputs: Vec<OutputHandover<'a>>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let order = Order::Release(outputs.iter().map(pipe_handover).collect());
            let descriptors: Vec<_> = outputs.iter().flat_map(descriptors_of).collect();
            // A keeper that cannot be reached is gone, and its process tree too.
            let _ = self.connection.send(&[&order], &descriptors).await;
        })
    }

    fn give_back(self: Box<Self>) {
        let Self { connection, keeper, home, .. } = *self;
        match (home, keeper) {
            (KeeperHome::Session { store, place }, _) => store.keep(&place, connection),
            (KeeperHome::Reserve(reserve), keeper @ Keeper::Process(_)) => reserve.put(connection, keeper),
            (KeeperHome::Reserve(_), Keeper::Session) => {}
        }
    }
}

fn ended_report(report: Report) -> Option<Ended> {
    match report {
        Report::Ended { end, left, shell_stays, at } => Some(Ended::at(at, end, left, shell_stays)),
        _ => None,
    }
}

/// Describes an output for the keeper. Its descriptors travel beside.
fn pipe_handover(output: &OutputHandover<'_>) -> PipeHandover {
    PipeHandover {
        path: output.path.as_ref().map(|path| path.as_os_str().as_bytes().to_vec()).unwrap_or_default(),
        at_most: output.at_most,
        gap: output.gap.clone(),
        from_to: None,
    }
}

fn descriptors_of<'a>(output: &OutputHandover<'a>) -> [BorrowedFd<'a>; 2] {
    [output.from, output.to]
}
