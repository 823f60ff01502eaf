//! The values of expressions in other languages: strings, lists of strings, and common operations on them.
//!
//! Whatever is not understood is left out, so that a call with something unknown in it is seen as far as it is known.

use std::collections::HashMap;

use crate::marks::{HOME, REPO, STAR, START, TREE, UNKNOWN, alive};
use crate::walk::char_codes::text_of_codes;
use crate::walk::decode;
use crate::walk::tokens::CodeToken;

/// The values of names. A string is a list of one.
pub(super) type Values = HashMap<String, Vec<String>>;

/// Named options whose value is run or deleted. Other named options are skipped.
const NAMED: [&str; 7] = ["args", "path", "cmd", "command", "file", "target", "dir"];

/// Calls that list the files of a directory.
const LISTINGS: [&str; 8] = ["glob", "iglob", "globSync", "listdir", "scandir", "iterdir", "readdirSync", "children"];

/// The deepest that calls may stand in calls.
const DEEPEST: usize = 12;

/// Most bytes of a value, over all of its words. `a += a` doubles a value, so one that is longer becomes unknown.
const MOST_BYTES: usize = 16 << 10;

/// The longest statement over several lines, in tokens.
const LONGEST_STATEMENT: usize = 512;

/// Most words of a value.
const MOST_WORDS: usize = 1024;

/// The words, or one unknown word if they are too many or too long.
pub(super) fn bounded(words: Vec<String>) -> Vec<String> {
    let fits = words.len() <= MOST_WORDS && words.iter().map(String::len).sum::<usize>() <= MOST_BYTES;
    if fits { words } else { vec![UNKNOWN.to_string()] }
}

/// The arguments of a call.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) words: Vec<String>,
    /// `cwd="…"`
    pub(super) directory: Option<String>,
    /// `recursive` is among the options.
    pub(super) recursive: bool,
    /// The first token behind the call.
    pub(super) next: usize,
}

/// Reads the arguments of a call up to its closing parenthesis, or the end of the statement.
pub(super) fn arguments(tokens: &[CodeToken], start: usize, values: &Values, parenthesized: bool) -> Arguments {
    CallReader { tokens, values, depth: 0 }.arguments(start, parenthesized)
}

/// Arguments while they are read.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is about another part of a call, and none depends on another")]
struct ArgumentState {
    words: Vec<String>,
    /// Bytes that were added so far.
    bytes: usize,
    directory: Option<String>,
    recursive: bool,
    /// The token to read next.
    next: usize,
    /// A closing parenthesis ends the arguments, not the statement.
    parenthesized: bool,
    /// The brackets that are open, each with how many words stand before it.
    opened: Vec<(char, usize)>,
    /// The first word of the list that was closed last.
    closed: Option<usize>,
    /// The next value is a part of the last word.
    joins: bool,
    /// The current value belongs to an option that is skipped.
    skipping: bool,
    /// The value of `cwd`.
    in_directory: bool,
    /// Tildes in paths are expanded.
    expands: bool,
}

impl ArgumentState {
    /// Adds a value, which stands behind the token `before`.
    fn push(&mut self, words: Vec<String>, before: Option<&CodeToken>) {
        if self.in_directory {
            self.directory = words.into_iter().next();
            return;
        }
        // Strings side by side are one.
        self.joins |= matches!(before, Some(CodeToken::Text(_) | CodeToken::Template(_)));
        let words = words.into_iter().map(|text| match text.strip_prefix('~') {
            Some(rest) if self.expands && (rest.is_empty() || rest.starts_with('/')) => format!("{HOME}{rest}"),
            _ => text,
        });
        let mut words: Vec<String> = words.collect();
        let joined = if self.joins { self.words.last().map_or(0, String::len) * words.len() } else { 0 };
        self.bytes += joined + words.iter().map(String::len).sum::<usize>();
        if self.bytes > MOST_BYTES || self.words.len() + words.len() > MOST_WORDS {
            self.bytes = MOST_BYTES;
            self.words = vec![UNKNOWN.to_string()];
            self.joins = false;
            return;
        }
        match (self.words.last_mut(), words.as_slice()) {
            (Some(last), [text]) if self.joins => last.push_str(text),
            // The variable of a loop holds all of its values, and the text is made with each.
            (Some(last), [_, ..]) if self.joins => {
                let last = std::mem::take(last);
                self.words.pop();
                self.words.extend(words.into_iter().map(|word| format!("{last}{word}")));
            }
            _ => self.words.append(&mut words),
        }
        self.joins = false;
    }
}

