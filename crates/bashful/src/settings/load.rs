//! Loads and merges the layers of settings.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bashful_dialect::NO_TERMINAL;
use bashful_engine::{Distrust, trust_settings};
use thiserror::Error;

use super::{KEYS, Layer, Settings, TerminalLayer};

/// The sources of settings, beside the defaults.
#[derive(Debug, Default)]
pub(crate) struct Sources<'a> {
    /// The user's file, which may be missing.
    pub(crate) user_file: Option<PathBuf>,
    /// The user's home. Directories below it on the way to the file are checked.
    pub(crate) home: Option<PathBuf>,
    /// The file named on the command line. It must exist, and its owner is not checked.
    pub(crate) named_file: Option<&'a Path>,
    /// The environment variables of the program.
    pub(crate) variables: &'a [(OsString, OsString)],
}

/// An error in the settings.
#[derive(Debug, Error)]
pub(crate) enum SettingsError {
    #[error("cannot read the settings in {}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("the settings in {} cannot be trusted: {}", path.display(), why.advise("name the file with --config"))]
    Distrusted { path: PathBuf, why: Distrust },
    // The cause has line, column and key already.
    #[error("{place}: {message}")]
    Wrong { place: String, message: String },
    #[error(
        "unknown setting {name}: `bashful config --defaults` lists all of them, `[section] key` is BASHFUL_SECTION_KEY"
    )]
    UnknownVariable { name: String },
}

/// The settings in force, and their sources.
pub(crate) fn load(sources: &Sources<'_>) -> Result<(Settings, Vec<String>), SettingsError> {
    let mut settings = Settings::built_in();
    let mut used = Vec::new();
    // Only a missing file is skipped. An unreadable one may have settings of the guard.
    let user_file = sources.user_file.as_deref().filter(|path| may_be_there(path));
    if let Some(path) = user_file {
        // Settings can run commands and turn the guard off, so nobody else may write them.
        let distrusted = |why| SettingsError::Distrusted { path: path.to_path_buf(), why };
        trust_settings(path, sources.home.as_deref()).map_err(distrusted)?;
    }
    for path in user_file.into_iter().chain(sources.named_file) {
        let text = read(path).map_err(|source| SettingsError::Unreadable { path: path.to_path_buf(), source })?;
        settings.apply(parse(&text, &path.display().to_string())?);
        used.push(path.display().to_string());
    }
    for (name, value) in sources.variables {
        if let Some(layer) = from_variable(&name.to_string_lossy(), &value.to_string_lossy())? {
            settings.apply(layer);
            used.push(name.to_string_lossy().into_owned());
        }
    }
    Ok((settings, used))
}

/// True if a file is, or may be, at a path.
pub(crate) fn may_be_there(path: &Path) -> bool {
    let nothing = |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    !path.symlink_metadata().is_err_and(|error| {
        nothing(&error) || (error.kind() == io::ErrorKind::PermissionDenied && is_behind_a_stranger(path))
    })
}

/// True if the directory that bars the way to a path belongs to another user, as `$HOME` does after `sudo -E -u`: then
/// whatever is behind it is not this user's.
fn is_behind_a_stranger(path: &Path) -> bool {
    let closed = path.ancestors().skip(1).find_map(|directory| directory.symlink_metadata().ok());
    closed.is_some_and(|closed| closed.uid() != rustix::process::geteuid().as_raw())
}

/// Largest settings file, in bytes.
const LARGEST: u64 = 1 << 20;

/// Reads a file with settings or rules. A pipe is refused: opening it would wait for a writer.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a file"));
    }
    if metadata.len() > LARGEST {
        return Err(io::Error::other("larger than 1 MiB"));
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn parse(text: &str, place: &str) -> Result<Layer, SettingsError> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        let key = error.span().and_then(|span| key_at(text, span.start));
        let mut place = place.to_owned();
        if let Some(line) = line {
            place = format!("{place}, line {line}");
        }
        if let Some(key) = key {
            place = format!("{place}, `{key}`");
        }
        SettingsError::Wrong { place, message: error.message().to_owned() }
    })
}

/// The key of the line at this offset, with its section.
fn key_at(text: &str, offset: usize) -> Option<String> {
    let upto = offset.min(text.len());
    let begin = text[..upto].rfind('\n').map_or(0, |at| at + 1);
    let line = text[begin..].lines().next()?;
    let key = line.split('=').next()?.trim();
    let section = text[..begin].lines().rev().find_map(|line| line.trim().strip_prefix('[')?.split(']').next());
    if key.is_empty() || key.starts_with('[') {
        return None;
    }
    Some(section.map_or_else(|| key.to_owned(), |section| format!("{section}.{key}")))
}

/// Every key, as it is written in a file.
fn keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    KEYS.iter().map(|(section, key)| (section.trim_start_matches("r#"), *key))
}

