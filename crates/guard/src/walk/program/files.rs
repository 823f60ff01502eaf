//! Files: those that the program opens, lists, reads and writes.

use std::rc::Rc;

use crate::marks::{NAME, STAR, TREE, UNKNOWN};
use crate::walk::files::FRESH_DIRECTORY;
use crate::walk::program::call::Given;
use crate::walk::program::paths::{joined_path, wild};
use crate::walk::program::value::{Cell, Dict, FileData, Id, Value};
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    /// The text of a file that the script or the program has written.
    pub(super) fn file_text(&mut self, path: &str) -> Option<String> {
        if path == "/dev/stdin" {
            let input = std::mem::replace(&mut self.input, Rc::from(""));
            return if input.is_empty() { None } else { Some(input.to_string()) };
        }
        self.walk.known_file(path).filter(|text| !text.is_empty()).map(|text| text.to_string())
    }

    /// The text that a value is written as.
    pub(super) fn content_of(&mut self, value: &Value) -> Run<String> {
        Ok(match value {
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::Object(_) if matches!(self.class_of(value), Value::Native(_)) => match self.bytes_of(value)? {
                Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                None => self.text_of(value)?.to_string(),
            },
            Value::List(_) => self.joined(value, "")?,
            value => self.text_of(value)?.to_string(),
        })
    }

    /// The names in a directory. Below a name of a listing, they may be at any depth.
    fn names_in(&mut self, directory: &str) -> char {
        if directory.contains([STAR, NAME, TREE]) {
            return TREE;
        }
        if self.walk.absolute(directory) == self.walk.directory() { STAR } else { NAME }
    }

    /// The paths of everything in a directory.
    pub(super) fn everything_in(directory: &str) -> String {
        let name = if directory.contains([STAR, NAME, TREE]) { TREE } else { STAR };
        if matches!(directory, "." | "" | "./") { name.to_string() } else { joined_path(directory, &name.to_string()) }
    }

    /// The rows of `os.walk`: the directory itself, and one below it.
    pub(super) fn walked(&mut self, top: &Rc<str>, is_path: bool) -> Value {
        let below = joined_path(top, &TREE.to_string());
        let mut rows = Vec::new();
        for directory in [top.to_string(), below] {
            let directory = if is_path { Value::Path(directory.into()) } else { Value::text(directory) };
            let names = self.heap.new_texts([TREE.to_string()]);
            let files = self.heap.new_texts([TREE.to_string()]);
            rows.push(Value::Tuple([directory, names, files].into()));
        }
        self.heap.new_list(rows)
    }

    /// Calls that list, open, read or write files. None if this is no such call.
    pub(super) fn file_call(&mut self, module: &str, base: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        let is_fs = matches!(module, "fs" | "fs-extra" | "Deno" | "Bun");
        Ok(Some(match base {
            "listdir" | "readdirSync" | "readdir" | "readDir" | "readDirSync" => self.listed(&first, given)?,
            "scandir" => {
                let directory = if first.is_nothing() { Rc::from(".") } else { self.text_of(&first)? };
                let found = Self::everything_in(&directory);
                self.heap.new_list(vec![Value::Path(found.into())])
            }
            "walk" | "fwalk" if module == "os" => {
                let top = self.text_of(&first)?;
                self.walked(&top, false)
            }
            "glob" | "iglob" | "globSync" if matches!(module, "glob" | "fs" | "fast-glob" | "") => {
                let pattern = self.text_of(&first)?;
                let root = match given.named("root_dir").cloned() {
                    Some(root) => self.text_of(&root)?,
                    None => Rc::from(""),
                };
                let found = joined_path(&root, &wild(&pattern));
                self.heap.new_texts([found])
            }
            "open" if matches!(module, "" | "io" | "codecs" | "os") => self.open_file(given)?,
            "openSync" | "createWriteStream" | "createReadStream" if is_fs => self.open_file(given)?,
            "StringIO" | "BytesIO" => {
                let text = if first.is_nothing() { String::new() } else { self.content_of(&first)? };
                let data = FileData { path: String::new(), text: Some(text), at: 0, is_memory: true };
                Value::File(self.heap.add(Cell::File(data)))
            }
            "readFileSync" | "readFile" | "readTextFileSync" | "readTextFile" | "readJsonSync" => {
                let path = if first.as_int() == Some(0) { Rc::from("/dev/stdin") } else { self.text_of(&first)? };
                let text = self.file_text(&path).map_or(Value::Unknown, Value::text);
                if base == "readJsonSync" { self.parsed_json(&text)? } else { text }
            }
            "writeFileSync" | "writeFile" | "appendFileSync" | "appendFile" | "writeTextFileSync"
            | "outputFileSync"
                if is_fs =>
            {
                let (path, text) = (self.text_of(&first)?, self.content_of(&given.at(1))?);
                self.walk.write_file(&path, &text, base.starts_with("append"));
                Value::Undefined
            }
            "symlink" | "symlinkSync" | "link" | "linkSync" if is_fs || module == "os" => {
                let (target, link) = (self.text_of(&first)?, self.text_of(&given.at(1))?);
                self.walk.link_file(&target, &link);
                Value::None
            }
            "copy" | "copyfile" | "copy2" | "copyFileSync" | "copyFile" | "copyfileobj"
                if is_fs || module == "shutil" =>
            {
                let (from, to) = (self.text_of(&first)?, self.text_of(&given.at(1))?);
                self.walk.copy_file(&from, &to);
                Value::Text(to)
            }
            "move" | "rename" | "renameSync" | "replace" | "moveSync" if is_fs || matches!(module, "shutil" | "os") => {
                let (from, to) = (self.text_of(&first)?, self.text_of(&given.at(1))?);
                self.walk.move_file(&from, &to);
                Value::Text(to)
            }
            "mkdtemp" | "mkdtempSync" => Value::text(FRESH_DIRECTORY),
            "TemporaryDirectory" => Value::text(FRESH_DIRECTORY),
            "gettempdir" => Value::text("/tmp"),
            "which" if module == "shutil" => {
                let name = self.text_of(&first)?;
                Value::text(format!("/usr/bin/{name}"))
            }
            _ => return Ok(None),
        }))
    }

    /// The names in a directory, as `readdir` gives them.
    fn listed(&mut self, directory: &Value, given: &Given) -> Run<Value> {
        let path = if directory.is_nothing() { Rc::from(".") } else { self.text_of(directory)? };
        let options = given.at(1);
        let option = |trial: &mut Self, name: &str| -> Run<bool> {
            match &options {
                Value::Dict(_) => {
                    let value = trial.item(&options, &Value::text(name))?;
                    Ok(trial.truth(&value) == Some(true))
                }
                _ => Ok(false),
            }
        };
        let name = if option(self, "recursive")? { TREE } else { self.names_in(&path) };
        if !option(self, "withFileTypes")? {
            return Ok(self.heap.new_texts([name.to_string()]));
        }
        let mut entry = Dict::default();
        entry.set("name", Value::text(name.to_string()));
        entry.set("path", Value::Text(Rc::clone(&path)));
        entry.set("parentPath", Value::Text(path));
        for kind in ["isDirectory", "isFile", "isSymbolicLink"] {
            entry.set(kind, Value::native("dirent.is"));
        }
        let entry = self.heap.new_dict(entry);
        Ok(self.heap.new_list(vec![entry]))
    }

    pub(super) fn open_file(&mut self, given: &Given) -> Run<Value> {
        let path = self.text_of(&given.at(0))?;
        let mode = match given.named_or("mode", 1).cloned() {
            Some(mode @ Value::Text(_)) => self.text_of(&mode)?,
            _ => Rc::from("r"),
        };
        let text = if mode.contains(['w', 'x']) {
            self.walk.write_file(&path, "", false);
            Some(String::new())
        } else {
            if self.fails_here(self.place) && !mode.contains('a') {
                return Err(self.exception("FileNotFoundError", ""));
            }
            self.file_text(&path)
        };
        let data = FileData { path: path.to_string(), text, at: 0, is_memory: false };
        Ok(Value::File(self.heap.add(Cell::File(data))))
    }

    /// The rest of a file; none if it is not known.
    fn rest_of_file(&mut self, id: Id) -> Option<String> {
        let file = self.heap.file_mut(id)?;
        let text = file.text.as_ref()?.get(file.at..)?.to_owned();
        file.at += text.len();
        Some(text)
    }

    pub(super) fn file_lines(&mut self, id: Id) -> Run<Vec<Value>> {
        Ok(match self.rest_of_file(id) {
            Some(text) => {
                self.spend(text.len() / 64)?;
                text.split_inclusive('\n').map(Value::text).collect()
            }
            None => vec![Value::Unknown],
        })
    }

    /// The lines of standard input.
    pub(super) fn input_lines(&mut self) -> Run<Vec<Value>> {
        let input = std::mem::replace(&mut self.input, Rc::from(""));
        self.spend(input.len() / 64)?;
        let is_python = self.is_python();
        let line = |line: &str| Value::text(if is_python { line } else { line.trim_end_matches('\n') });
        Ok(if input.is_empty() { vec![Value::Unknown] } else { input.split_inclusive('\n').map(line).collect() })
    }

    /// The next line of standard input.
    pub(super) fn input_line(&mut self) -> Option<String> {
        if self.input.is_empty() {
            return None;
        }
        let input = Rc::clone(&self.input);
        let (line, rest) = input.split_once('\n').unwrap_or((&input, ""));
        self.input = Rc::from(rest);
        Some(line.to_owned())
    }

    pub(super) fn file_method(&mut self, id: Id, name: &str, given: &Given) -> Run<Value> {
        let first = given.at(0);
        Ok(match name {
            "read" | "getvalue" | "text" | "readAll" | "toString" => {
                if name == "getvalue" {
                    let text = self.heap.file(id).and_then(|file| file.text.clone());
                    return Ok(text.map_or(Value::Unknown, Value::text));
                }
                self.rest_of_file(id).map_or(Value::Unknown, Value::text)
            }
            "readline" => match self.rest_of_file(id) {
                Some(text) => {
                    let line = text.split_inclusive('\n').next().unwrap_or("").to_owned();
                    if let Some(file) = self.heap.file_mut(id) {
                        file.at = file.at.saturating_sub(text.len() - line.len());
                    }
                    Value::text(line)
                }
                None => Value::Unknown,
            },
            "readlines" => {
                let lines = self.file_lines(id)?;
                self.heap.new_list(lines)
            }
            "write" | "writelines" | "end" => {
                if first.is_nothing() {
                    return Ok(Value::Undefined);
                }
                let text = if name == "writelines" { self.joined(&first, "")? } else { self.content_of(&first)? };
                let length = self.heap.file(id).and_then(|file| file.text.as_ref()).map_or(0, String::len);
                self.spend(8 + (length + text.len()) / 64)?;
                self.write_to(id, &text);
                Value::number(text.len())
            }
            "seek" => {
                if let Some(file) = self.heap.file_mut(id) {
                    file.at = first.as_int().and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
                }
                Value::None
            }
            "close" | "flush" | "fileno" | "truncate" | "on" | "once" => {
                self.call_back(given)?;
                Value::None
            }
            _ => Value::Unknown,
        })
    }

    fn write_to(&mut self, id: Id, text: &str) {
        let Some(file) = self.heap.file_mut(id) else { return };
        let known = file.text.get_or_insert_default();
        if known.len() + text.len() < 16 << 10 {
            known.push_str(text);
        }
        if !file.is_memory {
            let path = file.path.clone();
            self.walk.write_file(&path, text, true);
        }
    }

    /// Prints to standard output.
    pub(super) fn print(&mut self, text: &str) -> Run<()> {
        self.spend(text.len() / 128)?;
        if self.out.len() + text.len() < 32 << 10 {
            self.out.push_str(text);
        } else if !self.out.ends_with(UNKNOWN) {
            self.out.push(UNKNOWN);
        }
        Ok(())
    }
}
