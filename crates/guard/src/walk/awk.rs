//! `awk`: programs that only print are followed line by line, others are looked through for calls.

use crate::marks::UNKNOWN;
use crate::walk::ScriptWalk;
use crate::walk::code_scan::CodeScan;
use crate::walk::tokens::{CodeToken, tokens};
use crate::walk::values::Values;

/// The most lines of known input that awk is followed through.
const MOST_LINES: usize = 64;

/// The arguments of awk, read to the program.
#[derive(Default)]
struct AwkArguments<'w> {
    /// None if the program is in an unknown file.
    program: Option<String>,
    /// `-F`; without one, blanks separate columns.
    separator: Option<String>,
    /// `-v name=value`
    values: Values,
    /// The words behind the program.
    rest: &'w [String],
}

impl AwkArguments<'_> {
    fn columns<'l>(&self, line: &'l str) -> Vec<&'l str> {
        match &self.separator {
            Some(separator) => line.split(separator.as_str()).collect(),
            None => line.split_whitespace().collect(),
        }
    }
}

impl ScriptWalk<'_> {
    pub(super) fn run_awk(&mut self, arguments: &[String]) {
        let awk = self.awk_arguments(arguments);
        let Some(code) = awk.program.as_deref().map(str::trim) else { return };
        let files: Vec<&String> = awk.rest.iter().filter(|word| !word.contains('=')).collect();
        let input = self.input_of(files.into_iter());
        let before = std::mem::replace(&mut self.world.shell.input, input.as_str().into());
        self.run_awk_on(&awk, code, &input);
        self.world.shell.input = before;
    }

    /// Runs a program of awk over its input.
    fn run_awk_on(&mut self, awk: &AwkArguments<'_>, code: &str, input: &str) {
        if let Some(expression) = printed_expression(code) {
            let parts = tokens("awk", expression);
            let first = first_column(code);
            for line in input.lines() {
                if first.is_some_and(|first| !awk.columns(line).first().is_some_and(|column| may_equal(column, first)))
                {
                    continue;
                }
                let line = printed_line(line, &parts, &awk.columns(line));
                self.write(&format!("{line}\n"));
            }
            return;
        }
        let mut lines: Vec<&str> = input.lines().take(MOST_LINES).collect();
        if lines.is_empty() || code.starts_with("BEGIN") {
            lines = vec![""];
        }
        for line in lines {
            let mut values = awk.values.clone();
            values.insert("ARGV".to_owned(), std::iter::once(String::new()).chain(awk.rest.iter().cloned()).collect());
            if !line.is_empty() {
                // `$i` in a loop is any of the columns.
                for name in code.split('$').skip(1) {
                    let end =
                        name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
                    let name = name.get(..end).unwrap_or("");
                    if name.starts_with(char::is_alphabetic) && name != "NF" {
                        values.insert(name.to_owned(), awk.columns(line).into_iter().map(str::to_owned).collect());
                    }
                }
                values.insert("0".to_owned(), vec![line.to_owned()]);
                for (at, column) in awk.columns(line).into_iter().enumerate() {
                    values.insert((at + 1).to_string(), vec![column.to_owned()]);
                }
            }
            self.scan_code("awk", code, values);
        }
    }

    fn awk_arguments<'w>(&mut self, arguments: &'w [String]) -> AwkArguments<'w> {
        let mut awk = AwkArguments::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-F" => awk.separator = words.next().cloned(),
                "-v" => {
                    if let Some((name, value)) = words.next().and_then(|word| word.split_once('=')) {
                        awk.values.insert(name.to_owned(), vec![value.to_owned()]);
                    }
                }
                "-f" => {
                    let file = words.next().map_or("-", String::as_str);
                    awk.program = self.code_in_file(file);
                    break;
                }
                "-i" => {
                    words.next();
                }
                flag if flag.starts_with("-F") => awk.separator = flag.strip_prefix("-F").map(str::to_owned),
                flag if flag.starts_with('-') && flag.len() > 1 => {}
                _ => {
                    awk.program = Some(word.clone());
                    break;
                }
            }
        }
        awk.rest = words.as_slice();
        awk
    }

    /// A pipe in awk: to a command, which reads the text that was printed last, or from one.
    pub(super) fn awk_pipe(&mut self, scan: &CodeScan<'_>) {
        let command = |token: Option<&CodeToken>| match token? {
            CodeToken::Text(text) => Some(text.clone()),
            CodeToken::Name(name) => scan.values.get(name).map(|words| words.concat()),
            _ => None,
        };
        let (left, right) = scan.around();
        if matches!(right, Some(CodeToken::Name(name)) if name == "getline") {
            if let Some(command) = command(left) {
                self.script_in_code(&command, None);
            }
        } else if let Some(command) = command(right) {
            self.script_in_code(&command, scan.printed.clone());
        }
    }
}

/// The text that the first column has to be: `$1 == "M" { … }`.
fn first_column(code: &str) -> Option<&str> {
    let condition = code.split('{').next()?.trim().strip_prefix("$1")?.trim_start().strip_prefix("==")?;
    condition.trim().strip_prefix('"')?.strip_suffix('"')
}

/// True if a column may be this text, as far as it is known.
fn may_equal(column: &str, text: &str) -> bool {
    column == text || column.contains(crate::marks::is_mark)
}

/// The expression of a program that prints it for every line and does nothing else; empty for the whole line.
fn printed_expression(code: &str) -> Option<&str> {
    // A condition before the block chooses lines. All of them are followed.
    let at = code.find('{').filter(|at| !code.starts_with("BEGIN") && !code.starts_with("END") && *at < 64)?;
    let inside = code.get(at..)?.strip_prefix('{').and_then(|code| code.strip_suffix('}')).map(str::trim)?;
    if inside == "print" {
        return Some("");
    }
    inside.strip_prefix("print ").filter(|code| !code.contains(['|', '>', ';', '(']))
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
            CodeToken::Sign(_) | CodeToken::Template(_) => out.push(UNKNOWN),
        }
    }
    out
}
