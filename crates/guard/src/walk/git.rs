//! `git`: options before the subcommand, aliases, and subcommands that run commands.

mod config;
mod hooks;
mod lists;
mod memory;
mod notes;
mod prints;

pub(crate) use memory::{GitMemory, GoneFiles};

use crate::marks::UNKNOWN;
use crate::rules;
use crate::walk::ScriptWalk;
use crate::walk::state::ShellValue;
use config::Settings;

/// Options before the subcommand that take another word.
const VALUED: [&str; 8] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"];

/// Options before the subcommand that stand for a variable.
const PLACES: [(&str, &str); 3] =
    [("--git-dir", "GIT_DIR"), ("--work-tree", "GIT_WORK_TREE"), ("--exec-path", "GIT_EXEC_PATH")];

/// Options of subcommands whose value is run by a shell.
const RUN_OPTIONS: [&str; 11] = [
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--open-files-in-pager",
    "--to-cmd",
    "--cc-cmd",
    "--access-hook",
    "--extcmd",
    "--sendmail-cmd",
    "--header-cmd",
    "--httpd",
];

/// Subcommands with options of their own whose value is run by a shell.
const OPTION_SCRIPTS: [(&str, &[&str]); 5] = [
    ("grep", &["-O", "--open-files-in-pager"]),
    ("rebase", &["-x", "--exec"]),
    (
        "filter-branch",
        &[
            "--tree-filter",
            "--index-filter",
            "--env-filter",
            "--msg-filter",
            "--commit-filter",
            "--parent-filter",
            "--tag-name-filter",
            "--setup",
        ],
    ),
    ("difftool", &["-x", "--extcmd"]),
    ("clone", &["-u"]),
];

/// Subcommands that talk to another repository, whose address may name a program.
const TALKS: [&str; 9] =
    ["fetch", "pull", "push", "ls-remote", "clone", "archive", "fetch-pack", "send-pack", "remote"];

/// The longest chain of aliases that is followed. git itself refuses loops.
const MOST_ALIASES: usize = 8;

