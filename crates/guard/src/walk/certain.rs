//! Commands whose outcome is certain, so that the commands that never run are not judged: `false && …`, `if [ no = yes ]`.
//! Lines behind `exit` are judged: no beginning of a script hides the rest of it.
//!
//! A wrong "never runs" is a hole, so doubt is the rule. The walk is certain only in bash, with every value of the test known,
//! and while nothing has happened that it does not follow exactly: text that is not known has run, an option or an alias
//! changes what words mean, a trap may come between, a loop has other rounds than those that the walk takes.
//!
//! Paths are compared as if no part of them were a symbolic link, as the rules do.

use crate::marks::{HOME, ONE, SET, STAR, START, has_mark, is_mark, is_vague};
use crate::pattern;
use crate::walk::files::normalized;
use crate::walk::{Flow, ScriptWalk};
use bashful_bash::ast::{CaseArm, ShellWord, WordPiece};

/// The outcome of commands, as far as it is certain.
#[derive(Debug, Default)]
pub(crate) struct Certainty {
    /// True if the last command has succeeded, false if it has failed.
    pub(super) status: Option<bool>,
    /// Something has happened that the walk does not follow exactly.
    is_lost: bool,
    /// The loops around the current command that have other rounds than the walk takes.
    inexact_loops: usize,
    /// A variable was read that may have another value.
    read_doubtful: bool,
}

impl Certainty {
    /// Gives certainty up for the rest of the script.
    pub(crate) fn lose(&mut self) {
        self.is_lost = true;
    }

    /// Notes that a variable was read that may have another value.
    pub(crate) fn note_doubtful(&mut self) {
        self.read_doubtful = true;
    }

    /// Forgets which variables were read so far; true if one of them may have another value.
    pub(super) fn take_doubtful(&mut self) -> bool {
        std::mem::take(&mut self.read_doubtful)
    }
}

