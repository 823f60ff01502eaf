//! `sed`, as far as scripts use it to put text together.

use regex::Regex;

use crate::walk::ScriptWalk;
use crate::walk::filters::joined;

impl ScriptWalk<'_> {
    /// `sed`: substitutions, and the commands that print lines or run them.
    pub(super) fn sed(&mut self, arguments: &[String]) -> String {
        let mut scripts = Vec::new();
        let mut files = Vec::new();
        let mut quiet = false;
        let mut in_place = false;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-e" | "--expression" => scripts.extend(words.next().cloned()),
                "-f" => {
                    words.next();
                }
                flags if flags.starts_with('-') && flags.len() > 1 => {
                    quiet |= !flags.starts_with("--") && flags.contains('n');
                    in_place |= flags.starts_with("-i") || flags.starts_with("--in-place");
                }
                _ if scripts.is_empty() => scripts.push(word.clone()),
                _ => files.push(word.clone()),
            }
        }
        let mut text = self.input_of(files.iter());
        let mut printed = String::new();
        for command in scripts.iter().flat_map(|script| commands_of(script)) {
            let command = without_address(&command);
            match substitution(command) {
                Some((wanted, by, flags)) => {
                    self.budget.spend(text.len() / 64);
                    text = match self.sed_expression(&wanted, flags.contains(['i', 'I'])) {
                        Some(expression) => substituted(&text, &expression, &by, &flags),
                        None => self.unknown_made_of(&text),
                    };
                    if flags.contains('p') {
                        printed.push_str(&text);
                    }
                    if flags.contains('e') {
                        let lines = text.clone();
                        self.run_derived(&lines);
                    }
                }
                None => {
                    if let Some(lines) = self.selected(&text, command) {
                        printed.push_str(&lines);
                    } else if command.trim_start().starts_with("e ") {
                        let script = command.trim_start().trim_start_matches("e ").to_owned();
                        self.run_derived(&script);
                    }
                }
            }
        }
        let out = if quiet { printed } else { text };
        if !in_place {
            return out;
        }
        for path in &files {
            if self.known_file(path).is_some() {
                self.write_file(path, &out, false);
            }
        }
        String::new()
    }

    fn sed_expression(&mut self, text: &str, ignore_case: bool) -> Option<Regex> {
        self.lenient_expression(text, ignore_case)
    }

    /// The lines from one address to another: numbers, `$` or expressions.
    fn range(&mut self, lines: &[&str], from: &str, to: &str) -> Option<String> {
        let mut place = |address: &str, start: usize| {
            if let Ok(number) = address.parse::<usize>() {
                return number.checked_sub(1);
            }
            if address == "$" {
                return lines.len().checked_sub(1);
            }
            let wanted = address.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'))?;
            let expression = self.sed_expression(wanted, false)?;
            let found = lines.iter().skip(start).position(|line| expression.is_match(line));
            Some(found.map_or(lines.len(), |at| start + at))
        };
        let first = place(from, 0)?;
        let last = place(to, first + 1)?;
        Some(joined(lines.iter().take(last.saturating_add(1)).skip(first).map(|line| (*line).to_owned())))
    }

    /// The lines that `Np`, `$p`, `/x/p` or `/x/,/y/p` print.
    fn selected(&mut self, text: &str, command: &str) -> Option<String> {
        let command = command.trim();
        // `/a/,/b/{//!p}`
        let block = command.strip_suffix('}').and_then(|block| block.split_once('{')).map(|(address, _)| address);
        let address = command.strip_suffix('p').or(block)?;
        let lines: Vec<&str> = text.lines().collect();
        let line = if address == "$" {
            lines.last().copied()
        } else if let Ok(number) = address.parse::<usize>() {
            lines.get(number.checked_sub(1)?).copied()
        } else if let Some((from, to)) = address.split_once(',') {
            return Some(self.range(&lines, from, to).unwrap_or_else(|| text.to_owned()));
        } else if let Some(wanted) = address.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            let expression = self.sed_expression(wanted, false)?;
            // A line that is not known may match.
            let lines =
                lines.into_iter().filter(|line| expression.is_match(line) || line.contains(crate::marks::is_mark));
            return Some(joined(lines.map(str::to_owned)));
        } else {
            return Some(text.to_owned());
        };
        line.map(|line| format!("{line}\n"))
    }
}

/// A command without the line that it is for, if that is a number or the last line. `p` needs to know the line.
fn without_address(command: &str) -> &str {
    let rest =
        command.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit() || "$,~ ".contains(letter));
    if rest.starts_with(['s', 'e']) { rest } else { command }
}

/// The commands of a script of `sed`, split at semicolons and line ends outside of `s///`.
fn commands_of(script: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut rest = script.trim_start();
    while !rest.is_empty() {
        let length = match substitution_length(rest) {
            Some(length) => length + rest.get(length..).unwrap_or("").find([';', '\n']).unwrap_or(rest.len() - length),
            None => rest.find([';', '\n']).unwrap_or(rest.len()),
        };
        commands.push(rest.get(..length).unwrap_or("").to_owned());
        rest = rest.get(length + 1..).unwrap_or("").trim_start();
    }
    commands
}

/// The place of the last separator of `s///`.
fn substitution_length(command: &str) -> Option<usize> {
    let rest = command.strip_prefix('s')?;
    let separator = rest.chars().next().filter(|letter| !letter.is_alphanumeric() && !letter.is_whitespace())?;
    let mut seen = 0;
    let mut escaped = false;
    for (at, letter) in command.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == separator {
            seen += 1;
            if seen == 3 {
                return Some(at + letter.len_utf8());
            }
        }
    }
    None
}

/// The three parts of `s/wanted/by/flags`.
fn substitution(command: &str) -> Option<(String, String, String)> {
    let length = substitution_length(command)?;
    let separator = command.chars().nth(1)?;
    let inside = command.get(1 + separator.len_utf8()..length - separator.len_utf8())?;
    let mut parts: Vec<String> = vec![String::new()];
    let mut escaped = false;
    for letter in inside.chars() {
        if escaped {
            if letter != separator {
                parts.last_mut()?.push('\\');
            }
            parts.last_mut()?.push(letter);
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == separator {
            parts.push(String::new());
        } else {
            parts.last_mut()?.push(letter);
        }
    }
    let [wanted, by] = parts.as_slice() else { return None };
    Some((wanted.clone(), by.clone(), command.get(length..)?.to_owned()))
}

fn substituted(text: &str, expression: &Regex, by: &str, flags: &str) -> String {
    let mut replacement = by.replace('$', "$$").replace("\\&", "\u{1}").replace('&', "${0}").replace('\u{1}', "&");
    for group in 1..=9 {
        replacement = replacement.replace(&format!("\\{group}"), &format!("${{{group}}}"));
    }
    let replacement = replacement.replace("\\n", "\n");
    let mut out = String::new();
    for line in text.lines() {
        let changed = if flags.contains('g') {
            expression.replace_all(line, replacement.as_str())
        } else {
            expression.replace(line, replacement.as_str())
        };
        out.push_str(&changed);
        out.push('\n');
    }
    out
}
