//! Finds any of many byte strings in a text.
//!
//! A Wu-Manber search: a table gives the smallest distance to the next match for every three bytes, so most of a text
//! is skipped in steps of six. Twenty variables make some 200 strings. Building this takes 10 µs for them. An
//! Aho-Corasick automaton takes 1.5 ms, which every `bashful run` would pay, and searches seven times as slowly.

use std::ops::Range;

/// Shortest string, in bytes; the search compares these first bytes.
pub(super) const HEAD: usize = 8;

/// Bytes that are looked up at once.
const BLOCK: usize = 3;

/// Step after three bytes that are in no beginning: [`HEAD`] − [`BLOCK`] + 1.
const LARGEST_STEP: u8 = 6;

/// Bits of an index into the table of steps. 32 KiB stay in the cache, and some thousand strings leave most of it free.
const STEP_BITS: u32 = 15;

/// Bits of an index into the table of beginnings.
const BEGIN_BITS: u32 = 16;

/// The strings to find, and two tables over their beginnings.
pub(super) struct Finder {
    /// Sorted, so that strings with the same beginning are neighbors.
    strings: Vec<Vec<u8>>,
    /// By three bytes: the size of the next step.
    steps: Vec<u8>,
    /// By four bytes: true if a string may begin with them.
    begins: Vec<u64>,
    longest: usize,
}

impl Finder {
    /// A finder for these strings, each of [`HEAD`] bytes or more. They have to be sorted, without duplicates.
    pub(super) fn new(strings: Vec<Vec<u8>>) -> Self {
        debug_assert!(strings.is_sorted_by(|one, next| one < next), "the search relies on the order");
        let mut steps = vec![LARGEST_STEP; 1 << STEP_BITS];
        let mut begins = vec![0; (1 << BEGIN_BITS) / 64];
        for string in &strings {
            for (to_end, block) in (0..LARGEST_STEP).rev().zip(string[..HEAD].windows(BLOCK)) {
                let step = &mut steps[step_place(block)];
                *step = (*step).min(to_end);
            }
            let place = begin_place(string);
            begins[place / 64] |= 1 << (place % 64);
        }
        let longest = strings.iter().map(Vec::len).max().unwrap_or(0);
        Self { strings, steps, begins, longest }
    }

    /// Every occurrence of every string by its index, including overlapping ones, in the order of their beginnings.
    pub(super) fn find_all(&self, text: &[u8]) -> Vec<(Range<usize>, usize)> {
        let mut found = Vec::new();
        let mut end = HEAD;
        while let Some(block) = text.get(end - BLOCK..end) {
            let step = self.steps[step_place(block)];
            if step > 0 {
                end += usize::from(step);
                continue;
            }
            let begin = end - HEAD;
            let rest = &text[begin..];
            let head = &rest[..HEAD];
            let first = self.strings.partition_point(|string| &string[..HEAD] < head);
            let same_head = self.strings[first..].iter().take_while(|string| &string[..HEAD] == head);
            for (index, string) in same_head.enumerate() {
                if rest.starts_with(string) {
                    found.push((begin..begin + string.len(), first + index));
                }
            }
            end += 1;
        }
        found
    }

    /// Number of bytes at the end of a text that begin a string which may continue after it.
    pub(super) fn begun_at_end(&self, text: &[u8]) -> usize {
        let from = text.len().saturating_sub(self.longest.saturating_sub(1));
        let begins = |at: &usize| {
            let end = &text[*at..];
            if end.len() >= 4 {
                let place = begin_place(end);
                if self.begins[place / 64] & (1 << (place % 64)) == 0 {
                    return false;
                }
            }
            let first = self.strings.partition_point(|string| string.as_slice() < end);
            let mut same = self.strings[first..].iter().take_while(|string| string.starts_with(end));
            same.any(|string| string.len() > end.len())
        };
        (from..text.len()).find(begins).map_or(0, |at| text.len() - at)
    }
}

fn step_place(block: &[u8]) -> usize {
    let number = u32::from(block[0]) | u32::from(block[1]) << 8 | u32::from(block[2]) << 16;
    (number.wrapping_mul(0x9E37_79B1) >> (32 - STEP_BITS)) as usize
}

fn begin_place(text: &[u8]) -> usize {
    let number = u32::from_le_bytes([text[0], text[1], text[2], text[3]]);
    (number.wrapping_mul(0x9E37_79B1) >> (32 - BEGIN_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Few letters, so that strings overlap, repeat and begin alike.
    fn any_strings() -> impl Strategy<Value = Vec<Vec<u8>>> {
        prop::collection::btree_set(any_text(HEAD..20), 0..12).prop_map(|strings| strings.into_iter().collect())
    }

    fn any_text(length: Range<usize>) -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop_oneof![Just(b'a'), Just(b'b'), Just(b'\n')], length)
    }

    proptest! {
        #[test]
        fn everything_is_found_that_a_plain_search_finds(
            strings in any_strings(),
            text in any_text(0..200),
        ) {
            let finder = Finder::new(strings);
            let mut expected = Vec::new();
            for at in 0..text.len() {
                for (index, string) in finder.strings.iter().enumerate() {
                    if text[at..].starts_with(string) {
                        expected.push((at..at + string.len(), index));
                    }
                }
            }
            prop_assert_eq!(finder.find_all(&text), expected);
        }

        #[test]
        fn the_longest_begun_string_is_found(
            strings in any_strings(),
            text in any_text(0..60),
        ) {
            let finder = Finder::new(strings);
            let is_begun = |length: &usize| {
                let end = &text[text.len() - length..];
                finder.strings.iter().any(|string| string.len() > end.len() && string.starts_with(end))
            };
            let expected = (1..=text.len()).rev().find(is_begun).unwrap_or(0);
            prop_assert_eq!(finder.begun_at_end(&text), expected);
        }
    }
}
