//! Reads tables, patterns and strings of jq.

use crate::walk::jq::json::escaped;
use crate::walk::jq::parser::{Filter, FilterReader, Part, Pattern, text_of};
use std::rc::Rc;

impl FilterReader<'_> {
    pub(super) fn table(&mut self) -> Option<Rc<Filter>> {
        self.eat("{");
        let mut entries = Vec::new();
        while !self.eat("}") {
            self.skip();
            let first = self.rest.chars().next()?;
            let key = match first {
                '(' => {
                    self.eat("(");
                    let key = self.pipe()?;
                    self.expect(")")?;
                    key
                }
                '"' => self.string(None)?,
                '@' | '0'..='9' => self.term()?,
                '$' => {
                    self.eat("$");
                    let name = self.name()?;
                    if !self.rest.trim_start().starts_with(':') {
                        entries.push((text_of(name.clone()), Some(Rc::new(Filter::Variable(name)))));
                        self.eat(",");
                        continue;
                    }
                    Rc::new(Filter::Variable(name))
                }
                _ => text_of(self.name()?),
            };
            let value = if self.eat(":") { Some(self.entry_value()?) } else { None };
            entries.push((key, value));
            if !self.eat(",") && !self.rest.trim_start().starts_with('}') {
                return None;
            }
        }
        Some(Rc::new(Filter::Table(entries)))
    }

    /// A value of a table: terms with `|` between them, without commas.
    pub(super) fn entry_value(&mut self) -> Option<Rc<Filter>> {
        self.enter()?;
        let first = self.binary(0)?;
        let value = if self.rest.trim_start().starts_with('|') && !self.rest.trim_start().starts_with("|=") {
            self.eat("|");
            let rest = self.entry_value()?;
            Rc::new(Filter::Pipe(first, rest))
        } else {
            first
        };
        self.depth -= 1;
        Some(value)
    }

    pub(super) fn pattern(&mut self) -> Option<Pattern> {
        self.enter()?;
        let pattern = self.pattern_at_level()?;
        self.depth -= 1;
        Some(pattern)
    }

    pub(super) fn pattern_at_level(&mut self) -> Option<Pattern> {
        if self.eat("$") {
            return Some(Pattern::Variable(self.name()?));
        }
        if self.eat("[") {
            let mut items = Vec::new();
            loop {
                items.push(self.pattern()?);
                if !self.eat(",") {
                    break;
                }
            }
            self.expect("]")?;
            return Some(Pattern::List(items));
        }
        self.expect("{")?;
        let mut entries = Vec::new();
        loop {
            self.skip();
            let mut variable = None;
            let key = if self.eat("$") {
                let name = self.name()?;
                variable = Some(name.clone());
                text_of(name)
            } else if self.rest.starts_with('"') {
                self.string(None)?
            } else if self.eat("(") {
                let key = self.pipe()?;
                self.expect(")")?;
                key
            } else {
                text_of(self.name()?)
            };
            let inner = if self.eat(":") { Some(self.pattern()?) } else { None };
            entries.push((key, variable, inner));
            if !self.eat(",") {
                break;
            }
        }
        self.expect("}")?;
        Some(Pattern::Table(entries))
    }

    /// A string with filters in it: `"git push \(.remote)"`.
    pub(super) fn string(&mut self, format: Option<String>) -> Option<Rc<Filter>> {
        self.rest = self.rest.strip_prefix('"')?;
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            let letter = self.rest.chars().next()?;
            self.rest = self.rest.get(letter.len_utf8()..)?;
            match letter {
                '"' => {
                    parts.push(Part::Text(text));
                    return Some(Rc::new(Filter::Text(format, parts)));
                }
                '\\' if self.rest.starts_with('(') => {
                    self.eat("(");
                    parts.push(Part::Text(std::mem::take(&mut text)));
                    parts.push(Part::Filter(self.pipe()?));
                    self.expect(")")?;
                }
                '\\' => {
                    let (taken, meant) = escaped(self.rest)?;
                    text.push(meant);
                    self.rest = self.rest.get(taken..)?;
                }
                letter => text.push(letter),
            }
        }
    }
}
