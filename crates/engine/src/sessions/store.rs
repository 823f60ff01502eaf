//! The store of sessions: a directory with one entry for each.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bashful_keeper::protocol::{self, Order, Report, SessionState};
use bashful_sys::{boot_time, plain, proc};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout};

use super::about::{self, About};
use super::turns::{CallTurn, CallTurns};
use super::{SessionLimits, SessionName, SessionOwner};
use crate::connection::{Connection, connect_socket};
use crate::plan::Plan;
use crate::redact::Redacted;
use crate::shell_key::ShellKey;
use crate::versioned::Versioned;

/// A keeper that has not answered by then, though it was woken repeatedly, never will.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// Age at which the reason of an ended session is removed.
const REASON_KEPT_FOR: Duration = Duration::from_hours(24);

/// Ended sessions whose reason is kept for the next command of that name. Older ones go.
const REASONS_KEPT: usize = 16;

/// Time for others to start a session; after that they were probably stopped.
const LOCK_PATIENCE: Duration = Duration::from_secs(20);

/// Pause between two checks of something that is about to change.
const POLL_PAUSE: Duration = Duration::from_millis(5);

/// A directory of sessions, and their limits.
#[derive(Debug)]
pub struct SessionStore {
    directory: PathBuf,
    pub(super) limits: SessionLimits,
    pub(super) owner: SessionOwner,
    /// Prefix of the store's own directories.
    tag: String,
    /// Sessions that were started or used here, by their directories.
    known: Mutex<HashMap<PathBuf, KnownSession>>,
    turns: Arc<CallTurns>,
    /// Number of engines that use the store.
    users: AtomicUsize,
}

/// An engine's use of sessions. With the last one, sessions end that belong to no other program.
#[derive(Debug)]
pub(crate) struct SessionsInUse(Arc<SessionStore>);

impl SessionsInUse {
    pub(crate) fn new(store: &Arc<SessionStore>) -> Self {
        store.users.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(store))
    }
}

impl Drop for SessionsInUse {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, Ordering::Relaxed) == 1 {
            // Closing the connections ends the sessions.
            self.0.known().clear();
            self.0.remove_own_entries();
        }
    }
}

/// A session that was used before.
#[derive(Debug)]
pub(super) struct KnownSession {
    /// Process id of its shell.
    pub(super) pid: i32,
    /// Connection that holds the session: closing it ends the session. None if the session outlives this program, or
    /// has ended.
    pub(super) host: Option<Connection>,
    /// Connection that the last command has left.
    pub(super) spare: Option<Connection>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    /// Name of the session, redacted.
    pub name: String,
    /// Engine or user; decides if the session outlives its engine.
    pub owner: SessionOwner,
    /// Process id of its shell.
    pub pid: i32,
    /// Present directory of the shell; none if it cannot be read.
    pub cwd: Option<PathBuf>,
    /// True if a command runs.
    pub busy: bool,
    /// Time for which it has been busy or idle.
    pub since: Duration,
    /// Number of commands that it has run.
    pub commands: u64,
    /// Number of processes that earlier commands have left.
    pub left: u64,
    pub(super) place: PathBuf,
}

/// A session that only a newer version of bashful can use. It can be ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewerSession {
    /// Name of the session, redacted.
    pub name: String,
    /// Newest protocol version that its keeper speaks.
    pub protocol: u32,
    place: PathBuf,
}

/// Answer of a keeper to a query of its session's state.
enum KeeperAnswer {
    Answered(SessionState),
    /// Newest version of a keeper that shares none with this program.
    Foreign(u32),
}

/// Error: a directory of sessions that cannot be listed.
#[derive(Debug, Error)]
#[error("cannot list the sessions in {}", path.display())]
pub struct ListSessionsError {
    /// Directory of the store.
    pub path: PathBuf,
    /// Error of the system.
    pub source: io::Error,
}

/// Error: a session that was not ended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EndSessionError {
    /// There is no session of that name.
    #[error("there is no session {name:?}")]
    NoSession {
        /// Name that was given.
        name: String,
    },
    /// The sessions cannot be listed.
    #[error(transparent)]
    List(#[from] ListSessionsError),
    /// The keeper does not answer.
    #[error("cannot end session {name:?}: its keeper does not answer")]
    NoAnswer {
        /// Name that was given.
        name: String,
    },
}

