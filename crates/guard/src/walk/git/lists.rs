//! Subcommands of git that list files, refs and places. A listing of everything that is not ignored is everything.

use crate::marks::{FRESH, REPO, SOME, STAR, START, TREE, UNKNOWN};
use crate::walk::ScriptWalk;
use crate::walk::git::config::Settings;

/// Options of `git ls-files` and `git status` that take another word.
const VALUED: [&str; 5] = ["-x", "--exclude", "-X", "--exclude-from", "--exclude-per-directory"];

/// The words of a subcommand that lists something.
struct ListWords<'w> {
    options: Vec<&'w str>,
    operands: Vec<&'w str>,
}

impl<'w> ListWords<'w> {
    fn of(arguments: &'w [String]) -> Self {
        let mut found = Self { options: Vec::new(), operands: Vec::new() };
        let mut words = arguments.iter();
        let mut are_options = true;
        while let Some(word) = words.next() {
            if are_options && word == "--" {
                are_options = false;
            } else if are_options && word.len() > 1 && word.starts_with('-') {
                found.options.push(word);
                if VALUED.contains(&word.as_str()) {
                    words.next();
                }
            } else if !matches!(word.as_str(), "." | "./" | ":/") {
                // The directory itself narrows nothing down.
                found.operands.push(word);
            }
        }
        found
    }

    /// True if an option is there: by its letter, or by its long name, which may go on with a value.
    fn has(&self, letter: char, long: &str) -> bool {
        let is_short = |word: &&str| !word.starts_with("--") && word.contains(letter);
        self.options.iter().any(|word| is_short(word) || !long.is_empty() && word.starts_with(long))
    }

    fn value(&self, long: &str) -> Option<&'w str> {
        self.options.iter().find_map(|word| word.strip_prefix(long))
    }
}

