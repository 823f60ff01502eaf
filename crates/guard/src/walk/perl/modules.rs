//! Functions and methods by their names: the program's own, and those of modules.

use std::cell::RefCell;
use std::rc::Rc;

use crate::marks::{UNKNOWN, has_mark};
use crate::rules;
use crate::walk::files::{FRESH_DIRECTORY, base_name, normalized};
use crate::walk::perl::ast::Expr;
use crate::walk::perl::parser::parsed;
use crate::walk::perl::run::{Leaving, Outcome, Perl};
use crate::walk::perl::value::{Closure, Val};

impl Perl<'_, '_> {
    /// The function of this name that the program defines.
    pub(super) fn code_named(&self, name: &str) -> Option<Rc<Closure>> {
        if self.subs.is_empty() {
            return None;
        }
        if name.contains("::") {
            return self.subs.get(name).cloned();
        }
        let own = format!("{}::{name}", self.package);
        let main = format!("main::{name}");
        self.subs.get(&own).or_else(|| self.subs.get(&main)).cloned()
    }

    /// Calls a function by its name; without arguments it gets those of the current one.
    pub(super) fn call_named(
        &mut self,
        name: &str,
        arguments: Option<Vec<Val>>,
        wants_list: bool,
    ) -> Outcome<Vec<Val>> {
        let arguments = match arguments {
            Some(arguments) => arguments,
            None => self.array_cell("_").borrow().clone(),
        };
        match self.code_named(name) {
            Some(code) => self.call_closure(&code, arguments, wants_list),
            None => self.system_function(name, arguments),
        }
    }

    pub(super) fn call_value(&mut self, code: &Val, arguments: Vec<Val>, wants_list: bool) -> Outcome<Vec<Val>> {
        match code {
            Val::Code(code) => self.call_closure(code, arguments, wants_list),
            Val::Text(name) if !has_mark(name) => {
                let name = name.trim_start_matches('&').to_owned();
                self.call_named(&name, Some(arguments), wants_list)
            }
            _ => {
                self.is_blind = true;
                Ok(vec![Val::unknown()])
            }
        }
    }

    /// Runs a text as a program.
    pub(super) fn evaluate_text(&mut self, code: &Val) -> Outcome<Vec<Val>> {
        let text = code.to_text();
        if has_mark(&text) {
            self.is_blind = true;
            self.runs_unknown |= text.contains(UNKNOWN);
            return Ok(vec![Val::unknown()]);
        }
        self.step(text.len() / 8)?;
        let Some(program) = parsed(&text) else {
            self.is_blind = true;
            self.walk.scan_code_text("perl", &text);
            return Ok(vec![Val::unknown()]);
        };
        self.guarded(|perl| perl.scoped(false, |perl| perl.body(&program.body, true)))
    }

    /// `do "file"`, `require "file"`
    pub(super) fn run_file(&mut self, name: &str, arguments: &[Expr]) -> Outcome<Vec<Val>> {
        let file = match arguments.first() {
            // `require Module`
            Some(Expr::Call(..)) | None => return Ok(vec![Val::Number(1.0)]),
            Some(file) => self.scalar(file)?.to_text(),
        };
        let is_module = name == "require" && !file.contains(['.', '/']);
        match self.walk.known_file(&file).filter(|_| !is_module) {
            Some(text) => self.evaluate_text(&Val::text(text)),
            None => Ok(vec![Val::unknown()]),
        }
    }

