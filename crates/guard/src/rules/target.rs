//! The loss if a path is deleted with everything below it.

use crate::marks::{HOME, NAME, ONE, REPO, SET, SOME, STAR, START, TREE, UNKNOWN, is_mark, is_wild};
use crate::pattern::{is_wide, may_be};
use crate::walk::ScriptWalk;
use crate::walk::files::normalized;

/// Directories of the system. Also `/home` and its like: other people live there.
const SYSTEM: [&str; 30] = [
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "media",
    "mnt",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "Users",
    "Applications",
    "Library",
    "System",
    "Volumes",
    "private",
    "cores",
    "nix",
    "snap",
    "efi",
    "lost+found",
];

/// Directories below `/usr` without which nothing works.
const BELOW_USR: [&str; 6] = ["bin", "lib", "lib64", "sbin", "share", "local"];

/// Parts of `.git` without which there is no history.
const HISTORY: [&str; 4] = ["objects", "refs", "HEAD", "packed-refs"];

/// True if a directory of the system has this name.
pub(crate) fn is_system_directory(name: &str) -> bool {
    SYSTEM.contains(&name)
}

/// The danger of deleting a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Danger {
    None,
    /// The root, the home directory, the repository, everything here.
    Critical,
    /// Something below the home directory, spelled by it.
    BelowHome,
    /// The same, with two names or more.
    NamedBelowHome,
    /// As critical, if the unknown part of the path is empty.
    IfEmpty,
}

/// Judges a path.
pub(super) fn danger(walk: &mut ScriptWalk<'_>, path: &str) -> Danger {
    if path.is_empty() {
        return Danger::None;
    }
    let own = normalized(path);
    // Nobody means to delete `.` or `..`.
    if own.split('/').all(|part| part == "." || part == "..") && !own.starts_with('/') {
        return Danger::Critical;
    }
    let full = walk.absolute(path);
    let full = without_process_links(walk, &walk.through_links(&full, path.ends_with('/')));
    // Everything in a place is the place.
    let place = match full.rsplit_once('/') {
        Some((parent, last)) if is_wide(last) => parent,
        _ => full.trim_end_matches(|letter| letter == '/' || is_wild(letter)),
    };
    if is_place(walk, &full)
        || place.len() < full.len()
            && full.get(place.len()..).is_some_and(|rest| rest.starts_with('/'))
            && is_place(walk, place)
    {
        return Danger::Critical;
    }
    let originals = walk.world.files.moved_to(place.trim_end_matches('/'));
    let is_critical = |path: &String| is_place(walk, path) || danger_of(walk, path, path) == Danger::Critical;
    if originals.iter().any(is_critical) {
        return Danger::Critical;
    }
    danger_of(walk, &full, path)
}

/// Judges a path that is spelled out, which the script gives as `path`.
fn danger_of(walk: &ScriptWalk<'_>, full: &str, path: &str) -> Danger {
    let spelled_by_home = path.starts_with(HOME);
    let (root, tail) = split_root(full);
    let parts: Vec<&str> = tail.split('/').filter(|part| !part.is_empty()).collect();
    if is_repository(&parts) {
        let is_own = walk.world.files.is_in_own_repository(full);
        return if is_own { Danger::None } else { Danger::Critical };
    }
    match root {
        Some(HOME) => match parts.as_slice() {
            [TREE_PART, name, ..] if !is_everything(name) => Danger::None,
            [] | ["..", ..] => Danger::Critical,
            [first] if is_everything(first) => Danger::Critical,
            [_, _, ..] if spelled_by_home && !parts.iter().any(|part| part.contains(is_mark) || *part == "..") => {
                Danger::NamedBelowHome
            }
            _ if spelled_by_home => Danger::BelowHome,
            _ => Danger::None,
        },
        Some(START | REPO) => {
            let below: Vec<&str> = parts.iter().copied().skip_while(|part| *part == "..").collect();
            if below.iter().all(|part| is_wide(part)) { Danger::Critical } else { where_it_is(walk, full) }
        }
        Some(UNKNOWN) => {
            let is_all = parts.iter().all(|part| is_wide(part));
            if is_all && (!parts.is_empty() || path.ends_with('/')) { Danger::IfEmpty } else { Danger::None }
        }
        _ => from_root(&parts),
    }
}

/// True if a path is the home directory, the root or a directory of the system.
pub(crate) fn is_home_or_system(walk: &ScriptWalk<'_>, path: &str) -> bool {
    let concrete = normalized(&walk.world.concrete(path));
    let parts: Vec<&str> = concrete.split('/').filter(|part| !part.is_empty()).collect();
    let is_home = concrete == walk.world.concrete(&HOME.to_string());
    is_home || concrete.starts_with('/') && from_root(&parts) == Danger::Critical
}