impl ScriptWalk<'_> {
    /// The output of a subcommand that lists files or refs.
    pub(super) fn list_git(&mut self, name: &str, arguments: &[String]) {
        let words = ListWords::of(arguments);
        let line_end = if words.has('z', "--null") { '\0' } else { '\n' };
        let is_narrow = !words.operands.is_empty();
        let lines: Vec<String> = match name {
            "ls-files" => listed_files(&words),
            "status" if is_narrow => vec![UNKNOWN.to_string()],
            "status" if words.has('\0', "--porcelain=v2") || words.has('\0', "--porcelain=2") => {
                vec![format!("? {FRESH}")]
            }
            "status" if words.has('s', "--short") || words.has('z', "--porcelain") => vec![format!("?? {FRESH}")],
            "clean" if !is_narrow && words.has('n', "--dry-run") => vec![format!("Would remove {FRESH}")],
            "add" | "stage" if !is_narrow && words.has('n', "--dry-run") => vec![format!("add '{FRESH}'")],
            "ls-tree" if words.operands.len() > 1 => vec![SOME.to_string()],
            "ls-tree" if words.has('\0', "--name-only") => {
                vec![if words.has('r', "") { TREE } else { STAR }.to_string()]
            }
            "for-each-ref" | "branch" | "tag" => {
                let format = words.value("--format=").map(str::to_owned);
                match format.or_else(|| value_behind(arguments, "--format")) {
                    Some(format) => vec![self.formatted_refs(name, &format, arguments)],
                    None if words.has('\0', "--show-current") => {
                        vec![self.world.files.git.branch.clone().unwrap_or_else(|| SOME.to_string())]
                    }
                    None => self.listed_refs(name),
                }
            }
            _ => vec![UNKNOWN.to_string()],
        };
        let mut text = lines.join(&line_end.to_string());
        text.push(line_end);
        self.write_from_git(&text);
    }

    /// Branches or tags that the script has made, and all others.
    fn listed_refs(&mut self, name: &str) -> Vec<String> {
        let (kind, indent) = if name == "tag" { ("refs/tags/", "") } else { ("refs/heads/", "  ") };
        let own = self.world.files.git.refs.iter().filter_map(|known| known.name.strip_prefix(kind));
        let mut lines: Vec<String> = own.take(8).map(|name| format!("{indent}{name}")).collect();
        lines.push(UNKNOWN.to_string());
        lines
    }

    /// Writes output that is known only as far as the commands before have worked.
    pub(super) fn write_from_git(&mut self, text: &str) {
        if !crate::marks::has_mark(text) {
            self.world.certainty.lose();
        }
        self.write(text);
    }

    /// `git rev-parse`: places and names.
    pub(super) fn rev_parse(&mut self, arguments: &[String]) {
        let directory = self.directory();
        let top = self.world.files.own_repository(&directory).unwrap_or_else(|| REPO.to_string());
        let below = [START, REPO].iter().find_map(|mark| directory.strip_prefix(*mark)).unwrap_or("");
        let below = below.trim_start_matches('/');
        let wants_absolute = arguments.iter().any(|word| word == "--path-format=absolute");
        let git_directory = match self.scalar("GIT_DIR").filter(|path| !path.is_empty()) {
            Some(path) => path,
            None if wants_absolute || !below.is_empty() => format!("{top}/.git"),
            None => ".git".to_owned(),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = match word.as_str() {
                "--show-toplevel" | "--show-superproject-working-tree" => top.clone(),
                "--git-dir" | "--git-common-dir" => git_directory.clone(),
                "--absolute-git-dir" => format!("{top}/.git"),
                "--git-path" => format!("{git_directory}/{}", words.next().map_or("", String::as_str)),
                "--show-cdup" => "../".repeat(below.split('/').filter(|part| !part.is_empty()).count()),
                "--show-prefix" if below.is_empty() => String::new(),
                "--show-prefix" => format!("{below}/"),
                "--sq-quote" => {
                    let quoted = words.by_ref().map(|word| format!(" '{}'", word.replace('\'', "'\\''")));
                    quoted.collect()
                }
                // They change how the next one is written.
                "--symbolic" | "--verify" | "--quiet" | "-q" | "--revs-only" | "--no-revs" | "--flags"
                | "--no-flags" | "--" => continue,
                "--abbrev-ref" | "--symbolic-full-name" => {
                    let is_head = words.clone().next().is_some_and(|next| next == "HEAD");
                    match self.world.files.git.branch.clone().filter(|_| is_head) {
                        Some(branch) => {
                            words.next();
                            if word == "--abbrev-ref" { branch } else { format!("refs/heads/{branch}") }
                        }
                        None => continue,
                    }
                }
                flag if flag.starts_with("--short") || flag.starts_with("--path-format") => continue,
                name => match self.world.files.git.resolved(name) {
                    target if target != name && !target.is_empty() => target.to_owned(),
                    _ => SOME.to_string(),
                },
            };
            self.write_from_git(&format!("{text}\n"));
        }
    }

    /// `git remote`: remotes with their settings.
    pub(super) fn run_git_remote(&mut self, arguments: &[String], settings: &Settings) {
        let operands: Vec<&str> = arguments.iter().filter(|word| !word.starts_with('-')).map(String::as_str).collect();
        match operands.as_slice() {
            ["add", .., remote, url] => {
                let config = &mut self.world.git_config;
                config.push((format!("remote.{}.url", remote.to_lowercase()), (*url).to_owned()));
                // `--mirror=push` is a setting of the remote.
                if arguments.iter().any(|word| word.starts_with("--mirror") && !word.ends_with("fetch")) {
                    config.push((format!("remote.{}.mirror", remote.to_lowercase()), "true".to_owned()));
                }
            }
            ["set-url", remote, url, ..] => {
                self.world.git_config.push((format!("remote.{}.url", remote.to_lowercase()), (*url).to_owned()));
            }
            ["get-url", remote, ..] => {
                let key = format!("remote.{}.url", remote.to_lowercase());
                let url = settings.iter().rev().find(|(known, _)| *known == key).map(|(_, url)| url.clone());
                // Most of them end like that, and no branch of such a repository is ours.
                self.write(&format!("{}\n", url.unwrap_or_else(|| format!("{SOME}.git"))));
            }
            _ => self.write(&UNKNOWN.to_string()),
        }
    }

    /// `git worktree list`: the repository itself comes first.
    pub(super) fn run_git_worktree(&mut self, arguments: &[String]) {
        if arguments.first().is_none_or(|verb| verb != "list") {
            return;
        }
        let text = if arguments.iter().any(|word| word == "--porcelain") {
            format!("worktree {REPO}\nHEAD {SOME}\nbranch refs/heads/{SOME}\n\n")
        } else {
            format!("{REPO}  {SOME} [{SOME}]\n")
        };
        self.write(&text);
    }

    /// `git diff --no-index a b`: a patch that makes one of the other. A tree that holds every new file has a patch of all of them.
    /// Every other diff is about tracked files.
    pub(super) fn run_git_diff(&mut self, arguments: &[String]) {
        let file = if arguments.iter().any(|word| word == "--no-index") {
            arguments.iter().rfind(|word| !word.starts_with('-')).cloned()
        } else {
            None
        };
        let text = match file {
            Some(file) => patch_of(&file),
            None if self.names_everything(arguments) => patch_of(&FRESH.to_string()),
            None => UNKNOWN.to_string(),
        };
        self.write(&text);
    }

    /// True if one of the words means a tree that holds every new file.
    pub(super) fn names_everything(&self, arguments: &[String]) -> bool {
        arguments.iter().any(|word| self.world.files.git.holds_everything(word))
    }
}

/// A patch that adds a file.
pub(super) fn patch_of(file: &str) -> String {
    format!("diff --git a/{file} b/{file}\nnew file mode 100644\n--- /dev/null\n+++ b/{file}\n{UNKNOWN}\n")
}

/// The lines of `git ls-files`.
fn listed_files(words: &ListWords<'_>) -> Vec<String> {
    if !words.operands.is_empty() || words.has('i', "--ignored") {
        return vec![SOME.to_string()];
    }
    let lists_new = words.has('o', "--others");
    let changed = [('m', "--modified"), ('u', "--unmerged"), ('k', "--killed"), ('d', "--deleted")];
    let lists_changed = changed.iter().any(|(letter, long)| words.has(*letter, long));
    let lists_stage = words.has('s', "--stage");
    let lists_tracked = words.has('c', "--cached") || lists_stage || !lists_new && !lists_changed;
    let line = |mark: char| match words.value("--format=") {
        Some(format) => format.replace("%(path)", &mark.to_string()).replace("%(objectname)", &SOME.to_string()),
        None if lists_stage && mark == TREE => format!("100644 {SOME} 0\t{mark}"),
        None if words.has('t', "") || words.has('v', "") => format!("? {mark}"),
        None => mark.to_string(),
    };
    let mut lines = Vec::new();
    lines.extend(lists_tracked.then(|| line(TREE)));
    lines.extend(lists_new.then(|| line(FRESH)));
    if lines.is_empty() {
        lines.push(SOME.to_string());
    }
    lines
}

/// The word behind an option.
fn value_behind(arguments: &[String], option: &str) -> Option<String> {
    let at = arguments.iter().position(|word| word == option)?;
    arguments.get(at + 1).cloned()
}
