//! Commands of the shell itself: those that change its state, and those that run text.

use std::rc::Rc;

use crate::marks::{UNKNOWN, is_mark};
use crate::walk::files::normalized;
use crate::walk::state::ShellValue;
use crate::walk::{Flow, ScriptWalk};

/// The longest path that a directory may have, in bytes.
const LONGEST_PATH: usize = 1024;

/// Runs a builtin. The name comes along because some builtins share a function.
type Builtin = fn(&mut ScriptWalk<'_>, &str, &[String]);

/// The builtins that change the shell or print, and programs that the walk follows in the same way.
fn builtin_named(name: &str) -> Option<Builtin> {
    Some(match name {
        "cd" | "pushd" | "popd" => |walk, name, arguments| walk.change_directory(name, arguments),
        "source" | "." => |walk, _, arguments| walk.source_file(arguments),
        "trap" => |walk, _, arguments| walk.set_trap(arguments),
        "alias" => |walk, _, arguments| walk.define_aliases(arguments),
        "unalias" => |walk, _, arguments| walk.remove_aliases(arguments),
        "unset" => |walk, _, arguments| walk.unset(arguments),
        "set" => |walk, _, arguments| walk.set_options(arguments),
        "shift" => |walk, _, arguments| walk.shift_arguments(arguments),
        "shopt" => |walk, _, arguments| walk.set_shell_options(arguments),
        "read" => |walk, _, arguments| walk.read_variables(arguments),
        "mapfile" | "readarray" => |walk, _, arguments| walk.read_array(arguments),
        "getopts" => |walk, _, arguments| walk.read_option(arguments),
        "let" => |walk, _, arguments| {
            for expression in arguments {
                walk.number(expression);
            }
        },
        "history" => |walk, _, arguments| {
            if let Some((_, line)) = arguments.split_first().filter(|(flag, _)| *flag == "-s") {
                walk.world.history.push(line.join(" "));
            }
        },
        "fc" => |walk, _, arguments| walk.repeat_line(arguments),
        "hash" => |walk, _, arguments| walk.hash_programs(arguments),
        "declare" | "typeset" | "local" | "export" | "readonly" => {
            |walk, name, arguments| walk.declare_fields(name, arguments)
        }
        // A builtin that is turned off is a program, which may do something else.
        "enable" => |walk, _, _| walk.world.certainty.lose(),
        // Nothing that the walk follows changes.
        ":" | "true" | "false" | "test" | "[" | "wait" | "sleep" | "umask" | "ulimit" | "jobs" | "fg" | "bg"
        | "disown" | "bind" | "complete" | "touch" | "chmod" | "chown" | "rm" => |_, _, _| {},
        "kill" => |walk, _, arguments| walk.signal_itself(arguments),
        "mkdir" => |walk, _, arguments| {
            for path in arguments.iter().filter(|word| !word.starts_with('-')) {
                let path = walk.absolute(path);
                walk.world.files.note_made(path);
            }
        },
        "rmdir" => |walk, _, arguments| {
            for path in arguments.iter().filter(|word| !word.starts_with('-')) {
                let path = walk.absolute(path);
                walk.world.files.forget_made(&path);
            }
        },
        "mkfifo" => |walk, _, arguments| {
            for path in arguments.iter().filter(|word| !word.starts_with('-')) {
                let path = walk.absolute(path);
                walk.world.files.pipes.insert(path);
            }
        },
        "command" => |walk, _, arguments| walk.command_builtin(arguments),
        "cp" | "ln" | "install" | "mv" => |walk, name, arguments| walk.copy_files(name, arguments),
        "echo" => |walk, _, arguments| walk.echo(arguments),
        "printf" => |walk, _, arguments| walk.printf(arguments),
        "pwd" => |walk, _, _| {
            let directory = walk.directory();
            walk.write(&format!("{directory}\n"));
        },
        "type" | "which" | "whereis" => |walk, _, arguments| walk.locate_programs(arguments),
        _ => return None,
    })
}

impl ScriptWalk<'_> {
    /// Runs a builtin; none if no builtin has this name.
    pub(crate) fn run_builtin(&mut self, name: &str, words: &[String]) -> Option<Flow> {
        let arguments = words.get(1..).unwrap_or(&[]);
        match name {
            "eval" => {
                let words = arguments.strip_prefix(&["--".to_owned()]).unwrap_or(arguments);
                Some(self.run_derived(&words.join(" ")))
            }
            "exit" | "return" | "break" | "continue" => Some(self.leave(name, arguments.first())),
            "exec" => {
                let command = after_options(arguments, "a");
                self.call(command.to_vec());
                Some(match command {
                    [] => Flow::Next,
                    _ => Flow::Leaves,
                })
            }
            "builtin" | "noglob" | "nocorrect" => Some(self.call_ignoring_functions(arguments.to_vec())),
            // The index of an array is expanded once more.
            "test" | "[" | "printf" | "read" | "wait"
                if arguments.iter().any(|word| word.contains("[$(") || word.contains("[`")) =>
            {
                for word in arguments {
                    self.run_hidden(word);
                }
                let builtin = builtin_named(name)?;
                builtin(self, name, arguments);
                Some(Flow::Next)
            }
            _ => {
                let builtin = builtin_named(name)?;
                builtin(self, name, arguments);
                Some(Flow::Next)
            }
        }
    }

    /// `command`: past functions; with `-v` it only prints the path of the program.
    fn command_builtin(&mut self, arguments: &[String]) {
        let command = after_options(arguments, "");
        let flags = arguments.iter().take_while(|word| word.starts_with('-') && *word != "--");
        if flags.clone().any(|flag| flag.contains(['v', 'V'])) {
            self.locate_programs(command);
        } else {
            self.call_ignoring_functions(command.to_vec());
        }
    }

    pub(super) fn call_ignoring_functions(&mut self, words: Vec<String>) -> Flow {
        let name = words.first().cloned().unwrap_or_default();
        let hidden = if self.world.shell.functions.contains_key(&name) {
            Rc::make_mut(&mut self.world.shell.functions).remove(&name)
        } else {
            None
        };
        let flow = self.call(words);
        if let Some(body) = hidden {
            Rc::make_mut(&mut self.world.shell.functions).insert(name, body);
        }
        flow
    }

    /// Prints where a program is.
    fn locate_programs(&mut self, arguments: &[String]) {
        self.world.certainty.lose();
        for name in arguments.iter().filter(|word| !word.starts_with('-')) {
            let path = if name.contains('/') { name.clone() } else { format!("/usr/bin/{name}") };
            self.write(&format!("{path}\n"));
        }
    }

    fn change_directory(&mut self, name: &str, arguments: &[String]) {
        let target = arguments.iter().find(|word| !word.starts_with('-') || *word == "-");
        let before = self.directory();
        let next = match (name, target.map(String::as_str)) {
            ("cd", Some(path)) if path.starts_with(|letter: char| letter.is_ascii_alphanumeric()) => {
                let path = self.on_directory_path(path);
                if arguments.iter().any(|word| word == "-P") {
                    self.absolute(&path)
                } else {
                    self.absolute_by_name(&path)
                }
            }
            ("popd", _) => self.world.shell.directories.pop().unwrap_or_else(|| UNKNOWN.to_string()),
            (_, Some("-")) => self.scalar("OLDPWD").unwrap_or_else(|| UNKNOWN.to_string()),
            (_, Some(path)) if arguments.iter().any(|word| word == "-P") => self.absolute(path),
            (_, Some(path)) => self.absolute_by_name(path),
            ("cd", None) => self.scalar("HOME").unwrap_or_else(|| crate::marks::HOME.to_string()),
            (_, None) => self.world.shell.directories.pop().unwrap_or_else(|| UNKNOWN.to_string()),
        };
        if name == "pushd" {
            self.world.shell.directories.push(before.clone());
        }
        self.assign("OLDPWD", ShellValue::Scalar(before), None);
        self.budget.spend(next.len() / 64);
        // Paths that are longer do not happen.
        let next = if next.len() > LONGEST_PATH { UNKNOWN.to_string() } else { normalized(&next) };
        let next = self.world.files.through_links(&next, true);
        self.world.shell.set_directory(next);
        self.world.shell.left = None;
        if name != "cd" || !self.world.shell.directories.is_empty() {
            let stack = std::iter::once(self.directory()).chain(self.world.shell.directories.iter().rev().cloned());
            let stack = ShellValue::list(stack.collect());
            self.assign("DIRSTACK", stack, None);
        }
    }

    /// The directory that a bare name means to `cd`: through `CDPATH`, or through a variable of that name.
    fn on_directory_path(&mut self, path: &str) -> String {
        let here = self.absolute(path);
        if self.world.files.is_sure(&here) {
            return path.to_owned();
        }
        if self.world.shell.cd_reads_variables
            && let Some(text) = self.scalar(path)
        {
            return text;
        }
        let entries = self.scalar("CDPATH").unwrap_or_default();
        // The present directory is there to be tried first, and mostly without success.
        let entry = entries.split(':').find(|entry| !matches!(*entry, "" | "." | "./") && !entry.contains(UNKNOWN));
        entry.map_or_else(|| path.to_owned(), |entry| format!("{entry}/{path}"))
    }

    fn source_file(&mut self, arguments: &[String]) {
        let Some((file, more)) = arguments.split_first() else { return };
        let found = self.known_file(file);
        let on_path = || if file.contains('/') { None } else { self.script_on_path(file).map(Rc::from) };
        let Some(text): Option<Rc<str>> = found.or_else(on_path) else {
            // Who hides its errors expects that the file may be missing, so that nothing is set.
            if self.world.hides_errors {
                self.world.shell.outside.is_altered = true;
            } else {
                self.world.shell.outside.alter();
            }
            return;
        };
        let before = Rc::clone(&self.world.shell.arguments);
        if !more.is_empty() {
            self.world.shell.arguments = Rc::new(more.to_vec());
        }
        self.run_derived(&text);
        self.world.shell.arguments = before;
    }

    /// `fc -s [old=new] [beginning]`: runs a line of the history again.
    fn repeat_line(&mut self, arguments: &[String]) {
        let Some((_, words)) = arguments.split_first().filter(|(flag, _)| *flag == "-s") else { return };
        let (change, beginning) = match words {
            [change, rest @ ..] if change.contains('=') => (change.split_once('='), rest.first()),
            words => (None, words.first()),
        };
        let is_meant = |line: &&String| beginning.is_none_or(|beginning| line.starts_with(beginning.as_str()));
        let Some(line) = self.world.history.iter().rev().find(is_meant) else { return };
        let line = change.map_or_else(|| line.clone(), |(old, new)| line.replace(old, new));
        self.run_derived(&line);
    }

    fn define_aliases(&mut self, arguments: &[String]) {
        self.world.certainty.lose();
        let line = self.world.line;
        for word in arguments {
            if let Some((name, text)) = word.split_once('=') {
                Rc::make_mut(&mut self.world.shell.aliases).insert(name.to_owned(), (text.to_owned(), line));
            }
        }
    }

    fn remove_aliases(&mut self, arguments: &[String]) {
        for name in arguments {
            Rc::make_mut(&mut self.world.shell.aliases).remove(name);
        }
    }

    fn shift_arguments(&mut self, arguments: &[String]) {
        let by = arguments.first().and_then(|count| count.parse().ok()).unwrap_or(1);
        self.budget.spend(self.world.shell.arguments.len() / 4);
        // More than there are: it fails and takes none.
        if by > self.world.shell.arguments.len() {
            return;
        }
        let rest = self.world.shell.arguments.iter().skip(by).cloned().collect();
        self.world.shell.arguments = Rc::new(rest);
    }

    fn set_shell_options(&mut self, arguments: &[String]) {
        self.world.certainty.lose();
        if arguments.iter().any(|word| word == "expand_aliases") {
            self.world.shell.expand_aliases = !arguments.iter().any(|word| word == "-u");
        }
        if arguments.iter().any(|word| word == "cdable_vars") {
            self.world.shell.cd_reads_variables = !arguments.iter().any(|word| word == "-u");
        }
        if arguments.iter().any(|word| word == "nullglob") {
            self.world.shell.stars_may_vanish = !arguments.iter().any(|word| word == "-u");
        }
        if arguments.iter().any(|word| word == "globstar") {
            self.world.shell.stars_go_deep = !arguments.iter().any(|word| word == "-u");
        }
        if arguments.iter().any(|word| word == "lastpipe") {
            self.world.shell.last_pipe = !arguments.iter().any(|word| word == "-u");
        }
    }

    /// A declaration whose words have been expanded already, as behind `builtin`.
    fn declare_fields(&mut self, name: &str, arguments: &[String]) {
        let extent = self.trail.extent;
        let words: Vec<_> = arguments.iter().map(|text| bashful_bash::ast::ShellWord::quoted(text, extent)).collect();
        self.declare(name, &words);
    }

    fn unset(&mut self, arguments: &[String]) {
        let functions = arguments.iter().any(|word| word == "-f");
        if arguments.iter().any(|name| name.contains(is_mark)) {
            self.world.shell.outside.alter();
        }
        for name in arguments {
            self.run_hidden(name);
        }
        for name in arguments.iter().filter(|word| !word.starts_with('-')) {
            if functions {
                Rc::make_mut(&mut self.world.shell.functions).remove(name);
            } else if let Some((array, key)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) {
                self.unset_element(array, key);
            } else {
                if self.world.shell.variable(name).is_none() && self.world.shell.functions.contains_key(name) {
                    Rc::make_mut(&mut self.world.shell.functions).remove(name);
                }
                self.unset_variable(name);
            }
        }
    }

    fn unset_element(&mut self, array: &str, key: &str) {
        let value = match self.value(array) {
            Some(ShellValue::Array(mut items)) => {
                let Some(number) = self.number(key) else { return };
                let last = items.keys().next_back().map_or(0, |last| last.saturating_add(1));
                items.remove(&if number < 0 { last.saturating_add(number) } else { number });
                ShellValue::Array(items)
            }
            Some(ShellValue::Table(mut items)) => {
                items.remove(key.trim_matches(['"', '\'']));
                ShellValue::Table(items)
            }
            _ => return,
        };
        self.assign(array, value, None);
    }

    /// Takes a variable away. If it is a local one of a function further out, the variable that it hides comes back.
    fn unset_variable(&mut self, name: &str) {
        let level = self.world.calls.len();
        let hiding = self.world.locals.iter().rposition(|local| local.name == name);
        match hiding.filter(|at| self.world.locals.get(*at).is_some_and(|local| local.level < level)) {
            Some(at) => {
                let local = self.world.locals.remove(at);
                self.world.shell.restore(name, local.hidden);
            }
            None => self.assign(name, ShellValue::Unset, None),
        }
    }

    /// `set`: the few options that the walk follows, and the arguments of the shell.
    fn set_options(&mut self, arguments: &[String]) {
        let mut rest = arguments;
        while let Some((word, after)) = rest.split_first() {
            match word.as_str() {
                "--" => {
                    self.budget.spend(after.len() / 4);
                    self.world.shell.arguments = Rc::new(after.to_vec());
                    return;
                }
                "-o" | "+o" => {
                    if after.first().is_some_and(|option| option == "allexport") {
                        self.world.shell.exports_all = word == "-o";
                    }
                    if after.first().is_some_and(|option| option == "errexit") {
                        self.world.shell.stops_at_failure = word == "-o";
                    }
                    if after.first().is_some_and(|option| option == "noglob") {
                        self.world.shell.no_glob = word == "-o";
                    }
                    if after.first().is_some_and(|option| option == "nounset") {
                        self.world.shell.stops_at_unset = word == "-o";
                    }
                    let letter = after.first().and_then(|option| option_letter(option));
                    self.world.shell.note_option(letter, word == "-o");
                    rest = after.get(1..).unwrap_or(&[]);
                }
                "-" => {
                    rest = after;
                    break;
                }
                flags if flags.len() > 1 && flags.starts_with(['-', '+']) => {
                    if flags.contains('a') {
                        self.world.shell.exports_all = flags.starts_with('-');
                    }
                    if flags.contains('e') {
                        self.world.shell.stops_at_failure = flags.starts_with('-');
                    }
                    if flags.contains('f') {
                        self.world.shell.no_glob = flags.starts_with('-');
                    }
                    // The script ends at a variable that is unset, and nothing is made of it.
                    if flags.contains('u') {
                        self.world.shell.stops_at_unset = flags.starts_with('-');
                    }
                    for letter in flags.chars().skip(1).filter(|letter| *letter != 'o') {
                        self.world.shell.note_option(Some(letter), flags.starts_with('-'));
                    }
                    rest = if flags.ends_with('o') { after.get(1..).unwrap_or(&[]) } else { after };
                }
                _ => break,
            }
        }
        if !rest.is_empty() {
            self.budget.spend(rest.len() / 4);
            self.world.shell.arguments = Rc::new(rest.to_vec());
        }
    }

    /// `hash -p path name`
    fn hash_programs(&mut self, arguments: &[String]) {
        if let [flag, path, names @ ..] = arguments
            && flag == "-p"
        {
            for name in names {
                Rc::make_mut(&mut self.world.shell.hashed).insert(name.clone(), path.clone());
            }
        }
    }
}

/// The letter of an option of `set` that goes by a name.
fn option_letter(name: &str) -> Option<char> {
    Some(match name {
        "allexport" => 'a',
        "errexit" => 'e',
        "noglob" => 'f',
        "nounset" => 'u',
        "xtrace" => 'x',
        "verbose" => 'v',
        "noclobber" => 'C',
        "errtrace" => 'E',
        "functrace" => 'T',
        _ => return None,
    })
}

/// The words after options; `valued` are the letters that take another word.
pub(crate) fn after_options<'w>(words: &'w [String], valued: &str) -> &'w [String] {
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        if word == "--" {
            return after;
        }
        let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.is_empty()) else { break };
        rest = after;
        if flags.ends_with(|flag: char| valued.contains(flag)) && !flags.starts_with('-') {
            rest = rest.get(1..).unwrap_or(&[]);
        }
    }
    rest
}
