//! Effects of Perl: commands, files, directories.

use crate::marks::{HOME, TREE, UNKNOWN, alive, has_mark};
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
                if let [script] = words.as_slice() {
                    walk.script_in_code(script, None);
                } else {
                    walk.world.nested += 1;
                    walk.call(words);
                    walk.world.nested -= 1;
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
                        *handle.borrow_mut() = Handle {
                            lines: super::handles::lines_of(&output),
                            command: Some(words.clone()),
                            ..Handle::default()
                        };
                    }
                }
                Val::unknown()
            }
            "run" | "start" | "run3" | "run_cmd" => {
                self.run_list(&values)?;
                Val::unknown()
            }
            "unlink" => {
                for path in &texts {
                    self.delete(path);
                }
                Val::unknown()
            }
            "rmdir" => {
                self.delete(&first);
                Val::unknown()
            }
            "remove_tree" | "rmtree" | "remove" | "rmdir_recursive" | "pathrmdir" | "pathrm" | "rcopy_rm" => {
                for path in &values {
                    self.delete_trees(path, 0);
                }
                Val::unknown()
            }
            _ => return self.path_function(name, short, values, &texts),
        };
        Ok(vec![value])
    }

    /// Functions of files and paths.
    fn path_function(&mut self, name: &str, short: &str, values: Vec<Val>, texts: &[String]) -> Outcome<Vec<Val>> {
        let first = texts.first().cloned().unwrap_or_default();
        let value = match short {
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
            "basename" => Val::text(self.base(texts)),
            "dirname" => Val::text(self.directory_of(&first)),
            "tempdir" => Val::text(FRESH_DIRECTORY),
            "readlink" => Val::text(self.walk.real_path(&first)),
            "find" | "finddepth" | "find_file" => {
                self.find(&values)?;
                Val::Undefined
            }
            "path" | "dir" | "file" => Val::text(texts.join("/")),
            "read_file" | "slurp" | "read_text" => Val::text(self.walk.read_file(&first)),
            "write_file" | "spew" | "write_text" => {
                self.walk.write_file(&first, &texts.get(1..).unwrap_or(&[]).concat(), false);
                Val::Number(1.0)
            }
            "shell_quote" => Val::text(
                texts.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" "),
            ),
            "print" | "import" | "VERSION" => Val::Number(1.0),
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
    pub(super) fn unknown_function(&mut self, name: &str, values: Vec<Val>) -> Outcome<Vec<Val>> {
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
    pub(super) fn run_list(&mut self, values: &[Val]) -> Outcome<()> {
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

    pub(super) fn delete_trees(&mut self, value: &Val, depth: usize) {
        match value {
            // A list may hold itself.
            Val::Array(paths) if depth < 4 => {
                let paths = paths.borrow().clone();
                for path in &paths {
                    self.delete_trees(path, depth + 1);
                }
            }
            Val::Text(path) => {
                self.is_blind |= value.is_unknown();
                rules::deleted(self.walk, path);
            }
            _ => {}
        }
    }

    /// `find(sub { … }, directories)`: the function sees every file below them.
    pub(super) fn find(&mut self, values: &[Val]) -> Outcome<()> {
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

    pub(super) fn file_test(&mut self, kind: char, path: &Expr) -> Outcome<Val> {
        let value = self.scalar(path)?;
        let text = value.to_text();
        if !value.is_defined() || text.is_empty() {
            return Ok(Val::flag(false));
        }
        let full = self.walk.absolute(&text);
        if !has_mark(&full) && kind != 'l' {
            let is_file = self.walk.world.files.texts.contains_key(&full);
            if is_file && matches!(kind, 'e' | 'f' | 'r') {
                return Ok(Val::flag(true));
            }
            if is_file && kind == 'd' {
                return Ok(Val::flag(false));
            }
        }
        // Few files are links, and code that looks for them goes on with the others.
        Ok(if kind == 'l' { Val::flag(false) } else { Val::unknown() })
    }
}

/// The program of `system { $program } @words` in place of the first word, which only names it.
fn program_first(mut words: Vec<String>, program: Option<String>) -> Vec<String> {
    if let (Some(program), Some(first)) = (program, words.first_mut()) {
        *first = program;
    }
    words
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
