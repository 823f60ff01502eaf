//! Subcommands that put something into git: commits, branches, tags, repositories.

use crate::marks::{FRESH, SOME, is_vague};
use crate::walk::ScriptWalk;
use crate::walk::files::base_name;
use crate::walk::git::hooks::MESSAGE_FILE;

/// Options of `git clone` and `git init` that take another word.
const CLONE_VALUED: [&str; 11] = [
    "-b",
    "--branch",
    "--depth",
    "-o",
    "--origin",
    "-c",
    "--config",
    "--reference",
    "--filter",
    "--template",
    "--initial-branch",
];

/// Options by which `git branch` and `git tag` make nothing.
const MAKES_NOTHING: [&str; 17] = [
    "-d",
    "-D",
    "--delete",
    "-l",
    "--list",
    "-v",
    "-vv",
    "--verify",
    "-a",
    "-r",
    "--merged",
    "--no-merged",
    "--contains",
    "--show-current",
    "-u",
    "--unset-upstream",
    "--points-at",
];

/// True if `git branch` or `git tag` would make a ref.
pub(super) fn makes_ref(name: &str, arguments: &[String]) -> bool {
    // `git tag -a` and `-u` make a tag.
    let is_tagging = |word: &str| name == "tag" && matches!(word, "-a" | "-u");
    let is_listing = |word: &String| {
        MAKES_NOTHING.contains(&word.as_str()) && !is_tagging(word)
            || word.starts_with("--format")
            || word.starts_with("--sort")
    };
    arguments.iter().any(|word| !word.starts_with('-')) && !arguments.iter().any(is_listing)
}

/// True if a subcommand may take commits away from a branch, so that pushing it once more is not what it was.
fn rewrites(name: &str, arguments: &[String]) -> bool {
    let has = |names: &[&str]| arguments.iter().any(|word| names.contains(&word.as_str()));
    match name {
        "rebase" | "reset" | "filter-branch" | "filter-repo" | "update-ref" | "replace" => true,
        "commit" => has(&["--amend"]),
        "branch" => has(&["-f", "--force", "-M", "-C"]),
        "checkout" | "switch" => has(&["-B", "-C", "--orphan", "--force-create"]),
        _ => false,
    }
}

impl ScriptWalk<'_> {
    /// Remembers messages, names and trees that a subcommand leaves behind.
    pub(super) fn note_git(&mut self, name: &str, arguments: &[String]) {
        self.world.files.git.has_rewritten |= rewrites(name, arguments);
        match name {
            "commit" => {
                let words = self.message_words(arguments);
                let Some(message) = words.message else { return };
                let path = self.absolute(MESSAGE_FILE);
                self.world.files.texts.insert(path, format!("{message}\n"));
                self.world.files.git.note_message(message, words.amends);
            }
            "stash" => {
                if let Some(message) = self.message_words(arguments).message {
                    // `git stash push` puts the branch before it.
                    let is_stored = arguments.first().is_some_and(|verb| verb == "store");
                    let prefix = if is_stored { String::new() } else { format!("On {SOME}: ") };
                    self.world.files.git.stashes.push(format!("{prefix}{message}"));
                }
            }
            "tag" if makes_ref(name, arguments) => {
                let words = self.message_words(arguments);
                self.note_ref("refs/tags/", &words.operands, words.message);
            }
            "branch" if makes_ref(name, arguments) => {
                let operands: Vec<String> = arguments.iter().filter(|word| !word.starts_with('-')).cloned().collect();
                let renames =
                    arguments.iter().any(|word| matches!(word.as_str(), "-m" | "-M" | "--move" | "-c" | "-C"));
                let names = if renames { operands.get(operands.len() - 1..).unwrap_or(&[]) } else { &operands };
                self.note_ref("refs/heads/", names, None);
            }
            "checkout" | "switch" => self.note_branch(arguments),
            "symbolic-ref" => {
                let branch = arguments.iter().find_map(|word| word.strip_prefix("refs/heads/"));
                if let Some(branch) = branch.filter(|branch| !is_vague(branch)) {
                    self.world.files.git.branch = Some(branch.to_owned());
                }
            }
            "update-ref" => {
                let operands: Vec<String> = arguments.iter().filter(|word| !word.starts_with('-')).cloned().collect();
                self.note_ref("", &operands, None);
            }
            "fast-import" if self.world.shell.input.contains(FRESH) => {
                let input = self.world.shell.input.to_string();
                for name in input.lines().filter_map(|line| line.strip_prefix("commit ")).take(4) {
                    self.world.files.git.note_ref(name.trim().to_owned(), &FRESH.to_string(), None);
                }
            }
            "init" | "clone" => self.note_repository(name, arguments),
            _ => {}
        }
    }

    fn note_ref(&mut self, kind: &str, operands: &[String], message: Option<String>) {
        let Some((name, rest)) = operands.split_first().filter(|(name, _)| !is_vague(name)) else { return };
        let git = &mut self.world.files.git;
        let target = rest.first().map_or("", String::as_str);
        let target = git.resolved(target).to_owned();
        git.note_ref(format!("{kind}{name}"), &target, message);
    }

    /// Notes the branch that `git checkout` or `git switch` goes to. Of others than its own the script knows nothing.
    fn note_branch(&mut self, arguments: &[String]) {
        let is_new = |word: &String| {
            matches!(word.as_str(), "-b" | "-B" | "-c" | "-C" | "--create" | "--force-create" | "--orphan")
        };
        let new = arguments.iter().position(is_new);
        if let Some(rest) = new.and_then(|at| arguments.get(at + 1..)) {
            let operands: Vec<String> = rest.iter().filter(|word| !word.starts_with('-')).cloned().collect();
            self.note_ref("refs/heads/", &operands, None);
            self.world.files.git.branch = operands.first().filter(|name| !is_vague(name)).cloned();
            return;
        }
        if arguments.iter().any(|word| word == "--") {
            return;
        }
        let name = arguments.iter().find(|word| !word.starts_with('-'));
        let git = &mut self.world.files.git;
        let is_own = |name: &&String| git.refs.iter().any(|known| known.name == format!("refs/heads/{name}"));
        git.branch = name.filter(is_own).cloned();
    }

    /// Notes a repository that the script makes for itself: a clone, or a new one in a directory for temporary files.
    fn note_repository(&mut self, name: &str, arguments: &[String]) {
        let takes_word = |at: usize| {
            at.checked_sub(1)
                .and_then(|before| arguments.get(before))
                .is_some_and(|word| CLONE_VALUED.contains(&word.as_str()))
        };
        let operands = arguments.iter().enumerate().filter(|(at, word)| !word.starts_with('-') && !takes_word(*at));
        let mut operands = operands.map(|(_, word)| word.as_str());
        let directory = match name {
            "init" => operands.next().unwrap_or(".").to_owned(),
            "clone" => {
                let Some(source) = operands.next() else { return };
                let own = base_name(source).trim_end_matches(".git");
                operands.next().unwrap_or(own).to_owned()
            }
            _ => return,
        };
        let path = self.absolute(&directory);
        // `git init` works in a repository that is there already, too.
        let is_temporary = path.starts_with("/tmp/") || path.starts_with("/var/tmp/");
        if is_temporary || name == "clone" && path != self.directory() {
            self.world.files.repositories.push(path);
        }
    }
}
