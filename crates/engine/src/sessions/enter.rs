//! Hands commands to their sessions, and starts sessions.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bashful_keeper::protocol::{self, FailedStep, Order, Report, SessionCommand, SessionOrder, ShellStart};
use rustix::io::Errno;
use tokio::time::{Instant, timeout_at};

use super::about;
use super::store::{KnownSession, SessionStore, connect, take_end_reason};
use super::turns::CallTurn;
use super::{InSession, SessionName, SessionOwner, WhenBusy};
use crate::backend::{Attached, Outputs, StartError};
use crate::connection::{Connection, Silence, connect_socket};
use crate::keeper_link::{Keeper, KeeperHome, KeeperLink};
use crate::local::{self, IdleKeeper, Pipes, Starter};
use crate::plan::{Plan, env_entry};
use crate::request::Streams;

/// Attempts to hand over a command. A shell that ends just as the command comes is replaced; one that does so every
/// time has a reason.
const TRIES: usize = 3;

/// Most bytes of a command's own variables. Linux gives a program no more, and a message to a keeper is limited too.
const MOST_VARIABLES: usize = 2 * 1024 * 1024;

/// The way a command came into its session.
#[derive(Debug)]
pub struct Entered {
    /// Name of the session.
    pub name: SessionName,
    /// True if its shell was started for this command.
    pub is_new: bool,
    /// Reason why the earlier state of the session is gone.
    pub lost_before: Option<String>,
    /// True if there are other shells of this name, with other variables or rc files.
    pub has_others: bool,
    /// Time that the command waited for its turn; none if the shell was free.
    pub waited: Option<Duration>,
    /// A moment just before the command began. After a wait for its turn, it began a moment earlier.
    pub began: Instant,
}

/// A session that was started.
struct NewSession {
    lost_before: Option<String>,
    has_others: bool,
}

/// Result of handing over a command.
enum HandoverResult {
    Started(Box<Attached>),
    /// None of the command ran, and the session is gone.
    SessionGone,
}

impl Starter {
    /// Hands a command to its session, and starts the session if there is none.
    pub(crate) async fn enter(
        &self,
        plan: &Plan,
        at: &InSession,
        store: &Arc<SessionStore>,
        turn: &CallTurn,
        turn_by: Option<Instant>,
    ) -> Result<Attached, StartError> {
        let failed = |error| local::explain(plan, error);
        let directory = &at.place;
        let name = at.name.clone();
        let mut entered =
            Entered { name, is_new: false, lost_before: None, has_others: false, waited: None, began: Instant::now() };
        let mut turn = SessionTurn { call: turn, by: turn_by, waits_since: None };
        let mut tries = 0;
        while tries < TRIES {
            turn.call.reach(directory, turn_by).await?;
            let link = match store.connect(directory) {
                // An earlier command has lost its shell meanwhile, and comes first.
                Ok(_) if !turn.call.is_next(directory) => continue,
                Ok(link) => link,
                // The session lives, but its backlog of connections is full.
                Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(StartError::SessionBusy),
                Err(_) => {
                    turn.call.be_first(directory, turn_by).await?;
                    let opened = self.open(plan, at, store, directory).await?;
                    entered.is_new = opened.is_some();
                    entered.has_others = opened.as_ref().is_some_and(|opened| opened.has_others);
                    entered.lost_before = opened.and_then(|opened| opened.lost_before).or(entered.lost_before);
                    connect(directory).map_err(failed)?
                }
            };
            // A new shell is already in the command's directory.
            let moves_to = if entered.is_new { None } else { at.moves_to.as_deref() };
            // The guard judged the command for that directory, and an earlier command may have left it.
            let expected = (!entered.is_new && at.moves_to.is_none()).then_some(plan.directory.as_path());
            let place = CommandPlace { at, moves_to, expected };
            entered.began = Instant::now();
            let handed_over = hand_over(link, plan, place, store, &mut turn).await;
            match handed_over.inspect_err(|_| turn.call.note_thrown_out())? {
                HandoverResult::Started(attached) => {
                    if let Some(since) = turn.waits_since {
                        (entered.waited, entered.began) = (Some(since.elapsed()), Instant::now());
                    }
                    turn.call.give_up();
                    return Ok(attached.in_session(entered));
                }
                HandoverResult::SessionGone => turn.call.note_thrown_out(),
            }
            tries += 1;
        }
        Err(StartError::KeeperGone)
    }

