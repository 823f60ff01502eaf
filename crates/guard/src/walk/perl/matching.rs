//! Patterns of Perl: matches, substitutions, `split` and `tr`.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::marks::has_mark;
use crate::walk::perl::ast::Expr;
use crate::walk::perl::run::{Outcome, Perl};
use crate::walk::perl::value::Val;

/// The longest pattern, in bytes.
const LONGEST_PATTERN: usize = 1024;

/// The most patterns of one program, and the most results of one match.
const MOST_PATTERNS: usize = 48;
const MOST_RESULTS: usize = 512;

impl Perl<'_, '_> {
    pub(super) fn group(&self, at: usize) -> Val {
        self.groups.get(at).and_then(Option::as_ref).map_or(Val::Undefined, Val::text)
    }

    /// A pattern, ready to be used; none if it is not known or cannot be made.
    fn expression(&mut self, pattern: &str, flags: &str) -> Option<Rc<fancy_regex::Regex>> {
        let flags: String = flags.chars().filter(|flag| "imsx".contains(*flag)).collect();
        let key = format!("(?{flags}){pattern}");
        if let Some(known) = self.patterns.get(&key) {
            return known.clone();
        }
        if has_mark(pattern) || pattern.len() > LONGEST_PATTERN || self.patterns.len() >= MOST_PATTERNS {
            return None;
        }
        self.walk.budget.spend(4);
        let text = translated(pattern, flags.contains('m'));
        let text = if flags.is_empty() { text } else { format!("(?{flags}){text}") };
        let made = fancy_regex::RegexBuilder::new(&text).backtrack_limit(20_000).delegate_size_limit(1 << 18).build();
        let made = made.ok().map(Rc::new);
        self.patterns.insert(key, made.clone());
        made
    }

    /// The text that a match is about, spelled out; none if it is not known letter by letter.
    fn subject(&mut self, target: Option<&Expr>) -> Outcome<(Val, Option<String>)> {
        let value = match target {
            Some(target) => self.scalar(target)?,
            None => self.topic(),
        };
        let text = self.plain(&value);
        self.step(text.as_ref().map_or(0, |text| text.len() / 64))?;
        Ok((value, text))
    }

    fn note_groups(&mut self, expression: &fancy_regex::Regex, found: &fancy_regex::Captures<'_, str>) {
        self.groups = (0..found.len().max(10)).map(|at| found.get(at).map(|group| group.as_str().to_owned())).collect();
        let names = expression.capture_names().flatten();
        let entries = names.filter_map(|name| Some((name.to_owned(), found.name(name)?.as_str().to_owned())));
        self.named = entries.collect::<BTreeMap<String, String>>();
    }

    /// A match that gives true or false.
    pub(super) fn matches(&mut self, whole: &Expr, target: Option<&Expr>, pattern: &Expr, flags: &str) -> Outcome<Val> {
        let (value, text) = self.subject(target)?;
        let pattern = self.scalar(pattern)?.to_text();
        let expression = self.expression(&pattern, flags);
        let (Some(text), Some(expression)) = (text, expression) else {
            return Ok(self.uncertain(&value, &pattern));
        };
        let key = std::ptr::from_ref(whole).addr();
        let start = match self.places.get(&key) {
            Some((known, at)) if flags.contains('g') && *known == text => *at,
            _ => 0,
        };
        let Ok(found) = expression.captures_from_pos(text.as_str(), start) else { return Ok(Val::unknown()) };
        let Some(found) = found else {
            self.places.remove(&key);
            return Ok(Val::flag(false));
        };
        self.note_groups(&expression, &found);
        if flags.contains('g') {
            let end = found.get(0).map_or(0, |all| if all.end() == all.start() { all.end() + 1 } else { all.end() });
            if end > text.len() {
                self.places.remove(&key);
            } else {
                self.places.insert(key, (text.clone(), end));
            }
        }
        Ok(Val::flag(true))
    }

    /// A match of a text that is not known: groups hold nothing known, or the listing itself.
    fn uncertain(&mut self, value: &Val, pattern: &str) -> Val {
        let groups = pattern.matches('(').count();
        let is_whole =
            groups == 1 && (pattern.starts_with("^(") || pattern.starts_with('(')) && pattern.contains(['*', '+']);
        let part = if is_whole && value.is_marked() { value.to_text() } else { Val::unknown().to_text() };
        self.groups = std::iter::repeat_n(Some(part), groups + 1).collect();
        Val::unknown()
    }