    pub(super) fn method(
        &mut self,
        object: &Expr,
        name: &Expr,
        arguments: &[Expr],
        wants_list: bool,
    ) -> Outcome<Vec<Val>> {
        let object = match object {
            Expr::Text(class) => Val::text(class),
            Expr::Call(class, given) if given.is_empty() && self.code_named(class).is_none() => {
                match self.constant(class) {
                    Some(mut values) => values.pop().unwrap_or(Val::Undefined),
                    None => self.scalar(object)?,
                }
            }
            object => self.scalar(object)?,
        };
        let name = self.scalar(name)?;
        let mut values = self.lists(arguments)?;
        let (is_super, name) = match name {
            Val::Code(code) => {
                values.insert(0, object);
                return self.call_closure(&code, values, wants_list);
            }
            name => {
                let name = name.to_text();
                match name.strip_prefix("SUPER::") {
                    Some(name) => (true, name.to_owned()),
                    None => (false, name),
                }
            }
        };
        let class = match &object {
            Val::Hash(hash) => hash.class.borrow().clone(),
            Val::Text(class) if !has_mark(class) => Some(class.to_string()),
            _ => None,
        };
        if let Some(class) = &class {
            let start =
                if is_super { self.bases.get(&self.package).cloned().unwrap_or_default() } else { vec![class.clone()] };
            if let Some(code) = start.iter().find_map(|class| self.method_of(class, &name, 0)) {
                values.insert(0, object);
                return self.call_closure(&code, values, wants_list);
            }
            if name == "can" {
                let wanted = values.first().map(Val::to_text).unwrap_or_default();
                return Ok(vec![self.method_of(class, &wanted, 0).map_or_else(|| Val::text(""), Val::Code)]);
            }
            if let Some(code) = self.method_of(class, "AUTOLOAD", 0) {
                self.scalar_cell("AUTOLOAD").replace(Val::text(format!("{class}::{name}")));
                values.insert(0, object);
                return self.call_closure(&code, values, wants_list);
            }
        }
        self.module_method(&object, &name, values)
    }

    fn method_of(&self, class: &str, name: &str, depth: usize) -> Option<Rc<Closure>> {
        if depth > 8 {
            return None;
        }
        let own = self.subs.get(&format!("{class}::{name}")).cloned();
        own.or_else(|| self.bases.get(class)?.iter().find_map(|base| self.method_of(base, name, depth + 1)))
    }

    /// Methods of modules that come with Perl, and of handles.
    fn module_method(&mut self, object: &Val, name: &str, values: Vec<Val>) -> Outcome<Vec<Val>> {
        let texts: Vec<String> = values.iter().map(Val::to_text).collect();
        let first = texts.first().cloned().unwrap_or_default();
        if let Val::Handle(handle) = object {
            let handle = Rc::clone(handle);
            return self.handle_method(&handle, name, &values);
        }
        let class = object.to_text();
        if class.starts_with("File::Spec") {
            return Ok(match name {
                "splitdir" => {
                    let path = self.walk.world.concrete(&first);
                    path.split('/').map(Val::text).collect()
                }
                "splitpath" => {
                    let (directory, base) =
                        first.rsplit_once('/').map_or((String::new(), first.clone()), |(directory, base)| {
                            (format!("{directory}/"), base.to_owned())
                        });
                    vec![Val::text(""), Val::text(directory), Val::text(base)]
                }
                "catdir" | "catfile" | "join" => vec![Val::text(joined(&texts))],
                "catpath" => vec![Val::text(joined(texts.get(1..).unwrap_or(&[])))],
                "rel2abs" => {
                    let base = texts.get(1).cloned().unwrap_or_else(|| self.walk.directory());
                    let is_whole = first.starts_with('/') || first.starts_with(crate::marks::is_mark);
                    vec![Val::text(if is_whole { first } else { normalized(&format!("{base}/{first}")) })]
                }
                "canonpath" => vec![Val::text(normalized_softly(&first))],
                "curdir" => vec![Val::text(".")],
                "updir" => vec![Val::text("..")],
                "rootdir" => vec![Val::text("/")],
                "tmpdir" => vec![Val::text("/tmp")],
                "devnull" => vec![Val::text("/dev/null")],
                "file_name_is_absolute" => vec![Val::flag(
                    first.starts_with('/') || first.starts_with([crate::marks::HOME, crate::marks::START]),
                )],
                "no_upwards" => {
                    values.into_iter().filter(|value| !matches!(value.to_text().as_str(), "." | "..")).collect()
                }
                _ => vec![Val::unknown()],
            });
        }
        Ok(vec![match (class.as_str(), name) {
            ("File::Temp", _) | (_, "tempdir") => Val::text(FRESH_DIRECTORY),
            ("Path::Tiny" | "Path::Class" | "IO::File", "new") => Val::text(first),
            ("Cwd", _) | (_, "cwd") => Val::text(self.walk.directory()),
            (_, "remove_tree" | "rmtree") => {
                if class.starts_with("File::Path") {
                    return self.system_function("remove_tree", values);
                }
                rules::deleted(self.walk, &class);
                Val::unknown()
            }
            (_, "remove" | "unlink" | "rmdir") if class.contains('/') || has_mark(&class) => {
                self.delete(&class);
                Val::unknown()
            }
            (_, "child" | "subdir" | "file") => {
                Val::text(joined(&std::iter::once(class).chain(texts).collect::<Vec<_>>()))
            }
            (_, "parent") if class.contains('/') || has_mark(&class) => Val::text(self.directory_of(&class)),
            (_, "children" | "list") => Val::text(below(&class, crate::marks::STAR)),
            (_, "stringify" | "absolute" | "realpath" | "canonpath" | "assert") => object.clone(),
            (_, "basename") => Val::text(base_name(&class)),
            (_, "slurp" | "slurp_utf8" | "slurp_raw") => Val::text(self.walk.read_file(&class)),
            (_, "spew" | "spew_utf8") => {
                self.walk.write_file(&class, &texts.concat(), false);
                Val::Number(1.0)
            }
            (_, "isa" | "DOES") => Val::unknown(),
            (_, "import" | "autoflush" | "binmode") => Val::Number(1.0),
            _ if class.contains("::") && !has_mark(&class) => {
                // `File::Path->remove_tree`, `IPC::Cmd->run`
                return self.system_function(name, values);
            }
            _ => {
                for value in values.iter().take(4) {
                    if let Val::Code(code) = value {
                        self.call_closure(code, Vec::new(), false)?;
                    }
                }
                Val::unknown()
            }
        }])
    }

