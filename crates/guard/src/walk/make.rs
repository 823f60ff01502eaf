//! `make`, with a file that the script has written or typed: each line of a recipe is a script.

use std::collections::BTreeMap;

use crate::marks::{SOME, UNKNOWN};
use crate::walk::ScriptWalk;

/// The longest chain of variables that refer to each other.
const DEEPEST: usize = 8;

/// The longest recipe after its variables are filled in, in bytes.
const LONGEST: usize = 8 << 10;

/// The options of `make` that take another word and are not about its text.
const VALUED: [&str; 8] = ["-j", "-l", "-o", "-W", "-I", "--jobs", "--old-file", "--what-if"];

/// The words of `make`.
#[derive(Debug, Default)]
struct MakeWords {
    files: Vec<String>,
    /// `--eval`
    texts: Vec<String>,
    directory: Option<String>,
    variables: BTreeMap<String, String>,
}

impl MakeWords {
    fn of(arguments: &[String]) -> Self {
        let mut make = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let attached = |names: &[&str]| names.iter().find_map(|name| word.strip_prefix(name)).map(str::to_owned);
            match word.as_str() {
                "-f" | "--file" | "--makefile" => make.files.extend(words.next().cloned()),
                "-E" | "--eval" => make.texts.extend(words.next().cloned()),
                "-C" | "--directory" => make.directory = words.next().cloned(),
                option if VALUED.contains(&option) => drop(words.next()),
                option if option.starts_with('-') => {
                    make.texts.extend(attached(&["--eval=", "-E"]));
                    make.files.extend(attached(&["--file=", "--makefile="]));
                    if !option.starts_with("--") {
                        make.files.extend(attached(&["-f"]));
                        make.directory = attached(&["-C"]).or(make.directory.take());
                    }
                }
                operand => make.note_variable(operand),
            }
        }
        make
    }

    /// Notes `NAME=value`, in any of make's spellings; other lines mean something else.
    fn note_variable(&mut self, line: &str) {
        let Some((name, value)) = line.split_once('=') else { return };
        let appends = name.ends_with('+');
        let name = name.trim_end_matches([':', '?', '+', '!']).trim();
        let name = name.rsplit(' ').next().unwrap_or(name);
        if name.is_empty() || name.contains(['$', ':', '\t']) {
            return;
        }
        let value = value.trim_start();
        match self.variables.get_mut(name) {
            Some(known) if appends && known.len() < LONGEST => {
                known.push(' ');
                known.push_str(value);
            }
            _ => drop(self.variables.insert(name.to_owned(), value.to_owned())),
        }
    }
}

impl ScriptWalk<'_> {
    pub(crate) fn run_make(&mut self, arguments: &[String]) {
        let runs_nothing = |word: &String| {
            matches!(word.as_str(), "-n" | "-q" | "--just-print" | "--dry-run" | "--recon" | "--question")
        };
        if arguments.iter().any(runs_nothing) {
            return self.write(&UNKNOWN.to_string());
        }
        let mut make = MakeWords::of(arguments);
        let before = self.directory();
        if let Some(directory) = make.directory.take() {
            let path = self.absolute(&directory);
            self.world.shell.set_directory(path);
        }
        let usual = ["GNUmakefile", "makefile", "Makefile"];
        let named: Vec<String> = make.files.drain(..).collect();
        for file in &named {
            make.texts.extend(self.code_in_file(file));
        }
        if named.is_empty() {
            make.texts.extend(usual.into_iter().find_map(|file| self.known_file(file)).map(|text| text.to_string()));
        }
        // The command line counts more than the file, so it is noted again behind it.
        let given = make.variables.clone();
        let mut recipes = Vec::new();
        for text in std::mem::take(&mut make.texts) {
            for line in text.replace("\\\n", " ").lines() {
                if let Some(recipe) = line.strip_prefix('\t') {
                    recipes.push(recipe.to_owned());
                } else if let Some((_, recipe)) = line.split_once(':').and_then(|(_, rest)| rest.split_once(';')) {
                    recipes.push(recipe.to_owned());
                } else {
                    make.note_variable(line);
                }
            }
        }
        make.variables.extend(given);
        for recipe in &recipes {
            let script = self.expand_recipe(recipe, &make.variables, 0);
            let script = script.trim_start_matches(['@', '-', '+', ' ', '\t']).to_owned();
            self.script_in_code(&script, None);
        }
        self.world.shell.set_directory(before);
        self.write(&UNKNOWN.to_string());
    }

    /// The script that make hands to a shell.
    fn expand_recipe(&mut self, text: &str, variables: &BTreeMap<String, String>, depth: usize) -> String {
        let mut out = String::new();
        let mut rest = text;
        self.budget.spend(1 + text.len() / 64);
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            if out.len() > LONGEST || depth > DEEPEST {
                return UNKNOWN.to_string();
            }
            let first = after.chars().next().unwrap_or('$');
            let closer = match first {
                '(' => ')',
                '{' => '}',
                '$' => {
                    out.push('$');
                    rest = after.get(1..).unwrap_or("");
                    continue;
                }
                _ => {
                    let name = first.to_string();
                    let value = variables.get(&name).cloned().unwrap_or_else(|| SOME.to_string());
                    out.push_str(&self.expand_recipe(&value, variables, depth + 1));
                    rest = after.get(first.len_utf8()..).unwrap_or("");
                    continue;
                }
            };
            let inside = after.get(1..).unwrap_or("");
            let end = closing(inside, first, closer);
            let name = inside.get(..end).unwrap_or("");
            rest = inside.get(end + 1..).unwrap_or("");
            let value = self.make_value(name, variables, depth);
            out.push_str(&value);
        }
        out.push_str(rest);
        out
    }

    fn make_value(&mut self, name: &str, variables: &BTreeMap<String, String>, depth: usize) -> String {
        if let Some(script) = name.strip_prefix("shell ") {
            let script = self.expand_recipe(script, variables, depth + 1);
            let text = self.capturing(|walk| walk.script_in_code(&script, None));
            return text.trim_end().replace('\n', " ");
        }
        match variables.get(name) {
            Some(value) => {
                let value = value.clone();
                self.expand_recipe(&value, variables, depth + 1)
            }
            None => match name {
                "RM" => "rm -f".to_owned(),
                "CURDIR" | "PWD" => self.directory(),
                _ => self.scalar(name).unwrap_or_else(|| UNKNOWN.to_string()),
            },
        }
    }
}

/// The place of the sign that closes a reference, or the end of the text.
fn closing(text: &str, opener: char, closer: char) -> usize {
    let mut open = 0_usize;
    for (at, letter) in text.char_indices() {
        if letter == opener {
            open += 1;
        } else if letter == closer {
            match open.checked_sub(1) {
                Some(left) => open = left,
                None => return at,
            }
        }
    }
    text.len()
}
