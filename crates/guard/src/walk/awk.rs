//! `awk`: programs that only print are followed line by line, others are looked through for calls.

use crate::marks::{UNKNOWN, is_mark};
use crate::walk::ScriptWalk;
use crate::walk::lexer::{CodeToken, tokens};

/// The arguments of awk, read to the program.
#[derive(Default)]
struct AwkArguments {
    /// None if the program is in an unknown file.
    program: Option<String>,
    /// `-F`; without one, blanks separate columns.
    separator: Option<String>,
    files: Vec<String>,
}

impl AwkArguments {
    fn columns<'l>(&self, line: &'l str) -> Vec<&'l str> {
        match self.separator.as_deref().filter(|separator| !separator.is_empty()) {
            Some(separator) => line.split(separator).collect(),
            None => line.split_whitespace().collect(),
        }
    }
}

impl ScriptWalk<'_> {
    pub(super) fn run_awk(&mut self, arguments: &[String]) {
        let awk = self.awk_arguments(arguments);
        let Some(code) = awk.program.as_deref().map(str::trim) else {
            return self.write(&UNKNOWN.to_string());
        };
        let Some(expression) = printed_expression(code) else {
            return self.look_at_code(("awk", ""), code, &awk.files);
        };
        let input = self.input_of(awk.files.iter());
        self.budget.spend(1 + input.len() / 32);
        let parts = tokens("awk", expression);
        let first = first_column(code);
        for line in input.lines() {
            let columns = awk.columns(line);
            let may_be = |text: &str| columns.first().is_some_and(|column| *column == text || column.contains(is_mark));
            if first.is_none_or(may_be) {
                let line = printed_line(line, &parts, &columns);
                self.write(&format!("{line}\n"));
            }
        }
    }

    fn awk_arguments(&mut self, arguments: &[String]) -> AwkArguments {
        let mut awk = AwkArguments::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-F" => awk.separator = words.next().cloned(),
                "-v" | "-i" => drop(words.next()),
                "-f" => {
                    let file = words.next().map_or("-", String::as_str);
                    awk.program = self.code_in_file(file);
                    break;
                }
                flag if flag.starts_with("-F") => awk.separator = flag.strip_prefix("-F").map(str::to_owned),
                flag if flag.starts_with('-') && flag.len() > 1 => {}
                _ => {
                    awk.program = Some(word.clone());
                    break;
                }
            }
        }
        awk.files = words.filter(|word| !word.contains('=')).cloned().collect();
        awk
    }
}

/// The text that the first column has to be: `$1 == "M" { … }`.
fn first_column(code: &str) -> Option<&str> {
    let condition = code.split('{').next()?.trim().strip_prefix("$1")?.trim_start().strip_prefix("==")?;
    condition.trim().strip_prefix('"')?.strip_suffix('"')
}

/// The expression of a program that prints it for every line and does nothing else; empty for the whole line.
fn printed_expression(code: &str) -> Option<&str> {
    // Without a block, whole lines are printed. A condition that lines have to match chooses among them.
    if !code.contains('{') {
        return (!code.starts_with('/')).then_some("");
    }
    // A condition before the block chooses lines. All of them are followed.
    let at = code.find('{').filter(|at| !code.starts_with("BEGIN") && !code.starts_with("END") && *at < 64)?;
    let inside = code.get(at..)?.strip_prefix('{').and_then(|code| code.strip_suffix('}')).map(str::trim)?;
    if inside == "print" {
        return Some("");
    }
    inside.strip_prefix("print ").filter(|code| !code.contains(['|', '>', ';', '(', '[', '?']))
}

/// The text that `print` makes of one line: texts and columns, joined, with a blank for each comma.
fn printed_line(line: &str, parts: &[CodeToken], columns: &[&str]) -> String {
    if parts.is_empty() {
        return line.to_owned();
    }
    let mut out = String::new();
    for part in parts {
        match part {
            CodeToken::Text(text) => out.push_str(text),
            CodeToken::Sign(',') => out.push(' '),
            CodeToken::Name(name) => match name.strip_prefix('$') {
                Some("0") => out.push_str(line),
                Some("NF") => out.push_str(columns.last().copied().unwrap_or("")),
                Some(number) => {
                    let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                    out.push_str(at.and_then(|at| columns.get(at)).copied().unwrap_or(""));
                }
                None => out.push(UNKNOWN),
            },
            CodeToken::Sign(_) | CodeToken::Script(_) => out.push(UNKNOWN),
        }
    }
    out
}
