//! Builtins that take text apart: `read`, `mapfile` and `getopts`.

use std::rc::Rc;

use crate::marks::UNKNOWN;
use crate::walk::ScriptWalk;
use crate::walk::builtins::after_options;
use crate::walk::state::ShellValue;

/// The name under which `getopts` keeps its place in a word of several options. No variable is called that.
const OPTION_PLACE: &str = "getopts ";

/// The part of the input that `read` takes.
#[derive(Debug, Clone, Copy)]
struct ReadLine {
    delimiter: char,
    /// `-u`
    from: Option<u32>,
    /// `-n`, `-N`
    length: Option<usize>,
    /// `-r`: a backslash is a letter like any other.
    is_raw: bool,
}

impl ScriptWalk<'_> {
    /// `getopts`: the next option of known arguments; otherwise any option with any value.
    pub(super) fn read_option(&mut self, arguments: &[String]) {
        let [letters, name, given @ ..] = arguments else { return };
        let given = if given.is_empty() { self.world.shell.arguments.to_vec() } else { given.to_vec() };
        self.world.certainty.lose();
        let mut set = |name: &str, text: String| self.assign(name, ShellValue::Scalar(text), None);
        if given.is_empty() {
            set(name, UNKNOWN.to_string());
            return set("OPTARG", UNKNOWN.to_string());
        }
        let at = self.scalar("OPTIND").and_then(|at| at.parse::<usize>().ok()).unwrap_or(1);
        // The place inside of `-abc`, and the word that it belongs to.
        let place = self.scalar(OPTION_PLACE).unwrap_or_default();
        let inside = place.split_once(' ').filter(|(word, _)| *word == at.to_string());
        let inside = inside.and_then(|(_, inside)| inside.parse::<usize>().ok()).unwrap_or(0);
        let option = given.get(at.saturating_sub(1)).and_then(|word| word.strip_prefix('-'));
        let letters_left = option.and_then(|option| option.get(inside..)).unwrap_or("");
        let mut set = |name: &str, text: String| self.assign(name, ShellValue::Scalar(text), None);
        let Some(letter) = letters_left.chars().next().filter(|letter| *letter != '-' || inside > 0) else {
            set(name, "?".to_owned());
            set("OPTIND", (at + usize::from(option == Some("-"))).to_string());
            self.world.shell.read_failed = true;
            return;
        };
        let attached = letters_left.get(letter.len_utf8()..).unwrap_or("").to_owned();
        let is_known = letters.contains(letter) && letter != ':';
        let takes_value = is_known && letters.contains(&format!("{letter}:"));
        let takes_word = takes_value && attached.is_empty();
        set(name, if is_known { letter.to_string() } else { "?".to_owned() });
        if takes_value {
            set("OPTARG", if takes_word { given.get(at).cloned().unwrap_or_default() } else { attached.clone() });
        } else if letters.starts_with(':') && !is_known {
            set("OPTARG", letter.to_string());
        }
        if takes_value || attached.is_empty() {
            set("OPTIND", (at + 1 + usize::from(takes_word)).to_string());
        } else {
            set(OPTION_PLACE, format!("{at} {}", inside + letter.len_utf8()));
        }
    }

    /// `read`: a line of known input into variables.
    pub(super) fn read_variables(&mut self, arguments: &[String]) {
        let mut names = Vec::new();
        let mut array = None;
        let mut delimiter = '\n';
        let mut from = None;
        let mut length = None;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.is_empty() && names.is_empty()) else {
                names.push(word.clone());
                continue;
            };
            let Some((at, kind)) = flags.char_indices().find(|(_, flag)| "aditnNpu".contains(*flag)) else { continue };
            let attached = flags.get(at + 1..).unwrap_or("");
            let value =
                if attached.is_empty() { words.next().cloned().unwrap_or_default() } else { attached.to_owned() };
            match kind {
                'a' => array = Some(value),
                'd' => delimiter = value.chars().next().unwrap_or('\0'),
                'u' => from = value.parse::<u32>().ok(),
                'n' | 'N' => length = value.parse::<usize>().ok(),
                _ => {}
            }
        }
        let is_raw = arguments.iter().any(|word| word.starts_with('-') && word.contains('r'));
        let line = self.read_line(ReadLine { delimiter, from, length, is_raw });
        let separators = self.scalar("IFS").unwrap_or_else(|| " \t\n".to_owned());
        if let Some(array) = array {
            let items = split(&line, &separators, usize::MAX);
            return self.assign(&array, ShellValue::list(items), None);
        }
        if names.is_empty() {
            return self.assign("REPLY", ShellValue::Scalar(line), None);
        }
        let items = split(&line, &separators, names.len());
        for (at, name) in names.iter().enumerate() {
            let text = match items.get(at) {
                Some(text) => text.clone(),
                // Unknown text may have any number of words.
                None if line.contains(UNKNOWN) => UNKNOWN.to_string(),
                None => String::new(),
            };
            self.assign_named(name, text);
        }
    }

    fn read_line(&mut self, wanted: ReadLine) -> String {
        let ReadLine { delimiter, from, length, is_raw } = wanted;
        let input = match from {
            Some(number) => {
                self.world.shell.descriptors.get(&number).cloned().unwrap_or_else(|| UNKNOWN.to_string().into())
            }
            None => Rc::clone(&self.world.shell.input),
        };
        if input.is_empty() {
            // A terminal may have more.
            if self.world.shell.has_own_input {
                self.world.certainty.lose();
            }
            self.world.shell.read_failed = true;
        }
        let (line, rest) = one_line(&input, delimiter, length, is_raw);
        match from {
            Some(number) => {
                Rc::make_mut(&mut self.world.shell.descriptors).insert(number, rest.into());
            }
            None => self.world.shell.input = rest.into(),
        }
        line
    }

    /// `mapfile`: lines of known input into an array.
    pub(super) fn read_array(&mut self, arguments: &[String]) {
        let names: Vec<&String> = after_options(arguments, "dnOsucC").iter().collect();
        let name = names.first().map_or("MAPFILE", |name| name.as_str()).to_owned();
        let option = |flag: &str| {
            let at = arguments.iter().position(|word| word.starts_with(flag))?;
            let attached = arguments.get(at).and_then(|word| word.strip_prefix(flag)).filter(|rest| !rest.is_empty());
            attached.map(str::to_owned).or_else(|| arguments.get(at + 1).cloned())
        };
        let number = |flag: &str| option(flag).and_then(|text| text.parse::<usize>().ok());
        let delimiter = option("-d").map_or('\n', |text| text.chars().next().unwrap_or('\0'));
        let input = Rc::clone(&self.world.shell.input);
        let most = number("-n").filter(|most| *most > 0).unwrap_or(1024).min(1024);
        let lines = input.split_terminator(delimiter).skip(number("-s").unwrap_or(0)).take(most);
        let items: Vec<String> = lines.map(str::to_owned).collect();
        self.world.shell.input = "".into();
        // The callback gets the index of a line and the line.
        if let Some(callback) = option("-C") {
            for (at, item) in items.iter().take(8).enumerate() {
                let arguments = vec![at.to_string(), item.clone()];
                let before = std::mem::replace(&mut self.world.shell.arguments, Rc::new(arguments));
                self.run_derived(&format!("{callback} \"$@\""));
                self.world.shell.arguments = before;
            }
        }
        let first = number("-O").unwrap_or(0).min(1024);
        let items = std::iter::repeat_n(String::new(), first).chain(items).collect();
        self.assign(&name, ShellValue::list(items), None);
    }
}

