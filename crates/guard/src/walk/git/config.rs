//! git's settings: where they come from, and the programs that they name.

use crate::marks::{HOME, UNKNOWN};
use crate::walk::ScriptWalk;
use crate::walk::git::hooks::MESSAGE_FILE;

/// Settings by their key and value. Keys are in lower case.
pub(super) type Settings = [(String, String)];

/// Settings whose value is run by a shell.
const RUN_SETTINGS: [&str; 13] = [
    "core.pager",
    "core.sshcommand",
    "core.fsmonitor",
    "diff.external",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "interactive.difffilter",
    "gc.recentobjectshook",
    "instaweb.httpd",
    "web.browser",
    "help.browser",
    "sendemail.smtpserver",
];

/// Settings for any name whose value is run by a shell: `diff.NAME.textconv`.
const RUN_ENDINGS: [&str; 18] = [
    "textconv",
    "clean",
    "smudge",
    "process",
    "driver",
    "cmd",
    "command",
    "program",
    "helper",
    "packobjectshook",
    "receivepack",
    "uploadpack",
    "sendmailcmd",
    "tocmd",
    "cccmd",
    "headercmd",
    "defaultkeycommand",
    "httpd",
];

/// Settings of editors, which are given a file.
const EDITOR_SETTINGS: [&str; 2] = ["core.editor", "sequence.editor"];

/// Variables whose value is run by a shell.
const RUN_VARIABLES: [&str; 9] = [
    "GIT_PAGER",
    "PAGER",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_PROXY_COMMAND",
    "BROWSER",
];

/// Variables of editors.
const EDITOR_VARIABLES: [&str; 4] = ["GIT_EDITOR", "VISUAL", "EDITOR", "GIT_SEQUENCE_EDITOR"];

/// The list of steps that `git rebase -i` lets an editor change.
const TODO_FILE: &str = ".git/rebase-merge/git-rebase-todo";

/// The most lines of one configuration file that are read.
const MOST_LINES: usize = 256;

/// The most files that include each other.
const MOST_FILES: usize = 16;

/// Options of `git config` that take another word.
const VALUED: [&str; 8] = ["-f", "--file", "--blob", "--type", "-t", "--default", "--comment", "--value"];

