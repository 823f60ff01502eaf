//! Effects of Perl: commands, files, directories.

use std::cell::RefCell;
use std::rc::Rc;

use crate::marks::{HOME, NAME, STAR, TREE, UNKNOWN, alive, has_mark};
use crate::rules;
use crate::walk::files::FRESH_DIRECTORY;
use crate::walk::perl::ast::Expr;
use crate::walk::perl::run::{Leaving, Outcome, Perl};
use crate::walk::perl::value::{Handle, Val};
use crate::walk::state::ShellValue;

impl Perl<'_, '_> {
    /// Runs words, or a script if there is one word. Gives the output.
    pub(super) fn run_words(&mut self, words: &[String], input: Option<String>) -> Outcome<String> {
        self.step(2)?;
        let is_unknown = words.first().is_none_or(|word| word.starts_with(UNKNOWN));
        self.is_blind |= is_unknown;
        self.runs_unknown |= is_unknown;
        let environment = self.environment.clone();
        let words = words.to_vec();
        Ok(self.walk.capturing(|walk| {
            walk.subshell(|walk| {
                for (name, value) in environment {
                    match value {
                        Some(value) => {
                            walk.assign(&name, ShellValue::Scalar(value), None);
                            walk.world.shell.variable_mut(&name).exported = true;
                        }
                        None => walk.world.shell.restore(&name, None),
                    }
                }
                if let Some(input) = input {
                    walk.world.shell.input = input.into();
                }
                match words.as_slice() {
                    [script] => walk.script_in_code(script, None),
                    _ => {
                        walk.world.nested += 1;
                        walk.call(words);
                        walk.world.nested -= 1;
                    }
                }
            });
        }))
    }

