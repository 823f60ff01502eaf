//! `ed`: a script of commands that changes a text and writes it.

use crate::marks::{UNKNOWN, has_mark};
use crate::walk::ScriptWalk;

/// The most commands of one script, and the most lines of its text.
const MOST_COMMANDS: usize = 256;
const MOST_LINES: usize = 1024;

/// The most lines that one script changes, counted every time.
const MOST_CHANGES: usize = 20_000;

/// The text that `ed` works on.
#[derive(Default)]
struct Editor {
    lines: Vec<String>,
    /// The current line, counted from one; zero is before the first.
    current: usize,
    path: String,
    last_pattern: String,
    marks: Vec<(char, String)>,
    /// The text is not known.
    is_unknown: bool,
    changes: usize,
}

impl ScriptWalk<'_> {
    /// Runs `ed` with the commands on its standard input.
    pub(super) fn run_ed(&mut self, arguments: &[String]) {
        let script = std::mem::take(&mut self.world.shell.input).to_string();
        let mut editor = Editor::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-p" | "--prompt" => drop(words.next()),
                option if option.starts_with('-') => {}
                path => {
                    path.clone_into(&mut editor.path);
                    let path = path.to_owned();
                    self.ed_load(&mut editor, &path);
                }
            }
        }
        let mut lines = script.lines();
        for _ in 0..MOST_COMMANDS {
            let Some(line) = lines.next() else { break };
            self.budget.spend(1 + editor.lines.len() / 64);
            if self.budget.is_exhausted() || self.ed_command(&mut editor, line, &mut lines).is_none() {
                break;
            }
        }
    }

    fn ed_load(&mut self, editor: &mut Editor, path: &str) {
        match path.strip_prefix('!') {
            Some(script) => {
                let text = self.capturing(|walk| walk.script_in_code(script, None));
                editor.lines = text.lines().map(str::to_owned).collect();
            }
            None => match self.known_file(path) {
                Some(text) => editor.lines = text.lines().take(MOST_LINES).map(str::to_owned).collect(),
                // A file that is not there is empty, and so is one that nobody knows.
                None => editor.is_unknown = true,
            },
        }
        editor.current = editor.lines.len();
    }

    /// Runs one command; none ends the script.
    fn ed_command<'t>(
        &mut self,
        editor: &mut Editor,
        line: &str,
        lines: &mut impl Iterator<Item = &'t str>,
    ) -> Option<()> {
        let (range, rest) = editor.addresses(line.trim_start());
        let letter = rest.chars().next().unwrap_or('p');
        let after = rest.get(letter.len_utf8().min(rest.len())..).unwrap_or("");
        let (from, to) = range.unwrap_or((editor.current, editor.current));
        let whole = range.unwrap_or((1, editor.lines.len()));
        match letter {
            'q' | 'Q' => return None,
            'a' | 'i' | 'c' => {
                let mut new = Vec::new();
                for line in lines.by_ref() {
                    if line == "." {
                        break;
                    }
                    new.push(line.to_owned());
                }
                let at = match letter {
                    'a' => to,
                    'i' => to.saturating_sub(1),
                    _ => {
                        editor.remove(from, to);
                        from.saturating_sub(1)
                    }
                };
                editor.insert(at, new);
            }
            'd' => editor.remove(from, to),
            'j' => {
                let (from, to) = range.unwrap_or((editor.current, editor.current + 1));
                let joined = editor.part(from, to).concat();
                editor.remove(from, to);
                editor.insert(from.saturating_sub(1), vec![joined]);
            }
            's' => editor.substitute(from, to, after),
            'm' | 't' => {
                let (target, _) = editor.addresses(after.trim());
                let target = target.map_or(editor.current, |(_, to)| to);
                let part = editor.part(from, to);
                let mut at = target;
                if letter == 'm' {
                    editor.remove(from, to);
                    if at >= to {
                        at = at.saturating_sub(part.len());
                    }
                }
                editor.insert(at, part);
            }
            'g' | 'v' => self.ed_global(editor, whole, letter == 'g', after, lines),
            'r' => {
                let path = after.trim();
                let mut other = Editor::default();
                let path = if path.is_empty() { editor.path.clone() } else { path.to_owned() };
                self.ed_load(&mut other, &path);
                editor.is_unknown |= other.is_unknown;
                let at = range.map_or(editor.lines.len(), |(_, to)| to);
                editor.insert(at, other.lines);
            }
            'e' | 'E' => {
                let path = after.trim().to_owned();
                editor.is_unknown = false;
                editor.lines.clear();
                self.ed_load(editor, &path);
            }
            'f' if !after.trim().is_empty() => after.trim().clone_into(&mut editor.path),
            'w' | 'W' => return self.ed_write(editor, whole, after, letter == 'W'),
            '!' => self.script_in_code(after, None),
            'k' => {
                let text = editor.part(to, to).concat();
                editor.marks.extend(after.chars().next().map(|mark| (mark, text)));
            }
            'p' | 'n' | 'l' => {
                for line in editor.part(from, to) {
                    self.write(&format!("{line}\n"));
                }
                editor.current = to;
            }
            _ => {}
        }
        Some(())
    }

    fn ed_write(&mut self, editor: &mut Editor, (from, to): (usize, usize), after: &str, appends: bool) -> Option<()> {
        let quits = after.starts_with('q');
        let target = after.trim_start_matches('q').trim();
        let mut text = super::filters::joined(editor.part(from, to).into_iter());
        if editor.is_unknown {
            text = format!("{UNKNOWN}\n{text}");
        }
        if let Some(script) = target.strip_prefix('!') {
            self.script_in_code(script, Some(text));
        } else {
            let path = if target.is_empty() { editor.path.clone() } else { target.to_owned() };
            if !path.is_empty() {
                self.write_file(&path, &text, appends);
            }
        }
        (!quits).then_some(())
    }

    fn ed_global<'t>(
        &mut self,
        editor: &mut Editor,
        (from, to): (usize, usize),
        wanted: bool,
        rest: &str,
        lines: &mut impl Iterator<Item = &'t str>,
    ) {
        let Some(separator) = rest.chars().next() else { return };
        let Some((pattern, command)) = split_at(rest.get(separator.len_utf8()..).unwrap_or(""), separator) else {
            return;
        };
        let Some(expression) = basic(&pattern) else { return };
        if !pattern.is_empty() {
            editor.last_pattern.clone_from(&pattern);
        }
        let fits = |line: &String| expression.is_match(line).unwrap_or(false) == wanted;
        let found: Vec<String> = editor.part(from, to).into_iter().filter(fits).collect();
        let command = if command.is_empty() { "p" } else { command };
        let mut start = 0;
        for line in found.into_iter().take(MOST_COMMANDS) {
            // Lines move while others go, so each is looked for again.
            let Some(at) = editor.lines.iter().skip(start).position(|own| *own == line).map(|at| at + start) else {
                continue;
            };
            editor.current = at + 1;
            start = if command.starts_with('d') { at } else { at + 1 };
            self.budget.spend(1);
            if command.starts_with('m') {
                start = at;
            }
            if self.budget.is_exhausted() || self.ed_command(editor, command, lines).is_none() {
                return;
            }
        }
    }
}

