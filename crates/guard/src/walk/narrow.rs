//! Tests narrow the values of a variable: `[ "$d" = / ] && exit` leaves every other value.
//!
//! Only comparisons of one variable with a literal text, `-n`, `-z` and a variable alone are understood. They take a value away; a variable that
//! had no other has some other value then.

use crate::marks::{alive, is_wild};
use crate::walk::ScriptWalk;
use crate::walk::state::ShellValue;
use bashful_bash::ast::{Compound, List, Param, ParamChange, Pipeline, ShellCommand, ShellWord, WordPiece};

/// A comparison of a variable with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comparison {
    name: String,
    text: String,
    /// True if the test succeeds where they are equal.
    pub(super) is_equal: bool,
    /// `[[ … ]]`: the text is a pattern.
    is_pattern: bool,
    /// The test may fail for another reason.
    is_partial: bool,
}

impl Comparison {
    /// The comparison that is all that a list does.
    pub(super) fn of_list(list: &List) -> Option<Self> {
        match list.items.as_slice() {
            [item] if item.rest.is_empty() => Self::of(&item.first),
            _ => None,
        }
    }

    /// The comparison that a pipeline is.
    pub(super) fn of(pipeline: &Pipeline) -> Option<Self> {
        let [stage] = pipeline.stages.as_slice() else { return None };
        let is_pattern = matches!(stage, ShellCommand::Compound { .. });
        let words: &[ShellWord] = match stage {
            ShellCommand::Simple(simple) => match simple.words.split_first()? {
                (first, [words @ .., last]) if first.plain() == Some("[") && last.plain() == Some("]") => words,
                (first, words) if first.plain() == Some("test") => words,
                _ => return None,
            },
            ShellCommand::Compound { body, .. } => match body.as_ref() {
                Compound::Test(words) => words,
                _ => return None,
            },
            ShellCommand::Function { .. } => return None,
        };
        let is_sign = |word: &ShellWord, signs: &[&str]| word.plain().is_some_and(|text| signs.contains(&text));
        if !words.iter().any(|word| is_sign(word, &["&&"])) {
            return Self::of_words(words, pipeline.prefixed, is_pattern);
        }
        // Where `[[ a && b ]]` succeeds, both have; where it fails, either may have.
        if pipeline.prefixed || words.iter().any(|word| is_sign(word, &["||", "(", ")", "!"])) {
            return None;
        }
        let parts = words.split(|word| is_sign(word, &["&&"]));
        let mut found: Vec<Self> = parts.filter_map(|part| Self::of_words(part, false, is_pattern)).collect();
        // A comparison says more than a look at a file.
        found.sort_by_key(|found| found.is_partial);
        let found = found.into_iter().next()?;
        Some(Self { is_partial: true, ..found })
    }

    /// The comparison that these words of a test are.
    fn of_words(words: &[ShellWord], is_negated: bool, is_pattern: bool) -> Option<Self> {
        // `[ "$x" ]`
        if let [word] = words {
            return Some(Self {
                name: variable(word)?.to_owned(),
                text: String::new(),
                is_equal: is_negated,
                is_pattern: false,
                is_partial: false,
            });
        }
        if let [sign, word] = words {
            let (is_equal, is_partial) = match sign.plain()? {
                "-z" => (true, false),
                "-n" => (false, false),
                // A file has a name.
                "-d" | "-e" | "-f" | "-r" | "-w" | "-x" | "-s" | "-L" | "-h" => (false, true),
                _ => return None,
            };
            if is_partial && is_negated {
                return None;
            }
            let name = variable(word)?.to_owned();
            return Some(Self { name, text: String::new(), is_equal: is_equal != is_negated, is_pattern, is_partial });
        }
        let [left, sign, right] = words else { return None };
        let is_equal = match sign.plain()? {
            "=" | "==" => true,
            "!=" => false,
            _ => return None,
        };
        let (name, text) = match (variable(left), variable(right)) {
            (Some(name), None) => (name, right.literal()?),
            (None, Some(name)) => (name, left.literal()?),
            _ => return None,
        };
        Some(Self { name: name.to_owned(), text, is_equal: is_equal != is_negated, is_pattern, is_partial: false })
    }
}

/// The variable that is all that a word is.
fn variable(word: &ShellWord) -> Option<&str> {
    let [piece] = word.pieces.as_slice() else { return None };
    let param: &Param = match piece {
        WordPiece::Param(param) => param,
        WordPiece::Double(inner) => match inner.as_slice() {
            [WordPiece::Param(param)] => param,
            _ => return None,
        },
        _ => return None,
    };
    let is_plain =
        param.index.is_none() && !param.indirect && !param.length && matches!(param.change, ParamChange::None);
    is_plain.then_some(param.name.as_str())
}

impl ScriptWalk<'_> {
    /// Narrows a name out of a listing down to the names that a test lets pass: `[[ $f == *.tmp ]] && …`.
    pub(super) fn narrow_to(&mut self, comparison: Option<&Comparison>, when_equal: bool) {
        let Some(Comparison { name, text, is_equal, is_pattern, .. }) = comparison else { return };
        if *is_equal != when_equal {
            return;
        }
        let is_listed = |text: &str| text.contains(is_wild);
        if self.world.shell.variable(name).is_some_and(|variable| variable.value.scalar().is_some_and(is_listed)) {
            let text = if *is_pattern { alive(text) } else { text.clone() };
            self.world.shell.set(name, ShellValue::Scalar(text), None);
        }
    }

    /// Notes the variables that a test reads.
    pub(super) fn note_tested(&mut self, words: &[ShellWord]) {
        for word in words {
            self.note_tested_pieces(&word.pieces);
        }
    }

    fn note_tested_pieces(&mut self, pieces: &[WordPiece]) {
        for piece in pieces {
            match piece {
                WordPiece::Param(param) => self.world.shell.outside.note_test(&param.name),
                WordPiece::Double(inner) => self.note_tested_pieces(inner),
                _ => {}
            }
        }
    }

    /// Takes a value away that a test has ruled out.
    pub(super) fn rule_out(&mut self, comparison: Option<&Comparison>, when_equal: bool) {
        if let Some(Comparison { name, text, is_equal, is_partial, .. }) = comparison
            && *is_equal == when_equal
            // The test has failed where an equal value is ruled out.
            && !(*is_partial && when_equal)
        {
            self.world.shell.rule_out(name, text);
        }
    }
}
