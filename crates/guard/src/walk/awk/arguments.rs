//! The words that awk is given: options, the program, operands.

use crate::walk::ScriptWalk;

/// The arguments of awk, read to the program.
#[derive(Default)]
pub(super) struct AwkArguments<'w> {
    /// None if the program is in an unknown file.
    pub(super) program: Option<String>,
    /// `-F`; without one, blanks separate columns.
    pub(super) separator: Option<String>,
    /// `-v name=value`
    pub(super) assigned: Vec<(String, String)>,
    /// The words behind the program.
    pub(super) rest: &'w [String],
    /// `-i inplace`: the output takes the place of the file.
    is_in_place: bool,
}

impl<'w> AwkArguments<'w> {
    /// The file that the output is written to, if it is not standard output.
    pub(super) fn changed_file(&self) -> Option<&'w str> {
        self.files().next().filter(|_| self.is_in_place)
    }

    /// The operands that are files.
    pub(super) fn files(&self) -> impl Iterator<Item = &'w str> {
        self.rest.iter().map(String::as_str).filter(|word| !word.contains('='))
    }

    fn assign(&mut self, word: &str) {
        if let Some((name, value)) = word.split_once('=') {
            self.assigned.push((name.to_owned(), value.to_owned()));
        }
    }
}

/// Options that take a value, each with its letter.
const LONG: [(&str, char); 7] = [
    ("--field-separator", 'F'),
    ("--assign", 'v'),
    ("--file", 'f'),
    ("--exec", 'E'),
    ("--source", 'e'),
    ("--include", 'i'),
    ("--load", 'l'),
];

/// An option with its letter and its value, and the number of words that it takes; none if this is no option with a value.
fn valued(words: &[String]) -> Option<(char, String, usize)> {
    let word = words.first()?;
    let next = || words.get(1).cloned().unwrap_or_default();
    if word.starts_with("--") {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let (_, letter) = LONG.iter().find(|(long, _)| *long == name)?;
        return Some(match value {
            Some(value) => (*letter, value.to_owned(), 1),
            None => (*letter, next(), 2),
        });
    }
    let letter = word.strip_prefix('-')?.chars().next().filter(|letter| "FvfEeilW".contains(*letter))?;
    let attached = word.get(2..).unwrap_or("");
    Some(if attached.is_empty() { (letter, next(), 2) } else { (letter, attached.to_owned(), 1) })
}

impl ScriptWalk<'_> {
    pub(super) fn awk_arguments<'w>(&mut self, arguments: &'w [String]) -> AwkArguments<'w> {
        let mut awk = AwkArguments { rest: arguments, ..AwkArguments::default() };
        let mut programs: Vec<String> = Vec::new();
        let mut is_unknown = false;
        while let Some((word, after)) = awk.rest.split_first() {
            if word == "--" {
                awk.rest = after;
                break;
            }
            if let Some((letter, value, taken)) = valued(awk.rest) {
                awk.rest = awk.rest.get(taken..).unwrap_or(&[]);
                match letter {
                    'F' => awk.separator = Some(value),
                    'v' => awk.assign(&value),
                    'e' => programs.push(value),
                    'i' => awk.is_in_place |= value.contains("inplace"),
                    'f' | 'E' => match self.code_in_file(&value) {
                        Some(code) => programs.push(code),
                        None => is_unknown = true,
                    },
                    _ => {}
                }
                if letter == 'E' {
                    break;
                }
            } else if word.starts_with('-') && word.len() > 1 {
                awk.rest = after;
            } else {
                break;
            }
        }
        if programs.is_empty()
            && !is_unknown
            && let Some((program, after)) = awk.rest.split_first()
        {
            programs.push(program.clone());
            awk.rest = after;
        }
        awk.program = (!programs.is_empty()).then(|| programs.join("\n"));
        awk
    }
}
