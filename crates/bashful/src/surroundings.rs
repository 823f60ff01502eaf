//! The variables of the program, and the places that follow from them: home, settings, state and current directory.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::print;
use crate::settings::{self, Settings, Sources};
use crate::state::State;

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

/// The current directory by its name in `PWD`, symbolic links included, if that is valid.
pub(crate) fn current_directory(around: &Surroundings) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let real = std::env::current_dir()?;
    let same = |path: &Path| Some((path.metadata().ok()?.dev(), path.metadata().ok()?.ino()));
    let called =
        around.variable("PWD").map(PathBuf::from).filter(|path| path.is_absolute() && same(path) == same(&real));
    Ok(called.unwrap_or(real))
}
