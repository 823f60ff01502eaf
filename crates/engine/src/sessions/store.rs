//! The directory of all sessions.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bashful_keeper::wire::{self, Order, Report, SessionState};
use bashful_sys::{boot_time, plain};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout};

use super::{SessionLimits, SessionName, SessionOwner};
use crate::link::{Link, reach};
use crate::plan::Plan;

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

/// Variables that change with every step of whoever starts a command, and say nothing about the command.
const PASSING: [&str; 4] = ["PWD", "OLDPWD", "SHLVL", "_"];

/// What a session is, while that is being written.
const ABOUT_DRAFT: &str = "about.new";

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
    /// Holds it: closing it ends the session. None if it stays without us.
    pub(super) _host: Option<Link>,
    /// A connection that the last command has left.
    pub(super) spare: Option<Link>,
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
        Self { directory, limits, owner, tag, known: Mutex::default(), users: AtomicUsize::new(0) }
    }

    /// Where they are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// All that live, whoever started them, by their names.
    pub async fn list(&self) -> Result<Vec<SessionEntry>, ListSessionsError> {
        let failed = |source| ListSessionsError { path: self.directory.clone(), source };
        let places = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            places => places.map_err(failed)?,
        };
        let mut entries: Vec<SessionEntry> = Vec::new();
        let mut ended = Vec::new();
        for place in places {
            let place = place.map_err(failed)?.path();
            match look(&place).await {
                Ok(state) => entries.extend(entry(place, &state)),
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
        Ok(entries)
    }

    /// Ends all sessions of this name, with everything that runs in them; how many there were.
    pub async fn end(&self, name: &SessionName) -> Result<usize, EndSessionError> {
        let entries: Vec<_> = self.list().await?.into_iter().filter(|entry| entry.name == name.as_str()).collect();
        if entries.is_empty() {
            return Err(EndSessionError::NoSession { name: name.to_string() });
        }
        for entry in &entries {
            self.end_one(entry).await?;
        }
        Ok(entries.len())
    }

    /// Ends this very session, and waits until nothing of it is left.
    pub async fn end_one(&self, entry: &SessionEntry) -> Result<(), EndSessionError> {
        self.tell_to_end(entry, false).await
    }

    pub(super) async fn tell_to_end(&self, entry: &SessionEntry, makes_room: bool) -> Result<(), EndSessionError> {
        let no_answer = || EndSessionError::NoAnswer { name: entry.name.clone() };
        let Ok(mut link) = Link::connect(&entry.place) else { return Ok(()) };
        link.send(&[&Order::EndSession { makes_room }], &[]).await.map_err(|_| no_answer())?;
        match timeout(ANSWER_PATIENCE, link.next_awake()).await {
            Ok(Ok(Report::Heard) | Err(_)) => {}
            Ok(Ok(_)) | Err(_) => return Err(no_answer()),
        }
        // It hangs up when nothing of it is left.
        while link.next_awake().await.is_ok() {}
        Ok(())
    }

    /// Removes what ended sessions of this engine have left: nobody else can ask for them.
    fn forget_own(&self) {
        if self.owner == SessionOwner::User {
            return;
        }
        let own = format!("{}-", self.tag);
        let places = fs::read_dir(&self.directory).into_iter().flatten().flatten().map(|place| place.path());
        for place in places.filter(|place| directory_name(place).starts_with(&own)) {
            forget(&place);
        }
    }

    /// Where the session of this plan is, or would be.
    pub(crate) fn place(&self, plan: &Plan, name: &SessionName) -> PathBuf {
        let tells_apart = |(name, _): &(&OsString, _)| !PASSING.iter().any(|passing| name.as_os_str() == *passing);
        // One after the other, because hashing many short texts takes several times as long as hashing one. No text has a NUL.
        let mut variables = Vec::with_capacity(8192);
        for (name, value) in plan.environment.variables.iter().filter(tells_apart) {
            variables.extend_from_slice(name.as_bytes());
            variables.push(0);
            variables.extend_from_slice(value.as_bytes());
            variables.push(0);
        }
        let snapshot = plan.snapshot.as_ref().map(|snapshot| snapshot.path());
        let hash = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, name, &plan.shell, snapshot, &variables).hash(&mut hasher);
            hasher.finish()
        };
        self.directory.join(format!("{}-{:016x}{:016x}", self.tag, hash(0), hash(1)))
    }

    /// Where the shell of a session is now; none if it is not known.
    pub(crate) fn cwd_in(&self, place: &Path) -> Option<PathBuf> {
        let known = self.known();
        let known = known.get(place);
        let written = || plain::read_to_string(&place.join(wire::SHELL)).ok()?.parse().ok();
        let pid = known.map(|known| known.pid).or_else(written)?;
        // Only one that has a keeper: another program may have the number by now.
        let is_connected = known.and_then(|known| known.spare.as_ref()).is_some_and(|link| !link.has_news());
        (is_connected || place.join(wire::CONTROL).exists()).then(|| cwd_of(pid)).flatten()
    }

    /// Keeps the connection of a command that is over for the next.
    pub(crate) fn keep(&self, place: &Path, link: Link) {
        if let Some(known) = self.known().get_mut(place) {
            known.spare = Some(link);
        }
    }

    /// A connection to the session in this directory.
    pub(super) fn connect(&self, place: &Path) -> io::Result<Link> {
        let spare = self.known().get_mut(place).and_then(|known| known.spare.take());
        // One over which something has come was closed: nobody has asked anything.
        spare.filter(|link| !link.has_news()).map_or_else(|| Link::connect(place), Ok)
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

    /// Writes down what a session is.
    pub(super) fn describe(&self, place: &Path, name: &SessionName) -> io::Result<()> {
        let owner = match self.owner {
            SessionOwner::Engine => "engine",
            SessionOwner::User => "user",
        };
        let about = json!({ "name": name.as_str(), "owner": owner });
        let draft = place.join(ABOUT_DRAFT);
        plain::write(&draft, about.to_string().as_bytes())?;
        fs::rename(draft, place.join(wire::ABOUT))
    }
}

