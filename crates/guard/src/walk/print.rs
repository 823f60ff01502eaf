//! `echo` and `printf`.

use crate::expand::unescape_all;
use crate::marks::UNKNOWN;
use crate::walk::state::ShellValue;
use crate::walk::{LONGEST_TEXT, ScriptWalk};

impl ScriptWalk<'_> {
    pub(crate) fn echo(&mut self, arguments: &[String]) {
        let mut rest = arguments;
        let mut escapes = false;
        let mut newline = true;
        while let Some((word, after)) = rest.split_first() {
            let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.is_empty()) else { break };
            if !flags.chars().all(|flag| matches!(flag, 'n' | 'e' | 'E')) {
                break;
            }
            newline &= !flags.contains('n');
            escapes = flags.contains('e') || escapes && !flags.contains('E');
            rest = after;
        }
        let mut text = rest.join(" ");
        // `sh` is often a shell whose `echo` always decodes.
        if escapes || self.world.shell.zero == "sh" || self.world.shell.zero == "dash" {
            text = unescape_all(&with_octal_zero(&text), false);
        }
        if newline {
            text.push('\n');
        }
        self.write(&text);
    }

    pub(crate) fn printf(&mut self, arguments: &[String]) {
        let mut rest = arguments;
        let mut variable = None;
        if let [flag, name, after @ ..] = rest
            && flag == "-v"
        {
            variable = Some(name.clone());
            rest = after;
        }
        if rest.first().is_some_and(|word| word == "--") {
            rest = rest.get(1..).unwrap_or(&[]);
        }
        let Some((format, values)) = rest.split_first() else { return };
        if format.replace("%s", "").contains('%') {
            self.world.certainty.lose();
        }
        let text = formatted(format, values);
        match variable {
            Some(name) => self.assign(&name, ShellValue::Scalar(text), None),
            None => self.write(&text),
        }
    }
}

/// For `echo` an octal number begins with a zero: the backslash before another digit stands for itself.
fn with_octal_zero(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        out.push(letter);
        if letter == '\\' {
            match letters.peek() {
                Some('1'..='7') => out.push('\\'),
                _ => out.extend(letters.next()),
            }
        }
    }
    out
}

/// The format, used again as long as there are values.
fn formatted(format: &str, values: &[String]) -> String {
    let mut out = String::new();
    let mut values = values.iter();
    loop {
        let before = values.len();
        once(format, &mut values, &mut out);
        if values.len() == 0 || values.len() == before {
            return out;
        }
        if out.len() > LONGEST_TEXT {
            out.push(UNKNOWN);
            return out;
        }
    }
}

fn once(format: &str, values: &mut std::slice::Iter<'_, String>, out: &mut String) {
    let mut rest = format;
    while let Some(at) = rest.find(['%', '\\']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        rest = from.get(1..).unwrap_or("");
        if from.starts_with('\\') {
            if let Some(after) = rest.strip_prefix(['"', '\'']) {
                out.push_str(rest.get(..1).unwrap_or(""));
                rest = after;
                continue;
            }
            let (taken, decoded) = crate::syntax::unescape(rest, false);
            // A NUL separates words for `xargs -0`; it is kept as such.
            out.push(decoded.unwrap_or('\0'));
            rest = rest.get(taken..).unwrap_or("");
            continue;
        }
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let length = rest.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (flags, after) = rest.split_at(length);
        let kind = after.chars().next();
        rest = after.get(1..).unwrap_or("");
        let value = values.next().map_or("", String::as_str);
        match kind {
            Some('s') => match flags.strip_prefix('.').and_then(|most| most.parse::<usize>().ok()) {
                Some(most) => out.extend(value.chars().take(most)),
                None => out.push_str(value),
            },
            Some('b') => out.push_str(&unescape_all(value, false)),
            Some('q') => {
                out.push('\'');
                out.push_str(&value.replace('\'', "'\\''"));
                out.push('\'');
            }
            Some('c') => out.extend(value.chars().next()),
            Some('d' | 'i' | 'u') => out.push_str(if value.is_empty() { "0" } else { value }),
            Some('x') => out.push_str(&value.parse::<i64>().map_or_else(|_| UNKNOWN.to_string(), |n| format!("{n:x}"))),
            Some('o') => out.push_str(&value.parse::<i64>().map_or_else(|_| UNKNOWN.to_string(), |n| format!("{n:o}"))),
            _ => out.push(UNKNOWN),
        }
    }
    out.push_str(rest);
}
