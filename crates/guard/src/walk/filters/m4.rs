//! `m4`: macros that are replaced until nothing is left to replace.

use std::collections::BTreeMap;

use super::calc;
use super::options::{Exact, Inexact, OrUnknown};
use crate::walk::{LONGEST_TEXT, ScriptWalk};

/// Macros that are there from the start.
const BUILTINS: [&str; 20] = [
    "define",
    "undefine",
    "ifdef",
    "ifelse",
    "len",
    "substr",
    "index",
    "translit",
    "incr",
    "decr",
    "eval",
    "dnl",
    "changequote",
    "include",
    "sinclude",
    "syscmd",
    "esyscmd",
    "shift",
    "divert",
    "pushdef",
];

/// Macros that are there from the start, and not followed.
const OTHERS: [&str; 12] = [
    "regexp",
    "patsubst",
    "format",
    "popdef",
    "undivert",
    "changecom",
    "m4wrap",
    "builtin",
    "indir",
    "defn",
    "maketemp",
    "esyscmd_",
];

pub(super) fn m4(walk: &mut ScriptWalk<'_>, _: &str, arguments: &[String]) -> Exact<String> {
    let mut processor = MacroProcessor {
        macros: BTreeMap::new(),
        gone: Vec::new(),
        input: Vec::new(),
        out: String::new(),
        quotes: ('`', '\''),
        is_diverted: false,
    };
    let mut text = String::new();
    let mut any = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let definition = match word.strip_prefix("-D").or_else(|| word.strip_prefix("--define=")) {
            Some("") => Some(words.next().or_unknown()?.as_str()),
            other => other,
        };
        if let Some(definition) = definition {
            let (name, value) = definition.split_once('=').unwrap_or((definition, ""));
            processor.macros.insert(name.to_owned(), value.to_owned());
        } else if word.starts_with('-') && word.len() > 1 {
            return Err(Inexact::Unknown);
        } else {
            any = true;
            text.push_str(&walk.exact_text(word)?);
        }
    }
    if !any {
        text = walk.exact_text("-")?.to_string();
    }
    processor.push_back(&text);
    processor.run(walk)?;
    Ok(processor.out)
}

struct MacroProcessor {
    macros: BTreeMap<String, String>,
    /// Macros of the start that are undefined.
    gone: Vec<String>,
    /// The text that is still to be read, from its end.
    input: Vec<char>,
    out: String,
    quotes: (char, char),
    /// Output is thrown away.
    is_diverted: bool,
}

impl MacroProcessor {
    fn push_back(&mut self, text: &str) {
        self.input.extend(text.chars().rev());
    }

    fn run(&mut self, walk: &mut ScriptWalk<'_>) -> Exact<()> {
        while let Some(piece) = self.next_piece(walk)? {
            if !self.is_diverted {
                self.out.push_str(&piece.text);
            }
            if self.out.len() > LONGEST_TEXT {
                return Err(Inexact::Unknown);
            }
        }
        Ok(())
    }

    /// The next text that no macro changes any more.
    fn next_piece(&mut self, walk: &mut ScriptWalk<'_>) -> Exact<Option<Piece>> {
        loop {
            walk.work(usize::from(self.input.len().is_multiple_of(4)))?;
            if self.input.len() > LONGEST_TEXT {
                return Err(Inexact::Unknown);
            }
            let Some(letter) = self.input.pop() else { return Ok(None) };
            if letter == self.quotes.0 {
                return Ok(Some(Piece { text: self.quoted()?, is_plain: false }));
            }
            if letter == '#' {
                let mut text = String::from('#');
                while let Some(next) = self.input.pop() {
                    text.push(next);
                    if next == '\n' {
                        break;
                    }
                }
                return Ok(Some(Piece { text, is_plain: false }));
            }
            if !letter.is_ascii_alphabetic() && letter != '_' {
                return Ok(Some(Piece { text: letter.to_string(), is_plain: true }));
            }
            let mut name = String::from(letter);
            while let Some(next) = self.input.pop_if(|next| next.is_ascii_alphanumeric() || *next == '_') {
                name.push(next);
            }
            if !self.call(walk, &name)? {
                return Ok(Some(Piece { text: name, is_plain: false }));
            }
        }
    }

