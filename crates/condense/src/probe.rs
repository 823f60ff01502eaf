//! Lines that a rule must not name: a rule that does would leave out an error, or lines that nobody has recognized.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::alarm;

/// Lines that say nothing about their tool.
const PLAIN: [&str; 8] = [
    "",
    "src/main.c:12:5: note",
    "something that no tool says",
    "as expected, it works",
    "info: it is done",
    "Done.",
    "  something below a heading",
    "name: a value of it",
];

/// Words that begin the message of an error or a warning.
const WORDS: [&str; 12] = [
    "error",
    "Error",
    "ERROR",
    "fatal",
    "FATAL",
    "failed",
    "FAILED",
    "warning",
    "WARNING",
    "panic",
    "CRITICAL",
    "ValueError",
];

/// Lines with such a word in the places where tools write it; `@` stands for the word.
const FORMS: [&str; 9] = [
    "@",
    "@: it broke",
    "@ it broke",
    "@: it broke: ok",
    "[@] it broke",
    "  @: it broke",
    "tool: @: it broke",
    "2026-11-16 10:39:03 @ it broke",
    "src/main.c:12:5: @: it broke",
];

/// Samples of one expression. More would be those of an expression that nobody can read.
const MOST_SAMPLES: usize = 64;

/// A line that must stay, and that the rule of these expressions names. Each branch of an expression is looked at: one of
/// many may be about errors.
pub(crate) fn line_that_must_stay<'t>(
    expressions: impl Iterator<Item = &'t str>,
    is_named: impl Fn(&str) -> bool,
) -> Option<String> {
    let plain = PLAIN.iter().map(|line| (*line).to_owned());
    let messages = WORDS.iter().flat_map(|word| FORMS.iter().map(move |form| form.replace('@', word)));
    if let Some(line) = plain.chain(messages).find(|line| is_named(line)) {
        return Some(line);
    }
    let samples = expressions.filter_map(parse).flat_map(|expression| samples(&expression));
    samples.map(|sample| String::from_utf8_lossy(&sample).into_owned()).find(|sample| alarm::is_alarming(sample))
}

fn parse(expression: &str) -> Option<Hir> {
    let parse = |unicode| ParserBuilder::new().unicode(unicode).utf8(false).build().parse(expression).ok();
    parse(false).or_else(|| parse(true))
}

/// Texts that the expression fits, one for each branch.
fn samples(expression: &Hir) -> Vec<Vec<u8>> {
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => vec![Vec::new()],
        HirKind::Literal(literal) => vec![literal.0.to_vec()],
        HirKind::Class(class) => vec![letter(class)],
        // A part that may be missing is looked at as well.
        HirKind::Repetition(repetition) => {
            let times = usize::try_from(repetition.min.clamp(1, 8)).unwrap_or(1);
            samples(&repetition.sub).into_iter().map(|sample| sample.repeat(times)).collect()
        }
        HirKind::Capture(capture) => samples(&capture.sub),
        HirKind::Alternation(branches) => branches.iter().flat_map(samples).take(MOST_SAMPLES).collect(),
        HirKind::Concat(parts) => parts.iter().map(samples).fold(vec![Vec::new()], |starts, ends| {
            // Every branch is there once, without every combination of branches.
            let count = starts.len().max(ends.len());
            let both = starts.iter().cycle().zip(ends.iter().cycle()).take(count);
            both.map(|(start, end)| [start.as_slice(), end].concat()).collect()
        }),
    }
}

/// A letter of the class that is no part of a word of warning.
fn letter(class: &Class) -> Vec<u8> {
    let has = |wanted: u8| match class {
        Class::Unicode(class) => {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&wanted.into()))
        }
        Class::Bytes(class) => class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&wanted)),
    };
    if let Some(found) = [b'x', b'1', b' '].into_iter().find(|wanted| has(*wanted)) {
        return vec![found];
    }
    match class {
        Class::Unicode(class) => class.ranges().first().map(|range| range.start().to_string().into_bytes()),
        Class::Bytes(class) => class.ranges().first().map(|range| vec![range.start()]),
    }
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, expected: Option<&str>) {
        let rule = regex::Regex::new(&format!("^(?:{expression})$")).expect("it is one");
        let found = line_that_must_stay(std::iter::once(expression), |line| rule.is_match(line));
        assert_eq!(found.as_deref(), expected, "{expression}");
    }

    #[test]
    fn errors_are_found_in_every_branch() {
        check(r"^uploaded \S+$", None);
        check("^ERROR .*$", Some("ERROR it broke"));
        check(r"^(uploaded \S+|upload of \S+ failed)$", Some("upload of x failed"));
        check(r"^uploaded \S+( with \d+ errors?)?$", Some("uploaded x with 1 errors"));
        check(r"^(?i:fatal) in line \d+$", Some("FATAL in line 1"));
        check(r"^\d+ ok, 0 errors$", None);
        check("^.*$", Some(""));
        check(r"^\S+ .*$", Some("src/main.c:12:5: note"));
        check(r"^ +\S.*$", Some("  something below a heading"));
    }
}
