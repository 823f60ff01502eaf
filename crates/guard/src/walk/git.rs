//! `git`: options before the subcommand, aliases, and subcommands that run commands.

use crate::rules;
use crate::walk::ScriptWalk;

/// Options before the subcommand that take another word.
const VALUED: [&str; 8] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"];

/// Settings whose value is run by a shell.
const RUN_SETTINGS: [&str; 7] = [
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "sequence.editor",
    "core.fsmonitor",
    "diff.external",
    "core.askpass",
];

/// Settings for any name whose value is run by a shell: `diff.NAME.textconv`.
const RUN_ENDINGS: [&str; 8] = ["textconv", "clean", "smudge", "driver", "cmd", "program", "helper", "packobjectshook"];

/// Options of subcommands whose value is run by a shell.
const RUN_OPTIONS: [&str; 8] = [
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--open-files-in-pager",
    "--to-cmd",
    "--cc-cmd",
    "--access-hook",
    "--extcmd",
];

/// Subcommands with options of their own whose value is run by a shell.
const OPTION_SCRIPTS: [(&str, &[&str]); 4] = [
    ("rebase", &["-x", "--exec"]),
    (
        "filter-branch",
        &["--tree-filter", "--index-filter", "--env-filter", "--msg-filter", "--commit-filter", "--parent-filter"],
    ),
    ("difftool", &["-x", "--extcmd"]),
    ("clone", &["-u"]),
];

/// Hooks that a subcommand runs.
const HOOKS: [(&str, &[&str]); 6] = [
    ("commit", &["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"]),
    ("push", &["pre-push"]),
    ("checkout", &["post-checkout"]),
    ("switch", &["post-checkout"]),
    ("merge", &["pre-merge-commit", "post-merge"]),
    ("rebase", &["pre-rebase", "post-rewrite"]),
];

/// Variables whose value is run by a shell.
const RUN_VARIABLES: [&str; 9] = [
    "VISUAL",
    "GIT_PAGER",
    "GIT_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "EDITOR",
    "PAGER",
];

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

/// The longest chain of aliases that is followed. git itself refuses loops.
const MOST_ALIASES: usize = 8;