impl SessionStore {
    /// A store in this directory, which is created when it is needed.
    pub fn new(directory: PathBuf, limits: SessionLimits, owner: SessionOwner) -> Self {
        let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let tag = match owner {
            SessionOwner::Engine => format!("{}-{:x}", std::process::id(), began.as_nanos()),
            SessionOwner::User => "user".to_owned(),
        };
        let (known, turns) = (Mutex::default(), Arc::default());
        Self { directory, limits, owner, tag, known, turns, users: AtomicUsize::new(0) }
    }

    /// Takes the next turn among the calls of this program.
    pub(crate) fn take_turn(&self) -> CallTurn {
        self.turns.take()
    }

    /// Closes the connections to ended sessions, except the one at this place. The sessions stay known.
    pub(super) fn disconnect_ended(&self, place: &Path) {
        let has_ended = |place: &Path| {
            // A session that is too busy to answer has not ended, and would end with its connection.
            let gone =
                |error: io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused);
            connect_socket(place).is_err_and(gone)
        };
        let mut known = self.known();
        for (_, session) in known.iter_mut().filter(|(other, _)| other.as_path() != place && has_ended(other)) {
            session.host = None;
            session.spare = None;
        }
    }

    /// Directory of the store, which need not exist yet.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Lists all live sessions that this version of bashful can use, by name.
    pub async fn list(&self) -> Result<Vec<SessionEntry>, ListSessionsError> {
        Ok(self.list_all().await?.0)
    }

    /// Lists the live sessions that commands of this store find by their names.
    pub async fn list_own(&self) -> Result<Vec<SessionEntry>, ListSessionsError> {
        let mut entries = self.list().await?;
        entries.retain(|entry| self.is_own(&entry.place));
        Ok(entries)
    }

    /// Lists all live sessions that only a newer version of bashful can use, by name.
    pub async fn list_newer(&self) -> Result<Vec<NewerSession>, ListSessionsError> {
        Ok(self.list_all().await?.1)
    }

    async fn list_all(&self) -> Result<(Vec<SessionEntry>, Vec<NewerSession>), ListSessionsError> {
        let failed = |source| ListSessionsError { path: self.directory.clone(), source };
        let places = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
            places => places.map_err(failed)?,
        };
        let mut entries: Vec<SessionEntry> = Vec::new();
        let mut newer = Vec::new();
        let mut ended = Vec::new();
        for place in places {
            let place = place.map_err(failed)?.path();
            match query_state(&place).await {
                Ok(KeeperAnswer::Answered(state)) => entries.extend(entry(place, &state)),
                Ok(KeeperAnswer::Foreign(protocol)) => {
                    newer.extend(about::name_of(&place).map(|name| NewerSession { name, protocol, place }));
                }
                // A session that does not answer may still live.
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
                Err(_) => ended.push(place),
            }
        }
        remove_ended_entries(ended);
        // One reading of the clock for all, so that they can be compared.
        let now = boot_time();
        for entry in &mut entries {
            entry.since = now.saturating_sub(entry.since);
        }
        entries.sort_by(|one, other| (&one.name, one.pid).cmp(&(&other.name, other.pid)));
        newer.sort_by(|one, other| (&one.name, &one.place).cmp(&(&other.name, &other.place)));
        Ok((entries, newer))
    }

    /// Ends all sessions of this redacted name, with everything that runs in them. Returns their number.
    pub async fn end(&self, name: &SessionName) -> Result<usize, EndSessionError> {
        let (mut entries, mut newer) = self.list_all().await?;
        entries.retain(|entry| entry.name == name.as_str());
        newer.retain(|session| session.name == name.as_str());
        if entries.is_empty() && newer.is_empty() {
            return Err(EndSessionError::NoSession { name: name.to_string() });
        }
        for entry in &entries {
            self.end_one(entry).await?;
        }
        for session in &newer {
            self.end_newer(session).await?;
        }
        Ok(entries.len() + newer.len())
    }

    /// Ends this very session, and waits until nothing of it is left.
    pub async fn end_one(&self, entry: &SessionEntry) -> Result<(), EndSessionError> {
        self.send_end(&entry.place, &entry.name, false).await
    }

    /// Ends this very session of a newer version, and waits until nothing of it is left.
    pub async fn end_newer(&self, session: &NewerSession) -> Result<(), EndSessionError> {
        self.send_end(&session.place, &session.name, false).await
    }

    pub(super) async fn send_end(&self, place: &Path, name: &str, makes_room: bool) -> Result<(), EndSessionError> {
        let no_answer = || EndSessionError::NoAnswer { name: name.to_owned() };
        let Ok(mut link) = connect(place) else { return Ok(()) };
        link.send(&[&Order::EndSession { makes_room }], &[]).await.map_err(|_| no_answer())?;
        match timeout(ANSWER_PATIENCE, link.next_awake()).await {
            Ok(Ok(Report::Heard) | Err(_)) => {}
            Ok(Ok(_)) | Err(_) => return Err(no_answer()),
        }
        // The keeper closes the connection when nothing of the session is left.
        while link.next_awake().await.is_ok() {}
        Ok(())
    }

    /// True for the directory of a session that this store finds by name.
    pub(super) fn is_own(&self, place: &Path) -> bool {
        directory_name(place).strip_prefix(&*self.tag).is_some_and(|rest| rest.starts_with('-'))
    }

    /// Removes entries of ended sessions of this engine: no other program can ask for them.
    fn remove_own_entries(&self) {
        if self.owner == SessionOwner::User {
            return;
        }
        let places = fs::read_dir(&self.directory).into_iter().flatten().flatten().map(|place| place.path());
        for place in places.filter(|place| self.is_own(place)) {
            remove_entry(&place);
        }
    }

    /// Directory of the session of this plan.
    pub(crate) fn place(&self, plan: &Plan, name: &SessionName) -> PathBuf {
        let hash = ShellKey::of(plan).session_hash(name);
        self.directory.join(format!("{}-{hash}", self.tag))
    }

    /// Present directory of a session's shell; none if it is unknown.
    pub(crate) fn cwd_in(&self, place: &Path) -> Option<PathBuf> {
        let known = self.known();
        let known = known.get(place);
        let written = || plain::read_to_string(&place.join(protocol::SHELL)).ok()?.parse().ok();
        let pid = known.map(|known| known.pid).or_else(written)?;
        // Only with a keeper: another program may have the process id by now.
        let is_connected = known.and_then(|known| known.spare.as_ref()).is_some_and(|link| !link.has_news());
        (is_connected || place.join(protocol::CONTROL).exists()).then(|| proc::directory_of(pid)).flatten()
    }

    /// Keeps the connection of an ended command for the next.
    pub(crate) fn keep(&self, place: &Path, link: Connection) {
        if let Some(known) = self.known().get_mut(place) {
            known.spare = Some(link);
        }
    }

    /// Connects to the session in this directory, or uses a kept connection.
    pub(super) fn connect(&self, place: &Path) -> io::Result<Connection> {
        let spare = self.known().get_mut(place).and_then(|known| known.spare.take());
        // News on a kept connection can only be its end: nothing was asked.
        spare.filter(|link| !link.has_news()).map_or_else(|| connect(place), Ok)
    }

    pub(super) fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, KnownSession>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates and locks the directory of a session, or that of all: nobody else starts one there until the handle is
    /// dropped. Waits as long as others get on.
    pub(super) async fn lock_directory(&self, place: &Path) -> io::Result<File> {
        let mut give_up = Instant::now() + LOCK_PATIENCE;
        let mut last_change = None;
        loop {
            crate::make_directory(place)?;
            let handle = plain::open_directory(place)?;
            match flock(&handle, FlockOperation::NonBlockingLockExclusive) {
                // Another program may have removed it just before.
                Ok(()) if handle.metadata()?.nlink() == 0 => {}
                Ok(()) => return Ok(handle),
                Err(Errno::WOULDBLOCK) => {
                    // Every session that is started changes the directory.
                    let change = handle.metadata()?.modified().ok();
                    if change != last_change {
                        (last_change, give_up) = (change, Instant::now() + LOCK_PATIENCE);
                    }
                    if Instant::now() >= give_up {
                        let why = format!("nobody has released the lock on it for {} s", LOCK_PATIENCE.as_secs());
                        return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                    }
                    sleep(POLL_PAUSE).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Fails if no session can be started, because its files could not be written.
    pub fn check_writable(&self) -> io::Result<()> {
        let probe = self.directory.join(format!(".probe-{}", std::process::id()));
        crate::make_directory(&probe)?;
        let file = probe.join(about::DRAFT);
        let written = plain::write(&file, b"{}");
        let _ = fs::remove_file(file);
        let _ = fs::remove_dir(probe);
        written
    }

    /// Writes the record of a session.
    pub(super) fn write_about(&self, place: &Path, name: &Redacted) -> io::Result<()> {
        About::new(name, self.owner).write(place)
    }
}

/// Reason why the earlier session here is gone; none if there was none. Returned once.
pub(super) fn take_end_reason(place: &Path) -> Option<String> {
    let was_there = About::read(place).is_some();
    // A keeper that ends by itself removes its socket.
    let was_killed = place.join(protocol::CONTROL).symlink_metadata().is_ok();
    let word = plain::read_to_string(&place.join(protocol::LOST)).ok();
    for name in
        [protocol::LOST, protocol::LOST_DRAFT, protocol::ABOUT, about::DRAFT, protocol::CONTROL, protocol::SHELL]
    {
        let _ = fs::remove_file(place.join(name));
    }
    let unsaid = if was_killed { "its keeper was killed" } else { "it had ended, and left no word why" };
    word.or_else(|| was_there.then(|| unsaid.to_owned()))
}

/// Connects to the keeper of a session. The first message over it has to be an order.
pub(super) fn connect(place: &Path) -> io::Result<Connection> {
    Connection::connect(place, about::protocol_of(place))
}

/// Queries the state of a session.
async fn query_state(place: &Path) -> io::Result<KeeperAnswer> {
    let mut link = connect(place)?;
    link.send(&[&Order::QueryState], &[]).await?;
    match timeout(ANSWER_PATIENCE, link.next_awake()).await {
        Ok(Ok(Report::Session(state))) => Ok(KeeperAnswer::Answered(state)),
        Ok(Ok(Report::NotUnderstood)) => Ok(KeeperAnswer::Foreign(link.foreign_version().unwrap_or_default())),
        Ok(_) => Err(io::ErrorKind::BrokenPipe.into()),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Entry of a session. The caller still turns `since` into a duration.
fn entry(place: PathBuf, state: &SessionState) -> Option<SessionEntry> {
    let (name, owner) = match About::read(&place)? {
        Versioned::Known(about) => (about.name, about.owner),
        // The keeper shares a version with this program, so it can be used like any other.
        Versioned::Newer(_) => (about::name_of(&place)?, SessionOwner::User),
    };
    Some(SessionEntry {
        name,
        owner,
        pid: state.pid,
        cwd: proc::directory_of(state.pid),
        busy: state.busy,
        since: state.since,
        commands: state.commands,
        left: state.left,
        place,
    })
}

/// Removes entries of ended sessions, except reasons that somebody may still ask for.
///
/// Only the engine itself asks for its sessions. Every later command of a name may ask for one of the user.
fn remove_ended_entries(mut places: Vec<PathBuf>) {
    // A newer version knows better what it has left.
    places.retain(|place| !about::is_newer(place));
    let (askable, lost): (Vec<_>, Vec<_>) = places.into_iter().partition(|place| has_living_owner(place));
    let age = |place: &PathBuf| {
        let changed = place.metadata().and_then(|facts| facts.modified()).ok();
        changed.and_then(|when| when.elapsed().ok()).unwrap_or_default()
    };
    let mut askable: Vec<_> = askable.into_iter().map(|place| (age(&place), place)).collect();
    askable.sort();
    let too_old =
        askable.into_iter().enumerate().filter(|(newer, (age, _))| *newer >= REASONS_KEPT || *age > REASON_KEPT_FOR);
    for place in too_old.map(|(_, (_, place))| place).chain(lost) {
        remove_entry(&place);
    }
}

/// True if any program can still ask for this session. The directory of an engine's session begins with its process id.
fn has_living_owner(place: &Path) -> bool {
    let name = directory_name(place);
    let owner = name.split_once('-').map(|(owner, _)| owner).filter(|owner| owner.parse::<u32>().is_ok());
    owner.is_none_or(|pid| Path::new("/proc").join(pid).exists())
}

fn directory_name(place: &Path) -> std::borrow::Cow<'_, str> {
    place.file_name().unwrap_or_default().to_string_lossy()
}

/// Removes the entry of an ended session, unless another program is starting one there.
fn remove_entry(place: &Path) {
    let Ok(handle) = File::open(place) else { return };
    if flock(&handle, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    let nobody_there = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
    if connect_socket(place).is_err_and(|error| nobody_there.contains(&error.kind())) {
        let _ = take_end_reason(place);
        let _ = fs::remove_dir(place);
    }
}
