//! Commands that the program runs, paths that it deletes, and its environment.

use std::rc::Rc;

use crate::marks::{HOME, NAME, STAR, TREE, UNKNOWN, is_source};
use crate::rules;
use crate::walk::program::value::{ProcessData, Value, is_doubtful, unknown_like};
use crate::walk::program::{Run, Stop, Trial, parsed};
use crate::walk::state::ShellValue;

/// Nested expressions that count as one nested command.
const DEPTH_A_LEVEL: usize = 8;

impl Trial<'_, '_> {
    /// Runs a command and returns its output.
    pub(super) fn execute(&mut self, data: &ProcessData) -> Run<String> {
        self.spend(16)?;
        self.note_words(&data.words);
        let input = if data.input.is_empty() && self.is_file { self.input.to_string() } else { data.input.clone() };
        // A program that runs a program that runs a program: their depths add up.
        let levels = self.depth / DEPTH_A_LEVEL;
        for level in 0..levels {
            if !self.walk.budget.enter() {
                (0..level).for_each(|_| self.walk.budget.leave());
                return Err(Stop::Halt);
            }
        }
        let walk = &mut *self.walk;
        let output = walk.capturing(|walk| {
            walk.subshell(|walk| {
                if let Some(directory) = &data.directory {
                    let path = walk.absolute(directory);
                    walk.world.shell.set_directory(path);
                }
                for (name, value) in &data.variables {
                    walk.world.shell.set(name, ShellValue::Scalar(value.clone()), None);
                    walk.world.shell.variable_mut(name).exported = true;
                }
                walk.world.shell.input = input.into();
                if data.is_script {
                    let script = data.words.first().map_or("", String::as_str);
                    let input = walk.world.shell.input.to_string();
                    walk.script_in_code(script, Some(input));
                } else {
                    walk.world.nested += 1;
                    walk.call(data.words.clone());
                    walk.world.nested -= 1;
                }
            });
        });
        (0..levels).for_each(|_| self.walk.budget.leave());
        if !data.captures {
            self.print(&output)?;
        }
        Ok(output)
    }

    /// Notes that a command is run of which something is not known.
    fn note_words(&mut self, words: &[String]) {
        let Some(first) = words.first() else { return };
        let is_unknown = first.starts_with(UNKNOWN);
        self.notes.runs_unknown |= is_unknown;
        self.notes.is_blind |= is_unknown;
        self.notes.runs_lost |= super::resort::is_open(words, &self.lost);
    }

    /// Judges that a path is deleted: with everything below it, or as one file of many.
    pub(super) fn delete_path(&mut self, path: &Value, is_tree: bool) -> Run<()> {
        self.spend(8)?;
        if path.is_nothing() {
            return Ok(());
        }
        let path = self.text_of(path)?;
        let path = without_levels(&path);
        self.notes.is_blind |= path.chars().all(|letter| letter == UNKNOWN || is_source(letter));
        if is_tree {
            self.notes.runs_lost |= self.lost.contains(is_source) && path.starts_with(self.lost.as_ref());
            rules::deleted(self.walk, &path);
        } else if path.contains(TREE) {
            rules::deleted_one_by_one(self.walk, &path);
        }
        if self.fails_here(self.place) {
            return Err(self.exception("OSError", ""));
        }
        Ok(())
    }

    /// A variable of the environment; none if there is none.
    pub(super) fn environment(&mut self, name: &str) -> Option<Value> {
        match name {
            "HOME" => return Some(Value::text(HOME.to_string())),
            "PWD" => return Some(Value::text(self.walk.directory())),
            _ => {}
        }
        if let Some(text) = self.walk.scalar(name) {
            return Some(if text.chars().eq([UNKNOWN]) { Value::Unknown } else { Value::text(text) });
        }
        if self.walk.world.shell.outside.is_absent(name) { None } else { Some(Value::Unknown) }
    }

    /// Gives a variable of the environment a value, for commands that are run later.
    pub(super) fn set_environment(&mut self, name: &str, value: &Value) -> Run<()> {
        let text = self.text_of(value)?.to_string();
        self.walk.world.shell.set(name, ShellValue::Scalar(text), None);
        self.walk.world.shell.variable_mut(name).exported = true;
        Ok(())
    }

