//! The link to a command under bashful's keeper.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bashful_keeper::StopReason;
use bashful_keeper::protocol::{Order, PipeHandover, Report};
use bashful_sys::signal::Signal;
use bashful_sys::{Errno, pidfd, wait};
use rustix::process::Pid;

use crate::backend::BoxFuture;
use crate::connection::Connection;
use crate::link::{Carried, Ended, Handover, Link};
use crate::reserve::{Reserve, Standing};
use crate::running::NotSent;
use crate::sessions::SessionStore;

/// A keeper that has not written a job down by then has been stopped.
const RECORDED_AT_LATEST: Duration = Duration::from_secs(5);

/// A command under a keeper. Dropping it closes the connection, and the keeper then stops the command.
#[derive(Debug)]
pub(crate) struct KeeperLink {
    connection: Connection,
    keeper: Keeper,
    /// Waits here for the next command.
    home: Home,
    /// An end that was told while another report was waited for.
    early: Option<Ended>,
}

/// The place of a keeper, or of the connection to it, between two commands.
#[derive(Debug)]
pub(crate) enum Home {
    /// Keepers of single commands.
    Reserve(Arc<Reserve>),
    /// Connections to the keepers of sessions.
    Session {
        store: Arc<SessionStore>,
        /// The directory of the session.
        place: PathBuf,
    },
}

/// The keeper of a command.
#[derive(Debug)]
pub(crate) enum Keeper {
    /// A process of its own.
    Process(KeeperProcess),
    /// A thread of this program.
    Thread,
    /// The keeper of a session, which has others to serve too.
    Session,
}

impl Keeper {
    /// Kills the keeper; whether there was one to kill.
    pub(crate) fn kill(&self) -> bool {
        match self {
            Self::Process(process) => process.kill(),
            Self::Thread | Self::Session => false,
        }
    }

    /// Continues the keeper if somebody has stopped it.
    pub(crate) fn wake(&self) {
        match self {
            Self::Process(process) => process.wake(),
            // A session's keeper is woken over its connection.
            Self::Thread | Self::Session => {}
        }
    }
}

/// A keeper process of ours. Dropping it never ends it: closing its link does.
#[derive(Debug)]
pub(crate) struct KeeperProcess {
    pid: Pid,
    handle: Option<OwnedFd>,
    /// The keepers that live, from which it is taken when it has ended.
    all: Arc<Mutex<HashSet<i32>>>,
    /// The conditions that it was started under, if it may be used again.
    pub(crate) standing: Option<Box<Standing>>,
}

impl KeeperProcess {
    pub(crate) fn new(
        pid: Pid,
        handle: OwnedFd,
        all: Arc<Mutex<HashSet<i32>>>,
        standing: Option<Box<Standing>>,
    ) -> Self {
        Self { pid, handle: Some(handle), all, standing }
    }

    /// The last resort against a keeper that does not answer; whether it could be reached.
    fn kill(&self) -> bool {
        self.send(Signal::KILL)
    }

    /// Continues it if somebody has stopped it.
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

/// Takes it away once it has ended. Without a runtime at hand it stays as a zombie until this program ends.
impl Drop for KeeperProcess {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        let (pid, all) = (self.pid, Arc::clone(&self.all));
        let forget = move || {
            all.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid.as_raw_nonzero().get());
        };
        if matches!(wait::reap(pid, handle.as_fd()), Ok(Some(_)) | Err(Errno::CHILD)) {
            return forget();
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let Ok(handle) = bashful_sys::event::readable(handle) else { return };
            while let Ok(mut ended) = handle.readable().await {
                if matches!(wait::reap(pid, handle.as_fd()), Ok(Some(_)) | Err(Errno::CHILD)) {
                    return forget();
                }
                ended.clear_ready();
            }
        });
    }
}

impl KeeperLink {
    pub(crate) fn new(connection: Connection, keeper: Keeper, home: Home) -> Self {
        Self { connection, keeper, home, early: None }
    }

    async fn next_end(&mut self) -> Option<Ended> {
        if let Some(early) = self.early.take() {
            return Some(early);
        }
        loop {
            if let Some(ended) = as_end(self.connection.next().await.ok()?) {
                return Some(ended);
            }
        }
    }

