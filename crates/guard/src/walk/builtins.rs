//! Commands of the shell itself: those that change its state, and those that run text.

use std::rc::Rc;

use crate::marks::{UNKNOWN, is_mark, is_vague};
use crate::walk::files::normalized;
use crate::walk::state::ShellValue;
use crate::walk::{Flow, ScriptWalk};

/// The longest path that a directory may have, in bytes.
const LONGEST_PATH: usize = 1024;

/// The name under which `getopts` keeps its place in a word of several options. No variable is called that.
const OPTION_PLACE: &str = "getopts ";

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
            let mut value = None;
            for expression in arguments {
                value = walk.number(expression);
            }
            walk.tell_outcome(value.map(|value| value != 0));
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
                    _ if self.is_rehearsal() => Flow::Exits,
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
            return self.tell_outcome(Some(false));
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

    /// `getopts`: the next option of known arguments; otherwise any option with any value.
    fn read_option(&mut self, arguments: &[String]) {
        let [letters, name, given @ ..] = arguments else { return };
        let given = if given.is_empty() { self.world.shell.arguments.to_vec() } else { given.to_vec() };
        if !self.is_rehearsal() || given.is_empty() || given.iter().any(|word| is_vague(word)) {
            self.world.certainty.lose();
        }
        let mut set = |name: &str, text: String| self.assign(name, ShellValue::Scalar(text), None);
        if given.is_empty() {
            set(name, UNKNOWN.to_string());
            return set("OPTARG", UNKNOWN.to_string());
        }
        let at = self.scalar("OPTIND").and_then(|at| at.parse::<usize>().ok()).unwrap_or(1);
        // The place inside of `-abc`, and the word that it belongs to.
        let place = self.scalar(OPTION_PLACE).unwrap_or_default();
        let inside = place.split_once(' ').filter(|(word, _)| *word == at.to_string());
        let inside = inside.and_then(|(_, inside)| inside.parse::<usize>().ok()).unwrap_or(0);
        let option = given.get(at.saturating_sub(1)).and_then(|word| word.strip_prefix('-'));
        let letters_left = option.and_then(|option| option.get(inside..)).unwrap_or("");
        let mut set = |name: &str, text: String| self.assign(name, ShellValue::Scalar(text), None);
        let Some(letter) = letters_left.chars().next().filter(|letter| *letter != '-' || inside > 0) else {
            set(name, "?".to_owned());
            set("OPTIND", (at + usize::from(option == Some("-"))).to_string());
            self.world.shell.read_failed = true;
            self.tell_outcome(Some(false));
            return;
        };
        let attached = letters_left.get(letter.len_utf8()..).unwrap_or("").to_owned();
        let is_known = letters.contains(letter) && letter != ':';
        let takes_value = is_known && letters.contains(&format!("{letter}:"));
        let takes_word = takes_value && attached.is_empty();
        set(name, if is_known { letter.to_string() } else { "?".to_owned() });
        if takes_value {
            set("OPTARG", if takes_word { given.get(at).cloned().unwrap_or_default() } else { attached.clone() });
        } else if letters.starts_with(':') && !is_known {
            set("OPTARG", letter.to_string());
        }
        if takes_value || attached.is_empty() {
            set("OPTIND", (at + 1 + usize::from(takes_word)).to_string());
        } else {
            set(OPTION_PLACE, format!("{at} {}", inside + letter.len_utf8()));
        }
        self.tell_outcome(Some(true));
    }

    /// A declaration whose words have been expanded already, as behind `builtin`.
    fn declare_fields(&mut self, name: &str, arguments: &[String]) {
        let extent = self.trail.extent;
        let words: Vec<_> = arguments.iter().map(|text| crate::syntax::literal_word(text, extent)).collect();
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

    /// `read`: a line of known input into variables.
    fn read_variables(&mut self, arguments: &[String]) {
        let mut names = Vec::new();
        let mut array = None;
        let mut delimiter = '\n';
        let mut from = None;
        let mut length = None;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.is_empty() && names.is_empty()) else {
                names.push(word.clone());
                continue;
            };
            let Some((at, kind)) = flags.char_indices().find(|(_, flag)| "aditnNpu".contains(*flag)) else { continue };
            let attached = flags.get(at + 1..).unwrap_or("");
            let value =
                if attached.is_empty() { words.next().cloned().unwrap_or_default() } else { attached.to_owned() };
            match kind {
                'a' => array = Some(value),
                'd' => delimiter = value.chars().next().unwrap_or('\0'),
                'u' => from = value.parse::<u32>().ok(),
                'n' | 'N' => length = value.parse::<usize>().ok(),
                _ => {}
            }
        }
        let is_raw = arguments.iter().any(|word| word.starts_with('-') && word.contains('r'));
        let line = self.read_line(ReadLine { delimiter, from, length, is_raw });
        let separators = self.scalar("IFS").unwrap_or_else(|| " \t\n".to_owned());
        if let Some(array) = array {
            let items = split(&line, &separators, usize::MAX);
            return self.assign(&array, ShellValue::list(items), None);
        }
        if names.is_empty() {
            return self.assign("REPLY", ShellValue::Scalar(line), None);
        }
        let items = split(&line, &separators, names.len());
        for (at, name) in names.iter().enumerate() {
            let text = match items.get(at) {
                Some(text) => text.clone(),
                // Unknown text may have any number of words.
                None if line.contains(UNKNOWN) => UNKNOWN.to_string(),
                None => String::new(),
            };
            self.assign_named(name, text);
        }
    }

    fn read_line(&mut self, wanted: ReadLine) -> String {
        let ReadLine { delimiter, from, length, is_raw } = wanted;
        let input = match from {
            Some(number) => {
                self.world.shell.descriptors.get(&number).cloned().unwrap_or_else(|| UNKNOWN.to_string().into())
            }
            None => Rc::clone(&self.world.shell.input),
        };
        if input.is_empty() {
            // A terminal may have more.
            if self.world.shell.has_own_input {
                self.world.certainty.lose();
            }
            self.world.shell.read_failed = true;
        }
        // A last line without its end is read, too, but `read` fails.
        let is_known = !input.contains(UNKNOWN);
        let (line, rest, is_whole) = one_line(&input, delimiter, length, is_raw);
        self.tell_outcome(is_known.then_some(is_whole));
        match from {
            Some(number) => {
                Rc::make_mut(&mut self.world.shell.descriptors).insert(number, rest.into());
            }
            None => self.world.shell.input = rest.into(),
        }
        line
    }

    /// `mapfile`: lines of known input into an array.
    fn read_array(&mut self, arguments: &[String]) {
        let names: Vec<&String> = after_options(arguments, "dnOsucC").iter().collect();
        let name = names.first().map_or("MAPFILE", |name| name.as_str()).to_owned();
        let option = |flag: &str| {
            let at = arguments.iter().position(|word| word.starts_with(flag))?;
            let attached = arguments.get(at).and_then(|word| word.strip_prefix(flag)).filter(|rest| !rest.is_empty());
            attached.map(str::to_owned).or_else(|| arguments.get(at + 1).cloned())
        };
        let number = |flag: &str| option(flag).and_then(|text| text.parse::<usize>().ok());
        let delimiter = option("-d").map_or('\n', |text| text.chars().next().unwrap_or('\0'));
        let input = Rc::clone(&self.world.shell.input);
        let most = number("-n").filter(|most| *most > 0).unwrap_or(1024).min(1024);
        let lines = input.split_terminator(delimiter).skip(number("-s").unwrap_or(0)).take(most);
        let items: Vec<String> = lines.map(str::to_owned).collect();
        self.world.shell.input = "".into();
        // The callback gets the index of a line and the line.
        if let Some(callback) = option("-C") {
            for (at, item) in items.iter().take(8).enumerate() {
                let arguments = vec![at.to_string(), item.clone()];
                let before = std::mem::replace(&mut self.world.shell.arguments, Rc::new(arguments));
                self.run_derived(&format!("{callback} \"$@\""));
                self.world.shell.arguments = before;
            }
        }
        let first = number("-O").unwrap_or(0).min(1024);
        let items = std::iter::repeat_n(String::new(), first).chain(items).collect();
        self.assign(&name, ShellValue::list(items), None);
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

/// The part of the input that `read` takes.
#[derive(Debug, Clone, Copy)]
struct ReadLine {
    delimiter: char,
    /// `-u`
    from: Option<u32>,
    /// `-n`, `-N`
    length: Option<usize>,
    /// `-r`: a backslash is a letter like any other.
    is_raw: bool,
}

/// A line of the input, the input behind it, and whether its end was there.
fn one_line(input: &str, delimiter: char, length: Option<usize>, is_raw: bool) -> (String, &str, bool) {
    let mut line = String::new();
    let mut letters = input.char_indices();
    while let Some((at, letter)) = letters.next() {
        if length.is_some_and(|most| line.chars().count() >= most) {
            return (line, input.get(at..).unwrap_or(""), true);
        }
        match letter {
            _ if letter == delimiter => return (line, letters.as_str(), true),
            '\\' if !is_raw => match letters.next() {
                // The line goes on behind its end.
                Some((_, '\n')) | None => {}
                Some((_, escaped)) => line.push(escaped),
            },
            _ => line.push(letter),
        }
    }
    let is_whole = length.is_some_and(|most| most > 0 && line.chars().count() >= most);
    line.truncate(line.trim_end_matches('\n').len());
    (line, "", is_whole)
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

/// Splits as `read` does: the last part takes the rest of the line.
fn split(line: &str, separators: &str, most: usize) -> Vec<String> {
    let is_separator = |letter: char| separators.contains(letter);
    let blank = |letter: char| letter.is_ascii_whitespace() && is_separator(letter);
    let mut items = Vec::new();
    let mut rest = line.trim_matches(blank);
    while !rest.is_empty() {
        if items.len() + 1 >= most {
            items.push(rest.to_owned());
            break;
        }
        let Some(at) = rest.find(is_separator) else {
            items.push(rest.to_owned());
            break;
        };
        let (item, after) = rest.split_at(at);
        items.push(item.to_owned());
        rest = after.trim_start_matches(blank);
        if let Some(letter) = rest.chars().next().filter(|letter| is_separator(*letter)) {
            rest = rest.get(letter.len_utf8()..).unwrap_or("").trim_start_matches(blank);
        }
    }
    items
}