    fn handle_method(
        &mut self,
        handle: &Rc<RefCell<super::value::Handle>>,
        name: &str,
        values: &[Val],
    ) -> Outcome<Vec<Val>> {
        let text: String = values.iter().map(Val::to_text).collect();
        match name {
            "print" | "syswrite" | "write" => self.write_to(handle, &text),
            "say" => self.write_to(handle, &format!("{text}\n")),
            "printf" => {
                let format = values.first().map(Val::to_text).unwrap_or_default();
                let text = super::text::formatted(&format, values.get(1..).unwrap_or(&[]));
                self.write_to(handle, &text);
            }
            "close" => self.close(handle)?,
            "getline" | "getlines" | "read" => {
                let mut handle = handle.borrow_mut();
                let count = if name == "getline" { 1 } else { handle.lines.len() };
                let lines: Vec<Val> = handle.lines.iter().skip(handle.at).take(count).map(Val::text).collect();
                handle.at += count;
                return Ok(if lines.is_empty() { vec![Val::Undefined] } else { lines });
            }
            _ => {}
        }
        Ok(vec![Val::Number(1.0)])
    }

    pub(super) fn directory_of(&mut self, path: &str) -> String {
        let path = self.walk.world.concrete(path);
        let trimmed = path.trim_end_matches('/');
        match trimmed.rsplit_once('/') {
            Some(("", _)) => "/".to_owned(),
            Some((directory, _)) => self.walk.world.symbolic(directory),
            None if path.starts_with('/') => "/".to_owned(),
            None if path.contains(UNKNOWN) => UNKNOWN.to_string(),
            None => ".".to_owned(),
        }
    }

    pub(super) fn base(&mut self, texts: &[String]) -> String {
        let path = texts.first().map(|path| self.walk.world.concrete(path)).unwrap_or_default();
        let base = base_name(&path);
        let suffix = texts.iter().skip(1).find(|suffix| base.ends_with(suffix.as_str()) && base != suffix.as_str());
        suffix.map_or(base, |suffix| base.strip_suffix(suffix.as_str()).unwrap_or(base)).to_owned()
    }

    /// Runs the blocks behind `END`, and closes everything that is open.
    pub(super) fn finish(&mut self) -> Outcome<()> {
        for handle in std::mem::take(&mut self.opened) {
            self.close(&handle)?;
        }
        while let Some(body) = self.ends.pop() {
            if let Err(Leaving::Stop) = self.scoped(false, |perl| perl.body(&body, false)) {
                return Err(Leaving::Stop);
            }
        }
        Ok(())
    }
}

/// Parts of a path, put together.
fn joined(parts: &[String]) -> String {
    let path = parts.join("/");
    normalized_softly(&path)
}

/// A path without doubled slashes and dots; `..` stays.
fn normalized_softly(path: &str) -> String {
    let is_rooted = path.starts_with('/');
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let joined = parts.join("/");
    match (is_rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// Everything in a directory.
pub(super) fn below(directory: &str, pattern: char) -> String {
    let directory = directory.trim_end_matches("/.");
    if matches!(directory, "." | "" | "./") {
        pattern.to_string()
    } else {
        format!("{}/{pattern}", directory.trim_end_matches('/'))
    }
}