/// A path without the detour over `/proc/self/root` or `/proc/self/cwd`.
fn without_process_links(walk: &mut ScriptWalk<'_>, path: &str) -> String {
    let Some((_, rest)) = path.strip_prefix("/proc/").and_then(|rest| rest.split_once('/')) else {
        return path.to_owned();
    };
    if let Some(rest) = rest.strip_prefix("root").filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        return normalized(&format!("/{rest}"));
    }
    match rest.strip_prefix("cwd").filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        Some(rest) => normalized(&format!("{}{rest}", walk.directory())),
        None => path.to_owned(),
    }
}

/// Judges a path by where the script starts, if that is known: `etc` is not the same in `/` and in a project.
fn where_it_is(walk: &ScriptWalk<'_>, path: &str) -> Danger {
    if walk.world.prelude.directory.is_none() {
        return Danger::None;
    }
    let spellings = [Some(walk.world.concrete(path)), walk.world.behind_links(path)];
    for spelled in spellings.into_iter().flatten() {
        let concrete = normalized(&spelled);
        let parts: Vec<&str> = concrete.split('/').filter(|part| !part.is_empty()).collect();
        let danger = if is_repository(&parts) { Danger::Critical } else { from_root(&parts) };
        if danger != Danger::None {
            return danger;
        }
    }
    Danger::None
}

/// The mark for a whole tree, as a part of a path.
const TREE_PART: &str = "\u{10F008}";

fn from_root(parts: &[&str]) -> Danger {
    let in_system = |name: &str| SYSTEM.iter().any(|own| may_be(name, own));
    match parts {
        [] => Danger::Critical,
        [only] if only.chars().all(|letter| matches!(letter, UNKNOWN)) => Danger::IfEmpty,
        [only] if is_everything(only) || in_system(only) => Danger::Critical,
        [TREE_PART, name, ..] if !is_everything(name) => Danger::None,
        all if all.iter().all(|part| is_everything(part)) => Danger::Critical,
        [first, second] if *first != "tmp" && in_system(first) => {
            let somebodys_home = may_be(first, "home") || may_be(first, "Users");
            let below_usr = may_be(first, "usr") && BELOW_USR.iter().any(|own| may_be(second, own));
            if is_everything(second) || somebodys_home || below_usr { Danger::Critical } else { Danger::None }
        }
        _ => Danger::None,
    }
}

/// True if a part of a path stands for everything in its directory.
fn is_everything(part: &str) -> bool {
    is_wide(part) || part.chars().eq([NAME])
}

/// True if the path is a repository's data, or may be.
fn is_repository(parts: &[&str]) -> bool {
    let Some((last, before)) = parts.split_last() else { return false };
    // A name with nothing known in it is no `.git` because of that.
    let plain: String = last.chars().filter(|letter| !matches!(*letter, UNKNOWN | SOME)).collect();
    // Everything hidden in a directory that has a name is the directory's, as `build/*` is.
    let in_named = before.iter().any(|part| !is_wide(part) && *part != ".." && !part.contains(TREE));
    if may_be(&plain, ".git") && !(in_named && is_wide(&plain)) {
        return true;
    }
    let inside = before.last().is_some_and(|part| may_be(part, ".git"));
    inside && (is_wide(last) || HISTORY.contains(last) || last.chars().eq([TREE]))
}

/// True if the path is the known home or working directory, or above one of them.
fn is_place(walk: &ScriptWalk<'_>, path: &str) -> bool {
    let place = walk.world.prelude;
    let path = normalized(&walk.world.concrete(path));
    let places = [&place.home, &place.directory, &place.real_directory];
    if path.contains([STAR, ONE, SET]) {
        return places.into_iter().flatten().any(|own| may_be_above(&path, own));
    }
    if path.contains(crate::marks::is_mark) {
        return false;
    }
    places.into_iter().flatten().any(|own| {
        own.strip_prefix(path.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// True if a pattern may match a place or a directory above it: `/h*e/d?v`. A part that matches nearly every name is judged for
/// itself.
fn may_be_above(path: &str, own: &str) -> bool {
    let mut names = own.split('/');
    path.trim_end_matches('/')
        .split('/')
        .all(|part| names.next().is_some_and(|name| !is_wide(part) && may_be(part, name)))
}

fn split_root(path: &str) -> (Option<char>, &str) {
    match path.chars().next() {
        Some(mark @ (HOME | START | REPO | UNKNOWN)) => (Some(mark), path.get(mark.len_utf8()..).unwrap_or("")),
        _ => (None, path),
    }
}