impl Editor {
    fn part(&self, from: usize, to: usize) -> Vec<String> {
        self.lines.get(from.max(1) - 1..to.min(self.lines.len())).unwrap_or(&[]).to_vec()
    }

    fn remove(&mut self, from: usize, to: usize) {
        let (from, to) = (from.max(1) - 1, to.min(self.lines.len()));
        if from < to {
            self.lines.drain(from..to);
        }
        self.current = (from + 1).min(self.lines.len());
    }

    fn insert(&mut self, at: usize, new: Vec<String>) {
        let at = at.min(self.lines.len());
        self.current = if new.is_empty() { at } else { at + new.len() };
        if self.lines.len() + new.len() <= MOST_LINES {
            self.lines.splice(at..at, new);
        }
    }

    /// Reads the addresses before a command.
    fn addresses<'l>(&mut self, line: &'l str) -> (Option<(usize, usize)>, &'l str) {
        if let Some(rest) = line.strip_prefix('%') {
            return (Some((1, self.lines.len())), rest);
        }
        let (first, rest) = self.address(line);
        let separator = rest.chars().next().filter(|letter| matches!(letter, ',' | ';'));
        let Some(separator) = separator else { return (first.map(|at| (at, at)), rest) };
        let before = self.current;
        if separator == ';' {
            self.current = first.unwrap_or(self.current);
        }
        let (second, rest) = self.address(rest.get(1..).unwrap_or(""));
        self.current = before;
        let from = first.unwrap_or(if separator == ',' { 1 } else { before });
        (Some((from, second.unwrap_or(self.lines.len()))), rest)
    }

    fn address<'l>(&mut self, line: &'l str) -> (Option<usize>, &'l str) {
        let line = line.trim_start();
        let Some(first) = line.chars().next() else { return (None, line) };
        let after = line.get(first.len_utf8()..).unwrap_or("");
        let (mut at, mut rest) = match first {
            '.' => (Some(self.current), after),
            '$' => (Some(self.lines.len()), after),
            '0'..='9' => {
                let end = line.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(line.len());
                (line.get(..end).and_then(|digits| digits.parse().ok()), line.get(end..).unwrap_or(""))
            }
            '/' | '?' => {
                let (pattern, rest) = split_at(after, first).unwrap_or((after.to_owned(), ""));
                if !pattern.is_empty() {
                    self.last_pattern = pattern;
                }
                (self.find(first == '/'), rest)
            }
            '\'' => {
                let mark = after.chars().next().unwrap_or(' ');
                let text = self.marks.iter().rev().find(|(own, _)| *own == mark).map(|(_, text)| text.clone());
                let at = text.and_then(|text| self.lines.iter().position(|line| *line == text)).map(|at| at + 1);
                (at, after.get(mark.len_utf8()..).unwrap_or(""))
            }
            '+' | '-' => (Some(self.current), line),
            _ => (None, line),
        };
        while let Some(sign) = rest.chars().next().filter(|letter| matches!(letter, '+' | '-')) {
            let digits = rest.get(1..).unwrap_or("");
            let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
            let by: usize = digits.get(..end).and_then(|digits| digits.parse().ok()).unwrap_or(1);
            at = at.map(|at| if sign == '+' { at.saturating_add(by) } else { at.saturating_sub(by) });
            rest = digits.get(end..).unwrap_or("");
        }
        (at, rest)
    }

    fn find(&self, forwards: bool) -> Option<usize> {
        let expression = basic(&self.last_pattern)?;
        let count = self.lines.len();
        (1..=count).find_map(|by| {
            let at =
                if forwards { (self.current + by - 1) % count } else { (self.current + 2 * count - by - 1) % count };
            let line = self.lines.get(at)?;
            expression.is_match(line).unwrap_or(false).then_some(at + 1)
        })
    }

    /// `s/pattern/replacement/flags`
    fn substitute(&mut self, from: usize, to: usize, rest: &str) {
        let Some(separator) = rest.chars().next() else { return };
        let Some((pattern, rest)) = split_at(rest.get(separator.len_utf8()..).unwrap_or(""), separator) else { return };
        let (replacement, flags) = split_at(rest, separator).unwrap_or((rest.to_owned(), ""));
        if !pattern.is_empty() {
            self.last_pattern = pattern;
        }
        let Some(expression) = basic(&self.last_pattern) else {
            self.is_unknown = true;
            return;
        };
        let number: usize = flags.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(1);
        let is_all = flags.contains('g');
        for at in from.max(1)..=to.min(self.lines.len()) {
            self.changes += 1;
            if self.changes > MOST_CHANGES {
                self.is_unknown = true;
                return;
            }
            let Some(line) = self.lines.get_mut(at - 1) else { break };
            if has_mark(line) {
                continue;
            }
            let changed = replaced(&expression, line, &replacement, number, is_all);
            if changed != *line {
                *line = changed;
                self.current = at;
            }
        }
        // A line may have become several.
        self.lines =
            self.lines.iter().flat_map(|line| line.split('\n').map(str::to_owned).collect::<Vec<_>>()).collect();
    }
}

