//! Programs that run another program: one way to read the table of them, and the few that have a way of their own.

use crate::marks::HOME;
use crate::walk::Walk;
use crate::walk::state::ShellValue;
use crate::walk::wrapper_table::{WRAPPERS, Wrapper};

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

impl Walk<'_> {
    /// Runs what a wrapper runs, if this is one.
    pub(crate) fn wrapper(&mut self, name: &str, words: &[String]) -> bool {
        let arguments = words.get(1..).unwrap_or(&[]);
        match name {
            "env" | "genv" => {
                self.env(arguments);
                return true;
            }
            "bwrap" => {
                self.call(after_bubblewrap(arguments).to_vec());
                return true;
            }
            // What follows `--` is for the shell that it starts.
            "capsh" => {
                if let Some(at) = arguments.iter().position(|word| word == "--" || word == "==") {
                    let mut shell = vec!["bash".to_owned()];
                    shell.extend_from_slice(arguments.get(at + 1..).unwrap_or(&[]));
                    self.call(shell);
                }
                return true;
            }
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

    fn unwrap(&mut self, wrapper: Wrapper, arguments: &[String]) {
        let mut operands = wrapper.operands;
        // Without a user by option it is `su`.
        if wrapper.names == ["runuser"]
            && !arguments.iter().any(|word| word.starts_with("-u") || word.starts_with("--user"))
        {
            operands = 99;
        }
        let directory = self.directory();
        let mut rest = arguments;
        let mut options = true;
        let mut scripts = Vec::new();
        let mut remembered = Vec::new();
        while let Some((word, after)) = rest.split_first() {
            if options && word == "--" {
                options = false;
                rest = after;
                // `su user -- -c …` and `script -- …`: what follows is for the shell.
                if wrapper.operands < 99 {
                    continue;
                }
                options = true;
                continue;
            }
            if options && word.len() > 1 && word.starts_with('-') {
                if let Some(path) = wrapper.directory.iter().find_map(|name| match word.strip_prefix(name)? {
                    "" => after.first().cloned(),
                    attached => Some(attached.trim_start_matches('=').to_owned()),
                }) {
                    let path = self.absolute(&path);
                    self.world.shell.set_directory(path);
                }
                let (script, taken) = option(wrapper, word, after);
                scripts.extend(script);
                rest = after.get(taken..).unwrap_or(&[]);
                continue;
            }
            if word == "-" && options {
                rest = after;
                continue;
            }
            if wrapper.assigns
                && let Some((name, value)) = word.split_once('=')
                && !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            {
                remembered.push(self.world.remember(name));
                self.assign(name, ShellValue::Scalar(value.to_owned()), None);
                self.world.shell.variable_mut(name).exported = true;
                rest = after;
                continue;
            }
            if operands == 0 {
                break;
            }
            operands -= 1;
            rest = after;
            // An option of these may also stand after the operand: `flock file -c …`.
            options = options && !wrapper.script.is_empty();
        }
        if rest.first().is_some_and(|word| word == "--") {
            rest = rest.get(1..).unwrap_or(&[]);
        }
        for script in &scripts {
            // Editors and archivers want a sign before what a shell is to walk.
            let script = script.trim_start_matches([':', '!']);
            let script = script.strip_prefix("exec=").unwrap_or(script);
            self.run_text(script, Vec::new(), wrapper.remote);
        }
        if scripts.is_empty() && wrapper.joined && !rest.is_empty() {
            self.run_text(&rest.join(" "), Vec::new(), wrapper.remote);
        } else if scripts.is_empty() && !rest.is_empty() {
            self.call(rest.to_vec());
        } else if rest.is_empty()
            && (wrapper.remote || matches!(wrapper.names, ["su" | "sudo", ..]))
            && scripts.is_empty()
        {
            // A login shell without a command reads one.
            let input = std::mem::replace(&mut self.world.shell.input, "".into());
            self.run_text(&input, Vec::new(), wrapper.remote);
        }
        if !wrapper.directory.is_empty() {
            self.world.shell.set_directory(directory);
        }
        for (name, variable) in remembered.into_iter().rev() {
            self.world.shell.restore(&name, variable);
        }
    }

    /// Runs a script in a new shell, perhaps on another machine.
    fn run_text(&mut self, script: &str, arguments: Vec<String>, remote: bool) {
        self.world.nested += 1;
        self.new_shell("bash".to_owned(), arguments, |walk| {
            if remote {
                walk.world.shell.set_directory(HOME.to_string());
            }
            walk.derived(script);
        });
        self.world.nested -= 1;
    }

    /// `env`, which splits strings by itself and changes directory.
    fn env(&mut self, arguments: &[String]) {
        let mut words: Vec<String> = arguments.to_vec();
        let mut remembered = Vec::new();
        let mut directory = None;
        // Every round takes at least one word away; strings that are split may add some.
        for _ in 0..1024 {
            let Some(word) = words.first().cloned() else { break };
            let value = |words: &mut Vec<String>, attached: &str| {
                if attached.is_empty() && words.len() > 1 { words.remove(1) } else { attached.to_owned() }
            };
            if word == "--" {
                words.remove(0);
                break;
            }
            if let Some((name, text)) =
                word.split_once('=').filter(|(name, _)| !name.starts_with('-') && !name.is_empty())
            {
                remembered.push(self.world.remember(name));
                self.assign(name, ShellValue::Scalar(text.to_owned()), None);
                self.world.shell.variable_mut(name).exported = true;
                words.remove(0);
                continue;
            }
            let string = word.strip_prefix("--split-string=").map(str::to_owned);
            let cluster = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
            let in_cluster = cluster.and_then(|flags| flags.split_once('S')).map(|(_, attached)| attached.to_owned());
            if let Some(text) = string.or(in_cluster) {
                let text = if text.is_empty() { value(&mut words, "") } else { text };
                words.remove(0);
                let split = self.split_string(&text);
                words.splice(0..0, split);
                continue;
            }
            match word.as_str() {
                "-u" | "--unset" => {
                    let name = value(&mut words, "");
                    remembered.push(self.world.remember(&name));
                    self.assign(&name, ShellValue::Unset, None);
                }
                "-C" | "--chdir" => directory = Some(value(&mut words, "")),
                "-S" | "--split-string" => {}
                _ if word.starts_with("--chdir=") => directory = word.strip_prefix("--chdir=").map(str::to_owned),
                _ if word.starts_with("-C") => directory = word.strip_prefix("-C").map(str::to_owned),
                _ if word.starts_with('-') => {}
                _ => break,
            }
            words.remove(0);
        }
        let before = self.world.shell.clone();
        if let Some(directory) = directory {
            let path = self.absolute(&directory);
            self.world.shell.set_directory(path);
        }
        if words.is_empty() {
            self.write(&crate::marks::UNKNOWN.to_string());
        } else {
            self.call_ignoring(words);
        }
        self.world.shell = before;
        for (name, variable) in remembered.into_iter().rev() {
            self.world.shell.restore(&name, variable);
        }
    }

    fn call_ignoring(&mut self, words: Vec<String>) {
        let before = std::mem::take(&mut self.world.shell.functions);
        self.call(words);
        self.world.shell.functions = before;
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
