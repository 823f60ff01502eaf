//! The directory of all sessions.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use bashful_keeper::protocol::{self, Order, Report, SessionState};
use bashful_sys::{boot_time, plain};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout};

use super::about::{self, About};
use super::{SessionLimits, SessionName, SessionOwner};
use crate::connection::{Connection, reach};
use crate::old_names;
use crate::plan::Plan;
use crate::redact::Redacted;
use crate::shell_key::{ShellKey, lasting_variables};
use crate::versioned::Versioned;

/// A keeper that has not answered by then, though it was woken again and again, never will.
const ANSWER_PATIENCE: Duration = Duration::from_secs(5);

/// A session that ended so long ago is of no interest to anybody.
const FORGOTTEN_AFTER: Duration = Duration::from_hours(24);

/// Ended sessions whose last word is kept for the next command of that name. Older ones go.
const LAST_WORDS: usize = 16;

/// Somebody who starts a session is done by then, or was stopped.
const TAKE_PATIENCE: Duration = Duration::from_secs(20);

/// Between two looks at something that is about to change.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Where sessions are, and what they may take.
#[derive(Debug)]
pub struct SessionStore {
    directory: PathBuf,
    pub(super) limits: SessionLimits,
    pub(super) owner: SessionOwner,
    /// What our own sessions are called apart by, if nobody else is to find them.
    tag: String,
    /// Those that were started or used here, by their directories.
    known: Mutex<HashMap<PathBuf, Known>>,
    /// Where commands of this program line up, by the directories of their sessions.
    entrances: Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>,
    /// How many engines use it.
    users: AtomicUsize,
}

/// The part of an engine that uses sessions: with the last one, those end that are nobody else's.
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
            // The connections are what holds them.
            self.0.known().clear();
            self.0.forget_own();
        }
    }
}

/// A session that was used before.
#[derive(Debug)]
pub(super) struct Known {
    /// The process id of its shell.
    pub(super) pid: i32,
    /// Holds it: closing it ends the session. None if it stays without us, or has ended.
    pub(super) host: Option<Connection>,
    /// A connection that the last command has left.
    pub(super) spare: Option<Connection>,
}

/// A session, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub owner: SessionOwner,
    /// The process id of its shell.
    pub pid: i32,
    /// Where the shell is now, as far as that can be told.
    pub cwd: Option<PathBuf>,
    /// Whether a command runs.
    pub busy: bool,
    /// For how long it has been like that.
    pub since: Duration,
    /// How many commands it has done.
    pub commands: u64,
    /// How many processes run in it that earlier commands have left.
    pub left: u64,
    pub(super) place: PathBuf,
}

/// A session that only a newer version of bashful can use. It can be ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewerSession {
    /// Its name.
    pub name: String,
    /// The newest protocol version that its keeper speaks.
    pub protocol: u32,
    place: PathBuf,
}

/// The state of a session, as far as its keeper could be asked.
enum KeeperAnswer {
    Answered(SessionState),
    /// The keeper speaks this version, and none that this program speaks.
    Foreign(u32),
}

/// Why nobody can say which sessions there are.
#[derive(Debug, Error)]
#[error("cannot list the sessions in {}", path.display())]
pub struct ListSessionsError {
    /// The directory.
    pub path: PathBuf,
    /// Why not.
    pub source: io::Error,
}

/// Why a session was not ended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EndSessionError {
    /// There is none of that name.
    #[error("there is no session {name:?}")]
    NoSession {
        /// The name.
        name: String,
    },
    /// Nobody can say which there are.
    #[error(transparent)]
    List(#[from] ListSessionsError),
    /// Its keeper does not answer.
    #[error("cannot end session {name:?}: its keeper does not answer")]
    NoAnswer {
        /// The name.
        name: String,
    },
}

impl SessionStore {
    /// Sessions in this directory, which is made when it is needed.
    pub fn new(directory: PathBuf, limits: SessionLimits, owner: SessionOwner) -> Self {
        let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let tag = match owner {
            SessionOwner::Engine => format!("{}-{:x}", std::process::id(), began.as_nanos()),
            SessionOwner::User => "user".to_owned(),
        };
        let (known, entrances) = (Mutex::default(), Mutex::default());
        Self { directory, limits, owner, tag, known, entrances, users: AtomicUsize::new(0) }
    }

