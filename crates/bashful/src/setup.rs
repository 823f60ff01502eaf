//! Builds engines and requests from settings and arguments.

use std::borrow::Cow;
use std::error::Error;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bashful_dialect::{Limits, MOST_IN_BACKGROUND, MOST_SECONDS};
use bashful_engine::{
    ArtifactLimits, ArtifactStore, ArtifactUrls, BashSearch, Budget, Cleaning, Engine, EnvError, EnvironmentPolicy,
    Grace, JobLimits, JobStore, JobUrls, LONGEST_SCRIPT, LeftoverPolicy, Lifetime, LocalUrls, NotBash, Options,
    Orphans, OutputRedactor, Patience, Pattern, PlanError, Redactor, Registry, Request, Rewriting, Scheme, Script,
    SessionLimits, SessionOwner, SessionStore, Sizes, SkillUrls, SnapshotOptions, WhenBusy, Window, bash_version,
    check_bash_file, find_bash_file, search_bash, working_directory,
};
use bashful_sys::Errno;
use thiserror::Error;

use crate::cli::{CommandArgs, Mode};
use crate::guard;
use crate::log::Log;
use crate::print;
use crate::settings::{self, Leftovers, Settings, Sources};
use crate::state::State;
use crate::umask;

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

/// The program's variables, read once.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) variables: Vec<(OsString, OsString)>,
    state: OnceLock<State>,
}

impl Surroundings {
    pub(crate) fn read() -> Self {
        Self::of(std::env::vars_os().collect())
    }

    fn of(variables: Vec<(OsString, OsString)>) -> Self {
        Self { variables, state: OnceLock::new() }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.iter().find(|(variable, _)| variable == name).map(|(_, value)| value)
    }

    /// A directory of the XDG rules: from its variable, or below the home directory.
    fn xdg(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        self.named(variable).or_else(|| Some(self.home()?.join(below_home)))
    }

    /// The directory that a variable names.
    pub(crate) fn named(&self, variable: &str) -> Option<PathBuf> {
        self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The user's home.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.named("HOME")
    }

    /// The directory of settings of all programs: `XDG_CONFIG_HOME` or `~/.config`.
    pub(crate) fn config_home(&self) -> Option<PathBuf> {
        self.xdg("XDG_CONFIG_HOME", ".config")
    }

    /// The path of bashful's settings file.
    pub(crate) fn settings_file(&self) -> Option<PathBuf> {
        Some(self.config_home()?.join("bashful/config.toml"))
    }

    /// The state directory, checked once.
    pub(crate) fn state(&self) -> &State {
        self.state.get_or_init(|| {
            let path = self.xdg("XDG_STATE_HOME", ".local/state").map(|above| above.join("bashful"));
            State::at(path, self.home().as_deref())
        })
    }

    /// A directory in the state directory; none if that is missing or distrusted.
    pub(crate) fn state_part(&self, name: &str) -> Option<PathBuf> {
        Some(self.state().directory()?.join(name))
    }

    /// The settings in force, and their sources.
    pub(crate) fn settings(&self, file: Option<&Path>) -> Result<(Settings, Vec<String>), Box<dyn Error>> {
        let (settings, sources) = settings::load(&self.sources(file))?;
        print::redact_by(settings.environment.clone());
        Ok((settings, sources))
    }

    /// The usable settings, their sources, and the error of the others.
    ///
    /// For commands that examine the settings themselves. No command of a user ever runs with this.
    pub(crate) fn settings_for_diagnosis(
        &self,
        file: Option<&Path>,
    ) -> (Settings, Vec<String>, Option<Box<dyn Error>>) {
        let error = match self.settings(file) {
            Ok((settings, sources)) => return (settings, sources, None),
            Err(error) => error,
        };
        let without_files = Sources { user_file: None, named_file: None, ..self.sources(file) };
        let loaded = settings::load(&without_files).or_else(|_| settings::load(&Sources::default()));
        let (settings, sources) = loaded.expect("a test reads the defaults");
        print::redact_by(settings.environment.clone());
        (settings, sources, Some(error))
    }