/// The answer to a sign: more arguments may follow, or none.
enum SignEffect {
    GoesOn,
    Ends,
}

struct CallReader<'t> {
    tokens: &'t [CodeToken],
    values: &'t Values,
    depth: usize,
}

impl<'t> CallReader<'t> {
    fn token(&self, at: usize) -> Option<&'t CodeToken> {
        self.tokens.get(at)
    }

    fn is_sign(&self, at: usize, sign: char) -> bool {
        self.token(at) == Some(&CodeToken::Sign(sign))
    }

    fn arguments(&mut self, start: usize, parenthesized: bool) -> Arguments {
        let mut state = ArgumentState { next: start, parenthesized, ..ArgumentState::default() };
        if self.depth < DEEPEST {
            self.depth += 1;
            while let Some(token) = self.tokens.get(state.next) {
                // A bracket that is never closed does not make a statement of the rest.
                if !parenthesized && state.next > start + LONGEST_STATEMENT {
                    break;
                }
                state.next += 1;
                let before = state.next.checked_sub(2).and_then(|before| self.token(before));
                let words = match token {
                    CodeToken::Sign(sign) => match self.read_sign(*sign, before, &mut state) {
                        SignEffect::GoesOn => continue,
                        SignEffect::Ends => break,
                    },
                    CodeToken::Text(text) => Some(vec![text.clone()]),
                    CodeToken::Template(text) => Some(vec![self.filled(text)]),
                    CodeToken::Name(name) => self.read_name(name, &mut state),
                };
                if let Some(words) = words.filter(|_| !state.skipping) {
                    state.push(words, before);
                }
            }
            self.depth -= 1;
        }
        let ArgumentState { words, directory, recursive, next, .. } = state;
        Arguments { words: bounded(words), directory, recursive, next }
    }

    /// Reads an operator or a bracket.
    fn read_sign(&mut self, sign: char, before: Option<&CodeToken>, state: &mut ArgumentState) -> SignEffect {
        match sign {
            '[' if before.is_some_and(ends_value) && !state.joins => {
                let (index, next) = self.index(state.next);
                if let Some(last) = state.words.last_mut().filter(|_| index == "::-1") {
                    *last = last.chars().rev().collect();
                }
                state.next = next;
            }
            '(' | '[' | '{' => {
                state.opened.push((sign, state.words.len()));
                // A list that is added to a list does not become a part of its last word.
                state.joins &= sign == '(';
            }
            ')' | ']' | '}' => {
                state.closed = state.opened.pop().map(|(_, words)| words);
                // A list in a list is a command of its own, as in `[["git", "add"], ["ls"]]`.
                if sign == ']'
                    && state.opened.last().is_some_and(|(opener, _)| *opener == '[')
                    && let Some(start) = state.closed.filter(|start| start + 1 < state.words.len())
                {
                    let command = state.words.split_off(start).join(" ");
                    state.words.push(command);
                }
                let goes_on = matches!(self.token(state.next), Some(CodeToken::Sign('+' | ',' | '.')));
                if state.closed.is_none() || !state.parenthesized && state.opened.is_empty() && !goes_on {
                    return SignEffect::Ends;
                }
            }
            ';' if !state.parenthesized => return SignEffect::Ends,
            // A list may go on in the next line.
            '\n' if !state.parenthesized && state.opened.is_empty() => return SignEffect::Ends,
            '|' if !state.parenthesized && state.opened.is_empty() => {
                state.next -= 1;
                return SignEffect::Ends;
            }
            '+' => {
                // `("git", "-C", top) + words`
                let is_tuple = state.closed.is_some_and(|start| start + 1 < state.words.len());
                let is_list = match before {
                    Some(CodeToken::Sign(']')) => true,
                    Some(CodeToken::Sign(')')) => is_tuple,
                    _ => false,
                };
                state.joins = !is_list;
            }
            '`' => {
                if let Some(CodeToken::Text(script)) = self.token(state.next)
                    && let Some(place) = answer(script)
                {
                    state.push(vec![place], None);
                    state.next += 1;
                }
            }
            // `Path("a") / "b"`
            '/' if before.is_some_and(ends_value) && !state.words.is_empty() => {
                state.words.iter_mut().next_back().into_iter().for_each(|last| last.push('/'));
                state.joins = true;
            }
            '%' if !state.words.is_empty() => {
                let (with, next) = self.operand(state.next);
                fill(state.words.last_mut(), &with);
                state.next = next;
            }
            '.' => match self.method(state.next, &mut state.words, state.closed) {
                Some(next) => state.next = next,
                // Perl, PHP and Lua join with dots.
                None => state.joins = !state.words.is_empty(),
            },
            ',' => {
                state.joins = false;
                state.skipping = false;
                state.in_directory = false;
            }
            _ => {}
        }
        SignEffect::GoesOn
    }

    /// Reads a name: of an option, of something that expands paths, or of a value, which is given back.
    fn read_name(&mut self, name: &str, state: &mut ArgumentState) -> Option<Vec<String>> {
        state.recursive |= name == "recursive";
        if matches!(self.token(state.next), Some(CodeToken::Sign('=' | ':'))) {
            state.in_directory = name == "cwd";
            state.skipping = !state.in_directory && !NAMED.contains(&name);
            return None;
        }
        if name.ends_with("expanduser") || name.ends_with("expand_path") {
            state.expands = true;
            return None;
        }
        let (words, next) = self.known(name, state.next)?;
        state.next = next;
        Some(words)
    }

    /// The text between brackets, and where the code goes on.
    fn index(&self, start: usize) -> (String, usize) {
        let mut text = String::new();
        let mut at = start;
        while let Some(token) = self.token(at) {
            at += 1;
            match token {
                CodeToken::Sign(']') => break,
                CodeToken::Sign(sign) => text.push(*sign),
                CodeToken::Name(name) | CodeToken::Text(name) | CodeToken::Template(name) => text.push_str(name),
            }
        }
        (text, at)
    }

    /// The operand right of an operator: one value, or several in parentheses.
    fn operand(&mut self, at: usize) -> (Vec<String>, usize) {
        match self.token(at) {
            Some(CodeToken::Sign('(' | '[')) => {
                let found = self.arguments(at + 1, true);
                (found.words, found.next)
            }
            Some(CodeToken::Text(text)) => (vec![text.clone()], at + 1),
            Some(CodeToken::Name(name)) => self.known(name, at + 1).unwrap_or((Vec::new(), at + 1)),
            _ => (Vec::new(), at),
        }
    }

    /// A name that stands for something, or a call whose result is known.
    fn known(&mut self, name: &str, at: usize) -> Option<(Vec<String>, usize)> {
        if let Some(value) = self.values.get(name.trim_start_matches(['$', '@'])) {
            if self.is_sign(at, '[') {
                let (index, next) = self.index(at + 1);
                if let Ok(number) = index.parse::<usize>() {
                    return Some((value.get(number).cloned().into_iter().collect(), next));
                }
                let from = index.strip_suffix(':').and_then(|from| from.parse().ok())?;
                return Some((value.iter().skip(from).cloned().collect(), next));
            }
            return Some((value.clone(), at));
        }
        // `command.split()`: a text that has blanks in it is a script, whole or split.
        if let Some((own, "split" | "strip" | "trim" | "toString")) = name.rsplit_once('.')
            && let Some(mut value) = self.values.get(own).cloned()
        {
            // Of several scripts, those of one word do nothing that a rule is about.
            if value.iter().any(|text| text.contains(' ')) {
                value.retain(|text| text.contains(' '));
            }
            let next = if self.is_sign(at, '(') { self.arguments(at + 1, true).next } else { at };
            return Some((value, next));
        }
        let base = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
        if LISTINGS.contains(&base) && self.is_sign(at, '(') {
            return Some(self.listing(name, at));
        }
        let decoder: fn(&[String]) -> Option<String> = match base {
            "b64decode" | "base64_decode" | "atob" | "decode64" | "urlsafe_b64decode" | "decode_base64" => {
                |words| decode::base64(words.first()?)
            }
            "fromhex" | "unhexlify" | "hex2bin" => |words| decode::hexadecimal(words.first()?),
            "pack" => |words| match words {
                [format, text] if format.starts_with('H') => decode::hexadecimal(text),
                _ => None,
            },
            "from" if name == "Buffer.from" => |words| match words {
                [text, code] if code == "base64" => decode::base64(text),
                [text, code] if code == "hex" => decode::hexadecimal(text),
                _ => words.first().cloned(),
            },
            "strrev" | "reverse" => |words| Some(words.first()?.chars().rev().collect()),
            "join" if name.contains('.') && name != "string.join" => |words| Some(words.join("/")),
            "join" | "implode" => |words| words.split_first().map(|(between, words)| words.join(between)),
            "sprintf" | "format" => |words| {
                let (format, with) = words.split_first()?;
                let mut text = format.clone();
                fill(Some(&mut text), with);
                Some(text)
            },
            // `map(chr, numbers)`, `map { chr } numbers`, `chr(n) for n in numbers`
            "map" if self.names_soon(at, &["chr"]) => {
                return self.codes(at + if self.is_sign(at, '{') { 3 } else { 1 });
            }
            "chr" if self.names_soon(at + 2, &["for"]) => return self.codes(at + 3),
            "bytes" | "bytearray" | "fromCharCode" if !self.is_sign(at + 2, ')') => {
                return self.codes(at + 1);
            }
            "map" => {
                // `map(str, …)`, `map(int, …)`: the values stay as they are.
                let is_kept =
                    matches!(self.token(at + 1), Some(CodeToken::Name(name)) if matches!(name.as_str(), "str" | "int"));
                if !is_kept || !self.is_sign(at + 2, ',') {
                    return None;
                }
                let found = self.arguments(at + 3, true);
                return Some((found.words, found.next));
            }
            "decode" if name == "codecs.decode" => |words| match words {
                [text, code] if code.replace(['_', '-'], "") == "rot13" => Some(decode::rot13(text)),
                [text, code] if code.starts_with("hex") => decode::hexadecimal(text),
                [text, code] if code.starts_with("base64") => decode::base64(text),
                _ => None,
            },
            "check_output" | "getoutput" | "execSync" | "run" | "shell_exec" | "popen" | "capture2" => {
                let found = self.arguments(at + 1, true);
                return answer(&found.words.join(" ")).map(|place| (vec![place], found.next));
            }
            "chr" => {
                let (code, next) = self.digits(at);
                let letter = code.parse().ok().and_then(char::from_u32).filter(char::is_ascii)?;
                return Some((vec![letter.to_string()], next));
            }
            _ => return None,
        };
        let parenthesized = self.is_sign(at, '(');
        let found = self.arguments(at + usize::from(parenthesized), parenthesized);
        let next = if parenthesized { found.next } else { found.next.saturating_sub(1).max(at) };
        Some((decoder(&found.words).into_iter().collect(), next))
    }

    /// The files that a call lists, as a pattern, and where the code goes on.
    fn listing(&mut self, name: &str, at: usize) -> (Vec<String>, usize) {
        let found = self.arguments(at + 1, true);
        if name.ends_with("glob") {
            // Perl's own expands tildes.
            let in_home = |pattern: &str| match pattern.strip_prefix("~/") {
                Some(rest) if name == "glob" => format!("{HOME}/{rest}"),
                _ => pattern.to_owned(),
            };
            return (found.words.iter().map(|pattern| alive(&in_home(pattern))).collect(), found.next);
        }
        // `directory.iterdir()`
        let own = name.rsplit_once('.').and_then(|(directory, _)| self.values.get(directory)?.first().cloned());
        let directory = found.words.first().cloned().or(own).unwrap_or_else(|| ".".to_owned());
        (vec![listed(&directory)], found.next)
    }

    /// True if one of these names stands at this place or right behind it.
    fn names_soon(&self, at: usize, names: &[&str]) -> bool {
        let is_name = |token: &CodeToken| matches!(token, CodeToken::Name(name) if names.contains(&name.as_str()));
        self.tokens.get(at..).unwrap_or(&[]).iter().take(2).any(is_name)
    }

    /// The text whose characters have the numbers behind this place.
    fn codes(&self, at: usize) -> Option<(Vec<String>, usize)> {
        let (text, next) = text_of_codes(self.tokens, at)?;
        Some((vec![text], next + usize::from(self.is_sign(next, ')'))))
    }

    /// The digits in parentheses.
    fn digits(&self, start: usize) -> (String, usize) {
        let mut at = start + 1;
        let mut text = String::new();
        while let Some(CodeToken::Sign(sign)) = self.token(at) {
            at += 1;
            if *sign == ')' {
                break;
            }
            text.push(*sign);
        }
        (text, at)
    }

    /// A method of the value before the dot, if it is one that changes it.
    fn method(&mut self, at: usize, words: &mut Vec<String>, closed: Option<usize>) -> Option<usize> {
        let Some(CodeToken::Name(name)) = self.token(at) else { return None };
        if !self.is_sign(at + 1, '(') {
            if name != "reverse" {
                return None;
            }
            let last = words.last_mut()?;
            *last = last.chars().rev().collect();
            return Some(at + 1);
        }
        let method = name.split('.').next().unwrap_or(name).to_owned();
        let is_list = matches!(at.checked_sub(2).and_then(|before| self.token(before)), Some(CodeToken::Sign(']')));
        let found = self.arguments(at + 2, true);
        match method.as_str() {
            "join" if is_list => {
                let parts = words.split_off(closed.unwrap_or(0).min(words.len()));
                words.push(join(&parts, found.words.first().map_or(",", String::as_str)));
            }
            "join" => {
                let between = words.pop()?;
                words.push(join(&found.words, &between));
            }
            "format" => fill(words.last_mut(), &found.words),
            "concat" => words.last_mut()?.push_str(&found.words.concat()),
            "replace" => {
                if let ([from, to], Some(last)) = (found.words.as_slice(), words.last_mut()) {
                    let grows_to = last.matches(from.as_str()).count() * to.len();
                    *last = if grows_to > MOST_BYTES { UNKNOWN.to_string() } else { last.replace(from, to) };
                }
            }
            "split" => {
                let text = words.pop()?;
                words.extend(text.split_whitespace().map(str::to_owned));
            }
            "iterdir" => *words.last_mut()? = listed(words.last()?),
            "glob" | "rglob" => {
                let below = if method == "rglob" { format!("{TREE}/") } else { String::new() };
                let directory = words.pop()?;
                words.extend(found.words.iter().map(|pattern| format!("{directory}/{below}{}", alive(pattern))));
            }
            "lower" | "toLowerCase" | "downcase" => *words.last_mut()? = words.last()?.to_lowercase(),
            _ => {}
        }
        Some(found.next)
    }

    /// A template with the values of its names.
    fn filled(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['$', '{', '#']) {
            out.push_str(rest.get(..at).unwrap_or(""));
            let from = rest.get(at..).unwrap_or("");
            let opener = from.trim_start_matches(['$', '#']);
            let (name, after) = match opener.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
                Some((name, after)) => (name, after),
                None if from.starts_with('$') => {
                    let end = opener.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
                    opener.split_at(end.unwrap_or(opener.len()))
                }
                None => ("", opener),
            };
            let code = crate::walk::tokens::tokens("python", name);
            let inner = CallReader { tokens: &code, values: self.values, depth: self.depth + 1 }.arguments(0, false);
            match (inner.words.as_slice(), name) {
                ([], "") => out.push_str(from.get(..1).unwrap_or("")),
                ([], _) => out.push(UNKNOWN),
                (words, _) => out.push_str(&words.join(" ")),
            }
            rest = if name.is_empty() { from.get(1..).unwrap_or("") } else { after };
        }
        out.push_str(rest);
        out
    }
}

