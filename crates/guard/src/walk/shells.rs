//! Shells that the script starts: `-c`, scripts in files, and scripts on standard input.

use std::rc::Rc;

use crate::marks::{HOME, UNKNOWN};
use crate::walk::ScriptWalk;
use crate::walk::files::base_name;

const SHELLS: [&str; 18] = [
    "tcsh", "csh", "nu", "pwsh", "bash", "sh", "dash", "zsh", "ksh", "ash", "mksh", "ksh93", "rbash", "yash", "fish",
    "posh", "lksh", "bash5",
];

/// The source of a shell's script.
enum ScriptSource {
    Text(String),
    File(String),
    Input,
    Nothing,
}

/// The options of a shell, read to its script.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the shell's own")]
struct ShellOptions<'w> {
    /// `-c`: the first word is the script.
    command: bool,
    /// `-s`: the script is on standard input.
    from_input: bool,
    /// `-n`: nothing is run.
    checks_only: bool,
    /// `-i` or `-O expand_aliases`.
    aliases: bool,
    /// `--command=…`; no option behind it counts.
    attached_script: Option<&'w str>,
    /// `--rcfile`
    start_file: Option<&'w String>,
    /// The words behind the options.
    rest: &'w [String],
}

impl<'w> ShellOptions<'w> {
    fn of(arguments: &'w [String]) -> Self {
        let mut options = Self { rest: arguments, ..Self::default() };
        while let Some((word, after)) = options.rest.split_first() {
            match word.as_str() {
                "--" | "-" => {
                    options.rest = after;
                    break;
                }
                "--rcfile" | "--init-file" => {
                    options.start_file = after.first();
                    options.rest = after.get(1..).unwrap_or(&[]);
                    continue;
                }
                "--command" | "-Command" => options.command = true,
                long if long.starts_with("--command=") => {
                    options.attached_script = long.strip_prefix("--command=");
                    break;
                }
                long if long.starts_with("--") => {}
                flags if flags.len() > 1 && flags.starts_with(['-', '+']) => {
                    let turns_on = flags.starts_with('-');
                    options.command |= turns_on && flags.contains('c');
                    options.from_input |= turns_on && flags.contains('s');
                    options.checks_only |= turns_on && flags.contains('n');
                    options.aliases |= turns_on && flags.contains('i');
                    if flags.contains(['o', 'O']) {
                        options.aliases |= turns_on && after.first().is_some_and(|option| option == "expand_aliases");
                        options.rest = after.get(1..).unwrap_or(&[]);
                        continue;
                    }
                }
                _ => break,
            }
            options.rest = after;
        }
        options
    }

    /// The source of the script, its `$0` if that is not the shell, and its arguments.
    fn source(&self) -> (ScriptSource, Option<&'w String>, &'w [String]) {
        match self.rest.split_first() {
            Some((script, after)) if self.command => {
                let (zero, arguments) = after.split_first().map_or((None, &[][..]), |(zero, rest)| (Some(zero), rest));
                (ScriptSource::Text(script.clone()), zero, arguments)
            }
            None if self.command => (ScriptSource::Nothing, None, &[]),
            _ if self.from_input => (ScriptSource::Input, None, self.rest),
            Some((file, after)) => (ScriptSource::File(file.clone()), Some(file), after),
            None => (ScriptSource::Input, None, &[]),
        }
    }
}

