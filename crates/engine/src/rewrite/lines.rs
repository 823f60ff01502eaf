//! Turns a trailing `| head` or `| tail` into a limit on the shown lines.

use std::num::NonZeroU64;

use bashful_bash::{Outline, PlainWord};

use super::{ScriptEdit, apply, quotable};
use crate::request::{Lines, Script, ScriptError};

/// Default number of lines of `head` and `tail`.
const USUAL: NonZeroU64 = NonZeroU64::new(10).expect("ten is not zero");

/// Variables that show if a command is part of a pipeline.
const REVEALING_VARIABLES: [&str; 2] = ["BASH_SUBSHELL", "BASHPID"];

/// A trailing `head` or `tail`.
#[derive(Debug)]
pub(super) struct TrailingFilter {
    pub(super) lines: Lines,
    /// Text of the filter, for a notice.
    pub(super) quote: String,
    edit: ScriptEdit,
}

/// Finds the `head` or `tail` that a script ends in, if the script is one pipeline.
pub(super) fn trailing((script, outline): (&str, &Outline<'_>)) -> Option<TrailingFilter> {
    if REVEALING_VARIABLES.iter().any(|name| script.contains(name)) {
        return None;
    }
    let last = outline.last_stage()?;
    let lines = lines(&last.words)?;
    let quote = quotable(script.get(last.range.clone())?);
    // `|&` is `2>&1 |`, after all other redirections.
    let text = if last.both { b" 2>&1".to_vec() } else { Vec::new() };
    Some(TrailingFilter { lines, quote, edit: ScriptEdit { range: last.range, text } })
}

impl TrailingFilter {
    /// The script without it.
    pub(super) fn rest(&self, script: &Script) -> Result<Script, ScriptError> {
        Script::new(apply(script.as_bytes(), std::slice::from_ref(&self.edit)))
    }
}

/// Lines that `head` or `tail` with these arguments pass on.
fn lines(words: &[PlainWord]) -> Option<Lines> {
    if words.iter().any(|word| word.tilde) {
        return None;
    }
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let (name, arguments) = words.split_first()?;
    let count = match arguments {
        [] => USUAL,
        ["-n" | "--lines", count] => number(count)?,
        [one] => number(one.strip_prefix("--lines=").or(one.strip_prefix("-n")).or(one.strip_prefix('-'))?)?,
        _ => return None,
    };
    match *name {
        "head" => Some(Lines::First(count)),
        "tail" => Some(Lines::Last(count)),
        _ => None,
    }
}

/// A number without a sign or a unit.
fn number(text: &str) -> Option<NonZeroU64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(script: &str) -> Option<(Lines, String)> {
        let taken = trailing((script, &Outline::of(script)?))?;
        let rest = taken.rest(&Script::new(script).expect("a script")).expect("a script");
        Some((taken.lines, String::from_utf8(rest.as_bytes().to_vec()).expect("text")))
    }

    #[test]
    fn every_way_to_say_how_many_is_known() {
        let first = |count| Lines::First(NonZeroU64::new(count).expect("not zero"));
        let last = |count| Lines::Last(NonZeroU64::new(count).expect("not zero"));
        for (script, lines) in [
            ("a | head -n 5", first(5)),
            ("a | head -5", first(5)),
            ("a | head -n5", first(5)),
            ("a | head --lines=5", first(5)),
            ("a | head --lines 5", first(5)),
            ("a | head", first(10)),
            ("a | head \"-n\" '007'", first(7)),
            ("a | tail -n 3", last(3)),
            ("a | tail -3", last(3)),
            ("a | tail", last(10)),
        ] {
            assert_eq!(taken(script), Some((lines, "a ".to_owned())), "{script}");
        }
        assert_eq!(taken("a > f |& tail -1"), Some((last(1), "a > f  2>&1".to_owned())));
    }

    #[test]
    fn what_means_something_else_is_left_alone() {
        for script in [
            "a | head -n 0",
            "a | head -n -5",
            "a | tail -n +5",
            "a | tail -f",
            "a | head -c 5",
            "a | head -n 5k",
            "a | head -5q",
            "a | head file",
            "a | head -n 5 file",
            "a | head -n",
            "a | head -",
            "a | head ''",
            "a | head -n 99999999999999999999",
            "a | headless -5",
            "a | ~/head -5",
        ] {
            assert_eq!(taken(script), None, "{script}");
        }
    }
}
