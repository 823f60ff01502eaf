//! Values that stand out: those that the rules may be about, if a command gets them.
//!
//! A walk that cannot follow every way follows those with such values. The answer decides nothing else.

use crate::marks::{HOME, REPO, START, TREE, has_mark, is_wild};
use crate::rules::is_system_directory;
use crate::walk::state::ShellValue;

/// Words that commands and options of the rules are made of.
const WORDS: [&str; 20] = [
    "rm", "git", "add", "push", "stage", "find", "xargs", "eval", "bash", "sh", "sudo", "env", "force", "mirror",
    "all", "delete", "dd", "mkfs", "chmod", "kill",
];

/// Options that the rules are about.
const FLAGS: [&str; 14] = [
    "-r",
    "-R",
    "-f",
    "-rf",
    "-fr",
    "-A",
    "-delete",
    "--all",
    "--force",
    "--mirror",
    "--recursive",
    "-exec",
    "-9",
    "-1",
];

/// The part of a text that is looked at, in bytes. Paths and options are shorter; longer texts are messages and files.
const LONGEST: usize = 256;

/// Rates a text from 0 (most texts) to 3 (a path that a rule is about).
pub(super) fn interest(text: &str) -> u8 {
    let text = match text.char_indices().nth(LONGEST) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    };
    let path = text.trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or("");
    if matches!(path, "" | "." | ".." | ".git" | "*") && !text.is_empty() || is_system_directory(last) {
        return 3;
    }
    let marks_place = has_mark(text) && (text.contains([HOME, START, REPO, TREE]) || text.contains(is_wild));
    if marks_place || last == ".git" || last == ".." {
        return 3;
    }
    if FLAGS.contains(&text)
        || text.starts_with(['+', ':'])
        || text.bytes().any(|byte| matches!(byte, b'\n' | b';' | b'|' | b'&' | b'`' | b'$' | b'('))
        || WORDS.contains(&text)
    {
        return 2;
    }
    u8::from(text.starts_with('-') || text.split_ascii_whitespace().any(|word| WORDS.contains(&word)))
}

/// Rates a value by its text, or by the element that stands out most.
pub(super) fn interest_of(value: &ShellValue) -> u8 {
    match value {
        ShellValue::Unset => 0,
        ShellValue::Scalar(text) => interest(text),
        ShellValue::Array(items) => items.values().map(|item| interest(item)).max().unwrap_or(0),
        ShellValue::Table(items) => items.values().map(|item| interest(item)).max().unwrap_or(0),
    }
}
