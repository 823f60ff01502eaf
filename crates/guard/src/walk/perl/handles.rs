//! Files, pipes and directories that a Perl program opens, reads and writes.

use crate::marks::{NAME, STAR, TREE, UNKNOWN};
use crate::walk::perl::ast::Expr;
use crate::walk::perl::run::{Outcome, Perl};
use crate::walk::perl::value::{Handle, Val};
use std::cell::RefCell;
use std::rc::Rc;

impl Perl<'_, '_> {
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
                    Expr::Text(word) | Expr::Call(word, _) => drop(self.handles.insert(word.clone(), handle)),
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
    pub(super) fn opened(&mut self, values: &[Val]) -> Outcome<Handle> {
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

    pub(super) fn directory(&mut self, values: &[Val]) -> Handle {
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

    pub(super) fn reader(&mut self, place: &Expr) -> Outcome<Option<Rc<RefCell<Handle>>>> {
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

            cell.borrow().to_text()
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
            (Some(place), _) => {
                if let Some(handle) = self.handle_of(place)? {
                    self.write_to(&handle, &text);
                }
            }
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

/// Input that is not there may be typed.
fn or_unknown(text: String) -> String {
    if text.is_empty() { format!("{UNKNOWN}\n") } else { text }
}

/// The lines of a text, each with its end.
pub(super) fn lines_of(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}
