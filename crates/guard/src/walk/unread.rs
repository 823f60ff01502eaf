//! The script's own text on ways that the walk does not follow: `jq -r '.steps[]' file | bash`, `… | shuf | sh`.
//!
//! Such output is unknown, with a mark behind it that names the text it was made of. Wherever a word with that mark is run as a
//! command, every piece of the text that could be a command is judged as it stands: a line, the value behind a key, a quoted
//! string, a list of quoted strings. Where a program that only changes text has made it, nobody can read it, so somebody is
//! asked. Text from outside of the script is another matter: `curl … | sh` is unknown, and passes.

use std::rc::Rc;

use crate::finding::Level;
use crate::marks::{FIRST_SOURCE, LAST_SOURCE, MADE, UNKNOWN, has_mark, is_mark, is_source, is_vague};
use crate::rules::HIDDEN_CODE;
use crate::walk::ScriptWalk;
use crate::walk::files::base_name;

/// The most texts that are remembered.
const MOST_SOURCES: usize = 16;

/// The longest text that is remembered, in bytes.
const LONGEST_SOURCE: usize = 16 << 10;

/// The most pieces of one text that are judged.
const MOST_PIECES: usize = 96;

/// The longest piece that is judged, in bytes.
const LONGEST_PIECE: usize = 512;

/// First words of commands that the rules are about, or that run such commands.
const COMMANDS: [&str; 22] = [
    "git", "rm", "sudo", "find", "bash", "sh", "env", "cd", "xargs", "python3", "python", "perl", "node", "chmod",
    "chown", "dd", "eval", "exec", "command", "kill", "pkill", "killall",
];

/// Programs that do nothing but change text.
const TRANSFORMERS: [&str; 50] = [
    "awk", "base32", "base64", "basenc", "bc", "bunzip2", "bzcat", "bzip2", "column", "comm", "cpp", "cut", "dc", "dd",
    "expand", "expr", "factor", "fmt", "fold", "gawk", "getopt", "gunzip", "gzip", "head", "hexdump", "iconv", "join",
    "jq", "m4", "mawk", "nl", "numfmt", "od", "openssl", "paste", "rev", "sed", "shuf", "sort", "split", "strings",
    "tac", "tail", "tr", "uniq", "uudecode", "xxd", "xz", "xzcat", "zcat",
];

/// Those that need no input.
const WITHOUT_INPUT: [&str; 7] = ["awk", "expr", "factor", "gawk", "jq", "mawk", "numfmt"];

/// Those whose first word is a program of their own.
const TAKE_PROGRAM: [&str; 5] = ["awk", "gawk", "jq", "mawk", "sed"];

/// Those whose words are no files.
const NO_FILES: [&str; 7] = ["dd", "expr", "factor", "getopt", "numfmt", "openssl", "tr"];

/// Words of code that reads something from outside.
const OUTSIDE: [&str; 22] = [
    "open",
    "argv",
    "ARGV",
    "env",
    "ENV",
    "input",
    "stdin",
    "STDIN",
    "read",
    "require",
    "import os",
    "import sys",
    "subprocess",
    "socket",
    "http",
    "fetch",
    "time",
    "random",
    "rand",
    "date",
    "Date",
    "glob",
];

