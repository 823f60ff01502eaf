//! `rm`, and everything else that deletes a tree.

use super::target::{Danger, danger};
use super::{BELOW_HOME, CRITICAL_RM, FAILED_MOVE, NAMED_BELOW_HOME, UNKNOWN_DIRECTORY};
use crate::marks::{SOME, STAR, TREE, UNKNOWN};
use crate::pattern::is_wide;
use crate::walk::ScriptWalk;

/// Looks at a command of this name.
pub(super) fn judge(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) {
    let mut recursive = match name {
        // `unlink` takes one file after the other, which counts if a listing names all of them.
        "rm" | "grm" | "srm" | "safe-rm" | "unlink" => false,
        "shred" if arguments.iter().any(|word| word.starts_with('-') && word.contains('u')) => false,
        "tar" | "gtar" | "bsdtar" if arguments.iter().any(|word| word == "--remove-files") => true,
        // It has no other way.
        "rimraf" => true,
        "rsync" => return emptied_by_copy(walk, arguments),
        _ => return,
    };
    let mut targets = Vec::new();
    let mut options = true;
    for word in arguments {
        // A variable that nobody has set, in the middle of an option, is there to be nothing.
        let flag = word.replace([UNKNOWN, SOME], "");
        if options && word == "--" {
            options = false;
        } else if options && flag.len() > 1 && word.starts_with('-') {
            if matches!(flag.as_str(), "--help" | "--version") {
                return;
            }
            recursive |= match flag.strip_prefix("--") {
                Some(long) => !long.is_empty() && "recursive".starts_with(long),
                None => flag.contains(['r', 'R']),
            };
        } else {
            targets.push(word.as_str());
        }
    }
    for target in targets {
        // With `globstar`, two stars are everything below.
        let target = target.replace(&format!("{STAR}{STAR}"), &TREE.to_string());
        let target = target.as_str();
        // Names that `find` has listed come from below, so nothing more is needed to delete a tree.
        if recursive {
            deleted(walk, target);
        } else if target.contains(TREE) {
            deleted_one_by_one(walk, target);
        }
    }
}

/// `rsync --delete empty/ target`: a copy of nothing leaves nothing.
fn emptied_by_copy(walk: &mut ScriptWalk<'_>, arguments: &[String]) {
    let deletes = arguments.iter().any(|word| word == "--del" || word.starts_with("--delete"));
    let is_dry =
        |word: &String| word == "--dry-run" || word.starts_with('-') && !word.starts_with("--") && word.contains('n');
    let operands: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let Some((target, sources)) = operands.split_last().filter(|_| deletes && !arguments.iter().any(is_dry)) else {
        return;
    };
    let is_empty = |walk: &mut ScriptWalk<'_>, source: &str| {
        let path = walk.absolute(source);
        source.ends_with('/') && walk.world.files.is_made_empty(&path)
    };
    let is_remote = target.split('/').next().is_some_and(|host| host.contains(':'));
    if !is_remote && !sources.is_empty() && sources.iter().all(|source| is_empty(walk, source)) {
        deleted(walk, &format!("{}/{TREE}", target.trim_end_matches('/')));
    }
}

/// Judges that the files of this path are deleted, but no directory that is not empty.
pub(crate) fn deleted_one_by_one(walk: &mut ScriptWalk<'_>, path: &str) {
    let last = path.rsplit('/').next().unwrap_or("");
    if last.contains(TREE) || is_wide(last) && !last.starts_with('.') || !path.contains(TREE) {
        deleted(walk, path);
    }
}

/// Judges that a path is deleted if the `cd` before it has failed: `cd build; rm -rf *`.
fn judge_before_move(walk: &mut ScriptWalk<'_>, path: &str) {
    let Some(left) = walk.world.shell.left.clone() else { return };
    let here = walk.directory();
    // `rm -rf "$(pwd)"` says the directory itself.
    let path = match path.strip_prefix(here.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        Some(rest) => format!("{}{rest}", left.path),
        None => path.to_owned(),
    };
    walk.world.shell.set_directory(left.path);
    let danger = danger(walk, &path);
    walk.world.shell.set_directory(here);
    if danger == Danger::Critical {
        walk.find_rule(if left.is_expected { &CRITICAL_RM } else { &FAILED_MOVE });
    }
}

/// Judges that a path is deleted with everything below it.
pub(crate) fn deleted(walk: &mut ScriptWalk<'_>, path: &str) {
    match danger(walk, path) {
        Danger::None => judge_before_move(walk, path),
        Danger::Critical => walk.find_rule(&CRITICAL_RM),
        Danger::BelowHome => walk.find_rule(&BELOW_HOME),
        Danger::NamedBelowHome => walk.find_rule(&NAMED_BELOW_HOME),
        Danger::IfEmpty => walk.find_rule(&UNKNOWN_DIRECTORY),
    }
}
