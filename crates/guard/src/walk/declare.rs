//! `declare`, `local`, `export` and `readonly`: assignments in the form of commands.

use std::rc::Rc;

use crate::marks::is_mark;
use crate::walk::ScriptWalk;
use crate::walk::state::ShellValue;
use crate::walk::world::LocalVariable;
use bashful_bash::ast::{ShellWord, WordPiece};

impl ScriptWalk<'_> {
    /// Declares the variables that the words after `kind` name.
    pub(crate) fn declare(&mut self, kind: &str, words: &[ShellWord]) {
        let mut flags = String::new();
        for word in words {
            if let Some(WordPiece::Array(elements)) = word.pieces.last() {
                let head = match word.pieces.first() {
                    Some(WordPiece::Text(head)) => head.trim_end_matches('=').to_owned(),
                    _ => continue,
                };
                let append = head.ends_with('+');
                let name = head.trim_end_matches('+');
                let origin = self.trail.origin(word.extent);
                self.apply_declare_flags(kind, &flags, name);
                self.assign_array(name, elements, append, origin);
                continue;
            }
            // `declare a=$x` is an assignment (not split); `declare $x` is a word.
            let looks_assigned = matches!(word.pieces.first(), Some(WordPiece::Text(text)) if text.contains('='));
            let texts = if looks_assigned {
                vec![self.expand_assigned(word)]
            } else {
                self.expand_fields(std::slice::from_ref(word))
            };
            for text in texts {
                if let Some(more) = text.strip_prefix(['-', '+']).filter(|_| !text.contains('=')) {
                    flags.push_str(more);
                    continue;
                }
                let origin = self.trail.origin(word.extent);
                self.declare_one(kind, &flags, &text, origin);
            }
        }
        if kind == "export" && flags.contains('p') || kind == "declare" && words.is_empty() {
            self.write(&crate::marks::UNKNOWN.to_string());
        }
    }

    fn declare_one(&mut self, kind: &str, flags: &str, text: &str, origin: Option<Rc<str>>) {
        let (head, value) = match text.split_once('=') {
            Some((head, value)) => (head, Some(value)),
            None => (text, None),
        };
        let append = head.ends_with('+');
        let name = head.trim_end_matches('+');
        // `export $(cat .env)`
        if name.contains(is_mark) {
            self.world.shell.outside.alter();
        }
        // A script prints a function to give it to another shell.
        if flags.contains(['f', 'p']) && matches!(kind, "export" | "declare" | "typeset") {
            if kind == "export" {
                self.world.shell.export_function(name);
            } else {
                self.describe(name, flags.contains('f'));
            }
            return;
        }
        let was_readonly = self.world.shell.variable(name).is_some_and(|variable| variable.is_readonly);
        self.apply_declare_flags(kind, flags, name);
        let makes_readonly = kind == "readonly" || flags.contains('r');
        let Some(value) = value.filter(|_| !was_readonly) else {
            if makes_readonly && self.world.shell.variable(name).is_some() {
                self.world.shell.variable_mut(name).is_readonly = true;
            }
            return;
        };
        if flags.contains('n') && kind != "export" {
            self.world.shell.variable_mut(name).refers_to = Some(value.to_owned());
            return;
        }
        let value = if append {
            let before = self.value(name).and_then(|value| value.scalar().map(str::to_owned)).unwrap_or_default();
            format!("{before}{value}")
        } else {
            value.to_owned()
        };
        // `declare "h[a]=b"`
        if let Some((array, key)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            self.run_hidden(key);
            let items = match self.value(array) {
                Some(ShellValue::Table(mut items)) => {
                    items.insert(key.to_owned(), value);
                    ShellValue::Table(items)
                }
                Some(ShellValue::Array(mut items)) => {
                    items.insert(key.parse().unwrap_or(0), value);
                    ShellValue::Array(items)
                }
                _ => ShellValue::Array([(key.parse().unwrap_or(0), value)].into()),
            };
            return self.assign(array, items, origin);
        }
        self.assign(name, ShellValue::Scalar(value), origin);
        if makes_readonly {
            self.world.shell.variable_mut(name).is_readonly = true;
        }
    }

    /// Applies the flags of a declaration to a variable before it gets a value.
    fn apply_declare_flags(&mut self, kind: &str, flags: &str, name: &str) {
        // Later assignments may fail, or give another value than they say.
        if kind == "readonly" || flags.contains(['r', 'i']) {
            self.world.certainty.lose();
        }
        let is_local = kind == "local" || matches!(kind, "declare" | "typeset") && !flags.contains('g');
        let level = self.world.calls.len();
        if is_local && self.is_in_function() {
            let is_own = |local: &LocalVariable| local.name == name && local.level == level;
            if !self.world.locals.iter().any(is_own) {
                let (name, hidden) = self.world.remember(name);
                self.world.locals.push(LocalVariable { name, level, hidden });
            }
        }
        if flags.contains('i') {
            self.world.shell.variable_mut(name).is_integer = true;
        }
        if kind == "export" && !flags.contains('n') || flags.contains('x') {
            let known = self.world.shell.variable(name).is_some();
            // Exporting a name does not give it a value.
            if known || !flags.is_empty() {
                self.world.shell.variable_mut(name).exported = true;
            } else {
                let value = crate::walk::state::ShellState::inherited(name)
                    .unwrap_or_else(|| crate::marks::UNKNOWN.to_string());
                self.assign(name, ShellValue::Scalar(value), None);
                self.world.shell.variable_mut(name).exported = true;
            }
        }
        if flags.contains('A')
            && !matches!(self.world.shell.variable(name).map(|v| &v.value), Some(ShellValue::Table(_)))
        {
            self.assign(name, ShellValue::Table(std::collections::BTreeMap::new()), None);
        }
        for case in ['u', 'l'] {
            if flags.contains(case) {
                self.world.shell.variable_mut(name).case = Some(case);
            }
        }
    }
}