    /// Runs code of the same language in the names of the program.
    pub(super) fn evaluate(&mut self, code: &str, is_value: bool) -> Run<Value> {
        if is_doubtful(code) {
            self.notes.is_blind = true;
            self.notes.runs_unknown |= matches!(unknown_like(code), Value::Lost);
            return Ok(unknown_like(code));
        }
        self.spend(code.len() / 8)?;
        if !self.walk.budget.enter() {
            return Err(Stop::Halt);
        }
        let code = code.trim();
        let program = parsed(self.language, code).or_else(|| parsed(self.language, &format!("({code})")));
        let result = if let Some(mut statements) = program {
            let last = statements.pop();
            let end = self.run_block(&statements);
            match (end, last) {
                (Ok(()), Some(super::syntax::Statement::Expr(value))) => self.value(&value),
                (Ok(()), Some(last)) => self.run_block(std::slice::from_ref(&last)).map(|()| self.nothing()),
                (Ok(()), None) => Ok(self.nothing()),
                (Err(stop), _) => Err(stop),
            }
        } else {
            self.notes.is_blind = true;
            Ok(Value::Lost)
        };
        self.walk.budget.leave();
        let result = result?;
        Ok(if is_value { result } else { self.nothing() })
    }

    /// Runs the text of a file as a module. Its names are the module's members.
    pub(super) fn load_file(&mut self, path: &str, text: &str) -> Run<Value> {
        if let Some(module) = self.loaded.get(path) {
            return Ok(module.clone());
        }
        if path.rsplit_once('.').is_some_and(|(_, kind)| kind == "json") {
            return self.parsed_json(&Value::text(text));
        }
        let exports = self.heap.new_dict(super::value::Dict::default());
        self.loaded.insert(path.to_owned(), exports.clone());
        let Some(statements) = parsed(self.language, text) else {
            self.notes.is_blind = true;
            return Ok(Value::Unknown);
        };
        let statements: Rc<[super::syntax::Statement]> = statements.into();
        let scope = self.heap.add(super::value::Cell::Scope(super::value::Scope {
            is_function: true,
            ..super::value::Scope::default()
        }));
        let mut module = super::value::Dict::default();
        module.set("exports", exports.clone());
        let module = self.heap.new_dict(module);
        if let Some(scope) = self.heap.scope_mut(scope) {
            scope.values.insert(Rc::from("module"), module.clone());
            scope.values.insert(Rc::from("exports"), exports.clone());
            scope.values.insert(Rc::from("__name__"), Value::text("module"));
        }
        self.frames.push(super::Frame { scope, ..super::Frame::default() });
        let globals = std::mem::replace(&mut self.globals, scope);
        let depth = self.frames.len();
        let end = self.run_block(&statements);
        self.globals = globals;
        self.frames.truncate(depth.saturating_sub(1));
        end?;
        if !self.is_python() {
            let exports = self.item(&module, &Value::text("exports"))?;
            let names = self.heap.scope(scope).map(|scope| scope.values.clone()).unwrap_or_default();
            // A module of the newer kind exports by name; all of its names will do.
            for (name, value) in names {
                if let Value::Dict(id) = exports
                    && self.heap.dict(id).is_some_and(|dict| dict.named(&name).is_none())
                {
                    self.set_item(&exports, &Value::Text(name), value)?;
                }
            }
            self.loaded.insert(path.to_owned(), exports.clone());
            return Ok(exports);
        }
        let names = self.heap.scope(scope).map(|scope| scope.values.clone()).unwrap_or_default();
        let mut members = super::value::Dict::default();
        for (name, value) in names {
            members.set(&name, value);
        }
        let data = super::value::ObjectData { class: Value::native("module"), fields: members, inner: None };
        let module = Value::Object(self.heap.add(super::value::Cell::Object(Box::new(data))));
        self.loaded.insert(path.to_owned(), module.clone());
        Ok(module)
    }
}

/// A path whose parts stand for names at any depth: one part says that.
fn without_levels(path: &str) -> String {
    let listing = [STAR, NAME, TREE];
    let Some(first) = path.find(listing) else { return path.to_owned() };
    let last = path.rsplit('/').next().unwrap_or(path);
    let is_all = |part: &str| part.chars().all(|letter| listing.contains(&letter));
    match path.get(..first) {
        Some(before) if last.contains(TREE) && is_all(last) && (before.is_empty() || before.ends_with('/')) => {
            format!("{before}{TREE}")
        }
        _ => path.to_owned(),
    }
}
