//! Programs that run another program: one way to read the table of them, and the few that have a way of their own.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::marks::HOME;
use crate::walk::ScriptWalk;
use crate::walk::state::{ShellValue, ShellVariable};
use crate::walk::wrapper_table::{ANY_OPERANDS, WRAPPERS, Wrapper};

/// Options that take two words each.
const BUBBLEWRAP_PAIRS: [&str; 9] = [
    "--bind",
    "--ro-bind",
    "--dev-bind",
    "--bind-try",
    "--ro-bind-try",
    "--dev-bind-try",
    "--symlink",
    "--setenv",
    "--file",
];
/// Options that take one word each.
const BUBBLEWRAP_SINGLES: [&str; 13] = [
    "--dev",
    "--proc",
    "--tmpfs",
    "--dir",
    "--chdir",
    "--unsetenv",
    "--uid",
    "--gid",
    "--hostname",
    "--lock-file",
    "--perms",
    "--args",
    "--remount-ro",
];

/// The command of a wrapper while the wrapper's own words are taken off.
struct WrappedCommand<'w> {
    /// The words that have not been taken off.
    rest: &'w [String],
    /// Options may still come.
    options: bool,
    /// Words that are neither options nor the command, and are still to come.
    operands: usize,
    /// An option may also stand behind an operand: `flock file -c …`.
    options_anywhere: bool,
    /// Scripts that options carry.
    scripts: Vec<String>,
    /// Variables that the wrapper's assignments hide.
    hidden: Vec<(String, Option<Rc<ShellVariable>>)>,
}

impl<'w> WrappedCommand<'w> {
    fn new(wrapper: Wrapper, arguments: &'w [String]) -> Self {
        // Without a user by option, `runuser` is `su`.
        let is_su = wrapper.names == ["runuser"]
            && !arguments.iter().any(|word| word.starts_with("-u") || word.starts_with("--user"));
        Self {
            rest: arguments,
            options: true,
            operands: if is_su { ANY_OPERANDS } else { wrapper.operands },
            options_anywhere: !wrapper.script.is_empty(),
            scripts: Vec::new(),
            hidden: Vec::new(),
        }
    }

    /// Takes off an operand; false if the next word is the command.
    fn take_operand(&mut self) -> bool {
        let Some(left) = self.operands.checked_sub(1) else { return false };
        self.operands = left;
        self.rest = self.rest.get(1..).unwrap_or(&[]);
        self.options &= self.options_anywhere;
        true
    }
}

