//! Programs of awk that cannot be read: they are looked through for calls, once for each line of the input.

use crate::walk::ScriptWalk;
use crate::walk::awk::arguments::AwkArguments;
use crate::walk::code_scan::CodeScan;
use crate::walk::tokens::CodeToken;
use crate::walk::values::Values;

/// The most lines of known input that awk is followed through.
const MOST_LINES: usize = 64;

/// The most text that is looked through for all lines, in bytes.
const MOST_SCANNED: usize = 64 << 10;

impl ScriptWalk<'_> {
    /// Looks through a program.
    pub(super) fn scan_awk(&mut self, awk: &AwkArguments<'_>, code: &str) {
        let files: Vec<String> = awk.files().map(str::to_owned).collect();
        let input = self.input_of(files.iter());
        let before = std::mem::replace(&mut self.world.shell.input, input.as_str().into());
        let most = (MOST_SCANNED / code.len().max(1)).clamp(1, MOST_LINES);
        let mut lines: Vec<&str> = input.lines().take(most).collect();
        if lines.is_empty() || code.trim_start().starts_with("BEGIN") {
            lines = vec![""];
        }
        let mut known: Values = awk.assigned.iter().map(|(name, value)| (name.clone(), vec![value.clone()])).collect();
        known.insert("ARGV".to_owned(), std::iter::once(String::new()).chain(awk.rest.iter().cloned()).collect());
        for line in lines {
            let mut values = known.clone();
            if !line.is_empty() {
                add_columns(&columns(awk, line), line, code, &mut values);
            }
            self.scan_code("awk", code, values);
        }
        self.world.shell.input = before;
    }

    /// A pipe in awk: to a command, which reads the text that was printed last, or from one.
    pub(in crate::walk) fn awk_pipe(&mut self, scan: &CodeScan<'_>) {
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

fn columns(awk: &AwkArguments<'_>, line: &str) -> Vec<String> {
    match &awk.separator {
        Some(separator) => line.split(separator.as_str()).map(str::to_owned).collect(),
        None => line.split_whitespace().map(str::to_owned).collect(),
    }
}

/// Notes the columns of a line under the names that the program has for them.
fn add_columns(columns: &[String], line: &str, code: &str, values: &mut Values) {
    // `$i` in a loop is any of the columns.
    for name in code.split('$').skip(1) {
        let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
        let name = name.get(..end).unwrap_or("");
        if name.starts_with(char::is_alphabetic) && name != "NF" {
            values.insert(name.to_owned(), columns.to_vec());
        }
    }
    values.insert("0".to_owned(), vec![line.to_owned()]);
    for (at, column) in columns.iter().enumerate() {
        values.insert((at + 1).to_string(), vec![column.clone()]);
    }
}