    fn quoted(&mut self) -> Exact<String> {
        let mut text = String::new();
        let mut open = 1;
        loop {
            let letter = self.input.pop().or_unknown()?;
            if letter == self.quotes.1 {
                open -= 1;
                if open == 0 {
                    return Ok(text);
                }
            } else if letter == self.quotes.0 {
                open += 1;
            }
            text.push(letter);
        }
    }

    /// Replaces a macro by its value; false if the word is none.
    fn call(&mut self, walk: &mut ScriptWalk<'_>, name: &str) -> Exact<bool> {
        let value = self.macros.get(name).cloned();
        let is_builtin = value.is_none() && BUILTINS.contains(&name) && !self.gone.iter().any(|gone| gone == name);
        let has_arguments = self.input.last() == Some(&'(');
        if value.is_none() && OTHERS.contains(&name) && has_arguments {
            return Err(Inexact::Unknown);
        }
        // Most builtins are words like others without an argument.
        if value.is_none() && !is_builtin
            || is_builtin && !has_arguments && !matches!(name, "dnl" | "divert" | "changequote")
        {
            return Ok(false);
        }
        let mut arguments = Vec::new();
        if has_arguments {
            self.input.pop();
            if !walk.budget.enter() {
                return Err(Inexact::Unknown);
            }
            let read = self.arguments(walk);
            walk.budget.leave();
            arguments = read?;
        }
        let text = match value {
            Some(value) => self.filled(&value, name, &arguments)?,
            None => self.builtin(walk, name, &arguments)?,
        };
        self.push_back(&text);
        Ok(true)
    }

    fn arguments(&mut self, walk: &mut ScriptWalk<'_>) -> Exact<Vec<String>> {
        let mut arguments = vec![String::new()];
        let mut open = 0;
        let mut is_start = true;
        loop {
            let piece = self.next_piece(walk)?.or_unknown()?;
            match piece.text.as_str() {
                ")" if piece.is_plain && open == 0 => return Ok(arguments),
                "," if piece.is_plain && open == 0 => {
                    arguments.push(String::new());
                    is_start = true;
                    continue;
                }
                "(" if piece.is_plain => open += 1,
                ")" if piece.is_plain => open -= 1,
                text if piece.is_plain && is_start && text.trim().is_empty() => continue,
                _ => {}
            }
            is_start = false;
            if let Some(last) = arguments.last_mut() {
                last.push_str(&piece.text);
                if last.len() > LONGEST_TEXT {
                    return Err(Inexact::Unknown);
                }
            }
        }
    }

    /// The value of a macro with its arguments.
    fn filled(&self, value: &str, name: &str, arguments: &[String]) -> Exact<String> {
        let mut out = String::new();
        let mut letters = value.chars().peekable();
        while let Some(letter) = letters.next() {
            let sign = letters.peek().copied().filter(|_| letter == '$');
            match sign {
                Some('0') => out.push_str(name),
                Some(digit @ '1'..='9') => {
                    let at = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()).unwrap_or(1);
                    out.push_str(arguments.get(at - 1).map_or("", String::as_str));
                }
                Some('*') => out.push_str(&arguments.join(",")),
                Some('@') => {
                    let (open, close) = self.quotes;
                    let quoted: Vec<String> = arguments.iter().map(|word| format!("{open}{word}{close}")).collect();
                    out.push_str(&quoted.join(","));
                }
                Some('#') => out.push_str(&arguments.len().to_string()),
                _ => {
                    out.push(letter);
                    continue;
                }
            }
            letters.next();
            if out.len() > LONGEST_TEXT {
                return Err(Inexact::Unknown);
            }
        }
        Ok(out)
    }

    fn builtin(&mut self, walk: &mut ScriptWalk<'_>, name: &str, arguments: &[String]) -> Exact<String> {
        let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
        Ok(match name {
            "define" | "pushdef" => {
                self.macros.insert(argument(0).to_owned(), argument(1).to_owned());
                String::new()
            }
            "undefine" => {
                self.macros.remove(argument(0));
                self.gone.push(argument(0).to_owned());
                String::new()
            }
            "ifdef" => {
                let is_known = self.macros.contains_key(argument(0)) || BUILTINS.contains(&argument(0));
                argument(if is_known { 1 } else { 2 }).to_owned()
            }
            "ifelse" | "len" | "incr" | "decr" | "eval" | "index" | "substr" | "translit" => {
                text_builtin(name, arguments)?
            }
            "dnl" => {
                while self.input.pop().is_some_and(|letter| letter != '\n') {}
                String::new()
            }
            "changequote" => {
                self.quotes = quotes_of(arguments).or_unknown()?;
                String::new()
            }
            "include" | "sinclude" => walk.exact_text(argument(0))?.to_string(),
            "shift" => {
                let (open, close) = self.quotes;
                let rest = arguments.iter().skip(1).map(|word| format!("{open}{word}{close}"));
                rest.collect::<Vec<_>>().join(",")
            }
            "divert" => {
                self.is_diverted = match argument(0).trim() {
                    "" | "0" => false,
                    "-1" => true,
                    _ => return Err(Inexact::Unknown),
                };
                String::new()
            }
            "syscmd" | "esyscmd" => {
                let command = argument(0).to_owned();
                let printed = walk.capturing(|walk| walk.script_in_code(&command, None));
                if crate::marks::has_mark(&printed) {
                    return Err(Inexact::Unknown);
                }
                if name == "syscmd" {
                    self.out.push_str(&printed);
                    return Ok(String::new());
                }
                printed
            }
            _ => return Err(Inexact::Unknown),
        })
    }
}