impl ScriptWalk<'_> {
    /// Runs the command of a wrapper. False if no wrapper has this name.
    pub(crate) fn run_wrapper(&mut self, name: &str, words: &[String]) -> bool {
        let arguments = words.get(1..).unwrap_or(&[]);
        match name {
            "env" | "genv" => {
                self.run_env(arguments);
                return true;
            }
            "screen" if self.run_screen_keys(arguments) => return true,
            // They run a command here to get there.
            "ssh" | "scp" | "sftp" | "autossh" => self.run_proxy_commands(arguments),
            "socat" => {
                self.run_socat(arguments);
                return true;
            }
            // Every word is a script.
            "concurrently" => {
                for script in arguments.iter().filter(|word| !word.starts_with('-')) {
                    self.run_text(script, Vec::new(), false);
                }
                return true;
            }
            "bwrap" => {
                self.call(after_bubblewrap(arguments).to_vec());
                return true;
            }
            // The words behind `--` are for the shell that it starts.
            "capsh" => {
                if let Some(at) = arguments.iter().position(|word| word == "--" || word == "==") {
                    let mut shell = vec!["bash".to_owned()];
                    shell.extend_from_slice(arguments.get(at + 1..).unwrap_or(&[]));
                    self.call(shell);
                }
                return true;
            }
            // It runs nothing, and its files are known.
            "split" if !arguments.iter().any(|word| word.starts_with("--filter")) => return false,
            _ => {}
        }
        let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name)) else { return false };
        let arguments = match wrapper.subcommand {
            Some(wanted) => match arguments.iter().position(|word| !word.starts_with('-')) {
                Some(at) if arguments.get(at).is_some_and(|word| wanted.contains(&word.as_str())) => {
                    arguments.get(at + 1..).unwrap_or(&[])
                }
                _ => return false,
            },
            None => arguments,
        };
        self.unwrap(*wrapper, arguments);
        true
    }

    /// `ssh -o ProxyCommand=script`
    fn run_proxy_commands(&mut self, arguments: &[String]) {
        for word in arguments {
            let setting = word.strip_prefix("-o").unwrap_or(word).trim_start();
            let Some((name, script)) = setting.split_once(['=', ' ']) else { continue };
            if matches!(name.to_lowercase().as_str(), "proxycommand" | "localcommand" | "knownhostscommand") {
                self.run_text(script, Vec::new(), false);
            }
        }
    }

    /// `socat EXEC:command address`
    fn run_socat(&mut self, arguments: &[String]) {
        for word in arguments {
            let Some((kind, script)) = word.split_once(':') else { continue };
            if matches!(kind.to_lowercase().as_str(), "exec" | "system" | "shell") {
                self.run_text(script.trim_matches(['"', '\'']), Vec::new(), false);
            }
        }
    }

    fn unwrap(&mut self, wrapper: Wrapper, arguments: &[String]) {
        let directory = self.directory();
        // `direnv exec`, `nix develop` and many others set variables.
        let mut outside = self.world.shell.outside.clone();
        self.world.shell.outside.open();
        let mut command = WrappedCommand::new(wrapper, arguments);
        while let Some((word, after)) = command.rest.split_first() {
            let is_assignment =
                |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if command.options && word == "--" {
                command.rest = after;
                // `su user -- -c …` and `script -- …`: the rest is for the shell. Without such options, it is the command.
                let has_script =
                    (!wrapper.script.is_empty() || !wrapper.script_long.is_empty()) && wrapper.subcommand.is_none();
                command.options = wrapper.operands >= ANY_OPERANDS && has_script;
                if wrapper.operands >= ANY_OPERANDS && !has_script {
                    command.operands = 0;
                }
            } else if command.options && word.len() > 1 && word.starts_with('-') {
                if let Some(path) = directory_option(wrapper, word, after) {
                    let path = self.absolute(&path);
                    self.world.shell.set_directory(path);
                }
                let (script, taken) = option(wrapper, word, after);
                command.scripts.extend(script);
                command.rest = after.get(taken..).unwrap_or(&[]);
            } else if word == "-" && command.options {
                command.rest = after;
            } else if wrapper.assigns
                && let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_assignment(name))
            {
                command.hidden.push(self.export_for_now(name, value));
                command.rest = after;
            } else if !command.take_operand() {
                break;
            }
        }
        self.run_wrapped(wrapper, &command);
        std::mem::swap(&mut self.world.shell.outside, &mut outside);
        if !wrapper.directory.is_empty() {
            self.world.shell.set_directory(directory);
        }
        for (name, variable) in command.hidden.into_iter().rev() {
            self.world.shell.restore(&name, variable);
        }
    }

    /// Runs the scripts that options of a wrapper carry, or else its command.
    fn run_wrapped(&mut self, wrapper: Wrapper, command: &WrappedCommand<'_>) {
        let rest = command.rest.strip_prefix(&["--".to_owned()]).unwrap_or(command.rest);
        for script in &command.scripts {
            // Editors and archivers want a sign before a command for the shell.
            let script = script.trim_start_matches([':', '!']);
            let script = script.strip_prefix("exec=").unwrap_or(script);
            self.run_text(script, Vec::new(), wrapper.remote);
        }
        if !command.scripts.is_empty() {
            return;
        }
        if rest.is_empty() {
            if wrapper.remote || matches!(wrapper.names, ["su" | "sudo", ..]) {
                // A login shell without a command reads one.
                let input = std::mem::replace(&mut self.world.shell.input, "".into());
                self.run_text(&input, Vec::new(), wrapper.remote);
            }
        } else if wrapper.joined {
            self.run_text(&rest.join(" "), Vec::new(), wrapper.remote);
        } else {
            // `uv run x.py`: the environments of Python run their own files.
            let extension = |file: &String| std::path::Path::new(file).extension().is_some_and(|kind| kind == "py");
            let is_python = rest.first().is_some_and(extension) && wrapper.names.contains(&"uv");
            let interpreter = is_python.then(|| "python3".to_owned());
            self.call(interpreter.into_iter().chain(rest.iter().cloned()).collect());
        }
    }

    /// Exports a variable for one command, and returns its value before.
    fn export_for_now(&mut self, name: &str, value: &str) -> (String, Option<Rc<ShellVariable>>) {
        let before = self.world.remember(name);
        self.assign(name, ShellValue::Scalar(value.to_owned()), None);
        self.world.shell.variable_mut(name).exported = true;
        before
    }

    /// Runs a script in a new shell, perhaps on another machine.
    fn run_text(&mut self, script: &str, arguments: Vec<String>, remote: bool) {
        self.world.nested += 1;
        self.new_shell("bash".to_owned(), arguments, |walk| {
            walk.world.shell.outside.alter();
            if remote {
                walk.world.shell.set_directory(HOME.to_string());
            }
            walk.run_derived(script);
        });
        self.world.nested -= 1;
    }

    /// `env`, which splits strings by itself and changes directory.
    fn run_env(&mut self, arguments: &[String]) {
        let mut words: VecDeque<String> = arguments.to_vec().into();
        let mut hidden = Vec::new();
        let mut directory = None;
        // Every round takes at least one word away; strings that are split may add some.
        let mut options = true;
        for _ in 0..1024 {
            let Some(word) = words.front().cloned() else { break };
            if options && word == "--" {
                // Assignments may still follow.
                options = false;
            } else if !options && !word.contains('=') {
                break;
            } else if let Some((name, text)) =
                word.split_once('=').filter(|(name, _)| !name.starts_with('-') && !name.is_empty())
            {
                // A function comes to bash as a variable with its text.
                if let Some(function) = name.strip_prefix("BASH_FUNC_").and_then(|name| name.strip_suffix("%%")) {
                    self.run_derived(&format!("{function} {text}"));
                    self.world.shell.export_function(function);
                } else {
                    hidden.push(self.export_for_now(name, text));
                }
            } else if let Some(text) = split_option(&word) {
                let text = if text.is_empty() { take_value(&mut words) } else { text.to_owned() };
                let split = self.split_string(&text);
                words.pop_front();
                split.into_iter().rev().for_each(|word| words.push_front(word));
                continue;
            } else if matches!(word.as_str(), "-u" | "--unset") {
                let name = take_value(&mut words);
                hidden.push(self.world.remember(&name));
                self.assign(&name, ShellValue::Unset, None);
            } else if matches!(word.as_str(), "-C" | "--chdir") {
                directory = Some(take_value(&mut words));
            } else if let Some(path) = word.strip_prefix("--chdir=").or(word.strip_prefix("-C")) {
                directory = Some(path.to_owned());
            } else if !word.starts_with('-') {
                break;
            }
            words.pop_front();
        }
        let before = self.world.shell.clone();
        if let Some(directory) = directory {
            let path = self.absolute(&directory);
            self.world.shell.set_directory(path);
        }
        if words.is_empty() {
            self.write(&format!("HOME={HOME}\n{}", crate::marks::UNKNOWN));
        } else {
            self.call_ignoring_functions(words.into());
        }
        self.world.shell = before;
        for (name, variable) in hidden.into_iter().rev() {
            self.world.shell.restore(&name, variable);
        }
    }

    /// Splits as `env -S` does: quotes, backslashes and `${NAME}`, but no tilde and no globs.
    fn split_string(&mut self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut quote = None;
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match (quote, letter) {
                (Some(mark), _) if mark == letter => quote = None,
                (Some('\''), _) => word.get_or_insert_default().push(letter),
                (_, '\\') => match letters.next() {
                    Some('_') => words.extend(word.take()),
                    Some(next) => word.get_or_insert_default().push(next),
                    None => {}
                },
                (_, '$') if letters.peek() == Some(&'{') => {
                    let name: String = letters.by_ref().skip(1).take_while(|letter| *letter != '}').collect();
                    let value = self.scalar(&name).unwrap_or_else(|| crate::marks::UNKNOWN.to_string());
                    word.get_or_insert_default().push_str(&value);
                }
                (None, '"' | '\'') => {
                    quote = Some(letter);
                    word.get_or_insert_default();
                }
                (None, ' ' | '\t' | '\n') => words.extend(word.take()),
                _ => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        words
    }
}

