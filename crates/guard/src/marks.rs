//! The alphabet of the guard's text: ordinary characters, and marks for text that is not known letter by letter.
//!
//! A value in the interpreter is a `String` over this alphabet. `"$HOME"/*` is the mark for the home directory, a slash
//! and the mark for a star that matches files. Concatenation, splitting, and even parsing (`bash -c "rm -rf $HOME"`) work
//! on it without knowing about marks, because to all of them a mark is one more letter.
//!
//! Invariant: no mark comes from a script. [`without_marks`] sees to it before anything is parsed. All marks are four
//! bytes long, and so is the stand-in for them, so that spans stay true.

use std::borrow::Cow;

/// The home directory, spelled in a way that means it (`~`, `$HOME`).
pub(crate) const HOME: char = '\u{10F000}';
/// The directory in which the script starts.
pub(crate) const START: char = '\u{10F001}';
/// The top of the repository.
pub(crate) const REPO: char = '\u{10F002}';
/// Text that nothing is known about, possibly empty.
pub(crate) const UNKNOWN: char = '\u{10F003}';
/// Text that nothing is known about, except that it is not empty.
pub(crate) const SOME: char = '\u{10F004}';
/// A `*` that matches file names.
pub(crate) const STAR: char = '\u{10F005}';
/// A `?` that matches one character of file names.
pub(crate) const ONE: char = '\u{10F006}';
/// A `[` that opens a set of characters of file names.
pub(crate) const SET: char = '\u{10F007}';
/// Everything below a directory, at any depth, as `find` lists it.
pub(crate) const TREE: char = '\u{10F008}';
/// Names from a listing of some other directory.
pub(crate) const NAME: char = '\u{10F009}';

/// The process that has started the script: `$PPID`.
pub(crate) const PARENT: char = '\u{10F00A}';

/// Every file that is new to git.
pub(crate) const FRESH: char = '\u{10F00B}';

/// Behind unknown text: it was made of the script's own text alone. See [`crate::walk::ScriptWalk`].
pub(crate) const MADE: char = '\u{10F00C}';

/// Behind unknown text: the text of the script that it was made of, by number. See [`crate::walk`].
pub(crate) const FIRST_SOURCE: char = '\u{10F010}';
pub(crate) const LAST_SOURCE: char = '\u{10F01F}';

/// The stand-in for a mark that a script contains: as long, and never a mark.
const STAND_IN: &str = "\u{10FFFD}";

/// True if this is a mark.
pub(crate) fn is_mark(letter: char) -> bool {
    bashful_bash::MARKS.contains(&letter)
}

/// True if the text may have a mark. Every mark begins with the same byte, which is rare in other text and quick to find.
pub(crate) fn has_mark(text: &str) -> bool {
    const FIRST_BYTE: u8 = 0xF4;
    text.as_bytes().contains(&FIRST_BYTE)
}

/// True if this mark says what unknown text was made of.
pub(crate) fn is_source(letter: char) -> bool {
    (FIRST_SOURCE..=LAST_SOURCE).contains(&letter)
}

/// True if this mark stands for more than one file name.
pub(crate) fn is_wild(letter: char) -> bool {
    matches!(letter, STAR | ONE | SET | TREE)
}

/// True if the text has something that is not known letter by letter.
pub(crate) fn is_vague(text: &str) -> bool {
    has_mark(text) && text.contains([UNKNOWN, SOME, NAME])
}

/// A pattern of the shell's kind in a text that no shell has expanded, as a pattern.
pub(crate) fn alive(text: &str) -> String {
    text.chars()
        .map(|letter| match letter {
            '*' => STAR,
            '?' => ONE,
            '[' if text.contains(']') => SET,
            other => other,
        })
        .collect()
}

/// The script, without anything that could be taken for a mark.
pub(crate) fn without_marks(script: &str) -> Cow<'_, str> {
    if has_mark(script) && script.contains(is_mark) {
        Cow::Owned(script.replace(is_mark, STAND_IN))
    } else {
        Cow::Borrowed(script)
    }
}

/// The text as a person would read it.
pub(crate) fn readable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            HOME => out.push('~'),
            START => out.push_str("$PWD"),
            REPO => out.push_str("<repository>"),
            UNKNOWN | SOME => out.push_str("<unknown>"),
            STAR => out.push('*'),
            ONE => out.push('?'),
            SET => out.push('['),
            TREE => out.push_str("<everything below>"),
            NAME => out.push_str("<names>"),
            FRESH => out.push_str("<new files>"),
            PARENT => out.push_str("$PPID"),
            MADE => {}
            source if is_source(source) => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_cannot_smuggle_in_a_mark() {
        let script = format!("rm -rf {HOME}{STAR} ü");
        let cleaned = without_marks(&script);
        assert!(!cleaned.contains(is_mark));
        assert_eq!(cleaned.len(), script.len(), "spans stay true");
        assert!(bashful_bash::MARKS.into_iter().all(|mark| has_mark(&mark.to_string())));
    }
}
