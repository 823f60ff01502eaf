//! Plans: the exact command that would run, printable, and not yet allowed.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bashful_egress::RuleError;
use bashful_fence::{Fence, FenceError, Mode};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use thiserror::Error;

use crate::backend::Backend;
use crate::capture::Cleaning;
use crate::environment::{EnvError, Environment};
use crate::fences;
use crate::output_redactor::OutputRedactor;
use crate::redact::Redactor;
use crate::request::{Given, GivenCommand, Input, Lines, Request, Script, Streams};
use crate::sessions::InSession;
use crate::snapshot::{self, Current, Snapshot};
use crate::units::ByteSize;
use crate::units::{Grace, Lifetime};
use crate::window::{Budget, Window};
use crate::{LeftoverPolicy, Options};

/// A command, decided down to the last variable. It inherits nothing that is not in here.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Absolute path of the shell.
    pub shell: PathBuf,
    /// Script to run, after rewriting.
    pub script: Script,
    /// Script and directory as the caller gave them; none if nothing was rewritten.
    pub given: Option<Given>,
    /// Absolute path of the working directory, which existed when it was checked.
    pub directory: PathBuf,
    /// The whole environment, and the variables withheld from it.
    pub environment: Environment,
    /// Names of the variables that the request itself sets, for the guard.
    pub own_variables: Vec<String>,
    /// [`Request::dialect`].
    pub dialect: Option<&'static str>,
    /// False if the backend adds variables that nobody here knows.
    pub environment_is_whole: bool,
    /// Time after which the command is stopped.
    pub lifetime: Lifetime,
    /// Time after which the command is stopped if it becomes a job; its own lifetime if none.
    pub job_lifetime: Option<Lifetime>,
    /// Time between `SIGTERM` and `SIGKILL` when it is stopped.
    pub grace: Grace,
    /// One pipe for both streams, or two.
    pub streams: Streams,
    /// Source of standard input.
    pub input: Input,
    /// Fate of processes that outlive their shell.
    pub leftovers: LeftoverPolicy,
    /// Limit on the output that is shown.
    pub window: Window,
    /// Size of the largest output that may be condensed: the window, before the caller's limit lowers it. None if no
    /// output is.
    pub condense_within: Option<Budget>,
    /// Limit on the bytes of a stream that stay out of an artifact, even if the window shows all of them. A caller that
    /// may have to show less once the command has ended sets it to the least that it may have to show.
    pub save_beyond: Option<ByteSize>,
    /// Caller that owns the job, if the command becomes one. Written into the job's record; the engine does not
    /// interpret it.
    pub owner: Option<String>,
    /// Limit on the lines that are shown, within the window.
    pub lines: Option<Lines>,
    /// Number of lines after which the output is closed.
    pub enough: Option<NonZeroU64>,
    /// Removal of escape sequences and redrawn lines from the shown text.
    pub cleaning: Cleaning,
    /// Session that the command runs in; none if it has a shell of its own.
    pub session: Option<InSession>,
    /// Fence around the command; none if it can do everything that this program can do.
    pub fence: Option<Arc<Fence>>,
    /// The mode that the call asked for, if it allows more than the engine's policy. A user has to agree.
    pub asks_for_less_fence: Option<Mode>,
    /// Snapshot of the user's rc files that the shell sources first: functions and aliases. Their variables are in the
    /// environment already.
    pub snapshot: Option<Arc<Snapshot>>,
}