/// The signs that quote from now on, each one letter.
fn quotes_of(arguments: &[String]) -> Option<(char, char)> {
    match arguments {
        [] => Some(('`', '\'')),
        [open, close] => {
            let only = |text: &String| text.chars().next().filter(|letter| letter.len_utf8() == text.len());
            Some((only(open)?, only(close)?))
        }
        _ => None,
    }
}

/// Builtins that only look at their arguments.
fn text_builtin(name: &str, arguments: &[String]) -> Exact<String> {
    let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
    let number = |at: usize| argument(at).trim().parse::<i64>().map_err(|_| Inexact::Unknown);
    Ok(match name {
        "ifelse" => chosen(arguments).to_owned(),
        "len" => argument(0).chars().count().to_string(),
        "incr" => number(0)?.saturating_add(1).to_string(),
        "decr" => number(0)?.saturating_sub(1).to_string(),
        "eval" if arguments.len() == 1 => calc::evaluate(argument(0))?.to_string(),
        "index" => match argument(0).find(argument(1)) {
            Some(at) => argument(0).get(..at).map_or(0, |before| before.chars().count()).to_string(),
            None => "-1".to_owned(),
        },
        "substr" => {
            let from = usize::try_from(number(1)?).map_err(|_| Inexact::Unknown)?;
            let most = if arguments.len() > 2 { usize::try_from(number(2)?).unwrap_or(0) } else { usize::MAX };
            argument(0).chars().skip(from).take(most).collect()
        }
        "translit" => translit(argument(0), argument(1), argument(2)).or_unknown()?,
        _ => return Err(Inexact::Unknown),
    })
}

/// Text that is read, and whether it may be a sign between arguments.
struct Piece {
    text: String,
    is_plain: bool,
}

/// `ifelse(a, b, then, c, d, then, else)`
fn chosen(arguments: &[String]) -> &str {
    let mut rest = arguments;
    while let [left, right, then, after @ ..] = rest {
        if left == right {
            return then;
        }
        if let [otherwise] = after {
            return otherwise;
        }
        rest = after;
    }
    ""
}

fn translit(text: &str, from: &str, to: &str) -> Option<String> {
    let letters = |set: &str| -> Option<Vec<char>> {
        let set: Vec<char> = set.chars().collect();
        let mut out = Vec::new();
        let mut rest = set.as_slice();
        while let Some((letter, after)) = rest.split_first() {
            match after {
                ['-', last, behind @ ..] if last >= letter && last.is_ascii() => {
                    out.extend(*letter..=*last);
                    rest = behind;
                }
                ['-', _, ..] => return None,
                _ => {
                    out.push(*letter);
                    rest = after;
                }
            }
        }
        Some(out)
    };
    let (from, to) = (letters(from)?, letters(to)?);
    let changed = |letter: char| match from.iter().position(|own| *own == letter) {
        Some(at) => to.get(at).copied(),
        None => Some(letter),
    };
    Some(text.chars().filter_map(changed).collect())
}
