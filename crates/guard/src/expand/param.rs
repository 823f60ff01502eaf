//! `$x` and everything that `${…}` can do with it.

use crate::expand::{ExpandMode, FieldList};
use crate::marks::{HOME, REPO, SOME, START, UNKNOWN, has_mark, is_vague, is_wild};
use crate::pattern;
use crate::walk::ScriptWalk;
use crate::walk::state::{DIRECTORY, ShellState, ShellValue, in_order_of_bash};
use bashful_bash::ast::{Anchor, Index, Param, ParamChange, ShellWord, WordPiece};
use bashful_bash::unescape;

/// The longest text in which a pattern is looked for at every place, in bytes.
const LONGEST_REPLACED: usize = 512;

/// The value of a parameter before anything is done with it.
#[derive(Debug, Clone)]
enum Base {
    /// Known to be unset.
    Unset,
    /// Not set by the script. The value of the environment is unknown.
    Outside,
    One(String),
    /// All elements, to be joined if asked for with `*`.
    Many {
        items: Vec<String>,
        joined: bool,
        positional: bool,
    },
}

/// True if this gives as many fields as there are elements, also inside of quotes.
pub(super) fn is_list(param: &Param) -> bool {
    !param.length
        && (param.name == "@" || matches!(param.index, Some(Index::All)))
        && !matches!(param.change, ParamChange::Fallback { .. })
}

