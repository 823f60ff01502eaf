//! Texts with values put into them: `%`, `format`, templates.

use std::rc::Rc;

use crate::marks::has_mark;
use crate::walk::program::call::Given;
use crate::walk::program::value::Value;
use crate::walk::program::{Run, Trial};

/// The widest field.
const WIDEST: usize = 400;

impl Trial<'_, '_> {
    /// A value as `{value!r:spec}` writes it.
    pub(super) fn format_value(&mut self, value: &Value, conversion: Option<char>, spec: &str) -> Run<String> {
        let text = match conversion {
            Some('r' | 'a') => self.written(value, 6)?,
            Some(_) => self.text_of(value)?.to_string(),
            None => {
                if let Some(method) = self.class_member(value, "__format__") {
                    let method = self.bind(value, method)?;
                    let text = self.call(method, vec![Value::text(spec)])?;
                    return Ok(self.text_of(&text)?.to_string());
                }
                if spec.is_empty() || spec == "s" {
                    return Ok(self.text_of(value)?.to_string());
                }
                if let Some(number) = value.as_int() {
                    return Ok(number_field(number, spec).unwrap_or_else(|| aligned(&number.to_string(), spec, true)));
                }
                self.text_of(value)?.to_string()
            }
        };
        Ok(if spec.is_empty() || has_mark(&text) { text } else { aligned(&text, spec, false) })
    }

    /// `"{} {name}".format(…)`
    pub(super) fn format_text(&mut self, text: &str, given: &Given) -> Run<String> {
        self.format_text_with(text, &mut given.clone(), None)
    }