impl ScriptWalk<'_> {
    /// True if the walk knows exactly what bash would do at this place.
    pub(super) fn is_certain(&self) -> bool {
        let shell = &self.world.shell;
        let certainty = &self.world.certainty;
        !certainty.is_lost
            && certainty.inexact_loops == 0
            // Earlier commands of a session may have changed the meaning of any word.
            && !self.world.prelude.persistent
            && !shell.outside.is_altered
            && shell.left.is_none()
            && shell.traps.is_empty()
            && shell.aliases.is_empty()
            && self.budget.is_detailed()
            // An unknown argument may be none or several.
            && !shell.arguments.iter().any(|argument| is_vague(argument))
    }

    /// The outcome of the last command, if it is certain.
    pub(super) fn certain_status(&self) -> Option<bool> {
        self.world.certainty.status.filter(|_| self.is_certain())
    }

    /// Runs a loop that bash may go through more or less often than the walk does.
    pub(super) fn run_inexactly(&mut self, inner: impl FnOnce(&mut Self) -> Flow) -> Flow {
        self.world.certainty.inexact_loops += 1;
        let loops = std::mem::take(&mut self.world.loops);
        let flow = inner(self);
        self.world.loops = loops;
        self.world.certainty.inexact_loops -= 1;
        // Variables that it sets may have values that the walk has not come to.
        self.world.shell.outside.is_altered = true;
        self.world.certainty.status = None;
        flow
    }

    /// Notes that arguments are read. Those of the script itself are certain if the caller decides about everything that it starts with.
    pub(crate) fn note_arguments_read(&mut self) {
        let shell = &self.world.shell;
        let is_own = shell.arguments.is_empty() && !shell.is_child && !self.is_in_function();
        if is_own && self.world.prelude.environment.is_none() {
            self.world.certainty.lose();
        }
    }

    pub(super) fn is_in_function(&self) -> bool {
        self.world.calls.iter().any(|open| !open.contains(' '))
    }

    /// The effect of `exit` and `return` on the commands behind them. `status` is the operand.
    pub(super) fn leave(&mut self, name: &str, status: Option<&String>) -> Flow {
        if let Some(number) = status {
            self.world.certainty.status = number.parse::<u8>().ok().map(|number| number == 0);
        }
        match name {
            // Outside of a function it is an error, and the script goes on.
            "return" if self.is_certain() && self.is_in_function() => Flow::Returns,
            "break" if self.is_certain() && self.world.loops > 0 => Flow::Breaks(levels(status)),
            "continue" if self.is_certain() && self.world.loops > 0 => Flow::Continues(levels(status)),
            "break" | "continue" => {
                self.world.shell.outside.is_altered = true;
                Flow::Leaves
            }
            _ => Flow::Leaves,
        }
    }

    /// The outcome of a command with these words; none if it is not certain.
    pub(super) fn outcome_of(&self, words: &[String]) -> Option<bool> {
        match words {
            [name, ..] if name == "true" || name == ":" => Some(true),
            [name, ..] if name == "false" => Some(false),
            [name, test @ .., last] if name == "[" && last == "]" => self.outcome_of_test(test),
            [name, test @ ..] if name == "test" => self.outcome_of_test(test),
            _ => None,
        }
    }

    fn outcome_of_test(&self, words: &[String]) -> Option<bool> {
        let texts: Vec<&str> = words.iter().map(String::as_str).collect();
        match texts.as_slice() {
            [] => Some(false),
            ["!", rest @ ..] if !rest.is_empty() => {
                let rest: Vec<String> = rest.iter().map(|&text| text.to_owned()).collect();
                self.outcome_of_test(&rest).map(|outcome| !outcome)
            }
            [text] => self.is_empty_text(text).map(|is_empty| !is_empty),
            ["-n", text] => self.is_empty_text(text).map(|is_empty| !is_empty),
            ["-z", text] => self.is_empty_text(text),
            [left, "=" | "==", right] => self.are_equal(left, right),
            [left, "!=", right] => self.are_equal(left, right).map(|equal| !equal),
            [left, sign, right] if compared(left, sign, right).is_some() => compared(left, sign, right),
            _ => None,
        }
    }

    /// The outcome of `[[ … ]]`.
    pub(super) fn outcome_of_words(&mut self, words: &[ShellWord]) -> Option<bool> {
        let runs = |word: &ShellWord| word.pieces.iter().any(WordPiece::has_substitution);
        if !self.is_certain() || words.iter().any(runs) {
            return None;
        }
        self.world.certainty.take_doubtful();
        let outcome = self.one_test(words);
        outcome.filter(|_| !self.world.certainty.take_doubtful())
    }

    fn one_test(&mut self, words: &[ShellWord]) -> Option<bool> {
        let is = |word: &ShellWord, sign: &str| word.plain() == Some(sign);
        match words {
            [sign, rest @ ..] if is(sign, "!") && !rest.is_empty() => self.one_test(rest).map(|outcome| !outcome),
            [word] => self.expanded(word).and_then(|text| self.is_empty_text(&text)).map(|is_empty| !is_empty),
            [sign, word] => {
                let wants_empty = match sign.plain()? {
                    "-z" => true,
                    "-n" => false,
                    _ => return None,
                };
                let text = self.expanded(word)?;
                self.is_empty_text(&text).map(|is_empty| is_empty == wants_empty)
            }
            [left, sign, right] => {
                let text = self.expanded(left)?;
                match sign.plain()? {
                    "=" | "==" => self.fits(&text, right),
                    "!=" => self.fits(&text, right).map(|fits| !fits),
                    sign => compared(&text, sign, &self.expanded(right)?),
                }
            }
            _ => None,
        }
    }

    /// The arm of a `case` that is taken, as a slice that is empty if there is none. No slice if that is not certain.
    pub(super) fn certain_arm<'a>(&mut self, text: &str, arms: &'a [CaseArm]) -> Option<&'a [CaseArm]> {
        if !self.is_certain() || is_vague(text) {
            return None;
        }
        let runs = |word: &ShellWord| word.pieces.iter().any(WordPiece::has_substitution);
        for (at, CaseArm { patterns, falls_through, .. }) in arms.iter().enumerate() {
            if *falls_through || patterns.iter().any(runs) {
                return None;
            }
            for pattern in patterns {
                let fits = self.fits(text, pattern)?;
                if self.world.certainty.take_doubtful() {
                    return None;
                }
                if fits {
                    return arms.get(at..=at);
                }
            }
        }
        Some(&[])
    }

    fn expanded(&mut self, word: &ShellWord) -> Option<String> {
        let text = self.expand_text(word);
        (!is_vague(&text)).then_some(text)
    }

    /// True if a text fits a pattern; none if that is not certain.
    pub(super) fn fits(&mut self, text: &str, pattern: &ShellWord) -> Option<bool> {
        if pattern.pieces.iter().any(|piece| matches!(piece, WordPiece::Extended { .. })) {
            return None;
        }
        let pattern = self.expand_pattern(pattern);
        let (text, pattern) = without_same_root(text, &pattern);
        let is_alive = |letter: char| matches!(letter, STAR | ONE | SET);
        if !pattern.contains(is_alive) {
            return self.are_equal(text, pattern);
        }
        // `@(a|b)` and its like.
        if pattern.contains(['(', '|']) {
            return None;
        }
        // The live letters are no directories, so they stay as they are.
        let literal: String = pattern.chars().filter(|letter| !is_alive(*letter)).collect();
        self.spelled_out(&literal)?;
        Some(pattern::matches(&self.world.concrete(pattern), &self.spelled_out(text)?))
    }

    fn is_empty_text(&self, text: &str) -> Option<bool> {
        if text.is_empty() { Some(true) } else { self.spelled_out(text).map(|text| text.is_empty()) }
    }

    /// True if two texts are the same; none if that is not certain.
    fn are_equal(&self, left: &str, right: &str) -> Option<bool> {
        let (left, right) = without_same_root(left, right);
        Some(self.spelled_out(left)? == self.spelled_out(right)?)
    }

    /// The text with the directories that it names; none if one of its letters is not known.
    fn spelled_out(&self, text: &str) -> Option<String> {
        if !has_mark(text) {
            return Some(text.to_owned());
        }
        let prelude = self.world.prelude;
        let is_known = |letter: char| match letter {
            HOME => prelude.home.is_some(),
            START => prelude.directory.is_some() && prelude.real_directory.is_none(),
            other => !is_mark(other),
        };
        text.chars().all(is_known).then(|| normalized(&self.world.concrete(text)))
    }
}

