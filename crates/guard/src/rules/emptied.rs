//! Commands of git that together leave no file: `git rm` takes the tracked ones, `git clean` the others.
//!
//! Each of them alone is what it seems to be, and passes: tracked files are in the history, and the others were made from them.

use super::CRITICAL_RM;
use super::git::is_everything;
use super::target::{Danger, danger, is_home_or_system};
use crate::marks::{TREE, is_vague};
use crate::walk::ScriptWalk;

/// The message for two commands that leave nothing.
const TOGETHER: &str = "permission denied: together, these git commands delete every file here: one takes the tracked files \
                        away, and git clean -x all others. Leave out the files to keep with git clean -e";

/// The message for a place that is not the repository's own.
const FOREIGN: &str = "permission denied: to this git clean, every file in the directory is untracked, and all of them would be \
                       deleted";

/// Looks at a subcommand.
pub(super) fn judge(walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String], settings: &[(String, String)]) {
    let has = |names: &[&str]| arguments.iter().any(|word| names.contains(&word.as_str()));
    let is_empty_tree = |walk: &mut ScriptWalk<'_>| {
        let git = &walk.world.files.git;
        arguments.iter().any(|word| git.is_empty_tree(word))
    };
    match name {
        "clean" => clean(walk, arguments, settings),
        "rm" => removed(walk, arguments),
        "read-tree" if has(&["--empty"]) => walk.world_files().index = true,
        "read-tree" | "checkout" | "reset" if is_empty_tree(walk) => {
            let is_updated = name == "checkout" || has(&["--hard", "-u"]);
            let files = walk.world_files();
            files.index = true;
            files.tracked |= is_updated;
            judge_all(walk);
        }
        "switch" if has(&["--orphan"]) => {
            let files = walk.world_files();
            (files.index, files.tracked) = (true, true);
            judge_all(walk);
        }
        // The files stay as they are.
        "checkout" if has(&["-b", "-B", "--orphan"]) => {}
        "checkout" | "switch" | "restore" | "stash" | "pull" | "merge" => {
            let files = walk.world_files();
            (files.index, files.tracked) = (false, false);
        }
        "reset" | "read-tree" if !has(&["--soft"]) => {
            let files = walk.world_files();
            files.index = false;
            files.tracked &= !has(&["--hard", "-u"]);
        }
        _ => {}
    }
}

impl ScriptWalk<'_> {
    /// The directory whose files git works on.
    fn work_tree(&mut self) -> String {
        match self.scalar("GIT_WORK_TREE").filter(|path| !path.is_empty()) {
            Some(path) => self.absolute(&path),
            None => self.directory(),
        }
    }

    /// The state of the files that git works on.
    fn world_files(&mut self) -> &mut crate::walk::GoneFiles {
        let directory = self.work_tree();
        self.world.files.git.files_in(&directory)
    }
}

/// Notes that the index is deleted: from there on, no file is tracked.
pub(super) fn note_lost_index(walk: &mut ScriptWalk<'_>) {
    walk.world_files().index = true;
}

/// Refuses if nothing is left in a directory that matters.
fn judge_all(walk: &mut ScriptWalk<'_>) {
    let files = walk.world_files();
    if files.tracked && files.untracked {
        report(walk, TOGETHER);
    }
}

fn report(walk: &mut ScriptWalk<'_>, message: &str) {
    let everything = format!("{}/{TREE}", walk.work_tree());
    if danger(walk, &everything) == Danger::Critical {
        walk.report(CRITICAL_RM.name, CRITICAL_RM.level, message, CRITICAL_RM.alternative);
    }
}

/// `git rm` of everything.
fn removed(walk: &mut ScriptWalk<'_>, arguments: &[String]) {
    let has = |long: &str| arguments.iter().any(|word| word == long);
    let is_listed = arguments.iter().any(|word| word.starts_with("--pathspec-from-file"));
    let only_looks = has("--dry-run") || arguments.iter().any(|word| is_short(word, 'n'));
    let paths: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    if only_looks || is_listed || !paths.into_iter().any(|path| is_everything(walk, path)) {
        return;
    }
    let is_cached = has("--cached");
    let files = walk.world_files();
    files.index = true;
    files.tracked |= !is_cached;
    judge_all(walk);
}