    /// Functions that do something outside of the program. Those that are not known call the functions among their arguments.
    pub(super) fn system_function(&mut self, name: &str, values: Vec<Val>) -> Outcome<Vec<Val>> {
        let texts: Vec<String> = values.iter().map(Val::to_text).collect();
        let first = texts.first().cloned().unwrap_or_default();
        let short = name.rsplit("::").next().unwrap_or(name);
        let value = match short {
            "system" | "exec" | "systemx" | "system as" | "exec as" => {
                let words = if short.ends_with(" as") { texts.get(1..).unwrap_or(&[]).to_vec() } else { texts };
                let words = program_first(words, short.ends_with(" as").then_some(first));
                let output = self.run_words(&words, None)?;
                self.write_out(&output);
                if short.starts_with("exec") {
                    return Err(Leaving::Exit);
                }
                Val::unknown()
            }
            "capture" | "capturex" | "backtick" => {
                let output = self.run_words(&texts, None)?;
                Val::text(output)
            }
            "open2" | "open3" => {
                let from = if short == "open2" { 2 } else { 3 };
                let words = texts.get(from..).unwrap_or(&[]).to_vec();
                let output = self.run_words(&words, None)?;
                for handle in values.iter().take(from) {
                    if let Val::Handle(handle) = handle {
                        *handle.borrow_mut() =
                            Handle { lines: lines_of(&output), command: Some(words.clone()), ..Handle::default() };
                    }
                }
                Val::unknown()
            }
            "run" | "start" | "run3" | "run_cmd" => {
                self.run_list(&values)?;
                Val::unknown()
            }
            "unlink" => {
                texts.iter().for_each(|path| self.delete(path));
                Val::unknown()
            }
            "rmdir" => {
                self.delete(&first);
                Val::unknown()
            }
            "remove_tree" | "rmtree" | "remove" | "rmdir_recursive" | "pathrmdir" | "pathrm" | "rcopy_rm" => {
                for path in &values {
                    self.delete_trees(path);
                }
                Val::unknown()
            }
            "make_path" | "mkpath" | "mkdir" => {
                for path in texts.iter().take(if short == "mkdir" { 1 } else { usize::MAX }) {
                    let path = self.walk.absolute(path);
                    self.walk.world.files.note_made(path);
                }
                Val::Number(1.0)
            }
            "chdir" => {
                let path = if values.is_empty() { HOME.to_string() } else { first };
                let path = self.walk.absolute(&path);
                self.walk.world.shell.set_directory(path);
                Val::Number(1.0)
            }
            "rename" | "move" | "mv" => {
                let to = texts.get(1).cloned().unwrap_or_default();
                self.walk.move_file(&first, &to);
                self.walk.copy_file(&first, &to);
                Val::Number(1.0)
            }
            "copy" | "cp" | "link" => {
                let to = texts.get(1).cloned().unwrap_or_default();
                self.walk.copy_file(&first, &to);
                Val::Number(1.0)
            }
            "symlink" => {
                let to = texts.get(1).cloned().unwrap_or_default();
                self.walk.link_file(&first, &to);
                Val::Number(1.0)
            }
            "glob" | "bsd_glob" | "csh_glob" => return Ok(globbed(&first)),
            "getcwd" | "cwd" | "fastcwd" => Val::text(self.walk.directory()),
            "abs_path" | "realpath" | "rel2abs" => {
                let path = if values.is_empty() { ".".to_owned() } else { first };
                Val::text(self.walk.real_path(&path))
            }
            "basename" => Val::text(self.base(&texts)),
            "dirname" => Val::text(self.directory_of(&first)),
            "tempdir" => Val::text(FRESH_DIRECTORY),
            "readlink" => Val::text(self.walk.real_path(&first)),
            "find" | "finddepth" | "find_file" => {
                self.find(&values)?;
                Val::Undefined
            }
            "path" | "dir" | "file" => Val::text(texts.join("/")),
            "print" => Val::Number(1.0),
            "read_file" | "slurp" | "read_text" => Val::text(self.walk.read_file(&first)),
            "write_file" | "spew" | "write_text" => {
                self.walk.write_file(&first, &texts.get(1..).unwrap_or(&[]).concat(), false);
                Val::Number(1.0)
            }
            "shell_quote" => Val::text(
                texts.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" "),
            ),
            "import" | "VERSION" => Val::Number(1.0),
            _ => {
                if let Some(values) = self.constant(short) {
                    return Ok(values);
                }
                return self.unknown_function(name, values);
            }
        };
        Ok(vec![value])
    }

    /// A function that nobody defines: the one that the program has for these, or something unknown.
    fn unknown_function(&mut self, name: &str, values: Vec<Val>) -> Outcome<Vec<Val>> {
        if let Some(code) = self.code_named("AUTOLOAD") {
            self.scalar_cell("AUTOLOAD").replace(Val::text(format!("{}::{name}", self.package)));
            return self.call_closure(&code, values, true);
        }
        let is_bare = values.is_empty() && name.starts_with(|letter: char| letter.is_ascii_uppercase());
        if is_bare {
            return Ok(vec![Val::text(name)]);
        }
        for value in values.iter().take(4) {
            if let Val::Code(code) = value {
                self.call_closure(code, Vec::new(), false)?;
            }
        }
        Ok(vec![Val::unknown()])
    }

    /// `run(\@words)`, `run(command => …)` of several modules.
    fn run_list(&mut self, values: &[Val]) -> Outcome<()> {
        let mut values = values.iter().peekable();
        while let Some(value) = values.next() {
            let words = match value {
                Val::Array(words) => words.borrow().iter().map(Val::to_text).collect(),
                Val::Text(text) if text.as_ref() == "command" => match values.next() {
                    Some(Val::Array(words)) => words.borrow().iter().map(Val::to_text).collect(),
                    Some(script) => vec![script.to_text()],
                    None => Vec::new(),
                },
                Val::Text(text) if text.contains(' ') => vec![text.to_string()],
                _ => Vec::new(),
            };
            if !words.is_empty() {
                let output = self.run_words(&words, None)?;
                self.write_out(&output);
            }
        }
        Ok(())
    }

    pub(super) fn write_out(&mut self, text: &str) {
        match &mut self.edited {
            Some(file) => file.push_str(text),
            None => self.walk.write(text),
        }
    }

    /// Deletes one file or one empty directory.
    pub(super) fn delete(&mut self, path: &str) {
        self.is_blind |= path.chars().all(|letter| letter == UNKNOWN) && !path.is_empty();
        self.walk.delete_listed(path);
    }

    fn delete_trees(&mut self, value: &Val) {
        match value {
            Val::Array(paths) => {
                let paths = paths.borrow().clone();
                paths.iter().for_each(|path| self.delete_trees(path));
            }
            Val::Text(path) => {
                self.is_blind |= value.is_unknown();
                rules::deleted(self.walk, path);
            }
            _ => {}
        }
    }

    /// `find(sub { … }, directories)`: the function sees every file below them.
    fn find(&mut self, values: &[Val]) -> Outcome<()> {
        let wanted = match values.first() {
            Some(Val::Hash(options)) => options.entries.borrow().get("wanted").cloned(),
            other => other.cloned(),
        };
        let Some(Val::Code(code)) = wanted else { return Ok(()) };
        for directory in values.iter().skip(1) {
            let directory = directory.to_text();
            let path = crate::walk::perl::modules::below(&directory, TREE);
            self.scalar_cell("_").replace(Val::text(&path));
            self.scalar_cell("File::Find::name").replace(Val::text(&path));
            self.scalar_cell("File::Find::dir").replace(Val::text(&directory));
            match self.call_closure(&code, Vec::new(), false) {
                Err(Leaving::Next(_) | Leaving::Return(_)) | Ok(_) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    pub(super) fn file_test(&mut self, test: char, path: &Expr) -> Outcome<Val> {
        let path = self.scalar(path)?;
        let text = path.to_text();
        if !path.is_defined() || text.is_empty() {
            return Ok(Val::flag(false));
        }
        let full = self.walk.absolute(&text);
        if !has_mark(&full) && test != 'l' {
            let is_file = self.walk.world.files.texts.contains_key(&full);
            if is_file && matches!(test, 'e' | 'f' | 'r') {
                return Ok(Val::flag(true));
            }
            if is_file && test == 'd' {
                return Ok(Val::flag(false));
            }
        }
        // Few files are links, and code that looks for them goes on with the others.
        Ok(if test == 'l' { Val::flag(false) } else { Val::unknown() })
    }

    /// `open`, `opendir`, `close` and their like.
    pub(super) fn handle_function(&mut self, name: &str, arguments: &[Expr]) -> Outcome<Val> {
        let Some((place, rest)) = arguments.split_first() else { return Ok(Val::unknown()) };
        match name {
            "open" | "opendir" => {
                let values = self.lists(rest)?;
                let handle = if name == "open" { self.opened(&values)? } else { self.directory(&values) };
                let handle = Rc::new(RefCell::new(handle));
                self.opened.push(Rc::clone(&handle));
                match place {
                    Expr::Text(word) => drop(self.handles.insert(word.clone(), handle)),
                    Expr::Call(word, _) => drop(self.handles.insert(word.clone(), handle)),
                    place => self.assign(place, Val::Handle(handle))?,
                }
                // A forked child goes on with the program as its command.
                let forks =
                    values.len() == 1 && matches!(values.first().map(Val::to_text).as_deref(), Some("-|" | "|-"));
                Ok(if forks { Val::unknown() } else { Val::Number(1.0) })
            }
            "close" | "closedir" => {
                if let Some(handle) = self.handle_of(place)? {
                    self.close(&handle)?;
                }
                Ok(Val::unknown())
            }
            "eof" => {
                let handle = self.handle_of(place)?;
                Ok(handle.map_or_else(Val::unknown, |handle| {
                    let handle = handle.borrow();
                    Val::flag(handle.at >= handle.lines.len())
                }))
            }
            "select" => {
                if let Some(handle) = self.handle_of(place)? {
                    self.selected = Some(Val::Handle(handle));
                } else if matches!(place, Expr::Text(name) if name == "STDOUT") {
                    self.selected = None;
                }
                Ok(Val::text("STDOUT"))
            }
            _ => Ok(Val::Number(1.0)),
        }
    }

    /// The words of `open`: a file, a pipe or a text.
    fn opened(&mut self, values: &[Val]) -> Outcome<Handle> {
        let mode = values.first().map(Val::to_text).unwrap_or_default();
        let mode = mode.trim();
        let words: Vec<String> = values.iter().skip(1).map(Val::to_text).collect();
        if let Some(Val::Scalar(cell)) = values.get(1) {
            let is_output = mode.starts_with('>');
            let text = cell.borrow().to_text();
            let lines = if is_output { Vec::new() } else { lines_of(&text) };
            return Ok(Handle { lines, target: is_output.then(|| Rc::clone(cell)), ..Handle::default() });
        }
        if mode == "-|" && !words.is_empty() {
            let output = self.run_words(&words, None)?;
            return Ok(Handle { lines: lines_of(&output), ..Handle::default() });
        }
        if mode == "|-" && !words.is_empty() {
            return Ok(Handle { command: Some(words), ..Handle::default() });
        }
        if let Some(script) = mode.strip_prefix('|').filter(|script| *script != "-") {
            return Ok(Handle { command: Some(vec![script.trim().to_owned()]), ..Handle::default() });
        }
        if let Some(script) = mode.strip_suffix('|').filter(|script| *script != "-") {
            let output = self.run_words(&[script.trim().to_owned()], None)?;
            return Ok(Handle { lines: lines_of(&output), ..Handle::default() });
        }
        let path = words.first().cloned().unwrap_or_else(|| mode.trim_start_matches(['<', '>', '+', ' ']).to_owned());
        if mode.contains(">&") {
            return Ok(Handle { is_output: !path.contains("ERR"), ..Handle::default() });
        }
        if mode.starts_with('>') || mode.starts_with("+>") {
            if !mode.contains(">>") {
                self.walk.write_file(&path, "", false);
            }
            return Ok(Handle { path: Some(path), ..Handle::default() });
        }
        let text =
            if path == "-" { self.walk.world.shell.input.to_string() } else { self.walk.read_file(&path).to_string() };
        Ok(Handle { lines: lines_of(&text), ..Handle::default() })
    }

    fn directory(&mut self, values: &[Val]) -> Handle {
        let path = values.first().map(Val::to_text).unwrap_or_default();
        let is_here = self.walk.absolute(&path) == self.walk.directory();
        let name = if is_here { STAR } else { NAME };
        // Two levels below a directory show everything that deeper ones do.
        let levels = path.split('/').filter(|part| part.contains([STAR, NAME, TREE])).count();
        if levels > 1 {
            return Handle::default();
        }
        Handle { lines: vec![".".to_owned(), "..".to_owned(), name.to_string()], ..Handle::default() }
    }

    /// Ends a handle: a command that reads what was written runs now.
    pub(super) fn close(&mut self, handle: &Rc<RefCell<Handle>>) -> Outcome<()> {
        let (command, written) = {
            let mut handle = handle.borrow_mut();
            (handle.command.take(), std::mem::take(&mut handle.written))
        };
        if let Some(words) = command {
            let output = self.run_words(&words, Some(written))?;
            self.write_out(&output);
        }
        Ok(())
    }

    /// The handle that an expression means; none for standard output and unknown ones.
    pub(super) fn handle_of(&mut self, place: &Expr) -> Outcome<Option<Rc<RefCell<Handle>>>> {
        let value = match place {
            Expr::Text(name) | Expr::Glob(name) => Val::text(name),
            Expr::Call(name, arguments) if arguments.is_empty() => Val::text(name),
            place => self.scalar(place)?,
        };
        Ok(match value {
            Val::Handle(handle) => Some(handle),
            Val::Text(name) => self.handles.get(name.trim_start_matches('*')).cloned(),
            _ => None,
        })
    }

    pub(super) fn read_directory(&mut self, arguments: &[Expr]) -> Outcome<Val> {
        let Some(handle) = arguments.first() else { return Ok(Val::Undefined) };
        let Some(handle) = self.handle_of(handle)? else { return Ok(Val::Undefined) };
        let mut handle = handle.borrow_mut();
        let line = handle.lines.get(handle.at).cloned();
        handle.at += 1;
        Ok(line.map_or(Val::Undefined, Val::text))
    }

    pub(super) fn read_directories(&mut self, arguments: &[Expr]) -> Outcome<Vec<Val>> {
        let mut names = Vec::new();
        loop {
            let name = self.read_directory(arguments)?;
            if !name.is_defined() {
                return Ok(names);
            }
            names.push(name);
        }
    }

    /// The next line of a file.
    pub(super) fn read_line(&mut self, place: &Expr) -> Outcome<Val> {
        self.step(1)?;
        let Some(handle) = self.reader(place)? else { return Ok(Val::unknown()) };
        let separator = self.scalar_cell("/").borrow().clone();
        let mut handle = handle.borrow_mut();
        if handle.at >= handle.lines.len() {
            return Ok(Val::Undefined);
        }
        if !separator.is_defined() {
            let text: String = handle.lines.iter().skip(handle.at).cloned().collect();
            handle.at = handle.lines.len();
            return Ok(Val::text(text));
        }
        let line = handle.lines.get(handle.at).cloned().unwrap_or_default();
        handle.at += 1;
        Ok(Val::text(line))
    }

    pub(super) fn read_lines(&mut self, place: &Expr) -> Outcome<Vec<Val>> {
        let mut lines = Vec::new();
        if self.reader(place)?.is_none() {
            return Ok(vec![Val::unknown()]);
        }
        loop {
            let line = self.read_line(place)?;
            if !line.is_defined() || lines.len() > 1024 {
                return Ok(lines);
            }
            lines.push(line);
        }
    }

    fn reader(&mut self, place: &Expr) -> Outcome<Option<Rc<RefCell<Handle>>>> {
        let name = match place {
            Expr::Text(name) => name.clone(),
            _ => String::new(),
        };
        if let Some(handle) = self.handle_of(place)? {
            return Ok(Some(handle));
        }
        let text = match name.as_str() {
            "STDIN" => or_unknown(self.walk.world.shell.input.to_string()),
            "ARGV" => {
                let files = self.array_cell("ARGV").take();
                if files.is_empty() {
                    or_unknown(self.walk.world.shell.input.to_string())
                } else {
                    files.iter().map(|file| self.walk.read_file(&file.to_text()).to_string()).collect()
                }
            }
            _ => return Ok(None),
        };
        let handle = Rc::new(RefCell::new(Handle { lines: lines_of(&text), ..Handle::default() }));
        self.handles.insert(name, Rc::clone(&handle));
        Ok(Some(handle))
    }

    /// `print`, `say` and `printf`.
    pub(super) fn print(&mut self, kind: &str, place: Option<&Expr>, items: &[Expr]) -> Outcome<Val> {
        let mut values = self.lists(items)?;
        if items.is_empty() {
            values.push(self.topic());
        }
        let special = |perl: &mut Self, name: &str| {
            let cell = perl.scalar_cell(name);
            let text = cell.borrow().to_text();
            text
        };
        let text = if kind == "printf" {
            let format = values.first().map(Val::to_text).unwrap_or_default();
            crate::walk::perl::text::formatted(&format, values.get(1..).unwrap_or(&[]))
        } else {
            let separator = special(self, ",");
            let mut text = values.iter().map(Val::to_text).collect::<Vec<_>>().join(&separator);
            text.push_str(if kind == "say" { "\n" } else { "" });
            text.push_str(&special(self, "\\"));
            text
        };
        self.step(text.len() / 256)?;
        let selected = self.selected.clone();
        match (place, selected) {
            (Some(Expr::Text(name)), _) if name == "STDERR" => {}
            (Some(Expr::Text(name)), _) if name == "STDOUT" => self.write_out(&text),
            (Some(place), _) => match self.handle_of(place)? {
                Some(handle) => self.write_to(&handle, &text),
                None => {}
            },
            (None, Some(Val::Handle(handle))) => self.write_to(&handle, &text),
            (None, _) => self.write_out(&text),
        }
        Ok(Val::Number(1.0))
    }

    pub(super) fn write_to(&mut self, handle: &Rc<RefCell<Handle>>, text: &str) {
        let path = handle.borrow().path.clone();
        if let Some(path) = path {
            return self.walk.write_file(&path, text, true);
        }
        if handle.borrow().is_output {
            return self.write_out(text);
        }
        let mut handle = handle.borrow_mut();
        if let Some(target) = &handle.target {
            let before = target.borrow().to_text();
            target.replace(Val::text(format!("{before}{text}")));
        } else if handle.written.len() + text.len() < super::expressions::LONGEST {
            handle.written.push_str(text);
        } else {
            handle.written.push(UNKNOWN);
        }
    }
}

/// The program of `system { $program } @words` in place of the first word, which only names it.
fn program_first(mut words: Vec<String>, program: Option<String>) -> Vec<String> {
    if let (Some(program), Some(first)) = (program, words.first_mut()) {
        *first = program;
    }
    words
}

/// Input that is not there may be typed.
fn or_unknown(text: String) -> String {
    if text.is_empty() { format!("{UNKNOWN}\n") } else { text }
}

/// The lines of a text, each with its end.
pub(super) fn lines_of(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// The names that patterns stand for.
fn globbed(patterns: &str) -> Vec<Val> {
    let words = patterns.split_whitespace().flat_map(|word| {
        let mut out = Vec::new();
        braces(word, 0, &mut out);
        out
    });
    let found = words.map(|word| {
        let word = match word.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{HOME}{rest}"),
            _ => word,
        };
        Val::text(alive(&word))
    });
    found.collect()
}

/// `{a,b}` in a pattern.
fn braces(word: &str, depth: usize, out: &mut Vec<String>) {
    let parts = word
        .split_once('{')
        .and_then(|(before, rest)| rest.split_once('}').map(|(inside, after)| (before, inside, after)));
    match parts {
        Some((before, inside, after)) if depth < 4 && out.len() < 64 => {
            for choice in inside.split(',') {
                braces(&format!("{before}{choice}{after}"), depth + 1, out);
            }
        }
        _ => out.push(word.to_owned()),
    }
}
