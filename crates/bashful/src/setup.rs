//! Builds engines from settings.

use std::borrow::Cow;
use std::error::Error;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bashful_dialect::Limits;
use bashful_engine::{
    ArtifactUrls, Budget, Caches, Cleaning, Engine, EnvError, EnvironmentPolicy, FencePolicy, Grace, JobUrls,
    LeftoverPolicy, Lifetime, LocalUrls, Network, NotBash, Options, Orphans, OutputRedactor, Patience, Pattern,
    PlanError, Redactor, Rewriting, SandboxOptions, Scheme, SessionOwner, Sizes, SkillUrls, SnapshotOptions, Window,
    working_directory,
};
use bashful_sys::Errno;
use thiserror::Error;

use crate::settings::{self, Leftovers, Settings};
use crate::surroundings::{Surroundings, current_directory};
use crate::{guard, shell_path, stores, umask};

/// An error before anything runs.
#[derive(Debug, Error)]
pub(crate) enum SetupError {
    #[error("no bash found on PATH ({path}), in /bin or in /usr/bin; install it, or set `[shell] path`")]
    NoBash { path: String },
    #[error("`[shell] path` in the settings has to be an absolute path, not {path:?}")]
    ShellPath { path: String },
    #[error("cannot use `[shell] path` of the settings")]
    Shell(#[source] NotBash),
    #[error("cannot tell the current directory")]
    NoDirectory(#[source] std::io::Error),
    #[error(transparent)]
    Directory(#[from] PlanError),
    #[error("--env takes NAME=VALUE, not {given:?}")]
    Env { given: OsString },
    #[error("cannot read the command from standard input")]
    Stdin(#[source] std::io::Error),
    #[error("--timeout takes a number of seconds, not {0}")]
    Timeout(f64),
    #[error("no file descriptors left (limit {limit}); raise `ulimit -n`")]
    Descriptors { limit: u64, source: std::io::Error },
    #[error("the system refuses `socketpair`, which every command needs; allow it in the seccomp filter")]
    SocketPair(#[source] std::io::Error),
}

/// Descriptors that the program itself needs: those of the event loop, of signals, and of one command.
const DESCRIPTORS: usize = 16;

/// Makes the event loop.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Box<dyn Error>> {
    // Without enough descriptors the event loop would panic instead of reporting it.
    let spare: Result<Vec<_>, Errno> = (0..DESCRIPTORS).map(|_| rustix::io::dup(std::io::stderr())).collect();
    drop(spare.map_err(no_descriptors)?);
    // Without Unix sockets the event loop would panic too, and keepers could not be reached.
    bashful_sys::socket::pair().map_err(|source| match Errno::from_io_error(&source) {
        Some(errno @ (Errno::MFILE | Errno::NFILE)) => no_descriptors(errno),
        _ => SetupError::SocketPair(source),
    })?;
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn no_descriptors(errno: Errno) -> SetupError {
    let limit = bashful_sys::limits::Limit::descriptors().soft.unwrap_or(u64::MAX);
    SetupError::Descriptors { limit, source: errno.into() }
}

/// An engine with these settings.
pub(crate) fn engine(settings: &Settings, around: &Surroundings, cwd: Option<&Path>) -> Result<Engine, Box<dyn Error>> {
    Ok(Engine::new(options(settings, around, cwd)?)?)
}

/// The options of an engine with these settings.
pub(crate) fn options(
    settings: &Settings,
    around: &Surroundings,
    cwd: Option<&Path>,
) -> Result<Options, Box<dyn Error>> {
    let directory = base_directory(around, cwd)?;
    // Many parallel commands need many descriptors. The commands themselves get the original limit.
    let descriptors = bashful_sys::limits::raise_descriptors();
    let mut options = Options::new(shell_path::shell(settings, around)?, directory);
    options.environment = settings.environment.policy();
    options.host_environment = host_environment(around);
    options.lifetime = Lifetime(settings.lifetime.default_seconds.duration());
    options.grace = Grace(settings.stop.grace_seconds.duration());
    options.window = window(&settings.output);
    options.cleaning = cleaning(settings);
    // Callers load the filters, once they know whether any output is condensed.
    options.condensing.enabled = settings.condense.enabled;
    options.leftovers = match settings.stop.leftovers {
        Leftovers::Keep => LeftoverPolicy::Keep,
        Leftovers::Stop => LeftoverPolicy::Stop,
    };
    options.artifacts = stores::artifacts(settings, around).map(Arc::new);
    options.jobs = stores::jobs(settings, around).map(Arc::new);
    options.sessions = stores::sessions(settings, around, SessionOwner::User).map(Arc::new);
    options.registry = stores::registry(around, "run").map(Arc::new);
    options.snapshot = snapshot(settings, around);
    // The engine may adopt orphans, because no other code here starts processes.
    options.orphans = Orphans::Adopt;
    options.rewriting = rewriting(settings, around, &options);
    options.judge = guard::judge(settings, around)?;
    options.sandbox = Some(sandbox(&settings.sandbox, around, cwd));
    options.limits = vec![descriptors];
    options.umask = umask::given();
    Ok(options)
}

/// The sandbox of these settings. `workspace` is its directory, if it is not that of the program.
fn sandbox(wanted: &settings::SandboxSettings, around: &Surroundings, workspace: Option<&Path>) -> SandboxOptions {
    let list = |names: &settings::Names| names.0.iter().map(ToString::to_string).collect();
    let policy = FencePolicy {
        mode: wanted.mode.mode(),
        write: list(&wanted.write),
        caches: match wanted.caches {
            settings::SandboxCaches::Private => Caches::Private,
            settings::SandboxCaches::Shared => Caches::Shared,
        },
        hide: list(&wanted.hide),
        protect: list(&wanted.protect),
        network: match wanted.network {
            settings::SandboxNetwork::Off => Network::Off,
            settings::SandboxNetwork::List => Network::List,
            settings::SandboxNetwork::On => Network::On,
        },
        domains: list(&wanted.domains),
        ports: wanted.ports.0.clone(),
    };
    // Commands may read outputs that replies name, and have to read their own functions.
    let shown = ["artifacts", "snapshots"].iter().filter_map(|part| around.state_part(part)).collect();
    let state = around.state_part("").map(|state| (state, shown));
    let own_settings = around.settings_file().and_then(|file| Some((file.parent()?.to_path_buf(), Vec::new())));
    let own = state.into_iter().chain(own_settings).collect();
    SandboxOptions {
        policy,
        workspace: workspace.map(Path::to_path_buf),
        store: around.state_part("sandboxes"),
        own,
        refused: Arc::default(),
    }
}

/// The default working directory of commands.
pub(crate) fn base_directory(around: &Surroundings, cwd: Option<&Path>) -> Result<PathBuf, SetupError> {
    match (current_directory(around), cwd) {
        (Ok(directory), _) => Ok(directory),
        // The current directory may have been removed, but `cwd` is absolute.
        (Err(_), Some(cwd)) if cwd.is_absolute() => Ok(cwd.to_path_buf()),
        (Err(error), _) => Err(SetupError::NoDirectory(error)),
    }
}

/// A redactor for commands of the program that run no script.
pub(crate) fn redactor(settings: &Settings, around: &Surroundings) -> Result<Redactor, EnvError> {
    Ok(settings.environment.policy().resolve(&host_environment(around), &[])?.redactor())
}

/// An output redactor for commands of the program that run no script.
pub(crate) fn output_redactor(settings: &Settings, around: &Surroundings) -> Result<OutputRedactor, EnvError> {
    Ok(settings.environment.policy().resolve(&host_environment(around), &[])?.output_redactor(cleaning(settings)))
}

impl settings::Environment {
    /// The environment policy of the settings.
    pub(crate) fn policy(&self) -> EnvironmentPolicy {
        let patterns = |names: &[Cow<'static, str>]| names.iter().cloned().map(Pattern::of).collect();
        let owned = |value: &Cow<'static, str>| value.to_string();
        let changes = |variables: &settings::Variables| {
            variables.0.iter().map(|(name, value)| (owned(name), value.0.as_ref().map(owned))).collect()
        };
        EnvironmentPolicy {
            withhold: patterns(&self.withhold.0),
            allow: patterns(&self.allow.0),
            never: Vec::new(),
            set: changes(&self.set),
            terminal: changes(&self.terminal),
        }
    }
}

/// The variables of this program that commands may inherit.
pub(crate) fn host_environment(around: &Surroundings) -> Vec<(OsString, OsString)> {
    around.variables.iter().filter(|(name, _)| !is_ours(name)).cloned().collect()
}

fn cleaning(settings: &Settings) -> Cleaning {
    if settings.output.clean { Cleaning::ForEyes } else { Cleaning::None }
}

/// The rewriting rules of the settings.
fn rewriting(settings: &Settings, around: &Surroundings, options: &Options) -> Rewriting {
    let wanted = &settings.rewrite;
    let home = around.variable("HOME").map(PathBuf::from);
    let skills = wanted.skills.0.iter().map(|path| match (path.strip_prefix("~/"), &home) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(path.as_ref()),
    });
    let scratch = around.state_part("scratch");
    let mut unsupported: Vec<_> = wanted.unsupported.0.iter().map(ToString::to_string).collect();
    let schemes: [(&str, Option<Arc<dyn Scheme>>); 4] = [
        ("artifact", options.artifacts.clone().map(|store| Arc::new(ArtifactUrls(store)) as _)),
        ("job", options.jobs.clone().map(|store| Arc::new(JobUrls(store)) as _)),
        ("local", scratch.map(|scratch| Arc::new(LocalUrls(scratch)) as _)),
        ("skill", Some(Arc::new(SkillUrls(skills.collect())))),
    ];
    // Schemes without a directory are unsupported, and the error says so.
    unsupported.extend(schemes.iter().filter(|(_, scheme)| scheme.is_none()).map(|(name, _)| (*name).to_owned()));
    Rewriting {
        directory: wanted.cd,
        lines: wanted.head_and_tail,
        schemes: schemes.into_iter().filter(|_| wanted.urls).filter_map(|(_, scheme)| scheme).collect(),
        unsupported: if wanted.urls { unsupported } else { Vec::new() },
        prefix: settings.shell.prefix.trim().to_owned(),
    }
}

pub(crate) fn window(output: &settings::Output) -> Window {
    let budget = |bytes: settings::Bytes| Budget { bytes: bytes.size(), lines: None };
    Window {
        whole: budget(output.whole_bytes),
        head: budget(output.head_bytes),
        tail: budget(output.tail_bytes),
        sizes: Sizes::AtLeast,
        columns: None,
    }
}

/// The snapshot options for rc files; none without a state directory. A dialect may enable the snapshot later.
fn snapshot(settings: &Settings, around: &Surroundings) -> Option<SnapshotOptions> {
    let enabled = match settings.shell.snapshot {
        settings::Snapshots::Auto => false,
        settings::Snapshots::On => true,
        settings::Snapshots::Off => return None,
    };
    let directory = around.state_part("snapshots")?;
    Some(SnapshotOptions { directory, limit: settings.shell.snapshot_seconds.duration(), enabled })
}

/// The limits of the settings.
pub(crate) fn limits(settings: &Settings) -> Limits {
    Limits {
        default: Lifetime(settings.lifetime.default_seconds.duration()),
        slow: Lifetime(settings.lifetime.slow_seconds.duration()),
        background: Lifetime(settings.lifetime.background_seconds.duration()),
        shown: settings.output.whole_bytes.size(),
        auto_after: settings.jobs.auto.then(|| Patience(settings.jobs.auto_after_seconds.duration())),
        async_enabled: settings.r#async.enabled,
        pi_condense: settings.condense.pi_enabled,
        overlap: settings.sessions.overlap,
        virtual_terminal: settings.terminal.virtual_terminal,
    }
}

/// The default directory of commands: `cwd`, or the current one.
pub(crate) fn directory(around: &Surroundings, cwd: Option<&Path>) -> Result<PathBuf, SetupError> {
    let current = || current_directory(around).map_err(SetupError::NoDirectory);
    let directory = match cwd {
        Some(cwd) if cwd.is_absolute() => cwd.to_path_buf(),
        Some(cwd) => current()?.join(cwd),
        None => current()?,
    };
    // Checks the directory. Its name stays as given, with symbolic links.
    working_directory(&directory, None)?;
    Ok(directory)
}

/// True for `BASHFUL_*` variables, which commands do not get.
fn is_ours(name: &OsString) -> bool {
    name.as_bytes().starts_with(b"BASHFUL_")
}