impl ScriptWalk<'_> {
    pub(crate) fn run_git(&mut self, arguments: &[String]) {
        self.budget.spend(self.world.git_config.len() / 4);
        let before = self.world.shell.clone();
        let mut config = Vec::new();
        let mut rest = arguments;
        while let Some((word, after)) = rest.split_first() {
            if !word.starts_with('-') || self.budget.is_exhausted() {
                break;
            }
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            rest = after;
            if !VALUED.contains(&name) {
                continue;
            }
            let value = attached.unwrap_or_else(|| {
                rest = after.get(1..).unwrap_or(&[]);
                after.first().cloned().unwrap_or_default()
            });
            match name {
                "-C" => {
                    let path = self.absolute(&value);
                    // Each directory lies below the one before it, so that many of them make long paths.
                    self.budget.spend(1 + path.len() / 64);
                    self.world.shell.set_directory(path);
                }
                "-c" => config.extend(value.split_once('=').map(|(key, value)| (key.to_lowercase(), value.to_owned()))),
                "--config-env" => {
                    if let Some((key, variable)) = value.split_once('=') {
                        let value = self.scalar(variable).unwrap_or_default();
                        config.push((key.to_lowercase(), value));
                    }
                }
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

    /// `GIT_CONFIG_COUNT` and its keys and values.
    fn config_from_environment(&mut self) -> Vec<(String, String)> {
        let count = self.scalar("GIT_CONFIG_COUNT").and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
        let mut found = Vec::new();
        for at in 0..count.min(16) {
            let key = self.scalar(&format!("GIT_CONFIG_KEY_{at}"));
            let value = self.scalar(&format!("GIT_CONFIG_VALUE_{at}"));
            found.extend(key.zip(value).map(|(key, value)| (key.to_lowercase(), value)));
        }
        // `'key=value' 'key=value'`, as git hands settings to its own commands.
        let given = self.scalar("GIT_CONFIG_PARAMETERS").unwrap_or_default();
        for setting in given.split("' '").map(|setting| setting.trim_matches(['\'', ' '])).take(16) {
            let setting = setting.replacen("'='", "=", 1);
            found.extend(setting.split_once('=').map(|(key, value)| (key.to_lowercase(), value.to_owned())));
        }
        found
    }

    /// Settings in files that the script has written.
    fn config_from_files(&mut self, config: &[(String, String)]) -> Vec<(String, String)> {
        let mut found = Vec::new();
        if self.world.files.texts.is_empty() {
            return found;
        }
        let home = crate::marks::HOME;
        let mut paths =
            vec![".git/config".to_owned(), format!("{home}/.gitconfig"), format!("{home}/.config/git/config")];
        paths.extend(self.scalar("GIT_CONFIG_GLOBAL"));
        let included = self.world.git_config.iter().chain(config).filter(|(key, _)| key == "include.path");
        paths.extend(included.map(|(_, value)| value.clone()));
        for path in paths {
            let Some(text) = self.known_file(&path) else { continue };
            let mut section = String::new();
            for line in text.lines().map(str::trim).take(256) {
                if let Some(name) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
                    section = name.to_lowercase().replace(" \"", ".").replace('"', "");
                } else if let Some((key, value)) = line.split_once('=') {
                    let value = value.trim().trim_matches('"').to_owned();
                    found.push((format!("{section}.{}", key.trim().to_lowercase()), value));
                }
            }
        }
        found
    }

    /// Runs the hooks that the script has written.
    fn run_hooks(&mut self, subcommand: &str, settings: &[(String, String)]) {
        let Some((_, hooks)) = HOOKS.iter().find(|(name, _)| *name == subcommand) else { return };
        let elsewhere = settings.iter().rev().find(|(key, _)| key == "core.hookspath").map(|(_, path)| path.as_str());
        for hook in *hooks {
            let path = format!("{}/{hook}", elsewhere.unwrap_or(".git/hooks"));
            if let Some(text) = self.known_file(&path) {
                self.run_file(&text, vec![path]);
            }
        }
    }

    /// Runs the scripts in settings and variables that git would run.
    fn run_settings(&mut self, settings: &[(String, String)]) {
        for (key, value) in settings {
            let last = key.rsplit('.').next().unwrap_or("");
            if RUN_SETTINGS.contains(&key.as_str()) || key.starts_with("pager.") || RUN_ENDINGS.contains(&last) {
                self.run_aside(value.trim_start_matches('!'));
            }
        }
        for name in RUN_VARIABLES {
            if self.world.shell.variable(name).is_some_and(|variable| variable.exported)
                && let Some(value) = self.scalar(name)
            {
                self.run_aside(&value);
            }
        }
    }

    /// Runs a script in a shell of its own, and drops its output.
    fn run_aside(&mut self, script: &str) {
        self.capturing(|walk| {
            walk.world.nested += 1;
            walk.new_shell("sh".to_owned(), Vec::new(), |walk| {
                walk.run_derived(script);
            });
            walk.world.nested -= 1;
        });
    }

    fn run_git_subcommand(&mut self, words: &[String], settings: &[(String, String)], depth: usize) {
        let Some((name, arguments)) = words.split_first() else { return };
        // An alias cannot replace a command that git has, but there is no list of those here that could go out of date.
        let alias = settings.iter().rev().find(|(key, _)| key.strip_prefix("alias.") == Some(&name.to_lowercase()));
        if let Some((_, text)) = alias
            && depth < MOST_ALIASES
            && !matches!(name.as_str(), "add" | "push" | "commit" | "status" | "config")
        {
            return self.run_git_alias(text, arguments, settings, depth);
        }
        rules::judge_git(self, name, arguments, settings);
        self.note_repository(name, arguments);
        if !self.world.files.texts.is_empty() {
            self.run_hooks(name, settings);
        }
        if name != "rebase" && arguments.iter().any(|word| word.starts_with("--")) {
            self.option_scripts(arguments, &RUN_OPTIONS);
        }
        match OPTION_SCRIPTS.iter().find(|(subcommand, _)| subcommand == name) {
            Some((_, options)) => self.option_scripts(arguments, options),
            None => self.run_subcommand(name, arguments),
        }
    }

    /// Runs an alias of git's: a script behind `!`, otherwise another subcommand.
    fn run_git_alias(&mut self, text: &str, arguments: &[String], settings: &[(String, String)], depth: usize) {
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
    fn run_subcommand(&mut self, name: &str, arguments: &[String]) {
        match name {
            "config" => self.note_config(arguments),
            "submodule" => {
                if let Some(at) = arguments.iter().position(|word| word == "foreach") {
                    let command = arguments.get(at + 1..).unwrap_or(&[]);
                    let command = crate::walk::builtins::after_options(command, "");
                    self.run_aside(&command.join(" "));
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
            "remote" => {
                // `--mirror=push` is a setting of the remote.
                let operands: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
                if arguments.iter().any(|word| word.starts_with("--mirror"))
                    && let [_, remote, ..] = operands.as_slice()
                {
                    self.world.git_config.push((format!("remote.{remote}.mirror"), "true".to_owned()));
                }
                self.write(&crate::marks::UNKNOWN.to_string());
            }
            "ls-files" | "status" | "clean" | "ls-tree" | "for-each-ref" | "branch" => self.list_git(name, arguments),
            _ => self.write(&crate::marks::UNKNOWN.to_string()),
        }
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
                let own = crate::walk::files::base_name(source).trim_end_matches(".git");
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

    /// The output of subcommands that list files or refs. A listing of everything that is not ignored is everything.
    fn list_git(&mut self, name: &str, arguments: &[String]) {
        use crate::marks::{FRESH, SOME, STAR, TREE, UNKNOWN};
        // The directory itself narrows nothing down.
        let has_operand =
            arguments.iter().any(|word| !word.starts_with('-') && !matches!(word.as_str(), "." | "./" | ":/"));
        let has = |letter: char, long: &str| {
            let is_short = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
            arguments.iter().any(|word| is_short(word) || !long.is_empty() && word.starts_with(long))
        };
        let line_end = if has('z', "--null") { '\0' } else { '\n' };
        let format = arguments.iter().find_map(|word| word.strip_prefix("--format="));
        let line = match name {
            "ls-files" if has_operand => SOME.to_string(),
            "ls-files" if has('o', "--others") => FRESH.to_string(),
            "ls-files" if arguments.iter().all(|word| matches!(word.as_str(), "-z" | "-c" | "--cached")) => {
                TREE.to_string()
            }
            "ls-files" => SOME.to_string(),
            "status" if !has_operand && (has('s', "--short") || has('\0', "--porcelain")) => format!("?? {FRESH}"),
            "clean" if !has_operand && has('n', "--dry-run") => format!("Would remove {FRESH}"),
            "ls-tree" if has('\0', "--name-only") => STAR.to_string(),
            "for-each-ref" | "branch" => match format {
                Some(format) => format
                    .split("%(")
                    .map(|part| part.split_once(')').map_or(part.to_owned(), |(_, rest)| format!("{SOME}{rest}")))
                    .collect(),
                None => UNKNOWN.to_string(),
            },
            _ => UNKNOWN.to_string(),
        };
        self.write(&format!("{line}{line_end}"));
    }

    /// `git config key value`, in any of its forms.
    fn note_config(&mut self, arguments: &[String]) {
        let position = arguments.iter().position(|word| word.contains('.') && !word.starts_with('-'));
        if let Some(at) = position
            && let (Some(key), Some(value)) = (arguments.get(at), arguments.get(at + 1))
        {
            let setting = (key.to_lowercase(), value.clone());
            self.world.git_config.retain(|known| *known != setting);
            self.world.git_config.push(setting);
        }
    }

    fn option_scripts(&mut self, arguments: &[String], options: &[&str]) {
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let script = match word.split_once('=') {
                Some((name, script)) if options.contains(&name) => Some(script.to_owned()),
                _ if options.contains(&word.as_str()) => words.next().cloned(),
                _ => word.strip_prefix("-x").filter(|_| options.contains(&"-x")).map(str::to_owned),
            };
            if let Some(script) = script {
                self.run_aside(&script);
            }
        }
    }

    fn rev_parse(&mut self, arguments: &[String]) {
        use crate::marks::REPO;
        for word in arguments {
            let text = match word.as_str() {
                "--show-toplevel" | "--show-superproject-working-tree" => REPO.to_string(),
                "--git-dir" | "--git-common-dir" => ".git".to_owned(),
                "--absolute-git-dir" => format!("{REPO}/.git"),
                "--git-path" => ".git/".to_owned(),
                "--show-cdup" => String::new(),
                flag if flag.starts_with("--path-format") => continue,
                _ => crate::marks::SOME.to_string(),
            };
            self.write(&format!("{text}\n"));
        }
    }
}

/// The words of an alias.
fn alias_words(text: &str) -> Vec<String> {
    text.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned()).collect()
}
