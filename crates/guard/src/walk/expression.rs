//! Regular expressions of `grep`, `sed`, `expr` and bash: POSIX basic and extended ones with the extensions of GNU.
//!
//! They are translated for the crate `regex`, and for `fancy-regex` if a back-reference needs it. POSIX wants the longest of the
//! leftmost matches, so an expression with alternatives is tried for longer matches.
//!
//! Invariant: an expression that is not understood is none, and a search that takes too long has no result.

mod translate;

pub(super) use translate::sed_escape;

use std::ops::Range;
use std::rc::Rc;

use regex::{Regex, RegexBuilder};

use crate::walk::ScriptWalk;
use crate::walk::budget::WalkBudget;

/// The largest compiled expression, in bytes. Larger ones leave the text unknown.
const LARGEST_EXPRESSION: usize = 1 << 18;

/// The longest expression, in bytes. Making one takes time by its length.
const LONGEST_EXPRESSION: usize = 4 << 10;

/// The most steps back of an expression with back-references, and the work of one search with it.
const MOST_STEPS_BACK: usize = 4_000;
const BACKTRACKING_WORK: usize = 64;

/// The notation of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Notation {
    Basic,
    Extended,
    /// Every letter stands for itself.
    Fixed,
    Perl,
}

/// The part of a line that has to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Extent {
    Anything,
    /// `grep -w`
    Word,
    /// `grep -x`
    Line,
    /// `expr text : pattern`
    Start,
}

/// Everything that an expression is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Flavor {
    pub(super) notation: Notation,
    pub(super) ignore_case: bool,
    /// `^` and `$` are the ends of every line.
    pub(super) multi_line: bool,
    /// `\n` and `\t` mean what they mean in `sed`.
    pub(super) escapes: bool,
    pub(super) extent: Extent,
}

impl Flavor {
    /// Expressions of this notation, with nothing special.
    pub(super) fn of(notation: Notation) -> Self {
        Self { notation, ignore_case: false, multi_line: false, escapes: false, extent: Extent::Anything }
    }
}

#[derive(Debug, Clone)]
enum Engine {
    Plain(Regex),
    Backtracking(Box<fancy_regex::Regex>),
}

/// An expression that is ready for use.
#[derive(Debug, Clone)]
pub(super) struct Expression {
    engine: Engine,
    /// The expression for a whole text, if there may be longer matches than the first one.
    whole: Option<Regex>,
}

/// The places of a match and of its groups.
pub(super) type Groups = Vec<Option<Range<usize>>>;

/// A search that has no result, because it took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unfinished;

impl Expression {
    /// Makes an expression; none if it is not understood.
    pub(super) fn new(text: &str, flavor: Flavor) -> Option<Self> {
        let translated = translate::translated(text, flavor)?;
        let body = match flavor.extent {
            Extent::Anything => translated.text.clone(),
            Extent::Word => format!(r"\b{{start-half}}(?:{})\b{{end-half}}", translated.text),
            Extent::Line => format!("^(?:{})$", translated.text),
            Extent::Start => format!(r"\A(?:{})", translated.text),
        };
        let build = |text: &str| {
            RegexBuilder::new(text)
                .case_insensitive(flavor.ignore_case)
                .multi_line(flavor.multi_line)
                .dot_matches_new_line(flavor.notation != Notation::Perl)
                .size_limit(LARGEST_EXPRESSION)
                .build()
                .ok()
        };
        let plain = if translated.has_references { None } else { build(&body) };
        let engine = match plain {
            Some(plain) => Engine::Plain(plain),
            None if translated.has_references || flavor.notation == Notation::Perl => {
                let flags = format!(
                    "(?{}{}{})",
                    if flavor.notation == Notation::Perl { "" } else { "s" },
                    if flavor.ignore_case { "i" } else { "" },
                    if flavor.multi_line { "m" } else { "" }
                );
                let body = if flags == "(?)" { body } else { format!("{flags}{body}") };
                let made = fancy_regex::RegexBuilder::new(&body)
                    .backtrack_limit(MOST_STEPS_BACK)
                    .delegate_size_limit(LARGEST_EXPRESSION)
                    .build();
                Engine::Backtracking(Box::new(made.ok()?))
            }
            None => return None,
        };
        let is_free = !translated.has_edges && matches!(flavor.extent, Extent::Anything | Extent::Start);
        let may_be_longer = translated.has_alternatives && is_free && matches!(engine, Engine::Plain(_));
        let whole = if may_be_longer { build(&format!(r"\A(?:{})\z", translated.text)) } else { None };
        Some(Self { engine, whole })
    }

    /// The expression of the crate `regex`, if it needs no more than that.
    pub(super) fn plain(&self) -> Option<&Regex> {
        match &self.engine {
            Engine::Plain(regex) => Some(regex),
            Engine::Backtracking(_) => None,
        }
    }

    /// True if the text has a match.
    pub(super) fn is_match(&self, text: &str, budget: &mut WalkBudget) -> Result<bool, Unfinished> {
        match &self.engine {
            Engine::Plain(regex) => budget.work(1 + text.len() / 128).then(|| regex.is_match(text)).ok_or(Unfinished),
            Engine::Backtracking(regex) => {
                let is_allowed = budget.work(BACKTRACKING_WORK + text.len() / 32);
                is_allowed.then(|| regex.is_match(text).ok()).flatten().ok_or(Unfinished)
            }
        }
    }