/// The place that a command prints, if it only asks for one.
fn answer(command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    Some(match words.as_slice() {
        ["git", "rev-parse", "--show-toplevel", ..] => REPO.to_string(),
        ["git", "rev-parse", "--git-dir" | "--absolute-git-dir" | "--git-common-dir", ..] => format!("{REPO}/.git"),
        ["pwd"] | ["pwd", "-P" | "-L"] => START.to_string(),
        _ => return None,
    })
}

/// Everything in a directory, as a pattern.
fn listed(directory: &str) -> String {
    if directory == "." { STAR.to_string() } else { format!("{directory}/{STAR}") }
}

fn ends_value(token: &CodeToken) -> bool {
    matches!(token, CodeToken::Text(_) | CodeToken::Template(_) | CodeToken::Sign(')' | ']'))
}

/// Joins words, unless the result would be too long.
fn join(parts: &[String], between: &str) -> String {
    if parts.len() * between.len() > MOST_BYTES {
        return UNKNOWN.to_string();
    }
    parts.join(between)
}

/// Puts words where a format has room for them.
pub(super) fn fill(format: Option<&mut String>, with: &[String]) {
    let Some(format) = format else { return };
    for word in with {
        for room in ["%s", "{}", "{0}", "{1}", "%d"] {
            if format.contains(room) {
                *format = format.replacen(room, word, 1);
                break;
            }
        }
    }
}
