//! Text that a program makes of the script's own text, in a way that the walk does not follow: `… | shuf | sh`.
//!
//! Everything that such a command would do stands in the script, and yet nobody can read it there. Where the text is run, or chooses what
//! `git` or `rm` does, somebody is asked. Text from outside of the script is another matter: `curl … | sh` is unknown, and passes.

use crate::marks::{MADE, UNKNOWN, has_mark, is_mark, is_vague};
use crate::rules::HIDDEN_CODE;
use crate::walk::ScriptWalk;

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
}

/// True if nothing of a text comes from outside of the script.
fn is_own(text: &str) -> bool {
    if !has_mark(text) {
        return true;
    }
    let without_made = text.replace(&format!("{UNKNOWN}{MADE}"), "");
    !without_made.contains(|letter| is_mark(letter) && letter != MADE)
}
