//! `declare`, `local`, `export` and `readonly`: assignments in the form of commands.

use std::rc::Rc;

use crate::run::Run;
use crate::state::Value;
use crate::syntax::ast::{Piece, Word};

impl Run<'_> {
    /// Declares what the words after `kind` say.
    pub(crate) fn declare(&mut self, kind: &str, words: &[Word]) {
        let mut flags = String::new();
        for word in words {
            if let Some(Piece::Array(elements)) = word.pieces.last() {
                let head = match word.pieces.first() {
                    Some(Piece::Text(head)) => head.trim_end_matches('=').to_owned(),
                    _ => continue,
                };
                let append = head.ends_with('+');
                let name = head.trim_end_matches('+');
                let origin = self.origin(word);
                self.prepare(kind, &flags, name);
                self.assign_array(name, elements, append, origin);
                continue;
            }
            // `declare a=$x` is an assignment (not split); `declare $x` is a word.
            let looks_assigned = matches!(word.pieces.first(), Some(Piece::Text(text)) if text.contains('='));
            let texts =
                if looks_assigned { vec![self.assigned_text(word)] } else { self.fields(std::slice::from_ref(word)) };
            for text in texts {
                if let Some(more) = text.strip_prefix(['-', '+']).filter(|_| !text.contains('=')) {
                    flags.push_str(more);
                    continue;
                }
                let origin = self.origin(word);
                self.declared(kind, &flags, &text, origin);
            }
        }
        if kind == "export" && flags.contains('p') || kind == "declare" && words.is_empty() {
            self.write(&crate::marks::UNKNOWN.to_string());
        }
    }

    fn origin(&self, word: &Word) -> Option<Rc<str>> {
        let source = self.text.get(word.extent.start..word.extent.end)?;
        if source.len() <= 120 { Some(source.into()) } else { None }
    }

    fn declared(&mut self, kind: &str, flags: &str, text: &str, origin: Option<Rc<str>>) {
        let (head, value) = match text.split_once('=') {
            Some((head, value)) => (head, Some(value)),
            None => (text, None),
        };
        let append = head.ends_with('+');
        let name = head.trim_end_matches('+');
        // What prints a function is there to give it to another shell.
        if flags.contains('f') && matches!(kind, "export" | "declare" | "typeset") {
            self.state.export_function(name);
            return;
        }
        self.prepare(kind, flags, name);
        let Some(value) = value else { return };
        if flags.contains('n') && kind != "export" {
            self.state.variable_mut(name).refers_to = Some(value.to_owned());
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
            let items = match self.value(array) {
                Some(Value::Table(mut items)) => {
                    items.insert(key.to_owned(), value);
                    Value::Table(items)
                }
                Some(Value::Array(mut items)) => {
                    items.insert(key.parse().unwrap_or(0), value);
                    Value::Array(items)
                }
                _ => Value::Array([(key.parse().unwrap_or(0), value)].into()),
            };
            return self.assign(array, items, origin);
        }
        self.assign(name, Value::Scalar(value), origin);
    }

    /// What the flags make of a variable before it gets a value.
    fn prepare(&mut self, kind: &str, flags: &str, name: &str) {
        let is_local = kind == "local" || matches!(kind, "declare" | "typeset") && !flags.contains('g');
        if is_local && self.stack.iter().any(|open| !open.starts_with("alias ")) {
            let remembered = self.remember(name);
            if !self.locals.contains(&remembered) {
                self.locals.push(remembered);
            }
        }
        if kind == "export" && !flags.contains('n') || flags.contains('x') {
            let known = self.state.variable(name).is_some();
            // Exporting a name does not give it a value.
            if known || !flags.is_empty() {
                self.state.variable_mut(name).exported = true;
            } else {
                let value = crate::state::State::inherited(name).unwrap_or_else(|| crate::marks::UNKNOWN.to_string());
                self.assign(name, Value::Scalar(value), None);
                self.state.variable_mut(name).exported = true;
            }
        }
        if flags.contains('A') && !matches!(self.state.variable(name).map(|v| &v.value), Some(Value::Table(_))) {
            self.assign(name, Value::Table(std::collections::BTreeMap::new()), None);
        }
        for case in ['u', 'l'] {
            if flags.contains(case) {
                self.state.variable_mut(name).case = Some(case);
            }
        }
    }
}
