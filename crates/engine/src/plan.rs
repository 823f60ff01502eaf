//! What exactly would run: decided, printable, and not yet allowed.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, access};
use rustix::io::Errno;
use thiserror::Error;

use crate::backend::Backend;
use crate::capture::Cleaning;
use crate::environment::{EnvError, Environment};
use crate::output_redactor::OutputRedactor;
use crate::redact::Redactor;
use crate::request::{Given, Input, Lines, Request, Script, Streams};
use crate::sessions::InSession;
use crate::snapshot::{self, Current, Snapshot};
use crate::units::ByteSize;
use crate::units::{Grace, Lifetime};
use crate::window::Window;
use crate::{LeftoverPolicy, Options};

/// A command, decided down to the last variable. Nothing is inherited that is not in here.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The shell, by its absolute path.
    pub shell: PathBuf,
    /// What it is to do.
    pub script: Script,
    /// How it was given, if it has been rewritten since.
    pub given: Option<Given>,
    /// Where; absolute, and there when it was looked at.
    pub directory: PathBuf,
    /// The whole environment, and what was kept out of it.
    pub environment: Environment,
    /// The variables that the request itself sets, for whoever judges the script.
    pub own_variables: Vec<String>,
    /// How long it may run.
    pub lifetime: Lifetime,
    /// How long it may take to stop.
    pub grace: Grace,
    /// How its output is taken.
    pub streams: Streams,
    /// What it reads.
    pub input: Input,
    /// What becomes of processes that outlive their shell.
    pub leftovers: LeftoverPolicy,
    /// How much of its output is shown.
    pub window: Window,
    /// More bytes of a stream than this go to an artifact even if the window shows them all: a caller that may have to show
    /// less, once it knows how the command ended, sets it to the least that it may have to show.
    pub save_beyond: Option<ByteSize>,
    /// The caller that its job belongs to, if it becomes one. Written into the job's record; the engine reads no meaning into it.
    pub owner: Option<String>,
    /// Which lines of it are shown, within that.
    pub lines: Option<Lines>,
    /// After how many lines its output is closed.
    pub enough: Option<NonZeroU64>,
    /// How what is shown differs from what was written.
    pub cleaning: Cleaning,
    /// The session that it runs in; a shell of its own, if none.
    pub session: Option<InSession>,
    /// What the shell sources before it begins: functions and aliases of the user's rc files. Their variables are in the
    /// environment already.
    pub snapshot: Option<Arc<Snapshot>>,
}

