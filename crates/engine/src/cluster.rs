//! Finds places where text can be cut without splitting what a reader sees as one character.
//!
//! Bytes that are not UTF-8 do not cause an error: there, a cut is between bytes that would be characters.
//!
//! Invariant: a cut is never inside the bytes of a character, and never inside a cluster of up to [`EXAMINED`] bytes.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Bytes before and after a cut that are examined. An emoji of a family has 25; longer ones are a joke on programs.
const EXAMINED: usize = 256;

/// Border of a cluster at or before `at`.
pub(crate) fn before(bytes: &[u8], at: usize) -> usize {
    cluster_at(bytes, at).map_or_else(|| char_begin_before(bytes, at), |cluster| cluster.start)
}

/// Border of a cluster at or after `at`.
pub(crate) fn after(bytes: &[u8], at: usize) -> usize {
    cluster_at(bytes, at).map_or_else(|| char_begin_after(bytes, at), |cluster| cluster.end)
}

/// Shortens lines of more than `columns`, marks them, and returns how many there were; none if no line is longer.
pub(crate) fn shorten(text: &[u8], columns: usize) -> Option<(Vec<u8>, u64)> {
    let mut out = Vec::new();
    let mut shortened = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        let end = bytes_within(content, columns);
        if end == content.len() {
            out.extend_from_slice(line);
            continue;
        }
        shortened += 1;
        out.extend_from_slice(&content[..end]);
        out.extend(format!("…[+{} bytes]", content.len() - end).into_bytes());
        out.extend_from_slice(&line[content.len()..]);
    }
    (shortened > 0).then_some((out, shortened))
}

/// Number of bytes of a line that fit into so many columns.
fn bytes_within(line: &[u8], columns: usize) -> usize {
    // No character is wider than it has bytes.
    if line.len() <= columns {
        return line.len();
    }
    let (mut end, mut width) = (0, 0);
    for chunk in line.utf8_chunks() {
        for cluster in chunk.valid().graphemes(true) {
            width += cluster.width();
            if width > columns {
                return end;
            }
            end += cluster.len();
        }
        if !chunk.invalid().is_empty() {
            // Shown as one U+FFFD.
            width += 1;
            if width > columns {
                return end;
            }
            end += chunk.invalid().len();
        }
    }
    end
}

/// The cluster that contains `at`, or an empty range if `at` is a border. None if nobody can tell.
fn cluster_at(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    if at == 0 || at >= bytes.len() {
        return Some(at..at);
    }
    // Among bytes that are no text, the next beginning may be after the cut.
    let oldest = char_begin_after(bytes, at.saturating_sub(EXAMINED)).min(at);
    // A cluster begins at every ASCII character; elsewhere its beginning depends on the characters before.
    let from = bytes[oldest..at].iter().rposition(u8::is_ascii).map_or(oldest, |behind| oldest + behind);
    let known = &bytes[from..(at + EXAMINED).min(bytes.len())];
    let text = known.utf8_chunks().next()?.valid();
    let mut clusters = text.grapheme_indices(true).map(|(begin, cluster)| from + begin..from + begin + cluster.len());
    let cluster = clusters.find(|cluster| at < cluster.end)?;
    if cluster.start == at {
        return Some(at..at);
    }
    // A cluster that fills the examined bytes may have any length.
    (cluster.start > oldest || oldest == 0).then_some(cluster)
}

/// Border of a character at or before `at`.
fn char_begin_before(bytes: &[u8], at: usize) -> usize {
    // A character has at most three bytes after its first.
    (at.saturating_sub(3)..=at).rev().find(|at| bytes.get(*at).is_none_or(|byte| !is_continuation(*byte))).unwrap_or(at)
}

/// Border of a character at or after `at`.
fn char_begin_after(bytes: &[u8], at: usize) -> usize {
    (at..at + 4).find(|at| bytes.get(*at).is_none_or(|byte| !is_continuation(*byte))).unwrap_or(at)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Characters of one and of several parts: letters with marks, families, flags, wide ones.
    fn any_text() -> impl Strategy<Value = String> {
        let piece =
            prop::sample::select(vec!["a", " ", "\n", "é", "e\u{301}", "👨\u{200d}👩\u{200d}👧", "🇩🇪", "漢", "각"]);
        // The border between flags in a row cannot be told from their middle.
        prop::collection::vec(piece, 0..200).prop_map(|pieces| pieces.concat().replace("🇩🇪", "🇩🇪 "))
    }

    fn borders(text: &str) -> Vec<usize> {
        text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect()
    }

    proptest! {
        #[test]
        fn a_cut_is_at_the_nearest_border(text in any_text(), at in any::<prop::sample::Index>()) {
            let at = at.index(text.len() + 1);
            let borders = borders(&text);
            prop_assert_eq!(Some(&before(text.as_bytes(), at)), borders.iter().rfind(|border| **border <= at));
            prop_assert_eq!(Some(&after(text.as_bytes(), at)), borders.iter().find(|border| **border >= at));
        }

        #[test]
        fn any_bytes_can_be_cut(bytes in prop::collection::vec(any::<u8>(), 0..600), at in any::<prop::sample::Index>()) {
            let at = at.index(bytes.len() + 1);
            prop_assert!(before(&bytes, at) <= at);
            prop_assert!((at..=bytes.len()).contains(&after(&bytes, at)));
        }

        #[test]
        fn short_lines_stay_and_long_ones_say_how_much_is_gone(text in any_text(), columns in 0_usize..40) {
            let (short, count) = shorten(text.as_bytes(), columns).unwrap_or_else(|| (text.clone().into_bytes(), 0));
            let short = String::from_utf8(short).expect("it is still text");
            prop_assert_eq!(short.matches('\n').count(), text.matches('\n').count());
            let mut marked = 0;
            for (shown, line) in short.split('\n').zip(text.split('\n')) {
                if line.width() <= columns {
                    prop_assert_eq!(shown, line);
                    continue;
                }
                marked += 1;
                let (kept, gone) = shown.split_once("…[+").expect("it is marked");
                let gone: usize = gone.trim_end_matches(" bytes]").parse().expect("a number");
                prop_assert!(line.starts_with(kept) && kept.len() + gone == line.len());
                prop_assert!(kept.width() <= columns && borders(line).contains(&kept.len()));
            }
            prop_assert_eq!(marked, count);
        }

        #[test]
        fn any_bytes_can_be_shortened(bytes in prop::collection::vec(any::<u8>(), 0..300), columns in 0_usize..40) {
            let newlines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
            if let Some((short, _)) = shorten(&bytes, columns) {
                prop_assert_eq!(newlines(&short), newlines(&bytes));
            }
        }
    }

    #[test]
    fn bytes_that_only_go_on_are_cut_anywhere() {
        for at in 0..=3 {
            assert!(before(&[128; 3], at) <= at && after(&[128; 3], at) >= at);
        }
    }

    #[test]
    fn a_minified_line_is_shortened_and_the_others_are_not() {
        let text = format!("one\n{}\nthree", "x".repeat(100));
        let (short, count) = shorten(text.as_bytes(), 10).expect("one is too long");
        assert_eq!((String::from_utf8_lossy(&short).as_ref(), count), ("one\nxxxxxxxxxx…[+90 bytes]\nthree", 1));
        assert_eq!(shorten(text.as_bytes(), 100), None);
    }
}
