//! Regular expressions of the program.

use std::rc::Rc;

use fancy_regex::{Captures, Regex};

use crate::marks::has_mark;
use crate::walk::program::call::Given;
use crate::walk::program::value::{Found, Value};
use crate::walk::program::{Run, Trial};

/// The longest pattern, in bytes.
const LONGEST_PATTERN: usize = 400;

/// The longest text that is searched, in bytes.
const LONGEST_TEXT: usize = 8 << 10;

/// The most matches of one call.
const MOST_MATCHES: usize = 400;

/// How far a pattern may go back.
const MOST_BACKTRACKING: usize = 20_000;

impl Trial<'_, '_> {
    /// A pattern; none if it cannot be made.
    fn compiled(&mut self, pattern: &str, flags: &str) -> Run<Option<Regex>> {
        self.spend(40 + pattern.len())?;
        if pattern.len() > LONGEST_PATTERN {
            return Ok(None);
        }
        let flags: String = flags.chars().filter(|flag| "imsx".contains(*flag)).collect();
        let pattern = pattern
            .replace("(?<", "(?P<")
            .replace("(?P<=", "(?<=")
            .replace("(?P<!", "(?<!")
            .replace("[^]", "(?s:.)")
            .replace("\\/", "/");
        let whole = if flags.is_empty() { pattern } else { format!("(?{flags}){pattern}") };
        Ok(fancy_regex::RegexBuilder::new(&whole)
            .backtrack_limit(MOST_BACKTRACKING)
            .delegate_size_limit(1 << 18)
            .build()
            .ok())
    }

    fn matches(&mut self, regex: &Regex, text: &str, most: usize) -> Run<Option<Vec<Found>>> {
        if text.len() > LONGEST_TEXT {
            return Ok(None);
        }
        self.spend(4 + text.len() / 8)?;
        let names: Vec<(String, usize)> =
            regex.capture_names().enumerate().filter_map(|(at, name)| name.map(|name| (name.to_owned(), at))).collect();
        let mut all = Vec::new();
        for found in regex.captures_iter(text).take(most.min(MOST_MATCHES)) {
            self.spend(4)?;
            let Ok(found) = found else { return Ok(None) };
            all.push(found_of(&found, text, &names));
        }
        Ok(Some(all))
    }

    /// The pattern and the flags of a value.
    fn pattern_of(&mut self, pattern: &Value, flags: Option<&Value>) -> Run<(String, String)> {
        let mut letters = String::new();
        if let Some(Value::Native(name)) = flags {
            for (word, letter) in [("IGNORECASE", 'i'), ("MULTILINE", 'm'), ("DOTALL", 's'), ("VERBOSE", 'x')] {
                let short = name.rsplit('.').next().unwrap_or(name);
                if short == word || short.chars().eq([letter.to_ascii_uppercase()]) {
                    letters.push(letter);
                }
            }
        }
        Ok(match pattern {
            Value::Regex(own) => (own.0.clone(), format!("{}{letters}", own.1)),
            Value::Bytes(bytes) => (String::from_utf8_lossy(bytes).into_owned(), letters),
            pattern => (self.text_of(pattern)?.to_string(), letters),
        })
    }

