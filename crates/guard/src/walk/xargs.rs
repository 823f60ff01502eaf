//! `xargs`: a command whose arguments come from input.

use std::rc::Rc;

use crate::marks::has_mark;
use crate::walk::ScriptWalk;

/// The most items that are tried one by one.
const MOST_ITEMS: usize = 64;

/// The options of `xargs`, read to the command.
#[derive(Debug, Default)]
struct XargsOptions<'w> {
    /// `-I`: the text that every item takes the place of.
    replace: Option<String>,
    /// `-d` and `-0`; without one, blanks separate and quotes protect.
    delimiter: Option<char>,
    /// `-a`: the items are in this file.
    file: Option<String>,
    /// `-n`: so many items at a time.
    batch: Option<usize>,
    /// `-L`: so many lines at a time.
    lines: Option<usize>,
    /// The command and its first arguments.
    rest: &'w [String],
}

impl<'w> XargsOptions<'w> {
    fn of(arguments: &'w [String]) -> Self {
        let mut options = Self { rest: arguments, ..Self::default() };
        while let Some((word, after)) = options.rest.split_first() {
            if word == "--" {
                options.rest = after;
                break;
            }
            let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.is_empty()) else { break };
            options.rest = after;
            match flags.strip_prefix('-') {
                Some(long) => options.note_long(long),
                None => options.note_short(flags),
            }
        }
        options
    }

    /// The value of an option: attached to it, or the next word.
    fn value(&mut self, attached: Option<&str>) -> String {
        if let Some(value) = attached {
            return value.to_owned();
        }
        let value = self.rest.first().cloned().unwrap_or_default();
        self.rest = self.rest.get(1..).unwrap_or(&[]);
        value
    }

    /// Notes a long option, which may be shortened.
    fn note_long(&mut self, long: &str) {
        let (name, attached) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let is = |full: &str, least: usize| name.len() >= least && full.starts_with(name);
        if is("null", 3) {
            self.delimiter = Some('\0');
        } else if is("replace", 3) {
            self.replace = Some(attached.unwrap_or("{}").to_owned());
        } else if is("delimiter", 3) {
            self.delimiter = first_letter(&self.value(attached));
        } else if is("arg-file", 2) {
            self.file = Some(self.value(attached));
        } else if is("max-args", 5) {
            self.batch = self.value(attached).parse().ok();
        } else if is("max-lines", 5) {
            // Its value is always attached.
            self.lines = attached.unwrap_or("1").parse().ok();
        } else if is("max-procs", 5) || is("max-chars", 5) || is("process-slot-var", 3) {
            self.value(attached);
        }
    }

    fn note_short(&mut self, flags: &str) {
        for (at, flag) in flags.char_indices() {
            let attached = flags.get(at + flag.len_utf8()..).filter(|attached| !attached.is_empty());
            match flag {
                '0' => self.delimiter = Some('\0'),
                'i' => {
                    self.replace = Some(attached.unwrap_or("{}").to_owned());
                    break;
                }
                'l' => {
                    self.lines = attached.unwrap_or("1").parse().ok();
                    break;
                }
                'e' => break,
                flag if "aDdEILnPsRSJ".contains(flag) => {
                    let value = self.value(attached);
                    match flag {
                        'I' | 'J' => self.replace = Some(value),
                        'd' => self.delimiter = first_letter(&value),
                        'a' => self.file = Some(value),
                        'n' => self.batch = value.parse().ok(),
                        'L' => self.lines = value.parse().ok(),
                        _ => {}
                    }
                    break;
                }
                _ => {}
            }
        }
    }

    /// The items of one call after the other. A listing stands for many items, so it is not divided.
    fn batches(&self, input: &str) -> Vec<Vec<String>> {
        let split = |text: &str| match self.delimiter {
            Some(delimiter) => split_at(text, delimiter),
            None => unquoted(text),
        };
        let is_known = !has_mark(input);
        let items: Vec<Vec<String>> = match (self.batch, self.lines) {
            (Some(count), _) if is_known && count > 0 => split(input).chunks(count).map(<[String]>::to_vec).collect(),
            (None, Some(count)) if is_known && count > 0 => {
                let lines: Vec<&str> = input.lines().filter(|line| !line.trim().is_empty()).collect();
                lines.chunks(count).map(|lines| split(&lines.join("\n"))).collect()
            }
            _ => vec![split(input)],
        };
        // GNU runs it once without items.
        if items.is_empty() { vec![Vec::new()] } else { items }
    }
}