impl ScriptWalk<'_> {
    /// Runs a shell, if this is one.
    pub(crate) fn start_shell(&mut self, name: &str, words: &[String]) -> bool {
        let arguments = words.get(1..).unwrap_or(&[]);
        if matches!(name, "at" | "batch") {
            let file = arguments.iter().position(|word| word == "-f").and_then(|at| arguments.get(at + 1));
            let source = file.map_or(ScriptSource::Input, |file| ScriptSource::File(file.clone()));
            self.run_shell("sh", source, Vec::new(), true);
            return true;
        }
        if !SHELLS.contains(&name) {
            return false;
        }
        let options = ShellOptions::of(arguments);
        if let Some(script) = options.attached_script {
            self.run_shell(name, ScriptSource::Text(script.to_owned()), Vec::new(), true);
            return true;
        }
        if let Some(file) = options.start_file.and_then(|file| self.known_file(file)) {
            self.run_shell(name, ScriptSource::Text(file.to_string()), Vec::new(), true);
        }
        let has = |letter: char| {
            let is_short = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
            arguments.iter().take_while(|word| word.starts_with('-')).any(is_short)
        };
        // The files that a login shell and an interactive shell read first, if the script has written them.
        let is_login = has('l') || arguments.iter().any(|word| word == "--login");
        let reads_files = is_login || has('i') || options.start_file.is_some();
        let read_first: &[&str] = match (is_login, has('i')) {
            (true, _) => &[".bash_profile", ".bash_login", ".profile"],
            (false, true) => &[".bashrc", ".zshrc"],
            (false, false) => &[],
        };
        for file in read_first {
            if let Some(text) = self.known_file(&format!("{HOME}/{file}")) {
                self.run_shell(name, ScriptSource::Text(text.to_string()), Vec::new(), true);
            }
        }
        if options.checks_only {
            return true;
        }
        let (source, zero, arguments) = options.source();
        let asks_about_itself = words.iter().any(|word| word == "--version" || word == "--help");
        if matches!(source, ScriptSource::Input) && !asks_about_itself {
            self.find_interactive();
        }
        // Only bash needs to be told to expand aliases.
        let aliases = options.aliases || name != "bash";
        let outside = self.world.shell.outside.clone();
        // Such a file may set any variable, and with `-u` a script ends at one that is unset.
        if reads_files || has('u') {
            self.world.shell.outside.open();
        }
        // Other shells have other tests.
        if name != "bash" || reads_files {
            self.world.shell.outside.alter();
        }
        self.run_shell(zero.map_or(name, String::as_str), source, arguments.to_vec(), aliases);
        self.world.shell.outside = outside;
        true
    }

    fn run_shell(&mut self, zero: &str, source: ScriptSource, arguments: Vec<String>, aliases: bool) {
        let text: Rc<str> = match source {
            ScriptSource::Text(text) => text.into(),
            ScriptSource::File(file) => {
                let Some(text) = self.known_file(&file) else { return self.write(&UNKNOWN.to_string()) };
                text
            }
            // The script has consumed the input: its commands find nothing left.
            ScriptSource::Input => std::mem::replace(&mut self.world.shell.input, "".into()),
            ScriptSource::Nothing => return,
        };
        // A shell that is not interactive reads the file that this variable names.
        let start = self.scalar("BASH_ENV").and_then(|file| self.known_file(&file));
        // An interactive one runs these by itself.
        let prompts =
            if aliases { ["PROMPT_COMMAND", "PS0", "PS1"].map(|name| self.scalar(name)) } else { Default::default() };
        self.world.nested += 1;
        self.new_shell(zero.to_owned(), arguments, |walk| {
            walk.world.shell.expand_aliases = aliases;
            if let Some(start) = start {
                walk.run_derived(&start);
            }
            let [command, prompts @ ..] = prompts;
            if let Some(command) = command {
                walk.run_derived(&command);
            }
            prompts.iter().flatten().for_each(|prompt| walk.run_hidden(prompt));
            walk.run_derived(&text);
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
                let language = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
                if matches!(language, "python" | "node" | "perl" | "ruby" | "php" | "tclsh" | "expect") {
                    let words = [program.clone(), path].into_iter().chain(arguments);
                    self.program_call(&program, &words.collect::<Vec<_>>());
                } else if language.ends_with("awk") {
                    let words = [program.clone(), "-f".to_owned(), path].into_iter().chain(arguments);
                    self.program_call(&program, &words.collect::<Vec<_>>());
                } else {
                    self.look_at_code((&program, ""), text, &[]);
                }
                return;
            }
        }
        self.run_shell(&path, ScriptSource::Text(text.to_owned()), arguments, false);
    }
}