    /// Calls of the module `re`. None if this is no such call.
    pub(super) fn regex_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let Some(base) = name.strip_prefix("re.") else { return Ok(None) };
        if base == "escape" {
            let text = self.text_of(&given.at(0))?;
            return Ok(Some(Value::text(fancy_regex::escape(&text).into_owned())));
        }
        let place = if matches!(base, "sub" | "subn") {
            4
        } else if base == "compile" {
            1
        } else {
            2
        };
        let (pattern, flags) = self.pattern_of(&given.at(0), given.named_or("flags", place))?;
        if base == "compile" {
            return Ok(Some(Value::Regex(Rc::new((pattern, flags)))));
        }
        let rest = Given { values: given.rest(1), named: given.named.clone() };
        self.python_regex(&pattern, &flags, base, &rest).map(Some)
    }

    fn python_regex(&mut self, pattern: &str, flags: &str, method: &str, given: &Given) -> Run<Value> {
        let subject = if matches!(method, "sub" | "subn") { given.at(1) } else { given.at(0) };
        let subject = self.plain(&subject);
        let text = self.text_of(&subject)?;
        let Some(known) = self.spelled(&text) else {
            // A name from a listing stays one, whatever is replaced in it.
            return Ok(match method {
                "sub" if subject.is_listing() => subject,
                "split" => self.heap.new_list(vec![super::value::unknown_like(&text)]),
                _ => super::value::unknown_like(&text),
            });
        };
        let anchored = match method {
            "match" => format!("\\A(?:{pattern})"),
            "fullmatch" => format!("\\A(?:{pattern})\\z"),
            _ => pattern.to_owned(),
        };
        let Some(regex) = self.compiled(&anchored, flags)? else { return Ok(Value::Lost) };
        let most = if matches!(method, "match" | "fullmatch" | "search") { 1 } else { MOST_MATCHES };
        let Some(all) = self.matches(&regex, &known, most)? else { return Ok(Value::Lost) };
        Ok(match method {
            "match" | "fullmatch" | "search" => {
                all.into_iter().next().map_or(Value::None, |found| Value::Match(Rc::new(found)))
            }
            "finditer" => {
                let items = all.into_iter().map(|found| Value::Match(Rc::new(found))).collect();
                self.heap.new_iterator(items)
            }
            "findall" => {
                let items = all.iter().map(findings).collect();
                self.heap.new_list(items)
            }
            "split" => {
                let most = given.named_or("maxsplit", 1).and_then(Value::as_int).filter(|most| *most > 0);
                self.split_by(&known, &all, most.and_then(|most| usize::try_from(most).ok()))
            }
            "sub" | "subn" => {
                let count =
                    given.named_or("count", 2).and_then(Value::as_int).and_then(|count| usize::try_from(count).ok());
                let count = count.filter(|count| *count > 0).unwrap_or(usize::MAX);
                self.replaced(&known, all.into_iter().take(count).collect(), &given.at(0))?
            }
            _ => Value::Lost,
        })
    }

    fn split_by(&mut self, text: &str, all: &[Found], most: Option<usize>) -> Value {
        let letters: Vec<char> = text.chars().collect();
        let part =
            |from: usize, to: usize| Value::text(letters.get(from..to).unwrap_or(&[]).iter().collect::<String>());
        let mut parts = Vec::new();
        let mut at = 0;
        for found in all.iter().take(most.unwrap_or(usize::MAX)) {
            if found.span.0 == found.span.1 {
                continue;
            }
            parts.push(part(at, found.span.0));
            parts.extend(found.groups.iter().skip(1).map(|group| group.clone().map_or(Value::None, Value::Text)));
            at = found.span.1;
        }
        parts.push(part(at, letters.len()));
        self.heap.new_list(parts)
    }

    /// The text with every match replaced: by a text with groups in it, or by the value of a function.
    fn replaced(&mut self, text: &str, all: Vec<Found>, by: &Value) -> Run<Value> {
        let letters: Vec<char> = text.chars().collect();
        let part = |from: usize, to: usize| letters.get(from..to).unwrap_or(&[]).iter().collect::<String>();
        let mut out = String::new();
        let mut at = 0;
        for found in all {
            out.push_str(&part(at, found.span.0));
            at = found.span.1;
            let group = |at: usize| found.groups.get(at).cloned().flatten().unwrap_or_else(|| Rc::from(""));
            if by.is_callable() || matches!(by, Value::Native(_)) {
                let values = if self.is_python() {
                    vec![Value::Match(Rc::new(found))]
                } else {
                    found.groups.iter().map(|group| group.clone().map_or(Value::Undefined, Value::Text)).collect()
                };
                let value = self.call(by.clone(), values)?;
                out.push_str(&self.text_of(&value)?);
                continue;
            }
            let template = self.text_of(by)?;
            let sign = if self.is_python() { '\\' } else { '$' };
            out.push_str(&filled(&template, sign, &group, &found.names));
        }
        out.push_str(&part(at, letters.len()));
        self.new_text(out)
    }

    pub(super) fn regex_method(&mut self, own: &Rc<(String, String)>, name: &str, given: &Given) -> Run<Value> {
        let (pattern, flags) = own.as_ref();
        if self.is_python() {
            return self.python_regex(pattern, flags, name, given);
        }
        let text = self.text_of(&given.at(0))?;
        let Some(known) = self.spelled(&text) else { return Ok(super::value::unknown_like(&text)) };
        let Some(regex) = self.compiled(pattern, flags)? else { return Ok(Value::Lost) };
        // An expression with the flag `g` goes on behind its last match.
        let own = Rc::as_ptr(own).addr();
        let goes_on = flags.contains(['g', 'y']);
        let start = if goes_on { self.searched.get(&own).copied().unwrap_or(0) } else { 0 };
        let most = if goes_on { MOST_MATCHES } else { 1 };
        let Some(all) = self.matches(&regex, &known, most)? else { return Ok(Value::Lost) };
        let all: Vec<Found> = all.into_iter().find(|found| found.span.0 >= start).into_iter().collect();
        if goes_on {
            self.searched.insert(own, all.first().map_or(0, |found| found.span.1.max(found.span.0 + 1)));
        }
        Ok(match name {
            "test" => Value::Bool(!all.is_empty()),
            "exec" => all.into_iter().next().map_or(Value::None, |found| Value::Match(Rc::new(found))),
            _ => Value::Lost,
        })
    }

    /// Methods of texts in JavaScript that take a pattern. None if this is no such method.
    pub(super) fn matching_method(&mut self, text: &str, name: &str, given: &Given) -> Run<Option<Value>> {
        if self.is_python() || !matches!(name, "match" | "matchAll" | "replace" | "replaceAll" | "search" | "split") {
            return Ok(None);
        }
        let first = given.at(0);
        let (pattern, flags) = match &first {
            Value::Regex(own) => (own.0.clone(), own.1.clone()),
            Value::Text(text) => (
                fancy_regex::escape(text).into_owned(),
                if name == "replaceAll" { "g".to_owned() } else { String::new() },
            ),
            _ => return Ok(Some(self.unknown_of([&first]))),
        };
        let Some(regex) = self.compiled(&pattern, &flags)? else { return Ok(Some(Value::Lost)) };
        let is_global = flags.contains('g') || matches!(name, "split" | "matchAll");
        let Some(all) = self.matches(&regex, text, if is_global { MOST_MATCHES } else { 1 })? else {
            return Ok(Some(Value::Lost));
        };
        Ok(Some(match name {
            "match" if is_global && all.is_empty() => Value::None,
            "match" if is_global => {
                let whole: Vec<Value> = all
                    .into_iter()
                    .map(|found| found.groups.first().cloned().flatten().map_or(Value::Undefined, Value::Text))
                    .collect();
                self.heap.new_list(whole)
            }
            "match" => all.into_iter().next().map_or(Value::None, |found| Value::Match(Rc::new(found))),
            "matchAll" => {
                let items = all.into_iter().map(|found| Value::Match(Rc::new(found))).collect();
                self.heap.new_list(items)
            }
            "search" => all.first().map_or(Value::Int(-1), |found| Value::number(found.span.0)),
            "split" => self.split_by(text, &all, None),
            _ => self.replaced(text, all, &given.at(1))?,
        }))
    }

    pub(super) fn match_method(&mut self, found: &Rc<Found>, name: &str, given: &Given) -> Run<Value> {
        let mut groups = Vec::new();
        for value in &given.values {
            groups.push(self.group(found, value)?);
        }
        Ok(match name {
            "group" => match groups.as_slice() {
                [] => self.group(found, &Value::Int(0))?,
                [one] => one.clone(),
                all => Value::Tuple(all.into()),
            },
            "groups" => Value::Tuple(
                found.groups.iter().skip(1).map(|group| group.clone().map_or(Value::None, Value::Text)).collect(),
            ),
            "groupdict" => {
                let pairs = found.names.iter().map(|(name, at)| {
                    let group = found.groups.get(*at).cloned().flatten();
                    (Value::text(name.as_str()), group.map_or(Value::None, Value::Text))
                });
                let pairs = pairs.collect();
                self.dict_of_pairs(pairs)
            }
            "start" => Value::number(found.span.0),
            "end" => Value::number(found.span.1),
            "span" => Value::Tuple([Value::number(found.span.0), Value::number(found.span.1)].into()),
            "slice" | "map" | "filter" | "join" | "forEach" | "at" | "indexOf" => {
                let items = self.items(&Value::Match(Rc::clone(found)))?;
                let list = self.heap.new_list(items);
                self.list_method(&list, name, given)?
            }
            _ => Value::Lost,
        })
    }

    fn group(&mut self, found: &Found, key: &Value) -> Run<Value> {
        let at = if let Some(at) = key.as_int() {
            usize::try_from(at).unwrap_or(usize::MAX)
        } else {
            let name = self.text_of(key)?;
            found.names.iter().find(|(own, _)| *own == *name).map_or(usize::MAX, |(_, at)| *at)
        };
        let nothing = self.nothing();
        Ok(found.groups.get(at).cloned().flatten().map_or(nothing, Value::Text))
    }
}