    /// A match whose groups or findings are a list.
    pub(super) fn match_list(
        &mut self,
        whole: &Expr,
        target: Option<&Expr>,
        pattern: &Expr,
        flags: &str,
    ) -> Outcome<Vec<Val>> {
        if !flags.contains('g') {
            let found = self.matches(whole, target, pattern, flags)?;
            return Ok(match found.truth() {
                Some(false) => Vec::new(),
                _ if self.groups.iter().skip(1).all(Option::is_none) => vec![found],
                _ => {
                    let last = self.groups.iter().rposition(Option::is_some).unwrap_or(0);
                    (1..=last).map(|at| self.group(at)).collect()
                }
            });
        }
        let (value, text) = self.subject(target)?;
        let pattern = self.scalar(pattern)?.to_text();
        let expression = self.expression(&pattern, flags);
        let (Some(text), Some(expression)) = (text, expression) else {
            // Words of a text with a listing in it are still that listing.
            return Ok(value.to_text().split_whitespace().map(Val::text).collect());
        };
        let mut values = Vec::new();
        for found in expression.captures_iter(text.as_str()).take(MOST_RESULTS) {
            let Ok(found) = found else { return Ok(vec![Val::unknown()]) };
            self.step(1)?;
            if found.len() > 1 {
                values.extend(
                    (1..found.len()).map(|at| found.get(at).map_or(Val::Undefined, |group| Val::text(group.as_str()))),
                );
            } else {
                values.extend(found.get(0).map(|all| Val::text(all.as_str())));
            }
            self.note_groups(&expression, &found);
        }
        Ok(values)
    }

    pub(super) fn substitute(
        &mut self,
        target: Option<&Expr>,
        pattern: &Expr,
        replacement: &Expr,
        flags: &str,
    ) -> Outcome<Val> {
        let (value, text) = self.subject(target)?;
        let pattern = self.scalar(pattern)?.to_text();
        let expression = self.expression(&pattern, flags);
        let (Some(text), Some(expression)) = (text, expression) else {
            return self.substitute_marked(target, &value, &pattern, replacement, flags);
        };
        let mut out = String::new();
        let mut at = 0;
        let mut count = 0_usize;
        while count < MOST_RESULTS && at <= text.len() {
            self.step(1)?;
            let Ok(found) = expression.captures_from_pos(text.as_str(), at) else { return Ok(Val::unknown()) };
            let Some(found) = found else { break };
            self.note_groups(&expression, &found);
            let Some((start, end)) = found.get(0).map(|all| (all.start(), all.end())) else { break };
            out.push_str(text.get(at..start).unwrap_or(""));
            let with = self.scalar(replacement)?.to_text();
            out.push_str(&with);
            count += 1;
            at = end;
            if start == end {
                let letter = text.get(at..).and_then(|rest| rest.chars().next());
                out.extend(letter);
                at += letter.map_or(1, char::len_utf8);
            }
            if !flags.contains('g') || out.len() > super::expressions::LONGEST {
                break;
            }
        }
        out.push_str(text.get(at..).unwrap_or(""));
        if flags.contains('r') {
            return if count == 0 { Ok(value) } else { self.bounded(out) };
        }
        if count > 0 {
            let changed = self.bounded(out)?;
            self.assign_target(target, changed)?;
        }
        Ok(Val::count(count))
    }

    /// A substitution in a text that is not known: plain text is replaced, everything else stays as it is.
    fn substitute_marked(
        &mut self,
        target: Option<&Expr>,
        value: &Val,
        pattern: &str,
        replacement: &Expr,
        flags: &str,
    ) -> Outcome<Val> {
        let is_literal =
            !pattern.is_empty() && !pattern.contains(['\\', '^', '$', '.', '*', '+', '?', '(', '[', '{', '|']);
        let text = value.to_text();
        let changed = if is_literal && text.contains(pattern) {
            let with = self.scalar(replacement)?.to_text();
            let count = if flags.contains('g') { usize::MAX } else { 1 };
            Val::text(text.replacen(pattern, &with, count))
        } else if has_mark(&text) {
            value.clone()
        } else {
            Val::unknown()
        };
        if flags.contains('r') {
            return Ok(changed);
        }
        self.assign_target(target, changed)?;
        Ok(Val::unknown())
    }