    async fn record(&mut self, Handover { job, kind, leftovers, outputs }: Handover<'_>) -> Result<(), NotSent> {
        let mut order = job.order(kind, leftovers);
        order.pipes = outputs.iter().map(as_release).collect();
        let mut descriptors = vec![job.alive.as_fd()];
        descriptors.extend(outputs.iter().flat_map(ends));
        // A keeper that cannot be reached is gone, and will not answer either.
        let _ = self.connection.send(&[&Order::Record(order)], &descriptors).await;
        self.recorded().await
    }

    /// Waits for word that the keeper has written the job down.
    async fn recorded(&mut self) -> Result<(), NotSent> {
        loop {
            let report = match tokio::time::timeout(RECORDED_AT_LATEST, self.connection.next()).await {
                Ok(Ok(report)) => report,
                // The next look at the connection will tell.
                Ok(Err(_)) => return Err(NotSent::Ended),
                Err(_) => return Err(NotSent::Keeper(io::ErrorKind::TimedOut.into())),
            };
            match report {
                Report::Recorded { errno: 0 } => return Ok(()),
                Report::Recorded { errno } => return Err(NotSent::Keeper(io::Error::from_raw_os_error(errno))),
                other => {
                    let Some(ended) = as_end(other) else { return Err(NotSent::Ended) };
                    let more_to_come = !ended.left.is_empty();
                    self.early = Some(ended);
                    // If its shell has just ended and left something, its keeper stays with the rest, and will answer.
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
            // A keeper that cannot be reached is gone, and the next look at the connection says so.
            let _ = self.connection.send(&[&Order::Stop(why)], &[]).await;
        })
    }

    fn kill(&mut self) -> bool {
        self.keeper.kill()
    }

    fn supervisor(&self) -> Option<i32> {
        match &self.keeper {
            Keeper::Process(process) => Some(process.pid()),
            Keeper::Thread => None,
            Keeper::Session => Some(self.connection.peer().ok()?.as_raw_nonzero().get()),
        }
    }

    fn can_hand_over(&self) -> Result<(), NotSent> {
        match self.keeper {
            Keeper::Process(_) | Keeper::Session => Ok(()),
            Keeper::Thread => Err(NotSent::NoKeeper),
        }
    }

    fn hand_over<'a>(&'a mut self, handover: Handover<'a>) -> BoxFuture<'a, Result<(), NotSent>> {
        Box::pin(self.record(handover))
    }

    fn release<'a>(&'a mut self, outputs: Vec<Carried<'a>>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let order = Order::Release(outputs.iter().map(as_release).collect());
            let descriptors: Vec<_> = outputs.iter().flat_map(ends).collect();
            // A keeper that cannot be reached is gone, and its tree with it.
            let _ = self.connection.send(&[&order], &descriptors).await;
        })
    }

    fn give_back(self: Box<Self>) {
        let Self { connection, keeper, home, .. } = *self;
        match (home, keeper) {
            (Home::Session { store, place }, _) => store.keep(&place, connection),
            (Home::Reserve(reserve), keeper @ Keeper::Process(_)) => reserve.put(connection, keeper),
            // A thread ends with its command.
            (Home::Reserve(_), Keeper::Thread | Keeper::Session) => {}
        }
    }
}

fn as_end(report: Report) -> Option<Ended> {
    match report {
        Report::Ended { end, left, shell_stays, at } => Some(Ended { end, left, shell_stays, at }),
        _ => None,
    }
}

/// The output as the keeper is told of it. Its descriptors travel beside.
fn as_release(output: &Carried<'_>) -> PipeHandover {
    PipeHandover {
        path: output.path.as_ref().map(|path| path.as_os_str().as_bytes().to_vec()).unwrap_or_default(),
        at_most: output.at_most,
        gap: output.gap.clone(),
        from_to: None,
    }
}

fn ends<'a>(output: &Carried<'a>) -> [BorrowedFd<'a>; 2] {
    [output.from, output.to]
}
