//! `sed`, as far as scripts use it to put text together.

use regex::{Regex, RegexBuilder};

use crate::marks::UNKNOWN;
use crate::walk::ScriptWalk;
use crate::walk::outputs::joined;

/// The largest compiled expression, in bytes. Larger ones leave the text unknown.
const LARGEST_EXPRESSION: usize = 1 << 18;

impl ScriptWalk<'_> {
    /// `sed`: substitutions, and the commands that print lines or run them.
    pub(super) fn sed(&mut self, arguments: &[String]) -> Option<String> {
        let mut scripts = Vec::new();
        let mut files = Vec::new();
        let mut quiet = false;
        let mut in_place = false;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-e" | "--expression" => scripts.extend(words.next().cloned()),
                "-f" => return None,
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
                    text = match self.expression(&wanted, flags.contains(['i', 'I'])) {
                        Some(expression) => substituted(&text, &expression, &by, &flags),
                        None => UNKNOWN.to_string(),
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
                    } else {
                        // The output is made of the text, in a way that is not followed.
                        return None;
                    }
                }
            }
        }
        let out = if quiet { printed } else { text };
        if !in_place {
            return Some(out);
        }
        for path in &files {
            if self.known_file(path).is_some() {
                self.write_file(path, &out, false);
            }
        }
        Some(String::new())
    }

    /// A basic or extended expression, taken for what both agree on. Scripts use the same ones over and over, and making one
    /// takes longer than using it.
    pub(super) fn expression(&mut self, text: &str, ignore_case: bool) -> Option<Regex> {
        let key = (text.to_owned(), ignore_case);
        if let Some(known) = self.world.expressions.get(&key) {
            return known.clone();
        }
        self.budget.spend(4);
        let made = expression(text, ignore_case);
        self.world.expressions.insert(key, made.clone());
        made
    }

    /// The lines that `Np`, `$p` or `/x/p` print.
    fn selected(&mut self, text: &str, command: &str) -> Option<String> {
        let address = command.trim().strip_suffix('p')?;
        let lines: Vec<&str> = text.lines().collect();
        let line = if address == "$" {
            lines.last().copied()
        } else if let Ok(number) = address.parse::<usize>() {
            lines.get(number.checked_sub(1)?).copied()
        } else if let Some(wanted) = address.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            let expression = self.expression(wanted, false)?;
            let lines = lines.into_iter().filter(|line| expression.is_match(line));
            return Some(joined(lines.map(str::to_owned)));
        } else if address.is_empty() {
            return Some(text.to_owned());
        } else {
            return None;
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

fn expression(text: &str, ignore_case: bool) -> Option<Regex> {
    let text = text.replace("\\(", "(").replace("\\)", ")").replace("\\|", "|").replace("\\+", "+");
    RegexBuilder::new(&text).case_insensitive(ignore_case).size_limit(LARGEST_EXPRESSION).build().ok()
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