impl ScriptWalk<'_> {
    pub(crate) fn run_xargs(&mut self, arguments: &[String]) {
        let options = XargsOptions::of(arguments);
        let input = match &options.file {
            Some(file) => self.read_file(file),
            None => Rc::clone(&self.world.shell.input),
        };
        let command: Vec<String> =
            if options.rest.is_empty() { vec!["echo".to_owned()] } else { options.rest.to_vec() };
        let asked = self.trail.asked();
        // Without `-a`, xargs has consumed the input, and the command finds nothing left.
        self.world.shell.input = "".into();
        if let Some(mark) = options.replace.as_ref().filter(|mark| !mark.is_empty()) {
            let items = match options.delimiter {
                Some(delimiter) => split_at(&input, delimiter),
                None => input.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect(),
            };
            for item in items.iter().take(MOST_ITEMS) {
                self.call(command.iter().map(|word| word.replace(mark, item)).collect());
            }
            return self.find_unnamed(items.len() > MOST_ITEMS, asked);
        }
        let batches = options.batches(&input);
        let is_partial = batches.len() > MOST_ITEMS;
        for items in batches.into_iter().take(MOST_ITEMS) {
            self.call(command.iter().cloned().chain(items).collect());
        }
        self.find_unnamed(is_partial, asked);
    }
}

fn first_letter(text: &str) -> Option<char> {
    match text.strip_prefix('\\').and_then(|escaped| escaped.chars().next()) {
        Some('n') => Some('\n'),
        Some('0') => Some('\0'),
        Some('t') => Some('\t'),
        Some(other) => Some(other),
        None => text.chars().next(),
    }
}

pub(super) fn split_at(input: &str, delimiter: char) -> Vec<String> {
    let parts = input.split(delimiter).map(|item| item.trim_end_matches('\n').to_owned());
    parts.filter(|item| !item.is_empty()).collect()
}

/// Words as `xargs` takes them: blanks separate, quotes and backslashes protect.
fn unquoted(input: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = input.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(mark), _) if mark == letter => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, ' ' | '\t' | '\n' | '\0') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Guard, Prelude};

    fn options(text: &str) -> Vec<Vec<String>> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        XargsOptions::of(&words).batches("a b\nc\n")
    }

    #[test]
    fn items_come_in_batches() {
        assert_eq!(options("-n2 echo"), [["a", "b"].as_slice(), &["c"]]);
        assert_eq!(options("-L1 echo"), [["a", "b"].as_slice(), &["c"]]);
        assert_eq!(options("--max-args=1 echo").len(), 3);
        assert_eq!(options("-r echo").len(), 1);
    }

    #[test]
    fn a_command_is_found_in_any_form_of_xargs() {
        let refuses = |script: &str| Guard::default().judge(script, &Prelude::default()).refuses();
        for script in [
            "printf '%s\\n' git add -A | xargs -n3 env",
            "echo .git | xargs -i rm -rf ./{}",
            "echo .git | xargs --repl=@ rm -rf ./@",
            "echo .git | xargs -eEND rm -rf",
            "echo 'push -f' | xargs -L1 git",
        ] {
            assert!(refuses(script), "{script}");
        }
        assert!(!refuses("printf '%s\\n' add README.md status -s | xargs -n2 git"));
    }
}
