//! `git add` of everything, and `git push` by force.

use super::{BLIND_ADD, DELETE_REMOTE, FORCE_PUSH};
use crate::marks::{HOME, ONE, REPO, SET, SOME, STAR, START, UNKNOWN, is_mark};
use crate::pattern::is_wide;
use crate::walk::Walk;
use crate::walk::files::normalized;

/// Looks at a subcommand.
pub(super) fn judge(walk: &mut Walk<'_>, name: &str, arguments: &[String], settings: &[(String, String)]) {
    match name {
        "add" | "stage" if adds_blindly(walk, arguments) => walk.find_rule(&BLIND_ADD),
        "push" => match pushes(arguments, settings) {
            Push::Plain => {}
            Push::Forced => walk.find_rule(&FORCE_PUSH),
            Push::Deleting => walk.find_rule(&DELETE_REMOTE),
        },
        "send-pack" | "http-push"
            if arguments
                .iter()
                .any(|word| matches!(word.as_str(), "--force" | "-f" | "--mirror") || word.starts_with('+')) =>
        {
            walk.find_rule(&FORCE_PUSH);
        }
        _ => {}
    }
}

fn adds_blindly(walk: &mut Walk<'_>, arguments: &[String]) -> bool {
    let mut all = false;
    let mut paths: Vec<String> = Vec::new();
    let mut options = true;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let flag = word.replace([UNKNOWN, SOME], "");
        if options && word == "--" {
            options = false;
        } else if options && flag.len() > 1 && flag.starts_with('-') {
            match flag.strip_prefix("--") {
                Some(long) => {
                    let (name, attached) =
                        long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                    let short_for = |full: &str, least: usize| name.len() >= least && full.starts_with(name);
                    if name == "pathspec-from-file" {
                        let file = attached.map(str::to_owned).or_else(|| words.next().cloned()).unwrap_or_default();
                        let text = if file == "-" { walk.world.shell.input.clone() } else { walk.read_file(&file) };
                        paths.extend(text.split(['\n', '\0']).filter(|path| !path.is_empty()).map(str::to_owned));
                    } else if short_for("all", 1) || short_for("no-ignore-removal", 5) {
                        all = true;
                    } else if ["dry-run", "patch", "interactive", "edit", "refresh", "renormalize", "update"]
                        .iter()
                        .any(|full| short_for(full, 2))
                    {
                        // Nothing is added, or only what is known already, or somebody looks at each part.
                        return false;
                    }
                }
                None if flag.contains(['n', 'p', 'i', 'e', 'u']) => return false,
                None => all |= flag.contains('A'),
            }
        } else {
            paths.push(word.clone());
        }
    }
    if all && paths.is_empty() {
        return true;
    }
    let narrows = |path: &String| !(path.starts_with(":!") || path.starts_with(":^") || path.starts_with(":(exclude"));
    if !paths.is_empty() && !paths.iter().any(narrows) {
        return true;
    }
    paths.iter().filter(|path| narrows(path)).any(|path| is_everything(walk, path))
}

/// Whether a path given to `git add` means the whole tree.
fn is_everything(walk: &mut Walk<'_>, path: &str) -> bool {
    let (path, from_top) = match path.strip_prefix(':') {
        Some("") => return true,
        Some(magic) => match magic.strip_prefix('(') {
            Some(words) => words.split_once(')').map_or(("", true), |(words, rest)| (rest, words.contains("top"))),
            None => (magic.strip_prefix('/').unwrap_or(path), magic.starts_with('/')),
        },
        None => (path, false),
    };
    if path.is_empty() {
        return from_top;
    }
    // git matches patterns by itself, also quoted ones.
    let live: String = path
        .chars()
        .map(|letter| match letter {
            '*' => STAR,
            '?' => ONE,
            '[' if path.contains(']') => SET,
            other => other,
        })
        .collect();
    let own = normalized(&live);
    let directory = walk.directory();
    let below = if own.starts_with(['/', START, REPO, HOME]) {
        let spelled = walk.world.concrete(&own);
        let here = walk.world.concrete(&directory);
        let top = walk.world.concrete(&REPO.to_string());
        // The directory itself, or one above it.
        let is_above = |place: &str| {
            !spelled.contains(is_mark)
                && place
                    .strip_prefix(spelled.trim_end_matches('/'))
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if is_above(&here) || is_above(&top) {
            return true;
        }
        let inside = [&here, &top].into_iter().find_map(|place| spelled.strip_prefix(place.as_str()));
        match inside {
            Some(rest) => rest.trim_start_matches('/').to_owned(),
            None => return false,
        }
    } else {
        own
    };
    below.split('/').all(|part| part == "." || part == ".." || is_wide(part))
}

/// What a push does to the other side.
enum Push {
    Plain,
    Forced,
    Deleting,
}

fn pushes(arguments: &[String], settings: &[(String, String)]) -> Push {
    let mut forced = false;
    let mut mirrors = false;
    let mut deletes = false;
    let mut has_repository = false;
    let mut operands = 0;
    let mut options = true;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let flag = word.replace([UNKNOWN, SOME], "");
        if options && word == "--" {
            options = false;
            continue;
        }
        if options && flag.len() > 1 && flag.starts_with('-') {
            let Some(long) = flag.strip_prefix("--") else {
                // `-o` takes what is left of the word, or the next one.
                let (flags, takes_value) =
                    flag.split_once('o').map_or((flag.as_str(), None), |(f, rest)| (f, Some(rest)));
                forced |= flags.contains('f');
                deletes |= flags.contains('d');
                if flags.contains('n') {
                    return Push::Plain;
                }
                if takes_value == Some("") {
                    words.next();
                }
                continue;
            };
            match long.split_once('=').map_or(long, |(name, _)| name) {
                "no-force" => forced = false,
                "no-mirror" => mirrors = false,
                "dry-run" => return Push::Plain,
                "delete" | "prune" => deletes = true,
                "repo" => {
                    has_repository = true;
                    if !long.contains('=') {
                        words.next();
                    }
                }
                "push-option" | "receive-pack" | "exec" | "recurse-submodules" if !long.contains('=') => {
                    words.next();
                }
                name if name.len() >= 3 && "force".starts_with(name) => forced = true,
                name if name.len() >= 2 && "mirror".starts_with(name) => mirrors = true,
                name if name.len() >= 2 && "delete".starts_with(name) => deletes = true,
                _ => {}
            }
            continue;
        }
        operands += 1;
        // The first is the repository.
        if operands > 1 || has_repository {
            forced |= word.starts_with('+');
            deletes |= word.starts_with(':') && word.len() > 1;
        }
    }
    // What the configuration pushes counts if the command does not say.
    if operands < 2 {
        for (key, value) in settings {
            let Some((_, name)) = key.strip_prefix("remote.").and_then(|rest| rest.rsplit_once('.')) else { continue };
            forced |= name == "push" && value.starts_with('+');
            mirrors |= name == "mirror" && matches!(value.as_str(), "true" | "1" | "yes" | "on");
        }
    }
    if forced || mirrors {
        Push::Forced
    } else if deletes {
        Push::Deleting
    } else {
        Push::Plain
    }
}
