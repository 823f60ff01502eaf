//! The words of `make`.

/// The options of `make` that take another word and are not about its text, as letters and in full.
const VALUED: &str = "jlIoW";
const VALUED_LONG: [&str; 6] = ["include-dir", "old-file", "assume-old", "what-if", "assume-new", "new-file"];

/// The words of `make`.
#[derive(Debug, Default, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct MakeWords {
    pub(super) files: Vec<String>,
    /// `--eval`
    pub(super) texts: Vec<String>,
    pub(super) directories: Vec<String>,
    /// The targets to make.
    pub(super) goals: Vec<String>,
    /// `NAME=value`, in any spelling.
    pub(super) variables: Vec<String>,
    /// `-n`: recipes are printed and not run.
    pub(super) only_prints: bool,
    pub(super) is_silent: bool,
    /// `-e`: the environment counts more than the file.
    pub(super) prefers_environment: bool,
    /// `-i`, `-k`: failed commands do not end it.
    pub(super) goes_on: bool,
}

impl MakeWords {
    pub(super) fn read(&mut self, arguments: &[String]) {
        let mut words = arguments.iter();
        let mut has_options = true;
        while let Some(word) = words.next() {
            match word.strip_prefix('-') {
                Some("") | None => self.operand(word),
                Some("-") if has_options => has_options = false,
                Some(_) if !has_options => self.operand(word),
                Some(long) if long.starts_with('-') => {
                    let (name, value) = match word.trim_start_matches('-').split_once('=') {
                        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                        None => (word.trim_start_matches('-').to_owned(), None),
                    };
                    if self.long_option(&name, value.clone()) && value.is_none() {
                        self.long_option(&name, words.next().cloned());
                    }
                }
                Some(letters) => {
                    for (at, letter) in letters.char_indices() {
                        let rest = letters.get(at + letter.len_utf8()..).unwrap_or("");
                        if "fCE".contains(letter) {
                            let value = if rest.is_empty() { words.next().cloned() } else { Some(rest.to_owned()) };
                            self.valued(letter, value);
                            break;
                        }
                        if VALUED.contains(letter) {
                            // The number of jobs is optional.
                            if rest.is_empty() && !"jl".contains(letter) {
                                words.next();
                            }
                            break;
                        }
                        self.flag(letter);
                    }
                }
            }
        }
    }

    /// Reads the value of `MAKEFLAGS`: letters first, then options and variables.
    pub(super) fn read_flags(&mut self, flags: &str) {
        let mut words: Vec<String> = Vec::new();
        let mut word = String::new();
        let mut letters = flags.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => word.extend(letters.next()),
                _ if letter.is_whitespace() => words.push(std::mem::take(&mut word)),
                _ => word.push(letter),
            }
        }
        words.push(word);
        words.retain(|word| !word.is_empty());
        if let Some(first) = words.first_mut().filter(|first| !first.starts_with('-') && !first.contains('=')) {
            *first = format!("-{first}");
        }
        let goals = std::mem::take(&mut self.goals);
        self.read(&words);
        self.goals = goals;
    }

    fn operand(&mut self, word: &str) {
        if word.contains('=') {
            self.variables.push(word.to_owned());
        } else if word != "-" {
            self.goals.push(word.to_owned());
        }
    }

    /// Notes an option; true if it needs a value.
    fn long_option(&mut self, name: &str, value: Option<String>) -> bool {
        match name {
            "file" | "makefile" => self.valued('f', value),
            "directory" => self.valued('C', value),
            "eval" => self.valued('E', value),
            "just-print" | "dry-run" | "recon" => self.flag('n'),
            "question" => self.flag('q'),
            "touch" => self.flag('t'),
            "silent" | "quiet" => self.flag('s'),
            "environment-overrides" => self.flag('e'),
            "ignore-errors" | "keep-going" => self.flag('k'),
            _ => return VALUED_LONG.contains(&name),
        }
        matches!(name, "file" | "makefile" | "directory" | "eval")
    }

    fn valued(&mut self, letter: char, value: Option<String>) {
        match letter {
            'f' => self.files.extend(value),
            'C' => self.directories.extend(value),
            _ => self.texts.extend(value),
        }
    }

    fn flag(&mut self, letter: char) {
        match letter {
            'n' | 'q' | 't' => self.only_prints = true,
            's' => self.is_silent = true,
            'e' => self.prefers_environment = true,
            'i' | 'k' => self.goes_on = true,
            _ => {}
        }
    }
}
