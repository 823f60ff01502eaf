//! Turns a leading `cd X &&` into the working directory.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use bashful_bash::{Outline, PlainWord};

use super::{ScriptEdit, apply, quotable};
use crate::Options;
use crate::backend::Backend;
use crate::request::{Script, ScriptError};

/// Variables that show that a command ran before.
const REVEALING_VARIABLES: [&str; 3] = ["$_", "${_", "PIPESTATUS"];

/// A `cd` that a script begins with.
#[derive(Debug)]
pub(super) struct LeadingCd {
    /// Target of the `cd`.
    pub(super) to: PlainWord,
    /// Text of the `cd`, for a notice.
    pub(super) quote: String,
    edit: ScriptEdit,
}

/// Directories before and after a `cd`.
#[derive(Debug)]
pub(super) struct DirectoryChange {
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
}

/// Finds the `cd` that a script begins with, if it has one plain argument.
pub(super) fn leading((script, outline): (&str, &Outline<'_>)) -> Option<LeadingCd> {
    // These variables show what `cd` leaves behind beside the directory.
    if REVEALING_VARIABLES.iter().any(|name| script.contains(name)) {
        return None;
    }
    let leading = outline.leading()?;
    // Lines keep their numbers, which bash uses in its messages.
    let lines = script.get(leading.range.clone())?.matches('\n').count();
    let to = match leading.words.as_slice() {
        [cd, to] if cd.text == "cd" && !to.text.starts_with('-') => to,
        [cd, dashes, to] if cd.text == "cd" && dashes.text == "--" && to.text != "-" => to,
        _ => return None,
    };
    let quote = quotable(script.get(leading.command.clone())?);
    Some(LeadingCd {
        to: to.clone(),
        quote,
        edit: ScriptEdit { range: leading.range, text: "\n".repeat(lines).into_bytes() },
    })
}

impl LeadingCd {
    /// The script without it.
    pub(super) fn rest(&self, script: &Script) -> Result<Script, ScriptError> {
        Script::new(apply(script.as_bytes(), std::slice::from_ref(&self.edit)))
    }
}

/// Home directory of a command with these variables, if it is an absolute path.
pub(super) fn home(options: &Options, env: &[(String, OsString)]) -> Option<PathBuf> {
    let variables = options.environment.resolve(&options.host_environment, env).ok()?.variables;
    variables.get(OsStr::new("HOME")).map(PathBuf::from).filter(|home| home.is_absolute())
}

/// Resolves the target, if `cd` would reach it; otherwise bash reports the error itself.
pub(super) fn resolve(
    to: &PlainWord,
    options: &Options,
    backend: &dyn Backend,
    env: &[(String, OsString)],
) -> Option<DirectoryChange> {
    let variables = options.environment.resolve(&options.host_environment, env).ok()?.variables;
    let variable = |name: &str| variables.get(OsStr::new(name)).filter(|value| !value.is_empty());
    // A caller that sets `PWD` has reasons of its own.
    if env.iter().any(|(name, _)| name == "PWD") {
        return None;
    }
    let from = backend.working_directory(&options.directory, None).ok()?;
    let to = if to.tilde {
        let home = variable("HOME")?.to_str().filter(|home| home.starts_with('/'))?;
        format!("{home}{}", &to.text[1..])
    } else {
        to.text.clone()
    };
    let searched = !(to.starts_with('/') || matches!(to.split('/').next(), Some("." | "..")));
    if to.is_empty() || to.starts_with("//") || (searched && variable("CDPATH").is_some()) {
        return None;
    }
    let to = logical(&from, &to, backend)?;
    backend.working_directory(&to, None).is_ok().then_some(DirectoryChange { from, to })
}

/// The path that `cd` would show: `..` removes the part before it, symbolic link or not.
fn logical(from: &Path, to: &str, backend: &dyn Backend) -> Option<PathBuf> {
    let mut path = if to.starts_with('/') { PathBuf::from("/") } else { from.to_path_buf() };
    for part in to.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if !backend.is_directory(&path) {
                    return None;
                }
                path.pop();
            }
            name => path.push(name),
        }
    }
    Some(path)
}
