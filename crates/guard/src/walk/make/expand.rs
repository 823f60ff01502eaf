//! Variables of a makefile and the text that they are expanded to.

use crate::marks::{SOME, UNKNOWN};
use crate::walk::make::{LONGEST, Make, MakeVariable};

/// The deepest nesting of variables that refer to each other.
const DEEPEST: usize = 24;

impl Make<'_, '_> {
    /// Answers a question that nothing in the script answers.
    pub(super) fn ask(&mut self) -> bool {
        self.asked += 1;
        self.answer
    }

    pub(super) fn variable(&self, name: &str) -> Option<&MakeVariable> {
        self.frames.iter().rev().find_map(|frame| frame.get(name)).or_else(|| self.variables.get(name))
    }

    /// The value of a variable that the makefile does not set; none if nobody sets it.
    pub(super) fn outside_value(&mut self, name: &str) -> Option<String> {
        if name.is_empty() || name.contains([' ', '(', ')', '.', '%', '@', '<', '^', '*', '?', '+', '|']) {
            return None;
        }
        self.walk.exported_value(name)
    }

    /// The text of a variable as it was set; none if nobody sets it.
    pub(super) fn raw_value(&mut self, name: &str) -> Option<String> {
        if self.words.prefers_environment
            && let Some(value) = self.outside_value(name)
        {
            return Some(value);
        }
        match self.variable(name) {
            Some(variable) => Some(variable.value.clone()),
            None if is_set_by_make(name) => Some(SOME.to_string()),
            None => match self.outside_value(name) {
                // A file that is not known may set it.
                None if self.is_open => Some(UNKNOWN.to_string()),
                value => value,
            },
        }
    }

    /// The value of a variable.
    pub(super) fn value(&mut self, name: &str) -> String {
        if self.variable(name).is_some_and(|variable| variable.is_simple) && !self.words.prefers_environment {
            return self.variable(name).map(|variable| variable.value.clone()).unwrap_or_default();
        }
        let value = self.raw_value(name).unwrap_or_default();
        let is_own = self.variable(name).is_some();
        if !is_own || !value.contains('$') {
            return value;
        }
        // A variable that refers to itself ends make.
        if self.expanding.iter().any(|open| open == name) {
            self.has_failed = true;
            return String::new();
        }
        self.expanding.push(name.to_owned());
        let value = self.expand(&value);
        self.expanding.pop();
        value
    }

    /// A text with the values of its variables and functions.
    pub(super) fn expand(&mut self, text: &str) -> String {
        if !text.contains('$') {
            return text.to_owned();
        }
        self.walk.budget.spend(1 + text.len() / 64);
        if self.depth > DEEPEST || self.walk.budget.is_exhausted() {
            return UNKNOWN.to_string();
        }
        self.depth += 1;
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            if out.len() > LONGEST {
                out = UNKNOWN.to_string();
                rest = "";
                break;
            }
            let Some(first) = after.chars().next() else {
                rest = "";
                break;
            };
            let opened = after.get(first.len_utf8()..).unwrap_or("");
            rest = match first {
                '$' => {
                    out.push('$');
                    opened
                }
                '(' | '{' => {
                    let closer = if first == '(' { ')' } else { '}' };
                    let end = closing(opened, first, closer);
                    let value = self.reference(opened.get(..end).unwrap_or(""));
                    out.push_str(&value);
                    opened.get(end + 1..).unwrap_or("")
                }
                _ => {
                    let value = self.value(&first.to_string());
                    out.push_str(&value);
                    opened
                }
            };
        }
        out.push_str(rest);
        self.depth -= 1;
        if out.len() > LONGEST { UNKNOWN.to_string() } else { out }
    }

    /// The value of the text inside of a reference.
    fn reference(&mut self, inside: &str) -> String {
        if let Some((name, arguments)) = inside.split_once([' ', '\t'])
            && let Some(value) = self.function(name, arguments.trim_start())
        {
            return value;
        }
        // `$(name:from=to)`
        if let Some((name, change)) = inside.split_once(':')
            && let Some((from, to)) = change.split_once('=')
            && !name.contains('$')
        {
            let (from, to) = (self.expand(from), self.expand(to));
            let value = self.value(name.trim());
            let (from, to) = if from.contains('%') { (from, to) } else { (format!("%{from}"), format!("%{to}")) };
            return super::functions::patsubst(&from, &to, &value);
        }
        let name = self.expand(inside);
        let name = name.trim();
        if let Some(value) = self.part_of_automatic(name) {
            return value;
        }
        self.value(name)
    }

    /// `$(@D)`, `$(<F)`
    fn part_of_automatic(&mut self, name: &str) -> Option<String> {
        let part = name.chars().next_back().filter(|part| matches!(part, 'D' | 'F'))?;
        let base = name.strip_suffix(part).filter(|base| matches!(*base, "@" | "<" | "*" | "^" | "+" | "?"))?;
        let value = self.value(base);
        let parts = value.split_whitespace().map(|path| match (path.rsplit_once('/'), part) {
            (Some((directory, _)), 'D') => directory.to_owned(),
            (None, 'D') => ".".to_owned(),
            (Some((_, name)), _) => name.to_owned(),
            (None, _) => path.to_owned(),
        });
        Some(parts.collect::<Vec<_>>().join(" "))
    }
}

/// True for variables that make sets by itself: tools and their options.
fn is_set_by_make(name: &str) -> bool {
    const TOOLS: [&str; 13] = ["AR", "AS", "CC", "CXX", "CPP", "FC", "LD", "LEX", "YACC", "LINT", "TEX", "M2C", "CO"];
    TOOLS.contains(&name) || name == "MAKE_VERSION" || name == "MAKE_HOST" || name == ".VARIABLES"
}

/// The place of the sign that closes a reference, or the end of the text.
pub(super) fn closing(text: &str, opener: char, closer: char) -> usize {
    let mut open = 0_usize;
    for (at, letter) in text.char_indices() {
        if letter == opener {
            open += 1;
        } else if letter == closer {
            match open.checked_sub(1) {
                Some(left) => open = left,
                None => return at,
            }
        }
    }
    text.len()
}