/// Why a request cannot be planned.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// There is no such directory.
    #[error("Working directory does not exist: {}", path.display())]
    NoDirectory {
        /// Its path.
        path: PathBuf,
    },
    /// It is something else.
    #[error("Working directory is not a directory: {}", path.display())]
    NotADirectory {
        /// Its path.
        path: PathBuf,
    },
    /// This user may not enter it, or a directory above it.
    #[error("cannot enter the working directory {}: no permission for {}", path.display(), at.display())]
    NoEntry {
        /// Its path.
        path: PathBuf,
        /// The first directory on the way that cannot be entered.
        at: PathBuf,
    },
    /// It cannot be looked at.
    #[error("cannot use the working directory {}", path.display())]
    Directory {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no place for sessions.
    #[error("sessions need a state directory: set XDG_STATE_HOME or HOME")]
    NoSessions,
    /// The standard input of a session's shell is its own.
    #[error("a session cannot pass on standard input; leave out the session, or redirect a file inside the command")]
    InputInSession,
    /// A session's shell has no terminal.
    #[error("a session has no terminal; leave out the session, or the terminal")]
    TerminalInSession,
    /// A variable cannot be.
    #[error(transparent)]
    Env(#[from] EnvError),
}

impl Plan {
    /// Decides what the options leave open. Looks at the directory, and changes nothing.
    /// The environment is what every command of these options gets, if there is nothing from rc files.
    pub(crate) fn resolve(
        request: Request,
        options: &Options,
        backend: &dyn Backend,
        environment: &Environment,
        rc: Option<&Current>,
    ) -> Result<Self, PlanError> {
        if request.session.is_some() && request.input == Input::Host {
            return Err(PlanError::InputInSession);
        }
        let terminal = request.streams.terminal();
        if request.session.is_some() && terminal.is_some() {
            return Err(PlanError::TerminalInSession);
        }
        let asked = || backend.working_directory(&options.directory, request.workdir.as_deref());
        // In a session it is where the shell is, unless another one is asked for.
        let stays = request.session.is_some() && request.workdir.is_none();
        let directory = if stays { PathBuf::new() } else { asked()? };
        let of_command = if request.session.is_some() && request.env_apart { request.env.as_slice() } else { &[] };
        let of_shell = if of_command.is_empty() { request.env.as_slice() } else { &[] };
        let resolve = |rc: &Current| options.environment.resolve(&rc.host, of_shell);
        let with_rc = rc.map(|rc| Ok::<_, EnvError>((resolve(rc)?, Arc::clone(&rc.snapshot)))).transpose()?;
        let (mut environment, snapshot) = match with_rc.filter(|(environment, _)| snapshot::suits(environment)) {
            Some((environment, snapshot)) => (environment, Some(snapshot)),
            None => (environment.clone().with(of_shell)?, None),
        };
        if request.session.is_none() && !request.env.iter().any(|(name, _)| name == "PWD") {
            // With it, bash keeps the path as it was given, symbolic links and all.
            environment.variables.insert("PWD".into(), directory.clone().into());
        }
        if terminal.is_some_and(|terminal| !terminal.unattended) {
            environment.apply(&options.environment.terminal, &request.env);
        }
        let moves_to = request.workdir.is_some().then(|| directory.clone());
        let mut plan = Self {
            session: None,
            shell: options.shell.clone(),
            script: request.script,
            given: request.given,
            directory,
            environment,
            own_variables: request.env.iter().map(|(name, _)| name.clone()).collect(),
            lifetime: request.lifetime.unwrap_or(options.lifetime),
            grace: options.grace,
            streams: request.streams,
            input: request.input,
            leftovers: options.leftovers,
            window: request.window.unwrap_or(options.window),
            save_beyond: None,
            owner: None,
            lines: request.lines,
            // A terminal cannot be closed for its programs without hanging up on them.
            enough: request.enough.filter(|_| terminal.is_none()),
            cleaning: options.cleaning,
            snapshot,
        };
        if let Some(name) = request.session {
            let store = options.sessions.as_ref().ok_or(PlanError::NoSessions)?;
            let place = store.place(&plan, &name);
            if stays {
                plan.directory = store.cwd_in(&place).map_or_else(asked, Ok)?;
            }
            let mut shell_environment = None;
            if !of_command.is_empty() {
                let with_own = plan.environment.clone().with(of_command)?;
                shell_environment = Some(Box::new(std::mem::replace(&mut plan.environment, with_own)));
            }
            let variables = of_command.to_vec();
            plan.session =
                Some(InSession { name, moves_to, apart: request.apart, variables, shell_environment, place });
        }
        Ok(plan)
    }

    /// The script as it was given.
    pub fn given_script(&self) -> &Script {
        self.given.as_ref().map_or(&self.script, |given| &given.script)
    }

    /// Where it was to run, as it was given.
    pub fn given_directory(&self) -> &Path {
        self.given.as_ref().and_then(|given| given.directory.as_deref()).unwrap_or(&self.directory)
    }

    /// Redacts what is said about it, for those who have no engine at hand.
    pub fn redactor(&self) -> Redactor {
        self.environment.redactor()
    }

    /// What makes texts about it fit to be shown, for those who have no engine at hand.
    pub fn output_redactor(&self) -> OutputRedactor {
        self.environment.output_redactor(self.cleaning)
    }

    /// The variables as a program gets them, `NAME=value` each.
    pub(crate) fn env_block(&self) -> Vec<Vec<u8>> {
        self.environment.variables.iter().map(|(name, value)| env_entry(name, value)).collect()
    }
}

/// A variable as programs get it, `NAME=value`.
pub(crate) fn env_entry(name: impl Into<OsString>, value: &OsStr) -> Vec<u8> {
    let mut entry = name.into();
    entry.push("=");
    entry.push(value);
    entry.into_encoded_bytes()
}

/// The first directory on the way to a path that this user may not enter.
pub(crate) fn first_closed(path: &Path) -> Option<PathBuf> {
    let mut way: Vec<&Path> = path.ancestors().collect();
    way.reverse();
    way.into_iter().find(|part| access(*part, Access::EXEC_OK) == Err(Errno::ACCESS)).map(Path::to_path_buf)
}

/// The directory of this machine in which a command would run that asks for one, or for none, seen from another; if it is one.
pub fn directory(base: &Path, asked: Option<&Path>) -> Result<PathBuf, PlanError> {
    let path = asked.map_or_else(|| base.to_path_buf(), |asked| base.join(asked));
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => PlanError::NoDirectory { path: path.clone() },
        std::io::ErrorKind::NotADirectory => PlanError::NotADirectory { path: path.clone() },
        std::io::ErrorKind::PermissionDenied => {
            PlanError::NoEntry { path: path.clone(), at: first_closed(&path).unwrap_or_else(|| path.clone()) }
        }
        _ => PlanError::Directory { path: path.clone(), source },
    };
    let metadata = path.metadata().map_err(failed)?;
    if !metadata.is_dir() {
        return Err(PlanError::NotADirectory { path });
    }
    access(&path, Access::EXEC_OK).map_err(|errno| failed(errno.into()))?;
    // `..` behind a symbolic link means its target's parent: only the file system knows where that is.
    if path.components().any(|component| component == std::path::Component::ParentDir) {
        return path.canonicalize().map_err(failed);
    }
    std::path::absolute(&path).map_err(failed)
}