/// A line of the input, the input behind it, and whether its end was there.
fn one_line(input: &str, delimiter: char, length: Option<usize>, is_raw: bool) -> (String, &str) {
    let mut line = String::new();
    let mut letters = input.char_indices();
    let mut read = 0_usize;
    while let Some((at, letter)) = letters.next() {
        if length.is_some_and(|most| read >= most) {
            return (line, input.get(at..).unwrap_or(""));
        }
        read += 1;
        match letter {
            _ if letter == delimiter => return (line, letters.as_str()),
            '\\' if !is_raw => match letters.next() {
                // The line goes on behind its end.
                Some((_, '\n')) | None => {}
                Some((_, escaped)) => line.push(escaped),
            },
            _ => line.push(letter),
        }
    }
    line.truncate(line.trim_end_matches('\n').len());
    (line, "")
}

/// Splits as `read` does: the last part takes the rest of the line.
fn split(line: &str, separators: &str, most: usize) -> Vec<String> {
    let is_separator = |letter: char| separators.contains(letter);
    let blank = |letter: char| letter.is_ascii_whitespace() && is_separator(letter);
    let mut items = Vec::new();
    let mut rest = line.trim_matches(blank);
    while !rest.is_empty() {
        if items.len() + 1 >= most {
            items.push(rest.to_owned());
            break;
        }
        let Some(at) = rest.find(is_separator) else {
            items.push(rest.to_owned());
            break;
        };
        let (item, after) = rest.split_at(at);
        items.push(item.to_owned());
        rest = after.trim_start_matches(blank);
        if let Some(letter) = rest.chars().next().filter(|letter| is_separator(*letter)) {
            rest = rest.get(letter.len_utf8()..).unwrap_or("").trim_start_matches(blank);
        }
    }
    items
}