impl ScriptWalk<'_> {
    /// The value of a name without an index, if the script or its environment gives it one.
    pub(crate) fn scalar(&mut self, name: &str) -> Option<String> {
        match self.base(name, None) {
            Base::One(text) => Some(text),
            Base::Many { items, .. } => Some(items.join(" ")),
            Base::Unset | Base::Outside => None,
        }
    }

    /// Expands one parameter into the fields.
    pub(super) fn push_param(&mut self, param: &Param, mode: ExpandMode, fields: &mut FieldList) {
        let mut name = param.name.clone();
        let mut index = param.index.clone();
        if param.indirect {
            if matches!(param.change, ParamChange::Names) {
                let mut names: Vec<String> =
                    self.world.shell.names().filter(|other| other.starts_with(&name)).map(str::to_owned).collect();
                names.sort();
                return self.push_base(Base::Many { items: names, joined: false, positional: false }, mode, fields);
            }
            if matches!(param.index, Some(Index::All | Index::Joined)) {
                let keys = self.keys(&name);
                return self.push_base(Base::Many { items: keys, joined: false, positional: false }, mode, fields);
            }
            match self.base(&name, index.as_ref()) {
                Base::One(other) => (name, index) = self.target(&other),
                _ => return self.push_base(Base::Outside, mode, fields),
            }
        }
        let mut base = self.base(&name, index.as_ref());
        // With `set -u`, the script ends here.
        if self.world.shell.stops_at_unset
            && matches!((&base, &index), (Base::Unset, None | Some(Index::At(_))))
            && !matches!(param.change, ParamChange::Fallback { .. })
            && self.world.shell.outside.lacks(&name)
        {
            base = Base::One(SOME.to_string());
        }
        if param.length {
            let text = match base {
                Base::Many { items, .. } => items.len().to_string(),
                Base::One(text) if !is_vague(&text) => self.world.concrete(&text).chars().count().to_string(),
                Base::Unset => "0".to_owned(),
                Base::One(_) | Base::Outside => SOME.to_string(),
            };
            return self.push_expansion(&text, mode, fields);
        }
        if let ParamChange::Fallback { kind, empty_too, word } = &param.change {
            return self.fallback(base, (*kind, *empty_too), word, &name, mode, fields);
        }
        let changed = self.changed(base, &param.change);
        self.push_base(changed, mode, fields);
    }

    /// The variable that a text names; the name may have an index.
    fn target(&mut self, text: &str) -> (String, Option<Index>) {
        match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((name, "@")) => (name.to_owned(), Some(Index::All)),
            Some((name, "*")) => (name.to_owned(), Some(Index::Joined)),
            Some((name, index)) => (name.to_owned(), Some(Index::At(ShellWord::quoted(index, self.trail.extent)))),
            None => (text.to_owned(), None),
        }
    }

    fn keys(&mut self, name: &str) -> Vec<String> {
        match self.value(name) {
            Some(ShellValue::Array(items)) => items.keys().map(ToString::to_string).collect(),
            Some(ShellValue::Table(items)) => in_order_of_bash(&items).map(|(key, _)| key.clone()).collect(),
            Some(ShellValue::Scalar(_)) => vec!["0".to_owned()],
            Some(ShellValue::Unset) | None => Vec::new(),
        }
    }

    fn base(&mut self, name: &str, index: Option<&Index>) -> Base {
        let is_argument =
            matches!(name, "@" | "*" | "#") || name.bytes().all(|byte| byte.is_ascii_digit()) && name != "0";
        if is_argument {
            self.note_arguments_read();
        }
        match name {
            "@" | "*" => {
                let items = self.world.shell.arguments.to_vec();
                return Base::Many { items, joined: name == "*", positional: true };
            }
            "#" => return Base::One(self.world.shell.arguments.len().to_string()),
            "0" => return Base::One(self.world.shell.zero.clone()),
            "_" => {
                self.world.certainty.lose();
                return Base::One(self.world.shell.last_word.clone());
            }
            "?" => return Base::One(SOME.to_string()),
            "-" => return Base::One(self.world.shell.option_letters()),
            "FUNCNAME" => {
                let is_function = |open: &&String| !open.contains(' ');
                let names = self.world.calls.iter().rev().filter(is_function).cloned().collect();
                return self.part_of(&ShellValue::list(names), index);
            }
            "BASH_EXECUTION_STRING" if !self.world.shell.is_child => {
                return Base::One(self.trail.script().to_owned());
            }
            "SHELLOPTS" => return Base::One("braceexpand:hashall:interactive-comments".to_owned()),
            "PWD" if self.world.shell.variable("PWD").is_none() => return self.base(DIRECTORY, None),
            _ => {}
        }
        if let Ok(number) = name.parse::<usize>() {
            return match self.world.shell.arguments.get(number.wrapping_sub(1)) {
                Some(text) => Base::One(text.clone()),
                None => Base::Unset,
            };
        }
        let Some(value) = self.value(name) else {
            // The index is expanded all the same.
            if let Some(Index::At(word)) = index {
                self.expand_text(word);
            }
            // The usual shell need not be this one's.
            if matches!(name, "SHELL" | "BASH") {
                self.world.certainty.lose();
            }
            return match ShellState::inherited(name) {
                // A shell that the script has started has a parent that is the script's own.
                Some(_) if name == "PPID" && self.world.shell.is_child => Base::One(SOME.to_string()),
                Some(text) => Base::One(text),
                None if self.world.shell.outside.lacks(name) => Base::Unset,
                None if name == "OLDPWD" || index.is_none() => Base::Outside,
                None => Base::Unset,
            };
        };
        self.part_of(&value, index)
    }

    /// The part of a value that an index means.
    fn part_of(&mut self, value: &ShellValue, index: Option<&Index>) -> Base {
        match index {
            Some(Index::All) => Base::Many { items: value.all(), joined: false, positional: false },
            Some(Index::Joined) => Base::Many { items: value.all(), joined: true, positional: false },
            Some(Index::At(word)) => {
                let key = self.expand_text(word);
                self.element(value, &key)
            }
            None => match value.scalar() {
                Some(text) => Base::One(text.to_owned()),
                None => Base::Unset,
            },
        }
    }

    /// The text of an element, for arithmetic.
    pub(super) fn element_text(&mut self, name: &str, key: &str) -> Option<String> {
        let value = self.value(name)?;
        match self.element(&value, key) {
            Base::One(text) => Some(text),
            _ => None,
        }
    }

    fn element(&mut self, value: &ShellValue, key: &str) -> Base {
        match value {
            ShellValue::Table(items) => items.get(key).cloned().map_or(Base::Unset, Base::One),
            ShellValue::Array(items) => {
                let Some(number) = self.number(key) else { return Base::One(UNKNOWN.to_string()) };
                let at = if number < 0 {
                    items.keys().next_back().map_or(0, |last| last.saturating_add(1)).saturating_add(number)
                } else {
                    number
                };
                items.get(&at).cloned().map_or(Base::Unset, Base::One)
            }
            ShellValue::Scalar(text) if matches!(key, "0" | "-1") => Base::One(text.clone()),
            ShellValue::Scalar(_) | ShellValue::Unset => Base::Unset,
        }
    }

    fn fallback(
        &mut self,
        base: Base,
        (kind, empty_too): (char, bool),
        word: &ShellWord,
        name: &str,
        mode: ExpandMode,
        fields: &mut FieldList,
    ) {
        if matches!(base, Base::Outside) && !self.world.shell.outside.is_absent(name) {
            self.world.certainty.lose();
        }
        let is_set = match &base {
            Base::Unset | Base::Outside => false,
            Base::One(text) => !(empty_too && text.is_empty()),
            Base::Many { items, .. } => !(items.is_empty() || empty_too && items.iter().all(String::is_empty)),
        };
        match (kind, is_set) {
            ('+', true) | ('-' | '=', false) => {
                if kind == '=' {
                    let text = self.expand_text(word);
                    self.assign(name, ShellValue::Scalar(text), None);
                }
                // The words of `${x:+a b}` are split like a value, unless it is quoted.
                let is_home = matches!(word.pieces.first(), Some(WordPiece::Text(text)) if text.starts_with('~'));
                if mode.quoted || !mode.split || is_home {
                    let expanded = self.expand(&word.pieces, mode);
                    fields.append(expanded);
                    return;
                }
                for piece in &word.pieces {
                    match piece {
                        WordPiece::Text(text) => self.push_expansion(text, mode, fields),
                        other => self.push_piece(other, mode, fields),
                    }
                }
            }
            ('+', false) => {}
            // The script ends here if it is unset, so the commands after it see a value.
            ('?', false) => {
                self.world.shell.outside.note_test(name);
                self.push_expansion(&SOME.to_string(), mode, fields);
            }
            ('?', true) if matches!(&base, Base::One(text) if text.contains(UNKNOWN)) => {
                self.push_expansion(&SOME.to_string(), mode, fields);
            }
            _ => self.push_base(base, mode, fields),
        }
    }

    fn changed(&mut self, base: Base, change: &ParamChange) -> Base {
        match change {
            ParamChange::None | ParamChange::Names | ParamChange::Fallback { .. } => base,
            ParamChange::Slice { offset, length } => {
                let offset = self.expand_text(offset);
                let Some(offset) = self.number(&offset) else { return Base::One(UNKNOWN.to_string()) };
                let mut end = None;
                if let Some(length) = length {
                    let text = self.expand_text(length);
                    end = self.number(&text);
                    if end.is_none() {
                        return Base::One(UNKNOWN.to_string());
                    }
                }
                self.slice(base, offset, end)
            }
            ParamChange::Trim { from_end, longest, pattern } => {
                let pattern = self.expand_pattern(pattern);
                self.change_each(base, |walk, text| {
                    // Quadratic in the length: not for long texts.
                    if text.len() > LONGEST_REPLACED && pattern.contains(is_wild) {
                        return UNKNOWN.to_string();
                    }
                    walk.budget.spend(text.len() / 64);
                    match pattern::trim(&pattern, text, *from_end, *longest) {
                        Some(taken) if *from_end => text.get(..text.len() - taken).unwrap_or("").to_owned(),
                        Some(taken) => text.get(taken..).unwrap_or("").to_owned(),
                        None => text.to_owned(),
                    }
                })
            }
            ParamChange::Replace { anchor, pattern, by } => {
                let pattern = self.expand_pattern(pattern);
                let by = self.expand_text(by);
                self.change_each(base, |walk, text| {
                    walk.budget.spend(text.len() / 64);
                    replace(text, &pattern, &by, *anchor)
                })
            }
            ParamChange::Case { kind, all } => self.change_each(base, |_, text| change_case(text, *kind, *all)),
            ParamChange::Transform(kind) => self.change_each(base, |walk, text| {
                if *kind == 'P' {
                    walk.run_hidden(text);
                    return walk.expanded_prompt(text);
                }
                transform(text, *kind)
            }),
        }
    }

    /// `${x@P}`: the text as a prompt, in which variables are expanded.
    fn expanded_prompt(&mut self, text: &str) -> String {
        let text = unescape_all(text, true);
        if !text.contains('$') || text.contains("$(") || text.contains('`') {
            return text;
        }
        let quoted = text.replace('"', "\\\"");
        self.capturing(|walk| {
            walk.run_derived(&format!("printf %s \"{quoted}\""));
        })
    }

    /// Applies a change of text to every element.
    fn change_each(&mut self, base: Base, change: impl Fn(&mut Self, &str) -> String) -> Base {
        let mut apply = |text: String| {
            if has_mark(&text) && text.contains([HOME, START, REPO]) {
                let changed = change(self, &self.world.concrete(&text));
                self.world.symbolic(&changed)
            } else {
                change(self, &text)
            }
        };
        match base {
            Base::One(text) => Base::One(apply(text)),
            Base::Many { items, joined, positional } => {
                Base::Many { items: items.into_iter().map(apply).collect(), joined, positional }
            }
            other => other,
        }
    }

    fn slice(&mut self, base: Base, offset: i64, length: Option<i64>) -> Base {
        match base {
            Base::One(text) => {
                let text = self.world.concrete(&text);
                if text.contains([UNKNOWN, SOME]) {
                    return Base::One(UNKNOWN.to_string());
                }
                let letters: Vec<char> = text.chars().collect();
                let cut: String = span(letters.len(), offset, length).filter_map(|at| letters.get(at)).collect();
                Base::One(self.world.symbolic(&cut))
            }
            Base::Many { mut items, joined, positional } => {
                // `${@:0}` starts with the name of the shell.
                if positional {
                    items.insert(0, self.world.shell.zero.clone());
                }
                let cut = span(items.len(), offset, length).filter_map(|at| items.get(at).cloned()).collect();
                Base::Many { items: cut, joined, positional }
            }
            other => other,
        }
    }

    /// Puts the outcome into the fields.
    fn push_base(&mut self, base: Base, mode: ExpandMode, fields: &mut FieldList) {
        match base {
            Base::Unset => {}
            Base::Outside => self.push_expansion(&UNKNOWN.to_string(), mode, fields),
            Base::One(text) => self.push_expansion(&text, mode, fields),
            Base::Many { items, joined: true, .. } if mode.quoted || !mode.split => {
                let separators = self.scalar("IFS").unwrap_or_else(|| " ".to_owned());
                let separator: String = separators.chars().take(1).collect();
                self.push_expansion(&items.join(&separator), mode, fields);
            }
            Base::Many { items, .. } if !mode.split => self.push_expansion(&items.join(" "), mode, fields),
            Base::Many { items, .. } => {
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        fields.cut();
                    }
                    self.push_expansion(item, mode, fields);
                }
            }
        }
    }
}