    /// Starts a session; none if another program has done so meanwhile.
    async fn open(
        &self,
        plan: &Plan,
        at: &InSession,
        store: &SessionStore,
        place: &Path,
    ) -> Result<Option<NewSession>, StartError> {
        let unusable = |source| StartError::Session { place: place.to_path_buf(), source };
        // One after another, so that the limit on sessions holds.
        let _turn = store.lock_directory(store.directory()).await.map_err(unusable)?;
        if connect_socket(place).is_ok() {
            return Ok(None);
        }
        let names = self.make_room(store).await?;
        store.disconnect_ended(place);
        let _taken = store.lock_directory(place).await.map_err(unusable)?;
        // The old entry still holds the earlier session, if that lives where nobody can reach it.
        let was_known = store.known().remove(place).is_some();
        let lost_before = take_end_reason(place).or_else(|| was_known.then(|| "its directory was removed".to_owned()));
        let (pid, link, keeper) = self.launch(plan, at, store, place).await.inspect_err(|_| {
            // There is no state that could be lost.
            let _ = take_end_reason(place);
            let _ = std::fs::remove_dir(place);
        })?;
        tracing::debug!(pid, session = %at.name, "started a session");
        let host = (store.owner == SessionOwner::Engine).then_some(link);
        store.known().insert(place.to_path_buf(), KnownSession { pid, host, spare: None });
        // Dropping it reaps the keeper once it has ended.
        drop(keeper);
        let own = plan.redactor().redact(at.name.as_str());
        let has_others = names.iter().any(|name| own == *name.as_str());
        Ok(Some(NewSession { lost_before, has_others }))
    }

    /// Starts the keeper of a session, and its shell.
    async fn launch(
        &self,
        plan: &Plan,
        at: &InSession,
        store: &SessionStore,
        place: &Path,
    ) -> Result<(i32, Connection, Keeper), StartError> {
        let failed = |error| local::explain(plan, error);
        let unusable = |source| StartError::Session { place: place.to_path_buf(), source };
        let name = plan.redactor().redact(at.name.as_str());
        store.write_about(place, &name).map_err(unusable)?;
        let IdleKeeper { socket, keeper } = self.connect().map_err(failed)?;
        let mut link = Connection::new(socket).map_err(failed)?;
        let nothing = bashful_sys::null_file().map_err(failed)?;
        let shell = match &at.shell_environment {
            Some(environment) => &Plan { environment: (**environment).clone(), ..plan.clone() },
            None => plan,
        };
        let mut setup = self.setup(shell, ShellStart::WithScript);
        if !shell.environment.variables.contains_key(std::ffi::OsStr::new("PWD")) {
            // With `PWD`, bash keeps the path as it was given, symbolic links included.
            setup.env.push([b"PWD=", plan.directory.as_os_str().as_bytes()].concat());
        }
        let session = SessionOrder {
            directory: place.as_os_str().as_bytes().to_vec(),
            idle: Some(store.limits.idle),
            outlives: store.owner == SessionOwner::User,
        };
        let fence = self.fence(plan).await?;
        let mut orders: Vec<Order> = fence.iter().map(|fence| fence.order()).collect();
        orders.extend([Order::Setup(setup), Order::Session(session)]);
        let inside = fence.iter().flat_map(|fence| fence.descriptors());
        let descriptors: Vec<_> = inside.chain([nothing.as_fd(), nothing.as_fd()]).collect();
        link.send(&orders.iter().collect::<Vec<_>>(), &descriptors).await.map_err(|_| StartError::KeeperGone)?;
        let pid = match link.next().await {
            Ok(Report::Started { pid }) => pid,
            word => {
                return Err(match word {
                    Ok(Report::NotStarted { step: FailedStep::Record, errno }) => {
                        unusable(std::io::Error::from_raw_os_error(errno))
                    }
                    Ok(Report::NotStarted { step, errno }) => local::explain_step(plan, step, errno),
                    Ok(Report::NotUnderstood) => {
                        StartError::KeeperVersion { protocol: link.foreign_version().unwrap_or_default() }
                    }
                    _ => StartError::KeeperGone,
                });
            }
        };
        Ok((pid, link, keeper))
    }

    /// Ends the session that has been idle for longest, if the limit is reached. Returns the names of the sessions that
    /// this store can reach.
    async fn make_room(&self, store: &SessionStore) -> Result<Vec<String>, StartError> {
        let Ok(mut entries) = store.list().await else { return Ok(Vec::new()) };
        entries.retain(|entry| entry.owner == store.owner);
        let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        // Sessions of another engine cannot be reached from here.
        let own = entries.iter().filter(|entry| store.is_own(&entry.place)).map(|entry| entry.name.clone()).collect();
        while entries.len() >= store.limits.at_most {
            let idle = entries.iter().enumerate().filter(|(_, entry)| !entry.busy && entry.left == 0);
            let Some((index, _)) = idle.max_by_key(|(_, entry)| entry.since) else {
                return Err(StartError::TooManySessions { limit: store.limits.at_most, names });
            };
            // A session that does not answer is no reason to refuse another.
            let entry = entries.remove(index);
            let _ = store.send_end(&entry.place, &entry.name, true).await;
        }
        Ok(own)
    }
}