    /// The lock that commands of this program hold one after the other while they reach the session at this place. It is fair.
    pub(super) fn entrance(&self, place: &Path) -> Arc<tokio::sync::Mutex<()>> {
        let mut entrances = self.entrances.lock().unwrap_or_else(PoisonError::into_inner);
        entrances.retain(|_, entrance| entrance.strong_count() > 0);
        if let Some(entrance) = entrances.get(place).and_then(Weak::upgrade) {
            return entrance;
        }
        let entrance = Arc::default();
        entrances.insert(place.to_path_buf(), Arc::downgrade(&entrance));
        entrance
    }

    /// Closes the connections to sessions that have ended, except the one at this place. That they were known stays known.
    pub(super) fn disconnect_ended(&self, place: &Path) {
        let has_ended = |place: &Path| {
            // A session that is too busy to answer has not ended, and would end with its connection.
            let gone =
                |error: io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused);
            reach(place).is_err_and(gone)
        };
        let mut known = self.known();
        for (_, session) in known.iter_mut().filter(|(other, _)| other.as_path() != place && has_ended(other)) {
            session.host = None;
            session.spare = None;
        }
    }

    /// Where they are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// All that live and that this version of bashful can use, whoever started them, by their names.
    pub async fn list(&self) -> Result<Vec<SessionEntry>, ListSessionsError> {
        Ok(self.list_all().await?.0)
    }

    /// All that live and that only a newer version of bashful can use, by their names.
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
            match look(&place).await {
                Ok(KeeperAnswer::Answered(state)) => entries.extend(entry(place, &state)),
                Ok(KeeperAnswer::Foreign(protocol)) => {
                    newer.extend(about::name_of(&place).map(|name| NewerSession { name, protocol, place }));
                }
                // It may still live.
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
                Err(_) => ended.push(place),
            }
        }
        forget_ended(ended);
        // All by one look at the clock, so that they can be compared.
        let now = boot_time();
        for entry in &mut entries {
            entry.since = now.saturating_sub(entry.since);
        }
        entries.sort_by(|one, other| (&one.name, one.pid).cmp(&(&other.name, other.pid)));
        newer.sort_by(|one, other| (&one.name, &one.place).cmp(&(&other.name, &other.place)));
        Ok((entries, newer))
    }

    /// Ends all sessions of this name, as their records have it: redacted, with everything that runs in them; how many there were.
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
        self.tell_to_end(&entry.place, &entry.name, false).await
    }

    /// Ends this very session of a newer version, and waits until nothing of it is left.
    pub async fn end_newer(&self, session: &NewerSession) -> Result<(), EndSessionError> {
        self.tell_to_end(&session.place, &session.name, false).await
    }

    pub(super) async fn tell_to_end(&self, place: &Path, name: &str, makes_room: bool) -> Result<(), EndSessionError> {
        let no_answer = || EndSessionError::NoAnswer { name: name.to_owned() };
        let Ok(mut link) = connect(place) else { return Ok(()) };
        link.send(&[&Order::EndSession { makes_room }], &[]).await.map_err(|_| no_answer())?;
        match timeout(ANSWER_PATIENCE, link.next_awake()).await {
            Ok(Ok(Report::Heard) | Err(_)) => {}
            Ok(Ok(_)) | Err(_) => return Err(no_answer()),
        }
        // It hangs up when nothing of it is left.
        while link.next_awake().await.is_ok() {}
        Ok(())
    }

    /// True for the directory of a session that this store finds by its name.
    pub(super) fn is_own(&self, place: &Path) -> bool {
        directory_name(place).strip_prefix(&*self.tag).is_some_and(|rest| rest.starts_with('-'))
    }

    /// Removes what ended sessions of this engine have left: nobody else can ask for them.
    fn forget_own(&self) {
        if self.owner == SessionOwner::User {
            return;
        }
        let places = fs::read_dir(&self.directory).into_iter().flatten().flatten().map(|place| place.path());
        for place in places.filter(|place| self.is_own(place)) {
            forget(&place);
        }
    }

    /// Where the session of this plan is, or would be. A session of bashful 0.1 that still lives is used where it is.
    pub(crate) fn place(&self, plan: &Plan, name: &SessionName) -> PathBuf {
        let place = self.own_place(plan, name);
        if self.owner == SessionOwner::Engine || place.join(protocol::CONTROL).exists() {
            // Sessions of an engine are of its own version.
            return place;
        }
        let old = self.old_place(plan, name);
        if reach(&old).is_ok() { old } else { place }
    }

    /// Moves what an ended session of bashful 0.1 has left to where the next one is started: its last word is still to be told.
    /// To be called by the one whose turn it is to start sessions.
    pub(super) fn move_old(&self, plan: &Plan, name: &SessionName, place: &Path) {
        let old = self.old_place(plan, name);
        if self.owner == SessionOwner::User && place != old && !place.exists() && reach(&old).is_err() {
            // There is hardly ever one.
            let _ = fs::rename(old, place);
        }
    }

    fn own_place(&self, plan: &Plan, name: &SessionName) -> PathBuf {
        let hash = ShellKey::of(plan).session_hash(name);
        self.directory.join(format!("{}-{hash}", self.tag))
    }

    fn old_place(&self, plan: &Plan, name: &SessionName) -> PathBuf {
        let snapshot = plan.snapshot.as_ref().map(|snapshot| snapshot.old_path());
        let hash = old_names::session(plan, name, snapshot, &lasting_variables(&plan.environment));
        self.directory.join(format!("{}-{hash}", self.tag))
    }

    /// Where the shell of a session is now; none if it is not known.
    pub(crate) fn cwd_in(&self, place: &Path) -> Option<PathBuf> {
        let known = self.known();
        let known = known.get(place);
        let written = || plain::read_to_string(&place.join(protocol::SHELL)).ok()?.parse().ok();
        let pid = known.map(|known| known.pid).or_else(written)?;
        // Only one that has a keeper: another program may have the number by now.
        let is_connected = known.and_then(|known| known.spare.as_ref()).is_some_and(|link| !link.has_news());
        (is_connected || place.join(protocol::CONTROL).exists()).then(|| cwd_of(pid)).flatten()
    }

    /// Keeps the connection of a command that is over for the next.
    pub(crate) fn keep(&self, place: &Path, link: Connection) {
        if let Some(known) = self.known().get_mut(place) {
            known.spare = Some(link);
        }
    }

    /// A connection to the session in this directory.
    pub(super) fn connect(&self, place: &Path) -> io::Result<Connection> {
        let spare = self.known().get_mut(place).and_then(|known| known.spare.take());
        // One over which something has come was closed: nobody has asked anything.
        spare.filter(|link| !link.has_news()).map_or_else(|| connect(place), Ok)
    }

    pub(super) fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the directory of a session, and takes it: nobody else starts one there until the handle is dropped.
    pub(super) async fn take(&self, place: &Path) -> io::Result<File> {
        let give_up = Instant::now() + TAKE_PATIENCE;
        loop {
            crate::make_directory(place)?;
            let handle = plain::open_directory(place)?;
            match flock(&handle, FlockOperation::NonBlockingLockExclusive) {
                // Somebody may have removed it just before.
                Ok(()) if handle.metadata()?.nlink() == 0 => {}
                Ok(()) => return Ok(handle),
                Err(Errno::WOULDBLOCK) if Instant::now() < give_up => sleep(LOOK_AGAIN).await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes the record of a session.
    pub(super) fn describe(&self, place: &Path, name: &Redacted) -> io::Result<()> {
        About::new(name, self.owner).write(place)
    }
}

/// Why nothing is left of the session that was here before; none if there was none. Only told once.
pub(super) fn take_last_word(place: &Path) -> Option<String> {
    let was_there = About::read(place).is_some();
    // A keeper that ends takes its socket away.
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

/// A connection to the keeper of a session. Whatever comes first over it has to be an order.
pub(super) fn connect(place: &Path) -> io::Result<Connection> {
    Connection::connect(place, about::protocol_of(place))
}

/// Asks a session for its state.
async fn look(place: &Path) -> io::Result<KeeperAnswer> {
    let mut link = connect(place)?;
    link.send(&[&Order::QueryState], &[]).await?;
    match timeout(ANSWER_PATIENCE, link.next_awake()).await {
        Ok(Ok(Report::Session(state))) => Ok(KeeperAnswer::Answered(state)),
        Ok(Ok(Report::NotUnderstood)) => Ok(KeeperAnswer::Foreign(link.foreign_version().unwrap_or_default())),
        Ok(_) => Err(io::ErrorKind::BrokenPipe.into()),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// What is to be known of a session. For how long it has been so is still to be reckoned from its `since`.
fn entry(place: PathBuf, state: &SessionState) -> Option<SessionEntry> {
    let (name, owner) = match About::read(&place)? {
        Versioned::Known(about) => (about.name, about.owner),
        // Its keeper speaks our language, so it can be used like any other.
        Versioned::Newer(_) => (about::name_of(&place)?, SessionOwner::User),
    };
    Some(SessionEntry {
        name,
        owner,
        pid: state.pid,
        cwd: cwd_of(state.pid),
        busy: state.busy,
        since: state.since,
        commands: state.commands,
        left: state.left,
        place,
    })
}

fn cwd_of(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Removes what ended sessions have left, except for words that somebody may still ask for.
///
/// A session of an engine is asked for by that engine alone. One of the user may be asked for by any later command of that name.
fn forget_ended(mut places: Vec<PathBuf>) {
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
        askable.into_iter().enumerate().filter(|(newer, (age, _))| *newer >= LAST_WORDS || *age > FORGOTTEN_AFTER);
    for place in too_old.map(|(_, (_, place))| place).chain(lost) {
        forget(&place);
    }
}

/// True if anybody can still ask for this session. The directory of an engine's session begins with its process id.
fn has_living_owner(place: &Path) -> bool {
    let name = directory_name(place);
    let owner = name.split_once('-').map(|(owner, _)| owner).filter(|owner| owner.parse::<u32>().is_ok());
    owner.is_none_or(|pid| Path::new("/proc").join(pid).exists())
}

fn directory_name(place: &Path) -> std::borrow::Cow<'_, str> {
    place.file_name().unwrap_or_default().to_string_lossy()
}

/// Removes what an ended session has left, unless somebody is starting one there.
fn forget(place: &Path) {
    let Ok(handle) = File::open(place) else { return };
    if flock(&handle, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    let nobody_there = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
    if reach(place).is_err_and(|error| nobody_there.contains(&error.kind())) {
        let _ = take_last_word(place);
        let _ = fs::remove_dir(place);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::{Engine, Options, Request, Script};

    #[test]
    fn a_session_of_bashful_0_1_is_used_where_it_is_and_its_last_word_is_told() {
        let directory = tempfile::tempdir().expect("a directory");
        let limits = SessionLimits::default();
        let store = SessionStore::new(directory.path().join("sessions"), limits, SessionOwner::User);
        let options = Options::new("/bin/bash".into(), directory.path().to_path_buf());
        let request = Request::new(Script::new("true").expect("a script"));
        let plan = Engine::new(options).expect("an engine").plan(request).expect("a plan");
        let name = SessionName::new("s").expect("a name");
        let (own, old) = (store.own_place(&plan, &name), store.old_place(&plan, &name));
        assert_ne!(own, old);
        assert_eq!(store.place(&plan, &name), own);
        crate::make_directory(&old).expect("a directory");
        let listener = UnixListener::bind(old.join(protocol::CONTROL)).expect("a socket");
        assert_eq!(store.place(&plan, &name), old);
        drop(listener);
        assert_eq!(store.place(&plan, &name), own, "nobody listens there any more");
        fs::write(old.join(protocol::LOST), "its shell ended").expect("a word");
        store.move_old(&plan, &name, &own);
        assert_eq!((take_last_word(&own).as_deref(), old.exists()), (Some("its shell ended"), false));
    }
}