impl ScriptWalk<'_> {
    /// Unknown output of a program that was made of this text.
    pub(super) fn unknown_made_of(&mut self, text: &str) -> String {
        let mut unknown = UNKNOWN.to_string();
        if text.len() > LONGEST_SOURCE || !COMMANDS.iter().take(4).any(|word| names(text, word)) {
            return unknown;
        }
        let sources = &mut self.world.sources;
        let at = match sources.iter().position(|known| known.as_ref() == text) {
            Some(at) => at,
            None if sources.len() < MOST_SOURCES => {
                sources.push(text.into());
                sources.len() - 1
            }
            None => return unknown,
        };
        let mark = u32::try_from(at).ok().and_then(|at| char::from_u32(u32::from(FIRST_SOURCE) + at));
        unknown.extend(mark.filter(|mark| *mark <= LAST_SOURCE));
        unknown
    }

    /// The known text that a program is given: its input, the files that the script has written, and its words.
    pub(super) fn text_given_to(&mut self, words: &[String]) -> String {
        let mut text = self.world.shell.input.to_string();
        for word in words.iter().skip(1) {
            text.push('\n');
            match self.known_file(word) {
                Some(file) => text.push_str(&file),
                None => text.push_str(word),
            }
        }
        text
    }

    /// The texts of the files that the script has written and that some code names.
    pub(super) fn files_named_in(&self, code: &str) -> Vec<String> {
        let is_named = |path: &str| {
            let name = base_name(path);
            name.len() > 2 && code.contains(name)
        };
        let files = self.world.files.texts.iter().filter(|(path, _)| is_named(path));
        files.map(|(_, text)| format!("\n{text}")).take(MOST_SOURCES).collect()
    }

    /// Judges the commands in the data of some code that runs something unknown: files that it names, its input, and texts of several
    /// lines in it.
    pub(super) fn judge_data_of(&mut self, code: &str) {
        let mut data = self.world.shell.input.to_string();
        data.extend(self.files_named_in(code));
        for quotes in ["\"\"\"", "'''", "`"] {
            data.extend(code.split(quotes).skip(1).step_by(2).map(|text| format!("\n{text}")));
        }
        data.extend(code.split_once("\n__DATA__").map(|(_, data)| data));
        // Code that reads itself from its input is no data.
        if data.contains(code) {
            data = data.replacen(code, "", 1);
        }
        if data.len() <= LONGEST_SOURCE {
            self.judge_pieces(&data);
        }
    }

    /// Judges every piece of the texts that a command's first word was made of.
    pub(super) fn judge_sources(&mut self, word: &str) {
        for mark in word.chars().filter(|letter| is_source(*letter)) {
            let at = usize::try_from(u32::from(mark) - u32::from(FIRST_SOURCE)).unwrap_or(usize::MAX);
            let Some(text) = self.world.sources.get(at).cloned() else { continue };
            // Once is enough, and the text may lead to itself.
            if let Some(source) = self.world.sources.get_mut(at) {
                *source = Rc::from("");
            }
            self.judge_pieces(&text);
        }
    }

    /// Marks output that is not known, if it is made of the script's own text alone.
    pub(super) fn marked_as_made(&mut self, name: &str, words: &[String], text: String) -> String {
        let is_unknown = has_mark(&text) && text.contains(UNKNOWN) && !text.contains(MADE);
        if !is_unknown || !TRANSFORMERS.contains(&name) || !self.is_given_own_text(name, words) {
            return text;
        }
        text.replace(UNKNOWN, &format!("{UNKNOWN}{MADE}"))
    }

    /// Marks the output of code that cannot be followed, if it reads nothing from outside.
    pub(super) fn marked_as_made_by_code(&self, code: &str, text: String) -> String {
        let reads = OUTSIDE.iter().any(|word| code.contains(word)) || !is_own(&self.world.shell.input);
        if reads || !text.contains(UNKNOWN) || text.contains(MADE) { text } else { format!("{text}{MADE}") }
    }

    fn is_given_own_text(&mut self, name: &str, words: &[String]) -> bool {
        let input = std::rc::Rc::clone(&self.world.shell.input);
        let mut has_text = input.contains(char::is_alphanumeric);
        if !is_own(&input) {
            return false;
        }
        let mut programs = usize::from(TAKE_PROGRAM.contains(&name));
        for word in words.iter().skip(1).filter(|word| !word.starts_with('-')) {
            if has_mark(word) && is_vague(word) && !word.contains(MADE) {
                return false;
            }
            match self.known_file(word) {
                Some(text) if is_own(&text) => has_text = true,
                Some(_) => return false,
                None if NO_FILES.contains(&name) => {}
                None if programs > 0 => programs -= 1,
                // It may be a file, or the value of an option.
                None if word.parse::<i64>().is_err() => return false,
                None => {}
            }
        }
        has_text || WITHOUT_INPUT.contains(&name)
    }

    /// Asks about a command whose name, or whose effect, such text decides.
    pub(super) fn judge_made(&mut self, name: &str, words: &[String]) {
        let is_made = |word: &String| has_mark(word) && word.contains(MADE);
        let begins_made = |word: &String| word.starts_with([UNKNOWN, MADE]) && is_made(word);
        if !words.iter().any(is_made) {
            return;
        }
        let decides = match name {
            "git" | "hub" => {
                let matters = |word: &String| matches!(word.as_str(), "add" | "stage" | "push");
                words.iter().any(matters) || words.get(1).is_some_and(is_made)
            }
            "rm" => words.iter().skip(1).any(begins_made),
            // A path with a directory in front is a program of that directory.
            _ => words.first().is_some_and(begins_made),
        };
        if decides {
            self.find_rule(&HIDDEN_CODE);
        }
    }

    pub(super) fn judge_pieces(&mut self, text: &str) {
        let before = self.trail.findings.len();
        for piece in pieces(text) {
            self.script_in_code(&piece, None);
        }
        // A piece that is no command after all may be hard to read or to place. Only refusals count.
        let findings = self.trail.findings.split_off(before);
        self.trail.findings.extend(findings.into_iter().filter(|finding| finding.level != Level::Warn));
    }
}