/// Directory in which a command of a session runs.
struct CommandPlace<'a> {
    at: &'a InSession,
    moves_to: Option<&'a Path>,
    expected: Option<&'a Path>,
}

/// The turn of a command at its session.
struct SessionTurn<'a> {
    call: &'a CallTurn,
    by: Option<Instant>,
    /// Time at which the command was queued. The shell that it waited for may have ended since.
    waits_since: Option<Instant>,
}

impl SessionTurn<'_> {
    fn note_queued(&mut self) {
        self.call.note_queued();
        self.waits_since.get_or_insert_with(Instant::now);
    }
}

/// Hands over a command, and waits for its turn.
async fn hand_over(
    mut link: Connection,
    plan: &Plan,
    place: CommandPlace<'_>,
    store: &Arc<SessionStore>,
    turn: &mut SessionTurn<'_>,
) -> Result<HandoverResult, StartError> {
    let CommandPlace { at, moves_to, expected } = place;
    let failed = |error| local::explain(plan, error);
    let Pipes { read, write } = Pipes::new(plan.streams).map_err(failed)?;
    let long_script = local::long_script(plan).map_err(failed)?;
    let protocol::Begin { script, lifetime } = local::begin(plan, long_script.is_some());
    let command = SessionCommand {
        directory: moves_to.map(|path| path.as_os_str().as_bytes().to_vec()).unwrap_or_default(),
        expected: expected.map(|path| path.as_os_str().as_bytes().to_vec()).unwrap_or_default(),
        apart: at.apart,
        lifetime,
        waits: store.limits.when_busy == WhenBusy::Wait,
        split: plan.streams == Streams::Split,
        variables: Vec::new(),
        output: None,
        script,
    };
    let mut orders = vec![Order::Command(command)];
    if !at.variables.is_empty() {
        let protocol = about::protocol_of(&at.place);
        if protocol == 0 {
            // A keeper of version 0 knows no variables of a single command.
            return Err(StartError::SessionVersion { name: at.name.to_string(), protocol });
        }
        let variables: Vec<_> = at.variables.iter().map(|(name, value)| env_entry(name, value)).collect();
        if variables.iter().map(Vec::len).sum::<usize>() > MOST_VARIABLES {
            return Err(failed(Errno::TOOBIG.into()));
        }
        orders.insert(0, Order::Variables(variables));
    }
    let mut descriptors = local::stdout_and_stderr(&write);
    descriptors.extend(long_script.as_ref().map(AsFd::as_fd));
    if link.send(&orders.iter().collect::<Vec<_>>(), &descriptors).await.is_err() {
        return Ok(HandoverResult::SessionGone);
    }
    drop(write);
    let attached = |link, outputs: Outputs, pid| {
        let home = KeeperHome::Session { store: Arc::clone(store), place: at.place.clone() };
        let link = Box::new(KeeperLink::new(link, Keeper::Session, home));
        HandoverResult::Started(Box::new(Attached { link, outputs, pid, session: None, client: None }))
    };
    match answer(&mut link, turn).await {
        Ok(Report::Started { pid }) => Ok(attached(link, read, Some(pid))),
        Ok(Report::Busy) if turn.by.is_some_and(|by| by <= Instant::now()) => Err(StartError::NoTurn),
        Ok(Report::Busy) => Err(StartError::SessionBusy),
        Ok(Report::Moved) => Err(StartError::SessionMoved),
        Ok(Report::NotUnderstood) => {
            let protocol = link.foreign_version().unwrap_or_default();
            Err(StartError::SessionVersion { name: at.name.to_string(), protocol })
        }
        Ok(Report::NotStarted { .. }) | Err(Silence::Unheard) => Ok(HandoverResult::SessionGone),
        // The command may have begun, and must not run twice.
        Ok(_) | Err(Silence::Gone) => Ok(attached(link, read, None)),
    }
}

/// Waits for the first report about a command, however long its turn takes. When the time for that is over it withdraws
/// the command, and learns which of the two was first.
async fn answer(link: &mut Connection, turn: &mut SessionTurn<'_>) -> Result<Report, Silence> {
    let by = turn.by;
    let mut next = async |link: &mut Connection| loop {
        match link.next_awake().await {
            Ok(Report::Waiting) => turn.note_queued(),
            word => return word,
        }
    };
    if let Some(by) = by {
        if let Ok(word) = timeout_at(by, next(link)).await {
            return word;
        }
        // A keeper that can be neither reached nor woken is gone, and the connection reports that.
        let _ = link.send(&[&Order::Withdraw], &[]).await;
        let _ = link.wake_peer();
    }
    next(link).await
}