impl ScriptWalk<'_> {
    /// `GIT_CONFIG_COUNT` and its keys and values.
    pub(super) fn config_from_environment(&mut self) -> Vec<(String, String)> {
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

    /// Settings in files that the script has written, and in the files that these include.
    pub(super) fn config_from_files(&mut self, config: &Settings) -> Vec<(String, String)> {
        let mut found = Vec::new();
        if self.world.files.texts.is_empty() {
            return found;
        }
        self.budget.spend(2);
        let mut paths: Vec<String> =
            [".git/config", ".git/config.worktree", "/etc/gitconfig"].map(str::to_owned).into();
        paths.extend([".gitconfig", ".config/git/config"].map(|name| format!("{HOME}/{name}")));
        paths.push(format!("{}/.git/config", crate::marks::REPO));
        paths.push(format!("{}/.git/config", crate::marks::START));
        for name in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"] {
            paths.extend(self.scalar(name));
        }
        paths.extend(self.scalar("XDG_CONFIG_HOME").map(|path| format!("{path}/git/config")));
        paths.extend(self.scalar("GIT_DIR").map(|path| format!("{path}/config")));
        let is_included = |key: &str| key == "include.path" || key.starts_with("includeif.");
        let included = self.world.git_config.iter().chain(config).filter(|(key, _)| is_included(key));
        paths.extend(included.map(|(_, value)| value.clone()));
        let mut at = 0;
        while let Some(path) = paths.get(at).cloned() {
            at += 1;
            let path = path.strip_prefix("~/").map_or(path.clone(), |rest| format!("{HOME}/{rest}"));
            let Some(text) = self.known_file(&path) else { continue };
            let settings = settings_in(&text);
            self.budget.spend(settings.len() / 4);
            if paths.len() < MOST_FILES {
                let directory = path.rsplit_once('/').map_or(".", |(directory, _)| directory).to_owned();
                let more = settings.iter().filter(|(key, _)| is_included(key)).map(|(_, value)| match value {
                    value if value.starts_with(['/', '~', HOME]) => value.clone(),
                    value => format!("{directory}/{value}"),
                });
                paths.extend(more.take(4));
            }
            found.extend(settings);
        }
        found
    }

    /// Runs the scripts in settings and variables that git would run.
    pub(super) fn run_settings(&mut self, settings: &Settings) {
        for (key, value) in settings {
            let last = key.rsplit('.').next().unwrap_or("");
            let is_update = last == "update" && value.starts_with('!');
            let is_pager = key.starts_with("pager.") && !matches!(value.as_str(), "true" | "false");
            if RUN_SETTINGS.contains(&key.as_str()) || is_pager || is_update || RUN_ENDINGS.contains(&last) {
                self.run_aside(value.trim_start_matches('!'), &[]);
            } else if EDITOR_SETTINGS.contains(&key.as_str()) {
                self.run_git_editor(value);
            }
        }
        for name in RUN_VARIABLES {
            if let Some(value) = self.exported(name) {
                self.run_aside(&value, &[]);
            }
        }
        for name in EDITOR_VARIABLES {
            if let Some(value) = self.exported(name) {
                self.run_git_editor(&value);
            }
        }
    }

    fn exported(&mut self, name: &str) -> Option<String> {
        let is_exported = self.world.shell.variable(name).is_some_and(|variable| variable.exported);
        if is_exported { self.scalar(name) } else { None }
    }

    /// Runs an editor for the message of a commit, and for the steps of a rebase, which may be commands.
    fn run_git_editor(&mut self, editor: &str) {
        if matches!(editor, "true" | ":" | "cat" | "vi" | "vim" | "nano" | "") {
            return;
        }
        self.run_aside(editor, &[MESSAGE_FILE]);
        let before = self.known_file(TODO_FILE);
        self.run_aside(editor, &[TODO_FILE]);
        let Some(steps) = self.known_file(TODO_FILE).filter(|steps| before.as_ref() != Some(steps)) else { return };
        for step in steps.lines().take(MOST_LINES) {
            if let Some((_, script)) = step.split_once(' ').filter(|(verb, _)| matches!(*verb, "exec" | "x")) {
                self.run_aside(script, &[]);
            }
        }
    }

    /// Runs a script in a shell of its own with these arguments behind it, and drops its output.
    pub(super) fn run_aside(&mut self, script: &str, arguments: &[&str]) {
        let given: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        let script = if given.is_empty() { script.to_owned() } else { format!("{script} \"$@\"") };
        self.capturing(|walk| {
            walk.world.nested += 1;
            walk.new_shell("sh".to_owned(), given, |walk| {
                walk.run_derived(&script);
            });
            walk.world.nested -= 1;
        });
    }

    /// `git config`: notes a setting that is given, and prints one that is asked for.
    pub(super) fn run_git_config(&mut self, arguments: &[String], settings: &Settings) {
        let mut file = None;
        let mut operands: Vec<&str> = Vec::new();
        let mut asks = false;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            if VALUED.contains(&name) {
                let value = attached.or_else(|| words.next().cloned());
                if matches!(name, "-f" | "--file") {
                    file = value;
                }
            } else if word.starts_with('-') && operands.is_empty() {
                asks |= name.starts_with("--get") || matches!(name, "-l" | "--list" | "--unset" | "--unset-all");
            } else {
                operands.push(word);
            }
        }
        if let Some((verb, rest)) = operands.split_first().filter(|(verb, _)| !verb.contains('.')) {
            asks |= matches!(*verb, "get" | "list" | "unset");
            operands = rest.to_vec();
        }
        match operands.as_slice() {
            [key, value, ..] if !asks => self.set_config(key, value, file.as_deref()),
            [key, ..] => self.print_config(key, settings, file.as_deref()),
            [] => {
                let known: Vec<String> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
                let unknown = self.unknown_made_of(&known.join("\n"));
                self.write(&unknown);
            }
        }
    }

    fn set_config(&mut self, key: &str, value: &str, file: Option<&str>) {
        let setting = (key.to_lowercase(), value.to_owned());
        if let Some(file) = file {
            // Sections may be repeated.
            let (section, name) = key.rsplit_once('.').unwrap_or((key, ""));
            let section = section.split_once('.').map_or(section.to_owned(), |(top, sub)| format!("{top} \"{sub}\""));
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
            let is_own = matches!(file, ".git/config") || file.ends_with("/.git/config");
            self.write_file(file, &format!("[{section}]\n\t{name} = \"{quoted}\"\n"), true);
            if !is_own {
                return;
            }
        }
        self.world.git_config.retain(|known| *known != setting);
        self.world.git_config.push(setting);
    }

    fn print_config(&mut self, key: &str, settings: &Settings, file: Option<&str>) {
        let key = key.to_lowercase();
        let in_file = file.and_then(|file| self.known_file(file)).map(|text| settings_in(&text)).unwrap_or_default();
        let value = in_file.iter().chain(settings.iter()).rev().find(|(known, _)| *known == key);
        let text = value.map_or_else(|| UNKNOWN.to_string(), |(_, value)| value.clone());
        self.write(&format!("{text}\n"));
    }
}

/// The settings in the text of a configuration file.
pub(super) fn settings_in(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut section = String::new();
    // A backslash at its end joins a line with the next one.
    let text = text.replace("\\\n", "");
    for line in text.lines().map(str::trim).take(MOST_LINES) {
        let mut line = line;
        if let Some((name, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            section = name.to_lowercase().replace(" \"", ".").replace('"', "");
            line = rest.trim();
        }
        if let Some((key, value)) = line.split_once('=') {
            found.push((format!("{section}.{}", key.trim().to_lowercase()), config_value(value.trim())));
        } else if !line.is_empty() && !line.starts_with(['#', ';']) {
            found.push((format!("{section}.{}", line.to_lowercase()), "true".to_owned()));
        }
    }
    found
}

/// A value as it is written in a configuration file: quotes are taken away, and a backslash keeps the next letter.
fn config_value(text: &str) -> String {
    let mut value = String::new();
    let mut is_quoted = false;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' => value.extend(letters.next().map(|next| match next {
                'n' => '\n',
                't' => '\t',
                other => other,
            })),
            '#' | ';' if !is_quoted => break,
            other => value.push(other),
        }
    }
    value.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = "[alias] up = push \\\n -f\n[remote \"pub\"]\n\tmirror\n\tpush = \"+a:b\" # why\n";
        let found = settings_in(text);
        assert_eq!(found.first(), Some(&("alias.up".to_owned(), "push  -f".to_owned())));
        assert!(found.contains(&("remote.pub.mirror".to_owned(), "true".to_owned())));
        assert!(found.contains(&("remote.pub.push".to_owned(), "+a:b".to_owned())));
    }
}