/// The number of loops that `break` and `continue` are about.
fn levels(operand: Option<&String>) -> u8 {
    operand.and_then(|text| text.parse::<u8>().ok()).unwrap_or(1).max(1)
}

impl Flow {
    /// The flow behind a loop, if a round of it with this flow was the last one.
    pub(super) fn out_of_loop(self) -> Option<Self> {
        match self {
            Self::Breaks(levels) if levels > 1 => Some(Self::Breaks(levels - 1)),
            Self::Continues(levels) if levels > 1 => Some(Self::Continues(levels - 1)),
            Self::Breaks(_) => Some(Self::Next),
            Self::Returns => Some(self),
            Self::Next | Self::Leaves | Self::Continues(_) => None,
        }
    }
}

/// Two paths without the directory that both begin with: whatever that is, it makes no difference.
fn without_same_root<'t>(left: &'t str, right: &'t str) -> (&'t str, &'t str) {
    let below = |text: &'t str| {
        let root = text.chars().next().filter(|letter| matches!(*letter, HOME | START))?;
        let rest = text.get(root.len_utf8()..)?;
        // Going up from it, the directory does make a difference.
        (rest.is_empty() || rest.starts_with('/') && !rest.contains("..")).then_some((root, rest))
    };
    match (below(left), below(right)) {
        (Some((root, left)), Some((other, right))) if root == other => (left, right),
        _ => (left, right),
    }
}

/// The outcome of a comparison of two numbers.
fn compared(left: &str, sign: &str, right: &str) -> Option<bool> {
    let number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        // Zeros in front make other numbers of them.
        let is_plain = digits == "0" || !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i64>().ok().filter(|_| is_plain)
    };
    let (left, right) = (number(left)?, number(right)?);
    Some(match sign {
        "-eq" => left == right,
        "-ne" => left != right,
        "-lt" => left < right,
        "-le" => left <= right,
        "-gt" => left > right,
        "-ge" => left >= right,
        _ => return None,
    })
}
