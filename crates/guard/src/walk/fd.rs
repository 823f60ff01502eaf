//! `fd`, a `find` with fewer words.

use crate::marks::{NAME, TREE};
use crate::walk::ScriptWalk;

/// Options that take another word and choose files by it.
const CHOOSING: [&str; 10] = [
    "-e",
    "--extension",
    "-S",
    "--size",
    "--changed-within",
    "--changed-before",
    "--newer",
    "--older",
    "-o",
    "--owner",
];

/// Options that take another word and choose nothing.
const VALUED: [&str; 14] = [
    "-t",
    "--type",
    "-E",
    "--exclude",
    "-d",
    "--max-depth",
    "--min-depth",
    "--exact-depth",
    "-c",
    "--color",
    "-j",
    "--threads",
    "--max-results",
    "--ignore-file",
];

/// Options that take another word, which is a directory to search.
const PLACES: [&str; 2] = ["--search-path", "--base-directory"];

impl ScriptWalk<'_> {
    /// `fd pattern directories -x command`
    pub(crate) fn run_fd(&mut self, arguments: &[String]) {
        let at = arguments.iter().position(|word| matches!(word.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
        let (tests, command) = arguments.split_at(at.unwrap_or(arguments.len()));
        let (mut is_narrow, mut operands, mut places) = (false, Vec::new(), Vec::new());
        let mut words = tests.iter();
        while let Some(word) = words.next() {
            let (name, attached) =
                word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            if CHOOSING.contains(&name) {
                is_narrow = true;
            }
            if PLACES.contains(&name) {
                places.extend(attached.map(str::to_owned).or_else(|| words.next().cloned()));
            } else if (CHOOSING.contains(&name) || VALUED.contains(&name)) && attached.is_none() {
                words.next();
            } else if !word.starts_with('-') {
                operands.push(word.as_str());
            }
        }
        // The first one is a pattern. One without a letter matches nearly every name.
        if let Some((pattern, directories)) = operands.split_first() {
            is_narrow |= pattern.chars().any(char::is_alphanumeric);
            places.extend(directories.iter().map(|&place| place.to_owned()));
        }
        let mark = if is_narrow { NAME } else { TREE };
        let below = |place: &String| format!("{}/{mark}", place.trim_end_matches('/'));
        let paths: Vec<String> =
            if places.is_empty() { vec![mark.to_string()] } else { places.iter().map(below).collect() };
        for path in paths {
            if at.is_none() {
                self.write(&format!("{path}\n"));
                continue;
            }
            let command = command.get(1..).unwrap_or(&[]);
            let mut words: Vec<String> = command.iter().map(|word| word.replace("{}", &path)).collect();
            if !command.iter().any(|word| word.contains("{}")) {
                words.push(path);
            }
            self.call(words);
        }
    }
}