/// Why nothing is left of the session that was here before; none if there was none. Only told once.
pub(super) fn take_last_word(place: &Path) -> Option<String> {
    let was_there = about(place).is_some();
    // A keeper that ends takes its socket away.
    let was_killed = place.join(wire::CONTROL).symlink_metadata().is_ok();
    let word = plain::read_to_string(&place.join(wire::LOST)).ok();
    for name in [wire::LOST, wire::LOST_DRAFT, wire::ABOUT, ABOUT_DRAFT, wire::CONTROL, wire::SHELL] {
        let _ = fs::remove_file(place.join(name));
    }
    let unsaid = if was_killed { "its keeper was killed" } else { "it had ended, and left no word why" };
    word.or_else(|| was_there.then(|| unsaid.to_owned()))
}

/// How a session is.
async fn look(place: &Path) -> io::Result<SessionState> {
    let mut link = Link::connect(place)?;
    link.send(&[&Order::Look], &[]).await?;
    match timeout(ANSWER_PATIENCE, link.next_awake()).await {
        Ok(Ok(Report::Session(state))) => Ok(state),
        Ok(_) => Err(io::ErrorKind::BrokenPipe.into()),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// What is to be known of a session. For how long it has been so is still to be reckoned from its `since`.
fn entry(place: PathBuf, state: &SessionState) -> Option<SessionEntry> {
    let about = about(&place)?;
    Some(SessionEntry {
        name: about.get("name")?.as_str()?.to_owned(),
        owner: if about.get("owner")?.as_str()? == "user" { SessionOwner::User } else { SessionOwner::Engine },
        pid: state.pid,
        cwd: cwd_of(state.pid),
        busy: state.busy,
        since: state.since,
        commands: state.commands,
        left: state.left,
        place,
    })
}

fn about(place: &Path) -> Option<Value> {
    serde_json::from_slice(&plain::read(&place.join(wire::ABOUT)).ok()?).ok()
}

fn cwd_of(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Removes what ended sessions have left, except for words that somebody may still ask for.
///
/// A session of an engine is asked for by that engine alone. One of the user may be asked for by any later command of that name.
fn forget_ended(places: Vec<PathBuf>) {
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
