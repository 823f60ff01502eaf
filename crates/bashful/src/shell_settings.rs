//! The settings that a server reads again while it serves: the shell, its prefix and the variables that are set.
//!
//! All others hold as they were at the start of the program. Commands can write to the settings file, and must not turn off
//! the guard, the withholding of variables or anything else that keeps them in bounds. So nothing that the files name is run
//! here, where no keeper is above it.
//!
//! Files that have not changed cost one look at their metadata each. Those that cannot be used leave things as they were.

use std::error::Error;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bashful_dialect::{Dialect, ShellSettings, Toolbox};
use bashful_engine::{Options, ShellOptions, error_chain};

use crate::settings::{self, Settings};
use crate::setup::{self, Surroundings};

/// The clock of a file system ticks every few milliseconds. A file that was changed this short a time ago may change again
/// without showing it.
const YOUNG: Duration = Duration::from_millis(100);

/// The settings files of a server.
#[derive(Debug)]
pub(crate) struct SettingsFiles {
    around: Surroundings,
    dialect: Dialect,
    named_file: Option<PathBuf>,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    /// None if the files have to be read in any case.
    stamp: Option<Stamp>,
    /// `[shell] path` as it was written, which led to the shell below.
    path: String,
    options: ShellOptions,
    /// The last fault that a reply has told.
    told: Option<String>,
}

/// Of each file that is there, all that changes when it does.
type Stamp = Vec<Option<[i64; 7]>>;

impl SettingsFiles {
    /// The files that these settings came from, and the options that came of them.
    pub(crate) fn new(
        settings: &Settings,
        toolbox: &Toolbox,
        dialect: Dialect,
        around: &Surroundings,
        named_file: Option<PathBuf>,
    ) -> Self {
        let options = toolbox.engine().shell_options();
        let seen = Seen { stamp: None, path: settings.shell.path.clone(), options, told: None };
        Self { around: around.again(), dialect, named_file, seen: Mutex::new(seen) }
    }

    /// The stamp of the files; none if one of them is too young to be known by it.
    fn stamp(&self) -> Option<Stamp> {
        let files = self.around.settings_file().into_iter().chain(self.named_file.clone());
        let now = SystemTime::now();
        let stamp = |path: PathBuf| {
            let Ok(facts) = path.metadata() else { return Some(None) };
            let is_young = facts.modified().is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age < YOUNG));
            let [device, inode, length] = [facts.dev(), facts.ino(), facts.len()].map(u64::cast_signed);
            let times = [facts.mtime(), facts.mtime_nsec(), facts.ctime(), facts.ctime_nsec()];
            let [modified, modified_nsec, changed, changed_nsec] = times;
            (!is_young).then_some(Some([device, inode, length, modified, modified_nsec, changed, changed_nsec]))
        };
        files.map(stamp).collect()
    }

    /// Reads the files.
    fn read(&self, seen: &Seen) -> Result<(String, ShellOptions), Box<dyn Error>> {
        let (settings, _) = settings::load(&self.around.sources(self.named_file.as_deref()))?;
        let is_same_shell = settings.shell.path == seen.path;
        let shell =
            if is_same_shell { seen.options.shell.clone() } else { setup::shell_by_file(&settings, &self.around)? };
        let mut options = Options::new(shell, PathBuf::from("/"));
        options.environment = settings.environment.policy();
        settings.shell.prefix.trim().clone_into(&mut options.rewriting.prefix);
        // A dialect may promise an environment of its own.
        self.dialect.adjust(&mut options, &setup::limits(&settings));
        let Options { shell, environment, rewriting, .. } = options;
        Ok((settings.shell.path, ShellOptions { shell, prefix: rewriting.prefix, set: environment.set }))
    }
}

impl ShellSettings for SettingsFiles {
    fn poll(&self) -> Option<Result<ShellOptions, String>> {
        // A panic between two fields only leads to one more look at the files.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Before they are read: what changes meanwhile is noticed the next time.
        let stamp = self.stamp();
        if stamp.is_some() && stamp == seen.stamp {
            return None;
        }
        let read = self.read(&seen);
        seen.stamp = stamp;
        match read {
            Ok((path, options)) => {
                seen.told = None;
                seen.path = path;
                let has_changed = options != seen.options;
                seen.options = options;
                has_changed.then(|| Ok(seen.options.clone()))
            }
            Err(error) => {
                let why = error_chain(&*error);
                if seen.told.as_ref() == Some(&why) {
                    return None;
                }
                seen.told = Some(why.clone());
                Some(Err(format!("the settings have changed and cannot be used, so those from before hold: {why}")))
            }
        }
    }
}
