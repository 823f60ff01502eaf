//! Keeps withheld values out of what is shown.
//!
//! A command that has no access to a variable may still find its value, in a file or in the memory of another process.
//! What a model reads must not hold it. Works on what is shown only; nothing else is changed.

use std::borrow::Cow;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::environment::Withheld;

/// Shorter values are left alone: they are words like `true` or `1234`, and masking them would garble honest output.
pub(crate) const SHORTEST: usize = 8;

/// A piece of a value at the edge of a cut is masked from this length on.
const SHORTEST_PIECE: usize = 4;

/// Replaces withheld values.
#[derive(Debug, Default)]
pub(crate) struct Mask {
    withheld: Vec<Withheld>,
    secrets: Vec<(Vec<u8>, Vec<u8>)>,
    finder: Option<AhoCorasick>,
}

/// The mask of the last command, for the next one: most have the same variables withheld, and making a mask of twenty of
/// them takes 55 µs.
#[derive(Debug, Default)]
pub(crate) struct LastMask(Mutex<Arc<Mask>>);

impl LastMask {
    pub(crate) fn for_these(&self, withheld: &[Withheld]) -> Arc<Mask> {
        // A mask is replaced as a whole, so one who panicked has left a good one.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !last.is_for(withheld) {
            *last = Arc::new(Mask::new(withheld));
        }
        Arc::clone(&last)
    }
}

/// Which ends of a text were cut off from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edges {
    /// It is whole.
    None,
    /// Something follows it.
    End,
    /// Something comes before it.
    Begin,
    /// Both.
    Both,
}

impl Mask {
    pub(crate) fn new(withheld: &[Withheld]) -> Self {
        let secrets: Vec<(Vec<u8>, Vec<u8>)> = withheld
            .iter()
            .filter(|withheld| withheld.value().len() >= SHORTEST)
            .map(|withheld| {
                (withheld.value().as_bytes().to_vec(), format!("[withheld: {}]", withheld.name.display()).into_bytes())
            })
            .collect();
        // Made in a fifteenth of the time of the default, which searches twice as fast; but what is shown is short.
        let mut builder = AhoCorasick::builder();
        builder.kind(Some(AhoCorasickKind::ContiguousNFA));
        let values = || secrets.iter().map(|(value, _)| value);
        let finder = (!secrets.is_empty()).then(|| builder.build(values()).ok()).flatten();
        Self { withheld: withheld.to_vec(), secrets, finder }
    }

    /// Whether it is the one for these variables.
    fn is_for(&self, withheld: &[Withheld]) -> bool {
        self.withheld == withheld
    }

    /// The text without withheld values; none if there were none in it.
    pub(crate) fn apply(&self, text: &[u8], edges: Edges) -> Option<Vec<u8>> {
        let finder = self.finder.as_ref()?;
        // All of them, also those that overlap: where one ends another may have begun.
        let mut hidden: Vec<(Range<usize>, &[u8])> = finder
            .find_overlapping_iter(text)
            .map(|found| (found.range(), self.secrets[found.pattern().as_usize()].1.as_slice()))
            .collect();
        // A piece at an edge may overlap with a whole one too.
        if matches!(edges, Edges::Begin | Edges::Both)
            && let Some((length, label)) = self.piece(|value, length| text.starts_with(&value[value.len() - length..]))
        {
            hidden.push((0..length, label));
        }
        if matches!(edges, Edges::End | Edges::Both)
            && let Some((length, label)) = self.piece(|value, length| text.ends_with(&value[..length]))
        {
            hidden.push((text.len() - length..text.len(), label));
        }
        hidden.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        let mut out = Vec::new();
        let mut done = 0;
        for (range, label) in &hidden {
            if range.start >= done {
                out.extend(&text[done..range.start]);
                out.extend(*label);
            }
            done = done.max(range.end);
        }
        out.extend(&text[done..]);
        (!hidden.is_empty()).then_some(out)
    }

    /// How many bytes at the end of a text may be the beginning of a withheld value, or belong to one that overlaps with
    /// that.
    fn undecided(&self, text: &[u8]) -> usize {
        let begins = |value: &[u8]| {
            let longest = text.len().min(value.len() - 1);
            (1..=longest).rev().find(|length| text.ends_with(&value[..*length])).unwrap_or(0)
        };
        let mut border = text.len() - self.secrets.iter().map(|(value, _)| begins(value)).max().unwrap_or(0);
        // The last one first: each may reach back to the one before it.
        let found = self.finder.iter().flat_map(|finder| finder.find_overlapping_iter(text));
        let mut found: Vec<Range<usize>> = found.map(|found| found.range()).collect();
        found.sort_by_key(|range| std::cmp::Reverse(range.end));
        for range in found {
            if range.end > border {
                border = border.min(range.start);
            }
        }
        text.len() - border
    }

