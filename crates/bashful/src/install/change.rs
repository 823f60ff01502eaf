//! One change to one settings file, and its reversal.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::edit::{self, EditError, value_at};
use super::toml;

/// A change to a file that may not exist yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) file: PathBuf,
    pub(crate) edit: Edit,
}

/// Files whose names end in `.toml` are TOML, all others JSON with comments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Edit {
    /// The entry of a server. Keys that others have added to it stay.
    Server { path: Vec<String>, keys: Vec<(String, Value)> },
    /// Sets one key to a value.
    Set { path: Vec<String>, value: Value },
    /// One item of a list.
    Add { path: Vec<String>, item: Value },
    /// A file of bashful alone.
    Whole { text: String },
}

/// A completed change, with all that its reversal needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AppliedChange {
    pub(crate) change: Change,
    /// Number of path names that existed before. Groups of the others are removed when they become empty.
    found: usize,
    /// The value that the key or the entry had before.
    before: Option<Value>,
    /// The file did not exist before. It is removed when it becomes empty.
    pub(crate) made_file: bool,
    /// The topmost directory that did not exist before. Those from the file's up to it are removed when they become empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) made_directory: Option<PathBuf>,
}

/// The result of a reversal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Undone {
    /// The text without the change.
    Text(String),
    /// The change is no longer in the file.
    Gone,
    /// Another value has replaced it, which stays.
    Changed,
}

impl Change {
    pub(crate) fn new(file: PathBuf, edit: Edit) -> Self {
        Self { file, edit }
    }

    fn is_toml(&self) -> bool {
        is_toml(&self.file)
    }

    /// Applies the change to a text; none if the text has it already. `is_new` means that there is no file yet.
    pub(crate) fn apply(&self, text: &str, is_new: bool) -> Result<Option<(String, AppliedChange)>, EditError> {
        if let Edit::Whole { text: whole } = &self.edit {
            let done =
                AppliedChange { change: self.clone(), found: 0, before: None, made_file: true, made_directory: None };
            return match text {
                text if text == whole => Ok(None),
                "" => Ok(Some((whole.clone(), done))),
                _ => Err(EditError::NotOurs),
            };
        }
        let path: Vec<&str> = self.path().iter().map(String::as_str).collect();
        let value = read(&self.file, text)?;
        let found =
            (0..=path.len()).rev().find(|length| value_at(&value, &path[..*length]).is_some()).unwrap_or_default();
        let there = value_at(&value, &path);
        let changed = match &self.edit {
            Edit::Set { value, .. } => self.set(text, &path, value)?,
            Edit::Add { item, .. } => edit::add(text, &path, item)?,
            Edit::Server { keys, .. } => self.set_server(text, &path, keys, there)?,
            Edit::Whole { .. } => None,
        };
        let before = match &self.edit {
            Edit::Set { .. } => there.cloned(),
            // An entry for this program is an earlier installation, and is replaced whole.
            Edit::Server { .. } => there.filter(|there| !starts_bashful(there)).cloned(),
            Edit::Add { .. } | Edit::Whole { .. } => None,
        };
        let done = AppliedChange { change: self.clone(), found, before, made_file: is_new, made_directory: None };
        Ok(changed.map(|text| (text, done)))
    }

    fn path(&self) -> &[String] {
        match &self.edit {
            Edit::Server { path, .. } | Edit::Set { path, .. } | Edit::Add { path, .. } => path,
            Edit::Whole { .. } => &[],
        }
    }

    fn set(&self, text: &str, path: &[&str], value: &Value) -> Result<Option<String>, EditError> {
        if self.is_toml() { toml::set(text, path, value) } else { edit::set(text, path, value) }
    }

    fn unset(&self, text: &str, path: &[&str], found: usize) -> Result<Option<String>, EditError> {
        if self.is_toml() { toml::unset(text, path, found) } else { edit::unset(text, path, found) }
    }