/// The positions that `${x:offset:length}` takes.
fn span(count: usize, offset: i64, length: Option<i64>) -> std::ops::Range<usize> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let start = if offset < 0 { count.saturating_add(offset) } else { offset };
    if start < 0 || start > count {
        return 0..0;
    }
    let end = match length {
        None => count,
        Some(length) if length < 0 => count.saturating_add(length),
        Some(length) => start.saturating_add(length).min(count),
    };
    let place = |number: i64| usize::try_from(number.max(0)).unwrap_or(usize::MAX);
    place(start)..place(end.max(start))
}

fn replace(text: &str, pattern: &str, by: &str, anchor: Anchor) -> String {
    if pattern.is_empty() {
        return match anchor {
            Anchor::Start => format!("{by}{text}"),
            Anchor::End => format!("{text}{by}"),
            Anchor::First | Anchor::Every => text.to_owned(),
        };
    }
    let is_literal = !pattern.contains(is_wild);
    match anchor {
        Anchor::First if is_literal => text.replacen(pattern, by, 1),
        Anchor::Every if is_literal => text.replace(pattern, by),
        // Cubic in the length: not for long texts.
        Anchor::First | Anchor::Every if text.len() > LONGEST_REPLACED => UNKNOWN.to_string(),
        Anchor::Start => match pattern::trim(pattern, text, false, true) {
            Some(taken) => format!("{by}{}", text.get(taken..).unwrap_or("")),
            None => text.to_owned(),
        },
        Anchor::End => match pattern::trim(pattern, text, true, true) {
            Some(taken) => format!("{}{by}", text.get(..text.len() - taken).unwrap_or("")),
            None => text.to_owned(),
        },
        Anchor::First | Anchor::Every => {
            let mut out = String::new();
            let mut rest = text;
            while let Some(letter) = rest.chars().next() {
                match pattern::trim(pattern, rest, false, true) {
                    Some(taken) if taken > 0 => {
                        out.push_str(by);
                        rest = rest.get(taken..).unwrap_or("");
                        if anchor == Anchor::First {
                            break;
                        }
                    }
                    _ => {
                        out.push(letter);
                        rest = rest.get(letter.len_utf8()..).unwrap_or("");
                    }
                }
            }
            out.push_str(rest);
            out
        }
    }
}

fn change_case(text: &str, kind: char, all: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, letter) in text.chars().enumerate() {
        let changed = match kind {
            _ if at > 0 && !all => letter,
            '^' => letter.to_ascii_uppercase(),
            ',' => letter.to_ascii_lowercase(),
            _ if letter.is_ascii_uppercase() => letter.to_ascii_lowercase(),
            _ => letter.to_ascii_uppercase(),
        };
        out.push(changed);
    }
    out
}

fn transform(text: &str, kind: char) -> String {
    match kind {
        'U' => text.to_uppercase(),
        'L' => text.to_lowercase(),
        'u' => change_case(text, '^', false),
        'Q' => format!("'{}'", text.replace('\'', "'\\''")),
        'E' | 'P' => unescape_all(text, true),
        _ => text.to_owned(),
    }
}

/// Decodes every backslash.
pub(crate) fn unescape_all(text: &str, ansi: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let (taken, decoded) = unescape(after, ansi);
        out.extend(decoded);
        rest = after.get(taken..).unwrap_or("");
    }
    out.push_str(rest);
    out
}