/// True if a word holds this short option.
fn is_short(word: &str, letter: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

/// The options of `git clean`, and the paths that it is given.
#[derive(Debug, Default)]
struct CleanWords {
    flags: String,
    keeps_some: bool,
    paths: Vec<String>,
}

impl CleanWords {
    fn of(arguments: &[String]) -> Self {
        let mut found = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--force" => found.flags.push('f'),
                "--dry-run" => found.flags.push('n'),
                "--interactive" => found.flags.push('i'),
                "--exclude" => {
                    found.keeps_some = true;
                    words.next();
                }
                "--" => found.paths.extend(words.by_ref().cloned()),
                long if long.starts_with("--") => found.keeps_some |= long.starts_with("--exclude"),
                flags if flags.len() > 1 && flags.starts_with('-') => {
                    let (own, pattern) = flags.split_once('e').map_or((flags, None), |(own, rest)| (own, Some(rest)));
                    found.flags.push_str(own);
                    found.keeps_some |= pattern.is_some();
                    if pattern == Some("") {
                        words.next();
                    }
                }
                path => found.paths.push(path.to_owned()),
            }
        }
        found
    }
}

fn clean(walk: &mut ScriptWalk<'_>, arguments: &[String], settings: &[(String, String)]) {
    let words = CleanWords::of(arguments);
    let needs_no_force = settings.iter().any(|(key, value)| key == "clean.requireforce" && value == "false");
    let acts = (words.flags.contains('f') || needs_no_force) && !words.flags.contains(['n', 'i']);
    let is_narrow = !words.paths.is_empty() && !words.paths.iter().any(|path| is_everything(walk, path));
    if !acts || !words.flags.contains('d') || words.keeps_some || is_narrow {
        return;
    }
    let place = walk.work_tree();
    if is_foreign(walk, &place) || is_home_or_system(walk, &place) {
        return report(walk, FOREIGN);
    }
    let has_other_index = walk
        .scalar("GIT_INDEX_FILE")
        .is_some_and(|path| !path.is_empty() && !is_vague(&path) && !path.ends_with(".git/index"));
    let takes_ignored = words.flags.contains('x');
    let files = walk.world_files();
    files.tracked |= files.index || has_other_index;
    files.untracked |= takes_ignored;
    judge_all(walk);
}

/// True if the repository's data is not where the files are, so that it knows none of them.
fn is_foreign(walk: &mut ScriptWalk<'_>, place: &str) -> bool {
    let Some(data) = walk.scalar("GIT_DIR").filter(|path| !path.is_empty() && !is_vague(path)) else { return false };
    let data = walk.absolute(&data);
    let own = walk.world.concrete(&format!("{place}/.git"));
    walk.world.concrete(&data) != own
}

#[cfg(test)]
mod tests {
    use crate::{Guard, Prelude};

    fn refuses(script: &str) -> bool {
        Guard::default().judge(script, &Prelude::default()).refuses()
    }

    #[test]
    fn two_commands_that_leave_nothing_are_refused_together() {
        for script in [
            "git rm -rf . && git clean -fdx",
            "git clean -ffdx && git rm -rfq '*'",
            "git rm -r --cached . && git clean -fdx",
            "git read-tree --empty; git clean -fdx :/",
            "git clean -fdx; git reset --hard 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            "t=$(git mktree </dev/null); c=$(git commit-tree $t -m x); git clean -fdx; git checkout -f $c",
            "git switch --orphan pages && git clean -fdx",
            "cd ~ && git clean -fdx",
            "git --git-dir=/tmp/x.git --work-tree=. clean -fdx",
            "GIT_WORK_TREE=~ git --git-dir=$HOME/.dotfiles clean -fd",
            "GIT_INDEX_FILE=/tmp/none git clean -fdx",
            "rm -f .git/index; git clean -fdx",
        ] {
            assert!(refuses(script), "{script}");
        }
    }

    #[test]
    fn each_of_them_alone_passes() {
        for script in [
            "git clean -fdx",
            "git rm -rf .",
            "git rm -r --cached .",
            "git rm -r --cached . && git reset && git clean -fdx",
            "git rm -rf . && git checkout HEAD -- . && git clean -fdx",
            "git rm -rf docs && git clean -fdx",
            "git rm -rf . && git clean -fdx build",
            "git rm -rf . && git clean -fdxn",
            "git rm -rf . && git clean -fdx -e .env",
            "git clone x /tmp/y && cd /tmp/y && git rm -rf . && git clean -fdx",
            "cd ~/project && git clean -fdx",
            "git --git-dir=.git --work-tree=. clean -fdx",
        ] {
            assert!(!refuses(script), "{script}");
        }
    }
}