/// A line with what a pattern matches replaced: from the match of this number on if all are, or this one alone.
fn replaced(expression: &fancy_regex::Regex, line: &str, with: &str, number: usize, is_all: bool) -> String {
    let mut out = String::new();
    let mut at = 0;
    for (count, found) in expression.captures_iter(line).take(256).enumerate() {
        let Ok(found) = found else { break };
        let Some(whole) = found.get(0) else { break };
        if count + 1 < number || !is_all && count + 1 > number {
            continue;
        }
        out.push_str(line.get(at..whole.start()).unwrap_or(""));
        let mut letters = with.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '&' => out.push_str(whole.as_str()),
                '\\' => match letters.next() {
                    Some(digit @ '1'..='9') => {
                        let group = digit.to_digit(10).and_then(|group| usize::try_from(group).ok()).unwrap_or(0);
                        out.push_str(found.get(group).map_or("", |group| group.as_str()));
                    }
                    Some('n') => out.push('\n'),
                    other => out.extend(other),
                },
                letter => out.push(letter),
            }
        }
        at = whole.end();
    }
    out.push_str(line.get(at..).unwrap_or(""));
    out
}

/// The text before a separator without its escapes, and the text behind it.
fn split_at(text: &str, separator: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        if is_escaped {
            if letter != separator {
                out.push('\\');
            }
            out.push(letter);
            is_escaped = false;
        } else if letter == '\\' {
            is_escaped = true;
        } else if letter == separator {
            return Some((out, text.get(at + letter.len_utf8()..).unwrap_or("")));
        } else {
            out.push(letter);
        }
    }
    None
}

