//! Names of keys: tmux's, and aliases that people and models use.

use std::fmt;
use std::str::FromStr;

use crate::keys::decode::legacy_key;
use crate::keys::encode::control_character;
use crate::keys::key::{Code, Key, Modifiers};

/// Names of keys. The first one of a code is tmux's, and is the one displayed.
const NAMES: [(&str, Code); 46] = [
    ("Enter", Code::Enter),
    ("Return", Code::Enter),
    ("CR", Code::Enter),
    ("Tab", Code::Tab),
    ("BTab", Code::Tab),
    ("BackTab", Code::Tab),
    ("Escape", Code::Escape),
    ("Esc", Code::Escape),
    ("BSpace", Code::Backspace),
    ("Backspace", Code::Backspace),
    ("BS", Code::Backspace),
    ("Space", Code::Char(' ')),
    ("Up", Code::Up),
    ("ArrowUp", Code::Up),
    ("UpArrow", Code::Up),
    ("Down", Code::Down),
    ("ArrowDown", Code::Down),
    ("DownArrow", Code::Down),
    ("Right", Code::Right),
    ("ArrowRight", Code::Right),
    ("RightArrow", Code::Right),
    ("Left", Code::Left),
    ("ArrowLeft", Code::Left),
    ("LeftArrow", Code::Left),
    ("Home", Code::Home),
    ("End", Code::End),
    ("PPage", Code::PageUp),
    ("PageUp", Code::PageUp),
    ("PgUp", Code::PageUp),
    ("NPage", Code::PageDown),
    ("PageDown", Code::PageDown),
    ("PgDn", Code::PageDown),
    ("PgDown", Code::PageDown),
    ("IC", Code::Insert),
    ("Insert", Code::Insert),
    ("Ins", Code::Insert),
    ("DC", Code::Delete),
    ("Delete", Code::Delete),
    ("Del", Code::Delete),
    ("KPEnter", Code::Keypad('\r')),
    ("KP+", Code::Keypad('+')),
    ("KP-", Code::Keypad('-')),
    ("KP*", Code::Keypad('*')),
    ("KP/", Code::Keypad('/')),
    ("KP.", Code::Keypad('.')),
    ("KP=", Code::Keypad('=')),
];

/// Prefixes of names, in lower case.
const PREFIXES: [(&str, Modifiers); 9] = [
    ("c", CTRL),
    ("ctrl", CTRL),
    ("control", CTRL),
    ("m", ALT),
    ("alt", ALT),
    ("meta", ALT),
    ("option", ALT),
    ("s", SHIFT),
    ("shift", SHIFT),
];

const CTRL: Modifiers = Modifiers { ctrl: true, alt: false, shift: false };
const ALT: Modifiers = Modifiers { ctrl: false, alt: true, shift: false };
const SHIFT: Modifiers = Modifiers { ctrl: false, alt: false, shift: true };

/// A name that stands for no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown key {name:?}")]
pub struct UnknownKey {
    /// The name as it was given.
    pub name: String,
    /// Known names that look like it, the most similar first; none if no name does.
    pub nearest: Vec<String>,
}

impl FromStr for Key {
    type Err = UnknownKey;

    fn from_str(name: &str) -> Result<Self, UnknownKey> {
        parse(name).ok_or_else(|| UnknownKey { name: name.to_owned(), nearest: nearest(name) })
    }
}

fn parse(name: &str) -> Option<Key> {
    let (modifiers, base) = split_prefixes(name);
    // A control character itself, as some models write `\u0003`.
    if let [control @ (..0x20 | 0x7f)] = base.as_bytes() {
        let key = legacy_key(char::from(*control));
        let alt = modifiers.alt;
        return Some(Key { modifiers: Modifiers { alt, ..key.modifiers }, ..key });
    }
    let mut key = Key { code: code(base)?, modifiers };
    key.modifiers.shift |= ["BTab", "BackTab"].iter().any(|name| base.eq_ignore_ascii_case(name));
    match key.code {
        Code::Char(c) => {
            if key.modifiers.shift && c.is_alphabetic() {
                // One letter only: the sharp s has no single capital.
                let mut upper = c.to_uppercase();
                key.code = Code::Char(upper.next().filter(|_| upper.next().is_none())?);
                key.modifiers.shift = false;
            } else if key.modifiers.shift && c != ' ' {
                // The character on that key depends on the keyboard.
                return None;
            }
            if key.modifiers.ctrl {
                let Code::Char(c) = key.code else { return None };
                control_character(c)?;
                // C-A and C-a are the same byte.
                key.code = Code::Char(c.to_ascii_lowercase());
            }
        }
        Code::Function(number @ 13..=24) => {
            key.code = Code::Function(number - 12);
            key.modifiers.shift = true;
        }
        _ => {}
    }
    Some(key)
}