/// The string of `--split-string=…` or of an `S` among short options of `env`; empty if it is the next word.
fn split_option(word: &str) -> Option<&str> {
    word.strip_prefix("--split-string=").or_else(|| {
        let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'))?;
        flags.split_once('S').map(|(_, attached)| attached)
    })
}

/// Takes the word behind the first one; empty if there is none.
fn take_value(words: &mut VecDeque<String>) -> String {
    words.remove(1).unwrap_or_default()
}

/// The directory that an option of a wrapper names.
fn directory_option(wrapper: Wrapper, word: &str, after: &[String]) -> Option<String> {
    wrapper.directory.iter().find_map(|name| match word.strip_prefix(name)? {
        "" => after.first().cloned(),
        attached => Some(attached.trim_start_matches('=').to_owned()),
    })
}

/// The script that an option carries, and how many more words it takes.
fn option(wrapper: Wrapper, word: &str, after: &[String]) -> (Option<String>, usize) {
    if word.starts_with("--") {
        let (name, attached) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if wrapper.script_long.contains(&name) {
            return match attached {
                Some(script) => (Some(script.to_owned()), 0),
                None => (after.first().cloned(), 1),
            };
        }
        return (None, usize::from(attached.is_none() && wrapper.long.contains(&name)));
    }
    for (at, flag) in word.char_indices().skip(1) {
        let attached = word.get(at + flag.len_utf8()..).unwrap_or("");
        if wrapper.script.contains(flag) {
            return if attached.is_empty() { (after.first().cloned(), 1) } else { (Some(attached.to_owned()), 0) };
        }
        if wrapper.short.contains(flag) {
            return (None, usize::from(attached.is_empty()));
        }
    }
    (None, 0)
}

fn after_bubblewrap(arguments: &[String]) -> &[String] {
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        let taken = match word.as_str() {
            "--" => return after,
            word if BUBBLEWRAP_PAIRS.contains(&word) => 2,
            word if BUBBLEWRAP_SINGLES.contains(&word) => 1,
            word if word.starts_with('-') => 0,
            _ => return rest,
        };
        rest = after.get(taken..).unwrap_or(&[]);
    }
    rest
}