    fn assign_target(&mut self, target: Option<&Expr>, value: Val) -> Outcome<()> {
        match target {
            Some(Expr::Assign(inner, ..)) => self.assign_again(inner, value),
            Some(Expr::List(items)) => match items.as_slice() {
                [only] => self.assign_target(Some(only), value),
                _ => Ok(()),
            },
            Some(target) => self.assign_again(target, value),
            None => {
                self.set_topic(value);
                Ok(())
            }
        }
    }

    /// Assigns to a variable that may have been declared by the same expression.
    pub(super) fn assign_again(&mut self, target: &Expr, value: Val) -> Outcome<()> {
        match target {
            Expr::My(inner) | Expr::Local(inner) => self.assign_again(inner, value),
            Expr::List(items) => match items.as_slice() {
                [only] => self.assign_target(Some(only), value),
                _ => Ok(()),
            },
            target => self.assign(target, value),
        }
    }

    pub(super) fn translate(&mut self, target: Option<&Expr>, from: &str, to: &str, flags: &str) -> Outcome<Val> {
        let (value, text) = self.subject(target)?;
        let Some(text) = text else {
            if flags.contains('r') {
                return Ok(value);
            }
            return Ok(Val::unknown());
        };
        let (from, to) = (letters_of(from), letters_of(to));
        let deletes = flags.contains('d');
        let mut out = String::new();
        let mut count = 0_usize;
        let mut last: Option<char> = None;
        for letter in text.chars() {
            let at = from.iter().position(|other| *other == letter);
            let at = if flags.contains('c') { if at.is_none() { Some(usize::MAX) } else { None } } else { at };
            let Some(at) = at else {
                out.push(letter);
                last = None;
                continue;
            };
            count += 1;
            let new = match to.get(at) {
                Some(new) => Some(*new),
                None if deletes => None,
                None => to.last().copied().or(Some(letter)),
            };
            if let Some(new) = new {
                if !(flags.contains('s') && last == Some(new)) {
                    out.push(new);
                }
                last = Some(new);
            }
        }
        if flags.contains('r') {
            return self.bounded(out);
        }
        if out != text {
            let changed = self.bounded(out)?;
            self.assign_target(target, changed)?;
        }
        Ok(Val::count(count))
    }

