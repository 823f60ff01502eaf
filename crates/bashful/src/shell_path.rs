//! Finds bash: the program of the settings, or the first one on `PATH`.

use std::path::PathBuf;

use bashful_engine::{BashSearch, bash_version, check_bash_file, find_bash_file, search_bash};

use crate::print;
use crate::settings::Settings;
use crate::setup::SetupError;
use crate::surroundings::Surroundings;

/// The shell with these settings. Every other shell on `PATH` is named.
pub(crate) fn shell(settings: &Settings, around: &Surroundings) -> Result<PathBuf, SetupError> {
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