    /// The first match that begins at `from` or behind it.
    pub(super) fn find_at(
        &self,
        text: &str,
        from: usize,
        budget: &mut WalkBudget,
    ) -> Result<Option<Groups>, Unfinished> {
        if !text.is_char_boundary(from) {
            return Err(Unfinished);
        }
        let groups: Option<Groups> = match &self.engine {
            Engine::Plain(regex) => regex
                .captures_at(text, from)
                .map(|found| found.iter().map(|group| group.map(|group| group.range())).collect()),
            Engine::Backtracking(regex) => {
                if !budget.work(BACKTRACKING_WORK + text.len() / 32) {
                    return Err(Unfinished);
                }
                let found = regex.captures_from_pos(text, from).map_err(|_| Unfinished)?;
                found.map(|found| found.iter().map(|group| group.map(|group| group.start()..group.end())).collect())
            }
        };
        // The work is that of reading up to the end of the match.
        let end = groups.as_ref().and_then(|groups| groups.first()?.as_ref()).map_or(text.len(), |range| range.end);
        if !budget.work(1 + end.saturating_sub(from) / 64) {
            return Err(Unfinished);
        }
        groups.map(|groups| self.longest(text, groups, budget)).transpose()
    }

    /// The longest match at the place of this one.
    fn longest(&self, text: &str, groups: Groups, budget: &mut WalkBudget) -> Result<Groups, Unfinished> {
        let (Some(whole), Some(Some(first))) = (&self.whole, groups.first()) else { return Ok(groups) };
        let (start, end) = (first.start, first.end);
        if !budget.work((text.len() - end) / 4) {
            return Err(Unfinished);
        }
        let mut ends = (end + 1..=text.len()).rev().filter(|end| text.is_char_boundary(*end));
        let longer = ends.find_map(|end| whole.captures(text.get(start..end)?));
        let moved = |group: regex::Match<'_>| group.start() + start..group.end() + start;
        Ok(longer.map_or(groups, |found| found.iter().map(|group| group.map(moved)).collect()))
    }
}

impl ScriptWalk<'_> {
    /// An expression of the kind that bash matches with `=~`.
    pub(super) fn expression(&mut self, text: &str, ignore_case: bool) -> Option<Regex> {
        self.budget.begin_filter();
        let flavor = Flavor { ignore_case, ..Flavor::of(Notation::Extended) };
        self.expression_of(text, flavor)?.plain().cloned()
    }

    /// An expression. Scripts use the same ones over and over, and making one takes longer than using it.
    pub(super) fn expression_of(&mut self, text: &str, flavor: Flavor) -> Option<Rc<Expression>> {
        let key = (text.to_owned(), flavor);
        if let Some(known) = self.world.expressions.get(&key) {
            return known.clone();
        }
        self.budget.spend(4);
        if text.len() > LONGEST_EXPRESSION || !self.budget.work(16 + text.len()) {
            return None;
        }
        let made = Expression::new(text, flavor).map(Rc::new);
        self.world.expressions.insert(key, made.clone());
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first match and its groups, joined by bars.
    fn found(notation: Notation, pattern: &str, text: &str) -> Option<String> {
        let expression = Expression::new(pattern, Flavor::of(notation))?;
        let groups = expression.find_at(text, 0, &mut WalkBudget::for_text(0)).expect("it is short")?;
        let shown = groups.into_iter().map(|group| group.and_then(|group| text.get(group)).unwrap_or("").to_owned());
        Some(shown.collect::<Vec<_>>().join("|"))
    }

    #[test]
    fn basic_expressions_mean_what_posix_says() {
        for (pattern, text, expected) in [
            ("a+", "aa+", Some("a+")),
            ("a\\+", "aa+", Some("aa")),
            ("\\(a\\)\\(b\\)", "ab", Some("ab|a|b")),
            ("(a)", "x(a)", Some("(a)")),
            ("*a", "b*a", Some("*a")),
            ("\\(*a\\)", "*a", Some("*a|*a")),
            ("^*a", "*a", Some("*a")),
            ("a^b$c", "a^b$c", Some("a^b$c")),
            ("a\\{2\\}", "aaa", Some("aa")),
            ("a{2}", "aa{2}", Some("a{2}")),
            ("[]a]*", "]a]b", Some("]a]")),
            ("[^]a]", "]ab", Some("b")),
            ("[[:digit:]x-z]*", "1xz2a", Some("1xz2")),
            ("[\\.]", "\\", Some("\\")),
            ("\\(.\\)\\1", "abba", Some("bb|b")),
            ("x\\|y", "zy", Some("y")),
            ("\\<b\\w*\\>", "ab bc", Some("bc")),
            ("a\\?b", "ab", Some("ab")),
            ("a**", "aaa", Some("aaa")),
            (".", "\u{fc}", Some("\u{fc}")),
            ("\\.", "a.b", Some(".")),
            ("a|b", "xa|b", Some("a|b")),
            ("a\\{,2\\}", "aaa", Some("aa")),
        ] {
            assert_eq!(found(Notation::Basic, pattern, text).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn extended_expressions_find_the_longest_match() {
        for (pattern, text, expected) in [
            ("a|ab", "xabc", Some("ab")),
            ("(a|ab)(c|bcd)", "abcd", Some("abcd|a|bcd")),
            ("a+?", "aab", Some("aa")),
            ("(a+){2}", "aa", Some("aa|a")),
            ("^(rm|git)$", "git", Some("git|git")),
            ("a{1,2}", "aaa", Some("aa")),
            ("a{x", "a{x", Some("a{x")),
            ("\\(a\\)", "(a)", Some("(a)")),
            ("(a)\\1", "aa", Some("aa|a")),
            ("a\\|b", "a|b", Some("a|b")),
            ("[[:space:]]+", "a \t b", Some(" \t ")),
            ("()", "a", Some("|")),
            ("x*", "aaa", Some("")),
            ("[a", "[a", None),
        ] {
            assert_eq!(found(Notation::Extended, pattern, text).as_deref(), expected, "{pattern}");
        }
    }
}