/// A layer with the key of a `BASHFUL_*` variable; none for other variables.
fn from_variable(name: &str, value: &str) -> Result<Option<Layer>, SettingsError> {
    if NO_TERMINAL.contains(&name) {
        let off = TerminalLayer { virtual_terminal: Some(false) };
        return Ok((value == "1").then(|| Layer { terminal: Some(off), ..Layer::default() }));
    }
    let Some(rest) = name.strip_prefix("BASHFUL_") else { return Ok(None) };
    let rest = rest.to_ascii_lowercase();
    let Some((section, key)) = keys().find(|(section, key)| rest == format!("{section}_{key}")) else {
        return Err(SettingsError::UnknownVariable { name: name.to_owned() });
    };
    // Numbers, lists and tables are parsed as TOML. Anything else is a string.
    let plain = format!("{section}.{key} = {value}");
    let quoted = format!("{section}.{key} = {}", toml::Value::String(value.to_owned()));
    let layer = if toml::from_str::<toml::Table>(&plain).is_ok_and(|table| table.len() == 1) {
        toml::from_str(&plain).or_else(|error| toml::from_str(&quoted).map_err(|_| error))
    } else {
        toml::from_str(&quoted)
    };
    let wrong = |error: toml::de::Error| error.message().to_owned();
    layer.map(Some).map_err(|error| SettingsError::Wrong { place: name.to_owned(), message: wrong(error) })
}

#[cfg(test)]
mod tests {
    use super::super::defaults;
    use super::*;
    use std::time::Duration;

    fn with(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let variables: Vec<_> = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        load(&Sources { variables: &variables, ..Sources::default() }).map(|(settings, _)| settings)
    }

    #[track_caller]
    fn check_error(text: &str, expected: &[&str]) {
        let error = parse(text, "my.toml").expect_err("it is wrong").to_string();
        for part in expected {
            assert!(error.contains(part), "{part:?} is missing in {error:?}");
        }
    }

    #[test]
    fn the_defaults_hold_every_key() {
        let settings = with(&[]).expect("the defaults are right");
        assert_eq!(settings.lifetime.default_seconds.duration(), Duration::from_secs(30));
        let table: toml::Table = toml::from_str(&defaults()).expect("they are TOML");
        for (section, key) in keys() {
            assert!(table[section].get(key).is_some(), "{section}.{key} has no default");
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_commented_file() {
        let shown = |settings: &Settings| toml::to_string(settings).expect("they can be shown");
        let commented: Settings = toml::from_str(&defaults()).expect("the file is right");
        assert_eq!(shown(&Settings::built_in()), shown(&commented));
    }

    #[test]
    fn variables_win_and_say_which_one_is_wrong() {
        let settings =
            with(&[("BASHFUL_STOP_GRACE_SECONDS", "2.5"), ("BASHFUL_STOP_LEFTOVERS", "stop")]).expect("right");
        assert_eq!(settings.stop.grace_seconds.duration(), Duration::from_millis(2500));
        assert_eq!(settings.stop.leftovers, super::super::Leftovers::Stop);
        for (name, value) in
            [("BASHFUL_STOP_GRACE_SECONDS", "soon"), ("BASHFUL_STOP_GRACE", "1"), ("BASHFUL_OUTPUT_HEAD_BYTES", "-1")]
        {
            let error = with(&[(name, value)]).expect_err("wrong").to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn terminals_are_turned_off_by_the_variable_of_either_program() {
        for (variables, expected) in [
            (&[("BASHFUL_NO_PTY", "1")][..], false),
            (&[("PI_NO_PTY", "1")], false),
            (&[("PI_NO_PTY", "0"), ("BASHFUL_NO_PTY", "")], true),
            (&[("BASHFUL_TERMINAL_VIRTUAL_TERMINAL", "false")], false),
            (&[], true),
        ] {
            assert_eq!(with(variables).expect("right").terminal.virtual_terminal, expected, "{variables:?}");
        }
    }

    #[test]
    fn a_text_may_look_like_a_number_and_a_secret_is_not_shown() {
        let settings = with(&[("BASHFUL_MCP_TOKEN", "1234567890123456")]).expect("right");
        assert_eq!(settings.mcp.token.reveal(), "1234567890123456");
        let shown = format!("{settings:?}{}", toml::to_string(&settings).expect("it can be shown"));
        assert!(!shown.contains("1234567890123456") && shown.contains("(not shown)"), "{shown}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        check_error(
            "[stop]\ngrace_seconds = 0\n",
            &["my.toml, line 2", "stop.grace_seconds", "0 is not a number of seconds"],
        );
        check_error(
            "\n[stop]\n\ngrace = 1\n",
            &["my.toml, line 4", "stop.grace", "unknown field `grace`", "grace_seconds"],
        );
        check_error("[nonsense]\n", &["my.toml, line 1", "unknown field `nonsense`"]);
        check_error("[stop\n", &["my.toml, line 1"]);
        check_error("[environment.set]\nA = 1\n", &["my.toml, line 2", "environment.set.A", "a text, or false"]);
        check_error("[stop]\nleftovers = \"maybe\"\n", &["line 2", "stop.leftovers", "unknown variant `maybe`"]);
    }

    #[test]
    fn variables_to_set_are_added_name_by_name() {
        let mut settings = with(&[]).expect("right");
        settings.apply(parse("[environment.set]\nPAGER = \"less\"\nCI = false\n", "x").expect("right"));
        let set = &settings.environment.set.0;
        assert_eq!(set["PAGER"].0.as_deref(), Some("less"));
        assert_eq!(set["CI"].0, None);
        assert!(set.contains_key("GIT_TERMINAL_PROMPT"));
    }
}
