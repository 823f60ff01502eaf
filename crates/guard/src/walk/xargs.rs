//! `xargs` and `parallel`: commands whose arguments come from input.

use std::rc::Rc;

use crate::walk::ScriptWalk;

/// The most items that are tried one by one.
const MOST_ITEMS: usize = 64;

/// Options of `parallel` that take another word.
const VALUED: [&str; 16] = [
    "-j",
    "-a",
    "-I",
    "-n",
    "-N",
    "-S",
    "-P",
    "-d",
    "--jobs",
    "--arg-file",
    "--delay",
    "--joblog",
    "--timeout",
    "--workdir",
    "--sshlogin",
    "--colsep",
];

/// The options of `xargs`, read to the command.
#[derive(Debug, Default)]
struct XargsOptions<'w> {
    /// `-I`: the text that every item takes the place of.
    replace: Option<String>,
    /// `-d` and `-0`; without one, blanks separate and quotes protect.
    delimiter: Option<char>,
    /// `-a`: the items are in this file.
    file: Option<String>,
    /// `-n`: the most items of one call.
    most: Option<usize>,
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

    fn note_long(&mut self, long: &str) {
        let (name, attached) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        match name {
            "null" => self.delimiter = Some('\0'),
            "replace" => self.replace = Some(attached.unwrap_or("{}").to_owned()),
            "delimiter" => self.delimiter = first_letter(&self.value(attached)),
            "arg-file" => self.file = Some(self.value(attached)),
            "max-args" => self.most = self.value(attached).parse().ok(),
            "max-lines" | "max-procs" | "max-chars" => drop(self.value(attached)),
            _ => {}
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
                flag if "aDdEILnPsRSJ".contains(flag) => {
                    let value = self.value(attached);
                    match flag {
                        'I' | 'J' => self.replace = Some(value),
                        'd' => self.delimiter = first_letter(&value),
                        'a' => self.file = Some(value),
                        'n' => self.most = value.parse().ok(),
                        _ => {}
                    }
                    break;
                }
                _ => {}
            }
        }
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
            return;
        }
        let items = match options.delimiter {
            Some(delimiter) => split_at(&input, delimiter),
            None => unquoted(&input),
        };
        if let Some(most) = options.most.filter(|most| (1..items.len()).contains(most))
            && items.len().div_ceil(most) <= MOST_ITEMS
        {
            for items in items.chunks(most) {
                self.call(command.iter().chain(items).cloned().collect());
            }
            return;
        }
        // GNU runs it once without items.
        self.call(command.into_iter().chain(items).collect());
    }

    /// GNU `parallel`: `command ::: items`, or items on input; without a command the items are commands.
    pub(crate) fn run_parallel(&mut self, arguments: &[String]) {
        let mut rest = arguments;
        while let Some((word, after)) = rest.split_first() {
            if word == "--" {
                rest = after;
                break;
            }
            if word.len() < 2 || !word.starts_with('-') || word.starts_with(":::") {
                break;
            }
            rest = if VALUED.contains(&word.as_str()) { after.get(1..).unwrap_or(&[]) } else { after };
        }
        let at = rest.iter().position(|word| word.starts_with(":::")).unwrap_or(rest.len());
        let (command, given) = rest.split_at(at);
        let mut items = Vec::new();
        let mut from_file = false;
        for word in given {
            if word.starts_with(":::") {
                from_file = word.starts_with("::::");
            } else if from_file {
                items.extend(self.read_file(word).lines().map(str::to_owned));
            } else {
                items.push(word.clone());
            }
        }
        if given.is_empty() {
            items = self.world.shell.input.lines().map(str::to_owned).collect();
        }
        for item in items.iter().take(MOST_ITEMS) {
            let script = if command.is_empty() {
                item.clone()
            } else {
                let line = command.join(" ");
                let has_mark = ["{}", "{.}", "{/}", "{//}", "{1}"].iter().any(|mark| line.contains(mark));
                if has_mark {
                    ["{}", "{.}", "{/}", "{//}", "{1}"].iter().fold(line, |line, mark| line.replace(mark, item))
                } else {
                    format!("{line} {item}")
                }
            };
            self.new_shell("bash".to_owned(), Vec::new(), |walk| {
                walk.run_derived(&script);
            });
        }
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

fn split_at(input: &str, delimiter: char) -> Vec<String> {
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