    pub(super) fn format_text_with(&mut self, text: &str, given: &mut Given, map: Option<&Value>) -> Run<String> {
        let mut out = String::new();
        let mut next = 0;
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, behind) = rest.split_at(at);
            out.push_str(before);
            if behind.starts_with("{{") || behind.starts_with("}}") {
                out.push_str(behind.get(..1).unwrap_or(""));
                rest = behind.get(2..).unwrap_or("");
                continue;
            }
            let inside = behind.get(1..).unwrap_or("");
            let Some(end) = closing(inside) else { break };
            let field = inside.get(..end).unwrap_or("");
            rest = inside.get(end + 1..).unwrap_or("");
            let (path, spec) = field.split_once(':').unwrap_or((field, ""));
            let (path, conversion) =
                path.split_once('!').map_or((path, None), |(path, kind)| (path, kind.chars().next()));
            let value = self.format_field(path, given, map, &mut next)?;
            let spec =
                if spec.contains('{') { self.format_spec(spec, given, map, &mut next)? } else { spec.to_owned() };
            out.push_str(&self.format_value(&value, conversion, &spec)?);
        }
        out.push_str(rest);
        Ok(out)
    }

    fn format_spec(&mut self, spec: &str, given: &mut Given, map: Option<&Value>, next: &mut usize) -> Run<String> {
        let mut out = String::new();
        let mut rest = spec;
        while let Some((before, inside)) = rest.split_once('{') {
            out.push_str(before);
            let (path, after) = inside.split_once('}').unwrap_or((inside, ""));
            let value = self.format_field(path, given, map, next)?;
            out.push_str(&self.text_of(&value)?);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }

    /// The value of a field such as `0.name[key]`.
    fn format_field(&mut self, path: &str, given: &Given, map: Option<&Value>, next: &mut usize) -> Run<Value> {
        let end = path.find(['.', '[']).unwrap_or(path.len());
        let (first, mut rest) = path.split_at(end);
        let mut value = if first.is_empty() {
            *next += 1;
            given.at(*next - 1)
        } else if let Ok(at) = first.parse::<usize>() {
            given.at(at)
        } else if let Some(map) = map {
            self.item(map, &Value::text(first))?
        } else {
            match given.named(first).cloned() {
                Some(value) => value,
                None => return Err(self.exception("KeyError", first)),
            }
        };
        while !rest.is_empty() {
            if let Some(inside) = rest.strip_prefix('[') {
                let (key, after) = inside.split_once(']').unwrap_or((inside, ""));
                let key = key.parse::<i128>().map_or_else(|_| Value::text(key), Value::Int);
                value = self.item(&value, &key)?;
                rest = after;
            } else {
                let inside = rest.strip_prefix('.').unwrap_or(rest);
                let end = inside.find(['.', '[']).unwrap_or(inside.len());
                let (name, after) = inside.split_at(end);
                value = self.member(&value, name)?;
                rest = after;
            }
        }
        Ok(value)
    }

    /// `"%s" % values`
    pub(super) fn percent(&mut self, format: &str, values: &Value) -> Run<Value> {
        let mut items = match values {
            Value::Tuple(items) => items.to_vec(),
            value => vec![value.clone()],
        }
        .into_iter();
        let mut out = String::new();
        let mut rest = format;
        while let Some((before, behind)) = rest.split_once('%') {
            out.push_str(before);
            let mut behind = behind;
            let mut value = None;
            if let Some((name, after)) = behind.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
                value = Some(self.item(values, &Value::text(name))?);
                behind = after;
            }
            let end = behind.find(|letter: char| letter.is_ascii_alphabetic() || letter == '%').unwrap_or(behind.len());
            let (flags, after) = behind.split_at(end);
            let Some(kind) = after.chars().next() else { break };
            rest = after.get(1..).unwrap_or("");
            if kind == '%' {
                out.push('%');
                continue;
            }
            let mut spec = flags.to_owned();
            if spec.contains('*') {
                let width = self.text_of(&items.next().unwrap_or(Value::Unknown))?;
                spec = spec.replacen('*', &width, 1);
            }
            let value = value.or_else(|| items.next()).unwrap_or(Value::Unknown);
            out.push_str(&self.percent_field(&value, kind, &spec)?);
        }
        out.push_str(rest);
        self.new_text(out)
    }

    fn percent_field(&mut self, value: &Value, kind: char, spec: &str) -> Run<String> {
        let text = match kind {
            'r' | 'a' => self.written(value, 6)?,
            'c' if value.as_int().is_some() => {
                let code = value.as_int().and_then(|code| u32::try_from(code).ok());
                code.and_then(super::escapes::letter_of).map(String::from).unwrap_or_default()
            }
            'd' | 'i' | 'x' | 'X' | 'o' => match value.as_int() {
                Some(number) => {
                    let kind = if kind == 'i' { 'd' } else { kind };
                    number_field(number, &format!("{spec}{kind}")).unwrap_or_else(|| number.to_string())
                }
                None => self.text_of(value)?.to_string(),
            },
            _ => self.text_of(value)?.to_string(),
        };
        // `-` is to the left in this kind of format.
        let spec = match spec.strip_prefix('-') {
            Some(width) => format!("<{width}"),
            None => format!(">{spec}"),
        };
        Ok(if has_mark(&text) || spec.len() < 2 { text } else { aligned(&text, &spec, false) })
    }

    /// `$name` and `${name}` in a template of Python.
    pub(super) fn substituted(&mut self, template: &str, given: &Given, is_safe: bool) -> Run<Value> {
        let mut out = String::new();
        let mut rest = template;
        while let Some((before, behind)) = rest.split_once('$') {
            out.push_str(before);
            if let Some(after) = behind.strip_prefix('$') {
                out.push('$');
                rest = after;
                continue;
            }
            let (name, after) = match behind.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
                Some((name, after)) => (name, after),
                None => behind.split_at(
                    behind.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(behind.len()),
                ),
            };
            rest = after;
            let value = match (given.named(name).cloned(), given.get(0).cloned()) {
                (Some(value), _) => value,
                (None, Some(map)) if is_safe && self.contains(&map, &Value::text(name)) == Some(false) => {
                    Value::text(format!("${name}"))
                }
                (None, Some(map)) => self.item(&map, &Value::text(name))?,
                (None, None) if is_safe => Value::text(format!("${name}")),
                (None, None) => return Err(self.exception("KeyError", name)),
            };
            out.push_str(&self.text_of(&value)?);
        }
        out.push_str(rest);
        self.new_text(out)
    }

    /// A text as a rule of `printf` in JavaScript has it: `%s`, `%d`.
    pub(super) fn printed(&mut self, values: &[Value]) -> Run<String> {
        let Some((first, rest)) = values.split_first() else { return Ok(String::new()) };
        let mut rest = rest.iter();
        let mut text = String::new();
        let format: Rc<str> = self.shown(first)?;
        if matches!(first, Value::Text(_)) && format.contains('%') && !self.is_python() {
            let mut parts = format.split('%');
            text.push_str(parts.next().unwrap_or(""));
            for part in parts {
                if let Some('s' | 'd' | 'i' | 'j' | 'o') = part.chars().next() {
                    match rest.next() {
                        Some(value) => text.push_str(&self.shown(value)?),
                        None => text.push_str(part.get(..1).unwrap_or("")),
                    }
                    text.push_str(part.get(1..).unwrap_or(""));
                } else {
                    text.push('%');
                    text.push_str(part);
                }
            }
        } else {
            text.push_str(&format);
        }
        for value in rest {
            text.push(' ');
            text.push_str(&self.shown(value)?);
        }
        Ok(text)
    }

    fn shown(&mut self, value: &Value) -> Run<Rc<str>> {
        match value {
            Value::List(_) | Value::Dict(_) if !self.is_python() => Ok(self.written(value, 4)?.into()),
            value => self.text_of(value),
        }
    }
}