    /// The sources of settings.
    pub(crate) fn sources<'a>(&'a self, file: Option<&'a Path>) -> Sources<'a> {
        Sources { user_file: self.settings_file(), home: self.home(), named_file: file, variables: &self.variables }
    }

    /// A copy of the surroundings.
    pub(crate) fn again(&self) -> Self {
        Self::of(self.variables.clone())
    }
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
    let mut options = Options::new(shell(settings, around)?, directory);
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
    options.artifacts = artifacts(settings, around).map(Arc::new);
    options.jobs = jobs(settings, around).map(Arc::new);
    options.sessions = sessions(settings, around, SessionOwner::User).map(Arc::new);
    options.registry = registry(around, "run").map(Arc::new);
    options.snapshot = snapshot(settings, around);
    // The engine may adopt orphans, because no other code here starts processes.
    options.orphans = Orphans::Adopt;
    options.rewriting = rewriting(settings, around, &options);
    options.judge = guard::judge(settings, around)?;
    options.limits = vec![descriptors];
    options.umask = umask::given();
    Ok(options)
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
    let budget = |bytes: settings::Bytes, lines: settings::Lines| Budget { bytes: bytes.size(), lines: lines.limit() };
    Window {
        whole: budget(output.whole_bytes, output.whole_lines),
        head: budget(output.head_bytes, output.head_lines),
        tail: budget(output.tail_bytes, output.tail_lines),
        sizes: match output.sizes {
            settings::Sizes::AtLeast => Sizes::AtLeast,
            settings::Sizes::AtMost => Sizes::AtMost,
        },
        columns: output.line_columns.limit(),
    }
}

/// The artifact store with these settings; none without a state directory.
pub(crate) fn artifacts(settings: &Settings, around: &Surroundings) -> Option<ArtifactStore> {
    let limits = ArtifactLimits {
        one: settings.artifacts.one_bytes.size(),
        store: settings.artifacts.store_bytes.size(),
        age: settings.artifacts.age_days.duration(),
    };
    Some(ArtifactStore::new(around.state_part("artifacts")?, limits))
}

/// The job store with these settings; none without a state directory. The log keeps the end of each removed job.
pub(crate) fn jobs(settings: &Settings, around: &Surroundings) -> Option<JobStore> {
    let limits = JobLimits {
        live: settings.jobs.live.count(),
        kept: settings.jobs.kept.count(),
        age: settings.jobs.age_days.duration(),
        output: settings.jobs.output_bytes.size(),
    };
    let store = JobStore::new(around.state_part("jobs")?, limits);
    let Some(log) = Log::new(settings, around, "job") else { return Some(store) };
    let directory = store.directory().to_path_buf();
    Some(store.before_removal(move |job| log.note_end(&directory, job, print::redactor())))
}

/// The session store with these settings; none without a state directory.
pub(crate) fn sessions(settings: &Settings, around: &Surroundings, owner: SessionOwner) -> Option<SessionStore> {
    let limits = SessionLimits {
        idle: settings.sessions.idle_seconds.duration(),
        at_most: settings.sessions.at_most.count(),
        when_busy: match settings.sessions.when_busy {
            settings::WhenBusy::Wait => WhenBusy::Wait,
            settings::WhenBusy::Refuse => WhenBusy::Refuse,
        },
    };
    Some(SessionStore::new(around.state_part("sessions")?, limits, owner))
}