/// Takes off `C-`, `Alt+`, `^` and so on, as long as something is left.
fn split_prefixes(name: &str) -> (Modifiers, &str) {
    let mut modifiers = Modifiers::default();
    let mut rest = name;
    loop {
        if let Some(after) = rest.strip_prefix('^').filter(|after| !after.is_empty()) {
            modifiers.ctrl = true;
            rest = after;
            continue;
        }
        let Some(at) = rest.find(['-', '+']).filter(|at| at + 1 < rest.len()) else {
            return (modifiers, rest);
        };
        let prefix = rest[..at].to_ascii_lowercase();
        let Some((_, held)) = PREFIXES.iter().find(|(known, _)| *known == prefix) else {
            return (modifiers, rest);
        };
        modifiers.ctrl |= held.ctrl;
        modifiers.alt |= held.alt;
        modifiers.shift |= held.shift;
        rest = &rest[at + 1..];
    }
}

/// The key of a name without prefixes; Tab for `BTab`, whose Shift the caller adds.
fn code(name: &str) -> Option<Code> {
    let mut characters = name.chars();
    if let (Some(only), None) = (characters.next(), characters.next()) {
        return Some(Code::Char(only));
    }
    if let Some((_, code)) = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        return Some(*code);
    }
    if let Some(digit) = strip_prefix(name, "kp") {
        let mut digits = digit.chars();
        return match (digits.next(), digits.next()) {
            (Some(digit @ '0'..='9'), None) => Some(Code::Keypad(digit)),
            _ => None,
        };
    }
    let number: u8 = strip_prefix(name, "f").filter(|rest| !rest.starts_with(['0', '+']))?.parse().ok()?;
    (1..=24).contains(&number).then_some(Code::Function(number))
}

fn strip_prefix<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = name.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Up to three names that look like `name`.
fn nearest(name: &str) -> Vec<String> {
    // Longer names are no typing errors, and the comparison takes time by their length.
    if name.len() > 32 {
        return Vec::new();
    }
    let (modifiers, base) = split_prefixes(name);
    let base = base.to_ascii_lowercase();
    let names = NAMES.iter().map(|(known, _)| (*known).to_owned());
    let functions = (1..=12).map(|number| format!("F{number}"));
    let mut scored: Vec<(usize, String)> = names
        .chain(functions)
        .map(|known| (strsim::osa_distance(&base, &known.to_ascii_lowercase()), known))
        .filter(|(distance, known)| *distance <= 2 && *distance * 2 <= known.len())
        .collect();
    scored.sort_by_key(|(distance, _)| *distance);
    let best = scored.first().map_or(0, |(distance, _)| *distance);
    let similar = scored.into_iter().filter(|(distance, _)| *distance == best);
    similar.take(3).map(|(_, known)| format!("{}{known}", Prefix(modifiers))).collect()
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.code == Code::Tab && self.modifiers.shift {
            let modifiers = Modifiers { shift: false, ..self.modifiers };
            return write!(formatter, "{}BTab", Prefix(modifiers));
        }
        write!(formatter, "{}", Prefix(self.modifiers))?;
        match NAMES.iter().find(|(_, code)| *code == self.code) {
            Some((name, _)) => formatter.write_str(name),
            None => match self.code {
                Code::Function(number) => write!(formatter, "F{number}"),
                Code::Keypad(digit) => write!(formatter, "KP{digit}"),
                Code::Char(c) => write!(formatter, "{c}"),
                _ => unreachable!("every other key has a name in the table"),
            },
        }
    }
}

/// Modifiers as tmux writes them before a name.
struct Prefix(Modifiers);

impl fmt::Display for Prefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Modifiers { ctrl, alt, shift } = self.0;
        for (held, prefix) in [(ctrl, "C-"), (alt, "M-"), (shift, "S-")] {
            if held {
                formatter.write_str(prefix)?;
            }
        }
        Ok(())
    }
}