/// Error: a request that cannot be planned.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The working directory does not exist.
    #[error("Working directory does not exist: {}", path.display())]
    NoDirectory {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The path leads to something other than a directory.
    #[error("Working directory is not a directory: {}", path.display())]
    NotADirectory {
        /// Path that was asked for.
        path: PathBuf,
    },
    /// The user may not enter the directory, or one above it.
    #[error("cannot enter the working directory {}: no permission for {}", path.display(), at.display())]
    NoEntry {
        /// Path of the directory.
        path: PathBuf,
        /// First directory on the way that the user may not enter.
        at: PathBuf,
    },
    /// The directory cannot be checked.
    #[error("cannot use the working directory {}", path.display())]
    Directory {
        /// Path of the directory.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The engine has no store for sessions.
    #[error("sessions need a state directory: set XDG_STATE_HOME or HOME")]
    NoSessions,
    /// The standard input of a session's shell carries the keeper's lines.
    #[error("a session cannot pass on standard input; leave out the session, or redirect a file inside the command")]
    InputInSession,
    /// A session's shell has no terminal.
    #[error("a session has no terminal; leave out the session, or the terminal")]
    TerminalInSession,
    /// The policy of the sandbox cannot be resolved.
    #[error(transparent)]
    Fence(#[from] FenceError),
    /// The list of hosts of the sandbox has one that is none.
    #[error("the sandbox cannot let a host through")]
    Domain(#[from] RuleError),
    /// The name or the value of a variable is invalid.
    #[error(transparent)]
    Env(#[from] EnvError),
}

impl Plan {
    /// Fills in everything that the request leaves open. Reads the working directory, and changes nothing.
    /// `environment` is what every command of these options gets without rc files.
    pub(crate) fn resolve(
        request: Request,
        options: &Options,
        backend: &dyn Backend,
        environment: &Environment,
        rc: Option<&Current>,
    ) -> Result<Self, PlanError> {
        // Variables of a call must not move what a sandbox hides or opens.
        let environment_of_host = environment;
        if request.session.is_some() && request.input == Input::Host {
            return Err(PlanError::InputInSession);
        }
        let terminal = request.streams.terminal();
        if request.session.is_some() && terminal.is_some() {
            return Err(PlanError::TerminalInSession);
        }
        let named = request.workdir.as_deref().or(request.starts_in.as_deref());
        let asked = || backend.working_directory(&options.directory, named);
        // In a session it is the shell's own directory, unless the request names another one.
        let stays = request.session.is_some() && request.workdir.is_none();
        let directory = if stays { PathBuf::new() } else { asked()? };
        let of_command = if request.session.is_some() && request.env_apart { request.env.as_slice() } else { &[] };
        let of_shell = if of_command.is_empty() { request.env.as_slice() } else { &[] };
        let resolve = |rc: &Current| options.environment.resolve(&rc.host, of_shell);
        let environment_is_whole = backend.promises().withholds_variables;
        // A shell of another program has not sourced the snapshot, and the guard must not think so.
        let rc = rc.filter(|_| environment_is_whole);
        let with_rc = rc.map(|rc| Ok::<_, EnvError>((resolve(rc)?, Arc::clone(&rc.snapshot)))).transpose()?;
        let (mut environment, snapshot) = match with_rc.filter(|(environment, _)| snapshot::suits(environment)) {
            Some((environment, snapshot)) => (environment, Some(snapshot)),
            None => (environment.clone().with(of_shell)?, None),
        };
        if request.session.is_none() && !request.env.iter().any(|(name, _)| name == "PWD") {
            // With `PWD`, bash keeps the path as it was given, symbolic links included.
            environment.variables.insert("PWD".into(), directory.clone().into());
        }
        if terminal.is_some_and(|terminal| !terminal.unattended) {
            environment.apply(&options.environment.terminal, &request.env);
        }
        let window = request.window.unwrap_or(options.window);
        let may_condense = options.condensing.enabled && options.artifacts.is_some() && terminal.is_none();
        let moves_to = request.workdir.is_some().then(|| directory.clone());
        let mut plan = Self {
            session: None,
            shell: options.shell.clone(),
            script: request.script,
            given: request.given,
            directory,
            environment,
            environment_is_whole,
            dialect: request.dialect,
            own_variables: request.env.iter().map(|(name, _)| name.clone()).collect(),
            lifetime: request.lifetime.unwrap_or(options.lifetime),
            job_lifetime: request.job_lifetime,
            grace: options.grace,
            streams: request.streams,
            input: request.input,
            leftovers: options.leftovers,
            window,
            condense_within: may_condense.then_some(window.whole),
            save_beyond: None,
            owner: None,
            lines: request.lines,
            // A terminal cannot be closed for its programs without hanging up on them.
            enough: request.enough.filter(|_| terminal.is_none()),
            cleaning: options.cleaning,
            fence: None,
            asks_for_less_fence: None,
            snapshot,
        };
        if let Some(sandbox) = &options.sandbox {
            plan.fence = sandbox.resolve(request.sandbox, &options.directory, environment_of_host)?;
            for (name, value) in plan.fence.iter().flat_map(|fence| fences::proxy_variables(fence)) {
                if !plan.own_variables.contains(&name) {
                    plan.environment.variables.insert(name.into(), value.into());
                }
            }
            plan.asks_for_less_fence = request.sandbox.filter(|mode| *mode < sandbox.policy.mode);
        }
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

    /// The command as the caller gave it, before rewriting.
    pub fn given_command(&self) -> GivenCommand {
        let own_variables = self.given.as_ref().map_or(&self.own_variables, |given| &given.variables);
        let value = |name: &String| Some((name.clone(), self.environment.variables.get(OsStr::new(name))?.clone()));
        GivenCommand {
            script: self.given_script().clone(),
            directory: self.given_directory().to_path_buf(),
            variables: own_variables.iter().filter_map(value).collect(),
            session: self.session.as_ref().map(|session| session.name.to_string()),
            dialect: self.dialect.map(str::to_owned),
            sandbox: self.asks_for_less_fence,
        }
    }

    /// The script as the caller gave it, before rewriting.
    pub fn given_script(&self) -> &Script {
        self.given.as_ref().map_or(&self.script, |given| &given.script)
    }

    /// The working directory as the caller gave it, before rewriting.
    pub fn given_directory(&self) -> &Path {
        self.given.as_ref().and_then(|given| given.directory.as_deref()).unwrap_or(&self.directory)
    }

    /// Redactor for texts about this command, for callers without an engine.
    pub fn redactor(&self) -> Redactor {
        self.environment.redactor()
    }

    /// Redactor for the output of this command, for callers without an engine.
    pub fn output_redactor(&self) -> OutputRedactor {
        self.environment.output_redactor(self.cleaning)
    }

    /// The environment as a program gets it, `NAME=value` each.
    pub(crate) fn env_block(&self) -> Vec<Vec<u8>> {
        self.environment.variables.iter().map(|(name, value)| env_entry(name, value)).collect()
    }
}

/// A variable as a program gets it, `NAME=value`.
pub(crate) fn env_entry(name: impl Into<OsString>, value: &OsStr) -> Vec<u8> {
    let mut entry = name.into();
    entry.push("=");
    entry.push(value);
    entry.into_encoded_bytes()
}

/// Returns the first directory on the way to a path that this user may not enter.
pub(crate) fn first_closed(path: &Path) -> Option<PathBuf> {
    let mut way: Vec<&Path> = path.ancestors().collect();
    way.reverse();
    way.into_iter().find(|part| access(*part, Access::EXEC_OK) == Err(Errno::ACCESS)).map(Path::to_path_buf)
}

/// Resolves the working directory of a command on this machine: `asked` relative to `base`, or `base` itself. Fails if
/// no command can run there.
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
    // `..` after a symbolic link means the parent of its target, which only the file system knows.
    if path.components().any(|component| component == std::path::Component::ParentDir) {
        return path.canonicalize().map_err(failed);
    }
    std::path::absolute(&path).map_err(failed)
}