impl ScriptWalk<'_> {
    pub(crate) fn run_git(&mut self, arguments: &[String]) {
        self.budget.spend(self.world.git_config.len() / 4);
        let before = self.world.shell.clone();
        let mut config = Vec::new();
        let mut rest = arguments;
        while let Some((word, after)) = rest.split_first() {
            if !word.starts_with('-') {
                break;
            }
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            rest = after;
            if !VALUED.contains(&name) && (name != "--exec-path" || attached.is_none()) {
                continue;
            }
            let value = attached.unwrap_or_else(|| {
                rest = after.get(1..).unwrap_or(&[]);
                after.first().cloned().unwrap_or_default()
            });
            match name {
                "-C" => {
                    let path = self.absolute(&value);
                    self.world.shell.set_directory(path);
                }
                "-c" => config.extend(value.split_once('=').map(|(key, value)| (key.to_lowercase(), value.to_owned()))),
                "--config-env" => {
                    if let Some((key, variable)) = value.split_once('=') {
                        let value = self.scalar(variable).unwrap_or_default();
                        config.push((key.to_lowercase(), value));
                    }
                }
                "--git-dir" | "--work-tree" | "--exec-path" => self.set_place(name, &value),
                _ => {}
            }
        }
        config.extend(self.config_from_environment());
        config.extend(self.config_from_files(&config));
        let settings: Vec<(String, String)> = self.world.git_config.iter().cloned().chain(config).collect();
        self.run_settings(&settings);
        self.run_git_subcommand(rest, &settings, 0);
        self.world.shell = before;
    }

    /// Notes a directory that an option gives, as the variable does that git would read otherwise.
    fn set_place(&mut self, option: &str, path: &str) {
        if let Some((_, variable)) = PLACES.iter().find(|(name, _)| *name == option) {
            let path = self.absolute(path);
            self.assign(variable, ShellValue::Scalar(path), None);
            self.world.shell.variable_mut(variable).exported = true;
        }
    }

    fn run_git_subcommand(&mut self, words: &[String], settings: &Settings, depth: usize) {
        let Some((name, arguments)) = words.split_first() else { return };
        // An alias cannot replace a command that git has, but there is no list of those here that could go out of date.
        let alias = settings.iter().rev().find(|(key, _)| key.strip_prefix("alias.") == Some(&name.to_lowercase()));
        if let Some((_, text)) = alias
            && depth < MOST_ALIASES
            && !matches!(name.as_str(), "add" | "push" | "commit" | "status" | "config")
        {
            return self.run_git_alias(text, arguments, settings, depth);
        }
        // `git snapshot` runs `git-snapshot`, if there is one.
        self.run_git_program(&format!("git-{name}"), arguments);
        if TALKS.contains(&name.as_str()) {
            self.run_transports(arguments, settings);
        }
        rules::judge_git(self, name, arguments, settings);
        self.note_git(name, arguments);
        if !self.world.files.texts.is_empty() {
            self.run_hooks(name, arguments, settings);
        }
        if name != "rebase" && arguments.iter().any(|word| word.starts_with("--")) {
            self.option_scripts(arguments, &RUN_OPTIONS);
        }
        match OPTION_SCRIPTS.iter().find(|(subcommand, _)| subcommand == name) {
            Some((_, options)) => self.option_scripts(arguments, options),
            None => self.run_subcommand(name, arguments, settings),
        }
    }

    /// Runs a program of git's own kind that the script has written: `git-snapshot`.
    fn run_git_program(&mut self, name: &str, arguments: &[String]) {
        if self.world.files.texts.is_empty() {
            return;
        }
        let elsewhere = self.scalar("GIT_EXEC_PATH").filter(|path| !path.is_empty());
        let text = elsewhere.and_then(|path| self.known_file(&format!("{path}/{name}"))).map(|text| text.to_string());
        if let Some(text) = text.or_else(|| self.script_on_path(name)) {
            let words = std::iter::once(name.to_owned()).chain(arguments.iter().cloned());
            self.run_file(&text, words.collect());
        }
    }

    /// Runs the programs that addresses of repositories name: `ext::command`, and `git-remote-NAME` for `NAME::address`.
    fn run_transports(&mut self, arguments: &[String], settings: &Settings) {
        let is_address =
            |key: &str| matches!(key.rsplit('.').next(), Some("url" | "pushurl")) || key.starts_with("url.");
        let set = settings.iter().filter(|(key, _)| is_address(key)).flat_map(|(key, value)| {
            // The address stands in the key of `url.ADDRESS.insteadOf`.
            let inside = key.strip_prefix("url.").and_then(|key| key.rsplit_once('.')).map(|(address, _)| address);
            [Some(value.as_str()), inside].into_iter().flatten()
        });
        let addresses: Vec<String> = arguments
            .iter()
            .map(String::as_str)
            .chain(set)
            .filter(|word| word.contains("::"))
            .map(str::to_owned)
            .collect();
        for address in addresses {
            let Some((helper, rest)) = address.split_once("::") else { continue };
            if helper == "ext" {
                let words = transport_words(rest);
                self.capturing(|walk| {
                    walk.call(words);
                });
            } else if helper.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
                self.run_git_program(&format!("git-remote-{helper}"), &[UNKNOWN.to_string(), rest.to_owned()]);
            }
        }
    }

    /// Runs an alias of git's: a script behind `!`, otherwise another subcommand.
    fn run_git_alias(&mut self, text: &str, arguments: &[String], settings: &Settings, depth: usize) {
        if let Some(script) = text.strip_prefix('!') {
            // The arguments are appended to the script as words.
            let script = if arguments.is_empty() { script.to_owned() } else { format!("{script} \"$@\"") };
            self.world.nested += 1;
            // git hands settings of its command line on to the commands that it starts.
            let config = std::mem::replace(&mut self.world.git_config, settings.to_vec());
            self.new_shell("sh".to_owned(), arguments.to_vec(), |walk| {
                walk.run_derived(&script);
            });
            self.world.git_config = config;
            self.world.nested -= 1;
            return;
        }
        let mut expanded = alias_words(text);
        expanded.extend_from_slice(arguments);
        self.trail.unwrapped.push(format!("git {}", expanded.join(" ")));
        if !expanded.first().is_some_and(|word| word.starts_with('-')) {
            self.run_git_subcommand(&expanded, settings, depth + 1);
        } else if self.budget.enter() {
            self.run_git(&expanded);
            self.budget.leave();
        }
        self.trail.unwrapped.pop();
    }

    /// Subcommands that run commands, change settings, or write something that is known.
    fn run_subcommand(&mut self, name: &str, arguments: &[String], settings: &Settings) {
        match name {
            "config" => self.run_git_config(arguments, settings),
            "hook" => self.run_named_hook(arguments, settings),
            "worktree" => self.run_git_worktree(arguments),
            "diff" => self.run_git_diff(arguments),
            "submodule" => {
                if let Some(at) = arguments.iter().position(|word| word == "foreach") {
                    let command = arguments.get(at + 1..).unwrap_or(&[]);
                    let command = crate::walk::builtins::after_options(command, "");
                    self.run_aside(&command.join(" "), &[]);
                }
            }
            "bisect" if arguments.first().is_some_and(|word| word == "run") => {
                self.call(arguments.get(1..).unwrap_or(&[]).to_vec());
            }
            "for-each-repo" => {
                let mut words: Vec<String> = vec!["git".to_owned()];
                words.extend(arguments.iter().filter(|word| !word.starts_with("--config")).cloned());
                self.call(words);
            }
            "rev-parse" => self.rev_parse(arguments),
            "remote" => self.run_git_remote(arguments, settings),
            "branch" | "tag" if notes::makes_ref(name, arguments) => {}
            "ls-files" | "status" | "clean" | "ls-tree" | "for-each-ref" | "branch" | "tag" | "add" | "stage" => {
                self.list_git(name, arguments);
            }
            _ if self.print_git(name, arguments) => {}
            _ => {
                let text = self.unknown_from_git(arguments);
                self.write(&text);
            }
        }
    }

    fn option_scripts(&mut self, arguments: &[String], options: &[&str]) {
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let script = match word.split_once('=') {
                Some((name, script)) if options.contains(&name) => Some(script.to_owned()),
                _ if options.contains(&word.as_str()) => words.next().cloned(),
                _ => ["-x", "-O"]
                    .iter()
                    .filter(|option| options.contains(option))
                    .find_map(|option| word.strip_prefix(option).map(str::to_owned)),
            };
            if let Some(script) = script {
                self.run_aside(&script, &[]);
            }
        }
    }
}

/// The words of an alias.
fn alias_words(text: &str) -> Vec<String> {
    text.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned()).collect()
}

/// The words of a command behind `ext::`: `% ` is a blank inside of a word.
fn transport_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, words.last_mut()) {
            (' ', _) => words.push(String::new()),
            ('%', Some(word)) => match letters.next() {
                Some('s' | 'S') => word.push_str("upload-pack"),
                Some('G' | 'V') | None => {}
                Some(other) => word.push(other),
            },
            (_, Some(word)) => word.push(letter),
            (_, None) => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
