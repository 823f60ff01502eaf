//! What a running server reads again: the shell, its prefix, the variables to set, and the directory of its client.
//!
//! All other settings are read once. Commands can write to the settings file, and must not be able to turn off the
//! guard or the withholding of variables. No program that the files name is run here, because no keeper would contain
//! it.
//!
//! An unchanged file costs one `stat`. Unusable settings leave the old ones in force.

use std::error::Error;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bashful_dialect::{Dialect, ShellSettings, Toolbox};
use bashful_engine::{Options, ShellOptions, error_chain};
use bashful_sys::proc;

use crate::settings::{self, Settings};
use crate::setup;
use crate::shell_path;
use crate::surroundings::Surroundings;

/// File times tick every few milliseconds. A file younger than this may change again without a new time.
const YOUNGEST_KNOWN: Duration = Duration::from_millis(100);

/// The settings files of a server.
#[derive(Debug)]
pub(crate) struct SettingsFiles {
    around: Surroundings,
    dialect: Dialect,
    named_file: Option<PathBuf>,
    known: Mutex<KnownFiles>,
    client: Option<Client>,
}

/// The program that started this server, and the directory that it was in then. An agent may move to another tree of the
/// project while it runs.
#[derive(Debug)]
pub(crate) struct Client {
    pid: u32,
    first: PathBuf,
}

impl Client {
    /// None if its directory cannot be read.
    pub(crate) fn find() -> Option<Self> {
        let pid = parent_id();
        Some(Self { pid, first: proc::directory_of(pid.try_into().ok()?)? })
    }

    fn moved_to(&self) -> Option<PathBuf> {
        // Without its parent, this process has another one.
        let pid = Some(self.pid).filter(|pid| *pid == parent_id())?;
        proc::directory_of(pid.try_into().ok()?).filter(|now| *now != self.first)
    }
}

#[derive(Debug)]
struct KnownFiles {
    /// None if the files must be read again.
    stamp: Option<Stamp>,
    /// The value of `[shell] path` that led to the shell in `options`.
    path: String,
    options: ShellOptions,
    /// The last error that a reply reported.
    told: Option<String>,
}

/// The identity, size and times of each existing file.
type Stamp = Vec<Option<[i64; 7]>>;

impl SettingsFiles {
    /// Watches the files that these settings came from.
    pub(crate) fn new(
        settings: &Settings,
        toolbox: &Toolbox,
        dialect: Dialect,
        around: &Surroundings,
        named_file: Option<PathBuf>,
        client: Option<Client>,
    ) -> Self {
        let options = toolbox.engine().shell_options();
        let known = KnownFiles { stamp: None, path: settings.shell.path.clone(), options, told: None };
        Self { around: around.again(), dialect, named_file, known: Mutex::new(known), client }
    }

    /// The stamp of the files; none if one of them is too young.
    fn stamp(&self) -> Option<Stamp> {
        let files = self.around.settings_file().into_iter().chain(self.named_file.clone());
        let now = SystemTime::now();
        let stamp = |path: PathBuf| {
            let Ok(facts) = path.metadata() else { return Some(None) };
            let is_young =
                facts.modified().is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age < YOUNGEST_KNOWN));
            let [device, inode, length] = [facts.dev(), facts.ino(), facts.len()].map(u64::cast_signed);
            let times = [facts.mtime(), facts.mtime_nsec(), facts.ctime(), facts.ctime_nsec()];
            let [modified, modified_nsec, changed, changed_nsec] = times;
            (!is_young).then_some(Some([device, inode, length, modified, modified_nsec, changed, changed_nsec]))
        };
        files.map(stamp).collect()
    }

    /// Reads the settings files, and makes shell options of them.
    fn read(&self, known: &KnownFiles) -> Result<(String, ShellOptions), Box<dyn Error>> {
        let (settings, _) = settings::load(&self.around.sources(self.named_file.as_deref()))?;
        let is_same_shell = settings.shell.path == known.path;
        let shell = if is_same_shell {
            known.options.shell.clone()
        } else {
            shell_path::shell_by_file(&settings, &self.around)?
        };
        let mut options = Options::new(shell, PathBuf::from("/"));
        options.environment = settings.environment.policy();
        settings.shell.prefix.trim().clone_into(&mut options.rewriting.prefix);
        // A dialect may change the environment.
        self.dialect.adjust(&mut options, &setup::limits(&settings));
        let Options { shell, environment, rewriting, .. } = options;
        Ok((settings.shell.path, ShellOptions { shell, prefix: rewriting.prefix, set: environment.set }))
    }
}

impl ShellSettings for SettingsFiles {
    fn moved_to(&self) -> Option<PathBuf> {
        self.client.as_ref()?.moved_to()
    }

    fn poll(&self) -> Option<Result<ShellOptions, String>> {
        // After a panic the files are read once more, which is harmless.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // The stamp is taken before reading, so that a later change is noticed next time.
        let stamp = self.stamp();
        if stamp.is_some() && stamp == known.stamp {
            return None;
        }
        let read = self.read(&known);
        known.stamp = stamp;
        match read {
            Ok((path, options)) => {
                known.told = None;
                known.path = path;
                let has_changed = options != known.options;
                known.options = options;
                has_changed.then(|| Ok(known.options.clone()))
            }
            Err(error) => {
                let why = error_chain(&*error);
                if known.told.as_ref() == Some(&why) {
                    return None;
                }
                known.told = Some(why.clone());
                Some(Err(format!("the settings have changed and cannot be used, so those from before hold: {why}")))
            }
        }
    }
}