    /// `split /pattern/, text, limit`
    pub(super) fn split(&mut self, arguments: &[Expr]) -> Outcome<Vec<Val>> {
        let (pattern, flags) = match arguments.first() {
            Some(Expr::Match { pattern, flags, target: None }) => (self.scalar(pattern)?.to_text(), flags.clone()),
            Some(other) => (self.scalar(other)?.to_text(), String::new()),
            None => (" ".to_owned(), String::new()),
        };
        let value = match arguments.get(1) {
            Some(text) => self.scalar(text)?,
            None => self.topic(),
        };
        let limit = match arguments.get(2) {
            Some(limit) => self.scalar(limit)?.number().unwrap_or(0.0),
            None => 0.0,
        };
        let most: usize = if limit > 0.0 { format!("{limit:.0}").parse().unwrap_or(usize::MAX) } else { usize::MAX };
        let concrete = self.walk.world.concrete(&value.to_text());
        let is_words = pattern == " " && !matches!(arguments.first(), Some(Expr::Match { .. }));
        let text = if is_words { concrete.trim_start().to_owned() } else { concrete };
        let pattern = if is_words {
            "\\s+".to_owned()
        } else if pattern == "^" {
            "(?m)^".to_owned()
        } else {
            pattern
        };
        self.step(text.len() / 32)?;
        // A mark is one more letter: the separators around it are known.
        let Some(expression) = self.expression(&pattern, &flags) else { return Ok(vec![Val::unknown()]) };
        let mut values: Vec<Val> = Vec::new();
        let mut at = 0;
        let mut from = 0;
        while values.len() + 1 < most && values.len() < MOST_RESULTS && from <= text.len() {
            let Ok(Some(found)) = expression.captures_from_pos(text.as_str(), from) else { break };
            let Some((start, end)) = found.get(0).map(|all| (all.start(), all.end())) else { break };
            if start == end {
                if start >= text.len() {
                    break;
                }
                if start == at {
                    from = start + text.get(start..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
                    // Between two letters.
                    if pattern.is_empty() {
                        values.push(Val::text(text.get(at..from).unwrap_or("")));
                        at = from;
                    }
                    continue;
                }
            }
            if !(end == 0 || start == 0 && end > 0 && start == end) {
                values.push(Val::text(text.get(at..start).unwrap_or("")));
                values.extend(
                    (1..found.len())
                        .map(|group| found.get(group).map_or(Val::Undefined, |part| Val::text(part.as_str()))),
                );
            }
            at = end;
            from = if end > start { end } else { end + 1 };
        }
        if at < text.len() || limit < 0.0 {
            values.push(Val::text(text.get(at..).unwrap_or("")));
        }
        if limit == 0.0 {
            while values.last().is_some_and(|last| matches!(last, Val::Undefined) || last.to_text().is_empty()) {
                values.pop();
            }
        }
        Ok(values)
    }
}

/// The letters of a set of `tr`.
pub(super) fn letters_of(set: &str) -> Vec<char> {
    let set = crate::expand::unescape_all(set, true);
    let letters: Vec<char> = set.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(letter) = letters.get(at).copied() {
        match (letters.get(at + 1), letters.get(at + 2)) {
            (Some('-'), Some(end)) if *end >= letter && u32::from(*end) - u32::from(letter) < 512 => {
                out.extend(letter..=*end);
                at += 3;
            }
            _ => {
                out.push(letter);
                at += 1;
            }
        }
    }
    out
}

/// A pattern of Perl in the spelling of the library that matches it.
fn translated(pattern: &str, is_multiline: bool) -> String {
    let letters: Vec<char> = pattern.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    let mut in_class = false;
    while let Some(letter) = letters.get(at).copied() {
        let next = letters.get(at + 1).copied();
        match letter {
            '\\' => {
                match next {
                    Some('Z') => out.push_str("(?=\\n?\\z)"),
                    Some('h') => out.push_str(if in_class { " \\t" } else { "[ \\t]" }),
                    Some('R') => out.push_str("(?:\\r\\n|\\n|\\r)"),
                    Some('e') => out.push_str("\\x1b"),
                    Some(other) if !other.is_alphanumeric() && !"\\.+*?()|[]{}^$#&-~ ".contains(other) => {
                        out.push(other);
                    }
                    Some(other) => {
                        out.push('\\');
                        out.push(other);
                    }
                    None => out.push_str("\\\\"),
                }
                at += 1;
            }
            '[' if in_class && next != Some(':') => out.push_str("\\["),
            '[' if in_class => {
                // `[:alpha:]`
                let rest: String = letters.iter().skip(at).collect();
                let end = rest.find(":]").map_or(1, |end| end + 2);
                out.push_str(rest.get(..end).unwrap_or("["));
                at += end - 1;
            }
            '[' => {
                in_class = true;
                out.push('[');
                if next == Some('^') {
                    out.push('^');
                    at += 1;
                }
                if letters.get(at + 1) == Some(&']') {
                    out.push_str("\\]");
                    at += 1;
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(letter);
            }
            '$' if !in_class && !is_multiline && matches!(next, None | Some(')' | '|')) => out.push_str("(?=\\n?\\z)"),
            '{' if !in_class && !is_counted(letters.get(at + 1..).unwrap_or(&[])) => out.push_str("\\{"),
            '}' if !in_class && !out_is_counted(&out) => out.push_str("\\}"),
            _ => out.push(letter),
        }
        at += 1;
    }
    out
}

/// True if a brace begins a count: `{2}`, `{2,}`.
fn is_counted(rest: &[char]) -> bool {
    let end = rest.iter().position(|letter| *letter == '}').unwrap_or(0);
    let inside = rest.get(..end).unwrap_or(&[]);
    inside.first().is_some_and(char::is_ascii_digit)
        && inside.iter().all(|letter| letter.is_ascii_digit() || *letter == ',')
}

/// True if the text ends inside of a count or of a name in braces.
fn out_is_counted(out: &str) -> bool {
    out.rsplit_once('{').is_some_and(|(before, inside)| {
        !inside.contains('}')
            && (inside.chars().all(|letter| letter.is_ascii_digit() || letter == ',')
                || before.ends_with(['x', 'p', 'P', 'k', 'g', 'N']))
            && !before.ends_with('\\')
    })
}
