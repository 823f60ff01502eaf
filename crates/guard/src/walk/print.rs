//! `echo` and `printf`.

use crate::expand::unescape_all;
use crate::marks::{SOME, UNKNOWN, is_mark};
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
            text = unescape_all(&text, false);
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
            Some(name) => self.assign_named(&name, text),
            None => self.write(&text),
        }
    }
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
            let (taken, decoded) = bashful_bash::unescape(rest, false);
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
        // A time, which nobody knows before.
        if let Some((_, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(")T")) {
            values.next();
            out.push(SOME);
            rest = after;
            continue;
        }
        let length = rest.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (flags, after) = rest.split_at(length);
        let kind = after.chars().next();
        rest = after.get(1..).unwrap_or("");
        let shape = Shape::of(flags, values);
        let value = values.next().map_or("", String::as_str);
        out.push_str(&shape.filled(kind, value));
    }
    out.push_str(rest);
}

/// The flags, width and precision of a conversion.
#[derive(Debug, Default)]
struct Shape {
    is_left: bool,
    has_zeros: bool,
    width: usize,
    most: Option<usize>,
}

impl Shape {
    fn of(flags: &str, values: &mut std::slice::Iter<'_, String>) -> Self {
        let size = flags.trim_start_matches(['-', '+', ' ', '0', '#', '\'']);
        let signs = flags.get(..flags.len() - size.len()).unwrap_or("");
        let (width, most) = size.split_once('.').map_or((size, None), |(width, most)| (width, Some(most)));
        let mut number = |text: &str| match text {
            "*" => values.next().and_then(|value| value.parse().ok()).unwrap_or(0),
            text => text.parse::<usize>().unwrap_or(0),
        };
        Self {
            is_left: signs.contains('-'),
            has_zeros: signs.contains('0'),
            width: number(width).min(LONGEST_TEXT / 64),
            most: most.map(number),
        }
    }

    fn filled(&self, kind: Option<char>, value: &str) -> String {
        let text = match kind {
            Some('s') => match self.most {
                Some(most) => value.chars().take(most).collect(),
                None => value.to_owned(),
            },
            Some('b') => unescape_all(value, false),
            Some('q') => format!("'{}'", value.replace('\'', "'\\''")),
            Some('c') => value.chars().take(1).collect(),
            Some(kind @ ('d' | 'i' | 'u' | 'x' | 'o')) => match (kind, number_in(value)) {
                ('x', Some(number)) => format!("{number:x}"),
                ('o', Some(number)) => format!("{number:o}"),
                (_, Some(number)) => number.to_string(),
                (_, None) => UNKNOWN.to_string(),
            },
            _ => UNKNOWN.to_string(),
        };
        let missing = self.width.saturating_sub(text.chars().count());
        match (self.is_left, text.contains(UNKNOWN)) {
            (_, true) => text,
            (true, _) => text + &" ".repeat(missing),
            (false, _) if self.has_zeros && kind != Some('s') => "0".repeat(missing) + &text,
            (false, _) => " ".repeat(missing) + &text,
        }
    }
}

/// The number that a value is to `printf`: `'a` is the code of the letter.
fn number_in(value: &str) -> Option<i64> {
    if let Some(letter) = value.strip_prefix(['\'', '"']).and_then(|rest| rest.chars().next()) {
        return (!is_mark(letter)).then(|| i64::from(u32::from(letter)));
    }
    match value.trim() {
        "" => Some(0),
        text => match (text.strip_prefix("0x"), text.strip_prefix('0').filter(|rest| !rest.is_empty())) {
            (Some(digits), _) => i64::from_str_radix(digits, 16).ok(),
            (None, Some(digits)) => i64::from_str_radix(digits, 8).ok(),
            (None, None) => text.parse().ok(),
        },
    }
}