/// A basic expression, ready to be used: groups and repetitions have backslashes, braces stand for themselves.
fn basic(pattern: &str) -> Option<fancy_regex::Regex> {
    if has_mark(pattern) || pattern.len() > 512 {
        return None;
    }
    let mut out = String::new();
    let mut letters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if !in_class => match letters.next() {
                Some(special @ ('(' | ')' | '{' | '}' | '|' | '+' | '?')) => out.push(special),
                Some('<' | '>') => out.push_str("\\b"),
                Some(other) => {
                    out.push('\\');
                    out.push(other);
                }
                None => out.push_str("\\\\"),
            },
            '(' | ')' | '{' | '}' | '|' | '+' | '?' if !in_class => {
                out.push('\\');
                out.push(letter);
            }
            '*' if out.is_empty() => out.push_str("\\*"),
            '[' if !in_class => {
                in_class = true;
                out.push(letter);
            }
            ']' if in_class => {
                in_class = false;
                out.push(letter);
            }
            _ => out.push(letter),
        }
    }
    fancy_regex::RegexBuilder::new(&out).backtrack_limit(20_000).delegate_size_limit(1 << 18).build().ok()
}

#[cfg(test)]
mod tests {
    use crate::guard::{Guard, Prelude};
    use crate::walk::ScriptWalk;

    fn edited(text: &str, script: &str) -> String {
        let (guard, prelude) = (Guard::default(), Prelude::default());
        let mut walk = ScriptWalk::new(&guard, ("", 0), &prelude);
        walk.write_file("/tmp/x", text, false);
        walk.world.shell.input = script.into();
        walk.run_ed(&["-s".to_owned(), "/tmp/x".to_owned()]);
        walk.read_file("/tmp/x").to_string()
    }

    #[test]
    fn a_text_is_changed_as_ed_changes_it() {
        for (script, wanted) in CASES {
            assert_eq!(edited("one\ntwo\nthree\nfour\n", script), *wanted, "{script}");
        }
    }

    #[rustfmt::skip]
    const CASES: &[(&str, &str)] = &[
        ("1a\nnew\n.\nw\nq\n", "one\nnew\ntwo\nthree\nfour\n"),
        ("$i\nx\ny\n.\nw\nq\n", "one\ntwo\nthree\nx\ny\nfour\n"),
        ("2c\nzwei\n.\nw\nq\n", "one\nzwei\nthree\nfour\n"),
        ("1,2d\nw\nq\n", "three\nfour\n"),
        (",s/o/0/g\nw\nq\n", "0ne\ntw0\nthree\nf0ur\n"),
        ("g/t/s/$/!/\nw\nq\n", "one\ntwo!\nthree!\nfour\n"),
        ("v/o/d\nw\nq\n", "one\ntwo\nfour\n"),
        ("1m$\nw\nq\n", "two\nthree\nfour\none\n"),
        ("2t0\nw\nq\n", "two\none\ntwo\nthree\nfour\n"),
        ("/three/s/\\(th\\)\\(ree\\)/\\2\\1/\nw\nq\n", "one\ntwo\nreeth\nfour\n"),
        ("1,2j\nw\nq\n", "onetwo\nthree\nfour\n"),
        ("2,$s/e*$/&E/\nw\nq\n", "one\ntwoE\nthreeE\nfourE\n"),
        ("1;+1d\nw\nq\n", "three\nfour\n"),
        ("$-1d\nw\nq\n", "one\ntwo\nfour\n"),
        ("g/o/m0\nw\nq\n", "four\ntwo\none\nthree\n"),
        ("2ka\n'a,$d\nw\nq\n", "one\n"),
        ("%s/t/T/\n1,$s/o/0/2\nwq\n", "one\nTwo\nThree\nfour\n"),
        ("?two?d\n.s/.*/[&]/\nw\nq\n", "one\n[three]\nfour\n"),
        ("0a\ntop\n.\n2r /dev/null\nw\nq\n", "top\none\ntwo\nthree\nfour\n"),
        (",g/./s/^/- /\nw\nq\n", "- one\n- two\n- three\n- four\n"),
    ];
}