    fn set_server(
        &self,
        text: &str,
        path: &[&str],
        keys: &[(String, Value)],
        there: Option<&Value>,
    ) -> Result<Option<String>, EditError> {
        let mut changed = None;
        if there.is_some_and(|there| there.get("command").is_none()) {
            // A server of another kind, at a URL: none of its keys would make sense here.
            changed = self.unset(text, path, path.len())?;
        }
        for (name, value) in keys {
            let now = changed.as_deref().unwrap_or(text);
            if let Some(next) = self.set(now, &[path, &[name.as_str()]].concat(), value)? {
                changed = Some(next);
            }
        }
        Ok(changed)
    }
}

impl AppliedChange {
    /// Decides whether both are about the same key, item or file. Values may differ.
    pub(crate) fn has_target_of(&self, other: &Self) -> bool {
        let (this, other) = (&self.change, &other.change);
        let is_same = match (&this.edit, &other.edit) {
            (Edit::Add { item, .. }, Edit::Add { item: other, .. }) => item == other,
            (this, other) => std::mem::discriminant(this) == std::mem::discriminant(other),
        };
        is_same && this.file == other.file && this.path() == other.path()
    }

    /// The reversal for an entry that the user wrote: its groups stay.
    pub(crate) fn by_others(change: Change) -> Self {
        let found = change.path().len().saturating_sub(1);
        Self { change, found, before: None, made_file: false, made_directory: None }
    }

    /// Takes the change back.
    pub(crate) fn undo(&self, text: &str) -> Result<Undone, EditError> {
        let change = &self.change;
        let path: Vec<&str> = change.path().iter().map(String::as_str).collect();
        let undone = match &change.edit {
            Edit::Whole { text: whole } if text == whole => Some(String::new()),
            Edit::Whole { .. } if text.is_empty() => None,
            Edit::Whole { .. } => return Ok(Undone::Changed),
            Edit::Server { keys, .. } => match &self.before {
                Some(before) => self.restore_server(text, &path, keys, before)?,
                None => change.unset(text, &path, self.found)?,
            },
            Edit::Add { item, .. } => edit::discard(text, &path, item, self.found)?,
            Edit::Set { value, .. } => match (value_at(&read(&change.file, text)?, &path), &self.before) {
                (Some(now), _) if now != value => return Ok(Undone::Changed),
                (Some(_), Some(before)) => change.set(text, &path, before)?,
                _ => change.unset(text, &path, self.found)?,
            },
        };
        Ok(undone.map_or(Undone::Gone, Undone::Text))
    }

    /// Restores the changed keys of the user's own entry.
    fn restore_server(
        &self,
        text: &str,
        path: &[&str],
        keys: &[(String, Value)],
        before: &Value,
    ) -> Result<Option<String>, EditError> {
        let change = &self.change;
        let mut changed = None;
        for name in keys.iter().map(|(name, _)| name).chain(before.as_object().into_iter().flat_map(Map::keys)) {
            let (now, path) = (changed.as_deref().unwrap_or(text), [path, &[name.as_str()]].concat());
            let next = match before.get(name) {
                Some(value) => change.set(now, &path, value)?,
                None => change.unset(now, &path, path.len())?,
            };
            changed = next.or(changed);
        }
        Ok(changed)
    }
}

fn is_toml(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "toml")
}

/// Parses the text of a file, JSON or TOML.
pub(crate) fn read(file: &Path, text: &str) -> Result<Value, EditError> {
    if !is_toml(file) {
        return edit::read(text);
    }
    serde_json::to_value(toml::read(text)?).map_err(|error| EditError::Toml(error.to_string()))
}

/// Decides whether an entry starts this program.
fn starts_bashful(entry: &Value) -> bool {
    let command = entry["command"].as_str().or_else(|| entry["command"][0].as_str());
    command.is_some_and(|command| Path::new(command).ends_with("bashful"))
}

/// Decides whether nothing is left in a text that was made for a change.
pub(crate) fn is_empty(text: &str) -> bool {
    matches!(text.trim(), "" | "{}")
}