    /// The longest part of a secret for which `is_there` says yes, and what to write in its place.
    fn piece(&self, is_there: impl Fn(&[u8], usize) -> bool) -> Option<(usize, &[u8])> {
        self.secrets
            .iter()
            .filter_map(|(value, label)| {
                let length = (SHORTEST_PIECE..value.len()).rev().find(|length| is_there(value, *length))?;
                Some((length, label.as_slice()))
            })
            .max_by_key(|(length, _)| *length)
    }
}

/// Redacts a stream piece by piece. A value that comes in two pieces is found, and no other text is changed.
#[derive(Debug, Default)]
pub(crate) struct Redactor {
    /// The end of the stream so far, which may be the beginning of a withheld value.
    held: Vec<u8>,
}

impl Redactor {
    /// The text that is settled by this piece.
    pub(crate) fn push<'a>(&mut self, mask: &Mask, piece: &'a [u8]) -> Cow<'a, [u8]> {
        if mask.finder.is_none() {
            return Cow::Borrowed(piece);
        }
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(piece);
        self.held = text.split_off(text.len() - mask.undecided(&text));
        Cow::Owned(mask.apply(&text, Edges::None).unwrap_or(text))
    }

    /// The rest, once nothing follows.
    pub(crate) fn finish(&mut self, mask: &Mask) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        mask.apply(&rest, Edges::None).unwrap_or(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{EnvironmentPolicy, Pattern};

    fn mask(secrets: &[(&str, &str)]) -> Mask {
        let policy = EnvironmentPolicy { withhold: vec![Pattern::new("*")], ..EnvironmentPolicy::default() };
        let host: Vec<_> = secrets.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Mask::new(&policy.resolve(&host, &[]).expect("valid").withheld)
    }

    #[track_caller]
    fn check(text: &str, edges: Edges, expected: &str) {
        let mask = mask(&[("TOKEN", "abcdefghij"), ("LONGER", "abcdefghijkl"), ("SHORT", "true")]);
        let masked = mask.apply(text.as_bytes(), edges).unwrap_or_else(|| text.as_bytes().to_vec());
        assert_eq!(String::from_utf8_lossy(&masked), expected);
    }

    #[test]
    fn values_are_replaced_by_the_name_and_short_ones_are_left() {
        check("x=abcdefghij, true", Edges::None, "x=[withheld: TOKEN], true");
        check("abcdefghijkl abcdefghij", Edges::None, "[withheld: LONGER] [withheld: TOKEN]");
        check("nothing here", Edges::Both, "nothing here");
    }

    #[test]
    fn a_mask_is_made_anew_when_something_else_is_withheld() {
        let last = LastMask::default();
        let (one, other) = (mask(&[("A", "abcdefgh")]).withheld, mask(&[("A", "ijklmnop")]).withheld);
        let first = last.for_these(&one);
        assert!(Arc::ptr_eq(&first, &last.for_these(&one)));
        let second = last.for_these(&other);
        assert_eq!(second.apply(b"abcdefgh ijklmnop", Edges::None), Some(b"abcdefgh [withheld: A]".to_vec()));
        assert_eq!(last.for_these(&[]).apply(b"ijklmnop", Edges::None), None);
    }

    #[test]
    fn a_value_cut_in_two_does_not_show_either_half() {
        check("key: abcdefg", Edges::End, "key: [withheld: LONGER]");
        check("ghijkl and more", Edges::Begin, "[withheld: LONGER] and more");
        check("key: abcdefg", Edges::None, "key: abcdefg");
        check("abcdef", Edges::Both, "[withheld: LONGER]");
    }

    #[test]
    fn a_stream_is_redacted_however_it_is_cut() {
        let mask = mask(&[("A", "abcd1234WXYZabcd"), ("B", "WXYZabcdefgh"), ("C", "aaaaaaaab")]);
        let text = "abcd1234WXYZabcdefgh abcd1234WXYZabcd abcd123 aaaaaaaaaab WXYZabcdabcd1234WXYZabcd WXYZabcdefg";
        let whole = mask.apply(text.as_bytes(), Edges::None).expect("something is hidden");
        for first in 0..text.len() {
            for second in [first, (first + 3).min(text.len()), text.len()] {
                let pieces = [&text[..first], &text[first..second], &text[second..]];
                let mut redactor = Redactor::default();
                let mut got: Vec<u8> =
                    pieces.iter().flat_map(|piece| redactor.push(&mask, piece.as_bytes()).into_owned()).collect();
                got.extend(redactor.finish(&mask));
                assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(&whole), "{pieces:?}");
            }
        }
    }

    #[test]
    fn values_that_overlap_are_hidden_as_a_whole() {
        let mask = mask(&[("A", "abcd1234WXYZabcd"), ("B", "WXYZabcdefgh")]);
        let masked = |text: &str, edges| {
            let masked = mask.apply(text.as_bytes(), edges).expect("something is hidden");
            String::from_utf8(masked).expect("text")
        };
        assert_eq!(masked("xxxabcd1234WXYZabcd", Edges::End), "xxx[withheld: A]");
        assert_eq!(masked("abcd1234WXYZabcdefgh.", Edges::None), "[withheld: A].");
        assert_eq!(masked("WXYZabcd more", Edges::Begin), "[withheld: A] more");
    }
}