/// The registry of running commands; none without a state directory.
pub(crate) fn registry(around: &Surroundings, surface: &str) -> Option<Registry> {
    Some(Registry::new(around.state_part("running")?, surface))
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
        pi_grace: Grace(settings.stop.pi_grace_seconds.duration()),
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

/// The request from the arguments, and notices about it. A command that a person attends to has as much time as one in the
/// background: they end it when they want to.
pub(crate) fn request(
    args: &CommandArgs,
    settings: &Settings,
    is_attended: bool,
) -> Result<(Request, Vec<String>), Box<dyn Error>> {
    let mut notices = Vec::new();
    let mut request = Request::new(Script::new(script(&args.script)?)?);
    request.workdir.clone_from(&args.cwd);
    request.session.clone_from(&args.session);
    request.env = args.env.iter().map(variable).collect::<Result<_, _>>()?;
    let mode = if is_attended && args.mode() == Mode::Default { Mode::Background } else { args.mode() };
    let lifetime = match (args.timeout, mode) {
        (Some(asked), Mode::Background) => clamp(asked, MOST_IN_BACKGROUND, &mut notices)?,
        (Some(asked), _) => clamp(asked, MOST_SECONDS, &mut notices)?,
        (None, Mode::Background) => settings.lifetime.background_seconds.duration(),
        (None, Mode::Default) => settings.lifetime.default_seconds.duration(),
        (None, Mode::Slow) => settings.lifetime.slow_seconds.duration(),
    };
    request.lifetime = Some(Lifetime(lifetime));
    Ok((request, notices))
}

fn clamp(asked: f64, most: f64, notices: &mut Vec<String>) -> Result<Duration, SetupError> {
    if !asked.is_finite() {
        return Err(SetupError::Timeout(asked));
    }
    let clamped = bashful_dialect::clamp_timeout(asked, most);
    notices.extend(clamped.notice);
    Ok(clamped.lifetime.0)
}

/// The script of an argument; `-` is standard input.
pub(crate) fn script(argument: &OsString) -> Result<Vec<u8>, SetupError> {
    if argument != "-" {
        return Ok(argument.as_bytes().to_vec());
    }
    let mut text = Vec::new();
    // One byte more than the limit, so that a longer script is an error.
    std::io::stdin().lock().take(LONGEST_SCRIPT.0 + 1).read_to_end(&mut text).map_err(SetupError::Stdin)?;
    Ok(text)
}

/// Parses `NAME=VALUE`.
pub(crate) fn variable(given: &OsString) -> Result<(String, OsString), SetupError> {
    let bytes = given.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=').ok_or_else(|| SetupError::Env { given: given.clone() })?;
    let name = String::from_utf8_lossy(&bytes[..at]).into_owned();
    Ok((name, OsString::from_vec(bytes[at + 1..].to_vec())))
}

fn shell(settings: &Settings, around: &Surroundings) -> Result<PathBuf, SetupError> {
    if let Some(path) = shell_setting(settings)? {
        bash_version(&path).map_err(SetupError::Shell)?;
        return Ok(path);
    }
    let path = around.variable("PATH").cloned().unwrap_or_default();
    let BashSearch { found, skipped } = search_bash(&path);
    for not_bash in &skipped {
        print::talk(&format!("bashful: {not_bash}; skipped on PATH"));
    }
    found.ok_or_else(|| SetupError::NoBash { path: path.to_string_lossy().into_owned() })
}

/// Finds the shell while a server runs, without starting it. Commands may have written the settings and the program
/// they name, and here no keeper would contain it.
pub(crate) fn shell_by_file(settings: &Settings, around: &Surroundings) -> Result<PathBuf, SetupError> {
    if let Some(path) = shell_setting(settings)? {
        check_bash_file(&path).map_err(SetupError::Shell)?;
        return Ok(path);
    }
    let path = around.variable("PATH").cloned().unwrap_or_default();
    find_bash_file(&path).ok_or_else(|| SetupError::NoBash { path: path.to_string_lossy().into_owned() })
}

/// The shell in the settings, if any.
fn shell_setting(settings: &Settings) -> Result<Option<PathBuf>, SetupError> {
    let path = PathBuf::from(&settings.shell.path);
    match (path.as_os_str().is_empty(), path.is_absolute()) {
        (true, _) => Ok(None),
        (false, true) => Ok(Some(path)),
        (false, false) => Err(SetupError::ShellPath { path: settings.shell.path.clone() }),
    }
}

/// The current directory by its name in `PWD`, symbolic links included, if that is valid.
fn current_directory(around: &Surroundings) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let real = std::env::current_dir()?;
    let same = |path: &Path| Some((path.metadata().ok()?.dev(), path.metadata().ok()?.ino()));
    let called =
        around.variable("PWD").map(PathBuf::from).filter(|path| path.is_absolute() && same(path) == same(&real));
    Ok(called.unwrap_or(real))
}

/// True for `BASHFUL_*` variables, which commands do not get.
fn is_ours(name: &OsString) -> bool {
    name.as_bytes().starts_with(b"BASHFUL_")
}
