//! Shells that the script starts: `-c`, scripts in files, and scripts on standard input.

use std::rc::Rc;

use crate::marks::UNKNOWN;
use crate::walk::Walk;
use crate::walk::files::base_name;

const SHELLS: [&str; 18] = [
    "tcsh", "csh", "nu", "pwsh", "bash", "sh", "dash", "zsh", "ksh", "ash", "mksh", "ksh93", "rbash", "yash", "fish",
    "posh", "lksh", "bash5",
];

/// Where a shell's script comes from.
enum ScriptSource {
    Text(String),
    File(String),
    Input,
    Nothing,
}

impl Walk<'_> {
    /// Runs a shell, if this is one.
    pub(crate) fn shell(&mut self, name: &str, words: &[String]) -> bool {
        let arguments = words.get(1..).unwrap_or(&[]);
        if matches!(name, "at" | "batch") {
            self.run_shell("sh", ScriptSource::Input, Vec::new(), true);
            return true;
        }
        if !SHELLS.contains(&name) {
            return false;
        }
        let mut rest = arguments;
        let mut command = false;
        let mut from_input = false;
        let mut checks_only = false;
        let mut aliases = false;
        let mut start_file = None;
        while let Some((word, after)) = rest.split_first() {
            match word.as_str() {
                "--" | "-" => {
                    rest = after;
                    break;
                }
                "--rcfile" | "--init-file" => {
                    start_file = after.first().cloned();
                    rest = after.get(1..).unwrap_or(&[]);
                    continue;
                }
                "--command" | "-Command" => command = true,
                long if long.starts_with("--command=") => {
                    let script = long.strip_prefix("--command=").unwrap_or("").to_owned();
                    self.run_shell(name, ScriptSource::Text(script), Vec::new(), true);
                    return true;
                }
                long if long.starts_with("--") => {}
                flags if flags.len() > 1 && flags.starts_with(['-', '+']) => {
                    let turns_on = flags.starts_with('-');
                    command |= turns_on && flags.contains('c');
                    from_input |= turns_on && flags.contains('s');
                    checks_only |= turns_on && flags.contains('n');
                    aliases |= turns_on && flags.contains('i');
                    if flags.contains(['o', 'O']) {
                        aliases |= turns_on && after.first().is_some_and(|option| option == "expand_aliases");
                        rest = after.get(1..).unwrap_or(&[]);
                        continue;
                    }
                }
                _ => break,
            }
            rest = after;
        }
        if let Some(file) = start_file.and_then(|file| self.known_file(&file)) {
            self.run_shell(name, ScriptSource::Text(file.to_string()), Vec::new(), true);
        }
        if checks_only {
            return true;
        }
        let (source, zero, arguments) = match rest.split_first() {
            Some((script, after)) if command => {
                let (zero, arguments) = after.split_first().map_or((None, &[][..]), |(zero, rest)| (Some(zero), rest));
                (ScriptSource::Text(script.clone()), zero.cloned(), arguments)
            }
            None if command => (ScriptSource::Nothing, None, &[][..]),
            _ if from_input => (ScriptSource::Input, None, rest),
            Some((file, after)) => (ScriptSource::File(file.clone()), Some(file.clone()), after),
            None => (ScriptSource::Input, None, &[][..]),
        };
        let asks_about_itself = words.iter().any(|word| word == "--version" || word == "--help");
        if matches!(source, ScriptSource::Input) && !asks_about_itself {
            self.find_interactive();
        }
        // Only bash needs to be told to expand aliases.
        aliases |= name != "bash";
        self.run_shell(&zero.unwrap_or_else(|| name.to_owned()), source, arguments.to_vec(), aliases);
        true
    }

    fn run_shell(&mut self, zero: &str, source: ScriptSource, arguments: Vec<String>, aliases: bool) {
        let text: Rc<str> = match source {
            ScriptSource::Text(text) => text.into(),
            ScriptSource::File(file) => {
                let Some(text) = self.known_file(&file) else { return self.write(&UNKNOWN.to_string()) };
                text
            }
            // What it reads is gone for the commands in it.
            ScriptSource::Input => std::mem::replace(&mut self.world.shell.input, "".into()),
            ScriptSource::Nothing => return,
        };
        // A shell that is not interactive reads the file that this variable names.
        let start = self.scalar("BASH_ENV").and_then(|file| self.known_file(&file));
        self.world.nested += 1;
        self.new_shell(zero.to_owned(), arguments, |walk| {
            walk.world.shell.expand_aliases = aliases;
            if let Some(start) = start {
                walk.derived(&start);
            }
            walk.derived(&text);
        });
        self.world.nested -= 1;
    }

    /// Runs a file that the script has written, by its first line.
    pub(crate) fn run_file(&mut self, text: &str, words: Vec<String>) {
        let mut words = words.into_iter();
        let path = words.next().unwrap_or_default();
        let arguments: Vec<String> = words.collect();
        let first = text.lines().next().unwrap_or("");
        if let Some(interpreter) = first.strip_prefix("#!") {
            let program =
                interpreter.split_whitespace().map(base_name).find(|word| *word != "env" && !word.starts_with('-'));
            if let Some(program) = program
                && !SHELLS.contains(&program)
            {
                let program = program.to_owned();
                self.code_text(&program, text);
                return;
            }
        }
        self.run_shell(&path, ScriptSource::Text(text.to_owned()), arguments, false);
    }

    /// `make`, with a file that the script has written: each line of a recipe is a script.
    pub(crate) fn make(&mut self, arguments: &[String]) {
        let named = arguments.iter().position(|word| matches!(word.as_str(), "-f" | "--file" | "--makefile"));
        let named = named.and_then(|at| arguments.get(at + 1)).map(String::as_str);
        let files = named.map_or(vec!["GNUmakefile", "makefile", "Makefile"], |file| vec![file]);
        let text = files.into_iter().find_map(|file| match file {
            "-" => Some(Rc::clone(&self.world.shell.input)),
            file => self.known_file(file),
        });
        let Some(text) = text else { return self.write(&UNKNOWN.to_string()) };
        for line in text.lines().filter_map(|line| line.strip_prefix('\t')) {
            let line = line.trim_start_matches(['@', '-', '+', ' ']).replace("$$", "$");
            self.run_shell("sh", ScriptSource::Text(line), Vec::new(), true);
        }
    }
}