/// The place of the brace that closes a field.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => open += 1,
            '}' if open == 0 => return Some(at),
            '}' => open -= 1,
            _ => {}
        }
    }
    None
}

/// A number in a field of another base or kind; none if the field says nothing of the kind.
fn number_field(number: i128, spec: &str) -> Option<String> {
    let kind = spec.chars().last().filter(char::is_ascii_alphabetic)?;
    let digits = number.unsigned_abs();
    let text = match kind {
        'd' => digits.to_string(),
        'x' => format!("{digits:x}"),
        'X' => format!("{digits:X}"),
        'o' => format!("{digits:o}"),
        'b' => format!("{digits:b}"),
        'c' => return u32::try_from(number).ok().and_then(super::escapes::letter_of).map(String::from),
        _ => return None,
    };
    let sign = if number < 0 { "-" } else { "" };
    let prefix = match kind {
        'x' | 'X' | 'o' | 'b' if spec.contains('#') => format!("0{kind}"),
        _ => String::new(),
    };
    let spec = spec.trim_end_matches(kind).replace(['#', '+', ','], "");
    Some(aligned(&format!("{sign}{prefix}{text}"), &spec, true))
}

/// A text in a field: `*>10`, `<8`, `05`, `.3`.
fn aligned(text: &str, spec: &str, is_number: bool) -> String {
    let letters: Vec<char> = spec.chars().collect();
    let is_align = |letter: Option<&char>| letter.is_some_and(|letter| matches!(letter, '<' | '>' | '^' | '='));
    let (mut fill, mut align, mut at) = (' ', None, 0);
    if is_align(letters.get(1)) {
        fill = letters.first().copied().unwrap_or(' ');
        align = letters.get(1).copied();
        at = 2;
    } else if is_align(letters.first()) {
        align = letters.first().copied();
        at = 1;
    }
    let rest: String = letters.iter().skip(at).filter(|letter| letter.is_ascii_digit() || **letter == '.').collect();
    let (width, precision) =
        rest.split_once('.').map_or((rest.as_str(), None), |(width, precision)| (width, Some(precision)));
    if width.starts_with('0') && align.is_none() {
        fill = '0';
    }
    let width = width.parse::<usize>().unwrap_or(0).min(WIDEST);
    let text = match precision.and_then(|precision| precision.parse::<usize>().ok()) {
        Some(precision) if !is_number => text.chars().take(precision).collect::<String>(),
        _ => text.to_owned(),
    };
    let missing = width.saturating_sub(text.chars().count());
    let pad = |count: usize| std::iter::repeat_n(fill, count).collect::<String>();
    match align {
        Some('^') => format!("{}{text}{}", pad(missing / 2), pad(missing - missing / 2)),
        Some('>' | '=') => format!("{}{text}", pad(missing)),
        Some(_) => format!("{text}{}", pad(missing)),
        None if is_number || fill == '0' => format!("{}{text}", pad(missing)),
        None => format!("{text}{}", pad(missing)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_python_writes_them() {
        assert_eq!(aligned("git", ">5", false), "  git");
        assert_eq!(aligned("git", "*^7", false), "**git**");
        assert_eq!(aligned("force", ".2", false), "fo");
        assert_eq!(number_field(255, "04x").as_deref(), Some("00ff"));
        assert_eq!(number_field(102, "c").as_deref(), Some("f"));
    }
}
