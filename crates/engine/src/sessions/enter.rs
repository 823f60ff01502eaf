//! How a command gets into its session.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bashful_keeper::wire::{self, Command, Order, Report, Session, When};
use tokio::time::timeout;

use super::store::{ANSWER_PATIENCE, Known, SessionStore, take_last_word};
use super::{InSession, SessionName, SessionOwner, WhenBusy};
use crate::backend::{Attached, Keeper, StartError};
use crate::link::{Link, Silence};
use crate::local::{self, Connected, Pipes, Starter};
use crate::plan::Plan;
use crate::request::Streams;

/// A shell that ends just when a command comes is replaced; one that does so again and again has a reason.
const TRIES: usize = 3;

/// How a command came into its session.
#[derive(Debug)]
pub(crate) struct Entered {
    pub(crate) name: SessionName,
    pub(crate) place: PathBuf,
    pub(crate) is_new: bool,
    pub(crate) lost_before: Option<String>,
}

/// A session that was started.
struct Opened {
    lost_before: Option<String>,
}

/// What became of a command that was handed over.
enum Handed {
    Started(Attached),
    /// Nothing of it was done, and the session is gone.
    SessionGone,
}

impl Starter {
    /// Hands a command to its session, which is started if it is not there.
    pub(crate) async fn enter(
        &self,
        plan: &Plan,
        at: &InSession,
        store: &SessionStore,
    ) -> Result<Attached, StartError> {
        let failed = |error| local::explain(plan, error);
        let place = &at.place;
        let mut entered = Entered { name: at.name.clone(), place: place.clone(), is_new: false, lost_before: None };
        for _ in 0..TRIES {
            let link = if let Ok(link) = store.connect(place) {
                link
            } else {
                let opened = self.open(plan, at, store, place).await?;
                entered.is_new = opened.is_some();
                entered.lost_before = opened.and_then(|opened| opened.lost_before).or(entered.lost_before);
                Link::connect(place).map_err(failed)?
            };
            // Who has just started one has put it where the command begins.
            let moves_to = if entered.is_new { None } else { at.moves_to.as_deref() };
            match hand_over(link, plan, moves_to, store).await? {
                Handed::Started(attached) => return Ok(Attached { session: Some(entered), ..attached }),
                Handed::SessionGone => {}
            }
        }
        Err(StartError::KeeperGone)
    }

    /// Starts a session, unless somebody else has meanwhile: then there is nothing to tell of it.
    async fn open(
        &self,
        plan: &Plan,
        at: &InSession,
        store: &SessionStore,
        place: &Path,
    ) -> Result<Option<Opened>, StartError> {
        let failed = |error| local::explain(plan, error);
        self.make_room(store).await?;
        let _taken =
            store.take(place).await.map_err(|source| StartError::Session { place: place.to_path_buf(), source })?;
        if Link::connect(place).is_ok() {
            return Ok(None);
        }
        let lost_before = take_last_word(place);
        let Connected { socket, keeper } = self.connect().map_err(failed)?;
        let mut link = Link::new(socket).map_err(failed)?;
        let nothing = std::fs::File::options().write(true).open("/dev/null").map_err(failed)?;
        let mut setup = self.setup(plan, When::Asked);
        if !plan.environment.variables.contains_key(std::ffi::OsStr::new("PWD")) {
            // With it, bash keeps the path as it was given, symbolic links and all.
            setup.env.push([b"PWD=", plan.directory.as_os_str().as_bytes()].concat());
        }
        let session = Session {
            directory: place.as_os_str().as_bytes().to_vec(),
            idle: Some(store.limits.idle),
            outlives: store.owner == SessionOwner::User,
        };
        let orders = [&Order::Setup(setup), &Order::Session(session)];
        link.send(&orders, &[nothing.as_fd(), nothing.as_fd()]).await.map_err(|_| StartError::KeeperGone)?;
        let pid = match link.next().await {
            Ok(Report::Started { pid }) => pid,
            Ok(Report::NotStarted { step, errno }) => return Err(local::explain_step(plan, step, errno)),
            Ok(_) | Err(_) => return Err(StartError::KeeperGone),
        };
        let described = store.describe(place, &at.name, pid);
        described.map_err(|source| StartError::Session { place: place.to_path_buf(), source })?;
        tracing::debug!(pid, session = %at.name, "started a session");
        let host = (store.owner == SessionOwner::Engine).then_some(link);
        store.known().insert(place.to_path_buf(), Known { pid, _host: host, spare: None });
        // Its end is taken away when it comes.
        drop(keeper);
        Ok(Some(Opened { lost_before }))
    }

    /// Ends the session that has been idle for longest, if there are as many as there may be.
    async fn make_room(&self, store: &SessionStore) -> Result<(), StartError> {
        let Ok(mut entries) = store.list().await else { return Ok(()) };
        entries.retain(|entry| entry.owner == store.owner);
        if entries.len() < store.limits.at_most {
            return Ok(());
        }
        let idle = entries.iter().filter(|entry| !entry.busy && entry.left == 0).max_by_key(|entry| entry.since);
        let Some(idle) = idle else {
            let names = entries.iter().map(|entry| entry.name.clone()).collect();
            return Err(StartError::TooManySessions { limit: store.limits.at_most, names });
        };
        store.end_one(idle).await.map_err(|error| StartError::System(std::io::Error::other(error)))
    }
}

/// Hands over a command, and waits for its turn.
async fn hand_over(
    mut link: Link,
    plan: &Plan,
    moves_to: Option<&Path>,
    store: &SessionStore,
) -> Result<Handed, StartError> {
    let failed = |error| local::explain(plan, error);
    let Pipes { read, write } = Pipes::new(plan.streams).map_err(failed)?;
    let long_script = local::long_script(plan).map_err(failed)?;
    let wire::Begin { script, lifetime } = local::begin(plan, long_script.is_some());
    let command = Command {
        directory: moves_to.map(|path| path.as_os_str().as_bytes().to_vec()).unwrap_or_default(),
        lifetime,
        waits: store.limits.when_busy == WhenBusy::Wait,
        split: plan.streams == Streams::Split,
        output: None,
        script,
    };
    let mut descriptors = local::both(&write);
    descriptors.extend(long_script.as_ref().map(AsFd::as_fd));
    if link.send(&[&Order::Command(command)], &descriptors).await.is_err() {
        return Ok(Handed::SessionGone);
    }
    drop(write);
    let attached = |link, output: Vec<OwnedFd>, pid| {
        Handed::Started(Attached { link, output, pid, keeper: Keeper::Session, session: None })
    };
    match answer(&mut link).await {
        Ok(Report::Started { pid }) => Ok(attached(link, read, Some(pid))),
        Ok(Report::Busy) => Err(StartError::SessionBusy),
        Ok(Report::NotStarted { .. }) | Err(Silence::Unheard) => Ok(Handed::SessionGone),
        // It may have begun, and must not run twice.
        Ok(_) | Err(Silence::Gone) => Ok(attached(link, read, None)),
    }
}

/// The first word about a command, however long its turn takes to come. A keeper that was stopped, by a command perhaps, is
/// woken.
async fn answer(link: &mut Link) -> Result<Report, Silence> {
    loop {
        match timeout(ANSWER_PATIENCE, link.next()).await {
            Ok(word) => return word,
            Err(_) => {
                // If it cannot be, it is gone, and the connection says so.
                let _ = link.wake_peer();
            }
        }
    }
}