/// True if nothing of a text comes from outside of the script.
fn is_own(text: &str) -> bool {
    if !has_mark(text) {
        return true;
    }
    let without_made = text.replace(&format!("{UNKNOWN}{MADE}"), "");
    !without_made.contains(|letter| is_mark(letter) && letter != MADE)
}

/// True if a text has this word.
fn names(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let is_inside = |letter: char| letter.is_alphanumeric();
        !text.get(..at).unwrap_or("").ends_with(is_inside)
            && !text.get(at + word.len()..).unwrap_or("").starts_with(is_inside)
    })
}

/// The pieces of a text that could be commands.
fn pieces(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        found.push(line.to_owned());
        // `key: value`, `key=value`, `- item`, columns.
        for (at, separator) in line.match_indices([':', '=', '\t', '|', ',', ';', '-', '>', '.']).take(8) {
            found.push(line.get(at + separator.len()..).unwrap_or("").trim().to_owned());
        }
    }
    let (strings, lists) = quoted(text);
    found.extend(strings);
    found.extend(lists);
    let mut kept: Vec<String> = Vec::new();
    for piece in found {
        let first = piece.split_whitespace().next().unwrap_or("");
        let is_command = COMMANDS.contains(&first.rsplit('/').next().unwrap_or(first));
        if is_command && piece.len() <= LONGEST_PIECE && kept.len() < MOST_PIECES && !kept.contains(&piece) {
            kept.push(piece);
        }
    }
    kept
}

/// The quoted strings of a text, and its lists of quoted strings, each as one line.
fn quoted(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut strings, mut lists) = (Vec::new(), Vec::new());
    let mut list: Option<Vec<String>> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '[' => list = Some(Vec::new()),
            // `q(…)` in Perl.
            '(' => {
                let inside = letters.as_str();
                strings.extend(inside.split_once(')').map(|(text, _)| text.to_owned()));
            }
            ']' => lists.extend(list.take().map(|words| words.join(" "))),
            '"' | '\'' => {
                let mut string = String::new();
                while let Some(inside) = letters.next() {
                    match inside {
                        '\\' => match letters.next() {
                            Some('n') => string.push('\n'),
                            Some('t') => string.push('\t'),
                            other => string.extend(other),
                        },
                        _ if inside == letter => break,
                        _ => string.push(inside),
                    }
                }
                if let Some(list) = &mut list {
                    list.push(string.clone());
                }
                strings.push(string);
            }
            _ => {}
        }
    }
    (strings, lists)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_that_could_be_a_command_is_found() {
        let found =
            pieces("{\"steps\": [\"git add -A\", \"ls\"], \"run\": [\"git\", \"add\", \".\"]}\n- run: rm -rf x\n");
        assert!(found.contains(&"git add -A".to_owned()));
        assert!(found.contains(&"git add .".to_owned()));
        assert!(found.contains(&"rm -rf x".to_owned()));
        assert!(!found.iter().any(|piece| piece.starts_with("ls")));
    }
}