fn found_of(found: &Captures<'_, str>, text: &str, names: &[(String, usize)]) -> Found {
    let groups = (0..found.len()).map(|at| found.get(at).map(|group| Rc::from(group.as_str()))).collect();
    let letters = |at: usize| text.get(..at).unwrap_or("").chars().count();
    let span = found.get(0).map_or((0, 0), |whole| (letters(whole.start()), letters(whole.end())));
    Found { groups, names: names.to_vec(), span }
}

/// The item of `findall`: the whole, its only group, or all of them.
fn findings(found: &Found) -> Value {
    let group = |group: &Option<Rc<str>>| group.clone().map_or_else(|| Value::text(""), Value::Text);
    match found.groups.as_slice() {
        [whole] => group(whole),
        [_, only] => group(only),
        [_, groups @ ..] => Value::Tuple(groups.iter().map(group).collect()),
        [] => Value::text(""),
    }
}

/// A replacement with its groups: `\1`, `\g<name>`, `$1`, `$<name>`, `$&`.
fn filled(template: &str, sign: char, group: &dyn Fn(usize) -> Rc<str>, names: &[(String, usize)]) -> String {
    if has_mark(template) {
        return template.to_owned();
    }
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once(sign) {
        out.push_str(before);
        let inside = behind.strip_prefix("g<").or_else(|| behind.strip_prefix('<'));
        if let Some((name, after)) = inside.and_then(|inside| inside.split_once('>')) {
            let at = name.parse().ok().or_else(|| names.iter().find(|(own, _)| own == name).map(|(_, at)| *at));
            out.push_str(&at.map_or_else(|| Rc::from(""), group));
            rest = after;
            continue;
        }
        let digits = behind.len() - behind.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        match behind.chars().next() {
            Some(_) if digits > 0 => {
                let (number, after) = behind.split_at(digits.min(2));
                out.push_str(&group(number.parse().unwrap_or(0)));
                rest = after;
            }
            Some('&') if sign == '$' => {
                out.push_str(&group(0));
                rest = behind.get(1..).unwrap_or("");
            }
            Some('n') if sign == '\\' => {
                out.push('\n');
                rest = behind.get(1..).unwrap_or("");
            }
            Some(letter) if letter == sign => {
                out.push(sign);
                rest = behind.get(1..).unwrap_or("");
            }
            _ => {
                out.push(sign);
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    out
}
